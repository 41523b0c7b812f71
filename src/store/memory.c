/* Facts that the writer remembers between groups: the heads of sessions and the events of calls, as of one seq.
 *
 * One memory per place in a process, shared by all handles on it, under its own lock. It is never the truth:
 * whatever it says is checked by the backend when the group is written (SQLite notices commits of others,
 * PostgreSQL compares the heads). It is forgotten as a whole when something does not fit, when a session leaves
 * for an archive, and when it grows beyond its bound.
 */
#include "store/memory.h"

#include "base/small.h"
#include "store/monitor.h"

#include <pthread.h>
#include <stdlib.h>

enum { HEADS_MOST = 8192, CALLS_MOST = 16384, KEPT_AT_REST = 1024 };

struct known_head {
    uint64_t first_seq, last_seq, changed_seq, no;
    uint64_t life; /* a number that no other head has had */
    struct digest hash;
};

/* The kinds of events that belong to a call. Memory may hold very many calls, so each keeps an array of these only. */
static const enum event_kind call_kinds[MEMORY_CALL_KINDS] = {
    EVENT_TOOL_CALL,    EVENT_TOOL_APPROVAL_REQUEST, EVENT_TOOL_APPROVAL_RESPONSE,
    EVENT_TOOL_STARTED, EVENT_TOOL_RESULT,           EVENT_TOOL_APPROVAL_ALERT,
};

struct known_call {
    uint64_t life; /* `life` of its session when it was remembered; with another one it does not count */
    uint64_t seqs[MEMORY_CALL_KINDS];
};

/* The facts about one place; found by its name, so that two handles of a process share them. */
struct memory {
    char *place;
    unsigned handles;     /* reference count, guarded by memories_lock */
    struct memory *next;
    pthread_mutex_t lock;
    uint64_t seq;         /* facts that are in here include all events up to this one; 0: nothing is known */
    uint64_t known_after; /* the sessions and calls of all events after this one are known */
    uint64_t lives;       /* counts: the last number that became a known_head.life */
    struct anchor last;   /* stays when the rest is forgotten */
    uint64_t durable_seq; /* stays, too */
    uint64_t broken_seq;  /* history has gone backwards before this event; 0: it has not */
    struct map heads;     /* session → struct known_head */
    struct map calls;     /* "session\ncall" → struct known_call */
};

static pthread_mutex_t memories_lock = PTHREAD_MUTEX_INITIALIZER;
static struct memory *memories;

/* The memory of this place; made at the first handle. memory_close frees it with the last one. */
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

static void free_all(struct map *map, size_t bytes)
{
    MAP_EACH(map, each)
        small_free(each.value, bytes);
    map_done(map);
}

static void forget(struct memory *memory)
{
    free_all(&memory->heads, sizeof(struct known_head));
    free_all(&memory->calls, sizeof(struct known_call));
    memory->seq = 0;
}

void memory_clear(struct memory *memory)
{
    lock(&memory->lock);
    forget(memory);
    unlock(&memory->lock);
}

void memory_rest(struct memory *memory)
{
    lock(&memory->lock);
    if (memory->heads.count > KEPT_AT_REST || memory->calls.count > KEPT_AT_REST)
        forget(memory);
    unlock(&memory->lock);
}

/* Handles of one store share a memory; the last one frees it. */
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

void memory_note_durable(struct memory *memory, uint64_t seq)
{
    lock(&memory->lock);
    if (seq > memory->durable_seq)
        memory->durable_seq = seq;
    unlock(&memory->lock);
}

uint64_t memory_durable(struct memory *memory)
{
    lock(&memory->lock);
    uint64_t seq = memory->durable_seq;
    unlock(&memory->lock);
    return seq;
}

struct anchor memory_anchor(struct memory *memory)
{
    lock(&memory->lock);
    struct anchor last = memory->last;
    unlock(&memory->lock);
    return last;
}

/* For good: a store whose history has changed under a running process is not read or written by it again,
 * because its views and those who follow it were told events that are gone. */
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

