/* One attempt to commit a group: one CALL, which takes the lock, checks, writes, gives the lock back and syncs
 * (postgres_schema.c). The facts of the group come from memory (memory.h), or are asked for in a round trip before:
 *
 *   1  LEARN: the last seq; heads, calls and runs that the group is about
 *      here, without the server: the judge (judge.h)
 *   2  KEEP: events, calls, heads, open approvals; nothing, if a session that the group is about is not as it was.
 *      KEEP_ONE: the same for one event of a session that exists, most often a decision
 *
 * When other nodes were faster twice, and for what the server must be told in several statements (a new part, an
 * archived session), the lock is taken before LEARN and held until the group is written: LEARN is true then. Nodes that
 * write to the same sessions make each other's memory stale, so after a miss some groups begin with LEARN at once.
 * postgres_commit.c handles failures.
 *
 * The lock is free before the sync: others may build on the group meanwhile, and their own sync covers it, because the
 * server's log is one file in order. Until somebody's sync is done the group is visible but not durable: see
 * postgres_make_durable. KEEP_ONE syncs first: its event is visible when it is durable.
 */
#include "store/postgres_column.h"
#include "store/postgres_group.h"

enum { MISSES_MOST = 6 }; /* after six misses in a row, only one of 63 groups is tried from memory */

/* ---- the first round trip ---- */

int postgres_send_lock(struct postgres_handle *handle)
{
    postgres_send(handle, SQL_BEGIN_WRITE, NULL);
    if (handle->lent)
        postgres_send(handle, SQL_SETTINGS, NULL);
    postgres_send(handle, SQL_LOCK, NULL);
    return handle->lent ? 3 : 2;
}

static void send_names(struct postgres_handle *handle, struct facts *facts, const struct anchor *anchor)
{
    COLUMNS_SCOPE(heads, COLUMN_TEXT);
    COLUMNS_SCOPE(calls, COLUMN_TEXT, COLUMN_TEXT);
    COLUMNS_SCOPE(runs, COLUMN_TEXT, COLUMN_TEXT);
    for (const struct fact_head *head = facts->first_head; head; head = head->next)
        column_str(&heads.columns[0], head->session);
    for (const struct fact_call *call = facts->first_call; call; call = call->next) {
        column_str(&calls.columns[0], call->call);
        column_str(&calls.columns[1], call->session);
    }
    for (const struct fact_run *run = facts->first_run; run; run = run->next) {
        column_str(&runs.columns[0], run->session);
        column_str(&runs.columns[1], run->thread);
    }
    struct params params = {0};
    columns_params(&heads, &params);
    columns_params(&calls, &params);
    columns_params(&runs, &params);
    params_int(&params, &facts->arena, (int64_t)anchor->seq);
    postgres_send(handle, SQL_LEARN, &params);
}

/* Columns of LEARN's answer: which list, which entry (from 1), three numbers, a hash and two numbers. */
enum { LEARNT_LAST, LEARNT_HEAD, LEARNT_CALL, LEARNT_RUN, LEARNT_ANCHOR, LEARNT_COUNT };

/* The rows about the store as a whole. */
struct learnt {
    struct anchor last, anchor; /* seq 0: there is none */
    int64_t version;
};

static struct rc take_head(const PGresult *rows, int row, struct fact_head *head, struct err *err)
{
    head->first_seq = (uint64_t)row_int(rows, row, 2);
    head->last_seq = (uint64_t)row_int(rows, row, 3);
    head->changed_seq = (uint64_t)row_int(rows, row, 4);
    head->archived_seq = (uint64_t)row_int(rows, row, 6);
    head->no = (uint64_t)row_int(rows, row, 7);
    head->stored = true;
    if (!row_digest(rows, row, 5, &head->hash))
        return err_set(err, ERR_CORRUPT, "the last hash of session %.*s is damaged", STR_ARG(head->session));
    return RC_OK;
}

static void take_call(const PGresult *rows, int row, struct fact_call *call)
{
    int64_t kind = row_int(rows, row, 2);
    if (kind > EVENT_NONE && kind < EVENT_KIND_END)
        call->seqs[kind] = (uint64_t)row_int(rows, row, 3);
}

