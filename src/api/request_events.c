/* An agent request's events, as they are and as they come.
 *
 * In the stream a text that is being said comes in pieces as the model says them. The message that is kept when it has
 * said all repeats only what the pieces did not tell, so a client may put every text_chunk behind the last one; where
 * an answer was begun anew, "replaces": true says that its text takes the place of the pieces since the last event.
 * Pieces have no id. The id of the others is SEQ.PART; the stream goes on behind it.
 */
#include "api/request_events.h"

#include "api/sse.h"
#include "event/run.h"
#include "event/shapes.h"

enum { HEARD_BYTES_MAX = 1 << 20 };

/* ---- one event under its other names ---- */

/* One event while its parts are told: a message may have several blocks, numbered by `part`. */
struct telling {
    struct request_teller *teller;
    const struct event *event;
    unsigned part;
};

static void open_event(struct json_out *out, const struct event *event, const char *type)
{
    json_open(out, '{');
    json_members(out, J("seq", event->seq), J("type", type), J_TIME("at", event->at_ms));
}

static void put(struct telling *telling, const char *type, struct json_out *out, const struct buf *buf)
{
    json_close(out, '}');
    telling->teller->put(telling->teller->arg, type, telling->event->seq, ++telling->part, buf_str(buf));
}

/* Blocks of other types are stored and not told. */
static void tell_block(struct telling *telling, const struct json *block)
{
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    const struct json *input = json_get(block, "input");
    bool text = str_is(json_text(block, "type"), "text");
    if (!text && !str_is(json_text(block, "type"), "tool_use"))
        return;
    const char *type = text ? "text_chunk" : "tool_call";
    open_event(&out, telling->event, type);
    if (text) {
        json_member(&out, "text", json_text(block, "text"));
    } else {
        json_members(&out, J("id", json_text(block, "id")), J("name", json_text(block, "name")),
                     J_RAW("input", input ? input->raw : STR("{}")));
    }
    put(telling, type, &out, &buf);
}

static void tell_message(struct telling *telling, struct arena *scratch)
{
    struct data_agent_message data;
    const struct json *content = NULL;
    if (!READ_DATA(scratch, agent_message, telling->event->data, &data) || str_empty(data.content) ||
        rc_bad(json_parse(scratch, data.content, &content, NULL)) || content->type != JSON_ARRAY)
        return;
    for (const struct json *block = content->first; block; block = block->next)
        tell_block(telling, block);
}

static void tell_result(struct telling *telling, struct arena *scratch)
{
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    struct data_tool_result data;
    if (!READ_DATA(scratch, tool_result, telling->event->data, &data))
        return;
    open_event(&out, telling->event, "tool_result");
    json_members(&out, J("toolCallId", telling->event->call),
                 J_RAW("content", str_empty(data.content) ? STR("null") : data.content),
                 J_BOOL("isError", data.is_error));
    put(telling, "tool_result", &out, &buf);
}

static void tell_end(struct telling *telling, const struct data_run_status *data)
{
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    open_event(&out, telling->event, "completion");
    json_members(&out, J("status", data->status), J("reason", data->reason));
    put(telling, "completion", &out, &buf);
}

/* Events of the run as the stream's own events; events of other runs of the thread are skipped. */
void request_tell(struct request_teller *teller, const struct event *event)
{
    ARENA_SCOPE(scratch);
    struct data_run_status status;
    struct telling telling = {.teller = teller, .event = event};
    if (event->kind == EVENT_RUN_STATUS) {
        if (!READ_DATA(&scratch, run_status, event->data, &status))
            return;
        teller->mine = str_eq(status.run, teller->run);
        if (teller->mine)
            teller->over = run_status_over(run_status_parse(status.status));
    }
    if (!teller->mine)
        return;
    if (event->kind == EVENT_AGENT_MESSAGE)
        tell_message(&telling, &scratch);
    else if (event->kind == EVENT_TOOL_RESULT)
        tell_result(&telling, &scratch);
    else if (event->kind == EVENT_RUN_STATUS && teller->over)
        tell_end(&telling, &status);
}

/* ---- the stream ---- */

/* A live stream of a run's events; freed when the stream is gone. */
struct run_listener {
    struct sse sse;
    struct sse_watched what;
    struct arena arena;          /* owns the strings of `what` and the teller */
    struct request_teller teller;
    uint64_t has_seq, has_part;  /* position of the last event that the client had when it connected */
    struct buf heard;            /* text of the answer that is being streamed */
};

static void send_event(struct run_listener *listener, const char *type, uint64_t seq, unsigned part, struct str json)
{
    BUF_SCOPE(buf, LIMIT_ANSWER_BYTES);
    buf_printf(&buf, "id: %llu.%u\nevent: %s\n", (unsigned long long)seq, part, type);
    sse_put_data(&buf, json);
    sse_send(&listener->sse, buf_str(&buf));
}

static bool begins_with_heard(const struct run_listener *listener, struct str text)
{
    return !listener->heard.over && str_starts(text, buf_str(&listener->heard));
}

