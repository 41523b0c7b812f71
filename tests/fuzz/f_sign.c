/* Signatures that nobody made: whatever the bytes are, they hold for no key. The first line is JSON as a client sends
 * it, or as events hold it; what follows is armour, client data and authenticator data. */
#include "base/limits.h"
#include "sign/inner.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Of an Ed25519 key that no longer has its other half. */
static const char spki[] = "\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00"
                           "0123456789abcdef0123456789abcdef";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ARENA_SCOPE(arena);
    struct str rest = {(const char *)data, size}, line = str_cut(rest, '\n', &rest), text;
    struct signature_claim claim = {0};
    struct err err;
    const struct json *object = NULL;
    uint32_t counter;
    struct person_key key = {.id = STR("k"), .rp_id = STR("localhost"), .origin = STR("http://localhost:1"),
                             .spki = {spki, sizeof spki - 1}};
    if (rc_ok(json_parse(&arena, line, &object, &err)) && object->type == JSON_OBJECT)
        (void)!signature_claim_read(&arena, object, &claim, &err).code;
    (void)!sign_read_signature(&arena, line, &claim, &text, &err).code;
    (void)statement_field(&arena, rest, "call");
    for (int i = 0; i < 3; i++) {
        key.kind = i == 0 ? KEY_KIND_WEBAUTHN : i == 1 ? KEY_KIND_ED25519 : KEY_KIND_SSHSIG;
        claim.sig = i == 2 || str_empty(claim.sig) ? rest : claim.sig;
        claim.client = str_empty(claim.client) ? rest : claim.client;
        claim.auth = str_empty(claim.auth) ? rest : claim.auth;
        if (rc_ok(sign_check_signature(&key, STR("statement"), &claim, &counter, &err)))
            abort();
    }
    return 0;
}
