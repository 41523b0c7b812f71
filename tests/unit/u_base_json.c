/* The reader: the documents of cases/json.txt, then what the functions around it promise.
 *
 * A case is two lines and a blank one: the document, and what it is. `<FF>` in a document is that byte,
 * `<[*128>` is 128 times what stands before the star; a line that starts with # is a comment. The second
 * line is `bad` and words of the message, or the value written again by the writer (strings decoded and
 * quoted, numbers as they came, no blanks).
 */
#include "base/json.h"

#include "base/limits.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

enum { DOCUMENT_BYTES_MAX = 4 << 20 };

static void write_again(struct json_out *out, const struct json *value)
{
    switch (value->type) {
    case JSON_STRING: json_put_str(out, value->text); break;
    case JSON_OBJECT:
    case JSON_ARRAY:
        json_open(out, value->type == JSON_OBJECT ? '{' : '[');
        for (const struct json *child = value->first; child; child = child->next) {
            if (value->type == JSON_OBJECT)
                json_key_str(out, child->key);
            write_again(out, child);
        }
        json_close(out, value->type == JSON_OBJECT ? '}' : ']');
        break;
    case JSON_NULL:
    case JSON_FALSE:
    case JSON_TRUE:
    case JSON_NUMBER: json_put_raw(out, value->raw); break;
    }
}

/* ---- the case file ---- */

static void expand_one(struct buf *to, struct str inside)
{
    struct str times;
    struct str what = str_cut(inside, '*', &times);
    uint64_t count;
    if (str_to_u64(times, &count)) {
        for (uint64_t i = 0; i < count; i++)
            buf_put(to, what);
        return;
    }
    assert_int_equal(inside.n, 2);
    assert_true(isxdigit((unsigned char)inside.p[0]) && isxdigit((unsigned char)inside.p[1]));
    buf_putc(to, (char)strtoul((char[]){inside.p[0], inside.p[1], 0}, NULL, 16));
}

static void expand(struct buf *to, struct str line)
{
    while (line.n) {
        struct str rest;
        struct str plain = str_cut(line, '<', &rest);
        buf_put(to, plain);
        if (plain.n == line.n)
            return;
        expand_one(to, str_cut(rest, '>', &line));
    }
}

static bool as_expected(struct str document, struct str expected, struct buf *saw)
{
    ARENA_SCOPE(arena);
    struct err err = {0};
    const struct json *value = NULL;
    /* A private copy without a byte to spare, so that a sanitizer sees every read past the end. */
    char *copy = malloc(document.n ? document.n : 1);
    assert_non_null(copy);
    memcpy(copy, document.p ? document.p : "", document.n);
    struct rc rc = json_parse(&arena, (struct str){copy, document.n}, &value, &err);
    if (rc_bad(rc)) {
        assert_int_equal(rc.code, ERR_INVALID);
        assert_null(value);
        buf_printf(saw, "bad %s", err.text);
    } else {
        struct json_out out = json_out(saw);
        write_again(&out, value);
    }
    free(copy);
    struct str words;
    if (str_is(str_cut(expected, ' ', &words), "bad"))
        return rc_bad(rc) && str_has(buf_str(saw), words);
    return rc_ok(rc) && str_eq(buf_str(saw), expected);
}

static bool next_line(FILE *file, char **line, size_t *room, struct str *ret_line, unsigned *number)
{
    ssize_t n = getline(line, room, file);
    if (n < 0)
        return false;
    ++*number;
    *ret_line = (struct str){*line, (size_t)n - ((*line)[n - 1] == '\n')};
    return true;
}

static void cases(void **state)
{
    (void)state;
    FILE *file = fopen(TESTS_DIR "/cases/json.txt", "r");
    assert_non_null(file);
    char *line = NULL;
    size_t room = 0;
    unsigned number = 0, count = 0, wrong = 0;
    struct str text;
    BUF_SCOPE(document, DOCUMENT_BYTES_MAX);
    BUF_SCOPE(expected, DOCUMENT_BYTES_MAX);
    BUF_SCOPE(saw, DOCUMENT_BYTES_MAX);
    while (next_line(file, &line, &room, &text, &number)) {
        if (str_empty(text) || text.p[0] == '#')
            continue;
        buf_clear(&document);
        buf_clear(&expected);
        buf_clear(&saw);
        expand(&document, text);
        assert_true(next_line(file, &line, &room, &text, &number));
        expand(&expected, text);
        count++;
        if (as_expected(buf_str(&document), buf_str(&expected), &saw))
            continue;
        wrong++;
        print_error("cases/json.txt:%u: expected %.200s\n    saw %.200s\n", number, buf_c(&expected),
                    buf_c(&saw));
    }
    free(line);
    (void)fclose(file);
    assert_int_equal(wrong, 0);
    assert_true(count > 100);
}

/* ---- what the functions promise ---- */

static const struct json *parse(struct arena *arena, const char *text)
{
    const struct json *value = NULL;
    struct err err = {0};
    if (rc_bad(json_parse(arena, str_of(text), &value, &err)))
        fail_msg("%s: %s", text, err.text);
    return value;
}

