/* The server's side of MCP (mcp.h): reads a message, says whether the gate is needed, writes answers. */
#include "agents/mcp.h"

#include "agents/agents.h"
#include "agents/rpc.h"
#include "base/limits.h"

enum { RPC_NO_METHOD = -32601, RPC_BAD_PARAMS = -32602, PROGRESS_MAX = 999999 };

static const char *const versions[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};

static const struct {
    enum mcp_tool tool;
    const char *name, *words, *schema;
} tools[] = {
    {MCP_APPROVE, "approve", "Asks whether a tool may be used; a rule or a person answers.",
     "{\"type\":\"object\",\"properties\":{\"tool_name\":{\"type\":\"string\"},\"input\":{\"type\":\"object\"},"
     "\"tool_use_id\":{\"type\":\"string\"}},\"required\":[\"tool_name\",\"input\"]}"},
    {MCP_ASK_HUMAN, "ask_human", "Asks a person a question and waits for the answer, however long it takes.",
     "{\"type\":\"object\",\"properties\":{\"question\":{\"type\":\"string\"},\"options\":{\"type\":\"array\","
     "\"items\":{\"type\":\"string\"}}},\"required\":[\"question\"]}"},
    {MCP_PENDING_CALLS, "pending_calls", "Shows which of your calls still wait for a person.",
     "{\"type\":\"object\",\"properties\":{}}"},
};
enum { TOOL_COUNT = sizeof tools / sizeof *tools };

/* ---- reading ---- */

struct rc mcp_read(struct arena *arena, struct str text, struct mcp_message *ret_message, struct err *err)
{
    struct mcp_message *m = ret_message;
    const struct json *json;
    static const char *const names[] = {"name", "arguments", NULL};
    *m = (struct mcp_message){0};
    TRY(json_parse_given(arena, text, &json, err));
    if (!rpc_is_plain(json) ||
        (str_is(json_text(json, "method"), "tools/call") && !rpc_spelled(json_get(json, "params"), names)))
        return err_set(err, ERR_INVALID, "a member's name is not spelled as the protocol has it");
    m->id = rpc_id(json_get(json, "id"));
    m->method = json_text(json, "method");
    m->params = json_get(json, "params");
    const struct json *meta = json_get(m->params, "_meta");
    m->progress = rpc_id(json_get(meta, "progressToken"));
    m->modern = json_get(meta, "io.modelcontextprotocol/protocolVersion");
    if (str_is(m->method, "notifications/cancelled"))
        m->cancels = rpc_id(json_get(m->params, "requestId"));
    if (!str_is(m->method, "tools/call"))
        return RC_OK;
    m->arguments = json_get(m->params, "arguments");
    for (size_t i = 0; i < TOOL_COUNT; i++)
        if (str_is(json_text(m->params, "name"), tools[i].name))
            m->tool = tools[i].tool;
    return RC_OK;
}

bool mcp_needs_gate(const struct mcp_message *message)
{
    return message->tool != MCP_NO_TOOL && !str_empty(message->id);
}

/* A question in the shape of AskUserQuestion, which page and terminal know how to show. */
static struct rc question(struct arena *arena, const struct json *arguments, struct mcp_ask *ret_ask,
                          struct err *err)
{
    JSON_SCOPE(buf, out, LIMIT_BODY_BYTES);
    if (str_empty(json_text(arguments, "question")))
        return err_set(err, ERR_INVALID, "\"question\" is missing");
    json_open(&out, '{');
    json_open_member(&out, "questions", '[');
    json_open(&out, '{');
    json_members(&out, J("question", json_text(arguments, "question")), J("header", "Question"));
    JSON_LIST(&out, "options")
        for (const struct json *o = json_first(arguments, "options"); o; o = o->next)
            json_object(&out, J("label", o->text));
    json_member_bool(&out, "multiSelect", false);
    json_close(&out, '}');
    json_close(&out, ']');
    json_close(&out, '}');
    if (buf.over)
        return err_set(err, ERR_TOO_LARGE, "the question is too long");
    ret_ask->name = STR("AskUserQuestion");
    return json_parse(arena, arena_str(arena, buf_str(&buf)), &ret_ask->input, err);
}

struct rc mcp_ask_read(struct arena *arena, const struct mcp_message *message, struct mcp_ask *ret_ask,
                       struct err *err)
{
    struct mcp_ask ask = {0};
    if (message->tool == MCP_ASK_HUMAN) {
        TRY(question(arena, message->arguments, &ask, err));
    } else {
        TRY(json_want_str(message->arguments, "tool_name", LIMIT_NAME_BYTES, &ask.name, err));
        TRY(json_want_str(message->arguments, "tool_use_id", LIMIT_ID_BYTES, &ask.id, err));
        TRY(json_want_object(message->arguments, "input", &ask.input, err));
    }
    if (str_empty(ask.name) || !ask.input)
        return err_set(err, ERR_INVALID, "\"tool_name\" or \"input\" is missing");
    *ret_ask = ask;
    return RC_OK;
}

/* ---- answers ---- */

