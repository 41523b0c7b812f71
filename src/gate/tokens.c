/* Tokens: kept as events of the installation, known by the hash of their secret. */
#include "gate/inner.h"

#include "base/digest.h"
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
    struct digest root = sign_key_secret(gate->key, STR("nod-agent-tokens-v1"));
    struct str key = {(const char *)root.bytes, DIGEST_BYTES};
    struct digest first = mac_of(key, id);
    struct digest second = mac_of(key, (struct str){(const char *)first.bytes, DIGEST_BYTES});
    unsigned char bytes[ID_SECRET_BYTES];
    _Static_assert(sizeof bytes == 2 * DIGEST_BYTES, "two digests fill it");
    memcpy(bytes, first.bytes, DIGEST_BYTES);
    memcpy(bytes + DIGEST_BYTES, second.bytes, DIGEST_BYTES);
    id_secret_from(bytes, secret);
}

static struct token *by_id(const struct gate *gate, struct str id)
{
    for (struct token *token = gate->tokens; token; token = token->next)
        if (str_eq(token->id, id))
            return token;
    return NULL;
}

void tokens_follow(struct gate *gate, const struct event *event)
{
    if (event->kind != EVENT_TOKEN_CHANGED)
        return;
    struct token created;
    struct str gone = token_revoked(&gate->token_arena, event);
    struct token *known = str_empty(gone) ? NULL : by_id(gate, gone);
    if (known && !known->revoked_ms) {
        known->revoked_ms = event->at_ms;
        (void)map_take(&gate->tokens_by_hash, known->hash);
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

const struct token *gate_token_by_id(const struct gate *gate, struct str id)
{
    const struct token *token = by_id(gate, id);
    return token && !token->revoked_ms ? token : NULL;
}

bool gate_token_secret(const struct gate *gate, const struct token *token, char secret[64])
{
    char hex[DIGEST_HEX_BYTES];
    if (!gate->key || token->role != ROLE_AGENT)
        return false;
    agent_secret(gate, token->id, secret);
    return str_eq(hash_of(str_of(secret), hex), token->hash);
}

const struct sign_key *gate_key(const struct gate *gate) { return gate->key; }

const struct token *gate_tokens(const struct gate *gate) { return gate->tokens; }

bool tokens_revoked(const struct gate *gate, struct str id)
{
    const struct token *token = by_id(gate, id);
    return token && token->revoked_ms;
}

struct need installation_unchanged(const struct gate *gate)
{
    return (struct need){.need = NEED_NONE_AFTER, .seq = gate->delivered};
}

void tokens_done(struct gate *gate)
{
    map_done(&gate->tokens_by_hash);
    arena_done(&gate->token_arena);
}

static void changed(struct append *append)
{
    struct token_change *change = append->arg;
    if (append->outcome != APPEND_KEPT)
        change->err = append->err;
    append_free(append);
    change->done(change);
}

static struct str creation(const struct gate *gate, struct arena *arena, struct token_change *change)
{
    char hex[DIGEST_HEX_BYTES];
    change->id = arena_str(change->arena, str_of(id_new("tok").text));
    if (gate->key && change->role == ROLE_AGENT)
        agent_secret(gate, change->id, change->secret);
    else
        id_secret(change->secret);
    return DATA(arena, token_created, .id = change->id, .name = change->name, .role = str_of(role_name(change->role)),
                .session = change->session, .hash = hash_of(str_of(change->secret), hex));
}

void gate_change_token(struct gate *gate, struct token_change *change)
{
    bool revoke = change->role == ROLE_NONE;
    const struct token *known = revoke ? by_id(gate, change->id) : NULL;
    if (revoke && (!known || known->revoked_ms)) {
        if (!known)
            (void)err_set(&change->err, ERR_NOT_FOUND, "there is no token %.*s", STR_ARG(change->id));
        change->done(change);
        return;
    }
    struct append *append = append_new();
    struct str data = revoke ? DATA(&append->arena, token_revoked, .id = change->id)
                             : creation(gate, &append->arena, change);
    (void)append_event(append, (struct event){
        .kind = EVENT_TOKEN_CHANGED,
        .at_ms = clock_wall_ms(),
        .actor = arena_str(&append->arena, change->actor),
        .data = data,
    });
    append->done = changed;
    append->arg = change;
    store_append(gate->store, append);
}
