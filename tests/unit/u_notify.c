/* The pure parts of notify/: plans, retries, words, answer tokens; and base64, which they use. */
#include "base/base64.h"
#include "io/file.h"
#include "notify/outbox.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

static struct config make_config(void)
{
    struct config config = {.channel_count = 2, .route_count = 2};
    config.channels[0].name = STR("phone");
    config.channels[1].name = STR("hook");
    config.routes[0] = (struct outbox_route){.person = STR("owner"), .count = 2,
                                             .steps = {{.after_ms = 10000, .channels = {0}, .count = 1},
                                                       {.after_ms = 300000, .channels = {0, 1}, .count = 2}}};
    config.routes[1] = (struct outbox_route){.person = STR("ops"), .only = {.tool = STR("Deploy")}, .count = 1,
                                             .steps = {{.after_ms = 0, .channels = {1}, .count = 1}}};
    return config;
}

static void plans_follow_routes(void **state)
{
    (void)state;
    struct config config = make_config();
    struct outbox_plan plans[PLANS_MAX], again[PLANS_MAX];
    struct plan_call call = {.session = STR("s"), .call = STR("c"), .tool = STR("Bash"), .agent = STR("claude"),
                             .at_ms = 1000};
    size_t count = plan_request(&config, &call, plans);
    assert_int_equal(count, 3);
    assert_int_equal(plans[0].due_ms, 11000);
    assert_int_equal(plans[0].purpose, PURPOSE_ASK);
    assert_int_equal(plans[1].due_ms, 301000);
    assert_int_equal(plans[1].purpose, PURPOSE_REMIND);
    assert_string_not_equal(plans[0].id, plans[1].id);
    assert_string_not_equal(plans[1].id, plans[2].id);
    assert_int_equal(plan_request(&config, &call, again), 3);
    assert_string_equal(plans[2].id, again[2].id);
    call.tool = STR("Deploy");
    assert_int_equal(plan_request(&config, &call, again), 4);
    config.routes[1].only = (struct only){.agent = STR("codex")};
    assert_int_equal(plan_request(&config, &call, again), 3);
    config.routes[1].only = (struct only){.risky = true};
    assert_int_equal(plan_request(&config, &call, again), 4);
    call.routine = true;
    assert_int_equal(plan_request(&config, &call, again), 3);
}

static void an_assignment_goes_to_all_routes_of_the_person(void **state)
{
    (void)state;
    struct config config = make_config();
    struct outbox_plan plans[PLANS_MAX], asks[PLANS_MAX];
    struct plan_call call = {.session = STR("s"), .call = STR("c"), .at_ms = 1000};
    assert_int_equal(plan_person(&config, &call, STR("ops"), PURPOSE_ASSIGN, plans), 1);
    assert_int_equal(plans[0].route, 1); /* whatever `only` says */
    assert_int_equal(plans[0].purpose, PURPOSE_ASSIGN);
    assert_int_equal(plans[0].due_ms, 1000);
    call.tool = STR("Deploy");
    size_t count = plan_request(&config, &call, asks);
    assert_string_not_equal(plans[0].id, asks[count - 1].id);
    assert_int_equal(plan_person(&config, &call, STR("nobody"), PURPOSE_ASSIGN, plans), 0);
}

/* A local time of Berlin, in which the clock goes from 02:00 to 03:00 on 2026-03-29 and back on 2026-10-25. */
static int64_t berlin_ms(int month, int day, int hour, int minute)
{
    struct tm local = {.tm_year = 126, .tm_mon = month - 1, .tm_mday = day, .tm_hour = hour, .tm_min = minute,
                       .tm_isdst = -1};
    return (int64_t)mktime(&local) * 1000;
}

static int64_t first_due(const struct config *config, int64_t at_ms, int64_t deadline_ms)
{
    struct outbox_plan plans[PLANS_MAX];
    struct plan_call call = {.session = STR("s"), .call = STR("c"), .at_ms = at_ms, .deadline_ms = deadline_ms};
    assert_true(plan_request(config, &call, plans) > 0);
    return plans[0].due_ms;
}

