/* nod claude: Claude Code behind the gate.
 *
 * Claude Code is started over its control protocol. Before each call a hook of ours is asked: rules answer it
 * at once, and what they do not answer comes as a question that waits for a person (claude_asks.c). The
 * conversation goes into the session's log (relay/record.c). The server may go away and come back; nothing is
 * allowed meanwhile. When this process dies, Claude Code refuses its calls by itself, and the server
 * withdraws them.
 */
#include "cli/claude.h"
#include "cli/claude_screen.h"
#include "cli/text.h"

#include "agents/lines.h"
#include "base/id.h"
#include "base/limits.h"
#include "cli/hook_install.h"
#include "cli/identity.h"
#include "cli/local.h"
#include "cli/remote.h"
#include "io/system.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LARGE_BYTES = 256 << 10, NOTE_BYTES_MAX = 900 << 10, END_LOOKS = 30, END_LOOK_US = 100000,
       SCREEN_TICK_MS = 200 };
enum claude_output { OUTPUT_TEXT, OUTPUT_JSON, OUTPUT_STREAM };

/* The whole of `nod claude`; static, because threads use it until the process ends. */
struct wrapper {
    struct cli *cli;
    struct claude_args args;
    struct relay_child child;
    struct relay_record record;
    struct claude_asks asks;
    struct claude_follower follower;
    struct claude_host host;
    struct claude_screen screen;
    struct lines said, typed; /* incomplete lines of Claude Code and of standard input */
    enum claude_output output;
    atomic_uint prompts;   /* prompts sent whose turn has not begun */
    unsigned interrupts; /* how often Ctrl-C came in this turn */
    bool reads_input;      /* prompts come from standard input */
    bool busy, has_tasks, closing; /* a turn is under way; sub-agents run in the background; its input was closed */
};

static int signal_pipe[2] = {-1, -1};

static void on_signal(int number)
{
    int kept = errno;
    unsigned char byte = (unsigned char)number;
    (void)!write(signal_pipe[1], &byte, 1);
    errno = kept;
}

/* ---- into the log ---- */

static struct json_out open_note(struct buf *buf, const char *type)
{
    struct json_out out = json_out(buf);
    json_open(&out, '{');
    json_member(&out, "type", str_of(type));
    json_open_member(&out, "data", '{');
    json_member(&out, "source", STR("claude"));
    return out;
}

/* Handed to the recorder's thread (relay/record.c): the conversation does not wait for the server. */
static void post_note(struct wrapper *w, struct json_out *out, struct str agent)
{
    ARENA_SCOPE(arena);
    json_close(out, '}');
    json_close(out, '}');
    struct str thread = claude_thread(&arena, &w->asks, agent);
    if (!out->buf->over)
        relay_record_post(&w->record, arena_printf(&arena, "/api/threads/%.*s/events", STR_ARG(thread)),
                           buf_str(out->buf));
}

static void note_text(struct wrapper *w, const char *type, struct str agent, struct str text)
{
    BUF_SCOPE(buf, LIMIT_BODY_BYTES);
    struct json_out out = open_note(&buf, type);
    json_member_always(&out, "text", text.n > NOTE_BYTES_MAX ? str_sub(text, 0, NOTE_BYTES_MAX) : text);
    post_note(w, &out, agent);
}

/* Figures of the model are passed on as Claude Code gives them. */
static void note_status(struct wrapper *w, const char *status, const struct json *message)
{
    static const char *const members[] = {"usage", "total_cost_usd", "num_turns", "duration_ms", "terminal_reason",
                                          "session_id", "model", "claude_code_version", "permissionMode"};
    BUF_SCOPE(buf, LIMIT_BODY_BYTES);
    struct json_out out = open_note(&buf, "RUN_STATUS");
    json_members(&out, J("status", status), J("agent", "claude"));
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const struct json *value = json_get(message, members[i]);
        if (value)
            json_member_raw(&out, members[i], value->raw);
    }
    post_note(w, &out, STR_NONE);
}

static void note_result(struct wrapper *w, const struct json *block)
{
    const struct json *content = json_get(block, "content");
    struct relay_gate gate = {.record = &w->record, .session = w->asks.session};
    relay_report(&gate, json_text(block, "tool_use_id"), content ? content->raw : STR_NONE,
                 json_bool(block, "is_error", false));
}

