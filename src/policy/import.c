/* Imports rules from other programs' settings (Claude Code, Codex, opencode, Gemini), for `nod policy import`.
 * Each line that cannot be expressed is listed with its number and a reason. A denial that is left out is
 * reported as such (import_left_out), since the person would otherwise believe that it still holds. */
#include "policy/import.h"

#include "base/err.h"
#include "base/grow.h"
#include "base/json.h"
#include "base/limits.h"
#include "policy/rule.h"

static const char *const kind_names[IMPORT_KIND_COUNT] = {
#define X(name, wire) [IMPORT_##name] = wire,
    IMPORT_KINDS(X)
#undef X
};

bool import_kind_parse(struct str name, enum import_kind *ret_kind)
{
    *ret_kind = (enum import_kind)str_index(name, kind_names, IMPORT_KIND_COUNT);
    return *ret_kind < IMPORT_KIND_COUNT;
}

/* Counts on from where it was asked last: files are read from front to back. */
unsigned import_line(struct importing *in, const char *at)
{
    CHECK(at >= in->text.p && at <= in->text.p + in->text.n);
    if (!in->counted_to || in->counted_to < in->text.p || in->counted_to > at) {
        in->counted_to = in->text.p;
        in->counted_lines = 1;
    }
    for (; in->counted_to < at; in->counted_to++)
        in->counted_lines += *in->counted_to == '\n';
    return in->counted_lines;
}

enum { IMPORT_RULES_MAX = 4096 };

void import_remark(struct importing *in, unsigned line, struct str what, const char *words)
{
    struct imported *out = &in->out;
    ARENA_GROW(in->arena, out->remarks, out->remark_count, in->remark_room);
    out->remarks[out->remark_count++] = (struct import_remark){line, arena_str(in->arena, what),
                                                              arena_str(in->arena, str_of(words))};
}

void import_left_out(struct importing *in, enum effect effect, unsigned line, struct str what, const char *words)
{
    in->out.lost += effect != EFFECT_ALLOW;
    import_remark(in, line, what, words);
}

/* In the imported file, Edit alone means every editing tool; in Nod it means that one tool, and only Edit(path) means
 * all of them. */
static void import_all_edits(struct importing *in, enum effect effect, struct str text, unsigned line)
{
    static const char *const others[] = {"Write", "MultiEdit", "NotebookEdit"};
    if (!str_is(text, "Edit") && !str_is(text, "Edit(*)"))
        return;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        (void)import_rule(in, effect, str_of(others[i]), line);
}

/* NULL: the rule was left out, with a remark. Rules that are there already are not added twice. */
struct rule_source *import_rule(struct importing *in, enum effect effect, struct str text, unsigned line)
{
    struct imported *out = &in->out;
    struct str canonical;
    struct err err;
    if (rc_bad(rule_check(in->arena, text, &canonical, &err))) {
        import_left_out(in, effect, line, text, err.text);
        return NULL;
    }
    if (effect == EFFECT_ALLOW && str_is(canonical, "*")) {
        import_remark(in, line, text, "left out: everything at once cannot be allowed by a rule");
        return NULL;
    }
    if (out->rule_count == IMPORT_RULES_MAX) {
        import_left_out(in, effect, line, text, "left out: there are too many");
        return NULL;
    }
    for (size_t i = 0; i < out->rule_count; i++)
        if (out->rules[i].effect == effect && str_eq(out->rules[i].text, canonical))
            return &out->rules[i];
    ARENA_GROW(in->arena, out->rules, out->rule_count, in->rule_room);
    out->rules[out->rule_count] = (struct rule_source){.effect = effect, .text = canonical};
    return &out->rules[out->rule_count++];
}

/* ---- JSON with comments ---- */

