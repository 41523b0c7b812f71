/* The terminal of `nod claude` (claude_screen.h): joins the conversation (tui/chat.c) and the inbox (inbox.c)
 * on one screen. One thread; the inbox's follower only wakes it. */
#include "cli/claude_screen.h"

#include "cli/local.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { RESULT_LINES = 3, NOTE_BYTES_MAX = 64 << 10 };

#define TOLD '\002' /* begins a line of claude_screen_tell */

static const struct {
    const char *mode, *words;
} modes[] = {{"default", "Ask first"}, {"acceptEdits", "Accept edits"}, {"plan", "Plan only"},
             {"bypassPermissions", "Allow everything"}};

/* ---- streams ---- */

static struct rc make_pipe(int ends[2], struct err *err)
{
    if (pipe2(ends, O_CLOEXEC) != 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0)
        return err_set(err, ERR_IO, "no pipe: %s", strerror(errno));
    return RC_OK;
}

/* Before any thread is started: standard error is moved into a pipe, since any write to it would destroy the screen.
 */
struct rc claude_screen_prepare(struct claude_screen *screen, struct err *err)
{
    TRY(make_pipe(screen->child, err));
    TRY(make_pipe(screen->notes, err));
    screen->note_lines = lines_init(NOTE_BYTES_MAX);
    screen->child_lines = lines_init(NOTE_BYTES_MAX);
    screen->real_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    if (screen->real_stderr < 0 || dup2(screen->child[1], STDERR_FILENO) < 0)
        return err_set(err, ERR_IO, "no standard error: %s", strerror(errno));
    return RC_OK;
}

/* Standard error goes into a pipe from here on, so that notes appear in the conversation and not across the
 * screen. */
struct rc claude_screen_open(struct claude_screen *screen, struct str session, struct str folder, struct err *err)
{
    struct arena *arena = &screen->person.arena;
    (void)close(screen->child[1]);
    if (dup2(screen->notes[1], STDERR_FILENO) < 0)
        return err_set(err, ERR_IO, "no standard error: %s", strerror(errno));
    TRY(inbox_open(&screen->inbox, &screen->person, arena_c(arena, session), err));
    struct str title = arena_printf(arena, "Nod  claude · %.*s", STR_ARG(text_line(arena, local_title(folder))));
    chat_init(&screen->chat, &screen->inbox.tui, title, "claude");
    TRY(tui_terminal_open(screen->person.color, err));
    screen->open = true;
    chat_say(&screen->chat, '#', "",
             STR("Write what is to be done. Questions are asked here, and on the page (nod login) and in nod watch "
                 "too: the first answer counts. Ctrl-D on an empty line ends."));
    return RC_OK;
}

void claude_screen_tell(char mark, struct str left, struct str right)
{
    ARENA_SCOPE(arena);
    cli_note("%c%c%.*s\t%.*s", TOLD, mark, STR_ARG(text_line(&arena, left)), STR_ARG(text_line(&arena, right)));
}

/* Notes of our own threads come by the pipe, marked; everything else is a line that somebody has written to standard
 * error. */
static void take_note(struct claude_screen *screen, struct str line)
{
    struct str right;
    if (line.n < 2 || line.p[0] != TOLD) {
        chat_say(&screen->chat, '#', "", line);
        return;
    }
    struct str left = str_cut(str_sub(line, 2, line.n), '\t', &right);
    chat_say_ends(&screen->chat, line.p[1], left, right);
}

/* The next line; *fd becomes -1 at the end of the stream, or of our patience with a line that has no end. */
static bool next_line(int *fd, struct lines *lines, struct str *ret_line)
{
    size_t room;
    if (*fd < 0 || lines_next(lines, ret_line))
        return *fd >= 0;
    char *to = lines_room(lines, &room);
    ssize_t n = to ? read(*fd, to, room) : 0;
    if (n == 0) {
        (void)close(*fd);
        *fd = -1;
    }
    if (n <= 0)
        return false;
    lines_add(lines, (size_t)n);
    return lines_next(lines, ret_line);
}

