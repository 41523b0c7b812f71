/* The tables that are filled late: which events a session has, which a call has, the end of each chain, which calls
 * wait for an answer, and the chain of groups.
 *
 * A page costs a commit the same whether one row of it changes or fifty. So a commit writes its events, and these
 * tables get the rows of some hundred events at once. `indexed` in meta says up to which event they are complete.
 * They are filled from the events alone, in one transaction with `indexed`: a crash loses nothing, because the next
 * start finds the events after `indexed` and does the same. It makes one group of them, because it does not know which
 * were committed together. Until then nothing shows that some of them were cut off, so after a kill `nod verify` does
 * not notice an end that was removed before the next start (docs/AUDIT.md). What their rows need of the events is kept
 * in memory meanwhile (`handle->late`), and read again after a failure or when another program has written.
 *
 * Until then the writer knows the sessions and calls of these events from its memory (memory.h). When it has forgotten
 * them, it fills the tables before it looks anything up. Readers ask the same memory for a call; else they look at the
 * tables and then at the events after `indexed` (INDEXED_SEQ, the views `heads` and `open_now`).
 */
#include "store/sqlite.h"

#include <sqlite3.h>
#include <stdlib.h>

/* When LATE_EVENTS_MUCH events are missing in the late tables, these are filled after an answer, while no append
 * waits. With LATE_EVENTS_MAX they are filled with the next group, even if that makes a caller wait: a reader must
 * scan all missing events. While groups have more than BUSY_EVENTS on average, the next append comes at once and would
 * wait for a sync more: then they are filled with a group only. */
enum { LATE_EVENTS_MUCH = 448, LATE_EVENTS_MAX = 512, BUSY_EVENTS = 8 };

bool sqlite_late_is_much(const struct sqlite_handle *handle)
{
    uint64_t late = handle->committed_seq - handle->indexed_seq;
    bool busy = handle->late.count > BUSY_EVENTS * handle->late.groups;
    return late >= (busy ? LATE_EVENTS_MAX : LATE_EVENTS_MUCH);
}

bool sqlite_late_due(const struct sqlite_handle *handle, const struct facts *facts)
{
    uint64_t late = handle->committed_seq - handle->indexed_seq;
    bool known = facts->recalled && facts->known_after <= handle->indexed_seq;
    return late > 0 && (!known || facts->leaves || late >= LATE_EVENTS_MAX);
}

/* ---- the events that are not in the tables yet ---- */

static struct late_event *add_event(struct late_events *late, struct late_event event)
{
    struct late_event *added = arena_new(&late->arena, struct late_event);
    *added = event;
    added->before = late->last;
    late->last = added;
    late->count++;
    return added;
}

/* The strings that its rows need: of a call its id, of a request more. */
static void add_strings(struct late_events *late, struct late_event *added, const struct event *event)
{
    if (event->kind == EVENT_TOOL_CALL || event->kind == EVENT_TOOL_APPROVAL_REQUEST)
        added->call = arena_str(&late->arena, event->call);
    if (event->kind != EVENT_TOOL_APPROVAL_REQUEST)
        return;
    added->session = arena_str(&late->arena, event->session);
    added->thread = arena_str(&late->arena, event->thread);
}

void sqlite_late_forget(struct sqlite_handle *handle)
{
    arena_done(&handle->late.arena);
    handle->late = (struct late_events){0};
}

void sqlite_late_add(struct sqlite_handle *handle, const struct rows *rows)
{
    if (rows->events[0].event->seq == handle->indexed_seq + 1)
        handle->late.whole = true; /* the first that the tables lack: the list has all from here on */
    handle->late.groups++;
    for (size_t i = 0; handle->late.whole && i < rows->count; i++) {
        const struct event_row *row = &rows->events[i];
        const struct event *event = row->event;
        struct late_event late = {.seq = event->seq, .chain = row->chain, .call_seq = row->call_seq, .no = event->no,
                                  .request_seq = row->closes, .kind = event->kind, .hash = row->hash};
        late.ends_group = i + 1 == rows->count;
        add_strings(&handle->late, add_event(&handle->late, late), event);
    }
}

