/* Talking to the server: half of the secret is a cookie, the other half is ours (see src/api/login.c). */
import { RawNumber, type Json } from "./types";

const KEY = "nod.key";

export class Refused extends Error {
  constructor(readonly status: number, readonly code: string, message: string, readonly body: any) { super(message); }
}
/* The server could not be reached. */
export class Unreachable extends Error {}

export const hasKey = (): boolean => localStorage.getItem(KEY) !== null;
export const forgetKey = (): void => localStorage.removeItem(KEY);

function headers(json: boolean): Record<string, string> {
  const all: Record<string, string> = {};
  const key = localStorage.getItem(KEY);
  if (key) all["Nod-Key"] = key;
  if (json) all["Content-Type"] = "application/json";
  return all;
}

/* Numbers whose digits would be lost stay as they came. */
export function parse(text: string): any {
  return JSON.parse(text, function (this: unknown, _key: string, value: unknown, context?: { source?: string }) {
    if (typeof value === "number" && context?.source !== undefined && String(value) !== context.source)
      return new RawNumber(context.source);
    return value;
  } as (key: string, value: unknown) => unknown);
}

/* How far the server's clock is ahead of ours, in ms. Less than three seconds count as none: Date has whole seconds. */
let ahead = 0;
function noteClock(date: string | null): void {
  const off = date === null ? NaN : Date.parse(date) + 500 - Date.now();
  if (!Number.isNaN(off)) ahead = Math.abs(off) < 3000 ? 0 : off;
}
/* The time by which the server ends a snooze. */
export const serverNow = (): number => Date.now() + ahead;

export async function send(method: string, path: string, body?: string | object, signal?: AbortSignal): Promise<Response> {
  const text = body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body);
  let answer: Response;
  try {
    answer = await fetch(path, {
      method, body: text, headers: headers(text !== undefined), credentials: "same-origin", cache: "no-store",
      redirect: "error", signal,
    });
  } catch (error) {
    throw signal?.aborted ? error : new Unreachable("the server cannot be reached");
  }
  noteClock(answer.headers.get("Date"));
  if (answer.ok) return answer;
  const said = await answer.text().catch(() => "");
  let parsed: any = null;
  try { parsed = parse(said); } catch { /* not ours */ }
  throw new Refused(answer.status, parsed?.error?.code ?? "unknown", parsed?.error?.message ?? `status ${answer.status}`, parsed);
}

export async function call(method: string, path: string, body?: string | object): Promise<any> {
  const text = await (await send(method, path, body)).text();
  return text ? parse(text) : null;
}
export const get = (path: string): Promise<any> => call("GET", path);

export async function login(once: string): Promise<void> {
  const answer = await call("POST", "/api/login", { once, device: device() });
  localStorage.setItem(KEY, answer.key);
}

/* "Firefox on Android": enough to tell one's devices apart. */
function device(): string {
  const agent = navigator.userAgent;
  const browser = /Edg\//.test(agent) ? "Edge" : /Firefox\//.test(agent) ? "Firefox" : /Chrom(e|ium)\//.test(agent) ? "Chromium"
    : /Safari\//.test(agent) ? "Safari" : "a browser";
  const system = /Android/.test(agent) ? "Android" : /iPhone|iPad/.test(agent) ? "iOS" : /Mac OS/.test(agent) ? "macOS"
    : /Windows/.test(agent) ? "Windows" : "Linux";
  return `${browser} on ${system}`;
}

/* Reads an event stream until it ends; `pulse` is called whenever anything arrives. */
export async function stream(path: string, signal: AbortSignal, pulse: () => void, take: (data: any) => void): Promise<void> {
  const answer = await fetch(path, {
    headers: { ...headers(false), Accept: "text/event-stream" }, credentials: "same-origin", cache: "no-store", signal,
  });
  if (!answer.ok || !answer.body) throw new Refused(answer.status, "stream", `status ${answer.status}`, null);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let left = "";
  pulse();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    pulse();
    left += value;
    for (let end = left.indexOf("\n\n"); end >= 0; end = left.indexOf("\n\n")) {
      const data = left.slice(0, end).split("\n").filter((line) => line.startsWith("data:"))
        .map((line) => line.slice(line[5] === " " ? 6 : 5)).join("\n");
      left = left.slice(end + 2);
      if (data) take(parse(data));
    }
  }
}

/* JSON as text again, with every number's own digits. */
export function print(value: Json, indent = ""): string {
  const deeper = indent + "  ";
  if (value instanceof RawNumber) return value.source;
  if (Array.isArray(value))
    return value.length ? `[\n${value.map((v) => deeper + print(v, deeper)).join(",\n")}\n${indent}]` : "[]";
  if (value !== null && typeof value === "object") {
    const keys = Object.keys(value);
    return keys.length
      ? `{\n${keys.map((k) => `${deeper}${JSON.stringify(k)}: ${print(value[k], deeper)}`).join(",\n")}\n${indent}}` : "{}";
  }
  return JSON.stringify(value);
}
