/* The tables, and how a database of an older version becomes one of this version.
 *
 * `meta` keeps its shape for ever: it is what an older program reads to see that it is too old. To change
 * the schema, add a step at the end of the list; never change a step that was released. The version in `meta` also says
 * which kinds of events there may be (version.h): a new kind needs no step.
 */
#include "store/sqlite.h"
#include "store/version.h"

#include <sqlite3.h>
#include <stdio.h>

enum { APPLICATION_ID = 0x4e6f6421 }; /* "Nod!" */
enum { LINKS_CHECKED = 16, BLOCKS_CHECKED = 64 };

/* Fills the tables of step 6 at once. */
#define FILL_LATE \
    "INSERT INTO session_events(block, chain, seq) SELECT " BLOCK_OF_SEQ ", chain, seq FROM events ORDER BY 1, 2, 3;" \
    "INSERT INTO call_ids SELECT call_id, chain, seq FROM events WHERE kind = 3 ORDER BY 1, 2;" \
    "INSERT INTO call_events SELECT call_seq, kind, seq FROM events WHERE call_seq IS NOT NULL ORDER BY 1, 2;" \
    "INSERT OR REPLACE INTO meta SELECT 'indexed', coalesce(max(seq), 0) FROM events;"

/* Calls whose answer is not in the tables yet. */
#define LATE_ANSWERED \
    "SELECT call_seq FROM events WHERE seq > " INDEXED_SEQ " AND kind = 5 AND call_seq IS NOT NULL"

/* No step has changed the views since they were made. */
#define VIEW_HEADS \
    "CREATE VIEW heads AS" \
    "  SELECT first_seq, session_id, coalesce(late.seq, c.last_seq) AS last_seq, changed_seq, archived_seq," \
    "    coalesce(late.hash, c.hash) AS hash, coalesce(late.no, c.no) AS no" \
    "  FROM chains c LEFT JOIN (SELECT chain, max(seq) AS seq, hash, no FROM events" \
    "    WHERE seq > " INDEXED_SEQ " GROUP BY chain) late ON late.chain = c.first_seq;"
#define VIEW_OPEN_NOW \
    "CREATE VIEW open_now AS" \
    "  SELECT request_seq, call_seq, session_id, thread_id, call_id, deadline_ms FROM open_approvals" \
    "  WHERE call_seq NOT IN (" LATE_ANSWERED ")" \
    "  UNION ALL SELECT seq, call_seq, session_id, thread_id, call_id, 0 FROM events" \
    "  WHERE seq > " INDEXED_SEQ " AND kind = 4 AND seq NOT IN (SELECT request_seq FROM open_approvals)" \
    "    AND call_seq NOT IN (" LATE_ANSWERED ");"

