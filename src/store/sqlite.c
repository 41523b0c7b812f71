/* The SQLite backend: opening, closing, statements, errors, checkpoints.
 *
 * Checkpoints. SQLite would run one inside whichever COMMIT finds the log long, and every append of that
 * group would wait for it (p99 of tens of milliseconds where p50 is one). So the writer never does the
 * bulk: the checkpointer copies pages back and syncs them, on a connection of its own while commits go on. But
 * a passive checkpoint never catches up with a writer that does not pause, and the log could grow for ever; so when
 * little is left the writer does that rest itself, between two groups, and its next commit begins the log
 * anew. When the checkpointer cannot keep up at all, the writer waits for it. The file is not truncated when the
 * log begins anew, because overwriting blocks that exist syncs faster (sqlite_log.c).
 */
#include "store/sqlite.h"

#include "base/limits.h"
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    TIDY_FRAMES = 14000,         /* 56 MB of log: the checkpointer is asked */
    TIDY_COMMITS = 256,          /* so many in the log, and one more ... */
    COMMIT_FRAMES = 32,          /* ... for each so many frames: likewise, see is_long */
    LEFT_FRAMES = 500,           /* few enough for the writer to do between two groups */
    TIDY_PASSES = 4,
    STOP_FRAMES = 28000,         /* 112 MB of log: the writer waits for the checkpointer */
    LARGE_FRAMES = 16000,        /* an idle store truncates a write-ahead log of this size */
    BUSY_MS = 5000,              /* how long to wait for other tools that read the database */
};

/* ---- errors ---- */

/* Advice for a person, by SQLite's primary result code. */
#define SQLITE_FAILURES(X)                                                                              \
    X(SQLITE_FULL, ERR_UNAVAILABLE, "the disk is full")                                                 \
    X(SQLITE_IOERR, ERR_UNAVAILABLE, "the disk does not work as it should")                             \
    X(SQLITE_BUSY, ERR_UNAVAILABLE, "another program holds the database")                               \
    X(SQLITE_LOCKED, ERR_UNAVAILABLE, "another program holds the database")                             \
    X(SQLITE_PROTOCOL, ERR_UNAVAILABLE, "another program holds the database")                           \
    X(SQLITE_READONLY, ERR_UNAVAILABLE, "the database cannot be written to")                            \
    X(SQLITE_CANTOPEN, ERR_UNAVAILABLE, "a file of the database cannot be opened")                      \
    X(SQLITE_PERM, ERR_UNAVAILABLE, "the database may not be opened")                                   \
    X(SQLITE_NOMEM, ERR_UNAVAILABLE, "out of memory")                                                   \
    X(SQLITE_CONSTRAINT, ERR_CONFLICT, "this contradicts what was kept before")                         \
    X(SQLITE_CORRUPT, ERR_CORRUPT, "the database is damaged: restore a backup, `nod verify` tells more") \
    X(SQLITE_NOTADB, ERR_CORRUPT, "this is not a database: restore a backup or move the file away")

/* SQLite's code as one of ours, with the words for the person who runs the server. */
struct rc sqlite_fail(struct sqlite3 *db, int code, const char *doing, struct err *err)
{
    static const struct {
        int code;
        enum err_code err;
        const char *words;
    } failures[] = {
#define X(code, err, words) {code, err, words},
        SQLITE_FAILURES(X)
#undef X
    };
    int error = db ? sqlite3_system_errno(db) : 0;
    const char *detail = db ? sqlite3_errmsg(db) : sqlite3_errstr(code);
    for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++)
        if (failures[i].code == (code & 0xff))
            return err_set(err, failures[i].err, "%s: %s (%s%s%s)", doing, failures[i].words, detail,
                           error ? ", " : "", error ? strerror(error) : "");
    return err_set(err, ERR_INTERNAL, "%s: %s (%d)", doing, detail, code);
}

/* ---- statements ---- */

static const struct {
    unsigned roles;
    const char *text;
} statements[SQL_COUNT] = {
#define X(name, roles, text) [SQL_##name] = {roles, text},
    SQLITE_STATEMENTS(X)
#undef X
};

/* sqlite3_reset returns the error of the failed step once more. */
void sqlite_reset(struct sqlite_handle *handle, enum sqlite_sql sql)
{
    (void)sqlite3_reset(handle->statements[sql]);
}

/* A reader prepares a statement when it first uses it: most are for questions that are seldom asked. Those that end a
 * transaction it has from the start, as the writer has its own but for those of archives. */
