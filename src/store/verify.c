/* The comparisons that `nod verify` makes, the same for every backend (verify.h). A backend walks its tables
 * and calls the functions here in the order that verify.h gives; the first thing that does not fit is kept as
 * the result, and later calls do nothing. One link per session is held in memory, so the walk needs memory in
 * proportion to the number of sessions. */
#include "store/verify.h"

#include "event/archived.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* The state of a session's chain after the events verified so far. */
struct chain_link {
    uint64_t first_seq, last_seq, changed_seq, archived_seq, no;
    struct digest hash;
};

void verifier_init(struct verifier *verifier, struct store_check *ret_check)
{
    *ret_check = (struct store_check){0};
    *verifier = (struct verifier){.next_seq = 1, .check = ret_check, .ungrouped_seq = UINT64_MAX};
}

void verifier_groups(struct verifier *verifier, uint64_t first_seq)
{
    static const struct digest zeros = {0};
    verifier->ungrouped_seq = first_seq;
    if (first_seq == 0)
        verifier->sum = chain_group_begin(&zeros);
}

static void forget_group(struct verifier *verifier)
{
    if (verifier->sum)
        (void)digest_sum_end(verifier->sum);
    verifier->sum = NULL;
}

void verifier_done(struct verifier *verifier)
{
    MAP_EACH(&verifier->links, each)
        free(each.value);
    map_done(&verifier->links);
    forget_group(verifier);
}

/* The first blame counts: what follows is often its consequence. */
void verifier_blame(struct verifier *verifier, int64_t seq, const char *format, ...)
{
    va_list words;
    if (verifier_blamed(verifier))
        return;
    va_start(words, format);
    verifier->check->bad_seq = seq > 0 ? (uint64_t)seq : 1;
    (void)vsnprintf(verifier->check->why, sizeof verifier->check->why, format, words);
    va_end(words);
}

bool verifier_blamed(const struct verifier *verifier) { return verifier->check->bad_seq != 0; }

/* ---- numbers of archived events ---- */

bool verifier_wants_range(const struct verifier *verifier, uint64_t seq)
{
    return !verifier->archive && !verifier_blamed(verifier) && seq > verifier->next_seq;
}

/* Ranges of archived numbers and events must fill the numbers from 1 on without a gap or an overlap. */
void verifier_range(struct verifier *verifier, struct seq_range range)
{
    if (verifier_blamed(verifier))
        return;
    if (range.first < verifier->next_seq || range.last < range.first)
        verifier_blame(verifier, (int64_t)range.first, "said to be in an archive, but the event is here");
    else if (range.first > verifier->next_seq)
        verifier_blame(verifier, (int64_t)verifier->next_seq, "the event is missing");
    verifier->gone += range.last - range.first + 1;
    if (range.last > verifier->ungrouped_seq)
        forget_group(verifier);
    verifier->next_seq = range.last + 1;
}

/* ---- events ---- */

static struct chain_link *add_link(struct verifier *verifier, const struct event *event)
{
    struct chain_link *link = heap_new(sizeof *link);
    link->first_seq = event->seq;
    CHECK(map_put(&verifier->links, event->session, link) == NULL);
    return link;
}

/* A chain that begins in an archive goes on from the hash that the event names. */
static void enter_archived(struct verifier *verifier, struct chain_link *link, const struct event *event)
{
    ARENA_SCOPE(scratch);
    struct archived archived;
    if (!archived_parse(&scratch, event->data, &archived) || archived.last_seq >= event->seq) {
        verifier_blame(verifier, (int64_t)event->seq, "the event does not say what was archived");
        return;
    }
    link->first_seq = archived.first_seq;
    link->hash = archived.hash;
    link->no = event->no ? event->no - 1 : 0;
    verifier->said_gone += archived.events;
    verifier->archived_calls += archived.calls;
    verifier->check->archived++;
}

/* The link that the session has come to; a new one begins with the first event, or with SESSION_ARCHIVED, whose
 * data says how the chain ended in the archive. */
static struct chain_link *find_link(struct verifier *verifier, const struct event *event)
{
    struct chain_link *link = map_get(&verifier->links, event->session);
    if (link && (link->archived_seq || event->kind == EVENT_SESSION_ARCHIVED))
        verifier_blame(verifier, (int64_t)event->seq, "an archived session has more than its last event here");
    if (link)
        return link;
    link = add_link(verifier, event);
    if (event->kind == EVENT_SESSION_ARCHIVED)
        enter_archived(verifier, link, event);
    return link;
}

/* Whether the columns that are there to find an event say what the event says. */
static bool filed_well(const struct filed_event *filed, const struct chain_link *link)
{
    const struct event *event = &filed->event;
    bool of_call = event_kind_of_call(event->kind);
    bool about_call = of_call && event->kind != EVENT_TOOL_CALL;
    return filed->chain == (int64_t)link->first_seq && (filed->call_seq != 0) == about_call &&
           of_call == !str_empty(event->call);
}

