/* Messages of an ACP conversation that wait at the gate, each in a thread of its own.
 *
 * 1. An agent's ask is answered by an option of the right kind, and never by one that it would remember.
 * 2. A file that is written, a command that is started and a switch of the mode are passed on when they are allowed,
 *    and answered with an error when not; a session that begins in a mode that is denied ends with its agent. A
 *    message that carries out an act which was allowed a moment ago is not asked about again.
 * 3. A form is a question to a person, whose answers become the editor's.
 * 4. Each is answered once: by the gate, or as cancelled when whoever asked takes it back.
 */
#include "cli/relay/acp.h"

#include "agents/agents.h"
#include "agents/forms.h"
#include "agents/rpc.h"
#include "base/id.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/lock.h"
#include "io/file.h"

enum { RPC_DENIED = -32000, RPC_BAD_PARAMS = -32602, RPC_CANCELLED = -32800 };

/* A message that waits at the gate; owned by its thread, in the list of struct acp until it is answered. */
struct acp_held {
    struct acp *acp;
    struct acp_session *session;
    struct acp_held *next;
    struct arena arena;
    struct acp_message message;
    struct acp_tool tool;
    struct acp_ask ask;
    struct plan plan;        /* of a file that we are to write */
    struct str line, call, tool_id;
    struct str mode;         /* the mode asked about; empty: it is a request of the agent, not a switch of mode */
    const char *trouble;     /* why it is refused without asking anybody; NULL: it is asked about */
    bool permission, only_rules, form;
    bool answered;           /* with the lock held */
    atomic_bool cancelled;
};

/* True for the first caller: it alone may answer. */
static bool claim(struct acp_held *held)
{
    LOCK_SCOPE(&held->acp->lock);
    bool mine = !held->answered;
    held->answered = true;
    return mine;
}

static struct str folder_of(const struct acp_held *held, const struct acp_ask *ask)
{
    return str_empty(ask->cwd) ? held->session->gate.cwd : ask->cwd;
}

/* ---- the gate ---- */

/* Asks the gate and waits, in a thread of its own, until there is an answer or the asker takes it back. */
static struct rc judge(struct acp_held *held, struct call *ret_call, struct err *err)
{
    struct acp *acp = held->acp;
    struct relay_gate *gate = &held->session->gate;
    struct relay_ask asked = {.gate = gate, .arena = &held->arena, .cancelled = &held->cancelled};
    if (held->trouble)
        return err_set(err, ERR_INVALID, "%s", held->trouble);
    TRY(held->permission ? acp_ask_read(&held->arena, acp->agent, &held->tool, &held->ask, err)
                         : acp_act_read(&held->arena, &held->message, held->mode, &held->ask, err));
    if (acp->headless && str_is(held->message.method, "fs/write_text_file"))
        TRY(acp_plan_write(&held->arena, gate->cwd, held->message.params, &held->plan, err));
    (void)pthread_mutex_lock(&acp->session_lock);
    struct rc rc = relay_gate_session(gate, err);
    (void)pthread_mutex_unlock(&acp->session_lock);
    TRY(rc);
    struct relay_question question = {
        .id = held->call, .name = held->ask.name, .input = held->ask.input, .dialect = held->ask.dialect,
        .cwd = held->permission ? gate->cwd : folder_of(held, &held->ask),
        .by_default = held->form ? STR("ask") : STR_NONE, .only_rules = held->only_rules};
    TRY(relay_ask_about(&asked, &question, err));
    *ret_call = asked.call;
    return RC_OK;
}

/* ---- answers ---- */

/* Sends the reason of a denial to the editor, and to the model with the next prompt: the agent gets no reason. */
static void tell_denial(struct acp_held *held, struct str words)
{
    struct acp *acp = held->acp;
    BUF_SCOPE(line, LIMIT_BODY_BYTES);
    if (str_empty(held->tool_id))
        return;
    acp_tool_failed(&line, held->session->id, held->tool_id, words);
    lock_take(&acp->lock);
    buf_printf(&held->session->words, "%.*s was not allowed: %.*s\n", STR_ARG(held->ask.name), STR_ARG(words));
    if (held->session->words.over)
        buf_clear(&held->session->words);
    lock_drop(&acp->lock);
    if (!line.over)
        (void)relay_pipe_send(&acp->editor, &line);
}

