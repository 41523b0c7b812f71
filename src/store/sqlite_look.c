/* Opens a database as a guest: read-only, without leaving files beside it. */
#include "base/buf.h"
#include "base/limits.h"
#include "store/sqlite.h"

#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>

enum { BUSY_MS = 5000 };

bool sqlite_log_exists(const char *path)
{
    ARENA_SCOPE(arena);
    struct stat st;
    return stat(arena_printf(&arena, "%s-wal", path).p, &st) == 0 && st.st_size > 0;
}

/* "file:…?immutable=1" with the characters that SQLite would take for syntax percent-encoded. */
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

/* `immutable`: nobody has the database open, so it is read without locks and without the files that a log
 * needs. */
struct rc sqlite_look(const char *path, bool immutable, struct sqlite3 **ret_db, struct err *err)
{
    ARENA_SCOPE(arena);
    struct stat st;
    if (stat(path, &st) != 0)
        return err_set(err, ERR_NOT_FOUND, "there is no database at %s", path);
    const char *name = immutable ? immutable_url(&arena, path) : path;
    int code = sqlite3_open_v2(name, ret_db,
                               SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
                                   (immutable ? SQLITE_OPEN_URI : 0), NULL);
    if (code != SQLITE_OK)
        return sqlite_fail(*ret_db, code, path, err);
    CHECK(sqlite3_busy_timeout(*ret_db, BUSY_MS) == SQLITE_OK);
    CHECK(sqlite3_db_config(*ret_db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL) == SQLITE_OK);
    /* Lookups of calls touch pages all over. */
    return sqlite_exec(*ret_db, "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -64000", err);
}

struct rc sqlite_is_archive(struct sqlite3 *db, bool *ret_archive, struct err *err)
{
    int64_t made;
    TRY(sqlite_number(db, "SELECT count(*) FROM meta WHERE name = 'archive_events'", &made, err));
    *ret_archive = made != 0;
    return RC_OK;
}
