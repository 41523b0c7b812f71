/* Lexer: letters to tokens, exactly as bash reads them; constructs that it does not read exactly are reported
 * as doubt.
 *
 * A word is kept in three forms: raw (as written), text (quotes removed, a WORD_HOLE byte for every expansion)
 * and shape (what the holes could become, see target.c). Called token by token by shell_parse.c. The scratch
 * buffers are as large as the line, because no token can be longer.
 */
#include "policy/shell_lex.h"

#include "base/err.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "policy/target.h"

static const struct {
    struct str text;
    enum shell_op op;
} operators[] = {
#define X(name, text) {STR(text), OP_##name},
    SHELL_OPERATORS(X)
#undef X
};

/* A word while it is being read. */
struct word_reading {
    size_t base;         /* where its letters begin on the scratch stack */
    unsigned flags;
    struct node *inside;
    bool name;           /* so far it could be the name of a variable */
    size_t assign_at;
    size_t brace_at;     /* position of the first unquoted `{` on the stack, SIZE_MAX: none */
    bool brace_mark;     /* an unquoted `,` or `..` came after it */
    size_t bracket_at;   /* position of the first unquoted `[` */
    bool after_equals;   /* the letter before was an unquoted `=` or `:`, or there was none */
};

bool shell_doubt(struct shell_parser *p, const char *why)
{
    CHECK(why);
    if (!p->doubt) {
        p->doubt = why;
        p->doubt_at = p->at;
    }
    return false;
}

/* The byte at `ahead` of the place to read, NUL behind the end. */
static char look(const struct shell_parser *p, size_t ahead)
{
    return p->at + ahead < p->text.n ? p->text.p[p->at + ahead] : '\0';
}

static bool at_end(const struct shell_parser *p) { return p->at >= p->text.n; }

static bool continued(const struct shell_parser *p) { return look(p, 0) == '\\' && look(p, 1) == '\n'; }

static void put(struct shell_parser *p, char c)
{
    CHECK(p->scratch_at < p->scratch_bytes);
    p->shapes[p->scratch_at] = c;
    p->scratch[p->scratch_at++] = c;
}

/* Letters that stand for themselves, as between quotes. */
static void put_run(struct shell_parser *p, struct str run)
{
    CHECK(run.n <= p->scratch_bytes - p->scratch_at);
    memcpy(p->shapes + p->scratch_at, run.p, run.n);
    memcpy(p->scratch + p->scratch_at, run.p, run.n);
    p->scratch_at += run.n;
}

static size_t put_so_far(const struct shell_parser *p, const struct word_reading *r)
{
    return p->scratch_at - r->base;
}

/* A letter that bash acts on; the word's text has the letter itself. */
static void put_mark(struct shell_parser *p, char c, char mark)
{
    put(p, c);
    p->shapes[p->scratch_at - 1] = mark;
}

static void put_hole(struct shell_parser *p, struct word_reading *r, unsigned flags)
{
    put(p, WORD_HOLE);
    r->flags |= flags;
    r->name = false;
}

static bool name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool name_letter(char c) { return name_start(c) || str_digit(c); }
static bool is_meta(char c)
{
    switch (c) {
    case ' ': case '\t': case '\n': case '|': case '&': case ';': case '(': case ')': case '<': case '>': return true;
    default: return false;
    }
}

static void add_inside(struct word_reading *r, struct node *node)
{
    CHECK(node->next == NULL);
    node->next = r->inside;
    r->inside = node;
    r->flags |= WORD_RUNS;
}

/* `$( … )`, `<( … )`: p->at is behind the parenthesis. */
static bool read_substitution(struct shell_parser *p, struct word_reading *r)
{
    struct node *node = shell_parse_substitution(p);
    if (!node)
        return false;
    add_inside(r, node);
    put_hole(p, r, 0);
    return true;
}

/* The bytes up to the backtick that closes, SIZE_MAX when there is none. */
static size_t backtick_bytes(const struct shell_parser *p)
{
    for (size_t n = 0; p->at + n < p->text.n; n++) {
        char c = look(p, n);
        if (c == '`')
            return n;
        n += c == '\\';
    }
    return SIZE_MAX;
}

