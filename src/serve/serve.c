/* `nod serve`: store, gate, API and sockets in one process, on one loop.
 *
 * Start: folder, store, recovery, admin token, sockets; only then is anything answered. Stop (SIGTERM, SIGINT):
 * waits are ended, runs are put down (they go on after the next start) and their commands ended, open answers are
 * sent, and the store commits the rest.
 */
#include "api/api.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/seal.h"
#include "cli/box_choice.h"
#include "cli/cli.h"
#include "gate/gate.h"
#include "http/http.h"
#include "io/clock.h"
#include "io/file.h"
#include "io/loop.h"
#include "io/saver.h"
#include "io/system.h"
#include "notify/notify.h"
#include "runtime/runtime.h"
#include "serve/boxes.h"
#include "serve/executors.h"
#include "serve/serve.h"
#include "tools/tools.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LARGE_BYTES = 1 << 20, FEW_CONNECTIONS = 512, TLS_NAMES_MAX = 16 };

enum {
    FIRST_TOKEN_MS = 60000, /* how long a start waits for a store that keeps nothing */
    AGAIN_MS = 500,
};

/* Everything that a server opens; NULL where it was not opened yet. */
struct process {
    struct cli *cli;
    struct loop *loop;
    struct gate *gate;
    struct api *api;
    struct http_server *server;
    struct runtime *runtime;
    struct notify *notify;
    struct servers *servers;
    struct box_setting *box;
    struct saver *saver;         /* of the small files that a first start makes */
    int starting;                /* the folder, held until they are there; -1: it is not held */
    struct token_change admin;
    struct timer *again;         /* makes the admin token once more; NULL: the first try did it */
    struct commands_stop commands;
    struct before_sleep flush;
    struct executors *executors; /* NULL: tools are done by this process */
    struct sign_key *key;
    struct demo_child demo;
    struct auto_archive *archive;
    struct err err; /* why it had to end */
    int64_t started_us;
    bool stopping;
};

/* The loop calls it before it sleeps: all log lines of one turn leave in one write. It reports that it has made no
 * new work. */
static bool flush_log(void *arg)
{
    (void)arg;
    log_flush();
    return false;
}

/* loop_run in serve_command returns; nothing is closed here, because the caller may be a callback of a part that
 * would be freed. */
static void end(struct process *process) { loop_stop(process->loop); }

/* An error after loop_run has begun has nobody to be returned to: serve_command returns it once the loop has ended.
 */
static void fail(struct process *process, const struct err *err)
{
    process->err = *err;
    end(process);
}

/* ---- the admin token ---- */

static const char *token_path(const struct process *process)
{
    struct arena *arena = &process->cli->arena;
    return arena_printf(arena, "%s/admin.token", process->cli->settings.data).p;
}

static void open_sockets(struct process *process);

static void admin_made(struct op *op);

static void make_admin(void *arg)
{
    struct process *process = arg;
    process->admin = (struct token_change){
        .op = gate_op(&process->cli->arena, admin_made, process),
        .name = STR("admin"),
        .role = ROLE_ADMIN,
        .actor = STR("nod"),
    };
    gate_change_token(process->gate, &process->admin);
}

/* Another node may write for longer than a request waits. Nobody is there yet who could be told to ask again. */
static bool make_admin_later(struct process *process, const struct err *err)
{
    int64_t waited_us = clock_steady_us() - process->started_us;
    bool closing = !process->server; /* the server ends: gate_close fails what is still open, and that comes here */
    if (err->code != ERR_UNAVAILABLE || closing || waited_us > (int64_t)FIRST_TOKEN_MS * 1000)
        return false;
    if (!process->again) {
        process->again = timer_new(process->loop, make_admin, process);
        log_line(LOG_WARN, "waiting for the store, which cannot keep the first token yet", LOG_C("why", err->text));
    }
    timer_start(process->again, AGAIN_MS);
    return true;
}

/* On the loop, when the token is stored. The file is written after the event: a crash between the two leaves a token
 * that nobody knows and no file, and the next start makes another token. */
static void admin_made(struct op *op)
{
    struct process *process = op->owner;
    const struct token_change *change = &process->admin;
    struct err err;
    if (op->err && (process->stopping || make_admin_later(process, op->err)))
        return;
    struct str line = arena_printf(&process->cli->arena, "%s\n", change->secret);
    if (op->err)
        fail(process, op->err);
    else if (rc_bad(file_write_private(token_path(process), line, &err)))
        fail(process, &err);
    else
        open_sockets(process);
}

