/* The interface of a backend, which stores events (SQLite, PostgreSQL). It blocks and knows no loop: store.c gives it
 * threads.
 *
 * One handle is opened for writing, one for each reader thread, one for housekeeping and, where several processes
 * write, one for following; a handle is used by one thread at a time. Writers of several processes are serialised by
 * the backend itself: from the first need checked to the end of the commit nothing else is kept, so a need that was
 * looked up stays true, and `seq` follows the order of commits.
 *
 * Chain: hash(event) = SHA-256(hash of the session's previous event (32 zero bytes for the first), its number
 * within the session, session, thread, kind, at_ms, actor, call, data); see chain.c. The head of each chain is kept
 * too, and for each group a hash over the group before it and the links of its events.
 *
 * To add one: write store/x.c with a `const struct backend backend_x` and add a line to backends.c.
 */
#ifndef STORE_BACKEND_H
#define STORE_BACKEND_H

#include "store/store.h"

struct backend_handle;

enum backend_role {
    BACKEND_WRITER,
    BACKEND_READER,
    BACKEND_CHECKPOINTER,
    BACKEND_FOLLOWER,
    BACKEND_GUEST, /* reads, and leaves no trace beside the file; only of a store that one process writes */
};
enum tidy_need { TIDY_NOT, TIDY_BESIDE, TIDY_BEFORE };

/* A way of keeping events, as a table of functions. All of them block; a handle is used by one thread at a
 * time. */
struct backend {
    const char *scheme;

    /* `place` is the url behind "scheme:". The writer creates, migrates and checks; it refuses a place
     * that another writer holds (unless the backend is made for several). It is opened first and closed
     * last. */
    struct rc (*open)(const char *place, enum backend_role role, struct backend_handle **ret_handle,
                      struct err *err);
    void (*close)(struct backend_handle *handle);

    /* Commits every append of the list whose needs hold, as one group. Sets each one's outcome, and the
     * seq of its events. An append that cannot be kept for reasons of its own gets APPEND_FAILED and harms
     * no other. On failure nothing at all was kept, unless err says that the outcome is not known, and
     * outcomes mean nothing. */
    struct rc (*commit)(struct backend_handle *writer, struct append *group, struct err *err);
    /* Optional: begins a commit that will not wait for others or for a checkpoint, so that the loop may do it itself;
     * `commit` follows. False: nothing was begun. */
    bool (*begin_quickly)(struct backend_handle *writer);
    /* Optional, instead of it, for a store that is a round trip away: sends an append without waiting for anything, so
     * that the loop may do it; `commit` of the same append follows on the writer's thread and waits for the answer.
     * False: nothing was sent. */
    bool (*send_ahead)(struct backend_handle *writer, struct append *append);
    /* Optional: whether the place is still the one that was opened; cheap, callable from any thread. */
    struct rc (*check)(const struct backend_handle *handle, struct err *err);
    /* Optional: whether something could be kept again, found out by writing. Between groups, after one has failed. */
    struct rc (*probe)(struct backend_handle *writer, struct err *err);
    struct rc (*last_seq)(struct backend_handle *handle, uint64_t *ret_seq, struct err *err);

    /* Fills in the answer of a read. */
    struct rc (*read)(struct backend_handle *reader, struct read *read, struct err *err);

    /* Housekeeping; each function is optional (NULL). `tidy_due` is called after each group: shall the checkpointer
     * `tidy` (on its own thread and handle) while commits go on, or, when it cannot keep up, before the next commit?
     * `settle` is called between two groups, after a `tidy` or when nothing was appended for a while (`idle`): for
     * work that only the writer can do, and it must be short. */
    enum tidy_need (*tidy_due)(struct backend_handle *writer);
    struct rc (*tidy)(struct backend_handle *checkpointer, struct err *err);
    struct rc (*settle)(struct backend_handle *writer, bool idle, struct err *err);
    /* Optional: called when a group was handed back and no other waits, for work that no answer should wait for. */
    struct rc (*catch_up)(struct backend_handle *writer, struct err *err);
    /* Optional: called when a reader has been idle for a while: it may free its caches. */
    void (*rest)(struct backend_handle *reader);

    /* For a store that other processes write, too; both or none (NULL). `wait` returns when somebody other
     * than `writer` may have kept something, after `timeout_ms`, when `stop_fd` can be read, or with an error
     * (then it is called again, after a while); `read` of READ_EVENTS on the same handle says what it was.
     * `seen_seq` is the last seq that the writer's last group has taken into account, its own not counted. */
    struct rc (*wait)(struct backend_handle *follower, const struct backend_handle *writer, int stop_fd,
                      int timeout_ms, struct err *err);
    uint64_t (*seen_seq)(const struct backend_handle *writer);
    /* Optional, all three or none: what others have kept is heard on a socket, which the loop can watch while the
     * follower's thread sleeps. `ear` is that socket, or -1, and the number of its connection. `hear` takes what has
     * come, without waiting, and says whether somebody else may have kept something. `told` answers a READ_EVENTS
     * from that, as `read` would; false: it takes a `read`. */
    int (*ear)(const struct backend_handle *follower, uint64_t *ret_connection);
    bool (*hear)(struct backend_handle *follower, const struct backend_handle *writer);
    bool (*told)(struct backend_handle *follower, struct read *read);

    /* Optional: frees the disk space of archived sessions, on a connection of its own, while others use the store. */
    struct rc (*shed)(const char *place, struct err *err);
    /* Optional, for a store of several servers, which need the same key: notes the fingerprint of this one's, unless
     * one is noted already. Answers with the one that is noted. On a connection of its own. */
    struct rc (*note_key)(const char *place, uint64_t key, uint64_t *ret_noted_key, struct err *err);

    struct rc (*verify)(const char *place, struct store_check *ret_check, struct err *err);
};

/* The backend whose scheme `url` begins with, and the rest of the url; NULL when there is none. */
const struct backend *backend_find(const char *url, const char **ret_place);
/* Iterates over all backends, for the contract suite; NULL after the last. */
const struct backend *backend_at(size_t index);

/* The next link of a chain. */
struct digest chain_next(const struct digest *before, const struct event *event);
/* The next link over groups: begin, add the links of its events, end (which frees the sum). */
struct digest_sum *chain_group_begin(const struct digest *before);
void chain_group_add(struct digest_sum *sum, const struct digest *link);
struct digest chain_group_end(struct digest_sum *sum, uint64_t last_seq);

#endif
