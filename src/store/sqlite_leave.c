/* A session's events leave for their archive, in the transaction that keeps its SESSION_ARCHIVED.
 *
 * Kept in the store: the numbers that left (`gone`, neighbours joined, so that a log whose old part was archived has
 * one range of them) and the ids of its calls. Nothing leaves that the event does not describe: how many events,
 * how many calls, which hash the chain had.
 */
#include "store/sqlite.h"

#include "event/archived.h"

#include <sqlite3.h>

struct leaving {
    struct sqlite_handle *handle;
    struct seq_range run;  /* the range of consecutive seqs being collected; first 0: empty */
    uint64_t events, calls;
};

/* The range of `gone` that begins at or before `seq`; first 0: there is none. */
static struct rc find_range(struct sqlite_handle *handle, uint64_t seq, struct seq_range *ret_range,
                            struct err *err)
{
    bool row;
    *ret_range = (struct seq_range){0};
    sqlite_bind_int(handle, SQL_GONE_BEFORE, 1, (int64_t)seq);
    TRY(sqlite_step(handle, SQL_GONE_BEFORE, &row, err));
    if (!row)
        return RC_OK;
    sqlite3_stmt *statement = handle->statements[SQL_GONE_BEFORE];
    ret_range->first = (uint64_t)sqlite3_column_int64(statement, 0);
    ret_range->last = (uint64_t)sqlite3_column_int64(statement, 1);
    sqlite_reset(handle, SQL_GONE_BEFORE);
    return RC_OK;
}

/* Joins the run with its neighbours in `gone`, so that the table does not grow with the number of sessions. */
static struct rc note_run(struct leaving *leaving, struct err *err)
{
    struct sqlite_handle *handle = leaving->handle;
    struct seq_range run = leaving->run, before, after;
    if (run.first == 0)
        return RC_OK;
    TRY(find_range(handle, run.first, &before, err));
    TRY(find_range(handle, run.last + 1, &after, err));
    if (before.first && before.last >= run.first)
        return err_set(err, ERR_CORRUPT, "%s: event %llu is here and said to be in an archive: see `nod verify`",
                       handle->path, (unsigned long long)run.first);
    if (before.first && before.last + 1 == run.first)
        run.first = before.first;
    if (after.first == run.last + 1) {
        sqlite_bind_int(handle, SQL_GONE_DROP, 1, (int64_t)after.first);
        TRY(sqlite_run(handle, SQL_GONE_DROP, err));
        run.last = after.last;
    }
    sqlite_bind_int(handle, SQL_GONE_PUT, 1, (int64_t)run.first);
    sqlite_bind_int(handle, SQL_GONE_PUT, 2, (int64_t)run.last);
    leaving->run = (struct seq_range){0};
    return sqlite_run(handle, SQL_GONE_PUT, err);
}

/* Collects runs of consecutive numbers; each ended run is noted. */
static struct rc note_seqs(struct leaving *leaving, struct err *err)
{
    struct sqlite_handle *handle = leaving->handle;
    for (bool row = true;;) {
        TRY(sqlite_step(handle, SQL_LEAVING, &row, err));
        if (!row)
            return RC_OK;
        uint64_t seq = (uint64_t)sqlite3_column_int64(handle->statements[SQL_LEAVING], 0);
        leaving->events++;
        if (leaving->run.first && seq == leaving->run.last + 1) {
            leaving->run.last = seq;
            continue;
        }
        TRY(note_run(leaving, err));
        leaving->run = (struct seq_range){seq, seq};
    }
}

/* Removes the session's events of one block of 4096 seqs, from all tables that list them. */
static struct rc leave_block(struct leaving *leaving, int64_t block, int64_t chain, struct err *err)
{
    static const enum sqlite_sql steps[] = {SQL_LEAVING,   SQL_LEAVE_CALLS, SQL_LEAVE_OF_CALLS,
                                            SQL_LEAVE_IDS, SQL_LEAVE,       SQL_LEAVE_SESSIONS};
    enum { STEPS = sizeof steps / sizeof *steps };
    struct sqlite_handle *handle = leaving->handle;
    for (size_t i = 0; i < STEPS; i++) {
        sqlite_bind_int(handle, steps[i], 1, block);
        sqlite_bind_int(handle, steps[i], 2, chain);
    }
    TRY(note_seqs(leaving, err));
    for (size_t i = 1; i < STEPS; i++) {
        TRY(sqlite_run(handle, steps[i], err));
        if (steps[i] == SQL_LEAVE_CALLS)
            leaving->calls += (uint64_t)sqlite3_changes64(handle->db);
    }
    return RC_OK;
}

static struct rc check_open(struct sqlite_handle *handle, struct str session, bool *ret_open, struct err *err)
{
    sqlite_bind_str(handle, SQL_OPEN_FIND, 1, session);
    TRY(sqlite_step(handle, SQL_OPEN_FIND, ret_open, err));
    sqlite_reset(handle, SQL_OPEN_FIND);
    return RC_OK;
}

/* The judge has compared the ends of the chain. */
struct rc sqlite_leave(struct sqlite_handle *handle, const struct event *event, const struct archived *archived,
                       struct err *err)
{
    struct leaving leaving = {.handle = handle};
    bool open = false;
    CHECK(event->kind == EVENT_SESSION_ARCHIVED);
    TRY(check_open(handle, event->session, &open, err));
    if (open)
        return err_set(err, ERR_CONFLICT, "session %.*s waits for an answer", STR_ARG(event->session));
    for (uint64_t block = archived->first_seq >> BLOCK_SHIFT; block <= archived->last_seq >> BLOCK_SHIFT; block++)
        TRY(leave_block(&leaving, (int64_t)block, (int64_t)archived->first_seq, err));
    TRY(note_run(&leaving, err));
    if (leaving.events != archived->events || leaving.calls != archived->calls)
        return err_set(err, ERR_CONFLICT, "session %.*s has %llu events, %llu were archived",
                       STR_ARG(event->session), (unsigned long long)leaving.events,
                       (unsigned long long)archived->events);
    return RC_OK;
}
