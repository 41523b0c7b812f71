/* Whether allow rules let a part pass. Strict: every word, act and redirection must be meant by a rule.
 *
 * A rule that names the first words of a command means the program's usual work. Each act beyond that is
 * covered when the rule names the word that causes it, when another rule covers it (a file by an Edit rule, an
 * inner command by a rule of its own), or when it stays inside the session's folder. Without a rule only
 * judge_builtin.c may let it pass.
 */
#include "policy/judge_sweep.h"

#include "base/err.h"
#include "base/local.h"
#include "policy/effects.h"
#include "policy/groups.h"

/* The state of asking for one part whether rules cover it. */
struct covering {
    struct judging *j;
    const struct folder *folder;
    const struct node *node; /* the part of the line; NULL: a command inside another one (`env a`) */
    const char *why; /* the best reason against it so far */
};

static bool argv_covered(struct covering *c, struct argv *argv, const struct study *study,
                         const struct compiled **ret_rule);

/* Whether something may pass without a rule. */
static bool has_builtins(const struct judging *j) { return !j->rules_alone && !j->q->no_builtin && !j->remote; }

/* ---- files ---- */

/* Reading inside the session's folder, or what the system tells everybody, needs no rule. */
static bool file_builtin(struct judging *j, const struct place *place)
{
    if (!has_builtins(j) || !place_readable(j, place) || target_secret(place->named, false) ||
        target_secret(place->real, false))
        return false;
    j->builtin = true;
    return true;
}

/* Where rules allow edits in the project, they also allow files below /tmp: no rule runs programs from there. */
static const struct compiled *temporary_covered(struct judging *j, const struct place *place)
{
    struct place inside = j->places.project;
    if (j->rules_alone || str_empty(inside.named) || !path_within(place->named, STR("/tmp")) ||
        !path_within(place->real, STR("/tmp")) || place->named.n <= 5)
        return NULL;
    inside.named = inside.real = arena_printf(j->arena, "%.*s/x.txt", STR_ARG(inside.named));
    return place_covered(j, &inside, STR("Edit"));
}

/* A file that a redirection or an option touches needs a rule of its own. */
static bool file_covered(struct covering *c, const struct word *word, bool writes)
{
    static const char *const editing[] = {"Edit", "Write"};
    struct place place;
    if (word_literal(word) && str_is(word->text, "/dev/null"))
        return true;
    if (!writes && !word_literal(word) && has_builtins(c->j) && judge_reads_inside(c->j, word, c->node, c->folder))
        return true;
    if (!word_is_path(word) || str_starts(word->text, STR("/dev/")) ||
        !place_of(c->j, c->folder, word->text, &place))
        return false;
    if (place_protected(c->j, &place, (struct touch){.looks = !writes}))
        return false;
    if (!writes && file_builtin(c->j, &place))
        return true;
    const struct compiled *rule = NULL;
    for (size_t i = 0; writes && i < 2 && !rule; i++)
        rule = place_covered(c->j, &place, str_of(editing[i]));
    if (!writes)
        rule = place_covered(c->j, &place, STR("Read"));
    if (!rule && writes)
        rule = temporary_covered(c->j, &place);
    if (rule)
        judge_note_used(c->j, rule);
    bool accepted = writes && c->j->q->mode == MODE_ACCEPT_EDITS && !c->j->rules_alone && place_inside(c->j, &place);
    c->j->accepted = c->j->accepted || accepted;
    return rule != NULL || accepted;
}

/* A word with a substitution is allowed where its command is allowed and the word is used as text only. */
static bool words_known(struct judging *j, const struct node *node, const struct word *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if ((words[i].flags & WORD_DOUBT) ||
            ((words[i].flags & WORD_RUNS) && (!has_builtins(j) || node->inside_bad)))
            return false;
    return true;
}

/* `>` needs an Edit rule for the file, `<` a Read rule, unless the file lies inside the session's folder. */
const char *redirs_uncovered(struct judging *j, const struct node *node, const struct folder *folder)
{
    struct covering c = {.j = j, .folder = folder};
    for (const struct redir *redir = node->redirs; redir; redir = redir->next) {
        if (!words_known(j, node, &redir->target, 1))
            return "it runs a substitution, or expands in a way that is not understood";
        switch (redir->kind) {
        case REDIR_DUP: case REDIR_HEREDOC: case REDIR_HERESTRING: break;
        case REDIR_IN:
            if (!file_covered(&c, &redir->target, false))
                return "it reads a file by redirection, and no Read rule covers that file";
            break;
        case REDIR_INOUT:
            if (!file_covered(&c, &redir->target, false))
                return "it reads a file by redirection, and no Read rule covers that file";
            [[fallthrough]];
        case REDIR_OUT: case REDIR_APPEND:
            if (!file_covered(&c, &redir->target, true))
                return "it writes a file by redirection, and no Edit rule covers that file";
            break;
        }
    }
    return NULL;
}

