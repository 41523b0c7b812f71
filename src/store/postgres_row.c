/* One row of an answer, in PostgreSQL's binary form. */
#include "store/postgres.h"

int64_t row_int(const PGresult *result, int row, int column)
{
    const unsigned char *bytes = (const unsigned char *)pq.PQgetvalue(result, row, column);
    int length = pq.PQgetlength(result, row, column);
    if (length == 0)
        return 0; /* NULL */
    CHECK(length == 2 || length == 4 || length == 8);
    uint64_t value = bytes[0] & 0x80 ? UINT64_MAX : 0;
    for (int i = 0; i < length; i++)
        value = value << 8 | bytes[i];
    return (int64_t)value;
}

struct str row_str(const PGresult *result, int row, int column)
{
    return (struct str){pq.PQgetvalue(result, row, column), (size_t)pq.PQgetlength(result, row, column)};
}

bool row_digest(const PGresult *result, int row, int column, struct digest *ret_digest)
{
    struct str bytes = row_str(result, row, column);
    if (bytes.n != DIGEST_BYTES)
        return false;
    memcpy(ret_digest->bytes, bytes.p, DIGEST_BYTES);
    return true;
}

/* The texts point into the result and are valid until it is cleared: copy them. */
struct rc row_event(const PGresult *result, int row, int column, struct event *ret_event, struct err *err)
{
    int64_t seq = row_int(result, row, column);
    int64_t kind = row_int(result, row, column + 3);
    if (seq <= 0 || kind <= EVENT_NONE || kind >= EVENT_KIND_END)
        return err_set(err, ERR_CORRUPT, "event %lld is of an unknown kind (%lld)", (long long)seq,
                       (long long)kind);
    *ret_event = (struct event){
        .seq = (uint64_t)seq,
        .session = row_str(result, row, column + 1),
        .thread = row_str(result, row, column + 2),
        .kind = (enum event_kind)kind,
        .at_ms = row_int(result, row, column + 4),
        .actor = row_str(result, row, column + 5),
        .call = row_str(result, row, column + 6),
        .data = row_str(result, row, column + 7),
        .no = (uint64_t)row_int(result, row, column + 8),
    };
    return RC_OK;
}
