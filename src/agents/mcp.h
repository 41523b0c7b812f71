/* MCP, the server's side: JSON-RPC messages in, answers out.
 *
 * Three tools: `approve` is Claude Code's permission prompt (--permission-prompt-tool) and whoever else's;
 * `ask_human` lets an agent ask a person something; `pending_calls` shows the agent what still waits. A tool's
 * call becomes one of the gate; while it waits the client is kept patient with progress.
 */
#ifndef AGENTS_MCP_H
#define AGENTS_MCP_H

#include "base/json.h"
#include "event/call.h"

enum mcp_tool { MCP_NO_TOOL, MCP_APPROVE, MCP_ASK_HUMAN, MCP_PENDING_CALLS };

/* One message of a client of our own MCP server (`nod mcp`, /api/mcp). */
struct mcp_message {
    struct str id;       /* JSON as it came; empty: a notification */
    struct str method;
    const struct json *params;
    enum mcp_tool tool;  /* for tools/call */
    const struct json *arguments;
    struct str progress; /* the client's progress token, raw JSON; empty: it wants no progress */
    struct str cancels;  /* id of the cancelled request, JSON; empty: none */
    bool modern;         /* protocol revision of 2026 or later, which has no handshake */
};

/* The question for the gate. */
struct mcp_ask {
    struct str id;       /* the agent's; empty: it has none */
    struct str name;
    const struct json *input;
};

/* On failure the id of the message is still filled in, if it could be read. */
struct rc mcp_read(struct arena *arena, struct str text, struct mcp_message *ret_message, struct err *err);
/* Whether the message must be answered by the gate or from the list of waiting calls. */
bool mcp_needs_gate(const struct mcp_message *message);
/* Answers everything else; a notification has no answer, the buffer stays empty. */
void mcp_answer(struct buf *out, const struct mcp_message *message);
struct rc mcp_ask_read(struct arena *arena, const struct mcp_message *message, struct mcp_ask *ret_ask,
                       struct err *err);
/* The outcome, in the form of the tool that was called. */
void mcp_answer_call(struct buf *out, const struct mcp_message *message, const struct call *call);
void mcp_answer_text(struct buf *out, const struct mcp_message *message, struct str text);
void mcp_refuse(struct buf *out, const struct mcp_message *message, struct str words);
/* Writes the n-th progress message. Its value stays below 1, so that progress of a server behind us is greater. */
void mcp_progress(struct buf *out, const struct mcp_message *message, unsigned times);

#endif
