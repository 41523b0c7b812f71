/* Claude Code's control protocol, read and written (claude.h). Pure. */
#include "agents/claude.h"

#include "agents/agents.h"
#include "base/limits.h"

enum { BEFORE_SECONDS = 20 * 86400 }; /* in milliseconds it must fit 31 bits: a longer timer of Node fires at once */

/* ---- reading ---- */

static const struct {
    const char *type, *subtype;
    enum claude_kind kind;
} kinds[] = {
    {"assistant", NULL, CLAUDE_SAYS},
    {"user", NULL, CLAUDE_HEARS},
    {"result", NULL, CLAUDE_RESULT},
    {"control_response", NULL, CLAUDE_REPLY},
    {"control_cancel_request", NULL, CLAUDE_CANCEL},
    {"control_request", "can_use_tool", CLAUDE_ASK},
    {"control_request", "hook_callback", CLAUDE_BEFORE},
    {"control_request", "elicitation", CLAUDE_ELICIT},
    {"control_request", NULL, CLAUDE_REQUEST},
    {"system", "init", CLAUDE_INIT},
    {"system", "status", CLAUDE_STATUS},
    {"system", "task_started", CLAUDE_TASK},
    {"system", "background_tasks_changed", CLAUDE_TASKS},
    {"system", "permission_denied", CLAUDE_DENIED},
    {"system", "informational", CLAUDE_REMARK},
    {"system", "api_retry", CLAUDE_OTHER},
    {"system", "task_progress", CLAUDE_OTHER},
    {"system", "task_updated", CLAUDE_OTHER},
    {"system", "task_notification", CLAUDE_OTHER}, /* its content also comes as the result of a call, or as a turn */
    {"system", "thinking_tokens", CLAUDE_OTHER},
    {"system", "hook_started", CLAUDE_OTHER},
    {"system", "hook_response", CLAUDE_OTHER},
    {"system", "session_state_changed", CLAUDE_OTHER},
    {"system", "ui_invalidate", CLAUDE_OTHER},
    {"stream_event", NULL, CLAUDE_PIECE},
    {"tool_progress", NULL, CLAUDE_OTHER},
    {"command_lifecycle", NULL, CLAUDE_OTHER},
    {"attachment", NULL, CLAUDE_OTHER},
};

/* Tells the kind by type and subtype; a message of an unknown kind is passed on and not acted on. */
static enum claude_kind kind_of(const struct json *json)
{
    struct str type = json_text(json, "type");
    struct str subtype = json_text(json, "subtype");
    if (str_is(type, "control_request"))
        subtype = json_text(json_get(json, "request"), "subtype");
    return ROW_VALUE(kinds, row, str_is(type, row->type) && (!row->subtype || str_is(subtype, row->subtype)),
                     row->kind, CLAUDE_UNKNOWN);
}

static const struct json *object_of(const struct json *json, const char *key)
{
    const struct json *value = json_get(json, key);
    return value && value->type == JSON_OBJECT ? value : NULL;
}

static void read_ask(const struct json *request, struct claude_message *m)
{
    const struct json *suggestions = json_get(request, "permission_suggestions");
    m->tool = json_text(request, "tool_name");
    m->call = json_text(request, "tool_use_id");
    m->agent = json_text(request, "agent_id");
    m->input = object_of(request, "input");
    m->suggestions = suggestions && suggestions->type == JSON_ARRAY ? suggestions : NULL;
}

static void read_before(const struct json *request, struct claude_message *m)
{
    const struct json *input = json_get(request, "input");
    m->tool = json_text(input, "tool_name");
    m->call = json_text(input, "tool_use_id");
    if (str_empty(m->call))
        m->call = json_text(request, "tool_use_id");
    m->agent = json_text(input, "agent_id");
    m->mode = json_text(input, "permission_mode");
    m->input = object_of(input, "tool_input");
}

static void read_message(const struct json *json, struct claude_message *m)
{
    m->agent = json_text(json, "agent_id");
    m->content = json_get(json_get(json, "message"), "content");
}

static void read_task(const struct json *json, struct claude_message *m)
{
    m->agent = json_text(json, "task_id");
    m->call = json_text(json, "tool_use_id");
}

/* Malformed control requests are denied, so that Claude Code does not hang. */
static struct rc check_question(const struct claude_message *m, struct err *err)
{
    bool asks = m->kind == CLAUDE_ASK || m->kind == CLAUDE_BEFORE;
    if (asks && (str_empty(m->tool) || str_empty(m->call) || !m->input))
        return err_set(err, ERR_INVALID, "Claude Code's question lacks tool_name, tool_use_id or input");
    return RC_OK;
}

