/* The target of a proxy's client (target.h): CONNECT, absolute requests and SOCKS5, read strictly. Anything
 * else is refused. */
#include "egress/target.h"

#include <arpa/inet.h>

/* 127.1 and 0x7f000001 are addresses for some resolvers and names for others: only the usual form is taken. */
static bool read_address(const char *host, bool *ret_is_address)
{
    struct in_addr address;
    bool usual = inet_pton(AF_INET, host, &address) == 1;
    *ret_is_address = usual;
    return usual || inet_aton(host, &address) == 0;
}

bool egress_target_set(struct egress_target *target, struct str host, unsigned port)
{
    *target = (struct egress_target){.port = (uint16_t)port};
    if (host.n == 0 || host.n >= EGRESS_HOST_BYTES || port == 0 || port > 65535)
        return false;
    for (size_t i = 0; i < host.n; i++) {
        char c = host.p[i];
        bool border = i == 0 || i + 1 == host.n;
        if (!str_letter(c) && !str_digit(c) && c != '-' && c != '_' && (c != '.' || border || host.p[i - 1] == '.'))
            return false;
        target->host[i] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
    }
    if (!read_address(target->host, &target->is_address))
        return false;
    struct str name = str_of(target->host);
    target->is_address = target->is_address || str_is(name, "localhost") || str_ends(name, STR(".localhost"));
    return true;
}

/* ---- HTTP ---- */

/* `host:port`; the port may be left out when there is a usual one. */
static bool read_authority(struct str text, unsigned usual, struct egress_target *target)
{
    struct str port_text, host = str_cut(text, ':', &port_text);
    uint64_t port = usual;
    bool named = host.n < text.n;
    if (named && (port_text.n > 5 || !str_to_u64(port_text, &port) || port > 65535))
        return false;
    return egress_target_set(target, host, (unsigned)port);
}

static bool good_header(struct str line)
{
    size_t colon = str_find(line, ':');
    if (colon == 0 || colon == line.n)
        return false;
    for (size_t i = 0; i < line.n; i++) {
        char c = line.p[i];
        bool in_name = i < colon;
        if (in_name ? !str_letter(c) && !str_digit(c) && !(c && strchr("!#$%&'*+-.^_`|~", c))
                    : c == '\r' || c == '\n' || c == '\0')
            return false;
    }
    return true;
}

static bool read_request_line(struct str line, struct egress_head *head)
{
    struct str after, version;
    head->method = str_cut(line, ' ', &after);
    struct str target = str_cut(after, ' ', &version);
    if (!str_is(version, "HTTP/1.1") && !str_is(version, "HTTP/1.0"))
        return false;
    for (size_t i = 0; i < head->method.n; i++)
        if (head->method.p[i] < 'A' || head->method.p[i] > 'Z')
            return false;
    for (size_t i = 0; i < target.n; i++)
        if (target.p[i] <= ' ' || target.p[i] == 0x7f)
            return false;
    if (str_is(head->method, "CONNECT")) {
        head->speech = SPEECH_CONNECT;
        return read_authority(target, 0, &head->target);
    }
    head->speech = SPEECH_HTTP;
    if (head->method.n == 0 || !str_starts(target, STR("http://")))
        return false;
    target = str_sub(target, 7, target.n);
    size_t end = 0;
    while (end < target.n && !strchr("/?#", target.p[end]))
        end++;
    head->rest = str_sub(target, end, target.n);
    if (str_find(head->rest, '#') < head->rest.n)
        return false;
    return read_authority(str_sub(target, 0, end), 80, &head->target);
}

