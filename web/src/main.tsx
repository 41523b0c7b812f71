/* The page: login, the frame around the screens, and what is always there (connection, help, toasts). */
import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { forgetKey, login, Refused } from "./api";
import { showCount } from "./alerts";
import { show, staysInInbox, undo } from "./answers";
import { Figures } from "./figures";
import { Inbox } from "./inbox";
import { KEYS, isInbox, listenToKeys } from "./keys";
import { live, keyOf, reconnect } from "./live";
import { Decided } from "./decided";
import { History } from "./history";
import { Look } from "./look";
import { shownOrder } from "./order";
import { Palette } from "./palette";
import { renewSubscription } from "./push";
import { Rules } from "./rules";
import { SessionView, Sessions } from "./sessions";
import { Settings } from "./settings";
import { applyTheme, changed, isPhone, offers, state, useNow, useStore, waiting } from "./store";
import { ago, clock, Shown } from "./text";
import { startWorker } from "./worker";
import type { Panel } from "./request";
import "./style.css";

const PLACES: [string, string, string, () => boolean][] = [
  ["#/", "Inbox", "M4 13h4l1.5 3h5L16 13h4M4 13 6.5 5h11L20 13v6H4z", () => true],
  ["#/sessions", "Sessions", "M4 6h16M4 12h16M4 18h10", () => true],
  ["#/rules", "Rules", "M12 3v18M5 7h14M5 7l-2 7h4zM19 7l-2 7h4z", () => offers("/api/policy")],
  ["#/history", "History", "M6 3h9l4 4v14H6zM9 11h7M9 15h7", () => offers("/api/audit")],
  ["#/figures", "Insights", "M5 20V10M10 20V4M15 20v-7M20 20V8", () => offers("/api/audit")],
  ["#/settings", "Settings", "M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM12 2v3M12 19v3M2 12h3M19 12h3M5 5l2 2M17 17l2 2M19 5l-2 2M7 17l-2 2", () => true],
];

function Nav() {
  const { route, open, items, loaded } = useStore();
  const count = waiting().length, record = loaded && /^#\/request\//.test(route) && open !== null && !items.has(open);
  return (
    <nav aria-label="Main">
      <div class="brand"><svg viewBox="0 0 64 64" aria-hidden="true"><rect width="64" height="64" rx="14" /><path d="M17 33.5 28 44.5 47.5 21" /></svg><span>Nod</span></div>
      {PLACES.filter(([, , , there]) => there()).map(([href, name, path]) => {
        const here = href === "#/" ? isInbox() && !record : href === "#/history" && record ? true : route.startsWith(href) || (href === "#/sessions" && route.startsWith("#/session/"));
        return <a href={href} aria-current={here ? "page" : undefined}>
          <svg viewBox="0 0 24 24" aria-hidden="true"><path d={path} /></svg><span class="name">{name}</span>
          {name === "Inbox" && count > 0 && <span class="number" aria-label={`${count} waiting`}>{count}</span>}</a>;
      })}
      <button type="button" class="quiet keys" onClick={() => { state.palette = true; changed(); }}><span>Commands</span><kbd>Ctrl K</kbd></button>
      <button type="button" class="quiet keys" onClick={() => { state.help = true; changed(); }}><span>Keys</span><kbd>?</kbd></button>
      <Connected />
    </nav>
  );
}

function Connected() {
  const { connection, me } = useStore();
  const words = connection === "live" ? "Connected" : connection === "lost" ? "Disconnected" : "Connecting…";
  return <div class={`connected ${connection}`} role="status"><span class="lamp" aria-hidden="true" /><span class="name">{words}{me && <small title={me.name}><Shown text={me.name} line /></small>}</span></div>;
}

function LostBar() {
  const { connection, why, lostAt } = useStore();
  const now = useNow();
  if (connection !== "lost") return null;
  return <div class="lost away" role="alert">Disconnected for {ago(lostAt, now)}: {why}. You may be seeing old data. Answering is paused until Nod reconnects.
    <button type="button" onClick={() => reconnect()}>Try now</button></div>;
}

/* A recovery code was used: whoever sees this can still revoke the key that it added. */
function NewKeys() {
  const { newKeys, connection } = useStore();
  if (newKeys.length === 0 || connection === "lost") return null;
  return <div class="lost" role="alert">{newKeys.map((key) => <div>A recovery code of <Shown text={key.person} line /> added the key “<Shown text={key.name ?? ""} line />”, which signs from {clock(key.validFrom ?? "")} on. If that was not <Shown text={key.person} line />, revoke it now.</div>)}
    <button type="button" onClick={() => { location.hash = "#/settings"; }}>Show keys</button></div>;
}

function Help() {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => { box.current?.showModal(); }, []);
  const close = () => { state.help = false; changed(); };
  return (
    <dialog ref={box} class="help" aria-label="Keys" onClose={close} onClick={(event) => { if (event.target === box.current) close(); }}>
      <header><h2>Keys</h2><button type="button" class="quiet" onClick={close} aria-label="Close">✕</button></header>
      <div class="groups">{["Move", "Answer", "Look", "Go"].map((group) => (
        <section><h3>{group}</h3><dl>{KEYS.filter((key) => key.group === group).map((key) => <div><dt>{key.keys.split(" ").map((k) => k === "/" && key.keys !== "/" ? " " : <kbd>{k}</kbd>)}</dt><dd>{key.words}</dd></div>)}</dl></section>
      ))}</div>
      <p class="dim small">An allow works only when a request has been on screen, unchanged, for half a second. Deny always works.</p>
    </dialog>
  );
}

