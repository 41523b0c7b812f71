/* Events lie in parts by seq, that is: by time.
 *
 * `parts` lists them. A part is made by the first writer that needs it, in its group's transaction and under the
 * lock that gives out numbers, so that nobody can be about to make the same. seq is unique over all of them because
 * parts are made by it; what else must be unique (one event of a kind for a call) stands in `calls`.
 *
 * When sessions have left for an archive, a part that has become empty is dropped, and one in which little is left
 * (events of the installation, SESSION_ARCHIVED) is exchanged for a new one that holds only that: the room goes back
 * to the disk at once, and no vacuum has to wade through it.
 */
#include "store/postgres.h"

#include "io/clock.h"

#include <stdarg.h>
#include <stdio.h>

enum { CONNECT_MS = 5000, TEXT_BYTES = 400, SLACK_BYTES = 1 << 20 };

__attribute__((format(printf, 3, 4))) static struct rc run(struct postgres_handle *handle, struct err *err,
                                                           const char *format, ...)
{
    RESULT_SCOPE(result);
    char text[TEXT_BYTES];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    CHECK(n > 0 && (size_t)n < sizeof text);
    return postgres_ask(handle, text, &result, err);
}

/* Makes the table by itself and attaches it. Creating it as a partition would lock `events` against readers, and a
 * long read (a backup, `nod verify`) would then hold up everybody. */
static struct rc make_part(struct postgres_handle *handle, int64_t first, int64_t end, struct err *err)
{
    long long from = first, to = end;
    TRY(run(handle, err, "CREATE TABLE events_%lld (LIKE events INCLUDING DEFAULTS)", from));
    TRY(run(handle, err, "ALTER TABLE events ATTACH PARTITION events_%lld FOR VALUES FROM (%lld) TO (%lld)", from, from,
            to));
    return run(handle, err, "INSERT INTO parts VALUES('events_%lld', %lld, %lld)", from, from, to);
}

/* Called under the lock, before a group that would reach beyond the last part. */
struct rc postgres_make_parts(struct postgres_handle *handle, uint64_t last_seq, struct err *err)
{
    RESULT_SCOPE(row);
    TRY(postgres_ask(handle, "SELECT (SELECT coalesce(max(end_seq), 1) FROM parts),"
                     " (SELECT value FROM meta WHERE name = 'part_seqs')", &row, err));
    int64_t end = row_int(row, 0, 0), size = row_int(row, 0, 1);
    if (end <= 0 || size <= 0)
        return err_set(err, ERR_CORRUPT, "the database does not say how its events are divided: restore a backup");
    while ((int64_t)last_seq >= end) {
        int64_t first = end;
        end = (first / size + 1) * size;
        TRY(make_part(handle, first, end, err));
    }
    handle->part_end = (uint64_t)end;
    return RC_OK;
}

/* ---- giving room back ---- */

struct part {
    struct str name;
    int64_t first, end;
    int64_t events; /* rows left in the partition */
};

/* Moves the remaining rows into a new partition of the same name and range. */
static struct rc exchange(struct postgres_handle *handle, const struct part *part, struct err *err)
{
    TRY(run(handle, err, "ALTER TABLE %.*s RENAME TO part_left", STR_ARG(part->name)));
    TRY(run(handle, err, "CREATE TABLE %.*s (LIKE part_left INCLUDING DEFAULTS)", STR_ARG(part->name)));
    TRY(run(handle, err, "INSERT INTO %.*s SELECT * FROM part_left", STR_ARG(part->name)));
    TRY(run(handle, err, "ALTER TABLE events DETACH PARTITION part_left"));
    TRY(run(handle, err, "DROP TABLE part_left"));
    return run(handle, err, "ALTER TABLE events ATTACH PARTITION %.*s FOR VALUES FROM (%lld) TO (%lld)",
               STR_ARG(part->name), (long long)part->first, (long long)part->end);
}

static struct rc drop(struct postgres_handle *handle, const struct part *part, struct err *err)
{
    TRY(run(handle, err, "ALTER TABLE events DETACH PARTITION %.*s", STR_ARG(part->name)));
    TRY(run(handle, err, "DROP TABLE %.*s", STR_ARG(part->name)));
    return run(handle, err, "DELETE FROM parts WHERE name = '%.*s'", STR_ARG(part->name));
}

/* Replaces one partition by a smaller one. No node writes meanwhile, and readers wait during the exchange. `events` is
 * locked before its partition, as readers do it; the wait for the lock is short, since all others queue behind it. */
static struct rc shed_part(struct postgres_handle *handle, const struct part *part, struct err *err)
{
    TRY(run(handle, err, "BEGIN"));
    TRY(run(handle, err, "SELECT set_config('lock_timeout', '10s', true),"
            " pg_advisory_xact_lock(1315922977, 'events'::regclass::oid::int)"));
    TRY(run(handle, err, "SET LOCAL lock_timeout = '3s'"));
    TRY(run(handle, err, "LOCK TABLE events IN ACCESS EXCLUSIVE MODE"));
    TRY(part->events ? exchange(handle, part, err) : drop(handle, part, err));
    return run(handle, err, "COMMIT");
}

/* Decides whether rewriting a partition is worth it: it is empty, or much larger than its remaining rows. The last
 * one is still written to. */
static struct rc look_at(struct postgres_handle *handle, struct part *part, bool *ret_shed, struct err *err)
{
    RESULT_SCOPE(row);
    char text[TEXT_BYTES];
    (void)snprintf(text, sizeof text,
                   "SELECT count(*), coalesce(sum(octet_length(data) + 400), 0)::bigint,"
                   " pg_total_relation_size('%.*s')::bigint FROM %.*s", STR_ARG(part->name), STR_ARG(part->name));
    TRY(postgres_ask(handle, text, &row, err));
    part->events = row_int(row, 0, 0);
    *ret_shed = part->events == 0 || row_int(row, 0, 2) > 4 * row_int(row, 0, 1) + SLACK_BYTES;
    return RC_OK;
}

/* All parts but the one that is being filled. */
static struct rc shed_all(struct postgres_handle *handle, struct err *err)
{
    RESULT_SCOPE(rows);
    TRY(postgres_ask(handle, "SELECT name, first_seq, end_seq FROM parts"
                     " WHERE end_seq <= (SELECT max(seq) FROM events) ORDER BY first_seq", &rows, err));
    for (int i = 0, count = pq.PQntuples(rows); i < count; i++) {
        struct part part = {.name = row_str(rows, i, 0), .first = row_int(rows, i, 1), .end = row_int(rows, i, 2)};
        bool worth = false;
        TRY(look_at(handle, &part, &worth, err));
        if (worth)
            TRY(shed_part(handle, &part, err));
    }
    return RC_OK;
}

static void close_handle(struct postgres_handle **handle) { postgres_close(*handle); }

struct rc postgres_shed(const char *place, struct err *err)
{
    __attribute__((cleanup(close_handle)))
    struct postgres_handle *handle = postgres_handle(place, BACKEND_CHECKPOINTER);
    TRY(postgres_connect(handle, clock_steady_us() + (int64_t)CONNECT_MS * 1000, err));
    return shed_all(handle, err);
}
