/* nod otlp: calls as spans and events as log records, for an OpenTelemetry collector (OTLP over HTTP, in JSON).
 *
 * It reads the log as any reader does. The position moves when the collector has taken an event, and what it has not
 * taken is sent again. Ids are digests of ours, so an event that is sent twice is the same span both times. Inputs,
 * results and words are sent only with --content.
 */
#include "base/buf.h"
#include "base/digest.h"
#include "base/limits.h"
#include "base/stamp.h"
#include "cli/follow.h"
#include "cli/local.h"
#include "event/cloud_event.h"
#include "event/event.h"
#include "http/http.h"
#include "io/file.h"

enum {
    HEADERS_MAX = 16,
    ANSWER_S_MAX = 30,
    ANSWER_BYTES_MAX = 64 << 10,
    TRACE_HEX = 32,
    SPAN_HEX = 16,
    SEQ_BYTES = 24,
};

/* The export: where to, from which place in the log on, and whether the collector answers. */
struct otlp {
    struct cli *cli;
    struct fetch_line *line;
    const char *url, *state;
    const char *headers[HEADERS_MAX + 2]; /* NULL is behind the last */
    bool content;
    bool away;      /* the collector did not answer last time, and that was said */
    uint64_t refused;
    struct err err; /* why the last event was not taken */
};

/* ---- OTLP ---- */

static void put_attribute(struct json_out *out, const char *key, struct str value)
{
    if (str_empty(value))
        return;
    json_object(out, J("key", key), J_OBJECT("value", J("stringValue", value)));
}

/* Whole numbers of 64 bits are strings in OTLP's JSON. */
static void put_number(struct json_out *out, struct arena *arena, const char *key, int64_t value)
{
    json_object(out, J("key", key), J_OBJECT("value", J("intValue", arena_printf(arena, "%lld", (long long)value))));
}

static void put_id(struct json_out *out, const char *key, size_t digits, struct str first, struct str second,
                   struct str third)
{
    char hex[DIGEST_HEX_BYTES];
    struct digest digest = digest_of_pieces((const struct str[]){first, second, third}, 3);
    digest_hex(&digest, hex);
    json_member(out, key, (struct str){hex, digits});
}

static void put_time(struct json_out *out, struct arena *arena, const char *key, int64_t at_ms)
{
    json_member(out, key, arena_printf(arena, "%lld000000", (long long)at_ms));
}

/* {"resourceSpans":[{"resource":…,"scopeSpans":[{"scope":…,"spans":[, or the same of log records. */
static struct json_out open_request(struct buf *buf, const char *resources, const char *scopes, const char *items)
{
    struct json_out out = json_out(buf);
    json_open(&out, '{');
    json_open_member(&out, resources, '[');
    json_open(&out, '{');
    json_open_member(&out, "resource", '{');
    json_open_member(&out, "attributes", '[');
    put_attribute(&out, "service.name", STR("nod"));
    put_attribute(&out, "service.version", STR(NOD_VERSION));
    json_close(&out, ']');
    json_close(&out, '}');
    json_open_member(&out, scopes, '[');
    json_open(&out, '{');
    json_member_raw(&out, "scope", STR("{\"name\":\"nod\",\"version\":\"" NOD_VERSION "\"}"));
    json_open_member(&out, items, '[');
    return out;
}

static void close_request(struct json_out *out)
{
    for (const char *c = "]}]}]}"; *c; c++)
        json_close(out, *c);
}

/* ---- a call ---- */

struct times {
    int64_t asked, answered, ended; /* milliseconds; ended: 0: not yet */
};

static int64_t time_of(const struct json *object, const char *key)
{
    int64_t at_ms;
    return stamp_parse(json_text(object, key), &at_ms) ? at_ms : 0;
}

