/* Bash: a command in the session's folder.
 *
 * It runs in a process group of its own with a small, clean environment (no keys, no tokens) and nothing on
 * standard input. Its output is told while it runs; the result is the whole, of long output the beginning and the
 * end. When the time is over, or the run is cancelled, or the shell has ended, all it started is killed
 * (supervisor.c): nothing stays behind, not even when Nod itself is killed. With the sandbox on it runs in a box
 * (box/box.h). In the background it goes on after the call, until it ends, is stopped, or Nod stops (shells.c).
 */
#include "tools/child.h"
#include "tools/shells.h"

#include "base/utf8.h"
#include "io/clock.h"

#include <sys/wait.h>

enum {
    TIMEOUT_MS = 120000,
    TIMEOUT_MS_MAX = 600000,
    LOOK_MS = 50,         /* how often cancelling is looked for */
    TELL_MS = 200,        /* how often what it writes is told */
    TOLD_BYTES_MAX = 8 << 10, /* most that is told at a time; of more output, the last part */
};

/* A command that is waited for: its whole output for the result, and the part that was not told yet. */
struct watching {
    const struct tool_use *use;
    struct output output;
    struct buf untold;
    int64_t told_us, timeout_ms;
    bool timed_out, cancelled;
};

/* ---- telling ---- */

/* Length of the text without an incomplete character at its end. */
static size_t whole_characters(struct str text)
{
    size_t n = text.n, back = 0;
    while (back < 3 && back < n && ((unsigned char)text.p[n - 1 - back] & 0xC0) == 0x80)
        back++;
    bool begun = back < n && ((unsigned char)text.p[n - 1 - back] & 0xC0) == 0xC0;
    return begun && utf8_valid_one(str_sub(text, n - 1 - back, n)) == 0 ? n - 1 - back : n;
}

/* Output is told in steps of TELL_MS, so that a command that writes much does not flood those who follow the session.
 */
static void tell(struct watching *watching, bool last)
{
    struct str text = buf_str(&watching->untold);
    int64_t now_us = clock_steady_us();
    size_t whole = last ? text.n : whole_characters(text);
    if (whole == 0 || !watching->use->say || (!last && now_us - watching->told_us < (int64_t)TELL_MS * 1000))
        return;
    watching->use->say(watching->use, str_sub(text, 0, whole));
    buf_drop(&watching->untold, whole);
    watching->told_us = now_us;
}

/* Given every piece of output by child_wait, on the thread that runs the tool. The result keeps all of it that
 * output_add keeps; of the part that is told live only the newest bytes are kept. */
static void take(void *arg, struct str text)
{
    struct watching *watching = arg;
    output_add(&watching->output, text);
    if (text.n > TOLD_BYTES_MAX)
        text = str_sub(text, text.n - TOLD_BYTES_MAX, text.n);
    if (watching->untold.n + text.n > TOLD_BYTES_MAX)
        buf_drop(&watching->untold, watching->untold.n + text.n - TOLD_BYTES_MAX);
    buf_put(&watching->untold, text);
}

/* ---- waiting ---- */

/* Blocks this thread until the command has ended, its time is over or its run is cancelled. child_end kills what is
 * left and reads the last output. */
static void wait_for(struct watching *watching, struct child *child)
{
    int64_t until_us = clock_steady_us() + watching->timeout_ms * 1000;
    watching->told_us = clock_steady_us();
    while (!child_wait(child, LOOK_MS, take, watching)) {
        tell(watching, false);
        watching->timed_out = clock_steady_us() > until_us;
        watching->cancelled = use_cancelled(watching->use);
        if (watching->timed_out || watching->cancelled)
            break;
    }
    child_end(child, take, watching);
}

/* Also used for commands that ran in the background. The output is part of the result whether the command failed or
 * not. */
