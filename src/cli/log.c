/* nod log: events as they were kept, oldest first, and live. */
#include "cli/log.h"

#include "cli/follow.h"
#include "cli/text.h"
#include "event/event.h"
#include "io/clock.h"

#include <stdio.h>

enum { FOLLOW_LAST = 20, SESSION_COLUMNS = 8, TYPE_COLUMNS = 22, WORDS_COLUMNS_MIN = 10, KEYS_MAX = 7 };

/* ---- one event ---- */

/* The parts of an event's data to show: members, or members of members. */
static const struct {
    enum event_kind kind;
    const char *keys[KEYS_MAX];
} telling[] = {
    {EVENT_USER_MESSAGE, {"text", "content"}},
    {EVENT_AGENT_MESSAGE, {"text", "content"}},
    {EVENT_LOCAL_SYSTEM_MESSAGE, {"text", "content"}},
    {EVENT_SYSTEM_PROMPT, {"text"}},
    {EVENT_USER_SYSTEM_PROMPT, {"text"}},
    {EVENT_COMPACTION, {"summary"}},
    {EVENT_TOOL_CALL, {"id", "verdict.effect", "name", "input"}},
    {EVENT_TOOL_APPROVAL_REQUEST, {"toolCallId", "reason.why"}},
    {EVENT_TOOL_APPROVAL_ALERT, {"toolCallId", "tool"}},
    {EVENT_TOOL_APPROVAL_PARTIAL, {"toolCallId", "decision", "person", "have", "need"}},
    {EVENT_TOOL_APPROVAL_SNOOZED, {"toolCallId", "until"}},
    {EVENT_TOOL_APPROVAL_ASSIGNED, {"toolCallId", "person"}},
    {EVENT_TOOL_APPROVAL_RESPONSE, {"toolCallId", "decision", "feedback", "mode"}},
    {EVENT_TOOL_STARTED, {"toolCallId"}},
    {EVENT_TOOL_RESULT, {"toolCallId", "isError", "content"}},
    {EVENT_SESSION_CHANGED, {"change", "title", "permissionMode", "thread.title"}},
    {EVENT_TOKEN_CHANGED, {"change", "id", "role", "name"}},
    {EVENT_RULE_CHANGED, {"change", "rule.effect", "rule.rule", "rule.id", "id", "path", "tool"}},
    {EVENT_RUN_STATUS, {"status", "reason"}},
    {EVENT_RUN_LEASE, {"owner"}},
    {EVENT_SESSION_ARCHIVED, {"archive"}},
};

/* The text in a list of parts, as messages and results have it; other parts are events of their own. */
static void put_parts(struct buf *buf, struct arena *arena, const struct json *parts)
{
    CHECK(parts->type == JSON_ARRAY);
    for (const struct json *part = parts->first; part; part = part->next) {
        struct str text = part->type == JSON_STRING ? part->text : json_text(part, "text");
        if (!str_empty(text))
            buf_printf(buf, " %.*s", STR_ARG(text_line(arena, text)));
    }
}

/* `path` may name a member of a member ("rule.effect"). Values that say nothing (null, false) are left out. */
static void put_value(struct buf *buf, struct arena *arena, const struct json *data, const char *path)
{
    struct str inner;
    CHECK(path && path[0]);
    struct str outer = str_cut(str_of(path), '.', &inner);
    const struct json *value = json_get_str(data, outer);
    if (value && !str_empty(inner))
        value = json_get_str(value, inner);
    if (!value || value->type == JSON_NULL || value->type == JSON_FALSE)
        return;
    if (value->type == JSON_ARRAY) {
        put_parts(buf, arena, value);
        return;
    }
    struct str text = value->raw;
    if (value->type == JSON_STRING)
        text = value->text;
    if (value->type == JSON_TRUE)
        text = str_of(path);
    BUF_ADD(buf, STR(" "), value->type == JSON_OBJECT ? text_summary(arena, value) : text_line(arena, text));
}

/* Kinds that are not in the table are shown by their whole data, so that a newer server's events are not hidden. */
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

/* Ids begin with the time they were made at; their ends tell them apart. */
static struct str short_session(struct str id)
{
    return id.n > SESSION_COLUMNS ? str_sub(id, id.n - SESSION_COLUMNS, id.n) : id;
}

