/* A rule before it is kept: whether it can be read, and which of the last calls it names. */
import { useEffect, useState } from "preact/hooks";
import { call } from "./api";
import { linkOf } from "./decided";
import { offers } from "./store";
import { Shown } from "./text";
import type { Json } from "./types";
import { aboutInput, toolName } from "./words";

interface Example { toolCallId: string; sessionId: string; name: string; input: { [key: string]: Json }; asked: boolean }
interface Tried { covered: number; calls: number; examples: Example[] }

const PAUSE_MS = 150; // after the last letter

/* `wrong` says why a rule cannot be kept; both are empty until the server has answered. */
export function useTried(rules: string[]): { tried: Tried | null; wrong: string } {
  const [tried, setTried] = useState<Tried | null>(null), [wrong, setWrong] = useState("");
  useEffect(() => {
    setTried(null);
    setWrong("");
    if (!offers("/api/policy/try") || !rules.length) return;
    let stale = false;
    const timer = setTimeout(() => {
      Promise.all(rules.map((rule) => call("POST", "/api/policy/try", { rule, effect: "allow" }))).then((said) => {
        if (stale) return;
        const examples = new Map(said.flatMap((one) => one.examples as Example[]).map((one) => [`${one.sessionId}\n${one.toolCallId}`, one]));
        setTried({ covered: said.reduce((sum, one) => sum + Number(one.covered ?? 0), 0), calls: Number(said[0].calls ?? 0), examples: [...examples.values()] });
      }, (error: Error) => { if (!stale) setWrong(error.message); });
    }, PAUSE_MS);
    return () => { stale = true; clearTimeout(timer); };
  }, [rules.join("\n")]);
  return { tried, wrong };
}

/* `verb`: what the rule would have done to them. */
export function TriedCalls({ tried, verb }: { tried: Tried; verb: string }) {
  const words = `Would have ${verb} ${tried.covered} of your last ${tried.calls} calls.`;
  if (!tried.examples.length) return <>{words}</>;
  return <details class="tried"><summary>{words}</summary><ul>{tried.examples.map((one) => (
    <li><a href={linkOf(one.sessionId, one.toolCallId)}><b><Shown text={toolName(one.name)} line /></b> <span class="mono"><Shown text={aboutInput(one.input)} line /></span></a>
      {one.asked && <span class="dim"> a person was asked</span>}</li>))}</ul></details>;
}
