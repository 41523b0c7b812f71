/* Forms as questions at the gate (forms.h). */
#include "agents/forms.h"

bool forms_offer(struct buf *buf, const struct json *handshake, const char *capabilities, struct str value)
{
    const struct json *params = json_get(handshake, "params"), *given = json_get(params, capabilities);
    struct json_out out = json_out(buf);
    if (!params || params->type != JSON_OBJECT || json_get(given, "elicitation") ||
        (given && given->type != JSON_OBJECT))
        return false;
    json_open(&out, '{');
    json_put_members(&out, handshake, "params");
    json_open_member(&out, "params", '{');
    json_put_members(&out, params, capabilities);
    json_open_member(&out, capabilities, '{');
    json_put_members(&out, given, "elicitation");
    json_member_raw(&out, "elicitation", value);
    json_close(&out, '}');
    json_close(&out, '}');
    json_close(&out, '}');
    return !buf->over;
}

void form_put(struct json_out *out, struct str name, const struct json *params)
{
    const struct json *schema = json_get(params, "requestedSchema");
    json_open(out, '{');
    json_member(out, "mcp_server_name", name);
    json_member(out, "message", json_text(params, "message"));
    json_member(out, "url", json_text(params, "url"));
    if (schema)
        json_member_raw(out, "requested_schema", schema->raw);
    json_close(out, '}');
}

/* An allow that lacks the answers has none to give; a form without fields needs none. */
bool form_answer(struct buf *buf, struct str id, const struct json *params, const struct call *call)
{
    ARENA_SCOPE(arena);
    const struct json *fields = json_get(json_get(params, "requestedSchema"), "properties"), *edited = NULL;
    if (call && !str_empty(call->updated_input) && rc_bad(json_parse(&arena, call->updated_input, &edited, NULL)))
        edited = NULL;
    const struct json *content = json_get(edited, "content");
    bool answered = content && content->type == JSON_OBJECT;
    bool accepts = call && call->status == CALL_ALLOWED && call_allowed(call) &&
                   (answered || !fields || !fields->count);
    struct json_out out = json_out(buf);
    json_open(&out, '{');
    json_member(&out, "jsonrpc", STR("2.0"));
    json_member_raw(&out, "id", id);
    json_open_member(&out, "result", '{');
    json_member(&out, "action", accepts ? STR("accept") : call ? STR("decline") : STR("cancel"));
    if (accepts && answered)
        json_member_raw(&out, "content", content->raw);
    json_close(&out, '}');
    json_close(&out, '}');
    json_end_line(&out);
    return accepts;
}