/* A question without its tool or input is an error: it would be refused anyway, and the caller can say why. */
struct rc claude_read(struct arena *arena, struct str line, struct claude_message *ret_message,
                      struct err *err)
{
    const struct json *json;
    TRY(json_parse(arena, line, &json, err));
    struct claude_message m = {.kind = kind_of(json), .json = json};
    const struct json *request = json_get(json, "request");
    m.request = json_text(m.kind == CLAUDE_REPLY ? json_get(json, "response") : json, "request_id");
    if (m.kind == CLAUDE_ASK)
        read_ask(request, &m);
    else if (m.kind == CLAUDE_ELICIT)
        m.input = object_of(json, "request");
    else if (m.kind == CLAUDE_BEFORE)
        read_before(request, &m);
    else if (m.kind == CLAUDE_SAYS || m.kind == CLAUDE_HEARS)
        read_message(json, &m);
    else if (m.kind == CLAUDE_TASK)
        read_task(json, &m);
    else if (m.kind == CLAUDE_INIT || m.kind == CLAUDE_STATUS)
        m.mode = json_text(json, "permissionMode");
    TRY(check_question(&m, err));
    *ret_message = m;
    return RC_OK;
}

/* For a line that cannot be parsed: Claude Code waits for an answer to it, so that its id is looked for all the same.
 */
struct str claude_request_in(struct str line)
{
    static const struct str key = {"\"request_id\":", 13};
    for (size_t at = 0; at + key.n < line.n; at++) {
        struct str rest = str_sub(line, at, line.n);
        if (!str_starts(rest, key))
            continue;
        rest = str_trim(str_sub(rest, key.n, rest.n));
        if (rest.n == 0 || rest.p[0] != '"')
            continue;
        rest = str_sub(rest, 1, rest.n);
        struct str id = str_sub(rest, 0, str_find(rest, '"'));
        return id.n < rest.n && str_find(id, '\\') == id.n ? id : STR_NONE;
    }
    return STR_NONE;
}

/* ---- answers ---- */

static struct json_out open_answer(struct buf *buf, struct str request)
{
    struct json_out out = json_out(buf);
    json_open(&out, '{');
    json_member(&out, "type", STR("control_response"));
    json_open_member(&out, "response", '{');
    json_members(&out, J("subtype", "success"), J_ALWAYS("request_id", request));
    json_open_member(&out, "response", '{');
    return out;
}

/* Bytes of others may hold line breaks between tokens; a line has none but at its end. */
static void end_line(struct buf *buf)
{
    for (size_t i = 0; i < buf->n; i++)
        if (buf->p[i] == '\n' || buf->p[i] == '\r')
            buf->p[i] = ' ';
    buf_putc(buf, '\n');
}

static void close_answer(struct json_out *out)
{
    json_close(out, '}');
    json_close(out, '}');
    json_close(out, '}');
    end_line(out->buf);
}

void claude_no_opinion(struct buf *out, struct str request)
{
    struct json_out json = open_answer(out, request);
    close_answer(&json);
}

void claude_fail(struct buf *buf, struct str request, struct str words)
{
    struct json_out out = json_out(buf);
    json_object(&out, J("type", "control_response"),
                J_OBJECT("response", J("subtype", "error"), J_ALWAYS("request_id", request), J("error", words)));
    end_line(buf);
}

static void put_rule_update(struct json_out *out, struct str rules)
{
    json_object(out, J("type", "addRules"), J_RAW("rules", rules), J("behavior", "allow"),
                J("destination", "localSettings"));
}

/* Claude Code makes no suggestion when our hook made it ask: then suggests a rule for exactly this command. */
static void put_own_rule(struct json_out *out, const struct claude_message *ask)
{
    JSON_SCOPE(buf, rule, LIMIT_BODY_BYTES);
    struct str command = json_text(ask->input, "command");
    if (!str_is(ask->tool, "Bash") || str_empty(command) || str_find(command, '\n') < command.n)
        return;
    json_open(&rule, '[');
    json_object(&rule, J("toolName", ask->tool), J("ruleContent", command));
    json_close(&rule, ']');
    put_rule_update(out, buf_str(&buf));
}

