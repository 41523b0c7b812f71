/* Rules by layer; add, change, revoke; try a call against them and see why; what could be tidied. */
import { useEffect, useState } from "preact/hooks";
import { call, get } from "./api";
import { changeSigned } from "./sign";
import { Command } from "./preview/command";
import { Ticked } from "./request";
import { canAnswer, toast, useNow, useStore } from "./store";
import { ago, clock, left, Shown } from "./text";
import { AlwaysAllowed, useRecords } from "./tidy";
import { TriedCalls, useTried } from "./tried";
import type { Json, Part, Session } from "./types";

interface Rule {
  id?: string; effect?: string; rule?: string; layer?: string; author?: string; reason?: string; expiresAt?: string;
  used?: number; addedAt?: string; lastUsedAt?: string; error?: string; uses?: number; trusted?: boolean;
  where?: string; asleep?: string; unbound?: boolean; project?: { path?: string };
}
interface File { path?: string; there?: boolean; hash?: string; problem?: string; trusted?: boolean; rules?: Rule[] }
interface Finding { id?: string; effect?: string; rule?: string; layer?: string; level?: string; words?: string; instead?: string }
interface Policy { managed?: File; user?: Rule[]; project?: File; session?: Rule[]; problems?: string[]; lint?: Finding[]; readOnlyCommands?: boolean }

const LAYERS: [string, string, string][] = [
  ["managed", "Of this machine", "set by its administrator; no rule below can loosen them"],
  ["user", "Yours", "for every session"],
  ["project", "Of the project", "from its file; they only tighten unless it is trusted"],
  ["session", "Of the session", "end with it"],
];
const EFFECTS: Record<string, [string, string]> = { allow: ["good", "✓ allow"], deny: ["bad", "✕ deny"], ask: ["warn", "? ask"] };
const SPANS: [string, string][] = [["", "for ever"], ["1", "for an hour"], ["8", "for 8 hours"], ["24", "for a day"], ["168", "for a week"], ["720", "for 30 days"]];

const read = (policy: Policy): Rule[] =>
  [...(policy.managed?.rules ?? []), ...(policy.user ?? []), ...(policy.project?.rules ?? []), ...(policy.session ?? [])];

/* Rules of projects stand before those that hold everywhere. */
const projectsFirst = (a: string, b: string): number => Number(!a) - Number(!b) || a.localeCompare(b);

/* ---- one rule, to be added or changed ---- */

interface Wanted { effect: string; rule: string; reason: string; expiresAt?: string }

/* How long from now; "kept": as it was. */
function expiry(span: string, before?: string): string | undefined {
  if (span === "kept") return before;
  return span ? new Date(Date.now() + Number(span) * 3600000).toISOString() : undefined;
}

function RuleForm({ rule, words, send, cancel }: { rule?: Rule; words: string; send: (wanted: Wanted) => Promise<boolean>; cancel?: () => void }) {
  const [effect, setEffect] = useState(rule?.effect ?? "allow"), [text, setText] = useState(rule?.rule ?? "");
  const [reason, setReason] = useState(rule?.reason ?? ""), [span, setSpan] = useState(rule?.expiresAt ? "kept" : "");
  const { connection } = useStore(), { tried, wrong } = useTried(text.trim() ? [text.trim()] : []);
  const submit = () => void send({ effect, rule: text, reason, expiresAt: expiry(span, rule?.expiresAt) })
    .then((good) => { if (good && !cancel) { setText(""); setReason(""); setSpan(""); } });
  return (
    <form class="fields" onSubmit={(event) => { event.preventDefault(); submit(); }}>
      <label>Effect<select value={effect} onChange={(event) => setEffect(event.currentTarget.value)}>
        {Object.keys(EFFECTS).map((name) => <option>{name}</option>)}</select></label>
      <label class="grow">Rule<input class="mono" value={text} onInput={(event) => setText(event.currentTarget.value)} spellcheck={false} placeholder="Bash(npm test:*)" required /></label>
      <label class="grow">Reason<input value={reason} onInput={(event) => setReason(event.currentTarget.value)} placeholder="may be empty" /></label>
      <label>Holds<select value={span} onChange={(event) => setSpan(event.currentTarget.value)}>
        {rule?.expiresAt && <option value="kept">until {clock(rule.expiresAt)}</option>}
        {SPANS.map(([hours, name]) => <option value={hours}>{name}</option>)}</select></label>
      <button type="submit" class="primary" disabled={connection !== "live"}>{words}</button>
      {cancel && <button type="button" class="quiet" onClick={cancel}>Cancel</button>}
      <div class="small dim tried-line" role="status">{wrong ? <span class="bad"><Shown text={wrong} line /></span> : tried && <TriedCalls tried={tried} verb="named" />}</div>
    </form>
  );
}

