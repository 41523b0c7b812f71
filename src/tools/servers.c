/* All servers: which definitions hold, what is offered, and a tool of a server as one of ours.
 *
 * Invariant: a tool is offered, asked about and called only while the definition that its server gives now is the
 * one that is pinned. Everything that a caller gets is copied under the lock of the server it came from.
 */
#include "tools/mcp.h"

#include "base/map.h"
#include "io/clock.h"

#include <stdlib.h>

enum { LIST_AGE_US = 60 * 1000000 };

/* The definition of a tool that holds. */
struct pin {
    struct arena arena;
    struct str text, digest;
};

struct servers {
    struct server servers[MCP_SERVERS_MAX];
    size_t count;
    pthread_mutex_t lock; /* for the pins */
    struct map pins;      /* tool → struct pin */
};

static void lock(pthread_mutex_t *mutex) { CHECK(pthread_mutex_lock(mutex) == 0); }
static void unlock(pthread_mutex_t *mutex) { CHECK(pthread_mutex_unlock(mutex) == 0); }

struct rc servers_new(struct str json, struct servers **ret_servers, struct err *err)
{
    ARENA_SCOPE(arena);
    const struct json *top, *list;
    TRY(json_parse(&arena, json, &top, err));
    list = json_get(top, "mcpServers");
    if (!list || list->type != JSON_OBJECT || list->count > MCP_SERVERS_MAX)
        return err_set(err, ERR_INVALID, "it must be {\"mcpServers\":{…}} with at most %d servers", MCP_SERVERS_MAX);
    struct servers *servers = heap_new(sizeof *servers);
    CHECK(pthread_mutex_init(&servers->lock, NULL) == 0);
    for (const struct json *entry = list->first; entry; entry = entry->next) {
        struct server *server = &servers->servers[servers->count++];
        server_init(server);
        struct rc rc = server_read(&server->arena, entry, server, err);
        if (rc_bad(rc)) {
            servers_free(servers);
            return rc;
        }
    }
    *ret_servers = servers;
    return RC_OK;
}

static void pin_free(struct pin *pin)
{
    if (!pin)
        return;
    arena_done(&pin->arena);
    free(pin);
}

void servers_free(struct servers *servers)
{
    size_t at = 0;
    struct str key;
    void *pin;
    for (size_t i = 0; i < servers->count; i++)
        server_done(&servers->servers[i]);
    while (map_next(&servers->pins, &at, &key, &pin))
        pin_free(pin);
    map_done(&servers->pins);
    CHECK(pthread_mutex_destroy(&servers->lock) == 0);
    free(servers);
}

/* ---- definitions ---- */

void servers_pin(struct servers *servers, struct str tool, const struct json *definition)
{
    struct pin *pin = heap_new(sizeof *pin);
    pin->text = definition_text(&pin->arena, tool, definition);
    pin->digest = definition_digest(&pin->arena, pin->text);
    lock(&servers->lock);
    pin_free(map_put(&servers->pins, tool, pin));
    unlock(&servers->lock);
}

/* Whether this definition is the one that holds; the text of the one that does, empty when there is none. */
static bool holds(struct servers *servers, struct arena *arena, const struct server_tool *tool, struct str *ret_before)
{
    lock(&servers->lock);
    const struct pin *pin = map_get(&servers->pins, tool->name);
    bool same = pin && str_eq(pin->digest, tool->digest);
    if (ret_before)
        *ret_before = pin && !same ? arena_str(arena, pin->text) : STR_NONE;
    unlock(&servers->lock);
    return same;
}

static bool pins_are_full(struct servers *servers)
{
    lock(&servers->lock);
    bool full = servers->pins.count >= MCP_PINS_MAX;
    unlock(&servers->lock);
    return full;
}

static struct server_news *news_of(struct arena *arena, const struct server_tool *tool, struct str before)
{
    struct server_news *news = arena_new(arena, struct server_news);
    news->tool = arena_str(arena, tool->name);
    news->definition = arena_str(arena, tool->definition);
    news->digest = arena_str(arena, tool->digest);
    if (before.n)
        news->preview = definition_preview(arena, tool->name, before, tool->text);
    return news;
}

/* Up to date with what the server offers; false when it cannot be had now. */
static bool refresh(struct server *server, const atomic_bool *cancelled)
{
    if (rc_bad(server_enter(server, cancelled, NULL)))
        return false;
    lock(&server->lock);
    bool old = clock_steady_us() - server->listed_us > LIST_AGE_US;
    unlock(&server->lock);
    bool fine = (!old && !atomic_load(&server->stale)) || rc_ok(server_list(server, cancelled, NULL));
    server_leave(server);
    return fine;
}

struct server_news *servers_news(struct servers *servers, struct arena *arena, const atomic_bool *cancelled)
{
    struct server_news *first = NULL, **last = &first;
    for (size_t i = 0; i < servers->count; i++) {
        struct server *server = &servers->servers[i];
        if (!refresh(server, cancelled))
            continue;
        lock(&server->lock);
        for (size_t t = 0; t < server->tool_count; t++) {
            struct str before;
            if (holds(servers, arena, &server->tools[t], &before) || (before.n == 0 && pins_are_full(servers)))
                continue;
            *last = news_of(arena, &server->tools[t], before);
            last = &(*last)->next;
        }
        unlock(&server->lock);
    }
    return first;
}

