/* Claude Code as a child: its command line. */
#include "cli/claude.h"

enum { OUR_WORDS_MAX = 20 };

/* The control protocol, and nothing from the repository that could answer before us. */
static char **compose(struct cli *cli, const struct claude_args *args, const char *session)
{
    static const char *const words[] = {"-p", "--verbose", "--input-format", "stream-json", "--output-format",
                                        "stream-json", "--permission-prompt-tool", "stdio"};
    size_t room = args->kept_count + OUR_WORDS_MAX, n = 0;
    const char **argv = arena_array(&cli->arena, const char *, room);
    argv[n++] = cli->settings.claude;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        argv[n++] = words[i];
    if (!args->has_sources) {
        argv[n++] = "--setting-sources";
        argv[n++] = "user";
    }
    if (!args->has_settings) {
        argv[n++] = "--settings";
        argv[n++] = "{\"useAutoModeDuringPlan\":false}";
    }
    if (!args->mode) {
        argv[n++] = "--permission-mode";
        argv[n++] = "default";
    }
    if (session) {
        argv[n++] = "--session-id";
        argv[n++] = session;
    }
    for (size_t i = 0; i < args->kept_count; i++)
        argv[n++] = args->kept[i];
    CHECK(n < room);
    return (char **)argv;
}

struct rc claude_child_start(struct cli *cli, const struct claude_args *args, const char *session,
                             struct relay_child *ret_child, struct err *err)
{
    char **argv = compose(cli, args, session);
    struct err why = {.code = ERR_OK};
    struct rc rc = relay_child_start(argv, NULL, ret_child, &why);
    if (rc.code != ERR_NOT_FOUND)
        return rc_ok(rc) ? rc : err_set(err, rc.code, "%s", why.text);
    return err_set(err, ERR_NOT_FOUND, "%s: install Claude Code, or say where it is with NOD_CLAUDE", why.text);
}
