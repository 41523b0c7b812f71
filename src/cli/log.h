/* Prints events in the form of `nod log`, from any source. */
#ifndef CLI_LOG_H
#define CLI_LOG_H

#include "base/json.h"
#include "cli/cli.h"
#include "cli/log_format.h"

struct log_printer {
    struct cli *cli;
    uint64_t left;   /* how many more are wanted */
    struct str text; /* only events that hold it; empty: all */
    enum log_format format;
    bool begun;      /* a line was printed */
};

/* By the command's options. */
struct rc log_printer_init(struct log_printer *printer, struct cli *cli, struct err *err);
/* False when no more are wanted, or nobody reads. */
bool log_print(struct log_printer *printer, const struct json *event);
/* All of the command that needs a server. */
struct rc log_remote(struct cli *cli, struct err *err);

#endif
