/* One row of EVENT_COLUMNS, and hashes. */
#include "store/sqlite.h"

#include <sqlite3.h>

struct str sqlite_str(struct sqlite3_stmt *statement, int column)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);
    int bytes = sqlite3_column_bytes(statement, column);
    return (struct str){text ? text : "", text ? (size_t)bytes : 0};
}

/* The texts point into the row and are valid until the next step: copy them. */
struct rc sqlite_event(struct sqlite3_stmt *statement, struct event *ret_event, struct err *err)
{
    int64_t seq = sqlite3_column_int64(statement, 0);
    int64_t kind = sqlite3_column_int64(statement, 3);
    if (seq <= 0 || kind <= EVENT_NONE || kind >= EVENT_KIND_END)
        return err_set(err, ERR_CORRUPT, "event %lld is of an unknown kind (%lld)", (long long)seq,
                       (long long)kind);
    *ret_event = (struct event){
        .seq = (uint64_t)seq,
        .session = sqlite_str(statement, 1),
        .thread = sqlite_str(statement, 2),
        .kind = (enum event_kind)kind,
        .at_ms = sqlite3_column_int64(statement, 4),
        .actor = sqlite_str(statement, 5),
        .call = sqlite_str(statement, 6),
        .data = sqlite_str(statement, 7),
        .no = (uint64_t)sqlite3_column_int64(statement, 8),
    };
    return RC_OK;
}

bool sqlite_digest(struct sqlite3_stmt *statement, int column, struct digest *ret_digest)
{
    const void *bytes = sqlite3_column_blob(statement, column);
    if (!bytes || sqlite3_column_bytes(statement, column) != DIGEST_BYTES)
        return false;
    memcpy(ret_digest->bytes, bytes, DIGEST_BYTES);
    return true;
}
