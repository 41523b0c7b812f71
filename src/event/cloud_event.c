/* An event as a CloudEvent (cloud_event.h). */
#include "event/cloud_event.h"

#include "base/arena.h"

struct str cloud_event_call(const struct json *event)
{
    const struct json *data = json_get(event, "data");
    bool call = str_is(json_text(event, "type"), "TOOL_CALL");
    return json_text(data, call ? "id" : "toolCallId");
}

struct str cloud_event_seq(const struct json *event)
{
    const struct json *seq = json_get(event, "seq");
    return seq ? seq->raw : STR_NONE;
}

/* TOOL_APPROVAL_REQUEST is nod.tool.approval.request.v1. */
static struct str cloud_type(struct arena *arena, struct str type)
{
    char *out = arena_bytes(arena, type.n + 1);
    for (size_t i = 0; i < type.n; i++) {
        char c = type.p[i];
        out[i] = c == '_' ? '.' : c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    return arena_printf(arena, "nod.%.*s.v1", (int)type.n, out);
}

void cloud_event_put(struct buf *buf, const struct json *event)
{
    ARENA_SCOPE(arena);
    struct json_out out = json_out(buf);
    struct str session = json_text(event, "sessionId");
    struct str source =
        str_empty(session) ? STR("/nod") : arena_printf(&arena, "/nod/sessions/%.*s", STR_ARG(session));
    const struct json *data = json_get(event, "data");
    json_object(&out, J("specversion", "1.0"), J("id", cloud_event_seq(event)),
                J("source", source),
                J("type", cloud_type(&arena, json_text(event, "type"))), J("time", json_text(event, "at")),
                J("subject", cloud_event_call(event)), J("datacontenttype", "application/json"),
                J("sequence", cloud_event_seq(event)), J("actor", json_text(event, "actor")),
                J_IF(data, J_RAW("data", data->raw)));
    json_end_line(&out);
}
