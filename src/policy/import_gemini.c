/* Gemini's settings.json: `tools.allowed`, `tools.exclude` and their older names, and what it says of MCP servers. */
#include "base/err.h"
#include "base/json.h"
#include "event/tool_names.h"
#include "policy/import.h"

/* Names of tools that the table does not have: those of classes in older versions. */
static const struct {
    const char *theirs, *ours;
} older[] = {
    {"ShellTool", "Bash"},
    {"WriteFileTool", "Write"},
    {"EditTool", "Edit"},
    {"ReadFileTool", "Read"},
    {"GlobTool", "Glob"},
    {"GrepTool", "Grep"},
    {"LSTool", "LS"},
    {"WebFetchTool", "WebFetch"},
    {"list_directory", "LS"},
    {"WebSearchTool", "WebSearch"},
    {"ReadManyFilesTool", "Read"},
};

static struct str our_name(struct importing *in, struct str name)
{
    const struct json *none = NULL;
    for (size_t i = 0; i < sizeof older / sizeof *older; i++)
        if (str_is(name, older[i].theirs))
            return str_of(older[i].ours);
    if (rc_bad(json_parse(in->arena, STR("{}"), &none, NULL)))
        return STR_NONE;
    struct tool_named named = tool_named(in->arena, STR("gemini"), name, none);
    return named.alias && !named.foreign ? named.name : STR_NONE;
}

/* `run_shell_command(git status)` means these words and more; a tool alone means all of it. */
static void take_tool(struct importing *in, enum effect effect, const struct json *item)
{
    unsigned line = import_line(in, item->raw.p);
    if (item->type != JSON_STRING) {
        import_left_out(in, effect, line, item->raw, "left out: it is not the name of a tool");
        return;
    }
    struct str content, text = str_trim(item->text), name = str_cut(text, '(', &content), ours = our_name(in, name);
    if (str_empty(ours)) {
        import_left_out(in, effect, line, text,
                        "left out: which tool that is here is not known (mcp__server__tool?)");
        return;
    }
    if (name.n == text.n) {
        (void)import_rule(in, effect, ours, line);
        return;
    }
    content = str_trim(str_ends(content, STR(")")) ? str_sub(content, 0, content.n - 1) : content);
    if (!str_is(ours, "Bash") || str_empty(content)) {
        import_left_out(in, effect, line, text, "left out: only commands have something in parentheses there");
        return;
    }
    bool open = str_ends(content, STR("*"));
    (void)import_rule(in, effect, arena_printf(in->arena, "Bash(%.*s%s)", STR_ARG(content), open ? "" : ":*"), line);
}

static void take_list(struct importing *in, enum effect effect, const struct json *list)
{
    if (!list || list->type == JSON_NULL)
        return;
    if (list->type != JSON_ARRAY) {
        import_left_out(in, effect, import_line(in, list->raw.p), list->raw, "left out: it is not a list");
        return;
    }
    for (const struct json *item = list->first; item; item = item->next)
        take_tool(in, effect, item);
}

/* ---- MCP servers ---- */

static void take_server_tool(struct importing *in, enum effect effect, struct str server, struct str tool,
                             unsigned line)
{
    (void)import_rule(in, effect, arena_printf(in->arena, "mcp__%.*s__%.*s", STR_ARG(server), STR_ARG(tool)), line);
}

static void take_server(struct importing *in, const struct json *server)
{
    const struct json *included = json_get(server, "includeTools");
    for (const struct json *tool = json_first(server, "excludeTools"); tool; tool = tool->next)
        take_server_tool(in, EFFECT_DENY, server->key, tool->text, import_line(in, tool->raw.p));
    if (included)
        import_left_out(in, EFFECT_DENY, import_line(in, included->raw.p), server->key,
                        "left out: `includeTools` shuts out all others, which only the server's own settings can do");
    if (json_bool(server, "trust", false))
        take_server_tool(in, EFFECT_ALLOW, server->key, STR("*"), import_line(in, server->raw.p));
}

static void take_servers(struct importing *in, const struct json *root)
{
    const struct json *servers = json_get(root, "mcpServers"), *mcp = json_get(root, "mcp");
    const struct json *shut = json_get(mcp, "excluded"), *open = json_get(mcp, "allowed");
    for (const struct json *one = servers && servers->type == JSON_OBJECT ? servers->first : NULL; one;
         one = one->next)
        take_server(in, one);
    for (const struct json *one = shut && shut->type == JSON_ARRAY ? shut->first : NULL; one; one = one->next)
        take_server_tool(in, EFFECT_DENY, one->text, STR("*"), import_line(in, one->raw.p));
    if (open)
        import_left_out(in, EFFECT_DENY, import_line(in, open->raw.p), STR("mcp.allowed"),
                        "left out: it shuts out all other servers, which only the settings there can do");
}

/* ---- the whole ---- */

static void take_core(struct importing *in, const struct json *core)
{
    if (core && core->type != JSON_NULL)
        import_left_out(in, EFFECT_DENY, import_line(in, core->raw.p), STR("core"),
                        "left out: it shuts out all other tools; what no rule allows is asked about here");
}

struct rc import_gemini(struct importing *in, struct err *err)
{
    const struct json *root;
    TRY(import_parse_json(in, &root, err));
    const struct json *tools = json_get(root, "tools");
    if (tools && tools->type != JSON_OBJECT)
        tools = NULL;
    take_list(in, EFFECT_ALLOW, json_get(tools, "allowed"));
    take_list(in, EFFECT_ALLOW, json_get(root, "allowedTools"));
    take_list(in, EFFECT_DENY, json_get(tools, "exclude"));
    take_list(in, EFFECT_DENY, json_get(root, "excludeTools"));
    take_core(in, json_get(tools, "core"));
    take_core(in, json_get(root, "coreTools"));
    take_servers(in, root);
    const struct json *yolo = json_get(json_get(root, "general"), "defaultApprovalMode");
    if (yolo)
        import_remark(in, import_line(in, yolo->raw.p), yolo->raw,
                      "left out: the permission mode belongs to a session here");
    return RC_OK;
}
