/* The PostgreSQL backend: connections, pipelines, errors; waiting for events of other nodes.
 *
 * Every failure closes the connection. The server then rolls back what was under way and releases the lock; the
 * next use connects again, to whichever host of the url takes writes by then.
 */
#include "store/postgres_group.h"

#include "base/limits.h"
#include "base/log.h"
#include "io/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    OPEN_MS = 10000,       /* for the server to be there when the store is opened */
    OPEN_LOCK_MS = 60000,  /* for another node to give back a lock meanwhile: it makes tables, or gives room back */
    ANSWER_MS = 30000,     /* a server that does not answer for so long is considered lost */
    PAUSE_FIRST_MS = 20,
    PAUSE_MOST_MS = 1000,
    EAR_PAUSE_MS = 10000,  /* between two tries to hear notifications on a connection of their own */
    SERVER_VERSION_LEAST = 130000,
};

static const struct {
    const char *name, *text;
    int roles;
} statements[SQL_COUNT] = {
#define X(name, roles, text) {#name, text, roles},
    POSTGRES_STATEMENTS(X)
#undef X
};

static const int role_bits[] = {
    [BACKEND_WRITER] = FOR_WRITER, [BACKEND_READER] = FOR_READER, [BACKEND_CHECKPOINTER] = 0,
    [BACKEND_FOLLOWER] = FOR_FOLLOWER,
};

/* ---- errors ---- */

void postgres_clear(PGresult **result)
{
    pq.PQclear(*result);
    *result = NULL;
}

void postgres_disconnect(struct postgres_handle *handle)
{
    handle->part_end = 0; /* partitions made before may have been rolled back */
    handle->locked = false;
    if (handle->conn)
        pq.PQfinish(handle->conn);
    handle->conn = NULL;
}

/* SQLSTATE to one of our codes: unavailable is tried again, the others are not. */
static enum err_code code_of_state(const char *state)
{
    static const struct {
        const char *begins;
        enum err_code code;
    } rows[] = {
        {"08", ERR_UNAVAILABLE},    /* class 08: connection exceptions */
        {"57P", ERR_UNAVAILABLE},   /* the server goes or comes */
        {"57014", ERR_UNAVAILABLE}, /* cancelled, by hand or by a statement_timeout */
        {"53", ERR_UNAVAILABLE},    /* no room: disk, memory, connections */
        {"55P03", ERR_UNAVAILABLE}, /* lock timeout */
        {"40", ERR_UNAVAILABLE},    /* serialization failure or deadlock: rolled back by the server */
        {"25006", ERR_UNAVAILABLE}, /* a standby: look for the primary again */
        {"25P", ERR_UNAVAILABLE},   /* the server ended our transaction because it was idle for too long */
        {"22", ERR_CONFLICT},       /* a value that cannot be kept */
        {"54", ERR_CONFLICT},
        {"23", ERR_CORRUPT},        /* class 23: a constraint failed, so another program wrote without the lock */
        {"42P01", ERR_CORRUPT},     /* a table is gone */
        {"28", ERR_FORBIDDEN},
        {"3D", ERR_NOT_FOUND},
    };
    for (size_t i = 0; state && i < sizeof rows / sizeof rows[0]; i++)
        if (strncmp(state, rows[i].begins, strlen(rows[i].begins)) == 0)
            return rows[i].code;
    return ERR_IO;
}

/* libpq's words without their line breaks. */
static struct rc fail_in_words(struct postgres_handle *handle, enum err_code code, const char *words,
                               struct err *err)
{
    char line[300];
    size_t n = 0;
    for (; words && words[n] && n < sizeof line - 1; n++)
        line[n] = words[n] == '\n' || words[n] == '\t' ? ' ' : words[n];
    while (n && line[n - 1] == ' ')
        n--;
    line[n] = '\0';
    struct rc rc = err_set(err, code, "PostgreSQL: %s", n ? line : "the connection was lost");
    handle->refused = handle->lock_missed = false;
    postgres_disconnect(handle);
    return rc;
}

