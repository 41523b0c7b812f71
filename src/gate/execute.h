/* Tools that Nod executes itself, and runs of its own agent: the part of the gate that runtime/ uses. Included by
 * gate.h.
 *
 * gate_look, gate_tool_check, gate_tool_definitions and gate_tool_news look at files or talk to MCP servers. They may
 * block and are called on worker threads, as each says. Everything else is for the loop, as in gate.h.
 */
#ifndef GATE_EXECUTE_H
#define GATE_EXECUTE_H

#include "event/append.h"
#include "event/call.h"
#include "gate/gate_op.h"
#include "io/work.h"

#include <stdatomic.h>

struct ask;
struct gate;

/* Fills in what the ask would change (ask->preview, ask->files), from the real files beneath `root`. May block; any
 * thread. */
void gate_look(struct gate *gate, struct ask *ask, struct str root);
/* Checks that the tool exists and that the input fits its schema; err explains it to the model. May block; any
 * thread. */
struct rc gate_tool_check(struct gate *gate, const struct ask *ask, struct err *err);
/* Whether the tool changes nothing, so that its uses may run in parallel. */
bool gate_tool_only_looks(struct str name);
/* Whether the caller runs the tool itself once it is allowed (Task). */
bool gate_tool_done_elsewhere(struct str name);
/* [{"name","description","input_schema"}] of the tools that Nod can do itself, or have done by MCP servers. Any
 * thread; where there are servers it may block. */
void gate_tool_definitions(struct gate *gate, struct str root, struct json_out *out);

/* Definitions of MCP servers' tools that are new or have changed (definitions.c). */
struct gate_news {
    struct append *pins; /* definitions seen for the first time: gate_keep them, then ask again; NULL: none */
    struct ask *asks;    /* changed definitions, to be asked about like other calls */
    size_t ask_count;
};
bool gate_has_servers(const struct gate *gate);
/* A tool of an MCP server that another program runs, as reported by the MCP proxy. */
struct told_tool {
    struct str name;    /* mcp__SERVER__TOOL */
    struct str source;  /* digest of how the server is started or reached: tells servers of the same name apart */
    const struct json *definition;
};
/* Compares the definition of a tool that a proxy has reported with the pinned one. If ret_news has neither `pins` nor
 * `asks`, they are equal. On the loop; does not block. */
struct rc gate_told(struct gate *gate, const struct ask *like, const struct told_tool *tool,
                    struct gate_news *ret_news, struct err *err);
/* Adds the pinned description of the tool to the ask, so that people see it. */
struct rc gate_describe(struct gate *gate, struct ask *ask, struct str source, struct err *err);
/* Lists the servers' tools and compares each definition with the pinned one. May block; any thread. `like` is the
 * template of the asks: their arena, session, thread, folder and actor are taken from it. */
void gate_tool_news(struct gate *gate, const struct ask *like, const atomic_bool *cancelled,
                    struct gate_news *ret_news);

/* Does an allowed call. TOOL_STARTED is durable before the effect, TOOL_RESULT is kept after it.
 *  - started before, without a result: the result says that the effect is unknown; nothing is done.
 *  - a file that was shown has changed since: nothing is done, `changed` is set, and the call gets a result that
 *    names the call which takes its place (state.superseded_by), for which the person is asked again.
 *  - a call that the caller does itself (gate_tool_done_elsewhere) is started with `child` and the events `with`, in
 *    one append. A later execute with `outcome` stores the result; only the first of them does.
 * ERR_NOT_ALLOWED, or ERR_CONFLICT when the fence does not hold: nothing is done. */
struct execute_outcome {
    struct str text, usage;        /* usage: JSON; may be empty */
    bool is_error;
};

/* Whether the files are as they were when the person saw them. */
enum shown { SHOWN_SAME, SHOWN_CHANGED, SHOWN_UNKNOWN };

/* The operation "do an allowed call". The caller fills in the first part and gets the outcome back in `done`. */
struct execute {
    struct op op;
    struct str session, call, actor;
    struct need fence;             /* a condition on the store that must hold when the tool starts; NEED_NONE: none */
    const atomic_bool *cancelled;  /* may be set by any thread while it runs */
    struct str child;              /* the sub-agent's thread that does it; empty: the gate does it */
    const struct event *with;
    unsigned with_count;
    const struct execute_outcome *outcome;
    bool changed;
    struct call state;             /* after it */
    /* private to the gate */
    enum shown shown;
    struct str mode;               /* the session's mode */
    struct execute_outcome did;
    struct execution *inner;
};
void gate_execute(struct gate *gate, struct execute *execute);

/* Keeps events of a run under needs; `append` comes back by its own `done`. Events that decide or do something
 * are not for this: they have functions of their own. */
void gate_keep(struct gate *gate, struct append *append);

/* Ends the commands that the session runs in the background. */
void gate_end_commands(struct gate *gate, struct str session);

/* Ends all background commands, while the loop goes on and stores what their boxes did. */
struct commands_stop {
    struct op op;
    struct job job;                /* private to the gate */
};
void gate_stop_commands(struct gate *gate, struct commands_stop *stop);
/* Whether gate_stop_commands is under way. */
bool gate_commands_stopping(const struct gate *gate);

/* Sends a piece of unfinished text to the live watchers of the thread. It is stored nowhere: its event comes later. */
void gate_say(struct gate *gate, struct str session, struct str thread, struct str json);

/* The file that a call would change, as it is now, read beneath `root` by a worker. */
struct named_file {
    struct op op;
    struct arena arena;            /* owns the strings below */
    struct str name, input, root;  /* the call's tool and input, and the session's folder */
    struct str dialect;
    struct str text, preview;      /* the file's content; the difference that the call makes, as JSON */
    bool is_here, is_new;          /* the folder can be opened; with ERR_NOT_FOUND: the call would make the file */
    struct gate *gate;             /* this and the next are private to the gate */
    struct job job;
    struct err err;                /* set by a worker */
};
struct named_file *named_file_new(void);
void named_file_free(struct named_file *file);
void gate_read_named_file(struct gate *gate, struct named_file *file);

#endif
