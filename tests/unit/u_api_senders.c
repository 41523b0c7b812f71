/* Who sends a request: Host and Origin, tokens, the socket for agents; and in which order that is looked at. */
#include "u_api.h"

/* ---- Host and Origin ---- */

static const char *const ours[] = {
    "Host: localhost:7717", "host: 127.0.0.1:7717", "Host: [::1]:7717", "Host: LocalHost:7717", "Host: nod.example",
    "Host: proxy.example:8443", "Host: reach.example", "Host: box.example:7718", "Host: usual.example",
    HOST "Origin: http://localhost:7717", HOST "Origin: http://127.0.0.1:7717", HOST "Origin: http://nod.example",
    HOST "Origin: https://nod.example", HOST "Origin: https://reach.example",
    HOST "Origin: https://box.example:7718", HOST "Origin: https://usual.example",
    HOST "Sec-Fetch-Site: same-origin", HOST "Sec-Fetch-Site: none",
};

/* Over a Unix socket, which no browser reaches, a Host means nothing. */
static const char *const foreign_hosts[] = {
    "", "Host:", "Host: localhost", "Host: localhost:7718", "Host: localhost:77170", "Host: evil.example",
    "Host: evil.example:7717", "Host: localhost:7717.evil.example", "Host: nod.example:80",
    "Host: nod.example, evil.example", "Host: box.example", "Host: usual.example:443",
};

static const char *const foreign_pages[] = {
    HOST "Origin: http://reach.example", HOST "Origin: http://box.example:7718",
    HOST "Origin: https://localhost:7717", HOST "Origin: http://evil.example",
    HOST "Origin: http://localhost:7717.evil.example", HOST "Origin: http://evil.example#localhost:7717",
    HOST "Origin: localhost:7717", HOST "Origin: ftp://localhost:7717", HOST "Origin: null", HOST "Origin: ",
    HOST "Sec-Fetch-Site: same-site", HOST "Sec-Fetch-Site: cross-site", HOST "Sec-Fetch-Site: Same-Origin",
    HOST "Origin: http://localhost:7717\nSec-Fetch-Site: cross-site",
    "Host: evil.example\nOrigin: http://evil.example\nSec-Fetch-Site: same-origin",
};

static bool gets_in(const char *headers, bool local)
{
    struct http_request *request = request_new("POST /api/ping", headers, STR_NONE);
    struct err err;
    request->local = local;
    struct rc rc = auth_check_origin(api, request, &err);
    assert_true(rc.code == ERR_OK || rc.code == ERR_FORBIDDEN);
    http_drop(request);
    return rc_ok(rc);
}

static void only_our_hosts_and_origins_get_in(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (!gets_in(ours[i], false) || !gets_in(ours[i], true))
            fail_msg("refused: %s", ours[i]);
    for (size_t i = 0; i < sizeof foreign_hosts / sizeof *foreign_hosts; i++)
        if (gets_in(foreign_hosts[i], false) || !gets_in(foreign_hosts[i], true))
            fail_msg("in by network, or not by socket: %s", foreign_hosts[i]);
    for (size_t i = 0; i < sizeof foreign_pages / sizeof *foreign_pages; i++)
        if (gets_in(foreign_pages[i], false) || gets_in(foreign_pages[i], true))
            fail_msg("let in: %s", foreign_pages[i]);
}

/* Without a public address, the one for a browser on this machine. */
static void the_address_that_we_listen_on_is_ours(void **state)
{
    struct api_options options = {.gate = &gate};
    struct api *plain = api_new(&options);
    struct http_request *request = request_new("GET /api/me", "Host: 192.0.2.7:80", STR_NONE);
    struct err err;
    (void)state;
    api_add_address(plain, "0.0.0.0", 7717);
    assert_string_equal(plain->origin.p, "http://localhost:7717");
    assert_true(rc_bad(auth_check_origin(plain, request, &err)));
    api_add_address(plain, "192.0.2.7", 80);
    assert_string_equal(plain->origin.p, "http://192.0.2.7:80");
    assert_true(rc_ok(auth_check_origin(plain, request, &err)));
    http_drop(request);
    api_free(plain);
}

/* A list that is too long for the table leaves the rest out: they are refused, not let in. */
static void hosts_beyond_the_limit_are_not_ours(void **state)
{
    struct err err;
    (void)state;
    for (int i = 0; i < HOSTS_MAX; i++)
        api_add_address(api, "127.0.0.1", 8000 + i);
    assert_int_equal(api->host_count, HOSTS_MAX);
    struct http_request *request = request_new("GET /api/me", "Host: localhost:8031", STR_NONE);
    assert_true(rc_bad(auth_check_origin(api, request, &err)));
    http_drop(request);
}

