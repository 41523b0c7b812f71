/* Requests of ACP that are acts themselves, and the messages that a relay makes. */
#include "agents/acp.h"

#include "agents/forms.h"
#include "agents/mcp_front.h"
#include "agents/rpc.h"

enum { ACT_BYTES_MAX = 16 << 20 };

/* ---- acts ---- */

static bool is_list(const struct json *value)
{
    return !value || value->type == JSON_NULL || value->type == JSON_ARRAY;
}

static bool is_string(const struct json *value) { return value && value->type == JSON_STRING; }

static bool is_word(struct str text, const char *more)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && !strchr(more, c))
            return false;
    }
    return !str_empty(text);
}

/* False: the line that is shown may be read otherwise than the editor runs it. A variable named "ls #" hides the
 * command behind it. A command with blanks or signs of the shell is a line for one editor and a program's name for
 * another. */
static bool runs_as_shown(const struct json *params)
{
    for (const struct json *one = json_first(params, "env"); one; one = one->next)
        if (!is_word(json_text(one, "name"), "_"))
            return false;
    return is_word(json_text(params, "command"), "_./+-@:,%");
}

/* The editor would run exactly these words: a list that cannot be read is refused and not shown in part. */
static struct rc check_lists(const struct json *params, struct err *err)
{
    const struct json *args = json_get(params, "args"), *env = json_get(params, "env");
    bool good = is_list(args) && is_list(env);
    for (const struct json *one = good && args ? args->first : NULL; one; one = one->next)
        good = good && is_string(one);
    for (const struct json *one = good && env ? env->first : NULL; one; one = one->next)
        good = good && is_string(json_get(one, "name")) && is_string(json_get(one, "value"));
    return good ? RC_OK : err_set(err, ERR_INVALID, "the command's arguments or environment variables cannot be read");
}

/* The command as one line for the shell: program and arguments quoted. */
static struct str line_of(struct arena *arena, const struct json *params)
{
    BUF_SCOPE(buf, ACT_BYTES_MAX);
    for (const struct json *one = json_first(params, "env"); one; one = one->next) {
        BUF_ADD(&buf, json_text(one, "name"), STR("="));
        buf_put_quoted(&buf, json_text(one, "value"));
        buf_putc(&buf, ' ');
    }
    buf_put(&buf, json_text(params, "command"));
    for (const struct json *arg = json_first(params, "args"); arg; arg = arg->next) {
        buf_putc(&buf, ' ');
        buf_put_quoted(&buf, arg->text);
    }
    return buf.over ? STR_NONE : arena_str(arena, buf_str(&buf));
}

bool acp_acts(struct str method)
{
    static const char *const harmless[] = {"terminal/output", "terminal/wait_for_exit", "terminal/kill",
                                           "terminal/release"}; /* of a terminal that was asked about */
    if (STR_IN(method, harmless))
            return false;
    return str_starts(method, STR("fs/")) || str_starts(method, STR("terminal/")) || str_starts(method, STR("mcp/"));
}

bool acp_offer_forms(struct buf *out, const struct acp_message *initialize)
{
    if (!forms_offer(out, initialize->json, "clientCapabilities", STR("{\"form\":{}}")))
        return false;
    buf_putc(out, '\n');
    return true;
}

/* ---- modes ---- */

static bool names_mode(struct str option)
{
    return str_is(option, "mode") || str_is(option, "permission_mode") || str_is(option, "approval_policy");
}

struct str acp_mode_wanted(const struct acp_message *message)
{
    const struct json *params = message->params;
    if (str_is(message->method, "session/set_mode"))
        return json_text(params, "modeId");
    bool mode = str_is(message->method, "session/set_config_option") && names_mode(json_text(params, "configId"));
    return mode ? json_text(params, "value") : STR_NONE;
}

static struct str unsafe(const struct agent *agent, const struct json *mode)
{
    struct str name = is_string(mode) && !str_empty(mode->text) ? mode->text : STR("one that cannot be read");
    return acp_mode_is_safe(agent, name) ? STR_NONE : name;
}

