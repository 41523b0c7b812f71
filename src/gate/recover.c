/* The view of what is open: built from the store at the start, then kept true by following.
 *
 * Nothing here is the truth. After a kill -9 the same calls wait, their deadlines are armed again, and
 * clients that come back find them.
 */
#include "base/log.h"
#include "gate/inner.h"

#include "base/small.h"
#include "event/shapes.h"

#include <stdlib.h>

struct open *open_find(const struct gate *gate, struct str session, struct str call)
{
    return core_open(&gate->core, session, call);
}

static void open_free(struct gate *gate, struct open *open)
{
    quota_give(gate, open->share, open->session, open->stored);
    free(open->judged);
    people_free(open);
    marks_free(open);
    small_free(open, open->size);
}

enum { SMALL_CALL_BYTES = 4 * LIMIT_SHOWN_BYTES }; /* larger calls keep only the members for lists in memory */

/* Lists only say that the request has something of a file; whoever looks at the one call reads it from the store. */
static struct open_approval without_file(struct arena *arena, const struct open_approval *approval,
                                         const struct data_tool_approval_request *data)
{
    struct open_approval listed = *approval;
    struct data_tool_approval_request short_data = *data;
    short_data.in_file = STR("true");
    if (!str_empty(data->in_file))
        listed.request.data = shape_data(arena, shape_tool_approval_request(), &short_data);
    return listed;
}

static bool is_part(struct str part, struct str whole)
{
    return part.n && part.p >= whole.p && part.p + part.n <= whole.p + whole.n;
}

/* A part of `whole` is found again in its copy; anything else is packed. */
static struct str keep_part(char **at, struct str part, struct str whole, struct str copy)
{
    return is_part(part, whole) ? (struct str){copy.p + (part.p - whole.p), part.n} : str_pack(at, part);
}

/* A request of this process comes with what it was written from; one with something of a file is read whole. */
static bool read_request(struct arena *arena, const struct event *request, struct data_tool_approval_request *ret_data)
{
    const struct data_tool_approval_request *made = request->made;
    if (!made || !str_empty(made->in_file))
        return READ_DATA(arena, tool_approval_request, request->data, ret_data);
    *ret_data = *made;
    return true;
}

/* A call begins to wait: all that is needed to list and decide it, in one allocation. Large inputs stay in the
 * store; only a brief is kept. What waits under this key; NULL: its request cannot be read. */
static struct open *open_add(struct gate *gate, struct open_approval *approval)
{
    ARENA_SCOPE(scratch);
    const struct event *call = &approval->call, *request = &approval->request;
    struct data_tool_approval_request data;
    struct call_key key = call_key(request->session, request->call);
    uint64_t hash = map_hash(call_key_str(&key));
    struct open *there = map_get_hashed(&gate->core.open, call_key_str(&key), hash);
    if (there || !read_request(&scratch, request, &data))
        return there;
    approval->deadline_ms = data.deadline;
    struct open_approval listed = without_file(&scratch, approval, &data);
    bool small = call->data.n + listed.request.data.n <= SMALL_CALL_BYTES;
    struct str brief = small ? STR_NONE : pending_brief(&scratch, &listed);
    struct str call_data = small ? call->data : STR_NONE, request_data = small ? listed.request.data : STR_NONE;
    const struct str parts[] = {data.digest, data.tool, data.callback};
    bool in_thread = str_starts(request->thread, request->session);
    size_t size = sizeof(struct open) + (in_thread ? 0 : request->session.n) + request->call.n + request->thread.n +
                  request->actor.n + call_data.n + request_data.n + brief.n;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        size += is_part(parts[i], request_data) ? 0 : parts[i].n;
    struct open *open = small_bytes(size);
    *open = (struct open){.size = size};
    char *at = open->bytes;
    open->thread = str_pack(&at, request->thread);
    open->session = in_thread ? str_sub(open->thread, 0, request->session.n) : str_pack(&at, request->session);
    open->call = str_pack(&at, request->call);
    open->actor = str_pack(&at, request->actor);
    open->call_data = str_pack(&at, call_data);
    open->request_data = str_pack(&at, request_data);
    open->digest = keep_part(&at, data.digest, request_data, open->request_data);
    open->name = keep_part(&at, data.tool, request_data, open->request_data);
    open->callback = keep_part(&at, data.callback, request_data, open->request_data);
    open->brief = str_pack(&at, brief);
    open->seq = request->seq;
    open->stored = call->data.n + request->data.n;
    open->requested_ms = request->at_ms;
    open->deadline_ms = data.deadline;
    open->routine = data.routine;
    open->people = (unsigned)data.people;
    open->waits = data.waits;
    open->withdraws = data.withdraws;
    (void)map_put_hashed(&gate->core.open, call_key_str(&key), hash, open);
    open->share = quota_take(gate, open->actor, open->session, open->stored);
    core_due_add(&gate->core, open);
    return open;
}

