/* The outbox's state, shared by its files:
 *
 *   plan.c    which deliveries a request has by the routes, under which ids, and when they are due
 *   heap.c    the heap of what is due
 *   outbox.c  follows the log: which deliveries there are, and what became of them
 *   send.c    claims what is due, sends it, keeps what came of it
 *   say.c     the message, and answer tokens
 *   answer.c  presses and links that come back
 *   notify.c  its life, and what people ask it
 */
#ifndef NOTIFY_OUTBOX_H
#define NOTIFY_OUTBOX_H

#include "base/map.h"
#include "gate/gate.h"
#include "io/work.h"
#include "notify/inner.h"

enum {
    THREADS = 4,
    BUSY_MAX = 64,          /* messages that are being claimed or sent; more threads would not send faster */
    BATCH_MAX = 64,
    OWNER_BYTES = 48,
    DIGEST_TEXT_BYTES = 80,
    LATE_MAX = 256,         /* answered calls that are still known, for answers which come too late */
    PENDING_BYTES_MAX = 64 << 10,
};

/* CLAIMING: the claim is on its way to the log. SENDING: with a thread. */
enum state { DUE, CLAIMING, SENDING, SENT, OVER };

struct asked;

/* One message about one call over one channel: planned, claimed, sent or withdrawn. */
struct delivery {
    char id[DELIVERY_ID_BYTES];
    struct asked *asked;
    unsigned channel, route;
    enum purpose purpose;
    enum state state;
    int64_t due_ms;
    int64_t plan_ms;        /* when it is due while its call is not snoozed */
    bool moved;             /* OVER because its call was assigned: this person is not asked any more */
    bool by_name;           /* see struct outbox_plan; a reminder is one for the end of a snooze */
    unsigned attempts;
    /* The last claim, by any process: others must not send before lease_ms. Once claimed, it may have been sent. */
    int64_t lease_ms;
    bool claimed, ours, won;
    bool may_be_sent;       /* it was claimed before our last claim, and what came of that is not known */
    bool fits;              /* the session's title matches the route's filter */
    char external[64]; /* the receiver's id of the message; empty: not known, or the message covers several calls */
    bool failed;            /* given up after the receiver refused it */
    int64_t status;         /* HTTP status of the receiver's last response; 0: none */
    bool ended, ended_sent; /* another process stored its end while our claim was being stored */
    size_t heap_at;         /* index + 1 in the heap; 0: not in it */
    struct delivery *next;  /* next delivery of the same call */
};

/* A call that waits, or that was answered and has messages to withdraw; or an alert, which has no session. */
struct asked {
    struct str session, call; /* both in `bytes`, like the next three */
    struct str callback, agent; /* the client's callback address; empty: none */
    struct str alert;         /* what to tell of; empty: a call. `call` is then what it is about */
    struct delivery *deliveries;
    struct asked *later;      /* next in the list of answered calls */
    bool answered, late, routine;
    unsigned assigned;        /* a route of the person whom it is assigned to; 0: none */
    int64_t snoozed_ms;       /* until when nothing is sent; 0: not snoozed */
    enum decision decision;   /* the answer, and whose it is */
    char actor[64];
    size_t actor_bytes;
    char digest[DIGEST_TEXT_BYTES]; /* digest of the call for which answer tokens were made; empty: none were */
    char bytes[];
};

/* All of notify/; used on the loop, but for the jobs that send. */
struct notify {
    struct notify_options options;
    struct arena arena;     /* owns the configuration */
    struct config config;
    struct devices devices;
    struct digest key;      /* signs answer tokens */
    char owner[OWNER_BYTES]; /* names this process in claims */
    struct map calls;       /* session, line break, call → asked */
    struct map ids;         /* first half of a delivery's id → delivery */
    struct delivery **heap;
    size_t heap_count, heap_room;
    struct asked *late, **late_end; /* oldest first */
    size_t late_count;
    struct timer *timer;
    struct work_pool *pool, *pollers;
    struct watched what;
    struct watcher watcher;
    bool started, following; /* the gate has recovered; the watcher is running */
    bool closing;
    uint64_t answers_taken, answers_refused;
    unsigned busy;
};

/* A message that is being sent. */
struct send_job {
    struct job job;
    struct arena arena;
    struct notify *notify;
    struct message message;
    struct sending sending;
    struct err err;
    bool sent;
    bool too_late;            /* not begun: its lease would have ended while it was sent */
    struct delivery *batch[BATCH_MAX];
    int64_t claimed_us;       /* when it was claimed, by the steady clock */
    unsigned channel;
    size_t count, claims;     /* claims that are on their way to the log */
    struct notify_test *test; /* NULL: a delivery */
};

/* ---- plan.c, words.c ---- */
/* A call was assigned to the person, or has been snoozed by them until `at_ms`: on each channel of the first steps of
 * their routes, after quiet hours. */
size_t plan_person(const struct config *config, const struct plan_call *call, struct str person, enum purpose purpose,
                   struct outbox_plan ret_plans[PLANS_MAX]);
/* The wait, 20 % shorter to 20 % longer by the delivery's id: what failed together does not come back together. */
int64_t plan_spread_ms(const char id[DELIVERY_ID_BYTES], unsigned attempt, int64_t wait_ms);
/* The end of the route's quiet hours that a time falls into; the time itself when it falls into none. */
int64_t plan_after_quiet(const struct outbox_route *route, int64_t at_ms);
/* The waiting call for programs, as JSON: no contents of files, strings masked, the input only with DETAIL_FULL. */
struct str words_pending(struct arena *arena, const struct json *pending, enum detail detail);

/* ---- heap.c ---- */
/* Makes the delivery DUE. */
void notify_add_due(struct notify *n, struct delivery *delivery);
void notify_remove_due(struct notify *n, struct delivery *delivery);
/* Sets the timer for the first delivery that becomes due. */
void notify_arm_outbox(struct notify *n);

/* ---- outbox.c ---- */
void outbox_tell(struct watcher *watcher, struct happening *happening);
/* The person is looking at the call: their notifications about it are postponed. */
void outbox_seen(struct notify *n, struct str person, struct str session, struct str call);
/* Makes a delivery that was not claimed due, as far as its call is not snoozed or assigned to another person. */
void outbox_place(struct notify *n, struct delivery *delivery);
/* Makes a delivery due once more, at that time or when its call is no longer snoozed. */
void outbox_retry(struct notify *n, struct delivery *delivery, int64_t at_ms);
/* Another process has sent the delivery or given it up. */
void outbox_end(struct notify *n, struct delivery *delivery);
void outbox_forget(struct notify *n, struct asked *asked);
/* Called after a delivery of the call has ended. Messages of an answered call are withdrawn; the call is freed when no
 * delivery is due or being sent, after a while for late answers. */
void outbox_forget_if_over(struct notify *n, struct asked *asked);

/* ---- send.c ---- */
/* Sends what is due, as far as there is room. Also the timer's callback. */
void send_due(void *notify);
void send_start(struct notify *n, struct send_job *s, unsigned channel);

/* ---- answer.c ---- */
/* Begins to poll the channels' services for button presses. */
void answer_poll_channels(struct notify *n);

/* ---- words.c ---- */
struct data_key_added;
struct data_token_tripped;
/* The texts of alerts; the first line is the title. */
struct str words_key_alert(struct arena *arena, const struct data_key_added *added);
struct str words_token_alert(struct arena *arena, const struct data_token_tripped *tripped);

/* ---- say.c ---- */
/* Fills in the message. False when the call was answered meanwhile: the event is about to arrive. */
bool say_fill(struct notify *n, struct send_job *s);

#endif
