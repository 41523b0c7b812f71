/* Internals of the launcher; private to box/. All of it runs in the process that was started as BOX_NAME:
 * one thread, no heap, no arena. A failure is reported with the step that failed, and the process ends. */
#ifndef BOX_INNER_H
#define BOX_INNER_H

#include "box/box.h"

#include <limits.h>
#include <stddef.h>

/* The step that is under way, for the report when it fails. */
extern char box_step[BOX_STEP_BYTES];
void box_set_step(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* words.c: parses argv into a box; returns the number of words used, or 0 when they are invalid. */
int box_read_words(int argc, char **argv, struct box *box);

/* Whether a command could change what lies in the project: only then are its protected names held and covered. */
static inline bool box_writes_project(const struct box *box) { return box->project && !box->project_read_only; }

/* names.c: names below a project that nobody may change from inside a box. */
struct box_name {
    const char *name;
    bool is_file;
};
extern const struct box_name box_names[];
extern const size_t box_names_count;

/* Makes the missing protected names, so that they can be covered, and notes them in the project's lock file. Returns a
 * descriptor that keeps them there (a shared lock), or -1 with errno. */
int box_names_hold(const struct box *box);
/* Removes what box_names_hold made, unless another box still uses the project. */
void box_names_release(const struct box *box, int held);
/* Writes the names of the files that box_names_hold makes, as patterns for git's exclude file. */
size_t box_names_excludes(char *text, size_t bytes);

/* tree.c: the file tree; 0, or -1 with errno. */
int box_make_tree(const struct box *box);

/* ports.c: listeners that lead out, handed over on SUPERVISOR_FD_NET; 0, or -1 with errno. */
int box_make_ports(const struct box *box);

/* filter.c: the seccomp program, as an array of struct sock_filter. Returns its bytes, or -1. */
long box_filter_make(void *program, size_t bytes);
int box_filter_load(const void *program, size_t bytes);

/* confine.c: 0, or -1 with errno. */
int box_map_ids(uid_t uid, gid_t gid); /* the ids of the host */
int box_raise_loopback(void);
int box_drop_capabilities(void);
void box_limit_resources(void);
void box_scope_signals(void);

#endif
