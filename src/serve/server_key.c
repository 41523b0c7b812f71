/* The server's own key: made at the first start, in a file of the data folder that only its user reads.
 *
 * With it the server signs what it answers to programs that pinned it, and makes the secrets of agents' tokens.
 * Servers that are to be one to such programs (nodes behind one address) need the same file.
 */
#include "serve/serve.h"

#include "base/hex.h"
#include "base/id.h"
#include "cli/cli.h"
#include "base/sign.h"
#include "io/file.h"

#define KEY_MARK "ed25519-private:"

/* ERR_NOT_FOUND is for the caller, who makes a key. A file that is there and cannot be read is an error: a new key
 * would lock out every hook that has pinned the old one. */
static struct rc read_key(struct arena *arena, const char *path, unsigned char seed[SIGN_SEED_BYTES],
                          struct err *err)
{
    struct str text, mark = STR(KEY_MARK);
    TRY(file_read(arena, path, 4096, &text, err));
    text = str_trim(text);
    if (!str_starts(text, mark) || !hex_read(str_sub(text, mark.n, text.n), seed, SIGN_SEED_BYTES))
        return err_set(err, ERR_INVALID, "%s does not hold the server's key; hooks that were installed with it need "
                                         "it. Without it (move it away) they must be installed again", path);
    return RC_OK;
}

/* Made at the first start. */
struct rc server_key_open(const struct cli *cli, struct sign_key **ret_key, struct err *err)
{
    ARENA_SCOPE(arena);
    unsigned char seed[SIGN_SEED_BYTES];
    char hex[2 * SIGN_SEED_BYTES + 1];
    const char *path = arena_printf(&arena, "%s/server.key", cli->settings.data).p;
    struct rc rc = read_key(&arena, path, seed, err);
    if (rc.code == ERR_NOT_FOUND) {
        id_random(seed, sizeof seed);
        hex_write(seed, sizeof seed, hex);
        rc = file_write_private(path, arena_printf(&arena, KEY_MARK "%s\n", hex), err);
    }
    TRY(rc);
    *ret_key = sign_key_new(seed);
    return RC_OK;
}
