#include "event/token.h"

static const struct {
    enum role role;
    const char *wire;
} roles[] = {
#define X(name, bit, wire) {ROLE_##name, wire},
    ROLES(X)
#undef X
};

enum { ROLE_COUNT = sizeof roles / sizeof *roles };

const char *role_name(enum role role)
{
    for (int i = 0; i < ROLE_COUNT; i++)
        if (roles[i].role == role)
            return roles[i].wire;
    return "none";
}

enum role role_parse(struct str name)
{
    for (int i = 0; i < ROLE_COUNT; i++)
        if (str_is(name, roles[i].wire))
            return roles[i].role;
    return ROLE_NONE;
}

static const struct json *change(struct arena *arena, const struct event *event, const char *what)
{
    const struct json *data = NULL;
    if (event->kind != EVENT_TOKEN_CHANGED || rc_bad(json_parse(arena, event->data, &data, NULL)))
        return NULL;
    return str_is(json_text(data, "change"), what) ? data : NULL;
}

bool token_created(struct arena *arena, const struct event *event, struct token *ret_token)
{
    const struct json *data = change(arena, event, "created");
    if (!data)
        return false;
    *ret_token = (struct token){
        .id = arena_str(arena, json_text(data, "id")),
        .name = arena_str(arena, json_text(data, "name")),
        .session = arena_str(arena, json_text(data, "sessionId")),
        .hash = arena_str(arena, json_text(data, "hash")),
        .role = role_parse(json_text(data, "role")),
        .created_ms = event->at_ms,
    };
    return ret_token->role != ROLE_NONE;
}

struct str token_revoked(struct arena *arena, const struct event *event)
{
    const struct json *data = change(arena, event, "revoked");
    return data ? arena_str(arena, json_text(data, "id")) : STR_NONE;
}

void token_write(struct json_out *out, const struct token *token)
{
    json_open(out, '{');
    json_member(out, "id", token->id);
    json_member(out, "name", token->name);
    json_member(out, "role", str_of(role_name(token->role)));
    json_key(out, "sessionId");
    if (str_empty(token->session))
        json_put_null(out);
    else
        json_put_str(out, token->session);
    json_member_time(out, "createdAt", token->created_ms);
    json_key(out, "revokedAt");
    if (token->revoked_ms)
        json_put_time(out, token->revoked_ms);
    else
        json_put_null(out);
    json_close(out, '}');
}
