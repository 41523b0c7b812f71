/* The file around a difference, as it is now, read from the server. A call that brings only texts of its own (an edit of
 * Claude Code) gets its place in the file at once; the whole of a file is shown on demand. */
import { get, Refused } from "../api";
import { canAnswer, changed, offers, toast, type Item } from "../store";
import { wholeFile, type FileDiff } from "./diff";

interface Found { files: FileDiff[] | null; read: boolean }

const KEPT_MAX = 50;
const found = new Map<string, Found>();
const stampOf = (item: Item): string => `${item.key}\n${item.p.digest}`;

/* What is shown instead of the call's own words; null: nothing. */
export const readFiles = (item: Item): FileDiff[] | null => found.get(stampOf(item))?.files ?? null;
/* Another stamp when what is shown of the same call becomes more. */
export const readStamp = (item: Item): string => `${found.get(stampOf(item))?.read ?? false}`;

export function isReadable(item: Item, files: FileDiff[] | null): files is FileDiff[] {
  return files !== null && new Set(files.map((file) => file.path)).size === 1 && files[0].state === "" && !item.closed && canAnswer()
    && !/^Mcp(Definition|Servers)$/.test(item.p.toolCall.name) /* what a server says of itself is no file of the project */
    && offers("/api/sessions/{session}/approvals/{call}/file");
}

function keep(item: Item, files: FileDiff[] | null): void {
  if (found.size >= KEPT_MAX) found.delete(found.keys().next().value!);
  found.set(stampOf(item), { files, read: true });
  changed();
}

async function read(item: Item, files: FileDiff[]): Promise<FileDiff | null> {
  const { p } = item;
  const path = `/api/sessions/${encodeURIComponent(p.sessionId)}/approvals/${encodeURIComponent(p.toolCallId)}/file`;
  return wholeFile(files, p.toolCall.name, p.toolCall.input, (await get(path)).content);
}

/* Not every 404: where the session's folder is not on the server's machine, nothing is known of the file. */
const isNew = (error: unknown): boolean =>
  error instanceof Refused && error.status === 404 && error.message.startsWith("there is no file ");

/* For a call without a server's preview, when it comes on screen. */
export async function readPlace(item: Item, files: FileDiff[]): Promise<void> {
  if (found.has(stampOf(item)) || files.some((file) => file.lines.some((line) => line.kind === "@"))) return;
  found.set(stampOf(item), { files: null, read: false });
  try {
    const file = await read(item, files);
    keep(item, file ? [{ ...file, whole: false }]
      : files.map((one) => ({ ...one, note: "This text is not in the file as it is now: the change would fail." })));
  } catch (error) {
    keep(item, isNew(error) && item.p.toolCall.name === "Write" ? files.map((one) => ({ ...one, state: "new file", note: "" })) : null);
  }
}

export async function readWhole(item: Item, files: FileDiff[]): Promise<void> {
  try {
    const file = await read(item, files);
    if (file) keep(item, [file]);
    else toast("The file is no longer what this difference was made from", "bad");
  } catch (error) { toast(error instanceof Error ? error.message : "It cannot be read", "bad"); }
}
