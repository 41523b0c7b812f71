/* The identity of a program that an agent starts, and the only server that it speaks to.
 *
 * A file, 0600, named by its absolute path in the hook's command or in the MCP client's settings:
 *   {"address":"unix:/…","serverUid":1000,"serverKey":"ed25519:…","token":"nod_…","tokenId":"tok_…","name":"…"}
 * With it nothing else counts: no NOD_* variable, no configuration file, no HOME. The token in it is of the
 * role agent, made for this one installation, and is never sent (http/proof.h).
 */
#ifndef CLI_IDENTITY_H
#define CLI_IDENTITY_H

#include "cli/cli.h"
#include "http/http.h"

/* An identity file, read. */
struct identity {
    const char *path, *address;
    struct str name, token;
    struct http_identity http;
};

/* Leaves out the settings that commands started by agents must ignore; called before settings are loaded. */
void identity_shut_out(struct cli *cli);
/* Reads the file that --identity names and uses it for requests from now on. */
struct rc identity_load(struct cli *cli, struct err *err);
struct rc identity_read(struct cli *cli, const char *path, struct identity **ret_identity, struct err *err);

/* Describes the identity that an installed agent shall have. */
struct identity_want {
    struct str kind;    /* "claude", "claude-hook", "mcp": the file's name begins with it */
    struct str about;   /* distinguishes it from others of the same kind: a folder, a settings file */
    struct str name;    /* name of the token */
    struct str session; /* session to which the token is bound; may be empty */
    struct str folder;  /* folder in which the agent may start sessions without being asked */
    const char *path;   /* NULL: in the data folder */
};
/* The path of the identity's file. */
const char *identity_path(struct cli *cli, const struct identity_want *want);
/* Loads the identity if it exists and works, else makes a new one with the person's own token. */
struct rc identity_have(struct cli *cli, const struct identity_want *want, const char **ret_path, struct err *err);
/* Whether the file exists, the server accepts it, and the server proves to be the one that it names. */
bool identity_works(struct cli *cli, const char *path);
/* Revokes the token, as far as the server can be reached, and removes the file. */
void identity_drop(struct cli *cli, const char *path);
/* Uses this identity for requests from now on, instead of the person's token. */
struct rc identity_use(struct cli *cli, const char *path, struct err *err);

#endif
