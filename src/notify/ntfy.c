/* ntfy (docs/publish.md of that project): JSON to the server's root. A button sends a request from the phone, with an
 * answer token in its body; whoever may read the topic holds that token, so buttons exist only for topics that the
 * file calls protected. A message with the same sequence id replaces the one before. */
#include "notify/inner.h"

enum { BODY_BYTES_MAX = 8000, PRIORITY_HIGH = 4, PRIORITY_LOW = 2 };

static struct rc check(const struct channel *channel, struct err *err)
{
    if (!channel->url || channel->topic.n == 0)
        return err_set(err, ERR_INVALID, "\"url\" and \"topic\" are needed");
    if (channel->is_protected && channel->secret.n == 0)
        return err_set(err, ERR_INVALID,
                       "\"protected\" needs an access \"token\": without one anybody can read the topic");
    return RC_OK;
}

/* The button posts to our server from the phone, with a token that allows this answer only. */
static void write_button(struct json_out *out, const struct sending *sending, const char *label, struct str token)
{
    if (token.n == 0)
        return;
    json_object(out, J("action", "http"), J("label", label),
                J("url", arena_printf(sending->arena, "%.*s/api/answers", STR_ARG(sending->message->base))),
                J("method", "POST"), J_RAW("headers", STR("{\"Content-Type\":\"application/json\"}")),
                J("body", arena_printf(sending->arena, "{\"token\":\"%.*s\"}", STR_ARG(token))),
                J_BOOL("clear", true));
}

/* The call's id is the sequence id: a reminder or a withdrawal replaces the message before it. */
static struct rc send(struct sending *sending, struct err *err)
{
    const struct message *message = sending->message;
    const struct channel *channel = sending->channel;
    JSON_SCOPE(buf, out, BODY_BYTES_MAX);
    bool withdraw = message->purpose == PURPOSE_WITHDRAW;
    json_open(&out, '{');
    json_members(&out, J("topic", channel->topic), J("title", message->title), J("message", message->body),
                 J("priority", withdraw ? PRIORITY_LOW : PRIORITY_HIGH), J("sequence_id", message->call),
                 J_IF(message->count == 1, J_LIST("tags", J_ALWAYS(NULL, words_ids_line(sending->arena, message)))),
                 J("click", channel->is_protected && message->look.n ? message->look : message->url));
    if (channel->is_protected && message->base.n && (message->deny.n || message->allow.n)) {
        json_open_member(&out, "actions", '[');
        write_button(&out, sending, "Allow once", message->allow);
        write_button(&out, sending, "Deny", message->deny);
        json_close(&out, ']');
    }
    json_close(&out, '}');
    const char *authorization = NULL;
    if (channel->secret.n)
        authorization = arena_printf(sending->arena, "Authorization: Bearer %.*s", STR_ARG(channel->secret)).p;
    const char *const headers[] = {"Content-Type: application/json", authorization, NULL};
    return channel_post(sending, headers, buf_str(&buf), err);
}

const struct channel_kind channel_ntfy = {.name = "ntfy", .coalesces = true, .withdraws = true, .carries_answers = true,
                                          .detail = DETAIL_KIND, .check = check, .send = send};
