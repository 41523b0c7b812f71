/* Tools: which there are, and what a use of one would change.
 *
 * The catalog knows the tools of the agents people use by name: what kind of act each one is and which
 * fields of its input matter. A tool it does not know is TOOL_OTHER, which rules and people see as it is.
 * Some of them Nod can do itself: those have an executor (tool.h). Nothing here knows of approvals; gate/execute.c
 * is the only caller of tool_do.
 * To add one, add a line to catalog.c.
 */
#ifndef TOOLS_TOOLS_H
#define TOOLS_TOOLS_H

#include "base/digest.h"
#include "box/box.h"
#include "event/tool.h"
#include "tools/tool_servers.h"

#include <stdatomic.h>

struct egress_host;

/* `input` must be an object and outlive the facts. */
struct tool_facts tool_facts(struct str name, const struct json *input);
/* The facts of a call as an agent sent it, with the tool names of its dialect (event/tool_names.h). */
struct tool_facts tool_facts_from(struct arena *arena, struct str dialect, struct str name,
                                  const struct json *input);

/* The host and port of a connection (`Net`) as rules on addresses see it: a page of which nothing but the host is
 * known. `scheme` NULL: the port's usual one. Empty when the input names no host that can be read for sure. */
struct str tool_net_url(struct arena *arena, const struct json *input, const char *scheme);

/* ERR_INVALID when a path or the name of a machine is longer than any can be: nobody judges those. */
struct rc tool_facts_check(const struct tool_facts *facts, struct err *err);

/* The preview for people, as JSON, made from the input alone: see preview.c. */
void tool_preview(struct json_out *out, const struct tool_facts *facts, struct str cwd);
/* The act of a call in a few words: verb, object and tail are shown in this order, the object as code. */
struct tool_title {
    struct str kind; /* the same for all calls of a kind: "Change a file" */
    struct str verb, object, tail;
    struct str where; /* the folder that a command would run in */
};
/* `preview` is that of the call, parsed; `parts` counts the simple commands of a command, 0: not known. */
struct tool_title tool_title(struct arena *arena, const struct tool_facts *facts, const struct json *preview,
                             size_t parts);
/* One line that names the act: "Run `make test`", "Write notes.md". For lists and notifications. */
void tool_summary(struct buf *buf, const struct tool_facts *facts);

/* ---- tools that Nod can do itself; everything below may block and runs in a worker thread ---- */

/* A use of a tool: what, and where. */
struct tool_use {
    struct arena *arena;
    struct str name;
    const struct json *input; /* an object */
    struct str root;          /* the session's folder: nothing outside is touched by file tools */
    struct str session;       /* session that owns the background commands */
    struct shells *shells;    /* the background commands; NULL: none can be started */
    const atomic_bool *cancelled; /* may be NULL */
    const struct box_setting *box; /* the box in which commands run; NULL: they run without one */
    const struct box_opened *opened; /* what the rules open in that box; NULL: nothing */
    bool private_net;         /* web pages on this machine and in private networks may be fetched */
    /* Whether a redirect may be followed, judged like the call itself; NULL: only within the same host and port. */
    bool (*may_follow)(const struct tool_use *use, struct str url, bool same_place);
    /* Whether searches leave the file or folder out: it is protected; NULL: none is. `path` is absolute. */
    bool (*hides)(const struct tool_use *use, struct str path);
    void *asker;              /* argument for the two callbacks above */
    /* Gets a command's output as it comes; may be NULL. */
    void (*say)(const struct tool_use *use, struct str text);
    void *sayer;              /* argument for `say` */
    /* The judge of connections out of the command's box; NULL: it has no way out. */
    struct egress_host *(*net)(const struct tool_use *use);
    const int *own_ports;     /* OWN_PORTS_MAX, on which Nod listens */
    const struct str *seen;   /* the file's text, for a plan of what others will do; NULL: a plan reads the file */
    struct servers *servers;  /* MCP servers whose tools may be used; NULL: none */
    struct str shown;         /* when a server's tool is done: digest of the definition that was shown, if any */
    struct tool_link *link;   /* the executor process that touches files and runs commands; NULL: this process */
};

/* Commands in the background. Freeing ends them all and waits for that. */
struct shells *shells_new(void);
void shells_free(struct shells *shells);
/* Ends all background commands and waits for that; commands started later are not affected. */
void shells_end_all(struct shells *shells);
/* Ends the background commands of a session, without waiting for it. */
void shells_end(struct shells *shells, struct str session);

/* The change that a use would make, from the real input and the real files. */
struct tool_look {
    struct str preview; /* JSON object */
    struct str files;   /* hex digest of the contents of the files it shows; empty: it shows none */
};

struct tool_result {
    struct str text;
    bool is_error;
};

bool tool_has_executor(struct str name);
/* The tools that Nod does or knows by name, one by one, some of them twice; empty behind the last. */
struct str tool_known_name(size_t number);
/* Whether the tool changes nothing, so that its uses may run in parallel. */
bool tool_only_looks(struct str name);
/* Whether the caller executes the tool itself once it is allowed: a sub-agent. */
bool tool_done_elsewhere(struct str name);

/* ---- an executor process under another user (link.h) ---- */

/* The way to the executor of this user; there is none until a connection is taken. Threads may use it at once. */
struct tool_link *tool_link_new(const char *user);
void tool_link_free(struct tool_link *link);
/* Takes over a connection from an executor of the link's user. False while the link has a connection already: then `fd`
 * stays the caller's. */
bool tool_link_take(struct tool_link *link, int fd);
/* In the executor: does what the server asks for over the connection until that ends. `box`: for its commands. */
void tool_link_serve(int fd, const struct box_setting *box);

/* Checks that the tool exists and the input fits its schema; the error is written for the model. */
struct rc tool_check(const struct tool_use *use, struct err *err);
/* Computes the change. Never fails: the preview names errors. */
struct tool_look tool_look(const struct tool_use *use);
/* Executes the use. `files` is the digest of a look (empty: nothing was shown): when the files differ nothing is
 * changed. */
struct tool_result tool_do(const struct tool_use *use, struct str files);
/* The one file that a use would change, as text; ERR_INVALID when it changes none, or no text. */
struct rc tool_named_file(const struct tool_use *use, struct str *ret_text, struct err *err);
/* The preview of a patch within the files as they are now; empty when it is too long to be shown. */
struct str tool_named_patch(const struct tool_use *use, struct str patch);
/* The picture that a call would write over, as the preview {"type":"picture","file_path","before":{…}}; "before" is
 * missing when there is no such file. ERR_INVALID: the call brings no picture, or names no file for it. */
struct rc tool_named_picture(const struct tool_use *use, struct str *ret_preview, struct err *err);
/* Writes "fields": title and description, by the tool's own schema, of the members that the input has. */
void tool_fields(struct json_out *out, const struct json *schema, const struct json *input);
/* The definitions as a model wants them: [{"name","description","input_schema"}]. `servers` may be NULL. */
void tool_definitions(struct json_out *out, struct servers *servers, struct str root);

#endif
