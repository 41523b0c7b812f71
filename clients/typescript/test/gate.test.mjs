// Scripted answers, of which none that is busy, cut off or not understood may allow; then a real server (NOD_URL, NOD_TOKEN).
import assert from "node:assert/strict";
import * as http from "node:http";
import { test } from "node:test";
import { CallDiffers, Cancelled, Denied, Gate, GateError, NoServer, NoToken, Refused } from "nod-gate";

const quiet = { onWarning: () => undefined };
const SESSION = { status: 201, value: { id: "s", threadId: "s.main" } };
const verdict = (status, more = {}) => (sent) =>
  ({ status: 200, value: { toolCallId: sent.id, status, input: sent.input, decision: null, decidedBy: null, ...more } });
const failure = (status, headers = {}) => ({ status, headers, value: { error: { code: "code", message: "words" } } });

async function scripted(answers, use) {
  const bodies = [];
  const server = http.createServer((request, response) => {
    let text = "";
    request.on("data", (part) => (text += part));
    request.on("end", () => {
      bodies.push(JSON.parse(text));
      let answer = answers[bodies.length - 1];
      if (typeof answer === "function") answer = answer(bodies.at(-1));
      if (answer === "hang up") return request.socket.destroy();
      const body = answer.text ?? JSON.stringify(answer.value);
      response.writeHead(answer.status, { "content-length": Buffer.byteLength(body) + (answer.cut ?? 0), ...answer.headers });
      response.write(body, () => answer.cut && request.socket.destroy());
      if (!answer.cut) response.end();
    });
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  try {
    const gate = new Gate({ url: `http://127.0.0.1:${server.address().port}`, token: "t", ...quiet });
    return await use(gate, bodies);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

test("busy and broken answers are asked again with the same id", async () => {
  const script = [failure(503), SESSION, failure(408), failure(429, { "retry-after": "1" }), "hang up",
                  (sent) => ({ ...verdict("allowed")(sent), cut: 5 }), failure(502), verdict("awaiting"), verdict("allowed")];
  await scripted(script, async (gate, bodies) => {
    assert.equal((await gate.ask("Deploy", { v: 1 })).status, "allowed");
    assert.equal(new Set(bodies.slice(2).map((body) => body.id)).size, 1);
    assert.equal(bodies.length, script.length);
  });
});

test("an answer that is not understood allows nothing", async () => {
  for (const answer of [{ status: 200, text: "<html>" }, { status: 200, text: "[]" }, { status: 200, value: { status: "allowed" } },
                        { status: 200, value: { status: "allowed", toolCallId: "another", input: {} } }, { status: 204, text: "" },
                        { status: 302, text: "", headers: { location: "/" } }, verdict("allowed", { input: null }),
                        verdict("started"), verdict("new_word"), failure(403), failure(413)])
    await scripted([SESSION, answer], (gate) => assert.rejects(gate.ask("Deploy", { v: 1 }), GateError));
});

test("a lost session is made again", async () => {
  await scripted([SESSION, failure(404), SESSION, verdict("allowed")], async (gate, bodies) => {
    await gate.ask("Deploy", {});
    assert.deepEqual(bodies[0], bodies[2]);
  });
});

test("no server says how to start it", async () => {
  for (const url of ["unix:/nowhere/nod.sock", "http://127.0.0.1:9"])
    await assert.rejects(new Gate({ url, token: "t", patienceMs: 300, ...quiet }).ask("Deploy", {}),
                         (error) => error instanceof NoServer && error.message.includes("nod serve"));
});

test("no token", () => {
  const kept = process.env.NOD_TOKEN;
  delete process.env.NOD_TOKEN;
  try {
    assert.throws(() => new Gate(), NoToken);
  } finally {
    if (kept) process.env.NOD_TOKEN = kept;
  }
});

test("a wrong token is refused", () =>
  assert.rejects(new Gate({ token: "wrong", ...quiet }).ask("Deploy", {}), (error) => error instanceof Refused && error.status === 401));

/* Until the server has the question. */
async function waits(call) {
  const headers = { authorization: `Bearer ${process.env.NOD_TOKEN}` };
  for (let look = 0; look < 600; look++) {
    const answer = await fetch(`${process.env.NOD_URL}/api/tool-calls/${call}`, { headers });
    if (answer.ok && (await answer.json()).status === "awaiting") return;
    await new Promise((again) => setTimeout(again, 50));
  }
}

test("an aborted signal takes the call back", async () => {
  const gate = new Gate({ session: "aborted", ...quiet });
  const abort = new AbortController();
  const asked = gate.ask("Deploy", { v: "aborted" }, { id: "aborted-1", signal: abort.signal });
  void waits("aborted-1").then(() => abort.abort());
  await assert.rejects(asked, { name: "AbortError" });
  await assert.rejects(new Gate({ session: "aborted" }).ask("Deploy", { v: "aborted" }, { id: "aborted-1" }), Cancelled);
  await assert.rejects(gate.ask("Deploy", { v: "other" }, { id: "aborted-1" }), CallDiffers);
});

test("a timeout takes the call back, and a rule's words arrive", async () => {
  const gate = new Gate(quiet);
  await assert.rejects(gate.ask("Deploy", { v: "late" }, { timeoutMs: 600 }), { name: "TimedOut" });
  await assert.rejects(gate.ask("Forbidden", {}), (error) => error instanceof Denied && /never here/.test(error.words));
});
