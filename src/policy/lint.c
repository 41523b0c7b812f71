/* Which rules do not do what they say.
 *
 * Two ways lead to a finding. Some mistakes show in the text: a tool that no agent has, a program one letter away
 * from a known one, an operator of the shell inside a rule on one command. For the others a call is made up that the
 * rule should fit, and judged by the rule alone (does it ever decide?) and by all of them (does another one always
 * decide instead?).
 */
#include "policy/lint.h"

#include "base/err.h"
#include "base/grow.h"
#include "policy/examples.h"

/* A word that is in no rule and in no project, for calls that the linter tries. */
#define PROBE "nod_probe"

static const char *const level_names[] = {[LINT_NOTE] = "note", [LINT_WARNING] = "warning", [LINT_ERROR] = "error"};

const char *lint_level_name(enum lint_level level) { return level_names[level]; }

/* ---- findings ---- */

void lint_add(struct linting *l, enum lint_level level, struct str instead, struct str words)
{
    ARENA_GROW(l->arena, l->out.items, l->out.count, l->room);
    l->out.items[l->out.count++] = (struct lint){l->at, level, words, instead};
}

void lint_dead(struct linting *l, struct str instead, struct str words)
{
    lint_add(l, lint_allows(l) ? LINT_WARNING : LINT_ERROR, instead, words);
}

static bool found_before(const struct linting *l)
{
    return l->out.count && l->out.items[l->out.count - 1].index == l->at;
}

struct str lint_words(struct arena *arena, const struct lint *lint)
{
    if (str_empty(lint->instead))
        return lint->words;
    return arena_printf(arena, "%.*s; did you mean %.*s?", STR_ARG(lint->words), STR_ARG(lint->instead));
}

/* ---- by a made-up call ---- */

/* An example command of the rule with stars filled in; `more`: with one more word. */
static struct str example_of(struct linting *l, bool more)
{
    const struct rule *rule = &l->rule;
    BUF_SCOPE(buf, 1 << 16);
    struct str text = lint_content(rule->text);
    switch (rule->kind) {
    case RULE_TOOL: return rule->tool;
    case RULE_SERVER: text = str_trim(str_sub(rule->text, 0, str_find(rule->text, '&'))); break;
    case RULE_GROUP: return rule->tool;
    case RULE_HOST:
        return arena_printf(l->arena, "https://%s%.*s/",
                            str_empty(rule->host) ? "example.org"
                            : rule->below         ? "probe."
                                                  : "",
                            STR_ARG(rule->host));
    case RULE_URL:
        text = arena_printf(
            l->arena, "%.*s://%s%.*s%s%.*s%.*s", STR_ARG(str_empty(rule->scheme) ? STR("https") : rule->scheme),
            str_empty(rule->host) ? "example.org"
            : rule->below         ? "probe."
                                  : "",
            STR_ARG(rule->host), rule->port.n ? ":" : "", STR_ARG(rule->port), STR_ARG(rule->url_rest));
        break;
    case RULE_FIELD: text = rule->value; break;
    case RULE_EXACT:
    case RULE_PREFIX:
    case RULE_GLOB: text = str_ends(text, STR(":*")) ? str_sub(text, 0, text.n - 2) : text; break;
    case RULE_PATH: break;
    }
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] != '*' && !(text.p[i] == '?' && rule->kind == RULE_PATH))
            buf_putc(&buf, text.p[i]);
        else if (i == 0 || text.p[i - 1] != '*')
            buf_puts(&buf, text.p[i] == '?' ? "x" : PROBE);
    }
    if (more && rule->kind == RULE_PREFIX)
        buf_puts(&buf, " " PROBE);
    return arena_str(l->arena, buf_str(&buf));
}

