/* An agent in a box: its tree, its home, its way out.
 *
 *  - It is controlled by its standard input and output, so no socket of Nod is in the box.
 *  - Its home is a folder per project that Nod keeps, so that conversations can be resumed; the person's is not there.
 *    The agent's settings are copied into it at each start.
 *  - The key of the model stays here (agent_model.c). Without a key its own credentials must be inside, where every
 *    command it runs can read them: that is said at the start.
 *  - What else it wants to reach is asked about as `Net host:port` in its session, by the same call as everything.
 */
#include "cli/agent_box.h"

#include "agents/agents.h"
#include "base/digest.h"
#include "base/limits.h"
#include "box/supervisor.h"
#include "cli/box_choice.h"
#include "cli/remote.h"
#include "egress/egress.h"
#include "http/http.h"
#include "io/clock.h"
#include "io/file.h"
#include "io/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ENVIRONMENT_MAX = 96, NET_WAIT_S = 60, NET_SLICE_S = 1, MODEL_BYTES = 300 };

/* The box of an agent and its proxies. The proxies' threads use it until the box has ended. */
struct agent_box {
    struct egress_host host;
    struct egress *egress;
    struct agent_box_wish wish;
    const struct agent_key *key; /* of the model; NULL: there is none */
    struct model_proxy proxy;
    struct http_client *client;
    pthread_mutex_t lock; /* for the client */
    int report, life;
};

bool agent_box_wanted(const struct cli *cli)
{
    return cli->settings.sandbox && cli->settings.origins[SETTING_ID_sandbox].kind == ORIGIN_FLAG;
}

/* ---- who may be reached ---- */

/* Makes the call's id from host and port, so that each pair is asked about once in a session. */
static struct str net_id(struct arena *arena, const struct egress_target *target)
{
    char hex[DIGEST_HEX_BYTES];
    struct str id = arena_printf(arena, "net.%s.%u", target->host, target->port);
    if (id.n <= LIMIT_ID_BYTES)
        return id;
    struct digest digest = digest_of(id);
    digest_hex(&digest, hex);
    return arena_printf(arena, "net.%.32s", hex);
}

/* A connection is asked about as a call of the tool Net; without a rule a person is asked. */
static struct str net_body(struct arena *arena, const struct agent_box *box, const struct egress_target *target)
{
    return json_object_str(arena, J("id", net_id(arena, target)), J("name", "Net"),
                           J_OBJECT("input", J("host", target->host), J("port", target->port),
                                    J("for", box->wish.agent->name)), J("cwd", box->wish.cwd), J("byDefault", "ask"));
}

/* True when there is an answer. A server that is away is asked again until the time is over. */
static bool ask_once(struct agent_box *box, const struct egress_target *target, struct egress_verdict *verdict)
{
    ARENA_SCOPE(arena);
    struct http_response response = {0};
    const struct json *json = NULL;
    struct call call;
    struct str path = arena_printf(&arena, "/api/threads/%.*s/tool-calls?wait=%d", STR_ARG(box->wish.thread),
                                   NET_SLICE_S);
    (void)pthread_mutex_lock(&box->lock);
    struct rc rc = http_client_call(box->client, &arena, "POST", path, net_body(&arena, box, target),
                                    (NET_SLICE_S + 10) * 1000, &response, NULL);
    (void)pthread_mutex_unlock(&box->lock);
    if (rc_bad(rc) || rc_bad(json_parse(&arena, response.body, &json, NULL)))
        return false;
    if (response.status != 200 || rc_bad(agent_call_read(&arena, json, &call, NULL))) {
        (void)snprintf(verdict->why, sizeof verdict->why, "the server refuses the question (status %d)",
                       response.status);
        return response.status != 503 && response.status != 429;
    }
    if (call.status == CALL_AWAITING)
        return false;
    verdict->allowed = call_allowed(&call);
    verdict->private_too = target->is_address; /* a private address passes only by a rule that names it */
    (void)snprintf(verdict->why, sizeof verdict->why, "%.100s:%u is denied: %.*s", target->host, target->port,
                   (int)(call.why.n > 100 ? 100 : call.why.n), call.why.p ? call.why.p : "");
    return true;
}

/* On a thread of the proxy, which holds the connection open meanwhile. It ends when somebody has answered, after
 * NET_WAIT_S, and when the box has ended. */
static void judge(struct egress_host *host, const struct egress_want *want, struct egress_verdict *ret_verdict)
{
    struct agent_box *box = (struct agent_box *)(void *)host;
    int64_t until_us = clock_steady_us() + (int64_t)NET_WAIT_S * 1000000;
    (void)snprintf(ret_verdict->why, sizeof ret_verdict->why,
                   "nobody has answered yet whether %.100s:%u may be reached; try again later", want->target->host,
                   want->target->port);
    while (!ask_once(box, want->target, ret_verdict) && clock_steady_us() < until_us && !atomic_load(want->ended))
        (void)usleep(NET_SLICE_S * 100000);
}

