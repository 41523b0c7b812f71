/* One request, top to bottom: what, who and why, the thing itself, warnings, the agent's own words; the answers at
 * its foot. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { answer, isArmed, show, useArmed, type Extra } from "./answers";
import { wordsOf, written } from "./comments";
import { Edit } from "./edit";
import { Always } from "./always";
import { call } from "./api";
import { AssignPanel, Marks, SnoozePanel } from "./marks";
import { agentOf, neighbour, shownOrder, titleOf } from "./order";
import { agentWords, Preview, shownWhole } from "./preview/preview";
import { readStamp } from "./preview/whole";
import { isAnswered, sendAnswers } from "./question";
import { canAnswer, offers, toast, useNow, useStore, type Item } from "./store";
import { ago, clock, left, Shown, shortPath } from "./text";
import type { Pending } from "./types";
import { DECISIONS, isPlan, isQuestion, MODES, callTitle, takesReply, warnings } from "./words";
import { SIGNS } from "./risk";
import { useSeen } from "./seen";
import { Turns } from "./turns";

export type Panel = "" | "deny" | "edit" | "always" | "abort" | "more" | "snooze" | "assign";

export function Copy({ text, short }: { text: string; short?: string }) {
  return <button type="button" class="copy mono" title={`Copy ${text}`} onClick={() => {
    void navigator.clipboard?.writeText(text).then(() => toast("Copied"), () => toast("The browser does not let this page copy"));
  }}><Shown text={short ?? text} line /></button>;
}

export function copyLink(): void {
  void navigator.clipboard?.writeText(location.origin + "/" + location.hash).then(() => toast("Link copied"), () => toast("The browser does not let this page copy"));
}

function Ages({ p }: { p: Pending }) {
  const now = useNow();
  const soon = p.deadline !== null && Date.parse(p.deadline) - now < 60000;
  return <>
    <span class="chip" title={clock(p.requestedAt)}><b>{ago(p.requestedAt, now)}</b> ago</span>
    {p.people && <span class="chip people" title={p.people.have.map((one) => one.person).join(", ") || "Nobody has allowed it yet"}>
      {`${p.people.have.length} of ${Number(p.people.need)} persons`}</span>}
    {p.nobodyWaits && <span class="chip" title="Whoever waited for the answer has hung up">nobody waits</span>}
    {p.alerted && <span class="chip bad unanswered" title="Everyone who may answer was reminded">nobody has answered</span>}
    {p.deadline && <span class={`chip ${soon ? "bad" : ""}`} title={clock(p.deadline)}>{left(p.deadline, now)}</span>}
  </>;
}

/* The agent that asks, and its session. */
function Crumbs({ p }: { p: Pending }) {
  const { sessions } = useStore();
  const { name, of } = agentOf(p);
  return <div class="crumbs"><a href={`#/session/${encodeURIComponent(p.sessionId)}`} title={p.sessionId}><Shown text={titleOf(sessions.get(p.sessionId), p)} line /></a>
    <span aria-hidden="true">›</span>{of && <><span><Shown text={of} line /></span><span aria-hidden="true">›</span></>}
    <span><Shown text={name} line />{of && " (sub-agent)"}</span></div>;
}

const BOXES = { inside: "runs in the box", outside: "runs outside the box", none: "runs without a box" };

/* `whole`: where no crumbs stand above it. */
export function Chips({ item, whole = false }: { item: Item; whole?: boolean }) {
  const { sessions } = useStore();
  const { p } = item, session = sessions.get(p.sessionId), cwd = p.preview.cwd ?? session?.cwd, { name, of } = agentOf(p);
  const own = whole ? "" : "narrow";
  const id = p.toolCallId;
  return (
    <div class="chips">
      <a class={`chip ${own}`} href={`#/session/${encodeURIComponent(p.sessionId)}`} title={p.sessionId}><Shown text={titleOf(session, p)} line /></a>
      <span class={`chip ${own}`}><Shown text={of ? `${name}, sub-agent of ${of}` : name} line /></span>
      <Ages p={p} />
      <Marks item={item} tag="chip" />
      {cwd && callTitle(p).where !== cwd && <span class="chip mono" title={cwd}><Shown text={shortPath(cwd)} line /></span>}
      {p.box && <span class="chip" title="Nod runs this command itself">{BOXES[p.box]}</span>}
      {p.preview.executor && <span class="chip" title="The server has not looked at the files itself">as the executor of <Shown text={p.preview.executor} line /> sees it</span>}
      <Copy text={id} short={id.length > 14 ? `${id.slice(0, 6)}…${id.slice(-5)}` : id} />
    </div>
  );
}

