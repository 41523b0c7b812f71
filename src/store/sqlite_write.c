/* A group: needs looked up, events inserted, heads written, one COMMIT.
 *
 * Nothing else writes between BEGIN IMMEDIATE and COMMIT, so needs are checked first and nothing has to be
 * undone for an append that is refused. A head is written once per group however many events it got.
 * When anything fails the whole group is rolled back and everything known in memory is forgotten; the next
 * group begins with what the database says.
 */
#include "store/sqlite.h"

#include <sqlite3.h>

static void forget(struct backend_handle *handle)
{
    handle->known = false;
    heads_clear(&handle->heads);
}

/* ---- heads ---- */

static struct rc load_head(struct backend_handle *handle, struct head *head, struct err *err)
{
    bool row;
    sqlite_bind_str(handle, SQL_HEAD, 1, head_session(head));
    TRY(sqlite_step(handle, SQL_HEAD, &row, err));
    if (!row)
        return RC_OK;
    sqlite3_stmt *statement = handle->statements[SQL_HEAD];
    bool whole = sqlite_digest(statement, 3, &head->hash);
    head->first_seq = (uint64_t)sqlite3_column_int64(statement, 0);
    head->last_seq = (uint64_t)sqlite3_column_int64(statement, 1);
    head->changed_seq = (uint64_t)sqlite3_column_int64(statement, 2);
    head->archived_seq = (uint64_t)sqlite3_column_int64(statement, 4);
    head->stored = true;
    sqlite_reset(handle, SQL_HEAD);
    if (!whole)
        return err_set(err, ERR_CORRUPT, "the chain of session %.*s has no proper head",
                       STR_ARG(head_session(head)));
    return RC_OK;
}

static struct rc find_head(struct backend_handle *handle, struct str session, struct head **ret_head,
                           struct err *err)
{
    struct head *head = heads_get(&handle->heads, session);
    if (!head) {
        head = heads_add(&handle->heads, session);
        TRY(load_head(handle, head, err)); /* a failure forgets it with all others */
    }
    *ret_head = head;
    return RC_OK;
}

static struct rc write_heads(struct backend_handle *handle, struct err *err)
{
    for (struct head *head = handle->heads.dirty; head; head = head->next_dirty) {
        enum sql sql = head->stored ? SQL_HEAD_CHANGE : SQL_HEAD_ADD;
        sqlite_bind_int(handle, sql, 1, (int64_t)head->first_seq);
        sqlite_bind_int(handle, sql, 2, (int64_t)head->last_seq);
        sqlite_bind_int(handle, sql, 3, (int64_t)head->changed_seq);
        sqlite_bind_blob(handle, sql, 4, &head->hash);
        if (sql == SQL_HEAD_ADD)
            sqlite_bind_str(handle, sql, 5, head_session(head));
        else
            sqlite_bind_int(handle, sql, 5, (int64_t)head->archived_seq);
        TRY(sqlite_run(handle, sql, err));
        if (sqlite3_changes(handle->db) != 1)
            return err_set(err, ERR_CORRUPT, "the chain of session %.*s has lost its head",
                           STR_ARG(head_session(head)));
    }
    return RC_OK;
}

/* ---- calls ---- */

static void remember_call(struct backend_handle *handle, struct str session, struct str call, uint64_t seq)
{
    handle->call = (struct call_found){.session = session, .call = call, .seq = seq, .looked = true};
}

/* The seq of a statement's only row, 0 when it has none. */
static struct rc find_seq(struct backend_handle *handle, enum sql sql, uint64_t *ret_seq, struct err *err)
{
    bool row;
    TRY(sqlite_step(handle, sql, &row, err));
    *ret_seq = row ? (uint64_t)sqlite3_column_int64(handle->statements[sql], 0) : 0;
    if (row)
        sqlite_reset(handle, sql);
    return RC_OK;
}

/* The TOOL_CALL itself. An append is about one call as a rule, so what was found is kept in mind. */
static struct rc find_call(struct backend_handle *handle, struct str session, struct str call,
                           uint64_t *ret_seq, struct err *err)
{
    const struct call_found *found = &handle->call;
    if (!found->looked || !str_eq(found->call, call) || !str_eq(found->session, session)) {
        uint64_t seq;
        sqlite_bind_str(handle, SQL_FIND_CALL, 1, call);
        sqlite_bind_str(handle, SQL_FIND_CALL, 2, session);
        TRY(find_seq(handle, SQL_FIND_CALL, &seq, err));
        remember_call(handle, session, call, seq);
    }
    *ret_seq = found->seq;
    return RC_OK;
}

