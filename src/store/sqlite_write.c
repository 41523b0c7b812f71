/* A group: what memory does not know is looked up, the judge (judge.h) decides, rows are inserted, one COMMIT.
 *
 * Nothing else writes between BEGIN IMMEDIATE and COMMIT, and the judge decides before anything is inserted, so nothing
 * has to be undone for an append that is refused. Besides events, only requests with a deadline and sessions that
 * began or changed are written; the rest is written late (sqlite_late.c).
 * When anything fails the whole group is rolled back and everything known in memory is forgotten; the next group begins
 * with what the database says.
 */
#include "store/sqlite.h"

#include <sqlite3.h>

/* ---- what the database says ---- */

/* The seq of a statement's only row, 0 when it has none. */
static struct rc find_seq(struct sqlite_handle *handle, enum sqlite_sql sql, uint64_t *ret_seq, struct err *err)
{
    bool row;
    TRY(sqlite_step(handle, sql, &row, err));
    *ret_seq = row ? (uint64_t)sqlite3_column_int64(handle->statements[sql], 0) : 0;
    if (row)
        sqlite_reset(handle, sql);
    return RC_OK;
}

/* Reads the last event, and where the last group that is listed ends. If another program has removed or added events,
 * the order that followers have seen is broken, and nothing may be stored after it. */
static struct rc load_last(struct sqlite_handle *handle, struct facts *facts, struct err *err)
{
    uint64_t end = 0;
    TRY(find_seq(handle, SQL_LAST_SEQ, &facts->last_seq, err));
    TRY(find_seq(handle, SQL_LAST_GROUP, &end, err));
    if (facts->last_seq != handle->committed_seq || end != handle->indexed_seq)
        return err_set(err, ERR_CORRUPT, "%s: somebody else has changed the events: see `nod verify`", handle->path);
    return RC_OK;
}

/* By the session's id. No row: the session does not exist yet. */
static struct rc load_head(struct sqlite_handle *handle, struct fact_head *head, struct err *err)
{
    bool row;
    sqlite_bind_str(handle, SQL_HEAD, 1, head->session);
    TRY(sqlite_step(handle, SQL_HEAD, &row, err));
    head->known = true;
    if (!row)
        return RC_OK;
    sqlite3_stmt *statement = handle->statements[SQL_HEAD];
    bool whole = sqlite_digest(statement, 3, &head->hash);
    head->first_seq = (uint64_t)sqlite3_column_int64(statement, 0);
    head->last_seq = (uint64_t)sqlite3_column_int64(statement, 1);
    head->changed_seq = (uint64_t)sqlite3_column_int64(statement, 2);
    head->archived_seq = (uint64_t)sqlite3_column_int64(statement, 4);
    head->no = (uint64_t)sqlite3_column_int64(statement, 5);
    head->stored = true;
    sqlite_reset(handle, SQL_HEAD);
    if (!whole)
        return err_set(err, ERR_CORRUPT, "the last hash of session %.*s is damaged", STR_ARG(head->session));
    return RC_OK;
}

/* All heads are loaded. A session that began after the last event in the tables has no call there; of one that began
 * when memory knew everything, memory knows every call. */
static struct rc load_call(struct sqlite_handle *handle, const struct facts *facts, struct fact_call *call,
                           struct err *err)
{
    uint64_t chain = call->head->first_seq, call_seq;
    call->known = true;
    bool remembered = facts->recalled && chain > facts->known_after;
    if (chain == 0 || chain > handle->indexing_seq || remembered)
        return RC_OK;
    sqlite_bind_str(handle, SQL_FIND_CALL, 1, call->call);
    sqlite_bind_int(handle, SQL_FIND_CALL, 2, (int64_t)chain);
    TRY(find_seq(handle, SQL_FIND_CALL, &call_seq, err));
    call->seqs[EVENT_TOOL_CALL] = call_seq;
    if (call_seq == 0)
        return RC_OK;
    sqlite_bind_int(handle, SQL_FIND_OF_CALL, 1, (int64_t)call_seq);
    for (bool row = true;;) {
        TRY(sqlite_step(handle, SQL_FIND_OF_CALL, &row, err));
        if (!row)
            return RC_OK;
        sqlite3_stmt *statement = handle->statements[SQL_FIND_OF_CALL];
        int64_t kind = sqlite3_column_int64(statement, 0);
        if (kind > EVENT_NONE && kind < EVENT_KIND_END)
            call->seqs[kind] = (uint64_t)sqlite3_column_int64(statement, 1);
    }
}