static struct rc read_row(struct sqlite_handle *handle, sqlite3_stmt *row, struct err *err)
{
    struct late_event late = {
        .seq = (uint64_t)sqlite3_column_int64(row, 0),
        .chain = (uint64_t)sqlite3_column_int64(row, 1),
        .call_seq = (uint64_t)sqlite3_column_int64(row, 2),
        .kind = sqlite3_column_int64(row, 3),
        .no = (uint64_t)sqlite3_column_int64(row, 4),
        .request_seq = (uint64_t)sqlite3_column_int64(row, 9),
    };
    if (!sqlite_digest(row, 5, &late.hash))
        return err_set(err, ERR_CORRUPT, "%s: event %llu has no valid link: see `nod verify`", handle->path,
                       (unsigned long long)late.seq);
    struct late_event *added = add_event(&handle->late, late);
    add_strings(&handle->late, added, &(struct event){.kind = (enum event_kind)late.kind,
                .session = sqlite_str(row, 6), .thread = sqlite_str(row, 7), .call = sqlite_str(row, 8)});
    return RC_OK;
}

/* After a start, and when somebody else has written: the events as the database has them. */
static struct rc read_events(struct sqlite_handle *handle, struct err *err)
{
    bool row;
    sqlite_late_forget(handle);
    sqlite_bind_int(handle, SQL_LATE_EVENTS, 1, (int64_t)handle->indexed_seq);
    for (;;) {
        TRY(sqlite_step(handle, SQL_LATE_EVENTS, &row, err));
        if (!row)
            break;
        struct rc rc = read_row(handle, handle->statements[SQL_LATE_EVENTS], err);
        if (rc_bad(rc))
            sqlite_reset(handle, SQL_LATE_EVENTS);
        TRY(rc);
    }
    handle->late.whole = true;
    return RC_OK;
}

/* ---- their rows ---- */

static int compare(uint64_t a, uint64_t b) { return a < b ? -1 : a > b; }

static int by_session(const void *a, const void *b)
{
    const struct late_event *left = *(struct late_event *const *)a, *right = *(struct late_event *const *)b;
    return left->chain == right->chain ? compare(left->seq, right->seq) : compare(left->chain, right->chain);
}

/* Within a call by kind: a response comes behind its request. */
static int by_call(const void *a, const void *b)
{
    const struct late_event *left = *(struct late_event *const *)a, *right = *(struct late_event *const *)b;
    if (left->call_seq != right->call_seq)
        return compare(left->call_seq, right->call_seq);
    return left->kind == right->kind ? compare(left->seq, right->seq) : left->kind < right->kind ? -1 : 1;
}

/* A late table: its statement, which events have a row in it, and what each column of the row says. */
struct late_table {
    enum sqlite_sql sql;
    bool (*has)(const struct late_event *event);
    void (*tell)(struct sqlite3_context *to, const struct late_event *event, int column);
};

static void tell_int(struct sqlite3_context *to, uint64_t value) { sqlite3_result_int64(to, (int64_t)value); }

/* The bytes stay until the statement has ended. */
static void tell_str(struct sqlite3_context *to, struct str value)
{
    sqlite3_result_text64(to, value.p ? value.p : "", value.n, SQLITE_STATIC, SQLITE_UTF8);
}

/* Events of one session and one block whose numbers follow each other share a row. The events are in the order of seq;
 * *runs gets the first of each row. Returns how many rows there are. */
static size_t find_runs(struct late_event **events, size_t count, struct late_event **runs)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        struct late_event *event = events[i], *first = n ? runs[n - 1] : NULL;
        if (!first || event->chain != first->chain || event->seq != first->run_last->seq + 1 ||
            event->seq >> BLOCK_SHIFT != first->seq >> BLOCK_SHIFT)
            runs[n++] = first = event;
        first->run_last = event;
    }
    return n;
}

static bool any(const struct late_event *event)
{
    (void)event;
    return true;
}

static void tell_session(struct sqlite3_context *to, const struct late_event *event, int column)
{
    const uint64_t columns[] = {event->seq >> BLOCK_SHIFT, event->chain, event->seq, event->run_last->seq - event->seq};
    tell_int(to, columns[column]);
}

static bool is_call(const struct late_event *event) { return event->kind == EVENT_TOOL_CALL; }

