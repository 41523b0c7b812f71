/* Host tool: turns marks/ *.tab (written by people) and facts*.tab (made by `make facts`) into the arrays of table.h.
 *
 *     table_make OUTPUT.c FACTS.tab... -- MARKS.tab...
 *
 * It refuses what a reviewer would miss: an option whose name or value looks like a file, folder, command, address
 * or configuration and that has no mark; one that is called an output and marked as read; a mark for an option that
 * facts do not know; two marks for one option; a row that nobody decided about. Every refusal is printed as
 * FILE:LINE: words; the exit status is 1 if there is one.
 * It runs once per build and frees nothing. The grammar of marks is in table.h, that of facts in dev/facts/README.md.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/table_make.h"

struct table_facts {
    const char *name, *options;
    bool used, exact; /* exact: by the program itself or by a person, so that nothing is left out */
    bool manual;      /* written by a person: stronger than the help text */
    bool long_only;   /* only long options are listed: git shows its short ones nowhere */
};

struct row *rows;
size_t row_count;
static size_t row_room;
static struct table_facts *facts;
static size_t facts_count, facts_room;
static unsigned refusals;
static const char *at_file = "";
static unsigned at_line;

static const char *const role_words[] = {
#define X(name, word) word,
    TABLE_ROLES(X)
#undef X
};
static const char *const style_words[] = {
#define X(name, word) word,
    TABLE_STYLES(X)
#undef X
};
static const char *const risk_words[] = {
#define X(name, word) word,
    TABLE_RISKS(X)
#undef X
};
static const char *const lang_words[] = {
#define X(name, word) word,
    TABLE_LANGS(X)
#undef X
};
static const char *const reader_words[] = {
#define X(name, word) word,
    TABLE_READERS(X)
#undef X
};
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* An option with a value looks like a file, folder, command, address or settings if the last part of its name, or of
 * what help calls its value, is one of these: `--output-dir`, but not `--output-width`. */
static const char *const telling[] = {
    "addr", "address", "archive", "authfile", "bin", "binary", "browser", "ca", "cacert", "cache", "cafile", "cert",
    "certificate", "cfg", "chdir", "chroot", "client", "cmd", "command", "commands", "compiler", "conf", "config",
    "configfile", "configuration", "connect", "cookie", "cookies", "credential", "credentials", "cwd", "database",
    "db", "dest", "destination", "dictionary", "dir", "directories", "directory", "dirs", "driver", "dump", "editor",
    "endpoint", "engine", "env", "environment", "eval", "exe", "exec", "executable", "execute", "export", "extension",
    "file", "filename", "files", "folder", "from", "home", "hook", "host", "hostname", "hosts", "identity", "import",
    "include", "init", "input", "inputs", "install", "interpreter", "jar", "java", "keyfile", "keyring", "launcher",
    "lib", "libdir", "library", "linker", "load", "loader", "location", "log", "logdir", "logfile", "magic",
    "manifest", "module", "modules", "netrc", "out", "outdir", "outfile", "output", "overlay", "pager", "password",
    "passwords", "path", "pathname", "paths", "pidfile", "pipe", "plugin", "plugins", "postprocessor", "prefix",
    "preload", "preprocessor", "preset", "process", "processor", "profile", "prog", "program", "project", "proxy",
    "rc", "rcfile", "registry", "remote", "repo", "report", "repository", "require", "resolver", "root", "rootdir",
    "rsh", "ruleset", "run", "runner", "save", "script", "scripts", "server", "settings", "shell", "sock", "socket",
    "source", "sources", "spec", "specs", "src", "ssh", "stderr", "stdout", "storage", "store", "sysroot", "temp",
    "template", "templates", "temporary", "tmp", "tmpdir", "tool", "toolchain", "trace", "upload", "uri", "url",
    "urls", "viewer", "volume", "volumes", "workdir", "workspace", "worktree", "wrapper",
};
/* An option also looks like one of those if any part of its name is one of these. */
static const char *const strong[] = {
    "browser", "cmd", "command", "editor", "eval", "exec", "execute", "hook", "interpreter", "launcher", "linker",
    "loader", "pager", "plugin", "plugins", "preload", "program", "rsh", "script", "shell", "upload", "wrapper",
};