static struct rc make_ready(struct sqlite_handle *handle, enum sqlite_sql sql, struct err *err)
{
    if (handle->statements[sql])
        return RC_OK;
    CHECK(statements[sql].roles & (handle->role == BACKEND_READER ? FOR_READER : FOR_ARCHIVE));
    return sqlite_prepare(handle->db, statements[sql].text, &handle->statements[sql], err);
}

/* NULL: it could not be prepared, and sqlite_step says why. */
struct sqlite3_stmt *sqlite_ready(struct sqlite_handle *handle, enum sqlite_sql sql)
{
    if (!handle->statements[sql] && rc_bad(make_ready(handle, sql, &(struct err){0})))
        handle->unready = true;
    return handle->statements[sql];
}

/* The same, for each value that is bound: without an error's room when the statement is there. */
static inline struct sqlite3_stmt *ready(struct sqlite_handle *handle, enum sqlite_sql sql)
{
    struct sqlite3_stmt *statement = handle->statements[sql];
    return statement ? statement : sqlite_ready(handle, sql);
}

/* What should have been bound to a statement that was not ready is lost, also when it can be prepared by now. */
static struct rc check_ready(struct sqlite_handle *handle, enum sqlite_sql sql, struct err *err)
{
    bool lost = handle->unready;
    handle->unready = false;
    TRY(make_ready(handle, sql, err));
    return lost ? err_set(err, ERR_UNAVAILABLE, "%s could not be read a moment ago", handle->path) : RC_OK;
}

/* Resets the statement at its end and after a failure; after a row the caller goes on or resets it. */
struct rc sqlite_step(struct sqlite_handle *handle, enum sqlite_sql sql, bool *ret_row, struct err *err)
{
    TRY(check_ready(handle, sql, err));
    int code = sqlite3_step(handle->statements[sql]);
    if (code == SQLITE_ROW) {
        *ret_row = true;
        return RC_OK;
    }
    if (code == SQLITE_DONE) {
        *ret_row = false;
        code = sqlite3_reset(handle->statements[sql]);
        if (code == SQLITE_OK)
            return RC_OK;
    }
    struct rc rc = sqlite_fail(handle->db, code, handle->path, err);
    sqlite_reset(handle, sql);
    return rc;
}

struct rc sqlite_run(struct sqlite_handle *handle, enum sqlite_sql sql, struct err *err)
{
    bool row;
    TRY(sqlite_step(handle, sql, &row, err));
    CHECK(!row);
    return RC_OK;
}

/* Binding bytes without a copy fails only by a programming error. */
void sqlite_bind_int(struct sqlite_handle *handle, enum sqlite_sql sql, int at, int64_t value)
{
    struct sqlite3_stmt *statement = ready(handle, sql);
    CHECK(!statement || sqlite3_bind_int64(statement, at, value) == SQLITE_OK);
}

void sqlite_bind_str(struct sqlite_handle *handle, enum sqlite_sql sql, int at, struct str value)
{
    struct sqlite3_stmt *statement = ready(handle, sql);
    CHECK(!statement || sqlite3_bind_text64(statement, at, value.p ? value.p : "", value.n, SQLITE_STATIC,
                                            SQLITE_UTF8) == SQLITE_OK);
}

void sqlite_bind_blob(struct sqlite_handle *handle, enum sqlite_sql sql, int at, const struct digest *value)
{
    struct sqlite3_stmt *statement = ready(handle, sql);
    CHECK(!statement || sqlite3_bind_blob(statement, at, value->bytes, DIGEST_BYTES, SQLITE_STATIC) == SQLITE_OK);
}

struct rc sqlite_prepare(struct sqlite3 *db, const char *text, struct sqlite3_stmt **ret_statement,
                         struct err *err)
{
    const char *path = sqlite3_db_filename(db, "main");
    int code = sqlite3_prepare_v3(db, text, -1, SQLITE_PREPARE_PERSISTENT, ret_statement, NULL);
    if (code == SQLITE_ERROR) /* our SQL is correct, so the database is damaged */
        return err_set(err, ERR_CORRUPT, "%s does not have the tables it should have (%s): restore a backup",
                       path, sqlite3_errmsg(db));
    return code == SQLITE_OK ? RC_OK : sqlite_fail(db, code, path, err);
}

void sqlite_finalize(struct sqlite3_stmt **statement) { (void)sqlite3_finalize(*statement); }

