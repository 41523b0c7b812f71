/* How a person's browser gets in, and out.
 *
 *  1. An admin (the start of the server, or `nod login`) makes a link. It holds a code that is good once and
 *     for minutes, behind a '#', so that no proxy, log or preview of the link ever sees it.
 *  2. The page trades the code for a token of its own: a device that is listed and can be revoked.
 *  3. The token's secret is cut in two. One half is a cookie that no script can read; the other is the
 *     page's, kept by its origin and sent as the header Nod-Key (for a WebSocket, whose headers a page cannot set,
 *     as the subprotocol nod.key.KEY). A cookie goes to every port of a host, so a
 *     program an agent started there may see it: alone it opens nothing. Neither does what a script could
 *     take from the page. And a form or an image of another site cannot send the header.
 *  4. A page that was put on a phone's home screen may have a store of its own, where no link arrives: there the short
 *     code is typed that was shown beside the link. It is the same login, once; five wrong ones void all short codes.
 *  5. Codes live in memory: a restart forgets them.
 */
#include "api/exchange.h"

#include "io/clock.h"
#include "io/qr.h"

#include <stdio.h>

enum { COOKIE_CHARS = 30, DEVICE_BYTES_MAX = 60, DAY_S = 86400 };

/* ---- codes ---- */

/* Free slots have expired at 0. When all are in use the one that ends first is overwritten: links are few and
 * short-lived. */
static struct login_code *code_slot(struct api *api)
{
    struct login_code *oldest = &api->codes[0];
    for (size_t i = 0; i < LOGIN_CODES_MAX; i++)
        if (api->codes[i].expires_ms < oldest->expires_ms)
            oldest = &api->codes[i];
    return oldest;
}

/* A link's secret and a short code to type; only their digests are kept, in memory. */
static struct id make_code(struct api *api, struct str name, enum role role, char secret[ID_SECRET_BYTES])
{
    struct id typed = id_short();
    struct login_code *code = code_slot(api);
    CHECK(name.n < sizeof code->name);
    id_secret(secret);
    *code = (struct login_code){
        .digest = digest_of(str_of(secret)),
        .typed = digest_of(str_of(typed.text)),
        .role = role,
        .expires_ms = clock_wall_ms() + (int64_t)LOGIN_MINUTES * 60 * 1000,
    };
    if (name.n)
        memcpy(code->name, name.p, name.n);
    return typed;
}

/* Counts a wrong short code. After a few wrong ones all short codes become invalid, since they are short enough to
 * guess; links stay valid. */
static void note_wrong(struct api *api)
{
    if (++api->wrong_codes < LOGIN_WRONG_MAX)
        return;
    api->wrong_codes = 0;
    for (size_t i = 0; i < LOGIN_CODES_MAX; i++)
        api->codes[i].typed = (struct digest){0};
}

/* Removes the code, whether or not the login succeeds. */
static bool take_code(struct api *api, struct str secret, struct login_code *ret_code)
{
    struct digest digest = digest_of(secret);
    for (size_t i = 0; i < LOGIN_CODES_MAX; i++) {
        struct login_code *code = &api->codes[i];
        if (code->expires_ms <= clock_wall_ms() ||
            (!digest_eq(&code->digest, &digest) && !digest_eq(&code->typed, &digest)))
            continue;
        *ret_code = *code;
        *code = (struct login_code){0};
        return true;
    }
    note_wrong(api);
    return false;
}

/* Printed by the server at its start: it makes an admin of whoever opens it first, so it goes to the terminal and to
 * no log. */
struct str api_login_link(struct api *api, struct arena *arena, const char *name)
{
    char secret[ID_SECRET_BYTES];
    struct str who = str_of(name);
    (void)make_code(api, who.n && who.n < LOGIN_NAME_BYTES ? who : STR("admin"), ROLE_ADMIN, secret);
    return arena_printf(arena, "%.*s/#login=%s", STR_ARG(api->origin), secret);
}

static void write_picture(struct exchange *x, struct json_out *out, struct str url)
{
    struct qr qr = qr_make(x->arena, url);
    JSON_LIST(out, "qr")
        for (size_t i = 0; i < qr.size; i++)
            json_put_str(out, qr.rows[i]);
}

