/* The way to an MCP server on the web (streamable HTTP): each message is a POST, its answer is JSON or an event stream.
 *
 * Requests run in threads of their own, so that none waits behind another; the handshake and notifications are sent in
 * order. An answer that breaks off goes on from its last event (GET), if the server numbers its events. A server that
 * knows no POST at the beginning is spoken to as in 2024: see proxy_stream.c. Since 2026 a request is cancelled by
 * closing its connection.
 */
#include "cli/relay/proxy_web.h"

#include "agents/rpc.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/lock.h"
#include "cli/local.h"

#include <unistd.h>

enum { RPC_UNREACHABLE = -32603, RPC_FORGOTTEN = -32001, RESUMES_MAX = 60, RESUME_S_MAX = 10 };

/* A message to the server while its answer is read; owned by its thread. */
struct proxy_sending {
    struct proxy_sending *next;
    struct proxy *proxy;
    struct arena arena;
    struct str message, id;     /* id: empty: nobody waits for an answer */
    const char *const *more;    /* headers of its own; NULL is behind the last */
    atomic_bool cancelled;
    struct fetch fetch;
    char event[WEB_ID_BYTES];   /* id of the last event of the answer */
    bool begins;                /* the message is `initialize` */
    bool answered;
};

/* Hands on a message as one line: newlines between JSON tokens become blanks. */
void proxy_web_take(struct proxy *proxy, struct str text)
{
    ARENA_SCOPE(arena);
    char *line = arena_bytes(&arena, text.n + 1);
    for (size_t i = 0; i < text.n; i++)
        line[i] = text.p[i] == '\n' || text.p[i] == '\r' ? ' ' : text.p[i];
    proxy_from_server(proxy, (struct str){line, text.n});
}

void proxy_web_keep_event(char event[WEB_ID_BYTES], struct str id)
{
    if (!str_empty(id) && !str_c(id, event, WEB_ID_BYTES))
        event[0] = '\0';
}

/* Whether the text, which we may not be able to read, answers the message. */
static bool is_answer(struct proxy_sending *sending, struct str text)
{
    ARENA_SCOPE(arena);
    const struct json *json;
    struct str id;
    bool is_request, found = false;
    if (str_empty(sending->id))
        return false;
    if (rc_bad(json_parse_given(&arena, text, &json, NULL)))
        return rpc_peek(&arena, text, &id, &is_request) && !is_request && str_eq(id, sending->id);
    for (const struct json *one = json->type == JSON_ARRAY ? json->first : json; one && !found; one = one->next) {
        const struct json *its = json_get(one, "id");
        found = its && str_eq(its->raw, sending->id) && !json_get(one, "method");
    }
    return found;
}

static bool take_event(void *arg, struct str type, struct str data)
{
    struct proxy_sending *sending = arg;
    proxy_web_keep_event(sending->event, sending->fetch.event_id);
    if (str_empty(data) || !str_is(type, "message"))
        return true;
    sending->answered = sending->answered || is_answer(sending, data);
    proxy_web_take(sending->proxy, data);
    return !sending->answered; /* a server that leaves the stream open would keep our thread */
}

/* Answers the client that waits. */
static void fail(struct proxy_sending *sending, int code, struct str words)
{
    BUF_SCOPE(line, LIMIT_BODY_BYTES);
    if (str_empty(sending->id))
        return;
    rpc_error(&line, sending->id, code, words);
    proxy_from_server(sending->proxy, str_sub(buf_str(&line), 0, line.n - 1));
}

const char **proxy_web_headers(struct proxy_web *web, struct arena *arena, const char *last_event,
                               const char *const *more)
{
    const char **headers = arena_array(arena, const char *, WEB_HEADERS_MAX + WEB_REPEATED_MAX + 8);
    size_t n = 0;
    headers[n++] = "Content-Type: application/json";
    headers[n++] = "Accept: application/json, text/event-stream";
    for (size_t i = 0; web->given[i]; i++)
        headers[n++] = web->given[i];
    (void)pthread_mutex_lock(&web->lock);
    if (web->session[0])
        headers[n++] = arena_printf(arena, "Mcp-Session-Id: %s", web->session).p;
    if (web->version[0] && !(more && more[0]))
        headers[n++] = arena_printf(arena, "MCP-Protocol-Version: %s", web->version).p;
    (void)pthread_mutex_unlock(&web->lock);
    if (last_event[0])
        headers[n++] = arena_printf(arena, "Last-Event-ID: %s", last_event).p;
    for (size_t i = 0; more && more[i]; i++)
        headers[n++] = more[i];
    return headers;
}

