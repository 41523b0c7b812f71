/* The writer: commas by itself, and whatever goes in, what comes out can be read and shown. */
#include "base/json.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

static void commas(void **state)
{
    (void)state;
    BUF_SCOPE(buf, 1000);
    struct json_out out = json_out(&buf);
    json_open(&out, '{');
    json_member(&out, "a", STR("x"));
    json_key(&out, "list");
    json_open(&out, '[');
    json_put_u64(&out, 1);
    json_put_i64(&out, -2);
    json_open(&out, '{');
    json_close(&out, '}');
    json_open(&out, '[');
    json_close(&out, ']');
    json_put_null(&out);
    json_put_bool(&out, true);
    json_put_bool(&out, false);
    json_put_raw(&out, STR("{\"r\":1.50}"));
    json_close(&out, ']');
    json_member_null(&out, "n");
    json_member_bool(&out, "b", true);
    json_member_u64(&out, "u", UINT64_MAX);
    json_member_i64(&out, "i", INT64_MIN);
    json_member_time(&out, "t", 0);
    json_key_str(&out, STR("k\"y"));
    json_put_time(&out, 1);
    json_close(&out, '}');
    assert_string_equal(buf_c(&buf),
                        "{\"a\":\"x\",\"list\":[1,-2,{},[],null,true,false,{\"r\":1.50}],\"n\":null,"
                        "\"b\":true,\"u\":18446744073709551615,\"i\":-9223372036854775808,"
                        "\"t\":\"1970-01-01T00:00:00.000Z\",\"k\\\"y\":\"1970-01-01T00:00:00.001Z\"}");
}

/* What stands for itself, what has an escape of two bytes, and what is written in another way than many read it. */
static const struct {
    const char *text, *written, *also;
} pieces[] = {
    {"a", "a", NULL},
    {"Z9 ", "Z9 ", NULL},
    {"~", "~", NULL},
    {"\"", "\\\"", NULL},
    {"\\", "\\\\", NULL},
    {"\n", "\\n", NULL},
    {"\t", "\\t", NULL},
    {"\r", "\\r", NULL},
    {"/", "/", "\\/"},
    {"\b", "\\u0008", "\\b"},
    {"\f", "\\u000c", "\\f"},
    {"\x7f", "\\u007f", "\x7f"},
    {"\u00fc", "\u00fc", "\\u00fc"},
    {"x", "x", "\\u0078"},
};
enum { PIECES = sizeof pieces / sizeof *pieces, USUAL_PIECES = 8 };

/* Texts of all lengths around the 16, 32 and 64 bytes that are looked at together, with escapes at all places. */
static void escapes_at_every_place(void **state)
{
    (void)state;
    uint32_t random = 4711;
    for (unsigned round = 0; round < 20000; round++) {
        ARENA_SCOPE(arena);
        BUF_SCOPE(text, 4000);
        BUF_SCOPE(wanted, 4000);
        BUF_SCOPE(read, 4000);
        JSON_SCOPE(got, out, 4000);
        unsigned length = round % 200, rare = round / 200 % 8 * 4 + 1, kinds = round % 2 ? PIECES : USUAL_PIECES;
        buf_putc(&wanted, '"');
        buf_putc(&read, '"');
        for (unsigned i = 0; i < length; i++) {
            random = random * 1664525u + 1013904223u;
            unsigned kind = (random >> 8) % rare ? (random >> 16) % 2 : (random >> 16) % kinds;
            bool otherwise = pieces[kind].also && random >> 31;
            buf_puts(&text, pieces[kind].text);
            buf_puts(&wanted, pieces[kind].written);
            buf_puts(&read, otherwise ? pieces[kind].also : pieces[kind].written);
        }
        buf_putc(&wanted, '"');
        buf_putc(&read, '"');
        json_put_str(&out, buf_str(&text));
        assert_true(str_eq(buf_str(&got), buf_str(&wanted)));
        const struct json *value;
        assert_int_equal(json_parse(&arena, buf_str(&read), &value, NULL).code, ERR_OK);
        assert_true(str_eq(value->text, buf_str(&text)));
    }
}

static void empty_members_are_left_out(void **state)
{
    (void)state;
    BUF_SCOPE(buf, 1000);
    struct json_out out = json_out(&buf);
    json_open(&out, '{');
    json_member(&out, "a", STR_NONE);
    json_member_raw(&out, "b", STR_NONE);
    json_member(&out, "c", STR("d"));
    json_close(&out, '}');
    assert_string_equal(buf_c(&buf), "{\"c\":\"d\"}");
}

