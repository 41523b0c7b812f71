/* Internals of the PostgreSQL backend; include it there only.
 *
 * Several processes keep their events in one database. A group is one transaction that begins by taking one
 * advisory lock, which it holds until it is committed: whoever has the lock sees all that was kept before,
 * gives out the next numbers, and nobody can commit in between. So the order of seq is the order of commits.
 * It is synced after the lock was given back (postgres_write.c).
 *
 * A connection may be lost at any moment; a handle outlives its connections. Statements go out in pipelines:
 * one round trip for what does not depend on an answer. Values travel in binary, both ways.
 */
#ifndef STORE_POSTGRES_H
#define STORE_POSTGRES_H

#include "base/buf.h"
#include "base/id.h"
#include "base/library.h"
#include "store/backend.h"
#include "store/group.h"
#include "store/postgres_notice.h"
#include "store/postgres_sql.h"
#include "store/version.h"

#if __has_include(<libpq-fe.h>)
#include <libpq-fe.h>
#else
#include <postgresql/libpq-fe.h>
#endif

/* ---- postgres_library.c: libpq is loaded when it is first needed, so that nobody else carries it ---- */
#define PQ_FUNCTIONS(X)                                                                                 \
    X(PQconnectdbParams) X(PQfinish) X(PQstatus) X(PQerrorMessage) X(PQsocket) X(PQparameterStatus)     \
    X(PQserverVersion) X(PQsetnonblocking) X(PQenterPipelineMode) X(PQpipelineSync) X(PQsendPrepare)    \
    X(PQsendQueryPrepared) X(PQsendQueryParams) X(PQflush) X(PQconsumeInput) X(PQisBusy) X(PQgetResult) \
    X(PQresultStatus) X(PQresultErrorField) X(PQcmdStatus) X(PQntuples) X(PQgetvalue) X(PQgetlength)    \
    X(PQgetisnull) X(PQclear) X(PQnotifies) X(PQfreemem) X(PQsetNoticeReceiver)

struct pq {
    PQ_FUNCTIONS(LIBRARY_POINTER)
};

extern struct pq pq;
struct rc pq_load(struct err *err);

enum { PARAMS_MAX = 37, CHANNEL_BYTES = 40 };

/* A group that the loop has sent and whose answer the writer's thread takes. */
struct ahead {
    bool sent;
    struct facts facts;
    struct rows rows;
};

/* The handle of this backend; the store knows it as an opaque struct backend_handle. */
struct postgres_handle {
    enum backend_role role;
    char *url;
    PGconn *conn;           /* NULL: not connected */
    bool migrated;          /* true once this handle migrated the schema or does not have to */
    bool lent;              /* the connection goes through a pooler and is ours for one transaction at a time */
    bool patient;           /* statements may take as long as they need (verify) */
    bool refused;           /* the server itself reported the last failure, so the transaction is rolled back */
    bool locked;            /* the writer's transaction is open and has the lock */
    struct group_sent sent; /* a group whose outcome is not known; count 0: there is none */
    struct ahead ahead;
    bool lock_missed;       /* the last failure was a lock timeout */
    struct memory *memory;  /* shared by the handles of the same store */
    char channel[CHANNEL_BYTES];

    uint64_t connections;   /* how many there were */

    /* For a follower behind a connection pooler: a direct connection for notifications; NULL: `conn` receives them. */
    struct postgres_handle *ear;
    int64_t ear_after_us;   /* steady clock: when to retry connecting `ear`; 0: it is connected */
    struct notices notices; /* for a follower */
    unsigned whole_looks;   /* looks left that sum up the bytes of what they read (postgres_read.c) */

    /* Used by the writer only. */
    struct id id;           /* names this handle in notifications and in the table `nodes` */
    uint64_t seen_seq;      /* last seq in the store before our last group */
    uint64_t part_end;      /* partitions exist up to this seq (exclusive); 0: not known */
    unsigned misses;        /* groups in a row for which `memory` was out of date */
    unsigned groups_to_learn; /* groups to commit with reads before `memory` is used again */
    int64_t failed_us;      /* when a group was last given up because the database is away, by the steady clock */
};

static inline struct postgres_handle *postgres_of(struct backend_handle *opaque)
{
    return (struct postgres_handle *)opaque;
}

static inline const struct postgres_handle *postgres_of_const(const struct backend_handle *opaque)
{
    return (const struct postgres_handle *)opaque;
}

