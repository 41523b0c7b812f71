/* The settings screen: preferences of this device, then devices, keys, messages and the rest of the server's settings. */
import { useEffect, useState } from "preact/hooks";
import { call, forgetKey, get } from "./api";
import { stop } from "./live";
import { setPrefs, toast, useNow, useStore, type Prefs } from "./store";
import { ago, clock, Shown } from "./text";
import { Messages } from "./messages";
import { Passkeys } from "./passkeys";
import { Copy } from "./request";
import { canPush, subscribe, subscription, unsubscribe } from "./push";
import type { Device } from "./types";

function Toggle({ name, words, on, change, kind = "" }: { name: string; words: string; on: boolean; change: (on: boolean) => void; kind?: string }) {
  return <label class={`setting ${kind}`}><span class="words"><b>{name}</b><span class="dim small">{words}</span></span>
    <input type="checkbox" checked={on} onChange={(event) => change(event.currentTarget.checked)} /></label>;
}

function Choice<T extends string>({ name, value, options, change }: { name: string; value: T; options: [T, string][]; change: (value: T) => void }) {
  return <fieldset class="setting"><legend><b>{name}</b></legend><div class="segments">{options.map(([id, words]) => (
    <label><input type="radio" name={name} checked={value === id} onChange={() => change(id)} /><span>{words}</span></label>))}</div></fieldset>;
}

async function wantNotify(on: boolean): Promise<void> {
  if (on && typeof Notification !== "undefined" && Notification.permission !== "granted") {
    const said = await Notification.requestPermission();
    if (said !== "granted") { toast("The browser does not allow notifications for this page", "bad"); return; }
  }
  setPrefs({ notify: on });
}

/* Messages to this browser while no page of Nod is open. */
function Push() {
  const [on, setOn] = useState<boolean | null>(null);
  useEffect(() => { void subscription().then((has) => setOn(!!has), () => setOn(false)); }, []);
  const want = async (wanted: boolean) => {
    await (wanted ? subscribe() : unsubscribe());
    setOn(wanted);
    toast(wanted ? "This browser is told when nobody answers within ten seconds" : "This browser is told no more");
  };
  return <Toggle kind="push" name="Push messages" words="also when no page of Nod is open; they name the kind of act only" on={!!on}
    change={(wanted) => void want(wanted).catch((error: Error) => toast(`Push messages are not possible here: ${error.message}`, "bad"))} />;
}

interface Link { url: string; path: string; code: string; public: boolean; qr: string[]; expiresAt: string }

/* Rows of a QR code: dark on light in every theme, with the margin that readers need. */
function Picture({ rows }: { rows: string[] }) {
  const size = rows.length + 8;
  const path = rows.map((row, y) => [...row.matchAll(/1+/g)].map((run) => `M${run.index + 4} ${y + 4}h${run[0].length}v1h-${run[0].length}z`).join("")).join("");
  return <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label="QR code of the link" shape-rendering="crispEdges"><rect width={size} height={size} /><path d={path} /></svg>;
}

function NewDevice() {
  const { connection } = useStore(), [link, setLink] = useState<Link | null>(null);
  const [name, setName] = useState(""), [role, setRole] = useState("approver");
  const make = () => call("POST", "/api/logins", { role, ...(name ? { name } : {}) }).then(setLink, (error: Error) => toast(error.message, "bad"));
  const url = link ? (link.public ? link.url : location.origin + link.path) : "";
  return (
    <form class="card" onSubmit={(event) => { event.preventDefault(); void make(); }}>
      <h2>Log in another device</h2>
      <div class="fields"><label>Name<input value={name} onInput={(event) => setName(event.currentTarget.value)} placeholder="shown beside decisions" maxLength={60} /></label>
        <label>Role<select value={role} onChange={(event) => setRole(event.currentTarget.value)}><option value="approver">Approver</option><option value="viewer">Viewer</option><option value="admin">Admin</option></select></label>
        <button type="submit" disabled={connection !== "live"}>Make a link</button></div>
      {link && <div class="pair" role="status">
        {link.public && link.qr.length > 0 && <Picture rows={link.qr} />}
        <div><p>One-time link, valid until {clock(link.expiresAt)}: <Copy text={url} /></p>
          <p>Or type this code where the page asks to log in: <b class="mono code">{link.code}</b></p>
          {!link.public && <p class="dim small">For a phone, start Nod with <code>--public-url</code> and a certificate (<code>nod tls init</code>); then a picture for its camera is here.</p>}</div>
      </div>}
    </form>
  );
}

/* The agents as the server knows them; `nod doctor` on the agent's machine tells the rest. */
function Agents({ agents, now }: { agents: Device[]; now: number }) {
  if (!agents.length) return null;
  return <section class="card"><h2>Agents</h2><ul class="tidy">{agents.map((agent) => <li key={agent.id}>
    <b><Shown text={agent.name} line /></b>{" "}
    {agent.lastUsedAt ? <span class="good">✓ asked here {ago(agent.lastUsedAt, now)} ago</span>
      : <span class="warn">? has not asked since the server started; <code>nod doctor</code> on its machine says whether it is gated</span>}</li>)}</ul></section>;
}

const AGES: [string, string][] = [["30", "30 days"], ["90", "90 days"], ["365", "a year"]];

