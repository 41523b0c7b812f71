/* Answer tokens: a phone answers with one instead of a login.
 *
 *     byte 0      version and decision
 *     bytes 1-4   until when it is good, seconds since 1970
 *     bytes 5-12  the first half of the delivery's id
 *     bytes 13-36 the beginning of HMAC-SHA256(key, bytes 0-12, call digest, person)
 *
 * 37 bytes are 50 characters, few enough for every channel's buttons. A token is good for one decision on one call as
 * it was shown to one person, and a call takes one answer, so it cannot be used twice. */
#include "notify/inner.h"

#include "base/base64.h"
#include "base/hex.h"
#include "base/sign.h"

enum { VERSION_DENY = 0x10, VERSION_ALLOW = 0x11, HEAD_BYTES = 13, MAC_BYTES = 24, ALL_BYTES = HEAD_BYTES + MAC_BYTES };
_Static_assert(BASE64_BYTES(ALL_BYTES) <= ANSWER_TOKEN_BYTES, "it fits");

static void mac(const struct digest *key, const unsigned char head[HEAD_BYTES], struct str bound,
                unsigned char ret_mac[MAC_BYTES])
{
    BUF_SCOPE(buf, 4096);
    BUF_ADD(&buf, (struct str){(const char *)head, HEAD_BYTES}, bound);
    CHECK(!buf.over);
    struct digest whole = sign_mac((struct str){(const char *)key->bytes, DIGEST_BYTES}, buf_str(&buf));
    memcpy(ret_mac, whole.bytes, MAC_BYTES);
}

void token_make(const struct digest *key, const struct answer_claims *claims, struct str bound,
                char ret_token[ANSWER_TOKEN_BYTES])
{
    unsigned char bytes[ALL_BYTES] = {claims->allow ? VERSION_ALLOW : VERSION_DENY};
    for (int i = 0; i < 4; i++)
        bytes[1 + i] = (unsigned char)(claims->until_s >> (24 - 8 * i));
    CHECK(hex_read((struct str){claims->delivery, 16}, bytes + 5, 8));
    mac(key, bytes, bound, bytes + HEAD_BYTES);
    base64_url_encode(bytes, ALL_BYTES, ret_token);
}

static bool read_bytes(struct str token, unsigned char ret_bytes[ALL_BYTES])
{
    size_t n;
    return base64_decode(token, ret_bytes, ALL_BYTES, &n) && n == ALL_BYTES &&
           (ret_bytes[0] == VERSION_DENY || ret_bytes[0] == VERSION_ALLOW);
}

bool token_read_claims(struct str token, struct answer_claims *ret_claims)
{
    unsigned char bytes[ALL_BYTES];
    if (!read_bytes(token, bytes))
        return false;
    *ret_claims = (struct answer_claims){.allow = bytes[0] == VERSION_ALLOW};
    for (int i = 0; i < 4; i++)
        ret_claims->until_s = ret_claims->until_s << 8 | bytes[1 + i];
    hex_write(bytes + 5, 8, ret_claims->delivery);
    return true;
}

bool token_right(const struct digest *key, struct str token, struct str bound)
{
    unsigned char bytes[ALL_BYTES];
    struct digest ours = {0}, theirs = {0};
    if (!read_bytes(token, bytes))
        return false;
    mac(key, bytes, bound, ours.bytes);
    memcpy(theirs.bytes, bytes + HEAD_BYTES, MAC_BYTES);
    return sign_mac_eq(&ours, &theirs);
}
