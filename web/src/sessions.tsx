/* Sessions: the list, and one of them from its first event to now. */
import { useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import { call, get } from "./api";
import { changeSigned } from "./sign";
import { drafts, keyOf, onEvent, onLiveText } from "./live";
import { Markdown } from "./markdown";
import { show } from "./answers";
import { canAnswer, offers, state, toast, useNow, useStore, waiting } from "./store";
import { look, useRunStates } from "./states";
import { ago, clock, Shown } from "./text";
import type { Json, NodEvent, Session } from "./types";
import { KeptCall } from "./decided";
import { Copy } from "./request";
import { aboutInput, DECISIONS, MODES, modeName, toolName } from "./words";

/* ---- starting a run ---- */

function StartRun({ done }: { done: (session: string) => void }) {
  const [prompt, setPrompt] = useState(""), [cwd, setCwd] = useState(localStorage.getItem("nod.cwd") ?? "");
  const [model, setModel] = useState(""), [mode, setMode] = useState("default"), [wrong, setWrong] = useState("");
  const { connection } = useStore(), field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  const start = async () => {
    try {
      const made = await call("POST", "/api/agent-requests", { prompt, cwd, permissionMode: mode, ...(model ? { model } : {}) });
      await call("POST", `/api/agent-requests/${encodeURIComponent(made.id)}/execute`, {});
      localStorage.setItem("nod.cwd", cwd);
      done(made.sessionId);
    } catch (error) { setWrong(error instanceof Error ? error.message : ""); }
  };
  return (
    <form class="card start" onSubmit={(event) => { event.preventDefault(); void start(); }}>
      <label>What shall the agent do?<textarea rows={3} ref={field} value={prompt} onInput={(event) => setPrompt(event.currentTarget.value)} required /></label>
      <div class="fields">
        <label>Folder<input class="mono" value={cwd} onInput={(event) => setCwd(event.currentTarget.value)} placeholder="/absolute/path" required pattern="/.*" /></label>
        <label>Model<input class="mono" value={model} onInput={(event) => setModel(event.currentTarget.value)} placeholder="as configured" /></label>
        <label>Permission mode<select value={mode} onChange={(event) => setMode(event.currentTarget.value)}>
          {MODES.map(([id, name]) => <option value={id}>{name}</option>)}</select></label>
        <button type="submit" class="primary" disabled={connection !== "live"}>Start</button>
      </div>
      {wrong && <p class="bad" role="alert">{wrong}</p>}
    </form>
  );
}

export function Sessions() {
  const { connection } = useStore();
  const now = useNow();
  const [list, setList] = useState<Session[] | null>(null);
  const [next, setNext] = useState<number | null>(null);
  const [find, setFind] = useState(""), [starting, setStarting] = useState(false);
  const [wrong, setWrong] = useState("");
  const load = (before?: number) => get(`/api/sessions?limit=100${before ? `&before=${before}` : ""}`).then((page) => {
    for (const session of page.sessions) state.sessions.set(session.id, session);
    setList((old) => before && old ? [...old, ...page.sessions] : page.sessions);
    setNext(page.next ? Number(page.next) : null);
  }, (error: Error) => setWrong(error.message));
  useEffect(() => { if (connection === "live") void load(); }, [connection]);
  useEffect(() => onEvent((event) => { if (event.type === "SESSION_CHANGED" || event.type === "SESSION_ARCHIVED") void load(); }), []);
  const count = (s: Session) => waiting().filter((item) => item.p.sessionId === s.id).length;
  // Those that wait for a person come first, the newest first among them and among the others.
  const shown = [...list ?? []].sort((a, b) => Number(count(b) > 0) - Number(count(a) > 0)).filter((s) => !find || `${s.title} ${s.cwd} ${s.id}`.toLowerCase().includes(find.toLowerCase()));
  const may = offers("/api/agent-requests") && canAnswer(), states = useRunStates();
  return (
    <main class="screen">
      <header class="head"><h1>Sessions</h1><span class="grow" />
        <input type="search" aria-label="Search sessions" placeholder="Search  ( / )" value={find} onInput={(event) => setFind(event.currentTarget.value)} />
        {may && <button type="button" class={starting ? "" : "primary"} aria-expanded={starting} onClick={() => setStarting(!starting)}>{starting ? "Cancel" : "New run"}</button>}</header>
      {may && starting && <StartRun done={(id) => { location.hash = `#/session/${encodeURIComponent(id)}`; }} />}
      {wrong && <p class="bad" role="alert">{wrong}</p>}
      {list && !shown.length && <p class="dim none">{find ? "No sessions match." : "No agent has asked for anything yet."}</p>}
      <ul class="cards">
        {shown.map((session) => {
          const asks = count(session), run = states(session.id);
          return <li><a class="card" href={`#/session/${encodeURIComponent(session.id)}`}>
            <span><b><Shown text={session.title || "(no title)"} line /></b> <span class="dim mono"><Shown text={session.cwd || "no folder"} line /></span></span>
            <span class="dim small">{run && <><b class={`run-state ${run.words.split(" ")[0].toLowerCase()}`}>{run.words}</b>{run.unread && <span class="unread"> (new)</span>} · {run.agent && <><Shown text={run.agent} line /> · </>}{run.cost !== null && `$${run.cost.toFixed(2)} · `}</>}{modeName(session.permissionMode)} · {session.threads.length > 1 ? `${session.threads.length} threads · ` : ""}<span title={clock(session.createdAt)}>begun {ago(session.createdAt, now)} ago</span></span>
            {asks > 0 && <span class="number">{asks} waiting</span>}
          </a></li>;
        })}
      </ul>
      {next !== null && <button type="button" class="older" onClick={() => void load(next)}>Older sessions</button>}
    </main>
  );
}

/* ---- one session ---- */

interface CallOf { kind: "call"; id: string; thread: string; events: Map<string, NodEvent>; first: NodEvent }
interface SayOf { kind: "say"; event: NodEvent }
type Entry = CallOf | SayOf;

const seqOf = (event: NodEvent): number => Number(event.seq);
const OF_CALL = new Set(["TOOL_CALL", "TOOL_APPROVAL_REQUEST", "TOOL_APPROVAL_RESPONSE", "TOOL_STARTED", "TOOL_RESULT"]);

function entries(events: NodEvent[]): Entry[] {
  const out: Entry[] = [], calls = new Map<string, CallOf>();
  for (const event of events) {
    if (!OF_CALL.has(event.type)) { out.push({ kind: "say", event }); continue; }
    const id = String(event.data.toolCallId ?? event.data.id ?? "");
    let known = calls.get(id);
    if (!known) {
      known = { kind: "call", id, thread: event.threadId ?? "", events: new Map(), first: event };
      calls.set(id, known);
      out.push(known);
    }
    known.events.set(event.type, event);
  }
  return out;
}

function saidText(data: { [key: string]: Json }): string {
  const content = data.text ?? data.content ?? data.message ?? data.prompt;
  if (typeof content === "string") return content;
  if (Array.isArray(content))
    return content.map((part) => part && typeof part === "object" && !Array.isArray(part) && "text" in part ? String(part.text) : "").filter(Boolean).join("\n\n");
  return "";
}

/* A run's status in words. */
const RUNS: Record<string, string> = {
  pending: "The run will start", running: "The agent is working", awaiting_approval: "The agent waits for approval", completed: "The agent finished its turn",
  ended: "The agent ended", died: "The agent died", failed: "The run failed", cancelled: "The run was cancelled", rejected: "The run ended with a denial",
};

const SETTINGS: Record<string, string> = { title: "the title", cwd: "the folder", permissionMode: "the mode", toolPolicies: "what its tools may do", approvalTimeoutSeconds: "the time for an answer", rules: "its rules", removedRules: "its rules" };
/* "the mode to Accept edits and its rules": settings of a session that somebody changed. */
function settingsOf(data: { [key: string]: Json }): string {
  const told = Object.entries(data).filter(([key]) => SETTINGS[key]).map(([key, value]) => {
    const words = key === "permissionMode" ? modeName(String(value)) : key === "approvalTimeoutSeconds" ? (Number(value) ? `${Number(value)} s` : "no limit") : typeof value === "string" ? value : "";
    return SETTINGS[key] + (words ? ` to ${words}` : "");
  });
  return told.join(" and ") || "the session";
}

const PURPOSES: Record<string, string> = { ask: "was told of", remind: "was reminded of", escalate: "was told instead of others of", assign: "was told of the assignment of", withdraw: "was told of the end of", callback: "got the answer to", alert: "was warned of" };
function deliveryOf(data: { [key: string]: Json }): string {
  const { person, channel, purpose, toolCallId, outcome } = Object.fromEntries(Object.entries(data).map(([key, value]) => [key, String(value)]));
  return outcome === "sent" ? `${person || channel} ${PURPOSES[purpose] ?? "was told of"} ${toolCallId} by ${channel}` : `A message to ${person || channel} by ${channel} about ${toolCallId} was given up`;
}

function egressOf(data: { [key: string]: Json }): string {
  const at = `${String(data.host)}:${Number(data.port)}`;
  if (data.state === "refused") return `The command was refused a connection to ${at}${data.why ? `: ${String(data.why)}` : ""}`;
  return data.state === "closed" ? `The connections to ${at} ended: ${Number(data.up ?? 0)} bytes sent, ${Number(data.down ?? 0)} received` : `The command connected to ${at}`;
}

function Say({ event }: { event: NodEvent }) {
  const text = saidText(event.data);
  if (event.type === "AGENT_MESSAGE" && !text) return null; // nothing but calls, which stand for themselves
  const small = (words: string) => <div class="entry small dim"><time title={event.at}>{clock(event.at)}</time> <Shown text={words} line /></div>;
  switch (event.type) {
    case "USER_MESSAGE": return <div class="entry said person"><b><Shown text={event.actor} line /></b><Markdown text={text} /></div>;
    case "AGENT_MESSAGE": return <div class="entry said agent"><b>agent</b><Markdown text={text} /></div>;
    case "SESSION_CHANGED": {
      const change = String(event.data.change ?? "");
      const thread = event.data.thread as { [key: string]: Json } | undefined;
      return small(change === "created" ? `${event.actor} began the session` : change === "thread"
        ? `${event.actor} added the sub-agent ${String(thread?.title ?? thread?.id ?? "")}`
        : change === "used" ? "A rule of the session was used" : `${event.actor} changed ${settingsOf(event.data)}`);
    }
    case "RUN_STATUS": return small(`${RUNS[String(event.data.status ?? "")] ?? `The run is ${String(event.data.status ?? "")}`}${event.data.reason ?? event.data.error ? `: ${String(event.data.reason ?? event.data.error)}` : ""}`);
    case "TOOL_APPROVAL_ALERT": return small(`Still unanswered since ${clock(String(event.data.requestedAt ?? event.at))}: ${String(event.data.tool ?? event.data.toolCallId ?? "a call")}`);
    case "TOOL_APPROVAL_PARTIAL": return small(`${String(event.data.person)} allowed ${String(event.data.toolCallId)}: ${String(event.data.have)} of ${String(event.data.need)} persons`);
    case "TOOL_APPROVAL_SNOOZED": return small(event.data.until ? `${event.actor} snoozed ${String(event.data.toolCallId)} until ${clock(String(event.data.until))}` : `${event.actor} ended the snooze of ${String(event.data.toolCallId)}`);
    case "TOOL_APPROVAL_ASSIGNED": return small(event.data.person ? `${event.actor} assigned ${String(event.data.toolCallId)} to ${String(event.data.person)}` : `${event.actor} left ${String(event.data.toolCallId)} to anybody`);
    case "SYSTEM_PROMPT": return small(`Nod told the model how to work: ${text}`);
    case "USER_SYSTEM_PROMPT": return small(`${event.actor} told the model how to work: ${text}`);
    case "COMPACTION": return small("The conversation was shortened for the model");
    case "LOCAL_SYSTEM_MESSAGE": return small(text);
    case "DELIVERY_ENDED": return small(deliveryOf(event.data));
    case "DELIVERY_CLAIMED": case "DELIVERY_HELD": return null; // steps towards a message that is told of when it has ended
    case "EGRESS": return small(egressOf(event.data));
    default: return small(`${event.type[0]}${event.type.slice(1).toLowerCase().replace(/_/g, " ")}${text ? `: ${text}` : ""}`);
  }
}

function Call({ entry, session }: { entry: CallOf; session: Session | undefined }) {
  const called = entry.events.get("TOOL_CALL"), response = entry.events.get("TOOL_APPROVAL_RESPONSE"), result = entry.events.get("TOOL_RESULT");
  const verdict = (called?.data.verdict ?? {}) as { [key: string]: Json };
  const name = String(called?.data.name ?? "");
  const input = (called?.data.input ?? {}) as { [key: string]: Json };
  const waits = !response && entry.events.has("TOOL_APPROVAL_REQUEST");
  const decision = response ? String(response.data.decision) : waits ? "" : verdict.effect === "deny" ? "deny" : "allow";
  const good = decision.startsWith("allow");
  const thread = session?.threads.find((one) => one.id === entry.thread);
  const about = aboutInput(input);
  const [open, setOpen] = useState(false);
  const edited = response?.data.updatedInput;
  const kind = `entry call ${thread?.parentId ? "sub" : ""} ${waits ? "waits" : good ? "good" : "bad"}`;
  const line = <>
    <span class="mark" aria-hidden="true">{waits ? "?" : good ? "✓" : "✕"}</span><b><Shown text={toolName(name)} line /></b>
    {thread?.parentId && <span class="tag">sub-agent <Shown text={thread.agent || thread.title || ""} line /></span>}
    <span class="mono about"><Shown text={about} line /></span>
    <span class="said-by">{waits ? "" : response ? <>{DECISIONS[decision] ?? decision} by <Shown text={response.actor} line />{response.data.feedback ? <>: “<Shown text={String(response.data.feedback)} line />”</> : null}{edited ? ", with an edited input" : ""}</>
      : <>{good ? "passed" : "refused"}: <Shown text={String(verdict.rule || verdict.why || "")} line /></>}</span>
    <time title={entry.first.at}>{clock(entry.first.at)}</time></>;
  if (waits) return <div class={kind}><div class="bar">{line}
    <button type="button" class="small" onClick={() => show(keyOf(entry.first.sessionId!, entry.id))}>Answer</button></div></div>;
  return (
    <details class={kind} open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{line}</summary>
      {open && <div class="body"><KeptCall session={entry.first.sessionId!} call={entry.id} stamp={String(result?.seq ?? "")} /></div>}
    </details>
  );
}

/* Calls in a row that nobody was asked about stand as one line. */
const RUN_MIN = 3;
type Row = Entry | { kind: "run"; calls: CallOf[] };

const passed = (entry: Entry): entry is CallOf => {
  if (entry.kind !== "call" || entry.events.has("TOOL_APPROVAL_REQUEST") || entry.events.get("TOOL_RESULT")?.data.isError === true) return false;
  const verdict = entry.events.get("TOOL_CALL")?.data.verdict as { [key: string]: Json } | undefined;
  return verdict?.effect !== "deny";
};

function rowsOf(list: Entry[]): Row[] {
  const out: Row[] = [];
  for (let i = 0; i < list.length;) {
    let end = i;
    while (end < list.length && passed(list[end]) && (list[end] as CallOf).thread === (list[i] as CallOf).thread) end++;
    if (end - i >= RUN_MIN) { out.push({ kind: "run", calls: list.slice(i, end) as CallOf[] }); i = end; }
    else out.push(list[i++]);
  }
  return out;
}

function RunOf({ calls, session }: { calls: CallOf[]; session: Session | undefined }) {
  const [open, setOpen] = useState(false);
  const by = new Map<string, number>();
  for (const one of calls) { const name = toolName(String(one.events.get("TOOL_CALL")?.data.name ?? "")); by.set(name, (by.get(name) ?? 0) + 1); }
  return <details class="entry run-of" open={open} onToggle={(event) => setOpen((event.target as HTMLDetailsElement).open)}>
    <summary><span class="mark" aria-hidden="true">✓</span><b>{calls.length} calls passed without asking</b>
      <span class="mono about"><Shown text={[...by].map(([name, n]) => `${name} × ${n}`).join(", ")} line /></span><time>{clock(calls[0].first.at)}</time></summary>
    {open && <div class="run-of-body">{calls.map((one) => <Call key={one.id} entry={one} session={session} />)}</div>}
  </details>;
}

function Mode({ session }: { session: Session }) {
  const { connection } = useStore();
  const [mode, setMode] = useState(session.permissionMode);
  useEffect(() => setMode(session.permissionMode), [session.permissionMode]);
  if (!canAnswer()) return <span class="chip">{modeName(mode)}</span>;
  return <label class="mode">Permission mode<select value={mode} disabled={connection !== "live"} onChange={(event) => {
    const wanted = event.currentTarget.value;
    if (wanted === "bypassPermissions" && !confirm("Everything that no rule denies will run without asking. Switch?")) { event.currentTarget.value = mode; return; }
    changeSigned("PATCH", `/api/sessions/${encodeURIComponent(session.id)}`, { permissionMode: wanted }).then((changed_) => {
      setMode(wanted);
      state.sessions.set(session.id, changed_);
      toast(`Mode: ${modeName(wanted)}`);
    }, (error: Error) => toast(error.message, "bad"));
  }}>{MODES.map(([id, name, words]) => <option value={id} title={words}>{name}</option>)}</select></label>;
}

const PAGE = 500;

/* The end is in the window, and stays there as more comes, unless one scrolled away from it. */
function useAtEnd(): { current: HTMLElement | null } {
  const box = useRef<HTMLElement>(null), stick = useRef(true);
  useEffect(() => {
    const element = box.current!;
    const look = () => { stick.current = element.scrollHeight - element.scrollTop - element.clientHeight < 40; };
    element.addEventListener("scroll", look, { passive: true });
    return () => element.removeEventListener("scroll", look);
  }, []);
  useLayoutEffect(() => { if (stick.current && box.current) box.current.scrollTop = box.current.scrollHeight; });
  return box;
}

export function SessionView({ id }: { id: string }) {
  const { sessions, connection } = useStore();
  const [events] = useState(() => new Map<number, NodEvent>());
  const [, again] = useReducer((n: number) => n + 1, 0);
  const [wrong, setWrong] = useState("");
  const session = sessions.get(id);
  useEffect(() => {
    if (connection !== "live") return;
    let stop = false;
    const take = (event: NodEvent) => {
      if (event.sessionId !== id) return;
      events.set(seqOf(event), event);
      again(0);
    };
    const offEvents = onEvent(take);
    const offText = onLiveText(() => again(0));
    const off = () => { offEvents(); offText(); look(id); };
    void (async () => {
      try {
        state.sessions.set(id, await get(`/api/sessions/${encodeURIComponent(id)}`));
        for (let after = 0; !stop;) {
          const page = await get(`/api/events?session=${encodeURIComponent(id)}&after=${after}&limit=${PAGE}`);
          for (const event of page.events) events.set(seqOf(event), event);
          again(0);
          if (!page.events.length || Number(page.next) === after) break;
          after = Number(page.next);
        }
      } catch (error) { setWrong(error instanceof Error ? error.message : ""); }
    })();
    return () => { stop = true; off(); };
  }, [id, connection]);
  const list = useMemo(() => rowsOf(entries([...events.values()].sort((a, b) => seqOf(a) - seqOf(b)))), [events.size, events]);
  const box = useAtEnd();
  const [shownCount, setShownCount] = useState(300);
  const from = Math.max(0, list.length - shownCount);
  const running = [...events.values()].reverse().find((event) => event.type === "RUN_STATUS");
  const run = running && ["running", "pending", "awaiting_approval"].includes(String(running.data.status)) ? String(running.data.runId ?? "") : "";
  // An agent that somebody else runs (nod claude) hears of prompts and of stopping by events of its session.
  const elsewhere = [...events.values()].reverse().find((event) => event.type === "RUN_STATUS" && event.data.source === "claude");
  const wrapped = !!elsewhere && !["ended", "died"].includes(String(elsewhere.data.status));
  // Only Nod's own agent and one that nod claude runs read what is written here.
  const listens = wrapped || [...events.values()].some((event) => event.type === "RUN_STATUS" && !!event.data.runId);
  return (
    <main class="screen session" ref={box}>
      <header class="head"><a href="#/sessions" class="quiet-link">‹ Sessions</a><h1><Shown text={session?.title || "Session"} line /></h1></header>
      {session && <div class="facts"><span class="mono dim" title={session.cwd}><Shown text={session.cwd || "no folder"} line /></span>
        <Copy text={id} short={`${id.slice(0, 8)}…${id.slice(-4)}`} /><Mode session={session} /><span class="grow" />
        {run && offers("/api/agent-requests/{request}/cancel") && <button type="button" class="danger" disabled={connection !== "live"} onClick={() => void call("POST", `/api/agent-requests/${encodeURIComponent(run)}/cancel`, {}).catch((error: Error) => toast(error.message, "bad"))}>Stop the run</button>}
        {wrapped && elsewhere.data.status === "running" && canAnswer() && <button type="button" class="danger" disabled={connection !== "live"} onClick={() => void call("POST", `/api/sessions/${encodeURIComponent(id)}/interrupt`, {}).then(() => toast("Interrupting"), (error: Error) => toast(error.message, "bad"))}>Interrupt</button>}
      </div>}
      {wrong && <p class="bad" role="alert">{wrong}</p>}
      {from > 0 && <button type="button" onClick={() => setShownCount(shownCount + 500)}>{from} earlier</button>}
      <div class="timeline">{list.slice(from).map((entry) => entry.kind === "run" ? <RunOf key={entry.calls[0].id} calls={entry.calls} session={session} /> : entry.kind === "call"
        ? <Call key={entry.id} entry={entry} session={session} /> : <Say key={String(entry.event.seq)} event={entry.event} />)}
        {[...drafts].filter(([, draft]) => draft.session === id).map(([thread, { text }]) => <div key={thread} class="entry said agent draft" aria-live="off"><b>agent, now</b><Markdown text={text} /></div>)}</div>
      {session && offers("/api/agent-requests") && canAnswer() && events.size > 0 && (listens ? <Continue session={session} wrapped={wrapped} />
        : <p class="dim small no-messages">This agent takes no messages here. Write to it where it runs.</p>)}
    </main>
  );
}

function Continue({ session, wrapped }: { session: Session; wrapped: boolean }) {
  const { connection } = useStore(), [prompt, setPrompt] = useState("");
  const send = () => wrapped ? call("POST", `/api/sessions/${encodeURIComponent(session.id)}/prompt`, { text: prompt })
    : call("POST", "/api/agent-requests", { prompt, cwd: session.cwd, sessionId: session.id })
      .then((made) => call("POST", `/api/agent-requests/${encodeURIComponent(made.id)}/execute`, {}));
  return (
    <form class="continue" onSubmit={(event) => {
      event.preventDefault();
      void send().then(() => setPrompt(""), (error: Error) => toast(error.message, "bad"));
    }}>
      <input aria-label="Go on with another prompt" placeholder="Go on with another prompt" value={prompt} onInput={(event) => setPrompt(event.currentTarget.value)} />
      <button type="submit" class="primary" disabled={!prompt.trim() || connection !== "live"}>Send</button>
    </form>
  );
}
