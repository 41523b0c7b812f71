/* The state of the page, and the components that are drawn again when it changes. One object, changed in one place each (live.ts,
 * answers.ts, settings); components read it with useStore. */
import { useEffect, useReducer } from "preact/hooks";
import { serverNow } from "./api";
import type { PersonKey } from "./sign";
import type { Closed, Pending, Session } from "./types";

export interface Item {
  key: string;           // session and call
  p: Pending;
  closed?: Closed;       // it was answered; kept only while it is on screen
  changed?: boolean;     // the request on screen was replaced by one with other content
  busy?: boolean;        // our answer is under way
  fresh?: boolean;       // came while the page was open, not looked at yet
  late?: boolean;        // came while the pointer was over the list: stays at its end until it leaves
}

export type Connection = "connecting" | "live" | "lost" | "login";

export interface Prefs {
  theme: "auto" | "light" | "dark"; split: "auto" | "split" | "unified"; wrap: boolean; notify: boolean; sound: boolean;
  group: "session" | "agent" | "none"; keys: boolean; undo: boolean; dense: boolean;
  editor: "" | "vscode" | "idea" | "terminal"; command: string; // command: of the terminal, with {file} and {line}
}

export const state = {
  connection: "connecting" as Connection,
  why: "",                                   // the error, when the connection is lost or a login has failed
  lostAt: 0,
  loaded: false,
  me: null as null | { id: string; name: string; role: string },
  paths: new Set<string>(),                  // of the API, from its own description
  items: new Map<string, Item>(),            // in order of asking
  newKeys: [] as PersonKey[],                // that recovery codes added, and that do not sign yet
  open: null as string | null,               // key of the request on screen
  picked: new Set<string>(),                 // for one answer to several
  reviewing: false,                          // they are looked at (on a phone the list stays until then)
  palette: false,
  sessions: new Map<string, Session>(),
  search: "",
  kind: "",                                  // of requests that are shown; "": all
  route: location.hash,
  toast: null as null | { words: string; tone: "good" | "bad" | "plain"; at: number; act?: string },
  prefs: readPrefs(),
  help: false,
  version: 0,
};

export function isPhone(): boolean { return matchMedia("(max-width: 959px)").matches; }

function readPrefs(): Prefs {
  const otherwise: Prefs = {
    theme: "auto", split: "auto", wrap: isPhone(), notify: false, sound: false, group: "session", keys: true, undo: false, dense: false, editor: "", command: "vim +{line} {file}",
  };
  try { return { ...otherwise, ...JSON.parse(localStorage.getItem("nod.prefs") ?? "{}") }; } catch { return otherwise; }
}
export function setPrefs(change: Partial<Prefs>): void {
  state.prefs = { ...state.prefs, ...change };
  localStorage.setItem("nod.prefs", JSON.stringify(state.prefs));
  applyTheme();
  changed();
}
export function applyTheme(): void {
  if (state.prefs.theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = state.prefs.theme;
}

const listeners = new Set<() => void>();
let queued = false;

/* Calls the listeners (components that use the store), once for all changes of this turn. */
export function changed(): void {
  state.version++;
  if (queued) return;
  queued = true;
  queueMicrotask(() => {
    queued = false;
    for (const listener of [...listeners]) listener();
  });
}

export function useStore(): typeof state {
  const [, again] = useReducer((n: number) => n + 1, 0);
  const drawn = state.version;
  useEffect(() => {
    const listener = () => again(0);
    listeners.add(listener);
    // This component was not told of changes between the drawing and this moment.
    if (state.version !== drawn) again(0);
    return () => void listeners.delete(listener);
  }, []);
  return state;
}

/* A clock for ages and deadlines: one timer for all who look. */
export function useNow(): number {
  const [, again] = useReducer((n: number) => n + 1, 0);
  useEffect(() => {
    const timer = setInterval(() => again(0), 1000);
    return () => clearInterval(timer);
  }, []);
  return Date.now();
}

/* A snoozed request has left the queue; it can still be looked at and answered. */
export const isSnoozed = (item: Item): boolean => item.p.snoozedUntil !== undefined && Date.parse(item.p.snoozedUntil) > serverNow();
export const waiting = (): Item[] => [...state.items.values()].filter((item) => !item.closed && !isSnoozed(item));
export const snoozed = (): Item[] => [...state.items.values()].filter((item) => !item.closed && isSnoozed(item));
/* The person who looks, without the name of the device. */
export const me = (): string => { const name = state.me?.name ?? "", at = name.lastIndexOf(", "); return at > 0 ? name.slice(0, at) : name; };

/* Shows a line at the bottom for four seconds; `act` is the text of its undo button, if it has one. */
export function toast(words: string, tone: "good" | "bad" | "plain" = "plain", act?: string): void {
  const at = Date.now();
  state.toast = { words, tone, at, act };
  changed();
  setTimeout(() => { if (state.toast?.at === at) { state.toast = null; changed(); } }, 4000);
}

export const canAnswer = (): boolean => state.me !== null && (state.me.role === "admin" || state.me.role === "approver");
export const offers = (path: string): boolean => state.paths.has(path);
