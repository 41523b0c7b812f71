/* nod pair: shows a QR code by which a phone logs in. */
#include "base/limits.h"
#include "cli/remote.h"
#include "cli/setup.h"
#include "cli/text.h"

enum { QUIET = 2, PICTURE_BYTES_MAX = 256 << 10 }; /* QUIET: width of the light border around the QR code */

static bool is_dark(const struct json *const *rows, size_t size, size_t x, size_t y)
{
    bool inside = x >= QUIET && y >= QUIET && x < size + QUIET && y < size + QUIET;
    return inside && rows[y - QUIET]->text.p[x - QUIET] == '1';
}

/* Two rows of modules in each line of text, black on white whatever the terminal's colours are. */
static struct str draw(struct cli *cli, const struct json *const *rows, size_t size)
{
    static const char *const halves[] = {" ", "▄", "▀", "█"};
    BUF_SCOPE(buf, PICTURE_BYTES_MAX);
    for (size_t y = 0; y < size + 2 * QUIET; y += 2) {
        buf_puts(&buf, "\x1b[38;5;16;48;5;231m");
        for (size_t x = 0; x < size + 2 * QUIET; x++)
            buf_puts(&buf, halves[is_dark(rows, size, x, y) * 2 + is_dark(rows, size, x, y + 1)]);
        buf_puts(&buf, "\x1b[0m\n");
    }
    return arena_str(&cli->arena, buf_str(&buf));
}

/* Empty when the server sent none, or none that is square. */
static struct str picture(struct cli *cli, const struct json *qr)
{
    enum { SIZE_MAX_MODULES = 177 };
    const struct json *rows[SIZE_MAX_MODULES];
    size_t size = 0;
    if (!qr || qr->type != JSON_ARRAY || qr->count == 0 || qr->count > SIZE_MAX_MODULES)
        return STR_NONE;
    for (const struct json *row = qr->first; row; row = row->next) {
        if (row->type != JSON_STRING || row->text.n != qr->count)
            return STR_NONE;
        rows[size++] = row;
    }
    return draw(cli, rows, size);
}

void pair_show(struct cli *cli, const struct json *login)
{
    struct str drawn = cli->width ? picture(cli, json_get(login, "qr")) : STR_NONE;
    if (drawn.n)
        cli_out(drawn);
    else if (cli->width)
        cli_note("no picture: the server's machine has no libqrencode (Debian: libqrencode4)");
    cli_note("Open it on the phone, once, within 10 minutes:");
    cli_out(arena_printf(&cli->arena, "%.*s\n", STR_ARG(text_line(&cli->arena, json_text(login, "url")))));
    cli_note("or type this code where the page asks to log in: %s",
             text_line(&cli->arena, json_text(login, "code")).p);
    if (!json_bool(login, "public", false))
        cli_note("This address is good on the server's machine only. For a phone, start the server with --public-url "
                 "https://NAME:PORT, and a certificate (nod tls init) or a proxy.");
}

struct rc pair_command(struct cli *cli, struct err *err)
{
    struct reply reply;
    const char *role = option_text(cli, "role");
    struct str body = json_object_str(&cli->arena, J("name", option_text(cli, "name")),
                                      J("role", role ? str_of(role) : STR("approver")));
    TRY(remote_post(cli, STR("/api/logins"), body, &reply, err));
    if (!remote_printed(cli, &reply))
        pair_show(cli, reply.json);
    return RC_OK;
}
