#include "io/loop.h"

#include "base/arena.h"

#include <stdlib.h>
#include <uv.h>

struct loop {
    uv_loop_t uv;
    uv_prepare_t prepare;
    uv_idle_t awake;       /* while it runs, the loop does not sleep */
    struct before_sleep *before_sleep;
};

struct timer {
    uv_timer_t uv;
    void (*fire)(void *arg);
    void *arg;
};

struct waker {
    uv_async_t uv;
    void (*rung)(void *arg);
    void *arg;
};

struct signal_watch {
    uv_signal_t uv;
    void (*caught)(void *arg);
    void *arg;
};

struct rc loop_new(struct loop **ret_loop, struct err *err)
{
    struct loop *loop = heap_new(sizeof *loop);
    int failed = uv_loop_init(&loop->uv);
    if (failed) {
        free(loop);
        return err_set(err, ERR_INTERNAL, "cannot make an event loop: %s", uv_strerror(failed));
    }
    *ret_loop = loop;
    return RC_OK;
}

static void free_handle(uv_handle_t *handle) { free(handle->data); }

static void close_left_over(uv_handle_t *handle, void *arg)
{
    (void)arg;
    if (!uv_is_closing(handle))
        uv_close(handle, handle->type == UV_SIGNAL ? free_handle : NULL);
}

void loop_free(struct loop *loop)
{
    uv_walk(&loop->uv, close_left_over, NULL);
    (void)uv_run(&loop->uv, UV_RUN_DEFAULT);
    CHECK(uv_loop_close(&loop->uv) == 0);
    free(loop);
}

void loop_run(struct loop *loop) { (void)uv_run(&loop->uv, UV_RUN_DEFAULT); }
void loop_stop(struct loop *loop) { uv_stop(&loop->uv); }

static void on_idle(uv_idle_t *uv) { (void)uv; }

static void on_prepare(uv_prepare_t *uv)
{
    struct loop *loop = uv->data;
    bool more = false;
    for (struct before_sleep *b = loop->before_sleep; b; b = b->next)
        more |= b->before(b->arg);
    if (more)
        CHECK(uv_idle_start(&loop->awake, on_idle) == 0);
    else
        CHECK(uv_idle_stop(&loop->awake) == 0);
}

static void start_preparing(struct loop *loop)
{
    CHECK(uv_idle_init(&loop->uv, &loop->awake) == 0);
    CHECK(uv_prepare_init(&loop->uv, &loop->prepare) == 0);
    loop->prepare.data = loop;
    CHECK(uv_prepare_start(&loop->prepare, on_prepare) == 0);
    uv_unref((uv_handle_t *)&loop->prepare);
    uv_unref((uv_handle_t *)&loop->awake);
}

void loop_before_sleep(struct loop *loop, struct before_sleep *before)
{
    struct before_sleep **end = &loop->before_sleep;
    if (!loop->before_sleep)
        start_preparing(loop);
    while (*end)
        end = &(*end)->next;
    before->next = NULL;
    *end = before;
}

void loop_forget(struct loop *loop, struct before_sleep *before)
{
    struct before_sleep **link = &loop->before_sleep;
    while (*link != before)
        link = &(*link)->next;
    *link = before->next;
}

void *loop_uv(struct loop *loop) { return &loop->uv; }

struct timer *timer_new(struct loop *loop, void (*fire)(void *arg), void *arg)
{
    struct timer *timer = heap_new(sizeof *timer);
    CHECK(uv_timer_init(&loop->uv, &timer->uv) == 0);
    timer->uv.data = timer;
    timer->fire = fire;
    timer->arg = arg;
    return timer;
}

static void on_timer(uv_timer_t *uv)
{
    struct timer *timer = uv->data;
    timer->fire(timer->arg);
}

void timer_start(struct timer *timer, int64_t after_ms)
{
    uv_update_time(timer->uv.loop);
    CHECK(uv_timer_start(&timer->uv, on_timer, after_ms > 0 ? (uint64_t)after_ms : 0, 0) == 0);
}

void timer_stop(struct timer *timer) { (void)uv_timer_stop(&timer->uv); }
void timer_free(struct timer *timer) { uv_close((uv_handle_t *)&timer->uv, free_handle); }

static void on_wake(uv_async_t *uv)
{
    struct waker *waker = uv->data;
    waker->rung(waker->arg);
}

struct waker *waker_new(struct loop *loop, void (*rung)(void *arg), void *arg)
{
    struct waker *waker = heap_new(sizeof *waker);
    CHECK(uv_async_init(&loop->uv, &waker->uv, on_wake) == 0);
    waker->uv.data = waker;
    waker->rung = rung;
    waker->arg = arg;
    return waker;
}

void waker_wake(struct waker *waker) { CHECK(uv_async_send(&waker->uv) == 0); }
void waker_free(struct waker *waker) { uv_close((uv_handle_t *)&waker->uv, free_handle); }

static void on_signal(uv_signal_t *uv, int number)
{
    struct signal_watch *watch = uv->data;
    (void)number;
    watch->caught(watch->arg);
}

struct rc loop_on_signal(struct loop *loop, int signal, void (*caught)(void *arg), void *arg, struct err *err)
{
    struct signal_watch *watch = heap_new(sizeof *watch);
    CHECK(uv_signal_init(&loop->uv, &watch->uv) == 0);
    watch->uv.data = watch;
    watch->caught = caught;
    watch->arg = arg;
    int failed = uv_signal_start(&watch->uv, on_signal, signal);
    if (failed)
        return err_set(err, ERR_INTERNAL, "cannot watch signal %d: %s", signal, uv_strerror(failed));
    return RC_OK;
}