/* Judges a made-up call by these rules. */
static bool judge_probe(struct linting *l, const struct rule_set *set, bool more, struct verdict *ret_verdict)
{
    struct tool_facts facts;
    struct str example = example_of(l, more);
    const struct rule_source *source = lint_source(l);
    bool bound = source->reach == REACH_PROJECT && !str_empty(source->project.path);
    struct str root = bound ? source->project.path : STR("/project");
    /* `//abs` is written with one slash in a call. */
    if (l->rule.kind == RULE_PATH && l->rule.base == BASE_ROOT)
        example = str_sub(example, 1, example.n);
    else if (l->rule.kind == RULE_PATH && l->rule.base == BASE_PROJECT)
        example = arena_printf(l->arena, "%.*s%.*s", STR_ARG(root), STR_ARG(example));
    if (rc_bad(example_facts(l->arena, &l->rule, example, &facts, NULL)))
        return false;
    struct question question = {.facts = &facts,
                                .rules = set,
                                .cwd = root,
                                .root = root,
                                .home = STR("/home/someone"),
                                .no_builtin = true,
                                .now_ms = l->now_ms};
    if (!lint_allows(l))
        question.mode = MODE_BYPASS;
    *ret_verdict = policy_judge(l->arena, &question);
    return true;
}

/* `sort -o:*`: the option takes a value, and the command means nothing without it. */
static bool ends_with_option(const struct rule *rule)
{
    struct str text = lint_content(rule->text);
    size_t at = text.n;
    if (rule->kind != RULE_PREFIX)
        return false;
    while (at > 0 && text.p[at - 1] != ' ')
        at--;
    return at > 0 && at < text.n && text.p[at] == '-';
}

/* Whether the rule ever decides when it is alone; if not, gives text and source of the last verdict. */
static bool decides_alone(struct linting *l, struct verdict *ret_verdict)
{
    struct rule_source alone = *lint_source(l);
    alone.expires_at_ms = 0;
    alone.counted = false;
    alone.trusted = true;
    alone.project_is_root = true;
    alone.match_count = alone.not_match_count = 0;
    struct rule_set *set = rule_set_new(&alone, 1);
    bool decides = false;
    for (int more = ends_with_option(&l->rule); more < 2 && !decides; more++)
        if (judge_probe(l, set, more, ret_verdict))
            decides = ret_verdict->rule_count > 0 && ret_verdict->effect == alone.effect;
    ARENA_KEEP(l->arena, &ret_verdict->why, &ret_verdict->source);
    rule_set_free(set);
    return decides;
}

/* Whether no example call can be made from the rule: it has a star in the middle, a group, a host or a field. */
static bool cannot_probe(const struct rule *rule)
{
    return rule->kind == RULE_GLOB || rule->kind == RULE_FIELD || rule->kind == RULE_GROUP || rule->host_count ||
           (rule->kind == RULE_SERVER && !str_is(rule->value, "*"));
}

/* Judges a made-up call by this rule alone: a rule that decides nothing even then never will. */
static bool lint_alone(struct linting *l)
{
    struct verdict verdict = {0};
    /* Rules on the box are about no call. */
    if (cannot_probe(&l->rule) || str_starts(l->rule.tool, STR("box.")) || decides_alone(l, &verdict))
        return false;
    if (str_is(verdict.source, "protected"))
        lint_add(l, LINT_WARNING, STR_NONE,
                 arena_printf(l->arena, "it never lets a call pass: %.*s", STR_ARG(verdict.why)));
    else
        lint_dead(l, STR_NONE,
                  arena_printf(l->arena, "%s: %.*s",
                               lint_allows(l) ? "it is not enough by itself to let a call pass" : "it stops nothing",
                               STR_ARG(verdict.why)));
    return true;
}

