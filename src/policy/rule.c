/* The language of rules: `Tool`, `Tool(content)`, `mcp__server__tool`, `@group`, each with a condition behind `
 * & `.
 *
 * rule_parse turns a text into a struct rule and writes it back in one canonical spelling (rule.text), by which
 * equal rules are recognized. Everything that could be misread is an error with a reason for the person who
 * wrote it: hidden characters, unknown forms, patterns where a plain word is needed. Older spellings (`bash:
 * git *`) are still read.
 */
#include "policy/rule.h"

#include "base/err.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "event/tool.h"
#include "event/tool_names.h"
#include "policy/groups.h"
#include "policy/shell.h"

#include <stdio.h>

enum { RULE_HOSTS_MAX = 32 };

/* The kind of text in the parentheses of a tool. */
enum content { CONTENT_COMMAND, CONTENT_PATH, CONTENT_URL, CONTENT_FIELD };

#define RULE_TOOLS(X)                            \
    X("Bash", CONTENT_COMMAND, "command")        \
    X("Read", CONTENT_PATH, "file_path")         \
    X("Write", CONTENT_PATH, "file_path")        \
    X("Edit", CONTENT_PATH, "file_path")         \
    X("MultiEdit", CONTENT_PATH, "file_path")    \
    X("NotebookEdit", CONTENT_PATH, "notebook_path") \
    X("NotebookRead", CONTENT_PATH, "notebook_path") \
    X("Glob", CONTENT_PATH, "path")              \
    X("Grep", CONTENT_PATH, "path")              \
    X("LS", CONTENT_PATH, "path")                \
    X("WebFetch", CONTENT_URL, "url")            \
    X("Net", CONTENT_URL, "url")                 \
    X("box.read", CONTENT_PATH, "path")          \
    X("box.write", CONTENT_PATH, "path")         \
    X("box.socket", CONTENT_PATH, "path")        \
    X("box.port", CONTENT_FIELD, "port")         \
    X("WebSearch", CONTENT_FIELD, "query")       \
    X("Task", CONTENT_FIELD, "subagent_type")    \
    X("Agent", CONTENT_FIELD, "subagent_type")   \
    X("Skill", CONTENT_FIELD, "skill")           \
    X("SlashCommand", CONTENT_FIELD, "command")

static const struct {
    struct str name;
    enum content content;
    struct str field; /* field of the input that a rule's text is compared with, unless the rule names another */
} tools[] = {
#define X(name, content, field) {STR(name), content, STR(field)},
    RULE_TOOLS(X)
#undef X
};

/* A rule while it is parsed. */
struct making {
    struct arena *arena;
    struct str text; /* text of the whole rule */
    struct rule *rule;
    struct err *err;
};

static struct rc bad(const struct making *m, const char *why)
{
    int n = (int)(m->text.n > 120 ? 120 : m->text.n);
    return err_set(m->err, ERR_INVALID, "the rule `%.*s` is malformed: %s", n, m->text.p, why);
}

static bool blank(char c) { return c == ' ' || c == '\t'; }

static size_t count_stars(struct str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += s.p[i] == '*';
    return n;
}

/* ---- tool names ---- */

static bool good_name(struct str name)
{
    for (size_t i = 0; i < name.n; i++)
        if (!str_letter(name.p[i]) && !str_digit(name.p[i]) && !strchr("_-.", name.p[i]))
            return false;
    return name.n > 0 && name.n <= LIMIT_NAME_BYTES;
}

/* A tool name that may contain stars. Two underscores are refused: they end a server's name. */
static bool good_pattern(struct str name)
{
    for (size_t i = 0; i < name.n; i++)
        if (!str_letter(name.p[i]) && !str_digit(name.p[i]) && !strchr("_-.*", name.p[i]))
            return false;
    return name.n > 0 && name.n <= LIMIT_NAME_BYTES && !str_has(name, STR("__")) && name.p[0] != '_';
}

