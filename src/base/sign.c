/* Ed25519 and HMAC-SHA-256 from OpenSSL (sign.h). */
#include "base/sign.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/lock.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>

/* The pair is made at the first signature, by whichever thread wants one: with it come OpenSSL's providers, which a
 * server that signs nothing does without. Secrets are derived from the seed alone. */
struct pair {
    pthread_mutex_t lock;
    EVP_PKEY *made;
};

struct sign_key {
    struct pair *pair;
    unsigned char seed[SIGN_SEED_BYTES];
};

struct sign_key *sign_key_new(const unsigned char seed[SIGN_SEED_BYTES])
{
    struct sign_key *key = heap_new(sizeof *key);
    memcpy(key->seed, seed, SIGN_SEED_BYTES);
    key->pair = heap_new(sizeof *key->pair);
    CHECK(pthread_mutex_init(&key->pair->lock, NULL) == 0);
    return key;
}

static EVP_PKEY *pair_of(const struct sign_key *key)
{
    LOCK_SCOPE(&key->pair->lock);
    if (!key->pair->made)
        key->pair->made = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, key->seed, SIGN_SEED_BYTES);
    CHECK(key->pair->made);
    return key->pair->made;
}

void sign_key_free(struct sign_key *key)
{
    if (!key)
        return;
    EVP_PKEY_free(key->pair->made);
    CHECK(pthread_mutex_destroy(&key->pair->lock) == 0);
    free(key->pair);
    OPENSSL_cleanse(key->seed, sizeof key->seed);
    free(key);
}

struct sign_public sign_public_of(const struct sign_key *key)
{
    struct sign_public public;
    size_t n = sizeof public.bytes;
    CHECK(EVP_PKEY_get_raw_public_key(pair_of(key), public.bytes, &n) == 1 && n == sizeof public.bytes);
    return public;
}

struct signature sign_make(const struct sign_key *key, const struct digest *what)
{
    struct signature signature;
    size_t n = sizeof signature.bytes;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    CHECK(context && EVP_DigestSignInit(context, NULL, NULL, NULL, pair_of(key)) == 1);
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

/* RFC 2104: the digest of the text behind the inner key, and of that behind the outer key. */
struct digest sign_mac(struct str key, struct str text)
{
    enum { BLOCK_BYTES = 64, INNER = 0x36, OUTER = 0x5c };
    unsigned char padded[BLOCK_BYTES] = {0};
    struct str block = {(const char *)padded, sizeof padded};
    CHECK(key.n);
    struct digest mac = key.n > BLOCK_BYTES ? digest_of(key) : (struct digest){0};
    if (key.n > BLOCK_BYTES)
        memcpy(padded, mac.bytes, DIGEST_BYTES);
    else
        memcpy(padded, key.p, key.n);
    for (size_t i = 0; i < BLOCK_BYTES; i++)
        padded[i] ^= INNER;
    mac = digest_of_both(block, text);
    for (size_t i = 0; i < BLOCK_BYTES; i++)
        padded[i] ^= INNER ^ OUTER;
    mac = digest_of_both(block, (struct str){(const char *)mac.bytes, DIGEST_BYTES});
    OPENSSL_cleanse(padded, sizeof padded);
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