/* ---- to Claude Code ---- */

static void note_prompt(struct wrapper *w, struct str text)
{
    note_text(w, "USER_MESSAGE", STR_NONE, text);
    atomic_fetch_add(&w->prompts, 1);
}

static void send_prompt(struct wrapper *w, struct str text)
{
    BUF_SCOPE(line, LINE_BYTES_MAX);
    claude_prompt(&line, text);
    note_prompt(w, text);
    if (w->screen.open)
        chat_say(&w->screen.chat, '*', "you     ", text);
    (void)relay_pipe_send(&w->child.in, &line);
}

static void interrupt(struct wrapper *w)
{
    BUF_SCOPE(line, LIMIT_BODY_BYTES);
    claude_interrupt(&line, str_of(id_new("int").text));
    (void)relay_pipe_send(&w->child.in, &line);
}

static void close_input(struct wrapper *w)
{
    if (!w->closing)
        relay_pipe_close(&w->child.in);
    w->closing = true;
}

/* Ends Claude Code when nothing is under way and no more input will come. */
static void end_when_idle(struct wrapper *w)
{
    bool idle = !w->busy && !w->has_tasks && atomic_load(&w->prompts) == 0 && claude_asks_open(&w->asks) == 0;
    if (idle && !w->reads_input)
        close_input(w);
}

/* ---- from Claude Code ---- */

/* A model's text may hold anything: no control sequence reaches the terminal. */
static void show(struct wrapper *w, struct str text)
{
    BUF_SCOPE(safe, TEXT_BYTES_MAX);
    if (w->output != OUTPUT_TEXT || str_empty(text))
        return;
    if (w->screen.open) {
        chat_say(&w->screen.chat, ' ', "claude  ", text);
        return;
    }
    text_block(&safe, text, 0);
    cli_out(buf_str(&safe));
    (void)fflush(stdout);
}

static void on_says(struct wrapper *w, const struct claude_message *m)
{
    const struct json *content = m->content && m->content->type == JSON_ARRAY ? m->content->first : NULL;
    for (const struct json *block = content; block; block = block->next) {
        if (!str_is(json_text(block, "type"), "text"))
            continue;
        note_text(w, "AGENT_MESSAGE", m->agent, json_text(block, "text"));
        if (!w->args.once && str_empty(m->agent))
            show(w, json_text(block, "text"));
    }
}

/* Text while it is written. */
static void on_piece(struct wrapper *w, const struct claude_message *m)
{
    const struct json *delta = json_get(json_get(m->json, "event"), "delta");
    if (w->screen.open && str_empty(json_text(m->json, "parent_tool_use_id")))
        chat_stream(&w->screen.chat, json_text(delta, "text"));
}

/* Results of tools come to the model as messages of the user; text in them is the program's own unless a sub-agent is
 * addressed. */
static void on_hears(struct wrapper *w, const struct claude_message *m)
{
    const struct json *content = m->content && m->content->type == JSON_ARRAY ? m->content->first : NULL;
    for (const struct json *block = content; block; block = block->next) {
        if (str_is(json_text(block, "type"), "tool_result")) {
            note_result(w, block);
            if (w->screen.open && str_empty(m->agent))
                claude_screen_result(&w->screen, block);
        }
        if (str_is(json_text(block, "type"), "text"))
            note_text(w, str_empty(m->agent) ? "LOCAL_SYSTEM_MESSAGE" : "USER_MESSAGE", m->agent,
                      json_text(block, "text"));
    }
}

/* For a person at a terminal: it is their turn. */
static void show_turn(const struct wrapper *w)
{
    if (!w->args.once && w->reads_input && !w->screen.open && isatty(STDIN_FILENO))
        (void)fputs("> ", stderr);
}

/* The end of a turn. Signals and the status line start anew; in one-shot use the result is what is printed. */
static void on_result(struct wrapper *w, const struct claude_message *m)
{
    bool failed = json_bool(m->json, "is_error", false);
    note_status(w, failed ? "failed" : "completed", m->json);
    w->busy = false;
    w->interrupts = 0;
    const struct json *cost = json_get(m->json, "total_cost_usd");
    claude_screen_status(&w->screen, NULL, failed ? "failed" : "your turn", cost ? cost->raw : STR_NONE);
    if (w->output == OUTPUT_JSON) {
        BUF_SCOPE(safe, TEXT_BYTES_MAX);
        text_raw_json(&safe, m->json->raw);
        cli_out(buf_str(&safe));
        cli_out(STR("\n"));
    } else if (w->args.once) {
        show(w, json_text(m->json, "result"));
    }
    show_turn(w);
}

