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
    json_object(out, J("mcp_server_name", name), J("message", json_text(params, "message")),
                J("url", json_text(params, "url")), J_IF(schema, J_RAW("requested_schema", schema->raw)));
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
    json_object(&out, J("jsonrpc", "2.0"), J_RAW("id", id),
                J_OBJECT("result", J("action", accepts ? "accept" : call ? "decline" : "cancel"),
                         J_IF(accepts && answered, J_RAW("content", content->raw))));
    json_end_line(&out);
    return accepts;
}
