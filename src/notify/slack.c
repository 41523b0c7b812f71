/* A bot of Slack (api.slack.com/methods/chat.postMessage, chat.update): a message with a link that looks and denies,
 * and with buttons where the app's presses are posted to us (interaction-payloads/block_actions-payloads), signed
 * (authentication/verifying-requests-from-slack). Slack answers 200 also to a refusal and says "ok": false. */
#include "notify/inner.h"

#include "base/sign.h"
#include "io/clock.h"

enum { BODY_BYTES_MAX = 8000, SIGNED_SECONDS_MAX = 300 };

static struct rc check(const struct channel *channel, struct err *err)
{
    if (!str_starts(channel->secret, STR("xoxb-")) || channel->topic.n == 0)
        return err_set(err, ERR_INVALID, "\"token\" (of the bot, xoxb-…) and \"chat\" (a channel's or person's id) are "
                                         "needed");
    if (channel->signing.n && !channel->user_count)
        return err_set(err, ERR_INVALID, "\"users\" is missing: the ids of those whose presses count");
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

static void write_button(struct json_out *out, const char *words, const char *style, struct str token)
{
    if (!token.n)
        return;
    json_open(out, '{');
    json_member(out, "type", STR("button"));
    json_key(out, "text");
    json_open(out, '{');
    json_member(out, "type", STR("plain_text"));
    json_member(out, "text", str_of(words));
    json_close(out, '}');
    json_member(out, "style", str_of(style));
    json_member(out, "action_id", str_of(style));
    json_member(out, "value", token);
    json_close(out, '}');
}

/* Without buttons once it is answered: an update that names no blocks would leave them. */
static void write_blocks(struct json_out *out, const struct message *message, struct str text)
{
    json_key(out, "blocks");
    json_open(out, '[');
    json_open(out, '{');
    json_member(out, "type", STR("section"));
    json_key(out, "text");
    json_open(out, '{');
    json_member(out, "type", STR("mrkdwn"));
    json_member(out, "text", text);
    json_close(out, '}');
    json_close(out, '}');
    if (message->deny.n) {
        json_open(out, '{');
        json_member(out, "type", STR("actions"));
        json_key(out, "elements");
        json_open(out, '[');
        write_button(out, "Deny", "danger", message->deny);
        write_button(out, "Allow once", "primary", message->allow);
        json_close(out, ']');
        json_close(out, '}');
    }
    json_close(out, ']');
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
    if (sending->channel->signing.n)
        write_blocks(&out, message, text);
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

/* Before anything of it is parsed: from Slack, and not an old one that somebody has kept. */
static struct rc check_signature(struct arena *arena, const struct channel *channel, const struct notify_press *press,
                                 struct err *err)
{
    uint64_t at_s = 0;
    struct digest claimed;
    int64_t now_s = clock_wall_ms() / 1000;
    if (!channel->signing.n || !str_starts(press->signature, STR("v0=")) || !str_to_u64(press->timestamp, &at_s) ||
        !digest_parse(str_sub(press->signature, 3, press->signature.n), &claimed))
        return err_set(err, ERR_FORBIDDEN, "this press is not signed as Slack signs");
    struct str text = arena_printf(arena, "v0:%.*s:%.*s", STR_ARG(press->timestamp), STR_ARG(press->body));
    struct digest mac = mac_of(channel->signing, text);
    if (!mac_eq(&mac, &claimed))
        return err_set(err, ERR_FORBIDDEN, "this press is not from Slack, or \"signing\" is wrong");
    if ((int64_t)at_s > now_s + SIGNED_SECONDS_MAX || (int64_t)at_s < now_s - SIGNED_SECONDS_MAX)
        return err_set(err, ERR_FORBIDDEN, "this press is too old, or a clock is wrong");
    return RC_OK;
}

static struct rc read_press(struct arena *arena, const struct channel *channel, const struct notify_press *press,
                            struct str *ret_token, struct err *err)
{
    const struct json *json;
    TRY(check_signature(arena, channel, press, err));
    TRY(json_parse(arena, press->payload, &json, err));
    const struct json *actions = json_get(json, "actions");
    struct str user = json_text(json_get(json, "user"), "id");
    if (!str_is(json_text(json, "type"), "block_actions") || !actions || actions->type != JSON_ARRAY || !actions->first)
        return err_set(err, ERR_INVALID, "this is no press of a button");
    for (unsigned i = 0; i < channel->user_count; i++) {
        if (str_eq(channel->users[i], user)) {
            *ret_token = json_text(actions->first, "value");
            return RC_OK;
        }
    }
    return err_set(err, ERR_FORBIDDEN, "this user of Slack is not among \"users\"");
}

const struct channel_kind channel_slack = {.name = "slack", .coalesces = true, .withdraws = true,
                                           .carries_answers = true, .detail = DETAIL_KIND, .check = check,
                                           .send = send, .read_press = read_press};
