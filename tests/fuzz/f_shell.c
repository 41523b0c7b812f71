/* Command lines: nothing crashes, the verdict is the same twice, and what is allowed is no longer so when a
 * command that no rule covers stands before or behind it. */
#include "base/err.h"
#include "policy/policy.h"
#include "policy/shell.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct rule_set *make_set(bool stops)
{
    static const struct {
        enum effect effect;
        const char *text;
    } rules[] = {
        {EFFECT_ALLOW, "Bash(npm test:*)"}, {EFFECT_ALLOW, "Bash(git:*)"},
        {EFFECT_ALLOW, "Bash(find:*)"},     {EFFECT_ALLOW, "Bash(sed:*)"},
        {EFFECT_ALLOW, "Bash(awk:*)"},      {EFFECT_ALLOW, "Bash(xargs:*)"},
        {EFFECT_ALLOW, "Bash(bash:*)"},     {EFFECT_ALLOW, "Bash(env:*)"},
        {EFFECT_ALLOW, "Bash(pip * list)"}, {EFFECT_ALLOW, "Bash(cd:*)"},
        {EFFECT_ALLOW, "Bash(echo:*)"},     {EFFECT_ALLOW, "Edit(src/**)"},
        {EFFECT_ALLOW, "Bash(make:*)"},     {EFFECT_ALLOW, "Bash(tar:*)"},
        {EFFECT_ALLOW, "Bash(time:*)"},     {EFFECT_DENY, "Bash(rm:*)"},
        {EFFECT_DENY, "Bash(git push:*)"},  {EFFECT_ASK, "Bash(* --force)"},
        {EFFECT_DENY, "Read(.env)"},
    };
    struct rule_source sources[sizeof rules / sizeof *rules];
    size_t count = 0;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (stops || rules[i].effect == EFFECT_ALLOW)
            sources[count++] = (struct rule_source){.effect = rules[i].effect, .text = str_of(rules[i].text),
                                                    .layer = LAYER_USER};
    return rule_set_new(sources, count);
}

static enum effect judge(const struct rule_set *set, struct str command, enum permission_mode mode)
{
    ARENA_SCOPE(arena);
    struct tool_facts facts = {.name = STR("Bash"), .class = TOOL_COMMAND, .command = command};
    struct question question = {.facts = &facts, .rules = set, .mode = mode, .cwd = STR("/home/u/proj"),
                                .root = STR("/home/u/proj"), .home = STR("/home/u")};
    return policy_judge(&arena, &question).effect;
}

static enum effect judge_with(const struct rule_set *set, const char *before, struct str command,
                              const char *behind)
{
    ARENA_SCOPE(arena);
    return judge(set, arena_printf(&arena, "%s%.*s%s", before, STR_ARG(command), behind), MODE_DEFAULT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct rule_set *with, *without;
    struct str command = {(const char *)data, size};
    if (!with) {
        with = make_set(true);
        without = make_set(false);
    }
    enum effect verdict = judge(with, command, MODE_DEFAULT), loose = judge(without, command, MODE_DEFAULT);
    CHECK(judge(with, command, MODE_DEFAULT) == verdict);
    /* Rules that forbid never loosen, in no mode. */
    CHECK(verdict != EFFECT_ALLOW || loose == EFFECT_ALLOW);
    CHECK(judge(with, command, MODE_BYPASS) != EFFECT_ALLOW || verdict != EFFECT_DENY);
    if (loose != EFFECT_ALLOW || str_find(command, '\0') < command.n)
        return 0;
    CHECK(judge_with(without, "", command, "\n./foreign") != EFFECT_ALLOW);
    CHECK(judge_with(without, "./foreign\n", command, "") != EFFECT_ALLOW);
    CHECK(judge_with(without, "./foreign $(", command, "\n)") != EFFECT_ALLOW);
    CHECK(judge_with(without, "{ ", command, "\n} > x") != EFFECT_ALLOW);
    return 0;
}
