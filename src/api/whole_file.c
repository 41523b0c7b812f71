/* The file that a waiting call would change, whole, as it is now, and the difference within it.
 *
 * For people only, for calls that wait, and only the file that the call itself names, beneath a folder that a person
 * gave the session; no secret, and nothing that is protected.
 */
#include "api/exchange.h"

static void answer_file(struct op *op)
{
    struct named_file *file = (struct named_file *)op;
    struct exchange *x = file->op.owner;
    if (file->op.err) {
        exchange_fail(x, file->op.err);
    } else {
        exchange_object(x, 200, J("toolCallId", x->params[1]), J("content", file->text),
                        J_RAW("preview", file->preview));
    }
    named_file_free(file);
}

static void call_read(struct read *read)
{
    struct exchange *x = read->arg;
    struct call *calls;
    if (read->err.code != ERR_OK) {
        exchange_fail(x, &read->err);
    } else if (gate_calls_of(read, &calls) == 0 || calls[0].status != CALL_AWAITING) {
        exchange_error(x, ERR_NOT_FOUND, "there is no such call that waits");
    } else {
        struct named_file *file = named_file_new();
        file->dialect = arena_str(&file->arena, calls[0].dialect);
        file->name = arena_str(&file->arena, calls[0].name);
        file->input = arena_str(&file->arena, calls[0].input);
        file->root = arena_str(&file->arena, *(const struct str *)x->state);
        file->op = gate_op(&file->arena, answer_file, x);
        gate_read_named_file(x->gate, file);
    }
    read_free(read);
}

static void session_found(struct exchange *x, const struct session *session)
{
    EXCHANGE_REFUSE(x, session->cwd_proposed, ERR_FORBIDDEN,
                    "an agent named this session's folder, and no person has given it: see nod session set --cwd");
    struct str *root = arena_new(x->arena, struct str);
    *root = arena_str(x->arena, session->cwd);
    x->state = root;
    gate_read(x->gate, read_new_call(session->id, x->params[1]), call_read, x);
}

void api_pending_file(struct exchange *x) { exchange_with_session(x, x->params[0], session_found); }
