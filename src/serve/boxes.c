/* Whether commands of Nod's own agent run in a box, and which kind this machine can make. */
#include "serve/boxes.h"

#include "base/log.h"
#include "cli/box_choice.h"

/* An installation from before there were boxes stays as it was, and is told of them once. */
static bool is_wanted(struct cli *cli, struct saver *saver)
{
    enum box_choice choice = box_choice(cli);
    if (choice == BOX_ON || choice == BOX_OFF)
        return choice == BOX_ON;
    bool on = choice == BOX_UNDECIDED_NEW;
    box_choice_keep(cli, on, saver);
    if (!on)
        log_line(LOG_INFO, "commands of runs can run in a box now (docs/SECURITY.md): `sandbox = yes` in the "
                           "configuration switches it on");
    return on;
}

/* In the probe's thread, once. The loop may sleep by then, and would hold the line until somebody comes. */
static void tell(const struct box_setting *setting)
{
    if (setting->order == BOX_NONE)
        log_line(LOG_WARN, "no box can be made here: a person is asked about every command of a run",
                 LOG_C("why", setting->why));
    else
        log_line(LOG_INFO, box_order_text(setting->order), LOG_C("why", setting->why));
    log_flush();
}

/* NULL: no box is wanted. A box that cannot be made is a setting that says why, and every command is asked
 * about. */
struct box_setting *boxes_open(struct cli *cli, struct saver *saver)
{
    if (!is_wanted(cli, saver)) {
        log_line(LOG_INFO, "commands of runs run without a box: sandbox is off");
        return NULL;
    }
    struct box_setting *setting = box_setting_of(cli);
    setting->order = cli->settings.executor[0] ? BOX_NAMESPACES /* the executor makes it, and starts nothing without */
                                               : BOX_NONE /* until boxes_begin */;
    return setting;
}

void boxes_begin(struct box_setting *setting)
{
    if (setting && setting->order == BOX_NONE)
        box_probe_begin(setting, tell);
}

void boxes_close(struct box_setting *setting)
{
    if (setting)
        box_probe_end(setting);
}
