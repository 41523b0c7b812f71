/* nod log: events as they were kept, oldest first, and live.
 *
 * The position is the seq of the last event printed. Every request and every new stream begins there, so
 * a restart of the server leaves neither gap nor repeat.
 */
#include "base/limits.h"
#include "cli/view.h"
#include "event/event.h"
#include "http/http.h"
#include "io/clock.h"

#include <stdio.h>
#include <unistd.h>

enum { PAGE_EVENTS = 500, FOLLOW_LAST = 20, AWAY_US = 300000, SESSION_COLUMNS = 12, KEYS_MAX = 4 };

struct logging {
    struct cli *cli;
    struct str scope;   /* the part of the query that says which events */
    uint64_t after;     /* the last one printed */
    uint64_t left;      /* how many more are wanted */
    bool came;          /* something since the stream was opened */
};

/* ---- one event ---- */

/* What to show of an event's data: members, or members of members. */
static const struct {
    enum event_kind kind;
    const char *keys[KEYS_MAX];
} telling[] = {
    {EVENT_TOOL_CALL, {"id", "name", "input", "verdict.effect"}},
    {EVENT_TOOL_APPROVAL_REQUEST, {"toolCallId", "reason.why"}},
    {EVENT_TOOL_APPROVAL_RESPONSE, {"toolCallId", "decision", "feedback", "mode"}},
    {EVENT_TOOL_STARTED, {"toolCallId"}},
    {EVENT_TOOL_RESULT, {"toolCallId", "isError", "content"}},
    {EVENT_SESSION_CHANGED, {"change", "title", "permissionMode", "thread.title"}},
    {EVENT_TOKEN_CHANGED, {"change", "id", "role", "name"}},
    {EVENT_RUN_STATUS, {"status"}},
};

static void put_value(struct buf *buf, struct arena *arena, const struct json *data, const char *path)
{
    struct str inner;
    struct str outer = str_cut(str_of(path), '.', &inner);
    const struct json *value = json_get_str(data, outer);
    if (value && !str_empty(inner))
        value = json_get_str(value, inner);
    if (!value || value->type == JSON_NULL || value->type == JSON_FALSE)
        return;
    struct str text = value->raw;
    if (value->type == JSON_STRING)
        text = value->text;
    if (value->type == JSON_TRUE)
        text = str_of(path);
    buf_putc(buf, ' ');
    buf_put(buf, value->type == JSON_OBJECT ? text_summary(arena, value) : text_line(arena, text));
}

static void put_data(struct buf *buf, struct arena *arena, enum event_kind kind, const struct json *data)
{
    for (size_t i = 0; i < sizeof telling / sizeof *telling; i++) {
        if (telling[i].kind != kind)
            continue;
        for (int k = 0; k < KEYS_MAX && telling[i].keys[k]; k++)
            put_value(buf, arena, data, telling[i].keys[k]);
        return;
    }
    buf_putc(buf, ' ');
    if (data)
        buf_put(buf, text_summary(arena, data));
}

static enum tint tint_of(enum event_kind kind)
{
    if (kind == EVENT_TOOL_APPROVAL_REQUEST)
        return TINT_YELLOW;
    return kind == EVENT_TOOL_APPROVAL_RESPONSE ? TINT_GREEN : TINT_NONE;
}

static void put_line(struct buf *buf, const struct cli *cli, const struct json *event)
{
    ARENA_SCOPE(arena);
    BUF_SCOPE(words, TEXT_BYTES_MAX);
    struct str type = json_text(event, "type");
    struct str actor = json_text(event, "actor");
    enum event_kind kind = event_kind_parse(type);
    struct str when = text_time(&arena, json_text(event, "at"), clock_wall_ms());
    struct str session = text_fit(&arena, text_line(&arena, json_text(event, "sessionId")), SESSION_COLUMNS);
    struct str name = arena_printf(&arena, "%-22.*s", STR_ARG(text_line(&arena, type)));
    buf_printf(&words, "%.*s  %.*s%*s  ", STR_ARG(when), STR_ARG(session),
               (int)(SESSION_COLUMNS - text_width(session)), "");
    unsigned used = text_width(buf_str(&words)) + 22;
    buf_put(&words, text_tinted(&arena, cli->color, tint_of(kind), name));
    BUF_SCOPE(rest, TEXT_BYTES_MAX);
    put_data(&rest, &arena, kind, json_get(event, "data"));
    if (!str_empty(actor))
        buf_printf(&rest, "  (%.*s)", STR_ARG(text_line(&arena, actor)));
    buf_put(&words, text_fit(&arena, buf_str(&rest), cli->width > used + 20 ? cli->width - used : 0));
    buf_put(buf, buf_str(&words));
    buf_putc(buf, '\n');
}

/* The event's own bytes on one line; blanks of an agent's input may hold line ends. */
static void put_json(struct buf *buf, const struct json *event)
{
    for (size_t i = 0; i < event->raw.n; i++)
        buf_putc(buf, event->raw.p[i] == '\n' || event->raw.p[i] == '\r' ? ' ' : event->raw.p[i]);
    buf_putc(buf, '\n');
}

