/* Decides about a group of appends: whether the needs of each hold, which numbers its events get, how its
 * sessions' chains go on (judge.h has the types). Pure: no clock, no database, no lock. The facts about
 * sessions, calls and runs are in struct facts; a backend fills them in, or the memory does.
 *
 * Appends of a group are judged one after the other against the facts as the ones before have left them, so
 * that two answers to one call in one group are one kept and one refused.
 */
#include "store/judge.h"

#include "store/backend.h"

/* ---- the facts that a group needs ---- */

void facts_done(struct facts *facts)
{
    map_done(&facts->runs);
    arena_done(&facts->arena);
}

struct str facts_pair(struct arena *arena, struct str a, struct str b)
{
    char *bytes = arena_bytes(arena, a.n + 1 + b.n);
    if (a.n)
        memcpy(bytes, a.p, a.n);
    bytes[a.n] = '\n';
    if (b.n)
        memcpy(bytes + a.n + 1, b.p, b.n);
    return (struct str){bytes, a.n + 1 + b.n};
}

/* A group mostly concerns one session and one call: short lists are searched linearly, longer ones by a hash table. */
enum { FEW = 8, BUCKETS = 128 };

/* The texts of an append mostly are the same bytes. */
static bool same(struct str a, struct str b) { return (a.p == b.p && a.n == b.n) || str_eq(a, b); }

static void put_in_bucket(struct fact_head **heads, struct fact_head *head)
{
    struct fact_head **bucket = &heads[head->key_hash % BUCKETS];
    head->next_in_bucket = *bucket;
    *bucket = head;
}

/* The table is made when there are more than FEW. It lives in the arena, as the facts do. */
static struct fact_head *add_head(struct facts *facts, struct str session, uint64_t key_hash)
{
    struct fact_head *head = arena_new(&facts->arena, struct fact_head);
    head->session = session;
    head->key_hash = key_hash;
    *facts->end_head = head;
    facts->end_head = &head->next;
    facts->head_count++;
    if (facts->heads) {
        put_in_bucket(facts->heads, head);
    } else if (facts->head_count > FEW) {
        facts->heads = arena_array(&facts->arena, struct fact_head *, BUCKETS);
        for (struct fact_head *each = facts->first_head; each; each = each->next)
            put_in_bucket(facts->heads, each);
    }
    return head;
}

static struct fact_head *find_or_add_head(struct facts *facts, struct str session)
{
    uint64_t key_hash = facts->heads ? map_hash(session) : 0;
    struct fact_head *head = facts->heads ? facts->heads[key_hash % BUCKETS] : facts->first_head;
    while (head && !((!facts->heads || head->key_hash == key_hash) && str_eq(head->session, session)))
        head = facts->heads ? head->next_in_bucket : head->next;
    return head ? head : add_head(facts, session, facts->heads ? key_hash : map_hash(session));
}

/* The fact about a session; added as not known when the group has not named it before. Like facts_call; every append
 * looks the installation up between two of a session. */
struct fact_head *facts_head(struct facts *facts, struct str session)
{
    struct fact_head *recent = facts->recent_head, *next = recent && recent->next ? recent->next : facts->first_head;
    if (session.n == 0)
        return facts->installation ? facts->installation
                                   : (facts->installation = find_or_add_head(facts, session));
    if (recent && same(recent->session, session))
        return recent;
    facts->recent_head = next && same(next->session, session) ? next : find_or_add_head(facts, session);
    return facts->recent_head;
}

static struct fact_call *find_call(const struct facts *facts, struct str session, struct str call, uint64_t key_hash)
{
    struct fact_call *found = facts->calls ? facts->calls[key_hash % BUCKETS] : facts->first_call;
    while (found && !(found->key_hash == key_hash && str_eq(found->call, call) && str_eq(found->session, session)))
        found = facts->calls ? found->next_in_bucket : found->next;
    return found;
}

static void put_call_in_bucket(struct fact_call **calls, struct fact_call *call)
{
    struct fact_call **bucket = &calls[call->key_hash % BUCKETS];
    call->next_in_bucket = *bucket;
    *bucket = call;
}

