/* The command line of `nod mcp proxy` for an entry of a client's settings (mcp_front.h). Headers may hold
 * secrets, so they go into variables of the environment, not onto the command line. */
#include "agents/mcp_front.h"

enum { NAME_MAX_BYTES = 64, HEADERS_MAX = 16 };

static bool is_text(const struct json *value) { return value && value->type == JSON_STRING; }

static struct str header_name(const struct json *header)
{
    return str_empty(header->key) ? json_text(header, "name") : header->key;
}

static bool are_texts(const struct json *list)
{
    bool good = !list || list->type == JSON_NULL || list->type == JSON_ARRAY;
    for (const struct json *one = good && list ? list->first : NULL; one; one = one->next)
        good = good && is_text(one);
    return good;
}

static bool are_headers(const struct json *list)
{
    bool good = !list || (list->count <= HEADERS_MAX && (list->type == JSON_OBJECT || list->type == JSON_ARRAY));
    for (const struct json *one = good && list ? list->first : NULL; one; one = one->next) {
        struct str name = header_name(one);
        good = good && is_text(str_empty(one->key) ? json_get(one, "value") : one) && !str_empty(name) &&
               str_find(name, '=') == name.n;
    }
    return good;
}

bool mcp_front_read(const struct json *entry, struct mcp_front *ret_front)
{
    const struct json *url = json_get(entry, "url"), *other = json_get(entry, "httpUrl");
    const struct json *headers = json_get(entry, "headers");
    *ret_front = (struct mcp_front){.command = json_text(entry, "command"), .args = json_get(entry, "args"),
                                    .url = is_text(other) ? other->text : is_text(url) ? url->text : STR_NONE,
                                    .headers = headers ? headers : json_get(entry, "http_headers"),
                                    .variables = json_get(entry, "env_http_headers"),
                                    .bearer = json_text(entry, "bearer_token_env_var")};
    return str_empty(ret_front->command) != str_empty(ret_front->url) && are_texts(ret_front->args) &&
           are_headers(ret_front->headers) && are_headers(ret_front->variables);
}

/* The names that rules can hold: letters, digits, - and ., and single _ inside. */
static struct str rule_name(struct arena *arena, struct str name)
{
    char *out = arena_bytes(arena, name.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < name.n && n < NAME_MAX_BYTES; i++) {
        char c = name.p[i];
        bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
        out[n++] = good ? c : '-';
    }
    return n ? (struct str){out, n} : STR("server");
}

static struct str variable_name(struct arena *arena, unsigned number)
{
    return arena_printf(arena, "MCP_HEADER_%u", number);
}

static void put_header(struct json_out *out, struct arena *arena, struct str name, const char *word,
                       struct str variable)
{
    json_put_str(out, STR("--header-env"));
    json_put_str(out, arena_printf(arena, "%.*s=%s%.*s", STR_ARG(name), word, STR_ARG(variable)));
}

void mcp_front_args(struct json_out *out, struct arena *arena, const struct mcp_front *front)
{
    const struct str ours[] = {STR("mcp"),    STR("proxy"), STR("--identity"), str_of(front->identity),
                               STR("--name"), rule_name(arena, front->name)};
    unsigned number = 0;
    json_open(out, '[');
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        json_put_str(out, ours[i]);
    json_put_str(out, str_empty(front->url) ? STR("--") : STR("--url"));
    json_put_str(out, str_empty(front->url) ? front->command : front->url);
    const struct json *args = str_empty(front->url) ? front->args : NULL;
    for (const struct json *one = args ? args->first : NULL; one; one = one->next)
        json_put_raw(out, one->raw);
    for (const struct json *one = front->headers ? front->headers->first : NULL; one; one = one->next, number++)
        put_header(out, arena, header_name(one), "", variable_name(arena, number));
    for (const struct json *one = front->variables ? front->variables->first : NULL; one; one = one->next)
        put_header(out, arena, one->key, "", one->text);
    if (!str_empty(front->bearer))
        put_header(out, arena, STR("Authorization"), "Bearer ", front->bearer);
    json_close(out, ']');
}

bool mcp_front_variable(struct arena *arena, const struct mcp_front *front, unsigned number, struct str *ret_name,
                        struct str *ret_value)
{
    const struct json *one = front->headers ? front->headers->first : NULL;
    for (unsigned i = 0; one && i < number; i++)
        one = one->next;
    if (!one)
        return false;
    *ret_name = variable_name(arena, number);
    *ret_value = str_empty(one->key) ? json_text(one, "value") : one->text;
    return true;
}