/* ---- postgres.c: connections, and talking over them ---- */
/* Parameters of one statement, in binary. The values they refer to must stay until it is sent. */
struct params {
    const char *values[PARAMS_MAX];
    int lengths[PARAMS_MAX];
    int count;
};

void params_str(struct params *params, struct str value);
/* The number's bytes live in the arena. */
void params_int(struct params *params, struct arena *arena, int64_t value);

/* Connects, if there is no connection; tries again until `deadline_us` of the steady clock. */
struct rc postgres_connect(struct postgres_handle *handle, int64_t deadline_us, struct err *err);
void postgres_disconnect(struct postgres_handle *handle);
/* Waits a little longer each time (*pause_ms), no longer than the deadline. False: it has passed. */
bool postgres_pause(int64_t *pause_ms, int64_t deadline_us);
/* Puts a statement into the pipeline. A failure to send shows at postgres_flush. */
void postgres_send(struct postgres_handle *handle, enum postgres_sql sql, const struct params *params);
/* Like postgres_send, for text that is not kept prepared. */
void postgres_send_text(struct postgres_handle *handle, const char *text, const struct params *params);
/* Ends the pipeline and sends what the socket takes at once, and the rest. */
void postgres_flush_some(struct postgres_handle *handle);
struct rc postgres_flush_rest(struct postgres_handle *handle, struct err *err);
/* Ends the pipeline and sends all of it. */
struct rc postgres_flush(struct postgres_handle *handle, struct err *err);
/* The answer to the next statement of the pipeline; the caller clears it. A connection on which anything
 * failed is closed: what was under way on it is rolled back, and the next one begins clean. Codes:
 * ERR_UNAVAILABLE when the same again may go well, ERR_CONFLICT when a value could not be kept, else ERR_IO or
 * ERR_CORRUPT. */
struct rc postgres_take(struct postgres_handle *handle, PGresult **ret_result, struct err *err);
/* Like postgres_take, for `count` statements whose answers are not needed. */
struct rc postgres_skip(struct postgres_handle *handle, int count, struct err *err);
/* The end of the pipeline, after all answers. */
struct rc postgres_end(struct postgres_handle *handle, struct err *err);
/* One statement by itself. */
struct rc postgres_ask(struct postgres_handle *handle, const char *text, PGresult **ret_result, struct err *err);

void postgres_clear(PGresult **result);
#define RESULT_SCOPE(name) __attribute__((cleanup(postgres_clear))) PGresult *name = NULL

/* ---- postgres_row.c ---- */
int64_t row_int(const PGresult *result, int row, int column);
struct str row_str(const PGresult *result, int row, int column);
bool row_digest(const PGresult *result, int row, int column, struct digest *ret_digest);
/* Reads EVENT_COLUMNS from `column` on; the event points into the result. */
struct rc row_event(const PGresult *result, int row, int column, struct event *ret_event, struct err *err);

/* ---- postgres_schema.c ---- */
/* Creates the tables or brings them, and the version's number, up to this program's, one process at a time. */
struct rc postgres_migrate(struct postgres_handle *handle, struct err *err);
/* The steps that made the tables, 0: there are none; refuses a version newer than this program's, by steps or by kinds
 * of events. */
struct rc postgres_version(struct postgres_handle *handle, int *ret_version, struct err *err);
bool postgres_version_is_current(int version);
/* The version that this program knows, and its number: a group is kept only while `meta` has this number. */
struct version postgres_version_known(void);
int64_t postgres_version_number(void);

/* ---- postgres_parts.c ---- */
/* Creates the partitions for events up to this one, in the writer's transaction. */
struct rc postgres_make_parts(struct postgres_handle *handle, uint64_t last_seq, struct err *err);
struct rc postgres_shed(const char *place, struct err *err);

/* ---- postgres_key.c ---- */
struct rc postgres_note_key(const char *place, uint64_t key, uint64_t *ret_noted_key, struct err *err);

/* ---- postgres_write.c, postgres_read.c, postgres_verify.c ---- */
struct rc postgres_commit(struct backend_handle *handle, struct append *group, struct err *err);
bool postgres_send_ahead(struct backend_handle *handle, struct append *append);
struct rc postgres_probe(struct backend_handle *handle, struct err *err);
struct rc postgres_read(struct backend_handle *handle, struct read *read, struct err *err);
struct rc postgres_verify(const char *place, struct store_check *ret_check, struct err *err);
/* A handle for a url, not connected. */
struct postgres_handle *postgres_handle(const char *place, enum backend_role role);
void postgres_close(struct postgres_handle *handle);

#endif
