/* Where the server runs as its own user, tools are done by a process of the developer: `nod executor`.
 *
 * It connects to a socket of the server. The kernel says to each side whose process is at the other: the server takes
 * only the user that its configuration names, the executor only the owner of the folder in which the socket lies, which
 * nobody else may write to. It does what it is asked to and judges nothing: judging is the server's. */
#include "serve/executors.h"

#include "base/log.h"
#include "cli/box_choice.h"
#include "io/file.h"
#include "io/loop.h"
#include "io/system.h"

#include <errno.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { WAITING_MAX = 4, AWAY_S = 1 };

static struct rc address_of(const char *path, struct sockaddr_un *ret_address, struct err *err)
{
    *ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (!path[0] || strlen(path) >= sizeof ret_address->sun_path)
        return err_set(err, ERR_INVALID, "`executor-socket` must be a path of at most %zu bytes",
                       sizeof ret_address->sun_path - 1);
    memcpy(ret_address->sun_path, path, strlen(path));
    return RC_OK;
}

/* The kernel's word, taken when the connection was made; a process cannot choose it. */
static bool peer_of(int fd, uid_t *ret_uid)
{
    struct ucred peer;
    socklen_t n = sizeof peer;
    bool known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0;
    *ret_uid = known ? peer.uid : (uid_t)-1;
    return known;
}

/* ---- the server's side ---- */

enum executor_news { SAID_CONNECTED, SAID_SECOND, SAID_STRANGER, SAID_KINDS };

/* The socket for executors and the link to the one that is connected. */
struct executors {
    struct tool_link *link;
    struct waker *waker;
    pthread_t thread;
    int listener;
    uid_t uid;
    atomic_bool ends;
    atomic_uint said[SAID_KINDS]; /* how often each has happened since the loop last wrote it to the log */
};

/* On the loop. */
static void log_said(void *arg)
{
    static const struct {
        enum log_level level;
        const char *words;
    } lines[] = {
        [SAID_CONNECTED] = {LOG_INFO, "an executor has connected"},
        [SAID_SECOND] = {LOG_WARN, "a second process wanted to be the executor; it was refused"},
        [SAID_STRANGER] = {LOG_WARN, "a process of another user wanted to be the executor; it was refused"},
    };
    struct executors *executors = arg;
    for (int i = 0; i < SAID_KINDS; i++) {
        unsigned times = atomic_exchange(&executors->said[i], 0);
        if (times)
            log_line(lines[i].level, lines[i].words, LOG_I("times", times));
    }
}

/* On the accepting thread. When it returns SAID_CONNECTED, the link owns the descriptor; otherwise the caller closes
 * it. */
static enum executor_news take(struct executors *executors, int fd)
{
    uid_t uid;
    if (!peer_of(fd, &uid) || uid != executors->uid)
        return SAID_STRANGER;
    return tool_link_take(executors->link, fd) ? SAID_CONNECTED : SAID_SECOND;
}

/* A thread of its own, because accept blocks. It counts, and the loop logs: a process that tries without end makes one
 * line per turn of the loop and does not fill the log. */
static void *accept_all(void *arg)
{
    struct executors *executors = arg;
    while (!atomic_load(&executors->ends)) {
        int fd = accept4(executors->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0) {
            if (errno != EINTR && errno != ECONNABORTED && !atomic_load(&executors->ends))
                (void)sleep(AWAY_S); /* out of descriptors */
            continue;
        }
        enum executor_news said = take(executors, fd);
        if (said != SAID_CONNECTED)
            (void)close(fd);
        atomic_fetch_add(&executors->said[said], 1);
        waker_wake(executors->waker);
    }
    return NULL;
}

/* Every user may connect (0666): the check is peer_of's, because the server runs as another user than its executor.
 * Messages keep their bounds (SEQPACKET). */
static struct rc listen_at(const char *path, int *ret_fd, struct err *err)
{
    struct sockaddr_un address;
    TRY(address_of(path, &address, err));
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    (void)unlink(path);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof address) != 0 || chmod(path, 0666) != 0 ||
        listen(fd, WAITING_MAX) != 0) {
        struct rc rc = err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
        if (fd >= 0)
            (void)close(fd);
        return rc;
    }
    *ret_fd = fd;
    return RC_OK;
}

const char *executors_home(struct cli *cli)
{
    const struct passwd *who = cli->settings.executor[0] ? getpwnam(cli->settings.executor) : NULL;
    return who ? arena_c(&cli->arena, str_of(who->pw_dir)) : NULL;
}

struct tool_link *executors_link(const struct executors *executors) { return executors ? executors->link : NULL; }

