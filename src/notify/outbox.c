/* The outbox: which deliveries there are, which are due, and what came of them.
 *
 *  1. State is a fold of the log: a request plans deliveries, DELIVERY_CLAIMED says that a process is about to send
 *     one, DELIVERY_ENDED what came of it, an answer ends those that nobody has claimed. Every process on a store
 *     computes the same deliveries with the same ids, so any of them can go on. A snooze delays deliveries, also those
 *     that are to be tried again; an assignment gives those that nobody has claimed to one person.
 *  2. Nothing is sent before its claim is kept, and the claim of a request is kept only while it is not answered: so
 *     nothing begins to be sent after the answer, at whatever node that came.
 *  3. Of two claims the first in the log's order wins. A claim holds for a lease, measured by each process from when
 *     it was told; clocks of different machines are not compared. A store that only this process uses has no leases:
 *     whoever claimed before is gone.
 *  4. A delivery that was claimed may have been sent. If its call was answered meanwhile it is withdrawn: when its
 *     end is known, or when its lease is over.
 *  5. If DELIVERY_ENDED cannot be kept the message may be sent again: at least once, never lost.
 */
#include "notify/outbox.h"

#include "event/shapes.h"
#include "event/token.h"
#include "io/clock.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    LOOKING_MS = 90000,
    LOOKING_STEP_MS = 30000, /* a shorter delay than this is not kept: it bounds the events of one who looks on */
    ALERT_AGE_MS = 48 * 3600000,
};

/* ---- calls and their deliveries ---- */

static struct str key_of(struct arena *arena, struct str session, struct str call)
{
    char *key = arena_bytes(arena, session.n + 1 + call.n), *at = key;
    (void)str_pack(&at, session);
    (void)str_pack(&at, STR("\n"));
    (void)str_pack(&at, call);
    return (struct str){key, (size_t)(at - key)};
}

static struct str short_id(const struct delivery *delivery) { return (struct str){delivery->id, 16}; }

/* Its id is computed from the call, the person and the channel, so that all nodes know the same delivery by the same
 * id. */
static void add_delivery(struct notify *n, struct asked *asked, const struct outbox_plan *plan)
{
    struct delivery *delivery = heap_new(sizeof *delivery);
    *delivery = (struct delivery){.asked = asked, .channel = plan->channel, .route = plan->route,
                                  .purpose = plan->purpose, .due_ms = plan->due_ms, .plan_ms = plan->due_ms,
                                  .by_name = plan->by_name, .fits = plan->by_name, .next = asked->deliveries};
    memcpy(delivery->id, plan->id, sizeof delivery->id);
    asked->deliveries = delivery;
    (void)map_put(&n->ids, short_id(delivery), delivery);
    notify_add_due(n, delivery);
}

void outbox_forget(struct notify *n, struct asked *asked)
{
    ARENA_SCOPE(scratch);
    (void)map_take(&n->calls, key_of(&scratch, asked->session, asked->call));
    for (struct delivery *delivery = asked->deliveries, *next; delivery; delivery = next) {
        next = delivery->next;
        notify_remove_due(n, delivery);
        (void)map_take(&n->ids, short_id(delivery));
        free(delivery);
    }
    free(asked);
}

static bool is_over(const struct asked *asked)
{
    for (const struct delivery *delivery = asked->deliveries; delivery; delivery = delivery->next)
        if (delivery->state != SENT && delivery->state != OVER)
            return false;
    return asked->answered;
}

enum { WITHDRAWALS_MAX = 4 };

/* Plans one withdrawal for all messages of the call on the channel. `again`: `sent` has just ended; if the withdrawal
 * was claimed before, the message may have arrived behind it, so another is planned. */
