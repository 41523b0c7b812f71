/* Adds the acts (reads, writes, runs, …) of one option value or operand, by the role that the program's table row gives
 * it.
 * effect_role is called by effects.c for operands and by effect_options.c for values; `by_option` tells which,
 * because a file that an option names (sort -o) is not covered by a rule on the program's usual work. */
#include "policy/effects.h"

#include "base/limits.h"
#include "policy/target.h"

/* A word for a part of another one, so that an act's path keeps the flags (expansions, patterns) of the word it
 * is in. */
static struct word word_of(const struct effects *e, size_t word, struct str value)
{
    const struct word *whole = &e->s->words[word];
    if (value.p == whole->text.p && value.n == whole->text.n)
        return *whole;
    struct str shape = value;
    /* If the value is a part of the word's text, take the same part of its shape. */
    if (value.p >= whole->text.p && value.p + value.n <= whole->text.p + whole->text.n && whole->shape.p)
        shape = str_sub(whole->shape, (size_t)(value.p - whole->text.p), (size_t)(value.p - whole->text.p) + value.n);
    return (struct word){.raw = value, .text = value, .shape = shape, .flags = whole->flags & ~(unsigned)WORD_TILDE};
}

/* Removes the scheme: `file:x` becomes x. */
static struct str without_scheme(const struct effects *e, struct str value)
{
    struct str list = table_str(row_lists(e->row)->paths);
    STR_EACH(prefix, list, ',') {
        if (prefix.n && str_starts(value, prefix))
            return str_sub(value, prefix.n, value.n);
    }
    return value;
}

/* Whether the path has a prefix that the row does not know: msl:x is a script, https:x an address. */
static bool strange_coder(const struct effects *e, struct str value)
{
    size_t colon = str_find(value, ':');
    if (!(e->row->styles & STYLE_CODERS) || colon == value.n || without_scheme(e, value).n < value.n)
        return false;
    return str_find(str_sub(value, 0, colon), '/') == colon;
}

/* Writing is natural for a program that is there to write (cp, tee), not where an option makes it write (sed
 * -i). */
static unsigned natural_flag(const struct effects *e, bool by_option)
{
    return by_option || (e->row->styles & STYLE_EDITS) || e->written ? 0 : ACT_NATURAL;
}

/* The one place where a path becomes an act: schemes are removed (file:), a folder chosen by -C is put in
 * front, and `|command` in place of a path is shell text. */
static struct act *path_act(struct effects *e, enum act_kind kind, size_t word, struct str value, bool by_option)
{
    static const char *const whys[] = {[ACT_READS] = "it reads a file", [ACT_REMOVES] = "it removes a file",
                                       [ACT_WRITES] = "it writes a file",
                                       [ACT_OBEYS] = "it reads commands or settings from a file"};
    if (strange_coder(e, value))
        act_add(e->s, ACT_OTHER, word, "a prefix such as `msl:` chooses the code that reads or writes its file");
    struct act *act = act_add(e->s, kind, word, whys[kind]);
    act->flags = (by_option ? ACT_BY_OPTION : 0) | (e->tree ? ACT_TREE : 0) | natural_flag(e, by_option) |
                 (e->stored && kind == ACT_READS ? ACT_STORED : 0);
    act->path = word_of(e, word, without_scheme(e, value));
    if (e->chdir.n && value.n && value.p[0] != '/' && value.p[0] != '~') {
        act->path.text = arena_printf(e->s->arena, "%.*s/%.*s", STR_ARG(e->chdir), STR_ARG(act->path.text));
        act->path.shape = arena_printf(e->s->arena, "%.*s/%.*s", STR_ARG(e->chdir), STR_ARG(act->path.shape));
    }
    if ((e->row->styles & STYLE_PIPE) && str_starts(value, STR("|")))
        act_text(e->s, str_sub(value, 1, value.n));
    return act;
}