static struct fact_call *add_call(struct facts *facts, struct str session, struct str call, struct str key,
                                  uint64_t key_hash)
{
    struct fact_call *added = arena_new(&facts->arena, struct fact_call);
    added->session = session;
    added->call = call;
    added->key = key;
    added->key_hash = key_hash;
    added->head = facts_head(facts, session);
    *facts->end_call = added;
    facts->end_call = &added->next;
    facts->call_count++;
    if (facts->calls) {
        put_call_in_bucket(facts->calls, added);
    } else if (facts->call_count > FEW) {
        facts->calls = arena_array(&facts->arena, struct fact_call *, BUCKETS);
        for (struct fact_call *each = facts->first_call; each; each = each->next)
            put_call_in_bucket(facts->calls, each);
    }
    return added;
}

static bool is_call(const struct fact_call *fact, struct str session, struct str call)
{
    return fact && same(fact->call, call) && same(fact->session, session);
}

/* Several needs and events of an append are about the same call, so that the last one is looked at first; then the one
 * that was named after it, because appends are judged in the order in which they were named. */
struct fact_call *facts_call(struct facts *facts, struct str session, struct str call)
{
    struct fact_call *recent = facts->recent_call, *next = recent && recent->next ? recent->next : facts->first_call;
    if (is_call(recent, session, call))
        return recent;
    if (is_call(next, session, call))
        return facts->recent_call = next;
    struct str key = facts_pair(&facts->arena, session, call);
    uint64_t key_hash = map_hash(key);
    struct fact_call *found = find_call(facts, session, call, key_hash);
    if (!found)
        found = add_call(facts, session, call, key, key_hash);
    facts->recent_call = found;
    return found;
}

struct fact_run *facts_run(struct facts *facts, struct str session, struct str thread)
{
    struct str key = facts_pair(&facts->arena, session, thread);
    struct fact_run *run = map_get(&facts->runs, key);
    if (run)
        return run;
    run = arena_new(&facts->arena, struct fact_run);
    run->session = session;
    run->thread = thread;
    *facts->end_run = run;
    facts->end_run = &run->next;
    CHECK(map_put(&facts->runs, key, run) == NULL);
    facts->run_count++;
    return run;
}

/* A fact must be named before it is judged, so that the backend can load all of them in one question. */
static void name_need(struct facts *facts, const struct need *need)
{
    switch (need->need) {
    case NEED_NONE:
        return;
    case NEED_ABSENT:
    case NEED_PRESENT:
        (void)facts_call(facts, need->session, need->call);
        break;
    case NEED_CHANGED_AT:
    case NEED_LAST_AT:
    case NEED_NONE_AFTER:
        break;
    case NEED_RUN_AT:
        (void)facts_run(facts, need->session, need->call);
        break;
    }
    (void)facts_head(facts, need->session);
}

/* Collects which sessions, calls and runs a group is about; the backend then reads what is known of them, in one go.
 */
static void name_event(struct facts *facts, const struct event *event)
{
    (void)facts_head(facts, event->session);
    facts->leaves = facts->leaves || event->kind == EVENT_SESSION_ARCHIVED;
    if (event_kind_of_call(event->kind)) {
        struct fact_call *call = facts_call(facts, event->session, event->call);
        call->made = call->made || event->kind == EVENT_TOOL_CALL;
    }
    if (event->kind == EVENT_RUN_STATUS)
        (void)facts_run(facts, event->session, event->thread);
}

/* Before the group is judged. Numbers of events are set to 0: a group that is tried again gets new ones. */
void facts_name(struct facts *facts, struct append *group)
{
    facts->end_head = &facts->first_head;
    facts->end_call = &facts->first_call;
    facts->end_run = &facts->first_run;
    for (struct append *append = group; append; append = append->next) {
        for (unsigned i = 0; i < append->need_count; i++)
            name_need(facts, &append->needs[i]);
        for (unsigned i = 0; i < append->event_count; i++) {
            append->events[i].seq = 0;
            name_event(facts, &append->events[i]);
        }
    }
}

/* ---- whether the needs of an append hold ---- */

/* `facts` include the appends before this one in the group, as if each had been committed by itself. */
static bool need_holds(struct facts *facts, const struct need *need)
{
    switch (need->need) {
    case NEED_NONE:
        return true;
    case NEED_ABSENT:
        return facts_call(facts, need->session, need->call)->seqs[need->kind] == 0;
    case NEED_PRESENT:
        return facts_call(facts, need->session, need->call)->seqs[need->kind] != 0;
    case NEED_CHANGED_AT:
        return facts_head(facts, need->session)->changed_seq == need->seq;
    case NEED_RUN_AT:
        return facts_run(facts, need->session, need->call)->seq == need->seq;
    case NEED_LAST_AT:
        return facts_head(facts, need->session)->last_seq == need->seq;
    case NEED_NONE_AFTER:
        return facts_head(facts, need->session)->last_seq <= need->seq;
    }
    err_die(__FILE__, __LINE__, "a need of no kind");
}

