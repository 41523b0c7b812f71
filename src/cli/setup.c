/* nod setup: the command itself. It looks without changing anything, says what it would do, asks once, does it step
 * by step, and keeps a record after each step, so that --remove works after a step that failed, too. */
#include "cli/setup.h"

#include "cli/identity.h"
#include "cli/remote.h"
#include "cli/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* One agent as setup has found it, and what became of its hook. */
struct found_agent {
    bool here;            /* the agent is on this machine */
    bool was_gated;       /* and had our hook already */
    bool arrived;         /* the test call */
    const char *settings;
};

/* The state of one `nod setup`: agents found, steps to take, steps done. */
struct setup {
    struct cli *cli;
    struct setup_record record;
    enum setup_service service;
    struct found_agent agents[AGENT_COUNT];
    bool any_agent;
    bool rules;           /* starter rules are wanted */
    size_t rules_added;
    struct str link;
    bool reachable;       /* by a phone */
};

/* ---- looking ---- */

bool setup_on_path(struct cli *cli, const char *program)
{
    struct str rest = str_of(getenv("PATH"));
    STR_EACH(folder, rest, ':') {
        if (folder.n && access(arena_printf(&cli->arena, "%.*s/%s", STR_ARG(folder), program).p, X_OK) == 0)
            return true;
    }
    return false;
}

static bool has_folder(struct cli *cli, const char *settings)
{
    struct str folder = str_of(settings);
    struct stat st;
    while (folder.n && folder.p[folder.n - 1] != '/')
        folder.n--;
    return folder.n && stat(arena_c(&cli->arena, folder), &st) == 0 && S_ISDIR(st.st_mode);
}

/* Finds out and changes nothing. An agent counts as present when its settings folder or its program is there. */
static void look(struct setup *setup)
{
    struct cli *cli = setup->cli;
    setup->rules = !option_flag(cli, "no-rules");
    setup->service = setup_service_find(cli, option_flag(cli, "background"));
    for (size_t i = 0; i < AGENT_COUNT; i++) {
        struct found_agent *found = &setup->agents[i];
        const struct agent *agent = agent_at(i);
        found->settings = hook_settings(cli, agent);
        found->here = found->settings && (has_folder(cli, found->settings) || setup_on_path(cli, agent->name));
        found->was_gated = found->here && !str_empty(hook_written(cli, agent));
        setup->any_agent = setup->any_agent || found->here;
    }
}

/* ---- saying ---- */

static void say_service(struct buf *out, struct setup *setup)
{
    struct cli *cli = setup->cli;
    if (setup->service == SERVICE_RUNS)
        buf_printf(out, "  server       runs already at %s: stays as it is\n", remote_where(cli));
    else if (setup->service == SERVICE_SYSTEMD)
        buf_printf(out, "  server       write %s and start it with systemd, now and at every login\n",
                   setup_unit_path(cli));
    else
        buf_printf(out, "  server       start `nod serve` in the background; its log is %s/serve.log\n"
                        "               (without systemd --user: after the machine restarts, run nod setup again)\n",
                   cli->settings.data);
}

static void say_agents(struct buf *out, struct setup *setup)
{
    for (size_t i = 0; i < AGENT_COUNT; i++) {
        const struct found_agent *found = &setup->agents[i];
        if (found->here)
            buf_printf(out, "  %-11s  %s in %s, then send a test call through it\n", agent_at(i)->title,
                       found->was_gated ? "keep the hook" : "install the hook", found->settings);
    }
    if (!setup->any_agent)
        buf_puts(out, "  agents       none found (of" AGENT_WORDS "): install one, then run nod setup again\n");
}

static void say_rules(struct buf *out, struct setup *setup)
{
    const struct setup_pack *pack;
    size_t at = 0;
    bool any = false;
    if (!setup->rules)
        return;
    while ((pack = setup_pack_next(&at))) {
        if (!any)
            buf_puts(out, "  rules        allow these without asking, in every folder (--no-rules adds none):\n");
        any = true;
        buf_printf(out, "    %s:\n     ", pack->words);
        for (size_t i = 0; pack->rules[i]; i++)
            buf_printf(out, " %s", pack->rules[i]);
        buf_putc(out, '\n');
    }
    buf_puts(out, any ? "    A project's tests run its own code, which an agent may have written.\n"
                      : "  rules        none: nothing in this folder shows which tests it has\n");
    buf_puts(out, "               (commands that only read inside a project need no rule)\n");
}

