/* Every command, in one table: a new one is one row in a commands_*.h, and one function, NAME_command.
 *
 * The table declares the functions and makes the array behind `nod help`, --help, the manual, the shell
 * completions and the check of options and operands. A command of two words belongs to the group of the
 * first. In the operands, [X] may be left out and X... may be repeated; [ARGUMENT...] takes all that follows as
 * it is, options too.
 *
 *    function, name, takes the settings of, operands, summary, more words (may be empty), options */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/commands_admin.h"
#include "cli/commands_agents.h"
#include "cli/commands_daily.h"

#define MODE_WORDS                                                                                                \
    "permission mode: default (Ask first), acceptEdits (Accept edits), plan (Plan only), read-only (Read only), " \
    "bypassPermissions (Allow everything)"

#define COMMANDS(X)   \
    DAILY_COMMANDS(X) \
    AGENT_COMMANDS(X) \
    ADMIN_COMMANDS(X)

#endif
