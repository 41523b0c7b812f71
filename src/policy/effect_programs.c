/* find, make, tar and sqlite3, whose words are a grammar of their own. Called by effect_words.c; each function
 * adds the acts that the table cannot express (-exec of find, variables of make, letters of tar without a dash,
 * statements). */
#include "policy/effects.h"

#include "base/err.h"

/* ---- find ---- */

enum find_kind { FIND_RUNS, FIND_WRITES, FIND_DELETES };

static const struct {
    const char *name;
    enum find_kind kind;
} find_acts[] = {
    {"-exec", FIND_RUNS},     {"-execdir", FIND_RUNS},  {"-ok", FIND_RUNS},      {"-okdir", FIND_RUNS},
    {"-fprint", FIND_WRITES}, {"-fprint0", FIND_WRITES}, {"-fprintf", FIND_WRITES}, {"-fls", FIND_WRITES},
    {"-delete", FIND_DELETES},
};

/* `{}` becomes a path below a starting point, which never looks like an option. */
static struct word found_file(const struct word *word)
{
    struct word file = *word;
    if (!str_has(word->text, STR("{}")))
        return file;
    if (str_is(word->text, "{}"))
        file.text = STR("./\x01");
    file.flags |= WORD_GLOB;
    return file;
}

/* The words behind -exec up to `;` or `+`. */
static void find_runs(struct studying *s, size_t at)
{
    CHECK(at < s->count);
    size_t from = at + 1, to = from;
    while (to < s->count && !word_is(&s->words[to], ";") && !word_is(&s->words[to], "+"))
        to++;
    struct word *inner = arena_array(s->arena, struct word, to - from);
    for (size_t i = from; i < to; i++)
        inner[i - from] = found_file(&s->words[i]);
    struct studying part = *s;
    part.words = inner;
    part.count = to - from;
    if (part.count == 0) {
        act_other(s, ALL_WORDS, "it runs another command");
        return;
    }
    act_runs(&part, 0, NULL);
    s->study->acts->word = from;
    s->study->acts->why = "it runs a command for each file";
}

/* Looks at every word, not only behind the starting points: where the expression begins is not certain when a
 * word is an expansion. */
void study_find(struct studying *s)
{
    for (size_t i = 1; i < s->count; i++) {
        const struct word *word = &s->words[i];
        if ((word->flags & WORD_SPLITS) || effect_may_be_option(word))
            act_other(s, ALL_WORDS, "one of its words may become an option");
        for (size_t k = 0; k < sizeof find_acts / sizeof *find_acts; k++) {
            if (!str_is(word->text, find_acts[k].name))
                continue;
            switch (find_acts[k].kind) {
            case FIND_RUNS: find_runs(s, i); break;
            case FIND_DELETES: act_other(s, i, "it deletes what it finds"); break;
            case FIND_WRITES:
                act_writes(s, i + 1 < s->count ? i + 1 : i,
                           i + 1 < s->count ? s->words[i + 1].text : STR_NONE);
                break;
            }
        }
    }
}

/* ---- make ---- */

