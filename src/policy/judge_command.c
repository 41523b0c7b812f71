/* A command line, part by part: walks the tree in the order in which it runs, and follows the folder.
 *
 * Each simple command is visited once: objections first (judge_stop.c), then coverage (judge_cover.c), then its
 * risk. The folder is part of the question, because a relative path and a rule on the project mean different
 * files after `cd`. Where it cannot be followed (a variable, a branch, `popd`) it counts as not known, and
 * rules that rest on it do not fit.
 */
#include "policy/judge.h"

#include "base/err.h"
#include "base/grow.h"
#include "policy/table.h"

struct argv node_argv(const struct node *node)
{
    return (struct argv){.words = node->words, .count = node->word_count, .assign_count = node->assign_count};
}

struct argv argv_command(const struct argv *argv)
{
    return (struct argv){.words = argv->words + argv->assign_count,
                         .count = argv->count - argv->assign_count};
}

/* The study of the node's command: the acts that its words mean (effects.h). It is made at the first use and kept at
 * the node, because objections, coverage and risk all read it. */
const struct study *node_study(struct judging *j, struct node *node)
{
    if (!node->study) {
        struct argv all = node_argv(node), argv = argv_command(&all);
        node->study = arena_new(j->arena, struct study);
        effect_study(j->arena, &argv, j->depth, node->study);
    }
    return node->study;
}

const struct study *act_inner_study(struct judging *j, struct act *act, unsigned depth)
{
    CHECK(act->kind == ACT_RUNS);
    if (!act->inner_study) {
        act->inner_study = arena_new(j->arena, struct study);
        effect_study(j->arena, &act->inner, depth, act->inner_study);
    }
    return act->inner_study;
}

/* ---- the folder ---- */

/* After this nothing relative is known to lie inside the session's folder. */
static void lost(struct folder *folder)
{
    folder->known = false;
    folder->inside = false;
}

/* Whether a relative path stays below where it begins. */
static bool climbs(struct str path)
{
    int depth = 0;
    STR_EACH(part, path, '/') {
        if (str_is(part, ".."))
            depth--;
        else if (!str_empty(part) && !str_is(part, "."))
            depth++;
        if (depth < 0)
            return true;
    }
    return false;
}

/* A folder below the real name of the session's folder, by the name that the session has for it. */
static struct str named_again(struct judging *j, struct str path)
{
    const struct place *project = &j->places.project;
    struct str rest;
    if (str_eq(path, project->real))
        return project->named;
    return path_below(path, project->real, &rest)
               ? arena_printf(j->arena, "%.*s/%.*s", STR_ARG(project->named), STR_ARG(rest))
               : path;
}

/* Whether the way leads up out of a session's folder that is a link: bash may know it by its real name, and goes up
 * there. */
static bool climbs_out(const struct judging *j, struct str from, struct str to)
{
    const struct place *project = &j->places.project;
    return !str_eq(project->named, project->real) && path_within(from, project->named) &&
           !path_within(to, project->named);
}

/* Reads the options of cd; returns the word behind them, or 0 where one is not known. *ret_physical: as the last of -L
 * and -P says. */
static size_t cd_options(const struct argv *argv, bool *ret_physical)
{
    size_t at = 1;
    *ret_physical = false;
    for (; at < argv->count; at++) {
        struct str text = argv->words[at].text;
        if (!word_literal(&argv->words[at]) || text.n < 2 || text.p[0] != '-')
            return at;
        if (str_is(text, "--"))
            return at + 1;
        for (size_t i = 1; i < text.n; i++) {
            if (!strchr("LPe", text.p[i]))
                return 0;
            *ret_physical = text.p[i] == 'P' || (*ret_physical && text.p[i] == 'e');
        }
    }
    return at;
}

/* Whether plain cd may go another way than the text of the path says: where that folder is missing, bash lets the
 * kernel take the path, which goes through links. */
static bool may_fall_back(struct judging *j, const struct folder *folder, struct str target, struct str path)
{
    struct place opened, named;
    if (!j->q->look || !str_has(target, STR("..")))
        return false;
    if (!place_of(j, folder, target, &opened) || !place_of(j, folder, path, &named))
        return true;
    return !str_eq(opened.real, named.real) && (!named.exists || named.file);
}

