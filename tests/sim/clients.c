/* Agents, people and administrators: what they want of a node, by gate.h alone. Few sessions, calls and tokens, so that
 * everything meets. Each begins by showing its token, as api/ does: one that the node does not know may have been made
 * at another, so the node catches up before it refuses. */
#include "gate/inner.h"
#include "sim/sim.h"

#include "api/right.h"

#include "event/shapes.h"

#include <stdio.h>
#include <stdlib.h>

static struct gate *gate_of(const struct client *client) { return sim->nodes[client->node].gate; }

/* ---- the end of one ---- */

void clients_free(struct client *client)
{
    struct arena arena = client->arena;
    arena_done(&arena);
    *client = (struct client){.kind = CLIENT_NONE};
}

static void note_acked(uint64_t seq)
{
    if (seq > sim->acked && seq <= sim->db.count)
        sim->acked = seq;
}

static void note_answer(struct client *client)
{
    struct token_known *token = &sim->tokens[client->by];
    if (client->op.err)
        return;
    if (client->kind == CLIENT_ASK)
        note_acked(client->ask.call->call_seq);
    if (client->kind == CLIENT_ASK || client->kind == CLIENT_STATUS)
        note_acked(client->ask.call->response_seq);
    if (client->kind == CLIENT_DECIDE)
        note_acked(client->decide.call.response_seq);
    if (client->kind == CLIENT_TOKEN && client->token.role != ROLE_NONE) {
        (void)snprintf(token->id, sizeof token->id, "%.*s", STR_ARG(client->token.id));
        token->made = true;
        token->revoking = false;
        token->epoch = client->epoch;
    }
}

static void trace(const struct client *client, const char *what)
{
    static const char *const kinds[CLIENT_KINDS] = {"", "ask", "status", "decide", "report", "execute", "note",
                                                    "session", "rule", "token", "catch-up", "keep", "run",
                                                    "run-decide"};
    if (sim->trace)
        (void)printf("      %s of %.*s %.*s at node %d %s%s%s\n", kinds[client->kind],
                     STR_ARG(sim_session(client->slot)), STR_ARG(sim_call(client->slot)), client->node, what,
                     client->op.err ? ": " : "", client->op.err ? client->op.err->text : "");
}

/* When the call was named alone, the session was filled in as soon as it was found. */
int clients_slot(const struct client *client)
{
    struct str session = client->kind == CLIENT_STATUS   ? client->ask.session
                         : client->kind == CLIENT_DECIDE ? client->decide.session
                         : client->kind == CLIENT_REPORT ? client->report.session : STR_NONE;
    int slot = sim_slot(&(struct event){.session = session, .call = sim_call(client->slot)});
    return slot >= 0 ? slot : client->slot;
}

static void client_done(struct op *op)
{
    struct client *client = op->owner;
    trace(client, "ends");
    if (!sim->nodes[client->node].dead) {
        check_done(client);
        note_answer(client);
        sim->ended++;
    }
    clients_free(client);
}

bool clients_open(int node)
{
    for (int i = 0; i < CLIENTS_MAX; i++)
        if (sim->clients[i].kind != CLIENT_NONE && sim->clients[i].node == node)
            return true;
    return false;
}

void clients_hang_up(int number)
{
    struct client *client = &sim->clients[number];
    bool asks = client->kind == CLIENT_ASK || client->kind == CLIENT_STATUS;
    if (!asks || client->op.step == NULL)
        return;
    sim->at = client->node;
    if (gate_forget(&client->ask))
        clients_free(client);
}

void clients_leave(int node)
{
    for (int i = 0; i < CLIENTS_MAX; i++)
        if (sim->clients[i].node == node)
            clients_hang_up(i);
}

/* ---- the beginning ---- */

struct client *clients_new(enum client_kind kind, int node, int slot)
{
    for (int i = 0; i < CLIENTS_MAX; i++) {
        struct client *client = &sim->clients[i];
        if (client->kind != CLIENT_NONE)
            continue;
        *client = (struct client){.kind = kind, .node = node, .slot = slot, .acked = sim->acked, .epoch = sim->epoch};
        return client;
    }
    return NULL;
}

static struct op op_of(struct client *client) { return gate_op(&client->arena, client_done, client); }

static void show_token(struct client *client);

