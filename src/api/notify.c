/* Channels and deliveries for those who set them up, and answers that come back from a phone. */
#include "api/exchange.h"

#include "base/log.h"
#include "io/clock.h"
#include "notify/notify.h"

static void answer_empty(struct exchange *x, int status)
{
    BUF_SCOPE(buf, LIMIT_ANSWER_BYTES);
    buf_puts(&buf, "{}");
    exchange_answer(x, status, &buf);
}

void api_channels_list(struct exchange *x)
{
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    json_open(&out, '{');
    json_key(&out, "channels");
    notify_write_channels(x->api->notify, &out);
    json_close(&out, '}');
    exchange_answer(x, 200, &buf);
}

void api_deliveries_list(struct exchange *x)
{
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    struct str call = STR_NONE;
    struct err err;
    EXCHANGE_TRY(x, api_query_text(x, "call", &call, &err));
    json_open(&out, '{');
    json_key(&out, "deliveries");
    notify_write_deliveries(x->api->notify, &out, call);
    json_close(&out, '}');
    exchange_answer(x, 200, &buf);
}

/* ---- a test ---- */

/* If the channel refuses the message the request still succeeds: its answer has the channel's status and error. */
static void tested(struct op *op)
{
    struct exchange *x = op->owner;
    if (gate_op_code(op) == ERR_NOT_FOUND) {
        exchange_fail(x, op->err);
        return;
    }
    exchange_object(x, 200, J_BOOL("sent", !op->err),
                    J("status", ((const struct notify_test *)op)->status),
                    J("error", op->err ? str_of(op->err->text) : STR_NONE));
}

void api_channels_test(struct exchange *x)
{
    struct notify_test *test = arena_new(x->arena, struct notify_test);
    *test = (struct notify_test){.op = gate_op(x->arena, tested, x), .channel = x->params[0],
                                 .person = token_person(x->actor)};
    notify_test_channel(x->api->notify, test);
}

/* ---- who looks ---- */

/* A page or terminal shows these calls to a person who is there. */
void api_approvals_seen(struct exchange *x)
{
    enum { SEEN_MAX = 64 };
    const struct json *calls = json_get(x->body, "calls");
    EXCHANGE_REFUSE(x, !calls || calls->type != JSON_ARRAY || calls->count > SEEN_MAX, ERR_INVALID,
                    "\"calls\" must be a list of at most 64 {sessionId, toolCallId}");
    for (const struct json *call = calls->first; call; call = call->next)
        notify_seen(x->api->notify, token_person(x->actor), json_text(call, "sessionId"),
                    json_text(call, "toolCallId"));
    answer_empty(x, 200);
}

/* ---- callbacks ---- */

/* Sends the caller the key that signs the callbacks of its token. */
void api_callbacks_secret(struct exchange *x)
{
    char secret[NOTIFY_SECRET_BYTES];
    notify_callback_secret(x->api->notify, x->actor, secret);
    exchange_object(x, 200, J("secret", secret));
}

/* ---- devices ---- */

void api_push_key(struct exchange *x)
{
    char key[NOTIFY_KEY_BYTES];
    struct err err;
    EXCHANGE_TRY(x, notify_push_key(x->api->notify, key, &err));
    exchange_object(x, 200, J("publicKey", key));
}

void api_push_subscribe(struct exchange *x)
{
    struct err err;
    EXCHANGE_TRY(x, notify_add_device(x->api->notify, x->actor, x->token_id, x->body, &err));
    answer_empty(x, 201);
}

void api_push_unsubscribe(struct exchange *x)
{
    if (notify_remove_device(x->api->notify, x->token_id, json_text(x->body, "endpoint")))
        answer_empty(x, 200);
    else
        exchange_error(x, ERR_NOT_FOUND, "this device is not subscribed");
}

/* ---- answers ---- */

/* A person answers only while a token of that name, which may decide in that session, is in force. */
const struct token *api_find_person(const struct gate *gate, struct str name, struct str session)
{
    for (const struct token *token = gate_tokens(gate); token; token = token->next)
        if ((str_eq(token->name, name) || str_eq(token_person(token->name), name)) &&
            (str_empty(token->session) || str_eq(token->session, session)) &&
            rc_ok(auth_allow(token, (struct right){SCOPE_DECIDE, BOUND_HERE}, NULL)))
            return token;
    return NULL;
}

/* A name that never had a token is not revoked: a channel may reach people who answer by its buttons only. */
bool api_was_revoked(const struct gate *gate, struct str person)
{
    bool revoked = false;
    for (const struct token *token = gate_tokens(gate); token; token = token->next) {
        if (!str_eq(token->name, person) && !str_eq(token_person(token->name), person))
            continue;
        if (!token->revoked_ms)
            return false;
        revoked = true;
    }
    return revoked;
}

