/* Who may do what: tokens, the sum of the TOKEN_CHANGED events of the installation (shapes_session.h). The secret
 * itself is shown once and kept nowhere. */
#ifndef EVENT_TOKEN_H
#define EVENT_TOKEN_H

#include "event/event.h"

/* Roles are bits, so that a route names all that may use it. */
#define ROLES(X)             \
    X(ADMIN, 1, "admin")     \
    X(APPROVER, 2, "approver") \
    X(AGENT, 4, "agent")     \
    X(VIEWER, 8, "viewer")

enum role {
    ROLE_NONE = 0,
#define X(name, bit, wire) ROLE_##name = (bit),
    ROLES(X)
#undef X
};

struct token {
    struct str id, name, session, hash;
    enum role role;
    int64_t created_ms, revoked_ms; /* 0: not revoked */
    struct token *next;
};

const char *role_name(enum role role);
enum role role_parse(struct str name);
/* Reads a creation; false when the event is none. Strings are copied into the arena. */
bool token_created(struct arena *arena, const struct event *event, struct token *ret_token);
/* The id that the event revokes; empty when it revokes none. */
struct str token_revoked(struct arena *arena, const struct event *event);
void token_write(struct json_out *out, const struct token *token);

#endif
