/* Files beneath a root.
 *
 * The kernel keeps us inside: openat2 with RESOLVE_BENEATH refuses `..` and links that lead out of the root, at
 * every step of the path, however it changes meanwhile. Where the kernel has no openat2 (before 5.6, or filtered
 * away) the path is opened step by step and any link in it is refused: stricter, never looser.
 *
 * A write makes a new file beside the old one, syncs it, and renames it over the old one. The name is looked up
 * in the folder's descriptor, so a folder that is swapped for a link meanwhile is not followed, and a link in
 * place of the file itself is refused.
 */
#include "io/place.h"

#include "base/id.h"
#include "base/limits.h"
#include "io/file.h"
#include "io/system.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NEW_FILE_MODE = 0644 };

/* ---- paths ---- */

/* The path without `.`, `..` and doubled slashes; false when it leads out. */
static bool normalise(struct arena *arena, struct str path, struct str *ret_path)
{
    char *out = arena_bytes(arena, path.n + 2);
    size_t n = 0;
    while (path.n) {
        struct str part = str_cut(path, '/', &path);
        if (part.n == 0 || str_is(part, "."))
            continue;
        if (str_is(part, "..")) {
            if (n == 0)
                return false;
            while (n > 0 && out[n - 1] != '/')
                n--;
            n -= n > 0;
            continue;
        }
        if (n)
            out[n++] = '/';
        memcpy(out + n, part.p, part.n);
        n += part.n;
    }
    out[n] = '\0';
    *ret_path = (struct str){out, n};
    return true;
}

/* By the letters of the path alone. Links are the affair of place_open, which asks the kernel. */
struct rc place_within(struct arena *arena, struct str root, struct str path, struct str *ret_within,
                       struct err *err)
{
    struct str within = path;
    struct str base;
    if (root.n == 0 || root.p[0] != '/' || !normalise(arena, root, &base))
        return err_set(err, ERR_INVALID, "the session has no folder to work in");
    if (path.n > LIMIT_PATH_BYTES || memchr(path.n ? path.p : "", '\0', path.n))
        return err_set(err, ERR_INVALID, "the path is too long or holds a NUL");
    if (path.n && path.p[0] == '/') {
        struct str whole;
        if (!normalise(arena, path, &whole))
            return err_set(err, ERR_FORBIDDEN, "%.*s is outside %.*s", STR_ARG(path), STR_ARG(root));
        bool inside = base.n == 0 || (str_starts(whole, base) && (whole.n == base.n || whole.p[base.n] == '/'));
        if (!inside)
            return err_set(err, ERR_FORBIDDEN, "%.*s is outside the session's folder %.*s", STR_ARG(path),
                           STR_ARG(root));
        within = str_sub(whole, base.n, whole.n);
    }
    if (!normalise(arena, within, &within))
        return err_set(err, ERR_FORBIDDEN, "%.*s leads out of the session's folder %.*s", STR_ARG(path),
                       STR_ARG(root));
    *ret_within = within.n ? within : STR(".");
    return RC_OK;
}

/* For kernels without openat2: opens one component after the other and follows no link. */
static int open_by_steps(int root, const char *within, int flags, mode_t mode)
{
    int at = dup(root);
    struct str left = str_of(within);
    while (at >= 0 && left.n) {
        char part[NAME_MAX + 1];
        struct str name = str_cut(left, '/', &left);
        bool last = left.n == 0;
        if (!str_c(name, part, sizeof part)) {
            (void)close(at);
            errno = ENAMETOOLONG;
            return -1;
        }
        int next = openat(at, part, last ? flags | O_NOFOLLOW : O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, mode);
        int failed = errno;
        (void)close(at);
        errno = failed;
        at = next;
    }
    return at;
}

static int open_beneath(int root, const char *within, int flags, mode_t mode)
{
    int fd = system_open_beneath(root, within, flags, mode);
    if (fd < 0 && (errno == ENOSYS || errno == EPERM))
        return open_by_steps(root, within, flags, mode);
    return fd;
}

