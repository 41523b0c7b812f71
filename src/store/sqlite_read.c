/* Answers. Each is read in one transaction, that is: from one state of the store. */
#include "base/limits.h"
#include "store/sqlite.h"

#include <sqlite3.h>
#include <stdlib.h>

/* A growing answer. */
struct sqlite_answer {
    struct sqlite_handle *handle;
    struct read *read;
    size_t event_cap;
    size_t open_cap, archived_cap, chain_cap, gone_cap;
    size_t bytes;
};

static void *grown(struct arena *arena, void *old, size_t count, size_t *cap, size_t item_bytes)
{
    if (count < *cap)
        return old;
    *cap = *cap ? *cap * 2 : 16;
    void *larger = arena_alloc(arena, *cap * item_bytes);
    if (count)
        memcpy(larger, old, count * item_bytes);
    return larger;
}

static struct rc take_event(struct sqlite_answer *answer, enum sqlite_sql sql, struct event *ret_event, struct err *err)
{
    struct event view;
    TRY(sqlite_event(answer->handle->statements[sql], &view, err));
    answer->bytes += view.data.n;
    *ret_event = event_copy(&answer->read->arena, &view);
    return RC_OK;
}

static struct rc add_event(struct sqlite_answer *answer, enum sqlite_sql sql, struct err *err)
{
    struct read *read = answer->read;
    read->events = grown(&read->arena, read->events, read->event_count, &answer->event_cap,
                         sizeof *read->events);
    TRY(take_event(answer, sql, &read->events[read->event_count], err));
    read->event_count++;
    return RC_OK;
}

/* Adds all rows of a statement as events. `ret_full`: it stopped because the answer is large enough. */
static struct rc add_events(struct sqlite_answer *answer, enum sqlite_sql sql, bool *ret_full, struct err *err)
{
    bool row;
    if (ret_full)
        *ret_full = false;
    for (;;) {
        TRY(sqlite_step(answer->handle, sql, &row, err));
        if (!row)
            return RC_OK;
        TRY(add_event(answer, sql, err));
        if (ret_full && answer->bytes >= LIMIT_READ_BYTES) {
            *ret_full = true;
            return RC_OK;
        }
    }
}

static struct rc last_seq(struct sqlite_handle *handle, uint64_t *ret_seq, struct err *err)
{
    bool row;
    TRY(sqlite_step(handle, SQL_LAST_SEQ, &row, err));
    CHECK(row);
    *ret_seq = (uint64_t)sqlite3_column_int64(handle->statements[SQL_LAST_SEQ], 0);
    return RC_OK;
}

/* Seqs and limits beyond what SQLite's integers hold mean "all". */
static int64_t clamp(uint64_t value) { return value > INT64_MAX ? INT64_MAX : (int64_t)value; }

static unsigned page_size(const struct read *read) { return read->limit ? read->limit : LIMIT_PAGE_EVENTS; }

/* The parameters of a statement about events, except its block. */
static void bind_page(struct sqlite_answer *answer, enum sqlite_sql sql)
{
    const struct read *read = answer->read;
    sqlite_bind_int(answer->handle, sql, 1, clamp(read->after));
    sqlite_bind_int(answer->handle, sql, 2, read->kinds ? (int64_t)read->kinds : -1);
    sqlite_bind_int(answer->handle, sql, 3, page_size(read) - (int64_t)read->event_count);
}

/* Adds the gaps between the events of a page: ranges of archived seqs. */
static struct rc add_gone(struct sqlite_answer *answer, uint64_t after, uint64_t covered, struct err *err)
{
    struct read *read = answer->read;
    bool row;
    if (read->kinds || covered <= after || covered - after == read->event_count)
        return RC_OK;
    sqlite3_stmt *statement = sqlite_ready(answer->handle, SQL_GONE);
    sqlite_bind_int(answer->handle, SQL_GONE, 1, clamp(after));
    sqlite_bind_int(answer->handle, SQL_GONE, 2, clamp(covered));
    for (;;) {
        TRY(sqlite_step(answer->handle, SQL_GONE, &row, err));
        if (!row)
            return RC_OK;
        read->gone = grown(&read->arena, read->gone, read->gone_count, &answer->gone_cap, sizeof *read->gone);
        read->gone[read->gone_count++] = (struct seq_range){(uint64_t)sqlite3_column_int64(statement, 0),
                                                            (uint64_t)sqlite3_column_int64(statement, 1)};
    }
}

static bool is_full(const struct sqlite_answer *answer, bool full)
{
    return full || answer->read->event_count == page_size(answer->read);
}