/* The key under which an allowed command is remembered: one in another folder must be asked about again. */
static struct str terminal_in(struct acp_held *held, const struct acp_ask *ask)
{
    return arena_printf(&held->arena, "terminal %.*s", STR_ARG(folder_of(held, ask)));
}

/* Whether the change shown replaces the whole file, so that writing the new text does nothing that was not shown. */
static bool shows_whole(struct acp_held *held)
{
    struct str there = STR_NONE, path = held->ask.path;
    if (str_empty(path) || str_empty(held->ask.old))
        return !str_empty(path);
    const char *name = arena_printf(&held->arena, "%.*s", STR_ARG(path)).p;
    return rc_ok(file_read(&held->arena, name, ACP_LINE_BYTES, &there, NULL)) && str_eq(there, held->ask.old);
}

/* Agents ask and then act by a second request. What was allowed here is remembered, so that the act is not asked
 * about again. */
static void remember_allow(struct acp_held *held)
{
    struct acp_session *session = held->session;
    bool whole = held->permission && shows_whole(held);
    LOCK_SCOPE(&held->acp->lock);
    if (!str_empty(held->tool_id))
        acp_known(session, held->tool_id)->call = arena_str(&session->arena, held->call);
    if (whole)
        acp_cover(session, held->ask.path, held->ask.text);
    if (held->permission && !str_empty(held->ask.command))
        acp_cover(session, terminal_in(held, &held->ask), held->ask.command);
}

/* Answered once: a cancelled turn may have answered it in the meantime (claim). */
static void answer_permission(struct acp_held *held, bool allowed, struct str words)
{
    BUF_SCOPE(line, LIMIT_BODY_BYTES);
    if (!claim(held))
        return;
    if (allowed)
        remember_allow(held);
    if (!acp_answer(&line, held->acp->agent, &held->message, allowed)) {
        relay_report(&held->session->gate, held->call, STR("\"the agent offers no way to allow it once\""), true);
        allowed = false;
        words = STR("The agent offers no way to allow it once.");
    }
    if (!allowed)
        tell_denial(held, words); /* first: the answer may end the turn, and the words belong to the prompt after it */
    (void)relay_pipe_send(&held->acp->child.in, &line);
}

static bool of_agent(const struct acp_held *held) { return str_empty(held->mode); }

/* Carries an allowed request of the agent out, as there is no editor. `call`: empty when another call covers it. */
static void serve(struct acp_held *held, struct str call)
{
    struct acp *acp = held->acp;
    struct err err = {.code = ERR_OK};
    BUF_SCOPE(line, ACP_LINE_BYTES * 2);
    bool starts = str_is(held->message.method, "terminal/create");
    struct rc rc = starts ? acp_serve_terminal(acp, held->session, &held->message, &held->ask, call, &line, &err)
                          : acp_serve_file(acp, held->session, &held->message, &held->plan, &line, &err);
    if (!str_empty(call) && (!starts || rc_bad(rc))) {
        JSON_SCOPE(said, out, LIMIT_BODY_BYTES);
        json_put_str(&out, rc_ok(rc) ? STR("done") : str_of(err.text));
        relay_report(&held->session->gate, call, buf_str(&said), rc_bad(rc));
    }
    (void)relay_pipe_send(&acp->child.in, &line);
}