/* Agents name their mode in three places. Returns the first that is not safe; empty when none is. */
struct str acp_mode_unsafe(const struct agent *agent, const struct json *told)
{
    const struct json *modes = json_get(told, "modes");
    struct str found = STR_NONE;
    if (str_is(json_text(told, "sessionUpdate"), "current_mode_update"))
        return unsafe(agent, json_get(told, "currentModeId"));
    if (modes && modes->type == JSON_OBJECT)
        found = unsafe(agent, json_get(modes, "currentModeId"));
    for (const struct json *one = json_first(told, "configOptions"); one && str_empty(found); one = one->next)
        if (str_is(json_text(one, "category"), "mode") || names_mode(json_text(one, "id")))
            found = unsafe(agent, json_get(one, "currentValue"));
    return found;
}

/* ---- what is asked about an act ---- */

static struct rc read_terminal(struct arena *arena, const struct json *params, struct json_out *out,
                               struct acp_ask *ask, struct err *err)
{
    TRY(check_lists(params, err));
    bool plain = runs_as_shown(params);
    ask->name = plain ? STR("Bash") : STR("run_shell_command");
    ask->dialect = plain ? STR_NONE : STR("acp"); /* an unknown dialect: only deny rules apply */
    ask->command = line_of(arena, params);
    ask->cwd = json_text(params, "cwd");
    if (str_empty(ask->command))
        return err_set(err, ERR_TOO_LARGE, "the command is too large to be shown to anybody");
    json_member(out, "command", ask->command);
    return RC_OK;
}

/* Requests to the editor that act. One that is not known is refused, since it may act, too. */
static struct rc read_act(struct arena *arena, const struct acp_message *message, struct json_out *out,
                          struct acp_ask *ask, struct err *err)
{
    const struct json *params = message->params, *content = json_get(params, "content");
    struct str path = json_text(params, "path"), method = message->method;
    if (str_is(method, "fs/write_text_file") && !str_empty(path) && is_string(content)) {
        ask->name = STR("Write");
        ask->path = path;
        ask->text = content->text;
        json_members(out, J("file_path", path), J_RAW("content", content->raw));
    } else if (str_is(method, "fs/read_text_file") && !str_empty(path)) {
        ask->name = STR("Read");
        json_member(out, "file_path", path);
    } else if (str_is(method, "terminal/create") && !str_empty(json_text(params, "command"))) {
        return read_terminal(arena, params, out, ask, err);
    } else {
        return err_set(err, ERR_INVALID, "Nod does not know this request, or cannot read it");
    }
    return RC_OK;
}

/* `mode` is not empty for a change of the agent's mode, which is asked about like a tool. */
struct rc acp_act_read(struct arena *arena, const struct acp_message *message, struct str mode,
                       struct acp_ask *ret_ask, struct err *err)
{
    JSON_SCOPE(buf, out, ACT_BYTES_MAX);
    struct str cwd = json_text(message->params, "cwd");
    static const char *const names[] = {"path", "content", "command", "args", "env", "cwd", "sessionId", NULL};
    *ret_ask = (struct acp_ask){0};
    if (!rpc_spelled(message->params, names))
        return err_set(err, ERR_INVALID, "a member's name is not spelled as the protocol has it");
    if (!str_empty(cwd) && cwd.p[0] != '/')
        return err_set(err, ERR_INVALID, "the folder must be an absolute path");
    if (str_is(message->method, "elicitation/create")) {
        ret_ask->name = STR("Elicitation");
        form_put(&out, STR("the agent"), message->params);
    } else if (str_empty(mode)) {
        json_open(&out, '{');
        TRY(read_act(arena, message, &out, ret_ask, err));
        json_close(&out, '}');
    } else {
        ret_ask->name = STR("SwitchMode");
        json_object(&out, J("mode", mode));
    }
    if (buf.over)
        return err_set(err, ERR_TOO_LARGE, "the call is too large to be shown to anybody");
    ret_ask->input = arena_str(arena, buf_str(&buf));
    return RC_OK;
}

