/* The person's editor ($VISUAL, $EDITOR, vi), on a private file that is gone afterwards. */
#ifndef CLI_EDITOR_H
#define CLI_EDITOR_H

#include "base/json.h"

/* Lets the person change the input of a call. Its one text that matters (a command, the content of a file, …) is edited
 * as that text, any other input as JSON. *ret_input is empty when nothing was changed. */
struct rc editor_change_input(struct arena *arena, const struct json *input, struct str *ret_input, struct err *err);

#endif
