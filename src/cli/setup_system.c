/* nod setup system: Nod under a user of its own, for a machine on which agents run as other users.
 *
 *   people's socket   RUN/people.sock   users of the group: see and decide, with a token
 *   agents' socket    RUN/agents.sock   everyone, with a token of an agent: ask
 *   executor's socket RUN/executor.sock the first developer's executor, which does what the tools of runs do
 *
 * Every step says what it does, and leaves a line in the record once it is done, so that --remove takes out exactly
 * that. Files in a home are written as the user whose home it is: root follows no link that a user has put there. */
#include "base/limits.h"
#include "cli/box_choice.h"
#include "cli/local.h"
#include "cli/remote.h"
#include "cli/setup.h"
#include "cli/text.h"
#include "http/http.h"
#include "io/file.h"
#include "io/process.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The packages' systemd unit, embedded in the binary. */
__asm__(".section .rodata\n"
        ".global nod_unit\n"
        "nod_unit:\n"
        ".incbin \"" NOD_SOURCE_DIR "/packaging/nod.service\"\n"
        ".global nod_unit_end\n"
        "nod_unit_end:\n"
        ".byte 0\n"
        ".previous\n");
extern const char nod_unit[], nod_unit_end[];

enum { TRIES = 150, TRY_US = 100000, LOCK_EXITS = 1, UPDATE_EXITS = 10, RECORD_BYTES_MAX = 1 << 16, LINES_MAX = 1024 };

/* Names and paths of a system-wide installation. */
struct system {
    struct cli *cli;
    const char *user, *group;
    const char *root; /* put before every path: "" but for tests and images */
    const char *data, *run, *folder, *config, *unit, *record;
    const char *executor, *executor_unit; /* the user whose executor does tools, NULL: none; its unit */
    bool dry, systemd;
};

/* ---- saying, keeping, running ---- */

/* Says a step and whether it is to be taken: every change goes through here, so that --dry-run can forget none. */
__attribute__((format(printf, 2, 3))) static bool does(const struct system *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)printf("  ");
    (void)vprintf(format, args);
    (void)printf("\n");
    (void)fflush(stdout);
    va_end(args);
    return !s->dry;
}

/* One line of the record: what was done, and to what. */
static struct rc keep(const struct system *s, const char *what, const char *about, struct err *err)
{
    FILE *file = fopen(s->record, "ae");
    if (!file)
        return err_set(err, ERR_IO, "%s: %s", s->record, strerror(errno));
    bool written = fprintf(file, "%s %s\n", what, about) > 0;
    return fclose(file) == 0 && written ? RC_OK : err_set(err, ERR_IO, "%s cannot be written", s->record);
}

/* Programs that change users wait for no lock: they are tried again. */
static struct rc run(const char *const argv[], struct err *err)
{
    int status = -1;
    for (int i = 0; i < TRIES; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            (void)execvp(argv[0], (char *const *)argv);
            _exit(127);
        }
        status = process_wait(pid);
        if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
            return RC_OK;
        if (pid > 0 && WEXITSTATUS(status) != LOCK_EXITS && WEXITSTATUS(status) != UPDATE_EXITS)
            break;
        (void)usleep(TRY_US);
    }
    return err_set(err, ERR_IO, "%s %s failed with status %d", argv[0], argv[1], WEXITSTATUS(status));
}

/* Folders above it are made readable for all; only the last has the mode and the owner that were asked for. */
static struct rc own_folder(const struct system *s, const char *path, mode_t mode, const char *owner, struct err *err)
{
    const struct passwd *who = owner ? getpwnam(owner) : NULL;
    TRY(local_folders_above(s->cli, path, 0755, err));
    if ((mkdir(path, mode) != 0 && errno != EEXIST) || chmod(path, mode) != 0 ||
        (who && chown(path, who->pw_uid, who->pw_gid) != 0))
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    return RC_OK;
}

/* ---- as another user ---- */

static bool become(const struct passwd *who)
{
    return initgroups(who->pw_name, who->pw_gid) == 0 && setresgid(who->pw_gid, who->pw_gid, who->pw_gid) == 0 &&
           setresuid(who->pw_uid, who->pw_uid, who->pw_uid) == 0;
}