/* Ensures that the token file which the command line finds by itself holds a valid token. */
static void ensure_admin(struct process *process)
{
    ARENA_SCOPE(scratch);
    struct str text;
    struct rc rc = file_read(&scratch, token_path(process), 4096, &text, NULL);
    const struct token *token = rc_ok(rc) ? gate_token(process->gate, str_trim(text)) : NULL;
    if (token && token->role == ROLE_ADMIN)
        open_sockets(process);
    else
        make_admin(process);
}

/* ---- the sockets ---- */

static bool loopback(struct str host)
{
    return str_is(host, "localhost") || str_is(host, "[::1]") || str_starts(host, STR("127."));
}

/* The two Unix sockets and TCP. Only the server's own user and the members of a group reach `socket`; every user
 * reaches `agents_socket`, and there only tokens of agents count (api/auth.c). */
static struct rc listen_all(struct process *process, int *ret_port, struct err *err)
{
    const struct settings *settings = &process->cli->settings;
    struct str address = str_of(settings->listen);
    size_t colon = address.n;
    while (colon > 0 && address.p[colon - 1] != ':')
        colon--;
    if (colon == 0)
        return err_set(err, ERR_INVALID, "--listen takes HOST:PORT, not \"%s\"", settings->listen);
    struct str host = str_sub(address, 0, colon - 1);
    struct http_unix people = {.path = settings->socket,
                               .group = settings->socket_group[0] ? settings->socket_group : NULL};
    TRY(http_listen_unix(process->server, &people, err));
    struct http_unix agents = {.path = settings->agents_socket, .agents = true};
    if (agents.path[0])
        TRY(http_listen_unix(process->server, &agents, err));
    struct err why = {0};
    struct rc rc = http_listen_tcp(process->server, settings->listen, ret_port, &why);
    if (rc_bad(rc))
        return err_set(err, rc.code, "%s; --listen HOST:PORT chooses another place, port 0 any", why.text);
    api_add_address(process->api, arena_c(&process->cli->arena, host), *ret_port);
    gate_add_port(process->gate, *ret_port);
    if (!loopback(host))
        log_line(LOG_WARN, "listening beyond this machine without TLS: put a TLS proxy in front",
                 LOG_C("listen", settings->listen));
    return RC_OK;
}

/* Collects the names of the certificate while http_listen_tls reads it; at them the page may be opened. */
struct tls_listener {
    struct process *process;
    int port;
    struct str names[TLS_NAMES_MAX];
    size_t count;
};

static void keep_name(void *arg, struct str name)
{
    struct tls_listener *listener = arg;
    if (listener->count < TLS_NAMES_MAX)
        listener->names[listener->count++] = arena_str(&listener->process->cli->arena, name);
}

/* Listens with TLS if there is a certificate; a certificate that the settings name must exist. */
static struct rc listen_tls(struct process *process, struct err *err)
{
    const struct settings *settings = &process->cli->settings;
    struct tls_listener listener = {.process = process};
    struct http_certificate certificate = {.cert_file = settings->tls_cert, .key_file = settings->tls_key,
                                           .name = keep_name, .arg = &listener};
    if (settings->origins[SETTING_ID_tls_cert].kind == ORIGIN_DEFAULT && access(settings->tls_cert, F_OK) != 0)
        return RC_OK;
    TRY(http_listen_tls(process->server, settings->listen_tls, &certificate, &listener.port, err));
    gate_add_port(process->gate, listener.port);
    for (size_t i = 0; i < listener.count; i++)
        api_add_secure(process->api, listener.names[i], listener.port);
    struct str name = listener.count ? listener.names[0] : STR("no name");
    (void)printf("with TLS on port %d, as %.*s\n", listener.port, STR_ARG(name));
    log_line(LOG_INFO, "listening with TLS", LOG_I("port", listener.port), LOG_C("certificate", settings->tls_cert));
    return RC_OK;
}

/* After recovery: from here on requests are answered. Not if a signal came first: what the start had asked of the store
 * comes back all the same, at the latest when the gate is closed. */
