/* Text for terminals (text.h): widths, wrapping, times, tables; and the functions that make foreign text safe
 * to print. */
#include "cli/text.h"

#include "base/list.h"
#include "base/stamp.h"
#include "base/utf8.h"

#include <time.h>

enum { LINE_BYTES_MAX = 4 << 20 };

/* ---- safe text ---- */

/* For everything from outside that goes to a terminal: control characters and escape sequences become visible, and
 * one line stays one line. */
struct str text_line(struct arena *arena, struct str s)
{
    BUF_SCOPE(buf, LINE_BYTES_MAX);
    while (!str_empty(s)) {
        size_t end = str_find(s, '\n');
        utf8_show(&buf, str_sub(s, 0, end), false);
        if (end < s.n)
            buf_puts(&buf, "⏎");
        s = str_sub(s, end < s.n ? end + 1 : end, s.n);
    }
    return arena_str(arena, buf_str(&buf));
}

static void blanks(struct buf *buf, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        buf_putc(buf, ' ');
}

void text_block(struct buf *buf, struct str s, unsigned indent)
{
    STR_EACH(line, s, '\n') {
        blanks(buf, indent);
        utf8_show(buf, line, true);
        buf_putc(buf, '\n');
    }
}

/* A string of several lines is shown as such: that is how a person reads a file's content. */
static void json_lines(struct buf *buf, struct str s, unsigned indent)
{
    buf_puts(buf, "|\n");
    text_block(buf, s, indent + 2);
    if (buf->n > 0 && buf->p[buf->n - 1] == '\n')
        buf->n--;
}

static bool json_nested(const struct json *value)
{
    return (value->type == JSON_OBJECT || value->type == JSON_ARRAY) && value->first;
}

void text_picture(struct buf *buf, const struct picture *picture)
{
    buf_printf(buf, "%s, ", picture->type);
    if (picture->width && picture->height)
        buf_printf(buf, "%u × %u pixels, ", picture->width, picture->height);
    if (picture->bytes < 1024)
        buf_printf(buf, "%zu bytes", picture->bytes);
    else
        buf_printf(buf, "%.1f KB", (double)picture->bytes / 1024);
}

static void json_leaf(struct buf *buf, const struct json *value, unsigned indent)
{
    struct picture picture;
    CHECK(!json_nested(value));
    switch (value->type) {
    case JSON_NULL:
    case JSON_FALSE:
    case JSON_TRUE:
    case JSON_NUMBER: utf8_show(buf, value->raw, false); return;
    case JSON_STRING:
        if (picture_read_base64(value->text, &picture)) {
            buf_puts(buf, "a picture: ");
            text_picture(buf, &picture);
        } else if (str_find(value->text, '\n') < value->text.n)
            json_lines(buf, value->text, indent);
        else
            utf8_show(buf, value->text, false);
        return;
    case JSON_ARRAY: buf_puts(buf, "[]"); return;
    case JSON_OBJECT: buf_puts(buf, "{}"); return;
    }
    CHECK(false);
}

/* Every child on lines of its own; the first one where the buffer stands when `inline_first`. */
static void json_children(struct buf *buf, const struct json *value, unsigned indent, bool inline_first)
{
    CHECK(json_nested(value));
    for (const struct json *child = value->first; child; child = child->next) {
        if (child != value->first || !inline_first)
            blanks(buf, indent);
        bool member = value->type == JSON_OBJECT;
        if (member)
            utf8_show(buf, child->key, false);
        buf_puts(buf, member ? ":" : "-");
        if (!json_nested(child)) {
            buf_putc(buf, ' ');
            json_leaf(buf, child, indent);
            buf_putc(buf, '\n');
            continue;
        }
        buf_putc(buf, member ? '\n' : ' ');
        json_children(buf, child, indent + 2, !member);
    }
}

void text_json(struct buf *buf, const struct json *value, unsigned indent)
{
    if (json_nested(value)) {
        json_children(buf, value, indent, false);
        return;
    }
    blanks(buf, indent);
    json_leaf(buf, value, indent);
    buf_putc(buf, '\n');
}

static void put_unit(struct buf *buf, uint32_t unit) { buf_printf(buf, "\\u%04x", unit); }

/* Valid JSON with the same meaning: characters that show nothing are written as escapes. */
void text_raw_json(struct buf *buf, struct str json)
{
    while (!str_empty(json)) {
        uint32_t code;
        size_t n = utf8_decode(json, &code);
        if (n > 1 && utf8_hidden(code) && code > 0xffff) {
            put_unit(buf, 0xd800 + ((code - 0x10000) >> 10));
            put_unit(buf, 0xdc00 + ((code - 0x10000) & 0x3ff));
        } else if (n > 1 && utf8_hidden(code)) {
            put_unit(buf, code);
        } else {
            buf_put(buf, str_sub(json, 0, n ? n : 1));
        }
        json = str_sub(json, n ? n : 1, json.n);
    }
}

/* ---- widths ---- */

