/* Messages of JSON-RPC 2.0, each a line, as MCP, ACP and Codex's app-server take them. */
#ifndef AGENTS_RPC_H
#define AGENTS_RPC_H

#include "base/json.h"

/* False: a member is one of the names (NULL ends them) in other letters. Readers that do not mind (those of Go) would
 * take "Method" for "method". */
bool rpc_spelled(const struct json *object, const char *const *names);
/* rpc_spelled() of a message, with the names of JSON-RPC: jsonrpc, id, method, params, result, error. */
bool rpc_is_plain(const struct json *message);

/* An id as it came, a string or a number; empty: the value is not an id. */
struct str rpc_id(const struct json *value);
/* Finds the id (JSON as it came) of a line that json_parse refuses: for a NUL, a key that comes twice, too many levels.
 * It looks at the members of the outermost object alone. False: there is no id, or more than one. */
bool rpc_peek(struct arena *arena, struct str line, struct str *ret_id, bool *ret_is_request);

/* A request or, without an id, a notification: open in its params. `id`: a string of ours; NULL: none. */
struct json_out rpc_open_message(struct buf *buf, const char *id, const char *method);
/* An answer: open in its result. `id`: JSON as it came. */
struct json_out rpc_open_result(struct buf *buf, struct str id);
/* Ends either. */
void rpc_close(struct json_out *out);
void rpc_error(struct buf *buf, struct str id, int code, struct str words);
/* {"type":"text","text":…}; an empty text is kept. */
void rpc_put_text(struct json_out *out, struct str text);

#endif