static struct anchor take_anchor(const PGresult *rows, int row)
{
    struct anchor anchor = {.seq = (uint64_t)row_int(rows, row, 2)};
    if (!row_digest(rows, row, 5, &anchor.hash))
        anchor = (struct anchor){0};
    return anchor;
}

static struct rc take_learnt(const PGresult *rows, struct facts *facts, struct learnt *learnt, struct err *err)
{
    ARENA_SCOPE(scratch);
    struct fact_head **heads = arena_array(&scratch, struct fact_head *, facts->head_count + 1);
    struct fact_call **calls = arena_array(&scratch, struct fact_call *, facts->call_count + 1);
    struct fact_run **runs = arena_array(&scratch, struct fact_run *, facts->run_count + 1);
    const size_t counts[LEARNT_COUNT] = {0, facts->head_count, facts->call_count, facts->run_count, 0};
    size_t n = 0;
    for (struct fact_head *head = facts->first_head; head; head = head->next)
        heads[++n] = head;
    n = 0;
    for (struct fact_call *call = facts->first_call; call; call = call->next)
        calls[++n] = call;
    n = 0;
    for (struct fact_run *run = facts->first_run; run; run = run->next)
        runs[++n] = run;
    for (int i = 0, count = pq.PQntuples(rows); i < count; i++) {
        int64_t list = row_int(rows, i, 0), at = row_int(rows, i, 1);
        CHECK(list >= 0 && list < LEARNT_COUNT && at >= 0 && (size_t)at <= counts[list]);
        if (list == LEARNT_LAST) {
            learnt->last = take_anchor(rows, i);
            learnt->version = row_int(rows, i, 3);
        } else if (list == LEARNT_ANCHOR)
            learnt->anchor = take_anchor(rows, i);
        else if (list == LEARNT_HEAD)
            TRY(take_head(rows, i, heads[at], err));
        else if (list == LEARNT_CALL)
            take_call(rows, i, calls[at]);
        else
            runs[at]->seq = (uint64_t)row_int(rows, i, 2);
    }
    return RC_OK;
}

static struct rc load(struct backend_handle *opaque, struct facts *facts, bool all, struct err *err)
{
    struct postgres_handle *handle = postgres_of(opaque);
    RESULT_SCOPE(rows);
    struct anchor anchor = memory_anchor(handle->memory);
    struct learnt learnt = {0};
    int sent = all && !handle->locked ? postgres_send_lock(handle) : 0;
    handle->locked = handle->locked || all;
    send_names(handle, facts, &anchor);
    TRY(postgres_flush(handle, err));
    TRY(postgres_skip(handle, sent, err));
    TRY(postgres_take(handle, &rows, err));
    TRY(postgres_end(handle, err));
    TRY(take_learnt(rows, facts, &learnt, err));
    TRY(postgres_check_history(handle, &anchor, learnt.anchor.seq != 0, &learnt.anchor.hash, err));
    if (learnt.version != postgres_version_number())
        return version_outdated("the database", learnt.version, postgres_version_known(), err);
    handle->seen_seq = learnt.last.seq;
    facts->last_seq = learnt.last.seq;
    facts->last_hash = learnt.last.hash;
    return RC_OK;
}

/* ---- the second round trip ---- */

/* The bytes of the digest; empty if there is none (`any` false). */
static struct str digest_str(const struct digest *digest, bool any)
{
    return (struct str){(const char *)digest->bytes, any ? DIGEST_BYTES : 0};
}

#define EVENTS_SCOPE(name)                                                                                        \
    COLUMNS_SCOPE(name, COLUMN_BIGINT, COLUMN_TEXT, COLUMN_TEXT, COLUMN_INT, COLUMN_BIGINT, COLUMN_TEXT, COLUMN_TEXT, \
                  COLUMN_TEXT, COLUMN_BIGINT, COLUMN_BYTES, COLUMN_BIGINT, COLUMN_BIGINT)

