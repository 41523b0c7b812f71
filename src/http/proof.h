/* Both sides prove who they are, and no secret crosses the wire.
 *
 *   Authorization: Nod TOKEN-ID NONCE BODY-DIGEST MAC      (hexadecimal, blanks between)
 *   Nod-Proof: SIGNATURE                                   in the answer
 *
 * The MAC binds method, target, body and a nonce of the client's with a verifier that is derived from the token.
 * The server signs the nonce, the request and its whole answer with its own key. An impostor that is given the
 * request learns nothing that helps with another one, and cannot make an answer.
 */
#ifndef HTTP_PROOF_H
#define HTTP_PROOF_H

#include "base/sign.h"

struct http_request;

/* The identity of a program, and the only server that it speaks to. */
struct http_identity {
    struct str token_id;
    struct digest verifier;
    struct sign_public server;
    bool has_uid;          /* the server's process, at a Unix socket, must run under this uid */
    uint32_t uid;
};

/* The verifier of a token, sent where the token itself must not be. */
struct digest proof_verifier(struct str token);

/* ---- the server's side ---- */
struct proof_claim {
    struct str token_id, nonce, body;
    struct digest mac;
};
/* False when the request has no such header. */
bool proof_claim_read(const struct http_request *request, struct proof_claim *ret_claim);
bool proof_claim_holds(const struct http_request *request, const struct proof_claim *claim,
                       const struct digest *verifier);
/* Whether the body that came is the one that was claimed. */
bool proof_body_holds(const struct http_request *request, const struct proof_claim *claim);

/* ---- what both sides compute ---- */
struct proof_exchange {
    struct str method, target, nonce, body; /* body: hex digest of the request's */
};
struct digest proof_of_answer(const struct proof_exchange *exchange, int status, struct str body);
struct digest proof_of_request(const struct proof_exchange *exchange, struct str token_id);

enum { PROOF_LINE_BYTES = 2 * SIGN_BYTES + 16 };
/* "Nod-Proof: …\r\n" for an answer to a request that has a prover. */
struct str proof_line(const struct http_request *request, int status, struct str body,
                      char out[PROOF_LINE_BYTES]);

#endif
