/* The tables that the SQLite backend fills late (sqlite_late.c): nothing is lost, everything is found. */
#include "sqlite_layer.h"
#include "sqlite_rig.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>

/* What the store asks of the system. */
struct counts {
    unsigned reads, writes, syncs, bytes; /* bytes: written */
};
static _Atomic unsigned reads, writes, syncs, bytes;

static int counted_read(sqlite3_file *file, void *to, int count, sqlite3_int64 at)
{
    atomic_fetch_add(&reads, 1);
    return layer_below(file)->xRead(file, to, count, at);
}

static int counted_write(sqlite3_file *file, const void *from, int count, sqlite3_int64 at)
{
    atomic_fetch_add(&writes, 1);
    atomic_fetch_add(&bytes, (unsigned)count);
    return layer_below(file)->xWrite(file, from, count, at);
}

static int counted_sync(sqlite3_file *file, int flags)
{
    atomic_fetch_add(&syncs, 1);
    return layer_below(file)->xSync(file, flags);
}

static void count(sqlite3_io_methods *methods)
{
    methods->xRead = counted_read;
    methods->xWrite = counted_write;
    methods->xSync = counted_sync;
}

static struct counts counts_now(void) { return (struct counts){reads, writes, syncs, bytes}; }

/* The least of several turns: a turn in which the machine stood still may have settled the store, too. */
static void keep_least(struct counts *least, struct counts before)
{
    struct counts now = counts_now();
#define LEAST(what) \
    if (now.what - before.what < least->what) least->what = now.what - before.what
    LEAST(reads);
    LEAST(writes);
    LEAST(syncs);
    LEAST(bytes);
#undef LEAST
}

#define INDEXED "SELECT value FROM meta WHERE name = 'indexed'"
#define GROUPED "SELECT max(last_seq) FROM groups"

/* In a process that dies without closing anything. */
static void fill_and_die(struct rig *rig)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        rig_open(rig);
        (void)rig_one(rig, EVENT_SESSION_CHANGED, "s1", "", "{}");
        (void)rig_append(rig, rig_ask("s1", "c1", 1), APPEND_KEPT);
        (void)rig_append(rig, rig_answer("s1", "c1", "{}"), APPEND_KEPT);
        struct append *waits = rig_ask("s1", "c2", 1);
        waits->deadline_ms = 0;
        (void)rig_append(rig, waits, APPEND_KEPT);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void events_that_a_crash_left_unlisted_are_listed_at_start(void **state)
{
    struct rig *rig = *state;
    fill_and_die(rig);
    assert_true(ask_sql(rig, INDEXED) <= 6); /* 0, unless the process was stopped for seconds */
    assert_int_equal(ask_sql(rig, GROUPED), ask_sql(rig, INDEXED));
    rig_verify_well(rig, 6);
    rig_open(rig);
    assert_int_equal(ask_sql(rig, INDEXED), 6);
    assert_int_equal(ask_sql(rig, GROUPED), 6);
    assert_int_equal(ask_sql(rig, "SELECT sum(more + 1) FROM session_events"), 6);
    assert_int_equal(ask_sql(rig, "SELECT last_seq FROM chains"), 6);
    assert_int_equal(ask_sql(rig, "SELECT request_seq FROM open_approvals"), 6);
    (void)rig_append(rig, rig_ask("s1", "c1", 1), APPEND_REFUSED);
    rig_verify_well(rig, 6);
}

/* The writer has forgotten the sessions and calls that are not listed yet. */
static void what_is_forgotten_is_listed_first(void **state)
{
    struct rig *rig = *state;
    rig_open(rig);
    (void)rig_one(rig, EVENT_SESSION_CHANGED, "s1", "", "{}");
    (void)rig_append(rig, rig_ask("s1", "c1", 1), APPEND_KEPT);
    (void)rig_append(rig, rig_ask("s1", "c2", 1), APPEND_KEPT);
    run_sql(rig, "INSERT INTO meta VALUES('visitor', 1); DELETE FROM meta WHERE name = 'visitor'");
    (void)rig_append(rig, rig_ask("s1", "c1", 1), APPEND_REFUSED);
    (void)rig_append(rig, rig_answer("s1", "c1", "{}"), APPEND_KEPT);
    (void)rig_append(rig, rig_answer("s1", "c1", "{}"), APPEND_REFUSED);
    (void)rig_append(rig, rig_ask("s1", "c2", 1), APPEND_REFUSED); /* the session is remembered again, not this call */
    assert_int_equal(rig_one(rig, EVENT_USER_MESSAGE, "s1", "", "{}"), 7);
    rig_verify_well(rig, 7);
}

