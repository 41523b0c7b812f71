/* One agent alone: what a durable call costs, and how soon an answer reaches the agent that waits for it.
 * Short turns of the disk and of the server alternate, so that both meet the same weather. */
#include "bench/bench.h"

#include "base/id.h"
#include "io/clock.h"

#include <time.h>

enum { TURN = 25, YARD_US = 10 * 1000000, THINK_US_MIN = 1000, THINK_US_MAX = 4000, WAIT_S = 60 };
enum { THINK_ACROSS_US = 5000 }; /* at another node, as long as the INSERT beside it rests (dev/bench-nodes) */

/* The agent's line, the person's line, and what goes over them. */
struct pair {
    struct line agent, person;
    struct seat seat;
    struct buf call, wait, decision, cancel;
    size_t call_digits, wait_digits, decision_digits, cancel_digits;
    uint32_t number;
    struct samples samples, yard, rested;
};

static void pair_done(struct pair *pair)
{
    line_close(&pair->agent);
    line_close(&pair->person);
    buf_done(&pair->call);
    buf_done(&pair->wait);
    buf_done(&pair->decision);
    buf_done(&pair->cancel);
    samples_done(&pair->samples);
    samples_done(&pair->yard);
    samples_done(&pair->rested);
}
#define PAIR_SCOPE(name) \
    __attribute__((cleanup(pair_done))) struct pair name = {.agent.fd = -1, .person.fd = -1}

/* A request whose target has the call's number in it: `before` bench-0000-NUMBER `after`. */
static size_t put_numbered(struct buf *out, const struct bench *bench, const char *token, const char *before,
                           const char *after, struct str body)
{
    BUF_SCOPE(what, REQUEST_BYTES_MAX);
    buf_printf(&what, "%sbench-0000-", before);
    size_t digits_at = what.n;
    buf_printf(&what, "00000000%s", after);
    players_request(out, bench, token, buf_c(&what), body);
    return digits_at;
}

static struct rc pair_open(struct bench *bench, struct pair *pair, struct err *err)
{
    struct arena *arena = bench->arena;
    const char *person_at = bench->person_at;
    struct place person_place = bench->place;
    struct str decision = STR("{\"decision\":\"allow_once\"}");
    pair->call = buf_init(REQUEST_BYTES_MAX);
    pair->wait = buf_init(REQUEST_BYTES_MAX);
    pair->decision = buf_init(REQUEST_BYTES_MAX);
    pair->cancel = buf_init(REQUEST_BYTES_MAX);
    TRY(players_sit(bench, &pair->seat, err));
    TRY(line_open(&pair->agent, &bench->place, err));
    if (person_at)
        TRY(place_find(person_at, &person_place, err));
    TRY(line_open(&pair->person, &person_place, err));
    players_call(&pair->call, bench, &pair->seat, 0, &pair->call_digits);
    struct str session = pair->seat.session;
    struct str thread = pair->seat.thread;
    const char *agent = bench->agent_token;
    const char *person = bench->person_token;
    const char *wait = arena_printf(arena, "?wait=%d&session=%.*s", WAIT_S, STR_ARG(session)).p;
    const char *cancel = arena_printf(arena, "/cancel?session=%.*s", STR_ARG(session)).p;
    const char *decide = arena_printf(arena, "POST /api/threads/%.*s/approvals/", STR_ARG(thread)).p;
    const char *post = "POST /api/tool-calls/";
    pair->wait_digits = put_numbered(&pair->wait, bench, agent, "GET /api/tool-calls/", wait, STR_NONE);
    pair->cancel_digits = put_numbered(&pair->cancel, bench, agent, post, cancel, STR_NONE);
    pair->decision_digits = put_numbered(&pair->decision, bench, person, decide, "", decision);
    return RC_OK;
}

static void next_number(struct pair *pair)
{
    pair->number++;
    digits_put(pair->call.p + pair->call_digits, pair->number);
    digits_put(pair->wait.p + pair->wait_digits, pair->number);
    digits_put(pair->decision.p + pair->decision_digits, pair->number);
    digits_put(pair->cancel.p + pair->cancel_digits, pair->number);
}

static struct rc must_say(const struct heard *heard, struct str words, struct err *err)
{
    if (str_has(heard->body, words))
        return RC_OK;
    return err_set(err, ERR_INTERNAL, "the server's answer lacks %.*s: %.*s", STR_ARG(words),
                   (int)(heard->body.n < 200 ? heard->body.n : 200), heard->body.p);
}

