/* The proxy of boxes: what it reads, and what it does with real connections on this machine's loopback device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "egress/egress.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- reading ---- */

static bool reads(const char *text, const char *host, unsigned port)
{
    struct egress_head head;
    return egress_head_read(str_of(text), &head) == HEAD_DONE && strcmp(head.target.host, host) == 0 &&
           head.target.port == port;
}

static void test_heads(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "CONNECT example.com HTTP/1.1\r\n\r\n", "CONNECT example.com:0 HTTP/1.1\r\n\r\n",
        "CONNECT example.com:65536 HTTP/1.1\r\n\r\n", "CONNECT example.com:443:1 HTTP/1.1\r\n\r\n",
        "CONNECT exa mple.com:443 HTTP/1.1\r\n\r\n", "CONNECT .example.com:443 HTTP/1.1\r\n\r\n",
        "CONNECT example.com.:443 HTTP/1.1\r\n\r\n", "CONNECT a..b:443 HTTP/1.1\r\n\r\n",
        "CONNECT [::1]:443 HTTP/1.1\r\n\r\n", "CONNECT 127.1:443 HTTP/1.1\r\n\r\n",
        "CONNECT 0x7f000001:443 HTTP/1.1\r\n\r\n", "CONNECT 2130706433:443 HTTP/1.1\r\n\r\n",
        "CONNECT u@example.com:443 HTTP/1.1\r\n\r\n", "CONNECT example.com:443 HTTP/2\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n", "GET https://example.com/ HTTP/1.1\r\n\r\n",
        "GET http://example.com/#x HTTP/1.1\r\n\r\n", "get http://example.com/ HTTP/1.1\r\n\r\n",
        "GET http://example.com@evil.example/ HTTP/1.1\r\n\r\n",
        "GET http://example.com/ HTTP/1.1\r\n folded: x\r\n\r\n",
        "GET http://example.com/ HTTP/1.1\r\nA B: x\r\n\r\n", "GET http://example.com/ HTTP/1.1\r\nA: x\nB: y\r\n\r\n",
        "\r\n\r\n", " \r\n\r\n",
    };
    struct egress_head head;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (egress_head_read(str_of(bad[i]), &head) != HEAD_BAD)
            fail_msg("taken: %s", bad[i]);
    assert_true(reads("CONNECT Example.COM:443 HTTP/1.1\r\nHost: x\r\n\r\n", "example.com", 443));
    assert_true(reads("GET http://example.com/a?b HTTP/1.1\r\n\r\n", "example.com", 80));
    assert_true(reads("GET http://127.0.0.1:8080 HTTP/1.0\r\n\r\n", "127.0.0.1", 8080));
    assert_int_equal(egress_head_read(STR("CONNECT example.com:443 HTTP/1.1\r\n"), &head), HEAD_MORE);
    assert_int_equal(egress_head_read(STR("CONNECT exam\0ple.com:443 HTTP/1.1\r\n\r\n"), &head), HEAD_BAD);
    static char long_head[EGRESS_HEAD_BYTES_MAX];
    memset(long_head, 'a', sizeof long_head);
    assert_int_equal(egress_head_read((struct str){long_head, sizeof long_head}, &head), HEAD_BAD);
}

static void test_request_sent_on(void **state)
{
    (void)state;
    struct egress_head head;
    BUF_SCOPE(buf, 4096);
    assert_int_equal(egress_head_read(STR("POST http://Example.com:8080?q HTTP/1.1\r\nHost: evil.example\r\n"
                                          "Proxy-Authorization: secret\r\nConnection: keep-alive\r\n"
                                          "Content-Length: 2\r\n\r\nhi"), &head), HEAD_DONE);
    egress_head_write(&buf, &head);
    assert_string_equal(buf_c(&buf), "POST /?q HTTP/1.1\r\nHost: example.com:8080\r\nContent-Length: 2\r\n"
                                     "Connection: close\r\n\r\n");
}

