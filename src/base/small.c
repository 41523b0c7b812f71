/* A slab is aligned to its size, so that a thing's address names its slab. Slabs with room are in a list by size
 * class; a full one is in none. One empty slab of each class is kept, or a lone thing that comes and goes would take
 * its slab along each time. Slabs lie side by side in regions of their own, not in the heap: there each aligned block
 * leaves a hole of up to a slab in front of it, whose pages stay in use. */
#include "base/small.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/list.h"
#include "base/lock.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

enum {
    STEP = 16, FINE_BYTES = 512, FINE_CLASSES = FINE_BYTES / STEP, /* up to here one class for each step */
    WIDE_STEP = 64, CLASSES = FINE_CLASSES + (SMALL_BYTES_MAX - FINE_BYTES) / WIDE_STEP,
    SLAB_BYTES = 32 << 10,
    REGION_SLABS = 32, REGION_BYTES = REGION_SLABS * SLAB_BYTES,
    IDLE_SLABS = 8, /* so many that nobody uses keep their pages until small_trim */
};

/* Pages for slabs. One in which a slab is free is in the list `regions`. */
struct region {
    struct region *next;
    char *bytes;
    uint32_t free; /* a bit for each slab that nobody uses */
    uint32_t idle; /* of those, a bit for each that has pages; the others' are the system's */
};

struct slot {
    struct slot *next;
};

/* A block of equal slots. One with a free slot is in the list of its class; one that is empty goes back to its
 * region. */
struct slab {
    struct region *region;
    struct slab *next, *previous; /* of those with room */
    struct slot *free;
    unsigned class, room, used; /* room: slots in it */
    unsigned carved; /* slots that were given out at least once; the pages behind them are not touched yet */
    _Alignas(16) char slots[];
};

static struct region *regions;
static unsigned idle_count; /* bits in `idle` of all regions */
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

/* The first free slab of a region, if possible one that has pages. */
static struct slab *take_slab(void)
{
    if (!regions) {
        regions = heap_new(sizeof *regions);
        *regions = (struct region){.bytes = heap_pages(REGION_BYTES, SLAB_BYTES), .free = UINT32_MAX};
    }
    struct region *region = regions;
    unsigned at = (unsigned)__builtin_ctz(region->idle ? region->idle : region->free);
    idle_count -= region->idle >> at & 1;
    region->idle &= ~(UINT32_C(1) << at);
    region->free &= ~(UINT32_C(1) << at);
    if (!region->free)
        regions = region->next;
    struct slab *slab = (struct slab *)(void *)(region->bytes + (size_t)at * SLAB_BYTES);
    slab->region = region;
    return slab;
}

/* The pages of all free slabs of a region go back to the system, and the region itself unless it is the only one. */
static void empty_region(struct region *region)
{
    for (; region->idle; idle_count--, region->idle &= region->idle - 1)
        heap_pages_idle(region->bytes + (size_t)__builtin_ctz(region->idle) * SLAB_BYTES, SLAB_BYTES);
    if (region->free != UINT32_MAX || (regions == region && !region->next))
        return;
    LIST_REMOVE(regions, region);
    heap_pages_free(region->bytes, REGION_BYTES);
    free(region);
}

static void give_slab(struct slab *slab)
{
    struct region *region = slab->region;
    unsigned at = (unsigned)((size_t)((char *)slab - region->bytes) / SLAB_BYTES);
    if (!region->free) {
        region->next = regions;
        regions = region;
    }
    region->free |= UINT32_C(1) << at;
    region->idle |= UINT32_C(1) << at;
    if (++idle_count > IDLE_SLABS)
        empty_region(region);
}

void small_trim(void)
{
    LOCK_SCOPE(&mutex);
    for (struct region *region = regions, *next; region; region = next) {
        next = region->next;
        empty_region(region);
    }
}

static struct slab *add_slab(unsigned class)
{
    struct slab *slab = take_slab();
    *slab = (struct slab){.region = slab->region, .class = class,
                          .room = (unsigned)((SLAB_BYTES - sizeof *slab) / size_of(class))};
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

static void take_back(struct slab *slab, struct slot *slot)
{
    CHECK(slab->used > 0);
    if (slab->used == slab->room)
        link_slab(slab);
    slot->next = slab->free;
    slab->free = slot;
    if (--slab->used > 0)
        return;
    if (empty_count[slab->class] == 0) {
        empty_count[slab->class]++;
        return;
    }
    unlink_slab(slab);
    give_slab(slab);
}

void small_free(void *p, size_t bytes)
{
    if (!p || !is_small(bytes)) {
        free(p);
        return;
    }
    struct slab *slab = (struct slab *)((uintptr_t)p & ~(uintptr_t)(SLAB_BYTES - 1));
    LOCK_SCOPE(&mutex);
    CHECK(slab->class == class_of(bytes));
    take_back(slab, p);
}
