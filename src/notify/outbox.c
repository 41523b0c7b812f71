/* The outbox: which deliveries there are, which are due, and what came of them.
 *
 *  1. State is a fold of the log: a request plans deliveries, an answer ends those that are due and plans that those
 *     which were sent are withdrawn, DELIVERY_ENDED says what was sent. Nothing is sent before the log is read.
 *  2. A delivery is in one state: due (in the heap), sending (with a thread), sent, or over.
 *  3. A message whose call was answered while it was being sent is followed by its withdrawal.
 *  4. If DELIVERY_ENDED cannot be kept the message may be sent again after a restart: at least once, never lost.
 */
#include "notify/inner.h"

#include "base/base64.h"
#include "base/log.h"
#include "base/map.h"
#include "base/sign.h"
#include "event/shapes.h"
#include "gate/gate.h"
#include "io/clock.h"
#include "io/loop.h"
#include "io/work.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    THREADS = 4,
    BATCH_MAX = 64,
    DISTANCE_MS = 30000,    /* between two messages of a channel that coalesces */
    TOGETHER_MS = 2000,     /* what is due so soon goes along */
    LOOK_AGAIN_MS = 30000,  /* the wall clock may be set */
    LOOK_BACK_EVENTS = 5000, /* behind the oldest open request: answers that came right before a crash */
    TOKEN_HOURS = 24,
    PUSH = 0,               /* the first channel: config.c */
    PENDING_BYTES_MAX = 64 << 10,
};

enum state { DUE, SENDING, SENT, OVER };

struct asked;

struct delivery {
    char id[DELIVERY_ID_BYTES];
    struct asked *asked;
    unsigned channel, route;
    enum purpose purpose;
    enum state state;
    int64_t due_ms;
    unsigned attempts;
    size_t heap_at;         /* place in the heap, from 1; 0: not there */
    struct delivery *next;  /* of the same call */
};

/* A call that waits, or that was answered and has messages to withdraw. */
struct asked {
    struct str session, call; /* in `bytes` */
    struct delivery *deliveries;
    bool answered;
    char decision[24], actor[64];
    char bytes[];
};

struct notify {
    struct notify_options options;
    struct arena arena;     /* the configuration */
    struct config config;
    struct devices devices;
    struct digest key;      /* of answer tokens */
    struct map calls;       /* session, line break, call → asked */
    struct map ids;         /* first half of a delivery's id → delivery */
    struct delivery **heap;
    size_t heap_count, heap_room;
    struct timer *timer;
    struct work_pool *pool;
    struct watcher watcher;
    bool started, following; /* the gate has recovered; somebody is to be told */
    bool closing;
    unsigned busy;
};

/* ---- the heap of what is due ---- */

static void heap_put(struct notify *n, size_t at, struct delivery *delivery)
{
    n->heap[at - 1] = delivery;
    delivery->heap_at = at;
}

static void heap_move(struct notify *n, size_t at)
{
    struct delivery *delivery = n->heap[at - 1];
    for (; at > 1 && n->heap[at / 2 - 1]->due_ms > delivery->due_ms; at /= 2)
        heap_put(n, at, n->heap[at / 2 - 1]);
    for (size_t child; (child = at * 2) <= n->heap_count; at = child) {
        if (child < n->heap_count && n->heap[child]->due_ms < n->heap[child - 1]->due_ms)
            child++;
        if (n->heap[child - 1]->due_ms >= delivery->due_ms)
            break;
        heap_put(n, at, n->heap[child - 1]);
    }
    heap_put(n, at, delivery);
}

static void heap_add(struct notify *n, struct delivery *delivery)
{
    CHECK(delivery->heap_at == 0);
    if (n->heap_count == n->heap_room) {
        n->heap_room = n->heap_room ? 2 * n->heap_room : 64;
        n->heap = realloc(n->heap, n->heap_room * sizeof *n->heap);
        CHECK(n->heap);
    }
    delivery->state = DUE;
    n->heap_count++;
    heap_put(n, n->heap_count, delivery);
    heap_move(n, n->heap_count);
}

