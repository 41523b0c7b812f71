/* Looks at places that do not answer: bounded in time and in number, and nothing stays behind. A place that does not
 * answer is a pipe that nobody writes to, or a FUSE mount of our own, if this machine lets us make one. */
#include "io/far.h"
#include "io/links.h"

#include "base/err.h"
#include "io/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cmocka.h>

enum { THREADS_MOST = 16, PAUSE_US = 2000, PAUSES_MAX = 60 * 500 };

static int silence[2]; /* a pipe: a work that hangs reads from it */
static _Atomic unsigned runs;

struct wait_work {
    struct far_work work;
    int number;
};

static void hang(struct far_work *work)
{
    char byte;
    (void)work;
    atomic_fetch_add(&runs, 1);
    assert_int_equal(read(silence[0], &byte, 1), 1);
}

static void answer(struct far_work *work)
{
    struct wait_work *wait = (struct wait_work *)work;
    wait->number = 7;
    (void)arena_str(&work->arena, STR("what was found"));
}

static unsigned count_of(const char *folder)
{
    DIR *dir = opendir(folder);
    unsigned count = 0;
    assert_non_null(dir);
    while (readdir(dir))
        count++;
    (void)closedir(dir);
    return count;
}

static unsigned threads(void) { return count_of("/proc/self/task"); }

static unsigned alone; /* threads of this program before any test */

/* A thread that was done may still be on its way out. */
static void wait_for_threads(void)
{
    for (int i = 0; threads() != alone; i++) {
        assert_true(i < PAUSES_MAX);
        (void)usleep(PAUSE_US);
    }
}

static bool do_one(void (*run)(struct far_work *work), struct str path)
{
    struct wait_work *wait = far_new(sizeof *wait, run);
    bool over = far_do(&wait->work, path);
    if (over) {
        assert_int_equal(wait->number, 7);
        far_free(&wait->work);
    }
    return over;
}

/* Work that ends at once; on a busy machine its thread may begin too late, so it is tried again. */
static bool answers(struct str path)
{
    for (int i = 0; i < PAUSES_MAX; i++) {
        if (do_one(answer, path))
            return true;
        (void)usleep(PAUSE_US);
    }
    return false;
}

static void what_answers_is_given_back(void **state)
{
    (void)state;
    (void)far_any();
    unsigned before = count_of("/proc/self/fd");
    for (int i = 0; i < 100; i++)
        assert_true(answers(STR("/tmp/x")));
    assert_int_equal(count_of("/proc/self/fd"), before);
    wait_for_threads();
}

static void *do_many(void *arg)
{
    (void)arg;
    for (int i = 0; i < 200; i++)
        (void)do_one(answer, STR("/tmp/x")); /* some are refused: too many at once */
    return NULL;
}

static void many_ask_at_once(void **state)
{
    (void)state;
    enum { ASKERS = 24 };
    pthread_t askers[ASKERS];
    for (int i = 0; i < ASKERS; i++)
        assert_int_equal(pthread_create(&askers[i], NULL, do_many, NULL), 0);
    for (int i = 0; i < ASKERS; i++)
        assert_int_equal(pthread_join(askers[i], NULL), 0);
    wait_for_threads();
    assert_true(answers(STR("/tmp/x")));
    wait_for_threads();
}

/* All threads hang: the next work is refused at once, without having begun. When they are let go, all is as before. */
static void threads_that_hang_are_few(void **state)
{
    (void)state;
    assert_int_equal(pipe2(silence, O_CLOEXEC), 0);
    atomic_store(&runs, 0);
    for (int i = 0; i < THREADS_MOST; i++)
        assert_false(do_one(hang, STR("/tmp/x")));
    assert_int_equal(threads(), alone + THREADS_MOST);
    assert_false(do_one(hang, STR("/tmp/x")));
    assert_false(do_one(answer, STR("/tmp/x")));
    for (int i = 0; atomic_load(&runs) != THREADS_MOST; i++) { /* a thread may begin late */
        assert_true(i < PAUSES_MAX);
        (void)usleep(PAUSE_US);
    }
    for (int i = 0; i < THREADS_MOST; i++)
        assert_int_equal(write(silence[1], "x", 1), 1);
    wait_for_threads();
    assert_true(answers(STR("/tmp/x")));
    wait_for_threads();
    (void)close(silence[0]);
    (void)close(silence[1]);
}

/* ---- a mount ---- */

static char folder[32];
static int mount_fd = -1;

/* A FUSE mount whose program never answers; false: it cannot be made here. */
static bool mount_silent(void)
{
    char options[100];
    (void)snprintf(folder, sizeof folder, "/tmp/nod-far-XXXXXX");
    assert_non_null(mkdtemp(folder));
    mount_fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    (void)snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=%u,group_id=%u", mount_fd, getuid(),
                   getgid());
    return mount_fd >= 0 && mount("silent", folder, "fuse", 0, options) == 0;
}