static const char *const steps[] = {
    /* 1 */
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;"

    "CREATE TABLE events("
    "  seq INTEGER PRIMARY KEY,"
    "  chain INTEGER NOT NULL,"   /* the first seq of its session */
    "  call_seq INTEGER,"         /* of the TOOL_CALL that this is about; NULL in that one itself */
    "  session_id TEXT NOT NULL," /* '': the installation */
    "  thread_id TEXT NOT NULL,"  /* '': of the session, not of one of its threads */
    "  kind INTEGER NOT NULL,"
    "  at_ms INTEGER NOT NULL,"
    "  actor TEXT NOT NULL,"
    "  call_id TEXT,"
    "  data TEXT NOT NULL,"
    "  hash BLOB NOT NULL"
    ") STRICT;"
    "CREATE INDEX events_by_chain ON events(" BLOCK_OF_SEQ ", chain);" /* an index ends with the seq */
    "CREATE UNIQUE INDEX calls ON events(call_id, session_id) WHERE kind = 3;"
    "CREATE UNIQUE INDEX events_by_call ON events(call_seq, kind) WHERE call_seq IS NOT NULL;"
    "CREATE INDEX session_changes ON events(chain) WHERE kind = 13;"
    "CREATE INDEX token_changes ON events(kind) WHERE kind = 14;"
    "CREATE INDEX rule_changes ON events(kind) WHERE kind = 15;"

    "CREATE TABLE chains("
    "  first_seq INTEGER PRIMARY KEY,"
    "  session_id TEXT NOT NULL UNIQUE,"
    "  last_seq INTEGER NOT NULL,"
    "  changed_seq INTEGER NOT NULL," /* of its last SESSION_CHANGED, 0: none */
    "  hash BLOB NOT NULL"
    ") STRICT;"

    "CREATE TABLE open_approvals("
    "  request_seq INTEGER PRIMARY KEY,"
    "  call_seq INTEGER NOT NULL,"
    "  session_id TEXT NOT NULL,"
    "  thread_id TEXT NOT NULL,"
    "  call_id TEXT NOT NULL,"
    "  deadline_ms INTEGER NOT NULL"
    ") STRICT;",
    /* 2: runs */
    "CREATE INDEX runs ON events(chain, thread_id) WHERE kind = 12;",
    /* 3: archives */
    "ALTER TABLE chains ADD COLUMN archived_seq INTEGER NOT NULL DEFAULT 0;" /* of its SESSION_ARCHIVED */
    "CREATE TABLE gone(first_seq INTEGER PRIMARY KEY, last_seq INTEGER NOT NULL) STRICT;" /* into archives */
    "CREATE TABLE archived_calls("
    "  call_id TEXT NOT NULL,"
    "  chain INTEGER NOT NULL,"
    "  PRIMARY KEY(call_id, chain)"
    ") STRICT, WITHOUT ROWID;",
    /* 4: numbers within sessions; groups. The first row of groups holds the last seq that is in no group. */
    "ALTER TABLE events ADD COLUMN no INTEGER;"
    "ALTER TABLE chains ADD COLUMN no INTEGER NOT NULL DEFAULT 0;" /* of its last event */
    "CREATE TABLE groups(last_seq INTEGER PRIMARY KEY, hash BLOB NOT NULL) STRICT;"
    "INSERT INTO groups SELECT coalesce(max(seq), 0), zeroblob(32) FROM events;",
    /* 5: one index instead of four, because each costs an insertion of any event something */
    "DROP INDEX session_changes; DROP INDEX token_changes; DROP INDEX rule_changes; DROP INDEX runs;"
    "CREATE INDEX rare ON events(kind, chain, thread_id) WHERE kind BETWEEN 12 AND 15;",
    /* 6: tables instead of indexes, which are filled late (sqlite_late.c) */
    "CREATE TABLE session_events("
    "  block INTEGER NOT NULL,"
    "  chain INTEGER NOT NULL,"
    "  seq INTEGER NOT NULL,"
    "  PRIMARY KEY(block, chain, seq)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE TABLE call_ids("
    "  call_id TEXT NOT NULL,"
    "  chain INTEGER NOT NULL,"
    "  seq INTEGER NOT NULL," /* of the TOOL_CALL */
    "  PRIMARY KEY(call_id, chain)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE TABLE call_events("
    "  call_seq INTEGER NOT NULL,"
    "  kind INTEGER NOT NULL,"
    "  seq INTEGER NOT NULL,"
    "  PRIMARY KEY(call_seq, kind)"
    ") STRICT, WITHOUT ROWID;"
    FILL_LATE
    "DROP INDEX events_by_chain; DROP INDEX calls; DROP INDEX events_by_call;"
    VIEW_HEADS,
    /* 7: open_approvals is filled late, too: the list as the events after `indexed` change it */
    VIEW_OPEN_NOW,
    /* 8: groups is filled late, too. The tables stay as they are, but a program before this would take a store with
     * events after the last group for one to which something was added. */
    "",
    /* 9: a row of session_events may stand for several events that follow each other directly */
    "ALTER TABLE session_events ADD COLUMN more INTEGER NOT NULL DEFAULT 0;", /* after the one with its seq */
};

/* The tables that all steps leave of an empty database, to the letter (u_store_sqlite compares them): a new store needs
 * no more than this. */
