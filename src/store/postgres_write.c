/* A group: one transaction, in two round trips, or in one when all that it is about is remembered.
 *
 *   1  BEGIN; the lock; LEARN: the last seq; heads, calls and runs that the group is about
 *      here, without the server: needs, numbers, links
 *   2  WRITE: events, calls, heads, open approvals, our mark, NOTIFY; COMMIT
 *
 * Each of the two is one statement: a statement costs the server more than a row does, and all others wait.
 * From memory (postgres_memory.c) it is BEGIN; the lock; WRITE; COMMIT: WRITE does nothing unless the last seq is
 * the one remembered, and then the group is learnt. Two busy nodes spoil it for each other, so after a miss some
 * groups are learnt at once.
 *
 * Invariants
 *  1. From the lock to the end of the COMMIT nobody else keeps anything, so what was read stays true.
 *  2. Needs are checked before anything is sent: a refused or faulty append leaves nothing to undo.
 *  3. When the connection is lost after the COMMIT was sent, the mark tells: it is read under the lock, which
 *     the lost transaction holds until it has ended one way or the other.
 */
#include "store/postgres_column.h"
#include "store/postgres_group.h"

#include "base/log.h"
#include "event/archived.h"
#include "io/clock.h"

#include <stdio.h>

enum {
    COMMIT_MS = 7000,    /* so long after it was handed over, a group is tried again; callers are told 10 s */
    RECENT_MS = 1000,    /* a group that has waited so long already is not tried so soon after another has failed */
    RESOLVE_MS = 60000,  /* and so long to learn what became of a COMMIT */
    MISSES_MOST = 6,     /* after so many misses in a row one of 63 groups is tried from memory */
};

static void group_done(struct group *group)
{
    map_done(&group->heads);
    map_done(&group->calls);
    map_done(&group->runs);
    arena_done(&group->arena);
}

/* ---- what a group is about ---- */

static struct str pair(struct group *group, struct str a, struct str b)
{
    return arena_printf(&group->arena, "%.*s\n%.*s", STR_ARG(a), STR_ARG(b));
}

static struct group_head *head_of(struct group *group, struct str session)
{
    struct group_head *head = map_get(&group->heads, session);
    if (head)
        return head;
    head = arena_new(&group->arena, struct group_head);
    head->session = session;
    *group->end_head = head;
    group->end_head = &head->next;
    CHECK(map_put(&group->heads, session, head) == NULL);
    return head;
}

static struct group_call *call_of(struct group *group, struct str session, struct str call)
{
    struct str key = pair(group, session, call);
    struct group_call *found = map_get(&group->calls, key);
    if (found)
        return found;
    found = arena_new(&group->arena, struct group_call);
    found->session = session;
    found->call = call;
    *group->end_call = found;
    group->end_call = &found->next;
    CHECK(map_put(&group->calls, key, found) == NULL);
    return found;
}

static struct group_run *run_of(struct group *group, struct str session, struct str thread)
{
    struct str key = pair(group, session, thread);
    struct group_run *run = map_get(&group->runs, key);
    if (run)
        return run;
    run = arena_new(&group->arena, struct group_run);
    run->session = session;
    run->thread = thread;
    *group->end_run = run;
    group->end_run = &run->next;
    CHECK(map_put(&group->runs, key, run) == NULL);
    return run;
}

static void name_need(struct group *group, const struct need *need)
{
    switch (need->need) {
    case NEED_NONE:
        return;
    case NEED_ABSENT:
    case NEED_PRESENT:
        (void)call_of(group, need->session, need->call);
        return;
    case NEED_CHANGED_AT:
    case NEED_LAST_AT:
    case NEED_NONE_AFTER:
        (void)head_of(group, need->session);
        return;
    case NEED_RUN_AT:
        (void)run_of(group, need->session, need->call);
        return;
    }
    err_die(__FILE__, __LINE__, "a need of no kind");
}

