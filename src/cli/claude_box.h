/* `nod claude --sandbox`: the whole agent in a box. Private to cli/. */
#ifndef CLI_CLAUDE_BOX_H
#define CLI_CLAUDE_BOX_H

#include "cli/claude.h"

/* The proxy to the model's API: its address, and the header with the key. */
struct model_proxy {
    const char *url;
    const char *key_header; /* "x-api-key: …"; NULL: there is no key, and no proxy */
};

/* Serves one connection of the box, in a thread of its own; closes nothing. */
void model_proxy_serve(const struct model_proxy *proxy, int client, const atomic_bool *ended);

/* Starts `argv` in a box around the session's folder; as claude_child_start. */
struct rc claude_box_start(struct cli *cli, struct claude_asks *asks, char **argv, struct relay_child *ret_child,
                           struct err *err);
/* Kills all processes in the box. */
void claude_box_kill(struct claude_box *box);
/* Waits for the agent's end and stores what the box did in the network; returns the exit status as a shell reports it.
 * */
int claude_box_wait(struct claude_box *box, struct relay_child *child);

#endif
