/* The key that the servers of this store have (`server.key`): the fingerprint of the first one's is noted in `meta`,
 * for the others to compare theirs with. */
#include "store/postgres.h"

#include "io/clock.h"

#include <stdio.h>

enum { CONNECT_MS = 5000 };

static void close_handle(struct postgres_handle **handle) { postgres_close(*handle); }

static struct rc read_key(struct postgres_handle *handle, bool *ret_noted, uint64_t *ret_noted_key, struct err *err)
{
    RESULT_SCOPE(row);
    TRY(postgres_ask(handle, "SELECT value FROM meta WHERE name = 'server_key'", &row, err));
    *ret_noted = pq.PQntuples(row) > 0;
    *ret_noted_key = *ret_noted ? (uint64_t)row_int(row, 0, 0) : 0;
    return RC_OK;
}

/* Read first: a note that is there costs no commit, which may have to wait for a standby. */
struct rc postgres_note_key(const char *place, uint64_t key, uint64_t *ret_noted_key, struct err *err)
{
    __attribute__((cleanup(close_handle)))
    struct postgres_handle *handle = postgres_handle(place, BACKEND_CHECKPOINTER);
    RESULT_SCOPE(done);
    char text[120];
    bool noted;
    TRY(postgres_connect(handle, clock_steady_us() + (int64_t)CONNECT_MS * 1000, err));
    TRY(read_key(handle, &noted, ret_noted_key, err));
    if (noted)
        return RC_OK;
    (void)snprintf(text, sizeof text, "INSERT INTO meta VALUES('server_key', %lld) ON CONFLICT (name) DO NOTHING",
                   (long long)key);
    TRY(postgres_ask(handle, text, &done, err));
    return read_key(handle, &noted, ret_noted_key, err);
}
