/* UTF-8, checked strictly: no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include "base/buf.h"
#include "base/str.h"

#include <stdint.h>

/* The length of the valid sequence at the start of `s`, 0 when there is none. */
size_t utf8_valid_one(struct str s);
bool utf8_valid(struct str s);
/* How many bytes at the start are printable ASCII and neither quote nor backslash: what JSON copies as it is. */
size_t utf8_plain(struct str s);
/* Whether all of it is visible ASCII, blanks, tabs and newlines. */
bool utf8_only_seen(struct str s);
/* Writes 1 to 4 bytes and returns how many. */
size_t utf8_encode(uint32_t code, char *to);
/* Decodes the sequence at the start; 0 bytes taken when it is invalid. */
size_t utf8_decode(struct str s, uint32_t *ret_code);
/* Characters that hide or reorder text: C0 and C1 controls except tab and newline, DEL, bidi controls,
 * zero-width, variation-free tag characters, line and paragraph separators. */
bool utf8_hidden(uint32_t code);
/* Text from outside, fit for a terminal or a log line: hidden characters and invalid bytes are shown as
 * <U+202E> or <0x1B>; newline and tab stay when `lines` is true and are shown otherwise. */
void utf8_show(struct buf *buf, struct str s, bool lines);

#endif
