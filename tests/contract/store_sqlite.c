/* What only the SQLite backend can meet: its files, its disk, hands that reach into the database. */
#include "sqlite_rig.h"

#include "io/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void put_file(const struct rig *rig, const char *name, const char *bytes, size_t n)
{
    int fd = open(path_of(rig, name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), n);
    assert_int_equal(close(fd), 0);
}

static void refuses_to_open(struct rig *rig, enum err_code code, const char *word)
{
    struct err err = {0};
    struct rc rc = rig_try_open(rig, &err);
    assert_int_equal(rc.code, code);
    if (!strstr(err.text, word))
        fail_msg("\"%s\" does not say \"%s\"", err.text, word);
}

/* ---- verify ---- */

/* 1, 2: the sessions begin. 3-4: s1 asks c1. 5-6: s2 asks c1. 7: c1 of s1 is answered. 8, 9: one message each. */
static void fill(struct rig *rig)
{
    rig_open(rig);
    (void)rig_one(rig, EVENT_SESSION_CHANGED, "s1", "", "{}");
    (void)rig_one(rig, EVENT_SESSION_CHANGED, "s2", "", "{}");
    (void)rig_append(rig, rig_ask("s1", "c1", 1), APPEND_KEPT);
    (void)rig_append(rig, rig_ask("s2", "c1", 2), APPEND_KEPT);
    (void)rig_append(rig, rig_answer("s1", "c1", "{}"), APPEND_KEPT);
    (void)rig_one(rig, EVENT_USER_MESSAGE, "s1", "", "{\"m\":8}");
    (void)rig_one(rig, EVENT_USER_MESSAGE, "s2", "", "{\"m\":9}");
    rig_close(rig);
}

/* 1: s1, 2: s2 begin. 3: a token. 4-7: s1 asks c1, is answered, says something. 8-9: s2 calls c1, says something. */
static void fill_to_archive(struct rig *rig)
{
    rig_open(rig);
    (void)rig_one(rig, EVENT_SESSION_CHANGED, "s1", "", "{}");
    (void)rig_one(rig, EVENT_SESSION_CHANGED, "s2", "", "{}");
    (void)rig_one(rig, EVENT_TOKEN_CHANGED, "", "", "{}");
    (void)rig_append(rig, rig_ask("s1", "c1", 1), APPEND_KEPT);
    (void)rig_append(rig, rig_answer("s1", "c1", "{}"), APPEND_KEPT);
    (void)rig_one(rig, EVENT_USER_MESSAGE, "s1", "", "{\"m\":7}");
    (void)rig_one(rig, EVENT_TOOL_CALL, "s2", "c1", "{}");
    (void)rig_one(rig, EVENT_USER_MESSAGE, "s2", "", "{\"m\":9}");
    rig_close(rig);
}

struct forgery {
    const char *sql;
    uint64_t bad_seq;
};

