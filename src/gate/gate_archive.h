/* The part of gate.h about archives; include gate.h. */
#ifndef GATE_GATE_ARCHIVE_H
#define GATE_GATE_ARCHIVE_H

#include "gate/gate_op.h"
#include "event/archived.h"

struct gate;

/* The operation behind POST /api/archive and --archive-after. */
struct gate_archiving {
    struct op op;
    int64_t older_than_ms;
    struct str actor;
    struct archive_result result;
};
/* Moves finished sessions without recent events into an archive (store_archive.h), in the background. One at a time,
 * else ERR_CONFLICT. */
void gate_archive(struct gate *gate, struct gate_archiving *archiving);
/* Writes {"path","sessions","events","stayed"}: the result for the client. */
void gate_archive_write(struct json_out *out, const struct archive_result *result);
/* ERR_GONE with words that name the archive. */
void gate_say_archived(struct err *err, const struct event *archived);

#endif
