/* JSON as people's editors allow it in settings: with comments, and commas that nothing follows. */
#ifndef CLI_LOOSE_JSON_H
#define CLI_LOOSE_JSON_H

#include "base/arena.h"
#include "base/str.h"

/* The text with comments and trailing commas replaced by blanks; all other bytes keep their positions. */
struct str loose_json_strip(struct arena *arena, struct str text);

#endif
