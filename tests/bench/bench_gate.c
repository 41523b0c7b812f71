/* Durable calls of many agents at once, beside the disk and beside an answer that keeps nothing. */
#include "bench/bench.h"

#include <stdlib.h>

enum { YARD_US = 400000, YARD_TIMES = 1 << 20, TAKE_BACK_US = 120 * 1000000 };

/* One turn: the disk, the gate, the disk again, an empty POST. */
struct turn {
    double calls, pings;     /* per second */
    double before, after;    /* the disk, per second */
    double p50_us, p99_us;
};

struct agents {
    struct seat *seats;
    struct load calls, pings;
    uint64_t answered;
    struct turn *turns;
};

static void agents_done(struct agents *agents)
{
    load_done(&agents->calls);
    load_done(&agents->pings);
    free(agents->calls.askers);
    free(agents->pings.askers);
}

static struct asker *new_askers(size_t count)
{
    struct asker *askers = heap_new(count * sizeof *askers);
    for (size_t i = 0; i < count; i++) {
        askers[i].line.fd = -1;
        askers[i].request = buf_init(REQUEST_BYTES_MAX);
        askers[i].end = UINT32_MAX;
    }
    return askers;
}

/* Each agent has a connection, and unless fewer --sessions are wanted a session, of its own; pings have other
 * connections. */
static struct rc sit_down(struct bench *bench, struct agents *agents, struct err *err)
{
    size_t count = bench->connections;
    CHECK(count > 0 && count <= BENCH_CONNECTIONS_MAX);
    agents->seats = arena_array(bench->arena, struct seat, count);
    agents->turns = arena_array(bench->arena, struct turn, bench->repeat);
    agents->calls = (struct load){.askers = new_askers(count), .count = count};
    agents->pings = (struct load){.askers = new_askers(count), .count = count};
    for (size_t i = 0; i < count; i++) {
        struct asker *caller = &agents->calls.askers[i];
        struct asker *pinger = &agents->pings.askers[i];
        if (i < bench->sessions)
            TRY(players_sit(bench, &agents->seats[i], err));
        else
            agents->seats[i] = agents->seats[i % bench->sessions];
        TRY(line_open(&caller->line, &bench->place, err));
        TRY(line_open(&pinger->line, &bench->place, err));
        players_call(&caller->request, bench, &agents->seats[i], (unsigned)i, &caller->digits_at);
        players_request(&pinger->request, bench, bench->agent_token, "POST /api/ping", STR_NONE);
    }
    return RC_OK;
}

static struct rc take_turn(struct bench *bench, struct agents *agents, struct turn *turn, struct err *err)
{
    struct load *calls = &agents->calls;
    struct load *pings = &agents->pings;
    calls->time_us = bench->time_us;
    calls->requests_max = bench->calls;
    pings->time_us = bench->time_us / 2;
    pings->requests_max = UINT64_MAX;
    TRY(yard_take(&bench->yard, YARD_US, YARD_TIMES, &turn->before, err));
    TRY(load_run(calls, err));
    TRY(yard_take(&bench->yard, YARD_US, YARD_TIMES, &turn->after, err));
    TRY(load_run(pings, err));
    agents->answered += calls->answered;
    turn->calls = calls->per_second;
    turn->pings = pings->per_second;
    turn->p50_us = (double)samples_at(&calls->samples, 500);
    turn->p99_us = (double)samples_at(&calls->samples, 990);
    return RC_OK;
}

static struct rc count_kept(struct bench *bench, const struct agents *agents, struct err *err)
{
    uint64_t kept = 0;
    for (size_t i = 0; i < bench->sessions; i++) {
        uint64_t of_seat;
        TRY(players_count(bench, &agents->seats[i], &of_seat, err));
        kept += of_seat;
    }
    bench_tell(bench, FIGURE_GATE_KEPT, (double)agents->answered, (double)kept, 0);
    if (kept != agents->answered)
        return err_set(err, ERR_CORRUPT, "%llu calls were acknowledged, %llu are in the log",
                       (unsigned long long)agents->answered, (unsigned long long)kept);
    return RC_OK;
}

