/* Telegram's Bot API (core.telegram.org/bots/api: sendMessage, editMessageText, getUpdates, answerCallbackQuery).
 *
 * A message to one private chat with a button that denies; the press comes back over getUpdates, so Nod need not be
 * reachable. Only the person whose chat it is may press: `from.id` of the press is the chat's id. No parse_mode: the
 * text is shown as it is. The bot's token is part of the address, which therefore stands in no error. */
#include "notify/inner.h"

#include "base/log.h"

enum { BODY_BYTES_MAX = 8000, POLL_SECONDS = 25, POLL_MARGIN_SECONDS = 10, PRESSES_MAX = 100 };

static struct rc check(const struct channel *channel, struct err *err)
{
    if (channel->secret.n == 0 || channel->topic.n == 0)
        return err_set(err, ERR_INVALID, "\"token\" (of the bot) and \"chat\" (the person's id) are needed");
    for (size_t i = 0; i < channel->topic.n; i++)
        if (channel->topic.p[i] < '0' || channel->topic.p[i] > '9')
            return err_set(err, ERR_INVALID, "\"chat\" must be the number of a private chat");
    return RC_OK;
}

/* One method of the API; RC_OK when it says "ok". */
static struct rc ask(struct sending *sending, const char *method, struct str body, const struct json **ret_result,
                     struct err *err)
{
    static const char *const headers[] = {"Content-Type: application/json", NULL};
    const struct channel *channel = sending->channel;
    const struct json *json = NULL;
    const char *base = channel->url ? channel->url : "https://api.telegram.org";
    sending->url = arena_printf(sending->arena, "%s/bot%.*s/%s", base, STR_ARG(channel->secret), method).p;
    struct rc rc = channel_post(sending, headers, body, err);
    if (rc_bad(json_parse(sending->arena, sending->answer, &json, NULL)))
        json = NULL;
    int64_t seconds = channel_number(json_get(json, "parameters"), "retry_after", -1);
    if (seconds >= 0)
        sending->retry_after_ms = seconds * 1000;
    if (rc_ok(rc) && !json_bool(json, "ok", false))
        rc = err_set(err, ERR_UNAVAILABLE, "it answered with something else than Telegram does");
    if (sending->status == 401 || sending->status == 404)
        (void)err_set(err, ERR_INVALID, "Telegram does not know the bot's token (status %ld)", sending->status);
    *ret_result = json_get(json, "result");
    return rc;
}

static void write_buttons(struct json_out *out, const struct message *message)
{
    const struct {
        const char *text, *key;
        struct str value;
    } buttons[] = {{"Allow once", "callback_data", message->allow}, {"Deny", "callback_data", message->deny},
                   {"Look", "url", str_starts(message->look, STR("https://")) ? message->look : STR_NONE}};
    if (message->deny.n == 0)
        return;
    json_open_member(out, "reply_markup", '{');
    json_open_member(out, "inline_keyboard", '[');
    JSON_LIST(out, NULL)
        for (size_t i = 0; i < sizeof buttons / sizeof *buttons; i++) {
            if (buttons[i].value.n == 0)
                continue;
            json_object(out, J("text", buttons[i].text), J(buttons[i].key, buttons[i].value));
        }
    json_close(out, ']');
    json_close(out, '}');
}

static struct str write_message(struct sending *sending, struct str replaces)
{
    JSON_SCOPE(buf, out, BODY_BYTES_MAX);
    const struct message *message = sending->message;
    json_open(&out, '{');
    json_members(&out, J("chat_id", sending->channel->topic), J_RAW("message_id", replaces));
    struct str ids = message->count == 1 ? words_ids_line(sending->arena, message) : STR_NONE;
    json_member(&out, "text", arena_printf(sending->arena, "%.*s\n%.*s\n%.*s", STR_ARG(message->title),
                                           STR_ARG(message->body), STR_ARG(ids)));
    write_buttons(&out, message);
    json_close(&out, '}');
    return arena_str(sending->arena, buf_str(&buf));
}

/* Replaces the text of a sent message and removes its buttons. That the person has deleted it is not an error. */
static struct rc withdraw(struct sending *sending, struct err *err)
{
    struct rc rc = RC_OK;
    const struct json *result;
    for (size_t i = 0; i < sending->external_count && rc_ok(rc); i++) {
        rc = ask(sending, "editMessageText", write_message(sending, sending->externals[i]), &result, err);
        if (sending->status == 400)
            rc = RC_OK;
    }
    return rc;
}

static struct rc send(struct sending *sending, struct err *err)
{
    const struct json *result;
    if (sending->message->purpose == PURPOSE_WITHDRAW)
        return withdraw(sending, err);
    TRY(ask(sending, "sendMessage", write_message(sending, STR_NONE), &result, err));
    int64_t id = channel_number(result, "message_id", 0);
    if (id > 0)
        sending->external = arena_printf(sending->arena, "%lld", (long long)id);
    return RC_OK;
}

/* ---- presses ---- */

static void take_press(struct polling *polling, const struct json *press)
{
    struct sending *sending = &polling->sending;
    struct arena *arena = sending->arena;
    const struct json *result;
    int64_t from = channel_number(json_get(press, "from"), "id", 0);
    struct str chat = arena_printf(arena, "%lld", (long long)from);
    struct str words = STR("Only the person this was sent to can answer.");
    if (str_eq(chat, sending->channel->topic))
        words = polling_answer(polling, json_text(press, "data"));
    else
        log_line(LOG_WARN, "a press from another chat was refused", LOG_S("channel", sending->channel->name));
    struct str body = json_object_str(arena, J("callback_query_id", json_text(press, "id")), J("text", words));
    (void)ask(sending, "answerCallbackQuery", body, &result, NULL); /* stops the button's spinner */
}

static struct rc poll(struct polling *polling, struct err *err)
{
    struct sending *sending = &polling->sending;
    const struct json *updates;
    unsigned taken = 0;
    sending->seconds_max = POLL_SECONDS + POLL_MARGIN_SECONDS;
    struct str body = arena_printf(sending->arena,
                                   "{\"offset\":%lld,\"timeout\":%d,\"allowed_updates\":[\"callback_query\"]}",
                                   (long long)polling->cursor, POLL_SECONDS);
    TRY(ask(sending, "getUpdates", body, &updates, err));
    for (const struct json *one = updates ? updates->first : NULL; one && taken < PRESSES_MAX; one = one->next) {
        int64_t id = channel_number(one, "update_id", -1);
        if (id >= polling->cursor)
            polling->cursor = id + 1;
        const struct json *press = json_get(one, "callback_query");
        if (press)
            take_press(polling, press);
        taken++;
    }
    return RC_OK;
}

const struct channel_kind channel_telegram = {.name = "telegram", .coalesces = true, .withdraws = true,
                                              .carries_answers = true, .detail = DETAIL_KIND, .check = check,
                                              .send = send, .poll = poll};
