/* Answers. Each is read in one transaction with one snapshot, in one round trip. */
#include "store/postgres_group.h"

#include "base/limits.h"
#include "io/clock.h"

enum {
    READ_MS = 10000,   /* a question waits so long for the database to be there */
    FEW_EVENTS = 256,  /* so many at most are looked at without sums of their bytes */
    WHOLE_LOOKS = 16,  /* so many looks have sums again after one that met a large event */
};

/* The statement for a read and its parameters; may be sent again after a lost connection. */
struct postgres_question {
    struct arena arena;
    struct params params;
    enum postgres_sql sql;
    unsigned limit;
};

static int64_t clamp(uint64_t value) { return value > INT64_MAX ? INT64_MAX : (int64_t)value; }

static void put_scope(struct postgres_question *question, const struct read *read)
{
    params_str(&question->params, read->session);
    params_str(&question->params, read->thread);
}

static void ask_events(struct postgres_question *question, const struct read *read)
{
    struct params *params = &question->params;
    params_int(params, &question->arena, clamp(read->after));
    params_int(params, &question->arena, read->kinds ? (int64_t)read->kinds : -1);
    params_int(params, &question->arena, question->limit);
    params_int(params, &question->arena, LIMIT_READ_BYTES);
    question->sql = !str_empty(read->thread)    ? SQL_EVENTS_OF_THREAD
                    : !str_empty(read->session) ? SQL_EVENTS_OF_SESSION
                                                : SQL_EVENTS;
    if (question->sql != SQL_EVENTS)
        params_str(params, read->session);
    if (question->sql == SQL_EVENTS_OF_THREAD)
        params_str(params, read->thread);
}

static void ask_paged(struct postgres_question *question, enum postgres_sql sql, uint64_t from, int64_t count)
{
    question->sql = sql;
    params_int(&question->params, &question->arena, clamp(from));
    params_int(&question->params, &question->arena, count);
}

/* The statement and its parameters for each kind of read. */
static void put_question(struct postgres_question *question, const struct read *read)
{
    switch (read->kind) {
    case READ_EVENTS:
        ask_events(question, read);
        return;
    case READ_CALL:
        question->sql = SQL_CALL;
        params_str(&question->params, read->call);
        params_str(&question->params, read->session);
        return;
    case READ_OPEN:
        ask_paged(question, SQL_OPEN, read->after, read->limit ? (int64_t)read->limit : INT64_MAX);
        put_scope(question, read);
        return;
    case READ_SESSIONS:
        ask_paged(question, SQL_SESSIONS, read->before ? read->before : UINT64_MAX, question->limit);
        return;
    case READ_SESSION:
        question->sql = SQL_SESSION_CHANGES;
        params_str(&question->params, read->session);
        return;
    case READ_TOKENS:
        question->sql = SQL_TOKEN_CHANGES;
        return;
    case READ_RULES:
        question->sql = SQL_RULE_CHANGES;
        return;
    case READ_RUNS:
        ask_paged(question, SQL_RUNS, read->after, LIMIT_READ_BYTES);
        return;
    case READ_CHAINS:
        ask_paged(question, SQL_CHAINS, read->after, question->limit);
        params_int(&question->params, &question->arena, read->until_ms);
        params_str(&question->params, read->session);
        return;
    }
    err_die(__FILE__, __LINE__, "a read of no kind");
}

/* ---- answers ---- */

static struct rc copy_event(struct read *read, const PGresult *rows, int row, int column, struct event *ret_event,
                            struct err *err)
{
    struct event view;
    TRY(row_event(rows, row, column, &view, err));
    *ret_event = event_copy(&read->arena, &view);
    return RC_OK;
}

static struct rc fill_events_from(struct read *read, const PGresult *rows, int first, int end, struct err *err)
{
    int count = end - first;
    read->events = arena_array(&read->arena, struct event, (size_t)count + 1);
    for (int i = 0; i < count; i++)
        TRY(copy_event(read, rows, first + i, 0, &read->events[i], err));
    read->event_count = (size_t)count;
    return RC_OK;
}

