/* nod call: any script can ask.
 *
 * The call's id is made before anything is sent and goes with every attempt, so asking again is asking
 * about the same call: a restart of the server, or a connection lost at any moment, changes nothing.
 * SIGINT, SIGTERM and SIGHUP take the question back.
 */
#include "base/id.h"
#include "base/limits.h"
#include "cli/exits.h"
#include "cli/local.h"
#include "cli/take_back.h"
#include "cli/view.h"
#include "io/clock.h"

#include <unistd.h>

enum {
    WAIT_PIECE_S = 60,       /* longest wait of one request; proxies may cut longer ones */
    EARLY_US = 100000,
    BACKOFF_MS_MIN = 100,
    BACKOFF_MS_MAX = 5000,
    INTERRUPTED_STATUS = 130,
};

/* One `nod call`, over all its attempts. */
struct calling {
    struct cli *cli;
    struct str id, thread, body;
    const char *session;     /* the thread's session; may be NULL */
    bool waits;
    int64_t until_us;        /* 0: for ever */
    bool told_waiting, told_away;
};

/* ---- asking until there is an answer ---- */

static bool time_is_up(const struct calling *calling)
{
    return !calling->waits || (calling->until_us && clock_steady_us() >= calling->until_us);
}

/* A long wait is made of shorter ones: proxies cut connections that are silent for too long. */
static int64_t piece_seconds(const struct calling *calling)
{
    if (!calling->waits)
        return 0;
    if (!calling->until_us)
        return WAIT_PIECE_S;
    int64_t left = (calling->until_us - clock_steady_us() + 999999) / 1000000;
    return left < 0 ? 0 : left < WAIT_PIECE_S ? left : WAIT_PIECE_S;
}

/* The server is away: waits a little longer each time, never all at the same moment. */
static void back_off(struct calling *calling, int64_t *backoff_ms)
{
    uint32_t chance;
    CHECK(*backoff_ms >= BACKOFF_MS_MIN && *backoff_ms <= BACKOFF_MS_MAX);
    id_random(&chance, sizeof chance);
    if (!calling->told_away)
        cli_note("nod: the server at %s is away; trying again until it is back", remote_where(calling->cli));
    calling->told_away = true;
    (void)usleep((useconds_t)(*backoff_ms * 500 + (int64_t)(chance % 1000) * *backoff_ms / 2));
    *backoff_ms = *backoff_ms * 2 < BACKOFF_MS_MAX ? *backoff_ms * 2 : BACKOFF_MS_MAX;
}

/* Sends a request, again while the server is away. */
static struct rc insist(struct calling *calling, struct arena *arena, const struct query *query,
                        struct reply *ret_reply, struct err *err)
{
    int64_t backoff_ms = BACKOFF_MS_MIN;
    for (;;) {
        struct rc rc = remote_ask(calling->cli, arena, query, ret_reply, err);
        if (rc_ok(rc) || !remote_passing(rc) || time_is_up(calling))
            return rc;
        back_off(calling, &backoff_ms);
    }
}

/* Asks, and as long as there is time asks again; the last answer is in the command's arena. */
static struct rc ask_until_answered(struct calling *calling, struct reply *ret_reply, struct err *err)
{
    struct cli *cli = calling->cli;
    CHECK(calling->id.n > 0 && calling->body.n > 0);
    for (;;) {
        ARENA_SCOPE(arena);
        struct query query = {.method = "POST", .body = calling->body};
        /* The first attempt does not wait, so that the person can be told whom to answer. */
        query.wait_seconds = calling->told_waiting ? piece_seconds(calling) : 0;
        query.target = arena_printf(&arena, "/api/threads/%s/tool-calls?wait=%lld%s",
                                    remote_escape(&arena, calling->thread).p, (long long)query.wait_seconds,
                                    calling->waits && !calling->until_us ? "&withdraw=1" : "");
        int64_t from_us = clock_steady_us();
        TRY(insist(calling, &arena, &query, ret_reply, err));
        bool awaiting = str_is(json_text(ret_reply->json, "status"), "awaiting");
        if (!awaiting || time_is_up(calling)) {
            ret_reply->body = arena_str(&cli->arena, ret_reply->body);
            return json_parse(&cli->arena, ret_reply->body, &ret_reply->json, err);
        }
        if (!calling->told_waiting)
            cli_note("waiting for an answer: nod approve %.*s", STR_ARG(text_operand(&cli->arena, calling->id)));
        calling->told_waiting = true;
        /* A server on its way out answers early: do not press it. */
        if (query.wait_seconds && clock_steady_us() - from_us < EARLY_US)
            (void)usleep(EARLY_US);
    }
}

