/* The routes of sessions, calls, answers and events: a new route is one row. Included by handlers.h.
 *
 *    name of the operation (its function is api_NAME), method, path, right, body, summary, query parameters, schema of
 *    the body, status, schema of the answer. A schema is a name of schemas.json, or SCHEMA({…}) */
#ifndef API_ROUTES_CALLS_H
#define API_ROUTES_CALLS_H

#define ROUTES_CALLS(R)                                                                                            \
    R(sessions_create, "POST", "/api/sessions", WIDE(ASK), BODY_OBJECT,                                            \
      "Start a session", "", "SessionSettings", 201, "Session")                                                    \
    R(sessions_list, "GET", "/api/sessions", HERE(SEE), BODY_NONE,                                                 \
      "Sessions, newest first", "limit before cursor", NULL, 200, "SessionList")                                   \
    R(sessions_show, "GET", "/api/sessions/:session", HERE(SEE), BODY_NONE,                                        \
      "One session", "", NULL, 200, "Session")                                                                     \
    R(sessions_change, "PATCH", "/api/sessions/:session", HERE(SETTINGS), BODY_OBJECT,                             \
      "Change a session's settings", "", "SessionSettings", 200, "Session")                                        \
    R(threads_create, "POST", "/api/sessions/:session/threads", HERE(ASK), BODY_OPTIONAL,                          \
      "Add a thread (a sub-agent)", "", "ThreadSettings", 201, "Thread")                                           \
    R(threads_list, "GET", "/api/sessions/:session/threads", HERE(SEE), BODY_NONE,                                 \
      "The threads of a session", "", NULL, 200, "ThreadList")                                                     \
    R(calls_ask, "POST", "/api/threads/:thread/tool-calls", HERE(ASK), BODY_OBJECT,                                \
      "The gate: ask to use a tool", "wait withdraw large", "ToolCallRequest", 200, "ToolCallAnswer")              \
    R(definitions_tell, "POST", "/api/threads/:thread/tool-definitions", HERE(ASK), BODY_OBJECT,                   \
      "Tell how an MCP server behind a proxy describes a tool; one that has changed waits for a person",           \
      "wait withdraw large", "ToolDefinition", 200, "ToolDefinitionAnswer")                                        \
    R(notes_add, "POST", "/api/threads/:thread/events", HERE(ASK), BODY_OBJECT,                                    \
      "Add what was said in a conversation that runs elsewhere", "", "Note", 201, "NoteAnswer")                    \
    R(notes_prompt, "POST", "/api/sessions/:session/prompt", HERE(DECIDE), BODY_OBJECT,                            \
      "Tell an agent that runs elsewhere (nod claude) what to do next", "", "Prompt", 201, "NoteAnswer")           \
    R(notes_interrupt, "POST", "/api/sessions/:session/interrupt", HERE(DECIDE), BODY_OPTIONAL,                    \
      "Ask an agent that runs elsewhere (nod claude) to stop its turn", "", NULL, 201, "NoteAnswer")               \
    R(calls_show, "GET", "/api/tool-calls/:call", HERE(SEE), BODY_NONE,                                            \
      "Status and decision of a call", "wait session", NULL, 200, "ToolCallDetail")                                \
    R(calls_history, "GET", "/api/sessions/:session/calls/:call", HERE(SEE), BODY_NONE,                            \
      "A call for ever: as it was shown, who answered what, what came of it; from an archive, too", "", NULL, 200, \
      "CallHistory")                                                                                               \
    R(calls_result, "POST", "/api/tool-calls/:call/result", HERE(ASK), BODY_OBJECT,                                \
      "Report what came of an allowed call", "session", "ToolResult", 200, "ToolCallAnswer")                       \
    R(calls_cancel, "POST", "/api/tool-calls/:call/cancel", HERE(ASK), BODY_OPTIONAL,                              \
      "Give up a call", "session", NULL, 200, "ToolCallAnswer")                                                    \
    R(hooks_ask, "POST", "/api/hooks/:agent", HERE(ASK), BODY_OBJECT,                                              \
      "A hook asks; answered in its agent's own format", "wait call strict",                                       \
      "HookMessage", 200, "HookAnswer")                                                                            \
    R(mcp_message, "POST", "/api/mcp", HERE(ASK), BODY_OBJECT,                                                     \
      "MCP over HTTP: the tools approve, ask_human and pending_calls", "", "McpMessage", 200, "McpMessage")        \
    R(agent_state, "GET", "/api/sessions/:session/agent-state", HERE(SEE), BODY_NONE,                              \
      "What an agent asked, by id: requests and completedRequests", "", NULL, 200, "AgentState")                   \
    R(permission, "POST", "/api/sessions/:session/permission", HERE(DECIDE), BODY_OBJECT,                          \
      "Answer a request: id, approved, reason, mode, allowTools, decision", "", "Permission", 200,                 \
      "DecisionAnswer")                                                                                            \
    R(pending_all, "GET", "/api/approvals/pending", HERE(SEE), BODY_NONE,                                          \
      "Everything that waits for an answer, oldest first, or where that is too much each agent's oldest",          \
      "after agent cursor limit", NULL, 200, "PendingList")                                                        \
    R(pending_session, "GET", "/api/sessions/:session/approvals/pending", HERE(SEE), BODY_NONE,                    \
      "What waits in one session", "after agent cursor limit", NULL, 200, "PendingList")                           \
    R(pending_thread, "GET", "/api/threads/:thread/approvals/pending", HERE(SEE), BODY_NONE,                       \
      "What waits in one thread", "after agent cursor limit", NULL, 200, "PendingList")                            \
    R(pending_show, "GET", "/api/sessions/:session/approvals/:call", HERE(SEE), BODY_NONE,                         \
      "One call that waits, whole", "", NULL, 200, "Pending")                                                      \
    R(pending_show_in_thread, "GET", "/api/threads/:thread/approvals/:call", HERE(SEE), BODY_NONE,                 \
      "One call that waits, whole", "", NULL, 200, "Pending")                                                      \
    R(pending_file, "GET", "/api/sessions/:session/approvals/:call/file", HERE(DECIDE), BODY_NONE,                 \
      "The file that a waiting call would change, as it is now", "", NULL, 200, "WholeFile")                       \
    R(marks_snooze, "POST", "/api/sessions/:session/approvals/:call/snooze", HERE(DECIDE), BODY_OBJECT,            \
      "Put a waiting call off: people are not reminded until then; its deadline holds", "", "Snooze", 200, "Mark") \
    R(marks_assign, "POST", "/api/sessions/:session/approvals/:call/assign", HERE(DECIDE), BODY_OBJECT,            \
      "Ask a person to answer a waiting call: they are told; anybody who may answer still may", "",                \
      "Assignment", 200, "Mark")                                                                                   \
    R(people_list, "GET", "/api/sessions/:session/people", HERE(DECIDE), BODY_NONE,                                \
      "The persons who may answer in a session", "", NULL, 200, "PeopleList")                                      \
    R(decide_session, "POST", "/api/sessions/:session/approvals/:call", HERE(DECIDE), BODY_OBJECT,                 \
      "Answer a call", "", "Decision", 200, "DecisionAnswer")                                                      \
    R(decide_thread, "POST", "/api/threads/:thread/approvals/:call", HERE(DECIDE), BODY_OBJECT,                    \
      "Answer a call of a thread", "", "Decision", 200, "DecisionAnswer")                                          \
    R(events_read, "GET", "/api/events", HERE(SEE), BODY_NONE,                                                     \
      "Events after a seq: a page, or a live stream (Accept: text/event-stream)",                                  \
      "after cursor session thread types limit live format", NULL, 200, "EventPage")                               \
    R(socket_open, "GET", "/api/ws", HERE(SEE), BODY_NONE,                                                         \
      "WebSocket: subscribe, decide, call", "", NULL, 101, NULL)                                                   \
    R(requests_create, "POST", "/api/agent-requests", WIDE(RUN), BODY_OBJECT,                                      \
      "Ask Nod's own agent for something", "", "AgentRequestSettings", 201, "AgentRequest")                        \
    R(requests_show, "GET", "/api/agent-requests/:request", HERE(SEE), BODY_NONE,                                  \
      "A request and how far it is", "", NULL, 200, "AgentRequest")                                                \
    R(requests_execute, "POST", "/api/agent-requests/:request/execute", WIDE(RUN), BODY_OPTIONAL,                  \
      "Start or continue its run; may be repeated", "", NULL, 202, "AgentRequest")                                 \
    R(requests_cancel, "POST", "/api/agent-requests/:request/cancel", HERE(DECIDE), BODY_OPTIONAL,                 \
      "End a request", "", NULL, 200, "AgentRequest")                                                              \
    R(requests_checkpoint, "GET", "/api/agent-requests/:request/checkpoint", HERE(SEE), BODY_NONE,                 \
      "Conversation, last tool call and iteration, as read from the events", "", NULL, 200, "Checkpoint")          \
    R(requests_events, "GET", "/api/agent-requests/:request/events", HERE(SEE), BODY_NONE,                         \
      "text_chunk, tool_call, tool_result and completion events", "after", NULL, 200, "AgentEventPage")            \
    R(requests_approve, "POST", "/api/approve-tool/:call", HERE(DECIDE), BODY_OBJECT,                              \
      "Yes goes on, no ends the request", "session", "ToolApproval", 200, "ToolApprovalAnswer")                    \
    R(agent_terminal_open, "GET", "/api/terminal/ws/agent", HERE(DECIDE), BODY_NONE,                               \
      "WebSocket: run, tool_approval_response, cancel", "cwd", NULL, 101, NULL)

#endif