/* Stores what a connection did as the result of its call. */
static bool keep(struct egress_host *host, const struct egress_use *use)
{
    struct agent_box *box = (struct agent_box *)(void *)host;
    ARENA_SCOPE(arena);
    struct relay_gate gate = {.record = box->wish.record, .session = box->wish.session};
    if (use->state != EGRESS_CLOSED)
        return true;
    struct str told = arena_printf(&arena, "\"%llu connections, %llu bytes up, %llu bytes down\"",
                                   (unsigned long long)use->connections, (unsigned long long)use->up,
                                   (unsigned long long)use->down);
    relay_report(&gate, net_id(&arena, &use->target), told, false);
    return true;
}

static void release(struct egress_host *host) { (void)host; }

static bool serve(struct egress_host *host, uint16_t port, int client, const atomic_bool *ended)
{
    struct agent_box *box = (struct agent_box *)(void *)host;
    if (port != AGENT_BOX_MODEL_PORT || !box->proxy.key_header)
        return false;
    model_proxy_serve(&box->proxy, client, ended);
    return true;
}

/* ---- the box ---- */

/* Kept from one start to the next, one for each project. */
static struct rc keep_home(struct cli *cli, const char *project, const char **ret_home, struct err *err)
{
    char hex[DIGEST_HEX_BYTES];
    struct digest digest = digest_of(str_of(project));
    digest_hex(&digest, hex);
    const char *homes = arena_printf(&cli->arena, "%s/homes", cli->settings.data).p;
    TRY(file_own_folder(homes, err));
    *ret_home = arena_printf(&cli->arena, "%s/%.32s", homes, hex).p;
    return file_own_folder(*ret_home, err);
}

struct rc agent_box_home(struct cli *cli, struct str folder, const char **ret_outside, const char **ret_inside,
                         struct err *err)
{
    char real[PATH_MAX];
    if (!realpath(arena_c(&cli->arena, folder), real))
        return err_set(err, ERR_IO, "the folder cannot be opened: %s", strerror(errno));
    *ret_inside = box_setting_of(cli)->home;
    return keep_home(cli, real, ret_outside, err);
}

/* A copy of each file of settings, below the home that Nod keeps. */
static struct rc put_settings(struct cli *cli, const struct agent *agent, const char *home, struct err *err)
{
    enum { SETTINGS_BYTES_MAX = 1 << 20 };
    const char *own = getenv("HOME");
    for (size_t i = 0; own && agent->boxed.files && agent->boxed.files[i]; i++) {
        const char *name = agent->boxed.files[i];
        struct str text;
        if (rc_bad(file_read(&cli->arena, arena_printf(&cli->arena, "%s/%s", own, name).p, SETTINGS_BYTES_MAX, &text,
                             NULL)))
            continue;
        for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/'))
            TRY(file_own_folder(arena_printf(&cli->arena, "%s/%.*s", home, (int)(slash - name), name).p, err));
        TRY(file_write_private(arena_printf(&cli->arena, "%s/%s", home, name).p, text, err));
    }
    return RC_OK;
}

/* A list of what goes in: everything else of the person's environment, keys above all, stays outside. */
static size_t put_environment(struct cli *cli, const struct agent_box *box, const char *home,
                              char *environment[ENVIRONMENT_MAX])
{
    static const char *const kept[] = {"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TERM", "COLORTERM", "IS_SANDBOX"};
    static char *const added[] = {"HTTP_PROXY=http://127.0.0.1:3128", "http_proxy=http://127.0.0.1:3128",
                                  "HTTPS_PROXY=http://127.0.0.1:3128", "https_proxy=http://127.0.0.1:3128",
                                  "ALL_PROXY=socks5h://127.0.0.1:3128", "NO_PROXY=localhost,127.0.0.1,::1",
                                  "no_proxy=localhost,127.0.0.1,::1", "TMPDIR=/tmp", "NODE_USE_ENV_PROXY=1",
                                  "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.excludesFile",
                                  "GIT_CONFIG_VALUE_0=/etc/nod-excludes", "SHELL=/bin/bash",
                                  "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"};
    size_t n = 0;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (getenv(kept[i]))
            environment[n++] = (char *)arena_printf(&cli->arena, "%s=%s", kept[i], getenv(kept[i])).p;
    for (size_t i = 0; i < sizeof added / sizeof *added; i++)
        environment[n++] = added[i];
    environment[n++] = (char *)arena_printf(&cli->arena, "HOME=%s", home).p;
    /* The box gets the variables that choose the model, but a placeholder instead of the key. */
    const struct agent *agent = box->wish.agent;
    for (size_t i = 0; agent->boxed.variables && agent->boxed.variables[i]; i++)
        if (getenv(agent->boxed.variables[i]))
            environment[n++] = (char *)arena_printf(&cli->arena, "%s=%s", agent->boxed.variables[i],
                                                    getenv(agent->boxed.variables[i])).p;
    if (!agent->boxed.keys[0].key)
        cli_note("nod: Nod has no way to keep the key of %s's model outside: every command that the agent runs can "
                 "read what is in the box of it", agent->title);
    if (box->key) {
        environment[n++] = (char *)arena_printf(&cli->arena, "%s=http://127.0.0.1:%d", box->key->url,
                                                AGENT_BOX_MODEL_PORT).p;
        environment[n++] = (char *)arena_printf(&cli->arena, "%s=kept-outside-the-box", agent->boxed.keys[0].key).p;
    }
    if (box->wish.variable)
        environment[n++] = (char *)arena_printf(&cli->arena, "%s=%s", box->wish.variable, box->wish.value).p;
    environment[n] = NULL;
    CHECK(n < ENVIRONMENT_MAX);
    return n;
}

