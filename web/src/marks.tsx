/* Snooze and assign: a request is put off, or given to a person. Neither answers it, and its deadline holds. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { call, get } from "./api";
import { show } from "./answers";
import { wakeLater } from "./live";
import { neighbour } from "./order";
import { changed, isSnoozed, me, state, toast, type Item } from "./store";
import { clock, Shown } from "./text";

const pathOf = (item: Item): string => `/api/sessions/${encodeURIComponent(item.p.sessionId)}`;

async function post(item: Item, what: "snooze" | "assign", body: { seconds: number } | { person: string }): Promise<boolean> {
  try {
    const said = await call("POST", `${pathOf(item)}/approvals/${encodeURIComponent(item.p.toolCallId)}/${what}`, body);
    const now = state.items.get(item.key);
    if (now) state.items.set(item.key, { ...now, p: { ...now.p, ...(what === "snooze" ? { snoozedUntil: said.snoozedUntil } : { assignee: said.assignee }) } });
    return true;
  } catch (error) {
    toast(`${what === "snooze" ? "Not snoozed" : "Not assigned"}: ${error instanceof Error ? error.message : "no answer"}`, "bad");
    return false;
  }
}

async function snooze(item: Item, seconds: number): Promise<void> {
  const next = neighbour(item.key, 1);
  if (!await post(item, "snooze", { seconds })) return;
  const until = state.items.get(item.key)?.p.snoozedUntil;
  toast(until ? `Snoozed until ${clock(until)}` : "Not snoozed any more");
  wakeLater();
  if (until && state.open === item.key) show(next);
  changed();
}

async function assign(item: Item, person: string): Promise<void> {
  if (await post(item, "assign", { person })) toast(person ? `Assigned to ${person === me() ? "you" : person}` : "For anybody to answer");
  changed();
}

/* Seconds from now to nine o'clock tomorrow. */
function tomorrow(): number {
  const at = new Date();
  at.setDate(at.getDate() + 1);
  at.setHours(9, 0, 0, 0);
  return Math.round((at.getTime() - Date.now()) / 1000);
}
const TIMES: [string, () => number][] = [["10 minutes", () => 600], ["30 minutes", () => 1800], ["2 hours", () => 7200], ["Tomorrow at 9", tomorrow]];

/* The first button has the focus: Tab and Enter choose. */
function useFirst(ready = true) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => box.current?.querySelector("button")?.focus(), [ready]);
  return box;
}

export function SnoozePanel({ item, close }: { item: Item; close: () => void }) {
  const box = useFirst();
  const choose = (seconds: number) => { close(); void snooze(item, seconds); };
  return (
    <div class="panel marks" role="group" aria-label="Snooze" ref={box}>
      <p><b>Snooze</b> <span class="dim">Nobody is reminded until then. {item.p.deadline ? `It still times out at ${clock(item.p.deadline)}.` : "The agent goes on waiting."}</span></p>
      <div class="line">
        {TIMES.map(([words, seconds]) => <button type="button" onClick={() => choose(seconds())}>{words}</button>)}
        {isSnoozed(item) && <button type="button" onClick={() => choose(0)}>End the snooze</button>}
        <button type="button" class="quiet" onClick={close}>Cancel</button>
      </div>
    </div>
  );
}

export function AssignPanel({ item, close }: { item: Item; close: () => void }) {
  const [people, setPeople] = useState<string[] | null>(null);
  const box = useFirst(people !== null);
  useEffect(() => { get(`${pathOf(item)}/people`).then((list) => setPeople(list.people), () => setPeople([])); }, []);
  const own = me(), others = (people ?? []).filter((name) => name !== own);
  const choose = (person: string) => { close(); void assign(item, person); };
  return (
    <div class="panel marks" role="group" aria-label="Assign" ref={box}>
      <p><b>Assign</b> <span class="dim">That person is told at once. Anybody who may answer still may.</span></p>
      <div class="line">
        {people?.includes(own) && <button type="button" onClick={() => choose(own)}>Me</button>}
        {others.map((name) => <button type="button" onClick={() => choose(name)}><Shown text={name} line /></button>)}
        {item.p.assignee && <button type="button" onClick={() => choose("")}>Anybody</button>}
        <button type="button" class="quiet" onClick={close}>Cancel</button>
      </div>
    </div>
  );
}

/* The labels "snoozed" and "assigned" of a request, in the list and in the request itself. */
export function Marks({ item, tag }: { item: Item; tag: "tag" | "chip" }) {
  const { assignee, snoozedUntil } = item.p;
  return <>
    {isSnoozed(item) && <span class={tag}>snoozed until {clock(snoozedUntil!).replace(/:\d\d$/, "")}</span>}
    {assignee && <span class={tag} title={`Assigned to ${assignee}`}>{assignee === me() ? "for you" : <>for <Shown text={assignee} line /></>}</span>}
  </>;
}
