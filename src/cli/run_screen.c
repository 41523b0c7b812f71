/* nod run without a prompt, at a terminal: a conversation with Nod's own agent, like `nod claude` (claude_screen.h).
 *
 * Two threads beside the one that waits for requests (inbox.h): one follows the session's events and adds lines to the
 * conversation, the other owns the keys and the screen. They share the conversation and the run's state under one lock.
 */
#include "base/limits.h"
#include "cli/inbox.h"
#include "cli/local.h"
#include "cli/run.h"
#include "cli/tui/chat.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { TICK_MS = 200 };

/* The screen of `nod run`; the follower's thread adds to the conversation under the lock. */
struct run_screen {
    struct running *running;
    struct inbox inbox;
    struct chat chat;
    pthread_mutex_t lock;
    int waker[2]; /* waker[0] becomes readable when the conversation has changed, or after Ctrl-C */
    struct err failure; /* of the follower, which has ended then */
};

static struct run_screen the_screen; /* static: threads use it until the process ends */
static volatile sig_atomic_t interrupted;

static void ring(void)
{
    int kept = errno;
    (void)!write(the_screen.waker[1], "", 1);
    errno = kept;
}

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
    ring();
}

/* ---- the follower ---- */

void run_screen_lock(struct run_screen *screen) { (void)pthread_mutex_lock(&screen->lock); }

void run_screen_unlock(struct run_screen *screen)
{
    (void)pthread_mutex_unlock(&screen->lock);
    ring();
}

void run_screen_say(struct run_screen *screen, char mark, const char *lead, struct str text)
{
    chat_say(&screen->chat, mark, lead, text);
}

void run_screen_stream(struct run_screen *screen, struct str text) { chat_stream(&screen->chat, text); }

void run_screen_status(struct run_screen *screen, struct str status)
{
    (void)snprintf(screen->chat.status, sizeof screen->chat.status, "%.*s", STR_ARG(status));
}

/* The second thread: it follows the run's events and changes the page under the lock; the first one draws. */
static void *follow(void *arg)
{
    struct run_screen *screen = arg;
    struct err err = {.code = ERR_OK};
    if (rc_bad(run_follow(screen->running, &err))) {
        run_screen_lock(screen);
        screen->failure = err;
        run_screen_unlock(screen);
    }
    return NULL;
}

/* ---- the person ---- */

/* One run at a time in a thread of conversation; the server would refuse a second one. */
static void prompt(struct run_screen *screen)
{
    ARENA_SCOPE(arena);
    struct running *running = screen->running;
    struct chat *chat = &screen->chat;
    struct str words = arena_str(&arena, (struct str){chat->line, chat->line_bytes});
    struct err err = {.code = ERR_OK};
    if (running->busy) {
        chat_say(chat, '!', "", STR("The agent is still working. Ctrl-C stops it; then write again."));
        return;
    }
    chat_sent(chat);
    chat_say(chat, '*', "you     ", words);
    if (rc_bad(run_begin(running, words, running->session, &err)) || rc_bad(run_execute(running, &err))) {
        chat_say(chat, '^', "", str_of(err.text));
        return;
    }
    running->busy = true;
    run_screen_status(screen, STR("working"));
}

/* Ctrl-C stops the run; without one it ends the conversation. */
static bool interrupt(struct run_screen *screen)
{
    struct running *running = screen->running;
    struct reply reply;
    struct err err = {.code = ERR_OK};
    interrupted = 0;
    if (!running->busy)
        return false;
    struct str id = remote_escape(&running->cli->arena, running->id);
    struct str target = arena_printf(&running->cli->arena, "/api/agent-requests/%.*s/cancel", STR_ARG(id));
    if (rc_bad(remote_post(running->cli, target, STR("{}"), &reply, &err)))
        chat_say(&screen->chat, '^', "", str_of(err.text));
    return true;
}

static void draw(struct run_screen *screen)
{
    ARENA_SCOPE(arena);
    tui_terminal_size(&screen->inbox.tui.width, &screen->inbox.tui.height);
    struct tui_screen shown = chat_draw(&arena, &screen->chat);
    tui_terminal_show(&shown);
}

