/* Settings: four places, one order of strength, errors that name their place. */
#include "cli/settings.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

/* The environment of one test: pairs of name and value. */
static const char *pairs[20];

static char *test_environment(const char *name)
{
    for (size_t i = 0; pairs[i]; i += 2)
        if (strcmp(pairs[i], name) == 0)
            return (char *)pairs[i + 1];
    return NULL;
}

#define ENVIRONMENT(...)                                                  \
    do {                                                                  \
        const char *list[] = {__VA_ARGS__, NULL};                         \
        _Static_assert(sizeof list <= sizeof pairs, "more pairs than room"); \
        memset(pairs, 0, sizeof pairs);                                   \
        memcpy(pairs, list, sizeof list);                                 \
    } while (0)

static const struct origin flag = {.kind = ORIGIN_FLAG};

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* A file of this process, taken away at the end of the block. */
static void remove_file(char (*path)[64]) { (void)unlink(*path); }
#define FILE_SCOPE(name, text)                                   \
    __attribute__((cleanup(remove_file))) char name[64];         \
    (void)snprintf(name, sizeof name, "/tmp/nod-settings.%d", (int)getpid()); \
    write_file(name, text)

static void defaults_refer_to_each_other(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    struct settings s = settings_init(&arena, test_environment);
    ENVIRONMENT("HOME", "/home/ann");
    assert_true(rc_ok(settings_load(&s, NULL)));
    assert_string_equal(s.data, "/home/ann/.local/share/nod");
    assert_string_equal(s.config, "/home/ann/.config/nod/config");
    assert_string_equal(s.socket, "/home/ann/.local/share/nod/nod.sock");
    assert_string_equal(s.store, "sqlite:/home/ann/.local/share/nod/nod.db");
    assert_string_equal(s.url, "unix:/home/ann/.local/share/nod/nod.sock");
    assert_string_equal(s.token_file, "/home/ann/.local/share/nod/admin.token");
    assert_string_equal(s.listen, "127.0.0.1:7717");
    assert_int_equal(s.heartbeat_s, 15);
    assert_int_equal(s.approval_timeout_s, 0);
    assert_int_equal(s.color, COLOR_AUTO);
    assert_int_equal(s.allowed_hosts.count, 0);
    assert_false(s.json);
}

static void xdg_folders_come_before_home(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    struct settings s = settings_init(&arena, test_environment);
    ENVIRONMENT("HOME", "/home/ann", "XDG_DATA_HOME", "/d", "XDG_CONFIG_HOME", "relative/is/ignored");
    assert_true(rc_ok(settings_load(&s, NULL)));
    assert_string_equal(s.data, "/d/nod");
    assert_string_equal(s.config, "/home/ann/.config/nod/config");
}

static void the_stronger_place_wins(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    FILE_SCOPE(file, "# a comment\n\nlisten = 127.0.0.1:1 # another\n  log-level=debug\nheartbeat = 2m\n"
                     "allowed-hosts = a.example, b.example:80\n");
    struct settings s = settings_init(&arena, test_environment);
    ENVIRONMENT("HOME", "/home/ann", "NOD_CONFIG", file, "NOD_LISTEN", "127.0.0.1:2", "NOD_LOG_LEVEL",
                "warn");
    assert_true(rc_ok(settings_take(&s, SETTING_ID_listen, STR("127.0.0.1:3"), flag, NULL)));
    assert_true(rc_ok(settings_load(&s, NULL)));
    assert_string_equal(s.listen, "127.0.0.1:3");
    assert_int_equal(s.log_level, 1);
    assert_int_equal(s.heartbeat_s, 120);
    assert_int_equal(s.allowed_hosts.count, 2);
    assert_string_equal(s.allowed_hosts.items[0], "a.example");
    assert_string_equal(s.allowed_hosts.items[1], "b.example:80");
    assert_true(str_is(settings_origin(&s, SETTING_ID_listen), "flag --listen"));
    assert_true(str_is(settings_origin(&s, SETTING_ID_log_level), "environment NOD_LOG_LEVEL"));
    struct str from = arena_printf(&arena, "file %s:5", file);
    assert_true(str_eq(settings_origin(&s, SETTING_ID_heartbeat_s), from));
    assert_true(str_is(settings_origin(&s, SETTING_ID_store), "default"));
    assert_true(str_is(settings_show(&s, SETTING_ID_heartbeat_s), "2m"));
    assert_true(str_is(settings_show(&s, SETTING_ID_allowed_hosts), "a.example,b.example:80"));
}

static void a_secret_is_never_shown(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    struct settings s = settings_init(&arena, test_environment);
    ENVIRONMENT("HOME", "/home/ann", "NOD_TOKEN", "nod_secret");
    assert_true(rc_ok(settings_load(&s, NULL)));
    assert_string_equal(s.token, "nod_secret");
    assert_false(str_has(settings_show(&s, SETTING_ID_token), STR("secret")));
    assert_true(settings_find(STR("token"), IN_FLAGS | IN_FILE) == SETTING_COUNT);
}

static void a_folder_on_the_line_beats_a_url_around_it(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    struct settings s = settings_init(&arena, test_environment);
    ENVIRONMENT("HOME", "/home/ann", "NOD_URL", "http://elsewhere:1");
    assert_true(rc_ok(settings_take(&s, SETTING_ID_data, STR("/d"), flag, NULL)));
    assert_true(rc_ok(settings_load(&s, NULL)));
    assert_string_equal(s.url, "unix:/d/nod.sock");

    struct settings both = settings_init(&arena, test_environment);
    ENVIRONMENT("HOME", "/home/ann", "NOD_URL", "http://elsewhere:1", "NOD_DATA", "/d");
    assert_true(rc_ok(settings_load(&both, NULL)));
    assert_string_equal(both.url, "http://elsewhere:1");
    assert_string_equal(both.token_file, "/d/admin.token");
}

