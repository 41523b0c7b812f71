/* Everything by name: actions on the open request, places, sessions, rules. Ctrl+K. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { get } from "./api";
import { act, ACTIONS } from "./keys";
import type { Panel } from "./request";
import { changed, offers, setPrefs, state, useStore, type Prefs } from "./store";
import { Shown, shortPath } from "./text";
import type { Session } from "./types";
import { show } from "./answers";
import { shownOrder } from "./order";
import { headline } from "./words";

interface Entry { group: string; words: string; about?: string; keys?: string; run: () => void }
const SHOWN_MAX = 40;

const PLACES: [string, string, string][] = [["Inbox", "#/", "g i"], ["Sessions", "#/sessions", "g s"], ["Rules", "#/rules", "g r"], ["History", "#/history", "g h"], ["Insights", "#/figures", "g f"], ["Settings", "#/settings", "g t"]];
const SETTINGS: [string, Partial<Prefs>][] = [["Theme: system", { theme: "auto" }], ["Theme: light", { theme: "light" }], ["Theme: dark", { theme: "dark" }], ["Differences: side by side", { split: "split" }], ["Differences: unified", { split: "unified" }]];

function useFound(): { sessions: Session[]; rules: string[] } {
  const [sessions, setSessions] = useState<Session[]>([]), [rules, setRules] = useState<string[]>([]);
  useEffect(() => {
    get("/api/sessions?limit=100").then((page) => setSessions(page.sessions), () => { /* those that are known are listed */ });
    if (offers("/api/policy")) get("/api/policy").then((policy) => setRules(Object.values(policy).flatMap((list) => Array.isArray(list) ? list.map((rule: { rule?: string }) => rule?.rule ?? "") : []).filter(Boolean)), () => { /* as above */ });
  }, []);
  return { sessions: sessions.length ? sessions : [...state.sessions.values()], rules };
}

export function Palette({ setPanel }: { setPanel: (panel: Panel) => void }) {
  const { search } = useStore();
  const box = useRef<HTMLDialogElement>(null);
  const [words, setWords] = useState(""), [at, setAt] = useState(0);
  const { sessions, rules } = useFound();
  const close = () => { state.palette = false; changed(); };
  useEffect(() => { box.current?.showModal(); }, []);
  const all = useMemo((): Entry[] => [
    ...ACTIONS.filter((one) => one.can()).map((one): Entry => ({ group: "This request", words: one.words, keys: one.key, run: () => act(one.key, setPanel) })),
    ...PLACES.map(([name, hash, keys]): Entry => ({ group: "Go to", words: name, keys, run: () => { location.hash = hash; } })),
    ...shownOrder().slice(0, 200).map((item): Entry => ({ group: "Waiting", words: headline(item.p).slice(0, 160), about: item.p.agent, run: () => show(item.key) })),
    ...sessions.map((session): Entry => ({ group: "Sessions", words: session.title || session.id, about: shortPath(session.cwd), run: () => { location.hash = `#/session/${encodeURIComponent(session.id)}`; } })),
    ...rules.map((rule): Entry => ({ group: "Rules", words: rule, run: () => { location.hash = "#/rules"; } })),
    ...SETTINGS.map(([name, prefs]): Entry => ({ group: "Settings", words: name, run: () => setPrefs(prefs) })),
    { group: "Help", words: "Keys", keys: "?", run: () => { state.help = true; changed(); } },
  ], [sessions, rules, search]);
  const parts = words.toLowerCase().split(/\s+/).filter(Boolean);
  const found = all.filter((one) => { const text = `${one.group} ${one.words} ${one.about ?? ""}`.toLowerCase(); return parts.every((part) => text.includes(part)); }).slice(0, SHOWN_MAX);
  const chosen = Math.min(at, found.length - 1);
  const run = (entry: Entry | undefined) => { if (!entry) return; close(); queueMicrotask(entry.run); };
  const pressed = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step) { setAt((found.length + chosen + step) % Math.max(1, found.length)); event.preventDefault(); }
    else if (event.key === "Enter") { run(found[chosen]); event.preventDefault(); }
  };
  useEffect(() => { document.getElementById(`entry-${chosen}`)?.scrollIntoView({ block: "nearest" }); }, [chosen]);
  return (
    <dialog ref={box} class="palette" aria-label="Commands" onClose={close} onClick={(event) => { if (event.target === box.current) close(); }}>
      <input type="text" role="combobox" aria-expanded="true" aria-controls="entries" aria-activedescendant={found.length ? `entry-${chosen}` : undefined} aria-label="Find a command, a session or a rule"
        placeholder="Find a command, a session or a rule" value={words} onInput={(event) => { setWords(event.currentTarget.value); setAt(0); }} onKeyDown={pressed} autofocus autocomplete="off" />
      <ul id="entries" role="listbox" aria-label="Commands">
        {found.map((entry, i) => <li id={`entry-${i}`} role="option" aria-selected={i === chosen} onClick={() => run(entry)} onPointerMove={() => setAt(i)}>
          <span class="dim small group-name">{entry.group}</span><span class="words"><Shown text={entry.words} line /></span>{entry.about && <span class="dim small"><Shown text={entry.about} line /></span>}{entry.keys && <kbd>{entry.keys}</kbd>}</li>)}
      </ul>
      {!found.length && <p class="dim none">Nothing matches.</p>}
    </dialog>
  );
}
