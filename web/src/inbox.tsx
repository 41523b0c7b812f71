/* The inbox: everything that waits, oldest first; the request beside it (or instead of it on a phone). */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { get } from "./api";
import { answer, isArmed, pickAll, show, useArmed } from "./answers";
import { readWhole } from "./live";
import { Marks } from "./marks";
import { agentOf, GROUPINGS, KINDS, setHovered, shownGroups, titleOf, type Group } from "./order";
import { Preview } from "./preview/preview";
import { Chips, Heading, Request, Warnings, Why, type Panel } from "./request";
import { canAnswer, changed, isPhone, setPrefs, snoozed, state, useNow, useStore, waiting, type Item, type Prefs } from "./store";
import { edgeOf, RiskWords } from "./risk";
import { ago, left, Shown } from "./text";
import type { AuditRecord } from "./types";
import { headline, kindOf, risky, toolName, warnings } from "./words";

/* Heights of a line and of a head, as in style/inbox.css: only what is near the window is made. */
const headHeight = (): number => isPhone() ? 44 : 32;
const rowHeight = (): number => isPhone() ? 68 : state.prefs.dense ? 36 : 60;
const AROUND = 400;

function Row({ item, open, now }: { item: Item; open: boolean; now: number }) {
  const { sessions, picked, prefs } = useStore();
  const { name, of } = agentOf(item.p);
  const words = warnings(item.p).filter((warning) => warning.grave).map((warning) => warning.words).join("; ");
  const soon = item.p.deadline !== null && Date.parse(item.p.deadline) - now < 60000;
  const agent = of ? `↳ ${name}, of ${of}` : name, title = titleOf(sessions.get(item.p.sessionId), item.p);
  const where = item.late || prefs.group === "none" ? `${agent} · ${title}` : prefs.group === "session" ? agent : title;
  return (
    <div class={`item edge ${edgeOf(item.p)} ${open ? "open" : ""} ${item.closed ? "closed" : ""} ${picked.has(item.key) ? "picked" : ""}`} role="listitem">
      {canAnswer() && <label class="pick"><input type="checkbox" aria-label={`Pick ${headline(item.p).slice(0, 80)}`} checked={picked.has(item.key)} onChange={() => {
        if (!picked.delete(item.key)) picked.add(item.key);
        changed();
      }} /></label>}
      <button type="button" class="face" aria-current={open ? "true" : undefined} onClick={() => { picked.clear(); show(item.key); }}>
        <span class={`what ${kindOf(item.p) === "command" ? "mono" : ""}`}>{item.fresh && <span class="dot" title="new">●</span>}<Shown text={headline(item.p).slice(0, 200)} line /></span>
        <span class="who">
          <span class="where"><Shown text={where} line /></span>
          {words && !(item.p.risky !== false && item.p.risk?.length) ? <span class="risk red" title={words}>⚠<span class="sr"> risky</span></span> : null}<RiskWords p={item.p} />
          {item.p.nobodyWaits && <span class="tag">nobody waits</span>}
          <Marks item={item} tag="tag" />
          <span class={`age ${soon || item.p.alerted ? "bad" : ""}`} title={item.p.alerted ? "nobody has answered" : undefined}>{item.p.deadline ? left(item.p.deadline, now) : ago(item.p.requestedAt, now)}</span>
        </span>
      </button>
    </div>
  );
}

interface Line { y: number; group?: Group; item?: Item }

function linesOf(groups: Group[]): { lines: Line[]; height: number } {
  const lines: Line[] = [], row = rowHeight(), head = headHeight();
  let y = 0;
  for (const group of groups) {
    if (group.title) { lines.push({ y, group }); y += head; }
    for (const item of group.items) { lines.push({ y, item }); y += row; }
  }
  return { lines, height: y };
}

/* Which part of the list is in the window. */
function useWindow(box: { current: HTMLDivElement | null }): { top: number; height: number } {
  const [seen, setSeen] = useState({ top: 0, height: 900 });
  useEffect(() => {
    const element = box.current!;
    const look = () => setSeen({ top: element.scrollTop, height: element.clientHeight });
    look();
    element.addEventListener("scroll", look, { passive: true });
    const watch = new ResizeObserver(look);
    watch.observe(element);
    return () => { element.removeEventListener("scroll", look); watch.disconnect(); };
  }, []);
  return seen;
}

