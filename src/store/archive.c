/* Finished sessions into a file of their own: the plan, the moves, and looking into the file afterwards.
 *
 *   archive-TIME-ID.db.part          being written; removed by the next plan
 *   archive-TIME-ID.db.unfinished    an empty mark: the file beside it is whole, but not every session of it has left
 *                                    the store; it is there before the file gets its name
 *   archive-TIME-ID.db               whole, verified, never changed again
 *   lock                             one plan at a time
 *
 * A plan is made from the file as it is read back, never from what was meant to be written, and names only sessions
 * that end in the store as they end in the file.
 */
#include "store/archive_file.h"

#include "base/id.h"
#include "base/stamp.h"
#include "io/clock.h"
#include "io/file.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PART ".part"
#define UNFINISHED ".unfinished"
enum { MOVES_AT_ONCE = 16 };

extern const struct backend backend_sqlite;

/* ---- looking into an archive ---- */

struct archive {
    struct backend_handle *handle;
};

/* Read only, and without the lock: an archive is never written again. */
struct rc archive_open(const char *path, struct archive **ret_archive, struct err *err)
{
    struct backend_handle *handle;
    TRY(archive_file_recognise(path, err));
    TRY(backend_sqlite.open(path, BACKEND_GUEST, &handle, err));
    *ret_archive = heap_new(sizeof **ret_archive);
    (*ret_archive)->handle = handle;
    return RC_OK;
}

struct rc archive_read(struct archive *archive, struct read *read, struct err *err)
{
    return backend_sqlite.read(archive->handle, read, err);
}

void archive_close(struct archive *archive)
{
    if (!archive)
        return;
    backend_sqlite.close(archive->handle);
    free(archive);
}

struct rc archive_verify(const char *path, struct store_check *ret_check, struct err *err)
{
    TRY(archive_file_recognise(path, err));
    return backend_sqlite.verify(path, ret_check, err);
}

/* ---- a plan from a file ---- */

/* A plan while it is made: the store it reads, the file it writes or reads back. */
struct planning {
    const struct archiving *archiving;
    struct archive_source store, file;
    struct archive_plan *plan;
    size_t cap;
    struct str name;     /* file name of the archive, without the folder */
    struct digest digest;
};

static void planning_done(struct planning *planning)
{
    if (planning->store.reader)
        planning->store.backend->close(planning->store.reader);
    if (planning->file.reader)
        planning->file.backend->close(planning->file.reader);
    if (planning->plan)
        archive_plan_free(planning->plan, false);
}

static const char *path_of(struct planning *planning, struct str name, const char *ending)
{
    return arena_printf(&planning->plan->arena, "%s/%.*s%s", planning->archiving->folder, STR_ARG(name), ending).p;
}

/* Whether the session's last event is the same in the store and in the file, and it has no open approval. */
static struct rc is_same_in_store(struct planning *planning, const struct chain_end *chain, bool *ret_same,
                                  struct err *err)
{
    struct read *read = read_new(READ_CHAINS);
    read->session = arena_str(&read->arena, chain->session);
    read->until_ms = INT64_MAX;
    struct rc rc = planning->store.backend->read(planning->store.reader, read, err);
    *ret_same = rc_ok(rc) && read->chain_count == 1 && read->chains[0].first_seq == chain->first_seq &&
                read->chains[0].last_seq == chain->last_seq && digest_eq(&read->chains[0].hash, &chain->hash);
    read_free(read);
    return rc;
}

static struct rc count_events(struct planning *planning, struct archive_session *session, struct err *err)
{
    struct archived *archived = &session->archived;
    for (uint64_t after = 0; after < archived->last_seq;) {
        struct read *page;
        TRY(archive_page(&planning->file, session->session, 0, after, &page, err));
        for (size_t i = 0; i < page->event_count; i++)
            archived->calls += page->events[i].kind == EVENT_TOOL_CALL;
        archived->events += page->event_count;
        after = page->event_count ? page->events[page->event_count - 1].seq : archived->last_seq;
        read_free(page);
    }
    return RC_OK;
}

