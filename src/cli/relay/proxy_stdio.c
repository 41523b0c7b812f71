/* The transport to an MCP server that is a program: each line is a message. */
#include "cli/relay/proxy.h"

static bool send_line(struct proxy *proxy, struct str message) { return relay_pipe_put(&proxy->child.in, message); }

static void end(struct proxy *proxy)
{
    relay_pipe_close(&proxy->child.in);
    (void)relay_child_end(&proxy->child);
}

const struct proxy_back proxy_stdio = {.send = send_line, .end = end};

static void *read_server(void *arg)
{
    struct proxy *proxy = arg;
    if (!relay_read_lines(proxy->child.out, PROXY_LINE_BYTES, proxy_from_server, proxy))
        cli_note("nod mcp proxy: the server wrote a line of more than %d bytes; the proxy ends", PROXY_LINE_BYTES);
    proxy_server_gone(proxy);
    return NULL;
}

struct rc proxy_stdio_start(struct proxy *proxy, char **argv, struct err *err)
{
    proxy->back = &proxy_stdio;
    TRY(relay_child_start(argv, proxy->cli->environment, &proxy->child, err));
    return cli_start_thread(read_server, proxy, err);
}
