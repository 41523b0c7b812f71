/* Cline. A hook is a program of the event's name in a folder; it gets two minutes. Cline runs the call when the program
 * is cut off, or says nothing that is JSON: ours answers before that, whatever becomes of Nod.
 */
#include "agents/agent.h"

#include "base/limits.h"

static const char program[] =
    "#!/bin/sh\n"
    "# Written by `nod hook install cline`; `nod hook remove cline` takes it away.\n"
    "# nod: {command}\n"
    "answer=$({command})\n"
    "[ -n \"$answer\" ] ||\n"
    "    answer='{\"cancel\":true,\"errorMessage\":\"Nod could not be asked, so this was not allowed\"}'\n"
    "printf '%s\\n' \"$answer\"\n";

static struct rc read_message(const struct agent *agent, const struct json *message, struct hook *ret_hook,
                              struct err *err)
{
    struct hook *hook = ret_hook;
    const struct json *call = json_get(message, "tool_call"), *roots = json_get(message, "workspaceRoots");
    *hook = (struct hook){.agent = agent};
    TRY(json_want_str(message, "hookName", LIMIT_NAME_BYTES, &hook->event, err));
    if (str_empty(hook->event))
        return err_set(err, ERR_INVALID, "this is not a hook's message: it has no \"hookName\"");
    if (!str_is(hook->event, "tool_call"))
        return RC_OK;
    hook->kind = HOOK_BEFORE;
    TRY(json_want_str(message, "taskId", LIMIT_ID_BYTES, &hook->session, err));
    TRY(json_want_str(call, "id", LIMIT_ID_BYTES, &hook->call, err));
    TRY(json_want_str(call, "name", LIMIT_NAME_BYTES, &hook->tool, err));
    TRY(json_want_object(call, "input", &hook->input, err));
    if (roots && roots->first && roots->first->type == JSON_STRING && roots->first->text.n <= LIMIT_PATH_BYTES)
        hook->cwd = roots->first->text;
    if (str_empty(hook->tool) || !hook->input || str_empty(hook->session))
        return err_set(err, ERR_INVALID, "the hook's message lacks taskId or tool_call");
    return RC_OK;
}

static void put_message(struct buf *buf, const struct hook *hook)
{
    struct json_out out = json_out(buf);
    json_object(&out, J("hookName", hook->event), J("taskId", hook->session),
                J_LIST("workspaceRoots", J_ALWAYS(NULL, hook->cwd)),
                J_OBJECT("tool_call", J("id", hook->call), J("name", hook->tool), J_RAW("input", hook->input->raw)));
}

static void allow(struct buf *buf, const struct hook *hook, struct str edited, struct str words)
{
    struct json_out out = json_out(buf);
    (void)hook, (void)words;
    json_object(&out, J_BOOL("cancel", false), J_RAW("overrideInput", edited));
}

static void deny(struct buf *buf, const struct hook *hook, struct str words)
{
    struct json_out out = json_out(buf);
    (void)hook;
    json_object(&out, J_BOOL("cancel", true), J("errorMessage", words));
}

static const struct agent_event events[] = {{"tool_call", HOOK_BEFORE, 1}, {NULL, HOOK_OTHER, 0}};

const struct agent agent_cline = {
    .name = "cline",
    .title = "Cline",
    .hooks = {.events = events, .shell = "run_commands", .edits = HOOK_BIT(HOOK_BEFORE), .nothing = "{}",
              .read = read_message, .put = put_message, .allow = allow, .deny = deny},
    .place = {.variable = "CLINE_DIR", .folder = ".cline", .file = "hooks/PreToolUse", .text = program, .runs = true,
              .seconds = 120,
              .words = "Cline gives a hook two minutes: a person who takes longer answers too late, and the call is "
                       "denied. A denial ends its turn. Cline runs the call when this program is not there or "
                       "cannot be started."},
};
