/* Encryption for Web Push (RFC 8291: ECDH, HKDF, AES-GCM) and the signatures of its tokens (RFC 8292: ES256). */
#include "base/seal.h"

#include "base/base64.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/id.h"
#include "base/sign.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <stdlib.h>

enum { SALT_BYTES = 16, CEK_BYTES = 16, NONCE_BYTES = 12, TAG_BYTES = 16, SECRET_BYTES = 32, RECORD_BYTES = 4096 };

struct seal_key {
    EVP_PKEY *pair;
};

void seal_keep_library(void) { (void)OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL); }

/* ---- keys ---- */

static struct seal_key *own(EVP_PKEY *pair)
{
    struct seal_key *key = heap_new(sizeof *key);
    key->pair = pair;
    return key;
}

struct seal_key *seal_key_new(void)
{
    EVP_PKEY *pair = EVP_EC_gen("P-256");
    CHECK(pair);
    return own(pair);
}

size_t seal_key_write(const struct seal_key *key, unsigned char *ret_bytes)
{
    unsigned char *end = ret_bytes;
    int n = i2d_PrivateKey(key->pair, &end);
    CHECK(n > 0 && n <= SEAL_KEY_BYTES_MAX);
    return (size_t)n;
}

struct seal_key *seal_key_read(const unsigned char *bytes, size_t n)
{
    EVP_PKEY *pair = d2i_PrivateKey(EVP_PKEY_EC, NULL, &bytes, (long)n);
    return pair ? own(pair) : NULL;
}

void seal_key_free(struct seal_key *key)
{
    if (!key)
        return;
    EVP_PKEY_free(key->pair);
    free(key);
}

static void write_point(EVP_PKEY *pair, unsigned char ret_point[SEAL_POINT_BYTES])
{
    size_t n = 0;
    CHECK(EVP_PKEY_get_octet_string_param(pair, OSSL_PKEY_PARAM_PUB_KEY, ret_point, SEAL_POINT_BYTES, &n) == 1);
    CHECK(n == SEAL_POINT_BYTES);
}

void seal_key_public(const struct seal_key *key, unsigned char ret_point[SEAL_POINT_BYTES])
{
    write_point(key->pair, ret_point);
}

/* Another's public key, as a key on the same curve as ours; NULL when it is not on it. */
static EVP_PKEY *read_point(EVP_PKEY *like, const unsigned char point[SEAL_POINT_BYTES])
{
    EVP_PKEY *other = EVP_PKEY_new();
    CHECK(other && EVP_PKEY_copy_parameters(other, like) == 1);
    if (point[0] == 4 && EVP_PKEY_set1_encoded_public_key(other, point, SEAL_POINT_BYTES) == 1)
        return other;
    EVP_PKEY_free(other);
    return NULL;
}

static bool derive(EVP_PKEY *ours, EVP_PKEY *theirs, unsigned char ret_secret[SECRET_BYTES])
{
    size_t n = SECRET_BYTES;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new(ours, NULL);
    CHECK(context);
    bool good = EVP_PKEY_derive_init(context) == 1 && EVP_PKEY_derive_set_peer(context, theirs) == 1 &&
                EVP_PKEY_derive(context, ret_secret, &n) == 1 && n == SECRET_BYTES;
    EVP_PKEY_CTX_free(context);
    return good;
}

/* ---- sealing ---- */

static struct str bytes(const void *p, size_t n) { return (struct str){p, n}; }

/* HKDF (RFC 5869) for at most one block: extract with the salt, expand with `info`. */
static struct digest hkdf(struct str salt, struct str secret, struct str info)
{
    BUF_SCOPE(buf, 512);
    struct digest key = sign_mac(salt, secret);
    buf_put(&buf, info);
    buf_put(&buf, STR("\x01"));
    CHECK(!buf.over);
    struct digest out = sign_mac(bytes(key.bytes, DIGEST_BYTES), buf_str(&buf));
    OPENSSL_cleanse(&key, sizeof key);
    return out;
}

/* The byte 2 behind the text marks the last record (RFC 8188); a message has one only. The tag follows it. */
static void encrypt(const unsigned char key[CEK_BYTES], const unsigned char nonce[NONCE_BYTES], struct str plain,
                    unsigned char *ret_sealed)
{
    static const unsigned char last_record = 2;
    int n = 0, more = 0;
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    CHECK(context && EVP_EncryptInit_ex(context, EVP_aes_128_gcm(), NULL, key, nonce) == 1);
    CHECK(EVP_EncryptUpdate(context, ret_sealed, &n, (const unsigned char *)plain.p, (int)plain.n) == 1);
    CHECK(EVP_EncryptUpdate(context, ret_sealed + n, &more, &last_record, 1) == 1);
    n += more;
    CHECK(EVP_EncryptFinal_ex(context, ret_sealed + n, &more) == 1 && more == 0);
    CHECK(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, TAG_BYTES, ret_sealed + n) == 1);
    EVP_CIPHER_CTX_free(context);
}

