/* Symbolic links resolved by hand (links.h), because realpath fails where the last part does not exist yet. */
#include "io/links.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/local.h"
#include "io/far.h"
#include "io/file.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS_MAX = 40 };

/* Puts the target of the link before the rest of the path, with a slash between them. */
static struct str put_before(struct arena *arena, struct str first, struct str rest)
{
    return arena_printf(arena, "%.*s/%.*s", STR_ARG(first), STR_ARG(rest));
}

static void climb(struct buf *reached)
{
    while (reached->n > 0 && reached->p[reached->n - 1] != '/')
        reached->n--;
    if (reached->n > 0)
        reached->n--;
}

static struct str follow_far(struct arena *arena, struct str path);

/* As the kernel would walk it, also for names that do not exist yet. Empty: too many links, or too long. `wary`: what
 * lies on a far mount is walked by a thread. */
static struct str follow(struct arena *arena, struct str path, bool wary)
{
    BUF_SCOPE(reached, 4 * LIMIT_PATH_BYTES);
    char target[PATH_MAX] NOT_ZEROED;
    unsigned links = 0;
    if (!str_starts(path, STR("/")) || str_find(path, '\0') < path.n)
        return STR_NONE;
    STR_EACH(part, path, '/') {
        if (str_empty(part) || str_is(part, "."))
            continue;
        if (str_is(part, "..")) {
            climb(&reached);
            continue;
        }
        BUF_ADD(&reached, STR("/"), part);
        if (wary && far_is(buf_str(&reached)))
            return follow_far(arena, put_before(arena, buf_str(&reached), path));
        ssize_t n = reached.over ? -1 : readlink(buf_c(&reached), target, sizeof target);
        if (n < 0)
            continue; /* not a link, or it does not exist */
        if (++links > LINKS_MAX || (size_t)n == sizeof target)
            return STR_NONE;
        path = put_before(arena, (struct str){target, (size_t)n}, path);
        if (target[0] == '/')
            buf_clear(&reached);
        else
            climb(&reached);
    }
    if (reached.over)
        return STR_NONE;
    return reached.n ? arena_str(arena, buf_str(&reached)) : STR("/");
}

struct str links_follow(struct arena *arena, struct str path) { return follow(arena, path, far_any()); }

/* ---- on a mount that may not answer ---- */

struct far_look {
    struct far_work work;
    struct str path, real;
    struct stat st;
    bool there;
    size_t bytes_max;
    struct str text;
    struct err err;
};

static void follow_it(struct far_work *work)
{
    struct far_look *look = (struct far_look *)work;
    look->real = follow(&work->arena, look->path, false);
}

static void stat_it(struct far_work *work)
{
    struct far_look *look = (struct far_look *)work;
    look->there = stat(look->path.p, &look->st) == 0;
}

static void lstat_it(struct far_work *work)
{
    struct far_look *look = (struct far_look *)work;
    look->there = lstat(look->path.p, &look->st) == 0;
}

static void make_it(struct far_work *work)
{
    struct far_look *look = (struct far_look *)work;
    (void)file_make_folders(look->path.p, NULL).code;
}

static void read_it(struct far_work *work)
{
    struct far_look *look = (struct far_look *)work;
    (void)file_read(&work->arena, look->path.p, look->bytes_max, &look->text, &look->err).code;
}

/* Looks on a thread, since the mount may hang; NULL: it did not answer in time. */
static struct far_look *look_far(struct str path, void (*run)(struct far_work *work), size_t bytes_max)
{
    struct far_look *look = far_new(sizeof *look, run);
    look->bytes_max = bytes_max;
    look->path = arena_str(&look->work.arena, path);
    return far_do(&look->work, path) ? look : NULL;
}

static struct str follow_far(struct arena *arena, struct str path)
{
    struct far_look *look = look_far(path, follow_it, 0);
    if (!look)
        return STR_NONE;
    struct str real = arena_str(arena, look->real);
    far_free(&look->work);
    return real;
}

