/* The strict check of a request's head and chunks before llhttp sees them: see header_check.h for the rules and
 * why. */
#include "http/header_check.h"

#include "base/hex.h"
#include "base/limits.h"
#include "base/local.h"
#include "base/utf8.h"

/* For each byte whether it may occur. */
struct byte_set {
    bool has[256];
};

static const struct byte_set token_bytes = {{
    ['!'] = true, ['#' ... '\''] = true, ['*'] = true, ['+'] = true, ['-'] = true, ['.'] = true, ['0' ... '9'] = true,
    ['A' ... 'Z'] = true, ['^' ... 'z'] = true, ['|'] = true, ['~'] = true,
}};
/* Visible, but no '#'. */
static const struct byte_set target_bytes = {{['!' ... '"'] = true, ['$' ... '~'] = true}};
static const struct byte_set host_bytes = {{
    ['!'] = true, ['$' ... '+'] = true, ['-'] = true, ['.'] = true, ['0' ... ';'] = true, ['='] = true,
    ['A' ... '['] = true, [']'] = true, ['_'] = true, ['a' ... 'z'] = true, ['~'] = true,
}};
static const struct byte_set value_bytes = {{['\t'] = true, [' ' ... '~'] = true, [0x80 ... 0xff] = true}};

/* How many bytes at the start of `s` are in the set. */
static size_t span(struct str s, const struct byte_set *set)
{
    size_t n = 0;
    while (n < s.n && set->has[(unsigned char)s.p[n]])
        n++;
    return n;
}

static bool all_within(struct str s, const struct byte_set *set) { return span(s, set) == s.n; }

/* How many bytes of a target stand before the last sixteen and are of target_bytes, found sixteen at once. */
static size_t span_target(struct str s)
{
    size_t n = 0;
    while (s.n - n > 16) {
        utf8_sixteen bytes = utf8_load_16(s.p + n);
        size_t ours = utf8_first_of_16((bytes < '!') | (bytes == '#') | (bytes == 0x7f));
        n += ours;
        if (ours < 16)
            break;
    }
    return n;
}

/* *at remembers how far was searched, so that a head that comes byte by byte costs linear time. */
struct rc http_head_end(struct str bytes, size_t *at, size_t *ret_end, struct err *err)
{
    CHECK(*at <= bytes.n);
    *ret_end = 0;
    for (;;) {
        struct str rest = str_sub(bytes, *at, bytes.n);
        size_t n = str_find(rest, '\n');
        if (*at + n >= LIMIT_HEADER_BYTES)
            return err_set(err, ERR_HEADERS_TOO_LARGE, "the header block is larger than %d bytes",
                           LIMIT_HEADER_BYTES);
        if (n == rest.n)
            return RC_OK;
        if (n == 0 || rest.p[n - 1] != '\r')
            return err_set(err, ERR_INVALID, "a header line does not end in CRLF");
        *at += n + 1;
        if (n == 1) {
            *ret_end = *at;
            return RC_OK;
        }
    }
}

/* Cuts the next line off, without its CRLF. The caller knows that the block ends in an empty line. */
static struct str next_line(struct str *rest)
{
    struct str line = str_cut(*rest, '\n', rest);
    CHECK(line.n && line.p[line.n - 1] == '\r');
    line.n--;
    return line;
}

/* Only a path: no absolute address, no tunnel. */
static struct rc check_request_line(struct str line, struct http_head *head, struct err *err)
{
    struct str version;
    struct str rest;
    head->method = str_cut(line, ' ', &rest);
    head->target = str_cut(rest, ' ', &version);
    if (head->method.n == 0 || !all_within(head->method, &token_bytes))
        return err_set(err, ERR_INVALID, "the request line has no method");
    if (str_eq(head->method, STR("CONNECT")))
        return err_set(err, ERR_INVALID, "there are no tunnels here");
    if (head->target.n == 0 || head->target.p[0] != '/' ||
        !all_within(str_sub(head->target, span_target(head->target), head->target.n), &target_bytes))
        return err_set(err, ERR_INVALID, "the request's target is not a path");
    head->old = str_eq(version, STR("HTTP/1.0"));
    if (!head->old && !str_eq(version, STR("HTTP/1.1")))
        return err_set(err, ERR_INVALID, "only HTTP/1.1 is spoken here");
    return RC_OK;
}

