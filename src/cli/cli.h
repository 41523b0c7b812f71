/* The command line: the functions of the API, from a terminal.
 *
 * A command is a function that gets its operands, options and settings in a struct cli, writes what was
 * asked for to standard output and everything else to standard error. Its error becomes words on standard error and
 * an exit status (base/err.h); `cli->status` is the exit status when all went well. The server is reached by its
 * protocol only (remote.h).
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "cli/commands.h"
#include "cli/settings.h"

struct cli;
struct http_client;
struct identity;

/* An option of a command, for parsing, help, manual and completions. */
struct option {
    char letter;       /* 0: none */
    const char *name;  /* NULL ends a list */
    const char *value; /* placeholder of its value; NULL: takes none; in brackets: optional, only as --name=value */
    const char *words;
};

enum command_id {
#define X(function, ...) COMMAND_##function,
    COMMANDS(X)
#undef X
    COMMAND_COUNT
};

struct command {
    const char *name;
    unsigned audience;
    const char *operands;
    const char *summary;
    const char *details;
    const struct option *options;
    enum command_id id;
};

typedef struct rc (*command_run)(struct cli *cli, struct err *err);
#define X(function, ...) struct rc function##_command(struct cli *cli, struct err *err);
COMMANDS(X)
#undef X

/* Ends with an entry without a name. */
extern const struct command commands[];

/* An option on the command line, with its value. */
struct option_use {
    const struct option *option;
    const char *value; /* NULL: none */
};

/* A command while it runs: what was typed, the settings, and the connection to the server. */
struct cli {
    struct arena arena; /* lives as long as the command */
    struct settings settings;
    struct err settings_err; /* why reading the settings failed, for commands that continue without them */
    const struct command *command;
    struct option_use *uses;
    size_t use_count;
    int argc;           /* operands */
    char **argv;
    bool help;          /* --help was given */
    bool json, color;
    unsigned width;     /* columns of the terminal on standard output; 0: it is not a terminal */
    int status;
    const struct identity *identity; /* the identity whose token is sent; NULL: the person's token is sent */
    struct http_client *client; /* remote.c's */
    char **environment; /* the original environment, for programs that we start; NULL: our own */
};

/* Reads the command line, then the other sources of settings. Sets `command` even when it fails later. If `command` is
 * set before the call, it is the only one (tests/bench). */
struct rc cli_read(struct cli *cli, int argc, char **argv, struct err *err);
/* Runs it, or explains it when --help was given. `nod` alone is explained, too, and is a mistake. `runs` has the
 * function of each command: main.c knows them all, also those of serve/, which this folder may not know. */
struct rc cli_run(struct cli *cli, const command_run runs[COMMAND_COUNT], struct err *err);
void cli_done(struct cli *cli);

/* ---- options of the command (asking for one that its table lacks is a bug) ---- */
bool option_flag(const struct cli *cli, const char *name);
/* The last value given, NULL when there is none. */
const char *option_text(const struct cli *cli, const char *name);
/* Reads a number; *ret is unchanged when the option is absent. A time may have a unit. */
struct rc option_number(const struct cli *cli, const char *name, uint64_t max, uint64_t *ret_value,
                        struct err *err);
struct rc option_time(const struct cli *cli, const char *name, int64_t max, int64_t *ret_seconds,
                      struct err *err);
/* Every value of a repeated option in turn: start with *at = 0; NULL at the end. */
const char *option_each(const struct cli *cli, const char *name, size_t *at);

/* Starts a thread that nobody waits for. */
struct rc cli_start_thread(void *(*run)(void *arg), void *arg, struct err *err);

/* ---- output ---- */
void cli_out(struct str text);
/* One line on standard error. */
void cli_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
