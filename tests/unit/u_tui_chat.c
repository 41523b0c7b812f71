/* A conversation in a terminal, without one: to whom keys belong, and what is on the screen. */
#include "cli/tui/chat.h"

#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char one_call[] =
    "{\"toolCallId\":\"c1\",\"sessionId\":\"s\",\"toolCall\":{\"name\":\"Bash\",\"input\":{\"command\":\"make test\"}},"
    "\"agent\":\"claude\",\"requestedAt\":\"2026-01-01T00:00:00.000Z\",\"deadline\":null,"
    "\"reason\":{\"why\":\"no rule\"},"
    "\"preview\":{\"type\":\"command\",\"command\":\"make test\"},\"suggestions\":[],\"digest\":\"d1\"}";

/* The state is static: a chat holds a pointer to its tui. */
static struct tui tui;
static struct chat chat;

static int begin(void **state)
{
    (void)state;
    tui = (struct tui){.width = 60, .height = 20, .live = true, .now_us = 100 * TUI_ARM_US, .now_ms = 1767225610000};
    chat_init(&chat, &tui, STR("Nod  claude"), "claude");
    return 0;
}

static int end(void **state)
{
    (void)state;
    chat_done(&chat);
    arena_done(&tui.arena);
    return 0;
}

static void ask(bool there)
{
    ARENA_SCOPE(arena);
    const struct json *call;
    struct tui_call *calls = arena_array(&arena, struct tui_call, 1);
    assert_true(rc_ok(json_parse(&arena, arena_str(&arena, str_of(one_call)), &call, NULL)));
    calls[0] = tui_read_call(&arena, call, STR_NONE);
    tui_take(&tui, &arena, calls, there);
    chat_settle(&chat);
}

static void write(const char *text)
{
    for (; *text; text++)
        assert_int_equal(chat_press(&chat, (uint32_t)*text), TUI_NOTHING);
}

static bool shows(const char *text)
{
    ARENA_SCOPE(arena);
    struct tui_screen screen = chat_draw(&arena, &chat);
    assert_int_equal(screen.count, tui.height < 6 ? 6 : tui.height);
    bool found = false;
    for (unsigned i = 0; i < screen.count; i++) {
        assert_true(text_width(screen.lines[i].text) <= (tui.width < 20 ? 20 : tui.width));
        found = found || str_has(screen.lines[i].text, str_of(text));
    }
    return found;
}

static void a_question_takes_the_keys_of_a_quiet_person(void **state)
{
    (void)state;
    ask(true);
    assert_true(chat.asking && shows("Waits for your answer") && shows("make test"));
    assert_int_equal(chat_press(&chat, 'y'), TUI_NOTHING); /* not yet half a second */
    tui.now_us += TUI_ARM_US;
    assert_int_equal(chat_press(&chat, 'y'), TUI_ALLOW_ONCE);
    ask(false);
    assert_false(chat.asking || shows("Waits for your answer"));
}

static void letters_of_the_line_answer_nothing(void **state)
{
    (void)state;
    write("yn");
    ask(true);
    assert_false(chat.asking);
    assert_true(shows("Tab or Esc to answer"));
    tui.now_us += 10 * TUI_ARM_US;
    write("yn");
    assert_true(shows("> ynyn"));
    assert_int_equal(chat_press(&chat, TUI_KEY_TAB), TUI_NOTHING);
    assert_int_equal(chat_press(&chat, 'y'), TUI_NOTHING); /* the first half second of the question's keys */
    tui.now_us += TUI_ARM_US;
    assert_int_equal(chat_press(&chat, 'y'), TUI_ALLOW_ONCE);
    assert_int_equal(chat_press(&chat, TUI_KEY_ESCAPE), TUI_NOTHING);
    assert_true(shows("> ynyn"));
}

static void lines_are_sent_and_come_back(void **state)
{
    (void)state;
    assert_int_equal(chat_press(&chat, TUI_KEY_ENTER), TUI_NOTHING);
    write("first");
    assert_int_equal(chat_press(&chat, 4), TUI_NOTHING); /* Ctrl-D ends only an empty line */
    assert_int_equal(chat_press(&chat, TUI_KEY_ENTER), CHAT_PROMPT);
    chat_sent(&chat);
    write("second");
    assert_int_equal(chat_press(&chat, TUI_KEY_ENTER), CHAT_PROMPT);
    chat_sent(&chat);
    (void)chat_press(&chat, TUI_KEY_UP);
    (void)chat_press(&chat, TUI_KEY_UP);
    assert_true(shows("> first"));
    (void)chat_press(&chat, TUI_KEY_DOWN);
    assert_true(shows("> second"));
    (void)chat_press(&chat, TUI_KEY_DOWN);
    assert_int_equal(chat_press(&chat, 4), CHAT_END);
    for (int i = 0; i < 3 * CHAT_HISTORY; i++) {
        write("x");
        chat_sent(&chat);
    }
    assert_int_equal(chat.history_count, CHAT_HISTORY);
}

static void the_conversation_scrolls_and_shows_nothing_hidden(void **state)
{
    (void)state;
    chat_say(&chat, '*', "you     ", STR("go"));
    chat_stream(&chat, STR("half an ans"));
    assert_true(shows("claude  half an ans"));
    chat_say(&chat, ' ', "claude  ", STR("an answer\x1b[2J\twith a tab"));
    assert_false(shows("half an ans"));
    assert_true(shows("<U+001B>[2J    with a tab"));
    chat_say_ends(&chat, '=', STR("  ✓ Bash"), STR("allowed by alice"));
    assert_true(shows("allowed by alice"));
    for (int i = 0; i < 40000; i++)
        chat_say(&chat, ' ', "claude  ", STR("a line that is said again and again"));
    assert_false(shows("you     go"));
    chat_say(&chat, ' ', "claude  ", STR("the last"));
    assert_true(shows("the last") && !chat.said.over);
    (void)chat_press(&chat, TUI_KEY_PAGE_UP);
    (void)chat_press(&chat, TUI_KEY_PAGE_UP);
    assert_false(shows("the last"));
    for (unsigned size = 1; size < 120; size += 7) {
        tui.width = tui.height = size;
        ask(size % 2);
        (void)shows("");
        (void)chat_press(&chat, TUI_KEY_TAB);
        (void)chat_press(&chat, '?');
        (void)shows("");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_question_takes_the_keys_of_a_quiet_person, begin, end),
        cmocka_unit_test_setup_teardown(letters_of_the_line_answer_nothing, begin, end),
        cmocka_unit_test_setup_teardown(lines_are_sent_and_come_back, begin, end),
        cmocka_unit_test_setup_teardown(the_conversation_scrolls_and_shows_nothing_hidden, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