static void test_addresses(void **state)
{
    (void)state;
    struct egress_target target;
    assert_true(egress_target_set(&target, STR("example.com"), 1) && !target.is_address);
    assert_true(egress_target_set(&target, STR("10.0.0.1"), 1) && target.is_address);
    assert_true(egress_target_set(&target, STR("LocalHost"), 1) && target.is_address);
    assert_true(egress_target_set(&target, STR("a.localhost"), 1) && target.is_address);
}

static void test_socks(void **state)
{
    (void)state;
    struct egress_target target;
    size_t bytes = 0;
    assert_int_equal(egress_socks_greeting(STR("\5\2\0\2rest"), &bytes), HEAD_DONE);
    assert_int_equal(bytes, 4);
    assert_int_equal(egress_socks_greeting(STR("\5\1\2"), &bytes), HEAD_BAD);
    assert_int_equal(egress_socks_greeting(STR("\5\2\0"), &bytes), HEAD_MORE);
    assert_int_equal(egress_socks_request(STR("\5\1\0\3\3a.b\1\273"), &bytes, &target), HEAD_DONE);
    assert_string_equal(target.host, "a.b");
    assert_int_equal(target.port, 443);
    assert_int_equal(egress_socks_request(STR("\5\1\0\3\3a\0b\1\273"), &bytes, &target), HEAD_BAD);
    assert_int_equal(egress_socks_request(STR("\5\1\0\1\12\0\0\1\0\120"), &bytes, &target), HEAD_DONE);
    assert_string_equal(target.host, "10.0.0.1");
    assert_int_equal(egress_socks_request(STR("\5\2\0\3\3a.b\1\273"), &bytes, &target), HEAD_BAD); /* BIND */
    assert_int_equal(egress_socks_request(STR("\5\3\0\3\3a.b\1\273"), &bytes, &target), HEAD_BAD); /* UDP */
    assert_int_equal(egress_socks_request(STR("\5\1\0\4xxxxxxxxxxxxxxxx\1\273"), &bytes, &target), HEAD_BAD);
}

/* A ClientHello with this name, in one record or in two. */
static size_t make_hello(unsigned char *to, const char *name, size_t split)
{
    unsigned char body[600] = {0};
    size_t n = strlen(name), at = 4 + 34;
    body[0] = 1;
    body[at++] = 0;                                        /* session */
    memcpy(body + at, "\0\2\x13\x01\1\0", 6);             /* ciphers, compression */
    at += 6;
    size_t extensions = at;
    at += 2;
    memcpy(body + at, "\0\x17\0\0", 4);                    /* another extension */
    at += 4;
    const unsigned char sni[] = {0, 0, 0, (unsigned char)(n + 5), 0, (unsigned char)(n + 3), 0, 0, (unsigned char)n};
    memcpy(body + at, sni, sizeof sni);
    at += sizeof sni;
    memcpy(body + at, name, n);
    at += n;
    body[extensions] = (unsigned char)((at - extensions - 2) >> 8);
    body[extensions + 1] = (unsigned char)(at - extensions - 2);
    body[2] = (unsigned char)((at - 4) >> 8);
    body[3] = (unsigned char)(at - 4);
    size_t out = 0;
    for (size_t from = 0; from < at;) {
        size_t part = split && from == 0 ? split : at - from;
        const unsigned char head[] = {22, 3, 1, (unsigned char)(part >> 8), (unsigned char)part};
        memcpy(to + out, head, 5);
        memcpy(to + out + 5, body + from, part);
        out += 5 + part;
        from += part;
    }
    return out;
}

static void test_hello(void **state)
{
    (void)state;
    static char whole[EGRESS_HELLO_BYTES_MAX];
    unsigned char bytes[1000];
    struct str name;
    for (size_t split = 0; split < 60; split++) {
        size_t n = make_hello(bytes, "example.com", split);
        assert_int_equal(egress_hello_read((struct str){(char *)bytes, n}, whole, &name), HEAD_DONE);
        assert_true(str_is(name, "example.com"));
        for (size_t cut = 0; cut < n; cut++)
            assert_int_equal(egress_hello_read((struct str){(char *)bytes, cut}, whole, &name), HEAD_MORE);
    }
    assert_int_equal(egress_hello_read(STR("GET / HTTP/1.1\r\n"), whole, &name), HEAD_BAD);
    assert_int_equal(egress_hello_read(STR("\x16\3\1\0\4\2\0\0\0"), whole, &name), HEAD_BAD);
}

