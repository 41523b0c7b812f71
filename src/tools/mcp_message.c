/* Messages between Nod as an MCP client and a server (mcp.h): requests, replies, and a result as text for the
 * model. */
#include "tools/mcp.h"

enum { RPC_NO_METHOD = -32601 };

/* ---- ours ---- */

static struct json_out open_message(struct buf *buf)
{
    struct json_out out = json_out(buf);
    json_open(&out, '{');
    json_member(&out, "jsonrpc", STR("2.0"));
    return out;
}

void mcp_put_request(struct buf *buf, uint64_t id, const char *method, struct str params)
{
    struct json_out out = open_message(buf);
    CHECK(id > 0);
    json_members(&out, J("id", id), J("method", method), J_RAW("params", params));
    json_close(&out, '}');
    json_end_line(&out);
}

void mcp_put_notification(struct buf *buf, const char *method, struct str params)
{
    struct json_out out = open_message(buf);
    json_members(&out, J("method", method), J_RAW("params", params));
    json_close(&out, '}');
    json_end_line(&out);
}

/* A server may ask its client, too. Ping is answered; everything else (sampling, roots) is refused, as we announce no
 * capability. */
void mcp_put_reply(struct buf *buf, struct str id, struct str method)
{
    struct json_out out = open_message(buf);
    json_member_raw(&out, "id", id);
    if (str_is(method, "ping")) {
        json_member_raw(&out, "result", STR("{}"));
    } else {
        json_members(&out, J_OBJECT("error", J("code", RPC_NO_METHOD), J("message", "this client does not do that")));
    }
    json_close(&out, '}');
    json_end_line(&out);
}

/* ---- theirs ---- */

/* A message with a method is the server's own, whatever its id says; ids of answers are numbers, because ours are. */
struct rc mcp_message_read(struct arena *arena, struct str text, struct mcp_reply *ret_message, struct err *err)
{
    const struct json *json;
    int64_t id = 0;
    struct mcp_reply m = {0};
    TRY(json_parse(arena, text, &json, err));
    if (json->type != JSON_OBJECT)
        return err_set(err, ERR_INVALID, "a message must be an object");
    const struct json *given = json_get(json, "id"), *error = json_get(json, "error");
    m.method = json_text(json, "method");
    if (m.method.n) {
        if (given && (given->type == JSON_STRING || given->type == JSON_NUMBER))
            m.asks = given->raw;
        *ret_message = m;
        return RC_OK;
    }
    m.result = json_get(json, "result");
    if (!json_i64(given, &id) || id <= 0 || (!m.result && !error))
        return err_set(err, ERR_INVALID, "it is neither an answer to us nor a request");
    m.id = (uint64_t)id;
    m.error = json_text(error, "message");
    if (!m.result && m.error.n == 0)
        m.error = STR("it did not say why");
    *ret_message = m;
    return RC_OK;
}

static void put_resource(struct buf *buf, const struct json *resource)
{
    struct str text = json_text(resource, "text");
    buf_printf(buf, "(%.*s)\n", STR_ARG(json_text(resource, "uri")));
    if (text.n)
        buf_put(buf, text);
    else
        buf_printf(buf, "(%.*s, not shown)", STR_ARG(json_text(resource, "mimeType")));
}

/* Pictures and sounds are named and not shown: results are text. */
static void put_block(struct buf *buf, const struct json *block)
{
    struct str type = json_text(block, "type");
    if (buf->n && buf->p[buf->n - 1] != '\n')
        buf_putc(buf, '\n');
    if (str_is(type, "text"))
        buf_put(buf, json_text(block, "text"));
    else if (str_is(type, "resource"))
        put_resource(buf, json_get(block, "resource"));
    else if (str_is(type, "resource_link"))
        buf_printf(buf, "(%.*s: %.*s)", STR_ARG(json_text(block, "name")), STR_ARG(json_text(block, "uri")));
    else
        buf_printf(buf, "(%.*s, %.*s, %zu bytes of base64, not shown)", STR_ARG(type.n ? type : STR("something")),
                   STR_ARG(json_text(block, "mimeType")), json_text(block, "data").n);
}

/* The structured form is used only where there is no other. A result that is too long is cut between two characters.
 */
struct str mcp_result_text(struct arena *arena, const struct json *result)
{
    const struct json *content = json_get(result, "content");
    const struct json *structured = json_get(result, "structuredContent");
    BUF_SCOPE(buf, (size_t)MCP_MESSAGE_BYTES_MAX * 2);
    for (const struct json *b = content && content->type == JSON_ARRAY ? content->first : NULL; b; b = b->next)
        put_block(&buf, b);
    if (buf.n == 0 && structured)
        buf_put(&buf, structured->raw);
    if (buf.n == 0)
        return STR("(no output)");
    if (buf.n <= RESULT_BYTES_MAX)
        return arena_str(arena, buf_str(&buf));
    size_t end = RESULT_BYTES_MAX;
    while (end > 0 && ((unsigned char)buf.p[end] & 0xC0) == 0x80)
        end--;
    return arena_printf(arena, "%.*s\n… (%zu bytes left out)", (int)end, buf.p, buf.n - end);
}
