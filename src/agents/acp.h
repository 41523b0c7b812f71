/* The Agent Client Protocol, version 1, as a relay between an editor and an agent reads it.
 *
 * Pure: a message becomes a struct, a decision becomes bytes. Agents name no tool; an ask says what kind of act it is,
 * shows a title, differences and sometimes the tool's input. An act that is described in words only ("title") may
 * be denied by a rule and is never allowed by one.
 */
#ifndef AGENTS_ACP_H
#define AGENTS_ACP_H

#include "agents/agent.h"

/* The agent that this command line starts; for an unknown program, a row without switches. */
const struct agent *acp_agent_find(const char *const *argv);
/* Whether the agent asks as before in this mode; ids that are addresses are compared behind '#'. */
bool acp_mode_is_safe(const struct agent *agent, struct str mode);

/* One line of the Agent Client Protocol. The texts point into the parsed line. */
struct acp_message {
    const struct json *json, *params;
    struct str id;        /* JSON as it came; empty: a notification */
    struct str method;    /* empty: an answer */
    struct str session;   /* session id in the params */
};
struct rc acp_read(struct arena *arena, struct str line, struct acp_message *ret_message, struct err *err);

/* An agent's tool call, put together from all messages about it. Each member is JSON, or empty. */
struct acp_tool {
    struct str title, kind, input, content, locations, meta;
};
/* Adds the members of a message to the tool call; null, {}, [] and "" replace nothing. */
void acp_tool_learn(struct arena *arena, struct acp_tool *tool, const struct json *update);

/* The call that the gate is asked about. */
struct acp_ask {
    struct str name, input, dialect;
    struct str path, text;  /* the one file that would be written, and its whole new text; empty: none */
    struct str old;         /* the file's old text; empty: it is new, or the agent did not send it */
    struct str command;     /* the command that would be run; empty: none */
    struct str cwd;         /* folder of the command; empty: the session's folder */
};
struct rc acp_ask_read(struct arena *arena, const struct agent *agent, const struct acp_tool *tool,
                       struct acp_ask *ret_ask, struct err *err);
/* Like acp_ask_read, for requests that act by themselves: those of files and terminals, forms, and, where `mode` is
 * given, the switch to it. */
struct rc acp_act_read(struct arena *arena, const struct acp_message *message, struct str mode,
                       struct acp_ask *ret_ask, struct err *err);
/* The line of initialize with the capability to show forms; false: the editor shows them itself. */
bool acp_offer_forms(struct buf *out, const struct acp_message *initialize);
/* Whether a request of the agent acts by itself, or may do so for all we know. */
bool acp_acts(struct str method);
/* The mode that a session/set_mode or session/set_config_option asks for; empty: it is about something else. */
struct str acp_mode_wanted(const struct acp_message *message);
/* The mode that an answer or an update names, when the agent asks less in it; empty: it names none. */
struct str acp_mode_unsafe(const struct agent *agent, const struct json *told);

/* ---- answers, each a line ---- */
/* Answers with the option of kind allow_once, never one that the agent would remember. False: no such option was
 * offered, and the answer refuses. */
bool acp_answer(struct buf *out, const struct agent *agent, const struct acp_message *ask, bool allowed);
void acp_answer_cancelled(struct buf *out, struct str id);
/* Writes a message for the editor: the tool call failed, with the reason. */
void acp_tool_failed(struct buf *out, struct str session, struct str tool, struct str words);
void acp_cancel_turn(struct buf *out, struct str session);
/* The prompt request with a text added before it. */
void acp_put_prompt(struct buf *out, const struct acp_message *prompt, struct str words);
/* A request that begins a session, with our "_meta" (NULL: as it is) and with `self`, the proxy, in front of its MCP
 * servers; `identity` is the proxy's. Without a proxy (NULL) there are none. A server that cannot be put behind it is
 * left out, and counted. */
unsigned acp_put_session(struct buf *out, struct arena *arena, const struct acp_message *request, const char *meta,
                         const char *self, const char *identity);

/* ---- the client's side, without an editor ---- */
/* `serves`: files and terminals. Where not, the agent uses its own tools and asks about them. */
void acp_initialize(struct buf *out, bool serves);
void acp_new_session(struct buf *out, struct str cwd);
void acp_prompt(struct buf *out, struct str session, struct str text);
void acp_authenticate(struct buf *out, struct str method);

#endif
