/* What the SQLite files share; nobody else includes this.
 *
 * WAL, synchronous=FULL: a COMMIT that returned SQLITE_OK survives power loss. One connection writes, the
 * readers each have a snapshot, one more runs checkpoints. Every return code is looked at.
 */
#ifndef STORE_SQLITE_H
#define STORE_SQLITE_H

#include "store/backend.h"
#include "store/heads.h"

struct sqlite3;
struct sqlite3_stmt;

#define EVENT_COLUMNS "seq, session_id, thread_id, kind, at_ms, actor, call_id, data"
enum { EVENT_COLUMN_COUNT = 8 };

enum { FOR_WRITER = 1, FOR_READER = 2, FOR_BOTH = 3 };

/* The events of a session are indexed by block, that is, by the time they came, and then by session: so the
 * index grows at its end, whichever sessions are active, and a group dirties few of its pages. To read a
 * session, its blocks are looked at one after the other. */
#define BLOCK_OF_SEQ "seq >> 12"
enum { BLOCK_SHIFT = 12 };

/* The statements a handle keeps prepared. Kinds stand in some of them as numbers, because a partial index
 * is only used for a query that names the same constant: 3 TOOL_CALL, 12 RUN_STATUS, 13 SESSION_CHANGED,
 * 14 TOKEN_CHANGED, 15 RULE_CHANGED. */