static void caught_up(struct op *op)
{
    struct client *client = op->owner;
    if (sim->nodes[client->node].dead || op->err) {
        clients_free(client);
        return;
    }
    client->caught_up = true;
    show_token(client);
}

static void show_token(struct client *client)
{
    struct gate *gate = gate_of(client);
    struct str id = str_of(sim->tokens[client->by].id);
    const struct token *token = gate_token_by_id(gate, id);
    if (token) {
        trace(client, "begins");
        client->go(client);
    } else if (client->caught_up || !gate_is_shared(gate)) {
        const struct token_known *known = &sim->tokens[client->by];
        if (client->told_of_token && known->epoch == sim->epoch && !known->revoking)
            sim_fail("token %.*s was made, and node %d does not know it", STR_ARG(id), client->node);
        clients_free(client);
    } else {
        client->op = gate_op(&client->arena, caught_up, client);
        gate_catch_up(gate, &client->op);
    }
}

static void begin(enum client_kind kind, int node, int slot, bool person, void (*go)(struct client *client))
{
    int by = (int)sim_random(TOKENS / 2) * 2 + person;
    struct client *client = sim->tokens[by].made ? clients_new(kind, node, slot) : NULL;
    if (!client)
        return;
    client->by = by;
    client->told_of_token = !sim->tokens[by].revoking;
    client->go = go;
    show_token(client);
}

/* ---- agents ---- */

static struct str by_id(const struct client *client)
{
    return str_of(sim->tokens[client->by].id);
}

static struct str by_name(const struct client *client) { return str_of(sim->tokens[client->by].name); }

static const struct json *input_of(struct client *client, uint64_t number)
{
    const struct json *input = NULL;
    struct str text = arena_printf(&client->arena, "{\"call\":\"%.*s\",\"n\":%llu}", STR_ARG(sim_call(client->slot)),
                                   (unsigned long long)number);
    CHECK(rc_ok(json_parse(&client->arena, text, &input, NULL)));
    return input;
}

/* As api/ does when a wait begins: the whole call, or only its input. */
static void let_go(struct ask *ask)
{
    uint64_t what = sim_random(3);
    ask->reread = ask->reread || what;
    if (what == 1)
        ask->call->input = STR_NONE;
    if (what == 2)
        ask->call = NULL;
}

/* A person may name the call alone: it is looked for in the store, and much may happen meanwhile. */
static struct op op_of_call(struct client *client, struct str *ret_session)
{
    struct op op = op_of(client);
    const struct token *token = gate_token_by_id(gate_of(client), by_id(client));
    if ((token->scopes & SCOPE_SEE_ALL) && sim_random(3) == 0)
        op.viewer = token;
    *ret_session = op.viewer ? STR_NONE : sim_session(client->slot);
    return op;
}

static void go_ask(struct client *client)
{
    struct str tool = sim_tool(client->slot);
    bool shows = str_is(tool, "Paint");
    client->ask = (struct ask){
        .op = op_of(client), .session = sim_session(client->slot), .thread = sim_thread(client->slot),
        .id = sim_call(client->slot), .name = tool, .input = input_of(client, sim_random(12) == 0),
        .actor = by_name(client), .by = by_id(client),
        .wait_ms = sim_random(2) ? 1 + (int64_t)sim_random(6000) : 0, .brief = sim_random(3) == 0,
        .withdraws = sim_random(4) == 0, .waits = let_go,
    };
    if (shows) {
        client->ask.files = arena_printf(&client->arena, "version %d", sim->files);
        client->ask.preview = STR("{}");
    }
    gate_ask(gate_of(client), &client->ask);
}

static void go_status(struct client *client)
{
    struct str session;
    struct op op = op_of_call(client, &session);
    client->ask = (struct ask){.op = op, .session = session, .id = sim_call(client->slot),
                               .wait_ms = sim_random(2) ? 1 + (int64_t)sim_random(6000) : 0,
                               .brief = sim_random(3) == 0, .waits = let_go};
    gate_status(gate_of(client), &client->ask);
}

static void go_report(struct client *client)
{
    struct str session;
    struct op op = op_of_call(client, &session);
    client->report = (struct report){.op = op, .session = session,
                                     .call = sim_call(client->slot), .actor = by_name(client),
                                     .content = sim_random(2) ? STR("\"a\"") : STR("\"b\"")};
    gate_report(gate_of(client), &client->report);
}

