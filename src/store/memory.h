/* The store as far as anybody has asked: heads of sessions and events of calls, so that the next group need not look
 * them up. The writer adds its own groups; on a store that other processes write, too, whoever reads all events adds
 * theirs, in order of seq, and a group holds only if every head that it names is still the one that was remembered:
 * nothing about a session changes without an event of that session.
 *
 * 1. A session is in here with its whole head, a call with all of its events up to that head, or not at all. When a
 *    head is looked up again it begins a new `life`, and calls that were known in an earlier one are not any more.
 * 2. All numbers in here are at most that of the last event that is known.
 * 3. It is bounded: when it is full it is emptied, and fills again with what is asked for.
 *
 * The handles of one place share one; a lock guards it.
 */
#ifndef STORE_MEMORY_H
#define STORE_MEMORY_H

#include "store/judge.h"

struct memory;

/* The last event known here, and its chain hash. */
struct anchor {
    uint64_t seq; /* 0: none */
    struct digest hash;
};

/* The memory of this place, shared and reference-counted: close it as often as it was opened. */
struct memory *memory_open(const char *place);
void memory_close(struct memory *memory);
void memory_clear(struct memory *memory);
/* When the store is idle: much is given back; a little is kept, because people take their time, and the answer to one
 * of these calls is what comes next. */
void memory_rest(struct memory *memory);

/* Fills in what is remembered of the facts, and their last seq. False: nothing is known, not even that seq. */
bool memory_recall(struct memory *memory, struct facts *facts);
/* Where the events of a call are, for a reader of the store as it was after event `last_seq`. False: not known. Nothing
 * found: of the events up to `last_seq`, none after *ret_known_after is of this call. */
enum { MEMORY_CALL_KINDS = 6 };
bool memory_find_call(struct memory *memory, struct str session, struct str call, uint64_t last_seq,
                      uint64_t ret_seqs[MEMORY_CALL_KINDS], size_t *ret_count, uint64_t *ret_known_after);
/* Adds the facts that a group has read and written, after its commit. */
void memory_keep(struct memory *memory, struct facts *facts);
/* Adds an event that another process stored, in the order of seq; events that are known already are skipped. */
void memory_follow(struct memory *memory, const struct event *event, uint64_t chain, const struct digest *hash);

/* Notes that every event up to `seq` survives a crash of the database; later events may be visible already. Only
 * durable events may be delivered and become the anchor. A smaller seq is ignored. */
void memory_note_durable(struct memory *memory, uint64_t seq);
uint64_t memory_durable(struct memory *memory);

/* Called with the last durable event of the store whenever it was looked at: it must be there at the next look. */
void memory_meet(struct memory *memory, const struct anchor *last);
struct anchor memory_anchor(struct memory *memory);
/* The store lost or changed events before `seq`: fails every later use of this memory with ERR_HISTORY. */
struct rc memory_break(struct memory *memory, uint64_t seq, struct err *err);
/* Fails with ERR_HISTORY when memory_break was called. */
struct rc memory_check(struct memory *memory, struct err *err);

#endif
