/* The inbox: everything that waits, oldest first; the request beside it (or instead of it on a phone). */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { get } from "./api";
import { answer, isArmed, show, shownOrder, useArmed } from "./answers";
import { Preview } from "./preview/preview";
import { Chips, Heading, Request, Warnings, Why, type Panel } from "./request";
import { canAnswer, changed, state, useNow, useStore, waiting, type Item } from "./store";
import { ago, left, Shown, shortPath } from "./text";
import type { AuditRecord } from "./types";
import { headline, risky, warnings } from "./words";

const ROW = 64; // height of a line of the list, for long ones

function Row({ item, open, now }: { item: Item; open: boolean; now: number }) {
  const { sessions, picked } = useStore();
  const session = sessions.get(item.p.sessionId);
  const thread = session?.threads.find((one) => one.id === item.p.threadId);
  const grave = risky(item.p);
  const soon = item.p.deadline !== null && Date.parse(item.p.deadline) - now < 60000;
  return (
    <div class={`item ${open ? "open" : ""} ${item.closed ? "closed" : ""}`} role="listitem">
      {canAnswer() && <input type="checkbox" aria-label={`Pick ${headline(item.p).slice(0, 80)}`} checked={picked.has(item.key)} onChange={() => {
        if (!picked.delete(item.key)) picked.add(item.key);
        changed();
      }} />}
      <button type="button" class="face" aria-current={open ? "true" : undefined} onClick={() => { picked.clear(); show(item.key); }}>
        <span class="what mono">{item.fresh && <span class="dot" title="new">●</span>}<Shown text={headline(item.p).slice(0, 200)} line /></span>
        <span class="who">
          <span class="tool">{item.p.toolCall.name}</span>
          <span class="where"><Shown text={thread?.parentId ? `sub-agent ${thread.title ?? ""}` : item.p.agent ?? ""} line /> · <Shown text={session?.title || shortPath(item.p.preview.cwd ?? "") || "session"} line /></span>
          {grave && <span class="risk" title={warnings(item.p).map((w) => w.words).join("; ")}>⚠<span class="sr"> risky</span></span>}
          <span class={`age ${soon ? "bad" : ""}`}>{item.p.deadline ? left(item.p.deadline, now) : ago(item.p.requestedAt, now)}</span>
        </span>
      </button>
    </div>
  );
}

/* Groups by session, in the order of their oldest request; only what is near the window is made. */
function List({ items }: { items: Item[] }) {
  const { open } = useStore();
  const now = useNow();
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(900);
  useEffect(() => {
    const element = box.current!;
    const scrolled = () => { setTop(element.scrollTop); setHeight(element.clientHeight); };
    scrolled();
    element.addEventListener("scroll", scrolled, { passive: true });
    const watch = new ResizeObserver(scrolled);
    watch.observe(element);
    return () => { element.removeEventListener("scroll", scrolled); watch.disconnect(); };
  }, []);
  const at = items.findIndex((item) => item.key === open);
  useEffect(() => {
    const element = box.current;
    if (!element || at < 0) return;
    if (at * ROW < element.scrollTop) element.scrollTop = at * ROW;
    else if ((at + 1) * ROW > element.scrollTop + element.clientHeight) element.scrollTop = (at + 1) * ROW - element.clientHeight;
  }, [open]);
  const first = Math.max(0, Math.floor(top / ROW) - 6), last = Math.min(items.length, Math.ceil((top + height) / ROW) + 6);
  return (
    <div class="rows" ref={box} role="list" aria-label="Waiting requests" tabIndex={-1}>
      <div style={{ height: `${first * ROW}px` }} aria-hidden="true" role="presentation" />
      {items.slice(first, last).map((item) => <Row key={item.key} item={item} open={item.key === open} now={now} />)}
      <div style={{ height: `${(items.length - last) * ROW}px` }} aria-hidden="true" role="presentation" />
    </div>
  );
}

/* ---- nothing waits ---- */

function Quiet() {
  const { connection } = useStore();
  const [records, setRecords] = useState<AuditRecord[] | null>(null);
  useEffect(() => {
    if (connection !== "live") return;
    const since = new Date(Date.now() - 3600000).toISOString();
    get(`/api/audit?since=${encodeURIComponent(since)}&by=rule&limit=500`).then((page) => setRecords(page.records), () => setRecords([]));
  }, [connection]);
  const groups = useMemo(() => {
    const by = new Map<string, { record: AuditRecord; count: number; denied: number }>();
    for (const record of records ?? []) {
      const key = `${record.tool}\n${record.rule ?? record.why ?? ""}`;
      const group = by.get(key) ?? { record, count: 0, denied: 0 };
      group.count++;
      if (record.outcome !== "allowed") group.denied++;
      by.set(key, group);
    }
    return [...by.values()].sort((a, b) => b.count - a.count).slice(0, 8);
  }, [records]);
  return (
    <div class="quiet-inbox">
      <div class="tick" aria-hidden="true">✓</div>
      <h1>Nothing waits for you</h1>
      {records !== null && (groups.length ? <>
        <p class="dim">In the last hour, without asking:</p>
        <ul>{groups.map(({ record, count, denied }) => (
          <li><b>{count} × <Shown text={record.tool} line /></b> {denied === count ? "refused" : "passed"}: {record.rule ? <>the rule <code><Shown text={record.rule} line /></code></> : <Shown text={record.why ?? ""} line />}</li>
        ))}</ul>
      </> : <p class="dim">Nothing was asked in the last hour either. Agents reach this gate at <code>{location.origin}</code>.</p>)}
    </div>
  );
}

