/* The promises, checked after every row, answer and turn. Nothing of the gate, the judge or the policy is used here:
 * the data of an event is looked at as text. */
#include "gate/inner.h"
#include "sim/sim.h"

#include "base/stamp.h"

#include <stdio.h>

enum { SLACK_US = 5000 };

static bool says(const struct event *event, const char *words) { return str_has(event->data, str_of(words)); }

static struct str text_after(struct str data, const char *mark)
{
    size_t n = strlen(mark);
    for (size_t at = 0; at + n <= data.n; at++) {
        if (memcmp(data.p + at, mark, n) != 0)
            continue;
        size_t end = at + n;
        while (end < data.n && data.p[end] != '"' && data.p[end] != ',' && data.p[end] != '}')
            end++;
        return str_sub(data, at + n, end);
    }
    return STR_NONE;
}

static const struct event *find_before(const struct event *event, enum event_kind kind)
{
    for (size_t i = 0; i < sim->db.count; i++) {
        const struct event *row = &sim->db.rows[i].event;
        if (row->seq >= event->seq)
            break;
        if (row->kind == kind && str_eq(row->session, event->session) && str_eq(row->call, event->call))
            return row;
    }
    return NULL;
}

static bool allows(const struct event *response) { return says(response, "\"decision\":\"allow_"); }

/* ---- verdicts: what rules and the session say, from the rows alone ---- */

static bool is_revoked(struct str rule, uint64_t before)
{
    for (size_t i = 0; i < sim->db.count && sim->db.rows[i].event.seq < before; i++) {
        const struct event *row = &sim->db.rows[i].event;
        if (row->kind == EVENT_RULE_CHANGED && says(row, "\"change\":\"removed\"") &&
            str_eq(text_after(row->data, "\"id\":\""), rule))
            return true;
    }
    return false;
}

static unsigned uses_of(struct str rule, uint64_t before)
{
    unsigned uses = 0;
    for (size_t i = 0; i < sim->db.count && sim->db.rows[i].event.seq < before; i++) {
        const struct event *row = &sim->db.rows[i].event;
        uses += row->kind == EVENT_RULE_CHANGED && says(row, "\"change\":\"used\"") &&
                str_eq(text_after(row->data, "\"id\":\""), rule);
    }
    return uses;
}

/* `maybe`: by a rule for a number of calls, the last of which may be on their way. */
static void weigh_rules(const struct event *call, struct str tool, bool *denies, bool *allowed, bool *maybe)
{
    for (size_t i = 0; i < sim->db.count && sim->db.rows[i].event.seq < call->seq; i++) {
        const struct event *row = &sim->db.rows[i].event;
        struct str id = text_after(row->data, "\"id\":\"");
        if (row->kind != EVENT_RULE_CHANGED || !says(row, "\"change\":\"added\"") || is_revoked(id, call->seq) ||
            !str_eq(text_after(row->data, "\"rule\":\""), tool) ||
            (says(row, "\"uses\":2") && uses_of(id, call->seq) >= 2))
            continue;
        *denies = *denies || says(row, "\"effect\":\"deny\"");
        bool lets = says(row, "\"effect\":\"allow\"");
        *maybe = *maybe || (lets && says(row, "\"uses\":2"));
        *allowed = *allowed || (lets && !says(row, "\"uses\":2"));
    }
}

/* The last word of the session on this tool. */
static void weigh_session(const struct event *call, struct str tool, bool *denies, bool *allowed)
{
    char mark[32];
    struct str last = STR_NONE;
    (void)snprintf(mark, sizeof mark, "\"%.*s\":", STR_ARG(tool));
    for (size_t i = 0; i < sim->db.count && sim->db.rows[i].event.seq < call->seq; i++) {
        const struct event *row = &sim->db.rows[i].event;
        if (row->kind == EVENT_SESSION_CHANGED && str_eq(row->session, call->session) && says(row, mark))
            last = row->data;
    }
    char quoted[40];
    (void)snprintf(quoted, sizeof quoted, "%s\"", mark);
    struct str effect = text_after(last, quoted);
    *denies = *denies || str_is(effect, "deny");
    *allowed = *allowed || str_is(effect, "allow");
}

