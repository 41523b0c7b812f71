/* Reads the command line.
 *
 * Flags of settings may stand anywhere, options of the command behind its name, operands between them;
 * `--` ends options. The command is known before its options are read, so that an option's value is never
 * taken for an operand.
 */
#include "cli/cli.h"

#include "cli/identity.h"
#include "cli/remote.h"
#include "cli/text.h"
#include "cli/words.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* The position on the command line. */
struct line_reader {
    struct cli *cli;
    int argc;
    char **argv;
    int at;
    bool only_operands; /* `--` was there */
};

/* ---- one option ---- */

static const char *see(const struct line_reader *reader)
{
    const struct command *command = reader->cli->command;
    return command ? arena_printf(&reader->cli->arena, "see nod %s --help", command->name).p : "see nod help";
}

/* The value after `=`, or the next word. */
static struct rc value_of(struct line_reader *reader, const char *shown, const char *attached,
                          const char **ret_value, struct err *err)
{
    if (attached) {
        *ret_value = attached;
        return RC_OK;
    }
    if (reader->at >= reader->argc)
        return err_set(err, ERR_INVALID, "%s needs a value; %s", shown, see(reader));
    *ret_value = reader->argv[reader->at++];
    return RC_OK;
}

/* A setting that the command does not use is an error: a flag that does nothing would seem to work. */
static struct rc take_setting(struct line_reader *reader, enum setting_id id, const char *attached,
                              struct err *err)
{
    const struct setting *setting = &settings_table[id];
    const struct command *command = reader->cli->command;
    const char *value = "yes";
    const char *shown = arena_printf(&reader->cli->arena, "--%s", setting->name).p;
    if (command && !(setting->audience & command->audience))
        return err_set(err, ERR_INVALID, "nod %s does not use %s; %s", command->name, shown, see(reader));
    if (setting->kind == SETTING_FLAG && attached)
        return err_set(err, ERR_INVALID, "%s takes no value; %s", shown, see(reader));
    if (setting->kind != SETTING_FLAG)
        TRY(value_of(reader, shown, attached, &value, err));
    return settings_take(&reader->cli->settings, id, str_of(value), (struct origin){.kind = ORIGIN_FLAG},
                         err);
}

/* Options are kept in their order; option_text takes the last value, option_each all of them. */
static struct rc take_option(struct line_reader *reader, const struct option *option, const char *attached,
                             struct err *err)
{
    struct cli *cli = reader->cli;
    const char *shown = arena_printf(&cli->arena, "--%s", option->name).p;
    struct option_use use = {.option = option, .value = attached};
    if (!option->value && attached)
        return err_set(err, ERR_INVALID, "%s takes no value; %s", shown, see(reader));
    if (option->value && option->value[0] != '[')
        TRY(value_of(reader, shown, attached, &use.value, err));
    CHECK(cli->uses && cli->command);
    cli->uses[cli->use_count++] = use;
    return RC_OK;
}

static struct rc unknown_option(const struct line_reader *reader, const char *shown, struct str name,
                                struct err *err)
{
    const struct command *command = reader->cli->command;
    const char *near = command ? option_nearest(command, name) : NULL;
    if (near)
        return err_set(err, ERR_INVALID, "unknown option %s (did you mean --%s?); %s", shown, near,
                       see(reader));
    return err_set(err, ERR_INVALID, "unknown option %s; %s", shown, see(reader));
}

static const struct option *find_option(const struct line_reader *reader, char letter, struct str name)
{
    if (!reader->cli->command)
        return NULL;
    for (const struct option *o = reader->cli->command->options; o->name; o++)
        if (letter ? o->letter == letter : str_is(name, o->name))
            return o;
    return NULL;
}

/* Options of the command come before settings of the same name. */
static struct rc take_long(struct line_reader *reader, const char *word, struct err *err)
{
    size_t equals = str_find(str_of(word), '=');
    const char *attached = word[equals] == '=' ? word + equals + 1 : NULL;
    struct str name = str_sub(str_of(word), 2, equals);
    const struct option *option = find_option(reader, 0, name);
    enum setting_id id = settings_find(name, IN_FLAGS);
    if (str_is(name, "help") && !attached) {
        reader->cli->help = true;
        return RC_OK;
    }
    if (option)
        return take_option(reader, option, attached, err);
    if (id != SETTING_COUNT)
        return take_setting(reader, id, attached, err);
    const char *shown = arena_printf(&reader->cli->arena, "--%.*s", STR_ARG(name)).p;
    return unknown_option(reader, shown, name, err);
}

