/* An MCP server's program in a box of its own (box/box.h).
 *
 *  - Its home is a folder that Nod keeps for it; the person's is not there.
 *  - A repository's program sees the repository, read-only; the person's own has no project.
 *  - Rules open more: box.read, box.write, box.socket and box.port, as they are when the program starts.
 *  - It reaches the hosts that its entry lists and no others, for it belongs to no session in which a person could be
 *    asked. The log has a line for each.
 */
#include "tools/mcp.h"

#include "base/digest.h"
#include "base/log.h"
#include "box/supervisor.h"
#include "egress/egress.h"
#include "io/file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* ---- the hosts ---- */

struct mcp_net {
    struct egress_host host;
    const struct server *server;
};

/* On the proxy's thread, for each connection that the server's program wants to open. Everything that "hosts" does
 * not name is refused. */
static void judge(struct egress_host *host, const struct egress_want *want, struct egress_verdict *ret_verdict)
{
    const struct server *server = ((const struct mcp_net *)(const void *)host)->server;
    const struct egress_target *target = want->target;
    (void)snprintf(ret_verdict->why, sizeof ret_verdict->why, "%.100s:%u is not in \"hosts\" of the server %.*s",
                   target->host, target->port, (int)server->name.n, server->name.p);
    for (size_t i = 0; i < server->host_count; i++)
        if (server->hosts[i].port == target->port && strcmp(server->hosts[i].host, target->host) == 0)
            ret_verdict->allowed = true;
    /* The person's own file names exactly this address; a repository's opens no way to this machine. */
    ret_verdict->private_too = target->is_address && !server->folder;
}

/* Connections of MCP servers belong to no session, so that they are logged and not stored as events. */
static bool keep(struct egress_host *host, const struct egress_use *use)
{
    static const char *const states[] = {[EGRESS_OPENED] = "an MCP server reaches a host",
                                         [EGRESS_REFUSED] = "an MCP server was refused a host",
                                         [EGRESS_CLOSED] = "an MCP server's connections to a host have ended"};
    const struct server *server = ((const struct mcp_net *)(const void *)host)->server;
    log_line(use->state == EGRESS_REFUSED ? LOG_WARN : LOG_INFO, states[use->state], LOG_S("server", server->name),
             LOG_C("host", use->target.host), LOG_I("port", use->target.port), LOG_I("up", use->up),
             LOG_I("down", use->down));
    return true;
}

static void release(struct egress_host *host) { free(host); }

struct egress *mcp_box_egress(const struct server *server, int channel, const struct mcp_box *box)
{
    struct mcp_net *net = heap_new(sizeof *net);
    *net = (struct mcp_net){.host = {.judge = judge, .keep = keep, .release = release}, .server = server};
    return egress_start(&(struct egress_options){
        .channel = channel, .host = &net->host, .own_ports = box->own_ports, .listeners = box->listeners});
}

/* ---- the tree ---- */

/* Makes the home folder of a server's program. Its path has a digest of the repository, because two repositories may
 * have servers of the same name. */
static struct rc keep_home(struct arena *arena, const struct server *server, const char *data, const char **ret_home,
                           struct err *err)
{
    char hex[DIGEST_HEX_BYTES] = "own";
    if (server->folder) {
        struct digest digest = digest_of(str_of(server->folder));
        digest_hex(&digest, hex);
    }
    *ret_home = arena_printf(arena, "%s/mcp/%.32s/%.*s", data, hex, STR_ARG(server->name)).p;
    return file_own_folder(*ret_home, err);
}

static const char *path_of(const struct server *server)
{
    for (char **variable = server->environment; *variable; variable++)
        if (strncmp(*variable, "PATH=", 5) == 0)
            return *variable + 5;
    return "/usr/local/bin:/usr/bin:/bin";
}

/* The program's own variables, with a home folder inside the box and, where it has a network, the address of its
 * proxy. */
static char **environment_of(struct arena *arena, const struct server *server, const char *home, bool net)
{
    size_t count = 0;
    while (server->environment[count])
        count++;
    char **list = arena_array(arena, char *, count + ENVIRONMENT_BOX_MAX + 1);
    memcpy(list, server->environment, count * sizeof *list);
    (void)environment_in_box(list, (char *)arena_printf(arena, "HOME=%s", home).p, net);
    return list;
}

/* The program's own folder is readable in the box: without it the program could not be started. */
static void open_more(struct box *box, const struct box_opened *opened, const char *program_folder)
{
    size_t n = 0;
    memcpy(box->read, opened->read, sizeof box->read);
    memcpy(box->write, opened->write, sizeof box->write);
    memcpy(box->ports, opened->ports, sizeof box->ports);
    while (box->read[n])
        n++;
    if (n < BOX_PATHS_MAX)
        box->read[n] = program_folder;
}

/* Fails where no box can be made: a server's program never runs without one unless its entry says so. */
struct rc mcp_box_make(struct arena *arena, const struct server *server, struct mcp_box *ret_box, struct err *err)
{
    const struct box_setting *setting = server->boxes->setting;
    struct servers_plan plan = {0};
    struct stat seen = {0};
    struct box box = {.home = setting->home, .hidden = {setting->data}, .keeps_streams = true,
                      .locks = arena_printf(arena, "%s/boxes", setting->data).p,
                      .no_user_namespace = box_order_of(setting) == BOX_ROOT_NAMESPACES};
    if (box_order_of(setting) == BOX_NONE)
        return err_set(err, ERR_UNAVAILABLE, "no box can be made here (%s); \"box\": false in the entry of %.*s starts "
                                             "it without one", setting->why, STR_ARG(server->name));
    const char *program = box_find_program(arena, server->args[0], path_of(server));
    if (!program)
        return err_set(err, ERR_UNAVAILABLE, "%s is not there", server->args[0]);
    TRY(keep_home(arena, server, setting->data, &box.home_from, err));
    if (server->folder) {
        box.project = realpath(server->folder, arena_alloc(arena, PATH_MAX));
        if (!box.project || stat(box.project, &seen) != 0)
            return err_set(err, ERR_IO, "%s cannot be opened: %s", server->folder, strerror(errno));
        box.project_read_only = true;
        box.project_dev = seen.st_dev;
        box.project_ino = seen.st_ino;
    }
    server->boxes->plan(server->boxes->arg, arena, server->folder ? str_of(server->folder) : STR_NONE, &plan);
    open_more(&box, plan.opened, box_program_folder(arena, program));
    while (ret_box->listeners < BOX_PORTS_MAX && box.ports[ret_box->listeners])
        ret_box->listeners++;
    box.proxy = server->host_count > 0 || ret_box->listeners > 0;
    ret_box->listeners += box.proxy;
    ret_box->own_ports = plan.own_ports;
    ret_box->program = program;
    ret_box->words = box_words(arena, &box);
    ret_box->folder = box.project ? box.project : box.home;
    ret_box->environment = environment_of(arena, server, box.home, box.proxy);
    return RC_OK;
}
