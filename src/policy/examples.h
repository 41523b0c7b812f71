/* The examples of a rule: calls that it must match, and calls that it must not match. */
#ifndef POLICY_EXAMPLES_H
#define POLICY_EXAMPLES_H

#include "policy/policy.h"
#include "policy/rule.h"

/* ERR_INVALID names the first example that does not hold. */
struct rc examples_check(const struct rule *rule, const struct rule_source *source, struct err *err);

/* Makes the facts of the call that an example stands for: a command, a path, an address, the value of a field, the name
 * of a tool. */
struct rc example_facts(struct arena *arena, const struct rule *rule, struct str example,
                        struct tool_facts *ret_facts, struct err *err);

#endif
