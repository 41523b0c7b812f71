/* The tables that are filled late: which events a session has, which a call has, the end of each chain, and which calls
 * wait for an answer.
 *
 * A page costs a commit the same whether one row of it changes or fifty. So a commit writes its events, and these
 * tables get the rows of some hundred events at once. `indexed` in meta says up to which event they are complete.
 * They are filled from the events alone, in one transaction with `indexed`: a crash loses nothing, because the next
 * start finds the events after `indexed` and does the same.
 *
 * Until then the writer knows the sessions and calls of these events from its memory (memory.h). When it has forgotten
 * them, it fills the tables before it looks anything up. Readers ask the same memory for a call; else they look at the
 * tables and then at the events after `indexed` (INDEXED_SEQ, the views `heads` and `open_now`).
 */
#include "store/sqlite.h"

#include <sqlite3.h>

/* Of LATE_EVENTS_MUCH the tables are filled behind an answer, when no append waits; of LATE_EVENTS_MAX with the next
 * group, whoever waits: a reader may have to look at that many. */
enum { LATE_EVENTS_MUCH = 256, LATE_EVENTS_MAX = 512 };

bool sqlite_late_is_much(const struct sqlite_handle *handle)
{
    return handle->committed_seq - handle->indexed_seq >= LATE_EVENTS_MUCH;
}

bool sqlite_late_due(const struct sqlite_handle *handle, const struct facts *facts)
{
    uint64_t late = handle->committed_seq - handle->indexed_seq;
    bool known = facts->recalled && facts->known_after <= handle->indexed_seq;
    return late > 0 && (!known || facts->leaves || late >= LATE_EVENTS_MAX);
}

/* Inside a transaction of the caller. A conflict means that two events claim one place, which the judge never
 * allows. */
struct rc sqlite_late_fill(struct sqlite_handle *handle, struct err *err)
{
    static const enum sqlite_sql steps[] = {SQL_LATE_SESSIONS, SQL_LATE_CALLS,  SQL_LATE_OF_CALLS,
                                            SQL_LATE_OPEN,     SQL_LATE_CLOSED, SQL_LATE_HEADS};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        sqlite_bind_int(handle, steps[i], 1, (int64_t)handle->indexed_seq);
        struct rc rc = sqlite_run(handle, steps[i], err);
        if (rc.code == ERR_CONFLICT)
            return err_set(err, ERR_CORRUPT, "%s: an event after %llu repeats one before it: see `nod verify`",
                           handle->path, (unsigned long long)handle->indexed_seq);
        TRY(rc);
    }
    sqlite_bind_int(handle, SQL_LATE_UNTIL, 1, (int64_t)handle->committed_seq);
    TRY(sqlite_run(handle, SQL_LATE_UNTIL, err));
    handle->indexing_seq = handle->committed_seq;
    return RC_OK;
}

void sqlite_late_end(struct sqlite_handle *handle, bool committed)
{
    if (committed)
        handle->indexed_seq = handle->indexing_seq;
    handle->indexing_seq = handle->indexed_seq;
}

/* In a transaction of its own, when the store is idle or closes. */
struct rc sqlite_late_finish(struct sqlite_handle *handle, struct err *err)
{
    if (handle->indexed_seq >= handle->committed_seq)
        return RC_OK;
    TRY(sqlite_run(handle, SQL_BEGIN_WRITE, err));
    sqlite_notice_others(handle);
    struct rc rc = sqlite_late_fill(handle, err);
    if (rc_ok(rc))
        rc = sqlite_run(handle, SQL_COMMIT, err);
    if (rc_ok(rc))
        sqlite_note_version(handle);
    if (!sqlite3_get_autocommit(handle->db))
        (void)sqlite_run(handle, SQL_ROLLBACK, &(struct err){0}).code;
    sqlite_late_end(handle, rc_ok(rc));
    return rc;
}

struct rc sqlite_late_begin(struct sqlite_handle *handle, struct err *err)
{
    int64_t indexed;
    TRY(sqlite_number(handle->db, "SELECT " INDEXED_SEQ, &indexed, err));
    handle->indexed_seq = handle->indexing_seq = (uint64_t)indexed;
    return sqlite_late_finish(handle, err);
}
