/* What a request says and how it is answered: bodies at their limits, query, cursors, decisions, errors. */
#include "u_api.h"

#include "base/buf.h"

/* ---- bodies ---- */

static void a_body_may_be_as_large_as_its_route_takes(void **state)
{
    static const struct {
        const char *target;
        size_t bytes;
    } rows[] = {
        {"/api/sessions", LIMIT_BODY_BYTES},
        {"/api/threads/t/tool-calls", LIMIT_BODY_BYTES},
        {"/api/threads/t/tool-calls?wait=1&large=1", LIMIT_LARGE_BODY_BYTES},
        {"/api/sessions/s/approvals/c?large=1", LIMIT_BODY_BYTES},
        {"/api/hooks/claude", LIMIT_LARGE_BODY_BYTES},
        {"/api/hooks", LIMIT_BODY_BYTES},
        {"/api/mcp", LIMIT_LARGE_BODY_BYTES},
        {"/api/mcpx", LIMIT_BODY_BYTES},
        {"/api/login", LIMIT_OPEN_BODY_BYTES},
        {"/api/login?large=1", LIMIT_OPEN_BODY_BYTES},
        {"/api/logins", LIMIT_BODY_BYTES},
        {"/api/answers", LIMIT_OPEN_BODY_BYTES},
        {"/api/answers/look", LIMIT_OPEN_BODY_BYTES},
        {"/api/answers/slack/x", LIMIT_PRESS_BYTES},
    };
    size_t count;
    const struct route *routes = routes_all(&count);
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(api_body_max(str_of(rows[i].target)), rows[i].bytes);
    for (size_t i = 0; i < count; i++) /* nobody without a token can make us hold much */
        if (routes[i].right.scope == SCOPE_NONE && routes[i].body != BODY_NONE)
            assert_int_equal(api_body_max(str_of(routes[i].path)), LIMIT_OPEN_BODY_BYTES);
}

static const char *nested(struct buf *buf, int levels)
{
    buf_clear(buf);
    for (int i = 0; i < levels; i++)
        buf_put(buf, i ? STR("[") : STR("{\"a\":"));
    buf_put(buf, STR("1"));
    for (int i = levels; i-- > 0;)
        buf_putc(buf, i ? ']' : '}');
    buf_putc(buf, '\0');
    return buf_str(buf).p;
}

static void a_body_is_an_object_that_is_not_too_deep(void **state)
{
    static const char *const bad[] = {"", " ", "{", "[]", "1", "\"x\"", "null", "{}{}", "{\"a\":1,}",
                                      "{\"a\":\"\\ud800\"}"};
    struct token admin = token_of(ROLE_ADMIN, NULL);
    BUF_SCOPE(buf, 4096);
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (status_of("POST /api/sessions", NULL, bad[i], &admin) != 400)
            fail_msg("%s is taken: %d", bad[i], answer.status);
    assert_int_equal(status_of("POST /api/sessions", NULL, "{}", &admin), PREPARED);
    assert_int_equal(status_of("POST /api/sessions", NULL, " {\"a\":[]} ", &admin), PREPARED);
    assert_int_equal(status_of("POST /api/sessions", NULL, nested(&buf, LIMIT_GIVEN_DEPTH), &admin), PREPARED);
    assert_int_equal(status_of("POST /api/sessions", NULL, nested(&buf, LIMIT_GIVEN_DEPTH + 1), &admin), 400);
    assert_int_equal(status_of("POST /api/sessions", NULL, nested(&buf, LIMIT_JSON_DEPTH + 1), &admin), 400);
    assert_int_equal(status_of("POST /api/ping", NULL, "", &admin), PREPARED); /* may be left out */
    assert_int_equal(status_of("POST /api/ping", NULL, "[]", &admin), 400);
    assert_int_equal(status_of("GET /api/me", NULL, "[", &admin), PREPARED); /* takes none, and reads none */
}

