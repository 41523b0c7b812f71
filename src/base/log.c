/* The log on standard error (log.h): one line per event, as text or JSON. Lines may be held for a moment and
 * written together (log_hold); errors and warnings are written at once. Thread-safe. */
#include "base/log.h"

#include "base/err.h"
#include "base/json.h"
#include "base/local.h"
#include "base/stamp.h"
#include "base/utf8.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

/* A value is cut at its limit, and a byte becomes at most six: so every line fits and ends as a line. */
enum { KEY_BYTES_MAX = 30, VALUE_BYTES_MAX = 8 << 10, WAITING_BYTES_MAX = 16 << 10, LINE_BYTES_MAX = 1 << 20 };

enum log_level log_level_now = LOG_INFO;
static bool json_lines;

static const char *const names[] = {"error", "warn", "info", "debug", "trace"};
static const struct str beginnings[] = {STR(" level=error msg="), STR(" level=warn msg="), STR(" level=info msg="),
                                        STR(" level=debug msg="), STR(" level=trace msg=")};

void log_setup(enum log_level level, bool as_json)
{
    log_level_now = level;
    json_lines = as_json;
}

static struct str shortened(struct str s)
{
    return str_sub(s, 0, s.n < VALUE_BYTES_MAX ? s.n : VALUE_BYTES_MAX);
}

/* Which of 16 bytes cannot stand without quotes. */
static utf8_sixteen quoted_of_16(utf8_sixteen bytes)
{
    return utf8_not_plain(bytes) | (utf8_sixteen)((bytes == ' ') | (bytes == '='));
}

/* Copies a text and tells whether it must stand in quotes instead. Most are ids: 16 bytes at once, and the last 16
 * overlap those before; of a shorter text both ends are looked at. */
static inline bool copy_bare(char *to, struct str s)
{
    utf8_sixteen quoted = {0};
    if (s.n < 4) {
        utf8_copy_short(to, s);
        return s.n > 0 && utf8_plain(s) == s.n && !memchr(s.p, ' ', s.n) && !memchr(s.p, '=', s.n);
    }
    if (s.n < 16) {
        utf8_copy_short(to, s);
        quoted = quoted_of_16(s.n < 8 ? utf8_load_ends(s, 4) : utf8_load_ends(s, 8));
        return utf8_first_of_16(quoted) >= (s.n < 8 ? 8 : 16);
    }
    for (size_t i = 0; i < s.n; i += 16) {
        size_t at = i + 16 <= s.n ? i : s.n - 16;
        utf8_sixteen bytes = utf8_load_16(s.p + at);
        memcpy(to + at, &bytes, 16);
        quoted |= quoted_of_16(bytes);
    }
    return utf8_first_of_16(quoted) == 16;
}

/* A line while it is written: `at` is where the next byte goes, with room for all that is left if none of it needs
 * quotes. */
struct log_writing {
    struct buf *buf;
    char *at;
    size_t most; /* bytes of the whole line without quotes */
};

static void put_otherwise(struct log_writing *line, struct str text, const struct log_field *number)
{
    line->buf->n = (size_t)(line->at - line->buf->p);
    if (number) {
        buf_i64(line->buf, number->number);
    } else {
        struct json_out out = json_out(line->buf);
        json_put_str(&out, text);
    }
    line->at = buf_room(line->buf, line->most);
    CHECK(line->at);
}

/* In quotes where it needs them. */
static inline void put_text(struct log_writing *line, struct str s)
{
    if (copy_bare(line->at, s))
        line->at += s.n;
    else
        put_otherwise(line, s, NULL);
}

/* Bytes that need no quotes; few, so that they are copied without a call. */
static inline void put_few(struct log_writing *line, struct str s)
{
    if (s.n <= 16)
        utf8_copy_short(line->at, s);
    else
        memcpy(line->at, s.p, s.n);
    line->at += s.n;
}

/* The same second is written again and again. Each thread has its own. */
static void put_time(struct log_writing *line, int64_t now_ms)
{
    static _Thread_local char stamp[STAMP_BYTES];
    static _Thread_local int64_t second = -1;
    enum { MS_AT = sizeof "2026-01-01T00:00:00." - 1, BYTES = MS_AT + sizeof "000Z" - 1 };
    if (now_ms < 0 || now_ms / 1000 != second) {
        stamp_format(now_ms, stamp);
        second = now_ms / 1000;
    }
    unsigned ms = (unsigned)(now_ms % 1000);
    if (now_ms >= 0) {
        stamp[MS_AT] = (char)('0' + ms / 100);
        stamp[MS_AT + 1] = (char)('0' + ms / 10 % 10);
        stamp[MS_AT + 2] = (char)('0' + ms % 10);
    }
    memcpy(line->at, "time=", 5);
    memcpy(line->at + 5, stamp, BYTES);
    line->at += 5 + BYTES;
}