static struct rc fail_connection(struct postgres_handle *handle, struct err *err)
{
    return fail_in_words(handle, ERR_UNAVAILABLE, handle->conn ? pq.PQerrorMessage(handle->conn) : NULL, err);
}

/* Makes an error of the server's answer. Sets lock_missed, which tells postgres_commit.c that the lock was not free
 * in time. */
static struct rc fail_result(struct postgres_handle *handle, const PGresult *result, struct err *err)
{
    const char *state = pq.PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *words = pq.PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    if (!state) /* libpq itself: the connection */
        return fail_connection(handle, err);
    char line[300];
    (void)snprintf(line, sizeof line, "%s (%s)", words ? words : "", state);
    struct rc rc = fail_in_words(handle, code_of_state(state), line, err);
    handle->refused = true;
    handle->lock_missed = strcmp(state, "55P03") == 0;
    return rc;
}

/* ---- pipelines ---- */

void params_str(struct params *params, struct str value)
{
    CHECK(params->count < PARAMS_MAX);
    params->values[params->count] = value.p ? value.p : "";
    params->lengths[params->count++] = (int)value.n;
}

void params_int(struct params *params, struct arena *arena, int64_t value)
{
    char *bytes = arena_bytes(arena, 8);
    for (int i = 0; i < 8; i++)
        bytes[i] = (char)((uint64_t)value >> (8 * (7 - i)));
    params_str(params, (struct str){bytes, 8});
}

static const int all_binary[PARAMS_MAX] = {[0 ... PARAMS_MAX - 1] = 1};

/* Queues a statement in the pipeline; errors show when results are taken. */
void postgres_send(struct postgres_handle *handle, enum postgres_sql sql, const struct params *params)
{
    static const struct params none = {0};
    if (!handle->conn)
        return;
    CHECK(statements[sql].roles & role_bits[handle->role]);
    if (handle->lent) { /* the next transaction may have another connection, which nobody prepared */
        postgres_send_text(handle, statements[sql].text, params);
        return;
    }
    const struct params *given = params ? params : &none;
    if (!pq.PQsendQueryPrepared(handle->conn, statements[sql].name, given->count, given->values, given->lengths,
                                all_binary, 1))
        postgres_disconnect(handle);
}

void postgres_send_text(struct postgres_handle *handle, const char *text, const struct params *params)
{
    static const struct params none = {0};
    const struct params *given = params ? params : &none;
    if (handle->conn && !pq.PQsendQueryParams(handle->conn, text, given->count, NULL, given->values,
                                              given->lengths, all_binary, 1))
        postgres_disconnect(handle);
}

/* Until the socket can be read (or written, when something waits to be sent), or the deadline. */
static bool socket_ready(PGconn *conn, bool to_write, int64_t deadline_us)
{
    for (;;) {
        int64_t left_ms = (deadline_us - clock_steady_us()) / 1000 + 1;
        struct pollfd fd = {.fd = pq.PQsocket(conn), .events = (short)(POLLIN | (to_write ? POLLOUT : 0))};
        if (left_ms <= 0 || fd.fd < 0)
            return false;
        int ready = poll(&fd, 1, (int)(left_ms < ANSWER_MS ? left_ms : ANSWER_MS));
        if (ready > 0)
            return true;
        if (ready < 0 && errno != EINTR)
            return false;
    }
}

static int64_t answer_deadline_us(const struct postgres_handle *handle)
{
    return handle->patient ? INT64_MAX : clock_steady_us() + (int64_t)ANSWER_MS * 1000;
}

void postgres_flush_some(struct postgres_handle *handle)
{
    if (handle->conn && (!pq.PQpipelineSync(handle->conn) || pq.PQflush(handle->conn) < 0))
        postgres_disconnect(handle);
}

