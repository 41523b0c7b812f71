/* SQLite's files on a disk that is full, its log, and who commits an append that is alone. */
#include "sqlite_rig.h"

#include "store/inner.h"

#include "io/clock.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

static const char *large_data(void)
{
    static char data[100 << 10];
    memset(data, 'x', sizeof data - 1);
    return data;
}

/* Appends until one fails; returns how many were kept. */
static unsigned append_until_full(struct rig *rig)
{
    for (unsigned kept = 0;; kept++) {
        struct append *append = append_new();
        rig_event(append, EVENT_USER_MESSAGE, "s1", "", large_data());
        rig_hand(rig, append);
        rig_wait(rig);
        enum append_outcome outcome = append->outcome;
        enum err_code code = append->err.code;
        append_free(append);
        if (outcome == APPEND_KEPT) {
            assert_true(store_figures(rig->store).healthy);
            continue;
        }
        assert_int_equal(outcome, APPEND_FAILED);
        assert_int_equal(code, ERR_UNAVAILABLE);
        assert_false(store_figures(rig->store).healthy);
        return kept;
    }
}

static void check_kept(struct rig *rig, uint64_t kept)
{
    assert_int_equal(rig->followed, kept);
    struct read *read = rig_question(READ_EVENTS, "s1");
    read->kinds = 1u << EVENT_USER_MESSAGE;
    read->after = kept - 1;
    read = rig_read(rig, read);
    assert_int_equal(read->event_count, 1);
    read_free(read);
    rig_verify_well(rig, kept);
}

static void a_file_that_may_not_grow_is_survived(void **state)
{
    struct rig *rig = *state;
    struct rlimit before, small;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    rig_open(rig);
    uint64_t kept = rig_one(rig, EVENT_USER_MESSAGE, "s1", "", "{}");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 3 << 20;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    for (int round = 0; round < 3; round++)
        kept += append_until_full(rig);
    check_kept(rig, kept);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    kept = rig_one(rig, EVENT_USER_MESSAGE, "s1", "", "{}");
    assert_true(store_figures(rig->store).healthy);
    check_kept(rig, kept);
    (void)signal(SIGXFSZ, handler);
}

static void a_full_disk_is_survived(void **state)
{
    struct rig *rig = *state;
    char ballast[4096] = {0};
    if (mount("none", rig->folder, "tmpfs", 0, "size=6m") != 0)
        skip();
    rig_open(rig);
    uint64_t kept = rig_one(rig, EVENT_USER_MESSAGE, "s1", "", "{}");
    int fd = open(path_of(rig, "ballast"), O_WRONLY | O_CREAT, 0600);
    for (int i = 0; i < 1024; i++) /* 4 MB */
        assert_int_equal(write(fd, ballast, sizeof ballast), sizeof ballast);
    kept += append_until_full(rig);
    while (write(fd, ballast, sizeof ballast) > 0) /* nothing at all is left */
        ;
    kept += append_until_full(rig);
    check_kept(rig, kept);
    assert_int_equal(close(fd), 0);
    assert_int_equal(unlink(path_of(rig, "ballast")), 0);
    kept = rig_one(rig, EVENT_USER_MESSAGE, "s1", "", "{}");
    assert_true(store_figures(rig->store).healthy);
    check_kept(rig, kept);
    rig_close(rig);
    rig_verify_well(rig, kept);
    assert_int_equal(umount2(rig->folder, MNT_DETACH), 0);
}

