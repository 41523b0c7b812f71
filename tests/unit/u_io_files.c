/* Files: our own, those beneath a root, where links lead, and which processes there are. */
#include "io/clock.h"
#include "io/file.h"
#include "io/links.h"
#include "io/place.h"
#include "io/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char top[64];      /* a folder for each test, by its real path */
static struct arena arena;
static struct err err;

#define ok(call)                           \
    do {                                   \
        if (rc_bad(call))                  \
            fail_msg("%s", err.text);      \
    } while (0)
#define fails(call, wanted) assert_int_equal((call).code, (wanted))

static const char *at(const char *name) { return arena_printf(&arena, "%s/%s", top, name).p; }
static struct str at_str(const char *name) { return str_of(at(name)); }

static void put(const char *name, const char *text)
{
    FILE *file = fopen(at(name), "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void is(const char *name, const char *text)
{
    struct str found;
    ok(file_read(&arena, at(name), 1 << 20, &found, &err));
    assert_true(str_is(found, text));
}

static mode_t mode_of(const char *name)
{
    struct stat st;
    assert_int_equal(stat(at(name), &st), 0);
    return st.st_mode & 07777;
}

static void link_to(const char *target, const char *name) { assert_int_equal(symlink(target, at(name)), 0); }
static void folder(const char *name) { assert_int_equal(mkdir(at(name), 0755), 0); }

/* How many names are in the folder: nothing is left beside a file that could not be written. */
static int names_in(const char *name)
{
    DIR *list = opendir(at(name));
    int count = 0;
    assert_non_null(list);
    while (readdir(list))
        count++;
    assert_int_equal(closedir(list), 0);
    return count - 2; /* "." and ".." */
}

/* ---- our own ---- */

static void a_private_file_is_there_whole_and_nobody_elses(void **state)
{
    (void)state;
    mode_t before = umask(0);
    put("secret", "old");
    assert_int_equal(chmod(at("secret"), 0644), 0);
    ok(file_write_private(at("secret"), STR("new"), &err));
    is("secret", "new");
    assert_int_equal(mode_of("secret"), 0600);
    fails(file_write_private(at("none/secret"), STR("x"), &err), ERR_IO);
    folder("taken");
    put("taken/x", "");
    fails(file_write_private(at("taken"), STR("x"), &err), ERR_IO); /* it cannot take the place of a folder */
    assert_int_equal(names_in("."), 2);
    put(arena_printf(&arena, "secret.new.%d", (int)getpid()).p, "half"); /* left by a killed process of this number */
    ok(file_write_private(at("secret"), STR("newer"), &err));
    is("secret", "newer");
    assert_int_equal(mode_of("secret"), 0600);
    assert_int_equal(names_in("."), 2);
    (void)umask(before);
}

static void a_file_is_read_whole_or_not_at_all(void **state)
{
    struct str text;
    struct digest digest, same = digest_of(STR("12345"));
    (void)state;
    put("five", "12345");
    ok(file_read(&arena, at("five"), 5, &text, &err));
    assert_true(str_is(text, "12345"));
    assert_true(rc_bad(file_read(&arena, at("five"), 4, &text, &err)));
    fails(file_read(&arena, at("none"), 4, &text, &err), ERR_NOT_FOUND);
    ok(file_digest(at("five"), &digest, &err));
    assert_true(digest_eq(&digest, &same));
    fails(file_digest(at("none"), &digest, &err), ERR_NOT_FOUND);
}

/* A pipe or a terminal gives what has come so far. */
static void what_comes_in_pieces_is_put_together(void **state)
{
    char bytes[8] = "";
    int ends[2];
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    assert_true(file_put(ends[1], STR("ab")) && file_put(ends[1], STR("cd")) && file_put(ends[1], STR("e")));
    assert_int_equal(file_get(ends[0], bytes, 4), 4);
    assert_string_equal(bytes, "abcd");
    assert_int_equal(close(ends[1]), 0);
    assert_int_equal(file_get(ends[0], bytes, 4), 1); /* there is no more */
    assert_int_equal(close(ends[0]), 0);
    assert_int_equal(file_get(-1, bytes, 4), -1);
}

static void a_folder_of_ours_is_open_to_nobody(void **state)
{
    (void)state;
    ok(file_make_folders(at("a/b/c"), &err));
    assert_int_equal(mode_of("a/b"), 0700);
    assert_int_equal(chmod(at("a/b"), 0755), 0);
    ok(file_own_folder(at("a/b"), &err));
    assert_int_equal(mode_of("a/b"), 0700);
    assert_int_equal(chmod(at("a/b"), 0777), 0);
    assert_true(rc_bad(file_own_folder(at("a/b"), &err)));
    put("file", "");
    assert_true(rc_bad(file_make_folders(at("file/x"), &err)));
}

static void a_lock_is_held_by_one(void **state)
{
    int first, second;
    (void)state;
    ok(file_lock(at("lock"), &first, &err));
    fails(file_lock(at("lock"), &second, &err), ERR_CONFLICT);
    assert_int_equal(close(first), 0);
    ok(file_lock(at("lock"), &second, &err));
    assert_int_equal(close(second), 0);
    link_to("lock", "link");
    assert_true(rc_bad(file_lock(at("link"), &first, &err)));
}

static int held;

static void let_go_later(int number)
{
    (void)number;
    (void)close(held);
}

/* Whoever comes second waits for the first one. */
static void a_folder_is_held_by_one(void **state)
{
    int second;
    (void)state;
    folder("held");
    ok(file_hold_folder(at("held"), &held, &err));
    (void)signal(SIGALRM, let_go_later);
    assert_int_equal(ualarm(50000, 0), 0);
    int64_t began_us = clock_steady_us();
    ok(file_hold_folder(at("held"), &second, &err));
    assert_true(second >= 0 && clock_steady_us() - began_us >= 40000);
    assert_int_equal(close(second), 0);
    fails(file_hold_folder(at("nothing"), &second, &err), ERR_IO);
}

/* ---- where links lead ---- */

static void leads(const char *from, const char *to)
{
    struct str found = links_follow(&arena, at_str(from)), wanted = to ? at_str(to) : STR_NONE;
    if (!str_eq(found, wanted))
        fail_msg("%s leads to %.*s, not to %s", from, STR_ARG(found), to ? to : "nothing");
}

static void links_are_followed_as_the_kernel_does(void **state)
{
    (void)state;
    folder("real");
    folder("real/deep");
    put("real/file", "x");
    link_to("real", "short");
    link_to("short/deep", "chain");
    link_to("../../real/file", "real/deep/up");
    link_to(at("real/file"), "whole");
    link_to("nowhere/at/all", "broken");
    leads("real/file", "real/file");
    leads("short/file", "real/file");
    leads("chain/up", "real/file");
    leads("whole", "real/file");
    leads("chain/..", "real"); /* of where the link leads, not of where it stands */
    leads("short/../real/./deep//", "real/deep");
    leads("short/new/file", "real/new/file"); /* what is not there yet */
    leads("broken", "nowhere/at/all");
    leads("broken/x", "nowhere/at/all/x");
    leads("none/../real/file", "real/file");
    assert_true(str_is(links_follow(&arena, STR("/../..")), "/"));
    assert_true(str_empty(links_follow(&arena, STR("relative"))));
    assert_true(str_empty(links_follow(&arena, STR("/a\0b"))));
}

static void a_circle_of_links_leads_nowhere(void **state)
{
    char name[16], next[16];
    (void)state;
    link_to("b", "a");
    link_to("a", "b");
    leads("a/x", NULL);
    put("link41", "x");
    for (int i = 40; i >= 0; i--) {
        (void)snprintf(name, sizeof name, "link%d", i);
        (void)snprintf(next, sizeof next, "link%d", i + 1);
        link_to(next, name);
    }
    leads("link1", "link41"); /* forty links, as many as the kernel follows */
    leads("link0", NULL);
}

static void a_file_with_a_second_name_is_told(void **state)
{
    bool file, shared;
    (void)state;
    put("one", "x");
    assert_true(links_reach(&arena, at_str("one"), &file, &shared));
    assert_true(file && !shared);
    assert_int_equal(link(at("one"), at("two")), 0);
    assert_true(links_reach(&arena, at_str("one"), &file, &shared));
    assert_true(file && shared);
    assert_true(links_reach(&arena, str_of(top), &file, &shared));
    assert_true(!file && !shared);
    assert_false(links_reach(&arena, at_str("none"), &file, &shared));
}

/* ---- beneath a root ---- */

static void a_path_stays_beneath_its_root(void **state)
{
    static const struct {
        const char *path, *within; /* NULL: it leads out */
    } rows[] = {
        {"f", "f"}, {"a/./b//c", "a/b/c"}, {"a/../f", "f"}, {"", "."}, {".", "."}, {"/r", "."}, {"/r/", "."},
        {"/r/f", "f"}, {"/r/../r/f", "f"}, {"..", NULL}, {"../f", NULL}, {"a/../../f", NULL}, {"/", NULL},
        {"/rr/f", NULL},
        {"/r/../f", NULL}, {"/etc/passwd", NULL},
    };
    struct str within;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rc rc = place_within(&arena, STR("/r"), str_of(rows[i].path), &within, &err);
        if (rc_ok(rc) != (rows[i].within != NULL) || (rc_ok(rc) && !str_is(within, rows[i].within)))
            fail_msg("%s: %.*s", rows[i].path, STR_ARG(within));
    }
    fails(place_within(&arena, STR_NONE, STR("f"), &within, &err), ERR_INVALID);
    fails(place_within(&arena, STR("/r"), STR("a\0b"), &within, &err), ERR_INVALID);
}

static void nothing_is_opened_outside_its_root(void **state)
{
    struct str text, root = at_str("root");
    (void)state;
    put("outside", "secret");
    folder("root");
    put("root/file", "x");
    link_to("file", "root/inner");
    link_to("../outside", "root/out");
    link_to(at("outside"), "root/away");
    link_to("..", "root/up");
    assert_int_equal(link(at("outside"), at("root/second")), 0);
    assert_int_equal(mkfifo(at("root/pipe"), 0600), 0);
    ok(place_read(&arena, root, STR("file"), &text, &err));
    ok(place_read(&arena, root, STR("inner"), &text, &err));
    assert_true(str_is(text, "x"));
    fails(place_read(&arena, root, STR("out"), &text, &err), ERR_FORBIDDEN);
    fails(place_read(&arena, root, STR("away"), &text, &err), ERR_FORBIDDEN);
    fails(place_read(&arena, root, STR("up/outside"), &text, &err), ERR_FORBIDDEN);
    fails(place_read(&arena, root, STR("none"), &text, &err), ERR_NOT_FOUND);
    fails(place_read(&arena, root, STR("."), &text, &err), ERR_INVALID);
    fails(place_read(&arena, root, STR("pipe"), &text, &err), ERR_INVALID); /* and does not wait for a writer */
    ok(place_read_plain(&arena, root, STR("file"), &text, &err));
    fails(place_read_plain(&arena, root, STR("inner"), &text, &err), ERR_FORBIDDEN);
    fails(place_read_plain(&arena, root, STR("second"), &text, &err), ERR_FORBIDDEN);
}

static struct rc write_plan(const char *path, const char *before, const char *after)
{
    struct plan plan = {.path = str_of(path), .before = str_of(before), .after = str_of(after), .is_new = !before};
    return place_write(&arena, at_str("root"), &plan, &err);
}

/* What a person has allowed is the change that was shown. */
static void a_file_is_changed_only_if_it_is_as_it_was_shown(void **state)
{
    (void)state;
    folder("root");
    put("root/file", "old");
    assert_int_equal(chmod(at("root/file"), 0751), 0);
    fails(write_plan("file", "older", "new"), ERR_CONFLICT);
    fails(write_plan("file", NULL, "new"), ERR_CONFLICT); /* it was to be made */
    fails(write_plan("none", "old", "new"), ERR_CONFLICT);
    put("root/empty", "");
    fails(write_plan("empty", NULL, "new"), ERR_CONFLICT);
    assert_int_equal(unlink(at("root/empty")), 0);
    is("root/file", "old");
    assert_int_equal(names_in("root"), 1);
    ok(write_plan("file", "old", "new"));
    is("root/file", "new");
    assert_int_equal(mode_of("root/file"), 0751);
    ok(write_plan("a/b/made", NULL, "made"));
    is("root/a/b/made", "made");
    assert_int_equal(names_in("root/a/b"), 1);
}

static void nothing_is_written_through_a_link(void **state)
{
    (void)state;
    folder("root");
    put("root/file", "old");
    put("outside", "old");
    link_to("file", "root/link");
    link_to("../outside", "root/out");
    link_to("..", "root/up");
    fails(write_plan("link", "old", "new"), ERR_FORBIDDEN);
    fails(write_plan("out", "old", "new"), ERR_FORBIDDEN);
    fails(write_plan("up/outside", "old", "new"), ERR_FORBIDDEN);
    fails(write_plan("up/made", NULL, "new"), ERR_FORBIDDEN);
    is("outside", "old");
    is("root/file", "old");
    assert_int_equal(names_in("."), 2);
}

/* ---- processes ---- */

static void a_process_is_known_by_number_and_start(void **state)
{
    struct process_id own, child, again;
    pid_t pid, parent;
    (void)state;
    assert_true(process_look(getpid(), &own, &parent));
    assert_int_equal(parent, getppid());
    char *words[] = {"sh", "-c", "echo; read x; exit 3", NULL}, *environment[] = {NULL}, byte;
    int pipes[2], said[2];
    posix_spawn_file_actions_t actions;
    assert_true(pipe2(pipes, O_CLOEXEC) == 0 && pipe2(said, O_CLOEXEC) == 0);
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, pipes[0], 0), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, said[1], 1), 0);
    assert_int_equal(process_spawn("/bin/sh", words, environment, &actions, &pid), 0);
    assert_int_equal(read(said[0], &byte, 1), 1); /* now it is what its words say */
    assert_true(process_look(pid, &child, &parent) && process_look(pid, &again, &parent));
    assert_true(child.pid == pid && parent == getpid() && child.started == again.started);
    assert_true(child.started >= own.started && process_lives(pid));
    assert_int_equal(getpgid(pid), pid); /* a group of its own */
    assert_int_equal(process_shell(pid), SHELL_LINE);
    assert_true(process_is_called(pid, "sh") && !process_is_called(pid, "bash"));
    assert_int_equal(close(pipes[1]), 0);
    assert_int_equal(WEXITSTATUS(process_wait(pid)), 3);
    assert_int_equal(process_wait(pid), -1);
    assert_int_equal(process_wait(0), -1);
    assert_false(process_look(pid, &again, &parent) || process_lives(pid));
    assert_int_equal(process_spawn("/none/such", words, environment, &actions, &pid), 2 /* ENOENT */);
    assert_int_equal(posix_spawn_file_actions_destroy(&actions), 0);
    assert_true(close(pipes[0]) == 0 && close(said[0]) == 0 && close(said[1]) == 0);
}