/* Printed and counted; the tool goes on, so that one run shows every mistake. */
static void refuse(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    (void)fprintf(stderr, "%s:%u: ", at_file, at_line);
    (void)vfprintf(stderr, format, list);
    (void)fputc('\n', stderr);
    va_end(list);
    refusals++;
}

void *grow(void *array, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return array;
    for (*room = *room ? *room : 64; *room <= count; *room *= 2)
        ;
    array = realloc(array, *room * size);
    if (!array) {
        perror("table_make");
        exit(1);
    }
    return array;
}

static char *copy(const char *text, size_t size)
{
    char *mine = strndup(text, size);
    if (!mine) {
        perror("table_make");
        exit(1);
    }
    return mine;
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    size_t size = 0, room = 0, got = 0;
    char *text = NULL;
    if (!file) {
        (void)fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(1);
    }
    do {
        size += got;
        text = grow(text, size + (1 << 16), &room, 1);
        got = fread(text + size, 1, 1 << 16, file);
    } while (got);
    text[size] = 0;
    (void)fclose(file);
    return text;
}

/* The next line of `*text` without its end, which moves on; NULL at the end. */
static char *take_line(char **text)
{
    char *line = *text;
    if (!line || !*line)
        return NULL;
    char *end = strchr(line, '\n');
    *text = end ? end + 1 : NULL;
    if (end)
        *end = 0;
    return line;
}

/* The next word between blanks; NULL at the end. */
static char *take_word(char **text)
{
    char *word = *text + strspn(*text, " \t");
    size_t size = strcspn(word, " \t");
    if (!size)
        return NULL;
    *text = word + size + (word[size] != 0);
    word[size] = 0;
    return word;
}

static size_t find_word(const char *const *words, size_t count, const char *word)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(words[i], word) == 0)
            return i;
    return count;
}

/* ---- facts ---- */

static int compare_facts(const void *left, const void *right)
{
    return strcmp(((const struct table_facts *)left)->name, ((const struct table_facts *)right)->name);
}

/* Lines: NAME <TAB> SOURCE <TAB> VERSION <TAB> OPTION OPTION … */
static void read_facts(const char *path)
{
    char *text = read_file(path), *line;
    at_file = path;
    for (at_line = 1; (line = take_line(&text)); at_line++) {
        if (!*line || *line == '#')
            continue;
        char *fields[4] = {line};
        for (int i = 1; i < 4; i++) {
            char *tab = fields[i - 1] ? strchr(fields[i - 1], '\t') : NULL;
            if (tab)
                *tab = 0;
            fields[i] = tab ? tab + 1 : NULL;
        }
        if (!fields[3]) {
            refuse("four fields parted by tabs are expected");
            continue;
        }
        facts = grow(facts, facts_count, &facts_room, sizeof *facts);
        facts[facts_count++] = (struct table_facts){
            .name = line, .options = fields[3], .manual = strcmp(fields[1], "manual") == 0,
            .long_only = strcmp(fields[1], "git") == 0};
        facts[facts_count - 1].exact =
            facts[facts_count - 1].manual || strcmp(fields[1], "getopt") == 0 || strcmp(line, "curl") == 0;
    }
}

/* A line that a person wrote comes before what the program says of itself. */
static struct table_facts *find_facts(const char *name)
{
    struct table_facts key = {.name = name};
    struct table_facts *found = facts_count ? bsearch(&key, facts, facts_count, sizeof *facts, compare_facts) : NULL;
    for (int step = -1; found && step <= 1; step += 2) {
        struct table_facts *beside = found + step;
        if (beside >= facts && beside < facts + facts_count && strcmp(beside->name, name) == 0 && beside->manual)
            found = beside;
    }
    return found;
}

static struct made_option *find_option(struct row *row, const char *name)
{
    for (size_t i = 0; i < row->option_count; i++)
        if (strcmp(row->options[i].name, name) == 0)
            return &row->options[i];
    return NULL;
}

static struct made_option *add_option(struct row *row, const char *name)
{
    row->options = grow(row->options, row->option_count, &row->option_room, sizeof *row->options);
    struct made_option *option = &row->options[row->option_count++];
    *option = (struct made_option){.name = name, .hint = "", .mark = ROLE_TEXT};
    return option;
}

