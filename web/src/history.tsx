/* History: every decision, searchable, exportable. The filters are in the address, so that a search can be kept as a bookmark,
 * shared, and linked to from a figure. */
import { useEffect, useState } from "preact/hooks";
import { get, send } from "./api";
import { linkOf } from "./decided";
import { changed, state, toast, useStore } from "./store";
import { Shown, shortPath, took } from "./text";
import type { AuditRecord } from "./types";
import { DECISIONS, toolName } from "./words";

const EXPORT_PAGE = 5000;
const OUTCOMES: [string, string][] = [["", "Any decision"], ["allowed", "Allowed"], ["denied", "Denied"], ["aborted", "Stopped"], ["timed_out", "Timed out"],
  ["cancelled", "Taken back"], ["awaiting", "Waiting"], ["allow_once", "Allowed once"], ["allow_session", "Allowed for the session"], ["allow_always", "Allowed always"]];
const BY: [string, string][] = [["", "By anyone"], ["person", "By a person"], ["rule", "By a rule"], ["timeout", "By timeout"], ["agent", "Taken back"]];
const TIMES: [string, string][] = [["", "Any time"], ["1", "Last hour"], ["24", "Last day"], ["168", "Last week"], ["720", "Last 30 days"]];
const FIELDS = ["text", "by", "decision", "tool", "actor", "agent", "session", "project", "hours"] as const;

type Wanted = Record<typeof FIELDS[number], string>;
const NONE: Wanted = { text: "", by: "", decision: "", tool: "", actor: "", agent: "", session: "", project: "", hours: "" };
const BUILT_IN: [string, Partial<Wanted>][] = [["All", {}], ["Asked", { by: "person" }], ["Denied this week", { decision: "denied", hours: "168" }]];

function readRoute(route: string): Wanted {
  const at = new URLSearchParams(route.split("?")[1] ?? ""), wanted = { ...NONE };
  for (const field of FIELDS) wanted[field] = at.get(field) ?? "";
  return wanted;
}
export function historyLink(wanted: Partial<Wanted>): string {
  const at = new URLSearchParams(Object.entries(wanted).filter(([, value]) => value) as [string, string][]).toString();
  return at ? `#/history?${at}` : "#/history";
}

function query(wanted: Wanted): string {
  const parts = FIELDS.filter((key) => key !== "hours" && wanted[key]).map((key) => `${key}=${encodeURIComponent(wanted[key])}`);
  if (wanted.hours) parts.push(`since=${encodeURIComponent(new Date(Date.now() - Number(wanted.hours) * 3600000).toISOString())}`);
  return parts.join("&");
}

