/* One call, for whoever has the link of a message (/a#TOKEN): to look and to deny, without a login. Opening it decides
 * nothing; a press does, half a second after the call was shown. To allow, this device must be logged in. */
import { useEffect, useState } from "preact/hooks";
import { ARM_MS } from "./answers";
import { call, Refused } from "./api";
import { Preview } from "./preview/preview";
import { Heading, Warnings, Why } from "./request";
import { isPhone } from "./store";
import { Shown } from "./text";
import type { Pending } from "./types";

type Found = { words: string; bad?: boolean } | { p: Pending; person: string } | null;

const token = (): string => location.hash.slice(1);

function reason(error: unknown): string {
  if (!(error instanceof Refused)) return "The server cannot be reached. The request waits there; nothing is allowed meanwhile.";
  return error.status === 403 ? "This is not a link that Nod has sent." : error.message;
}

function useFound(): [Found, (found: Found) => void] {
  const [found, setFound] = useState<Found>(null);
  useEffect(() => {
    call("POST", "/api/answers/look", { token: token() }).then(
      (said) => setFound(said.request ? { p: said.request, person: said.person } : { words: "This request has been answered." }),
      (error) => setFound({ words: reason(error), bad: true }));
  }, []);
  return [found, setFound];
}

function Deny({ done }: { done: (found: Found) => void }) {
  const [words, setWords] = useState(""), [armed, setArmed] = useState(false), [busy, setBusy] = useState(false);
  useEffect(() => { const timer = setTimeout(() => setArmed(true), ARM_MS); return () => clearTimeout(timer); }, []);
  const deny = () => {
    setBusy(true);
    call("POST", "/api/answers", { token: token(), ...(words.trim() ? { feedback: words.trim() } : {}) }).then(
      () => done({ words: "Denied. The agent is told." }), (error) => done({ words: reason(error), bad: true }));
  };
  return (
    <form class="panel" onSubmit={(event) => { event.preventDefault(); if (armed && !busy) deny(); }}>
      <label for="deny-words">Deny, and tell the agent</label>
      <div class="line"><input id="deny-words" value={words} onInput={(event) => setWords(event.currentTarget.value)} autocomplete="off" maxLength={4000} placeholder="why not, or what to do instead (may be empty)" />
        <button type="submit" class="danger" disabled={!armed || busy}>{busy ? "Sending…" : "Deny"}</button></div>
    </form>
  );
}

export function Look() {
  const [found, setFound] = useFound();
  if (!found) return <main class="login" aria-busy="true"><p role="status">Looking…</p></main>;
  if ("words" in found) return <main class="login"><h1 class={found.bad ? "bad" : ""} role="status">{found.words}</h1><p><a href="/">Open Nod</a></p></main>;
  const { p, person } = found;
  const there = `/#/request/${encodeURIComponent(p.sessionId)}/${encodeURIComponent(p.toolCallId)}`;
  return (
    <main class="look">
      <article class="request" aria-label="Request"><div class="scroll">
        <Heading p={p} />
        <p class="dim">For <Shown text={person} line /></p>
        <Why p={p} />
        <Warnings p={p} />
        {p.cut ? <p>This call is too large to be shown here.</p> : <div class="thing"><Preview item={{ key: "look", p }} wide={!isPhone()} /></div>}
      </div>
      <footer class="answers"><Deny done={setFound} /><p class="dim small">To allow it, <a href={there}>open it in Nod</a> on a device that is logged in.</p></footer></article>
    </main>
  );
}
