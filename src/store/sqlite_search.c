/* The full-text index (store_search.h) as an FTS5 table of trigrams without its contents.
 *
 * A call's own text has the row 2 * seq, its answer the row after it: so rows are in the order of calls. Texts that are
 * very large are not taken apart; their calls are hits of every search.
 */
#include "store/sqlite.h"

#include "base/buf.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    VERSION = 1,
    BUSY_MS = 2000,
    TEXT_BYTES_MAX = 256 * 1024,
    TRIGRAMS_MAX = 64, /* of what is searched for; the rest is left to the comparison */
};

/* The index of one store; used by one worker at a time. */
struct search_index {
    struct sqlite3 *db;
    uint64_t last_seq;
    struct digest last_hash;
    char path[];
};

static const char schema[] =
    "CREATE TABLE last(one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL, hash BLOB NOT NULL) STRICT;"
    "CREATE TABLE calls(call_id TEXT NOT NULL, session_id TEXT NOT NULL, seq INTEGER NOT NULL,"
    " PRIMARY KEY(call_id, session_id)) STRICT, WITHOUT ROWID;"
    "CREATE UNIQUE INDEX calls_by_seq ON calls(seq);"
    "CREATE TABLE large(seq INTEGER PRIMARY KEY) STRICT;"
    "CREATE VIRTUAL TABLE texts USING fts5(text, content='', detail='none', columnsize=0, tokenize='trigram');"
    "PRAGMA user_version = 1";

/* ---- the file ---- */

static struct rc open_file(struct search_index *index, struct err *err)
{
    int code = sqlite3_open_v2(index->path, &index->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
                               SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOFOLLOW, NULL);
    if (code != SQLITE_OK)
        return sqlite_fail(index->db, code, index->path, err);
    CHECK(sqlite3_busy_timeout(index->db, BUSY_MS) == SQLITE_OK);
    return RC_OK;
}

static struct rc read_last(struct search_index *index, struct err *err)
{
    STATEMENT_SCOPE(statement);
    TRY(sqlite_prepare(index->db, "SELECT seq, hash FROM last", &statement, err));
    int code = sqlite3_step(statement);
    index->last_seq = 0;
    if (code == SQLITE_ROW && sqlite_digest(statement, 1, &index->last_hash))
        index->last_seq = (uint64_t)sqlite3_column_int64(statement, 0);
    return code == SQLITE_ROW || code == SQLITE_DONE ? RC_OK : sqlite_fail(index->db, code, index->path, err);
}

/* *ret_usable is false for a file that must be made anew. */
static struct rc look(struct search_index *index, bool *ret_usable, struct err *err)
{
    int64_t version, tables;
    *ret_usable = false;
    TRY(sqlite_number(index->db, "PRAGMA user_version", &version, err));
    TRY(sqlite_number(index->db, "SELECT count(*) FROM sqlite_schema", &tables, err));
    if (tables == 0) {
        TRY(sqlite_exec(index->db, "BEGIN IMMEDIATE", err));
        TRY(sqlite_exec(index->db, schema, err));
        TRY(sqlite_exec(index->db, "COMMIT", err));
    } else if (version != VERSION) {
        return RC_OK;
    }
    TRY(read_last(index, err));
    *ret_usable = true;
    return RC_OK;
}

static void drop_file(struct search_index *index)
{
    ARENA_SCOPE(arena);
    (void)sqlite3_close(index->db);
    index->db = NULL;
    (void)unlink(index->path);
    (void)unlink(arena_printf(&arena, "%s-journal", index->path).p);
}

/* A file that turns out to be damaged is not used again. */
static struct rc drop_if_damaged(struct search_index *index, struct rc rc, const struct err *err)
{
    if (rc_bad(rc) && err->code == ERR_CORRUPT)
        drop_file(index);
    return rc;
}

static struct rc open_or_make(struct search_index *index, struct err *err)
{
    bool usable = false;
    TRY(open_file(index, err));
    struct rc rc = look(index, &usable, err);
    if (rc_bad(rc) ? err->code != ERR_CORRUPT : usable)
        return rc;
    drop_file(index);
    TRY(open_file(index, err));
    return look(index, &usable, err);
}

struct rc search_index_open(const char *path, struct search_index **ret_index, struct err *err)
{
    size_t n = strlen(path) + 1;
    struct search_index *index = heap_new(sizeof *index + n);
    memcpy(index->path, path, n);
    struct rc rc = open_or_make(index, err);
    if (rc_bad(rc)) {
        search_index_close(index);
        return rc;
    }
    *ret_index = index;
    return RC_OK;
}

