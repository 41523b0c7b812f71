/* Rules that open something in a box: `box.read(path)`, `box.write(path)`, `box.port(N)` of the managed and the
 * user's layer become struct opening, from which gate/boxes.c makes the mounts and listeners. Also decides
 * whether a git command is plain enough for `.git` to be writable in the box. */
#include "policy/judge.h"
#include "policy/ruleset.h"

/* ---- what rules open ---- */

static bool is_wild(struct str s) { return str_find(s, '*') < s.n || str_find(s, '?') < s.n; }

/* Only paths without wildcards can be mounted; two stars behind a folder mean the folder. */
static bool path_of(struct arena *arena, const struct question *question, const struct rule *rule,
                    struct opening *opening)
{
    struct str path = rule->pattern, base = STR_NONE;
    if (rule->ups)
        return false;
    opening->is_folder = str_ends(path, STR("/**"));
    if (opening->is_folder)
        path = str_sub(path, 0, path.n - 3);
    if (str_empty(path) || is_wild(path))
        return false;
    switch (rule->base) {
    case BASE_HOME: base = question->home; break;
    case BASE_CWD: case BASE_PROJECT: base = question->root; break;
    case BASE_ROOT: case BASE_COUNT: break;
    }
    if (rule->base != BASE_ROOT && str_empty(base))
        return false;
    opening->what = arena_printf(arena, "%.*s/%.*s", STR_ARG(base), STR_ARG(path));
    return true;
}

/* Whether a deny or ask rule of any layer concerns it: by its name, by a folder above it, or by a pattern that begins
 * like it. */
static bool closes(struct arena *arena, const struct question *question, const struct compiled *rule,
                   const struct opening *opening)
{
    struct opening closed = {0};
    const struct rule *said = &rule->rule;
    if (rule->broken || rule->effect == EFFECT_ALLOW || !str_eq(said->tool, opening->tool) ||
        !rule_in_force(rule, question->now_ms))
        return false;
    if (said->kind == RULE_FIELD)
        return match_glob(said->value, opening->what);
    struct rule plain = *said;
    size_t star = 0;
    while (star < plain.pattern.n && plain.pattern.p[star] != '*' && plain.pattern.p[star] != '?')
        star++;
    plain.pattern = str_sub(plain.pattern, 0, star);
    if (said->kind != RULE_PATH || !path_of(arena, question, &plain, &closed))
        return true; /* a rule on the whole tool, or a pattern that begins with a wildcard */
    bool wild = star < said->pattern.n;
    return str_starts(opening->what, closed.what) &&
           (wild || opening->what.n == closed.what.n || opening->what.p[closed.what.n] == '/');
}

static bool is_closed(struct arena *arena, const struct question *question, const struct opening *opening)
{
    return ANY(size_t i = 0; i < question->rules->count; i++,
               closes(arena, question, &question->rules->rules[i], opening));
}

/* Rules of a project are not enough: whoever writes the repository would open the box. */
static bool opening_of(struct arena *arena, const struct question *question, const struct compiled *rule,
                       struct opening *opening)
{
    bool layer = rule->source.layer == LAYER_MANAGED || rule->source.layer == LAYER_USER;
    if (rule->broken || rule->effect != EFFECT_ALLOW || !layer || !str_starts(rule->rule.tool, STR("box.")) ||
        !rule_in_force(rule, question->now_ms))
        return false;
    *opening = (struct opening){.tool = rule->rule.tool};
    if (rule->rule.kind == RULE_PATH)
        return path_of(arena, question, &rule->rule, opening);
    opening->what = rule->rule.value;
    return rule->rule.kind == RULE_FIELD && str_is(rule->rule.tool, "box.port") && !is_wild(opening->what);
}

size_t policy_openings(struct arena *arena, const struct question *question, struct opening ret_openings[OPENINGS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; question->rules && i < question->rules->count && count < OPENINGS_MAX; i++)
        count += opening_of(arena, question, &question->rules->rules[i], &ret_openings[count]) &&
                 !is_closed(arena, question, &ret_openings[count]);
    return count;
}

/* ---- plain git ---- */

/* Whether it is a git sub-command that works on the repository itself and runs no command from its words. */
static bool plain_sub(const struct word *word)
{
    static const char *const subs[] = {"add", "am", "apply", "branch", "checkout", "cherry-pick", "commit", "diff",
                                       "fetch", "gc", "init", "log", "ls-files", "merge", "mv", "notes", "pull",
                                       "push", "rebase", "reflog", "reset", "restore", "revert", "rm", "show",
                                       "stash", "status", "switch", "tag", "worktree"};
    return ANY(size_t i = 0; i < sizeof subs / sizeof *subs; i++, word_is(word, subs[i]));
}

static bool only_prints(const struct word *word)
{
    static const char *const names[] = {"echo", "printf", "true", "pwd", "ls", "cat", "head", "tail", "wc", "grep"};
    return ANY(size_t i = 0; i < sizeof names / sizeof *names; i++, word_is(word, names[i]));
}

/* Options that make git run a program, or use files that they name, with any sub-command. */
static bool sharp_option(struct str word)
{
    static const char *const beginnings[] = {"--exec", "--upload-pack", "--receive-pack", "--ext-diff", "--textconv",
                                             "--strategy", "--template", "--output", "--edit", "--interactive",
                                             "--patch", "--separate", "--git-dir", "--work-tree", "--config"};
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
        struct str name = str_of(beginnings[i]), given = str_sub(word, 0, str_find(word, '='));
        /* git takes shortened options, too */
        if (given.n > 3 && (str_starts(given, name) || str_starts(name, given)))
            return true;
    }
    return false;
}

static bool plain_git(const struct node *node)
{
    size_t at = 1;
    while (at < node->word_count && (word_is(&node->words[at], "--no-pager") || word_is(&node->words[at], "-P")))
        at++;
    if (at == node->word_count || !plain_sub(&node->words[at]))
        return false;
    bool replays = word_is(&node->words[at], "rebase");
    for (size_t i = at + 1; i < node->word_count; i++) {
        struct str text = node->words[i].text;
        if (word_is(&node->words[i], "--"))
            break;
        if (sharp_option(text) || str_has(text, STR("::")) || (replays && str_starts(text, STR("-"))))
            return false;
    }
    return true;
}

static bool quiet_redirections(const struct node *node)
{
    return !ANY(const struct redir *redir = node->redirs; redir; redir = redir->next,
                redir->kind != REDIR_DUP && !word_is(&redir->target, "/dev/null"));
}

static bool plain_command(const struct node *node)
{
    if (node->word_count == 0 || node->assign_count || node->inside || !quiet_redirections(node))
        return false;
    for (size_t i = 0; i < node->word_count; i++)
        if (!word_literal(&node->words[i]))
            return false;
    return word_is(&node->words[0], "git") ? plain_git(node) : only_prints(&node->words[0]);
}

static bool plain_line(const struct node *node)
{
    bool joins = node->kind == NODE_LIST || node->kind == NODE_CHAIN || node->kind == NODE_PIPE;
    if (node->background)
        return false;
    if (node->kind == NODE_SIMPLE)
        return plain_command(node);
    if (!joins || node->redirs || !node->first)
        return false;
    return ALL(const struct node *child = node->first; child; child = child->next, plain_line(child));
}

bool policy_plain_git(struct arena *arena, struct str command)
{
    const struct shell *shell = shell_parse(arena, command);
    return !shell->doubt && plain_line(shell->root);
}
