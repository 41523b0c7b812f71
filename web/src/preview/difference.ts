/* A difference as lines: read from the server's, or made from two texts when it sent none. Pure. */
export interface Line {
  kind: " " | "+" | "-" | "@" | "~";   // ~: something to say about the lines above
  old?: number; new?: number;
  text: string;
  marks?: [number, number][];          // the part that differs
}

/* "@@ -1,2 +1,2 @@" and what follows. Marks count bytes behind the sign. */
export function readUnified(lines: string[], marks: number[][] = []): Line[] {
  const byLine = new Map<number, [number, number][]>();
  for (const [line, from, to] of marks) byLine.set(line, [...(byLine.get(line) ?? []), [from, to]]);
  const out: Line[] = [];
  let a = 0, b = 0, inside = false;
  lines.forEach((raw, index) => {
    const line = raw.replace(/\r?\n$/, "");
    const head = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)/.exec(line);
    if (head) {
      a = Number(head[1]) || 1;
      b = Number(head[2]) || 1;
      inside = true;
      out.push({ kind: "@", text: head[3].trim(), old: a, new: b });
      return;
    }
    if (!inside) return;
    const text = line.slice(1);
    const own = byLine.get(index)?.map(([from, to]): [number, number] => [unitsAt(text, from), unitsAt(text, to)]);
    if (line[0] === "+") out.push({ kind: "+", new: b++, text, marks: own });
    else if (line[0] === "-") out.push({ kind: "-", old: a++, text, marks: own });
    else if (line[0] === "\\") out.push({ kind: "~", text: text.trim() });
    else out.push({ kind: " ", old: a++, new: b++, text });
  });
  if (!marks.length) markPairs(out);
  return out;
}

function unitsAt(text: string, bytes: number): number {
  let seen = 0, at = 0;
  for (const c of text) {
    if (seen >= bytes) break;
    const code = c.codePointAt(0)!;
    seen += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    at += c.length;
  }
  return at;
}

const EDITS_MAX = 1500;
export const CONTEXT = 3;

