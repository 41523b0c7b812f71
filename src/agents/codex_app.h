/* Codex' app-server, as its client reads and writes it: JSON-RPC in lines, without "jsonrpc".
 *
 * Pure. Started with the policy "untrusted" and without a sandbox of its own, Codex asks about every command and every
 * patch; a patch itself is in the item that was announced before.
 */
#ifndef AGENTS_CODEX_APP_H
#define AGENTS_CODEX_APP_H

#include "base/json.h"

struct codex_message {
    const struct json *json, *params;
    struct str id;              /* JSON as it came; empty: a notification */
    struct str method;          /* empty: an answer */
    struct str thread, turn, item;
};
struct rc codex_read(struct arena *arena, struct str line, struct codex_message *ret_message, struct err *err);

enum codex_ask_kind {
    CODEX_NONE,                 /* no ask that is known: it is refused */
    CODEX_ACT,                  /* a command or a patch */
    CODEX_TOOL,                 /* a tool of an MCP server */
};
enum codex_ask_kind codex_ask_kind(const struct codex_message *message);

/* The call that the gate is asked about. */
struct codex_ask {
    struct str name, input, dialect, cwd;
};
/* `item`: the announced item that the ask is about, as JSON; empty: none is known. */
struct rc codex_ask_read(struct arena *arena, const struct codex_message *message, struct str item,
                         struct codex_ask *ret_ask, struct err *err);
enum codex_decision { CODEX_ACCEPT, CODEX_DECLINE, CODEX_STOP };
/* Stop also ends the turn. */
void codex_answer(struct buf *out, const struct codex_message *message, enum codex_decision decision);
void codex_refuse(struct buf *out, struct str id, struct str words);

/* ---- messages of our own, each a line ---- */
void codex_initialize(struct buf *out);
void codex_initialized(struct buf *out); /* after the answer to it */
void codex_start_thread(struct buf *out, struct str cwd);
void codex_start_turn(struct buf *out, struct str thread, struct str text);
/* More of the person's words within a turn. */
void codex_steer(struct buf *out, struct str thread, struct str turn, struct str text);

#endif
