/* Events: as pages, and as a live stream that resumes where it was. */
#include "api/cursor.h"

#include "api/forms.h"
#include "api/sse.h"
#include "base/small.h"
#include "event/cloud_event.h"

#include <stdlib.h>

/* ---- scope ---- */

/* An unknown type is an error: a client that misspells one would otherwise wait for events that never come. */
static struct rc read_types(struct str types, uint64_t *ret_kinds, struct err *err)
{
    while (types.n) {
        struct str name = str_cut(types, ',', &types);
        enum event_kind kind = event_kind_parse(name);
        if (kind == EVENT_NONE)
            return err_set(err, ERR_INVALID, "types= has an unknown type");
        *ret_kinds |= (uint64_t)1 << kind;
    }
    return RC_OK;
}

static struct rc read_form(struct exchange *x, enum form *ret_form, struct err *err)
{
    struct str format = STR_NONE;
    TRY(api_query_text(x, "format", &format, err));
    *ret_form = str_is(format, "message")       ? FORM_SSE_MESSAGE
                : str_is(format, "cloudevents") ? FORM_SSE_CLOUD
                                                : FORM_SSE;
    if (*ret_form == FORM_SSE && !str_empty(format) && !str_is(format, "named"))
        return err_set(err, ERR_INVALID, "format= is named, message or cloudevents");
    if (*ret_form != FORM_SSE && !str_has(http_header(x->http, "accept"), STR("text/event-stream")))
        return err_set(err, ERR_INVALID, "format= is for streams: add Accept: text/event-stream");
    return RC_OK;
}

static struct rc read_scope(struct exchange *x, struct event_scope *scope, struct err *err)
{
    struct str types = STR_NONE;
    uint64_t limit = 200, live = 0;
    struct str last = http_header(x->http, "last-event-id");
    TRY(cursor_query(x, "after", &scope->after, err));
    TRY(api_query_u64(x, "limit", LIMIT_PAGE_EVENTS, &limit, err));
    TRY(api_query_text(x, "session", &scope->session, err));
    TRY(api_query_text(x, "thread", &scope->thread, err));
    TRY(api_query_text(x, "types", &types, err));
    TRY(read_types(types, &scope->kinds, err));
    TRY(api_query_u64(x, "live", 1, &live, err));
    TRY(read_form(x, &scope->form, err));
    scope->live = live == 1;
    scope->limit = limit ? (unsigned)limit : 1;
    if (last.p && !cursor_parse(last, &scope->after))
        return err_set(err, ERR_INVALID, "Last-Event-ID must be a seq");
    return events_complete_scope(x->token, scope, err);
}

/* A thread names its session; a bound token sees its own session only; an agent must name one. */
struct rc events_complete_scope(const struct token *token, struct event_scope *scope, struct err *err)
{
    if (!str_empty(scope->thread)) {
        struct str session = session_of_thread(scope->thread);
        if (str_empty(session) || (!str_empty(scope->session) && !str_eq(session, scope->session)))
            return err_set(err, ERR_NOT_FOUND, "there is no such thread");
        scope->session = session;
    }
    if (str_empty(scope->session))
        scope->session = token->session;
    if (str_empty(scope->session) && !(token->scopes & SCOPE_SEE_ALL))
        return err_set(err, ERR_FORBIDDEN, "an agent sees its own sessions only; add session=");
    return RC_OK;
}

/* ---- pages ---- */

static void page_read(struct read *read)
{
    struct exchange *x = read->arg;
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    if (read->err.code != ERR_OK) {
        exchange_fail(x, &read->err);
        read_free(read);
        return;
    }
    uint64_t next = read->event_count ? read->events[read->event_count - 1].seq : read->after;
    json_open(&out, '{');
    JSON_LIST(&out, "events")
        for (size_t i = 0; i < read->event_count; i++)
            event_write(&out, &read->events[i]);
    cursor_write(&out, next);
    json_close(&out, '}');
    exchange_answer(x, 200, &buf);
    read_free(read);
}

static void read_page(struct exchange *x, const struct event_scope *scope)
{
    struct read *read = read_new_of((struct read){.kind = READ_EVENTS, .session = scope->session,
                                                  .thread = scope->thread, .kinds = scope->kinds,
                                                  .after = scope->after, .limit = scope->limit});
    gate_read(x->gate, read, page_read, x);
}