/* The statement's block is bound already. */
static struct rc add_events_of_session(struct sqlite_answer *answer, enum sqlite_sql sql, int64_t chain, bool *ret_full,
                                       struct err *err)
{
    bind_page(answer, sql);
    sqlite_bind_int(answer->handle, sql, 5, chain);
    sqlite_bind_str(answer->handle, sql, 6, answer->read->thread);
    return add_events(answer, sql, ret_full, err);
}

/* The blocks of the session, and then its events that are in no block yet. */
static struct rc read_events_of_session(struct sqlite_answer *answer, bool *ret_full, struct err *err)
{
    struct read *read = answer->read;
    sqlite3_stmt *head = sqlite_ready(answer->handle, SQL_HEAD);
    bool row;
    *ret_full = false;
    sqlite_bind_str(answer->handle, SQL_HEAD, 1, read->session);
    TRY(sqlite_step(answer->handle, SQL_HEAD, &row, err));
    if (!row)
        return RC_OK;
    int64_t chain = sqlite3_column_int64(head, 0), last = sqlite3_column_int64(head, 1);
    int64_t first = clamp(read->after) > chain ? clamp(read->after) : chain;
    for (int64_t block = first >> BLOCK_SHIFT; block <= last >> BLOCK_SHIFT && !is_full(answer, *ret_full); block++) {
        sqlite_bind_int(answer->handle, SQL_EVENTS_OF_SESSION, 4, block);
        TRY(add_events_of_session(answer, SQL_EVENTS_OF_SESSION, chain, ret_full, err));
    }
    if (is_full(answer, *ret_full))
        return RC_OK;
    return add_events_of_session(answer, SQL_LATE_OF_SESSION, chain, ret_full, err);
}

/* `covered` is the seq up to which the answer is complete: the caller goes on from there. */
static struct rc read_events(struct sqlite_answer *answer, struct err *err)
{
    struct read *read = answer->read;
    bool full, all = str_empty(read->session);
    if (all) {
        bind_page(answer, SQL_EVENTS);
        TRY(add_events(answer, SQL_EVENTS, &full, err));
    } else {
        TRY(read_events_of_session(answer, &full, err));
    }
    CHECK(read->event_count <= page_size(read));
    if (!full && read->event_count < page_size(read))
        TRY(last_seq(answer->handle, &read->covered, err));
    else
        read->covered = read->events[read->event_count - 1].seq;
    return all ? add_gone(answer, read->after, read->covered, err) : RC_OK;
}

static struct rc add_archived(struct sqlite_answer *answer, enum sqlite_sql sql, struct err *err)
{
    struct read *read = answer->read;
    bool row;
    for (;;) {
        TRY(sqlite_step(answer->handle, sql, &row, err));
        if (!row)
            return RC_OK;
        read->archived = grown(&read->arena, read->archived, read->archived_count, &answer->archived_cap,
                               sizeof *read->archived);
        TRY(take_event(answer, sql, &read->archived[read->archived_count], err));
        read->archived_count++;
    }
}

static int by_seq(const void *a, const void *b)
{
    uint64_t left = ((const struct event *)a)->seq, right = ((const struct event *)b)->seq;
    return left < right ? -1 : left > right;
}

/* The database does not sort: it would open a file in memory for each read. */
static void sort(struct event *events, size_t count)
{
    if (count > 1)
        qsort(events, count, sizeof *events, by_seq);
}

/* Adds the events of a call that the writer remembers: the events that are not in the tables yet need not be looked at.
 * *ret_up_to: none of them after this one is of the call. */
static struct rc read_remembered(struct sqlite_answer *answer, uint64_t *ret_up_to, struct err *err)
{
    struct read *read = answer->read;
    uint64_t last, seqs[MEMORY_CALL_KINDS];
    size_t count;
    *ret_up_to = UINT64_MAX;
    if (!answer->handle->memory || str_empty(read->session))
        return RC_OK;
    TRY(last_seq(answer->handle, &last, err));
    sqlite_reset(answer->handle, SQL_LAST_SEQ);
    if (!memory_find_call(answer->handle->memory, read->session, read->call, last, seqs, &count, ret_up_to))
        *ret_up_to = UINT64_MAX;
    for (size_t i = 0; i < count; i++) { /* events after `last` are not in this snapshot yet */
        sqlite_bind_int(answer->handle, SQL_EVENT, 1, clamp(seqs[i]));
        TRY(add_events(answer, SQL_EVENT, NULL, err));
    }
    return RC_OK;
}

