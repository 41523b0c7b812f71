/* RUN_STATUS, written in one place for all who move a run. */
#include "runtime/inner.h"

#include "runtime/prices.h"

const struct data_parent *status_parent_data(struct arena *arena, const struct run_parent *parent)
{
    struct data_parent *data = arena_new(arena, struct data_parent);
    *data = (struct data_parent){.thread = parent->thread, .call = parent->call, .run = parent->run};
    return parent->depth ? data : NULL;
}

struct str run_status_data(struct arena *arena, const struct run_state *run, const struct status_change *change)
{
    struct data_usage usage = prices_usage_data(arena, &run->usage);
    return DATA(arena, run_status, .run = run->id, .status = str_of(run_status_name(change->to)),
                .reason = str_of(change->reason), .owner = change->owner,
                .iterations = change->figures ? run->iterations : -1, .usage = change->figures ? &usage : NULL,
                .agent = run->parent.agent, .depth = run->parent.depth,
                .parent = status_parent_data(arena, &run->parent));
}