/* PRAGMA data_version says the same of others alone, but is a statement. */
void sqlite_note_version(struct sqlite_handle *handle)
{
    CHECK(sqlite3_file_control(handle->db, "main", SQLITE_FCNTL_DATA_VERSION, &handle->data_version) == SQLITE_OK);
}

void sqlite_notice_others(struct sqlite_handle *handle)
{
    unsigned noted = handle->data_version;
    sqlite_note_version(handle);
    if (handle->data_version == noted)
        return;
    sqlite_late_forget(handle);
    if (handle->memory)
        memory_clear(handle->memory);
}

struct rc sqlite_exec(struct sqlite3 *db, const char *text, struct err *err)
{
    int code = sqlite3_exec(db, text, NULL, NULL, NULL);
    return code == SQLITE_OK ? RC_OK : sqlite_fail(db, code, sqlite3_db_filename(db, "main"), err);
}

struct rc sqlite_number(struct sqlite3 *db, const char *text, int64_t *ret_value, struct err *err)
{
    STATEMENT_SCOPE(statement);
    TRY(sqlite_prepare(db, text, &statement, err));
    int code = sqlite3_step(statement);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        return sqlite_fail(db, code, sqlite3_db_filename(db, "main"), err);
    *ret_value = code == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    return RC_OK;
}

static struct rc prepare_all(struct sqlite_handle *handle, struct err *err)
{
    static const unsigned roles[] = {
        [BACKEND_WRITER] = FOR_WRITER, [BACKEND_READER] = 0 /* make_ready */, [BACKEND_CHECKPOINTER] = 0,
        [BACKEND_FOLLOWER] = 0, [BACKEND_GUEST] = FOR_READER,
    };
    for (int i = 0; i < SQL_COUNT; i++)
        if (statements[i].roles & roles[handle->role])
            TRY(sqlite_prepare(handle->db, statements[i].text, &handle->statements[i], err));
    if (handle->role != BACKEND_READER)
        return RC_OK;
    TRY(make_ready(handle, SQL_COMMIT, err));
    return make_ready(handle, SQL_ROLLBACK, err);
}

/* ---- files ---- */

/* SQLite gives its other files the mode of the database, so it is enough to make that one private. */
static struct rc make_private(const char *path, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_set(err, ERR_IO, "cannot open %s: %s", path, strerror(errno));
    struct stat st;
    int failed = fstat(fd, &st);
    if (!failed && (st.st_mode & 077))
        failed = fchmod(fd, st.st_mode & 0700);
    int why = errno;
    (void)close(fd);
    if (failed)
        return err_set(err, ERR_IO, "cannot make %s private: %s", path, strerror(why));
    if (!S_ISREG(st.st_mode))
        return err_set(err, ERR_IO, "%s is not a file", path);
    return RC_OK;
}

/* ---- checkpoints ---- */

static int count_frames(void *arg, sqlite3 *db, const char *name, int frames)
{
    struct sqlite_handle *handle = arg;
    (void)db;
    (void)name;
    if ((unsigned)frames < handle->wal_frames) { /* begun anew */
        handle->tidy_at_frames = TIDY_FRAMES;
        handle->tidy_at_commits = TIDY_COMMITS;
        handle->stop_at_frames = STOP_FRAMES;
        handle->wal_commits = 0;
    }
    handle->wal_frames = (unsigned)frames;
    handle->wal_commits++;
    return SQLITE_OK;
}

/* Nearly every commit writes some pages again: the last one of events, the one above it, the first one of the file. Who
 * adds such a page to SQLite's index of the log, or looks for it there, walks over all of its copies. So a log of many
 * small commits is long before it is large. To large commits the walk is little, and each checkpoint slows those beside
 * it, so they may be more. */
static bool has_commits(const struct sqlite_handle *writer, unsigned commits)
{
    return writer->wal_commits >= commits + writer->wal_frames / COMMIT_FRAMES;
}

static bool is_long(const struct sqlite_handle *writer)
{
    return writer->wal_frames >= TIDY_FRAMES || has_commits(writer, TIDY_COMMITS);
}

/* Asks for a checkpoint once per TIDY_FRAMES frames or TIDY_COMMITS commits and not with every commit: while another
 * program reads the database, a checkpoint cannot make the log shorter. */