/* Spellings of standard input: no file is touched. */
static bool is_stdin(struct str value)
{
    return str_empty(value) || str_is(value, "-") || str_is(value, "/dev/stdin") || str_starts(value, STR("/dev/fd/"));
}

/* A row with the style `edits` (tee) needs a rule on the file besides the one on the program. */
static void role_write(struct effects *e, size_t word, struct str value, bool by_option)
{
    if (str_is(value, "-") && (e->row->styles & STYLE_STDOUT))
        return;
    if (by_option && str_empty(value)) /* `curl -O`: the address or the server names the file */
        e->s->study->touches_all = true;
    struct act *act = path_act(e, ACT_WRITES, word, value, by_option);
    if (e->row->styles & STYLE_EDITS)
        act->flags |= ACT_EDITS;
}

/* The value is the prefix of names of files that the program writes (split). */
static void role_stem(struct effects *e, size_t word, struct str value, bool by_option)
{
    struct act *act = path_act(e, ACT_WRITES, word, value, by_option);
    act->path.text = arena_printf(e->s->arena, "%.*s%c", STR_ARG(act->path.text), WORD_HOLE);
    act->path.shape = arena_printf(e->s->arena, "%.*s%c", STR_ARG(act->path.shape), SHAPE_STAR);
    act->path.flags |= WORD_GLOB;
}

static bool is_file_address(struct str value)
{
    return value.n >= 5 && str_same_letters(str_sub(value, 0, 5), STR("file:"));
}

/* curl has patterns of its own, also in quotes: [a-z] and {a,b} in addresses and behind -T; %2e is a dot. */
static void refuse_pattern(struct effects *e, size_t word, struct str value)
{
    if (ANY(size_t i = 0; i < value.n; i++, strchr("{[%", value.p[i])))
        path_act(e, ACT_READS, word, STR("/\x01"), true)->path.flags |= WORD_CHOSEN;
}

static void role_send(struct effects *e, size_t word, struct str value, bool by_option)
{
    struct act *act = path_act(e, ACT_OBEYS, word, value, by_option);
    act->flags |= ACT_SENDS;
    act->why = "it sends a file";
    refuse_pattern(e, word, value);
}

static void role_read(struct effects *e, size_t word, struct str value, bool by_option);

/* A program of jq or yq: harmless when it only computes. yq opens a file that has the program's name; an unquoted
 * pattern may become the program and names of files. */
static bool jq_passes(struct effects *e, unsigned lang, size_t word, struct str value)
{
    if ((lang != LANG_JQ && lang != LANG_YQ) || !effect_jq_harmless(value))
        return false;
    bool files = lang == LANG_YQ || (e->s->words[word].flags & (WORD_SPLITS | WORD_GLOB | WORD_BRACE));
    if (files && !str_is(value, ".")) /* the folder itself is not a file in it */
        role_read(e, word, value, false);
    return true;
}

/* Code on the line. Programs of sed, awk, jq and yq are parsed and pass when they only compute; other languages
 * never do. */
static void role_code(struct effects *e, unsigned lang, size_t word, struct str value, bool by_option)
{
    const struct word *whole = &e->s->words[word];
    e->coded = true;
    /* Read by its own reader. */
    if (e->row->reader == READER_SED || e->row->reader == READER_AWK)
        return;
    bool literal = word_literal(whole);
    if ((lang == LANG_SED && literal && effect_sed_harmless(value)) ||
        (lang == LANG_AWK && literal && effect_awk_harmless(value)) ||
        jq_passes(e, lang, word, value))
        return;
    if (lang == LANG_SED || lang == LANG_AWK || lang == LANG_JQ || lang == LANG_YQ) {
        act_add(e->s, ACT_OTHER, word, "its program writes a file, runs something, or is not understood");
        return;
    }
    act_code(e->s, word, value, "it runs code that is on the line");
    e->s->study->acts->flags = by_option ? ACT_BY_OPTION : 0;
}

