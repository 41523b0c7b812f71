/* Internals of `nod acp`.
 *
 * One thread reads the editor, one the agent; each message that waits at the gate has a thread of its own, and only
 * these and the editor's thread write to the agent. One lock is for all that they share.
 */
#ifndef CLI_RELAY_ACP_H
#define CLI_RELAY_ACP_H

#include "agents/acp.h"
#include "base/digest.h"
#include "base/limits.h"
#include "cli/relay/relay.h"
#include "io/place.h"

enum {
    ACP_LINE_BYTES = 32 << 20,
    ACP_HELD_MAX = 64,
    ACP_SESSIONS_MAX = 64,
    ACP_TOOLS_MAX = 4096,
    ACP_OPEN_MAX = 256,
    ACP_COVERS_MAX = 32,
    ACP_SAID_BYTES_MAX = 512 << 10,
};

/* An allow that also covers, once, the request by which the agent carries the call out. */
struct acp_cover {
    struct digest what;
    bool open;
};

/* A tool call of the agent, as its messages described it so far. */
struct acp_known {
    struct arena arena;
    struct acp_known *next;
    struct str id, call;   /* call: the gate's id, when it was allowed */
    struct acp_tool tool;
};

/* A conversation of the agent: a session at the gate. */
struct acp_session {
    struct acp_session *next;
    struct arena arena;
    struct str id;
    struct relay_gate gate;
    struct acp_known *first; /* newest first */
    unsigned known_count;
    struct acp_cover covers[ACP_COVERS_MAX];
    unsigned cover_next;
    struct buf said;         /* text of the agent since the last prompt */
    struct buf words;        /* texts of denials, to be added to the next prompt */
    struct str mode;         /* a mode in which the agent asks less, and that a person has allowed */
    bool replays;            /* the agent is replaying an old conversation */
};

/* A request of the editor whose answer matters to us. */
struct acp_open {
    char id[LIMIT_ID_BYTES];
    enum { OPEN_NONE, OPEN_SESSION, OPEN_PROMPT, OPEN_OPTION } kind;
    struct str session, cwd; /* on the heap */
};

/* One `nod acp`. `lock` guards sessions, held messages and terminals; pipes have locks of their own. */
struct acp {
    struct cli *cli;
    const struct agent *agent;
    struct str name, cwd;    /* name: "acp:gemini" */
    const char *self, *identity; /* paths of this program and of its identity */
    struct relay_child child;
    struct agent_box *box;   /* in which the agent runs; NULL: in none */
    struct relay_gate box_gate; /* where the box asks for hosts */
    struct relay_record record;
    struct relay_pipe editor; /* our standard output; closed: there is no editor */
    pthread_mutex_t session_lock; /* held while a session is looked up or made at the gate */
    pthread_mutex_t lock;    /* for everything below */
    pthread_cond_t moved; /* `reply` has come, or the agent has ended */
    struct acp_session *sessions; /* never freed before the process ends */
    unsigned session_count;
    struct acp_held *held; /* requests that wait for an answer, each with a thread */
    unsigned held_count;
    struct acp_terminal *terminals; /* without an editor */
    unsigned terminal_count, terminal_number;
    struct acp_open open[ACP_OPEN_MAX]; /* requests of the editor whose answers we look at */
    unsigned open_next, dropped; /* dropped: lines that could not be read */
    bool headless, ending;
    bool shows_forms;        /* we answer the agent's forms, since the editor shows none */
    struct arena reply_arena; /* holds the answer to a request of our own */
    struct str reply;
};

/* acp.c: every message comes through one of these. */
void acp_from_editor(void *acp, struct str line);
void acp_from_agent(void *acp, struct str line);
/* Passes an answer of the agent, or one in its place, on to the editor, or to the request of our own. */
void acp_deliver(struct acp *acp, struct str id, struct str line);
/* Ends an agent that is in a mode in which it asks less. */
void acp_end_agent(struct acp *acp);

/* acp_command.c */
/* Kills the agent; its output ends, and so does the relay. */
void acp_kill_agent(struct acp *acp);
/* Ends the agent, whose input is closed, and returns its exit status as a shell reports it. */
int acp_wait_agent(struct acp *acp);

/* acp_sessions.c; with the lock held. The session is made when it is not there; NULL: there are too many. */
struct acp_session *acp_session(struct acp *acp, struct str id, struct str cwd);
struct acp_known *acp_known(struct acp_session *session, struct str tool);
void acp_cover(struct acp_session *session, struct str what, struct str text);
bool acp_covered(struct acp_session *session, struct str what, struct str text);

/* acp_held.c */
/* Takes ownership of a message: it is answered, refused or passed on. `mode`: what the editor wants to switch to or, in
 * an answer of the agent, what the session begins with; empty: the message is a request of the agent. */
void acp_hold(struct acp *acp, struct acp_session *session, const struct acp_message *message, struct str mode);
/* Withdraws open calls: of a session, or of one request of the agent; both empty: all. The agent is told. False: there
 * are none. */
bool acp_take_back(struct acp *acp, struct str session, struct str id);

/* acp_headless.c: acts as the client for one prompt, without an editor. */
struct rc acp_run_prompt(struct acp *acp, struct str prompt, const char *auth, struct err *err);
void acp_show(struct acp *acp, const struct json *update);

/* acp_files.c, acp_terminals.c, without an editor. */
/* The file as it is before somebody is asked about writing it. */
struct rc acp_plan_write(struct arena *arena, struct str root, const struct json *params, struct plan *ret_plan,
                         struct err *err);
/* Carry out requests that were allowed; they write the answer, also on failure. `plan`: the file as it was when a
 * person was asked; empty: it is read now. `call`: the gate's id of the command, whose end is reported; empty: none. */
struct rc acp_serve_file(const struct acp *acp, struct acp_session *session, const struct acp_message *message,
                         const struct plan *plan, struct buf *out, struct err *err);
struct rc acp_serve_terminal(struct acp *acp, struct acp_session *session, const struct acp_message *message,
                             const struct acp_ask *ask, struct str call, struct buf *out, struct err *err);
/* Answers the agent's request if it is about a terminal that this relay has opened; false: it is not, and nothing was
 * answered. */
bool acp_ask_terminal(struct acp *acp, const struct acp_message *message);

#endif
