/* The statements of the SQLite backend find what they look for by an index, at any size of the store; a start knows the
 * tables of its version by their digest; a reader can end what it has begun. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/sqlite.h"

#include <sqlite3.h>

static const struct {
    const char *name;
    const char *text;
} texts[] = {
#define X(name, roles, text) {#name, text},
    SQLITE_STATEMENTS(X)
#undef X
};

/* The index of runs has one entry per run status, not per event. */
static bool may_scan(const char *step)
{
    return !strstr(step, "SCAN events") || strstr(step, " INDEX runs");
}

static void check_plan(sqlite3 *db, size_t i)
{
    char explain[2048];
    sqlite3_stmt *statement;
    (void)snprintf(explain, sizeof explain, "EXPLAIN QUERY PLAN %s", texts[i].text);
    assert_int_equal(sqlite3_prepare_v2(db, explain, -1, &statement, NULL), SQLITE_OK);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        const char *step = (const char *)sqlite3_column_text(statement, 3);
        if (!may_scan(step))
            fail_msg("%s: %s", texts[i].name, step);
    }
    assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
}

static void check_digest(sqlite3 *db)
{
    char digest[DIGEST_HEX_BYTES] = "";
    if (!sqlite_schema_is_usual(db, digest))
        fail_msg("DESCRIPTION in sqlite_schema.c is to be %s", digest);
    assert_int_equal(sqlite3_exec(db, "CREATE INDEX more ON events(at_ms)", NULL, NULL, NULL), SQLITE_OK);
    assert_false(sqlite_schema_is_usual(db, digest));
}

/* A new store in a folder of its own. */
struct fresh {
    char folder[24], path[40], url[48];
    const struct backend *backend;
    struct backend_handle *writer;
};

static void make_fresh(struct fresh *fresh)
{
    const char *place;
    (void)snprintf(fresh->folder, sizeof fresh->folder, "/tmp/nod-plans-XXXXXX");
    assert_non_null(mkdtemp(fresh->folder));
    (void)snprintf(fresh->path, sizeof fresh->path, "%s/nod.db", fresh->folder);
    (void)snprintf(fresh->url, sizeof fresh->url, "sqlite:%s", fresh->path);
    fresh->backend = backend_find(fresh->url, &place);
    assert_non_null(fresh->backend);
    assert_string_equal(place, fresh->path);
    assert_int_equal(fresh->backend->open(place, BACKEND_WRITER, &fresh->writer, NULL).code, ERR_OK);
}

static void remove_fresh(struct fresh *fresh)
{
    static const char *const files[] = {"nod.db", "nod.db-wal", "nod.db-shm", "nod.lock"};
    char file[80];
    fresh->backend->close(fresh->writer);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        (void)snprintf(file, sizeof file, "%s/%s", fresh->folder, files[i]);
        (void)unlink(file);
    }
    assert_int_equal(rmdir(fresh->folder), 0);
}

static void no_statement_walks_through_all_events(void **state)
{
    (void)state;
    struct fresh fresh;
    make_fresh(&fresh);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        check_plan(sqlite_of(fresh.writer)->db, i);
    check_digest(sqlite_of(fresh.writer)->db);
    remove_fresh(&fresh);
}

/* A new store is made by one text, an old one is brought up to it by the steps: both have the same tables. */
static void the_steps_lead_to_the_tables_of_a_new_store(void **state)
{
    (void)state;
    sqlite3 *db;
    char digest[DIGEST_HEX_BYTES];
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_true(rc_ok(sqlite_schema_step(db, 0, sqlite_schema_known(), NULL)));
    assert_true(sqlite_schema_is_usual(db, digest));
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static bool may_end = true;

static int authorize(void *arg, int what, const char *operation, const char *b, const char *c, const char *d)
{
    (void)arg, (void)b, (void)c, (void)d;
    return what == SQLITE_TRANSACTION && !may_end && strcmp(operation, "BEGIN") != 0 ? SQLITE_DENY : SQLITE_OK;
}

static int watch_connection(sqlite3 *db, const char **ret_text, const void *routines)
{
    (void)ret_text;
    (void)routines;
    return sqlite3_set_authorizer(db, authorize, NULL);
}

static enum err_code read_some(const struct fresh *fresh, struct backend_handle *reader)
{
    struct read *read = read_new(READ_EVENTS);
    struct err err = {0};
    enum err_code code = fresh->backend->read(reader, read, &err).code;
    read_free(read);
    return code;
}

/* Nothing may be missing when a transaction is to end: one that stays open fails all that the reader does later. */
static void a_reader_ends_what_it_has_begun(void **state)
{
    (void)state;
    struct fresh fresh;
    struct backend_handle *reader;
    assert_int_equal(sqlite3_auto_extension((void (*)(void))watch_connection), SQLITE_OK);
    make_fresh(&fresh);
    assert_int_equal(fresh.backend->open(fresh.path, BACKEND_READER, &reader, NULL).code, ERR_OK);
    may_end = false; /* as when there is no memory left to prepare a statement */
    (void)read_some(&fresh, reader);
    may_end = true;
    assert_int_equal(read_some(&fresh, reader), ERR_OK);
    fresh.backend->close(reader);
    remove_fresh(&fresh);
    sqlite3_reset_auto_extension();
}

static void unknown_stores_are_not_found(void **state)
{
    (void)state;
    const char *place;
    assert_null(backend_find("", &place));
    assert_null(backend_find("sqlite", &place));
    assert_null(backend_find("sqlite:", &place));
    assert_null(backend_find("/tmp/nod.db", &place));
    assert_null(backend_find("sqlite3:/tmp/nod.db", &place));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_statement_walks_through_all_events),
        cmocka_unit_test(the_steps_lead_to_the_tables_of_a_new_store),
        cmocka_unit_test(a_reader_ends_what_it_has_begun),
        cmocka_unit_test(unknown_stores_are_not_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
