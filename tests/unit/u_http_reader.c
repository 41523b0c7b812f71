/* Bytes in, requests or a refusal out: every rule of http/header_check.h, one line each. */
#include "base/limits.h"
#include "http/reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define HOST "Host: x\r\n"
#define GET "GET / HTTP/1.1\r\n"
#define POST "POST / HTTP/1.1\r\n" HOST
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"

struct row {
    const char *what;
    struct str bytes;
    const char *body;
};

struct refused_row {
    const char *what;
    struct str bytes;
};

static const struct row welcome[] = {
    {"a plain request", STR(GET HOST "\r\n"), ""},
    {"a body by length", STR(POST "Content-Length: 3\r\n\r\nabc"), "abc"},
    {"a length of nought", STR(POST "Content-Length: 0\r\n\r\n"), ""},
    {"a length with zeros before", STR(POST "Content-Length: 003\r\n\r\nabc"), "abc"},
    {"a body in chunks", STR(CHUNKED "3\r\nabc\r\n00a\r\n0123456789\r\n0\r\n\r\n"), "abc0123456789"},
    {"no chunk at all", STR(CHUNKED "0\r\n\r\n"), ""},
    {"chunked in capitals", STR(POST "transfer-encoding: CHUNKED\r\n\r\n0\r\n\r\n"), ""},
    {"HTTP/1.0 without Host", STR("GET / HTTP/1.0\r\n\r\n"), ""},
    {"one empty line before", STR("\r\n" GET HOST "\r\n"), ""},
    {"an empty header", STR(GET HOST "X:\r\n\r\n"), ""},
    {"bytes above 127 in a value", STR(GET HOST "X: \xc3\xa9\r\n\r\n"), ""},
    {"a tab in a value", STR(GET HOST "X: a\tb\r\n\r\n"), ""},
    {"a body with GET", STR(GET HOST "Content-Length: 1\r\n\r\nx"), "x"},
    {"an upgrade nobody follows", STR(GET HOST "Upgrade: h2c\r\nConnection: upgrade\r\n\r\n"), ""},
    {"an upgrade with a body",
     STR(POST "Upgrade: h2c\r\nConnection: upgrade\r\nContent-Length: 2\r\n\r\nab"), "ab"},
    {"a host with port", STR(GET "Host: [::1]:7717\r\n\r\n"), ""},
    {"expect", STR(POST "Expect: 100-continue\r\nContent-Length: 1\r\n\r\nx"), "x"},
};