static void open_sockets(struct process *process)
{
    const struct settings *settings = &process->cli->settings;
    struct err err;
    int port = 0;
    if (process->stopping)
        return;
    if (rc_bad(listen_all(process, &port, &err)) || rc_bad(listen_tls(process, &err))) {
        fail(process, &err);
        return;
    }
    if (process->notify)
        notify_start(process->notify);
    api_set_ready(process->api, true);
    runtime_start(process->runtime);
    process->archive = auto_archive_new(process->loop, process->gate, settings->archive_after_s);
    struct gate_figures figures = gate_figures(process->gate);
    log_line(LOG_INFO, "ready", LOG_I("port", port), LOG_C("socket", settings->socket),
             LOG_I("waiting", figures.pending), LOG_I("us", clock_steady_us() - process->started_us));
    (void)printf("nod %s is listening on http://%.*s:%d and %s\n", NOD_VERSION,
                 (int)(strrchr(settings->listen, ':') - settings->listen), settings->listen, port,
                 settings->socket);
    (void)printf("open %.*s (one-time link, valid for 10 minutes; `nod login` makes another)\n",
                 STR_ARG(api_login_link(process->api, &process->cli->arena, getenv("USER"))));
    (void)fflush(stdout);
    if (settings->demo && rc_bad(demo_start(&process->demo, settings, &err)))
        fail(process, &err);
}

/* On the loop, once. Nothing listens before it: a request never meets a gate whose views are half built. Marks are read
 * behind it, and who would be shown them waits (gate_await_marks). */
static void recovered(void *arg, const struct err *err)
{
    struct process *process = arg;
    if (process->stopping)
        return;
    if (err->code != ERR_OK)
        fail(process, err);
    else
        ensure_admin(process);
}

/* ---- the process ---- */

/* The last of four steps of an orderly stop: runs, commands, HTTP server, loop. Each calls the next when it is done.
 */
static void stopped(void *arg) { end(arg); }

/* Runs first: their last words need the store and the loop. */
static void commands_ended(struct op *op)
{
    struct process *process = op->owner;
    if (process->server) /* a second signal may have closed it */
        http_server_stop(process->server, stopped, process);
}

static void runs_ended(void *arg)
{
    struct process *process = arg;
    process->commands.op = gate_op(&process->cli->arena, commands_ended, process);
    gate_stop_commands(process->gate, &process->commands);
}

/* The first signal lets requests and runs come to an end, the second ends at once. */
static void stop(void *arg)
{
    struct process *process = arg;
    if (process->stopping) {
        end(process);
        return;
    }
    process->stopping = true;
    log_line(LOG_INFO, "stopping");
    demo_stop(&process->demo);
    api_set_ready(process->api, false);
    gate_release(process->gate);
    runtime_stop(process->runtime, runs_ended, process);
}

/* The views of this process, and what it has told, are not what the store holds: it ends, and whatever supervises it
 * starts it anew. */
static void history_changed(void *arg, const struct err *err)
{
    struct process *process = arg;
    process->err = *err;
    if (!process->stopping)
        stop(process);
}

/* A terminal that closes, or a signal meant for another program, does not end the server. Handlers, unlike what is
 * ignored, do not pass on to the commands it starts. */
static void stay(void *arg) { (void)arg; }

/* Limits, signals and memory for the whole process, before any thread is started. */
static void set_up_process(const struct settings *settings)
{
    struct rlimit files;
    enum log_level level = settings->demo && settings->origins[SETTING_ID_log_level].kind == ORIGIN_DEFAULT
                               ? LOG_WARN
                               : (enum log_level)settings->log_level;
    log_setup(level, settings->log_format == 1);
    (void)umask(077);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is an error of a write, not our end */
    system_hide_memory(); /* secrets do not belong in core files */
    /* One arena per kind of thread would only keep more memory resident, and malloc starts to keep blocks as large as a
     * large call. */
    system_tune_heap(LARGE_BYTES);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
}

/* The allowed hosts as api_options wants them: one text in which each name is followed by a comma. */
static const char *join_hosts(struct process *process)
{
    struct arena *arena = &process->cli->arena;
    const struct setting_list *hosts = &process->cli->settings.allowed_hosts;
    struct str all = STR("");
    for (size_t i = 0; i < hosts->count; i++)
        all = arena_printf(arena, "%.*s,%s", STR_ARG(all), hosts->items[i]);
    return arena_c(arena, all);
}