/* Whether the call has an event of that kind, kept or among those of this append before number `count`. */
static bool call_has(struct facts *facts, const struct append *append, unsigned count, enum event_kind kind)
{
    const struct event *event = &append->events[count];
    for (unsigned i = 0; i < count; i++)
        if (append->events[i].kind == kind && same(append->events[i].call, event->call) &&
            same(append->events[i].session, event->session))
            return true;
    return facts_call(facts, event->session, event->call)->seqs[kind] != 0;
}

/* No event may be added to an archived session, whatever the needs of the append say. */
static struct rc check_sessions(struct facts *facts, const struct append *append, struct err *err)
{
    for (unsigned i = 0; i < append->event_count; i++)
        if (facts_head(facts, append->events[i].session)->archived_seq)
            return err_set(err, ERR_GONE, "the session was archived");
    return RC_OK;
}

/* A session's events may leave when they are what the event says; writing counts them. */
static bool may_leave(struct facts *facts, const struct event *event, struct archived *ret_archived)
{
    const struct fact_head *head = facts_head(facts, event->session);
    return archived_parse(&facts->arena, event->data, ret_archived) && head->first_seq != 0 &&
           ret_archived->first_seq == head->first_seq && ret_archived->last_seq == head->last_seq &&
           digest_eq(&ret_archived->hash, &head->hash);
}

/* Appends that no caller should hand over. */
static struct rc check_events(struct facts *facts, const struct append *append, struct err *err)
{
    for (unsigned i = 0; i < append->event_count; i++) {
        const struct event *event = &append->events[i];
        const char *wrong = NULL;
        struct archived archived;
        if (event->kind == EVENT_SESSION_ARCHIVED && (append->event_count > 1 || !may_leave(facts, event, &archived)))
            return err_set(err, ERR_CONFLICT, "session %.*s has changed since it was archived",
                           STR_ARG(event->session));
        if (!event_kind_of_call(event->kind))
            continue;
        if (call_has(facts, append, i, event->kind))
            wrong = "has happened already";
        else if (event->kind != EVENT_TOOL_CALL && !call_has(facts, append, i, EVENT_TOOL_CALL))
            wrong = "was never made";
        else if (event->kind == EVENT_TOOL_APPROVAL_RESPONSE &&
                 !call_has(facts, append, i, EVENT_TOOL_APPROVAL_REQUEST))
            wrong = "was never asked";
        if (wrong)
            return err_set(err, ERR_CONFLICT, "%s of call %.*s, which %s", event_kind_name(event->kind),
                           STR_ARG(event->call), wrong);
    }
    return RC_OK;
}

/* ---- events of an accepted append, with their numbers and hashes ---- */

/* The chain of the session goes on by this event: its number in the session, its link, what it changes of the
 * head. */
static void advance_head(struct facts *facts, struct fact_head *head, struct event *event)
{
    event->no = ++head->no;
    head->hash = facts->next_hash = chain_next(&head->hash, event);
    if (head->first_seq == 0) {
        head->first_seq = event->seq;
        head->changed = true;
    }
    CHECK(head->last_seq < event->seq);
    head->last_seq = event->seq;
    head->dirty = true;
    if (event->kind == EVENT_SESSION_CHANGED || event->kind == EVENT_SESSION_ARCHIVED) {
        head->changed_seq = event->seq;
        head->changed = true;
    }
    if (event->kind == EVENT_SESSION_ARCHIVED)
        head->archived_seq = event->seq;
}

/* Gives the event its seq and fills in its row for the backend; the facts then are those after the event. */
static void add_event(struct facts *facts, const struct append *append, struct event *event, struct event_row *row)
{
    struct fact_head *head = facts_head(facts, event->session);
    *row = (struct event_row){.event = event, .deadline_ms = append->deadline_ms};
    if (event->kind == EVENT_SESSION_ARCHIVED) {
        struct archived *archived = arena_new(&facts->arena, struct archived);
        CHECK(may_leave(facts, event, archived));
        row->leaves = archived;
    }
    event->seq = facts->next_seq++;
    advance_head(facts, head, event);
    row->hash = head->hash;
    row->chain = head->first_seq;
    if (event->kind == EVENT_RUN_STATUS)
        facts_run(facts, event->session, event->thread)->seq = event->seq;
    if (!event_kind_of_call(event->kind))
        return;
    struct fact_call *call = facts_call(facts, event->session, event->call);
    call->seqs[event->kind] = event->seq;
    row->call = call;
    if (event->kind != EVENT_TOOL_CALL)
        row->call_seq = call->seqs[EVENT_TOOL_CALL];
}