/* Variables that name what make runs; those that end like these do too. */
static bool names_program(struct str name)
{
    static const char *const ends[] = {
        "SHELL",   "SHELLFLAGS", "MAKEFLAGS", "MAKEFILES", "FLAGS",      "LAUNCHER", "CMD",  "COMMAND",
        "WRAPPER", "EXEC",       "RUN",       "RUNNER",    "PREFIX_CMD", "PYTHON",   "NODE", "BASH",
        "PATH",    "PRELOAD",    "EDITOR",    "PAGER",     "SUDO",       "ENV",      "COMPILE", "TOOLCHAIN",
        "HOSTCC",  "HOSTCXX"};
    static const char *const names[] = {
        "CC",     "CXX",   "CPP",     "LD",      "AR",     "AS",   "NM",  "RM",     "FC",    "GO",  "MAKE",
        "RANLIB", "STRIP", "OBJCOPY", "INSTALL", "LEX",    "YACC", "TEX", "CURDIR", "VPATH", "NPM", "CARGO",
        "TEST",   "SED",   "AWK",     "GIT",     "DOCKER", "CP",   "MV",  "LN",     "MKDIR"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (str_ends(name, str_of(ends[i])))
            return true;
    return STR_IN(name, names) || str_empty(name) || name.p[0] == '.' || str_find(name, '$') < name.n;
}

/* Whether the value is harmless in a recipe: it holds nothing that the shell or make would interpret. */
static bool tame_value(struct str value)
{
    for (size_t i = 0; i < value.n; i++) {
        char c = value.p[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c & 0x80);
        if (!plain && c != WORD_HOLE && !strchr("_.,:/+@%=- ~", c))
            return false;
    }
    return true;
}

/* name=value, name:=value, name?=value, name+=value, name!=command */
static void make_variable(struct studying *s, size_t i)
{
    CHECK(str_find(s->words[i].text, '=') < s->words[i].text.n);
    struct str value, name = str_cut(s->words[i].text, '=', &value);
    const struct word *word = &s->words[i];
    bool runs = str_find(name, '!') < name.n;
    while (name.n && strchr(":?+! \t", name.p[name.n - 1]))
        name.n--;
    name = str_trim(name);
    if (runs || names_program(name) || str_find(name, WORD_HOLE) < name.n)
        act_other(s, i, "it sets a variable that names what make runs");
    else if ((word->flags & WORD_OPEN) & ~(unsigned)(WORD_VAR | WORD_TILDE))
        act_other(s, i, "it sets a variable to a text that is not known");
    else if (!tame_value(value))
        act_other(s, i, "it sets a variable to a text that make or the shell would act on");
}

/* {a,b=c} */
static bool brace_may_set(const struct word *word)
{
    return (word->flags & WORD_BRACE) && str_find(word->raw, '=') < word->raw.n;
}

/* `make CC='rm -rf /'` runs what the variable names: a word with `=` is judged by the variable and its value. */
void study_make(struct studying *s)
{
    for (size_t i = 1; i < s->count; i++) {
        struct str text = s->words[i].text;
        if (!is_option(text) && str_find(text, '=') < text.n)
            make_variable(s, i);
        else if ((s->words[i].flags & WORD_CHOSEN) || brace_may_set(&s->words[i]))
            act_other(s, ALL_WORDS, "one of its words may set a variable");
    }
}

/* ---- tar ---- */

/* The options by the row; besides, old clusters without a dash, and archives on other machines. */
void study_tar(struct studying *s)
{
    effects_options(s, s->study->table, 1);
    /* The first word may be a cluster without its dash. */
    if (s->count > 1 && !word_literal(&s->words[1]))
        act_other(s, ALL_WORDS, "one of its words may become an option");
    if (s->count > 1 && !is_option(s->words[1].text)) {
        struct str text = s->words[1].text;
        for (size_t i = 0; i < text.n; i++)
            if (strchr("IFCPUTg", text.p[i]))
                act_other(s, ALL_WORDS, "an option of it runs a program, or writes elsewhere");
    }
    for (size_t i = 1; i < s->count; i++)
        if (str_find(s->words[i].raw, ':') < s->words[i].raw.n && !is_option(s->words[i].text))
            act_other(s, i, "an archive with `:` in its name is fetched by a remote shell");
}

/* ---- sqlite3 ---- */

/* The second operand is the statement. It is searched, not parsed: these functions reach files, and a line that
 * begins with a dot is a command of the program itself. */
void study_sqlite(struct studying *s)
{
    static const char *const reaching[] = {"load_extension", "writefile", "readfile",   "edit(",
                                           "fsdir",          "attach",    "vacuum into"};
    size_t operands = 0;
    effects_options(s, s->study->table, 1);
    for (size_t i = 1; i < s->count; i++) {
        struct str text = s->words[i].text;
        if (is_option(text))
            continue;
        operands++;
        char *low = arena_bytes(s->arena, text.n + 1);
        for (size_t k = 0; k < text.n; k++)
            low[k] = text.p[k] >= 'A' && text.p[k] <= 'Z' ? (char)(text.p[k] + 32) : text.p[k];
        for (size_t k = 0; k < sizeof reaching / sizeof *reaching; k++)
            if (str_has((struct str){low, text.n}, str_of(reaching[k])))
                act_other(s, i, "its statement reaches files or code");
        struct str trimmed = str_trim(text);
        bool dot = operands > 1 && (str_starts(trimmed, STR(".")) || str_has(text, STR("\n")));
        if (dot || (operands > 1 && !word_literal(&s->words[i])))
            act_other(s, i, "its statement is a dot-command of sqlite3 or cannot be read");
    }
    if (operands < 2)
        act_other(s, ALL_WORDS, "it reads its statements from standard input");
}