static void on_init(struct wrapper *w, const struct claude_message *m)
{
    w->busy = true;
    ARENA_SCOPE(arena);
    atomic_store(&w->prompts, 0);
    claude_screen_status(&w->screen, arena_c(&arena, m->mode), "working", STR_NONE);
    note_status(w, "running", m->json);
}

/* The plan itself, which Claude Code keeps in a file of its own while it only plans. */
static bool writes_the_plan(const struct claude_message *m)
{
    struct str path = json_text(m->input, "file_path");
    const char *config = getenv("CLAUDE_CONFIG_DIR");
    const char *home = getenv("HOME");
    bool edits = str_is(m->tool, "Write") || str_is(m->tool, "Edit");
    if (m->kind != CLAUDE_BEFORE || !edits || !str_is(m->mode, "plan") || str_has(path, STR("/../")))
        return false;
    ARENA_SCOPE(arena);
    struct str folder = config && config[0] ? arena_printf(&arena, "%s/plans/", config)
                                            : arena_printf(&arena, "%s/.claude/plans/", home ? home : "");
    return str_starts(path, folder);
}

/* While it only plans, Claude Code writes the plan into a file of its own: that is left to it and asked of nobody. */
static void on_question(struct wrapper *w, const struct claude_message *m)
{
    BUF_SCOPE(line, LIMIT_BODY_BYTES);
    if (!writes_the_plan(m)) {
        claude_asks_add(&w->asks, m);
        return;
    }
    claude_no_opinion(&line, m->request);
    (void)relay_pipe_send(&w->child.in, &line);
}

static void on_request(struct wrapper *w, struct str request, const char *words)
{
    BUF_SCOPE(line, LIMIT_BODY_BYTES);
    claude_fail(&line, request, str_of(words));
    (void)relay_pipe_send(&w->child.in, &line);
}

static void on_reply(struct wrapper *w, const struct claude_message *m)
{
    const struct json *response = json_get(m->json, "response");
    if (!claude_host_is_initialize(&w->host, m->request) || str_is(json_text(response, "subtype"), "success"))
        return;
    cli_note("nod: this Claude Code does not take hooks over its control channel, so it is not let run");
    claude_child_kill(&w->asks, &w->child, SIGTERM);
}

static void on_denied(struct wrapper *w, const struct claude_message *m)
{
    ARENA_SCOPE(arena);
    struct str tool = json_text(m->json, "tool_name"), words = json_text(m->json, "message");
    note_text(w, "LOCAL_SYSTEM_MESSAGE", m->agent,
              arena_printf(&arena, "Claude Code denied %.*s by itself: %.*s", STR_ARG(tool), STR_ARG(words)));
}

/* The permission mode changed, by a person or by the model, which may enter plan mode unasked. */
static void on_status(struct wrapper *w, const struct claude_message *m)
{
    ARENA_SCOPE(arena);
    claude_screen_status(&w->screen, arena_c(&arena, m->mode), NULL, STR_NONE);
    if (!str_empty(m->mode))
        note_text(w, "LOCAL_SYSTEM_MESSAGE", STR_NONE,
                  arena_printf(&arena, "Claude Code is in the mode %.*s now.", STR_ARG(m->mode)));
}