/* Warns if another rule decides every call that this one names. */
static void lint_shadowed(struct linting *l)
{
    struct compiled *own = &l->set->rules[l->at];
    struct verdict verdict;
    bool was = own->broken;
    if (cannot_probe(&l->rule) || was)
        return;
    own->broken = true;
    bool other = judge_probe(l, l->set, true, &verdict) && verdict.rule_count == 1 && verdict.effect != EFFECT_ASK;
    own->broken = was;
    const struct verdict_rule *rule = other ? &verdict.rules[0] : NULL;
    if (!rule || str_eq(rule->text, l->rule.text)) /* equal rules: lint_twice reports the second */
        return;
    if (lint_allows(l) && verdict.effect == EFFECT_DENY)
        lint_add(l, LINT_WARNING, STR_NONE,
                 arena_printf(l->arena, "`deny %.*s` beats it: every call it names is refused", STR_ARG(rule->text)));
    else if (verdict.effect == lint_source(l)->effect && rule->layer == lint_source(l)->layer)
        lint_add(l, LINT_NOTE, STR_NONE,
                 arena_printf(l->arena, "it adds nothing: `%s %.*s` says the same and more",
                              effect_name(rule->effect), STR_ARG(rule->text)));
}

/* Same effect, layer, project and text. */
static bool lint_twice(struct linting *l)
{
    const struct rule_source *source = lint_source(l);
    struct str key = arena_printf(l->arena, "%d %d %.*s\n%.*s", (int)source->effect, (int)source->layer,
                                  STR_ARG(source->project.path), STR_ARG(l->rule.text));
    if (!map_put(&l->seen, key, l))
        return false;
    lint_add(l, LINT_NOTE, STR_NONE, STR("the same rule is there twice"));
    return true;
}

/* ---- all ---- */

/* In the order of severity: a rule with an error in its text is not looked at further. */
static void lint_rule(struct linting *l)
{
    struct err err = {0};
    const struct rule_source *source = lint_source(l);
    if (rc_bad(rule_parse(l->arena, source->text, &l->rule, &err))) {
        lint_malformed(l, err.text);
        return;
    }
    if (lint_allows(l) && rc_bad(rule_for_allow(&l->rule, &err))) {
        lint_add(l, LINT_ERROR, STR_NONE, arena_str(l->arena, str_of(err.text)));
        return;
    }
    if (source->expires_at_ms && source->expires_at_ms <= l->now_ms && l->now_ms)
        lint_add(l, LINT_NOTE, STR_NONE, STR("its time is over: it holds no longer"));
    if (source->counted && !source->uses_left)
        lint_add(l, LINT_NOTE, STR_NONE, STR("all its uses are spent: it holds no longer"));
    if (lint_text(l) || lint_alone(l))
        return;
    lint_wide(l);
    if (l->set && !found_before(l) && !lint_twice(l))
        lint_shadowed(l);
}

/* Each rule by itself and beside those before it. The texts are copied into `arena`, since the set that made them is
 * freed. */
struct linted policy_lint(struct arena *arena, const struct rule_source *rules, size_t count, lint_tools *tools,
                          int64_t now_ms)
{
    struct linting l = {.arena = arena, .sources = rules, .count = count, .tools = tools, .now_ms = now_ms,
                        .set = rule_set_new(rules, count)};
    /* Rules beyond the limit of a set are not used at all. */
    for (l.at = 0; l.at < count && l.at < l.set->count; l.at++)
        lint_rule(&l);
    for (size_t i = 0; i < l.out.count; i++)
        l.out.items[i].words = arena_str(arena, l.out.items[i].words);
    rule_set_free(l.set);
    map_done(&l.seen);
    return l.out;
}

struct rc policy_lint_check(struct arena *arena, const struct rule_source *rule, lint_tools *tools, struct err *err)
{
    struct linting l = {.arena = arena, .sources = rule, .count = 1, .tools = tools};
    lint_rule(&l);
    for (size_t i = 0; i < l.out.count; i++)
        if (l.out.items[i].level == LINT_ERROR)
            return err_set(err, ERR_INVALID, "%.*s", STR_ARG(lint_words(arena, &l.out.items[i])));
    return RC_OK;
}
