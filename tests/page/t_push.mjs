// Push messages in real browsers: Firefox gets one from a push service and opens it; Chromium shows one on the desktop, and
// a press of its button answers the call.
import { createECDH, randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import ece from "http_ece";
import { importJWK, jwtVerify } from "jose";
import { chromium } from "playwright-core";
import { must, poll, same } from "./check.mjs";
import { openDesktop, openFirefox, openPushService } from "./push_rig.mjs";
import { CHROMIUM, Server } from "./rig.mjs";

// A server that tells alice by push at once, and may reach a push service on this machine.
export async function openServer(env = {}) {
  const server = new Server({ NOD_WEB_PRIVATE: "yes", ...env });
  writeFileSync(join(server.data, "notify.json"),
    JSON.stringify({ channels: {}, routes: [{ person: "alice", steps: [{ after: "0s", to: ["push"] }] }] }));
  return server.start();
}
// A subscription whose keys the test holds: http_ece opens what is sent to it, and jose checks who sent it.
export async function subscribe(server, service, token) {
  const keys = createECDH("prime256v1"), auth = randomBytes(16).toString("base64url");
  const p256dh = keys.generateKeys("base64url");
  await server.api("POST", "/api/push/devices", { endpoint: `${service.url}/push/1`, keys: { p256dh, auth } }, token);
  const { publicKey } = await server.api("GET", "/api/push/key", undefined, token);
  const point = Buffer.from(publicKey, "base64url");
  const key = await importJWK({ kty: "EC", crv: "P-256", x: point.subarray(1, 33).toString("base64url"), y: point.subarray(33).toString("base64url") }, "ES256");
  return async (post) => {
    const [, jwt, k] = /^vapid t=([^,]+),k=(.+)$/.exec(post.headers.authorization);
    const { payload } = await jwtVerify(jwt, key, { audience: service.url, algorithms: ["ES256"] });
    must(k === publicKey && payload.exp - Date.now() / 1000 < 86400 && /^(https|mailto):/.test(payload.sub), `VAPID: ${JSON.stringify(payload)}`);
    same([post.headers["content-encoding"], post.headers.ttl > 0, /^[0-9a-z]{1,32}$/.test(post.headers.topic), post.body.length <= 4096], ["aes128gcm", true, true, true], "RFC 8030");
    return ece.decrypt(post.body, { version: "aes128gcm", privateKey: keys, authSecret: auth }).toString();
  };
}

// Chromium that shows notifications on this desktop, with a page of alice's open and its worker ready.
export async function openChromium(server, desktop, { origin = server.url.replace("127.0.0.1", "localhost"), env = {}, link = null, ...looks } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "nod-chromium-")); // a profile: clicks on notifications find no private window
  const context = await chromium.launchPersistentContext(folder, { executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-dev-shm-usage"], env: { ...process.env, DBUS_SESSION_BUS_ADDRESS: desktop.address, ...env }, ...looks });
  await context.grantPermissions(["notifications"], { origin });
  const page = await context.newPage(), cdp = await context.newCDPSession(page);
  let registration = null;
  cdp.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => { registration = registrations[0]?.registrationId ?? registration; });
  await cdp.send("ServiceWorker.enable");
  await page.goto(link ?? origin + (await server.login("alice", "approver")).path);
  await page.locator("nav").waitFor();
  await page.evaluate(() => navigator.serviceWorker.ready);
  await poll(async () => registration, (is) => is !== null);
  const close = async () => { await context.close(); rmSync(folder, { recursive: true, force: true, maxRetries: 5 }); };
  return { page, cdp, context, close, push: (data) => cdp.send("ServiceWorker.deliverPushMessage", { origin, registrationId: registration, data }) };
}

const status = async (server, id) => (await server.status(id)).status;

