/* Finished sessions into an archive. The file is the server's own affair: no client names a path. */
#include "api/exchange.h"

static void archived(struct op *op)
{
    struct gate_archiving *archiving = (struct gate_archiving *)op;
    struct exchange *x = archiving->op.owner;
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    gate_archive_write(&out, &archiving->result);
    exchange_answer(x, 200, &buf);
}

/* The answer comes when the archive is complete, which may take minutes; a client that goes does not stop it. */
void api_archive_make(struct exchange *x)
{
    struct gate_archiving *archiving = arena_new(x->arena, struct gate_archiving);
    struct err err;
    int64_t seconds = -1;
    EXCHANGE_TRY(x, json_want_i64(x->body, "olderThanSeconds", 0, INT32_MAX, &seconds, &err));
    EXCHANGE_REFUSE(x, seconds < 0, ERR_INVALID, "\"olderThanSeconds\" is missing");
    archiving->op = exchange_op(x, archived);
    archiving->older_than_ms = seconds * 1000;
    archiving->actor = x->actor;
    gate_archive(x->gate, archiving);
}
