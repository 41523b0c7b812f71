/* A store in a folder of its own, used as if it blocked: what the contract suites share. */
#ifndef TESTS_STORE_RIG_H
#define TESTS_STORE_RIG_H

#include "io/clock.h"
#include "io/loop.h"
#include "store/backend.h"
#include "store/store.h"

#include <ftw.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct rig {
    char folder[64];
    char url[400];
    struct loop *loop;
    struct store *store;
    uint64_t followed;    /* the last seq that was given to the follower */
    size_t follow_calls;
    unsigned pending;     /* handed over and not given back */
    bool gaps;            /* numbers may be missing: sessions leave before they were followed */
    bool handing;         /* inside store_append or store_read */
    void (*on_follow)(struct rig *rig, const struct event *events, size_t count);
    void *arg;
};

static inline void rig_follow(void *arg, const struct event *events, size_t count)
{
    struct rig *rig = arg;
    assert_false(rig->handing);
    rig->follow_calls++;
    for (size_t i = 0; i < count; i++, rig->followed = events[i - 1].seq)
        assert_true(rig->gaps ? events[i].seq > rig->followed : events[i].seq == rig->followed + 1);
    if (rig->on_follow)
        rig->on_follow(rig, events, count);
}

static inline struct rc rig_try_open(struct rig *rig, struct err *err)
{
    struct store_options options = {.url = rig->url, .follow = rig_follow, .arg = rig};
    struct rc rc = store_open(rig->loop, &options, &rig->store, err);
    if (rc_ok(rc))
        rig->followed = store_last_seq(rig->store);
    return rc;
}

static inline void rig_open(struct rig *rig)
{
    struct err err = {0};
    if (rc_bad(rig_try_open(rig, &err)))
        fail_msg("cannot open %s: %s", rig->url, err.text);
}

static inline void rig_close(struct rig *rig)
{
    store_close(rig->store);
    rig->store = NULL;
}

/* Where a server for tests is: "postgres:///DATABASE?host=FOLDER". tests/postgres/run.py starts one. */
static inline const char *rig_postgres(void) { return getenv("NOD_TEST_POSTGRES"); }

/* Whether there is a place to test this backend in. */
static inline bool rig_can_test(const char *scheme)
{
    if (strcmp(scheme, "postgres") != 0 || rig_postgres())
        return true;
    print_message("skipped: %s (no NOD_TEST_POSTGRES; tests/postgres/run.py sets it)\n", scheme);
    return false;
}