/* Names a session in the plan if the store still ends it as the file does; else it has gone on and stays. */
static struct rc plan_session(struct planning *planning, const struct chain_end *chain, struct err *err)
{
    struct archive_plan *plan = planning->plan;
    bool same = false;
    TRY(archive_stopped(&planning->store, err));
    TRY(is_same_in_store(planning, chain, &same, err));
    if (!same)
        return RC_OK;
    if (plan->count == planning->cap) {
        planning->cap = planning->cap ? planning->cap * 2 : 64;
        plan->sessions = heap_grow(plan->sessions, planning->cap * sizeof *plan->sessions);
    }
    struct archive_session *session = &plan->sessions[plan->count];
    *session = (struct archive_session){
        .session = arena_str(&plan->arena, chain->session),
        .archived = {.file = planning->name, .file_digest = planning->digest, .hash = chain->hash,
                     .first_seq = chain->first_seq, .last_seq = chain->last_seq},
    };
    TRY(count_events(planning, session, err));
    plan->events += session->archived.events;
    plan->count++;
    return RC_OK;
}

static struct rc verify_file(const char *path, struct err *err)
{
    struct store_check check;
    TRY(archive_verify(path, &check, err));
    if (check.bad_seq)
        return err_set(err, ERR_CORRUPT, "%s is not sound: event %llu: %s", path, (unsigned long long)check.bad_seq,
                       check.why);
    return RC_OK;
}

/* Everything in the plan comes from the file as it was read back, verified and digested. */
static struct rc plan_from_file(struct planning *planning, const char *path, struct err *err)
{
    TRY(verify_file(path, err));
    TRY(file_digest(path, &planning->digest, err));
    planning->file.backend = &backend_sqlite;
    TRY(backend_sqlite.open(path, BACKEND_GUEST, &planning->file.reader, err));
    for (uint64_t after = 0;;) {
        struct read *page = read_new(READ_CHAINS);
        page->after = after;
        page->until_ms = INT64_MAX;
        struct rc rc = backend_sqlite.read(planning->file.reader, page, err);
        for (size_t i = 0; rc_ok(rc) && i < page->chain_count; i++) {
            after = page->chains[i].first_seq;
            rc = plan_session(planning, &page->chains[i], err);
        }
        bool end = page->chain_count == 0;
        read_free(page);
        TRY(rc);
        if (end)
            return RC_OK;
    }
}

/* ---- the folder ---- */

static bool ends_with(struct str name, struct str ending)
{
    return name.n > ending.n && str_eq(str_sub(name, name.n - ending.n, name.n), ending);
}

static void folder_close(DIR **folder)
{
    if (*folder)
        (void)closedir(*folder);
}

/* Removes what was half written; `ret_name` is the archive that was not finished, empty: there is none. */
static struct rc look_around(struct planning *planning, struct str *ret_name, struct err *err)
{
    __attribute__((cleanup(folder_close))) DIR *folder = opendir(planning->archiving->folder);
    const struct dirent *entry;
    *ret_name = STR_NONE;
    if (!folder)
        return err_set(err, ERR_IO, "cannot look into %s: %s", planning->archiving->folder, strerror(errno));
    while ((entry = readdir(folder))) {
        struct str name = str_of(entry->d_name);
        struct str archive = str_sub(name, 0, name.n > sizeof UNFINISHED ? name.n - (sizeof UNFINISHED - 1) : 0);
        if (ends_with(name, STR(PART))) {
            (void)unlink(path_of(planning, name, ""));
        } else if (ends_with(name, STR(UNFINISHED))) {
            if (access(path_of(planning, archive, ""), F_OK) == 0)
                *ret_name = arena_str(&planning->plan->arena, archive);
            else
                (void)unlink(path_of(planning, name, "")); /* killed before the file got its name */
        }
    }
    return RC_OK;
}

