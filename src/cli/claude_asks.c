/* Questions of Claude Code on their way to the gate and back, each in a thread of its own.
 *
 * 1. A question is asked under its tool_use_id, so that asking again is asking about the same call: a server
 *    that goes away is waited for, for as long as Claude Code wants the answer. Nothing is allowed meanwhile.
 * 2. It is answered at most once, and not after Claude Code took it back.
 * 3. A question that the server does not accept (no token, too large, not understood) is refused with its words.
 * 4. If this process dies, the server sees the connection end and takes the call back.
 */
#include "agents/lines.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/lock.h"
#include "cli/body.h"
#include "cli/claude.h"
#include "cli/claude_screen.h"
#include "cli/remote.h"
#include "cli/run.h"
#include "cli/view.h"
#include "http/http.h"

#include <unistd.h>

enum {
    WAIT_PIECE_S = 600,
    WAIT_FIRST_S = 1,      /* an answer within this time is not announced */
    SUMMARY_COLUMNS = 100,
    ANSWER_MS_MORE = 30000,
    BACKOFF_MS_MIN = 100,
    BACKOFF_MS_MAX = 2000,
};

/* One question, owned by its thread; in the list of struct claude_asks while it is open. */
struct claude_asking {
    struct claude_asks *asks;
    struct claude_asking *next;
    struct arena arena;
    struct claude_message message; /* its strings are in the arena */
    struct str id, name, thread; /* of the call, as the server knows it */
    struct http_client *client; /* the thread's own connection */
    bool cancelled, differs, told_away, told_waiting; /* differs: the input is not the one that the hook had seen */
};

/* ---- the list ---- */

void claude_asks_init(struct claude_asks *asks) { (void)pthread_mutex_init(&asks->lock, NULL); }

static bool is_cancelled(struct claude_asking *asking)
{
    LOCK_SCOPE(&asking->asks->lock);
    return asking->cancelled;
}

/* The asking thread's last act: the list no longer names it, and its memory goes. */
static void leave(struct claude_asking *asking)
{
    struct claude_asks *asks = asking->asks;
    (void)pthread_mutex_lock(&asks->lock);
    LIST_REMOVE(asks->first, asking);
    asks->open--;
    (void)pthread_mutex_unlock(&asks->lock);
    if (asking->client)
        http_client_free(asking->client);
    arena_free(asking);
}

unsigned claude_asks_open(struct claude_asks *asks)
{
    LOCK_SCOPE(&asks->lock);
    return asks->open;
}

/* ---- threads of sub-agents ---- */

struct str claude_thread(struct arena *arena, const struct claude_asks *asks, struct str agent)
{
    if (str_empty(agent))
        return asks->thread;
    return arena_printf(arena, "%.*s.%.*s", STR_ARG(asks->session), STR_ARG(agent));
}

static struct str thread_body(struct arena *arena, const struct claude_asks *asks, struct str agent,
                              struct str title)
{
    return json_object_str(arena, J("name", agent), J("title", title), J("parentId", asks->thread));
}

static struct str threads_target(struct arena *arena, const struct claude_asks *asks)
{
    return arena_printf(arena, "/api/sessions/%.*s/threads", STR_ARG(asks->session));
}

void claude_thread_post(struct claude_asks *asks, const struct claude_message *task)
{
    ARENA_SCOPE(arena);
    struct str title = json_text(task->json, "description");
    if (title.n > LIMIT_TITLE_BYTES / 4)
        title = str_sub(title, 0, LIMIT_TITLE_BYTES / 4);
    relay_record_post(asks->record, threads_target(&arena, asks), thread_body(&arena, asks, task->agent, title));
}

/* ---- one question ---- */

static void send_line(struct claude_asking *asking, const struct buf *line)
{
    if (!is_cancelled(asking))
        (void)relay_pipe_send(asking->asks->pipe, line);
}

static void refuse(struct claude_asking *asking, struct str words)
{
    BUF_SCOPE(line, LINE_BYTES_MAX);
    claude_refuse(&line, &asking->message, words);
    send_line(asking, &line);
}

/* On the asking thread. The pipe to Claude Code has its own lock, so that lines of several threads do not mix. */
static void answer(struct claude_asking *asking, const struct call *call)
{
    BUF_SCOPE(line, LINE_BYTES_MAX);
    const struct claude_message *message = &asking->message;
    if (message->kind == CLAUDE_ASK)
        claude_answer(&line, message, call, asking->asks->cli->settings.claude_rules);
    else if (message->kind == CLAUDE_BEFORE)
        claude_answer_before(&line, message, call);
    else
        claude_answer_elicit(&line, message, call);
    send_line(asking, &line);
}

/* The id under which it is asked. */
static struct str call_id(const struct claude_asking *asking, struct arena *arena)
{
    return asking->differs ? arena_printf(arena, "%.*s.asked", STR_ARG(asking->id)) : asking->id;
}

