/* One store into another: every event with its number, its time and its bytes. Its links are made anew: those of the
 * source may be of an older version.
 *
 * It goes on where the target ends, so it can be interrupted at any moment. At the end both stores are walked
 * side by side and the target is verified: what an earlier attempt has left there is looked at, too.
 */
#include "store/backend.h"

#include "base/limits.h"
#include "base/map.h"

#include <stdio.h>

/* One of the two stores of a copy. */
struct end {
    const struct backend *backend;
    const char *place;
    struct backend_handle *writer; /* held also of the source: nobody else may write meanwhile */
    struct backend_handle *reader;
};

struct copy {
    struct end from, to;
    struct arena arena;
    struct map deadlines;  /* seq of an open request, in digits → its deadline */
    uint64_t last_seq;     /* last seq of the source */
    uint64_t copied;       /* last seq that the target has so far */
    void (*progress)(void *arg, uint64_t done, uint64_t all);
    void *arg;
};

static void end_close(struct end *end)
{
    if (end->reader)
        end->backend->close(end->reader);
    if (end->writer)
        end->backend->close(end->writer);
}

static void copy_done(struct copy *copy)
{
    end_close(&copy->from);
    end_close(&copy->to);
    map_done(&copy->deadlines);
    arena_done(&copy->arena);
}

/* Opened for writing at both ends: with SQLite the lock keeps a server away while the copy runs. */
static struct rc end_open(struct end *end, const char *url, uint64_t *ret_last_seq, struct err *err)
{
    end->backend = backend_find(url, &end->place);
    if (!end->backend)
        return err_set(err, ERR_INVALID, "there is no store \"%s\": try sqlite:/path/to/nod.db or "
                       "postgres://user@host/database", url);
    TRY(end->backend->open(end->place, BACKEND_WRITER, &end->writer, err));
    TRY(end->backend->open(end->place, BACKEND_READER, &end->reader, err));
    return end->backend->last_seq(end->writer, ret_last_seq, err);
}

/* A store that sessions have left cannot be copied: their numbers could not be kept. */
static struct rc page_after(const struct end *end, uint64_t after, struct read **ret_page, struct err *err)
{
    struct read *page = read_new(READ_EVENTS);
    page->after = after;
    struct rc rc = end->backend->read(end->reader, page, err);
    if (rc_bad(rc)) {
        read_free(page);
        return rc;
    }
    if (page->gone_count) {
        uint64_t first = page->gone[0].first, last = page->gone[0].last;
        read_free(page);
        return err_set(err, ERR_INVALID, "events %llu to %llu are in archives: a store that sessions have left cannot "
                       "be copied", (unsigned long long)first, (unsigned long long)last);
    }
    *ret_page = page;
    return RC_OK;
}

/* Reads the deadlines of open requests, which are stored beside the events. */
static struct rc note_deadlines(struct copy *copy, struct err *err)
{
    struct read *read = read_new(READ_OPEN);
    struct rc rc = copy->from.backend->read(copy->from.reader, read, err);
    for (size_t i = 0; rc_ok(rc) && i < read->open_count; i++) {
        int64_t *deadline = arena_new(&copy->arena, int64_t);
        char key[24];
        int n = snprintf(key, sizeof key, "%llu", (unsigned long long)read->open[i].request.seq);
        *deadline = read->open[i].deadline_ms;
        (void)map_put(&copy->deadlines, (struct str){key, (size_t)n}, deadline);
    }
    read_free(read);
    return rc;
}

/* One append per event, without needs: the order is given, and the target has no other writer. Deadlines of
 * open approvals are no part of the event and are looked up. */
static struct append *append_of(struct copy *copy, const struct event *event)
{
    struct append *append = append_new();
    struct event fresh = *event;
    char key[24];
    int n = snprintf(key, sizeof key, "%llu", (unsigned long long)event->seq);
    const int64_t *deadline = map_get(&copy->deadlines, (struct str){key, (size_t)n});
    fresh.seq = 0;
    (void)append_event(append, fresh);
    append->deadline_ms = deadline ? *deadline : 0;
    return append;
}

