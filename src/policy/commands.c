#include "policy/commands.h"

#include "base/err.h"
#include "policy/effects.h"

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

/* ---- rows ---- */

bool option_next(const char **at, char *act, struct option_name *ret_name)
{
    for (;;) {
        while (**at == ' ')
            ++*at;
        if (!**at)
            return false;
        const char *from = *at;
        while (**at && **at != ' ')
            ++*at;
        struct str token = {from, (size_t)(*at - from)};
        if (strchr("-+@\\", token.p[0])) {
            *ret_name = (struct option_name){token, *act};
            return true;
        }
        if (token.n == 1 && token.p[0] != '=')
            *act = token.p[0];
    }
}

size_t row_operands(const struct command_row *row) { return strstr(row->options, "N1") ? 1 : 0; }
bool row_assigns(const struct command_row *row) { return row->options[0] == '='; }

/* Whether a letter that stands alone is among the row's options. */
static bool row_says(const struct command_row *row, char letter)
{
    for (const char *at = row->options; *at; at++)
        if (*at == letter && (at == row->options || at[-1] == ' ') && (at[1] == ' ' || at[1] == '\0'))
            return true;
    return false;
}

static bool takes_value(const struct command_row *row, char letter)
{
    return row->values[0] != '*' && letter != '\0' && strchr(row->values, letter);
}

static bool is_act(char letter) { return letter && strchr("RWXTPBID", letter); }

/* Whether any option of the row is an act. */
static bool row_acts(const struct command_row *row)
{
    const char *at = row->options;
    char act = 'S';
    struct option_name name;
    while (option_next(&at, &act, &name))
        if (is_act(act))
            return true;
    return false;
}

/* What the row says about an option of exactly this name; 0: nothing. */
static char option_kind(const struct command_row *row, struct str name)
{
    const char *at = row->options;
    char act = 'S';
    struct option_name option;
    while (option_next(&at, &act, &option))
        if (str_eq(option.name, name))
            return option.act;
    return 0;
}

bool looks_like_assignment(struct str text)
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

/* ---- options ---- */

static const char *const runs_why = "an option of it runs a program";
static const char *const other_why = "an option of it takes its orders from elsewhere";
static const char *const changes_why = "an option of it does more than its name says";

/* A name, not a path that would be loaded. */
static bool plain_name(struct str value)
{
    for (size_t i = 0; i < value.n; i++) {
        char c = value.p[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '-' &&
            c != '_' && c != ',')
            return false;
    }
    return value.n > 0;
}

/* A folder below the one we are in. */
static bool below_here(struct str value)
{
    return value.n > 0 && value.p[0] != '/' && value.p[0] != '~' && value.p[0] != '-' &&
           !str_has(value, STR(".."));
}

/* Taken for what it says: the environment's text at most, and no `@` that the line would put before it. */
static bool plain_text(const struct word *word)
{
    bool found = ((word->flags & WORD_OPEN) & ~(unsigned)(WORD_VAR | WORD_TILDE)) == 0;
    return found && (word_literal(word) || str_find(word->raw, '@') == word->raw.n);
}

/* An option that is an act; its value stands in its own word behind `value_at`, or is the next word. */
static void option_act(struct studying *s, const struct command_row *row, char act, size_t word,
                       size_t value_at)
{
    CHECK(word < s->count && act);
    struct str text = s->words[word].text;
    bool attached = value_at < text.n;
    size_t value_word = attached || word + 1 >= s->count ? word : word + 1;
    struct str value = attached ? str_sub(text, value_at, text.n) : s->words[value_word].text;
    bool literal = word_literal(&s->words[value_word]);
    if (act == 'R')
        act_code(s, value_word, value_word == word && !attached ? STR_NONE : value, runs_why);
    else if (act == 'W' && !(str_is(value, "-") && row_says(row, 'U')))
        act_writes(s, value_word, value);
    else if (act == 'D' && (str_starts(value, STR("@")) || str_has(value, STR("%output")) ||
                            !plain_text(&s->words[value_word])))
        act_other(s, value_word, other_why);
    else if (act == 'T' || (act == 'P' && !(literal && plain_name(value))) ||
             (act == 'I' && !(literal && below_here(value))))
        act_other(s, value_word, other_why);
    else if (act == 'X' || act == 'B')
        act_other(s, word, changes_why);
}

