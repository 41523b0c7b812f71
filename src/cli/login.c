/* nod login: creates a link that logs a browser in. */
#include "base/limits.h"
#include "cli/remote.h"
#include "cli/text.h"

struct rc login_command(struct cli *cli, struct err *err)
{
    JSON_SCOPE(body, out, LIMIT_BODY_BYTES);
    struct reply reply;
    json_open(&out, '{');
    json_member(&out, "name", str_of(option_text(cli, "name")));
    json_member(&out, "role", str_of(option_text(cli, "role")));
    json_close(&out, '}');
    TRY(remote_post(cli, STR("/api/logins"), buf_str(&body), &reply, err));
    if (remote_printed(cli, &reply))
        return RC_OK;
    cli_note("One-time link, valid for 10 minutes:");
    cli_out(arena_printf(&cli->arena, "%.*s\n", STR_ARG(text_line(&cli->arena, json_text(reply.json, "url")))));
    return RC_OK;
}
