/* The version of a store, which it keeps as the number `schema_version` in `meta`: how many steps made its tables, and
 * the highest kind of event that may be in it. A program that does not know a kind takes the event for damage, so it
 * refuses such a store. Both backends use it, on whichever thread opens a handle; pure.
 *
 * The number is steps * 1000 + kinds. One below 1000 is of a program before kinds were in it: so many steps, and kinds
 * up to 25. Those programs compare it with their own steps, so every number of today is a newer version to them. */
#ifndef STORE_VERSION_H
#define STORE_VERSION_H

#include "base/err.h"

#include <stdint.h>

struct version {
    int64_t steps, kinds;
};

/* The version of a program with so many steps and the kinds of this one. */
struct version version_of_steps(int64_t steps);
int64_t version_number(struct version version);
/* No steps: the number is of no store. */
struct version version_read(int64_t number);
/* Refuses, in words that name `place` and both versions, a number of no store, and a version with more steps or higher
 * kinds than are known. What remains has the known number, or is to be brought up to date. */
struct rc version_check(const char *place, int64_t number, struct version known, struct version *ret_version,
                        struct err *err);
/* The error of a node whose store has got another version while it ran. */
struct rc version_outdated(const char *place, int64_t number, struct version known, struct err *err);

#endif
