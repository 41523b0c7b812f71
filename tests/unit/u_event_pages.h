/* The tables of shapes, printed: types for the page, and a page for people. Only u_event_shapes.c includes it, which
 * compares both with the files in the tree, or writes them (dev/shapes). */
#ifndef U_EVENT_PAGES_H
#define U_EVENT_PAGES_H

#include "event/shapes.h"

/* ---- TypeScript ---- */

static void put_typescript_type(struct buf *buf, const struct shape_field *field)
{
    static const char *const types[] = {
        [SHAPE_TEXT] = "string", [SHAPE_RAW] = "Json", [SHAPE_FLAG] = "boolean", [SHAPE_NUMBER] = "number",
        [SHAPE_TIME] = "string", [SHAPE_TEXTS] = "string[]",
    };
    bool more = false;
    if (field->type == SHAPE_NESTED) {
        shape_put_name(buf, field->nested());
    } else if (field->type == SHAPE_WORD) {
        for (int i = 0; i < field->choice->count; i++) {
            if (!field->choice->names[i])
                continue;
            buf_printf(buf, "%s\"%s\"", more ? " | " : "", field->choice->names[i]);
            more = true;
        }
    } else {
        buf_puts(buf, types[field->type]);
    }
}

static void put_interface(struct buf *buf, const struct shape *shape)
{
    buf_printf(buf, "\n/** %s */\nexport interface ", shape->words);
    shape_put_name(buf, shape);
    buf_puts(buf, " {\n");
    if (shape->change)
        buf_printf(buf, "  change: \"%s\";\n", shape->change);
    for (size_t i = 0; i < shape->count; i++) {
        const struct shape_field *field = &shape->fields[i];
        buf_printf(buf, "  %s%s: ", field->wire, field->presence == SHAPE_ALWAYS ? "" : "?");
        put_typescript_type(buf, field);
        buf_printf(buf, "; // %s\n", field->words);
    }
    buf_puts(buf, "}\n");
}

static void print_typescript(struct buf *buf)
{
    const struct shape *shape;
    buf_puts(buf, "// Printed from the tables of src/event/shapes_*.h; `dev/shapes` writes it anew.\n"
                  "import type { Json } from \"./types\";\n");
    for (size_t at = 0; (shape = shape_at(at)); at++)
        put_interface(buf, shape);
    buf_puts(buf, "\n/** The data of each type of event. */\nexport interface EventData {\n");
    for (int kind = 1; kind < EVENT_KIND_END; kind++) {
        bool more = false;
        for (size_t at = 0; (shape = shape_at(at)); at++) {
            if (shape->kind != (enum event_kind)kind)
                continue;
            if (more)
                buf_puts(buf, " | ");
            else
                buf_printf(buf, "  %s: ", event_kind_name(shape->kind));
            shape_put_name(buf, shape);
            more = true;
        }
        buf_puts(buf, more ? ";\n" : "");
    }
    buf_puts(buf, "}\n");
}

/* ---- a page for people ---- */

static void put_markdown_type(struct buf *buf, const struct shape_field *field)
{
    static const char *const types[] = {
        [SHAPE_TEXT] = "text", [SHAPE_RAW] = "any", [SHAPE_FLAG] = "true or false", [SHAPE_NUMBER] = "whole number",
        [SHAPE_TIME] = "time", [SHAPE_TEXTS] = "list of texts",
    };
    bool more = false;
    if (field->type == SHAPE_NESTED) {
        buf_printf(buf, "[%s](#%s)", field->nested()->name, field->nested()->name);
    } else if (field->type == SHAPE_WORD) {
        for (int i = 0; i < field->choice->count; i++) {
            if (!field->choice->names[i])
                continue;
            buf_printf(buf, "%s`%s`", more ? ", " : "", field->choice->names[i]);
            more = true;
        }
    } else {
        buf_puts(buf, types[field->type]);
    }
}

static void put_table(struct buf *buf, const struct shape *shape)
{
    if (shape->kind == EVENT_NONE)
        buf_printf(buf, "\n## %s\n\n", shape->name);
    else if (shape->change)
        buf_printf(buf, "\n## %s, change `%s`\n\n", event_kind_name(shape->kind), shape->change);
    else
        buf_printf(buf, "\n## %s\n\n", event_kind_name(shape->kind));
    buf_printf(buf, "%s\n\n| member | type | there | meaning |\n|---|---|---|---|\n", shape->words);
    for (size_t i = 0; i < shape->count; i++) {
        const struct shape_field *field = &shape->fields[i];
        buf_printf(buf, "| `%s` | ", field->wire);
        put_markdown_type(buf, field);
        buf_printf(buf, " | %s | %s |\n", field->presence == SHAPE_ALWAYS ? "always" : "when it is set", field->words);
    }
}

static void print_markdown(struct buf *buf)
{
    const struct shape *shape;
    buf_puts(buf, "# Events\n\n"
                  "Printed from the tables of `src/event/shapes_*.h`; `dev/shapes` writes this page anew, and a test\n"
                  "fails when it differs.\n\n"
                  "An event is `{\"seq\",\"sessionId\",\"threadId\",\"type\",\"at\",\"actor\",\"data\"}`; below are\n"
                  "the members of `data` by `type`, in the order in which they are written. A store may hold events\n"
                  "of older versions that lack some. Messages and statuses of conversations that run elsewhere are\n"
                  "kept as they came: only those with a `runId` are Nod's own.\n");
    for (size_t at = 0; (shape = shape_at(at)); at++)
        if (shape->kind != EVENT_NONE)
            put_table(buf, shape);
    buf_puts(buf, "\n# Parts of the above\n");
    for (size_t at = 0; (shape = shape_at(at)); at++)
        if (shape->kind == EVENT_NONE)
            put_table(buf, shape);
}

#endif
