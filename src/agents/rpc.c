/* Lines of JSON-RPC (rpc.h). */
#include "agents/rpc.h"

/* ---- spelling ---- */

/* The first letter of a key in lower case, as a parser that ignores case would read it. Unicode folds U+017F (long s)
 * to `s` and U+212A (Kelvin sign) to `k`. */
static char fold(struct str key, size_t *ret_bytes)
{
    *ret_bytes = 1;
    if (str_starts(key, STR("\xc5\xbf")) || str_starts(key, STR("\xe2\x84\xaa"))) {
        *ret_bytes = key.p[0] == '\xc5' ? 2 : 3;
        return key.p[0] == '\xc5' ? 's' : 'k';
    }
    return key.p[0] >= 'A' && key.p[0] <= 'Z' ? (char)(key.p[0] | 0x20) : key.p[0];
}

static bool folds_to(struct str key, const char *name)
{
    size_t bytes, ignored;
    for (; *name && !str_empty(key); name++, key = str_sub(key, bytes, key.n))
        if (fold(key, &bytes) != fold(str_of(name), &ignored))
            return false;
    return !*name && str_empty(key);
}

bool rpc_spelled(const struct json *object, const char *const *names)
{
    const struct json *member = object && object->type == JSON_OBJECT ? object->first : NULL;
    for (; member; member = member->next)
        for (size_t i = 0; names[i]; i++)
            if (!str_is(member->key, names[i]) && folds_to(member->key, names[i]))
                return false;
    return true;
}

struct str rpc_id(const struct json *value)
{
    return value && (value->type == JSON_STRING || value->type == JSON_NUMBER) ? value->raw : STR_NONE;
}

bool rpc_is_plain(const struct json *message)
{
    static const char *const names[] = {"jsonrpc", "id", "method", "params", "result", "error", NULL};
    return rpc_spelled(message, names);
}

/* ---- lines that cannot be read ---- */

/* The position of the quote that ends the string at `at`, or of the end of the line. */
static size_t string_end(struct str line, size_t at)
{
    for (at++; at < line.n && line.p[at] != '"'; at++)
        if (line.p[at] == '\\')
            at++;
    return at < line.n ? at : line.n;
}

bool rpc_peek(struct arena *arena, struct str line, struct str *ret_id, bool *ret_is_request)
{
    struct str key = STR_NONE;
    const struct json *id = NULL;
    unsigned depth = 0, ids = 0;
    *ret_is_request = false;
    if (!str_starts(str_trim(line), STR("{")))
        return false;
    for (size_t i = 0, from = 0; i < line.n; i++) {
        char c = line.p[i];
        if (c == '"')
            i = string_end(line, i);
        bool closes = c == '}' || c == ']', is_end = depth == 1 && (c == ',' || closes);
        if (is_end && str_is(key, "\"id\"") && ids++ == 0)
            (void)json_parse(arena, str_trim(str_sub(line, from, i)), &id, NULL);
        if (depth == 1 && c == ':') {
            key = str_trim(str_sub(line, from, i));
            *ret_is_request = *ret_is_request || str_is(key, "\"method\"");
        }
        if (is_end || (depth == 1 && c == ':') || (depth == 0 && c == '{'))
            from = i + 1;
        depth += c == '{' || c == '[' ? 1 : 0;
        depth -= closes && depth ? 1 : 0;
    }
    if (ids != 1 || !id || (id->type != JSON_STRING && id->type != JSON_NUMBER))
        return false;
    *ret_id = id->raw;
    return true;
}

/* ---- writing ---- */

static struct json_out open_line(struct buf *buf)
{
    struct json_out out = json_out(buf);
    json_open(&out, '{');
    json_member(&out, "jsonrpc", STR("2.0"));
    return out;
}

struct json_out rpc_open_message(struct buf *buf, const char *id, const char *method)
{
    struct json_out out = open_line(buf);
    json_members(&out, J("id", id), J("method", method));
    json_open_member(&out, "params", '{');
    return out;
}

static struct json_out open_answer(struct buf *buf, struct str id, const char *member)
{
    struct json_out out = open_line(buf);
    json_member_raw(&out, "id", str_empty(id) ? STR("null") : id);
    json_open_member(&out, member, '{');
    return out;
}

struct json_out rpc_open_result(struct buf *buf, struct str id) { return open_answer(buf, id, "result"); }

void rpc_close(struct json_out *out)
{
    json_close(out, '}');
    json_close(out, '}');
    json_end_line(out);
}

void rpc_error(struct buf *buf, struct str id, int code, struct str words)
{
    struct json_out out = open_answer(buf, id, "error");
    json_members(&out, J("code", code), J("message", words));
    rpc_close(&out);
}

void rpc_put_text(struct json_out *out, struct str text)
{
    json_object(out, J("type", "text"), J_ALWAYS("text", text));
}
