/* SQL for PostgreSQL, prepared once per connection. */
#ifndef STORE_POSTGRES_SQL_H
#define STORE_POSTGRES_SQL_H

#define EVENT_COLUMNS "seq, session_id, thread_id, kind, at_ms, actor, call_id, data, no"
#define EVENT_COLUMNS_OF(t)                                                                             \
    t ".seq, " t ".session_id, " t ".thread_id, " t ".kind, " t ".at_ms, " t ".actor, " t ".call_id, "  \
    t ".data, " t ".no"
enum { EVENT_COLUMN_DATA = 7, EVENT_COLUMN_COUNT = 9 };

/* A page of events: limited by the number of rows, and by the bytes of their data. */
#define PAGE(rows, bytes) PAGE_OF(EVENT_COLUMNS, rows, bytes)
#define PAGE_OF(columns, rows, bytes)                                                                   \
    "SELECT " columns " FROM (SELECT *, sum(octet_length(data)) OVER (ORDER BY seq ROWS BETWEEN"  \
    " UNBOUNDED PRECEDING AND CURRENT ROW) - octet_length(data) AS before FROM (" rows ") r) p"         \
    " WHERE before < " bytes " ORDER BY seq"
#define CHAIN_OF(session) "(SELECT first_seq FROM chains WHERE session_id = " session ")"
/* Settings of each connection. Query plans are made once, often while a table is empty, so they must not rely on its
 * size. Waiting for the lock has a limit (then throw_out looks who holds it), the server ends a session that is silent
 * inside a transaction, and commits are durable (but the first one in keep(), which gives the lock back). */
#define SETTING(name, value, local) "set_config('" name "', '" value "', " local ")"
#define SETTINGS(local)                                                                                 \
    SETTING("plan_cache_mode", "force_generic_plan", local) ", " SETTING("jit", "off", local) ", "      \
    SETTING("enable_seqscan", "off", local) ", " SETTING("enable_hashjoin", "off", local) ", "          \
    SETTING("enable_mergejoin", "off", local) ", " SETTING("lock_timeout", "2s", local) ", "           \
    SETTING("default_transaction_isolation", "read committed", local) ", "                              \
    SETTING("default_transaction_read_only", "off", local) ", "                                         \
    SETTING("idle_in_transaction_session_timeout", "5s", local) ", "                                    \
    SYNCED(local)
#define SYNCED(local)                                                                                   \
    "set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'"  \
    " WHEN 'local' THEN 'on' ELSE current_setting('synchronous_commit') END, " local ")"
#define TAKE_LOCK "pg_advisory_xact_lock(1315922977, 'events'::regclass::oid::int)"

/* Stores that share a database lie in schemas of their own, and so do their notifications. */
#define CHANNEL "(SELECT 'nod_' || n.oid || '_' || to_hex(m.value) FROM pg_namespace n, meta m"        \
    " WHERE n.nspname = current_schema() AND m.name = 'channel')"

/* The parameters of put(): the events, heads, requests opened and answered of a group as columns; then the heads as
 * they were before it, calls that must be new, the last event that is known, where parts end, and which version writes.
 */
#define PUT_PARAMETERS                                                                                  \
    "$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22," \
    " $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33"
enum { PUT_COUNT = 33 };

/* Taken before the snapshot of a reading transaction: a partition that is replaced after the snapshot would seem empty.
 * */
#define STAND_STILL "LOCK TABLE ONLY events IN ACCESS SHARE MODE"

enum { FOR_WRITER = 1, FOR_READER = 2, FOR_FOLLOWER = 4, FOR_FOLLOWING = 5, FOR_LOOKS = 6, FOR_ALL = 7 };

/* Kinds as numbers: 12 RUN_STATUS, 13 SESSION_CHANGED, 14 TOKEN_CHANGED, 15 RULE_CHANGED: a partial index
 * serves only a query that names the same constant. */
