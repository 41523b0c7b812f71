/* Whoever waits for the answer to a call: a bell, nothing more.
 *
 * 1. A waiter is registered before its call is kept or read, so that no answer can slip between.
 * 2. It is rung from the loop after the answer is durable, never from inside the call that decides.
 * 3. It holds no truth: kill the process, and the client asks again and finds the call as it is.
 */
#include "gate/inner.h"
#include "io/clock.h"
#include "io/loop.h"

struct call_key call_key(struct str session, struct str call)
{
    struct call_key key = {.n = 0};
    if (session.n + call.n + 1 > sizeof key.bytes)
        return key;
    if (session.n)
        memcpy(key.bytes, session.p, session.n);
    key.bytes[session.n] = '\n';
    if (call.n)
        memcpy(key.bytes + session.n + 1, call.p, call.n);
    key.n = session.n + 1 + call.n;
    return key;
}

void waiter_register(struct gate *gate, struct ask *ask)
{
    ask->op.gate = gate;
    if (ask->wait_ms <= 0 || ask->registered)
        return;
    struct call_key key = call_key(ask->session, ask->id);
    ask->next_waiter = map_get(&gate->waiters, call_key_str(&key));
    (void)map_put(&gate->waiters, call_key_str(&key), ask);
    ask->registered = true;
    ask->wait_until_us = clock_steady_us() + ask->wait_ms * 1000;
    gate->figures.waiting++;
    struct open *open = open_find(gate, ask->session, ask->id);
    if (!open)
        return;
    open->left = false;
    deadlines_away(gate, open, false);
}

void waiter_leave(struct ask *ask)
{
    if (ask->timer) {
        timer_free(ask->timer);
        ask->timer = NULL;
    }
    ask->parked = false;
    if (!ask->registered)
        return;
    struct gate *gate = ask->op.gate;
    struct call_key key = call_key(ask->session, ask->id);
    struct ask *first = map_take(&gate->waiters, call_key_str(&key));
    struct ask **link = &first;
    while (*link && *link != ask)
        link = &(*link)->next_waiter;
    CHECK(*link == ask);
    *link = ask->next_waiter;
    if (first)
        (void)map_put(&gate->waiters, call_key_str(&key), first);
    ask->registered = false;
    ask->next_waiter = NULL;
    gate->figures.waiting--;
}

static void give_back(struct ask *ask)
{
    waiter_leave(ask);
    if (ask->reread && ask->op.err.code == ERR_OK)
        gate_reread(ask);
    else
        op_end(&ask->op);
}

/* Whoever waited waits no more: it has hung up, which the call says, or its time is over. */
static void leave(struct ask *ask, bool hung_up)
{
    waiter_leave(ask);
    struct open *open = open_find(ask->op.gate, ask->session, ask->id);
    if (!open || gate_awaited(ask))
        return;
    open->left = hung_up;
    deadlines_away(ask->op.gate, open, true);
}

static void time_is_over(void *arg)
{
    struct ask *ask = arg;
    if (ask->brief)
        ask->reread = false;
    leave(ask, false);
    give_back(ask);
}

void waiter_settle(struct ask *ask)
{
    int64_t left_us = ask->wait_until_us - clock_steady_us();
    bool open = ask->op.err.code == ERR_OK && ask->call.status == CALL_AWAITING;
    ask->released = open && ask->op.gate->released;
    if (open && ask->registered && ask->hung_up)
        leave(ask, true);
    if (!open || !ask->registered || left_us <= 0 || ask->op.gate->released) {
        give_back(ask);
        return;
    }
    if (ask->waits)
        ask->waits(ask);
    ask->parked = true;
    ask->timer = timer_new(ask->op.gate->loop, time_is_over, ask);
    timer_start(ask->timer, left_us / 1000 + 1);
}

void waiters_follow(struct gate *gate, const struct event *event)
{
    if (event->kind != EVENT_TOOL_APPROVAL_RESPONSE || gate->waiters.count == 0)
        return;
    struct call_key key = call_key(event->session, event->call);
    struct ask *next;
    for (struct ask *ask = map_get(&gate->waiters, call_key_str(&key)); ask; ask = next) {
        next = ask->next_waiter;
        if (!ask->reread)
            call_apply(ask->op.arena, &ask->call, event);
        if (ask->parked)
            give_back(ask);
    }
}

void gate_release(struct gate *gate)
{
    ARENA_SCOPE(scratch);
    struct ask **asks = arena_array(&scratch, struct ask *, gate->figures.waiting);
    size_t count = 0, at = 0;
    struct str key;
    void *first;
    gate->released = true;
    while (map_next(&gate->waiters, &at, &key, &first))
        for (struct ask *ask = first; ask; ask = ask->next_waiter)
            asks[count++] = ask;
    CHECK(count == gate->figures.waiting);
    for (size_t i = 0; i < count; i++) {
        asks[i]->released = true;
        if (asks[i]->parked)
            give_back(asks[i]);
    }
}

bool gate_forget(struct ask *ask)
{
    if (!ask->parked) {
        ask->hung_up = true;
        return false;
    }
    leave(ask, true);
    return true;
}

bool gate_awaited(const struct ask *ask)
{
    struct call_key key = call_key(ask->session, ask->id);
    CHECK(!ask->registered);
    return ask->op.gate && map_get(&ask->op.gate->waiters, call_key_str(&key));
}
