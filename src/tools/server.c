/* One server: started when it is needed, left alone when it fails again and again, asked what it offers.
 *
 *   down → starting → ready → (its link ends) → down
 *
 * One caller starts it while the others wait. A link is closed only when nobody uses it. One that ends soon after it
 * began is tried again later and later.
 */
#include "tools/mcp.h"

#include "base/lock.h"
#include "base/log.h"
#include "io/clock.h"

#include <errno.h>

enum {
    HANDSHAKE_MS = 20000,
    SHORT_LIFE_US = 10 * 1000000,
    BACKOFF_US = 1000000,
    BACKOFF_DOUBLINGS = 6,
    PATIENCE_US = 3 * 1000000, /* longest delay for which a call waits instead of failing */
    PAGES_MAX = 20,
    LOOKED_AT_MAX = 2 * MCP_TOOLS_MAX, /* most entries read of a list, including those that are skipped */
};

void server_init(struct server *server)
{
    pthread_condattr_t steady;
    CHECK(pthread_condattr_init(&steady) == 0);
    CHECK(pthread_condattr_setclock(&steady, CLOCK_MONOTONIC) == 0);
    CHECK(pthread_mutex_init(&server->lock, NULL) == 0);
    CHECK(pthread_cond_init(&server->moved, &steady) == 0);
    CHECK(pthread_condattr_destroy(&steady) == 0);
    atomic_store(&server->next_id, 1);
}

/* When no tool runs any more: the CHECK would find one that still uses the server. */
void server_done(struct server *server)
{
    CHECK(server->users == 0 && server->state != SERVER_STARTING);
    if (server->link)
        server->transport->close(server->link);
    CHECK(pthread_mutex_destroy(&server->lock) == 0);
    CHECK(pthread_cond_destroy(&server->moved) == 0);
    arena_done(&server->list_arena);
    arena_done(&server->arena);
}

/* On a tool's thread, without the server's lock: several calls may be on their way. The id tells their answers apart.
 */
struct rc server_ask(struct server *server, struct mcp_exchange *x, const char *method, struct str params,
                     struct err *err)
{
    BUF_SCOPE(buf, MCP_MESSAGE_BYTES_MAX);
    x->id = atomic_fetch_add(&server->next_id, 1);
    mcp_put_request(&buf, x->id, method, params);
    if (buf.over)
        return err_set(err, ERR_TOO_LARGE, "the input is too large for a server");
    x->message = buf_str(&buf);
    struct rc rc = server->transport->exchange(server, x, err);
    x->message = STR_NONE;
    TRY(rc);
    if (!x->answer.result)
        return err_set(err, ERR_INVALID, "the server %.*s says: %.*s", STR_ARG(server->name), STR_ARG(x->answer.error));
    return RC_OK;
}

/* ---- what it offers ---- */

/* The characters that model providers take in a tool's name. */
static bool good_name(struct str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-'))
            return false;
    }
    return name.n > 0 && name.n <= MCP_NAME_BYTES_MAX;
}

static struct str definition_json(struct arena *arena, struct str description, struct str schema)
{
    JSON_SCOPE(buf, out, (size_t)MCP_DEFINITION_BYTES_MAX * 8);
    json_object(&out, J("description", description), J_RAW("inputSchema", schema));
    return buf.over ? STR_NONE : arena_str(arena, buf_str(&buf));
}

static void left_out(const struct server *server, struct str tool, const char *why)
{
    log_line(LOG_WARN, "a tool of an MCP server is left out", LOG_S("server", server->name), LOG_S("tool", tool),
             LOG_C("why", why));
}

/* The list that is being read; it takes the old one's place when it is whole. */
struct tool_listing {
    struct arena arena;
    struct server_tool *tools;
    size_t count, looked_at;
};

/* A tool that cannot be offered is left out and logged; the server's other tools stay. */
static void take_tool(struct server *server, struct tool_listing *list, const struct json *tool)
{
    ARENA_SCOPE(scratch);
    struct arena *arena = &list->arena;
    const struct json *schema = json_get(tool, "inputSchema"), *definition = NULL;
    struct str own = json_text(tool, "name"), description = json_text(tool, "description");
    struct server_tool t = {.own = arena_str(arena, own)};
    t.name = arena_printf(arena, "mcp__%.*s__%.*s", STR_ARG(server->name), STR_ARG(own));
    if (!good_name(t.name) || own.n == 0) {
        left_out(server, own, "its name is not one that models can be given");
        return;
    }
    for (size_t i = 0; i < list->count; i++) {
        if (str_eq(list->tools[i].name, t.name)) {
            left_out(server, own, "there are two of that name");
            return;
        }
    }
    bool fits = schema && schema->type == JSON_OBJECT && str_is(json_text(schema, "type"), "object") &&
                schema->raw.n + description.n <= MCP_DEFINITION_BYTES_MAX;
    t.definition = fits ? definition_json(arena, description, schema->raw) : STR_NONE;
    if (t.definition.n && rc_ok(json_parse(&scratch, t.definition, &definition, NULL)))
        t.text = mcp_definition_text(arena, t.name, definition, false);
    if (t.text.n == 0 || list->count == MCP_TOOLS_MAX) {
        left_out(server, own, "its definition is too large or no object, or there are too many");
        return;
    }
    t.description = arena_str(arena, json_text(definition, "description"));
    t.schema = json_get(definition, "inputSchema")->raw; /* a part of t.definition */
    t.digest = mcp_definition_digest(arena, t.text);
    list->tools[list->count++] = t;
}