/* The call's own events, and those of the same id in sessions that were archived. */
static struct rc read_call(struct sqlite_answer *answer, struct err *err)
{
    struct read *read = answer->read;
    uint64_t up_to;
    TRY(read_remembered(answer, &up_to, err));
    if (read->event_count) { /* all of them; a session that has events here was not archived */
        sort(read->events, read->event_count);
        return RC_OK;
    }
    sqlite_bind_str(answer->handle, SQL_CALLS, 1, read->call);
    sqlite_bind_str(answer->handle, SQL_CALLS, 2, read->session);
    sqlite_bind_int(answer->handle, SQL_CALLS, 3, clamp(up_to));
    TRY(add_events(answer, SQL_CALLS, NULL, err));
    sqlite_bind_str(answer->handle, SQL_ARCHIVED_CALL, 1, read->call);
    sqlite_bind_str(answer->handle, SQL_ARCHIVED_CALL, 2, read->session);
    TRY(add_archived(answer, SQL_ARCHIVED_CALL, err));
    sort(read->events, read->event_count);
    sort(read->archived, read->archived_count);
    return RC_OK;
}

static struct rc read_one(struct sqlite_answer *answer, int64_t seq, struct event *ret_event, struct err *err)
{
    bool row;
    sqlite_bind_int(answer->handle, SQL_EVENT, 1, seq);
    TRY(sqlite_step(answer->handle, SQL_EVENT, &row, err));
    if (!row)
        return err_set(err, ERR_CORRUPT, "the list of open approvals names event %lld, which does not exist",
                       (long long)seq);
    TRY(take_event(answer, SQL_EVENT, ret_event, err));
    sqlite_reset(answer->handle, SQL_EVENT);
    return RC_OK;
}

static struct rc add_open(struct sqlite_answer *answer, sqlite3_stmt *row, struct err *err)
{
    struct read *read = answer->read;
    read->open = grown(&read->arena, read->open, read->open_count, &answer->open_cap, sizeof *read->open);
    struct open_approval *open = &read->open[read->open_count];
    TRY(read_one(answer, sqlite3_column_int64(row, 0), &open->call, err));
    TRY(read_one(answer, sqlite3_column_int64(row, 1), &open->request, err));
    open->deadline_ms = sqlite3_column_int64(row, 2);
    read->open_count++;
    return RC_OK;
}

static struct rc read_open(struct sqlite_answer *answer, struct err *err)
{
    struct read *read = answer->read;
    enum sqlite_sql sql = !str_empty(read->thread)    ? SQL_OPEN_OF_THREAD
                   : !str_empty(read->session) ? SQL_OPEN_OF_SESSION
                                               : SQL_OPEN;
    bool row;
    sqlite_bind_int(answer->handle, sql, 1, clamp(read->after));
    sqlite_bind_int(answer->handle, sql, 2, read->limit ? (int64_t)read->limit : -1);
    if (sql != SQL_OPEN)
        sqlite_bind_str(answer->handle, sql, 3, read->session);
    if (sql == SQL_OPEN_OF_THREAD)
        sqlite_bind_str(answer->handle, sql, 4, read->thread);
    for (;;) {
        TRY(sqlite_step(answer->handle, sql, &row, err));
        if (!row)
            break;
        TRY(add_open(answer, answer->handle->statements[sql], err));
    }
    if (read->limit == 0 || read->open_count < read->limit)
        return last_seq(answer->handle, &read->covered, err);
    read->covered = read->open[read->open_count - 1].request.seq;
    return RC_OK;
}

static struct rc read_session(struct sqlite_answer *answer, struct str session, struct err *err)
{
    sqlite_bind_str(answer->handle, SQL_SESSION_CHANGES, 1, session);
    return add_events(answer, SQL_SESSION_CHANGES, NULL, err);
}

/* Newest first, in pages that are also bounded in bytes. */
static struct rc read_sessions(struct sqlite_answer *answer, struct err *err)
{
    struct read *read = answer->read;
    sqlite3_stmt *statement = sqlite_ready(answer->handle, SQL_SESSIONS);
    bool row;
    sqlite_bind_int(answer->handle, SQL_SESSIONS, 1, read->before ? clamp(read->before) : INT64_MAX);
    sqlite_bind_int(answer->handle, SQL_SESSIONS, 2, page_size(read));
    for (unsigned count = 1;; count++) {
        TRY(sqlite_step(answer->handle, SQL_SESSIONS, &row, err));
        if (!row)
            return RC_OK;
        TRY(read_session(answer, sqlite_str(statement, 0), err));
        if (count == page_size(read) || answer->bytes >= LIMIT_READ_BYTES) {
            read->covered = (uint64_t)sqlite3_column_int64(statement, 1);
            return RC_OK;
        }
    }
}