static struct rc fill_events(struct read *read, const PGresult *rows, int count, struct err *err)
{
    return fill_events_from(read, rows, 0, count, err);
}

static struct rc fill_open(struct read *read, const PGresult *rows, struct err *err)
{
    int count = pq.PQntuples(rows);
    read->open = arena_array(&read->arena, struct open_approval, (size_t)count + 1);
    for (int i = 0; i < count; i++) {
        struct open_approval *open = &read->open[i];
        if (pq.PQgetisnull(rows, i, 0) || pq.PQgetisnull(rows, i, EVENT_COLUMN_COUNT))
            return err_set(err, ERR_CORRUPT, "the list of open approvals names an event which does not exist");
        TRY(copy_event(read, rows, i, 0, &open->call, err));
        TRY(copy_event(read, rows, i, EVENT_COLUMN_COUNT, &open->request, err));
        open->deadline_ms = row_int(rows, i, 2 * EVENT_COLUMN_COUNT);
    }
    read->open_count = (size_t)count;
    return RC_OK;
}

/* Fills the page with whole sessions, as many as fit; the next page starts before the last of them. */
static struct rc fill_sessions(struct read *read, const PGresult *rows, unsigned limit, struct err *err)
{
    int count = pq.PQntuples(rows), end = 0;
    size_t bytes = 0;
    unsigned sessions = 0;
    int64_t last_seq = 0;
    for (; end < count; end++) {
        int64_t of = row_int(rows, end, EVENT_COLUMN_COUNT);
        if (end == 0 || of != last_seq) {
            if (bytes >= LIMIT_READ_BYTES)
                break;
            sessions++;
            last_seq = of;
        }
        bytes += row_str(rows, end, EVENT_COLUMN_DATA).n;
    }
    read->covered = sessions == limit || end < count ? (uint64_t)last_seq : 0;
    return fill_events(read, rows, end, err);
}

/* Marks of archived sessions came among the events. */
static void part_archived(struct read *read)
{
    size_t kept = 0;
    read->archived_count = 0;
    read->archived = arena_array(&read->arena, struct event, read->event_count + 1);
    for (size_t i = 0; i < read->event_count; i++) {
        if (read->events[i].kind == EVENT_SESSION_ARCHIVED)
            read->archived[read->archived_count++] = read->events[i];
        else
            read->events[kept++] = read->events[i];
    }
    read->event_count = kept;
}

static struct rc fill_chains(struct read *read, const PGresult *rows, struct err *err)
{
    int count = pq.PQntuples(rows);
    read->chains = arena_array(&read->arena, struct chain_end, (size_t)count + 1);
    for (int i = 0; i < count; i++) {
        struct chain_end *chain = &read->chains[i];
        chain->session = arena_str(&read->arena, row_str(rows, i, 0));
        chain->first_seq = (uint64_t)row_int(rows, i, 1);
        chain->last_seq = (uint64_t)row_int(rows, i, 2);
        if (!row_digest(rows, i, 3, &chain->hash))
            return err_set(err, ERR_CORRUPT, "the last hash of session %.*s is damaged", STR_ARG(chain->session));
    }
    read->chain_count = (size_t)count;
    return RC_OK;
}

/* Adds the gaps in a page of all events: archived seqs. They were archived before the page was read, so a later query
 * finds them all. */
static struct rc fill_gone(struct postgres_handle *handle, struct read *read, struct err *err)
{
    ARENA_SCOPE(arena);
    RESULT_SCOPE(rows);
    struct params params = {0};
    if (read->kind != READ_EVENTS || read->kinds || !str_empty(read->session) || read->covered <= read->after ||
        read->covered - read->after == read->event_count)
        return RC_OK;
    params_int(&params, &arena, clamp(read->after));
    params_int(&params, &arena, clamp(read->covered));
    postgres_send(handle, SQL_GONE, &params);
    TRY(postgres_flush(handle, err));
    TRY(postgres_take(handle, &rows, err));
    TRY(postgres_end(handle, err));
    int count = pq.PQntuples(rows);
    read->gone = arena_array(&read->arena, struct seq_range, (size_t)count + 1);
    for (int i = 0; i < count; i++)
        read->gone[i] = (struct seq_range){(uint64_t)row_int(rows, i, 0), (uint64_t)row_int(rows, i, 1)};
    read->gone_count = (size_t)count;
    return RC_OK;
}

