/* Tokens: made, listed, revoked. */
#include "api/exchange.h"

#include "base/hex.h"
#include "base/utf8.h"

/* The secret is in this answer only: the store has its digest. An agent also gets the server's public key, to check
 * that answers come from this server. */
static void token_made(struct op *op)
{
    struct token_change *change = (struct token_change *)op;
    struct exchange *x = change->op.owner;
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    json_open(&out, '{');
    json_members(&out, J("token", change->secret), J("id", change->id), J("name", change->name),
                 J("role", role_name(change->role)), J_OR_NULL("sessionId", change->session));
    if (change->role == ROLE_AGENT && gate_key(x->gate)) {
        char hex[2 * SIGN_PUBLIC_BYTES + 1];
        struct sign_public public = sign_public_of(gate_key(x->gate));
        hex_write(public.bytes, SIGN_PUBLIC_BYTES, hex);
        json_member(&out, "serverKey", arena_printf(x->arena, "ed25519:%s", hex));
    }
    json_key(&out, "scopes");
    scopes_write(&out, scopes_of_role(change->role) | change->scopes);
    json_member_raw(&out, "folders", str_empty(change->folders) ? STR("[]") : change->folders);
    json_close(&out, '}');
    exchange_answer(x, 201, &buf);
}

/* A name is shown wherever someone did something: it must not be able to look like another. */
static bool plain_name(struct str name)
{
    uint32_t code;
    for (size_t n; name.n && (n = utf8_decode(name, &code)) > 0; name = str_sub(name, n, name.n))
        if (utf8_hidden(code) || code == '\n' || code == '\t')
            return false;
    return name.n == 0;
}

/* Scopes only add to those of the role, and only some can be added to each. */
static struct rc read_scopes(struct exchange *x, struct token_change *change, struct err *err)
{
    const struct json *list = json_get(x->body, "scopes");
    if (list && list->type != JSON_NULL && list->type != JSON_ARRAY)
        return err_set(err, ERR_INVALID, "\"scopes\" must be an array of names");
    for (const struct json *name = list ? list->first : NULL; name; name = name->next) {
        enum scope scope = name->type == JSON_STRING ? scope_parse(name->text) : SCOPE_NONE;
        if (scope == SCOPE_NONE)
            return err_set(err, ERR_INVALID, "\"scopes\" has a name that is not a scope; docs/SECURITY.md lists them");
        if (!(scopes_for_role(change->role) & scope))
            return err_set(err, ERR_INVALID, "a token with the role %s cannot have the scope %s",
                           role_name(change->role), scope_name(scope));
        change->scopes |= scope;
    }
    if (!str_empty(change->session) && (change->scopes & ~scopes_of_role(change->role)))
        return err_set(err, ERR_INVALID, "a token that is bound to a session has no scopes beyond its role's");
    return RC_OK;
}

static struct rc read_folders(struct exchange *x, struct token_change *change, struct err *err)
{
    const struct json *list = json_get(x->body, "folders");
    if (!list || list->type == JSON_NULL)
        return RC_OK;
    if (list->type != JSON_ARRAY || list->count > TOKEN_FOLDERS_MAX)
        return err_set(err, ERR_INVALID, "\"folders\" must be an array of at most %d paths", TOKEN_FOLDERS_MAX);
    for (const struct json *folder = list->first; folder; folder = folder->next)
        if (folder->type != JSON_STRING || folder->text.n == 0 || folder->text.p[0] != '/' ||
            folder->text.n > LIMIT_PATH_BYTES)
            return err_set(err, ERR_INVALID, "\"folders\": each must be an absolute path");
    change->folders = list->raw;
    return RC_OK;
}

/* No token makes one that may do more than itself. */
static struct rc check_width(const struct exchange *x, unsigned scopes, struct err *err)
{
    unsigned more = scopes & ~x->token->scopes;
    if (!more)
        return RC_OK;
    return err_set(err, ERR_FORBIDDEN, "this token cannot make one with the scope %s, which it does not have itself",
                   scope_name(more & -more));
}

/* A new token may do at most as much as the one that makes it (check_width). */
static struct rc read_token(struct exchange *x, struct token_change *change, struct err *err)
{
    struct str role = STR_NONE;
    TRY(json_want_str(x->body, "name", LIMIT_ID_BYTES, &change->name, err));
    TRY(json_want_str(x->body, "role", LIMIT_ID_BYTES, &role, err));
    TRY(json_want_str(x->body, "sessionId", LIMIT_ID_BYTES, &change->session, err));
    change->role = role_parse(role);
    if (str_empty(change->name))
        return err_set(err, ERR_INVALID, "\"name\" is missing: it says in the log who did something");
    if (!plain_name(change->name))
        return err_set(err, ERR_INVALID, "\"name\" holds characters that cannot be seen");
    if (change->role == ROLE_NONE)
        return err_set(err, ERR_INVALID, "\"role\" must be admin, approver, agent or viewer");
    if (change->role == ROLE_ADMIN && !str_empty(change->session))
        return err_set(err, ERR_INVALID, "an admin cannot be bound to one session");
    TRY(read_scopes(x, change, err));
    TRY(read_folders(x, change, err));
    return check_width(x, scopes_of_role(change->role) | change->scopes, err);
}

static struct token_change *new_change(struct exchange *x, void (*done)(struct op *op))
{
    struct token_change *change = arena_new(x->arena, struct token_change);
    change->op = exchange_op(x, done);
    change->actor = x->actor;
    return change;
}

static void bound_session_found(struct exchange *x, const struct session *session)
{
    (void)session;
    gate_change_token(x->gate, x->state);
}

/* A token for a person loosens what may be decided and may need a signature; one for an agent can only ask. */
void api_tokens_create(struct exchange *x)
{
    struct token_change *change = new_change(x, token_made);
    struct str signature = STR_NONE;
    struct err err;
    x->state = change;
    EXCHANGE_TRY(x, read_token(x, change, &err));
    EXCHANGE_TRY(x, exchange_check_signed(x, change->role != ROLE_AGENT, &signature, &err));
    if (!str_empty(change->session))
        exchange_with_session(x, change->session, bound_session_found);
    else
        gate_change_token(x->gate, change);
}

void api_tokens_list(struct exchange *x)
{
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    json_open(&out, '{');
    JSON_LIST(&out, "tokens")
        for (const struct token *token = gate_tokens(x->gate); token; token = token->next)
            token_write(&out, token);
    json_close(&out, '}');
    exchange_answer(x, 200, &buf);
}

static void token_gone(struct op *op)
{
    struct token_change *change = (struct token_change *)op;
    struct exchange *x = change->op.owner;
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    for (const struct token *token = gate_tokens(x->gate); token; token = token->next)
        if (str_eq(token->id, change->id))
            token_write(&out, token);
    exchange_answer(x, 200, &buf);
}

/* The token is looked up twice: here to compare its scopes, and in the gate, which answers 404 if there is none. */
void api_tokens_revoke(struct exchange *x)
{
    struct token_change *change = new_change(x, token_gone);
    change->id = x->params[0];
    bool more = ANY(const struct token *token = gate_tokens(x->gate); token; token = token->next,
                    str_eq(token->id, change->id) && (token->scopes & ~x->token->scopes));
    EXCHANGE_REFUSE(x, more, ERR_FORBIDDEN, "this token cannot revoke one that may do more than itself");
    gate_change_token(x->gate, change);
}

void api_tokens_self(struct exchange *x)
{
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    token_write(&out, x->token);
    exchange_answer(x, 200, &buf);
}
