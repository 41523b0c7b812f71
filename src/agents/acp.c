/* Messages of the Agent Client Protocol, read and written (acp.h). Pure. */
#include "agents/acp.h"

#include "agents/rpc.h"
#include "base/limits.h"

enum { ASK_BYTES_MAX = 16 << 20 };

/* A member whose name differs from a known one only in the case of its letters is refused: some readers would take it
 * for that one. */
struct rc acp_read(struct arena *arena, struct str line, struct acp_message *ret_message, struct err *err)
{
    struct acp_message *m = ret_message;
    *m = (struct acp_message){0};
    TRY(json_parse_given(arena, line, &m->json, err));
    if (m->json->type != JSON_OBJECT)
        return err_set(err, ERR_INVALID, "it is not an object");
    if (!rpc_is_plain(m->json))
        return err_set(err, ERR_INVALID, "a member's name is not spelled as the protocol has it");
    m->id = rpc_id(json_get(m->json, "id"));
    m->method = json_text(m->json, "method");
    m->params = json_get(m->json, "params");
    m->session = json_text(m->params, "sessionId");
    return RC_OK;
}

/* ---- what is known of a tool call ---- */

static bool says_something(const struct json *value)
{
    return value && value->type != JSON_NULL && !(value->type == JSON_STRING && str_empty(value->text)) &&
           !((value->type == JSON_OBJECT || value->type == JSON_ARRAY) && value->count == 0);
}

/* Agents tell of a tool in several updates; later ones replace what earlier ones said. */
void acp_tool_learn(struct arena *arena, struct acp_tool *tool, const struct json *update)
{
    const struct {
        const char *name;
        struct str *to;
    } members[] = {{"title", &tool->title},       {"kind", &tool->kind},           {"rawInput", &tool->input},
                   {"content", &tool->content},   {"locations", &tool->locations}, {"_meta", &tool->meta}};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const struct json *value = json_get(update, members[i].name);
        if (says_something(value))
            *members[i].to = arena_str(arena, value->raw);
    }
}

/* The members of a permission request by which the agent's call is recognized. */
struct acp_reading {
    struct arena *arena;
    const struct agent *agent;
    const struct json *title, *kind, *input, *content, *locations, *meta;
    struct acp_ask *ask;
};

static const struct json *parsed(struct arena *arena, struct str raw)
{
    const struct json *value = NULL;
    return raw.n && rc_ok(json_parse(arena, raw, &value, NULL)) ? value : NULL;
}

static struct str text_of(const struct json *value)
{
    return value && value->type == JSON_STRING ? value->text : STR_NONE;
}

static struct rc finish(struct acp_reading *r, struct buf *buf, struct err *err)
{
    if (buf->over)
        return err_set(err, ERR_TOO_LARGE, "the call is too large to be shown to anybody");
    r->ask->input = arena_str(r->arena, buf_str(buf));
    return RC_OK;
}

/* The command is a text, or a list of words: ["sh","-lc",text] is the text, any other list exactly these words. */
static struct rc read_command(struct acp_reading *r, struct err *err)
{
    JSON_SCOPE(buf, out, ASK_BYTES_MAX);
    const struct json *command = json_get(r->input, "command");
    if (!command)
        command = json_get(r->input, "cmd");
    r->ask->command = text_of(command);
    r->ask->cwd = json_text(r->input, "cwd");
    json_open(&out, '{');
    if (command) {
        r->ask->name = STR("shell");
        r->ask->dialect = STR("codex");
        json_members(&out, J_RAW("command", command->raw), J("workdir", json_text(r->input, "cwd")));
    } else {
        r->ask->name = STR("run_shell_command");
        r->ask->dialect = STR("acp"); /* an unknown dialect: only deny rules apply */
        json_member(&out, "command", text_of(r->title));
    }
    json_close(&out, '}');
    return finish(r, &buf, err);
}

static const struct json *next_diff(const struct json *block)
{
    while (block && !str_is(json_text(block, "type"), "diff"))
        block = block->next;
    return block;
}

static void put_lines(struct buf *buf, char mark, struct str text)
{
    STR_EACH(line, text, '\n') {
        buf_putc(buf, mark);
        BUF_ADD(buf, line, STR("\n"));
    }
}

