/* Data of the events of a call. Included by shapes.h; shape.h says what the columns mean. */
#ifndef EVENT_SHAPES_CALL_H
#define EVENT_SHAPES_CALL_H

#include "event/call.h"
#include "event/shape.h"

/*    type, member, wire, presence, words */
#define VERDICT_FIELDS(F)                                                             \
    F(text, effect, "effect", ALWAYS, "allow, ask or deny")                           \
    F(text, rule, "rule", SET, "the rule that decided, as it is written")             \
    F(text, source, "source", SET, "the layer of that rule, or what else decided")    \
    F(text, why, "why", SET, "the reason, in words")                                  \
    F(texts, rules, "rules", SET, "ids of all rules that took part")

#define TOOL_CALL_FIELDS(F)                                                           \
    F(text, id, "id", ALWAYS, "the call's id, new in its session")                    \
    F(text, name, "name", ALWAYS, "the tool")                                         \
    F(raw, input, "input", ALWAYS, "the tool's input, with the bytes the agent sent") \
    F(text, cwd, "cwd", SET, "the folder it would run in")                            \
    F(text, dialect, "dialect", SET, "the agent whose name for the tool it is")       \
    F(verdict, verdict, "verdict", ALWAYS, "what the rules say of it")

#define REASON_FIELDS(F)                                                              \
    F(text, source, "source", SET, "the layer of the rule, or what else decided")     \
    F(text, rule, "rule", SET, "the rule that wants a person asked")                  \
    F(text, why, "why", SET, "the reason, in words")

#define TOOL_APPROVAL_REQUEST_FIELDS(F)                                               \
    F(text, call, "toolCallId", ALWAYS, "the call that waits")                        \
    F(text, tool, "tool", ALWAYS, "its tool")                                         \
    F(reason, reason, "reason", ALWAYS, "why a person is asked")                      \
    F(text, digest, "digest", ALWAYS, "SHA-256 of what is asked: session, call, tool, input, folder, files") \
    F(text, files, "files", SET, "digest of the files that are shown")                \
    F(raw, preview, "preview", SET, "what it would change, for people")               \
    F(raw, shown, "shown", SET, "its risk, and the parts of a command with their verdicts, as they were shown; a " \
      "part that is all of a member of the input names it (`textOf`)")                       \
    F(text, box, "box", SET, "of a command that Nod itself would run: inside, outside, or none where there is no box") \
    F(time, deadline, "deadline", SET, "when it times out")                           \
    F(flag, routine, "routine", SET, "not risky: may be allowed with others, and without a signature") \
    F(number, people, "people", SET, "how many persons must allow it; absent: one")     \
    F(flag, waits, "waits", SET, "whoever asked waits for the answer")                \
    F(flag, withdraws, "withdraws", SET, "it is withdrawn when whoever asked stays away") \
    F(text, callback, "callback", SET, "the address that its answer is posted to")    \
    F(raw, in_file, "inFile", SET, "what its file showed then, for those who may answer; told in no event")

#define TOOL_APPROVAL_RESPONSE_FIELDS(F)                                              \
    F(text, call, "toolCallId", ALWAYS, "the call it answers")                        \
    F(decision, decision, "decision", ALWAYS, "the first one wins")                   \
    F(text, feedback, "feedback", SET, "words for the agent")                         \
    F(raw, updated_input, "updatedInput", SET, "the input as a person has changed it") \
    F(raw, rules, "rules", SET, "rules that follow from it, an array of strings")     \
    F(flag, rules_chosen, "rulesChosen", SET, "Nod chose the rules, the person named none") \
    F(text, reach, "scope", SET, "of allow_always: where its rules hold; session, project or everywhere") \
    F(time, rules_end, "expiresAt", SET, "when its rules end")                         \
    F(number, rules_uses, "uses", SET, "for how many calls each of its rules is good") \
    F(text, mode, "mode", SET, "the session's permission mode from now on")           \
    F(text, by, "by", SET, "id of the token that decided")                            \
    F(texts, people, "people", SET, "the persons who have allowed it, where several must") \
    F(raw, signature, "signature", SET, "by a key of whoever decided: v, kind, key, statement, sig, client, auth")

