/* A SQLite store in a folder of its own, and the database itself behind the store's back. */
#ifndef TESTS_SQLITE_RIG_H
#define TESTS_SQLITE_RIG_H

#include "store_rig.h"

#include <sqlite3.h>

static inline int set_up(void **state)
{
    struct rig *rig = calloc(1, sizeof *rig);
    rig_init(rig, "sqlite");
    *state = rig;
    return 0;
}

static inline int tear_down(void **state)
{
    rig_done(*state);
    free(*state);
    return 0;
}

static inline const char *path_of(const struct rig *rig, const char *name)
{
    static char path[160];
    (void)snprintf(path, sizeof path, "%s/%s", rig->folder, name);
    return path;
}

/* Behind the store's back. */
static inline void run_sql(const struct rig *rig, const char *text)
{
    sqlite3 *db;
    char *said = NULL;
    assert_int_equal(sqlite3_open(path_of(rig, "nod.db"), &db), SQLITE_OK);
    if (sqlite3_exec(db, text, NULL, NULL, &said) != SQLITE_OK)
        fail_msg("%s: %s", text, said);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* The first column of the first row. */
static inline int64_t ask_sql(const struct rig *rig, const char *text)
{
    sqlite3 *db;
    sqlite3_stmt *row;
    assert_int_equal(sqlite3_open(path_of(rig, "nod.db"), &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, text, -1, &row, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    int64_t value = sqlite3_column_int64(row, 0);
    assert_int_equal(sqlite3_finalize(row), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return value;
}

/* The backend by itself, as a thread of the store uses it. */
static inline const struct backend *open_backend(const struct rig *rig, enum backend_role role,
                                                 struct backend_handle **ret_handle)
{
    struct err err = {0};
    const char *place;
    const struct backend *backend = backend_find(rig->url, &place);
    assert_true(rc_ok(backend->open(place, role, ret_handle, &err)));
    return backend;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