/* The event of that kind. */
static struct rc find_of_call(struct backend_handle *handle, struct str session, struct str call,
                              enum event_kind kind, uint64_t *ret_seq, struct err *err)
{
    uint64_t call_seq;
    TRY(find_call(handle, session, call, &call_seq, err));
    *ret_seq = call_seq;
    if (call_seq == 0 || kind == EVENT_TOOL_CALL)
        return RC_OK;
    sqlite_bind_int(handle, SQL_FIND_OF_CALL, 1, (int64_t)call_seq);
    sqlite_bind_int(handle, SQL_FIND_OF_CALL, 2, kind);
    return find_seq(handle, SQL_FIND_OF_CALL, ret_seq, err);
}

/* ---- needs ---- */

static struct rc need_holds(struct backend_handle *handle, const struct need *need, bool *ret_holds,
                            struct err *err)
{
    struct head *head;
    uint64_t seq;
    switch (need->need) {
    case NEED_NONE:
        *ret_holds = true;
        return RC_OK;
    case NEED_ABSENT:
    case NEED_PRESENT:
        TRY(find_of_call(handle, need->session, need->call, need->kind, &seq, err));
        *ret_holds = (seq != 0) == (need->need == NEED_PRESENT);
        return RC_OK;
    case NEED_CHANGED_AT:
        TRY(find_head(handle, need->session, &head, err));
        *ret_holds = head->changed_seq == need->seq;
        return RC_OK;
    case NEED_RUN_AT:
        TRY(find_head(handle, need->session, &head, err));
        sqlite_bind_int(handle, SQL_RUN_AT, 1, (int64_t)head->first_seq);
        sqlite_bind_str(handle, SQL_RUN_AT, 2, need->call);
        TRY(find_seq(handle, SQL_RUN_AT, &seq, err));
        *ret_holds = seq == need->seq;
        return RC_OK;
    case NEED_LAST_AT:
        TRY(find_head(handle, need->session, &head, err));
        *ret_holds = head->last_seq == need->seq;
        return RC_OK;
    case NEED_NONE_AFTER:
        TRY(find_head(handle, need->session, &head, err));
        *ret_holds = head->last_seq <= need->seq;
        return RC_OK;
    }
    err_die(__FILE__, __LINE__, "a need of no kind");
}

/* The need that inserting the first event checks by itself: that the call was not made before. The unique
 * index finds out, and nothing of the append has been written by then. Saves a look-up of a random page
 * for each new call. `need_count` when there is none. */
static unsigned need_met_by_insert(const struct append *append)
{
    const struct event *first = &append->events[0];
    unsigned i = 0;
    if (first->kind != EVENT_TOOL_CALL)
        return append->need_count;
    while (i < append->need_count) {
        const struct need *need = &append->needs[i];
        if (need->need == NEED_ABSENT && need->kind == EVENT_TOOL_CALL && str_eq(need->call, first->call) &&
            str_eq(need->session, first->session))
            break;
        i++;
    }
    return i;
}

/* The first need that does not hold, `need_count` when all do; the one that the insert checks is only
 * looked up when another does not hold. */
static struct rc find_broken_need(struct backend_handle *handle, const struct append *append,
                                  unsigned by_insert, unsigned *ret_broken, struct err *err)
{
    bool holds;
    *ret_broken = append->need_count;
    for (unsigned i = 0; i < append->need_count; i++) {
        if (i == by_insert)
            continue;
        TRY(need_holds(handle, &append->needs[i], &holds, err));
        if (holds)
            continue;
        *ret_broken = i;
        if (by_insert < i) {
            TRY(need_holds(handle, &append->needs[by_insert], &holds, err));
            if (!holds)
                *ret_broken = by_insert;
        }
        return RC_OK;
    }
    return RC_OK;
}

/* ---- events ---- */

static struct rc bind_call(struct backend_handle *handle, const struct event *event, struct err *err)
{
    sqlite3_stmt *statement = handle->statements[SQL_EVENT_ADD];
    uint64_t call_seq = 0;
    if (event_kind_of_call(event->kind) && event->kind != EVENT_TOOL_CALL) {
        TRY(find_call(handle, event->session, event->call, &call_seq, err));
        if (call_seq == 0)
            return err_set(err, ERR_CONFLICT, "%s of call %.*s, which was never made",
                           event_kind_name(event->kind), STR_ARG(event->call));
    }
    if (str_empty(event->call))
        CHECK(sqlite3_bind_null(statement, 7) == SQLITE_OK);
    else
        sqlite_bind_str(handle, SQL_EVENT_ADD, 7, event->call);
    if (call_seq == 0)
        CHECK(sqlite3_bind_null(statement, 11) == SQLITE_OK);
    else
        sqlite_bind_int(handle, SQL_EVENT_ADD, 11, (int64_t)call_seq);
    return RC_OK;
}

