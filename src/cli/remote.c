/* The server as commands see it (remote.h): one client per command, made at the first question. */
#include "cli/remote.h"
#include "cli/text.h"

#include "base/limits.h"
#include "cli/identity.h"
#include "http/http.h"
#include "io/file.h"

enum { TOKEN_BYTES_MAX = 4096, ANSWER_MS_MAX = 30000 };

const char *remote_where(const struct cli *cli)
{
    const char *url = cli->settings.url;
    CHECK(url);
    return str_starts(str_of(url), STR("unix:")) ? url + 5 : url;
}

/* Whether the URL leads to this machine: a Unix socket or a loopback address. */
static bool stays_here(const char *url)
{
    static const char *const hosts[] = {"127.0.0.1", "localhost", "[::1]"};
    struct str rest = str_of(url);
    if (str_starts(rest, STR("unix:")))
        return true;
    if (!str_starts(rest, STR("http://")))
        return false;
    rest = str_sub(rest, 7, rest.n);
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        struct str host = str_of(hosts[i]);
        if (str_starts(rest, host) && (rest.n == host.n || rest.p[host.n] == ':' || rest.p[host.n] == '/'))
            return true;
    }
    return false;
}

static struct rc check_token(const char *from, struct str token, struct err *err)
{
    for (size_t i = 0; i < token.n; i++)
        if (token.p[i] <= ' ' || token.p[i] > '~')
            return err_set(err, ERR_INVALID, "%s does not hold a token", from);
    if (str_empty(token))
        return err_set(err, ERR_INVALID, "%s is empty, it should hold a token", from);
    return RC_OK;
}

/* *ret_token is NULL when no token is found: the request is sent without one, and the server's error is shown. */
static struct rc find_token(struct cli *cli, const char **ret_token, struct err *err)
{
    const struct settings *settings = &cli->settings;
    enum origin_kind file_from = settings->origins[SETTING_ID_token_file].kind;
    enum origin_kind data_from = settings->origins[SETTING_ID_data].kind;
    struct str text;
    *ret_token = NULL;
    if (settings->token[0] && file_from != ORIGIN_FLAG) {
        *ret_token = settings->token;
        return check_token("NOD_TOKEN", str_of(settings->token), err);
    }
    if (file_from == ORIGIN_DEFAULT && data_from == ORIGIN_DEFAULT && !stays_here(settings->url))
        return err_set(err, ERR_UNAUTHENTICATED,
                       "no token for %s: set NOD_TOKEN or --token-file (the one in %s is for this machine)",
                       settings->url, settings->data);
    struct err why = {0};
    struct rc rc = file_read(&cli->arena, settings->token_file, TOKEN_BYTES_MAX, &text, &why);
    if (rc.code == ERR_NOT_FOUND && file_from == ORIGIN_DEFAULT)
        return RC_OK;
    if (rc_bad(rc))
        return err_set(err, ERR_UNAUTHENTICATED, "the token: %s", why.text);
    text = str_trim(text);
    TRY(check_token(settings->token_file, text, err));
    *ret_token = arena_c(&cli->arena, text);
    return RC_OK;
}

/* With an identity nothing else counts: no token and no address from the settings. */
struct rc remote_client(struct cli *cli, struct http_client **ret_client, struct err *err)
{
    const char *token;
    struct str url = str_of(cli->settings.url);
    CHECK(url.p); /* settings have been loaded */
    if (!str_starts(url, STR("unix:")) && !str_starts(url, STR("http://")))
        return err_set(err, ERR_INVALID, "the server's url must be http://HOST:PORT or unix:PATH, not '%s'",
                       url.p);
    if (cli->identity) {
        TRY(http_client_new(cli->identity->address, NULL, ret_client, err));
        http_client_identify(*ret_client, &cli->identity->http);
        return RC_OK;
    }
    TRY(find_token(cli, &token, err));
    return http_client_new(cli->settings.url, token, ret_client, err);
}

bool remote_passing(struct rc rc)
{
    return rc.code == ERR_UNAVAILABLE || rc.code == ERR_TIMEOUT || rc.code == ERR_TOO_MANY;
}

