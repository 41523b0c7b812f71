/* A bot of Slack (api.slack.com/methods/chat.postMessage, chat.update): a message with a link that looks and denies,
 * and with buttons where presses (interaction-payloads/block_actions-payloads) come back: over a WebSocket that we open
 * (apis/socket-mode), or posted to us, signed (authentication/verifying-requests-from-slack). Slack answers 200 also to
 * a refusal and says "ok": false. */
#include "notify/inner.h"

#include "base/log.h"
#include "base/sign.h"
#include "io/clock.h"

enum { BODY_BYTES_MAX = 16000, TEXT_BYTES_MAX = 2500, /* a section takes 3,000 characters */
       SIGNED_SECONDS_MAX = 300, POLL_MS = 25000, CONNECT_SECONDS_MAX = 20, OLD_MAX = 64 };

static struct rc check(const struct channel *channel, struct err *err)
{
    if (!str_starts(channel->secret, STR("xoxb-")) || channel->topic.n == 0)
        return err_set(err, ERR_INVALID, "\"token\" (of the bot, xoxb-…) and \"chat\" (a channel's or person's id) are "
                                         "needed");
    if (channel->app.n && !str_starts(channel->app, STR("xapp-")))
        return err_set(err, ERR_INVALID, "\"app\" must be a token of the app (xapp-…, scope connections:write)");
    if ((channel->signing.n || channel->app.n) && !channel->user_count)
        return err_set(err, ERR_INVALID, "\"users\" is missing: the ids of those whose presses count");
    return RC_OK;
}

/* Whether the error is final: the same message would be refused again. */
static bool is_final(struct str error)
{
    static const char *const later[] = {"ratelimited", "rate_limited", "internal_error", "fatal_error",
                                        "service_unavailable", "request_timeout"};
    if (STR_IN(error, later))
            return false;
    return error.n > 0;
}

static struct rc ask_as(struct sending *sending, struct str token, const char *method, struct str body,
                        const struct json **ret_answer, struct err *err)
{
    const struct channel *channel = sending->channel;
    const struct json *json = NULL;
    const char *const headers[] = {
        "Content-Type: application/json; charset=utf-8",
        arena_printf(sending->arena, "Authorization: Bearer %.*s", STR_ARG(token)).p, NULL};
    const char *base = channel->url ? channel->url : "https://slack.com/api";
    sending->url = arena_printf(sending->arena, "%s/%s", base, method).p;
    TRY(channel_post(sending, headers, body, err));
    if (rc_bad(json_parse(sending->arena, sending->answer, &json, NULL)))
        return err_set(err, ERR_UNAVAILABLE, "it answered with something else than Slack does");
    struct str error = json_text(json, "error");
    *ret_answer = json;
    if (json_bool(json, "ok", false))
        return RC_OK;
    sending->final = is_final(error);
    return err_set(err, sending->final ? ERR_INVALID : ERR_UNAVAILABLE, "Slack says: %.*s",
                   (int)(error.n < 60 ? error.n : 60), error.p);
}

static struct rc ask(struct sending *sending, const char *method, struct str body, struct err *err)
{
    const struct json *answer;
    TRY(ask_as(sending, sending->channel->secret, method, body, &answer, err));
    sending->external = json_text(answer, "ts");
    return RC_OK;
}

/* Escapes & < >, which have a meaning in Slack's text. */
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
    json_object(out, J("type", "button"), J_OBJECT("text", J("type", "plain_text"), J("text", words)),
                J("style", style), J("action_id", style), J("value", token));
}

/* Writes the message's blocks, without buttons once the call is answered: an update without blocks would leave them. */
static void write_blocks(struct json_out *out, const struct message *message, struct str text)
{
    json_open_member(out, "blocks", '[');
    json_object(out, J("type", "section"), J_OBJECT("text", J("type", "mrkdwn"), J("text", text)));
    if (message->deny.n) {
        json_open(out, '{');
        json_member(out, "type", STR("actions"));
        json_open_member(out, "elements", '[');
        write_button(out, "Deny", "danger", message->deny);
        write_button(out, "Allow once", "primary", message->allow);
        json_close(out, ']');
        json_close(out, '}');
    }
    json_close(out, ']');
}

