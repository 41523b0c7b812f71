/* What the writer remembers, so that it need not ask again: the store as it was at one seq.
 *
 * A group that is about nothing else goes out in one round trip, on condition that this seq is still the last one.
 * One number guards all of it, because nothing changes without an event. The writer adds its own groups; whoever
 * reads all events adds those of others, in the order of seq. The handles of one place share one.
 *
 * 1. All that is in here was true at `seq`. What cannot be followed without a gap empties it.
 * 2. A session is in here with its whole head, a call with all of its events, or not at all.
 * 3. It is bounded: when it is full it is emptied, and fills again with what is asked for.
 */
#include "store/postgres_group.h"

#include "store/door.h"

#include <pthread.h>
#include <stdlib.h>

enum { HEADS_MOST = 8192, CALLS_MOST = 16384 };

struct known_head {
    uint64_t first_seq, last_seq, changed_seq;
    struct digest hash;
};

struct known_call {
    uint64_t seqs[EVENT_KIND_END];
};

struct memory {
    char *place;
    unsigned handles;     /* with memories_lock */
    struct memory *next;
    pthread_mutex_t lock;
    uint64_t seq;         /* 0: nothing is known */
    struct anchor last;   /* stays when the rest is forgotten */
    uint64_t broken_seq;  /* history has gone backwards before this event; 0: it has not */
    struct map heads;     /* session → struct known_head */
    struct map calls;     /* "session\ncall" → struct known_call */
};

static pthread_mutex_t memories_lock = PTHREAD_MUTEX_INITIALIZER;
static struct memory *memories;

struct memory *memory_open(const char *place)
{
    lock(&memories_lock);
    struct memory *memory = memories;
    while (memory && strcmp(memory->place, place) != 0)
        memory = memory->next;
    if (!memory) {
        size_t bytes = strlen(place) + 1;
        memory = heap_new(sizeof *memory);
        memory->place = memcpy(heap_new(bytes), place, bytes);
        CHECK(pthread_mutex_init(&memory->lock, NULL) == 0);
        memory->next = memories;
        memories = memory;
    }
    memory->handles++;
    unlock(&memories_lock);
    return memory;
}

static void forget(struct memory *memory)
{
    map_free_values(&memory->heads);
    map_free_values(&memory->calls);
    memory->seq = 0;
}

void memory_clear(struct memory *memory)
{
    lock(&memory->lock);
    forget(memory);
    unlock(&memory->lock);
}

void memory_close(struct memory *memory)
{
    lock(&memories_lock);
    bool last = --memory->handles == 0;
    struct memory **link = &memories;
    while (last && *link != memory)
        link = &(*link)->next;
    if (last)
        *link = memory->next;
    unlock(&memories_lock);
    if (!last)
        return;
    forget(memory);
    CHECK(pthread_mutex_destroy(&memory->lock) == 0);
    free(memory->place);
    free(memory);
}

/* ---- the last event ---- */

static void go_forward(struct memory *memory, uint64_t seq, const struct digest *hash)
{
    if (seq > memory->last.seq)
        memory->last = (struct anchor){seq, *hash};
}

void memory_meet(struct memory *memory, const struct anchor *last)
{
    lock(&memory->lock);
    go_forward(memory, last->seq, &last->hash);
    unlock(&memory->lock);
}

struct anchor memory_anchor(struct memory *memory)
{
    lock(&memory->lock);
    struct anchor last = memory->last;
    unlock(&memory->lock);
    return last;
}

struct rc memory_break(struct memory *memory, uint64_t seq, struct err *err)
{
    lock(&memory->lock);
    if (memory->broken_seq == 0)
        memory->broken_seq = seq;
    forget(memory);
    unlock(&memory->lock);
    return memory_check(memory, err);
}

struct rc memory_check(struct memory *memory, struct err *err)
{
    lock(&memory->lock);
    uint64_t seq = memory->broken_seq;
    unlock(&memory->lock);
    if (seq == 0)
        return RC_OK;
    return err_set(err, ERR_HISTORY, "the history of the store has changed: event %llu is gone or is another one, as "
                   "after a restored backup or a promoted standby that lacked it", (unsigned long long)seq);
}

/* ---- out of it ---- */

static bool recall_heads(struct memory *memory, struct group *group)
{
    for (struct group_head *head = group->first_head; head; head = head->next) {
        const struct known_head *known = map_get(&memory->heads, head->session);
        if (!known)
            return false;
        head->first_seq = known->first_seq;
        head->last_seq = known->last_seq;
        head->changed_seq = known->changed_seq;
        head->hash = known->hash;
    }
    return true;
}