/* "archive-20261115T080000Z-k3f9….db": sorts by time. */
static struct str new_name(struct arena *arena)
{
    char stamp[STAMP_BYTES];
    stamp_format(clock_wall_ms(), stamp);
    BUF_SCOPE(name, 128);
    buf_puts(&name, "archive-");
    for (const char *c = stamp; *c && *c != '.'; c++)
        if (*c != '-' && *c != ':')
            buf_putc(&name, *c);
    buf_printf(&name, "Z-%s.db", id_short().text);
    return arena_str(arena, buf_str(&name));
}

static struct rc make_mark(const char *path, struct err *err)
{
    FILE *mark = fopen(path, "wxe");
    if (!mark || fclose(mark) != 0)
        return err_set(err, ERR_IO, "cannot create %s: %s", path, strerror(errno));
    return RC_OK;
}

/* Written, synced, verified; then the mark; then the name. */
static struct rc make_archive(struct planning *planning, struct err *err)
{
    const char *folder = planning->archiving->folder;
    struct str name = new_name(&planning->plan->arena);
    const char *part = path_of(planning, name, PART);
    uint64_t count;
    TRY(archive_export(&planning->store, planning->archiving->until_ms, part, &count, err));
    if (count == 0)
        return RC_OK;
    TRY(verify_file(part, err));
    TRY(make_mark(path_of(planning, name, UNFINISHED), err));
    TRY(file_sync(folder, err));
    if (rename(part, path_of(planning, name, "")) != 0)
        return err_set(err, ERR_IO, "cannot rename %s: %s", part, strerror(errno));
    TRY(file_sync(folder, err));
    planning->name = name;
    return RC_OK;
}

/* ---- plans ---- */

/* An unfinished archive of an earlier run is resumed before a new one is made. */
static struct rc make_plan(struct planning *planning, struct err *err)
{
    struct archive_plan *plan = planning->plan;
    const char *place;
    TRY(file_own_folder(planning->archiving->folder, err));
    struct rc rc = file_lock(path_of(planning, STR("lock"), ""), &plan->lock_fd, err);
    if (rc.code == ERR_CONFLICT)
        return err_set(err, ERR_CONFLICT, "sessions are being archived already");
    TRY(rc);
    planning->store.stop = planning->archiving->stop;
    planning->store.backend = backend_find(planning->archiving->url, &place);
    if (!planning->store.backend)
        return err_set(err, ERR_INVALID, "there is no store \"%s\"", planning->archiving->url);
    TRY(planning->store.backend->open(place, BACKEND_READER, &planning->store.reader, err));
    TRY(look_around(planning, &planning->name, err));
    plan->resumed = !str_empty(planning->name);
    if (!plan->resumed)
        TRY(make_archive(planning, err));
    if (str_empty(planning->name))
        return RC_OK;
    plan->path = str_of(path_of(planning, planning->name, ""));
    return plan_from_file(planning, plan->path.p, err);
}

/* On an error nothing is left of the plan, and the store is as it was: sessions leave only by archive_move. */
struct rc archive_plan(const struct archiving *archiving, struct archive_plan **ret_plan, struct err *err)
{
    __attribute__((cleanup(planning_done))) struct planning planning = {.archiving = archiving};
    planning.plan = heap_new(sizeof *planning.plan);
    planning.plan->lock_fd = -1;
    planning.plan->actor = arena_str(&planning.plan->arena, str_of(archiving->actor));
    TRY(make_plan(&planning, err));
    *ret_plan = planning.plan;
    planning.plan = NULL;
    return RC_OK;
}

/* The need is that nothing was added since the file was written. */
struct append *archive_move(const struct archive_plan *plan, size_t index, int64_t now_ms)
{
    const struct archive_session *session = &plan->sessions[index];
    struct append *append = append_new();
    CHECK(index < plan->count);
    append_need(append, (struct need){.need = NEED_LAST_AT,
                                      .session = arena_str(&append->arena, session->session),
                                      .seq = session->archived.last_seq});
    (void)append_event(append, (struct event){
        .kind = EVENT_SESSION_ARCHIVED,
        .at_ms = now_ms,
        .session = append->needs[0].session,
        .actor = arena_str(&append->arena, plan->actor),
        .data = archived_data(&append->arena, &session->archived),
    });
    return append;
}

