/* The way to an MCP server on the web (streamable HTTP): each message is a POST, its answer is JSON or an event stream.
 *
 * Requests run in threads of their own, so that none waits behind another; the handshake and notifications are sent in
 * order. The server's own stream (GET) is not listened to: what it asks or tells comes with the answers to requests.
 */
#include "cli/relay/proxy.h"

#include "agents/rpc.h"
#include "base/limits.h"
#include "http/http.h"

#include <stdlib.h>

enum { HEADERS_MAX = 24, SILENCE_S = 3600, RPC_UNREACHABLE = -32603, RPC_FORGOTTEN = -32001 };

struct proxy_web {
    const char *url;
    const char *given[HEADERS_MAX]; /* headers that the person named; NULL behind the last */
    pthread_mutex_t lock;           /* for everything below */
    char session[256], version[64];
};

struct sending {
    struct proxy *proxy;
    struct arena arena;
    struct str message, id;
};

/* One line: what JSON may have between its tokens becomes blanks. */
static void take_message(struct proxy *proxy, struct arena *arena, struct str text)
{
    char *line = arena_bytes(arena, text.n + 1);
    for (size_t i = 0; i < text.n; i++)
        line[i] = text.p[i] == '\n' || text.p[i] == '\r' ? ' ' : text.p[i];
    proxy_from_server(proxy, (struct str){line, text.n});
}

static bool take_event(void *arg, struct str type, struct str data)
{
    struct sending *sending = arg;
    ARENA_SCOPE(arena);
    if (!str_empty(data) && (str_empty(type) || str_is(type, "message")))
        take_message(sending->proxy, &arena, data);
    return true;
}

/* Answers the client that waits. */
static void fail(struct sending *sending, int code, struct str words)
{
    BUF_SCOPE(line, LIMIT_BODY_BYTES);
    if (str_empty(sending->id))
        return;
    rpc_error(&line, sending->id, code, words);
    proxy_from_server(sending->proxy, str_sub(buf_str(&line), 0, line.n - 1));
}

static const char **headers_of(struct proxy_web *web, struct arena *arena)
{
    const char **headers = arena_array(arena, const char *, HEADERS_MAX + 8);
    size_t n = 0;
    headers[n++] = "Content-Type: application/json";
    headers[n++] = "Accept: application/json, text/event-stream";
    for (size_t i = 0; web->given[i]; i++)
        headers[n++] = web->given[i];
    (void)pthread_mutex_lock(&web->lock);
    if (web->session[0])
        headers[n++] = arena_printf(arena, "Mcp-Session-Id: %s", web->session).p;
    if (web->version[0])
        headers[n++] = arena_printf(arena, "MCP-Protocol-Version: %s", web->version).p;
    (void)pthread_mutex_unlock(&web->lock);
    return headers;
}

/* Stores the session id and the protocol revision from the handshake's answer. */
static void remember(struct proxy_web *web, struct str session)
{
    (void)pthread_mutex_lock(&web->lock);
    if (!str_empty(session) && !str_c(session, web->session, sizeof web->session))
        web->session[0] = '\0';
    (void)pthread_mutex_unlock(&web->lock);
}

void proxy_web_version(struct proxy *proxy, struct str version)
{
    struct proxy_web *web = proxy->web;
    if (!web || str_empty(version))
        return;
    (void)pthread_mutex_lock(&web->lock);
    if (!str_c(version, web->version, sizeof web->version))
        web->version[0] = '\0';
    (void)pthread_mutex_unlock(&web->lock);
}

static void post(struct sending *sending)
{
    struct proxy *proxy = sending->proxy;
    struct fetch_line *line = fetch_line_new();
    struct fetch_header wanted = {.name = "mcp-session-id"};
    struct err err = {.code = ERR_OK};
    struct fetch fetch = {.arena = &sending->arena, .url = proxy->web->url, .body = sending->message,
                          .headers = headers_of(proxy->web, &sending->arena), .bytes_max = PROXY_LINE_BYTES,
                          .silence_seconds_max = SILENCE_S, .wanted = &wanted, .wanted_count = 1,
                          .event = take_event, .arg = sending};
    struct rc rc = fetch_run(line, &fetch, &err);
    fetch_line_free(line);
    remember(proxy->web, wanted.value);
    if (rc_bad(rc))
        fail(sending, RPC_UNREACHABLE, arena_printf(&sending->arena, "the MCP server: %s", err.text));
    else if (fetch.status == 404 && proxy->web->session[0])
        fail(sending, RPC_FORGOTTEN, STR("the MCP server has forgotten this session: begin anew"));
    else if (fetch.status >= 300)
        fail(sending, RPC_UNREACHABLE, arena_printf(&sending->arena, "the MCP server answers with status %ld",
                                                    fetch.status));
    else if (!str_empty(str_trim(fetch.answer)))
        take_message(proxy, &sending->arena, fetch.answer);
}

static void *post_and_leave(void *arg)
{
    struct sending *sending = arg;
    post(sending);
    arena_done(&sending->arena);
    free(sending);
    return NULL;
}

static bool send_message(struct proxy *proxy, struct str message)
{
    struct sending *sending = heap_new(sizeof *sending);
    struct mcp_message read;
    pthread_t thread;
    sending->proxy = proxy;
    sending->message = arena_str(&sending->arena, message);
    bool request = rc_ok(mcp_read(&sending->arena, sending->message, &read, NULL)) && !str_empty(read.method) &&
                   !str_empty(read.id);
    if (request)
        sending->id = read.id;
    if (request && !str_is(read.method, "initialize") &&
        pthread_create(&thread, NULL, post_and_leave, sending) == 0) {
        (void)pthread_detach(thread);
        return true;
    }
    (void)post_and_leave(sending);
    return true;
}

static void end(struct proxy *proxy) { (void)proxy; }

static const struct proxy_back back = {.send = send_message, .end = end};

/* NAME=VARIABLE: the value is in the environment, where no list of processes shows it. */
static struct rc read_header(struct proxy *proxy, const char *text, const char **ret_header, struct err *err)
{
    struct str variable, name = str_cut(str_of(text), '=', &variable);
    for (char **one = proxy->cli->environment; one && *one; one++) {
        struct str value, key = str_cut(str_of(*one), '=', &value);
        if (!str_eq(key, variable) || str_empty(name))
            continue;
        *ret_header = arena_printf(&proxy->cli->arena, "%.*s: %.*s", STR_ARG(name), STR_ARG(value)).p;
        if (!strpbrk(*ret_header, "\r\n"))
            return RC_OK;
    }
    return err_set(err, ERR_INVALID, "--header-env takes NAME=VARIABLE, and the variable must be set: '%s'", text);
}

struct rc proxy_web_start(struct proxy *proxy, const char *url, struct err *err)
{
    static struct proxy_web web = {.lock = PTHREAD_MUTEX_INITIALIZER};
    size_t at = 0, n = 0;
    if (!str_starts(str_of(url), STR("http://")) && !str_starts(str_of(url), STR("https://")))
        return err_set(err, ERR_INVALID, "--url takes http://… or https://…, not '%s'", url);
    for (const char *text; (text = option_each(proxy->cli, "header-env", &at));) {
        if (n == HEADERS_MAX - 1)
            return err_set(err, ERR_INVALID, "there are too many headers");
        TRY(read_header(proxy, text, &web.given[n++], err));
    }
    web.url = url;
    proxy->web = &web;
    proxy->back = &back;
    return RC_OK;
}
