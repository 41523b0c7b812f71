/* Markdown in a terminal: the lines of a plan, and what must never be hidden in one. */
#include "cli/markdown.h"

#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void check(const char *text, const char *wanted)
{
    BUF_SCOPE(buf, 1 << 20);
    assert_true(markdown_put(&buf, str_of(text)));
    assert_string_equal(buf_c(&buf), wanted);
}

static void headings_and_paragraphs(void **state)
{
    (void)state;
    check("# Plan\nFirst line\nof a paragraph.\n\n## Why\nBecause.\n### Detail\nx\n",
          "*Plan\n#════\n \n First line of a paragraph.\n \n*Why\n#───\n \n Because.\n \n*Detail\n \n x\n");
    check("a\n\n---\n\nb\n", " a\n \n#────────────────────────────────────────\n \n b\n");
}

static void numbers_stay_where_bullets_are_nested(void **state)
{
    (void)state;
    check("1. Look\n2. Change\n   - `a.c`\n   - `b.c`\n     1. deep\n3. Test\n",
          " 1. Look\n 2. Change\n    • `a.c`\n    • `b.c`\n      1. deep\n 3. Test\n");
    check("7) seven\n8) eight\n", " 7) seven\n 8) eight\n");
    check("1. one\n\n   more of it\n\n2. two\n", " 1. one\n \n    more of it\n \n 2. two\n");
    check("Before:\n- [ ] open\n- [x] done\n-\n\nAfter.\n", " Before:\n \n ☐ open\n ☑ done\n • \n \n After.\n");
}

static void code_keeps_its_lines(void **state)
{
    (void)state;
    check("Run:\n\n```sh\nmake\n  make test\n```\n", " Run:\n \n   │ make\n   │   make test\n");
    check("1. Run\n   ```\n   x\n   ```\n2. End\n", " 1. Run\n      │ x\n 2. End\n");
    check("> quoted\n> words\n", " > quoted words\n");
}

static void tables_have_columns(void **state)
{
    (void)state;
    check("| file | change |\n|---|---|\n| a.c | **two** lines |\n| long.c | `x` |\n",
          "*file   │ change\n#───────┼──────────\n a.c    │ two lines\n long.c │ `x`\n");
#define WIDE "1234567890123456789012345678901234567890"
    check("|a|b|\n|---|---|\n|" WIDE "|" WIDE "|\n|x|y|\n", " \n a: " WIDE "\n   b: " WIDE "\n \n a: x\n   b: y\n");
}

static void nothing_is_hidden(void **state)
{
    (void)state;
    check("[docs](http://evil.example/x) and <http://plain.example>\n",
          " docs (http://evil.example/x) and http://plain.example\n");
    check("![alt](http://x.example/p.png)\n", " picture alt (http://x.example/p.png)\n");
    check("<!-- rm -rf / --> a &amp; b &lt;i&gt;\n", " <!-- rm -rf / --> a & b <i>\n");
    check("a\tb \033[2J\n", " a    b <U+001B>[2J\n");
}

/* Few bytes of source that would make a huge table, or nest without end. */
static void what_is_too_much_is_not_rendered(void **state)
{
    (void)state;
    BUF_SCOPE(source, 1 << 20);
    BUF_SCOPE(out, 1 << 24);
    for (int row = 0; row < 3; row++) {
        for (int i = 0; i < 100; i++)
            buf_puts(&source, row == 1 ? "|---" : "|a");
        buf_puts(&source, "\n");
    }
    assert_true(markdown_put(&out, buf_str(&source)));
    for (int row = 0; row < 5000; row++)
        buf_puts(&source, "|\n");
    buf_clear(&out);
    assert_false(markdown_put(&out, buf_str(&source)));
    assert_int_equal(out.n, 0);
    buf_clear(&source);
    for (int i = 0; i < 1000; i++)
        buf_puts(&source, "> 1. ");
    buf_puts(&source, "deep\n");
    assert_true(markdown_put(&out, buf_str(&source)));
    assert_true(str_has(buf_str(&out), STR("deep")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headings_and_paragraphs), cmocka_unit_test(numbers_stay_where_bullets_are_nested),
        cmocka_unit_test(code_keeps_its_lines), cmocka_unit_test(tables_have_columns),
        cmocka_unit_test(nothing_is_hidden), cmocka_unit_test(what_is_too_much_is_not_rendered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
