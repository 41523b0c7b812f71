// Printed from the tables of src/event/shapes_*.h; `dev/shapes` writes it anew.
import type { Json } from "./types";

/** What rules, mode and defaults say of a call. */
export interface VerdictData {
  effect: string; // allow, ask or deny
  rule?: string; // the rule that decided, as it is written
  source?: string; // the layer of that rule, or what else decided
  why?: string; // the reason, in words
  rules?: string[]; // ids of all rules that took part
}

/** Why a person is asked. */
export interface ReasonData {
  source?: string; // the layer of the rule, or what else decided
  rule?: string; // the rule that wants a person asked
  why?: string; // the reason, in words
}

/** The permission under which Nod has done something. */
export interface PermissionsData {
  date: string; // when it was allowed
  result: string; // approved
  decision: "allow_once" | "allow_session" | "allow_always" | "deny" | "abort" | "timeout" | "cancelled"; // how
  mode?: string; // the session's permission mode
  rule?: string; // the rule that allowed it
  allowTools?: Json; // rules that the decision made, an array of strings
  by?: string; // the person, or policy
}

/** An agent wants to use a tool. */
export interface ToolCallData {
  id: string; // the call's id, new in its session
  name: string; // the tool
  input: Json; // the tool's input, with the bytes the agent sent
  cwd?: string; // the folder it would run in
  dialect?: string; // the agent whose name for the tool it is
  verdict: VerdictData; // what the rules say of it
}

/** A person is asked. */
export interface ToolApprovalRequestData {
  toolCallId: string; // the call that waits
  tool: string; // its tool
  reason: ReasonData; // why a person is asked
  digest: string; // SHA-256 of what is asked: session, call, tool, input, folder, files
  files?: string; // digest of the files that are shown
  preview?: Json; // what it would change, for people
  shown?: Json; // its risk, and the parts of a command with their verdicts, as they were shown; a part that is all of a member of the input names it (`textOf`)
  box?: string; // of a command that Nod itself would run: inside, outside, or none where there is no box
  deadline?: string; // when it times out
  routine?: boolean; // not risky: may be allowed with others, and without a signature
  people?: number; // how many persons must allow it; absent: one
  waits?: boolean; // whoever asked waits for the answer
  withdraws?: boolean; // it is withdrawn when whoever asked stays away
  callback?: string; // the address that its answer is posted to
  inFile?: Json; // what its file showed then, for those who may answer; told in no event
}

/** The answer. */
export interface ToolApprovalResponseData {
  toolCallId: string; // the call it answers
  decision: "allow_once" | "allow_session" | "allow_always" | "deny" | "abort" | "timeout" | "cancelled"; // the first one wins
  feedback?: string; // words for the agent
  updatedInput?: Json; // the input as a person has changed it
  rules?: Json; // rules that follow from it, an array of strings
  rulesChosen?: boolean; // Nod chose the rules, the person named none
  scope?: string; // of allow_always: where its rules hold; session, project or everywhere
  expiresAt?: string; // when its rules end
  uses?: number; // for how many calls each of its rules is good
  mode?: string; // the session's permission mode from now on
  by?: string; // id of the token that decided
  people?: string[]; // the persons who have allowed it, where several must
  signature?: Json; // by a key of whoever decided: v, kind, key, statement, sig, client, auth
}

/** One of several persons who must allow a call has done so. */
export interface ToolApprovalPartialData {
  toolCallId: string; // the call that waits for more persons
  decision: "allow_once" | "allow_session" | "allow_always" | "deny" | "abort" | "timeout" | "cancelled"; // allow_once
  person: string; // of the key that signed it; without one, the token's name
  have: number; // how many persons have allowed it now
  need: number; // how many must
  feedback?: string; // words for the agent
  updatedInput?: Json; // the input as a person changed it; answers to another do not count
  by?: string; // id of the token that answered
  signature?: Json; // by a key of whoever answered
}

/** The tool begins; kept before it has an effect. */
export interface ToolStartedData {
  toolCallId: string; // the call that begins now
  threadId?: string; // the thread of the sub-agent that does it
}

/** The result, at most one per call. */
export interface ToolResultData {
  toolCallId: string; // the call
  content: Json; // what came of it, as it was reported
  isError: boolean; // it failed
  interrupted?: boolean; // it had started, and nobody knows how far it came
  supersededBy?: string; // the call that takes its place, because files had changed
  usage?: Json; // tokens of the sub-agent that did it
  permissions?: PermissionsData; // who let it pass
}