static int to_child;
static volatile sig_atomic_t interrupted;

/* The child waits for this. */
static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
    assert_int_equal(write(to_child, "\n", 1), 1);
}

static void a_signal_does_not_end_the_wait_for_a_child(void **state)
{
    char *words[] = {"sh", "-c", "read x; exit 3", NULL}, *environment[] = {NULL};
    struct sigaction action = {.sa_handler = on_signal}, before;
    struct itimerval soon = {.it_value = {.tv_usec = 1000}};
    posix_spawn_file_actions_t actions;
    int pipes[2];
    pid_t pid;
    (void)state;
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, pipes[0], 0), 0);
    assert_int_equal(process_spawn("/bin/sh", words, environment, &actions, &pid), 0);
    to_child = pipes[1];
    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
    assert_int_equal(WEXITSTATUS(process_wait(pid)), 3);
    assert_true(interrupted);
    assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
    assert_int_equal(posix_spawn_file_actions_destroy(&actions), 0);
    assert_true(close(pipes[0]) == 0 && close(pipes[1]) == 0);
}

static int begin(void **state)
{
    (void)state;
    (void)snprintf(top, sizeof top, "/tmp/nod-io-XXXXXX");
    return mkdtemp(top) ? 0 : 1;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *walk)
{
    (void)st;
    (void)flag;
    (void)walk;
    return remove(path);
}

static int end(void **state)
{
    (void)state;
    arena_done(&arena);
    return nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#define FILES_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILES_TEST(a_private_file_is_there_whole_and_nobody_elses),
        FILES_TEST(a_file_is_read_whole_or_not_at_all),
        FILES_TEST(what_comes_in_pieces_is_put_together),
        FILES_TEST(a_folder_of_ours_is_open_to_nobody),
        FILES_TEST(a_lock_is_held_by_one),
        FILES_TEST(a_folder_is_held_by_one),
        FILES_TEST(links_are_followed_as_the_kernel_does),
        FILES_TEST(a_circle_of_links_leads_nowhere),
        FILES_TEST(a_file_with_a_second_name_is_told),
        FILES_TEST(a_path_stays_beneath_its_root),
        FILES_TEST(nothing_is_opened_outside_its_root),
        FILES_TEST(a_file_is_changed_only_if_it_is_as_it_was_shown),
        FILES_TEST(nothing_is_written_through_a_link),
        FILES_TEST(a_process_is_known_by_number_and_start),
        FILES_TEST(a_signal_does_not_end_the_wait_for_a_child),
    };
    return cmocka_run_group_tests_name("io files", tests, NULL, NULL);
}