/* A file that is run. Its contents are not read: the rule must name it. */
static void role_script(struct effects *e, size_t word, struct str value, bool by_option)
{
    if (is_stdin(value) || str_starts(value, STR("/dev/"))) {
        act_add(e->s, ACT_OTHER, ALL_WORDS, "it reads its program from standard input")->flags = ACT_STDIN;
        return;
    }
    e->coded = true;
    if (effect_may_be_option(&e->s->words[word]))
        act_add(e->s, ACT_OTHER, ALL_WORDS, "one of its words may become an option");
    struct act *act = act_add(e->s, ACT_PROJECT, word, "it runs a file");
    act->path = word_of(e, word, value);
    (void)by_option;
}

/* Text for a shell: parsed if it is known whole, else searched for names that rules forbid. */
static void role_shell(struct effects *e, size_t word, struct str value)
{
    e->s->study->packs = e->coded = true;
    if (word_literal(&e->s->words[word]))
        act_script(e->s, word, value);
    else
        act_text(e->s, value);
}

/* A plain name cannot be a path: letters, digits and a few signs, no dot and no slash. */
static bool is_name(struct str value)
{
    for (size_t i = 0; i < value.n; i++)
        if (!(value.p[i] >= 'a' && value.p[i] <= 'z') && !(value.p[i] >= 'A' && value.p[i] <= 'Z') &&
            !(value.p[i] >= '0' && value.p[i] <= '9') && !strchr("-_,+", value.p[i]))
            return false;
    return value.n > 0;
}

/* A path that stays inside the folder, as far as its text tells. */
static bool is_below(struct str value)
{
    return value.n && value.p[0] != '/' && value.p[0] != '~' && value.p[0] != '-' && !str_has(value, STR("..")) &&
           !str_has(value, STR("://")) && str_find(value, '@') == value.n;
}

/* A folder that the program changes to (-C). One below the current folder is only noted, and paths are taken from
 * there; any other one is a path whose configuration the program obeys. */
static void role_chdir(struct effects *e, size_t word, struct str value)
{
    if (word_literal(&e->s->words[word]) && is_below(value) && !e->chdir.n) {
        effect_role(e, ROLE_PERHAPS, 0, word, value, true);
        e->chdir = value;
    } else
        path_act(e, ACT_OBEYS, word, value, true);
}

/* Data of a request (curl -d). `@file` sends a file; a text that is not fully known may begin with `@`, too. */
static void role_data(struct effects *e, size_t word, struct str value)
{
    const struct word *whole = &e->s->words[word];
    bool found = ((whole->flags & WORD_OPEN) & ~(unsigned)(WORD_VAR | WORD_TILDE)) == 0;
    bool plain = found && (word_literal(whole) || str_find(whole->raw, '@') == whole->raw.n);
    if (str_starts(value, STR("@"))) {
        role_send(e, word, str_sub(value, 1, value.n), true);
    } else if (plain) {
        struct act *act = act_add(e->s, ACT_TALKS, 0, "it sends data");
        act->flags = ACT_SENDS;
    }
    if (!plain || str_has(value, STR("%output")) || str_has(value, STR("%{output"))) {
        act_add(e->s, ACT_OTHER, word, "its text may name a file");
    }
}

/* An address. `file:` and absolute paths are read from the disk and count as configuration, since the program
 * takes what it is to do from there. */
static void role_talks(struct effects *e, size_t word, struct str value, bool by_option)
{
    bool file = is_file_address(value);
    struct str path = file ? str_sub(value, 5, value.n) : value;
    if (file)
        refuse_pattern(e, word, value);
    while (path.n > 1 && path.p[0] == '/' && path.p[1] == '/')
        path = str_sub(path, 1, path.n);
    if (path.n && (path.p[0] == '/' || path.n != value.n))
        path_act(e, ACT_OBEYS, word, path, true);
    struct act *act = act_add(e->s, ACT_TALKS, word, "it reaches the network");
    act->path = word_of(e, word, value);
    act->flags = by_option ? ACT_BY_OPTION : 0;
}

