/* A start beside a long history: what it reads before it is ready, and what waits for the rest. */
#include "gate/gate.h"
#include "store_rig.h"

#include <sqlite3.h>
#include <stdatomic.h>

enum { FEW = 80, MANY = 30000, AT_ONCE = 8, APPENDS_MAX = MANY / AT_ONCE };

#define FAR_AWAY "2100-01-01T00:00:00Z"

/* Statements begun by any connection of this process. */
static atomic_uint statements;

static int count_statement(unsigned kind, void *arg, void *statement, void *text)
{
    (void)kind;
    (void)arg;
    (void)statement;
    (void)text;
    statements++;
    return 0;
}

/* How many statements that read are not to be prepared. */
static atomic_int forbidden;

static int may_prepare(void *arg, int what, const char *a, const char *b, const char *c, const char *d)
{
    (void)arg, (void)a, (void)b, (void)c, (void)d;
    return what == SQLITE_SELECT && forbidden > 0 && forbidden-- > 0 ? SQLITE_DENY : SQLITE_OK;
}

static int watch_connection(sqlite3 *db, const char **ret_text, const void *routines)
{
    (void)ret_text;
    (void)routines;
    (void)sqlite3_set_authorizer(db, may_prepare, NULL);
    return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, count_statement, NULL);
}

struct scene {
    struct arena arena;
    struct rig rig;
    struct gate *gate;
    unsigned before_ready; /* statements */
    bool known_at_ready;
    struct op op;
    unsigned answered;
    bool stops_ready; /* the loop stops when the gate is ready, not when marks are known */
    int forbids;      /* statements that cannot be prepared from then on */
};

static void answered(struct op *op)
{
    struct scene *scene = op->owner;
    scene->answered++;
    if (!scene->stops_ready)
        loop_stop(scene->rig.loop);
}

/* Whoever asks right when the server is ready. */
static void on_ready(void *arg, const struct err *err)
{
    struct scene *scene = arg;
    assert_int_equal(err->code, ERR_OK);
    scene->before_ready = statements;
    scene->known_at_ready = gate_marks_known(scene->gate);
    scene->op = gate_op(&scene->arena, answered, scene);
    gate_await_marks(scene->gate, &scene->op);
    forbidden = scene->forbids;
    if (scene->stops_ready)
        loop_stop(scene->rig.loop);
}

static void ask(struct scene *scene, const char *session, const char *call)
{
    struct append *append = append_new();
    char data[200];
    (void)snprintf(data, sizeof data, "{\"id\":\"%s\",\"name\":\"Bash\",\"input\":{\"command\":\"make\"}}", call);
    rig_event(append, EVENT_TOOL_CALL, session, call, data);
    (void)snprintf(data, sizeof data, "{\"toolCallId\":\"%s\",\"tool\":\"Bash\",\"digest\":\"d\"}", call);
    rig_event(append, EVENT_TOOL_APPROVAL_REQUEST, session, call, data);
    (void)rig_append(&scene->rig, append, APPEND_KEPT);
}

static void mark(struct scene *scene, enum event_kind kind, const char *session, const char *call, const char *what)
{
    char data[200];
    (void)snprintf(data, sizeof data, "{\"toolCallId\":\"%s\",%s,\"by\":\"tok\"}", call, what);
    (void)rig_one(&scene->rig, kind, session, "", data);
}

static void add_others(struct scene *scene, int count)
{
    static struct append *appends[APPENDS_MAX];
    for (int i = 0; i < count / AT_ONCE; i++) {
        appends[i] = append_new();
        for (int n = 0; n < AT_ONCE; n++)
            rig_event(appends[i], EVENT_USER_MESSAGE, "other", "", "{\"content\":\"hello\"}");
        rig_hand(&scene->rig, appends[i]);
    }
    rig_wait(&scene->rig);
    for (int i = 0; i < count / AT_ONCE; i++)
        append_free(appends[i]);
}

/* A first call that is put off and one that is given to ann, then `count` events of other sessions, and a second mark
 * at the end. */
static void fill(struct scene *scene, const char *scheme, int count)
{
    rig_init(&scene->rig, scheme);
    rig_open(&scene->rig);
    for (int i = 0; i < 2; i++)
        (void)rig_one(&scene->rig, EVENT_SESSION_CHANGED, i ? "s1" : "s0", "", "{\"change\":\"created\"}");
    ask(scene, "s0", "c0");
    ask(scene, "s1", "c1");
    mark(scene, EVENT_TOOL_APPROVAL_SNOOZED, "s0", "c0", "\"until\":\"" FAR_AWAY "\"");
    mark(scene, EVENT_TOOL_APPROVAL_ASSIGNED, "s1", "c1", "\"person\":\"bob\"");
    add_others(scene, count);
    mark(scene, EVENT_TOOL_APPROVAL_ASSIGNED, "s1", "c1", "\"person\":\"ann\"");
    add_others(scene, FEW); /* the last events are checked at each start, as far back as their sessions go */
    rig_close(&scene->rig);
}

