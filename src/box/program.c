/* A program that is to run in a box: where it is, and which folder of its own it needs there. */
#include "box/box.h"

#include "base/str.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *box_find_program(struct arena *arena, const char *name, const char *path)
{
    char real[PATH_MAX];
    if (strchr(name, '/'))
        return realpath(name, real) ? arena_c(arena, str_of(real)) : NULL;
    struct str rest = str_of(path);
    while (rest.n) {
        struct str folder = str_cut(rest, ':', &rest);
        const char *candidate = arena_printf(arena, "%.*s/%s", STR_ARG(folder), name).p;
        if (access(candidate, X_OK) == 0 && realpath(candidate, real))
            return arena_c(arena, str_of(real));
    }
    return NULL;
}

static bool is_in_system(const char *path)
{
    static const char *const systems[] = {"/usr/", "/bin/", "/opt/", "/nix/store/"};
    return ANY(size_t i = 0; i < sizeof systems / sizeof *systems; i++,
               strncmp(path, systems[i], strlen(systems[i])) == 0);
}

const char *box_program_folder(struct arena *arena, const char *program)
{
    struct str path = str_of(program);
    size_t end = path.n;
    if (is_in_system(program))
        return NULL;
    while (end > 0 && path.p[end - 1] != '/')
        end--;
    const char *modules = memmem(path.p, path.n, "/node_modules/", 14);
    if (modules)
        end = (size_t)(modules - path.p) + 14;
    return arena_c(arena, str_sub(path, 0, end > 1 ? end - 1 : end));
}
