/* TodoWrite: the agent's own list. It is kept where everything is kept, in the call's events. */
#include "tools/tool.h"

static struct rc run(const struct tool_use *use, struct str *ret_text, struct err *err)
{
    const struct json *todos = json_get(use->input, "todos");
    unsigned done = 0;
    (void)err;
    for (const struct json *todo = todos->first; todo; todo = todo->next)
        done += str_is(json_text(todo, "status"), "completed");
    *ret_text = arena_printf(use->arena, "The list has %u tasks, %u of them completed", todos->count, done);
    return RC_OK;
}

const struct executor executor_todo_write = {
    .name = "TodoWrite",
    .description = "Keeps your list of tasks; give the whole list each time.",
    .schema = "{\"type\":\"object\",\"properties\":{\"todos\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
              "\"properties\":{\"content\":{\"type\":\"string\"},\"activeForm\":{\"type\":\"string\"},"
              "\"id\":{\"type\":\"string\"},\"priority\":{\"type\":\"string\"},"
              "\"status\":{\"type\":\"string\",\"enum\":[\"pending\",\"in_progress\",\"completed\"]}},"
              "\"required\":[\"content\",\"status\"]}}},\"required\":[\"todos\"]}",
    .looks = true,
    .run = run,
};