static void a_body_with_too_many_values_is_refused(void **state)
{
    struct token admin = token_of(ROLE_ADMIN, NULL);
    BUF_SCOPE(buf, LIMIT_BODY_BYTES);
    (void)state;
    for (int more = 0; more <= 1; more++) { /* the list is a value, too; the object is not counted */
        buf_clear(&buf);
        buf_put(&buf, STR("{\"a\":["));
        for (int i = 0; i < LIMIT_JSON_VALUES - 1 + more; i++)
            buf_put(&buf, i ? STR(",1") : STR("1"));
        buf_put(&buf, STR("]}"));
        buf_putc(&buf, '\0');
        assert_int_equal(status_of("POST /api/sessions", NULL, buf_str(&buf).p, &admin), more ? 400 : PREPARED);
    }
}

static int status_of_type(const char *type)
{
    ARENA_SCOPE(arena);
    static char connection; /* the request came over one: its content type counts */
    struct token admin = token_of(ROLE_ADMIN, NULL);
    const char *headers = type ? arena_printf(&arena, "Content-Type: %s", type).p : NULL;
    struct http_request *request = request_new("POST /api/sessions", headers, STR("{}"));
    request->connection = (void *)&connection;
    api_dispatch(api, request, &admin);
    return answer.status;
}

/* A form of another site can send none of the refused types without asking first. */
static void a_body_is_sent_as_json(void **state)
{
    static const char *const refused[] = {
        NULL, "", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "text/json",
        "application/jsonp", "text/plain; application/json", "application/json, text/plain",
    };
    (void)state;
    assert_int_equal(status_of_type("application/json"), PREPARED);
    assert_int_equal(status_of_type("Application/JSON ; charset=utf-8"), PREPARED);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (status_of_type(refused[i]) != 415)
            fail_msg("%s is taken: %d", refused[i], answer.status);
}

/* ---- query and cursors ---- */

static struct exchange *exchange_of(const char *query)
{
    struct http_request *request = request_new("GET /", NULL, STR_NONE);
    struct exchange *x = arena_new(&request->arena, struct exchange);
    request->query = arena_str(&request->arena, str_of(query));
    *x = (struct exchange){.api = api, .http = request, .arena = &request->arena};
    return x;
}

