/* `nod claude` as a terminal to work in: the conversation, the questions of its session, and a line to write on.
 *
 * The person's token answers here and stays in this process: Claude Code runs under a token of its own, without this
 * terminal (a session of its own, pipes for its three streams). Its standard error is shown under its name; notes
 * of Nod come over a second pipe, so neither disturbs the screen or passes for the other.
 */
#ifndef CLI_CLAUDE_SCREEN_H
#define CLI_CLAUDE_SCREEN_H

#include "agents/lines.h"
#include "cli/inbox.h"
#include "cli/tui/chat.h"

#include <poll.h>

enum { SCREEN_STDIN, SCREEN_RING, SCREEN_NOTES, SCREEN_CHILD, SCREEN_FDS };

/* The screen of `nod claude`; used by the main thread. */
struct claude_screen {
    bool wanted;         /* the person sits at a terminal and wants a conversation */
    bool open;
    struct cli person;   /* with the person's token */
    struct inbox inbox;
    struct chat chat;
    int real_stderr;     /* the original standard error, while ours goes to `notes` */
    int notes[2], child[2];
    struct lines note_lines, child_lines;
    const char *folder, *mode, *state;
    char cost[24];
};

/* Call it before the child is started: takes the child's standard error. */
struct rc claude_screen_prepare(struct claude_screen *screen, struct err *err);
/* Call it after the child was started: takes our own standard error, too, and takes over the terminal. */
struct rc claude_screen_open(struct claude_screen *screen, struct str session, struct str folder, struct err *err);
/* Gives the terminal back, with the last of the conversation on it. Does nothing when it was never taken. */
void claude_screen_close(struct claude_screen *screen);
/* Fills in the descriptors to poll. claude_screen_turn reads all of them without blocking and ignores revents. */
void claude_screen_fds(const struct claude_screen *screen, struct pollfd fds[SCREEN_FDS]);
/* Handles new input and draws. *ret_prompt is a line to send to Claude Code, in `arena`; false: the person ends the
 * conversation. */
bool claude_screen_turn(struct claude_screen *screen, struct arena *arena, struct str *ret_prompt);
/* Shows the first lines of a tool's result. */
void claude_screen_result(struct claude_screen *screen, const struct json *block);
/* Sets the status at the right of the first line; members that are NULL stay as they were. */
void claude_screen_status(struct claude_screen *screen, const char *mode, const char *state, struct str cost);
/* From any thread: adds a line about a call, `right` at its right end. */
void claude_screen_tell(char mark, struct str left, struct str right);

#endif
