/* Tokens, roles and scopes (token.h). */
#include "event/token.h"

#include "event/session.h"
#include "event/shapes.h"

enum {
    SCOPES_ALL = 0
#define X(name, bit, wire) | (bit)
    SCOPES(X)
#undef X
    ,
    SCOPES_VIEWER = SCOPE_SEE | SCOPE_SEE_ALL,
    SCOPES_AGENT = SCOPE_SEE | SCOPE_ASK,
    SCOPES_APPROVER = SCOPES_VIEWER | SCOPE_DECIDE | SCOPE_RULES_SESSION | SCOPE_SETTINGS,
    /* Approvers from before there were scopes also had these. */
    SCOPES_OLDER_APPROVER = SCOPES_APPROVER | SCOPE_RULES_USER | SCOPE_TRUST | SCOPE_RUN,
};

static const struct {
    enum role role;
    const char *wire;
    unsigned scopes, older, addable;
} roles[] = {
    {ROLE_ADMIN, "admin", SCOPES_ALL, SCOPES_ALL, SCOPES_ALL},
    {ROLE_APPROVER, "approver", SCOPES_APPROVER, SCOPES_OLDER_APPROVER, SCOPES_ALL & ~SCOPE_ASK},
    {ROLE_AGENT, "agent", SCOPES_AGENT, SCOPES_AGENT, SCOPES_AGENT},
    {ROLE_VIEWER, "viewer", SCOPES_VIEWER, SCOPES_VIEWER, SCOPES_VIEWER},
};

static const struct {
    enum scope scope;
    const char *wire;
} scopes[] = {
#define X(name, bit, wire) {SCOPE_##name, wire},
    SCOPES(X)
#undef X
};

enum { SCOPE_COUNT = sizeof scopes / sizeof *scopes };

const char *scope_name(enum scope scope)
{
    return ROW_VALUE(scopes, row, row->scope == scope, row->wire, "none");
}

enum scope scope_parse(struct str name)
{
    return ROW_VALUE(scopes, row, str_is(name, row->wire), row->scope, SCOPE_NONE);
}

size_t scopes_list(unsigned given, struct str names[SCOPES_MAX])
{
    size_t count = 0;
    CHECK((int)SCOPE_COUNT <= (int)SCOPES_MAX);
    for (int i = 0; i < SCOPE_COUNT; i++)
        if (given & scopes[i].scope)
            names[count++] = str_of(scopes[i].wire);
    return count;
}

void scopes_write(struct json_out *out, unsigned given)
{
    struct str names[SCOPES_MAX];
    size_t count = scopes_list(given, names);
    JSON_LIST(out, NULL)
        for (size_t i = 0; i < count; i++)
            json_put_str(out, names[i]);
}

enum { ROLE_COUNT = sizeof roles / sizeof *roles };

const char *role_name(enum role role)
{
    return ROW_VALUE(roles, row, row->role == role, row->wire, "none");
}

enum role role_parse(struct str name)
{
    return ROW_VALUE(roles, row, str_is(name, row->wire), row->role, ROLE_NONE);
}

unsigned scopes_of_role(enum role role)
{
    return ROW_VALUE(roles, row, row->role == role, row->scopes, SCOPE_NONE);
}

unsigned scopes_for_role(enum role role)
{
    return ROW_VALUE(roles, row, row->role == role, row->addable, SCOPE_NONE);
}

static unsigned older_scopes(enum role role)
{
    return ROW_VALUE(roles, row, row->role == role, row->older, SCOPE_NONE);
}

static bool is_change(const struct event *event, const char *change)
{
    return event->kind == EVENT_TOKEN_CHANGED && str_is(shape_change(event->data), change);
}

static void take_scopes(struct token *token, const struct shape_texts *names)
{
    if (names->count == 0) {
        token->scopes = older_scopes(token->role);
        token->older = token->scopes & ~scopes_of_role(token->role);
        return;
    }
    for (size_t i = 0; i < names->count; i++)
        token->scopes |= scope_parse(names->items[i]);
}

static void take_folders(struct arena *arena, struct token *token, const struct shape_texts *folders)
{
    token->folders = arena_array(arena, struct str, folders->count + 1);
    for (size_t i = 0; i < folders->count; i++)
        token->folders[token->folder_count++] = arena_str(arena, folders->items[i]);
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
    take_scopes(ret_token, &data.scopes);
    take_folders(arena, ret_token, &data.folders);
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
    json_members(out, J("id", token->id), J("name", token->name), J("role", role_name(token->role)),
                 J_OR_NULL("sessionId", token->session));
    json_key(out, "scopes");
    scopes_write(out, token->scopes);
    if (token->older) {
        json_key(out, "olderScopes");
        scopes_write(out, token->older);
    }
    JSON_LIST(out, "folders")
        for (size_t i = 0; i < token->folder_count; i++)
            json_put_str(out, token->folders[i]);
    json_members(out, J_TIME("createdAt", token->created_ms),
                 J_IF(token->used_ms, J_TIME("lastUsedAt", token->used_ms)));
    json_key(out, "revokedAt");
    if (token->revoked_ms)
        json_put_time(out, token->revoked_ms);
    else
        json_put_null(out);
    json_close(out, '}');
}

bool token_may_see(const struct token *token, const struct session *session)
{
    if (!str_empty(token->session))
        return str_eq(token->session, session->id);
    return (token->scopes & SCOPE_SEE_ALL) || str_eq(session->owner, token->id);
}

struct str token_person(struct str name)
{
    for (size_t i = name.n; i-- > 1;)
        if (name.p[i] == ' ' && name.p[i - 1] == ',')
            return str_sub(name, 0, i - 1);
    return name;
}
