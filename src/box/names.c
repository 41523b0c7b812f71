/* Names below a project that a boxed command must not change: repositories' hooks and settings of agents and editors,
 * which would run code for the person later, outside the box.
 *
 * A name can only be covered if it exists on the host. A missing one is made (empty, not writable) while boxes use the
 * project and removed after the last of them. The project's lock file in Nod's data folder counts them: each box holds
 * a shared lock, and the one that can make it exclusive is the last. The file lists what was made, by inode, so that a
 * box finds what another one, or a killed one, left behind; what a person made in the meantime is never removed. */
#include "box/inner.h"

#include "base/digest.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The first MADE rows are made where they are missing, so that a command in a box cannot create them itself. */
const struct box_name box_names[] = {
    {".git", false},      {".claude", false},   {".nod", false},          {".codex", false},  {".gemini", false},
    {".cursor", false},   {".agents", false},   {".vscode", false},       {".idea", false},   {".devcontainer", false},
    {".husky", false},    {".qwen", false},     {".opencode", false},     {".mcp.json", true}, {".envrc", true},
    {".gitmodules", true},
    /* The following are covered only where they exist. */
    {".continue", false}, {".roo", false},      {".cline", false},        {".npmrc", true},   {".gitconfig", true},
    {".cursorrules", true}, {"opencode.json", true}, {"opencode.jsonc", true},
};
const size_t box_names_count = sizeof box_names / sizeof *box_names;

enum { MADE = 16, LOCK_TEXT_BYTES = 4096 };
_Static_assert(MADE <= sizeof box_names / sizeof *box_names, "all of them are rows");

struct made {
    char name[32];
    unsigned long long dev, ino;
};

static int open_lock(const struct box *box)
{
    char path[PATH_MAX], hex[DIGEST_HEX_BYTES];
    struct digest digest = digest_of(str_of(box->project));
    digest_hex(&digest, hex);
    if (snprintf(path, sizeof path, "%s/%.32s", box->locks, hex) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    (void)mkdir(box->locks, S_IRWXU);
    return open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
}

/* The list in the lock file: names that boxes have made, with their inodes. */
static size_t read_made(int lock, struct made made[static MADE])
{
    char text[LOCK_TEXT_BYTES + 1];
    size_t count = 0;
    ssize_t got = pread(lock, text, LOCK_TEXT_BYTES, 0);
    text[got > 0 ? got : 0] = '\0';
    for (char *line = text; *line && count < MADE;) {
        char *end = strchrnul(line, '\n');
        struct made *row = &made[count];
        if (sscanf(line, "%31s %llu %llu", row->name, &row->dev, &row->ino) == 3)
            count++;
        line = *end ? end + 1 : end;
    }
    return count;
}

static bool write_made(int lock, const struct made *made, size_t count)
{
    char text[LOCK_TEXT_BYTES];
    int n = 0;
    for (size_t i = 0; i < count; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s %llu %llu\n", made[i].name, made[i].dev, made[i].ino);
    return pwrite(lock, text, (size_t)n, 0) == n && ftruncate(lock, n) == 0;
}

/* The file is listed before it is made: a box killed in between leaves a row that no inode fits. */
static int make(int project, const struct box_name *name, struct made *row)
{
    struct stat seen;
    int made = name->is_file ? openat(project, name->name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0444) : -1;
    if (name->is_file ? made < 0 : mkdirat(project, name->name, 0555) != 0)
        return -1;
    if (made >= 0)
        (void)close(made);
    if (fstatat(project, name->name, &seen, AT_SYMLINK_NOFOLLOW) != 0)
        return -1;
    (void)snprintf(row->name, sizeof row->name, "%s", name->name);
    row->dev = seen.st_dev;
    row->ino = seen.st_ino;
    return 0;
}

/* Whether the name is still the one that was made; *ret_seen is what it is now. */
static bool is_made(int project, const struct made *row, struct stat *ret_seen)
{
    return fstatat(project, row->name, ret_seen, AT_SYMLINK_NOFOLLOW) == 0 && ret_seen->st_dev == row->dev &&
           ret_seen->st_ino == row->ino;
}

/* Forgets rows of names that are gone: a box that was killed while it removed them has left those. */
static size_t read_left(int project, int lock, struct made made[static MADE])
{
    struct stat seen;
    size_t count = 0, listed = read_made(lock, made);
    for (size_t i = 0; i < listed; i++)
        if (is_made(project, &made[i], &seen))
            made[count++] = made[i];
    return count;
}

/* Makes all that are missing. The caller holds the mutex, so that no other box makes or removes any meanwhile. */
static bool make_missing(int project, int lock)
{
    struct made made[MADE];
    size_t count = read_left(project, lock, made);
    for (size_t i = 0; i < MADE; i++) {
        struct stat seen;
        if (fstatat(project, box_names[i].name, &seen, AT_SYMLINK_NOFOLLOW) == 0)
            continue;
        if (errno != ENOENT || count == MADE)
            return false;
        box_set_step("make %s", box_names[i].name);
        if (make(project, &box_names[i], &made[count]) != 0)
            return false;
        count++;
        if (!write_made(lock, made, count))
            return false;
    }
    return true;
}

static void remove_made(int project, int lock)
{
    struct made made[MADE];
    size_t count = read_made(lock, made);
    for (size_t i = 0; i < count; i++) {
        struct stat seen;
        if (!is_made(project, &made[i], &seen) || (S_ISREG(seen.st_mode) && seen.st_size > 0))
            continue;
        (void)unlinkat(project, made[i].name, S_ISDIR(seen.st_mode) ? AT_REMOVEDIR : 0); /* fails when not empty */
    }
    (void)write_made(lock, made, 0);
}

/* A lock on the same file for the moments in which names are made or removed; flock counts the boxes. The two kinds
 * of lock do not see each other, and both end with the descriptor. */
static bool lock_mutex(int lock, short type)
{
    struct flock range = {.l_type = type, .l_whence = SEEK_SET};
    int done;
    do {
        done = fcntl(lock, F_OFD_SETLKW, &range);
    } while (done != 0 && errno == EINTR);
    return done == 0;
}

/* Returns the descriptor of the lock, which the box holds as long as it lives; -1 on failure. */
int box_names_hold(const struct box *box)
{
    box_set_step("open the project");
    int project = open(box->project, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (project < 0)
        return -1;
    box_set_step("lock the project");
    int lock = open_lock(box);
    bool held = lock >= 0 && lock_mutex(lock, F_WRLCK) && flock(lock, LOCK_SH) == 0 && make_missing(project, lock) &&
                lock_mutex(lock, F_UNLCK);
    int failed = errno;
    (void)close(project);
    if (!held && lock >= 0)
        (void)close(lock);
    errno = failed;
    return held ? lock : -1;
}

void box_names_release(const struct box *box, int held)
{
    int project = open(box->project, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (project >= 0 && lock_mutex(held, F_WRLCK) && flock(held, LOCK_EX | LOCK_NB) == 0)
        remove_made(project, held);
    if (project >= 0)
        (void)close(project);
    (void)close(held);
}

size_t box_names_excludes(char *text, size_t bytes)
{
    size_t n = 0;
    for (size_t i = 0; i < MADE && n < bytes; i++)
        if (box_names[i].is_file)
            n += (size_t)snprintf(text + n, bytes - n, "/%s\n", box_names[i].name);
    return n < bytes ? n : bytes;
}
