/* The terminal's inbox without a terminal: what keys do, and what is on the screen. */
#include "cli/tui/tui.h"

#include "base/err.h"
#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define EVIL "a\\u001b[2J\\u202eb<U>\\u200b"

static const char list_text[] =
    "[{\"toolCallId\":\"c1\",\"sessionId\":\"s\","
    "\"toolCall\":{\"name\":\"Bash\",\"input\":{\"command\":\"make test\",\"description\":\"" EVIL "\"}},"
    "\"agent\":\"" EVIL "\",\"requestedAt\":\"2026-01-01T00:00:00.000Z\",\"deadline\":null,"
    "\"reason\":{\"why\":\"no rule\"},\"preview\":{\"type\":\"command\",\"command\":\"make test " EVIL "\"},"
    "\"parts\":[{\"text\":\"make\",\"effect\":\"allow\",\"rule\":\"Bash(make:*)\"},"
    "{\"text\":\"rm\",\"effect\":\"deny\"}],\"title\":{\"kind\":\"Run a command\",\"verb\":\"Run 2 commands\"},"
    "\"suggestions\":[{\"label\":\"this\",\"rules\":[\"Bash(make test)\"]}],\"digest\":\"d1\"},"
    "{\"toolCallId\":\"c2\",\"sessionId\":\"s\",\"toolCall\":{\"name\":\"Write\",\"input\":{\"file_path\":\"/x\","
    "\"old_string\":\"old\",\"new_string\":\"new\\nnewer\"}},\"agent\":\"a\","
    "\"requestedAt\":\"2026-01-01T00:00:01.000Z\",\"deadline\":\"2026-01-01T00:01:00.000Z\",\"reason\":{},"
    "\"preview\":{\"type\":\"diff\",\"file_path\":\"/p/x\",\"cwd\":\"/p\",\"is_new_file\":false,"
    "\"unified\":[\"--- a/x\","
    "\"+++ b/x\",\"@@ -7 +7,2 @@\",\"-old\",\"+new\",\"+newer\"]},"
    "\"title\":{\"kind\":\"Write a file\",\"verb\":\"Replace\",\"object\":\"x\"},"
    "\"suggestions\":[],\"digest\":\"d2\"}]";

static void take(struct tui *tui, const char *text)
{
    ARENA_SCOPE(arena);
    const struct json *list = NULL;
    struct err err;
    struct str copy = arena_str(&arena, str_of(text));
    assert_true(rc_ok(json_parse(&arena, copy, &list, &err)));
    struct tui_call *calls = arena_array(&arena, struct tui_call, list->count + 1);
    size_t count = 0;
    for (const struct json *one = list->first; one; one = one->next)
        calls[count++] = tui_read_call(&arena, one, STR("title"));
    tui_take(tui, &arena, calls, count);
}

static struct tui fresh(void)
{
    struct tui tui = {.width = 80, .height = 24, .live = true, .now_us = 10 * TUI_ARM_US,
                      .now_ms = 1767225610000};
    take(&tui, list_text);
    return tui;
}

static bool on_screen(struct tui *tui, const char *text)
{
    ARENA_SCOPE(arena);
    struct tui_screen screen = tui_draw(&arena, tui);
    for (unsigned i = 0; i < screen.count; i++)
        if (str_has(screen.lines[i].text, str_of(text)) || str_has(screen.lines[i].beside, str_of(text)))
            return true;
    return false;
}

static void wait_half_a_second(struct tui *tui) { tui->now_us += TUI_ARM_US; }

static void check_text(struct str text, unsigned width)
{
    assert_true(text_width(text) <= width);
    for (uint32_t code; text.n;) {
        size_t n = utf8_decode(text, &code);
        assert_true(n > 0 && !utf8_hidden(code) && code != '\n' && code != '\t');
        text = str_sub(text, n, text.n);
    }
}

/* Every line fits and holds nothing that a terminal would obey. */
static void check_screen(struct tui *tui)
{
    ARENA_SCOPE(arena);
    struct tui_screen screen = tui_draw(&arena, tui);
    assert_int_equal(screen.count, tui->height < 6 ? 6 : tui->height);
    for (unsigned i = 0; i < screen.count; i++) {
        const struct tui_line *line = &screen.lines[i];
        unsigned width = tui->width < 20 ? 20 : tui->width;
        check_text(line->text, line->split ? line->split - 2 : width);
        check_text(line->beside, line->split ? width - line->split : 0);
    }
}