struct rc executors_open(struct cli *cli, struct loop *loop, struct executors **ret_executors, struct err *err)
{
    const char *user = cli->settings.executor;
    const struct passwd *who = user[0] ? getpwnam(user) : NULL;
    int listener = -1;
    if (!user[0])
        return RC_OK;
    if (!who)
        return err_set(err, ERR_INVALID, "`executor`: there is no user %s", user);
    TRY(listen_at(cli->settings.executor_socket, &listener, err));
    struct executors *executors = heap_new(sizeof *executors);
    *executors = (struct executors){.link = tool_link_new(user), .listener = listener, .uid = who->pw_uid};
    executors->waker = waker_new(loop, log_said, executors);
    CHECK(pthread_create(&executors->thread, NULL, accept_all, executors) == 0);
    log_line(LOG_INFO, "tools of runs are done by the executor of another user", LOG_C("user", user));
    *ret_executors = executors;
    return RC_OK;
}

void executors_close(struct executors *executors)
{
    if (!executors)
        return;
    atomic_store(&executors->ends, true);
    (void)shutdown(executors->listener, SHUT_RDWR); /* ends a waiting accept */
    CHECK(pthread_join(executors->thread, NULL) == 0);
    (void)close(executors->listener);
    waker_free(executors->waker);
    tool_link_free(executors->link);
    free(executors);
}

/* ---- the executor's side ---- */

/* Whose server it must be: the owner of the socket's folder, if only that one can put a socket there. */
static struct rc server_of(struct cli *cli, const char *path, uid_t *ret_uid, struct err *err)
{
    struct str folder = str_of(path);
    struct stat st;
    while (folder.n > 1 && folder.p[folder.n - 1] != '/')
        folder.n--;
    const char *name = arena_printf(&cli->arena, "%.*s.", STR_ARG(folder)).p;
    if (stat(name, &st) != 0)
        return err_set(err, ERR_UNAVAILABLE, "%.*s: %s", STR_ARG(folder), strerror(errno));
    if (st.st_mode & (S_IWGRP | S_IWOTH))
        return err_set(err, ERR_FORBIDDEN, "%.*s can be written to by others than its owner: a socket there may be "
                                           "anybody's", STR_ARG(folder));
    *ret_uid = st.st_uid;
    return RC_OK;
}

/* The executor's side: it talks only to the user who owns the folder of the socket. */
static struct rc connect_to(struct cli *cli, const char *path, int *ret_fd, struct err *err)
{
    struct sockaddr_un address;
    uid_t owner = (uid_t)-1, uid = 0;
    TRY(address_of(path, &address, err));
    TRY(server_of(cli, path, &owner, err));
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    struct rc rc = RC_OK;
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof address) != 0)
        rc = err_set(err, ERR_UNAVAILABLE, "%s: %s", path, strerror(errno));
    else if (!peer_of(fd, &uid) || uid != owner)
        rc = err_set(err, ERR_FORBIDDEN, "the process behind %s does not run as the owner of that folder", path);
    if (rc_bad(rc) && fd >= 0)
        (void)close(fd);
    else
        *ret_fd = fd;
    return rc;
}

/* Runs until it is stopped, and connects again when the server comes back. */
struct rc executor_command(struct cli *cli, struct err *err)
{
    const char *path = cli->settings.executor_socket;
    char why[BOX_STEP_BYTES * 2] = "";
    const struct passwd *who = getpwuid(geteuid());
    struct box_setting *box = box_setting_of(cli);
    bool told = false;
    if (geteuid() == 0)
        return err_set(err, ERR_FORBIDDEN, "an executor runs commands as the user who starts it: not as root");
    if (!who)
        return err_set(err, ERR_NOT_FOUND, "this user has no entry in the user database");
    (void)umask(S_IWGRP | S_IWOTH);
    (void)signal(SIGPIPE, SIG_IGN);
    system_hide_memory(); /* other processes of this user must not turn it into something else */
    box->data = arena_printf(&cli->arena, EXECUTOR_FOLDER, who->pw_dir).p;
    TRY(file_own_folder(box->data, err));
    box->order = box_probe(box, why, sizeof why);
    cli_note("%s%s%s", box_order_text(box->order), why[0] ? ": " : "", why);
    for (;;) {
        int fd = -1;
        struct rc rc = connect_to(cli, path, &fd, err);
        if (rc.code == ERR_FORBIDDEN || rc.code == ERR_INVALID)
            return rc;
        if (rc_ok(rc)) {
            cli_note("connected to the server at %s", path);
            tool_link_serve(fd, box);
            (void)close(fd);
        } else if (!told)
            cli_note("%s; trying again until the server is there", err->text);
        told = rc_bad(rc);
        (void)sleep(AWAY_S);
    }
}
