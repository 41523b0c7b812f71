/* Strangers: TCP connections on which nobody was identified yet, oldest first.
 *
 * They are few (http_options.strangers_max, and so many of one address), and what they make us hold is little: beyond
 * that the oldest of them leaves. One that has just come has a moment to say who it is; while all have just come,
 * further ones wait in the kernel's queue. The Unix socket is for people of this machine, who are no strangers.
 */
#include "http/strangers.h"

#include "base/list.h"
#include "base/log.h"
#include "base/small.h"
#include "http/output.h"
#include "http/server.h"

#include <stdlib.h>

enum { MOMENT_MS = 1000, WARN_EVERY_MS = 60000 };

/* What is only known of a connection while it is a stranger's. */
struct http_stranger {
    struct http_stranger *next, *previous;
    struct http_connection *connection;
    int64_t came_ms;
    uint8_t address[16];
};

/* ---- counted by address ---- */

static struct str key_of(const struct http_stranger *stranger)
{
    return (struct str){(const char *)stranger->address, sizeof stranger->address};
}

static void learn_address(struct http_stranger *stranger)
{
    struct sockaddr_storage peer = {0};
    int n = sizeof peer;
    if (uv_tcp_getpeername(&stranger->connection->uv.tcp, (struct sockaddr *)&peer, &n) != 0)
        return;
    if (peer.ss_family == AF_INET)
        memcpy(stranger->address, &((struct sockaddr_in *)&peer)->sin_addr, 4);
    else
        memcpy(stranger->address, &((struct sockaddr_in6 *)&peer)->sin6_addr, 16);
}

static size_t *count_of(struct http_server *server, const struct http_stranger *stranger)
{
    size_t *count = map_get(&server->strangers.by_address, key_of(stranger));
    if (!count) {
        count = heap_new(sizeof *count);
        (void)map_put(&server->strangers.by_address, key_of(stranger), count);
    }
    return count;
}

/* ---- who leaves ---- */

static bool may_leave(const struct http_stranger *stranger)
{
    const struct http_connection *connection = stranger->connection;
    int64_t age_ms = (int64_t)uv_now(connection->server->uv) - stranger->came_ms;
    return age_ms >= MOMENT_MS && connection->phase != PHASE_BUSY && connection->phase != PHASE_CLOSED &&
           !connection->processing;
}

static void warn(struct http_server *server, const char *words, uint64_t count)
{
    int64_t now_ms = (int64_t)uv_now(server->uv);
    if (now_ms < server->strangers.warn_ms)
        return;
    server->strangers.warn_ms = now_ms + WARN_EVERY_MS;
    log_line(LOG_WARN, words, LOG_I("count", count), LOG_I("connections", server->figures.connections));
}

/* Closes the oldest stranger that may be closed: one of the same address as `like` if that is given, and with
 * `holding` one that has unread answers. */
static bool send_away(struct http_server *server, const struct http_stranger *like, bool holding)
{
    struct http_stranger *at = server->strangers.first;
    while (at && (!may_leave(at) || (like && !str_eq(key_of(at), key_of(like))) ||
                  (holding && !http_output_held(at->connection))))
        at = at->next;
    if (!at)
        return false;
    server->figures.refused_total++;
    http_connection_close(at->connection);
    return true;
}

/* ---- coming and going ---- */

/* Whether a new connection may be accepted now, after the oldest stranger was closed if need be. */
bool http_strangers_room(struct http_server *server)
{
    const struct http_options *options = &server->options;
    bool full = server->strangers.count >= options->strangers_max;
    if (server->tcp_connections >= options->connections_max) {
        warn(server, "the limit of connections is reached: further ones wait", server->tcp_connections);
        return send_away(server, NULL, false);
    }
    if (!full)
        return true;
    warn(server, "many connections without a token: the oldest are closed", server->strangers.count);
    return send_away(server, NULL, false);
}

/* A connection is a stranger's until its first valid token. With too many of one address, one of them is closed. */
void http_strangers_enter(struct http_connection *connection)
{
    struct http_server *server = connection->server;
    struct strangers *strangers = &server->strangers;
    CHECK(!connection->stranger && !connection->local);
    struct http_stranger *stranger = small_new(sizeof *stranger);
    connection->stranger = stranger;
    stranger->connection = connection;
    learn_address(stranger);
    stranger->came_ms = (int64_t)uv_now(server->uv);
    stranger->previous = strangers->last;
    LIST_ADD(strangers, stranger);
    strangers->count++;
    if (++*count_of(server, stranger) > server->options.strangers_per_address_max)
        (void)send_away(server, stranger, false);
}

void http_strangers_leave(struct http_connection *connection)
{
    struct strangers *strangers = &connection->server->strangers;
    struct http_stranger *stranger = connection->stranger;
    if (!stranger)
        return;
    connection->stranger = NULL;
    if (stranger->previous)
        stranger->previous->next = stranger->next;
    else
        strangers->first = stranger->next;
    if (stranger->next)
        stranger->next->previous = stranger->previous;
    else
        strangers->last = stranger->previous;
    size_t held = http_output_held(connection);
    CHECK(strangers->count && strangers->held >= held);
    strangers->count--;
    strangers->held -= held;
    size_t *count = count_of(connection->server, stranger);
    CHECK(*count);
    if (--*count == 0)
        free(map_take(&strangers->by_address, key_of(stranger)));
    small_free(stranger, sizeof *stranger);
}

void http_known(struct http_request *request)
{
    if (request->connection && !request->answered)
        http_strangers_leave(request->connection);
}

/* ---- memory held for clients without a token ---- */

/* Counts bytes of answers that the client has not read. Over the limit the oldest stranger is closed. */
void http_strangers_hold(struct http_connection *connection, size_t bytes)
{
    struct http_server *server = connection->server;
    server->held += bytes;
    if (connection->stranger)
        server->strangers.held += bytes;
    if (connection->stranger && server->strangers.held > server->options.strangers_bytes_max) {
        warn(server, "clients without a token do not read their answers: the oldest are closed",
             server->strangers.held);
        if (!send_away(server, NULL, true))
            http_connection_break(connection);
    }
    if (server->held > server->options.answers_max)
        http_connection_break(connection);
}

void http_strangers_release(struct http_connection *connection, size_t bytes)
{
    struct http_server *server = connection->server;
    CHECK(server->held >= bytes);
    server->held -= bytes;
    if (connection->stranger)
        server->strangers.held -= bytes;
}

void http_strangers_done(struct http_server *server)
{
    CHECK(server->strangers.count == 0);
    map_free_values(&server->strangers.by_address);
}