/* Whether writing works again is told by a write, not by a change that SQLite finds to be none. */
static void a_probe_writes(void **state)
{
    struct rig *rig = *state;
    struct err err = {0};
    struct rlimit before, none;
    struct backend_handle *writer;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    const struct backend *backend = open_backend(rig, BACKEND_WRITER, &writer);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    struct rc rc = backend->probe(writer, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(rc.code, ERR_UNAVAILABLE);
    assert_true(rc_ok(backend->probe(writer, &err)));
    assert_int_equal(ask_sql(rig, "SELECT value FROM meta WHERE name = 'indexed'"), 0);
    backend->close(writer);
    (void)signal(SIGXFSZ, handler);
}

static void log_is_bounded(struct rig *rig, uint64_t bytes_max)
{
    struct stat st;
    assert_int_equal(stat(path_of(rig, "nod.db-wal"), &st), 0);
    assert_true((uint64_t)st.st_size < bytes_max);
}

/* 300 MB go through the log; it is begun anew all the time. */
static void the_log_does_not_grow_for_ever(void **state)
{
    struct rig *rig = *state;
    struct append *appends[50];
    rig_open(rig);
    for (int round = 0; round < 60; round++) {
        for (int i = 0; i < 50; i++) {
            appends[i] = append_new();
            rig_event(appends[i], EVENT_USER_MESSAGE, "s1", "", large_data());
            rig_hand(rig, appends[i]);
        }
        rig_wait(rig);
        for (int i = 0; i < 50; i++) {
            assert_int_equal(appends[i]->outcome, APPEND_KEPT);
            append_free(appends[i]);
        }
        log_is_bounded(rig, 140 << 20);
    }
}

/* Each writes the same pages again; a long list of their copies would make the next one slower. */
static void a_log_of_small_commits_begins_anew(void **state)
{
    enum { COMMITS = 1000 };
    struct rig *rig = *state;
    rig_open(rig);
    for (int i = 0; i < COMMITS; i++)
        (void)rig_one(rig, EVENT_USER_MESSAGE, "s1", "", "{}");
    log_is_bounded(rig, (uint64_t)COMMITS * 4096);
    check_kept(rig, COMMITS);
}

static void commit_data(const struct backend *backend, struct backend_handle *writer, const char *data)
{
    struct err err = {0};
    struct append *append = append_new();
    rig_event(append, EVENT_USER_MESSAGE, "s1", "", data);
    assert_true(rc_ok(backend->commit(writer, append, &err)));
    assert_int_equal(append->outcome, APPEND_KEPT);
    append_free(append);
}

static void commit_one(const struct backend *backend, struct backend_handle *writer)
{
    commit_data(backend, writer, "{}");
}

/* As the writer's thread does; returns how many commits it takes until the checkpointer is asked. */
static unsigned commit_until_long(const struct backend *backend, struct backend_handle *writer)
{
    struct err err = {0};
    for (unsigned commits = 1;; commits++) {
        commit_one(backend, writer);
        enum tidy_need need = backend->tidy_due(writer);
        assert_true(need != TIDY_BEFORE);
        if (need == TIDY_BESIDE)
            return commits;
        assert_true(rc_ok(backend->catch_up(writer, &err)));
    }
}

/* The checkpointer's part, a commit meanwhile, the writer's part, and the commit that may be the first of a log. */
static void begin_log_anew(const struct rig *rig, const struct backend *backend, struct backend_handle *writer)
{
    struct err err = {0};
    struct backend_handle *checkpointer;
    (void)open_backend(rig, BACKEND_CHECKPOINTER, &checkpointer);
    assert_true(rc_ok(backend->tidy(checkpointer, &err)));
    commit_one(backend, writer);
    assert_true(rc_ok(backend->settle(writer, false, &err)));
    commit_one(backend, writer);
    backend->close(checkpointer);
}

/* While another program keeps the log long, the checkpointer is asked now and then, and the loop does not commit. */
static void a_log_that_another_program_needs_stays_long(void **state)
{
    struct rig *rig = *state;
    struct backend_handle *writer;
    const struct backend *backend = open_backend(rig, BACKEND_WRITER, &writer);
    sqlite3 *other;
    unsigned commits = commit_until_long(backend, writer);
    assert_in_range(commits, 256, 280); /* each has a page or two */
    assert_false(backend->begin_quickly(writer));
    assert_int_equal(sqlite3_open(path_of(rig, "nod.db"), &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN; SELECT max(seq) FROM events", NULL, NULL, NULL), SQLITE_OK);
    commits += commit_until_long(backend, writer);
    assert_in_range(commits, 512, 560); /* the late tables were filled between them */
    begin_log_anew(rig, backend, writer);
    assert_false(backend->begin_quickly(writer));
    assert_int_equal(sqlite3_close(other), SQLITE_OK);
    begin_log_anew(rig, backend, writer);
    assert_true(backend->begin_quickly(writer));
    commits += 4 + commit_until_long(backend, writer);
    assert_in_range(commits, 770, 840);
    backend->close(writer);
    rig_verify_well(rig, commits);
}

/* Each has 25 pages and more, to which a walk over the copies of a few is little. */
static void a_log_may_have_more_large_commits(void **state)
{
    enum { SMALL_MOST = 300, LARGE_MOST = 600 };
    struct rig *rig = *state;
    struct backend_handle *writer;
    const struct backend *backend = open_backend(rig, BACKEND_WRITER, &writer);
    unsigned commits = 0;
    do
        commit_data(backend, writer, large_data());
    while (++commits < LARGE_MOST && backend->tidy_due(writer) == TIDY_NOT);
    assert_in_range(commits, SMALL_MOST, LARGE_MOST - 1);
    assert_false(backend->begin_quickly(writer));
    backend->close(writer);
    rig_verify_well(rig, commits);
}

/* ---- an append that is alone ---- */

/* Comes behind the store's own look at the end of a turn. */
struct turn {
    struct before_sleep before;
    struct rig *rig;
    sqlite3 *other;        /* holds the database until the first turn has ended */
    unsigned turns, left;  /* at the end of the first */
};

static bool turn_ends(void *arg)
{
    struct turn *turn = arg;
    if (turn->turns++ == 0)
        turn->left = turn->rig->pending;
    if (turn->other)
        assert_int_equal(sqlite3_close(turn->other), SQLITE_OK);
    turn->other = NULL;
    return false;
}

static void one_turn(struct rig *rig, struct turn *turn, struct append *append)
{
    *turn = (struct turn){.before = {.before = turn_ends, .arg = turn}, .rig = rig, .other = turn->other};
    loop_before_sleep(rig->loop, &turn->before);
    assert_true(rig_append(rig, append, APPEND_KEPT) > 0);
    loop_forget(rig->loop, &turn->before);
}

static struct append *message(size_t bytes)
{
    struct append *append = append_new();
    char *text = arena_bytes(&append->arena, bytes + 3);
    memset(text, ' ', bytes);
    memcpy(text + bytes, "{}", 3);
    rig_event(append, EVENT_USER_MESSAGE, "s1", "", text);
    return append;
}

static void a_lone_append_is_committed_by_the_loop(void **state)
{
    struct rig *rig = *state;
    struct turn turn = {0};
    rig_open(rig);
    one_turn(rig, &turn, message(0));
    assert_int_equal(turn.left, 0);
    rig_close(rig);
    rig_open(rig);
    one_turn(rig, &turn, message(64 << 10)); /* a large one is the writer's */
    assert_int_equal(turn.left, 1);
    rig_verify_well(rig, 2);
}

static _Thread_local unsigned sleeps; /* of this thread, for a lock of the database */

static int count_sleep(sqlite3_vfs *vfs, int us)
{
    sleeps++;
    return sqlite3_vfs_find(NULL)->xSleep(vfs, us);
}

static void the_loop_does_not_wait_for_another_program(void **state)
{
    struct rig *rig = *state;
    struct turn turn = {0};
    rig_open(rig);
    sqlite3_vfs *vfs = sqlite3_vfs_find("nod");
    assert_non_null(vfs);
    vfs->xSleep = count_sleep;
    assert_int_equal(sqlite3_open(path_of(rig, "nod.db"), &turn.other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(turn.other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    sleeps = 0;
    one_turn(rig, &turn, message(0));
    assert_int_equal(turn.left, 1);
    assert_int_equal(sleeps, 0);
    rig_verify_well(rig, 1);
    vfs->xSleep = sqlite3_vfs_find(NULL)->xSleep;
}

/* ---- many appends in a turn ---- */

enum {
    MANY = 40,
    FEW = (MANY - 2) / 2 - 1, HALF = MANY / 2, /* the last group has all, or all but two */
    REST_MS = 30,
    STAYS_US = 20000, WAKES_US = 500000, /* after a second the writer looks by itself */
    TIMES = 10,
};

static void hand_some(struct rig *rig, struct append **appends, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        rig_hand(rig, appends[i] = message(0));
}

static void wait_for_some(struct rig *rig, struct append **appends, unsigned count)
{
    rig_wait(rig);
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(appends[i]->outcome, APPEND_KEPT);
        append_free(appends[i]);
    }
}

/* The writer begins with what it was given; it may be late, or still be waiting for more of them. */
static void wait_until_taken(struct store *store)
{
    bool taken = false;
    for (int i = 0; !taken && i < REST_MS; i++) {
        (void)usleep(1000);
        lock(&store->inbox.lock);
        taken = !store->appends.first;
        unlock(&store->inbox.lock);
    }
}

/* Nothing is committed before all are handed over. The second wakes the writer; the last group has all others, or all
 * where the writer was late. */
static void commit_many(struct rig *rig)
{
    struct append *appends[MANY];
    sqlite3 *other;
    assert_int_equal(sqlite3_open(path_of(rig, "nod.db"), &other), SQLITE_OK);
    assert_int_equal(sqlite3_busy_timeout(other, 10000), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    hand_some(rig, appends, 2);
    wait_until_taken(rig->store);
    hand_some(rig, appends + 2, MANY - 2);
    assert_int_equal(sqlite3_close(other), SQLITE_OK);
    wait_for_some(rig, appends, MANY);
}

/* It may still fill tables or look at the log. */
static void wait_until_writer_sleeps(struct store *store)
{
    for (bool asleep = false; !asleep; (void)usleep(1000)) {
        lock(&store->inbox.lock);
        asleep = store->inbox.asleep > 0 && !store->owned;
        unlock(&store->inbox.lock);
    }
}

/* Whether the writer commits some of these before the turn ends, after so many in the group before. */
static bool writer_wakes(struct rig *rig, bool many, unsigned count, int64_t wait_us)
{
    struct append *appends[MANY];
    if (many)
        commit_many(rig);
    wait_until_writer_sleeps(rig->store);
    uint64_t groups = store_figures(rig->store).groups;
    hand_some(rig, appends, count);
    int64_t end_us = clock_steady_us() + wait_us;
    while (store_figures(rig->store).groups == groups && clock_steady_us() < end_us)
        (void)usleep(1000);
    bool woke = store_figures(rig->store).groups > groups;
    wait_for_some(rig, appends, count); /* the end of the turn wakes it */
    return woke;
}

/* On a busy machine the writer may wake late, or its second may be over: one time of ten is enough. */
static bool writer_can(struct rig *rig, bool wake, bool many, unsigned count, int64_t wait_us)
{
    for (int i = 0; i < TIMES; i++)
        if (writer_wakes(rig, many, count, wait_us) == wake)
            return true;
    return false;
}

static void many_appends_of_a_turn_are_one_group(void **state)
{
    struct rig *rig = *state;
    rig_open(rig);
    assert_true(writer_can(rig, true, false, 2, WAKES_US));
    assert_true(writer_can(rig, false, true, FEW, STAYS_US));
    assert_true(writer_can(rig, true, true, HALF, WAKES_US));
    rig_verify_well(rig, store_last_seq(rig->store));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_that_may_not_grow_is_survived),
        TEST(a_full_disk_is_survived),
        TEST(a_probe_writes),
        TEST(the_log_does_not_grow_for_ever),
        TEST(a_log_of_small_commits_begins_anew),
        TEST(a_log_that_another_program_needs_stays_long),
        TEST(a_log_may_have_more_large_commits),
        TEST(a_lone_append_is_committed_by_the_loop),
        TEST(the_loop_does_not_wait_for_another_program),
        TEST(many_appends_of_a_turn_are_one_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
