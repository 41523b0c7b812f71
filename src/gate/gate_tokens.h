/* Tokens, as the gate knows them; a part of gate.h. */
#ifndef GATE_GATE_TOKENS_H
#define GATE_GATE_TOKENS_H

#include "event/token.h"
#include "gate/gate_op.h"

struct gate;
struct sign_key;

/* The token with this secret; NULL when there is none or it was revoked. */
const struct token *gate_token(const struct gate *gate, struct str secret);
/* Notes that a request came with the token; in memory only, for people who look at their devices. */
void gate_token_used(struct gate *gate, const struct token *token);
const struct token *gate_tokens(const struct gate *gate); /* all, newest first */
/* The token of this id; NULL when there is none or it was revoked. */
const struct token *gate_token_by_id(const struct gate *gate, struct str id);
/* The secret of an agent's token, for proofs (http/proof.h): it is made from the server's key
 * and its id, so that neither has to be kept. False for tokens of people. */
bool gate_token_secret(const struct gate *gate, const struct token *token, char secret[64]);
const struct sign_key *gate_key(const struct gate *gate);

/* The operation that makes or revokes a token: one TOKEN_CHANGED event. The secret is in it once, for the
 * answer. */
struct token_change {
    union {
        struct op op;
        struct kept_event kept; /* private to the gate */
    };
    struct str name, session;   /* of the new token */
    enum role role;             /* ROLE_NONE: revoke `id` instead */
    unsigned scopes;            /* scopes beyond those of its role */
    struct str folders;         /* JSON array; empty: none */
    struct str id;
    struct str actor;
    char secret[64];            /* secret of the new token, filled in */
};
void gate_change_token(struct gate *gate, struct token_change *change);

#endif