/** People are told once more of a call that waits; changes nothing. */
export interface ToolApprovalAlertData {
  toolCallId: string; // the call that nobody has answered for some time
  tool: string; // its tool
  requestedAt: string; // since when it waits
}

/** A message to a person was sent or given up. */
export interface DeliveryEndedData {
  deliveryId: string; // id of the message; the same for every attempt
  toolCallId: string; // the call that it was about; of an alert: what it is about
  person: string; // for whom it was
  channel: string; // how it was sent
  purpose: string; // ask, remind, escalate, assign, withdraw, callback or alert
  outcome: string; // sent, or failed: it is not tried again
  attempts: number; // how often it was tried
  status?: number; // of the receiver's last answer
  external?: string; // how the receiver names it, to change it later
}

/** A process is about to send a message; the first claim holds for a lease. */
export interface DeliveryClaimedData {
  deliveryId: string; // the message
  toolCallId: string; // the call that it is about; of an alert: what it is about
  owner: string; // the process that is about to send it
}

/** A person looks at a waiting call: messages to them wait a while. Only where nodes share a store. */
export interface DeliveryHeldData {
  toolCallId: string; // the call that the person looks at
  person: string; // who is told of it later than planned
}

/** A person put a waiting call off: reminders wait, its deadline does not. */
export interface ToolApprovalSnoozedData {
  toolCallId: string; // the call that waits
  until?: string; // until when people are told nothing of it; absent: the snooze ends
  by?: string; // id of the token that was used
}

/** A person asked another one to answer a waiting call; anybody who may answer still may. */
export interface ToolApprovalAssignedData {
  toolCallId: string; // the call that waits
  person?: string; // who is to answer it; absent: anybody
  by?: string; // id of the token that was used
}

/** A command in a box reached out for a host, once per host and port. */
export interface EgressData {
  toolCallId: string; // the call of the command in whose box the connection was made
  host: string; // the name or address that it asked for
  port: number; // its port
  state: string; // opened: before the first connection; refused; closed: with the box
  why?: string; // why it was refused
  connections?: number; // how many there were
  up?: number; // bytes to the host
  down?: number; // bytes from it
}

/** A thread of a session. */
export interface ThreadData {
  id: string; // begins with the session's id and a dot
  parentId?: string; // the thread it belongs to
  title?: string; // for people
}

/** A session begins. */
export interface SessionCreatedData {
  change: "created";
  threadId: string; // its main thread
  title?: string; // for people
  cwd?: string; // the folder of its calls
  cwdProposed?: boolean; // an agent named the folder, and no person has opened it
  permissionMode?: string; // default when it is absent
  toolPolicies?: Json; // effect by tool
  approvalTimeoutSeconds?: number; // how long a call waits for a person; 0: for ever
  owner?: string; // id of the token that made it
}

/** A session's settings change. */
export interface SessionSettingsData {
  change: "settings";
  toolCallId?: string; // the call whose answer caused it
  title?: string; // for people
  cwd?: string; // the folder of its calls
  permissionMode?: string; // the permission mode
  toolPolicies?: Json; // effect by tool; null takes one away
  approvalTimeoutSeconds?: number; // how long a call waits for a person; 0: for ever
  rules?: Json; // rules that are added, each an object with an id
  removedRules?: string[]; // ids of rules that are taken away
}

/** A call used a limited rule of the session. */
export interface SessionUsedData {
  change: "used";
  usedRules: string[]; // ids of rules for a limited number of calls
}

/** A session gets a thread. */
export interface SessionThreadData {
  change: "thread";
  thread: ThreadData; // the new thread
}

/** Someone gets a token. */
export interface TokenCreatedData {
  change: "created";
  id: string; // the token's id, no secret
  name: string; // whose it is; stands as the actor of events
  role: string; // admin, approver, agent or viewer
  scopes?: string[]; // its rights; absent in old events: those that the role had then
  sessionId?: string; // the one session it is good for
  folders?: string[]; // an agent's: where its sessions may be
  hash: string; // SHA-256 of the secret
}

/** A token is revoked. */
export interface TokenRevokedData {
  change: "revoked";
  id: string; // the token that is not valid from now on
}

