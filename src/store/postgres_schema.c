/* The tables, and how a database of an older version becomes one of this version.
 *
 * Nodes may start together: one migrates under an advisory lock, the others find it done. To change the
 * schema, add a step at the end of the list; never change a step that was released. The version in `meta` also says
 * which kinds of events there may be (version.h): a new kind needs no step.
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
    /* Its rows live shortly: vacuum often, so that reads meet few dead ones. */
    "ALTER TABLE open_approvals SET (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0)",

    /* Up to version 5 the last group of each node, to learn what became of a COMMIT whose answer was lost; since then
     * only what a probe writes (postgres_probe). Today postgres_commit.c looks for the group itself. */
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

/* A group in one statement. Both are written here once for a version, like tables: a node of another one must still be
 * able to call them, and is told by `version` that it is outdated (-1).
 *
 * put() writes the group if all that it rests on still holds, behind what others have kept meanwhile: numbers above
 * `known_seq` are the group's own, and move. Returns the last seq before the group; -1: nothing was written.
 *
 * keep() takes the lock when all its parameters have arrived, so that a node that stops while sending holds nothing.
 * Its first COMMIT gives the lock back and does not wait for the disk; the second one does. The message makes it
 * wait: the server syncs a commit only if its transaction wrote to the log before, and NOTIFY alone does not. After
 * the first one nothing fails for want of a lock, so that a lock timeout always means that nothing was kept. */
#define PUT_TYPES                                                                                       \
    "e_seq bigint[], e_session text[], e_thread text[], e_kind int[], e_at bigint[], e_actor text[], e_call text[]," \
    " e_data text[], e_no bigint[], e_hash bytea[], e_chain bigint[], e_call_seq bigint[],"             \
    " h_session text[], h_first bigint[], h_last bigint[], h_changed bigint[], h_hash bytea[], h_no bigint[]," \
    " o_seq bigint[], o_call_seq bigint[], o_session text[], o_thread text[], o_call text[], o_deadline bigint[]," \
    " answered bigint[], seen_session text[], seen_hash bytea[], new_call text[], new_session text[],"  \
    " known_seq bigint, known_hash bytea, part_end bigint, version bigint"
#define PUT_NAMES                                                                                       \
    "e_seq, e_session, e_thread, e_kind, e_at, e_actor, e_call, e_data, e_no, e_hash, e_chain, e_call_seq," \
    " h_session, h_first, h_last, h_changed, h_hash, h_no,"                                             \
    " o_seq, o_call_seq, o_session, o_thread, o_call, o_deadline, answered,"                            \
    " seen_session, seen_hash, new_call, new_session, known_seq, known_hash, part_end, version"
#define KEEP_LOCK                                                                                       \
    "  IF lent = 1 THEN PERFORM " SETTINGS("true") "; END IF;\n"                                        \
    "  IF current_setting('transaction_isolation') <> 'read committed' THEN\n"                          \
    "    RAISE EXCEPTION 'default_transaction_isolation must be read committed';\n"                     \
    "  END IF;\n"                                                                                       \
    "  PERFORM " TAKE_LOCK ";\n"
#define KEEP_FIRST                                                                                      \
    KEEP_LOCK                                                                                           \
    "  last := put(" PUT_NAMES ", false);\n"                                                            \
    "  IF last < 0 THEN RETURN; END IF;\n"
#define MOVED(seq) "CASE WHEN " seq " > known_seq THEN " seq " + shift ELSE " seq " END"

