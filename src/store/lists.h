/* Lists of appends and reads, in the order they came; an item is in one list at a time. */
#ifndef STORE_LISTS_H
#define STORE_LISTS_H

#include "store/store.h"

struct append_list {
    struct append *first;
    struct append **end;
};

struct read_list {
    struct read *first;
    struct read **end;
};

static inline void append_list_clear(struct append_list *list) { *list = (struct append_list){NULL, &list->first}; }
static inline void read_list_clear(struct read_list *list) { *list = (struct read_list){NULL, &list->first}; }

static inline void append_list_add(struct append_list *list, struct append *first, struct append **end)
{
    *list->end = first;
    list->end = end;
    *end = NULL;
}

static inline void read_list_add(struct read_list *list, struct read *read)
{
    *list->end = read;
    list->end = &read->next;
    read->next = NULL;
}

static inline struct append *append_list_take(struct append_list *list)
{
    struct append *first = list->first;
    append_list_clear(list);
    return first;
}

static inline struct read *read_list_take(struct read_list *list)
{
    struct read *first = list->first;
    read_list_clear(list);
    return first;
}

#endif
