/* A bot of Slack (api.slack.com/methods/chat.postMessage, chat.update): a message with a link that looks and denies.
 * Slack answers 200 also to a refusal and says "ok": false. */
#include "notify/inner.h"

enum { BODY_BYTES_MAX = 8000 };

static struct rc check(const struct channel *channel, struct err *err)
{
    if (!str_starts(channel->secret, STR("xoxb-")) || channel->topic.n == 0)
        return err_set(err, ERR_INVALID, "\"token\" (of the bot, xoxb-…) and \"chat\" (a channel's or person's id) are "
                                         "needed");
    return RC_OK;
}

/* These mean that the same message is refused again. */
static bool is_final(struct str error)
{
    static const char *const later[] = {"ratelimited", "rate_limited", "internal_error", "fatal_error",
                                        "service_unavailable", "request_timeout"};
    for (size_t i = 0; i < sizeof later / sizeof *later; i++)
        if (str_is(error, later[i]))
            return false;
    return error.n > 0;
}

static struct rc ask(struct sending *sending, const char *method, struct str body, struct err *err)
{
    const struct channel *channel = sending->channel;
    const struct json *json = NULL;
    const char *const headers[] = {
        "Content-Type: application/json; charset=utf-8",
        arena_printf(sending->arena, "Authorization: Bearer %.*s", STR_ARG(channel->secret)).p, NULL};
    const char *base = channel->url ? channel->url : "https://slack.com/api";
    sending->url = arena_printf(sending->arena, "%s/%s", base, method).p;
    TRY(channel_post(sending, headers, body, err));
    if (rc_bad(json_parse(sending->arena, sending->answer, &json, NULL)))
        return err_set(err, ERR_UNAVAILABLE, "it answered with something else than Slack does");
    struct str error = json_text(json, "error");
    sending->external = json_text(json, "ts");
    if (json_bool(json, "ok", false))
        return RC_OK;
    sending->final = is_final(error);
    return err_set(err, sending->final ? ERR_INVALID : ERR_UNAVAILABLE, "Slack says: %.*s",
                   (int)(error.n < 60 ? error.n : 60), error.p);
}

/* & < > steer Slack's text. */
static struct str escaped(struct arena *arena, struct str text)
{
    BUF_SCOPE(buf, text.n * 5 + 64);
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == '&' || c == '<' || c == '>')
            buf_puts(&buf, c == '&' ? "&amp;" : c == '<' ? "&lt;" : "&gt;");
        else
            buf_put(&buf, str_sub(text, i, i + 1));
    }
    return arena_str(arena, buf_str(&buf));
}

static struct str write_message(const struct sending *sending, struct str replaces)
{
    BUF_SCOPE(buf, BODY_BYTES_MAX);
    struct json_out out = json_out(&buf);
    const struct message *message = sending->message;
    struct str link = sending->channel->is_protected && message->look.n ? message->look : message->url;
    struct str text = arena_printf(sending->arena, "*%.*s*\n%.*s", STR_ARG(escaped(sending->arena, message->title)),
                                   STR_ARG(escaped(sending->arena, message->body)));
    json_open(&out, '{');
    json_member(&out, "channel", sending->channel->topic);
    if (replaces.n)
        json_member(&out, "ts", replaces);
    if (link.n && message->purpose != PURPOSE_WITHDRAW)
        text = arena_printf(sending->arena, "%.*s\n<%.*s|Look, or deny>", STR_ARG(text), STR_ARG(link));
    json_member(&out, "text", text);
    json_member_bool(&out, "unfurl_links", false);
    json_close(&out, '}');
    return arena_str(sending->arena, buf_str(&buf));
}

static struct rc send(struct sending *sending, struct err *err)
{
    struct rc rc = RC_OK;
    if (sending->message->purpose != PURPOSE_WITHDRAW)
        return ask(sending, "chat.postMessage", write_message(sending, STR_NONE), err);
    for (size_t i = 0; i < sending->external_count && rc_ok(rc); i++)
        rc = ask(sending, "chat.update", write_message(sending, sending->externals[i]), err);
    return rc;
}

const struct channel_kind channel_slack = {.name = "slack", .coalesces = true, .withdraws = true,
                                           .carries_answers = true, .detail = DETAIL_KIND, .check = check,
                                           .send = send};