static void put_event(struct columns *events, const struct event_row *row)
{
    const struct event *event = row->event;
    struct column *c = events->columns;
    column_int(&c[0], (int64_t)event->seq);
    column_str(&c[1], event->session);
    column_str(&c[2], event->thread);
    column_int(&c[3], event->kind);
    column_int(&c[4], event->at_ms);
    column_str(&c[5], event->actor);
    if (event_kind_of_call(event->kind))
        column_str(&c[6], event->call);
    else
        column_null(&c[6]);
    column_str(&c[7], event->data);
    column_int(&c[8], (int64_t)event->no);
    column_str(&c[9], (struct str){(const char *)row->hash.bytes, DIGEST_BYTES});
    column_int(&c[10], (int64_t)row->chain);
    if (row->call_seq)
        column_int(&c[11], (int64_t)row->call_seq);
    else
        column_null(&c[11]);
}

static void put_heads(const struct facts *facts, struct columns *heads)
{
    for (const struct fact_head *head = facts->first_head; head; head = head->next) {
        if (!head->dirty)
            continue;
        column_str(&heads->columns[0], head->session);
        column_int(&heads->columns[1], (int64_t)head->first_seq);
        column_int(&heads->columns[2], (int64_t)head->last_seq);
        column_int(&heads->columns[3], (int64_t)head->changed_seq);
        column_str(&heads->columns[4], (struct str){(const char *)head->hash.bytes, DIGEST_BYTES});
        column_int(&heads->columns[5], (int64_t)head->no);
    }
    CHECK(columns_rows(heads) > 0);
}

static void put_open(struct columns *opened, const struct event_row *row)
{
    column_int(&opened->columns[0], (int64_t)row->event->seq);
    column_int(&opened->columns[1], (int64_t)row->call_seq);
    column_str(&opened->columns[2], row->event->session);
    column_str(&opened->columns[3], row->event->thread);
    column_str(&opened->columns[4], row->event->call);
    column_int(&opened->columns[5], row->deadline_ms);
}

/* All heads that the group rests on, as they were before it. */
static void put_seen(const struct facts *facts, struct columns *seen)
{
    for (const struct fact_head *head = facts->first_head; head; head = head->next) {
        column_str(&seen->columns[0], head->session);
        column_str(&seen->columns[1], digest_str(&head->hash_before, head->stored));
    }
}

static void put_assumed(const struct facts *facts, struct columns *assumed)
{
    for (const struct fact_call *call = facts->first_call; call; call = call->next) {
        if (!call->assumed)
            continue;
        column_str(&assumed->columns[0], call->call);
        column_str(&assumed->columns[1], call->session);
    }
}

/* ---- a group of one event ---- */

/* The one head that the group rests on without changing it, or the other one if there is none. */
static const struct fact_head *head_beside(const struct facts *facts)
{
    const struct fact_head *first = facts->first_head;
    return first->dirty && first->next ? first->next : first;
}

static bool is_one(const struct facts *facts, const struct rows *rows)
{
    const struct event_row *row = &rows->events[0];
    if (rows->count != 1 || row->opens || facts->head_count > 2)
        return false;
    for (const struct fact_head *head = facts->first_head; head; head = head->next)
        if (!head->stored)
            return false;
    for (const struct fact_call *call = facts->first_call; call; call = call->next)
        if (call->assumed && call != row->call)
            return false;
    return true;
}

/* KEEP_ONE, with the parameters of keep_one() in its order. */
static void send_one(struct postgres_handle *handle, struct facts *facts, const struct rows *rows)
{
    const struct event_row *row = &rows->events[0];
    const struct event *event = row->event;
    const struct fact_head *head = facts_head(facts, event->session), *also = head_beside(facts);
    struct arena *arena = &facts->arena;
    BUF_SCOPE(told, NOTICE_BYTES_MAX);
    struct params params = {0};
    notice_write(&told, rows);
    params_str(&params, event->session);
    params_str(&params, event->thread);
    params_int(&params, arena, event->kind);
    params_int(&params, arena, event->at_ms);
    params_str(&params, event->actor);
    params_str(&params, event_kind_of_call(event->kind) ? event->call : STR_NONE);
    params_str(&params, event->data);
    params_int(&params, arena, (int64_t)event->no);
    params_str(&params, digest_str(&row->hash, true));
    params_int(&params, arena, (int64_t)row->chain);
    params_int(&params, arena, (int64_t)row->call_seq);
    params_int(&params, arena, (int64_t)head->changed_seq);
    params_int(&params, arena, (int64_t)row->closes);
    params_str(&params, digest_str(&head->hash_before, true));
    params_str(&params, also->session);
    params_str(&params, digest_str(&also->hash_before, true));
    params_int(&params, arena, (int64_t)facts->last_seq);
    params_str(&params, digest_str(&facts->last_hash, true));
    params_int(&params, arena, (int64_t)handle->part_end);
    params_int(&params, arena, postgres_version_number());
    params_str(&params, str_of(handle->channel));
    params_str(&params, str_of(handle->id.text));
    params_int(&params, arena, handle->lent);
    params_str(&params, buf_str(&told));
    postgres_send(handle, SQL_KEEP_ONE, &params);
}