/* What no row needs to say: parts of names that mean the same everywhere, the first ones for every program,
 * all of them for those in the table. */
static const char *const running_parts[] = {"exec",   "execute", "command",      "cmd",    "pager",
                                            "eval",   "askpass", "rsh",          "editor", "shell",
                                            "hook",   "plugin",  "preprocessor", "script", "program",
                                            "wrapper", "launcher"};
enum { RUNNING_PARTS = sizeof running_parts / sizeof *running_parts, RUNNING_PARTS_ANYWHERE = 8 };

/* Those who only look do not write. */
static const char *const writing_names[] = {"--output",   "--output-file", "--outfile", "--out-file",
                                            "--log-file", "--logfile",     "--inplace", "--in-place"};

/* An option that the table does not know, by its name: X or 0. */
static char telling_name(const struct command_row *row, struct str name)
{
    struct str rest = str_sub(name, 2, name.n);
    size_t parts = row->name[0] ? RUNNING_PARTS : RUNNING_PARTS_ANYWHERE;
    if (str_starts(rest, STR("no-")))
        return 0;
    while (!str_empty(rest)) {
        struct str part = str_cut(rest, '-', &rest);
        for (size_t i = 0; i < parts; i++)
            if (str_is(part, running_parts[i]))
                return 'X';
    }
    for (size_t i = 0; row->way == WAY_READS && i < sizeof writing_names / sizeof *writing_names; i++)
        if (str_is(name, writing_names[i]))
            return 'X';
    return 0;
}

bool option_tells(struct str name)
{
    static const struct command_row any = {"any", WAY_READS, "", ""};
    return telling_name(&any, name) != 0;
}

/* `--name` or `--name=value`. An abbreviation of a name counts as the name, unless it is one itself. */
static void long_option(struct studying *s, const struct command_row *row, size_t word)
{
    struct str text = s->words[word].text;
    size_t equals = str_find(text, '=');
    struct str name = str_sub(text, 0, equals);
    const char *at = row->options;
    char act = 'S', found = option_kind(row, name);
    struct option_name option;
    while (!found && row->name[0] && option_next(&at, &act, &option))
        if (is_act(option.act) && str_starts(option.name, name))
            found = option.act;
    if (!found)
        found = telling_name(row, name);
    if (found)
        option_act(s, row, found, word, equals < text.n ? equals + 1 : text.n);
}

/* The letter of an act in a cluster; the rest of the word belongs to the first that takes a value. */
static void cluster_option(struct studying *s, const struct command_row *row, size_t word,
                           struct option_name option)
{
    struct str text = s->words[word].text;
    for (size_t i = 1; i < text.n; i++) {
        if (text.p[i] == option.name.p[1]) {
            option_act(s, row, option.act, word, i + 1);
            return;
        }
        if (takes_value(row, text.p[i]))
            return;
    }
}

/* A cluster of letters, or a long name behind one dash. */
static void short_options(struct studying *s, const struct command_row *row, size_t word)
{
    struct str text = s->words[word].text;
    size_t equals = str_find(text, '=');
    struct str name = str_sub(text, 0, equals);
    char kind = option_kind(row, name), act = 'S';
    bool clusters = row->values[0] != '*';
    struct option_name option;
    if (kind && (name.n > 2 || !clusters || text.n == 2)) {
        option_act(s, row, kind, word, equals < text.n ? equals + 1 : text.n);
        return;
    }
    for (const char *at = row->options; option_next(&at, &act, &option);) {
        if (is_long_option(option.name) || !is_act(option.act))
            continue;
        bool begins = (option.act == 'B' || option.name.n > 3) && str_starts(text, option.name);
        /* An option of two letters may stand in a cluster, too. */
        bool pair = option.name.n == 3 && clusters && str_has(text, str_sub(option.name, 1, 3));
        if (begins || pair)
            act_other(s, word, changes_why);
        else if (option.name.n == 2 && clusters && option.act != 'B')
            cluster_option(s, row, word, option);
    }
}

/* {a,b}: no alternative begins with anything but a letter. */
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