static void home_is_expanded_in_paths(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    struct settings s = settings_init(&arena, test_environment);
    ENVIRONMENT("HOME", "/home/ann", "NOD_DATA", "~/work/nod");
    assert_true(rc_ok(settings_load(&s, NULL)));
    assert_string_equal(s.data, "/home/ann/work/nod");
}

/* What is wrong with a file, and where. */
static void file_errors_name_file_and_line(void **state)
{
    static const struct {
        const char *text;
        const char *words;
    } cases[] = {
        {"\n\nlisen = x\n", ":3: there is no setting 'lisen'"},
        {"listen\n", ":1: expected `name = value`"},
        {"listen = a:1\nlisten = b:2\n", ":2: listen is already set in line 1"},
        {"heartbeat = soon\n", ":1: heartbeat must be a time"},
        {"heartbeat = 0\n", ":1: heartbeat must be a time"},
        {"heartbeat = 2h\n", ":1: heartbeat must be a time"},
        {"log-level = loud\n", ":1: log-level must be one of error|warn|info|debug|trace, not 'loud'"},
        {"demo = yes\n", ":1: there is no setting 'demo'"},
        {"token = x\n", ":1: there is no setting 'token'"},
        {"color = \n", ":1: color must be one of"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ARENA_SCOPE(arena);
        FILE_SCOPE(file, cases[i].text);
        struct settings s = settings_init(&arena, test_environment);
        struct err err = {0};
        ENVIRONMENT("HOME", "/home/ann", "NOD_CONFIG", file);
        assert_int_equal(settings_load(&s, &err).code, ERR_INVALID);
        assert_true(str_starts(str_of(err.text), str_of(file)));
        if (!strstr(err.text, cases[i].words))
            fail_msg("case %zu: '%s' is not in '%s'", i, cases[i].words, err.text);
        assert_non_null(s.socket); /* every setting has a value nevertheless */
    }
}

static void other_errors_name_their_place(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    struct settings s = settings_init(&arena, test_environment);
    struct err err = {0};
    ENVIRONMENT("HOME", "/home/ann", "NOD_LOG_FORMAT", "xml");
    assert_int_equal(settings_load(&s, &err).code, ERR_INVALID);
    assert_non_null(strstr(err.text, "NOD_LOG_FORMAT"));

    struct settings named = settings_init(&arena, test_environment);
    ENVIRONMENT("HOME", "/home/ann", "NOD_CONFIG", "/nonexistent/config");
    assert_true(rc_bad(settings_load(&named, &err)));
    assert_non_null(strstr(err.text, "/nonexistent/config"));
}

static void a_bad_value_of_a_weaker_place_is_still_an_error(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    struct settings s = settings_init(&arena, test_environment);
    ENVIRONMENT("HOME", "/home/ann", "NOD_LOG_LEVEL", "loud");
    assert_true(rc_ok(settings_take(&s, SETTING_ID_log_level, STR("info"), flag, NULL)));
    assert_true(rc_bad(settings_load(&s, NULL)));
}

static void durations(void **state)
{
    static const struct {
        const char *text;
        int64_t seconds; /* -1: none */
    } cases[] = {
        {"0", 0},   {"90", 90}, {"90s", 90}, {"5m", 300},  {"2h", 7200},           {"7d", 604800},
        {"", -1},   {"s", -1},  {"-1", -1},  {"1.5h", -1}, {"1w", -1},             {"5 m", -1},
        {"5mm", -1}, {"9223372036854775807", INT64_MAX},   {"9223372036854775807d", -1},
        {"9223372036854775808", -1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t seconds = -1;
        bool ok = settings_parse_duration(str_of(cases[i].text), &seconds);
        if (ok != (cases[i].seconds >= 0) || (ok && seconds != cases[i].seconds))
            fail_msg("'%s' gave %lld", cases[i].text, (long long)seconds);
    }
}

/* The table itself: names are unique, everything that can be given can be found. */
static void the_table_is_sound(void **state)
{
    (void)state;
    for (int i = 0; i < SETTING_COUNT; i++) {
        const struct setting *s = &settings_table[i];
        assert_true(s->words[0] && s->audience);
        assert_true((s->kind == SETTING_CHOICE) == (s->choices != NULL));
        assert_true((s->kind == SETTING_DURATION || s->kind == SETTING_NUMBER) == (s->max > 0));
        assert_true((s->kind == SETTING_FLAG) == (s->value == NULL));
        assert_true(s->where || s->environment);
        if (s->where)
            assert_int_equal(settings_find(str_of(s->name), s->where), i);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(s->name, settings_table[k].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_refer_to_each_other),
        cmocka_unit_test(xdg_folders_come_before_home),
        cmocka_unit_test(the_stronger_place_wins),
        cmocka_unit_test(a_secret_is_never_shown),
        cmocka_unit_test(a_folder_on_the_line_beats_a_url_around_it),
        cmocka_unit_test(home_is_expanded_in_paths),
        cmocka_unit_test(file_errors_name_file_and_line),
        cmocka_unit_test(other_errors_name_their_place),
        cmocka_unit_test(a_bad_value_of_a_weaker_place_is_still_an_error),
        cmocka_unit_test(durations),
        cmocka_unit_test(the_table_is_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
