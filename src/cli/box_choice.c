/* Whether commands of runs go into a box, and commands that only read need a rule, for this installation: a
 * setting, else a mark in the data folder, else by its age. An installation from before these defaults keeps
 * what it had. */
#include "cli/box_choice.h"

#include "io/file.h"
#include "io/saver.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

enum { MARK_BYTES_MAX = 64 };

static const char *mark_path(struct cli *cli, const char *name)
{
    return arena_printf(&cli->arena, "%s/%s", cli->settings.data, name).p;
}

/* Whether there was an installation before is told by the admin token, which the first start makes. */
static enum box_choice kept_choice(struct cli *cli, const char *name)
{
    struct str text;
    if (rc_ok(file_read(&cli->arena, mark_path(cli, name), MARK_BYTES_MAX, &text, NULL)))
        return str_starts(text, STR("on")) ? BOX_ON : BOX_OFF;
    return access(mark_path(cli, "admin.token"), F_OK) != 0 && errno == ENOENT ? BOX_UNDECIDED_NEW : BOX_UNDECIDED_OLD;
}

static void keep(struct cli *cli, const char *name, bool on, struct saver *saver, const char *else_say)
{
    saver_add(saver, mark_path(cli, name), on ? STR("on\n") : STR("off\n"), else_say);
}

enum box_choice box_choice(struct cli *cli)
{
    if (cli->settings.origins[SETTING_ID_sandbox].kind != ORIGIN_DEFAULT)
        return cli->settings.sandbox ? BOX_ON : BOX_OFF;
    return kept_choice(cli, "box");
}

/* A new installation does not start without its mark: the next start would take it for an old one, without a box. */
void box_choice_keep(struct cli *cli, bool on, struct saver *saver)
{
    keep(cli, "box", on, saver, on ? NULL : "the choice of a box cannot be kept");
}

enum box_choice box_choice_reads(struct cli *cli)
{
    if (cli->settings.origins[SETTING_ID_read_only_commands].kind != ORIGIN_DEFAULT)
        return cli->settings.read_only_commands == 0 ? BOX_ON : BOX_OFF;
    return kept_choice(cli, "read-only-commands");
}

void box_choice_keep_reads(struct cli *cli, bool on, struct saver *saver)
{
    keep(cli, "read-only-commands", on, saver, "the choice about commands that only read cannot be kept");
}

/* A home of "/" would expose the whole machine: then an empty folder is used. */
static const char *home_folder(struct arena *arena)
{
    const struct passwd *user = getpwuid(geteuid());
    char real[PATH_MAX];
    if (!user || !user->pw_dir || !realpath(user->pw_dir, real) || !real[1])
        return "/home/user";
    return arena_c(arena, str_of(real));
}

struct box_setting *box_setting_of(struct cli *cli)
{
    char data[PATH_MAX];
    struct box_setting *setting = arena_new(&cli->arena, struct box_setting);
    *setting = (struct box_setting){.home = home_folder(&cli->arena), .data = cli->settings.data, .why = ""};
    if (realpath(cli->settings.data, data))
        setting->data = arena_c(&cli->arena, str_of(data));
    return setting;
}
