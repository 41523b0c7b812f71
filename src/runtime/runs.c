/* The runs of this process, on the loop: who is at work, who waits, what wakes whom.
 *
 * A run that waits costs an entry in a map. It is woken by following: a response to one of its calls, whoever gave
 * it and wherever. A wake while the job is at work makes it look once more when it is done, so nothing that is
 * kept between its last look and its end is missed.
 */
#include "runtime/inner.h"

#include "base/log.h"
#include "base/small.h"
#include "io/clock.h"
#include "io/loop.h"

#include <malloc.h>
#include <stdlib.h>

enum { RUN_THREADS_MAX = 256, TROUBLE_MS = 2000, REST_MS = 5000 };

static void wake(struct run *run);

static struct run *run_find(const struct runtime *runtime, struct str thread)
{
    return map_get(&runtime->runs, thread);
}

static struct run *run_ensure(struct runtime *runtime, struct str session, struct str thread)
{
    struct run *run = run_find(runtime, thread);
    if (run)
        return run;
    run = small_new(sizeof *run + session.n + thread.n);
    memcpy(run->bytes, session.p, session.n);
    memcpy(run->bytes + session.n, thread.p, thread.n);
    run->runtime = runtime;
    run->session = (struct str){run->bytes, session.n};
    run->thread = (struct str){run->bytes + session.n, thread.n};
    (void)map_put(&runtime->runs, run->thread, run);
    return run;
}

static void run_free(struct run *run) { small_free(run, sizeof *run + run->session.n + run->thread.n); }

static void run_drop(struct run *run)
{
    CHECK(!run->working);
    CHECK(map_take(&run->runtime->runs, run->thread) == run);
    run_free(run);
}

static void end_if_over(struct runtime *runtime)
{
    if (!runtime->stopping || work_open(runtime->pool) > 0 || !runtime->ended)
        return;
    void (*ended)(void *arg) = runtime->ended;
    runtime->ended = NULL;
    ended(runtime->ended_arg);
}

static void worked(struct job *job)
{
    struct run *run = job->arg;
    struct runtime *runtime = run->runtime;
    run->working = false;
    if (runtime->stopping) {
        run_drop(run);
        end_if_over(runtime);
    } else if (run->end == RUN_TROUBLE) {
        timer_start(runtime->trouble, TROUBLE_MS);
    } else if (run->again) {
        wake(run);
    } else if (run->end != RUN_WAITS) {
        run_drop(run);
    }
    /* Memory that jobs needed is given back when there is a pause, so that waiting runs cost next to nothing. */
    if (work_open(runtime->pool) == 0 && !runtime->stopping)
        timer_start(runtime->rest, REST_MS);
}

static void give_back(void *arg)
{
    const struct runtime *runtime = arg;
    if (work_open(runtime->pool) == 0)
        (void)malloc_trim(0);
}

static void wake(struct run *run)
{
    run->again = run->working;
    if (run->working || run->runtime->stopping)
        return;
    run->working = true;
    atomic_store(&run->cancelled, false);
    run->job = (struct job){.run = run_work, .done = worked, .arg = run};
    work_submit(run->runtime->pool, &run->job);
}

void runs_wake(struct runtime *runtime, struct str session, struct str thread)
{
    if (!runtime->stopping)
        wake(run_ensure(runtime, session, thread));
}

/* Those that had trouble, and those that wait, look again: the latter find nothing to do. */
static void try_again(void *arg)
{
    struct runtime *runtime = arg;
    size_t at = 0;
    struct str thread;
    void *value;
    while (map_next(&runtime->runs, &at, &thread, &value)) {
        struct run *run = value;
        if (!run->working && run->end == RUN_TROUBLE)
            wake(run);
    }
}

/* ---- following ---- */

/* A sub-agent whose run is over wakes the run that waits for it; a run that came to no good end ends its own. */
static void over_told(struct runtime *runtime, const struct event *event, const struct data_run_status *data)
{
    struct str parent = data->parent ? data->parent->thread : STR_NONE;
    if (runtime->stopping)
        return;
    if (parent.n)
        runs_wake(runtime, event->session, parent);
    if (run_status_parse(data->status) == RUN_COMPLETED)
        return;
    move_cancel_children(runtime, event->session, event->thread);
    if (!parent.n)
        gate_end_commands(runtime->gate, event->session);
}

static void status_told(struct runtime *runtime, const struct event *event)
{
    ARENA_SCOPE(scratch);
    struct data_run_status data;
    if (!READ_DATA(&scratch, run_status, event->data, &data))
        return;
    enum run_status status = run_status_parse(data.status);
    struct str owner = data.owner;
    struct run *run = run_find(runtime, event->thread);
    leases_told(runtime, event, &data);
    if (run_status_over(status))
        over_told(runtime, event, &data);
    if (status == RUN_AWAITING_APPROVAL && !run && !runtime->stopping)
        run_ensure(runtime, event->session, event->thread)->end = RUN_WAITS;
    else if (run && run->working && (status == RUN_CANCELLED || (owner.n && !str_eq(owner, runtime->owner))))
        atomic_store(&run->cancelled, true); /* it is not ours any more */
    else if (run_status_over(status) && run && !run->working)
        run_drop(run);
}

