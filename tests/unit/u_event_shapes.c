/* Data of every kind of event: written and read back with the same bytes; what is printed from the tables is what the
 * tree holds. With NOD_WRITE=1 the printed files are written instead (dev/shapes). */
#include "u_event_pages.h"

#include "base/limits.h"
#include "base/utf8.h"
#include "event/life.h"
#include "event/shapes.h"
#include "io/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { FILE_BYTES_MAX = 1 << 20, LINES_MIN = 100 };

static const struct shape *shape_for(enum event_kind kind, struct str data)
{
    struct str change = shape_change(data);
    const struct shape *shape;
    for (size_t at = 0; (shape = shape_at(at)); at++)
        if (shape->kind == kind && (!shape->change || str_is(change, shape->change)))
            return shape;
    return NULL;
}

/* Conversations that run elsewhere bring their data as they like. */
static bool is_ours(enum event_kind kind, struct str data)
{
    bool message = kind == EVENT_USER_MESSAGE || kind == EVENT_AGENT_MESSAGE || kind == EVENT_LOCAL_SYSTEM_MESSAGE ||
                   kind == EVENT_RUN_STATUS;
    return !message || str_has(data, STR("\"runId\":\"")) || str_has(data, STR("\"source\":\"person\""));
}

static bool same_text(const struct shape_field *field, const void *a, const void *b)
{
    const struct str *one = (const void *)((const char *)a + field->offset);
    const struct str *other = (const void *)((const char *)b + field->offset);
    return (field->type != SHAPE_TEXT && field->type != SHAPE_RAW) || (str_eq(*one, *other) && !one->p == !other->p);
}

/* What comes with the bytes is what is read of them; a text that stands in them as it is, is found there. */
static void assert_made_as_read(const struct shape *shape, const void *read)
{
    ARENA_SCOPE(arena);
    const void *made = NULL;
    struct str bytes = shape_made(&arena, shape, read, &made);
    for (size_t i = 0; i < shape->count; i++) {
        const struct shape_field *field = &shape->fields[i];
        const char *member = (const char *)made + field->offset;
        const struct str *text = (const void *)member;
        size_t size = field->type == SHAPE_FLAG ? sizeof(bool) : field->type == SHAPE_WORD ? sizeof(unsigned) : 8;
        bool is_text = field->type == SHAPE_TEXT || field->type == SHAPE_RAW;
        bool left_out = field->type == SHAPE_NESTED || field->type == SHAPE_TEXTS;
        if (!same_text(field, made, read) ||
            (!is_text && !left_out && memcmp(member, (const char *)read + field->offset, size) != 0))
            fail_msg("%s.%s is not what is read", shape->name, field->wire);
        bool inside = is_text && text->p >= bytes.p && text->p + text->n <= bytes.p + bytes.n;
        if (is_text && text->n && !inside && (field->type == SHAPE_RAW || utf8_plain(*text) == text->n))
            fail_msg("%s.%s is no part of the bytes", shape->name, field->wire);
    }
}

static void assert_same_again(enum event_kind kind, struct str data)
{
    ARENA_SCOPE(arena);
    const struct shape *shape = shape_for(kind, data);
    if (!shape)
        fail_msg("no shape for kind %d: %.*s", (int)kind, STR_ARG(data));
    void *read = arena_alloc(&arena, shape->size);
    assert_true(shape_read(&arena, shape, data, read));
    struct str again = shape_data(&arena, shape, read);
    if (!str_eq(again, data))
        fail_msg("%s\n read:    %.*s\n written: %.*s", shape->name, STR_ARG(data), STR_ARG(again));
    assert_made_as_read(shape, read);
}

static void kept_data_is_written_with_the_same_bytes(void **state)
{
    ARENA_SCOPE(arena);
    struct str file, line;
    size_t lines = 0;
    bool seen[EVENT_KIND_END] = {0};
    (void)state;
    assert_true(rc_ok(file_read(&arena, TESTS_DIR "/golden/0.1.0/events.tsv", FILE_BYTES_MAX, &file, NULL)));
    while (!str_empty(line = str_cut(file, '\n', &file))) {
        uint64_t kind = 0;
        struct str data;
        assert_true(str_to_u64(str_cut(line, '\t', &data), &kind) && kind < EVENT_KIND_END);
        seen[kind] = true;
        lines++;
        if (is_ours((enum event_kind)kind, data))
            assert_same_again((enum event_kind)kind, data);
    }
    assert_true(lines > LINES_MIN);
    for (int kind = 1; kind < EVENT_RUN_LEASE; kind++) /* later kinds are not of that version */
        if (!seen[kind] && kind != EVENT_SYSTEM_PROMPT && kind != EVENT_USER_SYSTEM_PROMPT)
            fail_msg("no event of kind %s is in it", event_kind_name((enum event_kind)kind));
}