static void quiet_hours_delay(void **state)
{
    (void)state;
    struct config config = {.channel_count = 1, .route_count = 1};
    config.routes[0] = (struct outbox_route){.person = STR("owner"), .count = 1, .quiet_count = 2,
                                             .quiet = {{22 * 60, 7 * 60 + 30}, {12 * 60, 13 * 60}},
                                             .steps = {{.after_ms = 60000, .channels = {0}, .count = 1}}};
    assert_int_equal(setenv("TZ", "Europe/Berlin", 1), 0);
    tzset();
    static const struct {
        int month, day, hour, minute, due_day, due_hour, due_minute;
    } rows[] = {
        {6, 1, 10, 0, 1, 10, 1},   {6, 1, 21, 58, 1, 21, 59}, {6, 1, 21, 59, 2, 7, 30}, {6, 1, 23, 0, 2, 7, 30},
        {6, 2, 3, 0, 2, 7, 30},    {6, 2, 7, 29, 2, 7, 30},   {6, 2, 12, 30, 2, 13, 0}, {6, 30, 23, 0, 31, 7, 30},
        {3, 28, 23, 0, 29, 7, 30}, {10, 24, 23, 0, 25, 7, 30}, /* the night has 23 hours, 25 hours */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(first_due(&config, berlin_ms(rows[i].month, rows[i].day, rows[i].hour, rows[i].minute), 0),
                         berlin_ms(rows[i].month, rows[i].due_day, rows[i].due_hour, rows[i].due_minute));
    assert_int_equal(berlin_ms(3, 29, 7, 30) - berlin_ms(3, 28, 22, 30), 8 * 3600 * 1000);
    /* It would time out in the night, and nobody else is told: the night does not count. */
    int64_t at_ms = berlin_ms(6, 1, 23, 0);
    assert_int_equal(first_due(&config, at_ms, at_ms + 3600000), at_ms + 60000);
    assert_int_equal(unsetenv("TZ"), 0);
    tzset();
}

/* ---- time zones: libc is the judge ---- */

static struct str read_zone_file(struct arena *arena, const char *name)
{
    struct str file;
    const char *path = arena_printf(arena, "/usr/share/zoneinfo/%s", name).p;
    assert_true(rc_ok(file_read(arena, path, 64 << 10, &file, NULL)));
    return file;
}

/* The same zone without its list of changes, as small systems have it: the rule says everything. */
static struct str without_changes(struct arena *arena, struct str file)
{
    enum { HEAD = 44, BLOCK = 7 }; /* one type, with a name of one byte */
    size_t from = file.n - 1, rule;
    while (file.p[from - 1] != '\n')
        from--;
    rule = file.n - from + 1;
    char *made = arena_alloc(arena, 2 * (HEAD + BLOCK) + rule);
    memset(made, 0, 2 * (HEAD + BLOCK));
    for (size_t at = 0; at <= HEAD + BLOCK; at += HEAD + BLOCK) {
        memcpy(made + at, "TZif2", 5);
        made[at + 39] = 1;
        made[at + 43] = 1;
    }
    memcpy(made + 2 * (HEAD + BLOCK), file.p + from - 1, rule);
    return (struct str){made, 2 * (HEAD + BLOCK) + rule};
}

/* Every half hour from a time on, for two years. */
static void compare_zone(const struct zone *zone, const char *name, time_t from)
{
    struct tm local;
    assert_non_null(zone);
    assert_int_equal(setenv("TZ", name, 1), 0);
    tzset();
    for (time_t at = from; at < from + 2 * 366 * 86400; at += 1800) {
        assert_non_null(localtime_r(&at, &local));
        if (local.tm_gmtoff != zone_offset_s(zone, at))
            fail_msg("%s at %lld: %ld, not %d", name, (long long)at, local.tm_gmtoff, zone_offset_s(zone, at));
    }
    assert_int_equal(unsetenv("TZ"), 0);
    tzset();
}

static void zones_are_those_of_libc(void **state)
{
    (void)state;
    /* West and east, south, half hours, changes on other days and hours, summer time below standard time, none. */
    static const char *const names[] = {"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago",
                                        "Asia/Kolkata", "Europe/Dublin", "America/Nuuk", "Asia/Jerusalem",
                                        "Antarctica/Troll", "Africa/Cairo", "Etc/UTC", "Pacific/Kiritimati"};
    enum { YEAR_2026 = 1767225600, YEAR_2045 = 2366841600 };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        ARENA_SCOPE(arena);
        struct str file = read_zone_file(&arena, names[i]);
        const struct zone *zone = zone_parse(&arena, file);
        compare_zone(zone, names[i], YEAR_2026);
        compare_zone(zone, names[i], YEAR_2045); /* no file lists it */
        compare_zone(zone_parse(&arena, without_changes(&arena, file)), names[i], YEAR_2026);
    }
    ARENA_SCOPE(arena);
    struct str old = read_zone_file(&arena, "Africa/Casablanca"); /* changes with the moon: only the list has them */
    compare_zone(zone_parse(&arena, old), "Africa/Casablanca", YEAR_2026);
    for (size_t n = 0; n < old.n; n++) /* a file that was cut is none */
        assert_null(zone_parse(&arena, str_sub(old, 0, n)));
}