void servers_definitions(struct servers *servers, struct json_out *out)
{
    for (size_t i = 0; i < servers->count; i++) {
        struct server *server = &servers->servers[i];
        lock(&server->lock);
        for (size_t t = 0; t < server->tool_count && server->state == SERVER_READY; t++) {
            const struct server_tool *tool = &server->tools[t];
            if (!holds(servers, NULL, tool, NULL))
                continue;
            json_open(out, '{');
            json_member(out, "name", tool->name);
            json_member(out, "description", tool->description);
            json_member_raw(out, "input_schema", tool->schema);
            json_close(out, '}');
        }
        unlock(&server->lock);
    }
}

/* ---- a tool of a server ---- */

struct found {
    struct server *server;
    struct str own, description, digest;
};

static struct server *server_of(struct servers *servers, struct str name)
{
    for (size_t i = 0; servers && i < servers->count; i++) {
        struct str server = servers->servers[i].name;
        struct str rest = name.n > 5 ? str_sub(name, 5, name.n) : STR_NONE;
        if (str_starts(rest, server) && str_starts(str_sub(rest, server.n, rest.n), STR("__")))
            return &servers->servers[i];
    }
    return NULL;
}

/* The tool as its server offers it now, if that is what holds. May start the server. */
static struct rc find(const struct tool_use *use, struct found *ret_found, struct err *err)
{
    struct server *server = server_of(use->servers, use->name);
    bool there = false, same = false;
    if (!server)
        return err_set(err, ERR_INVALID, "there is no tool %.*s", STR_ARG(use->name));
    TRY(server_enter(server, use->cancelled, err));
    lock(&server->lock);
    for (size_t i = 0; i < server->tool_count; i++) {
        const struct server_tool *tool = &server->tools[i];
        if (!str_eq(tool->name, use->name))
            continue;
        there = true;
        same = holds(use->servers, NULL, tool, NULL);
        *ret_found = (struct found){server, arena_str(use->arena, tool->own),
                                    arena_str(use->arena, tool->description), arena_str(use->arena, tool->digest)};
    }
    unlock(&server->lock);
    server_leave(server);
    if (!there)
        return err_set(err, ERR_INVALID, "the server %.*s has no tool %.*s", STR_ARG(server->name), STR_ARG(use->name));
    if (!same)
        return err_set(err, ERR_INVALID, "%.*s was changed by its server, and no person has agreed to that yet",
                       STR_ARG(use->name));
    return RC_OK;
}

static struct rc check(const struct tool_use *use, struct err *err)
{
    struct found found;
    return find(use, &found, err);
}

static void show(struct json_out *out, const struct tool_use *use)
{
    struct found found;
    if (rc_bad(find(use, &found, NULL)))
        return;
    json_member(out, "server", found.server->name);
    json_member(out, "tool", found.own);
    json_member(out, "description", found.description);
}

static struct str digest(const struct tool_use *use)
{
    struct found found;
    return rc_ok(find(use, &found, NULL)) ? found.digest : STR_NONE;
}

static struct str params_of(struct arena *arena, const struct found *found, const struct json *input)
{
    BUF_SCOPE(buf, MCP_MESSAGE_BYTES_MAX);
    struct json_out out = json_out(&buf);
    json_open(&out, '{');
    json_member(&out, "name", found->own);
    json_member_raw(&out, "arguments", input->raw);
    json_close(&out, '}');
    return buf.over ? STR_NONE : arena_str(arena, buf_str(&buf));
}

/* Whether the server, which may have begun anew since, still offers it as it was found. */
static bool still(struct server *server, const struct tool_use *use, const struct found *found)
{
    bool same = false;
    lock(&server->lock);
    for (size_t i = 0; i < server->tool_count; i++)
        same = same || (str_eq(server->tools[i].name, use->name) && str_eq(server->tools[i].digest, found->digest));
    unlock(&server->lock);
    return same;
}

static struct rc call(const struct tool_use *use, const struct found *found, struct exchange *x, struct err *err)
{
    struct str params = params_of(use->arena, found, use->input);
    if (params.n == 0)
        return err_set(err, ERR_TOO_LARGE, "the input is too large for a server");
    *x = (struct exchange){.arena = use->arena, .timeout_ms = found->server->timeout_ms, .cancelled = use->cancelled};
    TRY(server_enter(found->server, use->cancelled, err));
    struct rc rc = still(found->server, use, found)
                       ? server_ask(found->server, x, "tools/call", params, err)
                       : err_set(err, ERR_CONFLICT, "%.*s has just been changed by its server", STR_ARG(use->name));
    server_leave(found->server);
    return rc;
}

static struct rc run(const struct tool_use *use, struct str *ret_text, struct err *err)
{
    struct found found;
    struct exchange x;
    TRY(find(use, &found, err));
    struct rc rc = call(use, &found, &x, err);
    if (rc.code == ERR_NOT_FOUND) { /* nothing was done: it is asked once more, in a new session */
        TRY(find(use, &found, err));
        rc = call(use, &found, &x, err);
    }
    if (rc.code == ERR_UNAVAILABLE) {
        struct err why = *err;
        return err_set(err, ERR_UNAVAILABLE, "%s. Whether it took effect is not known; it was not run again", why.text);
    }
    TRY(rc);
    *ret_text = mcp_result_text(use->arena, x.answer.result);
    if (json_bool(x.answer.result, "isError", false))
        return err_set(err, ERR_INVALID, "the tool failed");
    return RC_OK;
}

const struct hands hands_server = {
    .name = "mcp__",
    .description = "",
    .schema = "{\"type\":\"object\"}",
    .check = check,
    .show = show,
    .digest = digest,
    .run = run,
};