/* ---- words that the row takes for text ---- */

/* Whether the text names files of this machine: then it is a path, whatever the program calls it. */
bool effect_leaves_project(struct str text)
{
    static const char *const roots[] = {"etc", "home", "root", "tmp", "var", "usr", "opt", "proc", "sys", "srv", "mnt",
                                        "media", "boot", "run", "bin", "sbin", "lib", "lib64", "Users"};
    if (str_starts(text, STR("~")))
        return true;
    struct str first = STR_NONE, rest = text;
    bool absolute = str_starts(text, STR("/"));
    size_t above = 0, below = 0; /* src/../../x */
    STR_EACH(part, rest, '/') {
        if (str_empty(part) || str_is(part, "."))
            continue;
        first = str_empty(first) ? part : first;
        bool up = str_is(part, "..");
        above += up && !below;
        below = up ? below - (below > 0) : below + 1;
    }
    return absolute ? STR_IN(first, roots) : above > 0;
}

/* Whether the word is a URL. Schemes of object stores and databases (s3:, postgres:) do not count: programs that
 * take them are there to talk to them. */
static bool is_address(struct str value)
{
    static const char *const own[] = {"s3", "gs", "postgres", "postgresql", "mysql", "redis", "rediss", "mongodb",
                                      "mongodb+srv", "amqp", "amqps"};
    struct str rest, scheme = str_cut(value, ':', &rest);
    if (!str_starts(rest, STR("//")) || str_empty(scheme))
        return false;
    for (size_t i = 0; i < scheme.n; i++)
        if (!((scheme.p[i] | 32) >= 'a' && (scheme.p[i] | 32) <= 'z') && !strchr("+-.0123456789", scheme.p[i]))
            return false;
    return !STR_IN(scheme, own);
}

/* The part of a word for text that may be a path: all of it, or the value of an option, behind = or one letter; of
 * `--define=a=../b` the last. `@` in front says that a file has the words. */
static struct str possible_path(struct str value)
{
    size_t equals = str_find(value, '=');
    if (is_option(value) && equals < value.n)
        value = str_sub(value, equals + 1, value.n);
    else if (is_option(value))
        value = is_long_option(value) ? STR_NONE : str_sub(value, 2, value.n);
    for (equals = str_find(value, '='); equals < value.n && !is_address(value) && !effect_leaves_project(value);
         equals = str_find(value, '='))
        value = str_sub(value, equals + 1, value.n);
    return str_starts(value, STR("@")) ? str_sub(value, 1, value.n) : value;
}

/* A program that does more than reading, and of which only a help text is known: its words may be more than text. */
static void role_text(struct effects *e, size_t word, struct str value, bool by_option)
{
    if ((value.n < 3 && !str_is(value, "..")) || (e->row->styles & STYLE_READS) || e->row->reader == READER_GIT ||
        str_find(value, ' ') < value.n)
        return;
    struct str path, key = str_cut(value, '=', &path), named = possible_path(value);
    if (is_file_address(named) || str_starts(named, STR("fileb:"))) {
        (void)str_cut(named, ':', &path);
        while (str_starts(path, STR("//")))
            path = str_sub(path, 1, path.n);
        path_act(e, ACT_OBEYS, word, path, true);
    } else if (str_ends(key, STR("file")) && !str_empty(path)) {
        path_act(e, ACT_OBEYS, word, path, true); /* -o go-template-file=x */
    } else if (!by_option && is_address(value) &&
               !((e->row->styles & STYLE_OPEN) && str_starts(value, STR("http")))) {
        role_talks(e, word, value, true);
    } else if (!by_option && !e->row->known && effect_leaves_project(named)) {
        path_act(e, ACT_READS, word, named, false)->flags |= ACT_GUESSED; /* npm test -- --config=/x.js */
    }
}

bool effect_is_remote(const struct effects *e, struct str value)
{
    size_t colon = str_find(value, ':');
    return e->row->reader == READER_RSYNC && colon < value.n && colon < str_find(value, '/');
}

