/* nod mcp proxy --listen: Streamable HTTP for MCP clients that speak it, on the loopback device.
 *
 * The client shows the token of the proxy's own identity; nobody else is answered. Each session (Mcp-Session-Id) is
 * this command once more, as a child without --listen, so that everything that waits, is asked and is refused is
 * decided in one place. Here messages change their transport: a request is answered in a stream of its own, what the
 * server says by itself goes to the stream that a GET has opened. A client that leaves takes its request back.
 *
 * The revision of 2026 has no sessions. Its clients share a child, for which their requests and progress tokens are
 * renamed: clients number alike.
 */
#include "cli/relay/listen.h"

#include "agents/rpc.h"
#include "base/limits.h"
#include "cli/identity.h"
#include "cli/local.h"
#include "cli/relay/proxy_web.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LISTEN_BODY_BYTES = 4 << 20, OUR_WORDS_MAX = 16 + 2 * WEB_HEADERS_MAX, RPC_HEADERS = -32020 };

/* ---- from a child to its client ---- */

static struct shared *event_of(struct str message)
{
    BUF_SCOPE(buf, PROXY_LINE_BYTES + LIMIT_BODY_BYTES);
    BUF_ADD(&buf, STR("event: message\ndata: "), message, STR("\n\n"));
    return buf.over ? NULL : shared_new(buf_str(&buf));
}

static void close_open(struct listen_open *open)
{
    free(open->text);
    *open = (struct listen_open){.session = open->session}; /* its stream ends later and still refers to the entry */
}

static void answer_whole(struct listen_open *open, struct str message)
{
    struct http_request *request = open->request;
    struct str header = arena_printf(&request->arena, "Mcp-Session-Id: %s\r\n", open->session->id.text);
    if (request->connection)
        http_answer(request, 200, STR("application/json"), header, message);
    else
        http_drop(request);
}

static struct listen_open *find_open(struct listen_session *session, struct str id, bool by_progress)
{
    for (size_t i = 0; i < LISTEN_OPEN_MAX; i++) {
        struct listen_open *open = &session->open[i];
        if (open->text && !str_empty(id) && str_eq(by_progress ? open->progress : open->id, id))
            return open;
    }
    return NULL;
}

/* The request that a message of the server answers or tells about. */
static struct listen_open *open_of(struct listen_session *session, const struct mcp_message *m)
{
    if (str_empty(m->method))
        return find_open(session, m->id, false);
    if (str_is(m->method, "notifications/progress"))
        return find_open(session, json_raw(m->params, "progressToken", STR_NONE), true);
    const struct json *meta = json_get(m->params, "_meta");
    struct str subscription = json_raw(meta, "io.modelcontextprotocol/subscriptionId", STR_NONE);
    return session->stateless ? find_open(session, str_empty(subscription) ? m->cancels : subscription, false) : NULL;
}

static void send_event(struct http_stream *stream, struct shared *event)
{
    if (event)
        (void)http_stream_send(stream, event);
}

/* A stream with too much in its queue is cut off: what comes beside the answer of a request leaves room for it. */
static bool takes_more(const struct listen_open *open, const struct shared *event)
{
    return open->text && open->stream && event &&
           http_stream_queued(open->stream) + event->n < LIMIT_STREAM_QUEUE_BYTES;
}

static void drop_oldest(struct listen_session *session)
{
    session->early_bytes -= session->early[0]->n;
    shared_unref(session->early[0]);
    session->early_count--;
    memmove(session->early, session->early + 1, session->early_count * sizeof *session->early);
}

/* A message that belongs to no request waits for a stream. Beyond what a stream takes at once the oldest are lost, as
 * with any client that does not listen. */
static void pass_by_itself(struct listen_session *session, struct shared *event)
{
    struct http_stream *to = session->events;
    for (size_t i = 0; i < LISTEN_OPEN_MAX && !to; i++)
        to = takes_more(&session->open[i], event) ? session->open[i].stream : NULL;
    if (to || !event) {
        if (to)
            send_event(to, event);
        return;
    }
    while (session->early_count && (session->early_count == LISTEN_EARLY_MAX ||
                                    session->early_bytes + event->n > LIMIT_STREAM_QUEUE_BYTES))
        drop_oldest(session);
    if (event->n > LIMIT_STREAM_QUEUE_BYTES)
        return;
    session->early[session->early_count++] = shared_ref(event);
    session->early_bytes += event->n;
}