static void withdraw(struct notify *n, const struct delivery *sent, bool again)
{
    const struct channel *channel = &n->config.channels[sent->channel];
    struct outbox_plan plan = {.channel = sent->channel, .route = sent->route, .purpose = PURPOSE_WITHDRAW,
                               .due_ms = clock_wall_ms()};
    if (!channel->kind->withdraws || !purpose_asks(sent->purpose))
        return;
    for (int number = 0; number < WITHDRAWALS_MAX; number++) {
        plan_id(sent->asked->session, sent->asked->call, n->config.routes[sent->route].person, channel->name, number,
                PURPOSE_WITHDRAW, plan.id);
        const struct delivery *planned = map_get(&n->ids, (struct str){plan.id, 16});
        if (!planned && (number > 0 || !again))
            add_delivery(n, sent->asked, &plan);
        if (!planned || !planned->claimed || !again)
            return;
    }
}

/* Whether another message of the same channel and route may still arrive: it is being sent, or was when its process
 * died. */
static bool is_followed(const struct delivery *sent)
{
    for (const struct delivery *other = sent->asked->deliveries; other; other = other->next)
        if (other->channel == sent->channel && other->route == sent->route && purpose_asks(other->purpose) &&
            (other->state == CLAIMING || other->state == SENDING || (other->state == DUE && other->claimed)))
            return true;
    return false;
}

/* Withdraws what was or may have been sent, once nothing can arrive behind the withdrawal. */
static void withdraw_sent(struct notify *n, const struct asked *asked)
{
    for (const struct delivery *sent = asked->deliveries; sent; sent = sent->next)
        if ((sent->state == SENT || sent->ended_sent) && !is_followed(sent))
            withdraw(n, sent, false);
}

/* Calls that are over stay for a while (LATE_MAX of them), because the end of a delivery may come after the
 * answer. */
void outbox_forget_if_over(struct notify *n, struct asked *asked)
{
    if (asked->answered)
        withdraw_sent(n, asked);
    if (asked->late || !is_over(asked))
        return;
    asked->late = true;
    *n->late_end = asked;
    n->late_end = &asked->later;
    if (n->late_count < LATE_MAX) {
        n->late_count++;
        return;
    }
    struct asked *oldest = n->late;
    n->late = oldest->later;
    oldest->later = NULL;
    oldest->late = false;
    if (is_over(oldest)) /* otherwise a withdrawal is under way, and its end adds it again */
        outbox_forget(n, oldest);
}

/* Delays the person's messages about the call until `until_ms`; returns whether any was delayed. */
static bool hold(struct notify *n, struct str person, struct str session, struct str call, int64_t until_ms)
{
    ARENA_SCOPE(scratch);
    bool held = false;
    const struct asked *asked = map_get(&n->calls, key_of(&scratch, session, call));
    if (!asked || asked->answered || !asked->routine) /* messages about risky calls are not delayed */
        return false;
    for (struct delivery *delivery = asked->deliveries; delivery; delivery = delivery->next) {
        bool theirs = str_eq(n->config.routes[delivery->route].person, person);
        if (!theirs || delivery->state != DUE || delivery->claimed || delivery->due_ms + LOOKING_STEP_MS > until_ms)
            continue;
        delivery->plan_ms = until_ms;
        outbox_place(n, delivery);
        held = true;
    }
    notify_arm_outbox(n);
    return held;
}

static void held_kept(struct append *append) { append_free(append); }

/* Somebody has the call open on a page: messages wait a little. Other nodes learn of it by an event. */
void outbox_seen(struct notify *n, struct str person, struct str session, struct str call)
{
    int64_t now_ms = clock_wall_ms();
    if (!hold(n, person, session, call, now_ms + LOOKING_MS) || !gate_is_shared(n->options.gate))
        return;
    struct append *append = append_new(); /* an event tells other nodes of the delay */
    struct arena *arena = &append->arena;
    (void)append_event(append, (struct event){.kind = EVENT_DELIVERY_HELD, .at_ms = now_ms,
                                              .session = arena_str(arena, session), .actor = STR("nod"),
                                              .data = DATA(arena, delivery_held, .call = call, .person = person)});
    append->done = held_kept;
    gate_keep(n->options.gate, append);
}

