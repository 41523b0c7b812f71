/* Claims what is due, sends it in a thread, and keeps what came of it. */
#include "notify/outbox.h"

#include "base/log.h"
#include "event/shapes.h"
#include "io/clock.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    DISTANCE_MS = 30000,    /* shortest time between two messages to a person, unless the channel has its own */
    TOGETHER_MS = 2000,     /* deliveries due within this time are sent in the same message */
    STORE_AWAY_MS = 2000,
};

/* ---- what came of it ---- */

static void ended_kept(struct append *append) { append_free(append); }

/* If this event cannot be kept, the message is sent again after its lease: at least once. */
static void keep_ended(struct notify *n, const struct delivery *delivery, bool sent, long status)
{
    struct append *append = append_new();
    struct arena *arena = &append->arena;
    (void)append_event(append, (struct event){
        .kind = EVENT_DELIVERY_ENDED,
        .at_ms = clock_wall_ms(),
        .session = arena_str(arena, delivery->asked->session),
        .actor = STR("nod"),
        .data = DATA(arena, delivery_ended, .delivery = str_of(delivery->id), .call = delivery->asked->call,
                     .person = n->config.routes[delivery->route].person,
                     .channel = n->config.channels[delivery->channel].name,
                     .purpose = str_of(purpose_name(delivery->purpose)), .outcome = sent ? STR("sent") : STR("failed"),
                     .attempts = delivery->attempts, .status = status, .external = str_of(delivery->external)),
    });
    append->done = ended_kept;
    gate_keep(n->options.gate, append);
}

/* On the loop, after an attempt: sent, given up, or due again later. */
static void settle(struct notify *n, struct delivery *delivery, const struct send_job *s)
{
    bool asks = purpose_asks(delivery->purpose);
    delivery->lease_ms = 0;
    if (s->too_late) { /* no attempt: a withdrawal would wait for minutes after two of these */
        outbox_retry(n, delivery, clock_wall_ms());
        return;
    }
    delivery->attempts++;
    delivery->status = s->sending.status;
    int64_t wait_ms = s->sent || s->sending.final ? -1 : plan_retry_ms(delivery->attempts, asks);
    if (!s->sent && wait_ms >= 0) {
        wait_ms = plan_spread_ms(delivery->id, delivery->attempts, wait_ms);
        if (s->sending.retry_after_ms > wait_ms && s->sending.retry_after_ms <= 3600000)
            wait_ms = s->sending.retry_after_ms;
        /* Whether it arrived is not known: if its call was answered it is withdrawn now. */
        outbox_retry(n, delivery, clock_wall_ms() + (asks && delivery->asked->answered ? 0 : wait_ms));
        return;
    }
    delivery->state = s->sent ? SENT : OVER;
    delivery->failed = !s->sent;
    if (s->count == 1)
        (void)snprintf(delivery->external, sizeof delivery->external, "%.*s", STR_ARG(s->sending.external));
    keep_ended(n, delivery, s->sent, s->sending.status);
    outbox_forget_if_over(n, delivery->asked);
}

static void note_outcome(struct channel *channel, const struct send_job *s)
{
    channel->sent += s->sent;
    channel->failed += !s->sent;
    channel->last = s->sent ? (struct err){0} : s->err;
    if (!s->sent)
        log_line(LOG_WARN, "a message was not taken", LOG_S("channel", channel->name), LOG_C("why", s->err.text));
}

/* ---- sending ---- */

/* In a worker. A job that waited too long does not begin, because its claim would end while it sends. */
static void run(struct job *job)
{
    struct send_job *s = job->arg;
    int64_t waited_s = (clock_steady_us() - s->claimed_us) / 1000000;
    if (waited_s >= s->sending.seconds_max) { /* the claim ends soon: it is made again, before others take it */
        s->too_late = true;
        (void)err_set(&s->err, ERR_UNAVAILABLE, "too many messages were before it");
        return;
    }
    s->sending.seconds_max -= waited_s;
    s->sending.line = fetch_line_new();
    s->sent = rc_ok(s->sending.channel->kind->send(&s->sending, &s->err));
    fetch_line_free(s->sending.line);
}