/* Passes an allowed message on to its receiver, or answers its sender with an error. */
static void answer_act(struct acp_held *held, bool allowed, struct str words)
{
    struct acp *acp = held->acp;
    BUF_SCOPE(line, LIMIT_BODY_BYTES);
    bool begins = str_empty(held->message.method);
    struct relay_pipe *to = of_agent(held) ? &acp->editor : &acp->child.in;
    if (!claim(held))
        return;
    if (allowed && !of_agent(held)) {
        lock_take(&acp->lock);
        held->session->mode = arena_str(&held->session->arena, held->mode);
        lock_drop(&acp->lock);
    }
    if (allowed && of_agent(held) && acp->headless) {
        serve(held, held->call);
        return;
    }
    if (allowed && begins)
        acp_deliver(acp, held->message.id, held->line);
    if (allowed && (begins || relay_pipe_put(to, held->line)))
        return;
    rpc_error(&line, held->message.id, of_agent(held) ? RPC_DENIED : RPC_BAD_PARAMS, words);
    if (of_agent(held))
        (void)relay_pipe_send(&acp->child.in, &line);
    else
        acp_deliver(acp, held->message.id, str_sub(buf_str(&line), 0, line.n - 1));
    if (begins)
        acp_end_agent(acp);
}

/* `call` NULL: nobody could be asked. */
static void answer_form(struct acp_held *held, const struct call *call)
{
    BUF_SCOPE(line, ACP_LINE_BYTES);
    if (!claim(held))
        return;
    if (form_answer(&line, held->message.id, held->message.params, call))
        relay_report(&held->session->gate, held->call, STR("\"the agent has the answers\""), false);
    (void)relay_pipe_send(&held->acp->child.in, &line);
}

static void end_turn(struct acp_held *held)
{
    BUF_SCOPE(line, LIMIT_BODY_BYTES);
    (void)acp_take_back(held->acp, held->session->id, STR_NONE);
    acp_cancel_turn(&line, held->session->id);
    (void)relay_pipe_send(&held->acp->child.in, &line);
}

/* The waiting thread's last act, in any case: the list holds only requests that still wait. */
static void leave(struct acp_held *held)
{
    struct acp *acp = held->acp;
    lock_take(&acp->lock);
    LIST_REMOVE(acp->held, held);
    acp->held_count--;
    lock_drop(&acp->lock);
    arena_free(held);
}

/* A thread for each request that waits, detached. Whatever is not a plain permission is answered as a refusal. */
static void *wait_at_gate(void *arg)
{
    struct acp_held *held = arg;
    struct err err = {.code = ERR_OK};
    struct call call = {0};
    struct rc rc = judge(held, &call, &err);
    bool passes = rc_ok(rc) && ((call.status == CALL_ALLOWED && call_allowed(&call)) ||
                                (held->only_rules && call.status == CALL_UNKNOWN));
    bool edited = passes && !str_empty(call.updated_input);
    struct str words = rc_bad(rc) ? arena_printf(&held->arena, "Nod did not allow this: %s", err.text)
                       : edited   ? arena_printf(&held->arena, "A person wants another input; ask again with it: %.*s",
                                                 STR_ARG(call.updated_input))
                                  : agent_words(&held->arena, &call);
    if (edited && !held->form)
        relay_report(&held->session->gate, held->call, STR("\"the agent cannot run an edited call\""), true);
    if (held->form)
        answer_form(held, rc_ok(rc) ? &call : NULL);
    else if (held->permission)
        answer_permission(held, passes && !edited, words);
    else
        answer_act(held, passes && !edited, words);
    if (rc_ok(rc) && call.status == CALL_ABORTED)
        end_turn(held);
    leave(held);
    return NULL;
}

/* ---- taking messages over ---- */

static bool covered(struct acp_held *held)
{
    struct acp_ask *ask = &held->ask;
    if (held->permission || rc_bad(acp_act_read(&held->arena, &held->message, STR_NONE, ask, NULL)))
        return false;
    if (str_is(ask->name, "Write"))
        return acp_covered(held->session, ask->path, ask->text);
    return str_is(ask->name, "Bash") && acp_covered(held->session, terminal_in(held, ask), ask->command);
}

/* With the lock held. Each of these is refused at once, without asking anybody. */
static const char *trouble_of(struct acp *acp, const struct acp_held *held)
{
    for (const struct acp_held *other = acp->held; other; other = other->next)
        if (of_agent(other) == of_agent(held) && str_eq(other->message.id, held->message.id))
            return "a request of this id is open already";
    if (acp->box && str_is(held->message.method, "terminal/create"))
        return "the agent is in a box, and a terminal of the editor is not";
    if (acp->box && acp->headless && acp_acts(held->message.method))
        return "the agent is in a box, and has files of its own there";
    return acp->held_count >= ACP_HELD_MAX ? "too much waits for an answer already" : NULL;
}