function List({ groups }: { groups: Group[] }) {
  const { open } = useStore();
  const now = useNow();
  const box = useRef<HTMLDivElement>(null);
  const { top, height } = useWindow(box);
  const { lines, height: whole } = linesOf(groups);
  useEffect(() => {
    const element = box.current, line = lines.find((one) => one.item?.key === open);
    if (!element || !line || open === null) return;
    const end = line.y + rowHeight();
    if (line.y < element.scrollTop + headHeight()) element.scrollTop = Math.max(0, line.y - headHeight());
    else if (end > element.scrollTop + element.clientHeight) element.scrollTop = end - element.clientHeight;
  }, [open]);
  const first = Math.max(0, lines.findIndex((line) => line.y > top - AROUND));
  const after = lines.findIndex((line) => line.y > top + height + AROUND), last = after < 0 ? lines.length : after;
  const hover = (over: boolean) => (event: PointerEvent) => { if (event.pointerType === "mouse") { setHovered(over); changed(); } };
  return (
    <div class="rows" ref={box} role="list" aria-label="Waiting requests" tabIndex={-1} onPointerEnter={hover(true)} onPointerLeave={hover(false)}>
      <div style={{ height: `${lines[first]?.y ?? 0}px` }} aria-hidden="true" role="presentation" />
      {lines.slice(first, last).map(({ group, item }) => group
        ? <div key={`head ${group.key}`} class="group" role="listitem"><b><Shown text={group.title} line /></b><span class="dim" title={group.about}><Shown text={group.about} line /></span><span class="count">{group.items.length}</span>
          {canAnswer() && group.items.length > 1 && <button type="button" class="quiet all" aria-label={`Select all of ${group.title}`} onClick={() => pickAll(group.items)}>{group.items.every((one) => state.picked.has(one.key)) ? "None" : "Select all"}</button>}</div>
        : <Row key={item!.key} item={item!} open={item!.key === open} now={now} />)}
      <div style={{ height: `${whole - (lines[last]?.y ?? whole)}px` }} aria-hidden="true" role="presentation" />
    </div>
  );
}

/* ---- nothing waits ---- */

const WAYS_IN: [string, string][] = [
  ["nod demo", "an agent to try this with"], ["nod claude", "Claude Code, asking here"], ["nod run \"…\"", "Nod's own agent"],
];

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
        <p class="dim">In the last hour, rules and defaults answered:</p>
        <table><tbody>{groups.map(({ record, count, denied }) => {
          const refused = denied === count;
          return <tr><td class="right">{count} ×</td><td class="mono"><Shown text={toolName(record.tool)} line /></td>
            <td class={`nowrap ${refused ? "bad" : "good"}`}>{refused ? "✕ refused" : "✓ passed"}</td>
            <td class="dim">{record.rule ? <>by <code><Shown text={record.rule} line /></code></> : <Shown text={record.why ?? ""} line />}</td></tr>;
        })}</tbody></table>
      </> : <>
        <p class="dim">In the last hour nothing passed without asking. To let an agent ask:</p>
        <table><tbody>{WAYS_IN.map(([command, words]) => <tr><td class="nowrap"><code>{command}</code></td><td class="dim">{words}</td></tr>)}
          <tr><td class="nowrap"><code>POST /api/threads/…/tool-calls</code></td><td class="dim">from any program, at {location.origin}</td></tr></tbody></table>
      </>)}
    </div>
  );
}

/* ---- one answer to several ---- */

function Bulk({ items }: { items: Item[] }) {
  const box = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState("");
  const [words, setWords] = useState("");
  const alone = (item: Item) => item.p.cut || risky(item.p) || kindOf(item.p) === "question";
  const held = items.filter(alone), plain = items.filter((item) => !alone(item));
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
      <div class="place">{isPhone() && <button type="button" class="quiet" onClick={() => { state.reviewing = false; changed(); }}>‹ List</button>}<b>{items.length} picked</b><span class="grow" /><button type="button" class="quiet" onClick={() => { state.picked.clear(); changed(); }}>Clear</button></div>
      <div class="scroll" ref={box}>
        {held.length > 0 && <div class="banner warn"><span aria-hidden="true">⚠</span><span>{held.length === 1 ? "1 request is risky, large, or needs a choice, and is not included. Review it separately." : `${held.length} requests are risky, large, or need a choice, and are not included. Review each separately.`}</span></div>}
        {items.map((item) => <section class="bulk-item" key={item.key}>
          <Heading p={item.p} level={2} /><Chips item={item} whole /><Why p={item.p} /><Warnings p={item.p} /><div class="thing"><Preview item={item} wide={false} /></div>
        </section>)}
        <div class="the-end" />
      </div>
      <footer class={`answers ${ready ? "armed" : "arming"}`}>
        <div class="buttons">
          <button type="button" class="danger" onClick={() => void all("deny")}>Deny {items.length}</button>
          <input aria-label="Words to the agents" placeholder="words to the agents (may be empty)" value={words} onInput={(event) => setWords(event.currentTarget.value)} />
          <button type="button" class="primary" disabled={!ready} onClick={() => void all("allow_once")}>
            {seen === stamp ? `Allow ${plain.length} once` : "Scroll to the end"}<span class="fuse" aria-hidden="true" /></button>
        </div>
      </footer>
    </article>
  );
}