/* Takes one page of the list of tools; false: the list has reached its limit. */
static bool take_page(struct server *server, struct tool_listing *list, const struct json *tools)
{
    for (const struct json *t = tools && tools->type == JSON_ARRAY ? tools->first : NULL; t; t = t->next) {
        if (list->looked_at++ == LOOKED_AT_MAX) {
            left_out(server, json_text(t, "name"), "there are too many; the rest of the list is not read");
            return false;
        }
        take_tool(server, list, t);
    }
    return true;
}

static void put_cursor(struct buf *params, struct str cursor)
{
    struct json_out out = json_out(params);
    buf_clear(params);
    json_object(&out, J("cursor", cursor));
}

/* At most PAGES_MAX pages, because the cursor comes from the server and might never end. */
static struct rc read_pages(struct server *server, struct tool_listing *list, const atomic_bool *cancelled,
                            struct err *err)
{
    BUF_SCOPE(params, MCP_MESSAGE_BYTES_MAX);
    put_cursor(&params, STR_NONE);
    for (int page = 0; page < PAGES_MAX; page++) {
        ARENA_SCOPE(arena);
        struct mcp_exchange x = {.arena = &arena, .timeout_ms = HANDSHAKE_MS, .cancelled = cancelled};
        TRY(server_ask(server, &x, "tools/list", buf_str(&params), err));
        struct str cursor = json_text(x.answer.result, "nextCursor");
        if (!take_page(server, list, json_get(x.answer.result, "tools")) || cursor.n == 0)
            return RC_OK;
        put_cursor(&params, cursor);
    }
    return RC_OK;
}

/* The new list replaces the old one at once, under the lock, and only when all of it was read. */
struct rc server_list(struct server *server, const atomic_bool *cancelled, struct err *err)
{
    struct tool_listing list = {0};
    list.tools = arena_array(&list.arena, struct server_tool, MCP_TOOLS_MAX);
    /* Before reading: a change that is announced meanwhile sets it again, and the list is read once more. */
    atomic_store(&server->stale, false);
    struct rc rc = read_pages(server, &list, cancelled, err);
    lock_take(&server->lock);
    if (rc_ok(rc)) {
        struct arena old = arena_take(&server->list_arena);
        server->list_arena = arena_take(&list.arena);
        server->tools = list.tools;
        server->tool_count = list.count;
        server->listed_us = clock_steady_us();
        arena_done(&old);
    }
    lock_drop(&server->lock);
    arena_done(&list.arena);
    return rc;
}

/* ---- starting ---- */

static struct rc shake_hands(struct server *server, const atomic_bool *cancelled, struct err *err)
{
    ARENA_SCOPE(arena);
    BUF_SCOPE(buf, 1000);
    struct mcp_exchange x = {.arena = &arena, .timeout_ms = HANDSHAKE_MS, .cancelled = cancelled};
    TRY(server_ask(server, &x, "initialize",
                   STR("{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
                       "\"clientInfo\":{\"name\":\"nod\",\"version\":\"" NOD_VERSION "\"}}"),
                   err));
    if (server->transport->agreed)
        server->transport->agreed(server, json_text(x.answer.result, "protocolVersion"));
    mcp_put_notification(&buf, "notifications/initialized", STR_NONE);
    server->transport->notify(server, buf_str(&buf));
    return server_list(server, cancelled, err);
}

static void close_link(struct server *server)
{
    if (server->link)
        server->transport->close(server->link);
    server->link = NULL;
}

/* The link is ours alone in SERVER_STARTING. A program whose handshake fails is ended. */
static struct rc start(struct server *server, const atomic_bool *cancelled, struct err *err)
{
    close_link(server);
    TRY(server->transport->open(server, &server->link, err));
    struct rc rc = shake_hands(server, cancelled, err);
    if (rc_bad(rc))
        close_link(server);
    return rc;
}