static bool page_is_full(const struct read *read, unsigned limit)
{
    size_t bytes = 0;
    for (size_t i = 0; i < read->event_count; i++)
        bytes += read->events[i].data.n;
    return read->event_count == limit || bytes >= LIMIT_READ_BYTES;
}

/* `covered` is how far the answer reaches: the end of the log, or the last event of a page that is full. */
static struct rc fill(struct read *read, const PGresult *rows, unsigned limit, uint64_t last_seq, struct err *err)
{
    read->covered = last_seq;
    switch (read->kind) {
    case READ_EVENTS:
    case READ_RUNS:
        TRY(fill_events(read, rows, pq.PQntuples(rows), err));
        if (page_is_full(read, read->kind == READ_EVENTS ? limit : 0) && read->event_count)
            read->covered = read->events[read->event_count - 1].seq;
        return RC_OK;
    case READ_OPEN:
        TRY(fill_open(read, rows, err));
        if (read->limit && read->open_count == read->limit)
            read->covered = read->open[read->open_count - 1].request.seq;
        return RC_OK;
    case READ_SESSIONS:
        return fill_sessions(read, rows, limit, err);
    case READ_CALL:
    case READ_SESSION:
        TRY(fill_events(read, rows, pq.PQntuples(rows), err));
        part_archived(read);
        return RC_OK;
    case READ_TOKENS:
    case READ_RULES:
        return fill_events(read, rows, pq.PQntuples(rows), err);
    case READ_CHAINS:
        return fill_chains(read, rows, err);
    }
    err_die(__FILE__, __LINE__, "a read of no kind");
}

/* Rows that were read enter the memory with their links, so that the next group need not ask for them. */
struct rc postgres_remember(struct postgres_handle *handle, const PGresult *rows, int first, int end, struct err *err)
{
    for (int i = first; i < end; i++) {
        struct event event;
        struct digest hash;
        TRY(row_event(rows, i, 0, &event, err));
        if (!row_digest(rows, i, EVENT_COLUMN_COUNT, &hash))
            return err_set(err, ERR_CORRUPT, "event %llu has no valid link", (unsigned long long)event.seq);
        memory_follow(handle->memory, &event, (uint64_t)row_int(rows, i, EVENT_COLUMN_COUNT + 1), &hash);
    }
    return RC_OK;
}

/* A read of all events of all sessions without a gap also updates the writer's memory. */
static struct rc remember(struct postgres_handle *handle, const struct read *read,
                          const struct postgres_question *question, const PGresult *rows, struct err *err)
{
    return question->sql == SQL_EVENTS && read->kinds == 0 ? postgres_remember(handle, rows, 0, pq.PQntuples(rows), err)
                                                           : RC_OK;
}

/* One round trip: begin, the question, the last seq with its link, commit. The link shows whether the history
 * is still the one this process knows. */
