/* Text for a terminal: safe, aligned, cut where it must be. */
#include "cli/text.h"

#include "cli/body.h"
#include "cli/view.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static void equal(struct str got, const char *want)
{
    if (!str_is(got, want))
        fail_msg("got '%.*s', want '%s'", STR_ARG(got), want);
}

static const struct json *parse(struct arena *arena, const char *text)
{
    const struct json *value;
    struct rc rc = json_parse(arena, str_of(text), &value, NULL);
    assert_true(rc_ok(rc));
    return value;
}

static void hidden_characters_are_shown(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    equal(text_line(&arena, STR("a\nb")), "a⏎b");
    equal(text_line(&arena, STR("\n")), "⏎");
    equal(text_line(&arena, STR("")), "");
    equal(text_line(&arena, STR("\x1b[31mred\rgone")), "<U+001B>[31mred<U+000D>gone");
    equal(text_line(&arena, STR("x\xe2\x80\xaey\xff")), "x<U+202E>y<0xFF>");
    BUF_SCOPE(buf, 1000);
    text_block(&buf, STR("one\n\ntwo\x07\n"), 2);
    equal(buf_str(&buf), "  one\n  \n  two<U+0007>\n");
}

static void widths(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    assert_int_equal(text_width(STR("abc")), 3);
    assert_int_equal(text_width(STR("añ…")), 3);
    assert_int_equal(text_width(STR("日本")), 4);
    assert_int_equal(text_width(STR("e\xcc\x81")), 1);
    equal(text_fit(&arena, STR("abcdef"), 0), "abcdef");
    equal(text_fit(&arena, STR("abcdef"), 6), "abcdef");
    equal(text_fit(&arena, STR("abcdef"), 5), "abcd…");
    equal(text_fit(&arena, STR("日本語"), 4), "日…");
}

static void wrapping(void **state)
{
    (void)state;
    BUF_SCOPE(buf, 1000);
    text_wrap(&buf, STR("one two three four"), 2, 11);
    equal(buf_str(&buf), "one two\n  three\n  four\n");
}

/* What goes on below a line stands under its words; nothing is lost where the words for the right end do not fit. */
static void rows_of_a_body(void **state)
{
    (void)state;
    BUF_SCOPE(buf, 1000);
    assert_int_equal(text_hang(STR("  12. item")), 6);
    assert_int_equal(text_hang(STR("  • item")), 4);
    assert_int_equal(text_hang(STR("   12 + added")), 8);
    assert_int_equal(text_hang(STR("    plain")), 4);
    assert_int_equal(text_hang(STR("12")), 0);
    body_write(&buf, STR(" 1. one two three four five\n*make test\tneeds approval\n"), false, 21, 0);
    equal(buf_str(&buf), "1. one two three \n   four five\nmake test\nneeds approval\n");
    buf_clear(&buf);
    body_write(&buf, STR("*make\tasks\n"), false, 30, 2);
    equal(buf_str(&buf), "  make                    asks\n");
    buf_clear(&buf);
    body_write(&buf, STR("*make\tasks\n"), false, 0, 2);
    equal(buf_str(&buf), "  make  asks\n");
}

static void what_is_long_is_cut_and_says_so(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    BUF_SCOPE(buf, 4 << 20);
    size_t left;
    equal(text_part(STR("a\nb\nc"), 2, 100, &left), "a\nb\n");
    assert_int_equal(left, 1);
    equal(text_part(STR("añb"), 5, 2, &left), "añ");
    assert_int_equal(left, 1);
    for (int i = 0; i < 400; i++)
        buf_puts(&buf, " x\n");
    struct str whole = buf_str(&buf);
    assert_true(str_eq(body_beginning(&arena, whole, STR("c1")), whole));
    buf_puts(&buf, " y\n");
    assert_true(str_ends(body_beginning(&arena, buf_str(&buf), STR("c1")),
                         STR("\n!… 1 more line (0.0 KB). All of it: nod show c1 --full\n")));
    buf_clear(&buf);
    for (int i = 0; i < 1 << 20; i++)
        buf_putc(&buf, 'z');
    struct str cut = body_beginning(&arena, buf_str(&buf), STR("c 1"));
    assert_true(cut.n < 40 << 10);
    assert_true(str_ends(cut, STR("z…\n!… 1 more line (992.0 KB). All of it: nod show 'c 1' --full\n")));
}

