/* opencode. */
#include "agents/agent.h"

const struct agent agent_opencode = {
    .name = "opencode",
    .title = "opencode",
    .acp = {.programs = WORDS("opencode"), .variable = "OPENCODE_PERMISSION", .value = "{\"*\":\"ask\"}",
            .safe_modes = WORDS("build", "plan"), .not_asked = "nothing that was seen"},
};