/* Undoes the escapes of one level of backticks. */
static struct str backtick_text(struct arena *arena, struct str raw, bool in_double)
{
    char *text = arena_bytes(arena, raw.n);
    size_t n = 0;
    for (size_t i = 0; i < raw.n; i++) {
        char next = i + 1 < raw.n ? raw.p[i + 1] : '\0';
        bool escape =
            raw.p[i] == '\\' && (next == '`' || next == '\\' || next == '$' || (in_double && next == '"'));
        if (raw.p[i] == '\\' && next != '\0' && !escape)
            text[n++] = raw.p[i];
        if (raw.p[i] == '\\' && next != '\0')
            i++;
        text[n++] = raw.p[i];
    }
    return (struct str){text, n};
}

/* p->at is behind the first backtick. */
static bool read_backticks(struct shell_parser *p, struct word_reading *r, bool in_double)
{
    CHECK(p->at > 0 && p->text.p[p->at - 1] == '`');
    size_t bytes = backtick_bytes(p);
    if (bytes == SIZE_MAX)
        return shell_doubt(p, "a backtick is not closed");
    struct str raw = str_sub(p->text, p->at, p->at + bytes);
    struct shell *shell = shell_parse_inner(p->arena, backtick_text(p->arena, raw, in_double), p->depth + 1);
    struct node *node = arena_new(p->arena, struct node);
    *node = (struct node){.kind = shell->doubt ? NODE_DOUBT : NODE_SUBSHELL,
                          .why = shell->doubt,
                          .raw = raw,
                          .first = shell->root};
    *p->parts += shell->part_count;
    p->at += bytes + 1;
    add_inside(r, node);
    put_hole(p, r, 0);
    return true;
}

/* `$((1 + 2))` of plain numbers: names would be evaluated, and their values too. p->at is behind `$((`. */
static bool read_arithmetic(struct shell_parser *p, struct word_reading *r, unsigned flags)
{
    unsigned depth = 2;
    CHECK(p->at >= 3);
    while (depth > 0) {
        char c = look(p, 0);
        if (c == '\0' || (!str_digit(c) && !strchr(" +-*/%()", c)))
            return shell_doubt(p, "arithmetic is not evaluated here");
        depth = c == '(' ? depth + 1 : c == ')' ? depth - 1 : depth;
        if (depth == 1 && look(p, 1) != ')' && c == ')')
            return shell_doubt(p, "arithmetic is not evaluated here");
        p->at++;
    }
    put_hole(p, r, flags | WORD_VAR);
    return true;
}

/* Letters that may stand behind an operator in `${NAME:-…}`: letters that are nothing but letters there. */
static bool plain_default_letter(char c)
{
    return name_letter(c) || (c != '\0' && strchr("./,@%+=~^*?#: -", c)) || (unsigned char)c >= 0x80;
}

/* Reads `${NAME…}` from behind the name to the closing brace. */
static bool read_parameter_rest(struct shell_parser *p, struct word_reading *r, unsigned flags)
{
    static const char *const ops[] = {":-", ":+", ":?", "##", "%%", "-", "+", "?", "#", "%"};
    if (look(p, 0) == '}') {
        p->at++;
        put_hole(p, r, flags | WORD_VAR);
        return true;
    }
    size_t op_bytes = 0;
    for (size_t i = 0; i < sizeof ops / sizeof *ops && !op_bytes; i++)
        if (str_starts(str_sub(p->text, p->at, p->text.n), str_of(ops[i])))
            op_bytes = strlen(ops[i]);
    if (!op_bytes)
        return shell_doubt(p, "an expansion of this kind is not understood");
    /* A default with a blank, an assignment or a dash in front, one that is hidden or a path to elsewhere, or a removed
     * prefix, lets the line choose the text. */
    char last = p->text.p[p->at + op_bytes - 1], first = look(p, op_bytes);
    bool chosen = look(p, 0) == '#' || first == '-' || (strchr("-+", last) && first && strchr("./~", first));
    p->at += op_bytes;
    for (; plain_default_letter(look(p, 0)); p->at++)
        chosen = chosen || look(p, 0) == ' ' || look(p, 0) == '=' || (look(p, 0) == '/' && look(p, 1) == '.');
    if (look(p, 0) != '}')
        return shell_doubt(p, "an expansion of this kind is not understood");
    p->at++;
    put_hole(p, r, flags | WORD_VAR | (chosen ? WORD_CHOSEN : 0));
    return true;
}