/* The order matters: an append whose session is gone fails, one whose need does not hold is refused, and only
 * then it is checked for mistakes of the caller, which fail it without touching the rest of the group. */
static enum append_outcome judge_append(struct facts *facts, struct append *append, struct rows *rows)
{
    append->refused_need = 0;
    append->err = (struct err){0};
    if (rc_bad(check_sessions(facts, append, &append->err)))
        return APPEND_FAILED;
    while (append->refused_need < append->need_count && need_holds(facts, &append->needs[append->refused_need]))
        append->refused_need++;
    if (append->refused_need < append->need_count)
        return APPEND_REFUSED;
    if (rc_bad(check_events(facts, append, &append->err)))
        return APPEND_FAILED;
    for (unsigned i = 0; i < append->event_count; i++)
        add_event(facts, append, &append->events[i], &rows->events[rows->count++]);
    return APPEND_KEPT;
}

/* The list of open approvals: what is asked and answered in one group never was open for anybody. */
static void note_open(struct facts *facts, struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        struct event_row *row = &rows->events[i];
        const struct event *event = row->event;
        if (event->kind != EVENT_TOOL_APPROVAL_REQUEST && event->kind != EVENT_TOOL_APPROVAL_RESPONSE)
            continue;
        const struct fact_call *call = row->call;
        uint64_t request_seq = call->seqs[EVENT_TOOL_APPROVAL_REQUEST];
        if (event->kind == EVENT_TOOL_APPROVAL_REQUEST)
            row->opens = call->seqs[EVENT_TOOL_APPROVAL_RESPONSE] == 0;
        else if (request_seq <= facts->last_seq)
            row->closes = request_seq;
    }
}

/* Rows of kept appends only. `whole` is false when one was refused or failed. */
void judge_group(struct facts *facts, struct append *group, struct rows *ret_rows)
{
    size_t events = 0;
    for (const struct append *append = group; append; append = append->next)
        events += append->event_count;
    *ret_rows = (struct rows){.events = arena_array(&facts->arena, struct event_row, events), .whole = true};
    facts->next_seq = facts->last_seq + 1;
    facts->next_hash = facts->last_hash;
    for (struct fact_head *head = facts->first_head; head; head = head->next)
        head->hash_before = head->hash;
    for (struct append *append = group; append; append = append->next) {
        append->outcome = judge_append(facts, append, ret_rows);
        ret_rows->whole = ret_rows->whole && append->outcome == APPEND_KEPT;
    }
    note_open(facts, ret_rows);
}

/* ---- behind what others have kept meanwhile ---- */

static void move(uint64_t *seq, uint64_t after, uint64_t by)
{
    if (*seq > after)
        *seq += by;
}

/* Others' events came between: every number above the old end moves up by as many. Nothing needs to be judged
 * again, because the caller has checked that none of the group's own sessions changed. */
void judge_move(struct facts *facts, struct rows *rows, uint64_t last_seq)
{
    CHECK(last_seq >= facts->last_seq);
    uint64_t after = facts->last_seq, by = last_seq - after;
    if (by == 0)
        return;
    for (size_t i = 0; i < rows->count; i++) {
        struct event_row *row = &rows->events[i];
        row->event->seq += by;
        move(&row->chain, after, by);
        move(&row->call_seq, after, by);
    }
    for (struct fact_head *head = facts->first_head; head; head = head->next) {
        move(&head->first_seq, after, by);
        move(&head->last_seq, after, by);
        move(&head->changed_seq, after, by);
        move(&head->archived_seq, after, by);
    }
    for (struct fact_call *call = facts->first_call; call; call = call->next)
        for (int kind = 0; kind < EVENT_KIND_END; kind++)
            move(&call->seqs[kind], after, by);
    for (struct fact_run *run = facts->first_run; run; run = run->next)
        move(&run->seq, after, by);
    facts->last_seq += by;
    facts->next_seq += by;
}
