/* History must not go backwards. A standby that was promoted without the last events, or a backup that was restored
 * under running nodes, has other events (or none) under numbers that this process has followed and told. Its views, and
 * whoever follows it, would be wrong without a sign. So every look at the store is also a look whether it still holds
 * the last event that this process knows, with the same link; when it does not, nothing is read or kept here any more.
 */
#include "store/postgres_group.h"

/* The event may have left for an archive: then it cannot be compared, and its number is listed. */
static struct rc is_in_archive(struct postgres_handle *handle, uint64_t seq, bool *ret_archived, struct err *err)
{
    ARENA_SCOPE(arena);
    RESULT_SCOPE(rows);
    struct params params = {0};
    params_int(&params, &arena, (int64_t)seq - 1);
    params_int(&params, &arena, (int64_t)seq);
    postgres_send(handle, SQL_GONE, &params);
    TRY(postgres_flush(handle, err));
    TRY(postgres_take(handle, &rows, err));
    TRY(postgres_end(handle, err));
    *ret_archived = pq.PQntuples(rows) > 0;
    return RC_OK;
}

struct rc postgres_check_history(struct postgres_handle *handle, const struct anchor *anchor, bool found,
                                 const struct digest *hash, struct err *err)
{
    bool same = anchor->seq == 0 || (found && digest_eq(hash, &anchor->hash));
    if (!same && !found)
        TRY(is_in_archive(handle, anchor->seq, &same, err));
    return same ? RC_OK : memory_break(handle->memory, anchor->seq, err);
}
