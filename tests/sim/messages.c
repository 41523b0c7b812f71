/* Messages to people: the real outbox of each node (notify/), and one receiver of webhooks behind a bad network.
 *
 * Promises, from what the receiver saw and the rows alone: every request that stays open was told of; nothing began to
 * be sent that was not claimed before its call was answered; no message is sent by two at a time; the last word about
 * an answered call is its withdrawal. */
#include "notify/outbox.h"
#include "sim/fiber.h"
#include "sim/sim.h"
#include "sim/wrap.h"

#include <stdio.h>

enum { ASK_AFTER_MS = 2000, REMIND_AFTER_MS = 40000, WEBHOOK = 2 };

/* ---- how a node is set up: no file, no key ---- */

struct rc __wrap_config_read(struct arena *arena, const char *file, struct config *ret_config, struct err *err)
{
    (void)arena;
    (void)file;
    (void)err;
    *ret_config = (struct config){.channel_count = WEBHOOK + 1, .lease_ms = 30000,
                                  .route_count = sim->messages.wanted ? 2 : 1};
    ret_config->channels[PUSH] = (struct channel){.name = STR("push"), .kind = channel_kind(STR("push"))};
    ret_config->channels[CALLBACK] = (struct channel){.name = STR("callback"), .kind = channel_kind(STR("callback"))};
    ret_config->channels[WEBHOOK] = (struct channel){.name = STR("hook"), .kind = channel_kind(STR("webhook")),
                                                     .url = "http://receiver/"};
    ret_config->routes[1] = (struct outbox_route){.person = STR("boss"), .count = 2,
                                           .steps = {{.after_ms = ASK_AFTER_MS, .channels = {WEBHOOK}, .count = 1},
                                                     {.after_ms = REMIND_AFTER_MS, .channels = {WEBHOOK}, .count = 1}}};
    return RC_OK;
}

struct rc __wrap_devices_open(struct devices *devices, struct arena *arena, const char *folder, struct err *err)
{
    (void)folder;
    (void)err;
    devices->arena = arena;
    return RC_OK;
}

/* Of answer tokens, which no webhook carries. */
struct digest __wrap_sign_key_secret(const struct sign_key *key, struct str purpose)
{
    (void)key;
    return digest_of(purpose);
}

static bool was_revoked(const struct gate *gate, struct str person)
{
    (void)gate;
    (void)person;
    return false;
}

void messages_open(int number)
{
    struct node *node = &sim->nodes[number];
    const struct notify_options options = {.gate = node->gate, .was_revoked = was_revoked};
    CHECK(rc_ok(notify_open(&options, &node->notify, NULL)));
}

bool messages_sending(int number) { return sim->nodes[number].notify && sim->nodes[number].notify->busy > 0; }

/* The process is as good as gone: it begins nothing more. */
bool messages_busy(int number)
{
    struct notify *notify = sim->nodes[number].notify;
    if (!notify)
        return false;
    notify->closing = true;
    return notify->busy > 0;
}

/* ---- the receiver ---- */

struct post {
    struct str delivery;
    int slot;
    bool asks;
};

static struct post read_post(const struct fetch *fetch)
{
    struct post post = {.slot = -1, .asks = !str_has(fetch->body, STR("\"type\":\"approval.resolved\""))};
    for (const char *const *header = fetch->headers; *header; header++)
        if (str_starts(str_of(*header), STR("webhook-id: ")))
            post.delivery = str_sub(str_of(*header), 12, strlen(*header));
    for (int slot = 0; slot < SLOTS; slot++) {
        char session[64], call[64];
        (void)snprintf(session, sizeof session, "\"sessionId\":\"%.*s\"", STR_ARG(sim_session(slot)));
        (void)snprintf(call, sizeof call, "\"requestId\":\"%.*s\"", STR_ARG(sim_call(slot)));
        if (str_has(fetch->body, str_of(session)) && str_has(fetch->body, str_of(call)))
            post.slot = slot;
    }
    CHECK(post.delivery.n == DELIVERY_ID_BYTES - 1);
    return post;
}

static unsigned count_rows(enum event_kind kind, struct str delivery, uint64_t before)
{
    unsigned count = 0;
    for (size_t i = 0; i < sim->db.count; i++) {
        const struct event *row = &sim->db.rows[i].event;
        count += row->kind == kind && row->seq < before && str_has(row->data, delivery);
    }
    return count;
}

/* A message on its way whose end is not known to anybody. One that was sent before, and whose end was kept late, may be
 * on its way again: no process knows, and the end of this attempt causes another withdrawal. */
static bool is_on_its_way(const struct sending_now *sending)
{
    return sending->asks && !count_rows(EVENT_DELIVERY_ENDED, str_of(sending->delivery), UINT64_MAX);
}

/* A node that has not noticed yet that a standby took over acts on what it knew. */
static bool knows_history(int node) { return sim->nodes[node].epoch == sim->epoch; }

