/* nod acp, the command: who it is, which agent it starts and how that is made to ask, and its end. */
#include "cli/relay/acp.h"

#include "base/lock.h"
#include "cli/agent_box.h"
#include "cli/identity.h"
#include "cli/local.h"
#include "cli/remote.h"
#include "io/file.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { OUR_WORDS_MAX = 8 };

/* ---- the switch ---- */

/* Writes the file that makes the agent ask, if it has one; `ret_path` is its path as the agent sees it. */
static struct rc write_switch(struct acp *acp, bool boxed, const char **ret_path, struct err *err)
{
    struct cli *cli = acp->cli;
    const char *outside = cli->settings.data, *inside = outside;
    *ret_path = "";
    if (!acp->agent->acp.file)
        return RC_OK;
    TRY(file_own_folder(cli->settings.data, err));
    if (boxed)
        TRY(agent_box_home(cli, acp->cwd, &outside, &inside, err));
    const char *folder = arena_printf(&cli->arena, "%s/acp", outside).p;
    TRY(file_own_folder(folder, err));
    *ret_path = arena_printf(&cli->arena, "%s/acp/%s", inside, acp->agent->acp.file_name).p;
    return file_write_private(arena_printf(&cli->arena, "%s/%s", folder, acp->agent->acp.file_name).p,
                              str_of(acp->agent->acp.file), err);
}

static const char *fill_in(const char *word, const char *path) { return strcmp(word, "{file}") == 0 ? path : word; }

/* The box has a session of its own, because its connections begin before the editor has opened one. */
static struct rc start_boxed(struct acp *acp, char **argv, const char *value, struct err *err)
{
    struct relay_gate *gate = &acp->box_gate;
    relay_gate_init(gate, acp->cli, &acp->record);
    gate->cwd = acp->cwd;
    gate->agent = acp->name;
    gate->title = arena_printf(&acp->cli->arena, "the box of %s in %.*s", acp->agent->name,
                               STR_ARG(local_title(acp->cwd)));
    TRY(relay_gate_session(gate, err));
    const struct agent_box_wish wish = {.agent = acp->agent, .record = &acp->record, .session = gate->session,
                                        .thread = gate->thread, .cwd = acp->cwd,
                                        .variable = acp->agent->acp.variable, .value = value, .hint = ""};
    return agent_box_start(acp->cli, &wish, argv, &acp->child, &acp->box, err);
}

/* Switches that make the agent ask about everything are added here: its own configuration might say otherwise. */
static struct rc start_agent(struct acp *acp, struct err *err)
{
    struct cli *cli = acp->cli;
    const struct agent *agent = acp->agent;
    bool boxed = agent_box_wanted(cli);
    const char *path, *value;
    char **argv = arena_array(&cli->arena, char *, (size_t)cli->argc + OUR_WORDS_MAX);
    int n = 0;
    TRY(write_switch(acp, boxed, &path, err));
    for (; n < cli->argc; n++)
        argv[n] = cli->argv[n];
    for (size_t i = 0; agent->acp.more_args && agent->acp.more_args[i]; i++)
        argv[n++] = (char *)fill_in(agent->acp.more_args[i], path);
    value = agent->acp.variable ? fill_in(agent->acp.value, path) : NULL;
    if (agent->once.closes && setenv(agent->once.closes, "1", 0) != 0)
        return err_set(err, ERR_INTERNAL, "no room for a variable");
    if (boxed)
        return start_boxed(acp, argv, value, err);
    if (value && setenv(agent->acp.variable, value, 1) != 0)
        return err_set(err, ERR_INTERNAL, "no room for a variable");
    return relay_child_start(argv, NULL, &acp->child, err);
}

void acp_kill_agent(struct acp *acp)
{
    if (acp->box)
        agent_box_kill(acp->box);
    else
        (void)kill(-acp->child.pid, SIGKILL);
}

int acp_wait_agent(struct acp *acp)
{
    return acp->box ? agent_box_end(acp->box, &acp->child) : relay_child_end(&acp->child);
}

/* ---- who we are ---- */

