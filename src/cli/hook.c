/* nod hook: an agent's hook, from its message on standard input to its answer on standard output.
 *
 * One connection, one question: the server translates (api/hooks.c) and holds the answer for a person. This
 * program lives for one call, so it does nothing else. Every failure here is a refusal in the agent's own words,
 * or, when not even the message can be read, exit status 2, which blocks too. When the agent ends this process or
 * does not read its answer any more, the question is taken back; when it is killed, the server sees the connection
 * end.
 */
#include "agents/agent.h"
#include "base/id.h"
#include "base/limits.h"
#include "cli/hook_install.h"
#include "cli/identity.h"
#include "cli/local.h"
#include "cli/take_back.h"
#include "http/http.h"
#include "io/clock.h"
#include "io/file.h"

#include <unistd.h>

enum {
    WAIT_S_DEFAULT = 590,        /* these agents give a hook 600 seconds, unless told otherwise */
    WAIT_S_MAX = 7 * 86400,
    ANSWER_MS_MORE = 5000,       /* for the server, beyond the time for a person */
    HEARD_US = 1000000,          /* a failed request that took longer reached the server, which then went away */
    AWAY_US_MAX = 60 * 1000000,
    PAUSE_US = 200000,
    BLOCKS_STATUS = 2,
};

/* One hook call, over all its attempts. */
struct hooked {
    struct cli *cli;
    const struct agent *agent;
    struct str message;
    struct str call;  /* id sent with every attempt, so that a retry is about the same call */
    int64_t until_us;
};

static struct str target(struct hooked *hooked, int64_t seconds)
{
    return arena_printf(&hooked->cli->arena, "/api/hooks/%s?wait=%lld&call=%.*s%s",
                        hooked->agent->name, (long long)seconds, STR_ARG(hooked->call),
                        option_flag(hooked->cli, "strict") ? "&strict=1" : "");
}

static int64_t left_s(const struct hooked *hooked)
{
    int64_t left = (hooked->until_us - clock_steady_us() + 999999) / 1000000;
    return left > 0 ? left : 0;
}

/* Asks once. A server that is not there, and one that answers with an error, are errors. */
static struct rc ask(struct hooked *hooked, struct http_client *client, struct str *ret_answer,
                     struct err *err)
{
    struct http_response response = {0};
    struct arena *arena = &hooked->cli->arena;
    const struct json *body = NULL;
    int64_t seconds = left_s(hooked);
    struct rc rc = http_client_call(client, arena, "POST", target(hooked, seconds), hooked->message,
                                    seconds * 1000 + ANSWER_MS_MORE, &response, err);
    const char *where = remote_where(hooked->cli);
    if (rc.code == ERR_UNAVAILABLE)
        return err_set(err, rc.code, "no nod server at %s: start it with `nod serve`", where);
    TRY(rc);
    if (response.status == 200) {
        *ret_answer = response.body;
        return RC_OK;
    }
    if (rc_bad(json_parse(arena, response.body, &body, NULL)))
        body = NULL;
    struct str words = json_text(json_get(body, "error"), "message");
    return err_set(err, response.status == 503 ? ERR_UNAVAILABLE : ERR_FORBIDDEN,
                   "the nod server at %s answered with status %d: %.*s; see nod doctor", where,
                   response.status, STR_ARG(words));
}

/* Asks again while a server that had received the question is away; a server that cannot be reached at first is an
 * error. */
static struct rc ask_on(struct hooked *hooked, struct http_client *client, struct str *ret_answer,
                        struct err *err)
{
    int64_t away_us = 0;
    for (;;) {
        int64_t from_us = clock_steady_us();
        struct rc rc = ask(hooked, client, ret_answer, err);
        int64_t now_us = clock_steady_us();
        bool heard = http_client_cut(client) || now_us - from_us > HEARD_US;
        if (rc.code != ERR_UNAVAILABLE || (!heard && !away_us) || left_s(hooked) == 0)
            return rc;
        if (heard)
            away_us = now_us;
        if (now_us - away_us > AWAY_US_MAX)
            return rc;
        (void)usleep(PAUSE_US);
    }
}

