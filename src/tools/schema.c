/* Checks an input against the schema that the model was given, and says what is wrong so that a model can put
 * it right. As much of JSON Schema as the tools use: type, properties, required, items, enum. */
#include "tools/tool.h"

#include <stdio.h>

static const struct {
    const char *name;
    const char *words;
} types[] = {
    {"string", "a string"},   {"integer", "a whole number"}, {"number", "a number"},
    {"boolean", "true or false"}, {"array", "an array"},     {"object", "an object"},
};

/* Null has no type: callers treat a member that is null as absent. */
static bool has_type(const struct json *value, struct str type)
{
    int64_t number;
    switch (value->type) {
    case JSON_STRING: return str_is(type, "string");
    case JSON_TRUE:
    case JSON_FALSE: return str_is(type, "boolean");
    case JSON_NUMBER: return str_is(type, "number") || (str_is(type, "integer") && json_i64(value, &number));
    case JSON_ARRAY: return str_is(type, "array");
    case JSON_OBJECT: return str_is(type, "object");
    case JSON_NULL: break;
    }
    return false;
}

static const char *in_words(struct str type)
{
    return ROW_VALUE(types, row, str_is(type, row->name), row->words, "something else");
}

static struct rc check(const struct json *schema, const struct json *value, struct str where, struct err *err);

/* Unknown members are an error: a model that misspells one must hear of it before anything is done. */
static struct rc check_object(const struct json *schema, const struct json *value, struct str where,
                              struct err *err)
{
    ARENA_SCOPE(arena);
    const struct json *properties = json_get(schema, "properties");
    const char *dot = where.n ? "." : "";
    for (const struct json *name = json_first(schema, "required"); name; name = name->next) {
        const struct json *given = json_get_str(value, name->text);
        if (!given || given->type == JSON_NULL)
            return err_set(err, ERR_INVALID, "\"%.*s%s%.*s\" is missing: it must be %s", STR_ARG(where), dot,
                           STR_ARG(name->text),
                           in_words(json_text(json_get_str(properties, name->text), "type")));
    }
    for (const struct json *member = value->first; member; member = member->next) {
        const struct json *part = json_get_str(properties, member->key);
        if (!part)
            return err_set(err, ERR_INVALID, "\"%.*s%s%.*s\" is not a parameter of this tool", STR_ARG(where), dot,
                           STR_ARG(member->key));
        if (member->type == JSON_NULL)
            continue;
        struct str inner = arena_printf(&arena, "%.*s%s%.*s", STR_ARG(where), dot, STR_ARG(member->key));
        TRY(check(part, member, inner, err));
    }
    return RC_OK;
}

/* As much of JSON Schema as the tools' own schemas use: type, enum, properties, required, items. */
static struct rc check(const struct json *schema, const struct json *value, struct str where, struct err *err)
{
    ARENA_SCOPE(arena);
    struct str type = json_text(schema, "type");
    const struct json *choices = json_get(schema, "enum");
    const struct json *items = json_get(schema, "items");
    bool known = !choices;
    unsigned index = 0;
    if (type.n && !has_type(value, type))
        return err_set(err, ERR_INVALID, "\"%.*s\" must be %s", STR_ARG(where), in_words(type));
    for (const struct json *c = choices ? choices->first : NULL; c; c = c->next)
        known = known || str_eq(c->text, value->text);
    if (!known)
        return err_set(err, ERR_INVALID, "\"%.*s\" must be one of %.*s", STR_ARG(where), STR_ARG(choices->raw));
    if (value->type == JSON_OBJECT && json_get(schema, "properties"))
        return check_object(schema, value, where, err);
    if (value->type != JSON_ARRAY || !items)
        return RC_OK;
    for (const struct json *item = value->first; item; item = item->next)
        TRY(check(items, item, arena_printf(&arena, "%.*s[%u]", STR_ARG(where), index++), err));
    return RC_OK;
}

struct rc schema_check(const char *schema, const struct json *input, struct err *err)
{
    ARENA_SCOPE(arena);
    const struct json *parsed = NULL;
    CHECK(rc_ok(json_parse(&arena, str_of(schema), &parsed, NULL)));
    return check(parsed, input, STR_NONE, err);
}

/* The schema's own words for the members that this input has, so that the page can label them. */
void tool_fields(struct json_out *out, const struct json *schema, const struct json *input)
{
    const struct json *properties = json_get(schema, "properties");
    bool any = false;
    for (const struct json *member = input->first; member; member = member->next) {
        ARENA_SCOPE(scratch);
        const struct json *property = json_get(properties, arena_c(&scratch, member->key));
        struct str title = json_text(property, "title"), description = json_text(property, "description");
        if (str_empty(title) && str_empty(description))
            continue;
        if (!any) {
            json_open_member(out, "fields", '{');
        }
        any = true;
        json_key_str(out, member->key);
        json_object(out, J("title", title), J("description", description));
    }
    if (any)
        json_close(out, '}');
}
