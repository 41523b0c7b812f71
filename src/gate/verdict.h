/* A verdict as JSON for people (verdict.c). */
#ifndef GATE_VERDICT_H
#define GATE_VERDICT_H

#include "base/json.h"
#include "policy/policy.h"

/* Writes the members `risk`, `risky`, `riskWords` and `parts`. */
void verdict_write_parts(struct json_out *out, const struct verdict *verdict);
/* Writes an object of the same members as a request's event keeps it. `input` is the call's, in which the texts of the
 * verdict stand. */
void verdict_keep_parts(struct json_out *out, const struct verdict *verdict, const struct json *input);
/* Writes the members of what verdict_keep_parts has kept, each part with its text. */
void verdict_put_kept(struct json_out *out, const struct json *kept, const struct json *input);
void verdict_write_suggestions(struct json_out *out, struct arena *arena, const struct question *question);

#endif
