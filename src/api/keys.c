/* Keys of people: added, listed, revoked; and statements for them to sign. */
#include "api/exchange.h"

#include "base/base64.h"
#include "base/id.h"
#include "base/log.h"
#include "base/public_key.h"
#include "event/shapes.h"
#include "event/token.h"
#include "io/clock.h"
#include "sign/sign.h"

#include <unistd.h>

enum { KEY_NAME_BYTES_MAX = 100, CREDENTIAL_BYTES_MAX = 1024, CODES = 10, CODE_CHARS = 16, CODE_BYTES_MAX = 64 };

void api_keys_list(struct exchange *x)
{
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    json_open(&out, '{');
    json_member(&out, "signed", str_of(signed_when_name(gate_signed(x->gate))));
    JSON_LIST(&out, "keys")
        for (const struct person_key *key = gate_keys(x->gate)->keys; key; key = key->next)
            ring_write_key(&out, key);
    json_close(&out, '}');
    exchange_answer(x, 200, &buf);
}

/* ---- statements ---- */

/* The text to sign, and its digest as the challenge of WebAuthn. */
static void answer_statement(struct exchange *x, const struct statement *statement)
{
    struct str text = statement_text(x->arena, statement);
    char challenge[BASE64_BYTES(DIGEST_BYTES)];
    struct digest digest = digest_of(text);
    base64_url_encode(digest.bytes, DIGEST_BYTES, challenge);
    exchange_object(x, 200, J("statement", text), J("challenge", challenge), J("server", statement->fields[0].value),
                    J("nonce", statement->nonce), J_TIME("until", statement->until_ms));
}

/* The client sends the digest of the body it will send: the statement binds the signature to those bytes. */
static struct rc issue_for_request(struct exchange *x, struct str key, struct statement *ret, struct err *err)
{
    struct str method = STR_NONE, path = STR_NONE, digest = STR_NONE;
    struct digest parsed;
    TRY(json_want_str(x->body, "method", LIMIT_NAME_BYTES, &method, err));
    TRY(json_want_str(x->body, "path", LIMIT_PATH_BYTES, &path, err));
    TRY(json_want_str(x->body, "body", LIMIT_NAME_BYTES, &digest, err));
    if (!str_empty(digest) && !digest_parse(digest, &parsed))
        return err_set(err, ERR_INVALID, "\"body\" must be the SHA-256 of the body, hexadecimal");
    *ret = statement_of_request(x->arena, gate_server_id(x->gate, x->arena), method, path, STR_NONE);
    ret->fields[ret->count - 1].value = digest;
    ret->key = key;
    gate_issue(x->gate, x->arena, ret);
    return RC_OK;
}

/* Reads the body by the function that the decision itself uses, so that a person signs exactly what is decided. */
static struct rc issue_for_decision(struct exchange *x, struct str key, struct statement *ret, struct err *err)
{
    struct decide *d = arena_new(x->arena, struct decide);
    d->op.arena = x->arena;
    TRY(json_want_str(x->body, "sessionId", LIMIT_ID_BYTES, &d->session, err));
    TRY(json_want_str(x->body, "toolCallId", LIMIT_ID_BYTES, &d->call_id, err));
    if (!str_empty(x->token->session) && !str_eq(x->token->session, d->session))
        return err_set(err, ERR_SESSION_BOUND, "this token is for another session");
    TRY(approvals_read_decision(x, d, err));
    return gate_decision_statement(x->gate, d, key, ret, err);
}

/* A statement decides nothing: it is the text that a person's key signs. */
void api_statements_issue(struct exchange *x)
{
    struct statement statement = {0};
    struct str what = STR_NONE, key = STR_NONE;
    struct err err;
    EXCHANGE_TRY(x, json_want_str(x->body, "for", LIMIT_NAME_BYTES, &what, &err));
    EXCHANGE_TRY(x, json_want_str(x->body, "key", LIMIT_NAME_BYTES, &key, &err));
    bool decides = str_is(what, "decision");
    EXCHANGE_REFUSE(x, !gate_key(x->gate), ERR_UNAVAILABLE,
                    "this server has no key of its own, so that nothing can be signed");
    EXCHANGE_REFUSE(x, !decides && !str_is(what, "request"), ERR_INVALID, "\"for\" must be decision or request");
    EXCHANGE_TRY(x, (decides ? issue_for_decision : issue_for_request)(x, key, &statement, &err));
    answer_statement(x, &statement);
}

