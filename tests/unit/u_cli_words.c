/* What is printed from the tables: complete, within its width, and docs/CLI.md keeps up with it. */
#include "cli/exits.h"
#include "cli/text.h"
#include "cli/words.h"
#include "io/file.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static void operands(void **state)
{
    static const struct {
        const char *text;
        int min, max;
    } cases[] = {{"", 0, 0}, {"SESSION", 1, 1}, {"TOOL INPUT", 2, 2}, {"[CALL...]", 0, INT32_MAX}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int min, max;
        command_operands(&(struct command){.operands = cases[i].text}, &min, &max);
        assert_int_equal(min, cases[i].min);
        assert_int_equal(max, cases[i].max);
    }
}

static void every_command_is_sound(void **state)
{
    (void)state;
    for (const struct command *c = commands; c->name; c++) {
        assert_ptr_equal(command_find(str_of(c->name)), c);
        assert_int_equal(c->id, c - commands);
        for (const struct option *o = c->options; o->name; o++) {
            assert_true(o->words[0]);
            assert_int_not_equal(o->letter, 'h');
            assert_string_not_equal(o->name, "help");
            enum setting_id same = settings_find(str_of(o->name), IN_FLAGS);
            assert_true(same == SETTING_COUNT || !(settings_table[same].audience & c->audience));
            for (const struct option *p = c->options; p != o; p++) {
                assert_string_not_equal(p->name, o->name);
                assert_true(!o->letter || p->letter != o->letter);
            }
        }
    }
}

static void fits(const char *name, struct str text)
{
    while (text.n) {
        struct str line = str_cut(text, '\n', &text);
        if (text_width(line) > 80)
            fail_msg("nod %s --help: '%.*s'", name, STR_ARG(line));
    }
}

static void help_of_settings_fits_and_is_complete(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    BUF_SCOPE(buf, TEXT_BYTES_MAX);
    words_settings(&buf, 80);
    fits("help settings", buf_str(&buf));
    for (const struct setting *s = settings_table; s < settings_table + SETTING_COUNT; s++) {
        const char *term = s->where & IN_FLAGS ? arena_printf(&arena, "\n      --%s", s->name).p
                                               : arena_printf(&arena, "\n      %s", s->environment).p;
        if (!str_has(buf_str(&buf), str_of(term)))
            fail_msg("nod help settings does not mention %s", s->name);
    }
}

static void help_fits_and_is_complete(void **state)
{
    (void)state;
    for (const struct command *c = commands; c->name; c++) {
        BUF_SCOPE(buf, TEXT_BYTES_MAX);
        words_command(&buf, c, 80);
        for (const struct option *o = c->options; o->name; o++)
            assert_true(str_has(buf_str(&buf), str_of(o->name)));
        assert_true(str_has(buf_str(&buf), STR("\nSettings such as --")));
        fits(c->name, buf_str(&buf));
    }
}

static void the_nearest_is_found(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    for (const struct command *c = commands; c->name; c++) {
        struct str typo = arena_printf(&arena, "%sq", c->name);
        struct str near = command_nearest(&arena, typo);
        if (!str_is(near, c->name))
            fail_msg("'%.*s' gave '%.*s'", STR_ARG(typo), STR_ARG(near));
    }
    assert_true(str_empty(command_nearest(&arena, STR("qqqqqqqq"))));
}

/* Every command, option, setting and exit status has its place in the document. */
static void the_document_keeps_up(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    struct str document;
    assert_true(rc_ok(file_read(&arena, TESTS_DIR "/../docs/CLI.md", 1 << 20, &document, NULL)));
    for (const struct command *c = commands; c->name; c++) {
        if (!str_has(document, arena_printf(&arena, "`nod %s", c->name)))
            fail_msg("docs/CLI.md does not mention nod %s", c->name);
        for (const struct option *o = c->options; o->name; o++)
            if (!str_has(document, arena_printf(&arena, "--%s", o->name)))
                fail_msg("docs/CLI.md does not mention --%s of nod %s", o->name, c->name);
    }
    for (int i = 0; i < SETTING_COUNT; i++) {
        const struct setting *s = &settings_table[i];
        if (s->environment && !str_has(document, arena_printf(&arena, "`%s`", s->environment)))
            fail_msg("docs/CLI.md does not mention %s", s->environment);
        if ((s->where & IN_FLAGS) && !str_has(document, arena_printf(&arena, "`--%s", s->name)))
            fail_msg("docs/CLI.md does not mention --%s", s->name);
    }
#define X(status, exit, words) assert_true(str_has(document, arena_printf(&arena, "| %d |", exit)));
    CALL_EXITS(X)
#undef X
#define X(exit, words) assert_true(str_has(document, arena_printf(&arena, "| %d |", exit)));
    EXITS(X)
#undef X
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operands),
        cmocka_unit_test(every_command_is_sound),
        cmocka_unit_test(help_fits_and_is_complete),
        cmocka_unit_test(help_of_settings_fits_and_is_complete),
        cmocka_unit_test(the_nearest_is_found),
        cmocka_unit_test(the_document_keeps_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
