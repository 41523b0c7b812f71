/* Signatures (Ed25519) and keyed digests (HMAC-SHA-256), from OpenSSL (the only file that knows it is sign.c). */
#ifndef BASE_SIGN_H
#define BASE_SIGN_H

#include "base/digest.h"

enum { SIGN_SEED_BYTES = 32, SIGN_PUBLIC_BYTES = 32, SIGN_BYTES = 64 };

/* A private key. */
struct sign_key;

struct sign_public {
    unsigned char bytes[SIGN_PUBLIC_BYTES];
};

struct signature {
    unsigned char bytes[SIGN_BYTES];
};

struct sign_key *sign_key_new(const unsigned char seed[SIGN_SEED_BYTES]);
void sign_key_free(struct sign_key *key);
struct sign_public sign_public_of(const struct sign_key *key);
struct signature sign_make(const struct sign_key *key, const struct digest *what);
bool sign_check(const struct sign_public *by, const struct digest *what, const struct signature *signature);
/* Derives a secret for one purpose from the private key. */
struct digest sign_key_secret(const struct sign_key *key, struct str purpose);

struct digest sign_mac(struct str key, struct str text);
/* Takes the same time wherever the two differ. */
bool sign_mac_eq(const struct digest *a, const struct digest *b);

#endif
