/* A session as the terminal's socket tells it: a pure function of its events.
 *
 * A view follows the session from its first event. Messages that the client has already (view->has) are counted and
 * not sent. Requests of the past are held back until everything before now is read, so that only those are told which
 * still wait; from then on each is told as it comes.
 * A request's id is a UUID made of the session's and the call's, so it is the same whenever and wherever it is told.
 */
#include "api/terminal.h"

#include "base/digest.h"
#include "base/list.h"
#include "event/shapes.h"

#include <stdio.h>

/* ---- calls ---- */

static void asked_free(struct terminal_ask *asked) { arena_free(asked); }

static void forget_call(struct view *view, struct str call) { asked_free(map_take(&view->calls, call)); }

struct uuid {
    char text[UUID_BYTES];
};

/* UUIDv8 (RFC 9562, vendor-specific), from a digest of session and call. */
static struct uuid request_id(struct str session, struct str call)
{
    char hex[DIGEST_HEX_BYTES];
    const struct str pieces[] = {session, call};
    struct digest digest = digest_of_pieces(pieces, sizeof pieces / sizeof *pieces);
    struct uuid uuid;
    digest_hex(&digest, hex);
    hex[12] = '8';
    hex[16] = "89ab"[(unsigned char)hex[16] % 4];
    int n = snprintf(uuid.text, sizeof uuid.text, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16,
                     hex + 20);
    CHECK(n == UUID_BYTES - 1);
    return uuid;
}

struct terminal_ask *terminal_view_find_asked(struct terminal *terminal, struct str request, struct view **ret_view,
                              struct str *ret_call)
{
    for (struct view *view = terminal->views; view; view = view->next) {
        MAP_EACH(&view->calls, each) {
            if (!str_is(request, request_id(view->session, each.key).text))
                continue;
            *ret_call = each.key;
            *ret_view = view;
            return each.value;
        }
    }
    return NULL;
}

/* The id of a use of a tool. A call that was asked about again because its files had changed has ".again" behind the
 * id of the first. */
static struct str use_id(struct str call)
{
    while (str_ends(call, STR(".again")))
        call = str_sub(call, 0, call.n - 6);
    return call;
}

/* ---- messages ---- */

static bool told_before(const struct view *view)
{
    const struct cursor *has = &view->has, *at = &view->at;
    return at->seq < has->seq || (at->seq == has->seq && at->part <= has->part);
}

/* Writes the position of a message, for clients that asked for it. */
static void write_place(struct json_out *out, const struct view *view)
{
    char cursor[48];
    if (!view->tagged)
        return;
    int n = snprintf(cursor, sizeof cursor, "%llu.%llu", (unsigned long long)view->at.seq,
                     (unsigned long long)view->at.part);
    CHECK(n > 0 && (size_t)n < sizeof cursor);
    json_members(out, J("session_id", view->session), J("cursor", cursor));
}

/* Closes the message and sends it, unless it is to be passed over. */
static void send_message(struct view *view, struct json_out *out, const struct buf *buf)
{
    json_close(out, '}');
    if (!str_empty(view->quiet) || told_before(view))
        return;
    terminal_send(view->terminal, buf);
}

/* Every message of an event begins with this: it is counted, sent or not. */
static void open_message(struct view *view, struct json_out *out, const char *type)
{
    view->at.part++;
    json_open(out, '{');
    json_member(out, "type", str_of(type));
}

static void open_content(struct view *view, struct json_out *out, const char *type, const char *subtype)
{
    open_message(view, out, type);
    json_member(out, "subtype", str_of(subtype));
    json_open_member(out, "content", '{');
}

static void send_content(struct view *view, struct json_out *out, const struct buf *buf)
{
    json_close(out, '}');
    write_place(out, view);
    send_message(view, out, buf);
}

static void send_end(struct view *view, const char *subtype, struct str words)
{
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    open_content(view, &out, "result", subtype);
    json_member(&out, "message", words);
    send_content(view, &out, &buf);
}

static void send_block(struct view *view, const struct json *block)
{
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    struct str type = json_text(block, "type");
    const struct json *input = json_get(block, "input");
    if (str_is(type, "text")) {
        open_content(view, &out, "assistant", "text");
        json_member(&out, "text", json_text(block, "text"));
    } else if (str_is(type, "tool_use")) {
        open_content(view, &out, "assistant", "tool_use");
        json_members(&out, J("id", json_text(block, "id")), J("name", json_text(block, "name")),
                     J_RAW("input", input ? input->raw : STR("{}")));
    } else {
        return;
    }
    send_content(view, &out, &buf);
}

