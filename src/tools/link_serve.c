/* The executor's side of link.h: each use is done by a process of its own, forked from one that has a single thread. */
#include "tools/link.h"

#include "tools/frame.h"

#include "box/supervisor.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

/* Asks the server whether searches leave a path out. No answer: they do. */
static bool hides(const struct tool_use *use, struct str path)
{
    const int *fd = use->asker;
    struct frame frame;
    return !frame_send(*fd, FRAME_QUESTION, path) || !frame_read(*fd, use->arena, &frame) || frame.letter != 'n';
}

/* ---- the request ---- */

static void read_paths(struct arena *arena, const struct json *list, const char *paths[BOX_PATHS_MAX + 1])
{
    size_t count = 0;
    for (const struct json *one = list ? list->first : NULL; one && count < BOX_PATHS_MAX; one = one->next)
        paths[count++] = arena_c(arena, one->text);
}

/* Numbers and paths come from the server, which this process obeys; they are checked for their limits all the same.
 */
static const struct box_opened *read_opened(struct arena *arena, const struct json *json)
{
    struct box_opened *opened = arena_new(arena, struct box_opened);
    size_t count = 0;
    opened->git_open = json_bool(json, "git", false);
    read_paths(arena, json_get(json, "read"), opened->read);
    read_paths(arena, json_get(json, "write"), opened->write);
    for (const struct json *one = json_first(json, "ports"); one && count < BOX_PORTS_MAX; one = one->next) {
        int64_t port;
        if (json_i64(one, &port) && port > 0 && port <= UINT16_MAX)
            opened->ports[count++] = (uint16_t)port;
    }
    return opened;
}

/* The pipes are the server's: output goes to it without passing through this process. The supervisor is not waited
 * for, because its report goes to the server, too. */
static struct rc run_command(const struct tool_use *use, const int *fds, int count, struct err *err)
{
    struct child_ends ends = {.net = -1};
    int *const into[] = {&ends.out, &ends.report, &ends.life, &ends.net};
    pid_t supervisor;
    if (count < 4)
        return err_set(err, ERR_INVALID, "the command came without its pipes");
    for (int i = 1; i < count; i++) /* above the numbers that the supervisor uses */
        *into[i - 1] = fcntl(fds[i], F_DUPFD_CLOEXEC, SUPERVISOR_DESCRIPTORS);
    return child_spawn(use, &ends, &supervisor, err);
}

static void put_look(struct json_out *out, const struct tool_use *use)
{
    struct tool_look look = tool_look(use);
    json_members(out, J_RAW("preview", look.preview), J("files", look.files));
}

static void put_done(struct json_out *out, const struct tool_use *use, struct str files)
{
    struct tool_result result = tool_do(use, files);
    json_members(out, J("text", result.text), J_BOOL("isError", result.is_error));
}

/* In a process of its own for each request (tool_link_serve), so that its memory is given back by its end. */
static void answer(int fd, const struct box_setting *box, const int *fds, int count)
{
    ARENA_SCOPE(arena);
    JSON_SCOPE(buf, out, FRAME_BYTES_MAX);
    struct frame frame;
    const struct json *request;
    struct str text = STR_NONE;
    struct err err = {0};
    if (!frame_read(fd, &arena, &frame) || rc_bad(json_parse(&arena, frame.text, &request, NULL)))
        return;
    struct str what = json_text(request, "what");
    const struct json *opened = json_get(request, "opened");
    struct tool_use use = {.arena = &arena, .name = json_text(request, "name"), .input = json_get(request, "input"),
                           .root = json_text(request, "root"), .box = json_bool(request, "box", true) ? box : NULL,
                           .opened = opened ? read_opened(&arena, opened) : NULL,
                           .hides = json_bool(request, "hides", true) ? hides : NULL, .asker = &fd};
    struct rc rc = use.input && use.input->type == JSON_OBJECT ? RC_OK : err_set(&err, ERR_INVALID, "no input");
    json_open(&out, '{');
    if (rc_ok(rc) && str_is(what, "look"))
        put_look(&out, &use);
    else if (rc_ok(rc) && str_is(what, "do"))
        put_done(&out, &use, json_text(request, "files"));
    else if (rc_ok(rc) && str_is(what, "file"))
        rc = tool_named_file(&use, &text, &err);
    else if (rc_ok(rc))
        rc = run_command(&use, fds, count, &err);
    json_members(&out, J("text", text), J_IF(rc_bad(rc), J("error", err.text)));
    json_close(&out, '}');
    (void)frame_send(fd, 'r', buf.over ? STR("{\"error\":\"the result is too large\"}") : buf_str(&buf));
}

/* Forks for each request, so that one that hangs or crashes concerns no other. */
void tool_link_serve(int fd, const struct box_setting *box)
{
    char letter;
    int fds[FRAME_DESCRIPTORS_MAX], count;
    (void)signal(SIGCHLD, SIG_IGN); /* nobody waits for them */
    while ((count = frame_read_descriptors(fd, &letter, fds)) >= 0) {
        if (count > 0 && fork() == 0) {
            (void)signal(SIGCHLD, SIG_DFL);
            (void)close(fd);
            answer(fds[0], box, fds, count);
            _exit(0);
        }
        for (int i = 0; i < count; i++)
            (void)close(fds[i]);
    }
}
