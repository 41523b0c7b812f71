/* The values that a line itself gives to its variables: `f=.git; rm -r $f`, `for f in a b; do cat $f; done`.
 *
 * Runs once behind the parse. In a word that uses such a variable, the shape gets the values in the place of the hole,
 * as a brace expansion would put them there. So all that looks at shapes (protected names, rules against paths, the
 * session's folder) sees the paths that bash will find. A value that nobody knows, or that may become an option, makes
 * the word WORD_CHOSEN: its text comes from the line, but not as it is written there. Variables that the line does not
 * set are the environment's and stay holes. */
#include "policy/shell_lex.h"

#include "base/buf.h"
#include "policy/target.h"

enum { VALUES_MAX = 64, SHAPE_BYTES_MAX = 1 << 16 };

struct shell_value {
    struct str name;
    struct word word; /* one value, or a blank-parted piece of one */
    bool known;       /* nothing in it is unknown: the shape has no holes */
    bool open;        /* it uses variables whose values are not put in yet */
    bool tame;        /* it stays one word, and is neither an option nor an assignment */
};

/* All values that the line gives to variables; each use takes every value of its name. */
struct values {
    struct arena *arena;
    struct shell_value list[VALUES_MAX];
    size_t count;
    size_t bytes; /* of shapes made so far: bounded, so that many uses of many values stay cheap */
    bool over;    /* more values than the list holds: no variable of the line is known */
};

static bool name_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_name(struct str text)
{
    return text.n > 0 && ALL(size_t i = 0; i < text.n; i++, name_letter(text.p[i]));
}

/* ---- substitutions that print one plain name ---- */

/* Whether the command prints the name of a branch or a commit. */
static bool prints_revision(const struct node *node)
{
    bool branch = node->word_count == 3 && word_is(&node->words[1], "branch") &&
                  word_is(&node->words[2], "--show-current");
    bool revision = node->word_count > 2 && word_is(&node->words[1], "rev-parse");
    for (size_t i = 2; revision && i < node->word_count; i++)
        revision = word_is(&node->words[i], "HEAD") || word_is(&node->words[i], "--short") ||
                   word_is(&node->words[i], "--abbrev-ref") || word_is(&node->words[i], "--verify");
    return word_is(&node->words[0], "git") && (branch || revision);
}

/* Letters that stay one word, which is neither an option nor a hidden name. In a format of date, the parts that it puts
 * in are never empty and have no blank. */
static bool plain_letters(struct str text, bool format)
{
    for (size_t i = 0; i < text.n; i++) {
        if (format && text.p[i] == '%' && i + 1 < text.n && strchr("YmdHMSFTjsuyVGbBaA", text.p[i + 1]))
            i++;
        else if (!name_letter(text.p[i]) && (i == 0 || !strchr("-.:+", text.p[i])))
            return false;
    }
    return text.n > 0;
}

static bool date_prints(struct str text)
{
    if (str_starts(text, STR("+")))
        return plain_letters(str_sub(text, 1, text.n), true);
    return !str_starts(text, STR("-")) || str_is(text, "-u") || str_starts(text, STR("-d")) ||
           str_starts(text, STR("-I")) || str_starts(text, STR("--date="));
}

/* Whether `basename` of this path is sure to print a plain name: letters that mean nothing to the shell, no option. */
static bool basename_prints(struct str text)
{
    struct str name = STR_NONE;
    STR_EACH(part, text, '/') {
        name = str_empty(part) ? name : part;
    }
    return plain_letters(name, false);
}

/* Whether it prints names that are no options, not hidden and no paths to elsewhere. */
static bool prints_name(const struct node *node)
{
    static const char *const programs[] = {"nproc", "whoami", "hostname", "uname", "arch"};
    while (node && node->kind != NODE_SIMPLE)
        node = node->first && !node->first->next && !node->redirs ? node->first : NULL;
    if (!node || node->assign_count || !node->word_count || node->redirs)
        return false;
    bool date = word_is(&node->words[0], "date"), name = word_is(&node->words[0], "basename");
    bool found = date || name;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        found = found || word_is(&node->words[0], programs[i]);
    for (size_t i = 1; found && i < node->word_count; i++) {
        struct str text = node->words[i].text;
        bool letter = text.n == 2 && text.p[0] == '-' && strchr("asnrvmpoifId", text.p[1]);
        bool fits = date ? date_prints(text) : name ? basename_prints(text) || i == 2 : letter;
        found = word_literal(&node->words[i]) && fits;
    }
    return found || prints_revision(node);
}

