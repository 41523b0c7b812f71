/* The way to an MCP server that is a program: a line is a message. */
#include "cli/relay/proxy.h"

#include "agents/lines.h"

#include <errno.h>
#include <unistd.h>

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
    struct lines lines = lines_init(PROXY_LINE_BYTES);
    for (bool more = true; more;) {
        size_t room;
        struct str line;
        char *to = lines_room(&lines, &room);
        ssize_t n = to ? read(proxy->child.out, to, room) : -1;
        if (to && n < 0 && errno == EINTR)
            continue;
        more = n > 0;
        if (to)
            lines_add(&lines, more ? (size_t)n : 0);
        while (lines_next(&lines, &line))
            proxy_from_server(proxy, line);
        more = more && !lines.over;
    }
    if (lines.over)
        cli_note("nod mcp proxy: the server wrote a line of more than %d bytes; this is the end", PROXY_LINE_BYTES);
    proxy_server_gone(proxy);
    return NULL;
}

struct rc proxy_stdio_start(struct proxy *proxy, char **argv, struct err *err)
{
    pthread_t thread;
    proxy->back = &proxy_stdio;
    TRY(relay_child_start(argv, proxy->cli->environment, &proxy->child, err));
    if (pthread_create(&thread, NULL, read_server, proxy) != 0)
        return err_set(err, ERR_INTERNAL, "no thread could be started");
    (void)pthread_detach(thread);
    return RC_OK;
}