/* The agent of our own does what was allowed. */
static void go_execute(struct client *client)
{
    client->execute = (struct execute){.op = op_of(client), .session = sim_session(client->slot),
                                       .call = sim_call(client->slot), .actor = by_name(client)};
    gate_execute(gate_of(client), &client->execute);
}

/* The person who has a route puts a waiting call off for some seconds, or it is assigned to them. */
static void go_mark(struct client *client, uint64_t id)
{
    client->mark = (struct mark){.op = op_of(client), .session = sim_session(client->slot),
                                 .thread = sim_thread(client->slot), .call = sim_call(client->slot),
                                 .actor = STR("boss"), .by = by_id(client),
                                 .until_ms = id % 3 ? sim->wall_ms + (int64_t)(id % 20) * 1000 : 0,
                                 .person = id % 4 == 0 ? STR("boss") : STR("")};
    if (id % 2)
        gate_snooze(gate_of(client), &client->mark);
    else
        gate_assign(gate_of(client), &client->mark);
}

/* Every second note is a mark, if the call was asked. */
static void go_note(struct client *client)
{
    uint64_t id = ++sim->ids;
    if (id % 2 && rows_find(sim_session(client->slot), sim_call(client->slot), EVENT_TOOL_APPROVAL_REQUEST)) {
        go_mark(client, id / 2);
        return;
    }
    client->note = (struct note){.op = op_of(client), .session = sim_session(client->slot),
                                 .thread = sim_thread(client->slot), .actor = by_name(client),
                                 .kind = EVENT_USER_MESSAGE,
                                 .data = arena_printf(&client->arena, "{\"text\":\"hello %llu\"}",
                                                      (unsigned long long)id)};
    gate_note(gate_of(client), &client->note);
}

/* ---- people ---- */

/* As for every request that answers a call (api/): agents have not the right. */
static bool may_decide(const struct client *client)
{
    const struct token *token = gate_token_by_id(gate_of(client), by_id(client));
    struct err err;
    return sim->mistake == MISTAKE_AGENT_DECIDES ||
           rc_ok(auth_allow(token, (struct right){SCOPE_DECIDE, BOUND_HERE}, &err));
}

/* A person answers a call of Nod's own agent. */
static void go_decide_run(struct client *client)
{
    struct str call = arena_str(&client->arena, runs_open_call());
    if (!call.n) {
        clients_free(client);
        return;
    }
    uint64_t which = sim_random(10);
    client->decide = (struct decide){.op = op_of(client), .session = sim_session(SLOTS), .call_id = call,
                                     .decision = which == 0   ? DECISION_ABORT
                                                 : which == 1 ? DECISION_DENY : DECISION_ALLOW_ONCE,
                                     .actor = by_name(client), .by = by_id(client), .reach = DECIDE_EVERYWHERE};
    gate_decide(gate_of(client), &client->decide);
}

static void go_decide(struct client *client)
{
    if (!may_decide(client)) {
        clients_free(client);
        return;
    }
    static const enum decision decisions[] = {DECISION_ALLOW_ONCE, DECISION_ALLOW_SESSION, DECISION_ALLOW_ALWAYS,
                                              DECISION_DENY, DECISION_ABORT, DECISION_CANCELLED};
    enum decision decision = decisions[sim_random(sizeof decisions / sizeof *decisions)];
    struct str session;
    struct op op = op_of_call(client, &session);
    client->decide = (struct decide){
        .op = op, .session = session, .call_id = sim_call(client->slot),
        .decision = decision, .actor = by_name(client), .by = by_id(client),
        .mode = sim_random(6) ? STR_NONE : STR("acceptEdits"),
        .digest = sim_random(8) ? STR_NONE : STR("of something else"),
        .reach = DECIDE_EVERYWHERE,
    };
    if (decision == DECISION_ALLOW_ALWAYS)
        client->decide.rules = arena_printf(&client->arena, "[\"%.*s\"]", STR_ARG(sim_tool(client->slot)));
    if (decision == DECISION_ALLOW_ONCE && sim_random(6) == 0)
        client->decide.updated_input = input_of(client, 7);
    gate_decide(gate_of(client), &client->decide);
}