/* ---- a group of any size ---- */

/* KEEP or WRITE, with the parameters of put() in its order. */
static void send_write(struct postgres_handle *handle, struct facts *facts, const struct rows *rows)
{
    EVENTS_SCOPE(events);
    COLUMNS_SCOPE(heads, COLUMN_TEXT, COLUMN_BIGINT, COLUMN_BIGINT, COLUMN_BIGINT, COLUMN_BYTES, COLUMN_BIGINT);
    COLUMNS_SCOPE(opened, COLUMN_BIGINT, COLUMN_BIGINT, COLUMN_TEXT, COLUMN_TEXT, COLUMN_TEXT, COLUMN_BIGINT);
    COLUMNS_SCOPE(closed, COLUMN_BIGINT);
    COLUMNS_SCOPE(seen, COLUMN_TEXT, COLUMN_BYTES);
    COLUMNS_SCOPE(assumed, COLUMN_TEXT, COLUMN_TEXT);
    BUF_SCOPE(told, NOTICE_BYTES_MAX);
    struct params params = {0};
    for (size_t i = 0; i < rows->count; i++) {
        put_event(&events, &rows->events[i]);
        if (rows->events[i].opens)
            put_open(&opened, &rows->events[i]);
        if (rows->events[i].closes)
            column_int(&closed.columns[0], (int64_t)rows->events[i].closes);
    }
    put_heads(facts, &heads);
    put_seen(facts, &seen);
    put_assumed(facts, &assumed);
    columns_params(&events, &params);
    columns_params(&heads, &params);
    columns_params(&opened, &params);
    columns_params(&closed, &params);
    columns_params(&seen, &params);
    columns_params(&assumed, &params);
    params_int(&params, &facts->arena, (int64_t)facts->last_seq);
    params_str(&params, digest_str(&facts->last_hash, facts->last_seq != 0));
    params_int(&params, &facts->arena, (int64_t)handle->part_end);
    params_int(&params, &facts->arena, postgres_version_number());
    CHECK(params.count == PUT_COUNT);
    if (!handle->locked) {
        params_str(&params, str_of(handle->channel));
        params_str(&params, str_of(handle->id.text));
        params_int(&params, &facts->arena, handle->lent);
        notice_write(&told, rows);
        params_str(&params, buf_str(&told));
    }
    postgres_send(handle, handle->locked ? SQL_WRITE : SQL_KEEP, &params);
}

/* The events of sessions that leave with this group. Returns how many statements that is. */
static int send_leaves(struct postgres_handle *handle, struct facts *facts, const struct rows *rows)
{
    int sent = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const struct event *event = rows->events[i].event;
        const struct archived *archived = rows->events[i].leaves;
        struct params params = {0};
        if (!archived)
            continue;
        params_int(&params, &facts->arena, (int64_t)archived->first_seq);
        params_int(&params, &facts->arena, (int64_t)event->seq);
        params_str(&params, event->session);
        params_int(&params, &facts->arena, (int64_t)archived->events);
        params_int(&params, &facts->arena, (int64_t)archived->calls);
        postgres_send(handle, SQL_LEAVE, &params);
        sent++;
    }
    return sent;
}

/* A transaction by itself whose COMMIT waits for the disk. Returns how many statements come before that of `sql`. */
static int send_sync(struct postgres_handle *handle, enum postgres_sql sql, const struct params *params)
{
    postgres_send(handle, SQL_BEGIN_WRITE, NULL);
    if (handle->lent)
        postgres_send(handle, SQL_SETTINGS, NULL);
    postgres_send(handle, sql, params);
    postgres_send(handle, SQL_COMMIT, NULL);
    return handle->lent ? 2 : 1;
}

