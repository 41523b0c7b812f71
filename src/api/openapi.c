/* The OpenAPI description, printed from the table of routes and the schemas beside it. */
#include "api/exchange.h"

#include "event/shape.h"

#include <stdio.h>

/* schemas.json, as it is, in the binary. */
__asm__(".section .rodata\n"
        ".global nod_schemas\n"
        "nod_schemas:\n"
        ".incbin \"" NOD_SOURCE_DIR "/src/api/schemas.json\"\n"
        ".global nod_schemas_end\n"
        "nod_schemas_end:\n"
        ".byte 0\n"
        ".previous\n");
extern const char nod_schemas[], nod_schemas_end[];

/* OpenAPI describes a stream as text; `x-data` names the schema of its "data:" lines. */
static void put_stream(struct json_out *out, const char *schema)
{
    json_members(out, J_OBJECT("text/event-stream", J_OBJECT("schema", J("type", "string"), J("x-data", schema))));
}

/* "content":{"application/json":{"schema":{"$ref":"#/components/schemas/X"}}}, or the schema itself, where the row has
 * it. `stream`: the schema of a stream's data; NULL: the answer is never a stream. */
static void put_content(struct json_out *out, const char *schema, const char *stream)
{
    char pointer[128];
    (void)snprintf(pointer, sizeof pointer, "#/components/schemas/%s", schema);
    json_open_member(out, "content", '{');
    json_open_member(out, "application/json", '{');
    if (schema[0] == '{')
        json_member_raw(out, "schema", str_of(schema));
    else
        json_members(out, J_OBJECT("schema", J("$ref", pointer)));
    json_close(out, '}');
    if (stream)
        put_stream(out, stream);
    json_close(out, '}');
}

/* "/api/sessions/:session" → "/api/sessions/{session}" */
static void put_path(struct buf *buf, const char *path)
{
    struct str left = str_sub(str_of(path), 1, strlen(path));
    while (left.n) {
        struct str part = str_cut(left, '/', &left);
        bool param = part.p[0] == ':';
        BUF_ADD(buf, str_of(param ? "/{" : "/"), param ? str_sub(part, 1, part.n) : part);
        if (param)
            buf_putc(buf, '}');
    }
}

/* Numbers have the bounds that api_query_u64 is called with; 0 means no bound. */
static uint64_t number_most(struct str name)
{
    return str_is(name, "wait") ? LIMIT_WAIT_SECONDS : str_is(name, "limit") ? LIMIT_PAGE_EVENTS : 0;
}

/* The types come from the names: a query parameter has the same name and meaning on every route. */
static void put_parameter(struct json_out *out, struct str name, const char *in)
{
    bool number = str_is(name, "wait") || str_is(name, "after") || str_is(name, "limit") ||
                  str_is(name, "before");
    json_object(out, J("name", name), J("in", in), J_BOOL("required", str_is(str_of(in), "path")),
                J_OBJECT("schema", J("type", number ? "integer" : "string"), J_IF(number, J("minimum", 0)),
                         J_IF(number && number_most(name), J("maximum", number_most(name))),
                         J_IF(str_is(name, "format"),
                              J_RAW("enum", STR("[\"named\",\"message\",\"cloudevents\"]")))));
}

static void put_parameters(struct json_out *out, const struct route *route)
{
    struct str path = str_of(route->path), query = str_of(route->query);
    json_open_member(out, "parameters", '[');
    while (path.n) {
        struct str part = str_cut(path, '/', &path);
        if (part.n && part.p[0] == ':')
            put_parameter(out, str_sub(part, 1, part.n), "path");
    }
    while (query.n)
        put_parameter(out, str_cut(query, ' ', &query), "query");
    json_close(out, ']');
}

/* The schema of what the route streams with Accept: text/event-stream; NULL: it streams nothing. */
static const char *stream_of(const struct route *route)
{
    return route->handle == api_events_read       ? "Event"
           : route->handle == api_requests_events ? "AgentEventPage"
           : route->handle == api_agent_state     ? "AgentState"
           : route->handle == api_mcp_message     ? "McpMessage"
                                                  : NULL;
}