/* Sends the part of a text that was not streamed before. */
static void send_text(struct run_listener *listener, uint64_t seq, unsigned part, struct str json)
{
    ARENA_SCOPE(scratch);
    const struct json *chunk;
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    if (rc_bad(json_parse(&scratch, json, &chunk, NULL)))
        return;
    struct str text = json_text(chunk, "text"), heard = buf_str(&listener->heard);
    bool told = heard.n && str_starts(heard, text), more = heard.n && begins_with_heard(listener, text);
    json_object(&out, J("seq", seq), J("type", "text_chunk"), J("at", json_text(chunk, "at")),
                J_ALWAYS("text", told ? STR("") : more ? str_sub(text, heard.n, text.n) : text),
                J_FLAG("replaces", heard.n && !told && !more));
    struct str rest = told ? arena_str(&scratch, str_sub(heard, text.n, heard.n)) : STR_NONE;
    buf_clear(&listener->heard);
    buf_put(&listener->heard, rest); /* beginning of the answer's next text */
    send_event(listener, "text_chunk", seq, part, buf_str(&buf));
}

/* The teller is told every event of the thread, from the first; what the client has already is left out here. */
static void put_told(void *arg, const char *type, uint64_t seq, unsigned part, struct str json)
{
    struct run_listener *listener = arg;
    if (seq < listener->has_seq || (seq == listener->has_seq && part <= listener->has_part))
        return;
    if (str_is(str_of(type), "text_chunk"))
        send_text(listener, seq, part, json);
    else
        send_event(listener, type, seq, part, json);
}

static void end_if_over(struct sse *sse)
{
    if (sse->watcher.live && ((struct run_listener *)sse)->teller.over)
        http_stream_end(sse->stream);
}

/* After a message that was stored, the pieces before it are of no more use. */
static void tell(struct watcher *watcher, struct happening *happening)
{
    struct run_listener *listener = watcher->arg;
    if (sse_revoked(&listener->sse))
        return;
    request_tell(&listener->teller, happening->event);
    if (happening->event->kind == EVENT_AGENT_MESSAGE)
        buf_clear(&listener->heard);
    end_if_over(&listener->sse);
}

/* A piece of a text, while it is said. */
static void hear(struct watcher *watcher, struct str json)
{
    ARENA_SCOPE(scratch);
    struct run_listener *listener = watcher->arg;
    const struct json *said;
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    if (listener->sse.token->revoked_ms || rc_bad(json_parse(&scratch, json, &said, NULL)) ||
        !str_is(json_text(said, "type"), "text_chunk") || !str_eq(json_text(said, "runId"), listener->teller.run))
        return;
    buf_put(&listener->heard, json_text(said, "text"));
    json_object(&out, J("type", "text_chunk"), J("text", json_text(said, "text")), J_BOOL("live", true));
    sse_send(&listener->sse, arena_printf(&scratch, "event: text_chunk\ndata: %.*s\n\n", STR_ARG(buf_str(&buf))));
}

static void listener_free(struct sse *sse)
{
    struct run_listener *listener = (struct run_listener *)sse;
    buf_done(&listener->heard);
    arena_free(listener);
}

/* SEQ.PART of the last event that the client has. */
static struct rc read_cursor(struct exchange *x, struct run_listener *listener, struct err *err)
{
    struct str text = STR_NONE, part;
    TRY(api_query_text(x, "after", &text, err));
    if (http_header(x->http, "last-event-id").p)
        text = http_header(x->http, "last-event-id");
    if (str_empty(text))
        return RC_OK;
    struct str seq = str_cut(text, '.', &part);
    listener->has_part = UINT64_MAX;
    if (!str_to_u64(seq, &listener->has_seq) || (part.n && !str_to_u64(part, &listener->has_part)))
        return err_set(err, ERR_INVALID, "after= and Last-Event-ID must be the id of an event");
    return RC_OK;
}

/* The listener is freed by `gone`, which http_stream calls exactly once; before the stream is open it is freed here.
 */
void request_stream(struct exchange *x, struct str thread)
{
    struct run_listener *listener = heap_new(sizeof *listener);
    struct err err;
    listener->heard = buf_init(HEARD_BYTES_MAX);
    if (rc_bad(read_cursor(x, listener, &err))) {
        exchange_fail(x, &err);
        listener_free(&listener->sse);
        return;
    }
    listener->teller = (struct request_teller){
        .run = arena_str(&listener->arena, x->params[0]), .put = put_told, .arg = listener};
    listener->what.watched = (struct watched){
        .session = arena_str(&listener->arena, x->session), .thread = arena_str(&listener->arena, thread),
        .kinds = (uint64_t)1 << EVENT_AGENT_MESSAGE | (uint64_t)1 << EVENT_TOOL_RESULT |
                 (uint64_t)1 << EVENT_RUN_STATUS,
        .tell = tell, .hear = hear, .caught_up = sse_caught_up,
    };
    listener->what.live = end_if_over;
    listener->what.free = listener_free;
    listener->sse.watcher.what = &listener->what.watched;
    sse_start(x, &listener->sse);
}
