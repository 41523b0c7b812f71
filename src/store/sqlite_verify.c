/* The whole store, read and recomputed: `nod verify`.
 *
 * Events are walked by seq in pieces, each with a snapshot of its own, so that a server that runs beside it
 * can go on beginning its log anew. The last piece and everything that must agree with it (heads, calls,
 * open approvals) are read from one snapshot. What indexes alone can promise (one call of an id in a
 * session, one event of a kind for a call) holds when they are defined as they should be and SQLite finds
 * them in agreement with the table, so both are looked at.
 */
#include "base/buf.h"
#include "base/limits.h"
#include "store/sqlite.h"

#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE_EVENTS = 20000 };

/* What the events of a session add up to. */
struct link {
    uint64_t first_seq, last_seq, changed_seq;
    struct digest hash;
};

struct verifier {
    struct sqlite3 *db;
    const char *path;
    struct map links;           /* session → struct link */
    uint64_t next_seq;
    struct store_check *check;
};

static void verifier_done(struct verifier *verifier)
{
    size_t at = 0;
    struct str session;
    void *link;
    while (map_next(&verifier->links, &at, &session, &link))
        free(link);
    map_done(&verifier->links);
    (void)sqlite3_close(verifier->db);
}

__attribute__((format(printf, 3, 4))) static void blame(struct verifier *verifier, int64_t seq,
                                                        const char *format, ...)
{
    va_list words;
    va_start(words, format);
    verifier->check->bad_seq = seq > 0 ? (uint64_t)seq : 1;
    (void)vsnprintf(verifier->check->why, sizeof verifier->check->why, format, words);
    va_end(words);
}

static bool blamed(const struct verifier *verifier) { return verifier->check->bad_seq != 0; }

static struct rc next_row(struct verifier *verifier, struct sqlite3_stmt *statement, bool *ret_row,
                          struct err *err)
{
    int code = sqlite3_step(statement);
    *ret_row = code == SQLITE_ROW;
    return code == SQLITE_ROW || code == SQLITE_DONE ? RC_OK
                                                     : sqlite_fail(verifier->db, code, verifier->path, err);
}

/* ---- events ---- */

static struct link *find_link(struct verifier *verifier, const struct event *event)
{
    struct link *link = map_get(&verifier->links, event->session);
    if (!link) {
        link = heap_new(sizeof *link);
        link->first_seq = event->seq;
        CHECK(map_put(&verifier->links, event->session, link) == NULL);
    }
    return link;
}

/* Whether the columns that are there to find an event say what the event says. */
static bool filed_well(const struct event *event, const struct link *link, struct sqlite3_stmt *row)
{
    int64_t chain = sqlite3_column_int64(row, EVENT_COLUMN_COUNT + 1);
    int64_t call_seq = sqlite3_column_int64(row, EVENT_COLUMN_COUNT + 2);
    bool about_call = event_kind_of_call(event->kind) && event->kind != EVENT_TOOL_CALL;
    return chain == (int64_t)link->first_seq && (call_seq != 0) == about_call &&
           event_kind_of_call(event->kind) == !str_empty(event->call);
}

static void check_event(struct verifier *verifier, struct sqlite3_stmt *row)
{
    struct event event;
    struct digest hash;
    struct err err;
    int64_t seq = sqlite3_column_int64(row, 0);
    if (seq != (int64_t)verifier->next_seq) {
        blame(verifier, (int64_t)verifier->next_seq, "the event is missing");
        return;
    }
    if (rc_bad(sqlite_event(row, &event, &err))) {
        blame(verifier, seq, "%s", err.text);
        return;
    }
    struct link *link = find_link(verifier, &event);
    struct digest should = chain_next(&link->hash, &event);
    if (!sqlite_digest(row, EVENT_COLUMN_COUNT, &hash) || !digest_eq(&hash, &should)) {
        blame(verifier, seq, "the event, or one before it in its session, is not what was written");
        return;
    }
    if (!filed_well(&event, link, row)) {
        blame(verifier, seq, "the event is filed under another session or call");
        return;
    }
    link->hash = hash;
    link->last_seq = event.seq;
    if (event.kind == EVENT_SESSION_CHANGED)
        link->changed_seq = event.seq;
    verifier->next_seq++;
    verifier->check->events++;
}

static struct rc check_piece(struct verifier *verifier, bool *ret_end, struct err *err)
{
    STATEMENT_SCOPE(rows);
    bool row = true;
    TRY(sqlite_prepare(verifier->db,
                       "SELECT " EVENT_COLUMNS ", hash, chain, call_seq FROM events NOT INDEXED"
                       " WHERE seq >= ?1 ORDER BY seq LIMIT ?2", &rows, err));
    CHECK(sqlite3_bind_int64(rows, 1, (int64_t)verifier->next_seq) == SQLITE_OK);
    CHECK(sqlite3_bind_int(rows, 2, PIECE_EVENTS) == SQLITE_OK);
    unsigned count = 0;
    for (; row && !blamed(verifier); count += row) {
        TRY(next_row(verifier, rows, &row, err));
        if (row)
            check_event(verifier, rows);
    }
    *ret_end = count < PIECE_EVENTS;
    return RC_OK;
}

