/* One call for ever, at its permanent link: what was shown when it was asked, who answered what, what came of it.
 * Nothing here depends on rules or files as they are now. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get, Refused } from "./api";
import { keyOf } from "./live";
import { agentWords, Preview } from "./preview/preview";
import { Copy, Heading, Ticked, Warnings } from "./request";
import { toast, useStore, type Item } from "./store";
import { clock, Shown, took } from "./text";
import { Output } from "./output";
import type { Json, Pending, Preview as PreviewOf } from "./types";
import { DECISIONS, modeName } from "./words";

interface Answer {
  decision: string; actor: string; at: string; byPolicy: boolean; by?: string; feedback?: string; mode?: string; rules?: string[]; scope?: string; expiresAt?: string; uses?: number;
  updatedInput?: { [key: string]: Json }; updatedPreview?: PreviewOf; signature?: { [key: string]: Json };
}
export interface Kept extends Pending {
  asked: boolean; status: string; rule?: string; source?: string; why?: string; archive?: string; answer?: Answer;
  result?: { at: string; content?: Json; isError?: boolean; supersededBy?: string };
}

const SCOPES: Record<string, string> = { project: "in this project", session: "in this session", everywhere: "everywhere" };

export const linkOf = (session: string, call: string): string => `#/request/${encodeURIComponent(session)}/${encodeURIComponent(call)}`;

/* "Allowed once, edited": what became of it, in a few words, with the tone of its colour. */
function outcome(kept: Kept): [string, string, string] {
  const { answer } = kept;
  if (!answer) return ["warn", "?", "Waiting for an answer"];
  const good = answer.decision.startsWith("allow");
  const words = answer.byPolicy ? (good ? "Allowed without asking" : "Refused by a rule") : DECISIONS[answer.decision] ?? answer.decision;
  return [good ? "good" : "bad", good ? "✓" : "✕", words[0].toUpperCase() + words.slice(1) + (answer.updatedInput ? ", edited" : "")];
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return <div><dt>{name}</dt><dd>{children}</dd></div>;
}

function Signature({ answer }: { answer: Answer }) {
  if (answer.byPolicy || !/^(allow|deny|abort)/.test(answer.decision)) return null;
  const key = answer.signature?.key;
  return <Fact name="Signature">{typeof key === "string" ? <><span class="good">✓ Signed</span> with the key <span class="mono"><Shown text={key} line /></span>; <code>nod verify</code> checks it</>
    : <span class="dim">Not signed</span>}</Fact>;
}

function DecisionFacts({ kept }: { kept: Kept }) {
  const { answer } = kept;
  if (!answer) return null;
  const waited = kept.asked ? Date.parse(answer.at) - Date.parse(kept.requestedAt) : NaN;
  const [who, ...device] = answer.actor.split(", ");
  return <>
    {answer.byPolicy ? <Fact name="By">{kept.rule ? <>rule <code><Shown text={kept.rule} line /></code></> : <Shown text={kept.why ?? "Nod"} line />}</Fact>
      : <Fact name="By"><b><Shown text={who} line /></b></Fact>}
    {!answer.byPolicy && device.length > 0 && <Fact name="From"><Shown text={device.join(", ")} line /></Fact>}
    <Fact name="When"><time title={answer.at}>{clock(answer.at)}</time>{waited >= 0 && <span class="dim"> · {took(waited)} after it was asked</span>}</Fact>
    {answer.rules && answer.rules.length > 0 && <Fact name="Rule saved">{answer.rules.map((rule) => <div><code><Shown text={rule} line /></code></div>)}{answer.scope && <span class="dim">{SCOPES[answer.scope] ?? answer.scope}</span>}{answer.expiresAt && <span class="dim"> until {clock(answer.expiresAt)}</span>}{answer.uses && <span class="dim"> for {answer.uses} {answer.uses === 1 ? "call" : "calls"}</span>}</Fact>}
    {answer.mode && <Fact name="Mode after it">{modeName(answer.mode)}</Fact>}
    <Signature answer={answer} />
  </>;
}

function Facts({ kept }: { kept: Kept }) {
  const { sessions } = useStore();
  const session = sessions.get(kept.sessionId);
  return (
    <aside class="facts-panel" aria-label="The decision">
      <h2>Decision</h2>
      <dl><DecisionFacts kept={kept} /></dl>
      <h2>Asked by</h2>
      <dl>
        <Fact name="Agent"><Shown text={kept.agent ?? "an agent"} line /></Fact>
        <Fact name="Session">{kept.archive ? <Shown text={kept.sessionId} line /> : <a href={`#/session/${encodeURIComponent(kept.sessionId)}`}><Shown text={session?.title || kept.sessionId} line /></a>}</Fact>
        {kept.preview.cwd && <Fact name="Folder"><span class="mono"><Shown text={kept.preview.cwd} line /></span></Fact>}
        <Fact name="Asked"><time title={kept.requestedAt}>{clock(kept.requestedAt)}</time></Fact>
        <Fact name="Call"><Copy text={kept.toolCallId} /></Fact>
        {kept.digest && <Fact name="Fingerprint"><Copy text={kept.digest} short={kept.digest.slice(0, 8)} /></Fact>}
        {kept.archive && <Fact name="Archive"><span class="mono"><Shown text={kept.archive} line /></span></Fact>}
      </dl>
    </aside>
  );
}