struct rc postgres_flush_rest(struct postgres_handle *handle, struct err *err)
{
    int64_t deadline_us = answer_deadline_us(handle);
    if (!handle->conn)
        return fail_connection(handle, err);
    for (int left; (left = pq.PQflush(handle->conn)) != 0;) {
        if (left < 0 || !socket_ready(handle->conn, true, deadline_us) || !pq.PQconsumeInput(handle->conn))
            return fail_connection(handle, err);
    }
    return RC_OK;
}

/* Sends what was queued and asks for an answer to all of it. An error closes the connection: what was sent may have
 * arrived. */
struct rc postgres_flush(struct postgres_handle *handle, struct err *err)
{
    if (!handle->conn || !pq.PQpipelineSync(handle->conn))
        return fail_connection(handle, err);
    return postgres_flush_rest(handle, err);
}

static struct rc next_result(struct postgres_handle *handle, PGresult **ret_result, struct err *err)
{
    int64_t deadline_us = answer_deadline_us(handle);
    if (!handle->conn)
        return fail_connection(handle, err);
    while (pq.PQisBusy(handle->conn)) {
        if (!socket_ready(handle->conn, false, deadline_us) || !pq.PQconsumeInput(handle->conn))
            return fail_connection(handle, err);
    }
    *ret_result = pq.PQgetResult(handle->conn);
    return RC_OK;
}

/* The result of the next statement of the pipeline; the caller clears it. */
struct rc postgres_take(struct postgres_handle *handle, PGresult **ret_result, struct err *err)
{
    RESULT_SCOPE(result);
    RESULT_SCOPE(none);
    TRY(next_result(handle, &result, err));
    if (!result)
        return fail_connection(handle, err);
    ExecStatusType status = pq.PQresultStatus(result);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
        return fail_result(handle, result, err);
    TRY(next_result(handle, &none, err)); /* the end of this statement */
    CHECK(!none);
    *ret_result = result;
    result = NULL;
    return RC_OK;
}

struct rc postgres_skip(struct postgres_handle *handle, int count, struct err *err)
{
    for (int i = 0; i < count; i++) {
        RESULT_SCOPE(result);
        TRY(postgres_take(handle, &result, err));
    }
    return RC_OK;
}

struct rc postgres_end(struct postgres_handle *handle, struct err *err)
{
    RESULT_SCOPE(result);
    TRY(next_result(handle, &result, err));
    if (!result || pq.PQresultStatus(result) != PGRES_PIPELINE_SYNC)
        return fail_connection(handle, err);
    return RC_OK;
}

struct rc postgres_ask(struct postgres_handle *handle, const char *text, PGresult **ret_result, struct err *err)
{
    PGresult *result = NULL;
    postgres_send_text(handle, text, NULL);
    TRY(postgres_flush(handle, err));
    TRY(postgres_take(handle, &result, err));
    struct rc rc = postgres_end(handle, err);
    if (rc_bad(rc))
        postgres_clear(&result);
    *ret_result = result;
    return rc;
}

/* ---- connections ---- */

static void ignore_notice(void *arg, const PGresult *result)
{
    (void)arg;
    (void)result;
}

/* Checks what Nod relies on: encoding, version, and a host that takes writes. */
static struct rc connect_once(struct postgres_handle *handle, struct err *err)
{
    /* Later settings win: the url may override these. */
    static const char *const names[] = {"fallback_application_name", "connect_timeout", "keepalives_idle",
                                        "keepalives_interval", "keepalives_count", "tcp_user_timeout",
                                        "target_session_attrs", "dbname", "client_encoding", NULL};
    const char *values[] = {"nod", "5", "10", "5", "3", "20000", "read-write", handle->url, "UTF8", NULL};
    CHECK(!handle->conn);
    handle->connections++;
    handle->conn = pq.PQconnectdbParams(names, values, 1);
    if (!handle->conn || pq.PQstatus(handle->conn) != CONNECTION_OK)
        return fail_connection(handle, err);
    (void)pq.PQsetNoticeReceiver(handle->conn, ignore_notice, NULL);
    const char *encoding = pq.PQparameterStatus(handle->conn, "server_encoding");
    if (!encoding || strcmp(encoding, "UTF8") != 0)
        return fail_in_words(handle, ERR_INVALID, "the database must have the encoding UTF8", err);
    if (pq.PQserverVersion(handle->conn) < SERVER_VERSION_LEAST)
        return fail_in_words(handle, ERR_INVALID, "the server is older than version 13", err);
    if (pq.PQsetnonblocking(handle->conn, 1) != 0 || !pq.PQenterPipelineMode(handle->conn))
        return fail_connection(handle, err);
    return RC_OK;
}

