/* The store as it was at one seq, as far as anybody has asked: heads of sessions and events of calls, so that the next
 * group need not look them up. One number guards all of it, because nothing changes without an event. The writer adds
 * its own groups; on a store that other processes write, too, whoever reads all events adds theirs, in order of seq.
 *
 * 1. All that is in here was true at `seq`. Anything that cannot be followed without a gap empties it.
 * 2. A session is in here with its whole head, a call with all of its events, or not at all.
 * 3. It is bounded: when it is full it is emptied, and fills again with what is asked for.
 *
 * The handles of one place share one; a lock guards it.
 */
#ifndef STORE_MEMORY_H
#define STORE_MEMORY_H

#include "store/judge.h"

struct memory;

/* The last event that is known here, and its link. */
struct anchor {
    uint64_t seq; /* 0: none */
    struct digest hash;
};

/* Of that place; closed as often as opened. */
struct memory *memory_open(const char *place);
void memory_close(struct memory *memory);
void memory_clear(struct memory *memory);

/* Fills in what is remembered of the facts, and their last seq. False: nothing is known, not even that seq. */
bool memory_recall(struct memory *memory, struct facts *facts);
/* The facts that a group has read and written, remembered after its commit. */
void memory_keep(struct memory *memory, const struct facts *facts);
/* An event that somebody else kept, in the order of seq; those that are known already are passed over. */
void memory_follow(struct memory *memory, const struct event *event, uint64_t chain, const struct digest *hash);

/* The last event of the store, as it was found when it was opened. */
void memory_meet(struct memory *memory, const struct anchor *last);
struct anchor memory_anchor(struct memory *memory);
/* History has gone backwards before `seq`: nothing is read or kept through this memory any more. ERR_HISTORY. */
struct rc memory_break(struct memory *memory, uint64_t seq, struct err *err);
/* The same again, once that has happened. */
struct rc memory_check(struct memory *memory, struct err *err);

#endif
