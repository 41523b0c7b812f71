/* Identification and authorization: tokens, Host and Origin.
 *
 * Everything is authenticated, on loopback too, but for the routes with ANYONE in routes_admin.h and the files of the
 * page. A web page of another origin gets nowhere: its requests carry a foreign Origin or Host, cannot carry our
 * token, and cannot send JSON without asking first.
 */
#include "api/exchange.h"

#include "api/below.h"

#include "io/links.h"

#include <stdio.h>

static void add_host(struct api *api, struct api_host host)
{
    host.name = arena_str(&api->arena, host.name);
    if (api->host_count < HOSTS_MAX)
        api->hosts[api->host_count++] = host;
}

/* The origin without its scheme. */
static struct str host_of_origin(struct str origin)
{
    return str_sub(origin, str_starts(origin, STR("https://")) ? 8 : 7, origin.n);
}

/* Called before anything listens. The strings of the options are not copied, but for the authority and the origin. */
struct api *api_new(const struct api_options *options)
{
    struct api *api = heap_new(sizeof *api);
    struct str public = str_of(options->public_url), left = str_of(options->hosts);
    api->gate = options->gate;
    api->timeout_seconds = options->timeout_seconds;
    api->warning = options->warning;
    api->below = options->tripwire ? below_new() : NULL;
    api->runtime = options->runtime;
    api->notify = options->notify;
    api->authority = arena_str(&api->arena, options->authority);
    while (left.n) {
        size_t end = 0;
        while (end < left.n && left.p[end] != ',' && left.p[end] != ' ')
            end++;
        if (end) /* accepted with and without TLS: a proxy may be in front of us */
            add_host(api, (struct api_host){str_sub(left, 0, end), .plain = true, .secure = true});
        left = str_sub(left, end < left.n ? end + 1 : end, left.n);
    }
    if (public.n) {
        api->has_public = true;
        api->origin = arena_str(&api->arena, str_sub(public, 0, public.n - (public.p[public.n - 1] == '/')));
        add_host(api, (struct api_host){host_of_origin(api->origin), .plain = str_starts(public, STR("http://")),
                                        .secure = str_starts(public, STR("https://"))});
    }
    return api;
}

void api_free(struct api *api)
{
    below_free(api->below);
    arena_free(api);
}

void api_set_server(struct api *api, const struct http_server *server) { api->server = server; }
void api_set_ready(struct api *api, bool ready) { api->ready = ready; }

static void add_plain(struct api *api, const char *host, int port)
{
    add_host(api, (struct api_host){arena_printf(&api->arena, "%s:%d", host, port), .plain = true});
}

/* Browsers leave out the usual port. */
void api_add_secure(struct api *api, struct str name, int port)
{
    enum { USUAL = 443 };
    struct str host = port == USUAL ? name : arena_printf(&api->arena, "%.*s:%d", STR_ARG(name), port);
    add_host(api, (struct api_host){host, .secure = true});
}

/* Requests must name one of these hosts: a page of another origin that resolves to this machine is refused by
 * its Host. */
void api_add_address(struct api *api, const char *host, int port)
{
    static const char *const loopback[] = {"localhost", "127.0.0.1", "[::1]"};
    bool listed = false;
    for (size_t i = 0; i < sizeof loopback / sizeof *loopback; i++) {
        add_plain(api, loopback[i], port);
        listed = listed || str_is(str_of(host), loopback[i]);
    }
    if (!listed)
        add_plain(api, host, port);
    if (api->has_public)
        return;
    bool anywhere = str_is(str_of(host), "0.0.0.0") || str_is(str_of(host), "[::]");
    /* By name: browsers make no passkeys for an address. */
    bool here = anywhere || str_is(str_of(host), "127.0.0.1");
    api->origin = arena_printf(&api->arena, "http://%s:%d", here ? "localhost" : host, port);
}

/* Host names are compared without regard to case, as DNS does. */
static bool among(const struct api *api, struct str host, bool plain, bool secure)
{
    for (size_t i = 0; i < api->host_count; i++)
        if (str_same_letters(host, api->hosts[i].name) &&
            ((plain && api->hosts[i].plain) || (secure && api->hosts[i].secure)))
            return true;
    return false;
}

static bool our_origin(const struct api *api, struct str origin)
{
    bool plain = str_starts(origin, STR("http://")), secure = str_starts(origin, STR("https://"));
    return (plain || secure) && among(api, host_of_origin(origin), plain, secure);
}