/* A hook before a tool asks rules only: Claude Code itself decides next whether a person must be asked. */
static struct str ask_body(struct claude_asking *asking, struct arena *arena)
{
    JSON_SCOPE(buf, out, LINE_BYTES_MAX);
    const struct claude_message *message = &asking->message;
    relay_put_question(&out, &(struct relay_question){
        .id = call_id(asking, arena), .name = asking->name, .input = message->input->raw, .cwd = asking->asks->cwd,
        .only_rules = message->kind == CLAUDE_BEFORE,
        .by_default = message->kind != CLAUDE_BEFORE   ? STR("ask")
                      : agent_mode_asks(message->mode) ? STR("leave")
                                                       : STR("ask-acts")});
    return arena_str(arena, buf_str(&buf));
}

enum outcome { ANSWERED, ASK_AGAIN, AWAY };

/* Tells the terminal, once per question, what a person is asked about and where, or asks there. */
static void tell_waiting(struct claude_asking *asking, struct arena *arena)
{
    static pthread_mutex_t terminal = PTHREAD_MUTEX_INITIALIZER; /* one question at a time */
    struct claude_asks *asks = asking->asks;
    struct str id = call_id(asking, arena);
    struct running here = {.cli = asks->person, .session = asks->session, .asks = true, .fresh = true};
    struct err err = {.code = ERR_OK};
    if (asking->told_waiting)
        return;
    asking->told_waiting = true;
    if (asks->on_screen)
        return;
    if (asks->person) {
        (void)pthread_mutex_lock(&terminal);
        if (rc_bad(run_ask(&here, arena, id, &err)))
            cli_note("nod: %s", err.text);
        (void)pthread_mutex_unlock(&terminal);
        return;
    }
    cli_note("nod: waiting for your answer: %.*s %.*s", STR_ARG(text_line(arena, asking->name)),
             STR_ARG(text_fit(arena, text_summary(arena, asking->message.input), SUMMARY_COLUMNS)));
    cli_note("nod: answer with nod watch, nod approve %.*s, or on the page (nod login)",
             STR_ARG(text_operand(arena, id)));
}

static void tell_answered(const struct claude_asking *asking, struct arena *arena, const struct json *call)
{
    struct str decision = body_decision(arena, call), summary = text_summary(arena, asking->message.input);
    bool allowed = str_is(json_text(call, "status"), "allowed");
    if (!asking->asks->on_screen && asking->told_waiting)
        cli_note("nod: %.*s: %.*s", STR_ARG(text_line(arena, asking->name)), STR_ARG(decision));
    if (!asking->asks->on_screen || str_empty(json_text(call, "decision")))
        return;
    struct str line = arena_printf(arena, "  %s %.*s %.*s", allowed ? "✓" : "✕", STR_ARG(asking->name),
                                   STR_ARG(text_fit(arena, summary, SUMMARY_COLUMNS)));
    claude_screen_tell(allowed ? '=' : '^', line, decision);
}

/* Handles an error of the server: tries again where that can help, else refuses the call. */
static enum outcome refused(struct claude_asking *asking, struct arena *arena, const struct http_response *response)
{
    const struct json *json = NULL;
    if (response->status == 503 || response->status == 429)
        return AWAY;
    if (rc_bad(json_parse(arena, response->body, &json, NULL)))
        json = NULL;
    struct str code = json_text(json_get(json, "error"), "code");
    struct str words = json_text(json_get(json, "error"), "message");
    if (str_is(code, "call_differs") && !asking->differs) {
        (void)pthread_mutex_lock(&asking->asks->lock);
        asking->differs = true; /* Claude Code changed the input after the hook had seen it */
        (void)pthread_mutex_unlock(&asking->asks->lock);
        return ASK_AGAIN;
    }
    refuse(asking, arena_printf(arena, "Nod refuses (status %d): %.*s", response->status, STR_ARG(words)));
    return ANSWERED;
}

/* One request that waits up to WAIT_FIRST_S, later longer; the same id each time. */
static enum outcome attempt(struct claude_asking *asking)
{
    ARENA_SCOPE(arena);
    struct http_response response = {0};
    struct err err = {.code = ERR_OK};
    const struct json *json = NULL;
    struct call call;
    int wait_s = asking->told_waiting ? WAIT_PIECE_S : WAIT_FIRST_S;
    struct str body = ask_body(asking, &arena);
    struct str target = arena_printf(&arena, "/api/threads/%.*s/tool-calls?withdraw=1&wait=%d%s",
                                     STR_ARG(asking->thread), wait_s,
                                     body.n > LIMIT_BODY_BYTES ? "&large=1" : "");
    struct rc rc = http_client_call(asking->client, &arena, "POST", target, body,
                                    wait_s * 1000 + ANSWER_MS_MORE, &response, &err);
    if (rc.code == ERR_UNAVAILABLE || rc.code == ERR_TIMEOUT)
        return AWAY;
    if (rc_ok(rc) && response.status != 200)
        return refused(asking, &arena, &response);
    if (rc_ok(rc))
        rc = json_parse(&arena, response.body, &json, &err);
    if (rc_ok(rc))
        rc = agent_call_read(&arena, json, &call, &err);
    if (rc_bad(rc)) {
        refuse(asking, arena_printf(&arena, "Nod refuses: %s", err.text));
        return ANSWERED;
    }
    if (call.status == CALL_AWAITING) {
        tell_waiting(asking, &arena);
        return ASK_AGAIN;
    }
    tell_answered(asking, &arena, json);
    answer(asking, &call);
    return ANSWERED;
}