bool may_be_option(const struct word *word)
{
    struct str text = word->text;
    size_t hole = str_find(text, WORD_HOLE);
    if (word_literal(word))
        return false;
    if (text.n && text.p[0] == '-')
        return hole < str_find(text, '=') && hole < text.n;
    if ((word->flags & WORD_CHOSEN) && (word->flags & WORD_SPLITS))
        return true;
    if ((word->flags & WORD_BRACE) && hole == 0 && brace_may_dash(word->raw))
        return true;
    return hole == 0 && (word->flags & (WORD_CHOSEN | WORD_GLOB | WORD_RUNS));
}

/* Rows with a `G` or an `E` take file names for file names, also when a pattern, or a loop over one that
 * names an ending, made them. */
static bool only_glob(const struct command_row *row, const struct word *word)
{
    unsigned flags = word->flags & WORD_OPEN;
    bool begins = word->text.n && word->text.p[0] == WORD_HOLE;
    if (begins && flags == (WORD_VAR | WORD_GLOB))
        return row_says(row, 'G') || row_says(row, 'E');
    return begins && flags == WORD_GLOB &&
           (row_says(row, 'G') || (row_says(row, 'E') && word_names_ending(word)));
}

void options_study(struct studying *s, const struct command_row *row, size_t from)
{
    if (!row_acts(row))
        return;
    for (size_t i = from; i < s->count; i++) {
        struct str text = s->words[i].text;
        struct str last = s->words[i - 1].text;
        if (last.n == 2 && is_option(last) && i > from && takes_value(row, last.p[1]))
            continue;
        bool value = text.n > 2 && text.p[0] == '-' && text.p[1] != WORD_HOLE && takes_value(row, text.p[1]);
        if (row->name[0] && !value && may_be_option(&s->words[i]) && !only_glob(row, &s->words[i]))
            act_other(s, ALL_WORDS, "one of its words may become an option");
        /* Behind `--` are operands, unless it is itself the value of the option before it. */
        if (str_is(text, "--") && i > from && !is_option(s->words[i - 1].text) && row->options[0] != 'A')
            return;
        if (is_long_option(text))
            long_option(s, row, i);
        else if (is_option(text))
            short_options(s, row, i);
        else if (text.n && strchr("+@\\", text.p[0]) && option_kind(row, str_sub(text, 0, 1)))
            act_other(s, i, changes_why);
    }
}

/* How many words the option at `word` takes with its value; *ret_sure is cleared when that is a guess. */
static size_t option_words(const struct studying *s, const struct command_row *row, size_t word,
                           bool *ret_sure)
{
    struct str text = s->words[word].text;
    if (!word_literal(&s->words[word]))
        *ret_sure = false;
    if (is_long_option(text)) {
        size_t equals = str_find(text, '=');
        char kind = option_kind(row, str_sub(text, 0, equals));
        if (!kind && equals == text.n)
            *ret_sure = false;
        return equals == text.n && kind && strchr("VTRWPID", kind) ? 2 : 1;
    }
    char whole = option_kind(row, text);
    if (whole && strchr("FSXB", whole))
        return 1;
    for (size_t i = 1; i < text.n; i++) {
        char letter[3] = {'-', text.p[i], '\0'};
        char kind = option_kind(row, str_of(letter));
        if (takes_value(row, text.p[i]) || (kind && strchr("VTRWPID", kind)))
            return i + 1 == text.n ? 2 : 1;
        if (!kind)
            *ret_sure = false;
    }
    return 1;
}

size_t operand_find(const struct studying *s, const struct command_row *row, size_t from, bool *ret_sure)
{
    size_t i = from;
    *ret_sure = true;
    while (i < s->count && is_option(s->words[i].text)) {
        if (str_is(s->words[i].text, "--"))
            return i + 1;
        i += option_words(s, row, i, ret_sure);
    }
    if (i < s->count && !word_literal(&s->words[i]))
        *ret_sure = false;
    return i < s->count ? i : s->count;
}

/* ---- ways ---- */

/* Wrappers that do nothing when they have nothing to run. */
static bool idle_alone(struct str name)
{
    static const char *const idle[] = {"command", "builtin", "exec",   "nice", "time",
                                       "nohup",   "timeout", "stdbuf", "sudo"};
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
        if (str_is(name, idle[i]))
            return true;
    return false;
}

