/* Claude Code as a child: its command line. */
#include "cli/agent_box.h"
#include "cli/claude.h"

#include <signal.h>

enum { OUR_WORDS_MAX = 20 };

/* Makes Claude Code's command line: with the control protocol, and without settings of the repository that could answer
 * before us. */
static char **compose(struct cli *cli, const struct claude_args *args, const char *session)
{
    static const char *const words[] = {"-p", "--verbose", "--input-format", "stream-json", "--output-format",
                                        "stream-json", "--permission-prompt-tool", "stdio"};
    size_t room = args->kept_count + OUR_WORDS_MAX, n = 0;
    const char **argv = arena_array(&cli->arena, const char *, room);
    argv[n++] = cli->settings.claude;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        argv[n++] = words[i];
    if (args->pieces)
        argv[n++] = "--include-partial-messages";
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

/* In a box where the settings want one; the box, once started, belongs to `asks`. */
struct rc claude_child_start(struct cli *cli, struct claude_asks *asks, const struct claude_args *args,
                             const char *session, struct relay_child *ret_child, struct err *err)
{
    char **argv = compose(cli, args, session);
    struct err why = {.code = ERR_OK};
    const struct agent_box_wish wish = {.agent = &agent_claude, .record = asks->record, .session = asks->session,
                                        .thread = asks->thread, .cwd = asks->cwd,
                                        .hint = ", or say where it is with NOD_CLAUDE"};
    if (agent_box_wanted(cli))
        return agent_box_start(cli, &wish, argv, ret_child, &asks->box, err);
    struct rc rc = relay_child_start(argv, NULL, ret_child, &why);
    if (rc.code != ERR_NOT_FOUND)
        return rc_ok(rc) ? rc : err_set(err, rc.code, "%s", why.text);
    return err_set(err, ERR_NOT_FOUND, "%s: install Claude Code, or say where it is with NOD_CLAUDE", why.text);
}

void claude_child_kill(struct claude_asks *asks, struct relay_child *child, int number)
{
    if (asks->box)
        agent_box_kill(asks->box);
    else
        (void)kill(-child->pid, number);
}

int claude_child_wait(struct claude_asks *asks, struct relay_child *child)
{
    return asks->box ? agent_box_wait(asks->box, child) : relay_child_wait(child);
}