/* The name in an origin: without its scheme and port. */
static struct str name_of_origin(struct str origin)
{
    struct str rest = host_of_origin(origin);
    size_t end = str_find(rest, ':');
    return str_sub(rest, 0, end < rest.n ? end : rest.n);
}

struct rc auth_check_passkey_page(const struct exchange *x, struct str origin, struct str host, struct err *err)
{
    if (!our_origin(x->api, origin))
        return err_set(err, ERR_FORBIDDEN, "\"origin\" is not a page of this server");
    if (!str_eq(name_of_origin(origin), host))
        return err_set(err, ERR_INVALID, "\"rpId\" must be the host name of \"origin\"");
    return RC_OK;
}

struct rc auth_check_origin(const struct api *api, const struct http_request *http, struct err *err)
{
    struct str origin = http_header(http, "origin");
    struct str site = http_header(http, "sec-fetch-site");
    /* A browser cannot reach a Unix socket, and a Host means nothing there. */
    if (!http->local && !among(api, http_header(http, "host"), true, true))
        return err_set(err, ERR_FORBIDDEN, "this Host is not ours; add it with --allowed-hosts");
    if (origin.p && !our_origin(api, origin))
        return err_set(err, ERR_FORBIDDEN, "requests from other origins are refused");
    if (site.p && !str_is(site, "same-origin") && !str_is(site, "none"))
        return err_set(err, ERR_FORBIDDEN, "requests from other sites are refused");
    return RC_OK;
}

/* The prefix tells our names from other subprotocols that a client may offer beside them. */
struct str auth_offered(const struct http_request *http, const char *prefix)
{
    struct str rest = http_header(http, "sec-websocket-protocol"), wanted = str_of(prefix);
    while (rest.n) {
        struct str name = str_trim(str_cut(rest, ',', &rest));
        if (str_starts(name, wanted))
            return str_sub(name, wanted.n, name.n);
    }
    return STR_NONE;
}

/* A client that proves its token by a signature instead of sending it, and wants the answer signed. */
static struct rc identify_claim(struct exchange *x, const struct proof_claim *claim, struct err *err)
{
    char secret[ID_SECRET_BYTES];
    const struct token *token = gate_token_by_id(x->gate, claim->token_id);
    x->http->prover = gate_key(x->gate);
    if (!token || !gate_token_secret(x->gate, token, secret))
        return err_set(err, ERR_UNAUTHENTICATED, "this token is not known or was revoked");
    struct digest verifier = proof_verifier(str_of(secret));
    if (!proof_claim_holds(x->http, claim, &verifier))
        return err_set(err, ERR_UNAUTHENTICATED, "the proof of this token does not hold");
    x->token = token;
    return RC_OK;
}

/* After the whole body was read. The head of the request, with the digest that the body must have, was checked before
 * it. */
struct rc auth_check_body(const struct exchange *x, struct err *err)
{
    struct proof_claim claim;
    if (!proof_claim_read(x->http, &claim) || proof_body_holds(x->http, &claim))
        return RC_OK;
    return err_set(err, ERR_UNAUTHENTICATED, "the body does not match the digest in the request's proof");
}

/* In this order: a proof, a token in the header, one offered as a WebSocket's subprotocol, a browser's cookie. */
static struct rc identify(struct exchange *x, struct err *err)
{
    struct str header = http_header(x->http, "authorization");
    struct str offered = header.p ? STR_NONE : auth_offered(x->http, "nod.bearer.");
    struct proof_claim claim;
    if (header.p && proof_claim_read(x->http, &claim))
        return identify_claim(x, &claim, err);
    struct str secret;
    struct str scheme = str_cut(header, ' ', &secret);
    if (!header.p && !offered.n && http_header(x->http, "cookie").p)
        return login_identify(x, err);
    if (header.p && str_same_letters(scheme, STR("bearer")))
        x->token = gate_token(x->gate, str_trim(secret));
    else if (!header.p && offered.n)
        x->token = gate_token(x->gate, offered);
    if (!x->token)
        return err_set(err, ERR_UNAUTHENTICATED, header.p || offered.n ? "this token is not known or was revoked"
                                                          : "send Authorization: Bearer TOKEN");
    return RC_OK;
}

/* Refuses tokens of persons on the socket for agents: a stolen one is of no use there. */
struct rc auth_identify(struct exchange *x, struct err *err)
{
    TRY(identify(x, err));
    if (!x->http->agents || x->token->role == ROLE_AGENT) {
        gate_token_used(x->gate, x->token);
        return RC_OK;
    }
    x->token = NULL;
    return err_set(err, ERR_FORBIDDEN, "this socket takes tokens of agents only");
}

