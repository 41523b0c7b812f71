/* The blocking client, for commands: one connection, kept between calls.
 *
 * The server may end a kept connection just as we use it. A request that could not be sent is then sent
 * once more on a new one, and so is a GET that was sent but not answered by a single byte; anything else
 * that was sent is never repeated here, since it may have been heard.
 */
#include "http/event_lines.h"
#include "http/http.h"
#include "http/wire.h"

#include "base/buf.h"
#include "base/hex.h"
#include "base/id.h"
#include "base/json.h"
#include "base/limits.h"

#include <llhttp.h>
#include <stdlib.h>

enum { RECEIVE_BYTES = 32 << 10, ANSWER_HEAD_BYTES_MAX = 64 << 10 };

/* One connection to one server, for one thread. */
struct http_client {
    struct wire_address address;
    char *token;
    struct wire wire;
    bool cut;
    const struct http_identity *identity; /* NULL: authenticate by a token, or not at all */
    struct proof_exchange asked;          /* the request under way; nonce and body lie behind it */
    char nonce[DIGEST_HEX_BYTES], body[DIGEST_HEX_BYTES];
};

/* One answer while it comes in. */
struct incoming {
    struct buf field; /* the header being read, */
    struct buf value;
    struct buf content_type;
    struct buf proof;
    struct buf body;
    const struct http_client *client;
    struct event_lines *events; /* takes the body, when it is an event stream */
    struct err *err;
    size_t head_bytes;
    int status;
    bool head_only;
    bool streams;
    bool in_body;
    bool complete;
    bool keep_alive;
};

/* ---- llhttp's callbacks ---- */

static int on_header_field(llhttp_t *parser, const char *at, size_t n)
{
    struct incoming *in = parser->data;
    buf_put(&in->field, (struct str){at, n});
    return in->field.over ? HPE_USER : HPE_OK;
}

static int on_header_value(llhttp_t *parser, const char *at, size_t n)
{
    struct incoming *in = parser->data;
    buf_put(&in->value, (struct str){at, n});
    return in->value.over ? HPE_USER : HPE_OK;
}

/* Only two headers matter to us. A header that comes twice counts by its last value. */
static int on_header_value_complete(llhttp_t *parser)
{
    struct incoming *in = parser->data;
    if (str_same_letters(buf_str(&in->field), STR("content-type"))) {
        buf_clear(&in->content_type);
        buf_put(&in->content_type, buf_str(&in->value));
    }
    if (str_same_letters(buf_str(&in->field), STR("nod-proof"))) {
        buf_clear(&in->proof);
        buf_put(&in->proof, buf_str(&in->value));
    }
    buf_clear(&in->field);
    buf_clear(&in->value);
    return HPE_OK;
}

/* Whether the answer is signed by the server that our identity names. */
static bool is_proven(const struct incoming *in, struct str body)
{
    const struct http_client *client = in->client;
    struct signature signature;
    if (!client->identity)
        return true;
    struct digest said = proof_of_answer(&client->asked, in->status, body);
    return hex_read(buf_str(&in->proof), signature.bytes, SIGN_BYTES) &&
           sign_check(&client->identity->server, &said, &signature);
}

static struct rc unproven(const struct incoming *in)
{
    return err_set(in->err, ERR_FORBIDDEN, "what answers at %s is not the nod server that this identity is for",
                   in->client->address.words);
}

/* An answer that streams is accepted only if the server has proven itself in the head: its body comes in
 * pieces. */
static int on_headers_complete(llhttp_t *parser)
{
    struct incoming *in = parser->data;
    in->status = parser->status_code;
    in->streams = in->events && in->status == 200 &&
                  str_starts(buf_str(&in->content_type), STR("text/event-stream"));
    in->in_body = in->status >= 200;
    if (in->streams && !is_proven(in, STR_NONE)) {
        (void)!unproven(in).code;
        return HPE_USER;
    }
    return in->head_only ? 1 : 0;
}

