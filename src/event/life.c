/* The tables of life.h as code: which status follows which event. A move that is not in a table does not
 * happen. */
#include "event/life.h"

static const struct {
    enum call_status from, to;
    enum event_kind kind;
    enum life_condition condition;
} moves[] = {
#define X(from_, kind_, condition_, to_) \
    {.from = CALL_##from_, .to = CALL_##to_, .kind = EVENT_##kind_, .condition = LIFE_##condition_},
    CALL_MOVES(X)
#undef X
};

bool call_move(enum call_status from, enum event_kind kind, enum life_condition condition, enum call_status *ret_to)
{
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
        if (moves[i].kind != kind || moves[i].condition != condition)
            continue;
        if (moves[i].from != from && from != CALL_UNKNOWN)
            continue;
        *ret_to = moves[i].to;
        return true;
    }
    return false;
}

enum life_condition decision_condition(enum decision decision)
{
    static const enum life_condition conditions[DECISION_COUNT] = {
#define X(name, wire, words, condition, by_person) [DECISION_##name] = LIFE_##condition,
        DECISIONS(X)
#undef X
    };
    CHECK(decision < DECISION_COUNT);
    return conditions[decision];
}

bool life_run_move(enum run_status from, enum run_status to)
{
    static const struct {
        enum run_status from, to;
    } run_moves[] = {
#define X(from_, to_) {RUN_##from_, RUN_##to_},
        RUN_MOVES(X)
#undef X
    };
    return ANY(size_t i = 0; i < sizeof run_moves / sizeof *run_moves; i++,
               run_moves[i].from == from && run_moves[i].to == to);
}
