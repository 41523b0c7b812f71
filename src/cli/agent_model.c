/* The way of a boxed agent to its model, with the key outside of the box.
 *
 * The agent in the box talks plain HTTP to a port of its own loopback device (ANTHROPIC_BASE_URL and its like). Each
 * connection is served here, outside: one request is read, sent on to the real address with the key that the box never
 * sees, and the answer is written back, events one by one as they come. Headers with credentials are not taken from
 * the box. */
#include "cli/agent_box.h"

#include "http/http.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>

enum {
    HEAD_BYTES_MAX = 64 << 10,
    BODY_BYTES_MAX = 64 << 20,
    ANSWER_BYTES_MAX = 64 << 20,
    SILENCE_SECONDS = 600,
    HEADERS_MAX = 64,
    LOOK_MS = 100,
    READ_LOOKS = 600,
};

/* One request of the agent to its model, passed on with the key that the agent does not have. */
struct call_to_model {
    struct arena arena;
    const struct model_proxy *proxy;
    int client;
    const atomic_bool *ended;
    struct buf in;
    size_t head_bytes;
    bool started;      /* the answer has begun */
    struct fetch fetch;
};

static bool ready(const struct call_to_model *call, short events)
{
    struct pollfd look = {.fd = call->client, .events = events};
    return ANY(int i = 0; i < READ_LOOKS && !atomic_load(call->ended); i++, poll(&look, 1, LOOK_MS) > 0);
}

/* Waits while the client does not read, and gives up when the box has ended. */
static bool send_all(const struct call_to_model *call, struct str bytes)
{
    while (bytes.n) {
        ssize_t n = send(call->client, bytes.p, bytes.n, MSG_NOSIGNAL);
        if (n > 0)
            bytes = str_sub(bytes, (size_t)n, bytes.n);
        else if ((n < 0 && errno != EAGAIN && errno != EINTR) || !ready(call, POLLOUT))
            return false;
    }
    return true;
}

static bool read_more(struct call_to_model *call)
{
    enum { PIECE = 64 << 10 };
    for (;;) {
        char *room = buf_room(&call->in, PIECE);
        ssize_t n = room ? recv(call->client, room, PIECE, 0) : 0;
        if (n > 0) {
            call->in.n += (size_t)n;
            return true;
        }
        if (n == 0 || (errno != EAGAIN && errno != EINTR) || !ready(call, POLLIN))
            return false;
    }
}

/* ---- the request ---- */

static bool read_head(struct call_to_model *call)
{
    const char *end = NULL;
    while (!(end = call->in.n ? memmem(call->in.p, call->in.n, "\r\n\r\n", 4) : NULL))
        if (call->in.n > HEAD_BYTES_MAX || !read_more(call))
            return false;
    call->head_bytes = (size_t)(end - call->in.p) + 4;
    return true;
}

/* Headers about this connection, or about who asks. */
static bool is_ours(struct str name)
{
    static const char *const names[] = {"host", "connection", "content-length", "x-api-key", "authorization",
                                        "x-goog-api-key", "accept-encoding", "transfer-encoding", "expect", "cookie"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_same_letters(name, str_of(names[i])))
            return true;
    return name.n > 6 && str_same_letters(str_sub(name, 0, 6), STR("proxy-"));
}

/* A request whose length is not plain gets one that is over every limit, and so is refused. */
static const char **headers_of(struct call_to_model *call, struct str lines, uint64_t *ret_length)
{
    const char **headers = arena_array(&call->arena, const char *, HEADERS_MAX + 2);
    size_t count = 0;
    *ret_length = 0;
    while (lines.n && count < HEADERS_MAX) {
        struct str line = str_cut(lines, '\n', &lines), value;
        line = str_trim(line);
        struct str name = str_cut(line, ':', &value);
        if (str_same_letters(name, STR("content-length")) && !str_to_u64(str_trim(value), ret_length))
            *ret_length = UINT64_MAX;
        if (str_same_letters(name, STR("transfer-encoding")))
            *ret_length = UINT64_MAX;
        if (name.n && name.n < line.n && !is_ours(name))
            headers[count++] = arena_c(&call->arena, line);
    }
    headers[count++] = call->proxy->key_header;
    headers[count] = NULL;
    return headers;
}

/* The client is the agent in the box: method, target and length are checked before anything is sent on with the key.
 */
