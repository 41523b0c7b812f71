/* Codex' config.toml: what it says of MCP servers and their tools, of files and of hosts.
 *
 * The part of TOML that such files use: tables, dotted and quoted keys, strings on one line, arrays, inline tables,
 * numbers, truth values. Anything else is an error: a file that is half understood would lose rules silently.
 */
#include "base/err.h"
#include "base/utf8.h"
#include "policy/import.h"

enum { KEYS_MAX = 8, TOML_DEPTH_MAX = 8 };

/* The position in the file, and the table that the current line belongs to. */
struct toml {
    struct importing *in;
    struct err *err;
    size_t at;
    struct str table[KEYS_MAX]; /* keys of the table header above this line */
    size_t table_count;
};

/* Where a value stands, and what it is. */
struct config_setting {
    struct str keys[2 * KEYS_MAX];
    size_t count;
    unsigned line;
};

static char look(const struct toml *t) { return t->at < t->in->text.n ? t->in->text.p[t->at] : '\0'; }
static unsigned line_of(const struct toml *t) { return import_line(t->in, t->in->text.p + t->at); }

static struct rc bad(const struct toml *t, const char *why)
{
    return err_set(t->err, ERR_INVALID, "line %u: %s", line_of(t), why);
}

static void skip(struct toml *t, bool lines)
{
    for (;;) {
        char c = look(t);
        if (c == '#')
            while (t->at < t->in->text.n && look(t) != '\n')
                t->at++;
        else if (c == ' ' || c == '\t' || c == '\r' || (lines && c == '\n'))
            t->at++;
        else
            return;
    }
}

static struct rc read_string(struct toml *t, struct str *ret_text)
{
    BUF_SCOPE(buf, 1 << 16);
    char quote = look(t);
    CHECK(quote == '"' || quote == '\'');
    for (t->at++; look(t) != quote; t->at++) {
        char c = look(t);
        if (t->at >= t->in->text.n || c == '\n')
            return bad(t, "a text is not closed on its line");
        if (c == '\\' && quote == '"') {
            t->at++;
            c = look(t);
            if (!strchr("\"\\nt", c) || c == '\0')
                return bad(t, "an escape that is not understood");
            c = c == 'n' ? '\n' : c == 't' ? '\t' : c;
        }
        buf_putc(&buf, c);
    }
    t->at++;
    if (str_empty(buf_str(&buf)) && look(t) == quote)
        return bad(t, "a text in three quotes is not understood");
    *ret_text = arena_str(t->in->arena, buf_str(&buf));
    return buf.over ? bad(t, "a text is too long") : RC_OK;
}

static bool bare_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/* a.b."c d" */
static struct rc read_keys(struct toml *t, struct str *keys, size_t room, size_t *ret_count)
{
    for (;;) {
        skip(t, false);
        if (*ret_count == room)
            return bad(t, "a key has too many parts");
        size_t from = t->at;
        if (look(t) == '"' || look(t) == '\'') {
            TRY(read_string(t, &keys[*ret_count]));
        } else {
            while (bare_letter(look(t)))
                t->at++;
            keys[*ret_count] = str_sub(t->in->text, from, t->at);
            if (t->at == from)
                return bad(t, "a key is missing");
        }
        ++*ret_count;
        skip(t, false);
        if (look(t) != '.')
            return RC_OK;
        t->at++;
    }
}

static struct rc read_value(struct toml *t, struct config_setting *where, unsigned depth);

/* ---- what a setting means ---- */

static bool under(const struct config_setting *s, size_t at, const char *key)
{
    return at < s->count && str_is(s->keys[at], key);
}

