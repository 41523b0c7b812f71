/* Names for things: a prefix, the time in milliseconds and 80 random bits, in base 32 (26 characters). */
#ifndef BASE_ID_H
#define BASE_ID_H

#include "base/str.h"

enum { ID_BYTES = 40, ID_SECRET_BYTES = 64 };

struct id {
    char text[ID_BYTES];
};

/* "ses" gives "ses_0f3k…". */
struct id id_new(const char *prefix);
/* Eight random characters: unique within one session. */
struct id id_short(void);
/* A secret in the form of id_secret, derived from the bytes: equal bytes give equal secrets. */
void id_secret_from(const unsigned char bytes[ID_SECRET_BYTES], char out[ID_SECRET_BYTES]);
/* 256 random bits: "nod_…", for tokens. */
void id_secret(char out[ID_SECRET_BYTES]);
/* Printable ASCII without blanks, quotes, slashes or dots-only: what an agent may bring as an id. */
bool id_acceptable(struct str s);
void id_random(void *bytes, size_t n);

#endif
