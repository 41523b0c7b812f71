/* Runs of the simulated world, one per seed.
 *
 *     sim [--seeds N] [--from N]       N runs; the first that fails is named, exit status 1, and made smaller
 *                                      unless --quick
 *     sim --seed N [--trace]           one run again, with all that was kept
 *     sim --mistakes [WORDS]           makes each known mistake on purpose; each must be found
 *
 * Every step draws from a hash of seed and step, so that a run is the same whenever and wherever it is made, and steps
 * can be left out: a failure is shown with as few of them as still make it.
 */
#include "sim/sim.h"

#include "base/log.h"
#include "sim/fiber.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct world *sim;

/* Every draw comes from the seed, the step and its number within the step: a step that is left out changes no other. */
uint64_t sim_random(uint64_t below)
{
    uint64_t x = sim->seed * 0x9e3779b97f4a7c15 + sim->step * 0xd1b54a32d192ed03;
    x += ++sim->draws * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return (x ^ (x >> 31)) % below;
}

bool sim_luck(enum fault fault, uint64_t one_of)
{
    return sim->faults[fault] && !sim->calm && sim_random(one_of) == 0;
}

void sim_fail(const char *format, ...)
{
    va_list args;
    if (sim->failure[0])
        return;
    va_start(args, format);
    (void)vsnprintf(sim->failure, sizeof sim->failure, format, args);
    va_end(args);
}

/* ---- names ---- */

struct str sim_session(int slot)
{
    static const char *const names[] = {"ses_a", "ses_b", "ses_c", "ses_runs"};
    return str_of(names[slot / CALLS]);
}

struct str sim_thread(int slot)
{
    static const char *const names[] = {"ses_a.main", "ses_b.main", "ses_c.main", "ses_runs.main"};
    return str_of(names[slot / CALLS]);
}

struct str sim_call(int slot)
{
    static const char *const names[] = {"call_1", "call_2", "call_3", "call_4"};
    return str_of(names[slot % CALLS]);
}

/* Names that no policy knows: they are asked about unless a rule or the session says otherwise. */
struct str sim_tool(int slot)
{
    static const char *const names[TOOLS] = {"Dig", "Fell", "Plant", "Sow", "Paint"};
    return str_of(names[slot % TOOLS]);
}

int sim_slot(const struct event *event)
{
    for (int slot = 0; slot < SLOTS; slot++)
        if (str_eq(sim_session(slot), event->session) && str_eq(sim_call(slot), event->call))
            return slot;
    return -1;
}

/* ---- the world ---- */

static bool is_up(int number)
{
    const struct node *node = &sim->nodes[number];
    return node->gate && node->ready && !node->broken;
}

static void set_clock(int number)
{
    int64_t skew_ms = (int64_t)sim_random(8) * 400 - 1200;
    sim->nodes[number].skew_ms = skew_ms;
    sim->most_skew_ms = skew_ms > sim->most_skew_ms ? skew_ms : sim->most_skew_ms;
}

static void restart(int number)
{
    node_kill(number);
    node_start(number);
}

static void fault_one(int number)
{
    uint64_t which = sim_random(16);
    if (sim->trace && which < 6)
        (void)printf("      fault %llu at node %d\n", (unsigned long long)which, number);
    switch (which) {
    case 0:
        if (sim->faults[FAULT_CRASH])
            node_kill(number);
        break;
    case 1:
    case 6:
        if (sim->faults[FAULT_POWER] && !sim->db.shared) {
            sim->nodes[0].dead = true;
            database_power_cut();
            node_kill(0);
        }
        break;
    case 2:
        if (sim->faults[FAULT_AWAY] && sim->db.shared) {
            database_drop_connections();
            sim->db.away_until_us = sim->steady_us + (int64_t)sim_random(12) * 1000000;
        }
        break;
    case 3:
        if (sim->faults[FAULT_PROMOTED] && sim->step > STEPS / 3)
            database_promote();
        break;
    case 4:
    case 5:
        if (sim->faults[FAULT_CLOCK])
            set_clock(number);
        break;
    default:
        if (sim->faults[FAULT_HANG_UP])
            clients_hang_up((int)sim_random(CLIENTS_MAX));
    }
}

/* A node that is down is started; one that has found its history gone starts anew, as the program does. */
static void look_after(int number)
{
    if (!sim->nodes[number].gate)
        node_start(number);
    else if (sim->nodes[number].broken)
        restart(number);
}

static void pass_time(void)
{
    int64_t ms = 1 + (int64_t)sim_random(sim->calm ? 2500 : 900);
    sim->steady_us += ms * 1000;
    sim->wall_ms += ms;
}

