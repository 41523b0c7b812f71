/* The whole store, read and recomputed: `nod verify`.
 *
 * Events are walked by seq in pieces, each with a snapshot of its own, so that a server that runs beside it
 * can go on beginning its log anew. The last piece and everything that must agree with it (heads, calls,
 * open approvals) are read from one snapshot. That a session has one call of an id, and a call one event of a kind, is
 * what the keys of the late tables promise (sqlite_late.c): they are compared with the events they are made from, and
 * with those that are not in them yet.
 */
#include "base/limits.h"
#include "store/sqlite.h"
#include "store/verify.h"

#include <sqlite3.h>
#include <string.h>

enum { PIECE_EVENTS = 20000, TRIES_MAX = 5 };
enum { LATE_EVENTS_MOST = 8 * LIMIT_GROUP_APPENDS }; /* so many are never late: the next group fills the tables */

struct sqlite_walk {
    struct sqlite3 *db;
    const char *path;
    int version;
    struct sqlite3_stmt *ranges; /* statement over the ranges of archived seqs, ordered by seq */
    int64_t gone;                /* number of archived events when the walk began */
    struct verifier verifier;
};

static void walk_done(struct sqlite_walk *walk)
{
    sqlite_finalize(&walk->ranges);
    verifier_done(&walk->verifier);
    (void)sqlite3_close(walk->db);
}

static struct rc next_row(struct sqlite_walk *walk, struct sqlite3_stmt *statement, bool *ret_row, struct err *err)
{
    int code = sqlite3_step(statement);
    *ret_row = code == SQLITE_ROW;
    return code == SQLITE_ROW || code == SQLITE_DONE ? RC_OK : sqlite_fail(walk->db, code, walk->path, err);
}

/* ---- events ---- */

/* Checks all archived ranges between the last checked event and this one. */
static struct rc check_ranges(struct sqlite_walk *walk, uint64_t seq, struct err *err)
{
    for (bool row = true; row && verifier_wants_range(&walk->verifier, seq);) {
        (void)sqlite3_reset(walk->ranges);
        CHECK(sqlite3_bind_int64(walk->ranges, 1, (int64_t)walk->verifier.next_seq) == SQLITE_OK);
        CHECK(sqlite3_bind_int64(walk->ranges, 2, (int64_t)seq) == SQLITE_OK);
        TRY(next_row(walk, walk->ranges, &row, err));
        if (row)
            verifier_range(&walk->verifier, (struct seq_range){(uint64_t)sqlite3_column_int64(walk->ranges, 0),
                                                               (uint64_t)sqlite3_column_int64(walk->ranges, 1)});
    }
    (void)sqlite3_reset(walk->ranges);
    return RC_OK;
}

static struct rc check_event(struct sqlite_walk *walk, struct sqlite3_stmt *row, struct err *err)
{
    struct filed_event filed = {.chain = sqlite3_column_int64(row, EVENT_COLUMN_COUNT + 1),
                                .call_seq = sqlite3_column_int64(row, EVENT_COLUMN_COUNT + 2)};
    struct digest hash, group;
    struct err wrong;
    int64_t seq = sqlite3_column_int64(row, 0);
    TRY(check_ranges(walk, (uint64_t)seq, err));
    if (rc_bad(sqlite_event(row, &filed.event, &wrong))) {
        verifier_blame(&walk->verifier, seq, "%s", wrong.text);
        return RC_OK;
    }
    filed.hash = sqlite_digest(row, EVENT_COLUMN_COUNT, &hash) ? &hash : NULL;
    filed.group = sqlite_digest(row, EVENT_COLUMN_COUNT + 3, &group) ? &group : NULL;
    verifier_event(&walk->verifier, &filed);
    return RC_OK;
}

/* The next events by seq, not beyond `last` and at most `most` (-1: all), over the table itself (NOT INDEXED), each
 * with the group that it ended. */
