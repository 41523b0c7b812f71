/* Every key, in one table: the help is printed from it. */
import { answer, isArmed, pickAll, show, undo } from "./answers";
import { neighbour, shownGroups, shownOrder } from "./order";
import { copyLink, type Panel } from "./request";
import { pickByNumber } from "./question";
import { canAnswer, changed, offers, setPrefs, state, type Item } from "./store";
import { isPlan, isQuestion } from "./words";

export interface Key { keys: string; words: string; group: string }
export const KEYS: Key[] = [
  { keys: "j / ↓", words: "next request", group: "Move" },
  { keys: "k / ↑", words: "previous request", group: "Move" },
  { keys: "Enter", words: "open the first request", group: "Move" },
  { keys: "Esc", words: "close what is open", group: "Move" },
  { keys: "Space", words: "scroll the request; Shift+Space, PageUp, PageDown, Home, End too", group: "Move" },
  { keys: "/", words: "search", group: "Move" },
  { keys: "Ctrl K", words: "all commands, sessions and rules", group: "Move" },
  { keys: "y", words: "allow once", group: "Answer" },
  { keys: "s", words: "allow for this session", group: "Answer" },
  { keys: "a", words: "allow always…", group: "Answer" },
  { keys: "e", words: "edit, then allow…", group: "Answer" },
  { keys: "n", words: "deny, with words…", group: "Answer" },
  { keys: "q", words: "stop the run…", group: "Answer" },
  { keys: "h", words: "snooze…", group: "Answer" },
  { keys: "p", words: "assign to a person…", group: "Answer" },
  { keys: "x", words: "pick for one answer to several", group: "Answer" },
  { keys: "X", words: "pick the whole group", group: "Answer" },
  { keys: "c", words: "comment on a line", group: "Answer" },
  { keys: "u", words: "undo an allow, if that is switched on", group: "Answer" },
  { keys: "1 … 9", words: "pick an answer of a question", group: "Answer" },
  { keys: "d", words: "unified or side by side", group: "Look" },
  { keys: "z", words: "fold or unfold unchanged lines", group: "Look" },
  { keys: "f", words: "the whole file around a difference", group: "Look" },
  { keys: "w", words: "wrap long lines", group: "Look" },
  { keys: "i", words: "what led to this", group: "Look" },
  { keys: "o", words: "open the file in your editor, if one is chosen in Settings", group: "Look" },
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
  const panels: Record<string, Panel> = { n: "deny", q: "abort", e: "edit", a: "always", h: "snooze", p: "assign" };
  const question = isQuestion(item.p), narrow = question || isPlan(item.p);
  if ((key === "a" && (narrow || !offers("/api/policy"))) || (key === "e" && question)) return false;
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

/* Actions on the open request, for the palette; each does the same as its key. */
const answerable = (): Item | undefined => { const item = openItem(); return item && !item.closed && !item.busy && canAnswer() && state.connection === "live" ? item : undefined; };
const plain = (): boolean => { const item = answerable(); return !!item && !isQuestion(item.p) && !isPlan(item.p); };
export const ACTIONS: { key: string; words: string; can: () => boolean }[] = [
  { key: "y", words: "Allow once", can: () => !!answerable() }, { key: "n", words: "Deny…", can: () => !!answerable() }, { key: "a", words: "Always…", can: () => plain() && offers("/api/policy") },
  { key: "s", words: "Allow for this session", can: plain }, { key: "e", words: "Edit, then allow…", can: () => { const item = answerable(); return !!item && !isQuestion(item.p); } }, { key: "q", words: "Stop the run…", can: () => !!answerable() },
  { key: "h", words: "Snooze…", can: () => !!answerable() }, { key: "p", words: "Assign to a person…", can: () => !!answerable() },
  { key: "x", words: "Pick for one answer to several", can: () => !!answerable() }, { key: "c", words: "Comment on a line", can: () => !!answerable() && !!document.querySelector(".row.can, .plan .plus-comment") }, { key: "o", words: "Open the file in your editor", can: () => !!document.querySelector(".request .open-file") },
  { key: "d", words: "Unified or side by side", can: () => !!document.querySelector(".diff") }, { key: "w", words: "Wrap long lines", can: () => !!document.querySelector(".diff") },
  { key: "f", words: "The whole file around a difference", can: () => !!document.querySelector(".diff") }, { key: "l", words: "Copy the link of this request", can: () => !!openItem() },
];
export function act(key: string, setPanel: (panel: Panel) => void): void { void (answers(key, setPanel) || picks(key) || look(key)); }

/* x picks the request on screen for a common answer, X all requests of its group. */
function picks(key: string): boolean {
  const item = openItem() ?? (state.open !== null && isInbox() ? state.items.get(state.open) : undefined);
  if (!item || item.closed || !canAnswer() || (key !== "x" && key !== "X")) return false;
  pickAll(key === "X" ? shownGroups().find((one) => one.items.includes(item))?.items ?? [item] : [item]);
  return true;
}

/* The request, by a page, a line or to an end; true when there is something to scroll. */
function scrolls(event: KeyboardEvent): boolean {
  const box = document.querySelector<HTMLElement>(".request .scroll");
  const pages: Record<string, number> = { " ": event.shiftKey ? -1 : 1, PageDown: 1, PageUp: -1 };
  if (!box || event.target instanceof HTMLButtonElement || event.target instanceof HTMLAnchorElement || event.target instanceof HTMLInputElement) return false;
  if (event.key in pages) box.scrollBy({ top: pages[event.key] * (box.clientHeight - 60) });
  else if (event.key === "Home") box.scrollTo({ top: 0 });
  else if (event.key === "End") box.scrollTo({ top: box.scrollHeight });
  else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && document.activeElement === box) box.scrollBy({ top: event.key === "ArrowDown" ? 60 : -60 });
  else return false;
  return true;
}