static void run_fibers(uint64_t most)
{
    for (uint64_t i = 0; i < most; i++)
        if (!fiber_step(sim_random))
            break;
}

static void one_step(void)
{
    int number = (int)sim_random(sim->node_count);
    uint64_t act = sim_random(100);
    if (!sim->calm && act < 24 && is_up(number) && sim->db.count < CALL_ROWS_MAX)
        clients_act(number);
    else if (!sim->calm && act < 27)
        fault_one(number);
    else if (act < 30)
        look_after(number);
    else if (act < 34)
        followers_act((int)sim_random(FOLLOWERS));
    else if (act < 36)
        database_end_ghost(sim_random(2));
    else if (act < 38)
        database_read_late();
    else if (act < 72)
        run_fibers(1 + sim_random(sim->calm ? 40 : 8));
    else if (act < 94)
        node_turn(number);
    else
        pass_time();
}

/* Everything has ended, and there was time enough for whatever waits for a time. */
static bool is_quiet(int64_t since_us)
{
    bool open = sim->steady_us - since_us < (int64_t)CALM_MS * 1000;
    for (unsigned i = 0; i < sim->node_count; i++)
        open = open || !is_up((int)i) || clients_open((int)i) || runs_busy((int)i) ||
               messages_sending((int)i);
    return !open;
}

static void calm_down(void)
{
    sim->calm = true;
    sim->db.away_until_us = 0;
    int64_t since_us = sim->steady_us;
    sim->step = STEPS + 1; /* whatever was left out before */
    for (int i = 0; i < CALM_STEPS && !sim->failure[0] && !is_quiet(since_us); i++, sim->step++) {
        sim->draws = 0;
        one_step();
    }
    for (int round = 0; round < 20 && !sim->failure[0]; round++) { /* the last are told */
        sim->draws = 0;
        sim->step++;
        run_fibers(200);
        for (unsigned i = 0; i < sim->node_count; i++) {
            look_after((int)i);
            node_turn((int)i);
        }
        for (int i = 0; i < FOLLOWERS; i++)
            followers_act(i);
        sim->steady_us += 600000;
        sim->wall_ms += 600;
    }
}

static void begin(void)
{
    for (int i = 0; i < FAULT_COUNT; i++)
        sim->faults[i] = sim_random(3) != 0;
    sim->db.shared = sim_random(4) != 0;
    sim->node_count = sim->db.shared ? 1 + (unsigned)sim_random(NODES) : 1;
    sim->messages.wanted = sim_random(2);
    for (int i = 0; i < TOKENS; i++)
        (void)snprintf(sim->tokens[i].name, sizeof sim->tokens[i].name, "%s%d", i % 2 ? "person" : "agent", i);
    for (int i = 0; i < FOLLOWERS; i++)
        sim->followers[i].node = -1;
    for (unsigned i = 0; i < sim->node_count; i++)
        node_start((int)i);
}

static void end(void)
{
    char failure[sizeof sim->failure];
    memcpy(failure, sim->failure, sizeof failure);
    for (unsigned i = 0; i < sim->node_count; i++)
        node_kill((int)i);
    if (fiber_any())
        sim_fail("a thread never ended");
    arena_done(&sim->arena);
    if (failure[0])
        memcpy(sim->failure, failure, sizeof failure);
}

struct wish {
    uint64_t seed;
    enum mistake mistake;
    bool trace;
    const bool *left_out;
};

/* The words of the failure; empty when all went well. */
static const char *run(struct wish wish)
{
    memset(sim, 0, sizeof *sim);
    sim->seed = wish.seed;
    sim->mistake = wish.mistake;
    sim->trace = wish.trace;
    sim->left_out = wish.left_out;
    sim->wall_ms = 1767323045000;
    sim->steady_us = 1000000;
    fiber_begin();
    begin();
    for (sim->step = 1; sim->step <= STEPS && !sim->failure[0]; sim->step++) {
        sim->draws = 0;
        if (!sim->left_out || !sim->left_out[sim->step])
            one_step();
    }
    if (!sim->failure[0])
        calm_down();
    if (sim->mistake == MISTAKE_FLIPPED_BYTE && sim->db.count > 3)
        sim->db.rows[2].event.at_ms ^= 1;
    if (!sim->failure[0])
        check_end();
    end();
    return sim->failure;
}

/* ---- a failure, made smaller ---- */