static bool read_request(struct call_to_model *call)
{
    struct str rest, line, target;
    uint64_t length;
    if (!read_head(call))
        return false;
    struct str head = arena_str(&call->arena, str_sub(buf_str(&call->in), 0, call->head_bytes));
    line = str_trim(str_cut(head, '\n', &rest));
    struct str method = str_cut(line, ' ', &target);
    target = str_cut(target, ' ', &line);
    call->fetch.headers = headers_of(call, rest, &length);
    if ((!str_is(method, "POST") && !str_is(method, "GET") && !str_is(method, "HEAD")) || length > BODY_BYTES_MAX ||
        !str_starts(target, STR("/")))
        return false;
    while (call->in.n < call->head_bytes + length)
        if (!read_more(call))
            return false;
    call->fetch.url = arena_printf(&call->arena, "%s%.*s", call->proxy->url, STR_ARG(target)).p;
    call->fetch.body = str_sub(buf_str(&call->in), call->head_bytes, call->head_bytes + (size_t)length);
    return true;
}

/* ---- the answer ---- */

/* Events of the model's stream are passed on one by one, as they come. False ends the request. */
static bool on_event(void *arg, struct str type, struct str data)
{
    struct call_to_model *call = arg;
    BUF_SCOPE(event, ANSWER_BYTES_MAX);
    BUF_SCOPE(chunk, ANSWER_BYTES_MAX);
    if (!call->started && !send_all(call, STR("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                                              "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n")))
        return false;
    call->started = true;
    if (!str_empty(type) && !str_is(type, "message")) /* "message" is the default; Gemini refuses the line */
        buf_printf(&event, "event: %.*s\n", STR_ARG(type));
    for (struct str rest = data; rest.n || data.n == 0;) {
        BUF_ADD(&event, STR("data: "), str_cut(rest, '\n', &rest), STR("\n"));
        if (rest.n == 0)
            break;
    }
    buf_putc(&event, '\n');
    buf_printf(&chunk, "%zx\r\n", event.n);
    BUF_ADD(&chunk, buf_str(&event), STR("\r\n"));
    return !chunk.over && send_all(call, buf_str(&chunk));
}

/* An error of ours has the form of the model's own errors, which agents know how to show. */
static void write_answer(struct call_to_model *call, struct rc rc, const struct err *err)
{
    BUF_SCOPE(head, 4096);
    struct str body = rc_ok(rc) ? call->fetch.answer : STR_NONE;
    if (call->started) {
        if (rc_ok(rc)) /* after an error the last chunk is not sent, so that the client notices the break */
            (void)send_all(call, STR("0\r\n\r\n"));
        return;
    }
    if (rc_bad(rc))
        body = arena_printf(&call->arena, "{\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"nod: "
                                          "the model cannot be reached: %s\"}}", err->text);
    buf_printf(&head, "HTTP/1.1 %ld %s\r\nContent-Type: %.*s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
               rc_ok(rc) ? call->fetch.status : 502, rc_ok(rc) ? "Answer" : "Bad Gateway",
               STR_ARG(rc_ok(rc) && call->fetch.wanted[0].value.n ? call->fetch.wanted[0].value
                                                                   : STR("application/json")), body.n);
    if (send_all(call, buf_str(&head)))
        (void)send_all(call, body);
}

/* On a thread of the proxy, one for each connection; the connection is closed by the caller. One request per
 * connection. */
void model_proxy_serve(const struct model_proxy *proxy, int client, const atomic_bool *ended)
{
    struct call_to_model call = {.proxy = proxy, .client = client, .ended = ended,
                                 .in = buf_init(HEAD_BYTES_MAX + (size_t)BODY_BYTES_MAX)};
    struct fetch_header wanted[] = {{.name = "content-type"}};
    struct err err = {.code = ERR_OK};
    call.fetch = (struct fetch){.arena = &call.arena, .bytes_max = ANSWER_BYTES_MAX, .event = on_event, .arg = &call,
                                .silence_seconds_max = SILENCE_SECONDS, .cancelled = ended, .wanted = wanted,
                                .wanted_count = 1};
    if (read_request(&call)) {
        struct fetch_line *line = fetch_line_new();
        struct rc rc = fetch_run(line, &call.fetch, &err);
        write_answer(&call, rc, &err);
        fetch_line_free(line);
    } else {
        (void)send_all(&call, STR("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"));
    }
    buf_done(&call.in);
    arena_done(&call.arena);
}
