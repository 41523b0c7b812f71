/* Commits one group of appends, on any backend: collect the facts it depends on, read them, judge, write, remember. */
#ifndef STORE_GROUP_H
#define STORE_GROUP_H

#include "store/memory.h"

struct backend_handle;

/* The operations of a backend for a group. */
struct group_ways {
    /* Fills in what is not known yet. `all`: nothing may be assumed, and other writers are kept out from here on; else
     * a call whose TOOL_CALL the group brings may be said to be absent (`assumed`). */
    struct rc (*load)(struct backend_handle *handle, struct facts *facts, bool all, struct err *err);
    /* Writes and commits, behind what others kept meanwhile (judge_move). *ret_held false: something that was loaded,
     * remembered or assumed does not hold (any more), and nothing was written. ERR_CONFLICT: a value of some append
     * cannot be kept. */
    struct rc (*write)(struct backend_handle *handle, struct facts *facts, struct rows *rows, bool *ret_held,
                       struct err *err);
    /* Ends the transaction that `load` began, if it did, without writing anything. */
    struct rc (*abandon)(struct backend_handle *handle, struct err *err);
    bool shared; /* other processes write, too: remembered or loaded facts may be out of date */
};

/* Judges a group by remembered facts alone; the facts must be zeroed, and are the caller's to free. */
bool group_judge_remembered(struct memory *memory, struct append *group, struct facts *facts, struct rows *ret_rows);
/* Commits a group by remembered facts alone, without reading the store. Only a group whose appends would all be
 * accepted is tried: a refusal must be true now. *ret_kept false: nothing was written; *ret_tried: because memory was
 * out of date. */
struct rc group_commit_remembered(const struct group_ways *ways, struct backend_handle *handle, struct memory *memory,
                                  struct append *group, bool *ret_tried, bool *ret_kept, struct err *err);
/* Commits a group; reads from the store the facts that are not remembered. */
struct rc group_commit(const struct group_ways *ways, struct backend_handle *handle, struct memory *memory,
                       struct append *group, struct err *err);
/* For a group with a value that the backend refuses: commits each append alone, so that the others are stored. */
struct rc group_commit_each(struct backend_handle *handle, struct append *group,
                            struct rc (*commit)(struct backend_handle *handle, struct append *group, struct err *err));

/* ---- a group whose answer is lost ---- */

/* A group that was sent to a store that others write, too. It was kept if the store has a group of the same links: the
 * links say all that is in its events and what they follow. The list of groups says so after a session of it was
 * archived, too. */
struct group_sent {
    uint64_t after;       /* the last event that was known when it was judged */
    size_t count;         /* of its events; 0: none was sent */
    struct digest *links;
};

/* Before the group is sent. Replaces what was noted before. */
void group_note_sent(struct group_sent *sent, const struct facts *facts, const struct rows *rows);
/* Whether the group that ends with number `last_seq` is the one that was sent: `before` and `hash` are the hashes of
 * the group that ends `count` events earlier, and of this one. */
bool group_is_sent(const struct group_sent *sent, uint64_t last_seq, const struct digest *before,
                   const struct digest *hash);
void group_forget_sent(struct group_sent *sent);

#endif
