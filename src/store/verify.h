/* Shared by the backends' `verify`: events recomputed one by one, and what must agree with them compared.
 *
 * The backend walks its tables in this order and hands over what it finds: the numbers that left for archives
 * (before the events they surround), events by seq, then the heads of the chains. The first thing that is
 * wrong is blamed, and all that follows is passed over.
 */
#ifndef STORE_VERIFY_H
#define STORE_VERIFY_H

#include "base/map.h"
#include "store/backend.h"

/* The state of a walk over a whole store. */
struct verifier {
    struct store_check *check;
    bool archive;            /* checking an archive: chains are whole, but the sequence numbers have gaps */
    struct map links;        /* session → struct chain_link */
    uint64_t next_seq;
    uint64_t gone;           /* archived seqs, counted from ranges; said_gone: from SESSION_ARCHIVED events */
    uint64_t said_gone;
    uint64_t archived_calls; /* calls archived according to SESSION_ARCHIVED events */
    uint64_t ungrouped_seq;  /* groups cover the events after this one; UINT64_MAX: there are none */
    struct digest_sum *sum;  /* hash over the group before and the links since; NULL: not known, some are archived */
};

/* An event together with its stored columns. */
struct filed_event {
    struct event event;
    const struct digest *hash; /* NULL: it has none */
    const struct digest *group; /* link of the group that ends with it; NULL: none does */
    int64_t chain, call_seq;   /* 0: NULL */
};

struct filed_head {
    struct str session;
    uint64_t first_seq, last_seq, changed_seq, archived_seq, no;
    const struct digest *hash; /* NULL: it has none */
};

void verifier_init(struct verifier *verifier, struct store_check *ret_check);
/* Groups cover the events after `first_seq`, the smallest `last_seq` among them. Without this call there are no groups.
 * */
void verifier_groups(struct verifier *verifier, uint64_t first_seq);
void verifier_done(struct verifier *verifier);
__attribute__((format(printf, 3, 4))) void verifier_blame(struct verifier *verifier, int64_t seq,
                                                          const char *format, ...);
bool verifier_blamed(const struct verifier *verifier);
/* Adds the next range of archived seqs, when the walk is about to reach it: see verifier_wants_range. */
void verifier_range(struct verifier *verifier, struct seq_range range);
/* Whether the next range, if there is one, must be added before an event of this seq. */
bool verifier_wants_range(const struct verifier *verifier, uint64_t seq);
void verifier_event(struct verifier *verifier, const struct filed_event *filed);
/* Call it after the last event and the last range. `last_seq`: where the last group ends. */
void verifier_events_end(struct verifier *verifier, uint64_t last_seq);
void verifier_head(struct verifier *verifier, const struct filed_head *filed);
void verifier_heads_end(struct verifier *verifier, uint64_t count);

#endif