/* ---- acts ---- */

static bool acts_covered(struct covering *c, const struct study *study, size_t named);

/* Whether the command that an act runs is covered by a rule of its own. The result is kept at the act. */
static bool inner_covered(struct covering *c, struct act *act)
{
    CHECK(act->kind == ACT_RUNS && act->inner.count > 0);
    struct judging *j = c->j;
    if (act->covered == COVER_UNKNOWN) {
        act->covered = COVER_NO;
        if (j->depth < STUDY_DEPTH_MAX) {
            bool remote = act->flags & ACT_REMOTE;
            j->depth++;
            j->remote += remote;
            const struct study *study = act_inner_study(j, act, j->depth);
            const struct compiled *rule;
            if (argv_covered(c, &act->inner, study, &rule))
                act->covered = COVER_YES;
            j->remote -= remote;
            j->depth--;
        }
    }
    return act->covered == COVER_YES;
}

/* The text of `sh -c`: each of its commands as if it stood on the line. Found once and kept at the act. */
static bool script_covered(struct covering *c, struct act *act)
{
    CHECK(act->kind == ACT_SCRIPT && act->script);
    struct judging *j = c->j;
    if (act->covered == COVER_UNKNOWN) {
        act->covered = COVER_NO;
        if (j->depth < STUDY_DEPTH_MAX && !act->script->doubt && act->script->part_count) {
            bool remote = act->flags & ACT_REMOTE;
            j->depth++;
            j->remote += remote;
            j->part_count += act->script->part_count;
            if (judge_tree_covered(j, act->script, c->folder))
                act->covered = COVER_YES;
            j->remote -= remote;
            j->part_count -= act->script->part_count;
            j->depth--;
        }
    }
    return act->covered == COVER_YES;
}

/* The act that the program's own name says: cp writes its target, rm removes. */
static bool act_natural(const struct act *act) { return act->path.text.p && (act->flags & ACT_NATURAL); }

/* Whether one of the paths that the act's word may become, seen from that folder, is outside. */
static bool leaves_from(struct covering *c, const struct act *act, struct str folder, bool writes)
{
    struct str targets[TARGETS_MAX] NOT_ZEROED;
    size_t count = judge_targets(c->j, &act->path, folder, targets);
    for (size_t i = 0; i < count; i++)
        if (judge_target_outside(c->j, targets[i]) &&
            (!target_literal(targets[i]) || !file_covered(c, &act->path, writes)))
            return true;
    return false;
}

/* Whether an act leaves the session's folder, which a rule on a program does not cover without a rule on the path. */
static bool act_outside(struct covering *c, const struct act *act)
{
    if (c->j->rules_alone)
        return false;
    if ((act->path.flags & WORD_TILDE) && !word_is_path(&act->path))
        return true; /* ~user */
    bool writes = act->kind != ACT_READS && act->kind != ACT_PROJECT;
    /* `$x/etc/passwd` is /etc/passwd if x is empty. */
    size_t slash = str_find(act->path.shape, '/');
    bool unset = slash && slash < act->path.shape.n && act->path.shape.p[slash - 1] == SHAPE_ANY &&
                 str_find(act->path.shape, SHAPE_ANY) == 0 &&
                 effect_leaves_project(str_sub(act->path.shape, slash, act->path.shape.n));
    if (unset || judge_name_made(c->j, &act->path, c->node, c->folder, writes))
        return true;
    if (leaves_from(c, act, c->folder->known ? c->folder->path : STR_NONE, writes))
        return true;
    /* Whether a `cd` before it has failed is not known: below either folder there may be a link. */
    bool guessed = !c->folder->known && c->folder->inside && !str_empty(c->folder->path);
    return guessed && (leaves_from(c, act, c->folder->path, writes) ||
                       leaves_from(c, act, c->j->places.cwd.named, writes));
}