static void advance_head(struct backend_handle *handle, struct head *head, const struct event *event,
                         const struct digest *hash)
{
    heads_touch(&handle->heads, head);
    if (head->first_seq == 0)
        head->first_seq = event->seq;
    CHECK(head->last_seq < event->seq);
    head->last_seq = event->seq;
    if (event->kind == EVENT_SESSION_CHANGED || event->kind == EVENT_SESSION_ARCHIVED)
        head->changed_seq = event->seq;
    if (event->kind == EVENT_SESSION_ARCHIVED)
        head->archived_seq = event->seq;
    head->hash = *hash;
}

static struct rc insert_event(struct backend_handle *handle, struct event *event, struct err *err)
{
    struct head *head;
    TRY(find_head(handle, event->session, &head, err));
    CHECK(head->archived_seq == 0);
    if (event->kind == EVENT_SESSION_ARCHIVED)
        TRY(sqlite_leave(handle, head, event, err));
    TRY(bind_call(handle, event, err));
    event->seq = handle->next_seq;
    struct digest hash = chain_next(&head->hash, event);
    sqlite_bind_int(handle, SQL_EVENT_ADD, 1, (int64_t)event->seq);
    sqlite_bind_str(handle, SQL_EVENT_ADD, 2, event->session);
    sqlite_bind_str(handle, SQL_EVENT_ADD, 3, event->thread);
    sqlite_bind_int(handle, SQL_EVENT_ADD, 4, event->kind);
    sqlite_bind_int(handle, SQL_EVENT_ADD, 5, event->at_ms);
    sqlite_bind_str(handle, SQL_EVENT_ADD, 6, event->actor);
    sqlite_bind_str(handle, SQL_EVENT_ADD, 8, event->data);
    sqlite_bind_blob(handle, SQL_EVENT_ADD, 9, &hash);
    sqlite_bind_int(handle, SQL_EVENT_ADD, 10, (int64_t)(head->first_seq ? head->first_seq : event->seq));
    TRY(sqlite_run(handle, SQL_EVENT_ADD, err));
    handle->next_seq++;
    advance_head(handle, head, event, &hash);
    if (event->kind == EVENT_TOOL_CALL)
        remember_call(handle, event->session, event->call, event->seq);
    return RC_OK;
}

static struct rc open_approval(struct backend_handle *handle, const struct append *append,
                               const struct event *request, struct err *err)
{
    uint64_t call_seq;
    TRY(find_call(handle, request->session, request->call, &call_seq, err));
    CHECK(call_seq != 0);
    sqlite_bind_int(handle, SQL_OPEN_ADD, 1, (int64_t)request->seq);
    sqlite_bind_int(handle, SQL_OPEN_ADD, 2, (int64_t)call_seq);
    sqlite_bind_str(handle, SQL_OPEN_ADD, 3, request->session);
    sqlite_bind_str(handle, SQL_OPEN_ADD, 4, request->thread);
    sqlite_bind_str(handle, SQL_OPEN_ADD, 5, request->call);
    sqlite_bind_int(handle, SQL_OPEN_ADD, 6, append->deadline_ms);
    return sqlite_run(handle, SQL_OPEN_ADD, err);
}

static struct rc close_approval(struct backend_handle *handle, const struct event *response, struct err *err)
{
    uint64_t request_seq;
    TRY(find_of_call(handle, response->session, response->call, EVENT_TOOL_APPROVAL_REQUEST, &request_seq,
                     err));
    sqlite_bind_int(handle, SQL_OPEN_REMOVE, 1, (int64_t)request_seq);
    TRY(sqlite_run(handle, SQL_OPEN_REMOVE, err));
    if (sqlite3_changes(handle->db) != 1)
        return err_set(err, ERR_CONFLICT, "call %.*s is answered but not on the list of open approvals",
                       STR_ARG(response->call));
    return RC_OK;
}

static struct rc add_event(struct backend_handle *handle, const struct append *append, struct event *event,
                           struct err *err)
{
    TRY(insert_event(handle, event, err));
    if (event->kind == EVENT_TOOL_APPROVAL_REQUEST)
        return open_approval(handle, append, event, err);
    if (event->kind == EVENT_TOOL_APPROVAL_RESPONSE)
        return close_approval(handle, event, err);
    return RC_OK;
}

