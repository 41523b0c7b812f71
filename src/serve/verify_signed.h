/* Signatures under decisions, checked from the kept events alone; a part of `nod verify`. */
#ifndef SERVE_VERIFY_SIGNED_H
#define SERVE_VERIFY_SIGNED_H

#include "base/json.h"
#include "cli/cli.h"

struct proofs {
    uint64_t proven, without, bad;
};

/* A line per call that a person has allowed, to standard output or as objects of an array. `trust` names a file with
 * the ids of keys to believe; empty: all that the store knows. */
struct rc verify_signed(struct cli *cli, const char *trust, struct json_out *out, struct proofs *ret_proofs,
                        struct err *err);

#endif