/* Sets the next attempt: at once after a long run, with growing delays after short ones. The lock is held. */
static void note_end(struct server *server, int64_t now_us)
{
    bool long_life = server->opened_us && now_us - server->opened_us > SHORT_LIFE_US;
    unsigned doublings = server->failures < BACKOFF_DOUBLINGS ? server->failures : BACKOFF_DOUBLINGS;
    server->state = SERVER_DOWN;
    server->failures = long_life ? 0 : server->failures + 1;
    server->retry_us = long_life ? now_us : now_us + ((int64_t)BACKOFF_US << doublings);
    server->opened_us = 0;
}

/* Called with the lock, which it gives up while the server starts; others wait in step_in until `moved`. */
static struct rc start_now(struct server *server, const atomic_bool *cancelled, struct err *err)
{
    struct err why = {.code = ERR_OK};
    server->state = SERVER_STARTING;
    lock_drop(&server->lock);
    struct rc rc = start(server, cancelled, &why);
    lock_take(&server->lock);
    if (rc_ok(rc)) {
        server->state = SERVER_READY;
        server->opened_us = clock_steady_us();
    } else if (rc.code == ERR_CONFLICT) {
        server->state = SERVER_DOWN; /* the caller cancelled the start: no failure of the server */
    } else {
        note_end(server, clock_steady_us());
        server->trouble = why;
        log_line(LOG_WARN, "an MCP server cannot be used", LOG_S("server", server->name), LOG_C("why", why.text));
    }
    if (rc_bad(rc) && err)
        *err = why;
    CHECK(pthread_cond_broadcast(&server->moved) == 0);
    return rc;
}

/* Wakes up now and then, because a cancelled call has no other way to be noticed. */
static void wait_a_little(struct server *server)
{
    struct timespec until;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &until) == 0);
    until.tv_nsec += (long)MCP_LOOK_MS * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    int failed = pthread_cond_timedwait(&server->moved, &server->lock, &until);
    CHECK(failed == 0 || failed == ETIMEDOUT);
}

/* Notes that the connection has ended. A web server that only forgot our session has not failed: it is used again
 * without a delay. */
static void look_at_link(struct server *server, int64_t now_us)
{
    if (server->state != SERVER_READY || server->transport->alive(server->link))
        return;
    if (server->transport == &transport_stdio) {
        note_end(server, now_us);
        log_line(LOG_WARN, "an MCP server has ended", LOG_S("server", server->name));
    } else {
        server->state = SERVER_DOWN;
        server->retry_us = now_us;
    }
}

/* For servers of an older version of a repository's file: their programs end as soon as no call uses them. */
void server_rest(struct server *server)
{
    void *link = NULL;
    lock_take(&server->lock);
    if (server->users == 0 && server->state == SERVER_READY) {
        link = server->link;
        server->link = NULL;
        server->state = SERVER_DOWN;
    }
    lock_drop(&server->lock);
    if (link)
        server->transport->close(link);
}

/* With the lock held: one attempt to use the server. True when this thread may use it, or the wait ended with an error.
 * */
static bool step_in(struct server *server, const atomic_bool *cancelled, struct rc *ret_rc, struct err *err)
{
    int64_t now_us = clock_steady_us();
    look_at_link(server, now_us);
    int64_t wait_us = server->retry_us - now_us;
    *ret_rc = RC_OK;
    if (server->state == SERVER_READY)
        return true;
    if (is_set(cancelled)) {
        *ret_rc = err_set(err, ERR_CONFLICT, "Cancelled before it ran");
        return true;
    }
    if (server->state == SERVER_STARTING || server->users > 0 || (wait_us > 0 && wait_us <= PATIENCE_US)) {
        wait_a_little(server);
        return false;
    }
    if (wait_us > 0) {
        *ret_rc = err_set(err, ERR_UNAVAILABLE, "the server %.*s cannot be used (%s); it is tried again in %lld s",
                          STR_ARG(server->name), server->trouble.code == ERR_OK ? "it ended" : server->trouble.text,
                          (long long)(wait_us / 1000000 + 1));
        return true;
    }
    *ret_rc = start_now(server, cancelled, err);
    return rc_bad(*ret_rc);
}

/* Every RC_OK needs a server_leave: until then the link is not closed and the server not started anew. */
struct rc server_enter(struct server *server, const atomic_bool *cancelled, struct err *err)
{
    struct rc rc = RC_OK;
    LOCK_SCOPE(&server->lock);
    while (!step_in(server, cancelled, &rc, err))
        continue;
    if (rc_ok(rc))
        server->users++;
    return rc;
}

void server_leave(struct server *server)
{
    LOCK_SCOPE(&server->lock);
    CHECK(server->users > 0);
    server->users--;
    CHECK(pthread_cond_broadcast(&server->moved) == 0);
}
