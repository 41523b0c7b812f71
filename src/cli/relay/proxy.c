/* nod mcp proxy: in front of an MCP server, for any MCP client.
 *
 * Messages pass as their bytes, but for these:
 * 1. tools/call waits until the gate allows it, and is written anew only when a person has edited its arguments.
 *    A call that is not allowed is answered by us, as a result that the model reads. A message of the client that
 *    cannot be read is refused, since the server might read it.
 * 2. A tool may be called only while its definition is the one that is pinned; another is asked about first.
 * 3. sampling/createMessage, with which a server uses the client's model, waits in the same way.
 * 4. elicitation/create, a form of the server, is a question to a person if the client shows no forms.
 * 5. notifications/cancelled of a call that waits takes its question back, and the server never hears of the call.
 * 6. Since 2026 a server that wants something of the client first answers the call with "input_required", and the
 *    client calls again with what it wanted: the call that was allowed covers the next one of the same arguments, once.
 *    A server that wants the client's model in this way waits as in 3.
 */
#include "cli/relay/proxy.h"

#include "agents/agents.h"
#include "agents/forms.h"
#include "agents/rpc.h"
#include "base/id.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/lock.h"

#include <strings.h>
#include <unistd.h>

enum {
    RPC_UNREADABLE = -32700,
    RPC_BAD_REQUEST = -32600,
    RPC_SERVER_GONE = -32603,
    RPC_SAMPLING_REFUSED = -1,
    FORWARDED_MAX = 1024,
    DROPPED_MAX = 1000,
};

#define SAMPLING "sampling" /* the tool's name under which a server's use of the client's model is judged */

/* A call from its arrival to its answer. The list and its thread hold it, each while they need it. */
struct proxy_held {
    struct proxy *proxy;
    struct proxy_held *next;
    struct arena arena;
    struct mcp_message message;
    struct str line;        /* the raw line */
    struct str call;        /* the gate's id of it */
    struct str name;        /* name of the tool on its server */
    atomic_bool cancelled;
    unsigned users, times;
    bool samples;           /* a request of the server, for the client's model or for a form */
    bool form;
    bool round;             /* an answer of the server that wants the client's model before it goes on */
    bool forwarded;
    bool edited;            /* passed on with other arguments than the client's */
    bool goes_on;           /* answered with "input_required": the next call of the same may go on with it */
    struct str state;       /* JSON that the next call must send back */
    bool covered;           /* goes on with one that was allowed */
};

/* ---- the list ---- */

/* With the lock held. */
static void release(struct proxy_held *held)
{
    CHECK(held->users);
    if (--held->users)
        return;
    arena_free(held);
}

/* Takes it out of the list, if it is there. With the lock held. */
static void unlist(struct proxy_held *held)
{
    struct proxy *proxy = held->proxy;
    for (struct proxy_held **link = &proxy->first; *link; link = &(*link)->next) {
        if (*link != held)
            continue;
        *link = held->next;
        proxy->held_count -= held->forwarded ? 0 : 1;
        release(held);
        return;
    }
}

static struct proxy_held *find(struct proxy *proxy, struct str id, bool samples)
{
    return LIST_FIND(proxy->first, held, held->samples == samples && !held->goes_on && str_eq(held->message.id, id));
}

/* The allowed call of which this one is the next round: same tool, same arguments, and the state that the server
 * gave. NULL: there is none. With the lock held. */
static struct proxy_held *find_begun(struct proxy *proxy, const struct proxy_held *next)
{
    const struct json *params = next->message.params;
    struct str arguments = json_raw(params, "arguments", STR_NONE), state = json_raw(params, "requestState", STR_NONE);
    if (next->samples || (!json_get(params, "inputResponses") && str_empty(state)))
        return NULL;
    for (struct proxy_held *held = proxy->first; held; held = held->next)
        if (held->goes_on && !held->edited && str_eq(held->name, next->name) && json_same_tokens(held->state, state) &&
            json_same_tokens(json_raw(held->message.params, "arguments", STR_NONE), arguments))
            return held;
    return NULL;
}

