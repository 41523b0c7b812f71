/* Names that were probably meant: tools, programs and their sub-commands. */
#ifndef POLICY_LINT_NAMES_H
#define POLICY_LINT_NAMES_H

#include "policy/policy_lint.h"

/* Whether some agent has a tool of this name, by its own name for it or ours. */
bool lint_tool_known(struct str name, lint_tools *tools);
/* The known tool with the most similar name; empty when none is similar. */
struct str lint_tool_near(struct str name, lint_tools *tools);
/* Whether the table of programs has a row of this name, perhaps with a version behind it. */
bool lint_program_known(struct str name);
/* The program whose name is a letter or two away; empty when there is none. */
struct str lint_program_near(struct str name);
/* Whether `sub` is a sub-command of `row` ("git", "git stash"), or the table has none for that row. */
bool lint_sub_known(struct str row, struct str sub);
/* The sub-command of `row` that is a letter or two away; empty when there is none. */
struct str lint_sub_near(struct str row, struct str sub);

#endif