export default {
  async "Firefox gets a push message from its push service, opens it and shows it"() {
    const [server, desktop, service] = await Promise.all([openServer(), openDesktop(), openPushService()]);
    const firefox = await openFirefox({
      "dom.push.connection.enabled": true, "dom.push.serverURL": service.url.replace("http", "ws"), "dom.push.testing.allowInsecureServerURL": true,
      "permissions.default.desktop-notification": 1, "alerts.useSystemBackend": true,
    }, { DBUS_SESSION_BUS_ADDRESS: desktop.address });
    try {
      await firefox.go(server.url + (await server.login("alice", "admin")).path);
      await poll(() => firefox.run("return !!document.querySelector('.connected.live')"), (is) => is);
      await firefox.run("location.hash = '#/settings'");
      const toggle = "label.push input";
      await poll(() => firefox.run(`return !!document.querySelector('${toggle}')`), (is) => is);
      await firefox.click(toggle);
      await poll(() => firefox.run("return document.querySelector('.toast')?.textContent ?? ''"), (said) => /is told when/.test(said));
      await server.kill(); // a server that has forgotten the device is told again by the page
      rmSync(join(server.data, "devices.json"));
      await server.start();
      await firefox.go(`${server.url}/#/settings`);
      await firefox.run("location.reload()");
      await poll(async () => existsSync(join(server.data, "devices.json")), (is) => is);
      await server.bash(await server.session(), "make secret", "c1");
      await poll(async () => service.acks.length, (n) => n > 0);
      same(service.acks, [100], "Firefox's verdict");
      const [note] = await poll(async () => desktop.calls.filter((one) => one.call === "Notify"), (all) => all.length > 0);
      must(/needs an answer/.test(note.summary) && /Run a command/.test(note.body), `shown: ${JSON.stringify(note)}`);
      must(!JSON.stringify(note).includes("secret"), "it says what the call says");
    } finally {
      await firefox.close();
      desktop.close();
      service.close();
      await server.stop();
    }
  },

  async "Chromium shows a push message on the desktop; its button denies; the withdrawal takes its place"() {
    const [server, desktop, service] = await Promise.all([openServer(), openDesktop(), openPushService()]);
    const browser = await openChromium(server, desktop);
    const notes = () => desktop.calls.filter((one) => one.call === "Notify");
    try {
      const alice = await server.api("POST", "/api/tokens", { name: "alice, phone", role: "approver" });
      const opened = await subscribe(server, service, alice.token);
      await server.bash(await server.session(), "make secret", "c1");
      await poll(async () => service.posts.length, (n) => n === 1);
      const payload = await opened(service.posts[0]), said = JSON.parse(payload);
      same([said.web_push, said.app_badge, said.mutable], [8030, 1, true], "the declarative form");
      await browser.push(payload);
      const [note] = await poll(async () => notes(), (all) => all.length === 1);
      must(/Run a command/.test(note.body) && !/secret/.test(note.body), `shown: ${JSON.stringify(note)}`);
      const deny = Object.keys(note.actions).find((key) => note.actions[key] === "Deny");
      must(deny !== undefined && !Object.values(note.actions).includes("Allow once"), `buttons: ${JSON.stringify(note.actions)}`);
      same(await status(server, "c1"), "awaiting", "before the press");
      desktop.press(note.id, deny);
      await poll(() => status(server, "c1"), (is) => is === "denied");
      same((await server.status("c1")).decidedBy.actor, "alice", "who");
      await poll(async () => service.posts.length, (n) => n === 2);
      const withdrawal = await opened(service.posts[1]);
      same([JSON.parse(withdrawal).notification.silent, JSON.parse(withdrawal).app_badge, service.posts[1].headers.topic], [true, 0, service.posts[0].headers.topic], "the withdrawal");
      await browser.push(withdrawal);
      must(/denied by alice/.test((await poll(async () => notes(), (all) => all.length === 2))[1].body), "it says what was answered");
    } finally {
      await browser.close();
      desktop.close();
      service.close();
      await server.stop();
    }
  },
  async "a push message that nobody can read is shown all the same, and a late button says that it came too late"() {
    const [server, desktop] = await Promise.all([openServer(), openDesktop()]);
    const browser = await openChromium(server, desktop);
    const notes = () => desktop.calls.filter((one) => one.call === "Notify");
    try {
      for (const [i, data] of ["", "garbage", "{}", '{"notification":7}'].entries()) {
        await browser.push(data);
        must(/Nod/.test((await poll(async () => notes(), (all) => all.length > i))[i].summary), `for ${data}`);
      }
      await browser.push(JSON.stringify({ notification: { title: "Nod: 1 waits", tag: "nod", data: { answers: { deny: "forged" } } } }));
      const note = (await poll(async () => notes(), (all) => all.length === 5))[4];
      desktop.press(note.id, Object.keys(note.actions).find((key) => note.actions[key] === "Deny"));
      must(/not sent/.test((await poll(async () => notes(), (all) => all.length === 6))[5].summary), "the failure is told");
    } finally {
      await browser.close();
      desktop.close();
      await server.stop();
    }
  },
};
