/* Puts the proxy in front of the servers in an MCP client's settings, or takes it out (--remove); see mcp_install.c. */
#ifndef CLI_MCP_INSTALL_H
#define CLI_MCP_INSTALL_H

#include "cli/cli.h"

struct rc mcp_install_client(struct cli *cli, const char *name, struct err *err);

/* The servers in a client's settings. */
struct mcp_install_look {
    const char *client;
    unsigned proxied;   /* how many are behind the proxy; 0: the client does not use it, or has no settings */
    struct str around;  /* names of servers that bypass the proxy while others use it */
    struct str trouble; /* why a server behind the proxy cannot work, in words; empty: nothing is wrong */
};
/* Looks at the client of this index, from 0; false: there are no more. Changes nothing. */
bool mcp_install_look(struct cli *cli, size_t number, struct mcp_install_look *ret_look);

#endif