static struct rc explain(struct str within, struct err *err)
{
    switch (errno) {
    case ENOENT: return err_set(err, ERR_NOT_FOUND, "there is no file %.*s", STR_ARG(within));
    case EXDEV:
    case ELOOP: return err_set(err, ERR_FORBIDDEN, "%.*s is or contains a link that leads out of the session's folder",
                               STR_ARG(within));
    case ENOTDIR: return err_set(err, ERR_INVALID, "%.*s: a part of the path is not a folder", STR_ARG(within));
    case EACCES: return err_set(err, ERR_FORBIDDEN, "%.*s may not be opened: permission denied", STR_ARG(within));
    }
    return err_set(err, ERR_IO, "%.*s cannot be opened: %s", STR_ARG(within), strerror(errno));
}

static struct rc open_root(struct str root, int *ret_fd, struct err *err)
{
    char path[LIMIT_PATH_BYTES + 1];
    if (!str_c(root, path, sizeof path) || path[0] != '/')
        return err_set(err, ERR_INVALID, "the session has no folder to work in");
    *ret_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (*ret_fd < 0)
        return err_set(err, ERR_IO, "the session's folder %s cannot be opened: %s", path, strerror(errno));
    return RC_OK;
}

/* Resolved beneath the root by the kernel (openat2): a link or ".." that leads out is refused, even if it appears
 * meanwhile. */
struct rc place_open(struct str root, struct str within, int flags, int *ret_fd, struct err *err)
{
    char path[LIMIT_PATH_BYTES + 1];
    DESCRIPTOR_SCOPE(folder);
    if (!str_c(within, path, sizeof path))
        return err_set(err, ERR_INVALID, "the path is too long");
    TRY(open_root(root, &folder, err));
    *ret_fd = open_beneath(folder, path, flags | O_CLOEXEC, 0);
    return *ret_fd < 0 ? explain(within, err) : RC_OK;
}

/* ---- reading ---- */

static struct rc read_all(int fd, struct arena *arena, struct str within, struct str *ret_text, struct err *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return err_set(err, ERR_IO, "%.*s cannot be looked at: %s", STR_ARG(within), strerror(errno));
    if (S_ISDIR(st.st_mode))
        return err_set(err, ERR_INVALID, "%.*s is a folder, not a file", STR_ARG(within));
    if (!S_ISREG(st.st_mode))
        return err_set(err, ERR_INVALID, "%.*s is not a regular file", STR_ARG(within));
    if (st.st_size > FILE_BYTES_MAX)
        return err_set(err, ERR_TOO_LARGE, "%.*s has %lld bytes, more than the %d that are handled", STR_ARG(within),
                       (long long)st.st_size, FILE_BYTES_MAX);
    char *text = arena_bytes(arena, (size_t)st.st_size + 1);
    ssize_t got = file_get(fd, text, (size_t)st.st_size);
    if (got < 0)
        return err_set(err, ERR_IO, "%.*s cannot be read: %s", STR_ARG(within), strerror(errno));
    text[got] = '\0';
    *ret_text = (struct str){text, (size_t)got};
    return RC_OK;
}

struct rc place_read(struct arena *arena, struct str root, struct str within, struct str *ret_text, struct err *err)
{
    DESCRIPTOR_SCOPE(fd);
    /* O_NONBLOCK: opening a named pipe must not block. */
    TRY(place_open(root, within, O_RDONLY | O_NONBLOCK | O_NOCTTY, &fd, err));
    return read_all(fd, arena, within, ret_text, err);
}

struct rc place_read_plain(struct arena *arena, struct str root, struct str within, struct str *ret_text,
                           struct err *err)
{
    char path[LIMIT_PATH_BYTES + 1];
    struct stat st;
    DESCRIPTOR_SCOPE(folder);
    DESCRIPTOR_SCOPE(fd);
    if (!str_c(within, path, sizeof path))
        return err_set(err, ERR_INVALID, "the path is too long");
    TRY(open_root(root, &folder, err));
    fd = open_by_steps(folder, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0);
    if (fd < 0)
        return explain(within, err);
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink > 1)
        return err_set(err, ERR_FORBIDDEN, "%.*s has a hard link, which may be the name of a secret: it is not shown",
                       STR_ARG(within));
    return read_all(fd, arena, within, ret_text, err);
}

