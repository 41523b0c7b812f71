/* nod codex: Codex with Nod's hook, for this one run and without a change in its settings.
 *
 * Codex takes the place of this process. Its hook is named, and trusted, by options; every call waits at the gate, in
 * its terminal as in `codex exec`. When the hook is in its settings already, it is left to that.
 */
#include "agents/codex.h"

#include "base/limits.h"
#include "cli/hook_install.h"
#include "cli/identity.h"
#include "cli/local.h"
#include "cli/remote.h"

#include <errno.h>
#include <unistd.h>

enum { WAIT_S = 86370 };

static struct rc check_arguments(struct cli *cli, struct err *err)
{
    for (int i = 0; i < cli->argc; i++)
        if (codex_unhooks(str_of(cli->argv[i])))
            return err_set(err, ERR_INVALID, "'%s' could take the questions away from Nod, so nod codex does not "
                                             "take it", cli->argv[i]);
    return RC_OK;
}

static struct rc put_hook(struct cli *cli, const char *words[CODEX_FLAGS], struct err *err)
{
    struct arena *arena = &cli->arena;
    const char *cwd, *self, *file;
    struct reply reply;
    BUF_SCOPE(command, LIMIT_PATH_BYTES * 8);
    TRY(local_folder(cli, ".", &cwd, err));
    TRY(local_self(cli, &self, err));
    TRY(remote_get(cli, STR("/api/me"), &reply, err)); /* says how to start a server, when none runs */
    struct identity_want want = {.kind = STR("codex"), .about = str_of(cwd), .folder = str_of(cwd),
                                 .name = arena_printf(arena, "codex in %.*s", STR_ARG(local_title(str_of(cwd))))};
    TRY(identity_have(cli, &want, &file, err));
    buf_put_quoted(&command, str_of(self));
    buf_printf(&command, " hook codex --wait %d --identity ", WAIT_S);
    buf_put_quoted(&command, str_of(file));
    return codex_flags(arena, arena_str(arena, buf_str(&command)), words, err);
}

struct rc codex_command(struct cli *cli, struct err *err)
{
    const char *words[CODEX_FLAGS];
    const char **argv = arena_array(&cli->arena, const char *, (size_t)cli->argc + CODEX_FLAGS + 2);
    size_t n = 0;
    bool installed;
    const char *trouble = hook_trouble(cli, &agent_codex, &installed);
    if (trouble)
        return err_set(err, ERR_INVALID, "%s", trouble);
    TRY(check_arguments(cli, err));
    if (!installed)
        TRY(put_hook(cli, words, err));
    argv[n++] = cli->settings.codex;
    for (size_t i = 0; !installed && i < CODEX_FLAGS; i++)
        argv[n++] = words[i];
    for (int i = 0; i < cli->argc; i++)
        argv[n++] = cli->argv[i];
    (void)execvp(argv[0], (char **)argv);
    return err_set(err, ERR_NOT_FOUND, "cannot start '%s': %s: install Codex, or say where it is with NOD_CODEX",
                   argv[0], strerror(errno));
}