static void heap_remove(struct notify *n, struct delivery *delivery)
{
    size_t at = delivery->heap_at;
    if (at == 0)
        return;
    struct delivery *last = n->heap[--n->heap_count];
    delivery->heap_at = 0;
    if (last == delivery)
        return;
    heap_put(n, at, last);
    heap_move(n, at);
}

static void arm(struct notify *n)
{
    if (n->heap_count == 0 || !n->watcher.live || n->closing)
        return;
    int64_t left = n->heap[0]->due_ms - clock_wall_ms();
    timer_start(n->timer, left < 0 ? 0 : left < LOOK_AGAIN_MS ? left : LOOK_AGAIN_MS);
}

/* ---- calls and their deliveries ---- */

static struct str key_of(struct arena *arena, struct str session, struct str call)
{
    return arena_printf(arena, "%.*s\n%.*s", STR_ARG(session), STR_ARG(call));
}

static struct str short_id(const struct delivery *delivery) { return (struct str){delivery->id, 16}; }

static struct delivery *add_delivery(struct notify *n, struct asked *asked, const struct plan *plan)
{
    struct delivery *delivery = heap_new(sizeof *delivery);
    *delivery = (struct delivery){.asked = asked, .channel = plan->channel, .route = plan->route,
                                  .purpose = plan->purpose, .due_ms = plan->due_ms, .next = asked->deliveries};
    memcpy(delivery->id, plan->id, sizeof delivery->id);
    asked->deliveries = delivery;
    (void)map_put(&n->ids, short_id(delivery), delivery);
    heap_add(n, delivery);
    return delivery;
}

static void forget(struct notify *n, struct asked *asked)
{
    ARENA_SCOPE(scratch);
    (void)map_take(&n->calls, key_of(&scratch, asked->session, asked->call));
    for (struct delivery *delivery = asked->deliveries, *next; delivery; delivery = next) {
        next = delivery->next;
        heap_remove(n, delivery);
        (void)map_take(&n->ids, short_id(delivery));
        free(delivery);
    }
    free(asked);
}

/* An answered call is of use only while something of it is due or being sent. */
static void forget_if_over(struct notify *n, struct asked *asked)
{
    if (!asked->answered)
        return;
    for (const struct delivery *delivery = asked->deliveries; delivery; delivery = delivery->next)
        if (delivery->state == DUE || delivery->state == SENDING)
            return;
    forget(n, asked);
}

static void plan_withdrawal(struct notify *n, const struct delivery *sent)
{
    const struct channel *channel = &n->config.channels[sent->channel];
    struct plan plan = {.channel = sent->channel, .route = sent->route, .purpose = PURPOSE_WITHDRAW,
                        .due_ms = clock_wall_ms()};
    if (!channel->kind->withdraws)
        return;
    plan_id(sent->asked->session, sent->asked->call, n->config.routes[sent->route].person, channel->name, 0,
            PURPOSE_WITHDRAW, plan.id);
    if (!map_get(&n->ids, (struct str){plan.id, 16})) /* one for all messages of this call on the channel */
        (void)add_delivery(n, sent->asked, &plan);
}

/* ---- following the log ---- */

static void follow_request(struct notify *n, const struct event *event)
{
    ARENA_SCOPE(scratch);
    struct data_tool_approval_request request = {0};
    struct plan plans[PLANS_MAX];
    struct str key = key_of(&scratch, event->session, event->call);
    (void)READ_DATA(&scratch, tool_approval_request, event->data, &request);
    if (map_get(&n->calls, key))
        return;
    size_t count = plan_request(&n->config, event->session, event->call, request.tool, event->at_ms, plans);
    if (count == 0)
        return;
    struct asked *asked = heap_new(sizeof *asked + event->session.n + event->call.n);
    *asked = (struct asked){.session = {asked->bytes, event->session.n},
                            .call = {asked->bytes + event->session.n, event->call.n}};
    memcpy(asked->bytes, event->session.p, event->session.n);
    memcpy(asked->bytes + event->session.n, event->call.p, event->call.n);
    (void)map_put(&n->calls, key, asked);
    for (size_t i = 0; i < count; i++)
        (void)add_delivery(n, asked, &plans[i]);
}