static void recall_heads(struct memory *memory, struct facts *facts)
{
    for (struct fact_head *head = facts->first_head; head; head = head->next) {
        const struct known_head *known = map_get_hashed(&memory->heads, head->session, head->key_hash);
        if (!known)
            continue;
        head->first_seq = known->first_seq;
        head->last_seq = known->last_seq;
        head->changed_seq = known->changed_seq;
        head->no = known->no;
        head->hash = known->hash;
        head->known = head->stored = true;
    }
}

/* Fills in the calls that are remembered. A session's `life` changes when its chain is read from the store again:
 * calls remembered before that do not count, and a call that is missing here may still exist. */
static void recall_calls(struct memory *memory, struct facts *facts)
{
    for (struct fact_call *call = facts->first_call; call; call = call->next) {
        const struct known_call *known = map_get_hashed(&memory->calls, call->key, call->key_hash);
        if (!known)
            continue;
        const struct known_head *head = map_get_hashed(&memory->heads, call->session, call->head->key_hash);
        if (!head || head->life != known->life) {
            facts->known_after = UINT64_MAX;
            continue;
        }
        for (int i = 0; i < MEMORY_CALL_KINDS; i++)
            call->seqs[call_kinds[i]] = known->seqs[i];
        call->known = true;
    }
}

/* False: nothing is remembered, and the backend must load everything. */
bool memory_recall(struct memory *memory, struct facts *facts)
{
    lock(&memory->lock);
    facts->recalled = memory->seq != 0;
    if (facts->recalled) {
        facts->last_seq = memory->last.seq;
        facts->last_hash = memory->last.hash;
        facts->known_after = memory->known_after;
        recall_heads(memory, facts);
        recall_calls(memory, facts);
    }
    unlock(&memory->lock);
    return facts->recalled;
}

/* False: the memory does not reach as far as this reader's view of the store, and the store must be asked. */
bool memory_find_call(struct memory *memory, struct str session, struct str call, uint64_t last_seq,
                      uint64_t ret_seqs[MEMORY_CALL_KINDS], size_t *ret_count, uint64_t *ret_known_after)
{
    ARENA_SCOPE(scratch);
    struct str key = facts_pair(&scratch, session, call);
    *ret_count = 0;
    lock(&memory->lock);
    const struct known_call *known = map_get(&memory->calls, key);
    const struct known_head *head = known ? map_get(&memory->heads, session) : NULL;
    bool sure = memory->seq >= last_seq && memory->seq != 0 && (!known || (head && head->life == known->life));
    *ret_known_after = memory->known_after;
    for (int i = 0; sure && known && i < MEMORY_CALL_KINDS; i++)
        if (known->seqs[i])
            ret_seqs[(*ret_count)++] = known->seqs[i];
    unlock(&memory->lock);
    return sure;
}

/* ---- adding facts ---- */

static void *put(struct map *map, struct str key, uint64_t hash, size_t bytes)
{
    void *value = map_get_hashed(map, key, hash);
    if (!value) {
        value = small_new(bytes);
        CHECK(map_put_hashed(map, key, hash, value) == NULL);
    }
    return value;
}

static void keep_within_bounds(struct memory *memory)
{
    uint64_t seq = memory->seq;
    if (memory->heads.count <= HEADS_MOST && memory->calls.count <= CALLS_MOST)
        return;
    forget(memory);
    memory->seq = memory->known_after = seq;
}

/* Remembers the head of a session, unless the follower has already seen later events of it. */
static void keep_head(struct memory *memory, const struct fact_head *head)
{
    struct known_head *known = put(&memory->heads, head->session, head->key_hash, sizeof *known);
    if (known->last_seq > head->last_seq)
        return; /* what came after this group was followed already */
    bool next = digest_eq(&known->hash, &head->hash_before) || digest_eq(&known->hash, &head->hash);
    *known = (struct known_head){head->first_seq, head->last_seq, head->changed_seq, head->no,
                                 next && known->life ? known->life : ++memory->lives, head->hash};
}

