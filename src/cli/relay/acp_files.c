/* nod acp -p: the agent's files. Each request has passed the gate; whatever it allowed, no file outside the session's
 * folder is read or written, a file is not written through a link, and not if it changed since a person was asked. */
#include "cli/relay/acp.h"

#include "agents/rpc.h"

enum { RPC_FAILED = -32000, RPC_NOT_FOUND = -32002 };

/* Cuts the text to `limit` lines, beginning with line `first`, which is counted from 1. */
static struct str cut_lines(struct str text, int64_t first, int64_t limit)
{
    struct str rest = text;
    for (int64_t line = 1; line < first && !str_empty(rest); line++)
        (void)str_cut(rest, '\n', &rest);
    struct str end = rest;
    for (int64_t line = 0; line < limit && !str_empty(end); line++)
        (void)str_cut(end, '\n', &end);
    return str_sub(rest, 0, rest.n - end.n);
}

static struct rc read_file(struct arena *arena, struct str root, const struct json *params, struct str *ret_text,
                           struct err *err)
{
    struct str within, whole;
    int64_t first = 1, limit = INT64_MAX;
    TRY(json_want_i64(params, "line", 0, INT64_MAX, &first, err));
    TRY(json_want_i64(params, "limit", 0, INT64_MAX, &limit, err));
    TRY(place_within(arena, root, json_text(params, "path"), &within, err));
    TRY(place_read(arena, root, within, &whole, err));
    *ret_text = cut_lines(whole, first, limit);
    return RC_OK;
}

struct rc acp_plan_write(struct arena *arena, struct str root, const struct json *params, struct plan *ret_plan,
                         struct err *err)
{
    struct plan plan = {.after = json_text(params, "content")};
    TRY(place_within(arena, root, json_text(params, "path"), &plan.path, err));
    struct rc rc = place_read(arena, root, plan.path, &plan.before, err);
    plan.is_new = rc.code == ERR_NOT_FOUND;
    if (!plan.is_new)
        TRY(rc);
    *ret_plan = plan;
    return RC_OK;
}

static struct rc write_file(struct arena *arena, struct str root, const struct json *params, const struct plan *asked,
                            struct err *err)
{
    struct plan plan = *asked;
    if (str_empty(plan.path))
        TRY(acp_plan_write(arena, root, params, &plan, err));
    return place_write(arena, root, &plan, err);
}

/* In place of an editor (headless): the call was allowed before this. */
struct rc acp_serve_file(const struct acp *acp, struct acp_session *session, const struct acp_message *message,
                         const struct plan *plan, struct buf *out, struct err *err)
{
    ARENA_SCOPE(arena);
    struct str root = session->gate.cwd, text = STR_NONE;
    bool reads = str_is(message->method, "fs/read_text_file");
    struct rc rc = reads ? read_file(&arena, root, message->params, &text, err)
                         : write_file(&arena, root, message->params, plan, err);
    if (rc.code == ERR_NOT_FOUND && acp->agent->acp.missing_is_empty && reads)
        rc = RC_OK;
    if (rc_bad(rc)) {
        bool missing = rc.code == ERR_NOT_FOUND; /* agents recognize this text of a missing file */
        rpc_error(out, message->id, missing ? RPC_NOT_FOUND : RPC_FAILED,
                  arena_printf(&arena, "%s%s", missing ? "Resource not found: " : "", err->text));
        return rc;
    }
    struct json_out answer = rpc_open_result(out, message->id);
    if (reads)
        json_member_always(&answer, "content", text);
    rpc_close(&answer);
    return RC_OK;
}