static void follow_response(struct notify *n, struct asked *asked, const struct event *event)
{
    ARENA_SCOPE(scratch);
    struct data_tool_approval_response response = {0};
    (void)READ_DATA(&scratch, tool_approval_response, event->data, &response);
    asked->answered = true;
    (void)snprintf(asked->decision, sizeof asked->decision, "%s", decision_name(response.decision));
    (void)snprintf(asked->actor, sizeof asked->actor, "%.*s", STR_ARG(event->actor));
    for (struct delivery *delivery = asked->deliveries; delivery; delivery = delivery->next) {
        if (delivery->state == DUE && delivery->purpose != PURPOSE_WITHDRAW) {
            heap_remove(n, delivery);
            delivery->state = OVER;
        }
    }
    for (const struct delivery *delivery = asked->deliveries; delivery; delivery = delivery->next)
        if (delivery->state == SENT && delivery->purpose != PURPOSE_WITHDRAW)
            plan_withdrawal(n, delivery);
    forget_if_over(n, asked);
}

/* Of this process or of the one before it. */
static void follow_ended(struct notify *n, const struct event *event)
{
    ARENA_SCOPE(scratch);
    struct data_delivery_ended ended = {0};
    if (!READ_DATA(&scratch, delivery_ended, event->data, &ended) || ended.delivery.n < 16)
        return;
    struct delivery *delivery = map_get(&n->ids, str_sub(ended.delivery, 0, 16));
    if (!delivery || delivery->state != DUE)
        return;
    heap_remove(n, delivery);
    delivery->state = str_is(ended.outcome, "sent") ? SENT : OVER;
    forget_if_over(n, delivery->asked);
}

static void tell(struct watcher *watcher, struct happening *happening)
{
    struct notify *n = watcher->arg;
    const struct event *event = happening->event;
    ARENA_SCOPE(scratch);
    struct asked *asked;
    if (event->kind == EVENT_TOOL_APPROVAL_REQUEST)
        follow_request(n, event);
    else if (event->kind == EVENT_DELIVERY_ENDED)
        follow_ended(n, event);
    else if ((asked = map_get(&n->calls, key_of(&scratch, event->session, event->call))))
        follow_response(n, asked, event);
    arm(n);
}

static void caught_up(struct watcher *watcher)
{
    gate_watch_more(watcher);
    arm(watcher->arg);
}

/* ---- sending ---- */

struct send_job {
    struct job job;
    struct arena arena;
    struct notify *notify;
    struct message message;
    struct sending sending;
    struct err err;
    bool sent;
    struct delivery *batch[BATCH_MAX];
    size_t count;
    struct notify_test *test; /* NULL: a delivery */
};

static void run(struct job *job)
{
    struct send_job *s = job->arg;
    s->sending.line = fetch_line_new();
    s->sent = rc_ok(s->sending.channel->kind->send(&s->sending, &s->err));
    fetch_line_free(s->sending.line);
}

static void ended_kept(struct append *append) { append_free(append); }

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
                     .attempts = delivery->attempts, .status = status),
    });
    append->done = ended_kept;
    gate_keep(n->options.gate, append);
}

static void settle(struct notify *n, struct delivery *delivery, const struct send_job *s)
{
    bool asks = delivery->purpose != PURPOSE_WITHDRAW;
    delivery->attempts++;
    int64_t wait_ms = s->sent || s->sending.final ? -1 : plan_retry_ms(delivery->attempts, asks);
    if (!s->sent && wait_ms >= 0 && !(asks && delivery->asked->answered)) {
        if (s->sending.retry_after_ms > wait_ms && s->sending.retry_after_ms <= 3600000)
            wait_ms = s->sending.retry_after_ms;
        delivery->due_ms = clock_wall_ms() + wait_ms;
        heap_add(n, delivery);
        return;
    }
    delivery->state = s->sent ? SENT : OVER;
    keep_ended(n, delivery, s->sent, s->sending.status);
    if (s->sent && asks && delivery->asked->answered)
        plan_withdrawal(n, delivery);
    forget_if_over(n, delivery->asked);
}