/* Statements of this role, once per connection; not behind a pooler that changes connections between
 * transactions. */
static struct rc prepare_all(struct postgres_handle *handle, struct err *err)
{
    int count = 0;
    for (int i = 0; i < SQL_COUNT && handle->conn && !handle->lent; i++) {
        if (!(statements[i].roles & role_bits[handle->role]))
            continue;
        count++;
        if (!pq.PQsendPrepare(handle->conn, statements[i].name, statements[i].text, 0, NULL))
            return fail_connection(handle, err);
    }
    TRY(postgres_flush(handle, err));
    TRY(postgres_skip(handle, count, err));
    return postgres_end(handle, err);
}

static struct rc check_schema(struct postgres_handle *handle, struct err *err)
{
    RESULT_SCOPE(row);
    TRY(postgres_ask(handle, "SELECT 1 FROM pg_namespace WHERE nspname = current_schema()", &row, err));
    if (pq.PQntuples(row) != 1)
        return fail_in_words(handle, ERR_NOT_FOUND, "the schema of the search_path does not exist", err);
    return RC_OK;
}

static struct rc learn_channel(struct postgres_handle *handle, struct err *err)
{
    RESULT_SCOPE(row);
    TRY(postgres_ask(handle, "SELECT " CHANNEL, &row, err));
    if (pq.PQgetisnull(row, 0, 0) || !str_c(row_str(row, 0, 0), handle->channel, sizeof handle->channel))
        return fail_in_words(handle, ERR_CORRUPT, "the table meta does not name the channel of the store", err);
    return RC_OK;
}

/* The statement does not name the channel, because roles that watch the server may see statements. */
static struct rc listen_to_channel(struct postgres_handle *handle, struct err *err)
{
    RESULT_SCOPE(done);
    return postgres_ask(handle, "DO $$ BEGIN EXECUTE 'LISTEN ' || " CHANNEL "; END $$", &done, err);
}

/* Sets up a connection of our own once, and one behind a pooler in every transaction. */
static struct rc settle_in(struct postgres_handle *handle, struct err *err)
{
    RESULT_SCOPE(done);
    return handle->lent ? RC_OK : postgres_ask(handle, "SELECT " SETTINGS("false"), &done, err);
}

/* A process of the server gives memory back to the system when 128 KB of it are free, and takes it again page by page
 * for the next group. glibc does so until the process has freed a larger piece once: then it keeps twice as much. */
static struct rc keep_memory(struct postgres_handle *handle, struct err *err)
{
    RESULT_SCOPE(done);
    return handle->lent || handle->role == BACKEND_READER
               ? RC_OK
               : postgres_ask(handle, "SELECT octet_length(repeat(' ', 4 << 20))", &done, err);
}

/* A new connection, ready for statements. Only the writer migrates, once per handle. */
static struct rc set_up(struct postgres_handle *handle, struct err *err)
{
    TRY(connect_once(handle, err));
    TRY(settle_in(handle, err));
    TRY(keep_memory(handle, err));
    TRY(check_schema(handle, err));
    if (handle->role == BACKEND_WRITER && !handle->migrated) {
        TRY(postgres_migrate(handle, err));
        handle->migrated = true;
    }
    if (handle->role == BACKEND_WRITER)
        TRY(learn_channel(handle, err));
    TRY(prepare_all(handle, err));
    return handle->role == BACKEND_FOLLOWER && !handle->ear ? listen_to_channel(handle, err) : RC_OK;
}

