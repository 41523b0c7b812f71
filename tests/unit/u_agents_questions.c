/* Questions and forms: what is read of them, and what an answer becomes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/questions.h"

static const char asked[] =
    "{\"questions\":[{\"question\":\"Colour?\",\"header\":\"C\","
    "\"options\":[{\"label\":\"Red\"},{\"label\":\"Blue\"}]},{\"question\":\"Sizes?\",\"multiSelect\":true,"
    "\"options\":[{\"label\":\"S\"},{\"label\":\"M\"},{\"label\":\"L\"}]}]}";
static const char form[] =
    "{\"message\":\"You\",\"requested_schema\":{\"type\":\"object\",\"required\":[\"name\"],\"properties\":{"
    "\"name\":{\"type\":\"string\"},\"age\":{\"type\":\"integer\"},\"size\":{\"type\":\"number\"},"
    "\"sure\":{\"type\":\"boolean\"},\"kind\":{\"type\":\"string\",\"enum\":[\"cat\",\"dog\"]}}}}";

/* The part that holds the answers, or NULL when they are refused. */
static const struct json *answered(struct arena *arena, const char *tool, const char *input, const char *const *answers)
{
    BUF_SCOPE(buf, 1 << 16);
    const struct json *json;
    struct questions questions;
    struct str given[8];
    size_t count = 0;
    assert_true(rc_ok(json_parse(arena, str_of(input), &json, NULL)));
    assert_true(questions_read(arena, str_of(tool), json, &questions));
    for (; answers[count]; count++)
        given[count] = str_of(answers[count]);
    if (rc_bad(questions_answer(&buf, &questions, given, count, NULL)))
        return NULL;
    assert_true(rc_ok(json_parse(arena, arena_str(arena, buf_str(&buf)), &json, NULL)));
    return json_get(json, questions.form ? "content" : "answers");
}

static void answers(void **state)
{
    (void)state;
    static const struct {
        const char *tool, *input;
        const char *given[8];
        const char *becomes; /* NULL: refused */
    } rows[] = {
        {"AskUserQuestion", asked, {"2", "1,3"}, "{\"Colour?\":\"Blue\",\"Sizes?\":\"S, L\"}"},
        {"AskUserQuestion", asked, {"red"}, "{\"Colour?\":\"Red\"}"},
        {"AskUserQuestion", asked, {"", "m"}, "{\"Sizes?\":\"M\"}"},
        {"AskUserQuestion", asked, {"green, or so", "S,none"}, "{\"Colour?\":\"green, or so\",\"Sizes?\":\"S, none\"}"},
        {"AskUserQuestion", asked, {"7"}, "{\"Colour?\":\"7\"}"},
        {"AskUserQuestion", asked, {"1", "1", "1"}, NULL},
        {"Elicitation", form, {"Ada", "36", "1.5", "Yes", "2"},
         "{\"name\":\"Ada\",\"age\":36,\"size\":1.5,\"sure\":true,\"kind\":\"dog\"}"},
        {"Elicitation", form, {"Ada"}, "{\"name\":\"Ada\"}"},
        {"Elicitation", form, {"", "36"}, NULL},
        {"Elicitation", form, {"Ada", "1.5"}, NULL},
        {"Elicitation", form, {"Ada", "1", "big"}, NULL},
        {"Elicitation", form, {"Ada", "1", "1", "maybe"}, NULL},
        {"Elicitation", form, {"Ada", "1", "1", "no", "cow"}, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ARENA_SCOPE(arena);
        const struct json *got = answered(&arena, rows[i].tool, rows[i].input, rows[i].given);
        if (!got != !rows[i].becomes || (got && !json_same_tokens(got->raw, str_of(rows[i].becomes))))
            fail_msg("row %zu: %.*s", i, got ? (int)got->raw.n : 7, got ? got->raw.p : "refused");
    }
}

static void no_questions(void **state)
{
    (void)state;
    static const struct {
        const char *tool, *input;
    } rows[] = {
        {"Bash", asked}, {"AskUserQuestion", "{}"}, {"AskUserQuestion", "{\"questions\":[]}"},
        {"AskUserQuestion", "{\"questions\":[{}]}"}, {"Elicitation", "{\"message\":\"x\"}"},
        {"Elicitation", "{\"requested_schema\":{\"properties\":{\"a\":{\"type\":\"array\"}}}}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ARENA_SCOPE(arena);
        const struct json *json;
        struct questions questions;
        assert_true(rc_ok(json_parse(&arena, str_of(rows[i].input), &json, NULL)));
        assert_false(questions_read(&arena, str_of(rows[i].tool), json, &questions));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers),
        cmocka_unit_test(no_questions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
