/* The public keys of people, read from the installation's events. */
#include "sign/sign.h"

#include "base/base64.h"
#include "base/list.h"
#include "base/public_key.h"
#include "event/shapes.h"
#include "event/token.h"

static const struct {
    enum key_kind kind;
    const char *wire;
} kinds[] = {
#define X(name, wire) {KEY_KIND_##name, wire},
    KEY_KINDS(X)
#undef X
};

enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

enum key_kind key_kind_parse(struct str name)
{
    return ROW_VALUE(kinds, row, str_is(name, row->wire), row->kind, KEY_KIND_NONE);
}

const char *key_kind_name(enum key_kind kind)
{
    return ROW_VALUE(kinds, row, row->kind == kind, row->wire, "none");
}

void ring_key_id(struct str spki, char id[KEY_ID_BYTES])
{
    char hex[DIGEST_HEX_BYTES];
    struct digest digest = digest_of(spki);
    digest_hex(&digest, hex);
    memcpy(id, hex, KEY_ID_BYTES - 1);
    id[KEY_ID_BYTES - 1] = '\0';
}

static struct person_key *find_any(const struct key_ring *ring, struct str id)
{
    return LIST_FIND(ring->keys, key, str_eq(key->id, id));
}

/* The newest of that id: a key that was revoked may be added again. */
struct person_key *key_ring_find(const struct key_ring *ring, struct str id)
{
    struct person_key *key = find_any(ring, id);
    return key && !key->revoked_seq ? key : NULL;
}

const struct person_key *key_ring_at(const struct key_ring *ring, struct str id, uint64_t seq)
{
    return LIST_FIND(ring->keys, key,
                     str_eq(key->id, id) && key->added_seq < seq && (!key->revoked_seq || key->revoked_seq > seq));
}

/* ---- recovery codes ---- */

struct recovery_code {
    struct str person, hash;
    struct recovery_code *next;
};

bool key_ring_recovers(const struct key_ring *ring, struct str person, struct str hash)
{
    return ANY(const struct recovery_code *code = ring->codes; code; code = code->next,
               str_eq(code->person, person) && str_eq(code->hash, hash));
}

/* Removes a person's recovery codes: all of them, or the one with this hash. */
static void drop_codes(struct key_ring *ring, struct str person, struct str hash)
{
    struct recovery_code **at = &ring->codes;
    while (*at) {
        if (str_eq((*at)->person, person) && (str_empty(hash) || str_eq((*at)->hash, hash)))
            *at = (*at)->next;
        else
            at = &(*at)->next;
    }
}

/* New codes replace all old ones of the person. */
static void take_recovery(struct key_ring *ring, const struct event *event)
{
    ARENA_SCOPE(scratch);
    struct data_key_recovery data;
    if (!READ_DATA(&scratch, key_recovery, event->data, &data))
        return;
    drop_codes(ring, data.person, STR_NONE);
    for (size_t i = 0; i < data.codes.count; i++) {
        struct recovery_code *code = arena_new(&ring->arena, struct recovery_code);
        *code = (struct recovery_code){arena_str(&ring->arena, data.person),
                                       arena_str(&ring->arena, data.codes.items[i]), ring->codes};
        ring->codes = code;
    }
}

/* ---- keys ---- */

/* The id is the digest of the key: an event that says otherwise is ignored. */
static void take_added(struct key_ring *ring, const struct event *event)
{
    ARENA_SCOPE(scratch);
    struct data_key_added data;
    unsigned char spki[PUBLIC_KEY_BYTES_MAX];
    char id[KEY_ID_BYTES];
    size_t n = 0;
    if (!READ_DATA(&scratch, key_added, event->data, &data) || key_ring_find(ring, data.id) ||
        !base64_decode(data.spki, spki, sizeof spki, &n))
        return;
    ring_key_id((struct str){(const char *)spki, n}, id);
    if (!str_is(data.id, id)) /* an id must always stand for the same key */
        return;
    struct person_key *key = arena_new(&ring->arena, struct person_key);
    *key = (struct person_key){
        .id = arena_str(&ring->arena, data.id),
        .person = arena_str(&ring->arena, data.person),
        .name = arena_str(&ring->arena, data.name),
        .credential = arena_str(&ring->arena, data.credential),
        .rp_id = arena_str(&ring->arena, data.rp_id),
        .origin = arena_str(&ring->arena, data.origin),
        .spki = arena_str(&ring->arena, (struct str){(const char *)spki, n}),
        .kind = key_kind_parse(data.kind),
        .added_seq = event->seq,
        .added_ms = event->at_ms,
        .from_ms = data.from_ms,
        .next = ring->keys,
    };
    ring->keys = key;
    ring->active++;
    if (!str_empty(data.recovery))
        drop_codes(ring, token_person(data.person), data.recovery);
}

static void take_revoked(struct key_ring *ring, const struct event *event)
{
    ARENA_SCOPE(scratch);
    struct data_key_revoked data;
    struct person_key *key = NULL;
    if (READ_DATA(&scratch, key_revoked, event->data, &data))
        key = key_ring_find(ring, data.id);
    if (!key)
        return;
    key->revoked_seq = event->seq;
    key->revoked_ms = event->at_ms;
    ring->active--;
}

/* A nonce that was used is remembered, so that a statement counts once; a counter only grows. */
static void take_used(struct key_ring *ring, const struct event *event)
{
    ARENA_SCOPE(scratch);
    struct data_key_used data;
    if (!READ_DATA(&scratch, key_used, event->data, &data))
        return;
    struct person_key *key = find_any(ring, data.id);
    if (key && data.counter > key->counter && data.counter <= UINT32_MAX)
        key->counter = (uint32_t)data.counter;
    if (!str_empty(data.nonce))
        (void)map_put(&ring->spent, data.nonce, ring);
}

bool key_ring_spent(const struct key_ring *ring, struct str nonce) { return map_get(&ring->spent, nonce) != NULL; }

/* The state at an event's seq is that of all events before it; `nod verify` uses the same function. */
void key_ring_follow(struct key_ring *ring, const struct event *event)
{
    if (event->kind != EVENT_TOKEN_CHANGED)
        return;
    struct str change = shape_change(event->data);
    if (str_is(change, "key_added"))
        take_added(ring, event);
    else if (str_is(change, "key_used"))
        take_used(ring, event);
    else if (str_is(change, "key_revoked"))
        take_revoked(ring, event);
    else if (str_is(change, "key_recovery"))
        take_recovery(ring, event);
}

void key_ring_done(struct key_ring *ring)
{
    map_done(&ring->spent);
    arena_done(&ring->arena);
}

static void put_set(struct json_out *out, const char *name, struct str value)
{
    if (!str_empty(value))
        json_member(out, name, value);
}

void ring_write_key(struct json_out *out, const struct person_key *key)
{
    char spki[BASE64_BYTES(PUBLIC_KEY_BYTES_MAX)];
    base64_url_encode(key->spki.p, key->spki.n, spki);
    json_open(out, '{');
    json_members(out, J("id", key->id), J("person", key->person));
    put_set(out, "name", key->name);
    json_members(out, J("kind", key_kind_name(key->kind)), J("spki", spki));
    put_set(out, "credential", key->credential);
    put_set(out, "rpId", key->rp_id);
    json_members(out, J_TIME("addedAt", key->added_ms), J_IF(key->from_ms, J_TIME("validFrom", key->from_ms)),
                 J_IF(key->revoked_ms, J_TIME("revokedAt", key->revoked_ms)));
    json_close(out, '}');
}
