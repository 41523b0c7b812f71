/* Edit, then allow: the text itself in an editor, what was changed beside it, and what Nod makes of an edited command. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { call, parse, print } from "./api";
import { answer } from "./answers";
import { Command } from "./preview/command";
import { Diff } from "./preview/diff";
import { compare } from "./preview/difference";
import { risksNew } from "./risk";
import { offers, type Item } from "./store";
import { Shown } from "./text";
import type { Json, Part } from "./types";

type Input = { [key: string]: Json };
/* A text of the input that can be edited by itself. */
interface Field { name: string; path: string; get: (input: Input) => string; set: (input: Input, text: string) => Input }

const str = (value: Json | undefined): string => typeof value === "string" ? value : "";
const own = (key: string, name: string, path: string): Field => ({ name, path, get: (input) => str(input[key]), set: (input, text) => ({ ...input, [key]: text }) });

function fieldsOf(item: Item): Field[] {
  const { name, input } = item.p.toolCall, file = str(input.file_path) || str(input.notebook_path);
  if (item.p.preview.type === "command" && typeof input.command === "string") return [own("command", "Command", "x.sh")];
  if (name === "Write" && typeof input.content === "string") return [own("content", file, file)];
  if (name === "Edit" && typeof input.new_string === "string") return [own("new_string", file, file)];
  if (name === "NotebookEdit" && typeof input.new_source === "string") return [own("new_source", file, "x.py")];
  if (name === "MultiEdit" && Array.isArray(input.edits)) return input.edits.map((_, i): Field => ({
    name: `Change ${i + 1} of ${(input.edits as Json[]).length}`, path: file, get: (now) => str(((now.edits as Json[])[i] as Input)?.new_string),
    set: (now, text) => ({ ...now, edits: (now.edits as Json[]).map((edit, at) => at === i ? { ...edit as Input, new_string: text } : edit) }),
  }));
  return [];
}
const WHOLE: Field = { name: "Whole input", path: "x.json", get: (input) => print(input), set: (_, text) => parse(text) as Input };

/* The parts of the command as it is edited now, each with its verdict; the server computes them. */
function useParts(item: Item, command: string | null): { parts?: Part[]; risk: string[] } | null {
  const [known, setKnown] = useState<{ parts?: Part[]; risk: string[] } | null>(null);
  useEffect(() => {
    if (command === null || !offers("/api/policy/explain")) return;
    const timer = setTimeout(() => void call("POST", "/api/policy/explain", { sessionId: item.p.sessionId, name: item.p.toolCall.name, input: { ...item.p.toolCall.input, command }, cwd: item.p.preview.cwd })
      .then((said) => setKnown({ parts: said.parts, risk: said.risk ?? [] }), () => setKnown(null)), 200);
    return () => clearTimeout(timer);
  }, [command]);
  return known;
}

function Area({ text, field, change, send, leave }: { text: string; field: Field; change: (text: string) => void; send: () => void; leave: () => void }) {
  const box = useRef<HTMLDivElement>(null), now = useRef({ change, send, leave });
  const [failed, setFailed] = useState(false);
  now.current = { change, send, leave };
  useEffect(() => {
    let gone = false, end = () => { gone = true; };
    void import("./editor").then(({ edit }) => {
      if (!gone && box.current) end = edit(box.current, { text, path: field.path, label: `Edit ${field.name}`, change: (said) => now.current.change(said), send: () => now.current.send(), leave: () => now.current.leave() });
    }, () => setFailed(true));
    return () => end();
  }, [field]);
  if (failed) return <textarea class="mono" aria-label={`Edit ${field.name}`} value={text} onInput={(event) => change(event.currentTarget.value)} spellcheck={false} />;
  return <div class="editor" ref={box} />;
}

export function Edit({ item, close, armed }: { item: Item; close: () => void; armed: boolean }) {
  const fields = useMemo(() => [...fieldsOf(item), WHOLE], [item.p.digest]);
  const [at, setAt] = useState(0);
  const [input, setInput] = useState<Input>(item.p.toolCall.input);
  const [text, setText] = useState(() => fields[0].get(item.p.toolCall.input));
  const [wrong, setWrong] = useState("");
  const field = fields[at], before = field.get(item.p.toolCall.input);
  const command = field.path === "x.sh" ? text : null, known = useParts(item, command);
  const change = (said: string) => {
    setText(said);
    try {
      const next = field.set(input, said);
      const good = next !== null && typeof next === "object" && !Array.isArray(next);
      if (good) setInput(next);
      setWrong(good ? "" : "The input must be an object.");
    } catch (error) { setWrong(`Not JSON: ${error instanceof Error ? error.message : ""}`); }
  };
  const go = (to: number) => { if (wrong) return; setAt(to); setText(fields[to].get(input)); };
  const same = print(input) === print(item.p.toolCall.input);
  // As it was typed: numbers keep their digits.
  const send = () => { if (!wrong && armed && !same) void answer(item, "allow_once", { updatedInput: field === WHOLE ? text : print(input) }).then(close); };
  const more = risksNew(item.p, known?.risk);
  const lines = useMemo(() => compare(before, text), [before, text]);
  return (
    <form class="panel edit" onSubmit={(event) => { event.preventDefault(); send(); }}>
      <div class="line">
        <h2>Edit, then allow</h2><span class="grow" />
        {fields.length > 1 && <div class="segments" role="group" aria-label="What is edited">{fields.map((one, i) => <label><input type="radio" name="field" checked={i === at} onChange={() => go(i)} /><span><Shown text={one.name.split("/").pop()!} line /></span></label>)}</div>}
      </div>
      <div class="edit-columns">
        <Area key={at} text={text} field={field} change={change} send={send} leave={close} />
        <div class="edit-changes" aria-label="What you changed" role="group">
          <h3>{same ? "Nothing is changed yet" : "What you changed"}</h3>
          {!same && <Diff file={{ path: field.name, lines, state: "", cut: false, note: "" }} split={false} />}
          {command !== null && known?.parts && <Command preview={item.p.preview} command={command} judged={known.parts} />}
        </div>
      </div>
      <p id="edit-wrong" class="bad small" role="alert">{wrong}</p>
      {more.length > 0 && <p class="bad small" role="status">New risk: {more.join(", ")}</p>}
      <div class="line end">
        <span class="small dim grow">The agent is told that the input was edited.</span>
        <button type="button" class="quiet" onClick={close}>Discard edits</button>
        <button type="submit" class="primary" disabled={wrong !== "" || !armed || same}>Allow edited version<kbd>Ctrl ⏎</kbd></button>
      </div>
    </form>
  );
}
