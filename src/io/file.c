/* Files of our own (file.h): private modes, whole replacement by rename, locks, digests. */
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static void close_fd(const int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
}

#define FD_SCOPE(name) __attribute__((cleanup(close_fd))) int name

/* Each with mode 0700: a folder that we make is never readable by others, not even for a moment. */
struct rc file_make_folders(const char *path, struct err *err)
{
    char part[4096];
    if (strlen(path) >= sizeof part)
        return err_set(err, ERR_INVALID, "the path is too long");
    for (size_t i = 1;; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (mkdir(part, 0700) != 0 && errno != EEXIST)
            return err_set(err, ERR_IO, "cannot make the folder %s: %s", part, strerror(errno));
        if (path[i] == '\0')
            return RC_OK;
    }
}

/* Anyone who may write to the folder could replace what lies there, so that such a folder is refused and not
 * repaired. */
struct rc file_own_folder(const char *path, struct err *err)
{
    struct stat st;
    if (path[0] == '\0')
        return err_set(err, ERR_INVALID, "the folder has no name");
    TRY(file_make_folders(path, err));
    if (stat(path, &st) != 0)
        return err_set(err, ERR_IO, "cannot look at the folder %s: %s", path, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return err_set(err, ERR_IO, "%s is not a folder", path);
    if (st.st_uid != geteuid())
        return err_set(err, ERR_FORBIDDEN, "the folder %s belongs to another user", path);
    if ((st.st_mode & S_IWOTH) != 0)
        return err_set(err, ERR_FORBIDDEN, "anyone may write to the folder %s: what lies there is not ours alone",
                       path);
    if ((st.st_mode & 077) != 0 && chmod(path, 0700) != 0)
        return err_set(err, ERR_IO, "cannot make the folder %s private: %s", path, strerror(errno));
    return RC_OK;
}

/* Regular files only, and the limit is checked before memory is taken. A file that grows meanwhile is read up to its
 * first size. */
struct rc file_read(struct arena *arena, const char *path, size_t bytes_max, struct str *ret_text,
                    struct err *err)
{
    FD_SCOPE(fd) = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC); /* a pipe must not make us wait */
    struct stat st;
    if (fd < 0)
        return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "cannot open %s: %s", path,
                       strerror(errno));
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return err_set(err, ERR_IO, "%s is not a file", path);
    if ((uint64_t)st.st_size > bytes_max)
        return err_set(err, ERR_TOO_LARGE, "%s is larger than %zu bytes", path, bytes_max);
    char *text = arena_bytes(arena, (size_t)st.st_size + 1);
    ssize_t got = file_get(fd, text, (size_t)st.st_size);
    if (got < 0)
        return err_set(err, ERR_IO, "cannot read %s: %s", path, strerror(errno));
    text[got] = '\0';
    *ret_text = (struct str){text, (size_t)got};
    return RC_OK;
}

ssize_t file_get(int fd, void *bytes, size_t n)
{
    size_t taken = 0;
    while (taken < n) {
        ssize_t got = read(fd, (char *)bytes + taken, n - taken);
        if (got < 0 && errno != EINTR)
            return -1;
        if (got == 0)
            break;
        if (got > 0)
            taken += (size_t)got;
    }
    return (ssize_t)taken;
}

bool file_put(int fd, struct str text)
{
    while (text.n) {
        ssize_t put = write(fd, text.p, text.n);
        if (put < 0 && errno != EINTR)
            return false;
        if (put > 0)
            text = str_sub(text, (size_t)put, text.n);
    }
    return true;
}

static struct rc write_all(int fd, const char *path, struct str text, struct err *err)
{
    if (!file_put(fd, text))
        return err_set(err, ERR_IO, "cannot write %s: %s", path, strerror(errno));
    if (fsync(fd) != 0)
        return err_set(err, ERR_IO, "cannot sync %s: %s", path, strerror(errno));
    return RC_OK;
}

/* A process that was killed while it wrote may have had this one's number, as in a container, and has left its file. */
static int open_new(const char *path)
{
    enum { FLAGS = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW };
    int fd = open(path, FLAGS, 0600);
    if (fd < 0 && errno == EEXIST && unlink(path) == 0)
        fd = open(path, FLAGS, 0600);
    return fd;
}

/* Written beside and renamed: readers see the old file or the new one, and nobody else can read either. */
struct rc file_write_private(const char *path, struct str text, struct err *err)
{
    char beside[4200];
    int n = snprintf(beside, sizeof beside, "%s.new.%d", path, (int)getpid());
    if (n < 0 || (size_t)n >= sizeof beside)
        return err_set(err, ERR_INVALID, "the path is too long");
    FD_SCOPE(fd) = open_new(beside);
    if (fd < 0)
        return err_set(err, ERR_IO, "cannot create %s: %s", beside, strerror(errno));
    struct rc rc = write_all(fd, beside, text, err);
    if (rc_ok(rc) && rename(beside, path) != 0)
        rc = err_set(err, ERR_IO, "cannot rename %s: %s", beside, strerror(errno));
    if (rc_bad(rc))
        (void)unlink(beside);
    return rc;
}

static struct rc add_file(struct digest_sum *sum, int fd, const char *path, struct err *err)
{
    char piece[64 << 10];
    for (;;) {
        ssize_t got = file_get(fd, piece, sizeof piece);
        if (got < 0)
            return err_set(err, ERR_IO, "cannot read %s: %s", path, strerror(errno));
        if (got == 0)
            return RC_OK;
        digest_sum_add(sum, (struct str){piece, (size_t)got});
    }
}

struct rc file_digest(const char *path, struct digest *ret_digest, struct err *err)
{
    FD_SCOPE(fd) = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "cannot open %s: %s", path,
                       strerror(errno));
    struct digest_sum *sum = digest_sum_new();
    struct rc rc = add_file(sum, fd, path, err);
    struct digest digest = digest_sum_end(sum);
    if (rc_ok(rc))
        *ret_digest = digest;
    return rc;
}

struct rc file_sync(const char *path, struct err *err)
{
    FD_SCOPE(fd) = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set(err, ERR_IO, "cannot open %s: %s", path, strerror(errno));
    if (fsync(fd) != 0)
        return err_set(err, ERR_IO, "cannot sync %s: %s", path, strerror(errno));
    return RC_OK;
}

/* Held until the descriptor is closed, also by the end of the process; ERR_CONFLICT when somebody else has it. */
struct rc file_lock(const char *path, int *ret_fd, struct err *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_set(err, ERR_IO, "cannot open %s: %s", path, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        int why = errno;
        (void)close(fd);
        if (why == EWOULDBLOCK)
            return err_set(err, ERR_CONFLICT, "%s is locked by another process", path);
        return err_set(err, ERR_IO, "cannot lock %s: %s", path, strerror(why));
    }
    *ret_fd = fd;
    return RC_OK;
}

struct rc file_hold_folder(const char *path, int *ret_fd, struct err *err)
{
    enum { TRIES = 500, WAIT_US = 20000 };
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), failed = -1;
    if (fd < 0)
        return err_set(err, ERR_IO, "cannot open %s: %s", path, strerror(errno));
    for (int i = 0; (failed = flock(fd, LOCK_EX | LOCK_NB)) != 0 && errno == EWOULDBLOCK && i < TRIES; i++)
        (void)usleep(WAIT_US);
    int why = errno;
    *ret_fd = failed ? -1 : fd;
    if (failed)
        (void)close(fd);
    if (failed && why == EWOULDBLOCK)
        return err_set(err, ERR_CONFLICT, "%s is held by another process", path);
    return RC_OK;
}
