/* struct map: from bytes to a pointer. Keys are copied; the hash is seeded per process, so that keys
 * from outside cannot be crafted to collide. A zeroed map is empty and ready. */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/str.h"

#include <stdint.h>

struct map_slot;

/* Keys are copied, values belong to the caller. A zeroed struct is an empty map; map_done frees the keys. */
struct map {
    struct map_slot *slots;
    size_t cap;
    size_t count;
    uint32_t *found; /* behind the slots: those that were found last */
};

void *map_get(const struct map *map, struct str key);
/* Puts or replaces; returns what was there before, or NULL. `value` must not be NULL. */
void *map_put(struct map *map, struct str key, void *value);
/* Removes the key and returns its value, or NULL. */
void *map_take(struct map *map, struct str key);
void map_done(struct map *map);
/* For values that are on the heap. */
void map_free_values(struct map *map);
struct map_entry {
    struct str key;
    void *value;
    size_t at; /* of map_next */
};
/* Walks in no order: start with an empty entry; false at the end. The map must not change meanwhile. */
bool map_next(const struct map *map, struct map_entry *entry);
#define MAP_EACH(map, entry) for (struct map_entry entry = {0}; map_next(map, &(entry));)

uint64_t map_hash(struct str key);
/* map_get and map_put for a caller that looks up one key several times and has computed its map_hash once. */
void *map_get_hashed(const struct map *map, struct str key, uint64_t hash);
void *map_put_hashed(struct map *map, struct str key, uint64_t hash, void *value);

#endif
