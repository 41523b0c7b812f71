/* nod notify: whether messages reach people. */
#include "cli/remote.h"
#include "cli/text.h"

static struct str shown(struct cli *cli, const struct json *object, const char *key)
{
    return text_line(&cli->arena, json_text(object, key));
}

static struct rc list(struct cli *cli, const char *target, const char *key, struct reply *ret_reply,
                      const struct json **ret_first, struct err *err)
{
    struct query query = {.method = "GET", .target = str_of(target)};
    TRY(remote_ask(cli, &cli->arena, &query, ret_reply, err));
    *ret_first = json_first(ret_reply->json, key);
    return RC_OK;
}

struct rc notify_channels_command(struct cli *cli, struct err *err)
{
    struct reply reply;
    const struct json *channel;
    TRY(list(cli, "/api/channels", "channels", &reply, &channel, err));
    if (remote_printed(cli, &reply))
        return RC_OK;
    if (!channel)
        cli_note("no channels: people are told only while a page or `nod watch` is open (docs/NOTIFY.md says how to "
                 "set them up)");
    for (; channel; channel = channel->next) {
        struct str failed = shown(cli, channel, "lastError");
        cli_out(arena_printf(&cli->arena, "%-16.*s %-10.*s %s%.*s\n", STR_ARG(shown(cli, channel, "name")),
                             STR_ARG(shown(cli, channel, "type")), failed.n ? "failed: " : "ok", STR_ARG(failed)));
    }
    return RC_OK;
}

struct rc notify_list_command(struct cli *cli, struct err *err)
{
    struct reply reply;
    const struct json *one;
    TRY(list(cli, "/api/deliveries", "deliveries", &reply, &one, err));
    if (remote_printed(cli, &reply))
        return RC_OK;
    if (!one)
        cli_note("no messages about calls that wait");
    for (; one; one = one->next)
        cli_out(arena_printf(&cli->arena, "%-8.*s %-9.*s %-24.*s %.*s to %.*s, due %.*s\n",
                             STR_ARG(shown(cli, one, "state")), STR_ARG(shown(cli, one, "purpose")),
                             STR_ARG(shown(cli, one, "toolCallId")), STR_ARG(shown(cli, one, "channel")),
                             STR_ARG(shown(cli, one, "person")), STR_ARG(shown(cli, one, "dueAt"))));
    return RC_OK;
}

/* The server sends the message and waits for the channel's answer; a channel that refuses it makes the command fail.
 */
struct rc notify_test_command(struct cli *cli, struct err *err)
{
    struct reply reply;
    CHECK(cli->argc == 1);
    struct str target = arena_printf(&cli->arena, "/api/channels/%s/test",
                                     remote_escape(&cli->arena, str_of(cli->argv[0])).p);
    TRY(remote_post(cli, target, STR("{}"), &reply, err));
    if (cli->json)
        remote_print(&reply);
    if (!json_bool(reply.json, "sent", false))
        return err_set(err, ERR_UNAVAILABLE, "the message was not taken: %.*s",
                       STR_ARG(shown(cli, reply.json, "error")));
    if (!cli->json)
        cli_note("sent: %s should show it now", text_line(&cli->arena, str_of(cli->argv[0])).p);
    return RC_OK;
}
