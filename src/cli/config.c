/* nod config: each setting and where it comes from; the example file. */
#include "cli/cli.h"
#include "cli/text.h"

/* Every line is commented out: the file can be used as it is, and shows the defaults of this version. */
static void print_example(struct buf *buf)
{
    buf_puts(buf, "# Settings of nod, with their defaults: `name = value`. A # begins a comment.\n"
                  "# A flag comes before the environment, the environment before this file.\n");
    for (int i = 0; i < SETTING_COUNT; i++) {
        const struct setting *s = &settings_table[i];
        if (!(s->where & IN_FILE))
            continue;
        BUF_ADD(buf, STR("\n# "), str_of(s->words));
        if (s->choices)
            buf_printf(buf, "; %s", s->choices);
        buf_printf(buf, "\n# (--%s, %s)\n#%s = %s\n", s->name, s->environment, s->name, s->otherwise);
    }
}

static void print_json(struct buf *buf, const struct settings *settings)
{
    struct json_out out = json_out(buf);
    json_open(&out, '{');
    JSON_LIST(&out, "settings")
        for (int i = 0; i < SETTING_COUNT; i++) {
            json_object(&out, J("name", settings_table[i].name),
                        J_ALWAYS("value", settings_show(settings, (enum setting_id)i)),
                        J("from", settings_origin(settings, (enum setting_id)i)));
        }
    json_close(&out, '}');
    buf_putc(buf, '\n');
}

static void print_table(struct buf *buf, struct cli *cli)
{
    struct table table = {.arena = &cli->arena, .columns = 3, .width = 0, .color = cli->color};
    table_row(&table, (struct str[]){STR("SETTING"), STR("VALUE"), STR("FROM")});
    for (int i = 0; i < SETTING_COUNT; i++)
        table_row(&table, (struct str[]){
                              str_of(settings_table[i].name),
                              text_line(&cli->arena, settings_show(&cli->settings, (enum setting_id)i)),
                              text_line(&cli->arena, settings_origin(&cli->settings, (enum setting_id)i))});
    table_write(buf, &table);
}

struct rc config_command(struct cli *cli, struct err *err)
{
    BUF_SCOPE(buf, TEXT_BYTES_MAX);
    (void)err;
    if (option_flag(cli, "example"))
        print_example(&buf);
    else if (cli->json)
        print_json(&buf, &cli->settings);
    else
        print_table(&buf, cli);
    cli_out(buf_str(&buf));
    return RC_OK;
}