bool memory_recall(struct memory *memory, struct group *group)
{
    if (group->first_run || group->any_leaves)
        return false;
    lock(&memory->lock);
    bool all = memory->seq != 0 && recall_heads(memory, group);
    size_t at = 0;
    struct str key;
    void *call;
    while (all && map_next(&group->calls, &at, &key, &call)) {
        const struct known_call *known = map_get(&memory->calls, key);
        ((struct group_call *)call)->assumed = !known;
        if (known)
            memcpy(((struct group_call *)call)->seqs, known->seqs, sizeof known->seqs);
    }
    group->first_seq = group->next_seq = memory->seq + 1;
    group->hash_before = group->hash_last = memory->last.hash;
    all = all && memory->last.seq == memory->seq;
    unlock(&memory->lock);
    return all;
}

/* ---- into it ---- */

static void *put(struct map *map, struct str key, size_t bytes)
{
    void *value = map_get(map, key);
    if (!value) {
        value = heap_new(bytes);
        CHECK(map_put(map, key, value) == NULL);
    }
    return value;
}

static void keep_within_bounds(struct memory *memory)
{
    uint64_t seq = memory->seq;
    if (memory->heads.count <= HEADS_MOST && memory->calls.count <= CALLS_MOST)
        return;
    forget(memory);
    memory->seq = seq;
}

static void keep_group(struct memory *memory, const struct group *group)
{
    size_t at = 0;
    struct str key;
    void *value;
    for (const struct group_head *head = group->first_head; head; head = head->next) {
        if (head->first_seq == 0)
            continue; /* a session that does not exist */
        struct known_head *known = put(&memory->heads, head->session, sizeof *known);
        *known = (struct known_head){head->first_seq, head->last_seq, head->changed_seq, head->hash};
    }
    while (map_next(&group->calls, &at, &key, &value)) {
        const struct group_call *call = value;
        if (call->seqs[EVENT_TOOL_CALL])
            memcpy(((struct known_call *)put(&memory->calls, key, sizeof(struct known_call)))->seqs, call->seqs,
                   sizeof call->seqs);
    }
}

void memory_keep(struct memory *memory, const struct group *group)
{
    bool leaves = group->any_leaves;
    for (const struct group_head *head = group->first_head; head; head = head->next)
        leaves = leaves || head->archived_seq;
    lock(&memory->lock);
    if (memory->seq != group->first_seq - 1 && memory->seq < group->next_seq - 1)
        forget(memory);
    if (memory->seq < group->next_seq - 1 || memory->seq == group->first_seq - 1) {
        keep_group(memory, group);
        memory->seq = group->next_seq - 1;
    }
    go_forward(memory, group->next_seq - 1, &group->hash_last);
    if (leaves)
        forget(memory);
    keep_within_bounds(memory);
    unlock(&memory->lock);
}

static void follow_call(struct memory *memory, const struct event *event)
{
    ARENA_SCOPE(scratch);
    struct str key = arena_printf(&scratch, "%.*s\n%.*s", STR_ARG(event->session), STR_ARG(event->call));
    struct known_call *call = event->kind == EVENT_TOOL_CALL ? put(&memory->calls, key, sizeof *call)
                                                             : map_get(&memory->calls, key);
    if (call)
        call->seqs[event->kind] = event->seq;
}

static void follow_event(struct memory *memory, const struct event *event, uint64_t chain, const struct digest *hash)
{
    if (event->seq != memory->seq + 1 || event->kind == EVENT_SESSION_ARCHIVED)
        forget(memory);
    struct known_head *head = event->seq == chain ? put(&memory->heads, event->session, sizeof *head)
                                                  : map_get(&memory->heads, event->session);
    if (head && event->kind != EVENT_SESSION_ARCHIVED) {
        head->first_seq = chain;
        head->last_seq = event->seq;
        head->hash = *hash;
        if (event->kind == EVENT_SESSION_CHANGED)
            head->changed_seq = event->seq;
    }
    if (event_kind_of_call(event->kind))
        follow_call(memory, event);
    memory->seq = event->seq;
    go_forward(memory, event->seq, hash);
}

struct rc memory_follow(struct memory *memory, const PGresult *rows, int first, struct err *err)
{
    struct rc rc = RC_OK;
    lock(&memory->lock);
    for (int i = first, count = pq.PQntuples(rows); i < count && rc_ok(rc); i++) {
        struct event event;
        struct digest hash;
        rc = row_event(rows, i, 0, &event, err);
        if (rc_ok(rc) && !row_digest(rows, i, EVENT_COLUMN_COUNT, &hash))
            rc = err_set(err, ERR_CORRUPT, "event %llu has no proper link", (unsigned long long)event.seq);
        if (rc_ok(rc) && event.seq > memory->seq)
            follow_event(memory, &event, (uint64_t)row_int(rows, i, EVENT_COLUMN_COUNT + 1), &hash);
    }
    keep_within_bounds(memory);
    unlock(&memory->lock);
    return rc;
}
