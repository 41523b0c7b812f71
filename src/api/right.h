/* The right that a route or a message needs; a part of exchange.h. */
#ifndef API_RIGHT_H
#define API_RIGHT_H

#include "base/err.h"
#include "event/token.h"

/* Whether a token that is bound to a session may use it. */
enum bound {
    BOUND_HERE,  /* allowed: the gate looks for the named call or thread in the token's session (token_may_see) */
    BOUND_NEVER, /* refused: it concerns more than one session */
};

/* The scope that a route or a socket message needs. SCOPE_NONE: anyone, without a token. */
struct right {
    enum scope scope;
    enum bound bound;
};

/* A message that a WebSocket takes, under its "type" or "command". */
struct socket_kind {
    const char *name;
    struct right right;
};

/* The one place where rights are looked at: for routes, for messages of both sockets, and for what a body asks for
 * beyond its route's right. ERR_FORBIDDEN or ERR_SESSION_BOUND with words. */
struct rc auth_allow(const struct token *token, struct right right, struct err *err);

#endif