static void nothing_is_no_document(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    const struct json *value = NULL;
    struct err err = {0};
    assert_int_equal(json_parse(&arena, STR_NONE, &value, &err).code, ERR_INVALID);
    assert_int_equal(json_parse(&arena, STR(""), &value, NULL).code, ERR_INVALID);
    assert_null(value);
}

static void raw_bytes_are_kept(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    const char *text = " { \"a\" : [ 1 , 2.50 ] , \"b\\u0041\" : \"x\\ny\" , "
                       "\"n\" : 0.30000000000000004e+0 } ";
    const struct json *value = parse(&arena, text);
    assert_true(value->raw.p == text + 1 && value->raw.n == strlen(text) - 2);
    assert_true(str_is(json_get(value, "a")->raw, "[ 1 , 2.50 ]"));
    assert_true(str_is(json_get(value, "n")->raw, "0.30000000000000004e+0"));
    assert_true(str_is(json_get(value, "bA")->raw, "\"x\\ny\""));
    assert_true(str_is(json_text(value, "bA"), "x\ny"));
    assert_int_equal(value->count, 3);
    assert_int_equal(json_get(value, "a")->count, 2);
}

static void lookups(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    const struct json *value = parse(&arena, "{\"s\":\"x\",\"t\":true,\"f\":false,\"n\":null,\"\":1}");
    assert_null(json_get(value, "absent"));
    assert_null(json_get(NULL, "s"));
    assert_null(json_get(json_get(value, "s"), "s"));
    assert_non_null(json_get(value, ""));
    assert_true(str_is(json_text(value, "s"), "x"));
    assert_true(str_empty(json_text(value, "t")));
    assert_true(json_bool(value, "t", false));
    assert_false(json_bool(value, "f", true));
    assert_true(json_bool(value, "n", true));
    assert_false(json_bool(value, "absent", false));
}

static void whole_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool good;
        int64_t value;
    } rows[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"-9223372036854775807", true, -INT64_MAX},
        {"9223372036854775808", false, 0},
        {"-9223372036854775809", false, 0},
        {"1.0", false, 0},
        {"1e2", false, 0},
        {"18446744073709551616", false, 0},
        {"\"1\"", false, 0},
        {"true", false, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ARENA_SCOPE(arena);
        int64_t value = 42;
        if (json_i64(parse(&arena, rows[i].text), &value) != rows[i].good ||
            value != (rows[i].good ? rows[i].value : 42))
            fail_msg("%s", rows[i].text);
    }
    int64_t value;
    assert_false(json_i64(NULL, &value));
}

static void wanted_fields(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    struct err err = {0};
    const struct json *v = parse(&arena, "{\"s\":\"abc\",\"i\":5,\"b\":false,\"o\":{},\"n\":null}");
    const struct json *o = NULL;
    struct str s = STR("old");
    int64_t i = 42;
    bool b = true;
    assert_true(rc_ok(json_want_str(v, "s", 3, &s, &err)) && str_is(s, "abc"));
    assert_true(rc_ok(json_want_i64(v, "i", 5, 5, &i, &err)) && i == 5);
    assert_true(rc_ok(json_want_bool(v, "b", &b, &err)) && !b);
    assert_true(rc_ok(json_want_object(v, "o", &o, &err)) && o);
    /* Absent or null: fine, and nothing is touched. */
    assert_true(rc_ok(json_want_str(v, "n", 3, &s, &err)) && rc_ok(json_want_str(v, "x", 3, &s, &err)));
    assert_true(rc_ok(json_want_i64(v, "n", 0, 1, &i, &err)) && rc_ok(json_want_i64(v, "x", 0, 1, &i, &err)));
    assert_true(rc_ok(json_want_bool(v, "n", &b, &err)) && rc_ok(json_want_object(v, "x", &o, &err)));
    assert_true(str_is(s, "abc") && i == 5 && !b && o);
    /* Wrong: refused by name, and nothing is touched. */
    assert_int_equal(json_want_str(v, "s", 2, &s, &err).code, ERR_INVALID);
    assert_int_equal(json_want_str(v, "i", 9, &s, &err).code, ERR_INVALID);
    assert_non_null(strstr(err.text, "\"i\""));
    assert_int_equal(json_want_i64(v, "i", 6, 9, &i, &err).code, ERR_INVALID);
    assert_int_equal(json_want_i64(v, "i", 0, 4, &i, &err).code, ERR_INVALID);
    assert_int_equal(json_want_i64(v, "s", 0, 9, &i, &err).code, ERR_INVALID);
    assert_int_equal(json_want_bool(v, "i", &b, &err).code, ERR_INVALID);
    assert_int_equal(json_want_object(v, "s", &o, &err).code, ERR_INVALID);
    assert_true(str_is(s, "abc") && i == 5 && !b && o);
}

