/* The table of routes, and the way of a request through it. */
#include "api/exchange.h"

#include "base/log.h"
#include "io/clock.h"

#include <stdarg.h>
#include <stdio.h>

#define HERE(name) {SCOPE_##name, BOUND_HERE}
#define WIDE(name) {SCOPE_##name, BOUND_NEVER}
#define ANYONE {SCOPE_NONE, BOUND_HERE}

static const struct route routes[] = {
    {"POST", "/api/sessions", WIDE(ASK), BODY_OBJECT, sessions_create,
     "Start a session", "", "SessionSettings", 201, "Session"},
    {"GET", "/api/sessions", HERE(SEE), BODY_NONE, sessions_list,
     "Sessions, newest first", "limit before", NULL, 200, "SessionList"},
    {"GET", "/api/sessions/:session", HERE(SEE), BODY_NONE, sessions_show,
     "One session", "", NULL, 200, "Session"},
    {"PATCH", "/api/sessions/:session", HERE(SETTINGS), BODY_OBJECT, sessions_change,
     "Change a session's settings", "", "SessionSettings", 200, "Session"},
    {"POST", "/api/sessions/:session/threads", HERE(ASK), BODY_OPTIONAL, threads_create,
     "Add a thread (a sub-agent)", "", "ThreadSettings", 201, "Thread"},
    {"GET", "/api/sessions/:session/threads", HERE(SEE), BODY_NONE, threads_list,
     "The threads of a session", "", NULL, 200, "ThreadList"},
    {"POST", "/api/threads/:thread/tool-calls", HERE(ASK), BODY_OBJECT, calls_ask,
     "The gate: ask to use a tool", "wait withdraw large", "ToolCallRequest", 200, "ToolCallAnswer"},
    {"POST", "/api/threads/:thread/tool-definitions", HERE(ASK), BODY_OBJECT, definitions_tell,
     "Tell how an MCP server behind a proxy describes a tool; one that has changed waits for a person",
     "wait withdraw large", "ToolDefinition", 200, "ToolDefinitionAnswer"},
    {"POST", "/api/threads/:thread/events", HERE(ASK), BODY_OBJECT, notes_add,
     "Add what was said in a conversation that runs elsewhere", "", "Note", 201, "NoteAnswer"},
    {"POST", "/api/sessions/:session/prompt", HERE(DECIDE), BODY_OBJECT, notes_prompt,
     "Tell an agent that runs elsewhere (nod claude) what to do next", "", "Prompt", 201, "NoteAnswer"},
    {"POST", "/api/sessions/:session/interrupt", HERE(DECIDE), BODY_OPTIONAL, notes_interrupt,
     "Ask an agent that runs elsewhere (nod claude) to stop its turn", "", NULL, 201, "NoteAnswer"},
    {"GET", "/api/tool-calls/:call", HERE(SEE), BODY_NONE, calls_show,
     "Status and decision of a call", "wait session", NULL, 200, "ToolCallDetail"},
    {"GET", "/api/sessions/:session/calls/:call", HERE(SEE), BODY_NONE, calls_history,
     "A call for ever: as it was shown, who answered what, what came of it; from an archive, too", "", NULL, 200,
     "CallHistory"},
    {"POST", "/api/tool-calls/:call/result", HERE(ASK), BODY_OBJECT, calls_result,
     "Report what came of an allowed call", "session", "ToolResult", 200, "ToolCallAnswer"},
    {"POST", "/api/tool-calls/:call/cancel", HERE(ASK), BODY_OPTIONAL, calls_cancel,
     "Give up a call", "session", NULL, 200, "ToolCallAnswer"},
    {"POST", "/api/hooks/:agent", HERE(ASK), BODY_OBJECT, hooks_ask,
     "An agent's hook, answered in its own words", "wait call strict",
     "HookMessage", 200, "HookAnswer"},
    {"POST", "/api/mcp", HERE(ASK), BODY_OBJECT, mcp_message,
     "MCP over HTTP: the tools approve, ask_human and pending_calls", "", "McpMessage", 200, "McpMessage"},
    {"GET", "/api/sessions/:session/agent-state", HERE(SEE), BODY_NONE, agent_state,
     "What an agent asked, by id: requests and completedRequests", "", NULL, 200, "AgentState"},
    {"POST", "/api/sessions/:session/permission", HERE(DECIDE), BODY_OBJECT, permission,
     "Answer a request: id, approved, reason, mode, allowTools, decision", "", "Permission", 200,
     "DecisionAnswer"},
    {"GET", "/api/approvals/pending", HERE(SEE), BODY_NONE, pending_all,
     "Everything that waits for an answer, oldest first, or where that is too much each agent's oldest",
     "after agent limit", NULL, 200, "PendingList"},
    {"GET", "/api/sessions/:session/approvals/pending", HERE(SEE), BODY_NONE, pending_session,
     "What waits in one session", "after agent limit", NULL, 200, "PendingList"},
    {"GET", "/api/threads/:thread/approvals/pending", HERE(SEE), BODY_NONE, pending_thread,
     "What waits in one thread", "after agent limit", NULL, 200, "PendingList"},
    {"GET", "/api/sessions/:session/approvals/:call", HERE(SEE), BODY_NONE, pending_show,
     "One call that waits, whole", "", NULL, 200, "Pending"},
    {"GET", "/api/threads/:thread/approvals/:call", HERE(SEE), BODY_NONE, pending_show_in_thread,
     "One call that waits, whole", "", NULL, 200, "Pending"},
    {"GET", "/api/sessions/:session/approvals/:call/file", HERE(DECIDE), BODY_NONE, pending_file,
     "The file that a waiting call would change, as it is now", "", NULL, 200, "WholeFile"},
    {"POST", "/api/sessions/:session/approvals/:call", HERE(DECIDE), BODY_OBJECT, decide_session,
     "Answer a call", "", "Decision", 200, "DecisionAnswer"},
    {"POST", "/api/threads/:thread/approvals/:call", HERE(DECIDE), BODY_OBJECT, decide_thread,
     "Answer a call of a thread", "", "Decision", 200, "DecisionAnswer"},
    {"GET", "/api/events", HERE(SEE), BODY_NONE, events_read,
     "Events after a seq: a page, or a live stream (Accept: text/event-stream)",
     "after session thread types limit live format", NULL, 200, "EventPage"},
    {"GET", "/api/ws", HERE(SEE), BODY_NONE, socket_open,
     "WebSocket: subscribe, decide, call", "", NULL, 101, NULL},
    {"POST", "/api/agent-requests", WIDE(RUN), BODY_OBJECT, requests_create,
     "Ask Nod's own agent for something", "", "AgentRequestSettings", 201, "AgentRequest"},
    {"GET", "/api/agent-requests/:request", HERE(SEE), BODY_NONE, requests_show,
     "A request and how far it is", "", NULL, 200, "AgentRequest"},
    {"POST", "/api/agent-requests/:request/execute", WIDE(RUN), BODY_OPTIONAL, requests_execute,
     "Start or go on; again is harmless", "", NULL, 202, "AgentRequest"},
    {"POST", "/api/agent-requests/:request/cancel", HERE(DECIDE), BODY_OPTIONAL, requests_cancel,
     "End a request", "", NULL, 200, "AgentRequest"},
    {"GET", "/api/agent-requests/:request/checkpoint", HERE(SEE), BODY_NONE, requests_checkpoint,
     "Conversation, last tool call and iteration, as read from the events", "", NULL, 200, "Checkpoint"},
    {"GET", "/api/agent-requests/:request/events", HERE(SEE), BODY_NONE, requests_events,
     "text_chunk, tool_call, tool_result and completion events", "after", NULL, 200, "AgentEventPage"},
    {"POST", "/api/approve-tool/:call", HERE(DECIDE), BODY_OBJECT, requests_approve,
     "Yes goes on, no ends the request", "session", "ToolApproval", 200, "ToolApprovalAnswer"},
    {"GET", "/api/terminal/ws/agent", HERE(DECIDE), BODY_NONE, agent_terminal_open,
     "WebSocket: run, tool_approval_response, cancel", "cwd", NULL, 101, NULL},
    {"POST", "/api/tokens", WIDE(TOKENS), BODY_OBJECT, tokens_create,
     "Make a token; its secret is shown once", "", "TokenSettings", 201, "NewToken"},
    {"GET", "/api/tokens", WIDE(TOKENS), BODY_NONE, tokens_list, "All tokens", "", NULL, 200, "TokenList"},
    {"DELETE", "/api/tokens/:token", WIDE(TOKENS), BODY_NONE, tokens_revoke,
     "Revoke a token at once", "", NULL, 200, "Token"},
    {"POST", "/api/logins", WIDE(LOGINS), BODY_OPTIONAL, logins_create,
     "Make a link that logs one browser in, once", "", "LoginSettings", 201, "LoginLink"},
    {"GET", "/ca.crt", ANYONE, BODY_NONE, authority_show,
     "The authority behind the certificate of `nod tls init`, in PEM", "", NULL, 200, NULL},
    {"POST", "/api/login", ANYONE, BODY_OBJECT, login_begin,
     "Trade a link's code for a device's token: a cookie and a key", "", "Login", 200, "LoginAnswer"},
    {"POST", "/api/logout", HERE(SEE), BODY_OPTIONAL, login_end,
     "Revoke the device's own token", "", NULL, 200, "Nothing"},
    {"GET", "/api/audit", HERE(SEE_ALL), BODY_NONE, audit_read,
     "Every decision, newest first; format=json, csv or jsonl",
     "limit before since until session tool actor agent project decision by text format", NULL, 200, "AuditPage"},
    {"POST", "/api/archive", WIDE(ARCHIVE), BODY_OBJECT, archive_make,
     "Move finished sessions in which nothing has happened for so long into an archive file", "", "ArchiveSettings",
     200, "Archived"},
    {"GET", "/api/me", HERE(SEE), BODY_NONE, tokens_self, "Who this token is", "", NULL, 200, "Token"},
    {"POST", "/api/ping", HERE(SEE), BODY_OPTIONAL, ping,
     "Answer at once; a yardstick for load tests", "", NULL, 200, "Pong"},
    {"GET", "/api/openapi.json", HERE(SEE), BODY_NONE, openapi_show, "This description", "", NULL, 200, NULL},
    {"GET", "/api/policy", HERE(SEE_ALL), BODY_NONE, policy_show,
     "The rules by layer; with session= also the project's and the session's; with lint=true what is wrong with them",
     "session lint", NULL, 200, "Policy"},
    {"PUT", "/api/policy", WIDE(RULES_USER), BODY_OBJECT, policy_put,
     "Replace the rules of the user's layer", "", "RuleList", 200, "Policy"},
    {"POST", "/api/policy/rules", HERE(RULES_SESSION), BODY_OBJECT, policy_add,
     "Add a rule to the user's layer or a session", "", "RuleSettings", 201, "Rule"},
    {"POST", "/api/policy/rules/:rule/bind", WIDE(RULES_USER), BODY_OBJECT, policy_bind,
     "Say where a rule holds: in a project's folder, or everywhere", "", "RuleBond", 200, "Policy"},
    {"DELETE", "/api/policy/rules/:rule", HERE(RULES_SESSION), BODY_OPTIONAL, policy_remove,
     "Revoke a rule at once", "session", "Signed", 200, NULL},
    {"POST", "/api/policy/explain", HERE(SEE_ALL), BODY_OBJECT, policy_explain,
     "Which rule decides a call, and why", "", "Explain", 200, "Verdict"},
    {"POST", "/api/policy/try", WIDE(SEE_ALL), BODY_OBJECT, policy_try,
     "What a rule would have done to the last calls", "", "RuleSettings", 200, "Trial"},
    {"POST", "/api/policy/trust", WIDE(TRUST), BODY_OBJECT, policy_trust,
     "Trust a project's policy file, by the hash of its content", "", "Trust", 200, "Policy"},
    {"GET", "/api/channels", WIDE(DECIDE), BODY_NONE, channels_list,
     "How people who are not looking are told", "", NULL, 200, "ChannelList"},
    {"POST", "/api/channels/:channel/test", WIDE(LOGINS), BODY_OPTIONAL, channels_test,
     "Send a test message", "", NULL, 200, "ChannelTest"},
    {"GET", "/api/deliveries", WIDE(DECIDE), BODY_NONE, deliveries_list,
     "Messages about calls that wait: due, sent, withdrawn", "call", NULL, 200, "DeliveryList"},
    {"POST", "/api/approvals/seen", WIDE(DECIDE), BODY_OBJECT, approvals_seen,
     "A person looks at these calls: what they would be told of them waits a while", "", "SeenCalls", 200, NULL},
    {"GET", "/api/push/key", WIDE(DECIDE), BODY_NONE, push_key,
     "The key that browsers need to subscribe to push messages", "", NULL, 200, "PushKey"},
    {"POST", "/api/push/devices", WIDE(DECIDE), BODY_OBJECT, push_subscribe,
     "This browser wants push messages", "", "PushSubscription", 201, NULL},
    {"DELETE", "/api/push/devices", WIDE(DECIDE), BODY_OBJECT, push_unsubscribe,
     "This browser wants no more of them", "", "PushEndpoint", 200, NULL},
    {"GET", "/api/callbacks/secret", WIDE(ASK), BODY_NONE, callbacks_secret,
     "The key that callbacks to this token are signed with", "", NULL, 200, "CallbackSecret"},
    {"POST", "/api/answers/look", ANYONE, BODY_OBJECT, answers_look,
     "Look at the call of a message, with its token", "", "Answer", 200, "AnswerLook"},
    {"POST", "/api/answers", ANYONE, BODY_OBJECT, answers_take,
     "Answer with the token of a message", "", "Answer", 200, "DecisionAnswer"},
    {"POST", "/api/answers/slack/:channel", ANYONE, BODY_NONE, answers_press,
     "A press of a button, as Slack posts it: signed", "", NULL, 200, NULL},
    {"GET", "/api/keys", HERE(DECIDE), BODY_NONE, keys_list,
     "Keys with which people sign, and when a signature is asked for", "", NULL, 200, "KeyList"},
    {"POST", "/api/keys", WIDE(DECIDE), BODY_OBJECT, keys_add,
     "Make a key known: it signs for itself, and a known one vouches for it", "", "KeySettings", 201, "Key"},
    {"POST", "/api/keys/recovery", WIDE(DECIDE), BODY_OBJECT, keys_recovery,
     "Make ten recovery codes: each makes one key known when all others are lost", "", "Signed", 201,
     "RecoveryCodes"},
    {"DELETE", "/api/keys/:key", WIDE(DECIDE), BODY_OPTIONAL, keys_revoke,
     "Let a key count for nothing from now on", "", "Revocation", 200, "Key"},
    {"POST", "/api/statements", HERE(DECIDE), BODY_OBJECT, statements_issue,
     "The text that a key signs, for a decision or another request; decides nothing", "", "StatementSettings", 200,
     "Statement"},
    {"GET", "/metrics", WIDE(SEE_ALL), BODY_NONE, metrics_show,
     "Figures for Prometheus", "", NULL, 200, NULL},
    {"GET", "/healthz", ANYONE, BODY_NONE, health_show, "The process is up", "", NULL, 200, "Health"},
    {"GET", "/readyz", ANYONE, BODY_NONE, ready_show, "Calls can be kept", "", NULL, 200, "Health"},
};

