/* Event streams over real sockets: what a reader gets, and what becomes of one that does not read. */
#include "u_http_rig.h"

#include "base/limits.h"

static int open_stream(const struct rig *rig, struct buf *heard)
{
    int fd = dial(rig);
    say(fd, "GET /events HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n");
    hear_until(fd, heard, "\r\n\r\n");
    return fd;
}

static void test_events_arrive(void **state)
{
    struct rig *rig = rig_start((struct http_options){0});
    (void)state;
    HEARD(heard);
    int fd = open_stream(rig, &heard);
    assert_heard(heard, "HTTP/1.1 200 OK\r\n");
    assert_heard(heard, "Content-Type: text/event-stream\r\n");
    assert_heard(heard, "Cache-Control: no-store\r\n");
    assert_heard(heard, "X-Accel-Buffering: no\r\n");
    assert_heard(heard, "Connection: close\r\n");
    assert_false(heard_has(&heard, "Content-Length"));
    buf_clear(&heard);
    tell(rig, "/emit?bytes=20&times=1");
    hear_until(fd, &heard, "data: eeeeeeeeeeeeee\n\ndata: eeeeeeeeeeeeee\n\n");
    say(fd, "GET /this-is-not-read HTTP/1.1\r\nHost: x\r\n\r\n");
    buf_clear(&heard);
    tell(rig, "/end");
    hear_until(fd, &heard, NULL);
    assert_int_equal(heard.n, 0);
    await_counter(rig, "streams_gone=1 ");
    await_counter(rig, "streams=0 ");
    (void)close(fd);
    rig_stop(rig);
}

static void test_client_leaves(void **state)
{
    struct rig *rig = rig_start((struct http_options){0});
    (void)state;
    HEARD(heard);
    int first = open_stream(rig, &heard);
    int second = open_stream(rig, &heard);
    await_counter(rig, "streams=2 ");
    (void)close(first);
    await_counter(rig, "streams_gone=1 ");
    /* A reset while we write. */
    const struct linger reset = {.l_onoff = 1};
    assert_int_equal(setsockopt(second, SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
    (void)close(second);
    tell(rig, "/emit?bytes=20&times=5");
    await_counter(rig, "streams_gone=2 ");
    await_counter(rig, "connections=1 streams=0 ");
    rig_stop(rig);
}

static void test_heartbeats(void **state)
{
    struct rig *rig = rig_start((struct http_options){.heartbeat_ms = 60});
    (void)state;
    HEARD(heard);
    int fd = open_stream(rig, &heard);
    buf_clear(&heard);
    hear_until(fd, &heard, ":\n\n:\n\n:\n\n");
    (void)close(fd);
    await_counter(rig, "streams_gone=1 ");
    rig_stop(rig);
}

static void test_slow_reader_is_dropped(void **state)
{
    struct rig *rig = rig_start((struct http_options){0});
    (void)state;
    HEARD(heard);
    HEARD(other);
    int slow = open_stream(rig, &heard);
    int quick = open_stream(rig, &other);
    for (int i = 0; i < 12; i++) { /* 12 MB, more than the kernel and the queue hold together */
        tell(rig, "/emit?bytes=100000&times=9");
        size_t want = other.n + 10 * 100002;
        while (other.n < want) {
            char bytes[65536];
            ssize_t n = hear_some(quick, bytes, sizeof bytes);
            assert_true(n > 0);
            buf_put(&other, (struct str){bytes, (size_t)n});
        }
    }
    await_counter(rig, "streams_gone=1 ");
    await_counter(rig, "dropped=1 ");
    await_counter(rig, "streams=1 ");
    /* What it did get is whole events from the first on; then the connection ends, by a reset or not. */
    for (;;) {
        char bytes[65536];
        ssize_t n = hear_some(slow, bytes, sizeof bytes);
        if (n <= 0)
            break;
        buf_put(&heard, (struct str){bytes, (size_t)n});
    }
    assert_true(heard.n < 12 * 1000020);
    (void)close(slow);
    (void)close(quick);
    rig_stop(rig);
}

/* One that stands still with little in its queue is not kept for ever either. */
static void test_stalled_reader_is_dropped(void **state)
{
    struct rig *rig = rig_start((struct http_options){.heartbeat_ms = 60, .idle_timeout_ms = 400});
    (void)state;
    HEARD(heard);
    int small = 4096;
    int fd = dial(rig);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small), 0);
    say(fd, "GET /events HTTP/1.1\r\nHost: x\r\n\r\n");
    hear_until(fd, &heard, "\r\n\r\n");
    for (int i = 0; i < 3; i++)
        tell(rig, "/emit?bytes=2000000");
    await_counter(rig, "streams_gone=1 ");
    await_counter(rig, "dropped=1 ");
    (void)close(fd);
    rig_stop(rig);
}

