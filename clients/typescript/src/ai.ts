/* Vercel AI SDK: tools whose `execute` is asked for. Only the shape of a tool is known here, so every version will do. */
import { NotAllowed, denialText } from "./errors.js";
import type { Gate, Input } from "./gate.js";

interface ExecuteOptions {
  abortSignal?: AbortSignal | undefined;
}

/** The tool, run with the input that was allowed. A refusal is thrown, and the SDK tells it to the model. */
export function gated<T extends object>(gate: Gate, name: string, tool: T): T {
  const { execute } = tool as { execute?: (input: Input, options: ExecuteOptions) => unknown };
  if (typeof execute !== "function") throw new TypeError(`the tool ${name} has no execute to gate`);
  const run = async (input: Input, options: ExecuteOptions): Promise<unknown> => {
    try {
      const signal = options?.abortSignal;
      return await gate.call(name, input, (allowed) => execute.call(tool, allowed, options), signal ? { signal } : {});
    } catch (error) {
      throw error instanceof NotAllowed ? new Error(denialText(error), { cause: error }) : error;
    }
  };
  return { ...tool, execute: run };
}

/** All tools of a record that can be run. */
export function gatedTools<T extends Record<string, object>>(gate: Gate, tools: T): T {
  return Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, gated(gate, name, tool)])) as T;
}