/* `-o=FILE`, `--color?WHEN`, `-v`: name, arity and what help calls the value. A `=` that is part of the name of a key
 * (`of=`) is its last character in marks and never occurs in facts. */
static const char *split_option(const char *word, uint8_t *ret_arity, const char **ret_hint)
{
    size_t size = strcspn(word, "=?");
    *ret_arity = word[size] == '=' ? ARITY_VALUE : word[size] == '?' ? ARITY_MAYBE : ARITY_NONE;
    *ret_hint = word[size] ? word + size + 1 : "";
    return size ? copy(word, size) : word;
}

/* Options of all names of a row are joined; the first mention decides about the value. */
static void add_facts(struct row *row, const char *name)
{
    struct table_facts *found = find_facts(name);
    if (!found)
        return;
    /* `-` alone says that the program has no options at all. */
    row->known = found->used = true;
    row->exact = found->exact;
    row->long_only = found->long_only;
    char *text = copy(found->options, strlen(found->options)), *word;
    while ((word = take_word(&text))) {
        uint8_t arity;
        const char *hint, *option_name = split_option(word, &arity, &hint);
        if (strcmp(word, "-") == 0 || find_option(row, option_name))
            continue;
        struct made_option *option = add_option(row, option_name);
        option->arity = arity;
        option->hint = hint;
    }
}

/* ---- marks ---- */

static uint8_t read_choice(const char *const *words, size_t count, const char *word, const char *what)
{
    size_t found = find_word(words, count, word ? word : "");
    if (found == count) {
        refuse("there is no %s `%s`", what, word ? word : "");
        return 0;
    }
    return (uint8_t)found;
}

/* ROLE[:ARG], into role, arg and language. */
static void read_role(char *word, uint8_t *ret_role, uint8_t *ret_arg, uint8_t *ret_lang)
{
    char *arg = strchr(word, ':');
    if (arg)
        *arg++ = 0;
    *ret_role = read_choice(role_words, COUNT(role_words), word, "role");
    *ret_arg = *ret_lang = 0;
    if (*ret_role == ROLE_RISK) {
        *ret_arg = read_choice(risk_words, COUNT(risk_words), arg, "risk");
    } else if (*ret_role == ROLE_INSTEAD) {
        char *lang = arg ? strchr(arg, '=') : NULL;
        if (lang)
            *lang++ = 0;
        *ret_arg = read_choice(role_words, COUNT(role_words), arg, "role");
        *ret_lang = read_choice(lang_words, COUNT(lang_words), lang, "language");
    } else {
        *ret_arg = read_choice(lang_words, COUNT(lang_words), arg, "language");
    }
}

/* At most one operand of a row may repeat: with two of them nobody could tell which word belongs to which. */
static void read_operand(struct row *row, char *word)
{
    size_t size = strlen(word);
    struct table_operand operand = {.repeat = REPEAT_ONCE};
    uint8_t lang;
    if (size > 1 && strchr("*+", word[size - 1])) {
        operand.repeat = REPEAT_ANY;
        word[size - 1] = 0;
    }
    read_role(word, &operand.role, &operand.arg, &lang);
    for (size_t i = 0; i < row->operand_count; i++)
        if (operand.repeat == REPEAT_ANY && row->operands[i].repeat == REPEAT_ANY)
            refuse("two operands repeat");
    if (row->operand_count == OPERANDS_MAX)
        refuse("more than %d operands", OPERANDS_MAX);
    else
        row->operands[row->operand_count++] = operand;
}

static void read_risks(struct row *row, char *list)
{
    for (char *next; list; list = next) {
        if ((next = strchr(list, ',')))
            *next++ = 0;
        row->risk |= (uint16_t)(1u << read_choice(risk_words, COUNT(risk_words), list, "risk"));
    }
}

