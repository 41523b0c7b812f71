/* Answering. An allow is inert until the request has been on screen, unchanged, for half a second; deny is
 * always live (on the page; behind the link of a message it has the same half second, look.tsx). The digest of what
 * was shown goes with the answer, so another content is refused. */
import { useEffect, useState } from "preact/hooks";
import { print, Refused } from "./api";
import { answered, reconnect } from "./live";
import { neighbour } from "./order";
import { answerSigned } from "./sign";
import { changed, state, toast, type Item } from "./store";
import { DECISIONS } from "./words";
import type { Json } from "./types";

export const ARM_MS = 500;

let armedStamp = "";

/* Names the requests that are shown, with their digests: an answer counts only while this is the same. */
export const stampOf = (items: Item[]): string => items.map((item) => `${item.key}\n${item.p.digest}${item.p.cut ? "\ncut" : item.p.inFile ? "\nlisted" : ""}`).join("\n\n");
export const isArmed = (items: Item[]): boolean => items.length > 0 && armedStamp === stampOf(items) && state.connection === "live";

/* Starts again whenever what is shown changes, the window comes back, or the connection does. */
export function useArmed(items: Item[], extra = ""): boolean {
  const stamp = stampOf(items);
  const [armed, setArmed] = useState("");
  const live = state.connection === "live";
  useEffect(() => {
    let timer = 0, frame = 0;
    const restart = () => {
      armedStamp = "";
      setArmed("");
      clearTimeout(timer);
      cancelAnimationFrame(frame);
      if (document.hidden || !live || !stamp || items.some((item) => item.p.cut)) return;
      // Two frames: it has really been painted.
      frame = requestAnimationFrame(() => {
        frame = requestAnimationFrame(() => {
          timer = setTimeout(() => { armedStamp = stamp; setArmed(stamp); }, ARM_MS) as unknown as number;
        });
      });
    };
    restart();
    document.addEventListener("visibilitychange", restart);
    window.addEventListener("focus", restart);
    return () => {
      armedStamp = "";
      clearTimeout(timer);
      cancelAnimationFrame(frame);
      document.removeEventListener("visibilitychange", restart);
      window.removeEventListener("focus", restart);
    };
  }, [stamp, live, extra]);
  return armed === stamp && stamp !== "";
}

export interface Extra { feedback?: string; updatedInput?: string; rules?: string[]; mode?: string; scope?: string; expiresAt?: string; uses?: number }

export function isAllow(decision: string): boolean { return decision.startsWith("allow"); }

function body(item: Item, decision: string, extra: Extra): string {
  const fields: { [key: string]: Json } = { decision, digest: item.p.digest };
  if (extra.feedback) fields.feedback = extra.feedback;
  if (extra.rules?.length) fields.rules = extra.rules;
  if (extra.mode) fields.mode = extra.mode;
  if (extra.scope) fields.scope = extra.scope;
  if (extra.expiresAt) fields.expiresAt = extra.expiresAt;
  if (extra.uses) fields.uses = extra.uses;
  const text = print(fields);
  // The edited input goes as it was typed.
  return extra.updatedInput ? text.slice(0, -2) + `,"updatedInput":${extra.updatedInput}}` : text;
}

/* If the preference is on, an allow is sent only after this time, and Undo drops it before. If the person leaves the
 * page meanwhile, it is not sent. */
export const HOLD_MS = 3000;
let held: ((sends: boolean) => void) | null = null;
export function undo(): boolean {
  const undone = held !== null;
  held?.(false);
  return undone;
}
async function holds(item: Item, words: string): Promise<boolean> {
  held?.(true); // only one allow is held at a time: the one before it is sent now
  show(neighbour(item.key, 1));
  const sent = await new Promise<boolean>((done) => {
    const end = (sends: boolean) => {
      clearTimeout(timer);
      if (held === end) held = null;
      done(sends);
    };
    const timer = setTimeout(() => end(true), HOLD_MS);
    held = end;
    toast(`${item.p.toolCall.name} ${words}`, "good", "Undo");
  });
  if (!sent) { item.busy = false; toast("Not sent: it waits again"); show(item.key); }
  return sent;
}

export async function answer(item: Item, decision: string, extra: Extra = {}): Promise<boolean> {
  if (item.closed || item.busy || state.connection !== "live") return false;
  item.busy = true;
  // Keys that are pressed while it is under way are meant for the list, not for the field that was sent.
  const field = document.activeElement;
  if (field instanceof HTMLElement && field.closest(".answers .panel")) field.blur();
  changed();
  if (state.prefs.undo && isAllow(decision) && !await holds(item, DECISIONS[decision] ?? decision)) return false;
  const path = `/api/sessions/${encodeURIComponent(item.p.sessionId)}/approvals/${encodeURIComponent(item.p.toolCallId)}`;
  try {
    const said = await answerSigned(path, item.p.sessionId, item.p.toolCallId, body(item, decision, extra));
    if (said.need) {
      const now = state.items.get(item.key);
      if (now) now.busy = false;
      toast(`${item.p.toolCall.name}: ${said.have} of ${said.need} persons have allowed it`, "good");
      changed();
      return true;
    }
    finish(item, { decision: said.decision, actor: said.actor, at: said.at ?? new Date().toISOString(), feedback: extra.feedback, mine: true });
    return true;
  } catch (error) {
    const now = state.items.get(item.key);
    if (now) now.busy = false;
    if (error instanceof Refused && error.code === "already_decided") {
      const winner = error.body?.winner ?? {};
      answered(item.key, { decision: winner.decision, actor: winner.actor, at: winner.at, feedback: winner.feedback, mine: false });
    } else if (error instanceof Refused && (error.status === 409 || error.status === 404)) {
      toast(`Not answered: ${error.message}`, "bad");
      reconnect();
    } else {
      toast(error instanceof Error ? `Not answered: ${error.message}` : "Not answered", "bad");
    }
    changed();
    return false;
  }
}

function finish(item: Item, closed: Parameters<typeof answered>[1]): void {
  const next = neighbour(item.key, 1);
  const open = state.open === item.key;
  answered(item.key, closed);
  state.items.delete(item.key);
  // A person who went to another screen meanwhile is not called back.
  if (open && staysInInbox()) show(next);
  else if (open) state.open = null;
  toast(`${item.p.toolCall.name} ${DECISIONS[closed.decision] ?? closed.decision}`, isAllow(closed.decision) ? "good" : "bad");
}

/* ---- what is on screen ---- */

/* By the address, not by the route: a person who goes to another screen changes the address before state.route
 * follows. */
export const staysInInbox = (): boolean => /^(#\/?|#\/request\/.*)?$/.test(location.hash);

export function show(key: string | null): void {
  const before = state.open;
  if (before !== null && before !== key && state.items.get(before)?.closed) state.items.delete(before);
  state.open = key;
  const item = key !== null ? state.items.get(key) : undefined;
  if (item) { item.fresh = false; item.changed = false; }
  const hash = key === null ? "#/" : `#/request/${key.split("\n").map(encodeURIComponent).join("/")}`;
  // From another screen it is a step, which Back undoes; within the inbox it is none. Neither makes a hashchange.
  if (location.hash !== hash) history[staysInInbox() ? "replaceState" : "pushState"](null, "", hash);
  state.route = hash;
  changed();
}

/* Picks all of them, or none when all are picked; the ones whose answer is under way are left out. */
export function pickAll(items: Item[]): void {
  const open = items.filter((item) => !item.busy), all = open.every((item) => state.picked.has(item.key));
  for (const item of open) if (all) state.picked.delete(item.key); else state.picked.add(item.key);
  changed();
}
