/* The writer of json.h: a flag says whether a comma must come first. */
#include "base/json.h"

#include "base/limits.h"
#include "base/stamp.h"
#include "base/utf8.h"

#include <math.h>

static inline bool fits(const struct buf *buf, size_t bytes)
{
    return buf->n + bytes < buf->end; /* one less than would do: an empty buffer has no room for nothing */
}

/* As buf_room, without a call when there is room already: for the many short pieces that JSON is made of. */
static inline char *room(struct buf *buf, size_t bytes)
{
    return fits(buf, bytes) ? buf->p + buf->n : buf_room(buf, bytes);
}

static inline void put_byte(struct buf *buf, char c)
{
    char *to = room(buf, 1);
    if (to) {
        *to = c;
        buf->n++;
    }
}

static inline void put_bytes(struct buf *buf, struct str s)
{
    char *to = room(buf, s.n);
    if (to && s.n) {
        memcpy(to, s.p, s.n);
        buf->n += s.n;
    }
}

static inline void comma(struct json_out *out)
{
    if (out->comma)
        put_byte(out->buf, ',');
    out->comma = true;
}

static __attribute__((noinline)) void put_two_where_no_room_is(struct buf *buf, char first, char second)
{
    if (first)
        put_byte(buf, first);
    put_byte(buf, second);
}

/* One or two bytes; `first` is left out when it is NUL. Mostly there is room: then nothing is called. */
static inline void put_two(struct buf *buf, char first, char second)
{
    if (!fits(buf, 2)) {
        put_two_where_no_room_is(buf, first, second);
        return;
    }
    char *to = buf->p + buf->n;
    *to = first;
    to += first != 0;
    *to = second;
    buf->n = (size_t)(to + 1 - buf->p);
}

void json_open(struct json_out *out, char bracket)
{
    char before = out->comma ? ',' : 0;
    out->comma = false;
    put_two(out->buf, before, bracket);
}

void json_close(struct json_out *out, char bracket)
{
    out->comma = true;
    put_two(out->buf, 0, bracket);
}

/* The letter behind the backslash, 0 when the byte has none. */
static const char escape_letters[256] = {['"'] = '"', ['\\'] = '\\', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};

/* How many bytes from `at` can be copied as they are. */
static size_t plain_run(struct str s, size_t at)
{
    size_t i = at + utf8_plain(str_sub(s, at, s.n));
    while (i < s.n && (unsigned char)s.p[i] >= 0x80) {
        uint32_t code = 0;
        size_t n = utf8_decode(str_sub(s, i, s.n), &code);
        if (n == 0 || utf8_hidden(code))
            break;
        i += n;
        i += utf8_plain(str_sub(s, i, s.n));
    }
    return i - at;
}

/* `n` bytes as they are and the byte behind them as an escape, in one piece where it has a letter. */
static void put_run_escaped(struct buf *buf, const char *run, size_t n)
{
    unsigned char c = (unsigned char)run[n];
    char letter = escape_letters[c];
    char *to = buf_room(buf, n + 2);
    if (to) {
        memcpy(to, run, n);
        to[n] = '\\';
        to[n + 1] = letter ? letter : 'u';
        buf->n += n + 2;
    }
    if (!letter)
        buf_printf(buf, "%04x", c);
}

/* The sequence at the start, which is invalid or stands for a character that hides; returns its length. */
static size_t escape_sequence(struct buf *buf, struct str s)
{
    uint32_t code;
    size_t n = utf8_decode(s, &code);
    if (n == 0)
        buf_put(buf, STR("\\ufffd"));
    else if (code < 0x10000)
        buf_printf(buf, "\\u%04x", code);
    else
        buf_printf(buf, "\\u%04x\\u%04x", 0xd7c0 + (code >> 10), 0xdc00 + (code & 0x3ff));
    return n ? n : 1;
}

enum { AT_ONCE_BYTES = 4096 };

/* Writes 32 bytes, of which those in `bits` need an escape; 32 bytes behind them can be read, too. Returns how many
 * were written: up to a byte whose escape is not two bytes long. */
static inline size_t copy_escapes_of_32(char **at, const char *from, uint32_t bits)
{
    char *to = *at;
    size_t done = 0;
    while (bits) {
        size_t n = (size_t)__builtin_ctz(bits);
        char letter = escape_letters[(unsigned char)from[n]];
        to += n - done;
        done = n;
        if (!letter)
            break;
        to[0] = '\\';
        to[1] = letter;
        to += 2;
        done++;
        memcpy(to, from + done, 32); /* what follows, as if it were plain */
        bits &= bits - 1;
    }
    *at = bits ? to : to + (32 - done);
    return bits ? done : 32;
}

