/* The driver of the runs: does on the loop what core/runs.c says. Each job is at work on a worker thread. */
#include "runtime/inner.h"

#include "base/log.h"
#include "event/shapes.h"
#include "io/clock.h"
#include "io/loop.h"
#include "io/system.h"

#include <stdlib.h>

enum { RUN_THREADS_MAX = 256, TROUBLE_MS = 2000, REST_MS = 5000, LEASE_TICKS = 3 };

/* ---- jobs ---- */

static void end_if_over(struct runtime *runtime)
{
    if (!runtime->runs.stopping || work_open(runtime->pool) > 0 || !runtime->ended)
        return;
    void (*ended)(void *arg) = runtime->ended;
    runtime->ended = NULL;
    ended(runtime->ended_arg);
}

static void worked(struct job *job);

static void start(struct runtime *runtime, struct run *run)
{
    struct run_job *work = heap_new(sizeof *work);
    *work = (struct run_job){.runtime = runtime, .run = run, .job = {.run = run_work, .done = worked, .arg = work}};
    run->job = work;
    work_submit(runtime->pool, &work->job);
}

/* Does what the core has decided, on the loop: starts jobs, cancels others, arms the timer. */
static void carry_out(struct runtime *runtime, const struct runs_out *out)
{
    for (struct run *run = out->start, *next; run; run = next) {
        next = run->next; /* read before start(), which may put the run into another list */
        start(runtime, run);
    }
    for (struct run *run = out->cancel; run; run = run->next)
        atomic_store(&((struct run_job *)run->job)->cancelled, true);
    if (out->trouble)
        timer_start(runtime->trouble, TROUBLE_MS);
}

/* On the loop, when a job's thread has ended: the core decides whether the run has a next job. */
static void worked(struct job *job)
{
    struct run_job *work = job->arg;
    struct run *run = work->run;
    struct runtime *runtime = work->runtime;
    struct runs_out out = {0};
    run->job = NULL;
    free(work);
    runs_ended(&runtime->runs, run, &out);
    carry_out(runtime, &out);
    end_if_over(runtime);
    /* Memory that jobs needed is given back when there is a pause, so that waiting runs cost next to nothing. */
    if (work_open(runtime->pool) == 0 && !runtime->runs.stopping)
        timer_start(runtime->rest, REST_MS);
}

static void give_back(void *arg)
{
    const struct runtime *runtime = arg;
    if (work_open(runtime->pool) == 0)
        system_trim_heap();
}

void runtime_wake(struct runtime *runtime, struct str session, struct str thread)
{
    struct runs_out out = {0};
    runs_wake(&runtime->runs, session, thread, &out);
    carry_out(runtime, &out);
}

static void read_runs(struct runtime *runtime, uint64_t after);

static void try_again(void *arg)
{
    struct runtime *runtime = arg;
    struct runs_out out = {0};
    if (runtime->unread && !runtime->runs.stopping)
        read_runs(runtime, 0);
    runs_try_again(&runtime->runs, &out);
    carry_out(runtime, &out);
}

/* ---- leases ---- */

static void said(struct append *append) { append_free(append); } /* a failure is ignored: the next lease follows */

/* The lease of this process, as an event: other nodes take over its runs when it is not renewed. */
static void say_alive(struct runtime *runtime)
{
    struct append *append = append_new();
    (void)append_event(append, (struct event){
        .kind = EVENT_RUN_LEASE,
        .at_ms = clock_wall_ms(),
        .actor = STR("nod"),
        .data = DATA(&append->arena, run_lease, .owner = runtime->runs.owner),
    });
    append->done = said;
    gate_keep(runtime->gate, append);
}

/* Renews the lease, three times within its length; only on a store that several processes use. */
static void tick(void *arg)
{
    struct runtime *runtime = arg;
    struct runs_out out = {0};
    if (runtime->runs.stopping)
        return;
    if (work_open(runtime->pool) > 0)
        say_alive(runtime);
    runs_take_over(&runtime->runs, clock_steady_us(), &out);
    carry_out(runtime, &out);
    timer_start(runtime->leases, runtime->options.lease_seconds * 1000 / LEASE_TICKS);
}

static void start_leases(struct runtime *runtime)
{
    if (runtime->options.only_process)
        return;
    CHECK(runtime->options.lease_seconds > 0);
    runtime->runs.began_us = clock_steady_us();
    timer_start(runtime->leases, runtime->options.lease_seconds * 1000 / LEASE_TICKS);
}

/* ---- following ---- */

/* Events that other processes or people caused: answers, cancellations, leases. */
static void tell(struct watcher *watcher, struct happening *happening)
{
    struct runtime *runtime = watcher->arg;
    const struct event *event = happening->event;
    struct runs_out out = {0};
    runs_follow(&runtime->runs, event, clock_steady_us(), &out);
    carry_out(runtime, &out);
    if (out.cancel_children)
        move_cancel_children(runtime, event->session, event->thread);
    if (out.end_commands)
        gate_end_commands(runtime->gate, event->session);
}

