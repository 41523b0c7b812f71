/* Messages of the server, as far as the page reads them. The server may add fields at any time. */
export type Json = null | boolean | string | number | RawNumber | Json[] | { [key: string]: Json };

/* A number keeps the digits it came with: what is shown is what would run. */
export class RawNumber {
  constructor(readonly source: string) {}
  toString(): string { return this.source; }
}

export interface Reason { source?: string; why?: string; rule?: string; layer?: string }
export interface Part {
  text?: string; command?: string; operator?: string; effect?: string; verdict?: string; rule?: string; why?: string;
  depth?: number; risk?: string[]; redirections?: (string | { text?: string; effect?: string; path?: string })[];
}
export interface Preview {
  type: string; command?: string; cwd?: string; description?: string; parts?: Part[];
  warnings?: (string | { text?: string; words?: string; level?: string })[];
  edit_mode?: string;
  title?: string; fields?: { [key: string]: { title?: string; description?: string } };   // labels of an MCP tool's input, from the tool's schema
  fragment?: boolean;    // the numbers of its lines are those of the texts, not of the file
  input?: Json; files?: Preview[]; edits?: number;   // edits: number of edits that together make this difference
  unified?: string[]; marks?: (RawNumber | number)[][]; diff?: string; diff_lines?: string[]; added?: number; removed?: number; cut?: boolean;
  file_path?: string; path?: string; is_new_file?: boolean; created?: boolean; new?: boolean; deleted?: boolean; moved_to?: string; binary?: boolean;
  executor?: string;     // whose executor has seen the files, where the server does not see them itself
  note?: string; error?: string; problem?: string; original_content?: string; new_content?: string; before?: string; after?: string;
}
export interface Suggestion { label?: string; rules: string[]; warning?: string }
export interface Title { kind: string; verb?: string; object?: string; tail?: string; where?: string } // where: the folder a command would run in
export interface Pending {
  toolCallId: string; sessionId: string; threadId: string; toolCall: { id: string; name: string; input: { [key: string]: Json } };
  agent?: string; requestedAt: string; deadline: string | null; reason: Reason; summary?: string; title?: Title; preview: Preview;
  suggestions: Suggestion[]; parts?: Part[]; digest: string;
  warnings?: string[];   // the preview's warnings, where the list leaves the preview out
  risk?: string[]; riskWords?: string[]; risky?: boolean;   // classes of risk, the same in words; risky: not to be allowed together with others
  people?: { need: number; have: { person: string; at: string; signed: boolean }[]; updatedInput?: Json }; // several must allow it
  snoozedUntil?: string; // a person put it off
  assignee?: string;     // the person who is to answer it
  nobodyWaits?: boolean; // whoever waited for the answer has hung up
  alerted?: boolean;     // nobody has answered for so long that it was told of once more
  box?: "inside" | "outside" | "none"; // whether a command that Nod itself would run gets a box
  inFile?: boolean;      // in a list: read alone, the call also has its difference within the file
  cut?: boolean;         // too large for the list: input and preview come with the call by itself
}
export interface Thread { id: string; parentId: string | null; title?: string; agent?: string; createdAt: string }
export interface Session {
  id: string; threadId: string; title: string; cwd: string; cwdProposed?: boolean; permissionMode: string; createdAt: string; owner?: string;
  approvalTimeoutSeconds?: number; toolPolicies?: { [tool: string]: string }; threads: Thread[];
}
export interface NodEvent {
  seq: RawNumber | number; sessionId: string | null; threadId: string | null; type: string; at: string; actor: string;
  data: { [key: string]: Json };
}
export interface Closed { decision: string; actor: string; at: string; feedback?: string; mine: boolean }
export interface Device { id: string; name: string; role: string; sessionId: string | null; createdAt: string; lastUsedAt?: string; revokedAt: string | null; scopes?: string[] }
export interface AuditRecord {
  seq: number; at: string; sessionId: string; threadId: string; toolCallId: string; tool: string; about?: string; agent?: string; cwd?: string;
  outcome: string; decision?: string; by?: string; asked: boolean; actor?: string; rule?: string; source?: string; why?: string;
  feedback?: string; edited: boolean; key?: string; decidedAt?: string; answerMs?: number;
}
