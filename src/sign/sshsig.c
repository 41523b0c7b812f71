/* Signatures of OpenSSH (PROTOCOL.sshsig, PROTOCOL.u2f) with a key on a security key: sk-ssh-ed25519@openssh.com.
 *
 * Keys without a device are not accepted: an ssh-agent signs with them for every process of the user, agents included.
 *
 *     ssh-keygen -Y sign -n nod@v1 -f ~/.ssh/id_ed25519_sk statement */
#include "sign/inner.h"

#include "base/base64.h"
#include "base/public_key.h"

#define NAMESPACE "nod@v1"
#define BEGIN "-----BEGIN SSH SIGNATURE-----"
#define END "-----END SSH SIGNATURE-----"
#define KEY_TYPE "sk-ssh-ed25519@openssh.com"

enum { BLOB_BYTES_MAX = 2048, FLAG_TOUCHED = 1, SIG_BYTES = 64, ED25519_BYTES = 32 };

/* Fields in the wire format of SSH, taken one after the other; `bad` once one did not fit. */
struct fields {
    struct str rest;
    bool bad;
};

static struct str take_bytes(struct fields *fields, size_t n)
{
    if (fields->bad || fields->rest.n < n) {
        fields->bad = true;
        return STR_NONE;
    }
    struct str taken = str_sub(fields->rest, 0, n);
    fields->rest = str_sub(fields->rest, n, fields->rest.n);
    return taken;
}

static uint32_t take_u32(struct fields *fields)
{
    struct str s = take_bytes(fields, 4);
    const unsigned char *at = (const unsigned char *)s.p;
    return s.n ? (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3] : 0;
}

static struct str take_text(struct fields *fields) { return take_bytes(fields, take_u32(fields)); }

static void put_text(struct buf *buf, struct str text)
{
    uint32_t n = (uint32_t)text.n;
    BUF_ADD(buf, (struct str){(const char[]){(char)(n >> 24), (char)(n >> 16), (char)(n >> 8), (char)n}, 4}, text);
}

/* The bytes between the two lines of the armour. */
static bool unarmour(struct arena *arena, struct str text, struct str *ret_blob)
{
    text = str_trim(text);
    if (!str_starts(text, STR(BEGIN)) || !str_ends(text, STR(END)) || text.n < sizeof BEGIN + sizeof END)
        return false;
    text = str_sub(text, sizeof BEGIN - 1, text.n - (sizeof END - 1));
    char *plain = arena_bytes(arena, text.n + 1);
    size_t n = 0, bytes = 0;
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] != '\n' && text.p[i] != '\r')
            plain[n++] = text.p[i];
    unsigned char *blob = (unsigned char *)arena_bytes(arena, BLOB_BYTES_MAX);
    if (!base64_decode((struct str){plain, n}, blob, BLOB_BYTES_MAX, &bytes))
        return false;
    *ret_blob = (struct str){(const char *)blob, bytes};
    return true;
}

static struct rc refuse(struct err *err, const char *why)
{
    return err_set(err, ERR_FORBIDDEN, "the SSH signature does not hold: %s", why);
}

/* The bytes that the device signs: SHA-256(application), its flags and counter, SHA-256 of the message. */
static struct str device_message(struct arena *arena, struct str application, struct str flags_and_counter,
                                 struct str message)
{
    struct digest first = digest_of(application), last = digest_of(message);
    BUF_SCOPE(buf, BLOB_BYTES_MAX);
    BUF_ADD(&buf, (struct str){(const char *)first.bytes, DIGEST_BYTES}, flags_and_counter,
            (struct str){(const char *)last.bytes, DIGEST_BYTES});
    return arena_str(arena, buf_str(&buf));
}

/* The message that ssh-keygen signs for a text (PROTOCOL.sshsig); with a security key, the bytes that the key gets. */
static struct str ssh_message(struct arena *arena, struct str text)
{
    struct digest digest = digest_of(text);
    BUF_SCOPE(buf, BLOB_BYTES_MAX);
    buf_puts(&buf, "SSHSIG");
    put_text(&buf, STR(NAMESPACE));
    put_text(&buf, STR_NONE);
    put_text(&buf, STR("sha256"));
    put_text(&buf, (struct str){(const char *)digest.bytes, DIGEST_BYTES});
    return arena_str(arena, buf_str(&buf));
}

/* Every field is read and must be used up: a signature has one form only. */
struct rc sshsig_check(const struct person_key *key, struct str text, const struct signature_claim *claim,
                       uint32_t *ret_counter, struct err *err)
{
    ARENA_SCOPE(arena);
    struct fields all = {0};
    if (!unarmour(&arena, claim->sig, &all.rest))
        return refuse(err, "it is not in the form of `ssh-keygen -Y sign`");
    bool magic = str_is(take_bytes(&all, 6), "SSHSIG") && take_u32(&all) == 1;
    struct fields public = {.rest = take_text(&all)};
    struct str namespace = take_text(&all), reserved = take_text(&all), hash = take_text(&all);
    struct fields sig = {.rest = take_text(&all)};
    struct str type = take_text(&public), point = take_text(&public), application = take_text(&public);
    struct str sig_type = take_text(&sig), sig_bytes = take_text(&sig), tail = take_bytes(&sig, 5);
    if (!magic || all.bad || all.rest.n || public.bad || public.rest.n || sig.bad || sig.rest.n || reserved.n)
        return refuse(err, "its fields are not those of version 1");
    if (!str_is(type, KEY_TYPE) || !str_is(sig_type, KEY_TYPE) || point.n != ED25519_BYTES || sig_bytes.n != SIG_BYTES)
        return refuse(err, "only keys on a security key (" KEY_TYPE ") are accepted");
    if (!str_is(namespace, NAMESPACE) || !str_is(hash, "sha256"))
        return refuse(err, "it was made for something else: use -n " NAMESPACE " -O hashalg=sha256");
    if (!((unsigned char)tail.p[0] & FLAG_TOUCHED))
        return refuse(err, "nobody touched the security key");
    struct fields counter = {.rest = str_sub(tail, 1, tail.n)};
    *ret_counter = take_u32(&counter);
    struct str message = device_message(&arena, application, tail, ssh_message(&arena, text));
    if (!str_eq(public_key_from_ed25519(&arena, point), key->spki) ||
        !public_key_check(key->spki, message, sig_bytes))
        return refuse(err, "it was not made by this key");
    return RC_OK;
}
