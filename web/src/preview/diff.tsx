/* A difference on the screen: unified or side by side, folded, coloured, marked; complete, however long. */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { begin, commentsOf, drop, finish, write, type Comment } from "../comments";
import { canAnswer, setPrefs, toast, useStore, type Item } from "../store";
import { put, relative, Shown } from "../text";
import type { Json, Preview } from "../types";
import { colour, familyOf, type Token } from "./colour";
import { around, compare, fold, pair, readUnified, type Line, type Row } from "./difference";

const CHUNK = 120; // rows that are made together, when they come near the window

export interface FileDiff { path: string; lines: Line[]; state: string; cut: boolean; note: string; whole?: boolean }

const str = (value: Json | undefined): string => typeof value === "string" ? value : "";

/* The server's preview of a file, or what the input itself says. */
export function fileOf(preview: Preview): FileDiff {
  const path = preview.file_path ?? preview.path ?? "";
  const before = preview.original_content ?? preview.before, after = preview.new_content ?? preview.after;
  const unified = preview.unified ?? preview.diff_lines ?? preview.diff?.split("\n");
  const lines = unified ? readUnified(unified, (preview.marks ?? []).map((mark) => mark.map(Number)))
    : before !== undefined && after !== undefined ? compare(before, after) : [];
  // Of a fragment no line's number in the file is known: its parts are told apart by what stands before them.
  const placed = preview.fragment ? lines.flatMap((line, i): Line[] => line.kind !== "@" ? [line] : i || line.text ? [{ kind: "~", text: `⋯ ${line.text}` }] : []) : lines;
  const fresh = preview.is_new_file ?? preview.created ?? preview.new;
  const state = fresh ? "new file" : preview.deleted ? "deleted" : preview.moved_to ? "moved" : preview.binary ? "binary" : "";
  return { path, lines: placed, state, cut: preview.cut === true, note: preview.note ?? preview.error ?? "" };
}

/* Edit and Write without a server's preview: the texts of the call, without the file around them. */
export function fileOfInput(name: string, input: { [key: string]: Json }): FileDiff[] | null {
  const path = str(input.file_path);
  const one = (before: string, after: string, note: string): FileDiff => ({ path, lines: compare(before, after), state: "", cut: false, note });
  if (name === "Write" && path && typeof input.content === "string")
    return [one("", input.content, "The whole new content; what is there now is not shown.")];
  if (name === "Edit" && path && typeof input.new_string === "string")
    return [one(str(input.old_string), input.new_string, input.replace_all === true
      ? "Every occurrence of this text is replaced; line numbers are those of the text." : "Line numbers are those of the text, not of the file.")];
  if (name === "MultiEdit" && path && Array.isArray(input.edits))
    return input.edits.map((edit, i) => one(str((edit as { [key: string]: Json }).old_string), str((edit as { [key: string]: Json }).new_string),
      `Change ${i + 1} of ${(input.edits as Json[]).length}.`));
  return null;
}

/* The text as the call would change it, computed from the call's input; null when the input does not fit the text. */
function applied(name: string, input: { [key: string]: Json }, content: string): string | null {
  if (name === "Write") return str(input.content);
  const edits = Array.isArray(input.edits) ? input.edits as { [key: string]: Json }[] : [input];
  let text = content;
  for (const edit of edits) {
    const old = str(edit.old_string), at = text.indexOf(old);
    if (!old || at < 0) return null;
    text = edit.replace_all === true ? text.split(old).join(str(edit.new_string)) : text.slice(0, at) + str(edit.new_string) + text.slice(at + old.length);
  }
  return text;
}

/* The difference within the whole file as it is now. */
export function wholeFile(files: FileDiff[], name: string, input: { [key: string]: Json }, content: string): FileDiff | null {
  const [file] = files;
  if (files.length === 1 && !file.cut && file.lines.some((line) => line.kind === "@")) {
    const lines = around(file.lines, content);
    return lines && { ...file, lines, cut: false, whole: true };
  }
  const after = applied(name, input, content);
  return after === null ? null : { ...file, lines: compare(content, after), state: name === "Write" ? "replaced" : "", note: "", cut: false, whole: true };
}

