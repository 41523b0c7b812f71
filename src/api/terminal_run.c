/* "run" of the terminal's socket: a prompt in a new session, or another one in a session that there is.
 *
 * Each prompt chooses how its uses of tools are answered, and the choice holds from its first step on. A change
 * that makes a session stricter is kept before the run is made: it holds whatever fails later. A change that makes
 * it looser is kept after the run was made (so no other run is under way) and before it is executed. A field that
 * is absent loosens nothing.
 */
#include "api/terminal.h"

#include "event/shapes.h"

enum { TIMEOUT_SECONDS = 300, PROMPT_BYTES_MAX = 512 << 10, ITERATIONS_MAX = 1000, ANSWER_TOKENS_MAX = 1 << 20 };

/* Tools of this protocol that "auto_approve_safe": false asks about. */
static const char *const safe_tools[] = {"Read", "Glob", "Grep", "TodoWrite", "WebFetch", "WebSearch", "Task"};

enum said { UNSAID, SAID_NO, SAID_YES };

/* A "run" message, read. */
struct order {
    struct str session, cwd;
    struct str mode;             /* sdk, toolApproval, bypassPermissions; empty: it does not say */
    enum said safe;
    bool go_on;
    int64_t timeout_seconds;     /* 0: not given */
    struct str settings;         /* settings to change in an existing session, JSON; empty: none */
    bool looser;                 /* the settings let more pass than before */
    bool signs;                  /* where people have keys, the change needs a signature */
};

static void fail(struct terminal_act *act, struct str words)
{
    terminal_error(act->terminal, act->id, words);
    terminal_act_free(act);
}

/* Refuses a run with settings that need a person's signature: this socket's messages carry none. */
static bool refused(struct terminal_act *act)
{
    struct terminal *terminal = act->terminal;
    struct err err;
    if (!act->order->signs || gate_signed(terminal->api->gate) == SIGNED_OFF)
        return false;
    (void)err_set(&err, ERR_SIGNATURE_REQUIRED, "this loosens what the agent may do, and needs a signature: change the "
                                                "session's settings on the page");
    terminal_refuse(terminal, act->id, &err);
    terminal_act_free(act);
    return true;
}

/* ---- reading ---- */

/* Three values: a field that is absent must not be taken for "no", which would change the session. */
static struct rc read_said(const struct json *message, const char *key, enum said *ret_said, struct err *err)
{
    bool yes = false;
    const struct json *given = json_get(message, key);
    TRY(json_want_bool(message, key, &yes, err));
    if (given && given->type != JSON_NULL)
        *ret_said = yes ? SAID_YES : SAID_NO;
    return RC_OK;
}

static struct rc read_choices(const struct json *message, struct order *order, struct err *err)
{
    TRY(json_want_str(message, "permission_mode", LIMIT_NAME_BYTES, &order->mode, err));
    TRY(json_want_bool(message, "continue", &order->go_on, err));
    TRY(read_said(message, "auto_approve_read", &order->safe, err)); /* another name of auto_approve_safe */
    TRY(read_said(message, "auto_approve_safe", &order->safe, err));
    TRY(json_want_i64(message, "approval_timeout", 1, LIMIT_TIMEOUT_SECONDS, &order->timeout_seconds, err));
    TRY(json_want_str(message, "session_id", LIMIT_ID_BYTES, &order->session, err));
    TRY(json_want_str(message, "cwd", LIMIT_PATH_BYTES, &order->cwd, err));
    if (order->mode.n && !str_is(order->mode, "sdk") && !str_is(order->mode, "toolApproval") &&
        !str_is(order->mode, "bypassPermissions"))
        return err_set(err, ERR_INVALID, "permission_mode must be sdk, bypassPermissions or toolApproval");
    if (order->cwd.n && order->cwd.p[0] != '/')
        return err_set(err, ERR_INVALID, "\"cwd\" must be an absolute path");
    return RC_OK;
}

/* A key in a message is refused and not ignored, so that nobody goes on sending one. */
static struct rc read_start(const struct json *message, struct run_op *start, struct err *err)
{
    TRY(json_want_str(message, "prompt", PROMPT_BYTES_MAX, &start->prompt, err));
    TRY(json_want_str(message, "model", LIMIT_NAME_BYTES, &start->model, err));
    TRY(json_want_str(message, "system_prompt", PROMPT_BYTES_MAX, &start->system, err));
    TRY(json_want_i64(message, "max_tokens", 1, ANSWER_TOKENS_MAX, &start->answer_tokens, err));
    start->iterations_max = ITERATIONS_MAX; /* the default: in this protocol a run ends with the model's last answer */
    TRY(json_want_i64(message, "max_iterations", 1, ITERATIONS_MAX, &start->iterations_max, err));
    if (json_get(message, "api_key"))
        return err_set(err, ERR_INVALID, "\"api_key\": keys are set where the server runs, and are never sent");
    if (str_empty(str_trim(start->prompt)))
        return err_set(err, ERR_INVALID, "\"prompt\" is missing");
    return RC_OK;
}