void search_index_close(struct search_index *index)
{
    if (!index)
        return;
    (void)sqlite3_close(index->db);
    free(index);
}

uint64_t search_index_last(const struct search_index *index) { return index->last_seq; }

/* ---- adding ---- */

/* The statements of one adding; prepared once for all its events. */
struct adding {
    struct search_index *index;
    struct sqlite3_stmt *call, *of_call, *large, *text, *last;
};

static void adding_done(struct adding *adding)
{
    sqlite_finalize(&adding->call);
    sqlite_finalize(&adding->of_call);
    sqlite_finalize(&adding->large);
    sqlite_finalize(&adding->text);
    sqlite_finalize(&adding->last);
}

static void bind_text(struct sqlite3_stmt *statement, int at, struct str text)
{
    CHECK(sqlite3_bind_text(statement, at, text.p ? text.p : "", (int)text.n, SQLITE_STATIC) == SQLITE_OK);
}

static struct rc finish_step(struct adding *adding, struct sqlite3_stmt *statement, struct err *err)
{
    int code = sqlite3_step(statement);
    (void)sqlite3_reset(statement);
    return code == SQLITE_DONE ? RC_OK : sqlite_fail(adding->index->db, code, adding->index->path, err);
}

static struct rc add_text(struct adding *adding, uint64_t seq, bool is_answer, struct str text, struct err *err)
{
    bool large = text.n > TEXT_BYTES_MAX;
    struct sqlite3_stmt *statement = large ? adding->large : adding->text;
    CHECK(sqlite3_bind_int64(statement, 1, (int64_t)(large ? seq : 2 * seq + is_answer)) == SQLITE_OK);
    if (!large)
        bind_text(statement, 2, text);
    return finish_step(adding, statement, err);
}

static struct rc add_call(struct adding *adding, const struct event *event, struct err *err)
{
    ARENA_SCOPE(arena);
    bind_text(adding->call, 1, event->call);
    bind_text(adding->call, 2, event->session);
    CHECK(sqlite3_bind_int64(adding->call, 3, (int64_t)event->seq) == SQLITE_OK);
    TRY(finish_step(adding, adding->call, err));
    struct str text = event->data.n > TEXT_BYTES_MAX
                          ? event->data
                          : arena_printf(&arena, "%.*s\n%.*s", STR_ARG(event->data), STR_ARG(event->actor));
    return add_text(adding, event->seq, false, text, err);
}

/* An answer whose call was archived before the index came by has no row. */
static struct rc add_answer(struct adding *adding, const struct event *event, struct err *err)
{
    bind_text(adding->of_call, 1, event->call);
    bind_text(adding->of_call, 2, event->session);
    int code = sqlite3_step(adding->of_call);
    uint64_t seq = code == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(adding->of_call, 0) : 0;
    (void)sqlite3_reset(adding->of_call);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        return sqlite_fail(adding->index->db, code, adding->index->path, err);
    return seq ? add_text(adding, seq, true, event->data, err) : RC_OK;
}

static struct rc add_all(struct adding *adding, const struct event *events, size_t count, struct err *err)
{
    struct sqlite3 *db = adding->index->db;
    TRY(sqlite_prepare(db, "INSERT INTO calls(call_id, session_id, seq) VALUES(?1, ?2, ?3)", &adding->call, err));
    TRY(sqlite_prepare(db, "SELECT seq FROM calls WHERE call_id = ?1 AND session_id = ?2", &adding->of_call, err));
    TRY(sqlite_prepare(db, "INSERT OR IGNORE INTO large(seq) VALUES(?1)", &adding->large, err));
    TRY(sqlite_prepare(db, "INSERT INTO texts(rowid, text) VALUES(?1, ?2)", &adding->text, err));
    TRY(sqlite_prepare(db, "INSERT OR REPLACE INTO last(one, seq, hash) VALUES(1, ?1, ?2)", &adding->last, err));
    for (size_t i = 0; i < count; i++)
        TRY((events[i].kind == EVENT_TOOL_CALL ? add_call : add_answer)(adding, &events[i], err));
    struct digest hash = chain_next(&(struct digest){0}, &events[count - 1]);
    CHECK(sqlite3_bind_int64(adding->last, 1, (int64_t)events[count - 1].seq) == SQLITE_OK);
    CHECK(sqlite3_bind_blob(adding->last, 2, hash.bytes, DIGEST_BYTES, SQLITE_STATIC) == SQLITE_OK);
    return finish_step(adding, adding->last, err);
}

