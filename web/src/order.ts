/* Which requests are shown, in which order, under which heads. Oldest first: within a group, and the groups by their
 * oldest. Keys, "1 of 3" and the list all go by this one order. */
import { isSnoozed, me, state, type Item } from "./store";
import { shortPath } from "./text";
import type { Pending, Session, Thread } from "./types";
import { headline, kindOf, risky } from "./words";

export interface Group { key: string; title: string; about: string; items: Item[] }

export const GROUPINGS: [string, string][] = [["session", "by session"], ["agent", "by agent"], ["none", "not grouped"]];
export const KINDS: [string, string][] = [
  ["", "all kinds"], ["risky", "risky only"], ["command", "commands"], ["file", "file changes"], ["question", "questions, plans"],
  ["other", "other tools"], ["mine", "assigned to me"], ["snoozed", "snoozed"],
];

export const threadOf = (p: Pending): Thread | undefined =>
  state.sessions.get(p.sessionId)?.threads.find((thread) => thread.id === p.threadId);

/* The agent that asks; of a sub-agent also its parent. */
export function agentOf(p: Pending): { name: string; of: string } {
  const own = p.agent || "an agent", thread = threadOf(p);
  if (!thread?.parentId) return { name: own, of: "" };
  const parent = state.sessions.get(p.sessionId)?.threads.find((one) => one.id === thread.parentId);
  const name = thread.agent || thread.title || thread.id.split(".").pop()!;
  return { name, of: parent?.parentId ? parent.agent || parent.title || own : own };
}

export const titleOf = (session: Session | undefined, p: Pending): string =>
  session?.title || shortPath(p.preview.cwd ?? session?.cwd ?? "") || "session";

/* ---- what fits ---- */

const searched = new WeakMap<Pending, string>();
function textOf(p: Pending): string {
  let text = searched.get(p);
  if (text === undefined) {
    text = [p.toolCall.name, p.agent, p.summary, headline(p), JSON.stringify(p.toolCall.input)].join("\n").toLowerCase();
    searched.set(p, text);
  }
  return text;
}

function isOfKind(item: Item): boolean {
  if (isSnoozed(item) !== (state.kind === "snoozed")) return false;
  if (state.kind === "" || state.kind === "snoozed") return true;
  return state.kind === "risky" ? risky(item.p) : state.kind === "mine" ? item.p.assignee === me() : kindOf(item.p) === state.kind;
}

function fits(item: Item, words: string): boolean {
  if (!isOfKind(item)) return false;
  if (!words || textOf(item.p).includes(words)) return true;
  const session = state.sessions.get(item.p.sessionId), agent = agentOf(item.p);
  return [session?.title, session?.cwd, agent.name].some((text) => text?.toLowerCase().includes(words));
}

/* ---- groups ---- */

/* While the pointer is over the list nothing in it may move: what comes then waits at its end. */
let hovered = false;
export const isHovered = (): boolean => hovered;
export function setHovered(now: boolean): void {
  hovered = now;
  if (!now) for (const item of state.items.values()) item.late = false;
}

function placeOf(item: Item): Omit<Group, "items"> {
  const { p } = item, session = state.sessions.get(p.sessionId), title = titleOf(session, p);
  if (item.late) return { key: "late", title: "Just arrived", about: "" };
  if (state.prefs.group === "none") return { key: "", title: "", about: "" };
  if (state.prefs.group === "session") return { key: p.sessionId, title, about: session?.cwd ?? "" };
  const { name, of } = agentOf(p);
  return { key: p.threadId, title: name, about: of ? `sub-agent of ${of}, ${title}` : title };
}

let made = { stamp: "", groups: [] as Group[] };

/* The one that is open stays in its place after it was answered; shownOrder() leaves it out. */
function placed(): Group[] {
  const stamp = [state.version, state.items.size, state.open, state.search, state.kind, state.prefs.group, hovered].join("\n");
  if (made.stamp === stamp) return made.groups;
  const words = state.search.trim().toLowerCase();
  const by = new Map<string, Group>();
  const late: Group[] = [];
  for (const item of state.items.values()) {
    if ((item.closed && item.key !== state.open) || !fits(item, words)) continue;
    const place = placeOf(item);
    const group = by.get(place.key);
    if (group) group.items.push(item);
    else by.set(place.key, { ...place, items: [item] });
  }
  const last = by.get("late");
  if (last && by.delete("late")) late.push(last);
  made = { stamp, groups: [...by.values(), ...late] };
  return made.groups;
}

export function shownGroups(): Group[] {
  return placed().map((group) => ({ ...group, items: group.items.filter((item) => !item.closed) })).filter((group) => group.items.length);
}
export const shownOrder = (): Item[] => placed().flatMap((group) => group.items).filter((item) => !item.closed);

/* The next one in that direction; past the end, the nearest on the other side. */
export function neighbour(key: string | null, step: number): string | null {
  const order = placed().flatMap((group) => group.items);
  const at = order.findIndex((item) => item.key === key);
  for (const by of [step, -step])
    for (let i = at + by; i >= 0 && i < order.length; i += by) if (!order[i].closed && order[i].key !== key) return order[i].key;
  return null;
}
