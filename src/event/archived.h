/* The data of a SESSION_ARCHIVED event: the session's events left the store, and where they are.
 *
 * It is the last event of its session. Its own link in the chain follows `hash`, so the chain goes on from the
 * archive into the store, and either end shows that the other was not changed.
 */
#ifndef EVENT_ARCHIVED_H
#define EVENT_ARCHIVED_H

#include "base/arena.h"
#include "base/digest.h"
#include "base/limits.h"
#include "event/event.h"

/* The data of a SESSION_ARCHIVED event: where the session's events are now, and how to check them there. */
struct archived {
    struct str file;           /* its name, without the folder */
    struct digest file_digest; /* SHA-256 of the file, as sha256sum prints it */
    uint64_t events, calls;    /* how many events and calls were moved there */
    uint64_t first_seq, last_seq;
    struct digest hash;        /* chain hash of the last moved event */
};

/* The result of archiving. */
struct archive_result {
    uint64_t sessions, events; /* totals that were archived */
    uint64_t stayed;           /* sessions that were not moved because something happened in them meanwhile */
    char file[LIMIT_PATH_BYTES]; /* name of the last archive made; empty: there was nothing to archive */
};

struct str archived_data(struct arena *arena, const struct archived *archived);
/* False when the data is not of this kind. */
bool archived_parse(struct arena *arena, struct str data, struct archived *ret_archived);

#endif