static struct gate_limits limits_of(const struct settings *settings)
{
    return (struct gate_limits){.calls_per_token = settings->waiting_per_token,
                                .calls_per_session = settings->waiting_per_session,
                                .calls = settings->waiting_total,
                                .bytes_per_token = settings->waiting_bytes_per_token,
                                .bytes = settings->waiting_bytes_total,
                                .asks_per_second = settings->asks_per_second,
                                .asks_burst = settings->asks_burst};
}

/* The limit leaves descriptors for the store, for tools, and for the Unix socket. */
static unsigned connections_of(const struct settings *settings)
{
    struct rlimit files;
    uint64_t wanted = (uint64_t)settings->connections;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= wanted + LIMIT_RESERVED_FILES)
        return (unsigned)wanted;
    uint64_t most = files.rlim_cur > 2 * LIMIT_RESERVED_FILES ? files.rlim_cur - LIMIT_RESERVED_FILES
                                                              : LIMIT_RESERVED_FILES;
    log_line(most < FEW_CONNECTIONS ? LOG_WARN : LOG_DEBUG, "the limit of open files allows fewer connections than set",
             LOG_I("connections", most), LOG_I("files", files.rlim_cur));
    return (unsigned)most;
}

/* The certificate of the authority that `nod tls` has made, which the page offers to phones; empty when there is
 * none. */
static struct str read_authority(struct cli *cli)
{
    struct str pem = STR_NONE;
    const char *file = arena_printf(&cli->arena, "%s/tls/ca.pem", cli->settings.data).p;
    (void)file_read(&cli->arena, file, 64 << 10, &pem, NULL);
    return pem;
}

/* An older installation asks about commands that only read, as it did, and is offered once to let them pass. */
static bool reads_pass(struct cli *cli, struct saver *saver)
{
    enum box_choice choice = box_choice_reads(cli);
    if (choice == BOX_ON || choice == BOX_OFF)
        return choice == BOX_ON;
    bool on = choice == BOX_UNDECIDED_NEW;
    box_choice_keep_reads(cli, on, saver);
    if (!on)
        log_line(LOG_INFO, "commands that only read inside the session's folder can pass without a rule now "
                           "(docs/RULES.md): `read-only-commands = allow` in the configuration switches it on");
    return on;
}

/* The small files are there, before anybody is told of the key, other nodes too. Another start in this folder waits
 * until here: it would make a key of its own, and write it over the one with which this server answers. */
static struct rc end_saving(struct process *process, struct err *err)
{
    struct rc rc = saver_end(&process->saver, err);
    if (process->starting >= 0)
        (void)close(process->starting);
    process->starting = -1;
    return rc;
}