static const char today[] =
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
    "CREATE TABLE events("
    "  seq INTEGER PRIMARY KEY,"
    "  chain INTEGER NOT NULL,"
    "  call_seq INTEGER,"
    "  session_id TEXT NOT NULL,"
    "  thread_id TEXT NOT NULL,"
    "  kind INTEGER NOT NULL,"
    "  at_ms INTEGER NOT NULL,"
    "  actor TEXT NOT NULL,"
    "  call_id TEXT,"
    "  data TEXT NOT NULL,"
    "  hash BLOB NOT NULL, no INTEGER"
    ") STRICT;"
    "CREATE INDEX rare ON events(kind, chain, thread_id) WHERE kind BETWEEN 12 AND 15;"
    "CREATE TABLE chains("
    "  first_seq INTEGER PRIMARY KEY,"
    "  session_id TEXT NOT NULL UNIQUE,"
    "  last_seq INTEGER NOT NULL,"
    "  changed_seq INTEGER NOT NULL,"
    "  hash BLOB NOT NULL, archived_seq INTEGER NOT NULL DEFAULT 0, no INTEGER NOT NULL DEFAULT 0"
    ") STRICT;"
    "CREATE TABLE open_approvals("
    "  request_seq INTEGER PRIMARY KEY,"
    "  call_seq INTEGER NOT NULL,"
    "  session_id TEXT NOT NULL,"
    "  thread_id TEXT NOT NULL,"
    "  call_id TEXT NOT NULL,"
    "  deadline_ms INTEGER NOT NULL"
    ") STRICT;"
    "CREATE TABLE gone(first_seq INTEGER PRIMARY KEY, last_seq INTEGER NOT NULL) STRICT;"
    "CREATE TABLE archived_calls("
    "  call_id TEXT NOT NULL,"
    "  chain INTEGER NOT NULL,"
    "  PRIMARY KEY(call_id, chain)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE TABLE groups(last_seq INTEGER PRIMARY KEY, hash BLOB NOT NULL) STRICT;"
    "CREATE TABLE session_events("
    "  block INTEGER NOT NULL,"
    "  chain INTEGER NOT NULL,"
    "  seq INTEGER NOT NULL, more INTEGER NOT NULL DEFAULT 0,"
    "  PRIMARY KEY(block, chain, seq)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE TABLE call_ids("
    "  call_id TEXT NOT NULL,"
    "  chain INTEGER NOT NULL,"
    "  seq INTEGER NOT NULL,"
    "  PRIMARY KEY(call_id, chain)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE TABLE call_events("
    "  call_seq INTEGER NOT NULL,"
    "  kind INTEGER NOT NULL,"
    "  seq INTEGER NOT NULL,"
    "  PRIMARY KEY(call_seq, kind)"
    ") STRICT, WITHOUT ROWID;"
    VIEW_HEADS VIEW_OPEN_NOW
    "INSERT INTO groups VALUES(0, zeroblob(32));"
    "INSERT INTO meta VALUES('indexed', 0);";

enum { VERSION = sizeof steps / sizeof steps[0], VERSION_ARCHIVES = 3, VERSION_NUMBERS = 4, VERSION_OPEN_LATE = 7,
       VERSION_RUNS = 9 };

struct rc sqlite_schema_recognise(struct sqlite3 *db, const char *path, struct err *err)
{
    int64_t id, tables;
    TRY(sqlite_number(db, "PRAGMA application_id", &id, err));
    TRY(sqlite_number(db, "SELECT count(*) FROM sqlite_schema", &tables, err));
    if (id == APPLICATION_ID || (id == 0 && tables == 0))
        return RC_OK;
    return err_set(err, ERR_CORRUPT,
                   "%s is a database of another program: move it away or choose another folder", path);
}

/* The number that `meta` has; 0: an empty file. */
static struct rc read_number(struct sqlite3 *db, const char *path, int64_t *ret_number, struct version *ret_version,
                             struct err *err)
{
    int64_t tables;
    *ret_number = 0;
    *ret_version = (struct version){0};
    TRY(sqlite_number(db, "SELECT count(*) FROM sqlite_schema", &tables, err));
    if (tables == 0)
        return RC_OK;
    TRY(sqlite_number(db, "SELECT value FROM meta WHERE name = 'schema_version'", ret_number, err));
    return version_check(path, *ret_number, version_of_steps(VERSION), ret_version, err);
}