/* The text with every `old` replaced by `new`; empty if that is too long. */
static struct str replace(struct arena *arena, struct str text, struct str old, struct str new)
{
    BUF_SCOPE(buf, PROXY_LINE_BYTES * 2);
    for (const char *at; old.n && text.n && (at = memmem(text.p, text.n, old.p, old.n));) {
        BUF_ADD(&buf, (struct str){text.p, (size_t)(at - text.p)}, new);
        text = str_sub(text, (size_t)(at - text.p) + old.n, text.n);
    }
    buf_put(&buf, text);
    return buf.over ? STR_NONE : arena_str(arena, buf_str(&buf));
}

/* Puts the client's ids back. Ours are quoted strings that occur nowhere else in a message, so that replacing text
 * is safe. */
static struct str with_their_names(struct arena *arena, const struct listen_open *open, struct str line)
{
    return replace(arena, replace(arena, line, open->id, open->their_id), open->progress, open->their_progress);
}

void proxy_listen_pass(struct listen_session *session, struct str line)
{
    ARENA_SCOPE(arena);
    struct mcp_message m;
    bool is_request = false;
    if (session->ended)
        return;
    if (rc_bad(mcp_read(&arena, line, &m, NULL)) && (!rpc_peek(&arena, line, &m.id, &is_request) || is_request))
        return; /* not readable and no answer; an answer that is only too large is passed on */
    struct listen_open *open = open_of(session, &m);
    bool ends = open && str_empty(m.method);
    struct str theirs = open && session->stateless ? with_their_names(&arena, open, line) : line;
    struct shared *event = str_empty(theirs) ? NULL : event_of(theirs);
    if (ends && open->request) {
        answer_whole(open, line);
        close_open(open);
    } else if (ends) {
        struct http_stream *stream = open->stream;
        close_open(open);
        send_event(stream, event);
        http_stream_end(stream);
    } else if (open && takes_more(open, event)) {
        send_event(open->stream, event);
    } else if (!str_empty(m.method) && !session->stateless) {
        pass_by_itself(session, event);
    }
    if (event)
        shared_unref(event);
}

void proxy_listen_ended(struct listen_session *session)
{
    struct err err = {.code = ERR_OK};
    (void)err_set(&err, ERR_UNAVAILABLE, "the MCP server has ended; begin a new session");
    session->ended = session->over = true;
    for (size_t i = 0; i < LISTEN_OPEN_MAX; i++) {
        struct listen_open *open = &session->open[i];
        if (open->text && open->request)
            http_answer_error(open->request, &err);
        else if (open->text)
            http_stream_end(open->stream);
        if (open->text)
            close_open(open);
    }
    if (session->events)
        http_stream_end(session->events);
    session->events = NULL;
    listen_session_free(session);
}

/* ---- from the client ---- */

static void refuse(struct http_request *request, int status, enum err_code code, const char *words)
{
    struct err err = {.code = ERR_OK};
    (void)err_set(&err, code, "%s", words);
    http_answer_error_as(request, status, status == 401 ? STR("WWW-Authenticate: Bearer\r\n") : STR_NONE, &err);
}

/* The client of a request has left: nobody can read its answer, so it is taken back. */
static void request_gone(struct http_stream *stream, void *arg)
{
    struct listen_open *open = arg;
    struct listen_session *session = open->session;
    if (open->text && open->stream == stream) {
        BUF_SCOPE(line, LIMIT_BODY_BYTES);
        struct json_out out = rpc_open_message(&line, NULL, "notifications/cancelled");
        json_members(&out, J_RAW("requestId", open->id), J("reason", "the client has left"));
        rpc_close(&out);
        if (!line.over && !session->ended)
            listen_session_tell(session, str_sub(buf_str(&line), 0, line.n - 1));
        close_open(open);
    }
    session->stream_count--;
    listen_session_free(session);
}

static void events_gone(struct http_stream *stream, void *arg)
{
    struct listen_session *session = arg;
    if (session->events == stream)
        session->events = NULL;
    session->stream_count--;
    listen_session_free(session);
}

/* The client of initialize has left: nobody knows the id of the session. It is answered when the child has ended. */
static void left(struct http_request *request) { listen_session_end(request->arg); }

