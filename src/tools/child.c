/* A command from its start to its end: environment, sandbox, pipes. box/supervisor.c ends whatever it leaves behind. */
#include "tools/child.h"

#include "box/supervisor.h"
#include "egress/egress.h"
#include "io/file.h"
#include "io/process.h"
#include "tools/link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    KEPT_BYTES = RESULT_BYTES_MAX / 2, /* bytes kept of the beginning, and as many of the end */
    ARGS_MAX = 40,
    ENVIRONMENT_MAX = 48,
    ENDS_ROUNDS = 100,                 /* how often, and for how long, the end of a report is waited for */
    ENDS_ROUND_MS = 100,
};

/* ---- what it has written ---- */

struct output output_init(void)
{
    return (struct output){.head = buf_init(KEPT_BYTES), .tail = buf_init((size_t)KEPT_BYTES * 4)};
}

void output_done(struct output *output)
{
    buf_done(&output->head);
    buf_done(&output->tail);
}

/* Drops the oldest bytes of the tail, so that the beginning and the end of the output are kept. */
static void drop_to(struct output *output, size_t most)
{
    if (output->tail.n <= most)
        return;
    size_t drop = output->tail.n - KEPT_BYTES;
    output->dropped += drop;
    buf_drop(&output->tail, drop);
}

/* The tail may grow to twice its size before it is cut, so that bytes are not moved at every call. */
void output_add(struct output *output, struct str text)
{
    size_t first = KEPT_BYTES - output->head.n;
    if (first > text.n)
        first = text.n;
    buf_put(&output->head, str_sub(text, 0, first));
    buf_put(&output->tail, str_sub(text, first, text.n));
    drop_to(output, (size_t)KEPT_BYTES * 2);
}

/* A byte of zeros would end the text for whoever reads it. */
static void put_visible(struct buf *buf, struct str text)
{
    for (size_t from = 0; from < text.n;) {
        size_t end = from + str_find(str_sub(text, from, text.n), '\0');
        buf_put(buf, str_sub(text, from, end));
        if (end < text.n)
            buf_puts(buf, "\xef\xbf\xbd");
        from = end + 1;
    }
}

struct str output_text(struct output *output, struct arena *arena)
{
    BUF_SCOPE(buf, (size_t)RESULT_BYTES_MAX * 4);
    drop_to(output, KEPT_BYTES);
    put_visible(&buf, buf_str(&output->head));
    if (output->dropped)
        buf_printf(&buf, "\n… (%zu bytes left out) …\n", output->dropped);
    put_visible(&buf, buf_str(&output->tail));
    return arena_str(arena, buf_str(&buf));
}

/* ---- starting ---- */

/* Variables that keep a command from waiting for a terminal which it does not have. */
static void clean_environment(struct arena *arena, char *environment[ENVIRONMENT_MAX])
{
    size_t n = environment_kept(arena, environment);
    environment[n++] = "TERM=dumb";
    environment[n++] = "SHELL=/bin/bash";
    environment[n++] = "PAGER=cat";
    environment[n++] = "GIT_TERMINAL_PROMPT=0";
    CHECK(n < ENVIRONMENT_MAX);
    environment[n] = NULL;
}

static void arguments(const struct tool_use *use, char *args[ARGS_MAX])
{
    char *command = (char *)arena_c(use->arena, json_text(use->input, "command"));
    char *const shell[] = {"/bin/bash", "-c", command, NULL};
    memcpy(args, shell, sizeof shell);
}

/* The box of one command. The folder is compared by inode when the box opens it, so that a folder exchanged in between
 * is noticed. */
static struct rc make_box(const struct tool_use *use, bool net, char ***ret_words, struct err *err)
{
    struct stat seen;
    const char *root = arena_c(use->arena, use->root);
    *ret_words = NULL;
    if (!use->box)
        return RC_OK;
    if (box_order_of(use->box) == BOX_NONE)
        return err_set(err, ERR_UNAVAILABLE, "this machine cannot make a box, and commands are to run in one; "
                                             "`nod doctor` says why");
    const char *real = realpath(root, NULL);
    if (!real || stat(real, &seen) != 0) {
        free((void *)real);
        return err_set(err, ERR_IO, "%s cannot be opened: %s", root, strerror(errno));
    }
    const struct box_opened *opened = use->opened;
    bool judged = opened && opened->project_ino;
    struct box box = {
        .project = arena_str(use->arena, str_of(real)).p,
        .project_dev = judged ? opened->project_dev : seen.st_dev,
        .project_ino = judged ? opened->project_ino : seen.st_ino,
        .home = use->box->home,
        .locks = arena_printf(use->arena, "%s/boxes", use->box->data).p,
        .no_user_namespace = box_order_of(use->box) == BOX_ROOT_NAMESPACES,
        .hidden = {use->box->data},
        .proxy = net,
    };
    free((void *)real);
    if (opened) {
        box.git_open = opened->git_open;
        memcpy(box.read, opened->read, sizeof box.read);
        memcpy(box.write, opened->write, sizeof box.write);
        memcpy(box.ports, opened->ports, sizeof box.ports);
    }
    *ret_words = box_words(use->arena, &box);
    return RC_OK;
}

enum { OUT, REPORT, LIFE, NET, PIPES };

/* The last pair is a socket and needed only where the box has a proxy. The caller closes what was opened before an
 * error. */
static struct rc open_pipes(int pipes[PIPES][2], bool net, struct err *err)
{
    for (int i = 0; i < (net ? PIPES : NET); i++) {
        int failed = supervisor_pair(pipes[i], i == NET);
        if (failed)
            return err_set(err, ERR_IO, "no pipe for its output: %s", strerror(failed));
    }
    return RC_OK;
}

