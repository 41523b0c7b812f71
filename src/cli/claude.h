/* What the files of `nod claude` share.
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

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

struct http_client;

/* ---- the way to Claude Code ---- */
struct claude_pipe {
    pthread_mutex_t lock;
    int fd; /* -1: closed */
};
/* One line, whole; false when nobody reads any more. */
bool claude_pipe_send(struct claude_pipe *pipe, const struct buf *line);
void claude_pipe_close(struct claude_pipe *pipe);

/* ---- the log of the conversation ---- */
struct claude_record {
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct claude_post *first, **last;
    struct http_client *client;
    pthread_t thread;
    size_t bytes;
    bool ending, ended, lost;
};
struct rc claude_record_start(struct claude_record *record, struct cli *cli, struct err *err);
/* POSTs in the order in which they come, also when the server is away for a while. */
void claude_record_post(struct claude_record *record, struct str target, struct str body);
/* Waits for what is left, a few seconds at most. */
void claude_record_end(struct claude_record *record);

/* ---- questions ---- */
struct claude_asks {
    pthread_mutex_t lock;
    struct claude_asking *first;
    struct cli *cli;
    struct claude_pipe *pipe;
    struct claude_record *record;
    struct str session, thread, cwd;
    unsigned open;
};
void claude_asks_init(struct claude_asks *asks);
/* Takes the question over; it is answered, refused or cancelled, always. */
void claude_asks_add(struct claude_asks *asks, const struct claude_message *message);
/* Claude Code does not want to know any more. */
void claude_asks_cancel(struct claude_asks *asks, struct str request);
/* The same for all. Their threads may outlive this: they end with the process. */
void claude_asks_end(struct claude_asks *asks);
unsigned claude_asks_open(struct claude_asks *asks);
/* The thread of a sub-agent, or of the main one. */
struct str claude_thread(struct arena *arena, const struct claude_asks *asks, struct str agent);
/* Tells the server of a sub-agent's thread. */
void claude_thread_post(struct claude_asks *asks, const struct claude_message *task);

/* ---- the process ---- */
struct claude_child {
    pid_t pid;
    int out; /* its standard output */
    struct claude_pipe in;
};
struct rc claude_child_start(struct cli *cli, const struct claude_args *args, const char *session,
                             struct claude_child *ret_child, struct err *err);
/* Its exit status as a shell would say it; waits for the end. */
int claude_child_wait(struct claude_child *child);

/* ---- from elsewhere: prompts and modes, by events of the session ---- */
struct claude_ear {
    struct http_client *client;
    struct str session;
    uint64_t after;
    struct claude_pipe *pipe;
    atomic_uint *prompts; /* sent and not yet begun */
};
/* Starts a thread that ends with the process. */
struct rc claude_ear_start(struct claude_ear *ear, struct cli *cli, struct err *err);

#endif
