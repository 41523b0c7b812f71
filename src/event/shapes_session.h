/* Data of the events of sessions, tokens and rules. Included by shapes.h; shape.h says what the columns mean. */
#ifndef EVENT_SHAPES_SESSION_H
#define EVENT_SHAPES_SESSION_H

#include "event/shape.h"

/*    type, member, wire, presence, words */
#define SESSION_CREATED_FIELDS(F)                                                     \
    F(text, thread, "threadId", ALWAYS, "its main thread")                            \
    F(text, title, "title", GIVEN, "for people")                                      \
    F(text, cwd, "cwd", SET, "the folder of its calls")                               \
    F(flag, cwd_proposed, "cwdProposed", SET, "an agent named the folder, and no person has opened it") \
    F(text, mode, "permissionMode", SET, "default when it is absent")                 \
    F(raw, policies, "toolPolicies", SET, "effect by tool")                           \
    F(number, timeout_seconds, "approvalTimeoutSeconds", GIVEN, "how long a call waits for a person; 0: for ever") \
    F(text, owner, "owner", SET, "id of the token that made it")

#define SESSION_SETTINGS_FIELDS(F)                                                    \
    F(text, call, "toolCallId", SET, "the call whose answer caused it")             \
    F(text, title, "title", GIVEN, "for people")                                      \
    F(text, cwd, "cwd", SET, "the folder of its calls")                               \
    F(text, mode, "permissionMode", SET, "the permission mode")                       \
    F(raw, policies, "toolPolicies", SET, "effect by tool; null takes one away")      \
    F(number, timeout_seconds, "approvalTimeoutSeconds", GIVEN, "how long a call waits for a person; 0: for ever") \
    F(raw, rules, "rules", SET, "rules that are added, each an object with an id")    \
    F(texts, removed_rules, "removedRules", SET, "ids of rules that are taken away")

#define SESSION_USED_FIELDS(F) F(texts, rules, "usedRules", ALWAYS, "ids of rules for a limited number of calls")

#define THREAD_FIELDS(F)                                                              \
    F(text, id, "id", ALWAYS, "begins with the session's id and a dot")               \
    F(text, parent, "parentId", SET, "the thread it belongs to")                      \
    F(text, title, "title", SET, "for people")

#define SESSION_THREAD_FIELDS(F) F(thread, thread, "thread", ALWAYS, "the new thread")

#define TOKEN_CREATED_FIELDS(F)                                                       \
    F(text, id, "id", ALWAYS, "the token's id, no secret")                            \
    F(text, name, "name", ALWAYS, "whose it is; stands as the actor of events")       \
    F(text, role, "role", ALWAYS, "admin, approver, agent or viewer")                 \
    F(texts, scopes, "scopes", SET, "its rights; absent in old events: those that the role had then") \
    F(text, session, "sessionId", SET, "the one session it is good for")              \
    F(texts, folders, "folders", SET, "an agent's: where its sessions may be")        \
    F(text, hash, "hash", ALWAYS, "SHA-256 of the secret")

#define TOKEN_REVOKED_FIELDS(F) F(text, id, "id", ALWAYS, "the token that is not valid from now on")

#define RULE_ADDED_FIELDS(F)                                                          \
    F(text, call, "toolCallId", SET, "the call whose answer caused it")             \
    F(raw, rule, "rule", ALWAYS, "the rule")

#define RULE_BOUND_FIELDS(F)                                                          \
    F(text, id, "id", ALWAYS, "the rule")                                             \
    F(raw, rule, "rule", ALWAYS, "where the rule holds now: scope, and project with path, dev and ino")

#define RULE_REMOVED_FIELDS(F) F(text, id, "id", ALWAYS, "the rule that is revoked")
#define RULE_USED_FIELDS(F) F(text, id, "id", ALWAYS, "a rule for a limited number of calls")

#define RULE_TRUSTED_FIELDS(F)                                                        \
    F(text, path, "path", ALWAYS, "a project's file of rules or of MCP servers")      \
    F(text, hash, "hash", SET, "SHA-256 of the content that is trusted")              \
    F(text, call, "toolCallId", SET, "the call whose answer caused it")

#define RULE_DISTRUSTED_FIELDS(F)                                                     \
    F(text, path, "path", ALWAYS, "a project's file that is not trusted any more")    \
    F(text, hash, "hash", SET, "of its content")

#define RULE_PINNED_FIELDS(F)                                                         \
    F(text, root, "root", SET, "the project in which the server is named")            \
    F(text, tool, "tool", ALWAYS, "a tool of an MCP server")                          \
    F(text, digest, "digest", ALWAYS, "of the definition")                            \
    F(raw, definition, "definition", SET, "description and schema that hold from now on") \
    F(text, call, "toolCallId", SET, "the call whose answer caused it")

#define TOKEN_TRIPPED_FIELDS(F)                                                       \
    F(text, id, "id", ALWAYS, "the person's token that a process below an agent used at the Unix socket") \
    F(text, person, "person", ALWAYS, "its name")                                     \
    F(text, what, "what", ALWAYS, "the request, which was refused")

