/* The loop, timers and wakers on libuv (loop.h). A waker is the one way into the loop from another thread. */
#include "io/loop.h"

#include "base/arena.h"
#include "base/block.h"
#include "base/list.h"
#include "io/system.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

enum {
    ROUNDS_MAX = 4, /* rounds of the `before` functions until sockets are polled again */
    REST_MS = 200,  /* the loop keeps the blocks of a busy time for so long */
};

struct loop {
    uv_loop_t uv;
    uv_prepare_t prepare;
    uv_idle_t awake;       /* while it runs, the loop does not sleep */
    struct before_sleep *before_sleep;
    uv_timer_t rest;       /* active while the loop's thread keeps many blocks (base/block.h) */
    bool prepares;         /* `prepare`, `awake` and `rest` are handles of the loop */
    bool again;            /* loop_again was called */
    uv_poll_t ring;        /* on ring_event, while there are wakers */
    int ring_event;        /* -1: there was no waker yet */
    atomic_bool rings;     /* ring_event was written to, and the wakers were not looked at yet */
    bool calls_wakers;
    struct waker *wakers;
    uv_poll_t signals;               /* polls signal_event; active once something is watched */
    struct signal_watch *watches;
};

/* Freed by libuv's close callback, not at once; `fire` is not called after timer_free. */
struct timer {
    uv_timer_t uv;
    void (*fire)(void *arg);
    void *arg;
};

/* Of the wakers of a loop that rang, each is called once. Freed wakers go when none is being called. */
struct waker {
    struct waker *next;
    struct loop *loop;
    atomic_bool rings;
    bool freed;
    void (*rung)(void *arg);
    void *arg;
};

struct loop_watch {
    uv_poll_t uv;
    int fd;
    void (*ready)(void *arg);
    void *arg;
};

struct signal_watch {
    struct signal_watch *next;
    int number;
    void (*caught)(void *arg);
    void *arg;
};

/* Shared with the handler, which may run on any thread until the process exits: never closed, never freed. */
static int signal_event = -1;
static atomic_bool signal_came[NSIG];

struct rc loop_new(struct loop **ret_loop, struct err *err)
{
    struct loop *loop = heap_new(sizeof *loop);
    int failed = uv_loop_init(&loop->uv);
    loop->ring_event = -1;
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
        uv_close(handle, NULL);
}

/* Handles that are left are closed, and their callbacks run, before the memory goes. If the loop was stopped behind its
 * last run, as what is given back at the end may do, the next run ends at once: then it is run again. */
void loop_free(struct loop *loop)
{
    struct signal_watch *next;
    for (struct signal_watch *watch = loop->watches; watch; watch = next) {
        next = watch->next;
        (void)signal(watch->number, SIG_IGN);
        free(watch);
    }
    uv_walk(&loop->uv, close_left_over, NULL);
    while (uv_run(&loop->uv, UV_RUN_DEFAULT) != 0)
        ;
    CHECK(uv_loop_close(&loop->uv) == 0);
    if (loop->ring_event >= 0)
        (void)close(loop->ring_event);
    free(loop);
}

static void on_idle(uv_idle_t *uv) { (void)uv; }

/* Whether there is more to do. */
static bool run_before_sleep(struct loop *loop)
{
    bool more = false;
    loop->again = false;
    for (struct before_sleep *b = loop->before_sleep; b; b = b->next)
        more |= b->before(b->arg);
    return more || loop->again;
}

/* REST_MS after the loop had many blocks, and again until it needs them no more. */
static void on_rest(uv_timer_t *uv)
{
    if (!block_rest())
        return;
    CHECK(uv_timer_stop(uv) == 0);
    system_trim_heap();
}

/* Before the loop sleeps. After ROUNDS_MAX rounds the loop looks at its sockets again, without sleeping: neither side
 * starves. */
static void on_prepare(uv_prepare_t *uv)
{
    struct loop *loop = uv->data;
    bool more = true;
    for (int round = 0; more && round < ROUNDS_MAX; round++)
        more = run_before_sleep(loop);
    if (more)
        CHECK(uv_idle_start(&loop->awake, on_idle) == 0);
    else
        CHECK(uv_idle_stop(&loop->awake) == 0);
    if (block_many() && !uv_is_active((uv_handle_t *)&loop->rest))
        CHECK(uv_timer_start(&loop->rest, on_rest, REST_MS, REST_MS) == 0);
}

static void start_preparing(struct loop *loop)
{
    if (loop->prepares)
        return;
    loop->prepares = true;
    CHECK(uv_idle_init(&loop->uv, &loop->awake) == 0);
    CHECK(uv_prepare_init(&loop->uv, &loop->prepare) == 0);
    CHECK(uv_timer_init(&loop->uv, &loop->rest) == 0);
    loop->prepare.data = loop;
    CHECK(uv_prepare_start(&loop->prepare, on_prepare) == 0);
    uv_unref((uv_handle_t *)&loop->prepare);
    uv_unref((uv_handle_t *)&loop->awake);
    uv_unref((uv_handle_t *)&loop->rest);
}

void loop_run(struct loop *loop)
{
    start_preparing(loop);
    block_keep();
    (void)uv_run(&loop->uv, UV_RUN_DEFAULT);
    block_release();
}

void loop_stop(struct loop *loop) { uv_stop(&loop->uv); }

void loop_before_sleep(struct loop *loop, struct before_sleep *before)
{
    struct before_sleep **end = &loop->before_sleep;
    start_preparing(loop);
    while (*end)
        end = &(*end)->next;
    before->next = NULL;
    *end = before;
}

