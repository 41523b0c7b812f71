/* nod watch: the inbox in the terminal.
 *
 * Two threads. One follows the events that open and close requests and rings a pipe; it shares nothing else
 * but the flag whether the stream is there. The other owns the screen: at every ring it reads the list anew,
 * so what is shown is what the server says and never a sum of what was heard.
 */
#include "base/limits.h"
#include "cli/follow.h"
#include "cli/tui/tui.h"
#include "cli/view.h"
#include "http/http.h"
#include "io/clock.h"
#include "io/file.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TICK_MS = 200, AWAY_US = 300000, EDIT_BYTES_MAX = LIMIT_BODY_BYTES };

struct watch {
    struct cli *cli;
    struct tui tui;
    struct http_client *stream;
    int waker[2];
    atomic_bool live, ended;
    atomic_uint_fast64_t after;
};

/* ---- the follower's thread ---- */

static void ring(struct watch *watch)
{
    char one = 1;
    (void)!write(watch->waker[1], &one, 1);
}

static bool heard(void *arg, struct str id, struct str type, struct str data)
{
    struct watch *watch = arg;
    uint64_t seq;
    (void)data;
    if (str_is(type, "error")) /* the log is another one: every question is looked at again */
        atomic_store(&watch->after, 0);
    else if (str_to_u64(id, &seq))
        atomic_store(&watch->after, seq);
    ring(watch);
    return !atomic_load(&watch->ended);
}

static void *follow(void *arg)
{
    struct watch *watch = arg;
    while (!atomic_load(&watch->ended)) {
        ARENA_SCOPE(arena);
        struct str target =
            arena_printf(&arena, "/api/events?after=%llu&types=TOOL_APPROVAL_REQUEST,TOOL_APPROVAL_RESPONSE,"
                                 "TOOL_APPROVAL_PARTIAL,TOOL_APPROVAL_ALERT",
                         (unsigned long long)atomic_load(&watch->after));
        atomic_store(&watch->live, true);
        ring(watch);
        struct rc rc = http_client_stream(watch->stream, target, heard, watch, NULL);
        if (rc.code == ERR_GONE)
            atomic_store(&watch->after, 0);
        if (rc_bad(rc)) {
            atomic_store(&watch->live, false);
            ring(watch);
        }
        (void)usleep(AWAY_US);
    }
    return NULL;
}

/* ---- the list ---- */

static const struct json *find_by_id(const struct json *list, struct str id)
{
    for (const struct json *one = list ? list->first : NULL; one; one = one->next)
        if (str_eq(json_text(one, "id"), id))
            return one;
    return NULL;
}

/* The session's title, with the sub-agent that asks where it is one. */
static struct str title_of(struct arena *arena, const struct json *sessions, const struct json *pending)
{
    const struct json *session = find_by_id(json_get(sessions, "sessions"), json_text(pending, "sessionId"));
    const struct json *thread = find_by_id(json_get(session, "threads"), json_text(pending, "threadId"));
    struct str title = text_line(arena, json_text(session, "title")), name = json_text(thread, "agent");
    if (str_empty(json_text(thread, "parentId")))
        return title;
    if (str_empty(name))
        name = json_text(thread, "title");
    return arena_printf(arena, "%.*s (sub-agent %.*s)", STR_ARG(title), STR_ARG(text_line(arena, name)));
}

/* The list leaves out what is large. Of the call that is on screen all is read before anyone can allow it. */
static const struct json *whole_of(struct watch *watch, struct arena *arena, const struct json *listed)
{
    const struct tui_call *open = tui_open(&watch->tui);
    const struct json *whole;
    bool on_screen = open && str_eq(open->session, json_text(listed, "sessionId")) &&
                     str_eq(open->call, json_text(listed, "toolCallId"));
    return on_screen && rc_ok(view_whole(watch->cli, arena, listed, &whole, NULL)) ? whole : listed;
}

