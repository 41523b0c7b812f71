/* Internals of `nod claude`.
 *
 * One thread reads what Claude Code says and what the person types. Each question has a thread of its own
 * that waits at the gate and writes the answer; one thread writes the conversation into the log; one follows
 * the session for prompts and modes from elsewhere. They share the pipe to Claude Code (one line at a time),
 * the list of open questions and the queue of the log, each behind its lock, and nothing else.
 */
#ifndef CLI_CLAUDE_H
#define CLI_CLAUDE_H

#include "agents/agents.h"
#include "agents/claude.h"
#include "cli/cli.h"
#include "cli/relay/relay.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

struct http_client;

/* ---- questions ---- */
/* Questions of Claude Code that wait for an answer, each with a thread; the lock guards the list and `open`. */
struct claude_asks {
    pthread_mutex_t lock;
    struct claude_asking *first;
    struct cli *cli;
    struct relay_pipe *pipe;
    struct relay_record *record;
    struct agent_box *box;  /* in which Claude Code runs; NULL: in none */
    struct str session, thread, cwd;
    struct cli *person;     /* answers questions here, with the person's token; NULL: the person answers elsewhere */
    bool on_screen;         /* claude_screen.h shows them */
    unsigned open;
};
void claude_asks_init(struct claude_asks *asks);
/* Takes ownership of the question: it is answered, refused or cancelled in every case. */
void claude_asks_add(struct claude_asks *asks, const struct claude_message *message);
/* Claude Code has cancelled the request. */
void claude_asks_cancel(struct claude_asks *asks, struct str request);
/* Cancels all open questions. Their threads may outlive this call: they end with the process. */
void claude_asks_end(struct claude_asks *asks);
unsigned claude_asks_open(struct claude_asks *asks);
/* The thread of a sub-agent, or of the main one. */
struct str claude_thread(struct arena *arena, const struct claude_asks *asks, struct str agent);
/* Sends the server the thread of a sub-agent. */
void claude_thread_post(struct claude_asks *asks, const struct claude_message *task);

/* ---- the process ---- */
/* Starts the agent; with --sandbox in a box, which `asks` owns. */
struct rc claude_child_start(struct cli *cli, struct claude_asks *asks, const struct claude_args *args,
                             const char *session, struct relay_child *ret_child, struct err *err);
/* Ends the agent by a signal, or by ending its box. */
void claude_child_kill(struct claude_asks *asks, struct relay_child *child, int number);
/* Waits for the agent's end; returns its exit status as a shell reports it. */
int claude_child_wait(struct claude_asks *asks, struct relay_child *child);

/* ---- a host program that speaks the control protocol itself ---- */
enum { CLAUDE_HOST_OPEN_MAX = 256, CLAUDE_HOST_ID_BYTES = 128 };

struct claude_host {
    bool on;    /* --input-format stream-json */
    bool begun; /* the request that registers our hook was sent to Claude Code */
    struct relay_pipe *pipe;
    char initialize[CLAUDE_HOST_ID_BYTES];                    /* the host's initialize that has our hook; "": ours */
    char open[CLAUDE_HOST_OPEN_MAX][CLAUDE_HOST_ID_BYTES];    /* Claude Code's requests that the host may answer */
    unsigned next;
};
/* Takes a line of Claude Code and passes it to the host program if it is meant for it. True: no other code needs the
 * line. */
bool claude_host_takes(struct claude_host *host, struct str line);
/* Whether this request registers our hook. */
bool claude_host_is_initialize(const struct claude_host *host, struct str request);
/* Takes a line of the program that has started `nod claude` (an editor, an SDK). Returns the prompt in the line; empty:
 * the line has none. */
struct str claude_host_says(struct claude_host *host, struct arena *arena, struct str line);

/* ---- from elsewhere: prompts and modes, by events of the session ---- */
/* The thread that follows the session's events for words of people, and passes them on to Claude Code. */
struct claude_follower {
    struct http_client *client;
    struct str session;
    uint64_t after;
    struct relay_pipe *pipe;
    atomic_uint *prompts; /* number of prompts that were sent and not begun yet */
};
/* Starts a thread that ends with the process. */
struct rc claude_follow_start(struct claude_follower *follower, struct cli *cli, struct err *err);

#endif