/* Opens everything in the order in which it depends on each other; close_process goes backwards. */
static struct rc open_process(struct process *process, struct err *err)
{
    const struct settings *settings = &process->cli->settings;
    const char *home = executors_home(process->cli);
    process->saver = saver_new(settings->data);
    process->box = boxes_open(process->cli, process->saver);
    struct gate_options gate = {.limits = limits_of(settings), .store_url = settings->store,
                                .home = home ? home : getenv("HOME"),
                                .managed = settings->managed_policy, .protected = settings->data,
                                .socket = settings->socket,
                                .asks_reads = !reads_pass(process->cli, process->saver),
                                .signed_when = (enum signed_when)settings->signed_when,
                                .recovery_seconds = settings->recovery_delay_s,
                                .alert_seconds = settings->alert_after_s,
                                .withdraw_seconds = settings->withdraw_after_s,
                                .archive_folder = archive_folder(process->cli),
                                .search_file = arena_printf(&process->cli->arena, "%s/search.db", settings->data).p,
                                .box = process->box,
                                .web_private = settings->web_private,
                                .broken = history_changed, .arg = process};
    TRY(server_key_open(process->cli, process->saver, &process->key, err));
    saver_begin(process->saver);
    gate.key = process->key;
    TRY(executors_open(process->cli, process->loop, &process->executors, err));
    gate.link = executors_link(process->executors);
    TRY(mcp_servers_open(process->cli, &process->servers, err));
    gate.servers = process->servers;
    TRY(gate_open(process->loop, &gate, &process->gate, err));
    TRY(end_saving(process, err));
    TRY(runs_open(process->cli, process->loop, process->gate, &process->runtime, err));
    struct notify_options notify = {.loop = process->loop, .gate = process->gate, .file = settings->notify,
                                    .folder = settings->data, .private_net = settings->web_private,
                                    .find_person = api_find_person, .was_revoked = api_was_revoked,
                                    .public_url = settings->public_url[0] ? settings->public_url : NULL};
    TRY(notify_open(&notify, &process->notify, err));
    struct api_options api = {.gate = process->gate, .runtime = process->runtime, .notify = process->notify,
                              .hosts = join_hosts(process), .public_url = notify.public_url,
                              .authority = read_authority(process->cli), .tripwire = settings->tripwire,
                              .timeout_seconds = settings->approval_timeout_s,
                              .warning = server_key_compare(process->cli, process->key)};
    process->api = api_new(&api);
    struct http_options http = {.handle = api_handle, .arg = process->api, .body_max = api_body_max, .admit = api_admit,
                                .heartbeat_ms = settings->heartbeat_s * 1000,
                                .connections_max = connections_of(settings),
                                .strangers_max = (unsigned)settings->strangers,
                                .strangers_per_address_max = (unsigned)settings->strangers_per_address};
    TRY(http_server_new(process->loop, &http, &process->server, err));
    api_set_server(process->api, process->server);
    TRY(loop_on_signal(process->loop, SIGTERM, stop, process, err));
    TRY(loop_on_signal(process->loop, SIGINT, stop, process, err));
    static const int harmless[] = {SIGHUP, SIGUSR1, SIGUSR2};
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        TRY(loop_on_signal(process->loop, harmless[i], stay, process, err));
    return RC_OK;
}

/* Also after a failed open_process: the parts that were not opened are NULL. The HTTP server goes first, so that
 * nothing new arrives; the gate goes before the runtime, because its close gives pending operations back to their
 * owners. */
static void close_process(struct process *process)
{
    demo_stop(&process->demo);
    if (process->server)
        http_server_free(process->server);
    process->server = NULL;
    /* A second signal: does not wait for runs and commands, which are as safe as in a crash. */
    if (process->runtime && (runtime_busy(process->runtime) || gate_commands_stopping(process->gate))) {
        log_hold(false);
        log_line(LOG_INFO, "stopped at once");
        _exit(process->err.code != ERR_OK);
    }
    auto_archive_free(process->archive);
    if (process->notify)
        notify_close(process->notify);
    if (process->gate)
        gate_close(process->gate);
    if (process->again)
        timer_free(process->again);
    if (process->runtime)
        runtime_free(process->runtime);
    if (process->servers)
        servers_free(process->servers);
    if (process->api)
        api_free(process->api);
    executors_close(process->executors);
    loop_free(process->loop);
    sign_key_free(process->key);
    boxes_close(process->box);
    (void)end_saving(process, NULL).code;
}

/* Errors of opening are returned; errors that end a running server come by way of process.err. Lines of the log are
 * held only while the loop runs and flushes them. */
struct rc serve_command(struct cli *cli, struct err *err)
{
    struct process process = {.cli = cli, .starting = -1, .started_us = clock_steady_us()};
    if (option_flag(cli, "routes")) {
        api_print_routes();
        return RC_OK;
    }
    seal_keep_library();
    set_up_process(&cli->settings);
    TRY(file_own_folder(cli->settings.data, err));
    TRY(loop_new(&process.loop, err));
    struct rc rc = file_hold_folder(cli->settings.data, &process.starting, err);
    if (rc_ok(rc))
        rc = open_process(&process, err);
    if (rc_ok(rc)) {
        boxes_begin(process.box);
        log_hold(true);
        process.flush = (struct before_sleep){.before = flush_log};
        loop_before_sleep(process.loop, &process.flush);
        gate_recover(process.gate, recovered, &process);
        loop_run(process.loop);
    }
    close_process(&process);
    log_hold(false);
    if (rc_ok(rc) && process.err.code != ERR_OK) {
        *err = process.err;
        rc = (struct rc){process.err.code};
    }
    if (rc_ok(rc))
        log_line(LOG_INFO, "stopped");
    return rc;
}
