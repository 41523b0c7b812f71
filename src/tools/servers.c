/* All servers: which definitions hold, what is offered, and a tool of a server as one of ours.
 *
 * Invariant: a tool is offered, asked about and called only while the definition that its server gives now is the
 * one that is pinned. Everything that a caller gets is copied under the lock of the server it came from.
 */
#include "tools/mcp.h"

#include "base/lock.h"
#include "base/log.h"
#include "io/clock.h"

enum { LIST_AGE_US = 60 * 1000000 };

/* The pinned definition of a tool. */
struct pin {
    struct arena arena;
    struct str text, digest, definition;
};

static void pin_free(struct pin *pin) { arena_free(pin); }

void servers_free_pins(struct servers *servers)
{
    MAP_EACH(&servers->pins, each)
        pin_free(each.value);
    map_done(&servers->pins);
}

/* ---- definitions ---- */

/* A tool of this name in another repository is another tool. */
static struct str pin_key(struct arena *arena, struct str root, struct str tool)
{
    return arena_printf(arena, "%.*s\n%.*s", STR_ARG(root), STR_ARG(tool));
}

/* Called on the loop when a definition was stored or is read back; tools ask for pins on their own threads, hence the
 * lock. */
void servers_pin(struct servers *servers, struct str root, struct str tool, const struct json *definition)
{
    ARENA_SCOPE(arena);
    struct pin *pin = heap_new(sizeof *pin);
    pin->text = mcp_definition_text(&pin->arena, tool, definition, str_starts(root, STR(SERVERS_TOLD)));
    pin->digest = mcp_definition_digest(&pin->arena, pin->text);
    pin->definition = arena_str(&pin->arena, definition->raw);
    LOCK_SCOPE(&servers->lock);
    pin_free(map_put(&servers->pins, pin_key(&arena, root, tool), pin));
}

/* Whether the tool's definition is the pinned one. If it is not, *ret_before is the text of the pinned one; empty:
 * none is pinned. */
static bool holds(struct servers *servers, struct str root, const struct server_tool *tool, struct arena *arena,
                  struct str *ret_before)
{
    ARENA_SCOPE(scratch);
    LOCK_SCOPE(&servers->lock);
    const struct pin *pin = map_get(&servers->pins, pin_key(&scratch, root, tool->name));
    bool same = pin && str_eq(pin->digest, tool->digest);
    if (ret_before)
        *ret_before = pin && !same ? arena_str(arena, pin->text) : STR_NONE;
    return same;
}

static bool pins_are_full(struct servers *servers)
{
    LOCK_SCOPE(&servers->lock);
    return servers->pins.count >= MCP_PINS_MAX;
}

static struct server_news *news_of(struct arena *arena, const struct server_tool *tool, struct str before)
{
    struct server_news *news = arena_new(arena, struct server_news);
    news->tool = arena_str(arena, tool->name);
    news->definition = arena_str(arena, tool->definition);
    news->digest = arena_str(arena, tool->digest);
    if (before.n)
        news->preview = mcp_definition_preview(arena, tool->name, before, tool->text);
    return news;
}

/* Updates the list of the server's tools; false when that is not possible now. */
static bool refresh(struct server *server, const atomic_bool *cancelled)
{
    if (rc_bad(server_enter(server, cancelled, NULL)))
        return false;
    lock_take(&server->lock);
    bool old = clock_steady_us() - server->listed_us > LIST_AGE_US;
    lock_drop(&server->lock);
    bool fine = (!old && !atomic_load(&server->stale)) || rc_ok(server_list(server, cancelled, NULL));
    server_leave(server);
    return fine;
}

/* Adds the new definitions of one set behind `last`; returns the new last. */
static struct server_news **add_news(struct servers *servers, struct server_set *set, struct arena *arena,
                                     const atomic_bool *cancelled, struct server_news **last)
{
    for (size_t i = 0; i < set->count; i++) {
        struct server *server = &set->servers[i];
        if (!refresh(server, cancelled))
            continue;
        lock_take(&server->lock);
        for (size_t t = 0; t < server->tool_count; t++) {
            struct str before;
            if (holds(servers, set->root, &server->tools[t], arena, &before) ||
                (before.n == 0 && pins_are_full(servers)))
                continue;
            *last = news_of(arena, &server->tools[t], before);
            (*last)->root = arena_str(arena, set->root);
            last = &(*last)->next;
        }
        lock_drop(&server->lock);
    }
    return last;
}

/* ---- MCP servers run by a client: their definitions come through the proxy ---- */

