/* The log's writes, gathered, and its file grown in steps.
 *
 * SQLite writes each page of a commit to its log with two system calls; for a group of appends that is some
 * hundred of them, and more time than all the rest. This layer between SQLite and its own file layer keeps
 * the bytes of consecutive writes to the log and writes them as one piece: when a sync is asked for (with
 * synchronous=FULL every commit asks before anyone may see it), when something is read from the log, or
 * when the buffer is full. All other files are SQLite's own affair.
 *
 * Overwriting blocks that exist syncs in little more than half the time of growing a file, because no block
 * has to be found and no size be kept. So whenever the log grows, some zeros are written behind it: to
 * SQLite they are as good as nothing, as what is left of an older log would be.
 *
 * The header of a log that this process has made is not synced by itself, as SQLite asks for, but with the first
 * commit. It must be synced alone where frames of an older log lie behind it: an old header would make them valid again
 * beside new ones. Behind that of a new file there is nothing. Behind that of a file that was truncated there is, until
 * the truncation is on the disk.
 *
 * A write that fails when it is at last done fails the sync, and with it the commit. The gathered bytes are dropped
 * then: SQLite writes those pages again, or never. When the sync itself fails, the commit stands in the file as if
 * it were good, and a crash now would bring to life what we are about to call failed; so it is made invalid by
 * overwriting where it begins.
 */
#include "store/sqlite.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>

enum {
    GATHERED_BYTES = 64 << 10, /* SQLite's default VFS writes at most 128 KiB at once */
    STEP_BYTES = 256 << 10,
    FRAME_HEADER_BYTES = 24,
    LOG_HEADER_BYTES = 32,
};

/* Followed in memory by the file of the layer below. */
struct log_file {
    sqlite3_file sqlite;
    char *bytes;
    size_t n;
    sqlite3_int64 at;       /* offset of bytes[0] in the file */
    sqlite3_int64 end;      /* size of the file when it was last extended */
    bool made;              /* it was not there before it was opened, and nothing was written to it */
    sqlite3_int64 unsynced; /* where the first write since the last sync began, -1: there was none */
};

static sqlite3_file *below(sqlite3_file *file) { return (sqlite3_file *)((struct log_file *)file + 1); }

/* Fills the log with zeros ahead of its use. An error is ignored: the disk may have no room for it. */
static void write_zeros(struct log_file *log)
{
    static const char zeros[GATHERED_BYTES];
    sqlite3_file *file = below(&log->sqlite);
    int code = SQLITE_OK;
    for (int n = 0; n < STEP_BYTES && code == SQLITE_OK; n += GATHERED_BYTES) {
        code = file->pMethods->xWrite(file, zeros, GATHERED_BYTES, log->end);
        if (code == SQLITE_OK)
            log->end += GATHERED_BYTES;
    }
}

/* Writes the gathered bytes at once. On failure they are dropped: SQLite gets the error and does not take the
 * commit for made. */
static int flush(sqlite3_file *file)
{
    struct log_file *log = (struct log_file *)file;
    size_t n = log->n;
    log->n = 0;
    if (n == 0)
        return SQLITE_OK;
    log->made = false;
    if (log->unsynced < 0)
        log->unsynced = log->at;
    int code = below(file)->pMethods->xWrite(below(file), log->bytes, (int)n, log->at);
    if (code == SQLITE_OK && log->at + (sqlite3_int64)n > log->end) {
        log->end = log->at + (sqlite3_int64)n;
        write_zeros(log);
    }
    return code;
}

/* Consecutive writes are gathered; one elsewhere in the file flushes first. */
static int log_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 at)
{
    struct log_file *log = (struct log_file *)file;
    size_t n = (size_t)count;
    if (log->n + n > GATHERED_BYTES || at != log->at + (sqlite3_int64)log->n) {
        int code = flush(file);
        if (code != SQLITE_OK)
            return code;
    }
    CHECK(n <= GATHERED_BYTES); /* a page at most */
    if (!log->bytes && !(log->bytes = malloc(GATHERED_BYTES)))
        return SQLITE_IOERR_NOMEM;
    if (log->n == 0)
        log->at = at;
    memcpy(log->bytes + log->n, bytes, n);
    log->n += n;
    return SQLITE_OK;
}

static int log_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 at)
{
    int code = flush(file);
    return code == SQLITE_OK ? below(file)->pMethods->xRead(below(file), bytes, count, at) : code;
}

/* Makes frames that could not be synced invalid: the zeros overwrite the salt in the header, which is never all
 * zeros, so SQLite ignores the frames when it next opens the log. */
static void invalidate_unsynced(struct log_file *log)
{
    static const char zeros[FRAME_HEADER_BYTES];
    sqlite3_file *file = below(&log->sqlite);
    if (log->unsynced >= 0)
        (void)!file->pMethods->xWrite(file, zeros, FRAME_HEADER_BYTES, log->unsynced);
}

