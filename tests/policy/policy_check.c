/* The command `nod policy check` as a program of its own: policy_check FILE.tsv --cwd DIR --home DIR. */
#include "serve/policy_check.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    struct err err = {0};
    int status = 0;
    struct rc rc = policy_check_main(argc - 1, argv + 1, &status, &err);
    if (rc_ok(rc))
        return status;
    (void)fprintf(stderr, "%s\n", err.text);
    return err_exit(rc.code);
}
