/* Addresses of pages for WebFetch: read strictly into parts, joined with links, compared by host and port. An
 * address that programs could read in two ways is refused. */
#include "tools/tool.h"
#include "tools/web.h"

#include "http/http.h"

enum { URL_BYTES_MAX = 4096, HOST_BYTES_MAX = 253, PORT_PLAIN = 80, PORT_SECURE = 443 };

static bool one_of(char c, const char *set) { return c && strchr(set, c); }

static unsigned usual_port(bool secure) { return secure ? PORT_SECURE : PORT_PLAIN; }

static struct str small_letters(struct arena *arena, struct str s)
{
    char *to = arena_bytes(arena, s.n + 1);
    for (size_t i = 0; i < s.n; i++)
        to[i] = s.p[i] >= 'A' && s.p[i] <= 'Z' ? (char)(s.p[i] + 32) : s.p[i];
    to[s.n] = '\0';
    return (struct str){to, s.n};
}

static bool good_name(struct str host)
{
    if (host.n == 0 || host.n > HOST_BYTES_MAX || host.p[0] == '.' || host.p[host.n - 1] == '.')
        return false;
    for (size_t i = 0; i < host.n; i++)
        if ((!str_letter(host.p[i]) && !str_digit(host.p[i]) && !one_of(host.p[i], "-_.")) ||
            (host.p[i] == '.' && host.p[i - 1] == '.'))
            return false;
    return true;
}

static bool good_brackets(struct str host)
{
    if (host.n < 4 || host.p[0] != '[' || host.p[host.n - 1] != ']')
        return false;
    return !ANY(size_t i = 1; i + 1 < host.n; i++, !str_digit(host.p[i]) && !one_of(host.p[i], ":.abcdefABCDEF"));
}

/* Path and query with everything beyond ASCII written as %XX; false when a letter may not be in it. */
static bool put_rest(struct buf *buf, struct str rest)
{
    rest = str_sub(rest, 0, str_find(rest, '#'));
    if (rest.n == 0 || rest.p[0] != '/')
        buf_putc(buf, '/');
    for (size_t i = 0; i < rest.n; i++) {
        char c = rest.p[i];
        if ((unsigned char)c >= 0x80)
            buf_printf(buf, "%%%02X", (unsigned char)c);
        else if (c > ' ' && c != 0x7f && !one_of(c, "\\\"<>^`{|}"))
            buf_putc(buf, c);
        else
            return false;
    }
    return true;
}

/* A colon without digits behind it is part of the host, which then is refused as none. */
static struct rc read_port(struct str authority, struct str *ret_host, unsigned *ret_port, struct err *err)
{
    size_t colon = authority.n;
    uint64_t port = *ret_port;
    while (colon > 0 && str_digit(authority.p[colon - 1]))
        colon--;
    bool has = colon > 0 && authority.p[colon - 1] == ':';
    *ret_host = has ? str_sub(authority, 0, colon - 1) : authority;
    if (has && (!str_to_u64(str_sub(authority, colon, authority.n), &port) || port == 0 || port > 65535))
        return err_set(err, ERR_INVALID, "its port is not a number from 1 to 65535");
    *ret_port = (unsigned)port;
    return RC_OK;
}

/* Strict on purpose: the URL that is judged, the one that is shown and the one that is fetched must be the same for
 * every reader. */
struct rc web_url_read(struct arena *arena, struct str text, struct web_url *ret_url, struct err *err)
{
    struct web_url url = {0};
    struct str after;
    BUF_SCOPE(buf, 3 * (size_t)URL_BYTES_MAX);
    struct str scheme = small_letters(arena, str_cut(text, ':', &after));
    if (text.n > URL_BYTES_MAX)
        return err_set(err, ERR_INVALID, "the address is longer than %d bytes", URL_BYTES_MAX);
    url.secure = str_is(scheme, "https");
    if ((!url.secure && !str_is(scheme, "http")) || !str_starts(after, STR("//")))
        return err_set(err, ERR_INVALID, "\"url\" must begin with https:// or http://");
    after = str_sub(after, 2, after.n);
    size_t end = 0;
    while (end < after.n && !one_of(after.p[end], "/?#"))
        end++;
    struct str authority = str_sub(after, 0, end);
    if (str_find(authority, '@') < authority.n)
        return err_set(err, ERR_INVALID, "an address with a name or a password in it is not fetched");
    url.port = usual_port(url.secure);
    TRY(read_port(authority, &url.host, &url.port, err));
    if (!good_name(url.host) && !good_brackets(url.host))
        return err_set(err, ERR_INVALID,
                       "its host is neither a name nor an address; names beyond ASCII must be in punycode");
    url.host = small_letters(arena, url.host);
    buf_printf(&buf, "%s://%.*s", url.secure ? "https" : "http", STR_ARG(url.host));
    if (url.port != usual_port(url.secure))
        buf_printf(&buf, ":%u", url.port);
    size_t front = buf.n;
    if (!put_rest(&buf, str_sub(after, end, after.n)) || buf.over)
        return err_set(err, ERR_INVALID, "there is a letter in the address that must be written as %%XX");
    struct str whole = arena_str(arena, buf_str(&buf));
    url.text = whole.p;
    url.rest = str_sub(whole, front, whole.n);
    *ret_url = url;
    return RC_OK;
}

