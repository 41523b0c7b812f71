/* The command line: which command, which options, which operands, and what is said when it is wrong. */
#include "cli/cli.h"
#include "cli/words.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

enum { WORDS_MAX = 32 };

/* A line as a shell splits it: words between single blanks. */
static struct rc read_line(struct cli *cli, const char *line, struct err *err)
{
    static char bytes[4096];
    static char *argv[WORDS_MAX + 1];
    int argc = 0;
    assert_true(strlen(line) < sizeof bytes);
    memcpy(bytes, line, strlen(line) + 1);
    char *at = bytes;
    for (char *word; (word = strsep(&at, " "));) {
        assert_true(argc < WORDS_MAX);
        argv[argc++] = word;
    }
    argv[argc] = NULL;
    *cli = (struct cli){0};
    return cli_read(cli, argc, argv, err);
}

#define CLI_SCOPE(name) __attribute__((cleanup(cli_done))) struct cli name = {0}

static int set_up(void **state)
{
    (void)state;
    return setenv("HOME", "/nonexistent", 1) || setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
}

static void options_and_operands_mix(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "nod call Bash {} --wait=5 --id c1 --data /d",
        "nod call --data=/d --id=c1 --wait=5 Bash {}",
        "nod --data /d call Bash --wait=5 {} --id c1",
        "nod call Bash --id c0 --id c1 --wait --wait=5 --data /e --data /d -- {}",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        CLI_SCOPE(cli);
        assert_true(rc_ok(read_line(&cli, lines[i], NULL)));
        assert_string_equal(cli.command->name, "call");
        assert_int_equal(cli.argc, 2);
        assert_string_equal(cli.argv[0], "Bash");
        assert_string_equal(cli.argv[1], "{}");
        assert_string_equal(option_text(&cli, "id"), "c1");
        assert_string_equal(option_text(&cli, "wait"), "5");
        assert_string_equal(cli.settings.data, "/d");
        assert_null(option_text(&cli, "thread"));
        assert_false(option_flag(&cli, "thread"));
    }
}

static void letters(void **state)
{
    (void)state;
    CLI_SCOPE(cli);
    assert_true(rc_ok(read_line(&cli, "nod log -fs ses_1 -n5", NULL)));
    assert_true(option_flag(&cli, "follow"));
    assert_string_equal(option_text(&cli, "session"), "ses_1");
    uint64_t limit = 0;
    assert_true(rc_ok(option_number(&cli, "limit", 10, &limit, NULL)));
    assert_int_equal(limit, 5);
    assert_true(rc_bad(option_number(&cli, "limit", 4, &limit, NULL)));
}

static void an_optional_value_is_never_the_next_word(void **state)
{
    (void)state;
    CLI_SCOPE(cli);
    assert_true(rc_ok(read_line(&cli, "nod call --wait Bash {}", NULL)));
    assert_true(option_flag(&cli, "wait"));
    assert_null(option_text(&cli, "wait"));
    assert_int_equal(cli.argc, 2);
}

static void words_after_two_dashes_are_operands(void **state)
{
    (void)state;
    CLI_SCOPE(cli);
    assert_true(rc_ok(read_line(&cli, "nod deny -m -x -- --all -", NULL)));
    assert_string_equal(option_text(&cli, "message"), "-x");
    assert_false(option_flag(&cli, "all"));
    assert_int_equal(cli.argc, 2);
    assert_string_equal(cli.argv[0], "--all");
    assert_string_equal(cli.argv[1], "-");
}

static void repeated_options_keep_their_order(void **state)
{
    (void)state;
    CLI_SCOPE(cli);
    size_t at = 0;
    assert_true(
        rc_ok(read_line(&cli, "nod session create --policy A=allow --title t --policy B=deny", NULL)));
    assert_string_equal(option_each(&cli, "policy", &at), "A=allow");
    assert_string_equal(option_each(&cli, "policy", &at), "B=deny");
    assert_null(option_each(&cli, "policy", &at));
}