/* The key material that both sides compute from the agreed secret, the browser's and this message's public keys. */
static struct digest agree(struct str secret, struct str auth, const unsigned char *theirs, const unsigned char *ours)
{
    BUF_SCOPE(info, 256);
    buf_put(&info, bytes("WebPush: info", sizeof "WebPush: info")); /* with its terminator */
    buf_put(&info, bytes(theirs, SEAL_POINT_BYTES));
    buf_put(&info, bytes(ours, SEAL_POINT_BYTES));
    return hkdf(auth, secret, buf_str(&info));
}

/* A new pair of keys for each message, as RFC 8291 wants it. False: the receiver's point is not on the curve. */
bool seal_message(struct arena *arena, const unsigned char point[SEAL_POINT_BYTES],
                  const unsigned char auth[SEAL_AUTH_BYTES], struct str plain, struct str *ret_body)
{
    enum { HEAD_BYTES = SALT_BYTES + 4 + 1 + SEAL_POINT_BYTES };
    unsigned char secret[SECRET_BYTES], ours[SEAL_POINT_BYTES];
    CHECK(plain.n <= SEAL_PLAIN_BYTES_MAX);
    EVP_PKEY *pair = EVP_EC_gen("P-256");
    CHECK(pair);
    EVP_PKEY *other = read_point(pair, point);
    bool good = other && derive(pair, other, secret);
    write_point(pair, ours);
    EVP_PKEY_free(other);
    EVP_PKEY_free(pair);
    if (!good)
        return false;
    size_t n = HEAD_BYTES + plain.n + 1 + TAG_BYTES;
    unsigned char *body = arena_alloc(arena, n);
    id_random(body, SALT_BYTES);
    for (int i = 0; i < 4; i++)
        body[SALT_BYTES + i] = (unsigned char)(RECORD_BYTES >> (24 - 8 * i));
    body[SALT_BYTES + 4] = SEAL_POINT_BYTES;
    memcpy(body + SALT_BYTES + 5, ours, SEAL_POINT_BYTES);
    struct digest material = agree(bytes(secret, SECRET_BYTES), bytes(auth, SEAL_AUTH_BYTES), point, ours);
    struct str salt = bytes(body, SALT_BYTES), ikm = bytes(material.bytes, DIGEST_BYTES);
    struct digest key = hkdf(salt, ikm, bytes("Content-Encoding: aes128gcm", sizeof "Content-Encoding: aes128gcm"));
    struct digest nonce = hkdf(salt, ikm, bytes("Content-Encoding: nonce", sizeof "Content-Encoding: nonce"));
    encrypt(key.bytes, nonce.bytes, plain, body + HEAD_BYTES);
    OPENSSL_cleanse(secret, sizeof secret);
    *ret_body = bytes(body, n);
    return true;
}

/* ---- tokens ---- */

/* OpenSSL writes ASN.1; a token holds r and s, 32 bytes each. */
static void sign_es256(EVP_PKEY *pair, struct str text, unsigned char ret_signature[64])
{
    unsigned char der[128];
    size_t n = sizeof der;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    CHECK(context && EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, pair) == 1);
    CHECK(EVP_DigestSign(context, der, &n, (const unsigned char *)text.p, text.n) == 1);
    EVP_MD_CTX_free(context);
    const unsigned char *at = der;
    ECDSA_SIG *signature = d2i_ECDSA_SIG(NULL, &at, (long)n);
    CHECK(signature && BN_bn2binpad(ECDSA_SIG_get0_r(signature), ret_signature, 32) == 32 &&
          BN_bn2binpad(ECDSA_SIG_get0_s(signature), ret_signature + 32, 32) == 32);
    ECDSA_SIG_free(signature);
}

static struct str encoded(struct arena *arena, struct str text)
{
    char *out = arena_alloc(arena, BASE64_BYTES(text.n));
    base64_url_encode(text.p, text.n, out);
    return str_of(out);
}

struct str seal_token(struct arena *arena, const struct seal_key *key, struct str payload_json)
{
    unsigned char signature[64];
    struct str head = encoded(arena, STR("{\"typ\":\"JWT\",\"alg\":\"ES256\"}"));
    struct str text = arena_printf(arena, "%.*s.%.*s", STR_ARG(head), STR_ARG(encoded(arena, payload_json)));
    sign_es256(key->pair, text, signature);
    return arena_printf(arena, "%.*s.%.*s", STR_ARG(text),
                        STR_ARG(encoded(arena, bytes(signature, sizeof signature))));
}
