/* The part of the gate that only computes: values in, values out.
 *
 * No clock, no randomness, no store, no thread and no callback (dev/symbols checks it on symbols): the time is an
 * argument, and what is to be kept, read or judged is returned. The driver (gate/op.c) does it on the loop; tests/sim
 * does it with a store and a clock of its own.
 *
 * Waiting is a phase and a return. A step takes the answer to what it has asked for last, goes on as far as it can, and
 * says in `out` what it needs next; when it needs nothing, the operation is done. Each kind is one file, top to bottom.
 */
#ifndef GATE_CORE_CORE_H
#define GATE_CORE_CORE_H

#include "event/token.h"
#include "gate/core/views.h"
#include "policy/policy.h"

struct data_tool_result;

/* Tools that only the gate asks about: what an MCP server says of a tool, a file that names servers (definitions.c). */
#define DEFINITION_TOOL "McpDefinition"
#define SERVERS_TOOL "McpServers"

/* The time of a step, taken by the driver: the core reads no clock. */
struct now {
    int64_t wall_ms, steady_us;
};

/* Work that may block: the driver does it in a thread, and steps the operation again. */
enum work {
    WORK_NONE,
    WORK_COMPARE, /* the files of a call with what was shown: execute->shown is filled in */
    WORK_DO,      /* the tool's effect: execute->did is filled in */
    WORK_LOOK,    /* at the file that an ask would change: ask->in_file is filled in */
};

/* The append or read that an operation needs before its next step, at most one of them. */
struct out {
    struct append *append; /* to be kept; the driver's from then on. The answer is op->append */
    struct read *read;     /* to be read; the driver's from then on. The answer is op->read */
    struct str look;       /* to be looked up: the session is lent to the next step as op->session, if it may be seen */
    struct str judge;      /* like `look`; op->judge applies the rules of that session before the next step */
    enum work work;        /* to be done in a thread */
    bool check;            /* op->check is to look at token and signature; the next step finds its error in op->err */
    bool park;             /* it waits in `waiters`: for an answer, or for the end of its time */
};

/* Phases of core_find, with which an operation about an existing call begins (op->finding). */
enum { FIND_DONE, FIND_BEGIN, FIND_NAMED, FIND_READ, FIND_SEEN };
enum { ASK_BEGIN, ASK_STATUS, ASK_JUDGED, ASK_LOOKED, ASK_KEPT, ASK_KNOWN, ASK_WAITS }; /* phases of ask_step */

/* ---- operations: the answer to what the last step asked for is in the op ---- */
void ask_step(struct core *core, struct op *op, struct now now, struct out *out);    /* also runs gate_status */
void decide_step(struct core *core, struct op *op, struct now now, struct out *out);
void report_step(struct core *core, struct op *op, struct now now, struct out *out);
void execute_step(struct core *core, struct op *op, struct now now, struct out *out);
void keep_step(struct core *core, struct op *op, struct now now, struct out *out); /* for struct kept_event */

/* The operation is about a call: its session is looked at before its first step (FIND_NAMED: the driver begins with
 * that), unless Nod itself asks. */
static inline void core_finds(struct op *op, struct str *session, struct str call)
{
    CHECK(op->viewer || !str_empty(*session));
    op->find_session = session;
    op->find_call = call;
    op->finding = !op->viewer ? FIND_DONE : str_empty(*session) ? FIND_BEGIN : FIND_NAMED;
}

/* Finds the session of the call when none was named, and whether it may be seen: true when *op->find_session is there;
 * else it has asked for something, or failed. The driver calls it until op->finding is FIND_DONE, and steps then. */
bool core_find(struct op *op, struct out *out);

/* Lends a session that was looked up to the next step, if it may be seen; `err` says why it could not be looked up.
 * False: the operation is about a call in it, and has failed. */
static inline bool core_lend(struct op *op, const struct session *session, const struct err *err)
{
    gate_op_take(op, err);
    op->session = session && (!op->viewer || token_may_see(op->viewer, session)) ? session : NULL;
    if (op->finding != FIND_NAMED)
        return true;
    op->finding = FIND_DONE;
    if (!op->err && !op->session)
        (void)err_set(gate_op_fail(op), ERR_NOT_FOUND,
                      op->found ? "there is no such call" : "there is no such session");
    return !op->err;
}

/* The call in `session` as the events of a READ_CALL tell it; false when there is none. */
bool core_take_call(struct arena *arena, struct call *call, struct str session, const struct read *read);

/* Makes the append of a call's result, under the need that there is none; adds the call's id and who allowed it. `mode`
 * is the session's, or the one that the decision chose. */
struct append *core_result_append(const struct call *call, struct str actor, struct str mode,
                                  const struct data_tool_result *result, struct now now);