static void take_streams(struct claude_screen *screen)
{
    struct str line;
    while (next_line(&screen->notes[0], &screen->note_lines, &line))
        take_note(screen, line);
    while (next_line(&screen->child[0], &screen->child_lines, &line))
        chat_say(&screen->chat, '#', "claude! ", line);
}

/* The terminal first, then standard error. Safe when the screen was never opened. */
void claude_screen_close(struct claude_screen *screen)
{
    if (screen->real_stderr <= 0)
        return;
    if (screen->open) {
        take_streams(screen);
        BUF_SCOPE(last, TEXT_BYTES_MAX);
        tui_terminal_close();
        chat_last(&last, &screen->chat, screen->person.color, screen->person.width);
        cli_out(buf_str(&last));
    }
    screen->open = false;
    (void)dup2(screen->real_stderr, STDERR_FILENO);
    screen->real_stderr = 0;
}

/* ---- what is shown ---- */

void claude_screen_status(struct claude_screen *screen, const char *mode, const char *state, struct str cost)
{
    for (size_t i = 0; mode && i < sizeof modes / sizeof *modes; i++)
        if (strcmp(mode, modes[i].mode) == 0)
            screen->mode = modes[i].words;
    screen->state = state ? state : screen->state;
    if (!str_empty(cost))
        (void)snprintf(screen->cost, sizeof screen->cost, "  $%.*s", (int)(cost.n < 6 ? cost.n : 6), cost.p);
    (void)snprintf(screen->chat.status, sizeof screen->chat.status, "%s · %s%s",
                   screen->mode ? screen->mode : "Ask first", screen->state ? screen->state : "ready", screen->cost);
}

void claude_screen_result(struct claude_screen *screen, const struct json *block)
{
    const struct json *content = json_get(block, "content");
    struct str text = content && content->type == JSON_STRING ? content->text : STR_NONE;
    const struct json *one = content && content->type == JSON_ARRAY ? content->first : NULL;
    for (; one && !text.n; one = one->next)
        text = json_text(one, "text");
    char mark = json_bool(block, "is_error", false) ? '-' : '#';
    for (unsigned i = 0; text.n && i < RESULT_LINES; i++) {
        struct str line = str_cut(text, '\n', &text);
        chat_say(&screen->chat, mark, "    ", line);
    }
    if (text.n)
        chat_say(&screen->chat, '#', "    ", STR("…"));
}

/* ---- turns ---- */

void claude_screen_fds(const struct claude_screen *screen, struct pollfd fds[SCREEN_FDS])
{
    fds[SCREEN_STDIN] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    fds[SCREEN_RING] = (struct pollfd){.fd = screen->inbox.waker[0], .events = POLLIN};
    fds[SCREEN_NOTES] = (struct pollfd){.fd = screen->notes[0], .events = POLLIN};
    fds[SCREEN_CHILD] = (struct pollfd){.fd = screen->child[0], .events = POLLIN};
}

static void draw(struct claude_screen *screen)
{
    ARENA_SCOPE(arena);
    inbox_prepare(&screen->inbox);
    tui_terminal_size(&screen->inbox.tui.width, &screen->inbox.tui.height);
    struct tui_screen shown = chat_draw(&arena, &screen->chat);
    tui_terminal_show(&shown);
}

/* After each poll: new lines, new questions, keys. False: the person ended it. *ret_prompt is set when a line
 * was sent. */
bool claude_screen_turn(struct claude_screen *screen, struct arena *arena, struct str *ret_prompt)
{
    struct chat *chat = &screen->chat;
    *ret_prompt = STR_NONE;
    take_streams(screen);
    inbox_refresh(&screen->inbox);
    inbox_prepare(&screen->inbox);
    chat_settle(chat);
    for (uint32_t key; (key = tui_terminal_key()) != TUI_KEY_NONE;) {
        inbox_prepare(&screen->inbox);
        int act = chat_press(chat, key);
        if (act == CHAT_END)
            return false;
        if (act == CHAT_PROMPT) {
            *ret_prompt = arena_str(arena, (struct str){chat->line, chat->line_bytes});
            chat_sent(chat);
            break;
        }
        inbox_act(&screen->inbox, (enum tui_act)act);
        chat_settle(chat);
    }
    draw(screen);
    return true;
}