static bool prints_folder(const struct node *node)
{
    while (node && node->kind != NODE_SIMPLE)
        node = node->first && !node->first->next ? node->first : NULL;
    return node && node->word_count == 1 && !node->redirs && word_is(&node->words[0], "pwd");
}

static size_t count_letter(struct str text, char c)
{
    size_t count = 0;
    for (size_t i = 0; i < text.n; i++)
        count += text.p[i] == c;
    return count;
}

/* `$(date +%F)` is some name, `$(pwd)` the folder. */
static void place_printed(struct values *v, struct word *word, const struct node *inside)
{
    if (!(word->flags & WORD_RUNS) || !inside || inside->next || count_letter(word->shape, SHAPE_ANY) != 1)
        return;
    char mark = prints_name(inside) ? SHAPE_STAR : prints_folder(inside) ? SHAPE_PWD : SHAPE_ANY;
    char *shape = arena_bytes(v->arena, word->shape.n);
    for (size_t i = 0; i < word->shape.n; i++)
        shape[i] = word->shape.p[i] == SHAPE_ANY ? mark : word->shape.p[i];
    word->shape.p = shape;
}

/* ---- collecting ---- */

/* Whether the value can be put into a word without changing how the word is read: it is one word, no option,
 * and no pattern of its own. */
static bool is_tame(const struct word *word)
{
    struct str text = word->text;
    unsigned open = word->flags & WORD_OPEN & ~(unsigned)(WORD_TILDE | WORD_SPLITS);
    bool found = !(open & ~(unsigned)WORD_VAR);
    bool named = str_find(word->shape, SHAPE_ANY) == word->shape.n;
    size_t at = 0;
    while (at < text.n && text.p[at] == WORD_HOLE)
        at++;
    if ((!found && !(open == WORD_GLOB && at == 0) && !(open == WORD_RUNS && named)) || str_empty(text) ||
        (at < text.n && text.p[at] == '-'))
        return false;
    return !ANY(size_t i = 0; i < text.n; i++, strchr(" \t\n=*?[", text.p[i]));
}

/* Quotes keep a pattern from bash where the value is written, not where it is used: `x='.g*'; rm -r $x`. */
static struct str unquoted_shape(struct arena *arena, struct str shape)
{
    static const char letters[] = "*?[]", marks[] = {SHAPE_STAR, SHAPE_ONE, SHAPE_OPEN, SHAPE_CLOSE};
    char *text = arena_bytes(arena, shape.n);
    for (size_t i = 0; i < shape.n; i++) {
        const char *at = shape.p[i] ? strchr(letters, shape.p[i]) : NULL;
        text[i] = at ? marks[at - letters] : shape.p[i];
    }
    return (struct str){text, shape.n};
}

/* Notes one value that the variable may have. */
static void add_piece(struct values *v, struct str name, const struct word *word, bool known)
{
    if (v->count == VALUES_MAX) {
        v->over = true;
        return;
    }
    known = known && !(word->flags & (WORD_DOUBT | WORD_CHOSEN)) &&
            str_find(word->shape, '\\') == word->shape.n &&
            (!(word->flags & WORD_RUNS) || str_find(word->shape, SHAPE_ANY) == word->shape.n);
    struct shell_value *value = &v->list[v->count++];
    *value = (struct shell_value){.name = name, .word = *word, .known = known, .open = word->flags & WORD_VAR,
                                  .tame = known && (is_tame(word) || word_names_ending(word))};
    value->word.shape = unquoted_shape(v->arena, word->shape);
}

