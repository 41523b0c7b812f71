/* One suite for every backend of the table: a store of its own for each test. */
#ifndef TESTS_STORE_SUITE_H
#define TESTS_STORE_SUITE_H

#include "store_rig.h"

static const char *scheme; /* of the backend that is tested */

static int set_up(void **state)
{
    struct rig *rig = calloc(1, sizeof *rig);
    rig_init(rig, scheme);
    rig_open(rig);
    *state = rig;
    return 0;
}

static int tear_down(void **state)
{
    rig_done(*state);
    free(*state);
    return 0;
}

static inline void check_outcome(struct append *append, enum append_outcome outcome)
{
    if (append->outcome != outcome)
        fail_msg("outcome %d instead of %d: %s", append->outcome, outcome, append->err.text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* How many tests failed: the status of the program. */
#define RUN_SUITE(tests)                                                                                  \
    ({                                                                                                    \
        int failed = 0;                                                                                   \
        for (size_t i = 0; backend_at(i); i++) {                                                          \
            scheme = backend_at(i)->scheme;                                                               \
            if (rig_can_test(scheme))                                                                     \
                failed += cmocka_run_group_tests_name(scheme, tests, NULL, NULL);                         \
        }                                                                                                 \
        failed;                                                                                           \
    })

#endif