/* ---- calls that were answered or let pass a moment ago (recent.c) ---- */
/* Remembers a call by its events: TOOL_CALL and, if a person was asked, request and response. */
void recent_add(struct recent *recent, const struct event *events, size_t count);
/* True when the call is remembered, as it was when it got its answer; it may have a result by now, which the append of
 * one finds out. */
bool recent_find(const struct recent *recent, struct arena *arena, struct str session, struct str call,
                 struct call *ret_call);
void recent_clear(struct recent *recent);

/* ---- open calls, and who waits for them (waits.c) ---- */
struct open *core_open(const struct core *core, struct str session, struct str call);
void waits_add(struct core *core, struct ask *ask, struct now now);
/* Ends a wait. `hung_up`: the client has left, which the call then shows. A client that asks to withdraw is away from
 * here on even if it did not wait: it may die before it comes back to do so. */
void waits_leave(struct core *core, struct ask *ask, bool hung_up, struct now now);
/* A response was delivered: the asks that wait for it become ready to be stepped. */
void waits_follow(struct core *core, const struct event *event);
/* TOOL_CALL and request of an open call; the data of a large one is empty. */
void waits_events(const struct open *open, struct event *ret_call, struct event *ret_request);
/* The call as it waits; false: it does not, or is not in memory. */
bool waits_open_call(const struct core *core, struct arena *arena, struct str session, struct str call,
                     struct call *ret_call);
/* The first waiting operation whose answer has come or whose time is over, to be stepped next; NULL: none. */
struct op *waits_next(struct core *core, struct now now);
bool waits_awaited(const struct core *core, struct str session, struct str call);

/* ---- calls that several persons must allow (people.c) ---- */
/* Whether the decision allows a call that several persons must allow. */
bool people_wanted(const struct open *open, const struct decide *decide);
/* Fails the decision if it may not count as one of several: it must allow only this call, and not be by the one who
 * asked. */
void people_check_form(const struct open *open, struct decide *decide);
void people_check_person(const struct open *open, struct decide *decide);
/* How many people have allowed the call, with the new decision. `ret_again`: the same person had allowed it before. */
unsigned people_with(const struct open *open, const struct decide *decide, bool *ret_again);
struct shape_texts people_names(struct arena *arena, const struct open *open, const struct decide *decide);
struct append *people_append(const struct core *core, const struct decide *decide, const struct open *open,
                             struct now now);
/* The authenticator's counter is kept with what it signed: it never goes back, also after a restart. */
void decide_add_use(struct append *append, const struct decide *decide);
/* A partial answer was delivered. If it allows another input, the answers before it become void. */
void people_take(struct open *open, const struct event *event);
/* The token was revoked: its partial answer counts no more. */
void people_drop(struct open *open, struct str token);
void people_free(struct open *open);

/* ---- marks on open calls (marks.c) ---- */
/* A snooze or an assignment was delivered; it counts if it is the last of its kind. */
void marks_take(struct core *core, struct open *open, const struct event *event);
/* All its marks are known now: from here on it may be due for an alert. */
void marks_known(struct core *core, struct open *open);
void marks_free(struct open *open);

/* ---- when something is due (due.c) ---- */
/* Time of the next alert, deadline or withdrawal; 0 when there is none. `alert_ms`: after how long people are told
 * once more, 0: never. An alert waits until the call's marks are known: one of them may put it off. */
int64_t due_time(const struct open *open, int64_t alert_ms);
void due_put(struct due *due, struct due_place *place);
void due_take(struct due *due, struct due_place *place);
/* The earliest time in the heap; 0: it is empty. */
int64_t due_next(const struct due *due);
void due_done(struct due *due);

void core_due_add(struct core *core, struct open *open);
void core_due_remove(struct core *core, struct open *open);
/* The first whose time has come; NULL when there is none. It stays in the heap. */
struct open *core_due_first(const struct core *core, int64_t wall_ms);
/* Notes whether the client that asked is connected, which decides when the question is withdrawn. */
void core_away(struct core *core, struct open *open, bool away, struct now now);
/* The alert was stored, by this process or another. */
void core_alerted(struct core *core, struct open *open);
/* Makes the append of an alert for a waiting call; it needs that there is no alert and no response yet. */
struct append *core_alert_append(const struct open *open, struct now now);

/* The name of the scope in which the rules of allow_always hold; empty for a decision without rules. */
struct str core_reach_name(const struct decide *decide);
/* Whether the decision is about the definition of an MCP server's tool, which holds for all sessions. */
bool decide_is_definition(const struct decide *decide, const struct open *open);

/* ---- pieces of what is kept, for tests ---- */
struct append *ask_append(const struct ask *ask, struct now now);
struct append *decide_append(const struct decide *decide, const struct open *open, struct now now);

#endif