/* Adds the part of the word from letter `from` on as a value; a literal one in the pieces that blanks make of it. */
static void add_value(struct values *v, struct str name, const struct word *word, size_t from)
{
    struct word value = *word;
    size_t before = str_find(word->raw, '=') + 1;
    value.text = str_sub(word->text, from, word->text.n);
    value.shape = str_sub(word->shape, from, word->shape.n);
    value.raw = from ? str_sub(word->raw, before, word->raw.n) : word->raw;
    bool parts = word_literal(word) && str_find(value.text, ' ') < value.text.n;
    add_piece(v, name, &value, true);
    for (struct str rest = value.text; parts && !str_empty(rest);) {
        struct str piece = str_cut(rest, ' ', &rest);
        struct word part = {.raw = piece, .text = piece, .shape = piece};
        if (!str_empty(piece))
            add_piece(v, name, &part, true);
    }
}

static void add_assignment(struct values *v, const struct word *word)
{
    size_t equals = str_find(word->text, '=');
    struct str name = str_sub(word->text, 0, equals);
    bool adds = name.n && name.p[name.n - 1] == '+';
    name.n -= adds;
    if (!is_name(name) || equals == word->text.n)
        return;
    if (adds)
        add_piece(v, name, word, false);
    else
        add_value(v, name, word, equals + 1);
}

/* Commands of bash that set the variables which their operands name. */
static void add_set(struct values *v, const struct node *node)
{
    static const char *const unknown[] = {"read", "mapfile", "readarray", "getopts", "printf"};
    static const char *const known[] = {"export", "declare", "typeset", "local", "readonly"};
    size_t at = node->assign_count;
    while (at < node->word_count && (word_is(&node->words[at], "builtin") || word_is(&node->words[at], "command")))
        at++;
    if (at >= node->word_count)
        return;
    bool sets = false, assigns = false;
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        sets = sets || word_is(&node->words[at], unknown[i]);
        assigns = assigns || word_is(&node->words[at], known[i]);
    }
    const struct word reply = {.raw = STR("REPLY"), .text = STR("REPLY"), .shape = STR("REPLY")};
    if (sets)
        add_piece(v, reply.text, &reply, false);
    for (size_t i = at + 1; i < node->word_count; i++) {
        if (assigns)
            add_assignment(v, &node->words[i]);
        if (sets && is_name(node->words[i].text))
            add_piece(v, node->words[i].text, &node->words[i], false);
    }
}

/* Every assignment and loop of the line counts, whether it runs or not: the values are alternatives. */
static void collect(struct values *v, struct node *node)
{
    for (; node; node = node->next) {
        bool loop = node->kind == NODE_BRANCH && !str_empty(node->variable);
        for (size_t i = 0; i < node->word_count; i++)
            place_printed(v, &node->words[i], node->inside);
        for (size_t i = 0; loop && i < node->word_count; i++)
            add_value(v, node->variable, &node->words[i], 0);
        if (node->kind == NODE_SIMPLE) {
            for (size_t i = 0; i < node->assign_count; i++)
                add_assignment(v, &node->words[i]);
            add_set(v, node);
        }
        collect(v, node->first);
        collect(v, node->inside);
    }
}

/* ---- putting them in ---- */

/* The name in the `$NAME` or `${NAME…}` at `*at`; moves `*at` behind the name. *ret_plain: no operator follows. */
static struct str used_variable(struct str raw, size_t *at, bool *ret_plain)
{
    size_t from = *at + 1;
    bool brace = from < raw.n && raw.p[from] == '{';
    from += brace;
    size_t to = from;
    while (to < raw.n && name_letter(raw.p[to]))
        to++;
    *at = to;
    *ret_plain = !brace || (to < raw.n && raw.p[to] == '}');
    return str_sub(raw, from, to);
}

/* Whether blanks of the value may make several words, of which some are not among its pieces. */
static bool splits_unseen(const struct shell_value *value, const struct word *use)
{
    struct str shape = value->word.shape;
    bool blank = str_find(shape, ' ') < shape.n;
    bool other = str_find(shape, '\t') < shape.n || str_find(shape, '\n') < shape.n;
    bool whole = use->raw.n == value->name.n + (use->raw.n > 1 && use->raw.p[1] == '{' ? 3 : 1);
    return (use->flags & WORD_SPLITS) && (other || (blank && !(whole && word_literal(&value->word))));
}

/* Puts all values of the variable into the shape, `{a,b}` where there are several; false when one is not known, or the
 * line does not set it. */