/* Bounded: a server cannot make a command hold more than LIMIT_ANSWER_BYTES. */
static int on_body(llhttp_t *parser, const char *at, size_t n)
{
    struct incoming *in = parser->data;
    if (in->streams)
        return rc_bad(event_lines_feed(in->events, (struct str){at, n}, in->err)) ? HPE_USER : HPE_OK;
    buf_put(&in->body, (struct str){at, n});
    if (in->body.over) {
        (void)err_set(in->err, ERR_TOO_LARGE, "the answer is larger than %d bytes", LIMIT_ANSWER_BYTES);
        return HPE_USER;
    }
    return HPE_OK;
}

static int on_message_complete(llhttp_t *parser)
{
    struct incoming *in = parser->data;
    if (in->status < 200) /* 100 Continue: the answer proper follows */
        return HPE_OK;
    in->complete = true;
    in->keep_alive = llhttp_should_keep_alive(parser) != 0;
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_header_field = on_header_field,
    .on_header_value = on_header_value,
    .on_header_value_complete = on_header_value_complete,
    .on_headers_complete = on_headers_complete,
    .on_body = on_body,
    .on_message_complete = on_message_complete,
};

/* ---- life ---- */

/* Does not connect: the first call does. */
struct rc http_client_new(const char *url, const char *token, struct http_client **ret_client,
                          struct err *err)
{
    struct wire_address address;
    CHECK(url && ret_client);
    TRY(wire_parse(url, &address, err));
    if (token && strpbrk(token, "\r\n "))
        return err_set(err, ERR_INVALID, "the token holds a blank or a line break");
    struct http_client *client = heap_new(sizeof *client);
    client->address = address;
    client->wire.fd = -1;
    if (token && token[0]) {
        client->token = heap_new(strlen(token) + 1);
        memcpy(client->token, token, strlen(token));
    }
    *ret_client = client;
    return RC_OK;
}

void http_client_free(struct http_client *client)
{
    wire_close(&client->wire);
    free(client->token);
    free(client);
}

void http_client_identify(struct http_client *client, const struct http_identity *identity)
{
    client->identity = identity;
}

bool http_client_peer(struct http_client *client, uint32_t *ret_uid)
{
    if (!client->address.path[0] ||
        (client->wire.fd < 0 && rc_bad(wire_connect(&client->wire, &client->address, NULL))))
        return false;
    return wire_peer(&client->wire, ret_uid);
}

bool http_client_cut(const struct http_client *client) { return client->cut; }

/* ---- one exchange ---- */

/* Connects. At a Unix socket the server must run under the uid that our identity names. */
static struct rc connect_to_server(struct http_client *client, struct err *err)
{
    const struct http_identity *identity = client->identity;
    uint32_t uid;
    TRY(wire_connect(&client->wire, &client->address, err));
    if (!identity || !identity->has_uid || !client->address.path[0])
        return RC_OK;
    if (wire_peer(&client->wire, &uid) && uid == identity->uid)
        return RC_OK;
    wire_close(&client->wire);
    return err_set(err, ERR_FORBIDDEN, "another user's program answers at %s", client->address.words);
}

/* The line that says who we are, without the secret that proves it. */
static void put_claim(struct buf *out, struct http_client *client, const char *method, struct str target,
                      struct str body)
{
    const struct http_identity *identity = client->identity;
    struct digest random, came = digest_of(body);
    char mac[DIGEST_HEX_BYTES];
    id_random(random.bytes, sizeof random.bytes);
    digest_hex(&random, client->nonce);
    digest_hex(&came, client->body);
    client->asked = (struct proof_exchange){str_of(method), target, str_of(client->nonce), str_of(client->body)};
    struct digest asked = proof_of_request(&client->asked, identity->token_id);
    struct digest proof = sign_mac((struct str){(const char *)identity->verifier.bytes, DIGEST_BYTES},
                                   (struct str){(const char *)asked.bytes, DIGEST_BYTES});
    digest_hex(&proof, mac);
    buf_printf(out, "Authorization: Nod %.*s %s %s %s\r\n", STR_ARG(identity->token_id), client->nonce, client->body,
               mac);
}

/* Text from outside must be escaped by now; a blank or line break would change the request. */
static struct rc check_target(struct str target, struct err *err)
{
    for (size_t i = 0; i < target.n; i++)
        if ((unsigned char)target.p[i] <= ' ' || (unsigned char)target.p[i] >= 127)
            return err_set(err, ERR_INVALID, "the address holds a character that is not escaped");
    return RC_OK;
}

