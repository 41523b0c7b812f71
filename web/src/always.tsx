/* "Always": choose a rule, narrow to broad, or write one; see at once what it would have done. */
import { useEffect, useState } from "preact/hooks";
import { call } from "./api";
import { answer } from "./answers";
import { offers, type Item } from "./store";
import { Shown } from "./text";
import type { Suggestion } from "./types";

const ruleOf = (s: Suggestion): string => typeof s === "string" ? s : s.rule ?? s.text ?? "";
const wordsOf = (s: Suggestion): string => typeof s === "string" ? "" : s.words ?? s.note ?? s.breadth ?? "";

interface Tried { matched: number; of: number }

export function Always({ item, close, armed, seenAll }: { item: Item; close: () => void; armed: boolean; seenAll: boolean }) {
  const suggestions = item.p.suggestions.filter((s) => ruleOf(s));
  const [rule, setRule] = useState(suggestions.length ? ruleOf(suggestions[0]) : item.p.toolCall.name);
  const [tried, setTried] = useState<Tried | null>(null);
  const [wrong, setWrong] = useState("");
  useEffect(() => {
    if (!offers("/api/policy/try") || !rule) return;
    const timer = setTimeout(() => {
      call("POST", "/api/policy/try", { rule, effect: "allow" }).then((said) => {
        setTried({ matched: Number(said.matched ?? said.would ?? said.count ?? 0), of: Number(said.of ?? said.calls ?? said.total ?? 0) });
        setWrong("");
      }, (error: Error) => { setTried(null); setWrong(error.message); });
    }, 200);
    return () => clearTimeout(timer);
  }, [rule]);
  return (
    <form class="panel" onSubmit={(event) => {
      event.preventDefault();
      if (armed && seenAll && rule && !wrong) void answer(item, "allow_always", { rules: [rule] }).then(close);
    }}>
      <fieldset>
        <legend>Allow from now on</legend>
        {suggestions.map((suggestion) => {
          const text = ruleOf(suggestion);
          return <label class="choice"><input type="radio" name="rule" checked={rule === text} onChange={() => setRule(text)} />
            <code><Shown text={text} line /></code> <span class="dim"><Shown text={wordsOf(suggestion)} line /></span></label>;
        })}
      </fieldset>
      <label for="rule-text" class="small dim">The rule, as it will be kept</label>
      <input id="rule-text" class="mono" value={rule} onInput={(event) => setRule(event.currentTarget.value)} spellcheck={false} autocomplete="off" />
      <p class="small" role="status">{wrong ? <span class="bad">{wrong}</span>
        : !seenAll ? "Scroll to the end first: what was not shown cannot be allowed for always."
        : tried ? `Would have let pass ${tried.matched} of your last ${tried.of} calls.` : ""}</p>
      <div class="line end"><button type="button" class="quiet" onClick={close}>Cancel</button>
        <button type="submit" class="primary" disabled={!armed || !seenAll || !rule || wrong !== ""}>Allow always</button></div>
    </form>
  );
}
