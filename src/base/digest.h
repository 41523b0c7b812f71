/* SHA-256, from OpenSSL (the only file that knows it is digest.c). */
#ifndef BASE_DIGEST_H
#define BASE_DIGEST_H

#include "base/str.h"

enum { DIGEST_BYTES = 32, DIGEST_HEX_BYTES = 65 };

struct digest {
    unsigned char bytes[DIGEST_BYTES];
};

struct digest digest_of(struct str s);
/* Of the one text and the other behind it, without anything between them. */
struct digest digest_of_both(struct str first, struct str second);
/* Over several pieces in a row; each piece is preceded by its length, so that borders count. */
struct digest digest_of_pieces(const struct str *pieces, size_t count);
void digest_hex(const struct digest *digest, char out[DIGEST_HEX_BYTES]);
/* False when it is not 64 hexadecimal digits in small letters. */
bool digest_parse(struct str hex, struct digest *ret_digest);
bool digest_eq(const struct digest *a, const struct digest *b);

/* A sum over bytes that come piece by piece, as sha256sum computes it. */
struct digest_sum;
struct digest_sum *digest_sum_new(void);
void digest_sum_add(struct digest_sum *sum, struct str bytes);
/* Frees the sum. */
struct digest digest_sum_end(struct digest_sum *sum);

/* RFC 6455 needs SHA-1 in base 64 for its handshake, and nothing else does. */
void digest_sha1_base64(struct str s, char out[32]);

#endif
