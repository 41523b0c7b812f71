/* From the settings to MCP servers. The file may hold secrets: it must belong to us, and nobody else may write it. */
#include "cli/cli.h"
#include "io/file.h"
#include "serve/serve.h"
#include "tools/tools.h"

#include <sys/stat.h>
#include <unistd.h>

struct rc mcp_servers_open(struct cli *cli, struct servers **ret_servers, struct err *err)
{
    ARENA_SCOPE(arena);
    const char *path = cli->settings.mcp_servers;
    bool chosen = cli->settings.origins[SETTING_ID_mcp_servers].kind != ORIGIN_DEFAULT;
    struct stat st;
    struct str text;
    bool projects = cli->settings.mcp_projects;
    *ret_servers = NULL;
    if (!chosen && access(path, F_OK) != 0)
        return servers_new(STR_NONE, projects, ret_servers, err); /* empty, for what proxies report */
    struct rc rc = file_read(&arena, path, LIMIT_BODY_BYTES, &text, err);
    /* The file names programs that we start, so nobody else may write it. */
    if (rc_ok(rc) && (stat(path, &st) != 0 || (st.st_uid != 0 && st.st_uid != geteuid()) || (st.st_mode & 022)))
        rc = err_set(err, ERR_FORBIDDEN, "it must belong to you, and nobody else may write to it");
    if (rc_ok(rc))
        rc = servers_new(text, projects, ret_servers, err);
    return rc_ok(rc) ? rc : err_wrap(err, rc, "%s", path);
}
