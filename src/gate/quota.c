/* How much may wait, and how often an agent may ask: so that one agent cannot bury the others' calls, or the people
 * who answer them.
 *
 * Counted are the calls that wait (a view of the open approvals) and those on their way to the store. An agent is the
 * name of its token. A call that rules answer is never counted. A limit of 0 is none.
 */
#include "gate/inner.h"

#include "base/log.h"
#include "base/small.h"
#include "io/clock.h"


enum { MANY_DENIALS_US = 60 * 1000000, WARN_EVERY_US = 60 * 1000000, CREDIT = 1000000 };

static struct asker *asker_of(struct map *map, struct str name)
{
    struct asker *asker = map_get(map, name);
    if (asker)
        return asker;
    asker = small_new(sizeof *asker);
    (void)map_put(map, name, asker);
    return asker;
}

/* The counters stay where they are while they count something; those of an agent until the end. */
struct quota_share quota_take(struct gate *gate, struct str actor, struct str session, uint64_t bytes)
{
    struct quotas *quotas = &gate->quotas;
    struct quota_share share = {.agent = asker_of(&quotas->askers, actor),
                                .session = asker_of(&quotas->sessions, session)};
    share.agent->calls++;
    share.agent->bytes += bytes;
    share.session->calls++;
    quotas->calls++;
    quotas->bytes += bytes;
    return share;
}

/* The call is answered, or was not kept: its share is free again. */
void quota_give(struct gate *gate, struct quota_share share, struct str session, uint64_t bytes)
{
    struct quotas *quotas = &gate->quotas;
    CHECK(share.agent && share.session && share.agent->calls && share.session->calls && quotas->calls &&
          share.agent->bytes >= bytes);
    share.agent->calls--;
    share.agent->bytes -= bytes;
    quotas->calls--;
    quotas->bytes -= bytes;
    if (--share.session->calls == 0)
        small_free(map_take(&quotas->sessions, session), sizeof *share.session);
}

void quota_denied(struct gate *gate, struct str actor)
{
    struct asker *asker = asker_of(&gate->quotas.askers, actor);
    asker->denied_us[asker->denials++ % MANY_DENIALS] = clock_steady_us();
}

/* ---- may it ask ---- */

static bool over(uint64_t count, int64_t limit) { return limit > 0 && count >= (uint64_t)limit; }

static bool too_much(uint64_t bytes, uint64_t more, int64_t limit)
{
    return limit > 0 && bytes + more > (uint64_t)limit;
}

/* Limits per agent, per session and in all, on calls and bytes; the words say which one was reached. */
static struct rc check_room(const struct quotas *quotas, const struct asker *asker, struct str session, uint64_t bytes,
                            struct err *err)
{
    const struct gate_limits *limits = &quotas->limits;
    const struct asker *of_session = map_get(&quotas->sessions, session);
    if (too_much(0, bytes, limits->bytes_per_token))
        return err_set(err, ERR_TOO_LARGE, "one call may hold %lld bytes at most while it waits for a person",
                       (long long)limits->bytes_per_token);
    if (over(asker->calls, limits->calls_per_token))
        return err_set(err, ERR_TOO_MANY_WAITING, "%llu calls of this agent wait for a person already",
                       (unsigned long long)asker->calls);
    if (of_session && over(of_session->calls, limits->calls_per_session))
        return err_set(err, ERR_TOO_MANY_WAITING, "%llu calls of this session wait for a person already",
                       (unsigned long long)of_session->calls);
    if (over(quotas->calls, limits->calls))
        return err_set(err, ERR_TOO_MANY_WAITING, "%llu calls wait for a person already",
                       (unsigned long long)quotas->calls);
    if (too_much(asker->bytes, bytes, limits->bytes_per_token))
        return err_set(err, ERR_TOO_MANY_WAITING, "the waiting calls of this agent hold %llu bytes already",
                       (unsigned long long)asker->bytes);
    if (too_much(quotas->bytes, bytes, limits->bytes))
        return err_set(err, ERR_TOO_MANY_WAITING, "the calls that wait for a person hold %llu bytes already",
                       (unsigned long long)quotas->bytes);
    return RC_OK;
}

/* Whether people have just denied many of its calls. */
static bool is_unwelcome(const struct asker *asker, int64_t now_us)
{
    return asker->denials >= MANY_DENIALS && now_us - asker->denied_us[asker->denials % MANY_DENIALS] < MANY_DENIALS_US;
}

/* A bucket that holds `asks_burst` asks and fills at `asks_per_second`. */
static struct rc check_rate(const struct quotas *quotas, struct asker *asker, struct str actor, struct err *err)
{
    int64_t now_us = clock_steady_us(), rate = quotas->limits.asks_per_second;
    if (rate <= 0)
        return RC_OK;
    bool unwelcome = is_unwelcome(asker, now_us);
    int64_t room = (unwelcome ? 1 : quotas->limits.asks_burst) * CREDIT;
    if (unwelcome)
        rate = 1;
    int64_t idle_us = asker->asked_us ? now_us - asker->asked_us : INT64_MAX / CREDIT;
    asker->credit = idle_us >= room / rate ? room : asker->credit + idle_us * rate;
    asker->credit = asker->credit < room ? asker->credit : room;
    asker->asked_us = now_us;
    if (asker->credit >= CREDIT) {
        asker->credit -= CREDIT;
        return RC_OK;
    }
    if (now_us >= asker->warn_us) {
        asker->warn_us = now_us + WARN_EVERY_US;
        log_line(LOG_WARN, unwelcome ? "an agent goes on asking after denials" : "an agent asks too often",
                 LOG_S("agent", actor));
    }
    return err_set(err, ERR_TOO_MANY, "%s",
                   unwelcome ? "people have denied several calls of this agent: it may ask once a second"
                             : "this agent asks too often; ask again in a moment");
}

struct rc quota_check(struct gate *gate, struct str actor, struct str session, uint64_t bytes, struct err *err)
{
    struct asker *asker = asker_of(&gate->quotas.askers, actor);
    TRY(check_room(&gate->quotas, asker, session, bytes, err));
    return check_rate(&gate->quotas, asker, actor, err);
}

static void free_askers(struct map *map)
{
    MAP_EACH(map, each)
        small_free(each.value, sizeof(struct asker));
    map_done(map);
}

void quota_done(struct gate *gate)
{
    free_askers(&gate->quotas.askers);
    free_askers(&gate->quotas.sessions);
}
