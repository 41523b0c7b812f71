/* Runs of the simulated world, one per seed.
 *
 *     sim [--seeds N] [--from N]       N runs; the first that fails is named, exit status 1
 *     sim --seed N [--trace]           one run again, with all that was kept
 *     sim --mistakes                   makes each known mistake on purpose; each must be found
 *
 * Every step draws from a hash of seed and step, so that a run is the same whenever and wherever it is made.
 */
#include "sim/sim.h"

#include "event/shapes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

uint64_t sim_random(struct world *world, uint64_t below)
{
    uint64_t x = world->seed * 0x9e3779b97f4a7c15 + ++world->steps * 0xbf58476d1ce4e5b9;
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

static void act_ask(struct world *world, int number, int slot)
{
    ARENA_SCOPE(arena);
    struct node *node = &world->nodes[number];
    const struct json *input = NULL;
    CHECK(rc_ok(json_parse(&arena, STR("{\"command\":\"make\"}"), &input, NULL)));
    struct session session = {.changed_seq = node->changed[slot / CALLS],
                              .timeout_seconds = (int64_t)sim_random(world, 3) * 4};
    uint64_t luck = sim_random(world, 10);
    struct verdict verdict = {.effect = luck < 7 ? EFFECT_ASK : luck < 9 ? EFFECT_ALLOW : EFFECT_DENY,
                              .source = STR("default"), .why = STR("because")};
    struct ask ask = {.op = {.arena = &arena}, .session = slot_session(slot), .thread = STR("main"),
                      .id = slot_call(slot), .name = STR("Bash"), .input = input, .actor = STR("agent")};
    struct append *append =
        core_call_append(&ask, &session, &verdict, (struct now){.wall_ms = world->wall_ms + node->skew_ms});
    if (world->mistake == MISTAKE_OLD_VERDICT)
        append->need_count = 1;
    if (world->mistake == MISTAKE_SECOND_CALL)
        append->needs[0] = append->needs[1];
    struct flight *flight = flight_new(world, FLIGHT_CALL, number, slot, append);
    if (flight)
        flight->judged_at = session.changed_seq;
}

/* Also of a call that this node does not know as open: it may be behind, or the person may be. */
static void act_decide(struct world *world, int number, int slot)
{
    static const enum decision decisions[] = {DECISION_ALLOW_ONCE, DECISION_ALLOW_SESSION, DECISION_DENY,
                                              DECISION_ABORT, DECISION_CANCELLED};
    struct open unseen = {.session = slot_session(slot), .call = slot_call(slot), .thread = STR("main"),
                          .name = STR("Bash")};
    struct open *open = world->nodes[number].open[slot] ? world->nodes[number].open[slot] : &unseen;
    struct decide decide = {.session = open->session, .call_id = open->call, .actor = STR("person"),
                            .decision = decisions[sim_random(world, sizeof decisions / sizeof *decisions)]};
    struct append *append = core_response_append(&decide, open, (struct now){.wall_ms = world->wall_ms});
    if (world->mistake == MISTAKE_SECOND_RESPONSE)
        append->need_count = 1;
    if (world->mistake == MISTAKE_NOT_REQUESTED)
        append->needs[0] = append->needs[1];
    (void)flight_new(world, FLIGHT_RESPONSE, number, slot, append);
}

static void act_report(struct world *world, int number, int slot)
{
    for (int i = 0; i < REPORTS_MAX; i++) {
        struct sim_report *report = &world->reports[i];
        if (report->busy)
            continue;
        *report = (struct sim_report){.node = number, .slot = slot, .busy = true};
        report->report = (struct report){.op = {.step = report_step, .arena = &report->arena},
                                         .session = slot_session(slot), .call = slot_call(slot),
                                         .actor = STR("agent"),
                                         .content = sim_random(world, 2) ? STR("\"a\"") : STR("\"b\"")};
        report_move(world, report);
        return;
    }
}

static void act_change(struct world *world, int number, int slot)
{
    struct append *append = append_new();
    (void)append_event(append, (struct event){.kind = EVENT_SESSION_CHANGED, .at_ms = world->wall_ms,
                                              .session = slot_session(slot), .actor = STR("admin"),
                                              .data = DATA(&append->arena, session_settings, .mode = STR("plan"),
                                                           .timeout_seconds = -1)});
    (void)flight_new(world, FLIGHT_CHANGE, number, slot, append);
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

static void answer_one(struct world *world)
{
    for (int i = 0; i < REPORTS_MAX; i++) {
        struct sim_report *report = &world->reports[i];
        if (!report->busy || !report->read || (!world->calm && sim_random(world, 2)))
            continue;
        struct read *read = store_answer(world, report->read);
        report->read = NULL;
        report->report.op.read = read;
        report_move(world, report);
        read_free(read);
        return;
    }
}

static void one_step(struct world *world)
{
    int node = (int)sim_random(world, NODES), slot = (int)sim_random(world, SLOTS);
    uint64_t act = sim_random(world, 100);
    if (!world->calm && act < 14)
        act_ask(world, node, slot);
    else if (!world->calm && act < 28)
        act_decide(world, node, slot);
    else if (!world->calm && act < 38)
        act_report(world, node, slot);
    else if (!world->calm && act < 42)
        act_change(world, node, slot);
    else if (!world->calm && act < 44)
        node_restart(world, &world->nodes[node]);
    else if (act < 58)
        store_commit_some(world);
    else if (act < 72)
        node_follow(world, &world->nodes[node], world->calm ? ROWS_MAX : sim_random(world, 5));
    else if (act < 84)
        hand_back_one(world);
    else if (act < 94)
        answer_one(world);
    else
        world->wall_ms += (int64_t)sim_random(world, 1500);
    node_fire(world, node);
}

static void clean(struct world *world)
{
    for (int i = 0; i < NODES; i++)
        node_restart(world, &world->nodes[i]);
    for (int i = 0; i < NODES; i++) {
        due_done(&world->nodes[i].due);
        arena_done(&world->nodes[i].arena);
    }
    arena_done(&world->arena);
}

/* The words of the failure; empty when all went well. */
static const char *run(struct world *world, uint64_t seed, enum mistake mistake, bool trace)
{
    *world = (struct world){.seed = seed, .mistake = mistake, .trace = trace, .wall_ms = 1767323045000};
    for (int i = 0; i < NODES; i++)
        world->nodes[i].skew_ms = (int64_t)sim_random(world, 3) * 200;
    for (int i = 0; i < STEPS && !world->failure[0] && world->count < ROWS_MAX - 100; i++)
        one_step(world);
    world->calm = true;
    for (int i = 0; i < CALM_STEPS && !world->failure[0]; i++)
        one_step(world);
    if (!world->failure[0])
        check_end(world);
    clean(world);
    return world->failure;
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
        while (seed <= 400 && !run(world, seed, (enum mistake)mistake, false)[0])
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
    uint64_t rows = 0, first = one ? one : from, last = one ? one : from + seeds - 1;
    for (uint64_t seed = first; !mistakes && status == 0 && seed <= last; seed++) {
        const char *failure = run(world, seed, MISTAKE_NONE, trace);
        rows += world->count;
        if (failure[0]) {
            (void)printf("seed %llu: %s\n", (unsigned long long)seed, failure);
            status = 1;
        }
    }
    if (!mistakes && status == 0)
        (void)printf("%llu seeds, %llu events, nothing wrong\n", (unsigned long long)(last - first + 1),
                     (unsigned long long)rows);
    free(world);
    return status;
}
