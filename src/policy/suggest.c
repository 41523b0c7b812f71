/* Rules that would let a call pass, from narrow to broad: for the buttons "always allow" on the page, the phone
 * and in the terminal. Each suggestion is tried before it is offered: the call is judged again with its rules
 * added. */
#include "base/err.h"
#include "policy/effects.h"
#include "policy/judge.h"

enum breadth { BREADTH_EXACT, BREADTH_HOST, BREADTH_KIND, BREADTH_PROGRAM, BREADTH_COUNT };

/* The suggestions so far, for one call. */
struct suggesting {
    struct arena *arena;
    const struct question *q;
    struct suggestion *out;
    size_t count;
};

/* ---- trying ---- */

enum { TRIED_RULES_MAX = 4096 };

/* Whether the call passes with these rules beside those there are. */
static bool lets_pass(struct suggesting *s, const struct suggestion *suggestion)
{
    const struct rule_set *set = s->q->rules;
    size_t old = set ? set->count : 0, n = 0;
    if (old > TRIED_RULES_MAX)
        return false;
    ARENA_SCOPE(scratch);
    struct rule_source *sources = arena_array(&scratch, struct rule_source, old + suggestion->rule_count);
    for (size_t i = 0; i < old; i++) {
        if (set->rules[i].broken)
            continue;
        sources[n] = set->rules[i].source;
        sources[n].match_count = sources[n].not_match_count = 0;
        n++;
    }
    for (size_t i = 0; i < suggestion->rule_count; i++)
        sources[n++] =
            (struct rule_source){.effect = EFFECT_ALLOW, .text = suggestion->rules[i], .layer = LAYER_USER};
    struct rule_set *bigger = rule_set_new(sources, n);
    struct question question = *s->q;
    question.rules = bigger;
    bool passes = policy_lets_pass(&scratch, &question);
    rule_set_free(bigger);
    return passes;
}

static bool same_rules(const struct suggestion *a, const struct suggestion *b)
{
    if (a->rule_count != b->rule_count)
        return false;
    return ALL(size_t i = 0; i < a->rule_count; i++, str_eq(a->rules[i], b->rules[i]));
}

/* Adds the suggestion if it is new and lets the call pass. */
static void offer(struct suggesting *s, const struct suggestion *suggestion)
{
    if (!suggestion->rule_count || s->count == SUGGESTIONS_MAX)
        return;
    for (size_t i = 0; i < s->count; i++)
        if (same_rules(&s->out[i], suggestion))
            return;
    if (lets_pass(s, suggestion))
        s->out[s->count++] = *suggestion;
}

/* More than SUGGESTION_RULES_MAX rules for one call are no suggestion that a person can weigh. */
static void add_rule(struct suggestion *suggestion, struct str rule)
{
    for (size_t i = 0; i < suggestion->rule_count; i++)
        if (str_eq(suggestion->rules[i], rule))
            return;
    if (suggestion->rule_count < SUGGESTION_RULES_MAX)
        suggestion->rules[suggestion->rule_count++] = rule;
    else
        suggestion->warning = STR("it would take too many rules");
}

/* ---- commands ---- */

/* Words that stand in a rule as they stand on the line, without quotes. */
static bool plain_word(struct str word)
{
    for (size_t i = 0; i < word.n; i++) {
        char c = word.p[i];
        bool letter =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c & 0x80);
        if (!letter && !strchr("_-./:@%+=,", c))
            return false;
    }
    return word.n > 0;
}

/* The words `from` the beginning as a rule spells them: as they are, or as they were written when they need
 * quotes. */
static bool put_words(struct buf *buf, const struct node *node, size_t count)
{
    bool spelled = false;
    for (size_t i = 0; i < count; i++)
        spelled = spelled || !plain_word(node->words[i].text);
    for (size_t i = 0; i < count; i++) {
        const struct word *word = &node->words[i];
        if (!word_literal(word) || (!spelled && (word->flags & WORD_ESCAPED)) ||
            str_find(word->raw, '*') < word->raw.n || str_find(word->raw, '\n') < word->raw.n)
            return false;
        if (i)
            buf_putc(buf, ' ');
        buf_put(buf, spelled ? word->raw : word->text);
    }
    return !buf->over;
}