/* The text before the first two underscores. */
static struct str first_name(struct str rest)
{
    const char *bar = rest.n ? memmem(rest.p, rest.n, "__", 2) : NULL;
    return bar ? str_sub(rest, 0, (size_t)(bar - rest.p)) : rest;
}

/* mcp__*__delete_*: any server. Only deny and ask rules may say so, which rule_for_allow checks. */
static struct rc take_any_server(struct making *m, struct str rest)
{
    struct str server = first_name(rest), tool = server.n < rest.n ? str_sub(rest, server.n + 2, rest.n) : STR("*");
    if (!good_pattern(server) || !good_pattern(tool))
        return bad(m, "a server and a tool have names of letters, digits, `-`, `.`, `_`, and `*`");
    m->rule->kind = RULE_SERVER;
    m->rule->tool = STR("mcp__");
    m->rule->field = arena_str(m->arena, server);
    m->rule->value = arena_str(m->arena, tool);
    m->rule->text = arena_printf(m->arena, "mcp__%.*s__%.*s", STR_ARG(server), STR_ARG(tool));
    return RC_OK;
}

/* mcp__server, mcp__server__*, mcp__server__get_*, mcp__server__tool. */
static struct rc take_server_name(struct making *m, struct str name)
{
    struct str rest = str_sub(name, 5, name.n);
    if (count_stars(first_name(rest)))
        return take_any_server(m, rest);
    struct str server = first_name(rest), tool = server.n < rest.n ? str_sub(rest, server.n + 2, rest.n) : STR("*");
    /* A `_` at its border would make the border of the components unclear. */
    if (!good_name(server) || server.p[0] == '_' || server.p[server.n - 1] == '_')
        return bad(m, "a server has a name of letters, digits, `-`, `.` and, inside, `_`");
    if (count_stars(tool)) {
        m->rule->kind = RULE_SERVER;
        m->rule->tool = arena_printf(m->arena, "mcp__%.*s__", STR_ARG(server));
        m->rule->value = arena_str(m->arena, tool);
        m->rule->text = arena_printf(m->arena, "mcp__%.*s__%.*s", STR_ARG(server), STR_ARG(tool));
        return good_pattern(tool) ? RC_OK : bad(m, "a tool has a name of letters, digits, `-`, `.`, `_`, and `*`");
    }
    if (!good_name(tool))
        return bad(m, "a tool has a name of letters, digits, `-`, `.` and `_`");
    m->rule->tool = m->rule->text = arena_str(m->arena, name);
    return RC_OK;
}

/* The part before the parenthesis. A group (`@git-read`) is a rule on Bash. */
static struct rc take_tool(struct making *m, struct str name)
{
    m->rule->kind = RULE_TOOL;
    if (str_starts(name, STR("@"))) {
        m->rule->kind = RULE_GROUP;
        m->rule->tool = STR("Bash");
        m->rule->value = arena_str(m->arena, str_sub(name, 1, name.n));
        m->rule->text = arena_str(m->arena, name);
        return group_known(m->rule->value) ? RC_OK : bad(m, "there is no such group: `nod policy show` lists them");
    }
    if (str_starts(name, STR("mcp__")))
        return take_server_name(m, name);
    if (!str_is(name, "*") && !good_name(name))
        return bad(m, "it does not begin with the name of a tool");
    m->rule->tool = m->rule->text = arena_str(m->arena, name);
    return RC_OK;
}

/* ---- commands ---- */

/* Cut at blanks as the shell does without quotes; a rule cannot name a word with a blank in it. */
static struct rc split_words(struct making *m, struct str text)
{
    struct rule *rule = m->rule;
    rule->words = arena_array(m->arena, struct str, LIMIT_RULE_WORDS);
    for (size_t i = 0; i < text.n;) {
        size_t from = i;
        while (i < text.n && !blank(text.p[i]))
            i++;
        if (i > from && rule->word_count == LIMIT_RULE_WORDS)
            return bad(m, "it has too many words");
        if (i > from)
            rule->words[rule->word_count++] = arena_str(m->arena, str_sub(text, from, i));
        while (i < text.n && blank(text.p[i]))
            i++;
    }
    return rule->word_count ? RC_OK : bad(m, "it names no command");
}

