/* The tables, and how a database of an older version becomes one of this version.
 *
 * `meta` keeps its shape for ever: it is what an older program reads to see that it is too old. To change
 * the schema, add a step at the end of the list; never change a step that was released.
 */
#include "store/sqlite.h"

#include <sqlite3.h>
#include <stdio.h>

enum { APPLICATION_ID = 0x4e6f6421, LINKS_CHECKED = 16 }; /* "Nod!" */

static const char *const steps[] = {
    /* 1 */
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;"

    "CREATE TABLE events("
    "  seq INTEGER PRIMARY KEY,"
    "  chain INTEGER NOT NULL,"   /* the first seq of its session */
    "  call_seq INTEGER,"         /* of the TOOL_CALL that this is about; NULL in that one itself */
    "  session_id TEXT NOT NULL," /* '': the installation */
    "  thread_id TEXT NOT NULL,"  /* '': the session as such */
    "  kind INTEGER NOT NULL,"
    "  at_ms INTEGER NOT NULL,"
    "  actor TEXT NOT NULL,"
    "  call_id TEXT,"
    "  data TEXT NOT NULL,"
    "  hash BLOB NOT NULL"
    ") STRICT;"
    "CREATE INDEX events_by_chain ON events(chain);" /* an index ends with the seq by itself */
    "CREATE UNIQUE INDEX calls ON events(call_id, session_id) WHERE kind = 3;"
    "CREATE UNIQUE INDEX events_by_call ON events(call_seq, kind) WHERE call_seq IS NOT NULL;"
    "CREATE INDEX session_changes ON events(chain) WHERE kind = 13;"
    "CREATE INDEX token_changes ON events(kind) WHERE kind = 14;"

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
};

enum { VERSION = sizeof steps / sizeof steps[0] };

struct rc sqlite_schema_recognise(struct sqlite3 *db, const char *path, struct err *err)
{
    int64_t id, tables;
    TRY(sqlite_number(db, "PRAGMA application_id", &id, err));
    TRY(sqlite_number(db, "SELECT count(*) FROM sqlite_schema", &tables, err));
    if (id == APPLICATION_ID || (id == 0 && tables == 0))
        return RC_OK;
    return err_set(err, ERR_CORRUPT, "%s is a database of another program: move it away or choose another folder",
                   path);
}

static struct rc read_version(struct sqlite3 *db, int64_t *ret_version, struct err *err)
{
    int64_t tables;
    *ret_version = 0;
    TRY(sqlite_number(db, "SELECT count(*) FROM sqlite_schema", &tables, err));
    if (tables == 0)
        return RC_OK;
    return sqlite_number(db, "SELECT value FROM meta WHERE name = 'schema_version'", ret_version, err);
}

static struct rc apply_steps(struct sqlite3 *db, int64_t version, struct err *err)
{
    char text[160];
    for (int64_t i = version; i < VERSION; i++)
        TRY(sqlite_exec(db, steps[i], err));
    (void)snprintf(text, sizeof text,
                   "PRAGMA application_id = %d; INSERT OR REPLACE INTO meta VALUES('schema_version', %d);"
                   " COMMIT", APPLICATION_ID, (int)VERSION);
    return sqlite_exec(db, text, err);
}

struct rc sqlite_schema_migrate(struct sqlite3 *db, const char *path, struct err *err)
{
    int64_t version;
    TRY(read_version(db, &version, err));
    if (version > VERSION)
        return err_set(err, ERR_CORRUPT,
                       "%s has version %lld, this nod knows versions up to %d: use a newer nod", path,
                       (long long)version, (int)VERSION);
    if (version == VERSION)
        return RC_OK;
    TRY(sqlite_exec(db, "BEGIN IMMEDIATE", err));
    struct rc rc = apply_steps(db, version, err);
    if (rc_bad(rc) && !sqlite3_get_autocommit(db))
        (void)sqlite_exec(db, "ROLLBACK", NULL).code;
    return rc;
}

struct rc sqlite_schema_check_end(struct sqlite3 *db, const char *path, struct err *err)
{
    (void)db; (void)path; (void)err;
    return RC_OK;
}
