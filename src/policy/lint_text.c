/* Mistakes that show in a rule's text: names that nobody has, letters that mean something else here. */
#include "policy/lint.h"

#include "base/err.h"
#include "policy/effects.h"
#include "policy/lint_names.h"

/* ---- texts ---- */

/* The text with `from` replaced by `to`, once. */
static struct str replaced(struct arena *arena, struct str text, struct str from, struct str to)
{
    const char *hit = from.n && text.n ? memmem(text.p, text.n, from.p, from.n) : NULL;
    if (!hit)
        return text;
    size_t at = (size_t)(hit - text.p);
    return arena_printf(arena, "%.*s%.*s%.*s", (int)at, text.p, STR_ARG(to),
                        STR_ARG(str_sub(text, at + from.n, text.n)));
}

/* The text between the parentheses; empty when there are none. */
struct str lint_content(struct str text)
{
    size_t open = str_find(text, '(');
    return open + 1 < text.n ? str_sub(text, open + 1, text.n - 1) : STR_NONE;
}

static struct str rule_with(struct linting *l, struct str content)
{
    return arena_printf(l->arena, "%.*s(%.*s)", STR_ARG(l->rule.tool), STR_ARG(content));
}

/* ---- rules that cannot be read ---- */

/* A host or an address without `domain:` and `url:`, as people write them first. */
static struct str fetch_meant(struct linting *l, struct str content)
{
    if (str_starts(content, STR("domain:")))
        content = str_sub(content, 7, content.n);
    if (!str_has(content, STR("://"))) {
        struct str rest, host = str_cut(content, '/', &rest);
        struct str port, name = str_cut(host, ':', &port);
        return str_empty(name) ? STR_NONE : arena_printf(l->arena, "WebFetch(domain:%.*s)", STR_ARG(name));
    }
    return arena_printf(l->arena, "WebFetch(url:%.*s)", STR_ARG(content));
}

/* Tries the usual slips in turn and offers the corrected text only if it parses. */
void lint_malformed(struct linting *l, const char *words)
{
    struct str text = str_trim(lint_source(l)->text), instead = STR_NONE, checked, rest;
    struct str tool = str_cut(text, '(', &rest);
    struct str near = lint_tool_near(tool, l->tools);
    if (!lint_tool_known(tool, l->tools) && !str_empty(near))
        instead = replaced(l->arena, text, tool, near);
    else if (str_starts(text, STR("WebFetch(")) && str_ends(text, STR(")")))
        instead = fetch_meant(l, lint_content(text));
    else if (str_find(text, '(') < text.n && !str_ends(text, STR(")")))
        instead = arena_printf(l->arena, "%.*s)", STR_ARG(text));
    else if (str_find(text, '\\') < text.n) {
        char *slashes = (char *)arena_str(l->arena, text).p;
        for (size_t i = 0; i < text.n; i++)
            slashes[i] = slashes[i] == '\\' ? '/' : slashes[i];
        instead = (struct str){slashes, text.n};
    }
    if (!str_empty(instead) && rc_bad(rule_check(l->arena, instead, &checked, NULL)))
        instead = STR_NONE;
    lint_add(l, LINT_ERROR, instead, arena_str(l->arena, str_of(words)));
}

/* ---- tools ---- */

/* The intended name of an MCP tool written with wrong separators: mcp_server_tool, mcp:server:tool. */
static struct str server_meant(struct linting *l, struct str tool)
{
    char joint = tool.n > 4 && (str_starts(tool, STR("mcp_")) || str_starts(tool, STR("MCP_"))) ? '_' : '\0';
    if (!joint)
        return STR_NONE;
    struct str name, server = str_cut(str_sub(tool, 4, tool.n), joint, &name);
    while (name.n && name.p[0] == '_')
        name = str_sub(name, 1, name.n);
    return str_empty(name) ? STR_NONE : arena_printf(l->arena, "mcp__%.*s__%.*s", STR_ARG(server), STR_ARG(name));
}

