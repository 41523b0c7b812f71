/* The machine that a node runs on: its loop, clock and random numbers; and what it does to be there. */
#include "gate/inner.h"
#include "sim/fiber.h"
#include "sim/sim.h"
#include "sim/wrap.h"

#include <stdio.h>
#include <stdlib.h>

enum { ALERT_AFTER_S = 3, WITHDRAW_AFTER_S = 5, ROUNDS_MAX = 1000 };

int sim_node(void) { return fiber_node() >= 0 ? fiber_node() : sim->at; }
int64_t sim_steady_us(void) { return sim->steady_us; }

/* ---- time ---- */

int64_t __wrap_clock_steady_us(void) { return sim->steady_us; }

int64_t __wrap_clock_wall_ms(void)
{
    int64_t ahead_ms = sim->mistake == MISTAKE_EARLY_TIMEOUT && sim_node() == 0 ? 60000 : 0;
    return sim->wall_ms + sim->nodes[sim_node()].skew_ms + ahead_ms;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_time)
{
    int64_t us = clock == CLOCK_REALTIME ? sim->wall_ms * 1000 : sim->steady_us;
    *ret_time = (struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    return 0;
}

struct timer {
    struct timer *next;
    void (*fire)(void *arg);
    void *arg;
    int node;
    int64_t at_us; /* 0: stopped */
};

struct timer *__wrap_timer_new(struct loop *loop, void (*fire)(void *arg), void *arg)
{
    struct timer *timer = heap_new(sizeof *timer);
    (void)loop;
    *timer = (struct timer){.next = sim->nodes[sim->at].timers, .fire = fire, .arg = arg, .node = sim->at};
    sim->nodes[sim->at].timers = timer;
    return timer;
}

void __wrap_timer_start(struct timer *timer, int64_t after_ms)
{
    timer->at_us = sim->steady_us + (after_ms > 0 ? after_ms * 1000 : 0);
}

void __wrap_timer_stop(struct timer *timer) { timer->at_us = 0; }

void __wrap_timer_free(struct timer *timer)
{
    struct timer **link = &sim->nodes[timer->node].timers;
    while (*link != timer)
        link = &(*link)->next;
    *link = timer->next;
    free(timer);
}

/* ---- wakers, and what is done before the loop sleeps ---- */

struct waker {
    struct waker *next;
    void (*rung)(void *arg);
    void *arg;
    int node;
    bool ringing;
};

struct waker *__wrap_waker_new(struct loop *loop, void (*rung)(void *arg), void *arg)
{
    struct waker *waker = heap_new(sizeof *waker);
    (void)loop;
    *waker = (struct waker){.next = sim->nodes[sim->at].wakers, .rung = rung, .arg = arg, .node = sim->at};
    sim->nodes[sim->at].wakers = waker;
    return waker;
}

void __wrap_waker_wake(struct waker *waker) { waker->ringing = true; }

void __wrap_waker_free(struct waker *waker)
{
    struct waker **link = &sim->nodes[waker->node].wakers;
    while (*link != waker)
        link = &(*link)->next;
    *link = waker->next;
    free(waker);
}

void __wrap_loop_before_sleep(struct loop *loop, struct before_sleep *before)
{
    (void)loop;
    struct before_sleep **end = &sim->nodes[sim->at].before_sleep;
    while (*end)
        end = &(*end)->next;
    before->next = NULL;
    *end = before;
}

void __wrap_loop_forget(struct loop *loop, struct before_sleep *before)
{
    (void)loop;
    struct before_sleep **link = &sim->nodes[sim->at].before_sleep;
    while (*link != before)
        link = &(*link)->next;
    *link = before->next;
}

void __wrap_loop_again(struct loop *loop)
{
    (void)loop;
    sim->nodes[sim->at].again = true;
}

/* ---- chance, and words ---- */

struct id __wrap_id_new(const char *prefix)
{
    struct id id;
    (void)snprintf(id.text, sizeof id.text, "%s_%llu", prefix, (unsigned long long)++sim->ids);
    return id;
}

struct id __wrap_id_short(void) { return __wrap_id_new("short"); }

void __wrap_id_secret(char out[ID_SECRET_BYTES])
{
    (void)snprintf(out, ID_SECRET_BYTES, "nod_%llu", (unsigned long long)++sim->ids);
}

void __wrap_id_random(void *bytes, size_t n) { memset(bytes, 1, n); }

/* Our own mistake, found by a CHECK. */
void __wrap_err_die(const char *file, int line, const char *what)
{
    (void)fflush(stdout);
    (void)fprintf(stderr, "seed %llu, step %llu, node %d: %s:%d: %s does not hold\n", (unsigned long long)sim->seed,
                  (unsigned long long)sim->step, sim_node(), file, line, what);
    _Exit(70);
}

int __wrap_malloc_trim(size_t pad)
{
    (void)pad;
    return 0;
}

void __wrap_log_write(enum log_level level, const char *what, const struct log_field *fields)
{
    (void)level;
    if (sim && sim->trace)
        (void)printf("      node %d logs: %s%s%.*s\n", sim_node(), what, fields[0].key ? ": " : "",
                     (int)(fields[0].key ? fields[0].text.n : 0), fields[0].key ? fields[0].text.p : "");
}

const struct backend *__wrap_backend_find(const char *url, const char **ret_place)
{
    *ret_place = url;
    return sim->db.shared ? &backend_shared : &backend_alone;
}

/* ---- what is kept or refused ---- */

/* The node knows why: what others kept was told before. */
static void append_ended(struct append *append)
{
    const struct submitted *submitted = append->arg;
    const struct node *node = &sim->nodes[submitted->node];
    if (!node->dead && node->epoch == sim->epoch && append->outcome == APPEND_REFUSED &&
        node->gate->core.delivered < submitted->refused_at)
        sim_fail("node %d is refused because of events that it was not told of", submitted->node);
    append->done = submitted->done;
    append->arg = submitted->arg;
    append->done(append);
}

void __wrap_store_append(struct store *store, struct append *append)
{
    struct submitted *submitted = arena_new(&append->arena, struct submitted);
    *submitted = (struct submitted){.done = append->done, .arg = append->arg, .node = sim->at};
    append->done = append_ended;
    append->arg = submitted;
    __real_store_append(store, append);
}

/* ---- tools ---- */

static struct str files_now(struct arena *arena) { return arena_printf(arena, "version %d", sim->files); }

/* The call is named in its input: {"call":"call_1"}, or {"command":"dig use_1"} of an agent of our own. As the real
 * tools do, it acts only on what it was planned from. */
struct tool_result __wrap_tool_do(const struct tool_use *use, struct str files)
{
    if (sim->nodes[sim_node()].dead)
        return (struct tool_result){.text = STR("killed"), .is_error = true};
    struct str now = files_now(use->arena), command = json_text(use->input, "command");
    if (files.n && !str_eq(files, now) && sim->mistake != MISTAKE_OTHER_FILES)
        return (struct tool_result){.text = STR("the file has changed since it was shown"), .is_error = true};
    if (command.n)
        runs_effect(command, now);
    else
        check_effect(use->session, json_text(use->input, "call"), files.n ? now : files, NULL);
    fiber_yield();
    return (struct tool_result){.text = STR("done")};
}

struct tool_look __wrap_tool_look(const struct tool_use *use)
{
    return (struct tool_look){.preview = STR("{}"), .files = files_now(use->arena)};
}

/* ---- a node ---- */

static void recovered(void *arg, const struct err *err)
{
    struct node *node = arg;
    node->ready = err->code == ERR_OK;
    node->broken = node->broken || !node->ready; /* the program ends, and is started again */
    if (node->ready && !node->dead)
        notify_start(node->notify);
    if (node->ready && !node->dead)
        runtime_start(node->runtime);
}

static void broke(void *arg, const struct err *err)
{
    struct node *node = arg;
    (void)err;
    node->broken = true;
}

void node_start(int number)
{
    struct node *node = &sim->nodes[number];
    struct err err = {0};
    char url[24];
    (void)snprintf(url, sizeof url, "sim:%d", number);
    sim->at = number;
    *node = (struct node){.skew_ms = node->skew_ms, .epoch = sim->epoch};
    struct gate_options options = {.store_url = url, .home = "/home/sim", .alert_seconds = ALERT_AFTER_S,
                                   .withdraw_seconds = WITHDRAW_AFTER_S, .archive_folder = "/home/sim/archive",
                                   .protected = "/home/sim/nod", .broken = broke, .arg = node};
    CHECK(rc_ok(gate_open(NULL, &options, &node->gate, &err)));
    messages_open(number);
    runs_open(number);
    gate_recover(node->gate, recovered, node);
    node_turn(number);
}

static bool run_wakers(struct node *node)
{
    for (struct waker *waker = node->wakers; waker; waker = waker->next) {
        if (!waker->ringing)
            continue;
        waker->ringing = false;
        waker->rung(waker->arg);
        return true;
    }
    return false;
}

static bool fire_timers(struct node *node)
{
    for (struct timer *timer = node->timers; timer; timer = timer->next) {
        if (timer->at_us == 0 || timer->at_us > sim->steady_us)
            continue;
        timer->at_us = 0;
        timer->fire(timer->arg);
        return true;
    }
    return false;
}

void node_turn(int number)
{
    struct node *node = &sim->nodes[number];
    sim->at = number;
    for (int round = 0; node->gate && round < ROUNDS_MAX; round++) {
        bool more = run_wakers(node) || fire_timers(node);
        node->again = false;
        for (struct before_sleep *b = node->before_sleep; b; b = b->next)
            more = b->before(b->arg) || more;
        if (!more && !node->again)
            break;
    }
    if (node->gate && node->ready && !node->dead)
        check_node(number);
}

/* What is at work in a thread of the node comes to an end; what it does counts no more. */
static void end_work(int number)
{
    enum { ROUNDS = 50 };
    for (int i = 0; i < ROUNDS && (messages_busy(number) || runs_busy(number) || clients_open(number)); i++) {
        fiber_drain(number);
        node_turn(number);
    }
}

void node_kill(int number)
{
    struct node *node = &sim->nodes[number];
    sim->at = number;
    if (!node->gate)
        return;
    node->dead = true;
    followers_leave(number);
    clients_leave(number);
    runs_kill(number);
    end_work(number);
    sim->at = number;
    if (messages_busy(number))
        sim_fail("node %d does not end what it sends", number);
    if (runs_busy(number))
        sim_fail("node %d does not end its runs", number);
    notify_close(node->notify);
    gate_close(node->gate);
    if (!runs_busy(number))
        runtime_free(node->runtime);
    for (int i = 0; i < CLIENTS_MAX; i++)
        if (sim->clients[i].kind != CLIENT_NONE && sim->clients[i].node == number)
            sim_fail("node %d does not give back what it has begun (kind %d, phase %u)", number,
                     (int)sim->clients[i].kind, sim->clients[i].op.phase);
    *node = (struct node){.skew_ms = node->skew_ms, .dead = true};
}
