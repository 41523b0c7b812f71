/* The file that a path named when it was opened is not always the one that it names later: somebody deletes it, or puts
 * a backup in its place, while the server runs. SQLite would go on with the file that nobody can open any more. So
 * device and inode are compared before every group and every read, and nod.lock says to which file the log beside it
 * belongs. */
#include "store/sqlite.h"

#include "base/log.h"
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOCK_TRIES = 100, LOCK_WAIT_US = 20000, LOCK_BYTES = 128 };

/* The contents of nod.lock: the process that holds it, and the database it was opened for. */
struct lock_words {
    struct str pid;
    uint64_t device, inode; /* 0: the file does not name them */
};

static struct lock_words read_lock(struct arena *arena, const char *lock)
{
    struct lock_words words = {0};
    struct str text, rest, more;
    if (rc_bad(file_read(arena, lock, LOCK_BYTES, &text, NULL)))
        return words;
    words.pid = str_trim(str_cut(text, '\n', &rest));
    struct str device = str_trim(str_cut(str_cut(rest, '\n', &more), ' ', &rest));
    if (!str_to_u64(device, &words.device) || !str_to_u64(str_trim(str_cut(rest, '\n', &more)), &words.inode))
        words.device = words.inode = 0;
    return words;
}

/* A server that was killed while starting a program leaves a child that holds the lock briefly: wait for it. */
static bool lives(struct str pid)
{
    uint64_t number;
    return !str_to_u64(pid, &number) || number == 0 || number > INT32_MAX || kill((pid_t)number, 0) == 0 ||
           errno != ESRCH;
}

static const char *lock_path(const struct sqlite_handle *handle, struct arena *arena)
{
    struct str path = str_of(handle->path);
    while (path.n && path.p[path.n - 1] != '/')
        path.n--;
    return arena_printf(arena, "%.*snod.lock", STR_ARG(path)).p;
}

/* A holder that has died releases the lock by itself; a moment is waited for one that is just ending. */
struct rc sqlite_lock_folder(struct sqlite_handle *handle, struct err *err)
{
    ARENA_SCOPE(arena);
    const char *lock = lock_path(handle, &arena);
    struct rc rc = file_lock(lock, &handle->lock_fd, err);
    struct str pid = STR_NONE;
    for (int tries = 0; rc.code == ERR_CONFLICT && tries < LOCK_TRIES; tries++) {
        pid = read_lock(&arena, lock).pid;
        if (lives(pid))
            break;
        (void)usleep(LOCK_WAIT_US);
        rc = file_lock(lock, &handle->lock_fd, err);
    }
    if (rc.code == ERR_CONFLICT) {
        return err_set(err, ERR_CONFLICT, "another nod serve (pid %.*s) uses this folder: %s",
                       STR_ARG(str_empty(pid) ? STR("unknown") : pid), handle->path);
    }
    return rc;
}

/* A log that belongs to another file would be mixed into this one, and a database that is missing be begun anew. */
struct rc sqlite_check_log(const struct sqlite_handle *handle, struct err *err)
{
    ARENA_SCOPE(arena);
    struct stat st;
    const char *lock = lock_path(handle, &arena);
    struct lock_words words = read_lock(&arena, lock);
    bool there = stat(handle->path, &st) == 0, log = sqlite_log_exists(handle->path);
    if (!there && (log || words.inode))
        return err_set(err, ERR_IO, "%s is gone%s: put it back; or, to begin with an empty one, remove %s%s%s",
                       handle->path, log ? ", but its log is there" : "", lock, log ? " and " : "",
                       log ? "the files nod.db-*" : "");
    if (there && log && words.inode && (words.inode != st.st_ino || words.device != st.st_dev))
        return err_set(err, ERR_IO, "%s is another file than the one that %s-wal belongs to: move the files nod.db-*"
                       " away to use it alone; or, when both were copied together, remove %s", handle->path,
                       handle->path, lock);
    return RC_OK;
}

/* Remembers which file was opened, and writes it into the lock file for whoever finds that locked. */
void sqlite_note_place(struct sqlite_handle *handle)
{
    struct stat st;
    if (stat(handle->path, &st) != 0)
        return;
    handle->device = st.st_dev;
    handle->inode = st.st_ino;
    if (handle->lock_fd < 0)
        return;
    /* The name of the holder is only a help: a full disk is no reason to stop here. Always as many
     * bytes, because truncating can wait for the disk. */
    char text[LOCK_BYTES];
    int n = snprintf(text, sizeof text, "%-10d\n%-20llu %-20llu\n", (int)getpid(), (unsigned long long)st.st_dev,
                     (unsigned long long)st.st_ino);
    (void)!pwrite(handle->lock_fd, text, (size_t)n, 0);
}

struct rc sqlite_check_place(const struct backend_handle *opaque, struct err *err)
{
    const struct sqlite_handle *handle = sqlite_of_const(opaque);
    struct stat st;
    bool there = stat(handle->path, &st) == 0;
    if (there && st.st_ino == handle->inode && st.st_dev == handle->device)
        return RC_OK;
    return err_set(err, ERR_UNAVAILABLE, "%s was %s while the server ran: nothing is kept or read until it is started "
                   "again. As long as it runs, the old file can be copied from /proc/%d/fd", handle->path,
                   there ? "replaced" : "deleted", (int)getpid());
}