static void name_all(struct group *group, const struct append *first)
{
    for (const struct append *append = first; append; append = append->next) {
        for (unsigned i = 0; i < append->need_count; i++)
            name_need(group, &append->needs[i]);
        for (unsigned i = 0; i < append->event_count; i++) {
            const struct event *event = &append->events[i];
            (void)head_of(group, event->session);
            group->any_leaves = group->any_leaves || event->kind == EVENT_SESSION_ARCHIVED;
            if (event_kind_of_call(event->kind))
                (void)call_of(group, event->session, event->call);
            if (event->kind == EVENT_RUN_STATUS)
                (void)run_of(group, event->session, event->thread);
        }
    }
}

/* ---- the first round trip ---- */

/* How many statements that were. */
static int send_lock(struct backend_handle *handle)
{
    postgres_send(handle, SQL_BEGIN_WRITE, NULL);
    if (handle->lent)
        postgres_send(handle, SQL_SETTINGS, NULL);
    postgres_send(handle, SQL_LOCK, NULL);
    return handle->lent ? 3 : 2;
}

static void send_names(struct backend_handle *handle, struct group *group, const struct anchor *anchor)
{
    COLUMNS_SCOPE(heads, COLUMN_TEXT);
    COLUMNS_SCOPE(calls, COLUMN_TEXT, COLUMN_TEXT);
    COLUMNS_SCOPE(runs, COLUMN_TEXT, COLUMN_TEXT);
    for (const struct group_head *head = group->first_head; head; head = head->next)
        column_str(&heads.columns[0], head->session);
    for (const struct group_call *call = group->first_call; call; call = call->next) {
        column_str(&calls.columns[0], call->call);
        column_str(&calls.columns[1], call->session);
    }
    for (const struct group_run *run = group->first_run; run; run = run->next) {
        column_str(&runs.columns[0], run->session);
        column_str(&runs.columns[1], run->thread);
    }
    struct params params = {0};
    columns_params(&heads, &params);
    columns_params(&calls, &params);
    columns_params(&runs, &params);
    params_int(&params, &group->arena, (int64_t)anchor->seq);
    postgres_send(handle, SQL_LEARN, &params);
}

/* What LEARN answers: which list, which of it (from 1), three numbers, a hash and a number. */
enum { LEARNT_LAST, LEARNT_HEAD, LEARNT_CALL, LEARNT_RUN, LEARNT_ANCHOR, LEARNT_COUNT };

/* What it says of the store as a whole. */
struct learnt {
    struct anchor last, anchor; /* seq 0: there is none */
    int64_t version;
};

static struct rc take_head(const PGresult *rows, int row, struct group_head *head, struct err *err)
{
    head->first_seq = (uint64_t)row_int(rows, row, 2);
    head->last_seq = (uint64_t)row_int(rows, row, 3);
    head->changed_seq = (uint64_t)row_int(rows, row, 4);
    head->archived_seq = (uint64_t)row_int(rows, row, 6);
    if (!row_digest(rows, row, 5, &head->hash))
        return err_set(err, ERR_CORRUPT, "the chain of session %.*s has no proper head", STR_ARG(head->session));
    return RC_OK;
}

static void take_call(const PGresult *rows, int row, struct group_call *call)
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