/* Writes the beginning of a text and returns how much: up to a byte whose escape is not two bytes long. */
static inline size_t copy_escaped(char **at, struct str s)
{
    char *to = *at, letter;
    size_t i = 0;
    while (s.n - i >= 64) {
        uint32_t bits = utf8_copy_32(to, s.p + i);
        size_t n = copy_escapes_of_32(&to, s.p + i, bits);
        i += n;
        if (n < 32)
            break;
    }
    for (;;) {
        size_t n = utf8_copy_plain(to, (struct str){s.p + i, s.n - i});
        to += n;
        i += n;
        if (i == s.n || !(letter = escape_letters[(unsigned char)s.p[i]]))
            break;
        *to++ = '\\';
        *to++ = letter;
        i++;
    }
    *at = to;
    return i;
}

/* The text from `i` on, of whatever kind, and the closing quote. */
static void put_rest(struct buf *buf, struct str s, size_t i)
{
    while (i < s.n) {
        size_t n = plain_run(s, i);
        if (i + n < s.n && (unsigned char)s.p[i + n] < 0x80) {
            put_run_escaped(buf, s.p + i, n);
            i += n + 1;
            continue;
        }
        buf_put(buf, str_sub(s, i, i + n));
        i += n;
        if (i < s.n)
            i += escape_sequence(buf, str_sub(s, i, s.n));
    }
    put_byte(buf, '"');
}

/* The text from `i` on, and the closing quote. A long one is not written at once, because this takes room for twice its
 * bytes before it is known what it needs. */
static __attribute__((noinline)) void put_escaped(struct buf *buf, struct str s, size_t i)
{
    struct str left = str_sub(s, i, s.n);
    size_t most = 2 * left.n + 1;
    char *to = left.n <= AT_ONCE_BYTES && most <= buf->max - buf->n ? room(buf, most) : NULL;
    if (to) {
        i += left.n ? copy_escaped(&to, left) : 0;
        if (i == s.n)
            *to++ = '"';
        buf->n = (size_t)(to - buf->p);
        if (i == s.n)
            return;
    }
    put_rest(buf, s, i);
}

static __attribute__((noinline)) void put_str_where_no_room_is(struct buf *buf, struct str s, bool due)
{
    if (due)
        put_byte(buf, ',');
    put_byte(buf, '"');
    put_escaped(buf, s, 0);
}

/* Mostly there is room and nothing to escape: then nothing is called. */
void json_put_str(struct json_out *out, struct str value)
{
    struct buf *buf = out->buf;
    bool due = out->comma;
    out->comma = true;
    if (value.n > AT_ONCE_BYTES || !fits(buf, value.n + 3)) {
        put_str_where_no_room_is(buf, value, due);
        return;
    }
    char *to = buf->p + buf->n;
    *to = ',';
    to += due;
    *to++ = '"';
    size_t n = utf8_copy_plain(to, value);
    to[n] = '"';
    buf->n = (size_t)(to + n - buf->p);
    if (n == value.n)
        buf->n++;
    else
        put_escaped(buf, value, n);
}

static __attribute__((noinline)) void key_where_no_room_is(struct json_out *out, struct str key)
{
    if (out->comma)
        put_byte(out->buf, ',');
    put_byte(out->buf, '"');
    put_bytes(out->buf, key);
    put_bytes(out->buf, STR("\":"));
    out->comma = false;
}

enum { SHORT_KEY_BYTES = 32 };

/* A short key with its quotes and colon; there is room. */
static inline char *copy_key(char *to, struct str key, bool due)
{
#ifdef __SANITIZE_ADDRESS__ /* tests write every key that stands in the source */
    CHECK(utf8_plain(key) == key.n);
#endif
    *to = ',';
    to += due;
    *to++ = '"';
    if (key.n < 16) {
        utf8_copy_short(to, key);
    } else {
        memcpy(to, key.p, 16);
        memcpy(to + key.n - 16, key.p + key.n - 16, 16);
    }
    memcpy(to + key.n, "\":", 2);
    return to + key.n + 2;
}

void json_key_plain(struct json_out *out, struct str key)
{
    struct buf *buf = out->buf;
    if (key.n > SHORT_KEY_BYTES || !fits(buf, key.n + 4)) {
        key_where_no_room_is(out, key);
        return;
    }
    buf->n = (size_t)(copy_key(buf->p + buf->n, key, out->comma) - buf->p);
    out->comma = false;
}

static __attribute__((noinline)) void text_where_no_room_is(struct json_out *out, struct str key, struct str value)
{
    json_key_plain(out, key);
    json_put_str(out, value);
}

