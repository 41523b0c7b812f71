/* sed, awk and jq: programs in a word, read strictly; everything but plain text processing is an act.
 *
 * The scanners accept a subset in which GNU, BSD and busybox versions agree where strings, regular expressions
 * and commands end. Where they differ, a program could hide a command (`w file`, `e`, system()) in what one
 * version takes for text; such a program is not accepted, and the command then needs a rule that names it
 * whole.
 */
#include "policy/command_study.h"

#include "base/err.h"

static const char *const program_why = "its program writes a file, runs something, or is not understood";

/* A position in the text of a program. */
struct program {
    struct str text;
    size_t at;
};

static char look(const struct program *p, size_t ahead)
{
    return p->at + ahead < p->text.n ? p->text.p[p->at + ahead] : '\0';
}

static bool at_end(const struct program *p) { return p->at >= p->text.n; }
static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/* Skips a bracket expression in a sed script; p->at is at its `[`. False where programs differ about it (a backslash,
 * the delimiter, a newline inside). */
static bool skip_bracket(struct program *p, char delimiter)
{
    CHECK(look(p, 0) == '[');
    p->at++;
    if (look(p, 0) == '^')
        p->at++;
    if (look(p, 0) == ']')
        p->at++;
    for (; !at_end(p) && look(p, 0) != ']'; p->at++) {
        char c = look(p, 0), next = look(p, 1);
        /* Some programs take a backslash here as an escape, others as a letter: accepted where both end the bracket
         * alike. */
        bool pair = c == '\\' && next != delimiter && next != '\0' && !strchr("]['\n", next);
        if (pair) {
            p->at++;
            continue;
        }
        if (c == '\\' || c == delimiter || c == '\n')
            return false;
        if (c == '[' && (next == ':' || next == '.' || next == '=')) {
            for (p->at += 2; !at_end(p) && !(look(p, 0) == next && look(p, 1) == ']'); p->at++)
                if (!is_letter(look(p, 0)))
                    return false;
            p->at++;
        }
    }
    return look(p, 0) == ']';
}

/* Skips to behind the next unescaped delimiter. */
static bool skip_part(struct program *p, char delimiter, bool regex)
{
    for (; look(p, 0) != delimiter; p->at++) {
        if (at_end(p) || look(p, 0) == '\n')
            return false;
        if (look(p, 0) == '\\') {
            p->at++;
            if (at_end(p) || look(p, 0) == '\n')
                return false;
        } else if (regex && look(p, 0) == '[' && !skip_bracket(p, delimiter)) {
            return false;
        }
    }
    p->at++;
    return true;
}

/* ---- sed ---- */

static void sed_blanks(struct program *p)
{
    while (look(p, 0) == ' ' || look(p, 0) == '\t')
        p->at++;
}

static void sed_number(struct program *p)
{
    while (str_digit(look(p, 0)))
        p->at++;
}

/* A line number, a step, `$` or a regular expression. No address at all is fine, too. */
static bool sed_address(struct program *p)
{
    char c = look(p, 0);
    if (str_digit(c) || c == '+' || c == '~') {
        p->at++;
        sed_number(p);
        if (look(p, 0) == '~') {
            p->at++;
            sed_number(p);
        }
        return true;
    }
    if (c == '$') {
        p->at++;
        return true;
    }
    if (c != '/' && c != '\\')
        return true;
    char delimiter = c == '/' ? c : look(p, 1);
    p->at += c == '/' ? 1 : 2;
    if (delimiter == '\0' || delimiter == '\n' || delimiter == '\\' || delimiter == '[' ||
        !skip_part(p, delimiter, true))
        return false;
    while (look(p, 0) == 'I' || look(p, 0) == 'M')
        p->at++;
    return true;
}