/* So many that they are listed while it goes on; each is found, listed or not. */
static void events_are_listed_many_at_once(void **state)
{
    enum { CALLS = 600 };
    struct rig *rig = *state;
    char call[16];
    rig_open(rig);
    (void)rig_one(rig, EVENT_SESSION_CHANGED, "s1", "", "{}");
    for (unsigned i = 0; i < CALLS; i++) {
        (void)snprintf(call, sizeof call, "c%u", i);
        (void)rig_append(rig, rig_ask("s1", call, 1), APPEND_KEPT);
    }
    int64_t indexed = ask_sql(rig, INDEXED);
    assert_true(indexed >= 512);
    struct read *all = rig_question(READ_EVENTS, "s1");
    all->limit = 2 + 2 * CALLS;
    assert_int_equal(rig_read(rig, all)->event_count, 1 + 2 * CALLS);
    read_free(all);
    for (unsigned i = 0; i < CALLS; i += 37) {
        struct read *read = rig_question(READ_CALL, "s1");
        read->call = arena_printf(&read->arena, "c%u", i);
        assert_int_equal(rig_read(rig, read)->event_count, 2);
        read_free(read);
    }
    rig_verify_well(rig, 1 + 2 * CALLS);
    rig_close(rig);
    assert_int_equal(ask_sql(rig, INDEXED), 1 + 2 * CALLS);
    rig_verify_well(rig, 1 + 2 * CALLS);
}

/* ---- what it costs ---- */

static size_t count_call(struct rig *rig, const char *session, const char *call)
{
    struct read *read = rig_question(READ_CALL, session);
    read->call = arena_str(&read->arena, str_of(call));
    size_t count = rig_read(rig, read)->event_count;
    read_free(read);
    return count;
}

/* A call with an input of 1 KB, which may wait for ever. */
static struct append *large_ask(const char *call)
{
    struct append *append = rig_ask("s1", call, 1);
    append->deadline_ms = 0;
    char *text = arena_bytes(&append->arena, 1024);
    memset(text, ' ', 1024);
    text[0] = '{';
    text[1023] = '}';
    append->events[0].data = (struct str){text, 1024};
    return append;
}

/* However many events are not listed yet, a lone ask or answer is one write and one sync of a few pages, and a call is
 * found without a look at the others. */
static void what_is_not_listed_yet_costs_nothing(void **state)
{
    enum { CALLS = 80, TURNS = 20, FRAME_BYTES = 4096 + 24 };
    const struct counts most = {~0U, ~0U, ~0U, ~0U};
    struct counts ask = most, answer = most, recent = most, older = most;
    struct rig *rig = *state;
    char call[16];
    rig_open(rig);
    (void)rig_one(rig, EVENT_SESSION_CHANGED, "s1", "", "{}");
    for (unsigned i = 0; i < CALLS; i++) {
        (void)snprintf(call, sizeof call, "c%u", i);
        struct counts before = counts_now();
        (void)rig_append(rig, large_ask(call), APPEND_KEPT);
        keep_least(&ask, before);
        before = counts_now();
        (void)rig_append(rig, rig_answer("s1", call, "{}"), APPEND_KEPT);
        keep_least(&answer, before);
        if (i < CALLS - TURNS)
            continue;
        before = counts_now();
        assert_int_equal(count_call(rig, "s1", call), 3);
        keep_least(&recent, before);
        before = counts_now();
        assert_int_equal(count_call(rig, "s1", "not there"), 0);
        keep_least(&older, before);
    }
    assert_int_equal(ask.syncs, 1);
    assert_int_equal(answer.syncs, 1);
    assert_int_equal(ask.writes, 1);
    assert_int_equal(answer.writes, 1);
    assert_true(ask.bytes >= 1 && ask.bytes <= FRAME_BYTES); /* the events */
    assert_true(answer.bytes >= 1 && answer.bytes <= FRAME_BYTES);
    assert_true(recent.reads >= 1 && recent.reads <= 16);
    assert_true(older.reads >= 1 && older.reads <= 16);
}

