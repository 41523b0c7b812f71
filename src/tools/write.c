/* Write: a whole file. */
#include "tools/tool.h"

static struct rc plan(const struct tool_use *use, struct plan *ret_plan, struct err *err)
{
    struct plan plan = {.after = json_text(use->input, "content")};
    TRY(place_within(use->arena, use->root, json_text(use->input, "file_path"), &plan.path, err));
    struct rc rc = plan_read(use, plan.path, &plan.before, err);
    if (rc_bad(rc) && rc.code != ERR_NOT_FOUND)
        return rc;
    plan.is_new = rc_bad(rc);
    *ret_plan = plan;
    return RC_OK;
}

/* Characters, as people and models count them. */
static size_t characters(struct str text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.n; i++)
        count += ((unsigned char)text.p[i] & 0xC0) != 0x80;
    return count;
}

static struct rc run(const struct tool_use *use, struct str *ret_text, struct err *err)
{
    struct plan planned;
    TRY(plan(use, &planned, err));
    TRY(place_write(use->arena, use->root, &planned, err));
    *ret_text = arena_printf(use->arena, "Wrote %zu characters to %.*s", characters(planned.after),
                             STR_ARG(json_text(use->input, "file_path")));
    return RC_OK;
}

const struct executor executor_write = {
    .name = "Write",
    .files = true,
    .description = "Writes a file of the project, whole; an existing file is replaced, missing folders are made.",
    .schema = "{\"type\":\"object\",\"properties\":{"
              "\"file_path\":{\"type\":\"string\",\"description\":\"The file, absolute or relative to the project\"},"
              "\"content\":{\"type\":\"string\",\"description\":\"All of its new content\"}},"
              "\"required\":[\"file_path\",\"content\"]}",
    .plan = plan,
    .run = run,
};