/* Sleeps, longer each time. False: the deadline has passed. */
bool postgres_pause(int64_t *pause_ms, int64_t deadline_us)
{
    int64_t left_us = deadline_us - clock_steady_us();
    if (left_us <= 0)
        return false;
    if (*pause_ms == 0)
        *pause_ms = PAUSE_FIRST_MS;
    int64_t us = *pause_ms * 1000 < left_us ? *pause_ms * 1000 : left_us;
    (void)nanosleep(&(struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000}, NULL);
    *pause_ms = *pause_ms * 2 < PAUSE_MOST_MS ? *pause_ms * 2 : PAUSE_MOST_MS;
    return true;
}

/* Tries again until the deadline while the server is not there; a wrong password or database fails at once. */
struct rc postgres_connect(struct postgres_handle *handle, int64_t deadline_us, struct err *err)
{
    int64_t pause_ms = 0;
    if (handle->conn)
        return RC_OK;
    TRY(pq_load(err));
    for (;;) {
        struct rc rc = set_up(handle, err);
        if (rc_ok(rc))
            return rc;
        postgres_disconnect(handle);
        if (rc.code != ERR_UNAVAILABLE || !postgres_pause(&pause_ms, deadline_us))
            return rc;
    }
}

/* ---- notifications of other nodes' groups ---- */

/* Takes all that has come; true when any of it is not of this writer. */
static bool heard_of_others(struct postgres_handle *handle, struct postgres_handle *ear,
                            const struct postgres_handle *writer)
{
    bool any = false;
    for (PGnotify *notify; ear->conn && (notify = pq.PQnotifies(ear->conn));) {
        any = notices_take(&handle->notices, handle->memory, str_of(writer->id.text), notify->be_pid,
                           notify->extra) || any;
        pq.PQfreemem(notify);
    }
    return any;
}

/* The notification connection may be down for a while: events that it misses are found by polling. */
static struct rc open_ear(struct postgres_handle *handle, struct postgres_handle *ear, struct err *err)
{
    struct err deaf;
    if (ear == handle)
        return postgres_connect(handle, 0, err);
    if (clock_steady_us() < handle->ear_after_us)
        return RC_OK;
    if (rc_bad(postgres_connect(ear, 0, &deaf))) {
        if (handle->ear_after_us == 0)
            log_line(LOG_WARN, "notifications cannot be received: the store is polled", LOG_C("why", deaf.text));
        handle->ear_after_us = clock_steady_us() + (int64_t)EAR_PAUSE_MS * 1000;
        return RC_OK;
    }
    handle->ear_after_us = 0;
    return RC_OK;
}

static struct rc listen_on(struct postgres_handle *handle, struct postgres_handle *ear, struct err *err)
{
    if (pq.PQconsumeInput(ear->conn))
        return RC_OK;
    struct rc rc = fail_connection(ear, err);
    return ear == handle ? rc : RC_OK;
}

/* A fresh connection may have missed something: it returns at once. */
static struct rc postgres_wait(struct backend_handle *opaque, const struct backend_handle *opaque_writer, int stop_fd,
                               int timeout_ms, struct err *err)
{
    struct postgres_handle *handle = postgres_of(opaque);
    const struct postgres_handle *writer = postgres_of_const(opaque_writer);
    struct postgres_handle *ear = handle->ear ? handle->ear : handle;
    int64_t deadline_us = clock_steady_us() + (int64_t)timeout_ms * 1000;
    CHECK(handle->role == BACKEND_FOLLOWER);
    handle->notices.heard = false;
    if (!ear->conn) {
        handle->notices.missed = true;
        TRY(open_ear(handle, ear, err));
        if (ear->conn)
            return RC_OK;
    }
    while (!heard_of_others(handle, ear, writer)) {
        int64_t left_ms = (deadline_us - clock_steady_us() + 999) / 1000;
        struct pollfd fds[] = {{.fd = ear->conn ? pq.PQsocket(ear->conn) : -1, .events = POLLIN},
                               {.fd = stop_fd, .events = POLLIN}};
        if (left_ms <= 0)
            return RC_OK;
        if (poll(fds, 2, (int)left_ms) < 0 && errno != EINTR)
            return fail_connection(handle, err);
        if (fds[1].revents)
            return RC_OK;
        if (fds[0].revents)
            TRY(listen_on(handle, ear, err));
    }
    return RC_OK;
}

