/* nod-bench: measures a running server beside the disk it writes to. For `make bench`; no part of the product.
 *
 * It speaks to the server as the commands of nod do, with their settings and its own options.
 */
#include "bench/bench.h"

#include <stdio.h>

static const struct option options[] = {
    {0, "time", "TIME", "how long one turn of disk and gate may take (1s)"},
    {0, "calls", "N", "at most so many calls in one turn of gate (4000)"},
    {0, "connections", "N", "agents at once in gate (64)"},
    {0, "sessions", "N", "sessions they share; else each has its own"},
    {0, "repeat", "N", "turns of gate, rounds of streams (3)"},
    {0, "rounds", "N", "calls of one, decisions of answer (200)"},
    {0, "person-at", "URL", "answer: the person is at this node (unix:PATH), the agent at the other; no disk beside"},
    {0, "streams", "N", "readers (1000)"},
    {0, "against", "URL", "streams: an nchan server at GET /sub and POST /pub, to compare with"},
    {0, "keep", NULL, "leave the calls waiting"},
    {0, "events", "N", "fill: events in the new store (10000)"},
    {0, "open", "N", "fill: calls that wait in it (100)"},
    {0},
};

static const struct command command = {
    .name = "bench",
    .audience = TALKS | KEEPS,
    .operands = "[PART...]",
    .summary = "measure a running server beside the disk it writes to",
    .details = "Every figure is a ratio to what this machine does in the same seconds: append 1 KB and fdatasync in "
               "the data folder. Parts: disk; gate (many agents ask, each call durable); asks (only that); "
               "one (one agent asks); "
               "answer (from a person's decision to the agent that waits); streams (very many readers of one event); "
               "fill (makes a new store, without a server). Without PART: disk, gate, one and answer, some seconds in "
               "all. The calls are taken back at the end, but their events stay in the log: use a data folder of its "
               "own, as make bench does.",
    .options = options,
    .id = COMMAND_COUNT,
};

int main(int argc, char **argv)
{
    __attribute__((cleanup(cli_done))) struct cli cli = {.command = &command};
    struct err err = {0};
    struct rc rc = cli_read(&cli, argc, argv, &err);
    if (rc_ok(rc))
        rc = bench_run(&cli, &err);
    if (rc_bad(rc))
        (void)fprintf(stderr, "nod-bench: %s\n", err.text);
    if (fflush(stdout) != 0)
        return 1;
    return rc_bad(rc) ? err_exit(rc.code) : cli.status;
}