/* ---- snoozed and assigned calls ---- */

static bool is_of(const struct notify *n, const struct delivery *delivery, struct str person)
{
    return purpose_asks(delivery->purpose) && str_eq(n->config.routes[delivery->route].person, person);
}

/* Whether the assignment counts: a person who was revoked, or whose channels refuse the message, is not told of it, and
 * then the others are. */
static bool is_assigned(const struct notify *n, const struct asked *asked)
{
    struct str person = n->config.routes[asked->assigned].person;
    if (!asked->assigned || n->options.was_revoked(n->options.gate, person))
        return false;
    return ANY(const struct delivery *one = asked->deliveries; one; one = one->next,
               one->purpose == PURPOSE_ASSIGN && !one->failed && is_of(n, one, person));
}

/* Whether the message is not sent because the call was assigned: the first messages, and reminders to others than the
 * assigned person. */
static bool is_moved(const struct notify *n, const struct delivery *delivery)
{
    const struct asked *asked = delivery->asked;
    return delivery->purpose != PURPOSE_ESCALATE && is_assigned(n, asked) &&
           (delivery->purpose == PURPOSE_ASK || !is_of(n, delivery, n->config.routes[asked->assigned].person));
}

/* Due as planned, or when the snooze of a waiting call is over. */
static void set_due(struct notify *n, struct delivery *delivery)
{
    const struct asked *asked = delivery->asked;
    bool waits = purpose_asks(delivery->purpose) && delivery->purpose != PURPOSE_ASSIGN && !asked->answered;
    int64_t snoozed_ms = waits ? asked->snoozed_ms : 0;
    notify_remove_due(n, delivery);
    delivery->due_ms = delivery->plan_ms > snoozed_ms ? delivery->plan_ms : snoozed_ms;
    notify_add_due(n, delivery);
}

/* When it is due follows from its plan, the snooze and the assignment, in whatever order they came. */
void outbox_place(struct notify *n, struct delivery *delivery)
{
    delivery->moved = is_moved(n, delivery);
    if (!delivery->moved) {
        set_due(n, delivery);
        return;
    }
    notify_remove_due(n, delivery);
    delivery->state = OVER;
}

void outbox_retry(struct notify *n, struct delivery *delivery, int64_t at_ms)
{
    delivery->plan_ms = at_ms;
    set_due(n, delivery);
}

/* After a snooze or an assignment. A delivery that was claimed may have been sent, so it stays with its person, also
 * when the call was assigned to another one. */
static void place_again(struct notify *n, struct asked *asked)
{
    for (struct delivery *delivery = asked->deliveries; delivery; delivery = delivery->next) {
        if (!purpose_asks(delivery->purpose) || (delivery->state != DUE && !delivery->moved))
            continue;
        if (delivery->claimed)
            set_due(n, delivery);
        else
            outbox_place(n, delivery);
    }
}

/* ---- following the log ---- */

/* Keeps a copy of `values` under the key, with the texts behind it. */
static struct asked *add_asked(struct notify *n, struct str key, struct asked values)
{
    size_t bytes = values.session.n + values.call.n + values.callback.n + values.agent.n + values.alert.n;
    struct asked *asked = heap_new(sizeof *asked + bytes);
    char *at = asked->bytes;
    *asked = values; /* first: `bytes` begins inside its padding */
    asked->session = str_pack(&at, values.session);
    asked->call = str_pack(&at, values.call);
    asked->callback = str_pack(&at, values.callback);
    asked->agent = str_pack(&at, values.agent);
    asked->alert = str_pack(&at, values.alert);
    (void)map_put(&n->calls, key, asked);
    return asked;
}