static unsigned count_ports(const struct box_opened *opened)
{
    unsigned count = 0;
    while (opened && count < BOX_PORTS_MAX && opened->ports[count])
        count++;
    return count;
}

/* Starts a command: in the server's process, or in the executor's, to which the server has passed the descriptors.
 * The supervisor kills the command when `life` is closed, also when the process that started it is killed. */
struct rc child_spawn(const struct tool_use *use, const struct child_ends *ends, pid_t *ret_supervisor,
                      struct err *err)
{
    char *args[ARGS_MAX];
    char *environment[ENVIRONMENT_MAX];
    char **box;
    TRY(make_box(use, ends->net >= 0, &box, err));
    arguments(use, args);
    clean_environment(use->arena, environment);
    if (box)
        (void)environment_in_box(environment, NULL, true);
    struct supervisor_start start = {
        .path = args[0],
        .args = args,
        .environment = environment,
        .folder = arena_c(use->arena, use->root),
        .box = box,
        .out = ends->out,
        .report = ends->report,
        .life = ends->life,
        .net = ends->net >= 0 ? ends->net : 0,
    };
    int failed = supervisor_spawn(&start, ret_supervisor);
    return failed ? err_set(err, ERR_IO, "it cannot be started: %s", strerror(failed)) : RC_OK;
}

/* Four pipes: output, the supervisor's report, its life (closing it ends the command), and the box's listeners. */
struct rc child_start(const struct tool_use *use, struct child *child, struct err *err)
{
    int pipes[PIPES][2] = {{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
    bool net = use->box && use->net;
    *child = (struct child){.supervisor = -1};
    struct rc rc = open_pipes(pipes, net, err);
    struct child_ends ends = {pipes[OUT][1], pipes[REPORT][1], pipes[LIFE][0], pipes[NET][1]};
    if (rc_ok(rc))
        rc = use->link ? link_command(use, &ends, err) : child_spawn(use, &ends, &child->supervisor, err);
    close_descriptor(&pipes[OUT][1]);
    close_descriptor(&pipes[REPORT][1]);
    close_descriptor(&pipes[LIFE][0]);
    close_descriptor(&pipes[NET][1]);
    child->out = pipes[OUT][0];
    child->report = pipes[REPORT][0];
    child->life = pipes[LIFE][1];
    if (rc_bad(rc)) {
        close_descriptor(&child->out);
        close_descriptor(&child->report);
        close_descriptor(&child->life);
        close_descriptor(&pipes[NET][0]);
        return rc;
    }
    if (net)
        child->egress = egress_start(&(struct egress_options){
            .channel = pipes[NET][0], .host = use->net(use), .own_ports = use->own_ports,
            .listeners = 1 + count_ports(use->opened)});
    (void)fcntl(child->out, F_SETFL, O_NONBLOCK);
    return RC_OK;
}

/* ---- until the end ---- */

/* Reads without blocking. At the end of the output the descriptor is closed, and poll no longer wakes for it. */
static void drain(struct child *child, void (*take)(void *arg, struct str text), void *arg)
{
    char bytes[16 << 10];
    while (child->out >= 0) {
        ssize_t got = read(child->out, bytes, sizeof bytes);
        if (got > 0)
            take(arg, (struct str){bytes, (size_t)got});
        else if (got < 0 && errno == EINTR)
            continue;
        else if (got < 0 && errno == EAGAIN)
            return;
        else {
            close_descriptor(&child->out);
            child->out = -1;
        }
    }
}

/* A supervisor that was killed says nothing: then the shell was, too. */
static void read_report(struct child *child)
{
    struct supervisor_report report;
    ssize_t got = file_get(child->report, &report, sizeof report);
    if (got != sizeof report)
        child->status = SIGKILL;
    else if (report.word == SUPERVISOR_ENDED)
        child->status = report.value;
    else {
        child->failed = report.value;
        memcpy(child->step, report.step, sizeof child->step);
    }
}

/* True when the supervisor has reported the end. Output that came with it was taken before. */
bool child_wait(struct child *child, int ms, void (*take)(void *arg, struct str text), void *arg)
{
    struct pollfd polls[] = {{.fd = child->report, .events = POLLIN}, {.fd = child->out, .events = POLLIN}};
    (void)poll(polls, 2, ms);
    drain(child, take, arg);
    if (!polls[0].revents)
        return false;
    read_report(child);
    return true;
}

/* Waits until the supervisor has ended. One that the executor process started is not our child: it has ended when the
 * other end of its report pipe is closed. Because another user runs it, that wait has a limit. */
static void wait_for_supervisor(const struct child *child)
{
    char rest[sizeof(struct supervisor_report)];
    struct pollfd polls = {.fd = child->report, .events = POLLIN};
    (void)process_wait(child->supervisor);
    for (int i = 0; child->supervisor < 0 && i < ENDS_ROUNDS && poll(&polls, 1, ENDS_ROUND_MS) >= 0; i++)
        if (polls.revents && read(child->report, rest, sizeof rest) <= 0)
            return;
}

/* Closing `life` makes the supervisor kill everything the command has started. Safe to call when it has ended by
 * itself. */
void child_end(struct child *child, void (*take)(void *arg, struct str text), void *arg)
{
    close_descriptor(&child->life);
    wait_for_supervisor(child);
    drain(child, take, arg);
    egress_end(child->egress);
    close_descriptor(&child->out);
    close_descriptor(&child->report);
    *child = (struct child){.supervisor = -1, .out = -1, .report = -1, .life = -1,
                            .status = child->status, .failed = child->failed};
}
