/* Work of many equal parts that several threads share, while whoever asked does a share of it and waits for the rest.
 *
 * The members are as many as there are processors beside the caller's, a few at most; they begin with the first work
 * and sleep between two. One that comes too late finds nothing to do and is not waited for. */
#ifndef IO_TEAM_H
#define IO_TEAM_H

#include <stddef.h>

struct team;

struct team *team_new(void);
/* Calls `part` once with each number below `count`, on any thread and in any order, and returns when all have returned.
 * A part may block nobody and touch nothing that another part touches. */
void team_run(struct team *team, size_t count, void (*part)(void *arg, size_t number), void *arg);
void team_free(struct team *team);

#endif
