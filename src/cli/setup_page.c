/* The end of nod setup: the page, opened where there is a desktop, and the ways to hear of a question. */
#include "cli/remote.h"
#include "cli/setup.h"
#include "io/file.h"
#include "io/process.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* A file that leads to the page: other users see the arguments of a process, but not what is in the file. */
static struct rc write_leader(struct cli *cli, struct str link, const char **ret_path, struct err *err)
{
    *ret_path = arena_printf(&cli->arena, "%s/" SETUP_LEADER, cli->settings.data).p;
    struct str text = arena_printf(&cli->arena, "<!doctype html><meta charset=\"utf-8\"><title>Nod</title>"
                                   "<meta http-equiv=\"refresh\" content=\"0;url=%.*s\">"
                                   "<p><a href=\"%.*s\">Nod</a></p>\n", STR_ARG(link), STR_ARG(link));
    return file_write_private(*ret_path, text, err);
}

static bool has_desktop(void)
{
    const char *display = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
    return isatty(STDOUT_FILENO) && ((display && display[0]) || (wayland && wayland[0]));
}

/* The link holds a secret and is not put on a command line, where other users could read it: the browser opens a
 * private file that leads to it. False: there is no desktop, and the caller prints the link. */
bool setup_page_open(struct cli *cli, struct str link)
{
    const char *path;
    if (!has_desktop() || !setup_on_path(cli, "xdg-open") || rc_bad(write_leader(cli, link, &path, NULL)))
        return false;
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
            (void)!dup2(null, fd);
        (void)execlp("xdg-open", "xdg-open", path, (char *)NULL);
        _exit(127);
    }
    int status = process_wait(pid);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void setup_page_ways(bool reachable)
{
    const char *bus = getenv("DBUS_SESSION_BUS_ADDRESS");
    if (bus && bus[0])
        cli_out(STR("  as notifications       nod desktop (docs/NOTIFY.md starts it at every login)\n"));
    cli_out(reachable ? STR("  on a phone             nod pair\n")
                      : STR("  on a phone             nod tls init, then nod pair (docs/NOTIFY.md)\n"));
}

void setup_page_pair(struct cli *cli)
{
    struct reply reply;
    struct str body = STR("{\"name\":\"phone\",\"role\":\"approver\"}");
    if (rc_ok(remote_post(cli, STR("/api/logins"), body, &reply, NULL)))
        pair_show(cli, reply.json);
}
