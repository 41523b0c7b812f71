/* The blocking client: against the real server, and against servers that misbehave by script. */
#include "u_http_rig.h"

#include "base/limits.h"
#include "http/event_lines.h"

#define CHUNKED "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
#define EVENTS "Content-Type: text/event-stream\r\n"

static struct http_client *client_new(const struct rig *rig, bool local)
{
    struct http_client *client;
    char url[128];
    if (local)
        (void)snprintf(url, sizeof url, "unix:%s", rig->path);
    else
        (void)snprintf(url, sizeof url, "http://127.0.0.1:%d", rig->port);
    rig_ok(http_client_new(url, "secret", &client, RIG_ERR));
    return client;
}

/* The code of a call, without regard to its answer. */
static enum err_code call_code(struct http_client *client, const char *target, int64_t timeout_ms,
                               struct err *err)
{
    ARENA_SCOPE(arena);
    struct http_response response;
    return http_client_call(client, &arena, "GET", str_of(target), STR_NONE, timeout_ms, &response, err).code;
}

static struct http_response call(struct http_client *client, struct arena *arena, const char *method,
                                 const char *target, struct str body)
{
    struct http_response response = {0};
    rig_ok(http_client_call(client, arena, method, str_of(target), body, 15000, &response, RIG_ERR));
    return response;
}

static void test_calls(void **state)
{
    struct rig *rig = rig_start((struct http_options){.idle_timeout_ms = 150});
    (void)state;
    for (int local = 0; local < 2; local++) {
        ARENA_SCOPE(arena);
        struct http_client *client = client_new(rig, local);
        struct http_response response;
        response = call(client, &arena, "POST", "/x?y=z", STR("{\"a\":1}"));
        assert_int_equal(response.status, 200);
        assert_true(str_is(response.content_type, "text/plain"));
        assert_true(str_is(response.body, local ? "POST /x?y=z local=1 [{\"a\":1}]"
                                                : "POST /x?y=z local=0 [{\"a\":1}]"));
        response = call(client, &arena, "GET", "/none", STR_NONE);
        assert_int_equal(response.status, 404);
        response = call(client, &arena, "GET", "/empty", STR_NONE);
        assert_int_equal(response.status, 204);
        assert_int_equal(response.body.n, 0);
        response = call(client, &arena, "HEAD", "/x", STR_NONE);
        assert_int_equal(response.status, 200);
        assert_int_equal(response.body.n, 0);
        (void)usleep(400000); /* the server has closed the idle connection meanwhile */
        response = call(client, &arena, "GET", "/big?bytes=100000", STR_NONE);
        assert_int_equal(response.body.n, 100000);
        http_client_free(client);
    }
    rig_stop(rig);
}

static void test_refused_large_body(void **state)
{
    struct rig *rig = rig_start((struct http_options){0});
    (void)state;
    ARENA_SCOPE(arena);
    HEARD(body);
    while (body.n < 8 << 20)
        buf_putc(&body, 'x');
    for (int local = 0; local < 2; local++) {
        struct http_client *client = client_new(rig, local);
        struct http_response response;
        response = call(client, &arena, "POST", "/", buf_str(&body));
        assert_int_equal(response.status, 413);
        http_client_free(client);
    }
    rig_stop(rig);
}

static void test_deadline(void **state)
{
    struct rig *rig = rig_start((struct http_options){.stop_timeout_ms = 100});
    (void)state;
    ARENA_SCOPE(arena);
    struct http_client *client = client_new(rig, true);
    struct http_response response;
    struct err err;
    assert_int_equal(call_code(client, "/wait", 50, &err), ERR_TIMEOUT);
    await_counter(rig, "requests_gone=1"); /* it has hung up, so that no old answer is taken for a new one */
    response = call(client, &arena, "GET", "/x", STR_NONE);
    assert_true(str_is(response.body, "GET /x local=1 []"));
    http_client_free(client);
    rig_stop(rig);
}

static void test_addresses(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "unix:", "https://localhost:7717", "http://", "http://:80",
                                      "http://x:", "http://x:0", "http://x:99999", "http://x:y",
                                      "http://x/path", "localhost:7717"};
    struct http_client *client;
    struct err err;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (http_client_new(bad[i], NULL, &client, &err).code != ERR_INVALID)
            fail_msg("%s is taken for an address", bad[i]);
    assert_int_equal(http_client_new("https://x", NULL, &client, &err).code, ERR_INVALID);
    assert_non_null(strstr(err.text, "https"));
    assert_int_equal(http_client_new("unix:/tmp/x", "two words", &client, &err).code, ERR_INVALID);
    static const char *const nobody[] = {"unix:/tmp/there/is/nothing.sock", "http://127.0.0.1:1",
                                         "http://[::1]:1"};
    for (size_t i = 0; i < sizeof nobody / sizeof *nobody; i++) {
        rig_ok(http_client_new(nobody[i], NULL, &client, RIG_ERR));
        assert_int_equal(call_code(client, "/", 1000, &err), ERR_UNAVAILABLE);
        assert_int_equal(call_code(client, "/", 1000, NULL), ERR_UNAVAILABLE);
        http_client_free(client);
    }
}

