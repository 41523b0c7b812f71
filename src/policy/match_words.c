/* Whether a rule on commands fits the words of a command: words_covered strictly, for allow; words_stopped
 * generously, for deny and ask. The same rule text means more as a denial: options may stand between its words,
 * a path before the program's name, letters may be clustered (match.h has the comparison). */
#include "policy/match.h"

#include "base/err.h"

/* `*` matches any bytes, also none; greedy from the left, which is enough because a pattern has no other
 * wildcard. */
bool match_glob(struct str glob, struct str text)
{
    size_t star = str_find(glob, '*');
    if (star == glob.n)
        return str_eq(glob, text);
    if (!str_starts(text, str_sub(glob, 0, star)))
        return false;
    text = str_sub(text, star, text.n);
    glob = str_sub(glob, star + 1, glob.n);
    /* Each piece between stars is matched at its first occurrence; the last one at the end of the text. */
    for (;;) {
        star = str_find(glob, '*');
        struct str piece = str_sub(glob, 0, star);
        if (star == glob.n)
            return str_ends(text, piece);
        const char *hit = piece.n == 0 ? text.p : text.n ? memmem(text.p, text.n, piece.p, piece.n) : NULL;
        if (piece.n && !hit)
            return false;
        if (piece.n)
            text = str_sub(text, (size_t)(hit - text.p) + piece.n, text.n);
        glob = str_sub(glob, star + 1, glob.n);
    }
}

struct str match_program_name(struct str word)
{
    for (size_t i = word.n; i > 0; i--)
        if (word.p[i - 1] == '/')
            return str_sub(word, i, word.n);
    return word;
}

/* ---- allow rules: every word of the rule must be on the line as it is ---- */

static bool named_literally(const struct word *word)
{
    return (word->flags & (WORD_OPEN | WORD_ESCAPED)) == 0;
}

/* Every word of the rule stands literally at the same place on the line; assignments in front must be named,
 * too. */
static bool begins_with(const struct rule *rule, const struct argv *argv)
{
    if (rule->word_count > argv->count || rule->word_count <= argv->assign_count)
        return false;
    return !ANY(size_t i = 0; i < rule->word_count; i++,
                !named_literally(&argv->words[i]) || !str_eq(argv->words[i].text, rule->words[i]));
}

/* Whether the command is written letter for letter as in the rule, including quotes. */
static bool spelled_alike(const struct rule *rule, const struct argv *argv)
{
    if (!rule->spelled_count || rule->spelled_count > argv->count || argv->assign_count)
        return false;
    return !ANY(size_t i = 0; i < rule->spelled_count; i++,
                !word_literal(&argv->words[i]) || !str_eq(argv->words[i].raw, rule->spelled[i]));
}

/* Words parted by NUL, as a glob is. */
static struct str join(struct arena *arena, const struct argv *argv)
{
    size_t n = 0, at = 0;
    for (size_t i = 0; i < argv->count; i++)
        n += argv->words[i].text.n + 1;
    char *p = arena_bytes(arena, n + 1);
    for (size_t i = 0; i < argv->count; i++) {
        struct str text = argv->words[i].text;
        if (text.n)
            memcpy(p + at, text.p, text.n);
        at += text.n;
        p[at++] = '\0';
    }
    CHECK(at == n);
    return (struct str){p, at ? at - 1 : 0};
}

/* Joins the words once, for all globs. */
static void need_joined(struct arena *arena, struct argv *argv)
{
    if (argv->joined.p)
        return;
    CHECK(argv->count > 0);
    struct str program = argv->words[0].text;
    argv->joined = join(arena, argv);
    argv->bare = str_sub(argv->joined, program.n - match_program_name(program).n, argv->joined.n);
}

/* Whether the text is what the rule's glob means; where the rule ends in `:*`, more words may follow. */
static bool glob_fits(const struct rule *rule, struct str text)
{
    return match_glob(rule->glob, text) || (rule->open_end && match_glob(rule->glob_more, text));
}

/* Whether the path has `..` behind a named folder. */
static bool climbs(struct str path)
{
    for (size_t i = 1; i + 3 <= path.n; i++)
        if (path.p[i] == '/' && path.p[i + 1] == '.' && path.p[i + 2] == '.' &&
            (i + 3 == path.n || path.p[i + 3] == '/') && path.p[i - 1] != '.')
            return true;
    return false;
}

/* All words must be literal: a star in an allow matches text that is on the line, not what an expansion may
 * become. */
static size_t glob_covered(struct arena *arena, const struct rule *rule, struct argv *argv)
{
    CHECK(rule->kind == RULE_GLOB && rule->glob_named <= rule->word_count);
    if (argv->assign_count || !argv->count)
        return 0;
    for (size_t i = 0; i < argv->count; i++)
        if (!named_literally(&argv->words[i]))
            return 0;
    /* A star after `src/` matches only what lies below src, not `src/../../x`. */
    for (size_t i = 0; i < argv->count; i++)
        if (climbs(argv->words[i].text))
            return 0;
    need_joined(arena, argv);
    /* At least one word: 0 would mean that the rule does not match. */
    return !glob_fits(rule, argv->joined) ? 0 : rule->glob_named ? rule->glob_named : 1;
}

