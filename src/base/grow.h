/* Arrays that grow in an arena. The smaller ones stay there until the arena is given back: twice the memory at most. */
#ifndef BASE_GROW_H
#define BASE_GROW_H

#include "base/arena.h"

/* Makes room for one more item in an array of `room`, of which `count` are used; changes `items` and `room`. */
#define ARENA_GROW(arena, items, count, room)                                               \
    do {                                                                                    \
        if ((count) == (room)) {                                                            \
            (room) = (room) ? 2 * (room) : 4;                                               \
            void *larger_items = arena_alloc_many((arena), sizeof *(items), (room));        \
            if (count)                                                                      \
                memcpy(larger_items, (items), (count) * sizeof *(items));                   \
            (items) = larger_items;                                                         \
        }                                                                                   \
    } while (0)

#endif
