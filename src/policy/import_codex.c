/* Codex' .rules: calls of prefix_rule() in a little Starlark. Calls of other functions and everything else
 * are remarked upon; a file that is not a sequence of calls is an error. */
#include "base/err.h"
#include "base/utf8.h"
#include "policy/import.h"

enum { LIST_MAX = 64, DEPTH_MAX = 8, PRODUCT_MAX = 64 };

enum value_kind { VALUE_STRING, VALUE_LIST, VALUE_OTHER };

struct codex_value {
    enum value_kind kind;
    struct str text;
    struct codex_value *items;
    size_t count;
};

struct codex_reader {
    struct importing *in;
    struct str text;
    size_t at;
    struct err *err;
};

static char look(const struct codex_reader *r, size_t ahead)
{
    return r->at + ahead < r->text.n ? r->text.p[r->at + ahead] : '\0';
}

static unsigned line_of(const struct codex_reader *r) { return import_line(r->in, r->in->text.p + r->at); }

static struct rc bad(const struct codex_reader *r, const char *why)
{
    return err_set(r->err, ERR_INVALID, "line %u: %s", line_of(r), why);
}

static void skip_blanks(struct codex_reader *r)
{
    for (;;) {
        char c = look(r, 0);
        if (c == '#')
            while (r->at < r->text.n && look(r, 0) != '\n')
                r->at++;
        else if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || (c == '\\' && look(r, 1) == '\n'))
            r->at++;
        else
            return;
    }
}