/* Forwarded calls that were never answered do not pile up. With the lock held. */
static void forget_oldest(struct proxy *proxy)
{
    struct proxy_held *oldest = NULL;
    unsigned count = 0;
    for (struct proxy_held *held = proxy->first; held; held = held->next) {
        if (!held->forwarded)
            continue;
        oldest = held;
        count++;
    }
    if (count > FORWARDED_MAX)
        unlist(oldest);
}

/* ---- answers of our own ---- */

/* To the client, or to the server whose request it was. */
static void answer(struct proxy_held *held, const struct buf *line)
{
    struct proxy *proxy = held->proxy;
    struct str bytes = buf_str(line);
    if (line->over || !line->n)
        return;
    if (held->samples && !held->round)
        (void)proxy->back->send(proxy, str_sub(bytes, 0, bytes.n - 1));
    else
        (void)relay_pipe_send(&proxy->client, line);
}

static void refuse(struct proxy_held *held, struct str words)
{
    BUF_SCOPE(line, PROXY_LINE_BYTES);
    if (held->samples && !held->round)
        rpc_error(&line, held->message.id, RPC_SAMPLING_REFUSED, words);
    else
        mcp_refuse(&line, &held->message, words);
    answer(held, &line);
}

static void refuse_message(struct proxy *proxy, struct str id, int code, const char *words)
{
    BUF_SCOPE(line, LIMIT_BODY_BYTES);
    rpc_error(&line, id, code, str_of(words));
    (void)relay_pipe_send(&proxy->client, &line);
}

static void sign_of_life(void *arg)
{
    struct proxy_held *held = arg;
    BUF_SCOPE(line, LIMIT_BODY_BYTES);
    if (str_empty(held->message.progress) || held->samples)
        return;
    mcp_progress(&line, &held->message, ++held->times);
    (void)relay_pipe_send(&held->proxy->client, &line);
}

/* ---- the gate ---- */

static struct relay_ask asking(struct proxy_held *held)
{
    return (struct relay_ask){.gate = &held->proxy->gate, .arena = &held->arena, .cancelled = &held->cancelled,
                              .waits = sign_of_life, .arg = held};
}

/* Makes sure that the tool's definition is the pinned one; asks a person about a changed one. */
static struct rc agree(struct proxy_held *held, const struct proxy_tool *tool, struct err *err)
{
    struct proxy *proxy = held->proxy;
    struct relay_ask asked = asking(held);
    JSON_SCOPE(body, out, LIMIT_LARGE_BODY_BYTES);
    if (tool->agreed)
        return RC_OK;
    asked.route = "tool-definitions";
    asked.id = arena_str(&held->arena, str_of(id_new("call").text));
    json_object(&out, J("id", asked.id), J("server", proxy->name), J("source", proxy->source),
                J_RAW("definition", tool->definition));
    asked.body = buf_str(&body);
    if (body.over)
        return err_set(err, ERR_TOO_LARGE, "the definition is too large to be shown to anybody");
    TRY(relay_ask(&asked, err));
    if (asked.call.status != CALL_ALLOWED)
        return err_set(err, ERR_FORBIDDEN, "the server %.*s changed what this tool says of itself, and a person did "
                                           "not agree: %.*s", STR_ARG(proxy->name),
                       STR_ARG(agent_words(&held->arena, &asked.call)));
    proxy_tool_agreed(proxy, tool);
    return RC_OK;
}

/* Fails when the server does not offer the tool, or its definition has changed and nobody has agreed to that. */
static struct rc know_tool(struct proxy_held *held, struct err *err)
{
    struct proxy_tool tool = {0};
    TRY(proxy_tool(held->proxy, &held->arena, held->name, &tool, err));
    return agree(held, &tool, err);
}

/* The server may have changed its tool while the call waited for its answer. */
static struct rc know_again(struct proxy_held *held, const struct call *call, struct err *err)
{
    if (held->samples || call->status != CALL_ALLOWED)
        return RC_OK;
    struct rc rc = know_tool(held, err);
    if (rc_bad(rc))
        relay_report(&held->proxy->gate, held->call, STR("\"not passed on: the tool is another one by now\""), true);
    return rc;
}

/* Returns the server's requests to the client (sampling, elicitation), NULL if there are none. They stand in a
 * result, in the result of a task, or in the params of a notification about a task. */
