/* Prints events in the form of `nod log`, from any source. */
#ifndef CLI_LOG_H
#define CLI_LOG_H

#include "base/json.h"
#include "cli/cli.h"
#include "cli/log_format.h"

/* Prints events in the wanted form until as many as wanted are printed. */
struct log_printer {
    struct cli *cli;
    uint64_t left;   /* number of events still to print */
    struct str text; /* print only events that contain this text; empty: all */
    enum log_format format;
    bool begun;      /* a line was printed */
};

/* Initializes the printer from the command's options. */
struct rc log_printer_init(struct log_printer *printer, struct cli *cli, struct err *err);
/* Prints an event. False when no more are wanted, or standard output was closed. */
bool log_print(struct log_printer *printer, const struct json *event);
/* The whole of `nod log` when it reads from a server. */
struct rc log_remote(struct cli *cli, struct err *err);

#endif
