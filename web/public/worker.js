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
addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(clients.matchAll({ type: "window" }).then((open) => open.length ? open[0].focus() : clients.openWindow("/")));
});
