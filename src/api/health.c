/* Whether it lives, whether it can work, and its figures for Prometheus. */
#include "api/exchange.h"

#include "notify/notify.h"

static void answer_state(struct exchange *x, int status, const char *state)
{
    exchange_object(x, status, J("status", state), J("version", STR(NOD_VERSION)));
}

void api_health_show(struct exchange *x) { answer_state(x, 200, "ok"); }

/* For a load balancer: a node that cannot store events is taken out of service, because it could only refuse. */
void api_ready_show(struct exchange *x)
{
    if (!x->api->ready)
        answer_state(x, 503, "starting");
    else if (!gate_healthy(x->gate))
        answer_state(x, 503, "the store cannot keep events");
    else
        exchange_object(x, 200, J("status", "ready"), J("version", STR(NOD_VERSION)), J("warning", x->api->warning));
}

void api_ping(struct exchange *x)
{
    BUF_SCOPE(buf, LIMIT_ANSWER_BYTES);
    buf_puts(&buf, "{}");
    exchange_answer(x, 200, &buf);
}

/* ---- Prometheus ---- */

static void head(struct buf *buf, const char *name, const char *type, const char *help)
{
    buf_printf(buf, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void one(struct buf *buf, const char *name, const char *type, const char *help, uint64_t value)
{
    head(buf, name, type, help);
    buf_printf(buf, "%s %llu\n", name, (unsigned long long)value);
}

static void answered(struct buf *buf, const struct gate_figures *f)
{
    head(buf, "nod_approvals_answered_total", "counter", "Answers by decision.");
    for (int d = DECISION_NONE + 1; d < DECISION_COUNT; d++)
        buf_printf(buf, "nod_approvals_answered_total{decision=\"%s\"} %llu\n",
                   decision_name((enum decision)d), (unsigned long long)f->answered[d]);
    one(buf, "nod_approvals_abandoned_total", "counter",
        "Requests that nobody answered: timed out or cancelled.",
        f->answered[DECISION_TIMEOUT] + f->answered[DECISION_CANCELLED]);
}

/* Buckets of Prometheus count everything up to their bound, those of the gate count what is between two: hence the
 * sum. */
static void response_times(struct buf *buf, const struct gate_figures *f)
{
    const char *name = "nod_approval_response_seconds";
    uint64_t sum = 0;
    head(buf, name, "histogram", "Time from request to a person's answer.");
    for (int i = 0; i < GATE_BUCKETS; i++) {
        sum += f->response_buckets[i];
        buf_printf(buf, "%s_bucket{le=\"%g\"} %llu\n", name, (double)gate_bucket_ms[i] / 1000,
                   (unsigned long long)sum);
    }
    sum += f->response_buckets[GATE_BUCKETS];
    buf_printf(buf, "%s_bucket{le=\"+Inf\"} %llu\n%s_sum %.3f\n%s_count %llu\n", name,
               (unsigned long long)sum, name, (double)f->response_ms_sum / 1000, name,
               (unsigned long long)sum);
}

/* Groups are counted by powers of two; bucket i holds groups of up to 2^(i+1) - 1 appends. */
static void store_figures_text(struct buf *buf, const struct store_figures *s)
{
    uint64_t sum = 0;
    head(buf, "nod_store_group_appends", "histogram", "Appends committed as one group.");
    for (int i = 0; i < 8; i++) {
        sum += s->group_size_counts[i];
        if (i < 7)
            buf_printf(buf, "nod_store_group_appends_bucket{le=\"%u\"} %llu\n", (2u << i) - 1,
                       (unsigned long long)sum);
    }
    buf_printf(buf,
               "nod_store_group_appends_bucket{le=\"+Inf\"} %llu\nnod_store_group_appends_sum %llu\n"
               "nod_store_group_appends_count %llu\n",
               (unsigned long long)sum, (unsigned long long)s->appends, (unsigned long long)s->groups);
    one(buf, "nod_store_events_total", "counter", "Events kept since start.", s->events);
    one(buf, "nod_store_refused_total", "counter", "Appends whose needs did not hold.", s->refused);
    one(buf, "nod_store_failed_total", "counter", "Appends the store could not keep.", s->failed);
    head(buf, "nod_store_commit_seconds_total", "counter", "Time spent committing.");
    buf_printf(buf, "nod_store_commit_seconds_total %.6f\n", (double)s->commit_us / 1e6);
    one(buf, "nod_store_healthy", "gauge", "1 when events can be kept and read.", s->healthy);
    one(buf, "nod_store_reads_total", "counter", "Reads since start.", s->reads);
    head(buf, "nod_query_seconds_total", "counter", "Time spent reading.");
    buf_printf(buf, "nod_query_seconds_total %.6f\n", (double)s->read_us / 1e6);
}

static void connections(struct buf *buf, const struct http_figures *h)
{
    one(buf, "nod_connections", "gauge", "Open connections.", h->connections);
    one(buf, "nod_connections_total", "counter", "Connections accepted.", h->connections_total);
    one(buf, "nod_streams", "gauge", "Open event streams.", h->streams);
    one(buf, "nod_websockets", "gauge", "Open WebSockets.", h->sockets);
    one(buf, "nod_requests_total", "counter", "Requests.", h->requests_total);
    one(buf, "nod_slow_readers_dropped_total", "counter", "Streams dropped because they did not read.",
        h->dropped_slow_total);
}

/* Of the calls that were open at the last start and are closed now: the share that a person answered. */
static void recovery(struct buf *buf, const struct gate_figures *f)
{
    uint64_t ended = f->recovered_answered + f->recovered_lost;
    head(buf, "nod_approvals_recovery_ratio", "gauge",
         "Of the calls found at the last start that have ended since: those that a person answered.");
    buf_printf(buf, "nod_approvals_recovery_ratio %.4f\n",
               ended ? (double)f->recovered_answered / (double)ended : 1.0);
}

void api_metrics_show(struct exchange *x)
{
    struct gate_figures f = gate_figures(x->gate);
    BUF_SCOPE(buf, LIMIT_ANSWER_BYTES);
    one(&buf, "nod_calls_total", "counter", "Tool calls asked for.", f.calls);
    one(&buf, "nod_approvals_requested_total", "counter", "Calls that a person was asked about.",
        f.requested);
    answered(&buf, &f);
    one(&buf, "nod_approvals_pending", "gauge", "Calls that wait for an answer.", f.pending);
    one(&buf, "nod_approvals_recovered_total", "counter", "Waiting calls found at the last start.",
        f.recovered);
    recovery(&buf, &f);
    one(&buf, "nod_waiting_clients", "gauge", "Clients held until an answer comes.", f.waiting);
    one(&buf, "nod_watchers", "gauge", "Followers of events.", f.watchers);
    response_times(&buf, &f);
    head(&buf, "nod_pending_query_seconds_total", "counter", "Time spent on queries for pending calls.");
    buf_printf(&buf, "nod_pending_query_seconds_total %.6f\n", (double)x->api->query_us / 1e6);
    one(&buf, "nod_pending_queries_total", "counter", "Queries for pending calls.", x->api->queries);
    store_figures_text(&buf, &f.store);
    notify_write_metrics(x->api->notify, &buf);
    if (x->api->server) {
        struct http_figures h = http_figures(x->api->server);
        connections(&buf, &h);
    }
    http_answer(x->http, 200, STR("text/plain; version=0.0.4"), STR_NONE, buf_str(&buf));
}
