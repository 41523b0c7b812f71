/* Passkeys: an assertion as a browser makes it (WebAuthn level 3, section 7.2).
 *
 * The authenticator signs its own data and the digest of the client's data, which holds the challenge: the SHA-256 of
 * the statement. Registration asks for no attestation, so the key is known by its SPKI alone and no CBOR is read. */
#include "sign/inner.h"

#include "base/base64.h"
#include "base/public_key.h"

enum {
    AUTH_FLAGS_AT = 32,
    AUTH_COUNTER_AT = 33,
    AUTH_BYTES_MIN = 37,
    FLAG_PRESENT = 1,     /* somebody touched it */
    FLAG_VERIFIED = 4,    /* and was recognized: finger, face, PIN */
    FLAG_BACKUP_ABLE = 8,
    FLAG_BACKED_UP = 16,
};

static struct rc refuse(struct err *err, const char *why)
{
    return err_set(err, ERR_FORBIDDEN, "the passkey's signature does not hold: %s", why);
}

/* Unknown members are accepted: browsers add some on purpose, so that texts are not compared as a whole. */
static struct rc check_client(const struct person_key *key, struct str text, struct str client, struct err *err)
{
    ARENA_SCOPE(arena);
    const struct json *data = NULL;
    unsigned char challenge[DIGEST_BYTES];
    size_t n = 0;
    struct digest want = digest_of(text);
    if (rc_bad(json_parse_given(&arena, client, &data, NULL)) || data->type != JSON_OBJECT)
        return refuse(err, "the client's data is not a JSON object");
    if (!str_is(json_text(data, "type"), "webauthn.get"))
        return refuse(err, "it is not of a signature");
    if (!base64_decode(json_text(data, "challenge"), challenge, sizeof challenge, &n) || n != DIGEST_BYTES ||
        memcmp(challenge, want.bytes, DIGEST_BYTES) != 0)
        return refuse(err, "it is under another statement");
    if (!str_eq(json_text(data, "origin"), key->origin))
        return refuse(err, "it comes from another page");
    if (json_bool(data, "crossOrigin", false) || json_get(data, "topOrigin"))
        return refuse(err, "the page was inside another one");
    return RC_OK;
}

/* The person must have been recognized (PIN, finger, face), not just been there. */
static struct rc check_auth(const struct person_key *key, struct str auth, uint32_t *ret_counter, struct err *err)
{
    struct digest host = digest_of(key->rp_id);
    if (auth.n < AUTH_BYTES_MIN)
        return refuse(err, "the authenticator's data is too short");
    const unsigned char *at = (const unsigned char *)auth.p;
    unsigned flags = at[AUTH_FLAGS_AT];
    if (memcmp(at, host.bytes, DIGEST_BYTES) != 0)
        return refuse(err, "it is for another host name");
    if (!(flags & FLAG_PRESENT))
        return refuse(err, "nobody touched the authenticator");
    if (!(flags & FLAG_VERIFIED))
        return refuse(err, "the authenticator did not recognize the person");
    if ((flags & FLAG_BACKED_UP) && !(flags & FLAG_BACKUP_ABLE))
        return refuse(err, "its flags contradict each other");
    *ret_counter = (uint32_t)at[AUTH_COUNTER_AT] << 24 | (uint32_t)at[AUTH_COUNTER_AT + 1] << 16 |
                   (uint32_t)at[AUTH_COUNTER_AT + 2] << 8 | at[AUTH_COUNTER_AT + 3];
    return RC_OK;
}

/* The counter must grow where the authenticator has one: a copy of it would fall behind. */
struct rc webauthn_check(const struct person_key *key, struct str text, const struct signature_claim *claim,
                         uint32_t *ret_counter, struct err *err)
{
    ARENA_SCOPE(arena);
    TRY(check_client(key, text, claim->client, err));
    TRY(check_auth(key, claim->auth, ret_counter, err));
    struct digest client = digest_of(claim->client);
    char *message = arena_bytes(&arena, claim->auth.n + DIGEST_BYTES);
    memcpy(message, claim->auth.p, claim->auth.n);
    memcpy(message + claim->auth.n, client.bytes, DIGEST_BYTES);
    if (!public_key_check(key->spki, (struct str){message, claim->auth.n + DIGEST_BYTES}, claim->sig))
        return refuse(err, "it was not made by this key");
    if (key->counter && *ret_counter <= key->counter)
        return refuse(err, "the authenticator's counter went back: it may have been copied");
    return RC_OK;
}