#define KEY_ADDED_FIELDS(F)                                                           \
    F(text, id, "id", ALWAYS, "the key's id: the first 32 hexadecimal digits of the SHA-256 of spki") \
    F(text, person, "person", ALWAYS, "whose it is: the name of the token that made it known") \
    F(text, name, "name", SET, "for people: this laptop, the blue stick")             \
    F(text, kind, "kind", ALWAYS, "webauthn, ed25519 or sshsig")                      \
    F(text, spki, "spki", ALWAYS, "the public key (SubjectPublicKeyInfo, DER) in base 64 for URLs") \
    F(text, credential, "credential", SET, "webauthn: the id by which a browser finds it") \
    F(text, rp_id, "rpId", SET, "webauthn: the host name that it is good for")        \
    F(text, origin, "origin", SET, "webauthn: the page that it signs for")            \
    F(raw, proof, "proof", ALWAYS, "the new key's own signature")                     \
    F(time, from_ms, "validFrom", SET, "added with a recovery code: it signs from then on") \
    F(text, recovery, "recovery", SET, "SHA-256 of that code, which is used up")      \
    F(raw, signature, "signature", SET, "by the key that vouches for it; absent for the first of the installation")

#define KEY_RECOVERY_FIELDS(F)                                                        \
    F(text, person, "person", ALWAYS, "whose recovery codes they are; older ones are no longer valid") \
    F(texts, codes, "codes", ALWAYS, "SHA-256 of each")                               \
    F(raw, signature, "signature", SET, "made by a key of that person")

#define KEY_REVOKED_FIELDS(F)                                                         \
    F(text, id, "id", ALWAYS, "the key that is revoked: its signatures are not valid from now on") \
    F(text, reason, "reason", SET, "reset: on the server's machine, without a signature") \
    F(raw, signature, "signature", SET, "by the key that revoked it")

#define KEY_USED_FIELDS(F)                                                            \
    F(text, id, "id", ALWAYS, "the key that has signed")                              \
    F(text, nonce, "nonce", SET, "nonce of the signed request, used up by it")        \
    F(number, counter, "counter", SET, "the authenticator's counter, which never decreases")

#define SESSION_ARCHIVED_FIELDS(F)                                                    \
    F(text, file, "archive", ALWAYS, "the archive's name, without its folder")        \
    F(text, file_digest, "archiveDigest", ALWAYS, "SHA-256 of the archive")           \
    F(number, events, "events", GIVEN, "how many events went there")                 \
    F(number, calls, "calls", GIVEN, "and calls")                                    \
    F(number, first_seq, "firstSeq", GIVEN, "the first of them")                     \
    F(number, last_seq, "lastSeq", GIVEN, "the last of them")                        \
    F(text, hash, "hash", ALWAYS, "the link of the last in the session's chain")

/*    name, kind, change, fields, words */
#define SESSION_SHAPES(S)                                                                                        \
    S(thread, NONE, NULL, THREAD_FIELDS, "A thread of a session.")                                               \
    S(session_created, SESSION_CHANGED, "created", SESSION_CREATED_FIELDS, "A session begins.")                  \
    S(session_settings, SESSION_CHANGED, "settings", SESSION_SETTINGS_FIELDS, "A session's settings change.")    \
    S(session_used, SESSION_CHANGED, "used", SESSION_USED_FIELDS, "A call used a limited rule of the session.")        \
    S(session_thread, SESSION_CHANGED, "thread", SESSION_THREAD_FIELDS, "A session gets a thread.")              \
    S(token_created, TOKEN_CHANGED, "created", TOKEN_CREATED_FIELDS, "Someone gets a token.")                    \
    S(token_revoked, TOKEN_CHANGED, "revoked", TOKEN_REVOKED_FIELDS, "A token is revoked.")                      \
    S(token_tripped, TOKEN_CHANGED, "tripped", TOKEN_TRIPPED_FIELDS, "An agent's process tried to act as a person.") \
    S(rule_added, RULE_CHANGED, "added", RULE_ADDED_FIELDS, "A rule of the user's layer.")                       \
    S(rule_bound, RULE_CHANGED, "bound", RULE_BOUND_FIELDS, "A person says where a rule holds.")                 \
    S(rule_removed, RULE_CHANGED, "removed", RULE_REMOVED_FIELDS, "A rule is revoked.")                          \
    S(rule_used, RULE_CHANGED, "used", RULE_USED_FIELDS, "A call used a limited rule of the user's layer.")      \
    S(rule_trusted, RULE_CHANGED, "trusted", RULE_TRUSTED_FIELDS, "A project's file is trusted as it is.")       \
    S(rule_distrusted, RULE_CHANGED, "distrusted", RULE_DISTRUSTED_FIELDS, "A project's file is not trusted any more.")\
    S(rule_pinned, RULE_CHANGED, "pinned", RULE_PINNED_FIELDS, "A tool's definition holds as it is.")            \
    S(key_added, TOKEN_CHANGED, "key_added", KEY_ADDED_FIELDS, "A person's key for signing decisions is known.")       \
    S(key_used, TOKEN_CHANGED, "key_used", KEY_USED_FIELDS, "A person's key has signed something.")                    \
    S(key_revoked, TOKEN_CHANGED, "key_revoked", KEY_REVOKED_FIELDS, "A person's key is revoked.")                     \
    S(key_recovery, TOKEN_CHANGED, "key_recovery", KEY_RECOVERY_FIELDS, "A person has recovery codes.")                \
    S(session_archived, SESSION_ARCHIVED, NULL, SESSION_ARCHIVED_FIELDS, "A session's events left the store.")

#define SHAPE_C_thread const struct data_thread *

SESSION_SHAPES(SHAPE_STRUCT)

#endif