static void put_text(struct buf *buf, const struct mcp_message *message, struct str text, bool is_error)
{
    struct json_out out = rpc_open_result(buf, message->id);
    json_open_member(&out, "content", '[');
    rpc_put_text(&out, text);
    json_close(&out, ']');
    json_members(&out, J_BOOL("isError", is_error), J_IF(message->modern, J("resultType", "complete")));
    rpc_close(&out);
}

void mcp_answer_text(struct buf *buf, const struct mcp_message *message, struct str text)
{
    put_text(buf, message, text, false);
}

/* A denial is a result, not an error: the model is to read why. */
static void put_denial(struct buf *buf, const struct mcp_message *message, struct str words, bool interrupt)
{
    JSON_SCOPE(text, out, LIMIT_BODY_BYTES);
    json_object(&out, J("behavior", "deny"), J("message", words), J_FLAG("interrupt", interrupt));
    put_text(buf, message, buf_str(&text), false);
}

void mcp_refuse(struct buf *buf, const struct mcp_message *message, struct str words)
{
    if (message->tool == MCP_APPROVE)
        put_denial(buf, message, words, false);
    else
        put_text(buf, message, words, true);
}

static void put_approval(struct buf *buf, const struct mcp_message *message, const struct call *call)
{
    JSON_SCOPE(text, out, LIMIT_ANSWER_BYTES);
    struct str input = call_effective_input(call);
    json_object(&out, J("behavior", "allow"), J_RAW("updatedInput", str_empty(input) ? STR("{}") : input));
    put_text(buf, message, buf_str(&text), false);
}

/* The person's feedback, or their answer to the question. */
static struct str answer_of(struct arena *arena, const struct call *call)
{
    const struct json *edited = NULL;
    if (!str_empty(call->updated_input) && rc_ok(json_parse(arena, call->updated_input, &edited, NULL))) {
        const struct json *answers = json_get(edited, "answers");
        if (answers && answers->type == JSON_OBJECT && answers->first && answers->first->type == JSON_STRING)
            return answers->first->text;
    }
    return str_empty(call->feedback) ? STR("Yes.") : call->feedback;
}

void mcp_answer_call(struct buf *buf, const struct mcp_message *message, const struct call *call)
{
    ARENA_SCOPE(scratch);
    bool allowed = call->status == CALL_ALLOWED && call_allowed(call);
    if (allowed && message->tool == MCP_APPROVE)
        put_approval(buf, message, call);
    else if (allowed)
        put_text(buf, message, answer_of(&scratch, call), false);
    else if (message->tool == MCP_APPROVE)
        put_denial(buf, message, agent_words(&scratch, call), call->status == CALL_ABORTED);
    else
        put_text(buf, message, agent_words(&scratch, call), true);
}

void mcp_progress(struct buf *buf, const struct mcp_message *message, unsigned times)
{
    struct json_out out = rpc_open_message(buf, NULL, "notifications/progress");
    json_member_raw(&out, "progressToken", message->progress);
    json_key(&out, "progress");
    buf_printf(buf, "0.%06u", times < PROGRESS_MAX ? times : PROGRESS_MAX);
    out.comma = true;
    json_member(&out, "message", STR("waiting for a person"));
    rpc_close(&out);
}

/* ---- what needs nobody ---- */

static void put_initialize(struct buf *buf, const struct mcp_message *message)
{
    struct json_out out = rpc_open_result(buf, message->id);
    struct str wanted = json_text(message->params, "protocolVersion");
    json_members(&out, J("protocolVersion", STR_IN(wanted, versions) ? wanted : str_of(versions[0])),
                 J_RAW("capabilities", STR("{\"tools\":{}}")),
                 J_OBJECT("serverInfo", J("name", "nod"), J("version", STR(NOD_VERSION))));
    rpc_close(&out);
}

static void put_tools(struct buf *buf, const struct mcp_message *message)
{
    struct json_out out = rpc_open_result(buf, message->id);
    JSON_LIST(&out, "tools")
        for (size_t i = 0; i < TOOL_COUNT; i++) {
            json_object(&out, J("name", tools[i].name), J("description", tools[i].words),
                        J_RAW("inputSchema", str_of(tools[i].schema)));
        }
    rpc_close(&out);
}

void mcp_answer(struct buf *buf, const struct mcp_message *message)
{
    CHECK(!mcp_needs_gate(message));
    if (str_empty(message->id) || str_empty(message->method))
        return; /* a notification, or an answer to something we never ask */
    if (str_is(message->method, "initialize")) {
        put_initialize(buf, message);
    } else if (str_is(message->method, "tools/list")) {
        put_tools(buf, message);
    } else if (str_is(message->method, "ping")) {
        struct json_out out = rpc_open_result(buf, message->id);
        rpc_close(&out);
    } else if (str_is(message->method, "tools/call")) {
        rpc_error(buf, message->id, RPC_BAD_PARAMS, STR("there is no such tool"));
    } else {
        rpc_error(buf, message->id, RPC_NO_METHOD, STR("Nod does not know this method"));
    }
}