static void allow_waits_half_a_second(void **state)
{
    struct tui tui = fresh();
    (void)state;
    assert_int_equal(tui_press(&tui, 'y'), TUI_NOTHING);
    assert_int_equal(tui_press(&tui, 's'), TUI_NOTHING);
    assert_true(strstr(tui.notice, "half a second") != NULL);
    wait_half_a_second(&tui);
    assert_int_equal(tui_press(&tui, 'y'), TUI_ALLOW_ONCE);
    assert_int_equal(tui_press(&tui, 's'), TUI_ALLOW_SESSION);
    assert_int_equal(tui_press(&tui, 'e'), TUI_EDIT);
    assert_int_equal(tui_press(&tui, 'j'), TUI_NOTHING);
    assert_int_equal(tui_press(&tui, 'y'), TUI_NOTHING); /* another one is on screen now */
    wait_half_a_second(&tui);
    tui.live = false;
    assert_int_equal(tui_press(&tui, 'y'), TUI_NOTHING);
    arena_done(&tui.arena);
}

static void a_change_begins_the_half_second_again(void **state)
{
    struct tui tui = fresh();
    (void)state;
    wait_half_a_second(&tui);
    take(&tui, list_text); /* the same list: nothing changes */
    assert_true(tui_armed(&tui));
    ARENA_SCOPE(arena);
    struct str changed = arena_str(&arena, str_of(list_text));
    char *digest = strstr((char *)changed.p, "\"d1\"");
    digest[2] = '9';
    take(&tui, changed.p);
    assert_false(tui_armed(&tui));
    assert_true(strstr(tui.notice, "changed") != NULL);
    /* The one on screen is gone: what stands there now is another. */
    wait_half_a_second(&tui);
    take(&tui, "[]");
    assert_int_equal(tui.count, 0);
    assert_int_equal(tui_press(&tui, 'y'), TUI_NOTHING);
    assert_true(on_screen(&tui, "Nothing waits"));
    arena_done(&tui.arena);
}

static void deny_is_always_live_and_takes_words(void **state)
{
    struct tui tui = fresh();
    (void)state;
    assert_int_equal(tui_press(&tui, 'n'), TUI_NOTHING);
    for (const char *c = "noy"; *c; c++)
        assert_int_equal(tui_press(&tui, (uint32_t)*c), TUI_NOTHING);
    assert_int_equal(tui_press(&tui, 0xfc), TUI_NOTHING);
    assert_int_equal(tui_press(&tui, TUI_KEY_BACKSPACE), TUI_NOTHING);
    assert_int_equal(tui_press(&tui, TUI_KEY_BACKSPACE), TUI_NOTHING);
    assert_int_equal(tui_press(&tui, 0x202e), TUI_NOTHING); /* a hidden character is no word */
    assert_true(on_screen(&tui, "tell the agent: no"));
    assert_int_equal(tui_press(&tui, TUI_KEY_ENTER), TUI_DENY);
    assert_memory_equal(tui.words, "no", 2);
    assert_int_equal(tui.words_bytes, 2);
    assert_int_equal(tui_press(&tui, 'x'), TUI_NOTHING);
    assert_int_equal(tui_press(&tui, TUI_KEY_ESCAPE), TUI_NOTHING);
    assert_int_equal(tui.mode, TUI_LOOK);
    arena_done(&tui.arena);
}

static void always_needs_a_rule_and_that_all_was_shown(void **state)
{
    struct tui tui = fresh();
    (void)state;
    wait_half_a_second(&tui);
    assert_int_equal(tui_press(&tui, 'a'), TUI_NOTHING);
    assert_int_equal(tui.mode, TUI_LOOK); /* nothing was drawn yet */
    check_screen(&tui);
    assert_int_equal(tui_press(&tui, 'a'), TUI_NOTHING);
    assert_int_equal(tui.mode, TUI_CHOOSING);
    assert_true(on_screen(&tui, "Bash(make test)"));
    assert_int_equal(tui_press(&tui, 't'), TUI_NOTHING);
    assert_true(on_screen(&tui, "in this project, for an hour"));
    assert_int_equal(tui_press(&tui, '2'), TUI_NOTHING); /* there is only one */
    assert_int_equal(tui_press(&tui, '1'), TUI_ALLOW_ALWAYS);
    assert_int_equal(tui_press(&tui, 'j'), TUI_NOTHING);
    check_screen(&tui);
    assert_int_equal(tui_press(&tui, 'a'), TUI_NOTHING);
    assert_true(strstr(tui.notice, "no safe rule to suggest") != NULL);
    arena_done(&tui.arena);
}

