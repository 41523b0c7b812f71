/* Settings of other agents: every rule that is taken over is one that we can read again. The first byte chooses the
 * kind of file. */
#include "policy/policy.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ARENA_SCOPE(arena);
    struct imported imported = {0};
    struct err err;
    if (size < 1)
        return 0;
    enum import_kind kind = (enum import_kind)(data[0] % IMPORT_KIND_COUNT);
    if (rc_bad(policy_import(&arena, kind, (struct str){(const char *)data + 1, size - 1}, &imported, &err)))
        return 0;
    for (size_t i = 0; i < imported.rule_count; i++) {
        struct str canonical;
        if (rc_bad(rule_check(&arena, imported.rules[i].text, &canonical, &err)))
            abort();
    }
    return 0;
}
