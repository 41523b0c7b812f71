/* The gate: asks the server before a tool runs. */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Aborted, AlreadyRan, CallDiffers, Cancelled, Denied, NoServer, NotAllowed, Refused, TimedOut } from "./errors.js";
import { type Address, type Reply, findAddress, send } from "./wire.js";

const WAIT_SECONDS = 50; // one request waits this long for a person; then the same again
const SLACK_MS = 20_000; // an answer that is this late does not come any more
const PAUSE_FIRST = 200;
const PAUSE_MOST = 5_000;
const RETRY_AFTER_MOST = 60;
const AGAIN = new Set([408, 425, 429, 500, 502, 503, 504]);

export type Input = Record<string, unknown>;

/** The outcome of a call. `input` is what is to run: a person may have edited it. */
export interface Verdict<I extends Input = Input> {
  readonly id: string;
  readonly name: string;
  readonly input: I;
  readonly status: string;
  readonly decision: string | null;
  readonly words: string;
  readonly actor: string;
}

export interface GateOptions {
  /** http://HOST:PORT, https://HOST or unix:/PATH; else NOD_URL, else the socket in the data folder */
  url?: string;
  /** else NOD_TOKEN */
  token?: string;
  title?: string;
  cwd?: string;
  agent?: string;
  /** names the conversation: the same name, with the same token, is the same session in every process */
  session?: string;
  /** how long a server that was never seen may stay silent; Infinity: for ever */
  patienceMs?: number;
  /** told once per request that has to be repeated */
  onWarning?: (words: string) => void;
}

export interface AskOptions {
  id?: string;
  signal?: AbortSignal;
  timeoutMs?: number;
}

interface Limits {
  signal?: AbortSignal | undefined;
  until?: number | undefined;
  waitSeconds?: number;
}

function errorOf(reply: Reply): { code: string; message: string } {
  try {
    const { error } = JSON.parse(reply.body);
    return { code: String(error.code), message: String(error.message) };
  } catch {
    return { code: "", message: reply.body.slice(0, 200) };
  }
}

function refused(reply: Reply): Refused {
  const { code, message } = errorOf(reply);
  const help = reply.status === 401 ? "; NOD_TOKEN must hold a token of this server: `nod token create --role agent --name NAME`" : "";
  const words = `${reply.status} ${code}: ${message}${help}`;
  return code === "call_differs" ? new CallDiffers(words, reply.status, code) : new Refused(words, reply.status, code);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function objectOf(reply: Reply): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(reply.body);
  } catch {
    value = undefined;
  }
  if (!isObject(value)) throw new Refused(`the answer is not a JSON object: ${reply.body.slice(0, 80)}`, reply.status);
  return value;
}

/** Strict: an answer to something else, or without an input, is no answer. */
function readVerdict(reply: Reply, id: string, name: string): Verdict {
  const { toolCallId, status, input, decision, decidedBy, feedback, reason } = objectOf(reply);
  if (toolCallId !== id || typeof status !== "string" || !isObject(input))
    throw new Refused("the server's answer is not about this call", reply.status);
  const by = isObject(decidedBy) ? decidedBy : {};
  return { id, name, input, status, decision: typeof decision === "string" ? decision : null,
           words: String(feedback || reason || by.rule || `the call is ${status}`), actor: String(by.actor || by.kind || "") };
}

const REFUSALS: Record<string, new (verdict: Verdict) => NotAllowed> =
  { denied: Denied, aborted: Aborted, timed_out: TimedOut, cancelled: Cancelled };

export class Gate {
  private readonly address: Address;
  private readonly session: Input;
  private readonly patienceMs: number;
  private readonly warn: (words: string) => void;
  private opened: Promise<{ session: string; thread: string }> | undefined;
  private seen = false;

  constructor(options: GateOptions = {}) {
    this.address = findAddress(options.url, options.token);
    const agent = options.agent ?? "nod-gate";
    this.session = { title: options.title ?? agent, cwd: options.cwd ?? process.cwd(), agent,
                     agentSession: options.session ?? randomBytes(16).toString("hex") };
    this.patienceMs = options.patienceMs ?? 10_000;
    this.warn = options.onWarning ?? ((words) => process.emitWarning(words, "NodGate"));
  }

  /** A reply that says something, however often it takes; NoServer once the time `until` is over. */
  private async exchange(method: string, target: string, value: unknown, limits: Limits = {}): Promise<Reply> {
    const body = value === undefined ? undefined : JSON.stringify(value);
    const first = limits.until === undefined && !this.seen;
    let until = first ? performance.now() + this.patienceMs : limits.until ?? Infinity;
    let pause = PAUSE_FIRST;
    for (let told = false; ; told = true) {
      let why: string;
      let wait: number | undefined;
      try {
        const ms = (limits.waitSeconds ?? 0) * 1000 + SLACK_MS;
        const reply = await send(this.address, method, target, body, ms, limits.signal);
        this.seen = true;
        if (first) until = Infinity;
        if (!AGAIN.has(reply.status)) return reply;
        why = `${reply.status} ${errorOf(reply).message}`;
        if (reply.retryAfter !== undefined) wait = Math.min(reply.retryAfter, RETRY_AFTER_MOST) * 1000;
      } catch (error) {
        limits.signal?.throwIfAborted();
        why = String(error);
      }
      if (wait === undefined) {
        wait = pause;
        pause = Math.min(pause * 2, PAUSE_MOST);
      }
      if (performance.now() + wait > until)
        throw new NoServer(`no Nod server answers at ${this.address.url} (${why}). Nothing was run. ` +
                           "Start it with `nod serve`, or set NOD_URL");
      if (!told) this.warn(`no answer from Nod at ${this.address.url} (${why}): trying again; \`nod serve\` starts it`);
      await sleep(wait, undefined, { ...(limits.signal && { signal: limits.signal }) });
    }
  }