static const struct forgery forgeries[] = {
    {"UPDATE events SET data = '{\"name\":\"Bush\"}' WHERE seq = 3", 3},
    {"UPDATE events SET data = data || ' ' WHERE seq = 9", 9},
    {"UPDATE events SET actor = 'mallory' WHERE seq = 7", 7},
    {"UPDATE events SET at_ms = at_ms + 1 WHERE seq = 1", 1},
    {"UPDATE events SET thread_id = 'other' WHERE seq = 8", 8},
    {"UPDATE events SET session_id = 's2' WHERE seq = 8", 8},
    {"UPDATE events SET call_id = 'c2' WHERE seq = 4", 4},
    {"UPDATE events SET kind = 2 WHERE seq = 8", 8},
    {"UPDATE events SET kind = 99 WHERE seq = 8", 8},
    {"UPDATE events SET hash = zeroblob(32) WHERE seq = 9", 9},
    {"UPDATE events SET hash = x'00' WHERE seq = 9", 9},
    {"UPDATE events SET chain = 2 WHERE seq = 8", 8},
    {"UPDATE events SET call_seq = 5 WHERE seq = 7", 7},
    {"UPDATE events SET call_seq = NULL WHERE seq = 7", 7},
    {"DELETE FROM events WHERE seq = 1", 1},
    {"DELETE FROM events WHERE seq = 5", 5},
    {"DELETE FROM events WHERE seq = 9", 9},
    {"DELETE FROM events WHERE seq >= 8", 8},
    {"DELETE FROM events WHERE seq = 8; UPDATE events SET seq = 8 WHERE seq = 9", 8},
    {"UPDATE events SET data = '{\"m\":' || (17 - seq) || '}' WHERE seq >= 8", 8},
    {"UPDATE events SET seq = -seq WHERE seq >= 8; UPDATE events SET seq = 17 + seq WHERE seq < 0", 8},
    {"INSERT INTO events SELECT 10, chain, call_seq, session_id, thread_id, kind, at_ms, actor, call_id, data,"
     " hash, no FROM events WHERE seq = 9", 10},
    {"UPDATE events SET no = NULL WHERE seq = 9", 9},
    {"UPDATE events SET no = 1 WHERE seq = 9", 9},
    {"UPDATE chains SET no = 2 WHERE session_id = 's2'", 9},
    {"UPDATE groups SET hash = zeroblob(32) WHERE last_seq = 7", 7},
    {"DELETE FROM groups WHERE last_seq = 7", 8},
    {"DELETE FROM groups WHERE last_seq = 9", 9},
    {"DELETE FROM groups WHERE last_seq < 4", 4},
    {"INSERT INTO groups VALUES(3, zeroblob(32))", 3},
    {"INSERT INTO groups VALUES(12, zeroblob(32))", 10},
    /* The end is cut off, and all but the groups say that there never was more. */
    {"DELETE FROM events WHERE seq > 7; UPDATE chains SET (last_seq, hash, no) = (SELECT seq, hash, no FROM events e"
     " WHERE e.session_id = chains.session_id ORDER BY seq DESC LIMIT 1)", 8},
    /* Two events of different sessions change places. */
    {"UPDATE events SET seq = -seq WHERE seq >= 8; UPDATE events SET seq = 17 + seq WHERE seq < 0;"
     " UPDATE chains SET last_seq = 17 - last_seq", 8},
    {"UPDATE chains SET hash = zeroblob(32) WHERE session_id = 's1'", 8},
    {"UPDATE chains SET last_seq = 10 WHERE session_id = 's2'", 10},
    {"UPDATE chains SET changed_seq = 8 WHERE session_id = 's1'", 8},
    {"UPDATE chains SET session_id = 's9' WHERE session_id = 's2'", 9},
    {"DELETE FROM chains WHERE session_id = 's2'", 9},
    {"DELETE FROM open_approvals", 6},
    {"UPDATE open_approvals SET call_id = 'c7'", 6},
    {"UPDATE open_approvals SET thread_id = 'other'", 6},
    {"UPDATE open_approvals SET call_seq = 3", 6},
    {"UPDATE open_approvals SET request_seq = 100", 6},
    {"INSERT INTO open_approvals VALUES(4, 3, 's1', 's1-main', 'c1', 0)", 4},
    {"INSERT INTO open_approvals VALUES(8, 3, 's1', 's1-main', 'c1', 0)", 8},
    {"INSERT INTO open_approvals VALUES(-4, 3, 's1', 's1-main', 'c1', 0)", 1},
    /* The tables that are filled late. */
    {"DELETE FROM session_events WHERE 8 BETWEEN seq AND seq + more", 9},
    {"UPDATE session_events SET more = more + 1 WHERE seq + more = 8", 9},
    {"DELETE FROM session_events WHERE chain = 1;"
     " INSERT INTO session_events VALUES(0, 1, 1, 0), (0, 1, 3, 1), (0, 1, 4, 0), (0, 1, 7, 0)", 3},
    {"UPDATE session_events SET chain = 1 WHERE seq = 9", 9},
    {"UPDATE session_events SET block = 1 WHERE seq = 9", 9},
    {"DELETE FROM call_ids WHERE seq = 3", 9},
    {"UPDATE call_ids SET call_id = 'c2' WHERE seq = 3", 3},
    {"UPDATE call_ids SET seq = 5 WHERE seq = 3", 5},
    {"DELETE FROM call_events WHERE seq = 4", 9},
    {"UPDATE call_events SET seq = 6 WHERE seq = 4", 6},
    {"INSERT INTO call_events VALUES(3, 8, 9)", 9},
    {"UPDATE meta SET value = 6 WHERE name = 'indexed'", 7},
    {"UPDATE meta SET value = 6 WHERE name = 'indexed'; DELETE FROM session_events WHERE seq + more > 6", 7},
};