static void tables_are_filled_behind_the_answer(void **state)
{
    struct rig *rig = *state;
    struct err err = {0};
    struct backend_handle *writer;
    const struct backend *backend = open_backend(rig, BACKEND_WRITER, &writer);
    char call[16];
    unsigned quick = 0;
    for (unsigned i = 0; i < 250; i++) {
        (void)snprintf(call, sizeof call, "c%u", i);
        struct append *append = rig_ask("s1", call, 0);
        bool begun = backend->begin_quickly(writer);
        quick += begun;
        assert_true(begun || quick == 224);
        assert_true(rc_ok(backend->commit(writer, append, &err)));
        assert_int_equal(append->outcome, APPEND_KEPT);
        append_free(append);
        assert_int_equal(ask_sql(rig, INDEXED), 0);
    }
    assert_int_equal(quick, 224);
    assert_true(rc_ok(backend->catch_up(writer, &err)));
    assert_int_equal(ask_sql(rig, INDEXED), 500);
    assert_int_equal(ask_sql(rig, "SELECT count(*) FROM groups WHERE last_seq % 2 = 0"), 251); /* one for each commit */
    assert_true(backend->begin_quickly(writer));
    struct append *append = rig_ask("s1", "last", 0);
    assert_true(rc_ok(backend->commit(writer, append, &err)));
    append_free(append);
    backend->close(writer);
    rig_verify_well(rig, 502);
}

/* ---- calls that wait ---- */

static void commit_one(const struct backend *backend, struct backend_handle *writer, struct append *append)
{
    struct err err = {0};
    assert_true(rc_ok(backend->commit(writer, append, &err)));
    assert_int_equal(append->outcome, APPEND_KEPT);
    append_free(append);
}

static void commit_ask(const struct backend *backend, struct backend_handle *writer, const char *call,
                       int64_t deadline_ms)
{
    struct append *append = rig_ask("s1", call, 0);
    append->deadline_ms = deadline_ms;
    commit_one(backend, writer, append);
}

#define LISTED "SELECT count(*) FROM open_approvals"
#define OPEN "SELECT count(*) FROM open_now"

/* The list is right at every moment, and its table at the next start. A deadline stands in the table alone, and is
 * written at once. */
static void calls_that_wait_are_listed_late(void **state)
{
    struct rig *rig = *state;
    struct backend_handle *writer;
    const struct backend *backend = open_backend(rig, BACKEND_WRITER, &writer);
    commit_ask(backend, writer, "answered late", 0);
    commit_ask(backend, writer, "answered when listed", 0);
    commit_ask(backend, writer, "waits", 0);
    assert_int_equal(ask_sql(rig, LISTED), 0);
    commit_ask(backend, writer, "ends", 1800000000000);
    commit_ask(backend, writer, "ended", 1800000000000);
    assert_int_equal(ask_sql(rig, LISTED), 2);
    assert_int_equal(ask_sql(rig, OPEN), 5);
    commit_one(backend, writer, rig_answer("s1", "answered late", "{}"));
    commit_one(backend, writer, rig_answer("s1", "ended", "{}"));
    assert_int_equal(ask_sql(rig, LISTED), 2);
    assert_int_equal(ask_sql(rig, OPEN), 3);
    rig_verify_well(rig, 12);
    backend->close(writer);
    assert_int_equal(ask_sql(rig, LISTED), 3);
    (void)open_backend(rig, BACKEND_WRITER, &writer);
    commit_one(backend, writer, rig_answer("s1", "answered when listed", "{}"));
    assert_int_equal(ask_sql(rig, LISTED), 3);
    assert_int_equal(ask_sql(rig, OPEN), 2);
    assert_int_equal(ask_sql(rig, "SELECT sum(deadline_ms) FROM open_now"), 1800000000000);
    rig_verify_well(rig, 13);
    backend->close(writer);
    assert_int_equal(ask_sql(rig, LISTED), 2);
    rig_verify_well(rig, 13);
}