/* ---- the stream ---- */

/* What a stream follows, one for all readers that ask for the same. */
struct followed {
    struct sse_watched what;
    enum form form;
    unsigned refs;
    struct followed **last; /* where new readers find it; not counted */
    char bytes[];           /* holds session and thread */
};

/* One follower over Server-Sent Events; small, because there may be very many. */
struct follower {
    struct sse sse;
};

static const struct followed *followed_by(const struct sse *sse)
{
    return (const struct followed *)sse->watcher.what;
}

/* Converts the JSON of an event into a CloudEvent. */
static void make_cloud_event(struct buf *json)
{
    ARENA_SCOPE(arena);
    const struct json *event;
    CHECK(rc_ok(json_parse(&arena, arena_str(&arena, buf_str(json)), &event, NULL)));
    buf_clear(json);
    cloud_event_put(json, event);
    json->n -= json->n ? 1 : 0; /* its line's end */
}

/* Written once for all readers that want this form, and shared between them. */
struct shared *form_sse(struct happening *happening, enum form form)
{
    if (happening->forms[form])
        return happening->forms[form];
    const struct event *event = happening->event;
    JSON_SCOPE(json, out, LIMIT_EVENT_BYTES * 3);
    BUF_SCOPE(text, LIMIT_EVENT_BYTES * 3);
    event_write(&out, event);
    if (form == FORM_SSE_CLOUD)
        make_cloud_event(&json);
    buf_puts(&text, "id: ");
    buf_u64(&text, event->seq);
    buf_putc(&text, '\n');
    if (form == FORM_SSE) {
        BUF_ADD(&text, STR("event: "), str_of(event_kind_name(event->kind)), STR("\n"));
    }
    sse_put_data(&text, buf_str(&json));
    happening->forms[form] = shared_new(buf_str(&text));
    return happening->forms[form];
}

/* Called on the loop for each event, in the order of seq. If the token was revoked the stream ends before the event is
 * sent. */
static void tell(struct watcher *watcher, struct happening *happening)
{
    struct sse *sse = watcher->arg;
    if (!sse_revoked(sse))
        (void)http_stream_send(sse->stream, form_sse(happening, followed_by(sse)->form));
}

/* Whether the reader is slow: it then gets stored pages instead of live events, which may fill half of its queue only.
 * */
static bool lags(const struct watcher *watcher)
{
    const struct sse *sse = watcher->arg;
    return http_stream_queued(sse->stream) > LIMIT_STREAM_QUEUE_BYTES / 2;
}

/* Text that is still being said: it has no seq, and a reader that lags behind misses nothing by missing it. */
static void hear(struct watcher *watcher, struct str json)
{
    struct sse *sse = watcher->arg;
    ARENA_SCOPE(scratch);
    if (!sse->token->revoked_ms && http_stream_queued(sse->stream) <= LIMIT_STREAM_QUEUE_BYTES / 4)
        sse_send(sse, arena_printf(&scratch, "event: live\ndata: %.*s\n\n", STR_ARG(json)));
}

/* A comment: every reader of streams knows to pass over it. */
static void away(struct watcher *watcher, bool is_away)
{
    sse_send(watcher->arg, is_away ? STR(": the store is away\n\n") : STR(": the store is back\n\n"));
}

/* Ends the stream with an error: events that it sent are no longer in the store. */
static void broken(struct watcher *watcher, const struct err *err)
{
    struct sse *sse = watcher->arg;
    JSON_SCOPE(text, out, LIMIT_ANSWER_BYTES);
    buf_puts(&text, "event: error\ndata: ");
    json_object(&out, J("code", err_wire(err->code)), J("message", err->text));
    buf_puts(&text, "\n\n");
    sse_send(sse, buf_str(&text));
    http_stream_end(sse->stream);
}

static bool follows(const struct followed *followed, const struct event_scope *scope)
{
    const struct watched *what = &followed->what.watched;
    return str_eq(what->session, scope->session) && str_eq(what->thread, scope->thread) &&
           what->kinds == scope->kinds && (what->hear != NULL) == scope->live && followed->form == scope->form;
}

