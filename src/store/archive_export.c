/* Which sessions are finished, and their events as a file.
 *
 * Finished: nobody is asked, no run of our own agent is under way, nothing that was started is without a result,
 * and nothing has happened for long. Events are immutable, so a session is read at leisure; that it has not
 * grown meanwhile is a need of the append that moves it.
 */
#include "store/archive_file.h"

#include "event/run.h"

#include <stdatomic.h>
#include <unistd.h>

struct rc archive_stopped(const struct archive_source *source, struct err *err)
{
    if (source->stop && atomic_load(source->stop))
        return err_set(err, ERR_UNAVAILABLE, "the server is stopping");
    return RC_OK;
}

struct rc archive_page(const struct archive_source *source, struct str session, uint64_t kinds, uint64_t after,
                       struct read **ret_page, struct err *err)
{
    struct read *page = read_new(READ_EVENTS);
    page->session = arena_str(&page->arena, session);
    page->kinds = kinds;
    page->after = after;
    struct rc rc = source->backend->read(source->reader, page, err);
    if (rc_bad(rc)) {
        read_free(page);
        return rc;
    }
    *ret_page = page;
    return RC_OK;
}

/* ---- finished or not ---- */

/* Unfinished work: calls that were started, by id; threads that run, by id. */
struct under_way {
    struct map calls, runs;
};

static void under_way_done(struct under_way *under_way)
{
    map_done(&under_way->calls);
    map_done(&under_way->runs);
}

/* Calls and runs that are under way keep their session from being archived. */
static void take_event(struct under_way *under_way, const struct event *event)
{
    if (event->kind == EVENT_TOOL_STARTED)
        (void)map_put(&under_way->calls, event->call, under_way);
    else if (event->kind == EVENT_TOOL_RESULT)
        (void)map_take(&under_way->calls, event->call);
    else if (event->kind == EVENT_RUN_STATUS && run_is_over(event->data))
        (void)map_take(&under_way->runs, event->thread);
    else if (event->kind == EVENT_RUN_STATUS)
        (void)map_put(&under_way->runs, event->thread, under_way);
}

/* Reads only events that begin or end something; whatever began and did not end keeps the session here. */
static struct rc is_finished(const struct archive_source *source, const struct chain_end *chain,
                             bool *ret_finished, struct err *err)
{
    const uint64_t kinds = (uint64_t)1 << EVENT_TOOL_STARTED | (uint64_t)1 << EVENT_TOOL_RESULT |
                           (uint64_t)1 << EVENT_RUN_STATUS;
    __attribute__((cleanup(under_way_done))) struct under_way under_way = {0};
    for (uint64_t after = 0; after < chain->last_seq;) {
        struct read *page;
        TRY(archive_page(source, chain->session, kinds, after, &page, err));
        for (size_t i = 0; i < page->event_count; i++)
            take_event(&under_way, &page->events[i]);
        after = page->covered;
        read_free(page);
    }
    *ret_finished = under_way.calls.count == 0 && under_way.runs.count == 0;
    return RC_OK;
}

/* ---- one session into the file ---- */

/* One session while its events are written. */
struct writing {
    struct archive_file *file;
    const struct chain_end *chain;
    struct filed_head head;
    struct digest hash;    /* chain hash of the session's last event */
    struct arena arena;
    struct map calls;      /* id → seq of its TOOL_CALL */
};

static void writing_done(struct writing *writing)
{
    map_done(&writing->calls);
    arena_done(&writing->arena);
}

/* The links are computed anew from the bytes; that they end as the store says is checked at the head. */
static struct rc write_event(struct writing *writing, const struct event *event, struct err *err)
{
    struct filed_event filed = {.event = *event, .hash = &writing->hash,
                                .chain = (int64_t)writing->chain->first_seq};
    writing->hash = chain_next(&writing->hash, event);
    if (event->kind == EVENT_TOOL_CALL) {
        int64_t *seq = arena_new(&writing->arena, int64_t);
        *seq = (int64_t)event->seq;
        (void)map_put(&writing->calls, event->call, seq);
    } else if (event_kind_of_call(event->kind)) {
        const int64_t *seq = map_get(&writing->calls, event->call);
        filed.call_seq = seq ? *seq : 0;
    }
    writing->head.no = event->no;
    if (event->kind == EVENT_SESSION_CHANGED)
        writing->head.changed_seq = event->seq;
    return archive_file_event(writing->file, &filed, err);
}

