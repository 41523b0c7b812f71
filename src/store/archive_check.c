/* The archives of a store, held against what the store says of them: `nod verify`. */
#include "store/archive_file.h"

#include "io/file.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The store's own record of one archive. */
struct named {
    struct archive_check *check;
    struct digest digest;
    struct named_session *sessions;
    struct named *next;
};

struct named_session {
    struct str session;
    struct archived archived;
    struct named_session *next;
};

/* The files that the store names, each with its sessions. */
struct checking {
    struct archive_source store;
    struct archive_checks *checks;
    struct arena arena;
    struct map by_file;
    struct named *first, **end;
    const char *folder;
};

static void checking_done(struct checking *checking)
{
    if (checking->store.reader)
        checking->store.backend->close(checking->store.reader);
    map_done(&checking->by_file);
    arena_done(&checking->arena);
}

__attribute__((format(printf, 2, 3))) static void blame(struct named *named, const char *format, ...)
{
    va_list words;
    if (named->check->why[0])
        return;
    va_start(words, format);
    (void)vsnprintf(named->check->why, sizeof named->check->why, format, words);
    va_end(words);
}

/* ---- what the store says ---- */

/* One entry for each file that a SESSION_ARCHIVED names, in the order they were met. */
static struct named *find_named(struct checking *checking, const struct archived *archived)
{
    struct named *named = map_get(&checking->by_file, archived->file);
    if (named)
        return named;
    named = arena_new(&checking->arena, struct named);
    named->check = arena_new(&checking->arena, struct archive_check);
    named->check->file = arena_str(&checking->checks->arena, archived->file);
    named->digest = archived->file_digest;
    *checking->end = named;
    checking->end = &named->next;
    checking->checks->count++;
    (void)map_put(&checking->by_file, archived->file, named);
    return named;
}

/* Collects what a SESSION_ARCHIVED says of its file. The files are read when all events were seen, each file once. */
static void take_event(struct checking *checking, const struct event *event)
{
    struct named_session *session = arena_new(&checking->arena, struct named_session);
    struct str data = arena_str(&checking->arena, event->data);
    if (!archived_parse(&checking->arena, data, &session->archived))
        return; /* store_verify says so */
    struct named *named = find_named(checking, &session->archived);
    session->session = arena_str(&checking->arena, event->session);
    session->next = named->sessions;
    named->sessions = session;
    named->check->sessions++;
    named->check->events += session->archived.events;
    if (!digest_eq(&named->digest, &session->archived.file_digest))
        blame(named, "the store knows two files of this name");
}

static struct rc read_said(struct checking *checking, struct err *err)
{
    for (uint64_t after = 0;;) {
        struct read *page;
        TRY(archive_page(&checking->store, STR_NONE, (uint64_t)1 << EVENT_SESSION_ARCHIVED, after, &page, err));
        for (size_t i = 0; i < page->event_count; i++)
            take_event(checking, &page->events[i]);
        bool end = page->event_count == 0;
        after = page->covered;
        read_free(page);
        if (end)
            return RC_OK;
    }
}

/* ---- what the file says ---- */

/* The chain in the file must end with the hash that the store has noted. */
static struct rc check_session(struct named *named, struct archive *archive, const struct named_session *session,
                               struct err *err)
{
    struct read *read = read_new(READ_CHAINS);
    read->session = arena_str(&read->arena, session->session);
    read->until_ms = INT64_MAX;
    struct rc rc = archive_read(archive, read, err);
    if (rc_ok(rc) && (read->chain_count != 1 || read->chains[0].first_seq != session->archived.first_seq ||
                      read->chains[0].last_seq != session->archived.last_seq ||
                      !digest_eq(&read->chains[0].hash, &session->archived.hash)))
        blame(named, "session %.*s does not end in it as it should", STR_ARG(session->session));
    read_free(read);
    return rc;
}

/* The end of each chain in the file must be the one that the store's event names. */
static struct rc check_sessions(struct named *named, const char *path, struct err *err)
{
    struct archive *archive;
    struct rc rc = RC_OK;
    TRY(archive_open(path, &archive, err));
    for (const struct named_session *s = named->sessions; s && rc_ok(rc); s = s->next)
        rc = check_session(named, archive, s, err);
    archive_close(archive);
    return rc;
}

/* A file that cannot be read is as bad as one that was changed. */
static void check_named(struct checking *checking, struct named *named)
{
    struct arena *arena = &checking->checks->arena;
    struct digest digest;
    struct store_check check;
    struct err err = {0};
    named->check->path = arena_printf(arena, "%s/%.*s", checking->folder, STR_ARG(named->check->file));
    const char *path = named->check->path.p;
    named->check->missing = access(path, F_OK) != 0;
    if (named->check->missing)
        return;
    struct rc rc = file_digest(path, &digest, &err);
    if (rc_ok(rc) && !digest_eq(&digest, &named->digest))
        blame(named, "its SHA-256 is not the one that the store has");
    if (rc_ok(rc))
        rc = archive_verify(path, &check, &err);
    if (rc_ok(rc) && check.bad_seq)
        blame(named, "event %llu: %s", (unsigned long long)check.bad_seq, check.why);
    if (rc_ok(rc))
        rc = check_sessions(named, path, &err);
    if (rc_bad(rc))
        blame(named, "%.250s", err.text);
}

/* A file that is missing or damaged is a finding, not an error: the others are still checked. */
struct rc store_verify_archives(const char *url, const char *folder, struct archive_checks *ret_checks,
                                struct err *err)
{
    __attribute__((cleanup(checking_done))) struct checking checking = {.checks = ret_checks, .folder = folder};
    const char *place;
    size_t at = 0;
    *ret_checks = (struct archive_checks){0};
    checking.end = &checking.first;
    checking.store.backend = backend_find(url, &place);
    if (!checking.store.backend)
        return err_set(err, ERR_INVALID, "there is no store \"%s\"", url);
    /* A store that several processes share is on a server: there is no file beside which a reader could leave files. */
    enum backend_role role = checking.store.backend->wait ? BACKEND_READER : BACKEND_GUEST;
    TRY(checking.store.backend->open(place, role, &checking.store.reader, err));
    TRY(read_said(&checking, err));
    ret_checks->items = arena_array(&ret_checks->arena, struct archive_check, ret_checks->count + 1);
    for (struct named *named = checking.first; named; named = named->next) {
        check_named(&checking, named);
        ret_checks->items[at++] = *named->check;
    }
    return RC_OK;
}