static void send_result(struct view *view, struct str call, struct str text, bool is_error)
{
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    open_content(view, &out, "user", "tool_result");
    json_members(&out, J("tool_use_id", use_id(call)), J_ALWAYS("content", text), J_BOOL("is_error", is_error));
    send_content(view, &out, &buf);
}

/* ---- requests ---- */

/* A member that is kept as it came, as a value; NULL when there is none. */
static const struct json *value_of(struct arena *arena, struct str raw)
{
    const struct json *value = NULL;
    return str_empty(raw) || rc_bad(json_parse(arena, raw, &value, NULL)) ? NULL : value;
}

static void put_member(struct json_out *out, const struct json *object, const char *key)
{
    json_key(out, key);
    json_put_raw(out, json_raw(object, key, STR("null")));
}

/* All that the preview says, except the texts, which have members of their own beside it. */
static void write_preview_data(struct json_out *out, const struct json *preview)
{
    static const char *const beside[] = {"type", "unified", "marks", "original_content", "new_content"};
    json_open_member(out, "preview_data", '{');
    for (const struct json *member = preview ? preview->first : NULL; member; member = member->next) {
        bool skip = false;
        for (size_t i = 0; i < sizeof beside / sizeof *beside; i++)
            skip = skip || str_is(member->key, beside[i]);
        if (!skip)
            json_put_member(out, member);
    }
    json_close(out, '}');
}

static void write_diff_lines(struct json_out *out, const struct json *preview)
{
    const struct json *lines = json_get(preview, "unified");
    JSON_LIST(out, "diff_lines")
        for (const struct json *line = lines ? lines->first : NULL; line; line = line->next)
            if (!str_starts(line->text, STR("\\ ")))
                json_put_raw(out, line->raw);
    if (lines)
        json_member_bool(out, "diff_cut", json_bool(preview, "cut", false));
}

/* Calls of sub-agents are shown with the agent's name; those of the main thread are the agent's own. */
static void write_request(struct json_out *out, const struct view *view, const struct terminal_ask *asked)
{
    ARENA_SCOPE(scratch);
    const struct event *event = &asked->request;
    struct data_tool_call call = {0};
    struct data_tool_approval_request request = {0};
    (void)READ_DATA(&scratch, tool_call, asked->data, &call);
    (void)READ_DATA(&scratch, tool_approval_request, event->data, &request);
    const struct json *preview = value_of(&scratch, request.preview);
    struct str type = json_text(preview, "type");
    json_members(out, J("request_id", request_id(view->session, event->call).text), J("tool_name", call.name),
                 J_RAW("tool_input", str_empty(call.input) ? STR("{}") : call.input),
                 J("tool_use_id", use_id(event->call)), J("preview_type", type.n ? type : STR("generic")));
    write_preview_data(out, preview);
    put_member(out, preview, "file_path");
    put_member(out, preview, "original_content");
    put_member(out, preview, "new_content");
    write_diff_lines(out, preview);
    if (!str_eq(event->thread, view->thread))
        json_member(out, "agent", event->actor);
}

/* `again`: the call is sent even if the client has it already, because it still waits. */
static void send_request(struct view *view, const struct terminal_ask *asked, bool again)
{
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    open_message(view, &out, "tool_approval_request");
    write_request(&out, view, asked);
    json_members(&out, J("status", "PENDING"), J_NULL("user_feedback"));
    if (view->tagged)
        write_place(&out, view);
    else
        json_member(&out, "session_id", view->session);
    if (again) {
        json_close(&out, '}');
        terminal_send(view->terminal, &buf);
        return;
    }
    send_message(view, &out, &buf);
}

/* Sends the calls that are still open, in the order in which they were asked. */
static void send_held(struct view *view)
{
    uint64_t after = 0;
    for (;;) {
        const struct terminal_ask *first = NULL;
        MAP_EACH(&view->calls, each) {
            const struct terminal_ask *asked = each.value;
            if (asked->request.kind != EVENT_NONE && asked->request.seq > after &&
                (!first || asked->request.seq < first->request.seq))
                first = asked;
        }
        if (!first)
            return;
        after = first->request.seq;
        view->at = (struct cursor){after, 0};
        send_request(view, first, true);
    }
}

/* The status in the message; NULL: the end of the run tells it instead. */
static const char *status_of(enum decision decision)
{
    switch (decision) {
    case DECISION_ALLOW_ONCE:
    case DECISION_ALLOW_SESSION:
    case DECISION_ALLOW_ALWAYS:
        return "APPROVED";
    case DECISION_DENY:
    case DECISION_ABORT:
        return "REJECTED";
    case DECISION_TIMEOUT:
        return "TIMEOUT";
    case DECISION_NONE:
    case DECISION_CANCELLED:
    case DECISION_COUNT:
        break;
    }
    return NULL;
}