/* A rule with quotes in it also matches a command that is spelled the same, quotes and all. */
static void read_spelling(struct making *m, struct str text)
{
    struct rule *rule = m->rule;
    bool quoted =
        str_find(text, '"') < text.n || str_find(text, '\'') < text.n || str_find(text, '\\') < text.n;
    if (!quoted)
        return;
    const struct shell *shell = shell_parse(m->arena, text);
    const struct node *node = shell->root->first;
    if (shell->doubt || !node || node->next || node->kind != NODE_SIMPLE || node->redirs ||
        node->assign_count)
        return;
    for (size_t i = 0; i < node->word_count; i++)
        if (!word_literal(&node->words[i]))
            return;
    rule->spelled = arena_array(m->arena, struct str, node->word_count);
    for (size_t i = 0; i < node->word_count; i++)
        rule->spelled[rule->spelled_count++] = node->words[i].raw;
}

static struct str join_words(struct making *m, char between)
{
    const struct rule *rule = m->rule;
    BUF_SCOPE(buf, 2 * LIMIT_RULE_BYTES);
    for (size_t i = 0; i < rule->word_count; i++) {
        if (i)
            buf_putc(&buf, between);
        buf_put(&buf, rule->words[i]);
    }
    return arena_str(m->arena, buf_str(&buf));
}

/* Words joined by NUL, as the words of a command are when they are compared: a blank inside a quoted word is
 * then not taken for the end of it. glob_more is the same pattern with further words behind it. */
static void finish_glob(struct making *m)
{
    struct rule *rule = m->rule;
    CHECK(rule->word_count > 0);
    rule->kind = RULE_GLOB;
    rule->glob = join_words(m, '\0');
    char *more = arena_bytes(m->arena, rule->glob.n + 2);
    memcpy(more, rule->glob.p, rule->glob.n);
    memcpy(more + rule->glob.n, "\0*", 2);
    rule->glob_more = (struct str){more, rule->glob.n + 2};
    while (rule->glob_named < rule->word_count && !count_stars(rule->words[rule->glob_named]))
        rule->glob_named++;
}

/* `words`, `words:*`, `words *`, or any of them with more stars. */
static struct rc take_command(struct making *m, struct str content)
{
    struct rule *rule = m->rule;
    struct str text = str_trim(content);
    if (str_is(text, "*"))
        return bad(m, "it names no command");
    bool open = str_ends(text, STR(":*")) || str_ends(text, STR(" *")) || str_ends(text, STR("\t*"));
    if (open)
        text = str_trim(str_sub(text, 0, text.n - 2));
    TRY(split_words(m, text));
    rule->open_end = open;
    rule->kind = open ? RULE_PREFIX : RULE_EXACT;
    if (count_stars(text) == text.n)
        return bad(m, "it names no command: `Bash` is every one");
    if (count_stars(text))
        finish_glob(m);
    else
        read_spelling(m, text);
    struct str words = rule->spelled_count ? text : join_words(m, ' ');
    rule->text =
        arena_printf(m->arena, "%.*s(%.*s%s)", STR_ARG(rule->tool), STR_ARG(words), open ? ":*" : "");
    return RC_OK;
}

/* ---- paths ---- */

/* `//` from the root, `/` from the session's folder, `~/` from home, else from the folder of the call. The base is cut
 * off *path. Rules that belong to a project are hung on its folder later (ruleset.c). */
static enum path_base take_base(struct str *path)
{
    enum path_base base = BASE_CWD;
    size_t skip = 0;
    if (str_starts(*path, STR("//"))) {
        base = BASE_ROOT;
        skip = 2;
    } else if (str_starts(*path, STR("/"))) {
        base = BASE_PROJECT;
        skip = 1;
    } else if (str_is(*path, "~") || str_starts(*path, STR("~/"))) {
        base = BASE_HOME;
        skip = path->n > 1 ? 2 : 1;
    }
    *path = str_sub(*path, skip, path->n);
    return base;
}

