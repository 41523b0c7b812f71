/* Keeps nothing, so nothing is ever stale. When the server cannot be reached it says so instead of the browser, and
 * it shows notifications, which some systems let only workers do. */
const STYLE = "body{font:16px/1.5 system-ui,sans-serif;margin:20vh auto;max-width:26em;padding:0 1.5em}h1{font-size:1.25em}";
const AWAY = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><meta http-equiv="refresh" content="3"><title>Nod (not connected)</title><style>${STYLE}</style>
<h1>Nod is not connected</h1><p>The server cannot be reached. Requests wait there, unanswered; nothing is allowed meanwhile.</p><p>Trying again every three seconds.</p></html>`;
const HEADERS = {
  "Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store",
  "Content-Security-Policy": "default-src 'none'; style-src 'sha256-qVvcuZlmT37v3zJuYfHzNoeHk/Ahn76ZIePQkyzJA3Q='; frame-ancestors 'none'; base-uri 'none'",
};

addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));
addEventListener("fetch", (event) => {
  if (event.request.mode === "navigate") event.respondWith(fetch(event.request).catch(() => new Response(AWAY, { status: 503, headers: HEADERS })));
});
/* Every push is shown: browsers end subscriptions of workers that show nothing. One tag for requests, so that a newer message takes the
 * place of the older one. The badge is the number that waits. */
function read(data) {
  try { const said = data.json(); return { badge: said.app_badge, ...Object(said.notification) }; } catch { return {}; }
}
addEventListener("push", (event) => {
  const told = read(event.data), answers = Object(Object(told.data).answers);
  const actions = [answers.allow && { action: "allow", title: "Allow once" }, answers.deny && { action: "deny", title: "Deny" }].filter(Boolean);
  const badge = navigator.setAppBadge && Number.isInteger(told.badge) ? navigator.setAppBadge(told.badge).catch(() => {}) : null;
  event.waitUntil(Promise.all([badge, registration.showNotification(String(told.title || "Nod: an agent needs an answer"), {
    body: told.body, tag: String(told.tag || "nod"), silent: !!told.silent, data: { ...Object(told.data), navigate: told.navigate }, icon: "/icon-192.png", actions,
  })]));
});

async function answer(token) {
  const said = await fetch("/api/answers", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ token }) }).catch(() => null);
  if (!said || !said.ok) await registration.showNotification("Nod: not sent", { body: "Open Nod to answer.", tag: "nod", icon: "/icon-192.png" });
}

/* A tap shows the request: in a window that is open, else in a new one. Never a page of anybody else. */
async function look(navigate) {
  const to = new URL(navigate || "/", location.origin), path = to.origin === location.origin ? to.href : "/";
  const [open] = await clients.matchAll({ type: "window" });
  if (!open) return clients.openWindow(path);
  await open.focus();
  return open.navigate(path);
}

addEventListener("notificationclick", (event) => {
  event.notification.close();
  const data = Object(event.notification.data), answers = Object(data.answers);
  event.waitUntil(event.action && answers[event.action] ? answer(answers[event.action]) : look(data.navigate));
});