static void note_outcome(struct channel *channel, const struct send_job *s)
{
    channel->sent += s->sent;
    channel->failed += !s->sent;
    channel->last = s->sent ? (struct err){0} : s->err;
    if (!s->sent)
        log_line(LOG_WARN, "a message was not taken", LOG_S("channel", channel->name), LOG_C("why", s->err.text));
}

static void pump(void *arg);

static void done(struct job *job)
{
    struct send_job *s = job->arg;
    struct notify *n = s->notify;
    n->busy--;
    for (size_t i = 0; i < s->sending.device_count; i++)
        if (s->sending.devices[i].gone)
            (void)devices_remove(&n->devices, s->sending.devices[i].endpoint, STR_NONE);
    note_outcome(&n->config.channels[s->sending.channel - n->config.channels], s);
    if (s->test) {
        s->test->status = s->sending.status;
        s->test->err = s->sent ? (struct err){0} : s->err;
        s->test->done(s->test);
    }
    for (size_t i = 0; i < s->count; i++)
        settle(n, s->batch[i], s);
    arena_done(&s->arena);
    free(s);
    pump(n);
}

/* A device whose token was revoked, a lost phone, is told nothing more. */
static void forget_revoked(struct notify *n)
{
    for (size_t i = n->devices.count; i-- > 0;)
        if (!gate_token_by_id(n->options.gate, n->devices.items[i].token))
            (void)devices_remove(&n->devices, n->devices.items[i].endpoint, STR_NONE);
}

static void start(struct notify *n, struct send_job *s, unsigned channel)
{
    const char *url = n->options.public_url;
    s->notify = n;
    s->sending = (struct sending){.arena = &s->arena, .channel = &n->config.channels[channel], .message = &s->message,
                                  .retry_after_ms = -1, .private_net = n->options.private_net, .key = n->devices.key,
                                  .contact = url ? str_of(url) : STR("mailto:nod@example.com")};
    if (channel == PUSH) {
        s->sending.devices = arena_array(&s->arena, struct device, DEVICES_MAX);
        forget_revoked(n);
        s->sending.device_count = devices_of(&n->devices, s->message.person, s->sending.devices);
    }
    s->job = (struct job){.run = run, .done = done, .arg = s};
    n->busy++;
    work_submit(n->pool, &s->job);
}

/* ---- the message ---- */

/* A token is for what this person was shown: the call's digest and the person are part of its MAC. */
static struct str bound_to(struct arena *arena, struct str digest, struct str person)
{
    return arena_printf(arena, "%.*s\n%.*s", STR_ARG(digest), STR_ARG(person));
}

static struct str make_token(struct notify *n, struct arena *arena, const struct delivery *delivery, struct str digest,
                             bool allow)
{
    char token[ANSWER_TOKEN_BYTES];
    struct answer_claims claims = {.allow = allow, .until_s = clock_wall_ms() / 1000 + TOKEN_HOURS * 3600};
    memcpy(claims.delivery, delivery->id, sizeof claims.delivery);
    answer_token_make(&n->key, &claims, bound_to(arena, digest, n->config.routes[delivery->route].person), token);
    return arena_str(arena, str_of(token));
}

static struct str waiting_json(struct notify *n, struct arena *arena, const struct asked *asked)
{
    BUF_SCOPE(buf, PENDING_BYTES_MAX);
    struct json_out out = json_out(&buf);
    gate_write_listed(n->options.gate, &out, &(struct listed){asked->session, asked->call});
    return buf.over ? STR_NONE : arena_str(arena, buf_str(&buf));
}