/* Inputs, results and words of people are sent only with --content: a collector is often read by more people. */
static void put_call_attributes(struct json_out *out, struct arena *arena, const struct otlp *otlp,
                                const struct json *call, const struct times *times)
{
    const struct json *tool = json_get(call, "toolCall"), *answer = json_get(call, "answer");
    const struct json *result = json_get(call, "result"), *input = json_get(tool, "input");
    json_open_member(out, "attributes", '[');
    put_attribute(out, "gen_ai.operation.name", STR("execute_tool"));
    put_attribute(out, "gen_ai.tool.name", json_text(tool, "name"));
    put_attribute(out, "gen_ai.tool.call.id", json_text(call, "toolCallId"));
    put_attribute(out, "gen_ai.conversation.id", json_text(call, "sessionId"));
    put_attribute(out, "gen_ai.agent.name", json_text(call, "agent"));
    put_attribute(out, "nod.decision", json_text(answer, "decision"));
    put_attribute(out, "nod.decided_by", json_text(answer, "actor"));
    put_attribute(out, "nod.rule", json_text(call, "rule"));
    put_number(out, arena, "nod.wait_ms", times->answered - times->asked);
    if (otlp->content) {
        put_attribute(out, "gen_ai.tool.call.arguments", input ? input->raw : STR_NONE);
        put_attribute(out, "nod.feedback", json_text(answer, "feedback"));
        if (json_get(result, "content"))
            put_attribute(out, "gen_ai.tool.call.result", json_get(result, "content")->raw);
    }
    json_close(out, ']');
}

/* The span of an approval that was given is not an error, even when the tool failed afterwards. */
static void put_status(struct json_out *out, const struct json *call, bool of_approval)
{
    const struct json *answer = json_get(call, "answer");
    bool allowed = str_starts(json_text(answer, "decision"), STR("allow"));
    if (allowed && (of_approval || !json_bool(json_get(call, "result"), "isError", false)))
        return;
    json_members(out, J_OBJECT("status", J_RAW("code", STR("2")),
                               J("message", allowed ? "the tool failed" : "not allowed")));
}

/* The approval is a child of the call, whose span may come much later. */
static void put_span(struct json_out *out, const struct otlp *otlp, const struct json *call, const struct times *times,
                     bool of_approval)
{
    ARENA_SCOPE(arena);
    struct str session = json_text(call, "sessionId"), id = json_text(call, "toolCallId");
    struct str tool = json_text(json_get(call, "toolCall"), "name");
    json_open(out, '{');
    put_id(out, "traceId", TRACE_HEX, session, STR_NONE, STR_NONE);
    put_id(out, "spanId", SPAN_HEX, session, id, of_approval ? STR("approval") : STR_NONE);
    if (of_approval)
        put_id(out, "parentSpanId", SPAN_HEX, session, id, STR_NONE);
    struct str name = of_approval ? STR("nod.approval") : arena_printf(&arena, "execute_tool %.*s", STR_ARG(tool));
    json_members(out, J("name", name), J("kind", 1));
    put_time(out, &arena, "startTimeUnixNano", times->asked);
    put_time(out, &arena, "endTimeUnixNano", of_approval ? times->answered : times->ended);
    put_call_attributes(out, &arena, otlp, call, times);
    put_status(out, call, of_approval);
    json_close(out, '}');
}

/* ---- sending ---- */

/* ERR_UNAVAILABLE: it is worth another attempt. ERR_INVALID: it is not. */
static struct rc send_to(struct otlp *otlp, struct arena *arena, const char *path, const struct buf *body)
{
    struct fetch fetch = {.arena = arena, .url = arena_printf(arena, "%s%s", otlp->url, path).p, .body = buf_str(body),
                          .headers = otlp->headers, .bytes_max = ANSWER_BYTES_MAX,
                          .silence_seconds_max = ANSWER_S_MAX, .seconds_max = ANSWER_S_MAX};
    struct rc rc = body->over ? err_set(&otlp->err, ERR_INVALID, "it is too large") : RC_OK;
    if (rc_ok(rc))
        rc = fetch_run(otlp->line, &fetch, &otlp->err);
    if (rc_ok(rc) && fetch.status / 100 != 2)
        rc = err_set(&otlp->err, fetch.status == 429 || fetch.status >= 502 ? ERR_UNAVAILABLE : ERR_INVALID,
                     "%s answers with status %ld", fetch.url, fetch.status);
    return rc;
}