static const struct json *wanted_of(const struct json *said)
{
    const struct json *wanted = json_get(said, "inputRequests");
    return wanted ? wanted : json_get(json_get(said, "result"), "inputRequests");
}

static struct rc judge(struct proxy_held *held, struct call *ret_call, struct err *err)
{
    struct proxy *proxy = held->proxy;
    struct relay_ask asked = asking(held);
    JSON_SCOPE(form, out, LIMIT_LARGE_BODY_BYTES);
    const struct json *input = held->samples ? held->message.params : held->message.arguments, *answer = NULL;
    struct relay_question question = {.id = held->call, .cwd = proxy->gate.cwd, .by_default = STR("ask"),
                                      .source = held->samples ? STR_NONE : proxy->source};
    TRY(relay_gate_session(&proxy->gate, err));
    if (!held->samples)
        TRY(know_tool(held, err));
    if (held->covered)
        return RC_OK;
    if (held->round && rc_ok(json_parse(&held->arena, held->line, &answer, NULL)))
        input = wanted_of(json_get(answer, "result"));
    if (held->form) {
        form_put(&out, proxy->name, held->message.params);
        question.name = STR("Elicitation");
        question.input = buf_str(&form);
    } else {
        question.name = arena_printf(&held->arena, "mcp__%.*s__%.*s", STR_ARG(proxy->name), STR_ARG(held->name));
        question.input = input ? input->raw : STR("{}");
    }
    TRY(relay_ask_about(&asked, &question, err));
    *ret_call = asked.call;
    return know_again(held, ret_call, err);
}

/* Writes the message with other arguments; unknown members stay. */
static void put_edited(struct buf *buf, const struct json *message, struct str arguments)
{
    struct json_out out = json_out(buf);
    json_open(&out, '{');
    for (const struct json *m = message->first; m; m = m->next) {
        if (!str_is(m->key, "params")) {
            json_put_member(&out, m);
            continue;
        }
        json_open_member(&out, "params", '{');
        json_put_members(&out, m, "arguments");
        json_member_raw(&out, "arguments", arguments);
        json_close(&out, '}');
    }
    json_close(&out, '}');
    json_end_line(&out);
}

static void forward(struct proxy_held *held, struct str edited)
{
    struct proxy *proxy = held->proxy;
    const struct json *message;
    struct str line = held->line;
    BUF_SCOPE(buf, PROXY_LINE_BYTES * 2);
    if (!str_empty(edited) && rc_ok(json_parse(&held->arena, held->line, &message, NULL))) {
        put_edited(&buf, message, edited);
        line = buf.over ? STR_NONE : str_sub(buf_str(&buf), 0, buf.n - 1);
    }
    lock_take(&proxy->lock);
    bool passes = !atomic_load(&held->cancelled) && !str_empty(line);
    if (passes && !held->round) {
        held->forwarded = true;
        held->edited = !str_empty(edited);
        proxy->held_count--;
    }
    forget_oldest(proxy);
    lock_drop(&proxy->lock);
    if (!passes)
        relay_report(&proxy->gate, held->call, STR("\"taken back before it was passed on\""), true);
    else if (held->samples)
        (void)relay_pipe_put(&proxy->client, line);
    else if (!proxy->back->send(proxy, line))
        refuse(held, STR("The MCP server is gone; whether the call took effect is not known."));
}

static void answer_form(struct proxy_held *held, const struct call *call)
{
    BUF_SCOPE(line, PROXY_LINE_BYTES);
    if (form_answer(&line, held->message.id, held->message.params, call))
        relay_report(&held->proxy->gate, held->call, STR("\"the server has the answers\""), false);
    answer(held, &line);
}

/* The call of several rounds, of which this is one, was allowed and ends without a result. */
static void end_call(struct proxy_held *held)
{
    struct proxy *proxy = held->proxy;
    struct str call = held->covered ? held->call : STR_NONE;
    lock_take(&proxy->lock);
    for (struct proxy_held *begun = proxy->first; begun && str_empty(call); begun = begun->next) {
        if (!begun->goes_on || !str_eq(begun->message.id, held->message.id))
            continue;
        call = arena_str(&held->arena, begun->call);
        unlist(begun);
        break;
    }
    lock_drop(&proxy->lock);
    if (!str_empty(call))
        relay_report(&proxy->gate, call, STR("\"it did not go on\""), true);
}