/* Blanks out comments and commas before a closing bracket; places stay what they are. */
static struct str without_comments(struct arena *arena, struct str text)
{
    char *copy = (char *)arena_str(arena, text).p;
    bool string = false;
    size_t comma = SIZE_MAX;
    for (size_t i = 0; i < text.n; i++) {
        char c = copy[i], next = i + 1 < text.n ? copy[i + 1] : '\0';
        if (string) {
            i += c == '\\';
            string = c != '"';
        } else if (c == '/' && (next == '/' || next == '*')) {
            bool line = next == '/';
            size_t end = i + 2;
            while (end < text.n &&
                   !(line ? copy[end] == '\n' : copy[end - 1] == '*' && copy[end] == '/' && end > i + 2))
                end++;
            for (; i < end + !line && i < text.n; i++)
                copy[i] = copy[i] == '\n' ? '\n' : ' ';
            i--;
        } else if (c == ',') {
            comma = i;
        } else if (c == '}' || c == ']') {
            if (comma != SIZE_MAX)
                copy[comma] = ' ';
            comma = SIZE_MAX;
        } else if (c != ' ' && c != '\t' && c != '\n' && c != '\r') {
            string = c == '"';
            comma = SIZE_MAX;
        }
    }
    return (struct str){copy, text.n};
}

struct rc import_parse_json(struct importing *in, const struct json **ret_root, struct err *err)
{
    in->text = without_comments(in->arena, in->text);
    TRY(json_parse(in->arena, in->text, ret_root, err));
    if ((*ret_root)->type != JSON_OBJECT)
        return err_set(err, ERR_INVALID, "the file is not a JSON object");
    return RC_OK;
}

/* ---- Claude Code ---- */

/* In the imported file a pattern without a slash matches at any depth. */
static struct str any_depth(struct importing *in, enum effect effect, struct str path)
{
    bool deep = str_find(path, '/') < path.n || effect != EFFECT_ALLOW || str_starts(path, STR("~")) ||
                str_is(path, "*");
    return deep ? path : arena_printf(in->arena, "**/%.*s", STR_ARG(path));
}

/* Their patterns without a slash match at any depth, ours only in the folder: any_depth puts `**` in front where it
 * matters. */
static void claude_rule(struct importing *in, enum effect effect, const struct json *item)
{
    unsigned line = import_line(in, item->raw.p);
    if (item->type != JSON_STRING) {
        import_left_out(in, effect, line, item->raw, "left out: it is not a rule");
        return;
    }
    struct str text = str_trim(item->text), content;
    struct str tool = str_cut(text, '(', &content);
    bool closed = str_ends(content, STR(")"));
    content = closed ? str_sub(content, 0, content.n - 1) : content;
    bool file = str_is(tool, "Edit") || str_is(tool, "Read") || str_is(tool, "Write");
    if (file && closed && !str_empty(content) && !str_is(content, "*")) {
        struct str path = any_depth(in, effect, content);
        if (path.n != content.n)
            import_remark(in, line, text,
                          "a pattern without a slash means any depth there; `**/` was put in front");
        content = path;
        text = arena_printf(in->arena, "%.*s(%.*s)", STR_ARG(tool), STR_ARG(content));
    }
    (void)import_rule(in, effect, text, line);
    import_all_edits(in, effect, text, line);
}

static void claude_other(struct importing *in, const struct json *member)
{
    unsigned line = import_line(in, member->raw.p);
    if (str_is(member->key, "defaultMode"))
        import_remark(in, line, member->raw, "left out: the permission mode belongs to a session here");
    else if (str_is(member->key, "additionalDirectories"))
        import_remark(in, line, member->raw,
                      "left out: name these folders in rules, as in Read(//folder/**)");
    else
        import_remark(in, line, member->key, "left out: there is no such setting here");
}