static void go_session(struct client *client)
{
    static const char *const policies[] = {"{\"Dig\":\"allow\"}", "{\"Dig\":\"deny\"}", "{\"Dig\":null}"};
    uint64_t which = sim_random(6);
    struct str data = which < 3 ? DATA(&client->arena, session_settings, .policies = str_of(policies[which]),
                                       .timeout_seconds = -1)
                                : DATA(&client->arena, session_settings, .timeout_seconds = (int64_t)(which - 3) * 4);
    client->session = (struct session_change){.op = op_of(client), .id = sim_session(client->slot),
                                              .thread = sim_thread(client->slot), .actor = by_name(client),
                                              .data = data};
    gate_change_session(gate_of(client), &client->session);
}

static struct str new_rule(struct client *client)
{
    static const char *const tools[] = {"Dig", "Fell", "Plant"};
    const struct json *object = NULL;
    struct rule_source source;
    struct str json = STR_NONE;
    bool counted = sim_random(3) == 0;
    struct str text = arena_printf(&client->arena, "{\"effect\":\"%s\",\"rule\":\"%s\",\"scope\":\"everywhere\"%s}",
                                   counted || sim_random(2) ? "allow" : "deny", counted ? "Sow" : tools[sim_random(3)],
                                   counted ? ",\"uses\":2" : "");
    CHECK(rc_ok(json_parse(&client->arena, text, &object, NULL)));
    CHECK(rc_ok(gate_prepare_rule(&client->arena, object, &json, &source, NULL)));
    return json;
}

static void go_rule(struct client *client)
{
    size_t count;
    const struct str *ids = gate_user_rule_ids(gate_of(client), &client->arena, &count);
    client->rule = (struct rule_change){.op = op_of(client), .change = STR("removed"), .actor = by_name(client)};
    if (count && sim_random(2)) {
        client->rule.id = ids[sim_random(count)];
    } else {
        client->rule.change = STR("added");
        client->rule.rule = new_rule(client);
    }
    gate_change_rule(gate_of(client), &client->rule);
}

/* ---- whoever runs it ---- */

/* Makes the session, or the token; of a token that was made: revokes it. */
void clients_make_session(int node, int slot)
{
    struct client *client = clients_new(CLIENT_SESSION, node, slot);
    if (!client)
        return;
    struct data_session_created *created = arena_new(&client->arena, struct data_session_created);
    *created = (struct data_session_created){.title = STR("a garden"), .cwd = STR("/garden"),
                                             .timeout_seconds = (int64_t)sim_random(3) * 4};
    client->session = (struct session_change){.op = op_of(client), .new_id = sim_session(slot), .created = created,
                                              .actor = STR("admin")};
    gate_change_session(gate_of(client), &client->session);
}

static void change_token(int node, int by)
{
    struct token_known *token = &sim->tokens[by];
    struct client *client = NULL;
    if (token->revoking && !token->made)
        return; /* somebody makes it */
    if (token->made && sim_random(8))
        return;
    client = clients_new(CLIENT_TOKEN, node, 0);
    if (!client)
        return;
    client->by = by;
    token->revoking = true;
    client->token = (struct token_change){.op = op_of(client), .name = str_of(token->name), .actor = STR("admin"),
                                          .role = by % 2 ? ROLE_APPROVER : ROLE_AGENT};
    if (token->made)
        client->token = (struct token_change){.op = op_of(client), .id = str_of(token->id), .actor = STR("admin")};
    gate_change_token(gate_of(client), &client->token);
}

static void kept(struct append *append)
{
    struct client *client = append->arg;
    append_free(append);
    clients_free(client);
}

static void keep(int node, struct append *append)
{
    struct client *client = clients_new(CLIENT_KEEP, node, 0);
    if (!client) {
        append_free(append);
        return;
    }
    append->done = kept;
    append->arg = client;
    gate_keep(gate_of(client), append);
}

