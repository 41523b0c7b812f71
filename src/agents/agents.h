/* Other people's agents, each in its own dialect.
 *
 * Pure translation: bytes of an agent's protocol become a struct, and the gate's answer becomes bytes of that
 * protocol again. Nothing here waits, opens or remembers. The processes that carry the bytes are in cli/ (a
 * hook, a wrapper, an MCP server on standard input) and api/ (the same over HTTP).
 *
 * A message that cannot be understood is refused in the agent's own words; no function here can make an allow of
 * anything but a call that the gate says is allowed.
 */
#ifndef AGENTS_AGENTS_H
#define AGENTS_AGENTS_H

#include "base/json.h"
#include "event/call.h"

/* ---- hooks: Claude Code's PreToolUse and PermissionRequest, and what others made of them ---- */

struct agent; /* agents/agent.h */

enum hook_kind {
    HOOK_OTHER,      /* an event that we do not decide: no opinion */
    HOOK_BEFORE,     /* before every call */
    HOOK_PERMISSION, /* when the agent itself would ask a person */
    HOOK_AFTER,      /* a call is over: nobody has to be asked about it any more */
    HOOK_IDLE,       /* the turn is over: none of its dialogs is open any more */
};

/* One message of an agent's hook, in our words, whichever agent it is from. */
struct hook {
    const struct agent *agent;
    enum hook_kind kind;
    struct str event;   /* its name on the wire */
    struct str session; /* the agent's own id of it */
    struct str tool;    /* the agent's name of the tool (event/tool_names.h) */
    struct str call;    /* the agent's id of the call; may be empty */
    struct str cwd;
    bool asks_later;    /* a call without a matching rule comes again as HOOK_PERMISSION, if the agent asks */
    const struct json *input;
};

/* Whether the agent waits for an answer: HOOK_BEFORE and HOOK_PERMISSION. */
static inline bool hook_asks(const struct hook *hook)
{
    return hook->kind == HOOK_BEFORE || hook->kind == HOOK_PERMISSION;
}
/* Reads a hook's message. On failure agent, kind and event are filled in as far as they could be read, for a refusal.
 * */
struct rc hook_read(const struct agent *agent, const struct json *message, struct hook *ret_hook,
                    struct err *err);
/* The answer in the agent's dialect, to a hook that asks. A call that is not allowed is refused, with words. */
void hook_answer(struct buf *out, const struct hook *hook, const struct call *call);
void hook_refuse(struct buf *out, const struct hook *hook, struct str words);
/* The message that the agent would send about this call, for a test. */
void hook_put(struct buf *out, const struct hook *hook);

/* Whether Claude Code, in this mode, asks a person what its rules do not answer. */
bool agent_mode_asks(struct str mode);

/* Words for the agent when its call was not allowed: the person's, or the rule's, or what became of it. */
struct str agent_words(struct arena *arena, const struct call *call);
/* The call in the gate's answer (the members that decide); ERR_INVALID when it is none. */
struct rc agent_call_read(struct arena *arena, const struct json *answer, struct call *ret_call,
                          struct err *err);

#endif