async function download(wanted: Wanted, format: "csv" | "jsonl"): Promise<void> {
  const pieces: string[] = [];
  for (let before = 0; ;) {
    const answer = await send("GET", `/api/audit?${query(wanted)}&limit=${EXPORT_PAGE}&format=${format}${before ? `&before=${before}` : ""}`);
    const text = await answer.text();
    pieces.push(before && format === "csv" ? text.slice(text.indexOf("\n") + 1) : text);
    before = Number(answer.headers.get("Nod-Next") ?? 0);
    if (!before) break;
  }
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(pieces, { type: format === "csv" ? "text/csv" : "application/x-ndjson" }));
  link.download = `nod-history-${new Date().toISOString().slice(0, 10)}.${format}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/* ---- saved filters ---- */

const SAVED = "nod.filters";
function readSaved(): [string, Partial<Wanted>][] {
  try { const kept = JSON.parse(localStorage.getItem(SAVED) ?? "[]"); return Array.isArray(kept) ? kept : []; } catch { return []; }
}

function Saved({ wanted }: { wanted: Wanted }) {
  const [saved, setSaved] = useState(readSaved);
  const [naming, setNaming] = useState(false), [name, setName] = useState("");
  const keep = (next: [string, Partial<Wanted>][]) => { localStorage.setItem(SAVED, JSON.stringify(next)); setSaved(next); };
  const here = historyLink(wanted), known = [...BUILT_IN, ...saved];
  return (
    <div class="saved" role="group" aria-label="Saved filters">
      {known.map(([words, filter]) => <a class="pill" href={historyLink(filter)} aria-current={historyLink({ ...NONE, ...filter }) === here ? "true" : undefined}><Shown text={words} line /></a>)}
      {!naming && !known.some(([, filter]) => historyLink(filter) === here) && <button type="button" class="quiet small" onClick={() => setNaming(true)}>Save this filter</button>}
      {saved.some(([, filter]) => historyLink(filter) === here) && <button type="button" class="quiet small" onClick={() => keep(saved.filter(([, filter]) => historyLink(filter) !== here))}>Forget this filter</button>}
      {naming && <form class="line" onSubmit={(event) => { event.preventDefault(); if (name.trim()) keep([...saved, [name.trim(), wanted]]); setNaming(false); setName(""); }}>
        <input aria-label="Name of the filter" placeholder="name" maxLength={40} value={name} onInput={(event) => setName(event.currentTarget.value)} ref={(field) => { if (field && document.activeElement === document.body) field.focus(); }} />
        <button type="submit" class="small">Save</button><button type="button" class="quiet small" onClick={() => setNaming(false)}>Cancel</button></form>}
    </div>
  );
}

/* ---- the table ---- */

export const outcomeTone = (outcome: string): string => outcome === "allowed" ? "good" : outcome === "awaiting" ? "warn" : "bad";
const SIGN: Record<string, string> = { good: "✓", warn: "?", bad: "✕" };
const words = (record: AuditRecord): string => record.outcome === "awaiting" ? "Waiting" : record.by === "rule" ? (record.outcome === "allowed" ? "Allowed" : "Refused")
  : ((said) => said[0].toUpperCase() + said.slice(1))(DECISIONS[record.decision ?? ""] ?? record.outcome.replace(/_/g, " "));

function By({ record }: { record: AuditRecord }) {
  if (!record.by) return <span class="dim">–</span>;
  if (record.by === "rule") return record.rule ? <code><Shown text={record.rule} line /></code> : <span class="dim"><Shown text={record.why ?? "Nod"} line /></span>;
  if (record.by === "person") return <><b><Shown text={record.actor ?? ""} line /></b>{record.key && <span class="tag" title={`signed with the key ${record.key}`}>signed</span>}{record.feedback && <>: “<Shown text={record.feedback.slice(0, 120)} line />”</>}</>;
  return <span class="dim">{record.by === "timeout" ? "nobody" : "the agent"}</span>;
}

const time = (at: string): string => new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
function dayOf(at: string): string {
  const date = new Date(at), today = new Date();
  if (date.toDateString() === today.toDateString()) return "Today";
  if (date.toDateString() === new Date(today.getTime() - 86400000).toDateString()) return "Yesterday";
  return date.toLocaleDateString([], { weekday: "long", month: "long", day: "numeric" });
}
const projectOf = (cwd: string | undefined): string => cwd ? cwd.split("/").filter(Boolean).pop() ?? "/" : "";
/* The telling part of an input, or the input: JSON is told by its tool. */
const aboutOf = (record: AuditRecord): string => (record.about ?? "").startsWith("{") ? "" : record.about ?? "";

const sessionName = (id: string): string => state.sessions.get(id)?.title || `${id.slice(0, 8)}…${id.slice(-4)}`;

function Row({ record }: { record: AuditRecord }) {
  const tone = outcomeTone(record.outcome), about = aboutOf(record), href = linkOf(record.sessionId, record.toolCallId);
  return <tr>
    <td class="nowrap dim" title={record.at}>{time(record.at)}</td>
    <td class="tool"><Shown text={toolName(record.tool)} line /></td>
    <td class="what"><a href={href} title={record.about}>{about && record.tool !== "Bash" && <b class="narrow"><Shown text={toolName(record.tool)} line />&nbsp;</b>}<span class="mono"><Shown text={about || toolName(record.tool)} line /></span></a></td>
    <td class={`nowrap ${tone}`}>{SIGN[tone]} {words(record)}{record.edited ? ", edited" : ""}</td>
    <td class="agent"><Shown text={record.agent ?? ""} line /></td>
    <td class="in-session"><a href={`#/session/${encodeURIComponent(record.sessionId)}`} title={record.sessionId}><Shown text={sessionName(record.sessionId)} line /></a></td>
    <td class="project" title={record.cwd}><Shown text={projectOf(record.cwd)} line /></td>
    <td class="how"><By record={record} /></td>
    <td class="right nowrap dim">{record.asked && record.answerMs !== undefined ? took(record.answerMs) : ""}</td></tr>;
}

