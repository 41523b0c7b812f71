/* The routes of tokens, rules, channels, keys and the server itself: a new route is one row. Included by handlers.h.
 *
 *    name of the operation (its function is api_NAME), method, path, right, body, summary, query parameters, schema of
 *    the body, status, schema of the answer. A schema is a name of schemas.json, or SCHEMA({…}) */
#ifndef API_ROUTES_ADMIN_H
#define API_ROUTES_ADMIN_H

#define ROUTES_ADMIN(R)                                                                                               \
    R(tokens_create, "POST", "/api/tokens", WIDE(TOKENS), BODY_OBJECT,                                                \
      "Make a token; its secret is shown once", "", "TokenSettings", 201, "NewToken")                                 \
    R(tokens_list, "GET", "/api/tokens", WIDE(TOKENS), BODY_NONE, "All tokens", "", NULL, 200, "TokenList")           \
    R(tokens_revoke, "DELETE", "/api/tokens/:token", WIDE(TOKENS), BODY_NONE,                                         \
      "Revoke a token at once", "", NULL, 200, "Token")                                                               \
    R(logins_create, "POST", "/api/logins", WIDE(LOGINS), BODY_OPTIONAL,                                              \
      "Make a link that logs one browser in, once", "", "LoginSettings", 201, "LoginLink")                            \
    R(authority_show, "GET", "/ca.crt", ANYONE, BODY_NONE,                                                            \
      "The authority behind the certificate of `nod tls init`, in PEM", "", NULL, 200, NULL)                          \
    R(login_begin, "POST", "/api/login", ANYONE, BODY_OBJECT,                                                         \
      "Exchange the code of a login link for a token of this device", "", "Login", 200, "LoginAnswer")                \
    R(login_end, "POST", "/api/logout", HERE(SEE), BODY_OPTIONAL,                                                     \
      "Revoke the device's own token", "", NULL, 200, "Nothing")                                                      \
    R(audit_read, "GET", "/api/audit", HERE(SEE_ALL), BODY_NONE,                                                      \
      "Every decision, newest first; format=json, csv or jsonl",                                                      \
      "limit before cursor since until session tool actor agent project decision by text format", NULL, 200,          \
      "AuditPage")                                                                                                    \
    R(archive_make, "POST", "/api/archive", WIDE(ARCHIVE), BODY_OBJECT,                                               \
      "Move finished sessions in which nothing has happened for so long into an archive file", "", "ArchiveSettings", \
      200, "Archived")                                                                                                \
    R(tokens_self, "GET", "/api/me", HERE(SEE), BODY_NONE, "Who this token is", "", NULL, 200, "Token")               \
    R(ping, "POST", "/api/ping", HERE(SEE), BODY_OPTIONAL,                                                            \
      "Answer at once; a yardstick for load tests", "", NULL, 200, "Pong")                                            \
    R(openapi_show, "GET", "/api/openapi.json", HERE(SEE), BODY_NONE, "This description", "", NULL, 200, NULL)        \
    R(policy_show, "GET", "/api/policy", HERE(SEE_ALL), BODY_NONE,                                                    \
      "The rules by layer; with session= also the project's and the session's; "                                      \
      "with lint=true what is wrong with them",                                                                       \
      "session lint", NULL, 200, "Policy")                                                                            \
    R(policy_put, "PUT", "/api/policy", WIDE(RULES_USER), BODY_OBJECT,                                                \
      "Replace the rules of the user's layer", "", "RuleList", 200, "Policy")                                         \
    R(policy_add, "POST", "/api/policy/rules", HERE(RULES_SESSION), BODY_OBJECT,                                      \
      "Add a rule to the user's layer or a session", "", "RuleSettings", 201, "Rule")                                 \
    R(policy_bind, "POST", "/api/policy/rules/:rule/bind", WIDE(RULES_USER), BODY_OBJECT,                             \
      "Say where a rule holds: in a project's folder, or everywhere", "", "RuleBond", 200, "Policy")                  \
    R(policy_remove, "DELETE", "/api/policy/rules/:rule", HERE(RULES_SESSION), BODY_OPTIONAL,                         \
      "Revoke a rule at once", "session", "Signed", 200, NULL)                                                        \
    R(policy_explain, "POST", "/api/policy/explain", HERE(SEE_ALL), BODY_OBJECT,                                      \
      "Which rule decides a call, and why", "", "Explain", 200, "Verdict")                                            \
    R(policy_try, "POST", "/api/policy/try", WIDE(SEE_ALL), BODY_OBJECT,                                              \
      "What a rule would have done to the last calls", "", "RuleSettings", 200, "Trial")                              \
    R(policy_trust, "POST", "/api/policy/trust", WIDE(TRUST), BODY_OBJECT,                                            \
      "Trust a project's policy file, by the hash of its content", "", "Trust", 200, "Policy")                        \
    R(channels_list, "GET", "/api/channels", WIDE(DECIDE), BODY_NONE,                                                 \
      "Channels by which people are notified, and how each fares", "", NULL, 200, "ChannelList")                      \
    R(channels_test, "POST", "/api/channels/:channel/test", WIDE(LOGINS), BODY_OPTIONAL,                              \
      "Send a test message", "", NULL, 200, "ChannelTest")                                                            \
    R(deliveries_list, "GET", "/api/deliveries", WIDE(DECIDE), BODY_NONE,                                             \
      "Messages about calls that wait: due, sent, withdrawn", "call", NULL, 200, "DeliveryList")                      \
    R(approvals_seen, "POST", "/api/approvals/seen", WIDE(DECIDE), BODY_OBJECT,                                       \
      "Say that a person looks at these calls: messages to that person about them wait", "", "SeenCalls", 200, NULL)  \
    R(push_key, "GET", "/api/push/key", WIDE(DECIDE), BODY_NONE,                                                      \
      "The key that browsers need to subscribe to push messages", "", NULL, 200,                                      \
      SCHEMA({"type": "object", "required": ["publicKey"], "properties": {"publicKey": {"type": "string"}}}))         \
    R(push_subscribe, "POST", "/api/push/devices", WIDE(DECIDE), BODY_OBJECT,                                         \
      "This browser wants push messages", "", "PushSubscription", 201, NULL)                                          \
    R(push_unsubscribe, "DELETE", "/api/push/devices", WIDE(DECIDE), BODY_OBJECT,                                     \
      "This browser wants no more of them", "", "PushEndpoint", 200, NULL)                                            \
    R(callbacks_secret, "GET", "/api/callbacks/secret", WIDE(ASK), BODY_NONE,                                         \
      "The key that callbacks to this token are signed with", "", NULL, 200, "CallbackSecret")                        \
    R(answers_look, "POST", "/api/answers/look", ANYONE, BODY_OBJECT,                                                 \
      "Look at the call of a message, with its token", "", "Answer", 200, "AnswerLook")                               \
    R(answers_take, "POST", "/api/answers", ANYONE, BODY_OBJECT,                                                      \
      "Answer with the token of a message", "", "Answer", 200, "DecisionAnswer")                                      \
    R(answers_press, "POST", "/api/answers/slack/:channel", ANYONE, BODY_NONE,                                        \
      "A press of a button, as Slack posts it: signed", "", NULL, 200, NULL)                                          \
    R(keys_list, "GET", "/api/keys", HERE(DECIDE), BODY_NONE,                                                         \
      "Keys with which people sign, and when a signature is asked for", "", NULL, 200, "KeyList")                     \
    R(keys_add, "POST", "/api/keys", WIDE(DECIDE), BODY_OBJECT,                                                       \
      "Make a key known: it signs for itself, and a known one vouches for it", "", "KeySettings", 201, "Key")         \
    R(keys_recovery, "POST", "/api/keys/recovery", WIDE(DECIDE), BODY_OBJECT,                                         \
      "Make ten recovery codes: each makes one key known when all others are lost", "", "Signed", 201,                \
      "RecoveryCodes")                                                                                                \
    R(keys_revoke, "DELETE", "/api/keys/:key", WIDE(DECIDE), BODY_OPTIONAL,                                           \
      "Revoke a key: its signatures are not valid from now on", "", "Revocation", 200, "Key")                         \
    R(statements_issue, "POST", "/api/statements", HERE(DECIDE), BODY_OBJECT,                                         \
      "The text that a key signs, for a decision or another request; decides nothing", "", "StatementSettings", 200,  \
      "Statement")                                                                                                    \
    R(metrics_show, "GET", "/metrics", WIDE(SEE_ALL), BODY_NONE,                                                      \
      "Figures for Prometheus", "", NULL, 200, NULL)                                                                  \
    R(health_show, "GET", "/healthz", ANYONE, BODY_NONE, "The process is up", "", NULL, 200, "Health")                \
    R(ready_show, "GET", "/readyz", ANYONE, BODY_NONE, "Calls can be kept", "", NULL, 200, "Health")

#endif
