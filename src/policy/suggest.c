/* Rules that would let a call pass, from narrow to broad. Each is tried before it is offered. */
#include "base/err.h"
#include "policy/judge.h"

enum breadth { BREADTH_EXACT, BREADTH_SUB, BREADTH_PROGRAM, BREADTH_COUNT };

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
    for (size_t i = 0; i < a->rule_count; i++)
        if (!str_eq(a->rules[i], b->rules[i]))
            return false;
    return true;
}

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

/* Programs whose second word says what they do. */
static bool has_subs(struct str program)
{
    static const char *const programs[] = {
        "git",       "npm",       "pnpm",    "yarn",   "cargo",  "go",    "docker",
        "kubectl",   "pip",       "pip3",    "make",   "gh",     "brew",  "apt",
        "apt-get",   "systemctl", "poetry",  "uv",     "bun",    "deno",  "dotnet",
        "terraform", "helm",      "aws",     "gcloud", "bundle", "rails", "composer",
        "mix",       "swift",     "flutter", "dart",   "nx",     "turbo", "just",
        "rake",      "conda",     "rustup",  "bazel",  "gradle", "mvn",   "docker-compose",
        "npx",       "bunx"};
    struct str name = program_name(program);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (str_is(name, programs[i]))
            return true;
    return false;
}

/* `npm run`, `docker compose`: the word behind it is the one that counts. */
static bool needs_third(struct str program, struct str sub)
{
    static const char *const pairs[][2] = {
        {"npm", "run"}, {"npm", "run-script"}, {"pnpm", "run"},    {"yarn", "run"},
        {"bun", "run"}, {"docker", "compose"}, {"python", "-m"},   {"python3", "-m"},
        {"uv", "run"},  {"poetry", "run"},     {"bundle", "exec"}, {"cargo", "run"},
        {"go", "run"},  {"gh", "pr"},          {"gh", "issue"},    {"aws", "s3"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (str_is(program, pairs[i][0]) && str_is(sub, pairs[i][1]))
            return true;
    return false;
}

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

/* How many words a rule of this breadth names. */
static size_t named_words(const struct node *node, enum breadth breadth)
{
    size_t base = node->assign_count, left = node->word_count - base;
    struct str program = node->words[base].text, sub = left > 1 ? node->words[base + 1].text : STR_NONE;
    switch (breadth) {
    case BREADTH_EXACT: return node->word_count;
    case BREADTH_SUB:
        if (left > 2 && needs_third(program, sub))
            return base + 3;
        return left > 1 && (has_subs(program) || command_is_door(program)) && !str_starts(sub, STR("--"))
                   ? base + 2
                   : base + 1;
    case BREADTH_PROGRAM: return base + 1;
    case BREADTH_COUNT: break;
    }
    return node->word_count;
}

static struct str breadth_rule(struct suggesting *s, const struct node *node, enum breadth breadth)
{
    return words_rule(s, node, named_words(node, breadth), breadth != BREADTH_EXACT);
}

/* What a rule of this breadth would let pass besides; empty when nothing needs to be said. */
static struct str breadth_warning(struct suggesting *s, const struct node *node, enum breadth breadth)
{
    size_t base = node->assign_count, named = named_words(node, breadth);
    struct str program = program_name(node->words[base].text);
    if (breadth == BREADTH_EXACT)
        return STR_NONE;
    if (named == base + 1 && command_is_door(program))
        return arena_printf(s->arena, "`%.*s` can run anything", STR_ARG(program));
    if (named == base + 1 && has_subs(program))
        return arena_printf(s->arena, "this is all of `%.*s`, also what changes or publishes things",
                            STR_ARG(program));
    return STR_NONE;
}

struct open_parts {
    const struct node *nodes[SUGGESTION_RULES_MAX];
    size_t count;
    struct str files[SUGGESTION_RULES_MAX]; /* rules for what redirections touch */
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

/* The files of redirections, as long as the line stays in its folder. */
static void find_files(struct suggesting *s, struct judging *j, const struct node *node,
                       struct open_parts *parts)
{
    struct folder here = {.path = j->places.cwd.named, .known = !str_empty(j->places.cwd.named)};
    for (; node; node = node->next) {
        find_files(s, j, node->first, parts);
        for (const struct redir *redir = node->redirs; redir; redir = redir->next) {
            struct place place;
            bool reads = redir->kind == REDIR_IN;
            bool file = reads || redir->kind == REDIR_OUT || redir->kind == REDIR_APPEND;
            if (!file || !word_is_path(&redir->target) || str_is(redir->target.text, "/dev/null") ||
                !place_of(j, &here, redir->target.text, &place))
                continue;
            if (parts->file_count == SUGGESTION_RULES_MAX)
                parts->too_many = true;
            else
                parts->files[parts->file_count++] = arena_printf(
                    s->arena, "%s(%.*s)", reads ? "Read" : "Edit", STR_ARG(spell_path(s, j, place.named)));
        }
    }
}

/* The simple commands of a tree that no rule lets pass now. */
static void find_open(const struct verdict *verdict, const struct node *node, struct open_parts *parts)
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

static void suggest_breadth(struct suggesting *s, const struct open_parts *parts, enum breadth breadth)
{
    static const char *const labels[] = {"exactly this", "this kind of command",
                                         "everything this program does"};
    struct suggestion suggestion = {.label = str_of(labels[breadth])};
    for (size_t i = 0; i < parts->count; i++) {
        struct str rule = breadth_rule(s, parts->nodes[i], breadth);
        if (str_empty(rule))
            return;
        add_rule(&suggestion, rule);
        struct str warning = breadth_warning(s, parts->nodes[i], breadth);
        if (!str_empty(warning))
            suggestion.warning = warning;
    }
    for (size_t i = 0; i < parts->file_count; i++)
        add_rule(&suggestion, parts->files[i]);
    offer(s, &suggestion);
}

static void suggest_command(struct suggesting *s)
{
    struct judging j;
    judging_init(&j, s->arena, s->q);
    command_judge(&j);
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
        suggest_breadth(s, &parts, (enum breadth)breadth);
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

static struct str parent(struct str path)
{
    while (path.n > 1 && path.p[path.n - 1] != '/')
        path.n--;
    return path.n > 1 ? str_sub(path, 0, path.n - 1) : path;
}

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
    case TOOL_FETCH: suggest_address(&s); break;
    case TOOL_OTHER: case TOOL_TASK: case TOOL_AGENT: suggest_tool(&s); break;
    case TOOL_PLAN: break;
    }
    CHECK(s.count <= SUGGESTIONS_MAX);
    return s.count;
}
