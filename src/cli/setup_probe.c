/* A test call: a shell runs the hook's command, as the agent would; it must come back with the server's answer. */
#include "base/id.h"
#include "base/limits.h"
#include "cli/remote.h"
#include "cli/setup.h"
#include "io/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOKS = 150, LOOK_US = 100000, ANSWER_BYTES_MAX = 64 << 10 };
#define PROBE_WORDS "a test call of nod setup: nothing runs"

/* A test call through an installed hook. */
struct probe {
    struct cli *cli;
    const struct agent *agent;
    struct str call; /* its id */
    pid_t pid;       /* process id of the shell */
    int out;         /* standard output of the hook */
};

/* A call as the agent itself would send it, so that the test goes the whole way: hook, identity, server, answer. */
static void put_message(struct buf *buf, const struct probe *probe)
{
    char cwd[LIMIT_PATH_BYTES];
    const struct json *input;
    const struct agent_event *event = probe->agent->hooks.events;
    while (event->kind != HOOK_BEFORE)
        event++;
    struct str text = STR("{\"command\":\"nod-setup-test\",\"description\":\"" PROBE_WORDS "\"}");
    CHECK(rc_ok(json_parse(&probe->cli->arena, text, &input, NULL)));
    struct hook hook = {.agent = probe->agent, .kind = event->kind, .event = str_of(event->name),
                        .session = STR("nod-setup"), .tool = str_of(probe->agent->hooks.shell), .call = probe->call,
                        .cwd = getcwd(cwd, sizeof cwd) ? str_of(cwd) : STR("/"), .input = input};
    hook_put(buf, &hook);
}

/* The hook's own command line, run by a shell as the agent does. */
static struct rc start(struct probe *probe, struct str command, struct err *err)
{
    BUF_SCOPE(message, LIMIT_PATH_BYTES * 2);
    const char *line = arena_c(&probe->cli->arena, command);
    int in[2], out[2];
    put_message(&message, probe);
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
        return err_set(err, ERR_IO, "no pipe: %s", strerror(errno));
    probe->pid = fork();
    if (probe->pid == 0) {
        (void)setpgid(0, 0);
        if (dup2(in[0], STDIN_FILENO) >= 0 && dup2(out[1], STDOUT_FILENO) >= 0)
            (void)execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    (void)close(in[0]);
    (void)close(out[1]);
    bool sent = probe->pid > 0 && write(in[1], message.p, message.n) == (ssize_t)message.n;
    (void)close(in[1]);
    probe->out = out[0];
    return sent ? RC_OK : err_set(err, ERR_IO, "the hook cannot be started: %s", strerror(errno));
}

/* Waits until the server knows the call. If the hook ends before that, it has failed. */
static struct rc arrives(struct probe *probe, const struct json **ret_call, struct err *err)
{
    struct cli *cli = probe->cli;
    struct str target = arena_printf(&cli->arena, "/api/tool-calls/%.*s", STR_ARG(probe->call));
    struct reply reply;
    int status;
    bool ended = false;
    for (int i = 0; i < LOOKS; i++) {
        struct rc rc = remote_get(cli, target, &reply, err);
        *ret_call = reply.json;
        if (rc.code != ERR_NOT_FOUND)
            return rc;
        if (ended)
            break;
        if (waitpid(probe->pid, &status, WNOHANG) == probe->pid) {
            probe->pid = 0;
            ended = true;
            continue;
        }
        (void)usleep(LOOK_US);
    }
    return err_set(err, ERR_UNAVAILABLE, "the test call did not arrive at the server");
}

/* The test call is denied, so that even a hook that is wired wrongly runs nothing. */
static struct rc deny(struct probe *probe, const struct json *call, struct err *err)
{
    struct arena *arena = &probe->cli->arena;
    struct reply reply;
    struct str body = json_object_str(arena, J("decision", "deny"), J("feedback", STR(PROBE_WORDS)),
                                      J("digest", json_text(call, "digest")));
    struct str target = arena_printf(arena, "/api/sessions/%s/approvals/%s",
                                     remote_escape(arena, json_text(call, "sessionId")).p,
                                     remote_escape(arena, probe->call).p);
    struct rc rc = remote_post(probe->cli, target, body, &reply, err);
    return rc.code == ERR_ALREADY_DECIDED ? RC_OK : rc; /* a rule or a person has already decided */
}

/* The hook must pass the denial on. */
static struct rc passes_on(struct probe *probe, struct err *err)
{
    BUF_SCOPE(said, ANSWER_BYTES_MAX);
    ssize_t n;
    do {
        char piece[4096];
        n = read(probe->out, piece, sizeof piece);
        if (n > 0)
            buf_put(&said, (struct str){piece, (size_t)n});
    } while (n > 0 || (n < 0 && errno == EINTR));
    if (!str_has(buf_str(&said), STR("deny")) && !str_has(buf_str(&said), STR("\"cancel\":true")))
        return err_set(err, ERR_INTERNAL, "the test call was denied at the server, but the hook did not say so");
    return RC_OK;
}

static struct rc follow(struct probe *probe, struct err *err)
{
    const struct json *call;
    TRY(arrives(probe, &call, err));
    TRY(deny(probe, call, err));
    return passes_on(probe, err);
}

/* Runs the very command that stands in the agent's settings, with a call that only the server answers. */
struct rc setup_probe(struct cli *cli, const struct agent *agent, struct err *err)
{
    struct probe probe = {.cli = cli, .agent = agent, .out = -1};
    struct str command = hook_written(cli, agent);
    probe.call = arena_str(&cli->arena, str_of(id_new("setup").text));
    if (str_empty(command))
        return err_set(err, ERR_NOT_FOUND, "there is no hook of Nod in %s", hook_settings(cli, agent));
    struct rc rc = start(&probe, command, err);
    if (rc_ok(rc))
        rc = follow(&probe, err);
    if (probe.out >= 0)
        (void)close(probe.out);
    if (probe.pid > 0 && rc_bad(rc))
        (void)kill(-probe.pid, SIGKILL);
    (void)process_wait(probe.pid);
    return rc;
}
