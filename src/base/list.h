/* Lists whose items hold their link in a member `next`. Macros, so that they fit items of any type. */
#ifndef BASE_LIST_H
#define BASE_LIST_H

/* Puts an item whose `next` is NULL behind the last one of a list with `first` and `last`. */
#define LIST_ADD(list, item)             \
    do {                                 \
        if ((list)->last)                \
            (list)->last->next = (item); \
        else                             \
            (list)->first = (item);      \
        (list)->last = (item);           \
    } while (0)

/* Takes an item out of the list that begins with `first`; it must be there. */
#define LIST_REMOVE(first, item)                    \
    do {                                            \
        __typeof__(first) *link_of_item = &(first); \
        while (*link_of_item != (item))             \
            link_of_item = &(*link_of_item)->next;  \
        *link_of_item = (item)->next;               \
    } while (0)

/* The first item of a list for which the condition on `item` holds; NULL when there is none. */
#define LIST_FIND(first, item, condition) \
    __extension__({ \
        __typeof__((first) + 0) item = (first); \
        while (item && !(condition)) \
            item = item->next; \
        item; \
    })

#endif