/* `path` has no links, or only its last part is one. */
static bool stat_near_or_far(struct arena *arena, struct str path, bool wary, bool itself, struct stat *ret_stat)
{
    if (!wary || !far_is(path))
        return (itself ? lstat : stat)(arena_c(arena, path), ret_stat) == 0;
    struct far_look *look = look_far(path, itself ? lstat_it : stat_it, 0);
    bool there = look && look->there;
    errno = ETIMEDOUT;
    if (there)
        *ret_stat = look->st;
    if (look) {
        errno = ENOENT;
        far_free(&look->work);
    }
    return there;
}

static bool fail_to_follow(void)
{
    errno = ETIMEDOUT;
    return false;
}

bool links_stat(struct arena *arena, struct str path, struct stat *ret_stat)
{
    bool wary = far_any();
    struct str real = wary ? follow(arena, path, true) : path;
    if (str_empty(real) || str_find(real, '\0') < real.n)
        return fail_to_follow();
    return stat_near_or_far(arena, real, wary, false, ret_stat);
}

/* The path with the links of all but its last part followed. Empty: it is too long, or its place does not answer. */
static struct str follow_parents(struct arena *arena, struct str path)
{
    size_t slash = path.n;
    while (slash && path.p[slash - 1] != '/')
        slash--;
    struct str parent = follow(arena, str_sub(path, 0, slash), true);
    return str_empty(parent) ? STR_NONE : put_before(arena, str_is(parent, "/") ? STR_NONE : parent,
                                                     str_sub(path, slash, path.n));
}

bool links_lstat(struct arena *arena, struct str path, struct stat *ret_stat)
{
    bool wary = far_any();
    struct str real = wary ? follow_parents(arena, path) : path;
    if (str_empty(real) || str_find(real, '\0') < real.n)
        return fail_to_follow();
    return stat_near_or_far(arena, real, wary, true, ret_stat);
}

void links_make_folder(struct arena *arena, struct str path)
{
    bool wary = far_any();
    struct str real = wary ? follow(arena, path, true) : path;
    if (str_empty(real) || str_find(real, '\0') < real.n)
        return;
    if (!wary || !far_is(real)) {
        (void)file_make_folders(arena_c(arena, real), NULL).code;
        return;
    }
    struct far_look *look = look_far(real, make_it, 0);
    if (look)
        far_free(&look->work);
}

struct rc links_read(struct arena *arena, const char *path, size_t bytes_max, struct str *ret_text, struct err *err)
{
    bool wary = far_any();
    struct str real = wary ? follow(arena, str_of(path), true) : str_of(path);
    if (!wary || (!str_empty(real) && !far_is(real)))
        return file_read(arena, path, bytes_max, ret_text, err);
    struct far_look *look = str_empty(real) ? NULL : look_far(real, read_it, bytes_max);
    if (!look)
        return err_set(err, ERR_TIMEOUT, "%s does not answer", path);
    struct rc rc = {look->err.code};
    if (rc_ok(rc))
        *ret_text = arena_str(arena, look->text);
    else if (err)
        *err = look->err;
    far_free(&look->work);
    return rc;
}

bool links_reach(struct arena *arena, struct str path, bool *ret_file, bool *ret_shared)
{
    struct stat st;
    bool there = links_stat(arena, path, &st);
    *ret_file = there && S_ISREG(st.st_mode);
    *ret_shared = *ret_file && st.st_nlink > 1;
    return there;
}

static bool is_dots(const char *name) { return strcmp(name, ".") == 0 || strcmp(name, "..") == 0; }

bool links_is_of_tool(struct str path)
{
    static const char *const names[] = {".git", "node_modules", ".venv", "venv", "__pycache__"};
    size_t at = path.n;
    while (at && path.p[at - 1] != '/')
        at--;
    return STR_IN(str_sub(path, at, path.n), names);
}