/* ---- connections ---- */

struct stage {
    struct egress_host host;
    struct egress *egress;
    int listener, upstream;   /* of the proxy, of a server beside it */
    uint16_t port, upstream_port;
    bool allows, private_too;
    bool keeps;
    unsigned opened, refused, closed, released;
    struct egress_use last;
};

static int listen_here(uint16_t *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0 && bind(fd, (struct sockaddr *)&address, bytes) == 0 && listen(fd, 8) == 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &bytes), 0);
    *ret_port = ntohs(address.sin_port);
    return fd;
}

static void judge(struct egress_host *host, const struct egress_want *want, struct egress_verdict *verdict)
{
    struct stage *stage = (struct stage *)(void *)host;
    (void)want;
    verdict->allowed = stage->allows;
    verdict->private_too = stage->private_too;
    (void)snprintf(verdict->why, sizeof verdict->why, "a rule says no");
}

static bool keep(struct egress_host *host, const struct egress_use *use)
{
    struct stage *stage = (struct stage *)(void *)host;
    stage->opened += use->state == EGRESS_OPENED;
    stage->refused += use->state == EGRESS_REFUSED;
    stage->closed += use->state == EGRESS_CLOSED;
    stage->last = *use;
    return stage->keeps;
}

static void release(struct egress_host *host) { ((struct stage *)(void *)host)->released++; }

static void hand_over(int channel, int listener, uint16_t port)
{
    struct iovec part = {.iov_base = &port, .iov_len = sizeof port};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &listener, sizeof listener);
    assert_int_equal(sendmsg(channel, &message, 0), sizeof port);
}

static void stage_open(struct stage *stage, bool allows, bool private_too, int own_port, uint16_t forward)
{
    int ends[2];
    *stage = (struct stage){.host = {.judge = judge, .keep = keep, .release = release}, .allows = allows,
                            .private_too = private_too};
    stage->keeps = true;
    stage->listener = listen_here(&stage->port);
    stage->upstream = listen_here(&stage->upstream_port);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    const int own_ports[OWN_PORTS_MAX] = {0, own_port < 0 ? stage->upstream_port : own_port};
    struct egress_options options = {.channel = ends[0], .host = &stage->host, .listeners = 1, .own_ports = own_ports};
    stage->egress = egress_start(&options);
    hand_over(ends[1], stage->listener, forward ? stage->upstream_port : 0);
    (void)close(ends[1]);
}

static void stage_close(struct stage *stage)
{
    egress_end(stage->egress);
    assert_int_equal(stage->released, 1);
    (void)close(stage->listener);
    (void)close(stage->upstream);
}

/* Says it to the proxy; its client's end. */
static int say(const struct stage *stage, const char *text)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(stage->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(send(fd, text, strlen(text), 0), strlen(text));
    return fd;
}

static const char *hear(int fd, char text[2000])
{
    size_t n = 0;
    ssize_t got;
    while (n < 1999 && (got = recv(fd, text + n, 1999 - n, 0)) > 0)
        n += (size_t)got;
    text[n] = '\0';
    return text;
}

static char *plain_request(const struct stage *stage, const char *host)
{
    static char text[300];
    (void)snprintf(text, sizeof text, "GET http://%s:%u/x HTTP/1.1\r\nHost: other\r\n\r\n", host, stage->upstream_port);
    return text;
}