/* ---- the run ---- */

/* Starts the run. The client is told of this act only if it fails: everything else it sees in the run's events. */
static void execute(struct terminal_act *act)
{
    act->next = (struct run_op){.op = gate_op(&act->arena, terminal_act_done, act), .session = act->start.session,
                                .thread = act->start.thread, .actor = act->start.actor};
    runtime_execute(act->terminal->api->runtime, &act->next);
}

static void cancelled(struct op *op) { terminal_act_free(op->owner); }

/* The run was made but its settings could not be stored: it is ended, so that it does not run with others. */
static void loosened(struct op *op)
{
    struct session_change *change = (struct session_change *)op;
    struct terminal_act *act = change->op.owner;
    if (!change->op.err) {
        execute(act);
        return;
    }
    terminal_error(act->terminal, act->id, str_of(change->op.err->text));
    act->next = (struct run_op){.op = gate_op(&act->arena, cancelled, act), .session = act->start.session,
                                .thread = act->start.thread, .id = act->start.id, .actor = act->start.actor};
    runtime_cancel(act->terminal->api->runtime, &act->next);
}

static void change_settings(struct terminal_act *act, void (*done)(struct op *op))
{
    act->change = (struct session_change){.op = gate_op(&act->arena, done, act), .id = act->start.session,
                                          .data = act->order->settings, .actor = act->start.actor};
    gate_change_session(act->terminal->api->gate, &act->change);
}

/* The run is stored and does not run yet: looser settings come first. */
static void started(struct op *op)
{
    const struct run_op *start = (const struct run_op *)op;
    struct terminal_act *act = op->owner;
    struct terminal *terminal = act->terminal;
    struct view *view = terminal_view_find(terminal, start->session);
    if (op->err) {
        if (view && !view->watching)
            terminal_view_free(view);
        fail(act, str_of(op->err->text));
        return;
    }
    if (view && act->id.n) {
        view->tagged = true;
        terminal_ack(act, "run", view);
    }
    if (view && !view->watching && act->order->go_on)
        view->quiet = arena_str(&view->arena, start->id);
    if (view)
        terminal_view_watch(view);
    if (act->order->looser)
        change_settings(act, loosened);
    else
        execute(act);
}

static void make_run(struct terminal_act *act)
{
    act->start.op = gate_op(&act->arena, started, act);
    runtime_create(act->terminal->api->runtime, &act->start);
}

/* ---- in a session that there is ---- */

static void tightened(struct op *op)
{
    struct session_change *change = (struct session_change *)op;
    struct terminal_act *act = change->op.owner;
    if (!change->op.err)
        make_run(act);
    else
        fail(act, str_of(change->op.err->text));
}

static struct str effect_of(const struct session *session, const char *tool)
{
    for (size_t i = 0; i < session->tool_count; i++)
        if (str_is(session->tools[i].tool, tool))
            return session->tools[i].effect;
    return STR_NONE;
}

/* The mode that the prompt chose, of the session's own names; as it is when it chose none and that asks. */
static struct str mode_of(const struct order *order, const struct session *session)
{
    if (str_is(order->mode, "bypassPermissions"))
        return order->mode;
    if (order->mode.n || str_is(session->mode, "bypassPermissions"))
        return STR("default");
    return session->mode;
}

static bool is_strict(struct str mode) { return str_is(mode, "default") || str_is(mode, "plan"); }

/* A deny stays: a prompt can neither turn it into an ask nor remove it. */
static void write_safe(struct json_out *out, struct order *order, const struct session *session)
{
    for (size_t i = 0; i < sizeof safe_tools / sizeof *safe_tools; i++) {
        struct str effect = effect_of(session, safe_tools[i]);
        bool asks = str_is(effect, "ask");
        if (order->safe == SAID_NO && !asks && !str_is(effect, "deny"))
            json_member(out, safe_tools[i], STR("ask"));
        if (order->safe == SAID_YES && asks) {
            json_member_null(out, safe_tools[i]);
            order->looser = order->signs = true;
        }
    }
}

/* A plan session that leaves its mode may do more than before, so that its change counts as looser, too. */
static void read_settings(struct terminal_act *act, const struct session *session)
{
    struct order *order = act->order;
    struct str mode = mode_of(order, session);
    struct data_session_settings settings = {.timeout_seconds = order->timeout_seconds ? order->timeout_seconds : -1};
    JSON_SCOPE(buf, out, LIMIT_EVENT_BYTES);
    if (!str_eq(mode, session->mode)) {
        settings.mode = mode;
        order->signs = !is_strict(mode);
        order->looser = order->signs || str_is(session->mode, "plan");
    }
    if (order->safe != UNSAID) {
        json_open(&out, '{');
        write_safe(&out, order, session);
        json_close(&out, '}');
        settings.policies = buf_str(&buf);
    }
    if (settings.mode.n || settings.policies.n || order->timeout_seconds)
        order->settings = shape_data(&act->arena, shape_session_settings(), &settings);
}

