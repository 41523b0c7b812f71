/* An approval's life in the operator's log, and the figures. */
#include "base/log.h"
#include "event/shapes.h"
#include "gate/inner.h"

const int64_t gate_bucket_ms[GATE_BUCKETS] = {100,   500,    1000,   2000,    5000,    10000,
                                              30000, 60000, 300000, 1800000, 7200000, 86400000};

static void count_response(struct gate_figures *figures, enum decision decision, int64_t took_ms)
{
    int bucket = 0;
    while (bucket < GATE_BUCKETS && took_ms > gate_bucket_ms[bucket])
        bucket++;
    figures->answered[decision]++;
    if (!decision_by_person(decision))
        return;
    figures->response_buckets[bucket]++;
    figures->response_ms_sum += (uint64_t)(took_ms > 0 ? took_ms : 0);
}

/* One line per answer in the operator's log, with the time it took. An agent whose calls are denied may ask less often
 * (quota.c); that is counted here, where the answer has been read. */
static void responded(struct gate *gate, const struct event *event)
{
    const struct open *open = open_find(gate, event->session, event->call);
    ARENA_SCOPE(scratch);
    struct data_tool_approval_response data;
    if (!READ_DATA(&scratch, tool_approval_response, event->data, &data) || data.decision == DECISION_NONE)
        return;
    enum decision decision = data.decision;
    int64_t took_ms = open ? event->at_ms - open->requested_ms : 0;
    count_response(&gate->figures, decision, took_ms);
    if (open && (decision == DECISION_DENY || decision == DECISION_ABORT))
        quota_denied(gate, open->actor);
    if (open && open->recovered)
        *(decision_by_person(decision) ? &gate->figures.recovered_answered : &gate->figures.recovered_lost) += 1;
    log_line(LOG_INFO, decision == DECISION_TIMEOUT ? "approval timed out" : "approval resolved",
             LOG_S("session", event->session), LOG_S("threadId", event->thread), LOG_S("call", event->call),
             LOG_S("toolName", open ? open->name : STR_NONE), LOG_C("decision", decision_name(decision)),
             LOG_S("actor", event->actor), LOG_I("responseTime", took_ms));
}

static void alerted(struct gate *gate, const struct event *event)
{
    const struct open *open = open_find(gate, event->session, event->call);
    log_line(LOG_WARN, "approval unanswered", LOG_S("session", event->session),
             LOG_S("threadId", event->thread), LOG_S("call", event->call),
             LOG_S("toolName", open ? open->name : STR_NONE),
             LOG_I("waited_ms", open ? event->at_ms - open->requested_ms : 0));
}

static void called(struct gate *gate, const struct event *event)
{
    gate->figures.calls++;
    log_line(LOG_TRACE, "call", LOG_S("session", event->session), LOG_S("call", event->call),
             LOG_S("data", event->data));
}

void journal_requested(struct gate *gate, const struct event *event, const struct open *open)
{
    gate->figures.requested++;
    log_line(LOG_INFO, "approval requested", LOG_S("session", event->session), LOG_S("threadId", event->thread),
             LOG_S("call", event->call), LOG_S("toolName", open ? open->name : STR_NONE),
             LOG_S("agent", event->actor));
}

void journal_follow(struct gate *gate, const struct event *event)
{
    if (event->kind == EVENT_TOOL_CALL) {
        called(gate, event);
    } else if (event->kind == EVENT_TOOL_APPROVAL_RESPONSE) {
        responded(gate, event);
    } else if (event->kind == EVENT_TOOL_APPROVAL_ALERT) {
        alerted(gate, event);
    }
}

struct gate_figures gate_figures(const struct gate *gate)
{
    struct gate_figures figures = gate->figures;
    figures.pending = gate->core.open.count;
    figures.waiting = gate->core.waiting;
    figures.watchers = gate->watcher_count;
    figures.tokens = gate->tokens_by_hash.count;
    figures.last_seq = store_last_seq(gate->store);
    figures.store = store_figures(gate->store);
    return figures;
}

bool gate_healthy(const struct gate *gate) { return store_healthy(gate->store); }