/* An event larger than the queue's limit still reaches a reader that keeps up. */
static void test_largest_event(void **state)
{
    struct rig *rig = rig_start((struct http_options){0});
    (void)state;
    HEARD(heard);
    int fd = open_stream(rig, &heard);
    buf_clear(&heard);
    tell(rig, "/emit?bytes=8000000");
    (void)usleep(20000);
    size_t want = 8000002;
    while (heard.n < want) {
        char bytes[65536];
        ssize_t n = hear_some(fd, bytes, sizeof bytes);
        assert_true(n > 0);
        buf_put(&heard, (struct str){bytes, (size_t)n});
    }
    assert_true(str_ends(buf_str(&heard), STR("e\n\n")));
    await_counter(rig, "drained=1 ");
    await_counter(rig, "refused_sends=0 ");
    (void)close(fd);
    rig_stop(rig);
}

/* Events of one turn that leave before it ends, because they are many: the owner hears that all has left. */
static void test_many_bytes_in_a_turn(void **state)
{
    struct rig *rig = rig_start((struct http_options){.heartbeat_ms = 600000}); /* a beat would leave, too */
    (void)state;
    HEARD(heard);
    int fd = open_stream(rig, &heard);
    buf_clear(&heard);
    tell(rig, "/emit?bytes=40000&times=1");
    while (heard.n < 80004) {
        char bytes[65536];
        ssize_t n = hear_some(fd, bytes, sizeof bytes);
        assert_true(n > 0);
        buf_put(&heard, (struct str){bytes, (size_t)n});
    }
    await_counter(rig, "drained=1 ");
    (void)close(fd);
    rig_stop(rig);
}

/* The readers of a crowd are written to by several threads: each gets all events, once and in order, also when others
 * leave meanwhile. */
static void test_crowd(void **state)
{
    enum { CROWD = 120, LEAVE = 40, EVENTS = 5 };
    struct rig *rig = rig_start((struct http_options){0});
    const struct linger reset = {.l_onoff = 1};
    int fds[CROWD];
    (void)state;
    HEARD(heard);
    for (int i = 0; i < CROWD; i++) {
        buf_clear(&heard);
        fds[i] = open_stream(rig, &heard);
    }
    for (int round = 0; round < 3; round++) {
        char target[64];
        BUF_SCOPE(want, 1 << 20);
        for (int i = 0; i < EVENTS; i++) {
            buf_puts(&want, "data: ");
            for (int j = 6; j < 20 + round; j++)
                buf_putc(&want, 'e');
            buf_puts(&want, "\n\n");
        }
        buf_putc(&want, 0);
        (void)snprintf(target, sizeof target, "/emit?bytes=%d&times=%d", 20 + round, EVENTS - 1);
        for (int i = 0; round == 1 && i < LEAVE; i++) {
            assert_int_equal(setsockopt(fds[i], SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
            (void)close(fds[i]);
        }
        tell(rig, target);
        for (int i = round ? LEAVE : 0; i < CROWD; i++) {
            buf_clear(&heard);
            hear_until(fds[i], &heard, want.p);
            assert_int_equal(heard.n, want.n - 1);
        }
    }
    await_counter(rig, "streams_gone=40 ");
    tell(rig, "/end");
    await_counter(rig, "streams=0 ");
    for (int i = LEAVE; i < CROWD; i++)
        (void)close(fds[i]);
    rig_stop(rig);
}

/* What is queued when a stream is ended still arrives. */
static void test_end_flushes(void **state)
{
    struct rig *rig = rig_start((struct http_options){0});
    (void)state;
    HEARD(heard);
    int fd = open_stream(rig, &heard);
    buf_clear(&heard);
    tell(rig, "/emit?bytes=8000000");
    tell(rig, "/end");
    await_counter(rig, "streams_gone=1 ");
    hear_until(fd, &heard, NULL);
    assert_int_equal(heard.n, 8000002);
    (void)close(fd);
    rig_stop(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events_arrive),
        cmocka_unit_test(test_client_leaves),
        cmocka_unit_test(test_heartbeats),
        cmocka_unit_test(test_slow_reader_is_dropped),
        cmocka_unit_test(test_stalled_reader_is_dropped),
        cmocka_unit_test(test_largest_event),
        cmocka_unit_test(test_many_bytes_in_a_turn),
        cmocka_unit_test(test_crowd),
        cmocka_unit_test(test_end_flushes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