/* False when no more is wanted. */
static bool print_event(struct logging *logging, const struct json *event)
{
    BUF_SCOPE(buf, TEXT_BYTES_MAX);
    int64_t seq = 0;
    if (!json_i64(json_get(event, "seq"), &seq) || (uint64_t)seq <= logging->after)
        return true;
    if (logging->cli->json)
        put_json(&buf, event);
    else
        put_line(&buf, logging->cli, event);
    cli_out(buf_str(&buf));
    logging->after = (uint64_t)seq;
    logging->left--;
    return logging->left > 0;
}

/* ---- pages ---- */

static struct rc read_page(const struct logging *logging, struct arena *arena, uint64_t after, unsigned limit,
                           const struct json **ret_events, struct err *err)
{
    struct query query = {.method = "GET"};
    struct reply reply;
    query.target = arena_printf(arena, "/api/events?after=%llu&limit=%u%.*s", (unsigned long long)after, limit,
                                STR_ARG(logging->scope));
    TRY(remote_ask(logging->cli, arena, &query, &reply, err));
    *ret_events = json_get(reply.json, "events");
    if (!*ret_events || (*ret_events)->type != JSON_ARRAY)
        return err_set(err, ERR_INTERNAL, "%s does not answer like a nod server", remote_where(logging->cli));
    return RC_OK;
}

static struct rc print_pages(struct logging *logging, struct err *err)
{
    for (;;) {
        ARENA_SCOPE(arena);
        const struct json *events;
        TRY(read_page(logging, &arena, logging->after, PAGE_EVENTS, &events, err));
        for (const struct json *event = events->first; event; event = event->next)
            if (!print_event(logging, event))
                return RC_OK;
        if (events->count == 0)
            return RC_OK;
    }
}

/* The seq of the last event in scope, found by halving: is there one after N? */
static struct rc find_last(const struct logging *logging, uint64_t *ret_last, struct err *err)
{
    uint64_t low = 0, high = 1;
    bool bounded = false;
    while (!bounded || low < high) {
        ARENA_SCOPE(arena);
        const struct json *events;
        uint64_t middle = bounded ? low + (high - low) / 2 : high;
        int64_t seq = 0;
        TRY(read_page(logging, &arena, middle, 1, &events, err));
        if (events->first && json_i64(json_get(events->first, "seq"), &seq) && (uint64_t)seq > middle) {
            low = (uint64_t)seq;
            high = bounded ? high : low * 2;
        } else {
            bounded = true;
            high = middle;
        }
    }
    *ret_last = low > high ? low : high;
    return RC_OK;
}

/* ---- live ---- */

static bool on_event(void *arg, struct str id, struct str type, struct str data)
{
    ARENA_SCOPE(arena);
    struct logging *logging = arg;
    const struct json *event;
    (void)id;
    (void)type;
    logging->came = true;
    if (rc_bad(json_parse(&arena, data, &event, NULL)))
        return true;
    bool more = print_event(logging, event);
    return fflush(stdout) == 0 && more;
}

/* A first page says whether the server is there and the scope is right; only later troubles are waited out. */
static struct rc follow(struct logging *logging, struct err *err)
{
    struct cli *cli = logging->cli;
    const struct json *page;
    bool told = false;
    TRY(read_page(logging, &cli->arena, logging->after, 1, &page, err));
    for (;;) {
        ARENA_SCOPE(arena);
        struct str target = arena_printf(&arena, "/api/events?after=%llu%.*s", (unsigned long long)logging->after,
                                         STR_ARG(logging->scope));
        logging->came = false;
        struct rc rc = http_client_stream(cli->client, target, on_event, logging, err);
        if (logging->left == 0 || ferror(stdout))
            return RC_OK;
        if (rc_bad(rc) && !remote_passing(rc))
            return rc;
        told = told && !logging->came;
        if (rc_bad(rc) && !told)
            cli_note("nod: the server at %s is away; trying again until it is back", remote_where(cli));
        told = true;
        (void)usleep(AWAY_US);
    }
}

/* ---- the command ---- */

static struct str scope_of(struct cli *cli)
{
    static const struct {
        const char *option, *parameter;
    } parts[] = {{"session", "session"}, {"thread", "thread"}, {"type", "types"}};
    struct str scope = STR_NONE;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *value = option_text(cli, parts[i].option);
        if (value)
            scope = arena_printf(&cli->arena, "%.*s&%s=%s", STR_ARG(scope), parts[i].parameter,
                                 remote_escape(&cli->arena, str_of(value)).p);
    }
    return scope;
}

struct rc log_command(struct cli *cli, struct err *err)
{
    struct logging logging = {.cli = cli, .scope = scope_of(cli), .left = UINT64_MAX};
    bool follows = option_flag(cli, "follow");
    uint64_t last = UINT64_MAX, end = 0;
    TRY(option_number(cli, "after", INT64_MAX, &logging.after, err));
    TRY(option_number(cli, "limit", INT64_MAX, &logging.left, err));
    TRY(option_number(cli, "last", INT64_MAX, &last, err));
    if (follows && !option_text(cli, "after") && last == UINT64_MAX)
        last = FOLLOW_LAST;
    if (logging.left == 0)
        return RC_OK;
    if (last != UINT64_MAX)
        TRY(find_last(&logging, &end, err));
    if (end > last && end - last > logging.after)
        logging.after = end - last;
    return follows ? follow(&logging, err) : print_pages(&logging, err);
}