static struct rc make_call(struct pair *pair, struct err *err)
{
    struct heard heard;
    next_number(pair);
    TRY(line_ask(&pair->agent, buf_str(&pair->call), &heard, err));
    int64_t took_us = clock_steady_us() - pair->agent.sent_us;
    TRY(must_say(&heard, STR("\"status\":\"awaiting\""), err));
    samples_add(&pair->samples, took_us);
    return RC_OK;
}

static struct rc measure_disk(struct bench *bench, struct samples *samples, uint64_t times, struct err *err)
{
    double ignored;
    size_t from = bench->yard.all.count;
    TRY(yard_take(&bench->yard, YARD_US, times, &ignored, err));
    for (size_t i = from; i < bench->yard.all.count; i++)
        samples_add(samples, bench->yard.all.us[i]);
    return RC_OK;
}

static void tell(struct bench *bench, struct pair *pair, enum figure_id p50, enum figure_id p99)
{
    bench_tell(bench, p50, (double)samples_at(&pair->samples, 500), (double)samples_at(&pair->yard, 500), -1);
    bench_tell(bench, p99, (double)samples_at(&pair->samples, 990), (double)samples_at(&pair->yard, 990), 0);
}

/* ---- one call after the other ---- */

struct rc bench_one(struct bench *bench, struct err *err)
{
    PAIR_SCOPE(pair);
    struct heard heard;
    TRY(pair_open(bench, &pair, err));
    for (uint64_t left = bench->rounds; left;) {
        uint64_t turn = left < TURN ? left : TURN;
        TRY(measure_disk(bench, &pair.yard, TURN, err));
        for (uint64_t i = 0; i < turn; i++)
            TRY(make_call(&pair, err));
        left -= turn;
    }
    tell(bench, &pair, FIGURE_ONE_P50, FIGURE_ONE_P99);
    uint32_t made = pair.number;
    pair.number = 0;
    while (!bench->keep && pair.number < made) {
        next_number(&pair);
        TRY(line_ask(&pair.agent, buf_str(&pair.cancel), &heard, err));
    }
    return RC_OK;
}

/* ---- from a person's answer to the agent's ---- */

static void rest(int64_t us)
{
    struct timespec time = {.tv_nsec = us * 1000};
    (void)nanosleep(&time, NULL);
}

static void think(void)
{
    uint32_t random;
    id_random(&random, sizeof random);
    int64_t us = THINK_US_MIN + random % (THINK_US_MAX - THINK_US_MIN);
    rest(us);
}

/* The yardstick of somebody who rests before it as long as the person thinks: caches and clocks have cooled down. */
static struct rc measure_rested(struct bench *bench, struct pair *pair, struct err *err)
{
    for (int i = 0; i < TURN; i++) {
        think();
        TRY(measure_disk(bench, &pair->rested, 1, err));
    }
    return RC_OK;
}

static struct rc play_round(struct pair *pair, bool across, struct err *err)
{
    struct heard heard;
    next_number(pair);
    TRY(line_ask(&pair->agent, buf_str(&pair->call), &heard, err));
    TRY(line_send(&pair->agent, buf_str(&pair->wait), err));
    if (across)
        rest(THINK_ACROSS_US);
    else
        think();
    TRY(line_send(&pair->person, buf_str(&pair->decision), err));
    TRY(line_receive(&pair->agent, &heard, err));
    int64_t took_us = clock_steady_us() - pair->person.sent_us;
    TRY(must_say(&heard, STR("\"decision\":\"allow_once\""), err));
    samples_add(&pair->samples, took_us);
    return line_receive(&pair->person, &heard, err);
}

struct rc bench_answer(struct bench *bench, struct err *err)
{
    PAIR_SCOPE(pair);
    TRY(pair_open(bench, &pair, err));
    for (uint64_t left = bench->rounds; left;) {
        uint64_t turn = left < TURN ? left : TURN;
        if (!bench->person_at) {
            TRY(measure_disk(bench, &pair.yard, TURN, err));
            TRY(measure_rested(bench, &pair, err));
        }
        for (uint64_t i = 0; i < turn; i++)
            TRY(play_round(&pair, bench->person_at, err));
        left -= turn;
    }
    tell(bench, &pair, FIGURE_ANSWER_P50, FIGURE_ANSWER_P99);
    bench_tell(bench, FIGURE_ANSWER_RESTED, (double)samples_at(&pair.samples, 500),
               (double)samples_at(&pair.rested, 500), -1);
    return RC_OK;
}
