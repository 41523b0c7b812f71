/* Figures: small charts of the same shape, each with the number now and its trend; and what could be tidied. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { get } from "./api";
import { historyLink } from "./history";
import { useStore } from "./store";
import { clock, Shown, took } from "./text";
import { AlwaysAllowed } from "./tidy";
import type { AuditRecord } from "./types";
import { toolName } from "./words";

const SPANS: [string, number, number][] = [["Last 6 hours", 6, 24], ["Last day", 24, 24], ["Last week", 168, 28], ["Last 30 days", 720, 30]];
const RECORDS_MAX = 10000;

const quantile = (values: number[], q: number): number | null =>
  values.length ? [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * q))] : null;

interface Chart { leads?: Parameters<typeof historyLink>[0]; name: string; values: (number | null)[]; total: number | null; show: (value: number) => string; words: string; good?: "up" | "down" }

function buckets(records: AuditRecord[], hours: number, count: number): AuditRecord[][] {
  const end = Date.now(), width = hours * 3600000 / count;
  const out: AuditRecord[][] = Array.from({ length: count }, () => []);
  for (const record of records) {
    const at = count - 1 - Math.floor((end - Date.parse(record.at)) / width);
    if (at >= 0 && at < count) out[at].push(record);
  }
  return out;
}

function charts(records: AuditRecord[], hours: number, count: number): Chart[] {
  const by = buckets(records, hours, count);
  const asked = (rs: AuditRecord[]) => rs.filter((r) => r.asked);
  const times = (rs: AuditRecord[]) => rs.filter((r) => r.by === "person").map((r) => r.answerMs ?? 0);
  const share = (rs: AuditRecord[]) => rs.length ? 100 * rs.filter((r) => r.by === "rule").length / rs.length : null;
  const lost = (rs: AuditRecord[]) => rs.filter((r) => r.by === "timeout" || r.by === "agent").length;
  const whole = (n: number) => String(Math.round(n)), percent = (n: number) => `${Math.round(n)} %`;
  return [
    { name: "Tool calls", values: by.map((rs) => rs.length), total: records.length, show: whole, words: "everything agents asked for", leads: {} },
    { name: "Needed a person", values: by.map((rs) => asked(rs).length), total: asked(records).length, show: whole, words: "not answered by a rule", good: "down", leads: { by: "person" } },
    { name: "Passed by rule", values: by.map(share), total: share(records), show: percent, words: "answered without a person", good: "up", leads: { by: "rule" } },
    { name: "Time to answer, median", values: by.map((rs) => quantile(times(rs), 0.5)), total: quantile(times(records), 0.5), show: took, words: "half of the answers are quicker", good: "down" },
    { name: "Time to answer, p90", values: by.map((rs) => quantile(times(rs), 0.9)), total: quantile(times(records), 0.9), show: took, words: "one in ten is slower", good: "down" },
    { name: "Abandoned", values: by.map(lost), total: lost(records), show: whole, words: "timed out or taken back", good: "down" },
  ];
}

const W = 240, H = 72;

/* Which stretch of time a bar stands for. */
function stretch(at: number, hours: number, count: number): string {
  const width = hours * 3600000 / count, end = Date.now() - (count - 1 - at) * width;
  const day = hours > 48, show = (ms: number) => day ? new Date(ms).toLocaleDateString([], { month: "short", day: "numeric" }) : clock(new Date(ms).toISOString()).replace(/:\d\d$/, "");
  return day && width >= 86400000 ? show(end) : `${show(end - width)} to ${show(end)}`;
}

function trendOf(chart: Chart): { words: string; tone: string } | null {
  const mean = (values: (number | null)[]) => { const real = values.filter((v): v is number => v !== null); return real.length ? real.reduce((a, b) => a + b, 0) / real.length : null; };
  const half = Math.floor(chart.values.length / 2), before = mean(chart.values.slice(0, half)), after = mean(chart.values.slice(half));
  if (!before || after === null || before === after) return null;
  const up = after > before, change = Math.round(100 * (after - before) / before);
  return change === 0 ? null : { words: `${up ? "▲" : "▼"} ${Math.abs(change)} %`, tone: chart.good ? ((chart.good === "up") === up ? "good" : "warn") : "dim" };
}

