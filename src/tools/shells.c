/* Commands in the background: each has a thread that takes what it writes, and a name within its session.
 *
 * They belong to this process: when it ends, in whatever way, they do (supervisor.c). So nothing of them is kept, and a
 * name from before a restart is a name of nothing. All of them live in one `struct shells` that the gate owns.
 */
#include "tools/shells.h"

#include "base/lock.h"
#include "tools/child.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SHELLS_MAX = 64, SESSION_SHELLS_MAX = 8, LOOK_MS = 100, SHELL_NAME_BYTES = 24, STOP_NAP_US = 10000 };

/* A command in the background, with the thread that reads its output. */
struct kept_shell {
    struct shells *shells;
    char *session;
    char name[SHELL_NAME_BYTES];
    struct child child;
    struct output output;    /* output since the last read */
    pthread_t thread;
    atomic_bool stop;        /* the shell's thread ends it at its next look */
    bool ended, killed, told_end;
    struct kept_shell *next;
};

struct shells {
    pthread_mutex_t lock;    /* guards the list, and each shell's output and end */
    struct kept_shell *first;
    unsigned made;
};

struct shells *shells_new(void)
{
    struct shells *shells = heap_new(sizeof *shells);
    CHECK(pthread_mutex_init(&shells->lock, NULL) == 0);
    return shells;
}

static void shell_free(struct kept_shell *shell)
{
    CHECK(pthread_join(shell->thread, NULL) == 0);
    output_done(&shell->output);
    free(shell->session);
    free(shell);
}

/* ---- one of them ---- */

static void take(void *arg, struct str text)
{
    struct kept_shell *shell = arg;
    LOCK_SCOPE(&shell->shells->lock);
    output_add(&shell->output, text);
}

/* A thread for each command: it reads its output, so that the command never blocks on a full pipe, and ends it when
 * told to. */
static void *attend(void *arg)
{
    struct kept_shell *shell = arg;
    bool ended = false;
    while (!ended && !atomic_load_explicit(&shell->stop, memory_order_relaxed))
        ended = child_wait(&shell->child, LOOK_MS, take, shell);
    child_end(&shell->child, take, shell);
    LOCK_SCOPE(&shell->shells->lock);
    shell->ended = true;
    shell->killed = !ended;
    return NULL;
}

static struct kept_shell *find(struct shells *shells, struct str session, struct str name)
{
    struct kept_shell *shell = shells->first;
    while (shell && !(str_is(session, shell->session) && str_is(name, shell->name)))
        shell = shell->next;
    return shell;
}

/* Removes the shells whose end has been reported. */
static void sweep(struct shells *shells)
{
    struct kept_shell **at = &shells->first;
    while (*at) {
        struct kept_shell *shell = *at;
        if (!shell->ended || !shell->told_end) {
            at = &shell->next;
            continue;
        }
        *at = shell->next;
        shell_free(shell);
    }
}

/* With the lock held, which makes the count and the start one step. */
static struct rc check_room(const struct shells *shells, struct str session, struct err *err)
{
    unsigned all = 0, own = 0;
    for (const struct kept_shell *shell = shells->first; shell; shell = shell->next) {
        all++;
        own += str_is(session, shell->session);
    }
    if (own >= SESSION_SHELLS_MAX)
        return err_set(err, ERR_INVALID, "%d commands run in the background already; stop one first",
                       SESSION_SHELLS_MAX);
    if (all >= SHELLS_MAX)
        return err_set(err, ERR_INVALID, "too many commands run in the background already");
    return RC_OK;
}

static struct rc start(const struct tool_use *use, struct str *ret_name, struct err *err)
{
    struct shells *shells = use->shells;
    sweep(shells);
    TRY(check_room(shells, use->session, err));
    struct kept_shell *shell = heap_new(sizeof *shell);
    struct rc rc = child_start(use, &shell->child, err);
    if (rc_bad(rc)) {
        free(shell);
        return rc;
    }
    shell->shells = shells;
    shell->session = strndup(use->session.p, use->session.n);
    shell->output = output_init();
    (void)snprintf(shell->name, sizeof shell->name, "bash_%u", ++shells->made);
    CHECK(shell->session && pthread_create(&shell->thread, NULL, attend, shell) == 0);
    shell->next = shells->first;
    shells->first = shell;
    *ret_name = arena_str(use->arena, str_of(shell->name));
    return RC_OK;
}

/* The call's result is that the command runs; its end is only seen by BashOutput. */
struct rc shells_start(const struct tool_use *use, struct str *ret_text, struct err *err)
{
    struct str name;
    if (!use->shells)
        return err_set(err, ERR_INVALID, "nothing can run in the background here");
    lock_take(&use->shells->lock);
    struct rc rc = start(use, &name, err);
    lock_drop(&use->shells->lock);
    if (rc_ok(rc))
        *ret_text = arena_printf(use->arena, "It runs in the background as %.*s. Read what it writes with BashOutput, "
                                             "stop it with KillShell.", STR_ARG(name));
    return rc;
}