function LoginNeeded() {
  const { why } = useStore();
  const [code, setCode] = useState("");
  const enter = async () => {
    try { await login(code.replace(/[^0-9A-Za-z]/g, "").toLowerCase()); location.reload(); } catch (error) {
      state.why = error instanceof Refused ? "This code has expired or was already used." : "Nod is not connected.";
      changed();
    }
  };
  return (
    <main class="login">
      <svg viewBox="0 0 64 64" aria-hidden="true"><rect width="64" height="64" rx="14" /><path d="M17 33.5 28 44.5 47.5 21" /></svg>
      <h1>Log in to Nod</h1>
      {why && <p class="bad" role="alert">{why}</p>}
      <p>Open the link that <code>nod serve</code> printed when it started, or make a new one on the machine where it runs:</p>
      <pre class="mono">nod login</pre>
      <p class="dim">A link works once, within ten minutes.</p>
      <form onSubmit={(event) => { event.preventDefault(); void enter(); }}>
        <label for="code">Or type the code that <code>nod pair</code> shows</label>
        <input id="code" value={code} onInput={(event) => setCode(event.currentTarget.value)} autocomplete="one-time-code" autocapitalize="none" spellcheck={false} maxLength={12} />
        <button type="submit" disabled={code.length < 8}>Log in</button></form>
    </main>
  );
}

function Screen({ panel, setPanel }: { panel: Panel; setPanel: (panel: Panel) => void }) {
  const { route, items, loaded } = useStore();
  const session = /^#\/session\/([^/]+)/.exec(route), request = /^#\/request\/([^/]+)\/([^/]+)/.exec(route);
  // A link to a request that no longer waits shows the stored request and its answer.
  if (request && loaded && !items.has(keyOf(decodeURIComponent(request[1]), decodeURIComponent(request[2]))))
    return <Decided session={decodeURIComponent(request[1])} call={decodeURIComponent(request[2])} />;
  if (session) return <SessionView id={decodeURIComponent(session[1])} />;
  if (route.startsWith("#/sessions")) return <Sessions />;
  if (route.startsWith("#/rules")) return <Rules />;
  if (route.startsWith("#/history")) return <History />;
  if (route.startsWith("#/figures")) return <Figures />;
  if (route.startsWith("#/settings")) return <Settings />;
  return <Inbox panel={panel} setPanel={setPanel} />;
}

const wideEnough = (): boolean => !isPhone();

function App() {
  const store = useStore();
  const [panel, setPanel] = useState<Panel>("");
  useEffect(() => listenToKeys(setPanel), []);
  const count = waiting().length;
  useEffect(() => showCount(count), [count, store.connection]);
  useEffect(() => {
    // On a wide screen the oldest request is open at once, when nothing else is.
    if (store.loaded && store.open === null && count > 0 && wideEnough() && isInbox() && staysInInbox() && !/nothing/.test(store.route)) {
      const first = shownOrder()[0];
      if (first && !dismissed) show(first.key);
    }
    if (count === 0) dismissed = false;
  }, [store.loaded, store.open, count, store.route, store.search]);
  if (store.connection === "login") return <LoginNeeded />;
  return (
    <div class={`frame ${isInbox() && store.open !== null ? "in-request" : ""}`}>
      <LostBar />
      <NewKeys />
      <Nav />
      <Screen panel={panel} setPanel={setPanel} />
      {store.help && <Help />}
      {store.palette && <Palette setPanel={setPanel} />}
      <div class="toasts" role="status" aria-live="polite">{store.toast && <div class={`toast ${store.toast.tone}`}><Shown text={store.toast.words} line />{store.toast.act && <button type="button" class="small" onClick={() => undo()}>{store.toast.act}<kbd>u</kbd></button>}</div>}</div>
    </div>
  );
}

let dismissed = false; // Esc was pressed on a wide screen: the list is shown, and no request opens by itself

/* Reads the screen to show from the event of a move. The address bar will not do: when two moves follow each other, it
 * already has the second address while the first event is handled. */
function readRoute(moved?: HashChangeEvent): void {
  const before = state.route;
  if (location.hash === "#/log") location.replace("#/history"); // older links call the history so
  state.route = (moved ? new URL(moved.newURL).hash : location.hash) || "#/";
  // A request that was answered while it was open leaves the list when the person goes on; its link shows the record.
  if (state.open !== null && before !== state.route && state.items.get(state.open)?.closed) state.items.delete(state.open);
  const request = /^#\/request\/([^/]+)\/([^/]+)/.exec(state.route);
  if (request) state.open = keyOf(decodeURIComponent(request[1]), decodeURIComponent(request[2]));
  else if (isInbox() && /request/.test(before)) { state.open = null; dismissed = wideEnough(); }
  changed();
}

async function start(): Promise<void> {
  startWorker();
  applyTheme();
  if (location.pathname === "/a") { render(<Look />, document.getElementById("app")!); return; }
  const once = /^#login=(.+)$/.exec(location.hash);
  if (once) {
    history.replaceState(null, "", "#/"); // the code is in no history
    try { await login(decodeURIComponent(once[1])); } catch (error) {
      // A device that is logged in already needs no link.
      state.why = error instanceof Refused ? error.message : "The server cannot be reached.";
    }
  }
  addEventListener("hashchange", readRoute);
  readRoute();
  render(<App />, document.getElementById("app")!);
  void renewSubscription().catch(() => { /* the settings say what is wrong when somebody asks */ });
  await live();
}

export function logOut(): void {
  forgetKey();
  location.reload();
}

void start();