/* Runs a program of the system to its end. */
static inline void rig_run(char *const argv[])
{
    pid_t pid;
    int status;
    assert_int_equal(posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* An empty store: a schema of its own in the database for tests. */
static inline void rig_new_schema(struct rig *rig)
{
    char text[100], place[300];
    const char *name = strrchr(rig->folder, '-') + 1;
    (void)snprintf(rig->url, sizeof rig->url, "%s&options=-csearch_path%%3D%%22%s%%22", rig_postgres(), name);
    (void)snprintf(text, sizeof text, "CREATE SCHEMA \"%s\"", name);
    (void)snprintf(place, sizeof place, "postgresql:%s", strchr(rig_postgres(), ':') + 1);
    rig_run((char *[]){"psql", "-q", "-X", "-c", text, place, NULL});
}

static inline int rig_remove(const char *path, const struct stat *st, int flag, struct FTW *walk)
{
    (void)st;
    (void)flag;
    (void)walk;
    return remove(path);
}

/* A folder, a url and a loop; the store is not open yet. */
static inline void rig_init(struct rig *rig, const char *scheme)
{
    struct err err = {0};
    *rig = (struct rig){.folder = "/tmp/nod-store-XXXXXX"};
    assert_non_null(mkdtemp(rig->folder));
    if (strcmp(scheme, "postgres") == 0)
        rig_new_schema(rig);
    else
        (void)snprintf(rig->url, sizeof rig->url, "%s:%s/nod.db", scheme, rig->folder);
    assert_true(rc_ok(loop_new(&rig->loop, &err)));
}

static inline void rig_done(struct rig *rig)
{
    if (rig->store)
        rig_close(rig);
    loop_free(rig->loop);
    assert_int_equal(nftw(rig->folder, rig_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static inline struct str rig_text(struct append *append, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static inline struct str rig_text(struct append *append, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return arena_str(&append->arena, str_of(text));
}

/* ---- appends ---- */

static inline void rig_event(struct append *append, enum event_kind kind, const char *session, const char *call,
                             const char *data)
{
    struct event event = {
        .kind = kind,
        .at_ms = 1700000000000,
        .session = rig_text(append, "%s", session),
        .thread = kind == EVENT_SESSION_CHANGED || kind == EVENT_TOKEN_CHANGED
                      ? STR_NONE : rig_text(append, "%s-main", session),
        .call = rig_text(append, "%s", call),
        .actor = STR("tester"),
        .data = arena_str(&append->arena, str_of(data)),
    };
    (void)append_event(append, event);
}

static inline void rig_need(struct append *append, enum need_kind need, enum event_kind kind, const char *session,
                            const char *call)
{
    append_need(append, (struct need){.need = need, .kind = kind, .session = rig_text(append, "%s", session),
                                      .call = rig_text(append, "%s", call)});
}

static inline void rig_need_changed_at(struct append *append, const char *session, uint64_t seq)
{
    append_need(append, (struct need){.need = NEED_CHANGED_AT, .session = rig_text(append, "%s", session),
                                      .seq = seq});
}

static inline void rig_append_done(struct append *append)
{
    struct rig *rig = append->arg;
    assert_false(rig->handing);
    if (append->outcome == APPEND_KEPT)
        assert_true(rig->followed >= append->events[append->event_count - 1].seq);
    if (--rig->pending == 0)
        loop_stop(rig->loop);
}

/* Hands over without waiting; freed by the caller after rig_wait. */
static inline void rig_hand(struct rig *rig, struct append *append)
{
    append->done = rig_append_done;
    append->arg = rig;
    rig->pending++;
    rig->handing = true;
    store_append(rig->store, append);
    rig->handing = false;
}

static inline void rig_wait(struct rig *rig)
{
    if (rig->pending)
        loop_run(rig->loop);
    assert_int_equal(rig->pending, 0);
}

/* Appends, waits and frees; returns the last seq of what was kept, 0 when it was not. */
static inline uint64_t rig_append(struct rig *rig, struct append *append, enum append_outcome outcome)
{
    rig_hand(rig, append);
    rig_wait(rig);
    if (append->outcome != outcome)
        fail_msg("outcome %d instead of %d: %s", append->outcome, outcome, append->err.text);
    uint64_t seq = outcome == APPEND_KEPT ? append->events[append->event_count - 1].seq : 0;
    append_free(append);
    return seq;
}

static inline uint64_t rig_one(struct rig *rig, enum event_kind kind, const char *session, const char *call,
                               const char *data)
{
    struct append *append = append_new();
    rig_event(append, kind, session, call, data);
    return rig_append(rig, append, APPEND_KEPT);
}

/* TOOL_CALL and TOOL_APPROVAL_REQUEST, as the gate appends them. */
static inline struct append *rig_ask(const char *session, const char *call, uint64_t changed_seq)
{
    struct append *append = append_new();
    rig_need(append, NEED_ABSENT, EVENT_TOOL_CALL, session, call);
    rig_need_changed_at(append, session, changed_seq);
    rig_event(append, EVENT_TOOL_CALL, session, call, "{\"name\":\"Bash\"}");
    rig_event(append, EVENT_TOOL_APPROVAL_REQUEST, session, call, "{\"reason\":\"asked\"}");
    struct event *first = &append->events[0], *second = &append->events[1];
    second->session = first->session; /* they share their texts, as the gate's do */
    second->thread = first->thread;
    second->actor = first->actor;
    second->call = first->call;
    append->deadline_ms = 1800000000000;
    return append;
}

static inline struct append *rig_answer(const char *session, const char *call, const char *data)
{
    struct append *append = append_new();
    rig_need(append, NEED_PRESENT, EVENT_TOOL_APPROVAL_REQUEST, session, call);
    rig_need(append, NEED_ABSENT, EVENT_TOOL_APPROVAL_RESPONSE, session, call);
    rig_event(append, EVENT_TOOL_APPROVAL_RESPONSE, session, call, data);
    return append;
}

/* ---- reads ---- */

static inline struct read *rig_question(enum read_kind kind, const char *session)
{
    struct read *read = read_new(kind);
    read->session = arena_str(&read->arena, str_of(session));
    return read;
}

static inline void rig_read_done(struct read *read)
{
    struct rig *rig = read->arg;
    assert_false(rig->handing);
    if (--rig->pending == 0)
        loop_stop(rig->loop);
}

static inline void rig_hand_read(struct rig *rig, struct read *read)
{
    read->done = rig_read_done;
    read->arg = rig;
    rig->pending++;
    rig->handing = true;
    store_read(rig->store, read);
    rig->handing = false;
}

/* Answered; the caller frees it. */
static inline struct read *rig_read(struct rig *rig, struct read *read)
{
    rig_hand_read(rig, read);
    rig_wait(rig);
    if (read->err.code != ERR_OK)
        fail_msg("read failed: %s", read->err.text);
    return read;
}

/* ---- the database beneath it ---- */

/* Of a store in PostgreSQL: runs SQL by psql, to its end or, with `ret_pid`, in the background. */
static inline void rig_sql(const struct rig *rig, pid_t *ret_pid, const char *sql)
{
    char place[400];
    (void)snprintf(place, sizeof place, "postgresql:%s", strchr(rig->url, ':') + 1);
    char *argv[] = {"psql", "-q", "-X", "-o", "/dev/null", "-c", (char *)sql, place, NULL};
    if (!ret_pid)
        rig_run(argv);
    else
        assert_int_equal(posix_spawnp(ret_pid, argv[0], NULL, NULL, argv, environ), 0);
}

/* Until the statement says true. */
static inline void rig_wait_sql(const struct rig *rig, const char *count)
{
    char sql[700];
    (void)snprintf(sql, sizeof sql, "DO $$ BEGIN FOR i IN 1..6000 LOOP IF (%s) THEN RETURN; END IF;"
                   " PERFORM pg_sleep(0.01), pg_stat_clear_snapshot(); END LOOP;"
                   " RAISE 'it does not come about'; END $$", count);
    rig_sql(rig, NULL, sql);
}

/* ---- checks ---- */

static inline void rig_verify_well(struct rig *rig, uint64_t events)
{
    struct store_check check;
    struct err err = {0};
    if (rc_bad(store_verify(rig->url, &check, &err)))
        fail_msg("verify: %s", err.text);
    if (check.bad_seq)
        fail_msg("verify: event %lu: %s", (unsigned long)check.bad_seq, check.why);
    assert_int_equal(check.events, events);
}

#endif
