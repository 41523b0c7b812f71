/* The rules' part of gate.h, which includes it; nobody else does. */
#ifndef GATE_GATE_RULES_H
#define GATE_GATE_RULES_H

#include "event/read.h"
#include "event/session.h"
#include "gate/gate_op.h"
#include "policy/policy.h"

struct gate;

/* The operation that changes the user's rules or the trust in a file: one RULE_CHANGED event. */
struct rule_change {
    union {
        struct op op;
        struct kept_event kept; /* private to the gate */
    };
    struct str change;          /* "added", "removed", "bound", "trusted", "distrusted" */
    struct str rule;            /* added: JSON, from gate_prepare_rule; bound: from gate_prepare_bond */
    struct str id;              /* removed, bound */
    struct str path, hash;      /* trusted, distrusted: a project's policy file */
    struct str actor;
};
/* Reads {"effect","rule","reason","expiresAt","uses","people","match","notMatch"}, gives it an id, writes it for
 * keeping. */
struct rc gate_prepare_rule(struct arena *arena, const struct json *object, struct str *ret_json,
                            struct rule_source *ret_source, struct err *err);
/* Reads {"scope","project"} and writes it for keeping; "project" is the path of a folder. */
struct rc gate_prepare_bond(struct arena *arena, const struct json *object, struct str *ret_json, struct err *err);
void gate_change_rule(struct gate *gate, struct rule_change *change);
/* Refuses a deny or ask that would stop nothing. */
struct rc gate_check_rule(struct arena *arena, const struct rule_source *source, struct err *err);
/* The ids of the rules in the user's layer. */
const struct str *gate_user_rule_ids(const struct gate *gate, struct arena *arena, size_t *ret_count);
/* "allow", "deny" or "ask" of a rule of the user's layer; "allow" when there is no such rule. */
struct str gate_user_rule_effect(const struct gate *gate, struct str id);
/* The policy file of the session's folder and the hash of its content; false when there is none to read. */
bool gate_project_file(struct gate *gate, struct arena *arena, const struct session *session, struct str *ret_path,
                       struct str *ret_hash);
/* All layers as JSON; with a session also its project's and its own; `lint`: with what is wrong with them. */
void gate_write_policy(struct gate *gate, struct json_out *out, const struct session *session, bool lint);

/* A call that nobody makes, to be judged and explained. */
struct explain {
    const struct session *session;
    struct str name, cwd;
    struct str dialect;       /* the agent whose tool name it is; may be empty */
    const struct json *input;
};
/* The verdict on a call that nobody asked for, with the parts of a command and suggested rules. */
void gate_explain(struct gate *gate, struct json_out *out, struct arena *arena, const struct explain *explain);
/* The effect that a rule would have had on the TOOL_CALL events of a read. */
void gate_try(struct gate *gate, struct json_out *out, const struct rule_source *source, const struct read *read);

#endif
