/* Every write and every sync of the SQLite store fails once. Whatever happens: what was called kept is
 * there afterwards, what was called failed is not, also when the process dies at that moment; and the store
 * goes on by itself when the cause is gone. */
#include "sqlite_layer.h"
#include "store_rig.h"

#include <stdatomic.h>
#include <sys/wait.h>

enum fault { FAULT_WRITE, FAULT_SYNC, FAULT_KINDS };
enum { APPENDS = 12, OPERATIONS = 26, LARGE_BYTES = 150000 };

static _Atomic int countdown[FAULT_KINDS]; /* 0: disarmed */
static _Atomic int length;                 /* how many operations fail in a row */
static _Atomic int struck;

static bool fails(enum fault fault)
{
    int left = atomic_load(&countdown[fault]);
    if (left == 0)
        return false;
    if (left > 1) {
        atomic_store(&countdown[fault], left - 1);
        return false;
    }
    atomic_fetch_add(&struck, 1);
    if (atomic_fetch_sub(&length, 1) <= 1)
        atomic_store(&countdown[fault], 0);
    return true;
}

static int faulty_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 at)
{
    if (!fails(FAULT_WRITE))
        return layer_below(file)->xWrite(file, bytes, count, at);
    (void)layer_below(file)->xWrite(file, bytes, count / 2, at); /* half of it arrives */
    return SQLITE_FULL;
}

static int faulty_sync(sqlite3_file *file, int flags)
{
    return fails(FAULT_SYNC) ? SQLITE_IOERR_FSYNC : layer_below(file)->xSync(file, flags);
}

static void make_faulty(sqlite3_io_methods *methods)
{
    methods->xWrite = faulty_write;
    methods->xSync = faulty_sync;
}

static void arm(enum fault fault, int operation, int in_a_row)
{
    atomic_store(&struck, 0);
    atomic_store(&length, in_a_row);
    atomic_store(&countdown[fault], operation);
}

static void disarm(void)
{
    for (int i = 0; i < FAULT_KINDS; i++)
        atomic_store(&countdown[i], 0);
}

static struct append *numbered(int number)
{
    char call[16], session[8];
    (void)snprintf(call, sizeof call, "c%d", number);
    (void)snprintf(session, sizeof session, "s%d", number % 3);
    struct append *append = rig_ask(session, call, 0);
    if (number == 2) { /* the log is written in several pieces before it is synced */
        char *bytes = arena_bytes(&append->arena, LARGE_BYTES);
        memset(bytes, 'x', LARGE_BYTES);
        append->events[0].data = (struct str){bytes, LARGE_BYTES};
    }
    return append;
}

/* Whether the call of that number is in the store, with both of its events. */
static bool is_kept(struct rig *rig, int number)
{
    char call[16];
    (void)snprintf(call, sizeof call, "c%d", number);
    struct read *read = rig_question(READ_CALL, "");
    read->call = arena_str(&read->arena, str_of(call));
    read = rig_read(rig, read);
    size_t count = read->event_count;
    assert_true(count == 0 || count == 2);
    read_free(read);
    return count == 2;
}

/* ---- the store survives ---- */

static void check_survival(enum fault fault, int operation, int in_a_row)
{
    struct rig rig;
    bool kept[APPENDS];
    uint64_t events = 0;
    rig_init(&rig, "sqlite");
    rig_open(&rig);
    arm(fault, operation, in_a_row);
    for (int i = 0; i < APPENDS; i++) {
        struct append *append = numbered(i);
        rig_hand(&rig, append);
        rig_wait(&rig);
        kept[i] = append->outcome == APPEND_KEPT;
        if (!kept[i]) {
            assert_int_equal(append->outcome, APPEND_FAILED);
            assert_int_equal(append->err.code, ERR_UNAVAILABLE);
        }
        assert_int_equal(store_figures(rig.store).healthy, kept[i]);
        events += kept[i] ? 2 : 0;
        append_free(append);
    }
    disarm();
    (void)rig_append(&rig, numbered(APPENDS), APPEND_KEPT);
    assert_true(store_figures(rig.store).healthy);
    for (int reopened = 0; reopened < 2; reopened++) {
        for (int i = 0; i < APPENDS; i++)
            assert_int_equal(is_kept(&rig, i), kept[i]);
        rig_verify_well(&rig, events + 2);
        rig_close(&rig);
        rig_open(&rig);
    }
    rig_done(&rig);
}

static void the_store_goes_on_after_a_fault(void **state)
{
    (void)state;
    int met = 0;
    for (int fault = 0; fault < FAULT_KINDS; fault++) {
        for (int operation = 1; operation <= OPERATIONS; operation++) {
            check_survival((enum fault)fault, operation, 1);
            met += atomic_load(&struck);
            check_survival((enum fault)fault, operation, 4);
            met += atomic_load(&struck);
        }
    }
    assert_true(met > OPERATIONS);
}

/* ---- the process dies with the fault ---- */

static _Noreturn void append_until_fault(struct rig *rig, enum fault fault, int operation, int to)
{
    struct store_options options = {.url = rig->url};
    if (rc_bad(loop_new(&rig->loop, NULL)) || /* a loop does not survive a fork */
        rc_bad(store_open(rig->loop, &options, &rig->store, NULL)))
        _exit(2);
    rig->followed = UINT64_MAX; /* nobody follows here */
    arm(fault, operation, 1);
    for (int i = 0; i < APPENDS; i++) {
        struct append *append = numbered(i);
        rig_hand(rig, append);
        rig_wait(rig);
        char outcome = append->outcome == APPEND_KEPT ? 'k' : 'f';
        if (write(to, &outcome, 1) != 1)
            _exit(3);
        if (outcome == 'f')
            break;
        append_free(append);
    }
    _exit(0);
}

static void check_death(enum fault fault, int operation)
{
    struct rig rig;
    int ends[2], status, count = 0;
    char outcome;
    rig_init(&rig, "sqlite");
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        append_until_fault(&rig, fault, operation, ends[1]);
    (void)close(ends[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    rig_open(&rig);
    while (read(ends[0], &outcome, 1) == 1) {
        assert_int_equal(is_kept(&rig, count), outcome == 'k');
        count++;
    }
    (void)close(ends[0]);
    assert_true(count > 0);
    for (; count < APPENDS; count++)
        assert_false(is_kept(&rig, count));
    rig_verify_well(&rig, store_last_seq(rig.store));
    rig_done(&rig);
}

static void what_failed_is_not_there_after_a_crash(void **state)
{
    (void)state;
    for (int fault = 0; fault < FAULT_KINDS; fault++)
        for (int operation = 1; operation <= OPERATIONS; operation++)
            check_death((enum fault)fault, operation);
}

int main(void)
{
    if (!layer_register(make_faulty, NULL))
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_store_goes_on_after_a_fault),
        cmocka_unit_test(what_failed_is_not_there_after_a_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