static bool sed_addresses(struct program *p)
{
    if (!sed_address(p))
        return false;
    sed_blanks(p);
    if (look(p, 0) == ',') {
        p->at++;
        sed_blanks(p);
        if (!sed_address(p))
            return false;
        sed_blanks(p);
    }
    while (look(p, 0) == '!' || look(p, 0) == ' ')
        p->at++;
    return true;
}

/* s/…/…/flags and y/…/…/, p->at behind the letter. */
static bool sed_substitute(struct program *p, bool translate)
{
    char delimiter = look(p, 0);
    bool odd =
        delimiter == '\0' || delimiter == '\n' || delimiter == '\\' || delimiter == '[' || delimiter == ' ';
    p->at++;
    if (odd || !skip_part(p, delimiter, !translate) || !skip_part(p, delimiter, false))
        return false;
    while (!translate && look(p, 0) != '\0' && (str_digit(look(p, 0)) || strchr("gpiIMm", look(p, 0))))
        p->at++;
    return true;
}

/* sed: the text of a, i and c goes to the end of the line; the label of b, t, T and : to the end of the name. */
static bool sed_rest(struct program *p, char command)
{
    if (strchr("aic", command)) {
        for (; !at_end(p) && look(p, 0) != '\n'; p->at++)
            if (look(p, 0) == '\\')
                return false;
        return true;
    }
    if (strchr("btT:", command)) {
        sed_blanks(p);
        while (is_letter(look(p, 0)) || str_digit(look(p, 0)))
            p->at++;
        return true;
    }
    if (strchr("lqQL", command)) {
        sed_blanks(p);
        sed_number(p);
    }
    return true;
}

/* One command letter with its arguments. Letters that read, write or run (r R w W e) and v are not in the list. */
static bool sed_command(struct program *p)
{
    char command = look(p, 0);
    p->at++;
    if (command == '{' || command == '}')
        return true;
    if (command == 's' || command == 'y') {
        if (!sed_substitute(p, command == 'y'))
            return false;
    } else if (command == '\0' || !strchr("=dDgGhHnNpPxzFlqQaicbtT:", command) || !sed_rest(p, command)) {
        return false;
    }
    sed_blanks(p);
    return at_end(p) || strchr("\n;}#", look(p, 0));
}

/* True: the script changes text and does nothing else. */
bool effect_sed_harmless(struct str text)
{
    struct program p = {.text = text};
    if (str_find(text, '\0') < text.n)
        return false;
    for (;;) {
        while (look(&p, 0) == ';' || look(&p, 0) == '\n' || look(&p, 0) == ' ' || look(&p, 0) == '\t')
            p.at++;
        if (at_end(&p))
            return true;
        if (look(&p, 0) == '#') {
            while (!at_end(&p) && look(&p, 0) != '\n')
                p.at++;
            continue;
        }
        if (!sed_addresses(&p) || !sed_command(&p))
            return false;
    }
}

/* The kind of an option of sed: f a flag, e a piece of the program, l a value, i in place, ? anything else. */
static char sed_long(struct str name)
{
    static const struct {
        struct str name;
        char kind;
    } names[] = {
        {STR("--quiet"), 'f'},
        {STR("--silent"), 'f'},
        {STR("--regexp-extended"), 'f'},
        {STR("--separate"), 'f'},
        {STR("--unbuffered"), 'f'},
        {STR("--null-data"), 'f'},
        {STR("--zero-terminated"), 'f'},
        {STR("--posix"), 'f'},
        {STR("--debug"), 'f'},
        {STR("--sandbox"), 'f'},
        {STR("--help"), 'f'},
        {STR("--version"), 'f'},
        {STR("--line-length"), 'l'},
        {STR("--expression"), 'e'},
        {STR("--in-place"), 'i'},
        {STR("--file"), '?'},
        {STR("--follow-symlinks"), '?'},
    };
    char kind = '?';
    size_t hits = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (str_starts(names[i].name, name)) {
            kind = names[i].kind;
            hits++;
        }
    }
    return hits == 1 ? kind : '?';
}