static const char *const step_6[] = {
    "CREATE FUNCTION put(" PUT_TYPES ", must boolean) RETURNS bigint LANGUAGE plpgsql AS $$\n"
    "#variable_conflict use_column\n"
    "DECLARE last bigint; shift bigint; ends bigint;\n"
    "BEGIN\n"
    "  SELECT coalesce(max(seq), 0) INTO last FROM events;\n"
    "  IF last + cardinality(e_seq) >= part_end\n"
    "    OR version IS DISTINCT FROM (SELECT value FROM meta WHERE name = 'schema_version')\n"
    "    OR known_hash <> coalesce((SELECT hash FROM events WHERE seq = known_seq), '')\n"
    "    OR EXISTS (SELECT 1 FROM unnest(seen_session, seen_hash) s(session_id, hash)\n"
    "      LEFT JOIN chains c USING (session_id) WHERE s.hash <> coalesce(c.hash, ''))\n"
    "    OR EXISTS (SELECT 1 FROM unnest(new_call, new_session) n(call_id, session_id)"
    " JOIN calls USING (call_id, session_id))\n"
    "  THEN\n"
    "    IF must THEN\n"
    "      RAISE EXCEPTION 'somebody wrote without the lock' USING ERRCODE = 'serialization_failure';\n"
    "    END IF;\n"
    "    RETURN -1;\n"
    "  END IF;\n"
    "  shift := last - known_seq;\n"
    "  ends := last + cardinality(e_seq);\n"
    "  WITH e AS MATERIALIZED (\n"
    "      SELECT seq + shift AS seq, session_id, thread_id, kind, at_ms, actor, call_id, data, no, hash,\n"
    "      " MOVED("chain") " AS chain, " MOVED("call_seq") " AS call_seq\n"
    "      FROM unnest(e_seq, e_session, e_thread, e_kind, e_at, e_actor, e_call, e_data, e_no, e_hash,\n"
    "        e_chain, e_call_seq)\n"
    "      u(seq, session_id, thread_id, kind, at_ms, actor, call_id, data, no, hash, chain, call_seq)),\n"
    "    adds AS (INSERT INTO events(seq, session_id, thread_id, kind, at_ms, actor, call_id, data, no, hash,\n"
    "      chain, call_seq) SELECT * FROM e),\n"
    "    marks AS (INSERT INTO calls(call_id, session_id, kind, seq)\n"
    "      SELECT call_id, session_id, kind, seq FROM e WHERE call_id IS NOT NULL),\n"
    "    heads AS (INSERT INTO chains(session_id, first_seq, last_seq, changed_seq, hash, no)\n"
    "      SELECT session_id, " MOVED("first_seq") ", last_seq + shift, " MOVED("changed_seq") ", hash, no\n"
    "      FROM unnest(h_session, h_first, h_last, h_changed, h_hash, h_no)\n"
    "      u(session_id, first_seq, last_seq, changed_seq, hash, no)\n"
    "      ON CONFLICT (session_id) DO UPDATE SET last_seq = EXCLUDED.last_seq,\n"
    "      changed_seq = EXCLUDED.changed_seq, hash = EXCLUDED.hash, no = EXCLUDED.no),\n"
    "    opens AS (INSERT INTO open_approvals(request_seq, call_seq, session_id, thread_id, call_id, deadline_ms)\n"
    "      SELECT request_seq + shift, " MOVED("call_seq") ", session_id, thread_id, call_id, deadline_ms\n"
    "      FROM unnest(o_seq, o_call_seq, o_session, o_thread, o_call, o_deadline)\n"
    "      u(request_seq, call_seq, session_id, thread_id, call_id, deadline_ms)),\n"
    "    closes AS (DELETE FROM open_approvals WHERE request_seq = ANY(answered))\n"
    "  INSERT INTO groups(last_seq, hash) SELECT ends, sha256((SELECT hash FROM groups WHERE last_seq = last) ||\n"
    "    (SELECT string_agg(hash, ''::bytea ORDER BY seq) FROM e) || int8send(ends));\n"
    "  RETURN last;\n"
    "END $$",

    "CREATE PROCEDURE keep(" PUT_TYPES ", channel text, node text, lent bigint, INOUT last bigint)\n"
    "LANGUAGE plpgsql AS $$\n"
    "BEGIN\n"
    KEEP_FIRST
    "  PERFORM set_config('synchronous_commit', 'off', true);\n"
    "  COMMIT;\n"
    "  PERFORM set_config('lock_timeout', '0', true), " SYNCED("true") ",\n"
    "    pg_logical_emit_message(true, 'nod', ''), pg_notify(channel, node || ' ' || last + cardinality(e_seq));\n"
    "END $$",
    NULL,
};

/* A group's events go with the notification when they are small (postgres_notice.c), unless somebody who listens has
 * stopped and lets the queue of notifications grow. */
static const char *const step_7[] = {
    "CREATE PROCEDURE keep(" PUT_TYPES ", channel text, node text, lent bigint, told text, INOUT last bigint)\n"
    "LANGUAGE plpgsql AS $$\n"
    "DECLARE link bytea := known_hash;\n"
    "BEGIN\n"
    KEEP_FIRST
    "  IF told <> '' AND last <> known_seq THEN SELECT hash INTO link FROM events WHERE seq = last; END IF;\n"
    "  PERFORM set_config('synchronous_commit', 'off', true);\n"
    "  COMMIT;\n"
    "  IF told <> '' AND octet_length(told) < current_setting('block_size')::int - 1000\n"
    "    AND pg_notification_queue_usage() < 0.1 THEN\n"
    "    told := concat_ws(' ', '', last, known_seq, encode(link, 'hex'), told);\n"
    "  ELSE told := ''; END IF;\n"
    "  PERFORM set_config('lock_timeout', '0', true), " SYNCED("true") ", pg_logical_emit_message(true, 'nod', ''),\n"
    "    pg_notify(channel, node || ' ' || last + cardinality(e_seq) || told);\n"
    "END $$",
    NULL,
};

