/* Signing from a terminal: a key file that a passphrase opens, and statements that say what was shown here. */
#ifndef CLI_SIGNING_H
#define CLI_SIGNING_H

#include "cli/cli.h"
#include "sign/sign.h"

struct private_key;

/* Asks at the terminal itself, without echo, whatever standard input is. ERR_INVALID when there is no terminal. */
struct rc signing_passphrase(struct arena *arena, const char *prompt, struct str *ret_passphrase, struct err *err);
/* Opens the key of the settings; asks for its passphrase. The caller frees it. */
struct rc signing_open(struct cli *cli, struct private_key **ret_key, struct err *err);

/* Has a statement issued and signs it, but only if it is the one that we would write ourselves. `asked` is the body of
 * POST /api/statements without its last brace; the answer is the value of "signature". */
struct rc signing_make(struct cli *cli, const struct private_key *key, struct statement own, struct str asked,
                       struct str *ret_signature, struct err *err);

/* Asks as remote_ask does. When the server wants a signature under the request, signs it and asks again; the body is an
 * object without blanks. */
struct query;
struct reply;
struct rc signing_ask(struct cli *cli, const struct query *query, struct reply *ret_reply, struct err *err);
struct rc signing_post(struct cli *cli, struct str target, struct str body, struct reply *ret_reply, struct err *err);
/* The signature of this key under a request. */
struct rc signing_request(struct cli *cli, const struct private_key *key, const char *method, struct str path,
                          struct str body, struct str *ret_signature, struct err *err);

#endif