/* Stores the session id and the protocol revision from the handshake's answer. */
static void remember(struct proxy_web *web, struct str session)
{
    LOCK_SCOPE(&web->lock);
    if (!str_empty(session) && !str_c(session, web->session, sizeof web->session))
        web->session[0] = '\0';
}

void proxy_web_version(struct proxy *proxy, struct str version)
{
    struct proxy_web *web = proxy->web;
    if (!web || str_empty(version))
        return;
    LOCK_SCOPE(&web->lock);
    if (!proxy_web_plain(version) || !str_c(version, web->version, sizeof web->version))
        web->version[0] = '\0';
}

/* A handshake begins a session: what was agreed on in the last one does not hold any more. */
static void forget(struct proxy_web *web)
{
    LOCK_SCOPE(&web->lock);
    web->session[0] = web->version[0] = '\0';
}

/* One request. Without `resume` the message is posted; with it, the answer goes on behind its last event. */
static struct rc run(struct proxy_sending *sending, bool resume, struct err *err)
{
    struct proxy_web *web = sending->proxy->web;
    struct fetch_line *line = fetch_line_new();
    struct fetch_header wanted = {.name = "mcp-session-id"};
    const char **headers = proxy_web_headers(web, &sending->arena, resume ? sending->event : "", sending->more);
    sending->fetch = (struct fetch){.arena = &sending->arena, .url = web->endpoint ? web->endpoint : web->url,
                                    .body = resume ? STR_NONE : sending->message, .bytes_max = PROXY_LINE_BYTES,
                                    .headers = headers, .cancelled = &sending->cancelled,
                                    .silence_seconds_max = WEB_SILENCE_S, .wanted = &wanted, .wanted_count = 1,
                                    .event = take_event, .arg = sending};
    struct rc rc = fetch_run(line, &sending->fetch, err);
    fetch_line_free(line);
    remember(web, wanted.value);
    return rc;
}

/* The answer broke off, or the server left it for later: asks on until it is there. The call was posted once, and is
 * never posted again. */
static struct rc go_on(struct proxy_sending *sending, struct rc rc, struct err *err)
{
    unsigned pause_s = 1;
    for (int i = 0; i < RESUMES_MAX && sending->event[0] && !sending->answered; i++) {
        if (atomic_load(&sending->cancelled) || (rc_ok(rc) && sending->fetch.status >= 300))
            break;
        if (i > 0)
            (void)sleep(pause_s);
        pause_s = pause_s * 2 < RESUME_S_MAX ? pause_s * 2 : RESUME_S_MAX;
        rc = run(sending, true, err);
    }
    return rc;
}

/* The answer to a POST; in the older transport there is none. */
static void take_reply(struct proxy_sending *sending)
{
    struct str text = str_trim(sending->fetch.answer);
    if (!str_empty(text) && sending->fetch.status != 202) {
        sending->answered = is_answer(sending, text);
        proxy_web_take(sending->proxy, text);
    }
    if (!sending->answered && !sending->proxy->web->endpoint)
        fail(sending, RPC_UNREACHABLE, STR("the MCP server ended its answer without a result"));
}