/* Tells the others how far the store is durable. */
static int send_tell(struct postgres_handle *handle, struct facts *facts)
{
    struct params params = {0};
    params_str(&params, str_of(handle->channel));
    params_str(&params, str_of(handle->id.text));
    params_int(&params, &facts->arena, (int64_t)facts->next_seq - 1);
    return send_sync(handle, SQL_TELL, &params);
}

struct rc postgres_make_durable(struct postgres_handle *handle, uint64_t seq, struct err *err)
{
    if (seq <= memory_durable(handle->memory))
        return RC_OK;
    int before = send_sync(handle, SQL_SYNC, NULL);
    TRY(postgres_flush(handle, err));
    TRY(postgres_skip(handle, before + 1, err));
    TRY(postgres_take_commit(handle, err));
    memory_note_durable(handle->memory, seq);
    return RC_OK;
}

static struct rc take_committed(struct postgres_handle *handle, struct err *err)
{
    RESULT_SCOPE(result);
    TRY(postgres_take(handle, &result, err));
    if (strcmp(pq.PQcmdStatus(result), "COMMIT") != 0) {
        postgres_disconnect(handle);
        return err_set(err, ERR_UNAVAILABLE, "PostgreSQL rolled the group back");
    }
    return RC_OK;
}

struct rc postgres_take_commit(struct postgres_handle *handle, struct err *err)
{
    TRY(take_committed(handle, err));
    return postgres_end(handle, err);
}

/* In the transaction that `load` has begun: what it found is true, so it holds. */
static struct rc write_locked(struct postgres_handle *handle, struct facts *facts, const struct rows *rows,
                              struct err *err)
{
    if (facts->next_seq > handle->part_end)
        TRY(postgres_make_parts(handle, facts->next_seq - 1, err));
    send_write(handle, facts, rows);
    int before = 1 + send_leaves(handle, facts, rows) + 1;
    postgres_send(handle, SQL_UNSYNCED, NULL);
    postgres_send(handle, SQL_COMMIT, NULL);
    int told = send_tell(handle, facts);
    group_note_sent(&handle->sent, facts, rows);
    TRY(postgres_flush(handle, err));
    struct rc rc = postgres_skip(handle, before, err);
    if (rc_bad(rc)) {
        /* If the server refused before the COMMIT, the outcome is known; if it did not answer, it is in doubt. */
        if (handle->refused)
            group_forget_sent(&handle->sent);
        return rc;
    }
    TRY(take_committed(handle, err));
    TRY(postgres_skip(handle, told + 1, err));
    return postgres_take_commit(handle, err);
}

/* Sends one CALL. False: nothing was sent, the lock must be taken first. */
static bool send_call(struct postgres_handle *handle, struct facts *facts, const struct rows *rows)
{
    if (facts->next_seq > handle->part_end || facts->leaves)
        return false;
    if (is_one(facts, rows))
        send_one(handle, facts, rows);
    else
        send_write(handle, facts, rows);
    group_note_sent(&handle->sent, facts, rows);
    return true;
}

/* The answer to the CALL; `flushed` says whether it could be sent. `*ret_last_seq`: the last one before the group, or
 * -1. */
static struct rc take_answer(struct postgres_handle *handle, struct rc flushed, int64_t *ret_last_seq, struct err *err)
{
    RESULT_SCOPE(kept);
    struct rc rc = flushed;
    if (rc_ok(rc))
        rc = postgres_take(handle, &kept, err);
    if (rc_ok(rc))
        rc = postgres_end(handle, err);
    if (rc_ok(rc))
        *ret_last_seq = row_int(kept, 0, 0);
    else if (handle->refused && handle->lock_missed)
        group_forget_sent(&handle->sent); /* the error may have come from a statement after the first COMMIT */
    return rc;
}

/* After the server has answered. False: it has kept nothing. */
static bool note_kept(struct postgres_handle *handle, struct facts *facts, struct rows *rows, int64_t last_seq)
{
    group_forget_sent(&handle->sent);
    if (last_seq < 0)
        return false;
    judge_move(facts, rows, (uint64_t)last_seq);
    handle->seen_seq = facts->last_seq;
    memory_note_durable(handle->memory, facts->next_seq - 1);
    return true;
}

