/* Always the true state: the list of what waits, then every event after it; from the start again when the
 * connection breaks. The list says after which event it was made, so nothing falls between the two. */
import { get, hasKey, Refused, serverNow, stream, Unreachable } from "./api";
import { alertNew } from "./alerts";
import { isHovered } from "./order";
import { changed, isSnoozed, snoozed, state, waiting, type Item } from "./store";
import type { Closed, NodEvent, Pending } from "./types";

const SILENCE_MS = 40000;   // the server's heartbeat is 15 s
const RETRY_MS = [250, 250, 500, 1000, 1000, 2000];
const BURST = 12;           // more new requests at once are read as one list

export const keyOf = (session: string, callId: string): string => `${session}\n${callId}`;

type Listener = (event: NodEvent) => void;
const listeners = new Set<Listener>();
export function onEvent(listener: Listener): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

let after = 0;
/* The newest event that this page knows. */
export const lastSeq = (): number => after;
let attempt = 0;
let stopped = false;
let current: AbortController | null = null;

function lost(why: string): void {
  if (state.connection !== "lost") state.lostAt = Date.now();
  state.connection = "lost";
  state.why = why;
  changed();
}

export function stop(): void {
  stopped = true;
  current?.abort();
}

/* Ends the connection that is there; the loop makes a new one at once. */
export function reconnect(): void {
  attempt = 0;
  current?.abort();
}

export async function live(): Promise<void> {
  stopped = false;
  while (!stopped) {
    try {
      await connectOnce();
      if (!stopped) lost("the server closed the connection");
    } catch (error) {
      if (stopped) return;
      if (error instanceof Refused && error.status === 401) {
        state.connection = "login";
        if (hasKey()) state.why = error.message;
        changed();
        return;
      }
      lost(error instanceof Unreachable ? "the server cannot be reached" : error instanceof Error ? error.message : "");
    }
    await new Promise((done) => setTimeout(done, RETRY_MS[Math.min(attempt++, RETRY_MS.length - 1)]));
  }
}

async function connectOnce(): Promise<void> {
  const abort = new AbortController();
  current = abort;
  drafts.clear();
  if (!state.me) state.me = await get("/api/me");
  const list = await readList();
  after = Number(list.seq ?? 0);
  replace(list.pendingApprovals);
  state.loaded = true;
  changed();
  let timer = 0;
  const pulse = () => {
    clearTimeout(timer);
    timer = setTimeout(() => abort.abort(), SILENCE_MS) as unknown as number;
    if (state.connection !== "live") {
      state.connection = "live";
      attempt = 0;
      void learnApi();
      changed();
    }
  };
  try {
    await stream(`/api/events?after=${after}&live=1`, abort.signal, pulse, take);
  } catch (error) {
    if (abort.signal.aborted && !stopped) return;
    throw error instanceof TypeError ? new Unreachable() : error;
  } finally {
    clearTimeout(timer);
  }
}

/* Which parts of the API this server has: what is missing is not shown. */
let learnt = false;
async function learnApi(): Promise<void> {
  if (learnt) return;
  learnt = true;
  try {
    const description = await get("/api/openapi.json");
    state.paths = new Set(Object.keys(description.paths));
    changed();
  } catch { learnt = false; }
}

/* ---- the list ---- */

/* All that waits, page by page. The list leaves out what is large: until the call is read by itself it has no input and no preview. */
async function readList(): Promise<{ pendingApprovals: Pending[]; seq?: number }> {
  const all = new Map<string, Pending>();
  let seq: number | undefined, next: number | undefined;
  do {
    const page = await get(`/api/approvals/pending${next === undefined ? "" : `?after=${next}`}`);
    for (const p of page.pendingApprovals as Pending[]) {
      p.toolCall.input ??= {};
      p.preview ??= { type: "generic" };
      // A call of the first page may come again on a later one: that page is in the order of asking, so its place counts.
      all.delete(keyOf(p.sessionId, p.toolCallId));
      all.set(keyOf(p.sessionId, p.toolCallId), p);
    }
    if (next === undefined) state.newKeys = page.newKeys ?? [];
    seq ??= page.seq; // events since then are read from the stream
    next = page.next;
  } while (next !== undefined);
  return { pendingApprovals: [...all.values()], seq };
}