/* All that the log has is its header, which is still gathered. Another process may have written more to the file. */
static bool is_header_alone(struct log_file *log)
{
    sqlite3_int64 bytes = -1;
    sqlite3_file *file = below(&log->sqlite);
    return log->made && log->at == 0 && log->n == LOG_HEADER_BYTES &&
           file->pMethods->xFileSize(file, &bytes) == SQLITE_OK && bytes == 0;
}

static int log_sync(sqlite3_file *file, int flags)
{
    struct log_file *log = (struct log_file *)file;
    if (is_header_alone(log))
        return SQLITE_OK;
    int code = flush(file);
    if (code == SQLITE_OK)
        code = below(file)->pMethods->xSync(below(file), flags);
    if (code != SQLITE_OK)
        invalidate_unsynced(log);
    log->unsynced = -1;
    return code;
}

static int log_truncate(sqlite3_file *file, sqlite3_int64 bytes)
{
    int code = flush(file);
    ((struct log_file *)file)->end = bytes;
    return code == SQLITE_OK ? below(file)->pMethods->xTruncate(below(file), bytes) : code;
}

static int log_size(sqlite3_file *file, sqlite3_int64 *ret_bytes)
{
    int code = flush(file);
    return code == SQLITE_OK ? below(file)->pMethods->xFileSize(below(file), ret_bytes) : code;
}

static int log_close(sqlite3_file *file)
{
    struct log_file *log = (struct log_file *)file;
    int flushed = flush(file);
    int closed = below(file)->pMethods->xClose(below(file));
    free(log->bytes);
    log->bytes = NULL;
    return flushed == SQLITE_OK ? closed : flushed;
}

static int log_lock(sqlite3_file *file, int level)
{
    return below(file)->pMethods->xLock(below(file), level);
}

static int log_unlock(sqlite3_file *file, int level)
{
    return below(file)->pMethods->xUnlock(below(file), level);
}

static int log_reserved(sqlite3_file *file, int *ret_reserved)
{
    return below(file)->pMethods->xCheckReservedLock(below(file), ret_reserved);
}

static int log_control(sqlite3_file *file, int what, void *arg)
{
    return below(file)->pMethods->xFileControl(below(file), what, arg);
}

static int log_sector(sqlite3_file *file) { return below(file)->pMethods->xSectorSize(below(file)); }

static int log_device(sqlite3_file *file)
{
    return below(file)->pMethods->xDeviceCharacteristics(below(file));
}

static const sqlite3_io_methods log_methods = {
    .iVersion = 1,
    .xClose = log_close,
    .xRead = log_read,
    .xWrite = log_write,
    .xTruncate = log_truncate,
    .xSync = log_sync,
    .xFileSize = log_size,
    .xLock = log_lock,
    .xUnlock = log_unlock,
    .xCheckReservedLock = log_reserved,
    .xFileControl = log_control,
    .xSectorSize = log_sector,
    .xDeviceCharacteristics = log_device,
};

static sqlite3_vfs *usual;
static sqlite3_vfs gathering;

/* Only the log gets our methods; every other file is opened by SQLite's own layer. */
static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret_flags)
{
    (void)vfs;
    if (!(flags & SQLITE_OPEN_WAL))
        return usual->xOpen(usual, name, file, flags, ret_flags);
    struct log_file *log = (struct log_file *)file;
    int there = 1;
    (void)usual->xAccess(usual, name, SQLITE_ACCESS_EXISTS, &there);
    *log = (struct log_file){.unsynced = -1, .made = !there};
    int code = usual->xOpen(usual, name, below(file), flags, ret_flags);
    if (code != SQLITE_OK)
        return code;
    log->sqlite.pMethods = &log_methods;
    return below(file)->pMethods->xFileSize(below(file), &log->end);
}

/* Once per process, before the first database is opened. */
static void prepare(void)
{
    /* Counting every allocation takes a lock that all connections share. Refused when SQLite is in use
     * already, which does no harm. */
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    /* No 20 pages at once for each database that is opened: most connections use fewer while they rest. */
    (void)sqlite3_config(SQLITE_CONFIG_PAGECACHE, NULL, 0, 0);
    usual = sqlite3_vfs_find(NULL);
    CHECK(usual);
    gathering = *usual;
    gathering.zName = "nod";
    gathering.szOsFile = usual->szOsFile + (int)sizeof(struct log_file);
    gathering.xOpen = open_file;
    gathering.pNext = NULL;
    CHECK(sqlite3_vfs_register(&gathering, 0) == SQLITE_OK);
}

const char *sqlite_log_layer(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    CHECK(pthread_once(&once, prepare) == 0);
    return gathering.zName;
}
