/* Files, folders and processes of this machine, for commands (local.h). */
#include "cli/local.h"

#include "base/buf.h"
#include "base/limits.h"
#include "cli/remote.h"
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The real path, without links: the server compares folders, and may see the same one by another name. */
struct rc local_folder(struct cli *cli, const char *path, const char **ret_absolute, struct err *err)
{
    CHECK(path);
    char *real = realpath(path, NULL);
    struct stat st;
    if (!real)
        return err_set(err, ERR_INVALID, "the folder '%s': %s", path, strerror(errno));
    *ret_absolute = arena_c(&cli->arena, str_of(real));
    free(real);
    if (stat(*ret_absolute, &st) != 0 || !S_ISDIR(st.st_mode))
        return err_set(err, ERR_INVALID, "'%s' is not a folder", path);
    return RC_OK;
}

struct rc local_folders_above(struct cli *cli, const char *path, mode_t mode, struct err *err)
{
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        const char *folder = arena_c(&cli->arena, str_sub(str_of(path), 0, (size_t)(slash - path)));
        if (mkdir(folder, mode) != 0 && errno != EEXIST)
            return err_set(err, ERR_IO, "%s: %s", folder, strerror(errno));
    }
    return RC_OK;
}

/* For settings of agents, which must name this very program whatever PATH says later. */
struct rc local_self(struct cli *cli, const char **ret_path, struct err *err)
{
    char self[LIMIT_PATH_BYTES];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0)
        return err_set(err, ERR_IO, "cannot find this program itself: %s", strerror(errno));
    *ret_path = arena_c(&cli->arena, (struct str){self, (size_t)n});
    return RC_OK;
}

struct str local_title(struct str path)
{
    struct str title = path;
    for (struct str rest = path; !str_empty(rest);) {
        struct str part = str_cut(rest, '/', &rest);
        if (!str_empty(part))
            title = part;
    }
    return title;
}

struct rc local_read_stdin(struct arena *arena, size_t bytes_max, struct str *ret_text, struct err *err)
{
    enum { PIECE = 16 << 10 };
    BUF_SCOPE(buf, bytes_max + PIECE);
    for (ssize_t n = 1; n != 0;) {
        n = read(STDIN_FILENO, buf_room(&buf, PIECE), PIECE);
        if (n < 0 && errno != EINTR)
            return err_set(err, ERR_IO, "standard input: %s", strerror(errno));
        buf.n += n > 0 ? (size_t)n : 0;
        if (buf.n > bytes_max)
            return err_set(err, ERR_TOO_LARGE, "standard input is larger than %zu bytes", bytes_max);
    }
    *ret_text = arena_str(arena, buf_str(&buf));
    return RC_OK;
}

struct rc local_input(struct cli *cli, const char *operand, const struct json **ret_input, struct err *err)
{
    struct str text = str_of(operand);
    const struct json *input;
    CHECK(operand);
    if (strcmp(operand, "-") == 0)
        TRY(local_read_stdin(&cli->arena, LIMIT_BODY_BYTES, &text, err));
    struct rc rc = json_parse(&cli->arena, text, &input, err);
    if (rc_bad(rc) || input->type != JSON_OBJECT)
        return err_set(err, ERR_INVALID,
                       "the input must be a JSON object, such as '{\"command\":\"make test\"}'%s%.200s",
                       rc_bad(rc) ? ": " : "",
                       rc_bad(rc) && err ? arena_printf(&cli->arena, "%s", err->text).p : "");
    *ret_input = input;
    return RC_OK;
}

/* Executes the server in this forked process, detached from the terminal, with its output in `log`. */
static _Noreturn void become_server(char **argv, const char *log)
{
    int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int out = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    (void)setsid();
    if (in >= 0 && out >= 0 && dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
        dup2(out, STDERR_FILENO) >= 0)
        (void)execv(argv[0], argv);
    _exit(127);
}

/* Starts a server in the background and waits until it answers. */
struct rc local_start_server(struct cli *cli, pid_t *ret_pid, struct err *err)
{
    enum { LOOKS = 100, LOOK_US = 100000 };
    const struct settings *settings = &cli->settings;
    const char *self, *log = arena_printf(&cli->arena, "%s/serve.log", settings->data).p;
    struct reply reply;
    bool named = settings->origins[SETTING_ID_config].kind != ORIGIN_DEFAULT;
    TRY(local_self(cli, &self, err));
    TRY(file_own_folder(settings->data, err));
    char *argv[] = {(char *)self, "serve", "--data", (char *)settings->data, "--socket", (char *)settings->socket,
                    named ? "--config" : NULL, (char *)settings->config, NULL};
    pid_t pid = fork();
    if (pid < 0)
        return err_set(err, ERR_IO, "no process: %s", strerror(errno));
    if (pid == 0) {
        (void)setenv("NOD_LISTEN", settings->listen, 1); /* other users could read flags */
        (void)setenv("NOD_STORE", settings->store, 1);
        become_server(argv, log);
    }
    remote_close(cli); /* the new server makes the token, which the old client did not have */
    for (int i = 0; i < LOOKS; i++) {
        if (rc_ok(remote_get(cli, STR("/healthz"), &reply, NULL))) {
            if (ret_pid)
                *ret_pid = pid;
            cli_note("a nod server runs now (process %d); its log is %s", (int)pid, log);
            return RC_OK;
        }
        remote_close(cli);
        (void)usleep(LOOK_US);
    }
    return err_set(err, ERR_UNAVAILABLE, "the server did not start; see %s", log);
}

extern char **environ;

/* The value of a header is a secret and comes from a variable; a value with a line's end is refused, as it would be
 * two headers. */
struct rc local_header(struct cli *cli, const char *text, const char **ret_header, struct err *err)
{
    struct str variable, name = str_cut(str_of(text), '=', &variable), word = STR_NONE;
    if (str_find(variable, ' ') < variable.n)
        word = str_cut(variable, ' ', &variable);
    for (char **one = cli->environment ? cli->environment : environ; one && *one; one++) {
        struct str value, key = str_cut(str_of(*one), '=', &value);
        if (!str_eq(key, variable) || str_empty(name))
            continue;
        *ret_header = arena_printf(&cli->arena, "%.*s: %.*s%s%.*s", STR_ARG(name), STR_ARG(word), word.n ? " " : "",
                                   STR_ARG(value)).p;
        if (!strpbrk(*ret_header, "\r\n"))
            return RC_OK;
    }
    return err_set(err, ERR_INVALID, "--header-env takes NAME=VARIABLE, and the variable must be set: '%s'", text);
}