/* A sub-agent's thread is there before its first question. */
static bool make_thread(struct claude_asking *asking)
{
    ARENA_SCOPE(arena);
    struct http_response response = {0};
    struct claude_asks *asks = asking->asks;
    struct str agent = asking->message.agent;
    if (str_empty(agent))
        return true;
    struct rc rc = http_client_call(asking->client, &arena, "POST", threads_target(&arena, asks),
                                    thread_body(&arena, asks, agent, STR_NONE), ANSWER_MS_MORE, &response, NULL);
    return rc_ok(rc) && response.status != 503 && response.status != 429;
}

static void back_off(struct claude_asking *asking, int64_t *backoff_ms)
{
    if (!asking->told_away)
        cli_note("nod: the server is away; %.*s waits until it is back", STR_ARG(asking->name));
    asking->told_away = true;
    (void)usleep((useconds_t)(*backoff_ms * 1000));
    *backoff_ms = *backoff_ms * 2 < BACKOFF_MS_MAX ? *backoff_ms * 2 : BACKOFF_MS_MAX;
}

/* The thread of one question: asks until it is answered or taken back. */
static void *ask(void *arg)
{
    struct claude_asking *asking = arg;
    int64_t backoff_ms = BACKOFF_MS_MIN;
    bool has_thread = false;
    while (!is_cancelled(asking)) {
        has_thread = has_thread || make_thread(asking);
        enum outcome outcome = has_thread ? attempt(asking) : AWAY;
        if (outcome == ANSWERED)
            break;
        if (outcome == AWAY)
            back_off(asking, &backoff_ms);
        else
            backoff_ms = BACKOFF_MS_MIN;
    }
    leave(asking);
    return NULL;
}

/* ---- taking questions over ---- */

/* The question as the gate sees it: a form of an MCP server is a call too. */
static void describe(struct claude_asking *asking)
{
    struct claude_message *m = &asking->message;
    asking->id = m->call;
    asking->name = m->tool;
    if (m->kind != CLAUDE_ELICIT)
        return;
    asking->id = arena_printf(&asking->arena, "form_%.*s", STR_ARG(m->request));
    asking->name = STR("Elicitation");
}

static struct rc start(struct claude_asking *asking, struct str line, struct err *err)
{
    TRY(claude_read(&asking->arena, line, &asking->message, err));
    describe(asking);
    asking->thread = claude_thread(&asking->arena, asking->asks, asking->message.agent);
    TRY(remote_client(asking->asks->cli, &asking->client, err));
    return cli_start_thread(ask, asking, err);
}

/* On the thread that reads Claude Code. The question is in the list before its thread runs, so that it can be taken
 * back. */
void claude_asks_add(struct claude_asks *asks, const struct claude_message *message)
{
    struct claude_asking *asking = heap_new(sizeof *asking);
    struct err err = {.code = ERR_OK};
    asking->asks = asks;
    asking->message = *message;
    (void)pthread_mutex_lock(&asks->lock);
    asking->next = asks->first;
    asks->first = asking;
    asks->open++;
    (void)pthread_mutex_unlock(&asks->lock);
    struct str line = arena_str(&asking->arena, message->json->raw);
    if (rc_ok(start(asking, line, &err)))
        return;
    ARENA_SCOPE(scratch);
    refuse(asking, arena_printf(&scratch, "Nod refuses: %s", err.text));
    leave(asking);
}

/* With the lock held. The recorder's thread withdraws the call at the gate; the thread that waits for it then gets
 * its answer. */
static void cancel(struct claude_asking *asking)
{
    ARENA_SCOPE(arena);
    if (asking->cancelled || asking->message.kind == CLAUDE_BEFORE) {
        asking->cancelled = true;
        return;
    }
    asking->cancelled = true;
    struct relay_gate gate = {.record = asking->asks->record, .session = asking->asks->session};
    relay_ask_cancel(&gate, call_id(asking, &arena));
}

void claude_asks_cancel(struct claude_asks *asks, struct str request)
{
    LOCK_SCOPE(&asks->lock);
    for (struct claude_asking *asking = asks->first; asking; asking = asking->next)
        if (str_eq(asking->message.request, request))
            cancel(asking);
}

void claude_asks_end(struct claude_asks *asks)
{
    LOCK_SCOPE(&asks->lock);
    for (struct claude_asking *asking = asks->first; asking; asking = asking->next)
        cancel(asking);
}