/* Tools of MCP servers without their prefix are the usual mistake. */
static bool lint_tool(struct linting *l)
{
    struct str tool = l->rule.tool;
    if (lint_tool_known(tool, l->tools))
        return false;
    struct str near = lint_tool_near(tool, l->tools), server = server_meant(l, tool);
    struct str text = lint_source(l)->text;
    struct str instead = !str_empty(server) ? server
                         : str_empty(near)  ? STR_NONE
                                            : replaced(l->arena, text, tool, near);
    lint_dead(l, instead, arena_printf(l->arena, "no agent that Nod knows has a tool `%.*s`", STR_ARG(tool)));
    return true;
}

/* ---- commands ---- */

/* The length of the shell operator at `at` of a rule's word; 0: it is not an operator. In the middle of a word it may
 * have been quoted on the line (`grep 'a|b'`), so only one at an end of the word or beside a star counts: `x;`,
 * `/;*`, `*|sh`. */
static size_t operator_length(struct str word, size_t at)
{
    char c = word.p[at], before = at ? word.p[at - 1] : '*';
    size_t n = at + 1 < word.n && word.p[at + 1] == c ? 2 : 1;
    char after = at + n < word.n ? word.p[at + n] : '*';
    bool joins = c == ';' || c == '|' || (c == '&' && n == 2);
    return joins && before != '\\' && (before == '*' || after == '*') ? n : 0;
}

/* Where an operator stands in a word, and how long it is: 0 when there is none. */
static size_t find_operator(struct str word, size_t *ret_at)
{
    static const char *const operators[] = {"&", "|&", ">", ">>", "<", "<<", "<<<", "2>", "2>&1", "&>"};
    *ret_at = 0;
    if (STR_IN(word, operators))
            return word.n;
    for (size_t i = 0; i < word.n && !strchr("'\"", word.p[0]); i++) {
        size_t n = operator_length(word, i);
        if (n) {
            *ret_at = i;
            return n;
        }
    }
    return 0;
}

static struct str joined_words(struct linting *l, size_t from, size_t to)
{
    BUF_SCOPE(buf, 1 << 16);
    for (size_t i = from; i < to; i++)
        buf_printf(&buf, "%s%.*s", i > from ? " " : "", STR_ARG(l->rule.words[i]));
    return arena_str(l->arena, buf_str(&buf));
}

/* Warns of shell operators in a rule (`ls && cat`, `npm test > out`): a rule is about one simple command. */
static bool lint_operators(struct linting *l)
{
    const struct rule *rule = &l->rule;
    for (size_t i = 0; i < rule->word_count; i++) {
        struct str word = rule->words[i];
        size_t at, n = find_operator(word, &at);
        if (n == 0)
            continue;
        struct str first = arena_printf(l->arena, "%.*s%s%.*s", STR_ARG(joined_words(l, 0, i)), at && i ? " " : "",
                                        (int)at, word.p);
        struct str inside = str_sub(word, at + n, word.n), behind = joined_words(l, i + 1, rule->word_count);
        struct str rest = str_is(inside, "*") ? behind
                                              : arena_printf(l->arena, "%.*s%s%.*s", STR_ARG(inside),
                                                             inside.n && behind.n ? " " : "", STR_ARG(behind));
        struct str instead = str_is(first, "*") ? STR_NONE : rule_with(l, first);
        bool file = str_find(word, '>') < word.n || str_find(word, '<') < word.n;
        if (!str_empty(rest) && !str_empty(instead) && !str_is(word, "2>&1") && !str_is(word, "&"))
            instead = arena_printf(l->arena, "%.*s and %s(%.*s%s)", STR_ARG(instead),
                                   file ? str_find(word, '>') < word.n ? "Edit" : "Read" : "Bash", STR_ARG(rest),
                                   rule->kind == RULE_PREFIX && !file ? ":*" : "");
        lint_dead(l, instead,
                  arena_printf(l->arena,
                               "a rule speaks of one command, and `%.*s` joins or redirects commands: each part is "
                               "judged by rules of its own",
                               STR_ARG(word)));
        return true;
    }
    return false;
}

