/* Conversations that run elsewhere: what was said in them is added to a thread's events. */
#include "api/exchange.h"

static void noted(struct note *note)
{
    struct exchange *x = note->arg;
    BUF_SCOPE(buf, LIMIT_ANSWER_BYTES);
    struct json_out out = json_out(&buf);
    if (note->err.code != ERR_OK) {
        exchange_fail(x, &note->err);
        return;
    }
    json_open(&out, '{');
    json_member_u64(&out, "seq", note->seq);
    json_close(&out, '}');
    exchange_answer(x, 201, &buf);
}

static struct rc read_note(struct exchange *x, struct note *note, struct err *err)
{
    struct str type = STR_NONE;
    const struct json *data = NULL;
    TRY(json_want_str(x->body, "type", LIMIT_NAME_BYTES, &type, err));
    TRY(json_want_object(x->body, "data", &data, err));
    note->kind = event_kind_parse(type);
    if (!gate_note_kind(note->kind))
        return err_set(err, ERR_INVALID, "\"type\" must be USER_MESSAGE, AGENT_MESSAGE, LOCAL_SYSTEM_MESSAGE "
                                         "or RUN_STATUS");
    if (!data)
        return err_set(err, ERR_INVALID, "\"data\" is missing; it must be an object");
    note->data = data->raw;
    return RC_OK;
}

static void note_in_thread(struct exchange *x, const struct session *session)
{
    struct note *note = arena_new(x->arena, struct note);
    struct err err;
    (void)session;
    *note = (struct note){.arena = x->arena, .session = x->session, .thread = x->params[0], .actor = x->actor,
                          .done = noted, .arg = x};
    if (rc_bad(read_note(x, note, &err)))
        exchange_fail(x, &err);
    else
        gate_note(x->gate, note);
}

void notes_add(struct exchange *x) { exchange_with_thread(x, x->params[0], note_in_thread); }
