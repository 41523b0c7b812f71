/* Examples that a rule was given with (match, not_match): each is made into a call and judged by the rule alone
 * when the rule is compiled, so that a rule that does not do what its author meant is found before it is used. */
#include "policy/examples.h"

#include "base/json.h"
#include "policy/ruleset.h"

/* The field of the input that an example of this rule stands for. */
static struct str example_field(const struct rule *rule)
{
    switch (rule->kind) {
    case RULE_EXACT: case RULE_PREFIX: case RULE_GLOB: case RULE_GROUP: return STR("command");
    case RULE_PATH: return STR("file_path");
    case RULE_HOST: case RULE_URL: return STR("url");
    case RULE_FIELD: return rule->field;
    case RULE_TOOL: case RULE_SERVER: break;
    }
    return STR_NONE;
}

/* The facts of a call as the rule would see it: a command, a path or an address by the kind of the rule. */
struct rc example_facts(struct arena *arena, const struct rule *rule, struct str example,
                        struct tool_facts *ret_facts, struct err *err)
{
    const struct json *input;
    struct str field = example_field(rule);
    JSON_SCOPE(buf, out, 1 << 20);
    json_open(&out, '{');
    if (!str_empty(field)) {
        json_key_str(&out, field);
        json_put_str(&out, example);
    }
    json_close(&out, '}');
    TRY(json_parse(arena, arena_str(arena, buf_str(&buf)), &input, err));
    struct tool_facts facts = {.name = rule->tool, .input = input, .hints = rule->hints | HINT_TOLD};
    if (str_is(field, "command")) {
        facts.class = TOOL_COMMAND;
        facts.command = example;
    } else if (rule->kind == RULE_PATH) {
        facts.class = str_is(ruleset_path_family(rule->tool), "read") ? TOOL_READ : TOOL_EDIT;
        facts.paths[facts.path_count++] = example;
    } else if (rule->kind == RULE_HOST || rule->kind == RULE_URL) {
        facts.class = TOOL_FETCH;
        facts.url = example;
    } else if (str_empty(field)) {
        facts.name = example;
    }
    *ret_facts = facts;
    return RC_OK;
}

/* Whether the rule alone speaks of the example, in a project of no particular place. */
static struct rc example_fits(const struct rule *rule, enum effect effect, struct str example, bool *ret_fits,
                              struct err *err)
{
    ARENA_SCOPE(arena);
    struct tool_facts facts;
    TRY(example_facts(&arena, rule, example, &facts, err));
    struct rule_source alone = {.effect = effect, .text = rule->text};
    struct rule_set *set = rule_set_new(&alone, 1);
    struct question question = {.facts = &facts,
                                .rules = set,
                                .cwd = STR("/project"),
                                .root = STR("/project"),
                                .home = STR("/home/someone")};
    struct verdict verdict = policy_judge(&arena, &question);
    *ret_fits = verdict.rule_count > 0 && verdict.effect == effect;
    rule_set_free(set);
    return RC_OK;
}

/* A rule whose own examples do not hold is refused: its author meant something else. */
static struct rc check_list(const struct rule *rule, const struct rule_source *source, bool wanted,
                            struct err *err)
{
    const struct str *list = wanted ? source->match : source->not_match;
    size_t count = wanted ? source->match_count : source->not_match_count;
    for (size_t i = 0; i < count; i++) {
        bool fits;
        TRY(example_fits(rule, source->effect, list[i], &fits, err));
        if (fits != wanted)
            return err_set(err, ERR_INVALID, "the rule `%.*s` %s its example `%.*s`", STR_ARG(rule->text),
                           wanted ? "does not fit" : "fits, but should not,",
                           (int)(list[i].n > 100 ? 100 : list[i].n), list[i].p);
    }
    return RC_OK;
}

struct rc examples_check(const struct rule *rule, const struct rule_source *source, struct err *err)
{
    TRY(check_list(rule, source, true, err));
    return check_list(rule, source, false, err);
}
