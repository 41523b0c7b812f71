/* Ed25519 and HMAC-SHA-256 from OpenSSL (sign.h). */
#include "base/sign.h"

#include "base/arena.h"
#include "base/err.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>

struct sign_key {
    EVP_PKEY *pair;
    unsigned char seed[SIGN_SEED_BYTES];
};

struct sign_key *sign_key_new(const unsigned char seed[SIGN_SEED_BYTES])
{
    struct sign_key *key = heap_new(sizeof *key);
    memcpy(key->seed, seed, SIGN_SEED_BYTES);
    key->pair = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, SIGN_SEED_BYTES);
    CHECK(key->pair);
    return key;
}

void sign_key_free(struct sign_key *key)
{
    if (!key)
        return;
    EVP_PKEY_free(key->pair);
    OPENSSL_cleanse(key->seed, sizeof key->seed);
    free(key);
}

struct sign_public sign_public_of(const struct sign_key *key)
{
    struct sign_public public;
    size_t n = sizeof public.bytes;
    CHECK(EVP_PKEY_get_raw_public_key(key->pair, public.bytes, &n) == 1 && n == sizeof public.bytes);
    return public;
}

struct signature sign_make(const struct sign_key *key, const struct digest *what)
{
    struct signature signature;
    size_t n = sizeof signature.bytes;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    CHECK(context && EVP_DigestSignInit(context, NULL, NULL, NULL, key->pair) == 1);
    CHECK(EVP_DigestSign(context, signature.bytes, &n, what->bytes, DIGEST_BYTES) == 1 && n == SIGN_BYTES);
    EVP_MD_CTX_free(context);
    return signature;
}

bool sign_check(const struct sign_public *by, const struct digest *what, const struct signature *signature)
{
    EVP_PKEY *public = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, by->bytes, SIGN_PUBLIC_BYTES);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    CHECK(context);
    bool good = public && EVP_DigestVerifyInit(context, NULL, NULL, NULL, public) == 1 &&
                EVP_DigestVerify(context, signature->bytes, SIGN_BYTES, what->bytes, DIGEST_BYTES) == 1;
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(public);
    return good;
}

struct digest sign_mac(struct str key, struct str text)
{
    struct digest mac;
    unsigned n = 0;
    CHECK(key.n && key.n <= INT32_MAX);
    CHECK(HMAC(EVP_sha256(), key.p, (int)key.n, (const unsigned char *)text.p, text.n, mac.bytes, &n));
    CHECK(n == DIGEST_BYTES);
    return mac;
}

bool sign_mac_eq(const struct digest *a, const struct digest *b)
{
    return CRYPTO_memcmp(a->bytes, b->bytes, DIGEST_BYTES) == 0;
}

struct digest sign_key_secret(const struct sign_key *key, struct str purpose)
{
    return sign_mac((struct str){(const char *)key->seed, SIGN_SEED_BYTES}, purpose);
}
