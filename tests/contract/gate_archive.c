/* Archiving beside a server that stops in the middle of it. */
#include "gate/gate.h"
#include "gate/gate_archive.h"
#include "store_rig.h"

enum { SESSIONS = 3, PAUSE_US = 20000, PAUSES_MAX = 500 };

struct scene {
    struct arena arena;
    struct rig rig;
    struct gate *gate;
    char folder[100];
    struct gate_archiving archiving;
    unsigned done;
};

static void end_turn(void *arg) { loop_stop(arg); }

/* What is there at the moment is handled, and no more. A timer of no time could fire before the loop has looked. */
static void turn(struct scene *scene)
{
    struct timer *timer = timer_new(scene->rig.loop, end_turn, scene->rig.loop);
    timer_start(timer, 1);
    loop_run(scene->rig.loop);
    timer_free(timer);
}

static void archived(struct op *op)
{
    struct scene *scene = op->owner;
    scene->done++;
}

static void on_ready(void *arg, const struct err *err)
{
    assert_int_equal(err->code, ERR_OK);
    loop_stop(arg);
}

static unsigned events_in(struct scene *scene)
{
    struct store_check check;
    assert_int_equal(store_verify(scene->rig.url, &check, NULL).code, ERR_OK);
    assert_int_equal(check.bad_seq, 0);
    return (unsigned)check.events;
}

static void open_scene(struct scene *scene)
{
    struct gate_options options = {.home = "/tmp", .store_url = scene->rig.url, .archive_folder = scene->folder};
    rig_init(&scene->rig, "sqlite");
    (void)snprintf(scene->folder, sizeof scene->folder, "%s/archive", scene->rig.folder);
    rig_open(&scene->rig);
    for (int i = 0; i < SESSIONS; i++) {
        char session[16];
        (void)snprintf(session, sizeof session, "s%d", i);
        (void)rig_one(&scene->rig, EVENT_SESSION_CHANGED, session, "", "{\"change\":\"created\"}");
        (void)rig_one(&scene->rig, EVENT_USER_MESSAGE, session, "", "{\"content\":\"hello\"}");
    }
    rig_close(&scene->rig);
    assert_int_equal(gate_open(scene->rig.loop, &options, &scene->gate, NULL).code, ERR_OK);
    gate_recover(scene->gate, on_ready, scene->rig.loop);
    loop_run(scene->rig.loop);
    scene->archiving = (struct gate_archiving){.op = gate_op(&scene->arena, archived, scene), .older_than_ms = 1000,
                                               .actor = STR("tester")};
    gate_archive(scene->gate, &scene->archiving);
}

/* Every move is kept, and none of them has been told when the store closes: nothing may be begun behind it. */
static void a_server_stops_when_all_have_moved(void **state)
{
    struct scene scene = {0};
    (void)state;
    open_scene(&scene);
    for (int i = 0; events_in(&scene) != SESSIONS; i++) { /* of each its SESSION_ARCHIVED */
        assert_true(i < PAUSES_MAX && scene.done == 0);
        if (events_in(&scene) == 2 * SESSIONS)
            turn(&scene);
        (void)usleep(PAUSE_US);
    }
    gate_close(scene.gate);
    assert_int_equal(scene.done, 1);
    assert_int_equal(gate_op_code(&scene.archiving.op), ERR_OK);
    assert_int_equal(scene.archiving.result.sessions, SESSIONS);
    arena_done(&scene.arena);
    rig_done(&scene.rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_server_stops_when_all_have_moved)};
    return cmocka_run_group_tests_name("archiving beside a server", tests, NULL, NULL);
}
