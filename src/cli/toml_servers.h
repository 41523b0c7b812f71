/* MCP servers in settings that are TOML: sections [MEMBER.NAME] with `command` and `args`, or `url` and headers. */
#ifndef CLI_TOML_SERVERS_H
#define CLI_TOML_SERVERS_H

#include "base/json.h"

/* The sections as an object of objects, as if the settings were JSON: every value knows its bytes in the text. If a
 * command or its arguments are not understood, its section has neither. */
const struct json *toml_servers(struct arena *arena, struct str text, const char *member);

#endif