static void study_runs(struct studying *s, const struct command_row *row, size_t from)
{
    bool sure;
    size_t at = operand_find(s, row, from, &sure);
    s->study->packs = true;
    /* Only its own options: what follows the command belongs to that. */
    struct studying own = *s;
    own.count = at;
    options_study(&own, row, from);
    if (!sure)
        act_other(s, ALL_WORDS, "it runs its arguments, and an option before them is not known");
    for (; row_assigns(row) && at < s->count && looks_like_assignment(s->words[at].text); at++)
        act_other(s, at, "it sets a variable for the command it runs");
    at += row_operands(row);
    if (at < s->count && looks_like_assignment(s->words[at].text))
        act_other(s, ALL_WORDS, "it sets a variable for the command it runs");
    act_runs(s, at, NULL);
    if (at >= s->count && !idle_alone(str_of(row->name)))
        act_other(s, ALL_WORDS, "without a command it may start a shell");
}

static bool like_bash(struct str name)
{
    return str_is(name, "bash") || str_is(name, "sh") || str_is(name, "dash") || str_is(name, "ksh");
}

/* `-c text` in any cluster, or a script, or standard input. */
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
                act_other(s, i, other_why);
            continue;
        }
        text = text || str_find(word, 'c') < word.n;
        if (str_find(word, 's') < word.n || str_find(word, 'i') < word.n)
            act_other(s, ALL_WORDS, "it reads its commands from elsewhere");
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
        act_other(s, ALL_WORDS, "it gives arguments to the text it runs");
    if (!like_bash(program_name(s->words[0].text)))
        act_other(s, ALL_WORDS, "it is a shell with another language");
}

/* An interpreter: what stands behind the script belongs to the script. */
static void study_code(struct studying *s, const struct command_row *row, size_t from)
{
    static const char *const says[] = {"--version", "-V", "-v", "--help", "-h"};
    for (size_t i = 0; i < sizeof says / sizeof *says; i++)
        if (s->count == from + 1 && word_is(&s->words[from], says[i]))
            return;
    bool sure;
    size_t at = operand_find(s, row, from, &sure);
    bool module = false;
    struct studying own = *s;
    for (size_t i = from; i < at && i < s->count; i++)
        module = module || (strchr(row->values, 'm') && str_starts(s->words[i].text, STR("-m"))) ||
                 (word_is(&s->words[i], "--test") && option_kind(row, STR("--test")));
    own.count = sure ? at : s->count;
    options_study(&own, row, from);
    if (at < s->count && may_be_option(&s->words[at]))
        act_other(s, ALL_WORDS, "one of its words may become an option");
    bool script =
        at < s->count && !str_is(s->words[at].text, "-") && !str_starts(s->words[at].text, STR("/dev/"));
    if (!script && !module && !s->study->acts)
        act_other(s, ALL_WORDS, "it reads its program from standard input");
    if (module && str_is(s->words[from].text, "-m") && from + 1 < s->count &&
        !word_literal(&s->words[from + 1]))
        act_other(s, ALL_WORDS, "it runs a module that is not known");
}

/* Its operands, or only the first, are shell text. */
static void study_eval(struct studying *s, const struct command_row *row, size_t from)
{
    CHECK(row->way == WAY_EVAL || row->way == WAY_FIRST);
    bool sure, first = row->way == WAY_FIRST;
    size_t at = operand_find(s, row, from, &sure);
    struct str text;
    s->study->packs = true;
    if (at >= s->count)
        return;
    struct studying part = *s;
    part.count = first ? at + 1 : s->count;
    bool literal = words_joined(&part, at, &text);
    if (!sure || !literal)
        act_text(s, text);
    else
        act_script(s, part.count - 1, text);
}

/* Behind the first operand, a command for another machine: all of it must be named. */
static void study_remote(struct studying *s, const struct command_row *row, size_t from)
{
    bool sure;
    struct str text = STR_NONE;
    size_t at = operand_find(s, row, from, &sure);
    options_study(s, row, from);
    if (!sure || at + 1 >= s->count) {
        if (!sure)
            act_other(s, ALL_WORDS, "an option of it is not known");
        return;
    }
    bool known = words_joined(s, at + 1, &text);
    act_code(s, known ? s->count - 1 : ALL_WORDS, text, "it runs a command on another machine");
}