static void check_verdict(const struct event *call)
{
    bool denies = false, allowed = false, maybe = false;
    struct str tool = text_after(call->data, "\"name\":\"");
    weigh_rules(call, tool, &denies, &allowed, &maybe);
    weigh_session(call, tool, &denies, &allowed);
    const char *effect = denies ? "deny" : allowed ? "allow" : "ask";
    struct str said = text_after(call->data, "\"effect\":\"");
    if (!str_is(said, effect) && !(maybe && !denies && str_is(said, "allow")))
        sim_fail("%.*s is judged by rules or a session that had changed: it should be %s", STR_ARG(call->call), effect);
}

/* ---- rows ---- */

static void check_actor(const struct event *event)
{
    struct str id = STR_NONE;
    for (int i = 0; i < TOKENS; i++)
        if (str_is(event->actor, sim->tokens[i].name) && sim->tokens[i].made)
            id = str_of(sim->tokens[i].id);
    for (size_t i = 0; id.n && i < sim->db.count && sim->db.rows[i].event.seq < event->seq; i++) {
        const struct event *row = &sim->db.rows[i].event;
        if (row->kind == EVENT_TOKEN_CHANGED && says(row, "\"change\":\"revoked\"") &&
            str_eq(text_after(row->data, "\"id\":\""), id))
            sim_fail("%s %.*s by a token that was revoked", event_kind_name(event->kind), STR_ARG(event->call));
    }
}

static void check_call(const struct event *event)
{
    if (find_before(event, EVENT_TOOL_CALL))
        sim_fail("a second call %.*s", STR_ARG(event->call));
    check_actor(event);
    check_verdict(event);
}

static void check_response(const struct event *event)
{
    const struct event *request = find_before(event, EVENT_TOOL_APPROVAL_REQUEST);
    int64_t deadline_ms = INT64_MAX;
    if (!request) {
        sim_fail("a response to %.*s, which was not requested", STR_ARG(event->call));
        return;
    }
    if (find_before(event, EVENT_TOOL_APPROVAL_RESPONSE))
        sim_fail("a second response to %.*s", STR_ARG(event->call));
    (void)stamp_parse(text_after(request->data, "\"deadline\":\""), &deadline_ms);
    if (says(event, "\"timeout\"") && sim->wall_ms + sim->most_skew_ms < deadline_ms)
        sim_fail("%.*s timed out before its time", STR_ARG(event->call));
    if (str_starts(event->actor, STR("agent")) && !says(event, "\"cancelled\""))
        sim_fail("%.*s is answered by an agent", STR_ARG(event->call));
    check_actor(event);
}

static bool was_allowed(const struct event *event)
{
    const struct event *call = find_before(event, EVENT_TOOL_CALL);
    const struct event *response = find_before(event, EVENT_TOOL_APPROVAL_RESPONSE);
    return call && (says(call, "\"effect\":\"allow\"") || (response && allows(response)));
}

static void check_of_call(const struct event *event)
{
    if (find_before(event, event->kind))
        sim_fail("a second %s of %.*s", event_kind_name(event->kind), STR_ARG(event->call));
    if ((event->kind == EVENT_TOOL_RESULT || event->kind == EVENT_TOOL_STARTED) && !was_allowed(event))
        sim_fail("%s of %.*s, which was not allowed", event_kind_name(event->kind), STR_ARG(event->call));
    if (event->kind == EVENT_TOOL_STARTED && find_before(event, EVENT_TOOL_RESULT))
        sim_fail("%.*s is started after its result", STR_ARG(event->call));
    if (event->kind == EVENT_TOOL_APPROVAL_ALERT && find_before(event, EVENT_TOOL_APPROVAL_RESPONSE))
        sim_fail("an alert for %.*s, which is answered", STR_ARG(event->call));
}

/* What somebody said once, and what was made once, is there once. */
static void check_once(const struct event *event)
{
    for (size_t i = 0; i < sim->db.count && sim->db.rows[i].event.seq < event->seq; i++)
        if (sim->db.rows[i].event.kind == event->kind && str_eq(sim->db.rows[i].event.data, event->data))
            sim_fail("%s is kept twice", event_kind_name(event->kind));
}