static void say_plan(struct setup *setup)
{
    BUF_SCOPE(out, TEXT_BYTES_MAX);
    buf_puts(&out, "nod setup will:\n");
    say_service(&out, setup);
    say_agents(&out, setup);
    say_rules(&out, setup);
    cli_out(buf_str(&out));
    (void)fflush(stdout);
}

/* Without a terminal nobody can be asked: then nothing is done unless --yes says so. */
static struct rc agreed(struct cli *cli, bool *ret_agreed, struct err *err)
{
    char answer[8] = "";
    *ret_agreed = option_flag(cli, "yes");
    if (*ret_agreed)
        return RC_OK;
    if (!isatty(STDIN_FILENO))
        return err_set(err, ERR_INVALID, "nothing was done: add --yes when this is what you want");
    (void)fprintf(stderr, "Do this? [y/N] ");
    *ret_agreed = fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y');
    if (!*ret_agreed) {
        cli_note("nothing was done");
        cli->status = 1;
    }
    return RC_OK;
}

/* ---- doing ---- */

/* The old bytes of the files are noted before the hook is written, and the record is saved after it. */
static struct rc install(struct setup *setup, const struct agent *agent, struct err *err)
{
    struct cli *cli = setup->cli;
    struct setup_record *record = &setup->record;
    size_t number = agent_number(agent);
    struct found_agent *found = &setup->agents[number];
    struct hook_choice how = {.yes = true, .quiet = true};
    struct setup_look settings, trust;
    const char *trust_file = hook_trust_file(cli, agent, found->settings);
    TRY(setup_file_look(cli, found->settings, &settings, err));
    if (trust_file)
        TRY(setup_file_look(cli, trust_file, &trust, err));
    struct rc rc = hook_install(cli, agent, &how, err);
    record->agents[number] = record->agents[number] || !found->was_gated;
    if (trust_file)
        TRY(setup_file_changed(cli, record, &trust, err));
    TRY(setup_file_changed(cli, record, &settings, err)); /* last: it is undone last, with its folder */
    TRY(setup_record_save(cli, record, err));
    TRY(rc);
    TRY(setup_probe(cli, agent, err));
    found->arrived = true;
    if (!cli->json)
        cli_out(arena_printf(&cli->arena, "  %-11s  %s: a test call arrived at the server, and its denial came back\n",
                             agent->title, found->settings));
    return RC_OK;
}

static struct rc make_link(struct setup *setup, struct err *err)
{
    struct reply reply;
    TRY(remote_post(setup->cli, STR("/api/logins"), STR("{}"), &reply, err));
    setup->link = text_line(&setup->cli->arena, json_text(reply.json, "url"));
    setup->reachable = json_bool(reply.json, "public", false);
    return RC_OK;
}

static void print_json(struct setup *setup)
{
    static const char *const services[] = {"running", "systemd", "background"};
    JSON_SCOPE(buf, out, TEXT_BYTES_MAX);
    json_open(&out, '{');
    json_members(&out, J("service", services[setup->service]), J("unit", setup->record.unit),
                 J_IF(setup->record.pid, J("pid", setup->record.pid)));
    JSON_LIST(&out, "agents")
        for (size_t i = 0; i < AGENT_COUNT; i++) {
            if (!setup->agents[i].here)
                continue;
            json_object(&out, J("agent", agent_at(i)->name), J("settings", setup->agents[i].settings),
                        J_BOOL("wasInstalled", setup->agents[i].was_gated),
                        J_BOOL("testArrived", setup->agents[i].arrived));
        }
    json_members(&out, J("rulesAdded", setup->rules_added), J("page", setup->link));
    json_close(&out, '}');
    buf_putc(&buf, '\n');
    cli_out(buf_str(&buf));
}

static void say_end(struct setup *setup)
{
    struct arena *arena = &setup->cli->arena;
    bool opened = setup_page_open(setup->cli, setup->link);
    if (setup->rules)
        cli_out(arena_printf(arena, "  rules        %zu added\n", setup->rules_added));
    cli_out(arena_printf(arena,
                         "\nNod is set up%s.\n  answer on the page     %.*s\n"
                         "                         (%sone-time link, valid for 10 minutes; nod login makes another)\n"
                         "  or in a terminal       nod watch\n",
                         setup->any_agent ? "" : ", but no agent was found", STR_ARG(setup->link),
                         opened ? "opened in your browser; " : ""));
    setup_page_ways(setup->reachable);
    cli_out(STR("  check later            nod doctor\n  undo                   nod setup --remove\n"));
    if (setup->reachable && isatty(STDOUT_FILENO))
        setup_page_pair(setup->cli);
}

