/* A command: each part on its own line, with its verdict where the rules gave one. Complete, never shortened. */
import { Risks, toneOf } from "../risk";
import { Shown } from "../text";
import type { Part, Preview } from "../types";
import { colour } from "./colour";

const VERDICTS: Record<string, [string, string, string]> = {
  allow: ["good", "✓", "passes"], deny: ["bad", "✕", "denied"], ask: ["warn", "?", "needs approval"],
};

export function Code({ text, family }: { text: string; family: string }) {
  return <>{text.split("\n").map((line, i) => (
    <>{i > 0 && "\n"}{colour(line, family).map(([piece, kind]) => kind ? <span class={`t-${kind}`}><Shown text={piece} /></span> : <Shown text={piece} />)}</>
  ))}</>;
}

function Verdict({ part }: { part: Part }) {
  const [tone, sign, word] = VERDICTS[part.effect ?? part.verdict ?? ""] ?? ["", "", ""];
  if (!word) return null;
  return <span class={`verdict ${tone}`} title={part.why}>{sign} {word}{part.rule && <> by <code><Shown text={part.rule} line /></code></>}</span>;
}

/* Said only where it is more than that no rule is there. */
function Because({ part }: { part: Part }) {
  if (part.rule || !part.why || /^no rule (covers|allows) it$/.test(part.why)) return null;
  return <div class="because"><Shown text={part.why} line /></div>;
}

/* Whether the judge's parts with their operators are all of the line. */
const squeeze = (text: string): string => text.replace(/\s+/g, "");
const isWhole = (parts: Part[], command: string): boolean =>
  squeeze(parts.map((part) => (part.operator ?? "") + (part.text ?? "")).join("")) === squeeze(command.trim().replace(/\n+/g, ";"));

/* Parts alone when they are the whole line, beside the line itself when they are not. */
export function Command({ preview, command, judged }: { preview: Preview; command: string; judged?: Part[] }) {
  const given = judged ?? preview.parts, parts = given?.length ? given : null;
  const whole = parts === null || isWhole(parts, command);
  const several = parts !== null && (parts.length > 1 || !whole);
  const single = parts?.length === 1 && whole ? parts[0] : null;
  return (
    <section class="command" aria-label="Command">
      {several ? (
        <>
          {!whole && <pre class="mono whole"><Code text={command} family="sh" /></pre>}
          {!whole && <p class="small dim parts-head">How Nod reads it</p>}
          <ol class="parts">
            {parts!.map((part) => (
              <li class={`${part.depth ? "deep" : ""} edge ${toneOf(part.risk)}`}>
                <span class="operator mono" aria-label={part.operator ? `then, ${part.operator}` : undefined}>{part.operator ?? ""}</span>
                <pre class="mono"><Code text={part.text ?? part.command ?? ""} family="sh" /></pre>
                <Verdict part={part} />
                <Risks risks={part.risk} />
                <Because part={part} />
                {(part.redirections ?? []).map((redirection) => (
                  <div class="redirection"><Shown text={typeof redirection === "string" ? redirection : redirection.text ?? `writes to ${redirection.path}`} line /></div>
                ))}
              </li>
            ))}
          </ol>
          {whole && <details>
            <summary>Full command</summary>
            <pre class="mono whole"><Code text={command} family="sh" /></pre>
          </details>}
        </>
      ) : <div class={`single edge ${toneOf(single?.risk)}`}><pre class="mono whole"><Code text={command} family="sh" /></pre>
        {single && <><Verdict part={single} /><Risks risks={single.risk} /><Because part={single} /></>}</div>}
    </section>
  );
}