static struct rc check_events(struct sqlite_walk *walk, int64_t last, int64_t most, int64_t *ret_count, struct err *err)
{
    STATEMENT_SCOPE(rows);
    bool row = true;
    TRY(sqlite_prepare(walk->db,
                       "SELECT " EVENT_COLUMNS_E ", e.hash, chain, call_seq, g.hash FROM events e NOT INDEXED"
                       " LEFT JOIN groups g ON g.last_seq = e.seq WHERE seq >= ?1 AND seq <= ?2 ORDER BY seq LIMIT ?3",
                       &rows, err));
    CHECK(sqlite3_bind_int64(rows, 1, (int64_t)walk->verifier.next_seq) == SQLITE_OK);
    CHECK(sqlite3_bind_int64(rows, 2, last) == SQLITE_OK);
    CHECK(sqlite3_bind_int64(rows, 3, most) == SQLITE_OK);
    for (*ret_count = 0; row && !verifier_blamed(&walk->verifier); *ret_count += row) {
        TRY(next_row(walk, rows, &row, err));
        if (row)
            TRY(check_event(walk, rows, err));
    }
    return RC_OK;
}

/* A piece ends with a group that is listed: one that is listed later, between two pieces, would be missed. Only the
 * last piece has the events whose groups are not listed yet, too. */
static struct rc check_piece(struct sqlite_walk *walk, bool *ret_end, struct err *err)
{
    int64_t listed, count = 0;
    TRY(sqlite_number(walk->db, "SELECT max(last_seq) FROM groups", &listed, err));
    TRY(check_events(walk, listed, PIECE_EVENTS, &count, err));
    *ret_end = count < PIECE_EVENTS;
    return *ret_end ? check_events(walk, INT64_MAX, -1, &count, err) : RC_OK;
}

/* ---- what must agree with the events ---- */

static struct rc check_heads(struct sqlite_walk *walk, struct err *err)
{
    STATEMENT_SCOPE(rows);
    bool row;
    uint64_t count = 0;
    TRY(sqlite_prepare(walk->db,
                       "SELECT session_id, first_seq, last_seq, changed_seq, hash, archived_seq, no FROM heads"
                       " ORDER BY first_seq", &rows, err));
    for (;; count++) {
        struct digest hash;
        TRY(next_row(walk, rows, &row, err));
        if (!row)
            break;
        struct filed_head filed = {
            .session = sqlite_str(rows, 0),
            .first_seq = (uint64_t)sqlite3_column_int64(rows, 1),
            .last_seq = (uint64_t)sqlite3_column_int64(rows, 2),
            .changed_seq = (uint64_t)sqlite3_column_int64(rows, 3),
            .hash = sqlite_digest(rows, 4, &hash) ? &hash : NULL,
            .archived_seq = (uint64_t)sqlite3_column_int64(rows, 5),
            .no = (uint64_t)sqlite3_column_int64(rows, 6),
        };
        verifier_head(&walk->verifier, &filed);
    }
    verifier_heads_end(&walk->verifier, count);
    return RC_OK;
}

/* Store: the archived counts match the SESSION_ARCHIVED events. Archive: everything it was made with is there. */
static struct rc check_counts(struct sqlite_walk *walk, struct err *err)
{
    struct verifier *verifier = &walk->verifier;
    int64_t calls, events, sessions;
    TRY(sqlite_number(walk->db, "SELECT count(*) FROM archived_calls", &calls, err));
    if ((uint64_t)calls != verifier->archived_calls)
        verifier_blame(verifier, (int64_t)verifier->next_seq - 1,
                       "%lld calls are known to be in archives, %llu were archived", (long long)calls,
                       (unsigned long long)verifier->archived_calls);
    if (!verifier->archive)
        return RC_OK;
    TRY(sqlite_number(walk->db, "SELECT value FROM meta WHERE name = 'archive_events'", &events, err));
    TRY(sqlite_number(walk->db, "SELECT value FROM meta WHERE name = 'archive_sessions'", &sessions, err));
    if ((uint64_t)events != verifier->check->events || (uint64_t)sessions != verifier->check->sessions)
        verifier_blame(verifier, (int64_t)verifier->next_seq - 1,
                       "the archive was made with %lld events in %lld sessions", (long long)events,
                       (long long)sessions);
    return RC_OK;
}

/* The first seq that a query finds is blamed. */
static struct rc check_none(struct sqlite_walk *walk, const char *query, const char *why, struct err *err)
{
    STATEMENT_SCOPE(rows);
    bool row;
    if (verifier_blamed(&walk->verifier))
        return RC_OK;
    TRY(sqlite_prepare(walk->db, query, &rows, err));
    TRY(next_row(walk, rows, &row, err));
    if (row)
        verifier_blame(&walk->verifier, sqlite3_column_int64(rows, 0), "%s", why);
    return RC_OK;
}