/* The server first, then rules, then hooks: a hook that is installed finds a server that answers. */
static struct rc do_all(struct setup *setup, struct err *err)
{
    struct cli *cli = setup->cli;
    TRY(setup_service_start(cli, setup->service, &setup->record, err));
    if (!cli->json)
        cli_out(arena_printf(&cli->arena, "\nDone so far:\n  server       ready at %s\n", remote_where(cli)));
    if (setup->rules)
        TRY(setup_rules_add(cli, &setup->record, &setup->rules_added, err));
    for (size_t i = 0; i < AGENT_COUNT; i++)
        if (setup->agents[i].here)
            TRY(install(setup, agent_at(i), err));
    return make_link(setup, err);
}

/* Look, say, ask, do. */
static struct rc put_in(struct setup *setup, struct err *err)
{
    struct cli *cli = setup->cli;
    bool agrees;
    look(setup);
    if (!cli->json)
        say_plan(setup);
    if (option_flag(cli, "dry-run")) {
        if (cli->json)
            print_json(setup);
        return RC_OK;
    }
    TRY(agreed(cli, &agrees, err));
    if (!agrees)
        return RC_OK;
    struct rc rc = do_all(setup, err);
    if (rc_bad(rc))
        return err_wrap(err, rc, "not finished; what was done can be undone with `nod setup --remove`");
    if (cli->json)
        print_json(setup);
    else
        say_end(setup);
    return RC_OK;
}

/* ---- undoing ---- */

static void say_removal(struct setup *setup)
{
    BUF_SCOPE(out, TEXT_BYTES_MAX);
    const struct setup_record *record = &setup->record;
    buf_puts(&out, "nod setup --remove will:\n");
    for (size_t i = 0; i < record->file_count; i++)
        buf_printf(&out, "  %s %.*s\n",
                   record->files[i].edited      ? "take Nod's hooks out of"
                   : record->files[i].was_there ? "restore"
                                                : "remove",
                   STR_ARG(record->files[i].path));
    buf_printf(&out, "  revoke %zu starter rules\n", record->rule_count);
    if (!str_empty(record->unit))
        buf_printf(&out, "  stop the server and remove %.*s\n", STR_ARG(record->unit));
    else if (record->pid)
        buf_printf(&out, "  stop the server (process %lld)\n", (long long)record->pid);
    buf_printf(&out, "The events in %s stay.\n", setup->cli->settings.data);
    cli_out(buf_str(&out));
    (void)fflush(stdout);
}

/* Agents first: without the server their hooks would refuse everything. */
static struct rc undo(struct setup *setup, struct err *err)
{
    struct cli *cli = setup->cli;
    struct hook_choice how = {.remove = true, .yes = true, .quiet = true};
    for (size_t i = 0; i < AGENT_COUNT; i++)
        if (setup->record.agents[i] && !str_empty(hook_written(cli, agent_at(i))))
            TRY(hook_install(cli, agent_at(i), &how, err));
    TRY(setup_files_restore(cli, &setup->record, err));
    setup_rules_revoke(cli, &setup->record);
    TRY(setup_service_stop(cli, &setup->record, err));
    setup_record_drop(cli, &setup->record);
    return RC_OK;
}

/* Undoes what the record names, and nothing else. */
static struct rc take_out(struct setup *setup, struct err *err)
{
    struct cli *cli = setup->cli;
    const struct setup_record *record = &setup->record;
    bool agrees, any = record->file_count || record->rule_count || record->pid || record->unit.n;
    setup_files_check(cli, &setup->record);
    if (!cli->json && any)
        say_removal(setup);
    if (!any)
        cli_note("nod setup has put nothing in");
    if (!any || option_flag(cli, "dry-run"))
        return RC_OK;
    TRY(agreed(cli, &agrees, err));
    if (!agrees)
        return RC_OK;
    TRY(undo(setup, err));
    cli_out(cli->json ? STR("{\"removed\":true}\n") : STR("Removed.\n"));
    return RC_OK;
}

struct rc setup_command(struct cli *cli, struct err *err)
{
    struct setup *setup = arena_new(&cli->arena, struct setup);
    setup->cli = cli;
    TRY(setup_record_load(cli, &setup->record, err));
    return option_flag(cli, "remove") ? take_out(setup, err) : put_in(setup, err);
}
