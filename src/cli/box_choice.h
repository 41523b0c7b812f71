/* Two defaults for new installations only: commands of runs execute in a box, and commands that only read are allowed
 * without a rule. Private to cli/ and serve/. */
#ifndef CLI_BOX_CHOICE_H
#define CLI_BOX_CHOICE_H

#include "box/box.h"
#include "cli/cli.h"

struct saver;

/* The choice when no setting makes it: on for an installation that began with boxes, off for an older one. A file in
 * the data folder records which it is; serve writes it at its first start. */
enum box_choice { BOX_ON, BOX_OFF, BOX_UNDECIDED_NEW, BOX_UNDECIDED_OLD };
enum box_choice box_choice(struct cli *cli);
void box_choice_keep(struct cli *cli, bool on, struct saver *saver);
/* Like box_choice, for the setting `read-only-commands`. */
enum box_choice box_choice_reads(struct cli *cli);
void box_choice_keep_reads(struct cli *cli, bool on, struct saver *saver);

/* The settings for box_probe: the data folder and the home folder without links. Lives in the command's arena. */
/* Where the executor of a user keeps the locks of its boxes; printf with the home folder. */
#define EXECUTOR_FOLDER "%s/.local/state/nod-executor"
struct box_setting *box_setting_of(struct cli *cli);

#endif