static bool put_values(struct values *v, struct buf *shape, struct str name, struct word *word)
{
    size_t count = 0, put = 0;
    for (size_t i = 0; i < v->count; i++) {
        if (!str_eq(v->list[i].name, name))
            continue;
        count++;
        if (!v->list[i].known || v->list[i].open || splits_unseen(&v->list[i], word))
            return false;
        word->flags |= word_names_ending(&v->list[i].word) ? WORD_GLOB : 0;
    }
    for (size_t i = 0; i < v->count; i++) {
        if (!str_eq(v->list[i].name, name))
            continue;
        if (count > 1)
            buf_putc(shape, put++ ? SHAPE_COMMA : SHAPE_LEFT);
        buf_put(shape, v->list[i].word.shape);
    }
    if (count > 1)
        buf_putc(shape, SHAPE_RIGHT);
    return count > 0;
}

/* Whether the line sets the variable. *ret_tame: each of its values stays one word, and is neither an option nor an
 * assignment. */
static bool is_set(const struct values *v, struct str name, bool *ret_tame)
{
    bool set = v->over;
    *ret_tame = !v->over;
    for (size_t i = 0; i < v->count; i++) {
        if (!str_eq(v->list[i].name, name))
            continue;
        set = true;
        *ret_tame = *ret_tame && v->list[i].tame;
    }
    return set;
}

/* Puts all values of the variable into the word's shape, as alternatives of a brace. */
static void use_values(struct values *v, struct word *word)
{
    if (!(word->flags & WORD_VAR))
        return;
    BUF_SCOPE(shape, SHAPE_BYTES_MAX);
    size_t dollars = count_letter(word->raw, '$'), hole = 0;
    bool plain = dollars == count_letter(word->shape, SHAPE_ANY) + count_letter(word->shape, SHAPE_HOME) +
                                count_letter(word->shape, SHAPE_PWD);
    bool set = false, tame = true;
    for (size_t at = str_find(word->raw, '$'); at < word->raw.n;) {
        bool one_tame, one_plain;
        struct str name = used_variable(word->raw, &at, &one_plain);
        bool one = is_set(v, name, &one_tame) && !str_empty(name);
        while (plain && hole < word->shape.n && !strchr("\x01\x0e\x0f", word->shape.p[hole]))
            buf_putc(&shape, word->shape.p[hole++]);
        if (plain && one)
            plain = one_plain && put_values(v, &shape, name, word);
        else if (plain)
            buf_putc(&shape, word->shape.p[hole]);
        hole++;
        set = set || one;
        tame = tame && (!one || one_tame);
        while (at < word->raw.n && word->raw.p[at] != '$')
            at++;
    }
    if (!set)
        return;
    if (plain && hole <= word->shape.n)
        buf_put(&shape, str_sub(word->shape, hole, word->shape.n));
    v->bytes += shape.n;
    if (!plain || shape.over || v->over || v->bytes > SHAPE_BYTES_MAX)
        word->flags |= WORD_CHOSEN;
    else
        word->shape = arena_str(v->arena, buf_str(&shape));
    word->flags |= tame ? 0 : WORD_CHOSEN;
}

static void use_everywhere(struct values *v, struct node *node)
{
    for (; node; node = node->next) {
        for (size_t i = node->kind == NODE_SIMPLE ? node->assign_count : 0; i < node->word_count; i++)
            use_values(v, &node->words[i]);
        for (struct redir *redir = node->redirs; redir; redir = redir->next)
            use_values(v, &redir->target);
        use_everywhere(v, node->first);
        use_everywhere(v, node->inside);
    }
}

void shell_put_values(struct arena *arena, struct node *root)
{
    struct values *v = arena_new(arena, struct values);
    v->arena = arena;
    collect(v, root);
    /* `a=.git; b=$a`: a value that another one is put into is known then. */
    for (size_t i = 0; i < v->count; i++) {
        unsigned before = v->list[i].word.flags;
        use_values(v, &v->list[i].word);
        bool chosen = (v->list[i].word.flags & ~before) & WORD_CHOSEN;
        v->list[i].known = v->list[i].known && !chosen;
        v->list[i].open = false;
        v->list[i].tame = v->list[i].tame && !chosen;
    }
    if (v->count)
        use_everywhere(v, root);
}