/* With an identity the token is not sent, only a claim that is computed from it (proof.h). */
static void put_request(struct buf *out, struct http_client *client, const char *method,
                        struct str target, struct str body)
{
    const struct wire_address *to = &client->address;
    bool brackets = strchr(to->host, ':') != NULL;
    buf_printf(out, "%s ", method);
    buf_put(out, target);
    buf_puts(out, " HTTP/1.1\r\nHost: ");
    if (to->path[0])
        buf_puts(out, "localhost");
    else
        buf_printf(out, brackets ? "[%s]:%s" : "%s:%s", to->host, to->port);
    buf_puts(out, "\r\n");
    if (client->identity)
        put_claim(out, client, method, target, body);
    else if (client->token)
        buf_printf(out, "Authorization: Bearer %s\r\n", client->token);
    if (body.n)
        buf_puts(out, "Content-Type: application/json\r\n");
    if (body.n || strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0 || strcmp(method, "PATCH") == 0)
        buf_printf(out, "Content-Length: %zu\r\n", body.n);
}

/* *ret_kept: it went over a connection that had been used before. */
static struct rc send_request(struct http_client *client, struct str request, bool *ret_kept, struct err *err)
{
    struct wire *wire = &client->wire;
    size_t sent;
    *ret_kept = false;
    if (wire->fd >= 0 && !wire_is_quiet(wire))
        wire_close(wire);
    if (wire->fd >= 0) {
        struct rc rc = wire_send(wire, request, &sent, err);
        *ret_kept = rc_ok(rc);
        if (rc_ok(rc) || sent || rc.code != ERR_UNAVAILABLE)
            return rc;
        wire_close(wire);
    }
    TRY(connect_to_server(client, err));
    return wire_send(wire, request, &sent, err);
}

/* Feeds the parser until the answer is complete or the receiver of events ends it. */
static struct rc receive_answer(const struct wire *wire, llhttp_t *parser, struct incoming *in)
{
    char bytes[RECEIVE_BYTES];
    CHECK(wire->fd >= 0 && in->err);
    while (!in->complete && !(in->events && in->events->stopped)) {
        size_t n;
        TRY(wire_receive(wire, bytes, sizeof bytes, &n, in->err));
        in->head_bytes += in->in_body ? 0 : n;
        if (in->head_bytes > ANSWER_HEAD_BYTES_MAX + RECEIVE_BYTES)
            return err_set(in->err, ERR_TOO_LARGE, "the answer's headers are too large");
        llhttp_errno_t failed = n ? llhttp_execute(parser, bytes, n) : llhttp_finish(parser);
        if (n == 0 && !in->complete)
            return err_set(in->err, ERR_UNAVAILABLE, "the server ended the connection without an answer");
        if (failed == HPE_USER && in->err->code != ERR_OK)
            return (struct rc){in->err->code};
        if (failed != HPE_OK && failed != HPE_PAUSED)
            return err_set(in->err, ERR_IO, "the server's answer is no HTTP (%s)", llhttp_errno_name(failed));
    }
    return RC_OK;
}

static void incoming_done(struct incoming *in)
{
    buf_done(&in->field);
    buf_done(&in->value);
    buf_done(&in->content_type);
    buf_done(&in->proof);
    buf_done(&in->body);
}

/* *ret_kept: the request went out on a kept connection and may be repeated on a new one (see above). */
static struct rc attempt(struct http_client *client, struct str request, bool *ret_kept, struct incoming *in)
{
    llhttp_t parser;
    llhttp_init(&parser, HTTP_RESPONSE, &settings);
    parser.data = in;
    in->field = buf_init(ANSWER_HEAD_BYTES_MAX);
    in->value = buf_init(ANSWER_HEAD_BYTES_MAX);
    in->content_type = buf_init(ANSWER_HEAD_BYTES_MAX);
    in->proof = buf_init(ANSWER_HEAD_BYTES_MAX);
    in->client = client;
    in->body = buf_init(LIMIT_ANSWER_BYTES);
    struct rc rc = send_request(client, request, ret_kept, in->err);
    bool sent = rc_ok(rc);
    /* A server that refuses a large body answers before it has read it all: look for that answer. */
    if (rc_ok(rc) || client->wire.fd >= 0) {
        in->err->code = ERR_OK;
        rc = receive_answer(&client->wire, &parser, in);
    }
    client->cut = sent && rc.code == ERR_UNAVAILABLE;
    if (rc_bad(rc) || !in->keep_alive)
        wire_close(&client->wire);
    return rc;
}

