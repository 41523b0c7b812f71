/* Connections out of a box: judged like other calls, asked about, and kept.
 *
 * A connection is a call `Net {host, port, for}`. The rules on WebFetch that name a host speak of it, and rules on Net
 * itself; a permission mode, a rule on every tool or the policy file of a project does not open it. An address instead
 * of a name needs a rule that names exactly that address. Where no rule decides, a person is asked, once per session,
 * host and port; the connection waits NET_WAIT_MS for that.
 *
 * The proxy asks from its own threads (egress/egress.h) and sleeps until the loop has answered. It asks in slices of
 * NET_SLICE_MS, so that nobody sleeps long after the box has ended.
 */
#include "gate/inner.h"
#include "gate/nets.h"

#include "egress/egress.h"
#include "event/shapes.h"
#include "io/clock.h"
#include "io/work.h"
#include "tools/tools.h"

#include <stdio.h>
#include <stdlib.h>

enum { NET_WAIT_MS = 60000, NET_SLICE_MS = 500, NET_AGAIN_MAX = 8 };

/* ---- the verdict ---- */

/* A rule of a person's about hosts, of a layer that no agent writes. */
static bool opens(const struct verdict *verdict, const struct tool_facts *facts)
{
    if (verdict->effect != EFFECT_ALLOW || str_is(verdict->source, policy_layer_name(LAYER_PROJECT)))
        return false;
    if (!str_starts(verdict->rule, str_is(facts->name, "Net") ? STR("Net") : STR("WebFetch(")))
        return false;
    return !ANY(size_t i = 0; i < verdict->rule_count; i++, verdict->rules[i].layer == LAYER_PROJECT);
}

static bool is_address(struct str host)
{
    bool numbers = true;
    for (size_t i = 0; i < host.n; i++)
        numbers = numbers && (host.p[i] == '.' || (host.p[i] >= '0' && host.p[i] <= '9'));
    return numbers || str_is(host, "localhost") || str_ends(host, STR(".localhost"));
}

/* `Net(url:http://127.0.0.1:8080)` names its host, `Net(url:*)` does not. */
static bool names(struct arena *arena, const struct verdict *verdict, struct str host)
{
    return str_has(verdict->rule, arena_printf(arena, "://%.*s:", STR_ARG(host))) ||
           str_has(verdict->rule, arena_printf(arena, "://%.*s/", STR_ARG(host)));
}

/* The strictest of four questions counts: rules on Net and on WebFetch, by https and by http. */
struct verdict nets_judge(struct arena *arena, const struct question *question)
{
    static const char *const tools[] = {"Net", "WebFetch"}, *const schemes[] = {"https", "http"};
    struct str host = json_text(question->facts->input, "host");
    struct verdict allowed = {.effect = EFFECT_ASK}, asked = {.effect = EFFECT_ASK};
    for (int i = 0; i < 4; i++) {
        struct tool_facts facts = *question->facts;
        struct question each = *question;
        facts.name = str_of(tools[i / 2]);
        facts.url = tool_net_url(arena, facts.input, schemes[i % 2]);
        each.facts = &facts;
        each.hosts_alone = i / 2 == 1; /* a rule on all of WebFetch is about pages, not about connections of commands */
        struct verdict verdict = policy_judge(arena, &each);
        if (verdict.effect == EFFECT_DENY)
            return verdict;
        if (verdict.effect == EFFECT_ASK && (verdict.rule_count || str_is(verdict.source, "protected")) &&
            verdict.people >= asked.people)
            asked = verdict;
        if (opens(&verdict, &facts) && (!is_address(host) || names(arena, &verdict, host)))
            allowed = verdict;
    }
    if (is_address(host) && str_is(asked.source, "protected")) {
        asked.effect = EFFECT_DENY;
        return asked;
    }
    if (is_address(host) && allowed.effect != EFFECT_ALLOW)
        return (struct verdict){
            .effect = EFFECT_DENY, .source = STR("default"),
            .why = arena_printf(arena, "an address is reached only by a rule that names it, like "
                                       "Net(url:http://%.*s:PORT/*)", STR_ARG(host))};
    if (!str_empty(asked.source))
        return asked;
    if (allowed.effect == EFFECT_ALLOW)
        return allowed;
    return (struct verdict){.effect = EFFECT_ASK, .source = STR("default"),
                            .why = STR("it reaches the network from a box, and no rule names this host")};
}

