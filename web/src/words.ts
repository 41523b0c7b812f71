/* A request in plain words, made from the real call and never from what the agent says about it. */
import { compare } from "./preview/difference";
import { byteLength, bytes, hasHidden, relative, shortPath } from "./text";
import { isAtPart, toneOf, type Tone } from "./risk";
import type { Json, Pending, Preview } from "./types";

export interface Warning { words: string; grave: boolean; tone: Tone }

const text = (value: Json | undefined): string => typeof value === "string" ? value : "";
const count = (n: number, one: string, many = one + "s"): string => `${n} ${n === 1 ? one : many}`;

function changedLines(before: string, after: string): number {
  const lines = compare(before, after);
  return Math.max(lines.filter((line) => line.kind === "+").length, lines.filter((line) => line.kind === "-").length);
}

export interface Sentence { kind: string; verb: string; object: string; tail: string }

const said = new WeakMap<Pending, Sentence>();
export function sentence(p: Pending): Sentence {
  let known = said.get(p);
  if (!known) said.set(p, known = makeSentence(p));
  return known;
}

function questionWords(questions: Json[]): string {
  const first = questions[0];
  const words = first !== null && typeof first === "object" && "question" in first ? String(first.question) : "";
  return questions.length > 1 ? `${count(questions.length, "question")} for you` : words || "A question for you";
}

function makeSentence(p: Pending): Sentence {
  const { name, input } = p.toolCall, preview = p.preview;
  const cwd = preview.cwd;
  const path = text(input.file_path) || text(input.notebook_path) || text(input.path);
  const changes = /^(diff|multi_diff)$/.test(preview.type);
  const command = preview.command ?? (changes ? "" : text(input.command));
  const say = (kind: string, verb: string, object = "", tail = ""): Sentence => ({ kind, verb, object, tail });
  const file = path ? relative(path, cwd) : "";
  const mcp = /^mcp__(.+?)__(.+)$/.exec(name);
  if (p.cut && !mcp) return say("Use a tool", "", "", p.summary ?? `Use ${name}`);
  if (command) {
    const parts = p.parts?.length || preview.parts?.length || 1;
    return say("Run a command", `Run ${parts > 1 ? count(parts, "command") : "a command"}${input.outside === true ? " outside the box" : ""}`, "", cwd ? `in ${shortPath(cwd)}` : "");
  }
  if (name === "Write" && path) {
    const size = bytes(byteLength(text(input.content)));
    const fresh = preview.is_new_file ?? preview.created ?? preview.new;
    return say("Write a file", fresh ? "Write a new file" : fresh === false ? "Replace" : "Write", file, `(${size})`);
  }
  if (changes && !path && preview.files?.length) return say("Change files", `Change ${count(preview.files.length, "file")}:`, preview.files.map((one) => relative(one.file_path ?? "", cwd)).join(", "));
  if (/^NotebookEdit$/.test(name) && preview.edit_mode) return say("Change a notebook", `${{ insert: "Insert a cell in", delete: "Delete a cell of" }[preview.edit_mode] ?? "Change a cell of"}`, file);
  if (changes || /^(Edit|MultiEdit|NotebookEdit|StrReplace.*|apply_patch)$/i.test(name)) {
    const sum = (key: "added" | "removed") => preview[key] !== undefined ? Number(preview[key]) : preview.files?.reduce((all, one) => all + Number(one[key] ?? 0), 0);
    const added = sum("added"), removed = sum("removed");
    const lines = added !== undefined || removed !== undefined ? Math.max(added ?? 0, removed ?? 0)
      : changedLines(text(input.old_string), text(input.new_string));
    const edits = Array.isArray(input.edits) ? input.edits.length : 0;
    return say("Change a file", edits > 1 ? `Make ${count(edits, "change")} in` : `Change ${count(lines, "line")} in`, file || (preview.file_path ? relative(preview.file_path, cwd) : "a file"));
  }
  if (name === "Read") return say("Read a file", "Read", file);
  if (/^(Glob|Grep|LS)$/.test(name)) return say("Search files", "Search", text(input.pattern) || file, path ? `in ${shortPath(path)}` : "");
  if (/^Web(Fetch|Search)$/.test(name)) return say("Use the web", name === "WebFetch" ? "Fetch" : "Search the web for", text(input.url) || text(input.query));
  if (name === "Net" && text(input.host)) return say("Reach a host", "Connect to", input.port ? `${text(input.host)}:${String(input.port)}` : text(input.host), text(input.for) ? `for ${text(input.for)}` : "");
  if (/^(Task|Agent)$/.test(name)) return say("Start a sub-agent", "Start a sub-agent:", text(input.description));
  if (isPlan(p)) return say("Approve a plan", "Approve this plan?");
  if (isQuestion(p)) return say("Answer a question", "", "", name === "Elicitation" ? text(input.message) || "A form to fill in" : questionWords(input.questions as Json[]));
  if (name === "McpDefinition") return say("Agree to a change", "Agree to what a server changed in", text(input.tool));
  if (name === "McpServers") return say("Trust servers", "Trust the servers of", text(input.file));
  if (mcp) return say("Use a tool", "Use", mcp[2], `of the server ${mcp[1]}`);
  return say("Use a tool", "Use", name);
}

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
  const said = sentence(p);
  return [said.verb, said.object, said.tail].filter(Boolean).join(" ");
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
