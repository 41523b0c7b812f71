/* Files and folders that are ours alone. */
#ifndef IO_FILE_H
#define IO_FILE_H

#include "base/arena.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"

#include <sys/types.h>

/* Makes the folder and its parents, those that are missing with mode 0700. */
struct rc file_make_folders(const char *path, struct err *err);
/* Makes the folder (and its parents) with mode 0700, and gives one that is there that mode; refuses one that
 * anyone may write to. */
struct rc file_own_folder(const char *path, struct err *err);
/* The whole file, at most bytes_max. ERR_NOT_FOUND when it is not there. */
struct rc file_read(struct arena *arena, const char *path, size_t bytes_max, struct str *ret_text,
                    struct err *err);
/* Reads so many bytes, fewer only where there are no more. -1: errno says why not. Both may block. */
ssize_t file_get(int fd, void *bytes, size_t n);
/* Writes all of it; false: errno says why not. */
bool file_put(int fd, struct str text);
/* Writes the text to a temporary file (0600) in the same folder, syncs, and renames it to `path`: after a crash `path`
 * is the old file or the new one, never a part. */
struct rc file_write_private(const char *path, struct str text, struct err *err);
/* SHA-256 of its bytes, however many they are. */
struct rc file_digest(const char *path, struct digest *ret_digest, struct err *err);
/* A file, or what a folder lists, is on the disk when this returns. */
struct rc file_sync(const char *path, struct err *err);
/* Takes an exclusive lock on the file for the life of the process; ERR_CONFLICT when another holds it. */
struct rc file_lock(const char *path, int *ret_fd, struct err *err);
/* Waits until no other process holds the folder, and holds it until *ret_fd is closed; ERR_CONFLICT when one does so
 * for ten seconds. -1 where folders cannot be held: then nobody is kept away. */
struct rc file_hold_folder(const char *path, int *ret_fd, struct err *err);

#endif
