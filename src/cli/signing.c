/* Signatures from a terminal (signing.h). */
#include "cli/signing.h"

#include "base/base64.h"
#include "base/limits.h"
#include "base/public_key.h"
#include "base/stamp.h"
#include "cli/remote.h"
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

enum { PASSPHRASE_BYTES_MAX = 1024, KEY_FILE_BYTES_MAX = 16 << 10 };

/* ---- the passphrase ---- */

static struct rc write_all(int fd, const char *text, struct err *err)
{
    size_t n = strlen(text);
    if (write(fd, text, n) != (ssize_t)n)
        return err_set(err, ERR_IO, "cannot write to the terminal: %s", strerror(errno));
    return RC_OK;
}

static struct rc read_line(struct arena *arena, int fd, struct str *ret_line, struct err *err)
{
    char *line = arena_bytes(arena, PASSPHRASE_BYTES_MAX);
    ssize_t n = read(fd, line, PASSPHRASE_BYTES_MAX);
    if (n <= 0 || line[n - 1] != '\n')
        return err_set(err, ERR_INVALID, "no passphrase was given");
    *ret_line = (struct str){line, (size_t)n - 1};
    return RC_OK;
}

/* From the terminal itself, not from standard input, and without an echo. */
struct rc signing_passphrase(struct arena *arena, const char *prompt, struct str *ret_passphrase, struct err *err)
{
    struct termios before, silent;
    int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 || tcgetattr(fd, &before) != 0) {
        if (fd >= 0)
            (void)close(fd);
        return err_set(err, ERR_INVALID, "a passphrase is needed, and there is no terminal to ask for it at");
    }
    silent = before;
    silent.c_lflag &= ~(tcflag_t)ECHO;
    silent.c_lflag |= ICANON;
    (void)tcsetattr(fd, TCSAFLUSH, &silent);
    struct rc rc = write_all(fd, prompt, err);
    if (rc_ok(rc))
        rc = read_line(arena, fd, ret_passphrase, err);
    (void)tcsetattr(fd, TCSAFLUSH, &before);
    if (rc_ok(rc))
        rc = write_all(fd, "\n", err);
    (void)close(fd);
    return rc;
}

/* The caller frees the key. A passphrase that was wrong is asked for again at the next use. */
struct rc signing_open(struct cli *cli, struct private_key **ret_key, struct err *err)
{
    static struct str passphrase; /* asked for once per command: setup signs several rules */
    struct str pem;
    const char *path = cli->settings.key;
    struct rc rc = file_read(&cli->arena, path, KEY_FILE_BYTES_MAX, &pem, err);
    if (rc.code == ERR_NOT_FOUND)
        return err_set(err, ERR_INVALID, "this needs your signature, and there is no key in %s: answer on the page, or "
                                         "make one with `nod key create`", path);
    TRY(rc);
    if (!passphrase.p)
        TRY(signing_passphrase(&cli->arena, arena_printf(&cli->arena, "Passphrase of %s: ", path).p, &passphrase, err));
    *ret_key = private_key_read(pem, passphrase, err);
    if (!*ret_key)
        passphrase = STR_NONE;
    return *ret_key ? RC_OK : (struct rc){ERR_INVALID};
}

/* ---- statements ---- */

static struct str claim_json(struct arena *arena, struct str key, const struct json *issued, struct str sig)
{
    char text[BASE64_BYTES(SIGNATURE_BYTES_MAX)];
    base64_url_encode(sig.p, sig.n, text);
    return json_object_str(arena, J("key", key), J("nonce", json_text(issued, "nonce")),
                           J("until", json_text(issued, "until")), J("sig", text));
}

/* The statement is built here from what was shown, and compared with the server's: a server that wants
 * something else signed gets nothing. */
struct rc signing_make(struct cli *cli, const struct private_key *key, struct statement own, struct str asked,
                       struct str *ret_signature, struct err *err)
{
    struct arena *arena = &cli->arena;
    struct reply reply;
    char id[KEY_ID_BYTES];
    ring_key_id(private_key_public(arena, key), id);
    struct str body = arena_printf(arena, "%.*s,\"key\":\"%s\"}", STR_ARG(asked), id);
    TRY(remote_post(cli, STR("/api/statements"), body, &reply, err));
    own.key = str_of(id);
    own.nonce = json_text(reply.json, "nonce");
    own.fields[0].value = json_text(reply.json, "server");
    if (!stamp_parse(json_text(reply.json, "until"), &own.until_ms) ||
        !str_eq(statement_text(arena, &own), json_text(reply.json, "statement")))
        return err_set(err, ERR_CONFLICT, "the server wants something else signed than what was shown here; nothing "
                                          "was signed. Look again with `nod show`");
    *ret_signature = claim_json(arena, own.key, reply.json, private_key_sign(arena, key, statement_text(arena, &own)));
    return RC_OK;
}

/* ---- requests ---- */

/* `{"for":"request",…` for a request with this body. */
static struct str request_asked(struct arena *arena, const char *method, struct str path, struct str body)
{
    char hex[DIGEST_HEX_BYTES] = "";
    struct digest digest = digest_of(body);
    if (!str_empty(body))
        digest_hex(&digest, hex);
    return arena_printf(arena, "{\"for\":\"request\",\"method\":\"%s\",\"path\":\"%.*s\",\"body\":\"%s\"", method,
                        STR_ARG(path), hex);
}

struct rc signing_request(struct cli *cli, const struct private_key *key, const char *method, struct str path,
                          struct str body, struct str *ret_signature, struct err *err)
{
    struct statement own = statement_of_request(&cli->arena, STR_NONE, str_of(method), path, body);
    return signing_make(cli, key, own, request_asked(&cli->arena, method, path, body), ret_signature, err);
}

/* Asks without a signature first: most requests need none. */
struct rc signing_ask(struct cli *cli, const struct query *query, struct reply *ret_reply, struct err *err)
{
    struct private_key *key = NULL;
    struct str signature = STR_NONE;
    struct query again = *query;
    struct str parameters, path = str_cut(query->target, '?', &parameters);
    struct rc rc = remote_ask(cli, &cli->arena, query, ret_reply, err);
    if (rc.code != ERR_SIGNATURE_REQUIRED)
        return rc;
    cli_note("this loosens what agents may do, and needs your signature");
    TRY(signing_open(cli, &key, err));
    rc = signing_request(cli, key, query->method, path, query->body, &signature, err);
    private_key_free(key);
    TRY(rc);
    bool empty = str_is(query->body, "{}");
    again.body = arena_printf(&cli->arena, "%.*s%s\"signature\":%.*s}", (int)query->body.n - 1, query->body.p,
                              empty ? "" : ",", STR_ARG(signature));
    return remote_ask(cli, &cli->arena, &again, ret_reply, err);
}

struct rc signing_post(struct cli *cli, struct str target, struct str body, struct reply *ret_reply, struct err *err)
{
    struct query query = {.method = "POST", .target = target, .body = body};
    return signing_ask(cli, &query, ret_reply, err);
}