/* The words of a sed command by their meaning: pieces of the script (joined by newlines, as sed does), files. */
struct sed_words {
    struct buf *program;
    bool given;     /* by an option */
    bool in_place;
    struct str suffix; /* of the copies that it keeps of files edited in place; empty: none */
    size_t operands[64];
    size_t operand_count;
};

/* A piece whose text is not known could be any script: the command is then not understood. */
static void sed_piece(struct studying *s, struct sed_words *sed, size_t word, struct str piece)
{
    if (!word_literal(&s->words[word]))
        act_other(s, ALL_WORDS, program_why);
    if (sed->program->n)
        buf_putc(sed->program, '\n');
    buf_put(sed->program, piece);
}

/* Reads the option at `i` and returns the index of its last word. */
static size_t sed_option(struct studying *s, struct sed_words *sed, size_t i)
{
    CHECK(is_option(s->words[i].text));
    struct str text = s->words[i].text, value = STR_NONE;
    bool attached = false;
    char kind = 'f';
    if (is_long_option(text)) {
        size_t equals = str_find(text, '=');
        kind = sed_long(str_sub(text, 0, equals));
        attached = equals < text.n;
        value = attached ? str_sub(text, equals + 1, text.n) : STR_NONE;
    } else {
        for (size_t k = 1; k < text.n && kind == 'f'; k++) {
            kind = strchr("nErsuz", text.p[k]) ? 'f' : strchr("eil", text.p[k]) ? text.p[k] : '?';
            attached = k + 1 < text.n;
            value = str_sub(text, k + 1, text.n);
        }
    }
    if (kind == 'i') {
        sed->in_place = true;
        sed->suffix = value;
    }
    if (kind == '?' || !word_literal(&s->words[i]))
        act_other(s, ALL_WORDS, "an option of it is not known, or runs a file");
    if (kind != 'e' && kind != 'l')
        return i;
    size_t word = attached ? i : i + 1;
    if (kind == 'e' && word < s->count) {
        sed->given = true;
        sed_piece(s, sed, word, attached ? value : s->words[word].text);
    }
    return word;
}

/* Finds the script among the words, checks it, and adds a write for each file that is edited in place. */
void study_sed(struct studying *s)
{
    BUF_SCOPE(program, (size_t)1 << 20);
    struct sed_words sed = {.program = &program};
    bool operands_only = false;
    for (size_t i = 1; i < s->count; i++) {
        struct str text = s->words[i].text;
        bool splits = (s->words[i].flags & WORD_SPLITS) && text.n && text.p[0] == WORD_HOLE;
        if (splits || effect_may_be_option(&s->words[i]))
            act_other(s, ALL_WORDS, "one of its words may become an option");
        if (!operands_only && str_is(text, "--"))
            operands_only = true;
        else if (!operands_only && is_option(text))
            i = sed_option(s, &sed, i);
        else if (sed.operand_count < 64)
            sed.operands[sed.operand_count++] = i;
    }
    size_t first = 0;
    if (!sed.given && sed.operand_count)
        sed_piece(s, &sed, sed.operands[first++], s->words[sed.operands[0]].text);
    if (program.over || !effect_sed_harmless(buf_str(&program)))
        act_other(s, ALL_WORDS, program_why);
    if (sed.operand_count == 64)
        act_other(s, ALL_WORDS, "it has too many operands");
    for (size_t i = first; sed.in_place && i < sed.operand_count; i++) {
        struct str file = s->words[sed.operands[i]].text;
        act_writes(s, ALL_WORDS, file);
        if (sed.suffix.n)
            act_writes(s, ALL_WORDS, arena_printf(s->arena, "%.*s%.*s", STR_ARG(file), STR_ARG(sed.suffix)));
    }
    if (str_find(sed.suffix, '*') < sed.suffix.n) /* the file's name is put in its place */
        act_other(s, ALL_WORDS, "it keeps copies under other names");
    if (sed.in_place && first >= sed.operand_count)
        act_other(s, ALL_WORDS, "it edits files in place");
}