/* Errors have one shape on all routes, so that they are described once, as the default. */
static void put_answers(struct json_out *out, const struct route *route)
{
    char status[8];
    (void)snprintf(status, sizeof status, "%d", route->status);
    json_open_member(out, "responses", '{');
    json_open_member(out, status, '{');
    json_member(out, "description", str_of(route->summary));
    if (route->gives)
        put_content(out, route->gives, stream_of(route));
    json_close(out, '}');
    if (route->handle == api_mcp_message) { /* a notification has no answer */
        json_member_raw(out, "202", STR("{\"description\":\"It was taken; there is nothing to say\"}"));
    }
    json_open_member(out, "default", '{');
    json_member(out, "description", STR("An error, with the status of its code"));
    put_content(out, "Error", NULL);
    json_close(out, '}');
    json_close(out, '}');
}

static void put_right(struct json_out *out, struct right right)
{
    if (right.scope != SCOPE_NONE) {
        json_member(out, "x-scope", str_of(scope_name(right.scope)));
        json_member_bool(out, "x-session-bound", right.bound == BOUND_HERE);
        return;
    }
    json_open_member(out, "security", '[');
    json_close(out, ']');
}

/* The messages of a WebSocket, which OpenAPI cannot describe. */
static void put_messages(struct json_out *out, const struct socket_kind *(*next)(size_t at))
{
    JSON_LIST(out, "x-messages")
        for (size_t i = 0; next(i); i++) {
            json_open(out, '{');
            json_member(out, "name", str_of(next(i)->name));
            put_right(out, next(i)->right);
            json_close(out, '}');
        }
}

static void put_operation(struct json_out *out, const struct route *route)
{
    char method[8] = "";
    for (size_t i = 0; route->method[i] && i + 1 < sizeof method; i++)
        method[i] = (char)(route->method[i] + 32);
    json_open_member(out, method, '{');
    json_members(out, J("operationId", route->name), J("summary", route->summary));
    put_right(out, route->right);
    if (route->handle == api_socket_open)
        put_messages(out, socket_message);
    if (route->handle == api_agent_terminal_open)
        put_messages(out, terminal_message);
    put_parameters(out, route);
    if (route->body != BODY_NONE && route->takes) {
        json_open_member(out, "requestBody", '{');
        json_member_bool(out, "required", route->body == BODY_OBJECT);
        put_content(out, route->takes, NULL);
        json_close(out, '}');
    }
    put_answers(out, route);
    json_close(out, '}');
}

/* Routes of one path stand together in the document, wherever they stand in the table. */
static void put_paths(struct json_out *out)
{
    size_t count;
    const struct route *routes = routes_all(&count);
    for (size_t i = 0; i < count; i++) {
        bool before = false;
        for (size_t k = 0; k < i; k++)
            before = before || strcmp(routes[k].path, routes[i].path) == 0;
        if (before)
            continue;
        BUF_SCOPE(path, LIMIT_PATH_BYTES);
        put_path(&path, routes[i].path);
        json_key_str(out, buf_str(&path));
        json_open(out, '{');
        for (size_t k = i; k < count; k++)
            if (strcmp(routes[k].path, routes[i].path) == 0)
                put_operation(out, &routes[k]);
        json_close(out, '}');
    }
}

static void put_error_codes(struct json_out *out)
{
    json_open_member(out, "ErrorCode", '{');
    json_member(out, "type", STR("string"));
    JSON_LIST(out, "enum")
        for (int code = ERR_OK + 1; code < ERR_CODE_COUNT; code++)
            json_put_str(out, str_of(err_wire((enum err_code)code)));
    json_close(out, '}');
}

/* Writes the schemas of schemas.json, then those of errors and events. */
static void put_schemas(struct json_out *out)
{
    struct str written = str_trim((struct str){nod_schemas, (size_t)(nod_schemas_end - nod_schemas)});
    json_open_member(out, "schemas", '{');
    json_put_raw(out, str_sub(written, 1, written.n - 1));
    put_error_codes(out);
    shape_print_schemas(out);
    json_close(out, '}');
}

void api_openapi_show(struct exchange *x)
{
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    json_open(&out, '{');
    json_members(&out, J("openapi", "3.1.0"), J_OBJECT("info", J("title", "Nod"), J("version", STR(NOD_VERSION)),
                                                       J("description", "A gate between AI agents and the world.")),
                 J_RAW("security", STR("[{\"token\":[]}]")));
    json_open_member(&out, "paths", '{');
    put_paths(&out);
    json_close(&out, '}');
    json_open_member(&out, "components", '{');
    json_member_raw(&out, "securitySchemes", STR("{\"token\":{\"type\":\"http\",\"scheme\":\"bearer\"}}"));
    put_schemas(&out);
    json_close(&out, '}');
    json_close(&out, '}');
    exchange_answer(x, 200, &buf);
}