/* A word of TABLE_STYLES, or WORD:VALUE and WORD=VALUE: see the grammar in table.h. */
static void read_style(struct row *row, char *word)
{
    char *value = word + strcspn(word, ":=");
    if (!*value) {
        row->styles |= 1u << read_choice(style_words, COUNT(style_words), word, "style");
        return;
    }
    *value++ = 0;
    const struct { const char *word; const char **to; } lists[] = {
        {"behind", &row->behind}, {"touches", &row->touches}, {"prefix", &row->prefixes},
        {"path", &row->paths},    {"does", &row->does},
    };
    for (size_t i = 0; i < COUNT(lists); i++)
        if (strcmp(word, lists[i].word) == 0) {
            *lists[i].to = value;
            return;
        }
    if (strcmp(word, "reader") == 0)
        row->reader = read_choice(reader_words, COUNT(reader_words), value, "reader");
    else if (strcmp(word, "stdin") == 0)
        row->stdin_lang = read_choice(lang_words, COUNT(lang_words), value, "language");
    else if (strcmp(word, "risk") == 0)
        read_risks(row, value);
    else
        refuse("there is no style `%s`", word);
}

/* Quadratic, and fast enough: a few thousand names, once per build. */
static void add_name(struct row *row, const char *name)
{
    for (size_t i = 0; i < row_count; i++)
        for (size_t k = 0; k < rows[i].name_count; k++)
            if (strcmp(rows[i].names[k], name) == 0)
                refuse("`%s` has a row already, in %s:%u", name, rows[i].file, rows[i].line);
    if (row->name_count == NAMES_MAX)
        refuse("more than %d names", NAMES_MAX);
    else
        row->names[row->name_count++] = name;
}

static void read_body(struct row *row, char *text)
{
    char *styles = strchr(text, ';'), *word;
    if (styles)
        *styles++ = 0;
    while ((word = take_word(&text)))
        read_operand(row, word);
    while (styles && (word = take_word(&styles)))
        read_style(row, word);
}

/* Where one of several words stands in a name: `git bisect good&bad` has `good&bad` from `first` to `last`. */
static bool find_choice(const char *names, char sign, const char **ret_first, const char **ret_last)
{
    const char *at = strchr(names, sign);
    if (!at || at == names || !at[1])
        return false;
    *ret_first = at;
    while (*ret_first > names && !strchr(" ,", (*ret_first)[-1]))
        --*ret_first;
    *ret_last = at + strcspn(at, " ,");
    return true;
}

/* `docker|podman rm|remove` stands for four names of one row. */
static void add_names(struct row *row, const char *name)
{
    const char *first, *last;
    if (!find_choice(name, '|', &first, &last)) {
        add_name(row, name);
        return;
    }
    for (const char *at = first; at <= last;) {
        size_t size = strcspn(at, "| "), room = strlen(name) + 1;
        char *one = copy(name, room);
        (void)snprintf(one, room, "%.*s%.*s%s", (int)(first - name), name, (int)size, at, last);
        add_names(row, one);
        at += size + 1;
    }
}

/* One row: names parted by commas, and what stands behind the colon. */
static void read_row(char *names, const char *body)
{
    rows = grow(rows, row_count, &row_room, sizeof *rows);
    struct row *row = &rows[row_count];
    *row = (struct row){.file = at_file, .line = at_line};
    for (char *name = names, *next; name; name = next) {
        if ((next = strchr(name, ',')))
            *next++ = 0;
        add_names(row, name + strspn(name, " "));
    }
    read_body(row, copy(body, strlen(body)));
    for (size_t i = 0; i < row->name_count; i++)
        add_facts(row, row->names[i]);
    row_count++;
}

/* `docker network create&connect` is a row for each of the two. */
static void read_choices(char *names, const char *body)
{
    const char *first, *last;
    if (!find_choice(names, '&', &first, &last)) {
        read_row(names, body);
        return;
    }
    for (const char *at = first; at <= last;) {
        size_t size = strcspn(at, "& ,"), room = strlen(names) + 1;
        char *one = copy(names, room);
        (void)snprintf(one, room, "%.*s%.*s%s", (int)(first - names), names, (int)size, at, last);
        read_choices(one, body);
        at += size + 1;
    }
}

/* `cat & head: read* ; reads` is a row for each, with its own facts; their marks stand below them once. */
static void read_rows(char *line)
{
    char *colon = strstr(line + 1, ": ");
    if (!colon && line[strlen(line) - 1] == ':')
        colon = line + strlen(line) - 1;
    if (!colon) {
        refuse("a row needs a colon behind its names");
        return;
    }
    *colon = 0;
    for (char *names = line, *rest; names; names = rest) {
        if ((rest = strstr(names, " & "))) {
            *rest = 0;
            rest += 3;
        }
        read_choices(names, colon + 1);
    }
}