void loop_forget(struct loop *loop, struct before_sleep *before) { LIST_REMOVE(loop->before_sleep, before); }

void loop_again(struct loop *loop) { loop->again = true; }

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

/* ---- wakers ----
 *
 * All wakers of a loop share one event descriptor. libuv has the like (uv_async_t), but there the loop spins until the
 * thread that has woken it gets the processor back. Here that thread is done with the waker when it has set `rings`,
 * and writes to the descriptor afterwards. */

static void drop_freed(struct loop *loop)
{
    for (struct waker **link = &loop->wakers, *waker; (waker = *link);) {
        if (!waker->freed) {
            link = &waker->next;
            continue;
        }
        *link = waker->next;
        free(waker);
    }
    if (!loop->wakers)
        CHECK(uv_poll_stop(&loop->ring) == 0);
}

/* Each flag is cleared before what it stands for is looked at: whoever adds to that later rings again. */
static void on_wake(uv_poll_t *uv, int status, int events)
{
    struct loop *loop = uv->data;
    uint64_t count;
    (void)status, (void)events;
    (void)!read(loop->ring_event, &count, sizeof count);
    atomic_store(&loop->rings, false);
    loop->calls_wakers = true;
    for (struct waker *waker = loop->wakers; waker; waker = waker->next)
        if (atomic_exchange(&waker->rings, false) && !waker->freed)
            waker->rung(waker->arg);
    loop->calls_wakers = false;
    drop_freed(loop);
}

struct waker *waker_new(struct loop *loop, void (*rung)(void *arg), void *arg)
{
    struct waker *waker = heap_new(sizeof *waker);
    if (loop->ring_event < 0) {
        loop->ring_event = system_open_event(EFD_NONBLOCK);
        CHECK(loop->ring_event >= 0 && uv_poll_init(&loop->uv, &loop->ring, loop->ring_event) == 0);
        loop->ring.data = loop;
    }
    if (!loop->wakers)
        CHECK(uv_poll_start(&loop->ring, UV_READABLE, on_wake) == 0);
    waker->loop = loop;
    waker->rung = rung;
    waker->arg = arg;
    waker->next = loop->wakers;
    loop->wakers = waker;
    return waker;
}

void waker_wake(struct waker *waker)
{
    struct loop *loop = waker->loop;
    if (!atomic_exchange(&waker->rings, true) && !atomic_exchange(&loop->rings, true))
        CHECK(system_raise_event(loop->ring_event) == 0);
}

void waker_free(struct waker *waker)
{
    waker->freed = true;
    if (!waker->loop->calls_wakers)
        drop_freed(waker->loop);
}

/* ---- descriptors of others ---- */

static void on_ready(uv_poll_t *uv, int status, int events)
{
    struct loop_watch *watch = uv->data;
    (void)status, (void)events;
    watch->ready(watch->arg);
}

struct loop_watch *loop_watch_new(struct loop *loop, int fd, void (*ready)(void *arg), void *arg)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0)
        return NULL;
    struct loop_watch *watch = heap_new(sizeof *watch);
    CHECK(uv_poll_init(&loop->uv, &watch->uv, copy) == 0);
    watch->uv.data = watch;
    watch->fd = copy;
    watch->ready = ready;
    watch->arg = arg;
    CHECK(uv_poll_start(&watch->uv, UV_READABLE, on_ready) == 0);
    return watch;
}

void loop_watch_free(struct loop_watch *watch)
{
    CHECK(uv_poll_stop(&watch->uv) == 0);
    (void)close(watch->fd);
    uv_close((uv_handle_t *)&watch->uv, free_handle);
}

/* ---- signals ---- */

static void catch_signal(int number)
{
    int kept = errno;
    atomic_store(&signal_came[number], true);
    (void)!write(signal_event, &(uint64_t){1}, sizeof(uint64_t));
    errno = kept;
}

/* On the loop: the handler has only set flags and woken it. */
static void on_signals(uv_poll_t *uv, int status, int events)
{
    struct loop *loop = uv->data;
    uint64_t count;
    (void)status, (void)events;
    (void)!read(signal_event, &count, sizeof count);
    for (struct signal_watch *watch = loop->watches; watch; watch = watch->next)
        if (atomic_exchange(&signal_came[watch->number], false))
            watch->caught(watch->arg);
}

static struct rc watch_signals(struct loop *loop, struct err *err)
{
    if (signal_event < 0)
        signal_event = system_open_event(EFD_NONBLOCK);
    if (signal_event < 0)
        return err_set(err, ERR_INTERNAL, "cannot watch signals: %s", strerror(errno));
    int failed = uv_poll_init(&loop->uv, &loop->signals, signal_event);
    if (failed)
        return err_set(err, ERR_INTERNAL, "cannot watch signals: %s", uv_strerror(failed));
    loop->signals.data = loop;
    CHECK(uv_poll_start(&loop->signals, UV_READABLE, on_signals) == 0);
    return RC_OK;
}

/* The whole process: for one loop only. */
struct rc loop_on_signal(struct loop *loop, int signal, void (*caught)(void *arg), void *arg, struct err *err)
{
    if (!loop->watches)
        TRY(watch_signals(loop, err));
    struct signal_watch *watch = heap_new(sizeof *watch);
    *watch = (struct signal_watch){.next = loop->watches, .number = signal, .caught = caught, .arg = arg};
    loop->watches = watch;
    struct sigaction action = {.sa_handler = catch_signal, .sa_flags = SA_RESTART};
    CHECK(sigaction(signal, &action, NULL) == 0);
    return RC_OK;
}