/* Also after a test that failed: what hangs gets an error, so that the process can end. */
static int unmount(void **state)
{
    (void)state;
    if (mount_fd >= 0)
        (void)close(mount_fd);
    mount_fd = -1;
    (void)umount2(folder, MNT_DETACH);
    (void)rmdir(folder);
    return 0;
}

static bool is_silent(struct str path)
{
    ARENA_SCOPE(arena);
    struct stat st;
    errno = 0;
    return !links_stat(&arena, path, &st) && errno == ETIMEDOUT;
}

static bool none(const void *arg, struct str path, struct str real) { return arg && path.n && real.n && false; }

static bool enters(const void *arg, struct str path)
{
    (void)arg;
    return str_ends(path, STR("/t")) || str_ends(path, str_of(folder + sizeof "/tmp" - 1));
}

static bool gives_up(struct str from, bool (*goes)(const void *arg, struct str path))
{
    ARENA_SCOPE(arena);
    struct links_search search = {.arena = &arena, .wanted = none, .enters = goes, .levels = 4, .entries = 1 << 20};
    (void)links_find(&search, from);
    return search.gave_up;
}

/* A search begins in a link to it, or comes to it by another name, behind a link to the folder above. */
static void a_search_does_not_wait_for_it(void **state)
{
    (void)state;
    char link[64], at[64], above[64];
    (void)far_any();
    if (!mount_silent())
        skip();
    (void)snprintf(link, sizeof link, "%s.link", folder);
    (void)snprintf(at, sizeof at, "%s.at", folder);
    (void)snprintf(above, sizeof above, "%s.at/t", folder);
    assert_int_equal(symlink(folder, link), 0);
    assert_int_equal(mkdir(at, 0700), 0);
    assert_int_equal(symlink("/tmp", above), 0);
    bool first = gives_up(str_of(link), NULL), second = gives_up(str_of(at), enters);
    (void)unlink(link);
    (void)unlink(above);
    (void)rmdir(at);
    assert_true(first && second);
    (void)unmount(NULL);
    wait_for_threads();
}

/* Each way to look at it says that it did not answer, the first after a moment, the others at once. */
static void a_silent_mount_is_asked_once(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    char link[64];
    struct stat st;
    struct str text;
    (void)far_any();
    if (!mount_silent())
        skip();
    struct str path = arena_printf(&arena, "%s/x", folder);
    assert_true(far_any()); /* it is in the list as soon as it is there */
    assert_true(far_is(path));
    assert_false(far_is(arena_printf(&arena, "%sx/x", folder)));
    (void)snprintf(link, sizeof link, "%s.link", folder);
    assert_int_equal(symlink(folder, link), 0);
    assert_true(is_silent(path));
    assert_true(is_silent(path));
    assert_true(is_silent(arena_printf(&arena, "%s/x", link)));
    assert_false(links_lstat(&arena, path, &st));
    assert_true(links_lstat(&arena, str_of(link), &st) && S_ISLNK(st.st_mode));
    assert_int_equal(links_read(&arena, path.p, 100, &text, NULL).code, ERR_TIMEOUT);
    links_make_folder(&arena, path);
    assert_true(str_empty(links_follow(&arena, path)));
    assert_int_equal(threads(), alone + 1);
    assert_int_equal(unlink(link), 0);
    (void)unmount(NULL);
    wait_for_threads();
    assert_false(is_silent(path));
}

static bool hang_long(struct str path)
{
    struct wait_work *wait = far_new(sizeof *wait, hang);
    wait->work.long_work = true; /* so that the mount is not said to be silent */
    return far_do(&wait->work, path);
}

/* What hangs on one mount leaves threads for another. */
static void one_mount_does_not_take_all_threads(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    (void)far_any();
    if (!mount_silent())
        skip();
    struct str path = arena_printf(&arena, "%s/x", folder);
    assert_true(far_any());
    assert_int_equal(pipe2(silence, O_CLOEXEC), 0);
    atomic_store(&runs, 0);
    for (int i = 0; i < THREADS_MOST; i++)
        assert_false(hang_long(path));
    unsigned hanging = atomic_load(&runs);
    bool another = answers(STR("/tmp/x"));
    for (unsigned i = 0; i < THREADS_MOST; i++) /* also for a thread that has not begun yet */
        assert_int_equal(write(silence[1], "x", 1), 1);
    assert_true(hanging < THREADS_MOST && another);
    wait_for_threads();
    assert_true(answers(path)); /* none of them is counted any more */
    (void)close(silence[0]);
    (void)close(silence[1]);
}

int main(void)
{
    alone = threads();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_answers_is_given_back),
        cmocka_unit_test(many_ask_at_once),
        cmocka_unit_test(threads_that_hang_are_few),
        cmocka_unit_test_teardown(a_silent_mount_is_asked_once, unmount),
        cmocka_unit_test_teardown(a_search_does_not_wait_for_it, unmount),
        cmocka_unit_test_teardown(one_mount_does_not_take_all_threads, unmount),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