/* ---- servers by script ---- */

struct script {
    int listener;
    int port;
    const char *const *answers; /* one connection each; NULL ends */
    char asked[4096];           /* the last request's head */
    pthread_t thread;
};

static void *run_script(void *arg)
{
    struct script *script = arg;
    for (const char *const *answer = script->answers; *answer; answer++) {
        int fd = accept(script->listener, NULL, NULL);
        ssize_t n = recv(fd, script->asked, sizeof script->asked - 1, 0);
        script->asked[n > 0 ? n : 0] = '\0';
        (void)!send(fd, *answer, strlen(*answer), MSG_NOSIGNAL);
        (void)close(fd);
    }
    return NULL;
}

static struct http_client *script_start(struct script *script)
{
    struct sockaddr_in where = {.sin_family = AF_INET};
    socklen_t n = sizeof where;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    script->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(script->listener, (struct sockaddr *)&where, n), 0);
    assert_int_equal(listen(script->listener, 8), 0);
    assert_int_equal(getsockname(script->listener, (struct sockaddr *)&where, &n), 0);
    assert_int_equal(pthread_create(&script->thread, NULL, run_script, script), 0);
    struct http_client *client;
    char url[64];
    script->port = ntohs(where.sin_port);
    (void)snprintf(url, sizeof url, "http://localhost:%d/", script->port);
    rig_ok(http_client_new(url, "tok", &client, RIG_ERR));
    return client;
}

static void script_end(struct script *script, struct http_client *client)
{
    assert_int_equal(pthread_join(script->thread, NULL), 0);
    (void)close(script->listener);
    http_client_free(client);
}

static void test_forms_of_answers(void **state)
{
    (void)state;
    static const char *const answers[] = {
        CHUNKED "Connection: close\r\nContent-Type: a/b\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde",
        "HTTP/1.1 200 OK\r\n\r\nabcde",
        "HTTP/1.0 200 OK\r\n\r\nabcde",
        NULL,
    };
    struct script script = {.answers = answers};
    struct http_client *client = script_start(&script);
    for (int i = 0; answers[i]; i++) {
        ARENA_SCOPE(arena);
        struct http_response response;
        response = call(client, &arena, i ? "GET" : "POST", "/t", i ? STR_NONE : STR("{}"));
        assert_int_equal(response.status, 200);
        assert_true(str_is(response.body, "abcde"));
        assert_true(str_is(response.content_type, i == 0 ? "a/b" : ""));
        if (i == 0) {
            char host[64];
            (void)snprintf(host, sizeof host, "POST /t HTTP/1.1\r\nHost: localhost:%d\r\n", script.port);
            assert_non_null(strstr(script.asked, host));
            assert_non_null(strstr(script.asked, "Authorization: Bearer tok\r\n"));
            assert_non_null(strstr(script.asked, "Content-Type: application/json\r\nContent-Length: 2\r\n"));
        }
    }
    script_end(&script, client);
}

static void test_bad_answers(void **state)
{
    (void)state;
    static const char *const answers[] = {
        "",
        "HTTP/1.1 200 OK\r\nContent-Le",
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
        "SSH-2.0-OpenSSH_9.2\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        CHUNKED "\r\nzz\r\n",
        NULL,
    };
    static const enum err_code codes[] = {ERR_UNAVAILABLE, ERR_UNAVAILABLE, ERR_UNAVAILABLE,
                                          ERR_IO,          ERR_IO,          ERR_IO};
    struct script script = {.answers = answers};
    struct http_client *client = script_start(&script);
    for (int i = 0; answers[i]; i++) {
        struct err err = {0};
        assert_int_equal(call_code(client, "/", 5000, &err), codes[i]);
        assert_int_equal(err.code, codes[i]);
    }
    script_end(&script, client);
}

/* ---- streams ---- */

struct noted {
    struct buf text;
    int count;
    int stop_after;
};

static bool note(void *arg, struct str id, struct str type, struct str data)
{
    struct noted *noted = arg;
    buf_printf(&noted->text, "[%.*s|%.*s|%.*s]", STR_ARG(id), STR_ARG(type), STR_ARG(data));
    return ++noted->count != noted->stop_after;
}