static void post(struct proxy_sending *sending)
{
    struct proxy_web *web = sending->proxy->web;
    struct err err = {.code = ERR_OK};
    struct rc rc = go_on(sending, run(sending, false, &err), &err);
    long status = sending->fetch.status;
    if (rc_ok(rc) && sending->begins && (status == 400 || status == 404 || status == 405) && !web->endpoint &&
        proxy_stream_begin_older(sending->proxy)) {
        rc = run(sending, false, &err);
        status = sending->fetch.status;
    }
    if (atomic_load(&sending->cancelled))
        return;
    if (rc_bad(rc))
        fail(sending, RPC_UNREACHABLE, arena_printf(&sending->arena, "the MCP server: %s", err.text));
    else if (status == 404 && web->session[0])
        fail(sending, RPC_FORGOTTEN, STR("the MCP server has forgotten this session: begin a new one"));
    else if (status >= 300 && !is_answer(sending, sending->fetch.answer)) /* an error may say why in its body */
        fail(sending, RPC_UNREACHABLE, arena_printf(&sending->arena, "the MCP server answers with status %ld", status));
    else
        take_reply(sending);
}

/* Closes the connection of a request that the client has cancelled. False: there is none, or the server agreed on a
 * revision by a handshake, and is told instead. */
static bool close_request(struct proxy_web *web, struct str id)
{
    LOCK_SCOPE(&web->lock);
    struct proxy_sending *sending = web->version[0] ? NULL : web->sendings;
    while (sending && !str_eq(sending->id, id))
        sending = sending->next;
    if (sending)
        atomic_store(&sending->cancelled, true);
    return sending != NULL;
}

static void list(struct proxy_sending *sending)
{
    struct proxy_web *web = sending->proxy->web;
    LOCK_SCOPE(&web->lock);
    sending->next = web->sendings;
    web->sendings = sending;
}

static void *post_and_leave(void *arg)
{
    struct proxy_sending *sending = arg;
    struct proxy_web *web = sending->proxy->web;
    post(sending);
    (void)pthread_mutex_lock(&web->lock);
    LIST_REMOVE(web->sendings, sending);
    (void)pthread_mutex_unlock(&web->lock);
    arena_free(sending);
    return NULL;
}

static bool send_message(struct proxy *proxy, struct str message)
{
    struct proxy_sending *sending = heap_new(sizeof *sending);
    struct mcp_message read;
    pthread_t thread;
    sending->proxy = proxy;
    sending->message = arena_str(&sending->arena, message);
    bool request = rc_ok(mcp_read(&sending->arena, sending->message, &read, NULL)) && !str_empty(read.method) &&
                   !str_empty(read.id);
    bool ready = str_is(read.method, "notifications/initialized");
    if (!str_empty(read.cancels) && close_request(proxy->web, read.cancels)) {
        arena_free(sending);
        return true;
    }
    if (request)
        sending->id = read.id;
    sending->more = proxy_web_repeat(proxy, &sending->arena, &read);
    sending->begins = request && str_is(read.method, "initialize");
    if (sending->begins)
        forget(proxy->web);
    list(sending); /* before another message can cancel it */
    if (request && !sending->begins && pthread_create(&thread, NULL, post_and_leave, sending) == 0) {
        (void)pthread_detach(thread);
        return true;
    }
    (void)post_and_leave(sending);
    if (ready)
        proxy_stream_listen(proxy);
    return true;
}

static void end(struct proxy *proxy) { (void)proxy; }

static const struct proxy_back back = {.send = send_message, .end = end};

struct rc proxy_web_given(struct cli *cli, struct proxy_web *web, struct err *err)
{
    size_t at = 0, n = 0;
    for (const char *text; (text = option_each(cli, "header-env", &at));) {
        if (n == WEB_HEADERS_MAX - 1)
            return err_set(err, ERR_INVALID, "there are too many headers: --header-env may be given %zu times", n);
        TRY(local_header(cli, text, &web->given[n++], err));
    }
    return RC_OK;
}

struct rc proxy_web_start(struct proxy *proxy, const char *url, struct err *err)
{
    static struct proxy_web web = {.lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};
    if (!str_starts(str_of(url), STR("http://")) && !str_starts(str_of(url), STR("https://")))
        return err_set(err, ERR_INVALID, "--url takes http://… or https://…, not '%s'", url);
    TRY(proxy_web_given(proxy->cli, &web, err));
    web.url = url;
    proxy->web = &web;
    proxy->back = &back;
    return RC_OK;
}
