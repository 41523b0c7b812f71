/* Any input as a readable tree: every key, every value, nothing cut. */
import { useState } from "preact/hooks";
import { RawNumber, type Json } from "../types";
import { Shown, byteLength, bytes } from "../text";

const LONG = 4000;

function Text({ text }: { text: string }) {
  // The text itself is what was opened: another one in the same place begins folded.
  const [opened, setOpened] = useState<string | null>(null);
  const all = text.length <= LONG || opened === text;
  const plain = !text.includes("\n") && text.length < 200;
  if (plain) return <span class="mono value"><Shown text={text} /></span>;
  return (
    <>
      <pre class="mono value block"><Shown text={all ? text : text.slice(0, LONG)} /></pre>
      {!all && <button type="button" class="quiet more-text" onClick={() => setOpened(text)}>
        Show the rest ({bytes(byteLength(text))} in all)</button>}
    </>
  );
}

export function Tree({ value, label }: { value: Json; label?: string }) {
  if (value instanceof RawNumber || value === null || typeof value === "number" || typeof value === "boolean")
    return <span class="mono value t-n">{String(value)}</span>;
  if (typeof value === "string") return <Text text={value} />;
  if (Array.isArray(value) && value.length && value.every((v) => v === null || typeof v !== "object" || v instanceof RawNumber))
    return <ol class="list-values mono" aria-label={label}>{value.map((v) => <li><Tree value={v} /></li>)}</ol>;
  const entries: [string, Json][] = Array.isArray(value) ? value.map((v, i) => [String(i + 1), v]) : Object.entries(value);
  if (!entries.length) return <span class="dim">{Array.isArray(value) ? "an empty list" : "nothing"}</span>;
  return (
    <dl class="tree" aria-label={label}>
      {entries.map(([key, v]) => <div><dt class="mono"><Shown text={key} line /></dt><dd><Tree value={v} /></dd></div>)}
    </dl>
  );
}
