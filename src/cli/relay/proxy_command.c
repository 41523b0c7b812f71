/* The command `nod mcp proxy`: its identity, the server behind it, and how it ends. */
#include "cli/relay/proxy.h"

#include "base/digest.h"
#include "cli/identity.h"
#include "cli/local.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* Letters, digits, `-`, `.`, and single `_` inside: what a rule can name (mcp__NAME__tool). */
static bool good_name(struct str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        bool edge = i == 0 || i + 1 == name.n || name.p[i - 1] == '_';
        if (!letter && !(c && strchr("-.", c)) && !(c == '_' && !edge))
            return false;
    }
    return name.n > 0 && name.n <= 64;
}

/* The last part of the command or the host, as far as a rule can name it. */
static struct str name_from(struct cli *cli, struct str text)
{
    char *out = arena_bytes(&cli->arena, text.n + 1);
    size_t n = 0;
    struct str last = local_title(text);
    for (size_t i = 0; i < last.n && n < 64; i++) {
        struct str one = {out, n + 1};
        out[n] = last.p[i];
        n += good_name(one) ? 1 : 0;
    }
    return n ? (struct str){out, n} : STR("server");
}

static struct rc describe(struct proxy *proxy, const char *url, struct err *err)
{
    struct cli *cli = proxy->cli;
    const char *named = option_text(cli, "name"), *cwd;
    struct str *words = arena_array(&cli->arena, struct str, (size_t)cli->argc + 1);
    char hex[DIGEST_HEX_BYTES];
    for (int i = 0; i < cli->argc; i++)
        words[i] = str_of(cli->argv[i]);
    if (url)
        words[0] = str_of(url);
    struct digest digest = digest_of_pieces(words, url ? 1 : (size_t)cli->argc);
    digest_hex(&digest, hex);
    proxy->source = arena_str(&cli->arena, str_of(hex));
    proxy->name = named ? str_of(named) : name_from(cli, words[0]);
    if (!good_name(proxy->name))
        return err_set(err, ERR_INVALID, "--name takes letters, digits, - and ., and single _ inside, not '%s'", named);
    TRY(local_folder(cli, ".", &cwd, err));
    relay_gate_init(&proxy->gate, cli, &proxy->record);
    proxy->gate.cwd = str_of(cwd);
    proxy->gate.title = arena_printf(&cli->arena, "%.*s in %.*s", STR_ARG(proxy->name),
                                     STR_ARG(local_title(str_of(cwd))));
    const char *claude = getenv("CLAUDE_CODE_SESSION_ID");
    if (claude && claude[0]) {
        proxy->gate.agent = STR("claude");
        proxy->gate.agent_session = arena_str(&cli->arena, str_of(claude));
    }
    return RC_OK;
}

struct rc proxy_command(struct cli *cli, struct err *err)
{
    static struct proxy proxy = {.lock = PTHREAD_MUTEX_INITIALIZER, .listed = PTHREAD_COND_INITIALIZER};
    bool web = cli->settings.origins[SETTING_ID_url].kind == ORIGIN_FLAG;
    const char *url = web ? cli->settings.url : NULL; /* URL of the MCP server; Nod's own address is in the identity */
    proxy.cli = cli;
    if ((cli->argc > 0) == (url != NULL))
        return err_set(err, ERR_INVALID, "say which server: nod mcp proxy [OPTIONS] -- PROGRAM..., or --url URL");
    TRY(identity_load(cli, err));
    TRY(describe(&proxy, url, err));
    (void)signal(SIGPIPE, SIG_IGN);
    if (option_text(cli, "listen"))
        return proxy_listen(cli, option_text(cli, "listen"), url, err);
    relay_pipe_init(&proxy.client, STDOUT_FILENO);
    TRY(relay_record_start(&proxy.record, cli, err));
    TRY(url ? proxy_web_start(&proxy, url, err) : proxy_stdio_start(&proxy, cli->argv, err));
    TRY(proxy_list_start(&proxy, err));
    if (!relay_read_lines(STDIN_FILENO, PROXY_LINE_BYTES, proxy_from_client, &proxy))
        cli_note("nod mcp proxy: the client wrote a line of more than %d bytes; the proxy ends", PROXY_LINE_BYTES);
    (void)pthread_mutex_lock(&proxy.lock);
    bool first = !proxy.ending;
    proxy.ending = true;
    (void)pthread_mutex_unlock(&proxy.lock);
    while (!first)
        (void)pause(); /* the server has ended, too: the other thread ends the process */
    proxy_take_back(&proxy);
    proxy.back->end(&proxy);
    relay_record_end(&proxy.record);
    _exit(0);
}
