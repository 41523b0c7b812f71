/* The tables, and how a database of an older version becomes one of this version.
 *
 * Nodes may start together: one migrates under an advisory lock, the others find it done. To change the
 * schema, add a step at the end of the list; never change a step that was released.
 *
 * Of a session that was archived, `calls` keeps the TOOL_CALLs: their ids stay taken.
 *
 * The uniqueness of a call's events is kept in `calls`, not in an index of `events`: so events can be
 * divided by seq, that is by time (postgres_parts.c), without a unique index over all parts.
 */
#include "store/postgres.h"

static const char *const step_1[] = {
    "CREATE TABLE meta(name text PRIMARY KEY, value bigint NOT NULL)",

    "CREATE TABLE events("
    "  seq bigint PRIMARY KEY,"
    "  chain bigint NOT NULL,"  /* the first seq of its session */
    "  call_seq bigint,"        /* seq of the call's TOOL_CALL; NULL in that event itself */
    "  at_ms bigint NOT NULL,"
    "  kind int NOT NULL,"
    "  session_id text COLLATE \"C\" NOT NULL," /* '': the installation */
    "  thread_id text COLLATE \"C\" NOT NULL,"  /* '': the session as such */
    "  actor text COLLATE \"C\" NOT NULL,"
    "  call_id text COLLATE \"C\","
    "  hash bytea NOT NULL,"
    "  data text COLLATE \"C\" NOT NULL)",
    "CREATE INDEX events_by_chain ON events(chain, seq)",
    "CREATE INDEX session_changes ON events(chain, seq) WHERE kind = 13",
    "CREATE INDEX token_changes ON events(seq) WHERE kind = 14",
    "CREATE INDEX rule_changes ON events(seq) WHERE kind = 15",
    "CREATE INDEX runs ON events(chain, thread_id, seq) WHERE kind = 12",

    /* The primary key allows at most one event of a kind per call. */
    "CREATE TABLE calls("
    "  call_id text COLLATE \"C\" NOT NULL,"
    "  session_id text COLLATE \"C\" NOT NULL,"
    "  kind int NOT NULL,"
    "  seq bigint NOT NULL,"
    "  PRIMARY KEY (call_id, session_id, kind))",

    "CREATE TABLE chains("
    "  session_id text COLLATE \"C\" PRIMARY KEY,"
    "  first_seq bigint NOT NULL,"
    "  last_seq bigint NOT NULL,"
    "  changed_seq bigint NOT NULL," /* of its last SESSION_CHANGED, 0: none */
    "  hash bytea NOT NULL) WITH (fillfactor = 50)", /* these rows are updated with every group */

    "CREATE TABLE open_approvals("
    "  request_seq bigint PRIMARY KEY,"
    "  call_seq bigint NOT NULL,"
    "  deadline_ms bigint NOT NULL,"
    "  session_id text COLLATE \"C\" NOT NULL,"
    "  thread_id text COLLATE \"C\" NOT NULL,"
    "  call_id text COLLATE \"C\" NOT NULL)",
    /* Rows come and go: what is dead must not be waded through. */
    "ALTER TABLE open_approvals SET (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0)",

    /* The last group of each node: resolves a COMMIT whose answer was lost. */
    "CREATE TABLE writers("
    "  id text COLLATE \"C\" PRIMARY KEY,"
    "  group_no bigint NOT NULL,"
    "  last_seq bigint NOT NULL,"
    "  at timestamptz NOT NULL) WITH (fillfactor = 20)",
    NULL,
};

/* Version 2: archives. */
static const char *const step_2[] = {
    "ALTER TABLE chains ADD COLUMN archived_seq bigint NOT NULL DEFAULT 0", /* of its SESSION_ARCHIVED */
    "CREATE TABLE gone(first_seq bigint PRIMARY KEY, last_seq bigint NOT NULL)", /* numbers that are in archives */
    NULL,
};