/* ---- awk ---- */

/* The token before the current one: decides whether a slash divides or begins a regular expression. */
enum awk_before { AWK_OPERATOR, AWK_OPERAND, AWK_CLOSE };

/* The state of the scan of an awk program. */
struct awk {
    struct program p;
    enum awk_before before;
    int depth, print_depth;
    bool printing;
    char last; /* the last character that is neither blank nor newline */
};

/* A string; an escaped quote does not end it, a newline makes it an error. */
static bool awk_string(struct awk *a)
{
    CHECK(look(&a->p, 0) == '"');
    for (a->p.at++; look(&a->p, 0) != '"'; a->p.at++) {
        if (at_end(&a->p) || look(&a->p, 0) == '\n')
            return false;
        if (look(&a->p, 0) == '\\' && look(&a->p, 1) != '\0')
            a->p.at++;
    }
    a->p.at++;
    a->before = AWK_OPERAND;
    return true;
}

/* A slash divides, or begins a regular expression. Behind `)` it divides if no other slash follows; else false. */
static bool awk_slash(struct awk *a)
{
    struct str later = str_sub(a->p.text, a->p.at + 1, a->p.text.n);
    a->p.at++;
    bool alone = str_find(later, '/') == later.n;
    if (a->before == AWK_OPERAND || (a->before == AWK_CLOSE && alone)) {
        a->before = AWK_OPERATOR;
        return true;
    }
    if (a->before == AWK_CLOSE)
        return false;
    a->before = AWK_OPERAND;
    return skip_part(&a->p, '/', true);
}

/* A word: refused where it is a way to files, commands or the environment; keywords are operators for the
 * slash. */
static bool awk_name(struct awk *a)
{
    static const char *const reaching[] = {"system", "getline",   "close", "fflush",  "func",
                                           "eval",   "extension", "ARGV",  "ENVIRON", "ARGC"};
    static const char *const words[] = {"in",      "return",   "delete",   "exit",      "if",     "while",
                                        "for",     "do",       "else",     "function",  "BEGIN",  "END",
                                        "next",    "nextfile", "continue", "break",     "switch", "case",
                                        "default", "print",    "printf",   "BEGINFILE", "ENDFILE"};
    size_t from = a->p.at;
    while (is_letter(look(&a->p, 0)) || str_digit(look(&a->p, 0)))
        a->p.at++;
    struct str name = str_sub(a->p.text, from, a->p.at);
    a->before = AWK_OPERAND;
    if (STR_IN(name, reaching))
            return false;
    if (STR_IN(name, words))
            a->before = AWK_OPERATOR;
    if (str_is(name, "print") || str_is(name, "printf")) {
        a->printing = true;
        a->print_depth = a->depth;
    }
    return true;
}

/* One letter that is neither string, regular expression, name nor number. */
static bool awk_letter(struct awk *a)
{
    char c = look(&a->p, 0), next = look(&a->p, 1);
    bool to_file = a->printing && a->depth <= a->print_depth;
    a->p.at++;
    if (c == '|' && next == '|') {
        a->p.at++;
        a->before = AWK_OPERATOR;
        return true;
    }
    if (c == '|' || c == '@' || c == '\\' || (c == '>' && (next == '>' || to_file)))
        return false;
    if ((c == '+' || c == '-') && next == c) {
        a->p.at++; /* ++ and -- count neither as operand nor as operator */
        return true;
    }
    if (c == '(')
        a->depth++;
    if (c == ')')
        a->depth--;
    /* A comma or an operator at its end carries a statement over to the next line. */
    bool carried = c == '\n' && a->last != '\0' && strchr(",&|?:=", a->last);
    bool ends = c == ';' || c == '{' || c == '}' || (c == '\n' && !carried);
    if (ends)
        a->printing = false;
    if (c != ' ' && c != '\t')
        a->before = c == ')' ? AWK_CLOSE : c == ']' ? AWK_OPERAND : AWK_OPERATOR;
    return c == '\n' || c == '\t' || strchr(" (){}[];,.$!~=<>*%^?:&+-", c);
}