static void test_passes(void **state)
{
    (void)state;
    struct stage stage;
    char text[2000];
    stage_open(&stage, true, true, 0, 0);
    int client = say(&stage, plain_request(&stage, "127.0.0.1"));
    int server = accept(stage.upstream, NULL, NULL);
    ssize_t got = recv(server, text, sizeof text - 1, 0);
    assert_true(got > 0);
    text[got] = '\0';
    assert_non_null(strstr(text, "GET /x HTTP/1.1\r\nHost: 127.0.0.1:"));
    assert_null(strstr(text, "other"));
    assert_int_equal(stage.opened, 1); /* before the first byte */
    assert_int_equal(send(server, "HTTP/1.1 200 OK\r\n\r\nhello", 24, 0), 24);
    (void)close(server);
    assert_non_null(strstr(hear(client, text), "hello"));
    (void)close(client);
    stage_close(&stage);
    assert_int_equal(stage.closed, 1);
    assert_int_equal(stage.last.down, 24);
    assert_true(stage.last.up > 20);
    assert_int_equal(stage.last.connections, 1);
}

static void expect_refusal(struct stage *stage, const char *request, const char *words)
{
    char text[2000];
    int client = say(stage, request);
    hear(client, text);
    if (strncmp(text, "HTTP/1.1 403", 12) != 0 || !strstr(text, words))
        fail_msg("%s is answered with %s, wanted: %s", request, text, words);
    (void)close(client);
    int flags = fcntl(stage->upstream, F_GETFL);
    (void)fcntl(stage->upstream, F_SETFL, flags | O_NONBLOCK);
    int came = accept(stage->upstream, NULL, NULL);
    if (came >= 0) /* the handshake of TCP; no byte may follow */
        assert_int_equal(recv(came, text, sizeof text, 0), 0);
    stage_close(stage);
}

static void test_refuses(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, false, false, 0, 0);
    expect_refusal(&stage, plain_request(&stage, "127.0.0.1"), "a rule says no");
    assert_int_equal(stage.refused, 1);
    assert_int_equal(stage.opened + stage.closed, 0);
    /* Allowed by its name, but it means this machine. */
    stage_open(&stage, true, false, 0, 0);
    expect_refusal(&stage, plain_request(&stage, "localhost"), "this machine");
    /* Allowed by a rule that names it, but it is Nod itself. */
    stage_open(&stage, true, true, -1, 0);
    expect_refusal(&stage, plain_request(&stage, "127.0.0.1"), "this machine");
    /* The log does not take it. */
    stage_open(&stage, true, true, 0, 0);
    stage.keeps = false;
    char text[2000];
    int client = say(&stage, plain_request(&stage, "127.0.0.1"));
    assert_non_null(strstr(hear(client, text), "could not be kept"));
    (void)close(client);
    stage_close(&stage);
}

static void test_forwards_a_port(void **state)
{
    (void)state;
    struct stage stage;
    char text[2000];
    stage_open(&stage, false, false, 0, 1);
    int client = say(&stage, "raw");
    int server = accept(stage.upstream, NULL, NULL);
    assert_int_equal(recv(server, text, sizeof text, 0), 3);
    assert_int_equal(send(server, "back", 4, 0), 4);
    (void)close(server);
    assert_string_equal(hear(client, text), "back");
    (void)close(client);
    stage_close(&stage);
    /* Never to Nod itself. */
    stage_open(&stage, false, false, -1, 1);
    client = say(&stage, "raw");
    assert_string_equal(hear(client, text), "");
    (void)close(client);
    stage_close(&stage);
}

/* The end of a box ends connections that hang, and a client that says nothing. */
static void test_ends(void **state)
{
    (void)state;
    struct stage stage;
    char text[2000];
    stage_open(&stage, true, true, 0, 0);
    int silent = say(&stage, "CONNECT ");
    int client = say(&stage, plain_request(&stage, "127.0.0.1"));
    int server = accept(stage.upstream, NULL, NULL);
    assert_true(recv(server, text, sizeof text, 0) > 0);
    stage_close(&stage);
    assert_int_equal(recv(server, text, sizeof text, 0), 0);
    (void)close(server);
    (void)close(client);
    (void)close(silent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heads),   cmocka_unit_test(test_request_sent_on), cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_socks),   cmocka_unit_test(test_hello),           cmocka_unit_test(test_passes),
        cmocka_unit_test(test_refuses), cmocka_unit_test(test_forwards_a_port), cmocka_unit_test(test_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
