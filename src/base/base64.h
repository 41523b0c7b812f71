/* Base64 (RFC 4648): the usual alphabet with padding, and the one for URLs without. */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "base/str.h"

/* Room for the text of `n` bytes, its terminator included. */
#define BASE64_BYTES(n) (((n) + 2) / 3 * 4 + 1)

void base64_encode(const void *bytes, size_t n, char *out);
void base64_url_encode(const void *bytes, size_t n, char *out);
/* Accepts either alphabet, with or without padding; false when the text is invalid or longer than `room`. */
bool base64_decode(struct str text, unsigned char *ret_bytes, size_t room, size_t *ret_n);

#endif
