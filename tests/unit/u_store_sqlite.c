/* The statements of the SQLite backend find what they look for by an index, at any size of the store; a start knows the
 * tables of its version by their digest. */
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

static void no_statement_walks_through_all_events(void **state)
{
    (void)state;
    static const char *const files[] = {"nod.db", "nod.db-wal", "nod.db-shm", "nod.lock"};
    char folder[] = "/tmp/nod-plans-XXXXXX", path[64], file[80], url[80];
    const char *place;
    struct backend_handle *writer;
    struct err err = {0};
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/nod.db", folder);
    (void)snprintf(url, sizeof url, "sqlite:%s", path);
    const struct backend *backend = backend_find(url, &place);
    assert_non_null(backend);
    assert_string_equal(place, path);
    assert_int_equal(backend->open(place, BACKEND_WRITER, &writer, &err).code, ERR_OK);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        check_plan(sqlite_of(writer)->db, i);
    check_digest(sqlite_of(writer)->db);
    backend->close(writer);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        (void)snprintf(file, sizeof file, "%s/%s", folder, files[i]);
        (void)unlink(file);
    }
    assert_int_equal(rmdir(folder), 0);
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
        cmocka_unit_test(unknown_stores_are_not_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