/* Letters that bash acts on: a word with them is never the word that a rule names. */
static bool lint_letters(struct linting *l)
{
    const struct rule *rule = &l->rule;
    for (size_t i = 0; i < rule->word_count; i++) {
        struct str word = rule->words[i];
        if (str_find(word, '$') < word.n || str_find(word, '`') < word.n) {
            lint_dead(l, STR_NONE,
                      arena_printf(l->arena,
                                   "`%.*s` is expanded by the shell, and a rule names words as they "
                                   "stand: write what it becomes, or `*`",
                                   STR_ARG(word)));
            return true;
        }
        if (word.n && word.p[0] == '~' && i == 0) {
            lint_dead(l, STR_NONE,
                      arena_printf(l->arena,
                                   "`%.*s` is expanded by the shell: name the program as it is called, or "
                                   "by its whole path",
                                   STR_ARG(word)));
            return true;
        }
    }
    return false;
}

/* `git:*:*`, `npm:run:*`: a colon before the last star is part of a word. */
static bool lint_colons(struct linting *l)
{
    if (l->rule.word_count == 0)
        return false;
    struct str word = l->rule.words[0], rest, program = str_cut(word, ':', &rest);
    if (program.n == word.n || !lint_program_known(program) || str_find(program, '/') < program.n)
        return false;
    struct str tail = joined_words(l, 1, l->rule.word_count);
    while (str_ends(rest, STR(":*")) || str_is(rest, "*"))
        rest = str_sub(rest, 0, rest.n > 1 ? rest.n - 2 : 0);
    struct str instead = arena_printf(l->arena, "Bash(%.*s%s%.*s%s%.*s:*)", STR_ARG(program), rest.n ? " " : "",
                                      STR_ARG(rest), tail.n ? " " : "", STR_ARG(tail));
    lint_dead(l, instead,
              arena_printf(l->arena, "no program is called `%.*s`: only `:*` at the end stands for more words",
                           STR_ARG(word)));
    return true;
}

/* Warns of a program that is not in the table but one letter away from one that is. */
static bool lint_program(struct linting *l, struct str program)
{
    if (str_find(program, '/') < program.n || str_find(program, '.') < program.n ||
        str_find(program, '*') < program.n || str_find(program, '=') < program.n || lint_program_known(program))
        return false;
    struct str near = lint_program_near(program);
    if (str_empty(near))
        return false;
    lint_dead(l, replaced(l->arena, l->rule.text, program, near),
              arena_printf(l->arena, "`%.*s` is not a program that Nod knows", STR_ARG(program)));
    return true;
}

static bool takes_subs(const struct table_row *row)
{
    return row && row->operand_count && table_operands[row->operands].role == ROLE_SUB;
}

/* Warns of an unknown sub-command (`git comit`) of a program whose sub-commands the table knows. */
static bool lint_sub(struct linting *l)
{
    const struct rule *rule = &l->rule;
    struct str name = rule->words[0];
    for (size_t i = 1; i < rule->word_count && takes_subs(effects_find(name)); i++) {
        struct str word = rule->words[i];
        if (word.n == 0 || word.p[0] == '-' || str_find(word, '*') < word.n)
            return false;
        if (!lint_sub_known(name, word)) {
            struct str near = lint_sub_near(name, word);
            if (str_empty(near))
                return false;
            struct str from = arena_printf(l->arena, "%.*s %.*s", STR_ARG(name), STR_ARG(word));
            struct str to = arena_printf(l->arena, "%.*s %.*s", STR_ARG(name), STR_ARG(near));
            lint_dead(l, replaced(l->arena, rule->text, from, to),
                      arena_printf(l->arena, "`%.*s` has no sub-command `%.*s`", STR_ARG(name), STR_ARG(word)));
            return true;
        }
        name = arena_printf(l->arena, "%.*s %.*s", STR_ARG(name), STR_ARG(word));
    }
    return false;
}

