/* Runs of Nod's own agent: asked for, executed, looked at, ended.
 *
 * One entry, execute, starts a run and resumes it: what is to be done is read from its events, so it may be called
 * as often as one likes. approve-tool answers a call in the words of that surface: yes goes on, no ends the run.
 */
#include "api/request_events.h"

#include "base/utf8.h"
#include "event/shapes.h"
#include "policy/policy.h"
#include "runtime/runtime.h"

enum { PROMPT_BYTES_MAX = 512 << 10, ITERATIONS_MAX = 1000 };

/* ---- a run and its events ---- */

/* A request about an existing run: its thread's events are read, then `then` answers. */
struct run_look {
    struct run_state state;
    struct str thread;
    struct read *events;   /* events of the thread; NULL when only statuses were read */
    bool statuses;         /* reading RUN_STATUS events is enough: no sums and no texts are needed */
    void (*then)(struct exchange *x, struct run_look *looking);
};

/* The answer is made from the run's events alone; nothing of it is asked of the runtime, which may run at another
 * node. */
static void write_request(struct json_out *out, const struct exchange *x, const struct run_look *looking)
{
    const struct run_state *state = &looking->state;
    json_open(out, '{');
    json_members(out, J("id", state->id), J("sessionId", x->session), J("threadId", looking->thread),
                 J("status", run_status_name(state->status)), J("reason", state->reason), J("prompt", state->prompt),
                 J("model", state->model), J("iterationCount", state->iterations),
                 J("result", run_status_over(state->status) ? state->text : STR_NONE));
    json_key(out, "usage");
    run_usage_write(out, &state->usage);
    json_members(out, J_TIME("createdAt", state->created_ms), J_TIME("updatedAt", state->changed_ms));
    json_close(out, '}');
}

static void answer_request(struct exchange *x, struct run_look *looking)
{
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    write_request(&out, x, looking);
    exchange_answer(x, x->route->status, &buf);
}

/* The thread's events are in: the state of the wanted run is computed from them, and the request's own handler
 * goes on. */
static void thread_read(struct read *read)
{
    struct exchange *x = read->arg;
    struct run_look *looking = x->state;
    if (read->err.code != ERR_OK)
        exchange_fail(x, &read->err);
    else if (!run_state_of(x->arena, read->events, read->event_count, x->params[0], &looking->state))
        exchange_error(x, ERR_NOT_FOUND, "there is no such request");
    else {
        looking->events = read;
        looking->then(x, looking);
    }
    read_free(read);
}

/* The whole thread, not a page: a run's state follows from all of its events. `thread_read` frees the read. */
static void read_thread(struct exchange *x, struct str thread)
{
    gate_read_whole(x->gate, read_new_of((struct read){.kind = READ_EVENTS, .session = x->session, .thread = thread,
                                                       .kinds = run_event_kinds(), .done = thread_read, .arg = x}));
}

/* The run's thread, from the statuses of its session. */
static void statuses_read(struct read *read)
{
    struct exchange *x = read->arg;
    struct run_look *looking = x->state;
    struct err err = read->err;
    for (size_t i = 0; i < read->event_count && err.code == ERR_OK; i++) {
        ARENA_SCOPE(scratch);
        struct data_run_status data;
        if (READ_DATA(&scratch, run_status, read->events[i].data, &data) && str_eq(data.run, x->params[0]))
            looking->thread = arena_str(x->arena, read->events[i].thread);
    }
    if (err.code == ERR_OK && looking->statuses)
        (void)run_state_of(x->arena, read->events, read->event_count, x->params[0], &looking->state);
    read_free(read);
    if (err.code != ERR_OK)
        exchange_fail(x, &err);
    else if (str_empty(looking->thread))
        exchange_error(x, ERR_NOT_FOUND, "there is no such request");
    else if (looking->statuses)
        looking->then(x, looking);
    else
        read_thread(x, looking->thread);
}