void check_row(const struct row *row)
{
    const struct event *event = &row->event;
    if (sim->trace)
        (void)printf("%llu %s %.*s %.*s %.*s\n", (unsigned long long)event->seq, event_kind_name(event->kind),
                     STR_ARG(event->session), STR_ARG(event->call), STR_ARG(event->data));
    for (size_t i = 0; i + 1 < event->seq; i++)
        if (sim->db.rows[i].event.kind == EVENT_SESSION_ARCHIVED &&
            str_eq(sim->db.rows[i].event.session, event->session))
            sim_fail("%s in a session that is in an archive", event_kind_name(event->kind));
    runs_check_row(row);
    if (event->kind == EVENT_TOOL_CALL)
        check_call(event);
    else if (event->kind == EVENT_TOOL_APPROVAL_RESPONSE)
        check_response(event);
    else if (event->kind == EVENT_USER_MESSAGE || says(event, "\"change\":\"added\""))
        check_once(event);
    else if (event_kind_of_call(event->kind))
        check_of_call(event);
}

/* ---- effects ---- */

void check_effect(struct str session, struct str call, struct str files, unsigned *count)
{
    struct event end = {.seq = sim->db.count + 1, .session = session, .call = call};
    const struct event *started = find_before(&end, EVENT_TOOL_STARTED);
    const struct event *request = find_before(&end, EVENT_TOOL_APPROVAL_REQUEST);
    int slot = sim_slot(&end);
    if (sim->trace)
        (void)printf("      effect of %.*s\n", STR_ARG(call));
    if (sim->epoch)
        return; /* its start may be among what a standby lacked */
    count = slot >= 0 ? &sim->effects[slot] : count;
    if (!count || !started || started->seq > sim->db.synced || !was_allowed(&end))
        sim_fail("%.*s acts before its start is durable", STR_ARG(call));
    else if (++*count > 1)
        sim_fail("%.*s acts twice", STR_ARG(call));
    struct str shown = request ? text_after(request->data, "\"files\":\"") : files;
    if (request && !str_eq(shown, files))
        sim_fail("%.*s acts on other files than were shown", STR_ARG(call));
}

/* ---- answers ---- */

/* The event of that call with these words, of the rows as they are, or as they were before a standby was promoted: both
 * may have one with the same number. */
static const struct event *find_saying(int slot, enum event_kind kind, uint64_t seq, const char *words)
{
    const struct row *row = rows_find(sim_session(slot), sim_call(slot), kind);
    if (row && (seq == 0 || row->event.seq == seq) && says(&row->event, words))
        return &row->event;
    for (size_t i = 0; i < sim->db.before_count; i++) {
        const struct event *event = &sim->db.before[i].event;
        if (event->kind == kind && sim_slot(event) == slot && (seq == 0 || event->seq == seq) && says(event, words))
            return event;
    }
    return NULL;
}

static const struct event *find(int slot, enum event_kind kind, uint64_t seq)
{
    return find_saying(slot, kind, seq, "");
}

static void check_state(const struct client *client, const struct call *told)
{
    struct str call = sim_call(client->slot);
    int slot = clients_slot(client);
    const struct event *response = find(slot, EVENT_TOOL_APPROVAL_RESPONSE, told->response_seq);
    if (told->response_seq && !response)
        sim_fail("told of a response to %.*s that is not there", STR_ARG(call));
    if (told->response_seq && response && response->seq > sim->db.synced && sim->epoch == 0)
        sim_fail("told of a response to %.*s that is not durable", STR_ARG(call));
    if (response && told->response_seq &&
        !find_saying(slot, EVENT_TOOL_APPROVAL_RESPONSE, told->response_seq, decision_name(told->decision)))
        sim_fail("told of another response to %.*s than there is", STR_ARG(call));
    if (told->status != CALL_UNKNOWN && !find(slot, EVENT_TOOL_CALL, told->call_seq))
        sim_fail("told of the call %.*s that is not there", STR_ARG(call));
}

static const struct row *find_row(const struct client *client, enum event_kind kind)
{
    return rows_find(sim_session(clients_slot(client)), sim_call(client->slot), kind);
}

/* What was acknowledged before this began binds it. */
static void check_recent(const struct client *client, const struct call *told)
{
    const struct row *row = find_row(client, EVENT_TOOL_APPROVAL_RESPONSE);
    if (row && row->event.seq <= client->acked && client->epoch == sim->epoch && told->status == CALL_AWAITING)
        sim_fail("%.*s awaits an answer that was acknowledged before", STR_ARG(sim_call(client->slot)));
}

