/* The tables of shapes, printed as schemas for OpenAPI. */
#include "event/shapes.h"

void shape_put_name(struct buf *buf, const struct shape *shape)
{
    bool upper = true;
    for (const char *c = shape->name; *c; c++) {
        if (*c != '_')
            buf_putc(buf, upper ? (char)(*c - 'a' + 'A') : *c);
        upper = *c == '_';
    }
    buf_puts(buf, "Data");
}

static void put_type(struct json_out *out, const struct shape_field *field)
{
    static const char *const types[] = {
        [SHAPE_TEXT] = "string", [SHAPE_FLAG] = "boolean", [SHAPE_NUMBER] = "integer", [SHAPE_TIME] = "string",
        [SHAPE_TEXTS] = "array", [SHAPE_WORD] = "string", [SHAPE_NESTED] = NULL,
    };
    if (field->type == SHAPE_NESTED) {
        BUF_SCOPE(pointer, 128);
        buf_puts(&pointer, "#/components/schemas/");
        shape_put_name(&pointer, field->nested());
        json_member(out, "$ref", buf_str(&pointer));
        return;
    }
    json_member(out, "type", str_of(types[field->type])); /* a raw member has no JSON type: it may be anything */
    if (field->type == SHAPE_TIME)
        json_member(out, "format", STR("date-time"));
    if (field->type == SHAPE_TEXTS) {
        json_member_raw(out, "items", STR("{\"type\":\"string\"}"));
    }
    if (field->type == SHAPE_WORD) {
        JSON_LIST(out, "enum")
            for (int i = 0; i < field->choice->count; i++)
                if (field->choice->names[i])
                    json_put_str(out, str_of(field->choice->names[i]));
    }
    json_member(out, "description", str_of(field->words));
}

static void put_properties(struct json_out *out, const struct shape *shape)
{
    json_open_member(out, "properties", '{');
    if (shape->change)
        json_members(out, J_OBJECT("change", J("const", shape->change)));
    for (size_t i = 0; i < shape->count; i++) {
        if (event_hides(shape->kind, str_of(shape->fields[i].wire)))
            continue;
        json_open_member(out, shape->fields[i].wire, '{');
        put_type(out, &shape->fields[i]);
        json_close(out, '}');
    }
    json_close(out, '}');
}

/* TOOL_CALL → ToolCallEvent */
static void put_event_name(struct buf *buf, enum event_kind kind)
{
    bool upper = true;
    for (const char *c = event_kind_name(kind); *c; c++) {
        if (*c != '_')
            buf_putc(buf, upper ? *c : (char)(*c - 'A' + 'a'));
        upper = *c == '_';
    }
    buf_puts(buf, "Event");
}

static void put_pointer(struct json_out *out, const char *key, struct str name)
{
    ARENA_SCOPE(arena);
    json_member(out, key, arena_printf(&arena, "#/components/schemas/%.*s", STR_ARG(name)));
}

static void put_reference(struct json_out *out, struct str name)
{
    json_open(out, '{');
    put_pointer(out, "$ref", name);
    json_close(out, '}');
}

/* The data of a kind: one of its shapes, or anything where conversations that run elsewhere say it. */
static void put_data(struct json_out *out, enum event_kind kind)
{
    const struct shape *shape;
    json_open_member(out, "data", '{');
    json_open_member(out, "anyOf", '[');
    for (size_t at = 0; (shape = shape_at(at)); at++) {
        BUF_SCOPE(name, 128);
        shape_put_name(&name, shape);
        if (shape->kind == kind)
            put_reference(out, buf_str(&name));
    }
    if (event_kind_is_note(kind))
        json_put_raw(out, STR("{\"type\":\"object\",\"additionalProperties\":true}"));
    json_close(out, ']');
    json_close(out, '}');
}

static void put_event(struct json_out *out, enum event_kind kind)
{
    BUF_SCOPE(name, 128);
    put_event_name(&name, kind);
    json_key_str(out, buf_str(&name));
    json_open(out, '{');
    json_member(out, "type", STR("object"));
    json_member_raw(out, "required", STR("[\"seq\",\"sessionId\",\"threadId\",\"type\",\"at\",\"actor\",\"data\"]"));
    json_open_member(out, "properties", '{');
    json_members(out, J_RAW("seq", STR("{\"type\":\"integer\"}")),
                 J_RAW("sessionId", STR("{\"type\":[\"string\",\"null\"]}")),
                 J_RAW("threadId", STR("{\"type\":[\"string\",\"null\"]}")),
                 J_OBJECT("type", J("type", "string"), J_LIST("enum", J_ALWAYS(NULL, str_of(event_kind_name(kind))))),
                 J_RAW("at", STR("{\"type\":\"string\",\"format\":\"date-time\"}")),
                 J_RAW("actor", STR("{\"type\":\"string\"}")));
    put_data(out, kind);
    json_close(out, '}');
    json_close(out, '}');
}

/* One of all kinds, told apart by "type". */
static void put_events(struct json_out *out)
{
    JSON_SCOPE(mapping, map, 8 << 10);
    json_open(&map, '{');
    for (int kind = 1; kind < EVENT_KIND_END; kind++)
        put_event(out, (enum event_kind)kind);
    json_open_member(out, "Event", '{');
    JSON_LIST(out, "oneOf")
        for (int kind = 1; kind < EVENT_KIND_END; kind++) {
            BUF_SCOPE(name, 128);
            put_event_name(&name, (enum event_kind)kind);
            put_reference(out, buf_str(&name));
            put_pointer(&map, event_kind_name((enum event_kind)kind), buf_str(&name));
        }
    json_close(&map, '}');
    json_members(out, J_OBJECT("discriminator", J("propertyName", "type"), J_RAW("mapping", buf_str(&mapping))));
    json_close(out, '}');
}

void shape_print_schemas(struct json_out *out)
{
    const struct shape *shape;
    put_events(out);
    for (size_t at = 0; (shape = shape_at(at)); at++) {
        BUF_SCOPE(name, 128);
        shape_put_name(&name, shape);
        json_key_str(out, buf_str(&name));
        json_open(out, '{');
        json_members(out, J("type", "object"), J("description", shape->words));
        json_open_member(out, "required", '[');
        if (shape->change)
            json_put_str(out, STR("change"));
        for (size_t i = 0; i < shape->count; i++)
            if (shape->fields[i].presence == SHAPE_ALWAYS && !event_hides(shape->kind, str_of(shape->fields[i].wire)))
                json_put_str(out, str_of(shape->fields[i].wire));
        json_close(out, ']');
        put_properties(out, shape);
        json_close(out, '}');
    }
}