static void tell_call(struct sqlite3_context *to, const struct late_event *event, int column)
{
    if (column == 0)
        tell_str(to, event->call);
    else
        tell_int(to, column == 1 ? event->chain : event->seq);
}

static void tell_of_call(struct sqlite3_context *to, const struct late_event *event, int column)
{
    tell_int(to, column == 0 ? event->call_seq : column == 1 ? (uint64_t)event->kind : event->seq);
}

static bool is_open(const struct late_event *event)
{
    return event->kind == EVENT_TOOL_APPROVAL_REQUEST && !event->answered;
}

/* The statement ignores a request that has a deadline: its row was written together with the event. */
static void tell_open(struct sqlite3_context *to, const struct late_event *request, int column)
{
    if (column < 2)
        tell_int(to, column == 0 ? request->seq : request->call_seq);
    else
        tell_str(to, column == 2 ? request->session : column == 3 ? request->thread : request->call);
}

static bool ends_group(const struct late_event *event) { return event->ends_group; }

static void tell_group(struct sqlite3_context *to, const struct late_event *event, int column)
{
    if (column == 0)
        tell_int(to, event->seq);
    else
        sqlite3_result_blob(to, event->group.bytes, DIGEST_BYTES, SQLITE_STATIC);
}

static const struct late_table groups = {SQL_LATE_GROUP, ends_group, tell_group};
static const struct late_table of_sessions = {SQL_LATE_SESSION, any, tell_session};
static const struct late_table calls = {SQL_LATE_CALL, is_call, tell_call};
static const struct late_table of_calls = {SQL_LATE_OF_CALL, any, tell_of_call};
static const struct late_table open_requests = {SQL_LATE_OPEN, is_open, tell_open};

static struct rc put_rows(struct sqlite_handle *handle, const struct late_table *table, struct late_event **events,
                          size_t count, struct err *err)
{
    struct sqlite_feed feed = {events, count, table->has, table->tell};
    return sqlite_feed(handle, table->sql, feed, err);
}

/* The ends of chains; the runs are in the order of their sessions. */
static struct rc put_heads(struct sqlite_handle *handle, struct late_event **runs, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct late_event *last = runs[i]->run_last;
        if (i + 1 < count && runs[i + 1]->chain == last->chain)
            continue;
        sqlite_bind_int(handle, SQL_LATE_HEAD, 1, (int64_t)last->chain);
        sqlite_bind_int(handle, SQL_LATE_HEAD, 2, (int64_t)last->seq);
        sqlite_bind_blob(handle, SQL_LATE_HEAD, 3, &last->hash);
        sqlite_bind_int(handle, SQL_LATE_HEAD, 4, (int64_t)last->no);
        TRY(sqlite_run(handle, SQL_LATE_HEAD, err));
    }
    return RC_OK;
}

/* Answered calls leave the list; the events are in the order of their calls, a response behind its request. */
static struct rc take_answered(struct sqlite_handle *handle, struct late_event **events, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct late_event *response = events[i];
        if (response->kind != EVENT_TOOL_APPROVAL_RESPONSE)
            continue;
        struct late_event *request = i ? events[i - 1] : NULL;
        bool late = request && request->kind == EVENT_TOOL_APPROVAL_REQUEST && request->call_seq == response->call_seq;
        if (late)
            request->answered = true;
        sqlite_bind_int(handle, SQL_LATE_CLOSED, 1, (int64_t)(late ? request->seq : response->request_seq));
        TRY(sqlite_run(handle, SQL_LATE_CLOSED, err));
    }
    return RC_OK;
}

/* The last group that is listed: the seq of its last event, and its hash. */
static struct rc find_last_group(struct sqlite_handle *handle, uint64_t *ret_end, struct digest *ret_hash,
                                 struct err *err)
{
    bool row;
    TRY(sqlite_step(handle, SQL_LAST_GROUP, &row, err));
    bool whole = row && sqlite_digest(handle->statements[SQL_LAST_GROUP], 1, ret_hash);
    *ret_end = row ? (uint64_t)sqlite3_column_int64(handle->statements[SQL_LAST_GROUP], 0) : 0;
    if (row)
        sqlite_reset(handle, SQL_LAST_GROUP);
    return whole ? RC_OK : err_set(err, ERR_CORRUPT, "%s: the last group has no valid link: see `nod verify`",
                                   handle->path);
}

