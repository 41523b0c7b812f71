/* The demo: a small scripted agent that really asks and really acts, in a scratch folder.
 *
 * It is a client like any other: it has an agent's token, asks over the Unix socket, follows the session's
 * events for the answers, does what was allowed, and reports what came of it.
 */
#include "base/id.h"
#include "base/json.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "cli/remote.h"
#include "event/call.h"
#include "http/http.h"
#include "io/file.h"
#include "io/process.h"
#include "io/system.h"
#include "serve/serve.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern char **environ;

/* ---- the process that `serve --demo` starts ---- */

/* The demo is a process of its own, not a part of the server: it uses the public API only, and its blocking requests
 * would stop the loop. */
struct rc demo_start(struct demo_child *child, const struct settings *settings, struct err *err)
{
    char *argv[] = {"nod", "demo", "--data", (char *)settings->data, "--socket", (char *)settings->socket,
                    NULL};
    int failed = posix_spawn(&child->pid, "/proc/self/exe", NULL, NULL, argv, environ);
    if (failed) {
        child->pid = 0;
        return err_set(err, ERR_IO, "cannot start the demo: %s", strerror(failed));
    }
    return RC_OK;
}

void demo_stop(struct demo_child *child)
{
    if (child->pid <= 0)
        return;
    (void)kill(child->pid, SIGTERM);
    (void)process_wait(child->pid);
    child->pid = 0;
}

/* ---- the script ---- */

struct demo_step {
    const char *id;
    const char *tool;
    const char *input;   /* %s stands for the folder */
    const char *say;     /* text of the agent */
    const char *run;     /* the command it would really run; NULL: write `text` to `file`, or nothing */
    const char *file;
    const char *text;
};

/* Steps of one round are asked at once; the next round begins when all are answered. */
static const struct demo_step rounds[][3] = {
    {{"demo-1", "Read", "{\"file_path\":\"%s/README.md\"}", "looks at README.md", NULL, NULL, NULL}},
    {{"demo-2", "Bash", "{\"command\":\"make test\",\"description\":\"Run the tests\"}",
      "wants to run the tests", "make -s test", NULL, NULL},
     {"demo-3", "Write",
      "{\"file_path\":\"%s/CHANGES.md\",\"content\":\"# 1.1\\n- greets in two languages\\n\"}",
      "wants to write a change log", NULL, "CHANGES.md", "# 1.1\n- greets in two languages\n"}},
    {{"demo-4", "TodoWrite", "{\"todos\":[{\"content\":\"publish 1.1\",\"status\":\"pending\"}]}",
      "notes what is left to do", NULL, NULL, NULL}},
    {{"demo-5", "Bash", "{\"command\":\"rm -rf old && ls\",\"description\":\"Clean up\"}",
      "wants to clean up", "rm -rf old && ls", NULL, NULL}},
};

enum { ROUNDS = sizeof rounds / sizeof *rounds, STEPS_MAX = 3 };

/* The scripted agent. */
struct player {
    struct cli *cli;
    struct http_client *client;
    const char *token; /* the agent's own token */
    struct arena *arena;
    struct str session, thread;
    char folder[512];
    uint64_t after;
    const struct demo_step *round;
    bool answered[STEPS_MAX];
    unsigned open;
    bool first;
};

static void say(const char *mark, struct str text)
{
    BUF_SCOPE(buf, 64 << 10);
    utf8_show(&buf, text, false);
    (void)printf("%s %s\n", mark, buf_c(&buf));
    (void)fflush(stdout);
}

/* Sends a request, again if the server restarts meanwhile. */
static struct rc ask_server(struct player *p, const char *method, struct str target, struct str body,
                            const struct json **ret_answer, struct err *err)
{
    for (;;) {
        struct http_response response;
        struct rc rc = http_client_call(p->client, p->arena, method, target, body, 0, &response, err);
        if (rc.code == ERR_UNAVAILABLE || (rc_ok(rc) && response.status == 503)) {
            (void)usleep(300000);
            continue;
        }
        TRY(rc);
        TRY(json_parse(p->arena, response.body, ret_answer, err));
        if (response.status >= 400)
            return err_set(err, ERR_INTERNAL, "the server answered %d: %.*s", response.status,
                           STR_ARG(json_text(json_get(*ret_answer, "error"), "message")));
        return RC_OK;
    }
}

/* For inputs that need an absolute path: rules and previews show the real folder. */
static struct str put_folder(struct player *p, const char *template)
{
    BUF_SCOPE(buf, 64 << 10);
    const char *at = strstr(template, "%s");
    if (!at)
        return str_of(template);
    BUF_ADD(&buf, (struct str){template, (size_t)(at - template)}, str_of(p->folder), str_of(at + 2));
    return arena_str(p->arena, buf_str(&buf));
}

static struct rc write_file(struct player *p, const char *name, const char *text, struct err *err)
{
    char path[sizeof p->folder + 64];
    (void)snprintf(path, sizeof path, "%s/%s", p->folder, name);
    return file_write_private(path, str_of(text), err);
}