/* Refuses a request for the client's model that a person edited: the relay passes it on unchanged or not at all. */
static struct rc refuse_edited(struct proxy_held *held, const struct call *call, struct err *err)
{
    if (call->status != CALL_ALLOWED || str_empty(call->updated_input))
        return RC_OK;
    relay_report(&held->proxy->gate, held->call, STR("\"not passed on: a person wants it otherwise\""), true);
    return err_set(err, ERR_FORBIDDEN, "a person wants it otherwise: %.*s", STR_ARG(call->updated_input));
}

static void *wait_at_gate(void *arg)
{
    struct proxy_held *held = arg;
    struct proxy *proxy = held->proxy;
    struct err err = {.code = ERR_OK};
    struct call call = {0};
    struct rc rc = judge(held, &call, &err);
    if (rc_ok(rc) && held->samples && !held->form)
        rc = refuse_edited(held, &call, &err);
    bool taken_back = atomic_load(&held->cancelled);
    bool allowed = rc_ok(rc) && (held->covered || (call.status == CALL_ALLOWED && call_allowed(&call)));
    struct str edited = held->samples ? STR_NONE : call.updated_input;
    if (!allowed && (held->round || held->covered))
        end_call(held); /* before the client hears of it and calls again */
    if (held->form && !taken_back)
        answer_form(held, rc_ok(rc) ? &call : NULL);
    else if (allowed && !held->form)
        forward(held, edited);
    else if (!taken_back && rc_ok(rc))
        refuse(held, agent_words(&held->arena, &call));
    else if (!taken_back)
        refuse(held, arena_printf(&held->arena, "Nod did not allow this: %s", err.text));
    if (held->round && allowed)
        relay_report(&proxy->gate, held->call, STR("\"the client was asked\""), false);
    LOCK_SCOPE(&proxy->lock);
    if (!held->forwarded)
        unlist(held);
    release(held);
    return NULL;
}

/* ---- messages that are held ---- */

static const char *trouble_of(struct proxy *proxy, const struct proxy_held *held)
{
    const struct json *arguments = json_get(held->message.params, "arguments");
    if (find(proxy, held->message.id, held->samples))
        return "a request of this id is open already";
    if (proxy->held_count >= PROXY_HELD_MAX)
        return "too many calls wait for an answer already; try again when one of them is answered";
    if (!held->samples && (str_empty(held->name) || (arguments && arguments->type != JSON_OBJECT)))
        return "a call needs the name of a tool, and arguments that are an object";
    if (!held->samples && str_is(held->name, SAMPLING))
        return "rules cannot tell a tool named " SAMPLING " from the server's own requests, so it is not called";
    if (held->name.n + proxy->name.n + sizeof "mcp____" > LIMIT_NAME_BYTES)
        return "the name of the tool is too long";
    return NULL;
}

enum proxy_from { FROM_CLIENT, FROM_SERVER, ROUND_OF_SERVER };

static void hold(struct proxy *proxy, struct str line, enum proxy_from from)
{
    struct proxy_held *held = heap_new(sizeof *held);
    bool samples = from != FROM_CLIENT;
    held->proxy = proxy;
    held->samples = samples;
    held->round = from == ROUND_OF_SERVER;
    held->users = 1;
    held->line = arena_str(&held->arena, line);
    CHECK(rc_ok(mcp_read(&held->arena, held->line, &held->message, NULL))); /* it was read before */
    held->message.modern = held->message.modern || held->round;
    held->form = samples && str_is(held->message.method, "elicitation/create");
    held->name = samples ? STR(SAMPLING) : json_text(held->message.params, "name");
    held->call = arena_str(&held->arena, str_of(id_new("call").text));
    lock_take(&proxy->lock);
    const char *trouble = trouble_of(proxy, held);
    struct proxy_held *begun = trouble ? NULL : find_begun(proxy, held);
    if (begun) {
        held->covered = true;
        held->call = arena_str(&held->arena, begun->call);
        unlist(begun);
    }
    if (!trouble) {
        held->users++;
        held->next = proxy->first;
        proxy->first = held;
        proxy->held_count++;
    }
    lock_drop(&proxy->lock);
    if (!trouble && rc_ok(cli_start_thread(wait_at_gate, held, NULL)))
        return;
    BUF_SCOPE(answer_line, LIMIT_BODY_BYTES);
    rpc_error(&answer_line, held->message.id, RPC_BAD_REQUEST, str_of(trouble ? trouble : "no thread is left"));
    answer(held, &answer_line);
    lock_take(&proxy->lock);
    unlist(held);
    release(held);
    lock_drop(&proxy->lock);
}

