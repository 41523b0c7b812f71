/* --sandbox of `nod claude`, `nod codex talk` and `nod acp`: the whole agent in a box. Private to cli/. */
#ifndef CLI_AGENT_BOX_H
#define CLI_AGENT_BOX_H

#include "agents/agent.h"
#include "cli/relay/relay.h"

enum { AGENT_BOX_MODEL_PORT = 3129 }; /* in the box, on its loopback device: the model, when its key is kept outside */

/* The proxy to the model's API: its address, and the header with the key. */
struct model_proxy {
    const char *url;
    const char *key_header; /* "x-api-key: …"; NULL: there is no key, and no proxy */
};

/* Serves one connection of the box, in a thread of its own; closes nothing. */
void model_proxy_serve(const struct model_proxy *proxy, int client, const atomic_bool *ended);

/* Which agent, and where it asks for hosts. */
struct agent_box_wish {
    const struct agent *agent;
    struct relay_record *record;
    struct str session, thread, cwd; /* cwd: the folder around which the box is made */
    const char *variable, *value;    /* one more of its environment; NULL: none */
    const char *hint;                /* follows "cannot find X": how to say where it is */
};

/* Whether --sandbox was said for this command; a setting for runs of Nod's own agent does not count. */
bool agent_box_wanted(const struct cli *cli);

struct agent_box;
/* The home that Nod keeps for agents in boxes around this folder: its path outside and inside. */
struct rc agent_box_home(struct cli *cli, struct str folder, const char **ret_outside, const char **ret_inside,
                         struct err *err);
/* Starts `argv` in a box; as relay_child_start. The box lives as long as the command. */
struct rc agent_box_start(struct cli *cli, const struct agent_box_wish *wish, char **argv,
                          struct relay_child *ret_child, struct agent_box **ret_box, struct err *err);
/* Kills all processes in the box. */
void agent_box_kill(struct agent_box *box);
/* Waits for the agent's end and stores what the box did in the network; returns the exit status as a shell reports
 * it. */
int agent_box_wait(struct agent_box *box, struct relay_child *child);
/* Ends an agent whose input was closed: waits a few seconds, then kills what is left; returns as agent_box_wait(). */
int agent_box_end(struct agent_box *box, struct relay_child *child);

#endif
