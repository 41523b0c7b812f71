/* The table of routes, and the way of a request through it. */
#include "api/exchange.h"

#include "api/below.h"

#include "base/log.h"
#include "base/utf8.h"
#include "io/clock.h"

#include <stdarg.h>
#include <stdio.h>

#define HERE(name) {SCOPE_##name, BOUND_HERE}
#define WIDE(name) {SCOPE_##name, BOUND_NEVER}
#define ANYONE {SCOPE_NONE, BOUND_HERE}

static const struct route routes[] = {
#define R(name, ...) {#name, api_##name, __VA_ARGS__},
    ROUTES(R)
#undef R
};

const struct route *routes_all(size_t *ret_count)
{
    *ret_count = sizeof routes / sizeof *routes;
    return routes;
}

void api_print_routes(void)
{
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        (void)printf("%s %s\n", routes[i].method, routes[i].path);
}

/* The most bytes of a body: more for agents' own messages, which hold whole files, and for a call with ?large=1. */
size_t api_body_max(struct str target)
{
    struct str query;
    struct str path = str_cut(target, '?', &query);
    bool large = str_starts(path, STR("/api/hooks/")) || str_eq(path, STR("/api/mcp")) ||
                 (str_starts(path, STR("/api/threads/")) && str_has(query, STR("large=1")));
    if (str_starts(path, STR("/api/answers/slack/")))
        return LIMIT_PRESS_BYTES;
    if (str_eq(path, STR("/api/login")) || str_starts(path, STR("/api/answers")))
        return LIMIT_OPEN_BODY_BYTES;
    return large ? LIMIT_LARGE_BODY_BYTES : LIMIT_BODY_BYTES;
}

/* ---- matching ---- */

/* Compares a whole piece of text between two parameters at a time: every request meets the whole table. */
static bool match_path(const char *pattern, struct str path, struct str params[PARAMS_MAX])
{
    struct str left = str_of(pattern);
    for (int taken = 0;; taken++) {
        size_t same = str_find(left, ':');
        if (!str_starts(path, str_sub(left, 0, same)))
            return false;
        path = str_sub(path, same, path.n);
        if (same == left.n)
            return str_empty(path);
        size_t bytes = str_find(path, '/');
        if (bytes == 0)
            return false;
        CHECK(taken < PARAMS_MAX);
        params[taken] = str_sub(path, 0, bytes);
        path = str_sub(path, bytes, path.n);
        left = str_sub(left, same, left.n);
        left = str_sub(left, str_find(left, '/'), left.n);
    }
}

/* Every path of the table is longer than "/api/"; the letter behind that tells most of them apart, and the number of
 * slashes most of the others: every request meets the whole table. */
enum { LETTER_AT = sizeof "/api/" - 1 };

static unsigned char count_slashes(struct str path)
{
    size_t count = 0, at = 0;
    for (; path.n - at >= 16; at += 16)
        for (unsigned bits = utf8_bits_of_16(utf8_load_16(path.p + at) == '/'); bits; bits &= bits - 1)
            count++;
    for (; at < path.n; at++)
        count += path.p[at] == '/';
    return count < UINT8_MAX ? (unsigned char)count : UINT8_MAX;
}

/* The number of slashes in the path of each route; counted at the first request, on the loop. */
static const unsigned char *slashes_of_routes(void)
{
    static unsigned char counts[sizeof routes / sizeof *routes];
    for (size_t i = 0; !counts[sizeof counts - 1] && i < sizeof counts; i++)
        counts[i] = count_slashes(str_of(routes[i].path));
    return counts;
}

/* NULL, with *ret_known telling whether another method would do. */
static const struct route *find_route(struct str method, struct str path, struct str params[PARAMS_MAX],
                                      bool *ret_known)
{
    *ret_known = false;
    if (path.n > 1 && path.p[path.n - 1] == '/')
        return NULL;
    char letter = path.n > LETTER_AT ? path.p[LETTER_AT] : '\0';
    const unsigned char *slashes = slashes_of_routes();
    unsigned char count = count_slashes(path);
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        if (slashes[i] == count && routes[i].path[LETTER_AT] == letter && str_is(method, routes[i].method) &&
            match_path(routes[i].path, path, params))
            return &routes[i];
    for (size_t i = 0; i < sizeof routes / sizeof *routes && !*ret_known; i++)
        *ret_known = match_path(routes[i].path, path, params);
    return NULL;
}

