#include "event/token.h"

#include "event/shapes.h"

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

static bool is_change(const struct event *event, const char *change)
{
    return event->kind == EVENT_TOKEN_CHANGED && str_is(shape_change(event->data), change);
}

bool token_created(struct arena *arena, const struct event *event, struct token *ret_token)
{
    struct data_token_created data;
    if (!is_change(event, "created") || !READ_DATA(arena, token_created, event->data, &data))
        return false;
    *ret_token = (struct token){
        .id = arena_str(arena, data.id),
        .name = arena_str(arena, data.name),
        .session = arena_str(arena, data.session),
        .hash = arena_str(arena, data.hash),
        .role = role_parse(data.role),
        .created_ms = event->at_ms,
    };
    return ret_token->role != ROLE_NONE;
}

struct str token_revoked(struct arena *arena, const struct event *event)
{
    struct data_token_revoked data;
    if (!is_change(event, "revoked") || !READ_DATA(arena, token_revoked, event->data, &data))
        return STR_NONE;
    return arena_str(arena, data.id);
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
