/* What the PostgreSQL files share; nobody else includes this.
 *
 * Several processes keep their events in one database. A group is one transaction that begins by taking one
 * advisory lock, which it holds until it is committed: whoever has the lock sees all that was kept before,
 * gives out the next numbers, and nobody can commit in between. So the order of seq is the order of commits.
 *
 * A connection may be lost at any moment; a handle outlives its connections. Statements go out in pipelines:
 * one round trip for what does not depend on an answer. Values travel in binary, both ways.
 */
#ifndef STORE_POSTGRES_H
#define STORE_POSTGRES_H

#include "base/buf.h"
#include "base/id.h"
#include "store/backend.h"

#include <libpq-fe.h>

/* ---- postgres_library.c: libpq is loaded when it is first needed, so that nobody else carries it ---- */
#define PQ_FUNCTIONS(X)                                                                                 \
    X(PQconnectdbParams) X(PQfinish) X(PQstatus) X(PQerrorMessage) X(PQsocket) X(PQparameterStatus)     \
    X(PQserverVersion) X(PQsetnonblocking) X(PQenterPipelineMode) X(PQpipelineSync) X(PQsendPrepare)                       \
    X(PQsendQueryPrepared) X(PQsendQueryParams) X(PQflush) X(PQconsumeInput) X(PQisBusy) X(PQgetResult) \
    X(PQresultStatus) X(PQresultErrorField) X(PQcmdStatus) X(PQntuples) X(PQgetvalue) X(PQgetlength)    \
    X(PQgetisnull) X(PQclear) X(PQnotifies) X(PQfreemem) X(PQsetNoticeReceiver)

struct pq {
#define X(name) typeof(name) *name;
    PQ_FUNCTIONS(X)
#undef X
};

extern struct pq pq;
struct rc pq_load(struct err *err);

/* ---- statements ---- */
#define EVENT_COLUMNS "seq, session_id, thread_id, kind, at_ms, actor, call_id, data"
#define EVENT_COLUMNS_OF(t)                                                                             \
    t ".seq, " t ".session_id, " t ".thread_id, " t ".kind, " t ".at_ms, " t ".actor, " t ".call_id, " t ".data"
enum { EVENT_COLUMN_COUNT = 8 };

/* As many rows as a page may have, and of those as many as it takes to have a page's bytes. */
#define PAGE(rows, bytes)                                                                               \
    "SELECT " EVENT_COLUMNS " FROM (SELECT *, sum(octet_length(data)) OVER (ORDER BY seq ROWS BETWEEN"  \
    " UNBOUNDED PRECEDING AND CURRENT ROW) - octet_length(data) AS before FROM (" rows ") r) p"         \
    " WHERE before < " bytes " ORDER BY seq"
#define CHAIN_OF(session) "(SELECT first_seq FROM chains WHERE session_id = " session ")"
/* Plans are made once, often while a table is still empty: they must not count on that. */
#define STEADY_PLANS                                                                                    \
    "set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true)," \
    " set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),"         \
    " set_config('jit', 'off', true)"

enum { FOR_WRITER = 1, FOR_READER = 2, FOR_FOLLOWER = 4, FOR_LOOKS = 6, FOR_ALL = 7 };

/* Kinds as numbers: 12 RUN_STATUS, 13 SESSION_CHANGED, 14 TOKEN_CHANGED, 15 RULE_CHANGED: a partial index
 * serves only a query that names the same constant. */
