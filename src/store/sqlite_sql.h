/* SQL for SQLite, prepared once per handle. Each statement has a name in an enum and the handles that use it: the
 * writer's, the readers', or both. To add one: a row here, and its use by SQL_NAME. */
#ifndef STORE_SQLITE_SQL_H
#define STORE_SQLITE_SQL_H

#define EVENT_COLUMNS "seq, session_id, thread_id, kind, at_ms, actor, call_id, data, no"
#define EVENT_COLUMNS_E "e.seq, e.session_id, e.thread_id, e.kind, e.at_ms, e.actor, e.call_id, e.data, e.no"
enum { EVENT_COLUMN_COUNT = 9, EVENT_ROW_COLUMNS = 12 };

/* FOR_ARCHIVE: the writer's, when sessions leave. It is prepared when it is first used, as all of a reader's are. */
enum { FOR_WRITER = 1, FOR_READER = 2, FOR_BOTH = 3, FOR_ARCHIVE = 4 };

/* The last event that is in the late tables (sqlite_late.c). To find the events of a session or a call, a statement
 * looks into these tables, and then at every event after this one. */
#define INDEXED_SEQ "(SELECT value FROM meta WHERE name = 'indexed')"

/* The events of a session are indexed by block, that is, by the time they came, and then by session: so the
 * index grows at its end, whichever sessions are active, and a group dirties few of its pages. To read a
 * session, its blocks are looked at one after the other. */
#define BLOCK_OF_SEQ "seq >> 12"
enum { BLOCK_SHIFT = 12 };

/* The statements a handle keeps prepared. Kinds stand in some of them as numbers, because a partial index
 * is only used for a query that has its condition word for word: 3 TOOL_CALL, 4 TOOL_APPROVAL_REQUEST,
 * 5 TOOL_APPROVAL_RESPONSE, 12 RUN_STATUS, 13 SESSION_CHANGED, 14 TOKEN_CHANGED, 15 RULE_CHANGED. */
#define OF_RARE_KIND(kind_) "kind = " kind_ " AND kind BETWEEN 12 AND 15"
/* A row of session_events stands for events of a session that follow each other directly: seq, and `more` after it. */
#define OF_SESSION "session_events s CROSS JOIN events e ON e.seq BETWEEN s.seq AND s.seq + s.more"
#define IN_BLOCK "seq IN (SELECT e.seq FROM " OF_SESSION " WHERE s.block = ?1 AND s.chain = ?2)"
#define CHAIN_OF(session) "(SELECT first_seq FROM chains WHERE session_id = " session ")"
/* A statement costs more than its row: events come several at once, and the tables that are filled late get all rows
 * from a table in memory (sqlite_feed.c). With OR FAIL a conflict ends the statement and leaves what it has done, so
 * that SQLite need not copy pages before it: the transaction is rolled back anyway. */
/* In the order that the table has: otherwise SQLite copies each value of several rows once more. */
#define EVENT_ADD_VALUES "INSERT OR FAIL INTO events(seq, chain, call_seq, session_id, thread_id, kind, at_ms, actor," \
    " call_id, data, hash, no) VALUES"
#define EVENT_ROW "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
/* A TOOL_CALL and its request: the next event of the same session, with the same texts. SQLite numbers the names in the
 * order in which they come, so these are CALL_ROWS_PARAMETERS. The rows' seq is the next one (insert_events). */
#define CALL_ROWS(n_)                                                                                   \
    "(NULL, :chain" n_ ", NULL, :session" n_ ", :thread" n_ ", 3, :at" n_ ", :actor" n_ ", :call" n_ ","     \
    " :data" n_ ", :hash" n_ ", :no" n_ "), (NULL, :chain" n_ ", :seq" n_ ", :session" n_ ", :thread" n_ ","  \
    " 4, :at" n_ ", :actor" n_ ", :call" n_ ", :shown" n_ ", :link" n_ ", :no" n_ " + 1)"