/* One after the other, each on the good file. */
static void try_forgeries(struct rig *rig, const struct forgery *list, size_t count)
{
    ARENA_SCOPE(arena);
    struct str good;
    struct store_check check;
    struct err err = {0};
    assert_int_equal(file_read(&arena, path_of(rig, "nod.db"), 16 << 20, &good, &err).code, ERR_OK);
    for (size_t i = 0; i < count; i++) {
        run_sql(rig, list[i].sql);
        if (rc_bad(store_verify(rig->url, &check, &err)))
            fail_msg("%s: %s", list[i].sql, err.text);
        if (check.bad_seq != list[i].bad_seq)
            fail_msg("%s: found %lu (%s)", list[i].sql, (unsigned long)check.bad_seq, check.why);
        assert_true(check.why[0] != '\0');
        put_file(rig, "nod.db", good.p, good.n);
    }
}

static void verify_finds_every_forgery(void **state)
{
    struct rig *rig = *state;
    fill(rig);
    rig_verify_well(rig, 9);
    try_forgeries(rig, forgeries, sizeof forgeries / sizeof forgeries[0]);
    rig_verify_well(rig, 9);
}

/* After s1 and s2 were archived: 3 is here, 1 to 2 and 4 to 9 left, 10 and 11 say so. */
static const struct forgery archive_forgeries[] = {
    {"DELETE FROM gone", 1},
    {"UPDATE gone SET last_seq = 8 WHERE first_seq = 4", 9},
    {"INSERT INTO gone VALUES(3, 3)", 11},
    {"INSERT INTO gone VALUES(12, 14)", 11},
    {"DELETE FROM events WHERE seq = 3; DELETE FROM chains WHERE first_seq = 3;"
     "INSERT INTO gone VALUES(3, 3)", 11},
    {"DELETE FROM events WHERE seq = 10", 10},
    {"UPDATE events SET data = replace(data, '.db', '.xx') WHERE seq = 10", 10},
    {"UPDATE events SET kind = 13 WHERE seq = 10", 10},
    {"DELETE FROM chains WHERE first_seq = 1", 11},
    {"UPDATE chains SET archived_seq = 0 WHERE first_seq = 1", 10},
    {"DELETE FROM archived_calls", 11},
    {"INSERT INTO archived_calls VALUES('c9', 3)", 11},
    /* The row of 3 names 4, which left, in place of 10. */
    {"DELETE FROM session_events WHERE seq = 10; UPDATE session_events SET more = 1 WHERE seq = 3", 11},
};

static void archive_all(struct rig *rig, struct archive_result *ret_result)
{
    char folder[100];
    struct err err = {0};
    struct archiving archiving = {.url = rig->url, .folder = folder, .until_ms = INT64_MAX, .actor = "tester"};
    (void)snprintf(folder, sizeof folder, "%s/archive", rig->folder);
    if (rc_bad(store_archive(&archiving, 1, ret_result, &err)))
        fail_msg("%s", err.text);
}

static void verify_finds_forgeries_around_archives(void **state)
{
    struct rig *rig = *state;
    struct archive_result result;
    fill_to_archive(rig);
    archive_all(rig, &result);
    assert_int_equal(result.sessions, 2);
    rig_verify_well(rig, 3);
    try_forgeries(rig, archive_forgeries, sizeof archive_forgeries / sizeof archive_forgeries[0]);
    rig_verify_well(rig, 3);
}

