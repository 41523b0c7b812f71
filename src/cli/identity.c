/* Identity files of programs that agents start (identity.h): read with suspicion, made by a person's token. */
#include "cli/identity.h"

#include "base/hex.h"
#include "base/limits.h"
#include "base/sign.h"
#include "cli/remote.h"
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

enum { IDENTITY_BYTES_MAX = 16 << 10 };
#define KEY_MARK "ed25519:"

/* ---- reading ---- */

/* The file must be the user's own or root's, no link, and not writable by others: else another user could
 * choose the server. */
static struct rc open_own(const char *path, int *ret_fd, struct err *err)
{
    struct stat st;
    if (path[0] != '/')
        return err_set(err, ERR_INVALID, "--identity takes an absolute path, not '%s'", path);
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ELOOP)
        return err_set(err, ERR_INVALID, "%s is a link, so it is not used", path);
    if (fd < 0)
        return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%s: %s", path, strerror(errno));
    const char *wrong = NULL;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        wrong = "is not a regular file";
    else if (st.st_uid != geteuid() && st.st_uid != 0)
        wrong = "belongs to another user";
    else if (st.st_mode & (S_IWGRP | S_IWOTH))
        wrong = "may be written by others";
    if (!wrong) {
        *ret_fd = fd;
        return RC_OK;
    }
    (void)close(fd);
    return err_set(err, ERR_INVALID, "%s %s, so it is not used", path, wrong);
}

/* The file is opened once and checked through its descriptor: owner and mode are those of the bytes that are read. */
static struct rc read_text(struct cli *cli, const char *path, const struct json **ret_json, struct err *err)
{
    BUF_SCOPE(buf, IDENTITY_BYTES_MAX);
    int fd = -1;
    ssize_t n;
    TRY(open_own(path, &fd, err));
    do {
        char piece[4096];
        n = read(fd, piece, sizeof piece);
        if (n > 0)
            buf_put(&buf, (struct str){piece, (size_t)n});
    } while (n > 0 || (n < 0 && errno == EINTR));
    (void)close(fd);
    struct rc rc = json_parse(&cli->arena, arena_str(&cli->arena, buf_str(&buf)), ret_json, NULL);
    return n == 0 && !buf.over && rc_ok(rc) ? RC_OK : err_set(err, ERR_INVALID, "%s cannot be read", path);
}

/* Everything must be there; an identity with a gap is an error and never falls back to other settings. */
struct rc identity_read(struct cli *cli, const char *path, struct identity **ret_identity, struct err *err)
{
    struct identity *identity = arena_new(&cli->arena, struct identity);
    const struct json *json;
    struct str mark = STR(KEY_MARK);
    int64_t uid = -1;
    TRY(read_text(cli, path, &json, err));
    struct str address = json_text(json, "address"), key = json_text(json, "serverKey");
    struct str token = json_text(json, "token");
    identity->path = path;
    identity->address = arena_c(&cli->arena, address);
    identity->name = json_text(json, "name");
    identity->http.token_id = json_text(json, "tokenId");
    identity->http.has_uid = json_i64(json_get(json, "serverUid"), &uid) && uid >= 0 && uid <= UINT32_MAX;
    identity->http.uid = identity->http.has_uid ? (uint32_t)uid : 0;
    bool local = str_starts(address, STR("unix:/"));
    if (str_empty(token) || str_empty(identity->http.token_id) || !str_starts(key, mark) ||
        (!local && !str_starts(address, STR("http://"))) || (local && !identity->http.has_uid) ||
        !hex_read(str_sub(key, mark.n, key.n), identity->http.server.bytes, SIGN_PUBLIC_BYTES))
        return err_set(err, ERR_INVALID, "%s lacks address, serverKey, serverUid, token or tokenId", path);
    identity->token = token;
    identity->http.verifier = proof_verifier(token);
    *ret_identity = identity;
    return RC_OK;
}

struct rc identity_use(struct cli *cli, const char *path, struct err *err)
{
    struct identity *identity;
    TRY(identity_read(cli, path, &identity, err));
    remote_close(cli);
    cli->identity = identity;
    cli->settings.url = identity->address;
    return RC_OK;
}

struct rc identity_load(struct cli *cli, struct err *err)
{
    const char *path = option_text(cli, "identity");
    if (!path)
        return err_set(err, ERR_UNAUTHENTICATED,
                       "this was installed without an identity of its own: run `nod %s install` again",
                       cli->command->id == COMMAND_proxy ? "mcp" : cli->command->name);
    return identity_use(cli, path, err);
}

/* ---- what an agent could set ---- */

static char *nothing(const char *name)
{
    (void)name;
    return NULL;
}

/* Copies the environment without NOD_ variables, for an agent that we start: it gets the variables it would have had.
 * */