/* Parts by seq: the table as it was becomes the first of them. */
static const char *const step_3[] = {
    "ALTER TABLE events RENAME TO events_1",
    "ALTER INDEX events_pkey RENAME TO events_1_pkey",
    "ALTER INDEX events_by_chain RENAME TO events_1_by_chain",
    "ALTER INDEX session_changes RENAME TO events_1_session_changes",
    "ALTER INDEX token_changes RENAME TO events_1_token_changes",
    "ALTER INDEX rule_changes RENAME TO events_1_rule_changes",
    "ALTER INDEX runs RENAME TO events_1_runs",
    "CREATE TABLE events(LIKE events_1 INCLUDING DEFAULTS) PARTITION BY RANGE (seq)",
    "ALTER TABLE events ADD CONSTRAINT events_pkey PRIMARY KEY (seq)",
    "CREATE INDEX events_by_chain ON events(chain, seq)",
    "CREATE INDEX session_changes ON events(chain, seq) WHERE kind = 13",
    "CREATE INDEX token_changes ON events(seq) WHERE kind = 14",
    "CREATE INDEX rule_changes ON events(seq) WHERE kind = 15",
    "CREATE INDEX runs ON events(chain, thread_id, seq) WHERE kind = 12",
    "CREATE TABLE parts("
    "  name text COLLATE \"C\" PRIMARY KEY,"
    "  first_seq bigint NOT NULL,"
    "  end_seq bigint NOT NULL)",
    "INSERT INTO meta VALUES('part_seqs', 1048576)",
    "INSERT INTO parts SELECT 'events_1', 1, (coalesce(max(seq), 0) / 1048576 + 1) * 1048576 FROM events_1",
    "DO $$ BEGIN EXECUTE (SELECT format('ALTER TABLE events ATTACH PARTITION %s FOR VALUES FROM (%s) TO (%s)',"
    " name, first_seq, end_seq) FROM parts); END $$",
    NULL,
};

/* The renamed table stops nodes of an older version: they write to the old name with every group, which now fails. */
static const char *const step_4[] = {
    "ALTER TABLE writers RENAME TO nodes",
    "ALTER INDEX writers_pkey RENAME TO nodes_pkey",
    NULL,
};

/* Numbers within sessions; groups. The first row says from where on there are groups. */
static const char *const step_5[] = {
    "ALTER TABLE events ADD COLUMN no bigint",
    "ALTER TABLE chains ADD COLUMN no bigint NOT NULL DEFAULT 0", /* of its last event */
    "CREATE TABLE groups(last_seq bigint PRIMARY KEY, hash bytea NOT NULL)",
    "INSERT INTO groups SELECT coalesce(max(seq), 0), decode(repeat('00', 32), 'hex') FROM events",
    NULL,
};

static const char *const *const steps[] = {step_1, step_2, step_3, step_4, step_5};

enum { VERSION = sizeof steps / sizeof steps[0] };

bool postgres_version_is_current(int version) { return version == VERSION; }

int postgres_version_known(void) { return VERSION; }

struct rc postgres_version(struct postgres_handle *handle, int *ret_version, struct err *err)
{
    RESULT_SCOPE(table);
    RESULT_SCOPE(row);
    *ret_version = 0;
    TRY(postgres_ask(handle, "SELECT (to_regclass('meta') IS NOT NULL)::int, (to_regclass('events') IS NOT NULL)::int,"
                     " current_schema() IS NOT NULL", &table, err));
    bool meta = row_int(table, 0, 0), events = row_int(table, 0, 1);
    if (!meta && !events)
        return RC_OK;
    if (!meta || !events)
        return err_set(err, ERR_CORRUPT, "the database has tables of another program: use one of its own");
    TRY(postgres_ask(handle, "SELECT value FROM meta WHERE name = 'schema_version'", &row, err));
    int64_t version = pq.PQntuples(row) ? row_int(row, 0, 0) : 0;
    if (version <= 0)
        return err_set(err, ERR_CORRUPT, "the database does not say which version it has: restore a backup");
    if (version > VERSION)
        return err_set(err, ERR_CORRUPT, "the database has version %lld, this nod knows versions up to %d: "
                       "use a newer nod", (long long)version, (int)VERSION);
    *ret_version = (int)version;
    return RC_OK;
}

static struct rc run(struct postgres_handle *handle, const char *text, struct err *err)
{
    RESULT_SCOPE(result);
    return postgres_ask(handle, text, &result, err);
}

static struct rc apply_steps(struct postgres_handle *handle, struct err *err)
{
    int version;
    TRY(run(handle, "SELECT pg_advisory_xact_lock(1315922977, hashtext(current_schema()))", err));
    TRY(postgres_version(handle, &version, err)); /* somebody may have been faster */
    for (int i = version; i < VERSION; i++)
        for (const char *const *text = steps[i]; *text; text++)
            TRY(run(handle, *text, err));
    if (version == VERSION)
        return RC_OK;
    char text[160];
    (void)snprintf(text, sizeof text,
                   "INSERT INTO meta VALUES('schema_version', %d) ON CONFLICT (name) DO UPDATE SET value = %d",
                   (int)VERSION, (int)VERSION);
    return run(handle, text, err);
}

struct rc postgres_migrate(struct postgres_handle *handle, struct err *err)
{
    TRY(run(handle, "BEGIN", err));
    struct rc rc = apply_steps(handle, err);
    struct err ignored;
    if (rc_bad(rc)) {
        (void)run(handle, "ROLLBACK", &ignored).code;
        return rc;
    }
    return run(handle, "COMMIT", err);
}