/* ---- requests that are signed ---- */

struct rc exchange_claim(struct exchange *x, const struct signature_claim **ret_claim, struct err *err)
{
    const struct json *given = NULL;
    TRY(json_want_object(x->body, "signature", &given, err));
    if (!given)
        return RC_OK;
    struct signature_claim *claim = arena_new(x->arena, struct signature_claim);
    TRY(signature_claim_read(x->arena, given, claim, err));
    *ret_claim = claim;
    return RC_OK;
}

/* The body as it was signed: without the signatures themselves. */
static struct str body_signed(struct exchange *x)
{
    JSON_SCOPE(buf, out, LIMIT_LARGE_BODY_BYTES);
    if (!x->body)
        return STR_NONE;
    json_open(&out, '{');
    for (const struct json *member = x->body->first; member; member = member->next)
        if (!str_is(member->key, "signature") && !str_is(member->key, "proof"))
            json_put_member(&out, member);
    json_close(&out, '}');
    return arena_str(x->arena, buf_str(&buf));
}

static struct statement request_statement(struct exchange *x)
{
    return statement_of_request(x->arena, gate_server_id(x->gate, x->arena), x->http->method, x->http->path,
                                body_signed(x));
}

/* Handles the request from its start again, now with a valid signature. */
static void key_used(struct op *op)
{
    struct exchange *x = op->owner;
    struct err err;
    x->waits_for_key = false;
    if (op->err) {
        exchange_fail(x, op->err);
        return;
    }
    EXCHANGE_TRY(x, auth_allow(x->token, x->route->right, &err));
    x->key_used = true;
    x->route->handle(x);
}

/* For requests that loosen something. The nonce is spent in the store first; then the handler runs again with
 * x->key_used. */
struct rc exchange_check_signed(struct exchange *x, bool needed, struct str *ret_signature, struct err *err)
{
    const struct signature_claim *claim = NULL;
    TRY(exchange_claim(x, &claim, err));
    if (!claim && needed && gate_signed(x->gate) != SIGNED_OFF)
        return err_set(err, ERR_SIGNATURE_REQUIRED,
                       "this loosens what agents may do, and needs a signature: do it on the page with a passkey, or "
                       "in a terminal with a key (`nod key create`)");
    if (!claim || x->key_used) {
        *ret_signature = x->signature;
        return RC_OK;
    }
    struct key_use *use = arena_new(x->arena, struct key_use);
    TRY(gate_check_signature(x->gate, x->arena, request_statement(x), claim, &x->signature, &use->counter, err));
    use->op = gate_op(x->arena, key_used, x);
    use->key = claim->key;
    use->nonce = claim->nonce;
    use->actor = x->actor;
    x->waits_for_key = true;
    gate_use_key(x->gate, use);
    return err_set(err, ERR_UNAVAILABLE, "the use of the signature is being kept");
}

/* ---- recovery codes ---- */

/* The hash of a recovery code, without the separators that people type. */
static struct str code_hash(struct exchange *x, struct str code)
{
    char letters[CODE_BYTES_MAX], hex[DIGEST_HEX_BYTES];
    size_t n = 0;
    for (size_t i = 0; i < code.n && n < sizeof letters; i++)
        if (code.p[i] != '-' && code.p[i] != ' ')
            letters[n++] = code.p[i] >= 'A' && code.p[i] <= 'Z' ? (char)(code.p[i] + 32) : code.p[i];
    struct digest digest = digest_of((struct str){letters, n});
    digest_hex(&digest, hex);
    return arena_str(x->arena, str_of(hex));
}

/* 80 random bits in four groups of four letters. */
static struct str code_new(struct exchange *x)
{
    static const char alphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";
    unsigned char bytes[CODE_CHARS];
    BUF_SCOPE(buf, CODE_BYTES_MAX);
    id_random(bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++) {
        if (i && i % 4 == 0)
            buf_putc(&buf, '-');
        buf_putc(&buf, alphabet[bytes[i] % 32]);
    }
    return arena_str(x->arena, buf_str(&buf));
}

/* The codes are in this answer only; the store has their digests. */
static void codes_kept(struct op *op)
{
    struct exchange *x = op->owner;
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    const struct str *codes = x->state;
    json_open(&out, '{');
    JSON_LIST(&out, "codes")
        for (size_t i = 0; i < CODES; i++)
            json_put_str(&out, codes[i]);
    json_close(&out, '}');
    exchange_answer(x, x->route->status, &buf);
}

