/* One loop waits for everything. It owns all sockets and timers; other threads reach it only by a waker. */
#ifndef IO_LOOP_H
#define IO_LOOP_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct loop;
struct timer;
struct waker;
struct loop_watch;

struct rc loop_new(struct loop **ret_loop, struct err *err);
void loop_free(struct loop *loop);
/* Runs until loop_stop. */
void loop_run(struct loop *loop);
void loop_stop(struct loop *loop);
/* Calls `before` at the end of every turn, before the loop goes to sleep; several are called in this order, and again
 * while one of them returns true or loop_again was called: there is more to do. After some rounds sockets come first.
 */
struct before_sleep {
    bool (*before)(void *arg);
    void *arg;
    struct before_sleep *next; /* private to the loop */
};
void loop_before_sleep(struct loop *loop, struct before_sleep *before);
void loop_forget(struct loop *loop, struct before_sleep *before);
/* On the loop: asks for another round of the `before` functions before the loop sleeps. */
void loop_again(struct loop *loop);
/* The uv_loop_t, for io/ and http/ only. */
void *loop_uv(struct loop *loop);

/* Fires once; start again to fire again. Created stopped. */
struct timer *timer_new(struct loop *loop, void (*fire)(void *arg), void *arg);
void timer_start(struct timer *timer, int64_t after_ms);
void timer_stop(struct timer *timer);
void timer_free(struct timer *timer);

/* waker_wake may be called from any thread; several rings before the loop wakes are one call of `rung`. */
struct waker *waker_new(struct loop *loop, void (*rung)(void *arg), void *arg);
void waker_wake(struct waker *waker);
void waker_free(struct waker *waker);

/* Calls `ready` on the loop while `fd` can be read or has failed. The watch has a copy of the descriptor, so that its
 * owner, which may be another thread, closes it when it likes. NULL: there is no descriptor left for the copy. */
struct loop_watch *loop_watch_new(struct loop *loop, int fd, void (*ready)(void *arg), void *arg);
void loop_watch_free(struct loop_watch *watch);

/* Calls `caught` on the loop when the signal comes. Lives as long as the loop; from loop_free to the end of the process
 * the signal is ignored, so that a second one does not change how a process that is ending ends. */
struct rc loop_on_signal(struct loop *loop, int signal, void (*caught)(void *arg), void *arg,
                         struct err *err);

#endif
