/* A relay's questions on their way to the gate and back. Each has a connection of its own while it waits: when this
 * process dies, the server sees that end and takes the question back. */
#include "cli/relay/relay.h"

#include "agents/agents.h"
#include "base/limits.h"
#include "base/lock.h"
#include "cli/remote.h"
#include "http/http.h"

#include <unistd.h>

enum {
    PIECE_S = 8,
    ANSWER_MS_MORE = 30000,
    AWAY_US = 300000,
    REPORT_BYTES_MAX = 900 << 10,
};

void relay_gate_init(struct relay_gate *gate, struct cli *cli, struct relay_record *record)
{
    gate->cli = cli;
    gate->record = record;
    (void)pthread_mutex_init(&gate->lock, NULL);
}

/* ---- the session ---- */

static struct str session_body(struct relay_gate *gate)
{
    return json_object_str(&gate->cli->arena, J("title", gate->title), J("cwd", gate->cwd), J("agent", gate->agent),
                           J("agentSession", gate->agent_session));
}

/* The session that the token is bound to, the one that was named, or a new one. */
static struct rc find_session(struct relay_gate *gate, struct err *err)
{
    struct cli *cli = gate->cli;
    struct reply reply;
    TRY(remote_get(cli, STR("/api/me"), &reply, err));
    struct str named = json_text(reply.json, "sessionId");
    if (cli->settings.session[0])
        named = str_of(cli->settings.session);
    if (str_empty(named))
        TRY(remote_post(cli, STR("/api/sessions"), session_body(gate), &reply, err));
    else
        TRY(remote_get(cli, arena_printf(&cli->arena, "/api/sessions/%s", remote_escape(&cli->arena, named).p),
                       &reply, err));
    gate->session = json_text(reply.json, "id");
    gate->thread = json_text(reply.json, "threadId");
    return str_empty(gate->thread) ? err_set(err, ERR_INTERNAL, "%s does not answer like a nod server",
                                             remote_where(cli))
                                   : RC_OK;
}

struct rc relay_gate_session(struct relay_gate *gate, struct err *err)
{
    LOCK_SCOPE(&gate->lock);
    return str_empty(gate->thread) ? find_session(gate, err) : RC_OK;
}

/* ---- connections ---- */

/* A connection is used by one thread at a time. Idle ones are kept, because each question would otherwise begin with
 * a new one. */
static struct rc take_client(struct relay_gate *gate, struct http_client **ret_client, struct err *err)
{
    struct http_client *client = NULL;
    (void)pthread_mutex_lock(&gate->lock);
    if (gate->idle_count)
        client = gate->idle[--gate->idle_count];
    struct rc rc = client ? RC_OK : remote_client(gate->cli, &client, err);
    (void)pthread_mutex_unlock(&gate->lock);
    *ret_client = client;
    return rc;
}

static void give_client(struct relay_gate *gate, struct http_client *client)
{
    (void)pthread_mutex_lock(&gate->lock);
    bool room = gate->idle_count < RELAY_IDLE_MAX;
    if (room)
        gate->idle[gate->idle_count++] = client;
    (void)pthread_mutex_unlock(&gate->lock);
    if (!room)
        http_client_free(client);
}

/* ---- one question ---- */

static bool is_cancelled(const struct relay_ask *ask) { return ask->cancelled && atomic_load(ask->cancelled); }

/* One request that waits at most `wait_s` for the answer. ERR_UNAVAILABLE: the server could not be reached or is busy,
 * so that the same request is to be sent again. */
static struct rc attempt(struct relay_ask *ask, struct http_client *client, int wait_s, struct err *err)
{
    ARENA_SCOPE(arena);
    struct http_response response = {0};
    const struct json *answer = NULL;
    struct str target = arena_printf(&arena, "/api/threads/%.*s/%s?withdraw=1&wait=%d%s",
                                     STR_ARG(ask->gate->thread), ask->route, wait_s,
                                     ask->body.n > LIMIT_BODY_BYTES ? "&large=1" : "");
    struct rc rc = http_client_call(client, &arena, "POST", target, ask->body, wait_s * 1000 + ANSWER_MS_MORE,
                                    &response, err);
    if (rc.code == ERR_TIMEOUT || (rc_ok(rc) && (response.status == 503 || response.status == 429)))
        return err_set(err, ERR_UNAVAILABLE, "the server is busy");
    TRY(rc);
    TRY(json_parse(&arena, response.body, &answer, err));
    if (response.status != 200)
        return err_set(err, ERR_FORBIDDEN, "the server refuses it with status %d: %.*s", response.status,
                       STR_ARG(json_text(json_get(answer, "error"), "message")));
    ask->call.status = CALL_AWAITING;
    if (str_is(json_text(answer, "status"), call_status_name(CALL_AWAITING)))
        return RC_OK;
    return agent_call_read(ask->arena, answer, &ask->call, err);
}

