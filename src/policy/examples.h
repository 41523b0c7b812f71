/* The examples that a rule carries: what it must fit, and what it must not. */
#ifndef POLICY_EXAMPLES_H
#define POLICY_EXAMPLES_H

#include "policy/policy.h"
#include "policy/rule.h"

/* ERR_INVALID names the first example that does not hold. */
struct rc examples_check(const struct rule *rule, const struct rule_source *source, struct err *err);

#endif
