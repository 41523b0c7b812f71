/* Which agent a command line starts. One that nobody knows has no switch that makes it ask: a relay cannot hold what
 * is never asked. */
#include "agents/acp.h"

static const struct agent stranger = {
    .name = "acp",
    .title = "an agent that Nod does not know",
    .acp = {.safe_modes = WORDS("default", "plan", "ask", "read-only"),
            .not_asked = "whatever it does not ask about: Nod knows no switch of this agent"},
};

/* The file's name without folder and ending: /x/gemini.js is gemini. */
static struct str program_of(const char *word)
{
    struct str name = str_of(word);
    for (size_t i = 0; i < name.n; i++)
        if (name.p[i] == '/')
            name = str_sub(name, i + 1, name.n), i = 0;
    size_t dot = str_find(name, '.');
    return str_sub(name, 0, dot);
}

static bool starts(const struct agent *agent, struct str program)
{
    return ANY(size_t i = 0; agent->acp.programs && agent->acp.programs[i]; i++,
               str_is(program, agent->acp.programs[i]));
}

const struct agent *acp_agent_find(const char *const *argv)
{
    for (size_t w = 0; argv[w] && w < 3; w++) /* the program, or what an interpreter is to run */
        for (size_t i = 0; i < AGENT_COUNT; i++)
            if (starts(agent_at(i), program_of(argv[w])))
                return agent_at(i);
    return &stranger;
}

/* A list of modes in which the agent asks; every mode that is not listed counts as one in which it does not. */
bool acp_mode_is_safe(const struct agent *agent, struct str mode)
{
    struct str behind = STR_NONE;
    (void)str_cut(mode, '#', &behind);
    return ANY(size_t i = 0; agent->acp.safe_modes[i]; i++,
               str_is(str_empty(behind) ? mode : behind, agent->acp.safe_modes[i]));
}
