/* nod run: Nod's own agent, at the terminal.
 *
 * The run lives in the server. This command asks for it, shows what happens from the events, and asks the person
 * here; it may end or lose its connection at any time without harm to the run, and `--resume` shows it again.
 */
#include "cli/run.h"

#include "base/limits.h"
#include "base/utf8.h"
#include "cli/body.h"
#include "cli/local.h"
#include "cli/view.h"
#include "http/http.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { ITERATIONS = 50, RESULT_LINES_SHOWN = 8, OUTPUT_LINES_SHOWN = 200, AWAY_US = 300000 };

/* ---- showing ---- */

/* On the screen's page, or as a line of plain output. `fresh`: the cursor stands at the start of a line. */
static void put_line(struct running *running, enum tint tint, struct str text)
{
    static const char marks[] = {[TINT_NONE] = ' ', [TINT_BOLD] = '*', [TINT_DIM] = '#', [TINT_RED] = '^',
                                 [TINT_GREEN] = '=', [TINT_YELLOW] = '!', [TINT_CYAN] = ' ', [TINT_MAGENTA] = '?'};
    ARENA_SCOPE(arena);
    struct cli *cli = running->cli;
    if (running->screen) {
        run_screen_say(running->screen, marks[tint], "", text);
        return;
    }
    if (!running->fresh)
        cli_out(STR("\n"));
    struct str line = text_fit(&arena, text_line(&arena, text), cli->width);
    cli_out(arena_printf(&arena, "%.*s\n", STR_ARG(text_tinted(&arena, cli->color, tint, line))));
    running->fresh = true;
}

static void put_text(struct running *running, struct str text)
{
    BUF_SCOPE(buf, TEXT_BYTES_MAX);
    if (running->screen) {
        run_screen_stream(running->screen, text);
        return;
    }
    utf8_show(&buf, text, true);
    if (buf.n == 0)
        return;
    cli_out(buf_str(&buf));
    running->fresh = buf.p[buf.n - 1] == '\n';
}

/* A line of what a tool brought, set in; a tab is a blank or two, not a character to be shown by its number. */
static void put_brought(struct running *running, enum tint tint, struct str line)
{
    BUF_SCOPE(buf, TEXT_BYTES_MAX);
    buf_puts(&buf, "  ");
    for (size_t i = 0; i < line.n; i++) {
        if (line.p[i] == '\t')
            buf_puts(&buf, "  ");
        else
            buf_putc(&buf, line.p[i]);
    }
    put_line(running, tint, buf_str(&buf));
}

/* Prints output of a command while it runs; its result then only says how it ended. */
static void on_output(struct running *running, const struct json *live)
{
    struct str left = json_text(live, "text"), call = json_text(live, "toolCallId");
    if (!str_eq(call, buf_str(&running->told))) {
        buf_clear(&running->told);
        buf_put(&running->told, call);
        running->told_lines = 0;
    }
    while (left.n && running->told_lines < OUTPUT_LINES_SHOWN) {
        struct str line = str_cut(left, '\n', &left);
        put_brought(running, TINT_DIM, line);
        if (++running->told_lines == OUTPUT_LINES_SHOWN)
            put_line(running, TINT_DIM, STR("  …"));
    }
    (void)fflush(stdout);
}

/* Pieces of a text that is not stored yet. They are collected, so that the stored message can be compared with them.
 */
static void on_live(struct running *running, const struct json *live)
{
    struct str text = json_text(live, "text");
    if (str_is(json_text(live, "type"), "tool_output")) {
        on_output(running, live);
        return;
    }
    if (!str_eq(json_text(live, "threadId"), running->thread))
        return;
    if (!str_is(json_text(live, "type"), "text_chunk")) {
        buf_clear(&running->said);
        put_line(running, TINT_YELLOW, text);
        return;
    }
    buf_put(&running->said, text);
    put_text(running, text);
    (void)fflush(stdout);
}

/* Printed only where it differs from the pieces that were shown already: after a reconnection, or when a piece was
 * lost. */
static void on_message(struct running *running, const struct json *event, const struct json *data)
{
    BUF_SCOPE(text, TEXT_BYTES_MAX);
    if (!str_eq(json_text(event, "threadId"), running->thread))
        return; /* a sub-agent speaks to the agent */
    for (const struct json *block = json_first(data, "content"); block; block = block->next)
        if (str_is(json_text(block, "type"), "text"))
            buf_put(&text, json_text(block, "text"));
    if (running->screen) {
        if (text.n)
            run_screen_say(running->screen, ' ', "nod     ", buf_str(&text));
        return;
    }
    if (!str_eq(buf_str(&text), buf_str(&running->said))) {
        if (!running->fresh)
            cli_out(STR("\n"));
        put_text(running, buf_str(&text));
    }
    if (!running->fresh)
        cli_out(STR("\n"));
    running->fresh = true;
    buf_clear(&running->said);
}