static void caught_up(struct watcher *watcher)
{
    if (watcher->failed)
        log_line(LOG_ERROR, "runs cannot be followed; restart the server");
    else
        gate_watch_more(watcher);
}

/* At the start, by pages: every thread's last status. Then the watcher goes on from there without a gap. */
static void runs_read(struct read *read)
{
    struct runtime *runtime = read->arg;
    uint64_t covered = read->covered, after = read->after;
    size_t count = read->event_count;
    struct runs_out out = {0};
    if (read->err.code != ERR_OK)
        log_line(LOG_ERROR, "runs cannot be recovered", LOG_C("error", read->err.text));
    for (size_t i = 0; i < count; i++)
        runs_recover(&runtime->runs, &read->events[i], clock_steady_us(), &out);
    bool failed = read->err.code != ERR_OK;
    read_free(read);
    carry_out(runtime, &out);
    runtime->unread = failed;
    if (failed && !runtime->runs.stopping)
        timer_start(runtime->trouble, TROUBLE_MS);
    if (runtime->runs.stopping || failed)
        return;
    if (count && covered > after) {
        read_runs(runtime, covered);
        return;
    }
    runtime->watcher.after = covered;
    runtime->started = true;
    gate_watch(runtime->gate, &runtime->watcher);
}

static void read_runs(struct runtime *runtime, uint64_t after)
{
    struct read *read = read_new(READ_RUNS);
    runtime->unread = false;
    read->after = after;
    gate_read(runtime->gate, read, runs_read, runtime);
}

/* ---- the runtime ---- */

/* The caller's strings need not outlive the call. */
static void copy_options(struct runtime *runtime, const struct runtime_options *options)
{
    runtime->options = *options;
    for (size_t i = 0; i < options->provider_count; i++) {
        struct provider_options *mine = &runtime->options.providers[i];
        mine->kind = arena_c(&runtime->arena, str_of(mine->kind));
        mine->url = arena_c(&runtime->arena, str_of(mine->url));
        mine->model = arena_c(&runtime->arena, str_of(mine->model));
        mine->key = arena_c(&runtime->arena, str_of(mine->key));
        CHECK(provider_find(mine->kind));
    }
}

/* On the loop. Nothing runs before runtime_start: the gate is not recovered yet. */
struct runtime *runtime_new(struct loop *loop, const struct runtime_options *options)
{
    struct runtime *runtime = heap_new(sizeof *runtime);
    JSON_SCOPE(tools, out, LIMIT_ANSWER_BYTES);
    CHECK(options->provider_count <= PROVIDERS_MAX);
    runtime->loop = loop;
    runtime->gate = options->gate;
    copy_options(runtime, options);
    gate_tool_definitions(runtime->gate, STR_NONE, &out);
    runtime->tools = arena_str(&runtime->arena, buf_str(&tools));
    runtime->runs.owner = arena_str(&runtime->arena, str_of(id_new("own").text));
    runtime->runs.lease_us = options->only_process ? 0 : options->lease_seconds * 1000000;
    runtime->pool = work_pool_new(loop, RUN_THREADS_MAX);
    runtime->trouble = timer_new(loop, try_again, runtime);
    runtime->rest = timer_new(loop, give_back, runtime);
    runtime->leases = timer_new(loop, tick, runtime);
    runtime->what = (struct watched){
        .kinds = (uint64_t)1 << EVENT_RUN_STATUS | (uint64_t)1 << EVENT_TOOL_APPROVAL_RESPONSE |
                 (uint64_t)1 << EVENT_RUN_LEASE,
        .session = STR(""),
        .tell = tell,
        .caught_up = caught_up,
    };
    runtime->watcher = (struct watcher){.what = &runtime->what, .arg = runtime};
    return runtime;
}

void runtime_start(struct runtime *runtime)
{
    start_leases(runtime);
    read_runs(runtime, 0);
}

/* Jobs are cancelled and end at their next step; `ended` is called when the last one has. Their runs stay as
 * they are in the log and are taken up by the next process. */
void runtime_stop(struct runtime *runtime, void (*ended)(void *arg), void *arg)
{
    struct runs_out out = {0};
    runtime->ended = ended;
    runtime->ended_arg = arg;
    if (runtime->started)
        gate_unwatch(&runtime->watcher);
    runtime->started = false;
    runs_stop(&runtime->runs, &out);
    carry_out(runtime, &out);
    end_if_over(runtime);
}

bool runtime_busy(const struct runtime *runtime) { return work_open(runtime->pool) > 0; }

/* After runtime_stop has ended every run, and the gate is closed. */
void runtime_free(struct runtime *runtime)
{
    CHECK(!runtime_busy(runtime));
    runs_done(&runtime->runs);
    work_pool_free(runtime->pool);
    timer_free(runtime->trouble);
    timer_free(runtime->rest);
    timer_free(runtime->leases);
    arena_free(runtime);
}
