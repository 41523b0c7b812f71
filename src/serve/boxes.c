/* Whether commands of Nod's own agent run in a box, and which kind this machine can make. */
#include "serve/boxes.h"

#include "base/log.h"
#include "box/box.h"
#include "cli/cli.h"

#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

/* A home of "/" would make the whole machine the project's neighbour: an empty folder stands for it. */
static const char *home_folder(struct arena *arena)
{
    const struct passwd *user = getpwuid(geteuid());
    char real[PATH_MAX];
    if (!user || !user->pw_dir || !realpath(user->pw_dir, real) || !real[1])
        return "/home/user";
    return arena_c(arena, str_of(real));
}

const struct box_setting *boxes_open(struct cli *cli)
{
    char why[256] = "", data[PATH_MAX];
    if (!cli->settings.sandbox)
        return NULL;
    struct box_setting *setting = arena_new(&cli->arena, struct box_setting);
    *setting = (struct box_setting){.home = home_folder(&cli->arena), .data = cli->settings.data};
    if (realpath(cli->settings.data, data))
        setting->data = arena_c(&cli->arena, str_of(data));
    setting->order = box_probe(setting, why, sizeof why);
    if (setting->order == BOX_NONE)
        log_line(LOG_WARN, "no box can be made here: commands of runs will be refused", LOG_C("why", why));
    else
        log_line(LOG_INFO, box_order_text(setting->order));
    return setting;
}
