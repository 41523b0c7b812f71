/* The database of a new store: made in memory, where nothing is synced, and put into its place as one file.
 *
 * So there is no moment at which the place holds a part of it. A process that dies, or a power cut, leaves all of it,
 * or none and the next start makes another one. It is on the disk, with its name, before anybody opens it: what is
 * kept later goes into the log beside it, which counts for nothing without it. */
#include "store/sqlite.h"

#include "io/file.h"

#include <sqlite3.h>
#include <errno.h>
#include <sys/stat.h>

/* Two bytes of the file's header: which programs may write and read it. */
enum { HEADER_WRITE_VERSION = 18, HEADER_READ_VERSION = 19, VERSION_OF_WAL = 2 };

static void close_database(struct sqlite3 **db) { (void)sqlite3_close(*db); }
static void free_bytes(unsigned char **bytes) { sqlite3_free(*bytes); }

/* The name becomes durable with the folder that lists it. */
static struct rc sync_folder(const char *path, struct err *err)
{
    ARENA_SCOPE(arena);
    struct str folder = str_of(path);
    while (folder.n && folder.p[folder.n - 1] != '/')
        folder.n--;
    return file_sync(folder.n ? arena_c(&arena, folder) : ".", err);
}

/* SQLite would write the mark of a database with a log by a transaction with a journal; here it is set in memory. */
struct rc sqlite_make(const char *path, struct err *err)
{
    __attribute__((cleanup(close_database))) struct sqlite3 *db = NULL;
    __attribute__((cleanup(free_bytes))) unsigned char *bytes = NULL;
    struct stat st;
    sqlite3_int64 n = 0;
    if (lstat(path, &st) == 0 || errno != ENOENT)
        return RC_OK;
    int code = sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
                               sqlite_log_layer());
    if (code != SQLITE_OK)
        return sqlite_fail(db, code, path, err);
    TRY(sqlite_schema_migrate(db, path, err));
    bytes = sqlite3_serialize(db, "main", &n, 0);
    if (!bytes)
        return sqlite_fail(db, SQLITE_NOMEM, path, err);
    bytes[HEADER_WRITE_VERSION] = bytes[HEADER_READ_VERSION] = VERSION_OF_WAL;
    TRY(file_write_private(path, (struct str){(const char *)bytes, (size_t)n}, err));
    return sync_folder(path, err);
}
