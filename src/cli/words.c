/* Help, printed from the tables. */
#include "cli/words.h"

#include "cli/exits.h"
#include "cli/text.h"

enum { NAME_COLUMN = 21, OPTION_COLUMN = 26, WIDTH_MAX = 100 };

static unsigned usable(unsigned width)
{
    if (width == 0)
        return 80;
    return width < WIDTH_MAX ? width : WIDTH_MAX;
}

/* A term, and its words beside it, or below when the term is long. */
static void entry(struct buf *buf, struct str term, const char *words, unsigned column, unsigned width)
{
    unsigned used = text_width(term) + 2;
    CHECK(column < width);
    BUF_ADD(buf, STR("  "), term);
    if (used + 2 > column) {
        buf_putc(buf, '\n');
        used = 0;
    }
    for (; used < column; used++)
        buf_putc(buf, ' ');
    text_wrap(buf, str_of(words), column, width);
}

/* The headings of `nod help`, each before the first command of its part of the table. */
static const struct {
    const char *first, *heading;
} headings[] = {
    {"serve", "Begin"},          {"session create", "Sessions and calls"}, {"pending", "Answer"},
    {"claude", "Agents"},        {"log", "Look back"},                     {"policy list", "Rules"},
    {"token create", "People and keys"}, {"executor", "Operate"},          {"notify channels", "Messages and phones"},
    {"demo", "More"},
};

static void heading_before(struct buf *buf, const struct command *command)
{
    for (size_t i = 0; i < sizeof headings / sizeof *headings; i++)
        if (strcmp(command->name, headings[i].first) == 0)
            buf_printf(buf, "%s%s:\n", i ? "\n" : "", headings[i].heading);
}

/* The commands that begin with `word`; all, under their headings, when it is empty. */
static void command_entries(struct buf *buf, struct str word, unsigned width)
{
    for (const struct command *c = commands; c->name; c++) {
        struct str rest;
        if (str_empty(word))
            heading_before(buf, c);
        if (str_empty(word) || str_eq(str_cut(str_of(c->name), ' ', &rest), word))
            entry(buf, str_of(c->name), c->summary, NAME_COLUMN, usable(width));
    }
}

void words_group(struct buf *buf, struct str word, unsigned width)
{
    CHECK(command_group(word));
    buf_printf(buf, "Usage: nod %.*s COMMAND [OPTION...] [OPERAND...]\n\n", STR_ARG(word));
    command_entries(buf, word, width);
    buf_printf(buf, "\nnod %.*s COMMAND --help explains one.\n", STR_ARG(word));
}

void words_all(struct buf *buf, unsigned width)
{
    buf_puts(buf, "nod stands between AI agents and the world: an agent asks before it uses a tool,\n"
                  "rules answer, or a person nods.\n\nUsage: nod COMMAND [OPTION...] [OPERAND...]\n\n");
    command_entries(buf, STR_NONE, width);
    buf_puts(buf, "\nBegin with nod setup; nod watch shows calls that wait, and answers them.\n"
                  "nod COMMAND --help explains one command, nod help settings what they share.\n");
}

static void option_entry(struct buf *buf, const struct option *option, unsigned width)
{
    BUF_SCOPE(term, 256);
    if (option->letter)
        buf_printf(&term, "-%c, --%s", option->letter, option->name);
    else
        buf_printf(&term, "    --%s", option->name);
    if (option->value && option->value[0] == '[')
        buf_printf(&term, "[=%s", option->value + 1);
    else if (option->value)
        buf_printf(&term, " %s", option->value);
    entry(buf, buf_str(&term), option->words, OPTION_COLUMN, width);
}