/* Every kind of message of Claude Code; questions go to threads of their own (claude_asks.c). */
static void on_message(struct wrapper *w, const struct claude_message *m)
{
    const struct json *tasks = json_get(m->json, "tasks");
    switch (m->kind) {
    case CLAUDE_INIT: on_init(w, m); break;
    case CLAUDE_TASK: claude_thread_post(&w->asks, m); break;
    case CLAUDE_TASKS: w->has_tasks = tasks && tasks->count > 0; break;
    case CLAUDE_DENIED: on_denied(w, m); break;
    case CLAUDE_PIECE: on_piece(w, m); break;
    case CLAUDE_SAYS: on_says(w, m); break;
    case CLAUDE_HEARS: on_hears(w, m); break;
    case CLAUDE_RESULT: on_result(w, m); break;
    case CLAUDE_ASK:
    case CLAUDE_BEFORE:
    case CLAUDE_ELICIT: on_question(w, m); break;
    case CLAUDE_REQUEST: on_request(w, m->request, "Nod does not know this request"); break;
    case CLAUDE_CANCEL: claude_asks_cancel(&w->asks, m->request); break;
    case CLAUDE_REPLY: on_reply(w, m); break;
    case CLAUDE_STATUS: on_status(w, m); break;
    case CLAUDE_REMARK: note_text(w, "LOCAL_SYSTEM_MESSAGE", STR_NONE, json_text(m->json, "content")); break;
    case CLAUDE_UNKNOWN:
    case CLAUDE_OTHER: break;
    }
}

static bool is_control(enum claude_kind kind)
{
    return kind == CLAUDE_ASK || kind == CLAUDE_BEFORE || kind == CLAUDE_ELICIT || kind == CLAUDE_REQUEST ||
           kind == CLAUDE_CANCEL || kind == CLAUDE_REPLY;
}

/* A request that cannot be read is refused: an answer must come, or Claude Code waits for ever. */
static void on_line(struct wrapper *w, struct str line)
{
    ARENA_SCOPE(arena);
    struct claude_message message;
    struct err err = {.code = ERR_OK};
    if (str_empty(str_trim(line)) || claude_host_takes(&w->host, line))
        return;
    if (rc_bad(claude_read(&arena, line, &message, &err))) {
        struct str request = claude_request_in(line);
        cli_note("nod: Claude Code said something that cannot be read: %s", err.text);
        if (!str_empty(request))
            on_request(w, request, "Nod could not read this request, so it is refused");
        return;
    }
    if (w->output == OUTPUT_STREAM && !is_control(message.kind)) {
        cli_out(line);
        cli_out(STR("\n"));
        (void)fflush(stdout);
    }
    on_message(w, &message);
}

/* Reads all available input; false at its end. */
static bool drain(int fd, struct lines *lines)
{
    size_t room;
    char *to = lines_room(lines, &room);
    if (!to)
        return false;
    ssize_t n = read(fd, to, room);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return true;
    lines_add(lines, n > 0 ? (size_t)n : 0);
    return n > 0;
}

/* A line that is too long cannot be checked, and what cannot be checked is not passed on: the program is ended. */
static bool on_output(struct wrapper *w)
{
    struct str line;
    bool more = drain(w->child.out, &w->said);
    while (lines_next(&w->said, &line))
        on_line(w, line);
    if (w->said.over) {
        cli_note("nod: Claude Code wrote a line of more than %d bytes; it is stopped", LINE_BYTES_MAX);
        claude_child_kill(&w->asks, &w->child, SIGTERM);
    }
    return more;
}

/* With a program in front (`host`) its messages are read for prompts; else each line is one. */
static void on_input(struct wrapper *w)
{
    struct str line;
    w->reads_input = drain(STDIN_FILENO, &w->typed);
    while (lines_next(&w->typed, &line)) {
        ARENA_SCOPE(arena);
        if (str_empty(str_trim(line)))
            continue;
        struct str prompt = w->host.on ? claude_host_says(&w->host, &arena, line) : STR_NONE;
        if (!w->host.on)
            send_prompt(w, line);
        else if (!str_empty(prompt))
            note_prompt(w, prompt);
    }
}

/* The first Ctrl-C stops the turn, the second ends Claude Code. The handler only writes into the pipe that is read
 * here. */
static void on_signals(struct wrapper *w)
{
    unsigned char number = 0;
    if (read(signal_pipe[0], &number, 1) != 1)
        return;
    if (number == SIGINT && w->busy && w->interrupts++ == 0) {
        cli_note("nod: interrupting; once more ends Claude Code");
        interrupt(w);
        return;
    }
    close_input(w);
    claude_child_kill(&w->asks, &w->child, number == SIGINT ? SIGTERM : number);
}

/* Handles input at the person's terminal, and sends a prompt that was typed. */
static void on_screen(struct wrapper *w)
{
    ARENA_SCOPE(arena);
    struct str prompt;
    w->reads_input = claude_screen_turn(&w->screen, &arena, &prompt) && w->reads_input;
    if (!str_empty(prompt))
        send_prompt(w, prompt);
}