const struct route *routes_all(size_t *ret_count)
{
    *ret_count = sizeof routes / sizeof *routes;
    return routes;
}

void api_print_routes(void)
{
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        (void)printf("%s %s\n", routes[i].method, routes[i].path);
}

/* Agents' own messages hold whole files; a call says so with ?large=1. */
size_t api_body_max(struct str target)
{
    struct str query;
    struct str path = str_cut(target, '?', &query);
    bool large = str_starts(path, STR("/api/hooks/")) || str_eq(path, STR("/api/mcp")) ||
                 (str_starts(path, STR("/api/threads/")) && str_has(query, STR("large=1")));
    if (str_starts(path, STR("/api/answers/slack/")))
        return LIMIT_PRESS_BYTES;
    if (str_eq(path, STR("/api/login")) || str_starts(path, STR("/api/answers")))
        return LIMIT_OPEN_BODY_BYTES;
    return large ? LIMIT_LARGE_BODY_BYTES : LIMIT_BODY_BYTES;
}

/* ---- matching ---- */

/* Byte by byte: most patterns fail within a few, and every request meets the whole table. */
static bool match_path(const char *pattern, struct str path, struct str params[PARAMS_MAX])
{
    size_t at = 0;
    int taken = 0;
    for (; *pattern; pattern++) {
        if (*pattern != ':') {
            if (at == path.n || path.p[at++] != *pattern)
                return false;
            continue;
        }
        size_t from = at;
        while (at < path.n && path.p[at] != '/')
            at++;
        if (at == from)
            return false;
        CHECK(taken < PARAMS_MAX);
        params[taken++] = str_sub(path, from, at);
        while (pattern[1] && pattern[1] != '/')
            pattern++;
    }
    return at == path.n;
}

