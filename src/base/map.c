/* Open addressing with linear probing, backward-shift deletion, at most 3/4 full; SipHash-1-3. */
#include "base/map.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/id.h"
#include "base/small.h"

#include <endian.h>
#include <pthread.h>
#include <stdlib.h>

/* Open addressing: a free slot ends a search, so that taking one out must close the gap. */
struct map_slot {
    uint64_t hash;
    char *key;
    size_t key_bytes;
    void *value; /* NULL: the slot is free */
};

static uint64_t seed[2];
static pthread_once_t seed_once = PTHREAD_ONCE_INIT;

static void make_seed(void) { id_random(seed, sizeof seed); }

static uint64_t rotate(uint64_t x, int bits) { return x << bits | x >> (64 - bits); }

/* Inline, so that the four words stay in registers. */
__attribute__((always_inline)) static inline void sip_round(uint64_t v[4])
{
    v[0] += v[1]; v[1] = rotate(v[1], 13) ^ v[0]; v[0] = rotate(v[0], 32);
    v[2] += v[3]; v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3]; v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1]; v[1] = rotate(v[1], 17) ^ v[2]; v[2] = rotate(v[2], 32);
}

/* SipHash-1-3 with a seed of the process: keys come from clients, who could otherwise choose ones that collide. */
uint64_t map_hash(struct str key)
{
    (void)pthread_once(&seed_once, make_seed);
    uint64_t v[4] = {seed[0] ^ 0x736f6d6570736575u, seed[1] ^ 0x646f72616e646f6du,
                     seed[0] ^ 0x6c7967656e657261u, seed[1] ^ 0x7465646279746573u};
    size_t whole = key.n & ~(size_t)7;
    uint64_t word;
    for (size_t i = 0; i < whole; i += 8) {
        memcpy(&word, key.p + i, 8);
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
    }
    uint64_t last = (uint64_t)key.n << 56;
    if (whole && whole < key.n) { /* reads the last eight bytes and shifts out those that were hashed already */
        memcpy(&word, key.p + key.n - 8, 8);
        last |= le64toh(word) >> (8 * (8 - (key.n - whole)));
    } else {
        for (size_t i = whole; i < key.n; i++)
            last |= (uint64_t)(unsigned char)key.p[i] << (8 * (i - whole));
    }
    word = last;
    v[3] ^= word;
    sip_round(v);
    v[0] ^= word;
    v[2] ^= 0xff;
    sip_round(v);
    sip_round(v);
    sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* The slot of this key, or the free one where it would go. */
static struct map_slot *find(const struct map *map, struct str key, uint64_t hash)
{
    size_t mask = map->cap - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        struct map_slot *slot = &map->slots[i];
        if (!slot->value)
            return slot;
        if (slot->hash == hash && str_eq((struct str){slot->key, slot->key_bytes}, key))
            return slot;
    }
}

/* How many slots that were found last a map remembers: twice as many as it has, up to 256. */
static size_t found_count(size_t cap) { return cap < 128 ? 2 * cap : 256; }

/* Where the slot of this key is remembered. Keys of one kind differ at their end. Two that meet here, which may be
 * crafted, only cost each other the short way. */
static uint32_t *found_at(const struct map *map, struct str key)
{
    uint64_t end = key.n;
    if (key.n >= sizeof end)
        memcpy(&end, key.p + key.n - sizeof end, sizeof end);
    return &map->found[(end * 0x9e3779b97f4a7c15u) >> 56 & (found_count(map->cap) - 1)];
}

static __attribute__((noinline)) struct map_slot *seek_by_hash(const struct map *map, struct str key)
{
    struct map_slot *slot = find(map, key, map_hash(key));
    if (!slot->value)
        return NULL;
    __atomic_store_n(found_at(map, key), (uint32_t)(slot - map->slots), __ATOMIC_RELAXED);
    return slot;
}

