/* nod help, nod version. */
#include "cli/text.h"
#include "cli/words.h"

struct rc help_command(struct cli *cli, struct err *err)
{
    BUF_SCOPE(buf, TEXT_BYTES_MAX);
    struct str name = STR_NONE;
    for (int i = 0; i < cli->argc; i++)
        name = arena_printf(&cli->arena, "%.*s%s%s", STR_ARG(name), i ? " " : "", cli->argv[i]);
    const struct command *command = command_find(name);
    if (command)
        words_command(&buf, command, cli->width);
    else if (str_empty(name))
        words_all(&buf, cli->width);
    else if (command_group(name))
        words_group(&buf, name, cli->width);
    else
        return err_set(err, ERR_INVALID, "there is no command '%.*s'; see nod help", STR_ARG(name));
    cli_out(buf_str(&buf));
    return RC_OK;
}

struct rc version_command(struct cli *cli, struct err *err)
{
    (void)err;
    cli_out(cli->json ? STR("{\"version\":\"" NOD_VERSION "\"}\n") : STR("nod " NOD_VERSION "\n"));
    return RC_OK;
}
