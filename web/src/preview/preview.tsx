/* The thing itself: what would happen. */
import { useEffect } from "preact/hooks";
import { Plan, Questions } from "../question";
import { useStore, type Item } from "../store";
import { relative, Shown } from "../text";
import type { Json, Pending, Preview as PreviewOf } from "../types";
import { isPlan, isQuestion } from "../words";
import { Command } from "./command";
import { Diff, DiffTools, fileOf, fileOfInput, type FileDiff } from "./diff";
import { PicturePair } from "./picture";
import { Tree } from "./tree";
import { isReadable, readFiles, readPlace, readWhole } from "./whole";

const known = new WeakMap<Pending, FileDiff[] | null>();
/* Made once for each request: comparing long texts takes its time. */
function filesOf(p: Pending): FileDiff[] | null {
  if (!known.has(p)) known.set(p, makeFiles(p));
  return known.get(p)!;
}

/* The server cuts what is long. Where its difference is of the call's own texts, they are all there is to see, and are here. */
function makeFiles(p: Pending): FileDiff[] | null {
  const files = readFilesOf(p), fragment = p.preview.fragment || p.preview.files?.some((one) => one.fragment);
  return (fragment && files?.some((file) => file.cut) && fileOfInput(p.toolCall.name, p.toolCall.input)) || files;
}

function readFilesOf(p: Pending): FileDiff[] | null {
  const preview = p.preview;
  if (preview.type === "diff") {
    const file = fileOf(preview), state = file.state || (p.toolCall.name === "Write" && preview.is_new_file === false ? "replaced" : "");
    return [{ ...file, state, path: file.path || String(p.toolCall.input.file_path ?? "") }];
  }
  if (preview.type === "multi_diff") {
    const many: PreviewOf[] = preview.unified ? [] : preview.files ?? []; // all edits in their places, when the server has read the file
    return (many.length ? many : [preview]).map((one) => fileOf({ file_path: preview.file_path ?? preview.path, ...one }));
  }
  return preview.type === "generic" ? fileOfInput(p.toolCall.name, p.toolCall.input) : null;
}

/* Whether all of it can be shown; what is folded away at first is another matter (see useSeenAll). */
export function shownWhole(p: Pending): boolean {
  return !filesOf(p)?.some((file) => file.cut);
}

const AGENT_WORDS = ["description", "justification", "explanation", "reason"];

export function agentWords(p: Pending): string {
  for (const key of AGENT_WORDS) {
    const said = p.toolCall.input[key];
    if (typeof said === "string" && said) return said;
  }
  return "";
}

/* The differences that are shown, and how to get the whole file around them; null where there is none to be had. */
function useFiles(item: Item): { files: FileDiff[] | null; more: (() => void) | null } {
  const made = filesOf(item.p), files = readFiles(item) ?? made;
  const readable = isReadable(item, made), whole = files?.some((file) => file.whole) ?? false;
  useEffect(() => { if (made) void readPlace(item, made); }, [item.p.digest, item.p.inFile, readable]);
  useEffect(() => {
    const asked = () => { if (isReadable(item, made) && !whole) void readWhole(item, made); };
    addEventListener("nod-whole", asked);
    return () => removeEventListener("nod-whole", asked);
  });
  return { files, more: readable && !whole ? () => dispatchEvent(new Event("nod-whole")) : null };
}

export function Preview({ item, wide }: { item: Item; wide: boolean }) {
  const { prefs } = useStore();
  const { p } = item;
  const { files, more } = useFiles(item);
  if (isQuestion(p)) return <Questions item={item} />;
  if (isPlan(p)) return <Plan p={p} item={item} />;
  const command = p.preview.command ?? (typeof p.toolCall.input.command === "string" && p.preview.type === "command" ? p.toolCall.input.command : "");
  const split = prefs.split === "auto" ? wide : prefs.split === "split";
  if (files)
    return <>
      <DiffTools split={split} more={more && <button type="button" onClick={more} title="f">Whole file</button>} />
      {files.map((file, i) => <Diff key={`${i} ${file.path}`} file={file} split={split} item={item}
        name={relative(file.path, p.preview.cwd) + (files.some((one) => one !== file && one.path === file.path) ? `, change ${i + 1},` : "")} />)}
      {files.every((file) => !file.lines.length && !file.note) && <Tree value={p.toolCall.input} />}
    </>;
  if (command) {
    const rest = Object.entries(p.toolCall.input).filter(([key]) => key !== "command" && !AGENT_WORDS.includes(key));
    return <>
      <Command preview={p.preview} command={command} judged={p.parts} />
      {rest.length > 0 && <section class="generic"><p class="dim small">Further input</p><Tree value={Object.fromEntries(rest) as { [key: string]: Json }} label="Further input" /></section>}
    </>;
  }
  return <>
    <PicturePair item={item} />
    <section class="generic" aria-label="Input"><p class="dim small">Input of <span class="mono"><Shown text={p.toolCall.name} line /></span></p>
      {p.preview.description && <p class="about small">{p.preview.title && <b><Shown text={p.preview.title} line />: </b>}<Shown text={p.preview.description} /></p>}
      <Tree value={p.toolCall.input} label="Input" fields={p.preview.fields} /></section>
  </>;
}