/* Columns of a character as terminals show it; a short table of the ranges that are not 1. */
static unsigned code_width(uint32_t code)
{
    static const struct {
        uint32_t from, to;
        unsigned width;
    } odd[] = {
        {0x300, 0x36f, 0},    {0x1100, 0x115f, 2}, {0x200b, 0x200f, 0}, {0x20d0, 0x20ff, 0},
        {0x2e80, 0xa4cf, 2},  {0xac00, 0xd7a3, 2}, {0xf900, 0xfaff, 2}, {0xfe20, 0xfe2f, 0},
        {0xfe30, 0xfe6f, 2},  {0xff00, 0xff60, 2}, {0xffe0, 0xffe6, 2}, {0x1f300, 0x1f64f, 2},
        {0x1f680, 0x1f6ff, 2}, {0x1f900, 0x1faff, 2}, {0x20000, 0x3fffd, 2},
    };
    return ROW_VALUE(odd, row, code >= row->from && code <= row->to, row->width, 1);
}

/* The bytes of `s` that fit into `width` columns. */
static size_t bytes_in(struct str s, unsigned width, unsigned *ret_used)
{
    size_t at = 0;
    unsigned used = 0;
    while (at < s.n) {
        uint32_t code = 0;
        size_t n = utf8_decode(str_sub(s, at, s.n), &code);
        unsigned more = n ? code_width(code) : 1;
        if (used + more > width)
            break;
        used += more;
        at += n ? n : 1;
    }
    *ret_used = used;
    return at;
}

unsigned text_width(struct str s)
{
    unsigned used;
    (void)bytes_in(s, UINT32_MAX / 2, &used);
    return used;
}

struct str text_fit(struct arena *arena, struct str s, unsigned width)
{
    unsigned used;
    if (width == 0 || text_width(s) <= width)
        return s;
    return arena_printf(arena, "%.*s…", (int)bytes_in(s, width - 1, &used), s.p);
}

/* How many bytes of the line fit into `width` columns, cut at a blank if there is one in the second half. */
size_t text_fitting(struct str line, unsigned width)
{
    size_t n = 0, blank = 0;
    unsigned column = 0;
    while (n < line.n) {
        size_t one = utf8_valid_one(str_sub(line, n, line.n));
        if (one == 0)
            one = 1;
        unsigned wide = text_width(str_sub(line, n, n + one));
        if (n && column + wide > width)
            return blank ? blank : n;
        column += wide;
        n += one;
        if (line.p[n - 1] == ' ' && column > width / 2)
            blank = n;
    }
    return n;
}

/* How far the second row of a wrapped line is indented, so that it stands below the text and not below its bullet. */
unsigned text_hang(struct str line)
{
    static const char *const bullets[] = {"• ", "☐ ", "☑ ", "> ", "│ ", "┃ ", "¦ "};
    size_t n = 0, digits = 0;
    while (n < line.n && line.p[n] == ' ')
        n++;
    struct str rest = str_sub(line, n, line.n);
    for (size_t i = 0; i < sizeof bullets / sizeof *bullets; i++)
        if (str_starts(rest, str_of(bullets[i])))
            return (unsigned)n + 2;
    while (digits < rest.n && rest.p[digits] >= '0' && rest.p[digits] <= '9')
        digits++;
    if (digits == 0 || digits + 1 >= rest.n)
        return (unsigned)n;
    bool item = (rest.p[digits] == '.' || rest.p[digits] == ')') && rest.p[digits + 1] == ' ';
    return (unsigned)(n + digits) + (item ? 2 : rest.p[digits] == ' ' ? 3 : 0);
}

/* The beginning of a text by lines and bytes, never within a character. `ret_left` counts the lines that are missing.
 */
struct str text_part(struct str text, size_t lines, size_t bytes, size_t *ret_left)
{
    size_t n = 0;
    for (; n < text.n && lines && n < bytes; n++)
        lines -= text.p[n] == '\n';
    while (n < text.n && ((unsigned char)text.p[n] & 0xc0) == 0x80)
        n++;
    *ret_left = 0;
    for (size_t i = n; i < text.n; i++)
        *ret_left += text.p[i] == '\n' || i + 1 == text.n;
    return str_sub(text, 0, n);
}

void text_wrap(struct buf *buf, struct str s, unsigned indent, unsigned width)
{
    CHECK(indent < width);
    unsigned column = indent;
    bool first = true;
    STR_EACH(word, s, ' ') {
        unsigned wide = text_width(word);
        if (!first && column + 1 + wide > width) {
            buf_putc(buf, '\n');
            blanks(buf, indent);
            column = indent;
        } else if (!first) {
            buf_putc(buf, ' ');
            column++;
        }
        buf_put(buf, word);
        column += wide;
        first = false;
    }
    buf_putc(buf, '\n');
}

/* ---- times ---- */

struct str text_age(struct arena *arena, int64_t ms)
{
    static const struct {
        int64_t ms;
        char unit;
    } units[] = {{86400000, 'd'}, {3600000, 'h'}, {60000, 'm'}, {1000, 's'}};
    return ROW_VALUE(units, row, ms >= row->ms,
                     arena_printf(arena, "%lld%c", (long long)(ms / row->ms), row->unit), STR("now"));
}