static struct rc load_run(struct sqlite_handle *handle, struct facts *facts, struct fact_run *run, struct err *err)
{
    sqlite_bind_int(handle, SQL_RUN_AT, 1, (int64_t)facts_head(facts, run->session)->first_seq);
    sqlite_bind_str(handle, SQL_RUN_AT, 2, run->thread);
    return find_seq(handle, SQL_RUN_AT, &run->seq, err);
}

/* Looks up all facts that memory does not know. */
static struct rc load(struct backend_handle *opaque, struct facts *facts, bool all, struct err *err)
{
    struct sqlite_handle *handle = sqlite_of(opaque);
    (void)all;
    if (sqlite3_get_autocommit(handle->db)) /* no transaction is open: the first attempt was rolled back */
        TRY(sqlite_run(handle, SQL_BEGIN_WRITE, err));
    if (!facts->recalled)
        TRY(load_last(handle, facts, err));
    if (sqlite_late_due(handle, facts))
        TRY(sqlite_late_fill(handle, err));
    for (struct fact_head *head = facts->first_head; head; head = head->next)
        if (!head->known)
            TRY(load_head(handle, head, err));
    for (struct fact_call *call = facts->first_call; call; call = call->next)
        if (!call->known)
            TRY(load_call(handle, facts, call, err));
    for (struct fact_run *run = facts->first_run; run; run = run->next)
        TRY(load_run(handle, facts, run, err));
    return RC_OK;
}

/* ---- rows ---- */

/* From parameter `at` on. `numbered`: the row says its seq; else SQLite gives it the next one. */
static void bind_event(struct sqlite_handle *handle, enum sqlite_sql sql, int at, const struct event_row *row,
                       bool numbered)
{
    const struct event *event = row->event;
    sqlite3_stmt *statement = handle->statements[sql];
    if (numbered)
        sqlite_bind_int(handle, sql, at, (int64_t)event->seq);
    else
        CHECK(sqlite3_bind_null(statement, at) == SQLITE_OK);
    sqlite_bind_int(handle, sql, at + 1, (int64_t)row->chain);
    if (row->call_seq)
        sqlite_bind_int(handle, sql, at + 2, (int64_t)row->call_seq);
    else
        CHECK(sqlite3_bind_null(statement, at + 2) == SQLITE_OK);
    sqlite_bind_str(handle, sql, at + 3, event->session);
    sqlite_bind_str(handle, sql, at + 4, event->thread);
    sqlite_bind_int(handle, sql, at + 5, event->kind);
    sqlite_bind_int(handle, sql, at + 6, event->at_ms);
    sqlite_bind_str(handle, sql, at + 7, event->actor);
    if (str_empty(event->call))
        CHECK(sqlite3_bind_null(statement, at + 8) == SQLITE_OK);
    else
        sqlite_bind_str(handle, sql, at + 8, event->call);
    sqlite_bind_str(handle, sql, at + 9, event->data);
    sqlite_bind_blob(handle, sql, at + 10, &row->hash);
    sqlite_bind_int(handle, sql, at + 11, (int64_t)event->no);
}

static bool same_text(struct str a, struct str b) { return a.p == b.p && a.n == b.n; }

/* A call with its request, as ask_append (gate/core/ask.c) makes them: they share their texts. */
static bool are_call_and_request(const struct event_row *row, const struct event_row *next)
{
    const struct event *call = row->event, *request = next->event;
    return call->kind == EVENT_TOOL_CALL && request->kind == EVENT_TOOL_APPROVAL_REQUEST &&
           next->call_seq == call->seq && row->chain == next->chain && request->seq == call->seq + 1 &&
           request->no == call->no + 1 && call->at_ms == request->at_ms && !str_empty(call->call) &&
           same_text(call->session, request->session) && same_text(call->thread, request->thread) &&
           same_text(call->actor, request->actor) && same_text(call->call, request->call);
}