/* Only together with the head it was judged with. */
static void keep_call(struct memory *memory, const struct fact_call *call)
{
    const struct known_head *now = map_get_hashed(&memory->heads, call->session, call->head->key_hash);
    if (!now || !digest_eq(&now->hash, &call->head->hash))
        return;
    struct known_call *known = put(&memory->calls, call->key, call->key_hash, sizeof *known);
    known->life = now->life;
    for (int i = 0; i < MEMORY_CALL_KINDS; i++)
        known->seqs[i] = call->seqs[call_kinds[i]];
}

/* Called after the commit. A session that has left into an archive is not kept. */
static void keep_facts(struct memory *memory, const struct facts *facts)
{
    for (const struct fact_head *head = facts->first_head; head; head = head->next)
        if (head->first_seq && !head->archived_seq) /* else it does not exist, or has left */
            keep_head(memory, head);
    for (const struct fact_call *call = facts->first_call; call; call = call->next)
        if (call->seqs[EVENT_TOOL_CALL])
            keep_call(memory, call);
}

/* After a group was kept: its facts are those of the store now. */
void memory_keep(struct memory *memory, struct facts *facts)
{
    uint64_t last_seq = facts->next_seq - 1;
    lock(&memory->lock);
    if (memory->seq == 0)
        memory->known_after = facts->last_seq;
    keep_facts(memory, facts);
    if (memory->seq == 0 || memory->seq == facts->last_seq)
        memory->seq = last_seq; /* else what others kept before this group is still to be followed */
    go_forward(memory, last_seq, &facts->next_hash);
    if (facts->leaves)
        forget(memory);
    keep_within_bounds(memory);
    unlock(&memory->lock);
}

static void follow_call(struct memory *memory, const struct event *event, uint64_t life)
{
    ARENA_SCOPE(scratch);
    struct str key = facts_pair(&scratch, event->session, event->call);
    struct known_call *call = event->kind == EVENT_TOOL_CALL ? put(&memory->calls, key, map_hash(key), sizeof *call)
                                                             : map_get(&memory->calls, key);
    if (call && event->kind == EVENT_TOOL_CALL)
        *call = (struct known_call){.life = life};
    for (int i = 0; call && i < MEMORY_CALL_KINDS; i++)
        if (call_kinds[i] == event->kind)
            call->seqs[i] = event->seq;
}

/* The next event of a session that is in here, or its first. */
static void follow_session(struct memory *memory, const struct event *event, uint64_t chain, const struct digest *hash)
{
    uint64_t key_hash = map_hash(event->session);
    struct known_head *head = event->seq == chain ? put(&memory->heads, event->session, key_hash, sizeof *head)
                                                  : map_get_hashed(&memory->heads, event->session, key_hash);
    if (!head || event->seq <= head->last_seq)
        return; /* the session is not remembered, or our own group has brought this event already */
    if (head->life && event->no != head->no + 1) {
        small_free(map_take(&memory->heads, event->session), sizeof *head);
        return;
    }
    if (head->life == 0)
        head->life = ++memory->lives;
    head->first_seq = chain;
    head->last_seq = event->seq;
    head->no = event->no;
    head->hash = *hash;
    if (event->kind == EVENT_SESSION_CHANGED)
        head->changed_seq = event->seq;
    if (event_kind_of_call(event->kind))
        follow_call(memory, event, head->life);
}

/* An event that any process kept, in the order of seq. A gap means that something was missed: then all is
 * forgotten. */
static void follow_event(struct memory *memory, const struct event *event, uint64_t chain, const struct digest *hash)
{
    if (event->seq != memory->seq + 1 || event->kind == EVENT_SESSION_ARCHIVED)
        forget(memory);
    if (event->kind != EVENT_SESSION_ARCHIVED)
        follow_session(memory, event, chain, hash);
    memory->seq = memory->known_after = event->seq; /* its session may not be remembered, so not all calls are known */
    go_forward(memory, event->seq, hash);
}

void memory_follow(struct memory *memory, const struct event *event, uint64_t chain, const struct digest *hash)
{
    lock(&memory->lock);
    if (event->seq > memory->seq)
        follow_event(memory, event, chain, hash);
    keep_within_bounds(memory);
    unlock(&memory->lock);
}
