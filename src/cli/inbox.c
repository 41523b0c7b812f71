/* The waiting calls for `nod watch` and the screens of agents (inbox.h). */
#include "cli/inbox.h"

#include "base/limits.h"
#include "base/list.h"
#include "cli/editor.h"
#include "cli/settings.h"
#include "cli/view.h"
#include "http/http.h"
#include "io/clock.h"

#include <fcntl.h>
#include <unistd.h>

enum { AWAY_US = 300000 };

/* ---- the follower's thread ---- */

static void ring(struct inbox *inbox)
{
    char one = 1;
    (void)!write(inbox->waker[1], &one, 1);
}

/* On the following thread. It only notes how far the log goes and wakes the screen, which reads the list anew. */
static bool heard(void *arg, struct str id, struct str type, struct str data)
{
    struct inbox *inbox = arg;
    uint64_t seq;
    (void)data;
    if (str_is(type, "error")) /* the log is another one: every question is looked at again */
        atomic_store(&inbox->after, 0);
    else if (str_to_u64(id, &seq))
        atomic_store(&inbox->after, seq);
    ring(inbox);
    return !atomic_load(&inbox->ended);
}

/* The follower's thread: any event about approvals rings the pipe; it reads nothing else. */
static void *follow(void *arg)
{
    struct inbox *inbox = arg;
    while (!atomic_load(&inbox->ended)) {
        ARENA_SCOPE(arena);
        struct str target =
            arena_printf(&arena, "/api/events?after=%llu&types=TOOL_APPROVAL_REQUEST,TOOL_APPROVAL_RESPONSE,"
                                 "TOOL_APPROVAL_PARTIAL,TOOL_APPROVAL_ALERT,TOOL_APPROVAL_SNOOZED,"
                                 "TOOL_APPROVAL_ASSIGNED,TOKEN_CHANGED%s%s",
                         (unsigned long long)atomic_load(&inbox->after), inbox->session ? "&session=" : "",
                         inbox->session ? inbox->session : "");
        atomic_store(&inbox->live, true);
        ring(inbox);
        struct rc rc = http_client_stream(inbox->stream, target, heard, inbox, NULL);
        if (rc.code == ERR_GONE)
            atomic_store(&inbox->after, 0);
        if (rc_bad(rc)) {
            atomic_store(&inbox->live, false);
            ring(inbox);
        }
        (void)usleep(AWAY_US);
    }
    return NULL;
}

/* ---- the list ---- */