/* ---- where to ask ---- */

static struct rc thread_of_session(struct calling *calling, const char *session, struct err *err)
{
    struct cli *cli = calling->cli;
    struct query query = {.method = "GET"};
    struct reply reply;
    query.target =
        arena_printf(&cli->arena, "/api/sessions/%s", remote_escape(&cli->arena, str_of(session)).p);
    TRY(insist(calling, &cli->arena, &query, &reply, err));
    calling->session = session;
    calling->thread = json_text(reply.json, "threadId");
    return RC_OK;
}

/* A call without a session gets one of its own, named after the folder. */
static struct rc thread_of_new_session(struct calling *calling, const char *cwd, struct err *err)
{
    struct cli *cli = calling->cli;
    struct reply reply;
    struct str body = json_object_str(&cli->arena, J("title", local_title(str_of(cwd))), J("cwd", cwd));
    struct query query = {.method = "POST", .target = STR("/api/sessions"), .body = body};
    TRY(insist(calling, &cli->arena, &query, &reply, err));
    calling->session = arena_c(&cli->arena, json_text(reply.json, "id"));
    calling->thread = json_text(reply.json, "threadId");
    return RC_OK;
}

/* --thread, --session, NOD_SESSION, the session a token is bound to, a new one. */
static struct rc find_thread(struct calling *calling, const char *cwd, struct err *err)
{
    struct cli *cli = calling->cli;
    struct query me = {.method = "GET", .target = STR("/api/me")};
    struct reply reply;
    const char *session = option_text(cli, "session");
    if (option_text(cli, "thread")) {
        calling->thread = str_of(option_text(cli, "thread"));
        return RC_OK;
    }
    if (!session && cli->settings.session[0])
        session = cli->settings.session;
    if (session)
        return thread_of_session(calling, session, err);
    TRY(insist(calling, &cli->arena, &me, &reply, err));
    struct str bound = json_text(reply.json, "sessionId");
    if (!str_empty(bound))
        return thread_of_session(calling, arena_c(&cli->arena, bound), err);
    return thread_of_new_session(calling, cwd, err);
}

/* ---- the answer ---- */

static int exit_of(struct str status)
{
    static const struct {
        enum call_status status;
        int exit;
    } exits[] = {
#define X(name, exit, words) {CALL_##name, exit},
        CALL_EXITS(X)
#undef X
    };
    return ROW_VALUE(exits, row, str_is(status, call_status_name(row->status)), row->exit, err_exit(ERR_INTERNAL));
}

/* `allow_once by alice: RULE`. Scripts read it: the decision has its name on the wire. */
static struct str decision_of(struct arena *arena, const struct json *object)
{
    const struct json *by = json_get(object, "decidedBy");
    struct str decision = text_line(arena, json_text(object, "decision"));
    struct str actor = json_text(by ? by : object, "actor");
    struct str kind = json_text(by, "kind");
    struct str rule = json_text(by, "rule");
    struct str who = text_line(arena, str_empty(actor) ? kind : actor);
    if (str_empty(who))
        return decision;
    if (!str_empty(rule))
        return arena_printf(arena, "%.*s by %.*s: %.*s", STR_ARG(decision), STR_ARG(who),
                            STR_ARG(text_line(arena, rule)));
    return arena_printf(arena, "%.*s by %.*s", STR_ARG(decision), STR_ARG(who));
}