/* Reads the whole request when a person opens it: lists leave out large inputs and previews. */
export async function readWhole(item: Item): Promise<void> {
  try {
    const p = await readOne({ session: item.p.sessionId, call: item.p.toolCallId }), now = state.items.get(item.key);
    if (!p || !(now?.p.cut || now?.p.inFile) || p.digest !== now.p.digest) return;
    state.items.set(item.key, { ...now, p });
    changed();
  } catch { reconnect(); }
}

function replace(list: Pending[]): void {
  const before = state.items;
  const next = new Map<string, Item>();
  const came: Item[] = [];
  for (const p of list) {
    const item = merged(before.get(keyOf(p.sessionId, p.toolCallId)), p);
    if (!before.has(item.key) && state.loaded) came.push(item);
    next.set(item.key, item);
  }
  // A request that was open and is answered meanwhile stays on screen and says so.
  const open = state.open !== null ? before.get(state.open) : undefined;
  if (open && !next.has(open.key)) {
    next.set(open.key, open);
    if (!open.closed && !open.busy) void learnEnd(open);
  }
  state.items = next;
  for (const p of list) wantSession(p.sessionId);
  announce(came);
  wakeLater();
}

/* The members that may change while a request waits; it stays the same request. */
const stateOf = ({ people, alerted, nobodyWaits, snoozedUntil, assignee }: Pending) => ({ people, alerted, nobodyWaits, snoozedUntil, assignee });

function merged(known: Item | undefined, p: Pending): Item {
  if (!known) return { key: keyOf(p.sessionId, p.toolCallId), p, fresh: state.loaded };
  if (known.p.digest === p.digest && (p.cut || p.inFile || JSON.stringify(known.p.preview) === JSON.stringify(p.preview)) && !known.closed)
    return JSON.stringify(stateOf(known.p)) === JSON.stringify(stateOf(p)) ? known : { ...known, p: { ...known.p, ...stateOf(p) } };
  return { ...known, p, closed: undefined, changed: known.key === state.open };
}

function announce(came: Item[]): void {
  for (const item of came) { item.fresh = true; item.late = isHovered(); }
  if (came.length) alertNew(came, waiting().length);
}

/* Requests come back to the queue when their snooze is over, as if they were new. */
let waking = 0;
export function wakeLater(): void {
  clearTimeout(waking);
  const asleep = snoozed(), next = Math.min(...asleep.map((item) => Date.parse(item.p.snoozedUntil!)));
  if (asleep.length) waking = setTimeout(() => {
    announce(asleep.filter((item) => state.items.get(item.key) === item && !isSnoozed(item)));
    wakeLater();
    changed();
  }, Math.min(Math.max(0, next - serverNow()) + 1, 3600000)) as unknown as number;
}

/* ---- events ---- */

let asked: { session: string; call: string }[] = [];
let asking = false;

/* Text as it comes from a model: not kept, only shown. */
interface LiveText { type: string; sessionId: string; threadId: string; text?: string }
/* Text that models are writing now, by thread; an entry is removed when its message is kept. */
export const drafts = new Map<string, { session: string; text: string }>();
const hearers = new Set<() => void>();
export function onLiveText(hearer: () => void): () => void {
  hearers.add(hearer);
  return () => void hearers.delete(hearer);
}

function hear(piece: LiveText): void {
  if (piece.type !== "text_chunk" || !piece.text) return;
  drafts.set(piece.threadId, { session: piece.sessionId, text: (drafts.get(piece.threadId)?.text ?? "") + piece.text });
  for (const hearer of hearers) hearer();
}

