/* Tests of the API as values: requests and tokens made by hand, no socket, no loop and no store. Included by u_api_*.c.
 *
 * The API is not `ready` until a test says so. Then a request goes the whole way of checks (origin, route, token,
 * right, body), and its answer is 503 instead of the call of a function that would need a gate. */
#ifndef U_API_H
#define U_API_H

#include "api/cursor.h"
#include "base/log.h"
#include "event/shapes.h"
#include "gate/inner.h"
#include "store/inner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { PREPARED = 503, TOLD_BYTES = 512 };

static struct store no_store; /* of one process: nobody else can have made a token */
static struct gate gate = {.store = &no_store};
static struct api *api;

/* The answer to the last request. */
static struct {
    int status;
    unsigned count;
    char body[TOLD_BYTES];
} answer;

static inline void answered(struct http_request *request, int status, struct str body)
{
    (void)request;
    answer.status = status;
    answer.count++;
    (void)snprintf(answer.body, sizeof answer.body, "%.*s", STR_ARG(body));
}

/* "METHOD target", and headers "name: value" parted by newlines, or NULL. The answer frees it. */
static inline struct http_request *request_new(const char *line, const char *headers, struct str body)
{
    struct http_request *request = heap_new(sizeof *request);
    struct arena *arena = &request->arena;
    struct str left = arena_str(arena, str_of(headers)), target;
    struct http_header *list = arena_array(arena, struct http_header, LIMIT_HEADERS);
    request->method = str_cut(arena_str(arena, str_of(line)), ' ', &target);
    request->target = target;
    request->path = str_cut(target, '?', &request->query);
    request->body = arena_str(&request->spare, body);
    request->headers = list;
    while (left.n) {
        struct str value, name = str_cut(str_cut(left, '\n', &left), ':', &value);
        list[request->header_count++] = (struct http_header){name, str_trim(value)};
    }
    request->answered = answered;
    return request;
}

/* The status of a request by this token; NULL: by the headers. */
static inline int status_of(const char *line, const char *headers, const char *body, const struct token *token)
{
    unsigned before = answer.count;
    api_dispatch(api, request_new(line, headers, str_of(body)), token);
    assert_int_equal(answer.count, before + 1);
    return answer.status;
}

#define HOST "Host: localhost:7717\n"

static inline struct token token_of(enum role role, const char *session)
{
    return (struct token){.id = STR("tok_1"), .name = STR("t"), .session = str_of(session), .role = role,
                          .scopes = scopes_of_role(role)};
}

/* A token as the events of the installation make it; its secret is `secret`. */
static inline void token_add(const char *id, const char *role, const char *secret)
{
    ARENA_SCOPE(arena);
    char hex[DIGEST_HEX_BYTES];
    struct digest digest = digest_of(str_of(secret));
    digest_hex(&digest, hex);
    struct str scopes[SCOPES_MAX];
    size_t count = scopes_list(scopes_of_role(role_parse(str_of(role))), scopes);
    struct event event = {.kind = EVENT_TOKEN_CHANGED, .at_ms = 1,
                          .data = DATA(&arena, token_created, .id = str_of(id), .name = str_of(id), .hash = str_of(hex),
                                       .role = str_of(role), .scopes = {scopes, count})};
    tokens_follow(&gate, &event);
    assert_non_null(gate_token_by_id(&gate, str_of(id)));
}

static inline void token_revoke(const char *id)
{
    ARENA_SCOPE(arena);
    struct event event = {.kind = EVENT_TOKEN_CHANGED, .at_ms = 2,
                          .data = DATA(&arena, token_revoked, .id = str_of(id))};
    tokens_follow(&gate, &event);
    assert_null(gate_token_by_id(&gate, str_of(id)));
}

static inline int api_begin(void **state)
{
    struct api_options options = {.gate = &gate, .hosts = "nod.example proxy.example:8443",
                                  .public_url = "https://reach.example/"};
    (void)state;
    log_level_now = LOG_ERROR;
    api = api_new(&options);
    api_add_address(api, "127.0.0.1", 7717);
    api_add_secure(api, STR("box.example"), 7718);
    api_add_secure(api, STR("usual.example"), 443);
    return 0;
}

static inline int api_end(void **state)
{
    (void)state;
    tokens_done(&gate);
    gate.tokens = NULL;
    api_free(api);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, api_begin, api_end)

#endif
