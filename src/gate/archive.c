/* Archiving beside a running server: the plan is made in a thread of its own, which blocks on disk; the moves are
 * appends like any other, a few at a time, so that calls do not wait long behind them.
 *
 * Views drop a session that has left when they follow its event, as with every other change.
 */
#include "gate/inner.h"

#include "base/log.h"
#include "io/clock.h"
#include "io/loop.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { MOVES_AT_ONCE = 8 };

/* The one archiving that may be under way. Made and freed on the loop; its thread touches `plan` and `err`
 * until it is joined. */
struct archivist {
    struct gate *gate;
    struct gate_archiving *archiving;
    char *actor;
    struct archive_plan *plan;
    struct err err;         /* set by the thread until it is joined, then on the loop by a move that failed */
    size_t at;              /* the next session to move */
    unsigned moving;
    pthread_t thread;
    bool working;           /* the thread was started and must be joined */
    bool shedding;          /* its last step: the disk space of archived sessions is freed */
    _Atomic bool stop;
    struct waker *waker;
};

/* On the loop, once: gives the operation back and frees the archivist. */
static void finish(struct archivist *archivist)
{
    struct gate_archiving *archiving = archivist->archiving;
    gate_op_take(&archiving->op, &archivist->err);
    archive_plan_free(archivist->plan, archivist->err.code == ERR_OK);
    archivist->gate->archivist = NULL;
    waker_free(archivist->waker);
    free(archivist->actor);
    free(archivist);
    op_end(&archiving->op);
}

/* ---- the plan, in its thread ---- */

/* In a thread of its own. Touches only the archivist's own members; `planned` continues on the loop. */
static void *make_plan(void *arg)
{
    struct archivist *archivist = arg;
    struct archiving archiving = {
        .url = archivist->gate->options.store_url,
        .folder = archivist->gate->options.archive_folder,
        .until_ms = clock_wall_ms() - archivist->archiving->older_than_ms,
        .actor = archivist->actor,
        .stop = &archivist->stop,
    };
    if (rc_ok(archive_plan(&archiving, &archivist->plan, &archivist->err)))
        archivist->err = (struct err){.code = ERR_OK};
    waker_wake(archivist->waker);
    return NULL;
}

/* Room that cannot be given back now is given back after the next archive: no reason to fail. */
static void *shed(void *arg)
{
    struct archivist *archivist = arg;
    struct err err = {0};
    if (rc_bad(store_shed(archivist->gate->options.store_url, &err)))
        log_line(LOG_WARN, "the disk space of archived sessions could not be freed", LOG_C("why", err.text));
    waker_wake(archivist->waker);
    return NULL;
}

static void begin(struct archivist *archivist, void *(*work)(void *arg))
{
    archivist->at = 0;
    archivist->working = true;
    CHECK(pthread_create(&archivist->thread, NULL, work, archivist) == 0);
}

/* ---- moving the sessions of the plan, one append each, on the loop ---- */

static void go_on(struct archivist *archivist);

/* An append of one session came back. Refused: something was added to it since the plan was made, so it stays. */
static void moved(struct append *append)
{
    struct archivist *archivist = append->arg;
    struct archive_result *result = &archivist->archiving->result;
    struct archived archived;
    if (append->outcome == APPEND_KEPT) {
        CHECK(archived_parse(&append->arena, append->events[0].data, &archived));
        result->sessions++;
        result->events += archived.events;
    } else if (append->outcome == APPEND_REFUSED) {
        result->stayed++;
    } else if (append->err.code != ERR_GONE && archivist->err.code == ERR_OK) { /* gone: another node was faster */
        archivist->err = append->err;
    }
    append_free(append);
    archivist->moving--;
    go_on(archivist);
}

/* Keeps MOVES_AT_ONCE appends under way; when the last one is back, begins the next plan or ends. */
static void go_on(struct archivist *archivist)
{
    struct archive_plan *plan = archivist->plan;
    while (archivist->err.code == ERR_OK && archivist->at < plan->count && archivist->moving < MOVES_AT_ONCE) {
        struct append *append = archive_move(plan, archivist->at++, clock_wall_ms());
        append->done = moved;
        append->arg = archivist;
        archivist->moving++;
        store_append(archivist->gate->store, append);
    }
    if (archivist->moving)
        return;
    bool well = plan && archivist->err.code == ERR_OK;
    if (plan)
        archive_result_add(&archivist->archiving->result, plan);
    if (!well) {
        finish(archivist);
        return;
    }
    bool more = plan->resumed;
    archive_plan_free(plan, true);
    archivist->plan = NULL;
    if (atomic_load(&archivist->stop)) { /* the gate is stopping: no thread may be started, it would not be joined */
        if (more)
            (void)err_set(&archivist->err, ERR_UNAVAILABLE, "the server is stopping");
        finish(archivist);
        return;
    }
    archivist->shedding = !more;
    begin(archivist, more ? make_plan : shed);
}

static void join(struct archivist *archivist)
{
    CHECK(pthread_join(archivist->thread, NULL) == 0);
    archivist->working = false;
}

/* On the loop, woken by the thread that has ended. */
static void planned(void *arg)
{
    struct archivist *archivist = arg;
    if (!archivist->working)
        return;
    join(archivist);
    if (archivist->shedding)
        finish(archivist);
    else
        go_on(archivist);
}

void gate_archive(struct gate *gate, struct gate_archiving *archiving)
{
    archiving->result = (struct archive_result){0};
    archiving->op.gate = gate;
    if (gate->archivist) {
        (void)err_set(gate_op_fail(&archiving->op), ERR_CONFLICT, "sessions are being archived already");
        op_end(&archiving->op);
        return;
    }
    struct archivist *archivist = heap_new(sizeof *archivist);
    archivist->gate = gate;
    archivist->archiving = archiving;
    archivist->actor = heap_new(archiving->actor.n + 1);
    memcpy(archivist->actor, archiving->actor.p, archiving->actor.n);
    archivist->waker = waker_new(gate->loop, planned, archivist);
    gate->archivist = archivist;
    begin(archivist, make_plan);
}

/* Before the store closes: what is being planned is given up; what is being moved ends with the store. */
void archive_stop(struct gate *gate)
{
    struct archivist *archivist = gate->archivist;
    if (!archivist)
        return;
    atomic_store(&archivist->stop, true);
    if (!archivist->working)
        return;
    join(archivist);
    if (archivist->shedding) {
        finish(archivist);
        return;
    }
    if (archivist->err.code == ERR_OK)
        (void)err_set(&archivist->err, ERR_UNAVAILABLE, "the server is stopping");
    go_on(archivist);
}

void gate_archive_write(struct json_out *out, const struct archive_result *result)
{
    json_open(out, '{');
    if (result->file[0])
        json_member(out, "path", str_of(result->file));
    else
        json_member_null(out, "path");
    json_members(out, J("sessions", result->sessions), J("events", result->events), J("stayed", result->stayed));
    json_close(out, '}');
}
