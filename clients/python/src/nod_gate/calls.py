"""From the arguments of a function to the input of a call, and back."""
from __future__ import annotations

import inspect
import json
from typing import Any, Callable, Collection

from .errors import Aborted, NotAllowed

PLAIN = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)


class Arguments:
    """How one function is called with an input, which a person may have edited."""

    def __init__(self, function: Callable[..., Any], keep: Collection[str]) -> None:
        self.signature, self.keep = inspect.signature(function), frozenset(keep)
        for name, parameter in self.signature.parameters.items():
            if parameter.kind not in PLAIN:
                raise TypeError(f"{function.__name__}: {name} has no name to show; a gated tool takes named arguments")

    def read(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The input to show, and what stays between the caller and the function."""
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        shown: dict[str, Any] = {}
        kept: dict[str, Any] = {}
        for name, value in bound.arguments.items():
            if self.signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
                shown.update(value)
            else:
                (kept if name in self.keep else shown)[name] = value
        return as_json(shown), kept

    def bind(self, given: dict[str, Any], kept: dict[str, Any]) -> dict[str, Any]:
        self.signature.bind(**given, **kept)
        return {**given, **kept}


def as_json(given: dict[str, Any]) -> dict[str, Any]:
    """What is shown is what runs, so an argument that JSON cannot hold is a mistake of the caller."""
    value = json.loads(json.dumps(given, allow_nan=False))
    if not isinstance(value, dict):
        raise TypeError("the input of a call is an object")
    return value


def denial_text(error: NotAllowed) -> str:
    """What a model reads instead of the tool's result."""
    who = f" by {error.verdict.actor}" if error.verdict.actor else ""
    stop = " Stop here and tell the person." if isinstance(error, Aborted) else ""
    return f"Not run: {error.verdict.status}{who}. {error.words}{stop}"
