/* Accessors of a request, for handlers. */
#include "http/reader.h"

#include "base/hex.h"

/* The byte behind a '%' at s[at]; -1: not an escape, or one that is refused. */
static int decode_escape(struct str s, size_t at, enum http_decode how)
{
    CHECK(at < s.n && s.p[at] == '%');
    if (s.n - at < 3)
        return -1;
    int high = hex_digit(s.p[at + 1]);
    int low = hex_digit(s.p[at + 2]);
    if (high < 0 || low < 0)
        return -1;
    int byte = high * 16 + low;
    if (byte == 0 || (byte == '/' && how == HTTP_DECODE_PATH))
        return -1;
    return byte;
}

/* No copy when there is nothing to decode. */
struct rc http_decode(struct arena *arena, struct str s, enum http_decode how, struct str *ret_text,
                      struct err *err)
{
    if (str_find(s, '%') == s.n && (how == HTTP_DECODE_PATH || str_find(s, '+') == s.n)) {
        *ret_text = s;
        return RC_OK;
    }
    char *text = arena_bytes(arena, s.n + 1);
    size_t n = 0;
    for (size_t at = 0; at < s.n; at++) {
        char c = s.p[at];
        if (c == '%') {
            int byte = decode_escape(s, at, how);
            if (byte < 0)
                return err_set(err, ERR_INVALID, "the address holds a bad escape");
            c = (char)byte;
            at += 2;
        } else if (c == '+' && how == HTTP_DECODE_QUERY) {
            c = ' ';
        }
        text[n++] = c;
    }
    CHECK(n <= s.n);
    text[n] = '\0';
    *ret_text = (struct str){text, n};
    return RC_OK;
}

/* Names of one length mostly differ in the first letter. */
struct str http_header_str(const struct http_request *request, struct str name)
{
    for (size_t i = 0; i < request->header_count; i++) {
        struct str given = request->headers[i].name;
        if (given.n == name.n && str_lower(given.p[0]) == str_lower(name.p[0]) && str_same_letters(given, name))
            return request->headers[i].value;
    }
    return STR_NONE;
}

struct str http_cookie(const struct http_request *request, struct str name)
{
    struct str left = http_header(request, "cookie");
    while (left.n) {
        struct str value;
        if (str_eq(str_cut(str_trim(str_cut(left, ';', &left)), '=', &value), name))
            return value;
    }
    return STR_NONE;
}

/* The first of several parameters of one name counts. The value is decoded anew for each call, into the request's
 * arena. */
struct rc http_query(struct http_request *request, const char *name, bool *ret_there, struct str *ret_value,
                     struct err *err)
{
    CHECK(name && ret_there && ret_value);
    *ret_there = false;
    if (str_empty(request->query))
        return RC_OK;
    struct str wanted = str_of(name);
    struct str rest = request->query;
    while (rest.n) {
        struct str value;
        struct str key = str_cut(str_cut(rest, '&', &rest), '=', &value);
        if (!request->plain_query)
            TRY(http_decode(&request->arena, key, HTTP_DECODE_QUERY, &key, err));
        if (!str_eq(key, wanted))
            continue;
        *ret_value = value;
        if (!request->plain_query)
            TRY(http_decode(&request->arena, value, HTTP_DECODE_QUERY, ret_value, err));
        *ret_there = true;
        return RC_OK;
    }
    return RC_OK;
}
