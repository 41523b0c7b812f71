/* Other agents' tools under our names.
 *
 * Every agent names its tools and their fields in its own way. Rules, previews and people know one name for
 * each act, so every call is read through this table before it is judged, at every entry (HTTP, sockets,
 * hooks, MCP). The agent's own input is kept and given back as it came.
 */
#ifndef EVENT_TOOL_NAMES_H
#define EVENT_TOOL_NAMES_H

#include "base/arena.h"
#include "base/json.h"
#include "event/tool.h"

struct tool_named {
    struct str name;           /* our name of the tool; the agent's own name where the table has none */
    const struct json *input;  /* an object with our names for its fields */
    struct str cwd;            /* where the input says that it runs; empty: it does not say */
    struct str patch;          /* text of a patch; empty: it is none */
    bool alias;                /* the table has a row for it */
    bool foreign;              /* the row belongs to other agents than the one that asks: no allow rule applies */
    const char *unclear;       /* why the input cannot be read for sure; NULL: it can */
};

/* `dialect` is the agent whose tool names are used ("codex"); empty: not known. `input` must be an object. */
struct tool_named tool_named(struct arena *arena, struct str dialect, struct str name, const struct json *input);
/* Our name for a tool in a rule that a person wrote in lower case; the name itself when there is none. */
struct str tool_rule_name(struct str name);
/* The names of the table, one by one; empty behind the last. */
struct str tool_foreign_name(size_t number);
/* The files that a patch (`*** Update File: …`) touches: how many, at most TOOL_PATHS_MAX. Words in *ret_unclear
 * when it cannot be read for sure. */
size_t tool_patch_paths(struct str patch, struct str paths[TOOL_PATHS_MAX], const char **ret_unclear);

#endif