static void put_alone(struct json_out *out, int value)
{
    JSON_LIST(out, NULL)
        json_put_i64(out, value);
}

static void lists_of_a_statement(void **state)
{
    (void)state;
    JSON_SCOPE(buf, out, 1000);
    json_open(&out, '{');
    JSON_LIST(&out, "a")
        for (int i = 0; i < 3; i++)
            put_alone(&out, i);
    JSON_LIST(&out, "b")
        continue;
    json_close(&out, '}');
    assert_string_equal(buf_c(&buf), "{\"a\":[[0],[1],[2]],\"b\":[]}");
}

/* J takes a value by its type; what is left out, empty or null is said as by the writer's functions. */
static void objects_as_expressions(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    const char *words = NULL;
    uint8_t small = 7;
    bool flag = true;
    struct str text = json_object_str(
        &arena, J("a", "x"), J("b", STR_NONE), J("c", words), J("d", small), J("e", -2), J("f", UINT64_MAX),
        J("g", flag), J_BOOL("h", small == 8), J_FLAG("i", false), J_FLAG("j", true), J_ALWAYS("k", STR("")),
        J_OR_NULL("l", STR("")),
        J_OR_NULL("m", STR("n")), J_RAW("o", STR("1.50")), J_RAW("p", STR_NONE), J_TIME("q", 1), J_NULL("r"),
        J_OBJECT("s", J("t", 1), J_OBJECT("u", J("v", STR_NONE))), J_LIST("w", J(NULL, 1), J_OBJECT(NULL, J("x", 2))),
        J_IF(flag, J("y", 3)), J_IF(!flag, J("z", 4)));
    assert_string_equal(text.p, "{\"a\":\"x\",\"d\":7,\"e\":-2,\"f\":18446744073709551615,\"g\":true,\"h\":false,"
                                "\"j\":true,\"k\":\"\",\"l\":null,\"m\":\"n\",\"o\":1.50,"
                                "\"q\":\"1970-01-01T00:00:00.001Z\",\"r\":null,\"s\":{\"t\":1,\"u\":{}},"
                                "\"w\":[1,{\"x\":2}],\"y\":3}");
}

static void members_that_may_be_empty(void **state)
{
    (void)state;
    JSON_SCOPE(buf, out, 1000);
    json_open(&out, '{');
    json_member_always(&out, "a", STR_NONE);
    json_member_or_null(&out, "b", STR_NONE);
    json_member_or_null(&out, "c", STR("x"));
    json_member_flag(&out, "d", false);
    json_member_flag(&out, "e", true);
    json_close(&out, '}');
    assert_string_equal(buf_c(&buf), "{\"a\":\"\",\"b\":null,\"c\":\"x\",\"e\":true}");
}

static void members_of_another_object(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    JSON_SCOPE(buf, out, 1000);
    const struct json *object;
    assert_true(rc_ok(json_parse(&arena, STR("{\"a\":[1, 2.50],\"b\":{},\"c\\n\":\"\"}"), &object, NULL)));
    assert_true(str_is(json_first(object, "a")->raw, "1"));
    assert_null(json_first(object, "b"));
    assert_null(json_first(object, "absent"));
    json_open(&out, '{');
    json_put_member(&out, object->first);
    json_put_members(&out, object, "a");
    json_put_members(&out, NULL, "a");
    json_close(&out, '}');
    assert_string_equal(buf_c(&buf), "{\"a\":[1, 2.50],\"b\":{},\"c\\n\":\"\"}");
}

