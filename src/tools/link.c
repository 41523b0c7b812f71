/* The server's side of link.h: asks the executor process of another user, which may be away, hang or lie. */
#include "tools/link.h"

#include "base/lock.h"
#include "tools/frame.h"

#include "io/clock.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum {
    WAIT_MS = 60000,
    LOOK_MS = 100,
    STUCK_S = 10,
    TEXT_BYTES_MAX = 8 * RESULT_BYTES_MAX, /* more than any tool gives */
};

/* The connection to the executor; -1 while none is there. Used by worker threads under the mutex. */
struct tool_link {
    pthread_mutex_t mutex;
    int fd;       /* -1: there is none */
    char user[64];
};

/* ---- the connection ---- */

struct tool_link *tool_link_new(const char *user)
{
    struct tool_link *link = heap_new(sizeof *link);
    *link = (struct tool_link){.mutex = PTHREAD_MUTEX_INITIALIZER, .fd = -1};
    (void)snprintf(link->user, sizeof link->user, "%s", user);
    return link;
}

void tool_link_free(struct tool_link *link)
{
    if (!link)
        return;
    close_descriptor(&link->fd);
    free(link);
}

/* Under the mutex. */
static bool is_there(const struct tool_link *link)
{
    struct pollfd gone = {.fd = link->fd};
    return link->fd >= 0 && poll(&gone, 1, 0) >= 0 && !(gone.revents & (POLLHUP | POLLERR));
}

/* On the thread that accepts. One executor at a time: a second one is refused while the first is connected. */
bool tool_link_take(struct tool_link *link, int fd)
{
    LOCK_SCOPE(&link->mutex);
    bool taken = !is_there(link);
    if (taken) {
        close_descriptor(&link->fd);
        link->fd = fd;
    }
    return taken;
}

static struct rc away(const struct tool_link *link, struct err *err)
{
    return err_set(err, ERR_UNAVAILABLE,
                   "the executor of %s is not connected, so nothing was done: start it (systemctl start nod-executor, "
                   "or `nod executor` as %s) and try again", link->user, link->user);
}

/* Sends the letter with the descriptors, if anybody is there. */
static struct rc hand_over(struct tool_link *link, char letter, const int *fds, size_t count, struct err *err)
{
    CHECK(pthread_mutex_lock(&link->mutex) == 0);
    bool sent = is_there(link) && frame_send_descriptors(link->fd, letter, fds, count);
    if (!sent) {
        close_descriptor(&link->fd);
        link->fd = -1;
    }
    CHECK(pthread_mutex_unlock(&link->mutex) == 0);
    return sent ? RC_OK : away(link, err);
}

/* ---- a use ---- */

static void put_paths(struct json_out *out, const char *key, const char *const *paths)
{
    JSON_LIST(out, key)
        for (size_t i = 0; paths[i]; i++)
            json_put_str(out, str_of(paths[i]));
}

static void put_opened(struct json_out *out, const struct box_opened *opened)
{
    json_open_member(out, "opened", '{');
    json_member_bool(out, "git", opened->git_open);
    put_paths(out, "read", opened->read);
    put_paths(out, "write", opened->write);
    JSON_LIST(out, "ports")
        for (size_t i = 0; i < BOX_PORTS_MAX && opened->ports[i]; i++)
            json_put_u64(out, opened->ports[i]);
    json_close(out, '}');
}

/* Everything that the executor needs is in the request: it keeps no state between two of them. */
static bool send_request(const struct tool_use *use, const char *what, struct str files, int fd)
{
    JSON_SCOPE(buf, out, FRAME_BYTES_MAX);
    json_open(&out, '{');
    json_members(&out, J("what", what), J("name", use->name), J("root", use->root), J("files", files),
                 J_BOOL("box", use->box != NULL), J_BOOL("hides", use->hides != NULL));
    if (use->opened)
        put_opened(&out, use->opened);
    json_member_raw(&out, "input", use->input->raw);
    json_close(&out, '}');
    return !buf.over && frame_send(fd, 'q', buf_str(&buf));
}

/* Waits for the next frame. False: it was cancelled, took too long, or the executor has ended. */
static bool next_frame(const struct tool_use *use, int fd, int64_t until_us, struct arena *arena,
                       struct frame *ret_frame)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    while (!use_cancelled(use) && clock_steady_us() < until_us) {
        int got = poll(&ready, 1, LOOK_MS);
        if (got > 0)
            return frame_read(fd, arena, ret_frame);
        if (got < 0 && errno != EINTR)
            return false;
    }
    return false;
}

