/* nod watch: the inbox in the terminal. */
#include "cli/inbox.h"

#include <poll.h>
#include <unistd.h>

enum { TICK_MS = 200 };

static void draw(struct inbox *inbox)
{
    ARENA_SCOPE(arena);
    inbox_prepare(inbox);
    tui_terminal_size(&inbox->tui.width, &inbox->tui.height);
    struct tui_screen screen = tui_draw(&arena, &inbox->tui);
    tui_terminal_show(&screen);
}

static bool take_keys(struct inbox *inbox)
{
    for (uint32_t key; (key = tui_terminal_key()) != TUI_KEY_NONE;) {
        inbox_prepare(inbox);
        enum tui_act act = tui_press(&inbox->tui, key);
        if (act == TUI_QUIT)
            return false;
        inbox_act(inbox, act);
        draw(inbox);
    }
    return true;
}

struct rc watch_command(struct cli *cli, struct err *err)
{
    static struct inbox inbox; /* the follower may be deep in a read when we leave */
    struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.events = POLLIN}};
    TRY(inbox_open(&inbox, cli, NULL, err));
    TRY(tui_terminal_open(cli->color, err));
    fds[1].fd = inbox.waker[0];
    do {
        draw(&inbox);
        (void)poll(fds, 2, TICK_MS);
        inbox_refresh(&inbox);
    } while (take_keys(&inbox) && !(fds[0].revents & (POLLHUP | POLLERR)));
    tui_terminal_close();
    inbox_close(&inbox);
    return RC_OK;
}