/* A link cannot give more than the token that makes it has. */
void api_logins_create(struct exchange *x)
{
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    struct str name = STR_NONE, role_text = STR("admin");
    char secret[ID_SECRET_BYTES];
    struct err err;
    EXCHANGE_TRY(x, json_want_str(x->body, "name", LOGIN_NAME_BYTES - 1, &name, &err));
    EXCHANGE_TRY(x, json_want_str(x->body, "role", LIMIT_NAME_BYTES, &role_text, &err));
    enum role role = role_parse(role_text);
    EXCHANGE_REFUSE(x, role == ROLE_NONE || role == ROLE_AGENT, ERR_INVALID,
                    "\"role\" must be admin, approver or viewer");
    EXCHANGE_REFUSE(x, scopes_of_role(role) & ~x->token->scopes, ERR_FORBIDDEN,
                    "this token cannot make a login that may do more than itself");
    struct str own = token_person(x->actor); /* without the device's name: "ann, laptop, phone" is not ann */
    if (str_empty(name))
        name = str_sub(own, 0, own.n < LOGIN_NAME_BYTES ? own.n : 0);
    if (!str_eq(name, own) && !(x->token->scopes & SCOPE_TOKENS)) {
        exchange_error(x, ERR_FORBIDDEN, "this token makes logins for its own person only; whoever may make tokens "
                                         "makes them for others");
        return;
    }
    struct id typed = make_code(x->api, name, role, secret);
    struct str url = arena_printf(x->arena, "%.*s/#login=%s", STR_ARG(x->api->origin), secret);
    json_open(&out, '{');
    json_members(&out, J("url", url), J("path", arena_printf(x->arena, "/#login=%s", secret)), J("code", typed.text),
                 J_BOOL("public", x->api->has_public));
    write_picture(x, &out, url);
    json_member(&out, "role", str_of(role_name(role)));
    json_member_time(&out, "expiresAt", clock_wall_ms() + (int64_t)LOGIN_MINUTES * 60 * 1000);
    json_close(&out, '}');
    exchange_answer(x, 201, &buf);
}

/* Sends the certificate of the authority that signed ours, so that phones can trust it: it is not secret. */
void api_authority_show(struct exchange *x)
{
    if (str_empty(x->api->authority))
        exchange_error(x, ERR_NOT_FOUND, "this server has no authority of its own: `nod tls init` makes one");
    else
        http_answer_lasting(x->http, 200, STR("application/x-x509-ca-cert"),
                            STR("Content-Disposition: attachment; filename=nod-ca.crt\r\n"), x->api->authority);
}

/* ---- the cookie ---- */

/* Cookies know no ports: two servers of one host need two names. */
static struct str cookie_name(const struct exchange *x)
{
    struct str host = http_header(x->http, "host");
    size_t at = host.n;
    while (at > 0 && host.p[at - 1] >= '0' && host.p[at - 1] <= '9')
        at--;
    bool port = at > 0 && at < host.n && host.p[at - 1] == ':';
    return port ? arena_printf(x->arena, "nod_%.*s", (int)(host.n - at), host.p + at) : STR("nod");
}

static struct str cookie_line(const struct exchange *x, struct str value, int max_age_s)
{
    /* Behind a proxy that speaks TLS the cookie stays there. */
    bool secure = str_starts(http_header(x->http, "origin"), STR("https://"));
    struct str name = cookie_name(x);
    return arena_printf(x->arena, "Set-Cookie: %.*s=%.*s; Path=/; Max-Age=%d; HttpOnly; SameSite=Strict%s\r\n",
                        STR_ARG(name), STR_ARG(value), max_age_s, secure ? "; Secure" : "");
}