bool web_url_same_place(const struct web_url *a, const struct web_url *b)
{
    bool usual = a->port == usual_port(a->secure) && b->port == usual_port(b->secure);
    return str_eq(a->host, b->host) && (usual || (a->port == b->port && a->secure == b->secure));
}

/* Empty for links that are not fetched: other schemes, and places inside the same page. */
struct str web_url_join(struct arena *arena, const struct web_url *base, struct str link)
{
    struct str origin = {base->text, (size_t)(base->rest.p - base->text)};
    struct str path = str_sub(base->rest, 0, str_find(base->rest, '?'));
    size_t scheme = 0, folder = path.n;
    link = str_trim(link);
    link = str_sub(link, 0, str_find(link, '#'));
    while (scheme < link.n &&
           (str_letter(link.p[scheme]) || str_digit(link.p[scheme]) || one_of(link.p[scheme], "+-.")))
        scheme++;
    if (link.n == 0)
        return STR_NONE;
    if (scheme < link.n && link.p[scheme] == ':') {
        struct str name = small_letters(arena, str_sub(link, 0, scheme));
        return str_is(name, "http") || str_is(name, "https") ? link : STR_NONE;
    }
    if (str_starts(link, STR("//")))
        return arena_printf(arena, "%s:%.*s", base->secure ? "https" : "http", STR_ARG(link));
    if (link.p[0] == '/')
        return arena_printf(arena, "%.*s%.*s", STR_ARG(origin), STR_ARG(link));
    if (link.p[0] == '?')
        return arena_printf(arena, "%.*s%.*s%.*s", STR_ARG(origin), STR_ARG(path), STR_ARG(link));
    while (folder > 0 && path.p[folder - 1] != '/')
        folder--;
    return arena_printf(arena, "%.*s%.*s%.*s", STR_ARG(origin), (int)folder, path.p, STR_ARG(link));
}

/* ---- what a person should know ---- */

/* The host as readers of URLs see it, in a text that need not be one. */
static struct str host_in(struct str text, struct str *ret_user)
{
    struct str after;
    (void)str_cut(text, ':', &after);
    size_t from = 0, at = 0;
    while (from < after.n && one_of(after.p[from], "/\\"))
        from++;
    after = str_sub(after, from, after.n);
    struct str authority = after;
    for (size_t i = 0; i < after.n && authority.n == after.n; i++)
        if (one_of(after.p[i], "/?#\\"))
            authority = str_sub(after, 0, i);
    for (size_t i = 0; i < authority.n; i++)
        if (authority.p[i] == '@')
            at = i + 1;
    *ret_user = str_sub(authority, 0, at ? at - 1 : 0);
    struct str host = str_sub(authority, at, authority.n);
    size_t end = host.n;
    while (end > 0 && str_digit(host.p[end - 1]))
        end--;
    return end > 1 && host.p[end - 1] == ':' ? str_sub(host, 0, end - 1) : host;
}

static bool beyond_ascii(struct str text)
{
    return ANY(size_t i = 0; i < text.n; i++,
               (unsigned char)text.p[i] >= 0x80 || text.p[i] <= ' ' || text.p[i] == '\\');
}

/* Says what a person would not see in the address. It refuses nothing. */
void web_url_warn(struct json_out *out, struct str text)
{
    ARENA_SCOPE(arena);
    struct str user;
    struct str host = host_in(text, &user);
    struct str small = small_letters(&arena, host);
    const char *kind = fetch_host_kind(host);
    json_member(out, "host", host);
    json_open_member(out, "warnings", '[');
    if (!str_same_letters(str_sub(text, 0, text.n < 6 ? text.n : 6), STR("https:")))
        json_put_str(out, STR("not encrypted: it is not https"));
    if (kind)
        json_put_str(out, arena_printf(&arena, "the host is %s", kind));
    if (!kind && (str_find(host, '.') == host.n || str_ends(small, STR(".local")) || str_ends(small, STR(".internal"))))
        json_put_str(out, STR("the host is a name of the local network"));
    if (user.n)
        json_put_str(out, STR("a name or a password stands before the host"));
    if (str_starts(small, STR("xn--")) || str_has(small, STR(".xn--")))
        json_put_str(out, STR("the host's name looks different when it is shown (punycode)"));
    if (beyond_ascii(host))
        json_put_str(out, STR("the host holds letters that can be mistaken for others"));
    odd_text_put(out, text);
    json_close(out, ']');
}