static struct rc take_host(struct http_head *head, struct str value, struct err *err)
{
    (void)head;
    if (!all_within(value, &host_bytes))
        return err_set(err, ERR_INVALID, "the Host header is not a host");
    return RC_OK;
}

static struct rc take_content_length(struct http_head *head, struct str value, struct err *err)
{
    if (!str_to_u64(value, &head->content_length))
        return err_set(err, ERR_INVALID, "the Content-Length is not a number");
    return RC_OK;
}

static struct rc take_transfer_encoding(struct http_head *head, struct str value, struct err *err)
{
    head->chunked = true;
    if (head->old || !str_same_letters(value, STR("chunked")))
        return err_set(err, ERR_INVALID, "the only Transfer-Encoding taken is chunked");
    return RC_OK;
}

static struct rc take_expect(struct http_head *head, struct str value, struct err *err)
{
    if (!str_same_letters(value, STR("100-continue")))
        return err_set(err, ERR_INVALID, "the only expectation met is 100-continue");
    head->wants_continue = !head->old;
    return RC_OK;
}

static struct rc take_origin(struct http_head *head, struct str value, struct err *err)
{
    (void)head; /* not checked here: the API does it */
    (void)value;
    (void)err;
    return RC_OK;
}

/* The fields that say where a request begins and ends, and who made a browser send it; each may come once. */
#define FRAMING_FIELDS(X)                            \
    X(HOST, "host", take_host)                       \
    X(LENGTH, "content-length", take_content_length) \
    X(CODING, "transfer-encoding", take_transfer_encoding) \
    X(EXPECT, "expect", take_expect)                 \
    X(ORIGIN, "origin", take_origin)

enum framing_field {
#define X(id, name, take) FIELD_##id,
    FRAMING_FIELDS(X)
#undef X
    FIELD_COUNT
};

static const struct {
    struct str name;
    struct rc (*take)(struct http_head *head, struct str value, struct err *err);
} framing_fields[FIELD_COUNT] = {
#define X(id, name, take) [FIELD_##id] = {{name, sizeof(name) - 1}, take},
    FRAMING_FIELDS(X)
#undef X
};

/* A header on which the framing depends may come once only. */
static struct rc take_framing(struct http_head *head, const struct http_header *field, bool seen[FIELD_COUNT],
                              struct err *err)
{
    for (int i = 0; i < FIELD_COUNT; i++) {
        if (field->name.n != framing_fields[i].name.n || !str_same_letters(field->name, framing_fields[i].name))
            continue;
        if (seen[i])
            return err_set(err, ERR_INVALID, "the header %s came twice", framing_fields[i].name.p);
        seen[i] = true;
        return framing_fields[i].take(head, field->value, err);
    }
    return RC_OK;
}

/* How many bytes at the start are letters, digits and dashes, as most names consist of, found sixteen at once. */
static size_t span_name(struct str line)
{
    size_t n = 0;
    while (line.n - n >= 16) {
        utf8_sixteen bytes = utf8_load_16(line.p + n), small = bytes | 0x20;
        size_t ours = utf8_first_of_16(~(((small >= 'a') & (small <= 'z')) | ((bytes >= '0') & (bytes <= '9')) |
                                         (bytes == '-')));
        n += ours;
        if (ours < 16)
            break;
    }
    return n;
}

/* A blank before the colon is refused: two servers behind one another might read such a line differently. */
static struct rc check_field(struct str *rest, struct http_header *ret_field, struct err *err)
{
    size_t name = span_name(*rest);
    name += span(str_sub(*rest, name, rest->n), &token_bytes);
    if (name == 0 || rest->p[name] != ':')
        return err_set(err, ERR_INVALID, "a header line is not name: value");
    struct str value = str_sub(*rest, name + 1, rest->n);
    size_t plain = utf8_plain(value); /* nearly always up to the CR */
    size_t more = span(str_sub(value, plain, value.n), &value_bytes);
    struct str behind = str_sub(value, plain + more, value.n);
    if (!str_starts(behind, STR("\r\n")))
        return err_set(err, ERR_INVALID, "a header holds a control character");
    *ret_field = (struct http_header){str_sub(*rest, 0, name), str_trim(str_sub(value, 0, plain + more))};
    *rest = str_sub(behind, 2, behind.n);
    return RC_OK;
}