/* The plan depends on the request and the configuration only, so every process makes the same. */
static void follow_request(struct notify *n, const struct event *event)
{
    ARENA_SCOPE(scratch);
    struct outbox_plan plans[PLANS_MAX];
    struct str key = key_of(&scratch, event->session, event->call);
    if (map_get(&n->calls, key))
        return;
    struct gate_request request = gate_request(n->options.gate, &scratch, event);
    struct plan_call call = {.session = event->session, .call = event->call, .tool = request.tool,
                             .agent = event->actor, .at_ms = event->at_ms, .deadline_ms = request.deadline_ms,
                             .routine = request.routine};
    size_t count = plan_request(&n->config, &call, plans);
    if (count == 0 && request.callback.n == 0)
        return;
    struct asked *asked = add_asked(n, key, (struct asked){.session = event->session, .call = event->call,
                                                           .callback = request.callback, .agent = event->actor,
                                                           .routine = request.routine});
    for (size_t i = 0; i < count; i++)
        add_delivery(n, asked, &plans[i]);
}

/* The call that a snooze or an assignment is about. A call of which nobody was to be told is not in the map; it is
 * added if there are messages to plan now. NULL: it is answered, or nobody is to be told. */
static struct asked *marked_call(struct notify *n, const struct event *event, struct str call, size_t plans)
{
    ARENA_SCOPE(scratch);
    struct str key = key_of(&scratch, event->session, call);
    struct asked *asked = map_get(&n->calls, key);
    if (!asked && plans)
        asked = add_asked(n, key, (struct asked){.session = event->session, .call = call});
    return asked && !asked->answered ? asked : NULL;
}

/* Drops the reminder that was planned for the end of an earlier snooze. */
static void drop_wake(struct notify *n, struct asked *asked)
{
    for (struct delivery *one = asked->deliveries; one; one = one->next) {
        if (!one->by_name || one->purpose != PURPOSE_REMIND || one->claimed || !(one->state == DUE || one->moved))
            continue;
        notify_remove_due(n, one);
        one->state = OVER;
        one->moved = false;
    }
}

/* Whether a message to the person about this call is due by then anyway. */
static bool will_be_told(const struct notify *n, const struct asked *asked, struct str person, int64_t by_ms)
{
    return ANY(const struct delivery *one = asked->deliveries; one; one = one->next,
               is_of(n, one, person) && !one->claimed && one->state != OVER && one->due_ms <= by_ms);
}

/* Plans a reminder for the end of the snooze: to the person whom the call is assigned to, else to the one who
 * snoozed it. */
static void follow_snoozed(struct notify *n, const struct event *event)
{
    ARENA_SCOPE(scratch);
    struct data_tool_approval_snoozed data = {0};
    struct outbox_plan plans[PLANS_MAX];
    if (!READ_DATA(&scratch, tool_approval_snoozed, event->data, &data))
        return;
    const struct asked *known = map_get(&n->calls, key_of(&scratch, event->session, data.call));
    struct str person = known && is_assigned(n, known) ? n->config.routes[known->assigned].person
                                                       : token_person(event->actor);
    struct plan_call wake = {.session = event->session, .at_ms = data.until,
                             .call = arena_printf(&scratch, "%.*s %llu", STR_ARG(data.call), /* an id per snooze */
                                                  (unsigned long long)event->seq)};
    size_t count = data.until ? plan_person(&n->config, &wake, person, PURPOSE_REMIND, plans) : 0;
    struct asked *asked = marked_call(n, event, data.call, count);
    if (!asked)
        return;
    asked->snoozed_ms = data.until;
    drop_wake(n, asked);
    place_again(n, asked);
    bool told = count && will_be_told(n, asked, person, plans[0].due_ms);
    for (size_t i = 0; i < count && !told; i++)
        add_delivery(n, asked, &plans[i]);
}

/* The assigned person, where a route reaches them, is told by its first step; then messages to others are no longer
 * needed, escalations aside. */
