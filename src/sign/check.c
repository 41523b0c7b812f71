/* Signatures: as people send them, as events hold them, and whether they hold. */
#include "sign/inner.h"

#include "base/base64.h"
#include "base/limits.h"
#include "base/public_key.h"
#include "base/stamp.h"

enum { CLIENT_BYTES_MAX = 4096, ARMOUR_BYTES_MAX = 4096 };

/* A member in base 64 as bytes; absent is empty. */
static struct rc want_bytes(struct arena *arena, const struct json *object, const char *name, struct str *ret_bytes,
                            struct err *err)
{
    struct str text = STR_NONE;
    size_t n = 0;
    TRY(json_want_str(object, name, BASE64_BYTES(CLIENT_BYTES_MAX), &text, err));
    if (str_empty(text))
        return RC_OK;
    unsigned char *bytes = (unsigned char *)arena_bytes(arena, CLIENT_BYTES_MAX);
    if (!base64_decode(text, bytes, CLIENT_BYTES_MAX, &n))
        return err_set(err, ERR_INVALID, "\"signature\": \"%s\" is not base 64", name);
    *ret_bytes = (struct str){(const char *)bytes, n};
    return RC_OK;
}

/* Form only; whether the signature is valid is for sign_check_signature. */
struct rc signature_claim_read(struct arena *arena, const struct json *object, struct signature_claim *ret_claim,
                               struct err *err)
{
    struct str until = STR_NONE;
    *ret_claim = (struct signature_claim){0};
    TRY(json_want_str(object, "key", LIMIT_ID_BYTES, &ret_claim->key, err));
    TRY(json_want_str(object, "nonce", LIMIT_ID_BYTES, &ret_claim->nonce, err));
    TRY(json_want_str(object, "until", LIMIT_ID_BYTES, &until, err));
    TRY(want_bytes(arena, object, "client", &ret_claim->client, err));
    TRY(want_bytes(arena, object, "auth", &ret_claim->auth, err));
    TRY(want_bytes(arena, object, "sig", &ret_claim->sig, err));
    if (str_empty(ret_claim->key) || str_empty(ret_claim->sig))
        return err_set(err, ERR_INVALID, "\"signature\" needs \"key\" and \"sig\"");
    if (!str_empty(until) && !stamp_parse(until, &ret_claim->until_ms))
        return err_set(err, ERR_INVALID, "\"signature\": \"until\" is not a time");
    return RC_OK;
}

/* The kind comes from the key as it was added, never from the claim. */
struct rc sign_check_signature(const struct person_key *key, struct str text, const struct signature_claim *claim,
                               uint32_t *ret_counter, struct err *err)
{
    *ret_counter = 0;
    switch (key->kind) {
    case KEY_KIND_WEBAUTHN:
        return webauthn_check(key, text, claim, ret_counter, err);
    case KEY_KIND_SSHSIG:
        return sshsig_check(key, text, claim, ret_counter, err);
    case KEY_KIND_ED25519:
        if (public_key_check(key->spki, text, claim->sig))
            return RC_OK;
        return err_set(err, ERR_FORBIDDEN, "the signature was not made by this key, or signs another text");
    case KEY_KIND_NONE:
        break;
    }
    return err_set(err, ERR_FORBIDDEN, "the key is of a kind that this version does not know");
}

static void put_bytes(struct json_out *out, const char *name, struct str bytes)
{
    char text[BASE64_BYTES(CLIENT_BYTES_MAX)];
    if (str_empty(bytes))
        return;
    CHECK(bytes.n <= CLIENT_BYTES_MAX);
    base64_url_encode(bytes.p, bytes.n, text);
    json_member(out, name, str_of(text));
}

/* Writes the signature as the event keeps it: with all that is needed to verify it later, without this server. */
struct str sign_write_signature(struct arena *arena, const struct person_key *key, struct str text,
                                const struct signature_claim *claim)
{
    JSON_SCOPE(buf, out, LIMIT_EVENT_BYTES);
    json_open(&out, '{');
    json_members(&out, J("v", 1), J("kind", key_kind_name(key->kind)), J("key", key->id), J("statement", text));
    put_bytes(&out, "client", claim->client);
    put_bytes(&out, "auth", claim->auth);
    put_bytes(&out, "sig", claim->sig);
    json_close(&out, '}');
    return arena_str(arena, buf_str(&buf));
}

struct rc sign_read_signature(struct arena *arena, struct str json, struct signature_claim *ret_claim,
                              struct str *ret_text, struct err *err)
{
    const struct json *object = NULL;
    TRY(json_parse(arena, json, &object, err));
    TRY(signature_claim_read(arena, object, ret_claim, err));
    *ret_text = json_text(object, "statement");
    ret_claim->nonce = statement_field(arena, *ret_text, "nonce");
    return RC_OK;
}
