/* The next step of a run (turn.h). Pure: a table of conditions in the order in which they count. */
#include "runtime/core/turn.h"

static bool may_be_done(const struct turn_use *use)
{
    return use->asked && use->decided && !use->settled && !use->child;
}

/* The uses of tools to execute now, as bits: the first that may run alone, or the first and those after it that may
 * run at the same time. */
static uint64_t uses_to_execute(const struct turn_view *view)
{
    uint64_t uses = 0;
    for (size_t i = 0; i < view->count; i++) {
        if (!may_be_done(&view->uses[i]))
            continue;
        if (!view->uses[i].beside)
            return uses ? uses : (uint64_t)1 << i;
        uses |= (uint64_t)1 << i;
    }
    return uses;
}

static struct turn_next next_of_uses(const struct turn_view *view)
{
    bool unasked = false, unsettled = false, aborted = false, children = false, awaits = false;
    for (size_t i = 0; i < view->count; i++) {
        const struct turn_use *use = &view->uses[i];
        unasked = unasked || !use->asked;
        unsettled = unsettled || !use->settled;
        aborted = aborted || use->aborted;
        children = children || (use->child && !use->settled);
        awaits = awaits || (use->asked && !use->decided);
    }
    if (unasked)
        return (struct turn_next){.step = TURN_ASK_CALLS};
    if (aborted)
        return (struct turn_next){.step = TURN_REJECT};
    uint64_t uses = uses_to_execute(view);
    if (uses)
        return (struct turn_next){.step = TURN_EXECUTE, .uses = uses};
    if (children && !view->collected)
        return (struct turn_next){.step = TURN_COLLECT};
    return (struct turn_next){.step = unsettled ? TURN_WAIT : TURN_ASK_MODEL, .awaits = awaits};
}

struct turn_next turn_next(const struct turn_view *view)
{
    struct turn_next next = {.step = TURN_ASK_MODEL};
    if (view->cancelled)
        return (struct turn_next){.step = TURN_STOP};
    if (view->answered && view->count)
        next = next_of_uses(view);
    else if (view->answered && !view->paused)
        next.step = TURN_COMPLETE;
    if (next.step == TURN_ASK_MODEL && view->iterations >= view->iterations_max)
        next.step = TURN_LIMIT;
    return next;
}

bool turn_can_continue(const struct turn_view *view)
{
    struct turn_next next = turn_next(view);
    return next.step != TURN_COLLECT && next.step != TURN_WAIT;
}