/* The loop of the main thread: the child, signals, standard input or the screen. */
static void run(struct wrapper *w)
{
    for (bool more = true; more;) {
        struct pollfd look[3 + SCREEN_FDS] = {
            {.fd = w->child.out, .events = POLLIN},
            {.fd = signal_pipe[0], .events = POLLIN},
            {.fd = w->reads_input && !w->screen.open ? STDIN_FILENO : -1, .events = POLLIN},
        };
        if (w->screen.open)
            claude_screen_fds(&w->screen, look + 3);
        bool open = w->screen.open;
        if (poll(look, open ? 3 + SCREEN_FDS : 3, open ? SCREEN_TICK_MS : 1000) < 0 && errno != EINTR)
            return;
        if (look[1].revents)
            on_signals(w);
        if (look[2].revents)
            on_input(w);
        if (look[0].revents)
            more = on_output(w);
        if (w->screen.open)
            on_screen(w);
        end_when_idle(w);
    }
}

/* ---- beginning ---- */

static struct str new_session_body(struct wrapper *w, const char *session)
{
    JSON_SCOPE(buf, out, LIMIT_BODY_BYTES);
    struct arena *arena = &w->cli->arena;
    json_open(&out, '{');
    json_member(&out, "title", arena_printf(arena, "claude in %.*s", STR_ARG(local_title(w->asks.cwd))));
    json_member(&out, "cwd", w->asks.cwd);
    if (session)
        json_members(&out, J("agent", "claude"), J("agentSession", session));
    json_close(&out, '}');
    return arena_str(arena, buf_str(&buf));
}

/* From here on the agent's questions are asked under its own name: with the identity of the installed hook, so that
 * both know the same session, else with one for this folder. A token that is an agent's already stays. */
static struct rc become_agent(struct wrapper *w, struct str named, struct str role, struct err *err)
{
    struct cli *cli = w->cli;
    struct identity_want want = {.kind = STR("claude"), .about = w->asks.cwd, .session = named,
                                 .folder = w->asks.cwd};
    const char *path = str_empty(named) ? hook_identity(cli, &agent_claude) : NULL;
    want.name = arena_printf(&cli->arena, "claude in %.*s", STR_ARG(local_title(w->asks.cwd)));
    if (str_is(role, "agent"))
        return RC_OK;
    if (!path)
        TRY(identity_have(cli, &want, &path, err));
    return identity_use(cli, path, err);
}

/* The person who starts it opens the folder, and may loosen the session; the agent's token may not, and where the
 * person's token may not either, Nod goes on asking. */
static void open_folder(struct wrapper *w, struct http_client *person)
{
    struct http_response response = {0};
    struct arena *arena = &w->cli->arena;
    struct str target = arena_printf(arena, "/api/sessions/%.*s", STR_ARG(w->asks.session));
    bool edits = w->args.mode && strcmp(w->args.mode, "acceptEdits") == 0;
    struct str body = json_object_str(arena, J("cwd", w->asks.cwd),
                                      J("permissionMode", edits ? STR("acceptEdits") : STR_NONE));
    (void)!http_client_call(person, arena, "PATCH", target, body, 10000, &response, NULL).code;
}

/* Whether the person at this terminal can answer here: with a token that may decide, of which a copy is kept from the
 * settings before Claude Code's own takes its place. */
static void sit_down(struct wrapper *w, struct str role)
{
    bool terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && w->output == OUTPUT_TEXT && !w->host.on;
    if (!terminal || w->args.hosted || str_is(role, "agent") || str_is(role, "viewer"))
        return;
    w->screen.person = *w->cli;
    w->screen.person.arena = (struct arena){0};
    w->screen.person.client = NULL;
    w->screen.wanted = !w->args.once;
    w->args.pieces = w->screen.wanted;
    w->asks.on_screen = w->screen.wanted;
    if (!w->args.once || w->args.prompt) /* without this argument the prompt is read from standard input */
        w->asks.person = &w->screen.person;
}

/* Finds the session: NOD_SESSION, else the one the token is bound to, else the one of this conversation, else a new
 * one. */