/* Returns how many words of the line the rule has named; acts of words behind that need more (judge_cover.c).
 * SIZE_MAX: all of them. 0: it does not fit. */
size_t words_covered(struct arena *arena, const struct rule *rule, struct argv *argv)
{
    CHECK(argv->assign_count <= argv->count);
    bool spelled = spelled_alike(rule, argv);
    switch (rule->kind) {
    case RULE_TOOL: return SIZE_MAX;
    case RULE_EXACT:
        if (spelled && rule->spelled_count == argv->count)
            return SIZE_MAX;
        return rule->word_count == argv->count && begins_with(rule, argv) ? SIZE_MAX : 0;
    case RULE_PREFIX:
        if (spelled)
            return rule->spelled_count;
        return begins_with(rule, argv) ? rule->word_count : 0;
    case RULE_GLOB: return glob_covered(arena, rule, argv);
    case RULE_GROUP: case RULE_SERVER: case RULE_PATH: case RULE_HOST: case RULE_URL: case RULE_FIELD: break;
    }
    return 0;
}

/* ---- deny and ask rules: matched broadly ---- */

static bool is_option(struct str s) { return s.n > 1 && s.p[0] == '-'; }
static bool is_long(struct str s) { return s.n > 2 && s.p[0] == '-' && s.p[1] == '-'; }

/* Beginnings of long options count from three letters on, as programs accept them. */
static bool has_long(const struct argv *argv, struct str option)
{
    for (size_t i = 1; i < argv->count; i++) {
        struct str value, name = str_cut(argv->words[i].text, '=', &value);
        if (str_eq(name, option) || (is_long(name) && name.n >= 5 && str_starts(option, name)))
            return true;
    }
    return false;
}

static bool has_letter(const struct argv *argv, char letter)
{
    for (size_t i = 1; i < argv->count; i++) {
        struct str text = argv->words[i].text;
        if (is_option(text) && !is_long(text) && str_find(text, letter) < text.n)
            return true;
    }
    return false;
}

/* Whether the option is present anywhere, alone or in a cluster. */
static bool has_option(const struct argv *argv, struct str option)
{
    if (is_long(option))
        return has_long(argv, option);
    for (size_t i = 1; i < argv->count; i++)
        if (str_eq(argv->words[i].text, option))
            return true;
    return ALL(size_t i = 1; i < option.n; i++, has_letter(argv, option.p[i]));
}

/* Finds the rule's next word at or behind *at, with only options and their values in between. */
static bool find_word(const struct argv *argv, struct str word, size_t *at, bool *ret_maybe)
{
    bool value = false;
    for (; *at < argv->count; ++*at) {
        const struct word *candidate = &argv->words[*at];
        if (str_eq(candidate->text, word)) {
            ++*at;
            return true;
        }
        if (!word_literal(candidate))
            *ret_maybe = true;
        if (is_option(candidate->text))
            value = str_find(candidate->text, '=') == candidate->text.n;
        else if (value)
            value = false;
        else
            return false;
    }
    return false;
}

/* The words of the rule in their order, with anything between; options anywhere. */
static bool prefix_stopped(const struct rule *rule, const struct argv *argv, bool *ret_maybe)
{
    CHECK(rule->word_count > 0 && argv->count > 0);
    size_t at = 1;
    const struct word *program = &argv->words[0];
    if (!str_eq(program->text, rule->words[0]) && !str_eq(match_program_name(program->text), rule->words[0])) {
        *ret_maybe |= !word_literal(program);
        return false;
    }
    for (size_t i = 1; i < rule->word_count; i++) {
        struct str word = rule->words[i];
        if (is_option(word) ? !has_option(argv, word) : !find_word(argv, word, &at, ret_maybe))
            return false;
    }
    return true;
}

/* Sets *ret_maybe where an expansion could make the words equal. */
static bool exact_stopped(const struct rule *rule, const struct argv *argv, bool *ret_maybe)
{
    if (rule->word_count != argv->count) {
        for (size_t i = 0; i < argv->count; i++)
            *ret_maybe |= (argv->words[i].flags & WORD_SPLITS) != 0;
        return false;
    }
    for (size_t i = 0; i < argv->count; i++) {
        const struct word *word = &argv->words[i];
        *ret_maybe |= !word_literal(word);
        struct str text =
            i == 0 && !str_eq(word->text, rule->words[0]) ? match_program_name(word->text) : word->text;
        if (!str_eq(text, rule->words[i]))
            return false;
    }
    return true;
}

bool words_stopped(struct arena *arena, const struct rule *rule, struct argv *argv, bool *ret_maybe)
{
    CHECK(argv->assign_count == 0);
    if (!argv->count)
        return false;
    switch (rule->kind) {
    case RULE_TOOL: return true;
    case RULE_EXACT: return exact_stopped(rule, argv, ret_maybe);
    case RULE_PREFIX: return prefix_stopped(rule, argv, ret_maybe);
    case RULE_GLOB:
        for (size_t i = 0; i < argv->count; i++)
            *ret_maybe |= !word_literal(&argv->words[i]);
        need_joined(arena, argv);
        return glob_fits(rule, argv->joined) || glob_fits(rule, argv->bare);
    case RULE_GROUP: case RULE_SERVER: case RULE_PATH: case RULE_HOST: case RULE_URL: case RULE_FIELD: break;
    }
    return false;
}
