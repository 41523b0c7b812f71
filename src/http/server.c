/* The server: who may stay how long, and the way from start to stop. Listening is in listen.c. */
#include "http/server.h"

#include "base/limits.h"
#include "base/list.h"
#include "http/due.h"
#include "http/listen.h"
#include "http/owners.h"
#include "http/strangers.h"
#include "http/tls.h"
#include "io/loop.h"

#include <signal.h>
#include <stdlib.h>

/* ---- the watch lists ---- */

static void unlink_watch(struct watch_list *list, struct http_connection *connection)
{
    if (connection->previous)
        connection->previous->next = connection->next;
    else
        list->first = connection->next;
    if (connection->next)
        connection->next->previous = connection->previous;
    else
        list->last = connection->previous;
    connection->next = connection->previous = NULL;
}

static void append_watch(struct watch_list *list, struct http_connection *connection)
{
    connection->previous = list->last;
    LIST_ADD(list, connection);
}

/* Serves each connection that is ready once; those that become ready meanwhile wait for the next round. */
static void on_ready(uv_idle_t *idle)
{
    struct http_server *server = idle->data;
    struct watch_list *list = &server->watches[WATCH_READY];
    size_t turns = 0;
    for (struct http_connection *at = list->first; at; at = at->next)
        turns++;
    for (; turns && list->first; turns--)
        http_connection_ready(list->first);
    if (!list->first)
        (void)uv_idle_stop(idle);
}

void http_watch_enter(struct http_connection *connection, enum http_watch watch)
{
    append_watch(&connection->server->watches[watch], connection);
    connection->watch = (uint8_t)watch;
    connection->since_ms = (int64_t)uv_now(connection->server->uv);
}

void http_watch_leave(struct http_connection *connection)
{
    unlink_watch(&connection->server->watches[connection->watch], connection);
}

/* Each state of a connection has a list that is ordered by time, so that a sweep looks only at those whose time
 * may be over. */
void http_watch(struct http_connection *connection, enum http_watch watch)
{
    struct http_server *server = connection->server;
    int64_t now_ms = (int64_t)uv_now(server->uv);
    if (connection->watch == watch && connection->since_ms == now_ms)
        return;
    unlink_watch(&server->watches[connection->watch], connection);
    append_watch(&server->watches[watch], connection);
    connection->watch = (uint8_t)watch;
    connection->since_ms = now_ms;
    if (watch == WATCH_READY)
        (void)uv_idle_start(server->ready, on_ready);
}

/* Closes connections that have been in a state for too long. Each list is in the order of time, so the loop ends at
 * the first that may stay. `late` always moves or restamps a connection. */
static void on_sweep(void *arg)
{
    struct http_server *server = arg;
    int64_t now_ms = (int64_t)uv_now(server->uv);
    for (int i = WATCH_READY + 1; i < WATCH_COUNT; i++) {
        struct watch_list *list = &server->watches[i];
        while (list->first && now_ms - list->first->since_ms >= list->period_ms) {
            struct http_connection *connection = list->first;
            list->late(connection);
            CHECK(list->first != connection || connection->since_ms >= now_ms);
        }
    }
    http_listeners_resume(server);
    server->sweeping = server->figures.connections > 0;
    if (server->sweeping)
        timer_start(server->sweep, server->sweep_ms);
}

void http_server_sweep(struct http_server *server)
{
    if (server->sweeping)
        return;
    server->sweeping = true;
    timer_start(server->sweep, server->sweep_ms);
}