/* The one place in which a right is compared with a token's scopes; every route and socket message comes here. */
struct rc auth_allow(const struct token *token, struct right right, struct err *err)
{
    if (right.scope == SCOPE_NONE)
        return RC_OK;
    if (!token || token->revoked_ms)
        return err_set(err, ERR_UNAUTHENTICATED, "this token is not known or was revoked");
    /* The role would allow it, but the token is bound to one session: the error says so. */
    if (right.bound == BOUND_NEVER && !str_empty(token->session) && (scopes_for_role(token->role) & right.scope))
        return err_set(err, ERR_SESSION_BOUND, "this token is bound to one session, and this reaches beyond it");
    if (!(token->scopes & right.scope))
        return err_set(err, ERR_FORBIDDEN, "this token has the role %s, without the scope %s, and may not do this",
                       role_name(token->role), scope_name(right.scope));
    return RC_OK;
}

bool auth_revoked(struct exchange *x)
{
    if (!x->token->revoked_ms)
        return false;
    exchange_error(x, ERR_UNAUTHENTICATED, "this token was revoked");
    return true;
}

/* Whether the token's owner has opened the folder for it; links are followed on both sides. */
bool auth_gives_folder(struct exchange *x, struct str folder)
{
    const struct token *token = x->token;
    if (token->scopes & SCOPE_SETTINGS)
        return true;
    struct str real = str_empty(folder) ? STR_NONE : links_follow(x->arena, folder);
    for (size_t i = 0; i < token->folder_count && !str_empty(real); i++) {
        struct str given = links_follow(x->arena, token->folders[i]);
        bool below = str_starts(real, given) && real.n > given.n && real.p[given.n] == '/';
        if (!str_empty(given) && (str_eq(real, given) || below || str_is(given, "/")))
            return true;
    }
    return false;
}

/* ---- finding what a path names ---- */

/* A session that may not be seen is answered like one that does not exist. */
static void session_found(struct op *op)
{
    const struct session *session = ((struct session_look *)op)->session;
    struct exchange *x = op->owner;
    if (op->err)
        exchange_fail(x, op->err);
    else if (!session || !token_may_see(x->token, session))
        exchange_error(x, ERR_NOT_FOUND, "there is no such session");
    else {
        x->session = arena_str(x->arena, session->id);
        x->with_session(x, session);
    }
}

/* `found` gets the session lent: it may use it during the call and must copy what it keeps. */
void exchange_look(struct exchange *x, struct str id, void (*found)(struct op *op))
{
    struct session_look *look = arena_new(x->arena, struct session_look);
    *look = (struct session_look){.op = gate_op(x->arena, found, x), .id = id};
    gate_session(x->gate, look);
}

void exchange_with_session(struct exchange *x, struct str id,
                           void (*then)(struct exchange *x, const struct session *session))
{
    x->with_session = then;
    exchange_look(x, id, session_found);
}

/* Answers 404 both for a thread that is not there and for one that the token may not see: the answer tells neither
 * from the other. */
static void thread_found(struct op *op)
{
    const struct session *session = ((struct session_look *)op)->session;
    struct exchange *x = op->owner;
    const struct str *thread = x->state;
    if (op->err)
        exchange_fail(x, op->err);
    else if (!session || !token_may_see(x->token, session) || !session_thread_find(session, *thread))
        exchange_error(x, ERR_NOT_FOUND, "there is no such thread");
    else {
        x->session = arena_str(x->arena, session->id);
        x->with_session(x, session);
    }
}

void exchange_with_thread(struct exchange *x, struct str thread,
                          void (*then)(struct exchange *x, const struct session *session))
{
    struct str *wanted = arena_new(x->arena, struct str);
    *wanted = thread;
    x->state = wanted;
    x->with_session = then;
    exchange_look(x, session_of_thread(thread), thread_found);
}

struct rc exchange_name_session(struct exchange *x, struct str *ret_session, struct err *err)
{
    *ret_session = x->token->session;
    return api_query_text(x, "session", ret_session, err);
}

static void failed(struct op *op) { exchange_fail(op->owner, op->err); }

/* `viewer` makes the gate apply the token's own limits (its session, its folders) when it looks for sessions and
 * calls. */
struct op exchange_op(struct exchange *x, void (*done)(struct op *op))
{
    struct op op = gate_op(x->arena, done, x);
    op.failed = failed;
    op.viewer = x->token;
    return op;
}
