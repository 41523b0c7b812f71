/* WebSocket over real sockets: every way to begin wrongly, every way to break the protocol. */
#include "u_http_rig.h"

#include "base/limits.h"
#include "http/handshake.h"

#define KEY "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define VERSION "Sec-WebSocket-Version: 13\r\n"
#define UPGRADE "Upgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n"
#define START "GET /ws HTTP/1.1\r\nHost: x\r\n"
#define HELLO START UPGRADE VERSION KEY "\r\n"

#define A25 "aaaaaaaaaaaaaaaaaaaaaaaaa"

enum { FIN = 0x80, TEXT = 1, BINARY = 2, CLOSE = 8, PING = 9, PONG = 10, UNMASKED = 0x100 };

static void put_frame(struct buf *out, int flags, struct str payload)
{
    static const char mask[4] = {'m', 'a', 's', 'k'};
    bool masked = !(flags & UNMASKED);
    buf_putc(out, (char)(flags & 0xff));
    int bit = masked ? 0x80 : 0;
    if (payload.n <= 125) {
        buf_putc(out, (char)(bit | (int)payload.n));
    } else if (payload.n <= 65535) {
        buf_putc(out, (char)(bit | 126));
        buf_putc(out, (char)(payload.n >> 8));
        buf_putc(out, (char)payload.n);
    } else {
        buf_putc(out, (char)(bit | 127));
        for (int i = 7; i >= 0; i--)
            buf_putc(out, (char)(payload.n >> (8 * i)));
    }
    if (masked)
        buf_put(out, (struct str){mask, 4});
    for (size_t i = 0; i < payload.n; i++)
        buf_putc(out, masked ? (char)(payload.p[i] ^ mask[i % 4]) : payload.p[i]);
}

static void say_frame(int fd, int flags, struct str payload)
{
    BUF_SCOPE(frame, 4 << 20);
    put_frame(&frame, flags, payload);
    say_bytes(fd, buf_str(&frame));
}

static void hear_exactly(int fd, char *to, size_t n)
{
    while (n) {
        ssize_t got = hear_some(fd, to, n);
        if (got <= 0)
            fail_msg("the connection ended");
        to += got;
        n -= (size_t)got;
    }
}

/* The next frame: its first byte is returned, its payload put into `heard`. */
static int hear_frame(int fd, struct buf *heard)
{
    unsigned char head[10];
    hear_exactly(fd, (char *)head, 2);
    assert_int_equal(head[1] & 0x80, 0); /* a server does not mask */
    uint64_t n = head[1];
    unsigned more = n == 126 ? 2 : n == 127 ? 8 : 0;
    hear_exactly(fd, (char *)head + 2, more);
    for (unsigned i = 0; i < more; i++)
        n = (i ? n << 8 : 0) | head[2 + i];
    buf_clear(heard);
    char *to = buf_room(heard, n);
    assert_non_null(to);
    hear_exactly(fd, to, n);
    heard->n += n;
    return head[0];
}

static int open_socket(const struct rig *rig)
{
    HEARD(heard);
    int fd = dial(rig);
    say(fd, HELLO);
    hear_until(fd, &heard, "\r\n\r\n");
    assert_heard(heard, "HTTP/1.1 101 Switching Protocols\r\n");
    assert_heard(heard, "Upgrade: websocket\r\nConnection: Upgrade\r\n");
    assert_heard(heard, "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"); /* RFC 6455's example */
    return fd;
}

static void hear_close(int fd, int code)
{
    HEARD(heard);
    assert_int_equal(hear_frame(fd, &heard), FIN | CLOSE);
    if (code == 0)
        assert_int_equal(heard.n, 0);
    else
        assert_int_equal((unsigned char)heard.p[0] << 8 | (unsigned char)heard.p[1], code);
    char byte;
    assert_int_equal(hear_some(fd, &byte, 1), 0);
    (void)close(fd);
}