/* Every role that may connect may LISTEN: the channel has a random name, which only roles that read the tables
 * know. */
static const char *const step_8[] = {
    "INSERT INTO meta SELECT 'channel', ('x' || left(replace(gen_random_uuid()::text, '-', ''), 12)"
    " || right(gen_random_uuid()::text, 4))::bit(64)::bigint",
    NULL,
};

/* A group of one event in a session that exists, most often a decision: what keep() does, without arrays. Besides its
 * own session it may rest on one more (`also`); the node gives its own again if there is none. If the call has such an
 * event already, something is not as the node knew it. Assignments (`done`) cost less than PERFORM. */
#define ONE_HEAD                                                                                        \
    "PROCEDURE keep_one(e_session text, e_thread text, e_kind bigint, e_at bigint, e_actor text, e_call text,\n" \
    "  e_data text, e_no bigint, e_hash bytea, e_chain bigint, e_call_seq bigint, changed bigint, answered bigint,\n" \
    "  seen_hash bytea, also_session text, also_hash bytea, known_seq bigint, known_hash bytea, part_end bigint,\n" \
    "  version bigint, channel text, node text, lent bigint, told text, INOUT last bigint)\n"           \
    "LANGUAGE plpgsql AS $$\n"                                                                          \
    "#variable_conflict use_column\n"                                                                   \
    "DECLARE before bytea; link bytea; also bytea; present bigint; ends bigint; done text;\n"           \
    "BEGIN\n"                                                                                           \
    KEEP_LOCK
#define ONE_WRITES                                                                                      \
    "  ends := last + 1;\n"                                                                             \
    "  IF ends >= part_end OR version IS DISTINCT FROM present OR known_hash IS DISTINCT FROM link\n"   \
    "    OR also_hash IS DISTINCT FROM also THEN last := -1; RETURN; END IF;\n"                         \
    "  IF last <> known_seq THEN SELECT hash INTO link FROM events WHERE seq = last; END IF;\n"         \
    "  UPDATE chains SET last_seq = ends, changed_seq = CASE WHEN changed > known_seq THEN ends ELSE changed END,\n" \
    "    hash = e_hash, no = e_no WHERE session_id = e_session AND hash = seen_hash;\n"                 \
    "  IF NOT FOUND OR link IS NULL THEN ROLLBACK; last := -1; RETURN; END IF;\n"                       \
    "  IF e_call <> '' THEN\n"                                                                          \
    "    INSERT INTO calls(call_id, session_id, kind, seq) VALUES(e_call, e_session, e_kind, ends)\n"   \
    "      ON CONFLICT DO NOTHING;\n"                                                                   \
    "    IF NOT FOUND THEN ROLLBACK; last := -1; RETURN; END IF;\n"                                     \
    "  END IF;\n"                                                                                       \
    "  INSERT INTO events(seq, session_id, thread_id, kind, at_ms, actor, call_id, data, no, hash, chain, call_seq)\n" \
    "    VALUES(ends, e_session, e_thread, e_kind, e_at, e_actor, nullif(e_call, ''), e_data, e_no, e_hash, e_chain," \
    "\n"                                                                                               \
    "    nullif(e_call_seq, 0));\n"                                                                     \
    "  IF answered > 0 THEN DELETE FROM open_approvals WHERE request_seq = answered; END IF;\n"         \
    "  INSERT INTO groups(last_seq, hash) VALUES(ends, sha256(before || e_hash || int8send(ends)));\n"
#define ONE_TELLS                                                                                       \
    "  IF told <> '' AND octet_length(told) < current_setting('block_size')::int - 1000\n"              \
    "    AND pg_notification_queue_usage() < 0.1 THEN\n"                                                \
    "    told := concat_ws(' ', '', last, known_seq, encode(link, 'hex'), told);\n"                     \
    "  ELSE told := ''; END IF;\n"

static const char *const step_9[] = {
    "CREATE " ONE_HEAD
    "  SELECT last_seq, hash INTO last, before FROM groups ORDER BY last_seq DESC LIMIT 1;\n"
    "  SELECT value INTO present FROM meta WHERE name = 'schema_version';\n"
    "  SELECT hash INTO link FROM events WHERE seq = known_seq;\n"
    "  SELECT hash INTO also FROM chains WHERE session_id = also_session;\n"
    ONE_WRITES
    "  done := set_config('synchronous_commit', 'off', true);\n"
    "  COMMIT;\n"
    "  IF lent = 1 THEN PERFORM " SYNCED("true") "; END IF;\n"
    ONE_TELLS
    "  done := set_config('lock_timeout', '0', true);\n"
    "  done := pg_logical_emit_message(true, 'nod', '');\n"
    "  done := pg_notify(channel, node || ' ' || ends || told);\n"
    "END $$",
    NULL,
};

