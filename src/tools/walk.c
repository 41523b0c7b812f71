/* Every file beneath a folder of the root (io/place.c opens them). */
#include "tools/tool.h"

#include "base/grow.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { WALK_DEPTH_MAX = 64, WALK_SEEN_MAX = 200000 };

struct names {
    char **items;
    size_t count, room;
};

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Sorted, so that the same folder gives the same result on every file system. */
static struct names read_names(struct arena *arena, DIR *folder)
{
    struct names names = {0};
    struct dirent *entry;
    while ((entry = readdir(folder))) {
        struct str name = str_of(entry->d_name);
        if (str_is(name, ".") || str_is(name, "..") || str_is(name, ".git"))
            continue;
        ARENA_GROW(arena, names.items, names.count, names.room);
        names.items[names.count++] = (char *)arena_str(arena, name).p;
    }
    if (names.count)
        qsort(names.items, names.count, sizeof *names.items, by_name);
    return names;
}

static bool hides(const struct tool_use *use, struct arena *arena, struct str within)
{
    return use->hides && use->hides(use, arena_printf(arena, "%.*s/%.*s", STR_ARG(use->root), STR_ARG(within)));
}

/* Takes over `fd`. Each folder is opened relative to its parent and without following links, so that a folder which is
 * replaced by a link during the walk is not entered. */
static bool walk_folder(struct place_walk *walk, int fd, struct str within, unsigned depth)
{
    ARENA_SCOPE(arena);
    DIR *folder = depth < WALK_DEPTH_MAX ? fdopendir(fd) : NULL;
    bool go_on = true;
    if (!folder) {
        (void)close(fd);
        return true;
    }
    struct names names = read_names(&arena, folder);
    for (size_t i = 0; go_on && i < names.count; i++) {
        struct stat st;
        bool top = str_is(within, ".");
        struct str path = arena_printf(&arena, "%.*s%s%s", top ? 0 : (int)within.n, within.p, top ? "" : "/",
                                       names.items[i]);
        if (++walk->seen > WALK_SEEN_MAX || use_cancelled(walk->use))
            go_on = false;
        else if (hides(walk->use, &arena, path))
            walk->hidden++;
        else if (fstatat(dirfd(folder), names.items[i], &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        else if (S_ISREG(st.st_mode))
            go_on = walk->take(walk, path, &st);
        else if (S_ISDIR(st.st_mode)) {
            int inner = openat(dirfd(folder), names.items[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            go_on = inner < 0 || walk_folder(walk, inner, path, depth + 1);
        }
    }
    (void)closedir(folder);
    return go_on;
}

struct rc place_walk(struct place_walk *walk, struct err *err)
{
    int fd;
    TRY(place_open(walk->use->root, walk->from, O_RDONLY | O_DIRECTORY, &fd, err));
    (void)walk_folder(walk, fd, walk->from, 0);
    return RC_OK;
}