/* Every path of the table is longer than "/api/"; the letter behind that tells most of them apart. */
enum { LETTER_AT = sizeof "/api/" - 1 };

/* NULL, with *ret_known telling whether another method would do. */
static const struct route *find_route(struct str method, struct str path, struct str params[PARAMS_MAX],
                                      bool *ret_known)
{
    *ret_known = false;
    if (path.n > 1 && path.p[path.n - 1] == '/')
        return NULL;
    char letter = path.n > LETTER_AT ? path.p[LETTER_AT] : '\0';
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        if (routes[i].path[LETTER_AT] == letter && str_is(method, routes[i].method) &&
            match_path(routes[i].path, path, params))
            return &routes[i];
    for (size_t i = 0; i < sizeof routes / sizeof *routes && !*ret_known; i++)
        *ret_known = match_path(routes[i].path, path, params);
    return NULL;
}

/* ---- answering ---- */

static void log_answer(struct exchange *x, int status)
{
    x->api->answers[status / 100 % 6]++;
    log_line(status >= 500 ? LOG_WARN : LOG_DEBUG, "request", LOG_S("method", x->http->method),
             LOG_S("path", x->http->path), LOG_I("status", status), LOG_S("actor", x->actor),
             LOG_I("us", clock_steady_us() - x->http->started_us));
}

