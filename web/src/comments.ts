/* Comments on lines of a request's differences, kept while the page is open. They go out together, as the words of a
 * denial: `src/cart.ts line 10: use the helper`. */
import { stampOf } from "./answers";
import { changed, type Item } from "./store";

export interface Comment { path: string; line: number; old: boolean; text: string; writing: boolean }

const all = new Map<string, Comment[]>();
const KEPT_MAX = 200;

export const commentsOf = (item: Item): Comment[] => all.get(stampOf([item])) ?? [];
const isSame = (a: Comment, b: Pick<Comment, "path" | "line" | "old">): boolean => a.path === b.path && a.line === b.line && a.old === b.old;
const put = (item: Item, list: Comment[]): void => {
  if (all.size >= KEPT_MAX) all.delete(all.keys().next().value!);
  all.set(stampOf([item]), list);
  changed();
};

export function begin(item: Item, at: Pick<Comment, "path" | "line" | "old">): void {
  const known = commentsOf(item), there = known.find((one) => isSame(one, at));
  put(item, [...known.filter((one) => one !== there), { ...at, text: there?.text ?? "", writing: true }]);
}
/* While it is written nothing is drawn again: the field has what was typed. */
export function write(item: Item, at: Comment, text: string): void {
  const there = commentsOf(item).find((one) => isSame(one, at));
  const was = there?.text.trim() === "";
  if (there) there.text = text;
  if (was !== (text.trim() === "")) changed();
}
export function finish(item: Item, at: Comment): void {
  put(item, commentsOf(item).map((one) => isSame(one, at) ? { ...one, writing: false } : one).filter((one) => one.text.trim()));
}
export function drop(item: Item, at: Comment): void { put(item, commentsOf(item).filter((one) => !isSame(one, at))); }

/* The comments that have text; one that is still being written counts. */
export const written = (item: Item): Comment[] => commentsOf(item).filter((one) => one.text.trim());

/* The text of a denial: first the remark on the whole call, then the comments in the order of files and lines. */
export function wordsOf(item: Item, words: string): string | undefined {
  const lines = written(item).sort((a, b) => a.path === b.path ? a.line - b.line : a.path < b.path ? -1 : 1)
    .map((one) => `${one.path} ${one.old ? "old line" : "line"} ${one.line}: ${one.text.trim()}`);
  return [words.trim(), ...lines].filter(Boolean).join("\n") || undefined;
}
