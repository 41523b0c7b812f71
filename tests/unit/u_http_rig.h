/* A real server on its own thread, and raw sockets to talk to it. Included by the tests of http/. */
#ifndef U_HTTP_RIG_H
#define U_HTTP_RIG_H

#include "u_http_handlers.h"

static inline void rig_ended(void *arg)
{
    struct rig *rig = arg;
    rig->ended = true;
    loop_stop(rig->loop);
}

static inline void rig_stop_rung(void *arg)
{
    struct rig *rig = arg;
    http_server_stop(rig->server, rig_ended, rig);
}

static inline void *rig_run(void *arg)
{
    struct rig *rig = arg;
    loop_run(rig->loop);
    return NULL;
}

/* rig_ok(f(a, b, RIG_ERR)): words when it fails. */
#define RIG_ERR (&rig_err)
#define rig_ok(call)                        \
    do {                                    \
        struct err rig_err = {0};           \
        if (rc_bad(call))                   \
            fail_msg("%s", rig_err.text);   \
    } while (0)

static inline struct rig *rig_start(struct http_options options)
{
    struct rig *rig = heap_new(sizeof *rig);
    options.handle = rig_handle;
    options.arg = rig;
    (void)snprintf(rig->path, sizeof rig->path, "/tmp/u_http_%d_%p.sock", (int)getpid(), (void *)rig);
    rig_ok(loop_new(&rig->loop, RIG_ERR));
    rig_ok(http_server_new(rig->loop, &options, &rig->server, RIG_ERR));
    rig_ok(http_listen_tcp(rig->server, "127.0.0.1:0", &rig->port, RIG_ERR));
    rig_ok(http_listen_unix(rig->server, &(struct http_unix){.path = rig->path}, RIG_ERR));
    rig->stop = waker_new(rig->loop, rig_stop_rung, rig);
    assert_int_equal(pthread_create(&rig->thread, NULL, rig_run, rig), 0);
    return rig;
}

static inline void rig_stop(struct rig *rig)
{
    waker_wake(rig->stop);
    assert_int_equal(pthread_join(rig->thread, NULL), 0);
    assert_true(rig->ended);
    assert_int_equal(access(rig->path, F_OK), -1);
    http_server_free(rig->server);
    waker_free(rig->stop);
    loop_free(rig->loop);
    free(rig);
}

#endif
