/* A request in plain words: the server's title of it, its kind, its warnings. */
import { hasHidden } from "./text";
import { isAtPart, toneOf, type Tone } from "./risk";
import type { Json, Pending, Preview, Title } from "./types";

export interface Warning { words: string; grave: boolean; tone: Tone }

const text = (value: Json | undefined): string => typeof value === "string" ? value : "";

/* The server's title of the call: what it would do, the object as code. `kind` is the same for all calls of a kind. */
export const callTitle = (p: Pending): Title => p.title ?? { kind: "Use a tool", tail: p.summary ?? `Use ${p.toolCall.name}` };

const FIELD_TYPES = /^(string|number|integer|boolean)$/;
const isForm = (schema: Json | undefined): boolean => {
  const fields = schema !== null && typeof schema === "object" && "properties" in schema ? schema.properties : null;
  return fields !== null && typeof fields === "object" && Object.values(fields as object).every((one) => FIELD_TYPES.test(String(one?.type)));
};
/* It wants an answer in words, not a yes. */
export const isQuestion = (p: Pending): boolean => p.toolCall.name === "AskUserQuestion" ? Array.isArray(p.toolCall.input.questions)
  : p.toolCall.name === "Elicitation" && isForm(p.toolCall.input.requested_schema);
/* A question of the agent itself, which takes words as a reply; a form of an MCP server does not. */
export const takesReply = (p: Pending): boolean => p.toolCall.name === "AskUserQuestion" && isQuestion(p);
export const isPlan = (p: Pending): boolean => /^(ExitPlanMode|exit_plan_mode)$/.test(p.toolCall.name);

/* The kind of a request, for filters; order.ts has the names of the kinds. */
export function kindOf(p: Pending): string {
  if (isQuestion(p) || isPlan(p)) return "question";
  if (p.preview.command !== undefined || p.preview.type === "command" || (p.toolCall.name === "Bash" && p.preview.type === "generic")) return "command";
  return /^(diff|multi_diff)$/.test(p.preview.type) || /^(Edit|MultiEdit|Write|NotebookEdit)$/.test(p.toolCall.name) ? "file" : "other";
}

const TOOL_NAMES: Record<string, string> = { AskUserQuestion: "Question", Elicitation: "Form", ExitPlanMode: "Plan", exit_plan_mode: "Plan" };
/* mcp__github__create_issue: "github: create_issue". */
export const toolName = (name: string): string => TOOL_NAMES[name] ?? name.replace(/^mcp__(.+?)__/, "$1: ");

/* One line for lists: what it would do. */
export function headline(p: Pending): string {
  const command = p.preview.command ?? (kindOf(p) === "command" ? text(p.toolCall.input.command) : "");
  if (command) return command;
  const { verb, object, tail } = callTitle(p);
  return [verb, object, tail].filter(Boolean).join(" ");
}

/* The part of an input that tells one call from another. */
export function aboutInput(input: { [key: string]: Json }): string {
  const [first] = Array.isArray(input.questions) ? input.questions : [];
  const asked = first !== null && typeof first === "object" && "question" in first ? first.question : undefined;
  const known = [input.command, input.file_path, input.url, input.pattern, input.plan, asked, input.description];
  return String(known.find((value) => typeof value === "string" && value !== "") ?? "");
}

/* ---- warnings ---- */

function everyText(value: Json, take: (text: string) => void): void {
  if (typeof value === "string") take(value);
  else if (Array.isArray(value)) value.forEach((v) => everyText(v, take));
  else if (value && typeof value === "object" && "constructor" in value && value.constructor === Object)
    for (const [key, v] of Object.entries(value as { [key: string]: Json })) { take(key); everyText(v, take); }
}

/* Warnings of a request: the judge's about the call as a whole, the preview's, and letters that cannot be seen. */
export function warnings(p: Pending): Warning[] {
  const found = new Map<string, Omit<Warning, "words">>();
  for (const [i, words] of (p.riskWords ?? []).entries()) if (!isAtPart(p.parts, p.risk?.[i] ?? "")) found.set(words[0].toUpperCase() + words.slice(1), { grave: p.risky !== false, tone: toneOf([p.risk?.[i] ?? ""]) || "amber" });
  for (const warning of gather(p.warnings ? { ...p.preview, warnings: p.warnings } : p.preview)) found.set(warning.words, warning);
  let hidden = false;
  everyText(p.toolCall.input, (t) => { hidden ||= hasHidden(t); });
  if (hidden && ![...found.keys()].some((w) => /invisible|hidden/i.test(w))) found.set("Contains invisible characters (shown)", { grave: true, tone: "amber" });
  return [...found].map(([words, { grave, tone }]) => ({ words, grave, tone }));
}

function gather(preview: Preview): Warning[] {
  const own = (preview.warnings ?? []).map((w) => typeof w === "string" ? { words: w, grave: true, tone: "amber" as const }
    : { words: w.text ?? w.words ?? "", grave: w.level !== "note" && w.level !== "info", tone: "amber" as const });
  const below = (preview.files ?? []).flatMap(gather);
  const problem = preview.problem ? [{ words: `It will fail: ${preview.problem}`, grave: true, tone: "amber" as const }] : [];
  return [...own, ...problem, ...below].filter((w) => w.words);
}

/* Held out when several are answered at once: by the judge's word, and where something is hidden or would fail. */
export const risky = (p: Pending): boolean => p.risky !== false || warnings(p).some((w) => w.grave);

export const DECISIONS: Record<string, string> = {
  allow_once: "allowed once", allow_session: "allowed for the session", allow_always: "allowed from now on", deny: "denied",
  abort: "stopped", timeout: "timed out", cancelled: "taken back by the agent",
};
export const MODES: [string, string, string][] = [
  ["default", "Ask first", "rules and defaults answer what they can; the rest is asked"],
  ["acceptEdits", "Accept edits", "changes to files of the project pass"],
  ["plan", "Plan only", "nothing is changed"],
  ["read-only", "Read only", "no writes at all"],
  ["bypassPermissions", "Allow everything", "everything passes that no rule denies"],
];
export const modeName = (mode: string): string => MODES.find(([id]) => id === mode)?.[1] ?? mode;