/* For tools that a proxy has seen at a server of its client. NULL news: the definition is the pinned one. */
struct rc servers_told(struct servers *servers, struct arena *arena, struct str root, struct str tool,
                       const struct json *definition, struct server_news **ret_news, struct err *err)
{
    struct server_tool told = {.name = tool, .definition = definition->raw};
    struct str before;
    *ret_news = NULL;
    CHECK(str_starts(root, STR(SERVERS_TOLD)));
    told.text = mcp_definition_text(arena, tool, definition, true);
    if (str_empty(told.text) || definition->raw.n > MCP_DEFINITION_BYTES_MAX)
        return err_set(err, ERR_TOO_LARGE, "the definition is larger than %d bytes", MCP_DEFINITION_BYTES_MAX);
    told.digest = mcp_definition_digest(arena, told.text);
    if (holds(servers, root, &told, arena, &before))
        return RC_OK;
    if (before.n == 0 && pins_are_full(servers))
        return err_set(err, ERR_TOO_MANY, "there are definitions of %d tools already", MCP_PINS_MAX);
    *ret_news = news_of(arena, &told, before);
    (*ret_news)->root = arena_str(arena, root);
    return RC_OK;
}

/* The definition is copied under the lock: another node's event may replace the pin at any time. */
bool servers_holds(struct servers *servers, struct arena *arena, struct str root, struct str tool,
                   const struct json **ret_definition)
{
    ARENA_SCOPE(scratch);
    struct str text = STR_NONE;
    lock_take(&servers->lock);
    const struct pin *pin = map_get(&servers->pins, pin_key(&scratch, root, tool));
    if (pin)
        text = arena_str(arena, pin->definition);
    lock_drop(&servers->lock);
    return text.n && rc_ok(json_parse(arena, text, ret_definition, NULL));
}

struct server_news *servers_news(struct servers *servers, struct arena *arena, struct str root,
                                 const atomic_bool *cancelled)
{
    struct server_set *sets[2];
    struct server_news *first = NULL, **last = &first;
    size_t count = servers_sets(servers, arena, root, sets, &first);
    if (first)
        last = &first->next;
    for (size_t i = 0; i < count; i++)
        last = add_news(servers, sets[i], arena, cancelled, last);
    return first;
}

/* Writes as many definitions as fit into a request; the others are not offered. */
static void put_definitions(struct servers *servers, struct str root, struct server *server, struct json_out *out)
{
    unsigned left_out = 0;
    lock_take(&server->lock);
    for (size_t t = 0; t < server->tool_count && server->state == SERVER_READY; t++) {
        const struct server_tool *tool = &server->tools[t];
        if (!holds(servers, root, tool, NULL, NULL))
            continue;
        if (out->buf->n + tool->definition.n > MCP_OFFERED_BYTES_MAX) {
            left_out++;
            continue;
        }
        json_object(out, J("name", tool->name), J("description", tool->description),
                    J_RAW("input_schema", tool->schema));
    }
    lock_drop(&server->lock);
    if (left_out)
        log_line(LOG_WARN, "tools of an MCP server are not offered: all definitions together are too large",
                 LOG_S("server", server->name), LOG_I("tools", left_out));
}

/* Only tools whose definition is pinned and unchanged: a changed tool is not offered before somebody has allowed it.
 */
void servers_definitions(struct servers *servers, struct str root, struct json_out *out)
{
    ARENA_SCOPE(arena);
    struct server_set *sets[2];
    size_t count = servers_sets(servers, &arena, root, sets, NULL);
    for (size_t s = 0; s < count; s++)
        for (size_t i = 0; i < sets[s]->count; i++)
            put_definitions(servers, sets[s]->root, &sets[s]->servers[i], out);
}

/* ---- a tool of a server ---- */

struct found_tool {
    struct server *server;
    struct str own, description, digest;
    struct str schema; /* JSON */
};

/* The server that the tool's name names, the person's own first, and the root its definitions are pinned for. */
static struct server *server_of(const struct tool_use *use, struct str *ret_root)
{
    struct server_set *sets[2];
    struct str rest = use->name.n > 5 ? str_sub(use->name, 5, use->name.n) : STR_NONE;
    size_t count = use->servers ? servers_sets(use->servers, use->arena, use->root, sets, NULL) : 0;
    for (size_t s = 0; s < count; s++) {
        for (size_t i = 0; i < sets[s]->count; i++) {
            struct str server = sets[s]->servers[i].name;
            if (!str_starts(rest, server) || !str_starts(str_sub(rest, server.n, rest.n), STR("__")))
                continue;
            *ret_root = sets[s]->root;
            return &sets[s]->servers[i];
        }
    }
    return NULL;
}