/* Answers the executor's questions until its result. They may be many: none is kept. */
static struct rc read_result(const struct tool_use *use, int fd, const struct json **ret_result, struct err *err)
{
    int64_t until_us = clock_steady_us() + WAIT_MS * 1000ll;
    for (;;) {
        ARENA_SCOPE(arena);
        struct frame frame;
        if (!next_frame(use, fd, until_us, &arena, &frame))
            break;
        if (frame.letter == 'r' &&
            rc_ok(json_parse(use->arena, arena_str(use->arena, frame.text), ret_result, NULL)) &&
            (*ret_result)->type == JSON_OBJECT)
            return RC_OK;
        if (frame.letter != FRAME_QUESTION || !use->hides ||
            !frame_send(fd, use->hides(use, frame.text) ? 'y' : 'n', STR_NONE))
            break;
    }
    return err_set(err, ERR_UNAVAILABLE, "the executor of %s gave no answer; whether something was done is not known",
                   use->link->user);
}

/* Each use has a socket pair of its own, handed over by descriptor: the executor's processes do not share a
 * connection. */
static struct rc ask(const struct tool_use *use, const char *what, struct str files, const struct child_ends *ends,
                     const struct json **ret_result, struct err *err)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return err_set(err, ERR_IO, "no socket for the executor: %s", strerror(errno));
    DESCRIPTOR_SCOPE(ours);
    ours = pair[0];
    const struct timeval most = {.tv_sec = STUCK_S}; /* for the rest of a frame that has begun */
    (void)setsockopt(ours, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    (void)setsockopt(ours, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
    const struct child_ends none = {-1, -1, -1, -1}, *more = ends ? ends : &none;
    int fds[] = {pair[1], more->out, more->report, more->life, more->net};
    size_t count = !ends ? 1 : ends->net >= 0 ? 5 : 4;
    struct rc rc = hand_over(use->link, ends ? 'c' : 't', fds, count, err);
    close_descriptor(&pair[1]);
    TRY(rc);
    if (!send_request(use, what, files, ours))
        return away(use->link, err);
    TRY(read_result(use, ours, ret_result, err));
    struct str error = json_text(*ret_result, "error");
    return error.n ? err_set(err, ERR_INVALID, "%.*s", STR_ARG(error)) : RC_OK;
}

/* The preview with the name of the executor's user in it: people see who has looked at the files. */
static struct str name_executor(const struct tool_use *use, const struct json *preview)
{
    JSON_SCOPE(buf, out, FRAME_BYTES_MAX);
    json_open(&out, '{');
    json_put_members(&out, preview, "executor");
    json_member(&out, "executor", str_of(use->link->user));
    json_close(&out, '}');
    return arena_str(use->arena, buf_str(&buf));
}

/* The executor is not trusted: a preview that cannot be read is replaced by one that says so. */
struct tool_look link_look(const struct tool_use *use)
{
    const struct json *result;
    struct digest digest;
    struct err err;
    struct rc rc = ask(use, "look", STR_NONE, NULL, &result, &err);
    const struct json *preview = rc_ok(rc) ? json_get(result, "preview") : NULL;
    struct str files = rc_ok(rc) ? json_text(result, "files") : STR_NONE;
    if (preview && preview->type == JSON_OBJECT && preview->raw.n <= PREVIEW_BYTES_MAX &&
        (files.n == 0 || digest_parse(files, &digest)))
        return (struct tool_look){.preview = name_executor(use, preview), .files = files};
    JSON_SCOPE(buf, out, LIMIT_EVENT_BYTES);
    json_object(&out, J("type", "generic"), J_RAW("input", use->input->raw),
                J("problem", rc_bad(rc) ? str_of(err.text) : STR("the executor's preview cannot be read")),
                J("cwd", use->root));
    return (struct tool_look){.preview = buf.over ? STR("{\"type\":\"generic\",\"problem\":\"too large to be shown\"}")
                                                  : arena_str(use->arena, buf_str(&buf))};
}

/* An executor that goes away in the middle leaves it open whether something was done; the result says so, and it is
 * not done again. */
struct tool_result link_do(const struct tool_use *use, struct str files)
{
    const struct json *result;
    struct err err;
    if (rc_bad(ask(use, "do", files, NULL, &result, &err)))
        return (struct tool_result){arena_str(use->arena, str_of(err.text)), true};
    struct str text = json_text(result, "text");
    return text.n <= TEXT_BYTES_MAX ? (struct tool_result){text, json_bool(result, "isError", true)}
                                    : (struct tool_result){STR("the executor's result is too large"), true};
}

struct rc link_named_file(const struct tool_use *use, struct str *ret_text, struct err *err)
{
    const struct json *result;
    TRY(ask(use, "file", STR_NONE, NULL, &result, err));
    *ret_text = json_text(result, "text");
    if (ret_text->n > FILE_BYTES_MAX)
        return err_set(err, ERR_TOO_LARGE, "the executor sent a file of more than %d bytes", FILE_BYTES_MAX);
    return RC_OK;
}

struct rc link_command(const struct tool_use *use, const struct child_ends *ends, struct err *err)
{
    const struct json *result;
    return ask(use, "command", STR_NONE, ends, &result, err);
}
