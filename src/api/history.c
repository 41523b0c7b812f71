/* A permanent link to one call: who may look, and where the call is. */
#include "api/exchange.h"

/* Frees the operation on every path; the result that it answers with is in the operation's memory. */
static void answer_history(struct op *op)
{
    struct history *history = (struct history *)op;
    struct exchange *x = op->owner;
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    if (auth_revoked(x)) {
        history_free(history);
        return;
    }
    if (op->err) {
        exchange_fail(x, op->err);
    } else {
        gate_write_history(&out, history, x->token->scopes & SCOPE_DECIDE);
        exchange_answer(x, 200, &buf);
    }
    history_free(history);
}

/* An archived session has no owner in memory, only its name, so only a token that sees all sessions, or one that is
 * bound to this session, may read it. */
static void session_looked(struct op *op)
{
    const struct session *session = ((struct session_look *)op)->session;
    struct exchange *x = op->owner;
    bool gone = gate_op_code(op) == ERR_GONE && (str_empty(x->token->session) ? (x->token->scopes & SCOPE_SEE_ALL) != 0
                                                                         : str_eq(x->token->session, x->params[0]));
    if (op->err && !gone) {
        exchange_fail(x, op->err);
        return;
    }
    EXCHANGE_REFUSE(x, !gone && (!session || !token_may_see(x->token, session)), ERR_NOT_FOUND,
                    "there is no such session");
    struct history *history = history_new(x->params[0], x->params[1]);
    history->op = gate_op(x->arena, answer_history, x);
    gate_read_history(x->gate, history);
}

void api_calls_history(struct exchange *x)
{
    exchange_look(x, x->params[0], session_looked);
}