static struct open *find_of_session(const struct gate *gate, struct str session)
{
    MAP_EACH(&gate->core.open, each) {
        struct open *open = each.value;
        if (str_eq(open->session, session))
            return open;
    }
    return NULL;
}

/* A node that came late may never see the answers: they left with their session before it could read them. */
static void forget_session(struct gate *gate, struct str session)
{
    for (struct open *open; (open = find_of_session(gate, session));) {
        struct call_key key = call_key(session, open->call);
        CHECK(map_take(&gate->core.open, call_key_str(&key)) == open);
        core_due_remove(&gate->core, open);
        open_free(gate, open);
    }
}

/* A call and its request are kept in one append, so `call`, the event right before the request, is usually its call. */
static struct open *request_told(struct gate *gate, const struct event *request, const struct event *call)
{
    struct open_approval approval = {.request = *request};
    if (call && call->kind == EVENT_TOOL_CALL && str_eq(call->session, request->session) &&
        str_eq(call->call, request->call))
        approval.call = *call;
    return open_add(gate, &approval);
}

/* Takes a partial answer: the allow of one of several persons. */
static void partial_told(struct gate *gate, const struct event *event)
{
    ARENA_SCOPE(scratch);
    struct data_tool_approval_partial data;
    if (!READ_DATA(&scratch, tool_approval_partial, event->data, &data) || tokens_revoked(gate, data.by))
        return;
    struct open *open = open_find(gate, event->session, data.call);
    if (open)
        people_take(open, event);
}

static void forget_partials(struct gate *gate, const struct event *event)
{
    ARENA_SCOPE(scratch);
    struct str token = token_revoked(&scratch, event);
    if (str_empty(token))
        return;
    MAP_EACH(&gate->core.open, each)
        people_drop(each.value, token);
}

/* Keeps the call in memory for whoever waits for its answer, and for its report, which follows soon. A large call is
 * not kept: it is read from the store. */
static void remember(struct gate *gate, const struct open *open, const struct event *response)
{
    struct event call, request;
    waits_events(open, &call, &request);
    recent_add(&gate->core.recent, (struct event[]){call, request, *response}, 3);
}

/* Keeps the view of open calls true: a request adds, a response takes away, and what stands between changes it. */
const struct open *open_follow(struct gate *gate, const struct event *event, const struct event *call)
{
    if (event->kind == EVENT_SESSION_ARCHIVED) {
        forget_session(gate, event->session);
        recent_clear(&gate->core.recent);
    }
    if (event->kind == EVENT_TOOL_APPROVAL_REQUEST)
        return request_told(gate, event, call);
    if (event->kind == EVENT_TOOL_APPROVAL_SNOOZED || event->kind == EVENT_TOOL_APPROVAL_ASSIGNED)
        marks_follow(gate, event);
    if (event->kind == EVENT_TOOL_APPROVAL_PARTIAL && event->seq > gate->read_partials)
        partial_told(gate, event);
    if (event->kind == EVENT_TOKEN_CHANGED)
        forget_partials(gate, event);
    if (event->kind == EVENT_TOOL_APPROVAL_ALERT && open_find(gate, event->session, event->call))
        core_alerted(&gate->core, open_find(gate, event->session, event->call));
    if (event->kind != EVENT_TOOL_APPROVAL_RESPONSE)
        return NULL;
    struct call_key key = call_key(event->session, event->call);
    struct open *open = map_take(&gate->core.open, call_key_str(&key));
    if (!open)
        return NULL;
    remember(gate, open, event);
    core_due_remove(&gate->core, open);
    open_free(gate, open);
    return NULL;
}

void open_done(struct gate *gate)
{
    MAP_EACH(&gate->core.open, each)
        open_free(gate, each.value);
    map_done(&gate->core.open);
}

/* The reads at the start, one after the other; freed when `ready` is called. */
struct recovery {
    struct gate *gate;
    void (*ready)(void *arg, const struct err *err);
    void *arg;
};

static void finish(struct recovery *recovery, const struct err *err)
{
    recovery->ready(recovery->arg, err);
    free(recovery);
}

static void read_next(struct recovery *recovery, enum read_kind kind, void (*done)(struct read *))
{
    struct read *read = read_new(kind);
    gate_read(recovery->gate, read, done, recovery);
}

/* Another node may have stored events after this read, and the gate has seen them already. Then the answer is stale,
 * and the read is repeated. */
static bool too_old(struct recovery *recovery, struct read *read)
{
    if (read->err.code != ERR_OK || read->covered >= recovery->gate->core.delivered)
        return false;
    read_next(recovery, read->kind, read->done);
    read_free(read);
    return true;
}

