/* The gate: from the question to what is kept, and from what was kept to whoever waits.
 *
 * Invariants (docs/ARCHITECTURE.md numbers the promises they carry)
 *  1. Nothing is said to anyone before it is durable: answers are given in `done` of an append, rings and
 *     tellings come from `follow`. One exception: what a model is saying just now is told live (src/gate/README.md).
 *  2. A call is kept together with its verdict, and with the request when the verdict is to ask, in one
 *     append, under the needs that no such call exists and that the session, the rules and the tokens it was judged by
 *     are unchanged.
 *  3. A response is kept only for a requested call, under the need that there is none yet (core/decide.c).
 *  4. Everything in memory is a view: `follow` changes the views in the order sessions, open approvals, tokens,
 *     waiters, watchers, so that whoever is rung sees the new state.
 */
#include "gate/core/core.h"
#include "gate/inner.h"

#include "tools/tools.h"

#include <stdlib.h>

/* Every event, of this process and of others, in the order of seq: the one place where views change. The store
 * calls it on the loop before `done` of the append. Views that are read at the start skip events which their
 * read has covered. */
static void follow(void *arg, const struct event *events, size_t count)
{
    struct gate *gate = arg;
    for (size_t i = 0; i < count; i++) {
        const struct event *event = &events[i], *before = i ? &events[i - 1] : &gate->last_call;
        const struct open *waits = NULL;
        sessions_follow(gate, event);
        journal_follow(gate, event);
        if (event->seq > gate->read_open && event->kind != EVENT_TOOL_RESULT) /* a result concerns no open call */
            waits = open_follow(gate, event, before);
        if (event->kind == EVENT_TOOL_CALL && (i + 1 == count || events[i + 1].kind != EVENT_TOOL_APPROVAL_REQUEST))
            recent_add(&gate->core.recent, event, 1);
        if (event->kind == EVENT_TOOL_APPROVAL_REQUEST)
            journal_requested(gate, event, waits ? waits : open_find(gate, event->session, event->call));
        if (event->seq > gate->read_tokens)
            tokens_follow(gate, event);
        if (event->seq > gate->read_rules)
            rules_follow(gate, event);
        waits_follow(&gate->core, event);
    }
    arena_done(&gate->last_call_arena);
    gate->last_call = (struct event){.kind = EVENT_NONE};
    if (count && events[count - 1].kind == EVENT_TOOL_CALL)
        gate->last_call = event_copy(&gate->last_call_arena, &events[count - 1]);
    ops_wake(gate);
    watch_follow(gate, events, count);
}

static void away(void *arg, bool is_away) { watch_away(arg, is_away); }

static void broken(void *arg, const struct err *err)
{
    struct gate *gate = arg;
    watch_broken(gate, err);
    if (gate->options.broken)
        gate->options.broken(gate->options.arg, err);
}

/* Opens the store and makes the views empty; recover.c fills them before the server listens. */
struct rc gate_open(struct loop *loop, const struct gate_options *options, struct gate **ret_gate,
                    struct err *err)
{
    struct gate *gate = heap_new(sizeof *gate);
    gate->loop = loop;
    gate->options = *options;
    gate->home = str_of(options->home);
    gate->quotas.limits = options->limits;
    gate->core.alert_ms = options->alert_seconds * 1000;
    gate->core.withdraw_ms = options->withdraw_seconds * 1000;
    struct store_options store = {.url = options->store_url, .follow = follow, .away = away, .broken = broken,
                                  .arg = gate};
    struct rc rc = store_open(loop, &store, &gate->store, err);
    if (rc_bad(rc)) {
        free(gate);
        return rc;
    }
    gate->shells = shells_new();
    execute_init(gate);
    gate->core.delivered = store_last_seq(gate->store);
    gate->read_tokens = gate->read_rules = gate->read_open = gate->read_partials = UINT64_MAX;
    ops_init(gate);
    deadlines_init(gate);
    sessions_init(gate);
    rules_init(gate, options);
    *ret_gate = gate;
    return RC_OK;
}

/* In this order: no new work, then the store's threads end, then operations that are still open are given back. */
void gate_close(struct gate *gate)
{
    execute_done(gate);
    archive_stop(gate);
    marks_stop(gate);
    store_stop(gate->store);
    do
        (void)ops_serve(gate);
    while (store_deliver(gate->store) || gate->ended);
    store_free(gate->store);
    marks_done(gate);
    loop_forget(gate->loop, &gate->before_sleep);
    deadlines_done(gate);
    open_done(gate);
    recent_clear(&gate->core.recent);
    sessions_done(gate);
    tokens_done(gate);
    rules_done(gate);
    map_done(&gate->core.waiters);
    map_done(&gate->watchers);
    arena_done(&gate->last_call_arena);
    quota_done(gate);
    free(gate);
}

void gate_read(struct gate *gate, struct read *read, void (*done)(struct read *read), void *arg)
{
    read->done = done;
    read->arg = arg;
    store_read(gate->store, read);
}

size_t gate_calls_of(struct read *read, struct call **ret_calls)
{
    struct call *calls = arena_array(&read->arena, struct call, read->event_count);
    size_t count = 0;
    for (size_t i = 0; i < read->event_count; i++) {
        const struct event *event = &read->events[i];
        size_t at = 0;
        while (at < count && !str_eq(calls[at].session, event->session))
            at++;
        if (at == count) {
            count++;
            calls[at].session = event->session;
        }
        call_apply(&read->arena, &calls[at], event);
    }
    *ret_calls = calls;
    return count;
}
