/* The waiting calls of a server, or of one of its sessions, in a struct tui: kept up to date and answered.
 *
 * Two threads. One follows the events that open and close requests and rings a pipe; it shares nothing else but the
 * flag whether the stream is there. The other owns the rest: at every ring it reads the list anew, so what is shown is
 * what the server says and never a sum of what was heard.
 */
#ifndef CLI_INBOX_H
#define CLI_INBOX_H

#include "cli/cli.h"
#include "cli/tui/tui.h"

#include <stdatomic.h>

/* Owned by the main thread; it shares the atomics and the pipe with the follower's thread. */
struct inbox {
    struct cli *cli;             /* speaks with the person's token */
    const char *session;         /* NULL: every session */
    struct tui tui;
    struct http_client *stream;
    int waker[2];                /* waker[0] becomes readable when inbox_refresh has something to do */
    atomic_bool live, ended;
    atomic_uint_fast64_t after;
    int64_t wake_ms;             /* when the next snooze is over, of which no event tells; 0: nothing is snoozed */
};

/* Reads the list and starts the follower, which may live as long as the process: so must the inbox. */
struct rc inbox_open(struct inbox *inbox, struct cli *cli, const char *session, struct err *err);
/* Empties the waker's pipe, and reads the list again if anything was in it or a snooze is over. */
void inbox_refresh(struct inbox *inbox);
/* Call it before every drawing: sets the time, and reads the call on screen in full. */
void inbox_prepare(struct inbox *inbox);
/* Carries out an act on the call on screen. */
void inbox_act(struct inbox *inbox, enum tui_act act);
void inbox_close(struct inbox *inbox);

#endif
