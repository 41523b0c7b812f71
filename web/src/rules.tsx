/* Rules by layer; add, revoke; try a call against them and see why. Shown only when the server has them. */
import { useEffect, useState } from "preact/hooks";
import { call, get } from "./api";
import { canAnswer, offers, toast, useNow, useStore } from "./store";
import { ago, Shown } from "./text";
import type { Json, Part, Session } from "./types";
import { Command } from "./preview/command";

interface Rule {
  id?: string; effect?: string; rule?: string; text?: string; layer?: string; author?: string; reason?: string; expiresAt?: string; createdAt?: string;
  uses?: number; used?: number; lastUsedAt?: string; lastUsed?: string; error?: string;
}
const LAYERS = ["managed", "user", "project", "session"];
const LAYER_WORDS: Record<string, string> = {
  managed: "set by whoever runs this machine; nothing below loosens them", user: "yours", project: "of the repository; they only tighten", session: "of one session",
};
const textOf = (rule: Rule): string => rule.rule ?? rule.text ?? "";

interface File { path?: string; there?: boolean; hash?: string; problem?: string; trusted?: boolean; rules?: Rule[] }
interface Policy { managed?: File; user?: Rule[]; project?: File; session?: Rule[]; problems?: string[] }

const read = (policy: Policy): Rule[] => [...(policy.managed?.rules ?? []), ...(policy.user ?? []), ...(policy.project?.rules ?? []), ...(policy.session ?? [])];

function Project({ file, session, done }: { file: File; session: string; done: () => void }) {
  const trust = (trusted: boolean) => void call("POST", "/api/policy/trust", { sessionId: session, trusted, hash: file.hash })
    .then(() => { toast(trusted ? "Trusted, as it is now" : "Not trusted any more"); done(); }, (error: Error) => toast(error.message, "bad"));
  if (!file.there) return null;
  return <section class="card"><h2>The project's file</h2><p class="mono"><Shown text={file.path ?? ""} line /></p>
    {file.problem && <p class="bad"><Shown text={file.problem} line /></p>}
    <p>{file.trusted ? "Its exact content is trusted: its rules may allow." : "Its rules only tighten. Trust it when you have read every rule below; one changed byte ends the trust."}</p>
    {canAnswer() && <button type="button" class={file.trusted ? "danger" : ""} onClick={() => trust(!file.trusted)}>{file.trusted ? "End the trust" : "Trust this content"}</button>}</section>;
}

function Try() {
  const [tool, setTool] = useState("Bash"), [text, setText] = useState("");
  const [said, setSaid] = useState<any>(null), [wrong, setWrong] = useState("");
  const ask = () => {
    let input: { [key: string]: Json };
    try { input = text.trim().startsWith("{") ? JSON.parse(text) : tool === "Bash" ? { command: text } : { file_path: text }; }
    catch { setWrong("The input is not JSON."); return; }
    call("POST", "/api/policy/explain", { name: tool, input }).then((answer) => { setSaid(answer); setWrong(""); }, (error: Error) => { setSaid(null); setWrong(error.message); });
  };
  const verdict = said?.verdict && typeof said.verdict === "object" ? said.verdict : said;
  const effect = String(verdict?.effect ?? verdict?.verdict ?? "");
  const tone = effect === "allow" ? "good" : effect === "deny" ? "bad" : "warn";
  const parts: Part[] | undefined = said?.parts;
  return (
    <form class="card" onSubmit={(event) => { event.preventDefault(); ask(); }}>
      <h2>Try a call</h2>
      <div class="fields">
        <label>Tool<input value={tool} onInput={(event) => setTool(event.currentTarget.value)} /></label>
        <label class="grow">Command, path or input<input class="mono" value={text} onInput={(event) => setText(event.currentTarget.value)} spellcheck={false} placeholder="cd src && git diff | head" /></label>
        <button type="submit">Explain</button>
      </div>
      {wrong && <p class="bad" role="alert">{wrong}</p>}
      {said && <div role="status"><p class={tone}><b>{effect === "allow" ? "✓ passes" : effect === "deny" ? "✕ denied" : "? asked"}</b>{verdict?.rule && <> by <code><Shown text={String(verdict.rule)} line /></code></>}{verdict?.why && <>: <Shown text={String(verdict.why)} line /></>}</p>
        {parts && <Command preview={{ type: "command" }} command={text} judged={parts} />}</div>}
    </form>
  );
}

