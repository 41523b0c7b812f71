/* Channels and deliveries for those who set them up, and answers that come back from a phone. */
#include "api/exchange.h"

#include "base/log.h"
#include "notify/notify.h"

void channels_list(struct exchange *x)
{
    BUF_SCOPE(buf, LIMIT_ANSWER_BYTES);
    struct json_out out = json_out(&buf);
    json_open(&out, '{');
    json_key(&out, "channels");
    notify_write_channels(x->api->notify, &out);
    json_close(&out, '}');
    exchange_answer(x, 200, &buf);
}

void deliveries_list(struct exchange *x)
{
    BUF_SCOPE(buf, LIMIT_ANSWER_BYTES);
    struct json_out out = json_out(&buf);
    struct str call = STR_NONE;
    struct err err;
    if (rc_bad(query_text(x, "call", &call, &err))) {
        exchange_fail(x, &err);
        return;
    }
    json_open(&out, '{');
    json_key(&out, "deliveries");
    notify_write_deliveries(x->api->notify, &out, call);
    json_close(&out, '}');
    exchange_answer(x, 200, &buf);
}

/* ---- a test ---- */

static void tested(struct notify_test *test)
{
    struct exchange *x = test->arg;
    BUF_SCOPE(buf, LIMIT_ANSWER_BYTES);
    struct json_out out = json_out(&buf);
    if (test->err.code == ERR_NOT_FOUND) {
        exchange_fail(x, &test->err);
        return;
    }
    json_open(&out, '{');
    json_member_bool(&out, "sent", test->err.code == ERR_OK);
    json_member_i64(&out, "status", test->status);
    json_member(&out, "error", test->err.code == ERR_OK ? STR_NONE : str_of(test->err.text));
    json_close(&out, '}');
    exchange_answer(x, 200, &buf);
}

void channels_test(struct exchange *x)
{
    struct notify_test *test = arena_new(x->arena, struct notify_test);
    *test = (struct notify_test){.channel = x->params[0], .person = notify_person(x->actor), .done = tested, .arg = x};
    notify_test_channel(x->api->notify, test);
}

/* ---- devices ---- */

void push_key(struct exchange *x)
{
    BUF_SCOPE(buf, LIMIT_ANSWER_BYTES);
    struct json_out out = json_out(&buf);
    char key[NOTIFY_KEY_BYTES];
    notify_push_key(x->api->notify, key);
    json_open(&out, '{');
    json_member(&out, "publicKey", str_of(key));
    json_close(&out, '}');
    exchange_answer(x, 200, &buf);
}

static void answer_empty(struct exchange *x, int status)
{
    BUF_SCOPE(buf, LIMIT_ANSWER_BYTES);
    buf_puts(&buf, "{}");
    exchange_answer(x, status, &buf);
}

void push_subscribe(struct exchange *x)
{
    struct err err;
    if (rc_bad(notify_add_device(x->api->notify, x->actor, x->token_id, x->body, &err)))
        exchange_fail(x, &err);
    else
        answer_empty(x, 201);
}

void push_unsubscribe(struct exchange *x)
{
    if (notify_remove_device(x->api->notify, x->token_id, json_text(x->body, "endpoint")))
        answer_empty(x, 200);
    else
        exchange_error(x, ERR_NOT_FOUND, "this device is not subscribed");
}

/* ---- answers ---- */

/* A person answers only while a token of that name, which may decide in that session, is in force. */
static const struct token *find_person(const struct gate *gate, struct str name, struct str session)
{
    for (const struct token *token = gate_tokens(gate); token; token = token->next)
        if ((str_eq(token->name, name) || str_eq(notify_person(token->name), name)) &&
            (str_empty(token->session) || str_eq(token->session, session)) &&
            rc_ok(auth_allow(token, (struct right){SCOPE_DECIDE, BOUND_HERE}, NULL)))
            return token;
    return NULL;
}

static void answered(struct op *op)
{
    struct decide *decide = (struct decide *)op;
    struct exchange *x = decide->op.owner;
    BUF_SCOPE(buf, LIMIT_ANSWER_BYTES);
    struct json_out out = json_out(&buf);
    if (decide->op.err.code == ERR_ALREADY_DECIDED) {
        exchange_lost(x, &decide->op.err, &decide->call);
        return;
    }
    if (decide->op.err.code != ERR_OK) {
        exchange_fail(x, &decide->op.err);
        return;
    }
    json_open(&out, '{');
    json_member(&out, "toolCallId", decide->call_id);
    json_member(&out, "decision", str_of(decision_name(decide->decision)));
    json_close(&out, '}');
    exchange_answer(x, 200, &buf);
}

static struct rc read_answer(struct exchange *x, struct decide *decide, struct err *err)
{
    struct str token = STR_NONE;
    struct notify_answer answer;
    TRY(json_want_str(x->body, "token", LIMIT_ID_BYTES, &token, err));
    TRY(json_want_str(x->body, "feedback", LIMIT_FEEDBACK_BYTES, &decide->feedback, err));
    TRY(notify_read_token(x->api->notify, token, &answer, err));
    const struct token *person = find_person(x->gate, answer.person, answer.session);
    if (!person)
        return err_set(err, ERR_FORBIDDEN, "%.*s may not answer any more", STR_ARG(answer.person));
    decide->session = arena_str(x->arena, answer.session);
    decide->call_id = arena_str(x->arena, answer.call);
    decide->actor = arena_str(x->arena, answer.person);
    decide->by = arena_str(x->arena, person->id);
    decide->decision = answer.allow ? DECISION_ALLOW_ONCE : DECISION_DENY;
    return RC_OK;
}

/* Open to anyone: the token is the credential. Only a POST decides, so that a program which follows links in messages
 * does not. */
void answers_take(struct exchange *x)
{
    struct decide *decide = arena_new(x->arena, struct decide);
    struct err err;
    *decide = (struct decide){.op = gate_op(x->arena, answered, x)};
    if (rc_bad(read_answer(x, decide, &err))) {
        log_line(LOG_WARN, "an answer from afar was refused", LOG_C("why", err.text));
        exchange_fail(x, &err);
        return;
    }
    gate_decide(x->gate, decide);
}
