/* Internals of the SQLite backend; include it there only.
 *
 * WAL, synchronous=FULL: a COMMIT that returned SQLITE_OK survives power loss. One connection writes, the
 * readers each have a snapshot, one more runs checkpoints. Every return code is looked at.
 */
#ifndef STORE_SQLITE_H
#define STORE_SQLITE_H

#include "store/backend.h"
#include "store/group.h"
#include "store/sqlite_sql.h"

struct sqlite3;
struct sqlite3_stmt;

/* The part of an event that the late tables need (sqlite_late.c). */
struct late_event {
    uint64_t seq, chain, no;
    uint64_t call_seq;    /* 0: of no call, or the TOOL_CALL itself */
    uint64_t request_seq; /* of a response: its request, if that was kept in an earlier group */
    int64_t kind;
    struct late_event *run_last; /* of the first of a row of session_events: the last that shares it; see find_runs */
    bool answered; /* of a request: its response is late, too */
    bool ends_group;
    struct digest hash;
    struct digest group; /* if it ends one, its link in the chain of groups; known when the tables are filled */
    struct str session, thread, call; /* as far as its rows need them */
    struct late_event *before;
};

/* The events after `indexed_seq`. */
struct late_events {
    struct arena arena;
    struct late_event *last;
    size_t count;
    size_t groups; /* that they were committed in */
    bool whole; /* false: not known */
};

struct sqlite3_context;

/* Late events as rows: those that a table `has`; `tell` gives SQLite the value of a column. */
struct sqlite_feed {
    struct late_event *const *rows;
    size_t count;
    bool (*has)(const struct late_event *event);
    void (*tell)(struct sqlite3_context *to, const struct late_event *event, int column);
};

/* The handle of this backend; the store knows it as an opaque struct backend_handle. */
struct sqlite_handle {
    struct sqlite3 *db;
    struct sqlite3_stmt *statements[SQL_COUNT]; /* NULL: not of this role, or a reader's that was not used yet */
    bool unready;           /* a reader's: something could not be bound, see sqlite_ready */
    char *path;
    uint64_t device, inode; /* of the file that was opened */
    enum backend_role role;

    /* The writer's and the readers'. It is emptied when a group fails or another process has written. */
    struct memory *memory;

    /* Used by the writer only. */
    int lock_fd;
    uint64_t committed_seq; /* seq of the last committed event */
    uint64_t indexed_seq;   /* sqlite_late.c: as committed */
    uint64_t indexing_seq;  /* indexed_seq as the open transaction will leave it */
    struct late_events late;
    struct sqlite_feed feed; /* of the statement that runs */
    unsigned data_version;  /* sqlite_note_version */
    unsigned wal_frames;    /* frames in the write-ahead log since its last restart */
    unsigned wal_commits;   /* likewise */
    unsigned tidy_at_frames;
    unsigned tidy_at_commits;
    unsigned stop_at_frames;
};

static inline struct sqlite_handle *sqlite_of(struct backend_handle *opaque) { return (struct sqlite_handle *)opaque; }

static inline const struct sqlite_handle *sqlite_of_const(const struct backend_handle *opaque)
{
    return (const struct sqlite_handle *)opaque;
}

/* ---- sqlite.c ---- */
/* Sets code and text of the error that SQLite returned while `doing`. */
struct rc sqlite_fail(struct sqlite3 *db, int code, const char *doing, struct err *err);
/* One step of a kept statement; it is reset when it has no more rows or fails. */
struct rc sqlite_step(struct sqlite_handle *handle, enum sqlite_sql sql, bool *ret_row, struct err *err);
/* The statement, which binding its values prepares, too; NULL: the next step of it fails. */
struct sqlite3_stmt *sqlite_ready(struct sqlite_handle *handle, enum sqlite_sql sql);
/* A statement without rows. */
struct rc sqlite_run(struct sqlite_handle *handle, enum sqlite_sql sql, struct err *err);
void sqlite_reset(struct sqlite_handle *handle, enum sqlite_sql sql);
void sqlite_bind_int(struct sqlite_handle *handle, enum sqlite_sql sql, int at, int64_t value);
/* The bytes must stay until the statement is reset. */
void sqlite_bind_str(struct sqlite_handle *handle, enum sqlite_sql sql, int at, struct str value);
void sqlite_bind_blob(struct sqlite_handle *handle, enum sqlite_sql sql, int at, const struct digest *value);
/* The database has a number that changes with each commit, also with those of others. The writer notes it after each of
 * its own. Call sqlite_notice_others at the beginning of a transaction: when it has changed since, another program has
 * written, and memory is emptied, so that its edit is not overwritten. */
void sqlite_note_version(struct sqlite_handle *handle);
void sqlite_notice_others(struct sqlite_handle *handle);
struct rc sqlite_exec(struct sqlite3 *db, const char *text, struct err *err);
/* The first column of the first row as a number, 0 when there is none. */
struct rc sqlite_number(struct sqlite3 *db, const char *text, int64_t *ret_value, struct err *err);
struct rc sqlite_prepare(struct sqlite3 *db, const char *text, struct sqlite3_stmt **ret_statement,
                         struct err *err);
void sqlite_finalize(struct sqlite3_stmt **statement);
#define STATEMENT_SCOPE(name) __attribute__((cleanup(sqlite_finalize))) struct sqlite3_stmt *name = NULL