static void on_call(struct running *running, const struct json *event, const struct json *data)
{
    ARENA_SCOPE(arena);
    struct str who = run_sub_agent(json_text(event, "actor"));
    if (str_is(json_text(json_get(data, "verdict"), "effect"), "ask") && !running->screen)
        return; /* the question names it */
    put_line(running, TINT_CYAN,
             arena_printf(&arena, "• %.*s%s%.*s %.*s", STR_ARG(who), who.n ? ": " : "",
                          STR_ARG(json_text(data, "name")), STR_ARG(text_summary(&arena, json_get(data, "input")))));
}

static void on_request(struct running *running, const struct json *event, const struct json *data)
{
    ARENA_SCOPE(arena);
    struct err err;
    (void)event;
    if (running->screen)
        return; /* its inbox asks */
    if (rc_bad(run_ask(running, &arena, json_text(data, "toolCallId"), &err)))
        cli_note("nod: %s", err.text);
}

/* On a screen the question is gone when it is answered: the answer stays in the conversation. */
static void on_response(struct running *running, const struct json *event, const struct json *data)
{
    ARENA_SCOPE(arena);
    struct str decision = json_text(data, "decision"), words = json_text(data, "feedback");
    struct str by = str_empty(json_text(data, "actor")) ? json_text(event, "actor") : json_text(data, "actor");
    if (!running->screen)
        return;
    put_line(running, str_starts(decision, STR("allow")) ? TINT_GREEN : TINT_RED,
             arena_printf(&arena, "  %.*s by %.*s%s%.*s", STR_ARG(body_decision(&arena, data)), STR_ARG(by),
                          words.n ? ": " : "", STR_ARG(words)));
}

static struct str last_line(struct str text)
{
    size_t at = text.n;
    while (at > 0 && text.p[at - 1] != '\n')
        at--;
    return str_sub(text, at, text.n);
}

/* Output that was shown while the command ran is not repeated; of a failure the last line is. */
static void on_result(struct running *running, const struct json *event, const struct json *data)
{
    struct str left = json_text(data, "content");
    bool bad = json_bool(data, "isError", false);
    (void)event;
    if (running->told.n && str_eq(json_text(data, "toolCallId"), buf_str(&running->told)))
        left = bad ? last_line(left) : STR_NONE;
    for (int i = 0; left.n && i < RESULT_LINES_SHOWN; i++) {
        struct str line = str_cut(left, '\n', &left);
        put_brought(running, bad ? TINT_RED : TINT_DIM, line);
    }
    if (left.n)
        put_line(running, TINT_DIM, STR("  …"));
}

static void put_usage(struct running *running, const struct json *usage)
{
    ARENA_SCOPE(arena);
    const struct json *cost = json_get(usage, "costUsd");
    int64_t input = 0, output = 0, read = 0, write = 0;
    (void)json_i64(json_get(usage, "input"), &input);
    (void)json_i64(json_get(usage, "output"), &output);
    (void)json_i64(json_get(usage, "cacheRead"), &read);
    (void)json_i64(json_get(usage, "cacheWrite"), &write);
    put_line(running, TINT_DIM,
             arena_printf(&arena, "tokens: %lld in, %lld out, %lld from the cache, %lld into it%s%.*s",
                          (long long)input, (long long)output, (long long)read, (long long)write,
                          cost ? "; cost: $" : "", STR_ARG(cost ? cost->raw : STR_NONE)));
}

/* In a conversation (`screen`) the end of a run is not the end of the command: the person may write on. */
static void on_status(struct running *running, const struct json *event, const struct json *data)
{
    static const char *const over[] = {"completed", "rejected", "failed", "cancelled"};
    ARENA_SCOPE(arena);
    struct str status = json_text(data, "status"), reason = json_text(data, "reason");
    const struct json *usage = json_get(data, "usage");
    (void)event;
    if (!str_eq(json_text(data, "runId"), running->id))
        return;
    for (size_t i = 0; i < sizeof over / sizeof *over; i++)
        running->over = running->over || str_is(status, over[i]);
    if (running->screen) {
        running->busy = !running->over;
        running->over = false; /* the conversation goes on */
        run_screen_status(running->screen, str_is(status, "awaiting_approval") ? STR("waits for an answer") : status);
    }
    if (running->screen ? running->busy : !running->over)
        return;
    running->cli->status = str_is(status, "completed") ? 0 : 1;
    if (running->cli->json)
        return;
    if (running->cli->status)
        put_line(running, TINT_RED, arena_printf(&arena, "%.*s%s%.*s", STR_ARG(status), reason.n ? ": " : "",
                                                 STR_ARG(reason)));
    if (usage)
        put_usage(running, usage);
}