function Spark({ chart, span, hours }: { chart: Chart; span: string; hours: number }) {
  const most = Math.max(0, ...chart.values.map((v) => v ?? 0));
  const count = chart.values.length, step = W / count, trend = trendOf(chart);
  const tall = (value: number) => Math.max(2, (H - 4) * value / most);
  return (
    <figure class="card chart">
      <figcaption><b>{chart.name}</b> {chart.words}</figcaption>
      <div class="big">{chart.total === null ? "–" : chart.leads ? <a href={historyLink({ ...chart.leads, hours: String(hours) })} title="Show these calls">{chart.show(chart.total)}</a> : chart.show(chart.total)}{trend && <span class={`trend ${trend.tone}`} title="the second half of this time against the first">{trend.words}</span>}</div>
      <div class="plot">
        <svg viewBox={`0 0 ${W} ${H}`} preserveAspectRatio="none" role="img" aria-label={`${chart.name}, ${span}: ${chart.values.map((v) => v === null ? "none" : chart.show(v)).join(", ")}`}>
          <line x1="0" y1="4" x2={W} y2="4" class="grid" vector-effect="non-scaling-stroke" />
          {chart.values.map((value, i) => <g><rect class="hit" x={i * step} width={step} y="0" height={H} />
            {value ? <rect x={i * step + 1} width={Math.max(1, step - 2)} y={H - tall(value)} height={tall(value)} /> : null}
            <title>{`${stretch(i, hours, count)}: ${value === null ? "none" : chart.show(value)}`}</title></g>)}
          <line x1="0" y1={H} x2={W} y2={H} class="axis" vector-effect="non-scaling-stroke" />
        </svg>
        {most > 0 && <span class="most">{chart.show(most)}</span>}
      </div>
      <div class="ends"><span>{stretch(0, hours, count).split(" to ")[0]}</span><span>now</span></div>
    </figure>
  );
}

/* Each row leads to its calls. `field`: of the history's filter; `of`: its value; `show`: how it reads. */
function Split({ title, records, of, field, hours, show = (name) => name }: { title: string; records: AuditRecord[]; of: (r: AuditRecord) => string | undefined;
  field: "tool" | "actor" | "agent"; hours: number; show?: (name: string) => string }) {
  const groups = new Map<string, AuditRecord[]>();
  for (const record of records) { const key = of(record); if (key) groups.set(key, [...(groups.get(key) ?? []), record]); }
  const rows = [...groups].sort((a, b) => b[1].length - a[1].length).slice(0, 12);
  if (!rows.length) return null;
  return <section class="card"><h2>{title}</h2><div class="table-box" tabIndex={0} role="region" aria-label={title}><table>
    <thead><tr><th></th><th class="right">Calls</th><th class="right">Asked</th><th class="right">Allowed</th><th class="right">Median</th><th class="right">p90</th></tr></thead>
    <tbody>{rows.map(([name, rs]) => {
      const times = rs.filter((r) => r.by === "person").map((r) => r.answerMs ?? 0), m = quantile(times, 0.5), p = quantile(times, 0.9);
      const decided = rs.filter((r) => r.by);
      return <tr><td><a href={historyLink({ [field]: name, hours: String(hours) })}><Shown text={show(name)} line /></a></td><td class="right">{rs.length}</td><td class="right">{rs.filter((r) => r.asked).length}</td>
        <td class="right">{decided.length ? `${Math.round(100 * decided.filter((r) => r.outcome === "allowed").length / decided.length)} %` : "–"}</td>
        <td class="right nowrap">{m === null ? "–" : took(m)}</td><td class="right nowrap">{p === null ? "–" : took(p)}</td></tr>;
    })}</tbody></table></div></section>;
}

/* Calls that are always allowed, and those that were allowed sooner than they can have been read. */
function Tidy({ records }: { records: AuditRecord[] }) {
  const quick = records.filter((r) => r.by === "person" && r.outcome === "allowed" && (r.answerMs ?? 0) < 1000).length;
  return <AlwaysAllowed records={records} more={quick ? [<li><span>{quick} {quick === 1 ? "request was" : "requests were"} allowed in under a second: too quick to have been read?</span></li>] : []} />;
}

export function Figures() {
  const { connection } = useStore();
  const [span, setSpan] = useState(1);
  const [records, setRecords] = useState<AuditRecord[] | null>(null);
  const [more, setMore] = useState(false);
  const [wrong, setWrong] = useState("");
  const [words, hours, count] = SPANS[span];
  useEffect(() => {
    if (connection !== "live") return;
    const since = new Date(Date.now() - hours * 3600000).toISOString();
    get(`/api/audit?since=${encodeURIComponent(since)}&limit=${RECORDS_MAX}`).then((page) => { setRecords(page.records); setMore(!!page.next); },
      (error: Error) => setWrong(error.message));
  }, [connection, span]);
  const all = useMemo(() => records ? charts(records, hours, count) : [], [records]);
  return (
    <main class="screen">
      <header class="head"><h1>Insights</h1><span class="grow" />
        <select aria-label="Time" value={String(span)} onChange={(event) => setSpan(Number(event.currentTarget.value))}>{SPANS.map(([name], i) => <option value={String(i)}>{name}</option>)}</select></header>
      {wrong && <p class="bad" role="alert">{wrong}</p>}
      {more && records && <p class="dim small">Of the last {records.length} calls of that time.</p>}
      <div class="charts">{all.map((chart) => <Spark chart={chart} span={words} hours={hours} />)}</div>
      {records && <div class="columns"><Split title="By tool" records={records} of={(r) => r.tool} field="tool" hours={hours} show={toolName} />
        <Split title="By person" records={records.filter((r) => r.by === "person")} of={(r) => r.actor} field="actor" hours={hours} />
        <Split title="By agent" records={records} of={(r) => r.agent} field="agent" hours={hours} /><Tidy records={records} /></div>}
    </main>
  );
}
