/* Events of a scope, as pages and live.
 *
 * The position is the seq of the last event that was taken. Every page and every new stream begins there,
 * so a restart of the server leaves neither gap nor repeat.
 */
#ifndef CLI_FOLLOW_H
#define CLI_FOLLOW_H

#include "cli/remote.h"

enum follow_on {
    FOLLOW_MORE,
    FOLLOW_END,   /* no more is wanted */
    FOLLOW_AGAIN, /* the event was not handled: deliver it again a little later */
};

/* A place in the log, and what to do with each event from there on. */
struct follow {
    struct cli *cli;
    struct str scope; /* the part of the query that says which events: "&session=…" or nothing */
    uint64_t after;
    enum follow_on (*event)(void *arg, const struct json *event);
    void *arg;
};

/* Reads all stored events after the position. */
struct rc follow_pages(struct follow *follow, struct err *err);
/* The seq of the last event in scope, 0 when there is none. */
struct rc follow_last(const struct follow *follow, uint64_t *ret_last, struct err *err);
/* Reads all stored and new events until `event` ends it. Fails when the server is away at the beginning or refuses;
 * later it waits for the server. */
struct rc follow_live(struct follow *follow, struct err *err);

#endif