interface Acts { change: (rule: Rule, wanted: Wanted) => Promise<boolean>; revoke: (rule: Rule) => void }

function RuleLine({ rule, acts }: { rule: Rule; acts: Acts | null }) {
  const now = useNow(), live = useStore().connection === "live";
  const [editing, setEditing] = useState(false);
  const [tone, words] = EFFECTS[rule.effect ?? ""] ?? ["", rule.effect ?? ""];
  const about = [
    rule.where ?? "",
    rule.used ? `used ${rule.used} ${rule.used === 1 ? "time" : "times"}${rule.lastUsedAt ? `, last ${ago(rule.lastUsedAt, now)} ago` : ""}` : "never used",
    rule.expiresAt ? left(rule.expiresAt, now) : "", rule.uses ? `good for ${rule.uses} uses` : "", rule.author ? `by ${rule.author}` : "",
  ].filter(Boolean).join(" · ");
  if (editing && acts) return <li><RuleForm rule={rule} words="Save" cancel={() => setEditing(false)}
    send={(wanted) => acts.change(rule, wanted).then((good) => { if (good) setEditing(false); return good; })} /></li>;
  return (
    <li>
      <span class={`effect ${tone}`}>{words}</span>
      <span class="mono rule"><Shown text={rule.rule ?? ""} line /></span>
      <span class="about">{rule.reason && <><Shown text={rule.reason} line /> · </>}<span title={rule.expiresAt && clock(rule.expiresAt)}><Shown text={about} line /></span>
        {rule.asleep && <span class="warn"> Sleeps: <Shown text={rule.asleep} line /></span>}
        {rule.error && <span class="bad"> <Shown text={rule.error} line /></span>}</span>
      {acts && <span class="acts"><button type="button" class="small" disabled={!live} onClick={() => setEditing(true)}>Change</button>
        <button type="button" class="danger small" disabled={!live} onClick={() => acts.revoke(rule)}>Revoke</button></span>}
    </li>
  );
}

/* ---- the project's file ---- */

function Project({ file, session, done }: { file: File; session: string; done: () => void }) {
  const trust = (trusted: boolean) => void changeSigned("POST", "/api/policy/trust", { sessionId: session, trusted, hash: file.hash })
    .then(() => { toast(trusted ? "Trusted, as it is now" : "Not trusted any more"); done(); }, (error: Error) => toast(error.message, "bad"));
  const { connection } = useStore();
  if (!file.there) return null;
  return <section class="card"><h2>The project's file</h2><p class="mono"><Shown text={file.path ?? ""} line /></p>
    {file.problem && <p class="bad"><Shown text={file.problem} line /></p>}
    <p>{file.trusted ? "Its exact content is trusted: its rules may allow." : "Its rules only tighten. Trust it when you have read every rule below; one changed byte ends the trust."}</p>
    {canAnswer() && <button type="button" class={file.trusted ? "danger" : ""} disabled={connection !== "live"} onClick={() => trust(!file.trusted)}>{file.trusted ? "End the trust" : "Trust this content"}</button>}</section>;
}

/* ---- rules that do not do what they say ---- */

function Dead({ found }: { found: Finding[] }) {
  if (!found.length) return null;
  return <section class="card"><h2>These do not do what they say</h2>
    <ul class="rule-list">{found.map((one) => (
      <li><span class={`effect ${EFFECTS[one.effect ?? ""]?.[0] ?? ""}`}>{EFFECTS[one.effect ?? ""]?.[1] ?? one.effect}</span>
        <span class="mono rule"><Shown text={one.rule ?? ""} line /></span>
        <span class="about"><Shown text={one.words ?? ""} line />{one.instead && <> Did you mean <code><Shown text={one.instead} line /></code>?</>}</span></li>))}</ul></section>;
}

/* ---- rules from before they belonged to projects ---- */

