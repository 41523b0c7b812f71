/* Conversations that run elsewhere: what was said in them is added to a thread's events, and people speak to
 * them. The program that runs the agent follows the session's events and passes on the words of people; `source`
 * tells it that a person wrote them, so only people's tokens may write that. */
#include "api/exchange.h"

#include "event/shapes.h"

#define BY_A_PERSON "person"

static void noted(struct op *op)
{
    struct note *note = (struct note *)op;
    struct exchange *x = note->op.owner;
    exchange_object(x, 201, J("seq", note->kept.event.seq));
}

/* Only kinds that decide nothing can be added from outside. */
static struct rc read_note(struct exchange *x, struct note *note, struct err *err)
{
    struct str type = STR_NONE;
    const struct json *data = NULL;
    TRY(json_want_str(x->body, "type", LIMIT_NAME_BYTES, &type, err));
    TRY(json_want_object(x->body, "data", &data, err));
    note->kind = event_kind_parse(type);
    if (!event_kind_is_note(note->kind))
        return err_set(err, ERR_INVALID, "\"type\" must be USER_MESSAGE, AGENT_MESSAGE, LOCAL_SYSTEM_MESSAGE, "
                                         "SYSTEM_PROMPT, USER_SYSTEM_PROMPT or RUN_STATUS");
    if (!data)
        return err_set(err, ERR_INVALID, "\"data\" is missing; it must be an object");
    if (!(x->token->scopes & SCOPE_DECIDE) && str_is(json_text(data, "source"), BY_A_PERSON))
        return err_set(err, ERR_FORBIDDEN, "an agent cannot speak for a person");
    note->data = data->raw;
    return RC_OK;
}

/* The session was only looked up to know that the token may see it. */
static void note_in_thread(struct exchange *x, const struct session *session)
{
    struct note *note = arena_new(x->arena, struct note);
    struct err err;
    (void)session;
    *note = (struct note){.op = exchange_op(x, noted), .session = x->session, .thread = x->params[0],
                          .actor = x->actor};
    EXCHANGE_TRY(x, read_note(x, note, &err));
    gate_note(x->gate, note);
}

void api_notes_add(struct exchange *x) { exchange_with_thread(x, x->params[0], note_in_thread); }

/* ---- people speak ---- */

static void say(struct exchange *x, const struct session *session, enum event_kind kind, struct str data)
{
    struct note *note = arena_new(x->arena, struct note);
    *note = (struct note){.op = exchange_op(x, noted), .kind = kind, .actor = x->actor,
                          .session = arena_str(x->arena, session->id),
                          .thread = arena_str(x->arena, session->main_thread), .data = data};
    gate_note(x->gate, note);
}

static void prompt_session(struct exchange *x, const struct session *session)
{
    const struct json *text = json_get(x->body, "text");
    if (!text || text->type != JSON_STRING || str_empty(str_trim(text->text)))
        exchange_error(x, ERR_INVALID, "\"text\" is missing: what the agent is to do");
    else
        say(x, session, EVENT_USER_MESSAGE,
            DATA(x->arena, user_message, .text = text->text, .source = STR(BY_A_PERSON)));
}

static void interrupt_session(struct exchange *x, const struct session *session)
{
    say(x, session, EVENT_RUN_STATUS,
        DATA(x->arena, run_status, .status = STR("interrupting"), .source = STR(BY_A_PERSON), .iterations = -1));
}

void api_notes_prompt(struct exchange *x) { exchange_with_session(x, x->params[0], prompt_session); }
void api_notes_interrupt(struct exchange *x) { exchange_with_session(x, x->params[0], interrupt_session); }