/* The late tables say what the events up to INDEXED_SEQ say. */
static struct rc check_late(struct sqlite_walk *walk, struct err *err)
{
    if (walk->version < SQLITE_VERSION_LATE)
        return RC_OK;
    if (!walk->verifier.archive)
        TRY(check_none(walk, "SELECT " INDEXED_SEQ " WHERE " INDEXED_SEQ " > (SELECT max(last_seq) FROM groups)",
                       "the lists of sessions and calls are said to reach beyond the last event", err));
    TRY(check_none(walk,
                   "SELECT s.seq FROM session_events s LEFT JOIN events e ON e.seq = s.seq"
                   " WHERE e.chain IS NOT s.chain OR s.block <> s.seq >> 12 OR s.seq + s.more > " INDEXED_SEQ
                   " UNION ALL SELECT e.seq FROM " OF_SESSION " WHERE e.chain <> s.chain LIMIT 1",
                   "the event is listed with another session", err));
    TRY(check_none(walk,
                   "SELECT seq FROM (SELECT seq, more, block, coalesce(lead(seq) OVER (ORDER BY block, chain, seq)"
                   "  BETWEEN seq AND seq + more, 0) AS overlaps FROM session_events)"
                   " WHERE overlaps OR more < 0 OR seq + more >> 12 <> block LIMIT 1",
                   "the event is listed twice with its session", err));
    TRY(check_none(walk,
                   "SELECT o.seq FROM call_events o LEFT JOIN events e ON e.seq = o.seq"
                   " WHERE e.call_seq IS NOT o.call_seq OR e.kind IS NOT o.kind OR o.seq > " INDEXED_SEQ " LIMIT 1",
                   "the event is listed with another call", err));
    TRY(check_none(walk,
                   "SELECT c.seq FROM call_ids c LEFT JOIN events e ON e.seq = c.seq"
                   " WHERE e.kind IS NOT 3 OR e.call_id IS NOT c.call_id OR e.chain IS NOT c.chain"
                   "  OR c.seq > " INDEXED_SEQ " LIMIT 1",
                   "the call is listed under another id", err));
    return check_none(walk,
                      "SELECT " INDEXED_SEQ " FROM (SELECT count(*) AS events, count(call_seq) AS of_calls,"
                      "  count(nullif(kind = 3, 0)) AS calls FROM events WHERE seq <= " INDEXED_SEQ ")"
                      " WHERE events <> (SELECT coalesce(sum(more + 1), 0) FROM session_events)"
                      "  OR events <> (SELECT count(*) FROM " OF_SESSION ")" /* a row may name numbers that left */
                      "  OR of_calls <> (SELECT count(*) FROM call_events)"
                      "  OR calls <> (SELECT count(*) FROM call_ids)",
                      "events before it are not on the lists of their sessions and calls", err);
}

/* Checks that events that are not in the late tables yet repeat nothing. The view `about` has these and the others. */
static struct rc check_not_indexed(struct sqlite_walk *walk, struct err *err)
{
    TRY(check_none(walk,
                   "SELECT max(seq) FROM events WHERE seq > " INDEXED_SEQ " AND call_id IS NOT NULL"
                   " GROUP BY chain, call_id, kind HAVING count(*) > 1", "the event repeats another one", err));
    TRY(check_none(walk,
                   "SELECT e.seq FROM events e CROSS JOIN call_ids c ON c.call_id = e.call_id AND c.chain = e.chain"
                   " WHERE e.seq > " INDEXED_SEQ " AND e.kind = 3 LIMIT 1", "the call repeats another one", err));
    TRY(check_none(walk,
                   "SELECT e.seq FROM events e CROSS JOIN call_events o ON o.call_seq = e.call_seq AND o.kind = e.kind"
                   " WHERE e.seq > " INDEXED_SEQ " LIMIT 1", "the event repeats another one", err));
    return sqlite_exec(walk->db,
                       "CREATE TEMP TABLE late("
                       "  call_seq INTEGER, kind INTEGER, seq INTEGER, PRIMARY KEY(call_seq, kind));"
                       "INSERT OR IGNORE INTO late SELECT call_seq, kind, seq FROM events"
                       "  WHERE seq > " INDEXED_SEQ " AND call_seq IS NOT NULL;"
                       "CREATE TEMP VIEW about AS SELECT call_seq, kind, seq FROM call_events"
                       "  UNION ALL SELECT call_seq, kind, seq FROM late", err);
}