/* Writes ~/.config/nod/NAME, or removes it where `text` is NULL; one that is there already stays. */
static struct rc home_file(struct system *s, const char *user, const char *name, const struct str *text,
                           const char **ret_path, struct err *err)
{
    const struct passwd *who = getpwnam(user);
    if (!who)
        return err_set(err, ERR_NOT_FOUND, "there is no user %s", user);
    struct arena *arena = &s->cli->arena;
    const char *folder = arena_printf(arena, "%s/.config/nod", who->pw_dir).p;
    const char *path = arena_printf(arena, "%s/%s", folder, name).p;
    *ret_path = path;
    pid_t pid = fork();
    if (pid == 0) {
        (void)umask(077);
        bool done = become(who) && (text ? rc_ok(file_own_folder(folder, NULL)) &&
                                               (access(path, F_OK) == 0 || rc_ok(file_write_private(path, *text, NULL)))
                                         : unlink(path) == 0 || errno == ENOENT);
        _exit(done ? 0 : 1);
    }
    return process_wait(pid) == 0 ? RC_OK : err_set(err, ERR_IO, "%s cannot be changed as %s", path, user);
}

/* ---- users ---- */

static struct rc have_group(struct system *s, struct err *err)
{
    const char *argv[] = {"groupadd", "--system", s->group, NULL};
    if (getgrnam(s->group) || !does(s, "make the group %s: who is in it may connect to people's socket", s->group))
        return RC_OK;
    TRY(run(argv, err));
    return keep(s, "group", s->group, err);
}

/* A user without a login and without a home, so that nobody becomes the server by logging in. */
static struct rc have_user(struct system *s, struct err *err)
{
    const char *argv[] = {"useradd", "--system", "--user-group", "--no-create-home", "--home-dir", s->data,
                          "--shell", "/usr/sbin/nologin", s->user, NULL};
    if (getpwnam(s->user) || !does(s, "make the user %s, under whom the server runs", s->user))
        return RC_OK;
    TRY(run(argv, err));
    return keep(s, "user", s->user, err);
}

static bool is_member(const struct system *s, const char *user)
{
    const struct group *group = getgrnam(s->group);
    return ANY(char **member = group ? group->gr_mem : NULL; member && *member; member++, strcmp(*member, user) == 0);
}

static struct rc have_member(struct system *s, const char *user, struct err *err)
{
    const char *argv[] = {"usermod", "--append", "--groups", s->group, user, NULL};
    if (is_member(s, user) || !does(s, "put %s into the group %s", user, s->group))
        return RC_OK;
    TRY(run(argv, err));
    return keep(s, "member", user, err);
}

/* ---- the server ---- */

/* Folders and configuration of the server; a configuration that is there stays. */
static struct rc have_files(struct system *s, struct err *err)
{
    struct arena *arena = &s->cli->arena;
    struct str config = arena_printf(arena, "data = %s\nlisten = %s\nsocket = %s/people.sock\nsocket-group = %s\n"
                                            "agents-socket = %s/agents.sock\n",
                                     s->data, s->cli->settings.listen, s->run, s->group, s->run);
    if (s->executor)
        config = arena_printf(arena, "%.*sexecutor = %s\nexecutor-socket = %s/executor.sock\n", STR_ARG(config),
                              s->executor, s->run);
    if (does(s, "see that the folders %s (0700) and %s exist and belong to %s", s->data, s->run, s->user)) {
        TRY(own_folder(s, s->data, 0700, s->user, err));
        TRY(own_folder(s, s->run, 0755, s->user, err));
    }
    if (access(s->config, F_OK) == 0 || !does(s, "write %s", s->config))
        return RC_OK;
    TRY(file_write_private(s->config, config, err));
    if (chmod(s->config, 0644) != 0)
        return err_set(err, ERR_IO, "%s: %s", s->config, strerror(errno));
    return keep(s, "file", s->config, err);
}