/* Tokens cannot be guessed. A client that tries does not fill the log, and does not keep others from answering. */
static void refuse(struct exchange *x, const struct err *err)
{
    struct guesses *guesses = &x->api->guesses;
    int64_t now_us = clock_steady_us();
    if (now_us - guesses->since_us > 60 * 1000000LL)
        *guesses = (struct guesses){.since_us = now_us};
    guesses->count += err->code == ERR_FORBIDDEN;
    EXCHANGE_REFUSE(x, err->code == ERR_FORBIDDEN && guesses->count > GUESSES_PER_MINUTE, ERR_TOO_MANY,
                    "too many answers that Nod has not sent; try again in a minute");
    log_line(LOG_WARN, "an answer from a notification was refused", LOG_C("why", err->text));
    exchange_fail(x, err);
}

/* False: it was refused. */
static bool find_answer(struct exchange *x, struct notify_answer *ret_answer)
{
    const struct token *person;
    struct str token = STR_NONE;
    struct err err;
    if (rc_ok(json_want_str(x->body, "token", LIMIT_ID_BYTES, &token, &err)) &&
        rc_ok(notify_find_person(x->api->notify, token, ret_answer, &person, &err)))
        return true;
    refuse(x, &err);
    return false;
}

static void answers_look(struct exchange *x)
{
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    struct notify_answer answer;
    if (!find_answer(x, &answer))
        return;
    json_open(&out, '{');
    json_members(&out, J("person", answer.person), J_BOOL("answered", answer.answered));
    json_key(&out, "request");
    if (answer.answered)
        json_put_raw(&out, STR("null"));
    else
        gate_write_listed(x->gate, &out, &(struct listed){answer.session, answer.call});
    json_close(&out, '}');
    exchange_answer(x, 200, &buf);
}

/* Shows the call to the holder of its link. A POST, so that link previews and crawlers do not open it. Whoever has no
 * link is refused before anything waits: the server would keep his request even when he has left. */
void api_answers_look(struct exchange *x)
{
    struct notify_answer answer;
    if (find_answer(x, &answer))
        exchange_when_marked(x, answers_look);
}

/* An answer by phone that came too late is told who was first, as on the page. */
static void answered(struct op *op)
{
    const struct notify_taking *taking = (const struct notify_taking *)op;
    struct exchange *x = op->owner;
    enum err_code code = gate_op_code(op);
    if (code == ERR_ALREADY_DECIDED || code == ERR_MORE_PEOPLE)
        (void)exchange_undecided(x, &taking->decide);
    else if (code != ERR_OK)
        refuse(x, op->err);
    else
        exchange_decided(x, &taking->decide);
}

/* Open to anyone: the token is the credential. Only a POST decides, so that a program which follows links in messages
 * does not. */
void api_answers_take(struct exchange *x)
{
    struct notify_taking *taking = arena_new(x->arena, struct notify_taking);
    struct err err;
    *taking = (struct notify_taking){.op = gate_op(x->arena, answered, x)};
    if (rc_bad(json_want_str(x->body, "token", LIMIT_ID_BYTES, &taking->token, &err)) ||
        rc_bad(json_want_str(x->body, "feedback", LIMIT_FEEDBACK_BYTES, &taking->feedback, &err)))
        refuse(x, &err);
    else
        notify_take(x->api->notify, taking);
}

/* ---- presses that a chat posts ---- */

/* Slack shows whoever pressed an error unless it gets a 200; what became of the call stands in the message. */
static void press_taken(struct op *op)
{
    if (op->err)
        log_line(LOG_WARN, "an answer from a notification was refused", LOG_C("why", op->err->text));
    answer_empty(op->owner, 200);
}

/* Needs no login: the channel's signature and the answer token in the body are the credentials. */
void api_answers_press(struct exchange *x)
{
    struct notify_taking *taking = arena_new(x->arena, struct notify_taking);
    struct notify_press press = {.channel = x->params[0], .body = x->http->body,
                                 .timestamp = http_header(x->http, "x-slack-request-timestamp"),
                                 .signature = http_header(x->http, "x-slack-signature")};
    bool there = false;
    struct err err;
    x->http->query = x->http->body; /* a form is written as a query is, and Slack's is encoded */
    x->http->plain_query = false;
    *taking = (struct notify_taking){.op = gate_op(x->arena, press_taken, x)};
    if (rc_bad(http_query(x->http, "payload", &there, &press.payload, &err)) ||
        rc_bad(notify_read_press(x->api->notify, x->arena, &press, &taking->token, &err)))
        refuse(x, &err);
    else
        notify_take(x->api->notify, taking);
}