static void session_found(struct exchange *x, const struct session *session)
{
    (void)session;
    gate_read_whole(x->gate, read_new_of((struct read){.kind = READ_EVENTS, .session = x->session,
                                                       .kinds = (uint64_t)1 << EVENT_RUN_STATUS,
                                                       .done = statuses_read, .arg = x}));
}

/* The id of a run begins with its session's. Its thread is found in the session's RUN_STATUS events, so that there is
 * no index of runs. */
static void look(struct exchange *x, bool statuses, void (*then)(struct exchange *x, struct run_look *looking))
{
    struct run_look *looking = arena_new(x->arena, struct run_look);
    looking->statuses = statuses;
    looking->then = then;
    x->state = looking;
    exchange_with_session(x, session_of_thread(x->params[0]), session_found);
}

static void with_run(struct exchange *x, void (*then)(struct exchange *x, struct run_look *looking))
{
    look(x, false, then);
}

/* Enough to move it: the cost does not grow with the conversation. */
static void with_status(struct exchange *x, void (*then)(struct exchange *x, struct run_look *looking))
{
    look(x, true, then);
}

void api_requests_show(struct exchange *x) { with_run(x, answer_request); }

static void answer_checkpoint(struct exchange *x, struct run_look *looking)
{
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    run_write_checkpoint(&out, x->arena, looking->events->events, looking->events->event_count, &looking->state);
    exchange_answer(x, 200, &buf);
}

void api_requests_checkpoint(struct exchange *x) { with_run(x, answer_checkpoint); }

/* ---- the events of a run, under the names of this API ---- */

struct told_page {
    struct json_out *out;
    uint64_t after;
};

/* For request_tell. The first events of a page are told only to bring the teller up to where the client is. */
static void put_told(void *arg, const char *type, uint64_t seq, unsigned part, struct str json)
{
    const struct told_page *page = arg;
    (void)type;
    (void)part;
    if (seq > page->after)
        json_put_raw(page->out, json);
}

/* `next` also moves past events that tell a client nothing; else a client would ask for the same stretch again. */
static void answer_events(struct exchange *x, struct run_look *looking)
{
    uint64_t after = 0;
    struct err err;
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    EXCHANGE_TRY(x, api_query_u64(x, "after", INT64_MAX, &after, &err));
    json_open(&out, '{');
    json_open_member(&out, "events", '[');
    uint64_t next = after;
    struct told_page page = {.out = &out, .after = after};
    struct request_teller teller = {.run = x->params[0], .put = put_told, .arg = &page};
    for (size_t i = 0; i < looking->events->event_count; i++) {
        const struct event *event = &looking->events->events[i];
        request_tell(&teller, event);
        if (event->seq > next)
            next = event->seq;
    }
    json_close(&out, ']');
    json_member_u64(&out, "next", next);
    json_close(&out, '}');
    exchange_answer(x, 200, &buf);
}

static void stream_events(struct exchange *x, struct run_look *looking) { request_stream(x, looking->thread); }

void api_requests_events(struct exchange *x)
{
    if (str_has(http_header(x->http, "accept"), STR("text/event-stream")))
        with_status(x, stream_events);
    else
        with_run(x, answer_events);
}

/* ---- a new one ---- */

/* A request for a new run while its session is found or made. */
struct asking {
    struct run_op start;
    struct session_change change;
    struct str cwd, mode, session, thread;
    const struct json *policies;
    bool loosens;
};

static void started(struct op *op)
{
    const struct run_op *start = (const struct run_op *)op;
    struct exchange *x = op->owner;
    exchange_object(x, 201, J("id", start->id), J("sessionId", start->session), J("threadId", start->thread),
                    J("status", run_status_name(RUN_PENDING)));
}

static void start_in(struct exchange *x, struct asking *asking, struct str session, struct str thread)
{
    asking->start.op = exchange_op(x, started);
    asking->start.session = session;
    asking->start.thread = thread;
    asking->start.actor = x->actor;
    runtime_create(x->api->runtime, &asking->start);
}