/* False when the call was answered: the log is about to say so. */
static bool describe(struct notify *n, struct send_job *s, const struct delivery *delivery)
{
    const struct channel *channel = &n->config.channels[delivery->channel];
    struct arena *arena = &s->arena;
    const struct json *pending;
    s->message.pending = waiting_json(n, arena, delivery->asked);
    if (s->message.pending.n == 0 || rc_bad(json_parse(arena, s->message.pending, &pending, NULL)))
        return false;
    bool whole = words_describe(arena, pending, channel->detail, &s->message);
    if (!channel->kind->carries_answers || s->count > 1)
        return true;
    struct str digest = json_text(pending, "digest");
    const struct json *risky = json_get(pending, "risky");
    s->message.deny = make_token(n, arena, delivery, digest, false);
    if (whole && risky && risky->type == JSON_FALSE) /* nobody said that it is harmless: it is looked at first */
        s->message.allow = make_token(n, arena, delivery, digest, true);
    return true;
}

static void describe_withdrawal(struct send_job *s, const struct asked *asked)
{
    s->message.title = STR("Nod: answered");
    s->message.body = arena_printf(&s->arena, "%s by %s", asked->decision, asked->actor);
}

static bool fill_message(struct notify *n, struct send_job *s)
{
    const struct delivery *delivery = s->batch[0];
    const char *url = n->options.public_url;
    s->message = (struct message){.purpose = delivery->purpose, .delivery = arena_str(&s->arena, str_of(delivery->id)),
                                  .person = n->config.routes[delivery->route].person,
                                  .session = arena_str(&s->arena, delivery->asked->session),
                                  .call = arena_str(&s->arena, delivery->asked->call),
                                  .base = url ? str_of(url) : STR_NONE, .count = (unsigned)s->count,
                                  .waiting = gate_figures(n->options.gate).pending,
                                  .at_ms = clock_wall_ms()};
    s->message.url = s->count > 1 ? s->message.base
                                  : words_link(&s->arena, s->message.base, s->message.session, s->message.call);
    if (delivery->purpose == PURPOSE_WITHDRAW) {
        describe_withdrawal(s, delivery->asked);
        return true;
    }
    if (!describe(n, s, delivery))
        return false;
    if (s->count > 1) {
        s->message.title = arena_printf(&s->arena, "Nod: %zu requests need an answer", s->count);
        s->message.body = STR("Open Nod to look at them.");
    }
    return true;
}

/* Everything that is due now or soon for the same person on the same channel: one message for all of it. */
static void gather(struct notify *n, struct send_job *s, int64_t now_ms)
{
    const struct delivery *first = s->batch[0];
    for (size_t i = 0; i < n->heap_count && s->count < BATCH_MAX;) {
        struct delivery *other = n->heap[i];
        if (other->channel == first->channel && other->route == first->route && other->due_ms <= now_ms + TOGETHER_MS &&
            other->purpose != PURPOSE_WITHDRAW) {
            heap_remove(n, other);
            other->state = SENDING;
            s->batch[s->count++] = other;
            i = 0; /* the heap has changed */
        } else
            i++;
    }
}

static void send_first(struct notify *n, int64_t now_ms)
{
    struct delivery *delivery = n->heap[0];
    struct channel *channel = &n->config.channels[delivery->channel];
    bool spaced = channel->kind->coalesces && delivery->purpose != PURPOSE_WITHDRAW;
    heap_remove(n, delivery);
    if (spaced && channel->next_ms > now_ms) {
        delivery->due_ms = channel->next_ms;
        heap_add(n, delivery);
        return;
    }
    struct send_job *s = heap_new(sizeof *s);
    *s = (struct send_job){.batch = {delivery}, .count = 1};
    delivery->state = SENDING;
    if (spaced) {
        channel->next_ms = now_ms + DISTANCE_MS;
        gather(n, s, now_ms);
    }
    if (fill_message(n, s)) {
        start(n, s, delivery->channel);
        return;
    }
    for (size_t i = 0; i < s->count; i++)
        s->batch[i]->state = OVER;
    arena_done(&s->arena);
    free(s);
}

/* Sends what is due, as far as threads are free. */
static void pump(void *arg)
{
    struct notify *n = arg;
    int64_t now_ms = clock_wall_ms();
    while (!n->closing && n->watcher.live && n->busy < THREADS && n->heap_count && n->heap[0]->due_ms <= now_ms)
        send_first(n, now_ms);
    if (n->busy < THREADS)
        arm(n);
}