static enum tidy_need tidy_due(struct backend_handle *opaque)
{
    struct sqlite_handle *writer = sqlite_of(opaque);
    if (writer->wal_frames < writer->tidy_at_frames && !has_commits(writer, writer->tidy_at_commits))
        return TIDY_NOT;
    bool stop = writer->wal_frames >= writer->stop_at_frames;
    writer->tidy_at_frames = writer->wal_frames + TIDY_FRAMES;
    writer->tidy_at_commits = writer->wal_commits + TIDY_COMMITS;
    if (stop)
        writer->stop_at_frames = writer->wal_frames + STOP_FRAMES;
    return stop ? TIDY_BEFORE : TIDY_BESIDE;
}

/* The loop must not wait. So with a long log, or many rows missing in the late tables, the writer's thread commits. */
static bool begin_quickly(struct backend_handle *opaque)
{
    struct sqlite_handle *writer = sqlite_of(opaque);
    struct err ignored;
    if (is_long(writer) || sqlite_late_is_much(writer))
        return false;
    CHECK(sqlite3_busy_timeout(writer->db, 0) == SQLITE_OK);
    struct rc rc = sqlite_run(writer, SQL_BEGIN_WRITE, &ignored);
    CHECK(sqlite3_busy_timeout(writer->db, BUSY_MS) == SQLITE_OK);
    return rc_ok(rc);
}

/* SQLITE_BUSY means that a reader still needs the log, or that another checkpoint runs: no harm. */
static struct rc checkpoint(struct sqlite_handle *handle, int mode, int *ret_frames, struct err *err)
{
    int copied;
    int code = sqlite3_wal_checkpoint_v2(handle->db, "main", mode, ret_frames, &copied);
    if (code != SQLITE_OK && code != SQLITE_BUSY)
        return sqlite_fail(handle->db, code, handle->path, err);
    return RC_OK;
}

/* SQLite syncs the database only after a pass that has copied the whole log. That one mostly is the writer's, while
 * appends wait; what the passes before it have copied should be on the disk by then. */
