/* Signatures of people: when they are needed, and whether they hold. Keys are events of the installation, like tokens.
 *
 * Every answer passes gate_decide, so it is there that a signature is asked for, whichever way the answer came. */
#include "gate/core/core.h"
#include "gate/inner.h"

#include "base/hex.h"
#include "base/sign.h"
#include "event/shapes.h"
#include "event/token.h"
#include "io/clock.h"

#define KEY_UNKNOWN "the key that signed is not known here, or was revoked"

static const char *const when_names[] = {
#define X(name, wire) [SIGNED_##name] = (wire),
    SIGNED_WHEN(X)
#undef X
};

const char *signed_when_name(enum signed_when when) { return when_names[when]; }

const struct key_ring *gate_keys(const struct gate *gate) { return &gate->keys; }

enum signed_when gate_signed(const struct gate *gate)
{
    return gate->keys.active && gate->options.key ? gate->options.signed_when : SIGNED_OFF;
}

int64_t gate_recovery_ms(const struct gate *gate) { return gate->options.recovery_seconds * 1000; }

struct str gate_server_id(const struct gate *gate, struct arena *arena)
{
    char hex[2 * SIGN_PUBLIC_BYTES + 1];
    struct sign_public public = sign_public_of(gate->options.key);
    hex_write(public.bytes, SIGN_PUBLIC_BYTES, hex);
    return arena_str(arena, str_of(hex));
}

static struct digest statement_secret(const struct gate *gate)
{
    return sign_key_secret(gate->options.key, STR("nod-statements-v1"));
}

void gate_issue(const struct gate *gate, struct arena *arena, struct statement *statement)
{
    struct digest secret = statement_secret(gate);
    statement->until_ms = clock_wall_ms() + STATEMENT_MINUTES * 60000;
    statement_issue(statement, arena, &secret);
}

/* The statement must be one that this server has issued, for this very answer, and not too long ago. */
struct rc gate_check_issued(const struct gate *gate, struct statement *statement, const struct signature_claim *claim,
                            struct err *err)
{
    struct digest secret = statement_secret(gate);
    statement->key = claim->key;
    statement->nonce = claim->nonce;
    statement->until_ms = claim->until_ms;
    if (!statement_issued(statement, &secret))
        return err_set(err, ERR_SIGNATURE_REQUIRED, "what was signed is not what was sent");
    if (claim->until_ms < clock_wall_ms())
        return err_set(err, ERR_SIGNATURE_REQUIRED, "the signature came too late; sign again");
    return RC_OK;
}

/* ret_signature is kept with the answer: everything that is needed to verify it later without this server. */
struct rc gate_check_signature(struct gate *gate, struct arena *arena, struct statement statement,
                               const struct signature_claim *claim, struct str *ret_signature,
                               uint32_t *ret_counter, struct err *err)
{
    const struct person_key *key = key_ring_find(&gate->keys, claim->key);
    if (!key)
        return err_set(err, ERR_SIGNATURE_REQUIRED, KEY_UNKNOWN);
    if (key->from_ms > clock_wall_ms())
        return err_set(err, ERR_SIGNATURE_REQUIRED,
                       "this key was added with a recovery code and cannot sign yet; `nod key list` says from when");
    TRY(gate_check_issued(gate, &statement, claim, err));
    struct str text = statement_text(arena, &statement);
    if (rc_bad(sign_check_signature(key, text, claim, ret_counter, err)))
        return (struct rc){err->code = ERR_SIGNATURE_REQUIRED};
    *ret_signature = sign_write_signature(arena, key, text, claim);
    return RC_OK;
}

/* ---- decisions ---- */

/* The mode holds for the calls that follow, whether this one is allowed or denied. */
static bool loosens_mode(const struct decide *d)
{
    return !str_empty(d->mode) && !str_is(d->mode, "default") && !str_is(d->mode, "plan");
}

/* Whether the setting `signed` wants a signature. Answers that make rules or loosen a mode always count as risky. */
static bool wanted(const struct gate *gate, const struct decide *d, const struct open *open)
{
    bool once = d->decision == DECISION_ALLOW_ONCE;
    bool makes_rules = d->decision == DECISION_ALLOW_SESSION || d->decision == DECISION_ALLOW_ALWAYS;
    switch (gate_signed(gate)) {
    case SIGNED_OFF:
        return false;
    case SIGNED_ALL:
        return once || makes_rules || loosens_mode(d);
    case SIGNED_RISKY:
        break;
    }
    return makes_rules || loosens_mode(d) || (once && (!open->routine || d->updated_input));
}