void exchange_answer(struct exchange *x, int status, const struct buf *body)
{
    if (body->over) {
        exchange_error(x, ERR_TOO_LARGE, "the answer is larger than %d bytes; ask for less",
                       LIMIT_ANSWER_BYTES);
        return;
    }
    log_answer(x, status);
    http_answer_json(x->http, status, buf_str(body));
}

void exchange_answer_timed(struct exchange *x, const struct buf *body, int64_t took_us)
{
    struct str timing = arena_printf(x->arena, "Server-Timing: total;dur=%.3f\r\n", (double)took_us / 1000);
    if (body->over) {
        exchange_answer(x, 200, body);
        return;
    }
    log_answer(x, 200);
    http_answer(x->http, 200, STR("application/json"), timing, buf_str(body));
}

/* Names the allowed methods in the refusal, as RFC 9110 requires. */
static void refuse_method(struct exchange *x, const struct err *err)
{
    struct str allow = STR("Allow: "), params[PARAMS_MAX];
    bool first = true;
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        if (!match_path(routes[i].path, x->http->path, params))
            continue;
        allow = arena_printf(x->arena, "%.*s%s%s", STR_ARG(allow), first ? "" : ", ", routes[i].method);
        first = false;
    }
    http_answer_error_as(x->http, err_http(err->code), arena_printf(x->arena, "%.*s\r\n", STR_ARG(allow)), err);
}