/* Cancels a held call. True: the cancellation is not passed on, since the server never got the call. */
static bool cancel(struct proxy *proxy, struct str id)
{
    ARENA_SCOPE(arena);
    struct str call = STR_NONE;
    lock_take(&proxy->lock);
    struct proxy_held *held = find(proxy, id, false);
    bool waits = held && !held->forwarded;
    if (waits) {
        atomic_store(&held->cancelled, true);
        call = arena_str(&arena, held->call);
    }
    bool has_session = !str_empty(proxy->gate.session);
    lock_drop(&proxy->lock);
    if (waits && has_session)
        relay_ask_cancel(&proxy->gate, call);
    return waits;
}

void proxy_take_back(struct proxy *proxy)
{
    LOCK_SCOPE(&proxy->lock);
    for (struct proxy_held *held = proxy->first; held; held = held->next) {
        if (held->forwarded)
            continue;
        atomic_store(&held->cancelled, true);
        if (!str_empty(proxy->gate.session))
            relay_ask_cancel(&proxy->gate, held->call);
    }
}

/* Reports what came of a request that was passed on; `samples`: to the client. */
static void end_forwarded(struct proxy *proxy, struct str id, bool samples, struct str content, bool is_error)
{
    ARENA_SCOPE(arena);
    struct str call = STR_NONE;
    lock_take(&proxy->lock);
    struct proxy_held *held = find(proxy, id, samples);
    if (held && held->forwarded) {
        call = arena_str(&arena, held->call);
        unlist(held);
    }
    lock_drop(&proxy->lock);
    if (!str_empty(call))
        relay_report(&proxy->gate, call, content, is_error);
}

static void end_answered(struct proxy *proxy, struct str id, bool samples, const struct json *answer)
{
    const struct json *result = json_get(answer, "result"), *error = json_get(answer, "error");
    end_forwarded(proxy, id, samples, result ? result->raw : error ? error->raw : STR_NONE,
                  !result || json_bool(result, "isError", false));
}

/* ---- from the client ---- */

static void note_dropped(struct proxy *proxy, const char *who, const char *why)
{
    if (proxy->dropped++ == 0)
        cli_note("nod mcp proxy: %s sent what cannot be read, so it is not passed on: %s", who, why);
    if (proxy->dropped < DROPPED_MAX)
        return;
    cli_note("nod mcp proxy: too many messages cannot be read; the proxy ends");
    _exit(1);
}

/* Refuses a line; the sender of a request learns that it was this one. */
static void refuse_unreadable(struct proxy *proxy, struct arena *arena, struct str line, int code, const char *words)
{
    struct str id;
    bool is_request, known = rpc_peek(arena, line, &id, &is_request) && is_request;
    refuse_message(proxy, known ? id : STR_NONE, code, words);
}

/* The revision 2025-03-26 of MCP has batches; their messages are handled one by one. */
static void split(struct proxy *proxy, const struct json *batch)
{
    for (const struct json *one = batch->first; one; one = one->next)
        if (one->type == JSON_OBJECT)
            proxy_from_client(proxy, one->raw);
        else
            refuse_message(proxy, STR_NONE, RPC_BAD_REQUEST, "this is not a message");
}

/* Notes which revision of the protocol the client speaks: requests of our own to the server use the same. */
static void note_revision(struct proxy *proxy, const struct mcp_message *message)
{
    bool begins = str_is(message->method, "initialize"); /* only clients of older revisions send it */
    LOCK_SCOPE(&proxy->lock);
    proxy->modern = !begins && (proxy->modern || message->modern);
}

