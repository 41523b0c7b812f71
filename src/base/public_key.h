/* Keys with which people sign: a public key in its standard form (SPKI, DER) and a check with it; and a private key
 * of our own (Ed25519) in a file that a passphrase opens. public_key.c alone knows OpenSSL's part in it. */
#ifndef BASE_PUBLIC_KEY_H
#define BASE_PUBLIC_KEY_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

/* The numbers are COSE's, as browsers name algorithms. */
enum key_algorithm {
    KEY_NONE = 0,
    KEY_EDDSA = -8,   /* Ed25519 */
    KEY_ES256 = -7,   /* P-256, SHA-256, the signature in DER */
    KEY_RS256 = -257, /* at least 2,048 bits, PKCS #1 v1.5, SHA-256 */
};

enum { PUBLIC_KEY_BYTES_MAX = 1024, SIGNATURE_BYTES_MAX = 1024, PASSPHRASE_BYTES_MIN = 8 };

/* KEY_NONE when the bytes are no public key of these kinds. */
enum key_algorithm public_key_algorithm(struct str spki);
bool public_key_check(struct str spki, struct str message, struct str signature);
/* Ed25519 from its 32 bare bytes, as SSH has it; empty when they are none. */
struct str public_key_from_ed25519(struct arena *arena, struct str raw);

/* ---- a private key behind a passphrase ---- */
struct private_key;

struct private_key *private_key_new(void);
/* PKCS #8 in PEM, its key derived from the passphrase by scrypt (N 2^14, r 8, p 1: 16 MB; OpenSSL refuses to read more
 * than 32). */
struct str private_key_write(struct arena *arena, const struct private_key *key, struct str passphrase);
/* NULL and ERR_INVALID when the passphrase is wrong or the text holds no such key. */
struct private_key *private_key_read(struct str pem, struct str passphrase, struct err *err);
struct str private_key_public(struct arena *arena, const struct private_key *key); /* SPKI */
struct str private_key_sign(struct arena *arena, const struct private_key *key, struct str message);
void private_key_free(struct private_key *key);

#endif