static void mistakes_say_what_to_do(void **state)
{
    static const struct {
        const char *line, *words;
    } cases[] = {
        {"nod aprove", "did you mean nod approve?"},
        {"nod xyzzy", "there is no command 'xyzzy'; see nod help"},
        {"nod session", "nod session needs a subcommand: create, list, show"},
        {"nod session lst", "did you mean nod session list?"},
        {"nod list", "did you mean nod session list?"},
        {"nod call Bash", "nod call needs TOOL INPUT; see nod call --help"},
        {"nod call Bash {} 30", "does not know what to do with '30'; see nod call --help"},
        {"nod call Bash {} --wait 30", "did you mean --wait=30? See nod call --help"},
        {"nod call --foo", "unknown option --foo; see nod call --help"},
        {"nod call --foo=1", "unknown option --foo; see nod call --help"},
        {"nod call --thred x", "did you mean --thread?"},
        {"nod pending --dat x", "did you mean --data?"},
        {"nod pending -z", "unknown option -z; see nod pending --help"},
        {"nod pending --session", "--session needs a value"},
        {"nod pending --data", "--data needs a value"},
        {"nod pending --watch=yes", "--watch takes no value"},
        {"nod pending --json=yes", "--json takes no value"},
        {"nod pending --listen x", "nod pending does not use --listen"},
        {"nod pending --color blue", "color must be one of auto|always|never, not 'blue'"},
        {"nod --foo", "unknown option --foo; see nod help"},
        {"nod --config /nonexistent/x pending", "/nonexistent/x"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLI_SCOPE(cli);
        struct err err = {0};
        struct rc rc = read_line(&cli, cases[i].line, &err);
        if (rc_ok(rc) || !strstr(err.text, cases[i].words))
            fail_msg("%s: '%s' is not in '%s'", cases[i].line, cases[i].words, err.text);
    }
}

static void help_is_always_there(void **state)
{
    static const char *const lines[] = {"nod call --help",
                                        "nod call -h",
                                        "nod --help",
                                        "nod session --help",
                                        "nod pending --session x --help",
                                        "nod --config /nonexistent pending --help"};
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        CLI_SCOPE(cli);
        assert_true(rc_ok(read_line(&cli, lines[i], NULL)));
        assert_true(cli.help);
    }
    CLI_SCOPE(cli);
    assert_true(rc_ok(read_line(&cli, "nod", NULL)));
    assert_null(cli.command);
}

/* Bad settings stop every command but those that only print and the one that explains them. */
static void bad_settings(void **state)
{
    (void)state;
    assert_int_equal(setenv("NOD_LOG_LEVEL", "loud", 1), 0);
    CLI_SCOPE(pending);
    CLI_SCOPE(doctor);
    CLI_SCOPE(version);
    struct rc rc = read_line(&pending, "nod pending", NULL);
    assert_int_equal(rc.code, ERR_INVALID);
    assert_true(rc_ok(read_line(&doctor, "nod doctor", NULL)));
    assert_non_null(strstr(doctor.settings_err.text, "NOD_LOG_LEVEL"));
    assert_true(rc_ok(read_line(&version, "nod version", NULL)));
    assert_int_equal(unsetenv("NOD_LOG_LEVEL"), 0);
}

static void times_have_units(void **state)
{
    (void)state;
    CLI_SCOPE(cli);
    int64_t seconds = 0;
    assert_true(rc_ok(read_line(&cli, "nod session create --timeout 5m", NULL)));
    assert_true(rc_ok(option_time(&cli, "timeout", 300, &seconds, NULL)));
    assert_int_equal(seconds, 300);
    assert_true(rc_bad(option_time(&cli, "timeout", 299, &seconds, NULL)));
}

static void distances(void **state)
{
    (void)state;
    assert_int_equal(str_distance(STR(""), STR("")), 0);
    assert_int_equal(str_distance(STR("deny"), STR("deny")), 0);
    assert_int_equal(str_distance(STR(""), STR("deny")), 4);
    assert_int_equal(str_distance(STR("dney"), STR("deny")), 1);
    assert_int_equal(str_distance(STR("aprove"), STR("approve")), 1);
    assert_int_equal(str_distance(STR("kitten"), STR("sitting")), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_and_operands_mix),
        cmocka_unit_test(letters),
        cmocka_unit_test(an_optional_value_is_never_the_next_word),
        cmocka_unit_test(words_after_two_dashes_are_operands),
        cmocka_unit_test(repeated_options_keep_their_order),
        cmocka_unit_test(mistakes_say_what_to_do),
        cmocka_unit_test(help_is_always_there),
        cmocka_unit_test(bad_settings),
        cmocka_unit_test(times_have_units),
        cmocka_unit_test(distances),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