struct rc sqlite_schema_version(struct sqlite3 *db, const char *path, int *ret_version, struct err *err)
{
    int64_t number;
    struct version version;
    TRY(read_number(db, path, &number, &version, err));
    *ret_version = (int)version.steps;
    return RC_OK;
}

int sqlite_schema_known(void) { return VERSION; }

struct rc sqlite_schema_step(struct sqlite3 *db, int64_t from, int64_t to, struct err *err)
{
    for (int64_t i = from; i < to; i++)
        TRY(sqlite_exec(db, steps[i], err));
    return RC_OK;
}

/* The tables of this version, and its number. */
static struct rc apply_steps(struct sqlite3 *db, int64_t version, struct err *err)
{
    char text[160];
    if (version == 0)
        TRY(sqlite_exec(db, today, err));
    else
        TRY(sqlite_schema_step(db, version, VERSION, err));
    (void)snprintf(text, sizeof text,
                   "PRAGMA application_id = %d;"
                   "INSERT OR REPLACE INTO meta VALUES('schema_version', %lld)", APPLICATION_ID,
                   (long long)version_number(version_of_steps(VERSION)));
    TRY(sqlite_exec(db, text, err));
    return sqlite_exec(db, "COMMIT", err);
}

struct rc sqlite_schema_fill(struct sqlite3 *db, struct err *err) { return sqlite_exec(db, FILL_LATE, err); }

/* All steps and the number in one transaction: a crash leaves the old version. There is no step to do when only the
 * kinds are fewer than this program's. */
struct rc sqlite_schema_migrate(struct sqlite3 *db, const char *path, struct err *err)
{
    int64_t number;
    struct version version;
    TRY(read_number(db, path, &number, &version, err));
    if (number == version_number(version_of_steps(VERSION)))
        return RC_OK;
    TRY(sqlite_exec(db, "BEGIN IMMEDIATE", err));
    struct rc rc = apply_steps(db, version.steps, err);
    if (rc_bad(rc) && !sqlite3_get_autocommit(db)) {
        struct rc undone = sqlite_exec(db, "ROLLBACK", NULL);
        (void)undone;
    }
    return rc;
}

/* Adds temporary views for what an archive of the older version lacks: archives are never changed. */
struct rc sqlite_schema_adapt(struct sqlite3 *db, const char *path, int version, struct err *err)
{
    if (version < VERSION_ARCHIVES)
        return err_set(err, ERR_CONFLICT, "%s has version %d: start nod serve once to bring it up to date", path,
                       version);
    if (version < VERSION_NUMBERS)
        TRY(sqlite_exec(db, "CREATE TEMP VIEW events AS SELECT *, NULL AS no FROM main.events;"
                        "CREATE TEMP VIEW chains AS SELECT *, 0 AS no FROM main.chains;"
                        "CREATE TEMP TABLE groups(last_seq INTEGER PRIMARY KEY, hash BLOB)", err));
    if (version < SQLITE_VERSION_LATE)
        TRY(sqlite_exec(db, "CREATE TEMP VIEW session_events AS"
                        "  SELECT " BLOCK_OF_SEQ " AS block, chain, seq, 0 AS more FROM main.events;"
                        "CREATE TEMP VIEW call_ids AS SELECT call_id, chain, seq FROM main.events WHERE kind = 3;"
                        "CREATE TEMP VIEW call_events AS SELECT call_seq, kind, seq FROM main.events"
                        "  WHERE call_seq IS NOT NULL;"
                        "CREATE TEMP VIEW heads AS SELECT * FROM chains", err));
    else if (version < VERSION_RUNS)
        TRY(sqlite_exec(db, "CREATE TEMP VIEW session_events AS SELECT *, 0 AS more FROM main.session_events", err));
    if (version < VERSION_OPEN_LATE)
        TRY(sqlite_exec(db, "CREATE TEMP VIEW open_now AS SELECT * FROM open_approvals", err));
    return RC_OK;
}

