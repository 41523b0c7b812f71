/* Starts and ends the outbox, and answers what routes of the API ask it: channels, devices, test messages. */
#include "notify/outbox.h"

#include "base/base64.h"
#include "base/id.h"
#include "base/sign.h"
#include "event/token.h"
#include "io/clock.h"
#include "io/loop.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { LOOK_BACK_EVENTS = 20000 }; /* behind the oldest open request: answers that came right before a crash */

/* ---- life ---- */

/* Every process on a store derives the same key for answers from the server's key: a button works at any node. */
struct rc notify_open(const struct notify_options *options, struct notify **ret_notify, struct err *err)
{
    struct notify *n = heap_new(sizeof *n);
    *n = (struct notify){.options = *options};
    struct rc rc = config_read(&n->arena, options->file, &n->config, err);
    if (rc_ok(rc))
        rc = devices_open(&n->devices, &n->arena, options->folder, err);
    if (rc_bad(rc)) {
        seal_key_free(n->devices.key);
        arena_free(n);
        return rc;
    }
    for (size_t i = 0; i < n->devices.count; i++)
        config_add_person(&n->config, n->devices.items[i].person);
    (void)snprintf(n->owner, sizeof n->owner, "%s", id_new("own").text);
    n->late_end = &n->late;
    n->key = sign_key_secret(gate_key(options->gate), STR("nod-answers-v1"));
    n->timer = timer_new(options->loop, send_due, n);
    n->pool = work_pool_new(options->loop, THREADS);
    n->pollers = work_pool_new(options->loop, CHANNELS_MAX);
    *ret_notify = n;
    return RC_OK;
}

static void caught_up(struct watcher *watcher)
{
    gate_watch_more(watcher);
    notify_arm_outbox(watcher->arg);
}

/* Follows the log once there is somebody to tell; until then a call costs nothing more. */
static void follow_log(struct notify *n)
{
    ARENA_SCOPE(scratch);
    if (!n->started || n->following || (n->config.route_count == 1 && n->config.callbacks.count == 0))
        return;
    n->following = true;
    struct pending_list list = {.limit = 1, .in_order = true};
    gate_list_pending(n->options.gate, &scratch, &list);
    /* Starts at the oldest open request, or a little before the end of the log. */
    uint64_t oldest = list.count ? list.next - 1 : list.seq;
    n->what = (struct watched){
        .kinds = 1ull << EVENT_TOOL_APPROVAL_REQUEST | 1ull << EVENT_TOOL_APPROVAL_RESPONSE |
                 1ull << EVENT_DELIVERY_CLAIMED | 1ull << EVENT_DELIVERY_ENDED | 1ull << EVENT_DELIVERY_HELD |
                 1ull << EVENT_TOOL_APPROVAL_SNOOZED | 1ull << EVENT_TOOL_APPROVAL_ASSIGNED |
                 1ull << EVENT_TOKEN_CHANGED,
        .tell = outbox_tell, .caught_up = caught_up};
    n->watcher = (struct watcher){
        .what = &n->what, .after = oldest > LOOK_BACK_EVENTS ? oldest - LOOK_BACK_EVENTS : 0, .arg = n};
    gate_watch(n->options.gate, &n->watcher);
}

void notify_start(struct notify *n)
{
    n->started = true;
    follow_log(n);
    answer_poll_channels(n);
}

static struct notify *volatile left_for_threads;

/* A thread may still wait for a slow service; then the memory is left to the process's end. */
void notify_close(struct notify *n)
{
    n->closing = true;
    for (unsigned i = 0; i < n->config.channel_count; i++)
        if (n->config.channels[i].poll_timer)
            timer_free(n->config.channels[i].poll_timer);
    /* Threads still use `n`, so it is not freed; the process ends soon, and the next start sends their messages again.
     * The static pointer keeps leak detection quiet when the last thread that points to `n` has ended. */
    if (n->busy || work_open(n->pollers)) {
        left_for_threads = n;
        work_pool_leave(n->pool);
        work_pool_leave(n->pollers);
        return;
    }
    if (n->following)
        gate_unwatch(&n->watcher);
    seal_key_free(n->devices.key);
    MAP_EACH(&n->calls, each) {
        outbox_forget(n, each.value);
        each.at = 0; /* forgetting changes the map */
    }
    map_done(&n->calls);
    map_done(&n->ids);
    free(n->heap);
    timer_free(n->timer);
    work_pool_free(n->pool);
    work_pool_free(n->pollers);
    arena_free(n);
}

/* ---- devices ---- */

_Static_assert(NOTIFY_KEY_BYTES >= BASE64_BYTES(SEAL_POINT_BYTES) - 1, "it fits");

struct rc notify_push_key(struct notify *n, char ret_key[NOTIFY_KEY_BYTES], struct err *err)
{
    unsigned char point[SEAL_POINT_BYTES];
    TRY(devices_open_key(&n->devices, err));
    seal_key_public(n->devices.key, point);
    base64_url_encode(point, SEAL_POINT_BYTES, ret_key);
    return RC_OK;
}

struct rc notify_add_device(struct notify *n, struct str person, struct str token, const struct json *body,
                            struct err *err)
{
    TRY(devices_add(&n->devices, token_person(person), token, body, err));
    config_add_person(&n->config, n->devices.items[n->devices.count - 1].person);
    follow_log(n);
    return RC_OK;
}