static void fill_open(struct watch *watch)
{
    struct tui *tui = &watch->tui;
    const struct tui_call *open = tui_open(tui);
    const struct json *whole;
    if (!open || !open->cut || !tui->live)
        return;
    if (rc_ok(view_waiting(watch->cli, &tui->arena, open->session, open->call, &whole, NULL)))
        tui_fill(tui, tui_read_call(&tui->arena, whole, STR_NONE));
}

static struct rc read_list(struct watch *watch, struct err *err)
{
    ARENA_SCOPE(arena);
    struct query ask = {.method = "GET", .target = STR("/api/sessions?limit=200")};
    struct reply list, sessions;
    int64_t seq, total;
    TRY(view_pending(watch->cli, &arena, NULL, &list, err));
    TRY(remote_ask(watch->cli, &arena, &ask, &sessions, err));
    if (json_i64(json_get(list.json, "seq"), &seq) && atomic_load(&watch->after) == 0)
        atomic_store(&watch->after, (uint64_t)seq);
    const struct json *pending = json_get(list.json, "pendingApprovals");
    struct tui_call *calls = arena_array(&arena, struct tui_call, pending->count + 1);
    size_t count = 0;
    for (const struct json *p = pending->first; p; p = p->next)
        calls[count++] = tui_read_call(&arena, whole_of(watch, &arena, p), title_of(&arena, sessions.json, p));
    bool told = json_i64(json_get(list.json, "total"), &total);
    watch->tui.behind = told && total > (int64_t)count ? (size_t)total - count : 0;
    tui_take(&watch->tui, &arena, calls, count);
    return RC_OK;
}

/* Someone else answered what was on screen: who, and what. */
static void say_winner(struct watch *watch, struct str session, struct str call)
{
    ARENA_SCOPE(arena);
    struct query ask = {.method = "GET"};
    struct reply reply;
    ask.target = arena_printf(&arena, "/api/tool-calls/%s?session=%s", remote_escape(&arena, call).p,
                              remote_escape(&arena, session).p);
    if (rc_bad(remote_ask(watch->cli, &arena, &ask, &reply, NULL)))
        return;
    tui_say(&watch->tui, "%.*s: %.*s", STR_ARG(text_line(&arena, call)), STR_ARG(view_decision(&arena, reply.json)));
}

static void refresh_list(struct watch *watch, bool mine)
{
    ARENA_SCOPE(arena);
    const struct tui_call *open = tui_open(&watch->tui);
    struct str session = open ? arena_str(&arena, open->session) : STR_NONE;
    struct str call = open ? arena_str(&arena, open->call) : STR_NONE;
    bool there = false;
    watch->tui.live = atomic_load(&watch->live) && rc_ok(read_list(watch, NULL));
    for (size_t i = 0; i < watch->tui.count; i++)
        there = there || (str_eq(watch->tui.calls[i].session, session) && str_eq(watch->tui.calls[i].call, call));
    if (watch->tui.live && call.n && !there && !mine)
        say_winner(watch, session, call);
}

/* ---- answers ---- */

struct words_of_act {
    const char *decision, *done;
};

static const char *const reaches[TUI_REACH_COUNT] = {
#define X(name, words) name,
    TUI_REACHES(X)
#undef X
};

static const struct {
    int64_t seconds;
    uint64_t uses;
} ends[TUI_END_COUNT] = {
#define X(seconds, uses, words) {seconds, uses},
    TUI_ENDS(X)
#undef X
};

static const struct words_of_act acts[] = {
    [TUI_ALLOW_ONCE] = {"allow_once", "allowed once"},
    [TUI_ALLOW_SESSION] = {"allow_session", "allowed for the session"},
    [TUI_ALLOW_ALWAYS] = {"allow_always", "allowed from now on"},
    [TUI_DENY] = {"deny", "denied"},
    [TUI_ABORT] = {"abort", "aborted"},
    [TUI_EDIT] = {"allow_once", "allowed as edited"},
    [TUI_ANSWER] = {"allow_once", "answered"},
    [TUI_CARRY_OUT] = {"allow_once", "carried out"},
};