/* git expands patterns itself, also those in quotes: `git log -p -- '.e*'`. */
static void read_pathspec(struct effects *e, size_t word, struct str value)
{
    struct act *act = path_act(e, ACT_READS, word, value, false);
    char *shape = arena_bytes(e->s->arena, value.n);
    for (size_t i = 0; i < value.n; i++)
        shape[i] = value.p[i] == '*' ? SHAPE_STAR : value.p[i] == '?' ? SHAPE_ONE : value.p[i];
    act->path.shape = (struct str){shape, value.n};
    act->path.flags |= WORD_GLOB;
}

/* Reading, also by the ways of git (REV:path, pathspecs with patterns) and rsync (host:path). */
static void role_read(struct effects *e, size_t word, struct str value, bool by_option)
{
    bool git = e->row->reader == READER_GIT, writes = e->written && !by_option;
    for (size_t i = 0; git && i < value.n; i++)
        if (strchr("*?", value.p[i])) {
            read_pathspec(e, word, value);
            break;
        }
    /* REV:path, :0:path, -L1,5:path */
    for (struct str rest = value; git && str_find(rest, ':') < rest.n;) {
        (void)str_cut(rest, ':', &rest);
        struct str magic = rest;
        if (str_starts(rest, STR("("))) /* `:(top).env` */
            (void)str_cut(rest, ')', &magic);
        path_act(e, ACT_READS, word, magic, false);
    }
    if (!git && !(e->row->styles & STYLE_READS) && is_address(value))
        role_talks(e, word, value, true);
    else if (effect_is_remote(e, value))
        role_talks(e, word, value, by_option);
    else if (!is_stdin(value))
        path_act(e, writes ? ACT_WRITES : ACT_READS, word, value, by_option)->flags |= writes ? ACT_EDITS : 0;
}

/* A setting of npm that `npm config get` prints. One whose name may be that of a secret (`//host/:_authToken`), or
 * is known only at run time, needs a rule that names it, and counts as reading ~/.npmrc. */
static void role_setting(struct effects *e, size_t word, struct str value)
{
    static const char *const parts[] = {"auth", "token", "pass", "secret", "key", "//"};
    struct str file = STR("~/.npmrc");
    BUF_SCOPE(name, LIMIT_COMMAND_BYTES);
    for (size_t i = 0; i < value.n; i++)
        buf_putc(&name, str_lower(value.p[i]));
    bool secret = !word_literal(&e->s->words[word]);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        secret = secret || str_has(buf_str(&name), str_of(parts[i]));
    if (!secret)
        return;
    act_add(e->s, ACT_OTHER, word, "it prints a setting that may be a secret");
    act_add(e->s, ACT_READS, word, "it reads a file")->path =
        (struct word){.raw = file, .text = file, .shape = file, .flags = WORD_TILDE};
}

/* `gunzip x.gz` removes x.gz and writes x; so it does with .GZ, and other programs with endings of their own. */
static void role_pack(struct effects *e, size_t word, struct str value, bool by_option)
{
    static const char *const endings[] = {"-gz", "-z", "_z"};
    path_act(e, ACT_REMOVES, word, value, by_option)->flags |= ACT_TREE;
    size_t n = ROW_VALUE(endings, row, str_ends(value, str_of(*row)), strlen(*row), 0), dot = value.n;
    while (!n && dot > 0 && value.p[dot - 1] != '.' && value.p[dot - 1] != '/')
        dot--;
    if (!n && dot > 1 && value.p[dot - 1] == '.' && value.p[dot - 2] != '/' && value.p[dot - 2] != '.')
        n = value.n - dot + 1;
    if (!n)
        return;
    struct act *act = path_act(e, ACT_WRITES, word, value, by_option);
    act->path.text.n -= n;
    act->path.shape.n -= act->path.shape.p ? n : 0;
}