static bool leads_inside(struct judging *j, struct str from, struct str target)
{
    struct folder here = {.path = from, .known = true};
    struct place place;
    return str_empty(from) || (place_of(j, &here, target, &place) && place_inside(j, &place));
}

/* From one of several folders on; a link below any of those that are known may lead out. */
static void go_on(struct judging *j, struct folder *folder, struct str target)
{
    folder->inside = folder->inside && !climbs(target) && leads_inside(j, folder->path, target) &&
                     leads_inside(j, j->places.cwd.named, target);
    folder->vague = true;
    if (!path_normal(j->arena, folder->path, j->places.home.named, target, &folder->path))
        folder->path = STR_NONE;
}

/* Follows `cd`, `cd dir`, `cd -P -- dir`; after any other change of folder the folder is not known. */
static void follow_cd(struct judging *j, const struct node *node, struct folder *folder)
{
    struct argv all = node_argv(node), argv = argv_command(&all);
    bool physical = false, cd = argv.count && word_is(&argv.words[0], "cd");
    size_t at = cd ? cd_options(&argv, &physical) : 0;
    if (!at) {
        lost(folder);
        return;
    }
    struct str target = at < argv.count ? argv.words[at].text : STR("~"), path = STR_NONE;
    bool readable = at == argv.count || (at + 1 == argv.count && word_is_path(&argv.words[at]));
    if (!readable || str_is(target, "-") || str_empty(target)) {
        lost(folder);
        return;
    }
    bool absolute = target.p[0] == '/' || target.p[0] == '~';
    if (!absolute && !folder->known) {
        go_on(j, folder, target);
        return;
    }
    struct place place = {0};
    struct str before = folder->path;
    folder->known = physical ? place_of(j, folder, target, &place)
                             : path_normal(j->arena, folder->path, j->places.home.named, target, &path);
    path = physical ? named_again(j, place.real) : path;
    bool other = !physical && folder->known && may_fall_back(j, folder, target, path);
    if (other || (!absolute && !physical && climbs_out(j, before, path))) {
        lost(folder);
        return;
    }
    folder->path = folder->known ? path : STR_NONE;
    folder->vague = false;
    folder->inside = folder->known && folder_inside(j, path);
}

static bool same_folder(const struct folder *a, const struct folder *b)
{
    return a->known == b->known && a->inside == b->inside && str_eq(a->path, b->path);
}

/* A command that may or may not have run: the folder is known only if both cases give the same. */
static void either(struct folder *folder, const struct folder *before)
{
    if (same_folder(folder, before))
        return;
    folder->known = false;
    folder->inside = folder->inside && before->inside;
}

/* ---- the walk ---- */

static void walk(struct judging *j, struct node *node, struct folder *folder);
static void visit(struct judging *j, struct node *node, const struct folder *folder);

/* A subshell's changes of folder end with it. */
static void walk_apart(struct judging *j, struct node *node, const struct folder *folder)
{
    struct folder copy = *folder;
    walk(j, node, &copy);
}

/* Substitutions of the node's words run before it. node->inside_bad tells the coverage of the node that one of
 * them is not allowed. */
static void walk_inside(struct judging *j, struct node *node, const struct folder *folder)
{
    j->depth++;
    bool before = j->inner_bad;
    j->inner_bad = false;
    for (struct node *inner = node->inside; inner; inner = inner->next)
        walk_apart(j, inner, folder);
    node->inside_bad = j->inner_bad;
    j->inner_bad = before || j->inner_bad;
    j->depth--;
}

/* The parts of a pipe each run in a shell of their own; of a chain (&&, ||) the later ones may not run; in a
 * list they run one after the other. */
static void walk_children(struct judging *j, struct node *node, struct folder *folder)
{
    struct folder start = *folder;
    const struct node *piped = j->piped, *pipe = j->pipe;
    if (node->kind == NODE_PIPE) {
        j->piped = NULL;
        j->pipe = node->first;
    }
    for (struct node *child = node->first; child; child = child->next) {
        struct folder before = *folder;
        switch (node->kind) {
        case NODE_PIPE:
            walk_apart(j, child, folder);
            j->piped = child;
            break;
        case NODE_DOUBT: walk_apart(j, child, folder); break;
        case NODE_CHAIN:
            if (child->join == JOIN_OR)
                either(folder, &start);
            walk(j, child, folder);
            break;
        case NODE_LIST: case NODE_SUBSHELL:
            walk(j, child, folder);
            if (child->background)
                *folder = before;
            else if (child->next)
                either(folder, &before);
            break;
        case NODE_GROUP: case NODE_BRANCH: walk(j, child, folder); break;
        case NODE_SIMPLE: break;
        }
    }
    j->piped = piped;
    j->pipe = pipe;
}