static void put_line(struct buf *buf, const struct cli *cli, const struct json *event)
{
    ARENA_SCOPE(arena);
    BUF_SCOPE(words, TEXT_BYTES_MAX);
    struct str type = json_text(event, "type");
    struct str actor = json_text(event, "actor");
    enum event_kind kind = event_kind_parse(type);
    struct str when = text_time(&arena, json_text(event, "at"), clock_wall_ms());
    struct str session = text_line(&arena, short_session(json_text(event, "sessionId")));
    struct str name = arena_printf(&arena, "%-*.*s", TYPE_COLUMNS, STR_ARG(text_line(&arena, type)));
    buf_printf(&words, "%.*s  %.*s%*s  ", STR_ARG(when), STR_ARG(session),
               session.n < SESSION_COLUMNS ? (int)(SESSION_COLUMNS - session.n) : 0, "");
    unsigned used = text_width(buf_str(&words)) + TYPE_COLUMNS;
    buf_put(&words, text_tinted(&arena, cli->color, tint_of(kind), name));
    BUF_SCOPE(rest, TEXT_BYTES_MAX);
    put_data(&rest, &arena, kind, json_get(event, "data"));
    if (!str_empty(actor))
        buf_printf(&rest, "  (%.*s)", STR_ARG(text_line(&arena, actor)));
    buf_put(&words,
            text_fit(&arena, buf_str(&rest), cli->width > used + WORDS_COLUMNS_MIN ? cli->width - used : 0));
    BUF_ADD(buf, buf_str(&words), STR("\n"));
}

/* Flushed after each event, because a reader of `nod log -f` may be a pipe. False: enough was printed, or nobody
 * reads. */
bool log_print(struct log_printer *printer, const struct json *event)
{
    CHECK(printer->left > 0);
    if (!str_empty(printer->text) && !str_has(event->raw, printer->text))
        return true;
    BUF_SCOPE(buf, TEXT_BYTES_MAX);
    if (!printer->begun)
        buf_put(&buf, log_format_head(printer->format));
    printer->begun = true;
    if (printer->format == LOG_FORMAT_TEXT)
        put_line(&buf, printer->cli, event);
    else
        log_format_put(&buf, printer->format, event);
    cli_out(buf_str(&buf));
    printer->left--;
    return fflush(stdout) == 0 && printer->left > 0;
}

static enum follow_on print_event(void *arg, const struct json *event)
{
    return log_print(arg, event) ? FOLLOW_MORE : FOLLOW_END;
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

/* A server says only that one of them is wrong. */
static struct rc check_types(struct cli *cli, struct err *err)
{
    struct str types = str_of(option_text(cli, "type"));
    STR_EACH(name, types, ',') {
        if (event_kind_parse(name) != EVENT_NONE)
            continue;
        cli_note("types of events:");
        for (int kind = EVENT_NONE + 1; kind < EVENT_KIND_END; kind++)
            cli_note("  %s", event_kind_name(kind));
        return err_set(err, ERR_INVALID, "--type: there is no type '%.*s'", STR_ARG(text_line(&cli->arena, name)));
    }
    return RC_OK;
}

struct rc log_printer_init(struct log_printer *printer, struct cli *cli, struct err *err)
{
    *printer = (struct log_printer){.cli = cli, .left = UINT64_MAX, .text = str_of(option_text(cli, "text"))};
    const char *format = option_text(cli, "format");
    printer->format = cli->json ? LOG_FORMAT_JSONL : LOG_FORMAT_TEXT;
    if (format && !log_format_parse(str_of(format), &printer->format))
        return err_set(err, ERR_INVALID, "--format is text, jsonl, csv or cloudevents, not '%s'", format);
    TRY(check_types(cli, err));
    return option_number(cli, "limit", INT64_MAX, &printer->left, err);
}

/* Pages from the beginning, the last N, or live. */
struct rc log_remote(struct cli *cli, struct err *err)
{
    struct log_printer printer;
    struct follow follow = {.cli = cli, .scope = scope_of(cli), .event = print_event, .arg = &printer};
    bool live = option_flag(cli, "follow");
    uint64_t last = UINT64_MAX, end = 0;
    TRY(option_number(cli, "after", INT64_MAX, &follow.after, err));
    TRY(log_printer_init(&printer, cli, err));
    TRY(option_number(cli, "last", INT64_MAX, &last, err));
    if (live && !option_text(cli, "after") && last == UINT64_MAX)
        last = FOLLOW_LAST;
    if (printer.left == 0)
        return RC_OK;
    if (last != UINT64_MAX)
        TRY(follow_last(&follow, &end, err));
    if (end > last && end - last > follow.after)
        follow.after = end - last;
    struct rc rc = live ? follow_live(&follow, err) : follow_pages(&follow, err);
    const char *session = option_text(cli, "session");
    if (rc.code == ERR_NOT_FOUND && session)
        return err_set(err, rc.code, "there is no session '%s'; nod session list shows them", session);
    return rc;
}
