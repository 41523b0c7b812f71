/* Commands in the background, for the files of tools/ that start and end them. */
#ifndef TOOLS_SHELLS_H
#define TOOLS_SHELLS_H

#include "tools/tool.h"

/* Starts the use's command in the background; the text tells the name by which its output can be read. */
struct rc shells_start(const struct tool_use *use, struct str *ret_text, struct err *err);

/* bash.c: what a model is told of a command that has ended. */
struct rc bash_outcome(struct arena *arena, int status, struct str output, struct str *ret_text, struct err *err);

#endif