/* Words with pieces of code in backticks. */
export function Ticked({ text }: { text: string }) {
  const pieces = text.split("`");
  if (pieces.length % 2 === 0) return <Shown text={text} line />;
  return <>{pieces.map((piece, i) => i % 2 ? <code><Shown text={piece} line /></code> : <Shown text={piece} line />)}</>;
}

/* A folder that the agent named itself: opening it makes rules and defaults count for the calls that follow. */
function OpenFolder({ p }: { p: Pending }) {
  const session = useStore().sessions.get(p.sessionId), folder = session?.cwd || p.preview.cwd;
  const [busy, setBusy] = useState(false);
  if (!session || !folder) return null;
  if (!session.cwdProposed) return <p class="why" role="status">Rules and defaults hold in <code><Shown text={shortPath(folder)} line /></code> from the next call on.</p>;
  const open = () => {
    setBusy(true);
    void call("PATCH", `/api/sessions/${encodeURIComponent(p.sessionId)}`, { cwd: folder })
      .catch((error: Error) => toast(`The folder was not opened: ${error.message}`, "bad")).finally(() => setBusy(false));
  };
  return <p class="why"><button type="button" class="open-folder" disabled={busy} onClick={open} title="Until then every call in this folder is asked about">
    <Shown text={`Let ${agentOf(p).name} work in ${shortPath(folder)}`} line /></button></p>;
}

export function Why({ p }: { p: Pending }) {
  const { why, rule, source } = p.reason;
  if (!rule && (isQuestion(p) || isPlan(p))) return null; // a question or a plan always needs a person: no reason to name
  return <><p class="why"><b>Needs your approval:</b> <Ticked text={why ?? "no rule answers it"} />
    {rule && <> (rule <code><Shown text={rule} line /></code>{source ? `, ${source}` : ""})</>}</p>
    {source === "folder" && <OpenFolder p={p} />}</>;
}

export function Heading({ p, level = 1 }: { p: Pending; level?: 1 | 2 }) {
  const title = callTitle(p);
  const Tag = level === 1 ? "h1" : "h2";
  const tail = title.where ? `in ${shortPath(title.where)}` : title.tail ?? "";
  return <Tag tabIndex={-1}>{title.verb} {title.object && <span class="mono object"><Shown text={title.object} line /></span>} <Shown text={tail} line /></Tag>;
}

export function Warnings({ p }: { p: Pending }) {
  const found = warnings(p);
  if (!found.length) return null;
  return <ul class="warnings" aria-label="Warnings">
    {found.map((warning) => <li class={warning.grave ? `grave ${warning.tone}` : ""}><span aria-hidden="true">{!warning.grave ? "•" : SIGNS[warning.tone]}</span> <Shown text={warning.words} line /></li>)}
  </ul>;
}

function AgentWords({ p }: { p: Pending }) {
  const said = agentWords(p);
  if (!said) return null;
  return <aside class="agent-words" aria-label="The agent's own words"><b>The agent says</b><Shown text={said} /></aside>;
}

/* ---- states ---- */

function ClosedBanner({ item }: { item: Item }) {
  const closed = item.closed!;
  const good = closed.decision.startsWith("allow");
  return (
    <div class={`banner ${good ? "good" : "bad"}`} role="status">
      <span aria-hidden="true">{good ? "✓" : "✕"}</span>
      <span>{closed.decision === "timeout" ? <b>Timed out</b> : closed.decision === "cancelled" ? <b>Taken back by the agent</b>
        : <><b><Shown text={closed.actor} line /></b> answered first: <b>{DECISIONS[closed.decision] ?? closed.decision}</b></>}
        {closed.at && <> at {clock(closed.at).replace(/:\d\d$/, "")}</>}{closed.decision === "timeout" && " – nothing ran"}
        {closed.feedback && <>: “<Shown text={closed.feedback} line />”</>}</span>
    </div>
  );
}

/* ---- the answers ---- */

/* A question that is not answered is replied to: the agent reads the words as those of a denial. */
const DENY = { label: "Deny, and tell the agent", hint: "why not, or what to do instead (may be empty)", send: "Deny" };
const REPLY = { label: "Reply in words, without an answer", hint: "what you want to say instead (may be empty)", send: "Send reply" };
const STOP = { label: "Stop the whole run; tell the agent why", hint: "may be empty", send: "Stop the run" };

function DenyPanel({ item, close, decision }: { item: Item; close: () => void; decision: "deny" | "abort" }) {
  const said = decision === "abort" ? STOP : takesReply(item.p) ? REPLY : DENY;
  const [words, setWords] = useState("");
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => field.current?.focus(), []); // at once, so that the next key goes into the field
  return (
    <form class="panel" onSubmit={(event) => { event.preventDefault(); void answer(item, decision, { feedback: wordsOf(item, words) }).then(close); }}>
      <label for="deny-words">{said.label}</label>
      <div class="line">
        <input id="deny-words" ref={field} value={words} onInput={(event) => setWords(event.currentTarget.value)} autocomplete="off"
          placeholder={said.hint} maxLength={16000} />
        <button type="submit" class="danger">{said.send}</button>
        <button type="button" class="quiet" onClick={close}>Cancel</button>
      </div>
    </form>
  );
}

