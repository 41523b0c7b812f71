/* Every key, in one table: the help is printed from it. */
import { answer, isArmed, show } from "./answers";
import { neighbour, shownOrder } from "./order";
import type { Panel } from "./request";
import { pickByNumber } from "./question";
import { canAnswer, changed, offers, setPrefs, state, type Item } from "./store";
import { isPlan, isQuestion } from "./words";

export interface Key { keys: string; words: string; group: string }
export const KEYS: Key[] = [
  { keys: "j / ↓", words: "next request", group: "Move" },
  { keys: "k / ↑", words: "previous request", group: "Move" },
  { keys: "Enter", words: "open the first request", group: "Move" },
  { keys: "Esc", words: "close what is open", group: "Move" },
  { keys: "/", words: "search", group: "Move" },
  { keys: "y", words: "allow once", group: "Answer" },
  { keys: "s", words: "allow for this session", group: "Answer" },
  { keys: "a", words: "allow always…", group: "Answer" },
  { keys: "e", words: "edit, then allow…", group: "Answer" },
  { keys: "n", words: "deny, with words…", group: "Answer" },
  { keys: "x", words: "abort the run…", group: "Answer" },
  { keys: "1 … 9", words: "pick an answer of a question", group: "Answer" },
  { keys: "d", words: "unified or side by side", group: "Look" },
  { keys: "z", words: "fold or unfold unchanged lines", group: "Look" },
  { keys: "f", words: "the whole file around a difference", group: "Look" },
  { keys: "w", words: "wrap long lines", group: "Look" },
  { keys: "g i", words: "inbox", group: "Go" },
  { keys: "g s", words: "sessions", group: "Go" },
  { keys: "g r", words: "rules", group: "Go" },
  { keys: "g h", words: "history", group: "Go" },
  { keys: "g f", words: "insights", group: "Go" },
  { keys: "g t", words: "settings", group: "Go" },
  { keys: "?", words: "this help", group: "Go" },
];
const PLACES: Record<string, string> = { i: "#/", s: "#/sessions", r: "#/rules", h: "#/history", l: "#/history", f: "#/figures", t: "#/settings" };

let going = 0;

const typing = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(TEXTAREA|SELECT)$/.test(target.tagName)
    || (target instanceof HTMLInputElement && !/^(checkbox|radio|button)$/.test(target.type)));

function move(step: number): void {
  const order = shownOrder();
  if (!order.length) return;
  const at = state.open === null ? -1 : order.findIndex((item) => item.key === state.open);
  if (at >= 0) { const next = order[at + step]; if (next) show(next.key); }
  else show(neighbour(state.open, step) ?? order[0].key);
}

function openItem(): Item | undefined {
  return state.open !== null && isInbox() && state.picked.size < 2 ? state.items.get(state.open) : undefined;
}
export const isInbox = (): boolean => /^(#\/?|#\/request\/.*)?$/.test(state.route);

function answers(key: string, setPanel: (panel: Panel) => void): boolean {
  const item = openItem();
  if (!item || item.closed || item.busy || !canAnswer() || state.connection !== "live") return false;
  const panels: Record<string, Panel> = { n: "deny", x: "abort", e: "edit", a: "always" };
  const question = isQuestion(item.p), narrow = question || isPlan(item.p);
  if (key === "a" && (narrow || !offers("/api/policy"))) return false;
  if (question && /^[1-9]$/.test(key)) return pickByNumber(item, Number(key));
  if (panels[key]) { setPanel(panels[key]); return true; }
  // No single key answers what has not been on screen, unchanged, for half a second.
  if (narrow) {
    // The bar knows the answers and the mode: its own button is pressed, if it may be.
    if (key === "y") document.querySelector<HTMLButtonElement>(".answers .allow")?.click();
    return key === "y";
  }
  if ((key === "y" || key === "s") && isArmed([item])) { void answer(item, key === "y" ? "allow_once" : "allow_session"); return true; }
  return false;
}

function look(key: string): boolean {
  if (key === "d") setPrefs({ split: state.prefs.split === "split" ? "unified" : state.prefs.split === "unified" ? "split"
    : document.querySelector(".code.split") ? "unified" : "split" });
  else if (key === "z") dispatchEvent(new Event("nod-fold"));
  else if (key === "f") dispatchEvent(new Event("nod-whole"));
  else if (key === "w") setPrefs({ wrap: !state.prefs.wrap });
  else return false;
  return true;
}

function movement(event: KeyboardEvent, setPanel: (panel: Panel) => void): boolean {
  const key = event.key;
  if (key === "Escape") {
    if (state.help) state.help = false;
    else if (document.querySelector(".panel")) setPanel("");
    else if (state.picked.size) state.picked.clear();
    else if (isInbox() && state.open !== null) { show(null); return true; }
    changed();
    return true;
  }
  if (key === "?") { state.help = !state.help; changed(); return true; }
  if (key === "/") {
    const field = document.querySelector<HTMLInputElement>("input[type=search]");
    field?.focus();
    return field !== null;
  }
  if (!isInbox()) return false;
  if (key === "j" || key === "ArrowDown") move(1);
  else if (key === "k" || key === "ArrowUp") move(-1);
  else if (key === "Enter" && state.open === null && !(event.target instanceof HTMLButtonElement) && !(event.target instanceof HTMLAnchorElement)) move(1);
  else return false;
  return true;
}

export function listenToKeys(setPanel: (panel: Panel) => void): () => void {
  const pressed = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (typing(event.target)) {
      if (event.key === "Escape") { (event.target as HTMLElement).blur(); movement(event, setPanel); }
      return;
    }
    if (state.connection === "login") return;
    const gone = Date.now() - going < 1000;
    going = 0;
    let taken = false;
    if (gone && PLACES[event.key]) { location.hash = PLACES[event.key]; taken = true; }
    else if (event.key === "g") { going = Date.now(); taken = true; }
    // A key that is held down moves; it never answers.
    else taken = movement(event, setPanel) || (!event.repeat && !state.help && (answers(event.key, setPanel) || look(event.key)));
    if (taken) event.preventDefault();
  };
  addEventListener("keydown", pressed);
  return () => removeEventListener("keydown", pressed);
}