/* Nobody is going to answer these calls. */
static struct rc take_back(struct bench *bench, struct agents *agents, struct err *err)
{
    struct load *calls = &agents->calls;
    for (size_t i = 0; i < calls->count; i++) {
        struct asker *asker = &calls->askers[i];
        BUF_SCOPE(what, REQUEST_BYTES_MAX);
        buf_printf(&what, "POST /api/tool-calls/bench-%04x-", (unsigned)i);
        asker->digits_at = what.n;
        buf_printf(&what, "00000000/cancel?session=%.*s", STR_ARG(agents->seats[i].session));
        buf_clear(&asker->request);
        players_request(&asker->request, bench, bench->agent_token, buf_c(&what), STR_NONE);
        asker->end = asker->next;
        asker->next = 0;
    }
    calls->time_us = TAKE_BACK_US;
    calls->requests_max = UINT64_MAX;
    TRY(load_run(calls, err));
    if (calls->answered != agents->answered)
        return err_set(err, ERR_TIMEOUT, "%llu calls are still waiting: nod deny --all answers them",
                       (unsigned long long)(agents->answered - calls->answered));
    return RC_OK;
}

/* ---- what the turns say ---- */

/* Whether a turn can be used: the disk was steady, and no slower than half of its best. */
static bool quiet(const struct bench *bench, const struct agents *agents, const struct turn *turn)
{
    double best = 0;
    for (size_t i = 0; i < bench->repeat; i++) {
        const struct turn *other = &agents->turns[i];
        best = other->before > best ? other->before : best;
        best = other->after > best ? other->after : best;
    }
    return !bench_apart(turn->before, turn->after) && turn->before + turn->after >= best;
}

/* The median over the quiet turns, or over all when there is none. */
static double over_turns(const struct bench *bench, const struct agents *agents,
                         double (*of)(const struct turn *turn), bool *ret_noisy)
{
    double values[BENCH_REPEAT_MAX];
    size_t count = 0;
    CHECK(bench->repeat > 0 && bench->repeat <= BENCH_REPEAT_MAX);
    for (size_t i = 0; i < bench->repeat; i++)
        if (quiet(bench, agents, &agents->turns[i]))
            values[count++] = of(&agents->turns[i]);
    *ret_noisy = count == 0;
    for (size_t i = 0; *ret_noisy && i < bench->repeat; i++)
        values[count++] = of(&agents->turns[i]);
    return median_of(values, count);
}

static double calls_of(const struct turn *turn) { return turn->calls; }
static double pings_of(const struct turn *turn) { return turn->pings; }
static double p50_of(const struct turn *turn) { return turn->p50_us; }
static double p99_of(const struct turn *turn) { return turn->p99_us; }
static double disk_of(const struct turn *turn) { return (turn->before + turn->after) / 2; }
static double to_disk(const struct turn *turn) { return disk_of(turn) > 0 ? turn->calls / disk_of(turn) : 0; }
static double to_ping(const struct turn *turn) { return turn->pings > 0 ? turn->calls / turn->pings : 0; }
static double to_p50(const struct turn *turn) { return turn->p50_us > 0 ? turn->p99_us / turn->p50_us : 0; }

static void tell(struct bench *bench, const struct agents *agents)
{
    static const struct {
        enum figure_id id;
        double (*value)(const struct turn *turn);
        double (*beside)(const struct turn *turn);
        double (*ratio)(const struct turn *turn);
    } columns[] = {
        {FIGURE_GATE_RATE, calls_of, disk_of, to_disk},
        {FIGURE_GATE_PING, calls_of, pings_of, to_ping},
        {FIGURE_GATE_P99, p99_of, p50_of, to_p50},
    };
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        bool noisy;
        double value = over_turns(bench, agents, columns[i].value, &noisy);
        double beside = over_turns(bench, agents, columns[i].beside, &noisy);
        double ratio = over_turns(bench, agents, columns[i].ratio, &noisy);
        bench_tell(bench, columns[i].id, value, beside, ratio);
        bench->figures[columns[i].id].noisy = noisy;
    }
}

struct rc bench_gate(struct bench *bench, struct err *err)
{
    __attribute__((cleanup(agents_done))) struct agents agents = {0};
    TRY(sit_down(bench, &agents, err));
    for (size_t i = 0; i < bench->repeat; i++)
        TRY(take_turn(bench, &agents, &agents.turns[i], err));
    tell(bench, &agents);
    TRY(count_kept(bench, &agents, err));
    return bench->keep ? RC_OK : take_back(bench, &agents, err);
}

/* The calls alone, for whoever counts what the server does. */
struct rc bench_asks(struct bench *bench, struct err *err)
{
    __attribute__((cleanup(agents_done))) struct agents agents = {0};
    TRY(sit_down(bench, &agents, err));
    agents.calls.time_us = TAKE_BACK_US;
    agents.calls.requests_max = bench->calls;
    TRY(load_run(&agents.calls, err));
    if (agents.calls.answered != bench->calls)
        return err_set(err, ERR_TIMEOUT, "%llu calls were answered", (unsigned long long)agents.calls.answered);
    return RC_OK;
}
