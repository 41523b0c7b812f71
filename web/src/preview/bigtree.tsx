/* An input of any size as lines of which only those near the window are made: a call cannot freeze the page of whoever
 * looks at it. Nothing is cut: a long text goes on over as many lines as it needs. */
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { hasHidden, Shown } from "../text";
import { RawNumber, type Json } from "../types";

const ROW = 20, AROUND = 600;
const INDENT = 2, NAMES = 13, LEAST = 24; // in characters: of a level, of a name beside its value, of a value

/* Letters of East Asian scripts and pictures take two columns. */
const columnsOf = (letter: string): number => letter.codePointAt(0)! >= 0x1100 ? 2 : 1;

/* Pieces of a line that fit into so many columns. */
function* piecesOf(line: string, columns: number): Generator<string> {
  let piece = "", used = 0;
  for (const letter of line) {
    const needs = hasHidden(letter) ? 8 : columnsOf(letter);
    if (used + needs > columns && piece) { yield piece; piece = ""; used = 0; }
    piece += letter;
    used += needs;
  }
  yield piece;
}

interface Line { depth: number; key: string; text: string; kind: string; count?: number; path?: string }

const isLeaf = (value: Json): boolean => value === null || typeof value !== "object" || value instanceof RawNumber;

function putText(out: Line[], depth: number, key: string, text: string, columns: number): void {
  const room = Math.max(LEAST, columns - Math.min(depth, 20) * INDENT - Math.max(NAMES, key.length + 2));
  let first = true;
  for (const line of text.split("\n"))
    for (const piece of piecesOf(line, room)) {
      out.push({ depth, key: first ? key : "", text: piece, kind: "t-s" });
      first = false;
    }
}

function put(out: Line[], value: Json, depth: number, key: string, path: string, folded: Set<string>, columns: number): void {
  if (typeof value === "string") return putText(out, depth, key, value, columns);
  if (isLeaf(value)) { out.push({ depth, key, text: String(value), kind: "t-n" }); return; }
  const list = Array.isArray(value), entries: [string, Json][] = list ? value.map((v, i) => [String(i + 1), v]) : Object.entries(value as { [key: string]: Json });
  if (path) out.push({ depth, key, text: list ? `${entries.length} in a list` : `${entries.length} fields`, kind: "dim", count: entries.length, path });
  if (path && folded.has(path)) return;
  for (const [name, v] of entries) put(out, v, path ? depth + 1 : depth, name, `${path}/${name}`, folded, columns);
}

export function linesOf(value: Json, folded: Set<string>, columns: number): Line[] {
  const out: Line[] = [];
  put(out, value, 0, "", "", folded, columns);
  return out;
}

const PICTURE = /^(data:image\/|iVBORw0KGgo|\/9j\/|R0lGOD|UklGR)/; // shown as a picture (picture.tsx)

/* How many values there are, counted up to `max`. */
export function size(value: Json, max: number): number {
  if (isLeaf(value)) return 1 + (typeof value === "string" && !PICTURE.test(value) ? value.length / 200 : 0);
  let all = 1;
  for (const v of Array.isArray(value) ? value : Object.values(value as object)) {
    all += size(v, max - all);
    if (all > max) return all;
  }
  return all;
}

export function BigTree({ value, label }: { value: Json; label?: string }) {
  const box = useRef<HTMLDivElement>(null);
  const [folded, setFolded] = useState<Set<string>>(() => new Set());
  const [seen, setSeen] = useState({ from: 0, to: 60 });
  const [columns, setColumns] = useState(100);
  const lines = useMemo(() => linesOf(value, folded, columns), [value, folded, columns]);
  useLayoutEffect(() => {
    const element = box.current!, scroll = element.closest(".scroll, .screen") ?? document.documentElement;
    const look = () => {
      const ruler = element.querySelector(".ruler")!.getBoundingClientRect().width / 10;
      if (ruler) setColumns(Math.floor((element.clientWidth - 32) / ruler));
      const top = scroll.getBoundingClientRect().top - element.getBoundingClientRect().top;
      const from = Math.max(0, Math.floor((top - AROUND) / ROW)), to = Math.ceil((top + scroll.clientHeight + AROUND) / ROW);
      setSeen((old) => old.from === from && old.to === to ? old : { from, to });
    };
    look();
    scroll.addEventListener("scroll", look, { passive: true });
    const watch = new ResizeObserver(look);
    watch.observe(scroll);
    return () => { scroll.removeEventListener("scroll", look); watch.disconnect(); };
  }, [lines]);
  const toggle = (path: string) => setFolded((old) => { const now = new Set(old); if (!now.delete(path)) now.add(path); return now; });
  return (
    <div class="big-tree mono" ref={box} role="group" aria-label={`${label ?? "Input"}, ${lines.length} lines`} style={{ height: `${lines.length * ROW}px` }}>
      <span class="ruler" aria-hidden="true">0000000000</span>
      {lines.slice(seen.from, seen.to).map((line, i) => (
        <div class="leaf" key={seen.from + i} style={{ top: `${(seen.from + i) * ROW}px`, paddingLeft: `${16 + Math.min(line.depth, 20) * 16}px` }}>
          {line.path !== undefined ? <button type="button" class="twig" aria-expanded={!folded.has(line.path)} onClick={() => toggle(line.path!)}><span aria-hidden="true">{folded.has(line.path) ? "▸" : "▾"}</span><Shown text={line.key} line /></button>
            : <span class="name">{line.key && <Shown text={line.key} line />}</span>}
          <span class={line.kind}><Shown text={line.text} line /></span>
        </div>))}
    </div>
  );
}