static struct rc add_as_one(struct search_index *index, const struct event *events, size_t count, struct err *err)
{
    __attribute__((cleanup(adding_done))) struct adding adding = {.index = index};
    TRY(sqlite_exec(index->db, "BEGIN IMMEDIATE", err));
    struct rc rc = add_all(&adding, events, count, err);
    if (rc_ok(rc))
        rc = sqlite_exec(index->db, "COMMIT", err);
    if (rc_bad(rc) && !sqlite3_get_autocommit(index->db))
        (void)sqlite_exec(index->db, "ROLLBACK", NULL).code;
    return rc;
}

/* `events` begins with the last event that was indexed: if it is not the same, the store is another one, and
 * the index is made anew. */
struct rc search_index_add(struct search_index *index, const struct event *events, size_t count, bool *ret_same,
                           struct err *err)
{
    *ret_same = true;
    if (index->last_seq) {
        struct digest hash = count ? chain_next(&(struct digest){0}, &events[0]) : (struct digest){0};
        if (!count || events[0].seq != index->last_seq || !digest_eq(&hash, &index->last_hash)) {
            *ret_same = false;
            drop_file(index);
            return open_or_make(index, err);
        }
        events++;
        count--;
    }
    if (!count)
        return RC_OK;
    TRY(drop_if_damaged(index, add_as_one(index, events, count, err), err));
    return read_last(index, err);
}

/* ---- finding ---- */

/* Every three characters in a row, as one expression of FTS5. */
static struct str expression_of(struct arena *arena, struct str text)
{
    BUF_SCOPE(buf, 1 << 16);
    size_t begins[SEARCH_CHARACTERS_MIN] = {0}, characters = 0;
    for (size_t at = 0; at < text.n && characters < TRIGRAMS_MAX + SEARCH_CHARACTERS_MIN - 1; characters++) {
        begins[characters % SEARCH_CHARACTERS_MIN] = at;
        do
            at++;
        while (at < text.n && ((unsigned char)text.p[at] & 0xc0) == 0x80);
        if (characters + 1 < SEARCH_CHARACTERS_MIN)
            continue;
        buf_puts(&buf, buf.n ? " AND \"" : "\"");
        for (size_t i = begins[(characters + 1) % SEARCH_CHARACTERS_MIN]; i < at; i++) {
            if (text.p[i] == '"')
                buf_putc(&buf, '"');
            buf_putc(&buf, text.p[i]);
        }
        buf_putc(&buf, '"');
    }
    return arena_str(arena, buf_str(&buf));
}

static struct rc find(struct search_index *index, struct arena *arena, struct str text, uint64_t before, size_t max,
                      struct search_hit **ret_hits, size_t *ret_count, struct err *err)
{
    STATEMENT_SCOPE(statement);
    struct search_hit *hits = arena_array(arena, struct search_hit, max);
    size_t count = 0;
    int64_t end = before && before < INT64_MAX / 2 ? (int64_t)before : INT64_MAX / 2;
    TRY(sqlite_prepare(index->db, "SELECT c.seq, c.session_id, c.call_id FROM"
                       " (SELECT rowid / 2 AS seq FROM (SELECT rowid FROM texts WHERE texts MATCH ?1 AND rowid < 2 * ?2"
                       "  ORDER BY rowid DESC LIMIT 2 * ?3)"
                       "  UNION SELECT * FROM (SELECT seq FROM large WHERE seq < ?2 ORDER BY seq DESC LIMIT ?3)) h"
                       " CROSS JOIN calls c ON c.seq = h.seq ORDER BY c.seq DESC LIMIT ?3", &statement, err));
    bind_text(statement, 1, expression_of(arena, text));
    CHECK(sqlite3_bind_int64(statement, 2, end) == SQLITE_OK);
    CHECK(sqlite3_bind_int64(statement, 3, (int64_t)max) == SQLITE_OK);
    int code = SQLITE_DONE;
    while (count < max && (code = sqlite3_step(statement)) == SQLITE_ROW)
        hits[count++] = (struct search_hit){.seq = (uint64_t)sqlite3_column_int64(statement, 0),
                                            .session = arena_str(arena, sqlite_str(statement, 1)),
                                            .call = arena_str(arena, sqlite_str(statement, 2))};
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        return sqlite_fail(index->db, code, index->path, err);
    *ret_hits = hits;
    *ret_count = count;
    return RC_OK;
}

struct rc search_index_find(struct search_index *index, struct arena *arena, struct str text, uint64_t before,
                            size_t max, struct search_hit **ret_hits, size_t *ret_count, struct err *err)
{
    return drop_if_damaged(index, find(index, arena, text, before, max, ret_hits, ret_count, err), err);
}