/* The file itself. */
static void verify_finds_forgeries_in_an_archive(void **state)
{
    static const char *const changes[] = {
        "UPDATE events SET data = '{}' WHERE seq = 4",
        "DELETE FROM events WHERE seq = 9",
        "DELETE FROM events WHERE chain = 2; DELETE FROM chains WHERE first_seq = 2",
    };
    struct rig *rig = *state;
    struct archive_result result;
    struct store_check check;
    fill_to_archive(rig);
    archive_all(rig, &result);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        ARENA_SCOPE(arena);
        struct str good;
        assert_int_equal(file_read(&arena, result.file, 16 << 20, &good, NULL).code, ERR_OK);
        put_file(rig, "nod.db", good.p, good.n);
        assert_int_equal(archive_verify(path_of(rig, "nod.db"), &check, NULL).code, ERR_OK);
        assert_int_equal(check.bad_seq, 0);
        run_sql(rig, changes[i]);
        assert_int_equal(archive_verify(path_of(rig, "nod.db"), &check, NULL).code, ERR_OK);
        assert_true(check.bad_seq != 0);
    }
    refuses_to_open(rig, ERR_INVALID, "is an archive");
    assert_int_equal(archive_verify("/dev/null", &check, NULL).code, ERR_INVALID);
}

static void verify_wants_the_indexes_that_make_promises(void **state)
{
    struct rig *rig = *state;
    struct store_check check;
    struct err err = {0};
    fill(rig);
    run_sql(rig, "CREATE TABLE other AS SELECT * FROM call_events; DROP TABLE call_events;"
                 "ALTER TABLE other RENAME TO call_events");
    assert_int_equal(store_verify(rig->url, &check, &err).code, ERR_CORRUPT);
    assert_non_null(strstr(err.text, "indexes"));
    refuses_to_open(rig, ERR_CORRUPT, "indexes");
}

static unsigned count_files(const struct rig *rig)
{
    unsigned count = 0;
    DIR *folder = opendir(rig->folder);
    assert_non_null(folder);
    while (readdir(folder))
        count++;
    (void)closedir(folder);
    return count;
}

static void verify_leaves_no_trace(void **state)
{
    struct rig *rig = *state;
    fill(rig);
    unsigned before = count_files(rig);
    rig_verify_well(rig, 9);
    assert_int_equal(count_files(rig), before);
}

static void verify_works_beside_a_busy_server(void **state)
{
    struct rig *rig = *state;
    rig_open(rig);
    for (int round = 0; round < 20; round++) {
        struct store_check check;
        struct err err = {0};
        struct append *appends[50];
        for (int i = 0; i < 50; i++) {
            char call[32];
            (void)snprintf(call, sizeof call, "c%d-%d", round, i);
            rig_hand(rig, appends[i] = rig_ask("s1", call, 0));
        }
        assert_true(rc_ok(store_verify(rig->url, &check, &err)));
        assert_int_equal(check.bad_seq, 0);
        rig_wait(rig);
        for (int i = 0; i < 50; i++)
            append_free(appends[i]);
    }
    rig_verify_well(rig, 2000);
}

static void verify_names_what_is_not_there(void **state)
{
    struct rig *rig = *state;
    struct store_check check;
    struct err err = {0};
    assert_int_equal(store_verify(rig->url, &check, &err).code, ERR_NOT_FOUND);
    assert_int_equal(store_verify("floppy:/a", &check, &err).code, ERR_INVALID);
}

/* ---- opening ---- */

static void a_changed_end_is_refused_at_start(void **state)
{
    struct rig *rig = *state;
    fill(rig);
    run_sql(rig, "UPDATE events SET actor = 'mallory' WHERE seq = 9");
    refuses_to_open(rig, ERR_CORRUPT, "event 9");
    run_sql(rig, "UPDATE events SET actor = 'tester' WHERE seq = 9; DELETE FROM chains WHERE session_id = 's1'");
    refuses_to_open(rig, ERR_CORRUPT, "event 8");
}

static void what_is_no_database_is_refused(void **state)
{
    struct rig *rig = *state;
    char garbage[8192];
    memset(garbage, 'g', sizeof garbage);
    put_file(rig, "nod.db", garbage, sizeof garbage);
    refuses_to_open(rig, ERR_CORRUPT, "not a database");
    struct store_check check;
    assert_int_equal(store_verify(rig->url, &check, NULL).code, ERR_CORRUPT);
    struct stat st;
    assert_int_equal(stat(path_of(rig, "nod.db"), &st), 0);
    assert_int_equal(st.st_size, sizeof garbage); /* and is left as it is */
}

