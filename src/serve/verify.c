/* `nod verify`: the hash chains, recomputed from the kept bytes, beside a running server or without one; and the
 * archives that the store names, as far as they are where they were made. */
#include "base/json.h"
#include "cli/cli.h"
#include "serve/serve.h"
#include "serve/verify_signed.h"
#include "store/store.h"

#include <stdio.h>

static bool is_bad(const struct store_check *check) { return check->bad_seq != 0 || check->why[0] != '\0'; }

static void put_check(struct json_out *out, const struct store_check *check)
{
    json_members(out, J_BOOL("ok", !is_bad(check)), J("events", check->events), J("sessions", check->sessions),
                 J("open", check->open), J("archived", check->archived),
                 J_IF(check->bad_seq, J("badSeq", check->bad_seq)), J("why", check->why));
}

static void print_words(const char *path, const struct store_check *check)
{
    const char *colon = path[0] ? ": " : "";
    if (is_bad(check)) {
        (void)printf("bad: %s%sevent %llu: %s\n", path, colon, (unsigned long long)check->bad_seq, check->why);
        return;
    }
    (void)printf("ok: %s%s%llu events in %llu sessions, %llu waiting for an answer\n", path, colon,
                 (unsigned long long)check->events, (unsigned long long)check->sessions,
                 (unsigned long long)check->open);
}

/* ---- archives by name ---- */

/* Archives that were named need neither their store nor a server. All are checked; the status is 1 if one of them is
 * bad. */
static struct rc verify_files(struct cli *cli, struct err *err)
{
    JSON_SCOPE(buf, out, 1 << 20);
    JSON_LIST(&out, NULL)
        for (int i = 0; i < cli->argc; i++) {
            struct store_check check = {0};
            TRY(archive_verify(cli->argv[i], &check, err));
            cli->status = cli->status || is_bad(&check);
            json_open(&out, '{');
            json_member(&out, "path", str_of(cli->argv[i]));
            put_check(&out, &check);
            json_close(&out, '}');
            if (!cli->json)
                print_words(cli->argv[i], &check);
        }
    buf_putc(&buf, '\n');
    if (cli->json)
        cli_out(buf_str(&buf));
    return RC_OK;
}

/* ---- the store and its archives ---- */

/* An archive that was moved elsewhere is not an error: it can be verified there, by its name. */
static const char *state_of(const struct archive_check *check)
{
    return check->missing ? "not here" : check->why[0] ? "bad" : "ok";
}

static void put_archives(struct json_out *out, const struct archive_checks *checks)
{
    JSON_LIST(out, "archives")
        for (size_t i = 0; i < checks->count; i++) {
            const struct archive_check *check = &checks->items[i];
            json_object(out, J("path", check->path), J("state", state_of(check)), J("sessions", check->sessions),
                        J("events", check->events), J("why", check->why));
        }
}

static void print_archives(const struct archive_checks *checks)
{
    for (size_t i = 0; i < checks->count; i++) {
        const struct archive_check *check = &checks->items[i];
        (void)printf("%s: %.*s: %llu events of %llu sessions%s%s\n", state_of(check), STR_ARG(check->path),
                     (unsigned long long)check->events, (unsigned long long)check->sessions,
                     check->why[0] ? ": " : "", check->why);
    }
}

/* ---- signatures ---- */

static void print_proofs(const struct proofs *proofs, const char *trust)
{
    (void)printf("%s: %llu allowed with a signature that holds, %llu without one, %llu bad; %s\n",
                 proofs->bad ? "bad" : "ok", (unsigned long long)proofs->proven, (unsigned long long)proofs->without,
                 (unsigned long long)proofs->bad,
                 trust[0] ? "by the keys that are trusted" : "proven relative to the keys in this store");
}

/* Before the rest, so that its lines come first and its summary is a line of the report. */
static struct rc check_signed(struct cli *cli, struct json_out *out, struct err *err)
{
    struct proofs proofs;
    const char *trust = option_text(cli, "trust");
    if (!trust && !option_flag(cli, "signatures"))
        return RC_OK;
    if (cli->json) {
        json_open_member(out, "calls", '[');
    }
    TRY(verify_signed(cli, trust ? trust : "", cli->json ? out : NULL, &proofs, err));
    if (cli->json)
        json_close(out, ']');
    else
        print_proofs(&proofs, trust ? trust : "");
    cli->status = cli->status || proofs.bad;
    return RC_OK;
}

static void checks_done(struct archive_checks *checks) { arena_done(&checks->arena); }

/* Reads the store beside a running server and changes nothing. The status is 1 if a chain, an archive or a signature
 * is bad. */
struct rc verify_command(struct cli *cli, struct err *err)
{
    __attribute__((cleanup(checks_done))) struct archive_checks checks = {0};
    struct store_check check = {0};
    if (cli->argc > 0)
        return verify_files(cli, err);
    TRY(store_verify(cli->settings.store, &check, err));
    if (check.archived)
        TRY(store_verify_archives(cli->settings.store, archive_folder(cli), &checks, err));
    cli->status = is_bad(&check);
    for (size_t i = 0; i < checks.count; i++)
        cli->status = cli->status || checks.items[i].why[0];
    JSON_SCOPE(buf, out, 64 << 20);
    json_open(&out, '{');
    put_check(&out, &check);
    put_archives(&out, &checks);
    TRY(check_signed(cli, &out, err));
    json_close(&out, '}');
    buf_putc(&buf, '\n');
    if (cli->json) {
        cli_out(buf_str(&buf));
        return RC_OK;
    }
    print_words("", &check);
    print_archives(&checks);
    return RC_OK;
}
