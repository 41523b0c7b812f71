#include "agents/rpc.h"

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
    json_member(&out, "id", str_of(id));
    json_member(&out, "method", str_of(method));
    json_key(&out, "params");
    json_open(&out, '{');
    return out;
}

static struct json_out open_answer(struct buf *buf, struct str id, const char *member)
{
    struct json_out out = open_line(buf);
    json_member_raw(&out, "id", str_empty(id) ? STR("null") : id);
    json_key(&out, member);
    json_open(&out, '{');
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
    json_member_i64(&out, "code", code);
    json_member(&out, "message", words);
    rpc_close(&out);
}

void rpc_put_text(struct json_out *out, struct str text)
{
    json_open(out, '{');
    json_member(out, "type", STR("text"));
    json_key(out, "text");
    json_put_str(out, text);
    json_close(out, '}');
}
