/* The request reader must say the same of the same bytes, however they are cut into pieces; what it lets
 * through must hold to the rules of header_check.h. The reader of event streams is held to the first, too. */
#include "base/limits.h"
#include "http/event_lines.h"
#include "http/reader.h"

#include <stdlib.h>

static void put_request(struct buf *out, struct http_reader *reader)
{
    struct http_request *request = &reader->request;
    bool there = false;
    struct str value = STR_NONE;
    buf_printf(out, "%.*s %.*s ? %.*s keep=%d old=%d\n", STR_ARG(request->method), STR_ARG(request->path),
               STR_ARG(request->query), reader->keep_alive, reader->old);
    for (size_t i = 0; i < request->header_count; i++)
        buf_printf(out, "%.*s: %.*s\n", STR_ARG(request->headers[i].name),
                   STR_ARG(request->headers[i].value));
    buf_put(out, request->body);
    struct rc rc = http_query(request, "a", &there, &value, NULL);
    buf_printf(out, "\nquery %d %d %.*s\n", rc.code, there, STR_ARG(value));
}

/* What a person would say who reads the header block with a pencil. */
static void check_request(const struct http_reader *reader)
{
    const struct http_request *request = &reader->request;
    size_t hosts = 0, lengths = 0, codings = 0;
    CHECK(request->method.n && request->path.n && request->path.p[0] == '/');
    CHECK(!memchr(request->path.p, '\0', request->path.n));
    CHECK(request->header_count <= LIMIT_HEADERS && request->body.n <= LIMIT_BODY_BYTES);
    for (size_t i = 0; i < request->header_count; i++) {
        struct str name = request->headers[i].name;
        struct str value = request->headers[i].value;
        CHECK(name.n && !memchr(name.p, ' ', name.n) && !memchr(name.p, '\t', name.n));
        for (size_t at = 0; at < value.n; at++)
            CHECK((unsigned char)value.p[at] >= ' ' || value.p[at] == '\t');
        hosts += str_same_letters(name, STR("Host"));
        lengths += str_same_letters(name, STR("Content-Length"));
        codings += str_same_letters(name, STR("Transfer-Encoding"));
    }
    CHECK(hosts == 1 || (hosts == 0 && reader->old));
    CHECK(lengths + codings <= 1);
    CHECK(lengths + codings == 1 || request->body.n == 0);
    CHECK(codings == 0 || !reader->old);
}

/* Reads request after request from pieces of `piece` bytes; writes down what was read. */
static void read_all(struct str bytes, size_t piece, struct buf *out)
{
    struct http_reader *reader = http_reader_new();
    struct err err = {0};
    while (bytes.n && err.code == ERR_OK) {
        struct str part = str_sub(bytes, 0, bytes.n < piece ? bytes.n : piece);
        bytes = str_sub(bytes, part.n, bytes.n);
        while (part.n && err.code == ERR_OK) {
            if (rc_bad(http_reader_feed(reader, &part, &err)))
                buf_printf(out, "refused %d %s\n", err.code, err.text);
            else if (reader->progress == HTTP_WHOLE) {
                check_request(reader);
                put_request(out, reader);
                http_reader_free(reader);
                reader = http_reader_new();
            } else
                CHECK(part.n == 0);
        }
    }
    buf_printf(out, "progress %d\n", reader->progress);
    http_reader_free(reader);
}

static bool on_event(void *arg, struct str id, struct str type, struct str data)
{
    buf_printf(arg, "[%.*s|%.*s|%.*s]", STR_ARG(id), STR_ARG(type), STR_ARG(data));
    return true;
}

static void read_events(struct str bytes, size_t piece, struct buf *out)
{
    struct event_lines lines;
    event_lines_init(&lines);
    lines.event = on_event;
    lines.arg = out;
    while (bytes.n) {
        struct str part = str_sub(bytes, 0, bytes.n < piece ? bytes.n : piece);
        bytes = str_sub(bytes, part.n, bytes.n);
        CHECK(rc_ok(event_lines_feed(&lines, part, NULL)));
    }
    event_lines_done(&lines);
}

static void compare(struct str bytes, void (*read)(struct str bytes, size_t piece, struct buf *out))
{
    BUF_SCOPE(whole, 64 << 20);
    read(bytes, SIZE_MAX, &whole);
    static const size_t pieces[] = {1, 2, 3, 7, 64};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        BUF_SCOPE(cut, 64 << 20);
        read(bytes, pieces[i], &cut);
        CHECK(!whole.over && !cut.over);
        CHECK(str_eq(buf_str(&whole), buf_str(&cut)));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct str input = {(const char *)bytes, n};
    compare(input, read_all);
    compare(input, read_events);
    return 0;
}
