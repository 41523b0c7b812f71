/* The whole store, read and recomputed, from one snapshot: `nod verify`. */
#include "store/postgres.h"

#include "base/limits.h"
#include "base/map.h"
#include "io/clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { PIECE_EVENTS = 5000, CONNECT_MS = 5000 };

/* What the events of a session add up to. */
struct link {
    uint64_t first_seq, last_seq, changed_seq;
    struct digest hash;
};

struct verifier {
    struct backend_handle *handle;
    struct map links; /* session → struct link */
    uint64_t next_seq;
    struct store_check *check;
};

static void verifier_done(struct verifier *verifier)
{
    size_t at = 0;
    struct str session;
    void *link;
    while (map_next(&verifier->links, &at, &session, &link))
        free(link);
    map_done(&verifier->links);
    postgres_close(verifier->handle);
}

__attribute__((format(printf, 3, 4))) static void blame(struct verifier *verifier, int64_t seq,
                                                        const char *format, ...)
{
    va_list words;
    va_start(words, format);
    verifier->check->bad_seq = seq > 0 ? (uint64_t)seq : 1;
    (void)vsnprintf(verifier->check->why, sizeof verifier->check->why, format, words);
    va_end(words);
}

static bool blamed(const struct verifier *verifier) { return verifier->check->bad_seq != 0; }

/* ---- events ---- */

static struct link *find_link(struct verifier *verifier, const struct event *event)
{
    struct link *link = map_get(&verifier->links, event->session);
    if (!link) {
        link = heap_new(sizeof *link);
        link->first_seq = event->seq;
        CHECK(map_put(&verifier->links, event->session, link) == NULL);
    }
    return link;
}

static void check_event(struct verifier *verifier, const PGresult *rows, int row)
{
    struct event event;
    struct digest hash;
    struct err err;
    int64_t seq = row_int(rows, row, 0);
    if (seq != (int64_t)verifier->next_seq) {
        blame(verifier, (int64_t)verifier->next_seq, "the event is missing");
        return;
    }
    if (rc_bad(row_event(rows, row, 0, &event, &err))) {
        blame(verifier, seq, "%s", err.text);
        return;
    }
    struct link *link = find_link(verifier, &event);
    struct digest should = chain_next(&link->hash, &event);
    bool about_call = event_kind_of_call(event.kind) && event.kind != EVENT_TOOL_CALL;
    if (!row_digest(rows, row, EVENT_COLUMN_COUNT, &hash) || !digest_eq(&hash, &should)) {
        blame(verifier, seq, "the event, or one before it in its session, is not what was written");
        return;
    }
    if (row_int(rows, row, EVENT_COLUMN_COUNT + 1) != (int64_t)link->first_seq ||
        (row_int(rows, row, EVENT_COLUMN_COUNT + 2) != 0) != about_call ||
        event_kind_of_call(event.kind) == str_empty(event.call)) {
        blame(verifier, seq, "the event is filed under another session or call");
        return;
    }
    link->hash = hash;
    link->last_seq = event.seq;
    if (event.kind == EVENT_SESSION_CHANGED)
        link->changed_seq = event.seq;
    verifier->next_seq++;
    verifier->check->events++;
}

/* Up to so many events and so many bytes of them at a time. */
static struct rc check_piece(struct verifier *verifier, bool *ret_end, struct err *err)
{
    ARENA_SCOPE(arena);
    RESULT_SCOPE(rows);
    struct params params = {0};
    params_int(&params, &arena, (int64_t)verifier->next_seq);
    params_int(&params, &arena, PIECE_EVENTS);
    params_int(&params, &arena, 8 * LIMIT_READ_BYTES);
    postgres_send_text(verifier->handle,
                       "SELECT " EVENT_COLUMNS ", hash, chain, call_seq FROM (SELECT *, sum(octet_length(data)) OVER"
                       " (ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - octet_length(data) AS before"
                       " FROM (SELECT * FROM events WHERE seq >= $1::bigint ORDER BY seq LIMIT $2::bigint) r) p"
                       " WHERE before < $3::bigint ORDER BY seq", &params);
    TRY(postgres_flush(verifier->handle, err));
    TRY(postgres_take(verifier->handle, &rows, err));
    TRY(postgres_end(verifier->handle, err));
    int count = pq.PQntuples(rows);
    for (int i = 0; i < count && !blamed(verifier); i++)
        check_event(verifier, rows, i);
    *ret_end = count == 0;
    return RC_OK;
}

/* ---- what must agree with the events ---- */

static struct rc check_heads(struct verifier *verifier, struct err *err)
{
    RESULT_SCOPE(rows);
    TRY(postgres_ask(verifier->handle,
                     "SELECT session_id, first_seq, last_seq, changed_seq, hash FROM chains ORDER BY first_seq", &rows,
                     err));
    int count = pq.PQntuples(rows);
    for (int i = 0; i < count && !blamed(verifier); i++) {
        struct str session = row_str(rows, i, 0);
        int64_t last_seq = row_int(rows, i, 2);
        const struct link *link = map_get(&verifier->links, session);
        struct digest hash;
        if (!link || last_seq > (int64_t)link->last_seq)
            blame(verifier, last_seq, "the event is missing, and with it the end of the chain of its session");
        else if (row_int(rows, i, 1) != (int64_t)link->first_seq || last_seq != (int64_t)link->last_seq ||
                 row_int(rows, i, 3) != (int64_t)link->changed_seq || !row_digest(rows, i, 4, &hash) ||
                 !digest_eq(&hash, &link->hash))
            blame(verifier, (int64_t)link->last_seq, "the chain of its session does not end as it should");
        verifier->check->sessions += !str_empty(session);
    }
    if (!blamed(verifier) && (size_t)count != verifier->links.count)
        blame(verifier, (int64_t)verifier->next_seq - 1, "a chain has no head");
    return RC_OK;
}

