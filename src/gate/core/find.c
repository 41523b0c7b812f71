/* Which session a call is in, when only its id is known, and whether the session may be seen.
 *
 *   BEGIN --read the call in all sessions--> READ --look at each session--> SEEN --> found, when it is just one
 *                                             `-----look at the only one--> NAMED (core_lend)
 *
 * A call's id is unique only within its session. The answer of the read stays in op->found, so that the call is not
 * read again.
 */
#include "gate/core/core.h"

#include "event/read.h"

/* The index, from `at` on, of the first event of a session that does not occur before it. */
static size_t next_session(const struct read *read, size_t at)
{
    for (; at < read->event_count; at++) {
        size_t first = 0;
        while (!str_eq(read->events[first].session, read->events[at].session))
            first++;
        if (first == at)
            break;
    }
    return at;
}

/* Looks up the next session that has such a call; after the last one, returns true if exactly one may be seen. */
static bool look_at_next(struct op *op, struct out *out)
{
    const struct read *found = op->found;
    bool none = str_empty(*op->find_session);
    op->found_at = next_session(found, op->found_at);
    if (op->found_at < found->event_count) {
        out->look = found->events[op->found_at].session;
        op->finding = FIND_SEEN;
        if (none && next_session(found, op->found_at + 1) == found->event_count) {
            *op->find_session = arena_str(op->arena, out->look);
            op->finding = FIND_NAMED;
        }
        return false;
    }
    if (none)
        (void)err_set(gate_op_fail(op), ERR_NOT_FOUND, "there is no such call");
    op->finding = FIND_DONE;
    return !none;
}

static bool take_found(struct op *op, struct out *out)
{
    op->found = op->read;
    op->read = NULL;
    gate_op_take(op, &op->found->err);
    if (!op->err && op->found->event_count == 0 && op->found->archived_count)
        gate_say_archived(gate_op_fail(op), &op->found->archived[0]);
    return !op->err && look_at_next(op, out);
}

/* Two sessions with a call of this id, both visible: the caller must say which. */
static bool take_seen(struct op *op, struct out *out)
{
    if (op->err)
        return false;
    if (op->session && !str_empty(*op->find_session)) {
        (void)err_set(gate_op_fail(op), ERR_AMBIGUOUS, "several sessions have a call of this id; add ?session=");
        return false;
    }
    if (op->session)
        *op->find_session = arena_str(op->arena, op->found->events[op->found_at].session);
    op->found_at++;
    return look_at_next(op, out);
}

/* True: *op->find_session is set and may be seen. False: out says what is needed next, or op->err is set. */
bool core_find(struct op *op, struct out *out)
{
    switch (op->finding) {
    case FIND_BEGIN:
        op->finding = FIND_READ;
        out->read = read_new_call(STR_NONE, op->find_call);
        return false;
    case FIND_READ:
        return take_found(op, out);
    case FIND_SEEN:
        return take_seen(op, out);
    }
    err_die(__FILE__, __LINE__, "a call is looked for in no phase");
}