/* Handles the keys; false: the person ends the conversation. */
static bool take_keys(struct run_screen *screen)
{
    for (uint32_t key; (key = tui_terminal_key()) != TUI_KEY_NONE;) {
        inbox_prepare(&screen->inbox);
        int act = chat_press(&screen->chat, key);
        if (act == CHAT_END)
            return false;
        if (act == CHAT_PROMPT)
            prompt(screen);
        else
            inbox_act(&screen->inbox, (enum tui_act)act);
        chat_settle(&screen->chat);
    }
    return true;
}

/* One turn of the first thread: read what came, take keys, draw. The lock is held only while the page is looked at.
 */
static bool turn(struct run_screen *screen)
{
    char rung[256];
    (void)!read(screen->waker[0], rung, sizeof rung);
    inbox_refresh(&screen->inbox);
    inbox_prepare(&screen->inbox);
    run_screen_lock(screen);
    chat_settle(&screen->chat);
    bool more = (!interrupted || interrupt(screen)) && take_keys(screen) && screen->failure.code == ERR_OK;
    draw(screen);
    (void)pthread_mutex_unlock(&screen->lock);
    return more;
}

/* ---- from beginning to end ---- */

/* A conversation goes on in a session that is named; else one is made for this folder. */
static struct rc have_session(struct running *running, const char *folder, struct err *err)
{
    struct cli *cli = running->cli;
    const char *old = option_text(cli, "session");
    struct reply reply;
    struct str body = json_object_str(&cli->arena, J("cwd", folder), J("title", local_title(str_of(folder))));
    struct str target = arena_printf(&cli->arena, "/api/sessions/%s", remote_escape(&cli->arena, str_of(old)).p);
    TRY(old ? remote_get(cli, target, &reply, err)
            : remote_post(cli, STR("/api/sessions"), body, &reply, err));
    running->session = json_text(reply.json, "id");
    running->thread = arena_printf(&cli->arena, "%.*s.main", STR_ARG(running->session));
    return run_last_event(running, err);
}

static struct rc open_screen(struct run_screen *screen, const char *folder, struct err *err)
{
    struct cli *cli = screen->running->cli;
    struct sigaction action = {.sa_handler = on_signal};
    (void)pthread_mutex_init(&screen->lock, NULL);
    if (pipe2(screen->waker, O_CLOEXEC | O_NONBLOCK) != 0)
        return err_set(err, ERR_IO, "no pipe: %s", strerror(errno));
    TRY(inbox_open(&screen->inbox, cli, arena_c(&cli->arena, screen->running->session), err));
    struct str title = arena_printf(&cli->arena, "Nod  run · %.*s",
                                    STR_ARG(text_line(&cli->arena, local_title(str_of(folder)))));
    chat_init(&screen->chat, &screen->inbox.tui, title, "nod");
    run_screen_status(screen, STR("ready"));
    TRY(tui_terminal_open(cli->color, err));
    (void)sigaction(SIGINT, &action, NULL);
    chat_say(&screen->chat, '#', "",
             STR("Write what is to be done. Questions are asked here, and on the page (nod login) and in nod watch "
                 "too: the first answer counts. Ctrl-C stops the agent, Ctrl-D on an empty line ends."));
    return cli_start_thread(follow, screen, err);
}

/* The terminal is restored before anything else is printed. The run goes on at the server when this command ends. */
struct rc run_screen_command(struct running *running, struct err *err)
{
    struct run_screen *screen = &the_screen;
    struct cli *cli = running->cli;
    struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.events = POLLIN}, {.events = POLLIN}};
    const char *folder;
    BUF_SCOPE(last, TEXT_BYTES_MAX);
    TRY(local_folder(cli, option_text(cli, "cwd") ? option_text(cli, "cwd") : ".", &folder, err));
    screen->running = running;
    running->screen = screen;
    TRY(have_session(running, folder, err));
    TRY(open_screen(screen, folder, err));
    fds[1].fd = screen->inbox.waker[0];
    fds[2].fd = screen->waker[0];
    while (turn(screen) && !(fds[0].revents & (POLLHUP | POLLERR)))
        (void)poll(fds, 3, TICK_MS);
    run_screen_lock(screen); /* the follower waits here until the process ends */
    tui_terminal_close();
    chat_last(&last, &screen->chat, cli->color, cli->width);
    cli_out(buf_str(&last));
    inbox_close(&screen->inbox);
    if (screen->failure.code != ERR_OK)
        return err_set(err, screen->failure.code, "%s", screen->failure.text);
    if (running->busy)
        cli_note("the agent goes on; nod run --resume %.*s shows it", STR_ARG(running->id));
    return RC_OK;
}
