/* Runs of the simulated world, one per seed.
 *
 *     sim [--seeds N] [--from N]       N runs; the first that fails is named, exit status 1
 *     sim --seed N [--trace]           one run again, with all that was kept
 *     sim --mistakes                   makes each known mistake on purpose; each must be found
 *
 * Every step draws from a hash of seed and step, so that a run is the same whenever and wherever it is made, and steps
 * can be left out: a failure is shown with as few of them as still make it.
 */
#include "sim/sim.h"

#include "event/shapes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Every draw comes from the seed, the step and its number within the step: a step that is left out changes no other. */
uint64_t sim_random(struct world *world, uint64_t below)
{
    uint64_t x = world->seed * 0x9e3779b97f4a7c15 + world->step * 0xd1b54a32d192ed03;
    x += ++world->draws * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return (x ^ (x >> 31)) % below;
}

void sim_fail(struct world *world, const char *format, ...)
{
    va_list args;
    if (world->failure[0])
        return;
    va_start(args, format);
    (void)vsnprintf(world->failure, sizeof world->failure, format, args);
    va_end(args);
}

struct str slot_session(int slot) { return slot < CALLS ? STR("ses_a") : STR("ses_b"); }

struct str slot_call(int slot)
{
    static const char *const names[] = {"call_1", "call_2", "call_3", "call_4", "call_5"};
    return str_of(names[slot % CALLS]);
}

int slot_of(const struct event *event)
{
    for (int slot = 0; slot < SLOTS; slot++)
        if (str_eq(slot_session(slot), event->session) && str_eq(slot_call(slot), event->call))
            return slot;
    CHECK(false);
    return -1;
}

/* ---- what people and agents do ---- */

static void act_ask(struct world *world, int node, int slot)
{
    bool status = sim_random(world, 5) == 0;
    struct sim_op *op = op_new(world, status ? OP_STATUS : OP_ASK, node, slot);
    if (!op)
        return;
    op->ask.session = slot_session(slot);
    op->ask.id = slot_call(slot);
    op->ask.wait_ms = sim_random(world, 2) ? 1 + (int64_t)sim_random(world, 6000) : 0;
    op->ask.brief = sim_random(world, 3) == 0;
    op->ask.withdraws = sim_random(world, 4) == 0;
    op->op.step = ask_step;
    op->op.phase = status ? ASK_STATUS : ASK_BEGIN;
    if (!status) {
        const char *input = sim_random(world, 8) ? "{\"command\":\"make\"}" : "{\"command\":\"make all\"}";
        CHECK(rc_ok(json_parse(&op->arena, str_of(input), &op->ask.input, NULL)));
        op->ask.thread = STR("main");
        op->ask.name = STR("Bash");
        op->ask.actor = STR("agent");
    }
    op_step(world, op);
}

/* The mistake of a gate that answers what nobody asked. */
static void answer_unasked(struct world *world, int node, int slot)
{
    struct open open = {.session = slot_session(slot), .call = slot_call(slot), .thread = STR("main")};
    struct decide decide = {.decision = DECISION_DENY, .actor = STR("person")};
    struct append *append = decide_append(&decide, &open, node_now(world, node));
    append->needs[0] = append->needs[1];
    (void)flight_new(world, NULL, node, slot, append);
}

/* Also of a call that this node does not know as open: it may be behind, or the person may be. */
static void act_decide(struct world *world, int node, int slot)
{
    if (world->mistake == MISTAKE_NOT_REQUESTED)
        answer_unasked(world, node, slot);
    static const enum decision decisions[] = {DECISION_ALLOW_ONCE, DECISION_ALLOW_SESSION, DECISION_DENY,
                                              DECISION_ABORT, DECISION_CANCELLED};
    struct sim_op *op = op_new(world, OP_DECIDE, node, slot);
    if (!op)
        return;
    op->decide.session = slot_session(slot);
    op->decide.call_id = slot_call(slot);
    op->decide.actor = STR("person");
    op->decide.decision = decisions[sim_random(world, sizeof decisions / sizeof *decisions)];
    op->decide.mode = sim_random(world, 6) ? STR_NONE : STR("plan");
    op->decide.digest = sim_random(world, 8) ? STR_NONE : STR("of something else");
    op->op.step = decide_step;
    op_step(world, op);
}

static void act_report(struct world *world, int node, int slot)
{
    struct sim_op *op = op_new(world, OP_REPORT, node, slot);
    if (!op)
        return;
    op->report.session = slot_session(slot);
    op->report.call = slot_call(slot);
    op->report.actor = STR("agent");
    op->report.content = sim_random(world, 2) ? STR("\"a\"") : STR("\"b\"");
    op->op.step = report_step;
    op_step(world, op);
}

