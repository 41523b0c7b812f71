/* Rows in memory as a table that SQL can read: "temp.nod_feed", with columns c0, c1, ...
 *
 * INSERT INTO ... SELECT ... FROM nod_feed takes any number of rows at once, and each value costs less than one that is
 * bound to a parameter. Only the writer's connection has the table, in its schema of temporary tables, where no other
 * program's table can take its place; it is empty but for the time of sqlite_feed. */
#include "store/sqlite.h"

#include "base/heap.h"

#include <sqlite3.h>
#include <stdlib.h>

struct feed_table {
    sqlite3_vtab sqlite;
    struct sqlite_handle *handle;
};

struct feed_cursor {
    sqlite3_vtab_cursor sqlite;
    size_t at;
};

static const struct sqlite_feed *feed_of(const sqlite3_vtab_cursor *cursor)
{
    return &((const struct feed_table *)cursor->pVtab)->handle->feed;
}

static int connect_table(sqlite3 *db, void *handle, int count, const char *const *arguments, sqlite3_vtab **ret_table,
                         char **ret_why)
{
    (void)count;
    (void)arguments;
    (void)ret_why;
    struct feed_table *table = heap_new(sizeof *table);
    table->handle = handle;
    *ret_table = &table->sqlite;
    int code = sqlite3_declare_vtab(db, "CREATE TABLE feed(c0, c1, c2, c3, c4)");
    return code == SQLITE_OK ? sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY) : code;
}

static int disconnect_table(sqlite3_vtab *table)
{
    free(table);
    return SQLITE_OK;
}

static int plan(sqlite3_vtab *table, sqlite3_index_info *info)
{
    (void)table;
    info->estimatedCost = 1;
    return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *table, sqlite3_vtab_cursor **ret_cursor)
{
    (void)table;
    struct feed_cursor *cursor = heap_new(sizeof *cursor);
    *ret_cursor = &cursor->sqlite;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *cursor)
{
    free(cursor);
    return SQLITE_OK;
}

/* From row `at` on, the first that is wanted. */
static void go_to(struct feed_cursor *cursor, size_t at)
{
    const struct sqlite_feed *feed = feed_of(&cursor->sqlite);
    while (at < feed->count && !feed->has(feed->rows[at]))
        at++;
    cursor->at = at;
}

static int first_row(sqlite3_vtab_cursor *cursor, int plan_number, const char *plan_name, int count,
                     sqlite3_value **values)
{
    (void)plan_number;
    (void)plan_name;
    (void)count;
    (void)values;
    go_to((struct feed_cursor *)cursor, 0);
    return SQLITE_OK;
}

static int next_row(sqlite3_vtab_cursor *cursor)
{
    go_to((struct feed_cursor *)cursor, ((struct feed_cursor *)cursor)->at + 1);
    return SQLITE_OK;
}

static int is_over(sqlite3_vtab_cursor *cursor)
{
    return ((struct feed_cursor *)cursor)->at >= feed_of(cursor)->count;
}

static int tell_value(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column)
{
    const struct sqlite_feed *feed = feed_of(cursor);
    feed->tell(context, feed->rows[((struct feed_cursor *)cursor)->at], column);
    return SQLITE_OK;
}

static int tell_number(sqlite3_vtab_cursor *cursor, sqlite3_int64 *ret_number)
{
    *ret_number = (sqlite3_int64)((struct feed_cursor *)cursor)->at;
    return SQLITE_OK;
}

static const sqlite3_module feed_module = {
    .xCreate = connect_table,
    .xConnect = connect_table,
    .xBestIndex = plan,
    .xDisconnect = disconnect_table,
    .xDestroy = disconnect_table,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = first_row,
    .xNext = next_row,
    .xEof = is_over,
    .xColumn = tell_value,
    .xRowid = tell_number,
};

struct rc sqlite_feed_begin(struct sqlite_handle *handle, struct err *err)
{
    int code = sqlite3_create_module(handle->db, "nod_feed", &feed_module, handle);
    if (code != SQLITE_OK)
        return sqlite_fail(handle->db, code, handle->path, err);
    return sqlite_exec(handle->db, "CREATE VIRTUAL TABLE temp.nod_feed USING nod_feed", err);
}

struct rc sqlite_feed(struct sqlite_handle *handle, enum sqlite_sql sql, struct sqlite_feed feed, struct err *err)
{
    handle->feed = feed;
    struct rc rc = sqlite_run(handle, sql, err);
    handle->feed = (struct sqlite_feed){0};
    return rc;
}