static void done(struct job *job)
{
    struct send_job *s = job->arg;
    struct notify *n = s->notify;
    n->busy--;
    for (size_t i = 0; i < s->sending.device_count; i++)
        if (s->sending.devices[i].gone)
            (void)devices_remove(&n->devices, s->sending.devices[i].endpoint, STR_NONE);
    note_outcome(&n->config.channels[s->channel], s);
    if (s->test) {
        s->test->status = s->sending.status;
        if (!s->sent)
            gate_op_take(&s->test->op, &s->err);
        gate_op_tell(&s->test->op);
    }
    for (size_t i = 0; i < s->count; i++)
        settle(n, s->batch[i], s);
    arena_free(s);
    send_due(n);
}

/* A device whose token was revoked, a lost phone, is told nothing more. */
static void forget_revoked(struct notify *n)
{
    for (size_t i = n->devices.count; i-- > 0;)
        if (!gate_token_by_id(n->options.gate, n->devices.items[i].token))
            (void)devices_remove(&n->devices, n->devices.items[i].endpoint, STR_NONE);
}

/* The receiver's own ids of the messages that are withdrawn. */
static void list_externals(struct send_job *s, const struct delivery *withdraw)
{
    s->sending.externals = arena_array(&s->arena, struct str, PLANS_MAX);
    for (const struct delivery *one = withdraw->asked->deliveries; one; one = one->next)
        if (one->channel == withdraw->channel && one->route == withdraw->route && one->external[0] &&
            purpose_asks(one->purpose) && s->sending.external_count < PLANS_MAX)
            s->sending.externals[s->sending.external_count++] = arena_str(&s->arena, str_of(one->external));
}

/* Addresses the message to the callback of the program that asked, signed with that program's key. */
static void aim_callback(struct notify *n, struct send_job *s, const struct asked *asked)
{
    struct channel *own = arena_new(&s->arena, struct channel);
    char secret[NOTIFY_SECRET_BYTES];
    notify_callback_secret(n, asked->agent, secret);
    *own = *s->sending.channel;
    own->url = arena_c(&s->arena, asked->callback);
    own->secret = arena_str(&s->arena, str_of(secret));
    s->sending.channel = own;
    s->sending.guarded = true;
    s->sending.private_net = n->config.callbacks.private_net;
}

/* RFC 8292 wants a contact, https: or mailto:. The public URL is one if it is https; there is no setting for mailto. */
static bool is_contact(const char *url) { return url && str_starts(str_of(url), STR("https://")); }

/* Gathers everything that the worker needs: it touches nothing of the outbox. */
void send_start(struct notify *n, struct send_job *s, unsigned channel)
{
    const char *url = n->options.public_url;
    s->notify = n;
    s->sending = (struct sending){.arena = &s->arena, .channel = &n->config.channels[channel], .message = &s->message,
                                  .retry_after_ms = -1, .private_net = n->options.private_net, .key = n->devices.key,
                                  .seconds_max = n->config.lease_ms / 1500,
                                  .contact = is_contact(url) ? str_of(url) : STR("mailto:nod@example.com")};
    s->channel = channel;
    if (channel == CALLBACK)
        aim_callback(n, s, s->batch[0]->asked);
    if (channel == PUSH) {
        s->sending.guarded = true;
        s->sending.devices = arena_array(&s->arena, struct device, DEVICES_MAX);
        forget_revoked(n);
        s->sending.device_count = devices_of(&n->devices, s->message.person, s->sending.devices);
    }
    if (s->count && s->batch[0]->purpose == PURPOSE_WITHDRAW)
        list_externals(s, s->batch[0]);
    s->job = (struct job){.run = run, .done = done, .arg = s};
    work_submit(n->pool, &s->job);
}

/* ---- claiming ---- */

/* The call was answered between the claim and now: nothing was sent, and nobody need withdraw it, unless an attempt
 * before this one may have arrived. */