/* In the order in which bash would run the parts, so that a `cd` is known to those behind it. A subshell's folder
 * ends with it. */
static void walk(struct judging *j, struct node *node, struct folder *folder)
{
    struct folder before = *folder;
    walk_inside(j, node, folder);
    /* Which way a branch goes, and how often, only bash knows. */
    if (node->kind == NODE_BRANCH && node->moves)
        lost(folder);
    visit(j, node, folder);
    walk_children(j, node, folder);
    if (node->kind == NODE_SIMPLE && node->moves)
        follow_cd(j, node, folder);
    if (node->kind == NODE_SUBSHELL || node->kind == NODE_PIPE || node->kind == NODE_DOUBT)
        *folder = before;
    if (node->negated)
        either(folder, &before);
}

/* ---- one part ---- */

/* A command inside a substitution is not covered by the rule that covers the one around it. */
static void note_uncovered(struct judging *j, struct str text, const char *why)
{
    j->inner_bad = j->inner_bad || j->depth > 0;
    if (j->uncovered || j->depth > 0)
        return;
    j->uncovered = why;
    j->uncovered_text = text;
}

/* The operator between the last part of the line and one that begins at `text`. */
static struct str operator_before(const struct judging *j, struct str text)
{
    const struct verdict_part *last = j->parts_count ? &j->parts[j->parts_count - 1] : NULL;
    struct str line = j->q->facts->command;
    bool here = last && last->depth == 0 && j->depth == 0 && text.p >= line.p && text.p <= line.p + line.n;
    if (!here || last->text.p < line.p || last->text.p + last->text.n > text.p)
        return STR_NONE;
    struct str between = {last->text.p + last->text.n, (size_t)(text.p - (last->text.p + last->text.n))};
    between = str_trim(between);
    for (size_t i = 0; i < between.n; i++)
        if (!strchr("&|;", between.p[i]))
            return STR_NONE;
    return str_empty(between) ? STR(";") : between;
}

/* Parts are what a person is shown: each command with its effect, rule and reason, in the order of the line. */
static void add_part(struct judging *j, struct verdict_part part)
{
    part.operator = operator_before(j, part.text);
    ARENA_GROW(j->arena, j->parts, j->parts_count, j->parts_room);
    j->parts[j->parts_count++] = part;
}

/* The risk of a part, including its redirections; input from a pipe into a shell is unknown code. */
static unsigned part_risk(struct judging *j, struct node *node, const struct folder *folder)
{
    struct argv all = node_argv(node), argv = argv_command(&all);
    struct study files = {0};
    for (const struct redir *redir = node->redirs; redir; redir = redir->next) {
        if (redir->kind != REDIR_OUT && redir->kind != REDIR_APPEND && redir->kind != REDIR_INOUT)
            continue;
        struct act *act = arena_new(j->arena, struct act);
        *act = (struct act){.kind = ACT_WRITES, .path = redir->target, .next = files.acts};
        files.acts = act;
    }
    unsigned risk = files.acts ? acts_risk(j, &files, folder) : 0;
    if (!argv.count)
        return risk;
    const struct study *study = node_study(j, node);
    risk |= study_risk(j, study, folder);
    /* A file that an earlier part wrote is run by this one. */
    for (size_t i = 0; i < argv.count && (risk & RISK_INTERPRETER); i++)
        for (size_t k = 0; k < j->wrote_count; k++)
            if (str_eq(argv.words[i].text, j->wrote[k]))
                risk |= RISK_GENERATED;
    for (const struct act *act = study->acts; act; act = act->next)
        if (act->kind == ACT_WRITES && j->wrote_count < WROTE_MAX)
            j->wrote[j->wrote_count++] = act->path.text;
    return risk;
}