static int postgres_ear(const struct backend_handle *follower, uint64_t *ret_connection)
{
    const struct postgres_handle *handle = postgres_of_const(follower);
    const struct postgres_handle *ear = handle->ear ? handle->ear : handle;
    *ret_connection = ear->connections;
    return ear->conn ? pq.PQsocket(ear->conn) : -1;
}

/* A connection that was lost is found by the thread, which reads then. */
static bool postgres_hear(struct backend_handle *follower, const struct backend_handle *writer)
{
    struct postgres_handle *handle = postgres_of(follower);
    struct postgres_handle *ear = handle->ear ? handle->ear : handle;
    handle->notices.heard = false;
    if (ear->conn && pq.PQconsumeInput(ear->conn))
        return heard_of_others(handle, ear, postgres_of_const(writer));
    postgres_disconnect(ear);
    handle->notices.missed = true;
    return true;
}

static bool postgres_told(struct backend_handle *follower, struct read *read)
{
    struct postgres_handle *handle = postgres_of(follower);
    return rc_ok(memory_check(handle->memory, NULL)) && notices_answer(&handle->notices, handle->memory, read);
}

static uint64_t postgres_seen_seq(const struct backend_handle *writer) { return postgres_of_const(writer)->seen_seq; }

/* ---- opening ---- */

static struct postgres_handle *handle_new(struct str url, enum backend_role role, bool lent)
{
    ARENA_SCOPE(scratch);
    struct postgres_handle *handle = heap_new(sizeof *handle);
    if (str_starts(url, STR("postgres:")))
        url = arena_printf(&scratch, "postgresql:%.*s", (int)url.n - 9, url.p + 9);
    handle->role = role;
    handle->lent = lent;
    handle->url = heap_new(url.n + 1);
    memcpy(handle->url, url.p, url.n);
    handle->id = id_new("w");
    return handle;
}

struct postgres_handle *postgres_handle(const char *place, enum backend_role role)
{
    ARENA_SCOPE(scratch);
    /* LISTEN does not go through a pooler that lends connections by transaction. */
    const char *direct = getenv("NOD_STORE_LISTEN");
    struct postgres_handle *handle = handle_new(arena_printf(&scratch, "postgres:%s", place), role, direct);
    handle->memory = memory_open(place);
    if (direct && role == BACKEND_FOLLOWER)
        handle->ear = handle_new(str_of(direct), role, false);
    return handle;
}

/* Closes and frees the handle, also one that never connected. */
void postgres_close(struct postgres_handle *handle)
{
    if (handle->ear)
        postgres_close(handle->ear);
    if (handle->memory)
        memory_close(handle->memory);
    postgres_disconnect(handle);
    notices_clear(&handle->notices);
    group_forget_sent(&handle->sent);
    free(handle->url);
    free(handle);
}

/* Does `once` until it succeeds, at the start. The server may come OPEN_MS after it was last there; a node that holds a
 * lock may take longer, and is waited for as long as it takes it to do what it does, within OPEN_LOCK_MS. */
