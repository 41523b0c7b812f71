/* Reads every event of a store while another process may write to it. */
#include "store/archive_file.h"

#include "event/read.h"

static void source_done(struct archive_source *source)
{
    if (source->reader)
        source->backend->close(source->reader);
}

/* In order of seq, by pages, from any thread that may block. Events that are appended during the walk are
 * visited, too. */
struct rc store_each_event(const char *url, uint64_t kinds, store_visit visit, void *arg, struct err *err)
{
    __attribute__((cleanup(source_done))) struct archive_source source = {0};
    const char *place;
    source.backend = backend_find(url, &place);
    if (!source.backend)
        return err_set(err, ERR_INVALID, "there is no store \"%s\"", url);
    /* BACKEND_GUEST makes no files beside the store (-wal, -shm). A database server, which has a `wait`, has no such
     * role. */
    enum backend_role role = source.backend->wait ? BACKEND_READER : BACKEND_GUEST;
    TRY(source.backend->open(place, role, &source.reader, err));
    struct rc rc = RC_OK;
    for (uint64_t after = 0;;) {
        struct read *page;
        TRY(archive_page(&source, STR_NONE, kinds, after, &page, err));
        for (size_t i = 0; i < page->event_count && rc_ok(rc); i++)
            rc = visit(arg, &page->events[i], err);
        bool end = page->event_count == 0;
        after = page->covered;
        read_free(page);
        if (end || rc_bad(rc))
            return rc;
    }
}
