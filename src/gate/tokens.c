/* Tokens: kept as events of the installation, known by the hash of their secret. */
#include "gate/inner.h"

#include "base/digest.h"
#include "base/list.h"
#include "base/sign.h"
#include "event/shapes.h"
#include "io/clock.h"

static struct str hash_of(struct str secret, char hex[DIGEST_HEX_BYTES])
{
    struct digest digest = digest_of(secret);
    digest_hex(&digest, hex);
    return (struct str){hex, DIGEST_HEX_BYTES - 1};
}

/* The secret of an agent's token: made from our key and the token's id. */
static void agent_secret(const struct gate *gate, struct str id, char secret[ID_SECRET_BYTES])
{
    struct digest root = sign_key_secret(gate->options.key, STR("nod-agent-tokens-v1"));
    struct str key = {(const char *)root.bytes, DIGEST_BYTES};
    struct digest first = sign_mac(key, id);
    struct digest second = sign_mac(key, (struct str){(const char *)first.bytes, DIGEST_BYTES});
    unsigned char bytes[ID_SECRET_BYTES];
    _Static_assert(sizeof bytes == 2 * DIGEST_BYTES, "two digests fill it");
    memcpy(bytes, first.bytes, DIGEST_BYTES);
    memcpy(bytes + DIGEST_BYTES, second.bytes, DIGEST_BYTES);
    id_secret_from(bytes, secret);
}

static struct token *by_id(const struct gate *gate, struct str id)
{
    return LIST_FIND(gate->tokens, token, str_eq(token->id, id));
}

/* ---- what a revoked agent had asked ---- */

/* Whether no other valid token has this name. Calls are stored with the name of the token only, so when two tokens
 * share it, a call may be the other one's. */
static bool only_of_its_name(const struct gate *gate, const struct token *token)
{
    return !ANY(const struct token *t = gate->tokens; t; t = t->next,
                t != token && !t->revoked_ms && str_eq(t->name, token->name));
}

/* Calls of an agent whose token was revoked: nobody would receive the answer. */
static void withdraw_all(struct gate *gate, const struct token *token)
{
    if (!(token->scopes & SCOPE_ASK) || !only_of_its_name(gate, token))
        return;
    MAP_EACH(&gate->core.open, each) {
        const struct open *open = each.value;
        if (str_eq(open->actor, token->name) &&
            (str_empty(token->session) || str_eq(token->session, open->session)))
            deadlines_end(gate, open, DECISION_CANCELLED, STR("the token that asked for it was revoked"));
    }
}

/* Revoked tokens stay in the list for the history; only the map by hash decides who may come in. */
void tokens_follow(struct gate *gate, const struct event *event)
{
    if (event->kind != EVENT_TOKEN_CHANGED)
        return;
    key_ring_follow(&gate->keys, event);
    struct token created;
    struct str gone = token_revoked(&gate->token_arena, event);
    struct token *known = str_empty(gone) ? NULL : by_id(gate, gone);
    if (known && !known->revoked_ms) {
        known->revoked_ms = event->at_ms;
        (void)map_take(&gate->tokens_by_hash, known->hash);
        withdraw_all(gate, known);
    }
    if (!token_created(&gate->token_arena, event, &created) || by_id(gate, created.id))
        return;
    struct token *token = arena_new(&gate->token_arena, struct token);
    *token = created;
    token->next = gate->tokens;
    gate->tokens = token;
    (void)map_put(&gate->tokens_by_hash, token->hash, token);
}

const struct token *gate_token(const struct gate *gate, struct str secret)
{
    char hex[DIGEST_HEX_BYTES];
    return map_get(&gate->tokens_by_hash, hash_of(secret, hex));
}

void gate_token_used(struct gate *gate, const struct token *token)
{
    struct token *known = map_get(&gate->tokens_by_hash, token->hash);
    if (known)
        known->used_ms = clock_wall_ms();
}

const struct token *gate_token_by_id(const struct gate *gate, struct str id)
{
    const struct token *token = by_id(gate, id);
    return token && !token->revoked_ms ? token : NULL;
}

bool gate_token_secret(const struct gate *gate, const struct token *token, char secret[64])
{
    char hex[DIGEST_HEX_BYTES];
    if (!gate->options.key || token->role != ROLE_AGENT)
        return false;
    agent_secret(gate, token->id, secret);
    return str_eq(hash_of(str_of(secret), hex), token->hash);
}

const struct sign_key *gate_key(const struct gate *gate) { return gate->options.key; }

const struct token *gate_tokens(const struct gate *gate) { return gate->tokens; }

bool tokens_revoked(const struct gate *gate, struct str id)
{
    const struct token *token = by_id(gate, id);
    return token && token->revoked_ms;
}

bool tokens_bound(const struct gate *gate, struct str id)
{
    const struct token *token = by_id(gate, id);
    return token && !str_empty(token->session);
}

struct need tokens_installation_unchanged(const struct gate *gate)
{
    return (struct need){.need = NEED_NONE_AFTER, .seq = gate->core.delivered};
}

void tokens_done(struct gate *gate)
{
    map_done(&gate->tokens_by_hash);
    arena_done(&gate->token_arena);
    key_ring_done(&gate->keys);
}

static struct shape_texts folder_texts(struct arena *arena, struct str folders)
{
    const struct json *list = NULL;
    struct shape_texts texts = {0};
    if (str_empty(folders) || rc_bad(json_parse(arena, folders, &list, NULL)))
        return texts;
    struct str *items = arena_array(arena, struct str, list->count + 1);
    for (const struct json *folder = list->first; folder; folder = folder->next)
        items[texts.count++] = folder->text;
    texts.items = items;
    return texts;
}

/* Secrets of agents are derived from the server's key: only so the server can check the proof of a client that
 * never sends its token (http/proof.h). Others are random, and only their hash is known here. */
static struct str creation(const struct gate *gate, struct token_change *change)
{
    struct arena *arena = change->op.arena;
    char hex[DIGEST_HEX_BYTES];
    struct str scopes[SCOPES_MAX];
    size_t count = scopes_list(scopes_of_role(change->role) | change->scopes, scopes);
    change->id = arena_str(arena, str_of(id_new("tok").text));
    if (gate->options.key && change->role == ROLE_AGENT)
        agent_secret(gate, change->id, change->secret);
    else
        id_secret(change->secret);
    return DATA(arena, token_created, .id = change->id, .name = change->name, .role = str_of(role_name(change->role)),
                .scopes = {scopes, count}, .session = change->session,
                .folders = folder_texts(arena, change->folders), .hash = hash_of(str_of(change->secret), hex));
}

void gate_change_token(struct gate *gate, struct token_change *change)
{
    bool revoke = change->role == ROLE_NONE;
    const struct token *known = revoke ? by_id(gate, change->id) : NULL;
    change->op.gate = gate;
    if (revoke && (!known || known->revoked_ms)) {
        if (!known)
            (void)err_set(gate_op_fail(&change->op), ERR_NOT_FOUND, "there is no token %.*s", STR_ARG(change->id));
        op_end(&change->op);
        return;
    }
    struct str data = revoke ? DATA(change->op.arena, token_revoked, .id = change->id) : creation(gate, change);
    op_keep(gate, &change->kept, (struct event){.kind = EVENT_TOKEN_CHANGED, .actor = change->actor, .data = data});
}