static struct rc open_patiently(struct postgres_handle *handle,
                                struct rc (*once)(struct postgres_handle *handle, uint64_t *ret_seq, struct err *err),
                                uint64_t *ret_seq, struct err *err)
{
    int64_t pause_ms = 0, now_us = clock_steady_us();
    int64_t locked_until_us = now_us + (int64_t)OPEN_LOCK_MS * 1000, away_until_us = now_us + (int64_t)OPEN_MS * 1000;
    for (bool said = false;;) {
        struct rc rc = postgres_connect(handle, 0, err);
        if (rc_ok(rc))
            rc = once(handle, ret_seq, err);
        if (rc.code != ERR_UNAVAILABLE)
            return rc;
        postgres_disconnect(handle);
        if (handle->lock_missed && !said)
            log_line(LOG_WARN, "waiting for another node, which holds a lock of the database", LOG_C("why", err->text));
        said = said || handle->lock_missed;
        if (handle->lock_missed)
            away_until_us = clock_steady_us() + (int64_t)OPEN_MS * 1000;
        if (!postgres_pause(&pause_ms, handle->lock_missed ? locked_until_us : away_until_us))
            return rc;
    }
}

static struct rc forget_old_nodes(struct postgres_handle *handle, uint64_t *ret_seq, struct err *err)
{
    RESULT_SCOPE(old);
    (void)ret_seq;
    return handle->role != BACKEND_WRITER
               ? RC_OK
               : postgres_ask(handle, "DELETE FROM nodes WHERE at < now() - interval '30 days'", &old, err);
}

/* Only the writer and readers connect at once, so that a wrong url is reported when the server starts. */
static struct rc postgres_open(const char *place, enum backend_role role, struct backend_handle **ret_handle,
                               struct err *err)
{
    if (strlen(place) > LIMIT_PATH_BYTES)
        return err_set(err, ERR_INVALID, "the url of the database is too long");
    struct postgres_handle *handle = postgres_handle(place, role);
    bool connects = role == BACKEND_WRITER || role == BACKEND_READER; /* other roles connect when first needed */
    struct rc rc = connects ? open_patiently(handle, forget_old_nodes, NULL, err) : RC_OK;
    if (rc_bad(rc)) {
        postgres_close(handle);
        return rc;
    }
    *ret_handle = (struct backend_handle *)handle;
    return RC_OK;
}

/* The last event may be visible before it is durable at this node: it is made durable before it counts. */
static struct rc last_seq_once(struct postgres_handle *handle, uint64_t *ret_seq, struct err *err)
{
    RESULT_SCOPE(row);
    struct anchor last = {0};
    TRY(postgres_ask(handle, "SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1", &row, err));
    if (pq.PQntuples(row)) {
        last.seq = (uint64_t)row_int(row, 0, 0);
        if (!row_digest(row, 0, 1, &last.hash))
            return err_set(err, ERR_CORRUPT, "event %llu has no valid link", (unsigned long long)last.seq);
    }
    TRY(postgres_make_durable(handle, last.seq, err));
    memory_meet(handle->memory, &last);
    *ret_seq = last.seq;
    return RC_OK;
}

static struct rc postgres_last_seq(struct backend_handle *opaque, uint64_t *ret_seq, struct err *err)
{
    return open_patiently(postgres_of(opaque), last_seq_once, ret_seq, err);
}

static void close_opaque(struct backend_handle *opaque) { postgres_close(postgres_of(opaque)); }

extern const struct backend backend_postgres;
const struct backend backend_postgres = {
    .scheme = "postgres",
    .open = postgres_open,
    .close = close_opaque,
    .commit = postgres_commit,
    .send_ahead = postgres_send_ahead,
    .probe = postgres_probe,
    .last_seq = postgres_last_seq,
    .read = postgres_read,
    .wait = postgres_wait,
    .seen_seq = postgres_seen_seq,
    .ear = postgres_ear,
    .hear = postgres_hear,
    .told = postgres_told,
    .shed = postgres_shed,
    .note_key = postgres_note_key,
    .verify = postgres_verify,
};
