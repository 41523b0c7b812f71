/* `nod mcp proxy` in an MCP server's place, as a client starts it. */
#ifndef AGENTS_MCP_FRONT_H
#define AGENTS_MCP_FRONT_H

#include "base/json.h"

/* A server as a client's settings or an ACP message name it: a program, or an address with headers. */
struct mcp_front {
    struct str name;
    const char *identity;         /* path of the proxy's identity file */
    struct str command, url;      /* one of them */
    const struct json *args;      /* NULL: none */
    const struct json *headers;   /* {"NAME":"VALUE"} or [{"name","value"}]; NULL: none */
    const struct json *variables; /* {"NAME":"VARIABLE"}: headers whose values are in the environment; NULL: none */
    struct str bearer;            /* the variable with a token; empty: none */
};
/* The server in `entry`; false: it is neither a program nor an address that can be read. */
bool mcp_front_read(const struct json *entry, struct mcp_front *ret_front);
/* The proxy's arguments, a list. Values of headers are not among them, but in the variables below. */
void mcp_front_args(struct json_out *out, struct arena *arena, const struct mcp_front *front);
/* The number-th variable that the proxy needs; false: there are no more. */
bool mcp_front_variable(struct arena *arena, const struct mcp_front *front, unsigned number, struct str *ret_name,
                        struct str *ret_value);

#endif