/* Copies only suggestions that add rules, with another destination: the others would change modes. */
static void put_rules(struct json_out *out, const struct claude_message *ask)
{
    bool any = false;
    for (const struct json *s = ask->suggestions ? ask->suggestions->first : NULL; s; s = s->next) {
        const struct json *rules = json_get(s, "rules");
        if (!str_is(json_text(s, "type"), "addRules") || !rules || !str_is(json_text(s, "behavior"), "allow"))
            continue;
        put_rule_update(out, rules->raw);
        any = true;
    }
    if (!any)
        put_own_rule(out, ask);
}

/* Changes that come with the allow: the mode that a person chose, rules to be remembered. */
static void put_permissions(struct json_out *out, const struct claude_message *ask, const struct call *call,
                            bool remember)
{
    bool remembers = remember && call->decision == DECISION_ALLOW_ALWAYS;
    if (str_empty(call->mode) && !remembers)
        return;
    json_open_member(out, "updatedPermissions", '[');
    if (!str_empty(call->mode))
        json_object(out, J("type", "setMode"), J("mode", claude_mode(call->mode)), J("destination", "session"));
    if (remembers)
        put_rules(out, ask);
    json_close(out, ']');
}

/* AskUserQuestion: the person's words answer the questions, a line for each. */
static void put_answers(struct json_out *out, const struct json *input, struct str words)
{
    json_open(out, '{');
    json_put_members(out, input, "answers");
    json_open_member(out, "answers", '{');
    for (const struct json *q = json_first(input, "questions"); q && !str_empty(words); q = q->next) {
        struct str answer = q->next ? str_cut(words, '\n', &words) : words;
        json_key_str(out, json_text(q, "question"));
        json_put_str(out, str_trim(answer));
    }
    json_close(out, '}');
    json_close(out, '}');
}

static void put_input(struct json_out *out, const struct claude_message *ask, const struct call *call)
{
    bool asked = str_is(ask->tool, "AskUserQuestion");
    json_key(out, "updatedInput");
    if (asked && str_empty(call->updated_input) && !str_empty(call->feedback))
        put_answers(out, ask->input, call->feedback);
    else
        json_put_raw(out, str_empty(call->updated_input) ? ask->input->raw : call->updated_input);
}

static bool is_allowed(const struct call *call) { return call->status == CALL_ALLOWED && call_allowed(call); }

/* Each kind of question has its own form of a refusal; all of them carry words where the form has room. */
void claude_refuse(struct buf *buf, const struct claude_message *ask, struct str words)
{
    struct json_out out = open_answer(buf, ask->request);
    CHECK(!str_empty(words));
    if (ask->kind == CLAUDE_BEFORE) {
        json_members(&out, J_OBJECT("hookSpecificOutput", J("hookEventName", "PreToolUse"),
                                    J("permissionDecision", "deny"), J("permissionDecisionReason", words)));
    } else if (ask->kind == CLAUDE_ELICIT) {
        json_member(&out, "action", STR("decline"));
    } else {
        json_members(&out, J("behavior", "deny"), J("message", words));
    }
    close_answer(&out);
}

/* An abort ends the agent's turn (`interrupt`), a denial only refuses this call. */
void claude_answer(struct buf *buf, const struct claude_message *ask, const struct call *call, bool remember)
{
    ARENA_SCOPE(scratch);
    CHECK(ask->kind == CLAUDE_ASK && ask->input);
    if (!is_allowed(call) && call->status != CALL_ABORTED) {
        claude_refuse(buf, ask, agent_words(&scratch, call));
        return;
    }
    struct json_out out = open_answer(buf, ask->request);
    json_member(&out, "behavior", is_allowed(call) ? STR("allow") : STR("deny"));
    if (is_allowed(call)) {
        put_input(&out, ask, call);
        put_permissions(&out, ask, call, remember);
    } else {
        json_members(&out, J("message", agent_words(&scratch, call)), J_BOOL("interrupt", true));
    }
    close_answer(&out);
}

