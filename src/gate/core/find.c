/* Which session a call is in, when only its id is known, and whether the session may be seen.
 *
 *   BEGIN --look at the named session--> NAMED --> found
 *     `-----read the call in all sessions--> READ --look at each session--> SEEN --> found, when it is just one
 *
 * A call's id is unique only within its session. The answer of the read stays in op->found, so that the call is not
 * read again.
 */
#include "gate/core/core.h"

#include "event/read.h"

bool core_may_see(const struct op *op, const struct session *session)
{
    return !op->viewer || token_may_see(op->viewer, session);
}

static bool is_first_of_session(const struct read *read, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (str_eq(read->events[i].session, read->events[at].session))
            return false;
    return true;
}

/* Looks up the next session that has such a call; after the last one, returns true if exactly one may be seen. */
static bool look_at_next(struct op *op, struct str session, struct out *out)
{
    const struct read *found = op->found;
    while (op->found_at < found->event_count && !is_first_of_session(found, op->found_at))
        op->found_at++;
    if (op->found_at < found->event_count) {
        op->phase = FIND_SEEN;
        out->look = found->events[op->found_at].session;
        return false;
    }
    if (str_empty(session))
        (void)err_set(&op->err, ERR_NOT_FOUND, "there is no such call");
    return !str_empty(session);
}

static bool take_found(struct op *op, struct str *session, struct out *out)
{
    op->found = op->read;
    op->read = NULL;
    op->err = op->found->err;
    if (op->err.code == ERR_OK && op->found->event_count == 0 && op->found->archived_count)
        gate_say_archived(&op->err, &op->found->archived[0]);
    return op->err.code == ERR_OK && look_at_next(op, *session, out);
}

/* Two sessions with a call of this id, both visible: the caller must say which. */
static bool take_seen(struct op *op, struct str *session, struct out *out)
{
    if (op->err.code != ERR_OK)
        return false;
    if (op->session && !str_empty(*session)) {
        (void)err_set(&op->err, ERR_AMBIGUOUS, "several sessions have a call of this id; add ?session=");
        return false;
    }
    if (op->session)
        *session = arena_str(op->arena, op->found->events[op->found_at].session);
    op->found_at++;
    return look_at_next(op, *session, out);
}

/* True: *session is set and may be seen. False: out says what is needed next, or op->err is set. */
bool core_find(struct op *op, struct str *session, struct str call, struct out *out)
{
    switch (op->phase) {
    case FIND_BEGIN:
        CHECK(op->viewer || !str_empty(*session));
        if (!op->viewer)
            return true;
        op->phase = str_empty(*session) ? FIND_READ : FIND_NAMED;
        if (str_empty(*session))
            out->read = core_read_call(STR_NONE, call);
        else
            out->look = *session;
        return false;
    case FIND_NAMED:
        if (op->err.code == ERR_OK && !op->session)
            (void)err_set(&op->err, ERR_NOT_FOUND, "there is no such session");
        return op->err.code == ERR_OK;
    case FIND_READ:
        return take_found(op, session, out);
    case FIND_SEEN:
        return take_seen(op, session, out);
    }
    return true;
}
