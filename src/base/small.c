/* A slab is aligned to its size, so that a thing's address names its slab. Slabs with room are in a list by size
 * class; a full one is in none. One empty slab of each class is kept, or a lone thing that comes and goes would take
 * its slab along each time. */
#include "base/small.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/lock.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

enum {
    STEP = 16, FINE_BYTES = 512, FINE_CLASSES = FINE_BYTES / STEP, /* up to here one class for each step */
    WIDE_STEP = 64, CLASSES = FINE_CLASSES + (SMALL_BYTES_MAX - FINE_BYTES) / WIDE_STEP,
    SLAB_BYTES = 32 << 10,
    HEAP_OWN_BYTES = 16, /* what the heap has before each block: with it a slab is as long as the step between two */
};

struct slot {
    struct slot *next;
};

/* A block of equal slots. One with a free slot is in the list of its class; one that is empty goes back to the
 * heap. */
struct slab {
    struct slab *next, *previous; /* of those with room */
    struct slot *free;
    unsigned class, room, used; /* room: slots in it */
    unsigned carved; /* slots that were given out at least once; the pages behind them are not touched yet */
    _Alignas(16) char slots[];
};

static struct slab *with_room[CLASSES];
static unsigned empty_count[CLASSES];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool sanitized = true; /* each object is allocated separately, so that the sanitizer sees it */
#else
static const bool sanitized = false;
#endif

static bool is_small(size_t bytes) { return !sanitized && bytes <= SMALL_BYTES_MAX; }

static unsigned class_of(size_t bytes)
{
    if (bytes > FINE_BYTES)
        return FINE_CLASSES + (unsigned)((bytes - 1 - FINE_BYTES) / WIDE_STEP);
    return bytes ? (unsigned)((bytes - 1) / STEP) : 0;
}

static size_t size_of(unsigned class)
{
    return class < FINE_CLASSES ? (size_t)(class + 1) * STEP
                                : FINE_BYTES + (size_t)(class + 1 - FINE_CLASSES) * WIDE_STEP;
}

static void link_slab(struct slab *slab)
{
    struct slab **first = &with_room[slab->class];
    slab->previous = NULL;
    slab->next = *first;
    if (*first)
        (*first)->previous = slab;
    *first = slab;
}

static void unlink_slab(struct slab *slab)
{
    if (slab->next)
        slab->next->previous = slab->previous;
    if (slab->previous)
        slab->previous->next = slab->next;
    else
        with_room[slab->class] = slab->next;
}

static struct slab *add_slab(unsigned class)
{
    enum { BYTES = SLAB_BYTES - HEAP_OWN_BYTES };
    struct slab *slab = heap_aligned(SLAB_BYTES, BYTES);
    *slab = (struct slab){.class = class, .room = (unsigned)((BYTES - sizeof *slab) / size_of(class))};
    empty_count[class]++;
    link_slab(slab);
    return slab;
}

void *small_bytes(size_t bytes)
{
    if (!is_small(bytes))
        return heap_grow(NULL, bytes);
    unsigned class = class_of(bytes);
    LOCK_SCOPE(&mutex);
    struct slab *slab = with_room[class] ? with_room[class] : add_slab(class);
    struct slot *slot = slab->free;
    if (slot)
        slab->free = slot->next;
    else
        slot = (struct slot *)(void *)(slab->slots + slab->carved++ * size_of(class));
    if (slab->used++ == 0)
        empty_count[class]--;
    if (slab->used == slab->room)
        unlink_slab(slab);
    return slot;
}

void *small_new(size_t bytes) { return memset(small_bytes(bytes), 0, bytes); }

/* Frees the slot. Returns the slab when it has become empty and must be freed, else NULL. */
static struct slab *take_back(struct slab *slab, struct slot *slot)
{
    CHECK(slab->used > 0);
    if (slab->used == slab->room)
        link_slab(slab);
    slot->next = slab->free;
    slab->free = slot;
    if (--slab->used > 0)
        return NULL;
    if (empty_count[slab->class] == 0) {
        empty_count[slab->class]++;
        return NULL;
    }
    unlink_slab(slab);
    return slab;
}

void small_free(void *p, size_t bytes)
{
    if (!p || !is_small(bytes)) {
        free(p);
        return;
    }
    struct slab *slab = (struct slab *)((uintptr_t)p & ~(uintptr_t)(SLAB_BYTES - 1));
    CHECK(pthread_mutex_lock(&mutex) == 0);
    CHECK(slab->class == class_of(bytes));
    struct slab *empty = take_back(slab, p);
    CHECK(pthread_mutex_unlock(&mutex) == 0);
    free(empty);
}
