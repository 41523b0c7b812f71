/* Small files written by a thread of their own: each waits for the disk, and a first start has several to make and more
 * to do meanwhile. */
#ifndef IO_SAVER_H
#define IO_SAVER_H

#include "base/err.h"
#include "base/str.h"

struct saver;

/* For files in this folder. It is the caller's thread's, as every call is. */
struct saver *saver_new(const char *folder);
/* Before saver_begin; path and text are copied. A file that cannot be written is an error, unless `else_say` is what
 * the log shall say of it. */
void saver_add(struct saver *saver, const char *path, struct str text, const char *else_say);
/* Starts the thread, if there is a file. */
void saver_begin(struct saver *saver);
/* Waits for it, and frees the saver: the files and their names are on the disk. NULL is nothing. */
struct rc saver_end(struct saver **saver, struct err *err);

#endif
