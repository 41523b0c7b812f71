/* Internals of tools/; include it there only.
 *
 * To let Nod do a tool: one file with a `const struct executor`, its name in EXECUTORS below. `known` is its class for
 * rules, `run` does it; `plan` (only for tools that change one file) says what the file would become, and both the
 * preview and the change are made from that. Input has been checked against the schema before either is called.
 */
#ifndef TOOLS_TOOL_H
#define TOOLS_TOOL_H

#include "base/err.h"
#include "base/limits.h"
#include "io/place.h"
#include "tools/tools.h"

#include <sys/stat.h>

enum {
    RESULT_BYTES_MAX = 30000,    /* longest result given to a model */
    RESULT_FILES_MAX = 200,
    PREVIEW_BYTES_MAX = 900 << 10,
};

/* A tool that Nod knows by name (catalog.c). */
struct tool_entry {
    const char *name;
    enum tool_class class;
    const char *field; /* the part of the input that says what it is about; NULL: none does */
    const char *kind;  /* the kind of act, for messages that tell no more */
    const char *verb;
};
const struct tool_entry *tool_entry_find(struct str name); /* NULL: it is not known */
const struct tool_entry *tool_entry_at(size_t number);     /* NULL behind the last */

/* A tool that Nod can do itself: one file each. */
struct executor {
    const char *name;
    const char *description;
    const char *schema;   /* JSON schema of the input: an object, its properties, "required" */
    const struct tool_entry *known; /* its row, when catalog.c has none of its name; may be NULL */
    bool looks;           /* changes nothing */
    bool files;           /* works on files of the session's folder: done by the executor process, if there is one */
    bool elsewhere;       /* the caller executes it itself, once it is allowed */
    /* Checks that the schema cannot express; may be NULL. */
    struct rc (*check)(const struct tool_use *use, struct err *err);
    /* Further members of a preview that is neither a diff nor a command; may be NULL. */
    void (*show)(struct json_out *out, const struct tool_use *use);
    /* Digest of the tool's definition, to detect a change between approval and run; may be NULL. */
    struct str (*digest)(const struct tool_use *use);
    struct rc (*plan)(const struct tool_use *use, struct plan *ret_plan, struct err *err);
    struct rc (*run)(const struct tool_use *use, struct str *ret_text, struct err *err);
};

#define EXECUTORS(X)                                                                                         \
    X(read) X(write) X(edit) X(multi_edit) X(notebook_edit) X(bash) X(glob) X(grep) X(todo_write) X(task) \
    X(web_fetch) X(bash_output) X(kill_shell)
#define X(name) extern const struct executor executor_##name;
EXECUTORS(X)
#undef X

/* Every tool of an MCP server (servers.c). */
extern const struct executor executor_server;

const struct executor *executor_find(struct str name);

/* ---- walk.c ---- */

/* Every file beneath a folder, by folder and name; hidden ones, and those `.gitignore` would hide, too, but
 * never .git itself. `take` returns false to end it. Links are not followed. */
struct place_walk {
    const struct tool_use *use;
    struct str from;                      /* within the root */
    bool (*take)(struct place_walk *walk, struct str within, const struct stat *st);
    void *arg;
    unsigned seen;
    unsigned hidden;                      /* number of protected files that were left out */
};
struct rc place_walk(struct place_walk *walk, struct err *err);

/* ---- pattern.c ---- */
/* Whether a path matches a pattern: *, ?, [a-z], ** over folders, {a,b}. */
bool pattern_matches(struct str pattern, struct str path);

/* ---- environment.c ---- */
enum { ENVIRONMENT_KEPT_MAX = 12 };
/* The variables that a program we start gets: those it needs to run, no keys, no tokens. Returns their number. */
size_t environment_kept(struct arena *arena, char *list[ENVIRONMENT_KEPT_MAX]);

enum { ENVIRONMENT_BOX_MAX = 20 };
/* Makes the list, which ends with NULL and has room for ENVIRONMENT_BOX_MAX more, the environment of a program in a
 * box. `home`: its HOME=…; NULL: as in the list. `net`: the box has a proxy. Returns the number of variables. */
size_t environment_in_box(char **list, char *home, bool net);

/* ---- schema.c ---- */
struct rc schema_check(const char *schema, const struct json *input, struct err *err);

/* ---- odd_text.c ---- */
/* Writes warnings about a text that is a name (a command, a path, an address) into an array that is open. */
void odd_text_put(struct json_out *out, struct str name);
/* Writes the warnings about all texts of an input as the member "warnings"; writes nothing when there are none. */
void odd_text_member(struct json_out *out, const struct json *input);
/* Writes the "warnings" about characters in a command that hide something. Its effects are judged by policy/. */
void odd_text_warn(struct json_out *out, struct str command);

/* ---- edit.c ---- */
/* "edits" and "files" of a MultiEdit that was planned: what each edit makes of the file as the one before left it. */
void edits_write(struct json_out *out, const struct tool_use *use, const struct plan *plan);

/* ---- notebook_edit.c ---- */
/* The members of a preview that shows the cell which a NotebookEdit changes: its source before and after. */
void notebook_cell_write(struct json_out *out, const struct tool_use *use, const struct plan *plan);

/* ---- patch.c ---- */
/* "type" and the differences of a patch, one for each file; false: the text is none. `use` NULL: from the patch alone;
 * else within the files as they are now, where they can be read. */
bool patch_write(struct json_out *out, struct str patch, const struct tool_use *use);

/* ---- named_file.c ---- */
/* Reads a file that a call names, as text; refuses what is protected and what lies outside the root. */
struct rc named_file_read(const struct tool_use *use, struct str path, struct str *ret_text, struct err *err);

/* The file that a plan is about. */
static inline struct rc plan_read(const struct tool_use *use, struct str within, struct str *ret_text, struct err *err)
{
    if (!use->seen)
        return place_read(use->arena, use->root, within, ret_text, err);
    *ret_text = *use->seen;
    return RC_OK;
}

/* ---- diff.c ---- */
/* {"hunks":[…],"added","removed"} members of a diff between two texts; see diff.c. */
void diff_write(struct json_out *out, struct str path, struct str before, struct str after);

static inline bool use_cancelled(const struct tool_use *use)
{
    return use->cancelled && atomic_load_explicit(use->cancelled, memory_order_relaxed);
}

#endif
