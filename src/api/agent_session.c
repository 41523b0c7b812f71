/* The session that an agent knows by an id of its own: found, or made at its first call. */
#include "api/exchange.h"

#include "event/shapes.h"

/* One search, in the exchange's arena. `created`: the session is made once at most, even if it is still not found
 * then. */
struct session_search {
    struct exchange *x;
    struct agent_session agent;
    struct str id;
    struct session_look look;
    void (*then)(void *arg, const struct session *session, const struct err *err);
    void *arg;
    bool created;
};

static void find(struct session_search *s);

static void give(struct session_search *s, const struct session *session, const struct err *err)
{
    s->then(s->arg, session, err);
}

/* ERR_CONFLICT: another request or another node has made the same session first, which is as good as having made it.
 */
static void made(struct op *op)
{
    struct session_change *change = (struct session_change *)op;
    struct session_search *s = change->op.owner;
    if (change->op.err && change->op.err->code != ERR_CONFLICT)
        give(s, NULL, change->op.err);
    else
        find(s);
}

static struct str last_part(struct str path)
{
    struct str part, last = path;
    while (!str_empty(path)) {
        part = str_cut(path, '/', &path);
        if (!str_empty(part))
            last = part;
    }
    return last;
}

/* The folder counts as proposed unless the token's owner has opened it: then a person is asked before files are
 * touched. */
static void make(struct session_search *s)
{
    struct exchange *x = s->x;
    struct session_change *change = arena_new(x->arena, struct session_change);
    struct str place = last_part(s->agent.cwd);
    s->created = true;
    struct data_session_created created = {
        .title = arena_printf(x->arena, "%.*s%s%.*s", STR_ARG(s->agent.name), str_empty(place) ? "" : " in ",
                              STR_ARG(place)),
        .cwd = s->agent.cwd,
        .cwd_proposed = !auth_gives_folder(x, s->agent.cwd),
        .timeout_seconds = x->api->timeout_seconds,
        .owner = x->token_id,
    };
    change->op = gate_op(x->arena, made, s);
    change->new_id = s->id;
    change->created = &created;
    change->actor = x->actor;
    gate_change_session(x->gate, change);
}

/* A session that this token may not see is answered like one that does not exist. */
static void found(struct op *op)
{
    const struct session *session = ((struct session_look *)op)->session;
    struct session_search *s = op->owner;
    struct err missing = {.code = ERR_OK};
    bool bound = !str_empty(s->x->token->session);
    if (op->err) {
        give(s, NULL, op->err);
    } else if (session && token_may_see(s->x->token, session)) {
        give(s, session, &missing);
    } else if (session || bound || s->created || s->agent.must_exist) {
        (void)err_set(&missing, ERR_NOT_FOUND, "there is no session for this agent");
        give(s, NULL, &missing);
    } else {
        make(s);
    }
}

static void find(struct session_search *s)
{
    s->look = (struct session_look){.op = gate_op(s->x->arena, found, s), .id = s->id};
    gate_session(s->x->gate, &s->look);
}

/* A token that is bound to a session speaks in that one, whatever id the agent gives. */
void exchange_with_agent(struct exchange *x, const struct agent_session *agent,
                         void (*then)(void *arg, const struct session *session, const struct err *err), void *arg)
{
    struct session_search *s = arena_new(x->arena, struct session_search);
    *s = (struct session_search){.x = x, .agent = *agent, .then = then, .arg = arg};
    s->id = str_empty(x->token->session) ? sessions_id_of(x, agent->name, agent->id)
                                         : arena_str(x->arena, x->token->session);
    find(s);
}