/* In local time; the date is left out when it is today's. */
struct str text_time(struct arena *arena, struct str at, int64_t now_ms)
{
    int64_t at_ms;
    struct tm then, today;
    if (!stamp_parse(at, &at_ms))
        return text_line(arena, at);
    time_t then_s = (time_t)(at_ms / 1000);
    time_t now_s = (time_t)(now_ms / 1000);
    if (!localtime_r(&then_s, &then) || !localtime_r(&now_s, &today))
        return text_line(arena, at);
    bool same_day = then.tm_year == today.tm_year && then.tm_yday == today.tm_yday;
    char text[40];
    size_t n = strftime(text, sizeof text, same_day ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S", &then);
    return arena_str(arena, (struct str){text, n});
}

struct str text_tinted(struct arena *arena, bool color, enum tint tint, struct str s)
{
    static const char *const codes[] = {
        [TINT_NONE] = "",    [TINT_BOLD] = "1",    [TINT_DIM] = "2",   [TINT_RED] = "31",
        [TINT_GREEN] = "32", [TINT_YELLOW] = "33", [TINT_CYAN] = "36",
        [TINT_MAGENTA] = "35",
    };
    CHECK(tint < sizeof codes / sizeof *codes);
    if (!color || tint == TINT_NONE)
        return s;
    return arena_printf(arena, "\033[%sm%.*s\033[0m", codes[tint], STR_ARG(s));
}

/* The text as one types it in a shell, quoted where needed, so that a command in a message can be copied. */
struct str text_operand(struct arena *arena, struct str id)
{
    static const char plain[] = "-._:@,+";
    const char *before = id.n && id.p[0] == '-' ? "-- " : ""; /* otherwise the id would be read as an option */
    bool quote = id.n == 0;
    for (size_t i = 0; i < id.n; i++) {
        char c = id.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        quote = quote || !(letter || (c && strchr(plain, c)));
    }
    if (!quote)
        return arena_printf(arena, "%s%.*s", before, STR_ARG(id));
    BUF_SCOPE(word, TEXT_BYTES_MAX);
    buf_puts(&word, before);
    buf_put_quoted(&word, id);
    return arena_str(arena, buf_str(&word));
}

/* ---- calls ---- */

/* The member that says most about a call, in the order of the table; else the whole input on one line. */
struct str text_summary(struct arena *arena, const struct json *input)
{
    static const char *const telling[] = {"command", "file_path",     "notebook_path", "path", "url",
                                          "pattern", "query", "prompt", "description"};
    for (size_t i = 0; i < sizeof telling / sizeof *telling; i++) {
        struct str text = json_text(input, telling[i]);
        if (!str_empty(text))
            return text_line(arena, text);
    }
    return input ? text_line(arena, input->raw) : STR("");
}

/* ---- tables ---- */

struct text_row {
    struct str cells[TABLE_COLUMNS_MAX];
    struct text_row *next;
};

void table_row(struct table *table, const struct str *cells)
{
    CHECK(table->arena && table->columns > 0 && table->columns <= TABLE_COLUMNS_MAX);
    struct text_row *row = arena_new(table->arena, struct text_row);
    for (unsigned i = 0; i < table->columns; i++)
        row->cells[i] = cells[i];
    LIST_ADD(table, row);
}

static void row_write(struct buf *buf, const struct table *table, const struct text_row *row,
                      const unsigned *widths)
{
    bool heading = row == table->first;
    CHECK(table->columns <= TABLE_COLUMNS_MAX);
    unsigned column = 0;
    for (unsigned i = 0; i < table->columns; i++) {
        bool last = i + 1 == table->columns;
        unsigned room = last && table->width > column + 8 ? table->width - column : 0;
        struct str cell = last ? text_fit(table->arena, row->cells[i], room) : row->cells[i];
        unsigned wide = text_width(cell);
        buf_put(buf, text_tinted(table->arena, table->color && heading, TINT_DIM, cell));
        if (!last)
            blanks(buf, widths[i] - wide + 2);
        column += widths[i] + 2;
    }
    while (buf->n > 0 && buf->p[buf->n - 1] == ' ')
        buf->n--;
    buf_putc(buf, '\n');
}

/* Columns are as wide as their widest cell; only the last one is cut to the terminal. */
void table_write(struct buf *buf, const struct table *table)
{
    unsigned widths[TABLE_COLUMNS_MAX] = {0};
    if (table->none && table->first == table->last) {
        buf_printf(buf, "%s\n", table->none);
        return;
    }
    for (const struct text_row *row = table->first; row; row = row->next)
        for (unsigned i = 0; i < table->columns; i++) {
            unsigned wide = text_width(row->cells[i]);
            if (wide > widths[i])
                widths[i] = wide;
        }
    for (const struct text_row *row = table->first; row; row = row->next)
        row_write(buf, table, row, widths);
}
