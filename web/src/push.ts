/* Push messages to this browser: its subscription, and that the server knows it. */
import { call, get } from "./api";

function bytes(base64: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64.replace(/-/g, "+").replace(/_/g, "/"));
  return Uint8Array.from(text, (letter) => letter.charCodeAt(0));
}

/* Whether this browser can be told things while no page is open. */
export const canPush = (): boolean => "serviceWorker" in navigator && "PushManager" in window;

/* null: this browser wants no messages. */
export const subscription = async (): Promise<PushSubscription | null> => (await navigator.serviceWorker.ready).pushManager.getSubscription();

function isOfKey(there: PushSubscription, key: Uint8Array): boolean {
  const its = there.options.applicationServerKey;
  return !its || new Uint8Array(its).join() === key.join();
}

/* Makes a subscription, or tells the server of the one there is; one for another key of the server is made anew. */
export async function subscribe(): Promise<void> {
  const key = bytes((await get("/api/push/key")).publicKey);
  let there = await subscription();
  if (there && !isOfKey(there, key)) { await there.unsubscribe(); there = null; }
  there ??= await (await navigator.serviceWorker.ready).pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
  await call("POST", "/api/push/devices", { ...there.toJSON(), label: navigator.platform });
}

export async function unsubscribe(): Promise<void> {
  const there = await subscription();
  if (!there) return;
  await call("DELETE", "/api/push/devices", { endpoint: there.endpoint }).catch(() => {}); // it may be forgotten there
  await there.unsubscribe();
}

/* At each load: browsers change subscriptions without a word, and a server may have forgotten them. */
export async function renewSubscription(): Promise<void> {
  if (canPush() && Notification.permission === "granted" && await subscription()) await subscribe();
}