/* -f, -fw, -m WORDS, -mWORDS. */
static struct rc take_short(struct line_reader *reader, const char *word, struct err *err)
{
    for (const char *p = word + 1; *p; p++) {
        const struct option *option = find_option(reader, *p, STR_NONE);
        if (!option && *p == 'h') {
            reader->cli->help = true;
            continue;
        }
        if (!option)
            return unknown_option(reader, arena_printf(&reader->cli->arena, "-%c", *p).p, STR_NONE, err);
        bool takes = option->value && option->value[0] != '[';
        TRY(take_option(reader, option, takes && p[1] ? p + 1 : NULL, err));
        if (takes)
            return RC_OK;
    }
    return RC_OK;
}

/* ---- the line ---- */

/* Takes options up to the next operand; NULL in *ret_operand when there is none. */
static struct rc next_operand(struct line_reader *reader, char **ret_operand, struct err *err)
{
    while (reader->at < reader->argc) {
        char *word = reader->argv[reader->at++];
        if (reader->only_operands || word[0] != '-' || word[1] == '\0') {
            *ret_operand = word;
            return RC_OK;
        }
        if (strcmp(word, "--") == 0)
            reader->only_operands = true;
        else if (word[1] == '-')
            TRY(take_long(reader, word, err));
        else
            TRY(take_short(reader, word, err));
    }
    *ret_operand = NULL;
    return RC_OK;
}

/* "nod policy needs a subcommand: list, add, …" */
static struct rc lacks_subcommand(struct cli *cli, const char *group, struct err *err)
{
    struct str names = STR("");
    for (const struct command *c = commands; c->name; c++) {
        struct str rest;
        if (str_is(str_cut(str_of(c->name), ' ', &rest), group) && !str_empty(rest))
            names = arena_printf(&cli->arena, "%.*s%s%.*s", STR_ARG(names), names.n ? ", " : "", STR_ARG(rest));
    }
    return err_set(err, ERR_INVALID, "nod %s needs a subcommand: %.*s", group, STR_ARG(names));
}

/* Leaves `command` NULL for `nod` alone and for `nod --help`. */
static struct rc find_command(struct line_reader *reader, struct err *err)
{
    struct cli *cli = reader->cli;
    char *first;
    char *second = NULL;
    if (reader->at < reader->argc && strcmp(reader->argv[reader->at], "--version") == 0) {
        reader->at++;
        cli->command = command_find(STR("version"));
        return RC_OK;
    }
    TRY(next_operand(reader, &first, err));
    if (!first)
        return RC_OK;
    cli->command = command_find(str_of(first));
    const char *next = reader->at < reader->argc ? reader->argv[reader->at] : "";
    const struct command *longer = command_find(arena_printf(&cli->arena, "%s %s", first, next));
    if (cli->command && longer) { /* both `nod mcp` and `nod mcp proxy` are commands */
        cli->command = longer;
        reader->at++;
    }
    if (cli->command)
        return RC_OK;
    if (!command_group(str_of(first)))
        return command_unknown(&cli->arena, str_of(first), err);
    TRY(next_operand(reader, &second, err));
    if (!second && cli->help) {
        cli->command = command_find(STR("help"));
        cli->argv[cli->argc++] = first;
        return RC_OK;
    }
    if (!second)
        return lacks_subcommand(cli, first, err);
    const char *name = arena_printf(&cli->arena, "%s %s", first, second).p;
    cli->command = command_find(str_of(name));
    return cli->command ? RC_OK : command_unknown(&cli->arena, str_of(name), err);
}

/* The name of an option that was given without its value: the value must be attached (--name=value), and an operand too
 * many may be it. */