/* Programs that run whatever their arguments are. */
static bool runs_anything(const struct table_row *row)
{
    if (!row)
        return false;
    for (unsigned i = 0; i < row->operand_count; i++) {
        enum table_role role = (enum table_role)table_operands[row->operands + i].role;
        if (role == ROLE_RUN || role == ROLE_SCRIPT || role == ROLE_SH || role == ROLE_REMOTE || role == ROLE_ASSIGN)
            return true;
    }
    return row->stdin_lang != 0;
}

/* Notes an allow that is no mistake, but allows more than most people mean. */
void lint_wide(struct linting *l)
{
    const struct rule *rule = &l->rule;
    if (!lint_allows(l))
        return;
    if (rule->kind == RULE_TOOL && str_is(rule->tool, "Bash"))
        lint_add(l, LINT_NOTE, STR_NONE,
                 STR("it allows every command that there is; name the programs that are meant"));
    if (rule->kind == RULE_PREFIX && rule->word_count == 1 &&
        runs_anything(effects_find(match_program_name(rule->words[0]))))
        lint_add(l, LINT_NOTE, arena_printf(l->arena, "Bash(%.*s SCRIPT:*)", STR_ARG(rule->words[0])),
                 arena_printf(l->arena, "`%.*s` runs whatever it is given: name the script or the command behind it",
                              STR_ARG(rule->words[0])));
}

/* `NODE_ENV=* npm test`: a rule with a star says nothing of assignments. */
static bool lint_assignment(struct linting *l)
{
    struct str first = l->rule.words[0];
    size_t equals = str_find(first, '=');
    if (l->rule.kind != RULE_GLOB || equals == 0 || equals == first.n || l->rule.word_count < 2)
        return false;
    struct str rest = joined_words(l, 1, l->rule.word_count);
    lint_dead(l, arena_printf(l->arena, "Bash(%.*s:*)", STR_ARG(rest)),
              STR("a rule with `*` fits no command with a variable in front: harmless ones (NODE_ENV, CI, …) need no "
                  "rule, others must be named with their value"));
    return true;
}

static bool lint_command(struct linting *l)
{
    CHECK(l->rule.word_count > 0);
    return lint_assignment(l) || lint_operators(l) || lint_letters(l) || lint_colons(l) ||
           lint_program(l, l->rule.words[0]) || lint_sub(l);
}

/* ---- paths ---- */

/* `/etc/passwd` is a file of the project here. */
static bool names_system(const struct rule *rule)
{
    static const char *const folders[] = {"etc", "usr",   "var", "home", "root", "opt", "proc", "sys",
                                          "dev", "Users", "tmp", "mnt",  "boot", "srv", "run"};
    struct str rest, first = str_cut(rule->pattern, '/', &rest);
    for (size_t i = 0;
         rule->base == BASE_PROJECT && !rule->ups && !str_empty(rest) && i < sizeof folders / sizeof *folders; i++)
        if (str_is(first, folders[i]))
            return true;
    return false;
}

/* The advice for `Edit(*.{js,ts})`, where braces mean nothing: "Edit(*.js) and Edit(*.ts)". */
static struct str without_braces(struct linting *l, struct str content)
{
    BUF_SCOPE(buf, 1 << 16);
    size_t open = str_find(content, '{'), close = str_find(content, '}');
    if (open >= close || close >= content.n)
        return STR_NONE;
    struct str list = str_sub(content, open + 1, close);
    for (bool first = true; !str_empty(list); first = false) {
        struct str one = str_cut(list, ',', &list);
        buf_printf(&buf, "%s%.*s(%.*s%.*s%.*s)", first ? "" : " and ", STR_ARG(l->rule.tool), (int)open, content.p,
                   STR_ARG(one), STR_ARG(str_sub(content, close + 1, content.n)));
    }
    return arena_str(l->arena, buf_str(&buf));
}

