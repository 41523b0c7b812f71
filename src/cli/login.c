/* nod login: creates a link that logs a browser in. */
#include "base/limits.h"
#include "cli/remote.h"
#include "cli/text.h"

struct rc login_command(struct cli *cli, struct err *err)
{
    struct reply reply;
    struct str body = json_object_str(&cli->arena, J("name", option_text(cli, "name")),
                                      J("role", option_text(cli, "role")));
    TRY(remote_post(cli, STR("/api/logins"), body, &reply, err));
    if (remote_printed(cli, &reply))
        return RC_OK;
    cli_note("One-time link, valid for 10 minutes:");
    cli_out(arena_printf(&cli->arena, "%.*s\n", STR_ARG(text_line(&cli->arena, json_text(reply.json, "url")))));
    return RC_OK;
}
