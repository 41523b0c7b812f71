/* The parts of one process, put together; and the commands that need no server. */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include "base/err.h"
#include "cli/settings.h"

#include <sys/types.h>

/* The scripted agent of `nod serve --demo`: the command `nod demo` as a process of its own. */
struct demo_child {
    pid_t pid; /* 0: none */
};

struct rc demo_start(struct demo_child *child, const struct settings *settings, struct err *err);
void demo_stop(struct demo_child *child);

struct auto_archive;
struct cli;
struct gate;
struct loop;
struct runtime;
struct saver;
struct servers;
struct sign_key;

/* Called first in main: becomes the supervisor process if `argv` says so (supervisor_main); else returns false. */
bool serve_supervisor(int argc, char **argv);

/* Where archives are: in the data folder. */
const char *archive_folder(struct cli *cli);

/* Periodically archives sessions older than this; NULL for 0. Free it before the gate is closed. */
struct auto_archive *auto_archive_new(struct loop *loop, struct gate *gate, int64_t after_s);
void auto_archive_free(struct auto_archive *archive);
/* The server's own key; one that is made, when there is none, is the saver's to write. */
struct rc server_key_open(const struct cli *cli, struct saver *saver, struct sign_key **ret_key, struct err *err);
/* Compares it with that of the other nodes on the same store, which must be open. Logs and returns what is wrong;
 * empty: nothing. */
struct str server_key_compare(const struct cli *cli, const struct sign_key *key);

/* The MCP servers of the file that the settings name; without a file an empty list, which keeps what proxies report. */
struct rc mcp_servers_open(struct cli *cli, struct servers **ret_servers, struct err *err);
/* Our own agent, with the models that the settings name. */
struct rc runs_open(struct cli *cli, struct loop *loop, struct gate *gate, struct runtime **ret_runtime,
                    struct err *err);

#endif
