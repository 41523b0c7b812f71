/* Events in notifications: a follower takes a small group from the message that says it is durable, without reading. */
#ifndef STORE_POSTGRES_NOTICE_H
#define STORE_POSTGRES_NOTICE_H

#include "base/buf.h"
#include "store/memory.h"

enum { NOTICE_BYTES_MAX = 7000, PEERS_MAX = 256 }; /* PostgreSQL takes fewer than 8000 bytes, with what keep() adds */

struct notice_event {
    struct event event;
    uint64_t chain;
    struct digest hash;
};

/* A group as a notification told it. */
struct notice {
    struct anchor before; /* the event before its first */
    uint64_t last_seq;
    struct notice_event *events;
    size_t count;
    struct notice *next;
};

/* Groups that came in other nodes' notifications and that the follower has not taken yet. Its thread alone uses it. */
struct notices {
    struct arena arena;
    struct notice *first, *last;
    size_t count;
    bool missed;           /* something was kept that is not in here: the store must be read */
    bool heard;            /* the follower was woken by notifications, and none of them was a stranger's */
    int64_t peers[PEERS_MAX]; /* server processes whose notices are believed */
    size_t peer_count;
    int64_t peers_us;      /* when they were asked for, by the steady clock; 0: never */
    bool peers_hidden;     /* this role may not see whose connections the others are */
    int stranger;          /* the last process that was no peer, and how far it said that the store is durable */
    uint64_t stranger_seq;
};

/* Writes the events of a group, before its numbers are final. Leaves `out` empty when they are too large. */
void notice_write(struct buf *out, const struct rows *rows);
/* Reads who has sent it and how far the store is durable; `*ret_rest` is the part for notice_read_group. */
bool notice_read_head(struct str text, struct str *ret_node, uint64_t *ret_seq, struct str *ret_rest);
/* Reads the events up to `last_seq`; false: there are none, or they are not whole. They live in the arena. */
bool notice_read_group(struct str rest, uint64_t last_seq, struct arena *arena, struct notice *ret_notice);

/* Takes a notification that the server process `pid` sent. Returns whether it comes from another node than `own`. */
bool notices_take(struct notices *notices, struct memory *memory, struct str own, int pid, const char *text);
/* Answers the follower's read from the groups that notices have brought. False: the store must be read. */
bool notices_answer(struct notices *notices, struct memory *memory, struct read *read);
void notices_clear(struct notices *notices);
/* After the peers were asked for: one of them may be the process that was not known when it notified. */
void notices_know_peers(struct notices *notices, struct memory *memory);
/* Whether it is time to ask who the peers are. */
bool notices_peers_due(const struct notices *notices);

#endif