/* A thread that was named must be of this session, whose visibility to the token was checked on the way here. */
static void start_found(struct exchange *x, const struct session *session)
{
    struct asking *asking = x->http->arg;
    struct str thread = asking->thread.n ? asking->thread : arena_str(x->arena, session->main_thread);
    if (!session_thread_find(session, thread))
        exchange_error(x, ERR_NOT_FOUND, "there is no such thread");
    else
        start_in(x, asking, x->session, thread);
}

static void session_made(struct op *op)
{
    struct session_change *change = (struct session_change *)op;
    struct exchange *x = change->op.owner;
    start_in(x, x->http->arg, change->id, change->thread);
}

static struct str title_of(struct arena *arena, struct str prompt)
{
    enum { TITLE_BYTES = 80 };
    struct str rest, line = str_cut(prompt, '\n', &rest);
    return arena_str(arena, utf8_start(line, TITLE_BYTES));
}

/* A run without a session gets one, in the folder that was named and with the token as its owner. */
static void make_session(struct exchange *x, struct asking *asking)
{
    struct data_session_created created = {
        .title = title_of(x->arena, asking->start.prompt),
        .cwd = asking->cwd,
        .mode = asking->mode,
        .policies = asking->policies ? asking->policies->raw : STR_NONE,
        .timeout_seconds = x->api->timeout_seconds ? x->api->timeout_seconds : -1,
        .owner = x->token_id,
    };
    asking->change = (struct session_change){.op = exchange_op(x, session_made), .created = &created,
                                             .actor = x->actor};
    gate_change_session(x->gate, &asking->change);
}

/* `ret_loosens` is set by the first "allow": then the request may need a person's signature. It is never set back. */
static struct rc check_policies(const struct json *policies, bool *ret_loosens, struct err *err)
{
    enum effect effect;
    for (const struct json *p = policies ? policies->first : NULL; p; p = p->next) {
        if (p->type != JSON_STRING || !effect_parse(p->text, &effect) || p->key.n > LIMIT_NAME_BYTES)
            return err_set(err, ERR_INVALID, "\"toolPolicies\": each must be \"allow\", \"deny\" or \"ask\"");
        *ret_loosens = *ret_loosens || effect == EFFECT_ALLOW;
    }
    return RC_OK;
}

/* Everything is checked before anything is made. */
static struct rc read_asking(struct exchange *x, struct asking *asking, struct err *err)
{
    enum permission_mode mode = MODE_DEFAULT;
    struct run_op *start = &asking->start;
    TRY(json_want_str(x->body, "prompt", PROMPT_BYTES_MAX, &start->prompt, err));
    TRY(json_want_str(x->body, "model", LIMIT_NAME_BYTES, &start->model, err));
    TRY(json_want_str(x->body, "system", PROMPT_BYTES_MAX, &start->system, err));
    TRY(json_want_i64(x->body, "maxIterations", 1, ITERATIONS_MAX, &start->iterations_max, err));
    TRY(json_want_str(x->body, "cwd", LIMIT_PATH_BYTES, &asking->cwd, err));
    TRY(json_want_str(x->body, "sessionId", LIMIT_ID_BYTES, &asking->session, err));
    TRY(json_want_str(x->body, "threadId", LIMIT_ID_BYTES, &asking->thread, err));
    TRY(json_want_str(x->body, "permissionMode", LIMIT_NAME_BYTES, &asking->mode, err));
    TRY(json_want_object(x->body, "toolPolicies", &asking->policies, err));
    TRY(check_policies(asking->policies, &asking->loosens, err));
    if (str_empty(str_trim(start->prompt)))
        return err_set(err, ERR_INVALID, "\"prompt\" is missing");
    if (str_empty(asking->session) && asking->thread.n)
        asking->session = session_of_thread(asking->thread);
    if (str_empty(asking->session) && (asking->cwd.n == 0 || asking->cwd.p[0] != '/'))
        return err_set(err, ERR_INVALID, "\"cwd\" must be an absolute path");
    if (asking->mode.n && !policy_mode_parse(asking->mode, &mode))
        return err_set(err, ERR_INVALID, "\"permissionMode\" is not a permission mode");
    if (asking->mode.n)
        asking->mode = str_of(policy_mode_name(mode));
    asking->loosens = asking->loosens || mode == MODE_ACCEPT_EDITS || mode == MODE_BYPASS;
    return RC_OK;
}

