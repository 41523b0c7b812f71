/* Any input as a readable tree: every key, every value, nothing cut. */
import { useMemo, useState } from "preact/hooks";
import { RawNumber, type Json, type Preview } from "../types";
import { Shown, byteLength, bytes } from "../text";
import { BigTree, size } from "./bigtree";
import { pictureOf } from "./picture";

const LONG = 4000;

function Text({ text }: { text: string }) {
  // The text that was unfolded; another text in the same place begins folded.
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

const VALUES_MAX = 400;

/* Descriptions of a tool's fields from its schema, by the fields' names. */
type Fields = Preview["fields"];

/* Any input, whatever its size. */
export function Tree({ value, label, fields }: { value: Json; label?: string; fields?: Fields }) {
  const big = useMemo(() => size(value, VALUES_MAX) > VALUES_MAX, [value]);
  return big ? <BigTree value={value} label={label} /> : <SmallTree value={value} label={label} fields={fields} />;
}

function Name({ name, title }: { name: string; title?: string }) {
  return title && title !== name ? <dt><Shown text={title} line /><span class="mono small"><Shown text={name} line /></span></dt> : <dt class="mono"><Shown text={name} line /></dt>;
}

function SmallTree({ value, label, fields }: { value: Json; label?: string; fields?: Fields }) {
  if (value instanceof RawNumber || value === null || typeof value === "number" || typeof value === "boolean")
    return <span class="mono value t-n">{String(value)}</span>;
  const picture = pictureOf(value);
  if (picture) return picture;
  if (typeof value === "string") return <Text text={value} />;
  if (Array.isArray(value) && value.length && value.every((v) => v === null || typeof v !== "object" || v instanceof RawNumber))
    return <ol class="list-values mono" aria-label={label}>{value.map((v) => <li><SmallTree value={v} /></li>)}</ol>;
  const entries: [string, Json][] = Array.isArray(value) ? value.map((v, i) => [String(i + 1), v]) : Object.entries(value);
  if (!entries.length) return <span class="dim">{Array.isArray(value) ? "an empty list" : "nothing"}</span>;
  return (
    <dl class="tree" aria-label={label}>
      {entries.map(([key, v]) => {
        const about = fields && Object.hasOwn(fields, key) ? fields[key] : undefined;
        return <div><Name name={key} title={about?.title} /><dd><SmallTree value={v} />{about?.description && <p class="about small"><Shown text={about.description} /></p>}</dd></div>;
      })}
    </dl>
  );
}
