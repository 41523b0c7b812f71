/* The server as a client sees it: raw bytes over real sockets. */
#include "u_http_rig.h"

#include "base/limits.h"
#include "io/clock.h"

#include <time.h>

#define HOST "Host: x\r\n"
#define UPGRADE                                                                        \
    "GET /ws HTTP/1.1\r\n" HOST "Upgrade: websocket\r\nConnection: upgrade\r\n"       \
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

/* ---- plain requests ---- */

static void test_an_answer(void **state)
{
    struct rig *rig = rig_start((struct http_options){0});
    (void)state;
    HEARD(heard);
    int fd = dial(rig);
    say(fd, "POST /a%20b?c=d HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello");
    hear_until(fd, &heard, "[hello]");
    assert_heard(heard, "HTTP/1.1 200 OK\r\n");
    assert_heard(heard, "\r\nContent-Length: 29\r\n");
    assert_heard(heard, "\r\nContent-Type: text/plain\r\n");
    assert_heard(heard, "\r\nCache-Control: no-store\r\n");
    char date[64];
    time_t now = time(NULL); /* to the day: the rest moves */
    struct tm tm;
    (void)strftime(date, sizeof date, "\r\nDate: %a, %d %b %Y ", gmtime_r(&now, &tm));
    assert_heard(heard, date);
    assert_heard(heard, " GMT\r\n");
    assert_heard(heard, "\r\nX-Content-Type-Options: nosniff\r\n");
    assert_heard(heard, "\r\n\r\nPOST /a b?c=d local=0 [hello]");
    assert_false(heard_has(&heard, "Connection:"));
    buf_clear(&heard);
    say(fd, "GET /again HTTP/1.1\r\n" HOST "\r\n"); /* the connection is kept */
    hear_until(fd, &heard, "GET /again local=0 []");
    (void)close(fd);
    rig_stop(rig);
}

static void test_over_a_unix_socket(void **state)
{
    struct rig *rig = rig_start((struct http_options){0});
    (void)state;
    HEARD(heard);
    int fd = dial_unix(rig);
    say(fd, "GET / HTTP/1.1\r\n" HOST "\r\n");
    hear_until(fd, &heard, "GET / local=1 []");
    (void)close(fd);
    rig_stop(rig);
}

static void test_byte_by_byte(void **state)
{
    struct rig *rig = rig_start((struct http_options){0});
    (void)state;
    HEARD(heard);
    int fd = dial(rig);
    struct str request = STR("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"
                             "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n");
    for (size_t i = 0; i < request.n; i++) {
        say_bytes(fd, str_sub(request, i, i + 1));
        (void)usleep(200);
    }
    hear_until(fd, &heard, "POST / local=0 [abc]");
    (void)close(fd);
    rig_stop(rig);
}

static void test_pipelined_requests_in_order(void **state)
{
    struct rig *rig = rig_start((struct http_options){0});
    (void)state;
    HEARD(heard);
    int fd = dial(rig);
    say(fd, "GET /1 HTTP/1.1\r\n" HOST "\r\nGET /wait HTTP/1.1\r\n" HOST "\r\n"
            "POST /3 HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabcGET /4 HTTP/1.1\r\n" HOST "\r\n");
    hear_until(fd, &heard, "GET /1 local=0 []");
    await_counter(rig, "waiters=1");
    tell(rig, "/release");
    hear_until(fd, &heard, "GET /4 local=0 []");
    const char *first = memmem(heard.p, heard.n, "GET /1", 6);
    const char *second = memmem(heard.p, heard.n, "released", 8);
    const char *third = memmem(heard.p, heard.n, "POST /3 local=0 [abc]", 21);
    assert_true(first && second && third && first < second && second < third);
    (void)close(fd);
    rig_stop(rig);
}