function take(event: NodEvent): void {
  if (event.seq === undefined) {
    hear(event as unknown as LiveText);
    return;
  }
  if (event.type === "AGENT_MESSAGE" || event.type === "RUN_STATUS") drafts.delete(event.threadId ?? "");
  after = Number(event.seq);
  const callId = String(event.data.toolCallId ?? event.data.id ?? "");
  if (/^TOOL_APPROVAL_(REQUEST|PARTIAL|SNOOZED|ASSIGNED)$/.test(event.type) && event.sessionId) {
    asked.push({ session: event.sessionId, call: callId });
    if (!asking) { asking = true; setTimeout(readAsked, 0); }
  } else if (event.type === "TOOL_APPROVAL_RESPONSE" && event.sessionId) {
    answered(keyOf(event.sessionId, callId), {
      decision: String(event.data.decision), actor: event.actor, at: event.at,
      feedback: event.data.feedback ? String(event.data.feedback) : undefined, mine: false,
    });
  } else if (event.type === "TOOL_APPROVAL_ALERT" && event.sessionId) {
    unanswered(keyOf(event.sessionId, callId));
  } else if (event.type === "TOKEN_CHANGED") {
    void get("/api/approvals/pending").then((page) => { state.newKeys = page.newKeys ?? []; changed(); }, () => reconnect());
  } else if (event.type === "SESSION_CHANGED" && event.sessionId && state.sessions.has(event.sessionId)) {
    wanted.delete(event.sessionId);
    wantSession(event.sessionId, true);
  }
  for (const listener of listeners) listener(event);
}

/* Announces a request again that has waited for some time without an answer, as if it were new. */
function unanswered(key: string): void {
  const item = state.items.get(key);
  if (!item || item.closed || item.p.alerted) return;
  const told = { ...item, p: { ...item.p, alerted: true } };
  state.items.set(key, told);
  alertNew([told], waiting().length);
  changed();
}

/* Requests that were answered while a read was under way: the read may be older than the answer. */
const ended = new Set<string>();
let reads = 0;
async function reading<T>(read: () => Promise<T>): Promise<T> {
  reads++;
  try { return await read(); } finally { if (--reads === 0) ended.clear(); }
}
const stillOpen = (p: Pending): boolean => !ended.has(keyOf(p.sessionId, p.toolCallId));

async function readOne({ session, call }: { session: string; call: string }): Promise<Pending | null> {
  try {
    return await get(`/api/sessions/${encodeURIComponent(session)}/approvals/${encodeURIComponent(call)}`);
  } catch (error) {
    if (error instanceof Refused && error.status === 404) return null; // answered already
    throw error;
  }
}

/* One read after the other, each in the order of asking: so the list is in that order. */
async function readAsked(): Promise<void> {
  const now = asked;
  asked = [];
  try {
    await reading(async () => {
      if (now.length > BURST) {
        replace((await readList()).pendingApprovals.filter(stillOpen));
        return;
      }
      const came: Item[] = [];
      for (const p of await Promise.all(now.map(readOne))) {
        if (!p || !stillOpen(p)) continue;
        const known = state.items.get(keyOf(p.sessionId, p.toolCallId)), item = merged(known, p);
        state.items.set(item.key, item);
        if (!known) came.push(item);
        wantSession(p.sessionId);
      }
      announce(came);
      wakeLater();
    });
    changed();
  } catch { reconnect(); }
  asking = asked.length > 0;
  if (asking) void readAsked();
}

/* The request was answered: removes it from the list. The one that is open stays, and shows who answered what. */
export function answered(key: string, closed: Closed): void {
  const item = state.items.get(key);
  if (reads > 0) ended.add(key);
  if (!item || item.closed || (item.busy && !closed.mine)) return;
  state.picked.delete(key);
  if (state.open === key) state.items.set(key, { ...item, closed, busy: false });
  else state.items.delete(key);
  changed();
}

async function learnEnd(item: Item): Promise<void> {
  try {
    const call = await get(`/api/tool-calls/${encodeURIComponent(item.p.toolCallId)}?session=${encodeURIComponent(item.p.sessionId)}`);
    if (call.status === "awaiting") return;
    const by = call.decidedBy ?? {};
    answered(item.key, { decision: call.decision ?? call.status, actor: by.actor ?? by.kind ?? "someone", at: call.decidedAt ?? "",
      feedback: call.feedback, mine: false });
  } catch { /* the next connection shows it */ }
}

/* ---- sessions, as they are needed ---- */

const wanted = new Set<string>();
export function wantSession(id: string, again = false): void {
  if (wanted.has(id) || (state.sessions.has(id) && !again)) return;
  wanted.add(id);
  void get(`/api/sessions/${encodeURIComponent(id)}`).then((session) => {
    state.sessions.set(id, session);
    changed();
  }, () => wanted.delete(id));
}

addEventListener("online", reconnect);
addEventListener("offline", () => { if (state.connection === "live") { lost("this device is offline"); current?.abort(); } });