/* Sends the request and reads its answer into `in`, which the caller has prepared. */
static struct rc exchange(struct http_client *client, struct str request, struct incoming *in)
{
    bool kept;
    bool only_asks = in->head_only || str_starts(request, STR("GET "));
    struct rc rc = attempt(client, request, &kept, in);
    if (rc.code != ERR_UNAVAILABLE || !kept || in->head_bytes || !only_asks)
        return rc;
    incoming_done(in);
    return attempt(client, request, &kept, in);
}

/* Blocks up to `timeout_ms`. The body and type of the answer are copied into the arena. */
struct rc http_client_call(struct http_client *client, struct arena *arena, const char *method,
                           struct str target, struct str body, int64_t timeout_ms,
                           struct http_response *ret_response, struct err *err)
{
    struct err own;
    CHECK(arena && method && ret_response);
    BUF_SCOPE(request, LIMIT_ANSWER_BYTES);
    __attribute__((cleanup(incoming_done))) struct incoming in = {.err = err ? err : &own};
    TRY(check_target(target, err));
    in.head_only = strcmp(method, "HEAD") == 0;
    put_request(&request, client, method, target, body);
    buf_puts(&request, "\r\n");
    buf_put(&request, body);
    if (request.over)
        return err_set(err, ERR_TOO_LARGE, "the request is too large");
    wire_hurry(&client->wire, timeout_ms);
    TRY(exchange(client, buf_str(&request), &in));
    if (!is_proven(&in, buf_str(&in.body)))
        return unproven(&in);
    *ret_response = (struct http_response){
        .status = in.status,
        .body = arena_str(arena, buf_str(&in.body)),
        .content_type = arena_str(arena, buf_str(&in.content_type)),
    };
    return RC_OK;
}

/* ---- streams ---- */

/* The error the server named in its body. */
static struct rc refused(const struct incoming *in)
{
    ARENA_SCOPE(arena);
    const struct json *body = NULL;
    char code[64] = "";
    if (rc_bad(json_parse(&arena, buf_str(&in->body), &body, NULL)))
        body = NULL;
    const struct json *error = json_get(body, "error");
    struct str message = json_text(error, "message");
    (void)str_c(json_text(error, "code"), code, sizeof code);
    if (message.n)
        return err_set(in->err, err_from_wire(code), "%.*s", STR_ARG(message));
    return err_set(in->err, ERR_IO, "the server answered with status %d and no events", in->status);
}

/* Blocks until `event` returns false, the server ends the stream, or the connection is lost. */
struct rc http_client_stream(struct http_client *client, struct str target,
                             bool (*event)(void *arg, struct str id, struct str type, struct str data),
                             void *arg, struct err *err)
{
    struct err own;
    CHECK(event);
    BUF_SCOPE(request, LIMIT_ANSWER_BYTES);
    __attribute__((cleanup(event_lines_done))) struct event_lines lines;
    event_lines_init(&lines);
    lines.event = event;
    lines.arg = arg;
    __attribute__((cleanup(incoming_done))) struct incoming in = {.err = err ? err : &own, .events = &lines};
    TRY(check_target(target, err));
    put_request(&request, client, "GET", target, STR_NONE);
    buf_puts(&request, "Accept: text/event-stream\r\n\r\n");
    wire_hurry(&client->wire, 0);
    struct rc rc = exchange(client, buf_str(&request), &in);
    if (lines.stopped)
        rc = RC_OK;
    else if (rc_ok(rc) && !in.streams)
        rc = refused(&in);
    else if (rc_ok(rc))
        rc = err_set(err, ERR_UNAVAILABLE, "the server ended the stream");
    return rc;
}