static void check_ask(const struct client *client)
{
    const struct ask *ask = &client->ask;
    enum err_code code = gate_op_code(&ask->op);
    if (code == ERR_NOT_FOUND && client->kind == CLIENT_STATUS) {
        const struct row *row = find_row(client, EVENT_TOOL_CALL);
        if (row && row->event.seq <= client->acked && client->epoch == sim->epoch)
            sim_fail("%.*s is not found, and was acknowledged before", STR_ARG(row->event.call));
    }
    if (code != ERR_OK)
        return;
    check_state(client, ask->call);
    check_recent(client, ask->call);
    bool whole = !ask->brief || ask->call->status != CALL_AWAITING;
    if (whole && ask->call->status != CALL_UNKNOWN && !str_has(ask->call->input, sim_call(client->slot)))
        sim_fail("%.*s is told without its input", STR_ARG(sim_call(client->slot)));
    if (ask->call->status == CALL_AWAITING && ask->wait_ms && !ask->hung_up && sim->steady_us < ask->wait.time)
        sim_fail("a wait for %.*s ends before its time", STR_ARG(sim_call(client->slot)));
}

void check_done(const struct client *client)
{
    enum err_code code = gate_op_code(&client->op);
    struct str call = sim_call(client->slot);
    bool knows = client->epoch == sim->epoch && sim->nodes[client->node].epoch == sim->epoch;
    if (knows && (code == ERR_INTERNAL || code == ERR_CORRUPT)) /* a node that began before finds its history changed */
        sim_fail("an operation of kind %d ends with: %s", (int)client->kind, client->op.err->text);
    if (client->kind == CLIENT_ASK || client->kind == CLIENT_STATUS)
        check_ask(client);
    if (client->kind == CLIENT_DECIDE && (code == ERR_OK || code == ERR_ALREADY_DECIDED)) {
        check_state(client, &client->decide.call);
        bool by_rules = code == ERR_ALREADY_DECIDED && client->decide.call.by_policy;
        if (!by_rules && !find(clients_slot(client), EVENT_TOOL_APPROVAL_RESPONSE, 0))
            sim_fail("a decision on %.*s is acknowledged and not durable", STR_ARG(call));
    }
    if ((client->kind == CLIENT_REPORT || client->kind == CLIENT_EXECUTE) && code == ERR_OK &&
        !find(clients_slot(client), EVENT_TOOL_RESULT, 0))
        sim_fail("a result of %.*s is acknowledged and not durable", STR_ARG(call));
    if (client->kind == CLIENT_NOTE && code == ERR_OK && sim->epoch == 0 &&
        client->note.kept.event.seq > sim->db.synced)
        sim_fail("a message is acknowledged and not durable");
}

/* ---- followers ---- */

static bool is_same(const struct row *rows, size_t count, const struct event *event)
{
    return event->seq >= 1 && event->seq <= count && rows[event->seq - 1].event.kind == event->kind &&
           str_eq(rows[event->seq - 1].event.data, event->data) &&
           str_eq(rows[event->seq - 1].event.session, event->session);
}

static bool is_in_scope(const struct follower *follower, const struct event *event)
{
    const struct watched *w = &follower->watched;
    return (w->kinds == 0 || (w->kinds & (uint64_t)1 << event->kind)) &&
           (str_empty(w->session) || str_eq(w->session, event->session));
}

/* Nothing of its scope may have been left out, but what is in an archive. */
static void check_gap(const struct follower *follower, uint64_t until)
{
    for (uint64_t seq = follower->told + 1; seq < until && seq <= sim->db.count; seq++) {
        const struct row *row = &sim->db.rows[seq - 1];
        if (!row->gone && is_in_scope(follower, &row->event))
            sim_fail("follower %d was not told of %llu", (int)(follower - sim->followers), (unsigned long long)seq);
    }
}

void check_told(struct follower *follower, const struct event *event)
{
    bool now = is_same(sim->db.rows, sim->db.count, event);
    bool before = is_same(sim->db.before, sim->db.before_count, event);
    if (sim->trace)
        (void)printf("      follower %d at node %d is told of %llu\n", (int)(follower - sim->followers), follower->node,
                     (unsigned long long)event->seq);
    if (event->seq <= follower->told)
        sim_fail("a follower is told of %llu again", (unsigned long long)event->seq);
    else if (!now && !before)
        sim_fail("a follower is told of %llu, which is not there", (unsigned long long)event->seq);
    else if (now && sim->epoch == 0 && event->seq > sim->db.synced)
        sim_fail("a follower is told of %llu before it is durable", (unsigned long long)event->seq);
    follower->lost_told = follower->lost_told || !now;
    follower->new_told = follower->new_told || (now && !before && sim->db.before_count);
    if (follower->lost_told && follower->new_told)
        sim_fail("a follower is told of two histories");
    if (!follower->lost_told && follower->epoch == sim->epoch)
        check_gap(follower, event->seq);
    follower->told = event->seq;
}

