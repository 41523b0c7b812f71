/* A server on the web: each message is a POST, its answer a JSON body or an event stream (streamable HTTP).
 *
 * Questions need no connection of their own to be kept: each caller makes one. Shared are the session that the
 * server named in its first answer, and the version that was agreed on. A session that the server has forgotten
 * (404) means that it did nothing: a new one is begun, and the question asked again once.
 */
#include "tools/mcp.h"

#include "base/lock.h"
#include "base/log.h"
#include "http/http.h"

#include <stdlib.h>

enum { HEADERS_MAX = 40, SESSION_BYTES_MAX = 256, GIVE_UP_SECONDS = 5 };

struct http_link {
    pthread_mutex_t lock;
    char session[SESSION_BYTES_MAX];
    char version[32];
    bool lost; /* the server does not know the session any more */
};

/* A question that is being asked. */
struct posting {
    struct mcp_exchange *x;
    struct arena *arena;
    const char *headers[HEADERS_MAX + 8];
    struct fetch fetch;
    struct fetch_header session;
    bool answered, too_large;
};

static void line_done(struct fetch_line **line) { fetch_line_free(*line); }

/* Nothing is connected yet: each message is a request of its own, and the server gives its session's id with the
 * first answer. */
static struct rc open_session(struct server *server, void **ret_link, struct err *err)
{
    struct http_link *link = heap_new(sizeof *link);
    (void)server;
    (void)err;
    CHECK(pthread_mutex_init(&link->lock, NULL) == 0);
    *ret_link = link;
    return RC_OK;
}

static void close_session(void *arg)
{
    struct http_link *link = arg;
    CHECK(pthread_mutex_destroy(&link->lock) == 0);
    free(link);
}

static bool alive(void *arg)
{
    struct http_link *link = arg;
    LOCK_SCOPE(&link->lock);
    return !link->lost;
}

/* Session ids go into a header: visible ASCII only. */
static bool is_word(struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.'))
            return false;
    }
    return true;
}

static void agreed(struct server *server, struct str version)
{
    struct http_link *link = server->link;
    LOCK_SCOPE(&link->lock);
    if (!is_word(version) || !str_c(version, link->version, sizeof link->version))
        link->version[0] = '\0';
}

/* ---- one request ---- */

/* Several threads may talk to one server; session and version change under the lock while they do. */
static void put_headers(const struct server *server, struct posting *p)
{
    struct http_link *link = server->link;
    size_t n = 0;
    for (size_t i = 0; i < server->header_count && i < HEADERS_MAX; i++)
        p->headers[n++] = server->headers[i];
    p->headers[n++] = "Content-Type: application/json";
    p->headers[n++] = "Accept: application/json, text/event-stream";
    p->headers[n++] = "User-Agent: nod/" NOD_VERSION;
    CHECK(pthread_mutex_lock(&link->lock) == 0);
    if (link->session[0])
        p->headers[n++] = arena_printf(p->arena, "Mcp-Session-Id: %s", link->session).p;
    if (link->version[0])
        p->headers[n++] = arena_printf(p->arena, "MCP-Protocol-Version: %s", link->version).p;
    CHECK(pthread_mutex_unlock(&link->lock) == 0);
    p->headers[n] = NULL;
}

/* Each event of the server's stream: a message before its answer, which is passed over, or the answer. False ends the
 * stream: the answer has come, or the message is too large. */
static bool on_event(void *arg, struct str type, struct str data)
{
    struct posting *p = arg;
    struct mcp_reply message;
    ARENA_SCOPE(scratch); /* other messages may come without end, and are freed at once */
    (void)type;
    p->too_large = data.n > MCP_MESSAGE_BYTES_MAX;
    if (p->too_large)
        return false;
    if (data.n == 0 || rc_bad(mcp_message_read(&scratch, data, &message, NULL)) || message.id != p->x->id)
        return true; /* ignores progress, logs, and requests: we offer servers nothing that they could request */
    CHECK(rc_ok(mcp_message_read(p->arena, arena_str(p->arena, data), &p->x->answer, NULL)));
    p->answered = true;
    return false;
}