/* A link that the person's own editor opens, at the first changed line where its number is known. */
function OpenFile({ path, cwd, line, fragment }: { path: string; cwd: string | undefined; line: Line | undefined; fragment: boolean }) {
  const { editor, command } = useStore().prefs, whole = path.startsWith("/") ? path : cwd ? `${cwd}/${path}` : "";
  if (!editor || !whole) return null;
  if (editor === "terminal") {
    const quoted = `'${whole.replace(/'/g, "'\\''")}'`, text = command.replaceAll("{line}", () => String((fragment ? undefined : line?.new ?? line?.old) ?? 1)).replaceAll("{file}", () => quoted);
    return <button type="button" class="open-file quiet small" title={text} aria-label={`Copy the command that opens ${path}`}
      onClick={() => void navigator.clipboard?.writeText(text).then(() => toast("Command copied"), () => toast("The browser does not let this page copy"))}>Copy command</button>;
  }
  const at = encodeURI(whole).replace(/[?#]/g, encodeURIComponent), number = fragment ? undefined : line?.new ?? line?.old;
  const href = editor === "vscode" ? `vscode://file${at}${number ? `:${number}` : ""}` : `idea://open?file=${encodeURIComponent(whole)}${number ? `&line=${number}` : ""}`;
  return <a class="open-file small" href={href} aria-label={`Open ${path} in your editor`}>Open</a>;
}

/* `item`: of a request that waits, whose lines can be commented on; `name`: what the file is called there. */
export function Diff({ file, split, item, name = file.path }: { file: FileDiff; split: boolean; item?: Item; name?: string }) {
  const { prefs } = useStore();
  const [opened, setOpened] = useState<Set<number>>(() => new Set());
  const [whole, setWhole] = useState(file.whole === true);
  useEffect(() => { setOpened(new Set()); setWhole(file.whole === true); }, [file]);
  useEffect(() => {
    const toggle = () => setWhole((is) => !is);
    addEventListener("nod-fold", toggle);
    return () => removeEventListener("nod-fold", toggle);
  }, []);
  const rows = useMemo((): Row[] => {
    const [head] = file.lines, lines = head?.kind === "@" && head.new === 1 && !head.text ? file.lines.slice(1) : file.lines; // line 1 needs no heading
    return whole ? lines : fold(lines, opened);
  }, [file, opened, whole]);
  const onlyNew = !file.lines.some((line) => line.kind === "-" || line.kind === " ");
  const both = split && !onlyNew;
  const cells = useMemo(() => both ? pair(rows) : null, [rows, both]);
  const family = familyOf(file.path);
  const added = file.lines.filter((l) => l.kind === "+").length, removed = file.lines.filter((l) => l.kind === "-").length;
  const total = cells?.length ?? rows.length;
  const open = (from: number) => setOpened((set) => new Set(set).add(from));
  const on = item && !item.closed && canAnswer() ? item : undefined;
  const mine = on ? commentsOf(on).filter((one) => one.path === name) : [], stamp = mine.map((one) => `${one.old}${one.line}${one.writing ? "writing" : one.text}`).join("\n");
  const remarks = useMemo((): Remarks | null => on ? {
    of: (line) => mine.filter((one) => one.line === (one.old ? line.old : line.new) && (one.old ? line.kind === "-" : line.kind !== "-")),
    begin: (line) => begin(on, { path: name, line: (line.kind === "-" ? line.old : line.new) ?? 0, old: line.kind === "-" }),
    write: (one, text) => write(on, one, text), finish: (one) => finish(on, one), drop: (one) => drop(on, one),
  } : null, [on?.key, on?.p.digest, stamp, file]);
  return (
    <section class="diff" aria-label={`Difference of ${file.path}: ${added} lines added, ${removed} removed`}>
      <header>
        <span class="path mono" title={file.path}><Shown text={relative(file.path, item?.p.preview.cwd)} line /></span>
        {file.state && <span class={`tag state-${file.state.split(" ")[0]}`}>{file.state}</span>}
        {item && <OpenFile path={file.path} cwd={item.p.preview.cwd} line={file.lines.find((line) => line.kind === "+" || line.kind === "-")} fragment={item.p.preview.fragment === true} />}
        {mine.length > 0 && <span class="tag">{mine.length} comment{mine.length > 1 ? "s" : ""}</span>}
        <span class="plus">+{added}</span> <span class="minus">−{removed}</span>
      </header>
      {file.note && <p class="note"><Shown text={file.note} line /></p>}
      <div class={`code ${both ? "split" : "unified"} ${prefs.wrap || both ? "wrap" : ""}`} tabIndex={0} role="group" aria-label={on ? "Lines; up and down move, c comments" : "Lines"} onKeyDown={on ? moveCursor : undefined}>
        {Array.from({ length: Math.ceil(total / CHUNK) }, (_, i) => (
          <Chunk key={i} rows={cells ? null : rows} cells={cells} from={i * CHUNK} to={Math.min(total, (i + 1) * CHUNK)} family={family} open={open} remarks={remarks} />
        ))}
      </div>
      {file.cut && <p class="note warn">The difference is longer than what is shown. It can be allowed once, not for always.</p>}
    </section>
  );
}

interface ChunkOf {
  rows: Row[] | null; cells: [Row | null, Row | null][] | null; from: number; to: number; family: string; open: (from: number) => void;
  remarks: Remarks | null;
}

/* ---- comments on lines ---- */

interface Remarks {
  of: (line: Line) => Comment[]; begin: (line: Line) => void; write: (one: Comment, text: string) => void; finish: (one: Comment) => void; drop: (one: Comment) => void;
}

function button(words: string, run: () => void, name = ""): HTMLButtonElement {
  const made = document.createElement("button");
  made.type = "button";
  made.className = name;
  made.textContent = words;
  made.onclick = run;
  return made;
}

function remark(one: Comment, remarks: Remarks, line: Line): HTMLElement {
  const box = document.createElement("div");
  box.className = "remark";
  const acts = document.createElement("div");
  acts.className = "line end";
  if (!one.writing) {
    const words = document.createElement("p");
    put(words, one.text);
    acts.append(button("Edit", () => remarks.begin(line), "quiet small"), button("Delete", () => remarks.drop(one), "quiet small"));
    box.append(words, acts);
    return box;
  }
  const field = document.createElement("textarea");
  field.rows = 2;
  field.value = one.text;
  field.setAttribute("aria-label", `Comment on ${one.old ? "old line" : "line"} ${one.line}`);
  field.placeholder = "What should change here? Sent with a denial.";
  field.oninput = () => remarks.write(one, field.value);
  const leave = (act: () => void) => { const lines = box.closest<HTMLElement>(".code"); act(); lines?.focus(); };
  field.onkeydown = (event) => {
    if (event.key === "Escape") leave(() => remarks.drop(one));
    else if (event.key === "Enter" && !event.shiftKey) leave(() => remarks.finish(one));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  acts.append(button("Cancel", () => leave(() => remarks.drop(one)), "quiet small"), button("Add comment", () => leave(() => remarks.finish(one)), "small"));
  box.append(field, acts);
  queueMicrotask(() => field.focus({ preventScroll: false }));
  return box;
}

/* A line that can be commented on: by its sign, by its number, or by the cursor that up and down move. */
function commentable(element: HTMLElement, line: Line, remarks: Remarks | null): (HTMLElement | null)[] {
  if (!remarks || line.kind === "@" || line.kind === "~") return [element];
  element.classList.add("can");
  (element as HTMLElement & { comment?: () => void }).comment = () => remarks.begin(line);
  const plus = button("+", () => remarks.begin(line), "plus-comment");
  plus.tabIndex = -1;
  plus.setAttribute("aria-label", `Comment on line ${line.new ?? line.old}`);
  element.append(plus);
  return [element, ...remarks.of(line).map((one) => remark(one, remarks, line))];
}

function moveCursor(event: KeyboardEvent): void {
  const box = event.currentTarget as HTMLElement, step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (event.target !== box || event.ctrlKey || event.metaKey || event.altKey) return;
  const rows = [...box.querySelectorAll<HTMLElement & { comment?: () => void }>(".row.can")], at = rows.findIndex((row) => row.classList.contains("cursor"));
  if (event.key === "c") (rows[at] ?? rows.find((row) => row.matches(".add, .del, .two")) ?? rows[0])?.comment?.();
  else if (step && rows.length) {
    const next = rows[at < 0 ? Math.max(0, rows.findIndex((row) => row.matches(".add, .del"))) : Math.min(rows.length - 1, Math.max(0, at + step))];
    rows[at]?.classList.remove("cursor");
    next.classList.add("cursor");
    next.scrollIntoView({ block: "nearest" });
  } else return;
  event.preventDefault();
  event.stopPropagation();
}

/* Built by hand when it comes near the window: tens of thousands of lines cost nothing until they are looked at. */
function Chunk({ rows, cells, from, to, family, open, remarks }: ChunkOf) {
  const box = useRef<HTMLDivElement>(null);
  const [near, setNear] = useState(from === 0);
  useEffect(() => {
    if (near || !box.current) return;
    const watch = new IntersectionObserver((seen) => { if (seen.some((s) => s.isIntersecting)) setNear(true); },
      { root: box.current.closest(".scroll"), rootMargin: "1500px" });
    watch.observe(box.current);
    return () => watch.disconnect();
  }, [near]);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    element.style.height = near ? "" : `${(to - from) * 20}px`;
    if (!near) return;
    const made = document.createDocumentFragment();
    for (let i = from; i < to; i++) {
      const line = cells ? cells[i][1] ?? cells[i][0]! : rows![i], one = cells ? pairRow(cells[i], family, open) : row(line, family, open);
      made.append(...commentable(one, line as Line, line.kind === "fold" ? null : remarks) as HTMLElement[]);
    }
    element.replaceChildren(made);
  }, [near, rows, cells, from, to, family, remarks]);
  return <div class="chunk" ref={box} />;
}

function cell(className: string, text: string | number | undefined): HTMLElement {
  const element = document.createElement("span");
  element.className = className;
  element.textContent = text === undefined ? "" : String(text);
  return element;
}

const CLASS: Record<string, string> = { "+": "add", "-": "del", " ": "same", "@": "hunk", "~": "hunk", fold: "fold" };

function foldRow(from: number, to: number, open: (from: number) => void): HTMLElement {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "row fold";
  button.textContent = `⋯ ${to - from} unchanged lines`;
  button.onclick = () => open(from);
  return button;
}

function code(line: Line, family: string): HTMLElement {
  const text = document.createElement("span");
  text.className = "text";
  for (const [piece, kind, marked] of marked_(colour(line.text, family), line.marks)) {
    const name = (kind ? `t-${kind}` : "") + (marked ? " mark" : "");
    put(text, piece, name.trim() || undefined);
  }
  return text;
}

/* Tokens cut where marks begin and end. */
function marked_(tokens: Token[], marks: [number, number][] | undefined): [string, string, boolean][] {
  if (!marks?.length) return tokens.map(([text, kind]) => [text, kind, false]);
  const out: [string, string, boolean][] = [];
  let at = 0;
  for (const [text, kind] of tokens) {
    let i = 0;
    while (i < text.length) {
      const here = at + i;
      const inside = marks.find(([from, to]) => here >= from && here < to);
      const next = inside ? inside[1] : Math.min(at + text.length, ...marks.filter(([from]) => from > here).map(([from]) => from));
      const end = Math.min(text.length, next - at);
      out.push([text.slice(i, end), kind, !!inside]);
      i = end;
    }
    at += text.length;
  }
  return out;
}

function row(line: Row, family: string, open: (from: number) => void): HTMLElement {
  if (line.kind === "fold") return foldRow(line.from, line.to, open);
  const element = document.createElement("div");
  element.className = `row ${CLASS[line.kind]}`;
  if (line.kind === "@" || line.kind === "~") {
    element.textContent = line.kind === "@" ? `⋯ line ${line.new}${line.text ? "  " + line.text : ""}` : line.text;
    return element;
  }
  element.append(cell("n", line.old), cell("n", line.new), cell("sign", line.kind), code(line, family));
  return element;
}

function side(line: Row | null, family: string, old: boolean): HTMLElement[] {
  if (!line || line.kind === "fold") return [cell("n", ""), cell("sign", ""), cell("text none", "")];
  const own = line.kind === " " ? "same" : CLASS[line.kind];
  const parts = [cell(`n ${own}`, old ? line.old : line.new), cell(`sign ${own}`, line.kind), code(line, family)];
  parts[2].classList.add(own);
  return parts;
}

function pairRow([a, b]: [Row | null, Row | null], family: string, open: (from: number) => void): HTMLElement {
  const only = a ?? b!;
  if (only.kind === "fold" || only.kind === "@" || only.kind === "~") return row(only, family, open);
  const element = document.createElement("div");
  element.className = "row two";
  element.append(...side(a, family, true), ...side(b, family, false));
  return element;
}

export function DiffTools({ split, more }: { split: boolean; more?: ComponentChildren }) {
  const { prefs } = useStore();
  return (
    <div class="tools" role="toolbar" aria-label="How differences are shown">
      {more}
      <div class="segments" role="group" aria-label="Layout">
        <button type="button" aria-pressed={!split} onClick={() => setPrefs({ split: "unified" })} title="d">Unified</button>
        <button type="button" aria-pressed={split} onClick={() => setPrefs({ split: "split" })} title="d">Side by side</button>
      </div>
      <button type="button" onClick={() => dispatchEvent(new Event("nod-fold"))} title="z">Fold</button>
      <button type="button" aria-pressed={prefs.wrap} onClick={() => setPrefs({ wrap: !prefs.wrap })} title="w">Wrap</button>
    </div>
  );
}