/* Statuses of the runs in the golden store, in order, are moves of the table. */
static void runs_move_by_the_table(void **state)
{
    ARENA_SCOPE(arena);
    struct str file, line, ids[16];
    enum run_status last[16] = {RUN_UNKNOWN};
    size_t runs = 0, moves = 0;
    (void)state;
    assert_true(rc_ok(file_read(&arena, TESTS_DIR "/golden/0.1.0/events.tsv", FILE_BYTES_MAX, &file, NULL)));
    while (!str_empty(line = str_cut(file, '\n', &file))) {
        struct str data, kind = str_cut(line, '\t', &data);
        struct data_run_status status;
        size_t at = 0;
        if (!str_is(kind, "12") || !READ_DATA(&arena, run_status, data, &status) || !status.run.n)
            continue;
        while (at < runs && !str_eq(ids[at], status.run))
            at++;
        assert_true(at < sizeof ids / sizeof *ids);
        if (at == runs)
            ids[runs++] = status.run;
        enum run_status to = run_status_parse(status.status);
        if (!life_run_move(last[at], to))
            fail_msg("from %s to %s", run_status_name(last[at]), run_status_name(to));
        last[at] = to;
        moves++;
    }
    assert_true(moves > 5);
}

/* What the scenario of the golden stores does not leave. */
static void further_data_too(void **state)
{
    (void)state;
    assert_same_again(EVENT_RUN_LEASE, STR("{\"owner\":\"own_1\"}"));
    assert_same_again(EVENT_DELIVERY_CLAIMED, STR("{\"deliveryId\":\"d\",\"toolCallId\":\"c\",\"owner\":\"own_1\"}"));
    assert_same_again(EVENT_DELIVERY_HELD, STR("{\"toolCallId\":\"c\",\"person\":\"alice\"}"));
    assert_same_again(EVENT_TOOL_APPROVAL_SNOOZED,
                      STR("{\"toolCallId\":\"c\",\"until\":\"2030-01-31T12:00:00.000Z\",\"by\":\"tok_1\"}"));
    assert_same_again(EVENT_TOOL_APPROVAL_SNOOZED, STR("{\"toolCallId\":\"c\"}"));
    assert_same_again(EVENT_TOOL_APPROVAL_ASSIGNED, STR("{\"toolCallId\":\"c\",\"person\":\"bob\",\"by\":\"tok_1\"}"));
    assert_same_again(EVENT_DELIVERY_ENDED,
                      STR("{\"deliveryId\":\"d\",\"toolCallId\":\"c\",\"person\":\"p\",\"channel\":\"h\","
                          "\"purpose\":\"ask\",\"outcome\":\"sent\",\"attempts\":1,\"status\":200}"));
    assert_same_again(EVENT_RULE_CHANGED,
                      STR("{\"change\":\"pinned\",\"root\":\"/r\",\"tool\":\"mcp__a__b\",\"digest\":\"d\","
                          "\"definition\":{\"description\":\"x\"},\"toolCallId\":\"definition_1\"}"));
    assert_same_again(EVENT_RULE_CHANGED,
                      STR("{\"change\":\"trusted\",\"path\":\"/p\",\"hash\":\"h\",\"toolCallId\":\"servers_1\"}"));
    assert_same_again(EVENT_TOOL_RESULT,
                      STR("{\"toolCallId\":\"c\",\"content\":\"x\",\"isError\":true,\"interrupted\":true,"
                          "\"supersededBy\":\"c.again\"}"));
    assert_same_again(EVENT_SESSION_CHANGED, STR("{\"change\":\"settings\",\"title\":\"\"}"));
    assert_same_again(EVENT_SESSION_CHANGED, STR("{\"change\":\"settings\",\"title\":\"a\\\"b\\u0001\"}"));
}

static void members_of_another_type_are_passed_over(void **state)
{
    ARENA_SCOPE(arena);
    struct data_tool_result result;
    (void)state;
    assert_true(READ_DATA(&arena, tool_result,
                          STR(" {\"x\":[1,{\"toolCallId\":\"no\"}], \"isError\" : 1 ,\"toolCallId\":7,\"content\":null,"
                              "\"supersededBy\":\"a\\u0062\\\"\"} "),
                          &result));
    assert_int_equal(result.call.n, 0);
    assert_int_equal(result.content.n, 0);
    assert_false(result.is_error);
    assert_true(str_is(result.superseded_by, "ab\""));
}