/* `flag`: the mark declares an option without value. */
static void mark_option(struct made_option *option, const struct made_option *mark, bool flag, bool exact)
{
    if (option->marked)
        refuse("`%s` has two marks", option->name);
    /* `--target [<TRIPLE>]` in a help text may have its value behind it, too. */
    bool wider = option->arity == ARITY_MAYBE && mark->arity == ARITY_VALUE && mark->mark != ROLE_TEXT;
    if (option->arity == ARITY_NONE || ((flag || wider) && !exact))
        option->arity = mark->arity;
    option->mark = mark->mark;
    option->arg = mark->arg;
    option->lang = mark->lang;
    option->marked = true;
}

/* Adds one marked option to the rows from `first` on: to those whose facts list it, or to all of them if none does and
 * the mark says that the option exists. A row without facts has the options that its marks name. */
static void place_mark(size_t first, const struct made_option *mark, bool exists)
{
    bool known = false, alone = row_count - first == 1;
    for (size_t i = first; i < row_count; i++) {
        struct made_option *option = find_option(&rows[i], mark->name);
        /* A mark may name an option that the facts lack: help texts leave some out, and never list `+` or `@`. */
        bool needed = mark->mark != ROLE_TEXT || !(rows[i].styles & STYLE_OPEN); /* open rows: judged by name */
        bool partly = !rows[i].exact && needed && (rows[i].long_only || strlen(mark->name) > 2);
        bool unsaid = exists && (partly || mark->name[0] != '-');
        bool flag = option && rows[i].exact && !option->marked && option->arity == ARITY_NONE;
        if (flag && !alone && mark->arity != ARITY_NONE) {
            known = true; /* in this program the letter is a flag; help texts are not reliable about it */
        } else if (option || unsaid || !rows[i].known) {
            mark_option(option ? option : add_option(&rows[i], mark->name), mark, exists && mark->arity == ARITY_NONE,
                        rows[i].exact);
            known = true;
        }
    }
    for (size_t i = first; i < row_count && !known && exists; i++)
        mark_option(add_option(&rows[i], mark->name), mark, false, rows[i].exact);
    if (!known && !exists)
        refuse("facts do not know `%s` of `%s`; with `=`, `?` or `!` behind it the mark says that it exists",
               mark->name, rows[first].names[0]);
}

/* One line of options that share a mark. `!`, `=` and `?` behind an option say that it exists though facts do
 * not know it. */
static void read_mark(size_t first, char *line)
{
    char *word = take_word(&line);
    struct made_option mark = {.hint = ""};
    read_role(word, &mark.mark, &mark.arg, &mark.lang);
    while ((word = take_word(&line))) {
        size_t size = strlen(word);
        bool key = !strchr("-+@\\", *word), exists = key || word[size - 1] == '!';
        mark.arity = key ? ARITY_VALUE : ARITY_NONE;
        mark.name = word;
        if (!key && exists)
            word[size - 1] = 0;
        else if (!key)
            mark.name = split_option(word, &mark.arity, &mark.hint);
        place_mark(first, &mark, exists || mark.arity != ARITY_NONE);
    }
}

/* A line without a blank in front begins new rows, one with a blank marks options of the rows before it. */
static void read_marks(const char *path)
{
    char *text = read_file(path), *line;
    size_t first = row_count;
    at_file = path;
    for (at_line = 1; (line = take_line(&text)); at_line++) {
        char *comment = *line == '#' ? line : strstr(line, " #");
        if (comment)
            *comment = 0;
        for (size_t n = strlen(line); n && strchr(" \t\r", line[n - 1]); n--)
            line[n - 1] = 0;
        if (!*line)
            continue;
        if (*line != ' ') {
            first = row_count;
            read_rows(line);
        } else if (first < row_count) {
            read_mark(first, line);
        }
    }
}

/* ---- what is refused ---- */