static void test_handshakes(void **state)
{
    struct rig *rig = rig_start((struct http_options){0});
    (void)state;
    static const struct {
        const char *bytes;
        const char *status;
    } cases[] = {
        {START "\r\n", "HTTP/1.1 426 "},
        {START "Upgrade: h2c\r\nConnection: upgrade\r\n" VERSION KEY "\r\n", "HTTP/1.1 426 "},
        {START "Upgrade: websocket\r\nConnection: close, x\r\n" VERSION KEY "\r\n",
         "HTTP/1.1 426 "},
        {START UPGRADE KEY "Connection: close\r\n\r\n", "HTTP/1.1 426 "},
        {START UPGRADE KEY "Connection: close\r\nSec-WebSocket-Version: 8\r\n\r\n",
         "HTTP/1.1 426 "},
        {START UPGRADE VERSION "Connection: close\r\n\r\n", "HTTP/1.1 400 "},
        {START UPGRADE VERSION "Sec-WebSocket-Key: short==\r\n\r\n", "HTTP/1.1 400 "},
        {"POST /ws HTTP/1.1\r\nHost: x\r\n" UPGRADE VERSION KEY "Content-Length: 0\r\n\r\n", "HTTP/1.1 400 "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        HEARD(heard);
        int fd = dial(rig);
        say(fd, cases[i].bytes);
        assert_int_equal(shutdown(fd, SHUT_WR), 0);
        hear_until(fd, &heard, NULL);
        assert_heard(heard, cases[i].status);
        assert_heard(heard, "{\"error\":{\"code\":\"invalid\"");
        if (heard_has(&heard, "426"))
            assert_heard(heard, "Sec-WebSocket-Version: 13\r\n");
        (void)close(fd);
    }
    await_counter(rig, "sockets=0 ");
    rig_stop(rig);
}

static void test_keys(void **state)
{
    (void)state;
    assert_true(http_is_socket_key(STR("dGhlIHNhbXBsZSBub25jZQ==")));
    assert_true(http_is_socket_key(STR("AAAAAAAAAAAAAAAAAAAAAA==")));
    assert_false(http_is_socket_key(STR("AAAAAAAAAAAAAAAAAAAAAB==")));
    assert_false(http_is_socket_key(STR("AAAAAAAAAAAAAAAAAAAAA===")));
    assert_false(http_is_socket_key(STR("AAAAAAAAAAAAAAAAAAAAAAAA")));
    assert_false(http_is_socket_key(STR("AAAAAAAAAAAAAAAAAAA AA==")));
    assert_false(http_is_socket_key(STR("")));
}

static void test_messages(void **state)
{
    struct rig *rig = rig_start((struct http_options){0});
    (void)state;
    HEARD(heard);
    int fd = open_socket(rig);
    say_frame(fd, FIN | TEXT, STR("hello"));
    assert_int_equal(hear_frame(fd, &heard), FIN | TEXT);
    assert_true(str_is(buf_str(&heard), "hello"));
    say_frame(fd, FIN | TEXT, STR(""));
    assert_int_equal(hear_frame(fd, &heard), FIN | TEXT);
    assert_int_equal(heard.n, 0);
    /* In fragments, with a ping between them, a character cut in two. */
    say_frame(fd, TEXT, STR("fr\xc3"));
    say_frame(fd, FIN | PING, STR("are you there"));
    say_frame(fd, 0, STR("\xa4"));
    say_frame(fd, FIN, STR("g"));
    assert_int_equal(hear_frame(fd, &heard), FIN | PONG);
    assert_true(str_is(buf_str(&heard), "are you there"));
    assert_int_equal(hear_frame(fd, &heard), FIN | TEXT);
    assert_true(str_is(buf_str(&heard), "fr\xc3\xa4g"));
    say_frame(fd, FIN | PONG, STR("unasked"));
    /* Byte by byte, and many in one piece. */
    BUF_SCOPE(frames, 1 << 20);
    put_frame(&frames, FIN | TEXT, STR("slowly"));
    for (size_t i = 0; i < frames.n; i++)
        say_bytes(fd, str_sub(buf_str(&frames), i, i + 1));
    assert_int_equal(hear_frame(fd, &heard), FIN | TEXT);
    for (int i = 0; i < 100; i++)
        put_frame(&frames, FIN | TEXT, STR("quickly"));
    say_bytes(fd, buf_str(&frames));
    for (int i = 0; i < 101; i++)
        assert_int_equal(hear_frame(fd, &heard), FIN | TEXT);
    assert_true(str_is(buf_str(&heard), "quickly"));
    (void)close(fd);
    await_counter(rig, "sockets_gone=1 ");
    rig_stop(rig);
}

static void test_large_messages(void **state)
{
    struct rig *rig = rig_start((struct http_options){0});
    (void)state;
    static const size_t sizes[] = {125, 126, 65535, 65536, LIMIT_BODY_BYTES};
    HEARD(heard);
    HEARD(text);
    int fd = open_socket(rig);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        while (text.n < sizes[i])
            buf_putc(&text, (char)('a' + text.n % 26));
        say_frame(fd, FIN | TEXT, buf_str(&text));
        assert_int_equal(hear_frame(fd, &heard), FIN | TEXT);
        assert_true(str_eq(buf_str(&heard), buf_str(&text)));
    }
    buf_putc(&text, 'x');
    BUF_SCOPE(frame, 4 << 20);
    put_frame(&frame, FIN | TEXT, buf_str(&text));
    say_bytes(fd, str_sub(buf_str(&frame), 0, 100)); /* refused by its head */
    hear_close(fd, 1009);
    fd = open_socket(rig); /* too large only in sum */
    say_frame(fd, TEXT, str_sub(buf_str(&text), 0, LIMIT_BODY_BYTES));
    say_frame(fd, FIN, STR("x"));
    hear_close(fd, 1009);
    rig_stop(rig);
}