/* From parameter `at` on: CALL_ROWS. */
static void bind_call(struct sqlite_handle *handle, enum sqlite_sql sql, int at, const struct event_row *row)
{
    const struct event *call = row[0].event, *request = row[1].event;
    sqlite_bind_int(handle, sql, at, (int64_t)row->chain);
    sqlite_bind_str(handle, sql, at + 1, call->session);
    sqlite_bind_str(handle, sql, at + 2, call->thread);
    sqlite_bind_int(handle, sql, at + 3, call->at_ms);
    sqlite_bind_str(handle, sql, at + 4, call->actor);
    sqlite_bind_str(handle, sql, at + 5, call->call);
    sqlite_bind_str(handle, sql, at + 6, call->data);
    sqlite_bind_blob(handle, sql, at + 7, &row[0].hash);
    sqlite_bind_int(handle, sql, at + 8, (int64_t)call->no);
    sqlite_bind_int(handle, sql, at + 9, (int64_t)call->seq);
    sqlite_bind_str(handle, sql, at + 10, request->data);
    sqlite_bind_blob(handle, sql, at + 11, &row[1].hash);
}

/* The number of calls with their requests that follow each other from here on, as far as a statement takes them. */
static int count_calls(const struct event_row *row, const struct event_row *end)
{
    int calls = 0;
    for (; calls < CALLS_AT_ONCE && end - row >= 2 && are_call_and_request(row, row + 1); row += 2)
        calls++;
    return calls == 3 ? 2 : calls;
}

static struct rc insert_calls(struct sqlite_handle *handle, const struct event_row *row, int calls, struct err *err)
{
    static const enum sqlite_sql sql_of[CALLS_AT_ONCE + 1] = {
        [1] = SQL_EVENT_ADD_CALL, [2] = SQL_EVENT_ADD_CALLS_2, [4] = SQL_EVENT_ADD_CALLS_4};
    enum sqlite_sql sql = sql_of[calls];
    for (int i = 0; i < calls; i++)
        bind_call(handle, sql, 1 + i * CALL_ROWS_PARAMETERS, row + 2 * i);
    return sqlite_run(handle, sql, err);
}

/* Several rows at once: a statement costs more than its row. Most events are a call and its request. SQLite gives the
 * rows the numbers that follow the last event's, which takes less than to look for a place for each; but when a session
 * leaves, the last event may have left with it. */
static struct rc insert_events(struct sqlite_handle *handle, const struct rows *rows, bool leaves, struct err *err)
{
    const struct event_row *end = rows->events + rows->count;
    for (const struct event_row *row = rows->events; row < end;) {
        int calls = leaves ? 0 : count_calls(row, end);
        if (calls) {
            TRY(insert_calls(handle, row, calls, err));
            row += 2 * calls;
            continue;
        }
        enum sqlite_sql sql = end - row >= 2 ? SQL_EVENT_ADD_2 : SQL_EVENT_ADD;
        bind_event(handle, sql, 1, row++, leaves);
        if (sql == SQL_EVENT_ADD_2)
            bind_event(handle, sql, 1 + EVENT_ROW_COLUMNS, row++, leaves);
        TRY(sqlite_run(handle, sql, err));
    }
    if ((uint64_t)sqlite3_last_insert_rowid(handle->db) != end[-1].event->seq)
        return err_set(err, ERR_CORRUPT, "%s: somebody else has changed the events: see `nod verify`", handle->path);
    return RC_OK;
}

/* A deadline stands nowhere else; requests without one are put on the list late. */
static struct rc open_approval(struct sqlite_handle *handle, const struct event_row *row, struct err *err)
{
    CHECK(row->call_seq != 0);
    sqlite_bind_int(handle, SQL_OPEN_ADD, 1, (int64_t)row->event->seq);
    sqlite_bind_int(handle, SQL_OPEN_ADD, 2, (int64_t)row->call_seq);
    sqlite_bind_str(handle, SQL_OPEN_ADD, 3, row->event->session);
    sqlite_bind_str(handle, SQL_OPEN_ADD, 4, row->event->thread);
    sqlite_bind_str(handle, SQL_OPEN_ADD, 5, row->event->call);
    sqlite_bind_int(handle, SQL_OPEN_ADD, 6, row->deadline_ms);
    return sqlite_run(handle, SQL_OPEN_ADD, err);
}