static void follow_assigned(struct notify *n, const struct event *event)
{
    ARENA_SCOPE(scratch);
    struct data_tool_approval_assigned data = {0};
    struct outbox_plan plans[PLANS_MAX];
    if (!READ_DATA(&scratch, tool_approval_assigned, event->data, &data))
        return;
    struct plan_call call = {.session = event->session, .call = data.call, .at_ms = event->at_ms};
    size_t count = plan_person(&n->config, &call, data.person, PURPOSE_ASSIGN, plans);
    struct asked *asked = marked_call(n, event, data.call, count);
    if (!asked)
        return;
    asked->assigned = count ? plans[0].route : 0;
    for (size_t i = 0; i < count; i++)
        if (!map_get(&n->ids, (struct str){plans[i].id, 16}))
            add_delivery(n, asked, &plans[i]);
    place_again(n, asked);
}

/* A message to a person that asks nothing: a recovery code was used, a tripwire was hit. */
struct alert {
    struct str about, person, text;
};

static bool read_alert(struct arena *arena, const struct event *event, struct alert *ret_alert)
{
    struct data_key_added added = {0};
    struct data_token_tripped tripped = {0};
    struct str change = shape_change(event->data);
    if (str_is(change, "key_added") && READ_DATA(arena, key_added, event->data, &added) && !str_empty(added.recovery))
        *ret_alert = (struct alert){added.id, added.person, words_key_alert(arena, &added)};
    else if (str_is(change, "tripped") && READ_DATA(arena, token_tripped, event->data, &tripped))
        *ret_alert = (struct alert){.about = arena_printf(arena, "%.*s.%llu", STR_ARG(tripped.id),
                                                          (unsigned long long)event->seq),
                                    .person = tripped.person, .text = words_token_alert(arena, &tripped)};
    return !str_empty(ret_alert->text);
}

/* A token was made or revoked: whether an assignment counts may have changed. */
static void look_at_assignments(struct notify *n)
{
    MAP_EACH(&n->calls, each) {
        struct asked *asked = each.value;
        if (asked->assigned && !asked->answered)
            place_again(n, asked);
    }
}

/* Plans alerts about tokens and keys. An old event makes none: a person who registers a device today is not told of
 * last month. */
static void follow_token(struct notify *n, const struct event *event)
{
    ARENA_SCOPE(scratch);
    struct alert alert = {0};
    struct outbox_plan plans[PLANS_MAX];
    look_at_assignments(n);
    if (event->at_ms + ALERT_AGE_MS < clock_wall_ms() || !read_alert(&scratch, event, &alert))
        return;
    struct str key = key_of(&scratch, STR(""), alert.about), person = token_person(alert.person);
    size_t devices = devices_of(&n->devices, person, NULL);
    size_t count = plan_alert(&n->config, person, devices, alert.about, event->at_ms, plans);
    if (count == 0 || map_get(&n->calls, key))
        return;
    struct asked *asked = add_asked(n, key, (struct asked){.call = alert.about, .alert = alert.text, .answered = true});
    for (size_t i = 0; i < count; i++)
        add_delivery(n, asked, &plans[i]);
}

/* Unclaimed messages end here. A claimed one waits for its end, at most until its lease is over; also one that we have
 * sent, if its end could not be kept and another process has claimed it again. */
static void end_due(struct notify *n, struct delivery *delivery)
{
    int64_t now_ms = clock_wall_ms();
    bool sent_again = delivery->state == SENT && !delivery->ended && delivery->lease_ms > now_ms;
    if ((delivery->state != DUE && !sent_again) || !purpose_asks(delivery->purpose))
        return;
    notify_remove_due(n, delivery);
    delivery->state = OVER;
    if (!delivery->claimed)
        return;
    delivery->due_ms = delivery->lease_ms > now_ms ? delivery->lease_ms : now_ms;
    notify_add_due(n, delivery);
}