/* Any word may be a command, and one with a blank in it a line. */
static void study_never(struct studying *s)
{
    act_other(s, ALL_WORDS, "what it does cannot be told from its words");
    s->study->packs = true;
    for (size_t i = 1; i < s->count; i++)
        if (str_find(s->words[i].text, ' ') < s->words[i].text.n)
            act_text(s, s->words[i].text);
}

static void study_way(struct studying *s, const struct command_row *row, size_t from);

static void study_subs(struct studying *s, const struct command_row *row)
{
    CHECK(row->way == WAY_SUBS);
    bool sure;
    options_study(s, row, 1);
    size_t at = operand_find(s, row, 1, &sure);
    if (at >= s->count)
        return;
    const struct command_row *sub = NULL;
    if (word_literal(&s->words[at]))
        sub = command_row_sub(str_of(row->name), s->words[at].text, row_says(row, 'H'));
    /* An option that is not known may have a value: then the sub-command stands further back. */
    for (size_t i = 1; !sure && i < s->count; i++)
        if (!word_literal(&s->words[i]) || command_row_sub(str_of(row->name), s->words[i].text, false))
            act_other(s, ALL_WORDS, "an option before its sub-command is not known");
    if (sub && sub->way == WAY_NEVER) {
        act_other(s, at, "this sub-command can do anything");
        s->study->packs = true;
    }
    if (sub && sub->way != WAY_NEVER)
        study_way(s, sub, at + 1);
}

/* The operands are written: all of them, or the second. */
static void study_operands(struct studying *s, const struct command_row *row)
{
    size_t nth = 0;
    bool second = row->way == WAY_SECOND, only_operands = false;
    for (size_t i = 1; i < s->count; i++) {
        struct str text = s->words[i].text;
        bool value = i > 1 && s->words[i - 1].text.n == 2 && is_option(s->words[i - 1].text) &&
                     takes_value(row, s->words[i - 1].text.p[1]);
        if (!only_operands && (is_option(text) || value)) {
            only_operands = str_is(text, "--") && !value;
            continue;
        }
        nth++;
        /* As a second operand, `-` is standard output. */
        if (!second || (nth >= 2 && !str_is(text, "-")))
            act_writes(s, i, text);
        /* Some take everything behind the first operand for operands. */
        only_operands = only_operands || row->options[0] == 'A';
    }
}

/* date, hostname: an operand is the new value. */
static void study_sets(struct studying *s, const struct command_row *row)
{
    bool sure;
    options_study(s, row, 1);
    for (size_t i = 1; i < s->count;) {
        if (is_option(s->words[i].text)) {
            i += option_words(s, row, i, &sure);
            continue;
        }
        if (!str_starts(s->words[i].text, STR("+")))
            act_other(s, i, "it sets what it would otherwise tell");
        i++;
    }
}

/* The name of a service becomes part of a path. */
static void study_service(struct studying *s)
{
    for (size_t i = 1; i < s->count; i++)
        if (!is_option(s->words[i].text) && (!word_literal(&s->words[i]) || !plain_name(s->words[i].text)))
            act_other(s, i, "it runs the script of this name");
}

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

/* `test -v 'a[$(id)]'` and `printf -v` evaluate the name of a variable, `printf %n` sets one. */
void study_test(struct studying *s)
{
    bool prints = str_is(program_name(s->words[0].text), "printf");
    for (size_t i = 1; i < s->count; i++) {
        struct str text = s->words[i].text;
        if (prints && (counts_letters(text) || (i == 1 && !word_literal(&s->words[i]))))
            study_state(s);
        if (str_starts(text, STR("-v")) || str_is(text, "-R") || (i == 1 && may_be_option(&s->words[i])))
            act_other(s, ALL_WORDS, "it sets or evaluates a variable");
    }
}

