/* The log: every decision, searchable, exportable. */
import { useEffect, useState } from "preact/hooks";
import { get, send } from "./api";
import { toast, useStore } from "./store";
import { clock, Shown, took } from "./text";
import type { AuditRecord } from "./types";
import { DECISIONS, toolName } from "./words";

const EXPORT_PAGE = 5000;
const OUTCOMES = ["", "allowed", "denied", "aborted", "timed_out", "cancelled", "awaiting", "allow_once", "allow_session", "allow_always"];

interface Wanted { text: string; by: string; decision: string; tool: string; actor: string; hours: string }

function query(wanted: Wanted): string {
  const parts = (["text", "by", "decision", "tool", "actor"] as const).filter((key) => wanted[key]).map((key) => `${key}=${encodeURIComponent(wanted[key])}`);
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
  link.download = `nod-log-${new Date().toISOString().slice(0, 10)}.${format}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

export const outcomeTone = (outcome: string): string => outcome === "allowed" ? "good" : outcome === "awaiting" ? "warn" : "bad";
const SIGN: Record<string, string> = { good: "✓", warn: "?", bad: "✕" };

function How({ record }: { record: AuditRecord }) {
  if (!record.by) return <a href={`#/request/${encodeURIComponent(record.sessionId)}/${encodeURIComponent(record.toolCallId)}`}>answer it</a>;
  if (record.by === "rule") return <>{record.rule ? <>rule <code><Shown text={record.rule} line /></code></> : <span class="dim"><Shown text={record.why ?? "policy"} line /></span>}</>;
  if (record.by === "person") return <><b><Shown text={record.actor ?? ""} line /></b>, {DECISIONS[record.decision ?? ""] ?? record.decision}{record.edited ? ", edited" : ""}{record.key && <span class="tag" title={`signed with the key ${record.key}`}>signed</span>}{record.feedback && <>: “<Shown text={record.feedback} line />”</>}</>;
  return <span class="dim">{DECISIONS[record.decision ?? ""] ?? record.by}</span>;
}

export function Log() {
  const { connection } = useStore();
  const [wanted, setWanted] = useState<Wanted>({ text: "", by: "", decision: "", tool: "", actor: "", hours: "" });
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
    const timer = setTimeout(() => void load(0), 150);
    return () => clearTimeout(timer);
  }, [connection, wanted]);
  const set = (change: Partial<Wanted>) => setWanted({ ...wanted, ...change });
  const save = (format: "csv" | "jsonl") => void download(wanted, format).catch((error: Error) => toast(error.message, "bad"));
  return (
    <main class="screen">
      <header class="head"><h1>Log</h1><span class="grow" />
        <button type="button" onClick={() => save("csv")}>Export CSV</button><button type="button" onClick={() => save("jsonl")}>Export JSON Lines</button></header>
      <div class="filters">
        <input type="search" aria-label="Search the log" placeholder="Search inputs and agents  ( / )" value={wanted.text} onInput={(event) => set({ text: event.currentTarget.value })} />
        <select aria-label="Decided by" value={wanted.by} onChange={(event) => set({ by: event.currentTarget.value })}>
          <option value="">by anyone</option><option value="rule">by rule</option><option value="person">by hand</option><option value="timeout">by timeout</option><option value="agent">taken back</option></select>
        <select aria-label="Outcome" value={wanted.decision} onChange={(event) => set({ decision: event.currentTarget.value })}>
          {OUTCOMES.map((outcome) => <option value={outcome}>{outcome.replace(/_/g, " ") || "any outcome"}</option>)}</select>
        <input aria-label="Tool" placeholder="tool" value={wanted.tool} onInput={(event) => set({ tool: event.currentTarget.value })} />
        <input aria-label="Person" placeholder="person" value={wanted.actor} onInput={(event) => set({ actor: event.currentTarget.value })} />
        <select aria-label="Time" value={wanted.hours} onChange={(event) => set({ hours: event.currentTarget.value })}>
          <option value="">any time</option><option value="1">last hour</option><option value="24">last day</option><option value="168">last week</option><option value="720">last 30 days</option></select>
      </div>
      {wrong && <p class="bad" role="alert">{wrong}</p>}
      {records && !records.length && <p class="dim none">Nothing fits.</p>}
      {records && records.length > 0 && <div class="table-box" tabIndex={0} role="region" aria-label="Decisions"><table class="log">
        <thead><tr><th>When</th><th>Tool</th><th>What</th><th>Outcome</th><th>How</th><th class="right">Took</th></tr></thead>
        <tbody>{records.map((record) => {
          const tone = outcomeTone(record.outcome);
          return <tr>
            <td class="nowrap" title={record.at}>{clock(record.at)}</td><td><Shown text={toolName(record.tool)} line /></td>
            <td class="mono what"><a href={`#/session/${encodeURIComponent(record.sessionId)}`} title={record.about}><Shown text={record.about ?? ""} line /></a></td>
            <td class={`nowrap ${tone}`}>{SIGN[tone]} {record.outcome.replace(/_/g, " ")}</td><td class="how"><How record={record} /></td>
            <td class="right nowrap">{record.asked && record.answerMs !== undefined ? took(record.answerMs) : ""}</td></tr>;
        })}</tbody>
      </table></div>}
      {next > 0 && <button type="button" class="older" onClick={() => void load(next)}>Older</button>}
    </main>
  );
}