/* The call as it was asked, or as it was allowed. */
function itemOf(kept: Kept, edited: boolean): Item {
  const { answer } = kept;
  const p: Pending = edited && answer?.updatedInput ? { ...kept, parts: undefined, riskWords: undefined, digest: kept.digest + "-edited",
    toolCall: { ...kept.toolCall, input: answer.updatedInput }, preview: answer.updatedPreview ?? { type: "generic" } } : kept;
  return { key: keyOf(kept.sessionId, kept.toolCallId), p, closed: { decision: answer?.decision ?? "", actor: answer?.actor ?? "", at: answer?.at ?? "", mine: false } };
}

/* A kept call, read once; `stamp` changes when there is more to read. */
function useKept(session: string, call: string, stamp = ""): { kept: Kept | null; wrong: string } {
  const { connection } = useStore();
  const [kept, setKept] = useState<Kept | null>(null);
  const [wrong, setWrong] = useState("");
  useEffect(() => {
    if (connection !== "live") return;
    get(`/api/sessions/${encodeURIComponent(session)}/calls/${encodeURIComponent(call)}`).then((found) => { setKept(found); setWrong(""); },
      (error: unknown) => setWrong(error instanceof Refused && error.status === 404 ? "There is no such request, or it is not yours to see." : error instanceof Error ? error.message : ""));
  }, [connection, session, call, stamp]);
  return { kept, wrong };
}

function Result({ kept }: { kept: Kept }) {
  if (!kept.result) return null;
  return <section class="result" aria-label="Result"><header><b>Result</b><span class={kept.result.isError ? "bad" : "good"}>{kept.result.isError ? "✕ an error" : "✓ done"}</span>
    <time class="dim small" title={kept.result.at}>{clock(kept.result.at)}</time></header><Output content={kept.result.content} /></section>;
}

/* A call of a timeline that somebody opened: what would happen, as it was allowed, and what came of it. */
export function KeptCall({ session, call, stamp }: { session: string; call: string; stamp: string }) {
  const { kept, wrong } = useKept(session, call, stamp);
  if (!kept) return wrong ? <p class="bad" role="alert">{wrong}</p> : null;
  return <>
    <div class="thing"><Preview item={itemOf(kept, kept.answer?.updatedInput !== undefined)} wide={false} /></div>
    <Result kept={kept} />
    <p class="small"><a href={linkOf(session, call)}>Show the whole request</a></p>
  </>;
}

function Body({ kept }: { kept: Kept }) {
  const [edited, setEdited] = useState(kept.answer?.updatedInput !== undefined);
  const [tone, sign, words] = outcome(kept), item = itemOf(kept, edited), said = agentWords(kept);
  return (
    <div class="decided-main">
      <p class="badges"><span class={`badge ${tone}`}><span aria-hidden="true">{sign}</span> {words}</span>{kept.archive && <span class="badge">Archived</span>}</p>
      <Heading p={item.p} />
      <p class="why">{kept.asked ? <><b>A person was asked:</b> <Ticked text={kept.reason?.why ?? "no rule answered it"} /></> : <><b>Nobody was asked:</b> <Ticked text={kept.why ?? kept.rule ?? "a rule answered it"} /></>}</p>
      <Warnings p={item.p} />
      {kept.answer?.feedback && <aside class="agent-words" aria-label="Words to the agent"><b><Shown text={kept.answer.actor.split(",")[0]} line /> said</b><Shown text={kept.answer.feedback} /></aside>}
      {kept.answer?.updatedInput && <fieldset class="asked-allowed"><legend class="sr">Which version is shown</legend><div class="segments">
        <label><input type="radio" name="version" checked={!edited} onChange={() => setEdited(false)} /><span>As asked</span></label>
        <label><input type="radio" name="version" checked={edited} onChange={() => setEdited(true)} /><span>As allowed</span></label></div></fieldset>}
      <div class="thing"><Preview key={String(edited)} item={item} wide={false} /></div>
      {said && <aside class="agent-words" aria-label="The agent's own words"><b>The agent said</b><Shown text={said} /></aside>}
      <Result kept={kept} />
    </div>
  );
}

export function Decided({ session, call }: { session: string; call: string }) {
  const { kept, wrong } = useKept(session, call);
  const copy = () => void navigator.clipboard?.writeText(location.origin + "/" + linkOf(session, call)).then(() => toast("Link copied"), () => toast("The browser does not let this page copy"));
  return (
    <main class="screen decided">
      <header class="head"><a href="#/history" class="quiet-link">‹ History</a><span class="grow" />
        <button type="button" onClick={copy}>Copy link</button><button type="button" class="wide" onClick={() => print()}>Print</button></header>
      {wrong && <p class="bad" role="alert">{wrong}</p>}
      {kept && <div class="decided-columns"><Body kept={kept} /><Facts kept={kept} /></div>}
    </main>
  );
}