/* Finds the tool as its server offers it now; fails when the definition is not the pinned one, or another one than was
 * shown. May start the server. */
static struct rc find(const struct tool_use *use, struct found_tool *ret_found, struct err *err)
{
    struct str root = STR_NONE;
    struct server *server = server_of(use, &root);
    bool there = false, same = false;
    if (!server)
        return err_set(err, ERR_INVALID, "there is no tool %.*s", STR_ARG(use->name));
    TRY(server_enter(server, use->cancelled, err));
    lock_take(&server->lock);
    for (size_t i = 0; i < server->tool_count; i++) {
        const struct server_tool *tool = &server->tools[i];
        if (!str_eq(tool->name, use->name))
            continue;
        there = true;
        same = holds(use->servers, root, tool, NULL, NULL);
        *ret_found = (struct found_tool){server, arena_str(use->arena, tool->own),
                                         arena_str(use->arena, tool->description), arena_str(use->arena, tool->digest),
                                         arena_str(use->arena, tool->schema)};
    }
    lock_drop(&server->lock);
    server_leave(server);
    if (!there)
        return err_set(err, ERR_INVALID, "the server %.*s has no tool %.*s", STR_ARG(server->name), STR_ARG(use->name));
    if (!same)
        return err_set(err, ERR_INVALID, "%.*s was changed by its server, and no person has agreed to that yet",
                       STR_ARG(use->name));
    if (use->shown.n && !str_eq(ret_found->digest, use->shown))
        return err_set(err, ERR_CONFLICT, "%.*s is not as it was shown; nothing was done", STR_ARG(use->name));
    return RC_OK;
}

static struct rc check(const struct tool_use *use, struct err *err)
{
    struct found_tool found;
    return find(use, &found, err);
}

/* The server's own words about its tool, marked as such by the preview's members. */
static void show(struct json_out *out, const struct tool_use *use)
{
    struct found_tool found;
    const struct json *schema;
    if (rc_bad(find(use, &found, NULL)))
        return;
    json_members(out, J("server", found.server->name), J("tool", found.own), J("description", found.description));
    if (rc_ok(json_parse(use->arena, found.schema, &schema, NULL)))
        tool_fields(out, schema, use->input);
}

static struct str digest(const struct tool_use *use)
{
    struct found_tool found;
    return rc_ok(find(use, &found, NULL)) ? found.digest : STR_NONE;
}

static struct str params_of(struct arena *arena, const struct found_tool *found, const struct json *input)
{
    JSON_SCOPE(buf, out, MCP_MESSAGE_BYTES_MAX);
    json_object(&out, J("name", found->own), J_RAW("arguments", input->raw));
    return buf.over ? STR_NONE : arena_str(arena, buf_str(&buf));
}

/* Whether the server, which may have been restarted since, still offers the tool with the definition that was found. */
static bool still(struct server *server, const struct tool_use *use, const struct found_tool *found)
{
    bool same = false;
    LOCK_SCOPE(&server->lock);
    for (size_t i = 0; i < server->tool_count; i++)
        same = same || (str_eq(server->tools[i].name, use->name) && str_eq(server->tools[i].digest, found->digest));
    return same;
}

/* Compared once more between entering and asking: the list may have been read anew since the call was allowed. */
static struct rc call(const struct tool_use *use, const struct found_tool *found, struct mcp_exchange *x,
                      struct err *err)
{
    struct str params = params_of(use->arena, found, use->input);
    if (params.n == 0)
        return err_set(err, ERR_TOO_LARGE, "the input is too large for a server");
    *x = (struct mcp_exchange){
        .arena = use->arena, .timeout_ms = found->server->timeout_ms, .cancelled = use->cancelled};
    TRY(server_enter(found->server, use->cancelled, err));
    struct rc rc = still(found->server, use, found)
                       ? server_ask(found->server, x, "tools/call", params, err)
                       : err_set(err, ERR_CONFLICT, "its server has just changed the tool %.*s", STR_ARG(use->name));
    server_leave(found->server);
    return rc;
}

/* A server that ended may have done it: the call is not repeated, and the result says that its effect is unknown. */
static struct rc run(const struct tool_use *use, struct str *ret_text, struct err *err)
{
    struct found_tool found;
    struct mcp_exchange x;
    TRY(find(use, &found, err));
    struct rc rc = call(use, &found, &x, err);
    if (rc.code == ERR_NOT_FOUND) { /* the server forgot the session and did nothing: try once more in a new session */
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

const struct executor executor_server = {
    .name = "mcp__",
    .description = "",
    .schema = "{\"type\":\"object\"}",
    .check = check,
    .show = show,
    .digest = digest,
    .run = run,
};