/* The server's words become ours. */
static struct rc refused(struct cli *cli, struct arena *arena, const struct reply *reply, struct err *err)
{
    const struct json *error = json_get(reply->json, "error");
    struct str message = json_text(error, "message");
    enum err_code code = err_from_wire(arena_c(arena, json_text(error, "code")));
    if (!error || code == ERR_OK)
        return err_set(err, reply->status == 503 ? ERR_UNAVAILABLE : ERR_INTERNAL,
                       "the server at %s answered with status %d and no reason", remote_where(cli),
                       reply->status);
    if (code == ERR_UNAUTHENTICATED && cli->identity)
        return err_set(err, code, "%.*s; it is the one in %s", STR_ARG(message), cli->identity->path);
    if (code == ERR_UNAUTHENTICATED && cli->settings.token[0])
        return err_set(err, code, "%.*s; see NOD_TOKEN and --token-file", STR_ARG(message));
    if (code == ERR_UNAUTHENTICATED)
        return err_set(err, code, "%.*s; the token comes from NOD_TOKEN, --token-file or %s",
                       STR_ARG(message), cli->settings.token_file);
    return err_set(err, code, "%.*s", STR_ARG(message));
}

/* Rewrites the client's error: only its last part, the reason, is kept. */
static struct rc report_unreachable(const struct cli *cli, struct rc rc, struct err *err)
{
    if (rc.code != ERR_UNAVAILABLE || !err)
        return rc;
    struct err whole = *err;
    const char *why = whole.text;
    for (const char *colon; (colon = strstr(why, ": "));)
        why = colon + 2;
    return err_set(err, ERR_UNAVAILABLE, "no nod server at %s: start it with `nod serve` (%.200s)",
                   remote_where(cli), why);
}

/* Blocks. An answer of 400 and more becomes an error with the server's words. */
struct rc remote_ask(struct cli *cli, struct arena *arena, const struct query *query,
                     struct reply *ret_reply, struct err *err)
{
    struct http_response response = {0};
    int64_t timeout_ms = ANSWER_MS_MAX + query->wait_seconds * 1000;
    CHECK(query->method && query->target.n > 0);
    if (!cli->client)
        TRY(remote_client(cli, &cli->client, err));
    struct rc rc = http_client_call(cli->client, arena, query->method, query->target, query->body,
                                    timeout_ms, &response, err);
    if (rc_bad(rc))
        return report_unreachable(cli, rc, err);
    struct reply reply = {.status = response.status, .body = response.body};
    if (rc_bad(json_parse(arena, response.body, &reply.json, NULL)))
        reply.json = NULL;
    *ret_reply = reply;
    if (response.status >= 400)
        return refused(cli, arena, &reply, err);
    if (!reply.json)
        return err_set(err, ERR_INTERNAL, "%s does not answer like a nod server", remote_where(cli));
    return RC_OK;
}

struct rc remote_get(struct cli *cli, struct str target, struct reply *ret_reply, struct err *err)
{
    return remote_ask(cli, &cli->arena, &(struct query){.method = "GET", .target = target}, ret_reply, err);
}

struct rc remote_post(struct cli *cli, struct str target, struct str body, struct reply *ret_reply,
                      struct err *err)
{
    struct query query = {.method = "POST", .target = target, .body = body};
    return remote_ask(cli, &cli->arena, &query, ret_reply, err);
}

void remote_print(const struct reply *reply)
{
    BUF_SCOPE(safe, LIMIT_ANSWER_BYTES);
    text_raw_json(&safe, reply->body);
    cli_out(buf_str(&safe));
    if (!str_ends(reply->body, STR("\n")))
        cli_out(STR("\n"));
}

bool remote_printed(const struct cli *cli, const struct reply *reply)
{
    if (cli->json)
        remote_print(reply);
    return cli->json;
}

/* Everything but letters, digits and a few marks, so that an id of an agent cannot become another path. */
struct str remote_escape(struct arena *arena, struct str text)
{
    static const char plain[] = "-._~";
    char *out = arena_bytes(arena, text.n * 3 + 1);
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (letter || (c && strchr(plain, c))) {
            out[n++] = (char)c;
        } else {
            out[n++] = '%';
            out[n++] = "0123456789ABCDEF"[c >> 4];
            out[n++] = "0123456789ABCDEF"[c & 15];
        }
    }
    CHECK(n <= text.n * 3);
    out[n] = '\0';
    return (struct str){out, n};
}

void remote_close(struct cli *cli)
{
    if (cli->client)
        http_client_free(cli->client);
    cli->client = NULL;
}
