/* Waiters: clients that wait for the answer to a call. A waiter holds no state of its own.
 *
 * 1. A waiter is registered before its call is kept or read, so that no answer can slip between.
 * 2. It is rung when the answer is durable and was told, and stepped by the driver, never from inside the call that
 *    decides.
 * 3. It holds no truth: kill the process, and the client asks again and finds the call as it is.
 */
#include "gate/core/core.h"

#include "event/append.h"

bool waits_awaited(const struct core *core, struct str session, struct str call)
{
    struct call_key key = call_key(session, call);
    return map_get(&core->waiters, call_key_str(&key)) != NULL;
}

/* Called before the call is kept or read. Somebody waits again: the call is not withdrawn. */
void waits_add(struct core *core, struct ask *ask, struct now now)
{
    if (ask->wait_ms <= 0 || ask->registered)
        return;
    struct call_key key = call_key(ask->session, ask->id);
    ask->next_waiter = map_get(&core->waiters, call_key_str(&key));
    (void)map_put(&core->waiters, call_key_str(&key), ask);
    ask->registered = true;
    ask->wait.time = now.steady_us + ask->wait_ms * 1000;
    core->waiting++;
    struct open *open = core_open(core, ask->session, ask->id);
    if (!open)
        return;
    open->left = false;
    core_away(core, open, false, now);
}

static void take_out(struct core *core, struct ask *ask)
{
    struct call_key key = call_key(ask->session, ask->id);
    struct ask *first = map_take(&core->waiters, call_key_str(&key));
    struct ask **link = &first;
    while (*link && *link != ask)
        link = &(*link)->next_waiter;
    CHECK(*link == ask);
    *link = ask->next_waiter;
    if (first)
        (void)map_put(&core->waiters, call_key_str(&key), first);
    ask->registered = false;
    ask->next_waiter = NULL;
    core->waiting--;
}

/* When the last one leaves, core_away starts the time after which the call is withdrawn. */
void waits_leave(struct core *core, struct ask *ask, bool hung_up, struct now now)
{
    due_take(&core->waits, &ask->wait);
    ask->parked = false;
    bool waited = ask->registered;
    if (waited)
        take_out(core, ask);
    struct open *open = waited || ask->withdraws ? core_open(core, ask->session, ask->id) : NULL;
    if (!open || waits_awaited(core, ask->session, ask->id))
        return;
    if (waited)
        open->left = hung_up;
    core_away(core, open, true, now);
}

void waits_events(const struct open *open, struct event *ret_call, struct event *ret_request)
{
    *ret_request = (struct event){.kind = EVENT_TOOL_APPROVAL_REQUEST, .seq = open->seq, .at_ms = open->requested_ms,
                                  .session = open->session, .thread = open->thread, .call = open->call,
                                  .actor = open->actor, .data = open->request_data};
    *ret_call = *ret_request;
    ret_call->kind = EVENT_TOOL_CALL;
    ret_call->seq = open->seq - 1; /* it was kept right before its request */
    ret_call->data = open->call_data;
}

bool waits_open_call(const struct core *core, struct arena *arena, struct str session, struct str call,
                     struct call *ret_call)
{
    struct event asked, request;
    const struct open *open = core_open(core, session, call);
    if (!open || str_empty(open->call_data))
        return false;
    waits_events(open, &asked, &request);
    *ret_call = (struct call){0};
    call_apply(arena, ret_call, &asked);
    call_apply(arena, ret_call, &request);
    return ret_call->status == CALL_AWAITING;
}

static void ring(struct core *core, struct ask *ask)
{
    if (!ask->parked)
        return;
    due_take(&core->waits, &ask->wait);
    ask->parked = false;
    ask->answered = true;
    ask->op.next = core->rung;
    core->rung = &ask->op;
}

/* The answer may have been archived with its session before this node read it: the waiting operations read the store
 * themselves. */
static void ring_session(struct core *core, struct str session)
{
    MAP_EACH(&core->waiters, each) {
        for (struct ask *ask = each.value; ask && str_eq(ask->session, session); ask = ask->next_waiter) {
            ask->reread = ask->answered = true;
            ring(core, ask);
        }
    }
}

/* Called for every event that is followed: hands the answer to the waiters of the call and lists them to be
 * stepped. */
void waits_follow(struct core *core, const struct event *event)
{
    if (event->kind == EVENT_SESSION_ARCHIVED)
        ring_session(core, event->session);
    if (event->kind != EVENT_TOOL_APPROVAL_RESPONSE || core->waiters.count == 0)
        return;
    struct call_key key = call_key(event->session, event->call);
    for (struct ask *ask = map_get(&core->waiters, call_key_str(&key)); ask; ask = ask->next_waiter) {
        if (!ask->reread)
            call_apply(ask->op.arena, ask->call, event);
        ring(core, ask);
    }
}

/* The next waiter whose answer came, or whose time is over; the driver steps it. */
struct op *waits_next(struct core *core, struct now now)
{
    struct op *op = core->rung;
    if (op) {
        core->rung = op->next;
        return op;
    }
    if (core->waits.count == 0 || (core->waits.heap[0]->time > now.steady_us && !core->released))
        return NULL;
    struct ask *ask = (struct ask *)((char *)core->waits.heap[0] - offsetof(struct ask, wait));
    due_take(&core->waits, &ask->wait);
    ask->parked = false;
    return &ask->op;
}