/* With a key in the environment the box gets the address of a proxy outside that adds it; the agent never has it. */
static void open_model_proxy(struct cli *cli, struct agent_box *box)
{
    const struct agent_key *keys = box->wish.agent->boxed.keys;
    for (size_t i = 0; i < AGENT_KEYS_MAX && keys[i].key && !box->key; i++) {
        const char *key = getenv(keys[i].key), *url = getenv(keys[i].url);
        if (!key || !key[0])
            continue;
        box->key = &keys[i];
        box->proxy.url = url && url[0] ? arena_c(&cli->arena, str_of(url)) : keys[i].address;
        box->proxy.key_header = arena_printf(&cli->arena, "%s%s", keys[i].header, key).p;
    }
}

static void add_path(struct box *made, const char *path)
{
    size_t i = 0;
    while (i < BOX_PATHS_MAX && made->read[i])
        i++;
    if (path && i < BOX_PATHS_MAX)
        made->read[i] = path;
}

/* A subscription's credentials are a file, which must be in the box unless there is a key. */
static void put_credentials(struct cli *cli, const struct agent *agent, const char *home, struct box *made)
{
    const char *path = arena_printf(&cli->arena, "%s/%s", home, agent->boxed.credentials).p;
    if (!agent->boxed.credentials || access(path, R_OK) != 0)
        return;
    add_path(made, path);
    cli_note("nod: there is no %s, so your login (%s) is in the box, and every command that the agent runs can read it",
             agent->boxed.keys[0].key ? agent->boxed.keys[0].key : "key that Nod could keep outside", path);
}

/* The folders of the programs that the command line names: an interpreter, and what it is to run. */
static void add_programs(struct cli *cli, struct box *made, char **argv, const char *program)
{
    add_path(made, box_program_folder(&cli->arena, program));
    for (size_t i = 1; argv[i]; i++) {
        char real[PATH_MAX];
        if (argv[i][0] == '/' && realpath(argv[i], real) && access(real, R_OK) == 0)
            add_path(made, box_program_folder(&cli->arena, real));
    }
}

/* The project's folder is bound by device and inode as well: it cannot be replaced by another between here and the
 * mount. */
static struct rc describe(struct cli *cli, struct agent_box *box, char **argv, const char *program, struct box *made,
                          struct err *err)
{
    char real[PATH_MAX], why[BOX_STEP_BYTES * 2] = "";
    struct stat seen;
    const struct box_setting *setting = box_setting_of(cli);
    if (!realpath(arena_c(&cli->arena, box->wish.cwd), real) || stat(real, &seen) != 0)
        return err_set(err, ERR_IO, "the folder cannot be opened: %s", strerror(errno));
    enum box_order order = box_probe(setting, why, sizeof why);
    if (order == BOX_NONE)
        return err_set(err, ERR_UNAVAILABLE, "no box can be made here: %s", why);
    *made = (struct box){.project = arena_c(&cli->arena, str_of(real)), .project_dev = seen.st_dev,
                         .project_ino = seen.st_ino, .home = setting->home,
                         .locks = arena_printf(&cli->arena, "%s/boxes", setting->data).p, .hidden = {setting->data},
                         .no_user_namespace = order == BOX_ROOT_NAMESPACES, .proxy = true, .keeps_streams = true};
    TRY(keep_home(cli, made->project, &made->home_from, err));
    TRY(put_settings(cli, box->wish.agent, made->home_from, err));
    add_programs(cli, made, argv, program);
    open_model_proxy(cli, box);
    if (box->proxy.key_header)
        made->ports[0] = AGENT_BOX_MODEL_PORT;
    else
        put_credentials(cli, box->wish.agent, setting->home, made);
    return RC_OK;
}