  private async open(): Promise<{ session: string; thread: string }> {
    const reply = await this.exchange("POST", "/api/sessions", this.session);
    if (reply.status !== 200 && reply.status !== 201) throw refused(reply);
    const { id, threadId } = objectOf(reply);
    if (typeof id !== "string" || typeof threadId !== "string")
      throw new Refused("the server's answer names no session", reply.status);
    return { session: id, thread: threadId };
  }

  /** The session, made once; a failure is not kept. */
  private talk(): Promise<{ session: string; thread: string }> {
    this.opened ??= this.open().catch((error: unknown) => {
      this.opened = undefined;
      throw error;
    });
    return this.opened;
  }

  private async callPath(id: string, what: string): Promise<string> {
    return `/api/tool-calls/${encodeURIComponent(id)}${what}?session=${encodeURIComponent((await this.talk()).session)}`;
  }

  /**
   * Resolves when the call is allowed: run `verdict.input`, then `report`. Rejects in every other case.
   * An aborted signal takes the call back. With an `id` of your own the same call is asked only once, also across processes.
   */
  async ask<I extends Input>(name: string, input: I, options: AskOptions = {}): Promise<Verdict<I>> {
    const id = options.id ?? `call_${randomBytes(16).toString("hex")}`;
    options.signal?.throwIfAborted();
    try {
      return (await this.verdict(id, name, input, options)) as Verdict<I>;
    } catch (error) {
      if (options.signal?.aborted) await this.cancel(id);
      throw error;
    }
  }

  private async verdict(id: string, name: string, input: Input, options: AskOptions): Promise<Verdict> {
    const until = options.timeoutMs === undefined ? undefined : performance.now() + options.timeoutMs;
    for (let lost = 0; ; ) {
      const { thread } = await this.talk();
      const left = until === undefined ? WAIT_SECONDS : Math.floor(Math.max(0, Math.min(WAIT_SECONDS, (until - performance.now()) / 1000)));
      const target = `/api/threads/${encodeURIComponent(thread)}/tool-calls?wait=${left}`;
      const reply = await this.exchange("POST", target, { id, name, input, cwd: this.session.cwd },
                                        { signal: options.signal, until, waitSeconds: left });
      if (reply.status === 404 && lost++ < 3) {
        this.opened = undefined; // a server with another store: begin there
        continue;
      }
      if (reply.status !== 200) throw refused(reply);
      const verdict = readVerdict(reply, id, name);
      if (verdict.status === "allowed") return verdict;
      if (verdict.status === "finished") throw new AlreadyRan(verdict, await this.resultOf(id));
      if (verdict.status !== "awaiting") throw new (REFUSALS[verdict.status] ?? Denied)(verdict);
      if (until !== undefined && performance.now() >= until) {
        await this.cancel(id);
        throw new TimedOut({ ...verdict, status: "timed_out", words: `nobody answered within ${options.timeoutMs} ms` });
      }
    }
  }

  private async resultOf(id: string): Promise<unknown> {
    const reply = await this.exchange("GET", await this.callPath(id, ""), undefined);
    const result = reply.status === 200 ? objectOf(reply).result : undefined;
    return isObject(result) ? result.content : undefined;
  }

  /** Takes a call back that waits for an answer. A 404 may be an ask that is still on its way, so it is tried for a while. */
  async cancel(id: string): Promise<boolean> {
    const until = performance.now() + 3_000;
    try {
      for (;;) {
        const reply = await this.exchange("POST", await this.callPath(id, "/cancel"), {}, { until });
        if (reply.status !== 404) return reply.status === 200;
        if (performance.now() > until) return false;
        await sleep(100);
      }
    } catch (error) {
      if (error instanceof NoServer) return false;
      throw error;
    }
  }

  /** Says what came of an allowed call. The tool has run: a server that is away is worth a warning, no error. */
  async report(verdict: Verdict | string, content: unknown, isError = false): Promise<boolean> {
    const id = typeof verdict === "string" ? verdict : verdict.id;
    const limits = { until: performance.now() + 30_000 };
    try {
      const target = await this.callPath(id, "/result");
      let reply = await this.exchange("POST", target, { content: content ?? null, isError }, limits);
      if (reply.status === 413)
        reply = await this.exchange("POST", target, { content: "(the result is too large to be kept)", isError }, limits);
      if (reply.status !== 200) this.warn(`the result of ${id} was not kept: ${refused(reply).message}`);
      return reply.status === 200;
    } catch (error) {
      this.warn(`the result of ${id} was not kept: ${error}`);
      return false;
    }
  }

  /** Asks, runs the function with the input that was allowed, and reports its result. */
  async call<I extends Input, R>(name: string, input: I, run: (input: I) => R | Promise<R>, options: AskOptions = {}): Promise<R> {
    const verdict = await this.ask(name, input, options);
    let result: R;
    try {
      result = await run(verdict.input);
    } catch (error) {
      await this.report(verdict, String(error), true);
      throw error;
    }
    await this.report(verdict, result);
    return result;
  }

  /** A function that is asked for each time it is called. */
  wrap<I extends Input, R>(name: string, run: (input: I) => R | Promise<R>): (input: I, options?: AskOptions) => Promise<R> {
    return (input, options) => this.call(name, input, run, options);
  }
}
