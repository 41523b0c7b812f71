/* A webhook of Discord (discord.com/developers/docs/resources/webhook: Execute Webhook, Edit Webhook Message). Such
 * webhooks carry no buttons that answer: the message has a link. The address is the secret. */
#include "notify/inner.h"

enum { BODY_BYTES_MAX = 8000, CONTENT_BYTES_MAX = 2000 };

static struct rc check(const struct channel *channel, struct err *err)
{
    if (channel->secret.n == 0)
        return err_set(err, ERR_INVALID, "\"secret\" is missing: the webhook's address, in a file or variable");
    return RC_OK;
}

/* Mentions are switched off: an agent's words must not call people by @everyone. */
static struct rc post(struct sending *sending, const char *method, struct str where, struct err *err)
{
    static const char *const headers[] = {"Content-Type: application/json", NULL};
    const struct message *message = sending->message;
    JSON_SCOPE(buf, out, BODY_BYTES_MAX);
    struct str link = sending->channel->is_protected && message->look.n ? message->look : message->url;
    struct str text = arena_printf(sending->arena, "%.*s\n%.*s", STR_ARG(message->title), STR_ARG(message->body));
    if (text.n + link.n + 4 > CONTENT_BYTES_MAX)
        text = message->title;
    if (link.n)
        text = arena_printf(sending->arena, "%.*s\n<%.*s>", STR_ARG(text), STR_ARG(link));
    struct str ids = words_ids_line(sending->arena, message);
    json_object(&out, J("content", text),
                J_IF(message->count == 1, J_LIST("embeds", J_OBJECT(NULL, J_OBJECT("footer", J("text", ids))))),
                J_RAW("allowed_mentions", STR("{\"parse\":[]}")));
    sending->method = method;
    sending->url = arena_printf(sending->arena, "%.*s%.*s", STR_ARG(sending->channel->secret), STR_ARG(where)).p;
    struct rc rc = channel_post(sending, headers, buf_str(&buf), err);
    if (sending->status == 401 || sending->status == 404)
        (void)err_set(err, ERR_INVALID, "Discord does not know this webhook (status %ld)", sending->status);
    return rc;
}

/* `wait=true` makes Discord answer with the message's id, which a withdrawal needs. */
static struct rc send(struct sending *sending, struct err *err)
{
    const struct json *json = NULL;
    struct rc rc = RC_OK;
    if (sending->message->purpose == PURPOSE_WITHDRAW) {
        for (size_t i = 0; i < sending->external_count && rc_ok(rc); i++) {
            struct str where = arena_printf(sending->arena, "/messages/%.*s", STR_ARG(sending->externals[i]));
            rc = post(sending, "PATCH", where, err);
        }
        return rc;
    }
    rc = post(sending, NULL, STR("?wait=true"), err);
    if (rc_ok(json_parse(sending->arena, sending->answer, &json, NULL)))
        sending->external = json_text(json, "id");
    return rc;
}

const struct channel_kind channel_discord = {.name = "discord", .coalesces = true, .withdraws = true,
                                             .carries_answers = true, .detail = DETAIL_KIND, .check = check,
                                             .send = send};