static void an_empty_file_is_a_new_store(void **state)
{
    struct rig *rig = *state;
    put_file(rig, "nod.db", "", 0);
    rig_verify_well(rig, 0);
    rig_open(rig);
    assert_int_equal(rig_one(rig, EVENT_USER_MESSAGE, "s1", "", "{}"), 1);
}

static void a_damaged_database_is_refused(void **state)
{
    struct rig *rig = *state;
    struct store_check check;
    fill(rig);
    assert_int_equal(truncate(path_of(rig, "nod.db"), 3 * 4096), 0);
    assert_int_equal(store_verify(rig->url, &check, NULL).code, ERR_CORRUPT);
    refuses_to_open(rig, ERR_CORRUPT, "backup");
}

static void other_programs_databases_are_refused(void **state)
{
    struct rig *rig = *state;
    run_sql(rig, "CREATE TABLE bookmarks(url TEXT)");
    refuses_to_open(rig, ERR_CORRUPT, "another program");
}

static int steps_of(struct rig *rig)
{
    return (int)ask_sql(rig, "SELECT value / 1000 FROM meta WHERE name = 'schema_version'");
}

/* By whoever writes and by whoever looks, and what is there stays. */
static void refuses_version(struct rig *rig, int steps, int kinds)
{
    struct store_check check;
    struct err err = {0};
    char newer[64], known[96], change[96];
    int number = steps * 1000 + kinds;
    (void)snprintf(newer, sizeof newer, "has version %d with events of kinds up to %d,", steps, kinds);
    (void)snprintf(known, sizeof known, "knows version %d with events of kinds up to %d: use a newer nod",
                   steps_of(rig), EVENT_KIND_END - 1);
    (void)snprintf(change, sizeof change, "UPDATE meta SET value = %d WHERE name = 'schema_version'", number);
    run_sql(rig, change);
    refuses_to_open(rig, ERR_CORRUPT, newer);
    refuses_to_open(rig, ERR_CORRUPT, known);
    assert_int_equal(store_verify(rig->url, &check, &err).code, ERR_CORRUPT);
    assert_non_null(strstr(err.text, newer));
    assert_int_equal(ask_sql(rig, "SELECT value FROM meta WHERE name = 'schema_version'"), number);
}

static void a_newer_version_is_refused_by_name(void **state)
{
    struct rig *rig = *state;
    fill(rig);
    refuses_version(rig, steps_of(rig) + 1, EVENT_KIND_END - 1);
}

static void a_kind_that_is_not_known_is_refused_by_name(void **state)
{
    struct rig *rig = *state;
    fill(rig);
    refuses_version(rig, steps_of(rig), EVENT_KIND_END);
}

/* The number is raised, and nothing else is done. One below 1000 is of a program before kinds were in it. */
static void fewer_kinds_are_brought_up_to_date(void **state)
{
    static const char *const changes[] = {"UPDATE meta SET value = value - 1 WHERE name = 'schema_version'",
                                          "UPDATE meta SET value = value / 1000 WHERE name = 'schema_version'"};
    struct rig *rig = *state;
    fill(rig);
    int64_t number = ask_sql(rig, "SELECT value FROM meta WHERE name = 'schema_version'");
    assert_int_equal(number % 1000, EVENT_KIND_END - 1);
    for (unsigned i = 0; i < 2; i++) {
        run_sql(rig, changes[i]);
        rig_verify_well(rig, 9 + i); /* whoever looks needs no raise */
        rig_open(rig);
        assert_int_equal(rig_one(rig, EVENT_USER_MESSAGE, "s1", "", "{}"), 10 + i);
        rig_close(rig);
        assert_int_equal(ask_sql(rig, "SELECT value FROM meta WHERE name = 'schema_version'"), number);
        rig_verify_well(rig, 10 + i);
    }
}

