/* nod man: the manual page in roff, from the tables. */
#include "base/utf8.h"
#include "cli/exits.h"
#include "cli/text.h"
#include "cli/words.h"

/* Escapes text for roff: backslashes, hyphens, dots at the start of a line, and characters outside ASCII. */
static void put(struct buf *buf, const char *text)
{
    struct str rest = str_of(text);
    if (text[0] == '.' || text[0] == '\'')
        buf_puts(buf, "\\&");
    while (rest.n) {
        uint32_t code = 0;
        size_t n = utf8_decode(rest, &code);
        CHECK(n > 0);
        if (code == '\\')
            buf_puts(buf, "\\e");
        else if (code == '-')
            buf_puts(buf, "\\-");
        else if (code < 0x80)
            buf_putc(buf, (char)code);
        else
            buf_printf(buf, "\\[u%04X]", code);
        rest = str_sub(rest, n, rest.n);
    }
}

static void put_value(struct buf *buf, const char *value)
{
    buf_puts(buf, "\\fI");
    put(buf, value);
    buf_puts(buf, "\\fR");
}

static void paragraph(struct buf *buf, const char *text)
{
    buf_puts(buf, ".PP\n");
    put(buf, text);
    buf_putc(buf, '\n');
}

static void put_option(struct buf *buf, const struct option *o)
{
    buf_puts(buf, ".TP\n");
    if (o->letter)
        buf_printf(buf, "\\fB\\-%c\\fR, ", o->letter);
    buf_puts(buf, "\\fB\\-\\-");
    put(buf, o->name);
    buf_puts(buf, "\\fR");
    if (o->value && o->value[0] == '[') {
        buf_printf(buf, "[=\\fI%.*s\\fR]", (int)strlen(o->value) - 2, o->value + 1);
    } else if (o->value) {
        buf_putc(buf, ' ');
        put_value(buf, o->value);
    }
    buf_putc(buf, '\n');
    put(buf, o->words);
    buf_putc(buf, '\n');
}

static void put_command(struct buf *buf, const struct command *c)
{
    buf_puts(buf, ".SS nod ");
    put(buf, c->name);
    buf_printf(buf, "%s%s\n", c->operands[0] ? " " : "", c->operands);
    put(buf, c->summary);
    buf_puts(buf, ".\n");
    if (c->details[0])
        paragraph(buf, c->details);
    for (const struct option *o = c->options; o->name; o++)
        put_option(buf, o);
}

/* From the same table that reads the settings, so that the page cannot name one that is not there. */
static void put_settings(struct buf *buf)
{
    buf_puts(buf, ".SH SETTINGS\n");
    put(buf, "A value comes from a flag, else from the environment, else from the configuration file, else "
             "it is the "
             "default. `nod config` shows each value and where it comes from.\n");
    for (int i = 0; i < SETTING_COUNT; i++) {
        const struct setting *s = &settings_table[i];
        buf_puts(buf, ".TP\n\\fB");
        put(buf, s->where & IN_FLAGS ? "--" : "");
        put(buf, s->where & IN_FLAGS ? s->name : s->environment);
        buf_puts(buf, s->value ? "\\fR " : "\\fR");
        if (s->value)
            put_value(buf, s->value);
        buf_putc(buf, '\n');
        put(buf, s->words);
        if (s->choices)
            buf_printf(buf, "; %s", s->choices);
        if (s->otherwise[0] && s->kind != SETTING_FLAG)
            buf_printf(buf, " (%s)", s->otherwise);
        if (s->environment && (s->where & IN_FLAGS))
            buf_printf(buf, ". Environment: %s", s->environment);
        buf_putc(buf, '\n');
    }
}

static void put_exits(struct buf *buf)
{
    buf_puts(buf, ".SH EXIT STATUS\n");
#define X(exit, words) buf_printf(buf, ".TP\n%d\n%s\n", exit, words);
    EXITS(X)
#undef X
    buf_puts(buf, ".PP\nOf \\fBnod call\\fR also:\n");
#define X(status, exit, words) \
    if (words[0]) \
        buf_printf(buf, ".TP\n%d\n%s\n", exit, words);
    CALL_EXITS(X)
#undef X
}

static void put_files(struct buf *buf)
{
    static const char *const files[][2] = {
        {"~/.config/nod/config", "the configuration file; `nod config --example` prints one"},
        {"~/.local/share/nod", "the data folder, mode 0700"},
        {"DATA/nod.db", "the events"},
        {"DATA/nod.sock", "the server's Unix socket"},
        {"DATA/admin.token", "the admin token that the first start makes, mode 0600"},
    };
    buf_puts(buf, ".SH FILES\n");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        buf_puts(buf, ".TP\n");
        put(buf, files[i][0]);
        buf_putc(buf, '\n');
        put(buf, files[i][1]);
        buf_putc(buf, '\n');
    }
}

/* `make install` runs it to make nod.1; nothing of the page is written by hand a second time. */
struct rc man_command(struct cli *cli, struct err *err)
{
    BUF_SCOPE(buf, TEXT_BYTES_MAX);
    (void)cli;
    (void)err;
    buf_puts(&buf, ".TH NOD 1 \"\" \"nod " NOD_VERSION "\" \"User Commands\"\n"
                   ".SH NAME\nnod \\- a gate between AI agents and the world\n"
                   ".SH SYNOPSIS\n\\fBnod\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR...] [\\fIOPERAND\\fR...]\n"
                   ".SH DESCRIPTION\n");
    put(&buf, "An agent that wants to use a tool asks nod. Rules answer, or a person does. What happened is "
              "kept, and "
              "the agent goes on.\n");
    buf_puts(&buf, ".SH COMMANDS\n");
    for (const struct command *c = commands; c->name; c++)
        put_command(&buf, c);
    put_settings(&buf);
    put_exits(&buf);
    put_files(&buf);
    cli_out(buf_str(&buf));
    return RC_OK;
}
