/* "Always": choose a rule, narrow to broad, or write one; see at once what it would have done. */
import { useEffect, useState } from "preact/hooks";
import { call } from "./api";
import { answer } from "./answers";
import { offers, type Item } from "./store";
import { Shown } from "./text";

interface Tried { covered: number; calls: number }
const SCOPES: [string, string][] = [["session", "in this session"], ["project", "in this project"], ["everywhere", "everywhere"]];
/* When it ends: after hours, or after a number of calls. */
const ENDS: [string, number, number][] = [["until revoked", 0, 0], ["for an hour", 1, 0], ["for a day", 24, 0], ["for a week", 168, 0],
  ["for 1 more call", 0, 1], ["for 5 more calls", 0, 5], ["for 20 more calls", 0, 20]];
const rulesIn = (text: string): string[] => text.split("\n").map((line) => line.trim()).filter(Boolean);

export function Always({ item, close, armed, seenAll }: { item: Item; close: () => void; armed: boolean; seenAll: boolean }) {
  const suggestions = item.p.suggestions.filter((one) => one.rules?.length);
  const [text, setText] = useState(suggestions.length ? suggestions[0].rules.join("\n") : "");
  const [tried, setTried] = useState<Tried | null>(null);
  const [wrong, setWrong] = useState("");
  const [scope, setScope] = useState("project");
  const [end, setEnd] = useState(0);
  useEffect(() => {
    setTried(null);
    const rules = rulesIn(text);
    if (!offers("/api/policy/try") || !rules.length) return;
    let stale = false;
    const timer = setTimeout(() => {
      Promise.all(rules.map((rule) => call("POST", "/api/policy/try", { rule, effect: "allow" }))).then((said) => {
        if (stale) return;
        setTried({ covered: said.reduce((sum, one) => sum + Number(one.covered ?? 0), 0), calls: Number(said[0].calls ?? 0) });
        setWrong("");
      }, (error: Error) => { if (!stale) setWrong(error.message); });
    }, 150);
    return () => { stale = true; clearTimeout(timer); };
  }, [text]);
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
      <label class="small dim">Holds <select aria-label="Where it holds" value={scope} onChange={(event) => setScope(event.currentTarget.value)}>
        {SCOPES.map(([name, words]) => <option value={name}>{words}</option>)}</select> <select aria-label="How long it holds" value={end} onChange={(event) => setEnd(Number(event.currentTarget.value))}>
        {ENDS.map(([words], i) => <option value={i}>{words}</option>)}</select></label>
      <p class="small" role="status">{wrong ? <span class="bad">{wrong}</span>
        : !seenAll ? "Scroll to the end to enable “Allow always”."
        : tried ? `Would have covered ${tried.covered} of your last ${tried.calls} calls.` : ""}</p>
      <div class="line end"><button type="button" class="quiet" onClick={close}>Cancel</button>
        <button type="submit" class="primary" disabled={!ready}>Allow always</button></div>
    </form>
  );
}