/* The unit's text for this program, user and configuration. */
static struct str unit_text(struct system *s, const char *self)
{
    struct arena *arena = &s->cli->arena;
    struct str rest = {nod_unit, (size_t)(nod_unit_end - nod_unit)}, text = STR("");
    while (rest.n) {
        struct str line = str_cut(rest, '\n', &rest);
        if (str_starts(line, STR("ExecStart=")))
            line = arena_printf(arena, "ExecStart=%s serve --config %s", self, s->config);
        else if (str_starts(line, STR("User=")))
            line = arena_printf(arena, "User=%s", s->user);
        else if (str_starts(line, STR("Group=")))
            line = arena_printf(arena, "Group=%s\nSupplementaryGroups=%s", s->user, s->group);
        else if (s->executor && str_starts(line, STR("PrivateUsers="))) /* the executor is known by its uid */
            line = STR("PrivateUsers=no");
        text = arena_printf(arena, "%.*s%.*s\n", STR_ARG(text), STR_ARG(line));
    }
    return text;
}

static struct rc write_unit(const struct system *s, const char *path, struct str text, struct err *err)
{
    TRY(file_write_private(path, text, err));
    if (chmod(path, 0644) != 0)
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    return keep(s, "unit", path, err);
}

/* The unit's name, from its path. */
static const char *unit_name(const char *path) { return strrchr(path, '/') + 1; }

/* Recorded before it is started: a start that fails can still be removed. */
static struct rc start_unit(struct system *s, const char *path, struct str text, struct err *err)
{
    const char *reload[] = {"systemctl", "daemon-reload", NULL};
    const char *enable[] = {"systemctl", "enable", "--now", unit_name(path), NULL};
    if (!does(s, "write %s and start it with systemd, now and whenever the machine starts", path))
        return RC_OK;
    TRY(write_unit(s, path, text, err));
    TRY(run(reload, err));
    return run(enable, err);
}

/* In a forked process: becomes `nod COMMAND --config …` as that user, with nothing of ours but the log. */
static _Noreturn void become_service(const struct system *s, const char *self, const char *user, const char *home,
                                     const char *command)
{
    const struct passwd *who = getpwnam(user);
    const char *folder = str_eq(str_of(user), str_of(s->user)) ? s->data
                                                               : arena_printf(&s->cli->arena, EXECUTOR_FOLDER, home).p;
    const char *log = arena_printf(&s->cli->arena, "%s/%s.log", folder, command).p;
    (void)umask(077);
    (void)setsid();
    if (!who || !become(who) || chdir("/") != 0 || clearenv() != 0 || setenv("HOME", home, 1) != 0 ||
        setenv("PATH", "/usr/local/bin:/usr/bin:/bin", 1) != 0 || rc_bad(file_own_folder(folder, NULL)))
        _exit(126);
    int in = open("/dev/null", O_RDONLY | O_CLOEXEC), out = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (in >= 0 && out >= 0 && dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
        dup2(out, STDERR_FILENO) >= 0)
        (void)execl(self, self, command, "--config", s->config, (char *)NULL);
    _exit(127);
}

/* Starts the server without systemd. The process is not a child to be waited for: it outlives this command. */
static struct rc start_process(const struct system *s, const char *self, const char *user, const char *home,
                               const char *command, struct err *err)
{
    pid_t pid = fork();
    if (pid < 0)
        return err_set(err, ERR_IO, "no process: %s", strerror(errno));
    if (pid == 0)
        become_service(s, self, user, home, command);
    return keep(s, "process", arena_printf(&s->cli->arena, "%d %s", (int)pid, command).p, err);
}

/* A server that is ready already is left alone. The dry run waits for nothing. */
static struct rc start_server(struct system *s, struct err *err)
{
    const char *self;
    struct reply reply;
    TRY(local_self(s->cli, &self, err));
    if (rc_ok(remote_get(s->cli, STR("/readyz"), &reply, NULL)))
        return RC_OK;
    remote_close(s->cli);
    if (s->systemd) {
        TRY(start_unit(s, s->unit, unit_text(s, self), err));
    } else if (does(s, "start the server as %s, until the machine stops; its log: %s/serve.log", s->user, s->data)) {
        TRY(start_process(s, self, s->user, s->data, "serve", err));
    }
    for (int i = 0; i < TRIES && !s->dry; i++) {
        if (rc_ok(remote_get(s->cli, STR("/readyz"), &reply, err)))
            return RC_OK;
        remote_close(s->cli);
        (void)usleep(TRY_US);
    }
    return s->dry ? RC_OK : err_set(err, ERR_UNAVAILABLE, "the server did not become ready: see its log");
}