static void write_metadata(struct json_out *out, const struct message *message)
{
    json_open_member(out, "metadata", '{');
    json_member(out, "event_type", STR("nod_approval"));
    json_open_member(out, "event_payload", '{');
    words_payload_ids(out, message);
    json_close(out, '}');
    json_close(out, '}');
}

static struct str write_message(const struct sending *sending, struct str replaces)
{
    JSON_SCOPE(buf, out, BODY_BYTES_MAX);
    const struct message *message = sending->message;
    struct str link = sending->channel->is_protected && message->look.n ? message->look : message->url;
    struct message less = *message;
    struct str title = escaped(sending->arena, message->title), body = escaped(sending->arena, message->body);
    if (title.n + body.n > TEXT_BYTES_MAX) { /* not shown whole, so it has no button to allow */
        body = STR("Open Nod to see the request.");
        less.allow = STR_NONE;
    }
    struct str text = arena_printf(sending->arena, "*%.*s*\n%.*s", STR_ARG(title), STR_ARG(body));
    json_open(&out, '{');
    json_members(&out, J("channel", sending->channel->topic), J("ts", replaces));
    if (link.n && message->purpose != PURPOSE_WITHDRAW)
        text = arena_printf(sending->arena, "%.*s\n<%.*s|Look, or deny>", STR_ARG(text), STR_ARG(link));
    json_member(&out, "text", text);
    if (sending->channel->signing.n || sending->channel->app.n)
        write_blocks(&out, &less, text);
    json_member_bool(&out, "unfurl_links", false);
    write_metadata(&out, message); /* for programs in the workspace; people do not see it */
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

/* ---- presses ---- */

/* The answer token of a press, if one of the channel's users pressed. */
static struct rc read_token(const struct channel *channel, const struct json *press, struct str *ret_token,
                            struct err *err)
{
    const struct json *actions = json_get(press, "actions");
    struct str user = json_text(json_get(press, "user"), "id");
    bool pressed = str_is(json_text(press, "type"), "block_actions");
    if (!pressed || !actions || actions->type != JSON_ARRAY || !actions->first)
        return err_set(err, ERR_INVALID, "this message is not a press of a button");
    for (unsigned i = 0; i < channel->user_count; i++) {
        if (str_eq(channel->users[i], user)) {
            *ret_token = json_text(actions->first, "value");
            return RC_OK;
        }
    }
    return err_set(err, ERR_FORBIDDEN, "this user of Slack is not among \"users\"");
}

/* Checks, before anything is parsed, that the request comes from Slack and is not a replay of an old one. */
static struct rc check_signature(struct arena *arena, const struct channel *channel, const struct notify_press *press,
                                 struct err *err)
{
    uint64_t at_s = 0;
    struct digest claimed;
    int64_t now_s = clock_wall_ms() / 1000;
    if (!channel->signing.n || !str_starts(press->signature, STR("v0=")) || !str_to_u64(press->timestamp, &at_s) ||
        !digest_parse(str_sub(press->signature, 3, press->signature.n), &claimed))
        return err_set(err, ERR_FORBIDDEN, "the request of this button does not have Slack's signature");
    struct str text = arena_printf(arena, "v0:%.*s:%.*s", STR_ARG(press->timestamp), STR_ARG(press->body));
    struct digest mac = sign_mac(channel->signing, text);
    if (!sign_mac_eq(&mac, &claimed))
        return err_set(err, ERR_FORBIDDEN, "the request of this button is not from Slack, or \"signing\" is wrong");
    if ((int64_t)at_s > now_s + SIGNED_SECONDS_MAX || (int64_t)at_s < now_s - SIGNED_SECONDS_MAX)
        return err_set(err, ERR_FORBIDDEN, "the request of this button is too old, or a clock is wrong");
    return RC_OK;
}

static struct rc read_press(struct arena *arena, const struct channel *channel, const struct notify_press *press,
                            struct str *ret_token, struct err *err)
{
    const struct json *json;
    TRY(check_signature(arena, channel, press, err));
    TRY(json_parse(arena, press->payload, &json, err));
    return read_token(channel, json, ret_token, err);
}

/* ---- Socket Mode ---- */

/* Each envelope is confirmed first: Slack waits three seconds. The message changes when the call is answered. */
static struct rc take_envelope(struct polling *polling, struct dial *dial, const struct json *envelope, struct err *err)
{
    struct arena *arena = polling->sending.arena;
    const struct channel *channel = polling->sending.channel;
    struct str id = json_text(envelope, "envelope_id"), token;
    struct err why;
    if (!id.n)
        return RC_OK;
    TRY(dial_send(dial, json_object_str(arena, J("envelope_id", id)), err));
    if (!str_is(json_text(envelope, "type"), "interactive"))
        return RC_OK;
    if (rc_ok(read_token(channel, json_get(envelope, "payload"), &token, &why)))
        (void)polling_answer(polling, arena_str(arena, token));
    else
        log_line(LOG_WARN, "a press was refused", LOG_S("channel", channel->name), LOG_C("why", why.text));
    return RC_OK;
}

/* The address is a secret and good for one connection. */
static struct rc open_dial(struct polling *polling, struct dial **ret_dial, struct err *err)
{
    struct sending *sending = &polling->sending;
    const struct json *answer;
    sending->seconds_max = CONNECT_SECONDS_MAX;
    struct rc rc = ask_as(sending, sending->channel->app, "apps.connections.open", STR("{}"), &answer, err);
    if (rc_bad(rc))
        return err_wrap(err, rc, "its presses cannot be fetched (\"app\")");
    const char *url = arena_c(sending->arena, json_text(answer, "url"));
    if (rc_bad(dial_open(url, CONNECT_SECONDS_MAX, ret_dial, NULL)))
        return err_set(err, ERR_UNAVAILABLE, "Slack's WebSocket cannot be opened");
    return RC_OK;
}

/* Slack is about to end the connection. The next one is open before, and nothing that came on the old one is lost. */
static struct rc renew_dial(struct polling *polling, struct err *err)
{
    struct dial *old = polling->dial;
    struct str text;
    const struct json *json;
    polling->dial = NULL;
    struct rc rc = open_dial(polling, &polling->dial, err);
    for (unsigned i = 0; i < OLD_MAX && rc_ok(dial_receive(old, polling->sending.arena, 0, &text, NULL)) && text.p; i++)
        if (rc_ok(json_parse(polling->sending.arena, text, &json, NULL)))
            (void)take_envelope(polling, old, json, NULL);
    dial_close(old);
    return rc;
}

static struct rc poll(struct polling *polling, struct err *err)
{
    struct arena *arena = polling->sending.arena;
    struct str text;
    const struct json *json;
    if (!polling->dial)
        TRY(open_dial(polling, &polling->dial, err));
    TRY(dial_receive(polling->dial, arena, POLL_MS, &text, err));
    if (!text.p)
        return RC_OK;
    if (rc_bad(json_parse(arena, text, &json, NULL)))
        return err_set(err, ERR_UNAVAILABLE, "Slack's WebSocket sends something else than JSON");
    if (!str_is(json_text(json, "type"), "disconnect"))
        return take_envelope(polling, polling->dial, json, err);
    if (str_is(json_text(json, "reason"), "link_disabled"))
        return err_set(err, ERR_INVALID, "Socket Mode is switched off in the app's settings at Slack");
    return renew_dial(polling, err);
}

const struct channel_kind channel_slack = {.name = "slack", .coalesces = true, .withdraws = true,
                                           .carries_answers = true, .detail = DETAIL_KIND, .check = check,
                                           .send = send, .read_press = read_press, .poll = poll,
                                           .polls_with_app = true};