/* Frees the list; fails when an event did not get its own seq. */
static struct rc settle_page(struct append *first, const struct read *page, struct rc rc, struct err *err)
{
    size_t at = 0;
    while (first) {
        struct append *append = first;
        first = append->next;
        if (rc_ok(rc) && (append->outcome != APPEND_KEPT || append->events[0].seq != page->events[at].seq))
            rc = err_set(err, ERR_CONFLICT, "event %llu cannot be copied unchanged to the target: %s",
                         (unsigned long long)page->events[at].seq,
                         append->outcome == APPEND_FAILED ? append->err.text : "another process writes to the target");
        append_free(append);
        at++;
    }
    return rc;
}

static struct rc copy_page(struct copy *copy, const struct read *page, struct err *err)
{
    struct append *first = NULL, **end = &first;
    for (size_t i = 0; i < page->event_count; i++) {
        *end = append_of(copy, &page->events[i]);
        end = &(*end)->next;
    }
    struct rc rc = copy->to.backend->commit(copy->to.writer, first, err);
    return settle_page(first, page, rc, err);
}

/* Page by page, each one commit. A copy that was interrupted goes on behind the last event of the target. */
static struct rc copy_events(struct copy *copy, struct err *err)
{
    while (copy->copied < copy->last_seq) {
        struct read *page = NULL;
        TRY(page_after(&copy->from, copy->copied, &page, err));
        struct rc rc = page->event_count ? copy_page(copy, page, err)
                                         : err_set(err, ERR_CORRUPT, "event %llu is missing in the source",
                                                   (unsigned long long)copy->copied + 1);
        if (rc_ok(rc))
            copy->copied = page->events[page->event_count - 1].seq;
        read_free(page);
        TRY(rc);
        if (copy->progress)
            copy->progress(copy->arg, copy->copied, copy->last_seq);
    }
    return RC_OK;
}

/* One hash over all events of a store, in order. */
static struct rc digest_all(const struct end *end, uint64_t last_seq, struct digest *ret_digest, struct err *err)
{
    *ret_digest = (struct digest){0};
    for (uint64_t after = 0; after < last_seq;) {
        struct read *page = NULL;
        TRY(page_after(end, after, &page, err));
        for (size_t i = 0; i < page->event_count; i++) {
            page->events[i].no = 0; /* not compared: only the rest must be equal in both stores */
            *ret_digest = chain_next(ret_digest, &page->events[i]);
        }
        uint64_t next = page->event_count ? page->events[page->event_count - 1].seq : after;
        read_free(page);
        if (next == after)
            return err_set(err, ERR_CORRUPT, "event %llu is missing", (unsigned long long)after + 1);
        after = next;
    }
    return RC_OK;
}

/* Over everything, also over what an earlier run copied. */
static struct rc compare(struct copy *copy, struct store_copied *ret_copied, struct err *err)
{
    struct digest there;
    TRY(digest_all(&copy->from, copy->last_seq, &ret_copied->digest, err));
    TRY(digest_all(&copy->to, copy->last_seq, &there, err));
    if (!digest_eq(&there, &ret_copied->digest))
        return err_set(err, ERR_CONFLICT, "the target holds other events than the source: begin with an empty one");
    TRY(copy->to.backend->verify(copy->to.place, &ret_copied->check, err));
    if (ret_copied->check.bad_seq)
        return err_set(err, ERR_CORRUPT, "the copy is not sound: event %llu: %s",
                       (unsigned long long)ret_copied->check.bad_seq, ret_copied->check.why);
    return RC_OK;
}

/* At the end all events of both are compared by a digest, and the chains of the target are verified. */
struct rc store_copy(const struct store_copying *copying, struct store_copied *ret_copied, struct err *err)
{
    __attribute__((cleanup(copy_done))) struct copy copy = {.progress = copying->progress, .arg = copying->arg};
    TRY(end_open(&copy.from, copying->from, &copy.last_seq, err));
    TRY(end_open(&copy.to, copying->to, &copy.copied, err));
    *ret_copied = (struct store_copied){.already = copy.copied};
    if (copy.copied > copy.last_seq)
        return err_set(err, ERR_CONFLICT, "the target has %llu events, the source only %llu: begin with an empty one",
                       (unsigned long long)copy.copied, (unsigned long long)copy.last_seq);
    TRY(note_deadlines(&copy, err));
    TRY(copy_events(&copy, err));
    return compare(&copy, ret_copied, err);
}