/* The first attempt does not wait: from its answer on we know that the server has the question. It may have it, too,
 * when the connection ends before that answer: only a server that is not there at first is an error. */
static struct rc wait_on(struct relay_ask *ask, struct http_client *client, struct err *err)
{
    bool heard = false;
    while (!is_cancelled(ask)) {
        struct rc rc = attempt(ask, client, heard ? PIECE_S : 0, err);
        heard = heard || http_client_cut(client);
        if (rc.code == ERR_UNAVAILABLE && !heard)
            return err_set(err, rc.code, "there is no nod server at %s; start it with `nod serve`",
                           remote_where(ask->gate->cli));
        if (rc.code == ERR_UNAVAILABLE) {
            (void)usleep(AWAY_US);
            continue;
        }
        TRY(rc);
        heard = true;
        if (ask->call.status != CALL_AWAITING)
            return RC_OK;
        if (ask->waits && !is_cancelled(ask))
            ask->waits(ask->arg);
    }
    return err_set(err, ERR_CONFLICT, "it was taken back");
}

/* Blocks this thread until there is an answer. A question that nobody waits for any more is withdrawn. */
struct rc relay_ask(struct relay_ask *ask, struct err *err)
{
    struct http_client *client;
    TRY(take_client(ask->gate, &client, err));
    struct rc rc = wait_on(ask, client, err);
    give_client(ask->gate, client);
    if (is_cancelled(ask) || rc.code == ERR_UNAVAILABLE) /* no question can arrive after this */
        relay_ask_cancel(ask->gate, ask->id);
    return rc;
}

void relay_put_question(struct json_out *out, const struct relay_question *question)
{
    json_object(out, J("id", question->id), J("name", question->name), J_RAW("input", question->input),
                J("dialect", question->dialect), J("cwd", question->cwd), J("source", question->source),
                J("byDefault", question->by_default), J_BOOL("onlyRules", question->only_rules));
}

/* A call that is too large to be shown is an error, and so refused: nobody can approve what nobody can see. */
struct rc relay_ask_about(struct relay_ask *ask, const struct relay_question *question, struct err *err)
{
    JSON_SCOPE(body, out, LIMIT_LARGE_BODY_BYTES);
    relay_put_question(&out, question);
    if (body.over)
        return err_set(err, ERR_TOO_LARGE, "the call is too large to be shown to anybody");
    ask->route = "tool-calls";
    ask->id = question->id;
    ask->body = buf_str(&body);
    return relay_ask(ask, err);
}

void relay_ask_cancel(struct relay_gate *gate, struct str id)
{
    ARENA_SCOPE(arena);
    relay_record_post(gate->record, arena_printf(&arena, "/api/tool-calls/%s/cancel?session=%.*s",
                                                 remote_escape(&arena, id).p, STR_ARG(gate->session)), STR("{}"));
}

/* Does not wait for the server. A result that is too large is replaced by its size. */
void relay_report(struct relay_gate *gate, struct str id, struct str content, bool is_error)
{
    ARENA_SCOPE(arena);
    JSON_SCOPE(buf, out, LIMIT_BODY_BYTES);
    json_open(&out, '{');
    json_key(&out, "content");
    if (content.n > REPORT_BYTES_MAX)
        json_put_str(&out, arena_printf(&arena, "%zu bytes, too many to be kept", content.n));
    else
        json_put_raw(&out, str_empty(content) ? STR("null") : content);
    json_member_bool(&out, "isError", is_error);
    json_close(&out, '}');
    relay_record_post(gate->record, arena_printf(&arena, "/api/tool-calls/%s/result?session=%.*s",
                                                 remote_escape(&arena, id).p, STR_ARG(gate->session)), buf_str(&buf));
}
