/* Places in lists as clients see them (cursor.h). */
#include "api/cursor.h"

#include <stdio.h>

#define CURSOR_MARK "s1." /* the form of a cursor for one store: this mark, then the seq */

void cursor_write(struct json_out *out, uint64_t seq)
{
    char text[32];
    (void)snprintf(text, sizeof text, CURSOR_MARK "%llu", (unsigned long long)seq);
    json_members(out, J("next", seq), J("cursor", text));
}

bool cursor_parse(struct str text, uint64_t *ret_seq)
{
    size_t mark = str_starts(text, STR(CURSOR_MARK)) ? sizeof CURSOR_MARK - 1 : 0;
    uint64_t seq;
    if (!str_to_u64(str_sub(text, mark, text.n), &seq) || seq > INT64_MAX)
        return false;
    *ret_seq = seq;
    return true;
}

struct rc cursor_query(struct exchange *x, const char *name, uint64_t *ret_seq, struct err *err)
{
    struct str cursor = STR_NONE, number = STR_NONE;
    TRY(api_query_text(x, "cursor", &cursor, err));
    TRY(api_query_text(x, name, &number, err));
    if (!cursor.p)
        return api_query_u64(x, name, INT64_MAX, ret_seq, err);
    if (number.p)
        return err_set(err, ERR_INVALID, "cursor= and %s= name the same place: send one of them", name);
    if (!str_starts(cursor, STR(CURSOR_MARK)) || !cursor_parse(cursor, ret_seq))
        return err_set(err, ERR_INVALID, "cursor= must be the cursor of an answer, unchanged");
    return RC_OK;
}