/* ---- asking ---- */

/* The proxy's way to the gate for one box; owned by the proxy, which frees it with the box. */
struct net_host {
    struct egress_host host;
    struct gate *gate;
    char *session, *thread, *call, *actor;
};

/* One check of a connection: the rules' verdict and, where they ask, the state of the question. */
struct net_look {
    const struct net_host *net;
    const struct egress_target *target;
    struct arena arena;
    struct loop_call loop_call;
    struct session_look session;
    struct ask ask;
    unsigned again;           /* questions before it were withdrawn */
    bool decided, withdrawn;
    struct egress_verdict verdict;
};

/* The same connection of a session has the same call id, so that a person is asked once. `again` counts those
 * that were withdrawn before. */
static struct str id_of(struct arena *arena, const struct net_look *look)
{
    struct str id = arena_printf(arena, "net.%s.%u", look->target->host, look->target->port);
    if (id.n + 4 > LIMIT_ID_BYTES) {
        char hex[DIGEST_HEX_BYTES];
        struct digest digest = digest_of(id);
        digest_hex(&digest, hex);
        id = arena_printf(arena, "net.%.32s", hex);
    }
    return look->again ? arena_printf(arena, "%.*s.%u", STR_ARG(id), look->again + 1) : id;
}

static const struct json *input_of(struct net_look *look)
{
    const struct json *input = NULL;
    JSON_SCOPE(buf, out, LIMIT_BODY_BYTES);
    json_object(&out, J("host", look->target->host), J("port", look->target->port), J("for", look->net->call));
    CHECK(rc_ok(json_parse(&look->arena, arena_str(&look->arena, buf_str(&buf)), &input, NULL)));
    return input;
}

static void decide(struct net_look *look, bool allowed, struct str why)
{
    look->decided = true;
    look->verdict.allowed = allowed;
    if (why.n >= sizeof look->verdict.why)
        why.n = sizeof look->verdict.why - 1;
    if (why.n)
        memcpy(look->verdict.why, why.p, why.n);
}

/* The call was answered, or NET_SLICE_MS have passed without an answer: then look->decided stays false and judge()
 * asks again. */
static void asked(struct op *op)
{
    struct net_look *look = op->owner;
    struct ask *ask = &look->ask;
    if (gate_op_code(op) == ERR_CALL_DIFFERS) { /* another command of the session asked first */
        look->ask = (struct ask){.op = gate_op(&look->arena, asked, look), .session = ask->session, .id = ask->id,
                                 .wait_ms = NET_SLICE_MS};
        gate_status(look->net->gate, &look->ask);
        return;
    }
    if (op->err)
        decide(look, false, arena_str(&look->arena, str_of(op->err->text)));
    else if (call_allowed(ask->call))
        decide(look, true, STR_NONE);
    else if (ask->call->decision == DECISION_TIMEOUT || ask->call->decision == DECISION_CANCELLED)
        look->withdrawn = true;
    else if (ask->call->decision != DECISION_NONE)
        decide(look, false, arena_printf(&look->arena, "%s:%u was denied%s%.*s", look->target->host, look->target->port,
                                         str_empty(ask->call->feedback) ? "" : ": ", STR_ARG(ask->call->feedback)));
    loop_call_finish(&look->loop_call);
}

/* Rules first; only where they ask a call is made. */
static void judged(struct op *op)
{
    struct net_look *look = op->owner;
    const struct net_host *net = look->net;
    const struct session *session = look->session.session;
    if (op->err || !session) {
        decide(look, false, STR("the session cannot be read"));
        loop_call_finish(&look->loop_call);
        return;
    }
    const struct json *input = input_of(look);
    struct tool_facts facts = tool_facts_from(&look->arena, STR_NONE, STR("Net"), input);
    struct verdict verdict = gate_judge(net->gate, &look->arena, session, &facts, STR_NONE);
    if (verdict.effect != EFFECT_ASK) {
        look->verdict.private_too = look->target->is_address; /* a private address passes only by a rule naming it */
        decide(look, verdict.effect == EFFECT_ALLOW, verdict.why);
        loop_call_finish(&look->loop_call);
        return;
    }
    look->ask = (struct ask){.op = gate_op(&look->arena, asked, look), .session = str_of(net->session),
                             .thread = str_of(net->thread), .id = id_of(&look->arena, look), .name = STR("Net"),
                             .input = input, .actor = str_of(net->actor), .only_person = true,
                             .wait_ms = NET_SLICE_MS};
    gate_ask(net->gate, &look->ask);
}