/* Tokens only, no grammar: a program that is wrong for awk may pass here, and awk refuses it. */
bool effect_awk_harmless(struct str text)
{
    struct awk a = {.p = {.text = text}};
    if (str_find(text, '\0') < text.n)
        return false;
    while (!at_end(&a.p)) {
        char c = look(&a.p, 0);
        bool fine = true;
        if (c == '#') {
            while (!at_end(&a.p) && look(&a.p, 0) != '\n')
                a.p.at++;
            continue;
        }
        if (c == '"') {
            fine = awk_string(&a);
        } else if (c == '/') {
            fine = awk_slash(&a);
        } else if (is_letter(c)) {
            fine = awk_name(&a);
        } else if (str_digit(c)) {
            a.p.at++;
            a.before = AWK_OPERAND;
        } else {
            fine = awk_letter(&a);
        }
        if (!fine)
            return false;
        if (c != ' ' && c != '\t' && c != '\n')
            a.last = text.p[a.p.at - 1];
    }
    return true;
}

/* ---- jq ---- */

/* Whether the jq (or yq) program neither reads other files nor shows the environment. */
bool effect_jq_harmless(struct str text)
{
    static const char *const reaching[] = {"env", "strenv", "envsubst", "ENV", "include", "import", "load", "load_str",
                                           "load_xml", "load_props", "load_base64", "get_search_list"};
    for (size_t i = 0; i < text.n;) {
        size_t from = i;
        while (i < text.n && (is_letter(text.p[i]) || str_digit(text.p[i])))
            i++;
        struct str name = str_sub(text, from, i);
        char before = from ? text.p[from - 1] : ' ';
        /* `.env` and "env" are names of fields; `$ENV` is the environment. */
        for (size_t k = 0; k < sizeof reaching / sizeof *reaching; k++)
            if (str_is(name, reaching[k]) && before != '.' && before != '"' && (before != '$' || str_is(name, "ENV")))
                return false;
        i += i == from;
    }
    return !str_starts(text, STR("\x01"));
}

/* Options that only change how awk reads; everything else is an act. Returns the index of its last word. */
static size_t awk_option(struct studying *s, size_t i, bool *ret_known)
{
    static const char *const flags[] = {"-P", "-S", "-b", "-n", "-r", "--posix", "--sandbox", "--re-interval",
                                        "--characters-as-bytes", "--traditional", "-c"};
    struct str text = s->words[i].text;
    *ret_known = word_literal(&s->words[i]);
    for (size_t k = 0; k < sizeof flags / sizeof *flags; k++)
        if (str_is(text, flags[k]))
            return i;
    if (str_starts(text, STR("-F")) || str_starts(text, STR("-v"))) {
        *ret_known = true;
        return text.n > 2 ? i : i + 1;
    }
    *ret_known = false;
    return i;
}

/* The program is the first operand; -f is not in the list of known options, so a program from a file is an act. */
void study_awk(struct studying *s)
{
    size_t i = 1;
    for (; i < s->count && is_option(s->words[i].text); i++) {
        bool known;
        if (word_is(&s->words[i], "--")) {
            i++;
            break;
        }
        i = awk_option(s, i, &known);
        if (!known) {
            act_other(s, ALL_WORDS, "an option of it is not known, or runs a file");
            return;
        }
    }
    if (i >= s->count)
        return;
    if (!word_literal(&s->words[i]) || !effect_awk_harmless(s->words[i].text))
        act_other(s, i < s->count && word_literal(&s->words[i]) ? i : ALL_WORDS, program_why);
}