export function Rules() {
  const { connection, route } = useStore();
  const now = useNow();
  const [policy, setPolicy] = useState<Policy | null>(null);
  const [session, setSession] = useState("");
  const [known, setKnown] = useState<Session[]>([]);
  const rules = policy ? read(policy) : null;
  const [wrong, setWrong] = useState("");
  const asked = /[?&]add=([^&]*)/.exec(route);
  const [text, setText] = useState(asked ? decodeURIComponent(asked[1]) : ""), [effect, setEffect] = useState("allow"), [reason, setReason] = useState("");
  const load = () => get(`/api/policy${session ? `?session=${encodeURIComponent(session)}` : ""}`).then((answer) => { setPolicy(answer); setWrong(""); }, (error: Error) => setWrong(error.message));
  useEffect(() => { if (connection === "live") void load(); }, [connection, session]);
  useEffect(() => { if (connection === "live") get("/api/sessions?limit=50").then((page) => setKnown(page.sessions), () => {}); }, [connection]);
  const change = (path: string, method: string, body: object | undefined, words: string) =>
    call(method, path, body).then(() => { toast(words, "good"); void load(); return true; }, (error: Error) => { toast(error.message, "bad"); return false; });
  const add = () => void change(offers("/api/policy/rules") ? "/api/policy/rules" : "/api/policy", offers("/api/policy/rules") ? "POST" : "PUT",
    offers("/api/policy/rules") ? { effect, rule: text, reason: reason || undefined, layer: "user" } : { add: [{ effect, rule: text, reason: reason || undefined, layer: "user" }] }, "Rule added")
    .then((good) => { if (good) { setText(""); setReason(""); } });
  const revoke = (rule: Rule) => void change(offers("/api/policy/rules/{rule}") ? `/api/policy/rules/${encodeURIComponent(rule.id ?? "")}${rule.layer === "session" ? `?session=${encodeURIComponent(session)}` : ""}` : "/api/policy",
    offers("/api/policy/rules/{rule}") ? "DELETE" : "PUT", offers("/api/policy/rules/{rule}") ? undefined : { remove: [rule.id] }, "Rule revoked");
  const idle = (rules ?? []).filter((rule) => (rule.uses ?? rule.used) === 0);
  return (
    <main class="screen">
      <header class="head"><h1>Rules</h1><span class="grow" /><select aria-label="Also the rules of a session" value={session} onChange={(event) => setSession(event.currentTarget.value)}>
        <option value="">of every session</option>{known.map((one) => <option value={one.id}>and of: {(one.title || one.id).slice(0, 60)}</option>)}</select></header>
      {(policy?.problems ?? []).map((problem) => <p class="bad" role="alert"><Shown text={problem} line /></p>)}
      {policy?.project && <Project file={policy.project} session={session} done={() => void load()} />}
      {wrong && <p class="bad" role="alert">{wrong}</p>}
      {canAnswer() && <form class="card" onSubmit={(event) => { event.preventDefault(); add(); }}>
        <h2>Add a rule</h2>
        <div class="fields"><label>Effect<select value={effect} onChange={(event) => setEffect(event.currentTarget.value)}><option>allow</option><option>ask</option><option>deny</option></select></label>
          <label class="grow">Rule<input class="mono" value={text} onInput={(event) => setText(event.currentTarget.value)} spellcheck={false} placeholder="Bash(npm test:*)" required /></label>
          <label class="grow">Reason<input value={reason} onInput={(event) => setReason(event.currentTarget.value)} placeholder="why (may be empty)" /></label>
          <button type="submit" class="primary">Add</button></div>
      </form>}
      {offers("/api/policy/explain") && <Try />}
      {rules && !rules.length && <p class="dim none">No rules yet. What you allow for always becomes one.</p>}
      {LAYERS.concat([...new Set((rules ?? []).map((r) => r.layer ?? "other"))].filter((l) => !LAYERS.includes(l))).map((layer) => {
        const own = (rules ?? []).filter((rule) => (rule.layer ?? "other") === layer);
        if (!own.length) return null;
        return <section class="card"><h2>{layer} <small class="dim">{LAYER_WORDS[layer] ?? ""}</small></h2><div class="table-box" tabIndex={0} role="region" aria-label={layer}><table>
          <thead><tr><th>Effect</th><th>Rule</th><th>Author</th><th>Reason</th><th>Expires</th><th class="right">Used</th><th>Last</th><th></th></tr></thead>
          <tbody>{own.map((rule) => { const last = rule.lastUsedAt ?? rule.lastUsed; const uses = rule.uses ?? rule.used; return <tr>
            <td class={rule.effect === "allow" ? "good" : rule.effect === "deny" ? "bad" : "warn"}>{rule.effect === "allow" ? "✓" : rule.effect === "deny" ? "✕" : "?"} {rule.effect}</td>
            <td class="mono"><Shown text={textOf(rule)} line />{rule.error && <div class="bad small"><Shown text={rule.error} line /></div>}</td>
            <td><Shown text={rule.author ?? ""} line /></td><td><Shown text={rule.reason ?? ""} line /></td><td class="nowrap">{rule.expiresAt ? new Date(rule.expiresAt).toLocaleString() : ""}</td>
            <td class="right">{uses === undefined ? "" : String(uses)}</td><td class="nowrap">{last ? `${ago(last, now)} ago` : ""}</td>
            <td>{rule.id && (layer === "user" || layer === "session") && canAnswer() && <button type="button" class="danger small" onClick={() => revoke(rule)}>Revoke</button>}</td></tr>; })}</tbody>
        </table></div></section>;
      })}
      {idle.length > 0 && <section class="card"><h2>Never used</h2><p class="dim">{idle.length} {idle.length === 1 ? "rule has" : "rules have"} never decided anything: {idle.slice(0, 8).map((rule) => <><code><Shown text={textOf(rule)} line /></code> </>)}</p></section>}
    </main>
  );
}