static void write_status(struct view *view, struct json_out *out, struct str call, enum decision decision,
                         struct str feedback)
{
    open_message(view, out, "tool_approval_status");
    json_members(out, J("request_id", request_id(view->session, call).text), J("tool_use_id", use_id(call)),
                 J("status", status_of(decision)));
    json_key(out, "user_feedback");
    if (feedback.n)
        json_put_str(out, feedback);
    else
        json_put_null(out);
    write_place(out, view);
}

void terminal_view_send_status(struct view *view, struct str call, enum decision decision, struct str feedback)
{
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    if (!status_of(decision))
        return;
    write_status(view, &out, call, decision, feedback);
    send_message(view, &out, &buf);
}

/* ---- events ---- */

static void on_user_message(struct view *view, const struct event *event, struct arena *scratch)
{
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    struct data_user_message data;
    if (!view->tagged || !str_eq(event->thread, view->thread))
        return; /* a client with a single view sent the message itself */
    if (!READ_DATA(scratch, user_message, event->data, &data))
        return;
    open_content(view, &out, "user", "text");
    json_member(&out, "text", data.text);
    send_content(view, &out, &buf);
}

static void on_agent_message(struct view *view, const struct event *event, struct arena *scratch)
{
    struct data_agent_message data;
    if (!str_eq(event->thread, view->thread) || !READ_DATA(scratch, agent_message, event->data, &data))
        return; /* a sub-agent speaks to the agent */
    const struct json *content = value_of(scratch, data.content);
    for (const struct json *block = content && content->type == JSON_ARRAY ? content->first : NULL; block;
         block = block->next)
        send_block(view, block);
}

/* A call that is denied by a rule has no request and no response; its result is told at once. */
static void on_call(struct view *view, const struct event *event, struct arena *scratch)
{
    struct data_tool_call data;
    if (!READ_DATA(scratch, tool_call, event->data, &data))
        return;
    if (data.verdict && str_is(data.verdict->effect, "deny")) {
        send_result(view, event->call, data.verdict->why, true);
        return;
    }
    struct terminal_ask *asked = heap_new(sizeof *asked);
    asked->data = arena_str(&asked->arena, event->data);
    asked_free(map_put(&view->calls, event->call, asked));
}

/* Requests of the past wait in `calls` until catch_up, which tells only those that are still open. */
static void on_request(struct view *view, const struct event *event, struct arena *scratch)
{
    struct terminal_ask *asked = map_get(&view->calls, event->call);
    (void)scratch;
    if (!asked)
        return;
    asked->request = event_copy(&asked->arena, event);
    if (view->caught_up)
        send_request(view, asked, false);
}

/* The client that answered is told nothing of its own answer. A denial is also told as the result of the call,
 * because the protocol has no other end of it. */
static void on_response(struct view *view, const struct event *event, struct arena *scratch)
{
    struct data_tool_approval_response data;
    if (!READ_DATA(scratch, tool_approval_response, event->data, &data))
        return;
    enum decision decision = data.decision;
    struct str feedback = data.feedback;
    const struct terminal_ask *asked = map_get(&view->calls, event->call);
    if (asked && !asked->answered && view->caught_up)
        terminal_view_send_status(view, event->call, decision, feedback);
    if (decision == DECISION_TIMEOUT)
        send_result(view, event->call, STR("Nobody answered in time; it was not run"), true);
    if (decision == DECISION_DENY || decision == DECISION_ABORT)
        send_result(view, event->call,
                    feedback.n ? arena_printf(scratch, "User rejected: %.*s", STR_ARG(feedback))
                               : STR("User rejected this tool call"),
                    true);
    forget_call(view, event->call);
}

static void on_result(struct view *view, const struct event *event, struct arena *scratch)
{
    struct data_tool_result data;
    forget_call(view, event->call);
    if (!READ_DATA(scratch, tool_result, event->data, &data) || !str_empty(data.superseded_by))
        return;
    const struct json *content = value_of(scratch, data.content);
    struct str text = content && content->type == JSON_STRING ? content->text : STR_NONE;
    send_result(view, event->call, text, data.is_error);
}

static void on_status(struct view *view, const struct event *event, struct arena *scratch)
{
    struct data_run_status data;
    if (!str_eq(event->thread, view->thread) || !READ_DATA(scratch, run_status, event->data, &data))
        return;
    if (view->quiet.n && str_eq(data.run, view->quiet))
        view->quiet = STR_NONE;
    enum run_status now = run_status_parse(data.status);
    view->over = run_status_over(now);
    (void)snprintf(view->status, sizeof view->status, "%.*s", STR_ARG(data.status));
    if (now == RUN_COMPLETED)
        send_end(view, "success", STR("Conversation complete"));
    else if (now == RUN_CANCELLED)
        send_end(view, "cancelled", STR("Cancelled"));
    else if (view->over)
        send_end(view, "error", data.reason.n ? data.reason : data.status);
}

