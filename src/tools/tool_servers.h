/* The part of tools.h about MCP servers: programs and web servers whose tools a model may use beside our own.
 *
 * A server is set up in a file, started when it is first needed, and shared by all runs. Its tool T is known as
 * mcp__SERVER__T. A server's words about its tools are not trusted: the description and the schema of each are
 * pinned when they are first seen, and one that differs later is not offered, not asked about and not run until a
 * person has agreed to it. A repository may bring servers of its own, in its .mcp.json; they are used only while a
 * person trusts that file as it is. Which definitions hold and which files are trusted is told from events
 * (servers_pin, servers_trust) and never decided here. A program runs in a box of its own where commands run in
 * one.
 *
 * Any thread may call these, at the same time. Those that may block are for worker threads.
 */
#ifndef TOOLS_TOOL_SERVERS_H
#define TOOLS_TOOL_SERVERS_H

#include "base/json.h"
#include "box/box.h"

#include <stdatomic.h>

struct servers;

/* {"mcpServers":{NAME:{"command","args","env"} | {"type":"http","url","headers"}}}, with "timeout" (milliseconds)
 * in each if wanted; empty: none. ${NAME} and ${NAME:-otherwise} stand for the environment. Nothing is started.
 * `projects`: files of repositories are looked at, too. */
struct rc servers_new(struct str json, bool projects, struct servers **ret_servers, struct err *err);
/* The openings that rules make in the box of a program that is being started, and OWN_PORTS_MAX ports of Nod itself. */
struct servers_plan {
    const struct box_opened *opened;
    const int *own_ports;
};
struct servers_boxes {
    const struct box_setting *setting; /* NULL: programs run without a box */
    /* Called in the thread that starts the program. `root`: the repository of its file; empty: the person's own. */
    void (*plan)(void *arg, struct arena *arena, struct str root, struct servers_plan *ret_plan);
    void *arg;
};
/* Before any server is used. */
void servers_box(struct servers *servers, const struct servers_boxes *boxes);
/* Stops the started servers; no other function may be running. */
void servers_free(struct servers *servers);

/* Pins the definition of a tool, {"description","inputSchema"}. `root`: the repository of its server; empty: a server
 * of the person's own. */
void servers_pin(struct servers *servers, struct str root, struct str tool, const struct json *definition);
/* Trusts a repository's file with this digest from now on; empty digest: not any more. */
void servers_trust(struct servers *servers, struct str path, struct str digest);

/* A definition that differs from the pinned one, or a repository's file that is not trusted with its present content.
 * */
struct server_news {
    struct str root;       /* for servers_pin */
    struct str tool;       /* mcp__SERVER__TOOL; empty: the question is about a file */
    struct str file;       /* its path, for servers_trust */
    struct str definition; /* JSON: of the tool, for servers_pin; or what is in the file */
    struct str digest;     /* hex, of what a person is shown of it */
    struct str preview;    /* JSON: the difference; empty: there was no definition before */
    struct server_news *next;
};
/* Compares the definition of a tool that another program's MCP server offers (nod mcp proxy) with the pinned one;
 * *ret_news is NULL when they are equal. Such a root is not a repository: it begins with SERVERS_TOLD. */
#define SERVERS_TOLD "proxy:"
struct rc servers_told(struct servers *servers, struct arena *arena, struct str root, struct str tool,
                       const struct json *definition, struct server_news **ret_news, struct err *err);
/* The hints (enum tool_hint) that a definition gives about its tool. */
unsigned tool_hints(const struct json *definition);
/* Finds the pinned definition; false: there is none. */
bool servers_holds(struct servers *servers, struct arena *arena, struct str root, struct str tool,
                   const struct json **ret_definition);
/* Whether there are servers that our own agent can use. */
bool servers_any(const struct servers *servers);
/* Asks the servers of this folder for their tools, where these are not known or may have changed. May block. */
struct server_news *servers_news(struct servers *servers, struct arena *arena, struct str root,
                                 const atomic_bool *cancelled);
/* Writes elements {"name","description","input_schema"} of the tools that are pinned and offered now. */
void servers_definitions(struct servers *servers, struct str root, struct json_out *out);

#endif