/* ---- life ---- */

struct rc notify_open(const struct notify_options *options, struct notify **ret_notify, struct err *err)
{
    struct notify *n = heap_new(sizeof *n);
    *n = (struct notify){.options = *options};
    struct rc rc = config_read(&n->arena, options->file, &n->config, err);
    if (rc_ok(rc))
        rc = devices_open(&n->devices, &n->arena, options->folder, err);
    if (rc_bad(rc)) {
        seal_key_free(n->devices.key);
        arena_done(&n->arena);
        free(n);
        return rc;
    }
    for (size_t i = 0; i < n->devices.count; i++)
        config_add_person(&n->config, n->devices.items[i].person);
    n->key = sign_key_secret(gate_key(options->gate), STR("nod-answers-v1"));
    n->timer = timer_new(options->loop, pump, n);
    n->pool = work_pool_new(options->loop, THREADS);
    *ret_notify = n;
    return RC_OK;
}

/* Follows the log once there is somebody to tell; until then a call costs nothing more. */
static void follow_log(struct notify *n)
{
    ARENA_SCOPE(scratch);
    if (!n->started || n->following || n->config.route_count == 0)
        return;
    n->following = true;
    struct pending_list list = {.limit = 1, .in_order = true};
    gate_list_pending(n->options.gate, &scratch, &list);
    /* From the oldest request that is open, or a little before the end of the log. */
    uint64_t oldest = list.count ? list.next - 1 : list.seq;
    n->watcher = (struct watcher){
        .kinds = 1ull << EVENT_TOOL_APPROVAL_REQUEST | 1ull << EVENT_TOOL_APPROVAL_RESPONSE |
                 1ull << EVENT_DELIVERY_ENDED,
        .after = oldest > LOOK_BACK_EVENTS ? oldest - LOOK_BACK_EVENTS : 0,
        .tell = tell, .caught_up = caught_up, .arg = n};
    gate_watch(n->options.gate, &n->watcher);
}

void notify_start(struct notify *n)
{
    n->started = true;
    follow_log(n);
}

void notify_close(struct notify *n)
{
    size_t at = 0;
    struct str key;
    void *value;
    n->closing = true;
    if (n->busy) /* threads still use it; the process ends anyway, and what they send is told of again */
        return;
    if (n->following)
        gate_unwatch(&n->watcher);
    seal_key_free(n->devices.key);
    while (map_next(&n->calls, &at, &key, &value)) {
        forget(n, value);
        at = 0;
    }
    map_done(&n->calls);
    map_done(&n->ids);
    free(n->heap);
    timer_free(n->timer);
    work_pool_free(n->pool);
    arena_done(&n->arena);
    free(n);
}

/* ---- devices ---- */

struct str notify_person(struct str name)
{
    for (size_t i = name.n; i-- > 1;)
        if (name.p[i] == ' ' && name.p[i - 1] == ',')
            return str_sub(name, 0, i - 1);
    return name;
}

_Static_assert(NOTIFY_KEY_BYTES >= BASE64_BYTES(SEAL_POINT_BYTES) - 1, "it fits");

void notify_push_key(const struct notify *n, char ret_key[NOTIFY_KEY_BYTES])
{
    unsigned char point[SEAL_POINT_BYTES];
    seal_key_public(n->devices.key, point);
    base64_url_encode(point, SEAL_POINT_BYTES, ret_key);
}

struct rc notify_add_device(struct notify *n, struct str person, struct str token, const struct json *body,
                            struct err *err)
{
    TRY(devices_add(&n->devices, notify_person(person), token, body, err));
    config_add_person(&n->config, n->devices.items[n->devices.count - 1].person);
    follow_log(n);
    return RC_OK;
}

bool notify_remove_device(struct notify *n, struct str token, struct str endpoint)
{
    return devices_remove(&n->devices, endpoint, token);
}

/* ---- for people ---- */

