/* Bytes as hexadecimal digits, for digests, keys and signatures in JSON and headers. Only small digits are
 * written and read, so that a value has one spelling. */
#ifndef BASE_HEX_H
#define BASE_HEX_H

#include "base/str.h"

/* `n` bytes as 2 n small hexadecimal digits and a terminator; and back, false when they are not exactly that. */
void hex_write(const unsigned char *bytes, size_t n, char *out);
bool hex_read(struct str hex, unsigned char *ret_bytes, size_t n);

/* The value of a digit of either case; -1: it is none. */
int hex_digit(char c);

#endif