static const struct refused_row invalid[] = {
    {"two empty lines before", STR("\r\n\r\n" GET HOST "\r\n")},
    {"a bare LF", STR("GET / HTTP/1.1\nHost: x\n\n")},
    {"a bare LF in the block", STR(GET "Host: x\nX: y\r\n\r\n")},
    {"a bare CR before a header", STR(GET HOST "X-Abc:\rxTransfer-Encoding: chunked\r\n\r\n")},
    {"a bare CR in a value", STR(GET HOST "X: a\rb\r\n\r\n")},
    {"a bare CR in the request line", STR("GET /\r HTTP/1.1\r\n" HOST "\r\n")},
    {"CR CR LF", STR(GET "Host: x\r\r\n\r\n")},
    {"a blank before the colon", STR(GET "Host : x\r\n\r\n")},
    {"a tab before the colon", STR(POST "Content-Length\t: 3\r\n\r\nabc")},
    {"a folded line", STR(GET HOST "X: a\r\n b\r\n\r\n")},
    {"a line folded by a tab", STR(GET HOST "X: a\r\n\tb\r\n\r\n")},
    {"a folded length", STR(POST "Content-Length:\r\n 3\r\n\r\nabc")},
    {"a blank before the first header", STR(GET " Host: x\r\n\r\n")},
    {"no Host", STR(GET "\r\n")},
    {"two Hosts", STR(GET HOST HOST "\r\n")},
    {"two Hosts in HTTP/1.0", STR("GET / HTTP/1.0\r\n" HOST HOST "\r\n")},
    {"a list of hosts", STR(GET "Host: a, b\r\n\r\n")},
    {"a host with a user", STR(GET "Host: a@b\r\n\r\n")},
    {"a host with a path", STR(GET "Host: a/b\r\n\r\n")},
    {"a NUL in a value", STR(GET HOST "X: a\0b\r\n\r\n")},
    {"a NUL in a name", STR(GET HOST "X\0: a\r\n\r\n")},
    {"a NUL in the target", STR("GET /\0 HTTP/1.1\r\n" HOST "\r\n")},
    {"DEL in a value", STR(GET HOST "X: a\177b\r\n\r\n")},
    {"an escape sequence in a value", STR(GET HOST "X: \033[2J\r\n\r\n")},
    {"no colon", STR(GET HOST "Nothing\r\n\r\n")},
    {"no name", STR(GET HOST ": x\r\n\r\n")},
    {"length and chunks", STR(POST "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG")},
    {"chunks and length", STR(POST "Transfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n0\r\n\r\nG")},
    {"two lengths", STR(POST "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc")},
    {"two lengths in one", STR(POST "Content-Length: 3, 3\r\n\r\nabc")},
    {"a length with a sign", STR(POST "Content-Length: +3\r\n\r\nabc")},
    {"a length below nought", STR(POST "Content-Length: -3\r\n\r\nabc")},
    {"a hexadecimal length", STR(POST "Content-Length: 0x3\r\n\r\nabc")},
    {"an empty length", STR(POST "Content-Length:\r\n\r\nabc")},
    {"a length beyond 64 bits", STR(POST "Content-Length: 18446744073709551619\r\n\r\nabc")},
    {"two codings", STR(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")},
    {"a list of codings", STR(POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n")},
    {"identity", STR(POST "Transfer-Encoding: identity\r\n\r\n")},
    {"nearly chunked", STR(POST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n")},
    {"a vertical tab before chunked", STR(POST "Transfer-Encoding: \vchunked\r\n\r\n0\r\n\r\n")},
    {"chunks in HTTP/1.0", STR("POST / HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n")},
    {"another expectation", STR(POST "Expect: tea\r\n\r\n")},
    {"HTTP/0.9", STR("GET /\r\n\r\n")},
    {"HTTP/1.2", STR("GET / HTTP/1.2\r\n" HOST "\r\n")},
    {"HTTP/2.0", STR("PRI * HTTP/2.0\r\n\r\n")},
    {"http in small letters", STR("GET / http/1.1\r\n" HOST "\r\n")},
    {"two blanks", STR("GET  / HTTP/1.1\r\n" HOST "\r\n")},
    {"a blank at the line's end", STR("GET / HTTP/1.1 \r\n" HOST "\r\n")},
    {"a tab as separator", STR("GET\t/ HTTP/1.1\r\n" HOST "\r\n")},
    {"no method", STR(" / HTTP/1.1\r\n" HOST "\r\n")},
    {"an unknown method", STR("BREW / HTTP/1.1\r\n" HOST "\r\n")},
    {"a method in small letters", STR("get / HTTP/1.1\r\n" HOST "\r\n")},
    {"a target without slash", STR("GET x HTTP/1.1\r\n" HOST "\r\n")},
    {"a whole URL", STR("GET http://x/ HTTP/1.1\r\n" HOST "\r\n")},
    {"the star", STR("OPTIONS * HTTP/1.1\r\n" HOST "\r\n")},
    {"connect", STR("CONNECT x:1 HTTP/1.1\r\n" HOST "\r\n")},
    {"connect with a path", STR("CONNECT /x HTTP/1.1\r\n" HOST "\r\n")},
    {"a fragment", STR("GET /a#b HTTP/1.1\r\n" HOST "\r\n")},
    {"raw UTF-8 in the target", STR("GET /\xc3\xa9 HTTP/1.1\r\n" HOST "\r\n")},
    {"an escaped NUL", STR("GET /a%00 HTTP/1.1\r\n" HOST "\r\n")},
    {"an escaped slash", STR("GET /a%2Fb HTTP/1.1\r\n" HOST "\r\n")},
    {"half an escape", STR("GET /a%2 HTTP/1.1\r\n" HOST "\r\n")},
    {"an escape that is none", STR("GET /a%zz HTTP/1.1\r\n" HOST "\r\n")},
    {"a chunk extension", STR(CHUNKED "3;a=b\r\nabc\r\n0\r\n\r\n")},
    {"a chunk extension with LF", STR(CHUNKED "3;\nabc\r\n0\r\n\r\n")},
    {"a chunk size and bare LF", STR(CHUNKED "3\nabc\r\n0\r\n\r\n")},
    {"a chunk and bare LF", STR(CHUNKED "3\r\nabc\n0\r\n\r\n")},
    {"a chunk that goes on", STR(CHUNKED "3\r\nabcd\r\n0\r\n\r\n")},
    {"a chunk size with blank", STR(CHUNKED "3 \r\nabc\r\n0\r\n\r\n")},
    {"a chunk size with 0x", STR(CHUNKED "0x3\r\nabc\r\n0\r\n\r\n")},
    {"a chunk size with sign", STR(CHUNKED "+3\r\nabc\r\n0\r\n\r\n")},
    {"no chunk size", STR(CHUNKED "\r\nabc\r\n0\r\n\r\n")},
    {"too many digits", STR(CHUNKED "000000003\r\nabc\r\n0\r\n\r\n")},
    {"a trailer", STR(CHUNKED "0\r\nX: y\r\n\r\n")},
    {"a bare CR at the end", STR(CHUNKED "0\r\n\rX")},
};

static const struct refused_row too_large[] = {
    {"a length over the limit", STR(POST "Content-Length: 1048577\r\n\r\n")},
    {"a chunk over the limit", STR(CHUNKED "100001\r\n")},
    {"chunks over the limit together", STR(CHUNKED "3\r\nabc\r\nfffff\r\n")},
};

static struct rc read_pieces(struct http_reader *reader, struct str bytes, size_t piece, struct err *err)
{
    while (bytes.n && reader->progress != HTTP_WHOLE) {
        struct str part = str_sub(bytes, 0, bytes.n < piece ? bytes.n : piece);
        bytes = str_sub(bytes, part.n, bytes.n);
        TRY(http_reader_feed(reader, &part, err));
    }
    return RC_OK;
}

static void check_row(const struct row *row, enum err_code code, size_t piece)
{
    struct http_reader *reader = http_reader_new();
    struct err err = {0};
    struct rc rc = read_pieces(reader, row->bytes, piece, &err);
    if (rc.code != code || (rc_ok(rc) && reader->progress != HTTP_WHOLE))
        fail_msg("%s (pieces of %zu): code %d, %s", row->what, piece, rc.code, err.text);
    if (rc_ok(rc) && !str_is(reader->request.body, row->body))
        fail_msg("%s (pieces of %zu): body is %.*s", row->what, piece, STR_ARG(reader->request.body));
    http_reader_free(reader);
}

static void check_in_pieces(const struct row *row, enum err_code code)
{
    check_row(row, code, SIZE_MAX);
    check_row(row, code, 1);
    check_row(row, code, 5);
}

static void check_refused(const struct refused_row *rows, size_t count, enum err_code code)
{
    for (size_t i = 0; i < count; i++)
        check_in_pieces(&(struct row){rows[i].what, rows[i].bytes, NULL}, code);
}

static void test_rules(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof welcome / sizeof *welcome; i++)
        check_in_pieces(&welcome[i], ERR_OK);
    check_refused(invalid, sizeof invalid / sizeof *invalid, ERR_INVALID);
    check_refused(too_large, sizeof too_large / sizeof *too_large, ERR_TOO_LARGE);
}

static struct rc read_built(struct buf *bytes)
{
    struct http_reader *reader = http_reader_new();
    struct rc rc = read_pieces(reader, buf_str(bytes), SIZE_MAX, NULL);
    assert_true(rc_bad(rc) || reader->progress == HTTP_WHOLE);
    http_reader_free(reader);
    return rc;
}

static void test_limits_of_the_head(void **state)
{
    (void)state;
    for (int more = 0; more < 2; more++) {
        BUF_SCOPE(bytes, 1 << 20);
        buf_puts(&bytes, GET HOST "X: ");
        while (bytes.n < LIMIT_HEADER_BYTES - 4 + (size_t)more)
            buf_putc(&bytes, 'x');
        buf_puts(&bytes, "\r\n\r\n");
        assert_int_equal(read_built(&bytes).code, more ? ERR_HEADERS_TOO_LARGE : ERR_OK);
    }
    for (int count = LIMIT_HEADERS; count <= LIMIT_HEADERS + 1; count++) {
        BUF_SCOPE(bytes, 1 << 20);
        buf_puts(&bytes, GET HOST);
        for (int i = 1; i < count; i++)
            buf_puts(&bytes, "X: y\r\n");
        buf_puts(&bytes, "\r\n");
        assert_int_equal(read_built(&bytes).code, count > LIMIT_HEADERS ? ERR_HEADERS_TOO_LARGE : ERR_OK);
    }
}

static void test_largest_bodies(void **state)
{
    (void)state;
    BUF_SCOPE(body, LIMIT_BODY_BYTES);
    while (body.n < LIMIT_BODY_BYTES)
        buf_putc(&body, (char)('a' + body.n % 26));
    BUF_SCOPE(whole, 4 << 20);
    buf_printf(&whole, POST "Content-Length: %d\r\n\r\n", LIMIT_BODY_BYTES);
    buf_put(&whole, buf_str(&body));
    BUF_SCOPE(chunked, 4 << 20);
    buf_puts(&chunked, CHUNKED);
    for (size_t at = 0; at < body.n; at += 65536) {
        buf_puts(&chunked, "10000\r\n");
        buf_put(&chunked, str_sub(buf_str(&body), at, at + 65536));
        buf_puts(&chunked, "\r\n");
    }
    buf_puts(&chunked, "0\r\n\r\n");
    const struct str both[] = {buf_str(&whole), buf_str(&chunked)};
    for (int i = 0; i < 2; i++) {
        struct http_reader *reader = http_reader_new();
        assert_int_equal(read_pieces(reader, both[i], 4093, NULL).code, ERR_OK);
        assert_int_equal(reader->progress, HTTP_WHOLE);
        assert_true(str_eq(reader->request.body, buf_str(&body)));
        http_reader_free(reader);
    }
}

static void test_what_a_handler_sees(void **state)
{
    (void)state;
    struct http_reader *reader = http_reader_new();
    struct http_request *request = &reader->request;
    struct str bytes = STR("GET /a%20b/%E2%82%AC+c?x=1%202+3&y&z=&x=again&b%61d=%2F&n=%00 HTTP/1.1\r\n"
                           "hOSt: here\r\nAccept:  text/html \t\r\nX-Empty:\r\n\r\nGET ");
    struct str value = STR_NONE;
    bool there = false;
    assert_int_equal(http_reader_feed(reader, &bytes, NULL).code, ERR_OK);
    assert_int_equal(bytes.n, 4);
    assert_true(reader->keep_alive);
    assert_true(str_is(request->method, "GET"));
    assert_true(str_is(request->path, "/a b/\xE2\x82\xAC+c"));
    assert_true(str_is(http_header(request, "Host"), "here"));
    assert_true(str_is(http_header(request, "accept"), "text/html"));
    assert_non_null(http_header(request, "x-empty").p);
    assert_int_equal(http_header(request, "x-empty").n, 0);
    assert_null(http_header(request, "x-none").p);
    assert_int_equal(http_query(request, "x", &there, &value, NULL).code, ERR_OK);
    assert_true(there && str_is(value, "1 2 3"));
    assert_int_equal(http_query(request, "y", &there, &value, NULL).code, ERR_OK);
    assert_true(there && value.n == 0);
    assert_int_equal(http_query(request, "z", &there, &value, NULL).code, ERR_OK);
    assert_true(there && value.n == 0);
    assert_int_equal(http_query(request, "bad", &there, &value, NULL).code, ERR_OK);
    assert_true(there && str_is(value, "/"));
    assert_int_equal(http_query(request, "none", &there, &value, NULL).code, ERR_OK);
    assert_false(there);
    assert_int_equal(http_query(request, "n", &there, &value, NULL).code, ERR_INVALID);
    http_reader_free(reader);
}

/* A field is found whatever the case of its letters, and none that only resembles it: who asks depends on them. */
static void test_names_that_resemble(void **state)
{
    (void)state;
    struct http_reader *reader = http_reader_new();
    struct http_request *request = &reader->request;
    struct str bytes = STR(GET HOST "Origim: 1\r\nOsigin: 2\r\nOrigin-: 3\r\nOrigi: 4\r\n"
                           "Authorizatiom: 5\r\nAuthorizations: 6\r\naUTHORIZATIOn: 7\r\nCookif: 8\r\n\r\n");
    assert_int_equal(http_reader_feed(reader, &bytes, NULL).code, ERR_OK);
    assert_int_equal(reader->progress, HTTP_WHOLE);
    assert_null(http_header(request, "origin").p);
    assert_null(http_header(request, "cookie").p);
    assert_true(str_is(http_header(request, "authorization"), "7"));
    assert_true(str_is(http_header(request, "AUTHORIZATION"), "7"));
    http_reader_free(reader);
}

static void test_keep_alive(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        bool keep;
    } cases[] = {
        {GET HOST "\r\n", true},
        {GET HOST "Connection: close\r\n\r\n", false},
        {GET HOST "Connection: x, Close\r\n\r\n", false},
        {GET HOST "Authorization: Bearer x\r\nconnection: close\r\nContent-Type: a/b\r\n\r\n", false},
        {GET "Connection: close\r\nUser-Agent: x\r\n" HOST "\r\n", false},
        {GET HOST "Proxy-Connection: close\r\n\r\n", false},
        {GET "Content-Type: a/b\r\nUser-Agent: x\r\n" HOST "\r\n", true},
        {"GET / HTTP/1.0\r\n\r\n", false},
        {"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct http_reader *reader = http_reader_new();
        assert_int_equal(read_pieces(reader, str_of(cases[i].bytes), SIZE_MAX, NULL).code, ERR_OK);
        if (reader->keep_alive != cases[i].keep)
            fail_msg("keep-alive of %s", cases[i].bytes);
        http_reader_free(reader);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_limits_of_the_head),
        cmocka_unit_test(test_largest_bodies),
        cmocka_unit_test(test_what_a_handler_sees),
        cmocka_unit_test(test_names_that_resemble),
        cmocka_unit_test(test_keep_alive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
