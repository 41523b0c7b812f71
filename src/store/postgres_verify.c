/* The whole store, read and recomputed, from one snapshot: `nod verify`. */
#include "store/postgres.h"
#include "store/verify.h"

#include "base/limits.h"
#include "io/clock.h"

enum { PIECE_EVENTS = 5000, CONNECT_MS = 5000 };

/* The settings of a connection are for small statements; those that compare whole tables need the planner's choice.
 * Asked after STAND_STILL: a SELECT takes the transaction's snapshot, and one taken before the lock may be older than
 * an exchange of a part that the lock waited for. */
static const char settings[] =
    "SELECT set_config('enable_seqscan', 'on', true), set_config('enable_hashjoin', 'on', true),"
    " set_config('enable_mergejoin', 'on', true), set_config('plan_cache_mode', 'auto', true),"
    " set_config('idle_in_transaction_session_timeout', '0', true)";

struct postgres_walk {
    struct postgres_handle *handle;
    struct verifier verifier;
};

static void walk_done(struct postgres_walk *walk)
{
    verifier_done(&walk->verifier);
    postgres_close(walk->handle);
}

/* ---- events ---- */

/* Checks all archived ranges between the last checked event and this one. */
static struct rc check_ranges(struct postgres_walk *walk, uint64_t seq, struct err *err)
{
    ARENA_SCOPE(arena);
    RESULT_SCOPE(rows);
    struct params params = {0};
    if (!verifier_wants_range(&walk->verifier, seq))
        return RC_OK;
    params_int(&params, &arena, (int64_t)walk->verifier.next_seq);
    params_int(&params, &arena, (int64_t)seq);
    postgres_send_text(walk->handle, "SELECT first_seq, last_seq FROM gone WHERE last_seq >= $1::bigint"
                       " AND first_seq < $2::bigint ORDER BY first_seq", &params);
    TRY(postgres_flush(walk->handle, err));
    TRY(postgres_take(walk->handle, &rows, err));
    TRY(postgres_end(walk->handle, err));
    for (int i = 0, count = pq.PQntuples(rows); i < count; i++)
        verifier_range(&walk->verifier, (struct seq_range){(uint64_t)row_int(rows, i, 0),
                                                           (uint64_t)row_int(rows, i, 1)});
    return RC_OK;
}

/* As in sqlite_verify.c. */
static struct rc check_event(struct postgres_walk *walk, const PGresult *rows, int row, struct err *err)
{
    struct filed_event filed = {.chain = row_int(rows, row, EVENT_COLUMN_COUNT + 1),
                                .call_seq = row_int(rows, row, EVENT_COLUMN_COUNT + 2)};
    struct digest hash, group;
    struct err wrong;
    int64_t seq = row_int(rows, row, 0);
    TRY(check_ranges(walk, (uint64_t)seq, err));
    if (rc_bad(row_event(rows, row, 0, &filed.event, &wrong))) {
        verifier_blame(&walk->verifier, seq, "%s", wrong.text);
        return RC_OK;
    }
    filed.hash = row_digest(rows, row, EVENT_COLUMN_COUNT, &hash) ? &hash : NULL;
    filed.group = row_digest(rows, row, EVENT_COLUMN_COUNT + 3, &group) ? &group : NULL;
    verifier_event(&walk->verifier, &filed);
    return RC_OK;
}

/* Up to so many events and so many bytes of them at a time. */
static struct rc check_piece(struct postgres_walk *walk, bool *ret_end, struct err *err)
{
    ARENA_SCOPE(arena);
    RESULT_SCOPE(rows);
    struct params params = {0};
    params_int(&params, &arena, (int64_t)walk->verifier.next_seq);
    params_int(&params, &arena, PIECE_EVENTS);
    params_int(&params, &arena, 8 * LIMIT_READ_BYTES);
    postgres_send_text(walk->handle,
                       "SELECT " EVENT_COLUMNS_OF("p") ", p.hash, chain, call_seq, g.hash FROM (SELECT *,"
                       " sum(octet_length(data)) OVER (ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
                       " - octet_length(data) AS before"
                       " FROM (SELECT * FROM events WHERE seq >= $1::bigint ORDER BY seq LIMIT $2::bigint) r) p"
                       " LEFT JOIN groups g ON g.last_seq = p.seq WHERE before < $3::bigint ORDER BY seq", &params);
    TRY(postgres_flush(walk->handle, err));
    TRY(postgres_take(walk->handle, &rows, err));
    TRY(postgres_end(walk->handle, err));
    int count = pq.PQntuples(rows);
    for (int i = 0; i < count && !verifier_blamed(&walk->verifier); i++)
        TRY(check_event(walk, rows, i, err));
    *ret_end = count == 0;
    return RC_OK;
}

/* ---- tables that must agree with the events ---- */

static struct rc check_heads(struct postgres_walk *walk, struct err *err)
{
    RESULT_SCOPE(rows);
    TRY(postgres_ask(walk->handle,
                     "SELECT session_id, first_seq, last_seq, changed_seq, hash, archived_seq, no FROM chains"
                     " ORDER BY first_seq", &rows, err));
    int count = pq.PQntuples(rows);
    for (int i = 0; i < count; i++) {
        struct digest hash;
        struct filed_head filed = {
            .session = row_str(rows, i, 0),
            .first_seq = (uint64_t)row_int(rows, i, 1),
            .last_seq = (uint64_t)row_int(rows, i, 2),
            .changed_seq = (uint64_t)row_int(rows, i, 3),
            .hash = row_digest(rows, i, 4, &hash) ? &hash : NULL,
            .archived_seq = (uint64_t)row_int(rows, i, 5),
            .no = (uint64_t)row_int(rows, i, 6),
        };
        verifier_head(&walk->verifier, &filed);
    }
    verifier_heads_end(&walk->verifier, (uint64_t)count);
    return RC_OK;
}