/* From here on this process speaks with the identity of the agent, not with the person's token. */
static struct rc become_agent(struct acp *acp, struct err *err)
{
    struct cli *cli = acp->cli;
    struct reply reply;
    const char *path = option_text(cli, "identity");
    struct identity_want want = {.kind = arena_printf(&cli->arena, "acp-%s", acp->agent->name), .about = acp->cwd,
                                 .folder = acp->cwd};
    want.name = arena_printf(&cli->arena, "%s in %.*s", acp->agent->name, STR_ARG(local_title(acp->cwd)));
    TRY(local_self(cli, &acp->self, err));
    if (!path) {
        TRY(remote_get(cli, STR("/api/me"), &reply, err));
        TRY(identity_have(cli, &want, &path, err));
    }
    TRY(identity_use(cli, path, err));
    char *real = realpath(path, NULL);
    acp->identity = real ? arena_c(&cli->arena, str_of(real)) : path;
    free(real);
    return RC_OK;
}

static struct rc describe(struct acp *acp, struct err *err)
{
    struct cli *cli = acp->cli;
    const char *named = option_text(cli, "agent"), *cwd;
    TRY(local_folder(cli, ".", &cwd, err));
    acp->cwd = str_of(cwd);
    acp->agent = named ? agent_named(str_of(named)) : acp_agent_find((const char *const *)cli->argv);
    if (!acp->agent || !acp->agent->acp.safe_modes)
        return err_set(err, ERR_INVALID, "--agent is one of" AGENT_WORDS ", not '%s'", named);
    acp->name = arena_printf(&cli->arena, "acp:%s", acp->agent->name);
    cli_note("nod acp: %s; not asked about: %s%s", acp->agent->name, acp->agent->acp.not_asked,
             agent_box_wanted(cli) ? "; all of it in a box" : "");
    return RC_OK;
}

/* ---- when the agent or this process ends ---- */

enum { STATUS_OF_AGENT = -1 };

/* Notes that the process ends, and wakes whoever waits for the agent. True for the first caller only. */
static bool say_ending(struct acp *acp)
{
    LOCK_SCOPE(&acp->lock);
    bool first = !acp->ending;
    acp->ending = true;
    (void)pthread_cond_broadcast(&acp->moved);
    return first;
}

/* Does not return. Of two threads the first one ends the process; without an editor it is always the main thread, which
 * knows what came of the prompt. */
static void end(struct acp *acp, int status)
{
    bool first = say_ending(acp);
    while (!first && !acp->headless)
        (void)pause();
    (void)acp_take_back(acp, STR_NONE, STR_NONE);
    relay_pipe_close(&acp->child.in);
    int of_agent = acp_wait_agent(acp);
    relay_record_end(&acp->record);
    _exit(status == STATUS_OF_AGENT ? of_agent : status);
}

static void *read_agent(void *arg)
{
    struct acp *acp = arg;
    if (!relay_read_lines(acp->child.out, ACP_LINE_BYTES, acp_from_agent, acp))
        cli_note("nod acp: the agent wrote a line of more than %d bytes; it is ended", ACP_LINE_BYTES);
    if (acp->headless)
        (void)say_ending(acp);
    else
        end(acp, STATUS_OF_AGENT);
    return NULL;
}

/* Threads wait for answers until the process ends, so that the state is static and nothing of it is freed. */
struct rc acp_command(struct cli *cli, struct err *err)
{
    static struct acp acp = {.lock = PTHREAD_MUTEX_INITIALIZER, .session_lock = PTHREAD_MUTEX_INITIALIZER,
                             .moved = PTHREAD_COND_INITIALIZER}; /* threads use it until the process ends */
    const char *prompt = option_text(cli, "prompt");
    acp.cli = cli;
    acp.headless = prompt != NULL;
    TRY(describe(&acp, err));
    TRY(become_agent(&acp, err));
    (void)signal(SIGPIPE, SIG_IGN);
    relay_pipe_init(&acp.editor, acp.headless ? -1 : STDOUT_FILENO);
    TRY(relay_record_start(&acp.record, cli, err));
    TRY(start_agent(&acp, err));
    TRY(cli_start_thread(read_agent, &acp, err));
    struct rc rc = RC_OK;
    if (prompt)
        rc = acp_run_prompt(&acp, str_of(prompt), option_text(cli, "auth"), err);
    else if (!relay_read_lines(STDIN_FILENO, ACP_LINE_BYTES, acp_from_editor, &acp))
        cli_note("nod acp: the editor wrote a line of more than %d bytes; the agent is ended", ACP_LINE_BYTES);
    if (rc_bad(rc)) {
        cli_note("nod: %s", err->text);
        acp_kill_agent(&acp); /* the agent runs already when its mode is refused */
    }
    end(&acp, rc_bad(rc) ? 1 : 0);
    return RC_OK;
}
