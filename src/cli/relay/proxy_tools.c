/* The tools of the server behind a proxy.
 *
 * The proxy asks for itself, with ids of its own, and swallows the answers: a client may keep its list, and a server
 * may tell two askers two things. It asks when the client has begun, when the server says that something has changed,
 * when the client asks, and before a call when the list is a minute old. A thread of its own sends the questions:
 * whoever reads what the server says must never wait for the server to read.
 */
#include "cli/relay/proxy.h"

#include "base/limits.h"
#include "base/lock.h"
#include "io/clock.h"

#include <time.h>

enum {
    TOOLS_MAX = 1024,
    LIST_BYTES_MAX = 8 << 20,
    LIST_AGE_US = 60 * 1000000,
    LIST_WAIT_S = 30,
};

#define OUR_ID "nod:list:"
#define MODERN_META \
    "{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
    "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"nod\",\"version\":\"" NOD_VERSION "\"}," \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"

static void put_question(struct buf *buf, const struct proxy *proxy)
{
    struct json_out out = json_out(buf);
    ARENA_SCOPE(arena);
    json_object(&out, J("jsonrpc", "2.0"), J("id", arena_printf(&arena, OUR_ID "%u", proxy->list_number)),
                J("method", "tools/list"),
                J_OBJECT("params", J("cursor", proxy->cursor), J_IF(proxy->modern, J_RAW("_meta", STR(MODERN_META)))));
}

/* With the lock held. */
static void send_later(struct proxy *proxy, struct str cursor)
{
    proxy->list_number++;
    proxy->cursor = arena_str(&proxy->next.arena, cursor);
    proxy->question_due = true;
    (void)pthread_cond_broadcast(&proxy->listed);
}

static void *send_questions(void *arg)
{
    struct proxy *proxy = arg;
    for (;;) {
        BUF_SCOPE(buf, LIMIT_BODY_BYTES);
        (void)pthread_mutex_lock(&proxy->lock);
        while (!proxy->question_due)
            (void)pthread_cond_wait(&proxy->listed, &proxy->lock);
        proxy->question_due = false;
        put_question(&buf, proxy);
        (void)pthread_mutex_unlock(&proxy->lock);
        if (!buf.over)
            (void)proxy->back->send(proxy, buf_str(&buf));
    }
    return NULL;
}

struct rc proxy_list_start(struct proxy *proxy, struct err *err)
{
    return cli_start_thread(send_questions, proxy, err);
}

/* With the lock held. */
static void ask_list(struct proxy *proxy)
{
    proxy->stale = true;
    if (proxy->listing)
        return;
    proxy->listing = true;
    proxy->stale = false;
    arena_done(&proxy->next.arena);
    proxy->next = (struct proxy_list){0};
    send_later(proxy, STR_NONE);
}

void proxy_list_ask(struct proxy *proxy)
{
    LOCK_SCOPE(&proxy->lock);
    ask_list(proxy);
}

static const struct proxy_tool *find(const struct proxy_list *list, struct str name)
{
    return ROW_FIND(list->tools, list->count, row, str_eq(row->name, name));
}

/* A name that comes twice is not offered: nobody could say which of the two is called. */
static void add_tool(struct proxy *proxy, const struct json *tool)
{
    struct proxy_list *next = &proxy->next;
    struct str name = json_text(tool, "name");
    const struct proxy_tool *known = find(&proxy->list, name);
    if (str_empty(name) || next->count == TOOLS_MAX || next->bytes + tool->raw.n > LIST_BYTES_MAX)
        return;
    for (size_t i = 0; i < next->count; i++) {
        if (!str_eq(next->tools[i].name, name))
            continue;
        next->tools[i].definition = STR_NONE;
        return;
    }
    if (!next->tools)
        next->tools = arena_array(&next->arena, struct proxy_tool, TOOLS_MAX);
    next->bytes += tool->raw.n;
    next->tools[next->count++] = (struct proxy_tool){
        .name = arena_str(&next->arena, name),
        .definition = arena_str(&next->arena, tool->raw),
        .agreed = known && known->agreed && json_same_tokens(known->definition, tool->raw)};
}

static void end_listing(struct proxy *proxy)
{
    arena_done(&proxy->list.arena);
    proxy->list = proxy->next;
    proxy->next = (struct proxy_list){0};
    proxy->listing = false;
    proxy->has_list = true;
    proxy->listed_us = clock_steady_us();
    if (proxy->stale)
        ask_list(proxy);
    (void)pthread_cond_broadcast(&proxy->listed);
}

bool proxy_list_take(struct proxy *proxy, struct str id, const struct json *message)
{
    ARENA_SCOPE(arena);
    if (!str_starts(id, STR(OUR_ID)))
        return false;
    LOCK_SCOPE(&proxy->lock);
    bool current = proxy->listing && str_eq(id, arena_printf(&arena, OUR_ID "%u", proxy->list_number));
    const struct json *result = json_get(message, "result"), *tools = json_get(result, "tools");
    struct str cursor = json_text(result, "nextCursor");
    for (const struct json *tool = current && tools ? tools->first : NULL; tool; tool = tool->next)
        add_tool(proxy, tool);
    if (current && !str_empty(cursor) && proxy->next.count < TOOLS_MAX && tools && tools->count)
        send_later(proxy, cursor);
    else if (current)
        end_listing(proxy);
    return true;
}

static bool up_to_date(const struct proxy *proxy)
{
    return proxy->has_list && !proxy->listing && clock_steady_us() - proxy->listed_us < LIST_AGE_US;
}

struct rc proxy_tool(struct proxy *proxy, struct arena *arena, struct str name, struct proxy_tool *ret_tool,
                     struct err *err)
{
    struct timespec until;
    bool late = false;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LIST_WAIT_S;
    (void)pthread_mutex_lock(&proxy->lock);
    if (!up_to_date(proxy))
        ask_list(proxy);
    while (!up_to_date(proxy) && !late && !proxy->ending)
        late = pthread_cond_timedwait(&proxy->listed, &proxy->lock, &until) != 0;
    bool fresh = up_to_date(proxy);
    const struct proxy_tool *tool = fresh ? find(&proxy->list, name) : NULL;
    if (tool)
        *ret_tool = (struct proxy_tool){arena_str(arena, tool->name), arena_str(arena, tool->definition), tool->agreed};
    (void)pthread_mutex_unlock(&proxy->lock);
    if (!fresh)
        return err_set(err, ERR_TIMEOUT, "the server %.*s does not say which tools it has", STR_ARG(proxy->name));
    if (!tool || str_empty(ret_tool->definition))
        return err_set(err, ERR_NOT_FOUND, "the server %.*s does not offer a tool of this name", STR_ARG(proxy->name));
    return RC_OK;
}

void proxy_tool_agreed(struct proxy *proxy, const struct proxy_tool *tool)
{
    LOCK_SCOPE(&proxy->lock);
    for (size_t i = 0; i < proxy->list.count; i++)
        if (str_eq(proxy->list.tools[i].name, tool->name) && str_eq(proxy->list.tools[i].definition, tool->definition))
            proxy->list.tools[i].agreed = true;
}