static bool is_wild(struct str s) { return count_stars(s) || str_find(s, '?') < s.n; }

/* Components without `.` and empty ones; `..` goes up, which only the first ones may do past the base. */
static struct rc take_components(struct making *m, struct str path)
{
    struct rule *rule = m->rule;
    struct str parts[256];
    size_t count = 0;
    bool folder = str_empty(path) || path.p[path.n - 1] == '/';
    STR_EACH(part, path, '/') {
        if (str_empty(part) || str_is(part, "."))
            continue;
        if (!str_is(part, "..")) {
            if (count == sizeof parts / sizeof *parts)
                return bad(m, "the path is too long");
            parts[count++] = part;
        } else if (!count) {
            rule->ups++;
        } else if (is_wild(parts[--count])) {
            return bad(m, "`..` behind a wildcard");
        }
    }
    BUF_SCOPE(buf, 2 * LIMIT_RULE_BYTES);
    for (size_t i = 0; i < count; i++)
        buf_printf(&buf, "%s%.*s", i ? "/" : "", STR_ARG(parts[i]));
    bool everything = count && str_is(parts[count - 1], "**");
    if (folder && !everything)
        buf_printf(&buf, "%s**", count ? "/" : "");
    rule->pattern = arena_str(m->arena, buf_str(&buf));
    return str_empty(rule->pattern) ? bad(m, "it names no file") : RC_OK;
}

/* Backslashes and `!` are refused: other programs give them a meaning that does not exist here. */
static struct rc take_path(struct making *m, struct str content)
{
    static const char *const prefixes[BASE_COUNT] = {"//", "", "/", "~/"};
    struct rule *rule = m->rule;
    struct str path = content;
    if (str_find(path, '\\') < path.n || path.p[0] == '!')
        return bad(m, "a path must not contain `\\` or begin with `!`");
    rule->kind = RULE_PATH;
    rule->base = take_base(&path);
    if (rule->base == BASE_CWD && path.p[0] == '~')
        return bad(m, "only one's own home is known: `~/…`");
    if (rule->base == BASE_HOME && str_is(content, "~"))
        return bad(m, "say which files: `~/…`");
    TRY(take_components(m, path));
    BUF_SCOPE(buf, 2 * LIMIT_RULE_BYTES);
    buf_printf(&buf, "%.*s(%s", STR_ARG(rule->tool), prefixes[rule->base]);
    for (unsigned i = 0; i < rule->ups; i++)
        buf_puts(&buf, "../");
    buf_printf(&buf, "%.*s)", STR_ARG(rule->pattern));
    rule->text = arena_str(m->arena, buf_str(&buf));
    return RC_OK;
}

/* ---- hosts and URLs ---- */

/* Labels of letters, digits, `-` and `_`, parted by single dots. */
static bool good_host(struct str host)
{
    if (str_empty(host) || host.n > 253 || host.p[0] == '.' || host.p[host.n - 1] == '.')
        return false;
    for (size_t i = 0; i < host.n; i++) {
        char c = host.p[i];
        if (!str_letter(c) && !str_digit(c) && c != '-' && c != '_' && !(c == '.' && host.p[i - 1] != '.'))
            return false;
    }
    return true;
}

/* `*`, `host`, `*.host`. */
static struct rc take_host(struct making *m, struct str host)
{
    struct rule *rule = m->rule;
    if (str_is(host, "*"))
        return RC_OK;
    rule->below = str_starts(host, STR("*."));
    if (rule->below)
        host = str_sub(host, 2, host.n);
    if (!good_host(host))
        return bad(m, "a host is `example.com`, `*.example.com` or `*`");
    rule->host = arena_lower(m->arena, host);
    return RC_OK;
}

static struct str show_host(struct making *m)
{
    const struct rule *rule = m->rule;
    if (str_empty(rule->host))
        return STR("*");
    return arena_printf(m->arena, "%s%.*s", rule->below ? "*." : "", STR_ARG(rule->host));
}

static bool good_port(struct str port)
{
    uint64_t number;
    return str_to_u64(port, &number) && number > 0 && number < 65536 && port.p[0] != '0';
}