/* The folders that everybody knows by a variable. */
static void mark_place(struct shell_parser *p, struct str name)
{
    if (str_is(name, "HOME"))
        p->shapes[p->scratch_at - 1] = SHAPE_HOME;
    else if (str_is(name, "PWD"))
        p->shapes[p->scratch_at - 1] = SHAPE_PWD;
}

static struct str read_name(struct shell_parser *p)
{
    size_t from = p->at;
    while (name_letter(look(p, 0)))
        p->at++;
    return str_sub(p->text, from, p->at);
}

/* $_ is the last argument of the command before, $BASH_EXECUTION_STRING the line itself and $OLDPWD a folder that it
 * left, so the line chooses them.
 * $IFS is a blank: `x${IFS}-o` is two words, the second one an option. */
static unsigned name_flags(struct str name)
{
    bool chosen = str_starts(name, STR("_")) || str_starts(name, STR("BASH")) || str_is(name, "IFS") ||
                  str_is(name, "OLDPWD");
    return chosen ? WORD_CHOSEN : 0;
}

/* p->at is behind `${`. */
static bool read_parameter(struct shell_parser *p, struct word_reading *r, unsigned flags)
{
    if (look(p, 0) == '#' && name_start(look(p, 1))) {
        p->at++;
        while (name_letter(look(p, 0)))
            p->at++;
        if (look(p, 0) != '}')
            return shell_doubt(p, "an expansion of this kind is not understood");
        p->at++;
        put_hole(p, r, flags | WORD_VAR);
        return true;
    }
    if (!name_letter(look(p, 0)))
        return shell_doubt(p, "an expansion of this kind is not understood");
    struct str name = read_name(p);
    flags |= name_flags(name);
    bool whole = look(p, 0) == '}';
    if (!read_parameter_rest(p, r, flags))
        return false;
    if (whole)
        mark_place(p, name);
    return true;
}

