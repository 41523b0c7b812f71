/* Which deliveries a request has, and when they are due: a function of the routes and the request's time. */
#include "notify/inner.h"

const char *purpose_name(enum purpose purpose)
{
    static const char *const names[] = {[PURPOSE_ASK] = "ask", [PURPOSE_REMIND] = "remind",
                                        [PURPOSE_WITHDRAW] = "withdraw", [PURPOSE_TEST] = "test",
                                        [PURPOSE_CALLBACK] = "callback"};
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

size_t plan_request(const struct config *config, struct str session, struct str call, struct str tool, int64_t at_ms,
                    struct plan ret_plans[PLANS_MAX])
{
    size_t count = 0;
    for (unsigned r = 0; r < config->route_count; r++) {
        const struct route *route = &config->routes[r];
        if (route->only_tool.n && !str_eq(route->only_tool, tool))
            continue;
        for (unsigned s = 0; s < route->count; s++) {
            for (unsigned c = 0; c < route->steps[s].count && count < PLANS_MAX; c++) {
                struct plan *plan = &ret_plans[count++];
                *plan = (struct plan){.channel = route->steps[s].channels[c], .route = r,
                                      .purpose = s == 0 ? PURPOSE_ASK : PURPOSE_REMIND,
                                      .due_ms = at_ms + route->steps[s].after_ms};
                plan_id(session, call, route->person, config->channels[plan->channel].name, s, plan->purpose, plan->id);
            }
        }
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