/* The table of roles as code. A role that only changes how other words are read was handled by
 * effect_options.c. */
void effect_role(struct effects *e, enum table_role role, unsigned arg, size_t word, struct str value, bool by_option)
{
    switch (role) {
    case ROLE_TEXT: role_text(e, word, value, by_option); break;
    case ROLE_FOLLOWS:
    case ROLE_SUB: case ROLE_TREE: case ROLE_WRITES: case ROLE_READS: case ROLE_INSTEAD: case ROLE_RISK:
    case ROLE_SHOWS: case ROLE_NAMES: case ROLE_SPREADS: case ROLE_INTO: case ROLE_COUNT: break;
    case ROLE_CHANGES: act_add(e->s, ACT_CHANGES, word, "it changes what it else only prints"); break;
    case ROLE_SETS: /* `date +FORMAT` only prints */
        if (!str_starts(value, STR("+")))
            act_add(e->s, ACT_CHANGES, word, "it changes what it else only prints")->flags = ACT_BY_OPTION;
        break;
    case ROLE_READ: role_read(e, word, value, by_option); break;
    case ROLE_SETTING: role_setting(e, word, value); break;
    case ROLE_WRITE: role_write(e, word, value, by_option); break;
    case ROLE_STEM: role_stem(e, word, value, by_option); break;
    case ROLE_REMOVE:
        if (by_option && value.p == NULL)
            act_add(e->s, ACT_OTHER, word, "it deletes what it finds");
        else
            path_act(e, ACT_REMOVES, word, value, by_option);
        break;
    case ROLE_MOVE:
        path_act(e, ACT_REMOVES, word, value, by_option)->flags |= ACT_TREE;
        break;
    case ROLE_PACK: role_pack(e, word, value, by_option); break;
    case ROLE_LINK: /* a folder is looked at as one that is perhaps written */
        path_act(e, ACT_READS, word, value, by_option)->flags &= ~(unsigned)ACT_TREE;
        [[fallthrough]];
    case ROLE_PERHAPS: path_act(e, ACT_WRITES, word, value, by_option)->flags |= ACT_PERHAPS | ACT_NATURAL; break;
    case ROLE_SCRIPT: role_script(e, word, value, by_option); break;
    case ROLE_CODE: role_code(e, arg, word, value, by_option); break;
    case ROLE_RUN: case ROLE_CMD:
        e->coded = true;
        act_code(e->s, word, value, "an option of it runs a program");
        e->s->study->acts->flags = ACT_BY_OPTION;
        break;
    case ROLE_SH: role_shell(e, word, value); break;
    case ROLE_REMOTE: act_code(e->s, word, value, "it runs a command on another machine"); break;
    case ROLE_MODULE: effect_module(e, word, value); break;
    case ROLE_ASSIGN: act_add(e->s, ACT_OTHER, word, "it sets a variable for the command it runs"); break;
    case ROLE_URL: case ROLE_HOST: role_talks(e, word, value, by_option); break;
    case ROLE_DATA: role_data(e, word, value); break;
    case ROLE_SEND: role_send(e, word, value, by_option); break;
    case ROLE_OUT: path_act(e, ACT_WRITES, word, value, false)->flags |= ACT_NATURAL; break;
    case ROLE_NAMED:
        if (!str_empty(value) && (!word_literal(&e->s->words[word]) || !is_name(value)))
            path_act(e, ACT_OBEYS, word, value, by_option);
        break;
    case ROLE_BELOW:
        if (!word_literal(&e->s->words[word]) || !is_below(value))
            path_act(e, ACT_OBEYS, word, value, by_option);
        else
            path_act(e, ACT_READS, word, value, false);
        break;
    case ROLE_OBEY: path_act(e, ACT_OBEYS, word, value, by_option); break;
    case ROLE_CHDIR: role_chdir(e, word, value); break;
    case ROLE_BAD: act_add(e->s, ACT_OTHER, word, "an option of it does more than its name says"); break;
    }
}