static int hex_digit(char c)
{
    if (str_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Reads up to `digits` digits of base 8 or 16 at p->at. */
static bool read_code(struct shell_parser *p, int base, unsigned digits, uint32_t *ret_code)
{
    uint32_t code = 0;
    unsigned n = 0;
    for (; n < digits; n++) {
        int v = hex_digit(look(p, 0));
        if (v < 0 || v >= base)
            break;
        code = code * (uint32_t)base + (uint32_t)v;
        p->at++;
    }
    *ret_code = code;
    return n > 0;
}

static bool put_code(struct shell_parser *p, uint32_t code)
{
    if (code == 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) || utf8_hidden(code))
        return shell_doubt(p, "an escape that makes a hidden character");
    CHECK(p->scratch_at + 4 <= p->scratch_bytes);
    size_t bytes = utf8_encode(code, p->scratch + p->scratch_at);
    memcpy(p->shapes + p->scratch_at, p->scratch + p->scratch_at, bytes);
    p->scratch_at += bytes;
    return true;
}

/* One escape inside $'…', p->at behind the backslash. */
static bool read_ansi_escape(struct shell_parser *p)
{
    static const char simple[] = "n\nt\t\\\\''\"\"??";
    char c = look(p, 0);
    uint32_t code;
    for (const char *s = simple; *s; s += 2) {
        if (c == s[0]) {
            put(p, s[1]);
            p->at++;
            return true;
        }
    }
    bool found = false;
    if (c == 'x' || c == 'u' || c == 'U') {
        p->at++;
        found = read_code(p, 16, c == 'x' ? 2 : c == 'u' ? 4 : 8, &code);
    } else if (c >= '0' && c <= '7') {
        found = read_code(p, 8, 3, &code);
    }
    if (!found || (code >= 0x80 && c != 'u' && c != 'U'))
        return shell_doubt(p, "an escape of this kind is not understood");
    return put_code(p, code);
}

/* p->at is behind `$'`. */
static bool read_ansi(struct shell_parser *p, struct word_reading *r)
{
    r->flags |= WORD_QUOTED | WORD_CHOSEN;
    r->name = false;
    while (look(p, 0) != '\'') {
        if (at_end(p))
            return shell_doubt(p, "a quote is not closed");
        char c = look(p, 0);
        p->at++;
        if (c != '\\')
            put(p, c);
        else if (!read_ansi_escape(p))
            return false;
    }
    p->at++;
    return true;
}

static bool read_double(struct shell_parser *p, struct word_reading *r);

/* p->at is at the dollar sign. */
static bool read_dollar(struct shell_parser *p, struct word_reading *r, bool in_double)
{
    unsigned flags = in_double ? 0 : WORD_SPLITS;
    char c = look(p, 1);
    if (c == '(') {
        bool arithmetic = look(p, 2) == '(';
        p->at += arithmetic ? 3 : 2;
        r->flags |= flags;
        return arithmetic ? read_arithmetic(p, r, flags) : read_substitution(p, r);
    }
    if (c == '{') {
        p->at += 2;
        return read_parameter(p, r, flags);
    }
    if (name_start(c)) {
        p->at++;
        struct str name = read_name(p);
        put_hole(p, r, flags | name_flags(name) | WORD_VAR);
        mark_place(p, name);
        return true;
    }
    if (str_digit(c) || (c != '\0' && strchr("@*#?$!-", c))) {
        p->at += 2;
        put_hole(p, r, flags | WORD_VAR | (c == '@' || c == '*' ? WORD_SPLITS : 0));
        return true;
    }
    if (!in_double && c == '\'') {
        p->at += 2;
        return read_ansi(p, r);
    }
    if (!in_double && c == '"') {
        p->at++;
        r->flags |= WORD_DOUBT; /* a translation, by a file the environment names */
        return read_double(p, r);
    }
    if (c == '[' || (c == '\\' && look(p, 2) == '\n'))
        return shell_doubt(p, "an expansion of this kind is not understood");
    p->at++;
    r->name = false;
    put(p, '$');
    return true;
}

/* p->at is at the quote. */
static bool read_double(struct shell_parser *p, struct word_reading *r)
{
    CHECK(look(p, 0) == '"');
    r->flags |= WORD_QUOTED;
    r->name = false;
    for (p->at++; look(p, 0) != '"';) {
        if (at_end(p))
            return shell_doubt(p, "a quote is not closed");
        char c = look(p, 0), next = look(p, 1);
        if (c == '$') {
            if (!read_dollar(p, r, true))
                return false;
        } else if (c == '`') {
            p->at++;
            if (!read_backticks(p, r, true))
                return false;
        } else if (continued(p)) {
            p->at += 2;
        } else {
            bool escape = c == '\\' && next != '\0' && strchr("$`\"\\", next);
            put(p, escape ? next : c);
            p->at += escape ? 2 : 1;
        }
    }
    p->at++;
    return true;
}

static bool read_single(struct shell_parser *p, struct word_reading *r)
{
    CHECK(look(p, 0) == '\'');
    r->flags |= WORD_QUOTED;
    r->name = false;
    p->at++;
    struct str rest = str_sub(p->text, p->at, p->text.n);
    size_t n = str_find(rest, '\'');
    put_run(p, str_sub(rest, 0, n));
    p->at += n;
    if (n == rest.n)
        return shell_doubt(p, "a quote is not closed");
    p->at++;
    return true;
}

static bool read_backslash(struct shell_parser *p, struct word_reading *r)
{
    CHECK(look(p, 0) == '\\');
    r->flags |= WORD_ESCAPED;
    if (continued(p)) {
        p->at += 2;
        return true;
    }
    if (p->at + 1 >= p->text.n)
        return shell_doubt(p, "the text ends with a backslash");
    put(p, look(p, 1));
    r->name = false;
    p->at += 2;
    return true;
}

static char shape_mark_of(char c)
{
    switch (c) {
    case '[': return SHAPE_OPEN;
    case ']': return SHAPE_CLOSE;
    case '{': return SHAPE_LEFT;
    case ',': return SHAPE_COMMA;
    case '}': return SHAPE_RIGHT;
    default: return c;
    }
}

/* Letters that mean something to brace expansion, globbing, tilde expansion or assignment. */
static void read_letter(struct shell_parser *p, struct word_reading *r)
{
    char c = look(p, 0);
    size_t n = put_so_far(p, r);
    if (c == '*' || c == '?') {
        put_hole(p, r, WORD_GLOB);
        p->shapes[p->scratch_at - 1] = c == '*' ? SHAPE_STAR : SHAPE_ONE;
    } else {
        if (c == '[' && r->bracket_at == SIZE_MAX)
            r->bracket_at = n;
        else if (c == ']' && r->bracket_at != SIZE_MAX)
            r->flags |= WORD_GLOB;
        else if (c == '{' && r->brace_at == SIZE_MAX)
            r->brace_at = n;
        else if (c == ',' || (c == '.' && look(p, 1) == '.'))
            r->brace_mark |= r->brace_at != SIZE_MAX;
        else if (c == '}' && r->brace_mark)
            r->flags |= WORD_BRACE;
        else if (c == '~' && r->after_equals)
            r->flags |= WORD_TILDE;
        else if (c == '=' && r->name && n > 0 && !r->assign_at)
            r->assign_at = n + 1;
        bool plus = c == '+' && look(p, 1) == '=';
        bool fits = n == 0 ? name_start(c) : name_letter(c);
        r->name = r->name && (fits || (plus && n > 0));
        put_mark(p, c, shape_mark_of(c));
    }
    r->after_equals = c == '=' || c == ':';
    p->at++;
}

/* Letters that mean nothing to the shell wherever they stand, up to one that does: most of nearly every command. */
static void read_plain(struct shell_parser *p, struct word_reading *r)
{
    enum { NAME = 1, DIGIT = 2, OTHER = 4 };
    static const unsigned char plain[256] = {['a' ... 'z'] = NAME, ['A' ... 'Z'] = NAME, ['_'] = NAME,
                                             ['0' ... '9'] = DIGIT, ['-'] = OTHER, ['/'] = OTHER};
    struct str rest = str_sub(p->text, p->at, p->text.n);
    unsigned kinds = 0, kind;
    size_t n = 0;
    for (; n < rest.n && (kind = plain[(unsigned char)rest.p[n]]); n++)
        kinds |= kind;
    if (n == 0)
        return;
    bool starts = put_so_far(p, r) > 0 || plain[(unsigned char)rest.p[0]] == NAME;
    r->name = r->name && starts && !(kinds & OTHER);
    r->after_equals = false;
    put_run(p, str_sub(rest, 0, n));
    p->at += n;
}

/* One piece of a word: a quote, an expansion, or a letter. */
static bool read_piece(struct shell_parser *p, struct word_reading *r)
{
    char c = look(p, 0);
    bool start = put_so_far(p, r) == 0 && !(r->flags & WORD_QUOTED);
    r->after_equals = r->after_equals || start;
    switch (c) {
    case '\\': return read_backslash(p, r);
    case '\'': r->after_equals = false; return read_single(p, r);
    case '"': r->after_equals = false; return read_double(p, r);
    case '$': r->after_equals = false; return read_dollar(p, r, false);
    case '`':
        r->after_equals = false;
        p->at++;
        r->flags |= WORD_SPLITS;
        return read_backticks(p, r, false);
    default: break;
    }
    if ((c == '<' || c == '>') && look(p, 1) == '(') {
        p->at += 2;
        return read_substitution(p, r);
    }
    read_letter(p, r);
    return true;
}

static bool all_digits(struct str s)
{
    return s.n > 0 && ALL(size_t i = 0; i < s.n; i++, str_digit(s.p[i]));
}

/* Whether the word is the `{fd}` of `{fd}>file`, by which bash sets the variable fd. */
static bool names_descriptor(struct str raw)
{
    return raw.n > 2 && raw.p[0] == '{' && raw.p[raw.n - 1] == '}' && name_start(raw.p[1]);
}

/* A word without quotes, or in one pair of them, stands in the line as it is. */
static struct str keep_text(struct shell_parser *p, struct str raw, struct str text)
{
    if (str_eq(raw, text))
        return raw;
    if (raw.n == text.n + 2 && str_eq(str_sub(raw, 1, raw.n - 1), text))
        return str_sub(raw, 1, raw.n - 1);
    return arena_str(p->arena, text);
}

/* Takes the word out of the scratch buffers; digits before `<` or `>` are a descriptor. */
static bool finish_word(struct shell_parser *p, struct word_reading *r, size_t from)
{
    struct shell_token *token = &p->token;
    CHECK(from <= p->at && p->at <= p->text.n && r->base <= p->scratch_at);
    struct str raw = str_sub(p->text, from, p->at);
    char next = look(p, 0);
    if ((r->flags & WORD_BRACE) && r->brace_at != SIZE_MAX)
        p->scratch[r->base + r->brace_at] = WORD_HOLE;
    if ((r->flags & WORD_GLOB) && r->bracket_at != SIZE_MAX)
        p->scratch[r->base + r->bracket_at] = WORD_HOLE;
    if (r->bracket_at != SIZE_MAX && (str_has(raw, STR("]=")) || str_has(raw, STR("]+=")))) {
        /* Perhaps an element of an array: its index would be evaluated. */
        r->flags |= WORD_DOUBT;
        if (name_start(raw.p[0]))
            r->assign_at = put_so_far(p, r);
    }
    struct str text = keep_text(p, raw, (struct str){p->scratch + r->base, put_so_far(p, r)});
    struct str shape = text;
    if (r->flags & WORD_OPEN)
        shape = arena_str(p->arena, (struct str){p->shapes + r->base, text.n});
    p->scratch_at = r->base;
    *token = (struct shell_token){.kind = TOKEN_WORD, .from = from, .to = p->at, .inside = r->inside,
                                  .assign_at = r->assign_at,
                                  .word = {.raw = raw, .text = text, .shape = shape, .flags = r->flags}};
    if (next == '<' || next == '>') {
        if (r->flags == 0 && all_digits(raw)) {
            token->kind = TOKEN_DESCRIPTOR;
            return raw.n <= 3 || shell_doubt(p, "a descriptor of this size is not understood");
        }
        if (names_descriptor(raw))
            return shell_doubt(p, "a redirection that sets a variable");
    }
    if (++*p->words > LIMIT_SHELL_WORDS)
        return shell_doubt(p, "too many words");
    return true;
}

/* Reads up to the next letter that ends a word outside of quotes. */
static bool read_word(struct shell_parser *p)
{
    struct word_reading r = {.base = p->scratch_at, .name = true, .brace_at = SIZE_MAX, .bracket_at = SIZE_MAX};
    size_t from = p->at;
    read_plain(p, &r);
    while (!at_end(p)) {
        char c = look(p, 0);
        bool process = (c == '<' || c == '>') && look(p, 1) == '(';
        if (is_meta(c) && !process)
            break;
        if (!read_piece(p, &r))
            return false;
        read_plain(p, &r);
    }
    return finish_word(p, &r, from);
}

/* ---- here-documents ---- */

/* The text of a body with an unquoted delimiter is expanded like that between double quotes. */
static bool read_body(struct shell_parser *p, struct heredoc *doc, struct str body)
{
    CHECK(!doc->quoted && doc->redir->kind == REDIR_HEREDOC);
    struct word_reading r = {.base = p->scratch_at};
    struct shell_parser sub = *p;
    sub.text = body;
    sub.at = 0;
    sub.nested = true;
    bool fine = true;
    while (fine && !at_end(&sub)) {
        char c = look(&sub, 0);
        sub.scratch_at = r.base;
        if (c == '$')
            fine = read_dollar(&sub, &r, true);
        else if (c == '`' && ++sub.at)
            fine = read_backticks(&sub, &r, true);
        else
            sub.at += c == '\\' ? 2 : 1;
    }
    doc->redir->target.flags |= r.flags;
    while (r.inside) {
        struct node *node = r.inside;
        r.inside = node->next;
        node->next = doc->owner->inside;
        doc->owner->inside = node;
    }
    return fine || shell_doubt(p, sub.doubt);
}

/* An odd number of backslashes at the end: the next line would belong to this one. */
static bool joins_next(struct str line)
{
    size_t n = 0;
    while (n < line.n && line.p[line.n - 1 - n] == '\\')
        n++;
    return n % 2 == 1;
}

/* The body is read when its line has ended, as bash does. Without quotes around the delimiter it is expanded,
 * so the commands in it run. */
static bool read_heredoc(struct shell_parser *p, struct heredoc *doc)
{
    size_t from = p->at;
    for (;;) {
        if (at_end(p))
            return shell_doubt(p, "a here-document is not closed");
        struct str rest, line = str_cut(str_sub(p->text, p->at, p->text.n), '\n', &rest);
        size_t start = p->at;
        p->at += line.n + (p->at + line.n < p->text.n ? 1 : 0);
        if (!doc->quoted && joins_next(line))
            return shell_doubt(p, "a here-document with joined lines");
        while (doc->tabs && line.n && line.p[0] == '\t')
            line = str_sub(line, 1, line.n);
        if (!str_eq(line, doc->delimiter))
            continue;
        struct str body = str_sub(p->text, from, start);
        doc->redir->target.raw = doc->redir->target.text = body;
        return doc->quoted || read_body(p, doc, body);
    }
}

/* In the order they were announced, which is the reverse of the chain. */
static bool read_heredocs(struct shell_parser *p)
{
    struct heredoc *first = NULL;
    while (p->heredocs) {
        struct heredoc *doc = p->heredocs;
        p->heredocs = doc->next;
        doc->next = first;
        first = doc;
    }
    p->heredoc_count = 0;
    return ALL(struct heredoc *doc = first; doc; doc = doc->next, read_heredoc(p, doc));
}

/* ---- tokens ---- */

static void skip_blanks(struct shell_parser *p)
{
    for (;;) {
        char c = look(p, 0);
        if (c == ' ' || c == '\t') {
            p->at++;
        } else if (continued(p)) {
            p->at += 2;
        } else if (c == '#') {
            while (!at_end(p) && look(p, 0) != '\n')
                p->at++;
        } else {
            return;
        }
    }
}

/* The longest operator wins: the table is ordered by length. */
static bool read_operator(struct shell_parser *p)
{
    struct str rest = str_sub(p->text, p->at, p->text.n);
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        if (!str_starts(rest, operators[i].text))
            continue;
        p->token = (struct shell_token){.kind = TOKEN_OP, .op = operators[i].op, .from = p->at,
                                        .to = p->at + operators[i].text.n};
        p->at = p->token.to;
        return !continued(p) || shell_doubt(p, "an operator that goes on in the next line");
    }
    return shell_doubt(p, "a character that is not understood");
}

/* The next token into p->token; false after a doubt, which ends the parse. */
bool shell_next(struct shell_parser *p)
{
    if (p->doubt)
        return false;
    skip_blanks(p);
    char c = look(p, 0);
    if (at_end(p)) {
        p->token = (struct shell_token){.kind = TOKEN_END, .from = p->at, .to = p->at};
        return !p->heredocs || shell_doubt(p, "a here-document is not closed");
    }
    if (c == '\n') {
        p->token = (struct shell_token){.kind = TOKEN_NEWLINE, .from = p->at, .to = p->at + 1};
        p->at++;
        return read_heredocs(p);
    }
    bool process = (c == '<' || c == '>') && look(p, 1) == '(';
    return is_meta(c) && !process ? read_operator(p) : read_word(p);
}