function look(key: string): boolean {
  if (key === "u") return undo();
  if (key === "d") setPrefs({ split: state.prefs.split === "split" ? "unified" : state.prefs.split === "unified" ? "split"
    : document.querySelector(".code.split") ? "unified" : "split" });
  else if (key === "z") dispatchEvent(new Event("nod-fold"));
  else if (key === "f") dispatchEvent(new Event("nod-whole"));
  else if (key === "w") setPrefs({ wrap: !state.prefs.wrap });
  else if (key === "i") { const turns = document.querySelector<HTMLDetailsElement>(".turns"); if (turns) turns.open = !turns.open; }
  else if (key === "o") document.querySelector<HTMLElement>(".request .open-file")?.click();
  else if (key === "c") {
    const block = document.querySelector<HTMLElement>(".plan .plus-comment");
    if (block) { block.click(); return true; }
    const lines = document.querySelector<HTMLElement>(".code:has(.row.can)");
    lines?.focus();
    lines?.dispatchEvent(new KeyboardEvent("keydown", { key: "c", cancelable: true }));
  } else if (key === "l" && openItem()) copyLink();
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
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k" && state.connection !== "login") {
      state.palette = !state.palette;
      changed();
      event.preventDefault();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || state.palette) return;
    if (event.defaultPrevented) return; // an editor has taken it
    const target = event.composedPath()[0]; // an editor is in a shadow root
    if (typing(target)) {
      if (event.key === "Escape") { (target as HTMLElement).blur(); movement(event, setPanel); }
      return;
    }
    if (state.connection === "login") return;
    if (!state.help && isInbox() && scrolls(event)) { event.preventDefault(); return; }
    // Letters that act can be switched off; then Escape, Enter, arrows and the palette are left.
    if (!state.prefs.keys && event.key.length === 1) return;
    const gone = Date.now() - going < 1000;
    going = 0;
    let taken = false;
    if (gone && PLACES[event.key]) { location.hash = PLACES[event.key]; taken = true; }
    else if (event.key === "g") { going = Date.now(); taken = true; }
    // A key that is held down moves; it never answers.
    else taken = movement(event, setPanel) || (!event.repeat && !state.help && (answers(event.key, setPanel) || picks(event.key) || look(event.key)));
    if (taken) event.preventDefault();
  };
  addEventListener("keydown", pressed);
  return () => removeEventListener("keydown", pressed);
}