/* All that defines tables and indexes, as one text. */
static struct rc describe(struct sqlite3 *db, struct arena *arena, struct str *ret_text, struct err *err)
{
    STATEMENT_SCOPE(statement);
    TRY(sqlite_prepare(db,
                       "SELECT group_concat(type || ' ' || name || ' ' || coalesce(sql, ''), char(10)) FROM"
                       " (SELECT * FROM sqlite_schema WHERE name NOT LIKE 'sqlite_stat%' ORDER BY name)",
                       &statement, err));
    int code = sqlite3_step(statement);
    if (code != SQLITE_ROW)
        return sqlite_fail(db, code, sqlite3_db_filename(db, "main"), err);
    *ret_text = arena_str(arena, str_of((const char *)sqlite3_column_text(statement, 0)));
    return RC_OK;
}

static void close_database(struct sqlite3 **db) { (void)sqlite3_close(*db); }

/* SHA-256 of what `describe` says of a store of this version; u_store_sqlite tells the new one when a step is added. */
#define DESCRIPTION "d1ab74a77271e821371f4159a46c2ba7265d8f448d93c4a9dc069fdfd7fc730b"

bool sqlite_schema_is_usual(struct sqlite3 *db, char ret_digest[DIGEST_HEX_BYTES])
{
    ARENA_SCOPE(arena);
    struct str is;
    if (rc_bad(describe(db, &arena, &is, &(struct err){0})))
        return false;
    struct digest digest = digest_of(is);
    digest_hex(&digest, ret_digest);
    return strcmp(ret_digest, DESCRIPTION) == 0;
}

/* The tables are compared with those of a model in memory, so that a database somebody changed by hand is
 * refused. The model is not made when the tables are to the letter those of this version: a start has better to do. */
struct rc sqlite_schema_compare(struct sqlite3 *db, const char *path, int version, struct err *err)
{
    ARENA_SCOPE(arena);
    struct str is, should;
    char digest[DIGEST_HEX_BYTES];
    __attribute__((cleanup(close_database))) struct sqlite3 *model = NULL;
    if (version == VERSION && sqlite_schema_is_usual(db, digest))
        return RC_OK;
    int code = sqlite3_open_v2(":memory:", &model, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code != SQLITE_OK)
        return sqlite_fail(model, code, "a database in memory", err);
    TRY(sqlite_schema_step(model, 0, version, err));
    TRY(describe(model, &arena, &should, err));
    TRY(describe(db, &arena, &is, err));
    if (!str_eq(is, should))
        return err_set(err, ERR_CORRUPT,
                       "%s has other tables or indexes than it should have: restore a backup", path);
    return RC_OK;
}

/* ---- the end of the log ---- */

/* Statements for the look at the end of the store. */
struct tail {
    struct sqlite3 *db;
    const char *path;
    struct sqlite3_stmt *before; /* the link before, by block, chain and seq */
    struct sqlite3_stmt *head;
};

static void tail_done(struct tail *tail)
{
    sqlite_finalize(&tail->before);
    sqlite_finalize(&tail->head);
}

/* A hash of a statement's first row; `*ret_there` says whether there was one. */
static struct rc find_hash(struct tail *tail, struct sqlite3_stmt *statement, int column,
                           struct digest *ret_hash, bool *ret_there, struct err *err)
{
    int code = sqlite3_step(statement);
    *ret_there = code == SQLITE_ROW && sqlite_digest(statement, column, ret_hash);
    return code == SQLITE_ROW || code == SQLITE_DONE ? RC_OK : sqlite_fail(tail->db, code, tail->path, err);
}