static char **copy_environment(struct arena *arena)
{
    size_t count = 0, n = 0;
    while (environ && environ[count])
        count++;
    char **copy = arena_array(arena, char *, count + 1);
    for (size_t i = 0; i < count; i++)
        if (!str_starts(str_of(environ[i]), STR("NOD_")))
            copy[n++] = (char *)arena_c(arena, str_of(environ[i]));
    return copy;
}

/* A repository may decide what an agent puts into our environment. We take only one id from it,
 * that only names the agent's conversation. */
void identity_shut_out(struct cli *cli)
{
    const char *kept = getenv("CLAUDE_CODE_SESSION_ID");
    const char *copy = kept ? arena_c(&cli->arena, str_of(kept)) : NULL;
    cli->environment = copy_environment(&cli->arena);
    (void)clearenv();
    if (copy)
        (void)setenv("CLAUDE_CODE_SESSION_ID", copy, 1);
    cli->settings.environment = nothing;
    cli->settings.pinned = true;
}

/* ---- making ---- */

const char *identity_path(struct cli *cli, const struct identity_want *want)
{
    char hex[DIGEST_HEX_BYTES];
    const struct str pieces[] = {want->about, want->session, str_of(cli->settings.url)};
    struct digest digest = digest_of_pieces(pieces, sizeof pieces / sizeof *pieces);
    digest_hex(&digest, hex);
    if (want->path)
        return want->path;
    return arena_printf(&cli->arena, "%s/identities/%.*s-%.8s.json", cli->settings.data, STR_ARG(want->kind), hex).p;
}

/* False also when the server is down: the caller then makes a new one, which fails with the better message. */
bool identity_works(struct cli *cli, const char *path)
{
    struct identity *identity;
    struct http_client *client;
    struct http_response response = {0};
    if (rc_bad(identity_read(cli, path, &identity, NULL)) ||
        rc_bad(http_client_new(identity->address, NULL, &client, NULL)))
        return false;
    http_client_identify(client, &identity->http);
    struct rc rc = http_client_call(client, &cli->arena, "GET", STR("/api/me"), STR_NONE, 10000, &response, NULL);
    http_client_free(client);
    return rc_ok(rc) && response.status == 200;
}

/* The key and the user of the server are pinned: the hook later speaks to no other, whoever listens at the address.
 */
static struct rc write_identity(struct cli *cli, const char *path, const struct json *token, struct err *err)
{
    JSON_SCOPE(buf, out, IDENTITY_BYTES_MAX);
    uint32_t uid;
    json_object(&out, J("address", cli->settings.url), J_IF(http_client_peer(cli->client, &uid), J("serverUid", uid)),
                J("serverKey", json_text(token, "serverKey")), J("token", json_text(token, "token")),
                J("tokenId", json_text(token, "id")), J("name", json_text(token, "name")));
    buf_putc(&buf, '\n');
    return file_write_private(path, buf_str(&buf), err);
}

/* Makes a token of the role agent at the server, and writes it with the server's key and uid. */
static struct rc make(struct cli *cli, const struct identity_want *want, const char *path, struct err *err)
{
    JSON_SCOPE(body, out, LIMIT_BODY_BYTES);
    struct reply reply;
    json_object(&out, J("role", "agent"), J("name", want->name), J("sessionId", want->session),
                J_IF(!str_empty(want->folder), J_LIST("folders", J_ALWAYS(NULL, want->folder))));
    TRY(remote_post(cli, STR("/api/tokens"), buf_str(&body), &reply, err));
    if (str_empty(json_text(reply.json, "serverKey")))
        return err_set(err, ERR_INVALID, "the nod server at %s is older than this program: restart it",
                       remote_where(cli));
    return write_identity(cli, path, reply.json, err);
}

/* An identity that still works is kept, so that running setup twice makes no second token. */
struct rc identity_have(struct cli *cli, const struct identity_want *want, const char **ret_path, struct err *err)
{
    const char *path = identity_path(cli, want);
    *ret_path = path;
    if (identity_works(cli, path))
        return RC_OK;
    if (!want->path) {
        TRY(file_own_folder(cli->settings.data, err));
        TRY(file_own_folder(arena_printf(&cli->arena, "%s/identities", cli->settings.data).p, err));
    }
    return make(cli, want, path, err);
}

/* The file goes even if the token cannot be revoked: without the file nobody uses it. */
void identity_drop(struct cli *cli, const char *path)
{
    struct identity *identity;
    struct reply reply;
    if (rc_ok(identity_read(cli, path, &identity, NULL))) {
        struct query query = {.method = "DELETE"};
        struct str id = remote_escape(&cli->arena, identity->http.token_id);
        query.target = arena_printf(&cli->arena, "/api/tokens/%.*s", STR_ARG(id));
        (void)!remote_ask(cli, &cli->arena, &query, &reply, NULL).code;
    }
    (void)unlink(path);
}
