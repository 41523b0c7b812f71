/* nod completion: for bash, zsh and fish, from the tables. */
#include "cli/text.h"
#include "cli/words.h"

/* The distinct first words of commands, or the second words of a group. */
static void put_words(struct buf *buf, struct str group)
{
    struct str last = STR_NONE;
    for (const struct command *c = commands; c->name; c++) {
        struct str second;
        struct str first = str_cut(str_of(c->name), ' ', &second);
        if (!str_empty(group) && !str_eq(first, group))
            continue;
        struct str word = str_empty(group) ? first : second;
        if (str_eq(word, last))
            continue;
        buf_printf(buf, "%s%.*s", last.n ? " " : "", STR_ARG(word));
        last = word;
    }
}

/* The first words of commands of two words, as a pattern of `case`. */
static void put_groups(struct buf *buf)
{
    struct str last = STR_NONE;
    for (const struct command *c = commands; c->name; c++) {
        struct str second;
        struct str first = str_cut(str_of(c->name), ' ', &second);
        if (str_empty(second) || str_eq(first, last))
            continue;
        buf_printf(buf, "%s%.*s", last.n ? "|" : "", STR_ARG(first));
        last = first;
    }
}

static void put_flags(struct buf *buf, const struct command *command)
{
    for (const struct option *o = command->options; o->name; o++)
        buf_printf(buf, "--%s ", o->name);
    for (int i = 0; i < SETTING_COUNT; i++)
        if ((settings_table[i].where & IN_FLAGS) && (settings_table[i].audience & command->audience))
            buf_printf(buf, "--%s ", settings_table[i].name);
    buf_puts(buf, "--help");
}

/* Writes one case per command: the words after which its flags may come. */
static void put_cases(struct buf *buf)
{
    struct str last = STR_NONE;
    for (const struct command *c = commands; c->name; c++) {
        buf_printf(buf, "        '%s') offers='", c->name);
        put_flags(buf, c);
        buf_puts(buf, "' ;;\n");
        struct str second;
        struct str first = str_cut(str_of(c->name), ' ', &second);
        if (str_empty(second) || str_eq(first, last))
            continue;
        buf_printf(buf, "        '%.*s') offers='", STR_ARG(first));
        put_words(buf, first);
        buf_puts(buf, "' ;;\n");
        last = first;
    }
}

/* A script without calls to nod: completing a word must not wait for a program or a server. */
static void bash(struct buf *buf)
{
    buf_puts(buf, "# Completions of nod for bash: source <(nod completion bash)\n"
                  "_nod() {\n"
                  "    local command=\"${COMP_WORDS[1]}\" offers=''\n"
                  "    case \"$command\" in\n        ");
    put_groups(buf);
    buf_puts(buf, ") (( COMP_CWORD > 2 )) && command+=\" ${COMP_WORDS[2]}\" ;;\n"
                  "    esac\n"
                  "    (( COMP_CWORD == 1 )) && command=''\n"
                  "    case \"$command\" in\n"
                  "        '') offers='");
    put_words(buf, STR_NONE);
    buf_puts(buf, "' ;;\n");
    put_cases(buf);
    buf_puts(buf, "    esac\n"
                  "    COMPREPLY=($(compgen -W \"$offers\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n"
                  "    [[ ${COMPREPLY[*]} ]] || COMPREPLY=($(compgen -f -- \"${COMP_WORDS[COMP_CWORD]}\"))\n"
                  "}\n"
                  "complete -F _nod nod\n");
}

static void zsh(struct buf *buf)
{
    buf_puts(buf, "#compdef nod\n"
                  "# Completions of nod for zsh: put this as _nod into a folder of $fpath.\n"
                  "_nod() {\n"
                  "    local command=\"${words[2]}\" offers=''\n"
                  "    case \"$command\" in\n        ");
    put_groups(buf);
    buf_puts(buf, ") (( CURRENT > 3 )) && command+=\" ${words[3]}\" ;;\n"
                  "    esac\n"
                  "    (( CURRENT == 2 )) && command=''\n"
                  "    case \"$command\" in\n"
                  "        '') offers='");
    put_words(buf, STR_NONE);
    buf_puts(buf, "' ;;\n");
    put_cases(buf);
    buf_puts(buf, "    esac\n"
                  "    compadd -- ${=offers} || _files\n"
                  "}\n"
                  "compdef _nod nod\n");
}

/* fish quotes with ' and escapes it with a backslash. */
static void put_fish_quoted(struct buf *buf, const char *text)
{
    buf_putc(buf, '\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            buf_putc(buf, '\\');
        buf_putc(buf, *text);
    }
    buf_putc(buf, '\'');
}

static void fish_flag(struct buf *buf, const char *seen, const struct option *option)
{
    buf_printf(buf, "complete -c nod -n '%s' -l %s%s -d ", seen, option->name, option->value ? " -r" : "");
    put_fish_quoted(buf, option->words);
    if (option->letter)
        buf_printf(buf, " -s %c", option->letter);
    buf_putc(buf, '\n');
}

static void fish_command(struct buf *buf, const struct command *c)
{
    struct str second;
    struct str first = str_cut(str_of(c->name), ' ', &second);
    BUF_SCOPE(seen, 256);
    buf_printf(&seen, "__fish_seen_subcommand_from %.*s", STR_ARG(first));
    if (str_empty(second))
        buf_printf(buf, "complete -c nod -n __fish_use_subcommand -f -a %.*s -d ", STR_ARG(first));
    else
        buf_printf(buf, "complete -c nod -n '%s' -f -a %.*s -d ", buf_c(&seen), STR_ARG(second));
    put_fish_quoted(buf, c->summary);
    buf_putc(buf, '\n');
    if (!str_empty(second))
        buf_printf(&seen, "; and __fish_seen_subcommand_from %.*s", STR_ARG(second));
    for (const struct option *o = c->options; o->name; o++)
        fish_flag(buf, buf_c(&seen), o);
    for (int i = 0; i < SETTING_COUNT; i++) {
        const struct setting *s = &settings_table[i];
        struct option as_option = {.name = s->name, .value = s->value, .words = s->words};
        if ((s->where & IN_FLAGS) && (s->audience & c->audience))
            fish_flag(buf, buf_c(&seen), &as_option);
    }
}

static void fish(struct buf *buf)
{
    struct str last = STR_NONE;
    buf_puts(buf, "# Completions of nod for fish: nod completion fish | source\n");
    for (const struct command *c = commands; c->name; c++) {
        struct str second;
        struct str first = str_cut(str_of(c->name), ' ', &second);
        if (!str_empty(second) && !str_eq(first, last))
            buf_printf(buf, "complete -c nod -n __fish_use_subcommand -f -a %.*s\n", STR_ARG(first));
        last = first;
        fish_command(buf, c);
    }
}

struct rc completion_command(struct cli *cli, struct err *err)
{
    static const struct {
        const char *shell;
        void (*print)(struct buf *buf);
    } shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
    BUF_SCOPE(buf, TEXT_BYTES_MAX);
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        if (strcmp(cli->argv[0], shells[i].shell) != 0)
            continue;
        shells[i].print(&buf);
        cli_out(buf_str(&buf));
        return RC_OK;
    }
    return err_set(err, ERR_INVALID, "completions exist for bash, zsh and fish, not for '%s'", cli->argv[0]);
}