function Retention() {
  const { connection } = useStore();
  const [days, setDays] = useState("90"), [busy, setBusy] = useState(false);
  const archive = () => {
    setBusy(true);
    call("POST", "/api/archive", { olderThanSeconds: Number(days) * 86400 }).then(
      (made) => toast(made.sessions ? `${made.sessions} sessions are in ${made.path}` : "Nothing is that old"), (error: Error) => toast(error.message, "bad")).finally(() => setBusy(false));
  };
  return <section class="card"><h2>Retention</h2>
    <p class="dim">Sessions stay in the store until they are archived: then they leave for a file in Nod's folder, and links to their requests go on to work.</p>
    <form class="fields" onSubmit={(event) => { event.preventDefault(); archive(); }}>
      <label>Nothing happened for<select value={days} onChange={(event) => setDays(event.currentTarget.value)}>{AGES.map(([id, words]) => <option value={id}>{words}</option>)}</select></label>
      <button type="submit" disabled={busy || connection !== "live"}>Archive them</button></form></section>;
}

function Devices() {
  const { me, connection } = useStore();
  const now = useNow();
  const [devices, setDevices] = useState<Device[] | null>(null);
  const load = () => get("/api/tokens").then((answer) => setDevices(answer.tokens), () => setDevices(null));
  useEffect(() => void load(), []);
  if (!devices) return null;
  const revoke = (device: Device) => {
    if (!confirm(`Revoke ${device.name}? It is out at once.`)) return;
    call("DELETE", `/api/tokens/${encodeURIComponent(device.id)}`).then(() => { toast("Revoked"); void load(); }, (error: Error) => toast(error.message, "bad"));
  };
  const there = devices.filter((device) => !device.revokedAt);
  return <>
    <Agents agents={there.filter((device) => device.role === "agent")} now={now} />
    <section class="card"><h2>Devices and tokens</h2><div class="table-box" tabIndex={0} role="region" aria-label={"Devices"}><table>
      <thead><tr><th>Name</th><th>Role</th><th>Made</th><th>Last used</th><th></th></tr></thead>
      <tbody>{there.map((device) => <tr>
        <td><Shown text={device.name} line /> {device.id === me?.id && <span class="tag">this device</span>}</td><td>{device.role}{device.scopes && device.scopes.length > 0 && <div class="small dim scopes">{device.scopes.join(", ")}</div>}</td>
        <td class="nowrap" title={clock(device.createdAt)}>{ago(device.createdAt, now)} ago</td>
        <td class="nowrap" title={device.lastUsedAt && clock(device.lastUsedAt)}>{device.lastUsedAt ? `${ago(device.lastUsedAt, now)} ago` : <span class="dim">not since the start</span>}</td>
        <td class="right">{device.id !== me?.id && <button type="button" class="danger small" disabled={connection !== "live"} onClick={() => revoke(device)}>Revoke</button>}</td></tr>)}</tbody>
    </table></div></section>
  </>;
}

export function Settings() {
  const { prefs, me } = useStore();
  const out = () => call("POST", "/api/logout", {}).catch(() => {}).then(() => { stop(); forgetKey(); location.hash = "#/"; location.reload(); });
  return (
    <main class="screen settings">
      <header class="head"><h1>Settings</h1></header>
      <section class="card">
        <div class="line"><h2>This device</h2><span class="grow" /><span class="dim"><Shown text={me?.name ?? ""} line /></span><span class="tag">{me?.role}</span></div>
        <Choice<Prefs["theme"]> name="Theme" value={prefs.theme} options={[["auto", "System"], ["light", "Light"], ["dark", "Dark"]]} change={(theme) => setPrefs({ theme })} />
        <Choice<Prefs["split"]> name="Differences" value={prefs.split} options={[["auto", "By width"], ["split", "Side by side"], ["unified", "Unified"]]} change={(split) => setPrefs({ split })} />
        <Choice<Prefs["editor"]> name="Open files in" value={prefs.editor} options={[["", "Nothing"], ["vscode", "VS Code"], ["idea", "JetBrains"], ["terminal", "Terminal"]]} change={(editor) => setPrefs({ editor })} />
        {prefs.editor === "terminal" && <label class="setting"><span class="words"><b>Command</b><span class="dim small">copied for your terminal; {"{file}"} and {"{line}"} are put in</span></span>
          <input class="mono" value={prefs.command} maxLength={200} spellcheck={false} onInput={(event) => setPrefs({ command: event.currentTarget.value })} /></label>}
        <Toggle name="Dense list" words="one line for each request, on a wide screen" on={prefs.dense} change={(dense) => setPrefs({ dense })} />
        <Toggle name="Wrap long lines" words="instead of scrolling sideways" on={prefs.wrap} change={(wrap) => setPrefs({ wrap })} />
        <Toggle name="Notifications" words="when a request comes and this page is not in front; they name the kind of act only" on={prefs.notify} change={(on) => void wantNotify(on)} />
        {canPush() && <Push />}
        <Toggle name="Single-letter keys" words="y, n, j and the others act; without them, arrows, Enter, Esc and Ctrl+K are left" on={prefs.keys} change={(keys) => setPrefs({ keys })} />
        <Toggle name="Undo" words="an allow is sent three seconds later, and can be taken back until then" on={prefs.undo} change={(undo) => setPrefs({ undo })} />
        <Toggle name="Sound" words="a short tone for each new request" on={prefs.sound} change={(sound) => setPrefs({ sound })} />
        <div class="setting"><span class="words"><b>Log out</b><span class="dim small">this device needs a new link to come back</span></span>
          <button type="button" class="danger" onClick={() => void out()}>Log out</button></div>
      </section>
      <Passkeys />
      <Messages />
      {me?.role === "admin" && <><NewDevice /><Devices /><Retention /></>}
    </main>
  );
}
