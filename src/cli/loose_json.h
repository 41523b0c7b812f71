/* JSON as people's editors allow it in settings: with comments, and commas that nothing follows. */
#ifndef CLI_LOOSE_JSON_H
#define CLI_LOOSE_JSON_H

#include "base/arena.h"
#include "base/str.h"

/* Blanks for comments and for such commas; everything else stays where it is: positions are those of the text. */
struct str json_without_comments(struct arena *arena, struct str text);

#endif
