/* The server's own key: made at the first start, in a file of the data folder that only its user reads.
 *
 * With it the server signs what it answers to programs that pinned it, and makes the secrets of agents' tokens.
 * Nodes on one store need the same file: the store holds a fingerprint of the first one's. A node whose key is another
 * one starts all the same and says so. It refuses what hooks and proxies prove, and they do not believe its answers;
 * what people do with their tokens goes on, also while a key that leaked is replaced.
 */
#include "serve/serve.h"

#include "base/hex.h"
#include "base/id.h"
#include "cli/cli.h"
#include "base/sign.h"
#include "base/log.h"
#include "io/file.h"
#include "io/saver.h"
#include "store/store.h"

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

/* Reads server.key; the first start makes it. */
struct rc server_key_open(const struct cli *cli, struct saver *saver, struct sign_key **ret_key, struct err *err)
{
    ARENA_SCOPE(arena);
    unsigned char seed[SIGN_SEED_BYTES];
    char hex[2 * SIGN_SEED_BYTES + 1];
    const char *path = arena_printf(&arena, "%s/server.key", cli->settings.data).p;
    struct rc rc = read_key(&arena, path, seed, err);
    if (rc.code == ERR_NOT_FOUND) {
        id_random(seed, sizeof seed);
        hex_write(seed, sizeof seed, hex);
        saver_add(saver, path, arena_printf(&arena, KEY_MARK "%s\n", hex), NULL);
        rc = RC_OK;
    }
    TRY(rc);
    *ret_key = sign_key_new(seed);
    return RC_OK;
}

/* Of the public half, which every program that has pinned it knows. */
static uint64_t fingerprint(const struct sign_key *key)
{
    struct sign_public public = sign_public_of(key);
    struct digest digest = digest_of((struct str){(const char *)public.bytes, sizeof public.bytes});
    uint64_t first = 0;
    for (size_t i = 0; i < sizeof first; i++)
        first = first << 8 | digest.bytes[i];
    return first;
}

struct str server_key_compare(const struct cli *cli, const struct sign_key *key)
{
    struct err err;
    bool same = true;
    if (!store_has_nodes(cli->settings.store)) /* the public half, which costs a start time and memory, is not made */
        return STR_NONE;
    if (rc_bad(store_note_key(cli->settings.store, fingerprint(key), &same, &err)))
        log_line(LOG_WARN, "whether the other nodes have the same server.key cannot be told", LOG_C("why", err.text));
    if (same)
        return STR_NONE;
    log_line(LOG_WARN, "server.key is not that of the other nodes on this database: this node refuses their hooks, "
                       "proxies and links. Copy the file from another node's data folder and start this one again "
                       "(docs/OPERATIONS.md, Several nodes)", LOG_C("folder", cli->settings.data));
    return STR("server.key is not that of the other nodes on this database");
}