/* ---- one answer to several ---- */

function Bulk({ items }: { items: Item[] }) {
  const box = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState("");
  const [words, setWords] = useState("");
  const held = items.filter((item) => risky(item.p)), plain = items.filter((item) => !risky(item.p));
  const stamp = plain.map((item) => item.key + item.p.digest).join();
  const armed = useArmed(plain);
  useEffect(() => {
    const end = box.current?.querySelector(".the-end");
    if (!end) return;
    const look = new IntersectionObserver((entries) => { if (entries.some((entry) => entry.isIntersecting)) setSeen(stamp); }, { root: box.current });
    look.observe(end);
    return () => look.disconnect();
  }, [stamp]);
  const ready = armed && seen === stamp && plain.length > 0;
  const all = async (decision: string) => {
    if (decision !== "deny" && (!ready || !isArmed(plain))) return;
    for (const item of decision === "deny" ? items : plain) await answer(item, decision, decision === "deny" ? { feedback: words || undefined } : {});
  };
  return (
    <article class="request" aria-label="Several requests">
      <div class="place"><b>{items.length} picked</b><span class="grow" /><button type="button" class="quiet" onClick={() => { state.picked.clear(); changed(); }}>Clear</button></div>
      <div class="scroll" ref={box}>
        {held.length > 0 && <div class="banner warn"><span aria-hidden="true">⚠</span><span>{held.length} {held.length === 1 ? "is" : "are"} risky and held out: answer {held.length === 1 ? "it" : "each"} alone.</span></div>}
        {items.map((item) => <section class="bulk-item" key={item.key}>
          <Heading p={item.p} level={2} /><Chips item={item} /><Warnings p={item.p} /><Preview p={item.p} wide={false} /><Why p={item.p} />
        </section>)}
        <div class="the-end" />
      </div>
      <footer class={`answers ${ready ? "armed" : "arming"}`}>
        <div class="buttons">
          <button type="button" class="danger" onClick={() => void all("deny")}>Deny {items.length}</button>
          <input aria-label="Words to the agents" placeholder="words to the agents (may be empty)" value={words} onInput={(event) => setWords(event.currentTarget.value)} />
          <button type="button" class="primary" disabled={!ready} onClick={() => void all("allow_once")}>
            {seen === stamp ? `Allow ${plain.length} once` : "Scroll to the end first"}<span class="fuse" aria-hidden="true" /></button>
        </div>
      </footer>
    </article>
  );
}

/* ---- the screen ---- */

export function Inbox({ panel, setPanel }: { panel: Panel; setPanel: (panel: Panel) => void }) {
  const { open, items, search, picked, loaded, connection } = useStore();
  const shown = shownOrder();
  const item = open !== null ? items.get(open) : undefined;
  const chosen = [...picked].map((key) => items.get(key)).filter((one): one is Item => one !== undefined && !one.closed);
  const fresh = waiting().filter((one) => one.fresh).length;
  useEffect(() => setPanel(""), [open, item?.p.digest]);
  if (!loaded) return <main class="inbox"><div class="list" /><div class="detail"><p class="dim loading">{connection === "lost" ? "The server cannot be reached." : ""}</p></div></main>;
  return (
    <main class={`inbox ${item || chosen.length > 1 ? "has-open" : ""}`}>
      <div class="list">
        <div class="list-head">
          <input type="search" id="search" placeholder="Search what waits  ( / )" aria-label="Search what waits" value={search}
            onInput={(event) => { state.search = event.currentTarget.value; changed(); }} />
          <p class="small dim" role="status">{shown.length} waiting{search && ` of ${waiting().length}`}{fresh > 0 && <b class="fresh"> · {fresh} new</b>}</p>
        </div>
        {shown.length ? <List items={shown} /> : <p class="dim none">{search ? "Nothing that waits fits." : ""}</p>}
      </div>
      <div class="detail">
        {chosen.length > 1 ? <Bulk items={chosen} /> : item ? <Request key={item.key} item={item} panel={panel} setPanel={setPanel} />
          : shown.length ? <div class="quiet-inbox"><h1>{shown.length} waiting</h1><p class="dim">Choose one, or press <kbd>j</kbd>.</p></div> : <Quiet />}
      </div>
    </main>
  );
}