static struct rc find_session(struct wrapper *w, const char *session, struct err *err)
{
    struct cli *cli = w->cli;
    struct reply reply;
    struct rc rc;
    struct http_client *person;
    TRY(remote_get(cli, STR("/api/me"), &reply, err));
    struct str named = json_text(reply.json, "sessionId");
    if (cli->settings.session[0])
        named = str_of(cli->settings.session);
    TRY(remote_client(cli, &person, err));
    sit_down(w, json_text(reply.json, "role"));
    rc = become_agent(w, named, json_text(reply.json, "role"), err);
    if (rc_bad(rc))
        http_client_free(person);
    TRY(rc);
    if (!str_empty(named))
        rc = remote_get(cli, arena_printf(&cli->arena, "/api/sessions/%s", remote_escape(&cli->arena, named).p),
                        &reply, err);
    else
        rc = remote_post(cli, STR("/api/sessions"), new_session_body(w, session), &reply, err);
    w->asks.session = rc_ok(rc) ? json_text(reply.json, "id") : STR_NONE;
    w->asks.thread = rc_ok(rc) ? json_text(reply.json, "threadId") : STR_NONE;
    if (rc_ok(rc) && str_empty(named))
        open_folder(w, person);
    http_client_free(person);
    TRY(rc);
    if (str_empty(w->asks.session) || str_empty(w->asks.thread))
        return err_set(err, ERR_INTERNAL, "%s does not answer like a nod server", remote_where(cli));
    return RC_OK;
}

/* A name for the conversation that can be resumed, unless it has one. */
static const char *session_name(struct wrapper *w, bool *ret_new)
{
    unsigned char r[16];
    *ret_new = !w->args.session && !w->args.goes_on && !w->args.any_session;
    if (!*ret_new)
        return w->args.any_session ? NULL : w->args.session;
    id_random(r, sizeof r);
    return arena_printf(&w->cli->arena, "%02x%02x%02x%02x-%02x%02x-4%x%02x-8%x%02x-%02x%02x%02x%02x%02x%02x", r[0],
                        r[1], r[2], r[3], r[4], r[5], r[6] & 15, r[7], r[8] & 15, r[9], r[10], r[11], r[12], r[13],
                        r[14], r[15]).p;
}

static struct rc read_prompt(struct wrapper *w, struct str *ret_text, struct err *err)
{
    *ret_text = str_of(w->args.prompt);
    if (w->args.prompt || !w->args.once || w->args.hosted)
        return RC_OK;
    w->typed.ended = false;
    while (drain(STDIN_FILENO, &w->typed))
        ;
    *ret_text = str_trim(arena_str(&w->cli->arena, buf_str(&w->typed.buf)));
    if (str_empty(*ret_text))
        return err_set(err, ERR_INVALID, "there is no prompt: nod claude -p \"what is to be done\"");
    return RC_OK;
}

/* Takes the only option after `claude` that is Nod's own. */
static void take_sandbox(struct cli *cli)
{
    int kept = 0;
    for (int i = 0; i < cli->argc; i++) {
        if (strcmp(cli->argv[i], "--sandbox") != 0) {
            cli->argv[kept++] = cli->argv[i];
            continue;
        }
        cli->settings.sandbox = true;
        cli->settings.origins[SETTING_ID_sandbox].kind = ORIGIN_FLAG;
    }
    cli->argc = kept;
}

/* Combinations that Claude Code would refuse are refused here, before a session is made for them. */
static struct rc read_arguments(struct wrapper *w, struct err *err)
{
    struct cli *cli = w->cli;
    const char *cwd;
    take_sandbox(cli);
    TRY(claude_args_read(&cli->arena, cli->argc, cli->argv, &w->args, err));
    const char *format = w->args.format ? w->args.format : "text";
    if (strcmp(format, "stream-json") == 0)
        w->output = OUTPUT_STREAM;
    else if (strcmp(format, "json") == 0)
        w->output = OUTPUT_JSON;
    else if (strcmp(format, "text") != 0)
        return err_set(err, ERR_INVALID, "--output-format is text, json or stream-json, not '%s'", format);
    if (w->args.hosted && (w->output != OUTPUT_STREAM || w->args.prompt))
        return err_set(err, ERR_INVALID, "--input-format stream-json goes with --output-format stream-json, and the "
                                         "prompts come on standard input");
    TRY(local_folder(cli, ".", &cwd, err));
    w->asks.cwd = str_of(cwd);
    return RC_OK;
}