/* ---- answers ---- */

static void put_outcome(struct buf *buf, struct str id, struct str option)
{
    struct json_out out = rpc_open_result(buf, id);
    json_members(&out, J_OBJECT("outcome", J("outcome", str_empty(option) ? "cancelled" : "selected"),
                                J("optionId", option)));
    rpc_close(&out);
}

/* The first option of a kind. A switch of the mode may only be one that goes on asking; of two that refuse, it is the
 * one that lets the turn go on. */
static struct str option_of(const struct agent *agent, const struct json *params, const char *kind)
{
    bool switches = str_is(json_text(json_get(params, "toolCall"), "kind"), "switch_mode");
    struct str ends = STR_NONE;
    for (const struct json *o = json_first(params, "options"); o; o = o->next) {
        struct str id = json_text(o, "optionId");
        if (!str_is(json_text(o, "kind"), kind) || str_empty(id))
            continue;
        if (switches && str_starts(str_of(kind), STR("allow")) && !acp_mode_is_safe(agent, id))
            continue;
        if (!str_is(id, "abort"))
            return id;
        ends = id;
    }
    return ends;
}

/* Of the options that allow, only "once" is chosen: an "always" would be the agent's own memory, beyond our rules.
 * False: it could not be allowed. */
bool acp_answer(struct buf *out, const struct agent *agent, const struct acp_message *ask, bool allowed)
{
    struct str option = allowed ? option_of(agent, ask->params, "allow_once") : STR_NONE;
    bool found = !str_empty(option);
    if (!found)
        option = option_of(agent, ask->params, "reject_once");
    if (str_empty(option))
        option = option_of(agent, ask->params, "reject_always");
    put_outcome(out, ask->id, option);
    return found == allowed;
}

void acp_answer_cancelled(struct buf *out, struct str id) { put_outcome(out, id, STR_NONE); }

/* ---- messages of our own ---- */

void acp_tool_failed(struct buf *buf, struct str session, struct str tool, struct str words)
{
    struct json_out out = rpc_open_message(buf, NULL, "session/update");
    json_member(&out, "sessionId", session);
    json_open_member(&out, "update", '{');
    json_members(&out, J("sessionUpdate", "tool_call_update"), J("toolCallId", tool), J("status", "failed"));
    json_open_member(&out, "content", '[');
    json_open(&out, '{');
    json_member(&out, "type", STR("content"));
    json_key(&out, "content");
    rpc_put_text(&out, words);
    json_close(&out, '}');
    json_close(&out, ']');
    json_close(&out, '}');
    rpc_close(&out);
}

void acp_cancel_turn(struct buf *buf, struct str session)
{
    struct json_out out = rpc_open_message(buf, NULL, "session/cancel");
    json_member(&out, "sessionId", session);
    rpc_close(&out);
}

/* A member of the params that is written by us. */
struct ours {
    const char *key;
    struct str value; /* JSON; empty: it stays as it is */
};

static bool is_among(const struct ours *ours, size_t count, struct str key)
{
    return ANY(size_t i = 0; i < count; i++, str_is(key, ours[i].key) && !str_empty(ours[i].value));
}

/* The message as it came but for our members; everything else keeps its bytes. */
static void put_changed(struct buf *buf, const struct acp_message *request, const struct ours *ours, size_t count)
{
    struct json_out out = json_out(buf);
    json_open(&out, '{');
    for (const struct json *m = request->json->first; m; m = m->next) {
        json_key_str(&out, m->key);
        if (!str_is(m->key, "params")) {
            json_put_raw(&out, m->raw);
            continue;
        }
        json_open(&out, '{');
        for (const struct json *p = m->first; p; p = p->next)
            if (!is_among(ours, count, p->key))
                json_put_member(&out, p);
        for (size_t i = 0; i < count; i++)
            json_member_raw(&out, ours[i].key, ours[i].value);
        json_close(&out, '}');
    }
    json_close(&out, '}');
    json_end_line(&out);
}