/* Tools that are switched off become denials, approval modes of single tools rules on these tools. */
static void take_server(struct toml *t, const struct config_setting *s, struct str text)
{
    struct importing *in = t->in;
    struct str server = s->keys[1], name = s->count > 2 ? s->keys[2] : STR_NONE;
    const char *form = "mcp__%.*s__%.*s";
    if (str_is(name, "disabled_tools"))
        (void)import_rule(in, EFFECT_DENY, arena_printf(in->arena, form, STR_ARG(server), STR_ARG(text)), s->line);
    else if (str_is(name, "enabled_tools"))
        import_left_out(in, EFFECT_DENY, s->line, server, "left out: it shuts out all other tools of the server");
    else if (str_is(name, "enabled") && str_is(text, "false"))
        (void)import_rule(in, EFFECT_DENY, arena_printf(in->arena, "mcp__%.*s__*", STR_ARG(server)), s->line);
    else if (str_is(name, "tools") && under(s, 4, "approval_mode")) {
        bool allows = str_is(text, "approve") || str_is(text, "auto");
        (void)import_rule(in, allows ? EFFECT_ALLOW : EFFECT_ASK,
                          arena_printf(in->arena, form, STR_ARG(server), STR_ARG(s->keys[3])), s->line);
    }
}

static struct str path_of(struct toml *t, struct str path)
{
    bool absolute = str_starts(path, STR("/"));
    bool folder = !str_ends(path, STR("*"));
    return arena_printf(t->in->arena, "%s%.*s%s", absolute ? "/" : "", STR_ARG(path), folder ? "/**" : "");
}

/* A file by its own name, and what lies below it where it is a folder. */
static void take_file(struct toml *t, const struct config_setting *s, struct str path, struct str access)
{
    struct importing *in = t->in;
    bool none = str_is(access, "none") || str_is(access, "deny"), writes = str_is(access, "write");
    const char *root = str_starts(path, STR("/")) ? "/" : "";
    if (str_starts(path, STR(":")) || (!none && !writes && !str_is(access, "read"))) {
        import_left_out(in, none ? EFFECT_DENY : EFFECT_ALLOW, s->line, path,
                        "left out: what it means here is not known");
        return;
    }
    enum effect effect = none ? EFFECT_DENY : EFFECT_ALLOW;
    struct str below = path_of(t, path);
    (void)import_rule(in, effect, arena_printf(in->arena, "Read(%s%.*s)", root, STR_ARG(path)), s->line);
    (void)import_rule(in, effect, arena_printf(in->arena, "Read(%.*s)", STR_ARG(below)), s->line);
    if (none || writes) {
        (void)import_rule(in, effect, arena_printf(in->arena, "Edit(%s%.*s)", root, STR_ARG(path)), s->line);
        (void)import_rule(in, effect, arena_printf(in->arena, "Edit(%.*s)", STR_ARG(below)), s->line);
    }
}

/* A denial that is not understood counts as lost, so that the import is refused unless the person accepts it. */
static void take_permission(struct toml *t, const struct config_setting *s, struct str text)
{
    struct importing *in = t->in;
    if (under(s, 2, "filesystem") && s->count == 4) {
        take_file(t, s, s->keys[3], text);
    } else if (under(s, 2, "network") && under(s, 3, "domains") && s->count == 5) {
        bool denies = !str_is(text, "allow");
        (void)import_rule(in, denies ? EFFECT_DENY : EFFECT_ALLOW,
                          arena_printf(in->arena, "WebFetch(domain:%.*s)", STR_ARG(s->keys[4])), s->line);
    } else {
        bool denies = str_is(text, "none") || str_is(text, "deny");
        import_left_out(in, denies ? EFFECT_DENY : EFFECT_ALLOW, s->line, s->keys[s->count - 1],
                        "left out: what it means here is not known");
    }
}

/* One value with all its keys: a text, a number or a truth value; each item of an array. */
static void take_setting(struct toml *t, const struct config_setting *s, struct str text)
{
    CHECK(s->count > 0);
    if (under(s, 0, "mcp_servers") && s->count > 2)
        take_server(t, s, text);
    else if (under(s, 0, "permissions") && s->count > 2)
        take_permission(t, s, text);
    else if (under(s, 0, "sandbox_workspace_write") && under(s, 1, "writable_roots"))
        (void)import_rule(t->in, EFFECT_ALLOW, arena_printf(t->in->arena, "Edit(%.*s)", STR_ARG(path_of(t, text))),
                          s->line);
    else if (under(s, 0, "approval_policy") || under(s, 0, "sandbox_mode") || under(s, 0, "default_permissions"))
        import_remark(t->in, s->line, s->keys[0], "left out: the permission mode belongs to a session here");
}