/* The first seq that a query finds is blamed. */
static struct rc check_none(struct verifier *verifier, const char *query, const char *why, struct err *err)
{
    RESULT_SCOPE(rows);
    if (blamed(verifier))
        return RC_OK;
    TRY(postgres_ask(verifier->handle, query, &rows, err));
    if (pq.PQntuples(rows) > 0)
        blame(verifier, row_int(rows, 0, 0), "%s", why);
    return RC_OK;
}

/* 3 TOOL_CALL, 4 TOOL_APPROVAL_REQUEST, 5 TOOL_APPROVAL_RESPONSE. */
static const char *const agreements[][2] = {
    {"SELECT e.seq FROM events e LEFT JOIN calls c ON c.seq = e.seq AND c.call_id = e.call_id"
     "  AND c.session_id = e.session_id AND c.kind = e.kind"
     " WHERE (e.call_id IS NOT NULL) AND c.seq IS NULL LIMIT 1",
     "the event is not (or wrongly) on the list of calls"},
    {"SELECT c.seq FROM calls c LEFT JOIN events e ON e.seq = c.seq AND e.call_id = c.call_id"
     "  AND e.session_id = c.session_id AND e.kind = c.kind WHERE e.seq IS NULL LIMIT 1",
     "on the list of calls, but there is no such event"},
    {"SELECT e.seq FROM events e LEFT JOIN events c ON c.seq = e.call_seq"
     " WHERE e.call_seq IS NOT NULL AND (c.seq IS NULL OR c.seq > e.seq OR c.kind <> 3"
     "  OR c.call_id IS DISTINCT FROM e.call_id OR c.session_id <> e.session_id) LIMIT 1",
     "the event is about a call that was not made"},
    {"SELECT a.seq FROM calls a LEFT JOIN calls r ON r.call_id = a.call_id AND r.session_id = a.session_id"
     "  AND r.kind = 4 WHERE a.kind = 5 AND (r.seq IS NULL OR r.seq > a.seq) LIMIT 1",
     "a response to what nobody asked"},
    {"SELECT r.seq FROM calls r JOIN events e ON e.seq = r.seq LEFT JOIN open_approvals o ON o.request_seq = r.seq"
     " WHERE r.kind = 4 AND NOT EXISTS (SELECT 1 FROM calls a WHERE a.call_id = r.call_id"
     "  AND a.session_id = r.session_id AND a.kind = 5)"
     " AND (o.request_seq IS NULL OR o.call_seq <> e.call_seq OR o.session_id <> e.session_id"
     "  OR o.thread_id <> e.thread_id OR o.call_id <> e.call_id) LIMIT 1",
     "asked and not answered, but not (or wrongly) on the list of open approvals"},
    {"SELECT o.request_seq FROM open_approvals o LEFT JOIN calls r ON r.seq = o.request_seq AND r.kind = 4"
     "  AND r.call_id = o.call_id AND r.session_id = o.session_id"
     " WHERE r.seq IS NULL OR EXISTS (SELECT 1 FROM calls a WHERE a.call_id = r.call_id"
     "  AND a.session_id = r.session_id AND a.kind = 5) LIMIT 1",
     "on the list of open approvals, but not asked or answered already"},
};

/* A unique index that was dropped promises nothing. */
static struct rc check_structure(struct verifier *verifier, struct err *err)
{
    RESULT_SCOPE(row);
    TRY(postgres_ask(verifier->handle,
                     "SELECT count(*) FROM pg_index WHERE indisprimary AND indisunique AND indisvalid AND indrelid IN"
                     " ('events'::regclass, 'calls'::regclass, 'chains'::regclass, 'open_approvals'::regclass)", &row,
                     err));
    if (row_int(row, 0, 0) != 4)
        return err_set(err, ERR_CORRUPT, "a primary key is missing: restore a backup");
    return RC_OK;
}

static struct rc check_all(struct verifier *verifier, struct err *err)
{
    RESULT_SCOPE(open);
    for (bool end = false; !end && !blamed(verifier);)
        TRY(check_piece(verifier, &end, err));
    if (!blamed(verifier))
        TRY(check_heads(verifier, err));
    for (size_t i = 0; i < sizeof agreements / sizeof agreements[0]; i++)
        TRY(check_none(verifier, agreements[i][0], agreements[i][1], err));
    TRY(postgres_ask(verifier->handle, "SELECT count(*) FROM open_approvals", &open, err));
    verifier->check->open = (uint64_t)row_int(open, 0, 0);
    return check_structure(verifier, err);
}

struct rc postgres_verify(const char *place, struct store_check *ret_check, struct err *err)
{
    __attribute__((cleanup(verifier_done))) struct verifier verifier = {
        .handle = postgres_handle(place, BACKEND_KEEPER), .next_seq = 1, .check = ret_check,
    };
    RESULT_SCOPE(begun);
    int version;
    *ret_check = (struct store_check){0};
    TRY(postgres_connect(verifier.handle, clock_steady_us() + (int64_t)CONNECT_MS * 1000, err));
    TRY(postgres_version(verifier.handle, &version, err));
    if (version == 0)
        return RC_OK; /* nothing was ever kept here */
    if (!postgres_version_is_current(version))
        return err_set(err, ERR_CONFLICT, "the database has version %d: start nod serve once to bring it up to date",
                       version);
    TRY(postgres_ask(verifier.handle, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", &begun, err));
    return check_all(&verifier, err);
}