static struct rc take_learnt(const PGresult *rows, struct group *group, struct learnt *learnt, struct err *err)
{
    ARENA_SCOPE(scratch);
    struct group_head **heads = arena_array(&scratch, struct group_head *, group->heads.count + 1);
    struct group_call **calls = arena_array(&scratch, struct group_call *, group->calls.count + 1);
    struct group_run **runs = arena_array(&scratch, struct group_run *, group->runs.count + 1);
    const size_t counts[LEARNT_COUNT] = {0, group->heads.count, group->calls.count, group->runs.count, 0};
    size_t n = 0;
    for (struct group_head *head = group->first_head; head; head = head->next)
        heads[++n] = head;
    n = 0;
    for (struct group_call *call = group->first_call; call; call = call->next)
        calls[++n] = call;
    n = 0;
    for (struct group_run *run = group->first_run; run; run = run->next)
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

static struct rc learn(struct backend_handle *handle, struct group *group, struct err *err)
{
    RESULT_SCOPE(rows);
    struct anchor anchor = memory_anchor(handle->memory);
    struct learnt learnt = {0};
    int sent = send_lock(handle);
    send_names(handle, group, &anchor);
    TRY(postgres_flush(handle, err));
    TRY(postgres_skip(handle, sent, err));
    TRY(postgres_take(handle, &rows, err));
    TRY(postgres_end(handle, err));
    TRY(take_learnt(rows, group, &learnt, err));
    TRY(postgres_check_history(handle, &anchor, learnt.anchor.seq != 0, &learnt.anchor.hash, err));
    if (learnt.version != postgres_version_known())
        return err_set(err, ERR_OUTDATED, "the database has version %lld now, this node knows %d: install a newer nod",
                       (long long)learnt.version, postgres_version_known());
    handle->seen_seq = learnt.last.seq;
    group->first_seq = group->next_seq = learnt.last.seq + 1;
    group->hash_before = group->hash_last = learnt.last.hash;
    return RC_OK;
}

/* ---- needs, numbers, links ---- */

static bool need_holds(struct group *group, const struct need *need)
{
    switch (need->need) {
    case NEED_NONE:
        return true;
    case NEED_ABSENT:
        return call_of(group, need->session, need->call)->seqs[need->kind] == 0;
    case NEED_PRESENT:
        return call_of(group, need->session, need->call)->seqs[need->kind] != 0;
    case NEED_CHANGED_AT:
        return head_of(group, need->session)->changed_seq == need->seq;
    case NEED_RUN_AT:
        return run_of(group, need->session, need->call)->seq == need->seq;
    case NEED_LAST_AT:
        return head_of(group, need->session)->last_seq == need->seq;
    case NEED_NONE_AFTER:
        return head_of(group, need->session)->last_seq <= need->seq;
    }
    err_die(__FILE__, __LINE__, "a need of no kind");
}

/* Whether the call has an event of that kind, kept or among the first `count` of this append. */
static bool call_has(struct group *group, const struct append *append, unsigned count, enum event_kind kind)
{
    const struct event *event = &append->events[count];
    for (unsigned i = 0; i < count; i++)
        if (append->events[i].kind == kind && str_eq(append->events[i].call, event->call) &&
            str_eq(append->events[i].session, event->session))
            return true;
    return call_of(group, event->session, event->call)->seqs[kind] != 0;
}

/* A session's events may leave when they are what the event says; LEAVE counts them. */
static bool may_leave(struct group *group, const struct event *event, struct archived *ret_archived)
{
    const struct group_head *head = head_of(group, event->session);
    return archived_parse(&group->arena, event->data, ret_archived) &&
           ret_archived->first_seq == head->first_seq && ret_archived->last_seq == head->last_seq &&
           digest_eq(&ret_archived->hash, &head->hash);
}

/* Nothing is added to a session that has left, whatever is needed. */
static struct rc check_sessions(struct group *group, const struct append *append, struct err *err)
{
    for (unsigned i = 0; i < append->event_count; i++)
        if (head_of(group, append->events[i].session)->archived_seq)
            return err_set(err, ERR_GONE, "the session was archived");
    return RC_OK;
}

/* What no caller should hand over. */
static struct rc check_events(struct group *group, const struct append *append, struct err *err)
{
    for (unsigned i = 0; i < append->event_count; i++) {
        const struct event *event = &append->events[i];
        const char *wrong = NULL;
        struct archived archived;
        if (event->kind == EVENT_SESSION_ARCHIVED && !may_leave(group, event, &archived))
            return err_set(err, ERR_CONFLICT, "session %.*s is not what was archived", STR_ARG(event->session));
        if (!event_kind_of_call(event->kind))
            continue;
        if (call_has(group, append, i, event->kind))
            wrong = "has happened already";
        else if (event->kind != EVENT_TOOL_CALL && !call_has(group, append, i, EVENT_TOOL_CALL))
            wrong = "was never made";
        else if (event->kind == EVENT_TOOL_APPROVAL_RESPONSE &&
                 !call_has(group, append, i, EVENT_TOOL_APPROVAL_REQUEST))
            wrong = "was never asked";
        if (wrong)
            return err_set(err, ERR_CONFLICT, "%s of call %.*s, which %s", event_kind_name(event->kind),
                           STR_ARG(event->call), wrong);
    }
    return RC_OK;
}

static void number_event(struct group *group, struct event *event)
{
    struct group_head *head = head_of(group, event->session);
    event->seq = group->next_seq++;
    head->hash = group->hash_last = chain_next(&head->hash, event);
    if (head->first_seq == 0)
        head->first_seq = event->seq;
    CHECK(head->last_seq < event->seq);
    head->last_seq = event->seq;
    head->dirty = true;
    if (event->kind == EVENT_SESSION_CHANGED || event->kind == EVENT_SESSION_ARCHIVED)
        head->changed_seq = event->seq;
    if (event->kind == EVENT_SESSION_ARCHIVED)
        head->archived_seq = event->seq;
    if (event_kind_of_call(event->kind))
        call_of(group, event->session, event->call)->seqs[event->kind] = event->seq;
    if (event->kind == EVENT_RUN_STATUS)
        run_of(group, event->session, event->thread)->seq = event->seq;
}

/* One row of WRITE's events; the link is the head's of this moment, so this follows number_event at once. */
static void put_event(struct group *group, struct columns *events, const struct event *event)
{
    const struct group_head *head = head_of(group, event->session);
    bool of_call = event_kind_of_call(event->kind);
    struct column *c = events->columns;
    column_int(&c[0], (int64_t)event->seq);
    column_str(&c[1], event->session);
    column_str(&c[2], event->thread);
    column_int(&c[3], event->kind);
    column_int(&c[4], event->at_ms);
    column_str(&c[5], event->actor);
    if (of_call)
        column_str(&c[6], event->call);
    else
        column_null(&c[6]);
    column_str(&c[7], event->data);
    column_str(&c[8], (struct str){(const char *)head->hash.bytes, DIGEST_BYTES});
    column_int(&c[9], (int64_t)head->first_seq);
    if (of_call && event->kind != EVENT_TOOL_CALL)
        column_int(&c[10], (int64_t)call_of(group, event->session, event->call)->seqs[EVENT_TOOL_CALL]);
    else
        column_null(&c[10]);
}

static void judge_append(struct group *group, struct append *append, struct columns *events)
{
    append->refused_need = 0;
    append->err = (struct err){0};
    if (rc_bad(check_sessions(group, append, &append->err))) {
        append->outcome = APPEND_FAILED;
        return;
    }
    while (append->refused_need < append->need_count && need_holds(group, &append->needs[append->refused_need]))
        append->refused_need++;
    if (append->refused_need < append->need_count) {
        append->outcome = APPEND_REFUSED;
        return;
    }
    if (rc_bad(check_events(group, append, &append->err))) {
        append->outcome = APPEND_FAILED;
        return;
    }
    for (unsigned i = 0; i < append->event_count; i++) {
        number_event(group, &append->events[i]);
        put_event(group, events, &append->events[i]);
    }
    append->outcome = APPEND_KEPT;
    group->any_kept = true;
}

/* ---- the second round trip ---- */

static void put_heads(const struct group *group, struct columns *heads)
{
    for (const struct group_head *head = group->first_head; head; head = head->next) {
        if (!head->dirty)
            continue;
        column_str(&heads->columns[0], head->session);
        column_int(&heads->columns[1], (int64_t)head->first_seq);
        column_int(&heads->columns[2], (int64_t)head->last_seq);
        column_int(&heads->columns[3], (int64_t)head->changed_seq);
        column_str(&heads->columns[4], (struct str){(const char *)head->hash.bytes, DIGEST_BYTES});
    }
    CHECK(columns_rows(heads) > 0);
}

static void put_open(struct columns *opened, const struct append *append, const struct event *request,
                     const struct group_call *call)
{
    column_int(&opened->columns[0], (int64_t)request->seq);
    column_int(&opened->columns[1], (int64_t)call->seqs[EVENT_TOOL_CALL]);
    column_str(&opened->columns[2], request->session);
    column_str(&opened->columns[3], request->thread);
    column_str(&opened->columns[4], request->call);
    column_int(&opened->columns[5], append->deadline_ms);
}

/* What is asked and answered in one group never was open for anybody. */
static void put_opened_and_closed(struct group *group, const struct append *first, struct columns *opened,
                                  struct columns *closed)
{
    for (const struct append *append = first; append; append = append->next) {
        for (unsigned i = 0; append->outcome == APPEND_KEPT && i < append->event_count; i++) {
            const struct event *event = &append->events[i];
            if (event->kind != EVENT_TOOL_APPROVAL_REQUEST && event->kind != EVENT_TOOL_APPROVAL_RESPONSE)
                continue;
            const struct group_call *call = call_of(group, event->session, event->call);
            uint64_t request_seq = call->seqs[EVENT_TOOL_APPROVAL_REQUEST];
            bool ours = request_seq >= group->first_seq;
            if (event->kind == EVENT_TOOL_APPROVAL_RESPONSE && !ours)
                column_int(&closed->columns[0], (int64_t)request_seq);
            if (event->kind == EVENT_TOOL_APPROVAL_REQUEST && call->seqs[EVENT_TOOL_APPROVAL_RESPONSE] == 0)
                put_open(opened, append, event, call);
        }
    }
}

/* The parameters of WRITE in its order; the columns must outlive the call. */
static void send_write(struct backend_handle *handle, struct group *group, const struct append *first,
                       struct columns *events)
{
    COLUMNS_SCOPE(heads, COLUMN_TEXT, COLUMN_BIGINT, COLUMN_BIGINT, COLUMN_BIGINT, COLUMN_BYTES);
    COLUMNS_SCOPE(opened, COLUMN_BIGINT, COLUMN_BIGINT, COLUMN_TEXT, COLUMN_TEXT, COLUMN_TEXT, COLUMN_BIGINT);
    COLUMNS_SCOPE(closed, COLUMN_BIGINT);
    COLUMNS_SCOPE(assumed, COLUMN_TEXT, COLUMN_TEXT);
    struct params params = {0};
    put_heads(group, &heads);
    put_opened_and_closed(group, first, &opened, &closed);
    for (const struct group_call *call = group->first_call; call; call = call->next) {
        if (!call->assumed)
            continue;
        column_str(&assumed.columns[0], call->call);
        column_str(&assumed.columns[1], call->session);
    }
    columns_params(events, &params);
    columns_params(&heads, &params);
    columns_params(&opened, &params);
    columns_params(&closed, &params);
    params_str(&params, str_of(handle->id.text));
    params_int(&params, &group->arena, (int64_t)++handle->group_no);
    params_int(&params, &group->arena, (int64_t)group->next_seq - 1);
    params_str(&params, str_of(handle->channel));
    params_int(&params, &group->arena, (int64_t)group->first_seq - 1);
    columns_params(&assumed, &params);
    bool any = group->first_seq > 1;
    params_str(&params, (struct str){(const char *)group->hash_before.bytes, any ? DIGEST_BYTES : 0});
    params_int(&params, &group->arena, postgres_version_known());
    postgres_send(handle, SQL_WRITE, &params);
}

/* The events of sessions that leave with this group. Returns how many statements that is. */
static int send_leaves(struct backend_handle *handle, struct group *group, const struct append *first)
{
    int sent = 0;
    for (const struct append *append = first; append; append = append->next) {
        for (unsigned i = 0; append->outcome == APPEND_KEPT && i < append->event_count; i++) {
            const struct event *event = &append->events[i];
            struct archived archived;
            struct params params = {0};
            if (event->kind != EVENT_SESSION_ARCHIVED)
                continue;
            CHECK(archived_parse(&group->arena, event->data, &archived));
            params_int(&params, &group->arena, (int64_t)archived.first_seq);
            params_int(&params, &group->arena, (int64_t)event->seq);
            params_str(&params, event->session);
            params_int(&params, &group->arena, (int64_t)archived.events);
            params_int(&params, &group->arena, (int64_t)archived.calls);
            postgres_send(handle, SQL_LEAVE, &params);
            sent++;
        }
    }
    return sent;
}

static struct rc take_commit(struct backend_handle *handle, struct err *err)
{
    RESULT_SCOPE(result);
    TRY(postgres_take(handle, &result, err));
    if (strcmp(pq.PQcmdStatus(result), "COMMIT") != 0) {
        postgres_disconnect(handle);
        return err_set(err, ERR_UNAVAILABLE, "PostgreSQL rolled the group back");
    }
    return postgres_end(handle, err);
}

/* `begun`: statements that were sent before it. `*ret_held`: what WRITE depends on; else nothing was written. */
static struct rc write_group(struct backend_handle *handle, struct group *group, const struct append *first,
                             int begun, bool *ret_held, struct err *err)
{
    RESULT_SCOPE(written);
    int leaves = send_leaves(handle, group, first);
    postgres_send(handle, SQL_COMMIT, NULL);
    group->commit_sent = true;
    TRY(postgres_flush(handle, err));
    struct rc rc = postgres_skip(handle, begun, err);
    if (rc_ok(rc))
        rc = postgres_take(handle, &written, err);
    if (rc_ok(rc))
        rc = postgres_skip(handle, leaves, err);
    if (rc_bad(rc)) {
        /* The server said no before the COMMIT, or said nothing: only the latter leaves a doubt. */
        group->commit_sent = !handle->refused;
        return rc;
    }
    *ret_held = pq.PQntuples(written) == 1;
    return take_commit(handle, err);
}

static struct rc give_back(struct backend_handle *handle, struct err *err)
{
    postgres_send(handle, SQL_ROLLBACK, NULL);
    TRY(postgres_flush(handle, err));
    TRY(postgres_skip(handle, 1, err));
    return postgres_end(handle, err);
}

/* ---- groups ---- */

#define EVENTS_SCOPE(name)                                                                                        \
    COLUMNS_SCOPE(name, COLUMN_BIGINT, COLUMN_TEXT, COLUMN_TEXT, COLUMN_INT, COLUMN_BIGINT, COLUMN_TEXT, COLUMN_TEXT, \
                  COLUMN_TEXT, COLUMN_BYTES, COLUMN_BIGINT, COLUMN_BIGINT)

static void group_begin(struct group *group, struct append *first)
{
    group->end_head = &group->first_head;
    group->end_call = &group->first_call;
    group->end_run = &group->first_run;
    for (struct append *append = first; append; append = append->next)
        for (unsigned i = 0; i < append->event_count; i++)
            append->events[i].seq = 0;
    name_all(group, first);
}

/* From memory. Only what would be kept whole is tried: a refusal must be true now, not when it was remembered. */
static struct rc commit_remembered(struct backend_handle *handle, struct append *first, bool *ret_kept,
                                   bool *ret_in_doubt, struct err *err)
{
    __attribute__((cleanup(group_done))) struct group group = {0};
    EVENTS_SCOPE(events);
    group_begin(&group, first);
    if (!memory_recall(handle->memory, &group))
        return RC_OK;
    for (struct append *append = first; append; append = append->next) {
        judge_append(&group, append, &events);
        if (append->outcome != APPEND_KEPT)
            return RC_OK;
    }
    if (group.next_seq > handle->part_end)
        return RC_OK; /* a part is made under the lock, before anything is written to it */
    int begun = send_lock(handle);
    send_write(handle, &group, first, &events);
    struct rc rc = write_group(handle, &group, first, begun, ret_kept, err);
    *ret_in_doubt = rc_bad(rc) && group.commit_sent;
    if (rc_bad(rc))
        return rc;
    handle->misses = *ret_kept ? 0 : handle->misses < MISSES_MOST ? handle->misses + 1 : MISSES_MOST;
    handle->groups_to_learn = *ret_kept ? 0 : (1u << handle->misses) - 2;
    if (*ret_kept) {
        handle->seen_seq = group.first_seq - 1;
        memory_keep(handle->memory, &group);
    }
    return RC_OK;
}

static struct rc commit_learnt(struct backend_handle *handle, struct append *first, bool *ret_in_doubt,
                               struct err *err)
{
    __attribute__((cleanup(group_done))) struct group group = {0};
    EVENTS_SCOPE(events);
    bool held = true;
    group_begin(&group, first);
    TRY(learn(handle, &group, err));
    for (struct append *append = first; append; append = append->next)
        judge_append(&group, append, &events);
    struct rc rc;
    if (group.any_kept) {
        if (group.next_seq > handle->part_end)
            TRY(postgres_make_parts(handle, group.next_seq - 1, err));
        send_write(handle, &group, first, &events);
        rc = write_group(handle, &group, first, 0, &held, err);
    } else {
        rc = give_back(handle, err);
    }
    *ret_in_doubt = rc_bad(rc) && group.commit_sent;
    if (rc_bad(rc))
        return rc;
    if (!held)
        return err_set(err, ERR_CORRUPT, "somebody wrote to the store without its lock");
    memory_keep(handle->memory, &group);
    return RC_OK;
}

static struct rc commit_once(struct backend_handle *handle, struct append *first, bool *ret_in_doubt,
                             struct err *err)
{
    bool kept = false;
    *ret_in_doubt = false;
    if (handle->groups_to_learn)
        handle->groups_to_learn--;
    else
        TRY(commit_remembered(handle, first, &kept, ret_in_doubt, err));
    return kept ? RC_OK : commit_learnt(handle, first, ret_in_doubt, err);
}

/* ---- a lock that is not to be had ---- */

/* A node that was stopped, or cut off from the network, in the middle of sending a group holds the lock, and the server
 * waits for the rest of its words without end: idle_in_transaction_session_timeout does not count inside a pipeline.
 * Whoever has waited for the lock in vain ends such a connection, whose transaction is rolled back. One that works, and
 * one whose COMMIT waits for a standby, is left alone. */
static void throw_out(struct backend_handle *handle)
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

/* Connects; ends whoever holds the lock and says nothing, when it was missed. */
static struct rc connect_for_lock(struct backend_handle *handle, int64_t deadline_us, struct err *err)
{
    bool missed = handle->lock_missed;
    TRY(postgres_connect(handle, deadline_us, err));
    if (missed)
        throw_out(handle);
    return handle->conn ? RC_OK : postgres_connect(handle, deadline_us, err);
}

/* Whether our last group was kept. The lock is had only when that transaction has ended. */
static struct rc read_mark(struct backend_handle *handle, bool *ret_kept, struct err *err)
{
    RESULT_SCOPE(mark);
    struct params params = {0};
    params_str(&params, str_of(handle->id.text));
    int sent = send_lock(handle);
    postgres_send(handle, SQL_MARKED, &params);
    postgres_send(handle, SQL_ROLLBACK, NULL);
    TRY(postgres_flush(handle, err));
    TRY(postgres_skip(handle, sent, err));
    TRY(postgres_take(handle, &mark, err));
    TRY(postgres_skip(handle, 1, err));
    TRY(postgres_end(handle, err));
    *ret_kept = pq.PQntuples(mark) == 1 && (uint64_t)row_int(mark, 0, 0) == handle->group_no;
    return RC_OK;
}

static struct rc resolve(struct backend_handle *handle, bool *ret_kept, struct err *err)
{
    int64_t deadline_us = clock_steady_us() + (int64_t)RESOLVE_MS * 1000, pause_ms = 0;
    for (;;) {
        struct rc rc = connect_for_lock(handle, deadline_us, err);
        if (rc_ok(rc))
            rc = read_mark(handle, ret_kept, err);
        if (rc_ok(rc))
            return rc;
        if (!postgres_pause(&pause_ms, deadline_us)) {
            return err_set(err, ERR_UNAVAILABLE, "the database went away in the middle of a commit: "
                           "whether it was kept is not known, ask again");
        }
    }
}

/* Until when the group is tried, by the steady clock: callers wait from the moment they came, not from now. */
static int64_t deadline_of(const struct append *first)
{
    int64_t queued_us = first->queued_us ? first->queued_us : clock_steady_us();
    return queued_us + (int64_t)COMMIT_MS * 1000;
}

static bool is_hopeless(const struct backend_handle *handle, int64_t deadline_us)
{
    int64_t now_us = clock_steady_us();
    return now_us >= deadline_us && handle->failed_us && now_us - handle->failed_us < (int64_t)RECENT_MS * 1000;
}

/* Tries again while the database is away, and resolves what is in doubt. */
static struct rc commit_patiently(struct backend_handle *handle, struct append *first, struct err *err)
{
    int64_t deadline_us = deadline_of(first), pause_ms = 0;
    if (is_hopeless(handle, deadline_us))
        return err_set(err, ERR_UNAVAILABLE, "the database could not keep this in time: ask again");
    for (;;) {
        bool in_doubt = false, kept = false;
        TRY(memory_check(handle->memory, err));
        struct rc rc = connect_for_lock(handle, deadline_us, err);
        if (rc_ok(rc))
            rc = commit_once(handle, first, &in_doubt, err);
        if (rc_bad(rc)) {
            postgres_disconnect(handle);
            memory_clear(handle->memory);
        }
        if (in_doubt) {
            TRY(resolve(handle, &kept, err));
            if (kept)
                return RC_OK;
        }
        if (rc.code == ERR_UNAVAILABLE && postgres_pause(&pause_ms, deadline_us))
            continue;
        handle->failed_us = rc.code == ERR_UNAVAILABLE ? clock_steady_us() : 0;
        return rc;
    }
}

/* Room for some pages more (given back), the lock, and a COMMIT that is durable. */
struct rc postgres_probe(struct backend_handle *handle, struct err *err)
{
    struct params id = {0};
    params_str(&id, str_of(handle->id.text));
    TRY(memory_check(handle->memory, err));
    TRY(connect_for_lock(handle, 0, err));
    int sent = send_lock(handle);
    postgres_send(handle, SQL_SAVEPOINT, NULL);
    postgres_send(handle, SQL_PROBE, &id);
    postgres_send(handle, SQL_SAVEPOINT_BACK, NULL);
    postgres_send(handle, SQL_TOUCH, &id);
    postgres_send(handle, SQL_COMMIT, NULL);
    TRY(postgres_flush(handle, err));
    TRY(postgres_skip(handle, sent + 4, err));
    return take_commit(handle, err);
}

/* A value that cannot be kept. Each alone then: that one fails, the others do not notice. */
static struct rc commit_each(struct backend_handle *handle, struct append *first)
{
    for (struct append *append = first; append; append = append->next) {
        struct append *next = append->next;
        struct err err = {0};
        append->next = NULL;
        struct rc rc = commit_patiently(handle, append, &err);
        append->next = next;
        if (rc_ok(rc))
            continue;
        append->outcome = APPEND_FAILED;
        append->err = err;
        for (unsigned i = 0; i < append->event_count; i++)
            append->events[i].seq = 0;
    }
    return RC_OK;
}

struct rc postgres_commit(struct backend_handle *handle, struct append *group, struct err *err)
{
    CHECK(handle->role == BACKEND_WRITER);
    struct rc rc = commit_patiently(handle, group, err);
    return rc.code == ERR_CONFLICT ? commit_each(handle, group) : rc;
}