/* ---- values ---- */

static struct rc read_array(struct toml *t, struct config_setting *where, unsigned depth)
{
    for (t->at++;;) {
        skip(t, true);
        if (look(t) == ']')
            break;
        TRY(read_value(t, where, depth + 1));
        skip(t, true);
        if (look(t) == ',')
            t->at++;
        else if (look(t) != ']')
            return bad(t, "a `,` or `]` is missing");
    }
    t->at++;
    return RC_OK;
}

static struct rc read_pair(struct toml *t, struct config_setting where, unsigned depth)
{
    where.line = line_of(t);
    TRY(read_keys(t, where.keys, 2 * KEYS_MAX, &where.count));
    if (look(t) != '=')
        return bad(t, "a `=` is missing");
    t->at++;
    skip(t, false);
    return read_value(t, &where, depth);
}

static struct rc read_inline(struct toml *t, const struct config_setting *where, unsigned depth)
{
    for (t->at++;;) {
        skip(t, false);
        if (look(t) == '}')
            break;
        TRY(read_pair(t, *where, depth + 1));
        skip(t, false);
        if (look(t) == ',')
            t->at++;
        else if (look(t) != '}')
            return bad(t, "a `,` or `}` is missing");
    }
    t->at++;
    return RC_OK;
}

/* A scalar is handed to take_setting at once, under the keys that lead to it: no tree is built. */
static struct rc read_value(struct toml *t, struct config_setting *where, unsigned depth)
{
    struct str text;
    char c = look(t);
    if (depth >= TOML_DEPTH_MAX)
        return bad(t, "values are nested too deep");
    where->line = line_of(t);
    if (c == '[')
        return read_array(t, where, depth);
    if (c == '{')
        return read_inline(t, where, depth);
    if (c == '"' || c == '\'') {
        TRY(read_string(t, &text));
    } else {
        size_t from = t->at;
        while (bare_letter(look(t)) || (look(t) && strchr("+.:", look(t))))
            t->at++;
        text = str_sub(t->in->text, from, t->at);
        if (str_empty(text))
            return bad(t, "a value that is not understood");
    }
    take_setting(t, where, text);
    return RC_OK;
}

/* ---- lines ---- */

static struct rc read_header(struct toml *t)
{
    bool list = t->in->text.n > t->at + 1 && t->in->text.p[t->at + 1] == '[';
    t->at += list ? 2 : 1;
    t->table_count = 0;
    TRY(read_keys(t, t->table, KEYS_MAX, &t->table_count));
    for (int i = 0; i < 1 + list; i++) {
        if (look(t) != ']')
            return bad(t, "a `]` is missing");
        t->at++;
    }
    return RC_OK;
}

/* Read line by line: a setting that cannot be read ends the import, because the ones after it might be read wrongly.
 */
struct rc import_codex_config(struct importing *in, struct err *err)
{
    struct toml t = {.in = in, .err = err};
    if (!utf8_valid(in->text))
        return err_set(err, ERR_INVALID, "the file is not valid UTF-8");
    for (skip(&t, true); t.at < in->text.n; skip(&t, true)) {
        if (look(&t) == '[') {
            TRY(read_header(&t));
        } else {
            struct config_setting where = {.count = t.table_count};
            memcpy(where.keys, t.table, sizeof t.table);
            TRY(read_pair(&t, where, 0));
        }
        skip(&t, false);
        if (t.at < in->text.n && look(&t) != '\n')
            return bad(&t, "a line goes on behind the value of its setting");
    }
    return RC_OK;
}