/* `Bash(a b)` for the first `count` words, or `Bash(a b:*)` when `open`; empty if a word cannot be named. */
static struct str words_rule(struct suggesting *s, const struct node *node, size_t count, bool open)
{
    CHECK(node->kind == NODE_SIMPLE);
    BUF_SCOPE(buf, 4096);
    buf_puts(&buf, "Bash(");
    if (count > node->word_count || !put_words(&buf, node, count))
        return STR_NONE;
    buf_puts(&buf, open ? ":*)" : ")");
    return buf.over ? STR_NONE : arena_str(s->arena, buf_str(&buf));
}

/* Interpreters, shells, wrappers: a rule on the row as a whole would let anything run. */
static bool row_runs_anything(const struct table_row *row)
{
    if ((row->styles & STYLE_BAD) || row->reader == READER_SHELL)
        return true;
    for (size_t i = 0; i < row->operand_count; i++) {
        const struct table_operand *operand = &table_operands[row->operands + i];
        bool reads = operand->arg == LANG_SED || operand->arg == LANG_AWK || operand->arg == LANG_JQ ||
                     operand->arg == LANG_YQ;
        switch ((enum table_role)operand->role) {
        case ROLE_SCRIPT: case ROLE_RUN: case ROLE_SH: case ROLE_REMOTE: case ROLE_MODULE: case ROLE_ASSIGN:
            return true;
        case ROLE_CODE:
            if (!reads)
                return true;
            break;
        default: break;
        }
    }
    return false;
}

/* How many words name the kind of command: the row's name and its target; of an interpreter up to the script, of a
 * wrapper up to the kind of the command that it runs. 0: all words are needed. */
static size_t kind_words(struct judging *j, const struct argv *argv, const struct study *study, unsigned depth)
{
    if (!study->table)
        return 1;
    size_t named = study->named;
    if (!row_runs_anything(study->table)) {
        bool says = (study->table->styles & STYLE_TARGET) || str_ends(table_str(study->table->name), STR(" run"));
        bool target = named < argv->count && word_literal(&argv->words[named]) && !is_option(argv->words[named].text);
        return named + (says && target);
    }
    for (struct act *act = study->acts; act; act = act->next) {
        if (act->kind == ACT_PROJECT && act->word != SIZE_MAX && act->path.text.p)
            return act->word + 1;
        if (act->kind == ACT_RUNS && act->word != SIZE_MAX && act->inner.count && depth < STUDY_DEPTH_MAX) {
            size_t inner = kind_words(j, &act->inner, act_inner_study(j, act, depth + 1), depth + 1);
            return inner ? act->word + inner : 0;
        }
    }
    return 0;
}

/* How many words a rule of this breadth names; 0: this part cannot be widened so far. */
static size_t named_words(struct judging *j, struct node *node, enum breadth breadth)
{
    struct argv all = node_argv(node), argv = argv_command(&all);
    const struct study *study = node_study(j, node);
    const struct table_row *program = effects_find(match_program_name(argv.words[0].text));
    size_t kind = kind_words(j, &argv, study, j->depth);
    switch (breadth) {
    case BREADTH_EXACT: return node->word_count;
    case BREADTH_HOST: case BREADTH_KIND: return kind ? node->assign_count + kind : 0;
    case BREADTH_PROGRAM:
        if (!program || !study->table || row_runs_anything(program) || row_runs_anything(study->table))
            return kind ? node->assign_count + kind : 0;
        return node->assign_count + 1;
    case BREADTH_COUNT: break;
    }
    return node->word_count;
}

/* ` & host:a,b`: the hosts that it talks to, where its words say which; else empty. */
static struct str hosts_of(struct suggesting *s, const struct study *study)
{
    BUF_SCOPE(buf, 1024);
    for (const struct act *act = study->acts; act; act = act->next) {
        struct url url;
        if (act->kind != ACT_TALKS || !act->path.text.p)
            continue;
        if (!word_literal(&act->path) || !url_parse(s->arena, act->path.text, &url))
            return STR_NONE;
        buf_printf(&buf, "%s%.*s", buf_str(&buf).n ? "," : " & host:", STR_ARG(url.host));
    }
    return buf.over ? STR_NONE : arena_str(s->arena, buf_str(&buf));
}

