/* A request in plain words, made from the real call and never from what the agent says about it. */
import { compare } from "./preview/difference";
import { byteLength, bytes, hasHidden, relative, shortPath } from "./text";
import type { Json, Pending, Preview } from "./types";

export interface Warning { words: string; grave: boolean }

const text = (value: Json | undefined): string => typeof value === "string" ? value : "";
const count = (n: number, one: string, many = one + "s"): string => `${n} ${n === 1 ? one : many}`;

/* Splits a command at its top-level operators, for display only. Null when there is any doubt: then it is
 * shown as it is. */
export function splitCommand(command: string): { text: string; operator: string }[] | null {
  const parts: { text: string; operator: string }[] = [];
  let start = 0, quote = "", operator = "";
  if (/<<|\$\(|`|\$\{|\bcase\b|\bfunction\b|[(){}]|\\\n/.test(command) || hasHidden(command)) return null;
  for (let i = 0; i < command.length; i++) {
    const c = command[i];
    if (quote) {
      if (c === "\\" && quote === '"') i++;
      else if (c === quote) quote = "";
      continue;
    }
    if (c === "\\") { i++; continue; }
    if (c === "'" || c === '"') { quote = c; continue; }
    if (c === "#" && (i === 0 || /\s/.test(command[i - 1]))) return null;
    const found = /^(&&|\|\||\|&|;|\||\n|&(?![>\d]))/.exec(command.slice(i, i + 2));
    if (!found || (c === "&" && i > 0 && command[i - 1] === ">") || (c === "|" && i > 0 && command[i - 1] === ">")) continue;
    parts.push({ text: command.slice(start, i).trim(), operator });
    operator = found[0] === "\n" ? ";" : found[0];
    i += found[0].length - 1;
    start = i + 1;
  }
  if (quote) return null;
  parts.push({ text: command.slice(start).trim(), operator });
  return parts.filter((part) => part.text !== "" || part.operator !== "");
}

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
  if (p.cut) return say("Use a tool", "", "", p.summary ?? `Use ${name}`);
  if (command) {
    const parts = p.parts?.length || preview.parts?.length || splitCommand(command)?.length || 1;
    return say("Run a command", `Run ${parts > 1 ? count(parts, "command") : "a command"}`, "", cwd ? `in ${shortPath(cwd)}` : "");
  }
  if (name === "Write" && path) {
    const size = bytes(byteLength(text(input.content)));
    const fresh = preview.is_new_file ?? preview.created ?? preview.new;
    return say("Write a file", fresh ? "Write a new file" : fresh === false ? "Replace" : "Write", file, `(${size})`);
  }
  if (changes && !path && preview.files?.length) return say("Change files", `Change ${count(preview.files.length, "file")}:`, preview.files.map((one) => relative(one.file_path ?? "", cwd)).join(", "));
  if (/^NotebookEdit$/.test(name) && preview.edit_mode) return say("Change a notebook", `${{ insert: "Insert a cell in", delete: "Delete a cell of" }[preview.edit_mode] ?? "Change a cell of"}`, file);
  if (changes || /^(Edit|MultiEdit|NotebookEdit|StrReplace.*|apply_patch)$/i.test(name)) {
    const { added, removed } = preview;
    const lines = added !== undefined || removed !== undefined ? Math.max(Number(added ?? 0), Number(removed ?? 0))
      : changedLines(text(input.old_string), text(input.new_string));
    const edits = Array.isArray(input.edits) ? input.edits.length : 0;
    return say("Change a file", edits > 1 ? `Make ${count(edits, "change")} in` : `Change ${count(lines, "line")} in`, file || (preview.file_path ? relative(preview.file_path, cwd) : "a file"));
  }
  if (name === "Read") return say("Read a file", "Read", file);
  if (/^(Glob|Grep|LS)$/.test(name)) return say("Search files", "Search", text(input.pattern) || file, path ? `in ${shortPath(path)}` : "");
  if (/^Web(Fetch|Search)$/.test(name)) return say("Use the web", name === "WebFetch" ? "Fetch" : "Search the web for", text(input.url) || text(input.query));
  if (/^(Task|Agent)$/.test(name)) return say("Start a sub-agent", "Start a sub-agent:", text(input.description));
  if (isPlan(p)) return say("Approve a plan", "Approve this plan?");
  if (isQuestion(p)) return say("Answer a question", "", "", name === "Elicitation" ? text(input.message) || "A form to fill in" : questionWords(input.questions as Json[]));
  if (name === "McpDefinition") return say("Agree to a change", "Agree to what a server changed in", text(input.tool));
  if (name === "McpServers") return say("Trust servers", "Trust the servers of", text(input.file));
  const mcp = /^mcp__(.+?)__(.+)$/.exec(name);
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
export const isPlan = (p: Pending): boolean => /^(ExitPlanMode|exit_plan_mode)$/.test(p.toolCall.name);

/* What it is, for filters: the names stand in order.ts. */
export function kindOf(p: Pending): string {
  if (isQuestion(p) || isPlan(p)) return "question";
  if (p.preview.command !== undefined || p.preview.type === "command" || p.toolCall.name === "Bash") return "command";
  return /^(diff|multi_diff)$/.test(p.preview.type) || /^(Edit|MultiEdit|Write|NotebookEdit)$/.test(p.toolCall.name) ? "file" : "other";
}

const TOOL_NAMES: Record<string, string> = { AskUserQuestion: "Question", Elicitation: "Form", ExitPlanMode: "Plan", exit_plan_mode: "Plan" };
/* mcp__github__create_issue: "github: create_issue". */
export const toolName = (name: string): string => TOOL_NAMES[name] ?? name.replace(/^mcp__(.+?)__/, "$1: ");

/* One line for lists: what it would do. */
export function headline(p: Pending): string {
  const command = p.preview.command ?? text(p.toolCall.input.command);
  if (command) return command;
  const said = sentence(p);
  return [said.verb, said.object, said.tail].filter(Boolean).join(" ");
}

/* ---- warnings ---- */

const SIGNS: [RegExp, (found: RegExpExecArray) => string, boolean][] = [
  [/(^|[\s;&|(])(rm|rmdir|shred|unlink)\s/, () => "Deletes files", true],
  [/\bfind\b.*\s-delete\b/, () => "Deletes files", true],
  [/(^|[\s;&|(])(sudo|doas|su|pkexec)\s/, () => "Runs as root (sudo)", true],
  [/\|\s*(sudo\s+)?(ba|z|da|k|fi)?sh\b/, () => "Pipes into a shell: what runs is not shown here", true],
  [/(^|[\s;&|(])(curl|wget)\s.*?https?:\/\/([^\s/'"]+)/, (found) => `Talks to ${found[3]}`, true],
  [/(^|[\s;&|(])(curl|wget|nc|ncat|ssh|scp|sftp|rsync|ftp|telnet)\s/, () => "Uses the network", true],
  [/\bgit\s+push\b/, () => "Sends commits to a remote", true],
  [/\bgit\s+(reset\s+--hard|clean\s+-\w*f|checkout\s+--)/, () => "Throws away changes that are not committed", true],
  [/(^|[\s;&|(])(dd|mkfs\S*|fdisk|parted)\s/, () => "Writes to a device or a whole disk", true],
  [/(^|[\s;&|(])(chmod|chown|chgrp)\s/, () => "Changes file permissions", true],
  [/(^|[\s;&|(])(npm|pnpm|yarn)\s+publish\b/, () => "Publishes a package", true],
  [/(^|[\s;&|(])eval\s|\bbase64\s+(-d|--decode)/, () => "Runs generated code you cannot see here", true],
  [/(^|[\s;&|(])(kill|killall|pkill)\s/, () => "Ends processes", true],
  [/[^-=<>&\d]\s*\d?>{1,2}\|?\s*([^\s&;|()>]+)/, (found) => found[1] === "/dev/null" ? "" : `Writes to ${found[1]}`, false],
];

function everyText(value: Json, take: (text: string) => void): void {
  if (typeof value === "string") take(value);
  else if (Array.isArray(value)) value.forEach((v) => everyText(v, take));
  else if (value && typeof value === "object" && "constructor" in value && value.constructor === Object)
    for (const [key, v] of Object.entries(value as { [key: string]: Json })) { take(key); everyText(v, take); }
}

/* The server's own warnings where it has them; else what can be seen in the text. */
export function warnings(p: Pending): Warning[] {
  const found = new Map<string, boolean>();
  const given = gather(p.warnings ? { ...p.preview, warnings: p.warnings } : p.preview);
  for (const warning of given) found.set(warning.words, warning.grave);
  const command = p.preview.command ?? text(p.toolCall.input.command);
  if (!given.length && command)
    for (const [sign, words, grave] of SIGNS) {
      const match = sign.exec(command);
      const said = match ? words(match) : "";
      if (said && !(said === "Uses the network" && [...found.keys()].some((w) => w.startsWith("Talks to")))) found.set(said, grave);
    }
  let hidden = false;
  everyText(p.toolCall.input, (t) => { hidden ||= hasHidden(t); });
  if (hidden && ![...found.keys()].some((w) => /invisible|hidden/i.test(w))) found.set("Contains invisible characters (shown)", true);
  return [...found].map(([words, grave]) => ({ words, grave }));
}

function gather(preview: Preview): Warning[] {
  const own = (preview.warnings ?? []).map((w) => typeof w === "string" ? { words: w, grave: true }
    : { words: w.text ?? w.words ?? "", grave: w.level !== "note" && w.level !== "info" });
  const below = (preview.files ?? []).flatMap(gather);
  const problem = preview.problem ? [{ words: `It will fail: ${preview.problem}`, grave: true }] : [];
  return [...own, ...problem, ...below].filter((w) => w.words);
}

const cache = new WeakMap<Pending, boolean>();
/* Held out when several are answered at once. */
export function risky(p: Pending): boolean {
  let known = cache.get(p);
  if (known === undefined) cache.set(p, known = warnings(p).some((w) => w.grave));
  return known;
}

export const DECISIONS: Record<string, string> = {
  allow_once: "allowed once", allow_session: "allowed for the session", allow_always: "allowed from now on", deny: "denied",
  abort: "aborted", timeout: "timed out", cancelled: "taken back by the agent",
};
export const MODES: [string, string, string][] = [
  ["default", "Ask first", "rules and defaults answer what they can; the rest is asked"],
  ["acceptEdits", "Accept edits", "changes to files of the project pass"],
  ["plan", "Plan only", "nothing is changed"],
  ["read-only", "Read only", "no writes at all"],
  ["bypassPermissions", "Allow everything", "everything passes that no rule denies"],
];
export const modeName = (mode: string): string => MODES.find(([id]) => id === mode)?.[1] ?? mode;
