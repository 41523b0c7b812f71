/* Data of the events of conversations and runs. Included by shapes.h; shape.h says what the columns mean.
 * Programs that run a conversation elsewhere write messages and statuses as they like: then runId is absent. */
#ifndef EVENT_SHAPES_RUN_H
#define EVENT_SHAPES_RUN_H

#include "event/shape.h"

/*    type, member, wire, presence, words */
#define USAGE_FIELDS(F)                                                               \
    F(number, input, "input", ALWAYS, "tokens that were neither read from nor put into the cache") \
    F(number, output, "output", ALWAYS, "tokens of the answer")                       \
    F(number, cache_read, "cacheRead", ALWAYS, "tokens from the cache")               \
    F(number, cache_write, "cacheWrite", ALWAYS, "tokens put into the cache")         \
    F(raw, cost, "costUsd", SET, "dollars; absent when the price of a model is not known")

#define PARENT_FIELDS(F)                                                              \
    F(text, thread, "threadId", ALWAYS, "the thread that has started it")             \
    F(text, call, "callId", ALWAYS, "the call that it does")                          \
    F(text, run, "runId", ALWAYS, "the run that made that call")

#define BASIS_FIELDS(F)                                                               \
    F(text, prompt, "prompt", SET, "the task at hand")                                \
    F(text, model, "model", SET, "the model, when the run names one")                 \
    F(text, system, "system", SET, "its system prompt")                               \
    F(number, iterations, "iterations", ALWAYS, "answers so far")                     \
    F(number, iterations_max, "maxIterations", ALWAYS, "answers in all; 0: the default") \
    F(number, answer_tokens, "maxTokens", SET, "tokens of one answer, when the run says") \
    F(number, tasks, "tasks", ALWAYS, "sub-agents so far")                            \
    F(time, created_ms, "createdAt", ALWAYS, "when the run began")                    \
    F(usage, usage, "usage", ALWAYS, "tokens so far")                                 \
    F(text, agent, "agent", SET, "the sub-agent's name")                              \
    F(number, depth, "depth", SET, "sub-agents above it, itself counted")             \
    F(parent, parent, "parent", SET, "the run it is part of")

#define USER_MESSAGE_FIELDS(F)                                                        \
    F(text, run, "runId", SET, "the run that it starts")                              \
    F(text, text, "text", ALWAYS, "what is said to the agent")                        \
    F(text, source, "source", SET, "person: someone wrote it here")

#define AGENT_MESSAGE_FIELDS(F)                                                       \
    F(text, run, "runId", SET, "the run")                                             \
    F(raw, content, "content", ALWAYS, "blocks: text, thinking, tool_use")            \
    F(text, stop_reason, "stopReason", SET, "why the model stopped")                  \
    F(text, model, "model", SET, "the model that answered")                           \
    F(usage, usage, "usage", SET, "tokens of this answer")

#define LOCAL_SYSTEM_MESSAGE_FIELDS(F)                                                \
    F(text, run, "runId", SET, "the run")                                             \
    F(text, text, "text", SET, "words for people; no model sees them")

#define SYSTEM_PROMPT_FIELDS(F)                                                       \
    F(text, run, "runId", SET, "the run")                                             \
    F(text, text, "text", ALWAYS, "what the model is told of itself")

#define COMPACTION_FIELDS(F)                                                          \
    F(text, run, "runId", ALWAYS, "the run")                                          \
    F(text, summary, "summary", SET, "a summary, which replaces the conversation before it") \
    F(number, tokens_before, "tokensBefore", ALWAYS, "how long the conversation was") \
    F(usage, usage, "usage", SET, "tokens of summing up")                             \
    F(basis, basis, "basis", SET, "the run as it was: reading may begin here")

#define RUN_STATUS_FIELDS(F)                                                          \
    F(text, run, "runId", SET, "the run")                                             \
    F(text, status, "status", ALWAYS, "pending, running, awaiting_approval, completed, rejected, failed, cancelled") \
    F(text, source, "source", SET, "person: someone wants it so")                     \
    F(text, reason, "reason", SET, "why, in words")                                   \
    F(text, owner, "owner", SET, "the process that works on it")                      \
    F(text, model, "model", SET, "the model, when the run names one")                 \
    F(text, system, "system", SET, "its system prompt")                               \
    F(number, iterations_max, "maxIterations", SET, "answers in all")                 \
    F(number, answer_tokens, "maxTokens", SET, "tokens of one answer")                \
    F(number, iterations, "iterations", GIVEN, "answers so far")                      \
    F(usage, usage, "usage", SET, "tokens so far")                                    \
    F(text, agent, "agent", SET, "the sub-agent's name")                              \
    F(number, depth, "depth", SET, "sub-agents above it, itself counted")             \
    F(parent, parent, "parent", SET, "the run it is part of")

#define RUN_LEASE_FIELDS(F) F(text, owner, "owner", ALWAYS, "a process that lives, and works on its runs")

/*    name, kind, change, fields, words */
#define RUN_SHAPES(S)                                                                                             \
    S(usage, NONE, NULL, USAGE_FIELDS, "Tokens, and what they cost.")                                             \
    S(parent, NONE, NULL, PARENT_FIELDS, "The call that a sub-agent does.")                                       \
    S(basis, NONE, NULL, BASIS_FIELDS, "A run, summed up.")                                                       \
    S(user_message, USER_MESSAGE, NULL, USER_MESSAGE_FIELDS, "Words for the agent.")                              \
    S(agent_message, AGENT_MESSAGE, NULL, AGENT_MESSAGE_FIELDS, "An answer of the model.")                        \
    S(local_system_message, LOCAL_SYSTEM_MESSAGE, NULL, LOCAL_SYSTEM_MESSAGE_FIELDS, "Something for people only.") \
    S(system_prompt, SYSTEM_PROMPT, NULL, SYSTEM_PROMPT_FIELDS, "How the model is to work, by Nod.")              \
    S(user_system_prompt, USER_SYSTEM_PROMPT, NULL, SYSTEM_PROMPT_FIELDS, "The same, by whoever asked.")          \
    S(compaction, COMPACTION, NULL, COMPACTION_FIELDS, "The conversation is replaced by its summary.")            \
    S(run_status, RUN_STATUS, NULL, RUN_STATUS_FIELDS, "A run begins, waits, goes on, ends.")                     \
    S(run_lease, RUN_LEASE, NULL, RUN_LEASE_FIELDS, "A node lives; of a store that several share.")

#define SHAPE_C_usage const struct data_usage *
#define SHAPE_C_parent const struct data_parent *
#define SHAPE_C_basis const struct data_basis *

RUN_SHAPES(SHAPE_STRUCT)

#endif