/* Writes the rows that an event changes in other tables: its session, its open approval. */
static struct rc follow_event(struct sqlite_handle *handle, const struct event_row *row, struct err *err)
{
    if (row->leaves)
        TRY(sqlite_leave(handle, row->event, row->leaves, err));
    return row->opens && row->deadline_ms ? open_approval(handle, row, err) : RC_OK;
}

/* Only heads that began or changed; the ends of chains are written late. */
static struct rc write_head(struct sqlite_handle *handle, const struct fact_head *head, struct err *err)
{
    enum sqlite_sql sql = head->stored ? SQL_HEAD_CHANGE : SQL_HEAD_ADD;
    sqlite_bind_int(handle, sql, 1, (int64_t)head->first_seq);
    sqlite_bind_int(handle, sql, 2, (int64_t)head->last_seq);
    sqlite_bind_int(handle, sql, 3, (int64_t)head->changed_seq);
    sqlite_bind_blob(handle, sql, 4, &head->hash);
    sqlite_bind_int(handle, sql, 5, (int64_t)head->no);
    if (sql == SQL_HEAD_ADD)
        sqlite_bind_str(handle, sql, 6, head->session);
    else
        sqlite_bind_int(handle, sql, 6, (int64_t)head->archived_seq);
    TRY(sqlite_run(handle, sql, err));
    if (sqlite3_changes(handle->db) != 1)
        return err_set(err, ERR_CORRUPT, "the chain of session %.*s has lost its head", STR_ARG(head->session));
    return RC_OK;
}

static void roll_back(struct sqlite_handle *handle)
{
    struct err ignored;
    if (!sqlite3_get_autocommit(handle->db)) /* some errors have rolled back by themselves already */
        (void)sqlite_run(handle, SQL_ROLLBACK, &ignored).code;
    sqlite_late_end(handle, false);
    sqlite_late_forget(handle);
}

static struct rc write_rows(struct backend_handle *opaque, struct facts *facts, struct rows *rows, bool *ret_held,
                            struct err *err)
{
    struct sqlite_handle *handle = sqlite_of(opaque);
    *ret_held = true;
    for (size_t i = 0; i < rows->count; i++)
        TRY(follow_event(handle, &rows->events[i], err));
    TRY(insert_events(handle, rows, facts->leaves, err));
    for (const struct fact_head *head = facts->first_head; head; head = head->next)
        if (head->changed)
            TRY(write_head(handle, head, err));
    TRY(sqlite_run(handle, SQL_COMMIT, err));
    sqlite_note_version(handle);
    sqlite_late_end(handle, true);
    sqlite_late_add(handle, rows);
    handle->committed_seq = facts->next_seq - 1;
    return RC_OK;
}

static struct rc abandon(struct backend_handle *opaque, struct err *err)
{
    struct sqlite_handle *handle = sqlite_of(opaque);
    sqlite_late_end(handle, false);
    return sqlite_run(handle, SQL_ROLLBACK, err);
}

/* ---- groups ---- */

static const struct group_ways ways = {.load = load, .write = write_rows, .abandon = abandon};

/* The transaction begins before anything is looked up; on any failure it is rolled back and the memory cleared. */
static struct rc commit_once(struct backend_handle *opaque, struct append *group, struct err *err)
{
    struct sqlite_handle *handle = sqlite_of(opaque);
    struct rc rc = sqlite_check_place(opaque, err);
    if (rc_ok(rc) && sqlite3_get_autocommit(handle->db)) /* the loop has begun already */
        rc = sqlite_run(handle, SQL_BEGIN_WRITE, err);
    if (rc_ok(rc)) {
        sqlite_notice_others(handle);
        rc = group_commit(&ways, opaque, handle->memory, group, err);
    }
    if (rc_bad(rc)) {
        roll_back(handle);
        memory_clear(handle->memory);
    }
    return rc;
}

struct rc sqlite_commit(struct backend_handle *handle, struct append *group, struct err *err)
{
    struct rc rc = commit_once(handle, group, err);
    return rc.code == ERR_CONFLICT ? group_commit_each(handle, group, commit_once) : rc;
}