static void strings_end_at_the_right_quote(void **state)
{
    static const struct {
        const char *json, *want;
    } cases[] = {
        {"{\"toolCallId\":\"a\\\\\",\"threadId\":\"t\"}", "a\\"},
        {"{\"toolCallId\":\"a\\\"b\",\"threadId\":\"t\"}", "a\"b"},
        {"{\"toolCallId\":\"\\\\\\\"\",\"threadId\":\"t\"}", "\\\""},
        {"{\"x\\\\\":\"\\\\\",\"toolCallId\":\"\",\"threadId\":\"t\"}", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ARENA_SCOPE(arena);
        struct data_tool_started started;
        assert_true(READ_DATA(&arena, tool_started, str_of(cases[i].json), &started));
        assert_true(str_is(started.call, cases[i].want));
        assert_true(str_is(started.child, "t"));
    }
}

static void what_is_no_object_is_not_read(void **state)
{
    static const char *const bad[] = {
        "", "[]", "7", "{", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,", "{\"a\":\"\\", "{\"a\":[}", "{\"a\":1]",
        "{a:1}", "{\"toolCallId\":\"", "{,}",
    };
    ARENA_SCOPE(arena);
    struct data_tool_started started;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (READ_DATA(&arena, tool_started, str_of(bad[i]), &started))
            fail_msg("it was read: %s", bad[i]);
}

static void numbers_and_times(void **state)
{
    ARENA_SCOPE(arena);
    struct data_session_settings settings;
    struct data_tool_approval_alert alert;
    (void)state;
    assert_true(READ_DATA(&arena, session_settings, STR("{\"change\":\"settings\"}"), &settings));
    assert_int_equal(settings.timeout_seconds, -1);
    assert_null(settings.title.p);
    assert_true(READ_DATA(&arena, session_settings, STR("{\"approvalTimeoutSeconds\":1e3,\"title\":\"\"}"), &settings));
    assert_int_equal(settings.timeout_seconds, -1);
    assert_non_null(settings.title.p);
    assert_true(READ_DATA(&arena, tool_approval_alert, STR("{\"requestedAt\":\"2026-01-02T03:04:05.678Z\"}"), &alert));
    assert_int_equal(alert.requested_ms, 1767323045678);
}

static void compare(const char *path, const struct buf *printed)
{
    ARENA_SCOPE(arena);
    struct str file = STR_NONE;
    const char *whole = arena_c(&arena, arena_printf(&arena, TESTS_DIR "/../%s", path));
    if (getenv("NOD_WRITE")) {
        FILE *out = fopen(whole, "w");
        assert_non_null(out);
        assert_int_equal(fwrite(printed->p, 1, printed->n, out), printed->n);
        assert_int_equal(fclose(out), 0);
    }
    assert_true(rc_ok(file_read(&arena, whole, FILE_BYTES_MAX, &file, NULL)));
    if (!str_eq(file, buf_str(printed)))
        fail_msg("%s is not what the tables say: run dev/shapes", path);
}

static void printed_files_are_up_to_date(void **state)
{
    BUF_SCOPE(typescript, FILE_BYTES_MAX);
    BUF_SCOPE(markdown, FILE_BYTES_MAX);
    (void)state;
    print_typescript(&typescript);
    compare("web/src/events.gen.ts", &typescript);
    print_markdown(&markdown);
    compare("docs/EVENTS.md", &markdown);
}

static void schemas_are_json(void **state)
{
    ARENA_SCOPE(arena);
    BUF_SCOPE(buf, FILE_BYTES_MAX);
    struct json_out out = json_out(&buf);
    const struct json *json = NULL;
    (void)state;
    json_open(&out, '{');
    shape_print_schemas(&out);
    json_close(&out, '}');
    assert_true(rc_ok(json_parse(&arena, buf_str(&buf), &json, NULL)));
    assert_non_null(json_get(json_get(json, "ToolCallData"), "properties"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_data_is_written_with_the_same_bytes), cmocka_unit_test(further_data_too),
        cmocka_unit_test(runs_move_by_the_table),
        cmocka_unit_test(strings_end_at_the_right_quote),
        cmocka_unit_test(members_of_another_type_are_passed_over),  cmocka_unit_test(what_is_no_object_is_not_read),
        cmocka_unit_test(numbers_and_times),                        cmocka_unit_test(printed_files_are_up_to_date),
        cmocka_unit_test(schemas_are_json),
    };
    return cmocka_run_group_tests_name("shapes", tests, NULL, NULL);
}
