/* Writes hooks into an agent's settings, or takes them out; see hook_install.c. */
#ifndef CLI_HOOK_INSTALL_H
#define CLI_HOOK_INSTALL_H

#include "agents/agents.h"
#include "cli/cli.h"

struct rc hook_install(struct cli *cli, enum hook_agent agent, bool remove, struct err *err);

#endif
