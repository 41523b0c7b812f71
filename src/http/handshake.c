/* The server's side of a WebSocket's opening handshake (RFC 6455, section 4.2). */
#include "http/handshake.h"

#include "base/digest.h"
#include "http/reader.h"

/* Headers like Connection are lists, over several lines and without regard to case. */
bool http_header_lists(const struct http_request *request, const char *name, struct str token)
{
    struct str wanted = str_of(name);
    for (size_t i = 0; i < request->header_count; i++) {
        struct str rest = request->headers[i].value;
        if (!str_same_letters(request->headers[i].name, wanted))
            continue;
        while (rest.n)
            if (str_same_letters(str_trim(str_cut(rest, ',', &rest)), token))
                return true;
    }
    return false;
}

static bool is_base64(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '/';
}

bool http_is_socket_key(struct str key)
{
    enum { DIGITS = 22 };
    if (key.n != DIGITS + 2 || !str_ends(key, STR("==")))
        return false;
    for (size_t i = 0; i < DIGITS; i++)
        if (!is_base64(key.p[i]))
            return false;
    return strchr("AQgw", key.p[DIGITS - 1]) != NULL; /* the last four bits are padding of the 16 bytes */
}

/* `ret_other_version` makes the caller name the version that it speaks, as the standard asks for. */
static struct rc check(const struct http_request *request, bool *ret_other_version, struct err *err)
{
    if (!str_eq(request->method, STR("GET")))
        return err_set(err, ERR_INVALID, "a WebSocket begins with GET");
    *ret_other_version = true;
    if (!http_header_lists(request, "upgrade", STR("websocket")) ||
        !http_header_lists(request, "connection", STR("upgrade")))
        return err_set(err, ERR_INVALID, "this is a WebSocket: the request must ask for the upgrade");
    if (!str_eq(http_header(request, "sec-websocket-version"), STR("13")))
        return err_set(err, ERR_INVALID, "only version 13 of WebSocket is spoken here");
    *ret_other_version = false;
    if (!http_is_socket_key(http_header(request, "sec-websocket-key")))
        return err_set(err, ERR_INVALID, "the Sec-WebSocket-Key is not 16 bytes in base 64");
    return RC_OK;
}

/* False: the request was refused and is answered. */
bool http_handshake(struct http_request *request, char accept[HANDSHAKE_ACCEPT_BYTES])
{
    struct err err;
    bool other_version = false;
    if (!request->connection || request->answered) {
        (void)err_set(&err, ERR_INVALID, "there is no connection to upgrade");
        http_answer_error(request, &err);
        return false;
    }
    if (rc_bad(check(request, &other_version, &err))) {
        struct str headers = STR("Upgrade: websocket\r\nConnection: Upgrade\r\n"
                                 "Sec-WebSocket-Version: 13\r\n");
        if (other_version)
            http_answer_error_as(request, 426, headers, &err);
        else
            http_answer_error(request, &err);
        return false;
    }
    struct str key = http_header(request, "sec-websocket-key");
    struct str text = arena_printf(&request->arena, "%.*s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", STR_ARG(key));
    digest_sha1_base64(text, accept);
    return true;
}
