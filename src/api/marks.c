/* Snooze and assign: marks that people put on a waiting call. */
#include "api/exchange.h"

#include "io/clock.h"

enum { SNOOZE_SECONDS_MAX = 30 * 86400 };

static void marked(struct op *op)
{
    const struct mark *mark = (struct mark *)op;
    exchange_object(op->owner, 200, J("toolCallId", mark->call), J("sessionId", mark->session),
                    J_IF(mark->until_ms, J_TIME("snoozedUntil", mark->until_ms)), J("assignee", mark->person),
                    J("seq", mark->kept.event.seq));
}

/* The store is asked, not the view in memory: another node may have kept the request a moment ago. */
static void call_read(struct read *read)
{
    struct exchange *x = read->arg;
    struct mark *mark = x->state;
    bool waits = false;
    for (size_t i = 0; i < read->event_count; i++) {
        const struct event *event = &read->events[i];
        if (event->kind == EVENT_TOOL_APPROVAL_REQUEST) {
            mark->thread = arena_str(x->arena, event->thread);
            waits = true;
        }
        if (event->kind == EVENT_TOOL_APPROVAL_RESPONSE)
            waits = false;
    }
    struct err err = read->err;
    read_free(read);
    if (err.code != ERR_OK)
        exchange_fail(x, &err);
    else if (!waits)
        exchange_error(x, ERR_NOT_FOUND, "there is no such call that waits");
    else if (x->route->handle == api_marks_snooze)
        gate_snooze(x->gate, mark);
    else
        gate_assign(x->gate, mark);
}

/* The call's events are read to know that it waits. It may be answered before the mark is stored: then the gate
 * refuses it. */
static void read_call(struct exchange *x, const struct session *session, struct mark values)
{
    struct mark *mark = arena_new(x->arena, struct mark);
    *mark = values;
    mark->op = exchange_op(x, marked);
    mark->session = arena_str(x->arena, session->id);
    mark->call = x->params[1];
    mark->actor = x->actor;
    mark->by = x->token_id;
    x->state = mark;
    gate_read(x->gate, read_new_call(session->id, x->params[1]), call_read, x);
}

static void snooze(struct exchange *x, const struct session *session)
{
    int64_t seconds = -1;
    struct err err = {0};
    EXCHANGE_TRY(x, json_want_i64(x->body, "seconds", 0, SNOOZE_SECONDS_MAX, &seconds, &err));
    if (seconds < 0)
        exchange_error(x, ERR_INVALID, "\"seconds\" is missing: for how long; 0 ends it");
    else
        read_call(x, session, (struct mark){.until_ms = seconds ? clock_wall_ms() + seconds * 1000 : 0});
}

static void assign(struct exchange *x, const struct session *session)
{
    struct str name = STR_NONE;
    struct err err = {0};
    EXCHANGE_TRY(x, json_want_str(x->body, "person", LIMIT_NAME_BYTES, &name, &err));
    if (!json_get(x->body, "person"))
        exchange_error(x, ERR_INVALID, "\"person\" is missing: who is to answer; \"\" is anybody");
    else if (name.n && !api_find_person(x->gate, name, session->id))
        exchange_error(x, ERR_INVALID, "nobody called \"%.*s\" may answer in this session", STR_ARG(name));
    else
        read_call(x, session, (struct mark){.person = token_person(name)});
}

void api_marks_snooze(struct exchange *x) { exchange_with_session(x, x->params[0], snooze); }
void api_marks_assign(struct exchange *x) { exchange_with_session(x, x->params[0], assign); }

/* Whether a token before this one is of the same person, and may answer there, too. */
static bool is_listed(const struct gate *gate, const struct token *token, struct str session)
{
    return api_find_person(gate, token_person(token->name), session) != token;
}

/* A person may have several tokens (a browser, a phone, a terminal) and is listed once. */
static void list_people(struct exchange *x, const struct session *session)
{
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    json_open(&out, '{');
    JSON_LIST(&out, "people")
        for (const struct token *token = gate_tokens(x->gate); token; token = token->next)
            if (!is_listed(x->gate, token, session->id))
                json_put_str(&out, token_person(token->name));
    json_close(&out, '}');
    exchange_answer(x, 200, &buf);
}

void api_people_list(struct exchange *x) { exchange_with_session(x, x->params[0], list_people); }