static void test_bytes_behind_the_handshake(void **state)
{
    struct rig *rig = rig_start((struct http_options){0});
    (void)state;
    HEARD(heard);
    BUF_SCOPE(bytes, 4096);
    int fd = dial(rig);
    buf_puts(&bytes, HELLO);
    put_frame(&bytes, FIN | TEXT, STR("early"));
    say_bytes(fd, buf_str(&bytes));
    hear_until(fd, &heard, "\x81\x05" "early");
    (void)close(fd);
    rig_stop(rig);
}

static void test_goodbyes(void **state)
{
    struct rig *rig = rig_start((struct http_options){0});
    (void)state;
    int fd = open_socket(rig);
    say_frame(fd, FIN | CLOSE, STR("\x03\xe8" "bye"));
    hear_close(fd, 1000);
    fd = open_socket(rig);
    say_frame(fd, FIN | CLOSE, STR(""));
    hear_close(fd, 0);
    fd = open_socket(rig);
    say_frame(fd, FIN | CLOSE, STR("\x0f\xa1"));
    hear_close(fd, 4001);
    fd = open_socket(rig);
    say_frame(fd, FIN | TEXT, STR("end"));
    hear_close(fd, 4000);
    await_counter(rig, "sockets_gone=4 ");
    /* A server that stops says so. */
    fd = open_socket(rig);
    waker_wake(rig->stop);
    hear_close(fd, 1001);
    assert_int_equal(pthread_join(rig->thread, NULL), 0);
    assert_int_equal(rig->sockets_gone, 5);
    http_server_free(rig->server);
    waker_free(rig->stop);
    loop_free(rig->loop);
    free(rig);
}

static void test_broken_protocol(void **state)
{
    struct rig *rig = rig_start((struct http_options){0});
    (void)state;
    static const struct {
        const char *what;
        int flags;
        struct str payload;
        int code;
    } cases[] = {
        {"a frame that is not masked", FIN | TEXT | UNMASKED, STR("x"), 1002},
        {"a control frame that is not masked", FIN | PING | UNMASKED, STR("x"), 1002},
        {"a binary message", FIN | BINARY, STR("x"), 1003},
        {"a reserved bit", FIN | TEXT | 0x40, STR("x"), 1002},
        {"another reserved bit", FIN | PING | 0x10, STR("x"), 1002},
        {"a reserved opcode", FIN | 3, STR("x"), 1002},
        {"a reserved control opcode", FIN | 11, STR("x"), 1002},
        {"the last opcode", FIN | 15, STR(""), 1002},
        {"a ping in fragments", PING, STR("x"), 1002},
        {"a close in fragments", CLOSE, STR(""), 1002},
        {"a continuation of nothing", FIN, STR("x"), 1002},
        {"text that is no UTF-8", FIN | TEXT, STR("\xff"), 1007},
        {"text cut in a character", FIN | TEXT, STR("\xc3"), 1007},
        {"a surrogate", FIN | TEXT, STR("\xed\xa0\x80"), 1007},
        {"half a close code", FIN | CLOSE, STR("\x03"), 1002},
        {"a reserved close code", FIN | CLOSE, STR("\x03\xed"), 1002},
        {"a close code below 1000", FIN | CLOSE, STR("\x03\xe7"), 1002},
        {"a close reason that is no UTF-8", FIN | CLOSE, STR("\x03\xe8\xff"), 1007},
        {"a ping of 126 bytes", FIN | PING,
         STR(A25 A25 A25 A25 A25 "a"), 1002},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int fd = open_socket(rig);
        print_message("%s\n", cases[i].what);
        say_frame(fd, cases[i].flags, cases[i].payload);
        hear_close(fd, cases[i].code);
    }
    int fd = open_socket(rig);
    say_frame(fd, TEXT, STR("x"));
    say_frame(fd, FIN | TEXT, STR("a message inside a message"));
    hear_close(fd, 1002);
    fd = open_socket(rig); /* a length not written in the shortest way */
    say_bytes(fd, STR("\x81\xfe\x00\x01" "maskx"));
    hear_close(fd, 1002);
    await_counter(rig, "sockets=0 ");
    rig_stop(rig);
}