static void plan_callback(struct notify *n, struct asked *asked)
{
    struct outbox_plan plan = {.channel = CALLBACK, .purpose = PURPOSE_CALLBACK, .due_ms = clock_wall_ms()};
    plan_id(asked->session, asked->call, STR_NONE, STR("callback"), 0, PURPOSE_CALLBACK, plan.id);
    add_delivery(n, asked, &plan);
}

/* Deliveries that are due are dropped, those that were sent are withdrawn, and a callback is planned. */
static void follow_response(struct notify *n, struct asked *asked, const struct event *event)
{
    ARENA_SCOPE(scratch);
    struct data_tool_approval_response response = {0};
    (void)READ_DATA(&scratch, tool_approval_response, event->data, &response);
    asked->answered = true;
    asked->decision = response.decision;
    asked->actor_bytes = event->actor.n < sizeof asked->actor ? event->actor.n : sizeof asked->actor;
    if (event->actor.n)
        memcpy(asked->actor, event->actor.p, asked->actor_bytes);
    for (struct delivery *delivery = asked->deliveries; delivery; delivery = delivery->next)
        end_due(n, delivery);
    if (asked->callback.n)
        plan_callback(n, asked);
    outbox_forget_if_over(n, asked);
}

/* Finds the delivery that a process has claimed. It may be a withdrawal that this process has not planned yet: then
 * it is planned now. */
static struct delivery *find_claimed(struct notify *n, const struct event *event,
                                     const struct data_delivery_claimed *claim)
{
    ARENA_SCOPE(scratch);
    struct str id = str_sub(claim->delivery, 0, 16);
    struct delivery *delivery = map_get(&n->ids, id);
    const struct asked *asked = map_get(&n->calls, key_of(&scratch, event->session, claim->call));
    if (delivery || !asked || !asked->answered)
        return delivery;
    for (const struct delivery *sent = asked->deliveries; sent; sent = sent->next)
        if (sent->claimed)
            withdraw(n, sent, false);
    return map_get(&n->ids, id);
}

/* Takes a claim into memory. Every claim begins a lease, also one that came second: its process may be sending. */
static void follow_claimed(struct notify *n, const struct event *event)
{
    ARENA_SCOPE(scratch);
    struct data_delivery_claimed claim = {0};
    int64_t now_ms = clock_wall_ms();
    if (!READ_DATA(&scratch, delivery_claimed, event->data, &claim) || claim.delivery.n < 16)
        return;
    struct delivery *delivery = find_claimed(n, event, &claim);
    if (!delivery)
        return;
    bool ours = str_is(claim.owner, n->owner), shared = gate_is_shared(n->options.gate);
    /* A claim behind the end comes from a process that did not know of it yet: sent again, it could follow its own
     * withdrawal. */
    bool wins = ours && !delivery->ended && (delivery->ours || delivery->lease_ms <= now_ms);
    delivery->won = delivery->won || wins; /* a claim behind it changes nothing */
    delivery->may_be_sent = delivery->may_be_sent || (wins && delivery->claimed);
    delivery->claimed = true;
    delivery->ours = wins || (delivery->ours && !ours && delivery->lease_ms > now_ms);
    delivery->lease_ms = shared || ours ? now_ms + n->config.lease_ms : 0;
    if (ours || delivery->state != DUE)
        return;
    delivery->attempts++;
    outbox_retry(n, delivery, delivery->plan_ms < delivery->lease_ms ? delivery->lease_ms : delivery->plan_ms);
}

void outbox_end(struct notify *n, struct delivery *delivery)
{
    notify_remove_due(n, delivery);
    delivery->state = delivery->ended_sent ? SENT : OVER;
    outbox_forget_if_over(n, delivery->asked);
}

/* The receiver refused the message for good. If this call is told on no other channel of the route, the next one is due
 * now and not when it was planned; quiet hours hold. */