void json_text_plain(struct json_out *out, struct str key, struct str value)
{
    struct buf *buf = out->buf;
    if (key.n > SHORT_KEY_BYTES || value.n > AT_ONCE_BYTES || !fits(buf, key.n + value.n + 6)) {
        text_where_no_room_is(out, key, value);
        return;
    }
    char *to = copy_key(buf->p + buf->n, key, out->comma);
    out->comma = true;
    *to++ = '"';
    size_t n = utf8_copy_plain(to, value);
    to[n] = '"';
    buf->n = (size_t)(to + n - buf->p);
    if (n == value.n)
        buf->n++;
    else
        put_escaped(buf, value, n); /* at the end, so that nothing is kept over a call */
}

void json_key_str(struct json_out *out, struct str key)
{
    json_put_str(out, key);
    put_byte(out->buf, ':');
    out->comma = false;
}

void json_put_u64(struct json_out *out, uint64_t value)
{
    comma(out);
    buf_u64(out->buf, value);
}

void json_put_i64(struct json_out *out, int64_t value)
{
    comma(out);
    buf_i64(out->buf, value);
}

void json_put_double(struct json_out *out, double value)
{
    comma(out);
    if (isfinite(value))
        buf_printf(out->buf, "%.6g", value);
    else
        buf_put(out->buf, STR("null"));
}

void json_put_bool(struct json_out *out, bool value)
{
    comma(out);
    put_bytes(out->buf, value ? STR("true") : STR("false"));
}

void json_put_null(struct json_out *out)
{
    comma(out);
    put_bytes(out->buf, STR("null"));
}

void json_put_raw(struct json_out *out, struct str json)
{
    comma(out);
    put_bytes(out->buf, json);
}

void json_put_time(struct json_out *out, int64_t at_ms)
{
    char text[STAMP_BYTES];
    stamp_format(at_ms, text);
    json_put_str(out, str_of(text));
}

void json_put_member(struct json_out *out, const struct json *member)
{
    json_key_str(out, member->key);
    json_put_raw(out, member->raw);
}

void json_put_members(struct json_out *out, const struct json *object, const char *but)
{
    for (const struct json *member = object ? object->first : NULL; member; member = member->next)
        if (!str_is(member->key, but))
            json_put_member(out, member);
}

void json_put_item(struct json_out *out, const struct json_item *item)
{
    bool optional = item->kind == JSON_ITEM_TEXT || item->kind == JSON_ITEM_RAW;
    if ((optional && str_empty(item->text)) || (item->kind == JSON_ITEM_FLAG && !item->flag) ||
        item->kind == JSON_ITEM_NOTHING)
        return;
    if (item->key_bytes)
        json_key_plain(out, (struct str){item->key, item->key_bytes});
    else if (item->key)
        json_key(out, item->key);
    switch (item->kind) {
    case JSON_ITEM_OR_NULL:
        if (str_empty(item->text)) {
            json_put_null(out);
            break;
        }
        [[fallthrough]];
    case JSON_ITEM_TEXT:
    case JSON_ITEM_ALWAYS: json_put_str(out, item->text); break;
    case JSON_ITEM_RAW: json_put_raw(out, item->text); break;
    case JSON_ITEM_U64: json_put_u64(out, item->u64); break;
    case JSON_ITEM_I64: json_put_i64(out, item->i64); break;
    case JSON_ITEM_BOOL:
    case JSON_ITEM_FLAG: json_put_bool(out, item->flag); break;
    case JSON_ITEM_TIME: json_put_time(out, item->i64); break;
    case JSON_ITEM_OBJECT:
    case JSON_ITEM_LIST:
        json_open(out, item->kind == JSON_ITEM_LIST ? '[' : '{');
        json_put_items(out, item->items);
        json_close(out, item->kind == JSON_ITEM_LIST ? ']' : '}');
        break;
    case JSON_ITEM_NOTHING:
    case JSON_ITEM_END: break;
    }
}

void json_put_items(struct json_out *out, const struct json_item *items)
{
    for (; items->kind != JSON_ITEM_END; items++)
        json_put_item(out, items);
}

struct str json_item_str(struct arena *arena, const struct json_item *item)
{
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    json_put_item(&out, item);
    return arena_str(arena, buf_str(&buf));
}

void json_end_line(struct json_out *out)
{
    for (size_t i = 0; i < out->buf->n; i++)
        if (out->buf->p[i] == '\n' || out->buf->p[i] == '\r')
            out->buf->p[i] = ' ';
    buf_putc(out->buf, '\n');
}