void acp_put_prompt(struct buf *out, const struct acp_message *prompt, struct str words)
{
    JSON_SCOPE(blocks, list, ACT_BYTES_MAX * 2);
    json_open(&list, '[');
    rpc_put_text(&list, words);
    for (const struct json *block = json_first(prompt->params, "prompt"); block; block = block->next)
        json_put_raw(&list, block->raw);
    json_close(&list, ']');
    put_changed(out, prompt, &(struct ours){"prompt", buf_str(&blocks)}, 1);
}

/* ---- MCP servers ---- */

static void put_variable(struct json_out *out, struct str name, struct str value)
{
    json_object(out, J("name", name), J_ALWAYS("value", value));
}

/* The server's program becomes an argument of our proxy; its variables stay with it. */
static void put_server(struct json_out *out, struct arena *arena, const struct json *server,
                       const struct mcp_front *front, const char *self)
{
    const struct json *env = json_get(server, "env");
    struct str name, value;
    json_open(out, '{');
    json_members(out, J("name", front->name), J("command", self));
    json_key(out, "args");
    mcp_front_args(out, arena, front);
    json_open_member(out, "env", '[');
    for (const struct json *one = env && env->type == JSON_ARRAY ? env->first : NULL; one; one = one->next)
        json_put_raw(out, one->raw);
    for (unsigned i = 0; mcp_front_variable(arena, front, i, &name, &value); i++)
        put_variable(out, name, value);
    json_close(out, ']');
    json_close(out, '}');
}

/* The editor's own "_meta" is ignored where we have one: it could undo our setting. */
unsigned acp_put_session(struct buf *out, struct arena *arena, const struct acp_message *request, const char *meta,
                         const char *self, const char *identity)
{
    JSON_SCOPE(list, servers, ACT_BYTES_MAX);
    const struct json *given = json_get(request->params, "mcpServers");
    unsigned left_out = 0;
    JSON_LIST(&servers, NULL)
        for (const struct json *one = given && given->type == JSON_ARRAY ? given->first : NULL; one; one = one->next) {
            struct mcp_front front = {0};
            bool read = self && mcp_front_read(one, &front);
            front.name = json_text(one, "name");
            front.identity = identity;
            if (read)
                put_server(&servers, arena, one, &front, self);
            else
                left_out++;
        }
    const struct ours ours[] = {{"_meta", str_of(meta)}, {"mcpServers", given ? buf_str(&list) : STR_NONE}};
    if (list.over)
        out->over = true;
    else
        put_changed(out, request, ours, 2);
    return left_out;
}

/* ---- the client's side ---- */

void acp_initialize(struct buf *buf, bool serves)
{
    struct json_out out = rpc_open_message(buf, "nod:init", "initialize");
    json_members(&out, J("protocolVersion", 1),
                 J_OBJECT("clientCapabilities",
                          J_OBJECT("fs", J_BOOL("readTextFile", serves), J_BOOL("writeTextFile", serves)),
                          J_BOOL("terminal", serves)),
                 J_RAW("clientInfo", STR("{\"name\":\"nod\",\"title\":\"Nod\",\"version\":\"" NOD_VERSION "\"}")));
    rpc_close(&out);
}

void acp_new_session(struct buf *buf, struct str cwd)
{
    struct json_out out = rpc_open_message(buf, "nod:new", "session/new");
    json_members(&out, J("cwd", cwd), J_RAW("mcpServers", STR("[]")));
    rpc_close(&out);
}

void acp_prompt(struct buf *buf, struct str session, struct str text)
{
    struct json_out out = rpc_open_message(buf, "nod:prompt", "session/prompt");
    json_member(&out, "sessionId", session);
    json_open_member(&out, "prompt", '[');
    rpc_put_text(&out, text);
    json_close(&out, ']');
    rpc_close(&out);
}

void acp_authenticate(struct buf *buf, struct str method)
{
    struct json_out out = rpc_open_message(buf, "nod:auth", "authenticate");
    json_member(&out, "methodId", method);
    rpc_close(&out);
}