static struct rc send_spans(struct otlp *otlp, struct arena *arena, const struct json *call, bool approval, bool whole)
{
    BUF_SCOPE(body, LIMIT_ANSWER_BYTES);
    struct times times = {.asked = time_of(call, "requestedAt"), .answered = time_of(json_get(call, "answer"), "at"),
                          .ended = time_of(json_get(call, "result"), "at")};
    times.ended = times.ended ? times.ended : times.answered;
    if (!times.answered)
        return RC_OK;
    struct json_out out = open_request(&body, "resourceSpans", "scopeSpans", "spans");
    if (approval)
        put_span(&out, otlp, call, &times, true);
    if (whole)
        put_span(&out, otlp, call, &times, false);
    close_request(&out);
    return send_to(otlp, arena, "/v1/traces", &body);
}

/* Ids of traces and spans are made from the session's and the call's, so that everything about a call is found
 * together. */
static struct rc send_record(struct otlp *otlp, struct arena *arena, const struct json *event)
{
    BUF_SCOPE(body, LIMIT_ANSWER_BYTES);
    struct json_out out = open_request(&body, "resourceLogs", "scopeLogs", "logRecords");
    struct str session = json_text(event, "sessionId"), call = cloud_event_call(event);
    const struct json *data = json_get(event, "data");
    int64_t seq = 0;
    json_open(&out, '{');
    put_time(&out, arena, "timeUnixNano", time_of(event, "at"));
    json_members(&out, J_RAW("severityNumber", STR("9")), J("severityText", "INFO"),
                 J("eventName", json_text(event, "type")),
                 J_OBJECT("body", J("stringValue", json_text(event, "type"))));
    json_open_member(&out, "attributes", '[');
    if (json_i64(json_get(event, "seq"), &seq))
        put_number(&out, arena, "nod.seq", seq);
    put_attribute(&out, "nod.actor", json_text(event, "actor"));
    put_attribute(&out, "gen_ai.conversation.id", session);
    put_attribute(&out, "gen_ai.tool.call.id", call);
    if (otlp->content && data)
        put_attribute(&out, "nod.data", data->raw);
    json_close(&out, ']');
    if (!str_empty(session))
        put_id(&out, "traceId", TRACE_HEX, session, STR_NONE, STR_NONE);
    if (!str_empty(call))
        put_id(&out, "spanId", SPAN_HEX, session, call, STR_NONE);
    json_close(&out, '}');
    close_request(&out);
    return send_to(otlp, arena, "/v1/logs", &body);
}

/* ---- events ---- */

/* Spans are made from the call's whole history, which the server keeps: nothing is remembered here. */
static struct rc send_call(struct otlp *otlp, struct arena *arena, const struct json *event)
{
    enum event_kind kind = event_kind_parse(json_text(event, "type"));
    const struct json *data = json_get(event, "data");
    struct str effect = json_text(json_get(data, "verdict"), "effect"), decision = json_text(data, "decision");
    bool decided = (kind == EVENT_TOOL_CALL && !str_is(effect, "ask")) || kind == EVENT_TOOL_APPROVAL_RESPONSE;
    bool denied = decided && !str_is(effect, "allow") && !str_starts(decision, STR("allow"));
    struct query query = {.method = "GET"};
    struct reply reply;
    if (!decided && kind != EVENT_TOOL_RESULT)
        return RC_OK;
    query.target = arena_printf(arena, "/api/sessions/%s/calls/%s",
                                remote_escape(arena, json_text(event, "sessionId")).p,
                                remote_escape(arena, cloud_event_call(event)).p);
    TRY(remote_ask(otlp->cli, arena, &query, &reply, &otlp->err));
    return send_spans(otlp, arena, reply.json, decided, denied || kind == EVENT_TOOL_RESULT);
}

