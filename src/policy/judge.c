#include "policy/policy.h"

static const char *const mode_names[MODE_COUNT] = {
#define X(name, wire) [MODE_##name] = wire,
    PERMISSION_MODES(X)
#undef X
};

static const struct {
    const char *name;
    enum permission_mode mode;
} mode_aliases[] = {
    {"yolo", MODE_BYPASS},
    {"safe-yolo", MODE_DEFAULT},
};

static const char *const effect_names[] = {
    [EFFECT_ASK] = "ask", [EFFECT_ALLOW] = "allow", [EFFECT_DENY] = "deny"};

const char *mode_name(enum permission_mode mode) { return mode_names[mode]; }
const char *effect_name(enum effect effect) { return effect_names[effect]; }

bool mode_parse(struct str name, enum permission_mode *ret_mode)
{
    for (int i = 0; i < MODE_COUNT; i++) {
        if (str_is(name, mode_names[i])) {
            *ret_mode = (enum permission_mode)i;
            return true;
        }
    }
    for (size_t i = 0; i < sizeof mode_aliases / sizeof *mode_aliases; i++) {
        if (str_is(name, mode_aliases[i].name)) {
            *ret_mode = mode_aliases[i].mode;
            return true;
        }
    }
    return false;
}

bool effect_parse(struct str name, enum effect *ret_effect)
{
    for (size_t i = 0; i < sizeof effect_names / sizeof *effect_names; i++) {
        if (str_is(name, effect_names[i])) {
            *ret_effect = (enum effect)i;
            return true;
        }
    }
    return false;
}

/* The session's word on this tool; false when it has none. */
static bool session_says(struct arena *arena, const struct question *q, struct verdict *ret_verdict)
{
    for (size_t i = 0; i < q->tool_policy_count; i++) {
        const struct tool_policy *policy = &q->tool_policies[i];
        if (!str_eq(policy->tool, q->facts->name))
            continue;
        *ret_verdict = (struct verdict){
            .effect = policy->effect,
            .rule = policy->tool,
            .source = STR("session"),
            .why = arena_printf(arena, "the session's policy for %.*s is %s", STR_ARG(policy->tool),
                                effect_name(policy->effect)),
        };
        return true;
    }
    return false;
}

static struct verdict say(enum effect effect, struct str source, struct str why)
{
    return (struct verdict){.effect = effect, .source = source, .why = why};
}

static struct verdict by_default(enum tool_class class)
{
    switch (class) {
    case TOOL_READ: return say(EFFECT_ALLOW, STR("default"), STR("a tool that only reads"));
    case TOOL_TASK: return say(EFFECT_ALLOW, STR("default"), STR("the agent's own list of tasks"));
    case TOOL_AGENT: return say(EFFECT_ALLOW, STR("default"), STR("a sub-agent asks for itself"));
    case TOOL_EDIT: return say(EFFECT_ASK, STR("default"), STR("it changes files, and no rule allows it"));
    case TOOL_COMMAND: return say(EFFECT_ASK, STR("default"), STR("it runs a command, and no rule allows it"));
    case TOOL_FETCH: return say(EFFECT_ASK, STR("default"), STR("it reaches the network, and no rule allows it"));
    case TOOL_PLAN: return say(EFFECT_ASK, STR("default"), STR("it asks a person by its nature"));
    case TOOL_OTHER: break;
    }
    return say(EFFECT_ASK, STR("default"), STR("no rule names this tool"));
}

static bool harmless(enum tool_class class) { return class == TOOL_READ || class == TOOL_TASK; }

static struct verdict by_mode(const struct question *q)
{
    enum tool_class class = q->facts->class;
    switch (q->mode) {
    case MODE_BYPASS:
        if (class != TOOL_PLAN)
            return say(EFFECT_ALLOW, STR("mode"), STR("the session lets everything pass (bypassPermissions)"));
        break;
    case MODE_ACCEPT_EDITS:
        if (class == TOOL_EDIT)
            return say(EFFECT_ALLOW, STR("mode"), STR("the session accepts edits (acceptEdits)"));
        break;
    case MODE_PLAN:
        if (!harmless(class) && class != TOOL_PLAN && class != TOOL_AGENT)
            return say(EFFECT_DENY, STR("mode"), STR("the session only plans; nothing is changed or run"));
        break;
    case MODE_READ_ONLY:
        if (!harmless(class) && class != TOOL_PLAN && class != TOOL_AGENT)
            return say(EFFECT_DENY, STR("mode"), STR("the session is read-only"));
        break;
    case MODE_DEFAULT:
    case MODE_COUNT:
        break;
    }
    return by_default(class);
}

struct verdict policy_judge(struct arena *arena, const struct question *question)
{
    struct verdict session;
    struct verdict mode = by_mode(question);
    if (!session_says(arena, question, &session))
        return mode;
    /* Planning and read-only sessions change nothing, whatever was allowed before. */
    bool tightened = mode.effect == EFFECT_DENY && session.effect != EFFECT_DENY;
    return tightened ? mode : session;
}