function Unbound({ rules, known, bind }: { rules: Rule[]; known: Session[]; bind: (rule: Rule, project: string) => void }) {
  const folders = [...new Set(known.map((one) => one.cwd ?? "").filter(Boolean))].slice(0, 20);
  const { connection } = useStore();
  if (!rules.length) return null;
  return <section class="card"><h2>Where do these hold?</h2>
    <p>They are from before rules belonged to projects. What they name is asked about until you say where they hold.</p>
    <ul class="rule-list">{rules.map((rule) => (
      <li><span class="mono rule"><Shown text={rule.rule ?? ""} line /></span>
        <select aria-label={`Where ${rule.rule ?? "it"} holds`} value="" disabled={connection !== "live"} onChange={(event) => { if (event.currentTarget.value) bind(rule, event.currentTarget.value); }}>
          <option value="">choose…</option>{folders.map((folder) => <option value={folder}>in {folder}</option>)}<option value="*">everywhere</option></select></li>))}</ul></section>;
}

/* ---- a call that nobody made ---- */

function Try() {
  const [tool, setTool] = useState("Bash"), [text, setText] = useState("");
  const [said, setSaid] = useState<any>(null), [wrong, setWrong] = useState(""), { connection } = useStore();
  const ask = () => {
    let input: { [key: string]: Json };
    try { input = text.trim().startsWith("{") ? JSON.parse(text) : tool === "Bash" ? { command: text } : { file_path: text }; }
    catch { setWrong("The input is not JSON."); return; }
    call("POST", "/api/policy/explain", { name: tool, input })
      .then((answer) => { setSaid({ ...answer, asked: text }); setWrong(""); }, (error: Error) => { setSaid(null); setWrong(error.message); });
  };
  const verdict = said?.verdict && typeof said.verdict === "object" ? said.verdict : said;
  const [tone, words] = EFFECTS[String(verdict?.effect ?? verdict?.verdict ?? "")] ?? EFFECTS.ask;
  const parts: Part[] | undefined = said?.parts;
  return (
    <form class="card" onSubmit={(event) => { event.preventDefault(); ask(); }}>
      <h2>Try a call <small class="dim">nothing runs; it shows which rule would answer</small></h2>
      <div class="fields">
        <label>Tool<input value={tool} onInput={(event) => setTool(event.currentTarget.value)} /></label>
        <label class="grow">Command, path or input<input class="mono" value={text} onInput={(event) => setText(event.currentTarget.value)} spellcheck={false} placeholder="cd src && git diff | head" /></label>
        <button type="submit" disabled={connection !== "live"}>Explain</button>
      </div>
      {wrong && <p class="bad" role="alert">{wrong}</p>}
      {said && <div role="status"><p class={tone}><b>{words}</b>{verdict?.rule && <> by <code><Shown text={String(verdict.rule)} line /></code></>}{verdict?.why && <>: <Ticked text={String(verdict.why)} /></>}</p>
        {parts && <Command preview={{ type: "command" }} command={said.asked} judged={parts} />}</div>}
    </form>
  );
}

/* ---- the screen ---- */

const IDLE_MS = 30 * 86400000; // an allow rule without a single use after this time is listed

function Tidy({ rules, revoke }: { rules: Rule[]; revoke: ((rule: Rule) => void) | null }) {
  const records = useRecords(720), { connection } = useStore(), now = useNow();
  const idle = rules.filter((rule) => rule.used === 0 && rule.effect === "allow" && now - Date.parse(rule.addedAt ?? "") > IDLE_MS).slice(0, 8);
  return <AlwaysAllowed records={records ?? []} more={idle.map((rule) => (
    <li><span><code><Shown text={rule.rule ?? ""} line /></code> is older than 30 days and unused.</span>
      {revoke && rule.id && <button type="button" class="small" disabled={connection !== "live"} onClick={() => revoke(rule)}>Revoke it</button>}</li>))} />;
}