interface BarOf { item: Item; panel: Panel; setPanel: (panel: Panel) => void; seenAll: boolean }

/* Panels that send an answer themselves: the button that does so is the one that stands out. */
const OWN_ANSWER = new Set<Panel>(["deny", "abort", "edit", "always"]);

/* The kind of request decides which answers there are: a question wants its answers, a plan the mode that follows it. */
export function AnswerBar({ item, panel, setPanel, seenAll }: BarOf) {
  const { connection, search } = useStore();
  const armed = useArmed([item], search + readStamp(item));
  useSeen(item, armed);
  const [mode, setMode] = useState("default");
  const live = connection === "live" && !item.closed && !item.busy;
  const ready = live && armed;
  const close = () => setPanel("");
  const say = (decision: string, extra?: Extra) => { if (ready && isArmed([item])) void answer(item, decision, extra); };
  if (!canAnswer()) return <footer class="answers"><p class="dim">View only. Ask an admin for approver access.</p></footer>;
  if (item.closed) {
    const next = neighbour(item.key, 1);
    return <footer class="answers"><div class="line end"><button type="button" class="primary" onClick={() => show(next)}>{next ? "Next request" : "Back to the inbox"}</button></div></footer>;
  }
  const question = isQuestion(item.p), plan = isPlan(item.p), wide = !question && !plan;
  const allow = question ? "Send answers" : plan ? "Approve plan" : item.p.toolCall.input.outside === true && item.p.preview.command ? "Run outside once" : "Allow once";
  const toggle = (to: Panel) => () => setPanel(panel === to ? "" : to);
  const remarks = written(item).length, deny = () => { if (live) void answer(item, "deny", { feedback: wordsOf(item, "") }); };
  return (
    <footer class={`answers ${armed ? "armed" : "arming"}`} aria-label="Answers">
      {panel === "deny" && <DenyPanel item={item} close={close} decision="deny" />}
      {panel === "abort" && <DenyPanel item={item} close={close} decision="abort" />}
      {panel === "edit" && <Edit item={item} close={close} armed={armed} />}
      {panel === "always" && <Always item={item} close={close} armed={armed} seenAll={seenAll} />}
      {panel === "snooze" && <SnoozePanel item={item} close={close} />}
      {panel === "assign" && <AssignPanel item={item} close={close} />}
      {panel === "more" && <div class="panel later"><div class="line">
        <button type="button" disabled={!live} onClick={toggle("snooze")} aria-keyshortcuts="h">Snooze…<kbd>h</kbd></button>
        <button type="button" disabled={!live} onClick={toggle("assign")} aria-keyshortcuts="p">Assign…<kbd>p</kbd></button>
        <button type="button" onClick={() => copyLink()}>Copy link</button></div></div>}
      {remarks > 0 && panel === "" && <p class="state small"><span class="warn">{remarks === 1 ? "1 comment goes" : `${remarks} comments go`} to the agent only if you deny.</span></p>}
      <div class={`buttons ${panel === "more" ? "more" : ""} ${remarks ? "has-remarks" : ""}`}>
        {remarks > 0 ? <button type="button" class="danger solid deny" disabled={!live} onClick={deny}>{plan ? "Keep planning" : "Deny"} with {remarks === 1 ? "1 comment" : `${remarks} comments`}</button>
          : <button type="button" class="danger deny" disabled={!live} onClick={toggle("deny")} aria-keyshortcuts="n">{takesReply(item.p) ? "Reply instead…" : plan ? "Keep planning…" : "Deny…"}<kbd>n</kbd></button>}
        <button type="button" class="abort wide" disabled={!live} onClick={toggle("abort")} aria-keyshortcuts="q">Stop…<kbd>q</kbd></button>
        <span class="grow wide" />
        {!question && <button type="button" class="wide" disabled={!live} onClick={toggle("edit")} aria-keyshortcuts="e">Edit…<kbd>e</kbd></button>}
        {wide && offers("/api/policy") && <button type="button" class="wide" disabled={!live} onClick={toggle("always")} aria-keyshortcuts="a">Always…<kbd>a</kbd></button>}
        {wide && <button type="button" class="wide for-session" disabled={!ready} onClick={() => say("allow_session")} aria-keyshortcuts="s">For this session<kbd>s</kbd></button>}
        {plan && <select aria-label="The mode that follows" value={mode} onChange={(event) => setMode(event.currentTarget.value)}>
          {MODES.filter(([id]) => id !== "plan" && id !== "read-only").map(([id, name]) => <option value={id}>Then: {name}</option>)}</select>}
        <button type="button" class="toggle" aria-expanded={panel === "more"} onClick={toggle("more")}>More</button>
        <button type="button" class={`${remarks || OWN_ANSWER.has(panel) ? "" : "primary"} allow`} disabled={!ready || (question && !isAnswered(item))} aria-keyshortcuts="y"
          onClick={() => question ? sendAnswers(item) : say("allow_once", plan ? { mode } : {})}>
          {item.busy ? "Sending…" : allow}<kbd>y</kbd><span class="fuse" aria-hidden="true" /></button>
      </div>
    </footer>
  );
}