enum { CALL_ROWS_PARAMETERS = 12, CALLS_AT_ONCE = 4 };
#define SQLITE_STATEMENTS(X)                                                                            \
    X(BEGIN_WRITE, FOR_WRITER, "BEGIN IMMEDIATE")                                                       \
    X(BEGIN_READ, FOR_READER, "BEGIN")                                                                  \
    X(COMMIT, FOR_BOTH, "COMMIT")                                                                       \
    X(ROLLBACK, FOR_BOTH, "ROLLBACK")                                                                   \
    X(LAST_SEQ, FOR_BOTH, "SELECT coalesce(max(seq), 0) FROM events")                                   \
    X(LAST_GROUP, FOR_WRITER, "SELECT last_seq, hash FROM groups ORDER BY last_seq DESC LIMIT 1")       \
    X(HEAD, FOR_BOTH, "SELECT first_seq, last_seq, changed_seq, hash, archived_seq, no FROM chains"     \
      " WHERE session_id = ?1")                                                                         \
    X(HEAD_ADD, FOR_WRITER, "INSERT INTO chains(first_seq, session_id, last_seq, changed_seq, hash, no)" \
      " VALUES(?1, ?6, ?2, ?3, ?4, ?5)")                                                                \
    X(HEAD_CHANGE, FOR_WRITER, "UPDATE chains SET last_seq = ?2, changed_seq = ?3, hash = ?4, no = ?5," \
      " archived_seq = ?6 WHERE first_seq = ?1")                                                        \
    X(EVENT_ADD, FOR_WRITER, EVENT_ADD_VALUES EVENT_ROW)                                                \
    X(EVENT_ADD_2, FOR_WRITER, EVENT_ADD_VALUES EVENT_ROW ", " EVENT_ROW)                               \
    X(EVENT_ADD_CALL, FOR_WRITER, EVENT_ADD_VALUES CALL_ROWS("1"))                                      \
    X(EVENT_ADD_CALLS_2, FOR_WRITER, EVENT_ADD_VALUES CALL_ROWS("1") ", " CALL_ROWS("2"))                 \
    X(EVENT_ADD_CALLS_4, FOR_WRITER, EVENT_ADD_VALUES CALL_ROWS("1") ", " CALL_ROWS("2") ", " CALL_ROWS("3") ", " \
      CALL_ROWS("4"))                                                                                   \
    X(FIND_CALL, FOR_WRITER, "SELECT seq FROM call_ids WHERE call_id = ?1 AND chain = ?2")              \
    X(FIND_OF_CALL, FOR_WRITER, "SELECT kind, seq FROM call_events WHERE call_seq = ?1")                 \
    X(LATE_EVENTS, FOR_WRITER, "SELECT seq, chain, call_seq, kind, no, hash, session_id, thread_id, call_id," \
      " (SELECT o.seq FROM call_events o WHERE o.call_seq = e.call_seq AND o.kind = 4)"                 \
      " FROM events e WHERE seq > ?1 ORDER BY seq")                                                     \
    X(LATE_HEAD, FOR_WRITER, "UPDATE chains SET last_seq = ?2, hash = ?3, no = ?4 WHERE first_seq = ?1") \
    X(LATE_SESSION, FOR_WRITER, "INSERT OR FAIL INTO session_events(block, chain, seq, more)"           \
      " SELECT c0, c1, c2, c3 FROM temp.nod_feed")                                                           \
    X(LATE_CALL, FOR_WRITER, "INSERT OR FAIL INTO call_ids(call_id, chain, seq) SELECT c0, c1, c2 FROM temp.nod_feed") \
    X(LATE_OF_CALL, FOR_WRITER, "INSERT OR FAIL INTO call_events(call_seq, kind, seq)"                  \
      " SELECT c0, c1, c2 FROM temp.nod_feed")                                                               \
    X(LATE_OPEN, FOR_WRITER, "INSERT OR IGNORE INTO open_approvals(request_seq, call_seq, session_id,"  \
      " thread_id, call_id, deadline_ms) SELECT c0, c1, c2, c3, c4, 0 FROM temp.nod_feed")                   \
    X(LATE_GROUP, FOR_WRITER, "INSERT OR FAIL INTO groups(last_seq, hash) SELECT c0, c1 FROM temp.nod_feed") \
    X(LATE_CLOSED, FOR_WRITER, "DELETE FROM open_approvals WHERE request_seq = ?1")                     \
    X(LATE_UNTIL, FOR_WRITER, "UPDATE meta SET value = ?1 WHERE name = 'indexed'")                      \
    X(RUN_AT, FOR_WRITER, "SELECT max(seq) FROM events WHERE chain = ?1 AND thread_id = ?2"             \
      " AND " OF_RARE_KIND("12"))                                                                       \
    X(OPEN_ADD, FOR_WRITER, "INSERT INTO open_approvals(request_seq, call_seq, session_id, thread_id,"  \
      " call_id, deadline_ms) VALUES(?1, ?2, ?3, ?4, ?5, ?6)")                                          \
    X(OPEN_FIND, FOR_ARCHIVE, "SELECT request_seq FROM open_approvals WHERE session_id = ?1 LIMIT 1")   \
    X(LEAVING, FOR_ARCHIVE, "SELECT e.seq FROM " OF_SESSION " WHERE s.block = ?1 AND s.chain = ?2"      \
      " ORDER BY s.seq, e.seq")                                                                         \
    X(LEAVE_CALLS, FOR_ARCHIVE, "INSERT INTO archived_calls(call_id, chain) SELECT call_id, chain"      \
      " FROM events WHERE " IN_BLOCK " AND kind = 3")                                                   \
    X(LEAVE_OF_CALLS, FOR_ARCHIVE, "DELETE FROM call_events WHERE call_seq IN"                          \
      " (SELECT seq FROM events WHERE " IN_BLOCK " AND kind = 3)")                                      \
    X(LEAVE_IDS, FOR_ARCHIVE, "DELETE FROM call_ids WHERE chain = ?2 AND call_id IN"                    \
      " (SELECT call_id FROM events WHERE " IN_BLOCK " AND kind = 3)")                                  \
    X(LEAVE, FOR_ARCHIVE, "DELETE FROM events WHERE " IN_BLOCK)                                         \
    X(LEAVE_SESSIONS, FOR_ARCHIVE, "DELETE FROM session_events WHERE block = ?1 AND chain = ?2")        \
    X(GONE_BEFORE, FOR_ARCHIVE, "SELECT first_seq, last_seq FROM gone WHERE first_seq <= ?1"            \
      " ORDER BY first_seq DESC LIMIT 1")                                                               \
    X(GONE_PUT, FOR_ARCHIVE, "INSERT OR REPLACE INTO gone(first_seq, last_seq) VALUES(?1, ?2)")         \
    X(GONE_DROP, FOR_ARCHIVE, "DELETE FROM gone WHERE first_seq = ?1")                                  \
    X(GONE, FOR_READER, "SELECT first_seq, last_seq FROM gone WHERE first_seq <= ?2 AND last_seq > ?1"  \
      " ORDER BY first_seq")                                                                            \
    X(ARCHIVED, FOR_READER, "SELECT " EVENT_COLUMNS " FROM events"                                      \
      " WHERE seq = (SELECT archived_seq FROM chains WHERE session_id = ?1)")                           \
    X(ARCHIVED_CALL, FOR_READER, "SELECT " EVENT_COLUMNS_E " FROM archived_calls a"                     \
      " CROSS JOIN chains c ON c.first_seq = a.chain CROSS JOIN events e ON e.seq = c.archived_seq"     \
      " WHERE a.call_id = ?1 AND ?2 IN ('', e.session_id)")                                             \
    X(CHAINS, FOR_READER, "SELECT c.session_id, c.first_seq, c.last_seq, c.hash FROM heads c"           \
      " CROSS JOIN events e ON e.seq = c.last_seq WHERE c.first_seq > ?1 AND e.at_ms <= ?2 AND c.archived_seq = 0" \
      " AND c.session_id <> '' AND ?4 IN ('', c.session_id)"                                            \
      " AND c.session_id NOT IN (SELECT session_id FROM open_now) ORDER BY c.first_seq LIMIT ?3")       \
    X(EVENTS, FOR_READER, "SELECT " EVENT_COLUMNS " FROM events"                                        \
      " WHERE seq > ?1 AND (?2 >> kind) & 1 ORDER BY seq LIMIT ?3")                                     \
    X(EVENTS_OF_SESSION, FOR_READER, "SELECT " EVENT_COLUMNS_E " FROM session_events s"                 \
      " CROSS JOIN events e ON e.seq BETWEEN max(s.seq, ?1 + 1) AND s.seq + s.more"                     \
      " WHERE s.block = ?4 AND s.chain = ?5 AND s.seq >= coalesce((SELECT max(seq) FROM session_events" \
      " WHERE block = ?4 AND chain = ?5 AND seq <= ?1), 0)"                                             \
      " AND (?2 >> kind) & 1 AND ?6 IN ('', thread_id) ORDER BY s.seq, e.seq LIMIT ?3")                 \
    X(LATE_OF_SESSION, FOR_READER, "SELECT " EVENT_COLUMNS " FROM events"                               \
      " WHERE seq > " INDEXED_SEQ " AND seq > ?1 AND chain = ?5 AND (?2 >> kind) & 1"                   \
      " AND ?6 IN ('', thread_id) ORDER BY seq LIMIT ?3")                                               \
    X(EVENT, FOR_READER, "SELECT " EVENT_COLUMNS " FROM events WHERE seq = ?1")                         \
    X(CALLS, FOR_READER, "SELECT " EVENT_COLUMNS_E " FROM call_ids c"                                   \
      " CROSS JOIN events e ON e.seq = c.seq WHERE c.call_id = ?1 AND ?2 IN ('', e.session_id)"         \
      " UNION ALL SELECT " EVENT_COLUMNS_E " FROM call_ids c CROSS JOIN call_events o"                  \
      " ON o.call_seq = c.seq CROSS JOIN events e ON e.seq = o.seq"                                     \
      " WHERE c.call_id = ?1 AND ?2 IN ('', e.session_id)"                                              \
      " UNION ALL SELECT " EVENT_COLUMNS " FROM events WHERE seq > " INDEXED_SEQ                        \
      " AND seq <= ?3 AND call_id = ?1 AND ?2 IN ('', session_id)")                                     \
    X(OPEN, FOR_READER, "SELECT call_seq, request_seq, deadline_ms FROM open_now"                       \
      " WHERE request_seq > ?1 ORDER BY request_seq LIMIT ?2")                                          \
    X(OPEN_OF_SESSION, FOR_READER, "SELECT call_seq, request_seq, deadline_ms FROM open_now"            \
      " WHERE session_id = ?3 AND request_seq > ?1 ORDER BY request_seq LIMIT ?2")                      \
    X(OPEN_OF_THREAD, FOR_READER, "SELECT call_seq, request_seq, deadline_ms FROM open_now"             \
      " WHERE session_id = ?3 AND thread_id = ?4 AND request_seq > ?1 ORDER BY request_seq LIMIT ?2")   \
    X(SESSIONS, FOR_READER, "SELECT session_id, last_seq FROM heads"                                    \
      " WHERE last_seq < ?1 AND changed_seq > 0 AND archived_seq = 0 ORDER BY last_seq DESC LIMIT ?2")  \
    X(SESSION_CHANGES, FOR_READER, "SELECT " EVENT_COLUMNS " FROM events"                               \
      " WHERE chain = " CHAIN_OF("?1") " AND " OF_RARE_KIND("13") " ORDER BY seq")                      \
    X(RUNS, FOR_READER, "SELECT " EVENT_COLUMNS " FROM events WHERE seq > ?1 AND seq IN"                \
      " (SELECT max(seq) FROM events WHERE " OF_RARE_KIND("12") " GROUP BY chain, thread_id) ORDER BY seq") \
    X(TOKEN_CHANGES, FOR_READER, "SELECT " EVENT_COLUMNS " FROM events WHERE " OF_RARE_KIND("14") " ORDER BY seq") \
    X(RULE_CHANGES, FOR_READER, "SELECT " EVENT_COLUMNS " FROM events WHERE " OF_RARE_KIND("15") " ORDER BY seq")

enum sqlite_sql {
#define X(name, roles, text) SQL_##name,
    SQLITE_STATEMENTS(X)
#undef X
    SQL_COUNT
};

#endif