static bool part_is(const char *part, size_t size, const char *const *words, size_t count)
{
    char lower[32];
    if (size >= sizeof lower)
        return false;
    for (size_t i = 0; i < size; i++)
        lower[i] = (char)(part[i] >= 'A' && part[i] <= 'Z' ? part[i] + 32 : part[i]);
    lower[size] = 0;
    return find_word(words, count, lower) < count;
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

/* Whether a part of the name tells what it does; parts end at non-letters, and before capitals after small letters. */
static bool name_tells(const char *name)
{
    const char *last = "";
    size_t last_size = 0;
    for (const char *at = name; *at;) {
        const char *end = at;
        while ((*end >= 'a' && *end <= 'z') || is_upper(*end)) {
            if (end > at && is_upper(*end) && !is_upper(end[-1]))
                break;
            end++;
        }
        if (end > at) {
            last = at;
            last_size = (size_t)(end - at);
            if (part_is(last, last_size, strong, COUNT(strong)))
                return true;
        }
        at = end > at ? end : at + 1;
    }
    return part_is(last, last_size, telling, COUNT(telling));
}

/* Whether somebody has decided about the row: see the end of the grammar in table.h. */
static bool row_acts(const struct row *row)
{
    const uint32_t acts = STYLE_READS | STYLE_SHOWS | STYLE_CHANGES | STYLE_CODE | STYLE_TALKS | STYLE_STATE |
                          STYLE_BAD | STYLE_DISCARDS | STYLE_ALONE;
    if ((row->styles & acts) || row->reader || row->stdin_lang || row->behind || row->touches)
        return true;
    for (size_t i = 0; i < row->operand_count; i++)
        if (row->operands[i].role != ROLE_TEXT && row->operands[i].role != ROLE_READ)
            return true;
    return false;
}

static const struct row *find_row(const char *name, size_t size)
{
    for (size_t i = 0; i < row_count; i++)
        for (size_t k = 0; k < rows[i].name_count; k++)
            if (strncmp(rows[i].names[k], name, size) == 0 && !rows[i].names[k][size])
                return &rows[i];
    return NULL;
}

/* Help of a sub-command lists the options of its program again: they mean there what they mean before it. */
static void inherit_marks(struct row *row)
{
    const char *name = row->names[0], *blank = strrchr(name, ' ');
    for (; blank; blank = memrchr(name, ' ', (size_t)(blank - name))) {
        const struct row *parent = find_row(name, (size_t)(blank - name));
        for (size_t i = 0; parent && (parent->styles & STYLE_GLOBALS) && i < parent->option_count; i++) {
            struct made_option *option = find_option(row, parent->options[i].name);
            if (option && !option->marked && parent->options[i].marked)
                mark_option(option, &parent->options[i], false, true);
        }
    }
}

/* OUTFILE, output-dir, DEST: what it names is written. */
static bool names_output(const char *hint)
{
    return strcasestr(hint, "outfile") || strcasestr(hint, "output") || strcasestr(hint, "dest");
}

/* The rules of review, applied after everything is read, because marks may come from the row of a shorter name. */
static void check_row(const struct row *row)
{
    at_file = row->file;
    at_line = row->line;
    if (!row_acts(row))
        refuse("`%s` says neither `reads` nor what it does", row->names[0]);
    /* A row that is refused or asked about as a whole needs no mark for each option. */
    if (row->styles & STYLE_BAD)
        return;
    for (size_t i = 0; i < row->option_count; i++) {
        const struct made_option *option = &row->options[i];
        if (!option->marked && option->arity != ARITY_NONE && (name_tells(option->name) || name_tells(option->hint)))
            refuse("`%s %s%s%s` has no mark", row->names[0], option->name, *option->hint ? "=" : "", option->hint);
        if (option->mark == ROLE_READ && names_output(option->hint))
            refuse("`%s %s=%s` is marked as read", row->names[0], option->name, option->hint);
    }
}

int main(int argc, char **argv)
{
    int i = 2;
    if (argc < 4) {
        (void)fprintf(stderr, "table_make OUTPUT.c FACTS.tab... -- MARKS.tab...\n");
        return 2;
    }
    for (; i < argc && strcmp(argv[i], "--") != 0; i++)
        read_facts(argv[i]);
    if (facts_count)
        qsort(facts, facts_count, sizeof *facts, compare_facts);
    for (i++; i < argc; i++)
        read_marks(argv[i]);
    for (size_t k = 0; k < row_count; k++) {
        inherit_marks(&rows[k]);
        check_row(&rows[k]);
    }
    if (refusals) {
        (void)fprintf(stderr, "table_make: %u refused\n", refusals);
        return 1;
    }
    table_write(argv[1]);
    return 0;
}
