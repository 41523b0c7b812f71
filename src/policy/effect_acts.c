/* How acts are made, which words may become options, and the shell's own commands (bash -c, test, set, printf).
 * The entry is effect_study at the end: it finds the row of a command and has its words read. */
#include "policy/commands.h"

#include "base/err.h"
#include "policy/effects.h"
#include "policy/target.h"

/* ---- acts ---- */

struct act *act_add(struct studying *s, enum act_kind kind, size_t word, const char *why)
{
    CHECK(why && (word == ALL_WORDS || word <= s->count));
    struct act *act = arena_new(s->arena, struct act);
    *act = (struct act){.kind = kind, .word = word, .why = why, .next = s->study->acts};
    s->study->acts = act;
    return act;
}

void act_other(struct studying *s, size_t word, const char *why) { act_add(s, ACT_OTHER, word, why); }

void act_writes(struct studying *s, size_t word, struct str path)
{
    struct act *act = act_add(s, ACT_WRITES, word, "it writes a file");
    unsigned flags = word < s->count ? s->words[word].flags : 0;
    act->path = (struct word){.raw = path, .text = path, .flags = flags};
}

/* The inner command shares the words of the outer one; only with `more` (what xargs appends) it gets a copy. */
void act_runs(struct studying *s, size_t from, const struct word *more)
{
    s->study->packs = true;
    if (from >= s->count)
        return;
    struct act *act = act_add(s, ACT_RUNS, from, "it runs another command");
    act->inner = (struct argv){.words = s->words + from, .count = s->count - from};
    if (!more)
        return;
    struct word *words = arena_array(s->arena, struct word, act->inner.count + 1);
    memcpy(words, act->inner.words, act->inner.count * sizeof *words);
    words[act->inner.count++] = *more;
    act->inner.words = words;
}

void act_script(struct studying *s, size_t word, struct str text)
{
    struct act *act = act_add(s, ACT_SCRIPT, word, "it runs shell text");
    act->code = text;
    act->script = shell_parse_inner(s->arena, text, s->depth + 1);
}

void act_code(struct studying *s, size_t word, struct str code, const char *why)
{
    act_add(s, ACT_CODE, word, why)->code = code;
}

void act_text(struct studying *s, struct str text)
{
    act_add(s, ACT_TEXT, ALL_WORDS, "it runs text that is not known")->code = text;
}

/* ---- words ---- */

