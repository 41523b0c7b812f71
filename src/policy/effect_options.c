/* Options as programs take them: clusters (-la), values attached (-ofile, --out=file) or in the next word,
 * beginnings of long names (--verb for --verbose), `--no-`, one dash before long names (find, Go). Called for
 * each word that begins with a dash by read_words of effects.c. An option that the table does not know is an
 * act of its own, since it may do anything; how strict that is depends on whether the program's list of options
 * is complete (`known`, `open`). */
#include "policy/effects.h"

#include "base/err.h"

static const char *const unknown_why = "an option of it is not known";
static const char *const telling_why = "an option of it is not known, and its name says that it may do more";
static const char *const several_why = "a shortened option of it fits several options";

/* ---- finding ---- */

static int compare(struct str name, const struct table_option *option)
{
    return table_compare(name, table_text + option->name);
}

/* Index of the first option of the row whose name is not less than `name`. */
static size_t lower_bound(const struct table_row *row, struct str name)
{
    size_t from = 0, to = row->option_count;
    const struct table_option *options = table_options + row->options;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (compare(name, &options[middle]) > 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static const struct table_option *find_in(const struct table_row *row, struct str name)
{
    size_t at = lower_bound(row, name);
    const struct table_option *options = table_options + row->options;
    return at < row->option_count && compare(name, &options[at]) == 0 ? &options[at] : NULL;
}

/* The options of the row itself come before those of the commands above it (git before git push). */
static const struct table_option *find_exact(const struct effects *e, struct str name)
{
    const struct table_option *option = find_in(e->row, name);
    for (size_t i = e->parent_count; !option && i-- > 0;) {
        option = find_in(e->parents[i], name);
        /* `docker -v` tells the version, `docker compose down -v` does not. */
        if (option && option->mark == ROLE_READS)
            option = NULL;
    }
    return option;
}

/* Go: --x is -x, and the other way round. */
static const struct table_option *find_dashes(const struct effects *e, struct str name)
{
    char other[64];
    if (!(e->row->styles & STYLE_TWODASH) || name.n + 1 >= sizeof other)
        return NULL;
    if (is_long_option(name))
        return find_exact(e, str_sub(name, 1, name.n));
    other[0] = '-';
    memcpy(other + 1, name.p, name.n);
    return find_exact(e, (struct str){other, name.n + 1});
}

/* Two options that a shortened name could mean may be confused without harm if they have the same effect. */
static bool same_meaning(const struct table_option *a, const struct table_option *b)
{
    return a->arity == b->arity && a->mark == b->mark && a->arg == b->arg;
}

static bool option_acts(const struct table_option *option);

/* The option whose name begins so. *ret_several: there are several with different meanings, and one of them has an
 * effect, or only some take a value, which otherwise is a file to read: the program on this machine may have just one
 * of them. */
static const struct table_option *find_beginning(const struct table_row *row, struct str name, bool *ret_several)
{
    const struct table_option *options = table_options + row->options, *found = NULL;
    for (size_t i = lower_bound(row, name); i < row->option_count; i++) {
        if (!str_starts(table_str(options[i].name), name))
            break;
        if (found && !same_meaning(found, &options[i]))
            *ret_several = *ret_several || option_acts(found) || option_acts(&options[i]) ||
                           (found->arity != options[i].arity && effect_hands_on(row, ROLE_READ));
        found = found && (option_acts(found) || found->mark == ROLE_SHOWS) ? found : &options[i];
    }
    return found;
}

/* The option whose name has a prefix before it that the program allows: curl's --expand-url is --url. */
static const struct table_option *find_prefixed(const struct effects *e, struct str name)
{
    struct str list = table_str(row_lists(e->row)->prefixes);
    char bare[96] = "--";
    STR_EACH(prefix, list, ',') {
        size_t rest = name.n - prefix.n;
        if (prefix.n > 2 && str_starts(name, prefix) && rest + 2 < sizeof bare) {
            memcpy(bare + 2, name.p + prefix.n, rest);
            return find_exact(e, (struct str){bare, rest + 2});
        }
    }
    return NULL;
}

/* The spelling as it is, then with one dash more or less, then behind a prefix, then as a beginning: the order
 * in which programs look, so that a whole name is never taken for the beginning of another. */
static const struct table_option *find_long(const struct effects *e, struct str name, bool *ret_several)
{
    const struct table_option *option = find_exact(e, name);
    if (!option)
        option = find_dashes(e, name);
    if (!option && row_lists(e->row)->prefixes)
        option = find_prefixed(e, name);
    if (option || name.n < 3)
        return option;
    if (!(e->row->styles & STYLE_NOABBREV))
        option = find_beginning(e->row, name, ret_several);
    for (size_t i = e->parent_count; !option && i-- > 0;)
        if (!(e->parents[i]->styles & STYLE_NOABBREV))
            option = find_beginning(e->parents[i], name, ret_several);
    return option;
}

/* ---- sharpness ---- */

/* Whether an option of that role does more than reading or choosing: writing, running, sending, obeying a file. */
static bool acts(enum table_role role)
{
    switch (role) {
    case ROLE_TEXT: case ROLE_READ: case ROLE_LINK: case ROLE_PERHAPS: case ROLE_INTO: case ROLE_TREE: case ROLE_READS:
    case ROLE_RISK: case ROLE_HOST: case ROLE_URL: case ROLE_REMOVE: case ROLE_MOVE: case ROLE_PACK: case ROLE_OUT:
    case ROLE_BELOW: case ROLE_NAMED: case ROLE_SHOWS: case ROLE_NAMES: case ROLE_SPREADS: case ROLE_SETTING:
    case ROLE_FOLLOWS:
        return false;
    case ROLE_STEM: case ROLE_SETS:
    case ROLE_WRITE: case ROLE_SCRIPT: case ROLE_CODE: case ROLE_RUN: case ROLE_SH: case ROLE_REMOTE: case ROLE_CMD:
    case ROLE_MODULE: case ROLE_ASSIGN: case ROLE_DATA: case ROLE_SEND: case ROLE_OBEY: case ROLE_CHDIR: case ROLE_SUB:
    case ROLE_BAD: case ROLE_WRITES: case ROLE_CHANGES: case ROLE_INSTEAD: case ROLE_COUNT:
        break;
    }
    return true;
}

/* An option that takes the place of the first operand has the effect of that operand's role. */
static bool option_acts(const struct table_option *option)
{
    if (option->mark == ROLE_INSTEAD)
        return acts((enum table_role)option->arg);
    return acts((enum table_role)option->mark);
}

/* A row without any known option counts as sharp, unless it only reads: nothing is known of its options. */
bool effect_sharp(const struct effects *e)
{
    for (size_t i = 0; i < e->row->option_count; i++)
        if (option_acts(&table_options[e->row->options + i]))
            return true;
    return e->row->option_count == 0 && !e->row->known && !(e->row->styles & STYLE_READS);
}

bool effect_writes(const struct effects *e)
{
    for (size_t i = 0; i < e->row->option_count; i++) {
        enum table_role role = (enum table_role)table_options[e->row->options + i].mark;
        if (acts(role) && role != ROLE_OBEY && role != ROLE_CHDIR && role != ROLE_CHANGES && role != ROLE_INSTEAD)
            return true;
    }
    return false;
}

bool effect_takes_value(const struct effects *e, struct str option)
{
    const struct table_option *found = find_exact(e, option);
    return found && found->arity != ARITY_NONE;
}

bool effect_has(const struct effects *e, struct str option) { return find_exact(e, option) != NULL; }

bool effect_acts(const struct effects *e, struct str option)
{
    const struct table_option *found = find_exact(e, option);
    return found && found->mark != ROLE_TEXT && found->mark != ROLE_READS;
}

bool effect_hands_on(const struct table_row *row, enum table_role role)
{
    for (size_t i = 0; i < row->operand_count; i++)
        if (table_operands[row->operands + i].role == role)
            return true;
    return false;
}

/* ---- unknown ones ---- */

/* Options that are refused or print something in every program. */
static bool harmless_everywhere(struct str name)
{
    return str_starts(name, STR("--no-")) || str_is(name, "--help") || str_is(name, "--version");
}

/* Parts of names that say that a value is a file, a folder, code or an address. */
static const char *const telling_parts[] = {
    "file", "path", "dir", "folder", "config", "conf", "rc", "settings", "init", "setup", "require", "import", "load",
    "loader", "module", "preload", "runner", "resolver", "transform", "extractor", "plugin", "plugins", "preset",
    "output", "out", "outfile", "log", "dump", "profile", "root", "prefix", "home", "target", "dest", "destination",
    "save", "write", "url", "uri", "proxy", "registry", "socket", "location", "store", "storage", "env", "hooks",
    "engine", "driver", "parser", "formatter", "template", "include", "exec", "command", "cmd", "script", "shell"};

/* Whether a part of an option's name is in telling_parts, or ends like the name of a file or folder: --rulesdir. */
static bool part_tells(struct str part)
{
    if (STR_IN(part, telling_parts))
        return true;
    return str_ends(part, STR("dir")) || str_ends(part, STR("file")) || str_ends(part, STR("path")) ||
           str_ends(part, STR("files")) || str_ends(part, STR("dirs"));
}

/* Cut at dashes, dots and capitals: --prettierPath, --output-file. */
static bool name_tells(struct str name)
{
    char part[24];
    size_t n = 0;
    for (size_t i = 0; i <= name.n; i++) {
        char c = i < name.n ? name.p[i] : '-';
        bool capital = c >= 'A' && c <= 'Z', border = c == '-' || c == '.' || c == '_' || c == ':' || capital;
        if (border) {
            if (part_tells((struct str){part, n}))
                return true;
            n = 0;
        }
        if ((!border || capital) && n < sizeof part)
            part[n++] = capital ? (char)(c + 32) : c;
    }
    return false;
}

/* `=./x`, `=/x`, `=~/x`, `=https://…` */
static bool value_is_path(struct str rest)
{
    struct str value = rest.n > 1 && rest.p[0] == '=' ? str_sub(rest, 1, rest.n) : STR_NONE;
    return str_starts(value, STR("./")) || str_starts(value, STR("../")) || str_starts(value, STR("/")) ||
           str_starts(value, STR("~")) || str_has(value, STR("://"));
}

/* An option that hands a value on, behind `=` or in the next word: by its name, or because the value is a path. */
static bool value_tells(const struct studying *s, size_t i, struct str name)
{
    struct str rest = str_sub(s->words[i].text, name.n, s->words[i].text.n);
    bool next = i + 1 < s->count && !is_option(s->words[i + 1].text);
    if (rest.n < 2 || rest.p[0] != '=')
        return next && is_long_option(name) && name_tells(name);
    return value_is_path(rest) || name_tells(name);
}

/* Adds an act for an option that the table does not have. A row that lists all its options adds one always; a row
 * with the style `open` only where the option's name or value looks like a file, a command or an address. */
static void unknown_option(struct effects *e, size_t i, struct str name, bool several)
{
    /* No program has a long option of a single letter, but `ugrep ---` takes its options from .ugrep. */
    bool letter = is_long_option(name) && name.n == 3 && name.p[2] != '-';
    if (!several && (harmless_everywhere(name) || letter))
        return;
    e->shows = true; /* an unknown option may be one that shows contents */
    bool closed = !(e->row->styles & STYLE_OPEN);
    /* If it takes the next word for its value, another word is the command or the script. */
    bool attached = name.n < e->s->words[i].text.n;
    bool shifts = !attached && (effect_hands_on(e->row, ROLE_RUN) || effect_hands_on(e->row, ROLE_SCRIPT));
    /* A letter that a program without any act does not have: it refuses it. */
    if (closed && e->row->known && !is_long_option(name) && !shifts && !effect_sharp(e))
        return;
    if (several || closed || shifts)
        act_add(e->s, ACT_OTHER, shifts ? ALL_WORDS : i, several ? several_why : unknown_why);
    else if (effect_option_tells(name) || value_tells(e->s, i, name))
        act_add(e->s, ACT_OTHER, i, telling_why);
}

/* Names that run or load something are an act in any program. The list is short on purpose: a program that
 * nobody described needs a rule for itself anyway, and these are the options that such a rule should not cover. */
void effect_unknown_program(struct studying *s, size_t i)
{
    static const char *const names[] = {"-exec",           "--pre",          "--use-compress-program",
                                        "--to-command",    "--rsync-path",   "--checkpoint-action",
                                        "--upload-pack",   "--receive-pack", "--script-shell",
                                        "--init-script",   "--hostname-bin", "--post-renderer",
                                        "--node-options",  "--ext-diff",     "--compress-program"};
    static const char *const parts[] = {"exec", "execute", "command", "cmd", "pager", "eval", "askpass", "rsh"};
    struct str text = s->words[i].text, name = str_sub(text, 0, str_find(text, '=')), rest = name;
    bool tells = value_is_path(str_sub(text, name.n, text.n));
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        tells = tells || str_is(name, names[k]);
    while (is_long_option(name) && !str_empty(rest) && !tells) {
        struct str part = str_cut(rest, '-', &rest);
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
            tells = tells || str_is(part, parts[k]);
    }
    if (tells && !harmless_everywhere(name))
        act_add(s, ACT_OTHER, i, telling_why);
}

/* ---- taking ---- */

/* The value of an option that is marked: `text` in word `word`. */
static void take(struct effects *e, const struct table_option *option, size_t i, size_t word, struct str text)
{
    switch ((enum table_role)option->mark) {
    case ROLE_FOLLOWS: e->s->study->follows = true; [[fallthrough]];
    case ROLE_TREE: e->tree = true; return;
    case ROLE_WRITES: e->written = true; return;
    case ROLE_READS: e->only_reads = true; return;
    case ROLE_SHOWS: e->shows = true; return;
    case ROLE_SPREADS: e->spreads = true; return;
    case ROLE_NAMES: e->names_only = true; return;
    case ROLE_BAD: e->shows = true; break;
    case ROLE_RISK:
        e->s->study->risk |= 1u << option->arg;
        /* node --test finds its scripts itself, psql -l needs no statement. */
        e->coded = e->coded || option->arg == RISK_BIT_INTERPRETER || option->arg == RISK_BIT_DATABASE;
        return;
    case ROLE_CHANGES:
        act_add(e->s, ACT_CHANGES, i, "an option makes it change what it else only prints")->flags = ACT_BY_OPTION;
        return;
    case ROLE_INSTEAD:
        e->instead = true;
        /* The value is code of the language that the first operand has. */
        effect_role(e, (enum table_role)option->arg, table_operands[e->row->operands].arg, word, text, true);
        return;
    case ROLE_INTO:
        e->into = true;
        e->into_at = word;
        e->into_word = e->s->words[word];
        if (text.p != e->into_word.text.p)
            e->into_word = (struct word){.raw = text, .text = text, .shape = text, .flags = e->s->words[word].flags};
        return;
    default: break;
    }
    effect_role(e, (enum table_role)option->mark, option->arg, word, text, true);
}

/* Takes the option at word `i` whose value, if attached, begins at `value_at`; returns the last word. */
static size_t take_option(struct effects *e, const struct table_option *option, size_t i, size_t value_at)
{
    struct str text = e->s->words[i].text;
    bool attached = value_at < text.n;
    if (option->arity == ARITY_VALUE && !attached) {
        if (i + 1 >= e->s->count) {
            if (option_acts(option))
                take(e, option, i, i, STR_NONE);
            return i;
        }
        take(e, option, i, i + 1, e->s->words[i + 1].text);
        /* Only a help text says that it takes a value: the word may be an operand. */
        if (option->mark == ROLE_TEXT && !e->row->known && effect_hands_on(e->row, ROLE_READ)) {
            e->guessed = true;
            effect_role(e, ROLE_READ, 0, i + 1, e->s->words[i + 1].text, false);
        }
        return i + 1;
    }
    struct str value = attached ? str_sub(text, value_at, text.n) : STR_NONE;
    take(e, option, i, i, value);
    return i;
}

/* --name and --name=value. */
static size_t take_long(struct effects *e, size_t i)
{
    struct str text = e->s->words[i].text;
    size_t equals = str_find(text, '=');
    struct str name = str_sub(text, 0, equals);
    bool several = false;
    const struct table_option *option = find_long(e, name, &several);
    if (!option || several) {
        unknown_option(e, i, name, several);
        return i;
    }
    /* When only a help text is known, a value that looks like a path is treated as a path. */
    if (option->mark == ROLE_TEXT && !e->row->known && (e->row->styles & STYLE_OPEN) &&
        value_is_path(str_sub(text, equals, text.n)))
        act_add(e->s, ACT_OTHER, i, "the value of an option may be a path");
    return take_option(e, option, i, equals < text.n ? equals + 1 : text.n);
}

/* Names of several letters behind one dash; else the longest beginning that takes a value. */
static size_t take_single(struct effects *e, size_t i, bool *ret_taken)
{
    struct str text = e->s->words[i].text;
    size_t equals = str_find(text, '=');
    const struct table_option *option = find_exact(e, str_sub(text, 0, equals));
    if (!option)
        option = find_dashes(e, str_sub(text, 0, equals));
    *ret_taken = true;
    if (option && (option->arity != ARITY_NONE || equals == text.n || (e->row->styles & STYLE_TWODASH)))
        return take_option(e, option, i, equals < text.n ? equals + 1 : text.n);
    bool single = e->row->styles & STYLE_SINGLE;
    for (size_t n = text.n; single && n > 1; n--) {
        option = find_exact(e, str_sub(text, 0, n));
        if (option && option->arity != ARITY_NONE)
            return take_option(e, option, i, n);
    }
    *ret_taken = single;
    if (single)
        unknown_option(e, i, text, false);
    return i;
}

static bool all_digits(struct str text, size_t from)
{
    for (size_t i = from; i < text.n; i++)
        if (text.p[i] < '0' || text.p[i] > '9')
            return false;
    return from < text.n;
}

/* Several letters behind one dash. A letter that takes a value ends the cluster: the rest of the word, or the next
 * one, is the value. */
static size_t take_cluster(struct effects *e, size_t i)
{
    struct str text = e->s->words[i].text;
    for (size_t k = 1; k < text.n; k++) {
        char letter[2] = {'-', text.p[k]};
        const struct table_option *option = find_exact(e, (struct str){letter, 2});
        if (!option && all_digits(text, k))
            return i; /* a number as in `head -20` */
        if (!option) {
            unknown_option(e, i, text, false);
            return i;
        }
        if (option->arity != ARITY_NONE)
            return take_option(e, option, i, k + 1);
        take(e, option, i, i, STR_NONE);
    }
    return i;
}

/* A word behind one dash is tried as one long name first, then as a cluster of letters. */
size_t effect_option(struct effects *e, size_t i)
{
    CHECK(i < e->s->count && is_option(e->s->words[i].text));
    if (is_long_option(e->s->words[i].text))
        return take_long(e, i);
    bool taken = false;
    size_t last = i;
    if (e->s->words[i].text.n > 2 || (e->row->styles & STYLE_SINGLE))
        last = take_single(e, i, &taken);
    return taken ? last : take_cluster(e, i);
}

bool effect_takes_option(struct arena *arena, const struct argv *argv, const struct table_row *row, size_t i)
{
    struct study ignored = {0};
    struct studying s = {.arena = arena, .words = argv->words, .count = argv->count, .study = &ignored};
    struct effects e = {.s = &s, .row = row, .rest = SIZE_MAX};
    size_t at = 1;
    while (at < i && !word_is(&argv->words[at], "--"))
        at = (is_option(argv->words[at].text) ? effect_option(&e, at) : at) + 1;
    return at == i && is_option(argv->words[i].text);
}