static struct rc read_once(struct postgres_handle *handle, struct read *read, const struct postgres_question *question,
                           struct err *err)
{
    ARENA_SCOPE(scratch);
    RESULT_SCOPE(rows);
    RESULT_SCOPE(last);
    struct anchor anchor = memory_anchor(handle->memory), end;
    struct params known = {0};
    struct digest hash;
    params_int(&known, &scratch, (int64_t)anchor.seq);
    postgres_send(handle, SQL_BEGIN_READ, NULL);
    postgres_send(handle, SQL_STAND_STILL, NULL);
    if (handle->lent)
        postgres_send(handle, SQL_SETTINGS, NULL);
    postgres_send(handle, question->sql, &question->params);
    postgres_send(handle, SQL_LAST_SEQ, &known);
    postgres_send(handle, SQL_COMMIT, NULL);
    TRY(postgres_flush(handle, err));
    TRY(postgres_skip(handle, handle->lent ? 3 : 2, err));
    TRY(postgres_take(handle, &rows, err));
    TRY(postgres_take(handle, &last, err));
    TRY(postgres_skip(handle, 1, err));
    TRY(postgres_end(handle, err));
    read->seen = (uint64_t)row_int(last, 0, 0);
    TRY(postgres_make_durable(handle, read->seen, err));
    bool found = row_digest(last, 0, 1, &hash);
    TRY(postgres_check_history(handle, &anchor, found, &hash, err));
    end.seq = read->seen;
    if (row_digest(last, 0, 2, &end.hash))
        memory_meet(handle->memory, &end); /* the answer shows what may not have been followed yet */
    TRY(remember(handle, read, question, rows, err));
    TRY(fill(read, rows, question->limit, read->seen, err));
    return fill_gone(handle, read, err);
}

/* Rows from `first` on that may be told now: those that are durable, if there are any. The others come with the NOTIFY
 * of their node. If none of them is known to be durable, their node may have died before its sync: they are synced
 * here. */
static struct rc count_durable(struct postgres_handle *handle, const PGresult *rows, int first, int *ret_end,
                               struct err *err)
{
    uint64_t durable = memory_durable(handle->memory);
    int count = pq.PQntuples(rows), end = count;
    while (end > first && (uint64_t)row_int(rows, end - 1, 0) > durable)
        end--;
    *ret_end = end > first ? end : count;
    return end > first || count == first ? RC_OK
                                         : postgres_make_durable(handle, (uint64_t)row_int(rows, count - 1, 0), err);
}

/* How far a look reads: as far as is durable, because later rows would only be read again. When nothing new is durable,
 * to the end: a node may have died between its two commits. */
static int64_t look_end(const struct postgres_handle *handle, const struct read *read)
{
    uint64_t durable = memory_durable(handle->memory);
    return durable > read->after ? (int64_t)durable : INT64_MAX;
}

/* A node that may not see the server's processes does not ask for them again, and reads every group. */
static struct rc take_peers(struct postgres_handle *handle, int64_t asked_us, struct err *err)
{
    RESULT_SCOPE(rows);
    struct notices *notices = &handle->notices;
    struct rc rc = postgres_take(handle, &rows, err);
    notices->peer_count = 0;
    notices->peers_us = asked_us;
    notices->peers_hidden = rc_bad(rc) && handle->refused && rc.code != ERR_UNAVAILABLE;
    TRY(rc);
    for (int i = 0, count = pq.PQntuples(rows); i < count && notices->peer_count < PEERS_MAX; i++)
        notices->peers[notices->peer_count++] = row_int(rows, i, 0);
    notices_know_peers(notices, handle->memory);
    return RC_OK;
}

static void send_look(struct postgres_handle *handle, const struct postgres_question *question,
                      const struct anchor *anchor, int64_t end, struct arena *scratch)
{
    struct params params = question->params;
    params_int(&params, scratch, (int64_t)anchor->seq);
    params_int(&params, scratch, end);
    postgres_send(handle, SQL_FOLLOW, &params);
}

/* Few events whose number is known: none of them is given with more data than its part of a page. */
static void send_look_at_few(struct postgres_handle *handle, const struct read *read, const struct anchor *anchor,
                             int64_t end, struct arena *scratch)
{
    struct params params = {0};
    params_int(&params, scratch, clamp(read->after));
    params_int(&params, scratch, (int64_t)anchor->seq);
    params_int(&params, scratch, end);
    params_int(&params, scratch, LIMIT_READ_BYTES / FEW_EVENTS);
    postgres_send(handle, SQL_FOLLOW_FEW, &params);
}

static bool is_whole(const PGresult *rows)
{
    int i = 0, count = pq.PQntuples(rows);
    while (i < count && !pq.PQgetisnull(rows, i, EVENT_COLUMN_DATA))
        i++;
    return i == count;
}

