/* Access to local files for commands: folders, standard input, starting a server. */
#ifndef CLI_LOCAL_H
#define CLI_LOCAL_H

#include "base/json.h"
#include "cli/cli.h"

#include <sys/types.h>

/* The folder's absolute path, which must exist. */
struct rc local_folder(struct cli *cli, const char *path, const char **ret_absolute, struct err *err);
/* Makes the folders above a file or folder that are missing. */
struct rc local_folders_above(struct cli *cli, const char *path, mode_t mode, struct err *err);
/* The last part of a path: what a person calls the folder. */
struct str local_title(struct str path);
/* Standard input up to its end. */
struct rc local_read_stdin(struct arena *arena, size_t bytes_max, struct str *ret_text, struct err *err);
/* A tool's input, a JSON object, from the command line or, for "-", from standard input. */
struct rc local_input(struct cli *cli, const char *operand, const struct json **ret_input, struct err *err);

/* Starts a server in the background, as `nod serve` does, and waits until it answers. `ret_pid` may be NULL. */
struct rc local_start_server(struct cli *cli, pid_t *ret_pid, struct err *err);
/* A header "NAME: value" of NAME=VARIABLE (--header-env): the value is in the environment, where no list of processes
 * shows it. */
struct rc local_header(struct cli *cli, const char *text, const char **ret_header, struct err *err);
/* The path of the running program. */
struct rc local_self(struct cli *cli, const char **ret_path, struct err *err);

#endif
