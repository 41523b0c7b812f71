/* Only what such a section needs of TOML is read: bare and quoted names, strings in double or single quotes on one
 * line, lists of them over several lines, and tables of them in braces. */
#include "cli/toml_servers.h"

#include "base/limits.h"

/* The file while it is read; `at` is the next byte. */
struct scan {
    struct arena *arena;
    struct str text;
    size_t at;
};

static bool blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == ','; }

/* Moves behind blanks, commas and comments. */
static void skip(struct scan *scan)
{
    while (scan->at < scan->text.n && (blank(scan->text.p[scan->at]) || scan->text.p[scan->at] == '#')) {
        bool remark = scan->text.p[scan->at] == '#';
        scan->at++;
        while (remark && scan->at < scan->text.n && scan->text.p[scan->at] != '\n')
            scan->at++;
    }
}

/* A string; NULL: none that is understood. Basic strings have JSON's escapes, and a few more, which are not taken. */
static struct json *take_string(struct scan *scan)
{
    size_t from = scan->at;
    char quote = from < scan->text.n ? scan->text.p[from] : '\0';
    if (quote != '"' && quote != '\'')
        return NULL;
    for (scan->at++; scan->at < scan->text.n && scan->text.p[scan->at] != quote; scan->at++) {
        if (scan->text.p[scan->at] == '\n')
            return NULL;
        if (quote == '"' && scan->text.p[scan->at] == '\\')
            scan->at++;
    }
    if (scan->at >= scan->text.n)
        return NULL;
    struct str raw = str_sub(scan->text, from, ++scan->at);
    struct json *value = arena_new(scan->arena, struct json);
    const struct json *read;
    *value = (struct json){.type = JSON_STRING, .raw = raw, .text = str_sub(raw, 1, raw.n - 1)};
    if (quote == '\'')
        return value;
    if (rc_bad(json_parse(scan->arena, raw, &read, NULL)))
        return NULL;
    value->text = read->text;
    return value;
}

static void append(struct json *parent, const struct json ***last, const struct json *child)
{
    **last = child;
    *last = (const struct json **)&child->next;
    parent->count++;
}

static struct json *take_list(struct scan *scan)
{
    struct json *list = arena_new(scan->arena, struct json);
    size_t from = scan->at++;
    const struct json **last = &list->first;
    *list = (struct json){.type = JSON_ARRAY};
    for (skip(scan); scan->at < scan->text.n && scan->text.p[scan->at] != ']'; skip(scan)) {
        struct json *word = take_string(scan);
        if (!word)
            return NULL;
        JSON_SCOPE(buf, out, LIMIT_LARGE_BODY_BYTES);
        json_put_str(&out, word->text); /* as JSON: in double quotes, whatever quotes the TOML has */
        word->raw = arena_str(scan->arena, buf_str(&buf));
        append(list, &last, word);
    }
    if (scan->at >= scan->text.n)
        return NULL;
    list->raw = str_sub(scan->text, from, ++scan->at);
    return list;
}

/* {NAME = "text", ...} */
static struct json *take_table(struct scan *scan)
{
    struct json *table = arena_new(scan->arena, struct json);
    size_t from = scan->at++;
    const struct json **last = &table->first;
    *table = (struct json){.type = JSON_OBJECT};
    for (skip(scan); scan->at < scan->text.n && scan->text.p[scan->at] != '}'; skip(scan)) {
        struct str rest = str_sub(scan->text, scan->at, scan->text.n), key = str_sub(rest, 0, str_find(rest, '='));
        size_t end = scan->at + key.n;
        struct json *quoted = take_string(scan), *value;
        if (end == scan->text.n || scan->at > end)
            return NULL;
        scan->at = end + 1;
        skip(scan);
        if (!(value = take_string(scan)))
            return NULL;
        value->key = quoted ? quoted->text : str_trim(key);
        append(table, &last, value);
    }
    if (scan->at >= scan->text.n)
        return NULL;
    table->raw = str_sub(scan->text, from, ++scan->at);
    return table;
}

static struct json *take_value(struct scan *scan)
{
    char first = scan->at < scan->text.n ? scan->text.p[scan->at] : '\0';
    return first == '[' ? take_list(scan) : first == '{' ? take_table(scan) : take_string(scan);
}