/* Folders of tools, which hold thousands of files and no secrets of one's own; `target` only where cargo made it. */
static bool passed_over(struct links_search *search, struct str folder, const char *name)
{
    if (strcmp(name, "target") != 0)
        return links_is_of_tool(str_of(name));
    return access(arena_c(search->arena, put_before(search->arena, folder, STR("target/CACHEDIR.TAG"))), F_OK) == 0;
}

static bool is_folder(struct links_search *search, const struct dirent *entry, struct str path)
{
    struct stat st;
    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    return lstat(arena_c(search->arena, path), &st) == 0 && S_ISDIR(st.st_mode);
}

static struct str give_up(struct links_search *search, struct str folder)
{
    search->gave_up = true;
    return folder;
}

static struct str find_far(struct links_search *search, struct str folder, struct str real);
static struct str find(struct links_search *search, struct str folder, bool wary);

/* Looks at one name: empty, or what is found by it or below it. */
static struct str find_by_name(struct links_search *search, struct str folder, const struct dirent *entry, bool wary)
{
    struct str path = put_before(search->arena, folder, str_of(entry->d_name));
    bool below = is_folder(search, entry, path), plain = below || entry->d_type == DT_REG;
    if (below && !search->enters && passed_over(search, folder, entry->d_name))
        return STR_NONE;
    if (search->entries == 0)
        return give_up(search, folder);
    search->entries--;
    if (search->enters && !search->enters(search->arg, path))
        return STR_NONE; /* a link takes longer to follow than a name to read */
    struct str real = plain ? path : follow(search->arena, path, wary);
    if (search->wanted(search->arg, path, real))
        return path;
    if (entry->d_type == DT_REG || str_empty(real) || !(below || search->enters))
        return STR_NONE;
    if (search->levels == 0)
        return search->whole ? give_up(search, path) : STR_NONE;
    /* Below a link the names do not say which mount they lie on. */
    bool apart = wary && (far_is(real) || path.p != real.p);
    return apart ? find_far(search, path, real) : find(search, path, wary);
}

/* Bounded by levels and entries; where the bound is reached the folder itself is given as found, so that nothing is
 * overlooked. */
static struct str find(struct links_search *search, struct str folder, bool wary)
{
    struct str found = STR_NONE;
    DIR *dir = str_find(folder, '\0') == folder.n ? opendir(arena_c(search->arena, folder)) : NULL;
    if (!dir)
        return errno == ENOENT || errno == ENOTDIR ? STR_NONE : give_up(search, folder);
    search->levels--;
    for (struct dirent *entry; str_empty(found) && (entry = readdir(dir));)
        if (!is_dots(entry->d_name))
            found = find_by_name(search, folder, entry, wary);
    search->levels++;
    (void)closedir(dir);
    return found;
}

struct str links_find(struct links_search *search, struct str folder)
{
    bool wary = far_any();
    struct str real = wary ? follow(search->arena, folder, true) : folder;
    if (wary && str_empty(real))
        return give_up(search, folder);
    return wary && far_is(real) ? find_far(search, folder, real) : find(search, folder, wary);
}

struct far_find {
    struct far_work work;
    struct links_search search;
    struct str folder, found;
};

static void find_it(struct far_work *work)
{
    struct far_find *far = (struct far_find *)work;
    far->found = find(&far->search, far->folder, false);
}

/* Searches on a thread what lies at `real`. It also searches near mounts that lie below the far one. */
static struct str find_far(struct links_search *search, struct str folder, struct str real)
{
    struct far_find *far = far_new(sizeof *far, find_it);
    far->work.long_work = true;
    far->search = *search;
    far->search.arena = &far->work.arena;
    far->search.arg = search->keep ? search->keep(&far->work.arena, search->arg) : NULL;
    far->folder = arena_str(&far->work.arena, folder);
    if (!far_do(&far->work, real))
        return give_up(search, folder);
    struct str found = arena_str(search->arena, far->found);
    search->entries = far->search.entries;
    search->gave_up = far->search.gave_up;
    far_free(&far->work);
    return found;
}
