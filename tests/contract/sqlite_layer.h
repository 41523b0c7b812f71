/* A layer between SQLite and its files, which looks at what the store does to them, or changes it. It is SQLite's
 * default before the store asks for one. */
#ifndef TESTS_SQLITE_LAYER_H
#define TESTS_SQLITE_LAYER_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

/* Files with and without locks have methods of their own. */
enum { LAYER_METHODS_MAX = 4 };

static struct {
    sqlite3_vfs *real, own;
    const sqlite3_io_methods *real_methods[LAYER_METHODS_MAX];
    sqlite3_io_methods methods[LAYER_METHODS_MAX];
    void (*change)(sqlite3_io_methods *methods);
    void (*opened)(sqlite3_file *file, int flags); /* may be NULL */
} layer;

/* SQLite's own methods of the file. */
static inline const sqlite3_io_methods *layer_below(const sqlite3_file *file)
{
    return layer.real_methods[file->pMethods - layer.methods];
}

static inline int layer_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret_flags)
{
    (void)vfs;
    int code = layer.real->xOpen(layer.real, name, file, flags, ret_flags);
    if (code != SQLITE_OK)
        return code;
    int i = 0;
    while (layer.real_methods[i] && layer.real_methods[i] != file->pMethods)
        i++;
    if (!layer.real_methods[i]) {
        layer.methods[i] = *file->pMethods;
        layer.change(&layer.methods[i]);
        layer.real_methods[i] = file->pMethods;
    }
    file->pMethods = &layer.methods[i];
    if (layer.opened)
        layer.opened(file, flags);
    return code;
}

/* `change` puts the test's own methods in place of SQLite's; `opened` is told of every file. */
static inline bool layer_register(void (*change)(sqlite3_io_methods *methods),
                                  void (*opened)(sqlite3_file *file, int flags))
{
    layer.change = change;
    layer.opened = opened;
    layer.real = sqlite3_vfs_find(NULL);
    layer.own = *layer.real;
    layer.own.zName = "layer";
    layer.own.xOpen = layer_open;
    layer.own.pNext = NULL;
    return sqlite3_vfs_register(&layer.own, 1) == SQLITE_OK;
}

#endif