/* The name in [MEMBER.NAME], or in [MEMBER.NAME.BELOW]; empty: another section. */
static struct str section_name(struct str line, const char *member, struct str *ret_below)
{
    struct str rest = str_trim(line);
    size_t end = str_find(rest, ']'), n = strlen(member);
    *ret_below = STR_NONE;
    if (rest.n < n + 3 || rest.p[0] != '[' || end == rest.n || !str_starts(str_sub(rest, 1, end), str_of(member)) ||
        rest.p[n + 1] != '.')
        return STR_NONE;
    struct str name = str_sub(rest, n + 2, end);
    char quote = name.n > 2 && (name.p[0] == '"' || name.p[0] == '\'') ? name.p[0] : '\0';
    if (!quote)
        return str_cut(name, '.', ret_below);
    struct str whole = str_cut(str_sub(name, 1, name.n), quote, ret_below);
    *ret_below = str_empty(*ret_below) ? STR_NONE : str_sub(*ret_below, 1, ret_below->n);
    return whole;
}

static const char *const programs[] = {"command", "args", NULL};
static const char *const addresses[] = {"url", "bearer_token_env_var", "http_headers", "env_http_headers", NULL};
static const char *const logins[] = {"oauth", "oauth_resource", "scopes", "http_headers_helper", NULL};

static bool one_of(struct str key, const char *const *keys)
{
    while (*keys && !str_is(key, *keys))
        keys++;
    return *keys;
}

/* A member with the value true, for a key whose value is of no use to us but must not be overlooked. */
static struct json *mark(struct scan *scan, struct str key)
{
    struct json *there = arena_new(scan->arena, struct json);
    *there = (struct json){.type = JSON_TRUE, .key = key, .raw = STR("true")};
    return there;
}

/* Reads one `key = value`; sets `broken` for a value that is not understood. */
static void take_member(struct scan *scan, struct json *entry, const struct json ***last, bool *broken)
{
    struct str rest = str_sub(scan->text, scan->at, scan->text.n), line = str_sub(rest, 0, str_find(rest, '\n')), value;
    struct str key = str_trim(str_cut(line, '=', &value));
    bool matters = one_of(key, programs) || one_of(key, addresses);
    size_t end = scan->at + line.n;
    scan->at += line.n - value.n;
    while (matters && scan->at < end && blank(scan->text.p[scan->at]))
        scan->at++;
    struct json *read = one_of(key, logins) ? mark(scan, key) : matters ? take_value(scan) : NULL;
    *broken = *broken || (matters && !read);
    if (read) {
        read->key = key;
        append(entry, last, read);
    }
    rest = str_sub(scan->text, scan->at, scan->text.n);
    scan->at += str_find(rest, '\n');
}

/* A section with a value that is not understood is kept without members: its server is named, and left alone. */
static struct json *take_section(struct scan *scan, struct str name)
{
    struct json *entry = arena_new(scan->arena, struct json);
    const struct json **last = &entry->first;
    bool broken = false;
    size_t from = scan->at, to = from;
    *entry = (struct json){.type = JSON_OBJECT, .key = name};
    for (skip(scan); scan->at < scan->text.n && scan->text.p[scan->at] != '['; skip(scan)) {
        take_member(scan, entry, &last, &broken);
        to = scan->at;
    }
    entry->raw = str_sub(scan->text, from, to);
    if (broken)
        entry->first = NULL, entry->count = 0;
    return entry;
}

/* Notes at the server that it has a section [MEMBER.NAME.BELOW]: the proxy would have to change that, too, and
 * cannot. */
static void mark_below(struct scan *scan, struct json *servers, struct str name, struct str below)
{
    for (struct json *entry = (struct json *)servers->first; entry; entry = (struct json *)entry->next) {
        if (!str_eq(entry->key, name))
            continue;
        struct json *there = mark(scan, below);
        there->next = entry->first;
        entry->first = there;
        entry->count++;
    }
}

/* Reads as much of TOML as lists of servers use; everything else is passed over line by line. */
const struct json *toml_servers(struct arena *arena, struct str text, const char *member)
{
    struct scan scan = {.arena = arena, .text = text};
    struct json *servers = arena_new(arena, struct json);
    const struct json **last = &servers->first;
    *servers = (struct json){.type = JSON_OBJECT, .raw = text};
    while (scan.at < text.n) {
        struct str rest = str_sub(text, scan.at, text.n), line = str_sub(rest, 0, str_find(rest, '\n')), below;
        struct str name = section_name(line, member, &below);
        scan.at += line.n < rest.n ? line.n + 1 : line.n;
        if (!str_empty(name) && str_empty(below))
            append(servers, &last, take_section(&scan, name));
        else if (one_of(below, addresses) || one_of(below, logins))
            mark_below(&scan, servers, name, below);
    }
    return servers;
}