/* ---- what must agree with the events ---- */

static struct rc check_heads(struct verifier *verifier, struct err *err)
{
    STATEMENT_SCOPE(rows);
    bool row;
    TRY(sqlite_prepare(verifier->db,
                       "SELECT session_id, first_seq, last_seq, changed_seq, hash FROM chains"
                       " ORDER BY first_seq", &rows, err));
    for (;;) {
        TRY(next_row(verifier, rows, &row, err));
        if (!row || blamed(verifier))
            break;
        struct str session = sqlite_str(rows, 0);
        int64_t last_seq = sqlite3_column_int64(rows, 2);
        const struct link *link = map_get(&verifier->links, session);
        struct digest hash;
        if (!link || last_seq > (int64_t)link->last_seq)
            blame(verifier, last_seq, "the event is missing, and with it the end of its session's chain");
        else if (sqlite3_column_int64(rows, 1) != (int64_t)link->first_seq ||
                 last_seq != (int64_t)link->last_seq ||
                 sqlite3_column_int64(rows, 3) != (int64_t)link->changed_seq ||
                 !sqlite_digest(rows, 4, &hash) || !digest_eq(&hash, &link->hash))
            blame(verifier, (int64_t)link->last_seq, "the chain of its session does not end as it should");
        verifier->check->sessions += !str_empty(session);
    }
    int64_t count;
    TRY(sqlite_number(verifier->db, "SELECT count(*) FROM chains", &count, err));
    if (!blamed(verifier) && count != (int64_t)verifier->links.count)
        blame(verifier, (int64_t)verifier->next_seq - 1, "a chain has no head");
    return RC_OK;
}

/* The first seq that a query finds is blamed. */
static struct rc check_none(struct verifier *verifier, const char *query, const char *why, struct err *err)
{
    STATEMENT_SCOPE(rows);
    bool row;
    if (blamed(verifier))
        return RC_OK;
    TRY(sqlite_prepare(verifier->db, query, &rows, err));
    TRY(next_row(verifier, rows, &row, err));
    if (row)
        blame(verifier, sqlite3_column_int64(rows, 0), "%s", why);
    return RC_OK;
}

/* 3 TOOL_CALL, 4 TOOL_APPROVAL_REQUEST, 5 TOOL_APPROVAL_RESPONSE. */
static struct rc check_calls(struct verifier *verifier, struct err *err)
{
    _Static_assert(EVENT_TOOL_CALL == 3 && EVENT_TOOL_APPROVAL_REQUEST == 4 &&
                       EVENT_TOOL_APPROVAL_RESPONSE == 5, "these numbers stand below");
    TRY(check_none(verifier,
                   "SELECT e.seq FROM events e LEFT JOIN events c ON c.seq = e.call_seq"
                   " WHERE e.call_seq IS NOT NULL AND (c.seq IS NULL OR c.seq > e.seq OR c.kind <> 3"
                   "  OR c.call_id IS NOT e.call_id OR c.session_id <> e.session_id) LIMIT 1",
                   "the event is about a call that was not made", err));
    TRY(check_none(verifier,
                   "SELECT a.seq FROM events a LEFT JOIN events r ON r.call_seq = a.call_seq AND r.kind = 4"
                   " WHERE a.call_seq IS NOT NULL AND a.kind = 5 AND (r.seq IS NULL OR r.seq > a.seq)"
                   " LIMIT 1",
                   "a response to what nobody asked", err));
    TRY(check_none(verifier,
                   "SELECT r.seq FROM events r LEFT JOIN open_approvals o ON o.request_seq = r.seq"
                   " WHERE r.call_seq IS NOT NULL AND r.kind = 4"
                   "  AND NOT EXISTS (SELECT 1 FROM events a WHERE a.call_seq = r.call_seq AND a.kind = 5)"
                   "  AND (o.call_seq IS NOT r.call_seq OR o.session_id IS NOT r.session_id"
                   "   OR o.thread_id IS NOT r.thread_id OR o.call_id IS NOT r.call_id) LIMIT 1",
                   "asked and not answered, but not (or wrongly) on the list of open approvals", err));
    TRY(check_none(verifier,
                   "SELECT o.request_seq FROM open_approvals o"
                   " LEFT JOIN events r ON r.seq = o.request_seq AND r.kind = 4"
                   " WHERE r.seq IS NULL OR EXISTS"
                   "  (SELECT 1 FROM events a WHERE a.call_seq = r.call_seq AND a.kind = 5) LIMIT 1",
                   "on the list of open approvals, but not asked or answered already", err));
    int64_t open;
    TRY(sqlite_number(verifier->db, "SELECT count(*) FROM open_approvals", &open, err));
    verifier->check->open = (uint64_t)open;
    return RC_OK;
}