/* A part that cannot be widened keeps its exact words, so that the others can. */
static struct str breadth_rule(struct suggesting *s, struct judging *j, struct node *node, enum breadth breadth)
{
    size_t named = named_words(j, node, breadth);
    struct str rule = named ? words_rule(s, node, named, breadth != BREADTH_EXACT) : STR_NONE;
    struct str hosts = breadth == BREADTH_HOST ? hosts_of(s, node_study(j, node)) : STR_NONE;
    if (!str_empty(rule) && !str_empty(hosts))
        return arena_printf(s->arena, "%.*s%.*s", STR_ARG(rule), STR_ARG(hosts));
    return str_empty(rule) ? words_rule(s, node, node->word_count, false) : rule;
}

/* A warning about what else a rule of this breadth would allow; empty when there is none. */
static struct str breadth_warning(struct suggesting *s, struct judging *j, struct node *node, enum breadth breadth)
{
    struct str program = match_program_name(node->words[node->assign_count].text);
    const struct study *study = node_study(j, node);
    bool whole = breadth != BREADTH_EXACT && named_words(j, node, breadth) == node->assign_count + 1;
    bool kinds = study->named > 1 || (study->table && (study->table->styles & STYLE_TARGET));
    if (!whole || !kinds)
        return STR_NONE;
    return arena_printf(s->arena, "this is all of `%.*s`, also what changes or publishes things", STR_ARG(program));
}

/* The parts of a command line that no rule covers yet, and the files of their redirections. */
struct open_parts {
    struct node *nodes[SUGGESTION_RULES_MAX];
    size_t count;
    struct str files[SUGGESTION_RULES_MAX]; /* rules for what redirections touch */
    struct str wider[SUGGESTION_RULES_MAX]; /* like `files`, for the whole folder of a file that is written */
    size_t file_count;
    bool too_many;
};

/* How a rule spells a path: below the project, below home, or from the root. */
static struct str spell_path(struct suggesting *s, const struct judging *j, struct str path)
{
    struct str rest;
    if (!str_empty(j->places.project.named) && path_below(path, j->places.project.named, &rest))
        return arena_printf(s->arena, "/%.*s", STR_ARG(rest));
    if (!str_empty(j->places.home.named) && path_below(path, j->places.home.named, &rest))
        return arena_printf(s->arena, "~/%.*s", STR_ARG(rest));
    return arena_printf(s->arena, "/%.*s", STR_ARG(path));
}

static struct str parent(struct str path)
{
    while (path.n > 1 && path.p[path.n - 1] != '/')
        path.n--;
    return path.n > 1 ? str_sub(path, 0, path.n - 1) : path;
}

/* A redirection needs a rule on its file; the broad suggestion opens the folder instead. */
static void add_file(struct suggesting *s, struct judging *j, struct open_parts *parts, const struct word *word,
                     bool writes)
{
    struct folder here = {.path = j->places.cwd.named, .known = !str_empty(j->places.cwd.named)};
    struct place place;
    if (!word_is_path(word) || str_is(word->text, "/dev/null") || !place_of(j, &here, word->text, &place))
        return;
    if (parts->file_count == SUGGESTION_RULES_MAX) {
        parts->too_many = true;
        return;
    }
    struct str path = spell_path(s, j, place.named), folder = spell_path(s, j, parent(place.named)), below;
    bool inside = path_below(parent(place.named), j->places.project.named, &below) && !str_empty(below);
    size_t at = parts->file_count++;
    parts->files[at] = parts->wider[at] = arena_printf(s->arena, "%s(%.*s)", writes ? "Edit" : "Read", STR_ARG(path));
    if (writes && inside)
        parts->wider[at] = arena_printf(s->arena, "Edit(%.*s/**)", STR_ARG(folder));
}

/* The files of redirections and options, and those read outside the folder, as long as the line stays where it is. */
static void find_files(struct suggesting *s, struct judging *j, struct node *node, struct open_parts *parts)
{
    for (; node; node = node->next) {
        find_files(s, j, node->first, parts);
        for (const struct redir *redir = node->redirs; redir; redir = redir->next)
            if (redir->kind == REDIR_IN || redir->kind == REDIR_OUT || redir->kind == REDIR_APPEND)
                add_file(s, j, parts, &redir->target, redir->kind != REDIR_IN);
        if (node->kind != NODE_SIMPLE || node->word_count == node->assign_count)
            continue;
        for (const struct act *act = node_study(j, node)->acts; act; act = act->next) {
            bool outside = act->path.text.n && strchr("/~", act->path.text.p[0]);
            if (act->kind == ACT_WRITES && !(act->flags & (ACT_NATURAL | ACT_PERHAPS)))
                add_file(s, j, parts, &act->path, true);
            else if ((act->kind == ACT_READS || act->kind == ACT_WRITES || act->kind == ACT_REMOVES) && outside)
                add_file(s, j, parts, &act->path, act->kind != ACT_READS);
        }
    }
}