static void a_missing_folder_is_named(void **state)
{
    struct rig *rig = *state;
    (void)snprintf(rig->url, sizeof rig->url, "sqlite:%s/deep/nod.db", rig->folder);
    refuses_to_open(rig, ERR_IO, "No such file");
    (void)snprintf(rig->url, sizeof rig->url, "oracle:%s/nod.db", rig->folder);
    refuses_to_open(rig, ERR_INVALID, "there is no store");
}

static void a_second_writer_is_refused(void **state)
{
    struct rig *rig = *state;
    struct rig second;
    char pid[32];
    rig_open(rig);
    rig_init(&second, "sqlite");
    memcpy(second.url, rig->url, sizeof second.url);
    (void)snprintf(pid, sizeof pid, "(pid %d)", (int)getpid());
    refuses_to_open(&second, ERR_CONFLICT, pid);
    (void)rig_one(rig, EVENT_USER_MESSAGE, "s1", "", "{}");
    rig_close(rig);
    rig_open(&second);
    rig_close(&second);
    rig_done(&second);
}

static void files_are_private_whatever_the_umask(void **state)
{
    struct rig *rig = *state;
    static const char *const names[] = {"nod.db", "nod.db-wal", "nod.db-shm", "nod.lock"};
    struct stat st;
    mode_t before = umask(0);
    rig_open(rig);
    (void)rig_one(rig, EVENT_USER_MESSAGE, "s1", "", "{}");
    (void)umask(before);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_int_equal(stat(path_of(rig, names[i]), &st), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
    }
    rig_close(rig);
    assert_int_equal(chmod(path_of(rig, "nod.db"), 0666), 0);
    rig_open(rig);
    assert_int_equal(stat(path_of(rig, "nod.db"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

/* As somebody who is not root and owns the folder; 0 when the opening fails with that code and word. */
static int open_as_other(struct rig *rig, enum err_code code, const char *word)
{
    struct err err = {0};
    struct store *store;
    struct loop *loop;
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
        return 2;
    if (rc_bad(loop_new(&loop, NULL)))
        return 3;
    struct rc rc = store_open(loop, &(struct store_options){.url = rig->url}, &store, &err);
    if (rc.code == code && strstr(err.text, word))
        return 0;
    (void)fprintf(stderr, "code %d: %s\n", rc.code, err.text);
    return 1;
}

static void refuses_as_other(struct rig *rig, enum err_code code, const char *word)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(open_as_other(rig, code, word));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int give_away_one(const char *path, const struct stat *st, int flag, struct FTW *walk)
{
    (void)st;
    (void)flag;
    (void)walk;
    return lchown(path, 65534, 65534);
}

static void give_away(struct rig *rig)
{
    assert_int_equal(geteuid() == 0 ? nftw(rig->folder, give_away_one, 16, FTW_PHYS) : 0, 0);
}

static void what_cannot_be_written_is_refused(void **state)
{
    struct rig *rig = *state;
    fill(rig);
    give_away(rig);
    assert_int_equal(chmod(path_of(rig, "nod.db"), 0400), 0);
    refuses_as_other(rig, ERR_IO, "cannot be written");
    assert_int_equal(chmod(path_of(rig, "nod.db"), 0600), 0);
    assert_int_equal(unlink(path_of(rig, "nod.lock")), 0);
    assert_int_equal(chmod(rig->folder, 0500), 0);
    refuses_as_other(rig, ERR_IO, "Permission denied");
    assert_int_equal(chmod(rig->folder, 0700), 0);
}

/* ---- while it runs ---- */

static void a_hand_in_the_database_is_noticed(void **state)
{
    struct rig *rig = *state;
    rig_open(rig);
    (void)rig_one(rig, EVENT_SESSION_CHANGED, "s1", "", "{}");
    run_sql(rig, "INSERT INTO meta VALUES('visitor', 1); DELETE FROM meta WHERE name = 'visitor'");
    assert_int_equal(rig_one(rig, EVENT_USER_MESSAGE, "s1", "", "{}"), 2);
    rig_verify_well(rig, 2);

    run_sql(rig, "CREATE TEMP TABLE t AS SELECT * FROM events WHERE seq = 2; DELETE FROM events WHERE seq = 2");
    struct append *append = append_new();
    rig_event(append, EVENT_USER_MESSAGE, "s1", "", "{}");
    rig_hand(rig, append);
    rig_wait(rig);
    assert_int_equal(append->outcome, APPEND_FAILED);
    assert_int_equal(append->err.code, ERR_CORRUPT);
    append_free(append);
    assert_false(store_figures(rig->store).healthy);
}

/* What memory knew of a session holds no more when somebody has written to the database: the number of the last event,
 * which each group checks, says nothing of the ends of chains. */
static void a_head_that_somebody_has_written_is_read_again(void **state)
{
    struct rig *rig = *state;
    rig_open(rig);
    (void)rig_one(rig, EVENT_SESSION_CHANGED, "s1", "", "{}");
    rig_close(rig); /* all that is written late stands in its tables then */
    rig_open(rig);
    struct append *append = append_new(); /* memory learns the head, and adds nothing to it */
    append_need(append, (struct need){.need = NEED_LAST_AT, .session = STR("s1"), .seq = 99});
    rig_event(append, EVENT_USER_MESSAGE, "s1", "", "{}");
    rig_hand(rig, append);
    rig_wait(rig);
    assert_int_equal(append->outcome, APPEND_REFUSED);
    append_free(append);
    run_sql(rig, "UPDATE chains SET hash = x'00'");
    append = append_new();
    rig_event(append, EVENT_USER_MESSAGE, "s1", "", "{}");
    rig_hand(rig, append);
    rig_wait(rig);
    assert_int_equal(append->outcome, APPEND_FAILED);
    assert_int_equal(append->err.code, ERR_CORRUPT);
    append_free(append);
}

/* Links as they were before events had numbers within their sessions; the store is one that fill() has made. */
static void link_as_before(struct rig *rig)
{
    struct digest heads[3] = {0};
    sqlite3 *db;
    sqlite3_stmt *rows, *put;
    assert_int_equal(sqlite3_open(path_of(rig, "nod.db"), &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT seq, session_id, thread_id, kind, at_ms, actor, coalesce(call_id,"
                                        " ''), data FROM events ORDER BY seq", -1, &rows, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "UPDATE events SET hash = ?1, no = NULL WHERE seq = ?2", -1, &put, NULL),
                     SQLITE_OK);
    while (sqlite3_step(rows) == SQLITE_ROW) {
        struct event event = {
            .seq = (uint64_t)sqlite3_column_int64(rows, 0), .kind = (enum event_kind)sqlite3_column_int(rows, 3),
            .at_ms = sqlite3_column_int64(rows, 4), .session = str_of((const char *)sqlite3_column_text(rows, 1)),
            .thread = str_of((const char *)sqlite3_column_text(rows, 2)),
            .actor = str_of((const char *)sqlite3_column_text(rows, 5)),
            .call = str_of((const char *)sqlite3_column_text(rows, 6)),
            .data = str_of((const char *)sqlite3_column_text(rows, 7)),
        };
        struct digest *head = &heads[str_eq(event.session, STR("s1")) ? 1 : 2];
        *head = chain_next(head, &event);
        assert_int_equal(sqlite3_bind_blob(put, 1, head->bytes, DIGEST_BYTES, SQLITE_STATIC), SQLITE_OK);
        assert_int_equal(sqlite3_bind_int64(put, 2, (int64_t)event.seq), SQLITE_OK);
        assert_int_equal(sqlite3_step(put), SQLITE_DONE);
        assert_int_equal(sqlite3_reset(put), SQLITE_OK);
    }
    assert_int_equal(sqlite3_finalize(rows), SQLITE_OK);
    assert_int_equal(sqlite3_finalize(put), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    run_sql(rig, "DROP VIEW open_now; DROP VIEW heads;"
                 "DROP TABLE session_events; DROP TABLE call_ids; DROP TABLE call_events;"
                 "DELETE FROM meta WHERE name = 'indexed';"
                 "CREATE INDEX events_by_chain ON events(seq >> 12, chain);"
                 "CREATE UNIQUE INDEX calls ON events(call_id, session_id) WHERE kind = 3;"
                 "CREATE UNIQUE INDEX events_by_call ON events(call_seq, kind) WHERE call_seq IS NOT NULL;");
    run_sql(rig, "DROP INDEX rare; CREATE INDEX session_changes ON events(chain) WHERE kind = 13;"
                 "CREATE INDEX token_changes ON events(kind) WHERE kind = 14;"
                 "CREATE INDEX rule_changes ON events(kind) WHERE kind = 15;"
                 "CREATE INDEX runs ON events(chain, thread_id) WHERE kind = 12;"
                 "UPDATE chains SET hash = (SELECT hash FROM events WHERE seq = last_seq);"
                 "ALTER TABLE events DROP COLUMN no; ALTER TABLE chains DROP COLUMN no; DROP TABLE groups;"
                 "UPDATE meta SET value = 3 WHERE name = 'schema_version'");
}

static void an_older_version_is_brought_up_to_date(void **state)
{
    struct rig *rig = *state;
    struct store_check check;
    fill(rig);
    link_as_before(rig);
    run_sql(rig, "DROP INDEX runs; DROP TABLE gone; DROP TABLE archived_calls;" /* as version 1 was */
                 "ALTER TABLE chains DROP COLUMN archived_seq;"
                 "UPDATE meta SET value = 1 WHERE name = 'schema_version'");
    assert_int_equal(store_verify(rig->url, &check, NULL).code, ERR_CONFLICT);
    rig_open(rig);
    assert_int_equal(rig_one(rig, EVENT_USER_MESSAGE, "s1", "", "{}"), 10);
    rig_verify_well(rig, 10);
}

/* A store without groups verifies as it is; brought up to date, its older events are covered by their links as before,
 * and its end by the groups. */
static void links_of_version_1_stay_verifiable(void **state)
{
    static const struct forgery old[] = {{"UPDATE events SET actor = 'mallory' WHERE seq = 7", 7},
                                         {"UPDATE events SET no = 1 WHERE seq = 8", 8},
                                         {"DELETE FROM events WHERE seq = 10", 10},
                                         {"DELETE FROM groups WHERE last_seq = 9", 10}};
    static const struct forgery cut = {"DELETE FROM events WHERE seq = 9; UPDATE chains SET (last_seq, hash) = (SELECT"
                                       " seq, hash FROM events e WHERE e.session_id = chains.session_id"
                                       " ORDER BY seq DESC LIMIT 1)", 9};
    struct rig *rig = *state;
    fill(rig);
    link_as_before(rig);
    rig_verify_well(rig, 9);
    rig_open(rig);
    rig_close(rig);
    rig_verify_well(rig, 9);
    try_forgeries(rig, &cut, 1);
    rig_open(rig);
    assert_int_equal(rig_one(rig, EVENT_USER_MESSAGE, "s1", "", "{}"), 10);
    rig_close(rig);
    rig_verify_well(rig, 10);
    try_forgeries(rig, old, sizeof old / sizeof *old);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(verify_finds_every_forgery),
        TEST(verify_finds_forgeries_around_archives),
        TEST(verify_finds_forgeries_in_an_archive),
        TEST(verify_wants_the_indexes_that_make_promises),
        TEST(verify_leaves_no_trace),
        TEST(verify_works_beside_a_busy_server),
        TEST(verify_names_what_is_not_there),
        TEST(a_changed_end_is_refused_at_start),
        TEST(what_is_no_database_is_refused),
        TEST(an_empty_file_is_a_new_store),
        TEST(a_damaged_database_is_refused),
        TEST(other_programs_databases_are_refused),
        TEST(a_newer_version_is_refused_by_name),
        TEST(a_kind_that_is_not_known_is_refused_by_name),
        TEST(fewer_kinds_are_brought_up_to_date),
        TEST(a_missing_folder_is_named),
        TEST(a_second_writer_is_refused),
        TEST(files_are_private_whatever_the_umask),
        TEST(what_cannot_be_written_is_refused),
        TEST(an_older_version_is_brought_up_to_date),
        TEST(links_of_version_1_stay_verifiable),
        TEST(a_hand_in_the_database_is_noticed),
        TEST(a_head_that_somebody_has_written_is_read_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