/* scheme://host[:port][/rest] */
static struct rc take_url(struct making *m, struct str url)
{
    struct rule *rule = m->rule;
    struct str after;
    rule->kind = RULE_URL;
    struct str scheme = str_cut(url, ':', &after);
    bool known = str_is(scheme, "https") || str_is(scheme, "http") || str_is(scheme, "*");
    if (!known || !str_starts(after, STR("//")))
        return bad(m, "a URL begins with `https://` or `http://`");
    rule->scheme = str_is(scheme, "*") ? STR_NONE : arena_str(m->arena, scheme);
    after = str_sub(after, 2, after.n);
    size_t slash = str_find(after, '/');
    struct str port, host = str_cut(str_sub(after, 0, slash), ':', &port);
    if (str_find(str_sub(after, 0, slash), ':') < slash && !good_port(port))
        return bad(m, "a port is a number");
    TRY(take_host(m, host));
    rule->port = arena_str(m->arena, port);
    /* `*` alone as host means every address; a host without a path means its front page. */
    bool every = str_is(host, "*") && slash == after.n;
    rule->url_rest = every ? STR("*") : arena_str(m->arena, str_sub(after, slash, after.n));
    rule->text = arena_printf(m->arena, "%.*s(url:%.*s://%.*s%s%.*s%.*s)", STR_ARG(rule->tool),
                              STR_ARG(scheme), STR_ARG(show_host(m)), port.n ? ":" : "", STR_ARG(port),
                              (int)(every ? 0 : rule->url_rest.n), rule->url_rest.p);
    return RC_OK;
}

/* Rules on addresses: a host, or a URL with stars. */
static struct rc take_fetch(struct making *m, struct str content)
{
    struct rule *rule = m->rule;
    if (str_starts(content, STR("url:")))
        return take_url(m, str_sub(content, 4, content.n));
    if (!str_starts(content, STR("domain:")))
        return bad(m, "say `domain:host` or `url:https://…`");
    rule->kind = RULE_HOST;
    TRY(take_host(m, str_sub(content, 7, content.n)));
    rule->text = arena_printf(m->arena, "%.*s(domain:%.*s)", STR_ARG(rule->tool), STR_ARG(show_host(m)));
    return RC_OK;
}

/* ---- other fields ---- */

static bool good_field(struct str name)
{
    for (size_t i = 0; i < name.n; i++)
        if (!str_letter(name.p[i]) && !str_digit(name.p[i]) && !strchr("_-", name.p[i]))
            return false;
    return name.n > 0 && !str_digit(name.p[0]);
}

/* `usual`: the field that is meant when none is named, empty when there is none. */
static struct rc take_field(struct making *m, struct str content, struct str usual)
{
    struct rule *rule = m->rule;
    struct str value, name = str_cut(content, ':', &value);
    bool named = str_find(content, ':') < content.n && good_field(name);
    rule->kind = RULE_FIELD;
    if (!str_empty(usual) && !(named && str_eq(name, usual))) {
        rule->value_words = str_ends(content, STR(":*"));
        value = rule->value_words ? str_sub(content, 0, content.n - 2) : content;
        name = usual;
        named = true;
    }
    if (!named || str_empty(value))
        return bad(m, "say which field of its input is meant: `Tool(field:value)`");
    rule->field = arena_str(m->arena, name);
    rule->value = arena_str(m->arena, value);
    rule->text = arena_printf(m->arena, "%.*s(%.*s:%.*s%s)", STR_ARG(rule->tool), STR_ARG(name),
                              STR_ARG(value), rule->value_words ? ":*" : "");
    if (rule->value_words)
        rule->text = arena_printf(m->arena, "%.*s(%.*s:*)", STR_ARG(rule->tool), STR_ARG(value));
    return RC_OK;
}