void exchange_fail(struct exchange *x, const struct err *err)
{
    if (x->waits_for_key)
        return; /* the request is handled again when the use of its signature is stored */
    log_answer(x, err_http(err->code));
    if (err->code == ERR_METHOD && !x->route) {
        refuse_method(x, err);
        return;
    }
    if (err_http(err->code) >= 500)
        log_line(LOG_WARN, "request failed", LOG_S("path", x->http->path), LOG_C("error", err->text));
    http_answer_error(x->http, err);
}

void exchange_error(struct exchange *x, enum err_code code, const char *format, ...)
{
    struct err err = {.code = code};
    va_list args;
    va_start(args, format);
    (void)vsnprintf(err.text, sizeof err.text, format, args);
    va_end(args);
    exchange_fail(x, &err);
}

/* ---- the way of a request ---- */

static bool json_content(const struct http_request *http)
{
    struct str rest;
    struct str type = str_trim(str_cut(http_header(http, "content-type"), ';', &rest));
    return str_same_letters(type, STR("application/json"));
}

static struct rc read_body(struct exchange *x, struct err *err)
{
    struct str text = x->http->body;
    if (x->route->body == BODY_NONE || (x->route->body == BODY_OPTIONAL && text.n == 0))
        return RC_OK;
    if (x->http->connection && !json_content(x->http))
        return err_set(err, ERR_MEDIA_TYPE, "send Content-Type: application/json");
    TRY(json_parse_given(&x->http->spare, text, &x->body, err));
    if (x->body->type != JSON_OBJECT)
        return err_set(err, ERR_INVALID, "the body must be a JSON object");
    if (json_deeper(x->body, LIMIT_GIVEN_DEPTH))
        return err_set(err, ERR_INVALID, "the body is nested more than %d deep", LIMIT_GIVEN_DEPTH);
    return RC_OK;
}