static void same_tokens(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        bool same;
    } rows[] = {
        {"{\"a\":1}", "{\"a\":1}", true},
        {"{\"a\":1}", " { \"a\"\n:\t1 }\r", true},
        {"[1,2]", "[1,2 ]", true},
        {"[1,2]", "[12]", false},
        {"\"a b\"", "\"ab\"", false},
        {"\"a\\\" b\"", "\"a\\\"b\"", false},
        {"\"\\\\\" ", "\"\\\\\"", true},
        {"[\"\\\\\", 1]", "[\"\\\\\",1]", true},
        {"1.0", "1", false},
        {"{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", false},
        {"\"\\u0041\"", "\"A\"", false},
        {"[]", "[", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (json_same_tokens(str_of(rows[i].a), str_of(rows[i].b)) != rows[i].same ||
            json_same_tokens(str_of(rows[i].b), str_of(rows[i].a)) != rows[i].same)
            fail_msg("%s and %s", rows[i].a, rows[i].b);
    }
}

/* Objects of every size around the border between the two ways of looking for duplicates. */
static void duplicate_keys_anywhere(void **state)
{
    (void)state;
    for (unsigned n = 2; n < 60; n++) {
        for (unsigned first = 0; first < n; first += 1 + n / 7) {
            unsigned second = first + 1 + (first * 7 + n) % (n - first);
            ARENA_SCOPE(arena);
            BUF_SCOPE(buf, 10000);
            const struct json *value;
            for (unsigned i = 0; i < n; i++)
                buf_printf(&buf, "%s\"k%u\":0", i ? "," : "{", i == second ? first : i);
            buf_putc(&buf, '}');
            assert_int_equal(rc_ok(json_parse(&arena, buf_str(&buf), &value, NULL)), second >= n);
        }
    }
}

static void many_keys(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    BUF_SCOPE(buf, 2 << 20);
    const struct json *value;
    buf_putc(&buf, '{');
    for (unsigned i = 0; i < 100000; i++)
        buf_printf(&buf, "%s\"%u\":0", i ? "," : "", i);
    size_t n = buf.n;
    buf_putc(&buf, '}');
    assert_true(rc_ok(json_parse(&arena, buf_str(&buf), &value, NULL)));
    assert_int_equal(value->count, 100000);
    buf.n = n;
    buf_puts(&buf, ",\"\\u0037\":0}");
    assert_int_equal(json_parse(&arena, buf_str(&buf), &value, NULL).code, ERR_INVALID);
}

/* Adds a string that begins with an escape; now and then it is not valid, or not closed. */
static void put_string_by_chance(struct buf *to, uint64_t *seed)
{
    static const char *const pieces[] = {"a", "plain letters, more than sixteen", "\\n", "\\\"", "\\\\", "\\/",
                                         "\\u00e9", "\\ud83d\\ude00", "\xc3\xa4", "\\t\\t", " ",
                                         "\\x", "\\ud83d", "\x01", "\xc3"};
    enum { PIECES = sizeof pieces / sizeof *pieces, BAD = 4 };
    unsigned count = (unsigned)(*seed >> 33) % 12;
    bool valid = (*seed >> 40) % 4 != 0, closed = (*seed >> 50) % 8 != 0;
    buf_puts(to, "\"\\n");
    for (unsigned i = 0; i < count; i++) {
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        buf_puts(to, pieces[(*seed >> 33) % (valid ? PIECES - BAD : PIECES)]);
    }
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    buf_puts(to, closed ? "\"" : "");
}

/* The end of a string is searched first only where much text is left. */
static void little_and_much_text_are_read_alike(void **state)
{
    (void)state;
    enum { ROUNDS = 4000, BLANKS = 5000 };
    uint64_t seed = 1;
    unsigned good = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        ARENA_SCOPE(arena);
        BUF_SCOPE(text, 2 * BLANKS);
        JSON_SCOPE(little, little_out, 2 * BLANKS);
        JSON_SCOPE(much, much_out, 2 * BLANKS);
        struct err err = {0}, much_err = {0};
        const struct json *value;
        buf_putc(&text, '[');
        for (unsigned k = 0; k < 3; k++) {
            buf_puts(&text, k ? "," : "");
            put_string_by_chance(&text, &seed);
        }
        size_t n = text.n;
        buf_putc(&text, ']');
        struct rc rc = json_parse(&arena, buf_str(&text), &value, &err);
        if (rc_ok(rc))
            write_again(&little_out, value);
        text.n = n;
        buf_printf(&text, "%*s]", BLANKS, "");
        assert_int_equal(json_parse(&arena, buf_str(&text), &value, &much_err).code, rc.code);
        assert_string_equal(err.text, much_err.text);
        if (rc_bad(rc))
            continue;
        write_again(&much_out, value);
        assert_true(str_eq(buf_str(&little), buf_str(&much)));
        good++;
    }
    assert_in_range(good, ROUNDS / 10, ROUNDS / 10 * 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases),
        cmocka_unit_test(nothing_is_no_document),
        cmocka_unit_test(raw_bytes_are_kept),
        cmocka_unit_test(lookups),
        cmocka_unit_test(whole_numbers),
        cmocka_unit_test(wanted_fields),
        cmocka_unit_test(same_tokens),
        cmocka_unit_test(duplicate_keys_anywhere),
        cmocka_unit_test(many_keys),
        cmocka_unit_test(little_and_much_text_are_read_alike),
    };
    return cmocka_run_group_tests_name("base/json", tests, NULL, NULL);
}