static const struct json *find_by_id(const struct json *list, struct str id)
{
    return LIST_FIND(list ? list->first : NULL, one, str_eq(json_text(one, "id"), id));
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
static const struct json *whole_of(struct inbox *inbox, struct arena *arena, const struct json *listed)
{
    const struct tui_call *open = tui_open(&inbox->tui);
    const struct json *whole;
    bool on_screen = open && str_eq(open->session, json_text(listed, "sessionId")) &&
                     str_eq(open->call, json_text(listed, "toolCallId"));
    return on_screen && rc_ok(view_whole(inbox->cli, arena, listed, &whole, NULL)) ? whole : listed;
}

static void fill_open(struct inbox *inbox)
{
    struct tui *tui = &inbox->tui;
    const struct tui_call *open = tui_open(tui);
    const struct json *whole;
    if (!open || !open->cut || !tui->live)
        return;
    if (rc_ok(view_waiting(inbox->cli, &tui->arena, open->session, open->call, &whole, NULL)))
        tui_fill(tui, tui_read_call(&tui->arena, whole, STR_NONE));
}

/* The list as it is now, with whole calls where the list has them cut. */
static struct rc read_list(struct inbox *inbox, struct err *err)
{
    ARENA_SCOPE(arena);
    struct query ask = {.method = "GET", .target = STR("/api/sessions?limit=200")};
    struct reply list, sessions;
    int64_t seq, total;
    TRY(view_pending(inbox->cli, &arena, inbox->session, &list, err));
    TRY(remote_ask(inbox->cli, &arena, &ask, &sessions, err));
    if (json_i64(json_get(list.json, "seq"), &seq) && atomic_load(&inbox->after) == 0)
        atomic_store(&inbox->after, (uint64_t)seq);
    const struct json *pending = json_get(list.json, "pendingApprovals");
    struct tui_call *calls = arena_array(&arena, struct tui_call, pending->count + 1);
    size_t count = 0;
    inbox->wake_ms = view_wake_ms(pending);
    for (int snoozed = 0; snoozed < 2; snoozed++) /* at the end of the list */
        for (const struct json *p = pending->first; p; p = p->next)
            if ((json_text(p, "snoozedUntil").n > 0) == snoozed)
                calls[count++] = tui_read_call(&arena, whole_of(inbox, &arena, p), title_of(&arena, sessions.json, p));
    bool told = json_i64(json_get(list.json, "total"), &total);
    inbox->tui.behind = told && total > (int64_t)count ? (size_t)total - count : 0;
    if (json_get(list.json, "newKeys"))
        tui_say(&inbox->tui, "a recovery code has added a key: see nod key list");
    tui_take(&inbox->tui, &arena, calls, count);
    return RC_OK;
}

/* Someone else answered the call on screen: shows who, and the decision. */
static void say_winner(struct inbox *inbox, struct str session, struct str call)
{
    ARENA_SCOPE(arena);
    struct query ask = {.method = "GET"};
    struct reply reply;
    ask.target = arena_printf(&arena, "/api/tool-calls/%s?session=%s", remote_escape(&arena, call).p,
                              remote_escape(&arena, session).p);
    if (rc_bad(remote_ask(inbox->cli, &arena, &ask, &reply, NULL)))
        return;
    tui_say(&inbox->tui, "%.*s: %.*s", STR_ARG(text_line(&arena, call)), STR_ARG(body_decision(&arena, reply.json)));
}

/* On the screen's thread. An open call that is gone was answered elsewhere; unless the answer was ours (`mine`), it
 * is shown whose. */
static void refresh_list(struct inbox *inbox, bool mine)
{
    ARENA_SCOPE(arena);
    const struct tui_call *open = tui_open(&inbox->tui);
    struct str session = open ? arena_str(&arena, open->session) : STR_NONE;
    struct str call = open ? arena_str(&arena, open->call) : STR_NONE;
    bool there = false;
    inbox->tui.live = atomic_load(&inbox->live) && rc_ok(read_list(inbox, NULL));
    for (size_t i = 0; i < inbox->tui.count; i++)
        there = there || (str_eq(inbox->tui.calls[i].session, session) && str_eq(inbox->tui.calls[i].call, call));
    if (inbox->tui.live && call.n && !there && !mine)
        say_winner(inbox, session, call);
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
    [TUI_ABORT] = {"abort", "stopped"},
    [TUI_EDIT] = {"allow_once", "allowed as edited"},
    [TUI_ANSWER] = {"allow_once", "answered"},
    [TUI_CARRY_OUT] = {"allow_once", "approved"},
};

static const char *const plan_modes[] = {
#define X(name, words) name,
    TUI_PLAN_MODES(X)
#undef X
};

/* Sends an answer to one call and says what came of it; whether it was taken. */
static bool send_one(struct inbox *inbox, const struct tui_call *open, enum tui_act act, struct str edited)
{
    ARENA_SCOPE(arena);
    JSON_SCOPE(body, out, LIMIT_BODY_BYTES * 2);
    struct query ask = {.method = "POST"};
    struct reply reply = {0};
    struct err err = {.code = ERR_OK};
    bool denies = act == TUI_DENY || act == TUI_ABORT;
    CHECK(open && acts[act].decision);
    json_open(&out, '{');
    json_members(&out, J("decision", acts[act].decision), J("digest", open->digest),
                 J_IF(denies, J("feedback", ((struct str){inbox->tui.words, inbox->tui.words_bytes}))));
    if (act == TUI_ALLOW_ALWAYS) {
        json_members(&out, J_RAW("rules", open->rules[inbox->tui.chosen]), J("scope", reaches[inbox->tui.reach]),
                     J_IF(ends[inbox->tui.end].seconds,
                          J_TIME("expiresAt", clock_wall_ms() + ends[inbox->tui.end].seconds * 1000)),
                     J_IF(ends[inbox->tui.end].uses, J("uses", ends[inbox->tui.end].uses)));
    }
    json_members(&out, J_IF(act == TUI_CARRY_OUT, J("mode", plan_modes[inbox->tui.chosen])),
                 J_RAW("updatedInput", edited));
    json_close(&out, '}');
    ask.body = buf_str(&body);
    ask.target = arena_printf(&arena, "/api/sessions/%s/approvals/%s", remote_escape(&arena, open->session).p,
                              remote_escape(&arena, open->call).p);
    struct rc rc = remote_ask(inbox->cli, &arena, &ask, &reply, &err);
    if (rc_ok(rc) && json_get(reply.json, "need"))
        tui_say(&inbox->tui, "%.*s", STR_ARG(text_line(&arena, json_text(reply.json, "message"))));
    else if (rc_ok(rc))
        tui_say(&inbox->tui, "%.*s %s", STR_ARG(open->tool), acts[act].done);
    else if (err.code == ERR_ALREADY_DECIDED)
        tui_say(&inbox->tui, "someone was first: %.*s", STR_ARG(body_decision(&arena, json_get(reply.json, "winner"))));
    else
        tui_say(&inbox->tui, "not answered: %s", err.text);
    return rc_ok(rc);
}

static void send(struct inbox *inbox, enum tui_act act, struct str edited)
{
    (void)send_one(inbox, tui_open(&inbox->tui), act, edited);
    inbox->tui.words_bytes = 0;
    refresh_list(inbox, true);
}

/* One request per call: each is decided by itself, and those that others have answered are counted and left. */
static void send_marked(struct inbox *inbox, enum tui_act act)
{
    size_t done = 0, count = tui_marked(&inbox->tui);
    for (size_t i = 0; i < inbox->tui.count; i++)
        if (inbox->tui.calls[i].marked)
            done += send_one(inbox, &inbox->tui.calls[i], act, STR_NONE);
    if (done == count)
        tui_say(&inbox->tui, "%zu calls %s", done, acts[act].done);
    else
        tui_say(&inbox->tui, "%zu of %zu %s; the others were answered by somebody else, or changed", done, count,
                acts[act].done);
    inbox->tui.words_bytes = 0;
    refresh_list(inbox, true);
}

/* Puts the call off, or gives it to a person, by the words that were typed. */
static void send_mark(struct inbox *inbox, bool snoozes)
{
    ARENA_SCOPE(arena);
    JSON_SCOPE(body, out, LIMIT_BODY_BYTES);
    const struct tui_call *open = tui_open(&inbox->tui);
    struct str words = {inbox->tui.words, inbox->tui.words_bytes};
    struct query ask = {.method = "POST"};
    struct reply reply = {0};
    struct err err = {.code = ERR_OK};
    int64_t seconds = 0;
    inbox->tui.words_bytes = 0;
    if (!open || (snoozes && !settings_parse_duration(words, &seconds))) {
        tui_say(&inbox->tui, "a time is 90s, 30m, 2h or 1d");
        return;
    }
    json_open(&out, '{');
    json_key(&out, snoozes ? "seconds" : "person");
    if (snoozes)
        json_put_i64(&out, seconds);
    else
        json_put_str(&out, words.n ? words : STR(""));
    json_close(&out, '}');
    ask.body = buf_str(&body);
    ask.target = arena_printf(&arena, "/api/sessions/%s/approvals/%s/%s", remote_escape(&arena, open->session).p,
                              remote_escape(&arena, open->call).p, snoozes ? "snooze" : "assign");
    struct rc rc = remote_ask(inbox->cli, &arena, &ask, &reply, &err);
    struct str state = rc_ok(rc) ? view_state(&arena, reply.json) : STR_NONE;
    if (rc_bad(rc))
        tui_say(&inbox->tui, "not %s: %s", snoozes ? "snoozed" : "assigned", err.text);
    else
        tui_say(&inbox->tui, "%.*s %.*s", STR_ARG(open->tool),
                STR_ARG(state.n ? state : snoozes ? STR("is not snoozed any more") : STR("is for anybody to answer")));
    refresh_list(inbox, true);
}

/* The words typed for each question become the edited input. */
static void send_answers(struct inbox *inbox)
{
    ARENA_SCOPE(arena);
    BUF_SCOPE(input, LIMIT_BODY_BYTES);
    const struct tui_call *open = tui_open(&inbox->tui);
    struct str left = {inbox->tui.answers, inbox->tui.answers_bytes};
    struct err err = {.code = ERR_OK};
    CHECK(open && open->kind == BODY_QUESTIONS && inbox->tui.answered == open->questions.count);
    struct str *answers = arena_array(&arena, struct str, open->questions.count);
    for (size_t i = 0; i < open->questions.count; i++)
        answers[i] = str_cut(left, '\n', &left);
    if (rc_bad(questions_answer(&input, &open->questions, answers, open->questions.count, &err)))
        tui_say(&inbox->tui, "not answered: %s", err.text);
    else
        send(inbox, TUI_ANSWER, buf_str(&input));
}

/* Leaves the screen to the editor; what comes back is sent as the answer's input. */
static void edit(struct inbox *inbox)
{
    ARENA_SCOPE(arena);
    const struct tui_call *open = tui_open(&inbox->tui);
    struct str edited = STR_NONE;
    struct err err = {.code = ERR_OK};
    tui_terminal_pause();
    struct rc rc = editor_change_input(&arena, open->input, &edited, &err);
    tui_terminal_resume();
    if (rc_bad(rc))
        tui_say(&inbox->tui, "not answered: %s", err.text);
    else if (str_empty(edited))
        tui_say(&inbox->tui, "nothing was changed and nothing answered");
    else
        send(inbox, TUI_EDIT, edited);
}

/* ---- for the owner of the screen ---- */

void inbox_act(struct inbox *inbox, enum tui_act act)
{
    if (act == TUI_EDIT)
        edit(inbox);
    else if (act == TUI_ANSWER)
        send_answers(inbox);
    else if (act == TUI_SNOOZE || act == TUI_ASSIGN)
        send_mark(inbox, act == TUI_SNOOZE);
    else if (act == TUI_ALLOW_MARKED || act == TUI_DENY_MARKED)
        send_marked(inbox, act == TUI_ALLOW_MARKED ? TUI_ALLOW_ONCE : TUI_DENY);
    else if (act != TUI_NOTHING)
        send(inbox, act, STR_NONE);
}

void inbox_refresh(struct inbox *inbox)
{
    char rung[256];
    bool wakes = inbox->wake_ms && inbox->tui.live && clock_wall_ms() >= inbox->wake_ms;
    if (read(inbox->waker[0], rung, sizeof rung) > 0 || wakes)
        refresh_list(inbox, false);
}

void inbox_prepare(struct inbox *inbox)
{
    inbox->tui.now_ms = clock_wall_ms();
    inbox->tui.now_us = clock_steady_us();
    fill_open(inbox);
}

/* The list is read first, so that a server that cannot be used is an error of the command and not of the screen. */
struct rc inbox_open(struct inbox *inbox, struct cli *cli, const char *session, struct err *err)
{
    inbox->cli = cli;
    inbox->session = session;
    if (pipe2(inbox->waker, O_NONBLOCK | O_CLOEXEC) != 0)
        return err_set(err, ERR_IO, "no pipe could be made");
    TRY(read_list(inbox, err));
    TRY(remote_client(cli, &inbox->stream, err));
    inbox->tui.live = true;
    atomic_store(&inbox->live, true);
    return cli_start_thread(follow, inbox, err);
}

void inbox_close(struct inbox *inbox)
{
    atomic_store(&inbox->ended, true);
    arena_done(&inbox->tui.arena);
}