static struct rc sync_database(struct sqlite_handle *handle, struct err *err)
{
    sqlite3_file *file = NULL;
    int code = sqlite3_file_control(handle->db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (code == SQLITE_OK && file && file->pMethods)
        code = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
    return code == SQLITE_OK ? RC_OK : sqlite_fail(handle->db, code, handle->path, err);
}

/* While one pass copies, the writer goes on; each pass has less to do than the one before. */
static struct rc tidy(struct backend_handle *opaque, struct err *err)
{
    struct sqlite_handle *checkpointer = sqlite_of(opaque);
    int frames = 0;
    CHECK(checkpointer->role == BACKEND_CHECKPOINTER);
    for (int pass = 0, before = 0; pass < TIDY_PASSES; pass++, before = frames) {
        TRY(checkpoint(checkpointer, SQLITE_CHECKPOINT_PASSIVE, &frames, err));
        if (frames - before <= LEFT_FRAMES)
            break;
    }
    return sync_database(checkpointer, err);
}

/* Between two groups, in the writer's thread; `idle`: nothing has come for a while. Then the late tables are
 * completed, the log is made small, and memory is given back. */
static struct rc settle(struct backend_handle *opaque, bool idle, struct err *err)
{
    struct sqlite_handle *writer = sqlite_of(opaque);
    int frames;
    CHECK(writer->role == BACKEND_WRITER);
    if (!idle && !is_long(writer))
        return RC_OK;
    bool large = idle && writer->wal_frames > LARGE_FRAMES;
    CHECK(sqlite3_busy_timeout(writer->db, 0) == SQLITE_OK); /* a reader must not make appends wait */
    struct rc rc = idle ? sqlite_late_finish(writer, err) : RC_OK;
    if (rc_ok(rc))
        rc = checkpoint(writer, large ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE, &frames, err);
    CHECK(sqlite3_busy_timeout(writer->db, BUSY_MS) == SQLITE_OK);
    if (idle) {
        memory_rest(writer->memory);
        (void)sqlite3_db_release_memory(writer->db);
    }
    return rc;
}

static struct rc catch_up(struct backend_handle *opaque, struct err *err)
{
    struct sqlite_handle *writer = sqlite_of(opaque);
    if (!sqlite_late_is_much(writer))
        return RC_OK;
    CHECK(sqlite3_busy_timeout(writer->db, 0) == SQLITE_OK);
    struct rc rc = sqlite_late_finish(writer, err);
    CHECK(sqlite3_busy_timeout(writer->db, BUSY_MS) == SQLITE_OK);
    return rc;
}

static void rest(struct backend_handle *reader) { (void)sqlite3_db_release_memory(sqlite_of(reader)->db); }

/* Writes a page through the log to the disk. SQLite does not write a row that stays as it is, so each is changed and
 * changed back. */
static struct rc probe(struct backend_handle *opaque, struct err *err)
{
    static const char change[] = "UPDATE meta SET value = ~value; UPDATE meta SET value = ~value; COMMIT";
    struct sqlite_handle *writer = sqlite_of(opaque);
    TRY(sqlite_check_place(opaque, err));
    TRY(sqlite_exec(writer->db, "BEGIN IMMEDIATE", err));
    struct rc rc = sqlite_exec(writer->db, change, err);
    if (rc_bad(rc) && !sqlite3_get_autocommit(writer->db))
        (void)sqlite_exec(writer->db, "ROLLBACK", &(struct err){0}).code;
    return rc;
}

/* ---- open and close ---- */

static const char writer_settings[] = "PRAGMA synchronous = FULL;"
                                      "PRAGMA wal_autocheckpoint = 0;"
                                      "PRAGMA cache_size = -16000;"
                                      "PRAGMA secure_delete = OFF;"
                                      "PRAGMA temp_store = MEMORY;";
static const char other_settings[] = "PRAGMA synchronous = FULL;"
                                     "PRAGMA wal_autocheckpoint = 0;"
                                     "PRAGMA cache_size = -2000;"
                                     "PRAGMA temp_store = MEMORY;";

static struct rc open_database(struct sqlite_handle *handle, struct err *err)
{
    int code = sqlite3_open_v2(handle->path, &handle->db,
                               SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
                               sqlite_log_layer());
    if (code != SQLITE_OK)
        return sqlite_fail(handle->db, code, handle->path, err);
    sqlite_note_place(handle);
    CHECK(sqlite3_busy_timeout(handle->db, BUSY_MS) == SQLITE_OK);
    if (handle->role != BACKEND_WRITER)
        CHECK(sqlite3_db_config(handle->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL) == SQLITE_OK);
    return RC_OK;
}

static struct rc sqlite_last_seq(struct backend_handle *opaque, uint64_t *ret_seq, struct err *err)
{
    struct sqlite_handle *handle = sqlite_of(opaque);
    int64_t seq = 0;
    TRY(sqlite_number(handle->db, "SELECT coalesce(max(seq), 0) FROM events", &seq, err));
    *ret_seq = (uint64_t)seq;
    return RC_OK;
}

/* A file system without shared memory would silently fall back to another mode. */
static struct rc use_wal(struct sqlite_handle *handle, struct err *err)
{
    STATEMENT_SCOPE(statement);
    TRY(sqlite_prepare(handle->db, "PRAGMA journal_mode = WAL", &statement, err));
    int code = sqlite3_step(statement);
    if (code != SQLITE_ROW)
        return sqlite_fail(handle->db, code, handle->path, err);
    const char *mode = (const char *)sqlite3_column_text(statement, 0);
    if (!mode || strcmp(mode, "wal") != 0)
        return err_set(err, ERR_IO, "%s is on a disk that cannot share memory: choose a local one",
                       handle->path);
    return RC_OK;
}

/* Archives never change. */
static struct rc refuse_archive(struct sqlite_handle *handle, struct err *err)
{
    int version;
    bool archive = false;
    TRY(sqlite_schema_version(handle->db, handle->path, &version, err));
    if (version > 0)
        TRY(sqlite_is_archive(handle->db, &archive, err));
    if (archive)
        return err_set(err, ERR_INVALID, "%s is an archive: it is read with nod log --archive and nod verify",
                       handle->path);
    return RC_OK;
}

/* A process that was killed between writing a commit and syncing it has left it in the log, where it counts. It is
 * about to be told: first it is made durable, as every commit is. An empty log holds none. */
static struct rc sync_log(struct sqlite_handle *handle, struct err *err)
{
    sqlite3_file *log = NULL;
    sqlite3_int64 bytes = 0;
    int code = sqlite3_file_control(handle->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    if (code == SQLITE_OK && log && log->pMethods)
        code = log->pMethods->xFileSize(log, &bytes);
    if (code == SQLITE_OK && bytes > 0)
        code = log->pMethods->xSync(log, SQLITE_SYNC_NORMAL);
    return code == SQLITE_OK ? RC_OK : sqlite_fail(handle->db, code, handle->path, err);
}

/* The order matters: the lock before the file is touched, the version before it is migrated, the log synced
 * before the end of the store is believed. */
static struct rc open_writer(struct sqlite_handle *handle, struct err *err)
{
    TRY(sqlite_lock_folder(handle, err));
    TRY(sqlite_check_log(handle, err));
    TRY(sqlite_make(handle->path, err));
    TRY(make_private(handle->path, err));
    TRY(open_database(handle, err));
    if (sqlite3_db_readonly(handle->db, "main") != 0)
        return err_set(err, ERR_IO, "%s cannot be written to: check the owner and mode of the file",
                       handle->path);
    TRY(sqlite_schema_recognise(handle->db, handle->path, err));
    TRY(refuse_archive(handle, err));
    TRY(use_wal(handle, err));
    TRY(sqlite_exec(handle->db, writer_settings, err));
    TRY(sqlite_schema_migrate(handle->db, handle->path, err));
    TRY(sqlite_schema_compare(handle->db, handle->path, sqlite_schema_known(), err));
    TRY(sqlite_last_seq((struct backend_handle *)handle, &handle->committed_seq, err));
    TRY(sqlite_feed_begin(handle, err));
    TRY(prepare_all(handle, err));
    TRY(sync_log(handle, err));
    TRY(sqlite_late_begin(handle, err));
    TRY(sqlite_schema_check_end(handle->db, handle->path, err));
    (void)sqlite3_wal_hook(handle->db, count_frames, handle);
    handle->memory = memory_open(handle->path);
    return RC_OK;
}

static struct rc open_other(struct sqlite_handle *handle, struct err *err)
{
    TRY(open_database(handle, err));
    TRY(sqlite_exec(handle->db, other_settings, err));
    TRY(prepare_all(handle, err));
    handle->memory = memory_open(handle->path);
    return RC_OK;
}

static struct rc open_guest(struct sqlite_handle *handle, struct err *err)
{
    int version;
    TRY(sqlite_look(handle->path, !sqlite_log_exists(handle->path), &handle->db, err));
    TRY(sqlite_schema_recognise(handle->db, handle->path, err));
    TRY(sqlite_schema_version(handle->db, handle->path, &version, err));
    TRY(sqlite_schema_adapt(handle->db, handle->path, version, err));
    return prepare_all(handle, err);
}

/* Only a writer that was opened completely has a memory, and only that one completes the late tables. */
static void sqlite_close(struct backend_handle *opaque)
{
    struct sqlite_handle *handle = sqlite_of(opaque);
    if (handle->role == BACKEND_WRITER && handle->memory) /* it was opened as a whole */
        (void)sqlite_late_finish(handle, &(struct err){0}).code;
    sqlite_late_forget(handle);
    for (int i = 0; i < SQL_COUNT; i++)
        (void)sqlite3_finalize(handle->statements[i]);
    CHECK(sqlite3_close(handle->db) == SQLITE_OK);
    if (handle->memory)
        memory_close(handle->memory);
    if (handle->lock_fd >= 0)
        (void)close(handle->lock_fd);
    free(handle->path);
    free(handle);
}

static struct rc sqlite_open(const char *place, enum backend_role role, struct backend_handle **ret_handle,
                             struct err *err)
{
    size_t bytes = strlen(place) + 1;
    if (bytes > LIMIT_PATH_BYTES)
        return err_set(err, ERR_INVALID, "the path of the database is too long");
    struct sqlite_handle *handle = heap_new(sizeof *handle);
    handle->role = role;
    handle->lock_fd = -1;
    handle->tidy_at_frames = TIDY_FRAMES;
    handle->tidy_at_commits = TIDY_COMMITS;
    handle->stop_at_frames = STOP_FRAMES;
    handle->path = heap_new(bytes);
    memcpy(handle->path, place, bytes);
    struct rc rc = role == BACKEND_WRITER  ? open_writer(handle, err)
                   : role == BACKEND_GUEST ? open_guest(handle, err)
                                           : open_other(handle, err);
    if (rc_bad(rc)) {
        sqlite_close((struct backend_handle *)handle);
        return rc;
    }
    *ret_handle = (struct backend_handle *)handle;
    return RC_OK;
}

extern const struct backend backend_sqlite;
const struct backend backend_sqlite = {
    .scheme = "sqlite",
    .open = sqlite_open,
    .close = sqlite_close,
    .commit = sqlite_commit,
    .begin_quickly = begin_quickly,
    .probe = probe,
    .check = sqlite_check_place,
    .last_seq = sqlite_last_seq,
    .read = sqlite_read,
    .tidy_due = tidy_due,
    .tidy = tidy,
    .settle = settle,
    .catch_up = catch_up,
    .rest = rest,
    .verify = sqlite_verify,
};
