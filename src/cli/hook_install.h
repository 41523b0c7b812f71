/* Writes hooks into an agent's settings, or takes them out; see hook_install.c. */
#ifndef CLI_HOOK_INSTALL_H
#define CLI_HOOK_INSTALL_H

#include "agents/agents.h"
#include "cli/cli.h"

struct rc hook_install(struct cli *cli, enum hook_agent agent, bool remove, struct err *err);

/* The identity of the hooks in the person's own settings of this agent, when it is there and works; else NULL. */
const char *hook_identity(struct cli *cli, enum hook_agent agent);

/* What is wrong with the hooks in the person's settings of this agent, in words; NULL: nothing, or there are none. */
const char *hook_trouble(struct cli *cli, enum hook_agent agent, bool *ret_installed);

#endif