static inline uint64_t load_8(const char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

/* As str_eq, without a call: keys are ids, mostly 20 to 60 bytes. The last eight bytes overlap those before. */
static inline bool same_key(struct str a, struct str b)
{
    if (a.n != b.n || a.n < 8)
        return str_eq(a, b);
    for (size_t i = 0; i < a.n - 8; i += 8)
        if (load_8(a.p + i) != load_8(b.p + i))
            return false;
    return load_8(a.p + a.n - 8) == load_8(b.p + a.n - 8);
}

/* The slot of this key, or NULL. One that was found a moment ago is tried first, without a hash: what happens to the
 * calls of a few agents looks the same few keys up again and again. Threads may read one map at once, so that a number
 * is read and written whole. */
static inline struct map_slot *seek(const struct map *map, struct str key)
{
    if (!map->count)
        return NULL;
    struct map_slot *slot = &map->slots[__atomic_load_n(found_at(map, key), __ATOMIC_RELAXED)];
    if (slot->value && same_key((struct str){slot->key, slot->key_bytes}, key))
        return slot;
    return seek_by_hash(map, key);
}

/* At three quarters full. Keys move with their slots and are not copied. */
static void grow(struct map *map)
{
    struct map bigger = {.cap = map->cap ? map->cap * 2 : 16, .count = map->count};
    CHECK(bigger.cap <= UINT32_MAX);
    bigger.slots = heap_new(bigger.cap * sizeof *bigger.slots + found_count(bigger.cap) * sizeof *bigger.found);
    bigger.found = (uint32_t *)(void *)(bigger.slots + bigger.cap);
    for (size_t i = 0; i < map->cap; i++) {
        struct map_slot *old = &map->slots[i];
        if (old->value)
            *find(&bigger, (struct str){old->key, old->key_bytes}, old->hash) = *old;
    }
    free(map->slots);
    *map = bigger;
}

void *map_get_hashed(const struct map *map, struct str key, uint64_t hash)
{
    return map->count ? find(map, key, hash)->value : NULL;
}

void *map_get(const struct map *map, struct str key)
{
    struct map_slot *slot = seek(map, key);
    return slot ? slot->value : NULL;
}

/* The key is copied, the value is not owned. Returns the value that was there before, which the caller may have to
 * free. */
void *map_put_hashed(struct map *map, struct str key, uint64_t hash, void *value)
{
    CHECK(value);
    if (map->count >= map->cap / 4 * 3)
        grow(map);
    struct map_slot *slot = find(map, key, hash);
    void *before = slot->value;
    if (!before) {
        slot->hash = hash;
        slot->key = small_bytes(key.n);
        if (key.n)
            memcpy(slot->key, key.p, key.n);
        slot->key_bytes = key.n;
        map->count++;
    }
    __atomic_store_n(found_at(map, key), (uint32_t)(slot - map->slots), __ATOMIC_RELAXED);
    slot->value = value;
    return before;
}

void *map_put(struct map *map, struct str key, void *value) { return map_put_hashed(map, key, map_hash(key), value); }

/* Moves later members of the probe run into the gap at `gap`. */
static void close_gap(struct map *map, size_t gap)
{
    size_t mask = map->cap - 1;
    for (size_t i = (gap + 1) & mask; map->slots[i].value; i = (i + 1) & mask) {
        size_t home = map->slots[i].hash & mask;
        if (((i - home) & mask) < ((i - gap) & mask))
            continue;
        map->slots[gap] = map->slots[i];
        gap = i;
    }
    map->slots[gap] = (struct map_slot){0};
}

/* The value is the caller's again. Entries may move: do not take while walking with map_next. */
void *map_take(struct map *map, struct str key)
{
    struct map_slot *slot = seek(map, key);
    if (!slot)
        return NULL;
    void *value = slot->value;
    small_free(slot->key, slot->key_bytes);
    map->count--;
    close_gap(map, (size_t)(slot - map->slots));
    return value;
}

void map_done(struct map *map)
{
    for (size_t i = 0; i < map->cap; i++)
        small_free(map->slots[i].key, map->slots[i].key_bytes);
    free(map->slots);
    *map = (struct map){0};
}

bool map_next(const struct map *map, struct map_entry *entry)
{
    while (entry->at < map->cap) {
        struct map_slot *slot = &map->slots[entry->at++];
        if (slot->value) {
            entry->key = (struct str){slot->key, slot->key_bytes};
            entry->value = slot->value;
            return true;
        }
    }
    return false;
}

void map_free_values(struct map *map)
{
    MAP_EACH(map, each)
        free(each.value);
    map_done(map);
}
