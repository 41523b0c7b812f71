/* The class of a tool call, and the parts of its input that rules and people look at.
 * tools/catalog.c fills the facts in; policy/ judges by them. */
#ifndef EVENT_TOOL_H
#define EVENT_TOOL_H

#include "base/json.h"
#include "base/str.h"

enum tool_class {
    TOOL_OTHER,   /* unknown: asked about */
    TOOL_READ,    /* looks at files of the project, changes nothing */
    TOOL_EDIT,    /* changes files */
    TOOL_COMMAND, /* runs a shell command */
    TOOL_TASK,    /* keeps the agent's own list of things to do */
    TOOL_FETCH,   /* reaches out to the network */
    TOOL_AGENT,   /* starts another agent, which asks for itself */
    TOOL_PLAN,    /* shows a plan and asks to leave plan mode, or asks the person something */
};

enum { TOOL_PATHS_MAX = 32 };

/* Hints about an MCP tool from its pinned definition; the protocol's defaults where the definition is silent. No
 * bits: nothing is pinned, or it was not looked up. */
enum tool_hint {
    HINT_TOLD = 1 << 0,
    HINT_READ_ONLY = 1 << 1,
    HINT_DESTRUCTIVE = 1 << 2,
    HINT_IDEMPOTENT = 1 << 3,
    HINT_OPEN_WORLD = 1 << 4,
};

/* A call as rules see it, under our names. */
struct tool_facts {
    struct str name;
    enum tool_class class;
    const struct json *input; /* an object */
    struct str command;       /* TOOL_COMMAND; empty when the input has none */
    struct str paths[TOOL_PATHS_MAX];
    size_t path_count;
    struct str url;           /* TOOL_FETCH */
    struct str patch;         /* TOOL_EDIT: the text of a patch; empty: it is none */
    struct str cwd;           /* folder in which the input says that it runs; empty: it does not say */
    /* For a call that came under another name (event/tool_names.h): */
    struct str asked;         /* that name; empty: it came under the tool's own name */
    bool foreign;             /* the name belongs to another agent's dialect: allow rules do not apply */
    unsigned hints;           /* set of enum tool_hint */
    const char *unclear;      /* why its input cannot be read for sure; NULL: it can */
};

#endif