static void hurry_next(struct notify *n, const struct delivery *failed)
{
    const struct outbox_route *routes = n->config.routes;
    struct delivery *next = NULL;
    int64_t now_ms = clock_wall_ms();
    for (struct delivery *other = failed->asked->deliveries; other; other = other->next) {
        bool escalates = routes[other->route].instead_of && routes[other->route].instead_of == failed->route;
        if (other == failed || (other->route != failed->route && !escalates) || !purpose_asks(other->purpose) ||
            other->state == OVER)
            continue;
        if (other->state != DUE || other->claimed || (other->due_ms <= now_ms && other->channel != failed->channel))
            return;
        if (other->channel != failed->channel && (!next || other->due_ms < next->due_ms))
            next = other;
    }
    if (!next)
        return;
    next->plan_ms = plan_after_quiet(&routes[next->route], now_ms);
    outbox_place(n, next);
}

/* A delivery ended, in this process, in another one, or before the last restart. */
static void follow_ended(struct notify *n, const struct event *event)
{
    ARENA_SCOPE(scratch);
    struct data_delivery_ended ended = {0};
    if (!READ_DATA(&scratch, delivery_ended, event->data, &ended) || ended.delivery.n < 16)
        return;
    struct delivery *delivery = map_get(&n->ids, str_sub(ended.delivery, 0, 16));
    bool sent = str_is(ended.outcome, "sent");
    if (delivery && sent && delivery->asked->answered)
        withdraw(n, delivery, true);
    if (!delivery || delivery->ended)
        return;
    delivery->ended = true;
    delivery->ended_sent = sent;
    delivery->failed = !delivery->ended_sent && ended.attempts > 0;
    delivery->status = ended.status;
    (void)snprintf(delivery->external, sizeof delivery->external, "%.*s", STR_ARG(ended.external));
    if (delivery->failed && purpose_asks(delivery->purpose) && !delivery->asked->answered)
        hurry_next(n, delivery);
    if (delivery->failed && delivery->purpose == PURPOSE_ASSIGN && !delivery->asked->answered)
        place_again(n, delivery->asked);
    if (delivery->state == DUE)
        outbox_end(n, delivery);
    else
        outbox_forget_if_over(n, delivery->asked);
}

/* A person looks at the call at another node. The delay counts from now at most: that node's clock may be fast. */
static void follow_held(struct notify *n, const struct event *event)
{
    ARENA_SCOPE(scratch);
    struct data_delivery_held held = {0};
    int64_t now_ms = clock_wall_ms(), since_ms = event->at_ms < now_ms ? event->at_ms : now_ms;
    if (READ_DATA(&scratch, delivery_held, event->data, &held))
        (void)hold(n, held.person, event->session, held.call, since_ms + LOOKING_MS);
}

/* The watcher's callback, on the loop: every event that concerns messages. */
void outbox_tell(struct watcher *watcher, struct happening *happening)
{
    struct notify *n = watcher->arg;
    const struct event *event = happening->event;
    ARENA_SCOPE(scratch);
    struct asked *asked;
    if (event->kind == EVENT_TOOL_APPROVAL_REQUEST)
        follow_request(n, event);
    else if (event->kind == EVENT_DELIVERY_CLAIMED)
        follow_claimed(n, event);
    else if (event->kind == EVENT_DELIVERY_ENDED)
        follow_ended(n, event);
    else if (event->kind == EVENT_DELIVERY_HELD)
        follow_held(n, event);
    else if (event->kind == EVENT_TOOL_APPROVAL_SNOOZED)
        follow_snoozed(n, event);
    else if (event->kind == EVENT_TOOL_APPROVAL_ASSIGNED)
        follow_assigned(n, event);
    else if (event->kind == EVENT_TOKEN_CHANGED)
        follow_token(n, event);
    else if ((asked = map_get(&n->calls, key_of(&scratch, event->session, event->call))))
        follow_response(n, asked, event);
    notify_arm_outbox(n);
}
