/* Archives, for every backend: what leaves is whole in its file before, and the store still says where it went. */
#include "store_suite.h"

#include "base/limits.h"
#include "store/archive_file.h"

#include <dirent.h>

enum { OLD_MS = 1000, YOUNG_MS = 5000, UNTIL_MS = 2000 };

static const char *folder_of(const struct rig *rig)
{
    static char folder[100];
    (void)snprintf(folder, sizeof folder, "%s/archive", rig->folder);
    return folder;
}

static struct archiving archiving_of(const struct rig *rig)
{
    return (struct archiving){.url = rig->url, .folder = folder_of(rig), .until_ms = UNTIL_MS, .actor = "tester"};
}

static uint64_t put(struct rig *rig, enum event_kind kind, const char *session, const char *call, int64_t at_ms,
                    const char *data)
{
    struct append *append = append_new();
    rig_event(append, kind, session, call, data);
    append->events[0].at_ms = at_ms;
    return rig_append(rig, append, APPEND_KEPT);
}

/* A session with one call, asked and answered; `at_ms` is when all of it happened. */
static void put_finished(struct rig *rig, const char *session, int64_t at_ms)
{
    (void)put(rig, EVENT_SESSION_CHANGED, session, "", at_ms, "{\"change\":\"created\"}");
    struct append *ask = append_new();
    rig_event(ask, EVENT_TOOL_CALL, session, "c1", "{\"name\":\"Bash\"}");
    rig_event(ask, EVENT_TOOL_APPROVAL_REQUEST, session, "c1", "{}");
    ask->events[0].at_ms = ask->events[1].at_ms = at_ms;
    (void)rig_append(rig, ask, APPEND_KEPT);
    (void)put(rig, EVENT_TOOL_APPROVAL_RESPONSE, session, "c1", at_ms, "{\"decision\":\"allow_once\"}");
    (void)put(rig, EVENT_TOOL_RESULT, session, "c1", at_ms, "{\"content\":\"caf\xc3\xa9\"}");
}

enum { FINISHED_EVENTS = 5 };

static struct archive_plan *plan(struct rig *rig)
{
    struct archiving archiving = archiving_of(rig);
    struct archive_plan *plan;
    struct err err = {0};
    if (rc_bad(archive_plan(&archiving, &plan, &err)))
        fail_msg("plan: %s", err.text);
    return plan;
}

/* As a server does it: beside everything else. Returns how many sessions left. */
static size_t archive_all(struct rig *rig, char path[300])
{
    struct archive_plan *all = plan(rig);
    size_t count = all->count;
    for (size_t i = 0; i < count; i++)
        (void)rig_append(rig, archive_move(all, i, 9000), APPEND_KEPT);
    (void)snprintf(path, 300, "%.*s", STR_ARG(all->path));
    archive_plan_free(all, true);
    return count;
}

static void check_archive(const char *path, uint64_t events, uint64_t sessions)
{
    struct store_check check;
    struct err err = {0};
    if (rc_bad(archive_verify(path, &check, &err)))
        fail_msg("%s: %s", path, err.text);
    if (check.bad_seq)
        fail_msg("%s: event %lu: %s", path, (unsigned long)check.bad_seq, check.why);
    assert_int_equal(check.events, events);
    assert_int_equal(check.sessions, sessions);
}

static unsigned files_in(const struct rig *rig, const char *ending)
{
    DIR *folder = opendir(folder_of(rig));
    unsigned count = 0;
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder));) {
        size_t n = strlen(entry->d_name), m = strlen(ending);
        count += n >= m && strcmp(entry->d_name + n - m, ending) == 0;
    }
    assert_int_equal(closedir(folder), 0);
    return count;
}

/* ---- what leaves, and what stays ---- */

