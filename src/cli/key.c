/* nod key create, list, revoke, recovery, reset: the key with which a person signs decisions from a terminal. */
#include "base/base64.h"
#include "base/limits.h"
#include "base/public_key.h"
#include "cli/remote.h"
#include "cli/signing.h"
#include "cli/text.h"
#include "cli/view.h"
#include "io/clock.h"
#include "io/file.h"

#include <unistd.h>

static void private_key_drop(struct private_key **key) { private_key_free(*key); }
#define KEY_SCOPE(name) __attribute__((cleanup(private_key_drop))) struct private_key *name = NULL

/* ---- create ---- */

/* Asks for the passphrase twice, since a mistyped one would make the key useless. */
static struct rc choose_passphrase(struct cli *cli, struct str *ret_passphrase, struct err *err)
{
    struct str again;
    TRY(signing_passphrase(&cli->arena, "Passphrase for the new key: ", ret_passphrase, err));
    if (ret_passphrase->n < PASSPHRASE_BYTES_MIN)
        return err_set(err, ERR_INVALID, "the passphrase needs at least %d characters", PASSPHRASE_BYTES_MIN);
    TRY(signing_passphrase(&cli->arena, "The same again: ", &again, err));
    if (!str_eq(*ret_passphrase, again))
        return err_set(err, ERR_INVALID, "the two passphrases differ; nothing was made");
    return RC_OK;
}

/* The body of POST /api/keys without its last brace: the signatures come behind it. */
static struct str key_body(struct cli *cli, const struct private_key *key, struct str code)
{
    struct str spki = private_key_public(&cli->arena, key);
    const char *name = option_text(cli, "name");
    char text[BASE64_BYTES(PUBLIC_KEY_BYTES_MAX)];
    base64_url_encode(spki.p, spki.n, text);
    return json_object_str(&cli->arena, J("kind", "ed25519"), J("name", name ? str_of(name) : STR("terminal")),
                           J("spki", text), J("recovery", code));
}

/* Signs the new key with an existing one, if there is any. */
static struct rc vouch(struct cli *cli, struct str body, struct str *ret_member, struct err *err)
{
    KEY_SCOPE(old);
    struct reply keys;
    struct str signature;
    TRY(remote_get(cli, STR("/api/keys"), &keys, err));
    if (str_is(json_text(keys.json, "signed"), "off"))
        return RC_OK;
    const char *with = option_text(cli, "with");
    if (!with)
        return err_set(err, ERR_SIGNATURE_REQUIRED,
                       "there are keys already, and one of yours must vouch for the new one: say --with its file, or "
                       "add this one on the page, in Settings");
    struct settings before = cli->settings;
    cli->settings.key = with;
    struct rc rc = signing_open(cli, &old, err);
    cli->settings = before;
    TRY(rc);
    TRY(signing_request(cli, old, "POST", STR("/api/keys"), body, &signature, err));
    *ret_member = arena_printf(&cli->arena, ",\"signature\":%.*s", STR_ARG(signature));
    return RC_OK;
}

/* A first key needs nothing; a further one is vouched for by an old key or a recovery code. */
struct rc key_create_command(struct cli *cli, struct err *err)
{
    KEY_SCOPE(key);
    struct arena *arena = &cli->arena;
    struct str passphrase, proof, signature = STR_NONE, code = STR_NONE;
    struct reply reply;
    const char *path = cli->settings.key;
    bool recovers = option_flag(cli, "recovery");
    if (access(path, F_OK) == 0)
        return err_set(err, ERR_CONFLICT, "%s holds a key already; say --key FILE for another one", path);
    if (recovers)
        TRY(signing_passphrase(arena, "One of your recovery codes: ", &code, err));
    TRY(choose_passphrase(cli, &passphrase, err));
    key = private_key_new();
    struct str body = key_body(cli, key, code);
    if (!recovers)
        TRY(vouch(cli, body, &signature, err));
    TRY(signing_request(cli, key, "POST", STR("/api/keys"), body, &proof, err));
    /* The file first: a key that is known but lost would ask for signatures that nobody can give. */
    TRY(file_write_private(path, private_key_write(arena, key, passphrase), err));
    struct str whole = arena_printf(arena, "%.*s,\"proof\":%.*s%.*s}", (int)body.n - 1, body.p, STR_ARG(proof),
                                    STR_ARG(signature));
    struct rc rc = remote_post(cli, STR("/api/keys"), whole, &reply, err);
    if (rc_bad(rc))
        (void)unlink(path);
    TRY(rc);
    if (cli->json)
        remote_print(&reply);
    else if (recovers)
        cli_note("key %.*s is known to the server; its file is %s\n"
                 "It signs from %.*s on. Then revoke the keys that you have lost: nod key revoke ID.",
                 STR_ARG(text_line(arena, json_text(reply.json, "id"))), path,
                 STR_ARG(text_line(arena, json_text(reply.json, "validFrom"))));
    else
        cli_note("key %.*s is known to the server; its file is %s\n"
                 "From now on risky calls are allowed only with a signature. Make a second key, on the page or with\n"
                 "--key FILE --with %s, so that a lost one does not lock you out,\n"
                 "and recovery codes: nod key recovery.",
                 STR_ARG(text_line(arena, json_text(reply.json, "id"))), path, path);
    return RC_OK;
}

