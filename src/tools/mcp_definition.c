/* The definition of an MCP server's tool as a text with sorted members: its digest is what is pinned, and two
 * versions of the text are what a person compares. */
#include "tools/mcp.h"

#include <stdlib.h>

static int by_key(const void *a, const void *b)
{
    const struct json *const *x = a, *const *y = b;
    return str_cmp((*x)->key, (*y)->key);
}

static void put_line(struct buf *buf, unsigned depth)
{
    buf_putc(buf, '\n');
    for (unsigned i = 0; i < depth; i++)
        buf_puts(buf, "  ");
}

/* Members in the order of their keys, each on a line of its own. The reader has bounded the depth. */
static void put_sorted(struct buf *buf, struct arena *arena, const struct json *value, unsigned depth)
{
    bool object = value->type == JSON_OBJECT;
    if (value->type != JSON_ARRAY && !object) {
        struct json_out out = json_out(buf);
        if (value->type == JSON_STRING)
            json_put_str(&out, value->text);
        else
            json_put_raw(&out, value->raw);
        return;
    }
    const struct json **parts = arena_array(arena, const struct json *, value->count + 1);
    size_t count = 0;
    for (const struct json *part = value->first; part; part = part->next)
        parts[count++] = part;
    if (object && count)
        qsort(parts, count, sizeof *parts, by_key);
    buf_putc(buf, object ? '{' : '[');
    for (size_t i = 0; i < count; i++) {
        put_line(buf, depth + 1);
        if (object) {
            struct json_out out = json_out(buf);
            json_put_str(&out, parts[i]->key);
            buf_puts(buf, ": ");
        }
        put_sorted(buf, arena, parts[i], depth + 1);
        if (i + 1 < count)
            buf_putc(buf, ',');
    }
    if (count)
        put_line(buf, depth);
    buf_putc(buf, object ? '}' : ']');
}

/* Fields that our own agent does not use, and the clients of a proxy do. */
static void put_others(struct buf *buf, struct arena *arena, const struct json *definition)
{
    static const char *const members[] = {"title", "annotations", "outputSchema", "_meta"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const struct json *member = json_get(definition, members[i]);
        if (!member)
            continue;
        buf_printf(buf, "\n%s: ", members[i]);
        put_sorted(buf, arena, member, 0);
        buf_putc(buf, '\n');
    }
}

/* The text whose digest is pinned. Members are sorted, so that a server that sends them in another order changes
 * nothing. */
struct str mcp_definition_text(struct arena *arena, struct str tool, const struct json *definition, bool whole)
{
    ARENA_SCOPE(scratch);
    const struct json *schema = json_get(definition, "inputSchema");
    BUF_SCOPE(buf, (size_t)MCP_DEFINITION_BYTES_MAX * 4);
    buf_printf(&buf, "%.*s\n\n", STR_ARG(tool));
    BUF_ADD(&buf, json_text(definition, "description"), STR("\n\ninput: "));
    if (schema)
        put_sorted(&buf, &scratch, schema, 0);
    buf_putc(&buf, '\n');
    if (whole)
        put_others(&buf, &scratch, definition);
    return buf.over ? STR_NONE : arena_str(arena, buf_str(&buf));
}

/* Defaults of the protocol: a tool that says nothing may destroy and reaches the world. The server's word is not
 * checked; a rule may still name a hint. */
unsigned tool_hints(const struct json *definition)
{
    const struct json *said = json_get(definition, "annotations");
    bool reads = json_bool(said, "readOnlyHint", false);
    unsigned hints = HINT_TOLD | (reads ? HINT_READ_ONLY : 0);
    hints |= !reads && json_bool(said, "destructiveHint", true) ? HINT_DESTRUCTIVE : 0;
    hints |= json_bool(said, "idempotentHint", false) ? HINT_IDEMPOTENT : 0;
    return hints | (json_bool(said, "openWorldHint", true) ? HINT_OPEN_WORLD : 0);
}

struct str mcp_definition_digest(struct arena *arena, struct str text)
{
    char hex[DIGEST_HEX_BYTES];
    struct digest digest = digest_of(text);
    digest_hex(&digest, hex);
    return arena_str(arena, str_of(hex));
}

struct definition_shown {
    struct str path, before, after, warning;
    bool is_new;
};

static struct str preview_of(struct arena *arena, const struct definition_shown *shown)
{
    JSON_SCOPE(buf, out, LIMIT_BODY_BYTES);
    json_open(&out, '{');
    json_members(&out, J("type", "diff"), J("file_path", shown->path), J_BOOL("is_new_file", shown->is_new));
    diff_write(&out, shown->path, shown->before, shown->after);
    json_members(&out, J_LIST("warnings", J_ALWAYS(NULL, shown->warning)));
    json_close(&out, '}');
    return buf.over ? STR("{\"type\":\"generic\",\"problem\":\"too large to be shown\"}")
                    : arena_str(arena, buf_str(&buf));
}

struct str mcp_definition_preview(struct arena *arena, struct str tool, struct str before, struct str after)
{
    const struct definition_shown shown = {
        .path = tool, .before = before, .after = after,
        .warning = STR("the server changed what this tool says of itself; the model will believe the new text")};
    return preview_of(arena, &shown);
}

struct str mcp_definition_file_preview(struct arena *arena, struct str path, struct str text)
{
    const struct definition_shown shown = {
        .path = path, .after = text, .is_new = true,
        .warning = STR("the programs that this file names will be started; who wrote the repository chose them")};
    return preview_of(arena, &shown);
}