/* ---- writing ---- */

/* The server's own umask keeps what is its own from others; a project's files are a project's. */
static bool make_folder(int at, const char *name)
{
    return (mkdirat(at, name, 0755) == 0 && fchmodat(at, name, 0755, 0) == 0) || errno == EEXIST;
}

/* Opens the folder of the file, creating it if needed; `name` gets the last component. */
static struct rc open_parent(struct str folder, struct str within, int *ret_fd, char name[NAME_MAX + 1],
                             struct err *err)
{
    DESCRIPTOR_SCOPE(root);
    char path[LIMIT_PATH_BYTES + 1];
    size_t slash = within.n;
    TRY(open_root(folder, &root, err));
    while (slash > 0 && within.p[slash - 1] != '/')
        slash--;
    if (!str_c(str_sub(within, slash, within.n), name, NAME_MAX + 1) || !str_c(within, path, sizeof path))
        return err_set(err, ERR_INVALID, "the path is too long");
    int at = open_beneath(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    for (size_t i = 0; at >= 0 && i < slash; i++) {
        if (path[i] != '/')
            continue;
        path[i] = '\0';
        int next = open_beneath(root, path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
        const char *part = strrchr(path, '/');
        if (next < 0 && errno == ENOENT && (make_folder(at, part ? part + 1 : path)))
            next = open_beneath(root, path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
        int failed = errno;
        (void)close(at);
        errno = failed;
        at = next;
        path[i] = '/';
    }
    if (at < 0)
        return explain(within, err);
    *ret_fd = at;
    return RC_OK;
}

static struct rc fill(int fd, struct str text, struct err *err)
{
    if (!file_put(fd, text) || fsync(fd) != 0)
        return err_set(err, ERR_IO, "it cannot be written: %s; the old file is as it was", strerror(errno));
    return RC_OK;
}

/* The file must still be the one that the plan was made from. */
static struct rc check_old(struct arena *arena, const struct plan *plan, int folder, const char *name,
                           mode_t *ret_mode, struct err *err)
{
    DESCRIPTOR_SCOPE(fd);
    struct stat st;
    struct str now;
    fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT && plan->is_new)
        return RC_OK;
    if (fd < 0 && errno == ELOOP)
        return err_set(err, ERR_FORBIDDEN, "%.*s is a link; name the file itself", STR_ARG(plan->path));
    if (fd < 0 && errno != ENOENT)
        return explain(plan->path, err);
    if (fd < 0 || plan->is_new)
        return err_set(err, ERR_CONFLICT, "%.*s changed meanwhile; nothing was written", STR_ARG(plan->path));
    TRY(read_all(fd, arena, plan->path, &now, err));
    if (!str_eq(now, plan->before))
        return err_set(err, ERR_CONFLICT, "%.*s changed meanwhile; nothing was written", STR_ARG(plan->path));
    if (fstat(fd, &st) == 0)
        *ret_mode = st.st_mode & 07777;
    return RC_OK;
}

struct rc place_write(struct arena *arena, struct str root, const struct plan *plan, struct err *err)
{
    DESCRIPTOR_SCOPE(folder);
    DESCRIPTOR_SCOPE(fd);
    char name[NAME_MAX + 1], beside[ID_BYTES + 8];
    mode_t mode = 0;
    TRY(open_parent(root, plan->path, &folder, name, err));
    TRY(check_old(arena, plan, folder, name, &mode, err));
    (void)snprintf(beside, sizeof beside, ".%s", id_new("nod").text);
    fd = openat(folder, beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return explain(plan->path, err);
    struct rc rc = fill(fd, plan->after, err);
    if (rc_ok(rc) && fchmod(fd, mode ? mode : NEW_FILE_MODE) != 0)
        rc = err_set(err, ERR_IO, "its mode cannot be kept: %s; the old file is as it was", strerror(errno));
    if (rc_ok(rc) && renameat(folder, beside, folder, name) != 0)
        rc = err_set(err, ERR_IO, "it cannot be put in place: %s; the old file is as it was", strerror(errno));
    if (rc_bad(rc))
        (void)unlinkat(folder, beside, 0);
    return rc;
}
