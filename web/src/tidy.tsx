/* Suggestions for the rules: requests that are always allowed and could be a rule, rules that never decided anything. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get } from "./api";
import { useStore } from "./store";
import { Shown } from "./text";
import type { AuditRecord } from "./types";

const RECORDS_MAX = 10000;
const TIMES_MIN = 3, SHOWN_MAX = 6;

/* Decisions of the last hours; null until they are there. */
export function useRecords(hours: number): AuditRecord[] | null {
  const { connection } = useStore();
  const [records, setRecords] = useState<AuditRecord[] | null>(null);
  useEffect(() => {
    if (connection !== "live") return;
    const since = new Date(Date.now() - hours * 3600000).toISOString();
    get(`/api/audit?since=${encodeURIComponent(since)}&limit=${RECORDS_MAX}`).then((page) => setRecords(page.records), () => setRecords([]));
  }, [connection, hours]);
  return records;
}

/* "make test" of "make test -k x": the words that a rule would name. */
function subject(record: AuditRecord): { name: string; rule: string } {
  if (record.tool !== "Bash") return { name: record.tool, rule: record.tool };
  const first = (record.about ?? "").trim().split(/\s+/).slice(0, 2).join(" ");
  return { name: first, rule: `Bash(${first}:*)` };
}

export function alwaysAllowed(records: AuditRecord[]): { name: string; rule: string; times: number }[] {
  const groups = new Map<string, { name: string; rule: string; times: number; no: number }>();
  for (const record of records) {
    if (record.by !== "person") continue;
    const { name, rule } = subject(record);
    const group = groups.get(rule) ?? { name, rule, times: 0, no: 0 };
    if (record.outcome === "allowed") group.times++; else group.no++;
    groups.set(rule, group);
  }
  return [...groups.values()].filter((group) => group.no === 0 && group.times >= TIMES_MIN).sort((a, b) => b.times - a.times).slice(0, SHOWN_MAX);
}

export function AlwaysAllowed({ records, more }: { records: AuditRecord[]; more?: ComponentChildren[] }) {
  const always = alwaysAllowed(records);
  if (!always.length && !more?.length) return null;
  return <section class="card"><h2>{always.length ? "Suggestions" : "Unused rules"}</h2><ul class="tidy">
    {always.map(({ name, rule, times }) => <li><span><code><Shown text={name} line /></code> needed approval {times} times and was always allowed.</span>
      <a class="button small" href={`#/rules?add=${encodeURIComponent(rule)}`}>Make a rule</a></li>)}
    {more}
  </ul></section>;
}
