/* Codex' app-server, read and written (codex_app.h). Pure. A patch that Codex announces as a list of changes is
 * written as one patch text, which the gate can show and judge. */
#include "agents/codex_app.h"

#include "agents/rpc.h"
#include "base/limits.h"

enum { ASK_BYTES_MAX = 16 << 20, NO_METHOD = -32601 };

struct rc codex_read(struct arena *arena, struct str line, struct codex_message *ret_message, struct err *err)
{
    struct codex_message *m = ret_message;
    *m = (struct codex_message){0};
    TRY(json_parse_given(arena, line, &m->json, err));
    if (m->json->type != JSON_OBJECT)
        return err_set(err, ERR_INVALID, "it is not an object");
    m->id = rpc_id(json_get(m->json, "id"));
    m->method = json_text(m->json, "method");
    m->params = json_get(m->json, "params");
    m->thread = json_text(m->params, "threadId");
    m->turn = json_text(m->params, "turnId");
    m->item = json_text(m->params, "itemId");
    return RC_OK;
}

/* ---- asks ---- */

static bool asks_for_tool(const struct codex_message *m)
{
    return str_is(m->method, "mcpServer/elicitation/request") &&
           str_is(json_text(json_get(m->params, "_meta"), "codex_approval_kind"), "mcp_tool_call");
}

enum codex_ask_kind codex_ask_kind(const struct codex_message *m)
{
    if (str_is(m->method, "item/commandExecution/requestApproval") ||
        str_is(m->method, "item/fileChange/requestApproval"))
        return CODEX_ACT;
    return asks_for_tool(m) ? CODEX_TOOL : CODEX_NONE;
}

/* The text of `/bin/bash -lc TEXT`, where TEXT is one word whose quotes can be taken off as they are; else the line. */
static struct str inner_command(struct str line)
{
    static const char before[] = "/bin/bash -lc ";
    if (!str_starts(line, str_of(before)))
        return line;
    struct str word = str_sub(line, strlen(before), line.n);
    bool quoted = word.n > 2 && word.p[0] == '\'' && word.p[word.n - 1] == '\'';
    struct str text = quoted ? str_sub(word, 1, word.n - 1) : word;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (quoted ? c == '\'' : !letter && !strchr("_./:=@%+,-", c))
            return line;
    }
    return text.n ? text : line;
}

static struct rc read_command(const struct codex_message *m, struct json_out *out, struct codex_ask *ask,
                              struct err *err)
{
    struct str command = json_text(m->params, "command"), kind = json_text(m->params, "kind");
    static const char *const more[] = {"networkApprovalContext", "additionalPermissions"};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        const struct json *wanted = json_get(m->params, more[i]);
        if (wanted && wanted->type != JSON_NULL)
            return err_set(err, ERR_INVALID, "it would allow more than the command: %s", more[i]);
    }
    if (str_empty(command) || !(str_empty(kind) || str_is(kind, "command")))
        return err_set(err, ERR_INVALID, "Nod does not know what this would do");
    ask->name = STR("Bash");
    ask->cwd = json_text(m->params, "cwd");
    json_member(out, "command", inner_command(command));
    return RC_OK;
}

/* Lines of a file that is new get a plus; those of a difference have their marks. */
static bool put_lines(struct buf *patch, struct str text, bool is_new)
{
    STR_EACH(line, text, '\n') {
        if (is_new)
            buf_putc(patch, '+');
        else if (line.n && !strchr(" +-@\\", line.p[0]))
            return false;
        BUF_ADD(patch, line, STR("\n"));
    }
    return true;
}

static bool put_change(struct buf *patch, const struct json *change)
{
    const struct json *kind = json_get(change, "kind"), *diff = json_get(change, "diff");
    struct str path = json_text(change, "path"), type = json_text(kind, "type"), to = json_text(kind, "move_path");
    bool adds = str_is(type, "add"), deletes = str_is(type, "delete");
    if (str_empty(path) || str_find(path, '\n') < path.n || str_find(to, '\n') < to.n ||
        !(adds || deletes || str_is(type, "update")))
        return false;
    buf_printf(patch, "*** %s File: %.*s\n", adds ? "Add" : deletes ? "Delete" : "Update", STR_ARG(path));
    if (!str_empty(to))
        buf_printf(patch, "*** Move to: %.*s\n", STR_ARG(to));
    return deletes || (diff && diff->type == JSON_STRING && put_lines(patch, diff->text, adds));
}

static struct rc read_patch(struct arena *arena, const struct codex_message *m, struct str item, struct json_out *out,
                            struct codex_ask *ask, struct err *err)
{
    BUF_SCOPE(patch, ASK_BYTES_MAX);
    const struct json *known = NULL, *root = json_get(m->params, "grantRoot");
    if (str_empty(item) || rc_bad(json_parse(arena, item, &known, NULL)))
        return err_set(err, ERR_INVALID, "Codex did not say what it would change");
    if (root && root->type != JSON_NULL)
        return err_set(err, ERR_INVALID, "Codex wants to write to a whole folder without asking again");
    const struct json *changes = json_get(known, "changes");
    bool good = changes && changes->type == JSON_ARRAY && changes->first;
    buf_puts(&patch, "*** Begin Patch\n");
    for (const struct json *one = good ? changes->first : NULL; one && good; one = one->next)
        good = put_change(&patch, one);
    buf_puts(&patch, "*** End Patch\n");
    if (!good || patch.over)
        return err_set(err, ERR_INVALID, "its changes cannot be read, or are too many to be shown");
    ask->name = STR("apply_patch");
    ask->dialect = STR("codex");
    json_member(out, "patch", buf_str(&patch));
    return RC_OK;
}