/* ---- the whole ---- */

function useSwipe(box: { current: HTMLElement | null }, key: string): void {
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    let x = 0, y = 0, from: EventTarget | null = null;
    const start = (event: TouchEvent) => { x = event.touches[0].clientX; y = event.touches[0].clientY; from = event.target; };
    const end = (event: TouchEvent) => {
      const dx = event.changedTouches[0].clientX - x, dy = event.changedTouches[0].clientY - y;
      if (Math.abs(dx) < 70 || Math.abs(dy) > 50) return;
      // Where code scrolls sideways, a swipe scrolls it.
      const code = from instanceof Element ? from.closest(".code, pre") : null;
      if (code && code.scrollWidth > code.clientWidth + 2) return;
      const order = shownOrder(), at = order.findIndex((item) => item.key === key);
      const next = order[at + (dx < 0 ? 1 : -1)];
      if (next) show(next.key);
    };
    element.addEventListener("touchstart", start, { passive: true });
    element.addEventListener("touchend", end, { passive: true });
    return () => { element.removeEventListener("touchstart", start); element.removeEventListener("touchend", end); };
  }, [key]);
}

/* True once the end has been in the window, nothing being folded away before it. */
function useSeenAll(item: Item, box: { current: HTMLElement | null }): boolean {
  const [seen, setSeen] = useState("");
  const stamp = item.key + item.p.digest;
  useEffect(() => {
    const end = box.current?.querySelector(".the-end");
    if (!end || !box.current) return;
    const look = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting) && !box.current?.querySelector(".more-text")) setSeen(stamp);
    }, { root: box.current });
    look.observe(end);
    return () => look.disconnect();
  }, [stamp]);
  return seen === stamp && shownWhole(item.p);
}

export function Request({ item, panel, setPanel }: { item: Item; panel: Panel; setPanel: (panel: Panel) => void }) {
  const box = useRef<HTMLDivElement>(null);
  const [wide, setWide] = useState(true);
  const seenAll = useSeenAll(item, box);
  const order = shownOrder();
  const at = order.findIndex((one) => one.key === item.key);
  useSwipe(box, item.key);
  useLayoutEffect(() => {
    if (!box.current) return;
    box.current.scrollTop = 0;
    const watch = new ResizeObserver(([entry]) => setWide(entry.contentRect.width >= 900));
    watch.observe(box.current);
    return () => watch.disconnect();
  }, [item.key]);
  const step = (by: number) => { const next = order[at + by]; if (next) show(next.key); };
  return (
    <article class="request" aria-label="Request">
      <div class="place">
        <button type="button" class="quiet back" onClick={() => show(null)}>‹ Inbox</button>
        <Crumbs p={item.p} />
        <span class="grow" />
        <button type="button" class="quiet step" aria-label="Previous request" disabled={at <= 0} onClick={() => step(-1)}>‹</button>
        <span class="count" aria-live="polite">{at >= 0 ? `${at + 1} of ${order.length}` : `${order.length} waiting`}</span>
        <button type="button" class="quiet step" aria-label="Next request" disabled={at < 0 || at >= order.length - 1} onClick={() => step(1)}>›</button>
      </div>
      <div class="scroll" ref={box} tabIndex={0} role="region" aria-label="The request">
        {item.closed && <ClosedBanner item={item} />}
        {item.changed && !item.closed && <div class="banner warn" role="alert"><span aria-hidden="true">↻</span><span>This request <b>changed</b> since you saw it. Look again before you answer.</span></div>}
        <Heading p={item.p} />
        <Chips item={item} />
        <Why p={item.p} />
        <Warnings p={item.p} />
        <div class="thing"><Preview item={item} wide={wide} /></div>
        <AgentWords p={item.p} />
        <div class="the-end" />
        <Turns p={item.p} />
      </div>
      <AnswerBar item={item} panel={panel} setPanel={setPanel} seenAll={seenAll} />
    </article>
  );
}
