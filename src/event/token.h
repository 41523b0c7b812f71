/* Tokens and their rights: the sum of the TOKEN_CHANGED events of the installation (shapes_session.h). The secret
 * itself is shown once and kept nowhere; that of an agent is derived from server.key when it is needed
 * (gate/tokens.c). Events from before there were scopes have none: their tokens keep what their role could do then. */
#ifndef EVENT_TOKEN_H
#define EVENT_TOKEN_H

#include "event/event.h"

/* A scope is one right; every route and socket message needs one. see: the sessions the token started, or the one to
 * which it is bound; see.all: all of them, and the rules. */
#define SCOPES(X)                        \
    X(SEE, 1, "see")                     \
    X(SEE_ALL, 2, "see.all")             \
    X(ASK, 4, "ask")                     \
    X(DECIDE, 8, "decide")               \
    X(RULES_SESSION, 16, "rules.session") \
    X(SETTINGS, 32, "settings")          \
    X(RULES_USER, 64, "rules.user")      \
    X(TRUST, 128, "trust")               \
    X(RUN, 256, "run")                   \
    X(TOKENS, 512, "tokens")             \
    X(LOGINS, 1024, "logins")            \
    X(ARCHIVE, 2048, "archive")

enum scope {
    SCOPE_NONE = 0,
#define X(name, bit, wire) SCOPE_##name = (bit),
    SCOPES(X)
#undef X
};

/* A role is a named bundle of scopes (scopes_of_role); `nod token create --scope` adds single ones. */
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

/* A token without its secret. */
struct token {
    struct str id, name, session, hash;
    struct str *folders;    /* absolute paths in which it may start sessions, as a person allowed */
    size_t folder_count;
    enum role role;
    unsigned scopes;
    unsigned older;         /* scopes that its role no longer has, kept from before there were scopes */
    int64_t created_ms, revoked_ms; /* 0: not revoked */
    int64_t used_ms;        /* last request with it, since this process runs; 0: none */
    struct token *next;
};

enum { TOKEN_FOLDERS_MAX = 16 };

/* The person behind a token's name: each device of theirs is called "NAME, DEVICE". */
struct str token_person(struct str name);
/* SCOPE_NONE when there is none of that name. */
enum scope scope_parse(struct str name);
const char *scope_name(enum scope scope);
/* Fills in the names of the scopes; returns how many there are. */
enum { SCOPES_MAX = 16 };
size_t scopes_list(unsigned scopes, struct str names[SCOPES_MAX]);
/* Writes a JSON array of the scopes' names. */
void scopes_write(struct json_out *out, unsigned scopes);
unsigned scopes_of_role(enum role role);
/* Scopes that a person may add to a role; any other would make it another role. */
unsigned scopes_for_role(enum role role);

struct session;
/* Whether the token's holder may see this session. */
bool token_may_see(const struct token *token, const struct session *session);

const char *role_name(enum role role);
enum role role_parse(struct str name);
/* Reads the creation of a token; false when the event is something else. Strings are copied into the arena. */
bool token_created(struct arena *arena, const struct event *event, struct token *ret_token);
/* The id that the event revokes; empty when it revokes none. */
struct str token_revoked(struct arena *arena, const struct event *event);
void token_write(struct json_out *out, const struct token *token);

#endif
