/* Reading what is kept. Included by gate.h. */
#ifndef GATE_READ_H
#define GATE_READ_H

#include "event/call.h"
#include "event/read.h"
#include "gate/gate_op.h"
#include "io/work.h"

struct gate;
struct search_index;

/* Reads what store.h can read, and gives `read` to `done`, with `arg` in it. */
void gate_read(struct gate *gate, struct read *read, void (*done)(struct read *read), void *arg);
/* A READ_EVENTS without `limit`, answered with all there is instead of a page. */
void gate_read_whole(struct gate *gate, struct read *read);
/* The events of a READ_CALL answer as calls, one per session, in the read's arena. */
size_t gate_calls_of(struct read *read, struct call **ret_calls);

/* All events of one call: from the store, or, when its session has left, from an archive in the server's folder. */
struct history {
    struct op op;            /* ERR_NOT_FOUND: there is no such call */
    struct read *read;       /* READ_CALL of its session; the events come back in it */
    struct str archive;      /* the archive's name; empty: it is in the store */
    struct job job;          /* this and the next are private to the gate */
    struct err err;          /* of the archive, set by a worker */
};
struct history *history_new(struct str session, struct str call);
void history_free(struct history *history);
void gate_read_history(struct gate *gate, struct history *history);
/* Writes the call as it was shown when it was asked, its answer and its result; `in_file`: for one who may answer. */
void gate_write_history(struct json_out *out, struct history *history, bool in_file);

/* Calls whose input, actor or answer may contain a text, found by the store's full-text index, which is brought up
 * to date first. The index finds more than it should: the receiver compares each hit with the text. */
struct history_search {
    struct op op;
    struct str text;         /* as it stands in the events' JSON */
    uint64_t before;         /* calls made before this seq; 0: all */
    struct search_hit *hits; /* newest first, in the arena of `op` */
    size_t hit_count;
    bool ready;              /* false: the index is not up to date, or there is none; the log must be looked through */
    bool more;               /* there are older ones */
    /* private to the gate */
    struct search_index *index;
    struct read *read;
    struct job job;
    uint64_t until, covered, taken;
    struct err failure;
};
void gate_search(struct gate *gate, struct history_search *search);

#endif