/* A partial answer signs the same statement as a response. */
#define TOOL_APPROVAL_PARTIAL_FIELDS(F)                                               \
    F(text, call, "toolCallId", ALWAYS, "the call that waits for more persons")        \
    F(decision, decision, "decision", ALWAYS, "allow_once")                           \
    F(text, person, "person", ALWAYS, "of the key that signed it; without one, the token's name") \
    F(number, have, "have", ALWAYS, "how many persons have allowed it now")           \
    F(number, need, "need", ALWAYS, "how many must")                                  \
    F(text, feedback, "feedback", SET, "words for the agent")                         \
    F(raw, updated_input, "updatedInput", SET, "the input as a person changed it; answers to another do not count") \
    F(text, by, "by", SET, "id of the token that answered")                           \
    F(raw, signature, "signature", SET, "by a key of whoever answered")

#define TOOL_APPROVAL_ALERT_FIELDS(F)                                                 \
    F(text, call, "toolCallId", ALWAYS, "the call that nobody has answered for some time") \
    F(text, tool, "tool", ALWAYS, "its tool")                                         \
    F(time, requested_ms, "requestedAt", ALWAYS, "since when it waits")

#define TOOL_STARTED_FIELDS(F)                                                        \
    F(text, call, "toolCallId", ALWAYS, "the call that begins now")                   \
    F(text, child, "threadId", SET, "the thread of the sub-agent that does it")

#define PERMISSIONS_FIELDS(F)                                                         \
    F(time, date, "date", ALWAYS, "when it was allowed")                              \
    F(text, result, "result", ALWAYS, "approved")                                     \
    F(decision, decision, "decision", ALWAYS, "how")                                  \
    F(text, mode, "mode", SET, "the session's permission mode")                       \
    F(text, rule, "rule", SET, "the rule that allowed it")                            \
    F(raw, allow_tools, "allowTools", SET, "rules that the decision made, an array of strings") \
    F(text, by, "by", SET, "the person, or policy")

#define TOOL_RESULT_FIELDS(F)                                                         \
    F(text, call, "toolCallId", ALWAYS, "the call")                                   \
    F(raw, content, "content", ALWAYS, "what came of it, as it was reported")         \
    F(flag, is_error, "isError", ALWAYS, "it failed")                                 \
    F(flag, interrupted, "interrupted", SET, "it had started, and nobody knows how far it came") \
    F(text, superseded_by, "supersededBy", SET, "the call that takes its place, because files had changed") \
    F(raw, usage, "usage", SET, "tokens of the sub-agent that did it")                \
    F(permissions, permissions, "permissions", SET, "who let it pass")

#define DELIVERY_ENDED_FIELDS(F)                                                      \
    F(text, delivery, "deliveryId", ALWAYS, "id of the message; the same for every attempt") \
    F(text, call, "toolCallId", ALWAYS, "the call that it was about; of an alert: what it is about") \
    F(text, person, "person", ALWAYS, "for whom it was")                              \
    F(text, channel, "channel", ALWAYS, "how it was sent")                            \
    F(text, purpose, "purpose", ALWAYS, "ask, remind, escalate, assign, withdraw, callback or alert") \
    F(text, outcome, "outcome", ALWAYS, "sent, or failed: it is not tried again")     \
    F(number, attempts, "attempts", ALWAYS, "how often it was tried")                 \
    F(number, status, "status", SET, "of the receiver's last answer")                  \
    F(text, external, "external", SET, "how the receiver names it, to change it later")

#define DELIVERY_CLAIMED_FIELDS(F)                                                    \
    F(text, delivery, "deliveryId", ALWAYS, "the message")                            \
    F(text, call, "toolCallId", ALWAYS, "the call that it is about; of an alert: what it is about") \
    F(text, owner, "owner", ALWAYS, "the process that is about to send it")

#define DELIVERY_HELD_FIELDS(F)                                                       \
    F(text, call, "toolCallId", ALWAYS, "the call that the person looks at")          \
    F(text, person, "person", ALWAYS, "who is told of it later than planned")

