/* Server-Sent Events (WHATWG) read from bytes that come in pieces of any size: lines, then fields, then an
 * event for each blank line. Used by the client and by fetch.c for models and MCP servers. */
#include "http/event_lines.h"

#include "base/limits.h"

void event_lines_init(struct event_lines *lines)
{
    *lines = (struct event_lines){
        .line = buf_init(LIMIT_ANSWER_BYTES),
        .id = buf_init(LIMIT_ANSWER_BYTES),
        .type = buf_init(LIMIT_ANSWER_BYTES),
        .data = buf_init(LIMIT_ANSWER_BYTES),
    };
}

void event_lines_done(struct event_lines *lines)
{
    buf_done(&lines->line);
    buf_done(&lines->id);
    buf_done(&lines->type);
    buf_done(&lines->data);
}

static void dispatch(struct event_lines *lines)
{
    if (lines->data.n) {
        struct str data = {lines->data.p, lines->data.n - 1}; /* each line of data has put its newline */
        struct str type = lines->type.n ? buf_str(&lines->type) : STR("message");
        lines->stopped = !lines->event(lines->arg, buf_str(&lines->id), type, data);
    }
    buf_clear(&lines->data);
    buf_clear(&lines->type);
}

/* `id` and `event` of the standard; comments and `retry` are skipped. */
static void take_line(struct event_lines *lines, struct str line)
{
    if (!lines->started && str_starts(line, STR("\xEF\xBB\xBF")))
        line = str_sub(line, 3, line.n);
    lines->started = true;
    if (line.n == 0) {
        dispatch(lines);
        return;
    }
    struct str value;
    struct str field = str_cut(line, ':', &value);
    if (value.n && value.p[0] == ' ')
        value = str_sub(value, 1, value.n);
    if (str_eq(field, STR("data"))) {
        buf_put(&lines->data, value);
        buf_putc(&lines->data, '\n');
    } else if (str_eq(field, STR("event"))) {
        buf_clear(&lines->type);
        buf_put(&lines->type, value);
    } else if (str_eq(field, STR("id")) && str_find(value, '\0') == value.n) {
        buf_clear(&lines->id);
        buf_put(&lines->id, value);
    }
}

static size_t line_end(struct str s)
{
    size_t lf = str_find(s, '\n');
    return str_find(str_sub(s, 0, lf), '\r');
}

/* CR, LF and CR LF end a line, also when the two come in different pieces. */
struct rc event_lines_feed(struct event_lines *lines, struct str bytes, struct err *err)
{
    CHECK(lines->event);
    while (bytes.n && !lines->stopped) {
        if (lines->after_cr && bytes.p[0] == '\n')
            bytes = str_sub(bytes, 1, bytes.n);
        lines->after_cr = false;
        size_t end = line_end(bytes);
        buf_put(&lines->line, str_sub(bytes, 0, end));
        if (end == bytes.n)
            break;
        lines->after_cr = bytes.p[end] == '\r';
        take_line(lines, buf_str(&lines->line));
        buf_clear(&lines->line);
        bytes = str_sub(bytes, end + 1, bytes.n);
        if (lines->data.over)
            break;
    }
    if (lines->line.over || lines->data.over)
        return err_set(err, ERR_TOO_LARGE, "an event is larger than %d bytes", LIMIT_ANSWER_BYTES);
    return RC_OK;
}