/* Leaves out as many steps as it can while the same goes wrong; returns how many are left. */
static int shrink(struct wish wish, bool left_out[STEPS + 1])
{
    char words[16];
    int kept = 0;
    (void)snprintf(words, sizeof words, "%.15s", sim->failure);
    wish.trace = false;
    wish.left_out = left_out;
    for (int size = STEPS / 2; size; size /= 2) {
        for (int from = 1; from + size - 1 <= STEPS; from += size) {
            bool before[STEPS + 1];
            memcpy(before, left_out, sizeof before);
            memset(left_out + from, true, (size_t)size);
            if (memcmp(before, left_out, sizeof before) != 0 && strncmp(run(wish), words, strlen(words)) != 0)
                memcpy(left_out, before, sizeof before);
        }
    }
    for (int i = 1; i <= STEPS; i++)
        kept += !left_out[i];
    return kept;
}

static void show_failure(struct wish wish)
{
    static bool left_out[STEPS + 1];
    (void)printf("seed %llu: %s\n", (unsigned long long)wish.seed, sim->failure);
    memset(left_out, 0, sizeof left_out);
    int kept = shrink(wish, left_out);
    wish.left_out = left_out;
    wish.trace = true;
    (void)printf("the same with %d of %d steps:\n", kept, STEPS);
    (void)printf("%s\n", run(wish));
}

enum { SEEDS_MOST = 5000 };

/* The first seed that finds it: the known one, else the lowest; 0: none. */
static uint64_t find_mistake(enum mistake mistake, uint64_t known)
{
    if (run((struct wish){.seed = known, .mistake = mistake})[0])
        return known;
    for (uint64_t seed = 1; seed <= SEEDS_MOST; seed++)
        if (run((struct wish){.seed = seed, .mistake = mistake})[0])
            return seed;
    return 0;
}

static int find_mistakes(const char *only)
{
    static const struct {
        uint64_t seed;
        const char *words;
    } mistakes[] = {
#define X(name, seed, words) {seed, words},
        MISTAKES(X)
#undef X
    };
    int missed = 0;
    for (int mistake = 1; mistake < MISTAKE_COUNT; mistake++) {
        if (only && !strstr(mistakes[mistake].words, only))
            continue;
        uint64_t seed = find_mistake((enum mistake)mistake, mistakes[mistake].seed);
        (void)printf("%-8s %s: %s (seed %llu%s)\n", seed ? "found" : "MISSED", mistakes[mistake].words, sim->failure,
                     (unsigned long long)seed, seed == mistakes[mistake].seed ? "" : ", not the one of sim.h");
        (void)fflush(stdout);
        missed += !seed;
    }
    return missed ? 1 : 0;
}

int main(int argc, char **argv)
{
    uint64_t seeds = 500, from = 1, one = 0, rows = 0, ended = 0, messages = 0;
    bool trace = false, mistakes = false, quick = false;
    const char *only = NULL;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "0";
        trace = trace || strcmp(argv[i], "--trace") == 0;
        quick = quick || strcmp(argv[i], "--quick") == 0;
        if (strcmp(argv[i], "--mistakes") == 0) {
            mistakes = true;
            only = i + 1 < argc ? value : NULL;
        }
        if (strcmp(argv[i], "--seeds") == 0)
            (void)str_to_u64(str_of(value), &seeds);
        if (strcmp(argv[i], "--from") == 0)
            (void)str_to_u64(str_of(value), &from);
        if (strcmp(argv[i], "--seed") == 0)
            (void)str_to_u64(str_of(value), &one);
    }
    sim = heap_new(sizeof *sim);
    log_level_now = trace ? LOG_WARN : LOG_ERROR;
    int status = mistakes ? find_mistakes(only) : 0;
    uint64_t first = one ? one : from, last = one ? one : from + seeds - 1;
    for (uint64_t seed = first; !mistakes && status == 0 && seed <= last; seed++) {
        struct wish wish = {.seed = seed, .trace = trace};
        status = run(wish)[0] != '\0';
        rows += sim->db.count;
        ended += sim->ended;
        messages += sim->messages.count;
        if (status && quick)
            (void)printf("seed %llu: %s\n", (unsigned long long)seed, sim->failure);
        else if (status)
            show_failure(wish);
    }
    if (!mistakes && status == 0)
        (void)printf("%llu seeds, %llu operations, %llu events, %llu messages, nothing wrong\n",
                     (unsigned long long)(last - first + 1), (unsigned long long)ended, (unsigned long long)rows,
                     (unsigned long long)messages);
    fiber_free_stacks();
    free(sim);
    return status;
}