void proxy_from_client(void *arg, struct str line)
{
    struct proxy *proxy = arg;
    ARENA_SCOPE(arena);
    struct mcp_message message;
    const struct json *json;
    struct err err = {.code = ERR_OK};
    if (str_empty(str_trim(line)))
        return;
    if (rc_bad(json_parse_given(&arena, line, &json, &err))) {
        note_dropped(proxy, "the client", err.text);
        refuse_unreadable(proxy, &arena, line, RPC_UNREADABLE, err.text);
    } else if (json->type == JSON_ARRAY) {
        split(proxy, json);
    } else if (json->type != JSON_OBJECT || rc_bad(mcp_read(&arena, line, &message, &err))) {
        refuse_unreadable(proxy, &arena, line, RPC_BAD_REQUEST, "this is not a message");
    } else if (str_is(message.method, "tools/call")) {
        note_revision(proxy, &message);
        if (str_empty(message.id))
            note_dropped(proxy, "the client", "a call without an id");
        else
            hold(proxy, line, FROM_CLIENT);
    } else if (str_empty(message.cancels) || !cancel(proxy, message.cancels)) {
        if (str_empty(message.method) && !str_empty(message.id))
            end_answered(proxy, message.id, true, json);
        BUF_SCOPE(offer, PROXY_LINE_BYTES * 2);
        bool begins = str_is(message.method, "initialize");
        bool offers = begins && forms_offer(&offer, json, "capabilities", STR("{}"));
        lock_take(&proxy->lock);
        proxy->shows_forms = begins ? offers : proxy->shows_forms;
        lock_drop(&proxy->lock);
        note_revision(proxy, &message);
        if (!proxy->back->send(proxy, offers ? buf_str(&offer) : line))
            proxy_server_gone(proxy);
        if (str_is(message.method, "notifications/initialized") || str_is(message.method, "tools/list"))
            proxy_list_ask(proxy);
    }
}

/* ---- from the server ---- */

static bool wants_more(const struct json *result) { return str_is(json_text(result, "resultType"), "input_required"); }

/* Whether the members that we look for are spelled exactly. A client that ignores case or escapes could otherwise
 * find requests in the message that we do not see. */
static bool is_spelled(const struct json *said)
{
    static const char *const names[] = {"resultType", "inputRequests", NULL};
    static const char *const method[] = {"method", NULL};
    const struct json *wanted = wanted_of(said);
    bool good = rpc_spelled(said, names) && rpc_spelled(json_get(said, "result"), names);
    for (const struct json *one = wanted ? wanted->first : NULL; one && good; one = one->next)
        good = rpc_spelled(one, method);
    return good;
}

/* Whether the server wants the client's model before it goes on. */
static bool wants_model(const struct json *said)
{
    const struct json *wanted = wanted_of(said);
    return ANY(const struct json *one = wanted ? wanted->first : NULL; one; one = one->next,
               str_is(json_text(one, "method"), "sampling/createMessage"));
}

/* The result of a call that we passed on. One that asks for more input is not the final result. */
static void take_result(struct proxy *proxy, struct str id, const struct json *json)
{
    const struct json *result = json_get(json, "result");
    lock_take(&proxy->lock);
    struct proxy_held *held = wants_more(result) ? find(proxy, id, false) : NULL;
    bool goes_on = held && held->forwarded;
    if (goes_on) {
        held->goes_on = true;
        held->state = arena_str(&held->arena, json_raw(result, "requestState", STR_NONE));
    }
    lock_drop(&proxy->lock);
    if (!goes_on)
        end_answered(proxy, id, false, json);
}

