/* Files beneath a root, opened without following links out of it. */
#ifndef IO_PLACE_H
#define IO_PLACE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

enum { FILE_BYTES_MAX = 8 << 20 }; /* largest file that is read, shown or edited */

/* A file before and after. */
struct plan {
    struct str path;      /* beneath the root */
    struct str before, after;
    bool is_new;          /* the file does not exist yet */
};

/* The path as it is beneath the root ("." is the root itself). An absolute path must lie in it. */
struct rc place_within(struct arena *arena, struct str root, struct str path, struct str *ret_within,
                       struct err *err);
/* A descriptor of the root or of something beneath it. */
struct rc place_open(struct str root, struct str within, int flags, int *ret_fd, struct err *err);
/* The whole file. ERR_NOT_FOUND when there is none; folders, devices and larger files are refused. */
struct rc place_read(struct arena *arena, struct str root, struct str within, struct str *ret_text, struct err *err);
/* As place_read, for a path whose links were followed: one that is a link by now, or a file with a second name, is
 * refused. */
struct rc place_read_plain(struct arena *arena, struct str root, struct str within, struct str *ret_text,
                           struct err *err);
/* Replaces or creates the file atomically; keeps the mode of an old one, makes folders. The file is changed only if it
 * still holds `plan->before`. */
struct rc place_write(struct arena *arena, struct str root, const struct plan *plan, struct err *err);

static inline void close_descriptor(const int *fd)
{
    extern int close(int);
    if (*fd >= 0)
        (void)close(*fd);
}
#define DESCRIPTOR_SCOPE(name) __attribute__((cleanup(close_descriptor))) int name = -1

#endif
