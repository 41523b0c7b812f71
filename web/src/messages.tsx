/* Messages to people who are not looking: which channels there are, whether they work, and what was sent. */
import { useEffect, useState } from "preact/hooks";
import { call, get } from "./api";
import { offers, toast, useNow, useStore } from "./store";
import { ago, clock, Shown } from "./text";

interface Channel { name: string; type: string; sent: number; failed: number; lastError?: string }
interface Delivery { deliveryId: string; toolCallId: string; person: string; channel: string; purpose: string; state: string; status?: number; dueAt: string; attempts: number }

const SHOWN = 50;

export function Messages() {
  const { me, connection } = useStore();
  const now = useNow();
  const [channels, setChannels] = useState<Channel[]>([]), [sent, setSent] = useState<Delivery[]>([]);
  const load = () => void Promise.all([get("/api/channels"), get("/api/deliveries")]).then(([first, second]) => { setChannels(first.channels); setSent(second.deliveries); }, () => {});
  useEffect(() => { if (offers("/api/channels")) load(); }, []);
  const test = (name: string) => call("POST", `/api/channels/${encodeURIComponent(name)}/test`, {}).then(
    (answer) => toast(answer.sent ? `${name} took the message` : `${name}: ${answer.error}`, answer.sent ? "good" : "bad"), (error: Error) => toast(error.message, "bad")).finally(load);
  const named = channels.filter((channel) => channel.type !== "callback");
  if (named.length === 0) return null;
  return (
    <section class="card" id="messages"><h2>Messages</h2>
      <div class="table-box" tabIndex={0} role="region" aria-label="Channels"><table>
        <thead><tr><th>Channel</th><th>Kind</th><th>Taken</th><th>Failed</th><th></th></tr></thead>
        <tbody>{named.map((channel) => <tr>
          <td><Shown text={channel.name} line />{channel.lastError && <div class="bad small">Reaches nobody: <Shown text={channel.lastError} line /></div>}</td>
          <td>{channel.type}</td><td>{channel.sent}</td><td>{channel.failed}</td>
          <td class="right">{me?.role === "admin" && <button type="button" class="small" disabled={connection !== "live"} onClick={() => void test(channel.name)}>Test</button>}</td></tr>)}</tbody>
      </table></div>
      {sent.length > 0 && <details><summary>The last {Math.min(sent.length, SHOWN)} messages about calls</summary>
        <div class="table-box" tabIndex={0} role="region" aria-label="Messages sent"><table>
          <thead><tr><th>Call</th><th>To</th><th>What</th><th>State</th><th>Due</th></tr></thead>
          <tbody>{sent.slice(0, SHOWN).map((one) => <tr key={one.deliveryId}>
            <td class="mono"><Shown text={one.toolCallId} line /></td><td><Shown text={`${one.person}, ${one.channel}`} line /></td><td>{one.purpose}</td>
            <td class={one.state === "failed" ? "bad" : ""}>{one.state}{one.status ? ` (${one.status})` : ""}</td>
            <td class="nowrap" title={clock(one.dueAt)}>{Date.parse(one.dueAt) > now ? "later" : `${ago(one.dueAt, now)} ago`}</td></tr>)}</tbody>
        </table></div></details>}
    </section>
  );
}
