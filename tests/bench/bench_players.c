/* Who plays in a measurement: an agent that asks, a person who answers. Real tokens and real sessions, given
 * back at the end; their events stay in the log, as everything does. */
#include "bench/bench.h"

#include "base/json.h"
#include "cli/remote.h"
#include "http/http.h"

enum { INPUT_BYTES = 1024, ANSWER_MS_MAX = 30000, PAGE_EVENTS = 1000 };

/* ---- tokens ---- */

static struct rc make_token(struct bench *bench, const char *role, const char **ret_token,
                            struct http_client **ret_client, struct err *err)
{
    struct reply reply;
    struct str body = arena_printf(bench->arena, "{\"role\":\"%s\",\"name\":\"bench %s\"}", role, role);
    struct rc rc = remote_post(bench->cli, STR("/api/tokens"), body, &reply, err);
    if (rc.code == ERR_FORBIDDEN)
        return err_set(err, ERR_FORBIDDEN, "nod bench makes tokens of its own: it needs an admin's");
    TRY(rc);
    CHECK(bench->token_count < 2);
    bench->token_ids[bench->token_count++] = json_text(reply.json, "id");
    *ret_token = arena_c(bench->arena, json_text(reply.json, "token"));
    return http_client_new(bench->cli->settings.url, *ret_token, ret_client, err);
}

struct rc players_come(struct bench *bench, struct err *err)
{
    if (bench->agent)
        return RC_OK;
    TRY(place_find(bench->cli->settings.url, &bench->place, err));
    TRY(make_token(bench, "agent", &bench->agent_token, &bench->agent, err));
    return make_token(bench, "approver", &bench->person_token, &bench->person, err);
}

void players_leave(struct bench *bench)
{
    for (unsigned i = 0; i < bench->token_count && !bench->keep; i++) { /* calls of a revoked token are withdrawn */
        struct reply reply;
        struct err err;
        struct query query = {.method = "DELETE"};
        query.target = arena_printf(bench->arena, "/api/tokens/%.*s", STR_ARG(bench->token_ids[i]));
        if (rc_bad(remote_ask(bench->cli, bench->arena, &query, &reply, &err)))
            cli_note("the token %.*s is not revoked: %s", STR_ARG(bench->token_ids[i]), err.text);
    }
    if (bench->agent)
        http_client_free(bench->agent);
    if (bench->person)
        http_client_free(bench->person);
    bench->token_count = 0;
    bench->agent = bench->person = NULL;
}

/* ---- sessions ---- */

static struct rc ask(struct http_client *client, struct arena *arena, const char *method, struct str target,
                     struct str body, const struct json **ret_answer, struct err *err)
{
    struct http_response response;
    TRY(http_client_call(client, arena, method, target, body, ANSWER_MS_MAX, &response, err));
    if (response.status / 100 != 2)
        return err_set(err, ERR_INTERNAL, "the server answered %d: %.*s", response.status,
                       (int)(response.body.n < 200 ? response.body.n : 200), response.body.p);
    return json_parse(arena, response.body, ret_answer, err);
}

struct rc players_sit(struct bench *bench, struct seat *ret_seat, struct err *err)
{
    const struct json *answer;
    struct str settings = STR("{\"title\":\"nod bench\",\"cwd\":\"/\",\"toolPolicies\":{\"Bash\":\"ask\"}}");
    TRY(ask(bench->agent, bench->arena, "POST", STR("/api/sessions"), settings, &answer, err));
    ret_seat->session = json_text(answer, "id");
    ret_seat->thread = json_text(answer, "threadId");
    if (str_empty(ret_seat->session) || str_empty(ret_seat->thread))
        return err_set(err, ERR_INTERNAL, "the server made a session without an id");
    return RC_OK;
}

/* One page of the session's events of these types; *after moves on. */
static struct rc read_page(struct bench *bench, const struct seat *seat, const char *types, uint64_t *after,
                           unsigned *ret_count, struct err *err)
{
    ARENA_SCOPE(page);
    const struct json *answer;
    int64_t next = 0;
    struct str target = arena_printf(&page, "/api/events?session=%.*s&types=%s&after=%llu&limit=%d",
                                     STR_ARG(seat->session), types, (unsigned long long)*after, PAGE_EVENTS);
    TRY(ask(bench->person, &page, "GET", target, STR_NONE, &answer, err));
    const struct json *events = json_get(answer, "events");
    if (!events || !json_i64(json_get(answer, "next"), &next))
        return err_set(err, ERR_INTERNAL, "the server's page of events is none");
    *ret_count = events->count;
    *after = (uint64_t)next;
    return RC_OK;
}

struct rc players_count(struct bench *bench, const struct seat *seat, uint64_t *ret_count, struct err *err)
{
    uint64_t after = 0;
    unsigned count = 0;
    *ret_count = 0;
    do {
        TRY(read_page(bench, seat, "TOOL_APPROVAL_REQUEST", &after, &count, err));
        *ret_count += count;
    } while (count);
    return RC_OK;
}

struct rc players_position(struct bench *bench, const struct seat *seat, uint64_t *ret_seq, struct err *err)
{
    unsigned count;
    *ret_seq = 0;
    return read_page(bench, seat, "SESSION_CHANGED", ret_seq, &count, err);
}

/* ---- requests ---- */

void players_request(struct buf *out, const struct bench *bench, const char *token, const char *what,
                     struct str body)
{
    buf_printf(out, "%s HTTP/1.1\r\nHost: %s\r\n", what, bench->place.host);
    buf_printf(out, "Authorization: Bearer %s\r\n", token);
    if (body.n)
        buf_puts(out, "Content-Type: application/json\r\n");
    if (body.n || str_starts(str_of(what), STR("POST")))
        buf_printf(out, "Content-Length: %zu\r\n", body.n);
    buf_puts(out, "\r\n");
    buf_put(out, body);
    CHECK(!out->over);
}

/* What an agent might send: one command with a long text in it, a word why, a number. */
static void put_input(struct buf *out)
{
    static const char line[] = "- the test of the parser no longer depends on \\\"today\\\", it has a clock\\n";
    static const char end[] = "'\",\"description\":\"Commit what is staged\",\"timeout\":120000}";
    size_t from = out->n;
    buf_puts(out, "{\"command\":\"git commit -m 'parser: dates of other years\\n\\n");
    while (out->n - from + sizeof line + sizeof end < INPUT_BYTES)
        buf_puts(out, line);
    while (out->n - from + sizeof end - 1 < INPUT_BYTES)
        buf_putc(out, '.');
    buf_puts(out, end);
    CHECK(out->n - from == INPUT_BYTES);
}

void players_call(struct buf *out, const struct bench *bench, const struct seat *seat, unsigned who,
                  size_t *ret_digits_at)
{
    BUF_SCOPE(body, REQUEST_BYTES_MAX);
    BUF_SCOPE(what, REQUEST_BYTES_MAX);
    buf_printf(&body, "{\"id\":\"bench-%04x-", who);
    size_t digits_at = body.n;
    buf_puts(&body, "00000000\",\"name\":\"Bash\",\"input\":");
    put_input(&body);
    buf_puts(&body, ",\"cwd\":\"/\"}");
    buf_printf(&what, "POST /api/threads/%.*s/tool-calls", STR_ARG(seat->thread));
    players_request(out, bench, bench->agent_token, buf_c(&what), buf_str(&body));
    *ret_digits_at = out->n - body.n + digits_at;
}
