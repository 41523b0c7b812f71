/* What rules can answer, no person is asked.
 *
 * Pure: no clock, no descriptors, no allocation that outlives the arena it is given. The verdict is the
 * strictest that applies: deny before ask before allow; then the permission mode; then the defaults; and
 * whatever is not understood is asked about, never allowed.
 */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include "base/arena.h"
#include "base/err.h"
#include "event/tool.h"

#include <stdint.h>

enum effect { EFFECT_ASK, EFFECT_ALLOW, EFFECT_DENY };

#define PERMISSION_MODES(X)                    \
    X(DEFAULT, "default")                      \
    X(ACCEPT_EDITS, "acceptEdits")             \
    X(PLAN, "plan")                            \
    X(BYPASS, "bypassPermissions")             \
    X(READ_ONLY, "read-only")

enum permission_mode {
#define X(name, wire) MODE_##name,
    PERMISSION_MODES(X)
#undef X
    MODE_COUNT
};

const char *mode_name(enum permission_mode mode);
/* Also takes the names other agents use ("yolo", "safe-yolo"); false when it is none. */
bool mode_parse(struct str name, enum permission_mode *ret_mode);
const char *effect_name(enum effect effect);
bool effect_parse(struct str name, enum effect *ret_effect);

/* A session's word on one whole tool. */
struct tool_policy {
    struct str tool;
    enum effect effect;
};

struct question {
    const struct tool_facts *facts;
    enum permission_mode mode;
    const struct tool_policy *tool_policies;
    size_t tool_policy_count;
    struct str cwd;  /* where the call would run, absolute; empty: unknown */
    struct str root; /* the session's folder */
    struct str home;
    int64_t now_ms;
};

struct verdict {
    enum effect effect;
    struct str rule;   /* the rule that decided, canonical; empty: no rule did */
    struct str source; /* "session", "mode", "default", later also a rule's layer */
    struct str why;    /* one sentence for a person */
};

struct verdict policy_judge(struct arena *arena, const struct question *question);

#endif