export function Rules() {
  const { connection, route } = useStore();
  const [policy, setPolicy] = useState<Policy | null>(null);
  const [session, setSession] = useState("");
  const [known, setKnown] = useState<Session[]>([]);
  const [wrong, setWrong] = useState("");
  const [find, setFind] = useState("");
  const asked = /[?&]add=([^&]*)/.exec(route);
  const rules = policy ? read(policy) : [], found = rules.filter((rule) => `${rule.rule} ${rule.reason ?? ""} ${rule.where ?? ""} ${rule.author ?? ""}`.toLowerCase().includes(find.toLowerCase()));
  const load = () => get(`/api/policy?lint=true${session ? `&session=${encodeURIComponent(session)}` : ""}`)
    .then((answer) => { setPolicy(answer); setWrong(""); }, (error: Error) => setWrong(error.message));
  useEffect(() => { if (connection === "live") void load(); }, [connection, session]);
  useEffect(() => { if (connection === "live") get("/api/sessions?limit=50").then((page) => setKnown(page.sessions), () => {}); }, [connection]);
  const tell = (words: string, act: Promise<unknown>): Promise<boolean> =>
    act.then(() => { toast(words, "good"); return true; }, (error: Error) => { toast(error.message, "bad"); return false; }).finally(load);
  const add = (wanted: Wanted, layer = "user", project = "") => changeSigned("POST", "/api/policy/rules", {
    effect: wanted.effect, rule: wanted.rule, layer, ...(project ? { project } : {}), ...(wanted.reason ? { reason: wanted.reason } : {}),
    ...(wanted.expiresAt ? { expiresAt: wanted.expiresAt } : {}), ...(layer === "session" ? { sessionId: session } : {}) });
  const remove = (rule: Rule) =>
    changeSigned("DELETE", `/api/policy/rules/${encodeURIComponent(rule.id ?? "")}${rule.layer === "session" ? `?session=${encodeURIComponent(session)}` : ""}`, {});
  const acts: Acts = {
    // The new rule first: in between, the stricter of the two holds.
    change: (rule, wanted) => tell("Rule changed", add(wanted, rule.layer, rule.project?.path).then(() => remove(rule))),
    revoke: (rule) => void tell("Rule revoked", remove(rule)),
  };
  const bind = (rule: Rule, project: string) => void tell("The rule holds there", changeSigned("POST", `/api/policy/rules/${encodeURIComponent(rule.id ?? "")}/bind`,
    project === "*" ? { scope: "everywhere" } : { scope: "project", project }));
  const may = canAnswer();
  return (
    <main class="screen">
      <header class="head"><h1>Rules</h1><span class="grow" />
        {rules.length > 0 && <input type="search" aria-label="Search rules" placeholder="Search  ( / )" value={find} onInput={(event) => setFind(event.currentTarget.value)} />}<select aria-label="Also the rules of a session" value={session} onChange={(event) => setSession(event.currentTarget.value)}>
        <option value="">All rules</option>{known.map((one) => <option value={one.id}>Rules for session {(one.title || one.id).slice(0, 60)}</option>)}</select></header>
      {(policy?.problems ?? []).map((problem) => <p class="bad" role="alert"><Shown text={problem} line /></p>)}
      {wrong && <p class="bad" role="alert">{wrong}</p>}
      {policy && <p class="dim">Commands that only read inside the session's folder {policy.readOnlyCommands === false ? "are asked about; the setting read-only-commands lets them pass." : "pass without a rule; the setting read-only-commands switches that off."}</p>}
      <Dead found={(policy?.lint ?? []).filter((one) => one.level !== "note")} />
      {may && <Unbound rules={rules.filter((rule) => rule.unbound)} known={known} bind={bind} />}
      {policy && !rules.length && <section class="card"><h2>No rules yet</h2><p class="dim">Reading inside the project needs no approval, everything else does. What you allow always becomes a rule here.</p></section>}
      {LAYERS.map(([layer, name, words]) => {
        const own = found.filter((rule) => rule.layer === layer), places = [...new Set(own.map((rule) => rule.where ?? ""))].sort(projectsFirst);
        return own.length > 0 && <section class="card"><h2>{name} <small class="dim">{words}</small></h2>
          {places.map((place) => <>{places.length > 1 && <h3 class="place-of"><Shown text={place || "everywhere"} line /></h3>}
            <ul class="rule-list">{own.filter((rule) => (rule.where ?? "") === place).map((rule) => <RuleLine key={rule.id ?? rule.rule} rule={rule} acts={may && rule.id && (layer === "user" || layer === "session") ? acts : null} />)}</ul></>)}</section>;
      })}
      {find && rules.length > 0 && !found.length && <p class="dim none">No rules match.</p>}
      {policy?.project && <Project file={policy.project} session={session} done={() => void load()} />}
      {may && <section class="card"><h2>Add a rule</h2>
        <RuleForm key={asked?.[1] ?? ""} rule={asked ? { rule: decodeURIComponent(asked[1]) } : undefined} words="Add" send={(wanted) => tell("Rule added", add(wanted))} /></section>}
      <Try />
      {policy && <Tidy rules={rules} revoke={may ? acts.revoke : null} />}
    </main>
  );
}
