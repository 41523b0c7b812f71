/* Shared by the commands that stand between an agent and somebody else: `nod claude`, `nod codex talk`,
 * `nod mcp proxy`, `nod acp`.
 *
 * A relay has a program of somebody else's as its child, speaks lines with it, and writes what was said into a
 * session's log. Threads share a pipe (one line at a time) and the queue of the log, each behind its lock.
 */
#ifndef CLI_RELAY_RELAY_H
#define CLI_RELAY_RELAY_H

#include "base/buf.h"
#include "base/json.h"
#include "cli/cli.h"
#include "event/call.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

struct http_client;

/* ---- lines to somebody ---- */
/* A pipe to which several threads write whole lines. */
struct relay_pipe {
    pthread_mutex_t lock;
    int fd; /* -1: closed */
};
void relay_pipe_init(struct relay_pipe *pipe, int fd);
/* Writes a buffer of whole lines; false when the reader has gone. */
bool relay_pipe_send(struct relay_pipe *pipe, const struct buf *line);
/* Writes one line and adds its end. */
bool relay_pipe_put(struct relay_pipe *pipe, struct str line);
void relay_pipe_close(struct relay_pipe *pipe);
/* Calls `take` with each line until the end of input; false: a line was longer than `bytes_max`. */
bool relay_read_lines(int fd, size_t bytes_max, void (*take)(void *arg, struct str line), void *arg);

/* ---- the program ---- */
/* An agent's or server's program that a relay has started, in a process group of its own. */
struct relay_child {
    pid_t pid;
    int out; /* its standard output */
    struct relay_pipe in;
};
/* Starts the program, looked up in PATH, in a process group of its own. `environment` NULL: ours. ERR_NOT_FOUND says
 * why it cannot be started. */
struct rc relay_child_start(char **argv, char **environment, struct relay_child *ret_child, struct err *err);
/* Waits for the child's end and returns its exit status as a shell reports it. */
int relay_child_wait(struct relay_child *child);
/* Ends the child, whose input is closed: waits for it a while, then sends SIGTERM, then SIGKILL. */
int relay_child_end(struct relay_child *child);

/* ---- the log of the conversation ---- */
/* Notes about a conversation on their way to the server: a queue and the thread that sends them, in order. */
struct relay_record {
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct relay_post *first, **last;
    struct http_client *client;
    pthread_t thread;
    size_t bytes;
    bool ending, ended, lost;
};
struct rc relay_record_start(struct relay_record *record, struct cli *cli, struct err *err);
/* Queues a POST; they are sent in order, and repeated while the server is away. */
void relay_record_post(struct relay_record *record, struct str target, struct str body);
/* Waits until the queue is sent, a few seconds at most. */
void relay_record_end(struct relay_record *record);

/* ---- questions ---- */
enum { RELAY_IDLE_MAX = 8 };

/* The session in which a relay asks. */
struct relay_gate {
    struct cli *cli;
    struct relay_record *record;
    struct str cwd, title;
    struct str agent, agent_session; /* the agent's own name of its conversation; empty: it has none */
    pthread_mutex_t lock;            /* guards everything below */
    struct str session, thread;      /* empty: not found yet */
    struct http_client *idle[RELAY_IDLE_MAX];
    unsigned idle_count;
};
void relay_gate_init(struct relay_gate *gate, struct cli *cli, struct relay_record *record);
/* Finds the session: NOD_SESSION, else the one the token is bound to, else the one of this conversation, else a new
 * one. Any thread, any number of times. */
struct rc relay_gate_session(struct relay_gate *gate, struct err *err);

/* Puts a message or a status of the conversation into its log; `text` of a status: the reason of its end. */
void relay_note(struct relay_gate *gate, struct str source, const char *type, const char *status, struct str text);

/* A call as whoever asks describes it; members that are empty are left out. */
struct relay_question {
    struct str id, name;
    struct str input;                /* JSON */
    struct str dialect, cwd, source;
    struct str by_default;
    bool only_rules;
};
void relay_put_question(struct json_out *out, const struct relay_question *question);

/* A question about a call. It has an id of its own, which only its own repetitions carry: an id of the agent's may come
 * again, and the answer to the old question must not answer the new one. */
struct relay_ask {
    struct relay_gate *gate;
    struct arena *arena;
    const char *route;          /* below the thread: "tool-calls", "tool-definitions" */
    struct str id, body;        /* body: JSON with that id */
    const atomic_bool *cancelled;
    void (*waits)(void *arg);   /* called every few seconds while nobody has answered; may be NULL */
    void *arg;
    struct call call;           /* the answer */
};
/* Waits in the thread that calls until there is an answer, however long that takes. A server that is not there at the
 * first attempt is an error that says how to start it; one that goes away later is waited for. ERR_CONFLICT: it was
 * cancelled, and is taken back. */
struct rc relay_ask(struct relay_ask *ask, struct err *err);
/* Fills in route, id and body from the question about a call, then does what relay_ask does. */
struct rc relay_ask_about(struct relay_ask *ask, const struct relay_question *question, struct err *err);
/* From another thread, after `cancelled` was set: withdraws the call at once, so that its thread returns. */
void relay_ask_cancel(struct relay_gate *gate, struct str id);
/* Tells what came of an allowed call; `content`: JSON. */
void relay_report(struct relay_gate *gate, struct str id, struct str content, bool is_error);

#endif
