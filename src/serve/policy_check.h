/* `nod policy check`: a file of rules, calls and expectations, judged row by row, without a server. */
#ifndef SERVE_POLICY_CHECK_H
#define SERVE_POLICY_CHECK_H

#include "base/err.h"

/* argv is the operands and options behind the command: FILE.tsv --cwd DIR --home DIR. Prints to standard
 * output; *ret_status is 1 when a row passes that must not. */
struct rc policy_check_main(int argc, char **argv, int *ret_status, struct err *err);

#endif
