/* From settings to models: which providers there are, with which keys. A key is read from the environment or a
 * file, goes into requests and nowhere else. */
#include "base/log.h"
#include "box/supervisor.h"
#include "cli/cli.h"
#include "gate/gate.h"
#include "io/file.h"
#include "runtime/runtime.h"
#include "serve/serve.h"
#include "tools/tools.h"

bool serve_supervisor(int argc, char **argv) { return supervisor_main(argc, argv); }

enum { KEY_BYTES_MAX = 4096 };

/* `ret_key` is the key itself where there is one, else the content of its file, without the line's end; both may be
 * empty. */
static struct rc read_key(struct cli *cli, const char *key, const char *file, const char **ret_key, struct err *err)
{
    struct str text;
    *ret_key = key;
    if (key[0] || !file[0])
        return RC_OK;
    struct rc rc = file_read(&cli->arena, file, KEY_BYTES_MAX, &text, err);
    if (rc_bad(rc))
        return err_wrap(err, rc, "the key of a model");
    *ret_key = arena_c(&cli->arena, str_trim(text));
    return RC_OK;
}

/* Removes a slash at the end of the URL. */
static const char *base_url(struct cli *cli, const char *url)
{
    struct str text = str_of(url);
    while (text.n && text.p[text.n - 1] == '/')
        text.n--;
    return arena_c(&cli->arena, text);
}

/* A provider without a key, or an address of one's own, is left out. */
static struct rc add_provider(struct cli *cli, struct str name, struct runtime_options *options, struct err *err)
{
    const struct settings *s = &cli->settings;
    struct provider_options provider = {0};
    bool own_url;
    if (str_is(name, "anthropic")) {
        provider = (struct provider_options){"anthropic", base_url(cli, s->anthropic_url), s->anthropic_model, ""};
        TRY(read_key(cli, s->anthropic_key, s->anthropic_key_file, &provider.key, err));
        own_url = s->origins[SETTING_ID_anthropic_url].kind != ORIGIN_DEFAULT;
    } else if (str_is(name, "openai")) {
        provider = (struct provider_options){"openai", base_url(cli, s->openai_url), s->openai_model, ""};
        TRY(read_key(cli, s->openai_key, s->openai_key_file, &provider.key, err));
        own_url = s->origins[SETTING_ID_openai_url].kind != ORIGIN_DEFAULT;
    } else {
        return err_set(err, ERR_INVALID, "providers: '%.*s' is not known; use anthropic or openai", STR_ARG(name));
    }
    if (!provider.model[0] || (!provider.key[0] && !own_url))
        return RC_OK;
    if (options->provider_count == PROVIDERS_MAX)
        return err_set(err, ERR_INVALID, "providers: at most %d", PROVIDERS_MAX);
    options->providers[options->provider_count++] = provider;
    return RC_OK;
}

/* With SQLite no other process can work on a run, so that its lease need not run out before this one takes it up. */
struct rc runs_open(struct cli *cli, struct loop *loop, struct gate *gate, struct runtime **ret_runtime,
                    struct err *err)
{
    const struct settings *settings = &cli->settings;
    struct runtime_options options = {
        .gate = gate,
        .iterations_max = settings->max_iterations,
        .context_tokens = settings->context_tokens,
        .answer_tokens = settings->answer_tokens,
        .parallel_tools = settings->parallel_tools,
        .web_search = settings->web_search,
        .lease_seconds = settings->run_lease_s,
        .only_process = str_starts(str_of(settings->store), STR("sqlite:")),
    };
    if (settings->prices.count > PRICES_MAX)
        return err_set(err, ERR_INVALID, "prices: at most %d", PRICES_MAX);
    for (size_t i = 0; i < settings->prices.count; i++)
        TRY(price_parse(str_of(settings->prices.items[i]), &options.prices[options.price_count++], err));
    for (size_t i = 0; i < settings->providers.count; i++)
        TRY(add_provider(cli, str_of(settings->providers.items[i]), &options, err));
    *ret_runtime = runtime_new(loop, &options);
    return RC_OK;
}