/* Blocks this thread. The connection is used once: servers are asked seldom, and a connection that was kept might be
 * dead. */
static struct rc post(struct server *server, struct posting *p, struct str message, struct err *err)
{
    __attribute__((cleanup(line_done))) struct fetch_line *line = fetch_line_new();
    struct mcp_exchange *x = p->x;
    put_headers(server, p);
    p->session.name = "mcp-session-id";
    p->fetch = (struct fetch){
        .arena = p->arena,
        .url = server->url,
        .headers = p->headers,
        .body = str_trim(message),
        .bytes_max = MCP_MESSAGE_BYTES_MAX,
        .silence_seconds_max = (x ? x->timeout_ms : GIVE_UP_SECONDS * 1000) / 1000 + 1,
        .seconds_max = (x ? x->timeout_ms : GIVE_UP_SECONDS * 1000) / 1000 + 1,
        .cancelled = x ? x->cancelled : NULL,
        .packed = true,
        .wanted = &p->session,
        .wanted_count = 1,
        .event = x ? on_event : NULL,
        .arg = p,
    };
    return fetch_run(line, &p->fetch, err);
}

static void notify(struct server *server, struct str message)
{
    ARENA_SCOPE(arena);
    struct posting p = {.arena = &arena};
    (void)post(server, &p, message, NULL);
}

static void give_up(struct server *server, uint64_t id, const char *why)
{
    ARENA_SCOPE(arena);
    BUF_SCOPE(buf, 1000);
    struct str params = arena_printf(&arena, "{\"requestId\":%llu,\"reason\":\"%s\"}", (unsigned long long)id, why);
    mcp_put_notification(&buf, "notifications/cancelled", params);
    notify(server, buf_str(&buf));
}

/* ---- asking ---- */

static void take_session(struct http_link *link, const struct posting *p)
{
    LOCK_SCOPE(&link->lock);
    if (p->session.value.n && !link->session[0] && !str_c(p->session.value, link->session, sizeof link->session))
        link->session[0] = '\0';
}

/* A forgotten session is ERR_NOT_FOUND: the caller begins a new one and asks again once. */
static struct rc take_answer(struct server *server, struct posting *p, struct err *err)
{
    struct http_link *link = server->link;
    long status = p->fetch.status;
    CHECK(pthread_mutex_lock(&link->lock) == 0);
    bool forgotten = status == 404 && link->session[0];
    link->lost = link->lost || forgotten;
    CHECK(pthread_mutex_unlock(&link->lock) == 0);
    if (forgotten)
        return err_set(err, ERR_NOT_FOUND, "the server %.*s has forgotten the session", STR_ARG(server->name));
    if (p->answered)
        return RC_OK;
    if (p->too_large)
        return err_set(err, ERR_UNAVAILABLE, "the server %.*s says more than can be taken", STR_ARG(server->name));
    if (status < 200 || status >= 300)
        return err_set(err, ERR_UNAVAILABLE, "the server %.*s answers with status %ld", STR_ARG(server->name), status);
    TRY(mcp_message_read(p->arena, p->fetch.answer, &p->x->answer, err));
    if (p->x->answer.id != p->x->id)
        return err_set(err, ERR_UNAVAILABLE, "the server %.*s answers something else", STR_ARG(server->name));
    return RC_OK;
}

/* Without an answer the server is told that nobody waits any more. */
static struct rc exchange_posts(struct server *server, struct mcp_exchange *x, struct err *err)
{
    struct posting p = {.x = x, .arena = x->arena};
    struct rc rc = post(server, &p, x->message, err);
    if (rc_ok(rc)) {
        take_session(server->link, &p);
        return take_answer(server, &p, err);
    }
    if (is_set(x->cancelled)) {
        give_up(server, x->id, "cancelled");
        return err_set(err, ERR_CONFLICT, "Cancelled while it ran");
    }
    give_up(server, x->id, "no answer");
    return err_wrap(err, (struct rc){ERR_UNAVAILABLE}, "the server %.*s", STR_ARG(server->name));
}

const struct transport transport_http = {
    .open = open_session,
    .exchange = exchange_posts,
    .notify = notify,
    .agreed = agreed,
    .alive = alive,
    .close = close_session,
};