static void on_note(struct running *running, const struct json *event, const struct json *data)
{
    (void)event;
    put_line(running, TINT_YELLOW, json_text(data, "text"));
}

static const struct {
    const char *type;
    void (*show)(struct running *running, const struct json *event, const struct json *data);
} shown[] = {
    {"AGENT_MESSAGE", on_message}, {"TOOL_CALL", on_call},       {"TOOL_APPROVAL_REQUEST", on_request},
    {"TOOL_RESULT", on_result},    {"RUN_STATUS", on_status},    {"LOCAL_SYSTEM_MESSAGE", on_note},
    {"TOOL_APPROVAL_RESPONSE", on_response},
};

static void show_event(struct running *running, const struct json *event)
{
    struct str type = json_text(event, "type");
    if (running->cli->json) {
        cli_out(event->raw);
        cli_out(STR("\n"));
        if (str_is(type, "RUN_STATUS"))
            on_status(running, event, json_get(event, "data"));
        return;
    }
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        if (str_is(type, shown[i].type))
            shown[i].show(running, event, json_get(event, "data"));
}

/* On the following thread; the screen is drawn on another one, hence the lock. Events that were seen before a
 * reconnection are passed over. */
static bool on_event(void *arg, struct str id, struct str type, struct str data)
{
    ARENA_SCOPE(arena);
    struct running *running = arg;
    const struct json *json;
    uint64_t seq;
    if (rc_bad(json_parse(&arena, data, &json, NULL)))
        return true;
    if (running->screen)
        run_screen_lock(running->screen);
    if (str_is(type, "live") && !running->cli->json)
        on_live(running, json);
    if (!str_is(type, "live") && str_to_u64(id, &seq) && seq > running->after) {
        show_event(running, json);
        running->after = seq;
    }
    if (running->screen)
        run_screen_unlock(running->screen);
    return !running->over;
}

/* ---- following, through restarts of the server ---- */

/* Returns when the run is over, or with an error that trying again would not mend. */
struct rc run_follow(struct running *running, struct err *err)
{
    struct http_client *client;
    TRY(remote_client(running->cli, &client, err));
    while (!running->over) {
        ARENA_SCOPE(arena);
        struct str target = arena_printf(&arena, "/api/events?after=%llu&session=%s&live=1",
                                         (unsigned long long)running->after, remote_escape(&arena, running->session).p);
        struct rc rc = http_client_stream(client, target, on_event, running, err);
        if (running->over || (rc_bad(rc) && !remote_passing(rc))) {
            http_client_free(client);
            return running->over ? RC_OK : rc;
        }
        buf_clear(&running->said);
        (void)usleep(AWAY_US);
    }
    http_client_free(client);
    return RC_OK;
}

/* ---- Ctrl-C ---- */

struct run_canceller {
    struct http_client *client;
    struct str target;
};

/* The first interrupt cancels the run, the second ends only this command. */
static void *on_interrupt(void *arg)
{
    ARENA_SCOPE(arena);
    struct run_canceller *canceller = arg;
    struct http_response response;
    sigset_t set;
    int number;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGINT);
    while (sigwait(&set, &number) != 0)
        ;
    (void)http_client_call(canceller->client, &arena, "POST", canceller->target, STR("{}"), 5000, &response, NULL).code;
    while (sigwait(&set, &number) != 0)
        ;
    _exit(130);
}

/* Ctrl-C is taken by a thread that waits for the signal, because an HTTP request cannot be made in a handler. */
static struct rc catch_interrupt(struct running *running, struct err *err)
{
    static struct run_canceller canceller; /* lives as long as the thread: for ever */
    struct arena *arena = &running->cli->arena;
    sigset_t set;
    pthread_t thread;
    TRY(remote_client(running->cli, &canceller.client, err));
    canceller.target = arena_printf(arena, "/api/agent-requests/%s/cancel", remote_escape(arena, running->id).p);
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGINT);
    CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
    CHECK(pthread_create(&thread, NULL, on_interrupt, &canceller) == 0);
    CHECK(pthread_detach(thread) == 0);
    return RC_OK;
}

/* ---- beginning ---- */

static struct str prompt_of(struct cli *cli)
{
    struct str prompt = STR("");
    for (int i = 0; i < cli->argc; i++)
        prompt = arena_printf(&cli->arena, "%.*s%s%s", STR_ARG(prompt), i ? " " : "", cli->argv[i]);
    return prompt;
}