/* More than is kept early: the server stops reading, and goes on where it was. */
static void test_many_pipelined_requests(void **state)
{
    struct rig *rig = rig_start((struct http_options){0});
    (void)state;
    enum { COUNT = 20000 };
    HEARD(heard);
    HEARD(requests);
    int fd = dial(rig);
    buf_puts(&requests, "GET /wait HTTP/1.1\r\n" HOST "\r\n");
    for (int i = 0; i < COUNT; i++)
        buf_printf(&requests, "GET /%d HTTP/1.1\r\n" HOST "X: %0500d\r\n\r\n", i, i);
    struct str left = buf_str(&requests);
    bool released = false;
    while (left.n || !heard_has(&heard, "GET /19999 local")) {
        char bytes[65536];
        struct pollfd look = {.fd = fd, .events = (short)(POLLIN | (left.n ? POLLOUT : 0))};
        int ready = poll(&look, 1, released ? RIG_PATIENCE_MS : 300);
        if (ready == 0 && !released) {
            assert_true(left.n > 0); /* it has stopped reading */
            tell(rig, "/release");
            released = true;
            continue;
        }
        assert_int_equal(ready, 1);
        if (look.revents & POLLOUT) {
            ssize_t n = send(fd, left.p, left.n, MSG_DONTWAIT | MSG_NOSIGNAL);
            if (n > 0)
                left = str_sub(left, (size_t)n, left.n);
        }
        if (look.revents & POLLIN) {
            ssize_t n = recv(fd, bytes, sizeof bytes, 0);
            assert_true(n > 0);
            buf_put(&heard, (struct str){bytes, (size_t)n});
        }
    }
    size_t answers = 0;
    const char *end = heard.p + heard.n;
    for (const char *at = heard.p; (at = memmem(at, (size_t)(end - at), "HTTP/1.1 200", 12)); at++)
        answers++;
    assert_true(released);
    assert_int_equal(answers, COUNT + 1);
    (void)close(fd);
    rig_stop(rig);
}

static void test_head_and_bodyless(void **state)
{
    struct rig *rig = rig_start((struct http_options){0});
    (void)state;
    HEARD(heard);
    int fd = dial(rig);
    say(fd, "HEAD /x HTTP/1.1\r\n" HOST "\r\nGET /empty HTTP/1.1\r\n" HOST "\r\n"
            "GET /z HTTP/1.1\r\n" HOST "\r\n");
    hear_until(fd, &heard, "GET /z local=0 []");
    assert_heard(heard, "Content-Length: 18\r\nContent-Type: text/plain\r\n\r\nHTTP/1.1 204 No Content\r\n");
    assert_heard(heard, "Cache-Control: no-store\r\n\r\nHTTP/1.1 200 OK");
    buf_clear(&heard);
    say(fd, "HEAD /events HTTP/1.1\r\n" HOST "\r\nGET /z HTTP/1.1\r\n" HOST "\r\n");
    hear_until(fd, &heard, "GET /z local=0 []");
    (void)close(fd);
    rig_stop(rig);
}

