/* The handlers of routes.c, by resource. Included by exchange.h. */
#ifndef API_HANDLERS_H
#define API_HANDLERS_H

struct exchange;

#define HANDLERS(X)                                                                                      \
    X(policy_show) X(policy_put) X(policy_add) X(policy_remove) X(policy_explain) X(policy_try)           \
    X(policy_trust) X(policy_bind) X(channels_list) X(channels_test) X(deliveries_list) X(answers_take)   \
    X(push_key) X(push_subscribe) X(push_unsubscribe) X(keys_list) X(keys_add) X(keys_revoke)              \
    X(keys_recovery)                                                                                     \
    X(statements_issue) X(answers_look) X(callbacks_secret)                                              \
    X(hooks_ask) X(notes_add) X(notes_prompt) X(notes_interrupt) X(mcp_message) X(agent_state) X(permission) \
    X(sessions_create) X(sessions_list) X(sessions_show) X(sessions_change) X(threads_create)             \
    X(threads_list) X(calls_ask) X(definitions_tell) X(calls_show) X(calls_result) X(calls_cancel) X(pending_all) \
    X(pending_session) X(pending_thread) X(decide_session) X(decide_thread) X(events_read) X(socket_open) \
    X(tokens_create) X(tokens_list) X(tokens_revoke) X(tokens_self) X(openapi_show) X(metrics_show)       \
    X(health_show) X(ready_show) X(ping) X(login_begin) X(login_end) X(logins_create) X(audit_read)   \
    X(pending_show_in_thread) X(authority_show) X(approvals_seen) X(answers_press)                       \
    X(pending_show) X(pending_file) X(requests_create) X(requests_show) X(requests_execute)               \
    X(requests_cancel) X(calls_history)                                                                  \
    X(requests_checkpoint) X(requests_events) X(requests_approve) X(agent_terminal_open) X(archive_make)
#define X(name) void name(struct exchange *x);
HANDLERS(X)
#undef X

#endif
