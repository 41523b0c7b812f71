/* A command: each part on its own line, with its verdict where the rules gave one. Complete, never shortened. */
import { Shown } from "../text";
import type { Part, Preview } from "../types";
import { splitCommand } from "../words";
import { colour } from "./colour";

const VERDICTS: Record<string, [string, string, string]> = {
  allow: ["good", "✓", "passes"], deny: ["bad", "✕", "denied"], ask: ["warn", "?", "asked"],
};

export function Code({ text, family }: { text: string; family: string }) {
  return <>{text.split("\n").map((line, i) => (
    <>{i > 0 && "\n"}{colour(line, family).map(([piece, kind]) => kind ? <span class={`t-${kind}`}><Shown text={piece} /></span> : <Shown text={piece} />)}</>
  ))}</>;
}

function Verdict({ part }: { part: Part }) {
  const [tone, sign, word] = VERDICTS[part.effect ?? part.verdict ?? ""] ?? ["", "", ""];
  if (!word) return null;
  return <span class={`verdict ${tone}`}>{sign} {word}{part.rule && <> by <code><Shown text={part.rule} line /></code></>}
    {!part.rule && part.why && <>: <Shown text={part.why} line /></>}</span>;
}

export function Command({ preview, command }: { preview: Preview; command: string }) {
  const parts: Part[] | null = preview.parts?.length ? preview.parts
    : splitCommand(command)?.map((part) => ({ text: part.text, operator: part.operator })) ?? null;
  const judged = parts?.some((part) => part.effect || part.verdict);
  const several = parts !== null && (parts.length > 1 || judged);
  return (
    <section class="command" aria-label="Command">
      {several ? (
        <>
          <ol class="parts">
            {parts!.map((part) => (
              <li>
                <span class="operator mono" aria-label={part.operator ? `then, ${part.operator}` : undefined}>{part.operator ?? ""}</span>
                <div>
                  <pre class="mono"><Code text={part.text ?? part.command ?? ""} family="sh" /></pre>
                  <Verdict part={part} />
                  {(part.redirections ?? []).map((redirection) => (
                    <div class="redirection"><Shown text={typeof redirection === "string" ? redirection : redirection.text ?? `writes to ${redirection.path}`} line /></div>
                  ))}
                </div>
              </li>
            ))}
          </ol>
          <details>
            <summary>As it would run</summary>
            <pre class="mono whole"><Code text={command} family="sh" /></pre>
          </details>
        </>
      ) : <pre class="mono whole"><Code text={command} family="sh" /></pre>}
    </section>
  );
}
