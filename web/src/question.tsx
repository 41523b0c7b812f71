/* Questions of an agent and forms of MCP servers, as a form; a plan, as text. The answers go back as the call's own
 * input with `answers` (question to words; several choices joined by ", ") or, of a form, `content` (field to value). */
import { answer, isArmed } from "./answers";
import { print } from "./api";
import { begin, commentsOf, drop, finish, write as keepWords } from "./comments";
import { Beside, Markdown } from "./markdown";
import { canAnswer, changed, type Item } from "./store";
import { Shown } from "./text";
import { RawNumber, type Json, type Pending } from "./types";

interface Option { label: string; description: string; preview: string }
export interface Question {
  key: string; text: string; header: string; type: string; options: Option[];
  several: boolean; closed: boolean; required: boolean;   // closed: nothing but an option will do
}
interface Picked { labels: string[]; own: string }

const field = (value: Json | undefined, key: string): Json | undefined =>
  value !== null && typeof value === "object" && !Array.isArray(value) ? (value as { [key: string]: Json })[key] : undefined;
const text = (value: Json | undefined): string => typeof value === "string" ? value : "";
const list = (value: Json | undefined): Json[] => Array.isArray(value) ? value : [];

const option = (value: Json): Option => typeof value === "string" ? { label: value, description: "", preview: "" }
  : { label: text(field(value, "label")), description: text(field(value, "description")), preview: text(field(value, "preview")) };

const YES_NO = ["yes", "no"].map(option);

function fieldsOf(schema: Json | undefined): Question[] {
  const required = list(field(schema, "required"));
  return Object.entries((field(schema, "properties") ?? {}) as { [key: string]: Json }).map(([key, one]) => {
    const type = text(field(one, "type")), choices = list(field(one, "enum")).map(option);
    return {
      key, type, text: text(field(one, "description")) || text(field(one, "title")) || key, header: "", several: false,
      options: type === "boolean" ? YES_NO : choices, closed: type === "boolean" || choices.length > 0, required: required.includes(key),
    };
  });
}

export function questionsOf(p: Pending): Question[] {
  const { input, name } = p.toolCall;
  if (name === "Elicitation") return fieldsOf(input.requested_schema);
  return list(input.questions).map((one) => ({
    key: text(field(one, "question")), text: text(field(one, "question")), header: text(field(one, "header")), type: "string",
    several: field(one, "multiSelect") === true, closed: false, required: true, options: list(field(one, "options")).map(option),
  }));
}

/* ---- what has been picked; another content of the same call begins anew ---- */

const picks = new Map<string, Picked[]>();

function pickedOf(item: Item): Picked[] {
  const stamp = `${item.key}\n${item.p.digest}`;
  let known = picks.get(stamp);
  if (!known) picks.set(stamp, known = questionsOf(item.p).map(() => ({ labels: [], own: "" })));
  return known;
}

const said = (picked: Picked): string => [...picked.labels, ...(picked.own.trim() ? [picked.own.trim()] : [])].join(", ");
const NUMBERS: Record<string, RegExp> = { integer: /^-?(0|[1-9]\d*)$/, number: /^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/ };
const isGood = (question: Question, words: string): boolean => words === "" ? !question.required : NUMBERS[question.type]?.test(words) ?? true;

export const isAnswered = (item: Item): boolean => questionsOf(item.p).every((question, at) => isGood(question, said(pickedOf(item)[at])));

/* A number keeps the digits it was typed with. */
function valueOf(question: Question, words: string): Json {
  if (question.type === "boolean") return words === "yes";
  return NUMBERS[question.type] ? new RawNumber(words) : words;
}

function pick(item: Item, at: number, label: string): void {
  const question = questionsOf(item.p)[at], picked = pickedOf(item)[at];
  if (!question.several) { picked.labels = [label]; picked.own = ""; }
  else if (picked.labels.includes(label)) picked.labels = picked.labels.filter((one) => one !== label);
  else picked.labels = question.options.map((option) => option.label).filter((one) => one === label || picked.labels.includes(one));
  changed();
}

function write(item: Item, at: number, words: string): void {
  const picked = pickedOf(item)[at];
  picked.own = words;
  if (words && !questionsOf(item.p)[at].several) picked.labels = [];
  changed();
}

/* A digit picks in the question where the focus is, else in the first one without an answer. */
export function pickByNumber(item: Item, number: number): boolean {
  const questions = questionsOf(item.p), picked = pickedOf(item);
  const focused = document.activeElement?.closest("[data-question]")?.getAttribute("data-question");
  const open = picked.findIndex((one) => said(one) === "");
  const at = focused !== null && focused !== undefined ? Number(focused) : open >= 0 ? open : questions.length - 1;
  const option = questions[at]?.options[number - 1];
  if (option) pick(item, at, option.label);
  return option !== undefined;
}