static struct statement decision_statement(const struct gate *gate, struct arena *arena, const struct decide *d,
                                  const struct open *open)
{
    const struct decision_facts facts = {
        .server = gate_server_id(gate, arena), .session = open->session, .call = open->call, .digest = open->digest,
        .decision = str_of(decision_name(d->decision)), .mode = d->mode, .scope = core_reach_name(d),
        .rules_end_ms = d->rules_end_ms, .rules_uses = d->rules_uses,
        .rules = d->rules, .input = d->updated_input ? d->updated_input->raw : STR_NONE, .feedback = d->feedback};
    return statement_of_decision(arena, &facts);
}

/* Called when the answer is checked and again when it is judged: a key may be revoked in between. */
struct rc signed_check(struct gate *gate, struct decide *d, const struct open *open, struct err *err)
{
    if (!str_empty(d->signature)) /* the signature was checked before; the key may have been revoked since */
        return key_ring_find(&gate->keys, d->claim->key) ? RC_OK : err_set(err, ERR_SIGNATURE_REQUIRED, KEY_UNKNOWN);
    if (d->claim)
        return gate_check_signature(gate, d->op.arena, decision_statement(gate, d->op.arena, d, open), d->claim,
                                    &d->signature, &d->counter, err);
    if (!wanted(gate, d, open))
        return RC_OK;
    return err_set(err, ERR_SIGNATURE_REQUIRED,
                   "this needs a signature: answer on the page with a passkey, or with `nod approve` and a key");
}

struct str signed_person(const struct gate *gate, const struct decide *d)
{
    const struct person_key *key = str_empty(d->signature) ? NULL : key_ring_find(&gate->keys, d->claim->key);
    return token_person(key ? key->person : d->actor);
}

struct rc gate_decision_statement(struct gate *gate, const struct decide *d, struct str key,
                                  struct statement *ret, struct err *err)
{
    const struct open *open = open_find(gate, d->session, d->call_id);
    if (!open)
        return err_set(err, ERR_NOT_FOUND, "there is no such call that waits");
    if (!str_empty(d->digest) && !str_eq(d->digest, open->digest))
        return err_set(err, ERR_CONFLICT, "the request has changed since you saw it; look at it again");
    *ret = decision_statement(gate, d->op.arena, d, open);
    ret->key = key;
    gate_issue(gate, d->op.arena, ret);
    return RC_OK;
}

/* ---- a signature is used once ---- */

static void spend(struct key_use *use);

static void spent(struct append *append)
{
    struct key_use *use = append->arg;
    enum append_outcome outcome = append->outcome;
    if (outcome == APPEND_FAILED)
        gate_op_take(&use->op, &append->err);
    append_free(append);
    if (outcome == APPEND_REFUSED) /* keys, tokens or rules have changed: perhaps by this very nonce at another node */
        spend(use);
    else
        op_end(&use->op);
}

/* Marks the nonce as used, in one append with the need that no key, token or rule has changed. A second use of
 * the same signature, also at another node, is refused by that. */
static void spend(struct key_use *use)
{
    struct gate *gate = use->op.gate;
    if (key_ring_spent(&gate->keys, use->nonce) || !key_ring_find(&gate->keys, use->key)) {
        (void)err_set(gate_op_fail(&use->op), ERR_SIGNATURE_REQUIRED, "this signature was used already; sign again");
        op_end(&use->op);
        return;
    }
    struct append *append = append_new();
    struct arena *arena = &append->arena;
    append_need(append, tokens_installation_unchanged(gate));
    (void)append_event(append, (struct event){
        .kind = EVENT_TOKEN_CHANGED,
        .at_ms = clock_wall_ms(),
        .actor = arena_str(arena, use->actor),
        .data = DATA(arena, key_used, .id = use->key, .nonce = use->nonce, .counter = use->counter),
    });
    append->done = spent;
    append->arg = use;
    store_append(gate->store, append);
}

void gate_use_key(struct gate *gate, struct key_use *use)
{
    use->op.gate = gate;
    spend(use);
}

/* ---- keys ---- */

/* Stores a change of keys, under the need that keys, tokens and rules are those that its signature was checked with. */
void gate_change_key(struct gate *gate, struct key_change *change)
{
    change->kept.need = tokens_installation_unchanged(gate);
    change->kept.refused = "keys, tokens or rules have changed meanwhile; try again";
    op_keep(gate, &change->kept, (struct event){.kind = EVENT_TOKEN_CHANGED, .actor = change->actor,
                                                .data = change->data});
}
