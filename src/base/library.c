/* Libraries that are opened when they are first needed (library.h), so that most processes of Nod do not load
 * them. In the static program they are linked, and this finds the linked functions. */
#include "base/library.h"

#include <string.h>

#ifdef NOD_STATIC
static void *open_library(const char *file) { return (void *)file; }
static void *find_function(void *library, const struct library_function *function)
{
    (void)library;
    return function->linked;
}
#else
#include <dlfcn.h>
static void *open_library(const char *file) { return dlopen(file, RTLD_NOW | RTLD_LOCAL); }
static void *find_function(void *library, const struct library_function *function)
{
    return dlsym(library, function->name);
}
#endif

/* NULL: all functions were found. Else the name of the one that is missing, or of the library. */
const char *library_load(const char *file, const struct library_function *functions, size_t count)
{
    void *library = open_library(file);
    if (!library)
        return file;
    for (size_t i = 0; i < count; i++) {
        void *found = find_function(library, &functions[i]);
        if (!found)
            return functions[i].name;
        memcpy(functions[i].pointer, &found, sizeof found); /* ISO C has no cast from void * to a function */
    }
    return NULL;
}