/* ---- the executor ---- */

static bool is_ours(const struct system *s, pid_t pid);

/* Whether the record has one that still runs. */
static bool executor_runs(const struct system *s)
{
    ARENA_SCOPE(arena);
    struct str text, rest;
    uint64_t pid;
    if (rc_bad(file_read(&arena, s->record, RECORD_BYTES_MAX, &text, NULL)))
        return false;
    while (text.n) {
        struct str line = str_cut(text, '\n', &text), what = str_cut(line, ' ', &rest);
        struct str number = str_cut(rest, ' ', &rest);
        if (str_is(what, "process") && str_is(rest, "executor") && str_to_u64(number, &pid) && is_ours(s, (pid_t)pid))
            return true;
    }
    return false;
}

/* Restart=always: without it no tool of a run could be done, and the server cannot start it as another user. */
static struct rc start_executor(struct system *s, struct err *err)
{
    const char *self;
    const struct passwd *who = s->executor ? getpwnam(s->executor) : NULL;
    if (!s->executor || (s->systemd ? access(s->executor_unit, F_OK) == 0 : executor_runs(s)))
        return RC_OK;
    if (!who)
        return err_set(err, ERR_NOT_FOUND, "there is no user %s", s->executor);
    TRY(local_self(s->cli, &self, err));
    struct str text = arena_printf(&s->cli->arena,
                                   "[Unit]\nDescription=Nod: does what the tools of runs do, as %s\n"
                                   "After=nod.service\n\n[Service]\nUser=%s\nExecStart=%s executor --config %s\n"
                                   "Restart=always\nRestartSec=1\nNoNewPrivileges=yes\n\n"
                                   "[Install]\nWantedBy=multi-user.target\n",
                                   s->executor, s->executor, self, s->config);
    if (s->systemd)
        return start_unit(s, s->executor_unit, text, err);
    return does(s, "start the executor as %s: tools of runs are done by it, and not by the server", s->executor)
               ? start_process(s, self, s->executor, who->pw_dir, "executor", err)
               : RC_OK;
}

/* ---- tokens ---- */

/* The id is recorded, so that removal revokes exactly the tokens that setup has made. */
static struct rc make_token(struct system *s, const char *role, const char *name, struct reply *ret_reply,
                            struct err *err)
{
    struct str body = json_object_str(&s->cli->arena, J("role", role), J("name", name));
    TRY(remote_post(s->cli, STR("/api/tokens"), body, ret_reply, err));
    return keep(s, "token", arena_c(&s->cli->arena, json_text(ret_reply->json, "id")), err);
}

static struct rc keep_home_file(struct system *s, const char *user, const char *name, struct str text, struct err *err)
{
    const char *path;
    TRY(keep(s, "home", arena_printf(&s->cli->arena, "%s %s", user, name).p, err));
    TRY(home_file(s, user, name, &text, &path, err));
    return RC_OK;
}

static bool has_home_file(const struct system *s, const char *user, const char *name)
{
    const struct passwd *who = getpwnam(user);
    return who && access(arena_printf(&s->cli->arena, "%s/.config/nod/%s", who->pw_dir, name).p, F_OK) == 0;
}

/* The identity pins the server's key and user: agents of this developer talk to no other server. */
static struct rc have_developer(struct system *s, const char *user, struct err *err)
{
    JSON_SCOPE(buf, out, LIMIT_BODY_BYTES);
    struct reply reply;
    uint32_t uid;
    if (has_home_file(s, user, "agent.json") ||
        !does(s, "give %s's agents an identity: ~%s/.config/nod/agent.json (nod hook --identity …)", user, user))
        return RC_OK;
    TRY(make_token(s, "agent", arena_printf(&s->cli->arena, "agents of %s", user).p, &reply, err));
    json_object(&out, J("address", arena_printf(&s->cli->arena, "unix:%s/agents.sock", s->run)),
                J_IF(http_client_peer(s->cli->client, &uid), J("serverUid", uid)),
                J("serverKey", json_text(reply.json, "serverKey")), J("token", json_text(reply.json, "token")),
                J("tokenId", json_text(reply.json, "id")), J("name", json_text(reply.json, "name")));
    return keep_home_file(s, user, "agent.json", buf_str(&buf), err);
}

