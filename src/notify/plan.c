/* Which deliveries a request has, and when they are due: a function of the routes and the request's time. */
#include "notify/outbox.h"

#include "base/hex.h"

#include <time.h>

const char *purpose_name(enum purpose purpose)
{
    static const char *const names[] = {[PURPOSE_ASK] = "ask", [PURPOSE_REMIND] = "remind",
                                        [PURPOSE_WITHDRAW] = "withdraw", [PURPOSE_TEST] = "test",
                                        [PURPOSE_CALLBACK] = "callback", [PURPOSE_ESCALATE] = "escalate",
                                        [PURPOSE_ALERT] = "alert", [PURPOSE_ASSIGN] = "assign"};
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

enum { DAY_S = 86400 };

/* Seconds east of Greenwich where the person is: in their zone, or by the server's clock. */
static int64_t offset_s(const struct outbox_route *route, int64_t at_s)
{
    struct tm local;
    time_t at = (time_t)at_s;
    if (route->zone)
        return zone_offset_s(route->zone, at_s);
    return localtime_r(&at, &local) ? local.tm_gmtoff : 0;
}

/* The end is by the clock of that moment: a night in which the clock is changed is an hour shorter or longer. */
int64_t plan_after_quiet(const struct outbox_route *route, int64_t at_ms)
{
    if (route->quiet_count == 0)
        return at_ms;
    int64_t at_s = at_ms / 1000, local_s = at_s + offset_s(route, at_s), minute = local_s % DAY_S / 60;
    for (unsigned i = 0; i < route->quiet_count; i++) {
        const struct quiet *quiet = &route->quiet[i];
        bool over_night = quiet->from > quiet->to;
        bool late = minute >= quiet->from, early = minute < quiet->to;
        if (over_night ? !late && !early : !late || !early)
            continue;
        int64_t end_s = local_s - local_s % DAY_S + (over_night && late ? DAY_S : 0) + (int64_t)quiet->to * 60;
        return (end_s - offset_s(route, end_s - offset_s(route, at_s))) * 1000;
    }
    return at_ms;
}

/* ---- plans ---- */

/* Whether a route that is only for some calls takes this one. Its condition on the session's title is checked later,
 * when the message is due, because the title may change. */
static bool fits(const struct only *only, const struct plan_call *call)
{
    return (!only->tool.n || str_eq(only->tool, call->tool)) && (!only->agent.n || str_eq(only->agent, call->agent)) &&
           (!only->risky || !call->routine);
}

/* Whether quiet hours would delay the message beyond the call's deadline. Then the next person of the route is told at
 * once; without one, quiet hours do not count. */
static bool sleeps_through(const struct outbox_route *route, const struct plan_call *call)
{
    int64_t due_ms = call->at_ms + route->steps[0].after_ms, later_ms = plan_after_quiet(route, due_ms);
    return call->deadline_ms && later_ms > due_ms && later_ms >= call->deadline_ms;
}

static int64_t due_of(const struct config *config, const struct outbox_route *route, unsigned step,
                      const struct plan_call *call)
{
    int64_t due_ms = call->at_ms + route->steps[step].after_ms;
    if (route->instead_of && step == 0 && sleeps_through(&config->routes[route->instead_of], call))
        return call->at_ms;
    return sleeps_through(route, call) ? due_ms : plan_after_quiet(route, due_ms);
}

/* The id of a delivery is computed from the call, the person, the channel and the step: the same in every
 * process. */
static void plan_route(const struct config *config, unsigned r, const struct plan_call *call,
                       struct outbox_plan ret_plans[PLANS_MAX], size_t *count)
{
    const struct outbox_route *route = &config->routes[r];
    enum purpose first = route->instead_of ? PURPOSE_ESCALATE : PURPOSE_ASK;
    for (unsigned s = 0; s < route->count; s++) {
        for (unsigned c = 0; c < route->steps[s].count && *count < PLANS_MAX; c++) {
            struct outbox_plan *plan = &ret_plans[(*count)++];
            *plan = (struct outbox_plan){.channel = route->steps[s].channels[c], .route = r,
                                         .purpose = s > 0 ? PURPOSE_REMIND : first,
                                         .due_ms = due_of(config, route, s, call)};
            plan_id(call->session, call->call, route->person, config->channels[plan->channel].name, s, plan->purpose,
                    plan->id);
        }
    }
}

size_t plan_request(const struct config *config, const struct plan_call *call, struct outbox_plan ret_plans[PLANS_MAX])
{
    size_t count = 0;
    for (unsigned r = 0; r < config->route_count; r++) {
        const struct outbox_route *route = &config->routes[r];
        if (fits(&route->only, call) && !(route->has_escalation && sleeps_through(route, call)))
            plan_route(config, r, call, ret_plans, &count);
    }
    return count;
}

static bool has_channel(const struct outbox_plan *plans, size_t count, unsigned channel)
{
    return ANY(size_t i = 0; i < count; i++, plans[i].channel == channel);
}

static void plan_step(unsigned r, const struct outbox_step *step, enum purpose purpose,
                      struct outbox_plan ret_plans[PLANS_MAX], size_t *count)
{
    for (unsigned c = 0; c < step->count && *count < PLANS_MAX; c++)
        if (!has_channel(ret_plans, *count, step->channels[c]))
            ret_plans[(*count)++] = (struct outbox_plan){.channel = step->channels[c], .route = r,
                                                         .purpose = purpose};
}

/* Alerts go by every channel of the person at once: a stolen key or token does not wait for quiet hours. */
size_t plan_alert(const struct config *config, struct str person, bool has_devices, struct str about, int64_t at_ms,
                  struct outbox_plan ret_plans[PLANS_MAX])
{
    static const struct outbox_step push = {.channels = {PUSH}, .count = 1};
    size_t count = 0;
    for (unsigned r = 0; r < config->route_count; r++) {
        const struct outbox_route *route = &config->routes[r];
        if (!str_eq(route->person, person))
            continue;
        if (has_devices)
            plan_step(r, &push, PURPOSE_ALERT, ret_plans, &count);
        for (unsigned s = 0; s < route->count; s++)
            plan_step(r, &route->steps[s], PURPOSE_ALERT, ret_plans, &count);
    }
    for (size_t i = 0; i < count; i++) {
        ret_plans[i].due_ms = at_ms;
        plan_id(STR_NONE, about, person, config->channels[ret_plans[i].channel].name, 0, PURPOSE_ALERT,
                ret_plans[i].id);
    }
    return count;
}

/* The first step of the person's route, after their quiet hours. Ids are the same on every node. */
size_t plan_person(const struct config *config, const struct plan_call *call, struct str person, enum purpose purpose,
                   struct outbox_plan ret_plans[PLANS_MAX])
{
    size_t count = 0;
    for (unsigned r = 0; r < config->route_count; r++)
        if (str_eq(config->routes[r].person, person) && config->routes[r].count)
            plan_step(r, &config->routes[r].steps[0], purpose, ret_plans, &count);
    for (size_t i = 0; i < count; i++) {
        ret_plans[i].by_name = true;
        ret_plans[i].due_ms = plan_after_quiet(&config->routes[ret_plans[i].route], call->at_ms);
        plan_id(call->session, call->call, person, config->channels[ret_plans[i].channel].name, 0, purpose,
                ret_plans[i].id);
    }
    return count;
}

/* Waits before the next attempt. A question is repeated until it is answered; anything else ends with the tenth
 * attempt, after about three days, in the steps of Standard Webhooks. The table is in docs/NOTIFY.md. */
int64_t plan_retry_ms(unsigned attempt, bool asks)
{
    static const int64_t first_s[] = {0, 5, 30, 120, 300};
    static const int64_t other_s[] = {0, 5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400};
    enum { EVERY_S = 900 };
    if (asks)
        return (attempt < sizeof first_s / sizeof *first_s ? first_s[attempt] : EVERY_S) * 1000;
    return attempt < sizeof other_s / sizeof *other_s ? other_s[attempt] * 1000 : -1;
}

int64_t plan_spread_ms(const char id[DELIVERY_ID_BYTES], unsigned attempt, int64_t wait_ms)
{
    unsigned char byte = 0;
    CHECK(hex_read((struct str){id + attempt % 16 * 2, 2}, &byte, 1));
    return wait_ms * (80 + byte * 40 / 255) / 100;
}