static void lease_told(struct runtime *runtime, const struct event *event)
{
    ARENA_SCOPE(scratch);
    struct data_run_lease data;
    if (READ_DATA(&scratch, run_lease, event->data, &data))
        leases_heard(runtime, data.owner);
}

static void tell(struct watcher *watcher, struct happening *happening)
{
    struct runtime *runtime = watcher->arg;
    const struct event *event = happening->event;
    if (event->kind == EVENT_RUN_LEASE) {
        lease_told(runtime, event);
        return;
    }
    if (event->kind == EVENT_RUN_STATUS) {
        status_told(runtime, event);
        return;
    }
    struct run *run = run_find(runtime, event->thread);
    if (run)
        wake(run);
}

static void caught_up(struct watcher *watcher)
{
    if (watcher->failed)
        log_line(LOG_ERROR, "runs cannot be followed; restart the server");
    else
        gate_watch_more(watcher);
}

static void read_runs(struct runtime *runtime, uint64_t after);

static void runs_read(struct read *read)
{
    struct runtime *runtime = read->arg;
    uint64_t covered = read->covered, after = read->after;
    size_t count = read->event_count;
    if (read->err.code != ERR_OK)
        log_line(LOG_ERROR, "runs cannot be recovered", LOG_C("error", read->err.text));
    for (size_t i = 0; i < count; i++) {
        ARENA_SCOPE(scratch);
        struct data_run_status data;
        const struct event *event = &read->events[i];
        if (!READ_DATA(&scratch, run_status, event->data, &data))
            continue;
        enum run_status status = run_status_parse(data.status);
        leases_told(runtime, event, &data); /* who works on it elsewhere may be alive: that takes a lease to know */
        bool elsewhere = !runtime->options.only_process && status == RUN_RUNNING;
        if (!run_status_over(status) && status != RUN_PENDING && !elsewhere)
            wake(run_ensure(runtime, event->session, event->thread));
    }
    bool failed = read->err.code != ERR_OK;
    read_free(read);
    if (runtime->stopping || failed)
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
    read->after = after;
    read->done = runs_read;
    read->arg = runtime;
    gate_read(runtime->gate, read);
}

/* ---- the runtime ---- */

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

struct runtime *runtime_new(struct loop *loop, const struct runtime_options *options)
{
    struct runtime *runtime = heap_new(sizeof *runtime);
    BUF_SCOPE(tools, LIMIT_ANSWER_BYTES);
    struct json_out out = json_out(&tools);
    CHECK(options->provider_count <= PROVIDERS_MAX);
    runtime->loop = loop;
    runtime->gate = options->gate;
    copy_options(runtime, options);
    gate_tool_definitions(runtime->gate, STR_NONE, &out);
    runtime->tools = arena_str(&runtime->arena, buf_str(&tools));
    runtime->owner = arena_str(&runtime->arena, str_of(id_new("own").text));
    runtime->pool = work_pool_new(loop, RUN_THREADS_MAX);
    runtime->trouble = timer_new(loop, try_again, runtime);
    runtime->rest = timer_new(loop, give_back, runtime);
    runtime->watcher = (struct watcher){
        .kinds = (uint64_t)1 << EVENT_RUN_STATUS | (uint64_t)1 << EVENT_TOOL_APPROVAL_RESPONSE |
                 (uint64_t)1 << EVENT_RUN_LEASE,
        .session = STR(""),
        .tell = tell,
        .caught_up = caught_up,
        .arg = runtime,
    };
    return runtime;
}

void runtime_start(struct runtime *runtime)
{
    leases_start(runtime);
    read_runs(runtime, 0);
}

void runtime_stop(struct runtime *runtime, void (*ended)(void *arg), void *arg)
{
    size_t at = 0;
    struct str thread;
    void *value;
    runtime->stopping = true;
    runtime->ended = ended;
    runtime->ended_arg = arg;
    if (runtime->started)
        gate_unwatch(&runtime->watcher);
    runtime->started = false;
    while (map_next(&runtime->runs, &at, &thread, &value))
        atomic_store(&((struct run *)value)->cancelled, true);
    end_if_over(runtime);
}

bool runtime_busy(const struct runtime *runtime) { return work_open(runtime->pool) > 0; }

void runtime_free(struct runtime *runtime)
{
    size_t at = 0;
    struct str thread;
    void *value;
    CHECK(!runtime_busy(runtime));
    while (map_next(&runtime->runs, &at, &thread, &value))
        run_free(value);
    map_done(&runtime->runs);
    work_pool_free(runtime->pool);
    leases_done(runtime);
    timer_free(runtime->trouble);
    timer_free(runtime->rest);
    arena_done(&runtime->arena);
    free(runtime);
}