/* "ask" leaves it to Claude Code's own question, which then comes to us as CLAUDE_ASK. */
void claude_answer_before(struct buf *buf, const struct claude_message *ask, const struct call *call)
{
    ARENA_SCOPE(scratch);
    CHECK(ask->kind == CLAUDE_BEFORE);
    if (call->no_opinion) {
        claude_no_opinion(buf, ask->request);
        return;
    }
    bool asks = call->status == CALL_UNKNOWN || call->status == CALL_AWAITING;
    struct str words = agent_words(&scratch, call);
    if (!asks && !is_allowed(call)) {
        claude_refuse(buf, ask, words);
        return;
    }
    struct json_out out = open_answer(buf, ask->request);
    json_members(&out, J_OBJECT("hookSpecificOutput", J("hookEventName", "PreToolUse"),
                                J("permissionDecision", asks ? "ask" : "allow"), J("permissionDecisionReason", words),
                                J_RAW("updatedInput", call->updated_input)));
    close_answer(&out);
}

/* Whether the answer needs content: not for a form without fields, nor for an address to visit. */
static bool wants_content(const struct claude_message *ask)
{
    const struct json *fields = json_get(json_get(ask->input, "requested_schema"), "properties");
    return fields && fields->count > 0;
}

/* The form's answers are what a person made of the input; an allow that lacks them has none to give. */
void claude_answer_elicit(struct buf *buf, const struct claude_message *ask, const struct call *call)
{
    ARENA_SCOPE(scratch);
    const struct json *edited = NULL;
    if (!str_empty(call->updated_input) && rc_bad(json_parse(&scratch, call->updated_input, &edited, NULL)))
        edited = NULL;
    const struct json *content = object_of(edited, "content");
    if (!is_allowed(call) || (wants_content(ask) && !content)) {
        claude_refuse(buf, ask, STR("declined"));
        return;
    }
    struct json_out out = open_answer(buf, ask->request);
    json_members(&out, J("action", "accept"), J_RAW("content", content ? content->raw : STR("{}")));
    close_answer(&out);
}

/* ---- requests of ours ---- */

static struct json_out open_request(struct buf *buf, struct str request, const char *subtype)
{
    struct json_out out = json_out(buf);
    json_open(&out, '{');
    json_members(&out, J("type", "control_request"), J("request_id", request));
    json_open_member(&out, "request", '{');
    json_member(&out, "subtype", str_of(subtype));
    return out;
}

static void close_request(struct json_out *out)
{
    json_close(out, '}');
    json_close(out, '}');
    end_line(out->buf);
}

/* Ours comes first; those of others stay as they are. */
static void put_hooks(struct json_out *out, const struct json *others)
{
    json_open_member(out, "hooks", '{');
    json_open_member(out, "PreToolUse", '[');
    json_object(out, J_RAW("hookCallbackIds", STR("[\"nod_before\"]")), J("timeout", BEFORE_SECONDS),
                J("onFailure", "block"));
    for (const struct json *group = json_first(others, "PreToolUse"); group; group = group->next)
        json_put_raw(out, group->raw);
    json_close(out, ']');
    json_put_members(out, others, "PreToolUse");
    json_close(out, '}');
}

void claude_initialize(struct buf *buf, struct str request)
{
    struct json_out out = open_request(buf, request, "initialize");
    put_hooks(&out, NULL);
    close_request(&out);
}

/* The host's own hooks stay; ours is added to them. */
void claude_initialize_too(struct buf *buf, const struct json *theirs)
{
    const struct json *request = object_of(theirs, "request");
    struct json_out out = open_request(buf, json_text(theirs, "request_id"), "initialize");
    for (const struct json *member = request ? request->first : NULL; member; member = member->next)
        if (!str_is(member->key, "subtype") && !str_is(member->key, "hooks"))
            json_put_member(&out, member);
    put_hooks(&out, object_of(request, "hooks"));
    close_request(&out);
}

void claude_interrupt(struct buf *buf, struct str request)
{
    struct json_out out = open_request(buf, request, "interrupt");
    close_request(&out);
}

void claude_set_mode(struct buf *buf, struct str request, struct str mode)
{
    struct json_out out = open_request(buf, request, "set_permission_mode");
    json_member(&out, "mode", str_of(claude_mode(mode)));
    close_request(&out);
}

void claude_prompt(struct buf *buf, struct str text)
{
    struct json_out out = json_out(buf);
    json_object(&out, J("type", "user"), J_OBJECT("message", J("role", "user"), J_ALWAYS("content", text)));
    end_line(buf);
}

/* Nod carries out bypassPermissions itself: Claude Code goes on asking, and Nod answers. */
const char *claude_mode(struct str mode)
{
    static const char *const same[] = {"acceptEdits", "plan"};
    size_t i = str_index(mode, same, sizeof same / sizeof *same);
    return i < sizeof same / sizeof *same ? same[i] : "default";
}
