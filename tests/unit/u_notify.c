/* The pure parts of notify/: plans, retries, words, answer tokens; and base64, which they use. */
#include "base/base64.h"
#include "notify/inner.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

static struct config make_config(void)
{
    struct config config = {.channel_count = 2, .route_count = 2};
    config.channels[0].name = STR("phone");
    config.channels[1].name = STR("hook");
    config.routes[0] = (struct route){.person = STR("owner"), .count = 2,
                                      .steps = {{.after_ms = 10000, .channels = {0}, .count = 1},
                                                {.after_ms = 300000, .channels = {0, 1}, .count = 2}}};
    config.routes[1] = (struct route){.person = STR("ops"), .only_tool = STR("Deploy"), .count = 1,
                                      .steps = {{.after_ms = 0, .channels = {1}, .count = 1}}};
    return config;
}

static void plans_follow_routes(void **state)
{
    (void)state;
    struct config config = make_config();
    struct plan plans[PLANS_MAX], again[PLANS_MAX];
    size_t count = plan_request(&config, STR("s"), STR("c"), STR("Bash"), 1000, plans);
    assert_int_equal(count, 3);
    assert_int_equal(plans[0].due_ms, 11000);
    assert_int_equal(plans[0].purpose, PURPOSE_ASK);
    assert_int_equal(plans[1].due_ms, 301000);
    assert_int_equal(plans[1].purpose, PURPOSE_REMIND);
    assert_string_not_equal(plans[0].id, plans[1].id);
    assert_string_not_equal(plans[1].id, plans[2].id);
    assert_int_equal(plan_request(&config, STR("s"), STR("c"), STR("Bash"), 1000, again), 3);
    assert_string_equal(plans[2].id, again[2].id);
    assert_int_equal(plan_request(&config, STR("s"), STR("c"), STR("Deploy"), 1000, again), 4);
}

static void questions_are_repeated_others_end(void **state)
{
    (void)state;
    assert_int_equal(plan_retry_ms(1, true), 5000);
    assert_int_equal(plan_retry_ms(1000, true), 900000);
    assert_int_equal(plan_retry_ms(2, false), 300000);
    assert_int_equal(plan_retry_ms(10, false), -1);
}

static const char *mask(struct arena *arena, const char *text)
{
    return arena_c(arena, words_mask(arena, str_of(text)));
}

static void secrets_are_masked(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    assert_string_equal(mask(&arena, "curl -H 'Authorization: Bearer abc.def' x"),
                        "curl -H 'Authorization: Bearer ****' x");
    assert_string_equal(mask(&arena, "PGPASSWORD=hunter2 psql"), "PGPASSWORD=**** psql");
    assert_string_equal(mask(&arena, "export K=sk-abcdefgh12345678"), "export K=****");
    assert_string_equal(mask(&arena, "git commit -m sk-ip"), "git commit -m sk-ip");
    assert_string_equal(mask(&arena, ""), "");
}

static bool describe(struct arena *arena, const char *text, enum detail detail, struct message *message)
{
    const struct json *json;
    assert_true(rc_ok(json_parse(arena, str_of(text), &json, NULL)));
    return words_describe(arena, json, detail, message);
}

static void details_decide_how_much_is_said(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    const char *command = "{\"toolCall\":{\"name\":\"Bash\",\"input\":{\"command\":\"make test\"}},"
                          "\"agent\":\"claude\",\"preview\":{\"type\":\"command\"}}";
    const char *more = "{\"toolCall\":{\"name\":\"Bash\",\"input\":{\"command\":\"ls\",\"timeout\":1}}}";
    const char *secret = "{\"toolCall\":{\"name\":\"Bash\",\"input\":{\"command\":\"x --token abcd\"}}}";
    struct message message = {0};
    assert_false(describe(&arena, command, DETAIL_KIND, &message));
    assert_string_equal(arena_c(&arena, message.body), "Run a command");
    assert_string_equal(arena_c(&arena, message.title), "Nod: claude needs an answer");
    assert_false(describe(&arena, command, DETAIL_SUMMARY, &message));
    assert_string_equal(arena_c(&arena, message.body), "Run a command: make test");
    assert_true(describe(&arena, command, DETAIL_FULL, &message));
    assert_false(describe(&arena, more, DETAIL_FULL, &message));
    assert_false(describe(&arena, secret, DETAIL_FULL, &message));
    assert_string_equal(arena_c(&arena, message.body), "Use Bash: x --token ****");
}

static void tokens_are_good_for_one_thing(void **state)
{
    (void)state;
    struct digest key = digest_of(STR("key")), other = digest_of(STR("other"));
    struct answer_claims claims = {.delivery = "0123456789abcdef", .allow = true, .until_s = 1800000000}, read;
    char token[ANSWER_TOKEN_BYTES];
    answer_token_make(&key, &claims, STR("digest\nowner"), token);
    assert_int_equal(strlen(token), 50);
    assert_true(answer_token_claims(str_of(token), &read));
    assert_string_equal(read.delivery, "0123456789abcdef");
    assert_true(read.allow);
    assert_int_equal(read.until_s, 1800000000);
    assert_true(answer_token_right(&key, str_of(token), STR("digest\nowner")));
    assert_false(answer_token_right(&key, str_of(token), STR("digest\nother")));
    assert_false(answer_token_right(&key, str_of(token), STR("changed\nowner")));
    assert_false(answer_token_right(&other, str_of(token), STR("digest\nowner")));
    for (size_t i = 0; token[i]; i++) { /* no bit of it can be another */
        char changed[ANSWER_TOKEN_BYTES];
        memcpy(changed, token, sizeof changed);
        changed[i] = changed[i] == 'A' ? 'B' : 'A';
        assert_false(answer_token_right(&key, str_of(changed), STR("digest\nowner")));
    }
    assert_false(answer_token_claims(STR(""), &read));
}

static void base64_both_ways(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foobar", "Zm9vYmFy"}};
    char text[32];
    unsigned char bytes[16];
    size_t n;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        base64_encode(pairs[i][0], strlen(pairs[i][0]), text);
        assert_string_equal(text, pairs[i][1]);
        assert_true(base64_decode(str_of(text), bytes, sizeof bytes, &n));
        assert_int_equal(n, strlen(pairs[i][0]));
        assert_memory_equal(bytes, pairs[i][0], n);
    }
    base64_url_encode("\xfb\xff", 2, text);
    assert_string_equal(text, "-_8");
    assert_false(base64_decode(STR("A"), bytes, sizeof bytes, &n));
    assert_false(base64_decode(STR("Zh=="), bytes, sizeof bytes, &n)); /* bits that no encoder sets */
    assert_false(base64_decode(STR("Z*=="), bytes, sizeof bytes, &n));
    assert_false(base64_decode(STR("Zm9vYmFyZm9vYmFyZm9vYmFy"), bytes, sizeof bytes, &n));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_follow_routes),       cmocka_unit_test(questions_are_repeated_others_end),
        cmocka_unit_test(secrets_are_masked),        cmocka_unit_test(details_decide_how_much_is_said),
        cmocka_unit_test(tokens_are_good_for_one_thing), cmocka_unit_test(base64_both_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