/* With the lock held. */
static void describe(struct acp_held *held)
{
    const struct json *tool = json_get(held->message.params, "toolCall");
    held->permission = str_is(held->message.method, "session/request_permission");
    /* An agent in a box sees no more through the editor than a person allows; without an editor it is Nod who reads. */
    held->only_rules = str_is(held->message.method, "fs/read_text_file") && !held->acp->box && !held->acp->headless;
    held->form = str_is(held->message.method, "elicitation/create");
    if (!held->permission)
        return;
    held->tool_id = json_text(tool, "toolCallId");
    struct acp_known *known = acp_known(held->session, held->tool_id);
    acp_tool_learn(&known->arena, &known->tool, tool);
    acp_tool_learn(&held->arena, &held->tool, tool);
    const struct {
        struct str *mine, known;
    } members[] = {{&held->tool.title, known->tool.title},     {&held->tool.kind, known->tool.kind},
                   {&held->tool.input, known->tool.input},     {&held->tool.content, known->tool.content},
                   {&held->tool.locations, known->tool.locations}, {&held->tool.meta, known->tool.meta}};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (str_empty(*members[i].mine))
            *members[i].mine = arena_str(&held->arena, members[i].known);
}

/* The message waits at the gate; the conversation goes on meanwhile. */
void acp_hold(struct acp *acp, struct acp_session *session, const struct acp_message *message, struct str mode)
{
    struct acp_held *held = heap_new(sizeof *held);
    held->acp = acp;
    held->session = session;
    held->mode = arena_str(&held->arena, mode);
    held->line = arena_str(&held->arena, message->json->raw);
    held->call = arena_str(&held->arena, str_of(id_new("call").text));
    CHECK(rc_ok(acp_read(&held->arena, held->line, &held->message, NULL))); /* it was read before */
    lock_take(&acp->lock);
    held->trouble = trouble_of(acp, held);
    describe(held);
    bool passes = of_agent(held) && !held->trouble && covered(held);
    held->next = acp->held;
    acp->held = held;
    acp->held_count++;
    lock_drop(&acp->lock);
    if (!passes && rc_ok(cli_start_thread(wait_at_gate, held, NULL)))
        return;
    if (passes && acp->headless)
        serve(held, STR_NONE);
    else if (passes)
        (void)relay_pipe_put(&acp->editor, held->line);
    leave(held);
}

/* The agent or the editor cancels: the call is answered as cancelled and withdrawn at the gate. */
bool acp_take_back(struct acp *acp, struct str session, struct str id)
{
    ARENA_SCOPE(arena);
    struct taken {
        struct str id, call;
        struct relay_gate *gate;
        bool permission;
    } taken[ACP_HELD_MAX];
    size_t count = 0;
    lock_take(&acp->lock);
    for (struct acp_held *held = acp->held; held && count < ACP_HELD_MAX; held = held->next) {
        bool meant = (str_empty(session) || str_eq(held->session->id, session)) &&
                     (str_empty(id) || str_eq(held->message.id, id));
        if (!meant || held->answered || !of_agent(held))
            continue;
        held->answered = true;
        atomic_store(&held->cancelled, true);
        taken[count++] = (struct taken){arena_str(&arena, held->message.id), arena_str(&arena, held->call),
                                        &held->session->gate, held->permission};
    }
    lock_drop(&acp->lock);
    for (size_t i = 0; i < count; i++) {
        BUF_SCOPE(line, LIMIT_BODY_BYTES);
        if (taken[i].permission && str_empty(id))
            acp_answer_cancelled(&line, taken[i].id);
        else
            rpc_error(&line, taken[i].id, RPC_CANCELLED, STR("taken back"));
        (void)relay_pipe_send(&acp->child.in, &line);
        if (!str_empty(taken[i].gate->session))
            relay_ask_cancel(taken[i].gate, taken[i].call);
    }
    return count > 0;
}