/* Written into the person's own home with their own rights (home_file), never over a file that is there. */
static struct rc have_person(struct system *s, const char *user, struct err *err)
{
    struct arena *arena = &s->cli->arena;
    const struct passwd *who = getpwnam(user);
    struct reply reply;
    if (!who)
        return err_set(err, ERR_NOT_FOUND, "there is no user %s", user);
    TRY(have_member(s, user, err));
    if (has_home_file(s, user, "token") ||
        !does(s, "give %s a token that may answer (~%s/.config/nod/token), and a configuration with it", user, user))
        return RC_OK;
    TRY(make_token(s, "approver", user, &reply, err));
    TRY(keep_home_file(s, user, "token", arena_printf(arena, "%.*s\n", STR_ARG(json_text(reply.json, "token"))), err));
    return has_home_file(s, user, "config")
               ? RC_OK
               : keep_home_file(s, user, "config",
                                arena_printf(arena, "url = unix:%s/people.sock\ntoken-file = %s/.config/nod/token\n",
                                             s->run, who->pw_dir), err);
}

/* ---- undoing ---- */

/* Whether this process is the server or the executor: the recorded pid may belong to another process by now. */
static bool is_ours(const struct system *s, pid_t pid)
{
    char path[64], line[LIMIT_PATH_BYTES * 2];
    (void)snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    int fd = pid > 1 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t n = fd >= 0 ? read(fd, line, sizeof line) : 0;
    if (fd >= 0)
        (void)close(fd);
    return n > 0 && str_has((struct str){line, (size_t)n}, str_of(s->config));
}

static void stop_process(struct system *s, struct str about)
{
    uint64_t pid = 0;
    struct str command, number = str_cut(about, ' ', &command);
    if (!str_to_u64(number, &pid) || !is_ours(s, (pid_t)pid) ||
        !does(s, "stop %s (process %u)", str_is(command, "executor") ? "the executor" : "the server", (unsigned)pid))
        return;
    (void)kill((pid_t)pid, SIGTERM);
    /* Waits until the process is gone, not even a zombie: userdel refuses a user who has a process. */
    for (int i = 0; i < TRIES && kill((pid_t)pid, 0) == 0; i++)
        (void)usleep(TRY_US);
}

/* May be called again after a removal that failed: files that are gone already are no error. */
static struct rc undo_line(struct system *s, struct str what, struct str about, struct err *err)
{
    struct arena *arena = &s->cli->arena;
    const char *name = arena_c(arena, about), *path;
    struct str file, user = str_cut(about, ' ', &file);
    if (str_is(what, "process"))
        stop_process(s, about);
    else if (str_is(what, "home") && does(s, "remove ~%.*s/.config/nod/%.*s", STR_ARG(user), STR_ARG(file)))
        return home_file(s, arena_c(arena, user), arena_c(arena, file), NULL, &path, err);
    else if (str_is(what, "member") && is_member(s, name) && does(s, "take %s out of the group %s", name, s->group))
        return run((const char *const[]){"gpasswd", "--delete", name, s->group, NULL}, err);
    else if (str_is(what, "user") && getpwnam(name) && does(s, "remove the user %s", name))
        return run((const char *const[]){"userdel", name, NULL}, err);
    else if (str_is(what, "group") && getgrnam(name) && does(s, "remove the group %s", name))
        return run((const char *const[]){"groupdel", name, NULL}, err);
    else if (str_is(what, "unit") && does(s, "stop it and remove %s", name)) {
        TRY(run((const char *const[]){"systemctl", "disable", "--now", unit_name(name), NULL}, err));
        (void)unlink(name);
    } else if (str_is(what, "file") && does(s, "remove %s", name))
        (void)unlink(name);
    return RC_OK;
}

/* Best effort: when the server is gone already, its tokens are of no use either. */
static void revoke_token(struct system *s, struct str id)
{
    struct query query = {.method = "DELETE"};
    struct reply reply;
    query.target = arena_printf(&s->cli->arena, "/api/tokens/%.*s", STR_ARG(remote_escape(&s->cli->arena, id)));
    if (does(s, "revoke the token %.*s", STR_ARG(id)))
        (void)!remote_ask(s->cli, &s->cli->arena, &query, &reply, NULL).code;
}

