/* `nod policy check`: rows against rules, with links on a real file system. */
#include "base/buf.h"
#include "io/file.h"
#include "serve/policy_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64], cwd[128], home[64];

static void make_link(const char *name, const char *target)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", cwd, name);
    assert_int_equal(symlink(target, path), 0);
}

static void make_folder(const char *name)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", cwd, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/nod-check-XXXXXX");
    assert_non_null(mkdtemp(folder));
    (void)snprintf(home, sizeof home, "%s", folder);
    (void)snprintf(cwd, sizeof cwd, "%s/proj", folder);
    assert_int_equal(mkdir(cwd, 0700), 0);
    make_folder("docs");
    make_folder("docs/sub");
    make_folder("other");
    make_link("docs/out", "../other");
    make_link("docs/in", "sub");
    make_link("docs/etc", "/etc");
    make_link("docs/dangling", "../other/missing");
    make_link("alias", "docs");
    make_link("docs/circle", "circle");
    make_link("docs/up", "../docs/sub/..");
    return 0;
}

static int tear_down(void **state)
{
    char command[128];
    (void)state;
    (void)snprintf(command, sizeof command, "%s", folder);
    char *argv[] = {"rm", "-rf", command, NULL};
    pid_t pid = fork();
    if (pid == 0) {
        (void)execv("/bin/rm", argv);
        _exit(1);
    }
    return 0;
}

/* Runs the command on a file and returns what it printed. */
static const char *run(struct arena *arena, const char *file, char *in, char *at_home, int *ret_status)
{
    char out[128], path[4096];
    struct str text;
    struct err err = {0};
    (void)snprintf(out, sizeof out, "%s/out", folder);
    (void)fflush(stdout);
    int before = dup(1);
    assert_non_null(freopen(out, "w", stdout));
    (void)snprintf(path, sizeof path, "%s", file);
    char *argv[] = {path, "--cwd", in, "--home", at_home};
    struct rc rc = policy_check_main(5, argv, ret_status, &err);
    (void)fflush(stdout);
    (void)dup2(before, 1);
    (void)close(before);
    if (rc_bad(rc))
        return arena_c(arena, str_of(err.text));
    assert_true(rc_ok(file_read(arena, out, 1 << 20, &text, &err)));
    return text.p;
}

/* The same for rows, under a header. */
static const char *check(struct arena *arena, const char *rows, int *ret_status)
{
    char file[128];
    struct err err = {0};
    (void)snprintf(file, sizeof file, "%s/rows.tsv", folder);
    (void)unlink(file);
    assert_true(rc_ok(file_write_private(
        file, arena_printf(arena, "id\trule\ttool\tinput\texpected\twhy\n%s", rows), &err)));
    return run(arena, file, cwd, home, ret_status);
}

static void test_links(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    int status = -1;
    const char *text = check(&arena,
                             "L1\tRead(docs/**)\tRead\t{\"file_path\":\"docs/a\"}\tmatch\t\n"
                             "L2\tRead(docs/**)\tRead\t{\"file_path\":\"docs/out/a\"}\tnomatch\t\n"
                             "L3\tRead(docs/**)\tRead\t{\"file_path\":\"docs/in/a\"}\tmatch\t\n"
                             "L4\tRead(docs/**)\tRead\t{\"file_path\":\"docs/etc/passwd\"}\tnomatch\t\n"
                             "L5\tRead(docs/**)\tRead\t{\"file_path\":\"docs/dangling\"}\tnomatch\t\n"
                             "L6\tRead(docs/**)\tRead\t{\"file_path\":\"alias/a\"}\tnomatch\t\n"
                             "L7\tRead(docs/**)\tRead\t{\"file_path\":\"docs/out/../docs/a\"}\tmatch\tthe "
                             "kernel's way\n"
                             "L8\tRead(docs/**)\tRead\t{\"file_path\":\"docs/sub/../out/a\"}\tnomatch\t\n"
                             "L10\tRead(docs/**)\tRead\t{\"file_path\":\"docs/circle\"}\tnomatch\t\n"
                             "L11\tRead(docs/**)\tRead\t{\"file_path\":\"docs/up/sub/a\"}\tmatch\t\n"
                             "L12\tRead(docs/**)\tRead\t{\"file_path\":\"docs/sub/none/../../../"
                             "x\"}\tnomatch\t\n"
                             "L9\tEdit(docs/**)\tEdit\t{\"file_path\":\"docs/new/file\"}\tmatch\t\n",
                             &status);
    assert_string_equal(text, "12 of 12 as expected, 0 false allows\n");
    assert_int_equal(status, 0);
}

static void test_disagreements(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    int status = -1;
    const char *text = check(&arena,
                             "A1\tBash(ls:*)\tBash\t{\"command\":\"ls -l\"}\tnomatch\twrong on purpose\n"
                             "A2\tBash(ls:*)\tBash\t{\"command\":\"ls; id\"}\tmatch\twrong on purpose\n"
                             "A3\tBash(ls:*)\tBash\t{\"command\":\"ls\",\"command\":\"id\"}\tnomatch\t\n"
                             "A4\tBash(\tBash\tnot json\tnomatch\t\n",
                             &status);
    assert_int_equal(status, 1);
    assert_true(str_starts(str_of(text), STR("A1\t")));
    assert_non_null(strstr(text, "\nA2\t"));
    assert_true(str_ends(str_of(text), STR("\n2 of 4 as expected, 1 false allows\n")));
    assert_non_null(strstr(check(&arena, "B1\tx\ty\tz\tperhaps\t\n", &status), "line 2"));
}

/* Some thousand rows of what people mean and what attackers try. */
static void test_corpus(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    int status = -1;
    static const char *const files[] = {TESTS_DIR "/policy/corpus.tsv", TESTS_DIR "/policy/attacks.tsv"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *text = run(&arena, files[i], "/home/u/proj", "/home/u", &status);
        print_message("%s", text);
        /* One line: nothing disagreed, in either direction. */
        assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
        assert_non_null(strstr(text, " as expected, 0 false allows\n"));
        assert_true(strtoul(text, NULL, 10) > 400);
        assert_int_equal(status, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_links), cmocka_unit_test(test_disagreements),
                                       cmocka_unit_test(test_corpus)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