/* ---- sqlite_place.c, sqlite_make.c ---- */
/* Keeps a second writer out. */
struct rc sqlite_lock_folder(struct sqlite_handle *handle, struct err *err);
/* Before the database is opened: refuses to join a log with a file that is not its own. */
struct rc sqlite_check_log(const struct sqlite_handle *handle, struct err *err);
/* Makes the database of a new store, with the folder's lock; nothing when the path is taken. */
struct rc sqlite_make(const char *path, struct err *err);
/* Call it after the database was opened: notes the device and inode of the file. */
void sqlite_note_place(struct sqlite_handle *handle);
/* Whether the path still names the file that was opened. From any thread. */
struct rc sqlite_check_place(const struct backend_handle *handle, struct err *err);

/* ---- sqlite_log.c ---- */
/* The name of our VFS layer over the log, registered with SQLite. */
const char *sqlite_log_layer(void);

/* ---- sqlite_row.c: one row of EVENT_COLUMNS ---- */
/* Views that live until the next step. */
struct str sqlite_str(struct sqlite3_stmt *statement, int column);
struct rc sqlite_event(struct sqlite3_stmt *statement, struct event *ret_event, struct err *err);
/* False when the column holds no hash. */
bool sqlite_digest(struct sqlite3_stmt *statement, int column, struct digest *ret_digest);

/* ---- sqlite_schema.c ---- */
/* Refuses what is not a nod database. */
struct rc sqlite_schema_recognise(struct sqlite3 *db, const char *path, struct err *err);
/* The steps that made its tables, 0 for an empty database; refuses a version newer than this program's, by steps or by
 * kinds of events. */
struct rc sqlite_schema_version(struct sqlite3 *db, const char *path, int *ret_version, struct err *err);
int sqlite_schema_known(void); /* this program's steps */
enum { SQLITE_VERSION_LATE = 6, SQLITE_VERSION_GROUPS_LATE = 8 }; /* the first with late tables, and with late groups */
/* The steps from one version's tables to another's, in the caller's transaction. */
struct rc sqlite_schema_step(struct sqlite3 *db, int64_t from, int64_t to, struct err *err);
/* Creates the tables or brings them, and the version's number, up to this program's. */
struct rc sqlite_schema_migrate(struct sqlite3 *db, const char *path, struct err *err);
/* Fills the late tables of a database that has events and nothing else, and is written once. */
struct rc sqlite_schema_fill(struct sqlite3 *db, struct err *err);
/* A database that is only looked at may be of a version before links over groups: it is read as if it were of this one.
 * ERR_CONFLICT when it is older still. */
struct rc sqlite_schema_adapt(struct sqlite3 *db, const char *path, int version, struct err *err);
/* Every table and index is there, as that version makes it. */
struct rc sqlite_schema_compare(struct sqlite3 *db, const char *path, int version, struct err *err);
/* Whether the tables are to the letter those that this version makes; for a test, the digest of what they are. */
bool sqlite_schema_is_usual(struct sqlite3 *db, char ret_digest[DIGEST_HEX_BYTES]);
/* Checks the last links of the chains; cheap enough for every start. */
struct rc sqlite_schema_check_end(struct sqlite3 *db, const char *path, struct err *err);

/* ---- sqlite_look.c ---- */
/* Whether a process has the database open, or was killed while it had it open. */
bool sqlite_log_exists(const char *path);
/* Opens a database read-only. `immutable`: no process has it open, and no file is created beside it. *ret_db is set on
 * failure, too, and is closed by the caller. */
struct rc sqlite_look(const char *path, bool immutable, struct sqlite3 **ret_db, struct err *err);
struct rc sqlite_is_archive(struct sqlite3 *db, bool *ret_archive, struct err *err);

/* ---- sqlite_leave.c ---- */
/* In the transaction that stores `event`, a SESSION_ARCHIVED: deletes the other events of its session. ERR_CONFLICT
 * when they are not those that the event describes. */
struct rc sqlite_leave(struct sqlite_handle *handle, const struct event *event, const struct archived *archived,
                       struct err *err);

/* ---- sqlite_feed.c ---- */
/* Before the writer's statements are prepared. */
struct rc sqlite_feed_begin(struct sqlite_handle *handle, struct err *err);
/* Runs a statement that reads these rows from nod_feed. */
struct rc sqlite_feed(struct sqlite_handle *handle, enum sqlite_sql sql, struct sqlite_feed feed, struct err *err);

/* ---- sqlite_late.c: in the writer's transaction, unless it says otherwise ---- */
/* Whether so much is late that the tables should be filled as soon as no append waits. */
bool sqlite_late_is_much(const struct sqlite_handle *handle);
/* Whether the late tables must be filled before anything else of this group is looked up. */
bool sqlite_late_due(const struct sqlite_handle *handle, const struct facts *facts);
struct rc sqlite_late_fill(struct sqlite_handle *handle, struct err *err);
/* After a group was committed: its events. */
void sqlite_late_add(struct sqlite_handle *handle, const struct rows *rows);
/* Forgets the late events in memory: the store may have changed since. The next fill reads them again. */
void sqlite_late_forget(struct sqlite_handle *handle);
/* Call it after the transaction has ended. */
void sqlite_late_end(struct sqlite_handle *handle, bool committed);
/* Fills the tables in a transaction of its own, if they lack anything. */
struct rc sqlite_late_finish(struct sqlite_handle *handle, struct err *err);
/* Reads how far the tables go, and fills them. */
struct rc sqlite_late_begin(struct sqlite_handle *handle, struct err *err);

/* ---- sqlite_write.c, sqlite_read.c, sqlite_verify.c ---- */
struct rc sqlite_commit(struct backend_handle *handle, struct append *group, struct err *err);
struct rc sqlite_read(struct backend_handle *handle, struct read *read, struct err *err);
struct rc sqlite_verify(const char *place, struct store_check *ret_check, struct err *err);

#endif