/* j->stop is set aside so that the objections to this part can be told from those to others; then they are
 * joined. */
static void visit_simple(struct judging *j, struct node *node, const struct folder *folder)
{
    CHECK(node->kind == NODE_SIMPLE);
    struct stop before = j->stop;
    struct verdict_part part = {.text = node->raw, .depth = j->depth, .effect = EFFECT_ASK};
    const char *why = NULL;
    j->stop = (struct stop){0};
    judge_part_stops(j, node, folder);
    struct stop stop = j->stop;
    const struct compiled *rule;
    bool covered = judge_part_covered(j, node, folder, &rule, &why);
    if (stop.rule) {
        part.effect = stop.effect;
        part.rule = verdict_rule_of(stop.rule);
        part.why = STR("a rule says so");
    } else if (covered) {
        part.effect = EFFECT_ALLOW;
        part.why = rule ? STR("a rule covers it") : STR("built-in: it only reads inside the session's folder");
        if (rule)
            part.rule = verdict_rule_of(rule);
    } else {
        part.why = str_of(why);
    }
    if (!covered)
        note_uncovered(j, node->raw, why);
    part.risk = part_risk(j, node, folder);
    j->risk |= part.risk;
    add_part(j, part);
    j->stop = before;
    if (stop.rule)
        stop_note(j, stop.rule);
    if (stop.people > j->stop.people)
        j->stop.people = stop.people;
}

/* Everything of a node but its children: words, redirections, doubts. */
static void visit(struct judging *j, struct node *node, const struct folder *folder)
{
    const char *why = NULL;
    if (node->kind == NODE_SIMPLE) {
        visit_simple(j, node, folder);
        return;
    }
    if (node->kind == NODE_DOUBT) {
        note_uncovered(j, node->raw, node->why);
        add_part(j, (struct verdict_part){.text = node->raw, .depth = j->depth, .why = str_of(node->why),
                                          .risk = RISK_UNKNOWN});
        j->risk |= RISK_UNKNOWN;
    }
    for (size_t i = 0; i < node->word_count; i++)
        if ((node->words[i].flags & WORD_DOUBT) ||
            ((node->words[i].flags & WORD_RUNS) && (j->rules_alone || j->q->no_builtin || node->inside_bad)))
            note_uncovered(j, node->words[i].raw,
                           "it runs a substitution, or expands in a way that is not understood");
    if (!j->rules_alone && words_secret(j, node))
        note_uncovered(j, node->raw, "it would show what may be secret: variables of the environment");
    if (node->kind == NODE_BRANCH)
        judge_values_stop(j, node, folder);
    redirs_stops(j, node, folder);
    if (node->redirs && (why = redirs_uncovered(j, node, folder)))
        note_uncovered(j, node->raw, why);
}

/* ---- the whole ---- */

/* Fields of the input beside the command that change nothing about what runs. */
static bool known_field(struct str key)
{
    static const char *const known[] = {
        "command",           "description",   "timeout",    "timeout_ms", "timeoutMs", "explanation",
        "run_in_background", "is_background", "background", "title",      "intent",    "why"};
    return STR_IN(key, known);
}

/* A line with a doubt is walked as far as it was read, and searched as text: rules against a command hold even
 * so. */
void judge_command(struct judging *j)
{
    const struct tool_facts *facts = j->q->facts;
    struct shell *shell = shell_parse(j->arena, facts->command);
    struct folder folder = {
        .path = j->places.cwd.named, .known = !str_empty(j->places.cwd.named), .inside = !j->elsewhere};
    j->tree = shell->root;
    j->part_count = shell->part_count;
    if (shell->doubt) {
        j->unknown = shell->doubt;
        j->risk |= RISK_UNKNOWN;
        note_uncovered(j, facts->command, shell->doubt);
        (void)judge_text_stops(j, facts->command, true);
    }
    for (const struct json *field = facts->input ? facts->input->first : NULL; field; field = field->next)
        if (!known_field(field->key) && field->type != JSON_NULL)
            note_uncovered(j, field->key, "its input has a field that may change what runs");
    walk(j, shell->root, &folder);
    if (!shell->part_count)
        note_uncovered(j, facts->command, "there is no command in it");
}
