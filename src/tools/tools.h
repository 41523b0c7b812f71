/* What can be asked for, and what it would change.
 *
 * The catalog knows the tools of the agents people use by name: what kind of act each one is and which
 * fields of its input matter. A tool it does not know is TOOL_OTHER, which rules and people see as it is.
 * To add one, add a line to catalog.c.
 */
#ifndef TOOLS_TOOLS_H
#define TOOLS_TOOLS_H

#include "event/tool.h"

/* `input` must be an object and outlive the facts. */
struct tool_facts tool_facts(struct str name, const struct json *input);

/* What a person is shown, as JSON: {"type":"command","command","cwd"} or {"type":"generic","input"}. */
void tool_preview(struct json_out *out, const struct tool_facts *facts, struct str cwd);
/* One line that names the act: "Run `make test`", "Write notes.md". For lists and notifications. */
void tool_summary(struct buf *buf, const struct tool_facts *facts);

#endif