#define POSTGRES_STATEMENTS(X)                                                                          \
    X(BEGIN_WRITE, FOR_ALL, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")                       \
    X(BEGIN_READ, FOR_ALL, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")                           \
    X(STAND_STILL, FOR_ALL, STAND_STILL)                                                                \
    X(COMMIT, FOR_ALL, "COMMIT")                                                                        \
    X(ROLLBACK, FOR_ALL, "ROLLBACK")                                                                    \
    X(SETTINGS, FOR_ALL, "SELECT " SETTINGS("true"))                                                    \
    X(UNSYNCED, FOR_WRITER, "SELECT set_config('synchronous_commit', 'off', true)")                      \
    X(SYNC, FOR_ALL, "SELECT pg_logical_emit_message(true, 'nod', '')::text")                           \
    X(TELL, FOR_WRITER, "SELECT pg_logical_emit_message(true, 'nod', '')::text,"                         \
      " pg_notify($1, $2 || ' ' || $3::bigint)")                                                        \
    X(LOCK, FOR_WRITER, "SELECT " TAKE_LOCK)                                                            \
    X(THROW_OUT, FOR_WRITER, "SELECT count(pg_terminate_backend(a.pid)) FROM pg_locks l"                \
      " JOIN pg_stat_activity a USING (pid) WHERE l.locktype = 'advisory' AND l.granted"                \
      " AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())"              \
      " AND l.classid = 1315922977 AND l.objid = 'events'::regclass::oid"                               \
      " AND a.wait_event_type = 'Client' AND a.xact_start < now() - interval '2 seconds'")              \
    X(SAVEPOINT, FOR_WRITER, "SAVEPOINT probe")                                                         \
    X(PROBE, FOR_WRITER, "INSERT INTO nodes(id, group_no, last_seq, at)"                                \
      " SELECT $1 || repeat('.', 900) || n, 0, 0, now() FROM generate_series(1, 300) n")                \
    X(SAVEPOINT_BACK, FOR_WRITER, "ROLLBACK TO SAVEPOINT probe")                                        \
    X(TOUCH, FOR_WRITER, "INSERT INTO nodes(id, group_no, last_seq, at) VALUES($1, 0, 0, now())"    \
      " ON CONFLICT (id) DO UPDATE SET at = EXCLUDED.at")                                               \
    X(LAST_SEQ, FOR_ALL, "SELECT coalesce(max(seq), 0), (SELECT hash FROM events WHERE seq = $1::bigint)," \
      " (SELECT hash FROM events ORDER BY seq DESC LIMIT 1) FROM events")                               \
    X(LEARN, FOR_WRITER, "SELECT 0, 0::bigint, coalesce(max(seq), 0), (SELECT value FROM meta"          \
      "  WHERE name = 'schema_version'), 0::bigint, (SELECT hash FROM events ORDER BY seq DESC LIMIT 1), 0::bigint," \
      "  0::bigint FROM events"                                                                         \
      " UNION ALL SELECT 1, k.n, c.first_seq, c.last_seq, c.changed_seq, c.hash, c.archived_seq, c.no"  \
      "  FROM unnest($1::text[]) WITH ORDINALITY k(session_id, n) JOIN chains c USING (session_id)"     \
      " UNION ALL SELECT 2, k.n, c.kind, c.seq, 0, NULL, 0, 0 FROM unnest($2::text[], $3::text[])"         \
      "  WITH ORDINALITY k(call_id, session_id, n) JOIN calls c USING (call_id, session_id)"            \
      " UNION ALL SELECT 3, k.n, (SELECT max(e.seq) FROM events e"                                      \
      "   WHERE e.kind = 12 AND e.chain = c.first_seq AND e.thread_id = k.thread_id), 0, 0, NULL, 0, 0" \
      "  FROM unnest($4::text[], $5::text[]) WITH ORDINALITY k(session_id, thread_id, n)"               \
      "  JOIN chains c USING (session_id)"                                                              \
      " UNION ALL SELECT 4, 0, seq, 0, 0, hash, 0, 0 FROM events WHERE seq = $6::bigint")                  \
    X(KEEP, FOR_WRITER, "CALL keep(" PUT_PARAMETERS ", $34, $35, $36, $37, NULL)")                            \
    X(KEEP_ONE, FOR_WRITER, "CALL keep_one($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16," \
      " $17, $18, $19, $20, $21, $22, $23, $24, NULL)")                                                 \
    X(WRITE, FOR_WRITER, "SELECT put(" PUT_PARAMETERS ", true)")                                        \
    X(LEAVE, FOR_WRITER, "WITH away AS (DELETE FROM events WHERE chain = $1::bigint AND seq < $2::bigint" \
      "  RETURNING seq, kind, call_id),"                                                                \
      " marks AS (DELETE FROM calls c USING away a WHERE c.call_id = a.call_id AND c.session_id = $3"   \
      "  AND c.kind = a.kind AND c.kind <> 3),"                                                         \
      " runs AS (SELECT min(seq) AS first, max(seq) AS last FROM"                                       \
      "  (SELECT seq, seq - row_number() OVER (ORDER BY seq) AS run FROM away) s GROUP BY run),"        \
      " near AS (DELETE FROM gone g USING runs r WHERE g.last_seq = r.first - 1 OR g.first_seq = r.last + 1" \
      "  RETURNING g.first_seq AS first, g.last_seq AS last),"                                          \
      " steps AS (SELECT first, last, (first IS DISTINCT FROM lag(last) OVER (ORDER BY first) + 1)::int AS step" \
      "  FROM (SELECT first, last FROM runs UNION ALL SELECT first, last FROM near) a),"                \
      " joined AS (INSERT INTO gone(first_seq, last_seq) SELECT min(first), max(last) FROM"             \
      "  (SELECT first, last, sum(step) OVER (ORDER BY first) AS island FROM steps) i GROUP BY island)," \
      " head AS (UPDATE chains SET archived_seq = $2 WHERE session_id = $3)"                            \
      " SELECT 1 / ((SELECT count(*) FROM away) = $4::bigint"                                           \
      "  AND (SELECT count(*) FROM away WHERE kind = 3) = $5::bigint"                                   \
      "  AND NOT EXISTS (SELECT 1 FROM open_approvals WHERE session_id = $3))::int")                    \
    X(GONE, FOR_ALL, "SELECT first_seq, last_seq FROM gone WHERE last_seq > $1::bigint"                 \
      " AND first_seq <= $2::bigint ORDER BY first_seq")                                                \
    X(CHAINS, FOR_READER, "SELECT c.session_id, c.first_seq, c.last_seq, c.hash FROM chains c"          \
      " JOIN events e ON e.seq = c.last_seq WHERE c.first_seq > $1::bigint AND e.at_ms <= $3::bigint"   \
      " AND c.archived_seq = 0 AND c.session_id <> '' AND ($4 = '' OR c.session_id = $4)"               \
      " AND NOT EXISTS (SELECT 1 FROM open_approvals o WHERE o.session_id = c.session_id)"              \
      " ORDER BY c.first_seq LIMIT $2::bigint")                                                         \
    X(SENT, FOR_WRITER, "SELECT seq, hash, NULL FROM (SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1) last" \
      " UNION ALL SELECT g.last_seq, g.hash, b.hash FROM groups g"                                      \
      " JOIN groups b ON b.last_seq = g.last_seq - $2::bigint WHERE g.last_seq >= $1::bigint + $2::bigint") \
    X(EVENTS, FOR_ALL, PAGE_OF(EVENT_COLUMNS ", hash, chain", "SELECT " EVENT_COLUMNS ", hash, chain"    \
      " FROM events WHERE seq > $1 AND ($2::bigint >> kind) & 1 = 1 ORDER BY seq LIMIT $3::bigint", "$4::bigint")) \
    X(FOLLOW, FOR_FOLLOWING, "SELECT seq, '', '', 0, 0::bigint, '', NULL, '', 0::bigint, hash, chain FROM events" \
      " WHERE seq = $5::bigint UNION ALL SELECT * FROM (" PAGE_OF(EVENT_COLUMNS ", hash, chain",        \
      "SELECT " EVENT_COLUMNS ", hash, chain FROM events WHERE seq > $1 AND seq <= $6::bigint"          \
      " AND ($2::bigint >> kind) & 1 = 1 ORDER BY seq LIMIT $3::bigint", "$4::bigint") ") page")        \
    X(FOLLOW_FEW, FOR_FOLLOWING, "SELECT seq, '', '', 0, 0::bigint, '', NULL, '', 0::bigint, hash, chain FROM events" \
      " WHERE seq = $2::bigint UNION ALL SELECT * FROM (SELECT seq, session_id, thread_id, kind, at_ms, actor," \
      " call_id, CASE WHEN octet_length(data) <= $4::bigint THEN data END, no, hash, chain"                       \
      " FROM events WHERE seq > $1::bigint AND seq <= $3::bigint ORDER BY seq) few")                    \
    X(PEERS, FOR_FOLLOWER, "SELECT pid FROM pg_stat_activity"                                           \
      " WHERE usesysid = (SELECT oid FROM pg_roles WHERE rolname = session_user)")                      \
    X(EVENTS_OF_SESSION, FOR_READER, PAGE("SELECT " EVENT_COLUMNS " FROM events"                        \
      " WHERE chain = " CHAIN_OF("$5") " AND seq > $1 AND ($2::bigint >> kind) & 1 = 1"                 \
      " ORDER BY seq LIMIT $3::bigint", "$4::bigint"))                                                  \
    X(EVENTS_OF_THREAD, FOR_READER, PAGE("SELECT " EVENT_COLUMNS " FROM events"                         \
      " WHERE chain = " CHAIN_OF("$5") " AND thread_id = $6 AND seq > $1"                               \
      " AND ($2::bigint >> kind) & 1 = 1 ORDER BY seq LIMIT $3::bigint", "$4::bigint"))                 \
    X(CALL, FOR_READER, "SELECT " EVENT_COLUMNS_OF("e") " FROM calls c JOIN events e ON e.seq = c.seq"  \
      " WHERE c.call_id = $1 AND ($2 = '' OR c.session_id = $2)"                                        \
      " UNION ALL SELECT " EVENT_COLUMNS_OF("e") " FROM calls c JOIN chains h USING (session_id)"       \
      "  JOIN events e ON e.seq = h.archived_seq WHERE c.call_id = $1 AND c.kind = 3"                   \
      "  AND ($2 = '' OR c.session_id = $2) ORDER BY seq")                                              \
    X(OPEN, FOR_READER, "SELECT " EVENT_COLUMNS_OF("c") ", " EVENT_COLUMNS_OF("r") ", o.deadline_ms"    \
      " FROM open_approvals o LEFT JOIN events c ON c.seq = o.call_seq"                                 \
      " LEFT JOIN events r ON r.seq = o.request_seq WHERE o.request_seq > $1"                           \
      " AND ($3 = '' OR o.session_id = $3) AND ($4 = '' OR o.thread_id = $4)"                           \
      " ORDER BY o.request_seq LIMIT $2::bigint")                                                       \
    X(SESSIONS, FOR_READER, "SELECT " EVENT_COLUMNS_OF("e") ", s.last_seq FROM (SELECT first_seq, last_seq" \
      " FROM chains WHERE last_seq < $1 AND changed_seq > 0 AND archived_seq = 0 ORDER BY last_seq DESC" \
      " LIMIT $2::bigint) s"                                                                            \
      " JOIN events e ON e.chain = s.first_seq AND e.kind = 13 ORDER BY s.last_seq DESC, e.seq")        \
    X(SESSION_CHANGES, FOR_READER, "SELECT " EVENT_COLUMNS " FROM events"                               \
      " WHERE chain = " CHAIN_OF("$1") " AND kind = 13 UNION ALL SELECT " EVENT_COLUMNS " FROM events"  \
      " WHERE seq = (SELECT archived_seq FROM chains WHERE session_id = $1) ORDER BY seq")              \
    X(RUNS, FOR_READER, PAGE("SELECT " EVENT_COLUMNS " FROM events WHERE seq > $1 AND seq IN"           \
      " (SELECT max(seq) FROM events WHERE kind = 12 GROUP BY chain, thread_id)", "$2::bigint"))        \
    X(TOKEN_CHANGES, FOR_READER, "SELECT " EVENT_COLUMNS " FROM events WHERE kind = 14 ORDER BY seq")   \
    X(RULE_CHANGES, FOR_READER, "SELECT " EVENT_COLUMNS " FROM events WHERE kind = 15 ORDER BY seq")

enum postgres_sql {
#define X(name, roles, text) SQL_##name,
    POSTGRES_STATEMENTS(X)
#undef X
    SQL_COUNT
};

#endif