static void test_heartbeats(void **state)
{
    struct rig *rig = rig_start((struct http_options){.heartbeat_ms = 60, .idle_timeout_ms = 600});
    (void)state;
    HEARD(heard);
    int fd = open_socket(rig);
    for (int i = 0; i < 15; i++) { /* answered, for longer than silence is borne */
        assert_int_equal(hear_frame(fd, &heard), FIN | PING);
        say_frame(fd, FIN | PONG, buf_str(&heard));
    }
    for (;;) { /* not answered any more: it ends without a word */
        char byte;
        ssize_t n = hear_some(fd, &byte, 1);
        if (n <= 0)
            break;
    }
    await_counter(rig, "sockets_gone=1 ");
    (void)close(fd);
    rig_stop(rig);
}

/* A heartbeat that is longer than the patience with silence: the first ping must have had its time. */
static void test_long_heartbeats(void **state)
{
    struct rig *rig = rig_start((struct http_options){.heartbeat_ms = 120, .idle_timeout_ms = 60});
    (void)state;
    HEARD(heard);
    int fd = open_socket(rig);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(hear_frame(fd, &heard), FIN | PING);
        say_frame(fd, FIN | PONG, buf_str(&heard));
    }
    (void)close(fd);
    rig_stop(rig);
}

/* The head of a frame is enough to refuse it. */
static void test_claims(void **state)
{
    struct rig *rig = rig_start((struct http_options){0});
    (void)state;
    static const char *const heads[] = {"\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff", "\x81\xff\0\0\0\0\x7f\xff\xff\xff",
                                        "\x81\xff\0\0\0\0\0\x20\0\0"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        int fd = open_socket(rig);
        say_bytes(fd, (struct str){heads[i], 10});
        hear_close(fd, 1009);
    }
    await_counter(rig, "sockets=0 ");
    rig_stop(rig);
}

/* A client that sends but does not read cannot make the server keep more and more for it. */
static void test_slow_reader_is_dropped(void **state)
{
    struct rig *rig = rig_start((struct http_options){0});
    (void)state;
    HEARD(text);
    while (text.n < 500000)
        buf_putc(&text, 'x');
    BUF_SCOPE(frame, 4 << 20);
    put_frame(&frame, FIN | TEXT, buf_str(&text));
    int fd = open_socket(rig);
    for (int i = 0; i < 100; i++) {
        struct str left = buf_str(&frame);
        while (left.n) {
            struct pollfd look = {.fd = fd, .events = POLLOUT};
            if (poll(&look, 1, RIG_PATIENCE_MS) != 1)
                fail_msg("the server neither reads nor ends");
            ssize_t n = send(fd, left.p, left.n, MSG_NOSIGNAL | MSG_DONTWAIT);
            if (n < 0)
                break;
            left = str_sub(left, (size_t)n, left.n);
        }
        if (left.n)
            break;
    }
    await_counter(rig, "dropped=1 ");
    await_counter(rig, "sockets_gone=1 ");
    (void)close(fd);
    rig_stop(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_handshakes),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_large_messages),
        cmocka_unit_test(test_bytes_behind_the_handshake),
        cmocka_unit_test(test_goodbyes),
        cmocka_unit_test(test_broken_protocol),
        cmocka_unit_test(test_heartbeats),
        cmocka_unit_test(test_long_heartbeats),
        cmocka_unit_test(test_claims),
        cmocka_unit_test(test_slow_reader_is_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
