/* The executor process of another user (`nod executor`); private to serve/. */
#ifndef SERVE_EXECUTORS_H
#define SERVE_EXECUTORS_H

#include "cli/cli.h"
#include "tools/tools.h"

struct executors;
struct loop;

/* With the setting `executor`: listens for that user's executor, in a thread of its own; else there is none. */
struct rc executors_open(struct cli *cli, struct loop *loop, struct executors **ret_executors, struct err *err);
/* Call it when no tool runs any more, and before the loop is freed. */
void executors_close(struct executors *executors);
/* NULL: tools are done here. */
struct tool_link *executors_link(const struct executors *executors);
/* The home folder of the executor's user; NULL: there is none. */
const char *executors_home(struct cli *cli);

#endif