static struct rc check_structure(struct verifier *verifier, struct err *err)
{
    STATEMENT_SCOPE(rows);
    bool row;
    if (blamed(verifier))
        return RC_OK;
    TRY(sqlite_schema_compare(verifier->db, verifier->path, err));
    TRY(sqlite_prepare(verifier->db, "PRAGMA integrity_check(1)", &rows, err));
    TRY(next_row(verifier, rows, &row, err));
    const char *said = row ? (const char *)sqlite3_column_text(rows, 0) : "nothing";
    if (said && strcmp(said, "ok") == 0)
        return RC_OK;
    return err_set(err, ERR_CORRUPT, "%s is damaged (%s): restore a backup", verifier->path,
                   said ? said : "out of memory");
}

static struct rc check_all(struct verifier *verifier, struct err *err)
{
    bool end = false;
    while (!end && !blamed(verifier)) {
        TRY(sqlite_exec(verifier->db, "BEGIN", err));
        TRY(check_piece(verifier, &end, err));
        if (end && !blamed(verifier)) {
            TRY(check_heads(verifier, err));
            TRY(check_calls(verifier, err));
        }
        TRY(sqlite_exec(verifier->db, "COMMIT", err));
    }
    return check_structure(verifier, err);
}

/* ---- opening ---- */

static bool log_exists(const char *path)
{
    ARENA_SCOPE(arena);
    struct stat st;
    return stat(arena_printf(&arena, "%s-wal", path).p, &st) == 0 && st.st_size > 0;
}

/* "file:…?immutable=1" with whatever SQLite would take for syntax written in hexadecimal. */
static const char *immutable_url(struct arena *arena, const char *path)
{
    struct buf url = buf_init(3 * LIMIT_PATH_BYTES);
    buf_puts(&url, "file:");
    for (const char *c = path; *c; c++) {
        if (strchr("%?#", *c))
            buf_printf(&url, "%%%02X", (unsigned)*c);
        else
            buf_putc(&url, *c);
    }
    buf_puts(&url, "?immutable=1");
    const char *copy = arena_c(arena, buf_str(&url));
    buf_done(&url);
    return copy;
}

/* Without a log nobody has the database open, and reading it must leave no trace beside it. */
static struct rc open_read_only(struct verifier *verifier, bool immutable, struct err *err)
{
    ARENA_SCOPE(arena);
    struct stat st;
    if (stat(verifier->path, &st) != 0)
        return err_set(err, ERR_NOT_FOUND, "there is no database at %s", verifier->path);
    const char *name = immutable ? immutable_url(&arena, verifier->path) : verifier->path;
    int code = sqlite3_open_v2(name, &verifier->db,
                               SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
                                   (immutable ? SQLITE_OPEN_URI : 0), NULL);
    if (code != SQLITE_OK)
        return sqlite_fail(verifier->db, code, verifier->path, err);
    CHECK(sqlite3_busy_timeout(verifier->db, 5000) == SQLITE_OK);
    CHECK(sqlite3_db_config(verifier->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL) == SQLITE_OK);
    return sqlite_exec(verifier->db, "PRAGMA cache_size = -64000", err); /* calls are looked up all over */
}

static struct rc verify_once(const char *path, bool immutable, struct store_check *ret_check, struct err *err)
{
    __attribute__((cleanup(verifier_done))) struct verifier verifier = {
        .path = path, .next_seq = 1, .check = ret_check,
    };
    int version;
    *ret_check = (struct store_check){0};
    TRY(open_read_only(&verifier, immutable, err));
    TRY(sqlite_schema_recognise(verifier.db, path, err));
    TRY(sqlite_schema_version(verifier.db, path, &version, err));
    if (version == 0)
        return RC_OK; /* nothing was ever kept here */
    if (!sqlite_schema_is_current(version))
        return err_set(err, ERR_CONFLICT, "%s has version %d: start nod serve once to bring it up to date",
                       path, version);
    return check_all(&verifier, err);
}

struct rc sqlite_verify(const char *place, struct store_check *ret_check, struct err *err)
{
    bool immutable = !log_exists(place);
    struct rc rc = verify_once(place, immutable, ret_check, err);
    /* A server may have started meanwhile and changed what was taken to be immutable. */
    if (immutable && (rc_bad(rc) || ret_check->bad_seq) && log_exists(place))
        rc = verify_once(place, false, ret_check, err);
    return rc;
}