/* Clients that waited before have no connection to this process yet; with several nodes they may wait at another. The
 * call is due for what does not depend on its marks. */
static void open_recovered(struct gate *gate, struct open *open)
{
    bool away = !gate_is_shared(gate) && open->waits;
    open->recovered = open->unmarked = true;
    open->left = away;
    core_away(&gate->core, open, away, gate_now());
}

static void recovered(struct recovery *recovery, const struct err *err)
{
    struct gate *gate = recovery->gate;
    bool well = err->code == ERR_OK;
    if (well)
        marks_expect(gate);
    finish(recovery, err);
    if (!well)
        return;
    marks_read(gate);
    rule_hits_begin(gate);
}

static void read_partials(struct recovery *recovery);

/* Reads again if events were delivered while the answer was on its way: partial answers could be missed otherwise. */
static void partials_read(struct read *read)
{
    struct recovery *recovery = read->arg;
    struct gate *gate = recovery->gate;
    struct err err = read->err;
    bool old = err.code == ERR_OK && read->covered < gate->core.delivered;
    for (size_t i = 0; i < read->event_count && !old; i++)
        partial_told(gate, &read->events[i]);
    if (!old)
        gate->read_partials = read->covered;
    read_free(read);
    if (old)
        read_partials(recovery);
    else
        recovered(recovery, &err);
}

/* The first call that several persons must allow; 0: none waits. */
static uint64_t first_of_people(const struct gate *gate)
{
    uint64_t first = 0;
    MAP_EACH(&gate->core.open, each) {
        const struct open *open = each.value;
        if (open->people > 1 && (!first || open->seq < first))
            first = open->seq;
    }
    return first;
}

static void read_partials(struct recovery *recovery)
{
    gate_read_whole(recovery->gate,
                    read_new_of((struct read){.kind = READ_EVENTS, .kinds = UINT64_C(1) << EVENT_TOOL_APPROVAL_PARTIAL,
                                              .after = first_of_people(recovery->gate), .done = partials_read,
                                              .arg = recovery}));
}

/* The last read at the start. Calls that waited before a restart are counted in one line, and each named at debug. */
static void open_read(struct read *read)
{
    struct recovery *recovery = read->arg;
    struct gate *gate = recovery->gate;
    if (too_old(recovery, read))
        return;
    gate->read_open = gate->read_partials = read->covered;
    for (size_t i = 0; i < read->open_count; i++) {
        struct open_approval *open = &read->open[i];
        open_add(gate, open);
        open_recovered(gate, open_find(gate, open->request.session, open->request.call));
        log_line(LOG_DEBUG, "approval recovered after restart", LOG_S("session", open->request.session),
                 LOG_S("threadId", open->request.thread), LOG_S("call", open->request.call));
    }
    if (read->open_count)
        log_line(LOG_INFO, "calls that waited before the restart wait again",
                 LOG_I("calls", (int64_t)read->open_count));
    gate->figures.recovered = read->open_count;
    bool people = first_of_people(gate) != 0;
    struct err err = read->err;
    read_free(read);
    if (people)
        gate->read_partials = UINT64_MAX;
    if (people && err.code == ERR_OK)
        read_partials(recovery);
    else
        recovered(recovery, &err);
}

/* Gives what was read to a view. False: it is read again, or recovery has failed. */
static bool take_read(struct read *read, uint64_t *covered,
                      void (*follow)(struct gate *gate, const struct event *event))
{
    struct recovery *recovery = read->arg;
    struct err err = read->err;
    if (too_old(recovery, read))
        return false;
    *covered = read->covered;
    for (size_t i = 0; i < read->event_count; i++)
        follow(recovery->gate, &read->events[i]);
    read_free(read);
    if (err.code != ERR_OK)
        finish(recovery, &err);
    return err.code == ERR_OK;
}

static void rules_read(struct read *read)
{
    struct recovery *recovery = read->arg;
    if (take_read(read, &recovery->gate->read_rules, rules_follow))
        read_next(recovery, READ_OPEN, open_read);
}

/* The first read at the start: tokens, then rules, then open calls. Each read says up to which seq it is
 * complete; events after that come by follow(). */
static void tokens_read(struct read *read)
{
    struct recovery *recovery = read->arg;
    if (take_read(read, &recovery->gate->read_tokens, tokens_follow))
        read_next(recovery, READ_RULES, rules_read);
}

void gate_recover(struct gate *gate, void (*ready)(void *arg, const struct err *err), void *arg)
{
    struct recovery *recovery = heap_new(sizeof *recovery);
    *recovery = (struct recovery){.gate = gate, .ready = ready, .arg = arg};
    read_next(recovery, READ_TOKENS, tokens_read);
}
