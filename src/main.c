/* Finds the command, runs it, turns its error into words and an exit status. */
#include "base/utf8.h"
#include "cli/cli.h"
#include "serve/serve.h"

#include <stdio.h>

static const command_run runs[COMMAND_COUNT] = {
#define X(function, ...) [COMMAND_##function] = function##_command,
    COMMANDS(X)
#undef X
};

/* Prints an error, with control characters made visible: it may quote text from outside. */
static void complain(const struct err *err)
{
    BUF_SCOPE(buf, 16 << 10);
    utf8_show(&buf, str_of(err->text), false);
    (void)fprintf(stderr, "nod: %s\n", buf_c(&buf));
}

/* The same program is also the supervisor of boxes and the first process inside one: that is looked at before anything
 * else. A command whose output cannot be written has failed, whatever else it did. */
int main(int argc, char **argv)
{
    __attribute__((cleanup(cli_done))) struct cli cli = {0};
    struct err err = {0};
    if (serve_supervisor(argc, argv))
        return 0;
    struct rc rc = cli_read(&cli, argc, argv, &err);
    if (rc_ok(rc))
        rc = cli_run(&cli, runs, &err);
    if (rc_bad(rc))
        complain(&err);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        perror("nod: standard output");
        return 1;
    }
    return rc_bad(rc) ? err_exit(rc.code) : cli.status;
}
