/* The file around a difference, read from the server. A list has only the texts that a call brings; the call by itself has
 * its place in the file as it was when it was asked, and where that was not kept the file as it is now is read at once. The
 * whole of a file is shown on demand. */
import { get, Refused } from "../api";
import { readWhole as readCall } from "../live";
import { canAnswer, changed, offers, toast, type Item } from "../store";
import type { Pending, Preview } from "../types";
import { fileOf, wholeFile, type FileDiff } from "./diff";

interface Found { files: FileDiff[] | null; read: boolean; whileOpen?: boolean }

const KEPT_MAX = 50;
const found = new Map<string, Found>();
const stampOf = (item: Item): string => `${item.key}\n${item.p.digest}`;

/* The preview that is shown instead of the call's own words; null: none. */
export function readFiles(item: Item): FileDiff[] | null {
  const one = found.get(stampOf(item));
  return one && !(one.whileOpen && item.closed) ? one.files : null;
}
/* Another stamp when what is shown of the same call becomes more. */
export const readStamp = (item: Item): string => `${found.get(stampOf(item))?.read ?? false}`;

const fileRoute = (p: Pending): string => `/api/sessions/${encodeURIComponent(p.sessionId)}/approvals/${encodeURIComponent(p.toolCallId)}/file`;
const canRead = (item: Item): boolean => !item.closed && canAnswer() && offers("/api/sessions/{session}/approvals/{call}/file")
  && !/^Mcp(Definition|Servers)$/.test(item.p.toolCall.name); /* a server's definition is not a file of the project */

/* Whether the whole text of one file can be shown around its difference: not for the cell of a notebook. */
export function isReadable(item: Item, files: FileDiff[] | null): files is FileDiff[] {
  return files !== null && new Set(files.map((file) => file.path)).size === 1 && /^(replaced)?$/.test(files[0].state) && !isPlacedByServer(item.p) && canRead(item);
}

/* Patches, notebooks, other agents' tools: only the server knows how they are applied. */
const isPlacedByServer = ({ toolCall }: Pending): boolean => !/^(Write|Edit|MultiEdit)$/.test(toolCall.name);

function keep(item: Item, files: FileDiff[] | null, whileOpen = false): void {
  if (found.size >= KEPT_MAX) found.delete(found.keys().next().value!);
  found.set(stampOf(item), { files, read: true, whileOpen });
  changed();
}

async function read({ p }: Item, files: FileDiff[]): Promise<FileDiff | null> {
  return wholeFile(files, p.toolCall.name, p.toolCall.input, (await get(fileRoute(p))).content);
}

/* Not every 404: where the session's folder is not on the server's machine, nothing is known of the file. */
const isNew = (error: unknown): boolean =>
  error instanceof Refused && error.status === 404 && error.message.startsWith("there is no file ");

const linesOf = ({ unified, files }: Preview): string => JSON.stringify(unified ?? files?.map((file) => file.unified));

/* An answer is about the file as it was stored with the request. Adds a note when the file has changed since. */
async function compareNow(item: Item, files: FileDiff[]): Promise<void> {
  const { preview } = item.p;
  let same: boolean;
  try { same = linesOf((await get(fileRoute(item.p))).preview) === linesOf(preview); }
  catch (error) { same = !isNew(error) || preview.is_new_file === true; }
  if (!same) keep(item, files.map((one, i) => i ? one : { ...one, note: "The file has changed since this was asked. Shown is how it was then." }), true);
}

/* When a call comes on screen. */
export async function readPlace(item: Item, files: FileDiff[]): Promise<void> {
  const { p } = item, isFragment = p.preview.type === "generic" || p.preview.fragment || p.preview.files?.some((file) => file.fragment);
  if (found.has(stampOf(item)) || !canRead(item)) return;
  if (p.inFile) return readCall(item);
  found.set(stampOf(item), { files: null, read: false });
  if (!isFragment) return p.preview.problem ? undefined : compareNow(item, files);
  try {
    if (isPlacedByServer(p)) {
      const placed: Preview = (await get(fileRoute(p))).preview;
      keep(item, (placed.files ?? [placed]).map(fileOf));
      return;
    }
    const file = await read(item, files);
    keep(item, file ? [{ ...file, whole: false }]
      : files.map((one) => ({ ...one, note: "This text is not in the file as it is now: the change would fail." })));
  } catch (error) {
    keep(item, isNew(error) && p.toolCall.name === "Write" ? files.map((one) => ({ ...one, state: "new file", note: "" })) : null);
  }
}

/* The file to which a call would write a picture, and the picture there now; null while it is read, or when it cannot be. */
export interface Place { path: string; fresh: boolean; before: { type: string; bytes: number; data?: string } | null }
const places = new Map<string, Place | null>();
export const placeOf = (item: Item): Place | null => places.get(stampOf(item)) ?? null;
export async function readPicture(item: Item): Promise<void> {
  if (places.has(stampOf(item)) || !canRead(item)) return;
  if (places.size >= KEPT_MAX) places.clear();
  places.set(stampOf(item), null);
  try {
    const { preview } = await get(fileRoute(item.p));
    places.set(stampOf(item), { path: preview.file_path, fresh: preview.is_new_file, before: preview.before ?? null });
    changed();
  } catch { /* then the call's own picture is all there is to see */ }
}

export async function readWhole(item: Item, files: FileDiff[]): Promise<void> {
  try {
    const file = await read(item, files);
    if (file) keep(item, [file]);
    else toast("The file is no longer what this difference was made from", "bad");
  } catch (error) { toast(error instanceof Error ? error.message : "It cannot be read", "bad"); }
}