static void give_up(struct notify *n, struct delivery *delivery)
{
    delivery->state = delivery->may_be_sent ? SENT : OVER;
    keep_ended(n, delivery, delivery->may_be_sent, 0);
    outbox_forget_if_over(n, delivery->asked);
}

/* Called when the claims have been stored or refused: the deliveries that this process won are sent as one message. */
static void send_claimed(struct notify *n, struct send_job *s)
{
    size_t won = 0;
    for (size_t i = 0; i < s->count; i++) {
        struct delivery *delivery = s->batch[i];
        bool over = delivery->asked->answered && purpose_asks(delivery->purpose);
        if (delivery->state == SENDING && !over) {
            s->batch[won++] = delivery;
        } else if (delivery->state == SENDING)
            give_up(n, delivery);
    }
    s->count = won;
    if (won && !n->closing && say_fill(n, s)) {
        send_start(n, s, s->batch[0]->channel);
        return;
    }
    for (size_t i = 0; i < won && !n->closing; i++) /* after notify_close the next process sends what was claimed */
        give_up(n, s->batch[i]);
    n->busy--;
    arena_free(s);
    send_due(n);
}

struct claim {
    struct send_job *job;
    struct delivery *delivery;
};

/* Handles a claim that was refused: the call was answered, another process claimed it, or the store failed. */
static void put_back(struct notify *n, struct delivery *delivery, const struct append *append)
{
    int64_t now_ms = clock_wall_ms();
    bool answered = append->outcome == APPEND_REFUSED, gone = append->err.code == ERR_GONE;
    bool failed = append->outcome == APPEND_FAILED;
    if (delivery->ended) {
        outbox_end(n, delivery);
        return;
    }
    if (gone || (answered && !delivery->claimed)) {
        delivery->state = OVER;
        outbox_forget_if_over(n, delivery->asked);
        return;
    }
    int64_t at_ms = now_ms + (failed ? STORE_AWAY_MS : 0);
    if (at_ms < delivery->lease_ms && !(failed && delivery->ours)) /* another process may be sending it */
        at_ms = delivery->lease_ms;
    outbox_retry(n, delivery, at_ms);
}

static void claim_kept(struct append *append)
{
    struct claim claim = *(struct claim *)append->arg;
    struct notify *n = claim.job->notify;
    if (append->outcome == APPEND_KEPT && claim.delivery->won)
        claim.delivery->state = SENDING;
    else
        put_back(n, claim.delivery, append);
    append_free(append);
    if (--claim.job->claims == 0)
        send_claimed(n, claim.job);
}

/* The claim is kept only while the call is not answered; the worker starts when it is durable and was the first. */
static void claim(struct notify *n, struct send_job *s, struct delivery *delivery)
{
    struct append *append = append_new();
    struct arena *arena = &append->arena;
    struct claim *claim = arena_new(arena, struct claim);
    struct str session = arena_str(arena, delivery->asked->session);
    *claim = (struct claim){.job = s, .delivery = delivery};
    delivery->state = CLAIMING;
    delivery->won = false;
    if (purpose_asks(delivery->purpose))
        append_need(append, (struct need){.need = NEED_ABSENT, .kind = EVENT_TOOL_APPROVAL_RESPONSE,
                                          .session = session, .call = arena_str(arena, delivery->asked->call)});
    (void)append_event(append, (struct event){
        .kind = EVENT_DELIVERY_CLAIMED,
        .at_ms = clock_wall_ms(),
        .session = session,
        .actor = STR("nod"),
        .data = DATA(arena, delivery_claimed, .delivery = str_of(delivery->id), .call = delivery->asked->call,
                     .owner = str_of(n->owner)),
    });
    append->done = claim_kept;
    append->arg = claim;
    gate_keep(n->options.gate, append);
}

/* ---- a route for some sessions only ---- */

struct title_look {
    struct session_look look;
    struct arena arena;
    struct notify *notify;
    struct delivery *delivery;
};

