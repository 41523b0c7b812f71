/* The last words of the conversation before a request, so that a person sees why it is asked. */
import { useEffect, useState } from "preact/hooks";
import { get } from "./api";
import { lastSeq } from "./live";
import { useNow } from "./store";
import { ago, Shown } from "./text";
import type { Pending } from "./types";

const TURNS_MAX = 4, TEXT_MAX = 500, EVENTS_BACK = 2000; // EVENTS_BACK: how far to search the log of all sessions for these words

interface Turn { who: string; text: string; at: string }

/* A message is a text, or blocks of which some are text. */
function textOf(data: { text?: unknown; content?: unknown }): string {
  if (typeof data.text === "string") return data.text;
  const blocks = Array.isArray(data.content) ? data.content as { type?: unknown; text?: unknown }[] : [];
  return blocks.map((block) => block.type === "text" && typeof block.text === "string" ? block.text : "").join("");
}

async function read(p: Pending): Promise<Turn[]> {
  const after = Math.max(0, lastSeq() - EVENTS_BACK);
  const page = await get(`/api/events?session=${encodeURIComponent(p.sessionId)}&types=USER_MESSAGE,AGENT_MESSAGE&after=${after}&limit=1000`);
  return (page.events as { type: string; at: string; threadId: string; data: { text?: unknown; content?: unknown } }[])
    .filter((event) => event.at <= p.requestedAt && event.threadId === p.threadId)
    .map((event) => ({ who: event.type === "USER_MESSAGE" ? "You" : "Agent", text: textOf(event.data).trim(), at: event.at }))
    .filter((turn) => turn.text).slice(-TURNS_MAX);
}

export function Turns({ p }: { p: Pending }) {
  const [turns, setTurns] = useState<Turn[]>([]), now = useNow();
  useEffect(() => {
    let gone = false;
    setTurns([]);
    read(p).then((found) => { if (!gone) setTurns(found); }, () => {}); // without them the request is still whole
    return () => { gone = true; };
  }, [p.sessionId, p.toolCallId]);
  if (!turns.length) return null;
  return <details class="turns" open><summary>What led to this<kbd>i</kbd></summary>
    <ol>{turns.map((turn) => <li><b>{turn.who}</b> <span class="dim small">{ago(turn.at, now)} ago</span>
      <Shown text={turn.text.length > TEXT_MAX ? `${turn.text.slice(0, TEXT_MAX)}…` : turn.text} /></li>)}</ol></details>;
}