/* The session itself, or what is left of it. */
static struct rc read_session_or_archived(struct sqlite_answer *answer, struct err *err)
{
    TRY(read_session(answer, answer->read->session, err));
    sqlite_bind_str(answer->handle, SQL_ARCHIVED, 1, answer->read->session);
    return add_archived(answer, SQL_ARCHIVED, err);
}

static struct rc read_chains(struct sqlite_answer *answer, struct err *err)
{
    struct read *read = answer->read;
    sqlite3_stmt *statement = sqlite_ready(answer->handle, SQL_CHAINS);
    bool row;
    sqlite_bind_int(answer->handle, SQL_CHAINS, 1, clamp(read->after));
    sqlite_bind_int(answer->handle, SQL_CHAINS, 2, read->until_ms);
    sqlite_bind_int(answer->handle, SQL_CHAINS, 3, page_size(read));
    sqlite_bind_str(answer->handle, SQL_CHAINS, 4, read->session);
    for (;;) {
        TRY(sqlite_step(answer->handle, SQL_CHAINS, &row, err));
        if (!row)
            return RC_OK;
        read->chains = grown(&read->arena, read->chains, read->chain_count, &answer->chain_cap,
                             sizeof *read->chains);
        struct chain_end *chain = &read->chains[read->chain_count];
        chain->session = arena_str(&read->arena, sqlite_str(statement, 0));
        chain->first_seq = (uint64_t)sqlite3_column_int64(statement, 1);
        chain->last_seq = (uint64_t)sqlite3_column_int64(statement, 2);
        if (!sqlite_digest(statement, 3, &chain->hash))
            return err_set(err, ERR_CORRUPT, "the last hash of session %.*s is damaged",
                           STR_ARG(chain->session));
        read->chain_count++;
    }
}

static struct rc read_runs(struct sqlite_answer *answer, struct err *err)
{
    struct read *read = answer->read;
    bool full;
    sqlite_bind_int(answer->handle, SQL_RUNS, 1, clamp(read->after));
    TRY(add_events(answer, SQL_RUNS, &full, err));
    if (!full)
        return last_seq(answer->handle, &read->covered, err);
    read->covered = read->events[read->event_count - 1].seq;
    return RC_OK;
}

static struct rc read_all(struct sqlite_answer *answer, enum sqlite_sql sql, struct err *err)
{
    TRY(add_events(answer, sql, NULL, err));
    return last_seq(answer->handle, &answer->read->covered, err);
}

static struct rc fill(struct sqlite_answer *answer, struct err *err)
{
    switch (answer->read->kind) {
    case READ_EVENTS:
        return read_events(answer, err);
    case READ_CALL:
        return read_call(answer, err);
    case READ_OPEN:
        return read_open(answer, err);
    case READ_SESSIONS:
        return read_sessions(answer, err);
    case READ_SESSION:
        return read_session_or_archived(answer, err);
    case READ_TOKENS:
        return read_all(answer, SQL_TOKEN_CHANGES, err);
    case READ_RULES:
        return read_all(answer, SQL_RULE_CHANGES, err);
    case READ_RUNS:
        return read_runs(answer, err);
    case READ_CHAINS:
        return read_chains(answer, err);
    }
    err_die(__FILE__, __LINE__, "a read of no kind");
}

/* Resets the statement: one that was not read to its end keeps its snapshot, and the log cannot be truncated. */
static void reset_all(struct sqlite_handle *handle)
{
    for (int i = 0; i < SQL_COUNT; i++)
        if (handle->statements[i])
            sqlite_reset(handle, (enum sqlite_sql)i);
}

/* In a reader's thread. The deferred transaction gives every statement of one answer the same state of the
 * database. */
struct rc sqlite_read(struct backend_handle *opaque, struct read *read, struct err *err)
{
    struct sqlite_handle *handle = sqlite_of(opaque);
    struct sqlite_answer answer = {.handle = handle, .read = read};
    CHECK(handle->role == BACKEND_READER || handle->role == BACKEND_GUEST);
    if (handle->role == BACKEND_READER)
        TRY(sqlite_check_place(opaque, err));
    TRY(sqlite_run(handle, SQL_BEGIN_READ, err));
    struct rc rc = fill(&answer, err);
    reset_all(handle);
    if (rc_ok(rc))
        rc = sqlite_run(handle, SQL_COMMIT, err);
    if (!sqlite3_get_autocommit(handle->db)) {
        struct err ignored;
        (void)sqlite_run(handle, SQL_ROLLBACK, &ignored).code;
    }
    return rc;
}