/* Myers' algorithm on lines, bounded; beyond that the rest is taken out and put in, which is true, only longer. */
export function compare(before: string, after: string): Line[] {
  const a = before === "" ? [] : before.replace(/\n$/, "").split("\n");
  const b = after === "" ? [] : after.replace(/\n$/, "").split("\n");
  let start = 0, tail = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  while (tail < a.length - start && tail < b.length - start && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const out: Line[] = [];
  for (let i = 0; i < start; i++) out.push({ kind: " ", old: i + 1, new: i + 1, text: a[i] });
  let x = start, y = start;
  const gone = () => out.push({ kind: "-", old: x + 1, text: a[x++] });
  const added = () => out.push({ kind: "+", new: y + 1, text: b[y++] });
  for (const step of script(a.slice(start, a.length - tail), b.slice(start, b.length - tail))) {
    if (step === "-") gone();
    else if (step === "+") added();
    else out.push({ kind: " ", old: x + 1, new: y + 1, text: a[x++] }), y++;
  }
  while (x < a.length) out.push({ kind: " ", old: x + 1, new: y + 1, text: a[x++] }), y++;
  markPairs(out);
  return out;
}

export function script<T>(a: T[], b: T[]): string {
  const n = a.length, m = b.length;
  const whole = "-".repeat(n) + "+".repeat(m);
  if (!n || !m) return whole;
  const most = Math.min(n + m, EDITS_MAX);
  const trace: Int32Array[] = [];
  let v = new Int32Array(2 * most + 2);
  for (let d = 0; d <= most; d++) {
    trace.push(v.slice());
    for (let k = -d; k <= d; k += 2) {
      let x = k === -d || (k !== d && v[most + k - 1] < v[most + k + 1]) ? v[most + k + 1] : v[most + k - 1] + 1;
      let y = x - k;
      while (x < n && y < m && a[x] === b[y]) x++, y++;
      v[most + k] = x;
      if (x >= n && y >= m) return back(trace, n, m, most);
    }
  }
  return whole;
}

function back(trace: Int32Array[], n: number, m: number, most: number): string {
  const steps: string[] = [];
  let x = n, y = m;
  for (let d = trace.length - 1; d > 0; d--) {
    const v = trace[d], k = x - y;
    const down = k === -d || (k !== d && v[most + k - 1] < v[most + k + 1]);
    const before = down ? k + 1 : k - 1;
    const px = v[most + before], py = px - before;
    while (x > px && y > py) { steps.push(" "); x--; y--; }
    steps.push(down ? "+" : "-");
    if (down) y--; else x--;
  }
  while (x > 0 && y > 0) { steps.push(" "); x--; y--; }
  return steps.reverse().join("");
}

/* Marks within lines that stand for each other. */
function markPairs(lines: Line[]): void {
  for (let i = 0; i < lines.length;) {
    let d = i;
    while (d < lines.length && lines[d].kind === "-") d++;
    let e = d;
    while (e < lines.length && lines[e].kind === "+") e++;
    if (d > i && d - i === e - d && d - i <= 200) for (let k = 0; k < d - i; k++) markPair(lines[i + k], lines[d + k]);
    i = e > i ? e : i + 1;
  }
}

function markPair(a: Line, b: Line): void {
  const cut = (s: string) => s.match(/\w+|\s+|[^\w\s]/g) ?? [];
  const wa = cut(a.text), wb = cut(b.text);
  if (wa.length > 300 || wb.length > 300) return;
  const steps = script(wa, wb);
  const same = steps.split(" ").length - 1;
  if (same * 3 < Math.max(wa.length, wb.length)) return; // nothing much in common: marks would only flicker
  a.marks = [];
  b.marks = [];
  let i = 0, j = 0, ua = 0, ub = 0;
  const mark = (to: [number, number][], from: number, length: number) => {
    const last = to[to.length - 1];
    if (last && last[1] === from) last[1] += length; else to.push([from, from + length]);
  };
  for (const step of steps) {
    if (step !== "+") { if (step === "-") mark(a.marks, ua, wa[i].length); ua += wa[i++].length; }
    if (step !== "-") { if (step === "+") mark(b.marks, ub, wb[j].length); ub += wb[j++].length; }
  }
}

/* The hunks set into the whole text they were made from; null when they do not fit it. */
export function around(lines: Line[], content: string): Line[] | null {
  const all = content.replace(/\n$/, "").split("\n"), out: Line[] = [];
  let at = 0, shift = 0; // lines of the old text that are behind us; what the new numbers are ahead
  const upTo = (end: number) => { for (; at < end && at < all.length; at++) out.push({ kind: " ", old: at + 1, new: at + 1 + shift, text: all[at] }); };
  for (const line of lines) {
    if (line.kind === "@") continue;
    if (line.kind === "+") { upTo(line.new! - 1 - shift); shift++; }
    else if (line.old !== undefined) {
      upTo(line.old - 1);
      if (all[at++]?.replace(/\r$/, "") !== line.text.replace(/\r$/, "")) return null;
      if (line.kind === "-") shift--;
    }
    out.push(line);
  }
  upTo(all.length);
  return out;
}

export type Row = Line | { kind: "fold"; from: number; to: number };

/* Unchanged stretches become folds, except near changes. */
export function fold(lines: Line[], opened: Set<number>): Row[] {
  const keep = new Uint8Array(lines.length);
  lines.forEach((line, i) => {
    if (line.kind === " ") return;
    for (let k = Math.max(0, i - CONTEXT); k <= Math.min(lines.length - 1, i + CONTEXT); k++) keep[k] = 1;
  });
  const out: Row[] = [];
  for (let i = 0; i < lines.length;) {
    if (keep[i]) { out.push(lines[i++]); continue; }
    let end = i;
    while (end < lines.length && !keep[end]) end++;
    if (opened.has(i) || end - i < 4) out.push(...lines.slice(i, end));
    else out.push({ kind: "fold", from: i, to: end });
    i = end;
  }
  return out;
}

/* Side by side: a pair of cells for each row. */
export function pair(rows: Row[]): [Row | null, Row | null][] {
  const out: [Row | null, Row | null][] = [];
  for (let i = 0; i < rows.length;) {
    if (rows[i].kind !== "-" && rows[i].kind !== "+") { out.push([rows[i], rows[i]]); i++; continue; }
    let d = i;
    while (d < rows.length && rows[d].kind === "-") d++;
    let e = d;
    while (e < rows.length && rows[e].kind === "+") e++;
    for (let k = 0; k < Math.max(d - i, e - d); k++) out.push([i + k < d ? rows[i + k] : null, d + k < e ? rows[d + k] : null]);
    i = e;
  }
  return out;
}