/* ---- answering ---- */

/* The path and not the query, in which a client may have put something secret. */
static void log_answer(struct exchange *x, int status)
{
    x->api->answers[status / 100 % 6]++;
    log_line(status >= 500 ? LOG_WARN : LOG_DEBUG, "request", LOG_S("method", x->http->method),
             LOG_S("path", x->http->path), LOG_I("status", status), LOG_S("actor", x->actor),
             LOG_I("us", clock_steady_us() - x->http->started_us));
}

/* An answer that did not fit its buffer becomes an error: a client never gets half of a JSON text. */
void exchange_answer(struct exchange *x, int status, const struct buf *body)
{
    EXCHANGE_REFUSE(x, body->over, ERR_TOO_LARGE, "the answer is larger than %d bytes; ask for less",
                    LIMIT_ANSWER_BYTES);
    log_answer(x, status);
    http_answer_json(x->http, status, buf_str(body));
}

void exchange_item(struct exchange *x, int status, const struct json_item *item)
{
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    json_put_item(&out, item);
    exchange_answer(x, status, &buf);
}

void exchange_answer_timed(struct exchange *x, const struct buf *body, int64_t took_us)
{
    struct str timing = arena_printf(x->arena, "Server-Timing: total;dur=%.3f\r\n", (double)took_us / 1000);
    if (body->over) {
        exchange_answer(x, 200, body);
        return;
    }
    log_answer(x, 200);
    http_answer(x->http, 200, STR("application/json"), timing, buf_str(body));
}

/* Names the allowed methods in the refusal, as RFC 9110 requires. */
static void refuse_method(struct exchange *x, const struct err *err)
{
    struct str allow = STR("Allow: "), params[PARAMS_MAX];
    bool first = true;
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        if (!match_path(routes[i].path, x->http->path, params))
            continue;
        allow = arena_printf(x->arena, "%.*s%s%s", STR_ARG(allow), first ? "" : ", ", routes[i].method);
        first = false;
    }
    http_answer_error_as(x->http, err_http(err->code), arena_printf(x->arena, "%.*s\r\n", STR_ARG(allow)), err);
}

/* Errors of ours (5xx) are logged with their text, those of clients are only counted and in the access log. */
void exchange_fail(struct exchange *x, const struct err *err)
{
    if (x->waits_for_key)
        return; /* the request is handled again when the use of its signature is stored */
    log_answer(x, err_http(err->code));
    if (err->code == ERR_METHOD && !x->route) {
        refuse_method(x, err);
        return;
    }
    if (err_http(err->code) >= 500)
        log_line(LOG_WARN, "request failed", LOG_S("path", x->http->path), LOG_C("error", err->text));
    http_answer_error(x->http, err);
}

void exchange_error(struct exchange *x, enum err_code code, const char *format, ...)
{
    struct err err = {.code = code};
    va_list args;
    va_start(args, format);
    (void)vsnprintf(err.text, sizeof err.text, format, args);
    va_end(args);
    exchange_fail(x, &err);
}

/* ---- the way of a request ---- */

/* A page of another site cannot send this type without asking first (CORS), which we never allow. */
static bool json_content(const struct http_request *http)
{
    struct str rest;
    struct str type = str_trim(str_cut(http_header(http, "content-type"), ';', &rest));
    return str_same_letters(type, STR("application/json"));
}

/* JSON objects only, by their content type: a form of another site cannot send one. */
static struct rc read_body(struct exchange *x, struct err *err)
{
    struct str text = x->http->body;
    if (x->route->body == BODY_NONE || (x->route->body == BODY_OPTIONAL && text.n == 0))
        return RC_OK;
    if (x->http->connection && !json_content(x->http))
        return err_set(err, ERR_MEDIA_TYPE, "send Content-Type: application/json");
    TRY(json_parse_given(&x->http->spare, text, &x->body, err));
    if (x->body->type != JSON_OBJECT)
        return err_set(err, ERR_INVALID, "the body must be a JSON object");
    if (json_deeper(x->body, LIMIT_GIVEN_DEPTH))
        return err_set(err, ERR_INVALID, "the body is nested more than %d deep", LIMIT_GIVEN_DEPTH);
    return RC_OK;
}

/* Routes that take no token. */
static bool is_open(const struct route *route) { return route && route->right.scope == SCOPE_NONE; }