static void finished_sessions_leave_for_a_file(void **state)
{
    struct rig *rig = *state;
    char path[300];
    struct store_check check;
    put_finished(rig, "s1", OLD_MS);
    put_finished(rig, "s2", YOUNG_MS);
    put_finished(rig, "s3", OLD_MS);
    assert_int_equal(archive_all(rig, path), 2);
    check_archive(path, 2 * FINISHED_EVENTS, 2);
    rig_verify_well(rig, FINISHED_EVENTS + 2); /* s2, and what is left of the others */
    assert_int_equal(store_verify(rig->url, &check, NULL).code, ERR_OK);
    assert_int_equal(check.archived, 2);
    assert_int_equal(files_in(rig, ".db"), 1);
    assert_int_equal(files_in(rig, ".unfinished") + files_in(rig, ".part"), 0);
    assert_int_equal(rig_one(rig, EVENT_USER_MESSAGE, "s2", "", "{}"), 3 * FINISHED_EVENTS + 3);
}

static void what_left_is_what_was_kept(void **state)
{
    struct rig *rig = *state;
    char path[300];
    struct archive *archive;
    struct read *there = read_new(READ_EVENTS);
    put_finished(rig, "s1", OLD_MS);
    struct read *before = rig_read(rig, rig_question(READ_EVENTS, ""));
    assert_int_equal(archive_all(rig, path), 1);
    assert_int_equal(archive_open(path, &archive, NULL).code, ERR_OK);
    assert_int_equal(archive_read(archive, there, NULL).code, ERR_OK);
    assert_int_equal(there->event_count, before->event_count);
    for (size_t i = 0; i < there->event_count; i++) {
        const struct event *a = &there->events[i], *b = &before->events[i];
        assert_true(a->seq == b->seq && a->kind == b->kind && a->at_ms == b->at_ms);
        assert_true(str_eq(a->session, b->session) && str_eq(a->thread, b->thread) && str_eq(a->call, b->call));
        assert_true(str_eq(a->actor, b->actor) && str_eq(a->data, b->data));
    }
    archive_close(archive);
    read_free(there);
    read_free(before);
}

static void what_is_not_over_stays(void **state)
{
    struct rig *rig = *state;
    char path[300];
    put_finished(rig, "young", YOUNG_MS);
    put_finished(rig, "asked", OLD_MS); /* somebody waits for an answer */
    struct append *ask = rig_ask("asked", "c2", 6);
    ask->events[0].at_ms = ask->events[1].at_ms = OLD_MS;
    (void)rig_append(rig, ask, APPEND_KEPT);
    put_finished(rig, "runs", OLD_MS);
    (void)put(rig, EVENT_RUN_STATUS, "runs", "", OLD_MS, "{\"runId\":\"r\",\"status\":\"awaiting_approval\"}");
    put_finished(rig, "started", OLD_MS);
    (void)put(rig, EVENT_TOOL_CALL, "started", "c2", OLD_MS, "{}");
    (void)put(rig, EVENT_TOOL_STARTED, "started", "c2", OLD_MS, "{}");
    (void)put(rig, EVENT_TOKEN_CHANGED, "", "", OLD_MS, "{}"); /* of the installation */
    assert_int_equal(archive_all(rig, path), 0);
    assert_string_equal(path, "");
    assert_int_equal(files_in(rig, ".db"), 0);

    (void)put(rig, EVENT_RUN_STATUS, "runs", "", OLD_MS, "{\"runId\":\"r\",\"status\":\"completed\"}");
    (void)put(rig, EVENT_TOOL_RESULT, "started", "c2", OLD_MS, "{}");
    assert_int_equal(archive_all(rig, path), 2);
    check_archive(path, 2 * FINISHED_EVENTS + 2 + 3, 2);
}

/* ---- what the store says of a session that left ---- */

static void nothing_can_be_added_to_it(void **state)
{
    struct rig *rig = *state;
    char path[300];
    put_finished(rig, "s1", OLD_MS);
    assert_int_equal(archive_all(rig, path), 1);
    for (int reopened = 0; reopened < 2; reopened++) {
        struct append *message = append_new(), *call = append_new(), *begin = append_new();
        rig_event(message, EVENT_USER_MESSAGE, "s1", "", "{}");
        rig_hand(rig, message);
        rig_need(call, NEED_ABSENT, EVENT_TOOL_CALL, "s1", "c1");
        rig_event(call, EVENT_TOOL_CALL, "s1", "c1", "{}");
        rig_hand(rig, call);
        rig_need_changed_at(begin, "s1", 0);
        rig_event(begin, EVENT_SESSION_CHANGED, "s1", "", "{}");
        rig_hand(rig, begin);
        rig_wait(rig);
        assert_int_equal(message->outcome, APPEND_FAILED);
        assert_int_equal(message->err.code, ERR_GONE);
        assert_int_equal(call->outcome, APPEND_FAILED);
        assert_int_equal(call->err.code, ERR_GONE);
        assert_int_equal(begin->outcome, APPEND_FAILED);
        assert_int_equal(begin->err.code, ERR_GONE);
        append_free(message);
        append_free(call);
        append_free(begin);
        rig_close(rig);
        rig_open(rig);
    }
    rig_verify_well(rig, 1);
}