/* Collects the simple commands of a tree that no rule allows yet. */
static void find_open(const struct verdict *verdict, struct node *node, struct open_parts *parts)
{
    for (; node; node = node->next) {
        find_open(verdict, node->first, parts);
        if (node->kind != NODE_SIMPLE)
            continue;
        bool open = false;
        for (size_t i = 0; i < verdict->part_count; i++)
            open =
                open || (verdict->parts[i].text.p == node->raw.p && verdict->parts[i].effect != EFFECT_ALLOW);
        if (!open || node->word_count == node->assign_count)
            continue;
        if (parts->count == SUGGESTION_RULES_MAX)
            parts->too_many = true;
        else
            parts->nodes[parts->count++] = node;
    }
}

/* One suggestion: a rule of this breadth for each part of the line that is not covered yet. */
static void suggest_breadth(struct suggesting *s, struct judging *j, const struct open_parts *parts,
                            enum breadth breadth)
{
    static const char *const labels[] = {"exactly this", "this kind of command, to this host", "this kind of command",
                                         "everything this program does"};
    bool hosts = false;
    struct suggestion suggestion = {.label = str_of(labels[breadth])};
    for (size_t i = 0; i < parts->count; i++) {
        struct str rule = breadth_rule(s, j, parts->nodes[i], breadth);
        if (str_empty(rule))
            return;
        add_rule(&suggestion, rule);
        hosts = hosts || str_has(rule, STR(" & host:"));
        struct str warning = breadth_warning(s, j, parts->nodes[i], breadth);
        if (!str_empty(warning))
            suggestion.warning = warning;
    }
    for (size_t i = 0; i < parts->file_count; i++)
        add_rule(&suggestion, breadth == BREADTH_PROGRAM ? parts->wider[i] : parts->files[i]);
    if (breadth != BREADTH_HOST || hosts)
        offer(s, &suggestion);
}

/* Parts that pass already get no rule. A line that is not understood gets no suggestion. */
static void suggest_command(struct suggesting *s)
{
    struct judging j;
    judging_init(&j, s->arena, s->q);
    judge_command(&j);
    const struct verdict verdict = {.parts = j.parts, .part_count = j.parts_count};
    struct open_parts parts = {0};
    if (!j.tree || j.unknown)
        return;
    find_open(&verdict, j.tree, &parts);
    if (!j.tree->moves)
        find_files(s, &j, j.tree, &parts);
    if (parts.too_many)
        return;
    for (int breadth = 0; breadth < BREADTH_COUNT; breadth++)
        suggest_breadth(s, &j, &parts, (enum breadth)breadth);
}

/* ---- paths and addresses ---- */

static void suggest_rule(struct suggesting *s, struct str rule, const char *label, const char *warning)
{
    struct suggestion suggestion = {.label = str_of(label), .warning = str_of(warning)};
    struct err ignored;
    struct str canonical;
    if (rc_ok(rule_check(s->arena, rule, &canonical, &ignored)))
        add_rule(&suggestion, canonical);
    offer(s, &suggestion);
}

/* The file, the files beside it, the folder, the project. */
static void suggest_paths(struct suggesting *s)
{
    const struct tool_facts *facts = s->q->facts;
    struct judging j;
    struct place place;
    judging_init(&j, s->arena, s->q);
    struct folder here = {.path = j.places.cwd.named, .known = !str_empty(j.places.cwd.named)};
    if (facts->path_count != 1 || !place_of(&j, &here, facts->paths[0], &place))
        return;
    struct str exact = spell_path(s, &j, place.named), folder = spell_path(s, &j, parent(place.named));
    suggest_rule(s, arena_printf(s->arena, "%.*s(%.*s)", STR_ARG(facts->name), STR_ARG(exact)), "this file",
                 NULL);
    suggest_rule(s, arena_printf(s->arena, "%.*s(%.*s/*)", STR_ARG(facts->name), STR_ARG(folder)),
                 "the files beside it", NULL);
    suggest_rule(s, arena_printf(s->arena, "%.*s(%.*s/**)", STR_ARG(facts->name), STR_ARG(folder)),
                 "everything below its folder", NULL);
    if (!str_empty(j.places.project.named) && path_within(place.named, j.places.project.named))
        suggest_rule(s, arena_printf(s->arena, "%.*s(/**)", STR_ARG(facts->name)),
                     "everything in the project", NULL);
    else
        suggest_rule(s, facts->name, "every file", "this is every file there is, outside the project too");
}