/* Origin, route, token, rights, body, in this order; the first that fails answers. */
static struct rc prepare(struct exchange *x, const struct token *token, struct err *err)
{
    bool known = false;
    if (!token && !x->token)
        TRY(auth_check_origin(x->api, x->http, err));
    if (!x->route)
        x->route = find_route(x->http->method, x->http->path, x->params, &known);
    if (token)
        x->token = token;
    else if (!x->token && !is_open(x->route))
        TRY(auth_identify(x, err));
    if (x->token) {
        http_known(x->http);
        x->actor = arena_str(x->arena, x->token->name);
        x->token_id = arena_str(x->arena, x->token->id);
    }
    if (!x->route && known)
        return err_set(err, ERR_METHOD, "this path does not take %.*s", STR_ARG(x->http->method));
    if (!x->route)
        return err_set(err, ERR_NOT_FOUND, "there is nothing at this path; see /api/openapi.json");
    TRY(auth_allow(x->token, x->route->right, err));
    TRY(below_check(x, err));
    TRY(auth_check_body(x, err));
    return read_body(x, err);
}

/* Before recovery is done only the open routes (health, the page) answer. */
static void handle(struct exchange *x)
{
    if (!x->api->ready && !is_open(x->route))
        exchange_error(x, ERR_UNAVAILABLE, "starting; try again in a moment");
    else
        x->route->handle(x);
}

/* Dispatches the request again, after this node has read the events of the other nodes. */
static void dispatch_again(struct exchange *x)
{
    struct err err = {.code = ERR_OK};
    EXCHANGE_TRY(x, prepare(x, NULL, &err));
    handle(x);
}

static struct exchange *exchange_new(struct api *api, struct http_request *http)
{
    struct exchange *x = arena_new(&http->arena, struct exchange);
    *x = (struct exchange){.api = api, .gate = api->gate, .http = http, .arena = &http->arena};
    return x;
}

/* Every request comes here, over HTTP and from inside a socket (then with the socket's token). */
void api_dispatch(struct api *api, struct http_request *http, const struct token *token)
{
    struct exchange *x = http->admitted ? http->admitted : exchange_new(api, http);
    struct err err = {.code = ERR_OK};
    if (page_has(http) && rc_ok(auth_check_origin(api, http, &err))) {
        page_answer(x);
        return;
    }
    struct rc rc = prepare(x, token, &err);
    if (rc_ok(rc))
        handle(x);
    else if (rc.code != ERR_UNAUTHENTICATED || !newcomer_wait(x, dispatch_again))
        exchange_fail(x, &err);
}

/* Requests of unknown senders or to unknown paths are answered by api_dispatch, which goes on with the exchange of one
 * whose token and route are known here already. */
struct rc api_admit(void *arg, struct http_request *http, struct err *err)
{
    struct api *api = arg;
    bool known;
    if (!api->ready)
        return RC_OK;
    TRY(auth_check_origin(api, http, err));
    struct exchange *x = exchange_new(api, http);
    x->route = find_route(http->method, http->path, x->params, &known);
    if (is_open(x->route))
        return RC_OK;
    struct rc rc = auth_identify(x, err);
    if (rc.code == ERR_UNAUTHENTICATED && newcomer_may_send(x))
        return RC_OK;
    TRY(rc);
    http_known(http);
    if (!x->route)
        return RC_OK;
    http->admitted = x;
    return auth_allow(x->token, x->route->right, err);
}

void api_handle(void *arg, struct http_request *request) { api_dispatch(arg, request, NULL); }

/* ---- query parameters ---- */

struct rc api_query_text(struct exchange *x, const char *name, struct str *ret_value, struct err *err)
{
    bool there;
    struct str value;
    TRY(http_query(x->http, name, &there, &value, err));
    if (there)
        *ret_value = value;
    return RC_OK;
}

struct rc api_query_u64(struct exchange *x, const char *name, uint64_t max, uint64_t *ret_value, struct err *err)
{
    bool there;
    struct str text;
    uint64_t value;
    TRY(http_query(x->http, name, &there, &text, err));
    if (!there)
        return RC_OK;
    if (!str_to_u64(text, &value) || value > max)
        return err_set(err, ERR_INVALID, "%s= must be a whole number from 0 to %llu", name,
                       (unsigned long long)max);
    *ret_value = value;
    return RC_OK;
}
