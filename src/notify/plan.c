/* Which deliveries a request has, and when they are due: a function of the routes and the request's time. */
#include "notify/inner.h"

#include <time.h>

const char *purpose_name(enum purpose purpose)
{
    static const char *const names[] = {[PURPOSE_ASK] = "ask", [PURPOSE_REMIND] = "remind",
                                        [PURPOSE_WITHDRAW] = "withdraw", [PURPOSE_TEST] = "test",
                                        [PURPOSE_CALLBACK] = "callback", [PURPOSE_ESCALATE] = "escalate"};
    return names[purpose];
}

void plan_id(struct str session, struct str call, struct str person, struct str channel, unsigned step,
             enum purpose purpose, char ret_id[DELIVERY_ID_BYTES])
{
    char hex[DIGEST_HEX_BYTES], number[2] = {(char)('0' + step), (char)('0' + purpose)};
    const struct str pieces[] = {session, call, person, channel, {number, sizeof number}};
    struct digest digest = digest_of_pieces(pieces, sizeof pieces / sizeof *pieces);
    digest_hex(&digest, hex);
    memcpy(ret_id, hex, DELIVERY_ID_BYTES - 1);
    ret_id[DELIVERY_ID_BYTES - 1] = '\0';
}

/* ---- quiet hours ---- */

/* The end of the quiet hours that a time falls into; the time itself when it falls into none. By the server's clock, so
 * that an hour which a change of the clock leaves out or repeats is what people there take it for. */
static int64_t after_quiet(const struct route *route, int64_t at_ms)
{
    for (unsigned i = 0; i < route->quiet_count; i++) {
        const struct quiet *quiet = &route->quiet[i];
        time_t at_s = (time_t)(at_ms / 1000);
        struct tm local;
        if (!localtime_r(&at_s, &local))
            return at_ms;
        int minute = local.tm_hour * 60 + local.tm_min;
        bool over_night = quiet->from > quiet->to;
        bool late = minute >= quiet->from, early = minute < quiet->to;
        if (over_night ? !late && !early : !late || !early)
            continue;
        local.tm_mday += over_night && late;
        local.tm_hour = quiet->to / 60;
        local.tm_min = quiet->to % 60;
        local.tm_sec = 0;
        local.tm_isdst = -1;
        return (int64_t)mktime(&local) * 1000;
    }
    return at_ms;
}

/* ---- plans ---- */

/* The title of a session may change: it is looked at when a message is due. */
static bool fits(const struct only *only, const struct plan_call *call)
{
    return (!only->tool.n || str_eq(only->tool, call->tool)) && (!only->agent.n || str_eq(only->agent, call->agent)) &&
           (!only->risky || !call->routine);
}

/* Quiet hours delay a message. A request that times out within them is told at once to whoever is next in place of the
 * person; where nobody is, quiet hours do not count. */
static bool sleeps_through(const struct route *route, const struct plan_call *call)
{
    int64_t due_ms = call->at_ms + route->steps[0].after_ms, later_ms = after_quiet(route, due_ms);
    return call->deadline_ms && later_ms > due_ms && later_ms >= call->deadline_ms;
}

static int64_t due_of(const struct config *config, const struct route *route, unsigned step,
                      const struct plan_call *call)
{
    int64_t due_ms = call->at_ms + route->steps[step].after_ms;
    if (route->instead_of && step == 0 && sleeps_through(&config->routes[route->instead_of], call))
        return call->at_ms;
    return sleeps_through(route, call) ? due_ms : after_quiet(route, due_ms);
}

static void plan_route(const struct config *config, unsigned r, const struct plan_call *call,
                       struct plan ret_plans[PLANS_MAX], size_t *count)
{
    const struct route *route = &config->routes[r];
    enum purpose first = route->instead_of ? PURPOSE_ESCALATE : PURPOSE_ASK;
    for (unsigned s = 0; s < route->count; s++) {
        for (unsigned c = 0; c < route->steps[s].count && *count < PLANS_MAX; c++) {
            struct plan *plan = &ret_plans[(*count)++];
            *plan = (struct plan){.channel = route->steps[s].channels[c], .route = r,
                                  .purpose = s > 0 ? PURPOSE_REMIND : first,
                                  .due_ms = due_of(config, route, s, call)};
            plan_id(call->session, call->call, route->person, config->channels[plan->channel].name, s, plan->purpose,
                    plan->id);
        }
    }
}

size_t plan_request(const struct config *config, const struct plan_call *call, struct plan ret_plans[PLANS_MAX])
{
    size_t count = 0;
    for (unsigned r = 0; r < config->route_count; r++) {
        const struct route *route = &config->routes[r];
        if (fits(&route->only, call) && !(route->has_escalation && sleeps_through(route, call)))
            plan_route(config, r, call, ret_plans, &count);
    }
    return count;
}

/* A question is worth repeating until it is answered; anything else ends after a day, as Standard Webhooks has it. */
int64_t plan_retry_ms(unsigned attempt, bool asks)
{
    static const int64_t first_s[] = {0, 5, 30, 120, 300};
    static const int64_t other_s[] = {0, 5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400};
    enum { EVERY_S = 900 };
    if (asks)
        return (attempt < sizeof first_s / sizeof *first_s ? first_s[attempt] : EVERY_S) * 1000;
    return attempt < sizeof other_s / sizeof *other_s ? other_s[attempt] * 1000 : -1;
}