static const char *const plan_modes[] = {
#define X(name, words) name,
    TUI_PLAN_MODES(X)
#undef X
};

static void send(struct watch *watch, enum tui_act act, struct str edited)
{
    ARENA_SCOPE(arena);
    BUF_SCOPE(body, LIMIT_BODY_BYTES * 2);
    struct json_out out = json_out(&body);
    const struct tui_call *open = tui_open(&watch->tui);
    struct query ask = {.method = "POST"};
    struct reply reply = {0};
    struct err err = {.code = ERR_OK};
    bool denies = act == TUI_DENY || act == TUI_ABORT;
    CHECK(open && acts[act].decision);
    json_open(&out, '{');
    json_member(&out, "decision", str_of(acts[act].decision));
    json_member(&out, "digest", open->digest);
    if (denies)
        json_member(&out, "feedback", (struct str){watch->tui.words, watch->tui.words_bytes});
    if (act == TUI_ALLOW_ALWAYS) {
        json_member_raw(&out, "rules", open->rules[watch->tui.chosen]);
        json_member(&out, "scope", str_of(reaches[watch->tui.reach]));
        if (ends[watch->tui.end].seconds)
            json_member_time(&out, "expiresAt", clock_wall_ms() + ends[watch->tui.end].seconds * 1000);
        if (ends[watch->tui.end].uses)
            json_member_u64(&out, "uses", ends[watch->tui.end].uses);
    }
    if (act == TUI_CARRY_OUT)
        json_member(&out, "mode", str_of(plan_modes[watch->tui.chosen]));
    json_member_raw(&out, "updatedInput", edited);
    json_close(&out, '}');
    ask.body = buf_str(&body);
    ask.target = arena_printf(&arena, "/api/sessions/%s/approvals/%s", remote_escape(&arena, open->session).p,
                              remote_escape(&arena, open->call).p);
    struct rc rc = remote_ask(watch->cli, &arena, &ask, &reply, &err);
    if (rc_ok(rc) && json_get(reply.json, "need"))
        tui_say(&watch->tui, "%.*s", STR_ARG(text_line(&arena, json_text(reply.json, "message"))));
    else if (rc_ok(rc))
        tui_say(&watch->tui, "%.*s %s", STR_ARG(open->tool), acts[act].done);
    else if (err.code == ERR_ALREADY_DECIDED)
        tui_say(&watch->tui, "someone was first: %.*s", STR_ARG(view_decision(&arena, json_get(reply.json, "winner"))));
    else
        tui_say(&watch->tui, "not answered: %s", err.text);
    watch->tui.words_bytes = 0;
    refresh_list(watch, true);
}

/* The words typed for each question become the edited input. */
static void send_answers(struct watch *watch)
{
    ARENA_SCOPE(arena);
    BUF_SCOPE(input, LIMIT_BODY_BYTES);
    const struct tui_call *open = tui_open(&watch->tui);
    struct str left = {watch->tui.answers, watch->tui.answers_bytes};
    struct err err = {.code = ERR_OK};
    CHECK(open && open->kind == TUI_QUESTIONS && watch->tui.answered == open->questions.count);
    struct str *answers = arena_array(&arena, struct str, open->questions.count);
    for (size_t i = 0; i < open->questions.count; i++)
        answers[i] = str_cut(left, '\n', &left);
    if (rc_bad(questions_answer(&input, &open->questions, answers, open->questions.count, &err)))
        tui_say(&watch->tui, "not answered: %s", err.text);
    else
        send(watch, TUI_ANSWER, buf_str(&input));
}

static const char *editor_of(void)
{
    static const char *const names[] = {"VISUAL", "EDITOR"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i]) && getenv(names[i])[0])
            return getenv(names[i]);
    return "vi";
}

