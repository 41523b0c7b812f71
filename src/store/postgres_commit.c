/* Commits a group: retries while the database is away or another node holds the lock without progress, and finds out
 * the outcome of a group whose answer was lost: it is looked for in the list of groups, under the lock, which the lost
 * transaction holds until it has ended one way or the other. A group that is not there is sent again before the lock is
 * given back: statements of the lost connection that reach the server later wait for the lock, and then do nothing,
 * because the heads that they name have changed. "A commit in doubt" in docs/OPERATIONS.md says what a client sees. */
#include "store/postgres_group.h"

#include "base/log.h"
#include "io/clock.h"

enum {
    COMMIT_MS = 7000,    /* how long a group is retried after it was queued; with the last try 10 s at most */
    RECENT_MS = 1000,    /* a group that has waited so long already is not tried so soon after another has failed */
    RESOLVE_MS = 60000,  /* how long we try to learn whether a COMMIT took effect */
};

/* ---- a lock that is not to be had ---- */

/* A node that was stopped, or cut off from the network, in the middle of sending a group holds the lock, and the
 * server waits for the rest of its statements without end: idle_in_transaction_session_timeout does not count
 * inside a pipeline. A node that has waited for the lock in vain ends such a connection, whose transaction is
 * rolled back. One that works, and one whose COMMIT waits for a standby, is left alone. */
static void throw_out(struct postgres_handle *handle)
{
    RESULT_SCOPE(gone);
    struct err err = {0};
    handle->lock_missed = false;
    postgres_send(handle, SQL_THROW_OUT, NULL);
    struct rc rc = postgres_flush(handle, &err);
    if (rc_ok(rc))
        rc = postgres_take(handle, &gone, &err);
    if (rc_ok(rc))
        rc = postgres_end(handle, &err);
    if (rc_bad(rc))
        log_line(LOG_WARN, "cannot look who holds the store's lock", LOG_C("why", err.text));
    else if (row_int(gone, 0, 0))
        log_line(LOG_WARN, "a node had stopped in the middle of a group and was disconnected");
}

/* Connects; after a lock timeout, terminates a lock holder that is idle. */
static struct rc connect_for_lock(struct postgres_handle *handle, int64_t deadline_us, struct err *err)
{
    bool missed = handle->lock_missed;
    TRY(postgres_connect(handle, deadline_us, err));
    if (missed)
        throw_out(handle);
    return handle->conn ? RC_OK : postgres_connect(handle, deadline_us, err);
}

/* Renumbers the group's events: other nodes' events came before it. */
static void move_group(struct append *group, uint64_t by)
{
    for (struct append *append = group; append; append = append->next)
        for (unsigned i = 0; append->outcome == APPEND_KEPT && i < append->event_count; i++)
            append->events[i].seq += by;
}

/* Takes the lock, which is had only when the transaction of the group that was sent has ended, and asks for the groups
 * that it may be. */
static struct rc ask_for_sent(struct postgres_handle *handle, PGresult **ret_found, struct err *err)
{
    ARENA_SCOPE(arena);
    struct params params = {0};
    params_int(&params, &arena, (int64_t)handle->sent.after);
    params_int(&params, &arena, (int64_t)handle->sent.count);
    int before = postgres_send_lock(handle);
    postgres_send(handle, SQL_SENT, &params);
    TRY(postgres_flush(handle, err));
    TRY(postgres_skip(handle, before, err));
    TRY(postgres_take(handle, ret_found, err));
    TRY(postgres_end(handle, err));
    handle->locked = true;
    return RC_OK;
}

/* Looks for the group that was sent, and gives its events the numbers that they got. One that was kept will be told,
 * though nobody here has read it: from now on the store must hold the last event that stands there with it. If it was
 * not, the lock is still held. */
static struct rc find_sent(struct postgres_handle *handle, struct append *group, bool *ret_kept, struct err *err)
{
    RESULT_SCOPE(found);
    const struct group_sent *sent = &handle->sent;
    struct anchor last = {0};
    uint64_t at = 0;
    TRY(ask_for_sent(handle, &found, err));
    for (int i = 0, count = pq.PQntuples(found); i < count; i++) {
        struct digest hash, hash_before;
        uint64_t seq = (uint64_t)row_int(found, i, 0);
        bool is_last = pq.PQgetisnull(found, i, 2);
        if (!row_digest(found, i, 1, &hash) || (!is_last && !row_digest(found, i, 2, &hash_before)))
            return err_set(err, ERR_CORRUPT, "event %llu has no valid link", (unsigned long long)seq);
        if (is_last)
            last = (struct anchor){seq, hash};
        else if (group_is_sent(sent, seq, &hash_before, &hash))
            at = seq;
    }
    *ret_kept = at != 0;
    if (!*ret_kept)
        return RC_OK;
    TRY(postgres_unlock(handle, err));
    TRY(postgres_make_durable(handle, last.seq, err));
    memory_meet(handle->memory, &last);
    move_group(group, at - (sent->after + sent->count));
    handle->seen_seq = at - sent->count;
    return RC_OK;
}

