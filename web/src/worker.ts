/* The worker (public/worker.js): its start, and notifications through it. */
interface Policies { createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): string } }

const PATH = "/worker.js";

/* The only place of the page that names a script, and it names this one, whatever it is given. */
export function startWorker(): void {
  if (!navigator.serviceWorker) return; // not here, or not over plain HTTP from another machine
  const types = (window as unknown as { trustedTypes?: Policies }).trustedTypes;
  const url = types ? types.createPolicy("nod-worker", { createScriptURL: () => PATH }).createScriptURL(PATH) : PATH;
  void navigator.serviceWorker.register(url, { updateViaCache: "none" }).catch(() => { /* without it the page only has no push messages */ });
}

export async function notify(title: string, options: NotificationOptions): Promise<void> {
  const worker = await navigator.serviceWorker?.getRegistration();
  if (worker?.active) return worker.showNotification(title, options);
  const note = new Notification(title, options);
  note.onclick = () => { window.focus(); note.close(); };
}