/* If the session cannot be read, the message is sent all the same: better once too often than not at all. */
static void title_known(struct op *op)
{
    ARENA_SCOPE(scratch);
    struct title_look *title = op->owner;
    struct notify *n = title->notify;
    struct delivery *delivery = title->delivery;
    const struct session *session = title->look.session;
    const char *pattern = n->config.routes[delivery->route].only.session;
    delivery->fits = op->err || !session || fnmatch(pattern, arena_c(&scratch, session->title), 0) == 0;
    n->busy--;
    arena_free(title);
    if (delivery->fits) {
        outbox_place(n, delivery);
    } else {
        delivery->state = OVER;
        outbox_forget_if_over(n, delivery->asked);
    }
    send_due(n);
}

static void look_at_title(struct notify *n, struct delivery *delivery)
{
    struct title_look *title = heap_new(sizeof *title);
    *title = (struct title_look){.notify = n, .delivery = delivery};
    title->look = (struct session_look){.op = gate_op(&title->arena, title_known, title),
                                        .id = delivery->asked->session};
    delivery->state = CLAIMING;
    n->busy++;
    gate_session(n->options.gate, &title->look);
}

/* ---- what is due ---- */

/* Everything that is due now or soon for the same person on the same channel: one message for all of it. */
static void gather(struct notify *n, struct send_job *s, int64_t now_ms)
{
    const struct delivery *first = s->batch[0];
    for (size_t i = 0; i < n->heap_count && s->count < BATCH_MAX;) {
        struct delivery *other = n->heap[i];
        if (other->channel == first->channel && other->route == first->route && other->due_ms <= now_ms + TOGETHER_MS &&
            purpose_asks(other->purpose) && !other->asked->answered &&
            (!n->config.routes[other->route].only.session || other->fits)) {
            notify_remove_due(n, other);
            s->batch[s->count++] = other;
            i = 0; /* the heap has changed */
        } else
            i++;
    }
}

static void send_first(struct notify *n, int64_t now_ms)
{
    struct delivery *delivery = n->heap[0];
    const struct channel *channel = &n->config.channels[delivery->channel];
    int64_t *next_ms = &n->config.routes[delivery->route].next_ms[delivery->channel];
    bool spaced = channel->kind->coalesces && purpose_asks(delivery->purpose) && delivery->attempts == 0;
    notify_remove_due(n, delivery);
    if (delivery->asked->answered && purpose_asks(delivery->purpose)) { /* claimed, and its end is not known */
        delivery->state = SENT;
        outbox_forget_if_over(n, delivery->asked);
        return;
    }
    if (purpose_asks(delivery->purpose) &&
        n->options.was_revoked(n->options.gate, n->config.routes[delivery->route].person)) {
        delivery->state = OVER;
        return;
    }
    if (spaced && *next_ms > now_ms) {
        delivery->due_ms = *next_ms;
        notify_add_due(n, delivery);
        return;
    }
    if (n->config.routes[delivery->route].only.session && purpose_asks(delivery->purpose) && !delivery->fits) {
        look_at_title(n, delivery);
        return;
    }
    struct send_job *s = heap_new(sizeof *s);
    *s = (struct send_job){.notify = n, .batch = {delivery}, .count = 1};
    if (spaced) {
        *next_ms = now_ms + (channel->kind->distance_ms ? channel->kind->distance_ms : DISTANCE_MS);
        gather(n, s, now_ms);
    }
    n->busy++;
    s->claims = s->count;
    s->claimed_us = clock_steady_us();
    for (size_t i = 0; i < s->count; i++)
        claim(n, s, s->batch[i]);
}

void send_due(void *arg)
{
    struct notify *n = arg;
    int64_t now_ms = clock_wall_ms();
    while (!n->closing && n->watcher.live && n->busy < BUSY_MAX && n->heap_count && n->heap[0]->due_ms <= now_ms)
        send_first(n, now_ms);
    if (n->busy < BUSY_MAX)
        notify_arm_outbox(n);
}
