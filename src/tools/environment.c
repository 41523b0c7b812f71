/* The environment of commands and of programs of MCP servers: a short list of variables is kept, everything
 * else of the server's own environment, keys above all, is left out. */
#include "tools/tool.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ",
                                    "TMPDIR", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"};
_Static_assert(sizeof names / sizeof *names == ENVIRONMENT_KEPT_MAX, "one for each");

/* A list of names that are passed on, not of names that are held back: a key in a variable of an unknown name stays
 * here. */
size_t environment_kept(struct arena *arena, char *list[ENVIRONMENT_KEPT_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < ENVIRONMENT_KEPT_MAX; i++) {
        const char *value = getenv(names[i]);
        if (value)
            list[count++] = (char *)arena_printf(arena, "%s=%s", names[i], value).p;
    }
    return count;
}

/* BOX_PROXY_PORT. Listeners inside the box are reached without it. */
#define PROXY "http://127.0.0.1:3128"
#define SOCKS_PROXY "socks5h://127.0.0.1:3128"
#define NO_PROXY "localhost,127.0.0.1,::1"

static bool is_replaced(const char *variable, bool home)
{
    return strncmp(variable, "TMPDIR=", 7) == 0 || strncmp(variable, "XDG_RUNTIME_DIR=", 16) == 0 ||
           (home && (strncmp(variable, "HOME=", 5) == 0 || strncmp(variable, "XDG_", 4) == 0));
}

/* In a box the temporary folder is the box's own, and git does not see the names that the box put there. */
size_t environment_in_box(char **list, char *home, bool net)
{
    enum { ALWAYS = 4 };
    static char *const added[] = {
        "TMPDIR=/tmp", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.excludesFile",
        "GIT_CONFIG_VALUE_0=/etc/nod-excludes",
        /* The proxy, in all variables that programs look for. */
        "HTTP_PROXY=" PROXY, "http_proxy=" PROXY, "HTTPS_PROXY=" PROXY, "https_proxy=" PROXY,
        "ALL_PROXY=" SOCKS_PROXY, "all_proxy=" SOCKS_PROXY, "NO_PROXY=" NO_PROXY, "no_proxy=" NO_PROXY,
        "npm_config_proxy=" PROXY, "npm_config_https_proxy=" PROXY, "npm_config_noproxy=" NO_PROXY,
        "CARGO_HTTP_PROXY=" PROXY, "NODE_USE_ENV_PROXY=1",
        "GIT_SSH_COMMAND=ssh -o ProxyCommand='nc -X 5 -x 127.0.0.1:3128 %h %p'"};
    _Static_assert(sizeof added / sizeof *added + 1 <= ENVIRONMENT_BOX_MAX, "room for all, and for the home");
    size_t kept = 0;
    for (size_t i = 0; list[i]; i++)
        if (!is_replaced(list[i], home))
            list[kept++] = list[i];
    for (size_t i = 0; i < (net ? sizeof added / sizeof *added : ALWAYS); i++)
        list[kept++] = added[i];
    if (home)
        list[kept++] = home;
    list[kept] = NULL;
    return kept;
}