/* A page's request: cookie and key together are the token. */
struct rc login_identify(struct exchange *x, struct err *err)
{
    struct str half = http_cookie(x->http, cookie_name(x)), key = http_header(x->http, "nod-key");
    if (!key.p)
        key = auth_offered(x->http, "nod.key.");
    bool changes = !str_is(x->http->method, "GET") && !str_is(x->http->method, "HEAD");
    if (half.n != COOKIE_CHARS || str_empty(key) || key.n >= ID_SECRET_BYTES)
        return err_set(err, ERR_UNAUTHENTICATED, "send Authorization: Bearer TOKEN, or log in with a link");
    /* The values of Origin and Sec-Fetch-Site were checked before; a changing request must carry one of them. */
    if (changes && !http_header(x->http, "origin").p && !http_header(x->http, "sec-fetch-site").p)
        return err_set(err, ERR_FORBIDDEN, "a browser that changes something says where it comes from");
    struct str secret = arena_printf(x->arena, "%.*s%.*s", STR_ARG(half), STR_ARG(key));
    const struct token *token = gate_token(x->gate, secret);
    if (!token || clock_wall_ms() - token->created_ms > (int64_t)LOGIN_DAYS * DAY_S * 1000)
        return err_set(err, ERR_UNAUTHENTICATED, "This device is logged out. Run `nod login` for a new link.");
    x->token = token;
    x->by_page = true;
    return RC_OK;
}

/* ---- in ---- */

/* Whether the device's name is printable ASCII: it is shown beside the device's decisions. A comma would make another
 * person of its owner: see token_person. */
static bool plain(struct str words)
{
    return words.n > 0 && !ANY(size_t i = 0; i < words.n; i++,
                               words.p[i] < ' ' || words.p[i] > '~' || words.p[i] == ',');
}

/* The secret is in this answer only, and in two parts: the second half in the body, the first as a cookie. */
static void logged_in(struct op *op)
{
    struct token_change *change = (struct token_change *)op;
    struct exchange *x = change->op.owner;
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    struct str secret = str_of(change->secret);
    CHECK(secret.n > COOKIE_CHARS);
    json_object(&out, J("key", str_sub(secret, COOKIE_CHARS, secret.n)), J("id", change->id), J("name", change->name),
                J("role", role_name(change->role)));
    x->api->answers[2]++;
    http_answer(x->http, 200, STR("application/json"),
                cookie_line(x, str_sub(secret, 0, COOKIE_CHARS), LOGIN_DAYS * DAY_S), buf_str(&buf));
}

/* The code is used up before the token is made: if storing fails, the person needs a new link, and nobody gets in
 * twice. */
void api_login_begin(struct exchange *x)
{
    struct str once = STR_NONE, device = STR("a browser");
    struct login_code code;
    struct err err;
    EXCHANGE_TRY(x, json_want_str(x->body, "once", ID_SECRET_BYTES, &once, &err));
    EXCHANGE_TRY(x, json_want_str(x->body, "device", DEVICE_BYTES_MAX, &device, &err));
    EXCHANGE_REFUSE(x, !plain(device), ERR_INVALID, "\"device\" must be plain words without a comma");
    EXCHANGE_REFUSE(x, !take_code(x->api, once, &code), ERR_UNAUTHENTICATED,
                    "This link has expired or was already used. Run `nod login` for a new one.");
    struct token_change *change = arena_new(x->arena, struct token_change);
    *change = (struct token_change){.op = exchange_op(x, logged_in),
                                    .name = arena_printf(x->arena, "%s, %.*s", code.name, STR_ARG(device)),
                                    .role = code.role, .actor = arena_str(x->arena, str_of(code.name))};
    gate_change_token(x->gate, change);
}

/* ---- out ---- */

static void logged_out(struct op *op)
{
    struct token_change *change = (struct token_change *)op;
    struct exchange *x = change->op.owner;
    x->api->answers[2]++;
    http_answer(x->http, 200, STR("application/json"), cookie_line(x, STR(""), 0), STR("{}"));
}

void api_login_end(struct exchange *x)
{
    EXCHANGE_REFUSE(x, !x->by_page, ERR_INVALID, "this token did not log in with a link; revoke it instead");
    struct token_change *change = arena_new(x->arena, struct token_change);
    *change = (struct token_change){.op = exchange_op(x, logged_out), .id = x->token_id, .actor = x->actor};
    gate_change_token(x->gate, change);
}