static void followed_drop(struct followed *followed)
{
    CHECK(followed->refs > 0);
    if (--followed->refs > 0)
        return;
    if (*followed->last == followed)
        *followed->last = NULL;
    free(followed);
}

static void follower_free(struct sse *sse)
{
    followed_drop((struct followed *)(uintptr_t)sse->watcher.what);
    small_free(sse, sizeof(struct follower));
}

/* Owns copies of the scope's texts: it lives longer than the request. Readers that come after each other and want the
 * same share one. */
static struct followed *followed_get(struct api *api, const struct event_scope *scope)
{
    if (api->followed && follows(api->followed, scope)) {
        api->followed->refs++;
        return api->followed;
    }
    struct followed *followed = heap_new(sizeof *followed + scope->session.n + scope->thread.n);
    if (scope->session.n)
        memcpy(followed->bytes, scope->session.p, scope->session.n);
    if (scope->thread.n)
        memcpy(followed->bytes + scope->session.n, scope->thread.p, scope->thread.n);
    followed->what.free = follower_free;
    followed->what.watched = (struct watched){
        .session = {followed->bytes, scope->session.n},
        .thread = {followed->bytes + scope->session.n, scope->thread.n},
        .kinds = scope->kinds,
        .tell = tell,
        .hear = scope->live ? hear : NULL,
        .lags = lags,
        .away = away,
        .broken = broken,
        .caught_up = sse_caught_up,
    };
    followed->form = scope->form;
    followed->refs = 1;
    followed->last = &api->followed;
    api->followed = followed;
    return followed;
}

static struct follower *follower_new(struct api *api, const struct event_scope *scope)
{
    struct follower *follower = small_new(sizeof *follower);
    follower->sse.watcher.what = &followed_get(api, scope)->what.watched;
    follower->sse.watcher.after = scope->after;
    return follower;
}

/* ---- the route ---- */

/* Refuses a position after the last event of the store: its reader would miss the events that get those numbers. */
struct rc events_scope_known(const struct gate *gate, const struct event_scope *scope, struct err *err)
{
    uint64_t last_seq = gate_figures(gate).last_seq;
    if (scope->after <= last_seq)
        return RC_OK;
    return err_set(err, ERR_GONE, "the log ends at event %llu: it was restored from a backup, or is another log than "
                   "the one you followed; read it again from the start", (unsigned long long)last_seq);
}

static void stream_if_known(struct exchange *x)
{
    struct err err;
    EXCHANGE_TRY(x, events_scope_known(x->gate, x->state, &err));
    sse_start(x, &follower_new(x->api, x->state)->sse);
}

static void caught_up_with_nodes(struct op *op)
{
    struct exchange *x = op->owner;
    if (op->err)
        exchange_fail(x, op->err);
    else
        stream_if_known(x);
}

/* A stream that begins after this node's newest event may have seen it at another node, so this node reads what the
 * others have stored before it refuses. */
static void serve_scope(struct exchange *x)
{
    struct event_scope *scope = x->state;
    bool streams = str_has(http_header(x->http, "accept"), STR("text/event-stream"));
    if (streams && rc_bad(events_scope_known(x->gate, scope, NULL)) && gate_is_shared(x->gate)) {
        struct op *op = arena_new(x->arena, struct op);
        *op = gate_op(x->arena, caught_up_with_nodes, x);
        gate_catch_up(x->gate, op);
    } else if (streams)
        stream_if_known(x);
    else
        read_page(x, scope);
}

static void scope_found(struct exchange *x, const struct session *session)
{
    struct event_scope *scope = x->state;
    if (!str_empty(scope->thread) && !session_thread_find(session, scope->thread))
        exchange_error(x, ERR_NOT_FOUND, "there is no such thread");
    else
        serve_scope(x);
}

void api_events_read(struct exchange *x)
{
    struct event_scope *scope = arena_new(x->arena, struct event_scope);
    struct err err;
    x->state = scope;
    EXCHANGE_TRY(x, read_scope(x, scope, &err));
    if (!str_empty(scope->session))
        exchange_with_session(x, scope->session, scope_found);
    else
        serve_scope(x);
}