/* After a connection was lost in the middle of a commit. If the group was not kept, the lock is still held. Without an
 * answer in time the outcome stays unknown, and that is what the caller is told: asking again with the same id is
 * right. */
static struct rc resolve(struct postgres_handle *handle, struct append *group, bool *ret_kept, struct err *err)
{
    int64_t deadline_us = clock_steady_us() + (int64_t)RESOLVE_MS * 1000, pause_ms = 0;
    for (;;) {
        struct rc rc = connect_for_lock(handle, deadline_us, err);
        if (rc_ok(rc))
            rc = find_sent(handle, group, ret_kept, err);
        if (rc_ok(rc))
            return rc;
        postgres_disconnect(handle);
        if (!postgres_pause(&pause_ms, deadline_us)) {
            return err_set(err, ERR_UNAVAILABLE, "the database went away in the middle of a commit: "
                           "whether it was kept is not known, ask again");
        }
    }
}

/* How long the group is retried, by the steady clock: counted from when it was queued. */
static int64_t deadline_of(const struct append *first)
{
    int64_t queued_us = first->queued_us ? first->queued_us : clock_steady_us();
    return queued_us + (int64_t)COMMIT_MS * 1000;
}

static bool is_hopeless(const struct postgres_handle *handle, int64_t deadline_us)
{
    int64_t now_us = clock_steady_us();
    return now_us >= deadline_us && handle->failed_us && now_us - handle->failed_us < (int64_t)RECENT_MS * 1000;
}

/* Waits a moment before the next attempt, but not while others wait for the lock. False: the time is over. */
static bool has_time(const struct postgres_handle *handle, int64_t *pause_ms, int64_t deadline_us)
{
    return handle->locked ? clock_steady_us() < deadline_us : postgres_pause(pause_ms, deadline_us);
}

/* A group that was sent ahead needs nothing but its answer. */
static struct rc make_ready(struct postgres_handle *handle, int64_t deadline_us, struct err *err)
{
    if (handle->ahead.sent)
        return RC_OK;
    TRY(memory_check(handle->memory, err));
    return connect_for_lock(handle, deadline_us, err);
}

/* Commits the group, retries while the database is away, and finds out the outcome of a COMMIT in doubt. */
static struct rc commit_patiently(struct backend_handle *opaque, struct append *first, struct err *err)
{
    struct postgres_handle *handle = postgres_of(opaque);
    int64_t deadline_us = deadline_of(first), pause_ms = 0;
    if (!handle->ahead.sent && is_hopeless(handle, deadline_us))
        return err_set(err, ERR_UNAVAILABLE, "the database could not keep this in time: ask again");
    for (;;) {
        bool in_doubt = false, kept = false;
        struct rc rc = make_ready(handle, deadline_us, err);
        if (rc_ok(rc))
            rc = postgres_commit_once(handle, first, &in_doubt, err);
        if (rc_bad(rc)) {
            postgres_disconnect(handle);
            memory_clear(handle->memory);
        }
        if (in_doubt) {
            TRY(resolve(handle, first, &kept, err));
            if (kept)
                return RC_OK;
        }
        if (rc.code == ERR_UNAVAILABLE && has_time(handle, &pause_ms, deadline_us))
            continue;
        if (handle->locked)
            postgres_disconnect(handle);
        handle->failed_us = rc.code == ERR_UNAVAILABLE ? clock_steady_us() : 0;
        return rc;
    }
}

/* Tries all that a commit needs: the lock, some pages of disk (given back), and a durable COMMIT. */
struct rc postgres_probe(struct backend_handle *opaque, struct err *err)
{
    struct postgres_handle *handle = postgres_of(opaque);
    struct params id = {0};
    params_str(&id, str_of(handle->id.text));
    TRY(memory_check(handle->memory, err));
    TRY(connect_for_lock(handle, 0, err));
    int sent = postgres_send_lock(handle);
    postgres_send(handle, SQL_SAVEPOINT, NULL);
    postgres_send(handle, SQL_PROBE, &id);
    postgres_send(handle, SQL_SAVEPOINT_BACK, NULL);
    postgres_send(handle, SQL_TOUCH, &id);
    postgres_send(handle, SQL_COMMIT, NULL);
    TRY(postgres_flush(handle, err));
    TRY(postgres_skip(handle, sent + 4, err));
    return postgres_take_commit(handle, err);
}

struct rc postgres_commit(struct backend_handle *opaque, struct append *group, struct err *err)
{
    CHECK(postgres_of(opaque)->role == BACKEND_WRITER);
    struct rc rc = commit_patiently(opaque, group, err);
    return rc.code == ERR_CONFLICT ? group_commit_each(opaque, group, commit_patiently) : rc;
}