export function sendAnswers(item: Item): void {
  if (!isAnswered(item) || !isArmed([item])) return;
  const answers: { [key: string]: Json } = {};
  questionsOf(item.p).forEach((question, at) => {
    const words = said(pickedOf(item)[at]);
    if (words) answers[question.key] = valueOf(question, words);
  });
  const place = item.p.toolCall.name === "Elicitation" ? "content" : "answers";
  void answer(item, "allow_once", { updatedInput: print({ ...item.p.toolCall.input, [place]: answers }) });
}

/* ---- on the screen ---- */

function Options({ item, question, at }: { item: Item; question: Question; at: number }) {
  const picked = pickedOf(item)[at], kind = question.several ? "checkbox" : "radio", name = `q-${item.key}-${at}`;
  return <>
    {question.options.map((option, i) => (
      <label class="option">
        <input type={kind} name={name} checked={picked.labels.includes(option.label)} onChange={() => pick(item, at, option.label)} />
        <span><b><Shown text={option.label} line /></b>
          {option.description && <span class="dim small"><Shown text={option.description} /></span>}
          {option.preview && <pre class="mono small"><Shown text={option.preview} /></pre>}</span>
        <span class="grow" />{i < 9 && <kbd class="wide">{i + 1}</kbd>}
      </label>))}
    {!question.closed && <label class="option">
      {question.options.length > 0 && <input type={kind} name={name} checked={picked.own !== ""} aria-label="Another answer"
        onChange={() => document.getElementById(`own-${at}`)?.focus()} />}
      <input id={`own-${at}`} class="own" value={picked.own} placeholder={question.options.length ? "another answer" : NUMBERS[question.type] ? "a number" : "your answer"}
        aria-label={question.options.length ? `Another answer to: ${question.text}` : question.text} aria-invalid={!isGood(question, said(picked)) && picked.own !== ""}
        inputMode={NUMBERS[question.type] ? "decimal" : undefined} onInput={(event) => write(item, at, event.currentTarget.value)} autocomplete="off" />
    </label>}
  </>;
}

export function Questions({ item }: { item: Item }) {
  const questions = questionsOf(item.p);
  return (
    <form onSubmit={(event) => { event.preventDefault(); sendAnswers(item); }}>
      {questions.map((question, at) => (
        <fieldset class="question" data-question={at} disabled={item.closed !== undefined}>
          <legend>{question.header && <span class="tag"><Shown text={question.header} line /></span>}<Shown text={question.text} />
            <span class="dim small">{question.several ? " (several may be picked)" : question.required ? "" : " (may be left out)"}</span></legend>
          <Options item={item} question={question} at={at} />
        </fieldset>))}
      <button type="submit" class="sr" tabIndex={-1} aria-hidden="true">Send the answers</button>
    </form>
  );
}

/* A comment on a step of a plan, by the number of its line in the plan's text. */
function Remark({ item, line }: { item: Item; line: number }) {
  const at = { path: "plan", line, old: false }, one = commentsOf(item).find((made) => made.path === at.path && made.line === line);
  if (!one) return <button type="button" class="plus-comment" aria-label={`Comment on line ${line} of the plan`} onClick={() => begin(item, at)}>+</button>;
  if (!one.writing) return <div class="remark"><p><Shown text={one.text} /></p><div class="line end">
    <button type="button" class="quiet small" onClick={() => begin(item, at)}>Edit</button><button type="button" class="quiet small" onClick={() => drop(item, one)}>Delete</button></div></div>;
  return <div class="remark"><textarea rows={2} aria-label={`Comment on line ${line} of the plan`} placeholder="What should change here? Sent when you keep planning."
    ref={(field) => { if (field && document.activeElement !== field) { field.value = one.text; field.focus(); } }} onInput={(event) => keepWords(item, one, event.currentTarget.value)}
    onKeyDown={(event) => {
      if (event.key === "Escape") drop(item, one);
      else if (event.key === "Enter" && !event.shiftKey) finish(item, one);
      else return;
      event.preventDefault();
      event.stopPropagation();
    }} /><div class="line end"><button type="button" class="quiet small" onClick={() => drop(item, one)}>Cancel</button>
    <button type="button" class="small" onClick={() => finish(item, one)}>Add comment</button></div></div>;
}

export function Plan({ p, item }: { p: Pending; item?: Item }) {
  const { plan, planFilePath } = p.toolCall.input;
  const on = item && !item.closed && canAnswer() ? item : undefined;
  const beside = on && typeof plan === "string" ? (raw: string) => {
    // A step within a step is told without its indentation: its first line says where it is.
    const first = raw.trim().split("\n")[0].trim(), at = plan.split("\n").findIndex((line) => line.trim() === first);
    return at < 0 ? null : <Remark item={on} line={at + 1} />;
  } : null;
  return <section class="plan" aria-label="The plan">{typeof plan === "string" && plan.trim() ? <Beside.Provider value={beside}><Markdown text={plan} /></Beside.Provider>
    : <p class="dim">The call carries no plan{typeof planFilePath === "string" ? <>; it is in <code><Shown text={planFilePath} line /></code></> : null}.</p>}</section>;
}