/* ---- list, revoke ---- */

struct rc key_list_command(struct cli *cli, struct err *err)
{
    BUF_SCOPE(buf, TEXT_BYTES_MAX);
    struct arena *arena = &cli->arena;
    struct table table = {.arena = arena, .columns = 6, .width = cli->width, .color = cli->color};
    struct reply reply;
    TRY(remote_get(cli, STR("/api/keys"), &reply, err));
    if (remote_printed(cli, &reply))
        return RC_OK;
    table.none = "no keys yet: nod key create makes one for this terminal, Settings on the page one for a browser";
    table_row(&table, (struct str[]){STR("KEY"), STR("KIND"), STR("PERSON"), STR("MADE"), STR("REVOKED"), STR("NAME")});
    for (const struct json *k = json_first(reply.json, "keys"); k; k = k->next)
        table_row(&table, (struct str[]){text_line(arena, json_text(k, "id")), text_line(arena, json_text(k, "kind")),
                                         text_line(arena, json_text(k, "person")),
                                         text_time(arena, json_text(k, "addedAt"), clock_wall_ms()),
                                         text_time(arena, json_text(k, "revokedAt"), clock_wall_ms()),
                                         text_line(arena, json_text(k, "name"))});
    table_write(&buf, &table);
    buf_put(&buf, view_new_keys(arena, json_get(reply.json, "keys")));
    cli_out(buf_str(&buf));
    cli_note("signatures are asked for: %.*s", STR_ARG(text_line(arena, json_text(reply.json, "signed"))));
    return RC_OK;
}

/* Signs where the server asks for that: otherwise a stolen token could take away a person's keys. */
struct rc key_revoke_command(struct cli *cli, struct err *err)
{
    KEY_SCOPE(key);
    struct arena *arena = &cli->arena;
    struct str signature;
    struct reply keys, reply;
    CHECK(cli->argc == 1);
    struct query query = {.method = "DELETE"};
    query.target = arena_printf(arena, "/api/keys/%s", remote_escape(arena, str_of(cli->argv[0])).p);
    query.body = STR("{}");
    TRY(remote_get(cli, STR("/api/keys"), &keys, err));
    if (!str_is(json_text(keys.json, "signed"), "off")) {
        TRY(signing_open(cli, &key, err));
        TRY(signing_request(cli, key, "DELETE", query.target, query.body, &signature, err));
        query.body = arena_printf(arena, "{\"signature\":%.*s}", STR_ARG(signature));
    }
    TRY(remote_ask(cli, arena, &query, &reply, err));
    if (!remote_printed(cli, &reply))
        cli_note("%s is revoked: what it signed before stays proven", text_line(arena, str_of(cli->argv[0])).p);
    return RC_OK;
}

/* ---- when keys are lost ---- */

struct rc key_recovery_command(struct cli *cli, struct err *err)
{
    KEY_SCOPE(key);
    struct reply reply;
    struct str signature;
    TRY(signing_open(cli, &key, err));
    TRY(signing_request(cli, key, "POST", STR("/api/keys/recovery"), STR("{}"), &signature, err));
    TRY(remote_post(cli, STR("/api/keys/recovery"),
                    arena_printf(&cli->arena, "{\"signature\":%.*s}", STR_ARG(signature)), &reply, err));
    if (remote_printed(cli, &reply))
        return RC_OK;
    for (const struct json *code = json_first(reply.json, "codes"); code; code = code->next)
        cli_out(arena_printf(&cli->arena, "%.*s\n", STR_ARG(text_line(&cli->arena, code->text))));
    cli_note("Keep them on paper, not on this machine: they are not shown again; older ones are no longer valid.\n"
             "With all keys lost, `nod key create --recovery` takes one of them.");
    return RC_OK;
}

/* Resets keys without a signature: the server checks the uid at its Unix socket, and the events record it. */
struct rc key_reset_command(struct cli *cli, struct err *err)
{
    struct arena *arena = &cli->arena;
    struct reply reply, done;
    unsigned count = 0;
    TRY(remote_get(cli, STR("/api/keys"), &reply, err));
    for (const struct json *key = json_first(reply.json, "keys"); key; key = key->next) {
        struct str person = json_text(key, "person");
        if (json_get(key, "revokedAt") || (cli->argc == 1 && !str_is(person, cli->argv[0])))
            continue;
        struct query query = {.method = "DELETE", .body = STR("{\"reset\":true}")};
        query.target = arena_printf(arena, "/api/keys/%s", remote_escape(arena, json_text(key, "id")).p);
        TRY(remote_ask(cli, arena, &query, &done, err));
        count++;
    }
    cli_note("%u keys are revoked without a signature; `nod verify --signatures` says so from now on", count);
    return RC_OK;
}