/* The recovery codes must be signed by a key of the same person: without a key there is nothing to recover. */
void api_keys_recovery(struct exchange *x)
{
    struct str signature = STR_NONE, *codes = arena_array(x->arena, struct str, CODES);
    struct str *hashes = arena_array(x->arena, struct str, CODES);
    struct err err;
    EXCHANGE_TRY(x, exchange_check_signed(x, true, &signature, &err));
    EXCHANGE_REFUSE(x, str_empty(signature), ERR_CONFLICT,
                    "recovery codes are for whoever has a key: make one first");
    for (size_t i = 0; i < CODES; i++) {
        codes[i] = code_new(x);
        hashes[i] = code_hash(x, codes[i]);
    }
    x->state = codes;
    struct key_change *change = arena_new(x->arena, struct key_change);
    *change = (struct key_change){.op = exchange_op(x, codes_kept), .actor = x->actor,
                                  .data = DATA(x->arena, key_recovery, .person = token_person(x->actor),
                                               .codes = {hashes, CODES}, .signature = signature)};
    gate_change_key(x->gate, change);
}

/* Whether the request has one instead of a signature; then `ret_hash` is what is kept of it. */
static struct rc read_code(struct exchange *x, struct str *ret_hash, struct err *err)
{
    struct str code = STR_NONE;
    TRY(json_want_str(x->body, "recovery", CODE_BYTES_MAX, &code, err));
    if (str_empty(code))
        return RC_OK;
    *ret_hash = code_hash(x, code);
    if (!key_ring_recovers(gate_keys(x->gate), token_person(x->actor), *ret_hash))
        return err_set(err, ERR_SIGNATURE_REQUIRED, "this is not one of your recovery codes, or it was used");
    return RC_OK;
}

/* ---- a new key ---- */

/* The event was followed before `done` was called, so the ring of this node holds the key already. */
static void key_changed(struct op *op)
{
    struct exchange *x = op->owner;
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    const struct person_key *key = gate_keys(x->gate)->keys;
    while (key && !str_eq(key->id, x->params[0]))
        key = key->next;
    EXCHANGE_REFUSE(x, !key, ERR_INTERNAL, "the key was kept, but is not known here");
    ring_write_key(&out, key);
    exchange_answer(x, x->route->status, &buf);
}

static void change_key(struct exchange *x, struct str data)
{
    struct key_change *change = arena_new(x->arena, struct key_change);
    *change = (struct key_change){.op = exchange_op(x, key_changed), .actor = x->actor, .data = data};
    gate_change_key(x->gate, change);
}

/* A public key in the form that its kind has: from a browser, a file or an SSH key. */
static struct rc read_key(struct exchange *x, struct person_key *key, struct err *err)
{
    struct str kind = STR_NONE, spki = STR_NONE;
    unsigned char *bytes = (unsigned char *)arena_bytes(x->arena, PUBLIC_KEY_BYTES_MAX);
    size_t n = 0;
    TRY(json_want_str(x->body, "kind", LIMIT_NAME_BYTES, &kind, err));
    TRY(json_want_str(x->body, "name", KEY_NAME_BYTES_MAX, &key->name, err));
    TRY(json_want_str(x->body, "spki", BASE64_BYTES(PUBLIC_KEY_BYTES_MAX), &spki, err));
    TRY(json_want_str(x->body, "credential", CREDENTIAL_BYTES_MAX, &key->credential, err));
    TRY(json_want_str(x->body, "rpId", LIMIT_ID_BYTES, &key->rp_id, err));
    TRY(json_want_str(x->body, "origin", LIMIT_ID_BYTES, &key->origin, err));
    key->kind = key_kind_parse(kind);
    if (key->kind == KEY_KIND_NONE)
        return err_set(err, ERR_INVALID, "\"kind\" must be webauthn, ed25519 or sshsig");
    if (!base64_decode(spki, bytes, PUBLIC_KEY_BYTES_MAX, &n))
        return err_set(err, ERR_INVALID, "\"spki\" is not a public key in base 64");
    key->spki = (struct str){(const char *)bytes, n};
    enum key_algorithm algorithm = public_key_algorithm(key->spki);
    if (algorithm == KEY_NONE || (key->kind != KEY_KIND_WEBAUTHN && algorithm != KEY_EDDSA))
        return err_set(err, ERR_INVALID, "\"spki\" is not a public key of a kind that is accepted here");
    if (key->kind != KEY_KIND_WEBAUTHN)
        return RC_OK;
    if (str_empty(key->rp_id) || str_empty(key->credential))
        return err_set(err, ERR_INVALID, "a passkey has \"rpId\" and \"credential\"");
    return auth_check_passkey_page(x, key->origin, key->rp_id, err);
}

