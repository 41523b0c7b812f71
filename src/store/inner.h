/* The store's insides, for store.c and writer.c.
 *
 * The loop puts appends and reads into lists and signals a monitor; a thread takes them, works on its own handle of the
 * backend and puts them into the list of those that are done; the waker makes the loop deliver them. */
#ifndef STORE_INNER_H
#define STORE_INNER_H

#include "store/store.h"

#include "io/loop.h"
#include "store/backend.h"
#include "store/figures.h"
#include "store/lists.h"
#include "store/monitor.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    READERS_MAX = 16,
    IDLE_US = 1000000,
    FEED_EVENTS = 256, /* given to the follower in one call */
};

/* A reader's thread with the handle that only it uses. */
struct store_reader {
    struct store *store;
    struct backend_handle *handle;
    pthread_t thread;
};

/* The lists between the loop and the threads, each with the lock that guards it. */
struct store {
    const struct backend *backend;
    struct backend_handle *writer;
    struct backend_handle *checkpointer;
    struct store_reader readers[READERS_MAX];
    unsigned reader_count;
    pthread_t writer_thread;
    pthread_t checkpointer_thread;

    struct monitor inbox;
    struct append_list appends;
    unsigned waiting;      /* how many appends there are */
    unsigned gather_count; /* the writer is not woken before so many wait; 0: it does not gather */
    unsigned knock_count;  /* during a turn of the loop the writer is not woken before so many wait */
    struct append *ahead;  /* sent by the loop; the writer waits for its answer next */
    bool owned;            /* the writer or the loop is using the writer's handle */
    bool writer_waits;     /* the writer is awake and waits for the loop to be done with the handle */
    bool unsettled;        /* something was committed since the writer settled */
    uint64_t lone_count;   /* commits of the loop */
    unsigned slow_for;     /* commits left to the writer after a slow one; used by the owner of the handle */
    /* Of the writer's thread, when other processes write, too: the last group. */
    uint64_t kept_seq;    /* of its last event */
    unsigned group_count; /* appends in that group */
    int64_t group_us;     /* how long it took */
    bool crowded;         /* others have kept something between it and the group before it */
    struct monitor reads;
    struct read_list questions;
    struct monitor chores;
    bool tidy_wanted;    /* stays true until the checkpointer is done */
    _Atomic bool tidied; /* set by the checkpointer, cleared when the writer has settled */

    pthread_mutex_t outbox;
    struct append_list committed;
    struct read_list answered;
    bool rung;
    struct err broken_err; /* ERR_HISTORY, once it has happened */
    struct waker *waker;

    /* When other processes write, too. */
    struct backend_handle *follower;
    pthread_t follower_thread;
    int stop_fd;
    int look_ms;
    struct monitor hearing; /* guards the four below */
    bool lent;              /* the follower's handle is the loop's, which hears; else its thread's */
    int ear_fd;             /* when it was lent, ... */
    uint64_t ear_connection; /* ... and of which connection */
    uint64_t watched;       /* the connection whose socket the loop watches; 0: none */
    struct loop_watch *watch;    /* the loop's */
    struct waker *lent_waker; /* the loop is to watch another socket */
    pthread_mutex_t feeding;
    uint64_t handed_seq; /* seq of the last event put into the outbox; guarded by `feeding` */

    /* Used on the loop's thread only. */
    void (*follow)(void *arg, const struct event *events, size_t count);
    void (*away)(void *arg, bool away);
    void (*broken)(void *arg, const struct err *err);
    void *follow_arg;
    bool away_told, broken_told;
    uint64_t last_seq;
    bool closed;
    struct loop *loop;
    struct before_sleep before_sleep;
    unsigned lone_in_a_row;
    struct event feed[FEED_EVENTS];

    struct figures figures;
};

/* ---- store.c ---- */
/* From any thread: queues the group for the loop, after those that were returned before. */
void store_hand_back(struct store *store, struct append *first, struct append **end);
/* Returns the group to the loop after all events stored before it were delivered, also when it was refused because of
 * one of them. A group whose position is not known yet waits. */
void store_hand_back_in_order(struct store *store, struct append *group, struct append **end);
/* The seq of the group's last event that was kept, or 0. */
uint64_t store_last_kept(const struct append *group);
/* Records whether the last commit, or the last look for others' events, succeeded; tells the loop when that changes. */
void store_set_health(struct store *store, _Atomic bool *flag, bool healthy);
/* A backend found that events which were delivered are no longer in the store. */
void store_notice_broken(struct store *store, struct rc rc, const struct err *err);

/* With `feeding`: puts what another process has kept into the outbox. False: an event is missing in front of or among
 * these; the read is still the caller's. `*ret_more`: there may be more where these come from. */
bool store_feed(struct store *store, struct read *read, bool *ret_more);

/* ---- listen.c ---- */
/* On the follower's thread, which has just read: the loop listens until there is something to be read, or it is time
 * to look. */
enum listened { LISTENED_NOT, LISTENED_IN_VAIN, LISTENED_NEWS };
enum listened store_listen(struct store *store);
/* On the loop. */
void store_open_ear(struct store *store);
void store_close_ear(struct store *store);

/* ---- writer.c ---- */
void *store_run_writer(void *store);
/* At the end of each turn of the loop: commits an append that is alone, or wakes the writer. */
bool store_commit_lone(void *store);
void store_fail_group(struct append *group, const struct err *err);

#endif
