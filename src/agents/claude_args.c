/* Claude Code's command line: what a person typed becomes what the wrapper starts.
 *
 * The prompt goes over the control channel, so it has to be found among the options, and for that their values
 * must be known. Options that would make Claude Code ask elsewhere than here are refused.
 */
#include "agents/claude.h"

/* Options that take a value; '+' any number of them, '?' one that may be left out. */
static const struct {
    const char *name;
    char values;
} valued[] = {
    {"--add-dir", '+'}, {"--agent", '1'}, {"--agents", '1'}, {"--allowedTools", '+'}, {"--allowed-tools", '+'},
    {"--append-system-prompt", '1'}, {"--autocompact", '1'}, {"--betas", '+'}, {"-d", '?'}, {"--debug", '?'},
    {"--debug-file", '1'}, {"--disallowedTools", '+'}, {"--disallowed-tools", '+'}, {"--effort", '1'},
    {"--fallback-model", '1'}, {"--file", '+'}, {"--from-pr", '?'}, {"--input-format", '1'},
    {"--json-schema", '1'}, {"--max-budget-usd", '1'}, {"--max-turns", '1'}, {"--mcp-config", '+'},
    {"--model", '1'}, {"-n", '1'}, {"--name", '1'}, {"--output-format", '1'}, {"--permission-mode", '1'},
    {"--permission-prompt-tool", '1'}, {"--plugin-dir", '1'}, {"--plugin-url", '1'}, {"-r", '?'},
    {"--resume", '?'}, {"--session-id", '1'}, {"--setting-sources", '1'}, {"--settings", '1'},
    {"--system-prompt", '1'}, {"--system-prompt-file", '1'}, {"--tools", '+'}, {"-w", '?'}, {"--worktree", '?'},
};

static const char *const refused[] = {
    "--permission-prompt-tool", "--permission-prompts", "--bare", "--bg", "--background",
    "--cloud", "--desktop", "--remote-control", "--teleport", "--tmux",
};

static char values_of(const char *word)
{
    for (size_t i = 0; i < sizeof valued / sizeof *valued; i++)
        if (strcmp(word, valued[i].name) == 0)
            return valued[i].values;
    return '0';
}

/* The value of the option at `i`: behind '=', or the next word. */
static const char *value_at(int argc, char **argv, int i)
{
    const char *equals = strchr(argv[i], '=');
    if (equals)
        return equals + 1;
    return i + 1 < argc && argv[i + 1][0] != '-' ? argv[i + 1] : NULL;
}

static bool is_option(const char *word, const char *name)
{
    size_t n = strlen(name);
    return strncmp(word, name, n) == 0 && (word[n] == '\0' || word[n] == '=');
}

/* Options that would let Claude Code decide without asking are refused by name. */
static struct rc check_option(int argc, char **argv, int i, struct err *err)
{
    const char *word = argv[i], *value = value_at(argc, argv, i);
    bool says_format = is_option(word, "--input-format"), says_tool = is_option(word, "--permission-prompt-tool");
    if (says_tool && value && strcmp(value, "stdio") == 0) /* the value that we pass ourselves */
        return RC_OK;
    if (says_format && !(value && (strcmp(value, "stream-json") == 0 || strcmp(value, "text") == 0)))
        return err_set(err, ERR_INVALID, "--input-format is text or stream-json");
    struct str name = str_sub(str_of(word), 0, str_find(str_of(word), '='));
    for (size_t r = 0; r < sizeof refused / sizeof *refused; r++)
        if (str_is(name, refused[r]))
            return err_set(err, ERR_INVALID, "%s would take the questions away from Nod, so nod claude does not "
                                             "take it", refused[r]);
    return RC_OK;
}

/* Options that Nod must know of are passed on as well. */
static void notice(struct claude_args *args, int argc, char **argv, int i)
{
    const char *word = argv[i];
    if (is_option(word, "--output-format"))
        args->format = value_at(argc, argv, i);
    else if (is_option(word, "--input-format"))
        args->hosted = strcmp(value_at(argc, argv, i), "stream-json") == 0;
    else if (is_option(word, "--resume") || strcmp(word, "-r") == 0) {
        args->goes_on = true;
        args->session = value_at(argc, argv, i);
    } else if (is_option(word, "--session-id"))
        args->session = value_at(argc, argv, i);
    else if (is_option(word, "--permission-mode"))
        args->mode = value_at(argc, argv, i);
    else if (is_option(word, "--setting-sources"))
        args->has_sources = true;
    else if (is_option(word, "--settings"))
        args->has_settings = true;
    else if (strcmp(word, "-c") == 0 || strcmp(word, "--continue") == 0)
        args->goes_on = args->any_session = true;
    else if (strcmp(word, "--fork-session") == 0)
        args->any_session = true;
}

/* Whether the word is one that we say ourselves. */
static bool ours(const char *word)
{
    return is_option(word, "--output-format") || is_option(word, "--input-format") ||
           is_option(word, "--permission-prompt-tool") || strcmp(word, "-p") == 0 || strcmp(word, "--print") == 0 ||
           strcmp(word, "--verbose") == 0;
}

static void keep(struct claude_args *args, const char *word) { args->kept[args->kept_count++] = word; }

/* Takes the option at `i` with its values; returns where the next word is. */
static int take_option(struct claude_args *args, int argc, char **argv, int i)
{
    const char *word = argv[i];
    char values = strchr(word, '=') ? '0' : values_of(word);
    bool keeps = !ours(word);
    notice(args, argc, argv, i);
    args->once = args->once || strcmp(word, "-p") == 0 || strcmp(word, "--print") == 0;
    if (keeps)
        keep(args, word);
    for (i++; i < argc && values != '0'; i++) {
        if (values != '1' && argv[i][0] == '-')
            break;
        if (keeps)
            keep(args, argv[i]);
        if (values != '+')
            return i + 1;
    }
    return i;
}

/* One word that is not an option is the prompt; a second one is an error. */
struct rc claude_args_read(struct arena *arena, int argc, char **argv, struct claude_args *ret_args,
                           struct err *err)
{
    struct claude_args args = {.kept = arena_array(arena, const char *, (size_t)argc + 1)};
    int i = 0;
    while (i < argc) {
        if (strcmp(argv[i], "--") == 0) {
            i++;
            break;
        }
        if (argv[i][0] == '-' && argv[i][1]) {
            TRY(check_option(argc, argv, i, err));
            i = take_option(&args, argc, argv, i);
        } else if (args.prompt) {
            return err_set(err, ERR_INVALID, "there are two prompts: '%.60s' and '%.60s'", args.prompt, argv[i]);
        } else {
            args.prompt = argv[i++];
        }
    }
    if (i < argc && !args.prompt)
        args.prompt = argv[i++];
    if (i < argc)
        return err_set(err, ERR_INVALID, "there are two prompts: '%.60s' and '%.60s'", args.prompt, argv[i]);
    *ret_args = args;
    return RC_OK;
}