static void it_is_said_where_it_went(void **state)
{
    struct rig *rig = *state;
    char path[300];
    ARENA_SCOPE(arena);
    struct archived archived;
    put_finished(rig, "s1", OLD_MS);
    put_finished(rig, "s2", YOUNG_MS);
    assert_int_equal(archive_all(rig, path), 1);

    struct read *session = rig_read(rig, rig_question(READ_SESSION, "s1"));
    assert_int_equal(session->event_count, 0);
    assert_int_equal(session->archived_count, 1);
    assert_true(archived_parse(&arena, session->archived[0].data, &archived));
    assert_string_equal(strrchr(path, '/') + 1, arena_c(&arena, archived.file));
    assert_int_equal(archived.events, FINISHED_EVENTS);
    assert_int_equal(archived.calls, 1);
    read_free(session);

    struct read *call = rig_question(READ_CALL, "");
    call->call = STR("c1");
    call = rig_read(rig, call);
    assert_int_equal(call->event_count, 4); /* of s2 */
    assert_int_equal(call->archived_count, 1);
    assert_true(str_is(call->archived[0].session, "s1"));
    read_free(call);
    call = rig_question(READ_CALL, "s2");
    call->call = STR("c1");
    call = rig_read(rig, call);
    assert_int_equal(call->archived_count, 0);
    read_free(call);

    struct read *sessions = rig_read(rig, rig_question(READ_SESSIONS, ""));
    assert_int_equal(sessions->event_count, 1);
    read_free(sessions);
}

static void numbers_that_left_are_named(void **state)
{
    struct rig *rig = *state;
    char path[300];
    uint64_t next = 1, gone = 0;
    for (const char *const *session = (const char *const[]){"a", "b", "c", "d", NULL}; *session; session++)
        put_finished(rig, *session, OLD_MS);
    assert_int_equal(archive_all(rig, path), 4);
    put_finished(rig, "e", YOUNG_MS);
    struct read *all = rig_read(rig, rig_question(READ_EVENTS, ""));
    size_t at = 0;
    for (size_t i = 0; i < all->event_count; i++) {
        while (at < all->gone_count && all->gone[at].first == next) {
            gone += all->gone[at].last - next + 1;
            next = all->gone[at++].last + 1;
        }
        assert_int_equal(all->events[i].seq, next++);
    }
    assert_int_equal(gone, 4 * FINISHED_EVENTS);
    assert_int_equal(all->gone_count, 1); /* neighbours are joined */
    read_free(all);
}

/* ---- in the middle of it ---- */

static void what_happened_meanwhile_keeps_a_session_here(void **state)
{
    struct rig *rig = *state;
    put_finished(rig, "s1", OLD_MS);
    put_finished(rig, "s2", OLD_MS);
    struct archive_plan *both = plan(rig);
    assert_int_equal(both->count, 2);
    (void)put(rig, EVENT_USER_MESSAGE, "s1", "", YOUNG_MS, "{\"text\":\"again\"}");
    (void)rig_append(rig, archive_move(both, 0, 9000), APPEND_REFUSED);
    (void)rig_append(rig, archive_move(both, 1, 9000), APPEND_KEPT);
    archive_plan_free(both, true);
    rig_verify_well(rig, FINISHED_EVENTS + 1 + 1);
    struct read *whole = rig_read(rig, rig_question(READ_EVENTS, "s1"));
    assert_int_equal(whole->event_count, FINISHED_EVENTS + 1);
    read_free(whole);
}