static struct listen_open *new_open(struct listen_session *session, const struct mcp_message *m)
{
    struct listen_open *open = session->open;
    while (open < session->open + LISTEN_OPEN_MAX && open->text)
        open++;
    if (open == session->open + LISTEN_OPEN_MAX)
        return NULL;
    struct str id = m->id, progress = m->progress;
    char ours[2][LIMIT_ID_BYTES];
    if (session->stateless) {
        (void)snprintf(ours[0], sizeof ours[0], "\"%s\"", id_new("req").text);
        (void)snprintf(ours[1], sizeof ours[1], "\"%s\"", id_new("prg").text);
        id = str_of(ours[0]);
        progress = str_empty(progress) ? STR_NONE : str_of(ours[1]);
    }
    const struct str pieces[] = {id, progress, m->id, m->progress};
    struct str kept[4];
    char *text = heap_new(id.n + progress.n + m->id.n + m->progress.n + 1), *to = text;
    for (size_t i = 0; i < 4; to += pieces[i++].n) {
        if (pieces[i].n)
            memcpy(to, pieces[i].p, pieces[i].n);
        kept[i] = (struct str){to, pieces[i].n};
    }
    *open = (struct listen_open){.session = session, .text = text, .id = kept[0], .progress = kept[1],
                                 .their_id = kept[2], .their_progress = kept[3]};
    return open;
}

/* Returns the message with the bytes of one of its values replaced by `name`. */
static struct str put_name(struct arena *arena, struct str body, struct str line, struct str piece, struct str name)
{
    size_t at = piece.n ? (size_t)(piece.p - body.p) : 0;
    if (str_empty(piece))
        return line;
    return arena_printf(arena, "%.*s%.*s%.*s", STR_ARG(str_sub(line, 0, at)), STR_ARG(name),
                        STR_ARG(str_sub(line, at + piece.n, line.n)));
}

/* Puts our ids in the place of the client's. The one further back is replaced first, so that the position of the
 * other stays right. */
static struct str with_our_names(struct http_request *request, const struct listen_open *open,
                                 const struct mcp_message *m, struct str line)
{
    struct arena *arena = &request->arena;
    bool id_is_last = str_empty(m->progress) || m->id.p > m->progress.p;
    if (id_is_last)
        line = put_name(arena, request->body, line, m->id, open->id);
    line = put_name(arena, request->body, line, m->progress, open->progress);
    return id_is_last ? line : put_name(arena, request->body, line, m->id, open->id);
}

/* The message as one line. */
static struct str one_line(struct http_request *request)
{
    char *copy = arena_bytes(&request->arena, request->body.n + 1);
    for (size_t i = 0; i < request->body.n; i++)
        copy[i] = request->body.p[i] == '\n' || request->body.p[i] == '\r' ? ' ' : request->body.p[i];
    return (struct str){copy, request->body.n};
}

static void take_request(struct listen_session *session, struct http_request *request, const struct mcp_message *m,
                         bool whole)
{
    struct str line = one_line(request);
    struct listen_open *open = find_open(session, m->id, false) ? NULL : new_open(session, m);
    if (!open) {
        refuse(request, 400, ERR_INVALID, "a request of this id is open already, or too many are");
        return;
    }
    listen_session_tell(session, session->stateless ? with_our_names(request, open, m, line) : line);
    if (whole) {
        open->request = request;
        request->arg = session;
        request->gone = left;
        return;
    }
    session->stream_count++;
    static const struct http_stream_owner owner = {.gone = request_gone};
    open->stream = http_stream_start(request, &owner, open);
    if (open->stream)
        return;
    session->stream_count--;
    close_open(open);
}

/* Headers that repeat a part of the message must agree with it: a proxy on the way may have checked only the headers.
 */
static bool headers_agree(const struct http_request *request, const struct mcp_message *m)
{
    static const char *const named[] = {"tools/call", "prompts/get"};
    struct str version = json_text(json_get(m->params, "_meta"), "io.modelcontextprotocol/protocolVersion");
    struct str name = http_header(request, "Mcp-Name"), read = json_text(m->params, "uri");
    if (STR_IN(m->method, named))
        read = json_text(m->params, "name");
    return str_eq(http_header(request, "MCP-Protocol-Version"), version) &&
           str_eq(http_header(request, "Mcp-Method"), m->method) &&
           (str_empty(name) || str_starts(name, STR("=?base64?")) || str_empty(read) || str_eq(name, read));
}