/* The part in parentheses, by the kind of tool it belongs to; a tool that Nod does not know has named fields. */
static struct rc take_content(struct making *m, struct str content)
{
    struct rule *rule = m->rule;
    if (str_empty(str_trim(content)))
        return bad(m, "there is nothing between the parentheses");
    if (str_is(content, "*"))
        return RC_OK;
    if (rule->kind == RULE_SERVER || rule->kind == RULE_GROUP || str_is(rule->tool, "*"))
        return bad(m, "a pattern needs one tool that it belongs to");
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
        if (!str_eq(rule->tool, tools[i].name))
            continue;
        switch (tools[i].content) {
        case CONTENT_COMMAND: return take_command(m, content);
        case CONTENT_PATH: return take_path(m, content);
        case CONTENT_URL: return take_fetch(m, content);
        case CONTENT_FIELD: return take_field(m, content, tools[i].field);
        }
    }
    return take_field(m, content, STR_NONE);
}

/* ---- the whole ---- */

/* `bash:ls*`: a star behind a word meant any arguments. */
static struct rc take_older(struct making *m, struct str name, struct str pattern)
{
    struct rule *rule = m->rule;
    TRY(take_tool(m, tool_rule_name(name)));
    if (str_empty(pattern))
        return bad(m, "there is nothing behind the `:`");
    if (str_is(pattern, "*"))
        return RC_OK;
    if (str_is(rule->tool, "WebFetch"))
        return take_url(m, pattern);
    if (!str_is(rule->tool, "Bash"))
        return take_content(m, pattern);
    bool arguments = str_ends(pattern, STR("*")) && count_stars(pattern) == 1;
    if (!arguments)
        return take_command(m, pattern);
    struct str words = str_trim(str_sub(pattern, 0, pattern.n - 1));
    return take_command(m, arena_printf(m->arena, "%.*s:*", STR_ARG(words)));
}

static bool is_older(struct str name)
{
    return !str_eq(tool_rule_name(name), name);
}

/* Before anything else is read: a rule is one line of visible characters. */
static struct rc check_letters(const struct making *m)
{
    if (m->text.n > LIMIT_RULE_BYTES)
        return err_set(m->err, ERR_INVALID, "a rule has at most %d bytes", LIMIT_RULE_BYTES);
    for (size_t i = 0; i < m->text.n;) {
        uint32_t code;
        size_t n = utf8_decode(str_sub(m->text, i, m->text.n), &code);
        if (n == 0 || code == '\n' || (code != '\t' && utf8_hidden(code)))
            return err_set(m->err, ERR_INVALID, "a rule has hidden characters, or more than one line");
        i += n;
    }
    return RC_OK;
}

/* ---- conditions ---- */

/* RULE & host:a,*.b */
static struct rc take_hosts(struct making *m, struct str list)
{
    struct rule *rule = m->rule;
    if (!str_is(rule->tool, "Bash") || rule->kind == RULE_TOOL)
        return bad(m, "`& host:` goes with a rule on a command or a group");
    if (!str_starts(list, STR("host:")) || list.n == 5)
        return bad(m, "only `& host:example.com,*.example.org` may follow a rule");
    rule->hosts = arena_array(m->arena, struct str, RULE_HOSTS_MAX);
    for (struct str rest = str_sub(list, 5, list.n); !str_empty(rest);) {
        struct str host = str_trim(str_cut(rest, ',', &rest));
        if (rule->host_count == RULE_HOSTS_MAX)
            return bad(m, "it names too many hosts");
        if (!good_host(str_starts(host, STR("*.")) ? str_sub(host, 2, host.n) : host))
            return bad(m, "a host is `example.com` or `*.example.com`");
        rule->hosts[rule->host_count++] = arena_lower(m->arena, host);
    }
    BUF_SCOPE(buf, 2 * LIMIT_RULE_BYTES);
    buf_printf(&buf, "%.*s & host:", STR_ARG(rule->text));
    for (size_t i = 0; i < rule->host_count; i++)
        buf_printf(&buf, "%s%.*s", i ? "," : "", STR_ARG(rule->hosts[i]));
    rule->text = arena_str(m->arena, buf_str(&buf));
    return RC_OK;
}

