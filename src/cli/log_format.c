#include "cli/log_format.h"

#include "base/arena.h"
#include "base/err.h"

static const char *const names[] = {
#define X(name, wire) wire,
    LOG_FORMATS(X)
#undef X
};

bool log_format_parse(struct str name, enum log_format *ret_format)
{
    for (int i = 0; i < LOG_FORMAT_COUNT; i++) {
        if (!str_is(name, names[i]))
            continue;
        *ret_format = (enum log_format)i;
        return true;
    }
    return false;
}

struct str log_format_head(enum log_format format)
{
    return format == LOG_FORMAT_CSV ? STR("seq,at,type,session,thread,call,actor,data\n") : STR("");
}

/* On one line: blanks of an agent's input may hold line ends. */
static void put_one_line(struct buf *buf, struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        buf_putc(buf, text.p[i] == '\n' || text.p[i] == '\r' ? ' ' : text.p[i]);
}

/* The call that the event is about; empty: it is about none. */
static struct str call_of(const struct json *event)
{
    const struct json *data = json_get(event, "data");
    bool call = str_is(json_text(event, "type"), "TOOL_CALL");
    return json_text(data, call ? "id" : "toolCallId");
}

static struct str seq_of(const struct json *event)
{
    const struct json *seq = json_get(event, "seq");
    return seq ? seq->raw : STR_NONE;
}

/* RFC 4180. A field that a spreadsheet would take for a formula is text. */
static void put_field(struct buf *buf, struct str text, bool last)
{
    buf_putc(buf, '"');
    if (text.n && strchr("=+-@\t", text.p[0]))
        buf_putc(buf, '\'');
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '"')
            buf_putc(buf, '"');
        buf_putc(buf, text.p[i] == '\n' || text.p[i] == '\r' ? ' ' : text.p[i]);
    }
    buf_puts(buf, last ? "\"\n" : "\",");
}

static void put_csv(struct buf *buf, const struct json *event)
{
    const struct json *data = json_get(event, "data");
    put_field(buf, seq_of(event), false);
    put_field(buf, json_text(event, "at"), false);
    put_field(buf, json_text(event, "type"), false);
    put_field(buf, json_text(event, "sessionId"), false);
    put_field(buf, json_text(event, "threadId"), false);
    put_field(buf, call_of(event), false);
    put_field(buf, json_text(event, "actor"), false);
    put_field(buf, data ? data->raw : STR_NONE, true);
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

static void put_cloud_event(struct buf *buf, const struct json *event)
{
    ARENA_SCOPE(arena);
    struct json_out out = json_out(buf);
    struct str session = json_text(event, "sessionId");
    const struct json *data = json_get(event, "data");
    json_open(&out, '{');
    json_member(&out, "specversion", STR("1.0"));
    json_member(&out, "id", seq_of(event));
    json_member(&out, "source", str_empty(session) ? STR("/nod")
                                                   : arena_printf(&arena, "/nod/sessions/%.*s", STR_ARG(session)));
    json_member(&out, "type", cloud_type(&arena, json_text(event, "type")));
    json_member(&out, "time", json_text(event, "at"));
    json_member(&out, "subject", call_of(event));
    json_member(&out, "datacontenttype", STR("application/json"));
    json_member(&out, "sequence", seq_of(event));
    json_member(&out, "actor", json_text(event, "actor"));
    if (data)
        json_member_raw(&out, "data", data->raw);
    json_close(&out, '}');
    json_end_line(&out);
}

void log_format_put(struct buf *buf, enum log_format format, const struct json *event)
{
    switch (format) {
    case LOG_FORMAT_CSV: put_csv(buf, event); break;
    case LOG_FORMAT_CLOUDEVENTS: put_cloud_event(buf, event); break;
    case LOG_FORMAT_JSONL:
        put_one_line(buf, event->raw);
        buf_putc(buf, '\n');
        break;
    case LOG_FORMAT_TEXT:
    case LOG_FORMAT_COUNT: CHECK(false); break;
    }
}