/* A request of a revision without sessions. */
static void take_stateless(struct listen_server *listener, struct http_request *request, const struct mcp_message *m)
{
    BUF_SCOPE(line, LIMIT_BODY_BYTES);
    struct err err = {.code = ERR_OK};
    struct listen_session *session = headers_agree(request, m) ? listen_session_shared(listener, &err) : NULL;
    if (session) {
        take_request(session, request, m, false);
        return;
    }
    rpc_error(&line, m->id, RPC_HEADERS, STR("the headers say something else than the message"));
    if (err.code != ERR_OK)
        http_answer_error(request, &err);
    else
        http_answer(request, 400, STR("application/json"), STR_NONE, buf_str(&line));
}

static void take_post(struct listen_server *listener, struct http_request *request, struct listen_session *session)
{
    struct mcp_message m;
    struct err err = {.code = ERR_OK};
    if (!str_starts(str_trim(request->body), STR("{")) || rc_bad(mcp_read(&request->arena, request->body, &m, &err))) {
        refuse(request, 400, ERR_INVALID, err.code == ERR_OK ? "the message is not an object" : err.text);
        return;
    }
    bool begins = str_is(m.method, "initialize");
    if (!session && !begins && m.modern && !str_empty(m.id) && !str_empty(m.method)) {
        take_stateless(listener, request, &m);
        return;
    }
    if (begins == (session != NULL)) {
        refuse(request, 400, ERR_INVALID,
               "a session begins with initialize; every later message has the header Mcp-Session-Id");
        return;
    }
    if (begins && !(session = listen_session_new(listener, &err))) {
        http_answer_error(request, &err);
        return;
    }
    if (!str_empty(m.id) && !str_empty(m.method)) {
        take_request(session, request, &m, begins);
        return;
    }
    listen_session_tell(session, one_line(request));
    http_answer(request, 202, STR("application/json"), STR_NONE, STR_NONE);
}

static void take_get(struct listen_session *session, struct http_request *request)
{
    struct http_stream *old = session->events;
    session->stream_count++;
    static const struct http_stream_owner owner = {.gone = events_gone};
    session->events = http_stream_start(request, &owner, session);
    if (!session->events)
        session->stream_count--;
    if (old)
        http_stream_end(old);
    while (session->events && session->early_count) {
        send_event(session->events, session->early[0]);
        drop_oldest(session);
    }
}

/* ---- who may ---- */

/* A page of another site, or one whose name leads here, has its own name in Origin or Host. */
static bool is_here(const struct listen_server *listener, struct str place)
{
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
    char port[16];
    (void)snprintf(port, sizeof port, ":%d", listener->port);
    return ANY(size_t i = 0; i < sizeof names / sizeof *names; i++,
               str_starts(place, str_of(names[i])) && str_is(str_sub(place, strlen(names[i]), place.n), port));
}

static bool has_token(const struct listen_server *listener, const struct http_request *request)
{
    struct str given = http_header(request, "Authorization");
    if (!str_starts(given, STR("Bearer ")))
        return false;
    struct digest digest = digest_of(str_sub(given, strlen("Bearer "), given.n));
    return digest_eq(&digest, &listener->token); /* the time this takes says nothing of the token */
}

/* Before the body is read. */
static struct rc admit(void *arg, struct http_request *request, struct err *err)
{
    const struct listen_server *listener = arg;
    struct str origin = http_header(request, "Origin");
    struct str place = str_starts(origin, STR("http://")) ? str_sub(origin, strlen("http://"), origin.n) : STR_NONE;
    if (!is_here(listener, http_header(request, "Host")) || (!str_empty(origin) && !is_here(listener, place)))
        return err_set(err, ERR_FORBIDDEN,
                       "only programs on this machine may use the proxy: Host or Origin names another place");
    if (!has_token(listener, request))
        return err_set(err, ERR_UNAUTHENTICATED, "the token of the proxy's identity is missing: Authorization: Bearer");
    http_known(request);
    return RC_OK;
}