/* What archive.c does when the file is written: the session leaves if nothing has happened in it since. */
static void archive(int node, int slot)
{
    struct archived archived = {.file = STR("a.nodarchive")};
    const struct row *last = NULL;
    for (size_t i = 0; i < sim->db.count; i++) {
        const struct row *row = &sim->db.rows[i];
        if (!str_eq(row->event.session, sim_session(slot)))
            continue;
        last = row;
        archived.events++;
        archived.calls += row->event.kind == EVENT_TOOL_CALL;
        if (row->event.kind == EVENT_TOOL_APPROVAL_REQUEST &&
            !rows_find(row->event.session, row->event.call, EVENT_TOOL_APPROVAL_RESPONSE))
            return; /* it is not finished */
    }
    if (!last || last->event.kind == EVENT_SESSION_ARCHIVED)
        return;
    archived.first_seq = last->chain;
    archived.last_seq = last->event.seq;
    archived.hash = last->hash;
    struct append *append = append_new();
    append_need(append, (struct need){.need = NEED_LAST_AT, .session = sim_session(slot), .seq = archived.last_seq});
    (void)append_event(append, (struct event){.kind = EVENT_SESSION_ARCHIVED, .at_ms = sim->wall_ms,
                                              .session = sim_session(slot), .actor = STR("admin"),
                                              .data = archived_data(&append->arena, &archived)});
    keep(node, append);
}

void clients_act(int node)
{
    int slot = (int)sim_random(SLOTS);
    uint64_t act = sim_random(100);
    sim->at = node;
    if (act < 23)
        begin(CLIENT_ASK, node, slot, false, go_ask);
    else if (act < 28)
        begin(CLIENT_STATUS, node, slot, sim_random(2), go_status);
    else if (act < 46)
        begin(CLIENT_DECIDE, node, slot, sim_random(8) != 0, go_decide);
    else if (act < 51)
        begin(CLIENT_REPORT, node, slot, sim_random(4) == 0, go_report);
    else if (act < 60)
        begin(CLIENT_EXECUTE, node, slot, false, go_execute);
    else if (act < 63)
        begin(CLIENT_NOTE, node, slot, false, go_note);
    else if (act < 67)
        begin(CLIENT_SESSION, node, slot, true, go_session);
    else if (act < 73)
        begin(CLIENT_RULE, node, slot, true, go_rule);
    else if (act < 79)
        runs_act(node);
    else if (act < 86)
        begin(CLIENT_RUN_DECIDE, node, SLOTS, true, go_decide_run);
    else if (act < 91)
        clients_make_session(node, slot);
    else if (act < 96)
        change_token(node, (int)sim_random(TOKENS));
    else if (act < 98)
        sim->files++;
    else
        archive(node, slot);
    node_turn(node);
}

/* ---- followers ---- */

static bool lags(const struct watcher *watcher)
{
    const struct follower *follower = watcher->arg;
    return follower->lagging;
}

static void tell(struct watcher *watcher, struct happening *happening) { check_told(watcher->arg, happening->event); }
static void wants_more(struct watcher *watcher) { (void)watcher; } /* it asks when its turn comes */

static void connect(struct follower *follower, int number, int node)
{
    static const uint64_t kinds[FOLLOWERS] = {[2] = (uint64_t)1 << EVENT_TOOL_APPROVAL_RESPONSE};
    if (follower->epoch != sim->epoch && follower->told > sim->db.kept_count)
        follower->told = sim->db.kept_count; /* it was told of what is lost, and begins anew */
    follower->epoch = sim->epoch;
    follower->lost_told = follower->new_told = follower->lagging = false;
    follower->node = node;
    follower->watched = (struct watched){.session = number % 2 ? sim_session((number / 2) * CALLS) : STR_NONE,
                                         .kinds = kinds[number], .tell = tell, .lags = lags, .caught_up = wants_more};
    follower->watcher = (struct watcher){.what = &follower->watched, .after = follower->told, .arg = follower};
    gate_watch(sim->nodes[node].gate, &follower->watcher);
}

static void disconnect(struct follower *follower)
{
    gate_unwatch(&follower->watcher);
    follower->node = -1;
}

void followers_act(int number)
{
    struct follower *follower = &sim->followers[number];
    int node = (int)sim_random(sim->node_count);
    if (follower->node < 0) {
        if (sim->nodes[node].gate && sim->nodes[node].ready && !sim->nodes[node].broken)
            connect(follower, number, node);
        return;
    }
    sim->at = follower->node;
    if (!sim->calm && sim_random(12) == 0)
        disconnect(follower);
    else if (!follower->watcher.live) {
        follower->lagging = false;
        gate_watch_more(&follower->watcher);
    } else if (!sim->calm)
        follower->lagging = sim_luck(FAULT_SLOW, 3);
}

void followers_leave(int node)
{
    for (int i = 0; i < FOLLOWERS; i++)
        if (sim->followers[i].node == node)
            disconnect(&sim->followers[i]);
}
