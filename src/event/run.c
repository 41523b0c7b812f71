/* The statuses of runs (run.h). */
#include "event/run.h"

#include "event/shapes.h"

static const struct {
    const char *wire;
    bool over;
} statuses[RUN_STATUS_COUNT] = {
#define X(name, wire, over) [RUN_##name] = {wire, over},
    RUN_STATUSES(X)
#undef X
};

const char *run_status_name(enum run_status status)
{
    CHECK(status < RUN_STATUS_COUNT);
    return statuses[status].wire;
}

enum run_status run_status_parse(struct str name)
{
    for (int i = RUN_UNKNOWN + 1; i < RUN_STATUS_COUNT; i++)
        if (str_is(name, statuses[i].wire))
            return (enum run_status)i;
    return RUN_UNKNOWN;
}

bool run_status_over(enum run_status status)
{
    CHECK(status < RUN_STATUS_COUNT);
    return statuses[status].over;
}

bool run_is_over(struct str data)
{
    ARENA_SCOPE(scratch);
    struct data_run_status status;
    if (!READ_DATA(&scratch, run_status, data, &status))
        return false;
    return !status.run.n || run_status_over(run_status_parse(status.status));
}