static void ages(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    equal(text_age(&arena, -5), "now");
    equal(text_age(&arena, 999), "now");
    equal(text_age(&arena, 1000), "1s");
    equal(text_age(&arena, 59999), "59s");
    equal(text_age(&arena, 60000), "1m");
    equal(text_age(&arena, 7200000), "2h");
    equal(text_age(&arena, 86400000 * 3), "3d");
}

static void times(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    assert_int_equal(setenv("TZ", "UTC", 1), 0);
    int64_t now_ms = 1763188200000; /* 2025-11-15T06:30:00Z */
    equal(text_time(&arena, STR("2025-11-15T06:29:59.123Z"), now_ms), "06:29:59");
    equal(text_time(&arena, STR("2025-11-14T06:29:59.123Z"), now_ms), "2025-11-14 06:29:59");
    equal(text_time(&arena, STR("yester\x1b"), now_ms), "yester<U+001B>");
    equal(text_time(&arena, STR(""), now_ms), "");
}

static void json_for_people(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    BUF_SCOPE(buf, 1000);
    text_json(&buf,
              parse(&arena,
                    "{\"a\":1.50,\"b\":\"x\\u001b\",\"c\":[],\"d\":{},\"e\":[1,{\"f\":true,\"g\":null}],"
                    "\"h\":{\"i\":\"l1\\nl2\"},\"k\\n:\":0}"),
              2);
    equal(buf_str(&buf),
          "  a: 1.50\n  b: x<U+001B>\n  c: []\n  d: {}\n  e:\n    - 1\n    - f: true\n      g: null\n"
          "  h:\n    i: |\n      l1\n      l2\n  k<U+000A>:: 0\n");
    buf_clear(&buf);
    text_json(&buf, parse(&arena, "\"plain\""), 1);
    equal(buf_str(&buf), " plain\n");
}

static void summaries(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    equal(text_summary(&arena, parse(&arena, "{\"description\":\"d\",\"command\":\"make\\ntest\"}")),
          "make⏎test");
    equal(text_summary(&arena, parse(&arena, "{\"file_path\":\"/a\",\"content\":\"x\"}")), "/a");
    equal(text_summary(&arena, parse(&arena, "{\"command\":7}")), "{\"command\":7}");
    equal(text_summary(&arena, NULL), "");
}

/* What is printed behind `nod approve` is copied into shells. */
static void operands_for_a_shell(void **state)
{
    ARENA_SCOPE(arena);
    (void)state;
    equal(text_operand(&arena, STR("toolu_01-a.b:c@d,e+f")), "toolu_01-a.b:c@d,e+f");
    equal(text_operand(&arena, STR("=ls")), "'=ls'");
    equal(text_operand(&arena, STR("a;reboot")), "'a;reboot'");
    equal(text_operand(&arena, STR("$(reboot)")), "'$(reboot)'");
    equal(text_operand(&arena, STR("a|b&c>d*[x]{y}~!")), "'a|b&c>d*[x]{y}~!'");
    equal(text_operand(&arena, STR("it's")), "'it'\\''s'");
    equal(text_operand(&arena, STR("-y")), "-- -y");
    equal(text_operand(&arena, STR("--all;x")), "-- '--all;x'");
    equal(text_operand(&arena, STR("")), "''");
}