/* Signs of other languages of patterns, which mean themselves here: braces, brackets, quotes, schemes. */
static bool lint_path(struct linting *l)
{
    const struct rule *rule = &l->rule;
    struct str content = lint_content(rule->text);
    if (names_system(rule)) {
        lint_dead(l, rule_with(l, arena_printf(l->arena, "/%.*s", STR_ARG(content))),
                  arena_printf(l->arena,
                               "`%.*s` begins at the session's folder; a path from the root begins with `//`",
                               STR_ARG(content)));
        return true;
    }
    if (str_find(content, '{') < str_find(content, '}')) {
        lint_dead(l, without_braces(l, content), STR("braces mean themselves in a path: write one rule for each"));
        return true;
    }
    if (str_find(content, '[') < str_find(content, ']')) {
        lint_dead(l, STR_NONE, STR("brackets mean themselves in a path: use `?`, or one rule for each"));
        return true;
    }
    size_t scheme = str_has(content, STR(":/")) ? str_find(content, ':') : content.n;
    if (scheme < content.n) {
        struct str rest = str_sub(content, scheme + 1, content.n);
        while (rest.n > 1 && rest.p[1] == '/')
            rest = str_sub(rest, 1, rest.n);
        bool file = str_starts(content, STR("file:"));
        lint_dead(l, file ? rule_with(l, arena_printf(l->arena, "/%.*s", STR_ARG(rest))) : STR_NONE,
                  STR("an address is not a path of a file"));
        return true;
    }
    bool quoted = content.n && (content.p[0] == '"' || content.p[0] == '\'');
    if (quoted || content.p[0] == ' ' || content.p[content.n - 1] == ' ') {
        struct str plain = str_trim(content);
        plain = quoted && plain.n > 2 ? str_sub(plain, 1, plain.n - 1) : plain;
        lint_dead(l, rule_with(l, plain), STR("quotes and blanks at its ends are part of the name"));
        return true;
    }
    if (str_find(content, '$') < content.n) {
        struct str home = str_starts(content, STR("$HOME/"))     ? str_sub(content, 6, content.n)
                          : str_starts(content, STR("${HOME}/")) ? str_sub(content, 8, content.n)
                                                                 : STR_NONE;
        lint_dead(l, str_empty(home) ? STR_NONE : rule_with(l, arena_printf(l->arena, "~/%.*s", STR_ARG(home))),
                  STR("a `$` in a path means itself: no variable is put in"));
        return true;
    }
    return false;
}

/* ---- addresses ---- */

/* A host without a dot is nearly always a mistake. */
static bool lint_host(struct linting *l)
{
    struct str host = l->rule.host;
    if (str_empty(host) || str_find(host, '.') < host.n || (str_is(host, "localhost") && !l->rule.below))
        return false;
    if (l->rule.below) {
        lint_add(l, LINT_NOTE, STR_NONE,
                 arena_printf(l->arena, "it means every host below `.%.*s`, which nobody owns alone", STR_ARG(host)));
        return true;
    }
    lint_dead(l, STR_NONE, arena_printf(l->arena, "`%.*s` is not a full host name", STR_ARG(host)));
    return true;
}

/* ---- all ---- */

bool lint_text(struct linting *l)
{
    if (lint_tool(l))
        return true;
    switch (l->rule.kind) {
    case RULE_EXACT:
    case RULE_PREFIX:
    case RULE_GLOB: return lint_command(l);
    case RULE_PATH: return lint_path(l);
    case RULE_HOST:
    case RULE_URL: return lint_host(l);
    case RULE_TOOL:
    case RULE_SERVER:
    case RULE_GROUP:
    case RULE_FIELD: break;
    }
    return false;
}