/* The question has the id that the agent gave the call, as in api/hooks.c, or else ours. */
static struct rc watch_agent(struct hooked *hooked, struct err *err)
{
    struct arena *arena = &hooked->cli->arena;
    const struct json *message = NULL;
    struct hook hook = {.agent = hooked->agent};
    bool read = rc_ok(json_parse(arena, hooked->message, &message, NULL)) && message->type == JSON_OBJECT &&
                rc_ok(hook_read(hooked->agent, message, &hook, NULL));
    if (!read || !hook_asks(&hook))
        return RC_OK;
    struct taking_back back = {.call = str_empty(hook.call) ? hooked->call : hook.call, .has_reader = true,
                               .status = BLOCKS_STATUS};
    return take_back_on_end(hooked->cli, &back, err);
}

/* Prints a refusal: in the form that the agent reads, if its message says enough for that, else by the exit status. */
static void refuse(struct hooked *hooked, const struct err *why)
{
    BUF_SCOPE(buf, LIMIT_ANSWER_BYTES);
    struct arena *arena = &hooked->cli->arena;
    const struct json *message = NULL;
    struct hook hook = {.agent = hooked->agent};
    struct str words = arena_printf(arena, "Nod did not allow this: %s", why->text);
    cli_note("nod hook: %s", why->text);
    bool read = rc_ok(json_parse(arena, hooked->message, &message, NULL)) && message->type == JSON_OBJECT;
    if (read && rc_bad(hook_read(hooked->agent, message, &hook, NULL)) && hook.kind == HOOK_OTHER)
        read = false;
    if (!read) {
        hooked->cli->status = BLOCKS_STATUS;
        return;
    }
    if (!hook_asks(&hook))
        return;
    hook_refuse(&buf, &hook, words);
    (void)file_put(STDOUT_FILENO, buf_str(&buf));
}

/* The whole message is read before anything else: without it not even a refusal can be written in the agent's form.
 */
static struct rc answer(struct hooked *hooked, struct err *err)
{
    struct http_client *client;
    struct str text;
    TRY(local_read_stdin(&hooked->cli->arena, LIMIT_LARGE_BODY_BYTES, &hooked->message, err));
    TRY(identity_load(hooked->cli, err));
    TRY(watch_agent(hooked, err));
    TRY(remote_client(hooked->cli, &client, err));
    struct rc rc = ask_on(hooked, client, &text, err);
    take_back_over();
    if (rc_ok(rc))
        (void)file_put(STDOUT_FILENO, text);
    http_client_free(client);
    return rc;
}

/* A failure is a refusal in the answer and not an exit status: these agents go on when a hook fails. */
static struct rc run_hook(struct cli *cli, const struct agent *agent, struct err *err)
{
    struct hooked hooked = {.cli = cli, .agent = agent};
    struct err why = {.code = ERR_OK};
    int64_t wait_s = WAIT_S_DEFAULT;
    TRY(option_time(cli, "wait", WAIT_S_MAX, &wait_s, err));
    hooked.until_us = clock_steady_us() + wait_s * 1000000;
    hooked.call = arena_str(&cli->arena, str_of(id_new("call").text));
    if (rc_bad(answer(&hooked, &why)))
        refuse(&hooked, &why);
    return RC_OK;
}

struct rc hook_command(struct cli *cli, struct err *err)
{
    const char *act = cli->argc > 0 ? cli->argv[0] : "";
    bool installs = strcmp(act, "install") == 0, removes = strcmp(act, "remove") == 0;
    const char *name = cli->argv[installs || removes ? 1 : 0];
    const struct agent *agent = name ? agent_with_hooks(str_of(name)) : &agent_claude;
    if (!agent)
        return err_set(err, ERR_INVALID, "hooks are of" AGENT_WORDS ", not '%s'", name);
    struct hook_choice how = {.remove = removes, .strict = option_flag(cli, "strict"), .http = option_flag(cli, "http"),
                              .start = option_flag(cli, "start"), .yes = option_flag(cli, "yes"),
                              .settings = option_text(cli, "settings"), .identity = option_text(cli, "identity")};
    if (installs || removes)
        return hook_install(cli, agent, &how, err);
    if (cli->argc > 1)
        return err_set(err, ERR_INVALID, "nod hook takes one agent; see nod hook --help");
    return run_hook(cli, agent, err);
}