/* Checks that exactly those sessions are archived for which there are SESSION_ARCHIVED events. */
static struct rc check_counts(struct postgres_walk *walk, struct err *err)
{
    struct verifier *verifier = &walk->verifier;
    RESULT_SCOPE(row);
    TRY(postgres_ask(walk->handle,
                     "SELECT (SELECT coalesce(sum(last_seq - first_seq + 1), 0)::bigint FROM gone),"
                     " (SELECT count(*) FROM calls JOIN chains USING (session_id) WHERE archived_seq > 0)", &row, err));
    if ((uint64_t)row_int(row, 0, 0) != verifier->gone)
        verifier_blame(verifier, (int64_t)verifier->next_seq - 1,
                       "the list of what is in archives names events that are here, or never were");
    if ((uint64_t)row_int(row, 0, 1) != verifier->archived_calls)
        verifier_blame(verifier, (int64_t)verifier->next_seq - 1,
                       "%lld calls are known to be in archives, %llu were archived", (long long)row_int(row, 0, 1),
                       (unsigned long long)verifier->archived_calls);
    return RC_OK;
}

/* Reports the first seq that the query finds as bad. */
static struct rc check_none(struct postgres_walk *walk, const char *query, const char *why, struct err *err)
{
    RESULT_SCOPE(rows);
    if (verifier_blamed(&walk->verifier))
        return RC_OK;
    TRY(postgres_ask(walk->handle, query, &rows, err));
    if (pq.PQntuples(rows) > 0)
        verifier_blame(&walk->verifier, row_int(rows, 0, 0), "%s", why);
    return RC_OK;
}

/* 3 TOOL_CALL, 4 TOOL_APPROVAL_REQUEST, 5 TOOL_APPROVAL_RESPONSE. */
static const char *const agreements[][2] = {
    {"SELECT e.seq FROM events e LEFT JOIN calls c ON c.seq = e.seq AND c.call_id = e.call_id"
     "  AND c.session_id = e.session_id AND c.kind = e.kind"
     " WHERE (e.call_id IS NOT NULL) AND c.seq IS NULL LIMIT 1",
     "the event is not (or wrongly) on the list of calls"},
    {"SELECT c.seq FROM calls c LEFT JOIN events e ON e.seq = c.seq AND e.call_id = c.call_id"
     "  AND e.session_id = c.session_id AND e.kind = c.kind WHERE e.seq IS NULL AND NOT (c.kind = 3 AND EXISTS"
     "  (SELECT 1 FROM chains h WHERE h.session_id = c.session_id AND h.archived_seq > c.seq)) LIMIT 1",
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
static struct rc check_structure(struct postgres_walk *walk, struct err *err)
{
    RESULT_SCOPE(row);
    TRY(postgres_ask(walk->handle,
                     "SELECT count(*) FROM pg_index WHERE indisprimary AND indisunique AND indisvalid AND indrelid IN"
                     " ('events'::regclass, 'calls'::regclass, 'chains'::regclass, 'open_approvals'::regclass,"
                     "  'gone'::regclass, 'groups'::regclass)", &row, err));
    if (row_int(row, 0, 0) != 6)
        return err_set(err, ERR_CORRUPT, "a primary key is missing: restore a backup");
    return RC_OK;
}

static struct rc check_all(struct postgres_walk *walk, struct err *err)
{
    RESULT_SCOPE(open);
    RESULT_SCOPE(groups);
    TRY(postgres_ask(walk->handle, "SELECT min(last_seq), max(last_seq) FROM groups", &groups, err));
    if (pq.PQgetisnull(groups, 0, 0))
        return err_set(err, ERR_CORRUPT, "the list of groups is empty: restore a backup");
    verifier_groups(&walk->verifier, (uint64_t)row_int(groups, 0, 0));
    for (bool end = false; !end && !verifier_blamed(&walk->verifier);)
        TRY(check_piece(walk, &end, err));
    verifier_events_end(&walk->verifier, (uint64_t)row_int(groups, 0, 1));
    TRY(check_heads(walk, err));
    for (size_t i = 0; i < sizeof agreements / sizeof agreements[0]; i++)
        TRY(check_none(walk, agreements[i][0], agreements[i][1], err));
    TRY(check_counts(walk, err));
    TRY(postgres_ask(walk->handle, "SELECT count(*) FROM open_approvals", &open, err));
    walk->verifier.check->open = (uint64_t)row_int(open, 0, 0);
    return check_structure(walk, err);
}

/* One snapshot for the whole walk, and no limit on the time of a statement: a large store takes minutes. */
struct rc postgres_verify(const char *place, struct store_check *ret_check, struct err *err)
{
    __attribute__((cleanup(walk_done)))
    struct postgres_walk walk = {.handle = postgres_handle(place, BACKEND_CHECKPOINTER)};
    RESULT_SCOPE(set);
    RESULT_SCOPE(begun);
    RESULT_SCOPE(still);
    int version;
    verifier_init(&walk.verifier, ret_check);
    walk.handle->patient = true;
    TRY(postgres_connect(walk.handle, clock_steady_us() + (int64_t)CONNECT_MS * 1000, err));
    TRY(postgres_version(walk.handle, &version, err));
    if (version == 0)
        return RC_OK; /* nothing was ever kept here */
    if (!postgres_version_is_current(version))
        return err_set(err, ERR_CONFLICT, "the database has version %d: start nod serve once to bring it up to date",
                       version);
    TRY(postgres_ask(walk.handle, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", &begun, err));
    TRY(postgres_ask(walk.handle, STAND_STILL, &still, err));
    TRY(postgres_ask(walk.handle, settings, &set, err));
    return check_all(&walk, err);
}
