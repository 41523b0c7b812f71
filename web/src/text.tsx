/* Agents' text on the screen: always text nodes, never HTML; characters that hide or reorder text are made visible. */
import { type ComponentChildren } from "preact";

const NAMES: Record<number, string> = {
  0x1b: "escape", 0x00ad: "soft hyphen", 0x061c: "arabic letter mark", 0x200b: "zero width space", 0x200c: "zero width non-joiner",
  0x200d: "zero width joiner", 0x200e: "left-to-right mark", 0x200f: "right-to-left mark", 0x202a: "left-to-right embedding",
  0x202b: "right-to-left embedding", 0x202c: "pop directional formatting", 0x202d: "left-to-right override",
  0x202e: "right-to-left override", 0x2060: "word joiner", 0x2066: "left-to-right isolate", 0x2067: "right-to-left isolate",
  0x2068: "first strong isolate", 0x2069: "pop directional isolate", 0xfeff: "byte order mark", 0x2028: "line separator",
  0x2029: "paragraph separator", 0x0d: "carriage return", 0x07: "bell", 0x08: "backspace", 0x7f: "delete",
};
// C0 without tab and newline, DEL, C1, soft hyphen, bidi, zero width, fillers, separators, tags, selectors that hide.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3164\ufeff\uffa0\ufff9-\ufffb]|\udb40[\udc00-\udfff]/g;

export const hasHidden = (text: string): boolean => { HIDDEN.lastIndex = 0; return HIDDEN.test(text); };

function codeName(code: number): string {
  return "U+" + code.toString(16).toUpperCase().padStart(4, "0");
}

/* Pieces of text, and hidden characters by their code. */
export function pieces(text: string): (string | number)[] {
  const out: (string | number)[] = [];
  let at = 0;
  HIDDEN.lastIndex = 0;
  for (let found = HIDDEN.exec(text); found; found = HIDDEN.exec(text)) {
    if (found.index > at) out.push(text.slice(at, found.index));
    out.push(found[0].codePointAt(0)!);
    at = found.index + found[0].length;
  }
  if (at < text.length) out.push(text.slice(at));
  return out;
}

const mark = (code: number) => ({ text: `⟨${codeName(code)}⟩`, title: NAMES[code] ?? "a character that cannot be seen" });

export function Shown({ text, line = false }: { text: string; line?: boolean }): ComponentChildren {
  if (line) text = text.replace(/\r?\n/g, "⏎").replace(/\t/g, "⇥");
  return pieces(text).map((piece) => typeof piece === "string" ? piece
    : <span class="ghost" title={mark(piece).title}>{mark(piece).text}</span>);
}

/* The same into an element, for long texts. */
export function put(to: HTMLElement, text: string, className?: string): void {
  for (const piece of pieces(text)) {
    if (typeof piece === "string" && !className) {
      to.append(piece);
      continue;
    }
    const span = document.createElement("span");
    span.className = typeof piece === "string" ? className! : "ghost";
    if (typeof piece === "number") span.title = mark(piece).title;
    span.textContent = typeof piece === "string" ? piece : mark(piece).text;
    to.append(span);
  }
}

export function ago(at: string | number, now: number): string {
  const s = Math.max(0, Math.round((now - (typeof at === "number" ? at : Date.parse(at))) / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${String(Math.floor(s / 60) % 60).padStart(2, "0")}`;
  return `${Math.floor(s / 86400)} d`;
}
export function left(deadline: string, now: number): string {
  const s = Math.ceil((Date.parse(deadline) - now) / 1000);
  if (s <= 0) return "expired";
  return s < 3600 ? `${Math.floor(s / 60)}:${String(s % 60).padStart(2, "0")} left` : `${ago(now, Date.parse(deadline))} left`;
}
export function took(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 3600000) return `${(ms / 60000).toFixed(1)} min`;
  return `${(ms / 3600000).toFixed(1)} h`;
}
export function bytes(n: number): string {
  return n < 1024 ? `${n} byte${n === 1 ? "" : "s"}` : n < 1 << 20 ? `${(n / 1024).toFixed(1)} KB` : `${(n / (1 << 20)).toFixed(1)} MB`;
}
export function clock(at: string): string {
  const date = new Date(at), today = new Date().toDateString() === date.toDateString();
  const time = date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
  return today ? time : `${date.toLocaleDateString([], { month: "short", day: "numeric" })} ${time}`;
}
export const byteLength = (text: string): number => new TextEncoder().encode(text).length;
export const shortPath = (path: string): string => {
  const parts = path.split("/").filter(Boolean);
  return parts.length > 3 ? "…/" + parts.slice(-2).join("/") : path;
};
export function relative(path: string, cwd?: string): string {
  return cwd && path.startsWith(cwd + "/") ? path.slice(cwd.length + 1) : path;
}
