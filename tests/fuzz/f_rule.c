/* Rules: nothing crashes, and what is read and written again is the same rule. */
#include "base/err.h"
#include "policy/policy.h"
#include "tools/tools.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_import(struct str text)
{
    for (int kind = 0; kind < IMPORT_KIND_COUNT; kind++) {
        ARENA_SCOPE(arena);
        struct imported imported;
        struct err err;
        struct str canonical;
        if (rc_bad(policy_import(&arena, (enum import_kind)kind, text, &imported, &err)))
            continue;
        for (size_t i = 0; i < imported.rule_count; i++) {
            CHECK(rc_ok(rule_check(&arena, imported.rules[i].text, &canonical, &err)));
            CHECK(str_eq(imported.rules[i].text, canonical));
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ARENA_SCOPE(arena);
    struct str text = {(const char *)data, size}, once, twice;
    struct err err;
    try_import(text);
    if (rc_bad(rule_check(&arena, text, &once, &err)))
        return 0;
    CHECK(rc_ok(rule_check(&arena, once, &twice, &err)));
    CHECK(str_eq(once, twice));
    struct rule_source sources[] = {{.effect = EFFECT_ALLOW, .text = text},
                                    {.effect = EFFECT_DENY, .text = text}};
    rule_set_free(rule_set_new(sources, 2));
    struct linted linted = policy_lint(&arena, sources, 2, tool_known_name, 1000);
    for (size_t i = 0; i < linted.count; i++)
        CHECK(linted.items[i].index < 2 && !str_empty(linted.items[i].words));
    return 0;
}
