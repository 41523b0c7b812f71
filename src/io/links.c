#include "io/links.h"

#include "base/buf.h"
#include "base/limits.h"

#include <dirent.h>
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

struct str links_follow(struct arena *arena, struct str path)
{
    BUF_SCOPE(reached, 4 * LIMIT_PATH_BYTES);
    char target[PATH_MAX];
    unsigned links = 0;
    if (!str_starts(path, STR("/")) || str_find(path, '\0') < path.n)
        return STR_NONE;
    while (!str_empty(path)) {
        struct str part = str_cut(path, '/', &path);
        if (str_empty(part) || str_is(part, "."))
            continue;
        if (str_is(part, "..")) {
            climb(&reached);
            continue;
        }
        buf_putc(&reached, '/');
        buf_put(&reached, part);
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

/* Folders of tools, which hold thousands of files and are no place for secrets of one's own. */
static bool passed_over(const char *name)
{
    static const char *const names[] = {".", "..", ".git", "node_modules", "target", "build", "dist", ".venv", "venv",
                                        "__pycache__", "vendor"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

struct str links_find(struct arena *arena, struct str folder, unsigned levels, size_t *entries,
                      bool (*wanted)(struct str path, struct str real))
{
    struct str found = STR_NONE;
    DIR *dir = str_find(folder, '\0') == folder.n ? opendir(arena_c(arena, folder)) : NULL;
    if (!dir)
        return STR_NONE;
    for (struct dirent *entry; str_empty(found) && (entry = readdir(dir));) {
        if (passed_over(entry->d_name))
            continue;
        struct str path = arena_printf(arena, "%.*s/%s", STR_ARG(folder), entry->d_name);
        if ((*entries)-- == 0) {
            *entries = 0;
            found = folder;
        } else if (wanted(path, entry->d_type == DT_LNK ? links_follow(arena, path) : path)) {
            found = path;
        } else if (levels > 1 && entry->d_type == DT_DIR) {
            found = links_find(arena, path, levels - 1, entries, wanted);
        }
    }
    (void)closedir(dir);
    return found;
}