/* Creates the run without starting it: execute does that. */
void api_requests_create(struct exchange *x)
{
    struct asking *asking = arena_new(x->arena, struct asking);
    struct str signature = STR_NONE;
    struct err err;
    x->http->arg = asking;
    EXCHANGE_TRY(x, read_asking(x, asking, &err));
    EXCHANGE_TRY(x, exchange_check_signed(x, asking->loosens, &signature, &err));
    if (str_empty(asking->session))
        make_session(x, asking);
    else
        exchange_with_session(x, asking->session, start_found);
}

/* ---- going on, and ending it ---- */

/* Called when the runtime has continued or cancelled the run: answers with its state. */
static void moved(struct op *op) { with_run(op->owner, answer_request); }

/* A run that is over is answered as it is. A failed one may be tried again; the runtime decides by its events what is
 * left. */
static void execute_found(struct exchange *x, struct run_look *looking)
{
    struct run_op *go = arena_new(x->arena, struct run_op);
    if (run_status_over(looking->state.status) && looking->state.status != RUN_FAILED) {
        with_run(x, answer_request);
        return;
    }
    *go = (struct run_op){.op = exchange_op(x, moved), .session = x->session, .thread = looking->thread,
                          .id = x->params[0], .actor = x->actor};
    runtime_execute(x->api->runtime, go);
}

void api_requests_execute(struct exchange *x) { with_status(x, execute_found); }

/* Answered when the end of the run is stored; 409 when the run is over already. */
static void cancel_found(struct exchange *x, struct run_look *looking)
{
    struct run_op *cancel = arena_new(x->arena, struct run_op);
    *cancel = (struct run_op){.op = exchange_op(x, moved), .session = x->session, .thread = looking->thread,
                              .id = x->params[0], .actor = x->actor};
    runtime_cancel(x->api->runtime, cancel);
}

void api_requests_cancel(struct exchange *x) { with_status(x, cancel_found); }

/* ---- yes or no ---- */

static void approved(struct op *op)
{
    struct decide *decide = (struct decide *)op;
    struct exchange *x = decide->op.owner;
    exchange_object(x, 200, J_BOOL("success", true), J("toolCallId", decide->call_id),
                    J("decision", decision_name(decide->call.decision)));
}

/* "No" ends the run (abort); a denial that lets the run go on is given by the usual route. */
void api_requests_approve(struct exchange *x)
{
    struct decide *decide = arena_new(x->arena, struct decide);
    bool yes = false;
    struct err err;
    *decide = (struct decide){.op = exchange_decision(x, approved), .call_id = x->params[0], .actor = x->actor,
                              .by = x->token_id};
    EXCHANGE_TRY(x, exchange_name_session(x, &decide->session, &err));
    EXCHANGE_TRY(x, json_want_bool(x->body, "approved", &yes, &err));
    EXCHANGE_TRY(x, json_want_str(x->body, "feedback", LIMIT_FEEDBACK_BYTES, &decide->feedback, &err));
    EXCHANGE_TRY(x, exchange_claim(x, &decide->claim, &err));
    EXCHANGE_REFUSE(x, !json_get(x->body, "approved"), ERR_INVALID, "\"approved\" is missing: true or false");
    decide->decision = yes ? DECISION_ALLOW_ONCE : DECISION_ABORT;
    gate_decide(x->gate, decide);
}