static void add_to_link(struct chain_link *link, const struct event *event, const struct digest *hash)
{
    link->hash = *hash;
    link->no = event->no;
    link->last_seq = event->seq;
    if (event->kind == EVENT_SESSION_CHANGED || event->kind == EVENT_SESSION_ARCHIVED)
        link->changed_seq = event->seq;
    if (event->kind == EVENT_SESSION_ARCHIVED)
        link->archived_seq = event->seq;
}

/* A group's last event brings its link. The first link of all is zeros: it says where groups begin. Of a group of which
 * some events are in archives, the link is taken as it stands: the next one must follow it. */
static void check_group(struct verifier *verifier, const struct filed_event *filed)
{
    struct digest should = {0};
    uint64_t seq = filed->event.seq;
    if (verifier->sum && seq > verifier->ungrouped_seq)
        chain_group_add(verifier->sum, filed->hash);
    if (!filed->group)
        return;
    bool known = verifier->sum || seq <= verifier->ungrouped_seq;
    if (verifier->sum)
        should = chain_group_end(verifier->sum, seq);
    verifier->sum = chain_group_begin(filed->group);
    if (known && !digest_eq(&should, filed->group))
        verifier_blame(verifier, (int64_t)seq, "the group of events that ends here is not what was written");
}

/* Recomputes the link from the event's bytes and compares it with the stored one; then whether the columns by
 * which the event is found say the same as the event. */
void verifier_event(struct verifier *verifier, const struct filed_event *filed)
{
    const struct event *event = &filed->event;
    if (verifier_blamed(verifier))
        return;
    if (event->seq != verifier->next_seq && !(verifier->archive && event->seq > verifier->next_seq)) {
        verifier_blame(verifier, (int64_t)verifier->next_seq, "the event is missing");
        return;
    }
    struct chain_link *link = find_link(verifier, event);
    struct digest should = chain_next(&link->hash, event);
    bool in_turn = event->no == (link->no || event->no ? link->no + 1 : 0);
    if (!filed->hash || !in_turn || !digest_eq(filed->hash, &should))
        verifier_blame(verifier, (int64_t)event->seq,
                       "the event, or one before it in its session, is not what was written");
    else if (!filed_well(filed, link))
        verifier_blame(verifier, (int64_t)event->seq, "the event is filed under another session or call");
    if (verifier_blamed(verifier))
        return;
    check_group(verifier, filed);
    add_to_link(link, event, filed->hash);
    verifier->next_seq = event->seq + 1;
    verifier->check->events++;
}

/* A session that was taken away as a whole leaves no broken chain behind, only numbers. */
void verifier_events_end(struct verifier *verifier, uint64_t last_seq)
{
    uint64_t end = verifier->next_seq - 1;
    bool grouped = verifier->ungrouped_seq != UINT64_MAX;
    if (grouped && last_seq > end)
        verifier_blame(verifier, (int64_t)end + 1, "the end is missing: events %llu to %llu were cut off",
                       (unsigned long long)end + 1, (unsigned long long)last_seq);
    else if (grouped && last_seq < end)
        verifier_blame(verifier, (int64_t)last_seq + 1, "the event is of no group: it was added past Nod");
    if (verifier->gone != verifier->said_gone)
        verifier_blame(verifier, (int64_t)verifier->next_seq - 1,
                       "%llu events are said to be in archives, but %llu were archived",
                       (unsigned long long)verifier->gone, (unsigned long long)verifier->said_gone);
}

/* ---- heads ---- */

/* The table of chain ends is made from the events and must agree with them. */
void verifier_head(struct verifier *verifier, const struct filed_head *filed)
{
    const struct chain_link *link = map_get(&verifier->links, filed->session);
    if (!link || filed->last_seq > link->last_seq)
        verifier_blame(verifier, (int64_t)filed->last_seq,
                       "the event is missing, and with it the end of its session's chain");
    else if (filed->first_seq != link->first_seq || filed->last_seq != link->last_seq ||
             filed->changed_seq != link->changed_seq || filed->archived_seq != link->archived_seq ||
             filed->no != link->no || !filed->hash || !digest_eq(filed->hash, &link->hash))
        verifier_blame(verifier, (int64_t)link->last_seq, "the chain of its session does not end as it should");
    verifier->check->sessions += !str_empty(filed->session);
}

void verifier_heads_end(struct verifier *verifier, uint64_t count)
{
    if (count != verifier->links.count)
        verifier_blame(verifier, (int64_t)verifier->next_seq - 1, "a chain has no head");
}
