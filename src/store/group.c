/* One group of appends on any backend: name what it depends on, recall or load it, judge, write, remember.
 *
 * Runs in whichever thread owns the writer's handle. The first attempt trusts the memory (memory.h); if the
 * backend finds that another process has written meanwhile, it writes nothing, and a second attempt loads
 * everything under the backend's lock. `ways` are the three functions of the backend (group.h).
 */
#include "store/group.h"

#include "base/heap.h"
#include "store/backend.h"

#include <stdlib.h>

#define FACTS_SCOPE(name) __attribute__((cleanup(facts_done))) struct facts name = {0}

/* Whether memory holds every fact that the group needs. Calls that are not in it are assumed to be new; the write
 * fails if that is wrong. */
static bool is_all_known(struct facts *facts)
{
    if (facts->first_run || facts->leaves)
        return false;
    for (const struct fact_head *head = facts->first_head; head; head = head->next)
        if (!head->known)
            return false;
    for (struct fact_call *call = facts->first_call; call; call = call->next)
        call->assumed = !call->known;
    return true;
}

/* False when memory does not know enough or when an append of the group would be refused: a refusal must rest on what
 * the store says now. */
bool group_judge_remembered(struct memory *memory, struct append *group, struct facts *facts, struct rows *ret_rows)
{
    facts_name(facts, group);
    if (!memory_recall(memory, facts) || !is_all_known(facts))
        return false;
    judge_group(facts, group, ret_rows);
    return ret_rows->whole;
}

struct rc group_commit_remembered(const struct group_ways *ways, struct backend_handle *handle, struct memory *memory,
                                  struct append *group, bool *ret_tried, bool *ret_kept, struct err *err)
{
    FACTS_SCOPE(facts);
    struct rows rows;
    *ret_kept = false;
    *ret_tried = group_judge_remembered(memory, group, &facts, &rows);
    if (!*ret_tried)
        return RC_OK;
    TRY(ways->write(handle, &facts, &rows, ret_kept, err));
    if (*ret_kept)
        memory_keep(memory, &facts);
    return RC_OK;
}

static bool any_assumed(const struct facts *facts)
{
    const struct fact_call *call = facts->first_call;
    while (call && !call->assumed)
        call = call->next;
    return call != NULL;
}

/* *ret_held false: an assumption may be wrong, or another process was faster. */
static struct rc try_group(const struct group_ways *ways, struct backend_handle *handle, struct memory *memory,
                           struct append *group, bool all, bool *ret_held, struct err *err)
{
    FACTS_SCOPE(facts);
    struct rows rows;
    facts_name(&facts, group);
    if (!ways->shared && !all)
        (void)memory_recall(memory, &facts);
    TRY(ways->load(handle, &facts, all, err));
    judge_group(&facts, group, &rows);
    *ret_held = rows.whole || !any_assumed(&facts);
    if (!*ret_held)
        return RC_OK;
    if (rows.count == 0)
        TRY(ways->abandon(handle, err));
    else
        TRY(ways->write(handle, &facts, &rows, ret_held, err));
    if (*ret_held)
        memory_keep(memory, &facts);
    return RC_OK;
}

/* Two attempts: with the facts in memory, then, if these were out of date, with all facts read from the database under
 * its lock. If they are out of date again, another program writes without the lock. */
struct rc group_commit(const struct group_ways *ways, struct backend_handle *handle, struct memory *memory,
                       struct append *group, struct err *err)
{
    bool held;
    TRY(try_group(ways, handle, memory, group, false, &held, err));
    if (!held)
        TRY(try_group(ways, handle, memory, group, true, &held, err));
    return held ? RC_OK : err_set(err, ERR_CORRUPT, "somebody wrote to the store without its lock");
}

/* After a group failed as a whole because of one faulty append: each by itself, so that only that one fails. */
struct rc group_commit_each(struct backend_handle *handle, struct append *group,
                            struct rc (*commit)(struct backend_handle *handle, struct append *group, struct err *err))
{
    for (struct append *append = group; append; append = append->next) {
        struct append *next = append->next;
        struct err err = {0};
        append->next = NULL;
        struct rc rc = commit(handle, append, &err);
        append->next = next;
        if (rc_ok(rc))
            continue;
        append->outcome = APPEND_FAILED;
        append->err = err;
        for (unsigned i = 0; i < append->event_count; i++)
            append->events[i].seq = 0;
    }
    return RC_OK;
}

/* ---- a group whose answer is lost ---- */

void group_forget_sent(struct group_sent *sent)
{
    free(sent->links);
    *sent = (struct group_sent){0};
}

void group_note_sent(struct group_sent *sent, const struct facts *facts, const struct rows *rows)
{
    group_forget_sent(sent);
    *sent = (struct group_sent){.after = facts->last_seq, .count = rows->count,
                                .links = heap_new(rows->count * sizeof *sent->links)};
    for (size_t i = 0; i < rows->count; i++)
        sent->links[i] = rows->events[i].hash;
}

/* Compares all links, not only the last: another node may have kept an equal event, such as the timeout of the same
 * call in the same millisecond. A group of another node that is equal as a whole says the same of the same calls. */
bool group_is_sent(const struct group_sent *sent, uint64_t last_seq, const struct digest *before,
                   const struct digest *hash)
{
    struct digest_sum *sum = chain_group_begin(before);
    for (size_t i = 0; i < sent->count; i++)
        chain_group_add(sum, &sent->links[i]);
    struct digest same = chain_group_end(sum, last_seq);
    return last_seq >= sent->after + sent->count && digest_eq(&same, hash);
}