#define TOOL_APPROVAL_SNOOZED_FIELDS(F)                                               \
    F(text, call, "toolCallId", ALWAYS, "the call that waits")                        \
    F(time, until, "until", SET, "until when people are told nothing of it; absent: the snooze ends") \
    F(text, by, "by", SET, "id of the token that was used")

#define TOOL_APPROVAL_ASSIGNED_FIELDS(F)                                              \
    F(text, call, "toolCallId", ALWAYS, "the call that waits")                        \
    F(text, person, "person", SET, "who is to answer it; absent: anybody")            \
    F(text, by, "by", SET, "id of the token that was used")

#define EGRESS_FIELDS(F)                                                              \
    F(text, call, "toolCallId", ALWAYS, "the call of the command in whose box the connection was made")                \
    F(text, host, "host", ALWAYS, "the name or address that it asked for")            \
    F(number, port, "port", ALWAYS, "its port")                                       \
    F(text, state, "state", ALWAYS, "opened: before the first connection; refused; closed: with the box") \
    F(text, why, "why", SET, "why it was refused")                                    \
    F(number, connections, "connections", SET, "how many there were")                 \
    F(number, up, "up", SET, "bytes to the host")                                     \
    F(number, down, "down", SET, "bytes from it")

/*    name, kind, change, fields, words */
#define CALL_SHAPES(S)                                                                                          \
    S(verdict, NONE, NULL, VERDICT_FIELDS, "What rules, mode and defaults say of a call.")                      \
    S(reason, NONE, NULL, REASON_FIELDS, "Why a person is asked.")                                              \
    S(permissions, NONE, NULL, PERMISSIONS_FIELDS, "The permission under which Nod has done something.")        \
    S(tool_call, TOOL_CALL, NULL, TOOL_CALL_FIELDS, "An agent wants to use a tool.")                            \
    S(tool_approval_request, TOOL_APPROVAL_REQUEST, NULL, TOOL_APPROVAL_REQUEST_FIELDS, "A person is asked.")   \
    S(tool_approval_response, TOOL_APPROVAL_RESPONSE, NULL, TOOL_APPROVAL_RESPONSE_FIELDS, "The answer.")       \
    S(tool_approval_partial, TOOL_APPROVAL_PARTIAL, NULL, TOOL_APPROVAL_PARTIAL_FIELDS,                         \
      "One of several persons who must allow a call has done so.")                                              \
    S(tool_started, TOOL_STARTED, NULL, TOOL_STARTED_FIELDS, "The tool begins; kept before it has an effect.")  \
    S(tool_result, TOOL_RESULT, NULL, TOOL_RESULT_FIELDS, "The result, at most one per call.")                  \
    S(tool_approval_alert, TOOL_APPROVAL_ALERT, NULL, TOOL_APPROVAL_ALERT_FIELDS,                               \
      "People are told once more of a call that waits; changes nothing.")                                         \
    S(delivery_ended, DELIVERY_ENDED, NULL, DELIVERY_ENDED_FIELDS, "A message to a person was sent or given up.") \
    S(delivery_claimed, DELIVERY_CLAIMED, NULL, DELIVERY_CLAIMED_FIELDS,                                        \
      "A process is about to send a message; the first claim holds for a lease.") \
    S(delivery_held, DELIVERY_HELD, NULL, DELIVERY_HELD_FIELDS,                                                 \
      "A person looks at a waiting call: messages to them wait a while. Only where nodes share a store.")       \
    S(tool_approval_snoozed, TOOL_APPROVAL_SNOOZED, NULL, TOOL_APPROVAL_SNOOZED_FIELDS,                         \
      "A person put a waiting call off: reminders wait, its deadline does not.")                                \
    S(tool_approval_assigned, TOOL_APPROVAL_ASSIGNED, NULL, TOOL_APPROVAL_ASSIGNED_FIELDS,                      \
      "A person asked another one to answer a waiting call; anybody who may answer still may.")                 \
    S(egress, EGRESS, NULL, EGRESS_FIELDS, "A command in a box reached out for a host, once per host and port.")

#define SHAPE_C_decision enum decision
#define SHAPE_C_verdict const struct data_verdict *
#define SHAPE_C_reason const struct data_reason *
#define SHAPE_C_permissions const struct data_permissions *

CALL_SHAPES(SHAPE_STRUCT)

#endif
