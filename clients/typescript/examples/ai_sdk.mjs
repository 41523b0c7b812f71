// Vercel AI SDK with gated tools. The model is a script here, so that it runs without an account.
import { generateText, stepCountIs, tool } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { Gate } from "nod-gate";
import { gatedTools } from "nod-gate/ai";
import { z } from "zod";

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const script = new MockLanguageModelV3({
  // Wants to send one mail after the other.
  async doGenerate({ prompt }) {
    const heard = prompt.filter((m) => m.role === "tool").flatMap((m) => m.content);
    if (heard.length) console.log("HEARD", JSON.stringify(heard.at(-1).output));
    const word = ["one", "two", "three", "four"][heard.length];
    const finishReason = word ? { unified: "tool-calls" } : { unified: "stop" };
    if (!word) return { content: [{ type: "text", text: "done" }], finishReason, usage, warnings: [] };
    const input = JSON.stringify({ to: "ann@example.org", text: `mail ${word}` });
    return { content: [{ type: "tool-call", toolCallId: `call_${word}`, toolName: "send_mail", input }], finishReason, usage, warnings: [] };
  },
});

const tools = gatedTools(new Gate({ title: "mails" }), {
  send_mail: tool({
    description: "Sends a mail.",
    inputSchema: z.object({ to: z.string(), text: z.string() }),
    execute: async ({ to, text }) => {
      console.log("SENT", text);
      return `sent to ${to}`;
    },
  }),
});
await generateText({ model: script, tools, stopWhen: stepCountIs(8), prompt: "Send the mails." });