/* On standard output, since scripts read it: a changed input is the one that must be run. */
static void tell(struct cli *cli, const struct json *json)
{
    BUF_SCOPE(buf, TEXT_BYTES_MAX);
    struct arena *arena = &cli->arena;
    struct str decision = decision_of(arena, json);
    struct str feedback = json_text(json, "feedback");
    const struct json *edited = json_get(json, "updatedInput");
    buf_put(&buf, text_line(arena, json_text(json, "status")));
    if (!str_empty(decision))
        buf_printf(&buf, " (%.*s)", STR_ARG(decision));
    buf_putc(&buf, '\n');
    if (!str_empty(feedback))
        buf_printf(&buf, "feedback: %.*s\n", STR_ARG(text_line(arena, feedback)));
    if (edited && edited->type == JSON_OBJECT)
        buf_printf(&buf, "the input was edited, run this instead: %.*s\n",
                   STR_ARG(text_line(arena, edited->raw)));
    cli_out(buf_str(&buf));
    if (str_is(json_text(json, "status"), "awaiting"))
        cli_note("still waiting for an answer: nod approve %s",
                 text_operand(arena, text_line(arena, json_text(json, "toolCallId"))).p);
}

/* The body of the call with its id: every attempt sends the same bytes. */
static struct rc prepare(struct calling *calling, const char **ret_cwd, struct err *err)
{
    struct cli *cli = calling->cli;
    const char *id = option_text(cli, "id");
    const char *cwd = option_text(cli, "cwd");
    const struct json *input;
    int64_t wait_seconds = 0;
    CHECK(cli->argc == 2);
    TRY(local_input(cli, cli->argv[1], &input, err));
    TRY(local_folder(cli, cwd ? cwd : ".", ret_cwd, err));
    TRY(option_time(cli, "wait", LIMIT_TIMEOUT_SECONDS, &wait_seconds, err));
    calling->waits = option_flag(cli, "wait");
    if (option_text(cli, "wait"))
        calling->until_us = clock_steady_us() + wait_seconds * 1000000;
    calling->id = arena_str(&cli->arena, str_of(id ? id : id_new("call").text));
    JSON_SCOPE(body, out, LIMIT_BODY_BYTES);
    json_object(&out, J("id", calling->id), J("name", cli->argv[0]), J_RAW("input", input->raw), J("cwd", *ret_cwd));
    if (body.over)
        return err_set(err, ERR_TOO_LARGE, "the input is larger than the server takes");
    calling->body = arena_str(&cli->arena, buf_str(&body));
    return RC_OK;
}

/* The exit status is the decision, for scripts. A call that nobody waits for any more (Ctrl-C, SIGTERM) is taken
 * back. */
struct rc call_command(struct cli *cli, struct err *err)
{
    struct calling calling = {.cli = cli};
    struct reply reply;
    const char *cwd;
    TRY(prepare(&calling, &cwd, err));
    if (calling.waits) /* an unreachable server is an error at first; once connected, it is waited for */
        TRY(remote_get(cli, STR("/healthz"), &reply, err));
    TRY(find_thread(&calling, cwd, err));
    if (str_empty(calling.thread))
        return err_set(err, ERR_INTERNAL, "%s does not answer like a nod server", remote_where(cli));
    struct taking_back back = {.call = calling.id, .session = calling.session, .status = INTERRUPTED_STATUS};
    if (calling.waits)
        TRY(take_back_on_end(cli, &back, err));
    struct rc rc = ask_until_answered(&calling, &reply, err);
    take_back_over();
    TRY(rc);
    if (!remote_printed(cli, &reply))
        tell(cli, reply.json);
    cli->status = exit_of(json_text(reply.json, "status"));
    return RC_OK;
}
