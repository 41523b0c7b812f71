/* nod codex, nod opencode: an agent with Nod's hook, for this one run and without a change in its settings.
 *
 * The agent takes the place of this process. Its hook is named by options or a variable; every call waits at the gate,
 * in its terminal as in a run without one. When the hook is in its settings already, it is left to that.
 */
#include "base/limits.h"
#include "cli/agent_box.h"
#include "cli/hook_install.h"
#include "cli/identity.h"
#include "cli/local.h"
#include "cli/remote.h"
#include "io/file.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { WAIT_S = 86370, WORDS_MAX = sizeof((struct agent_run *)0)->words / sizeof(const char *) };

/* Refuses the agent's own switches that would silence its hooks; the person can still start the agent without Nod. */
static struct rc check_arguments(struct cli *cli, const struct agent *agent, struct err *err)
{
    for (int i = 0; i < cli->argc; i++)
        if (agent->once.unhooks(str_of(cli->argv[i])))
            return err_set(err, ERR_INVALID, "'%s' could take the questions away from Nod, so nod %s does not "
                                             "take it", cli->argv[i], agent->name);
    if (agent_box_wanted(cli))
        return err_set(err, ERR_INVALID, "nod %s has no box; %s has one", agent->name,
                       agent == &agent_codex ? "nod codex talk --sandbox" : "nod acp --sandbox -- AGENT");
    if (agent->once.unset)
        (void)unsetenv(agent->once.unset);
    if (agent->once.closes && setenv(agent->once.closes, "1", 0) != 0)
        return err_set(err, ERR_INTERNAL, "no room for a variable");
    return RC_OK;
}

/* The hook of this one run: an identity for this folder, and the agent's way of naming a hook. */
static struct rc put_hook(struct cli *cli, const struct agent *agent, struct agent_run *run, struct err *err)
{
    struct arena *arena = &cli->arena;
    const char *cwd, *self, *file;
    struct reply reply;
    BUF_SCOPE(command, LIMIT_PATH_BYTES * 8);
    TRY(local_folder(cli, ".", &cwd, err));
    TRY(local_self(cli, &self, err));
    TRY(remote_get(cli, STR("/api/me"), &reply, err)); /* says how to start a server, when none runs */
    struct identity_want want = {.kind = str_of(agent->name), .about = str_of(cwd), .folder = str_of(cwd),
                                 .name = arena_printf(arena, "%s in %.*s", agent->name,
                                                      STR_ARG(local_title(str_of(cwd))))};
    TRY(identity_have(cli, &want, &file, err));
    buf_put_quoted(&command, str_of(self));
    buf_printf(&command, " hook %s --wait %d --identity ", agent->name, WAIT_S);
    buf_put_quoted(&command, str_of(file));
    run->command = arena_str(arena, buf_str(&command));
    run->file = arena_printf(arena, "%s.js", file).p;
    run->given = agent->once.variable ? getenv(agent->once.variable) : NULL;
    TRY(agent->once.put(arena, run, err));
    if (!str_empty(run->text))
        TRY(file_write_private(run->file, run->text, err));
    if (agent->once.variable && setenv(agent->once.variable, arena_c(arena, run->value), 1) != 0)
        return err_set(err, ERR_INTERNAL, "no room for a variable");
    return RC_OK;
}

/* Replaces this process by the agent: its terminal, signals and exit status are the agent's own. */
static struct rc run_once(struct cli *cli, const struct agent *agent, const char *program, struct err *err)
{
    struct agent_run run = {0};
    const char **argv = arena_array(&cli->arena, const char *, (size_t)cli->argc + WORDS_MAX + 2);
    size_t n = 0;
    bool installed;
    const char *trouble = hook_trouble(cli, agent, &installed);
    if (trouble)
        return err_set(err, ERR_INVALID, "%s", trouble);
    TRY(check_arguments(cli, agent, err));
    if (!installed)
        TRY(put_hook(cli, agent, &run, err));
    argv[n++] = program;
    for (size_t i = 0; i < WORDS_MAX && run.words[i]; i++)
        argv[n++] = run.words[i];
    for (int i = 0; i < cli->argc; i++)
        argv[n++] = cli->argv[i];
    (void)execvp(argv[0], (char **)argv);
    return err_set(err, ERR_NOT_FOUND, "cannot start '%s': %s: install %s, or say where it is with --%s", argv[0],
                   strerror(errno), agent->title, agent->name);
}

struct rc once_codex_command(struct cli *cli, struct err *err)
{
    return run_once(cli, &agent_codex, cli->settings.codex, err);
}

struct rc once_opencode_command(struct cli *cli, struct err *err)
{
    return run_once(cli, &agent_opencode, cli->settings.opencode, err);
}