/* Whether an act is covered by a rule that names the first `named` words of the command: acts caused by these words
 * are, others need a rule of their own or must stay inside the session's folder. */
static bool act_covered(struct covering *c, struct act *act, size_t named)
{
    if (named == SIZE_MAX || (act->fine_alone && c->j->part_count == 1))
        return true;
    bool meant = act->word < named;
    switch (act->kind) {
    case ACT_RUNS: {
        if (!meant)
            return inner_covered(c, act);
        c->j->depth++;
        const struct study *study = act_inner_study(c->j, act, c->j->depth);
        bool covered = acts_covered(c, study, named - act->word);
        c->j->depth--;
        return covered;
    }
    case ACT_SCRIPT: return meant || script_covered(c, act);
    case ACT_WRITES:
        return meant || (act_natural(act) ? !act_outside(c, act) : file_covered(c, &act->path, true));
    case ACT_READS: case ACT_REMOVES: return meant || !act_outside(c, act);
    case ACT_PROJECT:
        if (!meant && act->path.text.p && act_outside(c, act))
            return false;
        [[fallthrough]];
    case ACT_TALKS: case ACT_CHANGES: return meant || !(act->flags & ACT_BY_OPTION);
    case ACT_CODE: case ACT_TEXT: case ACT_OTHER: case ACT_OBEYS: return meant;
    }
    return false;
}

static bool acts_covered(struct covering *c, const struct study *study, size_t named)
{
    for (struct act *act = study->acts; act; act = act->next) {
        if (!act_covered(c, act, named)) {
            c->why = act->why;
            return false;
        }
    }
    if (!c->j->rules_alone)
        sweep_covered(c->j, study, c->node, c->folder, named);
    return true;
}

/* ---- rules ---- */

static bool study_is_git(const struct study *study)
{
    return study->table && str_starts(table_str(study->table->name), STR("git"));
}
static const char *const strange_git = "git may find a repository there that is not yours";

/* The first rule under the key that fits the words, the hosts and all acts. A rule that fits the words only
 * gives the reason why it was not enough. */
static const struct compiled *covered_under(struct covering *c, const struct rule_key *key, struct argv *argv,
                                            const struct study *study)
{
    uint64_t hash;
    uint32_t at = 0;
    const struct compiled *rule;
    while ((rule = rule_set_next(c->j->set, SIDE_ALLOW, key, &hash, &at))) {
        if (!str_is(rule->rule.tool, "Bash") || !rule_in_force(rule, c->j->q->now_ms))
            continue;
        size_t named = rule->rule.kind == RULE_GROUP ? group_covers(c->j->arena, &rule->rule, argv, study)
                                                     : words_covered(c->j->arena, &rule->rule, argv);
        if (named == 0)
            continue;
        if (!groups_cover_hosts(c->j->arena, &rule->rule, argv, study)) {
            c->why = "it talks to another host than the rule names, or nobody knows to which";
            continue;
        }
        /* An act names its word by its number from the program on; `named` counts the assignments before it, too. */
        size_t behind = named == SIZE_MAX            ? SIZE_MAX
                        : named > argv->assign_count ? named - argv->assign_count
                                                     : 0;
        if (rule->rule.kind != RULE_TOOL && study_is_git(study) &&
            folder_strange_to_git(c->j, c->folder)) {
            c->why = strange_git;
            continue;
        }
        if (behind && acts_covered(c, study, behind))
            return rule;
    }
    return NULL;
}

/* For argv_builtin: a command that a reading command runs, or a file that it writes, may be covered by rules. */
static bool inner_passes(void *arg, struct act *act)
{
    struct covering *c = arg;
    return act->kind == ACT_RUNS ? inner_covered(c, act) : file_covered(c, &act->path, true);
}

/* Why the command does not pass without a rule; NULL: it does. */
static const char *needs_rule(struct covering *c, struct argv *argv, const struct study *study)
{
    const char *why = argv->assign_count ? c->why
                      : c->j->remote     ? judge_no_rule
                                         : argv_builtin(c->j, argv, study, c->node, c->folder, inner_passes, c);
    if (!why && study_is_git(study) && folder_strange_to_git(c->j, c->folder))
        why = strange_git;
    c->j->builtin = c->j->builtin || !why;
    return why;
}

/* Rules filed under the first two words come before those under one, and these before rules on every command.
 * If none fits, the command is tried without harmless assignments in front, then as one that needs no rule. Where
 * the mode lets only what needs no rule pass, that is tried first: a rule that allows it, too, must not stop it. */