#define CHAIN_OF(session) "(SELECT first_seq FROM chains WHERE session_id = " session ")"
#define SQLITE_STATEMENTS(X)                                                                            \
    X(BEGIN_WRITE, FOR_WRITER, "BEGIN IMMEDIATE")                                                       \
    X(BEGIN_READ, FOR_READER, "BEGIN")                                                                  \
    X(COMMIT, FOR_BOTH, "COMMIT")                                                                       \
    X(ROLLBACK, FOR_BOTH, "ROLLBACK")                                                                   \
    X(DATA_VERSION, FOR_WRITER, "PRAGMA data_version")                                                  \
    X(LAST_SEQ, FOR_BOTH, "SELECT coalesce(max(seq), 0) FROM events")                                   \
    X(HEAD, FOR_BOTH, "SELECT first_seq, last_seq, changed_seq, hash FROM chains WHERE session_id = ?1") \
    X(HEAD_ADD, FOR_WRITER, "INSERT INTO chains(first_seq, session_id, last_seq, changed_seq, hash)"    \
      " VALUES(?1, ?5, ?2, ?3, ?4)")                                                                    \
    X(HEAD_CHANGE, FOR_WRITER, "UPDATE chains SET last_seq = ?2, changed_seq = ?3, hash = ?4"           \
      " WHERE first_seq = ?1")                                                                          \
    X(EVENT_ADD, FOR_WRITER, "INSERT INTO events(" EVENT_COLUMNS ", hash, chain, call_seq)"             \
      " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)")                                          \
    X(FIND_CALL, FOR_WRITER, "SELECT seq FROM events WHERE call_id = ?1 AND session_id = ?2 AND kind = 3") \
    X(FIND_OF_CALL, FOR_WRITER, "SELECT seq FROM events WHERE call_seq = ?1 AND kind = ?2")             \
    X(RUN_AT, FOR_WRITER, "SELECT max(seq) FROM events WHERE chain = ?1 AND thread_id = ?2 AND kind = 12") \
    X(OPEN_ADD, FOR_WRITER, "INSERT INTO open_approvals(request_seq, call_seq, session_id, thread_id,"  \
      " call_id, deadline_ms) VALUES(?1, ?2, ?3, ?4, ?5, ?6)")                                          \
    X(OPEN_REMOVE, FOR_WRITER, "DELETE FROM open_approvals WHERE request_seq = ?1")                     \
    X(EVENTS, FOR_READER, "SELECT " EVENT_COLUMNS " FROM events"                                        \
      " WHERE seq > ?1 AND (?2 >> kind) & 1 ORDER BY seq LIMIT ?3")                                     \
    X(EVENTS_OF_SESSION, FOR_READER, "SELECT " EVENT_COLUMNS " FROM events"                             \
      " WHERE " BLOCK_OF_SEQ " = ?4 AND chain = ?5 AND seq > ?1 AND (?2 >> kind) & 1"                   \
      " ORDER BY seq LIMIT ?3")                                                                         \
    X(EVENTS_OF_THREAD, FOR_READER, "SELECT " EVENT_COLUMNS " FROM events"                              \
      " WHERE " BLOCK_OF_SEQ " = ?4 AND chain = ?5 AND seq > ?1 AND (?2 >> kind) & 1 AND thread_id = ?6" \
      " ORDER BY seq LIMIT ?3")                                                                         \
    X(EVENT, FOR_READER, "SELECT " EVENT_COLUMNS " FROM events WHERE seq = ?1")                         \
    X(CALLS, FOR_READER, "SELECT " EVENT_COLUMNS " FROM events WHERE call_id = ?1 AND kind = 3"         \
      " UNION ALL SELECT " EVENT_COLUMNS " FROM events"                                                 \
      " WHERE call_seq IN (SELECT seq FROM events WHERE call_id = ?1 AND kind = 3) ORDER BY seq")       \
    X(CALL_OF_SESSION, FOR_READER, "SELECT " EVENT_COLUMNS " FROM events"                               \
      " WHERE call_id = ?1 AND session_id = ?2 AND kind = 3"                                            \
      " UNION ALL SELECT " EVENT_COLUMNS " FROM events WHERE call_seq ="                                \
      " (SELECT seq FROM events WHERE call_id = ?1 AND session_id = ?2 AND kind = 3) ORDER BY seq")     \
    X(OPEN, FOR_READER, "SELECT call_seq, request_seq, deadline_ms FROM open_approvals"                 \
      " WHERE request_seq > ?1 ORDER BY request_seq LIMIT ?2")                                          \
    X(OPEN_OF_SESSION, FOR_READER, "SELECT call_seq, request_seq, deadline_ms FROM open_approvals"      \
      " WHERE session_id = ?3 AND request_seq > ?1 ORDER BY request_seq LIMIT ?2")                      \
    X(OPEN_OF_THREAD, FOR_READER, "SELECT call_seq, request_seq, deadline_ms FROM open_approvals"       \
      " WHERE session_id = ?3 AND thread_id = ?4 AND request_seq > ?1 ORDER BY request_seq LIMIT ?2")   \
    X(SESSIONS, FOR_READER, "SELECT session_id, last_seq FROM chains"                                   \
      " WHERE last_seq < ?1 AND changed_seq > 0 ORDER BY last_seq DESC LIMIT ?2")                       \
    X(SESSION_CHANGES, FOR_READER, "SELECT " EVENT_COLUMNS " FROM events"                               \
      " WHERE chain = " CHAIN_OF("?1") " AND kind = 13 ORDER BY seq")                                   \
    X(RUNS, FOR_READER, "SELECT " EVENT_COLUMNS " FROM events WHERE seq > ?1 AND seq IN"                \
      " (SELECT max(seq) FROM events WHERE kind = 12 GROUP BY chain, thread_id) ORDER BY seq")          \
    X(TOKEN_CHANGES, FOR_READER, "SELECT " EVENT_COLUMNS " FROM events WHERE kind = 14 ORDER BY seq")   \
    X(RULE_CHANGES, FOR_READER, "SELECT " EVENT_COLUMNS " FROM events WHERE kind = 15 ORDER BY seq")

enum sql {
#define X(name, roles, text) SQL_##name,
    SQLITE_STATEMENTS(X)
#undef X
    SQL_COUNT
};

/* Where the call is that an append is about. */
struct call_found {
    struct str session;
    struct str call;
    uint64_t seq; /* of its TOOL_CALL, 0: there is none */
    bool looked;
};