enum egress_read egress_head_read(struct str bytes, struct egress_head *ret_head)
{
    struct egress_head head = {0};
    const char *end = bytes.n ? memmem(bytes.p, bytes.n, "\r\n\r\n", 4) : NULL;
    if (!end)
        return bytes.n >= EGRESS_HEAD_BYTES_MAX ? HEAD_BAD : HEAD_MORE;
    head.bytes = (size_t)(end - bytes.p) + 4;
    struct str all = str_sub(bytes, 0, head.bytes - 2); /* each line with its end */
    size_t first = (size_t)((const char *)memmem(all.p, all.n, "\r\n", 2) - all.p);
    head.headers = str_sub(all, first + 2, all.n);
    if (head.bytes > EGRESS_HEAD_BYTES_MAX || !read_request_line(str_sub(all, 0, first), &head))
        return HEAD_BAD;
    for (struct str rest = head.headers; rest.n;) {
        size_t n = (size_t)((const char *)memmem(rest.p, rest.n, "\r\n", 2) - rest.p);
        if (!good_header(str_sub(rest, 0, n)))
            return HEAD_BAD;
        rest = str_sub(rest, n + 2, rest.n);
    }
    *ret_head = head;
    return HEAD_DONE;
}

/* Whether the header belongs to this connection only or is written anew: it is not passed on. */
static bool stays_here(struct str line)
{
    static const char *const names[] = {"host", "connection", "keep-alive", "te", "upgrade"};
    struct str value, name = str_cut(line, ':', &value);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_same_letters(name, str_of(names[i])))
            return true;
    return name.n > 6 && str_same_letters(str_sub(name, 0, 6), STR("proxy-"));
}

void egress_head_write(struct buf *buf, const struct egress_head *head)
{
    bool slash = head->rest.n && head->rest.p[0] == '/';
    buf_printf(buf, "%.*s %s%.*s HTTP/1.1\r\nHost: %s", STR_ARG(head->method), slash ? "" : "/", STR_ARG(head->rest),
               head->target.host);
    if (head->target.port != 80)
        buf_printf(buf, ":%u", head->target.port);
    buf_puts(buf, "\r\n");
    for (struct str rest = head->headers; rest.n;) {
        size_t n = (size_t)((const char *)memmem(rest.p, rest.n, "\r\n", 2) - rest.p);
        if (!stays_here(str_sub(rest, 0, n)))
            buf_put(buf, str_sub(rest, 0, n + 2));
        rest = str_sub(rest, n + 2, rest.n);
    }
    buf_puts(buf, "Connection: close\r\n\r\n");
}

/* ---- SOCKS5 ---- */

enum { SOCKS_VERSION = 5, SOCKS_NO_AUTHENTICATION = 0, SOCKS_CONNECT = 1, SOCKS_ADDRESS4 = 1, SOCKS_NAME = 3 };

static unsigned byte(struct str bytes, size_t at) { return (unsigned char)bytes.p[at]; }

enum egress_read egress_socks_greeting(struct str bytes, size_t *ret_bytes)
{
    if (bytes.n && byte(bytes, 0) != SOCKS_VERSION)
        return HEAD_BAD;
    if (bytes.n < 2 || bytes.n < 2 + byte(bytes, 1))
        return HEAD_MORE;
    *ret_bytes = 2 + byte(bytes, 1);
    for (size_t i = 2; i < *ret_bytes; i++)
        if (byte(bytes, i) == SOCKS_NO_AUTHENTICATION)
            return HEAD_DONE;
    return HEAD_BAD;
}

enum egress_read egress_socks_request(struct str bytes, size_t *ret_bytes, struct egress_target *ret_target)
{
    char text[INET_ADDRSTRLEN];
    struct str host;
    if (bytes.n < 5)
        return HEAD_MORE;
    unsigned kind = byte(bytes, 3);
    if (byte(bytes, 0) != SOCKS_VERSION || byte(bytes, 1) != SOCKS_CONNECT || byte(bytes, 2) != 0 ||
        (kind != SOCKS_ADDRESS4 && kind != SOCKS_NAME))
        return HEAD_BAD;
    size_t from = kind == SOCKS_NAME ? 5 : 4, n = kind == SOCKS_NAME ? byte(bytes, 4) : 4;
    if (bytes.n < from + n + 2)
        return HEAD_MORE;
    host = str_sub(bytes, from, from + n);
    if (kind == SOCKS_ADDRESS4)
        host = str_of(inet_ntop(AF_INET, host.p, text, sizeof text));
    *ret_bytes = from + n + 2;
    unsigned port = byte(bytes, from + n) << 8 | byte(bytes, from + n + 1);
    return egress_target_set(ret_target, host, port) ? HEAD_DONE : HEAD_BAD;
}