/* ---- all of them ---- */

static void stop_where(struct shells *shells, struct str session)
{
    for (struct kept_shell *shell = shells->first; shell; shell = shell->next)
        if (str_empty(session) || str_is(session, shell->session))
            atomic_store(&shell->stop, true);
}

void shells_end(struct shells *shells, struct str session)
{
    LOCK_SCOPE(&shells->lock);
    stop_where(shells, session);
}

/* When the server stops, on a worker thread: blocks until every command and its thread have ended. */
void shells_end_all(struct shells *shells)
{
    lock_take(&shells->lock);
    stop_where(shells, STR_NONE);
    struct kept_shell *first = shells->first;
    shells->first = NULL;
    lock_drop(&shells->lock); /* the commands' threads take the lock once more before they end */
    while (first) {
        struct kept_shell *shell = first;
        first = shell->next;
        shell_free(shell);
    }
}

void shells_free(struct shells *shells)
{
    shells_end_all(shells);
    CHECK(pthread_mutex_destroy(&shells->lock) == 0);
    free(shells);
}

/* ---- BashOutput ---- */

static struct rc no_such(struct str name, struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, "there is no %.*s: it was never started here, its end was told already, or Nod "
                                       "was restarted, which ended it", STR_ARG(name));
}

/* Output since the last call. */
static struct rc read_shell(const struct tool_use *use, struct kept_shell *shell, struct str *ret_text, struct err *err)
{
    struct str output = output_text(&shell->output, use->arena);
    output_done(&shell->output);
    shell->output = output_init();
    const char *end = output.n && output.p[output.n - 1] != '\n' ? "\n" : "";
    shell->told_end = shell->ended;
    if (shell->ended && !shell->killed && !shell->child.failed)
        return bash_outcome(use->arena, shell->child.status, output, ret_text, err);
    *ret_text = arena_printf(use->arena, "%.*s%s(%s)", STR_ARG(output), end,
                             !shell->ended ? "it is still running" :
                             shell->killed ? "it was stopped" : strerror(shell->child.failed));
    return RC_OK;
}

static struct rc run_output(const struct tool_use *use, struct str *ret_text, struct err *err)
{
    struct str name = json_text(use->input, "bash_id");
    if (!use->shells)
        return no_such(name, err);
    LOCK_SCOPE(&use->shells->lock);
    struct kept_shell *shell = find(use->shells, use->session, name);
    return shell ? read_shell(use, shell, ret_text, err) : no_such(name, err);
}

const struct executor executor_bash_output = {
    .name = "BashOutput",
    .description = "Returns what a command in the background has written since it was last asked, and whether it still "
                   "runs.",
    .schema = "{\"type\":\"object\",\"properties\":{\"bash_id\":{\"type\":\"string\","
              "\"description\":\"Its name, as Bash gave it\"}},\"required\":[\"bash_id\"]}",
    .run = run_output,
};

/* ---- KillShell ---- */

enum stopping { STOP_NONE, STOP_BEGUN, STOP_ENDED };

static enum stopping stop(const struct tool_use *use, struct str name)
{
    LOCK_SCOPE(&use->shells->lock);
    struct kept_shell *shell = find(use->shells, use->session, name);
    enum stopping now = !shell ? STOP_NONE : shell->ended ? STOP_ENDED : STOP_BEGUN;
    if (shell)
        atomic_store(&shell->stop, true);
    return now;
}

/* Waits for the end, so that a command that is reported as stopped has no effect any more. */
static struct rc run_kill(const struct tool_use *use, struct str *ret_text, struct err *err)
{
    struct str name = json_text(use->input, "shell_id");
    enum stopping first = use->shells ? stop(use, name) : STOP_NONE;
    if (first == STOP_NONE)
        return no_such(name, err);
    while (stop(use, name) == STOP_BEGUN && !use_cancelled(use))
        (void)usleep(STOP_NAP_US);
    *ret_text = arena_printf(use->arena, "%.*s %s", STR_ARG(name),
                             first == STOP_ENDED ? "had ended already" : "is stopped");
    return RC_OK;
}

const struct executor executor_kill_shell = {
    .name = "KillShell",
    .description = "Stops a command that runs in the background, and all it has started.",
    .schema = "{\"type\":\"object\",\"properties\":{\"shell_id\":{\"type\":\"string\","
              "\"description\":\"Its name, as Bash gave it\"}},\"required\":[\"shell_id\"]}",
    .run = run_kill,
};