/* ---- tokens ---- */

static enum err_code admitted(const char *headers, bool agents, const char *ret_token[1])
{
    ARENA_SCOPE(arena);
    struct http_request *request = request_new("GET /api/me", arena_printf(&arena, HOST "%s", headers).p, STR_NONE);
    struct err err;
    request->agents = agents;
    enum err_code code = api_admit(api, request, &err).code;
    const struct exchange *x = request->admitted;
    assert_int_equal(code == ERR_OK, x != NULL && x->token != NULL);
    *ret_token = x && x->token ? x->token->id.p : "";
    http_drop(request);
    return code;
}

static void a_token_is_known_by_its_secret_until_it_is_revoked(void **state)
{
    static const char *const ways[] = {"Authorization: Bearer one", "authorization: bearer   one ",
                                       "Sec-WebSocket-Protocol: nod, nod.bearer.one"};
    static const char *const wrong[] = {
        "", "Authorization: Bearer two2", "Authorization: Bearer one two", "Authorization: Bearer",
        "Authorization: one", "Authorization: Basic one", "Authorization: Bearer tok_1", "Cookie: nod=one",
        "Sec-WebSocket-Protocol: nod.bearer.two2",
        "Authorization: Bearer bad\nSec-WebSocket-Protocol: nod.bearer.one", /* the header counts, if there is one */
    };
    const char *id;
    (void)state;
    api_set_ready(api, true);
    token_add("tok_1", "viewer", "one");
    token_add("tok_2", "viewer", "two");
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        assert_int_equal(admitted(ways[i], false, &id), ERR_OK);
        assert_string_equal(id, "tok_1");
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (admitted(wrong[i], false, &id) != ERR_UNAUTHENTICATED)
            fail_msg("%s lets in %s", wrong[i], id);
    token_revoke("tok_1");
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        assert_int_equal(admitted(ways[i], false, &id), ERR_UNAUTHENTICATED);
    assert_int_equal(admitted("Authorization: Bearer two", false, &id), ERR_OK);
}

static void the_socket_for_agents_takes_no_token_of_a_person(void **state)
{
    static const char *const persons[] = {"admin", "approver", "viewer"};
    const char *id;
    (void)state;
    api_set_ready(api, true);
    for (size_t i = 0; i < sizeof persons / sizeof *persons; i++) {
        ARENA_SCOPE(arena);
        token_add(persons[i], persons[i], persons[i]);
        const char *header = arena_printf(&arena, "Authorization: Bearer %s", persons[i]).p;
        assert_int_equal(admitted(header, true, &id), ERR_FORBIDDEN);
        assert_int_equal(admitted(header, false, &id), ERR_OK);
    }
    token_add("agent", "agent", "agent");
    assert_int_equal(admitted("Authorization: Bearer agent", true, &id), ERR_OK);
}

/* ---- in which order ---- */

/* What a stranger learns: a foreign page nothing, one without a token not even which paths there are. */
static void the_first_check_that_fails_answers(void **state)
{
    static const char none[] = "Host: evil.example", host[] = HOST, bearer[] = HOST "Authorization: Bearer one";
    struct token viewer = token_of(ROLE_VIEWER, NULL);
    (void)state;
    token_add("tok_1", "viewer", "one");
    assert_int_equal(status_of("GET /api/nothing", none, NULL, NULL), 403);
    assert_int_equal(status_of("GET /api/nothing", host, NULL, NULL), 401);
    assert_int_equal(status_of("PUT /api/me", host, NULL, NULL), 401);
    assert_int_equal(status_of("GET /api/nothing", bearer, NULL, NULL), 404);
    assert_int_equal(status_of("PUT /api/me", bearer, NULL, NULL), 405);
    assert_int_equal(status_of("POST /api/tokens", bearer, "{", NULL), 403); /* the right before the body */
    assert_int_equal(status_of("POST /api/policy/try", bearer, "{", NULL), 400);
    assert_int_equal(status_of("POST /api/policy/try", bearer, "{}", NULL), PREPARED);
    assert_int_equal(status_of("POST /api/policy/try", none, "{}", NULL), 403);
    assert_int_equal(status_of("POST /api/policy/try", NULL, "{}", &viewer), PREPARED); /* a message of a socket */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(only_our_hosts_and_origins_get_in),
        TEST(the_address_that_we_listen_on_is_ours),
        TEST(hosts_beyond_the_limit_are_not_ours),
        TEST(a_token_is_known_by_its_secret_until_it_is_revoked),
        TEST(the_socket_for_agents_takes_no_token_of_a_person),
        TEST(the_first_check_that_fails_answers),
    };
    return cmocka_run_group_tests_name("api senders", tests, NULL, NULL);
}
