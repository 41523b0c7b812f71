/* nod token create, list, revoke. */
#include "cli/local.h"
#include "cli/remote.h"
#include "cli/signing.h"
#include "cli/text.h"
#include "event/token.h"
#include "io/clock.h"

/* Folders are made absolute here, since the server may run in another folder and as another user. */
static struct rc put_lists(struct cli *cli, struct json_out *out, struct err *err)
{
    const char *value;
    size_t at = 0;
    JSON_LIST(out, "scopes")
        while ((value = option_each(cli, "scope", &at)))
            json_put_str(out, str_of(value));
    JSON_LIST(out, "folders")
        for (at = 0; (value = option_each(cli, "folder", &at));) {
            TRY(local_folder(cli, value, &value, err));
            json_put_str(out, str_of(value));
        }
    return RC_OK;
}

/* The role, and what was added to it: "approver +run". */
static struct str role_words(struct arena *arena, const struct json *token)
{
    struct str words = text_line(arena, json_text(token, "role"));
    unsigned usual = scopes_of_role(role_parse(json_text(token, "role")));
    for (const struct json *s = json_first(token, "scopes"); s; s = s->next)
        if (s->type == JSON_STRING && !(usual & scope_parse(s->text)))
            words = arena_printf(arena, "%.*s +%.*s", STR_ARG(words), STR_ARG(text_line(arena, s->text)));
    return words;
}

/* The secret alone goes to standard output, so that a script can keep it; words about it go to standard error. */
struct rc token_create_command(struct cli *cli, struct err *err)
{
    JSON_SCOPE(body, out, LIMIT_BODY_BYTES);
    struct arena *arena = &cli->arena;
    struct reply reply;
    const char *role = option_text(cli, "role");
    const char *name = option_text(cli, "name");
    if (!role || role_parse(str_of(role)) == ROLE_NONE)
        return err_set(err, ERR_INVALID, "say --role admin, approver, agent or viewer");
    if (!name || !name[0])
        return err_set(err, ERR_INVALID, "say --name: decisions are recorded under it");
    json_open(&out, '{');
    json_members(&out, J("role", role), J("name", name), J("sessionId", option_text(cli, "session")));
    TRY(put_lists(cli, &out, err));
    json_close(&out, '}');
    TRY(signing_post(cli, STR("/api/tokens"), buf_str(&body), &reply, err));
    if (remote_printed(cli, &reply))
        return RC_OK;
    cli_note("token %.*s for %s, role %s; it is shown only now:",
             STR_ARG(text_line(arena, json_text(reply.json, "id"))), text_line(arena, str_of(name)).p, role);
    cli_out(arena_printf(arena, "%.*s\n", STR_ARG(text_line(arena, json_text(reply.json, "token")))));
    return RC_OK;
}

struct rc token_list_command(struct cli *cli, struct err *err)
{
    BUF_SCOPE(buf, TEXT_BYTES_MAX);
    struct arena *arena = &cli->arena;
    struct table table = {.arena = arena, .columns = 7, .width = cli->width, .color = cli->color};
    struct reply reply;
    TRY(remote_get(cli, STR("/api/tokens"), &reply, err));
    if (remote_printed(cli, &reply))
        return RC_OK;
    table_row(&table, (struct str[]){STR("TOKEN"), STR("ROLE"), STR("NAME"), STR("MADE"), STR("USED"),
                                     STR("REVOKED"), STR("SESSION")});
    for (const struct json *t = json_first(reply.json, "tokens"); t; t = t->next)
        table_row(&table,
                  (struct str[]){text_line(arena, json_text(t, "id")), role_words(arena, t),
                                 text_fit(arena, text_line(arena, json_text(t, "name")), 32),
                                 text_time(arena, json_text(t, "createdAt"), clock_wall_ms()),
                                 text_time(arena, json_text(t, "lastUsedAt"), clock_wall_ms()),
                                 text_time(arena, json_text(t, "revokedAt"), clock_wall_ms()),
                                 text_line(arena, json_text(t, "sessionId"))});
    table_write(&buf, &table);
    cli_out(buf_str(&buf));
    return RC_OK;
}

/* Takes effect with the next request or event of whoever uses the token. */
struct rc token_revoke_command(struct cli *cli, struct err *err)
{
    struct query query = {.method = "DELETE"};
    struct reply reply;
    CHECK(cli->argc == 1);
    query.target =
        arena_printf(&cli->arena, "/api/tokens/%s", remote_escape(&cli->arena, str_of(cli->argv[0])).p);
    struct rc rc = remote_ask(cli, &cli->arena, &query, &reply, err);
    if (rc.code == ERR_NOT_FOUND)
        return err_set(err, rc.code, "there is no token '%s'; nod token list shows them", cli->argv[0]);
    TRY(rc);
    if (!remote_printed(cli, &reply))
        cli_note("%s is revoked", text_line(&cli->arena, str_of(cli->argv[0])).p);
    return RC_OK;
}