static void tables(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    BUF_SCOPE(buf, 1000);
    struct table table = {.arena = &arena, .columns = 3, .width = 22};
    table_row(&table, (struct str[]){STR("A"), STR("BB"), STR("C")});
    table_row(&table, (struct str[]){STR("日本"), STR("x"), STR("a long last column")});
    table_write(&buf, &table);
    equal(buf_str(&buf), "A     BB  C\n日本  x   a long last…\n");
    buf_clear(&buf);
    table.width = 0;
    table_write(&buf, &table);
    equal(buf_str(&buf), "A     BB  C\n日本  x   a long last column\n");
}

static void tints(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    equal(text_tinted(&arena, false, TINT_RED, STR("x")), "x");
    equal(text_tinted(&arena, true, TINT_NONE, STR("x")), "x");
    equal(text_tinted(&arena, true, TINT_RED, STR("x")), "\033[31mx\033[0m");
}

static void decisions_in_words(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    equal(body_decision(&arena, parse(&arena, "{\"decision\":\"deny\",\"actor\":\"al\\u001bice\"}")),
          "denied by al<U+001B>ice");
    equal(
        body_decision(&arena, parse(&arena, "{\"decision\":\"allow_once\",\"decidedBy\":{\"kind\":\"person\","
                                            "\"actor\":\"bob\"}}")),
        "allowed by bob");
    equal(
        body_decision(&arena, parse(&arena, "{\"decision\":\"allow_once\",\"decidedBy\":{\"kind\":\"policy\","
                                            "\"rule\":\"Read\"}}")),
        "allowed by policy: Read");
    equal(body_decision(&arena, parse(&arena, "{\"decision\":null,\"decidedBy\":null}")), "");
}

#define PENDING(...) "{\"pendingApprovals\":[" __VA_ARGS__ "]}"
#define WAITING(id, session) "{\"toolCallId\":\"" id "\",\"sessionId\":\"" session "\"}"

static void beginnings_of_ids(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    const struct json *pending = parse(
        &arena, PENDING(WAITING("call_a1", "s1") "," WAITING("call_a12", "s1") "," WAITING("call_b", "s2")));
    const struct json *found;
    struct err err = {0};
    assert_true(rc_ok(view_match(pending, "call_b", &found, &err)));
    equal(json_text(found, "toolCallId"), "call_b");
    assert_true(
        rc_ok(view_match(pending, "call_a1", &found, &err))); /* a whole id comes before a beginning */
    equal(json_text(found, "toolCallId"), "call_a1");
    assert_true(rc_ok(view_match(pending, "call_a12", &found, &err)));
    equal(json_text(found, "toolCallId"), "call_a12");
    assert_int_equal(view_match(pending, "call_a", &found, &err).code, ERR_AMBIGUOUS);
    assert_non_null(strstr(err.text, "call_a12 of session s1"));
    assert_true(rc_ok(view_match(pending, "ll_b", &found, &err))); /* its end */
    equal(json_text(found, "toolCallId"), "call_b");
    assert_true(rc_ok(view_match(pending, "l_b", &found, &err))); /* too short to be meant */
    assert_null(found);
    assert_true(rc_ok(view_match(pending, "x", &found, &err)));
    assert_null(found);
    const struct json *twice = parse(&arena, PENDING(WAITING("c", "s1") "," WAITING("c", "s2")));
    assert_int_equal(view_match(twice, "c", &found, &err).code, ERR_AMBIGUOUS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hidden_characters_are_shown),
        cmocka_unit_test(widths),
        cmocka_unit_test(wrapping),
        cmocka_unit_test(rows_of_a_body),
        cmocka_unit_test(what_is_long_is_cut_and_says_so),
        cmocka_unit_test(ages),
        cmocka_unit_test(times),
        cmocka_unit_test(json_for_people),
        cmocka_unit_test(summaries),
        cmocka_unit_test(operands_for_a_shell),
        cmocka_unit_test(tables),
        cmocka_unit_test(tints),
        cmocka_unit_test(decisions_in_words),
        cmocka_unit_test(beginnings_of_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
