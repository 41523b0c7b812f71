/* The checkpointer leaves nothing of what it copies to the writer's sync, for which appends wait. */
#include "sqlite_layer.h"
#include "sqlite_rig.h"

enum { COMMITS = 8, FILES = 16 };

static sqlite3_file *databases[FILES]; /* the open files of the database itself */
static unsigned written, unsynced; /* writes to it; those that were not synced yet */

static sqlite3_file **place_of(sqlite3_file *file)
{
    unsigned i = 0;
    while (i < FILES && databases[i] != file)
        i++;
    return i < FILES ? &databases[i] : NULL;
}

/* A file that is closed leaves its address to another one. */
static void opened(sqlite3_file *file, int flags)
{
    sqlite3_file **place = place_of(file);
    if (!place)
        place = place_of(NULL);
    assert_non_null(place);
    *place = flags & SQLITE_OPEN_MAIN_DB ? file : NULL;
}

static int counted_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 at)
{
    written += place_of(file) != NULL;
    unsynced += place_of(file) != NULL;
    return layer_below(file)->xWrite(file, bytes, count, at);
}

static int counted_sync(sqlite3_file *file, int flags)
{
    if (place_of(file))
        unsynced = 0;
    return layer_below(file)->xSync(file, flags);
}

static void count(sqlite3_io_methods *methods)
{
    methods->xWrite = counted_write;
    methods->xSync = counted_sync;
}

/* Each event fills most of a page, so that not all pages are written again by later ones. */
static void commit_some(const struct backend *backend, struct backend_handle *writer)
{
    static char data[3000];
    struct err err = {0};
    memset(data, 'x', sizeof data - 1);
    for (int i = 0; i < COMMITS; i++) {
        struct append *append = append_new();
        rig_event(append, EVENT_USER_MESSAGE, "s1", "", data);
        assert_true(rc_ok(backend->commit(writer, append, &err)));
        assert_int_equal(append->outcome, APPEND_KEPT);
        append_free(append);
    }
}

/* SQLite syncs the database by itself only when it has copied the whole log, which does not happen while commits go on.
 * Here another program needs the pages of the later ones. */
static void a_part_of_the_log_that_was_copied_is_synced(void **state)
{
    struct rig *rig = *state;
    struct err err = {0};
    struct backend_handle *writer, *checkpointer;
    sqlite3 *other;
    const struct backend *backend = open_backend(rig, BACKEND_WRITER, &writer);
    (void)open_backend(rig, BACKEND_CHECKPOINTER, &checkpointer);
    commit_some(backend, writer);
    assert_int_equal(sqlite3_open(path_of(rig, "nod.db"), &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN; SELECT max(seq) FROM events", NULL, NULL, NULL), SQLITE_OK);
    commit_some(backend, writer);
    unsigned before = written;
    assert_true(rc_ok(backend->tidy(checkpointer, &err)));
    assert_true(written > before);
    assert_int_equal(unsynced, 0);
    assert_int_equal(sqlite3_close(other), SQLITE_OK);
    backend->close(checkpointer);
    backend->close(writer);
    rig_verify_well(rig, 2 * COMMITS);
}

int main(void)
{
    if (!layer_register(count, opened))
        return 1;
    const struct CMUnitTest tests[] = {TEST(a_part_of_the_log_that_was_copied_is_synced)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