static void a_place_is_a_cursor_or_a_number_and_not_both(void **state)
{
    static const struct {
        const char *query;
        int64_t seq; /* 7: as it was; -1: refused */
    } rows[] = {
        {"", 7}, {"x=1", 7}, {"after=0", 0}, {"after=12", 12}, {"cursor=s1.12", 12}, {"cursor=s1%2e12", 12},
        {"after=9223372036854775807", INT64_MAX}, {"cursor=s1.9223372036854775807", INT64_MAX},
        {"after=9223372036854775808", -1}, {"cursor=s1.9223372036854775808", -1}, {"after=", -1}, {"after=-1", -1},
        {"after=+1", -1}, {"after=1x", -1}, {"after=s1.5", -1}, {"cursor=", -1}, {"cursor=12", -1}, {"cursor=s1.", -1},
        {"cursor=s2.12", -1}, {"cursor=S1.12", -1}, {"cursor=s1.s1.12", -1}, {"cursor=s1.1&after=1", -1},
        {"after=1&cursor=s1.1", -1}, {"after=%zz", -1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct exchange *x = exchange_of(rows[i].query);
        uint64_t seq = 7;
        struct err err;
        bool ok = rc_ok(cursor_query(x, "after", &seq, &err));
        if (ok != (rows[i].seq >= 0) || seq != (uint64_t)(ok ? rows[i].seq : 7))
            fail_msg("%s: %s, %llu", rows[i].query, ok ? "taken" : err.text, (unsigned long long)seq);
        http_drop(x->http);
    }
}

/* The cursor of a page, sent back as it came. */
static void a_cursor_comes_back_as_the_place_it_was_made_of(void **state)
{
    static const uint64_t seqs[] = {0, 1, 4095, 1ull << 53, INT64_MAX};
    (void)state;
    for (size_t i = 0; i < sizeof seqs / sizeof *seqs; i++) {
        ARENA_SCOPE(arena);
        JSON_SCOPE(buf, out, 256);
        const struct json *page;
        uint64_t seq = 7;
        json_open(&out, '{');
        cursor_write(&out, seqs[i]);
        json_close(&out, '}');
        assert_true(rc_ok(json_parse(&arena, buf_str(&buf), &page, NULL)));
        assert_true(cursor_parse(json_text(page, "cursor"), &seq));
        assert_true(seq == seqs[i]);
        assert_true(cursor_parse(json_get(page, "next")->raw, &seq));
        assert_true(seq == seqs[i]);
    }
}

static void a_number_of_a_query_has_a_limit(void **state)
{
    struct exchange *x = exchange_of("limit=200&none=&twice=1&twice=2&high=201");
    uint64_t value = 7;
    struct err err;
    (void)state;
    assert_true(rc_ok(api_query_u64(x, "limit", 200, &value, &err)));
    assert_int_equal(value, 200);
    assert_int_equal(api_query_u64(x, "high", 200, &value, &err).code, ERR_INVALID);
    assert_string_equal(err.text, "high= must be a whole number from 0 to 200");
    assert_int_equal(api_query_u64(x, "none", 200, &value, &err).code, ERR_INVALID);
    assert_int_equal(value, 200);
    assert_true(rc_ok(api_query_u64(x, "absent", 200, &value, &err)));
    assert_int_equal(value, 200);
    assert_true(rc_ok(api_query_u64(x, "twice", 200, &value, &err)));
    assert_int_equal(value, 1);
    http_drop(x->http);
}

/* ---- decisions ---- */

static struct rc read_decision(struct exchange *x, const char *body, struct decide *ret_decide, struct err *err)
{
    *ret_decide = (struct decide){0};
    TRY(json_parse(x->arena, arena_str(x->arena, str_of(body)), &x->body, err));
    return approvals_read_decision(x, ret_decide, err);
}

static void a_decision_says_only_what_goes_together(void **state)
{
    static const char *const good[] = {
        "{\"decision\":\"allow_once\"}", "{\"decision\":\"allow_session\",\"rules\":[\"Read\"],\"uses\":1}",
        "{\"decision\":\"allow_always\",\"scope\":\"everywhere\",\"rules\":[\"Bash(ls:*)\",\"Read\"],"
            "\"expiresAt\":\"2030-01-31T12:00:00Z\"}",
        "{\"decision\":\"allow_always\",\"rules\":null}",
        "{\"decision\":\"allow_once\",\"updatedInput\":{},\"mode\":\"acceptEdits\"}",
        "{\"decision\":\"deny\",\"feedback\":\"no\",\"rules\":[]}", "{\"decision\":\"abort\",\"more\":[1]}",
    };
    static const char *const bad[] = {
        "{}", "{\"decision\":\"\"}", "{\"decision\":1}", "{\"decision\":\"allow\"}", "{\"decision\":\"Deny\"}",
        "{\"decision\":\"timeout\"}", "{\"decision\":\"cancelled\"}", /* are nobody's to say */
        "{\"decision\":\"deny\",\"feedback\":1}", "{\"decision\":\"deny\",\"updatedInput\":{}}",
        "{\"decision\":\"abort\",\"updatedInput\":{}}", "{\"decision\":\"allow_once\",\"updatedInput\":[]}",
        "{\"decision\":\"allow_once\",\"mode\":\"yes\"}", "{\"decision\":\"allow_once\",\"rules\":[\"Read\"]}",
        "{\"decision\":\"deny\",\"rules\":[\"Read\"]}", "{\"decision\":\"allow_always\",\"rules\":\"Read\"}",
        "{\"decision\":\"allow_always\",\"rules\":[1]}", "{\"decision\":\"allow_always\",\"rules\":[\"Bash(\"]}",
        "{\"decision\":\"allow_always\",\"rules\":[\"A\",\"B\",\"C\",\"D\",\"E\",\"F\"]}",
        "{\"decision\":\"allow_always\",\"scope\":\"world\"}", "{\"decision\":\"allow_once\",\"scope\":\"session\"}",
        "{\"decision\":\"allow_session\",\"scope\":\"session\"}", "{\"decision\":\"allow_once\",\"uses\":1}",
        "{\"decision\":\"allow_session\",\"uses\":1}", "{\"decision\":\"deny\",\"expiresAt\":\"2030-01-31T12:00:00Z\"}",
        "{\"decision\":\"allow_always\",\"uses\":0}", "{\"decision\":\"allow_always\",\"uses\":2147483648}",
        "{\"decision\":\"allow_always\",\"expiresAt\":\"tomorrow\"}",
    };
    struct exchange *x = exchange_of("");
    struct decide d;
    struct err err;
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (rc_bad(read_decision(x, good[i], &d, &err)))
            fail_msg("%s: %s", good[i], err.text);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (read_decision(x, bad[i], &d, &err).code != ERR_INVALID)
            fail_msg("%s is taken", bad[i]);
    http_drop(x->http);
}

static void a_decision_is_read_whole(void **state)
{
    struct exchange *x = exchange_of("");
    struct decide d;
    struct err err;
    (void)state;
    static const char body[] =
        "{\"decision\":\"allow_always\",\"scope\":\"session\",\"feedback\":\"f\",\"digest\":\"d\",\"mode\":\"yolo\","
        "\"uses\":3,\"rules\":[\"Bash( ls:* )\"],\"expiresAt\":\"1970-01-01T00:00:01Z\",\"updatedInput\":{\"a\":1.0}}";
    if (rc_bad(read_decision(x, body, &d, &err)))
        fail_msg("%s", err.text);
    assert_int_equal(d.decision, DECISION_ALLOW_ALWAYS);
    assert_int_equal(d.reach, DECIDE_SESSION);
    assert_true(str_is(d.feedback, "f") && str_is(d.digest, "d"));
    assert_true(str_is(d.mode, "bypassPermissions")); /* by its own name */
    assert_true(str_is(d.rules, "[\"Bash( ls:* )\"]"));
    assert_int_equal(d.rules_uses, 3);
    assert_int_equal(d.rules_end_ms, 1000);
    assert_true(str_is(d.updated_input->raw, "{\"a\":1.0}")); /* the bytes as they came */
    http_drop(x->http);
}

/* ---- errors ---- */

static void every_error_has_its_status_code_and_words(void **state)
{
    (void)state;
    for (int code = ERR_OK + 1; code < ERR_CODE_COUNT; code++) {
        ARENA_SCOPE(arena);
        struct exchange *x = exchange_of("");
        const struct json *body;
        uint64_t before = api->answers[err_http(code) / 100];
        exchange_error(x, code, "%s", "\"quoted\", and a line\n");
        assert_int_equal(answer.status, err_http(code));
        assert_int_equal(api->answers[answer.status / 100], before + 1);
        assert_true(rc_ok(json_parse(&arena, str_of(answer.body), &body, NULL)));
        assert_true(str_is(json_text(json_get(body, "error"), "code"), err_wire(code)));
        assert_true(str_is(json_text(json_get(body, "error"), "message"), "\"quoted\", and a line\n"));
        assert_int_equal(err_from_wire(err_wire(code)), code);
    }
}

static void an_answer_that_does_not_fit_is_an_error(void **state)
{
    BUF_SCOPE(small, 8);
    struct exchange *x = exchange_of("");
    (void)state;
    buf_put(&small, STR("{\"more than eight bytes\":1}"));
    assert_true(small.over);
    exchange_answer(x, 200, &small);
    assert_int_equal(answer.status, 413);
    assert_non_null(strstr(answer.body, "\"too_large\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_body_may_be_as_large_as_its_route_takes),
        TEST(a_body_is_an_object_that_is_not_too_deep),
        TEST(a_body_with_too_many_values_is_refused),
        TEST(a_body_is_sent_as_json),
        TEST(a_place_is_a_cursor_or_a_number_and_not_both),
        TEST(a_cursor_comes_back_as_the_place_it_was_made_of),
        TEST(a_number_of_a_query_has_a_limit),
        TEST(a_decision_says_only_what_goes_together),
        TEST(a_decision_is_read_whole),
        TEST(every_error_has_its_status_code_and_words),
        TEST(an_answer_that_does_not_fit_is_an_error),
    };
    return cmocka_run_group_tests_name("api bodies", tests, NULL, NULL);
}