static void an_interrupted_archive_is_finished_first(void **state)
{
    struct rig *rig = *state;
    struct archiving archiving = archiving_of(rig);
    struct archive_result result;
    struct err err = {0};
    put_finished(rig, "s1", OLD_MS);
    put_finished(rig, "s2", OLD_MS);
    struct archive_plan *both = plan(rig);
    (void)rig_append(rig, archive_move(both, 0, 9000), APPEND_KEPT);
    archive_plan_free(both, false); /* as if killed here */
    assert_int_equal(files_in(rig, ".unfinished"), 1);
    put_finished(rig, "s3", OLD_MS);
    rig_close(rig);

    if (rc_bad(store_archive(&archiving, 9000, &result, &err)))
        fail_msg("%s", err.text);
    assert_int_equal(result.sessions, 2);
    assert_int_equal(result.events, 2 * FINISHED_EVENTS);
    assert_int_equal(result.stayed, 0);
    assert_int_equal(files_in(rig, ".unfinished"), 0);
    assert_int_equal(files_in(rig, ".db"), 2);
    check_archive(result.file, FINISHED_EVENTS, 1);
    rig_verify_well(rig, 3);

    assert_int_equal(store_archive(&archiving, 9000, &result, &err).code, ERR_OK); /* again is harmless */
    assert_int_equal(result.sessions, 0);
    assert_int_equal(files_in(rig, ".db"), 2);
    rig_open(rig);
}

static void half_a_file_is_thrown_away(void **state)
{
    struct rig *rig = *state;
    char path[300];
    put_finished(rig, "s1", OLD_MS);
    struct archive_plan *first = plan(rig);
    archive_plan_free(first, true); /* made the folder; nothing was moved */
    (void)snprintf(path, sizeof path, "%s/archive-half.db.part", folder_of(rig));
    FILE *half = fopen(path, "w");
    assert_non_null(half);
    assert_int_equal(fclose(half), 0);
    assert_int_equal(archive_all(rig, path), 1);
    assert_int_equal(files_in(rig, ".part"), 0);
    rig_verify_well(rig, 1);
}

static void one_at_a_time(void **state)
{
    struct rig *rig = *state;
    struct archiving archiving = archiving_of(rig);
    struct archive_plan *second;
    put_finished(rig, "s1", OLD_MS);
    struct archive_plan *first = plan(rig);
    assert_int_equal(archive_plan(&archiving, &second, NULL).code, ERR_CONFLICT);
    archive_plan_free(first, false);
    second = plan(rig);
    assert_int_equal(second->count, 1);
    archive_plan_free(second, false);
}

/* The event says more than there is: nothing leaves. */
static void a_move_takes_only_what_it_describes(void **state)
{
    struct rig *rig = *state;
    put_finished(rig, "s1", OLD_MS);
    struct archive_plan *one = plan(rig);
    one->sessions[0].archived.events--;
    (void)rig_append(rig, archive_move(one, 0, 9000), APPEND_FAILED);
    one->sessions[0].archived.events++;
    one->sessions[0].archived.hash.bytes[0] ^= 1;
    (void)rig_append(rig, archive_move(one, 0, 9000), APPEND_FAILED);
    archive_plan_free(one, false);
    rig_verify_well(rig, FINISHED_EVENTS);
}

/* ---- another node archives at the same time ---- */

static const struct backend *undisturbed;
static struct rig *elsewhere; /* where everything leaves when the first page of events was read; NULL: it has */

static struct rc read_disturbed(struct backend_handle *reader, struct read *read, struct err *err)
{
    char path[300];
    struct rc rc = undisturbed->read(reader, read, err);
    if (elsewhere && read->kind == READ_EVENTS && read->kinds == 0) {
        assert_int_equal(archive_all(elsewhere, path), 2);
        elsewhere = NULL;
    }
    return rc;
}