static struct rc write_rows(struct backend_handle *opaque, struct facts *facts, struct rows *rows, bool *ret_held,
                            struct err *err)
{
    struct postgres_handle *handle = postgres_of(opaque);
    int64_t last_seq = handle->locked ? (int64_t)facts->last_seq : -1;
    struct rc rc = RC_OK;
    if (handle->locked)
        rc = write_locked(handle, facts, rows, err);
    else if (send_call(handle, facts, rows))
        rc = take_answer(handle, postgres_flush(handle, err), &last_seq, err);
    handle->locked = false;
    TRY(rc);
    *ret_held = note_kept(handle, facts, rows, last_seq);
    return RC_OK;
}

/* ---- sent by the loop, answered on the writer's thread ---- */

/* Only from memory, and only on a connection that is there. What fails here shows when the answer is taken. */
bool postgres_send_ahead(struct backend_handle *opaque, struct append *append)
{
    struct postgres_handle *handle = postgres_of(opaque);
    struct ahead *ahead = &handle->ahead;
    if (!handle->conn || handle->locked || handle->groups_to_learn || rc_bad(memory_check(handle->memory, NULL)))
        return false;
    ahead->facts = (struct facts){0};
    group_forget_sent(&handle->sent);
    ahead->sent = group_judge_remembered(handle->memory, append, &ahead->facts, &ahead->rows) &&
                  send_call(handle, &ahead->facts, &ahead->rows);
    if (ahead->sent)
        postgres_flush_some(handle);
    else
        facts_done(&ahead->facts);
    return ahead->sent;
}

static struct rc take_ahead(struct postgres_handle *handle, bool *ret_kept, struct err *err)
{
    struct ahead *ahead = &handle->ahead;
    int64_t last_seq = -1;
    ahead->sent = false;
    struct rc rc = take_answer(handle, postgres_flush_rest(handle, err), &last_seq, err);
    *ret_kept = rc_ok(rc) && note_kept(handle, &ahead->facts, &ahead->rows, last_seq);
    if (*ret_kept)
        memory_keep(handle->memory, &ahead->facts);
    facts_done(&ahead->facts);
    return rc;
}

struct rc postgres_unlock(struct postgres_handle *handle, struct err *err)
{
    handle->locked = false;
    postgres_send(handle, SQL_ROLLBACK, NULL);
    TRY(postgres_flush(handle, err));
    TRY(postgres_skip(handle, 1, err));
    return postgres_end(handle, err);
}

/* A refusal reveals events of other nodes, so these are made durable first. */
static struct rc abandon(struct backend_handle *opaque, struct err *err)
{
    struct postgres_handle *handle = postgres_of(opaque);
    if (handle->locked)
        TRY(postgres_unlock(handle, err));
    return postgres_make_durable(handle, handle->seen_seq, err);
}

/* ---- groups ---- */

static const struct group_ways ways = {.load = load, .write = write_rows, .abandon = abandon, .shared = true};

/* Memory first, unless it was out of date too often lately, or the lock is held: then what the store says is true. */
static struct rc commit_group(struct postgres_handle *handle, struct append *group, struct err *err)
{
    struct backend_handle *opaque = (struct backend_handle *)handle;
    bool tried = handle->ahead.sent, kept = false;
    if (tried)
        TRY(take_ahead(handle, &kept, err));
    else if (handle->groups_to_learn)
        handle->groups_to_learn--;
    else if (!handle->locked)
        TRY(group_commit_remembered(&ways, opaque, handle->memory, group, &tried, &kept, err));
    if (tried) {
        handle->misses = kept ? 0 : handle->misses < MISSES_MOST ? handle->misses + 1 : MISSES_MOST;
        handle->groups_to_learn = kept ? 0 : (1u << handle->misses) - 2;
    }
    return kept ? RC_OK : group_commit(&ways, opaque, handle->memory, group, err);
}

struct rc postgres_commit_once(struct postgres_handle *handle, struct append *group, bool *ret_in_doubt,
                               struct err *err)
{
    if (!handle->ahead.sent)
        group_forget_sent(&handle->sent);
    struct rc rc = commit_group(handle, group, err);
    *ret_in_doubt = rc_bad(rc) && handle->sent.count;
    return rc;
}
