/* Signatures of people: proof that a person, and nobody who borrowed a token, wanted exactly this.
 *
 * A person signs a statement: a short text that names the installation, the call, the digest of what was shown, and the
 * decision. Both sides build it from what they know themselves, so that nobody signs or accepts words that somebody
 * else has put there. The server's part in it is a nonce, which binds the statement to this installation and its time.
 *
 *     server:  statement_issue(&statement, secret)            fills in the nonce
 *     person:  signs the SHA-256 of statement_text()          in the browser, or with a key file
 *     server:  sign_check_signature(key, text, &claim)             then keeps sign_write_signature() with the response
 *     later:   sign_read_signature() and the same check            `nod verify --trust`, without a server
 *
 * This folder only computes. Keys are events of the installation (shapes_session.h: key_added, key_revoked); a ring
 * holds them. */
#ifndef SIGN_SIGN_H
#define SIGN_SIGN_H

#include "base/arena.h"
#include "base/digest.h"
#include "base/json.h"
#include "base/map.h"
#include "event/event.h"

/* ---- statements ---- */

enum { STATEMENT_FIELDS_MAX = 16, STATEMENT_MINUTES = 10, KEY_ID_BYTES = 33, NONCE_HEX_BYTES = 33 };

/* The text that is signed, as fields: both sides build it and compare. */
struct statement {
    const char *form; /* the first line: nod-decision-v1, nod-key-v1 … */
    struct statement_field {
        const char *name;
        struct str value; /* empty is written as - */
    } fields[STATEMENT_FIELDS_MAX];
    size_t count;
    struct str key;   /* the signing key's id; with the next two the statement's last three lines */
    struct str nonce; /* made by the server */
    int64_t until_ms; /* until when the statement may be used */
};

void statement_add(struct statement *statement, const char *name, struct str value);
/* The SHA-256 of a value that may be long or private; an empty one stays empty. */
void statement_add_digest(struct statement *statement, struct arena *arena, const char *name, struct str value);
struct str statement_text(struct arena *arena, const struct statement *statement);
/* Fills in the nonce, made from all the rest and a secret of the installation: any node can check it without having
 * kept it. */
void statement_issue(struct statement *statement, struct arena *arena, const struct digest *secret);
bool statement_issued(const struct statement *statement, const struct digest *secret);

/* An answer to a call. JSON is compared by its bytes: what is signed is what is sent and kept. */
struct decision_facts {
    struct str server;       /* the installation: its key, hexadecimal */
    struct str session, call;
    struct str digest;       /* digest of the request (TOOL_APPROVAL_REQUEST) */
    struct str decision, mode, scope;
    int64_t rules_end_ms, rules_uses; /* 0: no end; then the statement has no line for it */
    struct str rules, input; /* JSON: an array of strings, the edited input */
    struct str feedback;
};
struct statement statement_of_decision(struct arena *arena, const struct decision_facts *facts);
/* A request that changes who may do what: a rule, a token, a mode, a key. */
struct statement statement_of_request(struct arena *arena, struct str server, struct str method, struct str path,
                                      struct str body);

/* ---- keys ---- */

#define KEY_KINDS(X)           \
    X(WEBAUTHN, "webauthn")    \
    X(ED25519, "ed25519")      \
    X(SSHSIG, "sshsig")

enum key_kind {
    KEY_KIND_NONE,
#define X(name, wire) KEY_KIND_##name,
    KEY_KINDS(X)
#undef X
};

/* A public key of a person, as events say. */
struct person_key {
    struct str id, person, name, credential, rp_id, origin;
    struct str spki;        /* bytes */
    enum key_kind kind;
    uint64_t added_seq, revoked_seq; /* 0: not revoked */
    int64_t added_ms, revoked_ms;
    int64_t from_ms;        /* signatures before this time do not count; 0: all count */
    uint32_t counter;       /* counter of the last signature seen; an authenticator's counter never decreases */
    struct person_key *next;
};

/* All keys ever added, newest first. */
struct key_ring {
    struct arena arena;
    struct person_key *keys;
    size_t active;
    struct map spent; /* nonces of requests that were made */
    struct recovery_code *codes; /* recovery codes that were not used yet */
};

enum key_kind key_kind_parse(struct str name);
const char *key_kind_name(enum key_kind kind);
void ring_key_id(struct str spki, char id[KEY_ID_BYTES]);
/* Takes an event of the installation; others are passed over. */
void key_ring_follow(struct key_ring *ring, const struct event *event);
/* The key of this id; NULL when there is none or it was revoked. */
struct person_key *key_ring_find(const struct key_ring *ring, struct str id);
/* The key as it was when the event with this seq was kept. */
const struct person_key *key_ring_at(const struct key_ring *ring, struct str id, uint64_t seq);
/* Whether a request with this nonce was already made. */
bool key_ring_spent(const struct key_ring *ring, struct str nonce);
/* Whether this is the hash of one of the person's recovery codes. */
bool key_ring_recovers(const struct key_ring *ring, struct str person, struct str hash);
void key_ring_done(struct key_ring *ring);
void ring_write_key(struct json_out *out, const struct person_key *key);

/* ---- signatures ---- */

struct signature_claim {
    struct str key, nonce;
    int64_t until_ms;
    struct str client, auth; /* webauthn: clientDataJSON and authenticator data, bytes */
    struct str sig;          /* the signature's bytes; for sshsig the armoured text */
};

/* Reads {"key","nonce","until","sig","client","auth"}; bytes are in base 64. */
struct rc signature_claim_read(struct arena *arena, const struct json *object, struct signature_claim *ret_claim,
                               struct err *err);
/* Whether the key has signed this text, by the rules of its kind. `ret_counter`: of an authenticator, 0 otherwise. */
struct rc sign_check_signature(const struct person_key *key, struct str text, const struct signature_claim *claim,
                          uint32_t *ret_counter, struct err *err);
/* Writes the signature as events hold it, as JSON; sign_read_signature reads the claim and the text back. */
struct str sign_write_signature(struct arena *arena, const struct person_key *key, struct str text,
                           const struct signature_claim *claim);
struct rc sign_read_signature(struct arena *arena, struct str json, struct signature_claim *ret_claim,
                              struct str *ret_text,
                         struct err *err);
/* The value of a field in a statement's text, as it was before it was escaped; empty for - and when it is missing. */
struct str statement_field(struct arena *arena, struct str text, const char *name);

#endif