/* A connection out of a box: of the page nothing but the host is known. */
static void suggest_host(struct suggesting *s)
{
    struct url url;
    struct str domain;
    if (!url_parse(s->arena, s->q->facts->url, &url))
        return;
    if (url.port.n)
        suggest_rule(s, arena_printf(s->arena, "Net(url:*://%.*s:%.*s/*)", STR_ARG(url.host), STR_ARG(url.port)),
                     "this host and port", NULL);
    else
        suggest_rule(s, arena_printf(s->arena, "Net(domain:%.*s)", STR_ARG(url.host)), "this host", NULL);
    (void)str_cut(url.host, '.', &domain);
    if (!url.port.n && str_find(domain, '.') < domain.n)
        suggest_rule(s, arena_printf(s->arena, "Net(domain:*.%.*s)", STR_ARG(domain)), "hosts beside it", NULL);
}

/* Suggests rules for a request of a page, from narrow to wide: the address, the host with its port, the host, all hosts
 * of its domain. */
static void suggest_address(struct suggesting *s)
{
    const struct tool_facts *facts = s->q->facts;
    struct url url;
    struct str domain;
    if (!str_is(facts->name, "WebFetch") || !url_parse(s->arena, facts->url, &url)) {
        suggest_rule(s, facts->name, "the whole tool", NULL);
        return;
    }
    suggest_rule(s,
                 arena_printf(s->arena, "WebFetch(url:%.*s://%.*s%s%.*s%.*s)", STR_ARG(url.scheme),
                              STR_ARG(url.host), url.port.n ? ":" : "", STR_ARG(url.port), STR_ARG(url.rest)),
                 "this address", NULL);
    if (url.port.n)
        suggest_rule(s,
                     arena_printf(s->arena, "WebFetch(url:%.*s://%.*s:%.*s/*)", STR_ARG(url.scheme),
                                  STR_ARG(url.host), STR_ARG(url.port)),
                     "this host and port", NULL);
    suggest_rule(s, arena_printf(s->arena, "WebFetch(domain:%.*s)", STR_ARG(url.host)), "this host", NULL);
    (void)str_cut(url.host, '.', &domain);
    if (str_find(domain, '.') < domain.n)
        suggest_rule(s, arena_printf(s->arena, "WebFetch(domain:*.%.*s)", STR_ARG(domain)), "hosts beside it",
                     NULL);
    suggest_rule(s, facts->name, "every address", "this is the whole network");
}

static void suggest_tool(struct suggesting *s)
{
    struct str name = s->q->facts->name;
    suggest_rule(s, name, "the whole tool", NULL);
    const char *bar = str_starts(name, STR("mcp__")) ? memmem(name.p + 5, name.n - 5, "__", 2) : NULL;
    if (bar)
        suggest_rule(s, arena_printf(s->arena, "%.*s__*", (int)(bar - name.p), name.p),
                     "every tool of its server", "this is also what the server adds later");
}

size_t policy_suggest(struct arena *arena, const struct question *question,
                      struct suggestion *ret_suggestions)
{
    struct suggesting s = {.arena = arena, .q = question, .out = ret_suggestions};
    if (question->facts->foreign) { /* only a rule that names it as it was asked for lets it pass */
        suggest_rule(&s, question->facts->asked, "the whole tool", NULL);
        return s.count;
    }
    switch (question->facts->class) {
    case TOOL_COMMAND: suggest_command(&s); break;
    case TOOL_READ: case TOOL_EDIT: suggest_paths(&s); break;
    case TOOL_FETCH: str_is(question->facts->name, "Net") ? suggest_host(&s) : suggest_address(&s); break;
    case TOOL_OTHER: case TOOL_TASK: case TOOL_AGENT: suggest_tool(&s); break;
    case TOOL_PLAN: break;
    }
    CHECK(s.count <= SUGGESTIONS_MAX);
    return s.count;
}