/* The hashes over groups (chain.c); the events are in their order, and the last of them ends a group. The groups of a
 * store of schema 7 are ahead of the other tables. */
static struct rc link_groups(struct sqlite_handle *handle, struct late_event **events, size_t count, struct err *err)
{
    struct digest before = {0};
    uint64_t end = 0;
    TRY(find_last_group(handle, &end, &before, err));
    struct digest_sum *sum = chain_group_begin(&before);
    for (size_t i = 0; i < count; i++) {
        struct late_event *event = events[i];
        bool listed = event->seq <= end;
        event->ends_group = !listed && (event->ends_group || i + 1 == count);
        if (!listed)
            chain_group_add(sum, &event->hash);
        if (!event->ends_group)
            continue;
        event->group = chain_group_end(sum, event->seq);
        sum = chain_group_begin(&event->group);
    }
    (void)digest_sum_end(sum);
    return RC_OK;
}

/* qsort for what mostly is in order already. */
static void sort(struct late_event **events, size_t count, int (*compare_two)(const void *a, const void *b))
{
    size_t i = 1;
    while (i < count && compare_two(&events[i - 1], &events[i]) <= 0)
        i++;
    if (i < count)
        qsort(events, count, sizeof(struct late_event *), compare_two);
}

/* Of the events, in the order of seq, those of calls: but for the TOOL_CALLs. */
static size_t find_of_calls(struct late_event **events, size_t count, struct late_event **ret_of_calls)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (events[i]->call_seq)
            ret_of_calls[n++] = events[i];
    return n;
}

static struct rc put_all(struct sqlite_handle *handle, struct err *err)
{
    ARENA_SCOPE(scratch);
    size_t count = handle->late.count, i = count;
    struct late_event **events = arena_array(&scratch, struct late_event *, count);
    struct late_event **some = arena_array(&scratch, struct late_event *, count);
    for (struct late_event *event = handle->late.last; event; event = event->before)
        events[--i] = event;
    TRY(link_groups(handle, events, count, err));
    TRY(put_rows(handle, &groups, events, count, err));
    TRY(put_rows(handle, &calls, events, count, err));
    size_t run_count = find_runs(events, count, some);
    sort(some, run_count, by_session);
    TRY(put_rows(handle, &of_sessions, some, run_count, err));
    TRY(put_heads(handle, some, run_count, err));
    size_t of_call_count = find_of_calls(events, count, some);
    sort(some, of_call_count, by_call);
    TRY(put_rows(handle, &of_calls, some, of_call_count, err));
    TRY(take_answered(handle, some, of_call_count, err));
    return put_rows(handle, &open_requests, some, of_call_count, err);
}

/* Inside a transaction of the caller. A conflict means that two events claim one place, which the judge never
 * allows. */
struct rc sqlite_late_fill(struct sqlite_handle *handle, struct err *err)
{
    if (!handle->late.whole)
        TRY(read_events(handle, err));
    struct rc rc = put_all(handle, err);
    if (rc.code == ERR_CONFLICT)
        return err_set(err, ERR_CORRUPT, "%s: an event after %llu is kept twice: see `nod verify`",
                       handle->path, (unsigned long long)handle->indexed_seq);
    TRY(rc);
    sqlite_bind_int(handle, SQL_LATE_UNTIL, 1, (int64_t)handle->committed_seq);
    TRY(sqlite_run(handle, SQL_LATE_UNTIL, err));
    handle->indexing_seq = handle->committed_seq;
    return RC_OK;
}

void sqlite_late_end(struct sqlite_handle *handle, bool committed)
{
    if (committed && handle->indexing_seq != handle->indexed_seq) {
        handle->indexed_seq = handle->indexing_seq;
        sqlite_late_forget(handle);
    }
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
    if (rc_bad(rc))
        sqlite_late_forget(handle);
    return rc;
}

struct rc sqlite_late_begin(struct sqlite_handle *handle, struct err *err)
{
    int64_t indexed;
    TRY(sqlite_number(handle->db, "SELECT " INDEXED_SEQ, &indexed, err));
    handle->indexed_seq = handle->indexing_seq = (uint64_t)indexed;
    return sqlite_late_finish(handle, err);
}
