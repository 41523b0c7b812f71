"""Where the server is and with which token to ask: arguments, else an identity file, else the environment."""
from __future__ import annotations

import json
import os
import socket
import stat
import struct
from dataclasses import dataclass
from typing import Optional
from urllib.parse import urlsplit

from .errors import GateError, NoToken


@dataclass(frozen=True)
class Address:
    url: str
    token: str
    path: str = ""             # of a Unix socket; else host and port
    host: str = ""
    port: int = 0
    tls: bool = False
    prefix: str = ""
    uid: Optional[int] = None  # of the server's process, at a Unix socket

    def headers(self, body: Optional[bytes]) -> dict[str, str]:
        headers = {"Authorization": "Bearer " + self.token, "Accept": "application/json", "Connection": "close"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        return headers

    def check_server(self, connection: socket.socket) -> None:
        """Raises OSError when the process behind the Unix socket is not of the user that the identity names."""
        if self.uid is None or not hasattr(socket, "SO_PEERCRED"):
            return
        size = struct.calcsize("3i")
        _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
        if uid not in (self.uid, 0):
            raise OSError(f"the server at {self.path} runs under uid {uid}, not {self.uid}")


def _default_url() -> str:
    data = os.environ.get("NOD_DATA")
    if not data:
        home = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
        data = os.path.join(home, "nod")
    return "unix:" + os.path.join(data, "nod.sock")


def _parse(url: str, token: str, uid: Optional[int] = None) -> Address:
    if not token.isascii() or not token.isprintable() or " " in token:
        raise NoToken("the token has characters that no token has")
    if url.startswith("unix:/"):
        return Address(url, token, path=url[5:], uid=uid)
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise GateError(f"the address of the server is http://HOST:PORT, https://HOST or unix:/PATH, not {url!r}")
    tls = parts.scheme == "https"
    return Address(url, token, host=parts.hostname, port=parts.port or (443 if tls else 80), tls=tls,
                   prefix=parts.path.rstrip("/"))


def _read_identity(path: str) -> Address:
    """An identity file that `nod` made. Only its own user may be able to write it."""
    try:
        with open(path, encoding="utf-8") as file:
            state = os.fstat(file.fileno())
            value = json.loads(file.read(16384))
    except (OSError, ValueError) as error:
        raise GateError(f"the identity {path} cannot be read: {error}") from None
    if state.st_uid not in (os.geteuid(), 0) or state.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise GateError(f"the identity {path} may be written by others, so it is not used")
    if not isinstance(value, dict) or not isinstance(value.get("address"), str) or not isinstance(value.get("token"), str):
        raise GateError(f"the identity {path} has no address or token")
    if not value["address"].startswith("unix:/"):   # its proof needs a signature that this library cannot check
        raise GateError(f"the identity {path} is of a server elsewhere; set NOD_URL and NOD_TOKEN instead")
    return _parse(value["address"], value["token"], value.get("serverUid"))


def find_address(url: Optional[str], token: Optional[str], identity: Optional[str]) -> Address:
    """The administrator's token in the data folder is never taken: whoever holds it can approve its own calls."""
    if identity:
        return _read_identity(identity)
    token = token or os.environ.get("NOD_TOKEN", "")
    if not token and os.environ.get("NOD_TOKEN_FILE"):
        try:
            with open(os.environ["NOD_TOKEN_FILE"], encoding="utf-8") as file:
                token = file.read(4096).strip()
        except OSError as error:
            raise NoToken(f"NOD_TOKEN_FILE: {error}") from None
    if not token:
        raise NoToken("no token to ask with: set NOD_TOKEN to one that "
                      "`nod token create --role agent --name NAME` prints")
    return _parse(url or os.environ.get("NOD_URL") or _default_url(), token)