static void check_post(const struct post *post, int node)
{
    const struct row *response = rows_find(sim_session(post->slot), sim_call(post->slot), EVENT_TOOL_APPROVAL_RESPONSE);
    if (!knows_history(node))
        return;
    uint64_t before = post->asks && response ? response->event.seq : UINT64_MAX;
    if (!count_rows(EVENT_DELIVERY_CLAIMED, post->delivery, before))
        sim_fail("a message about %.*s is sent without a claim before the answer", STR_ARG(sim_call(post->slot)));
    for (size_t i = 0; i < SENDINGS_MAX; i++) {
        const struct sending_now *other = &sim->messages.sending[i];
        if (!other->delivery[0] || sim->nodes[other->node].dead || !knows_history(other->node))
            continue;
        if (!post->asks && other->slot == post->slot && is_on_its_way(other) && !sim->faults[FAULT_CLOCK])
            sim_fail("a withdrawal of %.*s is sent while a message is on its way", STR_ARG(sim_call(post->slot)));
        if (str_is(post->delivery, other->delivery))
            sim_fail("a message about %.*s is sent by nodes %d and %d at a time", STR_ARG(sim_call(post->slot)),
                     other->node, node);
    }
}

static struct sending_now *begin_sending(const struct post *post, int node)
{
    for (size_t i = 0; i < SENDINGS_MAX; i++) {
        struct sending_now *sending = &sim->messages.sending[i];
        if (sending->delivery[0])
            continue;
        *sending = (struct sending_now){.node = node, .slot = post->slot, .asks = post->asks};
        (void)snprintf(sending->delivery, sizeof sending->delivery, "%.*s", STR_ARG(post->delivery));
        return sending;
    }
    CHECK(false);
}

static void arrive(const struct post *post)
{
    struct messages *messages = &sim->messages;
    CHECK(messages->count < ARRIVALS_MAX);
    messages->arrived[messages->count++] = (struct arrival){.slot = post->slot, .asks = post->asks};
    if (sim->trace)
        (void)printf("      node %d: %s about %.*s arrives\n", sim_node(), post->asks ? "a message" : "a withdrawal",
                     STR_ARG(sim_call(post->slot)));
}

/* Some time passes before or after it arrives, within what the sender allows. Of three first attempts one is lost,
 * or its answer is; further ones succeed, for the third retry of a withdrawal comes after the world's end. */
struct rc __wrap_fetch_run(struct fetch_line *line, struct fetch *fetch, struct err *err)
{
    int node = sim_node();
    struct post post = read_post(fetch);
    (void)line;
    if (sim->nodes[node].dead)
        return err_set(err, ERR_UNAVAILABLE, "killed");
    fetch->status = 200;
    if (post.slot < 0) /* about a call of Nod's own agent */
        return RC_OK;
    check_post(&post, node);
    bool bad = count_rows(EVENT_DELIVERY_CLAIMED, post.delivery, UINT64_MAX) == 1 && sim_random(3) == 0;
    bool lost = bad && sim_random(2), late = sim_random(2);
    struct sending_now *sending = begin_sending(&post, node);
    if (!late && !lost)
        arrive(&post);
    fiber_wait(NULL, sim->steady_us + (int64_t)sim_random((uint64_t)fetch->seconds_max * 1000000));
    sending->delivery[0] = '\0';
    if (late && !lost && !sim->nodes[node].dead)
        arrive(&post);
    return bad || sim->nodes[node].dead ? err_set(err, ERR_UNAVAILABLE, "the network is bad") : RC_OK;
}

/* A claim that was first is followed by its sending at once, not when its own lease is over. Of a commit in doubt a
 * node may learn only then that it was kept. */
void messages_check_node(const struct node *node)
{
    if (sim->faults[FAULT_DOUBT] || sim->faults[FAULT_AWAY] || sim->faults[FAULT_STUCK] || node->epoch != sim->epoch)
        return;
    MAP_EACH(&node->notify->ids, each) {
        const struct delivery *delivery = each.value;
        bool won = delivery->ours && !delivery->ended && delivery->lease_ms > __wrap_clock_wall_ms();
        if (won && delivery->state == DUE && delivery->due_ms >= delivery->lease_ms)
            sim_fail("a message about %.*s was claimed first and waits for another claim",
                     STR_ARG(delivery->asked->call));
    }
}

/* ---- after the calm phase ---- */

static void check_slot(int slot)
{
    const struct row *request = rows_find(sim_session(slot), sim_call(slot), EVENT_TOOL_APPROVAL_REQUEST);
    bool answered = rows_find(sim_session(slot), sim_call(slot), EVENT_TOOL_APPROVAL_RESPONSE) != NULL;
    bool told = false, withdrawn = true;
    if (!request || request->gone)
        return;
    for (size_t i = 0; i < sim->messages.count; i++) {
        const struct arrival *arrival = &sim->messages.arrived[i];
        told = told || arrival->slot == slot;
        withdrawn = arrival->slot == slot ? !arrival->asks : withdrawn;
    }
    if (!answered && !told && sim->messages.wanted)
        sim_fail("nobody was told of %.*s", STR_ARG(request->event.call));
    if (answered && !withdrawn && sim->epoch == 0) /* a standby may lack the claim */
        sim_fail("a message about %.*s was not withdrawn", STR_ARG(request->event.call));
}

void messages_check_end(void)
{
    for (int slot = 0; slot < SLOTS; slot++)
        check_slot(slot);
}