/* The ask names the server; its tool is that of the announced item. */
static struct rc read_tool(struct arena *arena, const struct codex_message *m, struct str item, struct codex_ask *ask,
                           struct err *err)
{
    const struct json *known = NULL;
    struct str server = json_text(m->params, "serverName");
    if (str_empty(item) || rc_bad(json_parse(arena, item, &known, NULL)) || !str_eq(json_text(known, "server"), server))
        return err_set(err, ERR_INVALID, "Codex did not say which tool it would call");
    struct str tool = json_text(known, "tool");
    const struct json *arguments = json_get(known, "arguments");
    if (str_empty(server) || str_empty(tool) || server.n + tool.n > LIMIT_NAME_BYTES / 2)
        return err_set(err, ERR_INVALID, "the name of its tool cannot be read");
    ask->name = arena_printf(arena, "mcp__%.*s__%.*s", STR_ARG(server), STR_ARG(tool));
    ask->input = arguments && arguments->type == JSON_OBJECT ? arguments->raw : STR("{}");
    return RC_OK;
}

struct rc codex_ask_read(struct arena *arena, const struct codex_message *m, struct str item,
                         struct codex_ask *ret_ask, struct err *err)
{
    JSON_SCOPE(buf, out, ASK_BYTES_MAX * 2);
    *ret_ask = (struct codex_ask){0};
    if (codex_ask_kind(m) == CODEX_TOOL)
        return read_tool(arena, m, item, ret_ask, err);
    json_open(&out, '{');
    TRY(str_is(m->method, "item/fileChange/requestApproval") ? read_patch(arena, m, item, &out, ret_ask, err)
                                                             : read_command(m, &out, ret_ask, err));
    json_close(&out, '}');
    if (buf.over)
        return err_set(err, ERR_TOO_LARGE, "the call is too large to be shown to anybody");
    ret_ask->input = arena_str(arena, buf_str(&buf));
    return RC_OK;
}

/* ---- answers ---- */

static struct json_out open_answer(struct buf *buf, struct str id, const char *member)
{
    struct json_out out = json_out(buf);
    json_open(&out, '{');
    json_member_raw(&out, "id", id);
    json_open_member(&out, member, '{');
    return out;
}

void codex_answer(struct buf *buf, const struct codex_message *m, enum codex_decision decision)
{
    struct json_out out = open_answer(buf, m->id, "result");
    if (codex_ask_kind(m) == CODEX_TOOL) {
        json_members(&out, J("action", decision == CODEX_ACCEPT ? "accept" : "decline"), J_NULL("content"));
    } else {
        json_member(&out, "decision", decision == CODEX_ACCEPT    ? STR("accept")
                                      : decision == CODEX_DECLINE ? STR("decline")
                                                                  : STR("cancel"));
    }
    rpc_close(&out);
}

void codex_refuse(struct buf *buf, struct str id, struct str words)
{
    struct json_out out = open_answer(buf, id, "error");
    json_members(&out, J("code", NO_METHOD), J("message", words));
    rpc_close(&out);
}

/* ---- our own ---- */

static struct json_out open_request(struct buf *buf, const char *id, const char *method)
{
    struct json_out out = json_out(buf);
    json_open(&out, '{');
    json_members(&out, J("id", id), J("method", method));
    json_open_member(&out, "params", '{');
    return out;
}

void codex_initialize(struct buf *buf)
{
    struct json_out out = open_request(buf, "nod:init", "initialize");
    json_member_raw(&out, "clientInfo", STR("{\"name\":\"nod\",\"title\":\"Nod\",\"version\":\"" NOD_VERSION "\"}"));
    rpc_close(&out);
}

void codex_initialized(struct buf *out) { buf_puts(out, "{\"method\":\"initialized\"}\n"); }

void codex_start_thread(struct buf *buf, struct str cwd)
{
    struct json_out out = open_request(buf, "nod:thread", "thread/start");
    json_members(&out, J("cwd", cwd), J("approvalPolicy", "untrusted"));
    json_member(&out, "approvalsReviewer", STR("user")); /* and not a model */
    json_member(&out, "sandbox", STR("danger-full-access")); /* in one, it asks again about what it may not do there */
    rpc_close(&out);
}

static void put_input(struct json_out *out, struct str text)
{
    json_open_member(out, "input", '[');
    rpc_put_text(out, text);
    json_close(out, ']');
}

void codex_start_turn(struct buf *buf, struct str thread, struct str text)
{
    struct json_out out = open_request(buf, "nod:turn", "turn/start");
    json_member(&out, "threadId", thread);
    put_input(&out, text);
    rpc_close(&out);
}

void codex_steer(struct buf *buf, struct str thread, struct str turn, struct str text)
{
    struct json_out out = open_request(buf, "nod:words", "turn/steer");
    json_members(&out, J("threadId", thread), J("expectedTurnId", turn));
    put_input(&out, text);
    rpc_close(&out);
}
