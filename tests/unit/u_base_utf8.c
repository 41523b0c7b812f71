/* UTF-8 against its definition: every code point, and a simple second decoder over all short sequences. */
#include "base/utf8.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

static bool surrogate(uint32_t code) { return code >= 0xd800 && code <= 0xdfff; }

static void every_code_point_comes_back(void **state)
{
    (void)state;
    for (uint32_t code = 0; code <= 0x10ffff; code++) {
        char bytes[4];
        uint32_t back = 0;
        if (surrogate(code))
            continue;
        size_t n = utf8_encode(code, bytes);
        size_t expected = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        if (n != expected || utf8_decode((struct str){bytes, n}, &back) != n || back != code)
            fail_msg("U+%04X", code);
        for (size_t cut = 0; cut < n; cut++)
            if (utf8_decode((struct str){bytes, cut}, &back) != 0)
                fail_msg("U+%04X cut to %zu bytes", code, cut);
    }
}

/* A sequence is valid exactly when it is what encoding its code point gives. */
static size_t oracle(const unsigned char *p, size_t n)
{
    static const struct {
        unsigned char mask, lead;
        uint32_t min;
    } forms[] = {{0x80, 0, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    for (size_t length = 1; length <= 4 && length <= n; length++) {
        if ((p[0] & forms[length - 1].mask) != forms[length - 1].lead)
            continue;
        uint32_t code = p[0] & (unsigned char)~forms[length - 1].mask;
        for (size_t i = 1; i < length; i++) {
            if ((p[i] & 0xc0) != 0x80)
                return 0;
            code = code << 6 | (p[i] & 0x3f);
        }
        return code >= forms[length - 1].min && code <= 0x10ffff && !surrogate(code) ? length : 0;
    }
    return 0;
}

static void every_short_sequence(void **state)
{
    (void)state;
    static const unsigned char tails[] = {0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xff};
    unsigned char p[4];
    for (unsigned a = 0; a < 256; a++)
        for (unsigned b = 0; b < 256; b++)
            for (size_t c = 0; c < sizeof tails; c++)
                for (size_t d = 0; d < sizeof tails; d++) {
                    memcpy(p, (unsigned char[]){(unsigned char)a, (unsigned char)b, tails[c], tails[d]}, 4);
                    for (size_t n = 0; n <= 4; n++)
                        if (utf8_valid_one((struct str){(char *)p, n}) != (n ? oracle(p, n) : 0))
                            fail_msg("%02X %02X %02X %02X of %zu", a, b, tails[c], tails[d], n);
                }
}

static void whole_texts(void **state)
{
    (void)state;
    assert_true(utf8_valid(STR_NONE));
    assert_true(utf8_valid(STR("plain \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80")));
    assert_true(utf8_valid((struct str){"a\0b", 3}));
    assert_false(utf8_valid(STR("cut \xe2\x82")));
    assert_false(utf8_valid(STR("latin \xe4 one")));
    assert_false(utf8_valid(STR("\xc0\xaf")));
    assert_false(utf8_valid(STR("\xed\xa0\x80")));
    assert_false(utf8_valid(STR("\xf4\x90\x80\x80")));
}

static void hidden_characters(void **state)
{
    (void)state;
    static const uint32_t hidden[] = {0x00, 0x07, 0x08, 0x0b, 0x0d, 0x1b, 0x7f, 0x80, 0x9b, 0x9f, 0xa0, 0xad,
                                      0x2003, 0x202f, 0x2800,
                                      0x200b, 0x200d, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202e, 0x2060,
                                      0x2066, 0x2069, 0xfeff, 0xe0001, 0xe0041, 0xe007f};
    static const uint32_t shown[] = {0x09, 0x0a, ' ',    'a',    '~',
                                     0xe4, 0x20ac, 0x4e2d, 0x1f600, 0x10ffff};
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        assert_true(utf8_hidden(hidden[i]));
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        assert_false(utf8_hidden(shown[i]));
}

static void showing(void **state)
{
    (void)state;
    static const struct {
        struct str in;
        const char *one_line, *lines;
    } rows[] = {
        {STR("plain"), "plain", "plain"},
        {STR("a\nb\tc"), "a<U+000A>b<U+0009>c", "a\nb\tc"},
        {STR("\x1b[31mred"), "<U+001B>[31mred", "<U+001B>[31mred"},
        {STR("x\r\ny"), "x<U+000D><U+000A>y", "x<U+000D>\ny"},
        {STR("rm \xe2\x80\xae" "fdp.txt"), "rm <U+202E>fdp.txt", "rm <U+202E>fdp.txt"},
        {STR("\xc2\x9b" "31m"), "<U+009B>31m", "<U+009B>31m"},
        {STR("\xff\xc3"), "<0xFF><0xC3>", "<0xFF><0xC3>"},
        {STR("\xc3\xa4\xe2\x82\xac"), "\xc3\xa4\xe2\x82\xac", "\xc3\xa4\xe2\x82\xac"},
        {STR_NONE, "", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        BUF_SCOPE(buf, 1000);
        utf8_show(&buf, rows[i].in, false);
        assert_string_equal(buf_c(&buf), rows[i].one_line);
        buf_clear(&buf);
        utf8_show(&buf, rows[i].in, true);
        assert_string_equal(buf_c(&buf), rows[i].lines);
    }
}

/* Every byte at every place of texts of every length, against the plain definition. */
static void plain_runs(void **state)
{
    (void)state;
    for (size_t n = 0; n <= 40; n++) {
        for (size_t at = 0; at < n; at++) {
            for (unsigned c = 0; c < 256; c++) {
                char text[40];
                memset(text, 'x', sizeof text);
                text[at] = (char)c;
                bool plain = c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
                assert_int_equal(utf8_plain((struct str){text, n}), plain ? n : at);
                char copy[sizeof text];
                assert_int_equal(utf8_copy_plain(copy, (struct str){text, n}), plain ? n : at);
                assert_memory_equal(copy, text, plain ? n : at);
                bool seen = (c >= 0x20 && c < 0x7f) || c == '\t' || c == '\n';
                assert_int_equal(utf8_only_seen((struct str){text, n}), seen);
            }
        }
    }
    assert_int_equal(utf8_plain(STR_NONE), 0);
    assert_true(utf8_only_seen(STR_NONE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_point_comes_back),
        cmocka_unit_test(every_short_sequence),
        cmocka_unit_test(whole_texts),
        cmocka_unit_test(hidden_characters),
        cmocka_unit_test(showing),
        cmocka_unit_test(plain_runs),
    };
    return cmocka_run_group_tests_name("base/utf8", tests, NULL, NULL);
}
