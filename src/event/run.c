#include "event/run.h"

bool run_status_over(struct str status)
{
    static const char *const over[] = {"completed", "rejected", "failed", "cancelled"};
    for (size_t i = 0; i < sizeof over / sizeof *over; i++)
        if (str_is(status, over[i]))
            return true;
    return false;
}

bool run_is_over(struct str data)
{
    ARENA_SCOPE(scratch);
    const struct json *json = NULL;
    if (rc_bad(json_parse(&scratch, data, &json, NULL)))
        return false;
    return !json_get(json, "runId") || run_status_over(json_text(json, "status"));
}