/* A mark that cannot be removed only makes the next plan look at a file for nothing. */
void archive_plan_free(struct archive_plan *plan, bool finished)
{
    if (!plan)
        return;
    if (finished && !str_empty(plan->path))
        (void)unlink(arena_printf(&plan->arena, "%.*s" UNFINISHED, STR_ARG(plan->path)).p);
    if (plan->lock_fd >= 0)
        (void)close(plan->lock_fd);
    free(plan->sessions);
    arena_done(&plan->arena);
    free(plan);
}

/* ---- without a server ---- */

/* Archiving without a server. */
struct alone {
    const struct backend *backend;
    struct backend_handle *writer;
    struct archive_plan *plan;
};

static void alone_done(struct alone *alone)
{
    archive_plan_free(alone->plan, false);
    if (alone->writer)
        alone->backend->close(alone->writer);
}

/* Frees the appends. A session that another node archived meanwhile (ERR_GONE) is not a failure. */
static struct rc settle_moves(struct append *first, struct rc rc, struct archive_result *result, struct err *err)
{
    while (first) {
        struct append *append = first;
        struct archived archived;
        first = append->next;
        if (rc_ok(rc) && append->outcome == APPEND_FAILED && append->err.code != ERR_GONE) /* by another node */
            rc = err_set(err, append->err.code, "%s", append->err.text);
        if (rc_ok(rc) && append->outcome == APPEND_KEPT) {
            CHECK(archived_parse(&append->arena, append->events[0].data, &archived));
            result->sessions++;
            result->events += archived.events;
        }
        result->stayed += rc_ok(rc) && append->outcome == APPEND_REFUSED;
        append_free(append);
    }
    return rc;
}

/* Without a server. A few sessions per commit; one that is refused, because something has happened in it, stays in
 * the store. */
static struct rc move_all(struct alone *alone, int64_t now_ms, struct archive_result *result, struct err *err)
{
    for (size_t at = 0; at < alone->plan->count;) {
        struct append *first = NULL, **end = &first;
        for (int n = 0; n < MOVES_AT_ONCE && at < alone->plan->count; n++, at++) {
            *end = archive_move(alone->plan, at, now_ms);
            end = &(*end)->next;
        }
        struct rc rc = alone->backend->commit(alone->writer, first, err);
        TRY(settle_moves(first, rc, result, err));
    }
    return RC_OK;
}

void archive_result_add(struct archive_result *result, const struct archive_plan *plan)
{
    if (!str_empty(plan->path))
        (void)snprintf(result->file, sizeof result->file, "%.*s", STR_ARG(plan->path));
}

/* Without a server (`nod archive` alone): opens the store as its writer, moves all, and gives the room back. */
struct rc store_archive(const struct archiving *archiving, int64_t now_ms, struct archive_result *ret_result,
                        struct err *err)
{
    __attribute__((cleanup(alone_done))) struct alone alone = {0};
    const char *place;
    *ret_result = (struct archive_result){0};
    alone.backend = backend_find(archiving->url, &place);
    if (!alone.backend)
        return err_set(err, ERR_INVALID, "there is no store \"%s\"", archiving->url);
    TRY(alone.backend->open(place, BACKEND_WRITER, &alone.writer, err));
    for (bool resumed = true; resumed;) {
        TRY(archive_plan(archiving, &alone.plan, err));
        TRY(move_all(&alone, now_ms, ret_result, err));
        archive_result_add(ret_result, alone.plan);
        resumed = alone.plan->resumed;
        archive_plan_free(alone.plan, true);
        alone.plan = NULL;
    }
    return ret_result->sessions ? store_shed(archiving->url, err) : RC_OK;
}
