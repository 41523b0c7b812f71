/* The activity of each session's agent, from the newest report about its run; and whether it is news to this person. */
import { useEffect, useState } from "preact/hooks";
import { get } from "./api";
import { lastSeq, onEvent } from "./live";
import { waiting } from "./store";
import type { NodEvent } from "./types";

export interface RunState { words: "Working" | "Waiting for you" | "Idle" | "Ended"; agent: string; cost: number | null; unread: boolean }
interface Known { status: string; agent: string; cost: number | null; seq: number }

const EVENTS_BACK = 20000, SEEN = "nod.seen", SEEN_MAX = 500;
const ENDED = new Set(["ended", "died", "cancelled", "rejected"]);

const seen = (): Record<string, number> => { try { return JSON.parse(localStorage.getItem(SEEN) ?? "{}"); } catch { return {}; } };
/* The person has looked at the session as it is now. */
export function look(session: string): void {
  const kept = Object.entries({ ...seen(), [session]: lastSeq() }).sort((a, b) => b[1] - a[1]).slice(0, SEEN_MAX);
  try { localStorage.setItem(SEEN, JSON.stringify(Object.fromEntries(kept))); } catch { /* a private window keeps nothing */ }
}

function take(all: Map<string, Known>, event: NodEvent): void {
  const { status, agent, usage, total_cost_usd } = event.data as { [key: string]: unknown };
  const before = all.get(event.sessionId ?? ""), cost = total_cost_usd ?? (usage as { costUsd?: unknown } | undefined)?.costUsd;
  all.set(event.sessionId ?? "", { status: String(status ?? ""), agent: typeof agent === "string" ? agent : before?.agent ?? "",
    cost: cost === undefined || cost === null ? before?.cost ?? null : Number(cost), seq: Number(event.seq) });
}

export function useRunStates(): (session: string) => RunState | null {
  const [all] = useState(() => new Map<string, Known>()), [, again] = useState(0);
  useEffect(() => {
    const redraw = () => again((n) => n + 1);
    get(`/api/events?types=RUN_STATUS&after=${Math.max(0, lastSeq() - EVENTS_BACK)}&limit=1000`).then((page) => { for (const event of page.events) take(all, event); redraw(); }, () => {});
    return onEvent((event) => { if (event.type === "RUN_STATUS") { take(all, event); redraw(); } });
  }, []);
  const marks = seen();
  return (session) => {
    const run = all.get(session), asks = waiting().some((item) => item.p.sessionId === session);
    if (!run && !asks) return null;
    return { words: asks ? "Waiting for you" : run!.status === "running" || run!.status === "awaiting_approval" ? "Working" : ENDED.has(run!.status) ? "Ended" : "Idle",
      agent: run?.agent ?? "", cost: run?.cost ?? null, unread: !!run && run.seq > (marks[session] ?? 0) };
  };
}