static struct rc check_whole(const struct http_head *head, const bool seen[FIELD_COUNT], struct err *err)
{
    if (!seen[FIELD_HOST] && !head->old)
        return err_set(err, ERR_INVALID, "the Host header is missing");
    if (seen[FIELD_LENGTH] && seen[FIELD_CODING])
        return err_set(err, ERR_INVALID, "Content-Length and Transfer-Encoding exclude each other");
    return RC_OK;
}

/* The fields point into `block`; their array is copied into the arena when everything has passed. */
struct rc http_head_check(struct arena *arena, struct str block, struct http_head *ret_head, struct err *err)
{
    CHECK(str_ends(block, STR("\r\n\r\n")));
    struct http_header fields[LIMIT_HEADERS] NOT_ZEROED;
    struct http_head head = {0};
    bool seen[FIELD_COUNT] = {0};
    struct str rest = block;
    TRY(check_request_line(next_line(&rest), &head, err));
    for (;;) {
        if (str_starts(rest, STR("\r\n")))
            break;
        if (head.header_count == LIMIT_HEADERS)
            return err_set(err, ERR_HEADERS_TOO_LARGE, "more than %d headers", LIMIT_HEADERS);
        struct http_header *field = &fields[head.header_count];
        TRY(check_field(&rest, field, err));
        TRY(take_framing(&head, field, seen, err));
        head.header_count++;
    }
    CHECK(rest.n == 2);
    TRY(check_whole(&head, seen, err));
    struct http_header *kept = arena_array(arena, struct http_header, head.header_count);
    if (head.header_count)
        memcpy(kept, fields, sizeof *kept * head.header_count);
    head.headers = kept;
    *ret_head = head;
    return RC_OK;
}

/* No extensions, at most eight digits, and never beyond the limit of the body. */
static struct rc take_size_byte(struct http_chunks *chunks, char c, uint64_t bytes_max, struct err *err)
{
    int digit = hex_digit(c);
    if (digit < 0 && (c != '\r' || chunks->digits == 0))
        return err_set(err, ERR_INVALID, "a chunk has no proper size");
    if (digit < 0) {
        chunks->state = CHUNK_SIZE_LF;
        return RC_OK;
    }
    chunks->size = chunks->size * 16 + (uint64_t)digit;
    if (++chunks->digits > 8)
        return err_set(err, ERR_INVALID, "a chunk's size has too many digits");
    if (chunks->total + chunks->size > bytes_max)
        return err_set(err, ERR_TOO_LARGE, "the body is larger than %llu bytes",
                       (unsigned long long)bytes_max);
    return RC_OK;
}

/* Checks the CR and LF of a chunk. */
static struct rc take_line_byte(struct http_chunks *chunks, char c, struct err *err)
{
    bool wants_cr = chunks->state == CHUNK_CR || chunks->state == CHUNK_END_CR;
    if (c != (wants_cr ? '\r' : '\n'))
        return err_set(err, ERR_INVALID, "a chunk does not end in CRLF");
    if (wants_cr)
        chunks->state++;
    else if (chunks->state == CHUNK_END_LF)
        chunks->state = CHUNK_OVER;
    else if (chunks->state == CHUNK_LF)
        *chunks = (struct http_chunks){.total = chunks->total};
    else
        chunks->state = chunks->size ? CHUNK_DATA : CHUNK_END_CR;
    return RC_OK;
}

/* Walks along the chunks without copying; llhttp gets the same bytes afterwards. */
struct rc http_chunks_check(struct http_chunks *chunks, struct str bytes, uint64_t bytes_max,
                            size_t *ret_used, struct err *err)
{
    size_t at = 0;
    while (at < bytes.n && chunks->state != CHUNK_OVER) {
        if (chunks->state == CHUNK_DATA) {
            size_t n = bytes.n - at < chunks->size ? bytes.n - at : (size_t)chunks->size;
            at += n;
            chunks->size -= n;
            chunks->total += n;
            if (chunks->size == 0)
                chunks->state = CHUNK_CR;
        } else if (chunks->state == CHUNK_SIZE) {
            TRY(take_size_byte(chunks, bytes.p[at++], bytes_max, err));
        } else {
            TRY(take_line_byte(chunks, bytes.p[at++], err));
        }
    }
    *ret_used = at;
    return RC_OK;
}
