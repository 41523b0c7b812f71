/* The MCP servers that a session can use: the person's own, and those of the repository that it works in.
 *
 * A repository's .mcp.json names programs that would be started with our rights. It is read anew each time, and its
 * servers are used only while its digest is the one that a person has trusted. A server of the person's own hides
 * one of the same name. Sets live until servers_free, because other threads may be using them; their programs are
 * ended as soon as they may not be used any more.
 */
#include "tools/mcp.h"

#include "base/lock.h"
#include "base/log.h"

#include <stdlib.h>

enum { FILE_BYTES = 256 << 10 };

/* ---- a set ---- */

static void set_done(struct server_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        server_done(&set->servers[i]);
    set->count = 0;
    arena_done(&set->arena);
}

static bool has(const struct server_set *set, struct str name)
{
    return ANY(size_t i = 0; set && i < set->count; i++, str_eq(set->servers[i].name, name));
}

/* Servers whose names are in `before` are left out. */
static struct rc set_read(struct servers *servers, struct server_set *set, struct str json,
                          const struct server_set *before, struct err *err)
{
    ARENA_SCOPE(arena);
    const struct json *top;
    TRY(json_parse(&arena, json, &top, err));
    const struct json *list = json_get(top, "mcpServers");
    if (!list || list->type != JSON_OBJECT || list->count > MCP_SERVERS_MAX)
        return err_set(err, ERR_INVALID, "it must be {\"mcpServers\":{…}} with at most %d servers", MCP_SERVERS_MAX);
    for (const struct json *entry = list->first; entry; entry = entry->next) {
        if (has(before, entry->key))
            continue;
        struct server *server = &set->servers[set->count++];
        server_init(server);
        server->boxes = &servers->boxes;
        server->folder = set->root.n ? arena_c(&set->arena, set->root) : NULL;
        TRY(server_read(&server->arena, entry, server, err));
    }
    return RC_OK;
}

/* ---- all of them ---- */

struct rc servers_new(struct str json, bool projects, struct servers **ret_servers, struct err *err)
{
    struct servers *servers = heap_new(sizeof *servers);
    CHECK(pthread_mutex_init(&servers->lock, NULL) == 0);
    servers->projects = projects;
    struct rc rc = str_empty(json) ? RC_OK : set_read(servers, &servers->own, json, NULL, err);
    if (rc_bad(rc)) {
        servers_free(servers);
        return rc;
    }
    *ret_servers = servers;
    return RC_OK;
}

void servers_box(struct servers *servers, const struct servers_boxes *boxes) { servers->boxes = *boxes; }

void servers_free(struct servers *servers)
{
    set_done(&servers->own);
    while (servers->sets) {
        struct server_set *set = servers->sets;
        servers->sets = set->next;
        set_done(set);
        free(set);
    }
    servers_free_pins(servers);
    MAP_EACH(&servers->trusted, each)
        free(each.value);
    map_done(&servers->trusted);
    CHECK(pthread_mutex_destroy(&servers->lock) == 0);
    free(servers);
}

/* Trust is in the content: a file that changes is asked about again. An empty digest takes the trust back. */
void servers_trust(struct servers *servers, struct str path, struct str digest)
{
    char *copy = str_empty(digest) ? NULL : heap_new(digest.n + 1);
    if (copy)
        memcpy(copy, digest.p, digest.n);
    LOCK_SCOPE(&servers->lock);
    free(map_take(&servers->trusted, path));
    if (copy)
        (void)map_put(&servers->trusted, path, copy);
}

/* ---- a repository's ---- */

/* Finds or makes the set of servers for a file with exactly this content. The lock is held. */
static struct server_set *set_ensure(struct servers *servers, struct str root, struct str digest, struct str text)
{
    struct err err;
    for (struct server_set *set = servers->sets; set; set = set->next)
        if (str_eq(set->root, root) && str_eq(set->digest, digest))
            return set;
    struct server_set *set = heap_new(sizeof *set);
    set->root = arena_str(&set->arena, root);
    set->digest = arena_str(&set->arena, digest);
    if (rc_bad(set_read(servers, set, text, &servers->own, &err))) {
        log_line(LOG_WARN, "a repository's .mcp.json cannot be used", LOG_S("folder", root), LOG_C("why", err.text));
        for (size_t i = 0; i < set->count; i++)
            server_done(&set->servers[i]);
        set->count = 0;
    }
    set->next = servers->sets;
    servers->sets = set;
    return set;
}

/* Calls server_rest for the servers of this repository that come from another or an untrusted file. */
static void rest_others(struct servers *servers, struct str root, const struct server_set *but)
{
    lock_take(&servers->lock);
    struct server_set *set = servers->sets;
    lock_drop(&servers->lock);
    for (; set; set = set->next)
        for (size_t i = 0; set != but && str_eq(set->root, root) && i < set->count; i++)
            server_rest(&set->servers[i]);
}

static struct server_news *file_news(struct arena *arena, struct str path, struct str digest, struct str text)
{
    struct server_news *news = arena_new(arena, struct server_news);
    JSON_SCOPE(buf, out, LIMIT_EVENT_BYTES);
    json_put_str(&out, text);
    *news = (struct server_news){.file = path, .digest = digest, .definition = arena_str(arena, buf_str(&buf)),
                                 .preview = mcp_definition_file_preview(arena, path, text)};
    return news;
}

/* The file is read at each use, because it changes with a checkout. Servers of a file that nobody trusts are not
 * started. */
static struct server_set *project_set(struct servers *servers, struct arena *arena, struct str root,
                                      struct server_news **ret_news)
{
    struct str path = arena_printf(arena, "%.*s/.mcp.json", STR_ARG(root)), text, digest;
    struct server_set *set = NULL;
    if (rc_bad(place_read(arena, root, STR(".mcp.json"), &text, NULL)) || text.n > FILE_BYTES)
        text = STR_NONE; /* also for a link that leads out of the repository: other files must not get into the log */
    digest = mcp_definition_digest(arena, text);
    lock_take(&servers->lock);
    const char *trusted = text.n ? map_get(&servers->trusted, path) : NULL;
    if (trusted && str_is(digest, trusted))
        set = set_ensure(servers, root, digest, text);
    lock_drop(&servers->lock);
    rest_others(servers, root, set);
    if (!set && text.n && ret_news)
        *ret_news = file_news(arena, path, digest, text);
    return set;
}

/* The person's own servers, then the repository's. A set that was returned stays valid until servers_free. */
size_t servers_sets(struct servers *servers, struct arena *arena, struct str root, struct server_set *ret_sets[2],
                    struct server_news **ret_news)
{
    size_t count = 0;
    ret_sets[count++] = &servers->own;
    struct server_set *project = servers->projects && root.n ? project_set(servers, arena, root, ret_news) : NULL;
    if (project)
        ret_sets[count++] = project;
    return count;
}

bool servers_any(const struct servers *servers) { return servers->projects || servers->own.count > 0; }