struct rc bash_outcome(struct arena *arena, int status, struct str output, struct str *ret_text, struct err *err)
{
    const char *end = output.n && output.p[output.n - 1] != '\n' ? "\n" : "";
    if (WIFSIGNALED(status))
        *ret_text = arena_printf(arena, "%.*s%sEnded by signal %d", STR_ARG(output), end, WTERMSIG(status));
    else if (WEXITSTATUS(status) != 0)
        *ret_text = arena_printf(arena, "%.*s%sExit code %d", STR_ARG(output), end, WEXITSTATUS(status));
    else {
        *ret_text = output.n ? output : STR("(no output)");
        return RC_OK;
    }
    return err_set(err, ERR_INVALID, "the command failed");
}

/* The outcome in words for the model: output first, then how it ended. */
static struct rc judge(const struct watching *watching, const struct child *child, struct str output,
                       struct str *ret_text, struct err *err)
{
    const struct tool_use *use = watching->use;
    const char *end = output.n && output.p[output.n - 1] != '\n' ? "\n" : "";
    if (child->failed)
        return err_set(err, ERR_IO, "it cannot be started in %.*s: %s%s%s", STR_ARG(use->root),
                       child->step, child->step[0] ? ": " : "", strerror(child->failed));
    if (!watching->cancelled && !watching->timed_out)
        return bash_outcome(use->arena, child->status, output, ret_text, err);
    if (watching->cancelled)
        *ret_text = arena_printf(use->arena, "%.*s%sCancelled while it ran", STR_ARG(output), end);
    else
        *ret_text = arena_printf(use->arena, "%.*s%sStopped after %lld ms: it took too long", STR_ARG(output), end,
                                 (long long)watching->timeout_ms);
    return err_set(err, ERR_INVALID, "the command was stopped before it ended");
}

static struct rc run_here(const struct tool_use *use, int64_t timeout_ms, struct str *ret_text, struct err *err)
{
    struct watching watching = {
        .use = use, .output = output_init(), .untold = buf_init(TOLD_BYTES_MAX), .timeout_ms = timeout_ms};
    struct child child;
    struct rc rc = child_start(use, &child, err);
    if (rc_ok(rc)) {
        wait_for(&watching, &child);
        tell(&watching, true);
        rc = judge(&watching, &child, output_text(&watching.output, use->arena), ret_text, err);
    }
    output_done(&watching.output);
    buf_done(&watching.untold);
    return rc;
}

/* The schema was checked before; a session without a folder has no place where a command could run. */
static struct rc run(const struct tool_use *use, struct str *ret_text, struct err *err)
{
    int64_t timeout_ms = TIMEOUT_MS;
    struct str command = json_text(use->input, "command");
    TRY(json_want_i64(use->input, "timeout", 1, TIMEOUT_MS_MAX, &timeout_ms, err));
    if (command.n == 0 || use->root.n == 0)
        return err_set(err, ERR_INVALID, command.n ? "the session has no folder to work in" : "\"command\" is empty");
    if (json_bool(use->input, "run_in_background", false))
        return shells_start(use, ret_text, err);
    return run_here(use, timeout_ms, ret_text, err);
}

const struct executor executor_bash = {
    .name = "Bash",
    .description = "Runs a command with bash in the project's folder and returns its output. Nothing can be typed "
                   "into it, and nothing it starts goes on after it, unless it runs in the background.",
    .schema = "{\"type\":\"object\",\"properties\":{\"command\":{\"type\":\"string\"},"
              "\"description\":{\"type\":\"string\",\"description\":\"What it is for, in a few words\"},"
              "\"timeout\":{\"type\":\"integer\",\"description\":\"Milliseconds; at most 600000\"},"
              "\"run_in_background\":{\"type\":\"boolean\",\"description\":\"Do not wait for it: read what it writes "
              "with BashOutput, stop it with KillShell\"},"
              "\"outside\":{\"type\":\"boolean\",\"description\":\"Run it outside the box, where commands run in one. "
              "A person is asked each time: only for what cannot work inside\"}},"
              "\"required\":[\"command\"]}",
    .run = run,
};