/* The client may have gone meanwhile: then nothing is begun that nobody would see. */
static void session_found(struct op *op)
{
    const struct session *session = ((struct session_look *)op)->session;
    struct terminal_act *act = op->owner;
    struct terminal *terminal = act->terminal;
    if (op->err || !terminal->socket) {
        fail(act, op->err ? str_of(op->err->text) : STR_NONE);
        return;
    }
    if (!session || !token_may_see(terminal->token, session)) {
        fail(act, STR("there is no such session"));
        return;
    }
    if (act->order->cwd.n && !str_eq(act->order->cwd, session->cwd)) {
        fail(act, STR("a session keeps its folder; begin a new one for another \"cwd\""));
        return;
    }
    read_settings(act, session);
    if (refused(act))
        return;
    struct view *view = terminal_view_find(terminal, session->id);
    if (!view && !(view = terminal_view_new(terminal, session->id, session->main_thread))) {
        fail(act, STR("too many sessions run on this socket; open another"));
        return;
    }
    terminal_view_to_front(view);
    act->start.session = arena_str(&act->arena, session->id);
    act->start.thread = arena_str(&act->arena, session->main_thread);
    if (act->order->settings.n && !act->order->looser)
        change_settings(act, tightened);
    else
        make_run(act);
}

static void go_on(struct terminal_act *act)
{
    act->look = (struct session_look){.op = gate_op(&act->arena, session_found, act), .id = act->order->session};
    gate_session(act->terminal->api->gate, &act->look);
}

/* ---- a run in a new session ---- */

static void session_made(struct op *op)
{
    struct session_change *change = (struct session_change *)op;
    struct terminal_act *act = change->op.owner;
    struct terminal *terminal = act->terminal;
    if (op->err || !terminal->socket) {
        fail(act, op->err ? str_of(op->err->text) : STR_NONE);
        return;
    }
    if (!terminal_view_new(terminal, change->id, change->thread)) {
        fail(act, STR("too many sessions run on this socket; open another"));
        return;
    }
    act->start.session = change->id;
    act->start.thread = change->thread;
    make_run(act);
}

/* Tool policies {"Read":"ask",…} for a run in which reading is asked about, too; empty: the session's own hold. */
static struct str safe_policies(struct terminal_act *act)
{
    JSON_SCOPE(buf, out, LIMIT_EVENT_BYTES);
    if (act->order->safe != SAID_NO)
        return STR_NONE;
    json_open(&out, '{');
    for (size_t i = 0; i < sizeof safe_tools / sizeof *safe_tools; i++)
        json_member(&out, safe_tools[i], STR("ask"));
    json_close(&out, '}');
    return arena_str(&act->arena, buf_str(&buf));
}

/* Without a timeout of its own or of the server a call would wait for ever on a terminal that nobody looks at. */
static void begin(struct terminal_act *act)
{
    struct order *order = act->order;
    const struct terminal *terminal = act->terminal;
    int64_t seconds = terminal->api->timeout_seconds ? terminal->api->timeout_seconds : TIMEOUT_SECONDS;
    struct data_session_created created = {
        .title = STR("terminal"),
        .cwd = order->cwd.n ? order->cwd : terminal->cwd,
        .mode = str_is(order->mode, "bypassPermissions") ? order->mode : STR_NONE,
        .policies = safe_policies(act),
        .timeout_seconds = order->timeout_seconds ? order->timeout_seconds : seconds,
        .owner = terminal->token->id,
    };
    order->signs = !str_empty(created.mode);
    if (refused(act))
        return;
    act->change = (struct session_change){.op = gate_op(&act->arena, session_made, act), .created = &created,
                                          .actor = act->start.actor};
    gate_change_session(terminal->api->gate, &act->change);
}

/* Copies what the act still needs: the message's bytes are freed when this call returns. */
static void own(struct terminal_act *act)
{
    struct order *order = act->order;
    act->start.actor = act->terminal->token->name;
    ARENA_KEEP(&act->arena, &order->session, &order->mode, &order->cwd, &act->start.prompt, &act->start.model,
               &act->start.system, &act->start.actor);
}

void terminal_run(struct terminal *terminal, const struct json *message)
{
    struct terminal_act *act = terminal_act_new(terminal, message);
    struct order *order = act->order = arena_new(&act->arena, struct order);
    struct err err;
    if (rc_bad(read_choices(message, order, &err)) || rc_bad(read_start(message, &act->start, &err))) {
        fail(act, str_of(err.text));
        return;
    }
    order->go_on = order->go_on || order->session.n;
    if (order->go_on && str_empty(order->session) && terminal->views)
        order->session = terminal->views->session;
    own(act);
    if (!order->go_on && !str_empty(terminal->token->session))
        fail(act, STR("this token is bound to one session; name it as \"session_id\""));
    else if (!order->go_on)
        begin(act);
    else if (str_empty(order->session))
        fail(act, STR("there is nothing to continue on this socket; name the session as \"session_id\""));
    else
        go_on(act);
}
