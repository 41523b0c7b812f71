/* Finished sessions, moved into a file of their own. Part of store.h.
 *
 * An archive is an SQLite database of the store's own shape: the events of some sessions, whole chains, every
 * event with its number and its bytes. It never changes after it was made. The store keeps of such a session
 * one SESSION_ARCHIVED event (event/archived.h), the numbers that left, and the ids of its calls, so that nothing
 * can be added to it and nobody can take its calls for new ones.
 *
 *   plan   blocking: the file is written, synced, verified by chain, and gets its name
 *   move   one append per session: its SESSION_ARCHIVED is kept and its events leave, in one transaction, if
 *          nothing has happened in it since
 *   done   the archive is finished; until then a mark lies beside it, and the next plan goes on with that file
 *
 * So at any moment every event is in the store or in an archive that was verified before, and a session is
 * either wholly in the store or has left it.
 */
#ifndef STORE_STORE_ARCHIVE_H
#define STORE_STORE_ARCHIVE_H

#include "base/err.h"
#include "base/limits.h"
#include "event/archived.h"
#include "store/store_whole.h"

struct append;
struct read;

/* The request to archive. */
struct archiving {
    const char *url;     /* URL of the store */
    const char *folder;  /* where archives are; made when it is not there */
    int64_t until_ms;    /* archives sessions whose last event is not later than this */
    const char *actor;
    const _Atomic bool *stop; /* becomes true: give up soon (ERR_UNAVAILABLE); may be NULL */
};

struct archive_session {
    struct str session;
    struct archived archived;
};

/* Sessions that are in a verified file and may leave the store now. Owned by the caller; it holds the lock of
 * the folder. */
struct archive_plan {
    struct arena arena;
    struct str actor;
    struct str path;     /* path of the archive; empty: there is nothing to archive */
    struct archive_session *sessions;
    size_t count;
    uint64_t events;     /* total of all these sessions */
    bool resumed;        /* the plan finishes an interrupted one; another plan may find more to archive */
    int lock_fd;
};

/* Blocks; may run while others write to the store. One plan per folder at a time (else ERR_CONFLICT). */
struct rc archive_plan(const struct archiving *archiving, struct archive_plan **ret_plan, struct err *err);
/* The append that moves one session of the plan. Refused when something has happened in the session since: it
 * stays in the store, and its copy in the file means nothing. */
struct append *archive_move(const struct archive_plan *plan, size_t index, int64_t now_ms);
/* Frees the plan. `finished`: every session has been moved or refused. */
void archive_plan_free(struct archive_plan *plan, bool finished);

/* Adds the file of a finished plan to the result. */
void archive_result_add(struct archive_result *result, const struct archive_plan *plan);

/* Archives without a server; ERR_CONFLICT when a server runs and the store allows only one writing process. */
struct rc store_archive(const struct archiving *archiving, int64_t now_ms, struct archive_result *ret_result,
                        struct err *err);

/* ---- looking into one ---- */
struct archive;
struct rc archive_open(const char *path, struct archive **ret_archive, struct err *err);
/* Answers as the store would. */
struct rc archive_read(struct archive *archive, struct read *read, struct err *err);
void archive_close(struct archive *archive);
/* Recomputes every chain in the archive. Refuses a file that is not an archive. */
struct rc archive_verify(const char *path, struct store_check *ret_check, struct err *err);

/* An archive that SESSION_ARCHIVED events of a store name. */
struct archive_check {
    struct str file, path;
    uint64_t sessions, events; /* counts according to those events */
    bool missing;              /* the file is not in the folder: moved elsewhere, or lost */
    char why[300];             /* the error; empty: none */
};

struct archive_checks {
    struct arena arena;
    struct archive_check *items;
    size_t count;
};

/* Every archive that the store names: its bytes, its chains, and that each session ends there as the store says. */
struct rc store_verify_archives(const char *url, const char *folder, struct archive_checks *ret_checks,
                                struct err *err);

#endif
