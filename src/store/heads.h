/* The heads of the chains in memory, so that an append need not look them up: what was last kept of a
 * session. Bounded; a head that was changed stays until it is written. A zeroed cache is empty. */
#ifndef STORE_HEADS_H
#define STORE_HEADS_H

#include "base/digest.h"
#include "base/map.h"

struct head {
    uint64_t first_seq;     /* 0: the session has no event yet */
    uint64_t last_seq;
    uint64_t changed_seq;   /* of its last SESSION_CHANGED, 0: none */
    uint64_t archived_seq;  /* of its SESSION_ARCHIVED, 0: it is all here */
    struct digest hash;     /* of its last event, zeros: none */
    bool stored;            /* the backend has a row of it */
    bool dirty;             /* differs from that row: on the list of heads_dirty */
    bool recent;
    struct head *next_dirty;
    size_t session_bytes;
    char session[];
};

struct heads {
    struct map by_session;
    struct head **ring;     /* of all, for eviction by the clock's hand */
    size_t count;
    size_t cap;
    size_t hand;
    struct head *dirty;
};

static inline struct str head_session(const struct head *head)
{
    return (struct str){head->session, head->session_bytes};
}

/* NULL when it is not known here. */
struct head *heads_get(struct heads *heads, struct str session);
/* A new, zeroed one; the session must not be there yet. */
struct head *heads_add(struct heads *heads, struct str session);
void heads_touch(struct heads *heads, struct head *head);
/* The changed ones are written: they are clean and stored. */
void heads_written(struct heads *heads);
/* Forgets everything. */
void heads_clear(struct heads *heads);

#endif
