/* Redirects of a page that is fetched are judged like the page itself: by the rules of the session, at the moment.
 *
 *   the rules say   within the place that was allowed          elsewhere
 *   allow           followed                                   followed
 *   ask             followed if a person allowed the page      not followed; the model is told, and may ask
 *   deny            not followed                               not followed
 *
 * The tool asks from its worker thread and sleeps until the loop has answered.
 */
#include "gate/inner.h"

#include "io/work.h"
#include "tools/tools.h"

/* One redirect; on the stack of the tool's thread, which waits until the loop has judged it. */
struct hop {
    const struct hops *hops;
    struct arena arena;
    struct str url;
    bool same_place, allowed;
    struct loop_call loop_call;
    struct session_look look;
};

static const struct json *input_of(struct arena *arena, struct str url)
{
    const struct json *input = NULL;
    CHECK(rc_ok(json_parse(arena, json_object_str(arena, J("url", url)), &input, NULL)));
    return input;
}

/* On the loop, with the session lent; the tool's thread waits in loop_call. */
static void judge(struct op *op)
{
    const struct session *session = ((struct session_look *)op)->session;
    struct hop *hop = op->owner;
    const struct hops *hops = hop->hops;
    if (!op->err && session) {
        struct tool_facts facts = tool_facts(STR("WebFetch"), input_of(&hop->arena, hop->url));
        struct verdict verdict = gate_judge(hops->gate, &hop->arena, session, &facts, hops->cwd);
        bool by_person = hop->same_place && !hops->by_policy;
        hop->allowed = verdict.effect == EFFECT_ALLOW || (verdict.effect == EFFECT_ASK && by_person);
    }
    loop_call_finish(&hop->loop_call);
}

static void start(struct loop_call *loop_call)
{
    struct hop *hop = loop_call->arg;
    hop->look = (struct session_look){.op = gate_op(&hop->arena, judge, hop), .id = hop->hops->session};
    gate_session(hop->hops->gate, &hop->look);
}

bool hops_may_follow(const struct tool_use *use, struct str url, bool same_place)
{
    const struct hops *hops = use->asker;
    struct hop hop = {.hops = hops, .url = url, .same_place = same_place};
    hop.loop_call = (struct loop_call){.start = start, .arg = &hop};
    work_call_loop(hops->gate->workers, &hop.loop_call);
    arena_done(&hop.arena);
    return hop.allowed;
}