static void handle(void *arg, struct http_request *request)
{
    struct listen_server *listener = arg;
    struct err err = {.code = ERR_OK};
    if (rc_bad(admit(listener, request, &err))) { /* again: the server asks only where there is a body to read */
        http_answer_error(request, &err);
        return;
    }
    struct str id = http_header(request, "Mcp-Session-Id");
    struct listen_session *session = str_empty(id) ? NULL : listen_session_find(listener, id);
    bool posts = str_is(request->method, "POST"), gets = str_is(request->method, "GET");
    if (!str_is(request->path, "/mcp"))
        refuse(request, 404, ERR_NOT_FOUND, "the only path of this server is /mcp");
    else if (!str_empty(id) && !session)
        refuse(request, 404, ERR_NOT_FOUND, "this session has ended; begin a new one");
    else if (posts)
        take_post(listener, request, session);
    else if (!session)
        refuse(request, 400, ERR_INVALID, "no session is named: Mcp-Session-Id");
    else if (gets)
        take_get(session, request);
    else if (str_is(request->method, "DELETE")) {
        listen_session_end(session);
        http_answer(request, 200, STR("application/json"), STR_NONE, STR("{}"));
    } else
        http_answer(request, 405, STR("application/json"), STR("Allow: GET, POST, DELETE\r\n"), STR("{}"));
}

static size_t body_max(struct str target)
{
    (void)target;
    return LISTEN_BODY_BYTES;
}

/* ---- the command ---- */

/* The command line of a session's own process: that of this one, without --listen. */
static struct rc compose(struct listen_server *listener, const char *url, struct err *err)
{
    struct cli *cli = listener->cli;
    const char *self, *name = option_text(cli, "name"), *header;
    char **argv = arena_array(&cli->arena, char *, (size_t)cli->argc + OUR_WORDS_MAX);
    size_t n = 0, at = 0;
    TRY(proxy_web_given(cli, &(struct proxy_web){0}, err));
    TRY(local_self(cli, &self, err));
    const char *const words[] = {self, "mcp", "proxy", "--identity", cli->identity->path, name ? "--name" : NULL,
                                 name};
    for (size_t i = 0; i < sizeof words / sizeof *words && words[i]; i++)
        argv[n++] = (char *)words[i];
    while ((header = option_each(cli, "header-env", &at))) {
        argv[n++] = "--header-env";
        argv[n++] = (char *)header;
    }
    argv[n++] = url ? "--url" : "--";
    if (url)
        argv[n++] = (char *)url;
    for (int i = 0; i < cli->argc; i++)
        argv[n++] = cli->argv[i];
    listener->argv = argv;
    return RC_OK;
}

static void stop(void *arg)
{
    (void)arg;
    _exit(0); /* the children see the end of their input */
}

static struct rc serve(struct listen_server *listener, const char *address, struct err *err)
{
    struct http_options options = {.handle = handle, .admit = admit, .arg = listener, .body_max = body_max};
    struct str host = str_of(address);
    if (!str_starts(host, STR("127.0.0.1:")) && !str_starts(host, STR("[::1]:")))
        return err_set(err, ERR_INVALID, "--listen takes 127.0.0.1:PORT or [::1]:PORT, not '%s'", address);
    TRY(loop_new(&listener->loop, err));
    listener->waker = waker_new(listener->loop, listen_take, listener);
    TRY(http_server_new(listener->loop, &options, &listener->server, err));
    TRY(http_listen_tcp(listener->server, address, &listener->port, err));
    TRY(loop_on_signal(listener->loop, SIGTERM, stop, NULL, err));
    TRY(loop_on_signal(listener->loop, SIGINT, stop, NULL, err));
    cli_note("nod mcp proxy: http://%.*s:%d/mcp, for clients that send the token in %s (Authorization: Bearer)",
             (int)(strrchr(address, ':') - address), address, listener->port, listener->cli->identity->path);
    loop_run(listener->loop);
    return RC_OK;
}

struct rc proxy_listen(struct cli *cli, const char *address, const char *url, struct err *err)
{
    static struct listen_server listener = {.lock = PTHREAD_MUTEX_INITIALIZER, .room = PTHREAD_COND_INITIALIZER};
    listener.cli = cli; /* threads use it until the process ends */
    listener.token = digest_of(cli->identity->token);
    TRY(compose(&listener, url, err));
    return serve(&listener, address, err);
}