/* ---- turns, and the end ---- */

/* Nobody waits for what this node was told of, and nobody beyond the time. */
void check_node(int number)
{
    const struct node *node = &sim->nodes[number];
    for (int i = 0; i < CLIENTS_MAX; i++) {
        const struct client *client = &sim->clients[i];
        bool asks = client->kind == CLIENT_ASK || client->kind == CLIENT_STATUS;
        if (!asks || client->node != number || client->op.step == NULL || !client->ask.parked)
            continue;
        const struct row *row = find_row(client, EVENT_TOOL_APPROVAL_RESPONSE);
        if (row && node->epoch == sim->epoch && row->event.seq <= node->gate->core.delivered)
            sim_fail("somebody waits for %.*s, which is answered", STR_ARG(row->event.call));
        if (client->ask.wait.time + SLACK_US < sim->steady_us)
            sim_fail("somebody waits for %.*s beyond the time", STR_ARG(sim_call(client->slot)));
    }
    messages_check_node(node);
}

static void check_chain(void)
{
    struct digest heads[SESSIONS + 2] = {0}; /* of the runs, and of no session */
    for (size_t i = 0; i < sim->db.count; i++) {
        const struct row *row = &sim->db.rows[i];
        int session = 0;
        while (session <= SESSIONS && !str_eq(row->event.session, sim_session(session * CALLS)))
            session++;
        heads[session] = chain_next(&heads[session], &row->event);
        if (!digest_eq(&heads[session], &row->hash))
            sim_fail("the chain is broken at %llu", (unsigned long long)row->event.seq);
    }
}

/* An append is kept whole. */
static void check_whole(int slot)
{
    const struct row *call = rows_find(sim_session(slot), sim_call(slot), EVENT_TOOL_CALL);
    if (call && says(&call->event, "\"effect\":\"ask\"") &&
        !rows_find(sim_session(slot), sim_call(slot), EVENT_TOOL_APPROVAL_REQUEST))
        sim_fail("%.*s is there without its request", STR_ARG(call->event.call));
}

static void check_open(int slot)
{
    const struct row *request = rows_find(sim_session(slot), sim_call(slot), EVENT_TOOL_APPROVAL_REQUEST);
    if (!request || request->gone)
        return;
    bool answered = rows_find(sim_session(slot), sim_call(slot), EVENT_TOOL_APPROVAL_RESPONSE) != NULL;
    if (!answered && says(&request->event, "\"deadline\""))
        sim_fail("the deadline of %.*s never fired", STR_ARG(request->event.call));
    for (unsigned n = 0; n < sim->node_count; n++) {
        bool open = core_open(&sim->nodes[n].gate->core, request->event.session, request->event.call) != NULL;
        if (open == answered)
            sim_fail("node %u sees %.*s as it is not", n, STR_ARG(request->event.call));
    }
}

/* After the calm phase: nothing is under way, everyone has been told, and what had a deadline has an answer. */
void check_end(void)
{
    for (int i = 0; i < CLIENTS_MAX; i++)
        if (sim->clients[i].kind != CLIENT_NONE)
            sim_fail("an operation never ended (kind %d, phase %u)", (int)sim->clients[i].kind,
                     sim->clients[i].op.phase);
    for (unsigned n = 0; n < sim->node_count; n++) {
        if (!sim->nodes[n].gate || !sim->nodes[n].ready)
            sim_fail("node %u is not ready", n);
        else if (sim->nodes[n].gate->core.delivered != sim->db.count)
            sim_fail("node %u was told of %llu events of %zu", n,
                     (unsigned long long)sim->nodes[n].gate->core.delivered, sim->db.count);
    }
    if (sim->failure[0])
        return;
    for (int i = 0; i < FOLLOWERS; i++)
        check_gap(&sim->followers[i], sim->db.count + 1);
    for (int slot = 0; slot < SLOTS; slot++) {
        check_whole(slot);
        check_open(slot);
    }
    messages_check_end();
    runs_check_end();
    check_chain();
}