static void set_periods(struct http_server *server)
{
    const struct http_options *options = &server->options;
#define X(name, period, when_late) \
    server->watches[WATCH_##name] = (struct watch_list){.period_ms = (period), .late = when_late};
    HTTP_WATCHES(X)
#undef X
}

/* Often enough to be at most a quarter late, and once in a second at most unless a test wants it. */
static int64_t sweep_ms_for(const struct http_options *options)
{
    const int64_t periods[] = {options->header_timeout_ms, options->body_timeout_ms, options->idle_timeout_ms,
                               options->heartbeat_ms};
    int64_t ms = 1000;
    for (size_t i = 0; i < sizeof periods / sizeof *periods; i++)
        if (periods[i] / 4 < ms)
            ms = periods[i] / 4;
    return ms > 10 ? ms : 10;
}

/* ---- life ---- */

static int64_t or_else(int64_t given, int64_t otherwise) { return given > 0 ? given : otherwise; }

static void set_limits(struct http_options *options)
{
    if (options->connections_max == 0)
        options->connections_max = LIMIT_CONNECTIONS;
    if (options->strangers_max == 0)
        options->strangers_max = LIMIT_STRANGERS;
    if (options->strangers_per_address_max == 0)
        options->strangers_per_address_max = LIMIT_STRANGERS_PER_ADDRESS;
    if (options->strangers_bytes_max == 0)
        options->strangers_bytes_max = LIMIT_STRANGERS_BYTES;
    if (options->answers_max == 0)
        options->answers_max = LIMIT_ANSWERS_BYTES;
    if (options->bodies_max == 0)
        options->bodies_max = LIMIT_BODIES_BYTES;
}

/* Periods of 0 become the defaults here. */
struct rc http_server_new(struct loop *loop, const struct http_options *options,
                          struct http_server **ret_server, struct err *err)
{
    CHECK(options->handle);
    /* A client that leaves while we write is an error of that write, not the end of the process. */
    if (signal(SIGPIPE, SIG_IGN) == SIG_ERR)
        return err_set(err, ERR_INTERNAL, "cannot ignore SIGPIPE");
    struct http_server *server = heap_new(sizeof *server);
    server->loop = loop;
    server->uv = loop_uv(loop);
    server->options = *options;
    server->options.header_timeout_ms = or_else(options->header_timeout_ms, 5000);
    server->options.body_timeout_ms = or_else(options->body_timeout_ms, 30000);
    server->options.idle_timeout_ms = or_else(options->idle_timeout_ms, 120000);
    server->options.heartbeat_ms = or_else(options->heartbeat_ms, 15000);
    server->options.stop_timeout_ms = or_else(options->stop_timeout_ms, 5000);
    set_limits(&server->options);
    set_periods(server);
    server->sweep_ms = sweep_ms_for(&server->options);
    server->head = buf_init(ANSWER_HEAD_BYTES_MAX);
    server->dues = http_dues_new(loop);
    server->beat = shared_new(STR(":\n\n"));
    server->ping = shared_new(STR("\x89\x00"));
    server->sweep = timer_new(loop, on_sweep, server);
    server->ready = heap_new(sizeof *server->ready);
    CHECK(uv_idle_init(server->uv, server->ready) == 0);
    server->ready->data = server;
    *ret_server = server;
    return RC_OK;
}

struct http_figures http_figures(const struct http_server *server) { return server->figures; }

static void free_idle(uv_handle_t *handle) { free(handle); }

static void free_server(struct http_server *server)
{
    CHECK(server->handles == 0);
    http_strangers_done(server);
    buf_done(&server->head);
    shared_unref(server->beat);
    shared_unref(server->ping);
    tls_close(server->tls);
    free(server);
}

/* `act` must take the connection out of the list: what it calls may change the rest of it. */
static void each(struct http_server *server, enum http_watch watch, void (*act)(struct http_connection *))
{
    struct watch_list *list = &server->watches[watch];
    while (list->first) {
        struct http_connection *connection = list->first;
        act(connection);
        CHECK(connection->watch != watch);
    }
}

static void each_open(struct http_server *server, void (*act)(struct http_connection *))
{
    for (int i = 0; i < WATCH_CLOSED; i++)
        each(server, (enum http_watch)i, act);
}

static void on_stopped(void *arg)
{
    struct http_server *server = arg;
    if (server->handles) { /* the time for an orderly end is over */
        each_open(server, http_connection_close);
        return;
    }
    if (server->ended)
        server->ended(server->ended_arg);
}

/* A handle of libuv has closed; the last one ends the stop. */
void http_server_released(struct http_server *server)
{
    CHECK(server->handles > 0);
    server->handles--;
    if (server->handles)
        return;
    if (server->freed)
        free_server(server);
    else if (server->stopping)
        timer_start(server->patience, 0);
}

/* No new connections; requests that are being answered have `stop_timeout_ms`, streams are ended. */
void http_server_stop(struct http_server *server, void (*ended)(void *arg), void *arg)
{
    CHECK(!server->stopping);
    server->stopping = true;
    server->ended = ended;
    server->ended_arg = arg;
    server->patience = timer_new(server->loop, on_stopped, server);
    server->watches[WATCH_LINGER].period_ms = LINGER_STOPPING_MS;
    http_listeners_close(server);
    each(server, WATCH_IDLE, http_connection_close);
    each(server, WATCH_SHAKE, http_connection_close);
    each(server, WATCH_HEAD, http_connection_close);
    each(server, WATCH_STREAM, http_connection_end);
    each(server, WATCH_SOCKET, http_socket_stop);
    timer_start(server->patience, server->handles ? server->options.stop_timeout_ms : 0);
}

/* Callbacks of libuv still come for handles that are closing: the memory goes with the last of them. */
void http_server_free(struct http_server *server)
{
    CHECK(!server->freed);
    server->freed = true;
    http_listeners_close(server);
    each_open(server, http_connection_close);
    http_dues_free(server->dues);
    timer_free(server->sweep);
    if (server->patience)
        timer_free(server->patience);
    uv_close((uv_handle_t *)server->ready, free_idle);
    if (server->handles == 0)
        free_server(server);
}