/* An event that the collector refuses for good is left out and counted; one that it cannot take now is sent
 * again. */
static enum follow_on take_event(void *arg, const struct json *event)
{
    struct otlp *otlp = arg;
    ARENA_SCOPE(arena);
    struct rc rc = send_call(otlp, &arena, event);
    if (rc_ok(rc) || rc.code != ERR_UNAVAILABLE) {
        struct rc record = send_record(otlp, &arena, event);
        rc = rc_ok(rc) || record.code == ERR_UNAVAILABLE ? record : rc;
    }
    if (rc.code == ERR_UNAVAILABLE) {
        if (!otlp->away)
            cli_note("nod otlp: %s; it is tried again until it is taken", otlp->err.text);
        otlp->away = true;
        return FOLLOW_AGAIN;
    }
    otlp->away = false;
    if (rc_bad(rc) && otlp->refused++ == 0)
        cli_note("nod otlp: event %.*s is left out: %s", STR_ARG(cloud_event_seq(event)), otlp->err.text);
    otlp->err = (struct err){.code = ERR_OK};
    if (otlp->state && rc_bad(file_write_private(otlp->state, cloud_event_seq(event), &otlp->err))) {
        cli_note("nod otlp: %s", otlp->err.text);
        return FOLLOW_END;
    }
    return FOLLOW_MORE;
}

/* ---- the command ---- */

/* Where to begin: --after, else the state file, else behind the last event. */
static struct rc find_position(struct otlp *otlp, struct follow *follow, struct err *err)
{
    struct str text = STR_NONE;
    if (option_text(otlp->cli, "after"))
        return option_number(otlp->cli, "after", INT64_MAX, &follow->after, err);
    struct rc rc = otlp->state ? file_read(&otlp->cli->arena, otlp->state, SEQ_BYTES, &text, err)
                               : (struct rc){ERR_NOT_FOUND};
    if (rc.code == ERR_NOT_FOUND)
        return follow_last(follow, &follow->after, err);
    TRY(rc);
    return str_to_u64(str_trim(text), &follow->after)
               ? RC_OK
               : err_set(err, ERR_INVALID, "%s does not hold the number of an event", otlp->state);
}

/* Secrets of headers come from the environment, not from the command line. */
struct rc otlp_command(struct cli *cli, struct err *err)
{
    struct otlp otlp = {.cli = cli, .url = cli->argv[0], .state = option_text(cli, "state"),
                        .content = option_flag(cli, "content"), .headers = {"Content-Type: application/json"}};
    struct follow follow = {.cli = cli, .event = take_event, .arg = &otlp};
    size_t at = 0, n = 1;
    for (const char *text; (text = option_each(cli, "header-env", &at));) {
        if (n > HEADERS_MAX)
            return err_set(err, ERR_INVALID, "there are too many headers");
        TRY(local_header(cli, text, &otlp.headers[n++], err));
    }
    if (!str_starts(str_of(otlp.url), STR("http://")) && !str_starts(str_of(otlp.url), STR("https://")))
        return err_set(err, ERR_INVALID, "the collector's address is http://… or https://…, not '%s'", otlp.url);
    TRY(find_position(&otlp, &follow, err));
    otlp.line = fetch_line_new();
    struct rc rc = option_flag(cli, "once") ? follow_pages(&follow, err) : follow_live(&follow, err);
    fetch_line_free(otlp.line);
    if (rc_ok(rc) && otlp.err.code != ERR_OK)
        return err_set(err, otlp.err.code, "%s", otlp.err.text);
    return rc;
}
