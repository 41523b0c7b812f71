/* Claude Code's stream-json control protocol: lines of its standard output become messages, and answers become
 * lines of its standard input.
 *
 * Seen in 2.0.76, 2.1.197 and 2.1.325. Members come in any order and more may come; what is unknown is passed
 * over. An allow always carries the whole input, a denial always words: older releases refuse the rest.
 */
#ifndef AGENTS_CLAUDE_H
#define AGENTS_CLAUDE_H

#include "base/json.h"
#include "event/call.h"

enum claude_kind {
    CLAUDE_UNKNOWN,   /* a type that is not known: ignored */
    CLAUDE_OTHER,     /* a type that is not needed here: ignored */
    CLAUDE_INIT,      /* a turn begins */
    CLAUDE_STATUS,    /* its permission mode changed */
    CLAUDE_TASK,      /* a sub-agent starts */
    CLAUDE_TASKS,     /* the list of background tasks */
    CLAUDE_DENIED,    /* it refused a call by itself */
    CLAUDE_REMARK,    /* a remark for the person */
    CLAUDE_PIECE,     /* a piece of a message that also comes whole */
    CLAUDE_SAYS,      /* assistant: text, calls */
    CLAUDE_HEARS,     /* user: results of calls, prompts */
    CLAUDE_RESULT,    /* a turn is over */
    CLAUDE_ASK,       /* asks whether a tool may be used */
    CLAUDE_BEFORE,    /* the hook that we registered: asks before Claude Code applies its own rules */
    CLAUDE_ELICIT,    /* an MCP server asks the person something */
    CLAUDE_REQUEST,   /* another request, which has to be answered */
    CLAUDE_CANCEL,    /* cancels one of its own requests */
    CLAUDE_REPLY,     /* a reply to one of our requests */
};

/* One line of Claude Code's stream, or a control request. The texts point into the parsed line. */
struct claude_message {
    enum claude_kind kind;
    const struct json *json;        /* the whole line */
    struct str request;             /* id of the request, of the answered request, or of the cancelled one */
    struct str tool, call, agent;   /* agent: the sub-agent's task; empty: the main one */
    struct str mode;                /* set in CLAUDE_STATUS, CLAUDE_INIT and CLAUDE_BEFORE */
    const struct json *input;       /* an object */
    const struct json *suggestions; /* an array, or NULL */
    const struct json *content;     /* set in CLAUDE_SAYS and CLAUDE_HEARS: an array, or a string */
};

struct rc claude_read(struct arena *arena, struct str line, struct claude_message *ret_message,
                      struct err *err);
/* The id of a request in a line that could not be read, so that it can be refused; empty when there is none. */
struct str claude_request_in(struct str line);

/* ---- answers; each is one line, into an empty buffer ---- */
/* Allows with the input of the call, or refuses with its words: whatever the call is. */
void claude_answer(struct buf *out, const struct claude_message *ask, const struct call *call, bool remember);
/* The hook's answer: allow, deny, or, when only a person can say, ask. */
void claude_answer_before(struct buf *out, const struct claude_message *ask, const struct call *call);
void claude_answer_elicit(struct buf *out, const struct claude_message *ask, const struct call *call);
void claude_no_opinion(struct buf *out, struct str request);
void claude_refuse(struct buf *out, const struct claude_message *ask, struct str words);
void claude_fail(struct buf *out, struct str request, struct str words);

/* ---- requests of ours ---- */
/* Registers the hook before every call; unanswered it denies. */
void claude_initialize(struct buf *out, struct str request);
/* Adds our hook to the initialize request of another client, whose own hooks stay. */
void claude_initialize_too(struct buf *out, const struct json *theirs);
void claude_interrupt(struct buf *out, struct str request);
void claude_set_mode(struct buf *out, struct str request, struct str mode);
void claude_prompt(struct buf *out, struct str text);

/* ---- the command line ---- */
/* The command line of `nod claude`, taken apart: what Nod must know, and what is passed on. */
struct claude_args {
    const char **kept;      /* arguments passed on to Claude Code unchanged */
    size_t kept_count;
    const char *prompt;     /* NULL: none */
    const char *format;     /* output format; NULL: text */
    const char *session;    /* its own id, when one is named */
    const char *mode;
    bool once;              /* -p: one prompt, then the end */
    bool goes_on;           /* continues an earlier conversation */
    bool any_session;       /* the conversation's session id is not known before it starts */
    bool has_sources, has_settings;
    bool pieces;            /* messages are wanted while they are written, too */
    bool hosted;            /* --input-format stream-json: standard input is the control protocol */
};
struct rc claude_args_read(struct arena *arena, int argc, char **argv, struct claude_args *ret_args,
                           struct err *err);

/* A session's permission mode in Claude Code's words; those that have none there are "default". */
const char *claude_mode(struct str mode);

#endif
