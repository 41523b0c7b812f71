/* Writing an archive: the tables of the store, filled once, in one transaction, without a log.
 *
 * A crash leaves half a file, under a name that nobody looks for. The file is complete by the sync at the end,
 * and trusted only after it was read back and verified; then it gets its name.
 */
#include "store/archive_file.h"

#include "io/file.h"
#include "store/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* An archive that is being filled; not usable before archive_file_end. */
struct archive_file {
    struct sqlite3 *db;
    struct sqlite3_stmt *event, *head;
    char *path;
    uint64_t events, sessions;
};

static struct rc make_file(const char *path, struct err *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_set(err, ERR_IO, "cannot create %s: %s", path, strerror(errno));
    (void)close(fd);
    return RC_OK;
}

/* No journal and no syncs while it is filled: the file counts only when archive_file_end has synced it. */
static struct rc begin(struct archive_file *file, struct err *err)
{
    TRY(make_file(file->path, err));
    int code = sqlite3_open_v2(file->path, &file->db,
                               SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
    if (code != SQLITE_OK)
        return sqlite_fail(file->db, code, file->path, err);
    TRY(sqlite_exec(file->db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -16000", err));
    TRY(sqlite_schema_migrate(file->db, file->path, err));
    TRY(sqlite_exec(file->db, "BEGIN", err));
    TRY(sqlite_prepare(file->db, "INSERT INTO events(" EVENT_COLUMNS ", hash, chain, call_seq)"
                       " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)", &file->event, err));
    return sqlite_prepare(file->db, "INSERT INTO chains(session_id, first_seq, last_seq, changed_seq, hash, no)"
                          " VALUES(?1, ?2, ?3, ?4, ?5, ?6)", &file->head, err);
}

struct rc archive_file_new(const char *path, struct archive_file **ret_file, struct err *err)
{
    struct archive_file *file = heap_new(sizeof *file);
    file->path = heap_new(strlen(path) + 1);
    memcpy(file->path, path, strlen(path) + 1);
    struct rc rc = begin(file, err);
    if (rc_bad(rc)) {
        archive_file_free(file);
        return rc;
    }
    *ret_file = file;
    return RC_OK;
}

static void bind_text(struct sqlite3_stmt *statement, int at, struct str text)
{
    CHECK(sqlite3_bind_text64(statement, at, text.p ? text.p : "", text.n, SQLITE_STATIC, SQLITE_UTF8) == SQLITE_OK);
}

static void bind_number(struct sqlite3_stmt *statement, int at, uint64_t value)
{
    CHECK(sqlite3_bind_int64(statement, at, (int64_t)value) == SQLITE_OK);
}

static void bind_hash(struct sqlite3_stmt *statement, int at, const struct digest *hash)
{
    CHECK(sqlite3_bind_blob(statement, at, hash->bytes, DIGEST_BYTES, SQLITE_STATIC) == SQLITE_OK);
}

static struct rc put(struct archive_file *file, struct sqlite3_stmt *statement, struct err *err)
{
    int code = sqlite3_step(statement);
    struct rc rc = code == SQLITE_DONE ? RC_OK : sqlite_fail(file->db, code, file->path, err);
    (void)sqlite3_reset(statement);
    CHECK(sqlite3_clear_bindings(statement) == SQLITE_OK);
    return rc;
}

struct rc archive_file_event(struct archive_file *file, const struct filed_event *filed, struct err *err)
{
    const struct event *event = &filed->event;
    CHECK(filed->hash && filed->chain > 0);
    bind_number(file->event, 1, event->seq);
    bind_text(file->event, 2, event->session);
    bind_text(file->event, 3, event->thread);
    bind_number(file->event, 4, event->kind);
    bind_number(file->event, 5, (uint64_t)event->at_ms);
    bind_text(file->event, 6, event->actor);
    if (!str_empty(event->call))
        bind_text(file->event, 7, event->call);
    bind_text(file->event, 8, event->data);
    if (event->no)
        bind_number(file->event, 9, event->no);
    bind_hash(file->event, 10, filed->hash);
    bind_number(file->event, 11, (uint64_t)filed->chain);
    if (filed->call_seq)
        bind_number(file->event, 12, (uint64_t)filed->call_seq);
    TRY(put(file, file->event, err));
    file->events++;
    return RC_OK;
}

struct rc archive_file_head(struct archive_file *file, const struct filed_head *head, struct err *err)
{
    bind_text(file->head, 1, head->session);
    bind_number(file->head, 2, head->first_seq);
    bind_number(file->head, 3, head->last_seq);
    bind_number(file->head, 4, head->changed_seq);
    bind_hash(file->head, 5, head->hash);
    bind_number(file->head, 6, head->no);
    TRY(put(file, file->head, err));
    file->sessions++;
    return RC_OK;
}

struct rc archive_file_drop(struct archive_file *file, uint64_t chain, struct err *err)
{
    char text[80];
    (void)snprintf(text, sizeof text, "DELETE FROM events WHERE chain = %llu", (unsigned long long)chain);
    TRY(sqlite_exec(file->db, text, err));
    file->events -= (uint64_t)sqlite3_changes64(file->db);
    return RC_OK;
}

static void close_all(struct archive_file *file)
{
    sqlite_finalize(&file->event);
    sqlite_finalize(&file->head);
    file->event = file->head = NULL;
    CHECK(sqlite3_close(file->db) == SQLITE_OK);
    file->db = NULL;
}

struct rc archive_file_end(struct archive_file *file, struct err *err)
{
    char text[200];
    (void)snprintf(text, sizeof text,
                   "INSERT INTO meta VALUES('archive_events', %llu), ('archive_sessions', %llu); COMMIT",
                   (unsigned long long)file->events, (unsigned long long)file->sessions);
    TRY(sqlite_schema_fill(file->db, err));
    TRY(sqlite_exec(file->db, text, err));
    close_all(file);
    return file_sync(file->path, err);
}

static void close_look(struct sqlite3 **db) { (void)sqlite3_close(*db); }

struct rc archive_file_recognise(const char *path, struct err *err)
{
    __attribute__((cleanup(close_look))) struct sqlite3 *db = NULL;
    bool archive = false;
    int version;
    TRY(sqlite_look(path, true, &db, err));
    TRY(sqlite_schema_recognise(db, path, err));
    TRY(sqlite_schema_version(db, path, &version, err));
    if (version > 0)
        TRY(sqlite_is_archive(db, &archive, err));
    return archive ? RC_OK : err_set(err, ERR_INVALID, "%s is not an archive", path);
}

void archive_file_free(struct archive_file *file)
{
    if (!file)
        return;
    close_all(file);
    free(file->path);
    free(file);
}