static void quiet_hours_are_in_the_persons_zone(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    struct config config = {.channel_count = 1, .route_count = 1};
    enum { JUNE_1 = 1780272000 }; /* 2026-06-01 00:00 in Greenwich: 09:00 in Tokyo, 20:00 in New York */
    config.routes[0] = (struct outbox_route){.person = STR("owner"), .count = 1, .quiet_count = 1,
                                             .quiet = {{22 * 60, 7 * 60}},
                                             .steps = {{.after_ms = 0, .channels = {0}, .count = 1}}};
    config.routes[0].zone = zone_parse(&arena, read_zone_file(&arena, "Asia/Tokyo"));
    assert_int_equal(first_due(&config, JUNE_1 * 1000LL, 0), JUNE_1 * 1000LL);
    assert_int_equal(first_due(&config, (JUNE_1 + 13 * 3600) * 1000LL, 0), (JUNE_1 + 22 * 3600) * 1000LL);
    config.routes[0].zone = zone_parse(&arena, read_zone_file(&arena, "America/New_York"));
    assert_int_equal(first_due(&config, (JUNE_1 + 3 * 3600) * 1000LL, 0), (JUNE_1 + 11 * 3600) * 1000LL);
    assert_int_equal(first_due(&config, (JUNE_1 + 13 * 3600) * 1000LL, 0), (JUNE_1 + 13 * 3600) * 1000LL);
}

static void escalations_go_to_others(void **state)
{
    (void)state;
    struct config config = {.channel_count = 2, .route_count = 3};
    struct outbox_plan plans[PLANS_MAX];
    config.routes[1] = (struct outbox_route){.person = STR("owner"), .count = 1, .quiet_count = 1, .quiet = {{0, 1439}},
                                             .has_escalation = true,
                                             .steps = {{.after_ms = 10000, .channels = {0}, .count = 1}}};
    config.routes[2] = (struct outbox_route){.person = STR("oncall"), .count = 1, .instead_of = 1,
                                             .steps = {{.after_ms = 900000, .channels = {1}, .count = 1}}};
    struct plan_call call = {.session = STR("s"), .call = STR("c"), .at_ms = berlin_ms(6, 1, 12, 0)};
    assert_int_equal(plan_request(&config, &call, plans), 2);
    assert_int_equal(plans[1].purpose, PURPOSE_ESCALATE);
    assert_int_equal(plans[1].due_ms, call.at_ms + 900000);
    call.deadline_ms = call.at_ms + 60000; /* the owner sleeps through it: the other one is told at once */
    assert_int_equal(plan_request(&config, &call, plans), 1);
    assert_int_equal(plans[0].route, 2);
    assert_int_equal(plans[0].due_ms, call.at_ms);
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
                          "\"agent\":\"claude\",\"title\":{\"kind\":\"Run a command\"}}";
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
    token_make(&key, &claims, STR("digest\nowner"), token);
    assert_int_equal(strlen(token), 50);
    assert_true(token_read_claims(str_of(token), &read));
    assert_string_equal(read.delivery, "0123456789abcdef");
    assert_true(read.allow);
    assert_int_equal(read.until_s, 1800000000);
    assert_true(token_right(&key, str_of(token), STR("digest\nowner")));
    assert_false(token_right(&key, str_of(token), STR("digest\nother")));
    assert_false(token_right(&key, str_of(token), STR("changed\nowner")));
    assert_false(token_right(&other, str_of(token), STR("digest\nowner")));
    for (size_t i = 0; token[i]; i++) { /* no bit of it can be another */
        char changed[ANSWER_TOKEN_BYTES];
        memcpy(changed, token, sizeof changed);
        changed[i] = changed[i] == 'A' ? 'B' : 'A';
        assert_false(token_right(&key, str_of(changed), STR("digest\nowner")));
    }
    assert_false(token_read_claims(STR(""), &read));
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
        cmocka_unit_test(zones_are_those_of_libc),   cmocka_unit_test(quiet_hours_are_in_the_persons_zone),
        cmocka_unit_test(an_assignment_goes_to_all_routes_of_the_person),
        cmocka_unit_test(quiet_hours_delay),         cmocka_unit_test(escalations_go_to_others),
        cmocka_unit_test(secrets_are_masked),        cmocka_unit_test(details_decide_how_much_is_said),
        cmocka_unit_test(tokens_are_good_for_one_thing), cmocka_unit_test(base64_both_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