/* The new key signs for itself, so that nobody makes a key known that is not theirs. */
static struct rc read_proof(struct exchange *x, const struct person_key *key, struct str *ret_proof, struct err *err)
{
    const struct json *given = NULL;
    struct signature_claim claim;
    struct statement statement = request_statement(x);
    uint32_t counter;
    TRY(json_want_object(x->body, "proof", &given, err));
    if (!given)
        return err_set(err, ERR_INVALID, "\"proof\" is missing: the new key's own signature");
    TRY(signature_claim_read(x->arena, given, &claim, err));
    TRY(gate_check_issued(x->gate, &statement, &claim, err));
    struct str text = statement_text(x->arena, &statement);
    TRY(sign_check_signature(key, text, &claim, &counter, err));
    *ret_proof = sign_write_signature(x->arena, key, text, &claim);
    return RC_OK;
}

/* The first key of an installation stands for itself. Every later one needs a key that vouches for it, and has signed
 * this very request, or a recovery code: then it counts only after a while, in which any key can revoke it. */
void api_keys_add(struct exchange *x)
{
    struct person_key key = {0};
    struct str proof = STR_NONE, signature = STR_NONE, code = STR_NONE;
    struct err err;
    char *id = arena_bytes(x->arena, KEY_ID_BYTES), spki[BASE64_BYTES(PUBLIC_KEY_BYTES_MAX)];
    EXCHANGE_TRY(x, read_key(x, &key, &err));
    ring_key_id(key.spki, id);
    key.id = str_of(id);
    key.person = x->actor;
    base64_url_encode(key.spki.p, key.spki.n, spki);
    EXCHANGE_TRY(x, read_code(x, &code, &err));
    EXCHANGE_TRY(x, exchange_check_signed(x, str_empty(code), &signature, &err));
    EXCHANGE_TRY(x, read_proof(x, &key, &proof, &err));
    EXCHANGE_REFUSE(x, key_ring_find(gate_keys(x->gate), key.id), ERR_CONFLICT, "this key is known already");
    x->params[0] = key.id;
    if (!str_empty(code) && str_empty(signature)) {
        key.from_ms = clock_wall_ms() + gate_recovery_ms(x->gate);
        log_line(LOG_WARN, "a recovery code makes a key known; it counts after a while, and `nod key revoke` stops it",
                 LOG_S("person", key.person), LOG_S("key", key.id));
    }
    change_key(x, DATA(x->arena, key_added, .id = key.id, .person = key.person, .name = key.name,
                       .kind = str_of(key_kind_name(key.kind)), .spki = arena_str(x->arena, str_of(spki)),
                       .credential = key.credential, .rp_id = key.rp_id, .origin = key.origin, .proof = proof,
                       .from_ms = key.from_ms, .recovery = key.from_ms ? code : STR_NONE, .signature = signature));
}

/* `nod key reset`: root of the server's machine, at the socket of a server that runs as somebody else. A server that is
 * root's own cannot tell its owner from the agents. */
static bool is_reset(const struct exchange *x)
{
    uint32_t uid;
    int pid;
    return x->body && json_bool(x->body, "reset", false) && geteuid() != 0 && http_peer(x->http, &uid, &pid) &&
           uid == 0;
}

/* A key whose owner has lost it is revoked by root, or by an admin while `signed` is off, which only the server's
 * configuration can say; the event shows that nobody signed it. */
void api_keys_revoke(struct exchange *x)
{
    struct str signature = STR_NONE;
    struct err err;
    const struct person_key *key = key_ring_find(gate_keys(x->gate), x->params[0]);
    EXCHANGE_TRY(x, exchange_check_signed(x, !is_reset(x), &signature, &err));
    EXCHANGE_REFUSE(x, !key, ERR_NOT_FOUND, "there is no such key");
    if (!str_eq(token_person(key->person), token_person(x->actor)))
        EXCHANGE_TRY(x, auth_allow(x->token, (struct right){SCOPE_TOKENS, BOUND_NEVER}, &err));
    change_key(x, DATA(x->arena, key_revoked, .id = key->id, .reason = str_empty(signature) ? STR("reset") : STR_NONE,
                       .signature = signature));
}
