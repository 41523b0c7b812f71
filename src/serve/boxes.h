/* Boxes for the commands of runs; private to serve/. */
#ifndef SERVE_BOXES_H
#define SERVE_BOXES_H

struct box_setting;
struct cli;
struct saver;

/* The box in which runs execute commands. NULL when `sandbox` is off, or unset in an installation older than boxes.
 * Lives as long as the command's arena, or until boxes_close, which may get NULL. A choice that is made is the saver's
 * to write. */
struct box_setting *boxes_open(struct cli *cli, struct saver *saver);
/* Finds out beside the start whether a box can be made. Before it nothing may be judged or run: there would be none. It
 * takes a processor for as long as the start takes one, so it begins when most of that is done. NULL is nothing. */
void boxes_begin(struct box_setting *setting);
void boxes_close(struct box_setting *setting);

#endif
