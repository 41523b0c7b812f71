/* The risk of a call, as the server names it: a word, a sign and a colour, at the part that causes it. */
import type { Part, Pending } from "./types";

export type Tone = "red" | "violet" | "amber";
const RISKS: Record<string, [Tone, string]> = {
  deletes: ["red", "Deletes"], sends: ["red", "Sends data"], publishes: ["red", "Publishes"], infrastructure: ["red", "Infrastructure"],
  database: ["red", "Database"], privileges: ["red", "Root access"], "generated code": ["red", "Generated code"], settings: ["red", "Settings"],
  unknown: ["violet", "Not understood"], network: ["amber", "Network"], overwrites: ["amber", "Overwrites"], interpreter: ["amber", "Runs a script"],
};
export const SIGNS: Record<Tone, string> = { red: "⚠", violet: "?", amber: "•" };
const ORDER: Tone[] = ["red", "violet", "amber"];
const of = (name: string): [Tone, string] => RISKS[name] ?? ["violet", name];

/* The worst of them: red, not understood, amber. */
export const toneOf = (risks: string[] | undefined): Tone | "" => ORDER.find((tone) => risks?.some((name) => of(name)[0] === tone)) ?? "";
const byTone = (risks: string[]): string[] => [...risks].sort((a, b) => ORDER.indexOf(of(a)[0]) - ORDER.indexOf(of(b)[0]));

export function Risks({ risks }: { risks: string[] | undefined }) {
  if (!risks?.length) return null;
  return <span class="risks">{byTone(risks).map((name) => <span class={`risk-tag ${of(name)[0]}`}><span aria-hidden="true">{SIGNS[of(name)[0]]}</span> {of(name)[1]}</span>)}</span>;
}

/* The edge of a request: that of its worst part, where it is not answered together with others. */
export const edgeOf = (p: Pending): Tone | "" => p.risky === false ? "" : toneOf(p.risk) || (p.risk ? "" : "violet");

/* In a list: the worst two. */
export function RiskWords({ p }: { p: Pending }) {
  const risks = p.risky === false ? [] : byTone(p.risk ?? []);
  if (!risks.length) return null;
  return <span class={`risk ${toneOf(risks)}`}><span class="sr">risky: </span>{risks.slice(0, 2).map((name) => of(name)[1]).join(", ")}{risks.length > 2 && "…"}</span>;
}

/* Whether the class stands at a part, where it is shown. */
export const isAtPart = (parts: Part[] | undefined, name: string): boolean => parts?.some((part) => part.risk?.includes(name)) ?? false;

/* Labels of classes that an edited call has and the one that was asked has not. */
export const risksNew = (p: Pending, risks: string[] | undefined): string[] => (risks ?? []).filter((name) => !p.risk?.includes(name)).map((name) => of(name)[1]);
