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
    else if (str_is(name, "settings"))
        words_settings(&buf, cli->width);
    else
        return command_unknown(&cli->arena, name, err);
    cli_out(buf_str(&buf));
    return RC_OK;
}

/* The first line never changes, for scripts. A build without git has no commit. */
struct rc help_version_command(struct cli *cli, struct err *err)
{
    (void)err;
    if (cli->json)
        cli_out(STR("{\"version\":\"" NOD_VERSION "\",\"commit\":\"" NOD_COMMIT "\","
                    "\"libraries\":\"" NOD_LIBRARIES "\"}\n"));
    else
        cli_out(arena_printf(&cli->arena, "nod " NOD_VERSION "\n%swith " NOD_LIBRARIES "\n",
                             str_empty(STR(NOD_COMMIT)) ? "" : "commit " NOD_COMMIT "\n"));
    return RC_OK;
}