#define POSTGRES_STATEMENTS(X)                                                                          \
    X(BEGIN_WRITE, FOR_WRITER, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")                       \
    X(BEGIN_READ, FOR_ALL, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")                           \
    X(COMMIT, FOR_ALL, "COMMIT")                                                                        \
    X(ROLLBACK, FOR_ALL, "ROLLBACK")                                                                    \
    X(STEADY, FOR_ALL, "SELECT " STEADY_PLANS)                                                          \
    X(LOCK, FOR_WRITER, "SELECT " STEADY_PLANS ", set_config('lock_timeout', $1, true),"                \
      " set_config('idle_in_transaction_session_timeout', $2, true),"                                   \
      " set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'" \
      "  WHEN 'local' THEN 'on' ELSE current_setting('synchronous_commit') END, true),"                 \
      " pg_advisory_xact_lock(1315922977, 'events'::regclass::oid::int)")                               \
    X(LAST_SEQ, FOR_ALL, "SELECT coalesce(max(seq), 0) FROM events")                                    \
    X(HEADS, FOR_WRITER, "SELECT k.n, c.first_seq, c.last_seq, c.changed_seq, c.hash"                   \
      " FROM unnest($1::text[]) WITH ORDINALITY k(session_id, n) JOIN chains c USING (session_id)")     \
    X(CALLS_KNOWN, FOR_WRITER, "SELECT k.n, c.kind, c.seq FROM unnest($1::text[], $2::text[])"          \
      " WITH ORDINALITY k(call_id, session_id, n) JOIN calls c USING (call_id, session_id)")            \
    X(RUNS_KNOWN, FOR_WRITER, "SELECT k.n, (SELECT max(e.seq) FROM events e"                            \
      "  WHERE e.kind = 12 AND e.chain = c.first_seq AND e.thread_id = k.thread_id)"                    \
      " FROM unnest($1::text[], $2::text[]) WITH ORDINALITY k(session_id, thread_id, n)"                \
      " JOIN chains c USING (session_id)")                                                              \
    X(EVENTS_ADD, FOR_WRITER, "INSERT INTO events(" EVENT_COLUMNS ", hash, chain, call_seq)"            \
      " SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::int[], $5::bigint[], $6::text[]," \
      " $7::text[], $8::text[], $9::bytea[], $10::bigint[], $11::bigint[])")                            \
    X(CALLS_ADD, FOR_WRITER, "INSERT INTO calls(call_id, session_id, kind, seq)"                        \
      " SELECT * FROM unnest($1::text[], $2::text[], $3::int[], $4::bigint[])")                         \
    X(HEADS_PUT, FOR_WRITER, "INSERT INTO chains(session_id, first_seq, last_seq, changed_seq, hash)"   \
      " SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[])"        \
      " ON CONFLICT (session_id) DO UPDATE SET last_seq = EXCLUDED.last_seq,"                           \
      " changed_seq = EXCLUDED.changed_seq, hash = EXCLUDED.hash")                                      \
    X(OPEN_ADD, FOR_WRITER, "INSERT INTO open_approvals(request_seq, call_seq, session_id, thread_id,"  \
      " call_id, deadline_ms) SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[]," \
      " $5::text[], $6::bigint[])")                                                                     \
    X(OPEN_REMOVE, FOR_WRITER, "DELETE FROM open_approvals WHERE request_seq = ANY($1::bigint[])")      \
    X(MARK, FOR_WRITER, "INSERT INTO writers(id, group_no, last_seq, at) VALUES($1, $2, $3, now())"     \
      " ON CONFLICT (id) DO UPDATE SET group_no = EXCLUDED.group_no, last_seq = EXCLUDED.last_seq,"     \
      " at = EXCLUDED.at")                                                                              \
    X(MARKED, FOR_WRITER, "SELECT group_no FROM writers WHERE id = $1")                                 \
    X(NOTIFY, FOR_WRITER, "SELECT pg_notify($1, $2)")                                                   \
    X(EVENTS, FOR_ALL, PAGE("SELECT " EVENT_COLUMNS " FROM events WHERE seq > $1"                       \
      " AND ($2::bigint >> kind) & 1 = 1 ORDER BY seq LIMIT $3::bigint", "$4::bigint"))                 \
    X(EVENTS_OF_SESSION, FOR_READER, PAGE("SELECT " EVENT_COLUMNS " FROM events"                        \
      " WHERE chain = " CHAIN_OF("$5") " AND seq > $1 AND ($2::bigint >> kind) & 1 = 1"                 \
      " ORDER BY seq LIMIT $3::bigint", "$4::bigint"))                                                  \
    X(EVENTS_OF_THREAD, FOR_READER, PAGE("SELECT " EVENT_COLUMNS " FROM events"                         \
      " WHERE chain = " CHAIN_OF("$5") " AND thread_id = $6 AND seq > $1"                               \
      " AND ($2::bigint >> kind) & 1 = 1 ORDER BY seq LIMIT $3::bigint", "$4::bigint"))                 \
    X(CALL, FOR_READER, "SELECT " EVENT_COLUMNS_OF("e") " FROM calls c JOIN events e ON e.seq = c.seq"  \
      " WHERE c.call_id = $1 AND ($2 = '' OR c.session_id = $2) ORDER BY e.seq")                        \
    X(OPEN, FOR_READER, "SELECT " EVENT_COLUMNS_OF("c") ", " EVENT_COLUMNS_OF("r") ", o.deadline_ms"    \
      " FROM open_approvals o LEFT JOIN events c ON c.seq = o.call_seq"                                 \
      " LEFT JOIN events r ON r.seq = o.request_seq WHERE o.request_seq > $1"                           \
      " AND ($3 = '' OR o.session_id = $3) AND ($4 = '' OR o.thread_id = $4)"                           \
      " ORDER BY o.request_seq LIMIT $2::bigint")                                                       \
    X(SESSIONS, FOR_READER, "SELECT " EVENT_COLUMNS_OF("e") ", s.last_seq FROM (SELECT first_seq, last_seq" \
      " FROM chains WHERE last_seq < $1 AND changed_seq > 0 ORDER BY last_seq DESC LIMIT $2::bigint) s" \
      " JOIN events e ON e.chain = s.first_seq AND e.kind = 13 ORDER BY s.last_seq DESC, e.seq")        \
    X(SESSION_CHANGES, FOR_READER, "SELECT " EVENT_COLUMNS " FROM events"                               \
      " WHERE chain = " CHAIN_OF("$1") " AND kind = 13 ORDER BY seq")                                   \
    X(RUNS, FOR_READER, PAGE("SELECT " EVENT_COLUMNS " FROM events WHERE seq > $1 AND seq IN"           \
      " (SELECT max(seq) FROM events WHERE kind = 12 GROUP BY chain, thread_id)", "$2::bigint"))        \
    X(TOKEN_CHANGES, FOR_READER, "SELECT " EVENT_COLUMNS " FROM events WHERE kind = 14 ORDER BY seq")   \
    X(RULE_CHANGES, FOR_READER, "SELECT " EVENT_COLUMNS " FROM events WHERE kind = 15 ORDER BY seq")