static const char *unattached(const struct cli *cli)
{
    for (size_t i = 0; i < cli->use_count; i++)
        if (cli->uses[i].option->value && !cli->uses[i].value)
            return cli->uses[i].option->name;
    return NULL;
}

static struct rc check_operands(const struct cli *cli, struct err *err)
{
    int min, max;
    CHECK(cli->command);
    command_operands(cli->command, &min, &max);
    const char *unvalued = unattached(cli);
    if (cli->argc < min)
        return err_set(err, ERR_INVALID, "nod %s needs %s; see nod %s --help", cli->command->name,
                       cli->command->operands, cli->command->name);
    if (cli->argc > max && unvalued)
        return err_set(err, ERR_INVALID, "one operand too many: did you mean --%s=%s? See nod %s --help",
                       unvalued, cli->argv[max], cli->command->name);
    if (cli->argc > max)
        return err_set(err, ERR_INVALID, "nod %s does not know what to do with '%s'; see nod %s --help",
                       cli->command->name, cli->argv[max], cli->command->name);
    return RC_OK;
}

/* A command that runs another program takes everything behind its name as operands. */
static struct rc read_line(struct cli *cli, int argc, char **argv, struct err *err)
{
    struct line_reader reader = {.cli = cli, .argc = argc, .argv = argv, .at = 1};
    size_t letters = 0;
    for (int i = 0; i < argc; i++)
        letters += strlen(argv[i]);
    cli->argv = arena_array(&cli->arena, char *, (size_t)argc + 1);
    cli->uses = arena_array(&cli->arena, struct option_use, letters + 1);
    if (!cli->command)
        TRY(find_command(&reader, err));
    if (!cli->command)
        return RC_OK;
    bool first_is_help = reader.at < argc && strcmp(argv[reader.at], "--help") == 0;
    if (strcmp(cli->command->operands, "[ARGUMENT...]") == 0 && !first_is_help)
        reader.only_operands = true; /* another program's, options and all */
    for (;;) {
        char *operand;
        TRY(next_operand(&reader, &operand, err));
        if (!operand)
            break;
        cli->argv[cli->argc++] = operand;
    }
    return cli->help ? RC_OK : check_operands(cli, err);
}

/* ---- surroundings ---- */

static void look_at_terminal(struct cli *cli)
{
    struct winsize size = {0};
    bool terminal = isatty(STDOUT_FILENO);
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    if (terminal)
        cli->width = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20 ? size.ws_col : 80;
    cli->color = cli->settings.color == COLOR_ALWAYS ||
                 (cli->settings.color == COLOR_AUTO && terminal && !(no_color && no_color[0]) &&
                  !(term && strcmp(term, "dumb") == 0));
    cli->json = cli->settings.json;
}

/* Whether an agent starts this command (a hook, an MCP server): then its environment and files are not the person's
 * choice. */
static bool started_by_agent(const struct cli *cli)
{
    const struct command *command = cli->command;
    bool agents = command && (command->id == COMMAND_hook || command->id == COMMAND_mcp ||
                              command->id == COMMAND_proxy);
    bool manages = cli->argc > 0 && (strcmp(cli->argv[0], "install") == 0 || strcmp(cli->argv[0], "remove") == 0);
    return agents && (!manages || command->id == COMMAND_proxy);
}

/* Removes the variables of our settings: no program that we start sees a token or an address of ours. */
static void clear_environment(struct cli *cli)
{
    bool serves = cli->command && (cli->command->audience & (SERVES | KEEPS));
    for (char **variable = environ; variable && *variable;) {
        struct str name = str_cut(str_of(*variable), '=', &(struct str){0});
        if (!str_starts(name, STR("NOD_")) || (serves && str_is(name, "NOD_STORE_LISTEN"))) {
            variable++;
            continue;
        }
        (void)unsetenv(arena_c(&cli->arena, name));
        variable = environ;
    }
}

/* The command line first, because it may name the configuration. Mistakes of the settings are kept for `nod doctor`
 * and for commands that print only. */
