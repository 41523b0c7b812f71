// Passkeys in Chromium, with a virtual authenticator (WebAuthn over the DevTools protocol): what only a person can allow.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { face, must, poll, same } from "./check.mjs";
import { armed, DESKTOP, person, PHONE } from "./rig.mjs";

const NOD = process.env.NOD;

// Passkeys belong to a name, so the page is opened as localhost.
async function byName(server, name = "alice", options = DESKTOP) {
  const { url } = server;
  server.url = url.replace("127.0.0.1", "localhost");
  server.login = (who, role) => fetch(`${url}/api/logins`, { method: "POST", body: JSON.stringify({ name: who, role }),
    headers: { Authorization: `Bearer ${server.token}`, "Content-Type": "application/json" } }).then((answer) => answer.json());
  const page = await person(server, name, options);
  server.url = url;
  page.cdp = await page.context().newCDPSession(page);
  await page.cdp.send("WebAuthn.enable");
  page.authenticator = (await page.cdp.send("WebAuthn.addVirtualAuthenticator", { options: {
    protocol: "ctap2", transport: "internal", hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true } })).authenticatorId;
  return page;
}

async function addPasskey(page) {
  await page.evaluate(() => { location.hash = "#/settings"; });
  await page.locator("#passkeys input").fill("laptop");
  await page.locator("#passkeys button", { hasText: "Add a passkey" }).click();
  await page.locator(".toast", { hasText: "Passkey added" }).waitFor();
  await page.locator("#passkeys tbody tr", { hasText: "laptop" }).waitFor();
  await page.evaluate(() => { location.hash = "#/"; });
}

const refusal = (promise) => promise.then(() => "allowed", (error) => error.json?.error?.code);

export default {
  async "signed: a risky call is allowed by a passkey, and by nothing else"(server) {
    const s = await server.session(), page = await byName(server);
    await addPasskey(page);
    await server.bash(s, "rm -rf /srv/data", "c1");
    same(await refusal(server.decide(s, "c1", "allow_once")), "signature_required", "a token alone");
    await page.cdp.send("WebAuthn.setUserVerified", { authenticatorId: page.authenticator, isUserVerified: false });
    await armed(page);
    await page.locator(".allow").click();
    await page.locator(".toast.bad", { hasText: "Not answered" }).waitFor();
    same((await server.status("c1", s)).status, "awaiting", "a person whom the authenticator does not recognize");
    await page.cdp.send("WebAuthn.setUserVerified", { authenticatorId: page.authenticator, isUserVerified: true });
    await armed(page);
    await page.locator(".allow").click();
    await page.locator(".toast", { hasText: "allowed once" }).waitFor();
    const { events } = await server.api("GET", `/api/events?session=${s.id}&types=TOOL_APPROVAL_RESPONSE`);
    same(events[0].data.signature.kind, "webauthn", "the signature is kept");
    const { signature } = events[0].data;
    await server.bash(s, "rm -rf /srv/data", "c2");
    const until = /until (\S+)/.exec(signature.statement)[1], nonce = /nonce (\S+)/.exec(signature.statement)[1];
    const replay = { signature: { ...signature, statement: undefined, kind: undefined, v: undefined, until, nonce } };
    same(await refusal(server.decide(s, "c2", "allow_once", replay)), "signature_required", "the same signature for another call");
    same(await refusal(server.decide(s, "c2", "allow_always", replay)), "signature_required", "for another decision");
    const trust = join(server.data, "trust");
    writeFileSync(trust, signature.key + "\n");
    const said = execFileSync(NOD, ["verify", "--trust", trust, "--data", server.data], { encoding: "utf8" });
    must(said.includes(`call c1 of ${s.id}: allow_once by alice, Chromium on Linux, key ${signature.key}: proven`), said);
  },
  async "signed: lasting permission and an edited input are signed, too"(server) {
    const s = await server.session({ cwd: "/tmp" }), page = await byName(server);
    await addPasskey(page);
    await server.bash(s, "make test", "c1");
    await armed(page);
    await page.keyboard.press("s");
    await page.locator(".toast", { hasText: "for the session" }).waitFor();
    const { events } = await server.api("GET", `/api/events?session=${s.id}&types=TOOL_APPROVAL_RESPONSE`);
    must(/decision allow_session/.test(events[0].data.signature.statement), "what was signed says so");
  },
  async "signed: on a phone, and a second key vouched for by the first"(server) {
    const s = await server.session(), page = await byName(server, "bob", PHONE);
    await addPasskey(page);
    await page.evaluate(() => { location.hash = "#/settings"; });
    await page.locator("#passkeys", { hasText: "Add a second key" }).waitFor();
    await page.locator("#passkeys input").fill("phone");
    await page.locator("#passkeys button", { hasText: "Add a passkey" }).click();
    await page.locator("#passkeys tbody tr", { hasText: "phone" }).waitFor();
    const { keys } = await server.api("GET", "/api/keys");
    same(keys.length, 2, "both are known");
    await page.evaluate(() => { location.hash = "#/"; });
    await server.bash(s, "git push --force", "c1");
    await face(page, "git push").click();
    await armed(page);
    await page.locator(".allow").click();
    await poll(() => server.status("c1", s), (call) => call.status === "allowed");
  },
  async "signed: a recovery code adds a key, which the page warns of and the old key revokes"(server) {
    const page = await byName(server), bob = await person(server, "bob");
    await addPasskey(page);
    await page.evaluate(() => { location.hash = "#/settings"; });
    await page.locator("#passkeys button", { hasText: "Make recovery codes" }).click();
    const codes = (await page.locator("#recovery-codes").textContent()).split("\n");
    same(codes.length, 10, "ten codes");
    // Another device of hers, without the passkey: it is asked for a code.
    const other = await byName(server, "alice", PHONE), alert = ".frame > .lost";
    const asked = [];
    other.on("dialog", (dialog) => { asked.push(dialog.message()); void dialog.accept(asked.length === 1 ? "0000-0000-0000-0000" : codes[0]); });
    await other.evaluate(() => { location.hash = "#/settings"; });
    const add = async () => { await other.locator("#passkeys input").fill("found"); await other.locator("#passkeys button", { hasText: "use a recovery code" }).click(); };
    await add();
    await other.locator(".toast.bad", { hasText: "not one of your recovery codes" }).waitFor();
    await add();
    await other.locator("#passkeys tbody tr", { hasText: "found" }).filter({ hasText: "signs from" }).waitFor();
    must(asked.length === 2 && asked.every((text) => text.includes("recovery codes")), `${asked}`);
    for (const one of [page, bob, other]) await one.locator(alert, { hasText: "A recovery code of alice" }).waitFor();
    await page.locator(alert).getByRole("button", { name: "Show keys" }).click();
    page.on("dialog", (dialog) => void dialog.accept());
    await page.reload();
    await page.locator("#passkeys tbody tr", { hasText: "found" }).getByRole("button", { name: "Revoke" }).click();
    for (const one of [page, bob, other]) await one.locator(alert).waitFor({ state: "detached" });
    const { keys } = await server.api("GET", "/api/keys");
    same(keys.filter((key) => !key.revokedAt).map((key) => key.name), ["laptop"], "the key that was stolen is worth nothing");
  },
  async "signed: without a name the page says where to go"(server) {
    const page = await person(server);
    await page.goto(server.url + "/#/settings");
    await page.locator("#passkeys a", { hasText: "http://localhost:" }).waitFor();
  },
};