/* The event of kind 4 or 5 for the call of this event. */
#define SEQ_OF(kind_, of) \
    "coalesce((SELECT seq FROM call_events WHERE call_seq = " of ".call_seq AND kind = " kind_ ")," \
    " (SELECT seq FROM late WHERE call_seq = " of ".call_seq AND kind = " kind_ "))"

/* 3 TOOL_CALL, 4 TOOL_APPROVAL_REQUEST, 5 TOOL_APPROVAL_RESPONSE. */
static struct rc check_calls(struct sqlite_walk *walk, struct err *err)
{
    TRY(check_none(walk,
                   "SELECT e.seq FROM events e LEFT JOIN events c ON c.seq = e.call_seq"
                   " WHERE e.call_seq IS NOT NULL AND (c.seq IS NULL OR c.seq > e.seq OR c.kind <> 3"
                   "  OR c.call_id IS NOT e.call_id OR c.session_id <> e.session_id) LIMIT 1",
                   "the event is about a call that was not made", err));
    TRY(check_none(walk,
                   "SELECT a.seq FROM about a WHERE a.kind = 5 AND coalesce(" SEQ_OF("4", "a") " > a.seq, 1) LIMIT 1",
                   "a response to what nobody asked", err));
    TRY(check_none(walk,
                   "SELECT r.seq FROM about q CROSS JOIN events r ON r.seq = q.seq"
                   " LEFT JOIN open_now o ON o.request_seq = r.seq"
                   " WHERE q.kind = 4 AND " SEQ_OF("5", "q") " IS NULL"
                   "  AND (o.call_seq IS NOT r.call_seq OR o.session_id IS NOT r.session_id"
                   "   OR o.thread_id IS NOT r.thread_id OR o.call_id IS NOT r.call_id) LIMIT 1",
                   "asked and not answered, but not (or wrongly) on the list of open approvals", err));
    TRY(check_none(walk,
                   "SELECT o.request_seq FROM open_now o"
                   " LEFT JOIN events r ON r.seq = o.request_seq AND r.kind = 4"
                   " WHERE r.seq IS NULL OR " SEQ_OF("5", "r") " IS NOT NULL LIMIT 1",
                   "on the list of open approvals, but not asked or answered already", err));
    int64_t open;
    TRY(sqlite_number(walk->db, "SELECT count(*) FROM open_now", &open, err));
    walk->verifier.check->open = (uint64_t)open;
    return RC_OK;
}

/* Tables and indexes as they should be, then SQLite's own check of its pages. */
static struct rc check_structure(struct sqlite_walk *walk, struct err *err)
{
    STATEMENT_SCOPE(rows);
    bool row;
    if (verifier_blamed(&walk->verifier))
        return RC_OK;
    TRY(sqlite_schema_compare(walk->db, walk->path, walk->version, err));
    TRY(sqlite_prepare(walk->db, "PRAGMA integrity_check(1)", &rows, err));
    TRY(next_row(walk, rows, &row, err));
    const char *said = row ? (const char *)sqlite3_column_text(rows, 0) : "nothing";
    if (said && strcmp(said, "ok") == 0)
        return RC_OK;
    return err_set(err, ERR_CORRUPT, "%s is damaged (%s): restore a backup", walk->path,
                   said ? said : "out of memory");
}

/* Where the groups end. Those of the last events, which are in no late table, are not listed yet. */
static struct rc find_end(struct sqlite_walk *walk, uint64_t *ret_end, struct err *err)
{
    int64_t end;
    uint64_t last = walk->verifier.next_seq - 1;
    TRY(sqlite_number(walk->db, "SELECT max(last_seq) FROM groups", &end, err));
    bool late = walk->version >= SQLITE_VERSION_GROUPS_LATE && last - (uint64_t)end < LATE_EVENTS_MOST;
    *ret_end = last > (uint64_t)end && late ? last : (uint64_t)end;
    return RC_OK;
}

