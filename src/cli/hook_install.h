/* Writes hooks into an agent's settings, or takes them out; see hook_install.c. */
#ifndef CLI_HOOK_INSTALL_H
#define CLI_HOOK_INSTALL_H

#include "agents/agent.h"
#include "cli/cli.h"

/* How a hook is installed, as the options or `nod setup` say. */
struct hook_choice {
    bool remove, strict, http;
    bool start;            /* start a server when none runs */
    bool yes;              /* write without asking */
    bool quiet;            /* print nothing: the caller says what was written */
    const char *settings;  /* path of the settings file; NULL: the person's own */
    const char *identity;  /* NULL: in the data folder */
};
struct rc hook_install(struct cli *cli, const struct agent *agent, const struct hook_choice *how, struct err *err);

/* The path of the person's own settings file of this agent, which need not exist; NULL: not known. */
const char *hook_settings(struct cli *cli, const struct agent *agent);
/* The file beside it in which the agent records trusted hooks; NULL: it has none. */
const char *hook_trust_file(struct cli *cli, const struct agent *agent, const char *settings);
/* The command of our hook in it; empty when there is none. */
struct str hook_written(struct cli *cli, const struct agent *agent);

/* The identity of the hooks in the person's own settings of this agent, when it is there and works; else NULL. */
const char *hook_identity(struct cli *cli, const struct agent *agent);

/* The fault of the hooks in the person's settings of this agent, in words; NULL: none, or no hooks. */
const char *hook_trouble(struct cli *cli, const struct agent *agent, bool *ret_installed);

/* The name under which the server knows the installed hooks of this agent; empty: they have none. */
struct str hook_name(struct cli *cli, const struct agent *agent);

#endif