/* Routes that take no token. */
static bool is_open(const struct route *route) { return route && route->right.scope == SCOPE_NONE; }

static struct rc prepare(struct exchange *x, const struct token *token, struct err *err)
{
    bool known = false;
    if (!token && !x->token)
        TRY(auth_check_origin(x->api, x->http, err));
    if (!x->route)
        x->route = find_route(x->http->method, x->http->path, x->params, &known);
    if (token)
        x->token = token;
    else if (!x->token && !is_open(x->route))
        TRY(auth_identify(x, err));
    if (x->token) {
        http_known(x->http);
        x->actor = arena_str(x->arena, x->token->name);
        x->token_id = arena_str(x->arena, x->token->id);
    }
    if (!x->route && known)
        return err_set(err, ERR_METHOD, "this path does not take %.*s", STR_ARG(x->http->method));
    if (!x->route)
        return err_set(err, ERR_NOT_FOUND, "there is nothing at this path; see /api/openapi.json");
    TRY(auth_allow(x->token, x->route->right, err));
    TRY(auth_check_body(x, err));
    return read_body(x, err);
}

static void handle(struct exchange *x)
{
    if (!x->api->ready && !is_open(x->route))
        exchange_error(x, ERR_UNAVAILABLE, "starting; try again in a moment");
    else
        x->route->handle(x);
}

/* Dispatches the request again, after this node has read the events of the other nodes. */
static void dispatch_again(struct exchange *x)
{
    struct err err = {.code = ERR_OK};
    if (rc_bad(prepare(x, NULL, &err)))
        exchange_fail(x, &err);
    else
        handle(x);
}

static struct exchange *exchange_new(struct api *api, struct http_request *http)
{
    struct exchange *x = arena_new(&http->arena, struct exchange);
    *x = (struct exchange){.api = api, .gate = api->gate, .http = http, .arena = &http->arena};
    return x;
}

void api_dispatch(struct api *api, struct http_request *http, const struct token *token)
{
    struct exchange *x = http->admitted ? http->admitted : exchange_new(api, http);
    struct err err = {.code = ERR_OK};
    if (page_has(http) && rc_ok(auth_check_origin(api, http, &err))) {
        page_answer(x);
        return;
    }
    struct rc rc = prepare(x, token, &err);
    if (rc_ok(rc))
        handle(x);
    else if (rc.code != ERR_UNAUTHENTICATED || !newcomer_wait(x, dispatch_again))
        exchange_fail(x, &err);
}

/* Requests of unknown senders or to unknown paths are answered by api_dispatch, which goes on with the exchange of one
 * whose token and route are known here already. */
struct rc api_admit(void *arg, struct http_request *http, struct err *err)
{
    struct api *api = arg;
    bool known;
    if (!api->ready)
        return RC_OK;
    TRY(auth_check_origin(api, http, err));
    struct exchange *x = exchange_new(api, http);
    x->route = find_route(http->method, http->path, x->params, &known);
    if (is_open(x->route))
        return RC_OK;
    struct rc rc = auth_identify(x, err);
    if (rc.code == ERR_UNAUTHENTICATED && newcomer_may_send(x))
        return RC_OK;
    TRY(rc);
    http_known(http);
    if (!x->route)
        return RC_OK;
    http->admitted = x;
    return auth_allow(x->token, x->route->right, err);
}

void api_handle(void *arg, struct http_request *request) { api_dispatch(arg, request, NULL); }

/* ---- query parameters ---- */

struct rc query_text(struct exchange *x, const char *name, struct str *ret_value, struct err *err)
{
    bool there;
    struct str value;
    TRY(http_query(x->http, name, &there, &value, err));
    if (there)
        *ret_value = value;
    return RC_OK;
}

struct rc query_u64(struct exchange *x, const char *name, uint64_t max, uint64_t *ret_value, struct err *err)
{
    bool there;
    struct str text;
    uint64_t value;
    TRY(http_query(x->http, name, &there, &text, err));
    if (!there)
        return RC_OK;
    if (!str_to_u64(text, &value) || value > max)
        return err_set(err, ERR_INVALID, "%s= must be a whole number from 0 to %llu", name,
                       (unsigned long long)max);
    *ret_value = value;
    return RC_OK;
}