/* keep_one() in one transaction, whose COMMIT waits for the disk while the lock is held: NOTIFY lets one commit of a
 * database pass at a time in any case. That spares the second transaction, and the server's process that writes the
 * log, which a commit that does not wait wakes. The COMMIT stands here, and not with the end of the pipeline, so that a
 * node that stops while it sends holds nothing. */
static const char *const step_10[] = {
    "CREATE OR REPLACE " ONE_HEAD
    "  SELECT last_seq, hash, (SELECT value FROM meta WHERE name = 'schema_version'),\n"
    "    (SELECT hash FROM chains WHERE session_id = also_session)\n"
    "    INTO last, before, present, also FROM groups ORDER BY last_seq DESC LIMIT 1;\n"
    "  SELECT hash INTO link FROM events WHERE seq = known_seq;\n"
    ONE_WRITES
    ONE_TELLS
    "  done := pg_notify(channel, node || ' ' || ends || told);\n"
    "  COMMIT;\n"
    "END $$",
    NULL,
};

static const char *const *const steps[] = {step_1, step_2, step_3, step_4, step_5, step_6, step_7, step_8,
                                           step_9, step_10};

enum { VERSION = sizeof steps / sizeof steps[0] };

bool postgres_version_is_current(int version) { return version == VERSION; }

struct version postgres_version_known(void) { return version_of_steps(VERSION); }

int64_t postgres_version_number(void) { return version_number(postgres_version_known()); }

/* The number that `meta` has; 0: an empty schema. Tables of another program, and newer versions, are refused.
 * The server may remember from a look before that there is no table; that it opens pg_class makes it look again. */
static struct rc read_number(struct postgres_handle *handle, int64_t *ret_number, struct version *ret_version,
                             struct err *err)
{
    RESULT_SCOPE(table);
    RESULT_SCOPE(row);
    *ret_number = 0;
    *ret_version = (struct version){0};
    TRY(postgres_ask(handle, "SELECT count(*) FILTER (WHERE oid = to_regclass('meta')),"
                     " count(*) FILTER (WHERE oid = to_regclass('events')) FROM pg_class"
                     " WHERE oid IN (to_regclass('meta'), to_regclass('events'))", &table, err));
    bool meta = row_int(table, 0, 0), events = row_int(table, 0, 1);
    if (!meta && !events)
        return RC_OK;
    if (!meta || !events)
        return err_set(err, ERR_CORRUPT, "the database has tables of another program: use one of its own");
    TRY(postgres_ask(handle, "SELECT value FROM meta WHERE name = 'schema_version'", &row, err));
    *ret_number = pq.PQntuples(row) ? row_int(row, 0, 0) : 0;
    return version_check("the database", *ret_number, postgres_version_known(), ret_version, err);
}

struct rc postgres_version(struct postgres_handle *handle, int *ret_version, struct err *err)
{
    int64_t number;
    struct version version;
    TRY(read_number(handle, &number, &version, err));
    *ret_version = (int)version.steps;
    return RC_OK;
}

static struct rc run(struct postgres_handle *handle, const char *text, struct err *err)
{
    RESULT_SCOPE(result);
    return postgres_ask(handle, text, &result, err);
}

/* Under an advisory lock of the schema: nodes that start together migrate one after the other. There is no step to do
 * when only the kinds are fewer than this program's. */
static struct rc apply_steps(struct postgres_handle *handle, struct err *err)
{
    int64_t number, known = postgres_version_number();
    struct version version;
    TRY(run(handle, "SELECT pg_advisory_xact_lock(1315922977, hashtext(current_schema()))", err));
    TRY(read_number(handle, &number, &version, err)); /* somebody may have been faster */
    for (int64_t i = version.steps; i < VERSION; i++)
        for (const char *const *text = steps[i]; *text; text++)
            TRY(run(handle, *text, err));
    if (number == known)
        return RC_OK;
    char text[160];
    (void)snprintf(text, sizeof text,
                   "INSERT INTO meta VALUES('schema_version', %lld)"
                   " ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value", (long long)known);
    return run(handle, text, err);
}

/* Tables that are as they should be need no lock: their version is written with them. A look without the lock may see
 * half of what another node has just made, so anything else is looked at again under it. Whoever calls disconnects
 * after an error, which rolls back. */
struct rc postgres_migrate(struct postgres_handle *handle, struct err *err)
{
    int64_t number;
    struct version version;
    if (rc_ok(read_number(handle, &number, &version, err)) && number == postgres_version_number())
        return RC_OK;
    TRY(run(handle, "BEGIN", err));
    TRY(apply_steps(handle, err));
    return run(handle, "COMMIT", err);
}
