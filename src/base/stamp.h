/* Times as milliseconds since 1970, UTC, and as RFC 3339 text with milliseconds. */
#ifndef BASE_STAMP_H
#define BASE_STAMP_H

#include "base/str.h"

#include <stdint.h>

enum { STAMP_BYTES = 48 };

/* A time whose year has not four digits is shown as the nearest that has. */
void stamp_format(int64_t at_ms, char out[STAMP_BYTES]);
bool stamp_parse(struct str text, int64_t *ret_at_ms);

#endif