static void nothing_hidden_reaches_the_screen(void **state)
{
    static const unsigned sizes[][2] = {{80, 24}, {20, 6}, {1, 1}, {200, 60}, {33, 9}};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct tui tui = fresh();
        tui.width = sizes[i][0];
        tui.height = sizes[i][1];
        const uint32_t keys[] = {'?', 'j', 'k', ' ', 'n', 'q', TUI_KEY_ESCAPE, TUI_KEY_WHEEL_DOWN, TUI_KEY_END};
        check_screen(&tui);
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            (void)tui_press(&tui, keys[k]);
            check_screen(&tui);
        }
        arena_done(&tui.arena);
    }
    struct tui tui = fresh();
    assert_true(on_screen(&tui, "<U+202E>"));
    assert_true(on_screen(&tui, "<U+001B>") || on_screen(&tui, "<0x1B>"));
    arena_done(&tui.arena);
}

/* From 100 columns on the list is at the left of the call; a click beside the list opens nothing. */
static void a_wide_screen_has_the_list_beside_the_call(void **state)
{
    ARENA_SCOPE(arena);
    struct tui tui = fresh();
    (void)state;
    tui.width = 99;
    struct tui_screen screen = tui_draw(&arena, &tui);
    assert_int_equal(screen.lines[1].split, 0);
    tui.width = 100;
    screen = tui_draw(&arena, &tui);
    assert_int_equal(screen.lines[1].split, 43);
    assert_true(str_has(screen.lines[1].text, STR("make test")));
    assert_true(str_has(screen.lines[2].text, STR("Replace x")));
    assert_true(str_has(screen.lines[1].beside, STR("1 of 2")));
    assert_true(str_has(screen.lines[2].beside, STR("Run 2 commands")));
    assert_int_equal(screen.lines[21].split, 43);
    assert_int_equal(screen.lines[22].split, 0); /* the foot */
    (void)tui_press(&tui, tui_click(2, 50));
    assert_int_equal(tui.at, 0);
    (void)tui_press(&tui, tui_click(2, 5));
    assert_int_equal(tui.at, 1);
    assert_true(on_screen(&tui, "2 of 2"));
    arena_done(&tui.arena);
}

static void a_call_is_snoozed_and_assigned_by_keys(void **state)
{
    struct tui tui = fresh();
    (void)state;
    assert_int_equal(tui_press(&tui, 'h'), TUI_NOTHING);
    assert_true(on_screen(&tui, "Snooze for (30m, 2h, 1d; 0 ends it): "));
    (void)tui_press(&tui, '2');
    (void)tui_press(&tui, 'h');
    assert_int_equal(tui_press(&tui, TUI_KEY_ENTER), TUI_SNOOZE);
    assert_memory_equal(tui.words, "2h", 2);
    tui.words_bytes = 0;
    assert_int_equal(tui_press(&tui, 'p'), TUI_NOTHING);
    assert_true(on_screen(&tui, "Assign to (empty: anybody): "));
    assert_int_equal(tui_press(&tui, TUI_KEY_ESCAPE), TUI_NOTHING);
    (void)tui_press(&tui, 'p');
    assert_int_equal(tui_press(&tui, TUI_KEY_ENTER), TUI_ASSIGN);
    tui.all[1].snoozed = true;
    assert_true(on_screen(&tui, "1 waiting, 1 snoozed"));
    arena_done(&tui.arena);
}

/* Deny is named at every width. */
static void keys_of_a_narrow_screen(void **state)
{
    struct tui tui = fresh();
    (void)state;
    assert_true(on_screen(&tui, "[n] deny  [x] stop  [?] help"));
    tui.width = 40;
    wait_half_a_second(&tui);
    assert_true(on_screen(&tui, "[y]es [n]o [s]ession [a]lways [e]dit [?]"));
    arena_done(&tui.arena);
}

static void the_call_is_shown_whole(void **state)
{
    struct tui tui = fresh();
    (void)state;
    assert_true(on_screen(&tui, "Run 2 commands"));
    assert_true(on_screen(&tui, "✓ passes by Bash(make:*)"));
    assert_true(on_screen(&tui, "✕ denied"));
    assert_true(on_screen(&tui, "Needs your approval: no rule"));
    (void)tui_press(&tui, 'j');
    assert_true(on_screen(&tui, "Replaced  x"));
    assert_true(on_screen(&tui, "   7 − old"));
    assert_true(on_screen(&tui, "   8 + newer"));
    assert_true(on_screen(&tui, "2 of 2"));
    assert_true(on_screen(&tui, "left"));
    arena_done(&tui.arena);
}

