/* nod snooze, nod assign. */
#include "base/limits.h"
#include "cli/settings.h"
#include "cli/view.h"

/* Posts the body for the waiting call that the first word names. `ended`: what to say when the mark was taken away. */
static struct rc post(struct cli *cli, const char *what, struct str body, const char *ended, struct err *err)
{
    struct arena *arena = &cli->arena;
    struct reply pending, reply;
    const struct json *call = NULL;
    TRY(view_pending_all(cli, arena, option_text(cli, "session"), NULL, &pending, err));
    TRY(view_match(pending.json, cli->argv[0], &call, err));
    if (!call)
        return err_set(err, ERR_NOT_FOUND, "no call '%s' is waiting; see nod pending", cli->argv[0]);
    TRY(remote_post(cli, arena_printf(arena, "/api/sessions/%s/approvals/%s/%s",
                                      remote_escape(arena, json_text(call, "sessionId")).p,
                                      remote_escape(arena, json_text(call, "toolCallId")).p, what),
                    body, &reply, err));
    struct str state = view_state(arena, reply.json);
    if (!remote_printed(cli, &reply))
        cli_out(arena_printf(arena, "%.*s %.*s: %.*s\n", STR_ARG(text_line(arena, json_text(call, "toolCallId"))),
                             STR_ARG(state.n ? state : str_of(ended)), STR_ARG(view_line(arena, call))));
    return RC_OK;
}

struct rc mark_snooze_command(struct cli *cli, struct err *err)
{
    int64_t seconds;
    if (!settings_parse_duration(str_of(cli->argv[1]), &seconds))
        return err_set(err, ERR_INVALID, "TIME must be seconds, or a time such as 90s, 30m, 2h or 1d, not '%s'",
                       cli->argv[1]);
    return post(cli, "snooze", arena_printf(&cli->arena, "{\"seconds\":%lld}", (long long)seconds),
                "not snoozed any more", err);
}

struct rc mark_assign_command(struct cli *cli, struct err *err)
{
    JSON_SCOPE(body, out, LIMIT_BODY_BYTES);
    json_object(&out, J_ALWAYS("person", cli->argc > 1 ? str_of(cli->argv[1]) : STR("")));
    return post(cli, "assign", buf_str(&body), "for anybody to answer", err);
}