struct backend_handle {
    struct sqlite3 *db;
    struct sqlite3_stmt *statements[SQL_COUNT]; /* NULL: not of this role */
    char *path;
    enum backend_role role;

    /* The writer's. What is known here is forgotten when a group fails or somebody else has written. */
    int lock_fd;
    bool known;             /* next_seq and heads are true */
    uint64_t next_seq;
    uint64_t committed_seq; /* the last that was kept */
    int64_t data_version;
    struct heads heads;
    struct call_found call; /* of the append at hand */
    unsigned wal_frames;    /* since the log was last begun anew */
    unsigned tidy_at_frames;
    unsigned stop_at_frames;
};

/* ---- sqlite.c ---- */
/* Words and code for what SQLite returned while `doing`. */
struct rc sqlite_fail(struct sqlite3 *db, int code, const char *doing, struct err *err);
/* One step of a kept statement; it is reset when it has no more rows or fails. */
struct rc sqlite_step(struct backend_handle *handle, enum sql sql, bool *ret_row, struct err *err);
/* A statement without rows. */
struct rc sqlite_run(struct backend_handle *handle, enum sql sql, struct err *err);
void sqlite_reset(struct backend_handle *handle, enum sql sql);
void sqlite_bind_int(struct backend_handle *handle, enum sql sql, int at, int64_t value);
/* The bytes must stay until the statement is reset. */
void sqlite_bind_str(struct backend_handle *handle, enum sql sql, int at, struct str value);
void sqlite_bind_blob(struct backend_handle *handle, enum sql sql, int at, const struct digest *value);
struct rc sqlite_exec(struct sqlite3 *db, const char *text, struct err *err);
/* The first column of the first row as a number, 0 when there is none. */
struct rc sqlite_number(struct sqlite3 *db, const char *text, int64_t *ret_value, struct err *err);
struct rc sqlite_prepare(struct sqlite3 *db, const char *text, struct sqlite3_stmt **ret_statement,
                         struct err *err);
void sqlite_finalize(struct sqlite3_stmt **statement);
#define STATEMENT_SCOPE(name) __attribute__((cleanup(sqlite_finalize))) struct sqlite3_stmt *name = NULL

/* ---- sqlite_log.c ---- */
/* The name of our layer over the log, registered with SQLite. */
const char *sqlite_log_layer(void);

/* ---- sqlite_row.c: one row of EVENT_COLUMNS ---- */
/* Views that live until the next step. */
struct str sqlite_str(struct sqlite3_stmt *statement, int column);
struct rc sqlite_event(struct sqlite3_stmt *statement, struct event *ret_event, struct err *err);
/* False when the column holds no hash. */
bool sqlite_digest(struct sqlite3_stmt *statement, int column, struct digest *ret_digest);

/* ---- sqlite_schema.c ---- */
/* Refuses what is not a nod database. */
struct rc sqlite_schema_recognise(struct sqlite3 *db, const char *path, struct err *err);
/* 0 when it is empty; refuses one that is newer than this program. */
struct rc sqlite_schema_version(struct sqlite3 *db, const char *path, int *ret_version, struct err *err);
bool sqlite_schema_is_current(int version);
/* Creates the tables or brings them up to this version. */
struct rc sqlite_schema_migrate(struct sqlite3 *db, const char *path, struct err *err);
/* Every table and index is there, as this version makes it. */
struct rc sqlite_schema_compare(struct sqlite3 *db, const char *path, struct err *err);
/* Cheap enough for every start: the last links of the chains. */
struct rc sqlite_schema_check_end(struct sqlite3 *db, const char *path, struct err *err);

/* ---- sqlite_write.c, sqlite_read.c, sqlite_verify.c ---- */
struct rc sqlite_commit(struct backend_handle *handle, struct append *group, struct err *err);
struct rc sqlite_read(struct backend_handle *handle, struct read *read, struct err *err);
struct rc sqlite_verify(const char *place, struct store_check *ret_check, struct err *err);

#endif