static struct rc write_page(struct writing *writing, const struct read *page, struct err *err)
{
    for (size_t i = 0; i < page->event_count && page->events[i].seq <= writing->chain->last_seq; i++)
        TRY(write_event(writing, &page->events[i], err));
    return RC_OK;
}

/* A session that cannot be read to its end was archived by another node meanwhile, or is corrupt. */
static struct rc has_left(const struct archive_source *source, const struct chain_end *chain, struct err *err)
{
    struct read *read = read_new(READ_CHAINS);
    read->session = arena_str(&read->arena, chain->session);
    read->until_ms = INT64_MAX;
    struct rc rc = source->backend->read(source->reader, read, err);
    if (rc_ok(rc) && read->chain_count)
        rc = err_set(err, ERR_CORRUPT, "the events of session %.*s were changed in the store: see `nod verify`",
                     STR_ARG(chain->session));
    read_free(read);
    return rc;
}

/* `*ret_written` false: the session was moved to another archive meanwhile. */
static struct rc write_session(const struct archive_source *source, struct archive_file *file,
                               const struct chain_end *chain, bool *ret_written, struct err *err)
{
    __attribute__((cleanup(writing_done))) struct writing writing = {.file = file, .chain = chain};
    for (uint64_t after = 0; after < chain->last_seq;) {
        struct read *page;
        TRY(archive_page(source, chain->session, 0, after, &page, err));
        struct rc rc = write_page(&writing, page, err);
        after = page->covered;
        read_free(page);
        TRY(rc);
    }
    *ret_written = digest_eq(&writing.hash, &chain->hash);
    if (!*ret_written) {
        TRY(has_left(source, chain, err));
        return archive_file_drop(file, chain->first_seq, err);
    }
    writing.head.session = chain->session;
    writing.head.first_seq = chain->first_seq;
    writing.head.last_seq = chain->last_seq;
    writing.head.hash = &chain->hash;
    return archive_file_head(file, &writing.head, err);
}

/* ---- all of them ---- */

/* The archive that is written, session after session. */
struct export {
    const struct archive_source *source;
    const char *path;
    struct archive_file *file; /* NULL until there is something to put into it */
    uint64_t count;
};

static void export_done(struct export *export) { archive_file_free(export->file); }

/* The file is made with the first session that is finished; without one there is none. */
static struct rc export_page(struct export *export, const struct read *page, struct err *err)
{
    for (size_t i = 0; i < page->chain_count; i++) {
        bool finished = false, written = false;
        TRY(archive_stopped(export->source, err));
        TRY(is_finished(export->source, &page->chains[i], &finished, err));
        if (!finished)
            continue;
        if (!export->file)
            TRY(archive_file_new(export->path, &export->file, err));
        TRY(write_session(export->source, export->file, &page->chains[i], &written, err));
        export->count += written;
    }
    return RC_OK;
}

/* Makes the file only when the first finished session is found. *ret_count 0: there is no file. */
struct rc archive_export(const struct archive_source *source, int64_t until_ms, const char *path,
                         uint64_t *ret_count, struct err *err)
{
    __attribute__((cleanup(export_done))) struct export export = {.source = source, .path = path};
    for (uint64_t after = 0;;) {
        struct read *page = read_new(READ_CHAINS);
        page->after = after;
        page->until_ms = until_ms;
        struct rc rc = source->backend->read(source->reader, page, err);
        if (rc_ok(rc))
            rc = export_page(&export, page, err);
        bool end = page->chain_count == 0;
        if (!end)
            after = page->chains[page->chain_count - 1].first_seq;
        read_free(page);
        TRY(rc);
        if (end)
            break;
    }
    *ret_count = export.count;
    if (export.count)
        return archive_file_end(export.file, err);
    if (export.file)
        (void)unlink(path); /* all that was put into it has left */
    return RC_OK;
}
