/* The server that setup starts. A unit of systemd --user starts it again after a crash and at the next login; where no
 * such manager runs, it is a process in the background that lives until the machine stops. */
#include "base/limits.h"
#include "cli/local.h"
#include "cli/remote.h"
#include "cli/setup.h"
#include "io/file.h"
#include "io/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNIT_NAME "nod.service"

enum { LOOKS = 150, LOOK_US = 100000 };

/* ---- systemctl ---- */

/* Whether the program ended with 0; its words are thrown away. */
static bool succeeds(char *const argv[])
{
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(null, STDOUT_FILENO) >= 0 &&
            dup2(null, STDERR_FILENO) >= 0)
            (void)execvp(argv[0], argv);
        _exit(127);
    }
    int status = process_wait(pid);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool systemctl(const char *verb, const char *more, const char *unit)
{
    char *argv[] = {"systemctl", "--user", (char *)verb, (char *)(more ? more : unit), (char *)(more ? unit : NULL),
                    NULL};
    return succeeds(argv);
}

enum setup_service setup_service_find(struct cli *cli, bool background)
{
    struct reply reply;
    struct rc rc = remote_get(cli, STR("/healthz"), &reply, NULL);
    remote_close(cli);
    if (rc.code != ERR_UNAVAILABLE || cli->settings.origins[SETTING_ID_url].kind != ORIGIN_DEFAULT)
        return SERVICE_RUNS; /* the server runs, or is on another machine, where we cannot start it */
    return !background && setup_unit_path(cli) && systemctl("show-environment", NULL, NULL) ? SERVICE_SYSTEMD
                                                                                        : SERVICE_BACKGROUND;
}

/* ---- the unit ---- */

const char *setup_unit_path(struct cli *cli)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (config && config[0] == '/')
        return arena_printf(&cli->arena, "%s/systemd/user/" UNIT_NAME, config).p;
    return home && home[0] ? arena_printf(&cli->arena, "%s/.config/systemd/user/" UNIT_NAME, home).p : NULL;
}

/* One word of a unit file: quoted, its specifiers and variables switched off. `command`: of ExecStart. */
static void put_word(struct buf *buf, const char *before, const char *word, bool command)
{
    buf_printf(buf, " \"%s", before);
    for (const char *c = word; *c; c++) {
        if (*c == '"' || *c == '\\')
            buf_putc(buf, '\\');
        else if (*c == '%' || (*c == '$' && command))
            buf_putc(buf, *c);
        buf_putc(buf, *c);
    }
    buf_putc(buf, '"');
}

/* Paths are written as they are now; the settings that may hold a password go by the environment. */
static void put_unit(struct buf *buf, const struct settings *settings, const char *self)
{
    buf_puts(buf, "[Unit]\nDescription=Nod: people answer what agents ask\nDocumentation=man:nod(1)\n\n"
                  "[Service]\nExecStart=");
    put_word(buf, "", self, true);
    buf_puts(buf, " serve --data");
    put_word(buf, "", settings->data, true);
    buf_puts(buf, " --socket");
    put_word(buf, "", settings->socket, true);
    if (settings->origins[SETTING_ID_config].kind != ORIGIN_DEFAULT) {
        buf_puts(buf, " --config");
        put_word(buf, "", settings->config, true);
    }
    buf_puts(buf, "\nEnvironment=");
    put_word(buf, "NOD_LISTEN=", settings->listen, false); /* other users could read flags */
    put_word(buf, "NOD_STORE=", settings->store, false);
    buf_puts(buf, "\nRestart=on-failure\nRestartSec=1\nTimeoutStopSec=30\n\n[Install]\nWantedBy=default.target\n");
}

/* Ready and not only started: the next steps of setup need the token and the routes. */
static struct rc wait_ready(struct cli *cli, struct err *err)
{
    struct reply reply;
    for (int i = 0; i < LOOKS; i++) {
        if (rc_ok(remote_get(cli, STR("/readyz"), &reply, err)))
            return RC_OK;
        remote_close(cli); /* the first start of the server makes the token */
        (void)usleep(LOOK_US);
    }
    return err_set(err, ERR_UNAVAILABLE, "the server did not become ready: see `nod doctor`");
}

/* A unit that the person wrote themselves is started as it is. */
static struct rc start_unit(struct cli *cli, struct setup_record *record, struct err *err)
{
    BUF_SCOPE(unit, LIMIT_BODY_BYTES);
    const char *self, *path = setup_unit_path(cli);
    bool other = access(path, F_OK) == 0 && !str_is(record->unit, path); /* the person's own is used as it is */
    TRY(local_self(cli, &self, err));
    put_unit(&unit, &cli->settings, self);
    if (!other) {
        TRY(local_folders_above(cli, path, 0700, err)); /* they may be missing in a fresh home */
        TRY(file_write_private(path, buf_str(&unit), err));
        record->unit = str_of(path);
        TRY(setup_record_save(cli, record, err));
    }
    if (!systemctl("daemon-reload", NULL, NULL) || !systemctl("enable", "--now", UNIT_NAME))
        return err_set(err, ERR_UNAVAILABLE,
                       "systemd did not start " UNIT_NAME ": see `systemctl --user status nod`, or use --background");
    return RC_OK;
}

struct rc setup_service_start(struct cli *cli, enum setup_service service, struct setup_record *record,
                              struct err *err)
{
    pid_t pid = 0;
    if (service == SERVICE_SYSTEMD)
        TRY(start_unit(cli, record, err));
    if (service == SERVICE_BACKGROUND) {
        TRY(local_start_server(cli, &pid, err));
        record->pid = pid;
        TRY(setup_record_save(cli, record, err));
    }
    return wait_ready(cli, err);
}

/* ---- stopping ---- */

/* Whether the process is a server of this data folder: its number may belong to another by now. */
static bool our_server(struct cli *cli, int64_t pid)
{
    char text[LIMIT_PATH_BYTES * 4];
    bool serves = false, ours = false;
    const char *path = arena_printf(&cli->arena, "/proc/%lld/cmdline", (long long)pid).p;
    int fd = pid > 1 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text) : 0;
    struct str line = {text, n > 0 ? (size_t)n : 0}, data = str_of(cli->settings.data);
    if (fd >= 0)
        (void)close(fd);
    STR_EACH(word, line, '\0') {
        serves = serves || str_is(word, "serve");
        ours = ours || str_eq(word, data);
    }
    return serves && ours;
}

/* Only a process that is still our server gets the signal: its number may have been given to another one since. */
struct rc setup_service_stop(struct cli *cli, const struct setup_record *record, struct err *err)
{
    if (!str_empty(record->unit)) {
        (void)systemctl("disable", "--now", UNIT_NAME);
        if (unlink(arena_c(&cli->arena, record->unit)) != 0 && errno != ENOENT)
            return err_set(err, ERR_IO, "%.*s: %s", STR_ARG(record->unit), strerror(errno));
        (void)systemctl("daemon-reload", NULL, NULL);
    }
    if (!our_server(cli, record->pid))
        return RC_OK;
    (void)kill((pid_t)record->pid, SIGTERM);
    for (int i = 0; i < LOOKS && our_server(cli, record->pid); i++)
        (void)usleep(LOOK_US);
    return our_server(cli, record->pid) ? err_set(err, ERR_TIMEOUT, "the server (process %lld) does not end",
                                                  (long long)record->pid) : RC_OK;
}