/* The link before this event, if it is not very far back: a start must not take long. */
static struct rc find_before(struct tail *tail, int64_t chain, int64_t seq, struct digest *ret_hash,
                             bool *ret_there, struct err *err)
{
    int64_t block = seq >> BLOCK_SHIFT, last = block - BLOCKS_CHECKED;
    *ret_there = false;
    for (; block >= chain >> BLOCK_SHIFT && block > last && !*ret_there; block--) {
        (void)sqlite3_reset(tail->before);
        CHECK(sqlite3_bind_int64(tail->before, 1, block) == SQLITE_OK);
        CHECK(sqlite3_bind_int64(tail->before, 2, chain) == SQLITE_OK);
        CHECK(sqlite3_bind_int64(tail->before, 3, seq) == SQLITE_OK);
        TRY(find_hash(tail, tail->before, 0, ret_hash, ret_there, err));
    }
    return RC_OK;
}

/* One event against its predecessor and the end of its chain. */
static struct rc check_link(struct tail *tail, struct sqlite3_stmt *row, struct err *err)
{
    struct event event;
    struct digest hash, before = {0}, head_hash;
    bool there, headed;
    int64_t chain = sqlite3_column_int64(row, EVENT_COLUMN_COUNT + 1);
    TRY(sqlite_event(row, &event, err));
    bool whole = sqlite_digest(row, EVENT_COLUMN_COUNT, &hash);
    TRY(find_before(tail, chain, (int64_t)event.seq, &before, &there, err));

    (void)sqlite3_reset(tail->head);
    CHECK(sqlite3_bind_int64(tail->head, 1, chain) == SQLITE_OK);
    TRY(find_hash(tail, tail->head, 1, &head_hash, &headed, err));
    uint64_t last = headed ? (uint64_t)sqlite3_column_int64(tail->head, 0) : 0;

    struct digest link = chain_next(&before, &event);
    bool linked = whole && (digest_eq(&link, &hash) || (!there && chain < (int64_t)event.seq));
    if (linked && last >= event.seq && (last > event.seq || digest_eq(&head_hash, &hash)))
        return RC_OK;
    return err_set(err, ERR_CORRUPT,
                   "%s: event %llu is not what was written: see `nod verify`, restore a backup", tail->path,
                   (unsigned long long)event.seq);
}

/* The last group ends where the events end, and nothing later was ever listed. */
static struct rc check_groups(struct sqlite3 *db, const char *path, struct err *err)
{
    int64_t last, end, indexed;
    TRY(sqlite_number(db, "SELECT coalesce(max(seq), 0) FROM events", &last, err));
    TRY(sqlite_number(db, "SELECT coalesce(max(last_seq), -1) FROM groups", &end, err));
    TRY(sqlite_number(db, "SELECT " INDEXED_SEQ, &indexed, err));
    if (last == end && indexed <= last)
        return RC_OK;
    return err_set(err, ERR_CORRUPT, "%s ends with event %lld, but the last that was kept is %lld: see `nod verify`,"
                   " restore a backup", path, (long long)last, (long long)(end > indexed ? end : indexed));
}

/* At every start, for the last LINKS_CHECKED events: a torn or replaced end is found before anything is added
 * to it. */
struct rc sqlite_schema_check_end(struct sqlite3 *db, const char *path, struct err *err)
{
    __attribute__((cleanup(tail_done))) struct tail tail = {.db = db, .path = path};
    STATEMENT_SCOPE(rows);
    TRY(check_groups(db, path, err));
    TRY(sqlite_prepare(db, "SELECT " EVENT_COLUMNS ", hash, chain FROM events ORDER BY seq DESC LIMIT ?1",
                       &rows, err));
    TRY(sqlite_prepare(db,
                       "SELECT hash FROM events WHERE seq = (SELECT min(seq + more, ?3 - 1) FROM session_events"
                       " WHERE block = ?1 AND chain = ?2 AND seq < ?3 ORDER BY seq DESC LIMIT 1)", &tail.before, err));
    TRY(sqlite_prepare(db, "SELECT last_seq, hash FROM chains WHERE first_seq = ?1", &tail.head, err));
    CHECK(sqlite3_bind_int(rows, 1, LINKS_CHECKED) == SQLITE_OK);
    for (;;) {
        int code = sqlite3_step(rows);
        if (code == SQLITE_DONE)
            return RC_OK;
        if (code != SQLITE_ROW)
            return sqlite_fail(db, code, path, err);
        TRY(check_link(&tail, rows, err));
    }
}
