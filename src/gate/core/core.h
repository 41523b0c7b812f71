/* The part of the gate that only computes: values in, values out.
 *
 * No clock, no randomness, no store, no thread and no callback (dev/symbols checks it on symbols): the time is an
 * argument, and what is to be kept or read is returned. The driver (gate/op.c) does it on the loop; tests/sim does it
 * with a store and a clock of its own.
 *
 * Waiting is a phase and a return. A step takes the answer to what it has asked for last, goes on as far as it can, and
 * says in `out` what it needs next; when it needs nothing, the operation is done.
 */
#ifndef GATE_CORE_CORE_H
#define GATE_CORE_CORE_H

#include "gate/gate.h"
#include "policy/policy.h"

struct data_permissions;
struct due;
struct open;

struct now {
    int64_t wall_ms;
};

/* At most one of them; the driver owns it from then on. */
struct out {
    struct append *append;
    struct read *read;
};

/* ---- operations ---- */
/* report.c. `op->read` or `op->append` is the answer to what the last step asked for. */
void report_step(struct op *op, struct now now, struct out *out);

/* ---- what is kept (appends.c) ---- */
/* A call with its verdict, and its request when a person must be asked: one append, under the needs that no such call
 * exists (need 0) and that the session it was judged by is unchanged (1). */
struct append *core_call_append(const struct ask *ask, const struct session *session, const struct verdict *verdict,
                                struct now now);
/* The call as it will be when that is kept. An answer that is told before comes on top of it. */
struct call core_expected_call(const struct ask *ask, const struct verdict *verdict, int64_t deadline_ms,
                               struct now now);
/* Where the rules of allow_always hold; empty for what makes none. */
struct str core_reach_name(const struct decide *decide);
/* A response, under the needs that the call was requested (0) and has none yet (1). */
struct append *core_response_append(const struct decide *decide, const struct open *open, struct now now);
/* People are told once more of a call that waits: under the needs that they were not yet, and that it has no answer. */
struct append *core_alert_append(const struct open *open, struct now now);

/* Who let a call pass, for its result; `mode` is the session's, or the one that the decision chose. */
struct data_permissions core_permissions(const struct call *call, struct str mode);

/* ---- when something is due (due.c): a heap of open calls ---- */
/* Time of the next alert, deadline or withdrawal; 0 when there is none. `alert_ms`: after how long people are told
 * once more, 0: never. */
int64_t due_time(const struct open *open, int64_t alert_ms);
void due_add(struct due *due, struct open *open, int64_t alert_ms);
void due_remove(struct due *due, struct open *open);
/* The first whose time has come; NULL when there is none. It stays in the heap. */
struct open *due_first(const struct due *due, int64_t wall_ms);
void due_done(struct due *due);

#endif
