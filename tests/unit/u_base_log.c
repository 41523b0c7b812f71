/* The operator's log as it leaves the process: one whole line per fact, whatever the fields hold. */
#include "base/log.h"

#include "base/arena.h"
#include "base/json.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <unistd.h>

enum { TEXT_BYTES_MAX = 4 << 20 };

static int real_stderr;
static char caught_path[] = "/tmp/nod-log-XXXXXX";
static int caught;

static void catch_begin(void)
{
    assert_int_equal(ftruncate(caught, 0), 0);
    assert_int_equal(lseek(caught, 0, SEEK_SET), 0);
    assert_true(dup2(caught, STDERR_FILENO) >= 0);
}

/* What was written since; standard error is the old one again. */
static struct str catch_end(struct arena *arena)
{
    assert_true(dup2(real_stderr, STDERR_FILENO) >= 0);
    char *text = arena_bytes(arena, TEXT_BYTES_MAX);
    ssize_t n = pread(caught, text, TEXT_BYTES_MAX, 0);
    assert_true(n >= 0);
    return (struct str){text, (size_t)n};
}

/* The line without its time, which must be there. */
static struct str behind_time(struct str line)
{
    assert_true(str_starts(line, STR("time=20")));
    assert_true(str_ends(line, STR("\n")));
    size_t blank = str_find(line, ' ');
    return str_sub(line, blank + 1, line.n - 1);
}

static void key_and_value(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    log_setup(LOG_INFO, false);
    catch_begin();
    log_line(LOG_INFO, "approval resolved", LOG_C("call", "c1"), LOG_I("ms", -5),
             LOG_C("words", "two words"));
    struct str line = behind_time(catch_end(&arena));
    assert_true(str_is(line, "level=info msg=\"approval resolved\" call=c1 ms=-5 words=\"two words\""));
}

static void levels(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    for (int level = LOG_ERROR; level <= LOG_TRACE; level++) {
        size_t lines = 0;
        log_setup((enum log_level)level, false);
        catch_begin();
        for (int said = LOG_ERROR; said <= LOG_TRACE; said++)
            log_line((enum log_level)said, "x");
        struct str text = catch_end(&arena);
        for (size_t i = 0; i < text.n; i++)
            lines += text.p[i] == '\n';
        assert_int_equal(lines, level + 1);
    }
}

/* Nothing an agent sends can end the line, forge a field, or reach the terminal's controls. */
static void hostile_text(void **state)
{
    (void)state;
    static const struct {
        struct str value;
        const char *shown;
    } rows[] = {
        {STR("a\nlevel=error msg=forged"), "\"a\\nlevel=error msg=forged\""},
        {STR("\" call=c2"), "\"\\\" call=c2\""},
        {STR("back\\slash"), "\"back\\\\slash\""},
        {STR("a=b"), "\"a=b\""},
        {STR("\x1b[2J"), "\"\\u001b[2J\""},
        {STR("\xc2\x9b" "2J"), "\"\\u009b2J\""},
        {STR("\xe2\x80\xae" "gpj"), "\"\\u202egpj\""},
        {STR("\xf3\xa0\x81\x81tag"), "\"\\udb40\\udc41tag\""},
        {STR("\xff"), "\"\\ufffd\""},
        {STR("\xc3\xa4"), "\"\xc3\xa4\""},
        {STR(""), "\"\""},
        {STR_NONE, "\"\""},
    };
    for (int as_json = 0; as_json < 2; as_json++) {
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            ARENA_SCOPE(arena);
            log_setup(LOG_INFO, as_json);
            catch_begin();
            log_line(LOG_INFO, "m", LOG_S("v", rows[i].value));
            struct str text = catch_end(&arena);
            struct str want = arena_printf(&arena, as_json ? "\"v\":%s}\n" : " v=%s\n", rows[i].shown);
            if (!str_ends(text, want))
                fail_msg("row %zu: %.*s", i, STR_ARG(text));
            assert_int_equal(str_find(text, '\n'), text.n - 1);
        }
    }
}

static void as_json(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    const struct json *value;
    int64_t number;
    struct err err;
    log_setup(LOG_INFO, true);
    catch_begin();
    log_line(LOG_WARN, "two words", LOG_C("s", "7"), LOG_I("i", 7));
    struct str line = catch_end(&arena);
    assert_true(rc_ok(json_parse(&arena, line, &value, &err)));
    assert_true(str_is(json_text(value, "level"), "warn"));
    assert_true(str_is(json_text(value, "msg"), "two words"));
    assert_true(str_is(json_text(value, "s"), "7"));
    assert_true(json_i64(json_get(value, "i"), &number) && number == 7);
    assert_int_equal(json_text(value, "time").n, 24);
}

/* A whole input at trace level: the line is cut inside the value and stays a line that can be read. */
static void long_values(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    char *input = arena_bytes(&arena, 1 << 20);
    for (int as_json = 0; as_json < 2; as_json++) {
        for (int fill = 0; fill < 2; fill++) {
            memset(input, fill ? '\n' : 'x', 1 << 20);
            log_setup(LOG_TRACE, as_json);
            catch_begin();
            log_line(LOG_TRACE, "asked", LOG_S("input", ((struct str){input, 1 << 20})), LOG_I("after", 1));
            log_line(LOG_TRACE, "next");
            struct str text = catch_end(&arena), rest;
            struct str line = str_cut(text, '\n', &rest);
            assert_true(line.n > 1000 && line.n < 128 << 10);
            assert_true(str_ends(line, as_json ? STR(",\"after\":1}") : STR(" after=1")));
            assert_true(str_has(rest, STR("next")));
            const struct json *value;
            if (as_json)
                assert_true(rc_ok(json_parse(&arena, line, &value, NULL)));
        }
    }
}

/* A byte that needs quotes is found at every place of texts of every length, and only such a byte brings them. */
static void quotes_where_needed(void **state)
{
    static const char needing[] = {' ', '=', '"', '\\', '\n', '\x7f', '\xff'};
    (void)state;
    log_setup(LOG_INFO, false);
    for (size_t n = 1; n <= 40; n++) {
        for (size_t at = 0; at <= n; at++) {
            ARENA_SCOPE(arena);
            char text[40];
            memset(text, 'x', n);
            if (at < n)
                text[at] = needing[(n + at) % sizeof needing];
            catch_begin();
            log_line(LOG_INFO, "m", LOG_S("v", ((struct str){text, n})));
            struct str line = behind_time(catch_end(&arena));
            assert_int_equal(str_starts(line, STR("level=info msg=m v=\"")), at < n);
        }
    }
}

static int setup(void **state)
{
    (void)state;
    real_stderr = dup(STDERR_FILENO);
    caught = mkstemp(caught_path);
    return real_stderr < 0 || caught < 0;
}

static int teardown(void **state)
{
    (void)state;
    return unlink(caught_path) + close(caught) + close(real_stderr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(key_and_value), cmocka_unit_test(levels),      cmocka_unit_test(hostile_text),
        cmocka_unit_test(as_json),       cmocka_unit_test(long_values), cmocka_unit_test(quotes_where_needed),
    };
    return cmocka_run_group_tests_name("base/log", tests, setup, teardown);
}
