/* nod session create, list, show, set, prompt, interrupt. */
#include "cli/local.h"
#include "cli/remote.h"
#include "cli/signing.h"
#include "cli/text.h"
#include "io/clock.h"

/* TOOL=EFFECT, given any number of times, becomes an object; `none` becomes null. */
static struct rc put_policies(const struct cli *cli, struct json_out *out, struct err *err)
{
    size_t at = 0;
    const char *value = option_each(cli, "policy", &at);
    if (!value)
        return RC_OK;
    json_open_member(out, "toolPolicies", '{');
    for (; value; value = option_each(cli, "policy", &at)) {
        struct str effect;
        struct str tool = str_cut(str_of(value), '=', &effect);
        if (str_empty(tool) || str_empty(effect))
            return err_set(err, ERR_INVALID, "--policy must be TOOL=allow, TOOL=deny or TOOL=ask, not '%s'",
                           value);
        json_key_str(out, tool);
        if (str_is(effect, "none"))
            json_put_null(out);
        else
            json_put_str(out, effect);
    }
    json_close(out, '}');
    return RC_OK;
}

/* An empty value is a value: it takes the title away. */
static void put_option(const struct cli *cli, struct json_out *out, const char *key, const char *option)
{
    const char *value = option_text(cli, option);
    if (!value)
        return;
    json_member_always(out, key, str_of(value));
}

/* Only what was given on the command line: a member that is absent leaves the session's setting as it is. */
static struct rc put_session(struct cli *cli, struct json_out *out, struct err *err)
{
    int64_t seconds = -1;
    TRY(option_time(cli, "timeout", LIMIT_TIMEOUT_SECONDS, &seconds, err));
    const char *cwd = option_text(cli, "cwd");
    if (cwd)
        TRY(local_folder(cli, cwd, &cwd, err));
    put_option(cli, out, "title", "title");
    put_option(cli, out, "permissionMode", "mode");
    json_members(out, J("cwd", cwd), J_IF(seconds >= 0, J("approvalTimeoutSeconds", seconds)));
    return put_policies(cli, out, err);
}

/* Without --cwd the session works in this folder, and is named after it. */
struct rc session_create_command(struct cli *cli, struct err *err)
{
    JSON_SCOPE(body, out, LIMIT_BODY_BYTES);
    struct reply reply;
    const char *cwd = option_text(cli, "cwd");
    TRY(local_folder(cli, cwd ? cwd : ".", &cwd, err));
    json_open(&out, '{');
    TRY(put_session(cli, &out, err));
    json_members(&out, J_IF(!option_text(cli, "cwd"), J("cwd", cwd)),
                 J_IF(!option_text(cli, "title"), J("title", local_title(str_of(cwd)))));
    json_close(&out, '}');
    TRY(signing_post(cli, STR("/api/sessions"), buf_str(&body), &reply, err));
    if (!remote_printed(cli, &reply))
        cli_out(arena_printf(&cli->arena, "%.*s\n",
                             STR_ARG(text_line(&cli->arena, json_text(reply.json, "id")))));
    return RC_OK;
}

struct rc session_list_command(struct cli *cli, struct err *err)
{
    BUF_SCOPE(buf, TEXT_BYTES_MAX);
    struct arena *arena = &cli->arena;
    struct table table = {.arena = arena, .columns = 5, .width = cli->width, .color = cli->color};
    struct reply reply;
    TRY(remote_get(cli, STR("/api/sessions"), &reply, err));
    if (remote_printed(cli, &reply))
        return RC_OK;
    table.none = "no sessions yet: one begins with the first call of an agent, or with nod session create";
    table_row(&table,
              (struct str[]){STR("SESSION"), STR("STARTED"), STR("MODE"), STR("TITLE"), STR("FOLDER")});
    for (const struct json *s = json_first(reply.json, "sessions"); s; s = s->next)
        table_row(&table, (struct str[]){text_line(arena, json_text(s, "id")),
                                         text_time(arena, json_text(s, "createdAt"), clock_wall_ms()),
                                         text_line(arena, json_text(s, "permissionMode")),
                                         text_fit(arena, text_line(arena, json_text(s, "title")), 40),
                                         text_line(arena, json_text(s, "cwd"))});
    table_write(&buf, &table);
    cli_out(buf_str(&buf));
    return RC_OK;
}

static struct rc session_print(struct cli *cli, const struct reply *reply)
{
    BUF_SCOPE(buf, TEXT_BYTES_MAX);
    if (remote_printed(cli, reply))
        return RC_OK;
    text_json(&buf, reply->json, 0);
    cli_out(buf_str(&buf));
    return RC_OK;
}

static struct str session_target(struct cli *cli)
{
    CHECK(cli->argc >= 1);
    struct str id = remote_escape(&cli->arena, str_of(cli->argv[0]));
    return arena_printf(&cli->arena, "/api/sessions/%.*s", STR_ARG(id));
}

struct rc session_show_command(struct cli *cli, struct err *err)
{
    struct reply reply;
    struct rc rc = remote_get(cli, session_target(cli), &reply, err);
    if (rc.code == ERR_NOT_FOUND)
        return err_set(err, rc.code, "there is no session '%s'; see nod session list", cli->argv[0]);
    TRY(rc);
    return session_print(cli, &reply);
}

struct rc session_set_command(struct cli *cli, struct err *err)
{
    JSON_SCOPE(body, out, LIMIT_BODY_BYTES);
    struct reply reply;
    json_open(&out, '{');
    TRY(put_session(cli, &out, err));
    json_close(&out, '}');
    if (str_is(buf_str(&body), "{}"))
        return err_set(err, ERR_INVALID, "nothing to change; see nod session set --help");
    struct query query = {.method = "PATCH", .target = session_target(cli), .body = buf_str(&body)};
    TRY(signing_ask(cli, &query, &reply, err));
    return session_print(cli, &reply);
}

/* The wrapper that runs the agent takes it from the session's events. */
static struct rc tell_agent(struct cli *cli, const char *what, struct str body, struct err *err)
{
    struct reply reply;
    struct str target = session_target(cli);
    TRY(remote_post(cli, arena_printf(&cli->arena, "%.*s/%s", STR_ARG(target), what), body, &reply, err));
    if (!remote_printed(cli, &reply))
        cli_note("sent to the program that runs this session");
    return RC_OK;
}

struct rc session_prompt_command(struct cli *cli, struct err *err)
{
    return tell_agent(cli, "prompt", json_object_str(&cli->arena, J("text", str_of(cli->argv[1]))), err);
}

struct rc session_interrupt_command(struct cli *cli, struct err *err)
{
    return tell_agent(cli, "interrupt", STR("{}"), err);
}