static void what_leaves_meanwhile_is_not_in_the_file(void **state)
{
    struct rig *rig = *state;
    const char *place;
    char path[300];
    uint64_t count;
    struct err err = {0};
    char *large = calloc(1, LIMIT_READ_BYTES + 16);
    (void)snprintf(large, LIMIT_READ_BYTES + 16, "\"%0*d\"", LIMIT_READ_BYTES, 0);
    (void)put(rig, EVENT_USER_MESSAGE, "s1", "", OLD_MS, large); /* a page by itself: s1 is read by halves */
    put_finished(rig, "s1", OLD_MS);
    put_finished(rig, "s2", OLD_MS);
    put_finished(rig, "s3", YOUNG_MS);
    free(large);
    undisturbed = backend_find(rig->url, &place);
    elsewhere = rig;
    struct backend disturbed = *undisturbed;
    disturbed.read = read_disturbed;
    struct archive_source source = {.backend = &disturbed};
    assert_int_equal(undisturbed->open(place, BACKEND_READER, &source.reader, &err).code, ERR_OK);
    (void)snprintf(path, sizeof path, "%s/mine.db", rig->folder);
    if (rc_bad(archive_export(&source, YOUNG_MS, path, &count, &err)))
        fail_msg("export: %s", err.text);
    assert_int_equal(count, 1);
    check_archive(path, FINISHED_EVENTS, 1);
    undisturbed->close(source.reader);
}

#define SLEEPS "FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND query LIKE 'CALL keep%'"

/* The answer to a group is lost after it was kept, and before its node looks for it another node archives a session
 * that the group names: the group was kept all the same. */
static void what_left_meanwhile_settles_a_doubt(void **state)
{
    struct rig *a = *state, b = *a;
    char path[300];
    if (strcmp(scheme, "postgres") != 0)
        skip();
    (void)put(a, EVENT_SESSION_CHANGED, "s1", "", YOUNG_MS, "{}");
    put_finished(a, "s2", OLD_MS);
    /* A node of its own, with its own memory. */
    CHECK((size_t)snprintf(b.url, sizeof b.url, "%s&keepalives=1", a->url) < sizeof b.url);
    struct err err = {0};
    assert_true(rc_ok(loop_new(&b.loop, &err)));
    a->gaps = b.gaps = true;
    rig_open(&b);
    (void)put(&b, EVENT_USER_MESSAGE, "s1", "", YOUNG_MS, "{}"); /* it knows both, so a group is sent at once */
    (void)put(&b, EVENT_USER_MESSAGE, "s2", "", OLD_MS, "{}");
    rig_sql(a, NULL, "DO $$ BEGIN EXECUTE (SELECT replace(pg_get_functiondef(oid), E'COMMIT;\n',"
                     " E'COMMIT;\nPERFORM pg_sleep(60);\n') FROM pg_proc WHERE proname = 'keep' AND"
                     " pronamespace = quote_ident(current_schema())::regnamespace"
                     " ORDER BY pronargs DESC LIMIT 1); END $$");
    struct append *group = append_new();
    rig_event(group, EVENT_USER_MESSAGE, "s1", "", "{\"text\":\"own\"}");
    rig_event(group, EVENT_USER_MESSAGE, "s2", "", "{\"text\":\"last\"}");
    group->events[0].at_ms = YOUNG_MS;
    group->events[1].at_ms = OLD_MS;
    rig_hand(&b, group);
    rig_wait_sql(a, "SELECT count(*) > 0 " SLEEPS);
    assert_int_equal(archive_all(a, path), 1);
    rig_sql(a, NULL, "SELECT pg_terminate_backend(pid) " SLEEPS);
    rig_wait(&b);
    check_outcome(group, APPEND_KEPT);
    append_free(group);
    store_close(b.store);
    loop_free(b.loop);
    check_archive(path, FINISHED_EVENTS + 2, 1);
    rig_verify_well(a, 4); /* of s1: its beginning and two messages; of s2: that it left */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(finished_sessions_leave_for_a_file),
        TEST(what_left_is_what_was_kept),
        TEST(what_is_not_over_stays),
        TEST(nothing_can_be_added_to_it),
        TEST(it_is_said_where_it_went),
        TEST(numbers_that_left_are_named),
        TEST(what_happened_meanwhile_keeps_a_session_here),
        TEST(an_interrupted_archive_is_finished_first),
        TEST(half_a_file_is_thrown_away),
        TEST(one_at_a_time),
        TEST(a_move_takes_only_what_it_describes),
        TEST(what_leaves_meanwhile_is_not_in_the_file),
        TEST(what_left_meanwhile_settles_a_doubt),
    };
    return RUN_SUITE(tests);
}