/** An agent's process tried to act as a person. */
export interface TokenTrippedData {
  change: "tripped";
  id: string; // the person's token that a process below an agent used at the Unix socket
  person: string; // its name
  what: string; // the request, which was refused
}

/** A rule of the user's layer. */
export interface RuleAddedData {
  change: "added";
  toolCallId?: string; // the call whose answer caused it
  rule: Json; // the rule
}

/** A person says where a rule holds. */
export interface RuleBoundData {
  change: "bound";
  id: string; // the rule
  rule: Json; // where the rule holds now: scope, and project with path, dev and ino
}

/** A rule is revoked. */
export interface RuleRemovedData {
  change: "removed";
  id: string; // the rule that is revoked
}

/** A call used a limited rule of the user's layer. */
export interface RuleUsedData {
  change: "used";
  id: string; // a rule for a limited number of calls
}

/** A project's file is trusted as it is. */
export interface RuleTrustedData {
  change: "trusted";
  path: string; // a project's file of rules or of MCP servers
  hash?: string; // SHA-256 of the content that is trusted
  toolCallId?: string; // the call whose answer caused it
}

/** A project's file is not trusted any more. */
export interface RuleDistrustedData {
  change: "distrusted";
  path: string; // a project's file that is not trusted any more
  hash?: string; // of its content
}

/** A tool's definition holds as it is. */
export interface RulePinnedData {
  change: "pinned";
  root?: string; // the project in which the server is named
  tool: string; // a tool of an MCP server
  digest: string; // of the definition
  definition?: Json; // description and schema that hold from now on
  toolCallId?: string; // the call whose answer caused it
}

/** A person's key for signing decisions is known. */
export interface KeyAddedData {
  change: "key_added";
  id: string; // the key's id: the first 32 hexadecimal digits of the SHA-256 of spki
  person: string; // whose it is: the name of the token that made it known
  name?: string; // for people: this laptop, the blue stick
  kind: string; // webauthn, ed25519 or sshsig
  spki: string; // the public key (SubjectPublicKeyInfo, DER) in base 64 for URLs
  credential?: string; // webauthn: the id by which a browser finds it
  rpId?: string; // webauthn: the host name that it is good for
  origin?: string; // webauthn: the page that it signs for
  proof: Json; // the new key's own signature
  validFrom?: string; // added with a recovery code: it signs from then on
  recovery?: string; // SHA-256 of that code, which is used up
  signature?: Json; // by the key that vouches for it; absent for the first of the installation
}

/** A person's key has signed something. */
export interface KeyUsedData {
  change: "key_used";
  id: string; // the key that has signed
  nonce?: string; // nonce of the signed request, used up by it
  counter?: number; // the authenticator's counter, which never decreases
}

/** A person's key is revoked. */
export interface KeyRevokedData {
  change: "key_revoked";
  id: string; // the key that is revoked: its signatures are not valid from now on
  reason?: string; // reset: on the server's machine, without a signature
  signature?: Json; // by the key that revoked it
}

/** A person has recovery codes. */
export interface KeyRecoveryData {
  change: "key_recovery";
  person: string; // whose recovery codes they are; older ones are no longer valid
  codes: string[]; // SHA-256 of each
  signature?: Json; // made by a key of that person
}

/** A session's events left the store. */
export interface SessionArchivedData {
  archive: string; // the archive's name, without its folder
  archiveDigest: string; // SHA-256 of the archive
  events?: number; // how many events went there
  calls?: number; // and calls
  firstSeq?: number; // the first of them
  lastSeq?: number; // the last of them
  hash: string; // the link of the last in the session's chain
}

/** Tokens, and what they cost. */
export interface UsageData {
  input: number; // tokens that were neither read from nor put into the cache
  output: number; // tokens of the answer
  cacheRead: number; // tokens from the cache
  cacheWrite: number; // tokens put into the cache
  costUsd?: Json; // dollars; absent when the price of a model is not known
}

/** The call that a sub-agent does. */
export interface ParentData {
  threadId: string; // the thread that has started it
  callId: string; // the call that it does
  runId: string; // the run that made that call
}