/* Nothing is added to a session that has left, whatever is needed. */
static struct rc find_archived(struct backend_handle *handle, struct append *append, bool *ret_archived,
                               struct err *err)
{
    struct head *head;
    *ret_archived = false;
    for (unsigned i = 0; i < append->event_count && !*ret_archived; i++) {
        TRY(find_head(handle, append->events[i].session, &head, err));
        *ret_archived = head->archived_seq != 0;
    }
    return RC_OK;
}

/* ERR_CONFLICT: this append is at fault, not the store. */
static struct rc apply_append(struct backend_handle *handle, struct append *append, struct err *err)
{
    unsigned by_insert = need_met_by_insert(append);
    handle->call = (struct call_found){0};
    bool archived;
    TRY(find_archived(handle, append, &archived, err));
    if (archived) {
        append->outcome = APPEND_FAILED;
        (void)err_set(&append->err, ERR_GONE, "the session was archived");
        return RC_OK;
    }
    append->outcome = APPEND_REFUSED;
    TRY(find_broken_need(handle, append, by_insert, &append->refused_need, err));
    if (append->refused_need < append->need_count)
        return RC_OK;
    for (unsigned i = 0; i < append->event_count; i++) {
        struct rc rc = add_event(handle, append, &append->events[i], err);
        if (i == 0 && by_insert < append->need_count && rc.code == ERR_CONFLICT &&
            sqlite3_extended_errcode(handle->db) == SQLITE_CONSTRAINT_UNIQUE) {
            append->refused_need = by_insert;
            append->events[0].seq = 0;
            return RC_OK;
        }
        TRY(rc);
    }
    append->outcome = APPEND_KEPT;
    return RC_OK;
}

/* ---- groups ---- */

/* Somebody who edits the database by hand while we run must not be overwritten by what we remember. */
static struct rc notice_others(struct backend_handle *handle, struct err *err)
{
    bool row;
    TRY(sqlite_step(handle, SQL_DATA_VERSION, &row, err));
    CHECK(row);
    int64_t version = sqlite3_column_int64(handle->statements[SQL_DATA_VERSION], 0);
    sqlite_reset(handle, SQL_DATA_VERSION);
    if (version != handle->data_version)
        forget(handle);
    handle->data_version = version;
    return RC_OK;
}

/* What the database says when we know nothing. Somebody who took events away or put some in has broken the
 * order that followers have seen: nothing can be kept behind that. */
static struct rc learn(struct backend_handle *handle, struct err *err)
{
    uint64_t last_seq;
    TRY(find_seq(handle, SQL_LAST_SEQ, &last_seq, err));
    if (last_seq != handle->committed_seq)
        return err_set(err, ERR_CORRUPT, "%s: somebody else has changed the events: see `nod verify`",
                       handle->path);
    handle->next_seq = last_seq + 1;
    handle->known = true;
    return RC_OK;
}

static struct rc apply_group(struct backend_handle *handle, struct append *group, struct err *err)
{
    TRY(notice_others(handle, err));
    if (!handle->known)
        TRY(learn(handle, err));
    for (struct append *append = group; append; append = append->next)
        TRY(apply_append(handle, append, err));
    TRY(write_heads(handle, err));
    return sqlite_run(handle, SQL_COMMIT, err);
}

static struct rc commit_once(struct backend_handle *handle, struct append *group, struct err *err)
{
    TRY(sqlite_check_place(handle, err));
    TRY(sqlite_run(handle, SQL_BEGIN_WRITE, err));
    struct rc rc = apply_group(handle, group, err);
    if (rc_ok(rc)) {
        heads_written(&handle->heads);
        handle->committed_seq = handle->next_seq - 1;
        return RC_OK;
    }
    /* Some errors have rolled back by themselves already. */
    if (!sqlite3_get_autocommit(handle->db)) {
        struct err ignored;
        (void)sqlite_run(handle, SQL_ROLLBACK, &ignored).code;
    }
    forget(handle);
    return rc;
}

/* One append of the group is at fault. Each alone then: the faulty one fails, the others do not notice. */
static struct rc commit_each(struct backend_handle *handle, struct append *group)
{
    struct err err = {0};
    for (struct append *append = group; append; append = append->next) {
        struct append *next = append->next;
        append->next = NULL;
        struct rc rc = commit_once(handle, append, &err);
        append->next = next;
        if (rc_bad(rc)) {
            append->outcome = APPEND_FAILED;
            append->err = err;
            for (unsigned i = 0; i < append->event_count; i++)
                append->events[i].seq = 0;
        }
    }
    return RC_OK;
}

struct rc sqlite_commit(struct backend_handle *handle, struct append *group, struct err *err)
{
    struct rc rc = commit_once(handle, group, err);
    return rc.code == ERR_CONFLICT ? commit_each(handle, group) : rc;
}