/* ---- the screen ---- */

function ListHead({ count }: { count: number }) {
  const { search, kind, prefs } = useStore();
  const all = waiting(), fresh = all.filter((one) => one.fresh).length, asleep = snoozed().length;
  return (
    <div class="list-head">
      <input type="search" id="search" placeholder="Search what waits  ( / )" aria-label="Search what waits" value={search}
        onInput={(event) => { state.search = event.currentTarget.value; changed(); }} />
      <div class="line">
        <p class="small dim" role="status">{kind === "snoozed" ? `${count} snoozed` : <>{count} waiting{(search || kind) && ` of ${all.length}`}</>}{fresh > 0 && <b class="fresh"> · {fresh} new</b>}</p>
        <select aria-label="Show" class={kind ? "on" : ""} value={kind} onChange={(event) => { state.kind = event.currentTarget.value; changed(); }}>
          {KINDS.map(([id, name]) => <option value={id}>{name}</option>)}</select>
        <select aria-label="Group" value={prefs.group} onChange={(event) => setPrefs({ group: event.currentTarget.value as Prefs["group"] })}>
          {GROUPINGS.map(([id, name]) => <option value={id}>{name}</option>)}</select>
      </div>
      {(asleep > 0 || kind === "snoozed") && <button type="button" class="quiet small asleep" onClick={() => { state.kind = kind === "snoozed" ? "" : "snoozed"; changed(); }}>
        {kind === "snoozed" ? "‹ Show what waits" : `${asleep} snoozed: show`}</button>}
    </div>
  );
}

export function Inbox({ panel, setPanel }: { panel: Panel; setPanel: (panel: Panel) => void }) {
  const { open, items, search, kind, picked, loaded, connection, reviewing, prefs } = useStore();
  const groups = shownGroups(), count = groups.reduce((sum, group) => sum + group.items.length, 0);
  const item = open !== null ? items.get(open) : undefined;
  const chosen = [...picked].map((key) => items.get(key)).filter((one): one is Item => one !== undefined && !one.closed);
  // On a phone the list stays until "Review" is pressed.
  const bulk = chosen.length > 1 && (!isPhone() || reviewing);
  useEffect(() => { if (!chosen.length && state.reviewing) { state.reviewing = false; changed(); } }, [chosen.length]);
  useLayoutEffect(() => setPanel(""), [open, item?.p.digest]); // before a key can open one
  useEffect(() => { if (item?.p.cut && !item.closed) void readWhole(item); }, [item?.key, item?.p.cut]);
  if (!loaded) return <main class="inbox"><div class="list" /><div class="detail"><p class="dim loading">{connection === "lost" ? "The server cannot be reached." : ""}</p></div></main>;
  return (
    <main class={`inbox ${item || bulk ? "has-open" : ""} ${chosen.length ? "picking" : ""} ${prefs.dense ? "dense" : ""}`}>
      <div class="list">
        <ListHead count={count} />
        {chosen.length > 0 && isPhone() && !bulk && <div class="review-bar"><button type="button" class="quiet" onClick={() => { picked.clear(); changed(); }}>Clear</button>
          <button type="button" class="primary" disabled={chosen.length < 2} onClick={() => { state.reviewing = true; changed(); }}>Review {chosen.length}</button></div>}
        {count ? <List groups={groups} /> : <p class="dim none">{search || kind ? "No requests match." : ""}</p>}
      </div>
      <div class="detail">
        {bulk ? <Bulk items={chosen} /> : item ? <Request key={item.key} item={item} panel={panel} setPanel={setPanel} />
          : waiting().length ? <div class="quiet-inbox"><h1>{waiting().length} waiting</h1><p class="dim">{count ? <>Choose one, or press <kbd>j</kbd>.</> : "No requests match."}</p></div> : <Quiet />}
      </div>
    </main>
  );
}