function Table({ records }: { records: AuditRecord[] }) {
  const days: [string, AuditRecord[]][] = [];
  for (const record of records) {
    const day = dayOf(record.at);
    if (days[days.length - 1]?.[0] === day) days[days.length - 1][1].push(record); else days.push([day, [record]]);
  }
  return <div class="table-box" tabIndex={0} role="region" aria-label="Decisions"><table class="log">
    <thead><tr><th>Time</th><th class="tool">Tool</th><th>Call</th><th>Decision</th><th>Agent</th><th class="in-session">Session</th><th>Project</th><th>By</th><th class="right">Took</th></tr></thead>
    {days.map(([day, list]) => <tbody><tr class="day"><th colSpan={9} scope="rowgroup">{day}</th></tr>{list.map((record) => <Row key={record.seq} record={record} />)}</tbody>)}
  </table></div>;
}

function Select({ label, value, all, set }: { label: string; value: string; all: [string, string][]; set: (value: string) => void }) {
  return <select aria-label={label} value={value} onChange={(event) => set(event.currentTarget.value)}>{all.map(([id, name]) => <option value={id}>{name}</option>)}</select>;
}

/* Names that were met, and the one that is chosen. */
const choices = (all: string, met: Iterable<string | undefined>, chosen: string, name = (one: string): string => one): [string, string][] =>
  [["", all], ...[...new Set([chosen, ...met])].filter((one): one is string => !!one).sort().map((one): [string, string] => [one, name(one)])];

export function History() {
  const { connection, route } = useStore();
  const wanted = readRoute(route);
  const [records, setRecords] = useState<AuditRecord[] | null>(null);
  const [next, setNext] = useState(0);
  const [wrong, setWrong] = useState("");
  const load = (before: number) => get(`/api/audit?${query(wanted)}&limit=200${before ? `&before=${before}` : ""}`).then((page) => {
    setRecords((old) => before && old ? [...old, ...page.records] : page.records);
    setNext(Number(page.next ?? 0));
    setWrong("");
  }, (error: Error) => setWrong(error.message));
  useEffect(() => {
    if (connection !== "live") return;
    get("/api/sessions?limit=100").then((page) => { for (const one of page.sessions) state.sessions.set(one.id, one); changed(); }, () => {});
  }, [connection]);
  useEffect(() => {
    if (connection !== "live") return;
    const timer = setTimeout(() => void load(0), 150);
    return () => clearTimeout(timer);
  }, [connection, route]);
  // Without a hashchange, which comes later: a drawing before it would put the text before the last letter back into the field.
  const set = (change: Partial<Wanted>) => {
    state.route = historyLink({ ...readRoute(state.route), ...change });
    history.replaceState(null, "", state.route);
    changed();
  };
  const save = (format: "csv" | "jsonl") => void download(wanted, format).catch((error: Error) => toast(error.message, "bad"));
  const met = records ?? [];
  return (
    <main class="screen">
      <header class="head"><h1>History</h1><span class="grow" />
        <button type="button" disabled={connection !== "live"} onClick={() => save("csv")}>Export CSV</button><button type="button" disabled={connection !== "live"} onClick={() => save("jsonl")}>Export JSON Lines</button></header>
      <div class="filters">
        <input type="search" aria-label="Search the history" placeholder="Search commands, files and words  ( / )" value={wanted.text} onInput={(event) => set({ text: event.currentTarget.value })} />
        <Select label="Decision" value={wanted.decision} all={OUTCOMES} set={(decision) => set({ decision })} />
        <Select label="Decided by" value={wanted.by} all={BY} set={(by) => set({ by })} />
        <Select label="Agent" value={wanted.agent} all={choices("Any agent", met.map((one) => one.agent), wanted.agent)} set={(agent) => set({ agent })} />
        <Select label="Session" value={wanted.session} all={choices("Any session", met.map((one) => one.sessionId), wanted.session, sessionName)} set={(session) => set({ session })} />
        <Select label="Project" value={wanted.project} all={choices("Any project", met.map((one) => one.cwd), wanted.project, shortPath)} set={(project) => set({ project })} />
        <Select label="Tool" value={wanted.tool} all={choices("Any tool", met.map((one) => one.tool), wanted.tool, toolName)} set={(tool) => set({ tool })} />
        <input aria-label="Person" placeholder="Person" value={wanted.actor} onInput={(event) => set({ actor: event.currentTarget.value })} />
        <Select label="Time" value={wanted.hours} all={TIMES} set={(hours) => set({ hours })} />
      </div>
      <Saved wanted={wanted} />
      {wrong && <p class="bad" role="alert">{wrong}</p>}
      {records && !records.length && <p class="dim none">No decision matches.</p>}
      {records && records.length > 0 && <Table records={records} />}
      {next > 0 && <button type="button" class="older" onClick={() => void load(next)}>Older</button>}
    </main>
  );
}
