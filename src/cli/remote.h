/* The server, as a command sees it: questions and answers over its Unix socket or a URL.
 *
 * Where it is and with which token to speak comes from the settings; the connection is made at the first
 * question. An admin token found by itself in the data folder is never sent to another machine.
 */
#ifndef CLI_REMOTE_H
#define CLI_REMOTE_H

#include "base/json.h"
#include "cli/cli.h"

/* A request to the server. */
struct query {
    const char *method;
    struct str target;
    struct str body;
    int64_t wait_seconds; /* how long the server may hold the answer on purpose */
};

/* The server's answer, in the arena of the request. */
struct reply {
    int status;
    struct str body;
    const struct json *json; /* the parsed body; NULL: it is not JSON */
};

/* Makes a separate client, to be freed by the caller: for streams, and for threads. */
struct rc remote_client(struct cli *cli, struct http_client **ret_client, struct err *err);
/* Asks; an answer with a status of 400 and above is an error with the server's words, and is filled in too.
 * ERR_UNAVAILABLE says how to start a server. */
struct rc remote_ask(struct cli *cli, struct arena *arena, const struct query *query,
                     struct reply *ret_reply, struct err *err);
struct rc remote_get(struct cli *cli, struct str target, struct reply *ret_reply, struct err *err);
struct rc remote_post(struct cli *cli, struct str target, struct str body, struct reply *ret_reply,
                      struct err *err);
/* Whether asking again later may help: the server was away or busy. */
bool remote_passing(struct rc rc);
/* Prints the answer as it came, for --json. */
void remote_print(const struct reply *reply);
/* With --json prints it, and says so. */
bool remote_printed(const struct cli *cli, const struct reply *reply);
/* `text` as a piece of a path or a query. */
struct str remote_escape(struct arena *arena, struct str text);
/* The server's address, for messages. */
const char *remote_where(const struct cli *cli);
void remote_close(struct cli *cli);

#endif
