// Who may look, what a browser is told, the page as an app.
import { count, figures, must, poll, same } from "./check.mjs";
import { armed, DESKTOP, openBrowser, person } from "./rig.mjs";

export default {
  async "login: once only, cookie and key, devices, log out, revoked at once"(server) {
    const context = await (await openBrowser()).newContext(DESKTOP), page = await context.newPage();
    await page.goto(server.link);
    await page.locator(".connected.live").waitFor();
    must(!page.url().includes("login="), "the code stays in the address");
    const [cookie] = await context.cookies();
    same([cookie.httpOnly, cookie.sameSite, cookie.path], [true, "Strict", "/"], "the cookie");
    must(!(await page.evaluate(() => document.cookie)), "a script can read the cookie");
    const again = await (await (await openBrowser()).newContext()).newPage();
    await again.goto(server.link);
    await again.locator("h1", { hasText: "Log in" }).waitFor();
    await again.locator("[role=alert]", { hasText: "has expired or was already used" }).waitFor();
    // Half of the secret is not enough; nor is a request that says it comes from elsewhere.
    const key = await page.evaluate(() => localStorage.getItem("nod.key"));
    const half = { Cookie: `${cookie.name}=${cookie.value}` }, whole = { ...half, "Nod-Key": key };
    const status = async (headers, method = "GET", path = "/api/me") => (await fetch(server.url + path, { method, headers: { ...headers, ...(method === "POST" ? { "Content-Type": "application/json" } : {}) }, body: method === "POST" ? "{}" : undefined })).status;
    same(await status(half), 401, "the cookie alone");
    same(await status({ "Nod-Key": key }), 401, "the key alone");
    same(await status(whole), 200, "both");
    same(await status(whole, "POST", "/api/ping"), 403, "a change without Origin");
    same(await status({ ...whole, Origin: "http://evil.example" }, "POST", "/api/ping"), 403, "a change from elsewhere");
    same(await status({ ...whole, Origin: server.url }, "POST", "/api/ping"), 200, "a change from the page");
    same(await status({ ...whole, Origin: "http://evil.example", Accept: "text/event-stream" }, "GET", "/api/events"), 403, "a stream from elsewhere");
    // Another person's device; revoked while it looks.
    const bob = await person(server, "bob", DESKTOP, "viewer");
    await bob.locator(".quiet-inbox").waitFor();
    await page.evaluate(() => { location.hash = "#/settings"; });
    await page.locator("tr", { hasText: "bob" }).filter({ hasText: /\d+ (s|min) ago.*\d+ (s|min) ago/ }).waitFor(); // made, and last used
    page.on("dialog", (dialog) => dialog.accept());
    await page.locator("tr", { hasText: "bob" }).locator("button", { hasText: "Revoke" }).click();
    await page.locator("tr", { hasText: "bob" }).waitFor({ state: "detached" });
    await bob.reload();
    await bob.locator("h1", { hasText: "Log in" }).waitFor();
    await page.locator("button", { hasText: "Log out" }).click();
    await page.locator("h1", { hasText: "Log in" }).waitFor();
    same(await status(whole), 401, "after log out");
  },
  async "a viewer looks and cannot answer"(server) {
    const s = await server.session(), page = await person(server, "eve", DESKTOP, "viewer");
    await server.bash(s, "make", "c1");
    await page.locator(".answers", { hasText: "View only" }).waitFor();
    const other = await person(server), sent = [];
    await armed(other); // so long, too, has the viewer's page shown the request
    page.on("request", (request) => { if (request.url().endsWith("/approvals/c1")) sent.push(request.url()); });
    await page.keyboard.press("y");
    await page.keyboard.press("?");
    await page.locator("dialog.help").waitFor(); // the keys were heard
    same(sent, [], "what the viewer's page sends");
    same((await server.status("c1", s)).status, "awaiting", "status");
    await other.keyboard.press("y");
    await poll(() => server.status("c1", s), (call) => call.status !== "awaiting"); // the key of one who may
  },
  async "headers: policy, framing, caching; nothing from elsewhere"(server) {
    const answer = await fetch(server.url + "/");
    const policy = answer.headers.get("content-security-policy");
    for (const part of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"]) must(policy.includes(part), `${part} is missing`);
    must(!/unsafe|\*/.test(policy), policy);
    must(policy.includes("require-trusted-types-for 'script'"), "trusted types");
    same([answer.headers.get("x-frame-options"), answer.headers.get("x-content-type-options")], ["DENY", "nosniff"], "headers");
    const html = await answer.text();
    must(!/<script(?![^>]*src=)|<style|style=|onclick/.test(html), "something inline");
    const script = /src="(\/assets\/[^"]+)"/.exec(html)[1];
    const asset = await fetch(server.url + script);
    must(asset.headers.get("cache-control").includes("immutable"), "assets are not kept");
    const tag = answer.headers.get("etag");
    same((await fetch(server.url + "/", { headers: { "If-None-Match": tag } })).status, 304, "asked again");
    same((await fetch(server.url + "/", { headers: { Host: "evil.example" } }).catch(() => ({ status: 0 }))).status !== 500, true, "another Host");
    const page = await person(server), elsewhere = [];
    page.on("request", (request) => { if (!request.url().startsWith(server.url) && !request.url().startsWith("data:")) elsewhere.push(request.url()); });
    for (const place of ["", "sessions", "rules", "history", "figures", "settings"]) {
      await page.goto(`${server.url}/#/${place}`);
      await page.locator(`nav a[href="#/${place}"][aria-current="page"]`).waitFor();
    }
    same(elsewhere, [], "requests to elsewhere");
    same((await fetch(server.url + "/manifest.webmanifest")).status, 200, "manifest");
  },

  async "an app: manifest with icons, a worker that keeps nothing and says when the server is away"(server) {
    const page = await person(server);
    const manifest = await (await fetch(server.url + "/manifest.webmanifest")).json();
    same([manifest.display, manifest.start_url], ["standalone", "/"], "manifest");
    for (const icon of manifest.icons) {
      const bytes = Buffer.from(await (await fetch(server.url + icon.src)).arrayBuffer());
      if (icon.type === "image/png") same(`${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`, icon.sizes, icon.src);
    }
    await page.evaluate(() => navigator.serviceWorker.ready);
    await poll(() => page.evaluate(() => !!navigator.serviceWorker.controller), (is) => is);
    same(await page.evaluate(() => caches.keys()), [], "what is kept");
    must(await page.evaluate(() => { try { trustedTypes.createPolicy("nod-worker", {}); return false; } catch { return true; } }), "the policy can be made twice");
    must(await page.evaluate(() => { try { new Worker("/assets/x.js"); return false; } catch { return true; } }), "another worker can be started");
    page.faults = []; // those two were meant
    await server.kill();
    await page.goto(server.url).catch(() => {});
    await page.locator("h1", { hasText: "Nod is not connected" }).waitFor();
    same(await page.evaluate(() => getComputedStyle(document.querySelector("h1")).fontSize), "20px", "its style");
    await server.start();
    await page.locator(".quiet-inbox").waitFor();
  },
  async "notification and sound, only when asked for, and without what the call says"(server) {
    const s = await server.session(), page = await person(server);
    const record = () => {
      window.tones = 0;
      window.AudioContext = class extends AudioContext { createOscillator() { window.tones++; return super.createOscillator(); } };
      Object.defineProperty(document, "hidden", { get: () => window.away === true });
    };
    const shown = () => page.evaluate(async () => (await (await navigator.serviceWorker.ready).getNotifications()).map((note) => [note.title, note.body]));
    await page.evaluate(record);
    await page.evaluate(() => { window.away = true; });
    await server.bash(s, "make secret", "c1");
    await count(page, 1);
    same([await shown(), await page.evaluate(() => window.tones)], [[], 0], "unasked");
    await page.context().grantPermissions(["notifications"], { origin: server.url });
    await page.goto(server.url + "/#/settings");
    await page.locator(".setting", { hasText: "Notifications" }).locator("input").check();
    await page.locator(".setting", { hasText: "Sound" }).locator("input").check();
    // The browser may take its time to say that it allows them.
    await page.waitForFunction(() => Notification.permission === "granted" && JSON.parse(localStorage.getItem("nod.prefs") ?? "{}").notify === true);
    await server.bash(s, "make secret", "c2");
    same(await poll(shown, (all) => all.length > 0), [["Nod: 2 waiting", "Run a command"]], "the notification");
    same(await page.evaluate(() => window.tones), 1, "tones");
    await page.evaluate(() => { window.away = false; });
    await page.locator(".setting", { hasText: "Sound" }).locator("input").uncheck();
    await server.bash(s, "make secret", "c3");
    await page.locator("nav .number", { hasText: "3" }).waitFor();
    same([(await shown()).length, await page.evaluate(() => window.tones)], [1, 1], "in front, without sound");
    await page.reload();
    await page.goto(server.url + "/#/settings");
    must(await page.locator(".setting", { hasText: "Notifications" }).locator("input").isChecked(), "it is forgotten");
  },
};