/* Sessions, rules, tokens and messages that others write; a run is claimed by whoever saw its last status. */
static void act_change(struct world *world, int number, int slot)
{
    struct node *node = &world->nodes[number];
    struct append *append = append_new();
    struct arena *arena = &append->arena;
    struct event event = {.at_ms = world->wall_ms, .session = slot_session(slot), .thread = STR("main"),
                          .actor = STR("admin")};
    switch (sim_random(world, 5)) {
    case 0:
        event.kind = EVENT_SESSION_CHANGED;
        event.data = DATA(arena, session_settings, .mode = STR("plan"), .timeout_seconds = -1);
        break;
    case 1:
    case 2:
        event.kind = sim_random(world, 2) ? EVENT_RULE_CHANGED : EVENT_TOKEN_CHANGED;
        event.session = event.thread = STR_NONE;
        event.data = event.kind == EVENT_RULE_CHANGED ? DATA(arena, rule_removed, .id = STR("rule_1"))
                                                      : DATA(arena, token_revoked, .id = STR("tok_1"));
        break;
    case 3:
        event.kind = EVENT_USER_MESSAGE;
        event.data = DATA(arena, user_message, .text = STR("hello"));
        break;
    default:
        event.kind = EVENT_RUN_STATUS;
        event.data = DATA(arena, run_status, .status = STR("running"), .iterations = -1);
        append_need(append, (struct need){.need = NEED_RUN_AT, .session = event.session, .call = event.thread,
                                          .seq = node->run_at[slot / CALLS]});
        if (world->mistake == MISTAKE_SECOND_RUN)
            append->need_count = 0;
    }
    (void)append_event(append, event);
    (void)flight_new(world, NULL, number, slot, append);
}

/* ---- what the world does ---- */

static void hand_back_one(struct world *world)
{
    for (int i = 0; i < FLIGHTS_MAX; i++) {
        struct flight *flight = &world->flights[i];
        if (!flight->append || !flight->committed || (!world->calm && sim_random(world, 2)))
            continue;
        node_hand_back(world, flight);
        return;
    }
}

/* Gives one operation what it waits for: a read, or a verdict. */
static void answer_one(struct world *world)
{
    for (int i = 0; i < OPS_MAX; i++) {
        struct sim_op *op = &world->ops[i];
        if (op->kind == OP_NONE || (!op->read && !op->judge) || (!world->calm && sim_random(world, 2)))
            continue;
        if (op->judge) {
            op_give_judgement(world, op);
            return;
        }
        struct read *read = store_answer(world, op->read);
        op->read = NULL;
        op->op.read = read;
        op_step(world, op);
        read_free(read);
        return;
    }
}

static void fault_one(struct world *world, int node)
{
    uint64_t which = sim_random(world, 6);
    struct sim_op *op = &world->ops[sim_random(world, OPS_MAX)];
    if (which == 0 && world->faults[FAULT_CRASH])
        node_restart(world, &world->nodes[node]);
    else if (which == 1 && world->faults[FAULT_CLOCK])
        world->nodes[node].skew_ms = (int64_t)sim_random(world, 8) * 400 - 1200;
    else if (which > 1 && world->faults[FAULT_HANG_UP] && (op->kind == OP_ASK || op->kind == OP_STATUS))
        op_hang_up(world, op);
}

static void one_step(struct world *world)
{
    int node = (int)sim_random(world, NODES), slot = (int)sim_random(world, SLOTS);
    uint64_t act = sim_random(world, 100), rows = world->faults[FAULT_SLOW] ? 3 : 8;
    if (!world->calm && act < 14)
        act_ask(world, node, slot);
    else if (!world->calm && act < 26)
        act_decide(world, node, slot);
    else if (!world->calm && act < 34)
        act_report(world, node, slot);
    else if (!world->calm && act < 39)
        act_change(world, node, slot);
    else if (!world->calm && act < 43)
        fault_one(world, node);
    else if (act < 55)
        store_commit_some(world);
    else if (act < 69)
        node_follow(world, &world->nodes[node], world->calm ? ROWS_MAX : sim_random(world, rows));
    else if (act < 81)
        hand_back_one(world);
    else if (act < 94)
        answer_one(world);
    else
        world->wall_ms += (int64_t)sim_random(world, 1500);
    node_fire(world, node);
}

static void clean(struct world *world)
{
    for (int i = 0; i < NODES; i++) {
        node_restart(world, &world->nodes[i]);
        node_done(&world->nodes[i]);
    }
    arena_done(&world->arena);
}

static void begin(struct world *world)
{
    for (int i = 0; i < FAULT_COUNT; i++)
        world->faults[i] = sim_random(world, 3) != 0;
    for (int i = 0; i < NODES; i++) {
        node_restart(world, &world->nodes[i]);
        world->nodes[i].restarted = false;
        world->nodes[i].skew_ms = (int64_t)sim_random(world, 3) * 200;
    }
}

