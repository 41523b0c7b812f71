/* SHA-256, from OpenSSL. Each thread has a context of its own, made at its first digest. */
#include "base/digest.h"

#include "base/err.h"
#include "base/hex.h"

#include <endian.h>
#include <openssl/evp.h>
#include <pthread.h>

/* Fetching an algorithm costs more than hashing an event: once per process, one context per thread. */
static EVP_MD *sha256;
static pthread_once_t sha256_once = PTHREAD_ONCE_INIT;
static _Thread_local EVP_MD_CTX *context;
static pthread_key_t context_key;

static void free_context(void *p) { EVP_MD_CTX_free(p); }

static void fetch_sha256(void)
{
    sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    CHECK(sha256);
    CHECK(pthread_key_create(&context_key, free_context) == 0);
}

/* One context per thread, freed with it: making one costs as much as hashing a short text. */
static EVP_MD_CTX *begin(void)
{
    (void)pthread_once(&sha256_once, fetch_sha256);
    if (!context) {
        context = EVP_MD_CTX_new();
        CHECK(context);
        CHECK(pthread_setspecific(context_key, context) == 0);
    }
    CHECK(EVP_DigestInit_ex2(context, sha256, NULL) == 1);
    return context;
}

struct digest digest_of(struct str s)
{
    struct digest digest;
    EVP_MD_CTX *c = begin();
    CHECK(EVP_DigestUpdate(c, s.p, s.n) == 1);
    CHECK(EVP_DigestFinal_ex(c, digest.bytes, NULL) == 1);
    return digest;
}

/* Each piece is preceded by its length: no two lists of pieces give the same bytes. */
struct digest digest_of_pieces(const struct str *pieces, size_t count)
{
    struct digest digest;
    EVP_MD_CTX *c = begin();
    for (size_t i = 0; i < count; i++) {
        uint64_t length = htobe64(pieces[i].n);
        CHECK(EVP_DigestUpdate(c, &length, sizeof length) == 1);
        CHECK(EVP_DigestUpdate(c, pieces[i].p, pieces[i].n) == 1);
    }
    CHECK(EVP_DigestFinal_ex(c, digest.bytes, NULL) == 1);
    return digest;
}

void digest_hex(const struct digest *digest, char out[DIGEST_HEX_BYTES])
{
    hex_write(digest->bytes, DIGEST_BYTES, out);
}

bool digest_parse(struct str hex, struct digest *ret_digest)
{
    struct digest digest;
    if (!hex_read(hex, digest.bytes, DIGEST_BYTES))
        return false;
    *ret_digest = digest;
    return true;
}

/* The thread's own context serves one call at a time; a sum lives across many. */
struct digest_sum *digest_sum_new(void)
{
    (void)pthread_once(&sha256_once, fetch_sha256);
    EVP_MD_CTX *c = EVP_MD_CTX_new();
    CHECK(c && EVP_DigestInit_ex2(c, sha256, NULL) == 1);
    return (struct digest_sum *)c;
}

void digest_sum_add(struct digest_sum *sum, struct str bytes)
{
    CHECK(EVP_DigestUpdate((EVP_MD_CTX *)sum, bytes.p, bytes.n) == 1);
}

struct digest digest_sum_end(struct digest_sum *sum)
{
    struct digest digest;
    CHECK(EVP_DigestFinal_ex((EVP_MD_CTX *)sum, digest.bytes, NULL) == 1);
    EVP_MD_CTX_free((EVP_MD_CTX *)sum);
    return digest;
}

bool digest_eq(const struct digest *a, const struct digest *b)
{
    return memcmp(a->bytes, b->bytes, DIGEST_BYTES) == 0;
}

void digest_sha1_base64(struct str s, char out[32])
{
    unsigned char sum[20];
    CHECK(EVP_Digest(s.p, s.n, sum, NULL, EVP_sha1(), NULL) == 1);
    (void)EVP_EncodeBlock((unsigned char *)out, sum, sizeof sum);
}
