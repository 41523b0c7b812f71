/* Symbolic links resolved by hand (links.h), because realpath fails where the last part does not exist yet. */
#include "io/links.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/local.h"

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

/* As the kernel would walk it, also for names that do not exist yet. Empty: too many links, or too long. */
struct str links_follow(struct arena *arena, struct str path)
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

bool links_reach(struct arena *arena, struct str path, bool *ret_file, bool *ret_shared)
{
    struct stat st;
    bool there = str_find(path, '\0') == path.n && stat(arena_c(arena, path), &st) == 0;
    *ret_file = there && S_ISREG(st.st_mode);
    *ret_shared = *ret_file && st.st_nlink > 1;
    return there;
}

/* Folders of tools, which hold thousands of files and no secrets of one's own; `target` only where cargo made it. */
static bool passed_over(struct links_search *search, struct str folder, const char *name)
{
    static const char *const names[] = {".", "..", ".git", "node_modules", ".venv", "venv", "__pycache__"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return strcmp(name, "target") == 0 &&
           access(arena_c(search->arena, put_before(search->arena, folder, STR("target/CACHEDIR.TAG"))), F_OK) == 0;
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

/* Bounded by levels and entries; where the bound is reached the folder itself is given as found, so that nothing is
 * overlooked. */
struct str links_find(struct links_search *search, struct str folder)
{
    struct str found = STR_NONE;
    DIR *dir = str_find(folder, '\0') == folder.n ? opendir(arena_c(search->arena, folder)) : NULL;
    if (!dir)
        return errno == ENOENT || errno == ENOTDIR ? STR_NONE : give_up(search, folder);
    search->levels--;
    for (struct dirent *entry; str_empty(found) && (entry = readdir(dir));) {
        if (passed_over(search, folder, entry->d_name))
            continue;
        if (search->entries == 0) {
            found = give_up(search, folder);
            break;
        }
        search->entries--;
        struct str path = put_before(search->arena, folder, str_of(entry->d_name));
        bool below = is_folder(search, entry, path);
        bool plain = below || entry->d_type == DT_REG;
        if (search->wanted(search->arg, path, plain ? path : links_follow(search->arena, path)))
            found = path;
        else if (below && search->levels > 0)
            found = links_find(search, path);
        else if (below && search->whole)
            found = give_up(search, path);
    }
    search->levels++;
    (void)closedir(dir);
    return found;
}
