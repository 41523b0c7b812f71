/* Messages for browsers (Web Push): sealed with RFC 8291, sent under an identity of the server's (RFC 8292). The only
 * file that knows OpenSSL's part in it is seal.c. */
#ifndef BASE_SEAL_H
#define BASE_SEAL_H

#include "base/arena.h"
#include "base/str.h"

enum {
    SEAL_POINT_BYTES = 65,     /* a public key on P-256, uncompressed */
    SEAL_AUTH_BYTES = 16,
    SEAL_PLAIN_BYTES_MAX = 3993, /* push services take 4,096 bytes with headers */
    SEAL_KEY_BYTES_MAX = 256,
};

/* A private key on P-256. */
struct seal_key;

struct seal_key *seal_key_new(void);
/* Writes the key as DER, at most SEAL_KEY_BYTES_MAX bytes; seal_key_read gives NULL when the bytes are no key. */
size_t seal_key_write(const struct seal_key *key, unsigned char *ret_bytes);
struct seal_key *seal_key_read(const unsigned char *bytes, size_t n);
void seal_key_free(struct seal_key *key);
void seal_key_public(const struct seal_key *key, unsigned char ret_point[SEAL_POINT_BYTES]);

/* The end of the process does not clean up libcrypto: threads that are left running may still use it. Call it before
 * anything else that uses the library. */
void seal_keep_library(void);

/* The body of a push message: only the browser with these two keys can read it. Each one has a key pair and salt of its
 * own. False when the point is not on the curve. */
bool seal_message(struct arena *arena, const unsigned char point[SEAL_POINT_BYTES],
                  const unsigned char auth[SEAL_AUTH_BYTES], struct str plain, struct str *ret_body);
/* header.payload.signature: a JSON Web Token signed with ES256. */
struct str seal_token(struct arena *arena, const struct seal_key *key, struct str payload_json);

#endif