static void start(struct scene *scene)
{
    struct gate_options options = {.home = "/tmp", .store_url = scene->rig.url, .alert_seconds = 1};
    statements = 0;
    assert_int_equal(gate_open(scene->rig.loop, &options, &scene->gate, NULL).code, ERR_OK);
    gate_recover(scene->gate, on_ready, scene);
}

static void end(struct scene *scene)
{
    gate_close(scene->gate);
    arena_done(&scene->arena);
    rig_done(&scene->rig);
}

static struct str listed(struct scene *scene, const char *session, const char *call)
{
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    gate_write_listed(scene->gate, &out, &(struct listed){str_of(session), str_of(call)});
    return arena_str(&scene->arena, buf_str(&buf));
}

static uint64_t alerts(struct scene *scene, const char *session)
{
    rig_open(&scene->rig);
    struct read *read = rig_question(READ_EVENTS, session);
    read->kinds = UINT64_C(1) << EVENT_TOOL_APPROVAL_ALERT;
    read = rig_read(&scene->rig, read);
    uint64_t count = read->event_count;
    read_free(read);
    rig_close(&scene->rig);
    return count;
}

static void marks_are_read_behind_the_start(const char *scheme, int count)
{
    struct scene scene = {0};
    fill(&scene, scheme, count);
    start(&scene);
    loop_run(scene.rig.loop);
    assert_false(scene.known_at_ready);
    assert_int_equal(scene.answered, 1);
    assert_null(scene.op.err);
    assert_true(gate_marks_known(scene.gate));
    assert_true(str_has(listed(&scene, "s0", "c0"), STR("\"snoozedUntil\":\"2100")));
    assert_true(str_has(listed(&scene, "s1", "c1"), STR("\"assignee\":\"ann\"")));
    struct op again = gate_op(&scene.arena, answered, &scene);
    gate_await_marks(scene.gate, &again); /* at once, before the loop sleeps */
    loop_run(scene.rig.loop);
    assert_int_equal(scene.answered, 2);
    gate_close(scene.gate);
    assert_int_equal(alerts(&scene, "s0"), 0); /* due long since, but for the snooze */
    arena_done(&scene.arena);
    rig_done(&scene.rig);
}

static void marks_are_read_behind_the_start_sqlite(void **state)
{
    (void)state;
    marks_are_read_behind_the_start("sqlite", MANY);
}

static void marks_are_read_behind_the_start_postgres(void **state)
{
    (void)state;
    if (rig_can_test("postgres"))
        marks_are_read_behind_the_start("postgres", FEW);
}

static unsigned statements_until_ready(int count)
{
    struct scene scene = {0};
    fill(&scene, "sqlite", count);
    start(&scene);
    loop_run(scene.rig.loop);
    unsigned before_ready = scene.before_ready;
    end(&scene);
    return before_ready;
}

/* Walking the blocks of a session takes a statement for each of them. */
static void a_start_asks_as_much_of_a_long_history_as_of_a_short_one(void **state)
{
    (void)state;
    unsigned few = statements_until_ready(FEW), many = statements_until_ready(MANY);
    assert_true(few > 0);
    assert_int_equal(few, many);
}

static void who_waits_is_told_when_the_server_stops(void **state)
{
    struct scene scene = {.stops_ready = true};
    (void)state;
    fill(&scene, "sqlite", FEW);
    start(&scene);
    loop_run(scene.rig.loop);
    gate_close(scene.gate);
    assert_int_equal(scene.answered, 1);
    arena_done(&scene.arena);
    rig_done(&scene.rig);
}

/* One statement after the other is refused: whoever waits is told each time, and nobody waits for ever. */
static void marks_that_cannot_be_read_are_read_again(void **state)
{
    enum { TIMES = 3 };
    struct scene scene = {.forbids = 2};
    struct op later[TIMES];
    unsigned failed = 0;
    (void)state;
    fill(&scene, "sqlite", FEW);
    start(&scene);
    loop_run(scene.rig.loop);
    assert_int_equal(scene.answered, 1);
    assert_non_null(scene.op.err);
    assert_false(gate_marks_known(scene.gate));
    while (!gate_marks_known(scene.gate)) {
        assert_true(failed < TIMES);
        later[failed] = gate_op(&scene.arena, answered, &scene);
        gate_await_marks(scene.gate, &later[failed]);
        loop_run(scene.rig.loop);
        failed += later[failed].err != NULL;
    }
    assert_int_equal(forbidden, 0);
    assert_true(str_has(listed(&scene, "s0", "c0"), STR("\"snoozedUntil\":\"2100")));
    assert_true(str_has(listed(&scene, "s1", "c1"), STR("\"assignee\":\"ann\"")));
    end(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_are_read_behind_the_start_sqlite),
        cmocka_unit_test(marks_are_read_behind_the_start_postgres),
        cmocka_unit_test(a_start_asks_as_much_of_a_long_history_as_of_a_short_one),
        cmocka_unit_test(who_waits_is_told_when_the_server_stops),
        cmocka_unit_test(marks_that_cannot_be_read_are_read_again),
    };
    sqlite3_auto_extension((void (*)(void))watch_connection);
    return cmocka_run_group_tests_name("a start beside a long history", tests, NULL, NULL);
}