static const char asked_text[] =
    "[{\"toolCallId\":\"q\",\"sessionId\":\"s\",\"toolCall\":{\"name\":\"AskUserQuestion\","
    "\"input\":{\"questions\":[{\"question\":\"Which colour " EVIL "?\",\"header\":\"" EVIL "\","
    "\"options\":[{\"label\":\"Red\"},{\"label\":\"Blue\"}]},"
    "{\"question\":\"Which sizes?\",\"multiSelect\":true,\"options\":[{\"label\":\"S\"}]}]}},"
    "\"agent\":\"a\",\"reason\":{},\"preview\":{\"type\":\"generic\"},\"suggestions\":[],\"digest\":\"d1\"}]";

/* A plain yes would say nothing: the words are asked for first, a line for each question. */
static void questions_are_answered_in_turn(void **state)
{
    (void)state;
    struct tui tui = fresh();
    take(&tui, asked_text);
    wait_half_a_second(&tui);
    assert_int_equal(tui_press(&tui, 's'), TUI_NOTHING);
    assert_int_equal(tui.mode, TUI_ANSWERING);
    check_screen(&tui);
    assert_true(on_screen(&tui, "1 of 2, "));
    assert_int_equal(tui_press(&tui, '2'), TUI_NOTHING);
    assert_int_equal(tui_press(&tui, TUI_KEY_ENTER), TUI_NOTHING);
    assert_true(on_screen(&tui, "2 of 2, Which sizes?"));
    assert_int_equal(tui_press(&tui, TUI_KEY_ENTER), TUI_ANSWER);
    assert_true(str_is((struct str){tui.answers, tui.answers_bytes}, "2\n\n"));
    arena_done(&tui.arena);
}

/* Escape, a change of the call, and too many words end it without an answer. */
static void an_answer_can_be_given_up(void **state)
{
    (void)state;
    struct tui tui = fresh();
    take(&tui, asked_text);
    wait_half_a_second(&tui);
    (void)tui_press(&tui, 'y');
    (void)tui_press(&tui, '1');
    (void)tui_press(&tui, TUI_KEY_ESCAPE);
    assert_int_equal(tui.mode, TUI_LOOK);
    (void)tui_press(&tui, 'y');
    (void)tui_press(&tui, TUI_KEY_ENTER);
    take(&tui, list_text);
    assert_int_equal(tui.mode, TUI_LOOK);
    assert_int_equal(tui.answered, 0);
    take(&tui, asked_text);
    wait_half_a_second(&tui);
    (void)tui_press(&tui, 'y');
    for (unsigned i = 0; i < 2 * TUI_WORDS_BYTES; i++)
        (void)tui_press(&tui, 'x');
    tui.answers_bytes = TUI_ANSWERS_BYTES - 10;
    assert_int_equal(tui_press(&tui, TUI_KEY_ENTER), TUI_NOTHING);
    assert_int_equal(tui.mode, TUI_LOOK);
    arena_done(&tui.arena);
}

static void a_plan_chooses_the_mode_that_follows(void **state)
{
    (void)state;
    struct tui tui = fresh();
    take(&tui, "[{\"toolCallId\":\"p\",\"sessionId\":\"s\",\"toolCall\":{\"name\":\"ExitPlanMode\",\"input\":"
               "{\"plan\":\"# Plan\\n1. " EVIL "\"}},\"agent\":\"a\",\"reason\":{},\"preview\":{},"
               "\"suggestions\":[],\"digest\":\"d1\"}]");
    assert_true(on_screen(&tui, "Plan") && on_screen(&tui, "════") && !on_screen(&tui, "# Plan"));
    (void)tui_press(&tui, 'y');
    assert_int_equal(tui.mode, TUI_PLANNING);
    check_screen(&tui);
    assert_int_equal(tui_press(&tui, '2'), TUI_NOTHING); /* not yet half a second */
    wait_half_a_second(&tui);
    (void)tui_press(&tui, 'y');
    assert_int_equal(tui_press(&tui, '9'), TUI_NOTHING);
    assert_int_equal(tui_press(&tui, '2'), TUI_CARRY_OUT);
    assert_int_equal(tui.chosen, 1);
    arena_done(&tui.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allow_waits_half_a_second),
        cmocka_unit_test(a_change_begins_the_half_second_again),
        cmocka_unit_test(deny_is_always_live_and_takes_words),
        cmocka_unit_test(always_needs_a_rule_and_that_all_was_shown),
        cmocka_unit_test(nothing_hidden_reaches_the_screen),
        cmocka_unit_test(a_wide_screen_has_the_list_beside_the_call),
        cmocka_unit_test(a_call_is_snoozed_and_assigned_by_keys),
        cmocka_unit_test(keys_of_a_narrow_screen),
        cmocka_unit_test(the_call_is_shown_whole),
        cmocka_unit_test(questions_are_answered_in_turn),
        cmocka_unit_test(an_answer_can_be_given_up),
        cmocka_unit_test(a_plan_chooses_the_mode_that_follows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
