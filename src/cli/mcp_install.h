/* Puts the proxy in front of the servers in an MCP client's settings, or takes it out (--remove); see mcp_install.c. */
#ifndef CLI_MCP_INSTALL_H
#define CLI_MCP_INSTALL_H

#include "cli/cli.h"

struct rc mcp_install_client(struct cli *cli, const char *name, struct err *err);

#endif