static bool run_editor(const char *path)
{
    int status = 1;
    pid_t child = fork();
    if (child == 0) {
        /* The variable may hold options; the path is no part of the script. */
        (void)setenv("EDITOR_COMMAND", editor_of(), 1);
        (void)execl("/bin/sh", "sh", "-c", "exec $EDITOR_COMMAND \"$1\"", "sh", path, (char *)NULL);
        _exit(127);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void edit(struct watch *watch)
{
    ARENA_SCOPE(arena);
    const struct tui_call *open = tui_open(&watch->tui);
    const struct json *value = NULL;
    struct str text;
    struct err err = {.code = ERR_OK};
    char folder[] = "/tmp/nod-edit-XXXXXX";
    if (!mkdtemp(folder)) {
        tui_say(&watch->tui, "no folder for the file could be made");
        return;
    }
    const char *path = arena_printf(&arena, "%s/input.json", folder).p;
    struct rc rc = file_write_private(path, open->input->raw, &err);
    tui_terminal_pause();
    bool edited = rc_ok(rc) && run_editor(path);
    tui_terminal_resume();
    rc = edited ? file_read(&arena, path, EDIT_BYTES_MAX, &text, &err) : rc;
    (void)unlink(path);
    (void)rmdir(folder);
    if (!edited || rc_bad(rc)) {
        tui_say(&watch->tui, "nothing was changed and nothing answered");
    } else if (rc_bad(json_parse(&arena, str_trim(text), &value, &err)) || value->type != JSON_OBJECT) {
        tui_say(&watch->tui, "not answered: what you wrote is no JSON object");
    } else if (str_eq(str_trim(text), open->input->raw)) {
        tui_say(&watch->tui, "nothing was changed and nothing answered");
    } else {
        send(watch, TUI_EDIT, str_trim(text));
    }
}

/* ---- the screen's thread ---- */

static void draw(struct watch *watch)
{
    ARENA_SCOPE(arena);
    watch->tui.now_ms = clock_wall_ms();
    watch->tui.now_us = clock_steady_us();
    fill_open(watch);
    tui_terminal_size(&watch->tui.width, &watch->tui.height);
    struct tui_screen screen = tui_draw(&arena, &watch->tui);
    tui_terminal_show(&screen);
}

static bool take_keys(struct watch *watch)
{
    for (uint32_t key; (key = tui_terminal_key()) != TUI_KEY_NONE;) {
        watch->tui.now_us = clock_steady_us();
        enum tui_act act = tui_press(&watch->tui, key);
        if (act == TUI_QUIT)
            return false;
        if (act == TUI_EDIT)
            edit(watch);
        else if (act == TUI_ANSWER)
            send_answers(watch);
        else if (act != TUI_NOTHING)
            send(watch, act, STR_NONE);
        draw(watch);
    }
    return true;
}

static void run(struct watch *watch)
{
    struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = watch->waker[0], .events = POLLIN}};
    char rung[256];
    do {
        draw(watch);
        (void)poll(fds, 2, TICK_MS);
        if (read(watch->waker[0], rung, sizeof rung) > 0)
            refresh_list(watch, false);
    } while (take_keys(watch) && !(fds[0].revents & (POLLHUP | POLLERR)));
}

struct rc watch_command(struct cli *cli, struct err *err)
{
    /* It outlives this function: the follower may be deep in a read when we leave. */
    static struct watch *watch;
    watch = heap_new(sizeof *watch);
    pthread_t thread;
    watch->cli = cli;
    if (pipe2(watch->waker, O_NONBLOCK | O_CLOEXEC) != 0)
        return err_set(err, ERR_IO, "no pipe could be made");
    TRY(read_list(watch, err));
    TRY(remote_client(cli, &watch->stream, err));
    TRY(tui_terminal_open(cli->color, err));
    watch->tui.live = true;
    atomic_store(&watch->live, true);
    if (pthread_create(&thread, NULL, follow, watch) != 0) {
        tui_terminal_close();
        return err_set(err, ERR_INTERNAL, "no thread could be started");
    }
    run(watch);
    tui_terminal_close();
    atomic_store(&watch->ended, true);
    arena_done(&watch->tui.arena);
    return RC_OK;
}
