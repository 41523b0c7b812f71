/* "Always": choose a rule, narrow to broad, or write one; see at once what it would have done. */
import { useState } from "preact/hooks";
import { answer } from "./answers";
import type { Item } from "./store";
import { Shown } from "./text";
import { TriedCalls, useTried } from "./tried";

const SCOPES: [string, string][] = [["session", "in this session"], ["project", "in this project"], ["everywhere", "everywhere"]];
/* When it ends: after hours, or after a number of calls. */
const ENDS: [string, number, number][] = [["until revoked", 0, 0], ["for an hour", 1, 0], ["for a day", 24, 0], ["for a week", 168, 0],
  ["for 1 more call", 0, 1], ["for 5 more calls", 0, 5], ["for 20 more calls", 0, 20]];
const rulesIn = (text: string): string[] => text.split("\n").map((line) => line.trim()).filter(Boolean);

export function Always({ item, close, armed, seenAll }: { item: Item; close: () => void; armed: boolean; seenAll: boolean }) {
  const suggestions = item.p.suggestions.filter((one) => one.rules?.length);
  const [text, setText] = useState(suggestions.length ? suggestions[0].rules.join("\n") : "");
  const { tried, wrong } = useTried(rulesIn(text));
  const [scope, setScope] = useState("project");
  const [end, setEnd] = useState(0);
  const ready = armed && seenAll && rulesIn(text).length > 0 && !wrong;
  return (
    <form class="panel" onSubmit={(event) => {
      event.preventDefault();
      if (ready) void answer(item, "allow_always", { rules: rulesIn(text), scope, uses: ENDS[end][2],
        expiresAt: ENDS[end][1] ? new Date(Date.now() + ENDS[end][1] * 3600_000).toISOString() : undefined }).then(close);
    }}>
      <fieldset>
        <legend>Allow from now on{suggestions.length > 1 && <span class="dim"> (narrow to broad)</span>}</legend>
        {suggestions.map((suggestion) => {
          const own = suggestion.rules.join("\n");
          return <label class="choice"><input type="radio" name="rule" checked={text === own} onChange={() => setText(own)} />
            <span>{suggestion.label && <><Shown text={suggestion.label} line />: </>}{suggestion.rules.map((rule) => <><code><Shown text={rule} line /></code> </>)}{suggestion.warning && <span class="warn"><Shown text={suggestion.warning} line /></span>}</span></label>;
        })}
      </fieldset>
      {!suggestions.length && <p class="dim">No safe rule to suggest. You can write one below.</p>}
      <label for="rule-text" class="small dim">{rulesIn(text).length > 1 ? "Rules to save, one on each line" : "Rule to save"}</label>
      <textarea id="rule-text" class="mono" rows={Math.max(1, text.split("\n").length)} value={text} onInput={(event) => setText(event.currentTarget.value)} spellcheck={false} />
      <label class="small dim holds">Holds <select aria-label="Where it holds" value={scope} onChange={(event) => setScope(event.currentTarget.value)}>
        {SCOPES.map(([name, words]) => <option value={name}>{words}</option>)}</select> <select aria-label="How long it holds" value={end} onChange={(event) => setEnd(Number(event.currentTarget.value))}>
        {ENDS.map(([words], i) => <option value={i}>{words}</option>)}</select></label>
      <div class="small" role="status">{wrong ? <span class="bad">{wrong}</span>
        : !seenAll ? "Scroll to the end to enable “Allow always”."
        : tried ? <TriedCalls tried={tried} verb="covered" /> : ""}</div>
      <div class="line end"><button type="button" class="quiet" onClick={close}>Cancel</button>
        <button type="submit" class="primary" disabled={!ready}>Allow always</button></div>
    </form>
  );
}