enum sql {
#define X(name, roles, text) SQL_##name,
    POSTGRES_STATEMENTS(X)
#undef X
    SQL_COUNT
};

enum { PARAMS_MAX = 12, CHANNEL_BYTES = 40 };

struct backend_handle {
    enum backend_role role;
    char *url;
    PGconn *conn;           /* NULL: there is none at the moment */
    bool migrated;          /* by this handle, or not its business */
    char channel[CHANNEL_BYTES];

    /* The writer's. */
    struct id id;           /* of this handle, in `writers` */
    uint64_t group_no;      /* of the group that was last sent */
    uint64_t seen_seq;      /* the last seq that was kept before our last group */
};

/* ---- postgres.c: connections, and talking over them ---- */
/* Parameters of one statement, in binary. What they refer to must stay until it is sent. */
struct params {
    const char *values[PARAMS_MAX];
    int lengths[PARAMS_MAX];
    int count;
};

void params_str(struct params *params, struct str value);
/* The number's bytes live in the arena. */
void params_int(struct params *params, struct arena *arena, int64_t value);

/* Connects, if there is no connection; tries again until `deadline_us` of the steady clock. */
struct rc postgres_connect(struct backend_handle *handle, int64_t deadline_us, struct err *err);
void postgres_disconnect(struct backend_handle *handle);
/* Waits a little longer each time (*pause_ms), no longer than the deadline. False: it has passed. */
bool postgres_pause(int64_t *pause_ms, int64_t deadline_us);
/* Puts a statement into the pipeline. A failure to send shows at postgres_flush. */
void postgres_send(struct backend_handle *handle, enum sql sql, const struct params *params);
/* The same for text that is not kept prepared. */
void postgres_send_text(struct backend_handle *handle, const char *text, const struct params *params);
/* Ends the pipeline and sees it sent. */
struct rc postgres_flush(struct backend_handle *handle, struct err *err);
/* The answer to the next statement of the pipeline; the caller clears it. A connection on which anything
 * failed is closed: what was under way on it is rolled back, and the next one begins clean. Codes: ERR_UNAVAILABLE when the same
 * again may go well, ERR_CONFLICT when a value could not be kept, else ERR_IO or ERR_CORRUPT. */
struct rc postgres_take(struct backend_handle *handle, PGresult **ret_result, struct err *err);
/* The same for `count` statements whose answers do not matter. */
struct rc postgres_skip(struct backend_handle *handle, int count, struct err *err);
/* The end of the pipeline, after all answers. */
struct rc postgres_end(struct backend_handle *handle, struct err *err);
/* One statement by itself. */
struct rc postgres_ask(struct backend_handle *handle, const char *text, PGresult **ret_result, struct err *err);

void postgres_clear(PGresult **result);
#define RESULT_SCOPE(name) __attribute__((cleanup(postgres_clear))) PGresult *name = NULL

/* ---- postgres_row.c ---- */
int64_t row_int(const PGresult *result, int row, int column);
struct str row_str(const PGresult *result, int row, int column);
bool row_digest(const PGresult *result, int row, int column, struct digest *ret_digest);
/* EVENT_COLUMNS from `column` on: a view that lives as long as the result. */
struct rc row_event(const PGresult *result, int row, int column, struct event *ret_event, struct err *err);

/* ---- postgres_schema.c ---- */
/* Creates the tables or brings them up to this version, one process at a time. */
struct rc postgres_migrate(struct backend_handle *handle, struct err *err);
/* Which version is there, 0: none; refuses one that is newer than this program. */
struct rc postgres_version(struct backend_handle *handle, int *ret_version, struct err *err);
bool postgres_version_is_current(int version);

/* ---- postgres_write.c, postgres_read.c, postgres_verify.c ---- */
struct rc postgres_commit(struct backend_handle *handle, struct append *group, struct err *err);
struct rc postgres_read(struct backend_handle *handle, struct read *read, struct err *err);
struct rc postgres_verify(const char *place, struct store_check *ret_check, struct err *err);
/* A handle for a url, not connected. */
struct backend_handle *postgres_handle(const char *place, enum backend_role role);
void postgres_close(struct backend_handle *handle);

#endif