static void start_look(struct loop_call *loop_call)
{
    struct net_look *look = loop_call->arg;
    look->session = (struct session_look){.op = gate_op(&look->arena, judged, look),
                                          .id = str_of(look->net->session)};
    gate_session(look->net->gate, &look->session);
}

/* In a thread of the proxy, which sleeps while the loop answers in slices. */
static void judge(struct egress_host *host, const struct egress_want *want, struct egress_verdict *ret_verdict)
{
    const struct net_host *net = (const struct net_host *)(const void *)host;
    int64_t until_us = clock_steady_us() + (int64_t)NET_WAIT_MS * 1000;
    unsigned again = 0;
    (void)snprintf(ret_verdict->why, sizeof ret_verdict->why,
                   "nobody has answered yet whether %.120s:%u may be reached; try again later", want->target->host,
                   want->target->port);
    while (clock_steady_us() < until_us && !atomic_load(want->ended) && again < NET_AGAIN_MAX) {
        struct net_look look = {.net = net, .target = want->target, .again = again};
        look.loop_call = (struct loop_call){.start = start_look, .arg = &look};
        work_call_loop(net->gate->workers, &look.loop_call);
        arena_done(&look.arena);
        if (look.decided) {
            *ret_verdict = look.verdict;
            return;
        }
        again += look.withdrawn;
    }
}

/* ---- keeping ---- */

/* Lent by a thread of the proxy, which waits until the loop has stored the event. */
struct net_note {
    const struct net_host *net;
    const struct egress_use *use;
    struct loop_call loop_call;
    bool kept;
};

static void note_kept(struct append *append)
{
    struct net_note *note = append->arg;
    note->kept = append->outcome == APPEND_KEPT;
    append_free(append);
    loop_call_finish(&note->loop_call);
}

/* On the loop: keeps an EGRESS event for a connection that was opened, refused or closed. */
static void start_note(struct loop_call *loop_call)
{
    static const char *const states[] = {[EGRESS_OPENED] = "opened", [EGRESS_REFUSED] = "refused",
                                         [EGRESS_CLOSED] = "closed"};
    struct net_note *note = loop_call->arg;
    const struct net_host *net = note->net;
    const struct egress_use *use = note->use;
    struct append *append = append_new();
    struct arena *arena = &append->arena;
    (void)append_event(append, (struct event){
        .kind = EVENT_EGRESS,
        .at_ms = clock_wall_ms(),
        .session = arena_str(arena, str_of(net->session)),
        .thread = arena_str(arena, str_of(net->thread)),
        .actor = STR("nod"),
        .data = DATA(arena, egress, .call = str_of(net->call), .host = str_of(use->target.host),
                     .port = use->target.port, .state = str_of(states[use->state]), .why = str_of(use->why),
                     .connections = (int64_t)use->connections, .up = (int64_t)use->up, .down = (int64_t)use->down)});
    append->done = note_kept;
    append->arg = note;
    store_append(net->gate->store, append);
}

static bool keep(struct egress_host *host, const struct egress_use *use)
{
    const struct net_host *net = (const struct net_host *)(const void *)host;
    struct net_note note = {.net = net, .use = use};
    note.loop_call = (struct loop_call){.start = start_note, .arg = &note};
    work_call_loop(net->gate->workers, &note.loop_call);
    return note.kept;
}

/* ---- one box ---- */

static void release(struct egress_host *host)
{
    struct net_host *net = (struct net_host *)(void *)host;
    free(net->session);
    free(net->thread);
    free(net->call);
    free(net->actor);
    free(net);
}

static char *copy(struct str text)
{
    char *c = heap_new(text.n + 1);
    if (text.n)
        memcpy(c, text.p, text.n);
    return c;
}

struct egress_host *nets_host(struct gate *gate, struct str session, struct str thread, struct str call,
                              struct str actor)
{
    struct net_host *net = heap_new(sizeof *net);
    *net = (struct net_host){.host = {.judge = judge, .keep = keep, .release = release}, .gate = gate,
                             .session = copy(session), .thread = copy(thread), .call = copy(call),
                             .actor = copy(actor)};
    return &net->host;
}
