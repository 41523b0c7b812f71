// A phone, from the picture on a terminal to an answer: over built-in TLS with an authority of Nod's own, and over plain
// HTTP by the name localhost, which browsers trust as much.
import { execFileSync } from "node:child_process";
import { createServer } from "node:http";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { must, poll, same } from "./check.mjs";
import { openDesktop, openPushService } from "./push_rig.mjs";
import { NOD, person, PHONE, Server } from "./rig.mjs";
import { openChromium, openServer, subscribe } from "./t_push.mjs";

// A server with a certificate, started twice: its public address has the port that the system chose.
async function openSecure() {
  const server = await openServer();
  await server.kill();
  execFileSync(NOD, ["tls", "init", "--data", server.data, "--name", "nod.test"], { stdio: "ignore" });
  server.env.NOD_LISTEN_TLS = "127.0.0.1:0";
  await server.start();
  await server.kill();
  Object.assign(server.env, { NOD_LISTEN_TLS: `127.0.0.1:${server.tlsPort}`, NOD_PUBLIC_URL: `https://localhost:${server.tlsPort}` });
  return server.start();
}

// A server without one, started twice for the same reason. The phone reaches it as through a tunnel to this machine.
async function openPlain() {
  const server = await openServer();
  await server.kill();
  server.env.NOD_PUBLIC_URL = `http://localhost:${server.port}`;
  return server.start();
}

// A home in which Chromium trusts the server's authority, by the line that `nod tls init` prints.
function trustingHome(server) {
  const home = mkdtempSync(join(tmpdir(), "nod-home-")), folder = join(home, ".pki/nssdb");
  mkdirSync(folder, { recursive: true });
  execFileSync("certutil", ["-d", `sql:${folder}`, "-N", "--empty-password"]);
  execFileSync("certutil", ["-d", `sql:${folder}`, "-A", "-t", "C,,", "-n", "Nod", "-i", join(server.data, "tls/ca.pem")]);
  return home;
}

// What a camera reads in a picture.
function scan(folder, name, bytes) {
  const file = join(folder, name);
  writeFileSync(file, bytes);
  return execFileSync("zbarimg", ["--raw", "-q", file]).toString().trim();
}

// Half blocks on a terminal as a picture of gray dots, eight for each module.
function photograph(lines) {
  const rows = lines.flatMap((line) => ["▀█", "▄█"].map((dark) => [...line].map((half) => (dark.includes(half) ? 0 : 255))));
  const dots = rows.flatMap((row) => Array(8).fill(row.flatMap((dot) => Array(8).fill(dot)))).flat();
  return Buffer.concat([Buffer.from(`P5 ${rows[0].length * 8} ${rows.length * 8} 255\n`), Buffer.from(dots)]);
}

