/* Words: the help of a command, and what someone may have meant. Pure. */
#ifndef CLI_WORDS_H
#define CLI_WORDS_H

#include "base/buf.h"
#include "cli/cli.h"

/* The command of that name (also of two words); NULL when there is none. */
const struct command *command_find(struct str name);
/* Whether commands of two words begin with this one. */
bool command_group(struct str word);
/* The known command, or option of a command, most similar to a mistyped word; empty when none is similar. */
struct str command_nearest(struct arena *arena, struct str word);
const char *option_nearest(const struct command *command, struct str word);
/* The error for a command that does not exist, with the nearest one. */
struct rc command_unknown(struct arena *arena, struct str name, struct err *err);

/* The least and the most operands a command takes. */
void command_operands(const struct command *command, int *ret_min, int *ret_max);

/* Write the text of `nod help`, of a group of commands, of one command, and of all settings. `width` 0 means 80. */
void words_all(struct buf *buf, unsigned width);
void words_group(struct buf *buf, struct str word, unsigned width);
void words_command(struct buf *buf, const struct command *command, unsigned width);
void words_settings(struct buf *buf, unsigned width);

#endif