static bool argv_covered(struct covering *c, struct argv *argv, const struct study *study,
                         const struct compiled **ret_rule)
{
    struct rule_key keys[] = {
        {.kind = KEY_WORDS,
         .first = argv->words[0].text,
         .second = argv->count > 1 ? argv->words[1].text : STR_NONE},
        {.kind = KEY_WORD, .first = argv->words[0].text},
        {.kind = KEY_TOOL, .first = STR("Bash")},
    };
    bool planning = c->j->q->mode == MODE_PLAN || c->j->q->mode == MODE_READ_ONLY;
    const char *why = planning ? needs_rule(c, argv, study) : NULL;
    *ret_rule = NULL;
    if (planning && !why)
        return true;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const struct compiled *rule = covered_under(c, &keys[i], argv, study);
        if (rule) {
            judge_note_used(c->j, rule);
            *ret_rule = rule;
            return true;
        }
    }
    /* Without the assignments in front, once they are harmless. */
    struct argv bare = argv_command(argv);
    if (argv->assign_count && bare.count && !c->j->rules_alone && !c->j->remote && c->node &&
        judge_assignments_harmless(c->j, c->node, c->folder))
        return argv_covered(c, &bare, study, ret_rule);
    why = planning ? why : needs_rule(c, argv, study);
    if (why && c->why == judge_no_rule)
        c->why = why;
    return !why;
}

/* ---- parts ---- */

/* Commands that need no rule outside the session's folder either. */
static bool fine_anywhere(const struct argv *argv)
{
    return argv->count && (word_is(&argv->words[0], "cd") || word_is(&argv->words[0], "pwd"));
}

/* Whether a node without a command (`x=$(c)`) only sets harmless variables. */
static bool sets_own(struct judging *j, const struct node *node, const struct folder *folder)
{
    if (!has_builtins(j) || !judge_assignments_harmless(j, node, folder) || words_secret(j, node))
        return false;
    j->builtin = true;
    return true;
}

/* A rule on a command means the session's folder: outside of it only a rule on the whole tool covers the part. */
bool judge_part_covered(struct judging *j, struct node *node, const struct folder *folder,
                        const struct compiled **ret_rule, const char **ret_why)
{
    CHECK(node->kind == NODE_SIMPLE);
    struct covering c = {.j = j, .folder = folder, .node = node, .why = judge_no_rule};
    *ret_rule = NULL;
    struct argv argv = node_argv(node);
    *ret_why = c.why;
    if (!argv.count) {
        *ret_why = "it is not a command";
        return false;
    }
    if (!words_known(j, node, argv.words, argv.count)) {
        *ret_why = "it runs a substitution, or expands in a way that is not understood";
        return false;
    }
    if (argv.assign_count == argv.count && sets_own(j, node, folder))
        return (*ret_why = redirs_uncovered(j, node, folder)) == NULL;
    bool covered = argv_covered(&c, &argv, node_study(j, node), ret_rule);
    *ret_why = c.why;
    if (!covered)
        return false;
    bool everything = *ret_rule && (*ret_rule)->rule.kind == RULE_TOOL;
    if (*ret_rule && !folder->inside && !everything && !fine_anywhere(&argv)) {
        *ret_why = "it would run outside the session's folder, or nobody knows where";
        return false;
    }
    *ret_why = redirs_uncovered(j, node, folder);
    return *ret_why == NULL;
}

/* Whether rules cover every command of a text. Changes of the folder are not followed here, so a text with a cd, or
 * with a command substitution, is not covered. */
static bool nodes_covered(struct judging *j, struct node *node, const struct folder *folder)
{
    const char *why;
    const struct compiled *rule;
    if (node->moves || node->inside || node->kind == NODE_DOUBT)
        return false;
    for (size_t i = 0; i < node->word_count; i++)
        if (node->words[i].flags & WORD_UNKNOWABLE)
            return false;
    if (node->kind == NODE_SIMPLE)
        return judge_part_covered(j, node, folder, &rule, &why);
    if (redirs_uncovered(j, node, folder))
        return false;
    for (struct node *child = node->first; child; child = child->next)
        if (!nodes_covered(j, child, folder))
            return false;
    return true;
}

bool judge_tree_covered(struct judging *j, const struct shell *script, const struct folder *folder)
{
    CHECK(!script->doubt);
    return nodes_covered(j, script->root, folder);
}
