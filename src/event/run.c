#include "event/run.h"

bool run_is_over(struct str data)
{
    static const char *const over[] = {"completed", "rejected", "failed", "cancelled"};
    ARENA_SCOPE(scratch);
    const struct json *json = NULL;
    if (rc_bad(json_parse(&scratch, data, &json, NULL)))
        return false;
    if (!json_get(json, "runId"))
        return true;
    for (size_t i = 0; i < sizeof over / sizeof *over; i++)
        if (str_is(json_text(json, "status"), over[i]))
            return true;
    return false;
}
