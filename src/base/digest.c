/* SHA-256 from OpenSSL, by the functions of the algorithm itself. EVP would load OpenSSL's providers, their tables and
 * its configuration at the first digest, 2.7 MB in a server that needs nothing else of them. */
#define OPENSSL_SUPPRESS_DEPRECATED /* what OpenSSL would rather have: EVP */
#include "base/digest.h"

#include "base/err.h"
#include "base/heap.h"
#include "base/hex.h"

#include <endian.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdlib.h>

static void add(SHA256_CTX *sum, struct str s) { CHECK(SHA256_Update(sum, s.p, s.n) == 1); }

static struct digest end(SHA256_CTX *sum)
{
    struct digest digest;
    CHECK(SHA256_Final(digest.bytes, sum) == 1);
    return digest;
}

struct digest digest_of(struct str s)
{
    SHA256_CTX sum;
    CHECK(SHA256_Init(&sum) == 1);
    add(&sum, s);
    return end(&sum);
}

struct digest digest_of_both(struct str first, struct str second)
{
    SHA256_CTX sum;
    CHECK(SHA256_Init(&sum) == 1);
    add(&sum, first);
    add(&sum, second);
    return end(&sum);
}

/* Each piece is preceded by its length: no two lists of pieces give the same bytes. */
struct digest digest_of_pieces(const struct str *pieces, size_t count)
{
    SHA256_CTX sum;
    CHECK(SHA256_Init(&sum) == 1);
    for (size_t i = 0; i < count; i++) {
        uint64_t length = htobe64(pieces[i].n);
        add(&sum, (struct str){(const char *)&length, sizeof length});
        add(&sum, pieces[i]);
    }
    return end(&sum);
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

struct digest_sum {
    SHA256_CTX sha256;
};

struct digest_sum *digest_sum_new(void)
{
    struct digest_sum *sum = heap_new(sizeof *sum);
    CHECK(SHA256_Init(&sum->sha256) == 1);
    return sum;
}

void digest_sum_add(struct digest_sum *sum, struct str bytes) { add(&sum->sha256, bytes); }

struct digest digest_sum_end(struct digest_sum *sum)
{
    struct digest digest = end(&sum->sha256);
    free(sum);
    return digest;
}

bool digest_eq(const struct digest *a, const struct digest *b)
{
    return memcmp(a->bytes, b->bytes, DIGEST_BYTES) == 0;
}

void digest_sha1_base64(struct str s, char out[32])
{
    SHA_CTX sha1;
    unsigned char sum[SHA_DIGEST_LENGTH];
    CHECK(SHA1_Init(&sha1) == 1 && SHA1_Update(&sha1, s.p, s.n) == 1 && SHA1_Final(sum, &sha1) == 1);
    (void)EVP_EncodeBlock((unsigned char *)out, sum, sizeof sum);
}