/* Several files in one call: a patch of them all. */
static struct rc read_patch(struct acp_reading *r, const struct json *first, struct err *err)
{
    BUF_SCOPE(patch, ASK_BYTES_MAX);
    JSON_SCOPE(buf, out, ASK_BYTES_MAX);
    buf_puts(&patch, "*** Begin Patch\n");
    for (const struct json *diff = first; diff; diff = next_diff(diff->next)) {
        const struct json *old = json_get(diff, "oldText");
        buf_printf(&patch, "*** %s File: %.*s\n", says_something(old) ? "Update" : "Add",
                   STR_ARG(json_text(diff, "path")));
        if (says_something(old))
            buf_puts(&patch, "@@\n");
        put_lines(&patch, '-', text_of(old));
        put_lines(&patch, '+', json_text(diff, "newText"));
    }
    buf_puts(&patch, "*** End Patch\n");
    r->ask->name = STR("apply_patch");
    r->ask->dialect = STR("codex");
    json_object(&out, J("patch", buf_str(&patch)));
    if (patch.over)
        buf.over = true;
    return finish(r, &buf, err);
}

/* A change with an old text is an edit, one without writes the whole file; several files become one patch. */
static struct rc read_edit(struct acp_reading *r, const struct json *diff, struct err *err)
{
    JSON_SCOPE(buf, out, ASK_BYTES_MAX);
    const struct json *old = json_get(diff, "oldText"), *new = json_get(diff, "newText");
    if (str_empty(json_text(diff, "path")) || !new || new->type != JSON_STRING)
        return err_set(err, ERR_INVALID, "its difference has no path or no new text");
    if (next_diff(diff->next))
        return read_patch(r, diff, err);
    r->ask->path = json_text(diff, "path");
    r->ask->text = new->text;
    r->ask->old = text_of(old);
    r->ask->name = says_something(old) ? STR("Edit") : STR("Write");
    json_object(&out, J("file_path", r->ask->path), J_IF(says_something(old), J_RAW("old_string", old->raw)),
                J_RAW(says_something(old) ? "new_string" : "content", new->raw));
    return finish(r, &buf, err);
}

static struct rc read_simple(struct acp_reading *r, const char *name, const char *field, struct str value,
                             struct err *err)
{
    JSON_SCOPE(buf, out, ASK_BYTES_MAX);
    r->ask->name = str_of(name);
    json_object(&out, J(field, value));
    return finish(r, &buf, err);
}

/* A kind that Nod cannot read goes under a name of its own, so that no rule about a known tool applies to it. */
static struct rc read_other(struct acp_reading *r, struct err *err)
{
    JSON_SCOPE(buf, out, ASK_BYTES_MAX);
    struct str kind = text_of(r->kind);
    r->ask->name = arena_printf(r->arena, "acp__%s__%.*s", r->agent->name, (int)(kind.n > 40 ? 40 : kind.n),
                                kind.n ? kind.p : "other");
    json_object(&out, J("title", text_of(r->title)), J_IF(r->input, J_RAW("input", r->input->raw)),
                J_IF(r->content, J_RAW("content", r->content->raw)),
                J_IF(r->locations, J_RAW("locations", r->locations->raw)));
    return finish(r, &buf, err);
}

/* The tool's name in Claude Code, which its ACP adapter sends with the request. */
static struct str own_name(const struct acp_reading *r)
{
    struct str name = json_text(json_get(r->meta, "claudeCode"), "toolName");
    return r->input && r->input->type == JSON_OBJECT && name.n <= LIMIT_NAME_BYTES / 2 ? name : STR_NONE;
}

/* Turns the tool call that the agent shows into a call of a tool that rules know. The order matters: a command may
 * also show a difference. */
struct rc acp_ask_read(struct arena *arena, const struct agent *agent, const struct acp_tool *tool,
                       struct acp_ask *ret_ask, struct err *err)
{
    struct acp_reading r = {.arena = arena, .agent = agent, .ask = ret_ask, .title = parsed(arena, tool->title),
                            .kind = parsed(arena, tool->kind), .input = parsed(arena, tool->input),
                            .content = parsed(arena, tool->content), .locations = parsed(arena, tool->locations),
                            .meta = parsed(arena, tool->meta)};
    *ret_ask = (struct acp_ask){0};
    const struct json *blocks = r.content && r.content->type == JSON_ARRAY ? r.content->first : NULL;
    const struct json *diff = next_diff(blocks);
    const struct json *place = r.locations && r.locations->type == JSON_ARRAY ? r.locations->first : NULL;
    struct str kind = text_of(r.kind), name = own_name(&r);
    if (!str_empty(name)) {
        ret_ask->name = name;
        ret_ask->input = r.input->raw;
        return RC_OK;
    }
    if (str_is(kind, "execute"))
        return read_command(&r, err);
    if (diff)
        return read_edit(&r, diff, err);
    if (str_is(kind, "read") && !str_empty(json_text(place, "path")))
        return read_simple(&r, "Read", "file_path", json_text(place, "path"), err);
    if (str_is(kind, "fetch") && !str_empty(json_text(r.input, "url")))
        return read_simple(&r, "WebFetch", "url", json_text(r.input, "url"), err);
    return read_other(&r, err);
}
