/* Forms of an MCP server or an ACP agent (elicitation/create), for clients that show none: the form becomes a question
 * at the gate, and the person's answers become the client's. */
#ifndef AGENTS_FORMS_H
#define AGENTS_FORMS_H

#include "base/json.h"
#include "event/call.h"

/* The handshake with the capability to show forms, `value`, in its member `capabilities`; without a line end. False:
 * the client shows them itself. */
bool forms_offer(struct buf *buf, const struct json *handshake, const char *capabilities, struct str value);
/* A form as the input of a call of the tool Elicitation. */
void form_put(struct json_out *out, struct str name, const struct json *params);
/* Writes the answer to the request `id` as a line; `call` NULL: no person could be asked. Returns whether the form was
 * filled in. */
bool form_answer(struct buf *buf, struct str id, const struct json *params, const struct call *call);

#endif