static bool name_letter(char c)
{
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static struct str read_name(struct codex_reader *r)
{
    size_t from = r->at;
    while (name_letter(look(r, 0)))
        r->at++;
    return str_sub(r->text, from, r->at);
}

static struct rc read_escape(struct codex_reader *r, struct buf *buf)
{
    char c = look(r, 0);
    if (r->at >= r->text.n)
        return bad(r, "a text is not closed");
    r->at++;
    switch (c) {
    case 'n': buf_putc(buf, '\n'); return RC_OK;
    case 't': buf_putc(buf, '\t'); return RC_OK;
    case '\\': case '"': case '\'': buf_putc(buf, c); return RC_OK;
    case '\n': return RC_OK;
    default: return bad(r, "an escape that is not understood");
    }
}

/* "…" or '…' on one line. */
static struct rc read_string(struct codex_reader *r, struct str *ret_text)
{
    BUF_SCOPE(buf, 1 << 16);
    char quote = look(r, 0);
    CHECK(quote == '"' || quote == '\'');
    if (look(r, 1) == quote && look(r, 2) == quote)
        return bad(r, "a text in three quotes is not understood");
    for (r->at++; look(r, 0) != quote;) {
        if (r->at >= r->text.n || look(r, 0) == '\n')
            return bad(r, "a text is not closed");
        char c = look(r, 0);
        r->at++;
        if (c == '\\')
            TRY(read_escape(r, &buf));
        else
            buf_putc(&buf, c);
    }
    r->at++;
    *ret_text = arena_str(r->in->arena, buf_str(&buf));
    return buf.over ? bad(r, "a text is too long") : RC_OK;
}

static struct rc read_value(struct codex_reader *r, unsigned depth, struct codex_value *ret_value);

/* Lists and tuples mean the same here. */
static struct rc read_list(struct codex_reader *r, unsigned depth, struct codex_value *ret_value)
{
    struct codex_value list = {.kind = VALUE_LIST, .items = arena_array(r->in->arena, struct codex_value, LIST_MAX)};
    char close = look(r, 0) == '[' ? ']' : ')';
    if (depth >= DEPTH_MAX)
        return bad(r, "lists are nested too deep");
    r->at++;
    for (;;) {
        skip_blanks(r);
        if (look(r, 0) == close)
            break;
        if (list.count == LIST_MAX)
            return bad(r, "a list is too long");
        TRY(read_value(r, depth + 1, &list.items[list.count++]));
        skip_blanks(r);
        if (look(r, 0) == ',')
            r->at++;
        else if (look(r, 0) != close)
            return bad(r, "a `,` or a closing bracket is missing");
    }
    r->at++;
    *ret_value = list;
    return RC_OK;
}

static struct rc read_value(struct codex_reader *r, unsigned depth, struct codex_value *ret_value)
{
    char c = look(r, 0);
    if (c == '"' || c == '\'') {
        ret_value->kind = VALUE_STRING;
        return read_string(r, &ret_value->text);
    }
    if (c == '[' || c == '(')
        return read_list(r, depth, ret_value);
    *ret_value = (struct codex_value){.kind = VALUE_OTHER, .text = read_name(r)};
    return str_empty(ret_value->text) ? bad(r, "a value that is not understood") : RC_OK;
}

/* One call of the file, as prefix_rule(pattern = […], decision = "allow"). */
struct codex_call {
    struct str name;
    unsigned line;
    struct codex_value pattern, match, not_match, decision, justification;
    bool odd; /* an argument that is not known */
};

/* Unknown arguments make the call odd: it is then left out, because they might narrow it. */
static struct rc read_argument(struct codex_reader *r, struct codex_call *call)
{
    struct codex_value value = {0};
    struct str name = read_name(r);
    skip_blanks(r);
    if (str_empty(name) || look(r, 0) != '=')
        return bad(r, "an argument needs its name: `pattern = …`");
    r->at++;
    skip_blanks(r);
    TRY(read_value(r, 0, &value));
    if (str_is(name, "pattern"))
        call->pattern = value;
    else if (str_is(name, "match"))
        call->match = value;
    else if (str_is(name, "not_match"))
        call->not_match = value;
    else if (str_is(name, "decision"))
        call->decision = value;
    else if (str_is(name, "justification"))
        call->justification = value;
    else
        call->odd = true;
    return RC_OK;
}

/* Starlark is a language; only calls with plain arguments are understood, and everything else ends the import. */
static struct rc read_call(struct codex_reader *r, struct codex_call *call)
{
    call->line = line_of(r);
    call->name = read_name(r);
    skip_blanks(r);
    if (str_empty(call->name) || look(r, 0) != '(')
        return bad(r, "only calls like prefix_rule(…) are understood");
    r->at++;
    for (;;) {
        skip_blanks(r);
        if (look(r, 0) == ')')
            break;
        TRY(read_argument(r, call));
        skip_blanks(r);
        if (look(r, 0) == ',')
            r->at++;
        else if (look(r, 0) != ')')
            return bad(r, "a `,` or `)` is missing");
    }
    r->at++;
    return RC_OK;
}

/* ---- to rules ---- */

/* A word that a rule can name: rules split words at blanks, and a star is not a word. */
static bool sayable(struct str word)
{
    return word.n > 0 && !ANY(size_t i = 0; i < word.n; i++,
                              word.p[i] == ' ' || word.p[i] == '\t' || word.p[i] == '\n' || word.p[i] == '*');
}

static struct str example_text(struct codex_reader *r, const struct codex_value *value)
{
    BUF_SCOPE(buf, 1 << 16);
    if (value->kind == VALUE_STRING)
        return value->text;
    for (size_t i = 0; i < value->count; i++) {
        bool quote = !sayable(value->items[i].text);
        buf_printf(&buf, "%s%s%.*s%s", i ? " " : "", quote ? "'" : "", STR_ARG(value->items[i].text),
                   quote ? "'" : "");
    }
    return arena_str(r->in->arena, buf_str(&buf));
}

static const struct str *examples(struct codex_reader *r, const struct codex_value *list, size_t *ret_count)
{
    struct str *texts = arena_array(r->in->arena, struct str, list->count);
    for (size_t i = 0; i < list->count; i++)
        texts[i] = example_text(r, &list->items[i]);
    *ret_count = list->count;
    return texts;
}

static void add_rule(struct codex_reader *r, const struct codex_call *call, enum effect effect, struct str words)
{
    struct str text = arena_printf(r->in->arena, "Bash(%.*s:*)", STR_ARG(words));
    struct rule_source *rule = import_rule(r->in, effect, text, call->line);
    if (rule && call->justification.kind == VALUE_STRING)
        rule->reason = call->justification.text;
    /* Examples of a rule with alternatives belong to all of them together, so they are not taken apart. */
}

static size_t alternatives(const struct codex_value *item) { return item->kind == VALUE_LIST ? item->count : 1; }

/* Writes combination number `n` of a pattern's alternatives. */
static bool combination(const struct codex_value *pattern, size_t n, struct buf *buf)
{
    for (size_t i = 0; i < pattern->count; i++) {
        const struct codex_value *item = &pattern->items[i];
        size_t count = alternatives(item);
        const struct codex_value *word = item->kind == VALUE_LIST ? &item->items[n % count] : item;
        n /= count;
        if (word->kind != VALUE_STRING || !sayable(word->text))
            return false;
        if (i)
            buf_putc(buf, ' ');
        buf_put(buf, word->text);
    }
    return !buf->over;
}

/* A rule of Codex without a decision allows. */
static bool read_decision(const struct codex_call *call, enum effect *ret_effect)
{
    struct str text = call->decision.kind == VALUE_STRING ? call->decision.text : STR_NONE;
    bool absent = call->decision.kind == VALUE_STRING && str_empty(text);
    if (absent || str_is(text, "allow"))
        *ret_effect = EFFECT_ALLOW;
    else if (str_is(text, "prompt"))
        *ret_effect = EFFECT_ASK;
    else if (str_is(text, "forbidden"))
        *ret_effect = EFFECT_DENY;
    else
        return false;
    return true;
}

/* A pattern with alternatives becomes one rule for each combination, up to PRODUCT_MAX. */
static void take_call(struct codex_reader *r, const struct codex_call *call)
{
    enum effect effect = EFFECT_ASK;
    size_t product = 1;
    if (!str_is(call->name, "prefix_rule")) {
        import_remark(r->in, call->line, call->name, "left out: only prefix_rule is known here");
        return;
    }
    if (call->pattern.kind != VALUE_LIST || call->pattern.count == 0 || !read_decision(call, &effect)) {
        import_left_out(r->in, EFFECT_DENY, call->line, call->name,
                        "left out: it has no pattern, or a decision that is not known");
        return;
    }
    for (size_t i = 0; i < call->pattern.count && product <= PRODUCT_MAX; i++)
        product *= alternatives(&call->pattern.items[i]);
    if (product == 0 || product > PRODUCT_MAX) {
        import_left_out(r->in, effect, call->line, call->name, "left out: its alternatives make too many rules");
        return;
    }
    for (size_t n = 0; n < product; n++) {
        BUF_SCOPE(words, 2048);
        if (combination(&call->pattern, n, &words))
            add_rule(r, call, effect, arena_str(r->in->arena, buf_str(&words)));
        else
            import_left_out(r->in, effect, call->line, buf_str(&words),
                            "left out: a word with a blank or a star cannot be named");
    }
    if (product == 1 && r->in->out.rule_count) {
        struct rule_source *rule = &r->in->out.rules[r->in->out.rule_count - 1];
        rule->match = examples(r, &call->match, &rule->match_count);
        rule->not_match = examples(r, &call->not_match, &rule->not_match_count);
    }
    if (call->odd)
        import_remark(r->in, call->line, call->name, "one of its arguments is not known and was left out");
}

/* `name = …` and `[name]` begin config.toml; a file of rules begins with a call. */
static bool is_config(struct codex_reader *r)
{
    struct codex_reader begin = *r;
    skip_blanks(&begin);
    if (look(&begin, 0) == '[' || look(&begin, 0) == '"')
        return true;
    struct str name = read_name(&begin);
    skip_blanks(&begin);
    return !str_empty(name) && strchr("=.-", look(&begin, 0)) && look(&begin, 0);
}

/* Codex has two kinds of files: rules in Starlark, and config.toml; the content tells which one this is. */
struct rc import_codex(struct importing *in, struct err *err)
{
    struct codex_reader r = {.in = in, .text = in->text, .err = err};
    if (!utf8_valid(in->text))
        return err_set(err, ERR_INVALID, "the file is not valid UTF-8");
    if (is_config(&r))
        return import_codex_config(in, err);
    for (skip_blanks(&r); r.at < r.text.n; skip_blanks(&r)) {
        struct codex_call call = {0};
        TRY(read_call(&r, &call));
        take_call(&r, &call);
    }
    return RC_OK;
}