/* Stores the prompt and the run; nothing runs before run_execute. A lost answer leaves a run that never began. */
struct rc run_begin(struct running *running, struct str prompt, struct str session, struct err *err)
{
    struct cli *cli = running->cli;
    struct reply reply;
    const char *folder;
    uint64_t iterations = ITERATIONS;
    JSON_SCOPE(body, out, LIMIT_BODY_BYTES);
    TRY(option_number(cli, "iterations", 1000, &iterations, err));
    TRY(local_folder(cli, option_text(cli, "cwd") ? option_text(cli, "cwd") : ".", &folder, err));
    json_object(&out, J("prompt", prompt), J("model", option_text(cli, "model")),
                J("permissionMode", option_text(cli, "mode")), J("sessionId", session),
                J_IF(str_empty(session), J("cwd", folder)), J("maxIterations", iterations));
    TRY(remote_post(cli, STR("/api/agent-requests"), buf_str(&body), &reply, err));
    running->id = json_text(reply.json, "id");
    running->session = json_text(reply.json, "sessionId");
    running->thread = json_text(reply.json, "threadId");
    return RC_OK;
}

struct rc run_execute(struct running *running, struct err *err)
{
    struct cli *cli = running->cli;
    struct reply reply;
    struct str target = arena_printf(&cli->arena, "/api/agent-requests/%s/execute",
                                     remote_escape(&cli->arena, running->id).p);
    TRY(remote_post(cli, target, STR("{}"), &reply, err));
    running->status = json_text(reply.json, "status");
    return RC_OK;
}

static struct rc resume(struct running *running, const char *id, struct err *err)
{
    struct cli *cli = running->cli;
    struct reply reply;
    struct str target = arena_printf(&cli->arena, "/api/agent-requests/%s", remote_escape(&cli->arena, str_of(id)).p);
    TRY(remote_get(cli, target, &reply, err));
    running->id = json_text(reply.json, "id");
    running->session = json_text(reply.json, "sessionId");
    running->thread = json_text(reply.json, "threadId");
    return RC_OK;
}

/* Answered calls are shown as history; waiting calls are asked about. */
static struct rc ask_waiting(struct running *running, struct err *err)
{
    ARENA_SCOPE(arena);
    struct reply pending;
    TRY(view_pending(running->cli, &arena, arena_c(&arena, running->session), &pending, err));
    for (const struct json *one = json_first(pending.json, "pendingApprovals"); one; one = one->next)
        TRY(run_ask(running, &arena, json_text(one, "toolCallId"), err));
    return RC_OK;
}

struct rc run_last_event(struct running *running, struct err *err)
{
    for (;;) {
        ARENA_SCOPE(arena);
        struct query query = {.method = "GET"};
        struct reply reply;
        int64_t next;
        query.target = arena_printf(&arena, "/api/events?after=%llu&session=%s&limit=1000",
                                    (unsigned long long)running->after, remote_escape(&arena, running->session).p);
        TRY(remote_ask(running->cli, &arena, &query, &reply, err));
        if (!json_i64(json_get(reply.json, "next"), &next) || (uint64_t)next <= running->after)
            return RC_OK;
        running->after = (uint64_t)next;
    }
}

/* Without a prompt on a terminal it is a conversation. Events from before this command are not shown again, but a
 * question that still waits is asked. */
struct rc run_command(struct cli *cli, struct err *err)
{
    static struct running the_run; /* static: a thread may use it until the process ends */
    struct running *running = &the_run;
    const char *old = option_text(cli, "resume");
    *running = (struct running){.cli = cli, .said = buf_init(TEXT_BYTES_MAX), .fresh = true,
                                .told = buf_init(LIMIT_ID_BYTES)};
    running->asks = isatty(STDIN_FILENO) && !cli->json;
    if (!old && cli->argc == 0 && running->asks && isatty(STDOUT_FILENO) && !option_flag(cli, "detach"))
        return run_screen_command(running, err);
    if ((old != NULL) == (cli->argc > 0))
        return err_set(err, ERR_INVALID, "say what is to be done, or --resume ID");
    TRY(old ? resume(running, old, err)
            : run_begin(running, prompt_of(cli), str_of(option_text(cli, "session")), err));
    if (old || option_text(cli, "session"))
        TRY(run_last_event(running, err));
    TRY(run_execute(running, err));
    if (option_flag(cli, "detach")) {
        cli_out(arena_printf(&cli->arena, "%.*s\n", STR_ARG(running->id)));
        return RC_OK;
    }
    TRY(catch_interrupt(running, err));
    if (old && !cli->json)
        TRY(ask_waiting(running, err));
    struct str status = running->status;
    if (old && !str_is(status, "running") && !str_is(status, "awaiting_approval")) {
        cli_out(arena_printf(&cli->arena, "%.*s\n", STR_ARG(status)));
        return RC_OK;
    }
    struct rc rc = run_follow(running, err);
    buf_done(&running->said);
    buf_done(&running->told);
    return rc;
}