bool effect_is_assignment(struct str text)
{
    size_t equals = str_find(text, '=');
    if (equals == text.n || equals == 0 || (text.p[0] >= '0' && text.p[0] <= '9'))
        return false;
    for (size_t i = 0; i < equals; i++) {
        char c = text.p[i];
        if (!(c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
            return false;
    }
    return true;
}

bool words_joined(struct studying *s, size_t from, struct str *ret_text)
{
    BUF_SCOPE(buf, (size_t)1 << 20);
    bool literal = true;
    for (size_t i = from; i < s->count; i++) {
        literal = literal && word_literal(&s->words[i]);
        if (i > from)
            buf_putc(&buf, ' ');
        buf_put(&buf, s->words[i].text);
    }
    *ret_text = arena_str(s->arena, buf_str(&buf));
    return literal && !buf.over;
}

/* Parts of option names that have this meaning in every program. */
static const char *const running_parts[] = {"exec",  "execute", "command",      "cmd",    "pager",   "eval",
                                            "askpass", "rsh",   "editor",       "shell",  "hook",    "plugin",
                                            "preprocessor", "script", "program", "wrapper", "launcher"};

static const char *const writing_names[] = {"--output",   "--output-file", "--outfile", "--out-file",
                                            "--log-file", "--logfile",     "--inplace", "--in-place"};

/* Used for options that the table does not know, of programs whose options are not all known. */
bool effect_option_tells(struct str name)
{
    if (!is_long_option(name))
        return str_is(name, "-exec");
    struct str rest = str_sub(name, 2, name.n);
    if (str_starts(rest, STR("no-")))
        return false;
    STR_EACH(part, rest, '-') {
        if (STR_IN(part, running_parts))
                return true;
    }
    return STR_IN(name, writing_names);
}

/* Whether an alternative of {a,b} may begin with a dash: any begins with something else than a letter, digit, `_`,
 * `.` or `/`. */
static bool brace_may_dash(struct str raw)
{
    for (size_t i = 0; i + 1 < raw.n; i++) {
        char c = raw.p[i + 1];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                     c == '.' || c == '/';
        if ((raw.p[i] == '{' || raw.p[i] == ',') && !plain)
            return true;
    }
    return false;
}

size_t effect_dash_behind_hole(const struct word *word)
{
    size_t at = 0;
    while (at < word->text.n && word->text.p[at] == WORD_HOLE)
        at++;
    bool expands = word->flags & (WORD_VAR | WORD_RUNS | WORD_CHOSEN);
    return expands && at < word->text.n && word->text.p[at] == '-' ? at : 0;
}

/* A word without a literal beginning can be an option when its expansion begins with a dash. Variables in
 * quotes that the line itself sets have become literal by then (shell_values.c). */
bool effect_may_be_option(const struct word *word)
{
    struct str text = word->text;
    size_t hole = str_find(text, WORD_HOLE);
    if (word_literal(word))
        return false;
    if (text.n && text.p[0] == '-')
        return hole < str_find(text, '=') && hole < text.n;
    if ((word->flags & WORD_CHOSEN) && (word->flags & WORD_SPLITS))
        return true;
    if (effect_dash_behind_hole(word))
        return true;
    if ((word->flags & WORD_BRACE) && hole == 0 && brace_may_dash(word->raw))
        return true;
    return hole == 0 && (word->flags & (WORD_CHOSEN | WORD_GLOB | WORD_RUNS));
}

/* ---- the shell ---- */

/* Shells whose language shell_parse.c understands, as far as it is used with -c. */
static bool like_bash(struct str name)
{
    return str_is(name, "bash") || str_is(name, "sh") || str_is(name, "dash") || str_is(name, "ksh");
}

/* Where a shell takes its commands from: the text behind an option with a `c` in it, a script, or standard input. */
void study_shell(struct studying *s)
{
    size_t i = 1;
    bool text = false;
    s->study->packs = true;
    for (; i < s->count; i++) {
        struct str word = s->words[i].text;
        if (!word_literal(&s->words[i]) || !(is_option(word) || (word.n > 1 && word.p[0] == '+')))
            break;
        if (str_is(word, "--"))
            continue;
        if (is_long_option(word)) {
            bool plain = str_is(word, "--noprofile") || str_is(word, "--norc") || str_is(word, "--posix") ||
                         str_is(word, "--login");
            if (!plain)
                act_other(s, i, "one of its options may read commands from a file");
            continue;
        }
        text = text || str_find(word, 'c') < word.n;
        if (str_find(word, 's') < word.n || str_find(word, 'i') < word.n)
            act_other(s, ALL_WORDS, "it reads its commands from elsewhere");
        if (word.p[word.n - 1] == 'O')
            act_code(s, i, STR_NONE, "it changes what patterns find");
        if (word.p[word.n - 1] == 'o' || word.p[word.n - 1] == 'O')
            i++;
    }
    if (i >= s->count)
        act_other(s, ALL_WORDS, "it reads its commands from standard input");
    else if (!text)
        act_other(s, i, "it runs a script");
    else if (!word_literal(&s->words[i]))
        act_text(s, s->words[i].text);
    else
        act_script(s, i, s->words[i].text);
    if (text && i + 1 < s->count)
        act_other(s, ALL_WORDS, "it hands arguments to the commands it runs");
    if (!like_bash(match_program_name(s->words[0].text)))
        act_other(s, ALL_WORDS, "it is a shell whose language is not understood");
}

/* dd of=FILE; `if=` is read by read_dd of effect_words.c. */
void study_dd(struct studying *s)
{
    for (size_t i = 1; i < s->count; i++) {
        struct str value, name = str_cut(s->words[i].text, '=', &value);
        if (str_is(name, "of"))
            act_writes(s, i, value);
        else if (!word_literal(&s->words[i]) && str_find(name, WORD_HOLE) < name.n)
            act_other(s, ALL_WORDS, "one of its words may name the file it writes");
    }
}

/* cd, export, alias, …: harmless as the only command, but later commands of the line mean something else then. */
void study_state(struct studying *s)
{
    act_other(s, ALL_WORDS, "it changes what later commands mean");
    s->study->acts->fine_alone = true;
}

/* `%n` of bash's printf, with whatever may stand between. */
static bool counts_letters(struct str format)
{
    for (size_t i = 0; i + 1 < format.n; i++) {
        if (format.p[i] != '%')
            continue;
        do
            i++;
        while (i < format.n && strchr("-+ #0123456789.*'", format.p[i]));
        if (i < format.n && format.p[i] == 'n')
            return true;
    }
    return false;
}

/* Operators of `[` between two words. */
static bool is_compare(const struct word *word)
{
    static const char *const compares[] = {"=",   "==",  "!=",  "<",   ">",   "=~",  "-eq", "-ne",
                                           "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"};
    return word_literal(word) && STR_IN(word->text, compares);
}

/* Whether a term of `[` ends in front of word `i`. */
static bool ends_term(struct studying *s, size_t i)
{
    static const char *const ends[] = {"-a", "-o", ")", "]"};
    return i >= s->count || (word_literal(&s->words[i]) && STR_IN(s->words[i].text, ends));
}

/* Whether `[` takes word `i` for an operand, whatever its text is: alone, beside an operator that stands there. */
static bool is_operand(struct studying *s, size_t i)
{
    static const char *const opens[] = {"!", "(", "-a", "-o"};
    const struct word *before = &s->words[i - 1];
    unsigned flags = s->words[i].flags;
    /* What bash makes of the value of `$f` is an act of its own: splits_anywhere. */
    bool value = (flags & WORD_VAR) && (flags & WORD_SPLITS) && str_starts(s->words[i].raw, STR("$"));
    bool one = !(flags & WORD_BRACE) && (value || !(flags & WORD_GLOB));
    bool start = i == 1 || STR_IN(before->text, opens);
    bool unary = before->text.n == 2 && before->text.p[0] == '-' && word_literal(before) && !start;
    return one && (unary || (i > 1 && is_compare(before)) || (i + 1 < s->count && is_compare(&s->words[i + 1])) ||
                   (start && ends_term(s, i + 1)));
}

/* Whether bash may make `-v` or `-R` of a word that is not known. */
static bool may_evaluate(const struct word *word)
{
    struct str text = word->text;
    if (!effect_may_be_option(word))
        return false;
    char first = text.p[0], last = text.p[text.n - 1];
    bool several = word->flags & (WORD_BRACE | WORD_SPLITS);
    return several || ((first == '-' || first == WORD_HOLE) && (last == WORD_HOLE || strchr("vR]", last)));
}

/* Whether bash may cut a word without quotes at blanks that nobody has seen: printed ones, those of names. */
static bool splits_anywhere(const struct word *word)
{
    bool named = ANY(size_t i = 0; i < word->shape.n; i++,
                     word->shape.p[i] >= SHAPE_STAR && word->shape.p[i] <= SHAPE_CLOSE);
    return (word->flags & WORD_SPLITS) && ((word->flags & (WORD_RUNS | WORD_CHOSEN)) || named);
}

/* `test -v 'a[$(id)]'` evaluates the name of a variable. */
static void study_compares(struct studying *s, bool splits)
{
    for (size_t i = 1; i < s->count; i++) {
        const struct word *word = &s->words[i];
        if (str_starts(word->text, STR("-v")) || str_is(word->text, "-R") ||
            (splits && may_evaluate(word) && !is_operand(s, i)))
            act_other(s, ALL_WORDS, "it sets or evaluates a variable");
        /* Without quotes `[ $(cat a) -gt 1 ]` may be `[ -v x[$(id)] -gt 1 ]`: judge_builtin.c knows numbers. */
        else if (splits && splits_anywhere(word))
            act_other(s, i, "what it compares stands without quotes, and may become an operator that evaluates a name");
    }
}

/* `printf -v` does so, too; `printf %n` sets a variable. */
void study_test(struct studying *s)
{
    if (!str_is(match_program_name(s->words[0].text), "printf")) {
        study_compares(s, !word_is(&s->words[0], "[[")); /* [[ makes one word of each */
        return;
    }
    for (size_t i = 1; i < s->count; i++) {
        struct str text = s->words[i].text;
        if (counts_letters(text) || (i == 1 && !word_literal(&s->words[i])))
            study_state(s);
        if (str_starts(text, STR("-v")) || str_is(text, "-R") || (i == 1 && effect_may_be_option(&s->words[i])))
            act_other(s, ALL_WORDS, "it sets or evaluates a variable");
    }
}

/* `set -euo pipefail` only makes bash stricter. */
void study_set(struct studying *s)
{
    for (size_t i = 1; i < s->count; i++)
        if (str_find(s->words[i].text, '[') < s->words[i].text.n)
            act_other(s, ALL_WORDS, "it sets or evaluates a variable"); /* declare 'a[$(id)]=1' */
    for (size_t i = 1; i < s->count; i++) {
        struct str text = s->words[i].text;
        bool name = str_is(text, "pipefail") || str_is(text, "errexit") || str_is(text, "nounset");
        bool flags = text.n > 1 && (text.p[0] == '-' || text.p[0] == '+');
        for (size_t k = 1; flags && k < text.n; k++)
            flags = strchr("euo", text.p[k]) != NULL && text.p[k] != '\0';
        if (!word_literal(&s->words[i]) || (!name && !flags) ||
            (name && !str_ends(s->words[i - 1].text, STR("o")))) {
            study_state(s);
            return;
        }
    }
}

/* ---- the command ---- */

void study_handed(struct studying *s, size_t from)
{
    bool ended = false;
    for (size_t i = from; i < s->count; i++) {
        ended = ended || word_is(&s->words[i], "--");
        if (!ended && is_option(s->words[i].text))
            effect_unknown_program(s, i);
        else if (effect_leaves_project(s->words[i].text)) {
            struct act *act = act_add(s, ACT_READS, i, "it reads a file");
            act->path = s->words[i];
            act->flags = ACT_GUESSED;
        }
    }
}

/* Depth counts commands that are packed into others' arguments (sudo env nice …); beyond the limit nothing is
 * covered. A command whose first word is not literal has no study: the judge then treats it as not understood. */
void effect_study(struct arena *arena, const struct argv *argv, unsigned depth, struct study *ret_study)
{
    struct studying s = {.arena = arena, .words = argv->words, .count = argv->count, .depth = depth,
                         .study = ret_study};
    CHECK(argv->assign_count == 0);
    *ret_study = (struct study){0};
    if (!argv->count || !word_literal(&argv->words[0]))
        return;
    const struct table_row *known = effects_find(match_program_name(argv->words[0].text));
    if (depth >= STUDY_DEPTH_MAX)
        act_other(&s, ALL_WORDS, "it is packed too deep");
    else if (known)
        effects_words(&s, known);
    else if ((known = effects_dashed_row(match_program_name(argv->words[0].text)))) {
        effects_words(&s, known);
        act_other(&s, 0, "it is a program of its own, called like a sub-command");
    } else
        study_handed(&s, 1);
}