static void test_http_10(void **state)
{
    struct rig *rig = rig_start((struct http_options){0});
    (void)state;
    HEARD(heard);
    int fd = dial(rig);
    say(fd, "GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    hear_until(fd, &heard, "GET /1 local=0 []");
    assert_heard(heard, "Connection: keep-alive\r\n");
    buf_clear(&heard);
    say(fd, "GET /2 HTTP/1.0\r\n\r\n");
    hear_until(fd, &heard, NULL);
    assert_heard(heard, "Connection: close\r\n");
    assert_heard(heard, "GET /2 local=0 []");
    (void)close(fd);
    rig_stop(rig);
}

static void test_continue(void **state)
{
    struct rig *rig = rig_start((struct http_options){0});
    (void)state;
    HEARD(heard);
    int fd = dial(rig);
    say(fd, "POST / HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    hear_until(fd, &heard, "HTTP/1.1 100 Continue\r\n\r\n");
    say(fd, "ok");
    hear_until(fd, &heard, "POST / local=0 [ok]");
    (void)close(fd);
    /* No word of going on when the body is too large. */
    fd = dial(rig);
    buf_clear(&heard);
    say(fd, "POST / HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 2000000\r\n\r\n");
    hear_until(fd, &heard, NULL);
    assert_heard(heard, "HTTP/1.1 413 ");
    assert_false(heard_has(&heard, "100 Continue"));
    (void)close(fd);
    rig_stop(rig);
}

static void test_large_answer_to_slow_reader(void **state)
{
    struct rig *rig = rig_start((struct http_options){.strangers_bytes_max = 32 << 20});
    (void)state;
    enum { BYTES = 20 << 20 };
    HEARD(heard);
    int fd = dial(rig);
    say(fd, "GET /big?bytes=20971520 HTTP/1.1\r\n" HOST "\r\nGET /after HTTP/1.1\r\n" HOST "\r\n");
    (void)usleep(100000);
    hear_until(fd, &heard, "GET /after local=0 []");
    const char *body = memmem(heard.p, heard.n, "\r\n\r\n", 4);
    assert_non_null(body);
    assert_heard(heard, "Cache-Control: max-age=60\r\nX-More: yes\r\n");
    assert_false(heard_has(&heard, "no-store\r\nContent-Length: 20971520"));
    body += 4;
    for (size_t i = 0; i < BYTES; i++)
        if (body[i] != (char)('a' + i % 26))
            fail_msg("byte %zu is wrong", i);
    (void)close(fd);
    rig_stop(rig);
}

/* ---- refusals ---- */

static void refuse_one(const struct rig *rig, struct str bytes, const char *status, const char *code)
{
    HEARD(heard);
    int fd = dial(rig);
    say_bytes(fd, bytes);
    hear_until(fd, &heard, NULL);
    assert_heard(heard, status);
    assert_heard(heard, "Connection: close\r\n");
    assert_heard(heard, code);
    assert_heard(heard, "\",\"message\":\"");
    (void)close(fd);
}

static void test_refusals(void **state)
{
    struct rig *rig = rig_start((struct http_options){0});
    (void)state;
    refuse_one(rig, STR("GET / HTTP/1.1\r\nHost : x\r\n\r\n"), "HTTP/1.1 400 Bad Request\r\n",
               "{\"error\":{\"code\":\"invalid");
    refuse_one(rig, STR("POST / HTTP/1.1\r\n" HOST "Content-Length: 1048577\r\n\r\n"), "HTTP/1.1 413 ",
               "too_large");
    BUF_SCOPE(large, 1 << 20);
    buf_puts(&large, "GET / HTTP/1.1\r\n" HOST "X: ");
    while (large.n < LIMIT_HEADER_BYTES + 10)
        buf_putc(&large, 'x');
    refuse_one(rig, buf_str(&large), "HTTP/1.1 431 ", "headers_too_large");
    HEARD(heard);
    ask(rig, "/none", &heard);
    assert_heard(heard, "HTTP/1.1 404 Not Found\r\n");
    assert_heard(heard, "{\"error\":{\"code\":\"not_found\",\"message\":\"there is \\\"nothing\\\"\"}}");
    await_counter(rig, "refused=3.");
    rig_stop(rig);
}

/* A client that sends all of a large body before it reads must still find the answer. */
static void test_refused_while_sending(void **state)
{
    struct rig *rig = rig_start((struct http_options){0});
    (void)state;
    HEARD(body);
    while (body.n < 4 << 20)
        buf_putc(&body, 'b');
    for (int chunked = 0; chunked < 2; chunked++) {
        HEARD(heard);
        int fd = dial(rig);
        say(fd, chunked ? "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n400000\r\n"
                        : "POST / HTTP/1.1\r\n" HOST "Content-Length: 4194304\r\n\r\n");
        say_bytes(fd, buf_str(&body));
        hear_until(fd, &heard, NULL);
        assert_heard(heard, "HTTP/1.1 413 ");
        (void)close(fd);
    }
    rig_stop(rig);
}

static void test_timeouts(void **state)
{
    struct rig *rig = rig_start(
        (struct http_options){.header_timeout_ms = 150, .body_timeout_ms = 200, .idle_timeout_ms = 300});
    (void)state;
    static const char *const halves[] = {
        "G",
        "GET / HTTP/1.1\r\nHost: x\r\n",
        "POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nab",
        "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n5\r\nab",
    };
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++)
        refuse_one(rig, str_of(halves[i]), "HTTP/1.1 408 Request Timeout\r\n", "timeout");
    HEARD(heard);
    int fd = dial(rig);
    hear_until(fd, &heard, NULL); /* an idle connection ends without a word */
    assert_int_equal(heard.n, 0);
    (void)close(fd);
    /* A byte now and then does not help: the time counts from the first. */
    fd = dial(rig);
    for (int i = 0; i < 200; i++) {
        struct pollfd look = {.fd = fd, .events = POLLIN};
        if (poll(&look, 1, 20) == 1)
            break;
        say(fd, "X");
    }
    hear_until(fd, &heard, NULL);
    assert_heard(heard, "HTTP/1.1 408 ");
    (void)close(fd);
    rig_stop(rig);
}

static void test_connection_limit(void **state)
{
    struct rig *rig = rig_start((struct http_options){.connections_max = 2});
    (void)state;
    HEARD(heard);
    int first = dial(rig);
    int second = dial(rig);
    say(first, "GET /1 HTTP/1.1\r\n" HOST "\r\n");
    say(second, "GET /2 HTTP/1.1\r\n" HOST "\r\n");
    hear_until(first, &heard, "GET /1 local=0 []");
    hear_until(second, &heard, "GET /2 local=0 []");
    int third = dial(rig), local = dial_unix(rig);
    say(third, "GET /3 HTTP/1.1\r\n" HOST "\r\n"); /* it waits in the kernel */
    say(local, "GET /4 HTTP/1.1\r\n" HOST "\r\n"); /* people of this machine do not */
    hear_until(local, &heard, "GET /4 local=1 []");
    (void)close(first);
    hear_until(third, &heard, "GET /3 local=0 []");
    (void)close(third);
    (void)close(local);
    (void)close(second);
    rig_stop(rig);
}

/* The oldest leaves when there are too many, but each has a moment. */
static void test_strangers_leave(void **state)
{
    struct rig *rig = rig_start((struct http_options){.strangers_max = 3, .strangers_per_address_max = 3});
    (void)state;
    HEARD(heard);
    int first = dial(rig), second = dial(rig), third = dial(rig), fourth = dial(rig);
    say(fourth, "GET /4 HTTP/1.1\r\n" HOST "\r\n"); /* is accepted when the first has left */
    hear_until(fourth, &heard, "GET /4 local=0 []");
    char byte;
    assert_int_equal(hear_some(first, &byte, 1), 0);
    say(second, "GET /2 HTTP/1.1\r\n" HOST "\r\n");
    hear_until(second, &heard, "GET /2 local=0 []");
    const int fds[] = {first, second, third, fourth};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        (void)close(fds[i]);
    rig_stop(rig);
}

/* An answer that a stranger does not read is not kept for ever, nor at any size. */
static void test_strangers_hold_little(void **state)
{
    struct rig *rig = rig_start((struct http_options){.strangers_bytes_max = 1 << 20});
    (void)state;
    HEARD(heard);
    int fd = dial(rig);
    say(fd, "GET /big?bytes=20971520 HTTP/1.1\r\n" HOST "\r\n");
    int other = dial(rig);
    say(other, "GET /1 HTTP/1.1\r\n" HOST "\r\n");
    hear_until(other, &heard, "GET /1 local=0 []");
    char bytes[65536];
    size_t all = 0;
    for (ssize_t n; (n = hear_some(fd, bytes, sizeof bytes)) > 0;)
        all += (size_t)n;
    assert_true(all < 20 << 20);
    (void)close(fd);
    (void)close(other);
    rig_stop(rig);
}

/* ---- clients that leave ---- */

static void test_half_closed_clients_are_answered(void **state)
{
    struct rig *rig = rig_start((struct http_options){0});
    (void)state;
    const int fds[] = {dial(rig), dial_unix(rig)};
    for (int i = 0; i < 2; i++) {
        say(fds[i], "GET /1 HTTP/1.1\r\n" HOST "\r\nGET /wait HTTP/1.1\r\n" HOST "\r\n"
                    "GET /3 HTTP/1.1\r\n" HOST "\r\n");
        assert_int_equal(shutdown(fds[i], SHUT_WR), 0);
    }
    await_counter(rig, "waiters=2");
    (void)usleep(2500000); /* long enough for a look or two whether they are there */
    tell(rig, "/release");
    for (int i = 0; i < 2; i++) {
        HEARD(heard);
        hear_until(fds[i], &heard, NULL);
        assert_heard(heard, "GET /1 local");
        assert_heard(heard, "released");
        assert_heard(heard, "GET /3 local");
        (void)close(fds[i]);
    }
    await_counter(rig, "requests_gone=0");
    rig_stop(rig);
}

static void test_waiting_clients_that_leave(void **state)
{
    struct rig *rig = rig_start((struct http_options){0});
    (void)state;
    const struct linger reset = {.l_onoff = 1};
    /* over a Unix socket */
    int fd = dial_unix(rig);
    say(fd, "GET /wait HTTP/1.1\r\n" HOST "\r\n");
    await_counter(rig, "waiters=1");
    (void)close(fd);
    await_counter(rig, "requests_gone=1");
    /* by a reset */
    fd = dial(rig);
    say(fd, "GET /wait HTTP/1.1\r\n" HOST "\r\n");
    await_counter(rig, "waiters=1");
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
    (void)close(fd);
    await_counter(rig, "requests_gone=2");
    /* at once, which looks like half-closing until the server has asked */
    fd = dial(rig);
    say(fd, "GET /wait HTTP/1.1\r\n" HOST "\r\n");
    (void)close(fd);
    await_counter(rig, "requests_gone=3");
    /* after having waited */
    fd = dial(rig);
    say(fd, "GET /wait HTTP/1.1\r\n" HOST "\r\n");
    (void)usleep(1300000);
    (void)close(fd);
    await_counter(rig, "requests_gone=4 ");
    await_counter(rig, "waiters=0 connections=1 ");
    rig_stop(rig);
}

static void test_client_leaves_in_the_middle(void **state)
{
    struct rig *rig = rig_start((struct http_options){0});
    (void)state;
    static const char *const halves[] = {"GET / HT",
                                         "POST / HTTP/1.1\r\n" HOST "Content-Length: 10\r\n\r\nab"};
    for (size_t i = 0; i < 2; i++) {
        int fd = dial(rig);
        say(fd, halves[i]);
        (void)usleep(20000);
        (void)close(fd);
    }
    int fd = dial(rig); /* a large answer nobody reads */
    say(fd, "GET /big?bytes=20000000 HTTP/1.1\r\n" HOST "\r\n");
    (void)usleep(50000);
    (void)close(fd);
    await_counter(rig, "connections=1 ");
    rig_stop(rig);
}

/* ---- noise ---- */

static uint32_t chance(uint32_t below)
{
    static uint64_t state = 20240607;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

static void put_noise(struct buf *out)
{
    static const char *const scraps[] = {
        "GET /x HTTP/1.1\r\n" HOST "\r\n",
        "GET /wait HTTP/1.1\r\n" HOST "\r\n",
        "GET /release HTTP/1.1\r\n" HOST "\r\n",
        "GET /events HTTP/1.1\r\n" HOST "\r\n",
        "GET /emit?bytes=5000 HTTP/1.1\r\n" HOST "\r\n",
        "GET /end HTTP/1.1\r\n" HOST "\r\n",
        "GET /big?bytes=300000 HTTP/1.1\r\n" HOST "\r\n",
        "POST /x HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc",
        "POST /x HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        UPGRADE "\x81\x83\x01\x01\x01\x01zzz",
        "\x81\x82\x02\x02\x02\x02xyz",
        "GET / HTTP/1.1\r\nHost : x\r\n\r\n",
    };
    for (uint32_t i = chance(6) + 1; i; i--)
        buf_puts(out, scraps[chance(sizeof scraps / sizeof *scraps)]);
    if (chance(4) == 0)
        out->p[chance((uint32_t)out->n)] = (char)chance(256);
}

/* Clients that do anything at any time; the server must be there at the end, with nothing left over. */
static void test_noise(void **state)
{
    struct rig *rig = rig_start((struct http_options){.heartbeat_ms = 40, .header_timeout_ms = 80});
    (void)state;
    enum { CLIENTS = 24, ROUNDS = 1500 };
    int fds[CLIENTS];
    const struct linger reset = {.l_onoff = 1};
    memset(fds, -1, sizeof fds);
    for (int round = 0; round < ROUNDS; round++) {
        int *fd = &fds[chance(CLIENTS)];
        char bytes[4096];
        if (*fd < 0)
            *fd = chance(2) ? dial(rig) : dial_unix(rig);
        BUF_SCOPE(noise, 1 << 20);
        put_noise(&noise);
        size_t cut = chance((uint32_t)noise.n) + 1;
        (void)!send(*fd, noise.p, cut, MSG_NOSIGNAL | MSG_DONTWAIT);
        (void)!send(*fd, noise.p + cut, noise.n - cut, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (chance(2))
            (void)!recv(*fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (chance(8) == 0)
            (void)shutdown(*fd, SHUT_WR);
        if (chance(6) == 0) {
            if (chance(2))
                (void)setsockopt(*fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
            (void)close(*fd);
            *fd = -1;
        }
    }
    for (int i = 0; i < CLIENTS; i++)
        if (fds[i] >= 0)
            (void)close(fds[i]);
    await_counter(rig, "waiters=0 connections=1 streams=0 sockets=0 ");
    rig_stop(rig);
}

/* ---- stopping ---- */

static void test_stop_lets_answers_finish(void **state)
{
    struct rig *rig = rig_start((struct http_options){.stop_timeout_ms = 700});
    (void)state;
    HEARD(heard);
    HEARD(events);
    int idle = dial(rig);
    int waiting = dial(rig);
    int large = dial(rig);
    int stream = dial(rig);
    say(idle, "GET / HTTP/1.1\r\n" HOST "\r\n");
    hear_until(idle, &heard, "GET / local=0 []");
    say(waiting, "GET /wait HTTP/1.1\r\n" HOST "\r\n");
    say(stream, "GET /events HTTP/1.1\r\n" HOST "\r\n");
    hear_until(stream, &events, "\r\n\r\n");
    say(large, "GET /big?bytes=8000000 HTTP/1.1\r\n" HOST "\r\n");
    await_counter(rig, "waiters=1");
    struct rig *stopped = rig;
    waker_wake(rig->stop);
    buf_clear(&heard);
    hear_until(idle, &heard, NULL);
    assert_int_equal(heard.n, 0);
    hear_until(stream, &events, NULL);
    hear_until(large, &heard, NULL);
    assert_true(heard.n > 8000000);
    (void)close(idle);
    (void)close(stream);
    (void)close(large);
    buf_clear(&heard);
    hear_until(waiting, &heard, NULL); /* nobody answers it: it ends when patience does */
    (void)close(waiting);
    assert_int_equal(pthread_join(stopped->thread, NULL), 0);
    assert_true(stopped->ended);
    assert_int_equal(stopped->requests_gone, 1);
    assert_int_equal(stopped->streams_gone, 1);
    http_server_free(stopped->server);
    waker_free(stopped->stop);
    loop_free(stopped->loop);
    free(stopped);
}

/* It has been answered and told that we close; that it does not hang up holds nobody up. */
static void test_stop_does_not_wait_for_a_client_that_stays(void **state)
{
    enum { ATTEMPTS = 5, SOON_US = 4000000 }; /* LINGER_MS is 5000; a busy machine may be that slow now and then */
    int64_t took_us = SOON_US;
    (void)state;
    for (int i = 0; i < ATTEMPTS && took_us >= SOON_US; i++) {
        struct rig *rig = rig_start((struct http_options){.stop_timeout_ms = 60000});
        HEARD(heard);
        int lingering = dial(rig);
        say(lingering, "GET / HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n");
        hear_until(lingering, &heard, NULL);
        int64_t began_us = clock_steady_us();
        rig_stop(rig);
        took_us = clock_steady_us() - began_us;
        (void)close(lingering);
    }
    assert_true(took_us < SOON_US);
}

static void test_free_without_stop(void **state)
{
    struct loop *loop;
    struct http_server *server;
    struct rig rig = {0};
    (void)state;
    const struct http_options options = {.handle = rig_handle, .arg = &rig};
    rig_ok(loop_new(&loop, RIG_ERR));
    rig_ok(http_server_new(loop, &options, &server, RIG_ERR));
    rig_ok(http_listen_tcp(server, "[::1]:0", &rig.port, RIG_ERR));
    assert_true(rig.port > 0);
    http_server_free(server);
    loop_free(loop);
}

static void test_addresses(void **state)
{
    struct loop *loop;
    struct http_server *server;
    struct err err;
    int port;
    (void)state;
    const struct http_options options = {.handle = rig_handle};
    char path[64];
    (void)snprintf(path, sizeof path, "/tmp/u_http_stale_%d.sock", (int)getpid());
    rig_ok(loop_new(&loop, RIG_ERR));
    rig_ok(http_server_new(loop, &options, &server, RIG_ERR));
    static const char *const bad[] = {"", "7717", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", ":80",
                                      "::1:80", "127.0.0.1:http", "127.0.0.1:-1", "[::1]"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (http_listen_tcp(server, bad[i], &port, &err).code != ERR_INVALID)
            fail_msg("%s is taken for an address", bad[i]);
    rig_ok(http_listen_tcp(server, "127.0.0.1:0", &port, RIG_ERR));
    char taken[32];
    (void)snprintf(taken, sizeof taken, "127.0.0.1:%d", port);
    assert_int_equal(http_listen_tcp(server, taken, &port, &err).code, ERR_CONFLICT);
    /* A socket that a killed process has left is replaced, one that is alive is not. */
    struct sockaddr_un where = {.sun_family = AF_UNIX};
    memcpy(where.sun_path, path, strlen(path));
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&where, sizeof where), 0);
    (void)close(fd);
    rig_ok(http_listen_unix(server, &(struct http_unix){.path = path}, RIG_ERR));
    assert_int_equal(http_listen_unix(server, &(struct http_unix){.path = path}, &err).code, ERR_CONFLICT);
    assert_int_equal(http_listen_unix(server, &(struct http_unix){.path = "/tmp"}, &err).code, ERR_CONFLICT);
    char long_path[200] = "/tmp/";
    memset(long_path + 5, 'x', 150);
    assert_int_equal(http_listen_unix(server, &(struct http_unix){.path = long_path}, &err).code, ERR_INVALID);
    http_server_free(server);
    loop_free(loop);
    assert_int_equal(access(path, F_OK), -1);
}

/* A request that is not from a socket: the answer goes to whoever made it. */
static char virtual_answer[256];

static void take_answer(struct http_request *request, int status, struct str body)
{
    int *statuses = request->answered_arg;
    *statuses = status;
    assert_true(str_c(body, virtual_answer, sizeof virtual_answer));
}

static void test_virtual_requests(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        int status = 0;
        struct http_request *request = heap_new(sizeof *request);
        request->body = arena_str(&request->arena, STR("{}"));
        request->answered = take_answer;
        request->answered_arg = &status;
        struct err err = {ERR_CONFLICT, "no"};
        if (i == 0)
            http_answer_error(request, &err);
        else
            http_drop(request);
        assert_int_equal(status, i == 0 ? 409 : 0);
    }
    assert_string_equal(virtual_answer, "{\"error\":{\"code\":\"conflict\",\"message\":\"no\"}}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_answer),
        cmocka_unit_test(test_over_a_unix_socket),
        cmocka_unit_test(test_byte_by_byte),
        cmocka_unit_test(test_pipelined_requests_in_order),
        cmocka_unit_test(test_many_pipelined_requests),
        cmocka_unit_test(test_head_and_bodyless),
        cmocka_unit_test(test_http_10),
        cmocka_unit_test(test_continue),
        cmocka_unit_test(test_large_answer_to_slow_reader),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_refused_while_sending),
        cmocka_unit_test(test_timeouts),
        cmocka_unit_test(test_connection_limit),
        cmocka_unit_test(test_strangers_leave),
        cmocka_unit_test(test_strangers_hold_little),
        cmocka_unit_test(test_half_closed_clients_are_answered),
        cmocka_unit_test(test_waiting_clients_that_leave),
        cmocka_unit_test(test_client_leaves_in_the_middle),
        cmocka_unit_test(test_noise),
        cmocka_unit_test(test_stop_lets_answers_finish),
        cmocka_unit_test(test_stop_does_not_wait_for_a_client_that_stays),
        cmocka_unit_test(test_free_without_stop),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_virtual_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
