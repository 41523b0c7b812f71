#include "tools/tool.h"

#include <stdlib.h>

static const char *const names[] = {"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ",
                                    "TMPDIR", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"};
_Static_assert(sizeof names / sizeof *names == ENVIRONMENT_KEPT_MAX, "one for each");

size_t environment_kept(struct arena *arena, char *list[ENVIRONMENT_KEPT_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < ENVIRONMENT_KEPT_MAX; i++) {
        const char *value = getenv(names[i]);
        if (value)
            list[count++] = (char *)arena_printf(arena, "%s=%s", names[i], value).p;
    }
    return count;
}