/* Takes a message of the server; true: it was for the proxy and is not passed on to the client. */
static bool take(struct proxy *proxy, const struct json *json)
{
    const struct json *id = json_get(json, "id");
    struct str method = json_text(json, "method");
    if (str_is(method, "notifications/tools/list_changed"))
        proxy_list_ask(proxy);
    lock_take(&proxy->lock);
    bool asks_us = str_is(method, "sampling/createMessage") ||
                   (str_is(method, "elicitation/create") && proxy->shows_forms);
    lock_drop(&proxy->lock);
    if (asks_us && id) {
        hold(proxy, json->raw, FROM_SERVER);
        return true;
    }
    if (!id && wants_model(json_get(json, "params"))) {
        cli_note("nod mcp proxy: a notification that wants the client's model is not passed on");
        return true; /* the client asks for the task, whose state then waits like any answer */
    }
    if (!str_empty(method) || !id)
        return false;
    if (id->type == JSON_STRING && proxy_list_take(proxy, id->text, json))
        return true;
    proxy_web_version(proxy, json_text(json_get(json, "result"), "protocolVersion"));
    take_result(proxy, id->raw, json);
    if (!wants_model(json_get(json, "result")))
        return false;
    hold(proxy, json->raw, ROUND_OF_SERVER);
    return true;
}

/* Whether a less strict parser might find a request in the line. Looks for escaped ASCII letters, which serve only to
 * hide a name. */
static bool may_be_request(struct str line)
{
    for (size_t i = 0; i + 5 < line.n; i++)
        if ((line.p[i] == '\\' && line.p[i + 1] == 'u' && line.p[i + 2] == '0' && line.p[i + 3] == '0' &&
             line.p[i + 4] >= '4' && line.p[i + 4] <= '7') ||
            (line.n - i >= strlen("\"method\"") && strncasecmp(line.p + i, "\"method\"", strlen("\"method\"")) == 0))
            return true;
    return line.p[0] != '{';
}

static bool tells_of_task(const struct json *message)
{
    return str_starts(json_text(message, "method"), STR("notifications/tasks"));
}

/* An answer that is not passed on: its call has ended, and its client waits no longer. */
static void lose_answer(struct proxy *proxy, struct arena *arena, struct str line)
{
    struct str id;
    bool is_request;
    if (!rpc_peek(arena, line, &id, &is_request) || is_request)
        return;
    end_forwarded(proxy, id, false, STR("\"its answer cannot be read\""), true);
    refuse_message(proxy, id, RPC_SERVER_GONE, "the MCP server's answer cannot be read, so it is not passed on");
}

void proxy_from_server(void *arg, struct str line)
{
    struct proxy *proxy = arg;
    ARENA_SCOPE(arena);
    const struct json *json;
    struct err err = {.code = ERR_OK};
    struct str trimmed = str_trim(line);
    bool swallowed = false;
    if (str_empty(trimmed))
        return;
    if (rc_bad(json_parse_given(&arena, line, &json, &err))) {
        /* A result that is too large for us is passed on to the client; a line that could be a request is not. */
        if (may_be_request(trimmed)) {
            note_dropped(proxy, "the server", err.text);
            lose_answer(proxy, &arena, line);
            return;
        }
    } else if (json->type == JSON_OBJECT && (!rpc_is_plain(json) || !is_spelled(json_get(json, "result")) ||
                                             (tells_of_task(json) && !is_spelled(json_get(json, "params"))))) {
        note_dropped(proxy, "the server", "a member's name is not spelled as the protocol has it");
        lose_answer(proxy, &arena, line);
        return;
    } else if (json->type == JSON_OBJECT) {
        swallowed = take(proxy, json);
    } else if (json->type == JSON_ARRAY) {
        for (const struct json *one = json->first; one; one = one->next)
            proxy_from_server(proxy, one->raw);
        return;
    }
    if (!swallowed)
        (void)relay_pipe_put(&proxy->client, line);
}

/* Answers the client. Does not return. */
void proxy_server_gone(struct proxy *proxy)
{
    lock_take(&proxy->lock);
    bool first = !proxy->ending;
    proxy->ending = true;
    (void)pthread_cond_broadcast(&proxy->listed);
    for (struct proxy_held *held = first ? proxy->first : NULL; held; held = held->next) {
        if (held->samples || held->goes_on)
            continue;
        refuse_message(proxy, held->message.id, RPC_SERVER_GONE, "the MCP server is gone");
    }
    lock_drop(&proxy->lock);
    while (!first)
        (void)pause();
    proxy_take_back(proxy);
    int status = proxy->child.pid ? relay_child_end(&proxy->child) : 1;
    relay_record_end(&proxy->record);
    _exit(status ? status : 1);
}