bool notify_remove_device(struct notify *n, struct str token, struct str endpoint)
{
    return devices_remove(&n->devices, endpoint, token);
}

/* ---- the channels, as the page and nod list them ---- */

void notify_write_channels(const struct notify *n, struct json_out *out)
{
    static const char *const details[] = {"kind", "summary", "full"};
    JSON_LIST(out, NULL)
        for (unsigned i = 0; i < n->config.channel_count; i++) {
            const struct channel *channel = &n->config.channels[i];
            json_object(out, J("name", channel->name), J("type", channel->kind->name),
                        J("detail", details[channel->detail]), J("sent", channel->sent), J("failed", channel->failed),
                        J("lastError", channel->last_poll.code ? channel->last_poll.text : channel->last.text));
        }
}

/* From memory: of calls that are over, the newest LATE_MAX are still there. */
void notify_write_deliveries(const struct notify *n, struct json_out *out, struct str call)
{
    static const char *const states[] = {[DUE] = "due", [CLAIMING] = "due", [SENDING] = "sending",
                                         [SENT] = "sent", [OVER] = "not needed"};
    JSON_LIST(out, NULL)
        MAP_EACH(&n->calls, each) {
            const struct asked *asked = each.value;
            for (const struct delivery *d = asked->deliveries; d; d = d->next) {
                if (call.n && !str_eq(call, asked->call))
                    continue;
                json_object(out, J("deliveryId", d->id), J("sessionId", asked->session), J("toolCallId", asked->call),
                            J("person", n->config.routes[d->route].person),
                            J("channel", n->config.channels[d->channel].name), J("purpose", purpose_name(d->purpose)),
                            J("state", d->failed ? STR("failed") : str_of(states[d->state])),
                            J_IF(d->status, J("status", d->status)), J_TIME("dueAt", d->due_ms),
                            J("attempts", d->attempts));
            }
        }
}

static void write_attempts(const struct notify *n, struct buf *out)
{
    buf_puts(out, "# HELP nod_delivery_attempts_total Messages that receivers took, or did not.\n"
                  "# TYPE nod_delivery_attempts_total counter\n");
    for (unsigned i = 0; i < n->config.channel_count; i++) {
        const struct channel *channel = &n->config.channels[i];
        buf_printf(out, "nod_delivery_attempts_total{channel=\"%.*s\",outcome=\"sent\"} %" PRIu64 "\n",
                   STR_ARG(channel->name), channel->sent);
        buf_printf(out, "nod_delivery_attempts_total{channel=\"%.*s\",outcome=\"failed\"} %" PRIu64 "\n",
                   STR_ARG(channel->name), channel->failed);
    }
}

void notify_write_metrics(const struct notify *n, struct buf *out)
{
    int64_t now_ms = clock_wall_ms();
    int64_t late_ms = n->heap_count && n->heap[0]->due_ms < now_ms ? now_ms - n->heap[0]->due_ms : 0;
    write_attempts(n, out);
    buf_printf(out, "# HELP nod_deliveries_due Messages that wait for their time, or to be tried again.\n"
                    "# TYPE nod_deliveries_due gauge\nnod_deliveries_due %zu\n", n->heap_count);
    buf_printf(out, "# HELP nod_deliveries_late_seconds How late the message is that should have been sent first.\n"
                    "# TYPE nod_deliveries_late_seconds gauge\nnod_deliveries_late_seconds %" PRId64 "\n",
               late_ms / 1000);
    buf_printf(out, "# HELP nod_answers_afar_total Answers from messages.\n# TYPE nod_answers_afar_total counter\n"
                    "nod_answers_afar_total{outcome=\"taken\"} %" PRIu64 "\n"
                    "nod_answers_afar_total{outcome=\"refused\"} %" PRIu64 "\n", n->answers_taken, n->answers_refused);
}

void notify_seen(struct notify *n, struct str person, struct str session, struct str call)
{
    outbox_seen(n, person, session, call);
}

/* Goes the way of any message, without a claim and without an event. */
void notify_test_channel(struct notify *n, struct notify_test *test)
{
    for (unsigned i = 0; i < n->config.channel_count; i++) {
        if (i == CALLBACK || !str_eq(n->config.channels[i].name, test->channel))
            continue;
        struct send_job *s = heap_new(sizeof *s);
        *s = (struct send_job){.test = test,
                               .message = {.purpose = PURPOSE_TEST, .delivery = STR("test"), .call = STR("test"),
                                           .person = test->person, .title = STR("Nod: test"), .count = 1,
                                           .at_ms = clock_wall_ms(),
                                           .body = STR("This channel works: Nod can reach you here."),
                                           .base = n->options.public_url ? str_of(n->options.public_url) : STR_NONE}};
        s->message.url = s->message.base;
        n->busy++;
        s->claimed_us = clock_steady_us();
        send_start(n, s, i);
        return;
    }
    (void)err_set(gate_op_fail(&test->op), ERR_NOT_FOUND, "there is no channel \"%.*s\"; see notify.json",
                  STR_ARG(test->channel));
    gate_op_tell(&test->op);
}

