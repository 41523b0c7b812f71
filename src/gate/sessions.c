/* Sessions as they are now: read from their events when first needed, kept true by following.
 *
 * A session that changes while it is being read is read again. A verdict that depends on a session's state is kept
 * under the need that the session has not changed since (NEED_CHANGED_AT), so a stale view can delay an answer but
 * never decide one. A session that nobody asks for is forgotten after a while, with the rules that were read for
 * it: what waits for a person costs no memory here. So a session that was lent must not be kept.
 */
#include "gate/inner.h"

#include "event/shapes.h"

#include "io/loop.h"
#include "io/system.h"

#include <stdlib.h>

enum { SESSIONS_CACHED_MAX = 10000, REST_MS = 5000 };
enum { LOOK_FOUND, LOOK_MISSING }; /* phases of a session_look that is answered */

static void read_session(struct gate *gate, struct str id);

/* The session is looked up again when the look is given back: it may change, or rest, until then. */
static void answer(struct session_slot *slot, const struct err *err)
{
    struct op *op = slot->looks;
    slot->looks = NULL;
    while (op) {
        struct op *next = op->next;
        if (op->lends_session) {
            gate_op_take(op, err);
            op->phase = slot->session ? LOOK_FOUND : LOOK_MISSING;
            op_end(op);
        } else {
            op_give_session(op, slot->session, err);
        }
        op = next;
    }
}

static void free_slot(struct session_slot *slot)
{
    session_rules_done(&slot->rules);
    session_free(slot->session);
    free(slot);
}

static void drop(struct gate *gate, struct str id)
{
    struct session_slot *slot = map_take(&gate->sessions, id);
    CHECK(slot && !slot->looks);
    free_slot(slot);
}

/* The answer may drop the session or ask for others: the slot is looked up again after it. */
static void session_read(struct read *read)
{
    struct gate *gate = read->arg;
    struct str id = read->session;
    struct session_slot *slot = map_get(&gate->sessions, id);
    CHECK(slot && !slot->session);
    bool failed = read->err.code != ERR_OK;
    if (slot->stale && !failed) {
        slot->stale = false;
        read_session(gate, id);
        read_free(read);
        return;
    }
    if (!failed && read->archived_count) {
        gate_say_archived(&read->err, &read->archived[0]);
    } else if (!failed && read->event_count) {
        slot->session = session_new(id);
        for (size_t i = 0; i < read->event_count; i++)
            session_apply(slot->session, &read->events[i]);
    }
    bool keep = slot->session != NULL;
    answer(slot, &read->err);
    if (!keep)
        drop(gate, id);
    read_free(read);
}

static void read_session(struct gate *gate, struct str id)
{
    struct read *read = read_new(READ_SESSION);
    read->session = arena_str(&read->arena, id);
    read->done = session_read;
    read->arg = gate;
    store_read(gate->store, read);
}

/* Forgets all, or those that were not used since the last time; one that is being read stays. */
static void forget(struct gate *gate, bool all)
{
    struct map kept = {0};
    MAP_EACH(&gate->sessions, each) {
        struct session_slot *slot = each.value;
        if (slot->session && (all || !slot->used)) {
            free_slot(slot);
            continue;
        }
        slot->used = false;
        (void)map_put(&kept, each.key, slot);
    }
    map_done(&gate->sessions);
    gate->sessions = kept;
}

/* Now and then: sessions that were not used since the last time are forgotten. When none is left, memory goes
 * back to the system. */
static void rest(void *arg)
{
    struct gate *gate = arg;
    forget(gate, false);
    if (gate->sessions.count) {
        timer_start(gate->sessions_rest, REST_MS);
        return;
    }
    system_trim_heap();
}

void sessions_init(struct gate *gate) { gate->sessions_rest = timer_new(gate->loop, rest, gate); }

bool sessions_lend(struct gate *gate, struct session_look *look)
{
    struct session_slot *slot = map_get(&gate->sessions, look->id);
    look->session = slot ? slot->session : NULL;
    if (look->session || look->op.err || look->op.phase == LOOK_MISSING)
        return true;
    gate_session(gate, look);
    return false;
}

/* True: *ret_session is set (NULL: there is none of this id). False: it is being read, and the operation goes
 * on then. */
bool sessions_have(struct gate *gate, struct str id, struct op *op, const struct session **ret_session)
{
    struct session_slot *slot = map_get(&gate->sessions, id);
    *ret_session = slot ? slot->session : NULL;
    if (*ret_session) {
        slot->used = true;
        return true;
    }
    if (id.n == 0 || id.n >= ID_BYTES)
        return true;
    if (!slot) {
        if (gate->sessions.count >= SESSIONS_CACHED_MAX)
            forget(gate, true);
        if (gate->sessions.count == 0)
            timer_start(gate->sessions_rest, REST_MS);
        slot = heap_new(sizeof *slot);
        slot->used = true;
        (void)map_put(&gate->sessions, id, slot);
        read_session(gate, id);
    }
    op->next = slot->looks;
    slot->looks = op;
    return false;
}

void gate_session(struct gate *gate, struct session_look *look)
{
    look->op.gate = gate;
    look->op.lends_session = true;
    if (!sessions_have(gate, look->id, &look->op, &look->session))
        return;
    look->op.phase = look->session ? LOOK_FOUND : LOOK_MISSING;
    op_end(&look->op);
}

/* Applies a stored change of a session to its cached copy. While the session is still being read there is no copy: it
 * is marked as stale, and read once more. */
void sessions_follow(struct gate *gate, const struct event *event)
{
    if (event->kind != EVENT_SESSION_CHANGED && event->kind != EVENT_SESSION_ARCHIVED)
        return;
    struct session_slot *slot = map_get(&gate->sessions, event->session);
    if (!slot)
        return;
    if (slot->session && event->kind == EVENT_SESSION_ARCHIVED)
        drop(gate, event->session);
    else if (slot->session)
        session_apply(slot->session, event);
    else
        slot->stale = true;
}

void sessions_done(struct gate *gate)
{
    MAP_EACH(&gate->sessions, each) {
        free_slot(each.value);
    }
    map_done(&gate->sessions);
    timer_free(gate->sessions_rest);
}

struct session_rules *sessions_rules_slot(struct gate *gate, const struct session *session)
{
    struct session_slot *slot = map_get(&gate->sessions, session->id);
    CHECK(slot && slot->session == session);
    return &slot->rules;
}

const struct rule_set *sessions_rules(struct gate *gate, const struct session *session)
{
    return rules_for(gate, session, sessions_rules_slot(gate, session));
}

/* The gate chooses the id and the main thread of a new session. */
static struct str creation(struct session_change *change)
{
    struct data_session_created created = *change->created;
    change->id = change->new_id;
    if (str_empty(change->id))
        change->id = arena_str(change->op.arena, str_of(id_new("ses").text));
    change->thread = arena_printf(change->op.arena, "%.*s.main", STR_ARG(change->id));
    created.thread = change->thread;
    return shape_data(change->op.arena, shape_session_created(), &created);
}

void gate_change_session(struct gate *gate, struct session_change *change)
{
    bool new = str_empty(change->id);
    struct str data = new ? creation(change) : change->data;
    if (new)
        change->kept.need = (struct need){.need = NEED_CHANGED_AT, .session = change->id};
    change->kept.refused = "the session exists already";
    op_keep(gate, &change->kept, (struct event){.kind = EVENT_SESSION_CHANGED, .session = change->id,
                                                .thread = change->thread, .actor = change->actor, .data = data});
}
