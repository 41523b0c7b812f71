/* One request and its answer, over TCP or a Unix socket. */
import * as http from "node:http";
import * as https from "node:https";
import * as os from "node:os";
import * as path from "node:path";
import { GateError, NoToken } from "./errors.js";

const BODY_MOST = 16 << 20;

export interface Address {
  url: string;
  token: string;
  socketPath?: string;
  base?: URL;
}

export interface Reply {
  status: number;
  body: string;
  retryAfter?: number;
}

/** The administrator's token in the data folder is never taken: whoever holds it can approve its own calls. */
export function findAddress(url: string | undefined, token: string | undefined): Address {
  const { env } = process;
  const found = token ?? env.NOD_TOKEN;
  if (!found)
    throw new NoToken("no token to ask with: set NOD_TOKEN to one that `nod token create --role agent --name NAME` prints");
  const data = env.NOD_DATA ?? path.join(env.XDG_DATA_HOME ?? path.join(os.homedir(), ".local/share"), "nod");
  const chosen = url ?? env.NOD_URL ?? `unix:${path.join(data, "nod.sock")}`;
  if (chosen.startsWith("unix:/")) return { url: chosen, token: found, socketPath: chosen.slice(5) };
  if (!/^https?:\/\/./.test(chosen))
    throw new GateError(`the address of the server is http://HOST:PORT, https://HOST or unix:/PATH, not ${chosen}`);
  return { url: chosen, token: found, base: new URL(chosen) };
}

function options(address: Address, method: string, target: string, body: string | undefined): http.RequestOptions {
  const headers: Record<string, string | number> = {
    authorization: `Bearer ${address.token}`, accept: "application/json", connection: "close", host: "localhost",
    "content-length": Buffer.byteLength(body ?? ""),
  };
  if (body !== undefined) headers["content-type"] = "application/json";
  if (address.socketPath) return { socketPath: address.socketPath, method, path: target, headers, agent: false };
  const base = address.base!;
  headers["host"] = base.host;
  return { hostname: base.hostname.replace(/^\[|\]$/g, ""), port: base.port, method, headers, agent: false,
           path: base.pathname.replace(/\/$/, "") + target };
}

function retryAfter(value: string | undefined): number | undefined {
  return value && /^\d{1,5}$/.test(value) ? Number(value) : undefined;
}

/** Rejects when the connection is lost, the answer is cut off or late, or the signal is aborted. */
export function send(address: Address, method: string, target: string, body: string | undefined, ms: number,
                     signal: AbortSignal | undefined): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const make = address.base?.protocol === "https:" ? https.request : http.request;
    const request = make({ ...options(address, method, target, body), ...(signal && { signal }) }, (answer) => {
      let text = "";
      answer.setEncoding("utf8");
      answer.on("data", (part: string) => {
        text += part;
        if (text.length > BODY_MOST) request.destroy(new Error("an answer without end"));
      });
      answer.on("error", reject);
      answer.on("close", () => {
        clearTimeout(late);
        const ends = answer.headers["content-length"] !== undefined || answer.headers["transfer-encoding"] !== undefined;
        if (!answer.complete || !ends) return reject(new Error("an answer that is cut off"));
        const seconds = retryAfter(answer.headers["retry-after"]);
        resolve({ status: answer.statusCode ?? 0, body: text, ...(seconds !== undefined && { retryAfter: seconds }) });
      });
    });
    const late = setTimeout(() => request.destroy(new Error("no answer in time")), ms);
    request.on("error", (error) => {
      clearTimeout(late);
      reject(error);
    });
    request.end(body);
  });
}
