/* Places in lists and streams as clients see them; private to api/.
 *
 * A place is the seq of an event. Answers have it as a number and as a cursor, a text that clients keep and send back
 * unread: with several stores a place would be more than one number, and only the cursor could say it.
 */
#ifndef API_CURSOR_H
#define API_CURSOR_H

#include "api/exchange.h"

/* The members "next" and "cursor" of a page behind which there may be another. */
void cursor_write(struct json_out *out, uint64_t seq);
/* Reads cursor= or the number of this name, whichever the query has; not both. Neither: *ret_seq stays. */
struct rc cursor_query(struct exchange *x, const char *name, uint64_t *ret_seq, struct err *err);
/* A cursor, or a seq as it is. */
bool cursor_parse(struct str text, uint64_t *ret_seq);

#endif