/* Rules only. Hooks and settings of the file are named in remarks, so that nobody thinks they were taken over. */
struct rc import_claude_code(struct importing *in, struct err *err)
{
    const struct json *root;
    TRY(import_parse_json(in, &root, err));
    const struct json *permissions = json_get(root, "permissions");
    if (!permissions || permissions->type != JSON_OBJECT)
        return err_set(err, ERR_INVALID, "the file has no object `permissions`");
    for (const struct json *list = permissions->first; list; list = list->next) {
        enum effect effect;
        if (!effect_parse(list->key, &effect)) {
            claude_other(in, list);
            continue;
        }
        if (list->type != JSON_ARRAY) {
            import_left_out(in, effect, import_line(in, list->raw.p), list->key, "left out: it is not a list");
            continue;
        }
        for (const struct json *item = list->first; item; item = item->next)
            claude_rule(in, effect, item);
    }
    for (const struct json *other = root->first; other; other = other->next)
        if (other != permissions && (str_is(other->key, "hooks") || str_is(other->key, "sandbox")))
            import_remark(in, import_line(in, other->raw.p), other->key,
                          "left out: only `permissions` is read");
    return RC_OK;
}

/* ---- opencode ---- */

static const struct {
    const char *key;
    const char *tool;
} opencode_tools[] = {
    {"bash", "Bash"},         {"edit", "Edit"},           {"write", "Edit"},  {"read", "Read"},
    {"webfetch", "WebFetch"}, {"websearch", "WebSearch"}, {"glob", "Glob"},   {"grep", "Grep"},
    {"list", "LS"},           {"task", "Task"},           {"skill", "Skill"},
};

/* `*` crosses folders there. */
static struct str opencode_path(struct importing *in, struct str pattern)
{
    size_t slash = pattern.n;
    while (slash > 0 && pattern.p[slash - 1] != '/')
        slash--;
    struct str folder = str_sub(pattern, 0, slash), last = str_sub(pattern, slash, pattern.n);
    const char *root = str_starts(pattern, STR("/")) ? "/" : "";
    if (str_is(last, "*") || str_is(last, "**"))
        return arena_printf(in->arena, "%s%.*s**", root, STR_ARG(folder));
    if (str_find(last, '*') < last.n && !str_ends(folder, STR("**/")))
        return arena_printf(in->arena, "%s%.*s**/%.*s", root, STR_ARG(folder), STR_ARG(last));
    return arena_printf(in->arena, "%s%.*s", root, STR_ARG(pattern));
}

/* A pattern that would mean something else here is left out: a rule that matches more than its author meant is worse
 * than none. */
static void opencode_pattern(struct importing *in, const char *tool, struct str pattern, enum effect effect,
                             unsigned line)
{
    bool path = strcmp(tool, "Edit") == 0 || strcmp(tool, "Read") == 0 || strcmp(tool, "Glob") == 0 ||
                strcmp(tool, "Grep") == 0 || strcmp(tool, "LS") == 0;
    if (str_find(pattern, '?') < pattern.n && !path) {
        import_left_out(in, effect, line, pattern, "left out: `?` means itself in rules for commands and addresses");
        return;
    }
    struct str content = path ? opencode_path(in, pattern) : pattern;
    if (strcmp(tool, "WebFetch") == 0)
        content = arena_printf(in->arena, "url:%.*s", STR_ARG(pattern));
    (void)import_rule(in, effect, arena_printf(in->arena, "%s(%.*s)", tool, STR_ARG(content)), line);
}

/* The whole tool: asking is what happens anyway, and denying would beat the exceptions that follow. */
static void opencode_whole(struct importing *in, const char *tool, enum effect effect, bool exceptions,
                           unsigned line)
{
    bool asks_anyway =
        strcmp(tool, "Bash") == 0 || strcmp(tool, "Edit") == 0 || strcmp(tool, "WebFetch") == 0;
    struct str name = str_of(tool);
    if (effect == EFFECT_ASK && asks_anyway)
        return;
    if (effect != EFFECT_ALLOW && exceptions) {
        import_left_out(in, effect, line, name,
                      "left out: in Nod deny and ask rules win over every allow, so its exceptions would have no "
                      "effect; calls that no rule allows are asked about");
        return;
    }
    (void)import_rule(in, effect, name, line);
    import_all_edits(in, effect, name, line);
}

/* Either one effect for the tool, or an object of patterns. There the last pattern that fits wins; here the
 * strictest. */