struct rc cli_read(struct cli *cli, int argc, char **argv, struct err *err)
{
    CHECK(argv && !cli->uses);
    cli->settings = settings_init(&cli->arena, getenv);
    struct rc line = read_line(cli, argc, argv, err);
    if (rc_ok(line) && started_by_agent(cli))
        identity_shut_out(cli);
    struct rc loaded = settings_load(&cli->settings, rc_ok(line) ? &cli->settings_err : NULL);
    look_at_terminal(cli);
    if (rc_bad(line))
        return line;
    bool needs_settings = cli->command && cli->command->audience != PRINTS && !cli->help &&
                          cli->command->id != COMMAND_doctor;
    if (rc_bad(loaded) && needs_settings)
        return err_set(err, loaded.code, "%s", cli->settings_err.text);
    return RC_OK;
}

/* Variables of Nod's own are removed before the command runs: some hold secrets, and programs that it starts must not
 * inherit them. */
struct rc cli_run(struct cli *cli, const command_run runs[COMMAND_COUNT], struct err *err)
{
    clear_environment(cli);
    if (cli->command && (!cli->help || cli->command->id == COMMAND_help))
        return runs[cli->command->id](cli, err);
    BUF_SCOPE(buf, TEXT_BYTES_MAX);
    if (cli->command)
        words_command(&buf, cli->command, cli->width);
    else
        words_all(&buf, cli->width);
    cli_out(buf_str(&buf));
    cli->status = cli->help ? 0 : err_exit(ERR_INVALID);
    return RC_OK;
}

void cli_done(struct cli *cli)
{
    remote_close(cli);
    arena_done(&cli->arena);
}

/* Detached: commands end by exiting, and nothing waits for such a thread. */
struct rc cli_start_thread(void *(*run)(void *arg), void *arg, struct err *err)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, arg) != 0)
        return err_set(err, ERR_INTERNAL, "no thread could be started");
    (void)pthread_detach(thread);
    return RC_OK;
}

void cli_out(struct str text)
{
    if (text.n)
        (void)fwrite(text.p, 1, text.n, stdout);
}

void cli_note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    flockfile(stderr); /* several threads may write a line at once */
    (void)vfprintf(stderr, format, args);
    (void)fputc('\n', stderr);
    funlockfile(stderr);
    va_end(args);
}

/* ---- options ---- */

/* A name that the command does not have is our mistake. */
static const struct option *option_of(const struct cli *cli, const char *name)
{
    CHECK(cli->command && name);
    const struct option *option = cli->command->options;
    while (option->name && strcmp(option->name, name) != 0)
        option++;
    CHECK(option->name);
    return option;
}

const char *option_each(const struct cli *cli, const char *name, size_t *at)
{
    const struct option *option = option_of(cli, name);
    while (*at < cli->use_count) {
        const struct option_use *use = &cli->uses[(*at)++];
        if (use->option == option && use->value)
            return use->value;
    }
    return NULL;
}

bool option_flag(const struct cli *cli, const char *name)
{
    const struct option *option = option_of(cli, name);
    return ANY(size_t i = 0; i < cli->use_count; i++, cli->uses[i].option == option);
}

const char *option_text(const struct cli *cli, const char *name)
{
    const char *last = NULL;
    size_t at = 0;
    for (const char *value; (value = option_each(cli, name, &at));)
        last = value;
    return last;
}

struct rc option_number(const struct cli *cli, const char *name, uint64_t max, uint64_t *ret_value,
                        struct err *err)
{
    const char *text = option_text(cli, name);
    uint64_t value;
    if (!text)
        return RC_OK;
    if (!str_to_u64(str_of(text), &value) || value > max)
        return err_set(err, ERR_INVALID, "--%s must be a number from 0 to %llu, not '%s'", name,
                       (unsigned long long)max, text);
    *ret_value = value;
    return RC_OK;
}

struct rc option_time(const struct cli *cli, const char *name, int64_t max, int64_t *ret_seconds,
                      struct err *err)
{
    const char *text = option_text(cli, name);
    int64_t seconds;
    if (!text)
        return RC_OK;
    if (!settings_parse_duration(str_of(text), &seconds) || seconds > max)
        return err_set(err, ERR_INVALID,
                       "--%s must be seconds, or a time such as 90s, 5m, 2h or 7d, not '%s'", name, text);
    *ret_seconds = seconds;
    return RC_OK;
}