static void strings(void **state)
{
    (void)state;
    static const struct {
        struct str in;
        const char *out;
    } rows[] = {
        {STR_NONE, "\"\""},
        {STR("plain"), "\"plain\""},
        {STR("\"\\/"), "\"\\\"\\\\/\""},
        {STR("\b\f\n\r\t"), "\"\\u0008\\u000c\\n\\r\\t\""},
        {{"\0", 1}, "\"\\u0000\""},
        {STR("\x1f\x7f"), "\"\\u001f\\u007f\""},
        {STR("\xc3\xa4\xf0\x9f\x98\x80"), "\"\xc3\xa4\xf0\x9f\x98\x80\""},
        {STR("a\xff" "b"), "\"a\\ufffdb\""},
        {STR("\xe2\x82"), "\"\\ufffd\\ufffd\""},
        {STR("\xed\xa0\x80"), "\"\\ufffd\\ufffd\\ufffd\""},
        {STR("\xe2\x80\xae"), "\"\\u202e\""},
        {STR("\xc2\x9b"), "\"\\u009b\""},
        {STR("\xf3\xa0\x80\x81"), "\"\\udb40\\udc01\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        BUF_SCOPE(buf, 1000);
        struct json_out out = json_out(&buf);
        json_put_str(&out, rows[i].in);
        assert_string_equal(buf_c(&buf), rows[i].out);
    }
}

/* Every code point is written so that reading gives it back. */
static void strings_come_back(void **state)
{
    (void)state;
    for (uint32_t code = 1; code <= 0x10ffff; code += code < 0x3000 ? 1 : 97) {
        ARENA_SCOPE(arena);
        BUF_SCOPE(buf, 100);
        char bytes[4];
        const struct json *value;
        if (code >= 0xd800 && code <= 0xdfff)
            continue;
        struct str text = {bytes, 0};
        text.n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
        for (size_t i = text.n; i-- > 0; )
            bytes[i] = (char)(text.n == 1 ? code
                              : i == 0    ? leads[text.n] | code >> (6 * (text.n - 1))
                                          : 0x80 | (code >> (6 * (text.n - 1 - i)) & 0x3f));
        struct json_out out = json_out(&buf);
        json_put_str(&out, text);
        if (rc_bad(json_parse(&arena, buf_str(&buf), &value, NULL)) || !str_eq(value->text, text))
            fail_msg("U+%04X", code);
    }
}

/* Whatever room is taken on the way, only what is written counts against the limit; and long texts of every kind come
 * back. */
static void limits_and_long_texts(void **state)
{
    (void)state;
    struct str text = STR("a\nb\"c\\ and sixteen more \x01\xc3\xa9");
    const char *written = "\"a\\nb\\\"c\\\\ and sixteen more \\u0001\xc3\xa9\"";
    for (size_t max = 0; max < 60; max++) {
        BUF_SCOPE(buf, max);
        struct json_out out = json_out(&buf);
        json_put_str(&out, text);
        assert_int_equal(buf.over, strlen(written) > max);
        if (!buf.over)
            assert_string_equal(buf_c(&buf), written);
    }
    for (size_t n = 4080; n < 4110; n++) {
        ARENA_SCOPE(arena);
        BUF_SCOPE(buf, 20000);
        char *given = arena_bytes(&arena, n);
        struct json_out out = json_out(&buf);
        const struct json *value;
        for (size_t i = 0; i < n; i++)
            given[i] = i % 23 == 7 ? '\n' : i % 71 == 9 ? '"' : 'x';
        json_put_str(&out, (struct str){given, n});
        assert_true(rc_ok(json_parse(&arena, buf_str(&buf), &value, NULL)));
        assert_true(str_eq(value->text, (struct str){given, n}));
    }
}

static void doubles(void **state)
{
    (void)state;
    static const double values[] = {0.0,   -0.0,   1.0,         0.1,      -2.5, 1e300,
                                    1e-300, 1234567.0, INFINITY, -INFINITY, NAN};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        ARENA_SCOPE(arena);
        BUF_SCOPE(buf, 100);
        const struct json *value;
        struct json_out out = json_out(&buf);
        json_put_double(&out, values[i]);
        assert_true(rc_ok(json_parse(&arena, buf_str(&buf), &value, NULL)));
        assert_int_equal(value->type, isfinite(values[i]) ? JSON_NUMBER : JSON_NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commas),
        cmocka_unit_test(escapes_at_every_place),
        cmocka_unit_test(empty_members_are_left_out),
        cmocka_unit_test(objects_as_expressions), cmocka_unit_test(lists_of_a_statement),
        cmocka_unit_test(members_that_may_be_empty), cmocka_unit_test(members_of_another_object),
        cmocka_unit_test(strings), cmocka_unit_test(strings_come_back),
        cmocka_unit_test(limits_and_long_texts), cmocka_unit_test(doubles),
    };
    return cmocka_run_group_tests_name("base/json_out", tests, NULL, NULL);
}
