/* Keys of people, and signatures under what they decide; a part of gate.h. */
#ifndef GATE_GATE_KEYS_H
#define GATE_GATE_KEYS_H

#include "gate/gate_op.h"
#include "sign/sign.h"

struct gate;

/* Which allows need a signature. */
#define SIGNED_WHEN(X)      \
    X(RISKY, "risky")       \
    X(ALL, "all")           \
    X(OFF, "off")

enum signed_when {
#define X(name, wire) SIGNED_##name,
    SIGNED_WHEN(X)
#undef X
};

const char *signed_when_name(enum signed_when when);

const struct key_ring *gate_keys(const struct gate *gate);
/* The setting in force: SIGNED_OFF as long as nobody has a key, because then nobody could answer. */
enum signed_when gate_signed(const struct gate *gate);
/* How long a key that was added with a recovery code must wait before it counts. */
int64_t gate_recovery_ms(const struct gate *gate);
/* The name of this installation in statements. */
struct str gate_server_id(const struct gate *gate, struct arena *arena);

/* Fills in the statement's expiry and nonce. */
void gate_issue(const struct gate *gate, struct arena *arena, struct statement *statement);
/* Copies key, nonce and expiry of the claim into the statement and checks that it was issued here and has not expired.
 * */
struct rc gate_check_issued(const struct gate *gate, struct statement *statement, const struct signature_claim *claim,
                            struct err *err);
/* Checks that a known key has signed this statement, and that the statement was issued here and has not expired. The
 * JSON to be stored goes into *ret_signature. The use is not recorded: gate_use_key does that. */
struct rc gate_check_signature(struct gate *gate, struct arena *arena, struct statement statement,
                               const struct signature_claim *claim, struct str *ret_signature,
                               uint32_t *ret_counter, struct err *err);

/* Keeps that a signature under a request was used, before anything comes of it: ERR_SIGNATURE_REQUIRED when it was used
 * before, here or at another node. */
struct key_use {
    struct op op;
    struct str key, nonce, actor;
    uint32_t counter;
};
void gate_use_key(struct gate *gate, struct key_use *use);

struct key_change {
    union {
        struct op op;
        struct kept_event kept; /* private to the gate */
    };
    struct str actor;
    struct str data;   /* data of the TOKEN_CHANGED event: key_added, key_revoked or key_recovery */
};
void gate_change_key(struct gate *gate, struct key_change *change);

#endif
