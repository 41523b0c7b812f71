/* What an idle stream costs: a server in a process of its own, ten thousand streams, its resident memory. */
#include "u_http_rig.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { STREAMS = 10000, BYTES_EACH_MAX = 512 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

static struct {
    struct loop *loop;
    struct http_server *server;
    struct http_stream *streams[STREAMS];
    size_t count;
} serving;

static void stream_gone(struct http_stream *stream, void *arg)
{
    struct http_stream **place = arg;
    assert_ptr_equal(*place, stream);
    *place = NULL;
}

static void handle(void *arg, struct http_request *request)
{
    (void)arg;
    if (str_is(request->path, "/events") && serving.count < STREAMS) {
        struct http_stream **place = &serving.streams[serving.count++];
        static const struct http_stream_owner owner = {.gone = stream_gone};
        http_known(request); /* else it is one of a few hundred that may be connected without a token */
        *place = http_stream_start(request, &owner, place);
        return;
    }
    if (str_is(request->path, "/emit")) {
        struct shared *event = shared_new(STR("id: 1\nevent: TOOL_CALL\ndata: {}\n\n"));
        for (size_t i = 0; i < serving.count; i++)
            if (serving.streams[i])
                (void)http_stream_send(serving.streams[i], event);
        shared_unref(event);
    }
    http_answer_json(request, 200, STR("{}"));
}

static _Noreturn void serve(int port_to)
{
    const struct http_options options = {.handle = handle};
    int port;
    struct err err;
    if (rc_bad(loop_new(&serving.loop, &err)) ||
        rc_bad(http_server_new(serving.loop, &options, &serving.server, &err)) ||
        rc_bad(http_listen_tcp(serving.server, "127.0.0.1:0", &port, &err)) ||
        write(port_to, &port, sizeof port) != sizeof port)
        _exit(1);
    loop_run(serving.loop);
    _exit(0);
}

static long resident_kb(pid_t pid)
{
    char path[64];
    char line[256];
    long kb = -1;
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "VmRSS: %ld", &kb) == 1)
            break;
    (void)fclose(file);
    return kb;
}

static void test_ten_thousand_idle_streams(void **state)
{
    struct rlimit limit;
    int port_pipe[2];
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    if (SANITIZED || limit.rlim_cur < STREAMS + 100) {
        print_message("skipped: %s\n", SANITIZED ? "a sanitizer takes memory, too" : "too few descriptors");
        skip();
    }
    assert_int_equal(pipe(port_pipe), 0);
    pid_t child = fork();
    if (child == 0)
        serve(port_pipe[1]);
    struct rig rig = {0};
    assert_int_equal(read(port_pipe[0], &rig.port, sizeof rig.port), sizeof rig.port);
    tell(&rig, "/warm");
    static int fds[STREAMS];
    long before = resident_kb(child);
    HEARD(heard);
    for (int i = 0; i < STREAMS; i++) {
        fds[i] = dial(&rig);
        say(fds[i], "GET /events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
                    "Authorization: Bearer 0123456789012345678901234567890123456789\r\n\r\n");
        buf_clear(&heard);
        hear_until(fds[i], &heard, "\r\n\r\n");
    }
    long idle = resident_kb(child);
    int64_t began = clock_steady_us();
    tell(&rig, "/emit");
    int64_t sent = clock_steady_us();
    for (int i = 0; i < STREAMS; i++) {
        buf_clear(&heard);
        hear_until(fds[i], &heard, "data: {}\n\n");
    }
    long after = resident_kb(child);
    print_message("%d streams: %ld bytes each; %ld after an event to all, which took %lld us\n", STREAMS,
                  (idle - before) * 1024 / STREAMS, (after - before) * 1024 / STREAMS,
                  (long long)(sent - began));
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
    for (int i = 0; i < STREAMS; i++)
        (void)close(fds[i]);
    assert_true((after - before) * 1024 / STREAMS <= BYTES_EACH_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ten_thousand_idle_streams)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