static const struct {
    enum event_kind kind;
    void (*take)(struct view *view, const struct event *event, struct arena *scratch);
} takers[] = {
    {EVENT_USER_MESSAGE, on_user_message}, {EVENT_AGENT_MESSAGE, on_agent_message}, {EVENT_TOOL_CALL, on_call},
    {EVENT_TOOL_APPROVAL_REQUEST, on_request}, {EVENT_TOOL_APPROVAL_RESPONSE, on_response},
    {EVENT_TOOL_RESULT, on_result}, {EVENT_RUN_STATUS, on_status},
};

/* ---- following ---- */

/* {"type":"caught_up","session_id","cursor","run_status"}, after the requests that still wait. */
static void catch_up(struct view *view)
{
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    struct cursor at = view->at;
    if (view->caught_up)
        return;
    view->caught_up = true;
    send_held(view);
    view->at = at;
    if (!view->attached)
        return;
    json_open(&out, '{');
    json_member(&out, "type", STR("caught_up"));
    write_place(&out, view);
    json_member(&out, "run_status", str_of(view->status));
    json_close(&out, '}');
    terminal_send(view->terminal, &buf);
}

/* On the loop, in the order of seq, from the session's first event on. */
static void tell(struct watcher *watcher, struct happening *happening)
{
    ARENA_SCOPE(scratch);
    struct view *view = watcher->arg;
    struct terminal *terminal = view->terminal;
    const struct event *event = happening->event;
    if (terminal->token->revoked_ms && terminal->socket) {
        http_socket_end(terminal->socket, 1008, "this token was revoked");
        return;
    }
    if (watcher->live)
        catch_up(view);
    view->at = (struct cursor){.seq = event->seq};
    for (size_t i = 0; i < sizeof takers / sizeof *takers; i++)
        if (takers[i].kind == event->kind)
            takers[i].take(view, event, &scratch);
}

/* Called when the socket's queue is empty and when a page was told: stored events are read as fast as the client
 * takes them. */
void terminal_view_go_on(struct view *view)
{
    struct http_socket *socket = view->terminal->socket;
    if (!view->watching || !socket)
        return;
    if (view->watcher.failed)
        http_socket_end(socket, 1011, "the store cannot be read");
    else if (view->watcher.live)
        catch_up(view);
    else if (http_socket_queued(socket) == 0)
        gate_watch_more(&view->watcher);
}

static void page_told(struct watcher *watcher) { terminal_view_go_on(watcher->arg); }

void terminal_view_watch(struct view *view)
{
    if (view->watching)
        return;
    view->what = (struct watched){.session = view->session, .tell = tell, .caught_up = page_told};
    view->watcher = (struct watcher){.what = &view->what, .arg = view};
    for (size_t i = 0; i < sizeof takers / sizeof *takers; i++)
        view->what.kinds |= (uint64_t)1 << takers[i].kind;
    view->watching = true;
    gate_watch(view->terminal->api->gate, &view->watcher);
}

/* ---- views ---- */

struct view *terminal_view_find(const struct terminal *terminal, struct str session)
{
    struct view *view = terminal->views;
    while (view && !str_eq(view->session, session))
        view = view->next;
    return view;
}

static void unlink_view(struct view *view)
{
    LIST_REMOVE(view->terminal->views, view);
}

void terminal_view_to_front(struct view *view)
{
    unlink_view(view);
    view->next = view->terminal->views;
    view->terminal->views = view;
}

/* After gate_unwatch no callback of the watcher comes any more. */
void terminal_view_free(struct view *view)
{
    unlink_view(view);
    if (view->watching)
        gate_unwatch(&view->watcher);
    MAP_EACH(&view->calls, each)
        asked_free(each.value);
    map_done(&view->calls);
    arena_free(view);
}

/* Removes the oldest view whose run is over. */
static bool make_room(struct terminal *terminal)
{
    struct view *oldest = NULL;
    unsigned count = 0;
    for (struct view *view = terminal->views; view; view = view->next) {
        count++;
        if (view->over)
            oldest = view;
    }
    if (count >= VIEWS_MAX && oldest)
        terminal_view_free(oldest);
    return count < VIEWS_MAX || oldest;
}

struct view *terminal_view_new(struct terminal *terminal, struct str session, struct str thread)
{
    if (!make_room(terminal))
        return NULL;
    struct view *view = heap_new(sizeof *view);
    view->terminal = terminal;
    view->session = arena_str(&view->arena, session);
    view->thread = arena_str(&view->arena, thread);
    view->next = terminal->views;
    terminal->views = view;
    return view;
}
