/* The executor process of another user, and the way to it; private to tools/ but for tools.h.
 *
 * A server that runs as its own user does not see people's folders. `nod executor` runs as the developer, connects to
 * the server's socket and does what the tools do: link_* asks it, tool_link_serve answers. Both sides run this program.
 *
 * The connection carries one message per use: a letter, and descriptors. The first descriptor is a stream for this use
 * alone, on which both sides then send frames (a letter, four bytes of length, the bytes):
 *
 *   server   q  the request, JSON          executor   h  a path: is it hidden?
 *   server   y, n  the answer to h         executor   r  the result, JSON; the last frame
 *
 * A command has three or four more: its output, report, life (box/supervisor.h), and the socket for its box's ports.
 */
#ifndef TOOLS_LINK_H
#define TOOLS_LINK_H

#include "tools/child.h"

struct tool_look link_look(const struct tool_use *use);
struct tool_result link_do(const struct tool_use *use, struct str files);
struct rc link_named_file(const struct tool_use *use, struct str *ret_text, struct err *err);
/* Starts a command there; the ends stay the caller's. */
struct rc link_command(const struct tool_use *use, const struct child_ends *ends, struct err *err);

#endif