/* Looks for new events, in one statement, which has its own snapshot. The sums of bytes that end a page cost the server
 * as much as the events themselves, so they are left out for few events, until one of these is large. */
static struct rc look(struct postgres_handle *handle, const struct read *read, const struct postgres_question *question,
                      const struct anchor *anchor, PGresult **ret_rows, struct err *err)
{
    ARENA_SCOPE(scratch);
    int64_t end = look_end(handle, read), asked_us = clock_steady_us();
    bool ask_peers = handle->role == BACKEND_FOLLOWER && notices_peers_due(&handle->notices);
    bool few = !handle->whole_looks && end <= clamp(read->after) + FEW_EVENTS;
    handle->whole_looks -= handle->whole_looks > 0;
    if (few)
        send_look_at_few(handle, read, anchor, end, &scratch);
    else
        send_look(handle, question, anchor, end, &scratch);
    if (ask_peers)
        postgres_send(handle, SQL_PEERS, NULL);
    TRY(postgres_flush(handle, err));
    TRY(postgres_take(handle, ret_rows, err));
    if (ask_peers)
        TRY(take_peers(handle, asked_us, err));
    TRY(postgres_end(handle, err));
    if (!few || is_whole(*ret_rows))
        return RC_OK;
    handle->whole_looks = WHOLE_LOOKS;
    postgres_clear(ret_rows);
    return look(handle, read, question, anchor, ret_rows, err);
}

/* Gives the follower new events that notifications have not brought (postgres_told). The first row is the last event
 * that is known, without its data (kind 0), if the store still has it. The writer reads in this way what stands before
 * its own group: its own sync has made that durable, too. */
static struct rc follow_once(struct postgres_handle *handle, struct read *read,
                             const struct postgres_question *question, struct err *err)
{
    RESULT_SCOPE(rows);
    CHECK(question->sql == SQL_EVENTS && read->kinds == 0);
    notices_clear(&handle->notices);
    handle->notices.missed = true; /* until this look has succeeded */
    struct anchor anchor = memory_anchor(handle->memory);
    struct digest hash;
    TRY(look(handle, read, question, &anchor, &rows, err));
    bool found = pq.PQntuples(rows) > 0 && row_int(rows, 0, 3) == EVENT_NONE &&
                 row_digest(rows, 0, EVENT_COLUMN_COUNT, &hash);
    TRY(postgres_check_history(handle, &anchor, found, &hash, err));
    int end;
    TRY(count_durable(handle, rows, found, &end, err));
    TRY(postgres_remember(handle, rows, found, end, err));
    TRY(fill_events_from(read, rows, found, end, err));
    read->covered = read->seen = read->event_count ? read->events[read->event_count - 1].seq : read->after;
    TRY(fill_gone(handle, read, err));
    handle->notices.missed = false;
    return RC_OK;
}

/* The follower and the writer do not wait here: their threads try again by themselves. */
struct rc postgres_read(struct backend_handle *opaque, struct read *read, struct err *err)
{
    struct postgres_handle *handle = postgres_of(opaque);
    int64_t wait_us = handle->role == BACKEND_READER ? (int64_t)READ_MS * 1000 : 0;
    int64_t deadline_us = clock_steady_us() + wait_us, pause_ms = 0;
    struct postgres_question question = {.limit = read->limit ? read->limit : LIMIT_PAGE_EVENTS};
    put_question(&question, read);
    struct err trouble = {0};
    struct rc rc;
    do {
        rc = memory_check(handle->memory, &trouble);
        if (rc_ok(rc))
            rc = postgres_connect(handle, deadline_us, &trouble);
        if (rc_ok(rc))
            rc = handle->role == BACKEND_READER ? read_once(handle, read, &question, &trouble)
                                                : follow_once(handle, read, &question, &trouble);
        if (rc_bad(rc))
            postgres_disconnect(handle);
    } while (rc.code == ERR_UNAVAILABLE && postgres_pause(&pause_ms, deadline_us));
    arena_done(&question.arena);
    if (rc_bad(rc) && err)
        *err = trouble;
    return rc;
}