/* `set -euo pipefail` only makes bash stricter. */
void study_set(struct studying *s)
{
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

void study_command(struct studying *s)
{
    static const struct command_row row = {"command", WAY_RUNS, "", "F -p"};
    if (s->count > 1 && (word_is(&s->words[1], "-v") || word_is(&s->words[1], "-V")))
        return;
    study_runs(s, &row, 1);
}

/* `config get` and `config list` look, the others change. */
static void study_config(struct studying *s, size_t from)
{
    bool looks = from < s->count && (word_is(&s->words[from], "get") || word_is(&s->words[from], "list") ||
                                     word_is(&s->words[from], "ls"));
    if (looks)
        return;
    act_other(s, from < s->count ? from : from - 1, "it changes what later commands do");
    act_writes(s, ALL_WORDS, STR("~/.npmrc"));
}

/* Its version, its options, what there is. */
static bool only_tells(const struct studying *s, size_t from)
{
    static const char *const tells[] = {"--version", "-V", "--help", "-?", "-l", "--list"};
    for (size_t i = 0; i < sizeof tells / sizeof *tells; i++)
        if (s->count == from + 1 && word_is(&s->words[from], tells[i]))
            return true;
    return false;
}

static void study_way(struct studying *s, const struct command_row *row, size_t from)
{
    switch (row->way) {
    case WAY_PLAIN: case WAY_READS: case WAY_WRITES:
        options_study(s, row, from);
        if (row_says(row, 'Y') && !only_tells(s, from))
            act_other(s, ALL_WORDS, "it takes orders from standard input");
        break;
    case WAY_SECOND: case WAY_TEE: study_operands(s, row); break;
    case WAY_STATE: study_state(s); break;
    case WAY_RUNS: study_runs(s, row, from); break;
    case WAY_SHELL: study_shell(s); break;
    case WAY_CODE: study_code(s, row, from); break;
    case WAY_EVAL: case WAY_FIRST: study_eval(s, row, from); break;
    case WAY_REMOTE: study_remote(s, row, from); break;
    case WAY_NEVER: study_never(s); break;
    case WAY_SUBS: study_subs(s, row); break;
    case WAY_FIND: study_find(s); break;
    case WAY_XARGS: study_xargs(s); break;
    case WAY_ENV: study_env(s); break;
    case WAY_SED: study_sed(s); break;
    case WAY_AWK: study_awk(s); break;
    case WAY_GIT: study_git(s); break;
    case WAY_MAKE: study_make(s); break;
    case WAY_TAR: study_tar(s); break;
    case WAY_DD: study_dd(s); break;
    case WAY_SET: study_set(s); break;
    case WAY_TEST: study_test(s); break;
    case WAY_COMMAND: study_command(s); break;
    case WAY_SQLITE: study_sqlite(s); break;
    case WAY_CONFIG: study_config(s, from); break;
    case WAY_SETS: study_sets(s, row); break;
    case WAY_SERVICE: study_service(s); break;
    }
}

/* For commands that are not in the table: a few names, spelled in full, beside what telling_name() knows. */
static const struct command_row any_row = {
    "", WAY_PLAIN, "*",
    "R -exec --pre --use-compress-program --to-command --checkpoint-action --rsync-path --upload-pack "
    "--receive-pack --script-shell --init-script --post-renderer --compress-program --ext-diff "
    "--hostname-bin --node-options"};

/* python3.11 is python3, gcc-12 is gcc. */
static const struct command_row *find_row(struct str name)
{
    const struct command_row *row = command_row_find(name);
    while (!row && name.n > 1 && strchr("0123456789.-", name.p[name.n - 1])) {
        name.n--;
        row = command_row_find(name);
    }
    return row;
}

void command_study(struct arena *arena, const struct argv *argv, unsigned depth, struct study *ret_study)
{
    struct studying s = {.arena = arena, .words = argv->words, .count = argv->count, .depth = depth,
                         .study = ret_study};
    CHECK(argv->assign_count == 0);
    *ret_study = (struct study){0};
    if (!argv->count || !word_literal(&argv->words[0]))
        return;
    ret_study->row = find_row(program_name(argv->words[0].text));
    const struct table_row *known = table_find(program_name(argv->words[0].text));
    if (known && depth < STUDY_DEPTH_MAX) {
        /* What the older table knows counts as well, until every program has its row. */

        effects_words(&s, known);
        return;
    }
    if (depth >= STUDY_DEPTH_MAX)
        act_other(&s, ALL_WORDS, "it is packed too deep");
    else if (ret_study->row)
        study_way(&s, ret_study->row, 1);
    else
        options_study(&s, &any_row, 1);
}