static void test_streams(void **state)
{
    (void)state;
    static const char *const answers[] = {
        "HTTP/1.1 200 OK\r\n" EVENTS "\r\n: hello\n\nid: 7\nevent: A\ndata: x\ndata: y\n\ndata: z\n\n"
        "id: 9\ndata: never\n\n",
        CHUNKED EVENTS "\r\n8\r\ndata: a\n\r\n1\r\n\n\r\n",
        "HTTP/1.1 403 Forbidden\r\n\r\n{\"error\":{\"code\":\"forbidden\",\"message\":\"not for you\"}}",
        "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 4\r\n\r\noops",
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\ndata: hello\n\n",
        NULL,
    };
    struct script script = {.answers = answers};
    struct http_client *client = script_start(&script);
    struct noted noted = {.text = buf_init(4096), .stop_after = 2};
    struct err err = {0};
    rig_ok(http_client_stream(client, STR("/api/events?after=3"), note, &noted, RIG_ERR));
    assert_string_equal(buf_c(&noted.text), "[7|A|x\ny][7|message|z]");
    assert_non_null(strstr(script.asked, "GET /api/events?after=3 HTTP/1.1\r\n"));
    assert_non_null(strstr(script.asked, "Accept: text/event-stream\r\n"));
    buf_clear(&noted.text);
    assert_int_equal(http_client_stream(client, STR("/"), note, &noted, &err).code, ERR_UNAVAILABLE);
    assert_string_equal(buf_c(&noted.text), "[|message|a]");
    assert_int_equal(http_client_stream(client, STR("/"), note, &noted, &err).code, ERR_FORBIDDEN);
    assert_string_equal(err.text, "not for you");
    assert_int_equal(http_client_stream(client, STR("/"), note, &noted, &err).code, ERR_IO);
    assert_int_equal(http_client_stream(client, STR("/"), note, &noted, &err).code, ERR_IO);
    buf_done(&noted.text);
    script_end(&script, client);
}

static void *emit_when_there(void *arg)
{
    const struct rig *rig = arg;
    await_counter(rig, "streams=1 ");
    tell(rig, "/emit?bytes=100000");
    return NULL;
}

static void test_stream_of_the_server(void **state)
{
    struct rig *rig = rig_start((struct http_options){.heartbeat_ms = 40});
    (void)state;
    struct noted noted = {.text = buf_init(1 << 20), .stop_after = 1};
    struct http_client *client = client_new(rig, true);
    pthread_t teller;
    assert_int_equal(pthread_create(&teller, NULL, emit_when_there, rig), 0);
    rig_ok(http_client_stream(client, STR("/events"), note, &noted, RIG_ERR));
    assert_int_equal(pthread_join(teller, NULL), 0);
    assert_int_equal(noted.text.n, 100000 - 6 + 11);
    await_counter(rig, "streams_gone=1 ");
    http_client_free(client);
    buf_done(&noted.text);
    rig_stop(rig);
}

static void feed_events(const char *text, size_t piece, struct noted *noted)
{
    struct event_lines lines;
    struct str left = str_of(text);
    event_lines_init(&lines);
    lines.event = note;
    lines.arg = noted;
    while (left.n) {
        struct str part = str_sub(left, 0, left.n < piece ? left.n : piece);
        left = str_sub(left, part.n, left.n);
        rig_ok(event_lines_feed(&lines, part, RIG_ERR));
    }
    event_lines_done(&lines);
}

static void test_event_lines(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *noted;
    } cases[] = {
        {"data: a\n\n", "[|message|a]"},
        {"data:a\r\rdata:  b\r\r", "[|message|a][|message| b]"},
        {"data: a\r\ndata: b\r\n\r\n", "[|message|a\nb]"},
        {"\xEF\xBB\xBF" "data: a\n\n", "[|message|a]"},
        {"data\n\ndata\ndata\n\n", "[|message|][|message|\n]"},
        {"event: x\n\ndata: a\n\n", "[|message|a]"},
        {"id: 1\n\nevent: t\ndata: a\n\nid\ndata: b\n\n", "[1|t|a][|message|b]"},
        {": data: a\n\nretry: 5\nother: x\ndatax: y\n\n", ""},
        {"data: not whole\n", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t piece = 1; piece < 40; piece += 3) {
            struct noted noted = {.text = buf_init(4096)};
            feed_events(cases[i].text, piece, &noted);
            assert_string_equal(buf_c(&noted.text), cases[i].noted);
            buf_done(&noted.text);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_refused_large_body),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_forms_of_answers),
        cmocka_unit_test(test_bad_answers),
        cmocka_unit_test(test_streams),
        cmocka_unit_test(test_stream_of_the_server),
        cmocka_unit_test(test_event_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