/* Signals become bytes in a pipe, which the main loop reads beside everything else. */
static struct rc catch_signals(struct err *err)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    if (pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) != 0)
        return err_set(err, ERR_IO, "no pipe: %s", strerror(errno));
    (void)signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        (void)sigaction(numbers[i], &action, NULL);
    return RC_OK;
}

/* The session exists and signals are caught before Claude Code is started. */
static struct rc begin(struct wrapper *w, struct err *err)
{
    BUF_SCOPE(line, LIMIT_BODY_BYTES);
    struct cli *cli = w->cli;
    struct str prompt;
    bool is_new;
    TRY(read_arguments(w, err));
    TRY(read_prompt(w, &prompt, err));
    const char *session = session_name(w, &is_new);
    TRY(find_session(w, session, err));
    TRY(catch_signals(err));
    w->asks.cli = cli;
    w->asks.pipe = &w->child.in;
    w->asks.record = &w->record;
    if (w->screen.wanted)
        TRY(claude_screen_prepare(&w->screen, err));
    TRY(claude_child_start(cli, &w->asks, &w->args, is_new ? session : NULL, &w->child, err));
    if (w->screen.wanted)
        TRY(claude_screen_open(&w->screen, w->asks.session, w->asks.cwd, err));
    w->follower = (struct claude_follower){.session = w->asks.session, .pipe = &w->child.in, .prompts = &w->prompts};
    TRY(relay_record_start(&w->record, cli, err));
    TRY(claude_follow_start(&w->follower, cli, err));
    w->host.on = w->args.hosted;
    w->host.pipe = &w->child.in;
    claude_initialize(&line, STR("nod_hooks"));
    if (!w->host.on)
        (void)relay_pipe_send(&w->child.in, &line);
    cli_note("nod: session %.*s", STR_ARG(w->asks.session));
    w->reads_input = !w->args.once || w->host.on;
    if (w->reads_input && !w->screen.open && isatty(STDIN_FILENO))
        cli_note("nod: type what is to be done, Ctrl-D ends; answer with nod watch or on the page (nod login)");
    if (!str_empty(prompt))
        send_prompt(w, prompt);
    else
        show_turn(w);
    return RC_OK;
}

/* The threads of questions end soon after they are cancelled; the others end with the process. */
static void end(struct wrapper *w)
{
    claude_asks_end(&w->asks);
    relay_pipe_close(&w->child.in);
    w->cli->status = claude_child_wait(&w->asks, &w->child);
    note_status(w, w->cli->status == 0 ? "ended" : "died", NULL);
    relay_record_end(&w->record);
    for (int i = 0; i < END_LOOKS && claude_asks_open(&w->asks); i++)
        (void)usleep(END_LOOK_US);
    claude_screen_close(&w->screen);
    (void)fflush(stdout);
    _exit(w->cli->status);
}

/* Three steps: begin makes the session and starts Claude Code, run passes messages until it ends, end waits for the
 * record and exits with its status. */
struct rc claude_command(struct cli *cli, struct err *err)
{
    static struct wrapper wrapper; /* static: threads use it until the process ends */
    struct wrapper *w = &wrapper;
    w->cli = cli;
    if (cli->argc == 1 && (strcmp(cli->argv[0], "-v") == 0 || strcmp(cli->argv[0], "--version") == 0)) {
        (void)execlp(cli->settings.claude, cli->settings.claude, "--version", (char *)NULL);
        return err_set(err, ERR_NOT_FOUND, "cannot start '%s': %s", cli->settings.claude, strerror(errno));
    }
    /* Returns the memory of large messages to the system: otherwise malloc begins to keep blocks of that size. */
    system_tune_heap(LARGE_BYTES);
    w->said = lines_init(LINE_BYTES_MAX);
    w->typed = lines_init(LINE_BYTES_MAX);
    claude_asks_init(&w->asks);
    struct rc rc = begin(w, err);
    if (rc_bad(rc))
        claude_screen_close(&w->screen);
    if (rc_ok(rc)) {
        run(w);
        end(w);
    }
    if (w->child.pid)
        claude_child_kill(&w->asks, &w->child, SIGTERM);
    return rc;
}