struct wish {
    uint64_t seed;
    enum mistake mistake;
    bool trace;
    const bool *left_out;
};

/* The words of the failure; empty when all went well. */
static const char *run(struct world *world, struct wish wish)
{
    *world = (struct world){.seed = wish.seed, .mistake = wish.mistake, .trace = wish.trace, .left_out = wish.left_out,
                            .wall_ms = 1767323045000};
    begin(world);
    for (world->step = 1; world->step <= STEPS && !world->failure[0] && world->count < ROWS_MAX - 100; world->step++) {
        world->draws = 0;
        if (!world->left_out || !world->left_out[world->step])
            one_step(world);
    }
    world->calm = true;
    world->calm_until_ms = world->wall_ms + CALM_MS;
    for (int i = 0; i < CALM_STEPS && !world->failure[0]; i++, world->step++) {
        world->draws = 0;
        one_step(world);
    }
    if (!world->failure[0])
        check_end(world);
    clean(world);
    return world->failure;
}

/* ---- a failure, made smaller ---- */

/* Leaves out as many steps as it can while the same goes wrong; returns how many are left. */
static int shrink(struct world *world, struct wish wish, bool left_out[STEPS + 1])
{
    char words[sizeof world->failure];
    int kept = 0;
    (void)snprintf(words, sizeof words, "%.12s", world->failure);
    wish.trace = false;
    wish.left_out = left_out;
    for (int size = STEPS / 2; size; size /= 2) {
        for (int from = 1; from + size - 1 <= STEPS; from += size) {
            bool before[STEPS + 1];
            memcpy(before, left_out, sizeof before);
            memset(left_out + from, true, (size_t)size);
            if (strncmp(run(world, wish), words, strlen(words)) != 0)
                memcpy(left_out, before, sizeof before);
        }
    }
    for (int i = 1; i <= STEPS; i++)
        kept += !left_out[i];
    return kept;
}

static void show_failure(struct world *world, struct wish wish)
{
    static bool left_out[STEPS + 1];
    (void)printf("seed %llu: %s\n", (unsigned long long)wish.seed, world->failure);
    memset(left_out, 0, sizeof left_out);
    int kept = shrink(world, wish, left_out);
    wish.left_out = left_out;
    wish.trace = true;
    (void)printf("the same with %d of %d steps:\n", kept, STEPS);
    (void)printf("%s\n", run(world, wish));
}

static int find_mistakes(struct world *world)
{
    static const char *const words[] = {
#define X(name, words) words,
        MISTAKES(X)
#undef X
    };
    int missed = 0;
    for (int mistake = 1; mistake < MISTAKE_COUNT; mistake++) {
        uint64_t seed = 1;
        while (seed <= 400 && !run(world, (struct wish){.seed = seed, .mistake = (enum mistake)mistake})[0])
            seed++;
        bool found = seed <= 400;
        (void)printf("%-8s %s: %s\n", found ? "found" : "MISSED", words[mistake], found ? world->failure : "400 seeds");
        if (found)
            (void)printf("         seed %llu\n", (unsigned long long)seed);
        missed += !found;
    }
    return missed ? 1 : 0;
}

int main(int argc, char **argv)
{
    uint64_t seeds = 500, from = 1, one = 0;
    bool trace = false, mistakes = false;
    struct world *world = heap_new(sizeof *world);
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "0";
        trace = trace || strcmp(argv[i], "--trace") == 0;
        mistakes = mistakes || strcmp(argv[i], "--mistakes") == 0;
        if (strcmp(argv[i], "--seeds") == 0)
            (void)str_to_u64(str_of(value), &seeds);
        if (strcmp(argv[i], "--from") == 0)
            (void)str_to_u64(str_of(value), &from);
        if (strcmp(argv[i], "--seed") == 0)
            (void)str_to_u64(str_of(value), &one);
    }
    int status = mistakes ? find_mistakes(world) : 0;
    uint64_t rows = 0, ended = 0, first = one ? one : from, last = one ? one : from + seeds - 1;
    for (uint64_t seed = first; !mistakes && status == 0 && seed <= last; seed++) {
        struct wish wish = {.seed = seed, .trace = trace};
        status = run(world, wish)[0] != '\0';
        rows += world->count;
        for (int i = 0; i <= OP_REPORT; i++)
            ended += world->ended[i];
        if (status)
            show_failure(world, wish);
    }
    if (!mistakes && status == 0)
        (void)printf("%llu seeds, %llu operations, %llu events, nothing wrong\n",
                     (unsigned long long)(last - first + 1), (unsigned long long)ended, (unsigned long long)rows);
    free(world);
    return status;
}