function pairInTerminal(server, folder) {
  const said = execFileSync("script", ["-qec", `${NOD} pair --data ${server.data} --name alice`, "/dev/null"], { env: { ...process.env, TERM: "xterm" } }).toString();
  const picture = [...said.matchAll(/\x1b\[38;5;16;48;5;231m([^\x1b]*)\x1b/g)].map((line) => line[1]);
  const [link] = /https?:\S+#login=\S+/.exec(said), [, code] = /log in: (\w{8})/.exec(said);
  same(scan(folder, "terminal.pgm", photograph(picture)), link, "the picture on the terminal");
  return { link, code };
}

async function usePhone(open, makeHome) {
  const [server, desktop, service] = await Promise.all([open(), openDesktop(), openPushService()]);
  const home = makeHome(server), origin = server.env.NOD_PUBLIC_URL;
  const { link } = pairInTerminal(server, home);
  must(link.startsWith(`${origin}/#login=`), `the link has the public address: ${link}`);
  const phone = await openChromium(server, desktop, { origin, link, env: { HOME: home }, ...PHONE });
  const { page, cdp, context } = phone;
  try {
    same(await page.evaluate(() => [isSecureContext, location.protocol]), [true, new URL(origin).protocol], "secure");
    const { errors, data } = await cdp.send("Page.getAppManifest"), manifest = JSON.parse(data);
    same([errors, manifest.display, manifest.start_url, manifest.icons.some((icon) => icon.sizes === "192x192"), manifest.icons.some((icon) => icon.sizes === "512x512")], [[], "standalone", "/", true, true], "the manifest");
    await page.reload(); // from now on with its worker
    await page.locator(".connected.live").waitFor({ state: "attached" });
    const { installabilityErrors } = await cdp.send("Page.getInstallabilityErrors");
    same(installabilityErrors.filter((error) => error.errorId !== "in-incognito"), [], "what keeps it from being installed");
    same(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, "it fits");
    const alice = await server.api("POST", "/api/tokens", { name: "alice, phone", role: "approver" });
    const opened = await subscribe(server, service, alice.token);
    await server.bash(await server.session(), "make release", "c1");
    await poll(async () => service.posts.length, (n) => n === 1);
    const payload = await opened(service.posts[0]);
    must(JSON.parse(payload).notification.navigate.startsWith(origin), `where a tap leads: ${payload}`);
    await phone.push(payload);
    const [note] = await poll(async () => desktop.calls.filter((one) => one.call === "Notify"), (all) => all.length === 1);
    desktop.press(note.id, "default");
    const shown = (await poll(async () => context.pages().filter((one) => /#\/request\//.test(one.url())), (all) => all.length > 0))[0];
    await shown.getByText("make release").locator("visible=true").first().waitFor();
    await shown.locator(".deny").tap();
    await shown.locator("#deny-words").fill("not today");
    await shown.locator(".panel .danger").tap();
    const call = await poll(() => server.status("c1"), (is) => is.status === "denied");
    same(call.feedback, "not today", "the words");
    await server.kill();
    await page.goto(origin).catch(() => {});
    await page.getByRole("heading", { name: "Nod is not connected" }).waitFor();
  } finally {
    await phone.close();
    desktop.close();
    service.close();
    await server.stop();
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  }
}

export default {
  "a phone is paired by the picture, can be installed, gets a push, looks and denies with words, all over TLS": () => usePhone(openSecure, trustingHome),

  "the same over plain HTTP": () => usePhone(openPlain, () => mkdtempSync(join(tmpdir(), "nod-home-"))),

  async "settings show the picture; the code of a link logs in where no link arrives, and five wrong ones void it"() {
    const server = new Server();
    server.env.NOD_PUBLIC_URL = "https://nod.test:7718";
    await server.start();
    const folder = mkdtempSync(join(tmpdir(), "nod-scan-"));
    try {
      const page = await person(server), make = async () => {
        await page.getByRole("button", { name: "Make a link" }).click();
        return page.locator(".pair");
      };
      await page.goto(`${server.url}/#/settings`);
      const pair = await make();
      const read = scan(folder, "page.png", await pair.locator(".qr").screenshot());
      must(/^https:\/\/nod\.test:7718\/#login=nod_\w+$/.test(read), `the picture on the page: ${read}`);
      const code = await pair.locator(".code").textContent();
      const away = await (await page.context().browser().newContext(PHONE)).newPage();
      await away.goto(server.url);
      await away.getByLabel(/type the code/).fill(code.toUpperCase());
      await away.getByRole("button", { name: "Log in" }).click();
      await away.locator(".connected.live").waitFor({ state: "attached" });
      const again = (await server.login("bob", "approver"));
      const enter = async (once) => (await fetch(`${server.url}/api/login`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ once }) })).status;
      same(await enter(code), 401, "a code is good once");
      for (let i = 0; i < 5; i++) same(await enter(`wrong00${i}`), 401, "a wrong code");
      same([await enter(again.code), await enter(again.path.split("=")[1])], [401, 200], "the short code is void, the link is good");
    } finally {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  },

  async "messages: settings show a channel that reaches nobody; a person who looks is not rung"() {
    const server = new Server(), hook = createServer((_, answer) => answer.writeHead(401).end());
    await new Promise((done) => hook.listen(0, "127.0.0.1", done));
    writeFileSync(join(server.data, "notify.json"), JSON.stringify({
      channels: { ops: { type: "webhook", url: `http://127.0.0.1:${hook.address().port}/` }, calm: { type: "command", command: ["true"] } },
      routes: [{ person: "ops", steps: [{ after: "0s", to: ["ops"] }] }, { person: "alice", steps: [{ after: "30s", to: ["calm"] }] }],
    }));
    await server.start();
    try {
      const page = await person(server), due = async () => (await server.api("GET", "/api/deliveries")).deliveries.find((one) => one.person === "alice")?.dueAt;
      await server.bash(await server.session(), "make x", "c1");
      await page.locator(".answers.armed").waitFor();
      const before = await due();
      await page.mouse.move(300, 300);
      await poll(due, (at) => at > before);
      await page.goto(`${server.url}/#/settings`);
      await page.locator("#messages").getByText(/refuses the secret: status 401/).waitFor();
      await page.locator("#messages summary").click();
      await page.locator("#messages td.bad", { hasText: "failed (401)" }).waitFor();
      await page.locator("#messages tr", { hasText: "calm" }).first().getByRole("button", { name: "Test" }).click();
      await page.locator(".toast", { hasText: "calm took the message" }).waitFor();
    } finally {
      hook.close();
      await server.stop();
    }
  },
};