static void opencode_tool(struct importing *in, const char *tool, const struct json *value)
{
    enum effect effect;
    unsigned line = import_line(in, value->raw.p);
    if (value->type == JSON_STRING && effect_parse(value->text, &effect)) {
        opencode_whole(in, tool, effect, false, line);
        return;
    }
    if (value->type != JSON_OBJECT) {
        import_remark(in, line, value->raw,
                      "left out: it is neither allow, ask, deny nor an object of patterns");
        return;
    }
    bool stops = false, allows = false;
    for (const struct json *item = value->first; item; item = item->next)
        allows = allows || str_is(item->text, "allow");
    for (const struct json *item = value->first; item; item = item->next) {
        line = import_line(in, item->raw.p);
        if (item->type != JSON_STRING || !effect_parse(item->text, &effect)) {
            import_remark(in, line, item->raw, "left out: it is neither allow, ask nor deny");
            continue;
        }
        stops = stops || effect != EFFECT_ALLOW;
        if (str_is(item->key, "*") || str_is(item->key, "**"))
            opencode_whole(in, tool, effect, allows, line);
        else
            opencode_pattern(in, tool, item->key, effect, line);
    }
    if (stops && allows)
        import_remark(in, line, str_of(tool), "there the last rule that fits wins; here the strictest does");
}

static void opencode_member(struct importing *in, const struct json *member)
{
    for (size_t i = 0; i < sizeof opencode_tools / sizeof *opencode_tools; i++) {
        if (str_is(member->key, opencode_tools[i].key)) {
            opencode_tool(in, opencode_tools[i].tool, member);
            return;
        }
    }
    unsigned line = import_line(in, member->raw.p);
    if (str_is(member->key, "*"))
        import_remark(in, line, member->raw,
                      "left out: what no rule names is asked about here, reading aside");
    else if (str_is(member->key, "external_directory"))
        import_remark(in, line, member->key,
                      "left out: name these folders in rules, as in Read(//folder/**)");
    else
        import_remark(in, line, member->key,
                      "left out: which tool that is here is not known (mcp__server__tool?)");
}

struct rc import_opencode(struct importing *in, struct err *err)
{
    const struct json *root;
    TRY(import_parse_json(in, &root, err));
    const struct json *permission = json_get(root, "permission");
    if (!permission)
        return err_set(err, ERR_INVALID, "the file has no `permission`");
    if (permission->type == JSON_OBJECT) {
        for (const struct json *member = permission->first; member; member = member->next)
            opencode_member(in, member);
    } else {
        import_remark(in, import_line(in, permission->raw.p), permission->raw,
                      "left out: what no rule names is asked about here, reading aside");
    }
    const struct json *agents = json_get(root, "agent");
    for (const struct json *agent = agents && agents->type == JSON_OBJECT ? agents->first : NULL; agent;
         agent = agent->next)
        if (json_get(agent, "permission"))
            import_remark(in, import_line(in, agent->raw.p), agent->key,
                          "left out: rules of one agent alone");
    return RC_OK;
}

/* ---- all ---- */

/* A file that cannot be parsed is an error, a line that cannot be expressed is a remark. */
struct rc policy_import(struct arena *arena, enum import_kind kind, struct str text,
                        struct imported *ret_imported, struct err *err)
{
    struct importing in = {.arena = arena, .text = text};
    if (text.n > LIMIT_BODY_BYTES)
        return err_set(err, ERR_TOO_LARGE, "the file is larger than %d bytes", LIMIT_BODY_BYTES);
    switch (kind) {
    case IMPORT_CLAUDE_CODE: TRY(import_claude_code(&in, err)); break;
    case IMPORT_CODEX: TRY(import_codex(&in, err)); break;
    case IMPORT_OPENCODE: TRY(import_opencode(&in, err)); break;
    case IMPORT_GEMINI: TRY(import_gemini(&in, err)); break;
    case IMPORT_KIND_COUNT: return err_set(err, ERR_INVALID, "unknown kind of file");
    }
    *ret_imported = in.out;
    return RC_OK;
}