static const struct {
    const char *name;
    enum tool_hint hint;
} hints[] = {{"readOnly", HINT_READ_ONLY},
             {"destructive", HINT_DESTRUCTIVE},
             {"idempotent", HINT_IDEMPOTENT},
             {"openWorld", HINT_OPEN_WORLD}};

/* RULE & readOnly */
static struct rc take_hint(struct making *m, struct str name)
{
    struct rule *rule = m->rule;
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (str_is(name, hints[i].name))
            rule->hints = hints[i].hint;
    if (!rule->hints || (rule->kind != RULE_TOOL && rule->kind != RULE_SERVER))
        return bad(m, "`& readOnly`, `& destructive`, `& idempotent`, `& openWorld` go with tools of an MCP server");
    rule->text = arena_printf(m->arena, "%.*s & %.*s", STR_ARG(rule->text), STR_ARG(name));
    return RC_OK;
}

/* The text after the last ` & ` behind the parentheses, or behind tools of a server; the rule itself stays in *text. */
static struct str cut_condition(struct str *text)
{
    static const struct str mark = {" & ", 3};
    for (size_t i = text->n; i-- > 0;) {
        if (!str_starts(str_sub(*text, i, text->n), mark))
            continue;
        struct str before = str_trim(str_sub(*text, 0, i)), condition = str_trim(str_sub(*text, i + 3, text->n));
        bool hosts = str_starts(condition, STR("host:")) &&
                     (str_ends(before, STR(")")) || str_starts(before, STR("@")));
        if (!hosts && !str_starts(before, STR("mcp__")))
            return STR_NONE;
        *text = before;
        return condition;
    }
    return STR_NONE;
}

/* An allow must be narrower than a denial may be: no rule on every tool, and `*` in an MCP tool's name only at
 * the end of whole words, because `get_*` follows how servers name their tools and `g*` does not. */
struct rc rule_for_allow(const struct rule *rule, struct err *err)
{
    if (str_is(rule->tool, "*"))
        return err_set(err, ERR_INVALID, "`*` cannot be allowed: name the tools, or use the mode bypassPermissions");
    if (rule->kind != RULE_SERVER)
        return RC_OK;
    struct str tool = rule->value;
    bool words = str_ends(tool, STR("_*")) || str_ends(tool, STR("-*")) || str_ends(tool, STR(".*"));
    bool plain = str_is(tool, "*") || words;
    if (str_empty(rule->field) && plain && count_stars(tool) == 1)
        return RC_OK;
    return err_set(err, ERR_INVALID,
                   "`%.*s` cannot be allowed: name the server, and let `*` stand for the end of a tool's name, behind "
                   "whole words (`get_*`)",
                   STR_ARG(rule->text));
}

/* The condition is cut off first: the rest must then end with its parenthesis. */
struct rc rule_parse(struct arena *arena, struct str text, struct rule *ret_rule, struct err *err)
{
    struct rule rule = {0};
    struct making m = {.arena = arena, .text = str_trim(text), .rule = &rule, .err = err};
    struct str pattern, whole = m.text;
    TRY(check_letters(&m));
    struct str condition = cut_condition(&m.text);
    size_t open = str_find(m.text, '('), colon = str_find(m.text, ':');
    if (open < m.text.n) {
        if (!str_ends(m.text, STR(")")))
            return bad(&m, "the parenthesis is not closed");
        TRY(take_tool(&m, str_sub(m.text, 0, open)));
        TRY(take_content(&m, str_sub(m.text, open + 1, m.text.n - 1)));
    } else if (colon < m.text.n && is_older(str_sub(m.text, 0, colon))) {
        struct str name = str_cut(m.text, ':', &pattern);
        TRY(take_older(&m, name, pattern));
    } else {
        TRY(take_tool(&m, m.text));
    }
    m.text = whole;
    if (!str_empty(condition))
        TRY(str_starts(rule.tool, STR("mcp__")) ? take_hint(&m, condition) : take_hosts(&m, condition));
    CHECK(!str_empty(rule.tool) && !str_empty(rule.text));
    *ret_rule = rule;
    return RC_OK;
}