void notify_write_channels(const struct notify *n, struct json_out *out)
{
    static const char *const details[] = {"kind", "summary", "full"};
    json_open(out, '[');
    for (unsigned i = 0; i < n->config.channel_count; i++) {
        const struct channel *channel = &n->config.channels[i];
        json_open(out, '{');
        json_member(out, "name", channel->name);
        json_member(out, "type", str_of(channel->kind->name));
        json_member(out, "detail", str_of(details[channel->detail]));
        json_member_u64(out, "sent", channel->sent);
        json_member_u64(out, "failed", channel->failed);
        json_member(out, "lastError", str_of(channel->last.text));
        json_close(out, '}');
    }
    json_close(out, ']');
}

void notify_write_deliveries(const struct notify *n, struct json_out *out, struct str call)
{
    static const char *const states[] = {[DUE] = "due", [SENDING] = "sending", [SENT] = "sent", [OVER] = "over"};
    size_t at = 0;
    struct str key;
    void *value;
    json_open(out, '[');
    while (map_next(&n->calls, &at, &key, &value)) {
        const struct asked *asked = value;
        for (const struct delivery *d = asked->deliveries; d; d = d->next) {
            if (call.n && !str_eq(call, asked->call))
                continue;
            json_open(out, '{');
            json_member(out, "deliveryId", str_of(d->id));
            json_member(out, "sessionId", asked->session);
            json_member(out, "toolCallId", asked->call);
            json_member(out, "person", n->config.routes[d->route].person);
            json_member(out, "channel", n->config.channels[d->channel].name);
            json_member(out, "purpose", str_of(purpose_name(d->purpose)));
            json_member(out, "state", str_of(states[d->state]));
            json_member_time(out, "dueAt", d->due_ms);
            json_member_u64(out, "attempts", d->attempts);
            json_close(out, '}');
        }
    }
    json_close(out, ']');
}

void notify_test_channel(struct notify *n, struct notify_test *test)
{
    for (unsigned i = 0; i < n->config.channel_count; i++) {
        if (!str_eq(n->config.channels[i].name, test->channel))
            continue;
        struct send_job *s = heap_new(sizeof *s);
        *s = (struct send_job){.test = test,
                               .message = {.purpose = PURPOSE_TEST, .delivery = STR("test"), .call = STR("test"),
                                           .person = test->person, .title = STR("Nod: test"), .count = 1,
                                           .at_ms = clock_wall_ms(),
                                           .body = STR("This channel works: Nod can reach you here."),
                                           .base = n->options.public_url ? str_of(n->options.public_url) : STR_NONE}};
        s->message.url = s->message.base;
        start(n, s, i);
        return;
    }
    (void)err_set(&test->err, ERR_NOT_FOUND, "there is no channel \"%.*s\"; see notify.json", STR_ARG(test->channel));
    test->done(test);
}

/* ---- answers ---- */

struct rc notify_read_token(struct notify *n, struct str token, struct notify_answer *ret_answer, struct err *err)
{
    ARENA_SCOPE(scratch);
    struct answer_claims claims;
    const struct json *pending;
    if (!answer_token_claims(token, &claims))
        return err_set(err, ERR_FORBIDDEN, "this answer is not one that Nod has sent");
    const struct delivery *delivery = map_get(&n->ids, (struct str){claims.delivery, 16});
    struct str json = delivery ? waiting_json(n, &scratch, delivery->asked) : STR_NONE;
    if (json.n == 0 || delivery->asked->answered || rc_bad(json_parse(&scratch, json, &pending, NULL)))
        return err_set(err, ERR_NOT_FOUND, "this request does not wait any more");
    struct str person = n->config.routes[delivery->route].person, digest = json_text(pending, "digest");
    if (!answer_token_right(&n->key, token, bound_to(&scratch, digest, person)))
        return err_set(err, ERR_FORBIDDEN, "this answer is not one that Nod has sent for this request");
    if (clock_wall_ms() / 1000 > claims.until_s)
        return err_set(err, ERR_FORBIDDEN, "this answer is too old: open Nod to answer");
    *ret_answer = (struct notify_answer){.session = delivery->asked->session, .call = delivery->asked->call,
                                         .person = person, .allow = claims.allow};
    return RC_OK;
}
