/* The pure parts of MCP servers as tools: messages, results, definitions. */
#include "tools/mcp.h"

#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>

static const struct json *parsed(struct arena *arena, const char *text)
{
    const struct json *json = NULL;
    assert_true(rc_ok(json_parse(arena, str_of(text), &json, NULL)));
    return json;
}

static void messages_we_send(void **state)
{
    BUF_SCOPE(buf, 1000);
    (void)state;
    mcp_put_request(&buf, 7, "tools/call", STR("{\"a\":\n1}"));
    assert_string_equal(buf_c(&buf),
                        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"a\": 1}}\n");
    buf_clear(&buf);
    mcp_put_notification(&buf, "notifications/initialized", STR_NONE);
    assert_string_equal(buf_c(&buf), "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
    buf_clear(&buf);
    mcp_put_reply(&buf, STR("\"x\""), STR("ping"));
    assert_string_equal(buf_c(&buf), "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{}}\n");
    buf_clear(&buf);
    mcp_put_reply(&buf, STR("1"), STR("sampling/createMessage"));
    assert_true(str_has(buf_str(&buf), STR("-32601")));
}

static void messages_that_come(void **state)
{
    ARENA_SCOPE(arena);
    struct mcp_reply m;
    static const char *const bad[] = {"", "x", "[]", "7", "{}", "{\"id\":1}", "{\"id\":-1,\"result\":{}}",
                                      "{\"id\":\"1\",\"result\":{}}", "{\"id\":1.5,\"result\":{}}", "{\"result\":{}}"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (rc_ok(mcp_message_read(&arena, str_of(bad[i]), &m, NULL)))
            fail_msg("%s is taken", bad[i]);
    assert_true(rc_ok(mcp_message_read(&arena, STR("{\"id\":3,\"result\":{\"a\":1}}"), &m, NULL)));
    assert_true(m.id == 3 && m.result && m.asks.n == 0);
    assert_true(rc_ok(mcp_message_read(&arena, STR("{\"id\":3,\"error\":{\"code\":1,\"message\":\"no\"}}"), &m, NULL)));
    assert_true(!m.result && str_is(m.error, "no"));
    assert_true(rc_ok(mcp_message_read(&arena, STR("{\"id\":\"s\",\"method\":\"ping\"}"), &m, NULL)));
    assert_true(m.id == 0 && str_is(m.asks, "\"s\""));
    assert_true(rc_ok(mcp_message_read(&arena, STR("{\"method\":\"notifications/x\"}"), &m, NULL)));
    assert_true(m.id == 0 && m.asks.n == 0);
}

static void results(void **state)
{
    ARENA_SCOPE(arena);
    static const struct {
        const char *result, *text;
    } cases[] = {
        {"{\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"b\\n\"}]}", "a\nb\n"},
        {"{\"content\":[],\"structuredContent\":{\"a\": 1}}", "{\"a\": 1}"},
        {"{\"content\":[{\"type\":\"text\",\"text\":\"x\"}],\"structuredContent\":{\"a\":1}}", "x"},
        {"{\"content\":[{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"AAAA\"}]}",
         "(image, image/png, 4 bytes of base64, not shown)"},
        {"{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"u:1\",\"text\":\"t\"}}]}", "(u:1)\nt"},
        {"{\"content\":\"x\"}", "(no output)"},
        {"{}", "(no output)"},
        {"{\"content\":[7,null,{}]}", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct str text = mcp_result_text(&arena, parsed(&arena, cases[i].result));
        if (cases[i].text && !str_is(text, cases[i].text))
            fail_msg("%s becomes %.*s", cases[i].result, STR_ARG(text));
    }
}

static struct str digest_of_definition(struct arena *arena, const char *definition)
{
    return mcp_definition_digest(arena, mcp_definition_text(arena, STR("mcp__s__t"), parsed(arena, definition), false));
}

#define SCHEMA "\"inputSchema\":{\"type\":\"object\",\"properties\":"

static void definitions(void **state)
{
    ARENA_SCOPE(arena);
    static const char *const same[] = {
        "{\"description\":\"d\"," SCHEMA "{\"a\":{\"type\":\"string\"},\"b\":{}}}}",
        "{\"inputSchema\":{ \"properties\":{\"b\":{}, \"a\":{\"type\":\"string\"}}, \"type\":\"object\"},"
        "\"description\":\"d\"}",
        "{\"description\":\"\\u0064\"," SCHEMA "{\"a\":{\"type\":\"string\"},\"b\":{}}},"
        "\"annotations\":{\"readOnlyHint\":true}}",
    };
    static const char *const others[] = {
        "{\"description\":\"d \"," SCHEMA "{\"a\":{\"type\":\"string\"},\"b\":{}}}}",
        "{\"description\":\"d\"," SCHEMA "{\"a\":{\"type\":\"number\"},\"b\":{}}}}",
        "{\"description\":\"d\"," SCHEMA "{\"a\":{\"type\":\"string\"}}}}",
        "{\"description\":\"d\",\"inputSchema\":{\"type\":\"object\",\"required\":[\"a\",\"b\"]}}",
        "{\"description\":\"d\",\"inputSchema\":{\"type\":\"object\",\"required\":[\"b\",\"a\"]}}",
    };
    (void)state;
    struct str first = digest_of_definition(&arena, same[0]);
    for (size_t i = 1; i < sizeof same / sizeof *same; i++)
        assert_true(str_eq(digest_of_definition(&arena, same[i]), first));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_false(str_eq(digest_of_definition(&arena, others[i]), first));
        for (size_t j = 0; j < i; j++)
            assert_false(str_eq(digest_of_definition(&arena, others[i]), digest_of_definition(&arena, others[j])));
    }
    struct str preview = mcp_definition_preview(&arena, STR("mcp__s__t"), STR("old\n"), STR("new\n"));
    assert_true(str_has(preview, STR("\"-old\"")) && str_has(preview, STR("\"+new\"")));
}

/* Blanks that a deep schema is shown with are bounded, too. */
static void a_definition_that_explodes(void **state)
{
    ARENA_SCOPE(arena);
    BUF_SCOPE(buf, 1 << 20);
    (void)state;
    buf_puts(&buf, "{\"inputSchema\":");
    for (int i = 0; i < 120; i++)
        buf_putc(&buf, '[');
    for (int i = 0; i < 20000; i++)
        buf_puts(&buf, i ? ",1" : "1");
    for (int i = 0; i < 120; i++)
        buf_putc(&buf, ']');
    buf_putc(&buf, '}');
    assert_int_equal(mcp_definition_text(&arena, STR("t"), parsed(&arena, buf_c(&buf)), false).n, 0);
}

static void files(void **state)
{
    static const struct {
        const char *file;
        bool fine;
    } cases[] = {
        {"{\"mcpServers\":{}}", true},
        {"{\"mcpServers\":{\"a\":{\"command\":\"x\",\"args\":[\"y\"],\"env\":{\"K\":\"v\"}}}}", true},
        {"{\"mcpServers\":{\"a-b_c\":{\"type\":\"http\",\"url\":\"https://x/\",\"headers\":{\"A\":\"b\"}}}}", true},
        {"{\"mcpServers\":{\"a\":{\"command\":\"x\",\"timeout\":0}}}", false},
        {"{\"mcpServers\":{\"a\":{\"command\":\"x\",\"args\":[1]}}}", false},
        {"{\"mcpServers\":{\"a\":{\"command\":\"x\",\"args\":\"y\"}}}", false},
        {"{\"mcpServers\":{\"a\":{\"url\":\"https://x/\",\"headers\":{\"A\":\"b\\r\\nX: y\"}}}}", false},
        {"{\"mcpServers\":{\"a__b\":{\"command\":\"x\"}}}", false},
        {"{\"mcpServers\":{\"a_\":{\"command\":\"x\"}}}", false},
        {"{\"mcpServers\":{\"\":{\"command\":\"x\"}}}", false},
        {"{\"mcpServers\":{\"a\":7}}", false},
        {"{\"mcpServers\":[]}", false},
        {"{}", false},
        {"x", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct servers *servers = NULL;
        struct rc rc = servers_new(str_of(cases[i].file), false, &servers, NULL);
        if (rc_ok(rc) != cases[i].fine)
            fail_msg("%s is %s", cases[i].file, rc_ok(rc) ? "taken" : "refused");
        if (servers)
            servers_free(servers);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_we_send), cmocka_unit_test(messages_that_come), cmocka_unit_test(results),
        cmocka_unit_test(definitions),      cmocka_unit_test(a_definition_that_explodes), cmocka_unit_test(files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