/** A run, summed up. */
export interface BasisData {
  prompt?: string; // the task at hand
  model?: string; // the model, when the run names one
  system?: string; // its system prompt
  iterations: number; // answers so far
  maxIterations: number; // answers in all; 0: the default
  maxTokens?: number; // tokens of one answer, when the run says
  tasks: number; // sub-agents so far
  createdAt: string; // when the run began
  usage: UsageData; // tokens so far
  agent?: string; // the sub-agent's name
  depth?: number; // sub-agents above it, itself counted
  parent?: ParentData; // the run it is part of
}

/** Words for the agent. */
export interface UserMessageData {
  runId?: string; // the run that it starts
  text: string; // what is said to the agent
  source?: string; // person: someone wrote it here
}

/** An answer of the model. */
export interface AgentMessageData {
  runId?: string; // the run
  content: Json; // blocks: text, thinking, tool_use
  stopReason?: string; // why the model stopped
  model?: string; // the model that answered
  usage?: UsageData; // tokens of this answer
}

/** Something for people only. */
export interface LocalSystemMessageData {
  runId?: string; // the run
  text?: string; // words for people; no model sees them
}

/** How the model is to work, by Nod. */
export interface SystemPromptData {
  runId?: string; // the run
  text: string; // what the model is told of itself
}

/** The same, by whoever asked. */
export interface UserSystemPromptData {
  runId?: string; // the run
  text: string; // what the model is told of itself
}

/** The conversation is replaced by its summary. */
export interface CompactionData {
  runId: string; // the run
  summary?: string; // a summary, which replaces the conversation before it
  tokensBefore: number; // how long the conversation was
  usage?: UsageData; // tokens of summing up
  basis?: BasisData; // the run as it was: reading may begin here
}

/** A run begins, waits, goes on, ends. */
export interface RunStatusData {
  runId?: string; // the run
  status: string; // pending, running, awaiting_approval, completed, rejected, failed, cancelled
  source?: string; // person: someone wants it so
  reason?: string; // why, in words
  owner?: string; // the process that works on it
  model?: string; // the model, when the run names one
  system?: string; // its system prompt
  maxIterations?: number; // answers in all
  maxTokens?: number; // tokens of one answer
  iterations?: number; // answers so far
  usage?: UsageData; // tokens so far
  agent?: string; // the sub-agent's name
  depth?: number; // sub-agents above it, itself counted
  parent?: ParentData; // the run it is part of
}

/** A node lives; of a store that several share. */
export interface RunLeaseData {
  owner: string; // a process that lives, and works on its runs
}

/** The data of each type of event. */
export interface EventData {
  USER_MESSAGE: UserMessageData;
  AGENT_MESSAGE: AgentMessageData;
  TOOL_CALL: ToolCallData;
  TOOL_APPROVAL_REQUEST: ToolApprovalRequestData;
  TOOL_APPROVAL_RESPONSE: ToolApprovalResponseData;
  TOOL_STARTED: ToolStartedData;
  TOOL_RESULT: ToolResultData;
  LOCAL_SYSTEM_MESSAGE: LocalSystemMessageData;
  SYSTEM_PROMPT: SystemPromptData;
  USER_SYSTEM_PROMPT: UserSystemPromptData;
  COMPACTION: CompactionData;
  RUN_STATUS: RunStatusData;
  SESSION_CHANGED: SessionCreatedData | SessionSettingsData | SessionUsedData | SessionThreadData;
  TOKEN_CHANGED: TokenCreatedData | TokenRevokedData | TokenTrippedData | KeyAddedData | KeyUsedData | KeyRevokedData | KeyRecoveryData;
  RULE_CHANGED: RuleAddedData | RuleBoundData | RuleRemovedData | RuleUsedData | RuleTrustedData | RuleDistrustedData | RulePinnedData;
  SESSION_ARCHIVED: SessionArchivedData;
  TOOL_APPROVAL_ALERT: ToolApprovalAlertData;
  RUN_LEASE: RunLeaseData;
  DELIVERY_ENDED: DeliveryEndedData;
  DELIVERY_CLAIMED: DeliveryClaimedData;
  EGRESS: EgressData;
  TOOL_APPROVAL_PARTIAL: ToolApprovalPartialData;
  DELIVERY_HELD: DeliveryHeldData;
  TOOL_APPROVAL_SNOOZED: ToolApprovalSnoozedData;
  TOOL_APPROVAL_ASSIGNED: ToolApprovalAssignedData;
}