/* Removes the tokens first, while the server runs; then everything else, in reverse order. */
static struct rc take_out(struct system *s, struct err *err)
{
    struct str text, lines[LINES_MAX], rest;
    size_t count = 0;
    struct rc rc = file_read(&s->cli->arena, s->record, RECORD_BYTES_MAX, &text, err);
    if (rc.code == ERR_NOT_FOUND) {
        cli_note("nod setup system has put nothing in");
        return RC_OK;
    }
    TRY(rc);
    while (text.n && count < LINES_MAX) {
        struct str line = str_cut(text, '\n', &text), what = str_cut(line, ' ', &rest);
        if (str_is(what, "token"))
            revoke_token(s, rest);
        else if (line.n)
            lines[count++] = line;
    }
    remote_close(s->cli);
    while (count-- > 0) {
        struct str what = str_cut(lines[count], ' ', &rest);
        TRY(undo_line(s, what, rest, err));
    }
    if (!s->dry)
        (void)unlink(s->record);
    cli_note("the events in %s stay", s->data);
    return RC_OK;
}

/* ---- the command ---- */

/* Every step looks first whether it is done already, so the command can be repeated. */
static struct rc put_in(struct system *s, struct err *err)
{
    size_t at = 0;
    if (!s->dry)
        TRY(own_folder(s, s->folder, 0755, NULL, err));
    TRY(have_group(s, err));
    TRY(have_user(s, err));
    TRY(have_member(s, s->user, err));
    TRY(have_files(s, err));
    TRY(start_server(s, err));
    TRY(start_executor(s, err));
    for (const char *user; (user = option_each(s->cli, "developer", &at));)
        TRY(have_developer(s, user, err));
    at = 0;
    for (const char *user; (user = option_each(s->cli, "person", &at));)
        TRY(have_person(s, user, err));
    cli_note("an agent that runs as a person reads that person's token: make a key (nod key create), so that risky "
             "calls need a signature");
    return RC_OK;
}

static const char *option_or(struct cli *cli, const char *name, const char *otherwise)
{
    const char *given = option_text(cli, name);
    return given ? given : otherwise;
}

/* All paths are below --root, which is empty but in tests. */
struct rc setup_system_command(struct cli *cli, struct err *err)
{
    struct arena *arena = &cli->arena;
    size_t at = 0;
    struct system s = {.cli = cli, .user = option_or(cli, "user", "nod"),
                       .group = option_or(cli, "group", "nod-people"), .root = option_or(cli, "root", ""),
                       .dry = option_flag(cli, "dry-run")};
    s.systemd = !option_flag(cli, "background") && access("/run/systemd/system", F_OK) == 0;
    s.data = arena_printf(arena, "%s/var/lib/nod", s.root).p;
    s.run = arena_printf(arena, "%s/run/nod", s.root).p;
    s.folder = arena_printf(arena, "%s/etc/nod", s.root).p;
    s.config = arena_printf(arena, "%s/config", s.folder).p;
    s.record = arena_printf(arena, "%s/setup-system", s.folder).p;
    s.unit = arena_printf(arena, "%s/etc/systemd/system/nod.service", s.root).p;
    s.executor_unit = arena_printf(arena, "%s/etc/systemd/system/nod-executor.service", s.root).p;
    s.executor = option_each(cli, "developer", &at);
    cli->settings.url = arena_printf(arena, "unix:%s/people.sock", s.run).p;
    cli->settings.token_file = arena_printf(arena, "%s/admin.token", s.data).p;
    if (geteuid() != 0)
        return err_set(err, ERR_FORBIDDEN, "this makes users and a service of the machine: run it as root");
    if (!s.dry && !option_flag(cli, "yes"))
        return err_set(err, ERR_INVALID, "nothing was done: look with --dry-run, then add --yes");
    cli_out(s.dry ? STR("nod setup system would:\n") : STR("nod setup system:\n"));
    return option_flag(cli, "remove") ? take_out(&s, err) : put_in(&s, err);
}
