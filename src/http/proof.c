/* Requests without a token and answers with a proof: see proof.h for what is computed over which bytes. */
#include "http/proof.h"

#include "base/hex.h"
#include "http/http.h"

#include <stdio.h>

enum { NONCE_CHARS = 64 };

struct digest proof_verifier(struct str token) { return sign_mac(token, STR("nod-agent-verifier-v1")); }

/* False: the header is absent or has another form; nothing is checked yet. */
bool proof_claim_read(const struct http_request *request, struct proof_claim *ret_claim)
{
    struct str mac, rest, header = http_header(request, "authorization");
    if (header.n < 4 || header.p[3] != ' ' || !str_same_letters(str_sub(header, 0, 3), STR("nod")))
        return false; /* mostly a token follows another word */
    rest = str_sub(header, 4, header.n);
    struct proof_claim claim;
    struct digest unused;
    claim.token_id = str_cut(rest, ' ', &rest);
    claim.nonce = str_cut(rest, ' ', &rest);
    claim.body = str_cut(rest, ' ', &mac);
    if (str_empty(claim.token_id) || claim.nonce.n != NONCE_CHARS ||
        !digest_parse(claim.nonce, &unused) || !digest_parse(claim.body, &unused) || !digest_parse(mac, &claim.mac))
        return false;
    *ret_claim = claim;
    return true;
}

struct digest proof_of_request(const struct proof_exchange *x, struct str token_id)
{
    const struct str pieces[] = {STR("nod-request-v1"), token_id, x->nonce, x->method, x->target, x->body};
    return digest_of_pieces(pieces, sizeof pieces / sizeof *pieces);
}

struct digest proof_of_answer(const struct proof_exchange *x, int status, struct str body)
{
    char number[16], hex[DIGEST_HEX_BYTES];
    struct digest digest = digest_of(body);
    digest_hex(&digest, hex);
    (void)snprintf(number, sizeof number, "%d", status);
    const struct str pieces[] = {STR("nod-answer-v1"), x->nonce, x->method, x->target, x->body, str_of(number),
                                 str_of(hex)};
    return digest_of_pieces(pieces, sizeof pieces / sizeof *pieces);
}

static struct proof_exchange exchange_of(const struct http_request *request, const struct proof_claim *claim)
{
    return (struct proof_exchange){request->method, request->target, claim->nonce, claim->body};
}

bool proof_claim_holds(const struct http_request *request, const struct proof_claim *claim,
                       const struct digest *verifier)
{
    struct proof_exchange exchange = exchange_of(request, claim);
    struct digest asked = proof_of_request(&exchange, claim->token_id);
    struct digest mac = sign_mac((struct str){(const char *)verifier->bytes, DIGEST_BYTES},
                                 (struct str){(const char *)asked.bytes, DIGEST_BYTES});
    return sign_mac_eq(&mac, &claim->mac);
}

bool proof_body_holds(const struct http_request *request, const struct proof_claim *claim)
{
    struct digest claimed, came = digest_of(request->body);
    return digest_parse(claim->body, &claimed) && digest_eq(&came, &claimed);
}

/* The header line by which a client knows the server; empty if it did not claim anything. */
struct str proof_line(const struct http_request *request, int status, struct str body,
                      char out[PROOF_LINE_BYTES])
{
    struct proof_claim claim;
    if (!request->prover || !proof_claim_read(request, &claim))
        return STR_NONE;
    char hex[2 * SIGN_BYTES + 1];
    struct proof_exchange exchange = exchange_of(request, &claim);
    struct digest said = proof_of_answer(&exchange, status, body);
    struct signature signature = sign_make(request->prover, &said);
    hex_write(signature.bytes, SIGN_BYTES, hex);
    int n = snprintf(out, PROOF_LINE_BYTES, "Nod-Proof: %s\r\n", hex);
    CHECK(n > 0 && n < PROOF_LINE_BYTES);
    return (struct str){out, (size_t)n};
}