static struct rc check_agreement(struct sqlite_walk *walk, struct err *err)
{
    struct verifier *verifier = &walk->verifier;
    uint64_t end = 0;
    if ((uint64_t)walk->gone != verifier->gone)
        verifier_blame(verifier, (int64_t)verifier->next_seq - 1,
                       "the list of what is in archives names events that are here, or never were");
    TRY(find_end(walk, &end, err));
    verifier_events_end(verifier, end);
    TRY(check_heads(walk, err));
    TRY(check_late(walk, err));
    TRY(check_not_indexed(walk, err));
    TRY(check_calls(walk, err));
    return check_counts(walk, err);
}

static struct rc count_gone(struct sqlite_walk *walk, int64_t *ret_gone, struct err *err)
{
    return sqlite_number(walk->db, "SELECT coalesce(sum(last_seq - first_seq + 1), 0) FROM gone", ret_gone, err);
}

/* `*ret_moved`: sessions left while it was looked at, and what was seen of them is not there any more. */
static struct rc check_all(struct sqlite_walk *walk, bool *ret_moved, struct err *err)
{
    bool end = false;
    int64_t gone;
    TRY(count_gone(walk, &walk->gone, err));
    TRY(sqlite_prepare(walk->db, "SELECT first_seq, last_seq FROM gone WHERE last_seq >= ?1 AND first_seq < ?2"
                       " ORDER BY first_seq LIMIT 1", &walk->ranges, err));
    while (!end && !verifier_blamed(&walk->verifier)) {
        TRY(sqlite_exec(walk->db, "BEGIN", err));
        TRY(count_gone(walk, &gone, err));
        *ret_moved = gone != walk->gone;
        if (*ret_moved)
            return RC_OK;
        TRY(check_piece(walk, &end, err));
        if (end)
            TRY(check_agreement(walk, err));
        TRY(sqlite_exec(walk->db, "COMMIT", err));
    }
    return check_structure(walk, err);
}

/* ---- the whole of it ---- */

/* A database without a log is opened as immutable, so that verifying a backup leaves no files beside it. */
static struct rc verify_once(const char *path, bool immutable, struct store_check *ret_check, bool *ret_moved,
                             struct err *err)
{
    __attribute__((cleanup(walk_done))) struct sqlite_walk walk = {.path = path};
    int64_t groups;
    *ret_moved = false;
    verifier_init(&walk.verifier, ret_check);
    TRY(sqlite_look(path, immutable, &walk.db, err));
    TRY(sqlite_schema_recognise(walk.db, path, err));
    TRY(sqlite_schema_version(walk.db, path, &walk.version, err));
    if (walk.version == 0)
        return RC_OK; /* nothing was ever kept here */
    TRY(sqlite_schema_adapt(walk.db, path, walk.version, err));
    TRY(sqlite_is_archive(walk.db, &walk.verifier.archive, err));
    TRY(sqlite_number(walk.db, "SELECT coalesce(min(last_seq), -1) FROM groups", &groups, err));
    if (groups >= 0 && !walk.verifier.archive)
        verifier_groups(&walk.verifier, (uint64_t)groups);
    else if (!walk.verifier.archive && walk.version == sqlite_schema_known())
        return err_set(err, ERR_CORRUPT, "%s: the list of groups is empty: restore a backup", path);
    return check_all(&walk, ret_moved, err);
}

/* Verifies again if a server was started, or sessions left for an archive, while it read. */
struct rc sqlite_verify(const char *place, struct store_check *ret_check, struct err *err)
{
    bool immutable = !sqlite_log_exists(place), moved = false;
    struct rc rc = verify_once(place, immutable, ret_check, &moved, err);
    /* A server may have started meanwhile and changed what was taken to be immutable. */
    if (immutable && (rc_bad(rc) || ret_check->bad_seq) && sqlite_log_exists(place))
        rc = verify_once(place, false, ret_check, &moved, err);
    for (int tries = 1; rc_ok(rc) && moved; tries++) {
        if (tries == TRIES_MAX)
            return err_set(err, ERR_UNAVAILABLE, "sessions are being archived: verify again when that is done");
        rc = verify_once(place, false, ret_check, &moved, err);
    }
    return rc;
}