/* While an append always waits, nothing is done behind an answer: the tables are filled with a group. */
static void tables_are_filled_with_a_group_at_last(void **state)
{
    struct rig *rig = *state;
    struct backend_handle *writer;
    const struct backend *backend = open_backend(rig, BACKEND_WRITER, &writer);
    char call[16];
    for (unsigned i = 0; i < 256; i++) {
        (void)snprintf(call, sizeof call, "c%u", i);
        commit_ask(backend, writer, call, 0);
    }
    assert_int_equal(ask_sql(rig, INDEXED), 0);
    commit_ask(backend, writer, "last", 0);
    assert_int_equal(ask_sql(rig, INDEXED), 512);
    rig_verify_well(rig, 514);
    backend->close(writer);
}

/* The rows were given to SQLite, but its COMMIT finds no room: nothing of it counts, and it is done again. */
static void tables_that_could_not_be_filled_are_filled_later(void **state)
{
    struct rig *rig = *state;
    struct err err = {0};
    struct rlimit before, none;
    struct backend_handle *writer;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    const struct backend *backend = open_backend(rig, BACKEND_WRITER, &writer);
    char call[16];
    for (unsigned i = 0; i < 224; i++) {
        (void)snprintf(call, sizeof call, "c%u", i);
        commit_ask(backend, writer, call, 0);
    }
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    struct rc rc = backend->catch_up(writer, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(rc.code, ERR_UNAVAILABLE);
    assert_int_equal(ask_sql(rig, INDEXED), 0);
    commit_one(backend, writer, rig_answer("s1", "c7", "{}"));
    assert_true(rc_ok(backend->catch_up(writer, &err)));
    assert_int_equal(ask_sql(rig, INDEXED), 449);
    assert_int_equal(ask_sql(rig, LISTED), 223);
    assert_int_equal(ask_sql(rig, "SELECT count(*) FROM call_ids"), 224);
    backend->close(writer);
    rig_verify_well(rig, 449);
    (void)signal(SIGXFSZ, handler);
}

/* The writer's own commit comes between the other program's and the next group. */
static void a_change_by_others_is_noticed_behind_late_tables(void **state)
{
    struct rig *rig = *state;
    struct err err = {0};
    struct backend_handle *writer;
    const struct backend *backend = open_backend(rig, BACKEND_WRITER, &writer);
    char call[16];
    for (unsigned i = 0; i < 224; i++) {
        (void)snprintf(call, sizeof call, "c%u", i);
        commit_ask(backend, writer, call, 0);
    }
    run_sql(rig, "DELETE FROM events WHERE seq = 448");
    assert_true(rc_ok(backend->catch_up(writer, &err)));
    assert_int_equal(ask_sql(rig, INDEXED), 448);
    assert_int_equal(ask_sql(rig, "SELECT sum(more + 1) FROM session_events"), 447);
    assert_int_equal(ask_sql(rig, "SELECT count(*) FROM session_events"), 1);
    struct append *append = rig_ask("s1", "next", 0);
    assert_int_equal(backend->commit(writer, append, &err).code, ERR_CORRUPT);
    append_free(append);
    backend->close(writer);
}

/* The rows to put in come from a table of the writer's own connection, whatever tables the file has. */
static void tables_are_filled_beside_a_table_of_the_same_name(void **state)
{
    struct rig *rig = *state;
    struct err err = {0};
    struct backend_handle *writer;
    const struct backend *backend = open_backend(rig, BACKEND_WRITER, &writer);
    char call[16];
    run_sql(rig, "CREATE TABLE nod_feed(c0, c1, c2, c3, c4); INSERT INTO nod_feed VALUES(1, 2, 3, 4, 5)");
    for (unsigned i = 0; i < 224; i++) {
        (void)snprintf(call, sizeof call, "c%u", i);
        commit_ask(backend, writer, call, 0);
    }
    assert_true(rc_ok(backend->catch_up(writer, &err)));
    assert_int_equal(ask_sql(rig, INDEXED), 448);
    assert_int_equal(ask_sql(rig, LISTED), 224);
    assert_int_equal(ask_sql(rig, "SELECT count(*) FROM call_ids"), 224);
    assert_int_equal(ask_sql(rig, "SELECT sum(more + 1) FROM session_events"), 448);
    run_sql(rig, "DROP TABLE nod_feed"); /* a store with tables of others is refused */
    backend->close(writer);
    rig_verify_well(rig, 448);
}

/* Events of a session that follow each other share a row of its list. Each is found, wherever a page begins. */
static void a_row_stands_for_several_events(void **state)
{
    struct rig *rig = *state;
    struct err err = {0};
    struct backend_handle *writer;
    const struct backend *backend = open_backend(rig, BACKEND_WRITER, &writer);
    static const char *const sessions[] = {"s1", "s1", "s2", "s1", "s1", "s2", "s3"};
    enum { ASKS = sizeof sessions / sizeof *sessions, ROWS = 5 };
    uint64_t of_s1[2 * ASKS];
    size_t count = 0;
    for (unsigned i = 0; i < ASKS; i++) {
        char call[16];
        (void)snprintf(call, sizeof call, "c%u", i);
        struct append *append = rig_ask(sessions[i], call, 0);
        assert_true(rc_ok(backend->commit(writer, append, &err)));
        for (unsigned e = 0; sessions[i][1] == '1' && e < append->event_count; e++)
            of_s1[count++] = append->events[e].seq;
        append_free(append);
    }
    backend->close(writer);
    assert_int_equal(ask_sql(rig, INDEXED), 2 * ASKS);
    assert_int_equal(ask_sql(rig, "SELECT count(*) FROM session_events"), ROWS);
    rig_open(rig);
    for (uint64_t after = 0; after <= 2 * ASKS; after++) {
        struct read *question = rig_question(READ_EVENTS, "s1");
        question->after = after;
        question->limit = 3;
        struct read *page = rig_read(rig, question);
        size_t at = 0;
        while (at < count && of_s1[at] <= after)
            at++;
        assert_int_equal(page->event_count, count - at < 3 ? count - at : 3);
        for (size_t i = 0; i < page->event_count; i++)
            assert_int_equal(page->events[i].seq, of_s1[at + i]);
        read_free(page);
    }
    rig_verify_well(rig, 2 * ASKS);
}

/* A row of a session's list ends with its block of 4,096 events. */
static void rows_end_with_their_block(void **state)
{
    enum { TURNS = 66, EVENTS = 64, AFTER = 4090 };
    struct rig *rig = *state;
    struct append *appends[EVENTS];
    rig_open(rig);
    for (int turn = 0; turn < TURNS; turn++) {
        for (int i = 0; i < EVENTS; i++) {
            appends[i] = append_new();
            rig_event(appends[i], EVENT_USER_MESSAGE, "s1", "", "{}");
            rig_hand(rig, appends[i]);
        }
        rig_wait(rig);
        for (int i = 0; i < EVENTS; i++)
            append_free(appends[i]);
    }
    rig_close(rig);
    assert_int_equal(ask_sql(rig, "SELECT sum(more + 1) FROM session_events"), TURNS * EVENTS);
    assert_int_equal(ask_sql(rig, "SELECT sum(more + 1) FROM session_events WHERE block = 0"), 4095);
    assert_int_equal(ask_sql(rig, "SELECT min(seq) FROM session_events WHERE block = 1"), 4096);
    rig_open(rig);
    struct read *read = rig_question(READ_EVENTS, "s1");
    read->after = AFTER;
    assert_int_equal(rig_read(rig, read)->event_count, TURNS * EVENTS - AFTER);
    read_free(read);
    rig_verify_well(rig, TURNS * EVENTS);
}

/* ---- many at once ---- */

/* One of several agents, each in a session of its own: it asks, looks, is answered, and looks again. */
struct agent {
    struct rig *rig;
    struct agents *all;
    char session[8], call[16];
    unsigned calls;
    bool answered;
};

enum { AGENTS = 6, CALLS_EACH = 60 };

struct agents {
    struct agent each[AGENTS];
    unsigned ended;
};

static void agent_asks(struct agent *agent);
static void agent_keeps(struct agent *agent, struct append *append);

/* Readers look while the writer keeps what the others do, and fills the tables. */
static void agent_has_list(struct read *read)
{
    struct agent *agent = read->arg;
    bool answered = agent->answered;
    assert_int_equal(read->err.code, ERR_OK);
    assert_int_equal(read->open_count, answered ? 0 : 1);
    read_free(read);
    if (answered) {
        agent_asks(agent);
        return;
    }
    agent->answered = true;
    agent_keeps(agent, rig_answer(agent->session, agent->call, "{}"));
}

static void agent_has_call(struct read *read)
{
    struct agent *agent = read->arg;
    assert_int_equal(read->err.code, ERR_OK);
    assert_int_equal(read->event_count, agent->answered ? 3 : 2);
    read_free(read);
    struct read *list = rig_question(READ_OPEN, agent->session);
    list->done = agent_has_list;
    list->arg = agent;
    store_read(agent->rig->store, list);
}

static void agent_kept(struct append *append)
{
    struct agent *agent = append->arg;
    assert_int_equal(append->outcome, APPEND_KEPT);
    append_free(append);
    struct read *read = rig_question(READ_CALL, agent->session);
    read->call = arena_str(&read->arena, str_of(agent->call));
    read->done = agent_has_call;
    read->arg = agent;
    store_read(agent->rig->store, read);
}

static void agent_keeps(struct agent *agent, struct append *append)
{
    append->done = agent_kept;
    append->arg = agent;
    store_append(agent->rig->store, append);
}

static void agent_asks(struct agent *agent)
{
    if (agent->calls++ == CALLS_EACH) {
        if (++agent->all->ended == AGENTS)
            loop_stop(agent->rig->loop);
        return;
    }
    agent->answered = false;
    (void)snprintf(agent->call, sizeof agent->call, "c%u", agent->calls);
    struct append *append = rig_ask(agent->session, agent->call, 0);
    append->deadline_ms = 0;
    agent_keeps(agent, append);
}

/* What each has kept it finds at once, wherever it stands: in the writer's memory, in the tables, or between them. */
static void calls_are_found_while_others_are_kept(void **state)
{
    struct rig *rig = *state;
    struct agents agents = {0};
    rig_open(rig);
    for (unsigned i = 0; i < AGENTS; i++) {
        struct agent *agent = &agents.each[i];
        *agent = (struct agent){.rig = rig, .all = &agents};
        (void)snprintf(agent->session, sizeof agent->session, "s%u", i);
        agent_asks(agent);
    }
    loop_run(rig->loop);
    assert_int_equal(agents.ended, AGENTS);
    rig_verify_well(rig, AGENTS * CALLS_EACH * 3);
}

int main(void)
{
    if (!layer_register(count, NULL))
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(events_that_a_crash_left_unlisted_are_listed_at_start),
        TEST(what_is_forgotten_is_listed_first),
        TEST(events_are_listed_many_at_once),
        TEST(what_is_not_listed_yet_costs_nothing),
        TEST(tables_are_filled_behind_the_answer),
        TEST(calls_that_wait_are_listed_late),
        TEST(tables_are_filled_with_a_group_at_last),
        TEST(tables_that_could_not_be_filled_are_filled_later),
        TEST(a_change_by_others_is_noticed_behind_late_tables),
        TEST(tables_are_filled_beside_a_table_of_the_same_name),
        TEST(a_row_stands_for_several_events),
        TEST(rows_end_with_their_block),
        TEST(calls_are_found_while_others_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
