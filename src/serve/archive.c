/* `nod archive`: by the server when one runs, else here. */
#include "base/json.h"
#include "base/limits.h"
#include "cli/remote.h"
#include "gate/gate.h"
#include "io/clock.h"
#include "serve/serve.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>

enum { SERVER_SECONDS_MAX = 24 * 3600 }; /* a large store takes its time */

const char *archive_folder(struct cli *cli)
{
    return arena_printf(&cli->arena, "%s/archive", cli->settings.data).p;
}

static void print_result(const struct archive_result *result)
{
    if (result->file[0] == '\0') {
        (void)printf("nothing to archive\n");
        return;
    }
    (void)printf("ok: %llu sessions with %llu events are in %s now\n", (unsigned long long)result->sessions,
                 (unsigned long long)result->events, result->file);
    if (result->stayed)
        (void)printf("%llu sessions stayed: something happened in them meanwhile\n",
                     (unsigned long long)result->stayed);
}

static void print_json(const struct archive_result *result)
{
    JSON_SCOPE(buf, out, LIMIT_PATH_BYTES * 2);
    gate_archive_write(&out, result);
    buf_putc(&buf, '\n');
    cli_out(buf_str(&buf));
}

static uint64_t number(const struct json *json, const char *key)
{
    int64_t value = 0;
    (void)json_i64(json_get(json, key), &value);
    return (uint64_t)value;
}

/* `*ret_there`: a server answered, whatever it said. */
static struct rc ask_server(struct cli *cli, int64_t seconds, struct archive_result *ret_result, bool *ret_there,
                            struct err *err)
{
    struct reply reply = {0};
    struct query query = {
        .method = "POST", .target = STR("/api/archive"), .wait_seconds = SERVER_SECONDS_MAX,
        .body = arena_printf(&cli->arena, "{\"olderThanSeconds\":%lld}", (long long)seconds),
    };
    struct rc rc = remote_ask(cli, &cli->arena, &query, &reply, err);
    *ret_there = reply.status != 0 || rc.code != ERR_UNAVAILABLE;
    TRY(rc);
    *ret_result = (struct archive_result){.sessions = number(reply.json, "sessions"),
                                          .events = number(reply.json, "events"),
                                          .stayed = number(reply.json, "stayed")};
    (void)snprintf(ret_result->file, sizeof ret_result->file, "%.*s", STR_ARG(json_text(reply.json, "path")));
    return RC_OK;
}

/* No server answered: this process opens the store. With SQLite it holds the lock of the data folder, so that no server
 * starts meanwhile. */
static struct rc archive_here(struct cli *cli, int64_t seconds, struct archive_result *ret_result, struct err *err)
{
    int64_t now_ms = clock_wall_ms();
    const char *user = getenv("USER");
    struct archiving archiving = {.url = cli->settings.store, .folder = archive_folder(cli),
                                  .until_ms = now_ms - seconds * 1000, .actor = user ? user : "nod"};
    return store_archive(&archiving, now_ms, ret_result, err);
}

/* The server archives if it answers, else this command does; a server that was named by --url must be there. */
struct rc archive_command(struct cli *cli, struct err *err)
{
    struct archive_result result = {0};
    int64_t seconds = -1;
    bool there = false;
    TRY(option_time(cli, "older-than", INT32_MAX, &seconds, err));
    if (seconds < 0)
        return err_set(err, ERR_INVALID, "say --older-than, for example --older-than 30d");
    struct rc rc = ask_server(cli, seconds, &result, &there, err);
    /* A server named in the settings must be used; the one of the data folder may be down. */
    if (!there && cli->settings.origins[SETTING_ID_url].kind == ORIGIN_DEFAULT)
        rc = archive_here(cli, seconds, &result, err);
    TRY(rc);
    if (cli->json)
        print_json(&result);
    else
        print_result(&result);
    return RC_OK;
}
