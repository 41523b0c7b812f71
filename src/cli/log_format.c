/* Events as lines for other programs (log_format.h). */
#include "cli/log_format.h"

#include "base/arena.h"
#include "base/err.h"
#include "event/cloud_event.h"

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

/* Writes the text on one line: an agent's input may contain line ends. */
static void put_one_line(struct buf *buf, struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        buf_putc(buf, text.p[i] == '\n' || text.p[i] == '\r' ? ' ' : text.p[i]);
}

/* Writes a CSV field (RFC 4180). A text that a spreadsheet would take for a formula gets a prefix. */
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
    put_field(buf, cloud_event_seq(event), false);
    put_field(buf, json_text(event, "at"), false);
    put_field(buf, json_text(event, "type"), false);
    put_field(buf, json_text(event, "sessionId"), false);
    put_field(buf, json_text(event, "threadId"), false);
    put_field(buf, cloud_event_call(event), false);
    put_field(buf, json_text(event, "actor"), false);
    put_field(buf, data ? data->raw : STR_NONE, true);
}

void log_format_put(struct buf *buf, enum log_format format, const struct json *event)
{
    switch (format) {
    case LOG_FORMAT_CSV: put_csv(buf, event); break;
    case LOG_FORMAT_CLOUDEVENTS: cloud_event_put(buf, event); break;
    case LOG_FORMAT_JSONL:
        put_one_line(buf, event->raw);
        buf_putc(buf, '\n');
        break;
    case LOG_FORMAT_TEXT:
    case LOG_FORMAT_COUNT: CHECK(false); break;
    }
}
