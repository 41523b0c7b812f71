/* Searching the history by the full-text index: it is brought up to date by whoever searches, one at a time, in steps
 * of a read on the loop and a job of a worker. A request takes TAKEN_MAX events at most; when that is not enough, or
 * somebody else is at it, or the index fails, the answer is "not ready", and the receiver looks through the log.
 */
#include "gate/inner.h"

#include "base/log.h"

enum { TAKEN_MAX = 20000, HITS_MAX = 2000 };

static void read_next(struct history_search *search);

/* ---- on a worker ---- */

static struct rc take_read(struct history_search *search, struct err *err)
{
    bool same;
    const struct read *read = search->read;
    if (read->err.code != ERR_OK)
        return err_set(err, read->err.code, "%s", read->err.text);
    TRY(search_index_add(search->index, read->events, read->event_count, &same, err));
    search->taken += read->event_count;
    search->covered = same ? read->covered : 0;
    return RC_OK;
}

/* In a worker: opens the index, adds a page of events, and searches when nothing is missing any more. */
static struct rc go_on(struct history_search *search, struct err *err)
{
    if (!search->index)
        return search_index_open(search->op.gate->options.search_file, &search->index, err);
    TRY(take_read(search, err));
    if (search->covered < search->until)
        return RC_OK;
    TRY(search_index_find(search->index, search->op.arena, search->text, search->before, HITS_MAX, &search->hits,
                    &search->hit_count, err));
    search->ready = true;
    search->more = search->hit_count == HITS_MAX;
    return RC_OK;
}

static bool is_over(const struct history_search *search) { return search->ready || search->taken >= TAKEN_MAX; }

static void run(struct job *job)
{
    struct history_search *search = job->arg;
    if (rc_bad(go_on(search, &search->failure)) || is_over(search)) {
        search_index_close(search->index);
        search->index = NULL;
    }
}

/* ---- on the loop ---- */

static void end(struct history_search *search)
{
    search->op.gate->searching = false;
    op_end(&search->op);
}

static void job_done(struct job *job)
{
    struct history_search *search = job->arg;
    read_free(search->read);
    search->read = NULL;
    if (search->failure.code != ERR_OK)
        log_line(LOG_WARN, "the search index cannot be used", LOG_C("why", search->failure.text));
    if (search->index)
        read_next(search);
    else
        end(search);
}

static void read_done(struct read *read)
{
    struct history_search *search = read->arg;
    execute_hand_over(search->op.gate, &search->job);
}

/* Reads on from the last event in the index, that one included: it shows whether the history is still the same. */
static void read_next(struct history_search *search)
{
    uint64_t last = search_index_last(search->index);
    uint64_t kinds = (uint64_t)1 << EVENT_TOOL_CALL | (uint64_t)1 << EVENT_TOOL_APPROVAL_RESPONSE;
    search->read = read_new_of((struct read){.kind = READ_EVENTS, .kinds = kinds, .after = last ? last - 1 : 0,
                                             .limit = LIMIT_PAGE_EVENTS});
    gate_read(search->op.gate, search->read, read_done, search);
}

/* Ends at once, as not ready, when the text is too short for the index or another search is bringing it up to
 * date. */
void gate_search(struct gate *gate, struct history_search *search)
{
    CHECK(search->op.done);
    search->op.gate = gate;
    search->job = (struct job){.run = run, .done = job_done, .arg = search};
    search->until = store_last_seq(gate->store);
    size_t characters = 0;
    for (size_t i = 0; i < search->text.n; i++)
        characters += ((unsigned char)search->text.p[i] & 0xc0) != 0x80;
    if (!gate->options.search_file || gate->searching || characters < SEARCH_CHARACTERS_MIN) {
        op_end(&search->op);
        return;
    }
    gate->searching = true;
    execute_hand_over(gate, &search->job);
}