static void setting_entry(struct buf *buf, const struct setting *setting, unsigned width)
{
    BUF_SCOPE(term, 256);
    BUF_SCOPE(words, 1024);
    if (setting->where & IN_FLAGS)
        buf_printf(&term, "    --%s%s%s", setting->name, setting->value ? " " : "",
                   setting->value ? setting->value : "");
    else
        buf_printf(&term, "    %s", setting->environment);
    buf_puts(&words, setting->words);
    if (setting->choices)
        buf_printf(&words, "; %s", setting->choices);
    if (setting->otherwise[0] && setting->kind != SETTING_FLAG)
        buf_printf(&words, " (%s)", setting->otherwise);
    if (setting->environment && (setting->where & IN_FLAGS))
        buf_printf(&words, " [%s]", setting->environment);
    entry(buf, buf_str(&term), buf_c(&words), OPTION_COLUMN, width);
}

/* Settings that most commands share; the others are told with the options of the few that have them. */
enum { SHARED = TALKS | PRINTS };

/* Each setting is listed once, in the first group that it belongs to. */
void words_settings(struct buf *buf, unsigned width)
{
    static const struct {
        unsigned audience;
        const char *title;
    } groups[] = {{SHARED, "Of most commands:"},
                  {SERVES | KEEPS, "Of the server (nod serve), and of commands that open its store:"},
                  {SITS | WRAPS, "Of commands that stand beside an agent (nod call, nod mcp) or start one:"}};
    unsigned told = 0;
    width = usable(width);
    text_wrap(buf,
              STR("A value comes from a flag, else from the environment variable in brackets, else from the "
                  "configuration file, else it is the default in parentheses. nod config shows each value and "
                  "where it comes from, nod config --example prints a file."),
              0, width);
    for (size_t i = 0; i < sizeof groups / sizeof *groups; told |= groups[i++].audience) {
        buf_putc(buf, '\n');
        text_wrap(buf, str_of(groups[i].title), 0, width);
        for (const struct setting *s = settings_table; s < settings_table + SETTING_COUNT; s++)
            if ((s->audience & groups[i].audience) && !(s->audience & told))
                setting_entry(buf, s, width);
    }
}

static bool own_setting(const struct command *command, const struct setting *setting)
{
    return (setting->audience & command->audience) && !(setting->audience & SHARED);
}

/* Writes one line about the options shared by all commands, with the best known of them. */
static void shared_line(struct buf *buf, const struct command *command)
{
    static const enum setting_id known[] = {SETTING_ID_data, SETTING_ID_url, SETTING_ID_json, SETTING_ID_color};
    const char *between = "\nSettings such as ";
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (settings_table[known[i]].audience & command->audience) {
            buf_printf(buf, "%s--%s", between, settings_table[known[i]].name);
            between = ", ";
        }
    buf_puts(buf, ": nod help settings\n");
}

/* From the tables that make the statuses (exits.h), so that help cannot promise another number. */
static void exit_entries(struct buf *buf, const struct command *command)
{
    buf_puts(buf, "\nExit status:\n");
#define X(status, exit, words) \
    if (words[0]) \
        buf_printf(buf, "  %2d  %s\n", exit, words);
    if (command->id == COMMAND_call) {
        CALL_EXITS(X)
    }
#undef X
#define X(exit, words) \
    if (exit > 0 || command->id != COMMAND_call) \
        buf_printf(buf, "  %2d  %s\n", exit, words);
    EXITS(X)
#undef X
}

/* Options of the command, then the settings that matter to it; those that all commands share are one line. */
void words_command(struct buf *buf, const struct command *command, unsigned width)
{
    CHECK(command->name && command->options);
    width = usable(width);
    buf_printf(buf, "nod %s: %s\n\nUsage: nod %s [OPTION...]%s%s\n", command->name, command->summary,
               command->name, command->operands[0] ? " " : "", command->operands);
    if (command->details[0]) {
        buf_putc(buf, '\n');
        text_wrap(buf, str_of(command->details), 0, width);
    }
    const char *title = "\nOptions:\n";
    for (const struct option *o = command->options; o->name; o++, title = "") {
        buf_puts(buf, title);
        option_entry(buf, o, width);
    }
    for (const struct setting *s = settings_table; s < settings_table + SETTING_COUNT; s++)
        if (own_setting(command, s)) {
            buf_puts(buf, title);
            setting_entry(buf, s, width);
            title = "";
        }
    shared_line(buf, command);
    exit_entries(buf, command);
}