/* The folder is left behind when the demo ends, so that its files can be looked at. */
static struct rc make_project(struct player *p, struct err *err)
{
    const char *place = getenv("TMPDIR");
    int n = snprintf(p->folder, sizeof p->folder, "%s/nod-demo-XXXXXX", place && place[0] == '/' ? place : "/tmp");
    if (n < 0 || (size_t)n >= sizeof p->folder)
        return err_set(err, ERR_INVALID, "TMPDIR is too long");
    if (!mkdtemp(p->folder))
        return err_set(err, ERR_IO, "cannot make a scratch folder: %s", strerror(errno));
    TRY(write_file(p, "README.md", "# greet\nSays hello.\n", err));
    return write_file(p, "Makefile", "test:\n\t@echo 'hello, world'\n\t@echo '1 passed, 0 failed'\n", err);
}

/* ---- acting ---- */

/* Commands of the demo are fixed texts of this file. Output beyond the buffer is not read: the command then ends by
 * SIGPIPE. */
static struct str run(struct player *p, const char *command)
{
    int ends[2];
    pid_t pid;
    char output[2048];
    size_t n = 0;
    char *argv[] = {"sh", "-c", (char *)command, NULL};
    posix_spawn_file_actions_t actions;
    if (pipe(ends) != 0)
        return STR("cannot make a pipe");
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_addchdir_np(&actions, p->folder);
    (void)posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    (void)posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    (void)posix_spawn_file_actions_addclose(&actions, ends[0]);
    int failed = posix_spawnp(&pid, "sh", &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(ends[1]);
    while (!failed && n < sizeof output) {
        ssize_t got = read(ends[0], output + n, sizeof output - n);
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    (void)close(ends[0]);
    if (failed)
        return STR("cannot start sh");
    (void)process_wait(pid);
    return arena_str(p->arena, (struct str){output, n});
}

static struct str act(struct player *p, const struct demo_step *step)
{
    struct err err;
    if (step->run)
        return run(p, step->run);
    if (step->file && rc_bad(write_file(p, step->file, step->text, &err)))
        return arena_printf(p->arena, "%s", err.text);
    return step->file ? STR("written") : STR("done");
}

/* The last event of a call; without it the call would stay allowed and never be finished. */
static struct rc report(struct player *p, const struct demo_step *step, struct str content, struct err *err)
{
    JSON_SCOPE(buf, out, 64 << 10);
    const struct json *answer;
    json_object(&out, J_ALWAYS("content", content));
    struct str target = arena_printf(p->arena, "/api/tool-calls/%s/result?session=%.*s", step->id,
                                     STR_ARG(p->session));
    return ask_server(p, "POST", target, buf_str(&buf), &answer, err);
}

/* Does what was allowed, really, and reports it. */
static struct rc settle(struct player *p, const struct demo_step *step, const struct json *answer, struct err *err)
{
    struct str status = json_text(answer, "status");
    struct str decision = decision_words(json_text(answer, "decision"));
    struct str actor = json_text(json_get(answer, "decidedBy"), "actor");
    struct str feedback = json_text(answer, "feedback");
    if (str_empty(actor))
        actor = STR("policy");
    if (!str_is(status, "allowed")) {
        say("  ✗", arena_printf(p->arena, "%s %s: %.*s by %.*s%s%.*s", step->id, step->tool,
                               STR_ARG(decision), STR_ARG(actor), feedback.n ? ": " : "", STR_ARG(feedback)));
        return RC_OK;
    }
    struct str result = act(p, step);
    say("  ✓", arena_printf(p->arena, "%s %s: %.*s by %.*s", step->id, step->tool, STR_ARG(decision),
                           STR_ARG(actor)));
    while (step->run && result.n)
        say("    |", str_cut(result, '\n', &result));
    return report(p, step, result, err);
}

/* ---- asking ---- */

/* Once, before the first wait. The program's own path is printed, because a demo is often started from a build folder
 * that is not in PATH. */
static void explain(struct player *p)
{
    if (!p->first)
        return;
    p->first = false;
    const char *data = p->cli->settings.data;
    char program[4096];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    program[n > 0 ? n : 0] = '\0';
    (void)printf("\nThe agent waits. Answer on the page, or from a second terminal:\n"
                 "  alias nod=%s\n"
                 "  export NOD_DATA=%s\n"
                 "  nod pending                     what waits\n"
                 "  nod approve demo-2              let it run\n"
                 "  nod deny demo-3 -m 'not yet'    refuse, with a word to the agent\n"
                 "  nod log -f                      follow everything\n\n", program, data);
    (void)fflush(stdout);
}

static struct rc ask_step(struct player *p, const struct demo_step *step, const struct json **ret_answer,
                          struct err *err)
{
    JSON_SCOPE(buf, out, 64 << 10);
    json_object(&out, J("id", step->id), J("name", step->tool), J_RAW("input", put_folder(p, step->input)),
                J("cwd", p->folder));
    struct str target = arena_printf(p->arena, "/api/threads/%.*s/tool-calls", STR_ARG(p->thread));
    return ask_server(p, "POST", target, buf_str(&buf), ret_answer, err);
}

/* Called by http_client_stream for each event; false ends the stream. The decision is read from the call and not from
 * the event, so that a demo that was late to follow sees the same as one that was not. */
static bool heard(void *arg, struct str id, struct str type, struct str data)
{
    struct player *p = arg;
    const struct json *event = NULL, *answer = NULL;
    struct err err;
    (void)type;
    (void)str_to_u64(id, &p->after);
    if (rc_bad(json_parse(p->arena, data, &event, &err)))
        return true;
    struct str call = json_text(json_get(event, "data"), "toolCallId");
    for (int i = 0; i < STEPS_MAX && p->round[i].id; i++) {
        if (p->answered[i] || !str_is(call, p->round[i].id))
            continue;
        struct str target = arena_printf(p->arena, "/api/tool-calls/%s?session=%.*s", p->round[i].id,
                                         STR_ARG(p->session));
        p->answered[i] = true;
        p->open--;
        if (rc_bad(ask_server(p, "GET", target, STR_NONE, &answer, &err)) ||
            rc_bad(settle(p, &p->round[i], answer, &err)))
            say("  !", str_of(err.text));
    }
    return p->open > 0;
}

/* The stream ends when the server stops or the connection breaks: it is opened again behind the last event that was
 * seen. */
static void wait_for_answers(struct player *p, struct http_client *follower)
{
    while (p->open) {
        struct err err;
        struct str target = arena_printf(p->arena,
                                         "/api/events?session=%.*s&types=TOOL_APPROVAL_RESPONSE&after=%llu",
                                         STR_ARG(p->session), (unsigned long long)p->after);
        if (rc_bad(http_client_stream(follower, target, heard, p, &err)) && p->open)
            (void)usleep(300000);
    }
}

/* Asks all steps of the round at once; those that are not answered by policy wait for a person. */
static struct rc play_round(struct player *p, struct http_client *follower, struct err *err)
{
    p->open = 0;
    for (int i = 0; i < STEPS_MAX && p->round[i].id; i++) {
        const struct json *answer;
        say("•", arena_printf(p->arena, "the agent %s", p->round[i].say));
        TRY(ask_step(p, &p->round[i], &answer, err));
        p->answered[i] = !str_is(json_text(answer, "status"), "awaiting");
        if (p->answered[i])
            TRY(settle(p, &p->round[i], answer, err));
        else
            p->open++;
    }
    if (p->open)
        explain(p);
    wait_for_answers(p, follower);
    return RC_OK;
}

/* ---- the whole play ---- */

/* The admin's token makes the agent's and is not used again: what follows is what any agent may do, in its folder
 * alone. */
static struct rc become_agent(struct player *p, struct err *err)
{
    const struct json *answer;
    struct str body = arena_printf(p->arena, "{\"role\":\"agent\",\"name\":\"demo agent\",\"folders\":[\"%s\"]}",
                                   p->folder);
    TRY(ask_server(p, "POST", STR("/api/tokens"), body, &answer, err));
    p->token = arena_c(p->arena, json_text(answer, "token"));
    http_client_free(p->client);
    p->client = NULL;
    return http_client_new(p->cli->settings.url, p->token, &p->client, err);
}

static struct rc start_session(struct player *p, struct err *err)
{
    const struct json *answer;
    struct str body = arena_printf(p->arena, "{\"title\":\"demo: a small release\",\"cwd\":\"%s\"}",
                                   p->folder);
    TRY(ask_server(p, "POST", STR("/api/sessions"), body, &answer, err));
    p->session = json_text(answer, "id");
    p->thread = json_text(answer, "threadId");
    return RC_OK;
}

static void free_client(struct http_client **client)
{
    if (*client)
        http_client_free(*client);
}

static struct rc play(struct player *p, struct err *err)
{
    __attribute__((cleanup(free_client))) struct http_client *follower = NULL;
    TRY(make_project(p, err));
    TRY(become_agent(p, err));
    TRY(start_session(p, err));
    (void)printf("A scripted agent works in %s (session %.*s).\n", p->folder, STR_ARG(p->session));
    /* The follower speaks for the same agent, on a connection of its own. */
    TRY(http_client_new(p->cli->settings.url, p->token, &follower, err));
    for (size_t i = 0; i < ROUNDS; i++) {
        p->round = rounds[i];
        TRY(play_round(p, follower, err));
    }
    (void)printf("\nThe agent is done. Everything it asked is in `nod log --session %.*s`.\n",
                 STR_ARG(p->session));
    return RC_OK;
}

struct rc demo_command(struct cli *cli, struct err *err)
{
    struct player player = {.cli = cli, .arena = &cli->arena, .first = true};
    system_end_with_parent(SIGTERM); /* the demo ends with its server */
    TRY(remote_client(cli, &player.client, err));
    struct rc rc = play(&player, err);
    if (player.client)
        http_client_free(player.client);
    return rc;
}