/* ---- starting ---- */

enum { IN, OUT, REPORT, LIFE, NET, PIPES };

static struct rc open_pipes(int pipes[PIPES][2], struct err *err)
{
    for (int i = 0; i < PIPES; i++) {
        int failed = supervisor_pair(pipes[i], i == NET);
        if (failed)
            return err_set(err, ERR_IO, "no pipe: %s", strerror(failed));
    }
    return RC_OK;
}

static int port_of(const char *address)
{
    const char *colon = strrchr(address, ':');
    uint64_t port = 0;
    return colon && str_to_u64(str_of(colon + 1), &port) && port < 65536 ? (int)port : 0;
}

/* The child's pipes belong to `ret_child`, the supervisor's to the box. agent_box_wait ends both. */
struct rc agent_box_start(struct cli *cli, const struct agent_box_wish *wish, char **argv,
                          struct relay_child *ret_child, struct agent_box **ret_box, struct err *err)
{
    int pipes[PIPES][2];
    char *environment[ENVIRONMENT_MAX];
    struct box made;
    struct agent_box *box = arena_new(&cli->arena, struct agent_box);
    box->host = (struct egress_host){.judge = judge, .keep = keep, .release = release, .serve = serve};
    box->wish = *wish;
    (void)pthread_mutex_init(&box->lock, NULL);
    const char *program = box_find_program(&cli->arena, argv[0], getenv("PATH"));
    if (!program)
        return err_set(err, ERR_NOT_FOUND, "cannot find '%s': install %s%s", argv[0], wish->agent->title, wish->hint);
    TRY(remote_client(cli, &box->client, err));
    TRY(describe(cli, box, argv, program, &made, err));
    TRY(open_pipes(pipes, err));
    (void)put_environment(cli, box, made.home, environment);
    struct supervisor_start start = {
        .path = program, .args = argv, .environment = environment, .folder = made.project,
        .box = box_words(&cli->arena, &made), .streams = {pipes[IN][0], pipes[OUT][1], STDERR_FILENO},
        .keeps_streams = true, .out = pipes[OUT][1], .report = pipes[REPORT][1], .life = pipes[LIFE][0],
        .net = pipes[NET][1]};
    int failed = supervisor_spawn(&start, &ret_child->pid);
    (void)close(pipes[IN][0]);
    (void)close(pipes[OUT][1]);
    (void)close(pipes[REPORT][1]);
    (void)close(pipes[LIFE][0]);
    (void)close(pipes[NET][1]);
    if (failed)
        return err_set(err, ERR_IO, "the process of the box cannot be started: %s", strerror(failed));
    ret_child->out = pipes[OUT][0];
    relay_pipe_init(&ret_child->in, pipes[IN][1]);
    box->report = pipes[REPORT][0];
    box->life = pipes[LIFE][1];
    const int own_ports[OWN_PORTS_MAX] = {port_of(cli->settings.listen), port_of(cli->settings.listen_tls)};
    box->egress = egress_start(&(struct egress_options){.channel = pipes[NET][0], .host = &box->host,
                                                        .own_ports = own_ports,
                                                        .listeners = made.ports[0] ? 2 : 1});
    *ret_box = box;
    return RC_OK;
}

void agent_box_kill(struct agent_box *box)
{
    if (box->life >= 0)
        (void)close(box->life);
    box->life = -1;
}

/* Blocks until the supervisor reports. Without a report it was killed, and the status says so as a shell would. */
int agent_box_wait(struct agent_box *box, struct relay_child *child)
{
    struct supervisor_report report = {0};
    ssize_t got = file_get(box->report, &report, sizeof report);
    agent_box_kill(box);
    (void)process_wait(child->pid);
    egress_end(box->egress);
    (void)close(box->report);
    http_client_free(box->client);
    if (got != sizeof report)
        return 128 + 9;
    if (report.word == SUPERVISOR_FAILED) {
        cli_note("nod: the box could not be made: %s: %s", report.step, strerror(report.value));
        return 1;
    }
    return WIFEXITED(report.value) ? WEXITSTATUS(report.value) : 128 + WTERMSIG(report.value);
}

int agent_box_end(struct agent_box *box, struct relay_child *child)
{
    enum { GRACE_MS = 3000 };
    struct pollfd look = {.fd = box->report, .events = POLLIN};
    if (poll(&look, 1, GRACE_MS) <= 0)
        agent_box_kill(box);
    return agent_box_wait(box, child);
}
