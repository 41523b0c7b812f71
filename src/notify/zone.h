/* A time zone, from its file in the system's database (RFC 9636). Pure: the caller reads the file.
 *
 * libc knows one zone per process; people of one server live in several. */
#ifndef NOTIFY_ZONE_H
#define NOTIFY_ZONE_H

#include "base/arena.h"
#include "base/str.h"

#include <stdint.h>

/* The day of a year on which the clock is changed: the `week`th (5: the last) `weekday` (0: Sunday) of `month`. */
struct zone_rule {
    int month, week, weekday;
    int32_t at_s;           /* seconds after midnight, by the clock before the change */
};

struct zone {
    const unsigned char *times, *types; /* in the file: when the clock changed, 8 bytes each, and to which type */
    const unsigned char *offsets;       /* of each type, 6 bytes */
    uint32_t count;
    int32_t standard_s, summer_s;       /* after the last change: seconds east of Greenwich */
    struct zone_rule to_summer, to_standard;
    bool has_summer;
};

/* NULL when the bytes are not such a file. The zone refers to its bytes, which must be in the arena or live longer. */
const struct zone *zone_parse(struct arena *arena, struct str file);
/* Seconds east of Greenwich, at a time in seconds since 1970. */
int32_t zone_offset_s(const struct zone *zone, int64_t at_s);

#endif
