/* Messages of MCP servers, of any bytes: what is taken is an answer or a request, its result can be told to a model,
 * and what a tool is has one form. */
#include "base/utf8.h"
#include "tools/mcp.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_at_tool(struct arena *arena, const struct json *tool)
{
    struct str text = mcp_definition_text(arena, STR("mcp__s__t"), tool, false);
    if (text.n && !str_eq(mcp_definition_digest(arena, text), mcp_definition_digest(arena, text)))
        abort();
    const struct json *preview;
    if (rc_bad(json_parse(arena, mcp_definition_preview(arena, STR("t"), STR("before\n"), text), &preview, NULL)))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ARENA_SCOPE(arena);
    struct mcp_reply message;
    struct str text = {(const char *)data, size};
    if (rc_bad(mcp_message_read(&arena, text, &message, NULL)))
        return 0;
    if (!message.method.n == !message.id)
        abort();
    if (!message.result)
        return 0;
    if (!utf8_valid(mcp_result_text(&arena, message.result)))
        abort();
    const struct json *tools = json_get(message.result, "tools");
    for (const struct json *t = tools ? tools->first : NULL; t; t = t->next)
        look_at_tool(&arena, t);
    return 0;
}
