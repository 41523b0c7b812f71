/* Headers in which a message to a server on the web repeats what its body says, since the revision of 2026: that
 * revision, the method, the name of what is called or read, and the arguments that a tool's definition marks with
 * "x-mcp-header". A server refuses a message whose headers say something else or nothing. */
#include "cli/relay/proxy_web.h"

#include "base/base64.h"

enum { VALUE_BYTES_MAX = 4096 };

struct repeated {
    struct arena *arena;
    const char **headers;
    size_t count;
};

bool proxy_web_plain(struct str value)
{
    for (size_t i = 0; i < value.n; i++)
        if (value.p[i] < ' ' || value.p[i] > '~')
            return false;
    return str_eq(str_trim(value), value) && !str_starts(value, STR("=?base64?"));
}

static void add(struct repeated *to, struct str name, struct str value)
{
    if (value.n > VALUE_BYTES_MAX || to->count == WEB_REPEATED_MAX || !proxy_web_plain(name))
        return;
    if (!proxy_web_plain(value)) {
        char *text = arena_bytes(to->arena, value.n / 3 * 4 + 8);
        base64_encode(value.p, value.n, text);
        value = arena_printf(to->arena, "=?base64?%s?=", text);
    }
    to->headers[to->count++] = arena_printf(to->arena, "%.*s: %.*s", STR_ARG(name), STR_ARG(value)).p;
}

/* The marked arguments of an object, and of the objects in it: JSON has few levels. */
static void add_arguments(struct repeated *to, const struct json *schema, const struct json *arguments)
{
    const struct json *properties = json_get(schema, "properties");
    for (const struct json *one = properties ? properties->first : NULL; one; one = one->next) {
        const struct json *value = json_get_str(arguments, one->key);
        struct str name = json_text(one, "x-mcp-header");
        if (value && value->type == JSON_OBJECT)
            add_arguments(to, one, value);
        else if (value && value->type != JSON_NULL && value->type != JSON_ARRAY && !str_empty(name))
            add(to, arena_printf(to->arena, "Mcp-Param-%.*s", STR_ARG(name)),
                value->type == JSON_STRING ? value->text : value->raw);
    }
}

const char **proxy_web_repeat(struct proxy *proxy, struct arena *arena, const struct mcp_message *m)
{
    static const struct {
        const char *method, *member;
    } named[] = {{"tools/call", "name"},   {"prompts/get", "name"},    {"resources/read", "uri"},
                 {"tasks/get", "taskId"},  {"tasks/update", "taskId"}, {"tasks/cancel", "taskId"}};
    struct repeated to = {.arena = arena, .headers = arena_array(arena, const char *, WEB_REPEATED_MAX + 1)};
    struct proxy_tool tool;
    const struct json *definition;
    if (!m->modern)
        return to.headers;
    add(&to, STR("MCP-Protocol-Version"),
        json_text(json_get(m->params, "_meta"), "io.modelcontextprotocol/protocolVersion"));
    add(&to, STR("Mcp-Method"), m->method);
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (str_is(m->method, named[i].method))
            add(&to, STR("Mcp-Name"), json_text(m->params, named[i].member));
    if (str_is(m->method, "tools/call") &&
        rc_ok(proxy_tool(proxy, arena, json_text(m->params, "name"), &tool, NULL)) &&
        rc_ok(json_parse(arena, tool.definition, &definition, NULL)))
        add_arguments(&to, json_get(definition, "inputSchema"), m->arguments);
    return to.headers;
}