static size_t most_bytes(struct str what, const struct log_field *fields)
{
    enum { BEGINNING = 100, NUMBER = 21 }; /* the time and the level; a number with its sign */
    size_t most = BEGINNING + what.n;
    for (; fields->key; fields++)
        most += 2 + fields->key_bytes + (fields->is_number ? NUMBER : shortened(fields->text).n);
    return most;
}

static void plain_line(struct buf *buf, int64_t now_ms, enum log_level level, struct str what,
                       const struct log_field *fields)
{
    size_t most = most_bytes(what, fields);
    struct log_writing line = {.buf = buf, .at = buf_room(buf, most), .most = most};
    CHECK(line.at);
    put_time(&line, now_ms);
    put_few(&line, beginnings[level]);
    put_text(&line, what);
    for (; fields->key; fields++) {
        CHECK(fields->key_bytes <= KEY_BYTES_MAX);
        *line.at++ = ' ';
        put_few(&line, (struct str){fields->key, fields->key_bytes});
        *line.at++ = '=';
        if (fields->is_number)
            put_otherwise(&line, STR_NONE, fields);
        else
            put_text(&line, shortened(fields->text));
    }
    buf->n = (size_t)(line.at - buf->p);
}

static void json_line(struct buf *line, int64_t now_ms, enum log_level level, struct str what,
                      const struct log_field *fields)
{
    struct json_out out = json_out(line);
    json_open(&out, '{');
    json_member_time(&out, "time", now_ms);
    json_member(&out, "level", str_of(names[level]));
    json_member(&out, "msg", what);
    for (; fields->key; fields++) {
        json_key(&out, fields->key);
        if (fields->is_number)
            json_put_i64(&out, fields->number);
        else
            json_put_str(&out, shortened(fields->text));
    }
    json_close(&out, '}');
}

/* Lines that wait to be written, and whether lines are queued at all. */
static struct {
    pthread_mutex_t lock;
    struct buf lines;
    bool hold;
} waiting = {.lock = PTHREAD_MUTEX_INITIALIZER, .lines = {.max = WAITING_BYTES_MAX}};

/* Writes the text to standard error. Errors are ignored: a lost line must not stop the server. */
static void write_out(struct str text)
{
    ssize_t written = write(STDERR_FILENO, text.p, text.n);
    (void)written;
}

static void flush_locked(void)
{
    if (waiting.lines.n)
        write_out(buf_str(&waiting.lines));
    buf_clear(&waiting.lines);
}

void log_flush(void)
{
    (void)pthread_mutex_lock(&waiting.lock); /* workers log, too */
    flush_locked();
    (void)pthread_mutex_unlock(&waiting.lock);
}

void log_hold(bool hold)
{
    (void)pthread_mutex_lock(&waiting.lock);
    flush_locked();
    if (!hold)
        buf_done(&waiting.lines);
    waiting.hold = hold;
    (void)pthread_mutex_unlock(&waiting.lock);
}

/* Whole lines only, so that those of several threads never mix. */
static void put_line(enum log_level level, struct str line)
{
    (void)pthread_mutex_lock(&waiting.lock);
    if (waiting.lines.n + line.n > WAITING_BYTES_MAX)
        flush_locked();
    if (waiting.hold && line.n <= WAITING_BYTES_MAX)
        buf_put(&waiting.lines, line);
    else
        write_out(line);
    if (level <= LOG_WARN)
        flush_locked();
    (void)pthread_mutex_unlock(&waiting.lock);
}

/* Called by log_line when the level is wanted, on any thread. Fields that are long are cut, so that a line always
 * fits. */
void log_write(enum log_level level, const char *what, const struct log_field *fields)
{
    struct timespec now;
    BUF_SCOPE(line, LINE_BYTES_MAX);
    (void)clock_gettime(CLOCK_REALTIME, &now);
    int64_t now_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    (json_lines ? json_line : plain_line)(&line, now_ms, level, str_of(what), fields);
    buf_putc(&line, '\n');
    CHECK(!line.over);
    put_line(level, buf_str(&line));
}
